"""Unit quaternions (w, x, y, z) that turn body into world, and the turns between them as vectors [rad] in the world.

The generalised difference of two orientations is the turn from one to the other, log(q p^-1), and the sum turns by
exp: half angles in the quaternion, whole ones in the vector. Thesis 000 writes eqs. 6.2 and 6.6 with opposite signs and
without the half; these agree with each other.

A quaternion is a row of an array or a tuple of four; what gives a new one gives a tuple, or fills `out`.
"""

import numpy as np

from jellycage.toolkit.compile_kernels import njit_called

C1, C2, C3, C4, C5 = -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800
S1, S2, S3, S4, S5 = -0.5 / 6, 0.5 / 120, -0.5 / 5040, 0.5 / 362880, -0.5 / 39916800


@njit_called
def product(p, q):
    """The turn q, then the turn p, as four numbers."""
    a, b, c, d = p[0], p[1], p[2], p[3]
    e, f, g, h = q[0], q[1], q[2], q[3]
    return (
        a * e - b * f - c * g - d * h,
        a * f + b * e + c * h - d * g,
        a * g - b * h + c * e + d * f,
        a * h + b * g - c * f + d * e,
    )


@njit_called
def inverse(q):
    """The turn back, as four numbers."""
    return q[0], -q[1], -q[2], -q[3]


@njit_called
def multiply(p, q, out):
    """The turn q, then the turn p."""
    out[0], out[1], out[2], out[3] = product(p, q)


@njit_called
def rotated(q, a, b, c):
    """A vector (a, b, c) of the body in the world, as three numbers."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    tx, ty, tz = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    return a + w * tx + y * tz - z * ty, b + w * ty + z * tx - x * tz, c + w * tz + x * ty - y * tx


@njit_called
def rotate(q, v, out):
    """Turn a vector of the body into the world."""
    out[0], out[1], out[2] = rotated(q, v[0], v[1], v[2])


@njit_called
def unrotate(q, v, out):
    """Turn a vector of the world into the body."""
    out[0], out[1], out[2] = rotated(inverse(q), v[0], v[1], v[2])


@njit_called
def displace(q, d, out):
    """An orientation turned by a vector d [rad] in the world, exp(d / 2) q: the generalised sum of eq. 6.6."""
    x, y, z = d[0], d[1], d[2]
    a2 = x * x + y * y + z * z
    if a2 < 0.3:
        # Series of cos(a / 2) and sin(a / 2) / a, exact to the last bit here, without a root, division or libm call.
        t = 0.25 * a2
        c = 1.0 + t * (C1 + t * (C2 + t * (C3 + t * (C4 + t * C5))))
        s = 0.5 + t * (S1 + t * (S2 + t * (S3 + t * (S4 + t * S5))))
    else:
        angle = np.sqrt(a2)
        c, s = np.cos(0.5 * angle), np.sin(0.5 * angle) / angle
    out[0], out[1], out[2], out[3] = product((c, s * x, s * y, s * z), q)


@njit_called
def turn_vector(q):
    """Axis times angle [rad] of a turn, the short way, as three numbers: the log that `displace` takes back."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    sine = np.sqrt(x * x + y * y + z * z)
    s = 2.0 * np.arctan2(sine, w) / sine if sine > 1e-12 else 2.0
    return s * x, s * y, s * z


@njit_called
def matrix_of(w, x, y, z):
    """Rotation matrix of a unit quaternion, nine numbers by rows; its columns are the body's axes in the world."""
    return (
        1.0 - 2.0 * (y * y + z * z),
        2.0 * (x * y - w * z),
        2.0 * (x * z + w * y),
        2.0 * (x * y + w * z),
        1.0 - 2.0 * (x * x + z * z),
        2.0 * (y * z - w * x),
        2.0 * (x * z - w * y),
        2.0 * (y * z + w * x),
        1.0 - 2.0 * (x * x + y * y),
    )


@njit_called
def fill_matrix(q, out):
    """`matrix_of` into an array (3, 3)."""
    m = matrix_of(q[0], q[1], q[2], q[3])
    out[0, 0], out[0, 1], out[0, 2] = m[0], m[1], m[2]
    out[1, 0], out[1, 1], out[1, 2] = m[3], m[4], m[5]
    out[2, 0], out[2, 1], out[2, 2] = m[6], m[7], m[8]


@njit_called
def quaternion_of(r):
    """Unit quaternion of a rotation matrix of nine numbers by rows, by the largest of its four squared components."""
    trace = r[0] + r[4] + r[8]
    if trace > max(r[0], r[4], r[8]):
        w, x, y, z = 1.0 + trace, r[7] - r[5], r[2] - r[6], r[3] - r[1]
    elif r[0] >= r[4] and r[0] >= r[8]:
        w, x, y, z = r[7] - r[5], 1.0 + 2.0 * r[0] - trace, r[1] + r[3], r[2] + r[6]
    elif r[4] >= r[8]:
        w, x, y, z = r[2] - r[6], r[1] + r[3], 1.0 + 2.0 * r[4] - trace, r[5] + r[7]
    else:
        w, x, y, z = r[3] - r[1], r[2] + r[6], r[5] + r[7], 1.0 + 2.0 * r[8] - trace
    scale = 1.0 / np.sqrt(w * w + x * x + y * y + z * z)
    return w * scale, x * scale, y * scale, z * scale
