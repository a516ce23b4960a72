"""What degenerate elements must not do to a body as a whole: spin it, give it energy, or keep it folded for good.

Their forces belong to a frame that is not that of their deformation and that changes from step to step, so they have a
net torque and are not conservative (thesis on interactive co-rotational FEM, sec. 4.4.6). The thesis leaves both to
the damping of implicit Euler; at short time steps that is not enough. Here the torque is cancelled, and the energy
that a change of frames brings in is taken from the velocities. A body that keeps turning elements inside out is calmed
as well: no material can store what it does. One that cannot help itself is pulled to its unfolded shape, in the end
harder than its elements resist: among stiff neighbours a fold is an equilibrium, into which rescued elements fall back.
"""

import math

import numpy as np

from jellycage.sim.maths.matrix3_kernels import solve_symmetric
from jellycage.sim.rotations.svd_kernels import svd, svd_rotation
from jellycage.sim.solvers.rigid_motion_kernels import (
    add_rigid_motion,
    angular_sums,
    part_inertia,
    rigid_motion,
)
from jellycage.toolkit.compile_kernels import njit

COLLAPSED = 0.9  # a body whose least stretch as a whole is below this is pulled to its rest size
TORN = (
    2.5  # and one whose greatest is above this: scattered nodes must not be pulled apart for good
)


@njit
def cancel_torque(x, force, mass, part, is_free, dt, out_v):
    """Take out of the velocities the spin that internal forces [N] with a net torque gave each free part in dt [s]."""
    count = is_free.shape[0]
    centre, inertia = part_inertia(x, mass, part, count)
    spin = angular_sums(x, force, centre, part, count)
    # A part on a line has no inertia about it, and turns about it at no cost: no spin is taken from it.
    for c in range(count):
        if is_free[c]:
            spin[c] = solve_symmetric(inertia[c], dt * spin[c, 0], dt * spin[c, 1], dt * spin[c, 2])
        else:
            spin[c] = 0.0
    add_rigid_motion(x, centre, np.zeros((count, 3)), spin, part, -1.0, out_v)


@njit
def calm(x, mass, part, count, fraction, most, debt, out_v):
    """Take a fraction of the energy of the motion that is not rigid, and of a debt [J] what a second one affords.

    Returns what is still owed.
    """
    centre, velocity, spin = rigid_motion(x, out_v, mass, part, count)
    add_rigid_motion(x, centre, velocity, spin, part, -1.0, out_v)
    kinetic = 0.0
    for i in range(x.shape[0]):
        for k in range(3):
            kinetic += 0.5 * mass[i] * out_v[i, k] * out_v[i, k]
    paid = min(debt, (1.0 - fraction) * most * kinetic)
    scale = math.sqrt(max(1.0 - fraction - paid / kinetic, 0.0)) if kinetic > 0.0 else 0.0
    for i in range(x.shape[0]):
        for k in range(3):
            out_v[i, k] *= scale
    add_rigid_motion(x, centre, velocity, spin, part, 1.0, out_v)
    return debt - paid


@njit
def slow_down(x, mass, part, is_flying, drifting, pace, fastest, out_v):
    """Slow parts down whose nodes move faster than `fastest` (c,) [m/s] against their pins, or the flying part.

    drifting, pace: see `PinsInStep`. All nodes of a part by the same share, so that flying ones keep their momenta.
    Returns whether there are any.
    """
    count = is_flying.shape[0]
    centre, velocity, spin = rigid_motion(x, out_v, mass, part, count)
    for c in range(count):
        if not is_flying[c]:
            d, p = drifting[c], pace[c]
            a, b, e = velocity[c, 0] - p[0], velocity[c, 1] - p[1], velocity[c, 2] - p[2]
            velocity[c, 0] = p[0] + d[0] * a + d[3] * b + d[4] * e
            velocity[c, 1] = p[1] + d[3] * a + d[1] * b + d[5] * e
            velocity[c, 2] = p[2] + d[4] * a + d[5] * b + d[2] * e
            spin[c] = 0.0
    moving = out_v.copy()
    add_rigid_motion(x, centre, velocity, spin, part, -1.0, moving)
    excess = np.ones(count)
    for i in range(x.shape[0]):
        speed = math.sqrt(moving[i, 0] ** 2 + moving[i, 1] ** 2 + moving[i, 2] ** 2)
        excess[part[i]] = max(excess[part[i]], speed / fastest[part[i]])
    if excess.max() == 1.0:
        return False
    for i in range(x.shape[0]):
        share = 1.0 - 1.0 / excess[part[i]]
        for k in range(3):
            out_v[i, k] -= share * moving[i, k]
    return True


@njit
def unfolded(x, rest, mass, part, count):
    """Where the nodes would be if each part were only moved, turned and stretched as a whole, shape (n, 3) [m].

    The affine motion of the rest shape that is nearest to x (n, 3), or the rigid one if that collapses or tears it.
    Pulling every node there by its mass changes neither momentum nor angular momentum (Mueller, Heidelberger,
    Teschner, Gross 2005, "Meshless deformations based on shape matching", doi:10.1145/1073204.1073216).
    """
    here, _ = part_inertia(x, mass, part, count)
    there, _ = part_inertia(rest, mass, part, count)
    both = np.zeros((count, 9))  # sum of m (x - here) (rest - there)^T
    spread = np.zeros(
        (count, 6)
    )  # sum of m (rest - there) (rest - there)^T as (00, 11, 22, 01, 02, 12)
    for i in range(x.shape[0]):
        c, m = part[i], mass[i]
        r0, r1, r2 = rest[i, 0] - there[c, 0], rest[i, 1] - there[c, 1], rest[i, 2] - there[c, 2]
        for j in range(3):
            d = m * (x[i, j] - here[c, j])
            both[c, 3 * j] += d * r0
            both[c, 3 * j + 1] += d * r1
            both[c, 3 * j + 2] += d * r2
        spread[c, 0] += m * r0 * r0
        spread[c, 1] += m * r1 * r1
        spread[c, 2] += m * r2 * r2
        spread[c, 3] += m * r0 * r1
        spread[c, 4] += m * r0 * r2
        spread[c, 5] += m * r1 * r2
    fit = np.empty((count, 9))
    for c in range(count):
        b = both[c]
        for j in range(3):
            fit[c, 3 * j : 3 * j + 3] = solve_symmetric(
                spread[c], b[3 * j], b[3 * j + 1], b[3 * j + 2]
            )
        f = fit[c]
        _, stretch, _ = svd((f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8]))
        if not (stretch[2] > COLLAPSED and stretch[0] < TORN):
            r, _, _, _, _ = svd_rotation((b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8]))
            for k in range(9):
                fit[c, k] = r[k]
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        c = part[i]
        r0, r1, r2 = rest[i, 0] - there[c, 0], rest[i, 1] - there[c, 1], rest[i, 2] - there[c, 2]
        for j in range(3):
            f = fit[c, 3 * j : 3 * j + 3]
            out[i, j] = here[c, j] + f[0] * r0 + f[1] * r1 + f[2] * r2
    return out
