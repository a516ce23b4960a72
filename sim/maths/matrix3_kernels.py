"""3x3 matrices as tuples of nine numbers, row by row: they stay in registers, arrays would not.

A matrix is (m00, m01, m02, m10, m11, m12, m20, m21, m22), a vector (v0, v1, v2). `matrix3_array_kernels` has the few
functions that matrices in arrays need.
"""

import math

from jellycage.toolkit.compile_kernels import njit_called

IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@njit_called
def determinant(m):
    """det m."""
    return (
        m[0] * (m[4] * m[8] - m[5] * m[7])
        + m[1] * (m[5] * m[6] - m[3] * m[8])
        + m[2] * (m[3] * m[7] - m[4] * m[6])
    )


@njit_called
def cofactor(m):
    """Cofactors of m, the gradient of det m: the columns are cross products of the columns of m."""
    return (
        m[4] * m[8] - m[5] * m[7],
        m[5] * m[6] - m[3] * m[8],
        m[3] * m[7] - m[4] * m[6],
        m[2] * m[7] - m[1] * m[8],
        m[0] * m[8] - m[2] * m[6],
        m[1] * m[6] - m[0] * m[7],
        m[1] * m[5] - m[2] * m[4],
        m[2] * m[3] - m[0] * m[5],
        m[0] * m[4] - m[1] * m[3],
    )


@njit_called
def squared_size(m):
    """Sum of the squared entries."""
    total = 0.0
    for i in range(9):
        total += m[i] * m[i]
    return total


@njit_called
def transposed(m):
    """m^T."""
    return (m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8])


@njit_called
def product(a, b):
    """a b."""
    return (
        a[0] * b[0] + a[1] * b[3] + a[2] * b[6],
        a[0] * b[1] + a[1] * b[4] + a[2] * b[7],
        a[0] * b[2] + a[1] * b[5] + a[2] * b[8],
        a[3] * b[0] + a[4] * b[3] + a[5] * b[6],
        a[3] * b[1] + a[4] * b[4] + a[5] * b[7],
        a[3] * b[2] + a[4] * b[5] + a[5] * b[8],
        a[6] * b[0] + a[7] * b[3] + a[8] * b[6],
        a[6] * b[1] + a[7] * b[4] + a[8] * b[7],
        a[6] * b[2] + a[7] * b[5] + a[8] * b[8],
    )


@njit_called
def transposed_product(a, b):
    """a^T b."""
    return (
        a[0] * b[0] + a[3] * b[3] + a[6] * b[6],
        a[0] * b[1] + a[3] * b[4] + a[6] * b[7],
        a[0] * b[2] + a[3] * b[5] + a[6] * b[8],
        a[1] * b[0] + a[4] * b[3] + a[7] * b[6],
        a[1] * b[1] + a[4] * b[4] + a[7] * b[7],
        a[1] * b[2] + a[4] * b[5] + a[7] * b[8],
        a[2] * b[0] + a[5] * b[3] + a[8] * b[6],
        a[2] * b[1] + a[5] * b[4] + a[8] * b[7],
        a[2] * b[2] + a[5] * b[5] + a[8] * b[8],
    )


@njit_called
def times(m, x, y, z):
    """m (x, y, z)."""
    return (
        m[0] * x + m[1] * y + m[2] * z,
        m[3] * x + m[4] * y + m[5] * z,
        m[6] * x + m[7] * y + m[8] * z,
    )


@njit_called
def rotation_by(wx, wy, wz):
    """The rotation matrix exp(w) of a rotation vector [rad], Rodrigues' formula."""
    angle = math.sqrt(wx * wx + wy * wy + wz * wz)
    a, b = 1.0, 0.5
    if angle > 1e-8:
        a, b = math.sin(angle) / angle, (1.0 - math.cos(angle)) / (angle * angle)
    c = math.cos(angle)
    return (
        c + b * wx * wx,
        b * wx * wy - a * wz,
        b * wx * wz + a * wy,
        b * wx * wy + a * wz,
        c + b * wy * wy,
        b * wy * wz - a * wx,
        b * wx * wz - a * wy,
        b * wy * wz + a * wx,
        c + b * wz * wz,
    )


@njit_called
def cross(ax, ay, az, bx, by, bz):
    """a x b."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@njit_called
def jacobi_rotation(alpha, beta, gamma):
    """(cos, sin) of the rotation that diagonalises [[alpha, gamma], [gamma, beta]]."""
    if gamma == 0.0:
        return 1.0, 0.0
    zeta = (beta - alpha) / (2.0 * gamma)
    t = 1.0 / (abs(zeta) + math.sqrt(1.0 + zeta * zeta))
    if zeta < 0.0:
        t = -t
    c = 1.0 / math.sqrt(1.0 + t * t)
    return c, c * t


@njit_called
def turned_columns(m, i, j, c, s):
    """m with columns i < j replaced by c m_i - s m_j and s m_i + c m_j."""
    if i == 0 and j == 1:
        return (
            c * m[0] - s * m[1],
            s * m[0] + c * m[1],
            m[2],
            c * m[3] - s * m[4],
            s * m[3] + c * m[4],
            m[5],
            c * m[6] - s * m[7],
            s * m[6] + c * m[7],
            m[8],
        )
    if i == 0:
        return (
            c * m[0] - s * m[2],
            m[1],
            s * m[0] + c * m[2],
            c * m[3] - s * m[5],
            m[4],
            s * m[3] + c * m[5],
            c * m[6] - s * m[8],
            m[7],
            s * m[6] + c * m[8],
        )
    return (
        m[0],
        c * m[1] - s * m[2],
        s * m[1] + c * m[2],
        m[3],
        c * m[4] - s * m[5],
        s * m[4] + c * m[5],
        m[6],
        c * m[7] - s * m[8],
        s * m[7] + c * m[8],
    )


@njit_called
def column_products(m, i, j):
    """(m_i . m_i, m_j . m_j, m_i . m_j) of columns i < j."""
    if i == 0 and j == 1:
        return (
            m[0] * m[0] + m[3] * m[3] + m[6] * m[6],
            m[1] * m[1] + m[4] * m[4] + m[7] * m[7],
            m[0] * m[1] + m[3] * m[4] + m[6] * m[7],
        )
    if i == 0:
        return (
            m[0] * m[0] + m[3] * m[3] + m[6] * m[6],
            m[2] * m[2] + m[5] * m[5] + m[8] * m[8],
            m[0] * m[2] + m[3] * m[5] + m[6] * m[8],
        )
    return (
        m[1] * m[1] + m[4] * m[4] + m[7] * m[7],
        m[2] * m[2] + m[5] * m[5] + m[8] * m[8],
        m[1] * m[2] + m[4] * m[5] + m[7] * m[8],
    )


@njit_called
def projected_symmetric(a00, a11, a22, a01, a02, a12, share):
    """The symmetric matrix with its negative eigenvalues times a share in -1..0, in the same six numbers."""
    # Sylvester: leading minors above zero, so there is nothing to project.
    minor = a00 * a11 - a01 * a01
    if a00 > 0.0 and minor > 0.0:
        det = a22 * minor - a00 * a12 * a12 - a11 * a02 * a02 + 2.0 * a01 * a02 * a12
        if det > 0.0:
            return a00, a11, a22, a01, a02, a12
    v = IDENTITY
    # Cyclic Jacobi rotations, one per pair of axes and sweep.
    for _ in range(12):
        off = a01 * a01 + a02 * a02 + a12 * a12
        if off <= 1e-30 * (a00 * a00 + a11 * a11 + a22 * a22):
            break
        c, s = jacobi_rotation(a00, a11, a01)
        a00, a11, a01 = (
            c * c * a00 - 2.0 * c * s * a01 + s * s * a11,
            s * s * a00 + 2.0 * c * s * a01 + c * c * a11,
            0.0,
        )
        a02, a12 = c * a02 - s * a12, s * a02 + c * a12
        v = turned_columns(v, 0, 1, c, s)
        c, s = jacobi_rotation(a00, a22, a02)
        a00, a22, a02 = (
            c * c * a00 - 2.0 * c * s * a02 + s * s * a22,
            s * s * a00 + 2.0 * c * s * a02 + c * c * a22,
            0.0,
        )
        a01, a12 = c * a01 - s * a12, s * a01 + c * a12
        v = turned_columns(v, 0, 2, c, s)
        c, s = jacobi_rotation(a11, a22, a12)
        a11, a22, a12 = (
            c * c * a11 - 2.0 * c * s * a12 + s * s * a22,
            s * s * a11 + 2.0 * c * s * a12 + c * c * a22,
            0.0,
        )
        a01, a02 = c * a01 - s * a02, s * a01 + c * a02
        v = turned_columns(v, 1, 2, c, s)
    e0, e1, e2 = max(a00, share * a00), max(a11, share * a11), max(a22, share * a22)
    return (
        e0 * v[0] * v[0] + e1 * v[1] * v[1] + e2 * v[2] * v[2],
        e0 * v[3] * v[3] + e1 * v[4] * v[4] + e2 * v[5] * v[5],
        e0 * v[6] * v[6] + e1 * v[7] * v[7] + e2 * v[8] * v[8],
        e0 * v[0] * v[3] + e1 * v[1] * v[4] + e2 * v[2] * v[5],
        e0 * v[0] * v[6] + e1 * v[1] * v[7] + e2 * v[2] * v[8],
        e0 * v[3] * v[6] + e1 * v[4] * v[7] + e2 * v[5] * v[8],
    )


@njit_called
def solve_symmetric(a, x, y, z):
    """a^-1 (x, y, z) for a symmetric a = (00, 11, 22, 01, 02, 12); zero where a is as good as singular."""
    c00, c01, c02 = a[1] * a[2] - a[5] * a[5], a[4] * a[5] - a[3] * a[2], a[3] * a[5] - a[4] * a[1]
    c11, c12, c22 = a[0] * a[2] - a[4] * a[4], a[3] * a[4] - a[0] * a[5], a[0] * a[1] - a[3] * a[3]
    det = a[0] * c00 + a[3] * c01 + a[4] * c02
    size = (a[0] + a[1] + a[2]) / 3.0
    if not det > 1e-6 * size * size * size:
        return 0.0, 0.0, 0.0
    return (
        (c00 * x + c01 * y + c02 * z) / det,
        (c01 * x + c11 * y + c12 * z) / det,
        (c02 * x + c12 * y + c22 * z) / det,
    )


@njit_called
def solve_within(p, a, x, y, z):
    """(p a p)^-1 p (x, y, z) in the space that p projects on, both symmetric as in `solve_symmetric`."""
    whole = (p[0], p[3], p[4], p[3], p[1], p[5], p[4], p[5], p[2])
    inner = product(product(whole, (a[0], a[3], a[4], a[3], a[1], a[5], a[4], a[5], a[2])), whole)
    size = (a[0] + a[1] + a[2]) / 3.0
    filled = (
        inner[0] + size * (1.0 - p[0]),
        inner[4] + size * (1.0 - p[1]),
        inner[8] + size * (1.0 - p[2]),
        inner[1] - size * p[3],
        inner[2] - size * p[4],
        inner[5] - size * p[5],
    )
    x, y, z = times(whole, x, y, z)
    return solve_symmetric(filled, x, y, z)
