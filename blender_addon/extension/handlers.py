"""What happens when a .blend is saved or opened: caches go where the file goes, and nothing keeps running."""

import bpy
from bpy.app.handlers import persistent

from . import folders, running, stack
from .errors import disk_sentence


def _played():
    """(modifier, path) of every result in the open .blend."""
    for obj in bpy.data.objects:
        modifier = stack.result_modifier(obj) if obj.type == "MESH" else None
        if modifier is not None and obj.library is None:
            yield modifier, folders.real_path(modifier.filepath)


@persistent
def bring_caches(blend, _other=None) -> None:
    """Before saving: every bake that is played moves or is copied to the folder of the file that is written.

    Blender rewrites relative paths while it saves under another name, so they are given relative to the old one.
    """
    if not blend:
        return
    for modifier, path in _played():
        if not path.exists() or not path.parent.name.startswith("bake_"):
            continue
        try:
            path = folders.moved_bake(path.parent, blend) / path.name
        except OSError as error:
            running.finish(problem=disk_sentence(error))
            continue
        modifier.filepath = folders.stored_path(path)


@persistent
def shorten_paths(blend, _other=None) -> None:
    """After the first save: paths that were absolute become relative; the next save writes them so."""
    for modifier, path in _played():
        if path.exists():
            modifier.filepath = folders.stored_path(path)


@persistent
def find_caches(_blend, _other=None) -> None:
    """After opening: a bake that is not where the file says, but in the file's own folder, is found there."""
    for modifier, path in _played():
        there = folders.cache_folder() / path.parent.name / path.name
        if not path.exists() and there.exists():
            modifier.filepath = folders.stored_path(there)
    running.finish()


@persistent
def stop_everything(_blend, _other=None) -> None:
    """Before another file is opened."""
    running.stop_all()


HANDLERS = (
    ("save_pre", bring_caches),
    ("save_post", shorten_paths),
    ("load_pre", stop_everything),
    ("load_post", find_caches),
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
