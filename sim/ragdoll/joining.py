"""The joint between two bodies of a ragdoll: its kind, axes and limits.

Angles are counted from the pose of rest, as the first body carries it along. At the transition the joint is valid
whatever the pose: hinges take their axis from where they are, and limits give way as far as the pose needs.
"""

import numpy as np

from jellycage.sim.maths import quaternions
from jellycage.sim.ragdoll.anatomy import Bearings
from jellycage.sim.ragdoll.character import Character
from jellycage.sim.ragdoll.limits import BACKWARD, FORWARD, limits_of
from jellycage.sim.rigid.joints import ConeTwist, Fixed, Hinge, Joint

LEEWAY = np.radians(2.0)  # beyond the pose at the transition
Y = np.array([0.0, 1.0, 0.0])


def join(
    character: Character, a: int, base: int, b: int, bone: int, role: str, bearings: Bearings, spring: dict
) -> Joint:  # fmt: skip
    """The joint of body b, in the frame of `bone`, with body a, in that of `base`."""
    entry = character.bones[bone]
    limits = limits_of(role)
    common = {"a": a, "b": b, "point": character.location[-1, bone], **spring}
    # From rest to the transition, as a carries the world along.
    carried = quaternions.product(
        character.rotation[-1, base], quaternions.inverse(character.rest_rotation[base])
    )
    direction = quaternions.turned(character.rest_rotation[bone], Y)
    if sum(entry.locked) == 3:
        return Fixed(**common, frame=character.rotation[-1, bone])
    if sum(entry.locked) == 2 or (limits.is_hinge and entry.swing is None):
        axis, is_known = _hinge_axis(entry, direction, limits, bearings, character.rest_rotation[bone])  # fmt: skip
        return _hinge(character, bone, carried, axis, limits, is_known, entry, common)
    return _cone(character, bone, carried, direction, limits, bearings, entry, common)


def _towards(direction, to, bearings):
    """Axis about which a direction turns towards where limbs bend or lean; None if it points there already."""
    aim = {FORWARD: bearings.forward, BACKWARD: -bearings.forward}.get(to)
    if aim is None:
        return None
    axis = np.cross(direction, aim)
    size = np.linalg.norm(axis)
    return axis / size if size > 0.2 else None


def _hinge_axis(entry, direction, limits, bearings, rest):
    """(axis at rest in the world, whether flexing is known to be positive about it)."""
    towards = _towards(direction, limits.bends, bearings)
    if sum(entry.locked) == 2:
        own = quaternions.turned(rest, np.eye(3)[entry.locked.index(False)])
        if towards is None:
            return own, False
        return (own if own @ towards >= 0.0 else -own), abs(own @ towards) > 0.5
    if towards is None:
        return quaternions.turned(rest, np.eye(3)[0]), False
    return towards, True


def _hinge(character, bone, carried, axis, limits, is_known, entry, common):
    """A hinge whose axis is that of the rest pose as the first body holds it."""
    axis = quaternions.turned(carried, axis)
    frame = _frame_along(axis)
    posed = character.rotation[-1, bone]
    # What is left of the turn since rest once all but the hinge's own is taken away.
    turn = quaternions.product(
        posed, quaternions.inverse(quaternions.product(carried, character.rest_rotation[bone]))
    )
    angle = 2.0 * np.arctan2(turn[1:] @ axis, turn[0])
    angle = (angle + np.pi) % (2.0 * np.pi) - np.pi
    low, high = np.radians(limits.low), np.radians(limits.high)
    if not is_known:
        reach = np.radians(entry.swing if entry.swing is not None else limits.swing)
        low, high = -reach, reach
    frame_b = quaternions.product(quaternions.about(axis, angle), frame)
    return Hinge(
        **common, frame=frame, frame_b=frame_b,
        low=min(low, angle - LEEWAY), high=max(high, angle + LEEWAY),
    )  # fmt: skip


def _cone(character, bone, carried, direction, limits, bearings, entry, common):
    """A cone about the direction at rest, leaned as the role says, and a limited twist."""
    swing = np.radians(entry.swing if entry.swing is not None else limits.swing)
    twist = np.radians(entry.twist if entry.twist is not None else limits.twist)
    if entry.locked[1]:
        twist = 0.0
    rest = quaternions.product(carried, character.rest_rotation[bone])
    lean = None if entry.swing is not None else _towards(direction, limits.leans, bearings)
    centre = rest
    if lean is not None:
        axis = quaternions.turned(carried, lean)
        centre = quaternions.product(quaternions.about(axis, np.radians(limits.lean)), rest)
    # Frames have x along the bone; the bone's own axis is y.
    frame = quaternions.product(centre, Y_TO_X)
    frame_b = quaternions.product(character.rotation[-1, bone], Y_TO_X)
    now_swing, now_twist = _swing_and_twist(frame, frame_b)
    return ConeTwist(
        **common, frame=frame, frame_b=frame_b, swing=max(swing, now_swing + LEEWAY),
        twist_low=min(-twist, now_twist - LEEWAY), twist_high=max(twist, now_twist + LEEWAY),
    )  # fmt: skip


Y_TO_X = quaternions.about(np.array([0.0, 0.0, 1.0]), 0.5 * np.pi)
"""Seen from a frame turned by this, the bone's y is x."""


def _frame_along(axis):
    """A frame whose x axis is the given one."""
    other = np.eye(3)[np.argmin(np.abs(axis))]
    y = np.cross(axis, other)
    y = y / np.linalg.norm(y)
    return quaternions.of_matrices(np.stack([axis, y, np.cross(axis, y)], axis=1))


def _swing_and_twist(frame, frame_b):
    """Angle between the x axes of two frames, and signed angle about x that is left [rad]."""
    w, x, y, z = quaternions.product(quaternions.inverse(frame), frame_b)
    twist = 2.0 * np.arctan2(x, w)
    return 2.0 * np.arctan2(np.hypot(y, z), np.hypot(w, x)), (twist + np.pi) % (2 * np.pi) - np.pi
