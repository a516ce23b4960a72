"""What contacts do during a step: unilateral springs across their planes, and bristles along them.

A contact of a point p = J x with a plane of normal n has, with the gap g(u) = g0 + n.Ju of the point to the plane and
the slip d(u) = d0 + (I - n n^T) J u of its bristle,

    k/2 min(g, 0)^2  +  H(|d|),   H(d) = k/2 d^2 up to k d = mu N, then straight on with slope mu N,

N the contact's pressure where it was looked at last. Both parts are convex, and their gradients are a push that never
pulls and Coulomb's friction, which holds a resting point by its bristle without any creep. k is a multiple of the
effective mass over dt^2, so a contact that is pressed stops its point within a step whatever the material is; where
the point still ends too deep, the plane is raised by that depth and the step solved again (the method of multipliers).

For a linear solve each contact is one spring, k across the plane if it is pressed and min(k, mu N / |d|) along it:
a quadratic that lies above the energy and touches it. Solve, look again which contacts are pressed and how far they
slip, repeat: a few passes find them (an active set), with the elastic stiffness made only once.

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


class Touch(NamedTuple):
    """The contacts of a step. `pressure`, `grip` and `is_pressed` are written by the passes."""

    nodes: np.ndarray
    """Shape (c, a)."""
    weights: np.ndarray
    """Shape (c, a)."""
    normal: np.ndarray
    """Shape (c, 3)."""
    gap: np.ndarray
    """g0 [m], shape (c,)."""
    raised: np.ndarray
    """How far the plane is raised so that the point ends at it and not below [m], shape (c,); written by the passes."""
    slip: np.ndarray
    """d0 [m], shape (c, 3), along the plane."""
    stiffness: np.ndarray
    """k [N/m], shape (c,)."""
    friction: np.ndarray
    """mu, shape (c,)."""
    pressure: np.ndarray
    """N [N], shape (c,)."""
    grip: np.ndarray
    """Stiffness along the plane in the linear solve [N/m], shape (c,)."""
    is_pressed: np.ndarray
    """Shape (c,)."""
    tolerance: np.ndarray
    """Depth of a point below its plane that is not worth another pass [m], shape (c,)."""


@njit_called
def gap_and_slip(t, u, c):
    """g(u) of the raised plane and d(u) of a contact [m]."""
    ux = uy = uz = 0.0
    for a in range(t.nodes.shape[1]):
        n, w = t.nodes[c, a], t.weights[c, a]
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
    """Share a force on a contact's point out to its nodes."""
    for a in range(t.nodes.shape[1]):
        n, w = t.nodes[c, a], t.weights[c, a]
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
def look_at_contacts(t, u):
    """Which contacts are pressed at u, how hard, and how well they grip; returns whether anything of note changed.

    Of note is a force that differs by more than a fraction of the greatest pressure.
    """
    greatest, change = 0.0, 0.0
    for c in range(t.gap.shape[0]):
        g, dx, dy, dz = gap_and_slip(t, u, c)
        k = t.stiffness[c]
        # What the spring that stood for the contact did, and what the contact does.
        push = -k * g if t.is_pressed[c] else 0.0
        pressure = -k * min(g, 0.0)
        most = t.friction[c] * pressure
        d = math.sqrt(dx * dx + dy * dy + dz * dz)
        grip = k if k * d <= most else most / d
        change = max(change, abs(pressure - push), abs(grip - t.grip[c]) * d)
        greatest = max(greatest, pressure)
        t.is_pressed[c], t.pressure[c], t.grip[c] = g < 0.0, pressure, grip
    return change > SETTLED * greatest


@njit_inside
def move_out(t, count, total, out_u):
    """Move nodes until no point is deeper below its plane than it may; count (n,) and total (n, 3) are scratch.

    Eqs. (3.54)-(3.57) of the thesis: each contact moves its point by the lightest change of its nodes, nodes of several
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
            for a in range(t.nodes.shape[1]):
                square += t.weights[c, a] * t.weights[c, a]
            for a in range(t.nodes.shape[1]):
                n, w = t.nodes[c, a], t.weights[c, a]
                # A node counts as far as it carries the point.
                count[n] += w
                for i in range(3):
                    total[n, i] += w * (w / square) * depth * t.normal[c, i]
        if is_fine:
            return
        for n in range(count.shape[0]):
            if count[n] > 0.0:
                for i in range(3):
                    out_u[n, i] += total[n, i] / count[n]


@njit_inside
def raise_planes(t, u):
    """Raise the plane of each contact that is pressed at u by its depth; returns False if none is too deep or high.

    One step of the method of multipliers: k raised is the pressure without which the point would be below the plane.
    """
    is_fine = True
    for c in range(t.gap.shape[0]):
        if t.is_pressed[c]:
            g, _, _, _ = gap_and_slip(t, u, c)
            is_fine = is_fine and abs(g + t.raised[c]) <= t.tolerance[c]
    if is_fine:
        return False
    for c in range(t.gap.shape[0]):
        if t.is_pressed[c]:
            g, _, _, _ = gap_and_slip(t, u, c)
            t.raised[c] = -g
    return True


@njit_inside
def add_contact_forces(t, u, out_force):
    """Add the forces [N] at u of the springs that stand for the contacts in a linear solve."""
    for c in range(t.gap.shape[0]):
        if t.is_pressed[c] or t.grip[c] > 0.0:
            g, dx, dy, dz = gap_and_slip(t, u, c)
            push = -t.stiffness[c] * g if t.is_pressed[c] else 0.0
            grip = t.grip[c]
            spread(
                *(t, c, push * t.normal[c, 0] - grip * dx, push * t.normal[c, 1] - grip * dy),
                *(push * t.normal[c, 2] - grip * dz, out_force),
            )


@njit_called
def contact_block(t, c):
    """k n n^T if pressed + grip (I - n n^T), as (00, 11, 22, 01, 02, 12) [N/m]."""
    nx, ny, nz = t.normal[c, 0], t.normal[c, 1], t.normal[c, 2]
    grip = t.grip[c]
    k = (t.stiffness[c] if t.is_pressed[c] else 0.0) - grip
    return (
        grip + k * nx * nx,
        grip + k * ny * ny,
        grip + k * nz * nz,
        k * nx * ny,
        k * nx * nz,
        k * ny * nz,
    )
