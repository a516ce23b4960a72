"""Joints between two rigid bodies, said in the world as things are at the start."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.sim.errors import SettingsError
from jellycage.sim.maths import quaternions
from jellycage.sim.rigid.joint_angles_kernels import BALL, CONE_TWIST, FIXED, HINGE
from jellycage.toolkit.arrays import frozen

WORLD = -1
"""In place of a body: the joint hangs on the world."""
UNBOUNDED = 100.0  # [rad], beyond every angle


@dataclass(frozen=True, eq=False, kw_only=True)
class Joint:
    """What all joints have: a point that both bodies share, and perhaps a muscle that holds a pose."""

    a: int
    """Number of the first body, or WORLD."""
    b: int
    """Number of the second body."""
    point: ArrayLike
    """Where they are joined, in the world at the start [m], shape (3,)."""
    frame: ArrayLike = (1.0, 0.0, 0.0, 0.0)
    """Axes at rest as the first body holds them, in the world at the start (w, x, y, z)."""
    frame_b: ArrayLike | None = None
    """The same of the second body; None: the start is the pose of rest. Angles are those between the two."""
    stiffness: float = 0.0
    """Of the muscle [N m/rad]; inf: rigid."""
    damping: float = 0.0
    """Resistance against turning [N m s/rad]."""
    target: ArrayLike | None = None
    """Frame b in frame a that the muscle pulls to (w, x, y, z); None: as at the start."""
    kind: ClassVar[int]

    def __post_init__(self):
        for name, width in (("point", 3), ("frame", 4), ("frame_b", 4), ("target", 4)):
            if getattr(self, name) is None:
                continue
            value = np.array(getattr(self, name), np.float64)
            if value.shape != (width,) or not np.isfinite(value).all():
                raise SettingsError(f"{name}: expected {width} finite numbers")
            if width == 4:
                length = np.linalg.norm(value)
                if not 0.5 < length < 2.0:
                    raise SettingsError(f"{name}: expected a quaternion of length 1; normalise it")
                value = value / length
            object.__setattr__(self, name, frozen(value))
        if self.frame_b is None:
            object.__setattr__(self, "frame_b", self.frame)
        if self.target is None:
            target = quaternions.product(quaternions.inverse(self.frame), self.frame_b)
            object.__setattr__(self, "target", frozen(target))
        if not self.stiffness >= 0.0:
            raise SettingsError(f"stiffness: expected 0 or more, or inf, got {self.stiffness}")
        if not 0.0 <= self.damping < np.inf:
            raise SettingsError(f"damping: expected 0 or a positive number, got {self.damping}")
        if self.a == self.b:
            raise SettingsError(f"joint: body {self.a} cannot be joined to itself; choose another")

    def limits(self) -> tuple[float, float, float]:
        """Greatest swing, least and greatest twist [rad]."""
        return UNBOUNDED, -UNBOUNDED, UNBOUNDED


@dataclass(frozen=True, eq=False, kw_only=True)
class Ball(Joint):
    """Ball and socket: turns every way."""

    kind = BALL


@dataclass(frozen=True, eq=False, kw_only=True)
class Fixed(Joint):
    """Does not turn at all."""

    kind = FIXED


def _check_range(low, high, what):
    if not low <= high:
        raise SettingsError(f"{what}: the least angle, {low}, is above the greatest, {high}")


@dataclass(frozen=True, eq=False, kw_only=True)
class Hinge(Joint):
    """Turns about the x axis of its frames only."""

    low: float = -UNBOUNDED
    """Least angle [rad]."""
    high: float = UNBOUNDED
    """Greatest angle [rad]."""
    kind = HINGE

    def __post_init__(self):
        super().__post_init__()
        _check_range(self.low, self.high, "hinge")

    def limits(self):
        return UNBOUNDED, max(self.low, -UNBOUNDED), min(self.high, UNBOUNDED)


@dataclass(frozen=True, eq=False, kw_only=True)
class ConeTwist(Joint):
    """Ball and socket whose x axis stays in a cone and whose twist about it is limited."""

    swing: float = UNBOUNDED
    """Half the opening of the cone [rad]."""
    twist_low: float = -UNBOUNDED
    """[rad]."""
    twist_high: float = UNBOUNDED
    """[rad]."""
    kind = CONE_TWIST

    def __post_init__(self):
        super().__post_init__()
        _check_range(self.twist_low, self.twist_high, "twist")
        if not self.swing >= 0.0:
            raise SettingsError(f"swing: expected 0 or more, got {self.swing}")

    def limits(self):
        return (
            min(self.swing, UNBOUNDED),
            max(self.twist_low, -UNBOUNDED),
            min(self.twist_high, UNBOUNDED),
        )


class JointArrays(NamedTuple):
    """All joints for kernels: what they are, then what a step keeps of them."""

    body: NDArray[np.int64]
    kind: NDArray[np.int64]
    frame: NDArray[np.float64]
    """The frames in both bodies, shape (j, 2, 4)."""
    local_point: NDArray[np.float64]
    """The point in both frames, from the centres of mass [m], shape (j, 2, 3)."""
    limit: NDArray[np.float64]
    """Swing, least and greatest twist [rad], shape (j, 3)."""
    stiffness: NDArray[np.float64]
    damping: NDArray[np.float64]
    target: NDArray[np.float64]
    has_angles: NDArray[np.bool_]
    """Whether anything but the point matters, shape (j,)."""
    has_rows: NDArray[np.bool_]
    """Whether angles are held or pulled, not only limited, shape (j,)."""
    arm: NDArray[np.float64]
    """From the centres of both bodies to the point, in the world [m], shape (j, 2, 3)."""
    axes: NDArray[np.float64]
    """Of frame a in the world, in rows, shape (j, 3, 3)."""
    world_frame: NDArray[np.float64]
    """Both frames in the world, shape (j, 2, 4)."""
    mass: NDArray[np.float64]
    """Factor of the mass of all six rows, or in its last corner the inverse of the point's, shape (j, 6, 6)."""
    soft: NDArray[np.float64]
    """Compliance and share of the spring of each angular row, shape (j, 3, 2)."""
    push: NDArray[np.float64]
    """Multipliers of point and angles, shape (j, 6)."""
    swing: NDArray[np.float64]
    """Direction, multiplier and mass of the limit of the swing, shape (j, 5)."""
    twist: NDArray[np.float64]
    """The same of the twist."""
    start: NDArray[np.float64]
    """Errors of the six rows and of both limits at the start of a step, shape (j, 8)."""
    saved_push: NDArray[np.float64]
    """Multipliers put aside, shape (j, 8)."""
    weight: NDArray[np.float64]
    """Of both bodies together [kg], shape (j,)."""
    largest_correction: NDArray[np.float64]
    """The gap that one sweep closes at most [m], shape (j,)."""
    kept_push: NDArray[np.float64]
    """Size of the push that the last step kept, shape (j,)."""


JOINT_KEPT = ("push", "swing", "twist", "kept_push")
"""Arrays that a continuation needs."""


def local_pose(p, q, point, frame):
    """(point, frame) of the world as a body at p, q holds them."""
    back = quaternions.inverse(q)
    return quaternions.turned(back, point - p), quaternions.product(back, frame)


def joint_arrays(joints: Sequence[Joint], state, bodies, world: int) -> JointArrays:
    """The joints of bodies as they start; world: the body that stands for WORLD."""
    p, q = state.p, state.q
    count = len(joints)
    body = np.array([[world if j.a == WORLD else j.a, j.b] for j in joints], np.int64)
    body = body.reshape(count, 2)
    moving = len(p)
    if body.size and not (0 <= body.min() and body.max() < moving):
        raise SettingsError("joint: names a body that does not exist; number them from 0")
    frame, local_point = np.zeros((count, 2, 4)), np.zeros((count, 2, 3))
    for at, joint in enumerate(joints):
        for side, turn in enumerate((joint.frame, joint.frame_b)):
            i = body[at, side]
            point, frame[at, side] = local_pose(p[i], q[i], joint.point, turn)
            local_point[at, side] = quaternions.turned(quaternions.inverse(frame[at, side]), point)
    stiffness = np.array([joint.stiffness for joint in joints], np.float64)
    damping = np.array([joint.damping for joint in joints], np.float64)
    kind = np.array([joint.kind for joint in joints], np.int64)
    has_rows = (kind == HINGE) | (kind == FIXED) | (stiffness > 0.0) | (damping > 0.0)
    limits = np.array([joint.limits() for joint in joints], np.float64)
    targets = np.array([joint.target for joint in joints], np.float64)
    return JointArrays(
        body=body,
        kind=kind,
        frame=frame,
        local_point=local_point,
        limit=limits.reshape(count, 3),
        stiffness=stiffness,
        damping=damping,
        target=targets.reshape(count, 4),
        has_angles=has_rows | (kind == CONE_TWIST),
        has_rows=has_rows,
        arm=np.zeros((count, 2, 3)),
        axes=np.zeros((count, 3, 3)),
        world_frame=np.zeros((count, 2, 4)),
        mass=np.zeros((count, 6, 6)),
        soft=np.zeros((count, 3, 2)),
        push=np.zeros((count, 6)),
        swing=np.zeros((count, 5)),
        twist=np.zeros((count, 5)),
        start=np.zeros((count, 8)),
        saved_push=np.zeros((count, 8)),
        weight=pair_weights(bodies, body),
        largest_correction=0.1 * pair_reaches(bodies, body),
        kept_push=np.zeros(count),
    )


def pair_weights(bodies, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """What both bodies of each pair weigh together [kg], without those that cannot be pushed."""
    inverse = bodies.inverse_mass[pairs]
    return np.where(inverse > 0.0, 1.0 / np.where(inverse > 0.0, inverse, 1.0), 0.0).sum(axis=1)


def pair_reaches(bodies, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Size of the smaller body of each pair that can be pushed [m]."""
    reach = np.where(bodies.inverse_mass[pairs] > 0.0, bodies.reach[pairs], np.inf)
    return reach.min(axis=1, initial=np.inf)
