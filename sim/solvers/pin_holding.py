"""Pins as a solver sees them during one step.

Hard pins are a projection where that is exact and cheap: nodes, and points whose rows leave each other room. Where more
points are pinned than the cage has freedom, or nearly so, they are springs, stiff against everything that the nodes
feel: the surface goes where it is asked to as closely as the cage can (least squares), and nothing leaps. Pins below
full strength are springs of their own rate.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.maths.keyed import Keyed
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.constraints import (
    Projection,
    can_be_met,
    chosen_rows,
    constraint_rows,
    joined_rows,
    prescribed,
    projection,
    row_values,
)
from jellycage.sim.soft.constraints_kernels import find_distances
from jellycage.sim.soft.pins import spring_rate
from jellycage.sim.solvers.pin_springs import pin_springs
from jellycage.sim.solvers.springs_kernels import NO_SPRINGS, Springs

NOT_MOVED = np.zeros((0, 3))
ARRIVED = 1e-14  # distance to a hard pin's target, relative to the body, that is not worth a move
FASTEST_LED = 0.1  # sizes per step that a target is led: more is a jump
NOT_BLOCKED = 1e-9  # sum of squared cosines with what pins hold: a part may slide there
HARDNESS = 100.0  # of the springs of hard pins together, in what their nodes feel of inertia and elasticity


@dataclass(frozen=True, eq=False)
class PinsInStep:
    """What holds a body during one step."""

    projection: Projection
    """The motions that hard pins leave."""
    moved: NDArray[np.float64]
    """Displacement that takes the hard pins to their targets, shape (n, 3) [m]; without rows if they are there."""
    springs: Springs
    """The other pins."""
    is_free: NDArray[np.bool_]
    """Whether no node of each part of the body is held exactly."""
    is_flying: NDArray[np.bool_]
    """Whether it is held by no pin at all."""
    sliding: NDArray[np.float64]
    """Projector on the translations that hard pins leave it, (00, 11, 22, 01, 02, 12), shape (parts, 6)."""


class PinTracker:
    """The pins of one body; what does not change from step to step is worked out once.

    Points are counted through all pins.
    """

    def __init__(self, body: SoftBody):
        self.body, pins = body, body.pins
        self.start = [pin.points.positions(body.start_positions()) for pin in pins]
        self.is_steady = not any(
            isinstance(quantity, Keyed) or callable(quantity)
            for pin in pins
            for quantity in (pin.target, pin.strength)
        )
        width = max((pin.points.nodes.shape[1] for pin in pins), default=1)
        self.nodes, self.weights = np.zeros((0, width), np.int32), np.zeros((0, width))
        self.blocked, self.mass, self.row_point = np.zeros((0, 6)), np.zeros(0), np.zeros(0, int)
        self.row_normal = np.zeros((0, 3))
        for pin in pins:
            points, directions = pin.points, pin.directions
            pad = ((0, 0), (0, width - points.nodes.shape[1]))
            own = len(self.nodes) + np.arange(len(points))
            self.row_point = np.append(self.row_point, np.repeat(own, len(directions)))
            normals = np.tile(directions, (len(points), 1))
            self.row_normal = np.append(self.row_normal, normals, axis=0)
            self.nodes = np.append(self.nodes, np.pad(points.nodes, pad, mode="edge"), axis=0)
            self.weights = np.append(self.weights, np.pad(points.weights, pad), axis=0)
            self.blocked = np.append(self.blocked, _blocked(pin), axis=0)
            self.mass = np.append(self.mass, points.effective_mass(body.mass))
        self.all_rows = joined_rows(
            [
                constraint_rows(pin.points, pin.directions, np.arange(len(pin.points)))
                for pin in pins
            ]
        )
        self.strength: NDArray | None = None
        self._read(0.0)

    def during(self, x, end: float, dt: float) -> PinsInStep:
        """What holds the body in the step of length dt that ends at time `end` [s], from positions x (n, 3)."""
        if not self.is_steady:
            self._read(end)
        moved = self._moved(x)
        if not len(moved) and not len(self.sprung):
            return self.at_rest
        springs = self._springs(x, end, dt) if len(self.sprung) else NO_SPRINGS
        return replace(self.at_rest, moved=moved, springs=springs)

    def _read(self, time):
        """Strengths and targets at a time, and what follows from them."""
        body, pins = self.body, self.body.pins
        strength = np.concatenate([np.zeros(0), *(pin.strengths(time) for pin in pins)])
        if self.strength is None or not np.array_equal(strength, self.strength):
            self._share_out(strength)
        targets = self._targets(time)
        self.target = np.concatenate([np.zeros((0, 3)), *targets])
        parts = zip(pins, targets, strict=True)
        goals = [
            row_values(target, pin.directions, np.arange(len(target))) for pin, target in parts
        ]
        self.goal = np.concatenate([np.zeros(0), *goals])[self.is_row_exact]
        self.near = ARRIVED * (body.size + np.abs(self.goal).max(initial=0.0))

    def _targets(self, time):
        """Of the points of each pin at a time [s]."""
        pins = zip(self.body.pins, self.start, strict=True)
        return [pin.targets(start, time) for pin, start in pins]

    def _share_out(self, strength):
        """Which points are held exactly, and which by springs."""
        node_count, row_point = len(self.body.mass), self.row_point
        is_hard = strength >= 1.0
        is_unmet = is_hard[row_point]
        is_unmet[is_unmet] = ~can_be_met(chosen_rows(self.all_rows, is_unmet), node_count)
        # A point is held exactly if each of its rows can be.
        is_exact = is_hard & (np.bincount(row_point, is_unmet, len(strength)) == 0.0)
        self.is_row_exact = is_exact[row_point]
        self.rows = chosen_rows(self.all_rows, self.is_row_exact)
        self.sprung = np.flatnonzero((strength > 0.0) & ~is_exact)
        self.strength, self.prepared_dt = strength, None
        self.at_rest = PinsInStep(
            projection(self.rows, node_count),
            NOT_MOVED,
            NO_SPRINGS,
            is_free=self._without(is_exact),
            is_flying=self._without(strength > 0.0),
            sliding=self._sliding(),
        )

    def _without(self, points):
        """Whether each part of the body has none of these points."""
        result = np.ones(self.body.part_count, bool)
        nodes, weights = self.nodes[points], self.weights[points]
        result[self.body.part[nodes[weights != 0.0]]] = False
        return result

    def _sliding(self):
        """`PinsInStep.sliding`, of the rows that are held exactly."""
        normal, point = self.row_normal[self.is_row_exact], self.row_point[self.is_row_exact]
        blocked = np.zeros((self.body.part_count, 3, 3))
        outer = normal[:, :, None] * normal[:, None, :]
        np.add.at(blocked, self.body.part[self.nodes[point, 0]], outer)
        values, vectors = np.linalg.eigh(blocked)
        free = np.where(values < NOT_BLOCKED * np.maximum(values[:, 2:], 1.0), 1.0, 0.0)
        projector = np.einsum("cik,ck,cjk->cij", vectors, free, vectors)
        projector[free.all(axis=1)] = np.eye(3)
        return np.ascontiguousarray(projector[:, [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])

    def _moved(self, x):
        if not len(self.rows):
            return NOT_MOVED
        wanted = np.empty(len(self.rows))
        r = self.rows
        if find_distances(r.start, r.dof, r.weight, x.reshape(-1), self.goal, self.near, wanted):
            return NOT_MOVED
        return prescribed(self.rows, wanted, len(x)).reshape(-1, 3)

    def _springs(self, x, end, dt):
        """Stiffness k and damping c make one spring of k + c/dt towards (k target + c/dt (p + led)) / (k + c/dt).

        led: how far the target moves in the step, so that a point which is led at an even pace follows without a lag.
        """
        if dt != self.prepared_dt:
            self._prepare_springs(dt)
        which = self.sprung
        p = np.einsum("ka,kai->ki", self.weights[which], x[self.nodes[which]])
        target = self.target[which]
        if not self.is_steady and self.lag.any():
            led = target - np.concatenate(self._targets(end - dt))[which]
            far = np.sqrt((led * led).sum(axis=1)) > FASTEST_LED * self.body.size
            p += np.where(far[:, None], 0.0, led)
        return self.springs.towards(target + self.lag[:, None] * (p - target))

    def _prepare_springs(self, dt):
        """What depends on nothing but the strengths and the length of the step."""
        which = self.sprung
        nodes, strength = self.nodes[which], self.strength[which]
        is_hard = strength >= 1.0
        rate = spring_rate(np.where(is_hard, 0.0, strength))
        # All soft points of a part together carry all of it, be they few or many.
        part = self.body.part[nodes[:, 0]]
        whole = np.bincount(self.body.part, self.body.mass)
        mass = np.where(is_hard, 0.0, self.mass[which])
        mass = mass * (whole / np.maximum(np.bincount(part, mass, len(whole)), 1e-300))[part]
        k, c = mass * rate * rate, 2.0 * mass * rate / dt
        # Hard points of one element share one stiffness: how many there are must not matter.
        feels = self.body.stiffness_scale + self.body.mass / (dt * dt)
        _, element, count = np.unique(nodes, axis=0, return_inverse=True, return_counts=True)
        hard_count = np.bincount(element.reshape(-1), is_hard, len(count))[element.reshape(-1)]
        hardness = HARDNESS * (self.weights[which] * feels[nodes]).sum(axis=1)
        k = np.where(is_hard, hardness / np.maximum(hard_count, 1.0), k)
        self.lag = c / (k + c)
        self.springs = pin_springs(nodes, self.weights[which], k + c, self.blocked[which], is_hard)
        self.prepared_dt = dt


def _blocked(pin):
    """`Springs.blocked` of each of its points, shape (k, 6)."""
    d = pin.directions
    blocked = np.einsum("ci,cj->ij", d, d)[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    return np.tile(blocked, (len(pin.points), 1))
