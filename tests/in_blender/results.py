"""What a build or a bake leaves in the scene: one step to undo, and all ways to get rid of it again."""

import os
import struct
import time
from functools import cache

import bpy
import numpy as np
from claims import (
    FACTS,
    FOLDER,
    add_cube,
    addon,
    bake,
    choose,
    claim,
    make_body,
    new_scene,
    played_file,
    points_of,
    shown,
    shown_in_world,
    simulated,
    try_all,
)

LAST = 6


@cache
def history():
    """What there was of the cube after each step, each undo and each redo."""
    new_scene(LAST)
    add_cube()
    bpy.context.active_object.jellycage.role = "NONE"
    bpy.ops.ed.undo_push(message="start")
    found = {"start": state()}
    assert bpy.ops.jellycage.build_cage() == {"FINISHED"}, addon("running").error
    found["built"] = state()
    bpy.ops.ed.undo()
    found["build undone"] = state()
    bpy.ops.ed.redo()
    found["build redone"] = state()
    choose(bpy.data.objects["Cube"])
    bake()
    found["baked"] = state()
    bpy.ops.ed.undo()
    found["bake undone"] = state()
    bpy.ops.ed.redo()
    found["bake redone"] = state()
    return found


def state():
    """(role, cages, what the cube plays, its lowest point at the last frame) in the scene as it is."""
    obj = bpy.data.objects["Cube"]
    modifier = addon("stack").result_modifier(obj)
    lowest = round(float(shown(obj, LAST)[:, 2].min()), 6)
    bpy.context.scene.frame_set(1)
    cages = sum(other.name.endswith("Cage") for other in bpy.context.scene.objects)
    return obj.jellycage.role, cages, modifier.filepath if modifier else "", lowest


def baked_cube():
    """The cube of the history, baked."""
    assert history()
    obj = bpy.data.objects["Cube"]
    choose(obj)
    if addon("stack").result_modifier(obj) is None:
        bake()
    return obj


@claim
def building_a_cage_is_one_step_to_undo():
    found = history()
    assert found["built"][:2] == ("BODY", 1)
    assert found["build undone"] == found["start"] == ("NONE", 0, "", -1.0)
    assert found["build redone"] == found["built"]


@claim
def a_bake_is_one_step_to_undo():
    found = history()
    assert found["baked"][2] and found["baked"][3] < -1.1, found["baked"]
    assert found["bake undone"] == found["built"]
    assert found["bake redone"] == found["baked"]


@claim
def free_leaves_the_object_as_before_the_bake():
    obj = baked_cube()
    path = played_file(obj)
    before = shown(obj, LAST)
    assert bpy.ops.jellycage.free() == {"FINISHED"}
    assert not obj.modifiers and not obj.jellycage.baked_settings
    assert shown(obj, LAST)[:, 2].min() == -1.0
    assert path.exists()  # so that it can be undone
    addon("stack").attach(obj, str(path), 1)
    assert shown(obj, LAST).tobytes() == before.tobytes()


@claim
def delete_unused_deletes_only_what_nothing_plays():
    obj = baked_cube()
    first = played_file(obj)
    bake()
    second = played_file(obj)
    assert first != second and first.exists()
    assert bpy.ops.jellycage.delete_unused() == {"FINISHED"}
    assert second.exists() and not first.parent.exists()


@claim
def an_exported_alembic_file_plays_the_same_in_the_world():
    obj = baked_cube()
    expected = [simulated(obj, frame) for frame in range(1, LAST + 1)]
    path = FOLDER / "cube.abc"
    assert bpy.ops.jellycage.export(format="ABC", filepath=str(path)) == {"FINISHED"}
    bpy.ops.wm.alembic_import(filepath=str(path), as_background_job=False)
    imported = bpy.context.active_object
    assert imported != obj
    for frame in range(1, LAST + 1):
        found = shown_in_world(imported, frame)
        np.testing.assert_allclose(found, expected[frame - 1], atol=1e-5)
    bpy.data.objects.remove(imported)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, LAST


@claim
def an_exported_point_cache_is_in_the_world_and_keeps_its_whole_name():
    obj = baked_cube()
    path = FOLDER / "cube.v001"
    assert bpy.ops.jellycage.export(format="PC2", filepath=str(path)) == {"FINISHED"}
    points = points_of(FOLDER / "cube.v001.pc2")
    for frame in range(1, LAST + 1):
        assert points[frame - 1].tobytes() == simulated(obj, frame).tobytes()


@claim
def shape_keys_reproduce_the_frames():
    obj = baked_cube()
    expected = points_of(played_file(obj))
    assert bpy.ops.jellycage.to_shape_keys() == {"FINISHED"}
    assert not obj.modifiers and len(obj.data.shape_keys.key_blocks) == 1 + LAST
    for frame in range(1, LAST + 1):
        np.testing.assert_allclose(shown(obj, frame), expected[frame - 1], atol=1e-5)
    np.testing.assert_allclose(shown(obj, 0), expected[0], atol=1e-5)
    np.testing.assert_allclose(shown(obj, LAST + 9), expected[-1], atol=1e-5)


@claim
def shape_keys_of_before_do_not_act_twice():
    new_scene(2)
    obj = add_cube()
    obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name="Tall", from_mix=False)
    for point in key.data:
        point.co.z *= 3.0
    key.value = 0.5
    points = np.random.default_rng(0).normal(size=(2, 8, 3)).astype("<f4")
    path = FOLDER / "keyed.pc2"
    header = struct.pack("<12siiffi", b"POINTCACHE2\0", 1, 8, 1.0, 1.0, 2)
    path.write_bytes(header + points.tobytes())
    addon("stack").attach(obj, str(path), 1)
    before = [shown(obj, frame) for frame in (1, 2)]
    choose(obj)
    try:
        done = bpy.ops.jellycage.to_shape_keys() == {"FINISHED"}
    except RuntimeError:
        done = False  # it said why not
    for frame in (1, 2):
        np.testing.assert_allclose(shown(obj, frame), before[frame - 1], atol=1e-5)
    assert done == (not obj.modifiers)


def large_cache(path, points, samples):
    """A PC2 file of that size that takes no room: all zeros after its header."""
    with open(path, "wb") as file:
        file.write(struct.pack("<12siiffi", b"POINTCACHE2\0", 1, points, 1.0, 1.0, samples))
        file.truncate(32 + 12 * points * samples)
    return path


def bytes_read():
    """What this process has read of files until now."""
    with open("/proc/self/io", encoding="ascii") as file:
        return int(file.readline().split()[1])


@claim
def a_smooth_surface_is_shown_near_the_exact_one():
    new_scene(LAST)
    bpy.ops.mesh.primitive_uv_sphere_add(location=(0.0, 0.0, 1.02))
    ball = make_body(bpy.context.active_object, sag=0.2)
    found = {}
    for surface in ("BARYCENTRIC", "MLS", "GAUSSIAN"):
        ball.jellycage.surface = surface
        bake()
        found[surface] = [shown(ball, frame).astype(np.float64) for frame in (1, LAST)]
    for surface in ("MLS", "GAUSSIAN"):
        apart = [
            np.linalg.norm(smooth - exact, axis=1).max()
            for smooth, exact in zip(found[surface], found["BARYCENTRIC"], strict=True)
        ]
        FACTS[f"{surface} from exact"] = [round(distance, 6) for distance in apart]
        assert apart[0] < 1e-5 and 1e-4 < apart[1] < 0.25, FACTS  # half a cell


@claim
def motion_blur_finds_the_body_between_its_frames():
    new_scene(LAST)
    obj = add_cube()
    bake()
    before, after = shown(obj, 4), shown(obj, 5)
    assert np.abs(after - before).max() > 0.01
    np.testing.assert_allclose(
        shown(obj, 4, subframe=0.25), 0.75 * before + 0.25 * after, atol=1e-6
    )


@claim
def attaching_reads_no_more_than_the_frame_that_is_shown():
    scene = new_scene(250)
    size = 316
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=size, y_subdivisions=size)
    obj = bpy.context.active_object
    points = len(obj.data.vertices)
    assert points > 100_000
    path = large_cache(FOLDER / "large.pc2", points, 250)
    began, before = time.perf_counter(), bytes_read()
    addon("stack").attach(obj, str(path), 1)
    scene.frame_set(100)
    bpy.context.evaluated_depsgraph_get()
    FACTS["seconds to attach 100,000 vertices x 250 frames"] = round(time.perf_counter() - began, 3)
    read = bytes_read() - before
    assert not shown(obj, 100).any()
    assert read < 8 * 12 * points, f"{read} of {os.path.getsize(path)} bytes were read"


if __name__ == "__main__":
    try_all()
