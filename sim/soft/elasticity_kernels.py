"""Elastic energy, forces and stiffness of a whole body, summed over its quadrature points.

At a quadrature point F = sum_a x_a g_a^T, with g_a the rest gradient of the shape function of corner a; the forces are
f_a = -V P g_a and the stiffness blocks are V times the stress differential contracted with g_a and g_b. Tets have one
point, hexes one or eight. Kernels for 4 and for 8 corners come from one source: the number of corners is a constant
that the compiler unrolls.

A point below the least volume is degenerate, and `treatment` says by which energy it comes back. Co-rotated points take
the linear energy in the frame that DAPD gave them, which is fixed during a step; neo-Hookean points have a way back of
their own. Points that are still there after PATIENCE are rescued by a neo-Hookean energy: co-rotated bodies have stable
equilibria with inverted elements (a patch that snapped through, a limb wrung by a full turn), in which no rotation
helps but an energy that rises with lost volume does. That one is flat where an element has SHRUNK to a line or a
point; there the linear energy in DAPD's frame is the rescuer. Rescuers stiffen the longer it takes, and let go when
the point is sound again.
"""

import numpy as np

from jellycage.sim.materials.laws_kernels import (
    COROTATED,
    NEO_HOOKEAN,
    energy_and_stress,
    small_strain,
    stretch_modes,
)
from jellycage.sim.materials.neo_hookean_kernels import stable_parameters
from jellycage.sim.maths.matrix3_kernels import (
    IDENTITY,
    cofactor,
    determinant,
    product,
    squared_size,
    times,
    transposed,
)
from jellycage.sim.maths.quaternions_kernels import matrix_of
from jellycage.sim.rotations.rotations_kernels import (
    ALPHA,
    collapse_pair,
    pair_gradient,
    polar_rotation,
    svd,
    svd_rotation,
    undegenerate,
)
from jellycage.toolkit.compile_kernels import njit, njit_as, njit_called

TWIST, HYBRID, PROJECTED = 0, 1, 2  # differentials, see `elasticity`
PATIENCE = 0.1  # time that a point has to come back before it is rescued [s], a few frames
SOUND = 0.8  # fraction of its rest volume above which a rescued point is on its way out
RELEASE = 0.25  # how fast it is let go, as a fraction of how fast it was taken
STIFFEST = 100.0  # times its material that a rescuer becomes at most
SHRUNK = 8  # added to the pair of a point that is about a line or a point
THIN = 0.1  # square of the largest area ratio below which it is
AS_MATERIAL, IN_FRAME, BY_VOLUME = 0, 1, 2


@njit_called
def treatment(law, pair, trapped):
    """Which energy a point has: its material's, the linear one in DAPD's frame or a neo-Hookean one; and a factor."""
    if pair == 0:
        return AS_MATERIAL, 1.0
    if trapped < PATIENCE:
        return (IN_FRAME if law == COROTATED else AS_MATERIAL), 1.0
    factor = min(2.0 ** (trapped / PATIENCE - 1.0), STIFFEST)
    return (IN_FRAME if pair > SHRUNK else BY_VOLUME), factor


def gradient_kernel(corners):
    """F of a quadrature point of an element with that many corners."""

    @njit_as(f"deformation_gradient_{corners}", njit_called)
    def deformation_gradient(x, elements, g, e, q):
        """F from differences to the first corner: exact to rounding however far from the origin the body is."""
        n0 = elements[e, 0]
        ox, oy, oz = x[n0, 0], x[n0, 1], x[n0, 2]
        f0 = f1 = f2 = f3 = f4 = f5 = f6 = f7 = f8 = 0.0
        for a in range(1, corners):
            n = elements[e, a]
            dx, dy, dz = x[n, 0] - ox, x[n, 1] - oy, x[n, 2] - oz
            gx, gy, gz = g[q, a, 0], g[q, a, 1], g[q, a, 2]
            f0 += dx * gx
            f1 += dx * gy
            f2 += dx * gz
            f3 += dy * gx
            f4 += dy * gy
            f5 += dy * gz
            f6 += dz * gx
            f7 += dz * gy
            f8 += dz * gz
        return f0, f1, f2, f3, f4, f5, f6, f7, f8

    return deformation_gradient


tet_gradient = gradient_kernel(4)
hex_gradient = gradient_kernel(8)


def energy_kernel(corners, gradient):
    @njit_as(f"energy_and_forces_{corners}")
    def energy_and_forces(
        x, elements, g, volume, parameters, pair, trapped, law, out_rotation, out_stretch, out_force
    ):
        """Elastic energy [J] and how many points are degenerate; adds forces [N], updates rotations and stretches."""
        points = g.shape[0] // elements.shape[0]
        total = 0.0
        degenerate = 0
        for q in range(g.shape[0]):
            e = q // points
            f = gradient(x, elements, g, e, q)
            p0, p1, p2 = parameters[e, 0], parameters[e, 1], parameters[e, 2]
            is_degenerate = determinant(f) <= ALPHA
            if is_degenerate or pair[q] != 0:
                degenerate += 1
            way, factor = treatment(law, pair[q], trapped[q])
            w, i, j, k = (
                out_rotation[q, 0],
                out_rotation[q, 1],
                out_rotation[q, 2],
                out_rotation[q, 3],
            )
            r = IDENTITY
            if pair[q] != 0:
                r = matrix_of(w, i, j, k)
            elif law == COROTATED:
                if is_degenerate:
                    r, w, i, j, k = svd_rotation(f)
                else:
                    r, w, i, j, k = polar_rotation(f, w, i, j, k)
                out_rotation[q, 0] = w
                out_rotation[q, 1] = i
                out_rotation[q, 2] = j
                out_rotation[q, 3] = k
            if way == AS_MATERIAL:
                energy, stress, out_stretch[q, 0], out_stretch[q, 1] = energy_and_stress(
                    law, f, r, p0, p1, p2
                )
            else:
                mu, lam = small_strain(law, p0, p1)
                mu, lam = factor * mu, factor * lam
                if way == IN_FRAME:
                    energy, stress, out_stretch[q, 0], out_stretch[q, 1] = energy_and_stress(
                        COROTATED, f, r, mu, lam, 0.0
                    )
                else:
                    m0, m1, m2 = stable_parameters(mu, lam)
                    energy, stress, _, _ = energy_and_stress(NEO_HOOKEAN, f, r, m0, m1, m2)
            v = volume[q]
            total += v * energy
            sx = sy = sz = 0.0
            for a in range(1, corners):
                gx, gy, gz = g[q, a, 0], g[q, a, 1], g[q, a, 2]
                px = v * (stress[0] * gx + stress[1] * gy + stress[2] * gz)
                py = v * (stress[3] * gx + stress[4] * gy + stress[5] * gz)
                pz = v * (stress[6] * gx + stress[7] * gy + stress[8] * gz)
                n = elements[e, a]
                out_force[n, 0] -= px
                out_force[n, 1] -= py
                out_force[n, 2] -= pz
                sx += px
                sy += py
                sz += pz
            n = elements[e, 0]
            out_force[n, 0] += sx
            out_force[n, 1] += sy
            out_force[n, 2] += sz
        return total, degenerate

    return energy_and_forces


tet_energy_and_forces = energy_kernel(4, tet_gradient)
hex_energy_and_forces = energy_kernel(8, hex_gradient)


def stiffness_kernel(corners, gradient):
    @njit_as(f"add_frame_blocks_{corners}", njit_called)
    def add_frame_blocks(elements, slots, g, e, q, r, mu, lam, weight, out_blocks):
        """Blocks of (1-c) dP(2) + c dP(1), eqs. (3.19)-(3.23), with mu and lambda times the volume.

        With r_a = R g_a: K_ab = mu (1+c) (g_a.g_b) I + mu (1-c) r_b r_a^T + lambda r_a r_b^T. See `elasticity` for c.
        """
        even, swap = mu * (1.0 + weight), mu * (1.0 - weight)
        both = swap + lam
        for a in range(corners):
            gx, gy, gz = g[q, a, 0], g[q, a, 1], g[q, a, 2]
            ax, ay, az = times(r, gx, gy, gz)
            for b in range(a, corners):
                hx, hy, hz = g[q, b, 0], g[q, b, 1], g[q, b, 2]
                bx, by, bz = times(r, hx, hy, hz)
                slot = slots[e, a, b]
                if slot < 0:  # stored the other way round
                    slot = -slot - 1
                    ix, iy, iz, jx, jy, jz = bx, by, bz, ax, ay, az
                else:
                    ix, iy, iz, jx, jy, jz = ax, ay, az, bx, by, bz
                same = even * (gx * hx + gy * hy + gz * hz)
                o = 9 * slot
                out_blocks[o] += same + both * ix * jx
                out_blocks[o + 1] += swap * jx * iy + lam * ix * jy
                out_blocks[o + 2] += swap * jx * iz + lam * ix * jz
                out_blocks[o + 3] += swap * jy * ix + lam * iy * jx
                out_blocks[o + 4] += same + both * iy * jy
                out_blocks[o + 5] += swap * jy * iz + lam * iy * jz
                out_blocks[o + 6] += swap * jz * ix + lam * iz * jx
                out_blocks[o + 7] += swap * jz * iy + lam * iz * jy
                out_blocks[o + 8] += same + both * iz * jz

    @njit_as(f"add_projected_blocks_{corners}", njit_called)
    def add_projected_blocks(slots, g, e, q, f, law, p0, p1, p2, v, out_blocks):
        """Blocks U B U^T of the positive semi-definite Hessian, B in the frames of the SVD, see `stretch_modes`."""
        u, s, w = svd(f)
        (a00, a11, a22, a01, a02, a12), (p01, p02, p12), (q01, q02, q12) = stretch_modes(
            law, s[0], s[1], s[2], p0, p1, p2, True
        )
        ut, wt = transposed(u), transposed(w)
        for a in range(corners):
            i0, i1, i2 = times(wt, g[q, a, 0], g[q, a, 1], g[q, a, 2])
            i0, i1, i2 = v * i0, v * i1, v * i2
            for b in range(a, corners):
                j0, j1, j2 = times(wt, g[q, b, 0], g[q, b, 1], g[q, b, 2])
                d0, d1, d2 = i0 * j0, i1 * j1, i2 * j2
                block = (
                    a00 * d0 + p01 * d1 + p02 * d2,
                    a01 * i0 * j1 + q01 * i1 * j0,
                    a02 * i0 * j2 + q02 * i2 * j0,
                    a01 * i1 * j0 + q01 * i0 * j1,
                    p01 * d0 + a11 * d1 + p12 * d2,
                    a12 * i1 * j2 + q12 * i2 * j1,
                    a02 * i2 * j0 + q02 * i0 * j2,
                    a12 * i2 * j1 + q12 * i1 * j2,
                    p02 * d0 + p12 * d1 + a22 * d2,
                )
                block = product(u, product(block, ut))
                slot = slots[e, a, b]
                if slot < 0:
                    o = 9 * (-slot - 1)
                    block = transposed(block)
                else:
                    o = 9 * slot
                for i in range(9):
                    out_blocks[o + i] += block[i]

    @njit_as(f"add_stiffness_{corners}")
    def add_stiffness(
        x,
        elements,
        slots,
        g,
        volume,
        parameters,
        pair,
        trapped,
        law,
        differential,
        rotation,
        stretch,
        out_blocks,
    ):
        """Add the positive semi-definite stiffness to the upper blocks; rotations and stretches as found at x."""
        points = g.shape[0] // elements.shape[0]
        for q in range(g.shape[0]):
            e = q // points
            v = volume[q]
            p0, p1, p2 = parameters[e, 0], parameters[e, 1], parameters[e, 2]
            way, factor = treatment(law, pair[q], trapped[q])
            is_framed = way == AS_MATERIAL and law == COROTATED and differential != PROJECTED
            if is_framed or way == IN_FRAME:
                r = matrix_of(rotation[q, 0], rotation[q, 1], rotation[q, 2], rotation[q, 3])
                mu, lam = small_strain(law, p0, p1)
                if differential == HYBRID:
                    weight = min(stretch[q, 1], 1.0)
                else:
                    mean = stretch[q, 0] / 3.0
                    weight = mean * (1.0 + 1.5 * lam / mu) / max(1.0 + mean, 0.1)
                    weight = min(max(weight, 0.0), 1.0)
                scale = factor * v
                add_frame_blocks(
                    elements, slots, g, e, q, r, scale * mu, scale * lam, weight, out_blocks
                )
            else:
                f = gradient(x, elements, g, e, q)
                energy = law
                if way == BY_VOLUME and law != NEO_HOOKEAN:
                    energy = NEO_HOOKEAN
                    p0, p1, p2 = stable_parameters(*small_strain(law, p0, p1))
                add_projected_blocks(slots, g, e, q, f, energy, p0, p1, p2, factor * v, out_blocks)

    return add_stiffness


tet_add_stiffness = stiffness_kernel(4, tet_gradient)
hex_add_stiffness = stiffness_kernel(8, hex_gradient)


@njit_called
def symmetric_times(m, x, y, z):
    """The symmetric matrix (00, 11, 22, 01, 02, 12) times a vector."""
    return (
        m[0] * x + m[3] * y + m[4] * z,
        m[3] * x + m[1] * y + m[5] * z,
        m[4] * x + m[5] * y + m[2] * z,
    )


@njit
def hourglass_energy_and_forces(x, elements, g, modes, scale, rest, out_force):
    """Energy [J] of the hourglass modes of every one-point hex, see `elements`; adds the forces [N]."""
    total = 0.0
    for e in range(elements.shape[0]):
        n0 = elements[e, 0]
        f = IDENTITY
        if rest.shape[0]:
            f = hex_gradient(x, elements, g, e, e)
        for i in range(4):
            qx = qy = qz = 0.0
            for a in range(1, 8):
                n = elements[e, a]
                m = modes[e, i, a]
                qx += m * (x[n, 0] - x[n0, 0])
                qy += m * (x[n, 1] - x[n0, 1])
                qz += m * (x[n, 2] - x[n0, 2])
            k = scale[e, i]
            total += 0.5 * k * (qx * qx + qy * qy + qz * qz)
            px, py, pz = k * qx, k * qy, k * qz
            hx = hy = hz = 0.0
            if rest.shape[0]:
                bx, by, bz = times(transposed(f), qx, qy, qz)
                hx, hy, hz = symmetric_times(rest[e, i], bx, by, bz)
                total += 0.5 * (bx * hx + by * hy + bz * hz)
                rx, ry, rz = times(f, hx, hy, hz)
                px, py, pz = px + rx, py + ry, pz + rz
            for a in range(8):
                n = elements[e, a]
                m = modes[e, i, a]
                # The second part is the stress q (A F^T q)^T, from the derivative by F.
                c = hx * g[e, a, 0] + hy * g[e, a, 1] + hz * g[e, a, 2]
                out_force[n, 0] -= m * px + c * qx
                out_force[n, 1] -= m * py + c * qy
                out_force[n, 2] -= m * pz + c * qz
    return total


@njit
def add_hourglass_stiffness(x, elements, slots, g, modes, scale, rest, out_blocks):
    """Add the stiffness of the hourglass modes at fixed F, gamma_ia gamma_ib (k_i I + F A_i F^T), to the blocks."""
    for e in range(elements.shape[0]):
        f = IDENTITY
        if rest.shape[0]:
            f = hex_gradient(x, elements, g, e, e)
        for i in range(4):
            k = scale[e, i]
            b00, b01, b02, b11, b12, b22 = k, 0.0, 0.0, k, 0.0, k
            if rest.shape[0]:
                m = rest[e, i]
                block = (m[0], m[3], m[4], m[3], m[1], m[5], m[4], m[5], m[2])
                block = product(f, product(block, transposed(f)))
                b00, b01, b02 = b00 + block[0], b01 + block[1], b02 + block[2]
                b11, b12, b22 = b11 + block[4], b12 + block[5], b22 + block[8]
            for a in range(8):
                for b in range(a, 8):
                    slot = slots[e, a, b]
                    o = 9 * slot if slot >= 0 else 9 * (-slot - 1)
                    w = modes[e, i, a] * modes[e, i, b]
                    out_blocks[o] += w * b00
                    out_blocks[o + 4] += w * b11
                    out_blocks[o + 8] += w * b22
                    if rest.shape[0]:
                        out_blocks[o + 1] += w * b01
                        out_blocks[o + 3] += w * b01
                        out_blocks[o + 2] += w * b02
                        out_blocks[o + 6] += w * b02
                        out_blocks[o + 5] += w * b12
                        out_blocks[o + 7] += w * b12


def degeneration_kernel(corners, gradient):
    @njit_as(f"follow_degeneration_{corners}")
    def follow_degeneration(x_from, x_to, elements, g, dt, out_pair, out_trapped, out_rotation):
        """Find the pair of every point that fell below alpha on the way, let go of recovered ones, turn the rest.

        A point whose direction of collapse is undefined keeps its rotation. Returns how many are below alpha.
        """
        points = g.shape[0] // elements.shape[0]
        collapsed = 0
        for q in range(g.shape[0]):
            e = q // points
            f = gradient(x_to, elements, g, e, q)
            det = determinant(f)
            if det > ALPHA:
                if det > SOUND:
                    out_trapped[q] -= RELEASE * dt
                if out_pair[q] == 0 or out_trapped[q] < PATIENCE:
                    out_pair[q] = 0
                    out_trapped[q] = 0.0
                    continue
            else:
                collapsed += 1
                out_trapped[q] += dt
            if out_pair[q] == 0:
                before = gradient(x_from, elements, g, e, q)
                out_pair[q] = collapse_pair(before, f, g, q, corners)
            pair = out_pair[q] % SHRUNK
            out_pair[q] = pair + SHRUNK if squared_size(cofactor(f)) < THIN else pair
            gx, gy, gz = pair_gradient(g, q, corners, pair)
            is_defined, virtual = undegenerate(f, gx, gy, gz)
            if is_defined:
                _, w, i, j, k = polar_rotation(
                    virtual,
                    out_rotation[q, 0],
                    out_rotation[q, 1],
                    out_rotation[q, 2],
                    out_rotation[q, 3],
                )
                out_rotation[q, 0] = w
                out_rotation[q, 1] = i
                out_rotation[q, 2] = j
                out_rotation[q, 3] = k
        return collapsed

    return follow_degeneration


tet_follow_degeneration = degeneration_kernel(4, tet_gradient)
hex_follow_degeneration = degeneration_kernel(8, hex_gradient)


def volume_kernel(corners, gradient):
    @njit_as(f"determinants_{corners}")
    def determinants(x, elements, g):
        """det F at every quadrature point, shape (q,)."""
        points = g.shape[0] // elements.shape[0]
        out = np.empty(g.shape[0])
        for q in range(g.shape[0]):
            out[q] = determinant(gradient(x, elements, g, q // points, q))
        return out

    return determinants


tet_determinants = volume_kernel(4, tet_gradient)
hex_determinants = volume_kernel(8, hex_gradient)
