"""What contacts do during a step: unilateral springs across their planes, and bristles along them.

A contact is a signed stencil: d = sum_i w_i u_i over rows of the system moves side a (w > 0) against side b (w < 0, or
none if b is led); a node may stand on both sides. With its plane of normal n, the gap g(u) = g0 + n.d of side a to it,
and the slip s(u) = s0 + (I - n n^T) d of its bristle, a contact has the energy

    k/2 min(g, 0)^2  +  H(|s|),   H(s) = k/2 s^2 up to k s = mu N, then straight on with slope mu N,

N the contact's pressure where it was looked at last. Both parts are convex, and their gradients are a push that never
pulls and Coulomb's friction, which holds a resting point by its bristle without any creep. k is a multiple of the
effective mass over dt^2, so a contact that is pressed stops its point within a step whatever the material is, and large
enough for the weight of the body; where the point still ends too deep, the plane is raised by that depth and the step
solved again (the method of multipliers). A plane that rises under what rolls on it drives it, so weight alone must not
need that.

For a linear solve each contact is one spring B, k across the plane if it is active and min(k, mu N / |s|) along it: a
quadratic that lies above the energy and touches it. Solve, look again which contacts are active and how far they slip,
repeat: a few passes find them (an active set), with the elastic stiffness made only once. The springs never enter the
sparse matrix: products are A p + sum J^T B J p, and the preconditioner's diagonal gets w^2 B.

Differs from the thesis on interactive co-rotational FEM, sec. 3.4.2.2: there pseudo-impulses are applied to the
candidate displacement after the linear solve, contact by contact, so that the material feels a contact only in the next
iteration and stiff bodies need many. Here contact and material are solved for together.
"""

import math
from typing import NamedTuple

import numpy as np

from jellycage.toolkit.compile_kernels import njit_called, njit_inside

SETTLED = 0.01  # a change of the forces below this fraction is not worth another pass
MOST_MOVES = 30  # by which points that are still too deep are moved out


class ContactRows(NamedTuple):
    """The contacts of a step, c of them, with w rows of the system each. The last five are written by the passes."""

    rows: np.ndarray
    """Shape (c, w)."""
    weights: np.ndarray
    """Signed, shape (c, w); padded with 0."""
    normal: np.ndarray
    """n, out of side b, shape (c, 3)."""
    gap: np.ndarray
    """g0 [m], shape (c,)."""
    slip: np.ndarray
    """s0 [m], shape (c, 3), along the plane."""
    stiffness: np.ndarray
    """k [N/m], shape (c,)."""
    friction: np.ndarray
    """mu, shape (c,)."""
    tolerance: np.ndarray
    """Depth of a point below its plane that is not worth another pass [m], shape (c,)."""
    raised: np.ndarray
    """How far the plane is raised so that the point ends at it: the multiplier over k [m], shape (c,)."""
    pressure: np.ndarray
    """N [N], shape (c,)."""
    slip_stiffness: np.ndarray
    """Stiffness along the plane in the linear solve [N/m], shape (c,)."""
    is_active: np.ndarray
    """Whether the spring across the plane acts in the linear solve, shape (c,)."""


@njit_called
def gap_and_slip(t, u, c):
    """g(u) of the raised plane and s(u) of a contact [m]."""
    ux = uy = uz = 0.0
    for a in range(t.rows.shape[1]):
        n, w = t.rows[c, a], t.weights[c, a]
        ux += w * u[n, 0]
        uy += w * u[n, 1]
        uz += w * u[n, 2]
    nx, ny, nz = t.normal[c, 0], t.normal[c, 1], t.normal[c, 2]
    along = nx * ux + ny * uy + nz * uz
    return (
        t.gap[c] - t.raised[c] + along,
        t.slip[c, 0] + ux - along * nx,
        t.slip[c, 1] + uy - along * ny,
        t.slip[c, 2] + uz - along * nz,
    )


@njit_called
def spread(t, c, fx, fy, fz, out_force):
    """Share the force on side a of a contact, and its reaction on side b, out to the rows."""
    for a in range(t.rows.shape[1]):
        n, w = t.rows[c, a], t.weights[c, a]
        out_force[n, 0] += w * fx
        out_force[n, 1] += w * fy
        out_force[n, 2] += w * fz


@njit_inside
def contact_energy_and_forces(t, u, out_force):
    """Energy [J] of all contacts at the displacements u (n, 3), friction with the pressures known; adds forces [N]."""
    total = 0.0
    for c in range(t.gap.shape[0]):
        g, dx, dy, dz = gap_and_slip(t, u, c)
        k = t.stiffness[c]
        push = -k * min(g, 0.0)
        total -= 0.5 * push * min(g, 0.0)
        most = t.friction[c] * t.pressure[c]
        d = math.sqrt(dx * dx + dy * dy + dz * dz)
        grip = k
        if k * d > most:
            grip = most / d
            total += most * (d - 0.5 * most / k)
        else:
            total += 0.5 * k * d * d
        fx = push * t.normal[c, 0] - grip * dx
        fy = push * t.normal[c, 1] - grip * dy
        fz = push * t.normal[c, 2] - grip * dz
        if push > 0.0 or most > 0.0:
            spread(t, c, fx, fy, fz, out_force)
    return total


@njit_called
def update_active_set(t, u, settled=SETTLED):
    """Which contacts are active at u, how hard they press, how well they grip; returns whether anything changed.

    What counts is a force that differs by more than a fraction `settled` of the greatest pressure.
    """
    greatest, change = 0.0, 0.0
    for c in range(t.gap.shape[0]):
        g, dx, dy, dz = gap_and_slip(t, u, c)
        k = t.stiffness[c]
        # What the spring that stood for the contact did, and what the contact does.
        push = -k * g if t.is_active[c] else 0.0
        pressure = -k * min(g, 0.0)
        most = t.friction[c] * pressure
        d = math.sqrt(dx * dx + dy * dy + dz * dz)
        grip = k if k * d <= most else most / d
        change = max(change, abs(pressure - push), abs(grip - t.slip_stiffness[c]) * d)
        greatest = max(greatest, pressure)
        t.is_active[c], t.pressure[c], t.slip_stiffness[c] = g < 0.0, pressure, grip
    return change > settled * greatest


@njit_inside
def stabilise_positions(t, count, total, out_u):
    """Move nodes until no point is deeper below its plane than it may; count (n,) and total (n, 3) are scratch.

    Eqs. (3.54)-(3.57) of the thesis: each contact moves its point by the least change of its nodes, nodes of several
    contacts by the mean. What the solver could not do in its passes, for very fast or thin things.
    """
    for _ in range(MOST_MOVES):
        for n in range(count.shape[0]):
            count[n] = total[n, 0] = total[n, 1] = total[n, 2] = 0.0
        is_fine = True
        for c in range(t.gap.shape[0]):
            g, _, _, _ = gap_and_slip(t, out_u, c)
            depth = -(g + t.raised[c]) - t.tolerance[c]
            if depth <= 0.0:
                continue
            is_fine = False
            square = 0.0
            for a in range(t.rows.shape[1]):
                square += t.weights[c, a] * t.weights[c, a]
            for a in range(t.rows.shape[1]):
                n, w = t.rows[c, a], t.weights[c, a]
                # A node counts as far as it carries the point.
                share = abs(w)
                count[n] += share
                for i in range(3):
                    total[n, i] += share * (w / square) * depth * t.normal[c, i]
        if is_fine:
            return
        for n in range(count.shape[0]):
            if count[n] > 0.0:
                for i in range(3):
                    out_u[n, i] += total[n, i] / count[n]


@njit_inside
def raise_multipliers(t, u):
    """Raise the plane of each contact that is active at u by its depth; returns False if none is too deep or high.

    One step of the method of multipliers: k raised is the pressure without which the point would be below the plane.
    """
    is_fine = True
    for c in range(t.gap.shape[0]):
        if t.is_active[c]:
            g, _, _, _ = gap_and_slip(t, u, c)
            is_fine = is_fine and abs(g + t.raised[c]) <= t.tolerance[c]
    if is_fine:
        return False
    for c in range(t.gap.shape[0]):
        if t.is_active[c]:
            g, _, _, _ = gap_and_slip(t, u, c)
            t.raised[c] = -g
    return True


@njit_called
def spring_force(t, u, c):
    """Force [N] on side a, at u, of the spring that stands for a contact in the linear solve."""
    g, dx, dy, dz = gap_and_slip(t, u, c)
    push = -t.stiffness[c] * g if t.is_active[c] else 0.0
    grip = t.slip_stiffness[c]
    return (
        push * t.normal[c, 0] - grip * dx,
        push * t.normal[c, 1] - grip * dy,
        push * t.normal[c, 2] - grip * dz,
    )


@njit_inside
def add_spring_forces(t, u, out_force):
    """Add the forces [N] at u of the springs that stand for the contacts in a linear solve."""
    for c in range(t.gap.shape[0]):
        if t.is_active[c] or t.slip_stiffness[c] > 0.0:
            fx, fy, fz = spring_force(t, u, c)
            spread(t, c, fx, fy, fz, out_force)


@njit_called
def contact_block(t, c):
    """B = k n n^T if active + slip stiffness (I - n n^T), as (00, 11, 22, 01, 02, 12) [N/m]."""
    nx, ny, nz = t.normal[c, 0], t.normal[c, 1], t.normal[c, 2]
    grip = t.slip_stiffness[c]
    k = (t.stiffness[c] if t.is_active[c] else 0.0) - grip
    return (
        grip + k * nx * nx,
        grip + k * ny * ny,
        grip + k * nz * nz,
        k * nx * ny,
        k * nx * nz,
        k * ny * nz,
    )


@njit_called
def add_contact_products(t, p, out):
    """out += sum J^T B J p, for flat arrays (3n,)."""
    rows, weights, normal = t.rows, t.weights, t.normal
    stiffness, slip_stiffness, is_active = t.stiffness, t.slip_stiffness, t.is_active
    for c in range(rows.shape[0]):
        grip = slip_stiffness[c]
        if not (is_active[c] or grip > 0.0):
            continue
        dx = dy = dz = 0.0
        for a in range(rows.shape[1]):
            i, w = np.uint64(3 * rows[c, a]), weights[c, a]
            dx += w * p[i]
            dy += w * p[i + np.uint64(1)]
            dz += w * p[i + np.uint64(2)]
        nx, ny, nz = normal[c, 0], normal[c, 1], normal[c, 2]
        k = (stiffness[c] if is_active[c] else 0.0) - grip
        along = k * (nx * dx + ny * dy + nz * dz)
        fx, fy, fz = grip * dx + along * nx, grip * dy + along * ny, grip * dz + along * nz
        for a in range(rows.shape[1]):
            i, w = np.uint64(3 * rows[c, a]), weights[c, a]
            out[i] += w * fx
            out[i + np.uint64(1)] += w * fy
            out[i + np.uint64(2)] += w * fz


@njit_called
def add_contact_diagonal(t, out_diagonal):
    """Add w^2 B of every row to the diagonal blocks (n, 6) as (00, 11, 22, 01, 02, 12)."""
    for c in range(t.gap.shape[0]):
        if not (t.is_active[c] or t.slip_stiffness[c] > 0.0):
            continue
        block = contact_block(t, c)
        for a in range(t.rows.shape[1]):
            n, w = t.rows[c, a], t.weights[c, a]
            for m in range(6):
                out_diagonal[n, m] += w * w * block[m]
