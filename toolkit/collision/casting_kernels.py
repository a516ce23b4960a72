"""The first hit or all hits of many rays on a posed surface."""

import numpy as np

from toolkit.collision.bdop_kernels import bdop_of, index_mask
from toolkit.collision.bounds_kernels import prepare_box
from toolkit.collision.kdop_kernels import AXIS_COUNT
from toolkit.collision.rays_kernels import (
    enter_box,
    enter_dop,
    enter_weights,
    hit_triangle,
    prepare_ray,
    prepare_weights,
)
from toolkit.compile_kernels import njit, njit_called


@njit_called
def cast_in_tet(
    solid, e, enter, limit, slack, keep_all, ray, axes, direction, slab, spare, hit, out_hits,
    out_hit_triangle, found,
):  # fmt: skip
    """Hits of a prepared ray in tet e up to parameter `limit`; returns how many there are now, and the new limit.

    spare: room for slopes (4), constants (8), weights (3) and stack of parameters; hit: integers likewise. With
    keep_all a hit goes to row `found` of the outputs, if there is one, and else to row 0 if it comes first.
    """
    slope, constant, weights, entry = spare[:4], spare[4:12], spare[12:15], spare[15:]
    shift, first, last = hit[:8], hit[8:136], hit[136:]
    is_flat = not prepare_weights(solid, e, enter, ray, direction, slope, constant, shift)
    factors, shifts = np.empty((3, 9)), np.empty((3, 6), np.int64)
    if is_flat:
        prepare_box(solid.nodes, solid.tets[e], factors, shifts)
        enter = 0.0
    triangles = solid.triangles
    mask = index_mask(triangles)
    for patch in range(solid.tet_patch_start[e], solid.tet_patch_start[e + 1]):
        first[0], last[0] = solid.patch_triangle_start[patch], solid.patch_triangle_start[patch + 1]
        box = bdop_of(triangles, first[0])
        if is_flat:
            entry[0] = enter_box(box, factors, shifts, slab, 0.0, limit + slack)
        else:
            end = limit + slack - enter
            entry[0] = enter_weights(box, slope, constant, shift, -slack, end)
        count = 1 if entry[0] < np.inf else 0
        while count > 0:
            count -= 1
            if entry[count] > limit + slack - enter:
                continue
            t, end = first[count], last[count]
            i = np.int64(triangles[t, 0]) & mask
            j = np.int64(triangles[t, 1]) & mask
            k = np.int64(triangles[t, 2]) & mask
            at = hit_triangle(solid.vertices, i, j, k, ray, axes, weights)
            if at >= 0.0 and at <= limit:
                row = found if keep_all else 0
                if keep_all or found == 0 or at < limit or t < out_hit_triangle[0]:
                    if row < out_hits.shape[0]:
                        out_hits[row, 0], out_hit_triangle[row] = at, t
                        for c in range(3):
                            out_hits[row, 1 + c] = weights[c]
                    found = found + 1 if keep_all else 1
                if not keep_all:
                    limit = at
            left = t + 1
            middle = left + (end - left) // 2
            near, far = np.inf, np.inf
            until = limit + slack - enter
            if middle > left:
                box = bdop_of(triangles, left)
                if is_flat:
                    near = enter_box(box, factors, shifts, slab, 0.0, until)
                else:
                    near = enter_weights(box, slope, constant, shift, -slack, until)
            if end > middle:
                box = bdop_of(triangles, middle)
                if is_flat:
                    far = enter_box(box, factors, shifts, slab, 0.0, until)
                else:
                    far = enter_weights(box, slope, constant, shift, -slack, until)
            # The nearer child goes on top.
            if far < np.inf and far > near:
                first[count], last[count], entry[count] = middle, end, far
                count += 1
            if near < np.inf:
                first[count], last[count], entry[count] = left, middle, near
                count += 1
            if far < np.inf and far <= near:
                first[count], last[count], entry[count] = middle, end, far
                count += 1
    return found, limit


@njit
def cast(solid, origins, directions, limits, keep_all, out_start, out_hits, out_triangle):
    """Cast rays; out_hits (h, 4): parameter and corner weights of hits, out_triangle (h,).

    With keep_all: hits of ray r are rows out_start[r] to out_start[r + 1], by parameter and then by triangle; returns
    how many there are (stores those that fit). Otherwise row r is the first hit of ray r, triangle -1 if none.
    """
    tree, dops = solid.tet_tree, solid.dops
    inner = tree.shape[0]
    ray, axes, slab = np.empty(7), np.empty(3, np.int64), np.empty((3, AXIS_COUNT))
    todo, entry = np.empty(inner + 2, np.int64), np.empty(inner + 2)
    spare, hit = np.empty(15 + 128), np.empty(8 + 256, np.int64)
    total = 0
    for r in range(origins.shape[0]):
        limit, found = limits[r], 0
        row = total if keep_all else r
        hits, triangle = out_hits[row:], out_triangle[row:]
        if keep_all:
            out_start[r] = total
        else:
            out_triangle[r] = -1
            out_hits[r, 0] = np.inf
        slack = prepare_ray(origins[r], directions[r], dops[0], ray, axes, slab)
        count = 0
        if slack >= 0.0:
            todo[0], entry[0] = 0, enter_dop(dops[0], slab, limit + slack)
            count = 1 if entry[0] < np.inf else 0
        while count > 0:
            count -= 1
            if entry[count] > limit + slack:
                continue
            n = todo[count]
            if n >= inner:
                found, limit = cast_in_tet(
                    solid, n - inner, entry[count], limit, slack, keep_all, ray, axes,
                    directions[r], slab, spare, hit, hits, triangle, found,
                )  # fmt: skip
                continue
            left, right = tree[n, 0], tree[n, 1]
            near = enter_dop(dops[left], slab, limit + slack)
            far = enter_dop(dops[right], slab, limit + slack)
            if far < near:
                near, far, left, right = far, near, right, left
            if far < np.inf:
                todo[count], entry[count] = right, far
                count += 1
            if near < np.inf:
                todo[count], entry[count] = left, near
                count += 1
        if keep_all:
            if total + found <= out_hits.shape[0]:
                sort_hits(out_hits[total : total + found], out_triangle[total : total + found])
            total += found
    if keep_all:
        out_start[origins.shape[0]] = total
    return total


@njit_called
def sort_hits(hits, triangle):
    """Sort the hits of one ray by parameter, then by triangle."""
    for i in range(1, triangle.shape[0]):
        for j in range(i, 0, -1):
            is_later = hits[j - 1, 0] > hits[j, 0]
            is_later |= hits[j - 1, 0] == hits[j, 0] and triangle[j - 1] > triangle[j]
            if not is_later:
                break
            triangle[j - 1], triangle[j] = triangle[j], triangle[j - 1]
            for c in range(4):
                hits[j - 1, c], hits[j, c] = hits[j, c], hits[j - 1, c]
