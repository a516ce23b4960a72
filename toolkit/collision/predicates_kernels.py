"""Exact signs of volumes and areas, with ties decided as if one side had been moved by an infinitesimal.

Signs are first taken from plain arithmetic where its error bound allows, and else from sums without rounding: Shewchuk
1997, "Adaptive Precision Floating-Point Arithmetic", doi:10.1007/PL00009321, expansions (two_sum, two_product, grow).
Ties are decided as in Edelsbrunner, Muecke 1990, "Simulation of Simplicity", doi:10.1145/77635.77639, but by a motion:
body B, or the point asked for, is shifted by d = (s, s^2, s^3) for an s that is smaller than any number. A
tie then has the sign of the first component of a cross product that is not zero. Since one motion decides all
ties, answers about neighbouring triangles never contradict each other, also where bodies touch or coincide.

What stays 0 after that has no size: a triangle without area, parallel edges. Those meet nothing. Points are tuples
(x, y, z).
"""

import numpy as np

from jellycage.toolkit.compile_kernels import njit_called, njit_inside

VOLUME_ERROR = 8.0 * 2.0**-53
"""Error of a 3 x 3 determinant of differences over the same sum of absolute values."""
AREA_ERROR = 4.0 * 2.0**-53
SPLITTER = 134217729.0  # 2^27 + 1


@njit_inside
def product_error(a, b, product):
    """What rounding took from a * b."""
    t = SPLITTER * a
    a_high = t - (t - a)
    a_low = a - a_high
    t = SPLITTER * b
    b_high = t - (t - b)
    b_low = b - b_high
    return a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


@njit_inside
def sum_error(a, b, total):
    """What rounding took from a + b."""
    shift = total - a
    return (a - (total - shift)) + (b - shift)


@njit_called
def grow(expansion, count, value):
    """Add a number to an exact sum of `count` numbers of rising size that do not overlap; returns the new count."""
    kept = 0
    for i in range(count):
        total = value + expansion[i]
        rest = sum_error(value, expansion[i], total)
        value = total
        if rest != 0.0:
            expansion[kept] = rest
            kept += 1
    if value != 0.0:
        expansion[kept] = value
        kept += 1
    return kept


@njit_called
def grow_product(expansion, count, a, b, c):
    """Add a * b * c to an exact sum."""
    if a == 0.0 or b == 0.0 or c == 0.0:
        return count
    high = a * b
    low = product_error(a, b, high)
    total = high * c
    count = grow(expansion, count, product_error(high, c, total))
    count = grow(expansion, count, total)
    if low != 0.0:
        total = low * c
        count = grow(expansion, count, product_error(low, c, total))
        count = grow(expansion, count, total)
    return count


@njit_inside
def sign_of(expansion, count):
    """Sign of an exact sum: that of its greatest number."""
    if count == 0:
        return 0
    return 1 if expansion[count - 1] > 0.0 else -1


@njit_inside
def point_of(vertices, i):
    """A vertex as a tuple: handing on rows of arrays costs more than what is done with them here."""
    return vertices[i, 0], vertices[i, 1], vertices[i, 2]


@njit_called
def set_difference(a, b, row, out_rows):
    """a - b without rounding: three rounded differences, then what rounding took from them."""
    for k in range(3):
        out_rows[row, k] = a[k] - b[k]
        out_rows[row, 3 + k] = sum_error(a[k], -b[k], out_rows[row, k])


@njit_called
def exact_volume(a, b, c, d):
    """(b - a) x (c - a) . (d - a) to the last digit but one; its sign is exact."""
    rows = np.empty((3, 6))
    set_difference(b, a, 0, rows)
    set_difference(c, a, 1, rows)
    set_difference(d, a, 2, rows)
    expansion = np.empty(200)
    count = 0
    for i in range(3):
        for j in range(3):
            if i == j:
                continue
            k = 3 - i - j
            factor = 1.0 if (i + 1) % 3 == j else -1.0
            for parts in range(8):
                u = factor * rows[0, i + 3 * (parts & 1)]
                v = rows[1, j + 3 * ((parts >> 1) & 1)]
                w = rows[2, k + 3 * (parts >> 2)]
                count = grow_product(expansion, count, u, v, w)
    volume = 0.0
    for n in range(count):
        volume += expansion[n]
    return volume


@njit_called
def exact_cross_sign(a, b, c, d, axis):
    """Sign of one component of (b - a) x (d - c)."""
    rows = np.empty((2, 6))
    set_difference(b, a, 0, rows)
    set_difference(d, c, 1, rows)
    expansion = np.empty(24)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    count = 0
    for parts in range(4):
        u, v = 3 * (parts & 1), 3 * (parts >> 1)
        count = grow_product(expansion, count, rows[0, i + u], rows[1, j + v], 1.0)
        count = grow_product(expansion, count, -rows[0, j + u], rows[1, i + v], 1.0)
    return sign_of(expansion, count)


@njit_called
def exact_tie_sign(a, b, c, d):
    """Sign of d . ((b - a) x (d - c)) for the infinitesimal shift d: that of the first component that is not 0."""
    for axis in range(3):
        sign = exact_cross_sign(a, b, c, d, axis)
        if sign != 0:
            return sign
    return 0


@njit_called
def rounded_volume(a, b, c, d):
    """((b - a) x (c - a) . (d - a), size): with an error below VOLUME_ERROR times the size."""
    ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    vx, vy, vz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    wx, wy, wz = d[0] - a[0], d[1] - a[1], d[2] - a[2]
    xp, xm, yp, ym, zp, zm = uy * vz, uz * vy, uz * vx, ux * vz, ux * vy, uy * vx
    volume = (xp - xm) * wx + (yp - ym) * wy + (zp - zm) * wz
    size = (abs(xp) + abs(xm)) * abs(wx) + (abs(yp) + abs(ym)) * abs(wy)
    return volume, size + (abs(zp) + abs(zm)) * abs(wz)


@njit_called
def volume_sign(a, b, c, d):
    """Sign of (b - a) x (c - a) . (d - a), exact: 1 if d is on the side from which abc is counter-clockwise."""
    volume, size = rounded_volume(a, b, c, d)
    if abs(volume) <= VOLUME_ERROR * size:
        if size == 0.0:
            return 0
        volume = exact_volume(a, b, c, d)
    return 1 if volume > 0.0 else (-1 if volume < 0.0 else 0)


@njit_called
def accurate_volume(a, b, c, d):
    """(b - a) x (c - a) . (d - a) to at least 12 digits, also if it nearly vanishes."""
    volume, size = rounded_volume(a, b, c, d)
    return volume if abs(volume) > 1e-3 * size else exact_volume(a, b, c, d)


@njit_called
def side_of_face(a, b, c, x, shift):
    """Side of face abc that x is on, 1 outside and -1 inside; shift: 1 if x is of body B, -1 if the face is."""
    sign = volume_sign(a, b, c, x)
    if sign == 0:
        sign = shift * exact_tie_sign(a, b, a, c)
    return sign


@njit_called
def turn_of_edges(a0, a1, b0, b1):
    """Sign of the volume a0 a1 b0 b1 of an edge of A and one of B."""
    sign = volume_sign(a0, a1, b0, b1)
    if sign == 0:
        sign = exact_tie_sign(a0, a1, b1, b0)
    return sign


@njit_called
def turn_about(points, p, vertices, b, c, shift):
    """Sign of the area p b c in the yz plane, with point p shifted by the infinitesimal; 0 if b and c are one there.

    shift: 1, or -1 to shift it the other way.
    """
    by, bz = vertices[b, 1] - points[p, 1], vertices[b, 2] - points[p, 2]
    cy, cz = vertices[c, 1] - points[p, 1], vertices[c, 2] - points[p, 2]
    left, right = by * cz, bz * cy
    area = left - right
    if abs(area) > AREA_ERROR * (abs(left) + abs(right)):
        return 1 if area > 0.0 else -1
    at = point_of(points, p)
    sign = exact_cross_sign(at, point_of(vertices, b), at, point_of(vertices, c), 0)
    if sign != 0:
        return sign
    # d area / d p_y = b_z - c_z and d area / d p_z = c_y - b_y; the shift along y outweighs that along z.
    if vertices[b, 2] != vertices[c, 2]:
        return shift if vertices[b, 2] > vertices[c, 2] else -shift
    if vertices[b, 1] != vertices[c, 1]:
        return shift if vertices[c, 1] > vertices[b, 1] else -shift
    return 0
