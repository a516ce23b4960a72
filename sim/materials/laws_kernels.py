"""Functions of all materials, which find the law's own by its number.

A law is a file of kernels with these names, and a class that makes its parameters from what users know:
- `energy_and_stress(f, r, p)`: energy density and first Piola stress [Pa] of F = f with rotation r;
- `stretch_hessian(s0, s1, s2, p)`: twelve numbers that make up the Hessian in the frames of the SVD;
- `lame(p)`: Lamé parameters (mu, lambda) [Pa] of small strains;
- `PARAMETERS`: what the numbers p are; `NEEDS_ROTATION`: whether r is looked at.
A new one gets its two files and its place in `materials.LAWS`.
"""

import numpy as np

from jellycage.sim.materials import LAWS, corotated_kernels, neo_hookean_kernels
from jellycage.sim.materials.neo_hookean_kernels import stable_parameters
from jellycage.sim.maths.choice_kernels import chosen
from jellycage.sim.maths.matrix3_kernels import projected_symmetric
from jellycage.sim.rotations.svd_kernels import svd, svd_rotation
from jellycage.toolkit.compile_kernels import njit, njit_as, njit_called, njit_forwarding

KERNELS = tuple(law.kernels for law in LAWS)
NEEDS_ROTATION = tuple(kernels.NEEDS_ROTATION for kernels in KERNELS)
WIDTH = max(len(kernels.PARAMETERS) for kernels in KERNELS)
"""Parameters of the law that has most."""


COROTATED, NEO_HOOKEAN = KERNELS.index(corotated_kernels), KERNELS.index(neo_hookean_kernels)


def number_of(kernels) -> int:
    """The number of the law with these kernels."""
    return KERNELS.index(kernels)


def row_reader(width):
    """The function that gives row e of a table (e, width) as a tuple."""
    if width == 1:

        @njit_as("row_1", njit_forwarding)
        def read(table, e):
            return (table[e, 0],)

    else:
        others = row_reader(width - 1)

        @njit_as(f"row_{width}", njit_forwarding)
        def read(table, e):
            return others(table, e) + (table[e, width - 1],)

    return read


energy_and_stress = chosen([k.energy_and_stress for k in KERNELS], "energy_and_stress")
stretch_hessian = chosen([k.stretch_hessian for k in KERNELS], "stretch_hessian")
lame = chosen([k.lame for k in KERNELS], "lame")
parameter_row = row_reader(WIDTH)
LINEAR_PADDING = (0.0,) * (WIDTH - len(corotated_kernels.PARAMETERS))
STABLE_PADDING = (0.0,) * (WIDTH - len(neo_hookean_kernels.PARAMETERS))


@njit_forwarding
def linear_row(mu, lam):
    """The parameter row of a co-rotated material with Lamé parameters [Pa]."""
    return (mu, lam) + LINEAR_PADDING


@njit_forwarding
def stable_row(mu, lam):
    """The parameter row of a neo-Hookean material with Lamé parameters [Pa]."""
    return stable_parameters(mu, lam) + STABLE_PADDING


@njit_called
def stretch_modes(law, s0, s1, s2, p, share):
    """The Hessian in the frames of the SVD: A (00, 11, 22, 01, 02, 12), then p and q of (01, 02, 12).

    Smith, de Goes, Kim 2019, doi:10.1145/3241041: dP_ii = sum_j A_ij dF_jj, and dP_ij = p dF_ij + q dF_ji where p - q
    is the eigenvalue of the twist and p + q that of the flip of a pair of axes. Negative ones are taken times a share:
    1 is exact, 0 makes the nearest Hessian without any, -1 takes them by their size.
    """
    a00, a11, a22, a01, a02, a12, t01, t02, t12, f01, f02, f12 = stretch_hessian(law, s0, s1, s2, p)
    if share < 1.0:
        a00, a11, a22, a01, a02, a12 = projected_symmetric(a00, a11, a22, a01, a02, a12, share)
        t01, t02, t12 = max(t01, share * t01), max(t02, share * t02), max(t12, share * t12)
        f01, f02, f12 = max(f01, share * f01), max(f02, share * f02), max(f12, share * f12)
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
        g = gradients[i]
        f = (g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7], g[8])
        r, _, _, _, _ = svd_rotation(f)
        energy, stress = energy_and_stress(law, f, r, parameter_row(parameters, i))
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
        g, p = gradients[n], parameter_row(parameters, n)
        f = (g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7], g[8])
        u, s, v = svd(f)
        share = 0.0 if is_projected else 1.0
        scaling, even, swap = stretch_modes(law, s[0], s[1], s[2], p, share)
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
