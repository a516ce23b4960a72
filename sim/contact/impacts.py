"""How finely a step is cut while a body strikes something, so that its rebound does not depend on the step.

A blow compresses a body and lets it spring back within a few times L / c, in which waves cross it: L is the cube root
of its volume and c = sqrt(E / rho). Steps that are longer than a small part of that see neither and leave the body
dead on the floor. So a step is cut into halves, quarters and so on around a blow, from the moment that is foreseen
until the body has sprung back, and is not longer either than points take to cross a small part of the body. A body
that is struck about as fast as its waves run is crushed, and its nodes go far against it. Steps that see little of
that would damp most of the rebound away, the more so where elements are inside out: they are shorter still.
"""

import numpy as np

from jellycage.sim.contact.candidates import Candidates, dots, parted
from jellycage.sim.contact.strikes_kernels import PressedContacts
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.presets import gravity_strength
from jellycage.sim.soft.state import Memory, State

RESOLVED = 0.1  # of L / c: longest step during a blow
CROSSED = 0.025  # of L: how far points that arrive go in a step
DEFORMED = 0.05  # of L: how far nodes go against their parts in a step, and
CRUSHED = (
    0.015  # of L: how far while elements are inside out, or nodes faster against their parts than
)
OUTRUN = 2.0  # times the waves of the body
LASTING = 3.0  # L / c after the last points arrived a blow is over
HARMLESS = 0.05  # of L: a rebound by this height is not worth it
GROWTH = 2.0  # of steps, one to the next: a method with a history wants no more


def is_under_blow(body: SoftBody, memory: Memory) -> bool:
    """Whether something struck a body and it has not sprung back yet."""
    return bool(memory["impact_time"] < LASTING * body.length / body.wave_speed)


class Impacts:
    """Knows how long the next step of one body may be.

    A memory has the `impact_time` since the last blow [s], the length of the `step_before` [s], and of each part
    whether it `is_touched`.
    """

    def __init__(self, body: SoftBody, gravity):
        self.body, self.part, self.mass = body, body.part, body.mass
        self.part_mass = np.bincount(body.part, body.mass)
        self.length, self.crossing = body.length, body.length / body.wave_speed
        self.slowest = np.sqrt(2.0 * gravity_strength(gravity) * HARMLESS * self.length)

    @staticmethod
    def start_memory(body: SoftBody) -> Memory:
        """What is remembered of a body at its start: no blow ever."""
        return {
            "impact_time": np.array(np.inf),
            "step_before": np.array(np.inf),
            "is_touched": np.zeros(body.part_count, np.bool_),
        }

    def longest_step(self, state: State) -> float:
        """How long the next step may be by what was so far [s]."""
        memory = state.memory
        longest = GROWTH * float(memory["step_before"])
        if is_under_blow(self.body, memory):
            longest = min(longest, RESOLVED * self.crossing)
            deforming = state.v - self._centre_velocities(state.v)[self.part]
            fastest = np.sqrt((deforming * deforming).sum(axis=1).max())
            if fastest > self.slowest:
                is_crushed = (
                    fastest > OUTRUN * self.body.wave_speed or memory["collapse_pair"].any()
                )
                way = CRUSHED if is_crushed else DEFORMED
                longest = min(longest, way * self.length / fastest)
        return longest

    def foreseen(self, found: Candidates, v, dt: float) -> float:
        """How long it may be by the candidates that were found for a step of dt [s] from node velocities v (n, 3)."""
        place = found.carried / dt
        speed = self._speeds(found, place, v)
        gap = found.gap + dots(found.carried, found.normal)
        is_blow = (speed > self.slowest) & (gap > -CROSSED * self.length)
        if not is_blow.any():
            return np.inf
        speed = speed[is_blow]
        soonest = (np.maximum(gap[is_blow], 0.0) / speed).min()
        cut = min(RESOLVED * self.crossing, CROSSED * self.length / speed.max())
        return max(cut, soonest)

    def note(self, memory: Memory, pressed: PressedContacts | None, v, dt: float) -> None:
        """Take note of a step of dt [s] that began with velocities v (n, 3)."""
        memory["step_before"][...] = dt
        memory["is_touched"][:] = False
        memory["impact_time"] += dt
        if pressed is None:
            return
        memory["is_touched"][self.part[pressed.rows[pressed.weights != 0.0]]] = True
        if pressed.is_struck.any():
            speed = self._speeds(pressed, pressed.velocity, v)
            if (speed[pressed.is_struck] > self.slowest).any():
                memory["impact_time"][...] = 0.0

    def _speeds(self, contacts: Candidates | PressedContacts, place, v):
        """At which points, and the centres of their parts, come nearer to places that move at (c, 3) [m/s], shape (c,).

        The slower one of both: a limb that swings against something is no blow to the body.
        """
        speed = -dots(parted(contacts.weights, contacts.rows, v) - place, contacts.normal)
        if not (speed > self.slowest).any():
            return speed
        centre = self._centre_velocities(v)[self.part[contacts.rows[:, 0]]]
        return np.minimum(speed, -dots(centre - place, contacts.normal))

    def _centre_velocities(self, v):
        """Of the parts [m/s], shape (parts, 3)."""
        momentum = np.stack([np.bincount(self.part, self.mass * column) for column in v.T], axis=1)
        return momentum / self.part_mass[:, None]
