"""DAPD: degeneration-aware polar decomposition, thesis on interactive co-rotational FEM, sec. 4.4.

Sound points have the rotation of the invertible SVD. Collapsed ones get that of a virtual shape with positive volume,
and keep it during a step.

DAPD written on F alone. Let N be the shape function that is 1 on the one feature of a pair and 0 on the other, and
g its rest gradient (of a tet: the gradient of a corner for vertex-face, of two corners together for edge-edge). Then
c = cof(F) g points along the direction of collapse, w = det F / |c| is the distance of the features, h = alpha / |c|
the distance at which det F = alpha, and moving the feature by lambda along c/|c| gives F + lambda c/|c| g^T. So
neither positions nor the case at hand are needed, the sign slip of the vertex-face case in sec. 4.4.1 cannot occur,
and hexes use the tet inscribed in a cube.
"""

import math

from jellycage.sim.maths.matrix3_kernels import cofactor, determinant, squared_size, times
from jellycage.sim.rotations.isvd_kernels import ALPHA, rotation
from jellycage.toolkit.compile_kernels import njit_called

__all__ = ["rotation"]

FOLLOWS_COLLAPSE = True
BETA = 3.0  # how far beyond collapse its virtual shape is put (1: project, 2: reflect)


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
