"""Stable neo-Hookean elasticity on one deformation gradient."""

import math

from jellycage.sim.maths.matrix3_kernels import cofactor, determinant, squared_size
from jellycage.toolkit.compile_kernels import njit, njit_called

PARAMETERS = ("mu' [Pa]", "lambda' [Pa]", "alpha")
NEEDS_ROTATION = False
ORIGIN = 1.0  # delta in log(I_C + delta), Smith et al. 2018 eq. (13)


@njit
def stable_parameters(mu, lam):
    """(mu', lambda', alpha) that make Hooke's law with Lamé parameters mu, lambda [Pa] of small strains."""
    c = 1.0 / (3.0 + ORIGIN)
    stable_mu = mu / (1.0 - c)
    stable_lam = lam + mu - 2.0 * c * c * stable_mu
    return stable_mu, stable_lam, 1.0 + (1.0 - c) * stable_mu / stable_lam


@njit_called
def lame(p):
    """Lamé parameters (mu, lambda) [Pa] of small strains: the inverse of `stable_parameters`."""
    stable_mu, stable_lam = p[0], p[1]
    c = 1.0 / (3.0 + ORIGIN)
    mu = stable_mu * (1.0 - c)
    return mu, stable_lam - mu + 2.0 * c * c * stable_mu


@njit_called
def energy_and_stress(f, r, p):
    """Energy density [Pa], zero at rest, and first Piola stress [Pa]; Smith et al. 2018 eqs. (13), (18)."""
    mu, lam, alpha = p[0], p[1], p[2]
    square = squared_size(f)
    k = cofactor(f)
    excess = determinant(f) - alpha
    rest = 1.0 - alpha
    energy = 0.5 * mu * (square - 3.0 - math.log((square + ORIGIN) / (3.0 + ORIGIN)))
    energy += 0.5 * lam * (excess * excess - rest * rest)
    a, b = mu * (1.0 - 1.0 / (square + ORIGIN)), lam * excess
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
def stretch_hessian(s0, s1, s2, p):
    """Second derivatives by the stretches (00, 11, 22, 01, 02, 12), then twist and flip eigenvalues of (01, 02, 12)."""
    mu, lam, alpha = p[0], p[1], p[2]
    share = 1.0 / (s0 * s0 + s1 * s1 + s2 * s2 + ORIGIN)
    a, b = mu * (1.0 - share), 2.0 * mu * share * share
    push = lam * (s0 * s1 * s2 - alpha)
    j0, j1, j2 = s1 * s2, s0 * s2, s0 * s1
    return (
        a + b * s0 * s0 + lam * j0 * j0,
        a + b * s1 * s1 + lam * j1 * j1,
        a + b * s2 * s2 + lam * j2 * j2,
        b * s0 * s1 + lam * j0 * j1 + push * s2,
        b * s0 * s2 + lam * j0 * j2 + push * s1,
        b * s1 * s2 + lam * j1 * j2 + push * s0,
        a + push * s2,
        a + push * s1,
        a + push * s0,
        a - push * s2,
        a - push * s1,
        a - push * s0,
    )
