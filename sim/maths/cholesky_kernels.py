"""Cholesky factor of a small dense matrix, such as that of the six rows of a joint or a rod."""

import numpy as np

from jellycage.toolkit.compile_kernels import njit_called


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
