"""Contacts that closed in this step: the velocities that they leave.

A method with a history of velocities sees a point that comes to a dead stop turn round: Gear's formula makes a rebound
of half its speed of it. So a step ends, for contacts that were not pressed before it, with one blow each: afterwards
the point moves across its plane as the plane does, along it as well if it sticks, and if it slips the blow has its
share of friction. What the contacts gave in that step, blow included, is then known and can be left out of the history.
"""

import math
from typing import NamedTuple

import numpy as np

from jellycage.toolkit.compile_kernels import njit

MOST_SWEEPS = 20  # over the blows, each of which sees the ones before
SETTLED = (
    1e-3  # of the fastest point at first: a change of velocity that is not worth another sweep
)


class PressedContacts(NamedTuple):
    """Contacts that are pressed at the end of a step, c of them, with w rows each."""

    rows: np.ndarray
    """Shape (c, w)."""
    weights: np.ndarray
    """Signed, shape (c, w); padded with 0."""
    normal: np.ndarray
    """Out of side b, shape (c, 3)."""
    velocity: np.ndarray
    """Of the place on side b, if that is led [m/s], shape (c, 3)."""
    force: np.ndarray
    """On side a [N], shape (c, 3)."""
    pressure: np.ndarray
    """The part of it along the normal [N], shape (c,)."""
    restitution: np.ndarray
    """Shape (c,)."""
    is_sticking: np.ndarray
    """Whether friction holds the point, shape (c,)."""
    is_struck: np.ndarray
    """Whether it was not pressed before the step, shape (c,)."""


@njit
def stop_strikes(contacts, mass, step, out_v, out_change):
    """Let struck points move as their places do: adds the blows to the node velocities out_v (n, 3) [m/s].

    mass (n,) [kg]; step (n,) [s]: for which a force of this step acts. out_change (n, 3) [m/s]: what these contacts
    changed the velocities by in this step, forces and blows.
    """
    rows, weights, force = contacts.rows, contacts.weights, contacts.force
    struck = np.flatnonzero(contacts.is_struck)
    for c in struck:
        for a in range(rows.shape[1]):
            n, w = rows[c, a], weights[c, a]
            for k in range(3):
                out_change[n, k] += w * step[n] / mass[n] * force[c, k]
    fastest = 0.0
    for sweep in range(MOST_SWEEPS):
        greatest = 0.0
        for c in struck:
            nx, ny, nz = contacts.normal[c, 0], contacts.normal[c, 1], contacts.normal[c, 2]
            rx, ry, rz = (
                -contacts.velocity[c, 0],
                -contacts.velocity[c, 1],
                -contacts.velocity[c, 2],
            )
            lightness = 0.0
            for a in range(rows.shape[1]):
                n, w = rows[c, a], weights[c, a]
                lightness += w * w / mass[n]
                rx += w * out_v[n, 0]
                ry += w * out_v[n, 1]
                rz += w * out_v[n, 2]
            if not contacts.is_sticking[c]:
                # Along the force: as much friction per push as the contact has.
                along = rx * nx + ry * ny + rz * nz
                share = along / contacts.pressure[c]
                rx, ry, rz = share * force[c, 0], share * force[c, 1], share * force[c, 2]
            greatest = max(greatest, math.sqrt(rx * rx + ry * ry + rz * rz))
            for a in range(rows.shape[1]):
                n = rows[c, a]
                share = weights[c, a] / (mass[n] * lightness)
                for k in range(3):
                    r = (rx, ry, rz)[k]
                    out_v[n, k] -= share * r
                    out_change[n, k] -= share * r
        if sweep == 0:
            fastest = greatest
        if greatest <= SETTLED * fastest:
            break
