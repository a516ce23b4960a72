"""Every material at many deformation gradients, and the one place where a material's number leads to its functions.

A new material is a file with `energy_and_stress` and `stretch_hessian`, a number, and a branch in each of the three
functions at the top.
"""

import numpy as np

from jellycage.sim.materials.corotated_kernels import energy_and_stress as corotated_stress
from jellycage.sim.materials.corotated_kernels import stretch_hessian as corotated_hessian
from jellycage.sim.materials.neo_hookean_kernels import energy_and_stress as neo_hookean_stress
from jellycage.sim.materials.neo_hookean_kernels import lame_parameters
from jellycage.sim.materials.neo_hookean_kernels import stretch_hessian as neo_hookean_hessian
from jellycage.sim.maths.matrix3_kernels import projected_symmetric
from jellycage.sim.rotations.rotations_kernels import svd, svd_rotation
from jellycage.toolkit.compile_kernels import njit, njit_called, njit_inside

COROTATED, NEO_HOOKEAN = 0, 1


@njit_called
def energy_and_stress(law, f, r, p0, p1, p2):
    """(energy density, stress, tr e, mean |e_ii|) of a material; r is the rotation of f, where one is needed."""
    if law == COROTATED:
        return corotated_stress(f, r, p0, p1, p2)
    energy, stress = neo_hookean_stress(f, p0, p1, p2)
    return energy, stress, 0.0, 0.0


@njit_inside
def small_strain(law, p0, p1):
    """Lamé parameters (mu, lambda) [Pa] that a material has at rest."""
    if law == COROTATED:
        return p0, p1
    return lame_parameters(p0, p1)


@njit_inside
def stretch_hessian(law, s0, s1, s2, p0, p1, p2):
    """Twelve numbers that make up the Hessian in the frames of the SVD."""
    if law == COROTATED:
        return corotated_hessian(s0, s1, s2, p0, p1, p2)
    return neo_hookean_hessian(s0, s1, s2, p0, p1, p2)


@njit_called
def stretch_modes(law, s0, s1, s2, p0, p1, p2, is_projected):
    """The Hessian in the frames of the SVD: A (00, 11, 22, 01, 02, 12), then p and q of (01, 02, 12).

    Smith, de Goes, Kim 2019, doi:10.1145/3241041: dP_ii = sum_j A_ij dF_jj, and dP_ij = p dF_ij + q dF_ji where p - q
    is the eigenvalue of the twist and p + q that of the flip of a pair of axes. Projected: no eigenvalue below zero.
    """
    a00, a11, a22, a01, a02, a12, t01, t02, t12, f01, f02, f12 = stretch_hessian(
        law, s0, s1, s2, p0, p1, p2
    )
    if is_projected:
        a00, a11, a22, a01, a02, a12 = projected_symmetric(a00, a11, a22, a01, a02, a12)
        t01, t02, t12 = max(t01, 0.0), max(t02, 0.0), max(t12, 0.0)
        f01, f02, f12 = max(f01, 0.0), max(f02, 0.0), max(f12, 0.0)
    return (
        (a00, a11, a22, a01, a02, a12),
        (0.5 * (f01 + t01), 0.5 * (f02 + t02), 0.5 * (f12 + t12)),
        (0.5 * (f01 - t01), 0.5 * (f02 - t02), 0.5 * (f12 - t12)),
    )


@njit
def energies_and_stresses(gradients, parameters, law):
    """Energy density (q,) and stress (q, 9) [Pa] with the rotation of the invertible SVD."""
    energies = np.empty(len(gradients))
    stresses = np.empty((len(gradients), 9))
    for i in range(len(gradients)):
        g, p = gradients[i], parameters[i]
        f = (g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7], g[8])
        r, _, _, _, _ = svd_rotation(f)
        energy, stress, _, _ = energy_and_stress(law, f, r, p[0], p[1], p[2])
        energies[i] = energy
        for k in range(9):
            stresses[i, k] = stress[k]
    return energies, stresses


@njit
def hessians(gradients, parameters, law, is_projected):
    """Derivative of the stress by F [Pa], (q, 9, 9)."""
    out = np.zeros((len(gradients), 9, 9))
    hat = np.zeros((3, 3, 3, 3))
    for n in range(len(gradients)):
        g, p = gradients[n], parameters[n]
        f = (g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7], g[8])
        u, s, v = svd(f)
        scaling, even, swap = stretch_modes(law, s[0], s[1], s[2], p[0], p[1], p[2], is_projected)
        for i in range(3):
            hat[i, i, i, i] = scaling[i]
        for k, (i, j) in enumerate(((0, 1), (0, 2), (1, 2))):
            hat[i, i, j, j] = hat[j, j, i, i] = scaling[3 + k]
            hat[i, j, i, j] = hat[j, i, j, i] = even[k]
            hat[i, j, j, i] = hat[j, i, i, j] = swap[k]
        for i in range(3):
            for j in range(3):
                for k in range(3):
                    for m in range(3):
                        if hat[i, j, k, m] != 0.0:
                            for a in range(9):
                                left = u[3 * (a // 3) + i] * v[3 * (a % 3) + j]
                                for b in range(9):
                                    right = u[3 * (b // 3) + k] * v[3 * (b % 3) + m]
                                    out[n, a, b] += hat[i, j, k, m] * left * right
    return out
