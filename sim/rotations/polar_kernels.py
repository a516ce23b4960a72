"""The rotation nearest to a matrix, by a warm-started iteration.

Thesis on interactive co-rotational FEM, eq. (3.13): the rotation differential.
"""

import math

from jellycage.sim.maths.matrix3_kernels import transposed_product
from jellycage.sim.maths.quaternions_kernels import matrix_of
from jellycage.sim.rotations.svd_kernels import svd_rotation
from jellycage.toolkit.compile_kernels import njit_called


@njit_called
def polar_rotation(f, w, x, y, z):
    """The rotation nearest to f, as matrix and quaternion, by Newton's method from the quaternion given.

    Maximises tr(R^T f): with S = sym(R^T f) the step is (tr(S) I - S)^-1 axl(R^T f), the rotation differential of
    eq. (3.13). The only maximum is the rotation of the invertible SVD, inverted f included; where the step is not one
    towards a maximum, or after 8 steps, the SVD itself takes over. A quaternion that is already right comes back
    unchanged to the last bit, so that a resumed simulation repeats the one that was not interrupted.
    """
    for _ in range(8):
        r = matrix_of(w, x, y, z)
        a = transposed_product(r, f)
        ax, ay, az = a[7] - a[5], a[2] - a[6], a[3] - a[1]
        # B = tr(S) I - S
        b00, b11, b22 = a[4] + a[8], a[0] + a[8], a[0] + a[4]
        b01, b02, b12 = -0.5 * (a[1] + a[3]), -0.5 * (a[2] + a[6]), -0.5 * (a[5] + a[7])
        c00, c01, c02 = b11 * b22 - b12 * b12, b02 * b12 - b01 * b22, b01 * b12 - b02 * b11
        det = b00 * c00 + b01 * c01 + b02 * c02
        minor = b00 * b11 - b01 * b01
        if not (b00 > 0.0 and minor > 1e-8 * b00 * b00 and det > 1e-8 * b00 * minor):
            break
        c11, c12 = b00 * b22 - b02 * b02, b01 * b02 - b00 * b12
        # Half of the step is the vector part of the quaternion to turn by.
        half = 0.5 / det
        ox = half * (c00 * ax + c01 * ay + c02 * az)
        oy = half * (c01 * ax + c11 * ay + c12 * az)
        oz = half * (c02 * ax + c12 * ay + minor * az)
        size = ox * ox + oy * oy + oz * oz
        # Rounding leaves more where the element is thin: about 1e-16 times the condition of B.
        thin = max(b00, b11, b22) ** 3 / det
        if size < 1e-28 * thin * thin:
            return r, w, x, y, z
        w, x, y, z = (
            w - x * ox - y * oy - z * oz,
            x + w * ox + y * oz - z * oy,
            y + w * oy + z * ox - x * oz,
            z + w * oz + x * oy - y * ox,
        )
        scale = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
        w, x, y, z = w * scale, x * scale, y * scale, z * scale
        if size < 1e-17:  # the error left is of the order of its square
            return matrix_of(w, x, y, z), w, x, y, z
    return svd_rotation(f)
