"""Whether two triangles cross, and where: exact signs, so that neighbours agree on every edge that pierces a face."""

import numpy as np

from jellycage.toolkit.collision.bdop_kernels import index_mask
from jellycage.toolkit.collision.predicates_kernels import (
    VOLUME_ERROR,
    accurate_volume,
    side_of_face,
    turn_of_edges,
)
from jellycage.toolkit.compile_kernels import njit_called, njit_inside


@njit_inside
def is_parted(vertices, i, j, k, others, u, v, w):
    """Whether three points clearly lie on one side of the plane of triangle ijk: a quick test, sure if it says so."""
    ax, ay, az = vertices[i, 0], vertices[i, 1], vertices[i, 2]
    bx, by, bz = vertices[j, 0] - ax, vertices[j, 1] - ay, vertices[j, 2] - az
    cx, cy, cz = vertices[k, 0] - ax, vertices[k, 1] - ay, vertices[k, 2] - az
    xp, xm, yp, ym, zp, zm = by * cz, bz * cy, bz * cx, bx * cz, bx * cy, by * cx
    nx, ny, nz = xp - xm, yp - ym, zp - zm
    sx, sy, sz = abs(xp) + abs(xm), abs(yp) + abs(ym), abs(zp) + abs(zm)
    x, y, z = others[u, 0] - ax, others[u, 1] - ay, others[u, 2] - az
    side = nx * x + ny * y + nz * z
    error = VOLUME_ERROR * (sx * abs(x) + sy * abs(y) + sz * abs(z))
    if abs(side) <= error:
        return False
    sign = 1.0 if side > 0.0 else -1.0
    x, y, z = others[v, 0] - ax, others[v, 1] - ay, others[v, 2] - az
    error = VOLUME_ERROR * (sx * abs(x) + sy * abs(y) + sz * abs(z))
    if sign * (nx * x + ny * y + nz * z) <= error:
        return False
    x, y, z = others[w, 0] - ax, others[w, 1] - ay, others[w, 2] - az
    error = VOLUME_ERROR * (sx * abs(x) + sy * abs(y) + sz * abs(z))
    return sign * (nx * x + ny * y + nz * z) > error


@njit_called
def are_parted(triangles_a, vertices_a, a, triangles_b, vertices_b, b):
    """Whether the plane of triangle a of A or b of B clearly parts them."""
    mask_a, mask_b = index_mask(triangles_a), index_mask(triangles_b)
    i = np.int64(triangles_a[a, 0]) & mask_a
    j = np.int64(triangles_a[a, 1]) & mask_a
    k = np.int64(triangles_a[a, 2]) & mask_a
    u = np.int64(triangles_b[b, 0]) & mask_b
    v = np.int64(triangles_b[b, 1]) & mask_b
    w = np.int64(triangles_b[b, 2]) & mask_b
    if is_parted(vertices_a, i, j, k, vertices_b, u, v, w):
        return True
    return is_parted(vertices_b, u, v, w, vertices_a, i, j, k)


@njit_called
def is_before(a, b):
    """Whether a point comes before another by x, then y, then z."""
    if a[0] != b[0]:
        return a[0] < b[0]
    if a[1] != b[1]:
        return a[1] < b[1]
    return a[2] < b[2]


@njit_called
def pierce(p, q, u, v, w, out_ends, row, end):
    """Where an edge pierces a face: the share of the way from p to q, and the point. The same comes from edge q p.

    It is known that it does: where rounding hides it the share is still in 0..1.
    """
    is_turned = is_before(q, p)
    p, q = (q, p) if is_turned else (p, q)
    above, below = abs(accurate_volume(u, v, w, p)), abs(accurate_volume(u, v, w, q))
    share = above / (above + below) if above + below > 0.0 else 0.5
    for k in range(3):
        out_ends[row, 2 + 3 * end + k] = p[k] + share * (q[k] - p[k])
    out_ends[row, end] = 1.0 - share if is_turned else share


@njit_called
def cross_triangles(a, b, row, signs, out_ends, out_numbers):
    """Whether triangles a and b, three points each, cross; B is shifted by the infinitesimal of `predicates_kernels`.

    out_ends[row] (8,): shares of the way along the edges at both ends, then both points. out_numbers[row] (6,), from
    its third on: body (0: an edge of A in the face of B, 1: of B in that of A) and edge of each end. The segment runs
    counter-clockwise on A about what is inside B: the ends where an edge of A comes out of B, or one of B goes into A,
    are first. signs (5, 4) is room for the sides of corners of A and of B, and for the turns of edges.
    """
    for i in range(3):
        signs[1, i] = side_of_face(a[0], a[1], a[2], b[i], 1)
    if signs[1, 0] != 0 and signs[1, 0] == signs[1, 1] and signs[1, 0] == signs[1, 2]:
        return False
    for i in range(3):
        signs[0, i] = side_of_face(b[0], b[1], b[2], a[i], -1)
    if signs[0, 0] != 0 and signs[0, 0] == signs[0, 1] and signs[0, 0] == signs[0, 2]:
        return False
    signs[0, 3], signs[1, 3] = signs[0, 0], signs[1, 0]
    for i in range(3):
        for j in range(3):
            signs[2 + i, j] = 0
            if signs[0, i] != signs[0, i + 1] or signs[1, j] != signs[1, j + 1]:
                signs[2 + i, j] = turn_of_edges(a[i], a[(i + 1) % 3], b[j], b[(j + 1) % 3])
    found = 0
    for i in range(3):
        j = (i + 1) % 3
        turn = signs[2 + i, 0]
        is_pierced = signs[0, i] != signs[0, i + 1] and turn != 0
        if is_pierced and turn == signs[2 + i, 1] and turn == signs[2 + i, 2]:
            end = 1 if signs[0, i] > 0 else 0
            out_numbers[row, 2 + 2 * end], out_numbers[row, 3 + 2 * end] = 0, i
            pierce(a[i], a[j], b[0], b[1], b[2], out_ends, row, end)
            found |= 1 << end
        turn = signs[2, i]
        is_pierced = signs[1, i] != signs[1, i + 1] and turn != 0
        if is_pierced and turn == signs[3, i] and turn == signs[4, i]:
            end = 0 if signs[1, i] > 0 else 1
            out_numbers[row, 2 + 2 * end], out_numbers[row, 3 + 2 * end] = 1, i
            pierce(b[i], b[j], a[0], a[1], a[2], out_ends, row, end)
            found |= 1 << end
    return found == 3
