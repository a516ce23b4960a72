"""The visible surface: triangles for work, and the polygons, vertex order and UVs as they came."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.toolkit.arrays import as_indices, as_points, frozen
from jellycage.toolkit.errors import MeshError
from jellycage.toolkit.mesh.polygons import triangulated

SURFACE_CELLS = {"triangle": 3, "triangle6": 3, "triangle7": 3, "quad": 4, "quad8": 4, "quad9": 4}
"""meshio's surface cells and how many of their nodes are corners; "polygon" uses all."""


@dataclass(frozen=True, eq=False)
class TriMesh:
    """A surface mesh. Only `vertices` and `faces` are needed; the rest is kept for export."""

    vertices: NDArray[np.float64]
    """Positions [m], shape (n, 3)."""
    faces: NDArray[np.int32]
    """Vertex indices of the triangles, shape (f, 3), counter-clockwise seen from outside."""
    polygon_start: NDArray[np.int32] | None = None
    """CSR rows of the polygons in `polygon_vertices`, shape (p+1,); None if all are triangles."""
    polygon_vertices: NDArray[np.int32] | None = None
    """Vertex indices of the original polygon corners, shape (c,)."""
    uv: NDArray[np.float64] | None = None
    """Texture coordinates, shape (k, 2)."""
    uv_index: NDArray[np.int32] | None = None
    """Row of `uv` for each polygon (or triangle) corner, shape (c,); -1 where there is none."""
    name: str = "mesh"
    warnings: tuple[str, ...] = field(default=())
    """What reading or repair noticed or did, in sentences."""
    attributes: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    """Numbers that the file gives each vertex, by name, each of shape (n,): painted weights, colours in 0..1."""

    def __post_init__(self):
        put = object.__setattr__
        put(self, "vertices", as_points(self.vertices, "vertices"))
        put(self, "faces", as_indices(self.faces, 3, len(self.vertices), "faces"))
        for key in ("polygon_start", "polygon_vertices", "uv_index"):
            if getattr(self, key) is not None:
                put(self, key, frozen(np.asarray(getattr(self, key), dtype=np.int32)))
        if self.uv is not None:
            put(self, "uv", as_points(self.uv, "uv", columns=2))
        put(self, "warnings", tuple(self.warnings))
        put(self, "attributes", self._checked_attributes())

    def _checked_attributes(self):
        attributes = {}
        for name, values in self.attributes.items():
            values = np.array(values, dtype=np.float64)
            if values.shape != (len(self.vertices),):
                raise MeshError(
                    f"attributes: expected {len(self.vertices)} numbers for {name!r}, "
                    f"one for each vertex, got shape {values.shape}"
                )
            attributes[name] = frozen(values)
        return attributes

    def polygon_count(self) -> int:
        """Number of original polygons; the number of triangles if there were no others."""
        return len(self.faces) if self.polygon_start is None else len(self.polygon_start) - 1

    def bounds(self) -> NDArray[np.float64]:
        """Box [m] of the vertices that faces use: low, high, shape (2, 3); zeros without faces."""
        if not len(self.faces):
            return np.zeros((2, 3))
        used = self.vertices[_used(self.faces, len(self.vertices))]
        return np.array([used.min(axis=0), used.max(axis=0)])

    def area(self) -> float:
        """Area of all triangles [m^2]."""
        a, b, c = self._corners()
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2.0)

    def volume(self) -> float:
        """Signed volume [m^3], positive if faces point outwards; if open, about the box centre."""
        a, b, c = self._corners()
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)

    def _corners(self):
        """The three corners of each face about the box centre, each of shape (f, 3)."""
        low, high = self.bounds()
        local = self.vertices - (low / 2 + high / 2)
        return (local[self.faces[:, k]] for k in range(3))


def mesh_from_polygons(
    vertices: ArrayLike,
    start: ArrayLike,
    corners: ArrayLike,
    *,
    uv: ArrayLike | None = None,
    uv_index: ArrayLike | None = None,
    name: str = "mesh",
    warnings: tuple[str, ...] = (),
    attributes: dict[str, ArrayLike] | None = None,
) -> TriMesh:
    """The mesh of CSR polygons: triangulated for work, kept as polygons unless all are triangles.

    Polygons of fewer than three corners are left out, with a warning. UVs and attributes that are
    not finite are left out as well.
    """
    vertices = as_points(vertices, "vertices")
    start = np.asarray(start, dtype=np.int64)
    corners = np.asarray(corners).ravel()
    if corners.size and corners.dtype.kind not in "iu":
        raise MeshError("faces: indices must be whole numbers; give an integer array")
    if corners.size and (corners.min() < 0 or corners.max() >= len(vertices)):
        raise MeshError(
            f"faces: indices must lie in [0, {len(vertices)}), "
            f"got {corners.min()}..{corners.max()}; export the mesh again"
        )
    corners = corners.astype(np.int32)
    uv, uv_index, warnings = _checked_uv(uv, uv_index, len(corners), tuple(warnings))
    attributes = dict(attributes or {})
    for broken in [name for name, row in attributes.items() if not np.isfinite(row).all()]:
        del attributes[broken]
        warnings += (f"The vertex attribute {broken!r} is not finite and was left out.",)
    sizes = np.diff(start)
    if (sizes < 3).any():
        is_kept = np.repeat(sizes >= 3, sizes)
        corners = corners[is_kept]
        uv_index = None if uv_index is None else uv_index[is_kept]
        warnings += (f"{(sizes < 3).sum()} faces of fewer than three corners were left out.",)
        start = np.concatenate([[0], np.cumsum(sizes[sizes >= 3])])
    is_plain = len(corners) == 3 * (len(start) - 1)
    return TriMesh(
        vertices,
        corners.reshape(-1, 3) if is_plain else triangulated(vertices, start, corners),
        polygon_start=None if is_plain else start,
        polygon_vertices=None if is_plain else corners,
        uv=uv,
        uv_index=uv_index,
        name=name,
        warnings=warnings,
        attributes=attributes,
    )


def _checked_uv(uv, uv_index, corner_count, warnings):
    """UVs that can be used, or None and a warning: broken ones are no reason to refuse a shape."""
    if uv is None or uv_index is None or not len(uv):
        return None, None, warnings
    uv = np.asarray(uv, dtype=np.float64)[:, :2]
    uv_index = np.asarray(uv_index, dtype=np.int64)
    is_good = len(uv_index) == corner_count and np.isfinite(uv).all()
    if not is_good or uv_index.min(initial=0) < -1 or uv_index.max(initial=0) >= len(uv):
        return None, None, (*warnings, "The texture coordinates are broken and were left out.")
    return uv, uv_index, warnings


def _used(faces, count):
    """Which of `count` vertices the faces use, shape (count,)."""
    is_used = np.zeros(count, dtype=bool)
    is_used[faces.ravel()] = True
    return is_used


def as_mesh(obj: Any) -> TriMesh:
    """A TriMesh of a TriMesh, trimesh.Trimesh, meshio.Mesh or a (vertices, faces) pair.

    Faces of a pair are an array (m, 3), (m, 4) or a list of polygons of any size. Vertices keep
    their order. trimesh and meshio objects are recognised by what they have, so neither needs to be
    installed.
    """
    if isinstance(obj, TriMesh):
        return obj
    if hasattr(obj, "points") and hasattr(obj, "cells"):
        return _from_meshio(obj)
    if hasattr(obj, "vertices") and hasattr(obj, "faces"):
        return _from_trimesh(obj)
    if isinstance(obj, tuple | list) and len(obj) == 2:
        return _from_pair(*obj)
    raise MeshError(
        f"a {type(obj).__name__} is not a mesh; "
        "give a TriMesh, a trimesh or meshio mesh, or a pair (vertices, faces)"
    )


def _from_trimesh(obj):
    uv = getattr(getattr(obj, "visual", None), "uv", None)
    has_uv = uv is not None and len(uv) == len(obj.vertices)
    faces = np.asarray(obj.faces).reshape(-1, 3)
    return mesh_from_polygons(
        obj.vertices,
        3 * np.arange(len(faces) + 1),
        faces,
        uv=uv if has_uv else None,
        uv_index=faces.ravel() if has_uv else None,
    )


def _from_meshio(obj):
    """Surface cells in block order; cells of other kinds are left out with a warning."""
    blocks, left_out = [], []
    for block in obj.cells:
        corner_count = SURFACE_CELLS.get(block.type)
        if corner_count is None and not block.type.startswith("polygon"):
            left_out += [block.type] * len(block.data)
        else:
            blocks += [np.asarray(row)[:corner_count] for row in block.data]
    if left_out and not blocks:
        kinds = ", ".join(sorted(set(left_out)))
        raise MeshError(f"no faces, only {kinds} cells; export the surface as triangles or quads")
    start, corners = _rows(blocks)
    points = np.asarray(obj.points, dtype=np.float64)
    if points.ndim == 2 and points.shape[1] == 2:
        points = np.pad(points, ((0, 0), (0, 1)))
    uv = obj.point_data.get("uv")
    if uv is not None and np.shape(uv) != (len(points), 2):
        uv = None
    warnings = ()
    if left_out:
        kinds = ", ".join(sorted(set(left_out)))
        warnings = (f"{len(left_out)} cells that are no faces were ignored ({kinds}).",)
    return mesh_from_polygons(
        points,
        start,
        corners,
        uv=uv,
        uv_index=None if uv is None else corners,
        warnings=warnings,
    )


def _from_pair(vertices, faces):
    if isinstance(faces, np.ndarray) and faces.ndim == 2 and faces.dtype != object:
        return mesh_from_polygons(
            vertices, faces.shape[1] * np.arange(len(faces) + 1), faces.ravel()
        )
    return mesh_from_polygons(vertices, *_rows(faces))


def _rows(polygons):
    """CSR (start, corners) of a list of polygons."""
    rows = [np.asarray(polygon) for polygon in polygons]
    start = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
    return start, np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)


def to_trimesh(mesh: TriMesh):
    """A trimesh.Trimesh of the triangles; UVs go along if each vertex has only one."""
    import trimesh

    result = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)
    uv = vertex_uv(mesh)
    if uv is not None:
        result.visual = trimesh.visual.TextureVisuals(uv=uv)
    return result


def to_meshio(mesh: TriMesh):
    """A meshio.Mesh of the polygons, grouped by size; UVs go along if each vertex has only one."""
    import meshio

    uv = vertex_uv(mesh)
    point_data = {} if uv is None else {"uv": uv}
    if mesh.polygon_start is None:
        return meshio.Mesh(mesh.vertices, [("triangle", mesh.faces)], point_data=point_data)
    sizes = np.diff(mesh.polygon_start)
    cells = []
    for size in np.unique(sizes):
        first = mesh.polygon_start[:-1][sizes == size]
        kind = {3: "triangle", 4: "quad"}.get(int(size), "polygon")
        cells.append((kind, mesh.polygon_vertices[first[:, None] + np.arange(size)]))
    return meshio.Mesh(mesh.vertices, cells, point_data=point_data)


def vertex_uv(mesh: TriMesh) -> NDArray[np.float64] | None:
    """One texture coordinate per vertex, shape (n, 2); None if a vertex has none or several."""
    if mesh.uv is None or (mesh.uv_index < 0).any():
        return None
    corners = mesh.faces.ravel() if mesh.polygon_start is None else mesh.polygon_vertices
    result = np.zeros((len(mesh.vertices), 2))
    result[corners] = mesh.uv[mesh.uv_index]
    return result if np.array_equal(result[corners], mesh.uv[mesh.uv_index]) else None
