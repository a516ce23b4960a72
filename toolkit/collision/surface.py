"""The collision surface: the surface cut along the cage, as contiguous arrays per tet and patch.

Thesis 002, section 5.4.1. It lives in tets, also in a cage of hexes, because trees, normals and rays need an affine
map: each hex is then five tets. Vertices are repeated where patches meet, so that all of a patch lies together.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.arrays import frozen
from jellycage.toolkit.collision.bdop import triangle_neighbours, triangle_vertices
from jellycage.toolkit.collision.patches_kernels import measure_patches
from jellycage.toolkit.errors import AssetError

# name: (dtype, columns of the second and later axes, rows belong to)
ARRAYS = {
    "tets": (np.int32, (4,), "tets"),
    "tet_parent": (np.int32, (), "tets"),
    "tet_bdop": (np.float64, (8,), "tets"),
    "tet_tree": (np.int32, (2,), None),
    "tet_patch_start": (np.int32, (), "tets+1"),
    "patch_triangle_start": (np.int32, (), "patches+1"),
    "patch_vertex_start": (np.int32, (), "patches+1"),
    "patch_centre": (np.float64, (4,), "patches"),
    "patch_area": (np.float64, (), "patches"),
    "patch_vector_area": (np.float64, (3,), "patches"),
    "patch_weight_area": (np.float64, (3,), "patches"),
    "patch_neighbour_start": (np.int32, (), "patches+1"),
    "patch_neighbours": (np.int32, (), None),
    "triangles": (np.uint32, None, "triangles"),
    "source_face": (np.int32, (), "triangles"),
    "source_weights": (np.float64, (3, 2), "triangles"),
    "weights": (np.float64, (4,), "vertices"),
    "vertex_number": (np.int32, (), "vertices"),
}


@dataclass(frozen=True, eq=False)
class CollisionSurface:
    """A surface cut along the tets of its cage. Tets without a patch are left out."""

    tets: NDArray[np.int32]
    """Cage nodes, shape (c, 4), ascending in each row, so that all sums run in the order of nodes; volumes may be
    negative."""
    tet_parent: NDArray[np.int32]
    """Element of the cage that each tet is, or is a part of, shape (c,)."""
    tet_bdop: NDArray[np.float64]
    """Least and greatest weights of the vertices in each tet: a_0..a_3, b_0..b_3, shape (c, 8)."""
    tet_tree: NDArray[np.int32]
    """Hierarchy over the tets, shape (c-1, 2); see `kdop`."""
    tet_patch_start: NDArray[np.int32]
    """First patch of each tet, shape (c+1,)."""
    patch_triangle_start: NDArray[np.int32]
    """First triangle of each patch, shape (p+1,)."""
    patch_vertex_start: NDArray[np.int32]
    """First vertex of each patch, shape (p+1,)."""
    patch_centre: NDArray[np.float64]
    """Centroid of each patch as weights in its tet, shape (p, 4)."""
    patch_area: NDArray[np.float64]
    """Area of each patch at rest [m^2], shape (p,)."""
    patch_vector_area: NDArray[np.float64]
    """Sum of the normals of its triangles times their areas, at rest [m^2], shape (p, 3)."""
    patch_weight_area: NDArray[np.float64]
    """The same in the space of the weights of nodes 0-2, shape (p, 3); see `posed.weight_areas`."""
    patch_neighbour_start: NDArray[np.int32]
    """CSR rows of the patches in `patch_neighbours`, shape (p+1,)."""
    patch_neighbours: NDArray[np.int32]
    """Patches that share an edge with each, shape (k,)."""
    triangles: NDArray[np.uint32]
    """Corners, neighbours and tree, shape (t, 6) or (t, 8); see `bdop`."""
    source_face: NDArray[np.int32]
    """Row of the surface's faces that each triangle was cut from, shape (t,); -1: it closes a hole of the mesh."""
    source_weights: NDArray[np.float64]
    """Weights of that face's first two corners at each corner, shape (t, 3, 2)."""
    weights: NDArray[np.float64]
    """Weights of the nodes of its patch's tet at each vertex, shape (v, 4): none negative, the sum is 1, and exactly 0
    for nodes that a vertex on a face, edge or node of the cage does not hang on."""
    vertex_number: NDArray[np.int32]
    """Number that all copies of a vertex share, shape (v,)."""

    def __post_init__(self):
        for name, (dtype, columns, _) in ARRAYS.items():
            value = np.asarray(getattr(self, name))
            if value.dtype != dtype:
                value = value.astype(dtype)
            if value.ndim == 0 or (columns is not None and value.shape[1:] != columns):
                raise AssetError(f"collision_{name}: shape {value.shape} is not what it should be")
            object.__setattr__(self, name, frozen(value))
        _check(self)

    def posed(self, nodes) -> NDArray[np.float64]:
        """Positions of the vertices for node positions (m, 3) [m], copies alike to the bit, shape (v, 3)."""
        corners = nodes[self.tets[self.vertex_tet]]
        w = self.weights[:, :, None]
        # In the order of the nodes: what a vertex does not hang on adds exactly nothing.
        x = w[:, 0] * corners[:, 0] + w[:, 1] * corners[:, 1]
        return x + w[:, 2] * corners[:, 2] + w[:, 3] * corners[:, 3]

    def joined(self, nodes) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """(positions, triangles) with every vertex once, for node positions (m, 3) [m]."""
        positions = np.empty((self.vertex_number.max() + 1, 3))
        positions[self.vertex_number] = self.posed(nodes)
        return positions, self.vertex_number[self.vertices]

    def resting(self, nodes) -> "CollisionSurface":
        """The same with the nodes of its cage at other rest positions (m, 3) [m]: patches are measured anew."""
        count = len(self.patch_area)
        measures = np.empty((count, 4)), np.empty(count), np.empty((count, 3))
        start, corners = (a.astype(np.int64) for a in (self.patch_triangle_start, self.vertices))
        measure_patches(start, corners, np.array(self.weights), self.posed(nodes), *measures)
        names = "patch_centre", "patch_area", "patch_vector_area"
        return replace(self, **dict(zip(names, measures, strict=True)))

    @property
    def vertices(self) -> NDArray[np.int32]:
        """Corners of the triangles, rows of `weights`, shape (t, 3)."""
        return triangle_vertices(self.triangles)

    @property
    def neighbours(self) -> NDArray[np.int32]:
        """Triangles across the edges that start at each corner, shape (t, 3), -1 for none."""
        return triangle_neighbours(self.triangles)

    @property
    def triangle_patch(self) -> NDArray[np.int32]:
        """Patch of each triangle, shape (t,)."""
        return _row_of(self.patch_triangle_start)

    @property
    def patch_tet(self) -> NDArray[np.int32]:
        """Tet of each patch, shape (p,)."""
        return _row_of(self.tet_patch_start)

    @property
    def vertex_tet(self) -> NDArray[np.int32]:
        """Tet of each vertex, shape (v,)."""
        return self.patch_tet[_row_of(self.patch_vertex_start)]


def _row_of(start) -> NDArray[np.int32]:
    return np.repeat(np.arange(len(start) - 1, dtype=np.int32), np.diff(start))


def _check(surface: CollisionSurface) -> None:
    """Refuse arrays that do not belong together: kernels trust them."""
    counts = {
        "tets": len(surface.tets),
        "patches": len(surface.patch_area),
        "triangles": len(surface.triangles),
        "vertices": len(surface.weights),
    }
    for name, (_, _, rows) in ARRAYS.items():
        if rows is not None:
            wanted = counts[rows.removesuffix("+1")] + rows.endswith("+1")
            if len(getattr(surface, name)) != wanted:
                raise AssetError(f"collision_{name}: expected {wanted} rows")
    for name, count in (
        ("tet_patch_start", counts["patches"]),
        ("patch_triangle_start", counts["triangles"]),
        ("patch_vertex_start", counts["vertices"]),
        ("patch_neighbour_start", len(surface.patch_neighbours)),
    ):
        start = getattr(surface, name)
        if start[0] != 0 or start[-1] != count or (np.diff(start) < 0).any():
            raise AssetError(f"collision_{name}: expected rows rising from 0 to {count}")
    inner = max(counts["tets"] - 1, 0)
    children = np.sort(surface.tet_tree.ravel())
    is_after = surface.tet_tree > np.arange(len(surface.tet_tree))[:, None]
    if not (np.array_equal(children, 1 + np.arange(2 * inner)) and is_after.all()):
        raise AssetError("collision_tet_tree: is not a tree over the tets")
    if surface.triangles.ndim != 2 or surface.triangles.shape[1] not in (6, 8):
        raise AssetError("collision_triangles: expected 6 or 8 columns")
    for name, indices, low, count in (
        ("patch_neighbours", surface.patch_neighbours, 0, counts["patches"]),
        ("triangles", surface.vertices, 0, counts["vertices"]),
        ("triangles", surface.neighbours, -1, counts["triangles"]),
    ):
        if indices.size and (indices.min() < low or indices.max() >= count):
            raise AssetError(f"collision_{name}: indices must lie in [{low}, {count})")
    for name in (
        "tet_bdop",
        "patch_centre",
        "patch_area",
        "patch_vector_area",
        "patch_weight_area",
        "source_weights",
        "weights",
    ):
        if not np.isfinite(getattr(surface, name)).all():
            raise AssetError(f"collision_{name}: holds values that are not finite")
