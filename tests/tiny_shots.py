"""Small scenes that bake in a second, and how to look at what a bake has left."""

import hashlib
import json
import os
import sys
from pathlib import Path

import numpy as np
from mesh_files import CUBE_OBJ, ply_header
from shapes import QUADS, box

from jellycage.sim.bake.bake import bake
from jellycage.sim.scene.build import build_shot
from jellycage.sim.scene.scene_file import scene_of

CUBE = box()[0]
FLOOR = {"kind": "plane", "friction": 0.6, "restitution": 0.3}
VIOLENT = {"kind": "sphere", "radius": 0.3, "location": [0.5, 0.4, -0.35], "friction": 0.8}


def cube_file(folder, name="cube.obj") -> str:
    """A cube of six quads with corners at 0 and 1; its name."""
    (Path(folder) / name).write_text(CUBE_OBJ)
    return name


def painted_cube(folder, name="cube.ply", **attributes) -> str:
    """The same cube as PLY with one number per vertex for every attribute; its name."""
    return painted_mesh(folder, CUBE, QUADS, name, **attributes)


def painted_mesh(folder, vertices, polygons, name="mesh.ply", **attributes) -> str:
    """Any mesh as PLY with one number per vertex for every attribute; its name."""
    extra = "".join(f"property double {key}\n" for key in attributes)
    rows = np.column_stack([vertices, *attributes.values()])
    lines = [" ".join(map(repr, row)) for row in rows.tolist()]
    lines += [" ".join(map(str, [len(polygon), *polygon])) for polygon in polygons]
    header = ply_header(len(vertices), len(polygons), "ascii", "double", extra)
    (Path(folder) / name).write_bytes(header + "\n".join(lines).encode() + b"\n")
    return name


def document(folder, *, frames=(1, 6), colliders=(FLOOR,), body=None, **keys) -> dict:
    """A cube above the floor as a scene file has it."""
    row = {"mesh": cube_file(folder), "resolution": 4, "location": [0.0, 0.0, 0.05], **(body or {})}
    return {
        "frames": list(frames),
        "quality": "preview",
        "body": [row],
        "collider": list(colliders),
        **keys,
    }


def violent_document(folder, *, frames=(1001, 1010)) -> dict:
    """A soft cube shot at a ball on the floor: contact, friction, a bounce, and elements turned inside out."""
    body = {
        "preset": "flesh",
        "sag": 0.3,
        "velocity": [1.0, 0.5, -25.0],
        "spin": [3.0, 8.0, 1.0],
        "friction": 0.9,
        "restitution": 0.4,
    }
    return document(folder, frames=frames, colliders=[FLOOR, VIOLENT], body=body, substeps=3)


def shot_of(folder, content):
    """The shot of a scene given as a dict."""
    return build_shot(scene_of(content, folder))


def tiny_shot(folder, **keys):
    """The shot of `document`."""
    return shot_of(folder, document(folder, **keys))


def baked(shot, folder, **options):
    """A bake, and its frames as one array (frames, v, 3)."""
    result = bake(shot, folder, **options)
    first, last = result.cache.facts.frames
    rows = [np.concatenate(result.cache.frame(frame)) for frame in range(first, last + 1)]
    return result, np.array(rows)


def frame_digests(folder) -> dict[str, str]:
    """Digest of every frame file of a bake, by name."""
    paths = [*Path(folder).glob("frame_*.npy"), *Path(folder).glob("velocity_*.npy")]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(paths)}


def is_leftover(folder) -> bool:
    """Whether a file that was not finished is in the folder."""
    return any(path.name.startswith(".") for path in Path(folder).iterdir())


def write_scene(folder, content, name="scene.json") -> Path:
    """A scene file."""
    path = Path(folder) / name
    path.write_text(json.dumps(content))
    return path


def python(*arguments) -> list[str]:
    """The command that runs this Python."""
    return [sys.executable, *map(str, arguments)]


def environment(**more) -> dict[str, str]:
    """Of a child process."""
    return {**os.environ, **more}
