"""The invertible singular value decomposition of a 3x3 matrix.

Irving, Teran, Fedkiw 2004, doi:10.1145/1028523.1028541: F = U diag(s) V^T with two rotations, the smallest stretch
carrying the sign of det F; R = U V^T.
"""

import math

from jellycage.sim.maths.matrix3_kernels import (
    IDENTITY,
    column_products,
    jacobi_rotation,
    product,
    transposed,
    turned_columns,
)
from jellycage.sim.maths.quaternions_kernels import matrix_of, quaternion_of
from jellycage.toolkit.compile_kernels import njit_called


@njit_called
def svd(f):
    """Invertible SVD (U, (s0, s1, s2), V) with f = U diag(s) V^T: rotations, s0 >= s1 >= |s2|, s2 signed as det f."""
    b = f
    v = IDENTITY
    for _ in range(12):
        done = True
        for i, j in ((0, 1), (0, 2), (1, 2)):
            alpha, beta, gamma = column_products(b, i, j)
            if gamma * gamma > 1e-32 * alpha * beta:
                done = False
                c, s = jacobi_rotation(alpha, beta, gamma)
                b = turned_columns(b, i, j, c, s)
                v = turned_columns(v, i, j, c, s)
        if done:
            break
    # Sort by length, longest first; turning by a right angle swaps two columns and keeps v a rotation.
    for i, j in ((0, 1), (0, 2), (1, 2)):
        alpha, beta, gamma = column_products(b, i, j)
        if alpha < beta:
            b = turned_columns(b, i, j, 0.0, 1.0)
            v = turned_columns(v, i, j, 0.0, 1.0)
    s0 = math.sqrt(b[0] * b[0] + b[3] * b[3] + b[6] * b[6])
    if s0 > 0.0:
        u00, u10, u20 = b[0] / s0, b[3] / s0, b[6] / s0
    else:
        u00, u10, u20 = 1.0, 0.0, 0.0
    # A second column lost in rounding is replaced by any direction across the first.
    along = u00 * b[1] + u10 * b[4] + u20 * b[7]
    u01, u11, u21 = b[1] - along * u00, b[4] - along * u10, b[7] - along * u20
    length = math.sqrt(u01 * u01 + u11 * u11 + u21 * u21)
    if length <= 1e-14 * s0:
        if abs(u00) < 0.6:
            u01, u11, u21 = 0.0, u20, -u10
        else:
            u01, u11, u21 = -u20, 0.0, u00
        length = math.sqrt(u01 * u01 + u11 * u11 + u21 * u21)
    u01, u11, u21 = u01 / length, u11 / length, u21 / length
    u02, u12, u22 = u10 * u21 - u20 * u11, u20 * u01 - u00 * u21, u00 * u11 - u10 * u01
    s1 = u01 * b[1] + u11 * b[4] + u21 * b[7]
    s2 = u02 * b[2] + u12 * b[5] + u22 * b[8]
    return (u00, u01, u02, u10, u11, u12, u20, u21, u22), (s0, s1, s2), v


@njit_called
def svd_rotation(f):
    """R = U V^T of the invertible SVD, as matrix and quaternion."""
    u, _, v = svd(f)
    w, x, y, z = quaternion_of(product(u, transposed(v)))
    return matrix_of(w, x, y, z), w, x, y, z
