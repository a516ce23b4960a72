"""Colliders: solid shapes that bodies meet. They move as they are told and feel nothing."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.sim.errors import SettingsError
from jellycage.sim.maths import quaternions
from jellycage.sim.shapes import SHAPES, Plane, Shape
from jellycage.sim.shapes.signed_distance_kernels import KINDS, find_signed_distances
from jellycage.toolkit.arrays import as_points, frozen


@dataclass(frozen=True, eq=False)
class Motion:
    """Where a collider is: one place and turn, or several at rising times; linear between, held outside."""

    locations: ArrayLike = (0.0, 0.0, 0.0)
    """Of its origin [m], shape (3,) or (k, 3)."""
    rotations: ArrayLike = (1.0, 0.0, 0.0, 0.0)
    """Unit quaternion (w, x, y, z), shape (4,) or (k, 4)."""
    times: ArrayLike = (0.0,)
    """[s], shape (k,)."""

    def __post_init__(self):
        times = np.atleast_1d(np.array(self.times, np.float64))
        count = len(times)
        locations, rotations = (
            np.array(value, np.float64) for value in (self.locations, self.rotations)
        )
        for name, value, width in (("locations", locations, 3), ("rotations", rotations, 4)):
            if value.shape not in ((width,), (count, width)) or not np.isfinite(value).all():
                raise SettingsError(
                    f"Motion: {name} must be finite, of shape ({width},) or ({count}, {width}), "
                    f"got shape {value.shape}"
                )
        if not count or not np.isfinite(times).all() or (np.diff(times) <= 0.0).any():
            raise SettingsError(
                "Motion: expected at least one time, rising strictly; sort the keys, remove repeats"
            )
        length = np.sqrt((rotations * rotations).sum(axis=-1, keepdims=True))
        if not (length > 1e-6).all():
            raise SettingsError("Motion: rotations must not be zero; (1, 0, 0, 0) is no turn")
        object.__setattr__(self, "times", frozen(times))
        object.__setattr__(
            self, "locations", frozen(np.array(np.broadcast_to(locations, (count, 3))))
        )
        turns = np.array(np.broadcast_to(rotations / length, (count, 4)))
        # q and -q are the same turn: neighbours take the shorter way.
        for k in range(1, count):
            if (turns[k] * turns[k - 1]).sum() < 0.0:
                turns[k] *= -1.0
        object.__setattr__(self, "rotations", frozen(turns))

    def pose(self, time: float) -> NDArray[np.float64]:
        """Rotation matrix by rows, then location [m], at a time [s], shape (12,)."""
        after = int(np.searchsorted(self.times, time, side="right"))
        if after == 0 or after == len(self.times):
            which = min(after, len(self.times) - 1)
            turn, location = self.rotations[which], self.locations[which]
        else:
            t0, t1 = self.times[after - 1 : after + 1]
            share = (time - t0) / (t1 - t0)
            a, b = self.locations[after - 1 : after + 1]
            location = a + share * (b - a)
            turn = quaternions.slerp(*self.rotations[after - 1 : after + 1], share)
        return np.concatenate([quaternions.as_matrices(turn).reshape(-1), location])


@dataclass(frozen=True, eq=False)
class Collider:
    """A shape that moves as it is told."""

    shape: Shape
    """What bodies cannot enter, in its own space."""
    motion: Motion = Motion()
    """Where it is."""
    friction: float = 0.5
    """Coulomb's coefficient; a pair has the geometric mean of its two."""
    restitution: float = 0.0
    """Least share of the approach speed that a body leaves with, 0..1; its own elasticity may give more."""

    def __post_init__(self):
        if not isinstance(self.shape, Shape):
            raise SettingsError(
                f"shape: expected one of {', '.join(kind.__name__ for kind in SHAPES.values())}, "
                f"got {self.shape!r}"
            )
        if self.shape.kernels is None:
            raise SettingsError(
                f"shape: a {type(self.shape).__name__} cannot be a collider; give rigid bodies a mesh to meet"
            )
        if not 0.0 <= self.friction < np.inf:
            raise SettingsError(f"friction: expected 0 or more, got {self.friction}")
        if not 0.0 <= self.restitution <= 1.0:
            raise SettingsError(f"restitution: expected 0 to 1, got {self.restitution}")

    @property
    def thickness(self) -> float:
        """Of the shape where it is thinnest [m]."""
        return self.shape.thickness

    def pose(self, time: float) -> NDArray[np.float64]:
        """Rotation by rows and location [m] of the space that `signed_distance` knows its shape in, shape (12,)."""
        pose = self.motion.pose(time)
        turn, location = self.shape.frame
        if not location.any() and not turn[1:].any():
            return pose
        outer = pose[:9].reshape(3, 3)
        inner = quaternions.as_matrices(turn)
        return np.concatenate([(outer @ inner).reshape(-1), outer @ location + pose[9:]])

    def distances(self, points: ArrayLike, time: float = 0.0) -> NDArray[np.float64]:
        """Distance [m] of each of some points (n, 3) [m] at a time [s], negative inside, shape (n,)."""
        pose = self.pose(time)
        inside = as_points((np.asarray(points) - pose[9:]) @ pose[:9].reshape(3, 3), "points")
        found = np.empty(len(inside))
        lengths = np.array(self.shape.lengths(), np.float64)
        find_signed_distances(inside, KINDS.index(self.shape.kind), lengths, found)
        return found


def as_collider(given: Collider | Shape) -> Collider:
    """A collider; a bare shape is one that stands still."""
    return given if isinstance(given, Collider) else Collider(given)


def ground(height: float = 0.0, *, friction: float = 0.5, restitution: float = 0.0) -> Collider:
    """A floor at z = height [m]."""
    return Collider(Plane(), Motion((0.0, 0.0, height)), friction, restitution)


class ColliderArrays(NamedTuple):
    """Colliders during one step, for kernels."""

    kind: NDArray[np.int64]
    """Number of its kind of shape, see `signed_distance_kernels`, shape (c,)."""
    parameters: NDArray[np.float64]
    """Lengths [m], shape (c, 3)."""
    before: NDArray[np.float64]
    """Pose at the start of the step, see `Motion.pose`, shape (c, 12)."""
    after: NDArray[np.float64]
    """Pose at its end, shape (c, 12)."""


def collider_arrays(colliders, start: float, end: float) -> ColliderArrays:
    """The colliders as they move from one time [s] to another."""
    rows = [np.zeros((0, 12))]
    return ColliderArrays(
        kind=np.array([KINDS.index(c.shape.kind) for c in colliders], np.int64),
        parameters=np.array([c.shape.lengths() for c in colliders], np.float64).reshape(-1, 3),
        before=np.concatenate([*rows, *(c.pose(start)[None] for c in colliders)]),
        after=np.concatenate([*rows, *(c.pose(end)[None] for c in colliders)]),
    )
