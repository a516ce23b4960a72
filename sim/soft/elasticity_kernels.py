"""Elastic energy, forces and stiffness of elements of one kind, summed over their quadrature points.

The forces are f_a = -V P g_a and the stiffness blocks are V times the stress differential contracted with g_a and g_b;
`gradient_kernels` says what g_a is, `degeneration_kernels` what happens at points that have lost their volume.
"""

import numpy as np

from jellycage.sim.materials.corotated_kernels import energy_and_stress as linear_energy_and_stress
from jellycage.sim.materials.corotated_kernels import frame_strain
from jellycage.sim.materials.laws_kernels import (
    COROTATED,
    NEEDS_ROTATION,
    NEO_HOOKEAN,
    energy_and_stress,
    lame,
    linear_row,
    parameter_row,
    stable_row,
    stretch_modes,
)
from jellycage.sim.materials.neo_hookean_kernels import (
    energy_and_stress as volume_energy_and_stress,
)
from jellycage.sim.maths.matrix3_kernels import IDENTITY, determinant, product, times, transposed
from jellycage.sim.maths.quaternions_kernels import matrix_of
from jellycage.sim.rotations.isvd_kernels import ALPHA
from jellycage.sim.rotations.methods_kernels import rotation as rotation_of
from jellycage.sim.rotations.svd_kernels import svd
from jellycage.sim.soft.degeneration_kernels import AS_MATERIAL, BY_VOLUME, IN_FRAME, treatment
from jellycage.sim.soft.enhancement_kernels import (
    add_enhanced_blocks,
    add_enhanced_forces,
    enhanced,
    enhancement,
    find_changes,
)
from jellycage.sim.soft.gradient_kernels import hex_gradient, tet_gradient
from jellycage.toolkit.compile_kernels import njit_as, njit_called

TWIST, HYBRID, PROJECTED = 0, 1, 2  # differentials, see `elasticity`
NO_ENHANCEMENT = (0.0,) * 6
LEAST, MOST = 0.5, 2.0  # stretches and volume: beyond, a point of a law of volume is far from rest


def energy_kernel(corners, gradient):
    may_be_enhanced = corners == 8

    @njit_as(f"energy_and_forces_{corners}")
    def energy_and_forces(x, batch, points, out_force):
        """Elastic energy [J] and how many points are degenerate; adds forces [N], updates rotations and stretches."""
        elements, g, volume, laws = batch.corners, batch.gradients, batch.volumes, batch.law
        parameters, element, methods = batch.parameters, batch.element, batch.rotation_method
        pair, time = points.collapse_pair, points.degenerate_time
        rotation, stretch = points.rotation, points.stretch
        amplitudes, pulled = np.empty((4, 3)), np.empty((4, 3))
        total = 0.0
        degenerate = 0
        for q in range(g.shape[0]):
            e = element[q]
            law = laws[e]
            f = gradient(x, elements, g, e, q)
            s, y, more = f, NO_ENHANCEMENT, 0.0  # s: of the solid
            if may_be_enhanced and batch.is_enhanced[q]:
                y, more = enhancement(x, batch, e, q, f, amplitudes, pulled)
                s = enhanced(f, y, more)
            p = parameter_row(parameters, e)
            is_degenerate = determinant(f) <= ALPHA
            if is_degenerate or pair[q] != 0:
                degenerate += 1
            way, factor = treatment(law, pair[q], time[q])
            # The rotation: the one that DAPD gave a collapsed point, else the one of F.
            w, i, j, k = rotation[q, 0], rotation[q, 1], rotation[q, 2], rotation[q, 3]
            r = IDENTITY
            if pair[q] != 0:
                r = matrix_of(w, i, j, k)
            elif NEEDS_ROTATION[law]:
                r, w, i, j, k = rotation_of(methods[e], s, w, i, j, k)
                rotation[q, 0] = w
                rotation[q, 1] = i
                rotation[q, 2] = j
                rotation[q, 3] = k
            if way == AS_MATERIAL:
                energy, stress = energy_and_stress(law, s, r, p)
            else:
                mu, lam = lame(law, p)
                mu, lam = factor * mu, factor * lam
                if way == IN_FRAME:
                    energy, stress = linear_energy_and_stress(s, r, linear_row(mu, lam))
                else:
                    energy, stress = volume_energy_and_stress(s, r, stable_row(mu, lam))
            if way == IN_FRAME or (way == AS_MATERIAL and NEEDS_ROTATION[law]):
                stretch[q, 0], stretch[q, 1] = frame_strain(s, r)
            if may_be_enhanced and batch.is_enhanced[q]:
                stress = add_enhanced_forces(batch, e, q, f, y, more, stress, amplitudes, out_force)
            # Forces f_a = -V P g_a; that on the first corner balances the others.
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


@njit_called
def frames_and_modes(f, law, p, differential):
    """U and W of the SVD, and a positive semi-definite Hessian in these frames, see `stretch_modes`."""
    u, s, w = svd(f)
    is_near = s[2] >= LEAST and s[0] <= MOST and LEAST <= s[0] * s[1] * s[2] <= MOST
    share = 0.0 if is_near or NEEDS_ROTATION[law] or differential == PROJECTED else -1.0
    return u, w, stretch_modes(law, s[0], s[1], s[2], p, share)


@njit_called
def frame_modes(mu, lam, weight):
    """The Hessian of `add_frame_blocks` in the frames R and I, as `stretch_modes` has it."""
    even, swap = mu * (1.0 + weight), mu * (1.0 - weight)
    own = even + swap + lam
    return (own, own, own, lam, lam, lam), (even, even, even), (swap, swap, swap)


def stiffness_kernel(corners, gradient):
    may_be_enhanced = corners == 8

    @njit_as(f"add_frame_blocks_{corners}", njit_called)
    def add_frame_blocks(slots, g, e, q, r, mu, lam, weight, out_blocks):
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
    def add_projected_blocks(slots, g, e, q, u, w, modes, v, out_blocks):
        """Blocks U B U^T of a positive semi-definite Hessian, B in the frames of the SVD, see `stretch_modes`."""
        (a00, a11, a22, a01, a02, a12), (p01, p02, p12), (q01, q02, q12) = modes
        # In the frames of the SVD a gradient is W^T g, and the block of two corners has these nine entries.
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
    def add_stiffness(x, batch, points, differential, out_blocks):
        """Add the positive semi-definite stiffness to the upper blocks; rotations and stretches as found at x."""
        elements, slots, g, volume = batch.corners, batch.slots, batch.gradients, batch.volumes
        laws, parameters, element = batch.law, batch.parameters, batch.element
        pair, time = points.collapse_pair, points.degenerate_time
        rotation, stretch = points.rotation, points.stretch
        amplitudes, pulled, z = np.empty((4, 3)), np.empty((4, 3)), np.empty((4, 3, 6))
        changes, pushes = np.empty((24, 9)), np.empty((24, 9))
        for q in range(g.shape[0]):
            e = element[q]
            law, v = laws[e], volume[q]
            p = parameter_row(parameters, e)
            way, factor = treatment(law, pair[q], time[q])
            is_framed = way == AS_MATERIAL and law == COROTATED and differential != PROJECTED
            is_enhanced = may_be_enhanced and batch.is_enhanced[q]
            f = gradient(x, elements, g, e, q)
            s, y, more = f, NO_ENHANCEMENT, 0.0
            if is_enhanced:
                y, more = enhancement(x, batch, e, q, f, amplitudes, pulled)
                s = enhanced(f, y, more)
            # Co-rotated, and what DAPD treats so: no SVD is needed.
            if is_framed or way == IN_FRAME:
                r = matrix_of(rotation[q, 0], rotation[q, 1], rotation[q, 2], rotation[q, 3])
                mu, lam = lame(law, p)
                if differential == HYBRID:
                    weight = min(stretch[q, 1], 1.0)
                else:
                    mean = stretch[q, 0] / 3.0
                    weight = mean * (1.0 + 1.5 * lam / mu) / max(1.0 + mean, 0.1)
                    weight = min(max(weight, 0.0), 1.0)
                scale = factor * v
                if is_enhanced:
                    find_changes(batch, q, f, y, more, r, IDENTITY, z, changes)
                    a, b, c = frame_modes(mu, lam, weight)
                    add_enhanced_blocks(slots, e, changes, a, b, c, scale, pushes, out_blocks)
                else:
                    add_frame_blocks(slots, g, e, q, r, scale * mu, scale * lam, weight, out_blocks)
            else:
                energy = law
                if way == BY_VOLUME and law != NEO_HOOKEAN:
                    energy = NEO_HOOKEAN
                    p = stable_row(*lame(law, p))
                u, w, modes = frames_and_modes(s, energy, p, differential)
                if is_enhanced:
                    find_changes(batch, q, f, y, more, u, w, z, changes)
                    a, b, c = modes
                    add_enhanced_blocks(slots, e, changes, a, b, c, factor * v, pushes, out_blocks)
                else:
                    add_projected_blocks(slots, g, e, q, u, w, modes, factor * v, out_blocks)

    return add_stiffness


tet_add_stiffness = stiffness_kernel(4, tet_gradient)
hex_add_stiffness = stiffness_kernel(8, hex_gradient)
