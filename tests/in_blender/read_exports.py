"""Read every export format with Blender and compare each frame with what was written.

    BLENDER_PYTHON tests/in_blender/read_exports.py FOLDER

FOLDER was made by `write_exports.py`. Prints one line of JSON: for each format what was compared, and a list of
failures. Leaves with 0 if there are none.
"""

import json
import os
import sys
from pathlib import Path

import bpy
import numpy as np

BODIES = (0, 1)
MATRIX_ERROR = 1e-5
"""Of positions below a transform [m]: Blender keeps its matrices in single precision."""


class Report:
    """Numbers of comparisons per format, and what failed."""

    def __init__(self):
        self.compared = {}
        self.failures = []

    def check(self, kind, is_right, sentence):
        self.compared[kind] = self.compared.get(kind, 0) + 1
        if not is_right:
            self.failures.append(f"{kind}: {sentence}")


def emptied():
    """A scene without objects at the right frame rate."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    return bpy.context.scene


def vertices(mesh):
    result = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", result)
    return result.reshape(-1, 3)


def corners(mesh):
    result = np.empty(len(mesh.loops), np.int32)
    mesh.loops.foreach_get("vertex_index", result)
    return result


def polygon_start(mesh):
    return np.append([p.loop_start for p in mesh.polygons], len(mesh.loops))


def corner_uv(mesh):
    result = np.empty(2 * len(mesh.loops), np.float32)
    mesh.uv_layers[0].data.foreach_get("uv", result)
    return result.reshape(-1, 2)


def evaluated(obj):
    """(mesh, 4x4 world matrix) after all modifiers at the current frame."""
    result = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return result.data, np.array(result.matrix_world)


def check_faces(report, kind, mesh, expected, body):
    same = np.array_equal(corners(mesh), expected[f"polygon_vertices_{body}"])
    report.check(kind, same, f"corners of body {body} differ")
    same = np.array_equal(polygon_start(mesh), expected[f"polygon_start_{body}"])
    report.check(kind, same, f"polygons of body {body} differ")
    if f"corner_uv_{body}" in expected:
        same = np.array_equal(corner_uv(mesh), expected[f"corner_uv_{body}"])
        report.check(kind, same, f"UVs of body {body} differ")


def check_alembic(report, folder, expected):
    scene = emptied()
    scene.render.fps = int(expected["fps"])
    path = str(folder / "scene.abc")
    bpy.ops.wm.alembic_import(filepath=path, set_frame_range=True, as_background_job=False)
    first, count = int(expected["first_frame"]), len(expected["positions_0"])
    found = (scene.frame_start, scene.frame_end)
    report.check("abc", found == (first, first + count - 1), f"frame range is {found}")
    for body in BODIES:
        obj = bpy.data.objects[str(expected[f"name_{body}"])]
        check_faces(report, "abc", evaluated(obj)[0], expected, body)
        for frame in range(count):
            scene.frame_set(first + frame)
            mesh, matrix = evaluated(obj)
            x = expected[f"positions_{body}"][frame]
            same = vertices(mesh).tobytes() == x.tobytes()
            report.check("abc", same, f"frame {first + frame} of body {body} differs")
            v = np.array([row.vector for row in mesh.attributes["velocity"].data], np.float32)
            same = np.array_equal(v, expected[f"velocities_{body}"][frame])
            report.check("abc", same, f"velocities of frame {first + frame} of body {body} differ")
            given = expected[f"matrix_{body}"] if f"matrix_{body}" in expected else np.eye(4)
            error = np.abs((x @ (matrix - given)[:3, :3].T) + (matrix - given)[:3, 3]).max()
            report.check("abc", error < MATRIX_ERROR, f"body {body} is {error} m out of place")
    layers = [layer.name for layer in bpy.data.objects[str(expected["name_0"])].data.uv_layers]
    report.check("abc", layers == ["UVMap"], f"UV layers are {layers}")


def check_point_cache(report, folder, expected, kind):
    scene = emptied()
    first = int(expected["first_frame"])
    for body in BODIES:
        positions = expected[f"positions_{body}"]
        start = expected[f"polygon_start_{body}"].tolist()
        loop = expected[f"polygon_vertices_{body}"].tolist()
        faces = [loop[a:b] for a, b in zip(start[:-1], start[1:], strict=True)]
        mesh = bpy.data.meshes.new("still")
        mesh.from_pydata(np.zeros_like(positions[0]).tolist(), [], faces)
        obj = bpy.data.objects.new("moving", mesh)
        scene.collection.objects.link(obj)
        modifier = obj.modifiers.new("cache", "MESH_CACHE")
        modifier.cache_format = kind.upper()
        modifier.filepath = str(folder / f"body_{body}.{kind}")
        modifier.forward_axis, modifier.up_axis = "POS_Y", "POS_Z"
        modifier.frame_start = first
        for frame, x in enumerate(positions):
            scene.frame_set(first + frame)
            same = vertices(evaluated(obj)[0]).tobytes() == x.tobytes()
            report.check(kind, same, f"frame {first + frame} of body {body} differs")


def check_obj(report, folder, expected):
    first = int(expected["first_frame"])
    for frame in range(len(expected["positions_0"])):
        emptied()
        path = str(folder / f"scene_{first + frame:04d}.obj")
        bpy.ops.wm.obj_import(filepath=path, forward_axis="Y", up_axis="Z")
        for body in BODIES:
            obj = bpy.data.objects[str(expected[f"name_{body}"])]
            x = expected[f"positions_{body}"][frame]
            same = vertices(obj.data).tobytes() == x.tobytes()
            report.check("obj", same, f"frame {first + frame} of body {body} differs")
            report.check("obj", np.array_equal(obj.matrix_world, np.eye(4)), "not where it was")
            check_faces(report, "obj", obj.data, expected, body)


def main(folder):
    report = Report()
    expected = dict(np.load(folder / "expected.npz"))
    check_alembic(report, folder, expected)
    check_point_cache(report, folder, expected, "pc2")
    check_point_cache(report, folder, expected, "mdd")
    check_obj(report, folder, expected)
    result = {"blender": bpy.app.version_string, "compared": report.compared}
    print(json.dumps({**result, "failures": report.failures}), flush=True)
    return 1 if report.failures else 0


if __name__ == "__main__":
    try:
        code = main(Path(sys.argv[1]))
    except BaseException as error:  # the outermost edge: the reader of the line must see it
        print(json.dumps({"failures": [f"{type(error).__name__}: {error}"]}), flush=True)
        code = 1
    os._exit(code)  # Blender as a module may hang when it is left in the ordinary way
