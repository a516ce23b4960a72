"""The rotation in a deformation gradient: invertible SVD, a warm-started iteration, and DAPD.

Invertible SVD: Irving, Teran, Fedkiw 2004, doi:10.1145/1028523.1028541: F = U diag(s) V^T with two rotations, the
smallest stretch carrying the sign of det F; R = U V^T.
DAPD: degeneration-aware polar decomposition, thesis on interactive co-rotational FEM, sec. 4.4.

DAPD written on F alone. Let N be the shape function that is 1 on the one feature of a pair and 0 on the other, and
g its rest gradient (of a tet: the gradient of a corner for vertex-face, of two corners together for edge-edge). Then
c = cof(F) g points along the direction of collapse, w = det F / |c| is the distance of the features, h = alpha / |c|
the distance at which det F = alpha, and moving the feature by lambda along c/|c| gives F + lambda c/|c| g^T. So
neither positions nor the case at hand are needed, the sign slip of the vertex-face case in sec. 4.4.1 cannot occur,
and hexes use the tet inscribed in a cube.
"""

import math

from jellycage.sim.maths.matrix3_kernels import (
    IDENTITY,
    cofactor,
    column_products,
    determinant,
    jacobi_rotation,
    product,
    squared_size,
    times,
    transposed,
    transposed_product,
    turned_columns,
)
from jellycage.sim.maths.quaternions_kernels import matrix_of, quaternion_of
from jellycage.toolkit.compile_kernels import njit_called

ALPHA = 0.1  # an element below this fraction of its rest volume is degenerate
BETA = 3.0  # how far beyond collapse its virtual shape is put (1: project, 2: reflect)


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


@njit_called
def pair_gradient(g, point, corners, pair):
    """Rest gradient of feature pair 1..7 of a quadrature point: four vertex-face, then three edge-edge pairs."""
    if corners == 4:
        if pair <= 4:
            a = pair - 1
            return g[point, a, 0], g[point, a, 1], g[point, a, 2]
        a = pair - 4
        return (
            g[point, 0, 0] + g[point, a, 0],
            g[point, 0, 1] + g[point, a, 1],
            g[point, 0, 2] + g[point, a, 2],
        )
    # The tet inscribed in a cube, whatever its size: diagonals and axes.
    if pair == 1:
        return 1.0, 1.0, 1.0
    if pair == 2:
        return 1.0, -1.0, -1.0
    if pair == 3:
        return -1.0, 1.0, -1.0
    if pair == 4:
        return -1.0, -1.0, 1.0
    if pair == 5:
        return 2.0, 0.0, 0.0
    if pair == 6:
        return 0.0, 2.0, 0.0
    return 0.0, 0.0, 2.0


@njit_called
def collapse_time(f0, f1):
    """First t in [0, 1] with det(f0 + t (f1 - f0)) = alpha, a cubic; 0 if f0 is below it, 1 if there is none."""
    if determinant(f0) <= ALPHA:
        return 0.0
    d = (
        f1[0] - f0[0],
        f1[1] - f0[1],
        f1[2] - f0[2],
        f1[3] - f0[3],
        f1[4] - f0[4],
        f1[5] - f0[5],
        f1[6] - f0[6],
        f1[7] - f0[7],
        f1[8] - f0[8],
    )
    k0 = cofactor(f0)
    kd = cofactor(d)
    c0, c3 = determinant(f0) - ALPHA, determinant(d)
    c1, c2 = 0.0, 0.0
    for i in range(9):
        c1 += k0[i] * d[i]
        c2 += kd[i] * f0[i]
    # Between its turning points a cubic is monotone: the first interval whose ends differ in sign holds the root.
    discriminant = c2 * c2 - 3.0 * c3 * c1
    t1, t2 = 1.0, 1.0
    if discriminant > 0.0:
        q = -(c2 + math.copysign(math.sqrt(discriminant), c2))
        ta = q / (3.0 * c3) if c3 != 0.0 else 1.0
        tb = c1 / q if q != 0.0 else 1.0
        t1, t2 = min(ta, tb), max(ta, tb)
    low = 0.0
    for high in (min(max(t1, 0.0), 1.0), min(max(t2, 0.0), 1.0), 1.0):
        if c0 + high * (c1 + high * (c2 + high * c3)) <= 0.0:
            for _ in range(60):
                middle = 0.5 * (low + high)
                if c0 + middle * (c1 + middle * (c2 + middle * c3)) > 0.0:
                    low = middle
                else:
                    high = middle
            return high
        low = high
    return 1.0


@njit_called
def collapse_pair(f0, f1, g, point, corners):
    """The feature pair 1..7 that comes together first as f0 moves to f1 (sec. 4.4.1).

    At collapse the four corners lie in a plane. If one lies inside the triangle of the others, that triangle is the
    largest of the seven parallelograms u = cof(F) g; if not, the quadrilateral with its crossing diagonals is.
    """
    t = collapse_time(f0, f1)
    f = (
        f0[0] + t * (f1[0] - f0[0]),
        f0[1] + t * (f1[1] - f0[1]),
        f0[2] + t * (f1[2] - f0[2]),
        f0[3] + t * (f1[3] - f0[3]),
        f0[4] + t * (f1[4] - f0[4]),
        f0[5] + t * (f1[5] - f0[5]),
        f0[6] + t * (f1[6] - f0[6]),
        f0[7] + t * (f1[7] - f0[7]),
        f0[8] + t * (f1[8] - f0[8]),
    )
    k = cofactor(f)
    best, largest = 1, -1.0
    for pair in range(1, 8):
        gx, gy, gz = pair_gradient(g, point, corners, pair)
        cx, cy, cz = times(k, gx, gy, gz)
        size = cx * cx + cy * cy + cz * cz
        if size > largest:
            best, largest = pair, size
    return best


@njit_called
def undegenerate(f, gx, gy, gz):
    """Whether the direction of collapse is defined, and the virtual shape with positive volume (eqs. 4.1-4.11)."""
    cx, cy, cz = times(cofactor(f), gx, gy, gz)
    length = math.sqrt(cx * cx + cy * cy + cz * cz)
    size = squared_size(f)
    if length <= 1e-10 * size * math.sqrt(gx * gx + gy * gy + gz * gz) or length < 1e-150:
        return False, f
    w = determinant(f) / length  # eq. (4.5)
    h = ALPHA / length  # eq. (4.6)
    if w >= h:
        shift = 0.0
    else:
        r = 1.0 - w / h  # eqs. (4.8), (4.9)
        shift = BETA * h * r  # eq. (4.11)
        if w >= 0.0:
            shift *= r * (2.0 - r)  # eq. (4.10)
    scale = shift / length
    sx, sy, sz = scale * cx, scale * cy, scale * cz
    return True, (
        f[0] + sx * gx,
        f[1] + sx * gy,
        f[2] + sx * gz,
        f[3] + sy * gx,
        f[4] + sy * gy,
        f[5] + sy * gz,
        f[6] + sz * gx,
        f[7] + sz * gy,
        f[8] + sz * gz,
    )
