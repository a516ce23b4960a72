"""Bones at rest: what a file says of each, in what order they stand, and how their axes lie."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.errors import SceneError
from jellycage.sim.maths import quaternions
from jellycage.sim.ragdoll.arrays import as_turns
from jellycage.sim.schema.schema import NotTogether, key, shown
from jellycage.sim.schema.schema_kinds import Choice, Kind, Number, Text, Vector
from jellycage.toolkit.arrays import frozen

SHAPES = ("capsule", "box", "hull", "none")
LEAST_LENGTH = 1e-6  # [m]; a shorter bone has none
AXIS_TOLERANCE = np.radians(1.0)  # between the y axis of a given rotation and the tail

Three = tuple[float, float, float]


class LocksKind(Kind):
    """Which of three rotations are locked."""

    word = "locks"
    expected = "three of true or false"

    def read(self, value, place):
        is_list = isinstance(value, list | tuple) and len(value) == 3
        if not is_list or not all(isinstance(lock, bool) for lock in value):
            raise place.wrong(self.expected, value)
        return tuple(value)


@dataclass(frozen=True, kw_only=True)
class BoneEntry:
    """A bone at rest, and what the simulator should make of it."""

    RULES = (NotTogether("roll", ("rotation",), "both turn the axes"),)

    name: str = key(Text(), "No two alike.", example="thigh.L")
    parent: str | None = key(
        Text(),
        "The bone it hangs on, which stands before it; left out: none.",
        None,
        example="hips",
    )
    head: Three = key(
        Vector(Number(unit="m")), "Where it begins, in the world.", example=[0.0, 0.0, 1.0]
    )
    tail: Three = key(
        Vector(Number(unit="m")),
        "Where it ends; at its head only if nothing hangs on it.",
        example=[0.0, 0.0, 1.2],
    )
    roll: float | None = key(
        Number(unit="degrees"), "Turn of its axes about y, as Blender has it; left out: 0.", None
    )
    rotation: tuple[float, float, float, float] | None = key(
        Vector(count=4),
        "Or its axes as a quaternion (w, x, y, z); y points to the tail.",
        None,
        example=[1.0, 0.0, 0.0, 0.0],
    )
    locked: tuple[bool, bool, bool] = key(
        LocksKind(),
        "Rotations about its own x, y and z that must not change.",
        (False, False, False),
    )
    shape: str | None = key(
        Choice(SHAPES), "What collides; left out: a guess.", None, example="capsule"
    )
    radius: float | None = key(
        Number(0.0, unit="m", above=True), "Of its shape; left out: a guess.", None, example=0.05
    )
    swing: float | None = key(
        Number(0.0, 180.0, "degrees"),
        "How far it may bend from its rest pose; left out: a guess.",
        None,
        example=60.0,
    )
    twist: float | None = key(
        Number(0.0, 180.0, "degrees"),
        "How far it may turn about y; left out: a guess.",
        None,
        example=30.0,
    )


def parents_of(bones: tuple[BoneEntry, ...]) -> NDArray[np.int32]:
    """Index of each bone's parent, -1 for none; every parent stands before its children."""
    place = {}
    for at, bone in enumerate(bones):
        if bone.name in place:
            raise SceneError(
                f"bones[{at}].name: {shown(bone.name)} is the name of bones[{place[bone.name]}] too; "
                "choose another"
            )
        place[bone.name] = at
    parent = np.full(len(bones), -1, np.int32)
    for at, bone in enumerate(bones):
        if bone.parent is None:
            continue
        where = f"bones[{at}].parent"
        if bone.parent not in place:
            raise SceneError(
                f"{where}: there is no bone {shown(bone.parent)}; correct the name or remove the key"
            )
        parent[at] = place[bone.parent]
        if parent[at] >= at:
            raise SceneError(f"{where}: {_disorder(bones, place, at)}")
    return frozen(parent)


def _disorder(bones, place, at):
    """Why a parent that does not stand before its child cannot be right."""
    above, seen = at, set()
    while above not in seen and bones[above].parent in place:
        seen.add(above)
        above = place[bones[above].parent]
    if above == at:
        return f"{shown(bones[at].name)} hangs on itself; break the circle"
    return f"{shown(bones[at].parent)} stands later in the list; list parents before children"


def check_lengths(bones: tuple[BoneEntry, ...], parent: NDArray[np.int32]) -> None:
    """Raise if a bone that others hang on has no length."""
    for at in np.unique(parent[parent >= 0]):
        if np.linalg.norm(np.subtract(bones[at].tail, bones[at].head)) < LEAST_LENGTH:
            raise SceneError(
                f"bones[{at}]: {shown(bones[at].name)} has no length though other bones hang on it; "
                "give it a tail apart from its head, or hang them on its parent"
            )


def rest_axes(bone: BoneEntry, where: str = "bone") -> NDArray[np.float64]:
    """The axes of a bone at rest as a quaternion; a bone without length and rotation has those of the world."""
    y = np.subtract(bone.tail, bone.head)
    length = np.linalg.norm(y)
    if bone.rotation is not None:
        q = as_turns(np.array(bone.rotation), (), f"{where}.rotation")
        axis = quaternions.turned(q, np.array([0.0, 1.0, 0.0]))
        if length >= LEAST_LENGTH:
            apart = np.arctan2(np.linalg.norm(np.cross(axis, y / length)), axis @ y / length)
            if apart > AXIS_TOLERANCE:
                raise SceneError(
                    f"{where}.rotation: its y axis is {np.degrees(apart):.1f} degrees away from "
                    "the tail; correct it, or give a roll instead"
                )
        return q
    if length < LEAST_LENGTH:
        return np.array(quaternions.IDENTITY)
    spun = quaternions.about(y / length, np.radians(bone.roll or 0.0))
    return quaternions.product(spun, axes_without_roll(y / length))


def axes_without_roll(y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Blender's axes of a bone along the unit vector y with roll 0: the shortest turn from (0, 1, 0)."""
    # Blender takes bones within 2.5e-4 of (0, -1, 0), where that turn is not defined, for exactly that.
    if y[1] < 0.0 and np.hypot(y[0], y[2]) <= 2.5e-4:
        return np.array([0.0, 0.0, 0.0, 1.0])
    q = np.array([1.0 + y[1], y[2], 0.0, -y[0]])
    if y[1] < 0.0:
        q[0] = (y[0] ** 2 + y[2] ** 2) / (1.0 - y[1])  # the same without cancellation
    return q / np.linalg.norm(q)


def roll_of(y: NDArray[np.float64], x: NDArray[np.float64]) -> float:
    """The roll [degrees] at which the x axis of a bone along the unit vector y points as nearly as possible along x."""
    axes = quaternions.as_matrices(axes_without_roll(y))
    return float(np.degrees(np.arctan2(-np.dot(x, axes[:, 2]), np.dot(x, axes[:, 0]))))
