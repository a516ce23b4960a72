"""Linear co-rotated elasticity on one deformation gradient."""

from jellycage.toolkit.compile_kernels import njit_called, njit_forwarding

PARAMETERS = ("mu [Pa]", "lambda [Pa]")
NEEDS_ROTATION = True


@njit_called
def energy_and_stress(f, r, p):
    """Energy density [Pa] and first Piola stress [Pa] for a rotation r.

    With e = sym(R^T F) - I: psi = mu |e|^2 + lambda/2 tr(e)^2, eq. (3.14), P = R (2 mu e + lambda tr(e) I), eq. (3.15).
    The same formulas serve a rotation that is not the polar one: they are then the linear energy in a fixed frame,
    which is what DAPD's approximate stress is the gradient of (eq. 4.25 without its last term).
    """
    mu, lam = p[0], p[1]
    e00 = r[0] * f[0] + r[3] * f[3] + r[6] * f[6] - 1.0
    e11 = r[1] * f[1] + r[4] * f[4] + r[7] * f[7] - 1.0
    e22 = r[2] * f[2] + r[5] * f[5] + r[8] * f[8] - 1.0
    e01 = 0.5 * (r[0] * f[1] + r[3] * f[4] + r[6] * f[7] + r[1] * f[0] + r[4] * f[3] + r[7] * f[6])
    e02 = 0.5 * (r[0] * f[2] + r[3] * f[5] + r[6] * f[8] + r[2] * f[0] + r[5] * f[3] + r[8] * f[6])
    e12 = 0.5 * (r[1] * f[2] + r[4] * f[5] + r[7] * f[8] + r[2] * f[1] + r[5] * f[4] + r[8] * f[7])
    trace = e00 + e11 + e22
    square = e00 * e00 + e11 * e11 + e22 * e22 + 2.0 * (e01 * e01 + e02 * e02 + e12 * e12)
    energy = mu * square + 0.5 * lam * trace * trace
    two_mu, pressure = 2.0 * mu, lam * trace
    t00, t11, t22 = two_mu * e00 + pressure, two_mu * e11 + pressure, two_mu * e22 + pressure
    t01, t02, t12 = two_mu * e01, two_mu * e02, two_mu * e12
    stress = (
        r[0] * t00 + r[1] * t01 + r[2] * t02,
        r[0] * t01 + r[1] * t11 + r[2] * t12,
        r[0] * t02 + r[1] * t12 + r[2] * t22,
        r[3] * t00 + r[4] * t01 + r[5] * t02,
        r[3] * t01 + r[4] * t11 + r[5] * t12,
        r[3] * t02 + r[4] * t12 + r[5] * t22,
        r[6] * t00 + r[7] * t01 + r[8] * t02,
        r[6] * t01 + r[7] * t11 + r[8] * t12,
        r[6] * t02 + r[7] * t12 + r[8] * t22,
    )
    return energy, stress


@njit_called
def lame(p):
    """Lamé parameters (mu, lambda) [Pa] of small strains."""
    return p[0], p[1]


@njit_forwarding
def frame_strain(f, r):
    """tr(e) and the mean of |e_ii|, which the differentials of `elasticity` weigh their parts by."""
    e00 = r[0] * f[0] + r[3] * f[3] + r[6] * f[6] - 1.0
    e11 = r[1] * f[1] + r[4] * f[4] + r[7] * f[7] - 1.0
    e22 = r[2] * f[2] + r[5] * f[5] + r[8] * f[8] - 1.0
    return e00 + e11 + e22, (abs(e00) + abs(e11) + abs(e22)) / 3.0


@njit_called
def stretch_hessian(s0, s1, s2, p):
    """Second derivatives by the stretches (00, 11, 22, 01, 02, 12), then twist and flip eigenvalues of (01, 02, 12).

    psi = mu sum (s_i - 1)^2 + lambda/2 (sum s_i - 3)^2.
    """
    mu, lam = p[0], p[1]
    diagonal = 2.0 * mu + lam
    pull = 2.0 * (lam * (s0 + s1 + s2 - 3.0) - 2.0 * mu)
    flip = 2.0 * mu
    return (
        diagonal,
        diagonal,
        diagonal,
        lam,
        lam,
        lam,
        flip + pull / guarded(s0 + s1),
        flip + pull / guarded(s0 + s2),
        flip + pull / guarded(s1 + s2),
        flip,
        flip,
        flip,
    )


@njit_called
def guarded(total):
    """The sum of two stretches, kept off zero, where the rotation of an inverted element is undefined."""
    return max(total, 1e-6)
