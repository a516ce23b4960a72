"""Closed curves from segments: what ends where an edge pierces a face goes on in the triangle across that edge."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.collision.bdop_kernels import index_mask
from jellycage.toolkit.compile_kernels import njit, njit_called


class Segments(NamedTuple):
    """Crossings as kernels see them, and the curve that each belongs to; fields as in `Crossings` and `Curves`."""

    triangle: NDArray[np.int64]
    body: NDArray[np.int64]
    edge: NDArray[np.int64]
    share: NDArray[np.float64]
    ends: NDArray[np.float64]
    curve: NDArray[np.int64]


@njit_called
def neighbour_of(triangles, t, edge):
    """The triangle across the edge that starts at a corner of triangle t, -1 for none."""
    mask = index_mask(triangles)
    other = np.int64(triangles[t, 3 + edge]) & mask
    return -1 if other == mask else other


@njit_called
def find_pair(pairs, a, b):
    """Row of a pair of triangles among rows in order, -1 if absent."""
    low, high = 0, pairs.shape[0]
    while low < high:
        middle = (low + high) // 2
        if pairs[middle, 0] < a or (pairs[middle, 0] == a and pairs[middle, 1] < b):
            low = middle + 1
        else:
            high = middle
    is_there = low < pairs.shape[0] and pairs[low, 0] == a and pairs[low, 1] == b
    return low if is_there else -1


@njit
def follow_segments(pairs, body, edge, triangles_a, triangles_b, out_next):
    """The segment that begins where each one ends, -1 for none; returns how many have none.

    pairs, body and edge: see `Crossings`, in the order of pairs.
    """
    missing = 0
    for n in range(pairs.shape[0]):
        a, b, k = pairs[n, 0], pairs[n, 1], body[n, 1]
        if k == 0:
            other = neighbour_of(triangles_a, a, edge[n, 1])
            found = find_pair(pairs, other, b)
        else:
            other = neighbour_of(triangles_b, b, edge[n, 1])
            found = find_pair(pairs, a, other)
        # It must begin at that very edge of the same body.
        if found >= 0 and body[found, 0] == k:
            if k == 0:
                back = neighbour_of(triangles_a, other, edge[found, 0])
                found = found if back == a else -1
            else:
                back = neighbour_of(triangles_b, other, edge[found, 0])
                found = found if back == b else -1
        else:
            found = -1
        out_next[n] = found
        missing += found < 0
    return missing


@njit
def trace_curves(next_segment, ends, out_curve, out_order, out_start, out_vector_area):
    """Number the cycles of segments by their first ones; returns how many there are.

    out_curve: curve of each segment; out_order: segments of one curve after the other, from row out_start[c] on;
    out_vector_area: that of each curve [thesis 002, eq. 5.4], about its first point, so that little is rounded.
    """
    count, row = 0, 0
    for n in range(next_segment.shape[0]):
        out_curve[n] = -1
    for first in range(next_segment.shape[0]):
        if out_curve[first] >= 0:
            continue
        out_start[count] = row
        x, y, z = 0.0, 0.0, 0.0
        ox, oy, oz = ends[first, 0, 0], ends[first, 0, 1], ends[first, 0, 2]
        n = first
        while out_curve[n] < 0:
            out_curve[n], out_order[row] = count, n
            row += 1
            ux, uy, uz = ends[n, 0, 0] - ox, ends[n, 0, 1] - oy, ends[n, 0, 2] - oz
            vx, vy, vz = ends[n, 1, 0] - ox, ends[n, 1, 1] - oy, ends[n, 1, 2] - oz
            x += uy * vz - uz * vy
            y += uz * vx - ux * vz
            z += ux * vy - uy * vx
            n = next_segment[n]
        out_vector_area[count, 0] = 0.5 * x
        out_vector_area[count, 1] = 0.5 * y
        out_vector_area[count, 2] = 0.5 * z
        count += 1
    out_start[count] = row
    return count
