"""Meshes from and to files.

OBJ, PLY, STL and OFF are read by our own small readers: they keep vertex order, polygons, UVs and
doubles, and they compare what a header announces with the size of the file before they allocate.
glTF goes through trimesh and the solver formats through meshio, both without any merging of
vertices: trimesh's merge has an absolute tolerance of 1e-8, which breaks small models. Whatever the
bytes are, only MeshError and OSError come out.
"""

import contextlib
import io
import json
import os
import re
import warnings as python_warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from jellycage.toolkit.arrays import as_points
from jellycage.toolkit.atomic_file import atomic_file
from jellycage.toolkit.errors import MeshError
from jellycage.toolkit.mesh.mesh import TriMesh, as_mesh, mesh_from_polygons
from jellycage.toolkit.mesh.npz_file import parsed_npz
from jellycage.toolkit.mesh.obj_file import parsed_obj
from jellycage.toolkit.mesh.off_file import parsed_off
from jellycage.toolkit.mesh.ply_file import parsed_ply
from jellycage.toolkit.mesh.stl_file import is_ascii_stl, is_binary_stl, parsed_stl

PARSERS = {
    "obj": parsed_obj,
    "ply": parsed_ply,
    "stl": parsed_stl,
    "off": parsed_off,
    "npz": parsed_npz,
}
MESHIO_FORMATS = {"vtk": "vtk", "vtu": "vtu", "msh": "gmsh", "mesh": "medit", "inp": "abaqus"}
KNOWN = (*PARSERS, "glb", "gltf", *MESHIO_FORMATS)

ANNOUNCED = re.compile(
    rb"(?:POINTS|CELLS|POLYGONS|CELL_TYPES|OFFSETS|Vertices|Triangles|Quadrilaterals|"
    rb"NumberOfPoints=\"|NumberOfCells=\"|\$Nodes|\$Elements)\s*(\d+(?:[ \t]+\d+)?)",
    re.IGNORECASE,
)
"""Counts in the headers of the meshio formats."""


def read_mesh(path: str | os.PathLike, *, scale: float = 1.0) -> TriMesh:
    """The surface mesh in a file, with the vertices in the order of the file.

    scale: metres per unit of the file, 0.001 if it is in millimetres. Raises OSError if the
    file cannot be opened and MeshError, in one line with a remedy, if it holds no usable mesh.
    """
    path = _checked_path(path)
    kind = path.suffix.lower().lstrip(".")
    try:
        if kind not in KNOWN:
            known = " ".join(f".{name}" for name in KNOWN)
            raise MeshError(f"the ending '{path.suffix}' is not known; use one of {known}")
        data = path.read_bytes()
        if not data:
            raise MeshError("the file is empty; export it again")
        found = _sniffed(data) or kind
        mesh = _scaled(_parsed(path, data, found), scale)
        if not len(mesh.vertices):
            raise MeshError("no vertices and no faces; export the object again")
        if not len(mesh.faces):
            raise MeshError(
                f"no faces, only {len(mesh.vertices)} vertices; a surface is needed: "
                "reconstruct one from the points, or export the faces too"
            )
    except MeshError as error:
        raise MeshError(f"{_one_line(path)}: {_one_line(error)}") from None
    notes = mesh.warnings
    if found != kind:
        notes = (f"The file is named .{kind} but holds {found.upper()}: read as that.", *notes)
    return replace(mesh, name=path.stem, warnings=notes)


def _scaled(mesh, scale):
    if not 0.0 < scale < np.inf:
        raise MeshError(f"the scale must be a positive number, got {scale:g}; 1 leaves it as it is")
    with np.errstate(over="ignore"):
        return replace(mesh, vertices=mesh.vertices * scale)


def _checked_path(path):
    path = Path(path)
    if "\0" in str(path):
        raise FileNotFoundError("a file name with a zero byte in it cannot exist")
    if path.is_dir():
        raise IsADirectoryError(f"{_one_line(path)} is a folder; give the path of a mesh file")
    if not path.exists():
        raise FileNotFoundError(f"{_one_line(path)} does not exist; check the path")
    if not path.is_file():
        raise OSError(f"{_one_line(path)} is no regular file; give the path of a mesh file")
    return path


def _one_line(thing):
    return " ".join(str(thing).split("\n")).replace("\r", " ")


def _sniffed(data):
    """What the first bytes say the file is, or None if they say nothing certain."""
    if data[:4] in (b"ply\n", b"ply\r"):
        return "ply"
    if data[:4] == b"glTF":
        return "glb"
    if data.startswith(b"# vtk DataFile"):
        return "vtk"
    return "stl" if is_binary_stl(data) or is_ascii_stl(data) else None


def _parsed(path, data, kind):
    if kind == "ply" and data[:3] != b"ply":
        raise MeshError("no PLY file (it does not begin with 'ply'); export it again")
    if kind in PARSERS:
        with np.errstate(all="ignore"):
            return PARSERS[kind](data)
    if kind in MESHIO_FORMATS:
        return _read_foreign(_read_meshio, path, data, kind)
    return _read_foreign(_read_gltf, path, data, kind)


def _read_foreign(reader, path, data, kind):
    """What another library makes of the file; whatever it raises becomes one MeshError.

    This is an outermost edge: those libraries raise anything (KeyError, struct.error, SystemExit
    ...) on bad input.
    """
    said = io.StringIO()
    try:
        with (
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(said),
            python_warnings.catch_warnings(),
            np.errstate(all="ignore"),
        ):
            python_warnings.simplefilter("ignore")
            mesh = reader(path, data, kind)
    except MeshError:
        raise
    except ImportError as error:
        raise MeshError(
            f"reading .{kind} needs a package that is missing ({_one_line(error)}); "
            "install it, or export as OBJ or PLY"
        ) from None
    except (Exception, SystemExit) as error:
        detail = _one_line(error)[:120] or type(error).__name__
        raise MeshError(
            f"cannot be read as {kind.upper()} ({detail}); export it again, or as OBJ or PLY"
        ) from None
    notes = " ".join(said.getvalue().split())[:200]
    return replace(mesh, warnings=(*mesh.warnings, notes)) if notes else mesh


def _read_meshio(path, data, kind):
    import meshio

    _check_counts(data, kind)
    return as_mesh(getattr(meshio, MESHIO_FORMATS[kind]).read(str(path)))


def _check_counts(data, kind):
    """Refuse what meshio allocates for without looking: counts, grid sizes, node numbers."""
    if kind == "vtk" and b"UNSTRUCTURED_GRID" not in data[:1024].upper():
        raise MeshError("of VTK only unstructured grids are read; export as PLY or OBJ")
    if kind == "msh" and not re.search(rb"\$MeshFormat\s+[\d.]+\s+0\s", data[:1024]):
        raise MeshError("of Gmsh only text files are read; save with Mesh.Binary = 0")
    if kind == "msh" and b"$EndElements" not in data:
        raise MeshError("the file is cut short; copy or export it again")
    limit = len(data) * (1000 if kind == "vtu" else 1)
    words = [word for match in ANNOUNCED.finditer(data) for word in match[1].split()]
    if kind == "msh":  # an array as long as the largest node number is made
        limit = max(limit, 1_000_000)
        words += re.findall(rb"(?<![\d.])\d{7,}(?![\d.])", data)
    largest = max((int(word[:18]) for word in words), default=0)
    if largest > limit:
        raise MeshError(
            f"announces {largest} items but has only {len(data)} bytes; copy or export it again"
        )


def _read_gltf(path, data, kind):
    """All meshes of the scene in one, their transforms applied."""
    import trimesh

    _check_gltf(data, kind)
    scene = trimesh.load_scene(str(path), file_type=kind, process=False, merge_primitives=False)
    parts = [as_mesh(part) for part in scene.dump() if len(getattr(part, "faces", ()))]
    if not parts:
        raise MeshError("the scene holds no faces; export a mesh object")
    first = np.cumsum([0, *(len(part.vertices) for part in parts)])
    faces = np.concatenate([p.faces + at for p, at in zip(parts, first, strict=False)])
    has_uv = all(part.uv is not None for part in parts)
    return mesh_from_polygons(
        np.concatenate([part.vertices for part in parts]),
        3 * np.arange(len(faces) + 1),
        faces.ravel(),
        uv=np.concatenate([part.uv for part in parts]) if has_uv else None,
        uv_index=faces.ravel() if has_uv else None,
    )


def _check_gltf(data, kind):
    """Refuse chunks that end after the file, and accessors that would fill memory with zeros."""
    text = data
    if kind == "glb":
        at = 12
        while at < len(data):
            at += 8 + int.from_bytes(data[at : at + 4], "little")
        if len(data) < 20 or at > len(data) or int.from_bytes(data[8:12], "little") > len(data):
            raise MeshError("the file is cut short; copy or export it again")
        text = data[20 : 20 + int.from_bytes(data[12:16], "little")]
    header = json.loads(text.decode("utf-8", "replace"))
    if "KHR_draco_mesh_compression" in header.get("extensionsRequired", ()):
        raise MeshError("the meshes are Draco-compressed; export without compression")
    for accessor in header.get("accessors", ()):
        if "bufferView" not in accessor and accessor.get("count", 0) > len(data):
            raise MeshError("announces more items than the file can hold; export it again")


def write_obj(mesh: TriMesh, path: str | os.PathLike, vertices: ArrayLike | None = None) -> None:
    """Write polygons, UVs and vertex order as OBJ, optionally with other positions [m] (n, 3).

    The file appears whole or not at all. Positions are written so that reading gives the same
    doubles.
    """
    vertices = as_points(mesh.vertices if vertices is None else vertices, "vertices")
    if len(vertices) != len(mesh.vertices):
        raise MeshError(f"vertices: expected {len(mesh.vertices)} rows, got {len(vertices)}")
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    if mesh.uv is not None:
        lines += [f"vt {u!r} {v!r}" for u, v in mesh.uv.tolist()]
    words = _corner_words(mesh)
    start = range(0, len(words) + 1, 3) if mesh.polygon_start is None else mesh.polygon_start
    ends = list(start)
    lines += ["f " + " ".join(words[a:b]) for a, b in zip(ends[:-1], ends[1:], strict=True)]
    with atomic_file(path) as draft:
        draft.write_text("\n".join(lines) + "\n", encoding="ascii", newline="\n")


def _corner_words(mesh):
    corners = mesh.faces.ravel() if mesh.polygon_start is None else mesh.polygon_vertices
    numbers = (corners + 1).tolist()
    if mesh.uv is None:
        return [str(v) for v in numbers]
    rows = zip(numbers, (mesh.uv_index + 1).tolist(), strict=True)
    return [f"{v}/{t}" if t else str(v) for v, t in rows]
