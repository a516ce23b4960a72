"""Suzanne and the sample bear, dropped: the same frames as from the command line, volume kept, the floor respected.

    BLENDER_PYTHON dropping.py FOLDER SAMPLE_MESHES COMMAND_LINE_FOLDERS...

The last arguments are where to find what the extension does without: the project, for its command line, and click.
"""

import os
import subprocess
import sys
from functools import cache

import bpy
import numpy as np
from claims import (
    FACTS,
    FOLDER,
    Skip,
    addon,
    bake,
    choose,
    claim,
    new_scene,
    played_file,
    points_of,
    shown,
    shown_in_world,
    try_all,
    volume,
)

SAMPLES, PROJECT, *MORE = sys.argv[2:]
LAST = 40
FLOOR = -1.97  # half of Suzanne's height below her

COMMAND_LINE = """
import sys
vendor, packages, project, *more = sys.argv[1].split("|")
sys.path[:0] = [vendor, packages]
sys.path += more
from jellycage import sim, toolkit
for package in (sim, toolkit):  # only what was left out of the zip comes from the project
    package.__path__.append(f"{project}/{package.__name__.removeprefix('jellycage.')}")
sys.argv[1:] = sys.argv[2:]
from jellycage.sim.cli import main
main()
"""


@cache
def dropped():
    """(Suzanne, bear) with cages, baked together."""
    scene = new_scene(LAST, quality="STANDARD")
    path = os.path.join(SAMPLES, "gummy_bear.obj")
    bpy.ops.wm.obj_import(filepath=path, forward_axis="Y", up_axis="Z")
    bear = bpy.context.active_object
    bear.scale, bear.location = [2.0 / max(bear.dimensions)] * 3, (4.0, 0.0, 0.0)
    bear.jellycage.resolution = 8
    bpy.ops.mesh.primitive_monkey_add()
    suzanne = bpy.context.active_object
    for obj in (suzanne, bear):
        choose(obj)
        assert bpy.ops.jellycage.build_cage() == {"FINISHED"}, addon("running").error
    scene.jellycage.ground, scene.jellycage.ground_height = "HEIGHT", FLOOR
    bake()
    FACTS["elements"] = [obj.jellycage.element_count for obj in (suzanne, bear)]
    return suzanne, bear


@claim
def cages_are_shown_and_bound_the_surface():
    for obj in dropped():
        cage = obj.jellycage.cage
        assert obj.jellycage.is_bounding and obj.jellycage.element_count > 100
        assert cage.parent == obj and cage.display_type == "WIRE" and cage.hide_render
        nodes = np.array([v.co for v in cage.data.vertices])
        points = np.array([v.co for v in obj.data.vertices])
        assert (nodes.min(0) <= points.min(0)).all() and (nodes.max(0) >= points.max(0)).all()


@claim
def patches_are_shown_on_the_surface_and_go_again():
    obj = dropped()[1]  # the bear has no holes that would be closed
    choose(obj)
    obj.jellycage.show_patches = True
    assert bpy.ops.jellycage.build_cage() == {"FINISHED"}, addon("running").error
    cage = obj.jellycage.cage
    mesh = cage.data
    obj.data.calc_loop_triangles()
    area = sum(triangle.area for triangle in obj.data.loop_triangles)
    assert abs(sum(polygon.area for polygon in mesh.polygons) / area - 1.0) < 1e-3
    assert len(mesh.polygons) > len(obj.data.loop_triangles)
    assert {polygon.material_index for polygon in mesh.polygons} == set(range(len(mesh.materials)))
    assert cage.display_type == "TEXTURED" and cage.show_in_front and cage.hide_render
    obj.jellycage.show_patches = False
    assert bpy.ops.jellycage.build_cage() == {"FINISHED"}, addon("running").error
    assert cage.display_type == "WIRE" and not cage.show_in_front
    assert not obj.jellycage.cage.data.polygons


@claim
def evaluated_vertices_equal_those_of_the_command_line():
    child, objects = addon("child"), dropped()
    folder = played_file(objects[0]).parent
    places = [str(child.HERE / "vendor"), child.packages_folder(), PROJECT, *MORE]
    output = FOLDER / "again.bake"
    command = [sys.executable, "-s", "-c", COMMAND_LINE, "|".join(places), "bake"]
    command += [str(folder / "scene.json"), "--output", str(output), "--quiet"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(addon("folders").compiled_folder())}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-600:]
    for frame in range(1, LAST + 1):
        name = f"frame_{frame:04d}.npy"
        again = np.load(output / name)
        assert again.tobytes() == np.load(folder / "frames" / name).tobytes(), frame
    start = 0
    names = sorted(objects, key=lambda obj: played_file(obj).stem != "gummy_bear")
    for obj in names:
        to_object = np.load(played_file(obj).with_name(f"{played_file(obj).stem}_placements.npy"))
        for frame in range(1, LAST + 1):
            points = np.load(output / f"frame_{frame:04d}.npy").astype(np.float64)
            points = points[start : start + len(obj.data.vertices)]
            placed = points @ to_object[0][:3, :3].T + to_object[0][:3, 3]
            assert shown(obj, frame).tobytes() == placed.astype(np.float32).tobytes(), (obj, frame)
        start += len(obj.data.vertices)


@claim
def evaluated_vertices_are_those_of_the_file():
    for obj in dropped():
        for at, points in enumerate(points_of(played_file(obj))):
            assert shown(obj, 1 + at).tobytes() == points.tobytes()


@claim
def they_fall_and_keep_their_volume():
    for obj in dropped():
        first, last = shown_in_world(obj, 1), shown_in_world(obj, LAST)
        assert last[:, 2].mean() < first[:, 2].mean() - 0.5
        before = volume(first, obj.data)
        kept = [volume(shown_in_world(obj, f), obj.data) / before for f in range(2, LAST + 1)]
        FACTS[f"volume of {obj.name}"] = [round(min(kept), 4), round(max(kept), 4)]
        assert 0.95 < min(kept) and max(kept) < 1.05, FACTS


@claim
def nothing_ends_below_the_floor():
    for obj in dropped():
        points = shown_in_world(obj, LAST)
        height = np.ptp(shown_in_world(obj, 1)[:, 2])
        assert points[:, 2].min() > FLOOR - 0.01 * height, points[:, 2].min()


@claim
def the_object_itself_is_untouched():
    for obj in dropped():
        modifier = addon("stack").result_modifier(obj)
        assert list(obj.modifiers) == [modifier] and not obj.data.shape_keys
    flat = np.empty(3 * len(obj.data.vertices), np.float32)
    obj.data.vertices.foreach_get("co", flat)
    assert flat.reshape(-1, 3).tobytes() != shown(obj, LAST).tobytes()


@claim
def a_bake_needs_no_network():
    with open("/proc/net/route", encoding="ascii") as routes:
        if len(routes.readlines()) > 1:
            raise Skip("unshare may not take the network away here")
    assert dropped()


if __name__ == "__main__":
    try_all()
