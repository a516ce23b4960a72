"""Nearest points of two cores, or, where they overlap, the direction in which they overlap least.

Distance: Gilbert, Johnson, Keerthi 1988, "A fast procedure for computing the distance between complex objects in
three-dimensional space", doi:10.1109/56.2083. Differs from the paper: of all faces of the simplex that hold the newest
corner, the nearest one is taken, which no rounding can mislead; there are seven.
Overlap: separating axes, all normals of faces and all pairs of edges that make a face of the difference of both cores
(Gregorius 2013, "The Separating Axis Test between Convex Polyhedra"). It is exact where iterations are not: for cores
that just touch.

Core a is rows a0 to a1 of its points, relative to the origin of body a; core b is rows b0 to b1 plus an offset.
"""

import numpy as np

from jellycage.toolkit.compile_kernels import njit_called

STEPS = 64
PROGRESS = 1e-14  # of the squared distance: less is the end
TOUCHING = 1e-9  # of the size: nearer cores are taken to touch


@njit_called
def closest_of_segments(a, a0, a1, b, b0, b1, ox, oy, oz, out_near):
    """Nearest points of two segments, or points (one row), into rows 0 and 1 of out_near; returns their distance."""
    i, j = a1 - 1, b1 - 1
    ux, uy, uz = a[i, 0] - a[a0, 0], a[i, 1] - a[a0, 1], a[i, 2] - a[a0, 2]
    vx, vy, vz = b[j, 0] - b[b0, 0], b[j, 1] - b[b0, 1], b[j, 2] - b[b0, 2]
    rx, ry, rz = a[a0, 0] - b[b0, 0] - ox, a[a0, 1] - b[b0, 1] - oy, a[a0, 2] - b[b0, 2] - oz
    uu, vv = ux * ux + uy * uy + uz * uz, vx * vx + vy * vy + vz * vz
    uv = ux * vx + uy * vy + uz * vz
    ur, vr = ux * rx + uy * ry + uz * rz, vx * rx + vy * ry + vz * rz
    s = t = 0.0
    if uu > 0.0 and vv > 0.0:
        # |u x v|^2, which does not cancel as uu vv - uv^2 does.
        cx, cy, cz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        cross = cx * cx + cy * cy + cz * cz
        if cross > 1e-20 * uu * vv:
            # s = (v x r) . (u x v) / |u x v|^2
            dx, dy, dz = vy * rz - vz * ry, vz * rx - vx * rz, vx * ry - vy * rx
            s = min(max((dx * cx + dy * cy + dz * cz) / cross, 0.0), 1.0)
        t = min(max((uv * s + vr) / vv, 0.0), 1.0)
        s = min(max((uv * t - ur) / uu, 0.0), 1.0)
        t = min(max((uv * s + vr) / vv, 0.0), 1.0)
    elif uu > 0.0:
        s = min(max(-ur / uu, 0.0), 1.0)
    elif vv > 0.0:
        t = min(max(vr / vv, 0.0), 1.0)
    ax, ay, az = a[a0, 0] + s * ux, a[a0, 1] + s * uy, a[a0, 2] + s * uz
    bx, by, bz = b[b0, 0] + ox + t * vx, b[b0, 1] + oy + t * vy, b[b0, 2] + oz + t * vz
    out_near[0, 0], out_near[0, 1], out_near[0, 2] = ax, ay, az
    out_near[1, 0], out_near[1, 1], out_near[1, 2] = bx, by, bz
    dx, dy, dz = bx - ax, by - ay, bz - az
    return np.sqrt(dx * dx + dy * dy + dz * dz)


@njit_called
def furthest(points, first, last, x, y, z):
    """Row of the point that is furthest along a direction; the first of equals."""
    best, most = first, points[first, 0] * x + points[first, 1] * y + points[first, 2] * z
    for i in range(first + 1, last):
        along = points[i, 0] * x + points[i, 1] * y + points[i, 2] * z
        if along > most:
            best, most = i, along
    return best


@njit_called
def nearest_edge(simplex, k, i):
    """(squared distance, share of i) of the origin's nearest point inside edge k i; infinite if it is not inside."""
    x, y, z = simplex[k, 0], simplex[k, 1], simplex[k, 2]
    ex, ey, ez = simplex[i, 0] - x, simplex[i, 1] - y, simplex[i, 2] - z
    along, length = -(x * ex + y * ey + z * ez), ex * ex + ey * ey + ez * ez
    if along <= 0.0 or along >= length:
        return np.inf, 0.0
    t = along / length
    x, y, z = x + t * ex, y + t * ey, z + t * ez
    return x * x + y * y + z * z, t


@njit_called
def nearest_face(simplex, k, i, j):
    """(squared distance, shares of i and of j) of the nearest point inside a triangle; infinite if it is not inside."""
    x, y, z = simplex[k, 0], simplex[k, 1], simplex[k, 2]
    ex, ey, ez = simplex[i, 0] - x, simplex[i, 1] - y, simplex[i, 2] - z
    fx, fy, fz = simplex[j, 0] - x, simplex[j, 1] - y, simplex[j, 2] - z
    nx, ny, nz = ey * fz - ez * fy, ez * fx - ex * fz, ex * fy - ey * fx
    area = nx * nx + ny * ny + nz * nz
    s = nx * (fy * z - fz * y) + ny * (fz * x - fx * z) + nz * (fx * y - fy * x)
    t = nx * (ez * y - ey * z) + ny * (ex * z - ez * x) + nz * (ey * x - ex * y)
    if not (s > 0.0 and t > 0.0 and s + t < area):
        return np.inf, 0.0, 0.0
    height = nx * x + ny * y + nz * z
    return height * height / area, s / area, t / area


@njit_called
def is_inside_tet(simplex):
    """Whether the origin lies inside the tet of all four corners of a simplex."""
    for skip in range(4):
        i, j, k = (skip + 1) & 3, (skip + 2) & 3, (skip + 3) & 3
        x, y, z = simplex[i, 0], simplex[i, 1], simplex[i, 2]
        ex, ey, ez = simplex[j, 0] - x, simplex[j, 1] - y, simplex[j, 2] - z
        fx, fy, fz = simplex[k, 0] - x, simplex[k, 1] - y, simplex[k, 2] - z
        nx, ny, nz = ey * fz - ez * fy, ez * fx - ex * fz, ex * fy - ey * fx
        here = nx * x + ny * y + nz * z
        there = nx * simplex[skip, 0] + ny * simplex[skip, 1] + nz * simplex[skip, 2]
        # The origin, at height 0, must be on the side of the fourth corner.
        if not ((here < 0.0 and there > here) or (here > 0.0 and there < here)):
            return False
    return True


@njit_called
def reduce_simplex(simplex, count, before):
    """Keep the corners of the face nearest to the origin, with their shares in column 9; the newest corner is last.

    Returns (corners kept, squared distance). None of it is nearer than `before`: nothing is changed, 0 kept. Four kept:
    the origin is inside.
    """
    k = count - 1
    x, y, z = simplex[k, 0], simplex[k, 1], simplex[k, 2]
    # The newest corner alone, edges from it, triangles with it.
    best, kept, first, second, s, t = x * x + y * y + z * z, 1, -1, -1, 0.0, 0.0
    for i in range(k):
        squared, share = nearest_edge(simplex, k, i)
        if squared < best:
            best, kept, first, s = squared, 2, i, share
    for i in range(k):
        for j in range(i + 1, k):
            squared, share_i, share_j = nearest_face(simplex, k, i, j)
            if squared < best:
                best, kept, first, second, s, t = squared, 3, i, j, share_i, share_j
    if count == 4 and is_inside_tet(simplex):
        return 4, 0.0
    if not best < before:
        return 0, before
    # In place: first < second < k, so that no row is overwritten before it is read.
    for c in range(9):
        newest = simplex[k, c]
        if kept > 1:
            simplex[0, c] = simplex[first, c]
        if kept > 2:
            simplex[1, c] = simplex[second, c]
        simplex[kept - 1, c] = newest
    if kept > 1:
        simplex[0, 9] = s
    if kept > 2:
        simplex[1, 9] = t
    simplex[kept - 1, 9] = 1.0 - s - t if kept > 2 else 1.0 - s
    return kept, best


@njit_called
def simplex_direction(simplex, count):
    """Nearest point of a reduced simplex to the origin; across a triangle its normal is more accurate than the sum."""
    x = y = z = 0.0
    if count == 3:
        ex, ey, ez = (
            simplex[0, 0] - simplex[2, 0],
            simplex[0, 1] - simplex[2, 1],
            simplex[0, 2] - simplex[2, 2],
        )
        fx, fy, fz = (
            simplex[1, 0] - simplex[2, 0],
            simplex[1, 1] - simplex[2, 1],
            simplex[1, 2] - simplex[2, 2],
        )
        nx, ny, nz = ey * fz - ez * fy, ez * fx - ex * fz, ex * fy - ey * fx
        height = nx * simplex[2, 0] + ny * simplex[2, 1] + nz * simplex[2, 2]
        scale = height / (nx * nx + ny * ny + nz * nz)
        return scale * nx, scale * ny, scale * nz
    for i in range(count):
        x += simplex[i, 9] * simplex[i, 0]
        y += simplex[i, 9] * simplex[i, 1]
        z += simplex[i, 9] * simplex[i, 2]
    return x, y, z


@njit_called
def closest_of_cores(a, a0, a1, b, b0, b1, ox, oy, oz, simplex, out_near):
    """Nearest points of two cores into rows 0 and 1 of out_near, the vector between them into row 2.

    Returns their distance [m], 0 if they touch or overlap (then out_near is not set). simplex (4, 10) is room: b - a,
    the points on a and on b, and the share of each corner.
    """
    x, y, z = ox, oy, oz
    if x * x + y * y + z * z == 0.0:
        x = 1.0
    squared, size, count = np.inf, 0.0, 0
    for _ in range(STEPS):
        # Corner of the difference b - a that is furthest towards the origin; none nearer than what is known: done.
        i, j = furthest(a, a0, a1, x, y, z), furthest(b, b0, b1, -x, -y, -z)
        wx, wy, wz = b[j, 0] + ox - a[i, 0], b[j, 1] + oy - a[i, 1], b[j, 2] + oz - a[i, 2]
        if count > 0 and squared - (x * wx + y * wy + z * wz) <= PROGRESS * squared:
            break
        row = simplex[count]
        row[0], row[1], row[2] = wx, wy, wz
        row[3], row[4], row[5] = a[i, 0], a[i, 1], a[i, 2]
        row[6], row[7], row[8] = b[j, 0] + ox, b[j, 1] + oy, b[j, 2] + oz
        # Rounding is as large as the numbers are, even if their difference is small.
        size = max(size, row[3] * row[3] + row[4] * row[4] + row[5] * row[5])
        size = max(size, row[6] * row[6] + row[7] * row[7] + row[8] * row[8])
        kept, nearest = reduce_simplex(simplex, count + 1, squared)
        if kept == 0:
            break
        if kept == 4 or nearest <= TOUCHING * TOUCHING * size:
            return 0.0
        count, squared = kept, nearest
        x, y, z = simplex_direction(simplex, count)
    # Shares of the corners of the simplex give the points on both cores.
    for c in range(3):
        out_near[0, c] = out_near[1, c] = 0.0
        for i in range(count):
            out_near[0, c] += simplex[i, 9] * simplex[i, 3 + c]
            out_near[1, c] += simplex[i, 9] * simplex[i, 6 + c]
    out_near[2, 0], out_near[2, 1], out_near[2, 2] = x, y, z
    return np.sqrt(squared)
