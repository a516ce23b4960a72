"""The asset: a surface, its cage, and how the one hangs in the other.

What the toolkit makes and everything later reads. It is kept in one file by `asset_file`.
"""

import json
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.arrays import frozen
from jellycage.toolkit.collision.surface import CollisionSurface
from jellycage.toolkit.errors import AssetError

FORMAT_VERSION = 1

# name: (dtype, columns; 0 for a flat array). The order is the order in the file.
ARRAYS = {
    "surface_vertices": (np.float64, 3),
    "surface_faces": (np.int32, 3),
    "source_vertex": (np.int32, 0),
    "cage_nodes": (np.float64, 3),
    "cage_tets": (np.int32, 4),
    "cage_hexes": (np.int32, 8),
    "embed_element": (np.int32, 0),
    "embed_weights": (np.float64, None),  # as many columns as an element has corners
    "smooth_start": (np.int32, 0),
    "smooth_nodes": (np.int32, 0),
    "smooth_weights": (np.float64, 0),
    "element_cell": (np.int64, 0),
    "element_piece": (np.int32, 0),
    "cage_fill": (np.float64, 0),
    "cage_centre": (np.float64, 3),
    "cage_spread": (np.float64, 6),
    "piece_start": (np.int32, 0),
    "piece_triangles": (np.int32, 0),
    "polygon_start": (np.int32, 0),
    "polygon_vertices": (np.int32, 0),
    "uv": (np.float64, 2),
    "uv_index": (np.int32, 0),
}
OPTIONAL = {
    "cage_tets",
    "cage_hexes",
    "cage_centre",
    "cage_spread",
    "smooth_start",
    "smooth_nodes",
    "smooth_weights",
    "polygon_start",
    "polygon_vertices",
    "uv",
    "uv_index",
}


@dataclass(frozen=True, eq=False)
class Asset:
    """A surface inside its cage. Either `cage_tets` or `cage_hexes` is there, never both."""

    surface_vertices: NDArray[np.float64]
    """Rest positions [m], shape (n, 3)."""
    surface_faces: NDArray[np.int32]
    """Vertex indices of the triangles, shape (f, 3), counter-clockwise seen from outside."""
    source_vertex: NDArray[np.int32]
    """Row of each surface vertex in the file it was read from, shape (n,)."""
    cage_nodes: NDArray[np.float64]
    """Rest positions [m], shape (m, 3)."""
    embed_element: NDArray[np.int32]
    """Element that holds each surface vertex, shape (n,)."""
    embed_weights: NDArray[np.float64]
    """Weight of each corner of that element, shape (n, 4) or (n, 8); rows sum to 1."""
    element_cell: NDArray[np.int64]
    """Grid cell (or tet of the grid) that each element is a copy of, shape (e,)."""
    element_piece: NDArray[np.int32]
    """Which piece of the solid inside that cell the element carries, shape (e,)."""
    cage_fill: NDArray[np.float64]
    """Volume of the solid in each element / volume of the element, shape (e,)."""
    piece_start: NDArray[np.int32]
    """CSR rows of the elements in `piece_triangles`, shape (e+1,)."""
    piece_triangles: NDArray[np.int32]
    """Surface faces that belong to each element, shape (k,)."""
    cage_tets: NDArray[np.int32] | None = None
    """Node indices, shape (e, 4), every rest volume positive."""
    cage_centre: NDArray[np.float64] | None = None
    """Centre of the solid in each element [m], shape (e, 3); None: the middle of the element."""
    cage_spread: NDArray[np.float64] | None = None
    """Mean square of the solid's distances from that centre, (00, 11, 22, 01, 02, 12) [m^2], shape (e, 6), or None."""
    cage_hexes: NDArray[np.int32] | None = None
    """Node indices, shape (e, 8), in the corner order of VTK."""
    smooth_start: NDArray[np.int32] | None = None
    """CSR rows of the surface vertices in `smooth_nodes`, shape (n+1,); how they were made is in meta["smooth"]."""
    smooth_nodes: NDArray[np.int32] | None = None
    """Nodes that carry each vertex when it is displayed smoothly, shape (k,)."""
    smooth_weights: NDArray[np.float64] | None = None
    """Their weights, shape (k,); rows sum to 1."""
    polygon_start: NDArray[np.int32] | None = None
    """CSR rows of the file's own polygons in `polygon_vertices`, shape (p+1,)."""
    polygon_vertices: NDArray[np.int32] | None = None
    """Corners of the file's own polygons in the file's own vertex numbering, shape (c,)."""
    uv: NDArray[np.float64] | None = None
    """Texture coordinates, shape (t, 2)."""
    uv_index: NDArray[np.int32] | None = None
    """Row of `uv`, or -1, for each corner of the polygons (of the triangles if there are none)."""
    collision: CollisionSurface | None = None
    """The surface cut along the cage; None if that was not asked for."""
    meta: dict[str, Any] = field(default_factory=dict)
    """Name, units, source hash, settings and measures; what JSON can hold, nothing about time."""
    format_version: int = FORMAT_VERSION

    def __post_init__(self):
        for name, (dtype, columns) in ARRAYS.items():
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _normalised(value, name, dtype, columns))
            elif name not in OPTIONAL:
                raise AssetError(f"{name}: is missing")
        object.__setattr__(self, "meta", _plain(self.meta))
        _check_cage(self)
        _check_surface(self)
        _check_smooth(self)

    @property
    def element(self) -> str:
        """Kind of element: "tet" or "hex"."""
        return "tet" if self.cage_tets is not None else "hex"

    @property
    def elements(self) -> NDArray[np.int32]:
        """Node indices of the elements of either kind, shape (e, 4) or (e, 8)."""
        return self.cage_tets if self.cage_tets is not None else self.cage_hexes

    def stretched(self, matrix) -> "Asset":
        """The same with every position x as x @ matrix, shape (3, 3)."""
        matrix = np.asarray(matrix, np.float64)
        moved = {"cage_nodes": self.cage_nodes, "surface_vertices": self.surface_vertices}
        if self.cage_centre is not None:
            moved["cage_centre"] = self.cage_centre
        moved = {name: array @ matrix for name, array in moved.items()}
        if self.cage_spread is not None:
            square = self.cage_spread[:, [0, 3, 4, 3, 1, 5, 4, 5, 2]].reshape(-1, 3, 3)
            square = matrix.T @ square @ matrix
            moved["cage_spread"] = square[:, [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        if self.collision is not None:
            moved["collision"] = self.collision.resting(moved["cage_nodes"])
        return replace(self, **moved)


def _normalised(value, name: str, dtype, columns: int | None) -> NDArray:
    result = np.asarray(value)
    if result.dtype != dtype:
        if result.size and not np.can_cast(result.dtype, dtype, "same_kind"):
            raise AssetError(f"{name}: expected {np.dtype(dtype).name}, got {result.dtype.name}")
        result = _narrowed(result, name, dtype)
    dimensions = 1 if columns == 0 else 2
    if result.ndim != dimensions or (columns and result.shape[1] != columns):
        wanted = "(n,)" if columns == 0 else f"(n, {columns or '4 or 8'})"
        raise AssetError(f"{name}: expected shape {wanted}, got {result.shape}")
    if result.dtype.kind == "f" and not np.isfinite(result).all():
        raise AssetError(f"{name}: holds values that are not finite")
    return frozen(result)


def _narrowed(array: NDArray, name: str, dtype) -> NDArray:
    """The array in another dtype of its kind, refused if an integer would wrap around."""
    if array.size and np.issubdtype(dtype, np.integer):
        limit = np.iinfo(dtype)
        if array.min() < limit.min or array.max() > limit.max:
            raise AssetError(f"{name}: values do not fit {np.dtype(dtype).name}")
    return array.astype(dtype)


def _plain(meta) -> dict[str, Any]:
    """A copy of meta as JSON gives it back, so that a saved asset equals a loaded one."""
    try:
        result = json.loads(json.dumps(meta, allow_nan=False, default=lambda value: value.tolist()))
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise AssetError(f"meta: cannot be written as JSON: {error}") from error
    if not isinstance(result, dict):
        raise AssetError(f"meta: expected a JSON object, got {type(result).__name__}")
    return result


def _check_cage(asset: Asset) -> None:
    if (asset.cage_tets is None) == (asset.cage_hexes is None):
        raise AssetError("cage_tets, cage_hexes: expected exactly one of them")
    element_count, corners = asset.elements.shape
    _check_range(asset.elements, len(asset.cage_nodes), f"cage_{asset.element}s")
    for name in ("element_cell", "element_piece", "cage_fill"):
        _check_length(asset, name, element_count)
    for name in ("cage_centre", "cage_spread"):
        if getattr(asset, name) is not None:
            _check_length(asset, name, element_count)
    _check_length(asset, "piece_start", element_count + 1)
    _check_rows(asset.piece_start, len(asset.piece_triangles), "piece_start")
    _check_range(asset.piece_triangles, len(asset.surface_faces), "piece_triangles")
    _check_length(asset, "embed_element", len(asset.surface_vertices))
    _check_range(asset.embed_element, element_count, "embed_element")
    if asset.collision is not None:
        _check_range(asset.collision.tets, len(asset.cage_nodes), "collision_tets")
        _check_range(asset.collision.tet_parent, element_count, "collision_tet_parent")
        _check_range(
            asset.collision.source_face, len(asset.surface_faces), "collision_source_face", -1
        )
    if asset.embed_weights.shape != (len(asset.surface_vertices), corners):
        raise AssetError(
            f"embed_weights: expected shape ({len(asset.surface_vertices)}, {corners}), "
            f"got {asset.embed_weights.shape}"
        )


def _check_surface(asset: Asset) -> None:
    vertex_count = len(asset.surface_vertices)
    _check_range(asset.surface_faces, vertex_count, "surface_faces")
    _check_length(asset, "source_vertex", vertex_count)
    _check_range(asset.source_vertex, np.iinfo(np.int32).max, "source_vertex")
    if (asset.polygon_start is None) != (asset.polygon_vertices is None):
        raise AssetError("polygon_start, polygon_vertices: expected both or neither")
    corner_count = asset.surface_faces.size
    if asset.polygon_start is not None:
        corner_count = len(asset.polygon_vertices)
        _check_rows(asset.polygon_start, corner_count, "polygon_start")
        _check_range(asset.polygon_vertices, np.iinfo(np.int32).max, "polygon_vertices")
    if (asset.uv is None) != (asset.uv_index is None):
        raise AssetError("uv, uv_index: expected both or neither")
    if asset.uv_index is not None:
        _check_length(asset, "uv_index", corner_count)
        _check_range(asset.uv_index, len(asset.uv), "uv_index", low=-1)


def _check_smooth(asset: Asset) -> None:
    names = ("smooth_start", "smooth_nodes", "smooth_weights")
    given = [name for name in names if getattr(asset, name) is not None]
    if not given:
        return
    if len(given) < len(names):
        raise AssetError(f"{', '.join(names)}: expected all of them or none")
    _check_length(asset, "smooth_start", len(asset.surface_vertices) + 1)
    _check_rows(asset.smooth_start, len(asset.smooth_nodes), "smooth_start")
    _check_range(asset.smooth_nodes, len(asset.cage_nodes), "smooth_nodes")
    _check_length(asset, "smooth_weights", len(asset.smooth_nodes))


def _check_length(asset: Asset, name: str, length: int) -> None:
    if len(getattr(asset, name)) != length:
        raise AssetError(f"{name}: expected {length} rows, got {len(getattr(asset, name))}")


def _check_range(indices: NDArray, count: int, name: str, low: int = 0) -> None:
    if indices.size and (indices.min() < low or indices.max() >= count):
        raise AssetError(
            f"{name}: indices must lie in [{low}, {count}), got {indices.min()}..{indices.max()}"
        )


def _check_rows(start: NDArray, count: int, name: str) -> None:
    if len(start) == 0 or start[0] != 0 or start[-1] != count or (np.diff(start) < 0).any():
        raise AssetError(f"{name}: expected rows rising from 0 to {count}")
