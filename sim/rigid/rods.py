"""Rods between two rigid bodies: arcs of fixed length that bend and twist, see `rod_shape_kernels`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.sim.errors import SettingsError
from jellycage.sim.maths import quaternions
from jellycage.sim.rigid.joints import UNBOUNDED, WORLD, local_pose, pair_reaches, pair_weights
from jellycage.sim.rigid.rod_shape_kernels import MOST_BENT, ROWS
from jellycage.toolkit.arrays import frozen

STRAIGHT = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class Rod:
    """A rod from one body to another, valid and at rest as things are at the start."""

    a: int
    """Body that holds its first end, or WORLD."""
    b: int
    """Body that holds its other end."""
    points: ArrayLike
    """Where it runs at the start, from end to end [m], shape (k, 3) with k >= 2: its length and the side to which it
    bulges are taken from there, and an arc with that length and the same ends is what it starts as."""
    bend_stiffness: float = 0.0
    """Moment per angle between its ends [N m/rad]; inf: rigid."""
    twist_stiffness: float = 0.0
    """[N m/rad]."""
    bend_damping: float = 0.0
    """[N m s/rad]."""
    twist_damping: float = 0.0
    """[N m s/rad]."""
    most_bend: float = 2.6
    """Greatest angle between its ends [rad]."""
    most_twist: float = UNBOUNDED
    """Greatest twist from that at the start, to either side [rad]."""

    def __post_init__(self):
        points = np.array(self.points, np.float64)
        if points.ndim != 2 or points.shape[1] != 3 or len(points) < 2:
            raise SettingsError("rod: expected at least two points of three numbers")
        if not np.isfinite(points).all() or not np.linalg.norm(points[-1] - points[0]) > 0.0:
            raise SettingsError("rod: points must be finite, and its ends apart; check them")
        object.__setattr__(self, "points", frozen(points))
        for name in ("bend_stiffness", "twist_stiffness"):
            if not getattr(self, name) >= 0.0:
                raise SettingsError(f"{name}: expected 0 or more, or inf")
        for name in ("bend_damping", "twist_damping"):
            if not 0.0 <= getattr(self, name) < np.inf:
                raise SettingsError(f"{name}: expected 0 or a positive number")
        if not 0.0 < self.most_bend <= MOST_BENT or not self.most_twist > 0.0:
            raise SettingsError(f"rod: most_bend must be in (0, {MOST_BENT}], most_twist above 0")
        if self.a == self.b:
            raise SettingsError(f"rod: body {self.a} cannot hold both ends; choose another")

    def arc(self) -> "Arc":
        """The arc that it starts as."""
        return arc_through(self.points)


@dataclass(frozen=True, eq=False)
class Arc:
    """A circular arc in space."""

    start: NDArray[np.float64]
    end: NDArray[np.float64]
    length: float
    """[m]."""
    bend: float
    """Angle between its tangents [rad]."""
    frame: NDArray[np.float64]
    """At its start: x along the tangent, z the axis of the bend (w, x, y, z)."""
    frame_b: NDArray[np.float64]
    """At its end, carried along without a twist."""

    def at(self, share: ArrayLike) -> NDArray[np.float64]:
        """Points at shares 0..1 of its length, shape (..., 3) [m]."""
        share = np.asarray(share, np.float64)[..., None]
        tangent, side = quaternions.turned(self.frame, np.eye(3)[:2])
        angle = share * self.bend
        along = share * np.sinc(angle / np.pi)
        across = share * 0.5 * angle * np.sinc(0.5 * angle / np.pi) ** 2
        return self.start + self.length * (along * tangent + across * side)


def arc_through(points: NDArray[np.float64]) -> Arc:
    """The arc with the ends and the length of a line of points (k, 3), bulging to the same side.

    No arc with these ends is longer than half a turn allows; a line that is crumpled more than that gives half a turn.
    """
    steps = np.diff(points, axis=0)
    length = np.linalg.norm(steps, axis=1).sum()
    e = points[-1] - points[0]
    chord = np.linalg.norm(e)
    o = e / chord
    bend = bend_of(chord / length)
    # Weighted by length, so that it does not matter how densely the line is sampled.
    middle = (0.5 * (points[1:] + points[:-1]) * np.linalg.norm(steps, axis=1)[:, None]).sum(axis=0)
    bulge = middle / length - points[0]
    bulge = bulge - (bulge @ o) * o
    if np.linalg.norm(bulge) < STRAIGHT * chord or bend < 1e-6:
        bend = 0.0
        length = chord
        bulge = np.eye(3)[np.argmin(np.abs(o))]
        bulge = bulge - (bulge @ o) * o
    bulge = bulge / np.linalg.norm(bulge)
    # The tangent turns from towards the bulge to away from it.
    tangent = np.cos(0.5 * bend) * o + np.sin(0.5 * bend) * bulge
    inward = -np.cos(0.5 * bend) * bulge + np.sin(0.5 * bend) * o
    axis = np.cross(tangent, inward)
    frame = quaternions.of_matrices(np.stack([tangent, inward, axis], axis=1))
    length = chord / np.sinc(0.5 * bend / np.pi)
    carried = quaternions.product(quaternions.about(axis, bend), frame)
    return Arc(points[0], points[-1], float(length), float(bend), frame, carried)


def bend_of(ratio: float) -> float:
    """The bend [rad] whose arc has a chord of `ratio` times its length: sinc(bend / 2) = ratio, by bisection."""
    low, high = 0.0, MOST_BENT - 0.1
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.sinc(0.5 * middle / np.pi) > ratio else (low, middle)
    return 0.5 * (low + high)


class RodArrays(NamedTuple):
    """All rods for kernels: what they are, then what a step keeps of them."""

    body: NDArray[np.int64]
    ends: NDArray[np.float64]
    """Where they end in both bodies, from the centre of mass [m], shape (r, 2, 3)."""
    frames: NDArray[np.float64]
    rest: NDArray[np.float64]
    """Length [m], bend about two axes and twist [rad], shape (r, 4)."""
    stiffness: NDArray[np.float64]
    """Bend and twist [N m/rad], shape (r, 2)."""
    damping: NDArray[np.float64]
    limit: NDArray[np.float64]
    """Greatest bend and twist [rad], shape (r, 2)."""
    error: NDArray[np.float64]
    jacobian: NDArray[np.float64]
    response: NDArray[np.float64]
    """M^-1 J^T, shape (r, 12, 6)."""
    mass: NDArray[np.float64]
    soft: NDArray[np.float64]
    """Compliance and share of the spring of bend, bend and twist, shape (r, 3, 2)."""
    push: NDArray[np.float64]
    """Multipliers, shape (r, 6)."""
    limit_axis: NDArray[np.float64]
    limit_mass: NDArray[np.float64]
    limit_push: NDArray[np.float64]
    """Multipliers of the limits of bend and twist, shape (r, 2)."""
    start: NDArray[np.float64]
    """Errors of the rows and of both limits at the start of a step, shape (r, 8)."""
    saved_push: NDArray[np.float64]
    """Multipliers put aside, shape (r, 8)."""
    weight: NDArray[np.float64]
    """Of both bodies together [kg], shape (r,)."""
    largest_correction: NDArray[np.float64]
    """The error of the length that one sweep mends at most [m], shape (r,)."""
    kept_push: NDArray[np.float64]
    """Size of the push that the last step kept, shape (r,)."""


ROD_KEPT = ("push", "limit_push", "kept_push")
"""Arrays that a continuation needs."""


def rod_arrays(rods: Sequence[Rod], state, bodies, world: int) -> RodArrays:
    """The rods of bodies as they start; world: the body that stands for WORLD."""
    p, q = state.p, state.q
    count = len(rods)
    body = np.array([[world if r.a == WORLD else r.a, r.b] for r in rods], np.int64)
    body = body.reshape(count, 2)
    if body.size and not (0 <= body.min() and body.max() < len(p)):
        raise SettingsError("rod: names a body that does not exist; number them from 0")
    ends, frames, rest = np.zeros((count, 2, 3)), np.zeros((count, 2, 4)), np.zeros((count, 4))
    for at, rod in enumerate(rods):
        arc = rod.arc()
        for side, (point, turn) in enumerate(((arc.start, arc.frame), (arc.end, arc.frame_b))):
            i = body[at, side]
            ends[at, side], frames[at, side] = local_pose(p[i], q[i], point, turn)
        rest[at] = arc.length, 0.0, arc.bend, 0.0

    def rows(*names):
        return np.array([[getattr(r, n) for n in names] for r in rods]).reshape(count, 2)

    # A rod that starts bent further than it may may stay so.
    at_start = np.stack([rest[:, 2], np.zeros(count)], axis=1)
    return RodArrays(
        body=body,
        ends=ends,
        frames=frames,
        rest=rest,
        stiffness=rows("bend_stiffness", "twist_stiffness"),
        damping=rows("bend_damping", "twist_damping"),
        limit=np.maximum(rows("most_bend", "most_twist"), at_start),
        error=np.zeros((count, ROWS)),
        jacobian=np.zeros((count, ROWS, 12)),
        response=np.zeros((count, 12, ROWS)),
        mass=np.zeros((count, ROWS, ROWS)),
        soft=np.zeros((count, 3, 2)),
        push=np.zeros((count, ROWS)),
        limit_axis=np.zeros((count, 2, 3)),
        limit_mass=np.zeros((count, 2)),
        limit_push=np.zeros((count, 2)),
        start=np.zeros((count, ROWS + 2)),
        saved_push=np.zeros((count, ROWS + 2)),
        weight=pair_weights(bodies, body),
        largest_correction=0.1 * pair_reaches(bodies, body),
        kept_push=np.zeros(count),
    )
