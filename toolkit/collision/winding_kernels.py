"""Winding numbers of points: the signed count of triangles that the ray along +x from each meets.

Signs are exact, with the point shifted by the infinitesimal of `predicates_kernels`: a ray through an edge or a vertex
counts one of the triangles there, and a point on the surface is on one side of it.
"""

import numpy as np

from jellycage.toolkit.collision.bdop_kernels import bdop_of, index_mask
from jellycage.toolkit.collision.bounds_kernels import high_bound, low_bound, prepare_box
from jellycage.toolkit.collision.kdop_kernels import AXIS_COUNT
from jellycage.toolkit.collision.predicates_kernels import point_of, turn_about, volume_sign
from jellycage.toolkit.compile_kernels import njit, njit_called


@njit_called
def count_triangle(points, p, vertices, i, j, k, shift):
    """1 if the ray leaves the solid through a triangle, -1 if it enters, 0 if it does not meet it."""
    turn = turn_about(points, p, vertices, i, j, shift)
    if turn == 0 or turn != turn_about(points, p, vertices, j, k, shift):
        return 0
    if turn != turn_about(points, p, vertices, k, i, shift):
        return 0
    # The turn is the sign of the normal along x; on the plane itself the shift along x decides.
    a, b, c = point_of(vertices, i), point_of(vertices, j), point_of(vertices, k)
    side = volume_sign(a, b, c, point_of(points, p))
    if side == 0:
        side = shift * turn
    return turn if side == -turn else 0


@njit_called
def is_ahead(box, factors, shifts, x, y, z):
    """Whether the ray along +x may meet what is in a quantised b-DOP."""
    if low_bound(box, factors, shifts, 0, 1) > y or high_bound(box, factors, shifts, 0, 1) < y:
        return False
    if low_bound(box, factors, shifts, 0, 2) > z or high_bound(box, factors, shifts, 0, 2) < z:
        return False
    return high_bound(box, factors, shifts, 0, 0) >= x


@njit_called
def wind_in_patch(points, p, triangles, vertices, first, last, factors, shifts, shift, todo):
    """What the triangles of a patch, whose tet is prepared, add to the winding number of point p."""
    mask, winding, count = index_mask(triangles), 0, 1
    x, y, z = points[p, 0], points[p, 1], points[p, 2]
    todo[0, 0], todo[0, 1] = first, last
    while count > 0:
        count -= 1
        t, end = todo[count, 0], todo[count, 1]
        if not is_ahead(bdop_of(triangles, t), factors, shifts, x, y, z):
            continue
        i = np.int64(triangles[t, 0]) & mask
        j = np.int64(triangles[t, 1]) & mask
        k = np.int64(triangles[t, 2]) & mask
        winding += count_triangle(points, p, vertices, i, j, k, shift)
        middle = t + 1 + (end - t - 1) // 2
        if middle > t + 1:
            todo[count, 0], todo[count, 1] = t + 1, middle
            count += 1
        if end > middle:
            todo[count, 0], todo[count, 1] = middle, end
            count += 1
    return winding


@njit
def wind(posed, points, shift, out_winding):
    """Winding numbers of points; shift: 1, or -1 to shift them by the infinitesimal the other way."""
    nodes, tets, tree, dops = posed.nodes, posed.tets, posed.tet_tree, posed.dops
    triangles, vertices = posed.triangles, posed.vertices
    patch_start, triangle_start = posed.tet_patch_start, posed.patch_triangle_start
    inner = tree.shape[0]
    todo, ranges = np.empty(inner + 2, np.int64), np.empty((128, 2), np.int64)
    factors, shifts = np.empty((1, 3, 9)), np.empty((1, 3, 6), np.int64)
    for p in range(points.shape[0]):
        out_winding[p] = 0
        todo[0], count = 0, 1
        while count > 0:
            count -= 1
            n = todo[count]
            is_met = dops[n, AXIS_COUNT] >= points[p, 0]
            for k in range(1, 3):
                is_met &= dops[n, k] <= points[p, k] and dops[n, AXIS_COUNT + k] >= points[p, k]
            if not is_met:
                continue
            if n < inner:
                todo[count], todo[count + 1] = tree[n, 0], tree[n, 1]
                count += 2
                continue
            e = n - inner
            prepare_box(nodes, tets, e, 0, factors, shifts)
            for patch in range(patch_start[e], patch_start[e + 1]):
                first, last = triangle_start[patch], triangle_start[patch + 1]
                out_winding[p] += wind_in_patch(
                    points, p, triangles, vertices, first, last, factors, shifts, shift, ranges
                )
