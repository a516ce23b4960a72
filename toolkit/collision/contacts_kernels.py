"""From lines through the centroids of points to pairs of points: which hits count, and the stencils that carry them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.collision.parts_kernels import normal_of
from jellycage.toolkit.collision.rim_kernels import corner_of, row_of
from jellycage.toolkit.compile_kernels import njit, njit_called

OUTSIDE = 1e-6
"""How far a centroid may be outside of its tet, as a weight; beyond that the patch's own centroid stands for it."""


class Carried(NamedTuple):
    """What the stencils of points on one body need, next to its `PosedArrays`."""

    weights: NDArray[np.float64]
    """Of its vertices, shape (v, 4)."""
    patch_centre: NDArray[np.float64]
    """Centroids of its patches, shape (p, 4)."""


class Lines(NamedTuple):
    """Lines through the centroids of points of one body, l of them, and where they meet that body."""

    patch: NDArray[np.int64]
    is_whole: NDArray[np.bool_]
    centre: NDArray[np.float64]
    """Of the points, shape (l, 3)."""
    along: NDArray[np.float64]
    """Unit vectors, into the body, shape (l, 3)."""
    reach: NDArray[np.float64]
    """How far before its centroid each line starts, and how far from it the surface is looked for [m]."""
    start: NDArray[np.int64]
    hits: NDArray[np.float64]
    triangle: NDArray[np.int64]
    """Hits of each line as `cast` gives them."""


class Places(NamedTuple):
    """Points on a body, and the stencils that carry them."""

    patch: NDArray[np.int64]
    nodes: NDArray[np.int32]
    weights: NDArray[np.float64]
    at: NDArray[np.float64]


@njit_called
def slope_of(posed, t, along, n):
    """Whether direction n of (l, 3) comes out of triangle t, above 0, or goes in, below."""
    x, y, z = normal_of(posed, t)
    return x * along[n, 0] + y * along[n, 1] + z * along[n, 2]


@njit_called
def set_place(posed, patch, n, out):
    """Set the patch and the nodes of a place whose weights are there, and where those carry it."""
    e = row_of(posed.tet_patch_start, patch)
    out.patch[n] = patch
    for k in range(3):
        out.at[n, k] = 0.0
    for m in range(4):
        node = posed.tets[e, m]
        out.nodes[n, m] = node
        for k in range(3):
            out.at[n, k] += out.weights[n, m] * posed.nodes[node, k]


@njit_called
def set_weights(posed, carried, t, hits, hit, n, out):
    """Set the weights of a place to those of a hit in triangle t."""
    for m in range(4):
        out.weights[n, m] = 0.0
    for c in range(3):
        v = corner_of(posed.triangles, t, c)
        for m in range(4):
            out.weights[n, m] += hits[hit, 1 + c] * carried.weights[v, m]


@njit
def place_points(posed, carried, lines, out):
    """Places of points: where their lines go in through their own patch, nearest to the centroid, else the centroid.

    Centroids of whole patches are those at rest, carried along; of others they are weights by the inverse of the tet.
    """
    for n in range(lines.patch.shape[0]):
        p = lines.patch[n]
        first, last = posed.patch_triangle_start[p], posed.patch_triangle_start[p + 1]
        best, nearest = -1, lines.reach[n]
        for h in range(lines.start[n], lines.start[n + 1]):
            t = lines.triangle[h]
            away = abs(lines.hits[h, 0] - lines.reach[n])
            if first <= t < last and away <= nearest and slope_of(posed, t, lines.along, n) < 0.0:
                best, nearest = h, away
        if best >= 0:
            set_weights(posed, carried, lines.triangle[best], lines.hits, best, n, out)
        else:
            set_centroid(posed, carried, lines, n, out)
        set_place(posed, p, n, out)


@njit_called
def set_centroid(posed, carried, lines, n, out):
    """Set the weights of a place to those of its centroid."""
    p = lines.patch[n]
    e = row_of(posed.tet_patch_start, p)
    is_inner = not lines.is_whole[n] and np.isfinite(posed.conditions[e])
    last = 1.0
    if is_inner:
        apex = posed.tets[e, 3]
        for i in range(3):
            w = 0.0
            for k in range(3):
                w += posed.inverses[e, i, k] * (lines.centre[n, k] - posed.nodes[apex, k])
            out.weights[n, i] = w
            last -= w
            # Where bodies are turned inside out parts count negative, and centroids may be anywhere.
            is_inner &= w > -OUTSIDE
        out.weights[n, 3] = last
        is_inner &= last > -OUTSIDE
    if not is_inner:
        for m in range(4):
            out.weights[n, m] = carried.patch_centre[p, m]


@njit_called
def leaves_first(posed, lines, n, until):
    """Whether a line comes out of its body beyond the centroid and before `until`, not through its own patch."""
    p = lines.patch[n]
    first, last = posed.patch_triangle_start[p], posed.patch_triangle_start[p + 1]
    for h in range(lines.start[n], lines.start[n + 1]):
        t, beyond = lines.triangle[h], lines.hits[h, 0] - lines.reach[n]
        if beyond > 0.0 and beyond < until and not first <= t < last:
            if slope_of(posed, t, lines.along, n) > 0.0:
                return True
    return False


@njit
def pair_points(own, other, carried, lines, places, rays, bounded, out_kept, out):
    """Pair points of one body with what their rays hit on the other; returns how many pairs there are.

    carried: of the other body. rays: (how far behind their places they start, hits and triangles as of `cast`).
    bounded (l,): whether rays must not come out of their own body first. out_kept: line of each pair; out: its place
    on the other body.
    """
    offset, hits, triangle = rays
    count = 0
    for n in range(lines.patch.shape[0]):
        t = triangle[n]
        if t < 0 or not slope_of(other, t, lines.along, n) > 0.0:
            continue
        until = hits[n, 0] - offset[n]
        for k in range(3):
            until += lines.along[n, k] * (places.at[n, k] - lines.centre[n, k])
        if bounded[n] and leaves_first(own, lines, n, until):
            continue
        set_weights(other, carried, t, hits, n, count, out)
        set_place(other, row_of(other.patch_triangle_start, t), count, out)
        out_kept[count] = n
        count += 1
    return count
