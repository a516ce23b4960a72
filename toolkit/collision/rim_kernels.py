"""The rim of what is inside: the triangles of a body that curves pass through, and winding numbers at their corners.

The winding number rises by one where an edge goes into the other body and falls by one where it comes out. Counted
along edges it is exact for all corners of the rim once it is known for one of each connected part of it: nothing that
was rounded decides what is inside.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.collision.bdop_kernels import index_mask
from jellycage.toolkit.collision.curves_kernels import neighbour_of
from jellycage.toolkit.compile_kernels import njit, njit_called


class Patched(NamedTuple):
    """A posed surface as floods see it; fields as in `CollisionSurface` and `Posed`."""

    triangles: NDArray[np.uint32]
    vertices: NDArray[np.float64]
    patch_triangle_start: NDArray[np.int32]
    patch_neighbour_start: NDArray[np.int32]
    patch_neighbours: NDArray[np.int32]


class Rim(NamedTuple):
    """The triangles of one body that curves pass through, one row each."""

    triangle: NDArray[np.int64]
    patch: NDArray[np.int64]
    segment: NDArray[np.int64]
    """Its first segment."""
    group: NDArray[np.int64]
    """Which connected part of the rim it is in."""
    winding: NDArray[np.int64]
    """Winding number of the other body at its corners, shape (r, 3)."""
    gain: NDArray[np.int64]
    """How much that rises along the edge that starts at each corner, shape (r, 3)."""
    pierced: NDArray[np.int64]
    """How often that edge is pierced, shape (r, 3)."""


@njit_called
def row_of(start, i):
    """The row of a CSR that holds item i."""
    low, high = 0, start.shape[0] - 1
    while high - low > 1:
        middle = (low + high) // 2
        if start[middle] <= i:
            low = middle
        else:
            high = middle
    return low


@njit_called
def corner_of(triangles, t, corner):
    """Vertex at a corner of triangle t."""
    return np.int64(triangles[t, corner]) & index_mask(triangles)


@njit_called
def twin_edge(mesh, t, edge, other):
    """The edge of a neighbouring triangle that is the given edge of triangle t: of several, the one that lies there."""
    triangles, vertices = mesh.triangles, mesh.vertices
    found = -1
    for j in range(3):
        if neighbour_of(triangles, other, j) == t:
            p, q = corner_of(triangles, t, (edge + 1) % 3), corner_of(triangles, other, j)
            is_there = (
                vertices[p, 0] == vertices[q, 0]
                and vertices[p, 1] == vertices[q, 1]
                and vertices[p, 2] == vertices[q, 2]
            )
            if is_there or found < 0:
                found = j
    return found


@njit
def find_rim(segments, side, mesh, out_label, out_patch_label, out_rim):
    """Find the triangles of body `side` that segments pass through; (how many, triangles in all their patches).

    out_label (t,): -1 - row of triangles of the rim. out_patch_label (p,): -1 for patches that have some.
    """
    count, total = 0, 0
    start = mesh.patch_triangle_start
    for n in range(segments.triangle.shape[0]):
        t = segments.triangle[n, side]
        r = -1 - out_label[t]
        if r < 0:
            r = count
            count += 1
            out_label[t] = -1 - r
            p = row_of(start, t)
            out_rim.triangle[r], out_rim.patch[r] = t, p
            out_rim.segment[r], out_rim.group[r] = n, -1
            for c in range(3):
                out_rim.gain[r, c], out_rim.pierced[r, c] = 0, 0
            if out_patch_label[p] == 0:
                out_patch_label[p] = -1
                total += start[p + 1] - start[p]
        for end in range(2):
            if segments.body[n, end] == side:
                # Edges of A come out of B where segments begin, edges of B go into A there.
                edge, is_entry = segments.edge[n, end], (end == 0) == (side == 1)
                out_rim.gain[r, edge] += 1 if is_entry else -1
                out_rim.pierced[r, edge] += 1
    return count, total


@njit
def spread_windings(rim, mesh, label, out_first):
    """Windings at corners of the rim, 0 at corner 0 of the first triangle of each connected part; returns how many.

    out_first: the first row of each part.
    """
    triangles, count = mesh.triangles, 0
    todo = np.empty(rim.triangle.shape[0], np.int64)
    for first in range(rim.triangle.shape[0]):
        if rim.group[first] >= 0:
            continue
        out_first[count], rim.group[first] = first, count
        rim.winding[first, 0] = 0
        rim.winding[first, 1] = rim.gain[first, 0]
        rim.winding[first, 2] = rim.gain[first, 0] + rim.gain[first, 1]
        todo[0], left = first, 1
        while left > 0:
            left -= 1
            r = todo[left]
            t = rim.triangle[r]
            for i in range(3):
                other = neighbour_of(triangles, t, i)
                s = -1 - np.int64(label[other]) if other >= 0 else -1
                if s < 0 or rim.group[s] >= 0:
                    continue
                j = twin_edge(mesh, t, i, other)
                k, m = (j + 1) % 3, (j + 2) % 3
                rim.group[s] = count
                rim.winding[s, j], rim.winding[s, k] = (
                    rim.winding[r, (i + 1) % 3],
                    rim.winding[r, i],
                )
                rim.winding[s, m] = rim.winding[s, k] + rim.gain[s, k]
                todo[left] = s
                left += 1
        count += 1
    return count


@njit
def shift_windings(rim, winding):
    """Add to the windings at all corners what they are at the first corner of each connected part, winding (g,)."""
    for r in range(rim.triangle.shape[0]):
        for c in range(3):
            rim.winding[r, c] += winding[rim.group[r]]
