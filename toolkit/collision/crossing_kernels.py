"""All pairs of crossing triangles of two posed surfaces: two trees at once, first of tets, then of triangles.

Nodes of two patches are compared along x, y, z and along the vector areas of both patches, which part gently curved
patches that lie along each other early.
"""

import numpy as np

from toolkit.collision.bdop_kernels import bdop_of, index_mask
from toolkit.collision.bounds_kernels import high_bound, low_bound, prepare_axis, prepare_box
from toolkit.collision.kdop_kernels import AXIS_COUNT
from toolkit.collision.pairs_kernels import cross_triangles
from toolkit.compile_kernels import njit, njit_called, njit_inside

LEAF = 8
"""Pairs of triangles that are tried without looking at bounds."""


@njit_inside
def overlap_nodes(box_a, factors_a, shifts_a, box_b, factors_b, shifts_b):
    """Whether the bounds of two quantised b-DOPs meet along all prepared directions."""
    for k in range(5):
        axis = 4 - k
        if low_bound(box_a, factors_a, shifts_a, axis) > high_bound(box_b, factors_b, shifts_b, axis):
            return False
        if low_bound(box_b, factors_b, shifts_b, axis) > high_bound(box_a, factors_a, shifts_a, axis):
            return False
    return True


@njit_called
def bound_triangle(solid, t, factors, normals, out_low, out_high):
    """Bounds of a triangle along the prepared directions, whose last two are given."""
    mask = index_mask(solid.triangles)
    for k in range(5):
        out_low[k], out_high[k] = np.inf, -np.inf
    for c in range(3):
        v = solid.vertices[np.int64(solid.triangles[t, c]) & mask]
        for k in range(5):
            if k < 3:
                at = v[k]
            else:
                n = normals[k - 3]
                at = n[0] * v[0] + n[1] * v[1] + n[2] * v[2]
            out_low[k], out_high[k] = min(out_low[k], at), max(out_high[k], at)
    for k in range(3, 5):
        out_low[k] -= factors[k, 8]
        out_high[k] += factors[k, 8]


@njit_inside
def overlap_triangle(low, high, box, factors, shifts):
    """Whether the bounds of a triangle and of a quantised b-DOP meet along all prepared directions."""
    for k in range(5):
        if low[k] > high_bound(box, factors, shifts, k):
            return False
        if low_bound(box, factors, shifts, k) > high[k]:
            return False
    return True


@njit_called
def try_pair(solid_a, solid_b, a, b, found, corners, spare, numbers, out_pairs, out_ends):
    """Try triangles a of A and b of B; returns how many pairs cross so far."""
    mask_a, mask_b = index_mask(solid_a.triangles), index_mask(solid_b.triangles)
    for c in range(3):
        i = np.int64(solid_a.triangles[a, c]) & mask_a
        j = np.int64(solid_b.triangles[b, c]) & mask_b
        for k in range(3):
            corners[0, c, k] = solid_a.vertices[i, k]
            corners[1, c, k] = solid_b.vertices[j, k]
    if not cross_triangles(corners[0], corners[1], spare, numbers):
        return found
    if found < out_pairs.shape[0]:
        out_pairs[found, 0], out_pairs[found, 1] = a, b
        for k in range(4):
            out_pairs[found, 2 + k] = numbers[k]
        for k in range(8):
            out_ends[found, k] = spare[k]
    return found + 1


@njit_called
def cross_patches(solid_a, solid_b, patch_a, patch_b, work, out_pairs, out_ends, found):
    """Find the crossing pairs of two patches whose tets are prepared; returns how many there are so far."""
    factors, shifts, normals, bounds, todo, corners, spare, numbers = work
    todo[0, 0], todo[0, 1] = solid_a.patch_triangle_start[patch_a], solid_a.patch_triangle_start[patch_a + 1]
    todo[0, 2], todo[0, 3] = solid_b.patch_triangle_start[patch_b], solid_b.patch_triangle_start[patch_b + 1]
    count = 1
    while count > 0:
        count -= 1
        a, end_a, b, end_b = todo[count, 0], todo[count, 1], todo[count, 2], todo[count, 3]
        box_a, box_b = bdop_of(solid_a.triangles, a), bdop_of(solid_b.triangles, b)
        if not overlap_nodes(box_a, factors[0], shifts[0], box_b, factors[1], shifts[1]):
            continue
        if (end_a - a) * (end_b - b) <= LEAF:
            for i in range(a, end_a):
                for j in range(b, end_b):
                    found = try_pair(
                        solid_a, solid_b, i, j, found, corners, spare, numbers, out_pairs, out_ends
                    )
            continue
        # The larger node is opened: its own triangle against the other node, and its children.
        is_a = end_a - a >= end_b - b
        own, first, last = (a, b, end_b) if is_a else (b, a, end_a)
        solid, other = (solid_a, solid_b) if is_a else (solid_b, solid_a)
        side = 0 if is_a else 1
        bound_triangle(solid, own, factors[side], normals, bounds[0], bounds[1])
        base = count
        todo[count, 0], todo[count, 1] = first, last
        count += 1
        while count > base:
            count -= 1
            t, end = todo[count, 0], todo[count, 1]
            box = bdop_of(other.triangles, t)
            if not overlap_triangle(bounds[0], bounds[1], box, factors[1 - side], shifts[1 - side]):
                continue
            i, j = (own, t) if is_a else (t, own)
            found = try_pair(
                solid_a, solid_b, i, j, found, corners, spare, numbers, out_pairs, out_ends
            )
            middle = t + 1 + (end - t - 1) // 2
            if middle > t + 1:
                todo[count, 0], todo[count, 1] = t + 1, middle
                count += 1
            if end > middle:
                todo[count, 0], todo[count, 1] = middle, end
                count += 1
        left, end = own + 1, end_a if is_a else end_b
        middle = left + (end - left) // 2
        for child in range(2):
            start, stop = (left, middle) if child == 0 else (middle, end)
            if stop > start:
                todo[count, 0], todo[count, 1] = (start, stop) if is_a else (a, end_a)
                todo[count, 2], todo[count, 3] = (b, end_b) if is_a else (start, stop)
                count += 1
    return found


@njit_called
def set_normal(solid, e, patch, out_normal):
    """Direction of the vector area of a patch in its deformed tet e; 0 if that has no volume."""
    for k in range(3):
        out_normal[k] = 0.0
        for i in range(3):
            out_normal[k] += solid.patch_weight_area[patch, i] * solid.inverses[e, i, k]


@njit_called
def cross_tets(solid_a, solid_b, e, f, work, out_pairs, out_ends, found):
    """Find the crossing pairs of tet e of A and tet f of B; returns how many there are so far."""
    factors, shifts, normals, bounds, todo, corners, spare, numbers = work
    prepare_box(solid_a.nodes, solid_a.tets[e], factors[0], shifts[0])
    prepare_box(solid_b.nodes, solid_b.tets[f], factors[1], shifts[1])
    for patch_a in range(solid_a.tet_patch_start[e], solid_a.tet_patch_start[e + 1]):
        set_normal(solid_a, e, patch_a, normals[0])
        for patch_b in range(solid_b.tet_patch_start[f], solid_b.tet_patch_start[f + 1]):
            set_normal(solid_b, f, patch_b, normals[1])
            for k in range(2):
                x, y, z = normals[k, 0], normals[k, 1], normals[k, 2]
                prepare_axis(solid_a.nodes, solid_a.tets[e], x, y, z, factors[0, 3 + k], shifts[0, 3 + k])
                prepare_axis(solid_b.nodes, solid_b.tets[f], x, y, z, factors[1, 3 + k], shifts[1, 3 + k])
            found = cross_patches(solid_a, solid_b, patch_a, patch_b, work, out_pairs, out_ends, found)
    return found


@njit_called
def overlap_dops(a, b):
    """Whether two 14-DOPs meet."""
    for k in range(AXIS_COUNT):
        if a[k] > b[AXIS_COUNT + k] or b[k] > a[AXIS_COUNT + k]:
            return False
    return True


@njit_inside
def extent(dop):
    """How large a 14-DOP is: the sum of its sides along x, y and z."""
    return dop[7] - dop[0] + dop[8] - dop[1] + dop[9] - dop[2]


@njit
def cross_solids(solid_a, solid_b, out_pairs, out_ends):
    """Find all crossing pairs; returns how many there are (stores those that fit).

    Rows of out_pairs (k, 6): triangle of A, of B, body and edge of the first end, of the second. Rows of out_ends
    (k, 8): shares of the way along those edges, the two points.
    """
    tree_a, tree_b, dops_a, dops_b = solid_a.tet_tree, solid_b.tet_tree, solid_a.dops, solid_b.dops
    inner_a, inner_b = tree_a.shape[0], tree_b.shape[0]
    work = (
        np.empty((2, 5, 9)), np.empty((2, 5, 6), np.int64), np.empty((2, 3)), np.empty((2, 5)),
        np.empty((256, 4), np.int64), np.empty((2, 3, 3)), np.empty(8), np.empty(4, np.int64),
    )  # fmt: skip
    todo = np.empty((inner_a + inner_b + 2, 2), np.int64)
    todo[0, 0], todo[0, 1] = 0, 0
    count, found = 1, 0
    while count > 0:
        count -= 1
        n, m = todo[count, 0], todo[count, 1]
        if not overlap_dops(dops_a[n], dops_b[m]):
            continue
        if n >= inner_a and m >= inner_b:
            found = cross_tets(solid_a, solid_b, n - inner_a, m - inner_b, work, out_pairs, out_ends, found)
            continue
        is_a = m >= inner_b or (n < inner_a and extent(dops_a[n]) >= extent(dops_b[m]))
        for child in range(2):
            todo[count, 0] = tree_a[n, child] if is_a else n
            todo[count, 1] = m if is_a else tree_b[m, child]
            count += 1
    return found
