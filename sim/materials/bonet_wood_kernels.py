"""Bonet and Wood's neo-Hookean elasticity on one deformation gradient."""

import math

from jellycage.sim.maths.matrix3_kernels import cofactor, determinant, squared_size
from jellycage.toolkit.compile_kernels import njit_called

PARAMETERS = ("mu [Pa]", "lambda [Pa]")
NEEDS_ROTATION = False
CRUSHED = 0.1  # J0: ln J is a parabola below it


@njit_called
def logarithm(j):
    """ln J and its first two derivatives, with the parabola of J0 below it."""
    if j >= CRUSHED:
        return math.log(j), 1.0 / j, -1.0 / (j * j)
    d = (j - CRUSHED) / CRUSHED
    return (
        math.log(CRUSHED) + d - 0.5 * d * d,
        (1.0 - d) / CRUSHED,
        -1.0 / (CRUSHED * CRUSHED),
    )


@njit_called
def energy_and_stress(f, r, p):
    """Energy density [Pa], eq. (5.25), and first Piola stress [Pa], eq. (5.26) with dJ/dF = cof F."""
    mu, lam = p[0], p[1]
    g, slope, _ = logarithm(determinant(f))
    energy = 0.5 * mu * (squared_size(f) - 3.0) - mu * g + 0.5 * lam * g * g
    b, k = (lam * g - mu) * slope, cofactor(f)
    return energy, (
        mu * f[0] + b * k[0],
        mu * f[1] + b * k[1],
        mu * f[2] + b * k[2],
        mu * f[3] + b * k[3],
        mu * f[4] + b * k[4],
        mu * f[5] + b * k[5],
        mu * f[6] + b * k[6],
        mu * f[7] + b * k[7],
        mu * f[8] + b * k[8],
    )


@njit_called
def lame(p):
    """Lamé parameters (mu, lambda) [Pa] of small strains."""
    return p[0], p[1]


@njit_called
def stretch_hessian(s0, s1, s2, p):
    """Second derivatives by the stretches (00, 11, 22, 01, 02, 12), then twist and flip eigenvalues of (01, 02, 12)."""
    mu, lam = p[0], p[1]
    g, slope, bend = logarithm(s0 * s1 * s2)
    push = (lam * g - mu) * slope  # d psi / dJ
    curve = lam * slope * slope + (lam * g - mu) * bend  # d2 psi / dJ2
    j0, j1, j2 = s1 * s2, s0 * s2, s0 * s1
    return (
        mu + curve * j0 * j0,
        mu + curve * j1 * j1,
        mu + curve * j2 * j2,
        curve * j0 * j1 + push * s2,
        curve * j0 * j2 + push * s1,
        curve * j1 * j2 + push * s0,
        mu + push * s2,
        mu + push * s1,
        mu + push * s0,
        mu - push * s2,
        mu - push * s1,
        mu - push * s0,
    )
