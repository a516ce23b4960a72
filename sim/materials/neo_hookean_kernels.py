"""Stable neo-Hookean elasticity on one deformation gradient. Parameters: p0 = mu', p1 = lambda' [Pa], p2 = alpha."""

import math

from jellycage.sim.maths.matrix3_kernels import cofactor, determinant, squared_size
from jellycage.toolkit.compile_kernels import njit, njit_called

ORIGIN = 1.0  # delta in log(I_C + delta), Smith et al. 2018 eq. (13)


@njit
def stable_parameters(mu, lam):
    """(mu', lambda', alpha) that make Hooke's law with Lamé parameters mu, lambda [Pa] of small strains."""
    c = 1.0 / (3.0 + ORIGIN)
    stable_mu = mu / (1.0 - c)
    stable_lam = lam + mu - 2.0 * c * c * stable_mu
    return stable_mu, stable_lam, 1.0 + (1.0 - c) * stable_mu / stable_lam


@njit_called
def lame_parameters(stable_mu, stable_lam):
    """(mu, lambda) [Pa] of small strains: the inverse of `stable_parameters`."""
    c = 1.0 / (3.0 + ORIGIN)
    mu = stable_mu * (1.0 - c)
    return mu, stable_lam - mu + 2.0 * c * c * stable_mu


@njit_called
def energy_and_stress(f, p0, p1, p2):
    """Energy density [Pa], zero at rest, and first Piola stress [Pa]; Smith et al. 2018 eqs. (13), (18)."""
    square = squared_size(f)
    k = cofactor(f)
    excess = determinant(f) - p2
    rest = 1.0 - p2
    energy = 0.5 * p0 * (square - 3.0 - math.log((square + ORIGIN) / (3.0 + ORIGIN)))
    energy += 0.5 * p1 * (excess * excess - rest * rest)
    a, b = p0 * (1.0 - 1.0 / (square + ORIGIN)), p1 * excess
    return energy, (
        a * f[0] + b * k[0],
        a * f[1] + b * k[1],
        a * f[2] + b * k[2],
        a * f[3] + b * k[3],
        a * f[4] + b * k[4],
        a * f[5] + b * k[5],
        a * f[6] + b * k[6],
        a * f[7] + b * k[7],
        a * f[8] + b * k[8],
    )


@njit_called
def stretch_hessian(s0, s1, s2, p0, p1, p2):
    """Second derivatives by the stretches (00, 11, 22, 01, 02, 12), then twist and flip eigenvalues of (01, 02, 12)."""
    share = 1.0 / (s0 * s0 + s1 * s1 + s2 * s2 + ORIGIN)
    a, b = p0 * (1.0 - share), 2.0 * p0 * share * share
    push = p1 * (s0 * s1 * s2 - p2)
    j0, j1, j2 = s1 * s2, s0 * s2, s0 * s1
    return (
        a + b * s0 * s0 + p1 * j0 * j0,
        a + b * s1 * s1 + p1 * j1 * j1,
        a + b * s2 * s2 + p1 * j2 * j2,
        b * s0 * s1 + p1 * j0 * j1 + push * s2,
        b * s0 * s2 + p1 * j0 * j2 + push * s1,
        b * s1 * s2 + p1 * j1 * j2 + push * s0,
        a + push * s2,
        a + push * s1,
        a + push * s0,
        a - push * s2,
        a - push * s1,
        a - push * s0,
    )
