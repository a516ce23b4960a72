"""Polygons of the cut surface made into triangles, with corners joined where one would be next to nothing."""

import numpy as np

from jellycage.toolkit.compile_kernels import njit, njit_called, njit_inside
from jellycage.toolkit.union_kernels import find_root

SMALL = 1.05e-12
"""Area of the smallest triangle that is kept, as a share of its source triangle."""
TINY = 1e-7
"""Shortest side that is kept, in lengths of the source triangle's sides."""
SHORT = 1e-5
"""Longest side that is joined into a point to be rid of such a triangle, in lengths of the source triangle's sides."""


@njit_inside
def find_loop(first, last, vertex, parent, out_corner, out_vertex):
    """The corners of a polygon after joining: neither repeats nor paths there and back; returns how many."""
    count = 0
    for k in range(first, last):
        v = find_root(parent, vertex[k])
        if count > 0 and out_vertex[count - 1] == v:
            continue
        if count > 1 and out_vertex[count - 2] == v:
            count -= 1
            continue
        out_corner[count], out_vertex[count] = k, v
        count += 1
    low = 0
    while count - low > 1 and out_vertex[low] == out_vertex[count - 1]:
        count -= 1
    while count - low > 2 and out_vertex[low + 1] == out_vertex[count - 1]:
        low += 1
        count -= 1
    for k in range(low, count):
        out_corner[k - low], out_vertex[k - low] = out_corner[k], out_vertex[k]
    return count - low if count - low > 2 else 0


@njit_called
def area_share(points, i, j, k, normal):
    """Area of a triangle as a share of its source, whose normal has the length of twice the area."""
    ax, ay, az = points[i, 0], points[i, 1], points[i, 2]
    ux, uy, uz = points[j, 0] - ax, points[j, 1] - ay, points[j, 2] - az
    vx, vy, vz = points[k, 0] - ax, points[k, 1] - ay, points[k, 2] - az
    x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    along = x * normal[0] + y * normal[1] + z * normal[2]
    whole = normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]
    return along / whole if whole > 0.0 else 1.0  # a source without area has no smaller parts


@njit_called
def best_fan(x, loop, count, normal):
    """The corner to fan a convex polygon from, so that its smallest triangle is largest; and that one's area share."""
    best, area = 0, -np.inf
    for apex in range(count if count > 3 else 1):
        least = np.inf
        for k in range(1, count - 1):
            i, j = loop[(apex + k) % count], loop[(apex + k + 1) % count]
            least = min(least, area_share(x, loop[apex], i, j, normal))
        if least > area:
            best, area = apex, least
    return best, area


@njit_called
def distance(x, i, j):
    """Distance of two points given by number."""
    return np.sqrt((x[i, 0] - x[j, 0]) ** 2 + (x[i, 1] - x[j, 1]) ** 2 + (x[i, 2] - x[j, 2]) ** 2)


@njit_inside
def join_corners(i, j, nodes, tets, vertex_tet, weights, parent, x):
    """Join two vertices if some cage node carries both; the lower number stays, carried by the common nodes alone."""
    i, j = min(i, j), max(i, j)
    e, f = vertex_tet[i], vertex_tet[j]
    total = 0.0
    for a in range(4):
        for b in range(4):
            if tets[e, a] == tets[f, b] and weights[j, b] > 0.0:
                total += weights[i, a]
    if total == 0.0:
        return False
    x[i, 0], x[i, 1], x[i, 2] = 0.0, 0.0, 0.0
    for a in range(4):
        is_common = False
        for b in range(4):
            is_common |= tets[e, a] == tets[f, b] and weights[j, b] > 0.0
        weights[i, a] = weights[i, a] / total if is_common else 0.0
        for axis in range(3):
            x[i, axis] += weights[i, a] * nodes[tets[e, a], axis]
    parent[j] = i
    return True


@njit
def join_slivers(start, vertex, normals, nodes, tets, vertex_tet, weights, parent, x):
    """Join the ends of the shortest side of every polygon where it, or a triangle, is too small, until none is.

    normals (p, 3): of the source triangles, twice their area long. weights (n, 4), parent and positions x (n, 3) of the
    vertices change: a joined vertex hangs on the nodes that all its parts share. Returns how many polygons could not
    be helped.
    """
    corner, loop = np.empty(8, np.int64), np.empty(8, np.int64)
    is_done = False
    helpless = 0
    while not is_done:
        is_done = True
        helpless = 0
        for p in range(start.shape[0] - 1):
            count = find_loop(start[p], start[p + 1], vertex, parent, corner, loop)
            if count == 0:
                continue
            at = 0
            for k in range(1, count):
                here = distance(x, loop[k], loop[(k + 1) % count])
                if here < distance(x, loop[at], loop[(at + 1) % count]):
                    at = k
            i, j = loop[at], loop[(at + 1) % count]
            length = distance(x, i, j)
            size = (normals[p, 0] ** 2 + normals[p, 1] ** 2 + normals[p, 2] ** 2) ** 0.25
            is_sliver = best_fan(x, loop, count, normals[p])[1] < SMALL
            if not is_sliver and length >= TINY * size:
                continue
            if length < SHORT * size and join_corners(
                i, j, nodes, tets, vertex_tet, weights, parent, x
            ):
                is_done = False
            else:
                helpless += is_sliver
    return helpless


@njit
def fan_polygons(start, vertex, normals, x, bary, parent, out_polygon, out_faces, out_bary):
    """Triangles of all polygons: polygon, vertices, and two weights of each corner on the source; returns how many.

    Stores those that fit.
    """
    corner, loop = np.empty(8, np.int64), np.empty(8, np.int64)
    made = 0
    for p in range(start.shape[0] - 1):
        count = find_loop(start[p], start[p + 1], vertex, parent, corner, loop)
        apex = best_fan(x, loop, count, normals[p])[0] if count > 0 else 0
        for k in range(1, count - 1):
            if made < out_polygon.shape[0]:
                out_polygon[made] = p
                for c in range(3):
                    at = apex if c == 0 else (apex + k + c - 1) % count
                    out_faces[made, c] = loop[at]
                    out_bary[made, c, 0] = bary[corner[at], 0]
                    out_bary[made, c, 1] = bary[corner[at], 1]
            made += 1
    return made
