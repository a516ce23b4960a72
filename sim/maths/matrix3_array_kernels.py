"""Small dense matrices: 3 x 3 inverses and products, and a Cholesky factor for the rows of one rod."""

import numpy as np

from jellycage.toolkit.compile_kernels import njit_called


@njit_called
def invert3(m, out):
    """Inverse of a 3 x 3 matrix; zero if it has none."""
    a, b, c = m[0, 0], m[0, 1], m[0, 2]
    d, e, f = m[1, 0], m[1, 1], m[1, 2]
    g, h, i = m[2, 0], m[2, 1], m[2, 2]
    p, q, r = e * i - f * h, f * g - d * i, d * h - e * g
    det = a * p + b * q + c * r
    s = 1.0 / det if det != 0.0 else 0.0
    out[0, 0], out[0, 1], out[0, 2] = s * p, s * (c * h - b * i), s * (b * f - c * e)
    out[1, 0], out[1, 1], out[1, 2] = s * q, s * (a * i - c * g), s * (c * d - a * f)
    out[2, 0], out[2, 1], out[2, 2] = s * r, s * (b * g - a * h), s * (a * e - b * d)


@njit_called
def times3(m, x, y, z):
    """A 3 x 3 matrix times a vector, as three numbers."""
    return (
        m[0, 0] * x + m[0, 1] * y + m[0, 2] * z,
        m[1, 0] * x + m[1, 1] * y + m[1, 2] * z,
        m[2, 0] * x + m[2, 1] * y + m[2, 2] * z,
    )


@njit_called
def product_form(m, x, y, z):
    """x^T m x of a 3 x 3 matrix and a vector (x, y, z)."""
    a, b, c = times3(m, x, y, z)
    return x * a + y * b + z * c


@njit_called
def turn_tensor(r, m, out):
    """r m r^T: a tensor of the body in the world."""
    for i in range(3):
        for j in range(3):
            total = 0.0
            for k in range(3):
                total += r[i, k] * (m[k, 0] * r[j, 0] + m[k, 1] * r[j, 1] + m[k, 2] * r[j, 2])
            out[i, j] = total


@njit_called
def factor_rows(m):
    """Replace the lower half of a positive definite matrix by L of L L^T, with 1 / L_ii on its diagonal."""
    for j in range(m.shape[0]):
        total = m[j, j]
        for k in range(j):
            total -= m[j, k] * m[j, k]
        m[j, j] = 1.0 / np.sqrt(total) if total > 0.0 else 0.0
        for i in range(j + 1, m.shape[0]):
            total = m[i, j]
            for k in range(j):
                total -= m[i, k] * m[j, k]
            m[i, j] = total * m[j, j]


@njit_called
def solve_rows(m, b):
    """Solve with a factor of `factor_rows`, in place."""
    n = m.shape[0]
    for i in range(n):
        total = b[i]
        for k in range(i):
            total -= m[i, k] * b[k]
        b[i] = total * m[i, i]
    for i in range(n - 1, -1, -1):
        total = b[i]
        for k in range(i + 1, n):
            total -= m[k, i] * b[k]
        b[i] = total * m[i, i]
