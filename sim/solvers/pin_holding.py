"""Pins as a solver sees them during one step.

Hard pins are a projection where that is exact and cheap: nodes, and points whose rows leave each other room. Where more
points are pinned than the cage has freedom, or nearly so, they are springs, stiff against everything that the nodes
feel: the surface goes where it is asked to as closely as the cage can (least squares), and nothing leaps. So are, in
steps where only nodes that leap could meet them, points that contradict each other; and these let go where they have
torn an element to more than the size of the body. Pins below full strength are springs of their own rate.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.constraints import (
    MOST_TIED,
    Projection,
    Rows,
    can_be_met,
    chosen_rows,
    projection,
    tied_rows,
    way_to,
)
from jellycage.sim.soft.constraints_kernels import find_distances
from jellycage.sim.soft.pins import spring_rate
from jellycage.sim.solvers.pin_springs import (
    LEAST,
    LEAST_ALONE,
    LEAST_HARD,
    PinSprings,
    pin_springs,
)
from jellycage.sim.solvers.pinned_points import PinnedPoints
from jellycage.sim.solvers.springs_kernels import NO_SPRINGS, Springs

NOT_MOVED = np.zeros((0, 3))
ARRIVED = 1e-14  # distance to a hard pin's target, relative to the body, that is not worth a move
FASTEST_LED = 0.1  # sizes per step that a target is led: more is a jump
HARDNESS = 100.0  # of the springs of hard pins together, in what their nodes feel of inertia and elasticity
FIRM = 4.0  # times as stiff for its mass as a body is on average: what is even stiffer is held as if it were heavier
LEAP = 1.5  # times as far as points are led: nodes that must go further, and
LEAST_LEAP = 1.0  # sizes, are not asked to
FIRM_SPRING = 0.5  # strength of springs that nodes are not asked to leap against either
MOST_TORN = 1.5  # sizes that a node may be away from a hard point of its element: the point lets go until it is back
MOST_HOLDINGS = 8  # that are kept
YANKED = 0.5  # elements that a pin takes its point in a step from where that was going: more turns them inside out
MOST_LED_STEPS = 2  # that a step is cut into where pins are led so wildly
HARDEST_SPRING = 0.999  # strength: harder pins take their points as far


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
    is_led: NDArray[np.bool_]
    """Whether each node belongs to a point that is pinned, shape (n,)."""
    sliding: NDArray[np.float64]
    """Projector on the translations that exact pins leave it, (00, 11, 22, 01, 02, 12), shape (parts, 6)."""
    drifting: NDArray[np.float64]
    """The same of all pins."""
    pace: NDArray[np.float64]
    """How fast the pins of each part will be led after the step, their mean [m/s], shape (parts, 3)."""
    paces: NDArray[np.float64]
    """By how much the fastest of them differs from it [m/s], shape (parts,)."""


class PinTracker:
    """The pins of one body; what does not change from step to step is worked out once."""

    def __init__(self, body: SoftBody):
        self.points = PinnedPoints(body)
        self.spacing = float(np.cbrt(body.elements.volumes.sum() / len(body.mass)))
        self.strength: NDArray | None = None
        self._read(0.0)

    def during(self, x, start: float, end: float, dt: float) -> PinsInStep:
        """What holds the body in the step of length dt from a time to another [s], from positions x (n, 3)."""
        if not self.points.is_steady:
            self._read(end)
        self._hold(x)
        holding = self.holding
        moved = self._moved(x)
        is_led = not self.points.is_steady and np.isfinite(dt)
        springs = NO_SPRINGS
        if len(holding.sprung):
            before = self.points.targets(start) if is_led else self.target
            springs = holding.springs(x, self.target, before, dt)
        elif not is_led and not len(moved):
            return holding.pins
        pins = replace(holding.pins, moved=moved, springs=springs)
        return self._led(pins, end, dt) if is_led else pins

    def longest_step(self, v, start: float, dt: float) -> float:
        """How long a step from a time [s] and node velocities v (n, 3) may be, dt at most, so that pins do not yank."""
        points = self.points
        if points.is_steady:
            return dt
        before, pace, longest = points.targets(start), points.carried(v), dt
        while longest > dt / MOST_LED_STEPS:
            end = start + longest
            away = np.linalg.norm(points.targets(end) - before - longest * pace, axis=1)
            rate = longest * spring_rate(np.minimum(points.strengths(end), HARDEST_SPRING))
            if (away * rate / (2.0 + rate)).max() <= YANKED * self.spacing:
                break
            longest *= 0.5
        return longest

    def _read(self, time):
        """Strengths and targets at a time, and what follows from them."""
        strength = self.points.strengths(time)
        if self.strength is None or not np.array_equal(strength, self.strength):
            self.strength, self.holdings = strength, {}
            self.is_exact = self._can_be_exact(strength >= 1.0)
        self.target = self.points.targets(time)
        self.goals = self.points.goals(self.target)
        self.can_be_held = self.is_exact
        self._choose(self.is_exact)
        leaping = self._leaping(self.points.body.elements.nodes)
        if leaping.any():
            self.can_be_held = self.is_exact & ~leaping
            self._choose(self.can_be_held)

    def _hold(self, x):
        """Choose what to hold exactly: what can be met without leaps, from positions x (n, 3) too if they are torn."""
        if not np.array_equal(self.holding.is_exact, self.can_be_held):
            self._choose(self.can_be_held)
        if self.holding.is_torn(x) and (leaping := self._leaping(x)).any():
            self._choose(self.can_be_held & ~leaping)

    def _leaping(self, x):
        """Exact points (k,) that only leaps of nodes could meet, with each part of x (n, 3) carried near them first."""
        holding = self.holding
        if holding.is_of_nodes:
            return np.zeros(len(self.strength), np.bool_)
        return holding.leaping(holding.carried(x, self.target), self.goals)

    def _choose(self, is_exact):
        """Hold these points (k,) exactly, and the others by springs."""
        self.holding = self._holding(is_exact)
        self.goal = self.goals[self.holding.is_row_exact]

    def _holding(self, is_exact):
        """How the points are held if these (k,) are held exactly."""
        key = is_exact.tobytes()
        if key not in self.holdings:
            if len(self.holdings) == MOST_HOLDINGS:
                self.holdings.clear()
            self.holdings[key] = Holding(self.points, self.strength, is_exact)
        return self.holdings[key]

    def _can_be_exact(self, is_hard):
        """Whether each of the hard points can be held exactly: if each of its rows can be."""
        points = self.points
        is_unmet = is_hard[points.row_point]
        rows = chosen_rows(points.rows, is_unmet)
        is_unmet[is_unmet] = ~can_be_met(rows, len(points.body.mass))
        return is_hard & (np.bincount(points.row_point, is_unmet, len(is_hard)) == 0.0)

    def _moved(self, x):
        """`PinsInStep.moved`, from positions x (n, 3)."""
        r, wanted = self.holding.rows, np.empty(len(self.goal))
        near = ARRIVED * (self.points.body.size + np.abs(self.goal).max(initial=0.0))
        if not len(r) or find_distances(
            r.start, r.dof, r.weight, x.reshape(-1), self.goal, near, wanted
        ):
            return NOT_MOVED
        return (self.holding.way @ wanted).reshape(-1, 3)

    def _led(self, pins, end, dt):
        """The same pins with their pace in the step of dt [s] after a time [s]."""
        points, counts = self.points, self.strength > 0.0
        part, parts = points.part[counts], points.body.part_count
        led = (points.targets(end + dt) - self.target)[counts] / dt
        pace = np.stack([np.bincount(part, column, parts) for column in led.T], axis=1)
        pace = pace / np.maximum(np.bincount(part, minlength=parts), 1)[:, None]
        paces, apart = np.zeros(parts), led - pace[part]
        np.maximum.at(paces, part, np.sqrt((apart * apart).sum(axis=1)))
        return replace(pins, pace=pace, paces=paces)


class SpringsOfStep(NamedTuple):
    """The springs of the points that are not held exactly, s of them, in steps of one length."""

    made: PinSprings
    stiffness: NDArray[np.float64]
    """[N/m], shape (s,)."""
    lag: NDArray[np.float64]
    """How much of a point's distance from its target the damper keeps, shape (s,)."""


class Watched(NamedTuple):
    """Rows of which nodes may have to leap to meet them all."""

    chosen: NDArray[np.bool_]
    """Which of all rows they are, shape (r,)."""
    rows: Rows
    tied: NDArray[np.int64]
    """Group of each of them: those of one share dofs."""
    way: csr_array
    """Makes the smallest displacement of how far they are from their goals."""


class Holding:
    """Which points are held exactly, and which by springs; what the springs are is worked out once per step length."""

    def __init__(self, points: PinnedPoints, strength, is_exact):
        self.points, self.body = points, points.body
        self.strength, self.is_exact = strength, is_exact
        self.is_row_exact = is_exact[points.row_point]
        self.rows = chosen_rows(points.rows, self.is_row_exact)
        self.sprung = np.flatnonzero((strength > 0.0) & ~is_exact)
        self.shares = points.shares[self.sprung]
        self.prepared: dict[float, SpringsOfStep] = {}
        of_part = np.bincount(self.body.part[self.body.elements.corners[:, 0]])
        self.is_alone = of_part[points.part] == 1  # in a part of one element
        node_count = len(self.body.mass)
        self.way = way_to(self.rows, node_count)
        self.watched = self._watched(node_count)
        is_held = strength > 0.0
        self.pins = PinsInStep(
            projection(self.rows, node_count),
            NOT_MOVED,
            NO_SPRINGS,
            is_free=points.parts_without(is_exact),
            is_flying=points.parts_without(is_held),
            is_led=points.nodes_of(is_held),
            sliding=points.left_free(self.is_row_exact),
            drifting=points.left_free(is_held[points.row_point]),
            pace=np.zeros((self.body.part_count, 3)),
            paces=np.zeros(self.body.part_count),
        )

    def _watched(self, node_count):
        """What may ask nodes to leap: the exact rows, and those of firm springs that are tied to them."""
        points, is_watched = self.points, self.is_row_exact
        if len(self.rows) and not self.is_of_nodes:
            is_watched = is_watched | (self.strength >= FIRM_SPRING)[points.row_point]
        rows = chosen_rows(points.rows, is_watched)
        group, is_exact = tied_rows(rows, node_count), self.is_row_exact[is_watched]
        dofs = np.unique(np.stack([group[rows.row_of_entries()], rows.dof]), axis=1)
        is_small = np.bincount(dofs[0]) <= MOST_TIED
        with_exact = np.bincount(group, is_exact) > 0
        chosen = is_exact | (is_small & with_exact)[group]
        is_watched = is_watched.copy()
        is_watched[is_watched] = chosen
        rows = chosen_rows(points.rows, is_watched)
        return Watched(is_watched, rows, tied_rows(rows, node_count), way_to(rows, node_count))

    def leaping(self, x, goals) -> NDArray[np.bool_]:
        """Exact points (k,) that from positions x (n, 3) can have rows at goals (r,) [m] by leaps of nodes only."""
        leaping = np.zeros(len(self.strength), np.bool_)
        is_watched, r, tied, way = self.watched
        wanted = np.empty(len(r))
        goal = np.ascontiguousarray(goals[is_watched])
        find_distances(r.start, r.dof, r.weight, x.reshape(-1), goal, 0.0, wanted)
        moved = np.abs(way @ wanted)
        if moved.max() <= LEAST_LEAP * self.body.size:
            return leaping
        farthest, asked = np.zeros((2, len(r)))
        np.maximum.at(farthest, tied[r.row_of_entries()], moved[r.dof])
        np.maximum.at(asked, tied, np.abs(wanted))
        leaps = farthest > np.maximum(LEAP * asked, LEAST_LEAP * self.body.size)
        leaping[self.points.row_point[is_watched][leaps[tied]]] = True
        return leaping & self.is_exact

    def is_torn(self, x) -> bool:
        """Whether the body may be torn at positions x (n, 3)."""
        extent = np.ptp(x, axis=0)
        return bool((extent * extent).sum() > (MOST_TORN * self.body.size) ** 2)

    @property
    def is_of_nodes(self) -> bool:
        """Whether nodes alone are held exactly, of which each goes where it is asked to."""
        return len(self.rows.dof) == len(self.rows)

    def carried(self, x, target) -> NDArray[np.float64]:
        """Positions x (n, 3), each part moved rigidly to bring its exact points nearest to their targets (k, 3)."""
        part = self.body.part
        result = np.array(x)
        for c in np.flatnonzero(~self.pins.is_free):
            own = self.is_exact & (self.points.part == c)
            at = np.einsum("ka,kai->ki", self.points.weights[own], x[self.points.nodes[own]])
            there = target[own]
            centre, goal = at.mean(axis=0), there.mean(axis=0)
            u, _, vt = np.linalg.svd((there - goal).T @ (at - centre))
            turn = u @ np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ vt))]) @ vt
            result[part == c] = goal + (x[part == c] - centre) @ turn.T
        return result

    def springs(self, x, target, target_before, dt: float) -> Springs:
        """The springs in a step of dt [s] from positions x (n, 3) to targets (k, 3), which were elsewhere before it.

        Stiffness k and damping c make one spring of k + c/dt towards (k target + c/dt (p + led)) / (k + c/dt). led: how
        far the target moves in the step, so that a point which is led at an even pace follows without a lag.
        """
        if dt not in self.prepared:
            self.prepared[dt] = self._prepared(dt)
        made, stiffness, lag = self.prepared[dt]
        which, target, p = self.sprung, target[self.sprung], self.shares @ x
        led = target - target_before[which]
        far = np.sqrt((led * led).sum(axis=1)) > FASTEST_LED * self.body.size
        wanted = target + lag[:, None] * (p + np.where(far[:, None], 0.0, led) - target)
        if not self.is_torn(x):
            return made.towards(wanted)
        corners, counts = x[self.points.nodes[which]], self.points.weights[which] != 0.0
        offset = np.where(counts[:, :, None], corners - p[:, None, :], 0.0)
        has_torn = (offset * offset).sum(axis=2).max(axis=1) > (MOST_TORN * self.body.size) ** 2
        has_torn &= self.strength[which] >= 1.0
        if not has_torn.any():
            return made.towards(wanted)
        return self._made(np.where(has_torn, 0.0, stiffness)).towards(wanted)

    def _made(self, stiffness):
        """The points as springs of a stiffness (k,) [N/m]."""
        which, points = self.sprung, self.points
        return pin_springs(
            points.nodes[which],
            points.weights[which],
            stiffness,
            points.blocked[which],
            np.where(self.is_alone, LEAST_ALONE, np.where(self.strength >= 1.0, LEAST_HARD, LEAST))[
                which
            ],
        )

    def _prepared(self, dt):
        """What depends on nothing but the strengths and the length of the step."""
        which, points, body = self.sprung, self.points, self.body
        nodes, weights, strength = points.nodes[which], points.weights[which], self.strength[which]
        is_hard = strength >= 1.0
        rate = spring_rate(np.where(is_hard, 0.0, strength))
        # All soft points of a part together carry all of it, be they few or many, each by the mass and the stiffness
        # around it: light nodes among stiff elements, as at tips, would else be left behind.
        part = points.part[which]
        whole, firmness = (np.bincount(body.part, of) for of in (body.mass, body.stiffness_scale))
        around = (weights * body.mass[nodes]).sum(axis=1)
        stiff = (weights * body.stiffness_scale[nodes]).sum(axis=1) * (whole / firmness)[part]
        mass = np.where(is_hard, 0.0, np.maximum(around, stiff / FIRM))
        mass = mass * (whole / np.maximum(np.bincount(part, mass, len(whole)), 1e-300))[part]
        k, c = mass * rate * rate, 2.0 * mass * rate / dt
        # Hard points of one element share one stiffness: how many there are must not matter.
        feels = body.stiffness_scale + body.mass / (dt * dt)
        _, element, count = np.unique(nodes, axis=0, return_inverse=True, return_counts=True)
        hard_count = np.bincount(element.reshape(-1), is_hard, len(count))[element.reshape(-1)]
        hardness = HARDNESS * (weights * feels[nodes]).sum(axis=1)
        k = np.where(is_hard, hardness / np.maximum(hard_count, 1.0), k)
        return SpringsOfStep(self._made(k + c), k + c, c / (k + c))
