"""Unit quaternions (w, x, y, z) that turn body into world, and the turns between them as vectors [rad] in the world.

The generalised difference of two orientations is the turn from one to the other, log(q p^-1), and the sum turns by
exp: half angles in the quaternion, whole ones in the vector. Thesis 000 writes eqs. 6.2 and 6.6 with opposite signs and
without the half; these agree with each other.
"""

import numpy as np

from jellycage.toolkit.compile_kernels import njit_called

C1, C2, C3, C4, C5 = -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800
S1, S2, S3, S4, S5 = -0.5 / 6, 0.5 / 120, -0.5 / 5040, 0.5 / 362880, -0.5 / 39916800


@njit_called
def rotate(q, v, out):
    """Turn a vector of the body into the world."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    a, b, c = v[0], v[1], v[2]
    tx, ty, tz = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    out[0] = a + w * tx + y * tz - z * ty
    out[1] = b + w * ty + z * tx - x * tz
    out[2] = c + w * tz + x * ty - y * tx


@njit_called
def unrotate(q, v, out):
    """Turn a vector of the world into the body."""
    w, x, y, z = q[0], -q[1], -q[2], -q[3]
    a, b, c = v[0], v[1], v[2]
    tx, ty, tz = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    out[0] = a + w * tx + y * tz - z * ty
    out[1] = b + w * ty + z * tx - x * tz
    out[2] = c + w * tz + x * ty - y * tx


@njit_called
def multiply(p, q, out):
    """The turn q, then the turn p."""
    a, b, c, d = p[0], p[1], p[2], p[3]
    e, f, g, h = q[0], q[1], q[2], q[3]
    out[0] = a * e - b * f - c * g - d * h
    out[1] = a * f + b * e + c * h - d * g
    out[2] = a * g - b * h + c * e + d * f
    out[3] = a * h + b * g - c * f + d * e


@njit_called
def turn(q, x, y, z):
    """Turn an orientation by a vector in the world, in place: q becomes exp(v / 2) q."""
    angle = np.sqrt(x * x + y * y + z * z)
    half = 0.5 * angle
    # sin(a / 2) / a, which has a limit at 0.
    s = np.sin(half) / angle if angle > 1e-8 else 0.5 - angle * angle / 48.0
    a, b, c, d = np.cos(half), s * x, s * y, s * z
    e, f, g, h = q[0], q[1], q[2], q[3]
    w0 = a * e - b * f - c * g - d * h
    w1 = a * f + b * e + c * h - d * g
    w2 = a * g - b * h + c * e + d * f
    w3 = a * h + b * g - c * f + d * e
    scale = 1.0 / np.sqrt(w0 * w0 + w1 * w1 + w2 * w2 + w3 * w3)
    q[0], q[1], q[2], q[3] = w0 * scale, w1 * scale, w2 * scale, w3 * scale


@njit_called
def turn_between(q, p, out):
    """The shortest turn in the world that takes orientation p to q, log(q p^-1)."""
    w = q[0] * p[0] + q[1] * p[1] + q[2] * p[2] + q[3] * p[3]
    x = -q[0] * p[1] + q[1] * p[0] - q[2] * p[3] + q[3] * p[2]
    y = -q[0] * p[2] + q[1] * p[3] + q[2] * p[0] - q[3] * p[1]
    z = -q[0] * p[3] - q[1] * p[2] + q[2] * p[1] + q[3] * p[0]
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    s = np.sqrt(x * x + y * y + z * z)
    scale = 2.0 * np.arctan2(s, w) / s if s > 1e-12 else 2.0
    out[0], out[1], out[2] = scale * x, scale * y, scale * z


@njit_called
def rotated(q, a, b, c):
    """A vector (a, b, c) of the body in the world, as three numbers."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    tx, ty, tz = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    return a + w * tx + y * tz - z * ty, b + w * ty + z * tx - x * tz, c + w * tz + x * ty - y * tx


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
    b0, b1, b2 = s * x, s * y, s * z
    e, f, g, h = q[0], q[1], q[2], q[3]
    out[0] = c * e - b0 * f - b1 * g - b2 * h
    out[1] = c * f + b0 * e + b1 * h - b2 * g
    out[2] = c * g - b0 * h + b1 * e + b2 * f
    out[3] = c * h + b0 * g - b1 * f + b2 * e


@njit_called
def fill_matrix(q, out):
    """The rotation matrix of a unit quaternion; its columns are the body's axes in the world."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    out[0, 0], out[1, 0], out[2, 0] = (
        1.0 - 2.0 * (y * y + z * z),
        2.0 * (x * y + w * z),
        2.0 * (x * z - w * y),
    )
    out[0, 1], out[1, 1], out[2, 1] = (
        2.0 * (x * y - w * z),
        1.0 - 2.0 * (x * x + z * z),
        2.0 * (y * z + w * x),
    )
    out[0, 2], out[1, 2], out[2, 2] = (
        2.0 * (x * z + w * y),
        2.0 * (y * z - w * x),
        1.0 - 2.0 * (x * x + y * y),
    )
