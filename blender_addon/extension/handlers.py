"""What happens when a .blend is saved or opened: caches go where the file goes, and nothing keeps running."""

import shutil
from pathlib import Path

import bpy
from bpy.app.handlers import persistent

from . import folders, running, stack
from .errors import disk_sentence
from .operators.body import COLLECTION

played_before: dict[str, str] = {}
"""What each object played before the file was saved, by its name."""


def _played():
    """(modifier, path) of every result in the open .blend."""
    for obj in bpy.data.objects:
        modifier = stack.result_modifier(obj) if obj.type == "MESH" else None
        if modifier is not None and obj.library is None:
            yield modifier, folders.real_path(modifier.filepath)


@persistent
def bring_caches(blend, _other=None) -> None:
    """Before saving: every bake that is played is copied to the folder of the file that is written.

    Blender rewrites relative paths while it saves under another name, so they are given relative to the old one.
    """
    played_before.clear()
    if not blend:
        return
    for modifier, path in _played():
        if not path.exists() or not path.parent.name.startswith("bake_"):
            continue
        try:
            path = folders.copied_bake(path.parent, blend) / path.name
        except OSError as error:
            running.complain(disk_sentence(error))
            continue
        played_before[modifier.id_data.name] = modifier.filepath
        modifier.filepath = folders.stored_path(path)


@persistent
def settle_paths(blend, _other=None) -> None:
    """After saving: the open file plays its own caches, by relative paths, also if a copy of it was written.

    What was baked before the first save has been copied beside the file, and is deleted where it was.
    """
    is_copy = bool(blend) and Path(blend) != Path(bpy.data.filepath)
    for modifier, path in _played():
        before = played_before.get(modifier.id_data.name)
        if is_copy and before is not None:
            modifier.filepath = before
        elif path.exists():
            modifier.filepath = folders.stored_path(path)
            if before and folders.session_folder() in folders.real_path(before).parents:
                shutil.rmtree(folders.real_path(before).parent, ignore_errors=True)
    played_before.clear()


@persistent
def find_caches(_blend, _other=None) -> None:
    """A bake that is not where the file says, but in the file's own folder, is found there."""
    for modifier, path in _played():
        there = folders.cache_folder() / path.parent.name / path.name
        if not path.exists() and there.exists():
            modifier.filepath = folders.stored_path(there)


@persistent
def begin_file(_blend, _other=None) -> None:
    """After opening: nothing is known of what the last file did."""
    folders.new_session()
    find_caches(_blend)
    running.finish()


def orphans() -> list:
    """Cages whose bodies were deleted."""
    found = bpy.data.collections.get(COLLECTION)
    cages = [cage for cage in found.objects if cage.parent is None] if found is not None else []
    return [cage for cage in cages if not any(o.jellycage.cage == cage for o in bpy.data.objects)]


@persistent
def notice_orphans(_scene, _depsgraph=None) -> None:
    """A body was deleted: its cage, which cannot be clicked on, goes too, once Blender is done with this change."""
    if orphans() and not bpy.app.timers.is_registered(remove_orphans):
        bpy.app.timers.register(remove_orphans, first_interval=0.0)


def remove_orphans() -> None:
    """Remove the cages of bodies that are gone."""
    for cage in orphans():
        data = cage.data
        bpy.data.objects.remove(cage)
        bpy.data.meshes.remove(data)


@persistent
def step_back(_scene, _other=None) -> None:
    """After undo and redo: what was said last may not be true any more, and caches may have been moved since."""
    running.forget()
    find_caches(_scene)


@persistent
def stop_everything(_blend, _other=None) -> None:
    """Before another file is opened."""
    running.stop_all()


HANDLERS = (
    ("save_pre", bring_caches),
    ("save_post", settle_paths),
    ("load_pre", stop_everything),
    ("load_post", begin_file),
    ("undo_post", step_back),
    ("redo_post", step_back),
    ("depsgraph_update_post", notice_orphans),
)


def register():
    for name, handler in HANDLERS:
        getattr(bpy.app.handlers, name).append(handler)


def unregister():
    for name, handler in HANDLERS:
        listed = getattr(bpy.app.handlers, name)
        if handler in listed:
            listed.remove(handler)
    if bpy.app.timers.is_registered(remove_orphans):
        bpy.app.timers.unregister(remove_orphans)
    running.stop_all()
