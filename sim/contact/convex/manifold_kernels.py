"""Up to four points where two cores meet, from the features (face, edge or corner) that they turn to each other.

Both features are seen along the normal and cut with each other; each corner of the common part is a pair of points, one
on each core. Nothing flickers while a body rests: a feature may lean by up to 32 degrees, corners that nearly coincide
are one, and of equally good choices the first is taken.
"""

import numpy as np

from jellycage.sim.contact.convex.gjk_kernels import furthest
from jellycage.toolkit.compile_kernels import njit_called

FACING = 0.85  # cosine of the angle by which a face may lean
LYING = 0.53  # sine of the angle by which an edge may lean
SAME = 1e-6  # of the size: corners nearer to each other are one
BETTER = 1e-7  # of the size, or of an area: by less no choice is better
ASIDE = 0.05  # of the radii: how far lines that lie along each other may run past each other
MOST_CORNERS = 160
MOST_POINTS = 4


@njit_called
def put_point(points, i, ox, oy, oz, out, row):
    """Copy a point, moved by an offset."""
    out[row, 0], out[row, 1], out[row, 2] = points[i, 0] + ox, points[i, 1] + oy, points[i, 2] + oz


@njit_called
def core_feature(shapes, turned, normals, s, ox, oy, oz, x, y, z, out_corners):
    """Corners of the face, edge or point that a core turns to a direction; returns their count."""
    first, last = shapes.point_start[s], shapes.point_start[s + 1]
    most, face = FACING, -1
    for f in range(shapes.face_start[s], shapes.face_start[s + 1]):
        along = normals[f, 0] * x + normals[f, 1] * y + normals[f, 2] * z
        if along > most:
            most, face = along, f
    if face >= 0:
        begin, end = shapes.corner_start[face], shapes.corner_start[face + 1]
        for c in range(begin, end):
            put_point(turned, shapes.corners[c], ox, oy, oz, out_corners, c - begin)
        return end - begin
    top = furthest(turned, first, last, x, y, z)
    least, edge = LYING, -1
    for e in range(shapes.edge_start[s], shapes.edge_start[s + 1]):
        i, j = shapes.edges[e, 0], shapes.edges[e, 1]
        if i != top and j != top:
            continue
        ux, uy, uz = (
            turned[j, 0] - turned[i, 0],
            turned[j, 1] - turned[i, 1],
            turned[j, 2] - turned[i, 2],
        )
        lean = abs(ux * x + uy * y + uz * z) / np.sqrt(ux * ux + uy * uy + uz * uz)
        if lean < least:
            least, edge = lean, e
    if edge < 0:
        put_point(turned, top, ox, oy, oz, out_corners, 0)
        return 1
    put_point(turned, shapes.edges[edge, 0], ox, oy, oz, out_corners, 0)
    put_point(turned, shapes.edges[edge, 1], ox, oy, oz, out_corners, 1)
    return 2


@njit_called
def clip_behind(polygon, count, p, q, x, y, z, closeness, spare):
    """Cut a polygon (or segment) to the left of edge p q, seen against a direction; returns its new corner count.

    Corners outside by no more than the closeness [m] stay: edges that lie along each other are not cut.
    """
    ex, ey, ez = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    # Inward across the edge.
    nx, ny, nz = y * ez - z * ey, z * ex - x * ez, x * ey - y * ex
    scale = 1.0 / np.sqrt(nx * nx + ny * ny + nz * nz)
    nx, ny, nz = scale * nx, scale * ny, scale * nz
    made = 0
    for i in range(count):
        j = i + 1 if i + 1 < count else 0
        a, b = polygon[i], polygon[j]
        here = nx * (a[0] - p[0]) + ny * (a[1] - p[1]) + nz * (a[2] - p[2])
        there = nx * (b[0] - p[0]) + ny * (b[1] - p[1]) + nz * (b[2] - p[2])
        if here >= -closeness:
            spare[made, 0], spare[made, 1], spare[made, 2] = a[0], a[1], a[2]
            made += 1
        if (here > 0.0 and there < -closeness) or (here < -closeness and there > 0.0):
            s = here / (here - there)
            for c in range(3):
                spare[made, c] = a[c] + s * (b[c] - a[c])
            made += 1
    for i in range(made):
        for c in range(3):
            polygon[i, c] = spare[i, c]
    return made


@njit_called
def put_onto_face(point, face, face_count, x, y, z, nx, ny, nz, out):
    """Carry a point along a direction onto a face with unit normal n, and into it if it is a little outside."""
    slope = nx * x + ny * y + nz * z
    up = nx * (point[0] - face[0, 0]) + ny * (point[1] - face[0, 1]) + nz * (point[2] - face[0, 2])
    up /= slope
    px, py, pz = point[0] - up * x, point[1] - up * y, point[2] - up * z
    for i in range(face_count):
        j = i + 1 if i + 1 < face_count else 0
        ex, ey, ez = face[j, 0] - face[i, 0], face[j, 1] - face[i, 1], face[j, 2] - face[i, 2]
        ix, iy, iz = ny * ez - nz * ey, nz * ex - nx * ez, nx * ey - ny * ex
        inside = ix * (px - face[i, 0]) + iy * (py - face[i, 1]) + iz * (pz - face[i, 2])
        if inside < 0.0:
            back = inside / (ix * ix + iy * iy + iz * iz)
            px, py, pz = px - back * ix, py - back * iy, pz - back * iz
    out[0], out[1], out[2] = px, py, pz


@njit_called
def clip_to_face(cut, cut_count, face, face_count, x, y, z, closeness, spare, out_onto):
    """Cut a feature to what a face covers, seen along a direction that the face looks to; returns its new corner count.

    Row i of out_onto is corner i carried along the direction onto the face.
    """
    for i in range(face_count):
        j = i + 1 if i + 1 < face_count else 0
        cut_count = clip_behind(cut, cut_count, face[i], face[j], x, y, z, closeness, spare)
        if cut_count == 0:
            return 0
    nx = ny = nz = 0.0
    for i in range(1, face_count - 1):
        ux, uy, uz = face[i, 0] - face[0, 0], face[i, 1] - face[0, 1], face[i, 2] - face[0, 2]
        vx, vy, vz = (
            face[i + 1, 0] - face[0, 0],
            face[i + 1, 1] - face[0, 1],
            face[i + 1, 2] - face[0, 2],
        )
        nx, ny, nz = nx + uy * vz - uz * vy, ny + uz * vx - ux * vz, nz + ux * vy - uy * vx
    scale = 1.0 / np.sqrt(nx * nx + ny * ny + nz * nz)
    nx, ny, nz = scale * nx, scale * ny, scale * nz
    for i in range(cut_count):
        put_onto_face(cut[i], face, face_count, x, y, z, nx, ny, nz, out_onto[i])
    return cut_count


@njit_called
def clip_lines(a, b, x, y, z, aside, out_a, out_b):
    """The part where two segments run along each other, at most `aside` [m] apart across: 2 points or 0."""
    ux, uy, uz = a[1, 0] - a[0, 0], a[1, 1] - a[0, 1], a[1, 2] - a[0, 2]
    vx, vy, vz = b[1, 0] - b[0, 0], b[1, 1] - b[0, 1], b[1, 2] - b[0, 2]
    length_a = np.sqrt(ux * ux + uy * uy + uz * uz)
    length_b = np.sqrt(vx * vx + vy * vy + vz * vz)
    cosine = (ux * vx + uy * vy + uz * vz) / (length_a * length_b)
    if abs(cosine) < 0.7:
        return 0
    # The common way m, between both and across the direction, and k to the side of it.
    f, g = 1.0 / length_a, (1.0 if cosine > 0.0 else -1.0) / length_b
    mx, my, mz = f * ux + g * vx, f * uy + g * vy, f * uz + g * vz
    lean = mx * x + my * y + mz * z
    mx, my, mz = mx - lean * x, my - lean * y, mz - lean * z
    scale = 1.0 / np.sqrt(mx * mx + my * my + mz * mz)
    mx, my, mz = scale * mx, scale * my, scale * mz
    kx, ky, kz = y * mz - z * my, z * mx - x * mz, x * my - y * mx
    along_a, along_b = mx * ux + my * uy + mz * uz, mx * vx + my * vy + mz * vz
    rx, ry, rz = b[0, 0] - a[0, 0], b[0, 1] - a[0, 1], b[0, 2] - a[0, 2]
    start = mx * rx + my * ry + mz * rz
    low = max(min(0.0, along_a), min(start, start + along_b))
    high = min(max(0.0, along_a), max(start, start + along_b))
    # The part [low, high] of m that both cover is cut to where they are near each other: how far b is to the side of a,
    # and how that grows along m.
    slope_b = (kx * vx + ky * vy + kz * vz) / along_b
    slope = slope_b - (kx * ux + ky * uy + kz * uz) / along_a
    side = kx * rx + ky * ry + kz * rz - slope_b * start
    if abs(slope) > 1e-300:
        t0, t1 = (-aside - side) / slope, (aside - side) / slope
        low, high = max(low, min(t0, t1)), min(high, max(t0, t1))
    elif abs(side) > aside:
        return 0
    if high - low < 1e-3 * min(length_a, length_b):
        return 0
    # Both ends of that part, on a and on b.
    for end in range(2):
        at = low if end == 0 else high
        s, t = at / along_a, (at - start) / along_b
        s, t = min(max(s, 0.0), 1.0), min(max(t, 0.0), 1.0)
        for c in range(3):
            out_a[end, c] = a[0, c] + s * (a[1, c] - a[0, c])
            out_b[end, c] = b[0, c] + t * (b[1, c] - b[0, c])
    return 2


@njit_called
def cut_features(a, a_count, b, b_count, n, closeness, aside, spare, onto):
    """Cut features of two cores with each other: rows of a and b become pairs of points; returns how many.

    n: the direction from core a to core b. closeness, aside [m]: see `clip_behind`, `clip_lines`. 0: a corner is all
    there is, or nothing lies over each other.
    """
    x, y, z = n
    if a_count < 3 and b_count < 3:
        if a_count < 2 or b_count < 2:
            return 0
        count = clip_lines(a, b, x, y, z, aside, spare, onto)
        for i in range(count):
            for c in range(3):
                a[i, c], b[i, c] = spare[i, c], onto[i, c]
        return count
    cut, face, cut_count, face_count = b, a, b_count, a_count
    if a_count < 3:
        cut, face, cut_count, face_count = a, b, a_count, b_count
        x, y, z = -x, -y, -z
    count = clip_to_face(cut, cut_count, face, face_count, x, y, z, closeness, spare, onto)
    for i in range(count):
        face[i, 0], face[i, 1], face[i, 2] = onto[i, 0], onto[i, 1], onto[i, 2]
    return count


@njit_called
def merge_points(a, b, count, closeness):
    """Drop pairs whose points on a nearly coincide with those of an earlier pair; returns how many are left."""
    kept = 0
    for i in range(count):
        is_new = True
        for k in range(kept):
            x, y, z = a[i, 0] - a[k, 0], a[i, 1] - a[k, 1], a[i, 2] - a[k, 2]
            if x * x + y * y + z * z < closeness * closeness:
                is_new = False
                break
        if is_new:
            for c in range(a.shape[1]):
                a[kept, c], b[kept, c] = a[i, c], b[i, c]
            kept += 1
    return kept


@njit_called
def move_to_surface(shapes, turned, s, ox, oy, oz, x, y, z, point):
    """Move a point of a core to the surface around it, towards a direction.

    Along a capsule the surface is straight across the line, but at an end that is further along the direction.
    """
    radius = shapes.radius[s]
    if radius == 0.0:
        return
    first = shapes.point_start[s]
    if shapes.point_start[s + 1] == first + 2:
        ux, uy, uz = (
            turned[first + 1, 0] - turned[first, 0],
            turned[first + 1, 1] - turned[first, 1],
            turned[first + 1, 2] - turned[first, 2],
        )
        uu, up = ux * ux + uy * uy + uz * uz, ux * x + uy * y + uz * z
        top = first + 1 if up > 0.0 else first
        dx, dy, dz = (
            point[0] - ox - turned[top, 0],
            point[1] - oy - turned[top, 1],
            point[2] - oz - turned[top, 2],
        )
        if dx * dx + dy * dy + dz * dz > 1e-18 * uu:
            x, y, z = x - up / uu * ux, y - up / uu * uy, z - up / uu * uz
            scale = 1.0 / np.sqrt(x * x + y * y + z * z)
            x, y, z = scale * x, scale * y, scale * z
    point[0] += radius * x
    point[1] += radius * y
    point[2] += radius * z


@njit_called
def drop_far(a, b, count, x, y, z, limit, out_gap):
    """Gap of each pair along the direction [m]; pairs further apart than the limit go. Returns how many are left."""
    kept = 0
    for i in range(count):
        gap = x * (b[i, 0] - a[i, 0]) + y * (b[i, 1] - a[i, 1]) + z * (b[i, 2] - a[i, 2])
        if gap > limit:
            continue
        out_gap[kept] = gap
        for c in range(a.shape[1]):
            a[kept, c], b[kept, c] = a[i, c], b[i, c]
        kept += 1
    return kept


@njit_called
def swap_pairs(a, b, gap, i, j):
    """Exchange two pairs."""
    gap[i], gap[j] = gap[j], gap[i]
    for c in range(a.shape[1]):
        a[i, c], a[j, c] = a[j, c], a[i, c]
        b[i, c], b[j, c] = b[j, c], b[i, c]


@njit_called
def spread_area(a, i, j, k, x, y, z):
    """Twice the signed area of a triangle of points, seen along a direction."""
    ux, uy, uz = a[j, 0] - a[i, 0], a[j, 1] - a[i, 1], a[j, 2] - a[i, 2]
    vx, vy, vz = a[k, 0] - a[i, 0], a[k, 1] - a[i, 1], a[k, 2] - a[i, 2]
    return x * (uy * vz - uz * vy) + y * (uz * vx - ux * vz) + z * (ux * vy - uy * vx)


@njit_called
def furthest_pair(a, gap, first, count, px, py, pz, x, y, z, deepest):
    """The pair furthest from a place, seen along a direction, of those no less deep than a gap; the first of equals."""
    best, most = -1, -1.0
    for i in range(first, count):
        if gap[i] > deepest:
            continue
        ux, uy, uz = a[i, 0] - px, a[i, 1] - py, a[i, 2] - pz
        along = ux * x + uy * y + uz * z
        squared = ux * ux + uy * uy + uz * uz - along * along
        if squared > most + BETTER * abs(most):
            best, most = i, squared
    return best


@njit_called
def choose_four(a, b, gap, count, x, y, z, size):
    """Bring four pairs to the front: the deepest, the furthest from it, and two that span the greatest area with them.

    Of equally deep ones the first is the furthest from the middle of all.
    """
    if count <= MOST_POINTS:
        return count
    # The deepest.
    deepest, px, py, pz = np.inf, 0.0, 0.0, 0.0
    for i in range(count):
        deepest = min(deepest, gap[i])
        px, py, pz = px + a[i, 0] / count, py + a[i, 1] / count, pz + a[i, 2] / count
    best = furthest_pair(a, gap, 0, count, px, py, pz, x, y, z, deepest + BETTER * size)
    swap_pairs(a, b, gap, 0, best)
    # The furthest from it.
    best = furthest_pair(a, gap, 1, count, a[0, 0], a[0, 1], a[0, 2], x, y, z, np.inf)
    swap_pairs(a, b, gap, 1, best)
    # The one that spans the largest triangle with both.
    nothing = BETTER * BETTER * size * size
    best, most, turn = -1, nothing, 1.0
    for i in range(2, count):
        area = spread_area(a, 0, 1, i, x, y, z)
        if abs(area) > most * (1.0 + BETTER):
            best, most, turn = i, abs(area), np.sign(area)
    if best < 0:
        return 2
    swap_pairs(a, b, gap, 2, best)
    # The one that adds most to that triangle.
    best, most = -1, nothing
    for i in range(3, count):
        # What it adds to the triangle, over the side that it lies beyond.
        inside = min(
            turn * spread_area(a, 0, 1, i, x, y, z),
            turn * spread_area(a, 1, 2, i, x, y, z),
            turn * spread_area(a, 2, 0, i, x, y, z),
        )
        if -inside > most * (1.0 + BETTER):
            best, most = i, -inside
    if best < 0:
        return 3
    swap_pairs(a, b, gap, 3, best)
    return MOST_POINTS
