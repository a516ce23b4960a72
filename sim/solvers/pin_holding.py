"""Pins as a solver sees them during one step: hard ones a projection, soft ones springs.

The projection depends only on which points are hard, so it is made once and again when that changes.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.maths.keyed import Keyed
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.constraints import (
    Projection,
    chosen_rows,
    constraint_rows,
    is_reliable,
    joined_rows,
    prescribed,
    projection,
    row_values,
)
from jellycage.sim.soft.constraints_kernels import find_distances
from jellycage.sim.soft.pins import spring_rate
from jellycage.sim.solvers.springs_kernels import NO_SPRINGS, Springs

NOT_MOVED = np.zeros((0, 3))
ARRIVED = 1e-14  # distance to a hard pin's target, relative to the body, that is not worth a move


@dataclass(frozen=True, eq=False)
class PinsInStep:
    """What holds a body during one step."""

    projection: Projection
    """The motions that hard pins leave."""
    moved: NDArray[np.float64]
    """Displacement that takes the hard pins to their targets, shape (n, 3) [m]; without rows if they are there."""
    springs: Springs
    """Soft pins."""
    is_free: NDArray[np.bool_]
    """Whether each part of the body is held by no hard pin."""
    is_flying: NDArray[np.bool_]
    """Whether it is held by no pin at all."""


class PinTracker:
    """The pins of one body; what does not change from step to step is worked out once."""

    def __init__(self, body: SoftBody):
        self.body = body
        self.start = [pin.points.positions(body.start_positions()) for pin in body.pins]
        self.is_steady = not any(
            isinstance(quantity, Keyed) or callable(quantity)
            for pin in body.pins
            for quantity in (pin.target, pin.strength)
        )
        self.hard: list[NDArray] = []
        self.is_met = np.zeros(0, bool)
        self.rows = joined_rows([])
        self.projection = projection(self.rows, len(body.mass))
        self._read(0.0)

    def during(self, x, end: float, dt: float) -> PinsInStep:
        """What holds the body in the step of length dt that ends at time `end` [s], from positions x (n, 3)."""
        if not self.is_steady:
            self._read(end)
        moved = self._moved(x)
        if not len(moved) and not self.has_springs:
            return self.at_rest
        springs = self._springs(x, dt) if self.has_springs else NO_SPRINGS
        return replace(self.at_rest, moved=moved, springs=springs)

    def _read(self, time):
        """Strengths and targets at a time, and what follows from them."""
        body, pins = self.body, self.body.pins
        self.strengths = [pin.strengths(time) for pin in pins]
        self.targets = [
            pin.targets(start, time) for pin, start in zip(pins, self.start, strict=True)
        ]
        self.has_springs = any(((s > 0.0) & (s < 1.0)).any() for s in self.strengths)
        hard = [np.flatnonzero(strength >= 1.0) for strength in self.strengths]
        if not self.hard or any(
            not np.array_equal(a, b) for a, b in zip(hard, self.hard, strict=True)
        ):
            parts = zip(pins, hard, strict=True)
            self.rows = joined_rows(
                [constraint_rows(pin.points, pin.directions, which) for pin, which in parts]
            )
            self.is_met = is_reliable(self.rows, len(body.mass))
            self.rows = chosen_rows(self.rows, self.is_met)
            self.projection = projection(self.rows, len(body.mass))
            self.hard = hard
        parts = zip(pins, self.targets, hard, strict=True)
        goals = [row_values(target, pin.directions, which) for pin, target, which in parts]
        self.goal = np.concatenate([np.zeros(0), *goals])[self.is_met]
        self.near = ARRIVED * (body.size + np.abs(self.goal).max(initial=0.0))
        is_free, is_flying = self._without_pins(1.0), self._without_pins(1e-300)
        self.at_rest = PinsInStep(self.projection, NOT_MOVED, NO_SPRINGS, is_free, is_flying)

    def _without_pins(self, least):
        """Whether each part of the body has no pin of at least some strength."""
        result = np.ones(self.body.part_count, bool)
        for pin, strength in zip(self.body.pins, self.strengths, strict=True):
            held = strength >= least
            nodes, weights = pin.points.nodes[held], pin.points.weights[held]
            result[self.body.part[nodes[weights != 0.0]]] = False
        return result

    def _moved(self, x):
        if not len(self.rows):
            return NOT_MOVED
        wanted = np.empty(len(self.rows))
        r = self.rows
        if find_distances(r.start, r.dof, r.weight, x.reshape(-1), self.goal, self.near, wanted):
            return NOT_MOVED
        return prescribed(self.rows, wanted, len(x)).reshape(-1, 3)

    def _springs(self, x, dt):
        """Stiffness k and damping c make one spring of k + c/dt towards (k target + c/dt p) / (k + c/dt)."""
        width = max(pin.points.nodes.shape[1] for pin in self.body.pins)
        parts = []
        for pin, strength, target in zip(self.body.pins, self.strengths, self.targets, strict=True):
            soft = np.flatnonzero((strength > 0.0) & (strength < 1.0))
            mass = pin.points.effective_mass(self.body.mass)[soft]
            rate = spring_rate(strength[soft])
            k, c = mass * rate * rate, 2.0 * mass * rate / dt
            pull = k[:, None] * target[soft] + c[:, None] * pin.points.positions(x)[soft]
            pad = ((0, 0), (0, width - pin.points.nodes.shape[1]))
            d = pin.directions
            blocked = np.einsum("ci,cj->ij", d, d)[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
            parts.append(
                (
                    np.pad(pin.points.nodes[soft], pad),
                    np.pad(pin.points.weights[soft], pad),
                    k + c,
                    np.tile(blocked, (len(soft), 1)),
                    pull / (k + c)[:, None],
                )
            )
        return Springs(*(np.concatenate(column) for column in zip(*parts, strict=True)))
