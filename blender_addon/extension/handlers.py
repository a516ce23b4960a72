"""What happens when a .blend is saved or opened: caches go where the file goes, and nothing keeps running."""

import shutil
from pathlib import Path

import bpy
from bpy.app.handlers import persistent

from . import folders, running, stack
from .errors import disk_sentence

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


@persistent
def stop_everything(_blend, _other=None) -> None:
    """Before another file is opened."""
    running.stop_all()


HANDLERS = (
    ("save_pre", bring_caches),
    ("save_post", settle_paths),
    ("load_pre", stop_everything),
    ("load_post", begin_file),
    ("undo_post", find_caches),
    ("redo_post", find_caches),
)


def register():
    for name, handler in HANDLERS:
        getattr(bpy.app.handlers, name).append(handler)


def unregister():
    for name, handler in HANDLERS:
        listed = getattr(bpy.app.handlers, name)
        if handler in listed:
            listed.remove(handler)
    running.stop_all()
