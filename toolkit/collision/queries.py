"""Questions to posed collision surfaces: what rays hit, what lies nearest, what is inside, which triangles cross.

Thesis 002, sections 5.4 and 5.5.1. All answers are those of trying every triangle; trees only spare the work.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.arrays import as_points
from jellycage.toolkit.collision.bdop import triangle_vertices
from jellycage.toolkit.collision.casting_kernels import cast
from jellycage.toolkit.collision.crossing_kernels import cross_tets, find_tet_pairs
from jellycage.toolkit.collision.nearest_kernels import find_nearest
from jellycage.toolkit.collision.posed import Posed
from jellycage.toolkit.collision.winding_kernels import wind

LEAF = 8192
"""Pairs of triangles of two nodes from which on trees are left. The thesis takes 8 and tries them all; here triangles
that do not reach the other node's bounds are dropped first, which pays for far larger nodes."""


@dataclass(frozen=True, eq=False)
class Hits:
    """Where rays hit a surface."""

    ray: NDArray[np.int64]
    """Ray of each hit, shape (h,)."""
    distance: NDArray[np.float64]
    """How far along its direction, in lengths of that, shape (h,); inf for a ray without a hit."""
    triangle: NDArray[np.int64]
    """Triangle of the surface, shape (h,); -1 for none."""
    weights: NDArray[np.float64]
    """Weights of its corners at the hit, shape (h, 3)."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """The point of a surface that is nearest to each given one."""

    distance: NDArray[np.float64]
    """How far away it is [m], shape (n,)."""
    triangle: NDArray[np.int64]
    """Triangle that it lies in, shape (n,); the first one of those equally near."""
    weights: NDArray[np.float64]
    """Weights of the triangle's corners, shape (n, 3)."""
    points: NDArray[np.float64]
    """Where it is [m], shape (n, 3)."""


@dataclass(frozen=True, eq=False)
class Crossings:
    """Pairs of triangles of two surfaces that cross, and the segments along which they do."""

    triangle: NDArray[np.int64]
    """Triangle of A and of B, shape (k, 2)."""
    body: NDArray[np.int64]
    """What ends the segment at either end, shape (k, 2): 0 an edge of A in the face of B, 1 one of B in that of A."""
    edge: NDArray[np.int64]
    """Which edge of that triangle, from corner 0, 1 or 2 to the next, shape (k, 2)."""
    share: NDArray[np.float64]
    """Where on the edge, from 0 at its first corner to 1, shape (k, 2)."""
    ends: NDArray[np.float64]
    """The ends of the segment [m], shape (k, 2, 3): counter-clockwise on A about what is inside B, clockwise on B."""

    def __len__(self):
        return len(self.triangle)


def cast_rays(posed: Posed, origins, directions, *, limit=np.inf) -> Hits:
    """The first hit of every ray, one row each: the least parameter in [0, limit]; of equal ones the first triangle."""
    origins, directions, limits = _rays(origins, directions, limit)
    hits, triangle = np.zeros((len(origins), 4)), np.empty(len(origins), np.int64)
    cast(posed.arrays(), origins, directions, limits, False, np.zeros(1, np.int64), hits, triangle)
    return Hits(np.arange(len(origins)), hits[:, 0], triangle, hits[:, 1:])


def all_hits(posed: Posed, origins, directions, *, limit=np.inf) -> Hits:
    """All hits of all rays with parameters in [0, limit], by ray, then by distance."""
    origins, directions, limits = _rays(origins, directions, limit)
    start, room = np.empty(len(origins) + 1, np.int64), 4 * len(origins) + 64
    while True:
        hits, triangle = np.zeros((room, 4)), np.empty(room, np.int64)
        count = cast(posed.arrays(), origins, directions, limits, True, start, hits, triangle)
        if count <= room:
            break
        room = count
    ray = np.repeat(np.arange(len(origins)), np.diff(start))
    return Hits(ray, hits[:count, 0], triangle[:count], hits[:count, 1:])


def closest_points(posed: Posed, points) -> Nearest:
    """The nearest point of the surface to every given one, shape (n, 3)."""
    points = as_points(points, "points")
    nearest, triangle = np.empty((len(points), 4)), np.empty(len(points), np.int64)
    find_nearest(posed.arrays(), points, nearest, triangle)
    corners = posed.vertices[triangle_vertices(posed.surface.triangles[triangle])]
    at = np.einsum("nc,ncx->nx", nearest[:, 1:], corners)
    return Nearest(np.sqrt(nearest[:, 0]), triangle, nearest[:, 1:], at)


def winding_numbers(posed: Posed, points) -> NDArray[np.int64]:
    """How often a closed surface goes around each point, shape (n,): 1 inside, more where it overlaps itself,
    less than 0 inside of what is turned inside out.

    Exact for the positions of vertices; on the surface as if the point had been moved by an infinitesimal.
    """
    points = as_points(points, "points")
    winding = np.empty(len(points), np.int64)
    wind(posed.arrays(), points, 1, winding)
    return winding


def are_inside(posed: Posed, points) -> NDArray[np.bool_]:
    """Whether each point is inside a closed surface, also where that overlaps itself or is turned inside out."""
    return winding_numbers(posed, points) != 0


def intersecting_pairs(a: Posed, b: Posed, *, leaf: int = LEAF) -> Crossings:
    """All pairs of crossing triangles of two surfaces, by triangle of A, then of B.

    Exact for the positions of vertices. What only touches is decided as if B had been moved by an infinitesimal
    (`predicates_kernels`), so that segments always form closed curves on closed surfaces. Triangles without area
    cross others along a point. leaf: see `LEAF`; it changes the time alone.
    """
    posed_a, posed_b = a.arrays(), b.arrays()
    trees = posed_a.tet_tree, posed_a.dops, posed_b.tet_tree, posed_b.dops
    tets = _as_many_as_found(lambda out: find_tet_pairs(*trees, out), (2, np.int64))[0]
    pairs, ends = _as_many_as_found(
        lambda *out: cross_tets(posed_a, posed_b, tets, leaf, *out), (6, np.int64), (8, np.float64)
    )
    order = np.lexsort([pairs[:, 1], pairs[:, 0]])
    pairs, ends = pairs[order], ends[order]
    return Crossings(
        pairs[:, :2], pairs[:, 2::2], pairs[:, 3::2], ends[:, :2], ends[:, 2:].reshape(-1, 2, 3)
    )


def _rays(origins, directions, limit):
    origins, directions = np.broadcast_arrays(np.atleast_2d(origins), np.atleast_2d(directions))
    limits = np.ascontiguousarray(np.broadcast_to(np.asarray(limit, np.float64), len(origins)))
    return as_points(origins, "origins"), as_points(directions, "directions"), limits


def _as_many_as_found(find, *columns):
    """What a kernel finds that returns how many rows there are and stores those that fit; columns: (count, dtype)."""
    room = 4096
    while True:
        arrays = [np.empty((room, count), dtype) for count, dtype in columns]
        found = find(*arrays)
        if found <= room:
            return [array[:found] for array in arrays]
        room = found
