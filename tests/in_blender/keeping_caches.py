"""Caches that can be trusted: they go where the .blend goes, belong to one object, and are never overwritten."""

import shutil
from functools import cache

import bpy
from claims import (
    FOLDER,
    add_cube,
    addon,
    bake,
    choose,
    claim,
    new_scene,
    played_file,
    shown,
    try_all,
)

LAST = 6
SHOT = FOLDER / "project" / "shot one.blend"


@cache
def saved():
    """What the cube looks like at each frame, in a project that was baked before it was first saved."""
    new_scene(LAST)
    obj = add_cube("Crème 'n brûlée/1")
    bake()
    unsaved = played_file(obj)
    frames = look(obj)
    assert frames[0] != frames[-1]
    SHOT.parent.mkdir()
    bpy.context.preferences.filepaths.use_file_compression = False
    bpy.ops.wm.save_as_mainfile(filepath=str(SHOT), compress=False)
    shutil.copy(SHOT, FOLDER / "first save.bytes")
    return unsaved, frames


def look(obj):
    """Evaluated vertices of every frame, as bytes."""
    return [shown(obj, frame).tobytes() for frame in range(1, LAST + 1)]


def opened(path):
    """The only body of a .blend."""
    bpy.ops.wm.open_mainfile(filepath=str(path))
    (obj,) = (obj for obj in bpy.data.objects if obj.jellycage.role == "BODY")
    choose(obj)
    return obj


def stored(obj):
    return addon("stack").result_modifier(obj).filepath


@claim
def saving_for_the_first_time_moves_the_cache_beside_the_file():
    unsaved, frames = saved()
    obj = opened(SHOT)
    assert SHOT.parent / "jellycage_cache" in played_file(obj).parents, stored(obj)
    assert not unsaved.exists()
    assert look(obj) == frames


@claim
def the_file_keeps_a_relative_path_from_the_first_save_on():
    """Read as bytes, since opening may mend it."""
    saved()
    kept = (FOLDER / "first save.bytes").read_bytes()
    assert b"//jellycage_cache/shot one/bake_" in kept
    assert f"{SHOT.parent}/jellycage_cache".encode() not in kept


@claim
def a_second_save_and_a_reload_play_the_same():
    _, frames = saved()
    opened(SHOT)
    bpy.ops.wm.save_mainfile()
    obj = opened(SHOT)
    assert stored(obj).startswith("//") and look(obj) == frames


@claim
def save_as_copies_and_both_files_play():
    _, frames = saved()
    obj = opened(SHOT)
    first = played_file(obj)
    for name in ("elsewhere/shot two.blend", "project/shot three.blend"):
        opened(SHOT)
        other = FOLDER / name
        other.parent.mkdir(exist_ok=True)
        bpy.ops.wm.save_as_mainfile(filepath=str(other))
        obj = opened(other)
        assert played_file(obj) != first and other.parent in played_file(obj).parents
        assert look(obj) == frames
    obj = opened(SHOT)
    assert played_file(obj) == first and look(obj) == frames


@claim
def a_saved_copy_does_not_change_what_the_open_file_plays():
    _, frames = saved()
    obj = opened(SHOT)
    first = played_file(obj)
    other = FOLDER / "copies" / "backup.blend"
    other.parent.mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(other), copy=True)
    assert bpy.data.filepath == str(SHOT)
    assert played_file(obj) == first, played_file(obj)
    assert look(obj) == frames
    assert look(opened(other)) == frames


@claim
def a_project_plays_where_it_was_moved_to():
    _, frames = saved()
    shutil.copytree(SHOT.parent, FOLDER / "moved")
    hidden = SHOT.parent.rename(FOLDER / "hidden")
    try:
        obj = opened(FOLDER / "moved" / SHOT.name)
        assert FOLDER / "moved" in played_file(obj).parents
        assert look(obj) == frames
    finally:
        hidden.rename(SHOT.parent)


@claim
def a_project_that_was_copied_plays_its_own_cache():
    _, frames = saved()
    shutil.copytree(SHOT.parent, FOLDER / "copied")
    obj = opened(FOLDER / "copied" / SHOT.name)
    assert FOLDER / "copied" in played_file(obj).parents, played_file(obj)
    assert look(obj) == frames


@claim
def a_copy_of_an_object_gets_a_cache_of_its_own():
    _, frames = saved()
    obj = opened(SHOT)
    before = played_file(obj)
    bytes_before = before.read_bytes()
    bpy.ops.object.duplicate()
    copy = bpy.context.active_object
    copy.location.x += 5.0
    assert copy != obj and look(copy) == frames
    bake()
    assert played_file(obj) != played_file(copy)
    assert obj.jellycage.uid != copy.jellycage.uid
    assert before not in (played_file(obj), played_file(copy))
    assert before.read_bytes() == bytes_before
    assert look(obj) == frames


@claim
def a_renamed_object_plays_and_bakes_again():
    _, frames = saved()
    obj = opened(SHOT)
    obj.name = "Renamed"
    assert look(obj) == frames
    before = played_file(obj)
    bake()
    assert played_file(obj).stem == "Renamed" and before.exists()
    assert look(obj) == frames


@claim
def an_appended_object_goes_on_playing():
    _, frames = saved()
    new_scene(LAST)
    other = FOLDER / "appending" / "other.blend"
    other.parent.mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(other))
    with bpy.data.libraries.load(str(SHOT)) as (source, target):
        target.objects = list(source.objects)
    for obj in target.objects:
        bpy.context.scene.collection.objects.link(obj)
    (obj,) = (obj for obj in target.objects if obj.jellycage.role == "BODY")
    assert look(obj) == frames
    bpy.ops.wm.save_mainfile()
    obj = opened(other)
    assert other.parent in played_file(obj).parents, "it plays a cache of another file"
    assert look(obj) == frames


@claim
def undo_after_the_first_save_still_plays():
    new_scene(LAST)
    obj = add_cube()
    bake()
    frames = look(obj)
    path = FOLDER / "undone" / "undone.blend"
    path.parent.mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    obj.location.x = 1.0
    bpy.ops.ed.undo_push(message="moved")
    bpy.ops.ed.undo()
    obj = bpy.data.objects["Cube"]
    assert obj.location.x == 0.0
    assert played_file(obj).exists(), stored(obj)
    assert look(obj) == frames


@claim
def files_with_long_or_strange_names_do_not_share_a_folder():
    folders = addon("folders")
    stem = "project_sequence_0100_shot_0200_department_simulation"
    for pair in ((f"{stem}_v001", f"{stem}_v002"), ("a+b", "a&b"), ("shot.1", "shot_1")):
        first, second = (folders.cache_folder(str(FOLDER / f"{name}.blend")) for name in pair)
        assert first != second, first


@claim
def a_missing_cache_is_said():
    saved()
    obj = opened(SHOT)
    away = played_file(obj).parent.rename(FOLDER / "away")
    where = played_file(obj).parent
    try:
        obj = opened(SHOT)
        assert addon("panel").what_next(bpy.context) == (
            "The cache is missing: Bake again",
            "ERROR",
        )
        shown(obj, LAST)
    finally:
        away.rename(where)


@claim
def a_save_without_bakes_makes_no_folder():
    new_scene(LAST)
    path = FOLDER / "plain" / "plain.blend"
    path.parent.mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    assert [p.name for p in path.parent.iterdir()] == [path.name]


if __name__ == "__main__":
    try_all()
