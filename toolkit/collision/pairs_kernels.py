"""Whether two triangles cross, and where: exact signs, so that neighbours agree on every edge that pierces a face."""

import numpy as np

from toolkit.collision.predicates_kernels import accurate_volume, side_of_face, turn_of_edges
from toolkit.compile_kernels import njit_called


@njit_called
def is_before(a, b):
    """Whether a point comes before another by x, then y, then z."""
    if a[0] != b[0]:
        return a[0] < b[0]
    if a[1] != b[1]:
        return a[1] < b[1]
    return a[2] < b[2]


@njit_called
def pierce(p, q, u, v, w, out_point):
    """Where an edge pierces a face: the share of the way from p to q. The same point comes from edge q p.

    It is known that it does: where rounding hides it the share is still in 0..1.
    """
    is_turned = is_before(q, p)
    if is_turned:
        p, q = q, p
    above, below = abs(accurate_volume(u, v, w, p)), abs(accurate_volume(u, v, w, q))
    share = above / (above + below) if above + below > 0.0 else 0.5
    for k in range(3):
        out_point[k] = p[k] + share * (q[k] - p[k])
    return 1.0 - share if is_turned else share


@njit_called
def cross_triangles(a, b, out_ends, out_numbers):
    """Whether triangles a and b, rows of corners, cross; B is shifted by the infinitesimal of `predicates_kernels`.

    out_ends (8,): shares of the way along the edges at both ends, then both points. out_numbers (4,): body (0: an edge
    of A in the face of B, 1: of B in that of A) and edge of each end. The segment runs counter-clockwise on A about
    what is inside B: the ends where an edge of A comes out of B, or one of B goes into A, are first.
    """
    side_a, side_b = np.empty(4, np.int64), np.empty(4, np.int64)
    for i in range(3):
        side_b[i] = side_of_face(a[0], a[1], a[2], b[i], 1)
    if side_b[0] != 0 and side_b[0] == side_b[1] and side_b[0] == side_b[2]:
        return False
    for i in range(3):
        side_a[i] = side_of_face(b[0], b[1], b[2], a[i], -1)
    if side_a[0] != 0 and side_a[0] == side_a[1] and side_a[0] == side_a[2]:
        return False
    side_a[3], side_b[3] = side_a[0], side_b[0]
    turn = np.empty((3, 3), np.int64)
    for i in range(3):
        for j in range(3):
            turn[i, j] = 0
            if side_a[i] != side_a[i + 1] or side_b[j] != side_b[j + 1]:
                turn[i, j] = turn_of_edges(a[i], a[(i + 1) % 3], b[j], b[(j + 1) % 3])
    found = 0
    for i in range(3):
        j = (i + 1) % 3
        if side_a[i] != side_a[i + 1] and turn[i, 0] != 0:
            if turn[i, 0] == turn[i, 1] and turn[i, 0] == turn[i, 2]:
                end = 1 if side_a[i] > 0 else 0
                out_numbers[2 * end], out_numbers[2 * end + 1] = 0, i
                point = out_ends[2 + 3 * end : 5 + 3 * end]
                out_ends[end] = pierce(a[i], a[j], b[0], b[1], b[2], point)
                found |= 1 << end
        if side_b[i] != side_b[i + 1] and turn[0, i] != 0:
            if turn[0, i] == turn[1, i] and turn[0, i] == turn[2, i]:
                end = 0 if side_b[i] > 0 else 1
                out_numbers[2 * end], out_numbers[2 * end + 1] = 1, i
                point = out_ends[2 + 3 * end : 5 + 3 * end]
                out_ends[end] = pierce(b[i], b[j], a[0], a[1], a[2], point)
                found |= 1 << end
    return found == 3
