"""The point of a posed surface that is nearest to each given one."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.collision.bdop_kernels import bdop_of, index_mask
from jellycage.toolkit.collision.bounds_kernels import high_bound, low_bound, prepare_box
from jellycage.toolkit.collision.kdop_kernels import AXIS_COUNT
from jellycage.toolkit.collision.posed_kernels import PosedTriangles
from jellycage.toolkit.compile_kernels import njit, njit_called, njit_inside

ROUNDING = 1e-13
"""Error of a distance over the size of coordinates."""
NEEDLE = 1e-6
"""Least square of the sine between two sides for the inside of a triangle alone to decide."""


class Scratch(NamedTuple):
    """What the search in a patch works in."""

    factors: NDArray[np.float64]
    shifts: NDArray[np.int64]
    """Of the tet that is prepared, see `bounds_kernels`."""
    todo: NDArray[np.int64]
    away: NDArray[np.float64]
    """Ranges of triangles that wait, and squares of their least distances."""
    weights: NDArray[np.float64]


@njit_inside
def segment_share(ax, ay, az, bx, by, bz):
    """Where the segment ab comes nearest to the origin, from 0 at a to 1."""
    dx, dy, dz = bx - ax, by - ay, bz - az
    square = dx * dx + dy * dy + dz * dz
    if square == 0.0:
        return 0.0
    return min(max(-(ax * dx + ay * dy + az * dz) / square, 0.0), 1.0)


@njit_called
def near_triangle(points, p, vertices, i, j, k, limit, out_weights):
    """Square of the distance of point p from a triangle; the weights of the nearest point go to out_weights.

    Or inf, if the box around the triangle is farther away than the limit, a square as well.
    """
    px, py, pz = points[p, 0], points[p, 1], points[p, 2]
    ax, ay, az = vertices[i, 0] - px, vertices[i, 1] - py, vertices[i, 2] - pz
    bx, by, bz = vertices[j, 0] - px, vertices[j, 1] - py, vertices[j, 2] - pz
    cx, cy, cz = vertices[k, 0] - px, vertices[k, 1] - py, vertices[k, 2] - pz
    dx = max(min(ax, bx, cx), -max(ax, bx, cx), 0.0)
    dy = max(min(ay, by, cy), -max(ay, by, cy), 0.0)
    dz = max(min(az, bz, cz), -max(az, bz, cz), 0.0)
    if dx * dx + dy * dy + dz * dz > limit:
        return np.inf
    ux, uy, uz = bx - ax, by - ay, bz - az
    vx, vy, vz = cx - ax, cy - ay, cz - az
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    # Areas of the parts that the foot of p makes, times twice the area.
    u = nx * (by * cz - bz * cy) + ny * (bz * cx - bx * cz) + nz * (bx * cy - by * cx)
    v = nx * (cy * az - cz * ay) + ny * (cz * ax - cx * az) + nz * (cx * ay - cy * ax)
    w = nx * (ay * bz - az * by) + ny * (az * bx - ax * bz) + nz * (ax * by - ay * bx)
    total, best = u + v + w, np.inf
    # The foot is inside; of a needle that is not to be trusted, so its sides are looked at as well.
    if u > 0.0 and v > 0.0 and w > 0.0:
        u, v, w = u / total, v / total, w / total
        x, y, z = u * ax + v * bx + w * cx, u * ay + v * by + w * cy, u * az + v * bz + w * cz
        best = x * x + y * y + z * z
        out_weights[0], out_weights[1], out_weights[2] = u, v, w
        sides = (ux * ux + uy * uy + uz * uz) * (vx * vx + vy * vy + vz * vz)
        if nx * nx + ny * ny + nz * nz > NEEDLE * sides:
            return best
    # Otherwise the nearest point is on a side.
    for side in range(3):
        s = segment_share(ax, ay, az, bx, by, bz)
        x, y, z = ax + s * (bx - ax), ay + s * (by - ay), az + s * (bz - az)
        square = x * x + y * y + z * z
        if square < best:
            best = square
            out_weights[side], out_weights[(side + 1) % 3], out_weights[(side + 2) % 3] = (
                1.0 - s,
                s,
                0.0,
            )
        ax, ay, az, bx, by, bz, cx, cy, cz = bx, by, bz, cx, cy, cz, ax, ay, az
    return best


@njit_called
def dop_distance(dops, n, x, y, z):
    """Square of a distance that 14-DOP n is at least away from a point."""
    dx = max(dops[n, 0] - x, x - dops[n, AXIS_COUNT], 0.0)
    dy = max(dops[n, 1] - y, y - dops[n, AXIS_COUNT + 1], 0.0)
    dz = max(dops[n, 2] - z, z - dops[n, AXIS_COUNT + 2], 0.0)
    return dx * dx + dy * dy + dz * dz


@njit_inside
def box_distance(box, factors, shifts, x, y, z):
    """Square of a distance that a quantised b-DOP is at least away from a point."""
    dx = max(
        low_bound(box, factors, shifts, 0, 0) - x, x - high_bound(box, factors, shifts, 0, 0), 0.0
    )
    dy = max(
        low_bound(box, factors, shifts, 0, 1) - y, y - high_bound(box, factors, shifts, 0, 1), 0.0
    )
    dz = max(
        low_bound(box, factors, shifts, 0, 2) - z, z - high_bound(box, factors, shifts, 0, 2), 0.0
    )
    return dx * dx + dy * dy + dz * dz


@njit_called
def near_patch(points, p, mesh, first, last, slack, scratch, out_nearest, out_triangle):
    """Look for something nearer to point p in a patch whose tet is prepared; see `find_nearest`."""
    triangles, vertices = mesh.triangles, mesh.vertices
    factors, shifts, weights = scratch.factors, scratch.shifts, scratch.weights
    todo, away = scratch.todo, scratch.away
    mask = index_mask(triangles)
    x, y, z = points[p, 0], points[p, 1], points[p, 2]
    limit = (np.sqrt(out_nearest[p, 0]) + slack) ** 2
    todo[0, 0], todo[0, 1] = first, last
    away[0] = box_distance(bdop_of(triangles, first), factors, shifts, x, y, z)
    count = 1
    while count > 0:
        count -= 1
        if away[count] > limit:
            continue
        t, end = todo[count, 0], todo[count, 1]
        # Every node of the tree is a triangle too.
        i = np.int64(triangles[t, 0]) & mask
        j = np.int64(triangles[t, 1]) & mask
        k = np.int64(triangles[t, 2]) & mask
        square = near_triangle(points, p, vertices, i, j, k, limit, weights)
        is_first = square == out_nearest[p, 0] and t < out_triangle[p]
        if square < out_nearest[p, 0] or is_first:
            out_nearest[p, 0], out_triangle[p] = square, t
            for c in range(3):
                out_nearest[p, 1 + c] = weights[c]
            limit = (np.sqrt(square) + slack) ** 2
        # Both children wait, the nearer one on top.
        left = t + 1
        middle = left + (end - left) // 2
        near = np.inf
        for child in range(2):
            begin, stop = (left, middle) if child == 0 else (middle, end)
            if begin >= stop:
                continue
            far = box_distance(bdop_of(triangles, begin), factors, shifts, x, y, z)
            if far > limit:
                continue
            top = count
            if far > near:
                todo[count, 0], todo[count, 1], away[count] = left, middle, near
                top -= 1
            todo[top, 0], todo[top, 1], away[top] = begin, stop, far
            count, near = count + 1, far


@njit
def find_nearest(posed, points, out_nearest, out_triangle):
    """Nearest triangle of each point, of equal ones the first.

    Rows of out_nearest (n, 4): square of the distance, weights of the corners.
    """
    nodes, tets, tree, dops = posed.nodes, posed.tets, posed.tet_tree, posed.dops
    mesh = PosedTriangles(posed.triangles, posed.vertices)
    patch_start, triangle_start = posed.tet_patch_start, posed.patch_triangle_start
    inner = tree.shape[0]
    todo, away = np.empty(inner + 2, np.int64), np.empty(inner + 2)
    scratch = Scratch(
        factors=np.empty((1, 3, 9)),
        shifts=np.empty((1, 3, 6), np.int64),
        todo=np.empty((128, 2), np.int64),
        away=np.empty(128),
        weights=np.empty(3),
    )
    for p in range(points.shape[0]):
        x, y, z = points[p, 0], points[p, 1], points[p, 2]
        size = max(abs(x), abs(y), abs(z))
        for k in range(3):
            size = max(size, abs(dops[0, k]), abs(dops[0, AXIS_COUNT + k]))
        # Bounds are rounded: what is hardly farther than the best is looked at, too.
        slack = ROUNDING * size
        out_nearest[p, 0], out_triangle[p] = np.inf, -1
        todo[0], away[0], count = 0, 0.0, 1
        while count > 0:
            count -= 1
            if away[count] > (np.sqrt(out_nearest[p, 0]) + slack) ** 2:
                continue
            n = todo[count]
            # A tet: on in the trees of its patches.
            if n >= inner:
                e = n - inner
                prepare_box(nodes, tets, e, 0, scratch.factors, scratch.shifts)
                for patch in range(patch_start[e], patch_start[e + 1]):
                    first, last = triangle_start[patch], triangle_start[patch + 1]
                    near_patch(
                        points, p, mesh, first, last, slack, scratch, out_nearest, out_triangle
                    )
                continue
            # Both children wait, the nearer one on top.
            left, right = tree[n, 0], tree[n, 1]
            near, far = dop_distance(dops, left, x, y, z), dop_distance(dops, right, x, y, z)
            if far < near:
                near, far, left, right = far, near, right, left
            todo[count], away[count], todo[count + 1], away[count + 1] = right, far, left, near
            count += 2
