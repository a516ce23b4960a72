"""Triangle meshes that stand still in the world, as surroundings: their edges and a tree of bounds, made once.

A mesh has two sides: a shape is kept on the side of each triangle where its middle is. A solid one (by default: closed,
faces outward) pushes whatever crosses its surface out, and leaves alone what is wholly inside.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.sim.errors import SettingsError
from jellycage.sim.shapes.kinds_kernels import (
    CONCAVE,
    CONVEX_EDGE,
    FLAT_EDGE,
    LEAF,
    OPEN_EDGE,
)
from jellycage.toolkit.arrays import frozen

FLATNESS = 1e-4  # sine of the angle between triangles that are taken to lie in one plane
THINNEST = 1e-12  # of its longest side squared: a triangle with less area is left out


@dataclass(frozen=True, eq=False)
class StaticMesh:
    """A triangle mesh that does not move."""

    vertices: ArrayLike
    """In the world [m], shape (n, 3)."""
    faces: ArrayLike
    """Vertex numbers, shape (t, 3), counter-clockwise from the front."""
    is_solid: bool | None = None
    """Whether it is filled, its normals outward; None: if it is closed and its volume is positive."""

    def __post_init__(self):
        vertices, faces = np.array(self.vertices, np.float64), np.array(self.faces)
        if vertices.ndim != 2 or vertices.shape[1] != 3 or not np.isfinite(vertices).all():
            raise SettingsError(
                f"StaticMesh: expected finite vertices of shape (n, 3), got {vertices.shape}"
            )
        if faces.ndim != 2 or faces.shape[1] != 3 or faces.dtype.kind not in "iu":
            raise SettingsError(
                f"StaticMesh: expected whole numbers of shape (t, 3) as faces, got {faces.shape}"
            )
        if faces.size and not (0 <= faces.min() and faces.max() < len(vertices)):
            raise SettingsError(
                f"StaticMesh: faces name vertices {faces.min()}..{faces.max()}, "
                f"but there are {len(vertices)}"
            )
        object.__setattr__(self, "vertices", frozen(vertices))
        object.__setattr__(self, "faces", frozen(faces.astype(np.int64)))


class MeshArrays(NamedTuple):
    """The triangles of all static meshes, t of them, ordered along a curve through space; leaves of a tree."""

    corners: NDArray[np.float64]
    """[m], shape (t, 3, 3)."""
    normals: NDArray[np.float64]
    """Unit normals, shape (t, 3)."""
    outward: NDArray[np.float64]
    """Unit vectors in the triangle, across each edge (corner e to the next), away from it, shape (t, 3, 3)."""
    across: NDArray[np.float64]
    """Likewise in the neighbour at each edge, into the neighbour, shape (t, 3, 3)."""
    fold: NDArray[np.int64]
    """CONVEX_EDGE, FLAT_EDGE, CONCAVE seen from the front, or OPEN_EDGE, shape (t, 3)."""
    place: NDArray[np.int64]
    """Number of the place of each corner, shape (t, 3); corners at one place have one number."""
    is_solid: NDArray[np.bool_]
    """Whether it bounds a solid, shape (t,)."""
    number: NDArray[np.int64]
    """Of each triangle, counted through all meshes as they were given, shape (t,)."""
    spoke_start: NDArray[np.int64]
    """Where the edges at each place begin, shape (places + 1,)."""
    spokes: NDArray[np.float64]
    """Unit vectors along the edges that leave each place, shape (k, 3)."""
    low: NDArray[np.float64]
    """Of the bounds of each node of the tree [m], shape (m, 3); node k has children 2 k and 2 k + 1, the root is 1."""
    high: NDArray[np.float64]
    """[m], shape (m, 3)."""


def mesh_arrays(meshes: Sequence[StaticMesh] = ()) -> MeshArrays:
    """The triangles of meshes with their edges and tree; triangles without area are left out."""
    parts, place_count = [], 0
    for mesh in meshes:
        *rows, places = _triangles(mesh)
        parts.append((*rows, places + place_count))
        place_count += len(mesh.vertices)
    starts = np.cumsum([0] + [len(mesh.faces) for mesh in meshes])
    empty = _triangles(StaticMesh(np.zeros((0, 3)), np.zeros((0, 3), np.int64)))
    columns = [np.concatenate(column) for column in zip(empty, *parts, strict=True)]
    corners, normals, outward, across, fold, is_solid, number, place = columns
    number = number + np.repeat(starts[:-1], [len(part[-2]) for part in parts]).astype(np.int64)
    order = _along_curve(corners.mean(axis=1))
    low, high = _tree(corners[order])
    rows = (corners, normals, outward, across, fold, place, is_solid, number)
    spoke_start, spokes = _spokes(corners, place, place_count)
    tables = (spoke_start, spokes, low, high)
    return MeshArrays(*(frozen(row[order]) for row in rows), *(frozen(table) for table in tables))


def _spokes(corners: NDArray, place: NDArray, place_count: int) -> tuple[NDArray, NDArray]:
    """Edges that leave each place, in CSR form."""
    first = np.concatenate([place, place], axis=1).reshape(-1)
    ends = np.concatenate([np.roll(corners, -1, axis=1), np.roll(corners, 1, axis=1)], axis=1)
    ways = (ends - np.concatenate([corners, corners], axis=1)).reshape(-1, 3)
    ways = ways / np.sqrt((ways**2).sum(axis=1, keepdims=True))
    order = np.argsort(first, kind="stable")
    return np.searchsorted(first[order], np.arange(place_count + 1)), ways[order]


def _triangles(mesh: StaticMesh) -> tuple:
    """Corners, normals, outward, across, fold, is_solid, number and place of the triangles of one mesh."""
    welded = _welded(mesh)
    corners = mesh.vertices[mesh.faces]
    sides = np.roll(corners, -1, axis=1) - corners
    areas = np.cross(sides[:, 0], sides[:, 1])
    area = np.sqrt((areas**2).sum(axis=1))
    number = np.flatnonzero(area > THINNEST * (sides**2).sum(axis=2).max(axis=1, initial=0.0))
    corners, sides, welded = corners[number], sides[number], welded[number]
    normals = areas[number] / area[number, None]
    outward = np.cross(sides, normals[:, None])
    outward /= np.sqrt((outward**2).sum(axis=2, keepdims=True))
    neighbour, is_open = _neighbours(welded)
    across = -outward[neighbour // 3, neighbour % 3]
    rise = (across * normals[:, None]).sum(axis=2)
    fold = np.where(rise < 0.0, CONVEX_EDGE, CONCAVE)
    fold[np.abs(rise) < FLATNESS] = FLAT_EDGE
    # Open, or folded back upon itself.
    is_folded = (np.abs(rise) < FLATNESS) & ((across * outward).sum(axis=2) < 0.0)
    fold[is_open | is_folded] = OPEN_EDGE
    is_solid = mesh.is_solid
    if is_solid is None:
        volume = np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))
        is_solid = _is_closed(welded) and volume > 0.0
    solid = np.full(len(number), bool(is_solid))
    return corners, normals, outward, across, fold.astype(np.int64), solid, number, welded


def _welded(mesh: StaticMesh) -> NDArray:
    """Faces by numbers of places instead of vertices: vertices at one place have one number."""
    if not len(mesh.vertices):
        return mesh.faces
    place = np.unique(mesh.vertices, axis=0, return_inverse=True)[1]
    return place.reshape(-1)[mesh.faces]


def _neighbours(faces: NDArray) -> tuple[NDArray, NDArray]:
    """For each edge (t, 3) the number of the same edge in the neighbour, and whether there is not just one."""
    if not len(faces):
        return np.zeros((0, 3), np.int64), np.zeros((0, 3), bool)
    ends = np.sort(np.stack([faces, np.roll(faces, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
    _, edge, count = np.unique(ends, axis=0, return_inverse=True, return_counts=True)
    edge = edge.reshape(-1)
    order = np.argsort(edge, kind="stable")
    partner = np.arange(len(edge))
    start = np.cumsum(count) - count
    pairs = start[count == 2]
    partner[order[pairs]], partner[order[pairs + 1]] = order[pairs + 1], order[pairs]
    return partner.reshape(-1, 3), (count[edge] != 2).reshape(-1, 3)


def _is_closed(faces: NDArray) -> bool:
    """Whether every directed edge has exactly one opposite."""
    ends = np.stack([faces, np.roll(faces, -1, axis=1)], axis=2).reshape(-1, 2)
    if not len(ends):
        return False
    span = ends.max() + 1
    there, back = np.sort(ends @ [span, 1]), np.sort(ends @ [1, span])
    return bool((there == back).all() and (np.diff(there) > 0).all())


def _along_curve(points: NDArray) -> NDArray:
    """Order of points along a Morton curve, shape (t,)."""
    if not len(points):
        return np.zeros(0, np.int64)
    extent = max(np.ptp(points, axis=0).max(), 1e-300)
    cells = ((points - points.min(axis=0)) / extent * (2**20 - 1)).astype(np.int64)
    code = np.zeros(len(points), np.int64)
    for bit in range(20):
        for axis in range(3):
            code |= ((cells[:, axis] >> bit) & 1) << (3 * bit + axis)
    return np.argsort(code, kind="stable")


def _tree(corners: NDArray) -> tuple[NDArray, NDArray]:
    """Bounds of a full binary tree over leaves of a few triangles each."""
    leaves = 1
    while leaves * LEAF < len(corners):
        leaves *= 2
    low, high = np.full((2 * leaves, 3), np.inf), np.full((2 * leaves, 3), -np.inf)
    least, most = (np.full((leaves * LEAF, 3), value) for value in (np.inf, -np.inf))
    least[: len(corners)], most[: len(corners)] = corners.min(axis=1), corners.max(axis=1)
    low[leaves:], high[leaves:] = (
        least.reshape(leaves, LEAF, 3).min(axis=1),
        most.reshape(leaves, LEAF, 3).max(axis=1),
    )
    while leaves > 1:
        half = leaves // 2
        low[half:leaves] = low[leaves : 2 * leaves].reshape(half, 2, 3).min(axis=1)
        high[half:leaves] = high[leaves : 2 * leaves].reshape(half, 2, 3).max(axis=1)
        leaves = half
    return low, high
