"""3x3 matrices in arrays, as the tables of rigid bodies hold them; `matrix3_kernels` has those in registers."""

from jellycage.sim.maths.matrix3_kernels import cofactor, determinant
from jellycage.toolkit.compile_kernels import njit_called


@njit_called
def invert3(m, out):
    """Inverse of a 3 x 3 matrix; zero if it has none."""
    entries = (
        m[0, 0], m[0, 1], m[0, 2], m[1, 0], m[1, 1], m[1, 2], m[2, 0], m[2, 1], m[2, 2]
    )  # fmt: skip
    c, det = cofactor(entries), determinant(entries)
    s = 1.0 / det if det != 0.0 else 0.0
    out[0, 0], out[0, 1], out[0, 2] = s * c[0], s * c[3], s * c[6]
    out[1, 0], out[1, 1], out[1, 2] = s * c[1], s * c[4], s * c[7]
    out[2, 0], out[2, 1], out[2, 2] = s * c[2], s * c[5], s * c[8]


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
