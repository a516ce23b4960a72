"""What the scripts of this folder share: a script is a list of claims, each tried by itself inside Blender.

    from claims import claim, try_all

    @claim
    def a_cube_falls(): ...            a claim fails by raising; its name is the sentence

    try_all()

`BLENDER_PYTHON script.py FOLDER` prints one line of JSON: {"blender", "claims": {name: "" or what failed}, "facts"}.
The extension is the one in BLENDER_USER_RESOURCES. FOLDER is empty, and for the script to write to.
"""

import importlib
import json
import os
import sys
import traceback
from pathlib import Path

import bpy
import numpy as np

MODULE = "bl_ext.user_default.jellycage"
FOLDER = Path(sys.argv[1]).resolve()
CLAIMS = []
FACTS = {}


def claim(function):
    """Note a claim that the script will try."""
    CLAIMS.append(function)
    return function


def try_all(*, enable=True):
    """Try every claim and tell; ends the process."""
    told = {"blender": bpy.app.version_string, "claims": {}, "facts": FACTS}
    try:
        if enable:
            switch_on()
        for function in CLAIMS:
            told["claims"][function.__name__] = _outcome(function)
    finally:
        sys.stderr.flush()
        print("\n" + json.dumps(told), flush=True)
        os._exit(0)  # Blender as a module may hang when it is left in the ordinary way


class Skip(Exception):
    """What was claimed cannot be tried on this machine; says why."""


def _outcome(function):
    try:
        function()
        return ""
    except Skip as reason:
        return f"SKIPPED {reason}"
    except Exception:  # the outermost edge: whatever it was, the reader of the line must see it
        return traceback.format_exc(limit=-4)


def switch_on():
    """Enable the extension that is installed."""
    import addon_utils  # there only after bpy

    addon_utils.enable(MODULE)


def switch_off():
    """Disable the extension."""
    import addon_utils

    addon_utils.disable(MODULE)


def addon(name):
    """A module of the extension."""
    return importlib.import_module(f"{MODULE}.{name}")


# ---- scenes


def new_scene(last=8, *, first=1, quality="PREVIEW"):
    """An empty scene in a file without a name."""
    bpy.ops.wm.read_homefile(use_empty=True)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = first, last
    scene.frame_set(first)
    scene.jellycage.quality = quality
    return scene


def make_body(obj, resolution=4, **settings):
    """Let an object be a soft body without showing its cage."""
    obj.jellycage.role, obj.jellycage.resolution = "BODY", resolution
    for name, value in settings.items():
        setattr(obj.jellycage, name, value)
    return obj


def add_cube(name="Cube", location=(0.0, 0.0, 2.0), **settings):
    """A soft cube with sides of 2."""
    bpy.ops.mesh.primitive_cube_add(location=location)
    obj = bpy.context.active_object
    obj.name = name
    return make_body(obj, **settings)


def choose(obj):
    """Make an object the only one that is selected, and active."""
    for other in bpy.context.view_layer.objects:
        other.select_set(other == obj)
    bpy.context.view_layer.objects.active = obj


def keyframes(obj, path, values):
    """Keyframe a property: {frame: value}."""
    owner, _, name = path.rpartition(".")
    target = getattr(obj, owner) if owner else obj
    for frame, value in values.items():
        setattr(target, name, value)
        target.keyframe_insert(name, frame=frame)


def bake():
    """Bake, and complain if that failed."""
    try:
        bpy.ops.jellycage.bake()
    except RuntimeError as error:  # how Blender hands on what an operator reports
        raise AssertionError(str(error)) from None
    running = addon("running")
    assert not running.error, f"{running.error}; {running.log[-5:]}"


# ---- what Blender shows, and what was simulated


def shown(obj, frame, subframe=0.0):
    """Evaluated vertices at a frame in the object's space, float32 (n, 3)."""
    bpy.context.scene.frame_set(frame, subframe=subframe)
    mesh = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    flat = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", flat)
    return flat.reshape(-1, 3)


def shown_in_world(obj, frame):
    """Evaluated vertices at a frame in the world, in units of the scene, (n, 3)."""
    points = shown(obj, frame).astype(np.float64)
    matrix = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world
    matrix = np.array(matrix, np.float64)
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def played_file(obj):
    """The point cache that an object plays."""
    return Path(bpy.path.abspath(addon("stack").result_modifier(obj).filepath))


def simulated(obj, frame):
    """Vertices at a frame as the worker left them: in the world, in metres, float32 (n, 3)."""
    path = played_file(obj)
    facts = json.loads((path.parent / "frames" / "bake.json").read_text())
    at = facts["names"].index(path.stem)
    first = sum(facts["vertex_counts"][:at])
    points = np.load(path.parent / "frames" / f"frame_{frame:04d}.npy")
    return points[first : first + facts["vertex_counts"][at]]


def points_of(path):
    """The samples of a PC2 file, (samples, points, 3)."""
    header = np.fromfile(path, "<i4", 8)
    return np.fromfile(path, "<f4", offset=32).reshape(header[7], header[4], 3)


def frames_of(obj):
    """(first, last) frame of the bake that an object plays."""
    path = played_file(obj)
    return tuple(json.loads((path.parent / "frames" / "bake.json").read_text())["frames"])


def volume(points, mesh):
    """Signed volume inside a mesh with these vertices."""
    mesh.calc_loop_triangles()
    corners = np.empty(3 * len(mesh.loop_triangles), np.int32)
    mesh.loop_triangles.foreach_get("vertices", corners)
    points = points.astype(np.float64)
    points = points - points.mean(axis=0)  # where a mesh has holes, the origin counts
    a, b, c = np.moveaxis(points[corners.reshape(-1, 3)], 1, 0)
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


def children():
    """Ids of the processes that this one started and that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended while we looked
        if int(words[1]) == os.getpid() and words[0] != "Z":
            found.append(int(path.parent.name))
    return found


def assert_one_sentence(text):
    """What an artist is told: one line, nothing of Python's."""
    assert text and "\n" not in text and "Traceback" not in text, text
    assert len(text) < 250, text
