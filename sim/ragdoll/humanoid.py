"""A walking adult, 1.75 m tall, 22 bones: the sample character.

It faces -y and walks that way; its left side is at +x. Lengths of limbs are fractions of the height as Drillis and
Contini 1966, "Body segment parameters", give them. The legs are solved backwards from feet that roll over heel and
ball and stay where they are planted; everything else is a sum of a few waves in step with them.

python -m jellycage.sim.ragdoll.humanoid PATH     writes it, such as sample_meshes/walker.json
"""

import sys

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicHermiteSpline, PchipInterpolator

from jellycage.sim.maths.quaternions import about, of_matrices, product, turned
from jellycage.sim.ragdoll.bones import BoneEntry, roll_of
from jellycage.sim.ragdoll.character import Character
from jellycage.sim.ragdoll.character_file import write_character

CYCLE = 1.0  # [s], two steps
STRIDE = 1.24  # [m] per cycle
STANCE = 0.6  # of a cycle a foot is on the ground
LANDING_SPEED = -1.0  # [m/s] along y, of a foot when its heel strikes
LIFT = 0.04  # [m], what the ankle is raised in the middle of its swing
MASS = 75.0  # [kg]
X, Y, Z = np.eye(3)

HIP = np.array([0.09, 0.0, 0.93])
KNEE = np.array([0.09, -0.012, 0.50])
ANKLE = np.array([0.09, 0.012, 0.07])
BALL = np.array([0.09, -0.125, 0.02])
TOE_TIP = np.array([0.09, -0.20, 0.02])
HEEL = np.array([0.09, 0.06, 0.0])
"""Left leg at rest [m]; the heel is no bone, but where the foot lands."""

LOWERED = np.radians(45.0)  # from arms at rest to arms that hang, about y
SHOULDER = np.array([0.185, 0.0, 1.42])
ARM = (0.325, 0.255, 0.189)  # [m]: upper arm, forearm, hand

# Keys of a foot over its cycle, from heel strike to heel strike: pitch [degrees] of foot and toes, toes up positive.
FOOT_PITCH = ((0.0, 18.0), (0.1, 0.0), (0.36, 0.0), (0.6, -50.0), (0.72, -42.0), (0.88, 8.0))
TOE_PITCH = ((0.0, 18.0), (0.1, 0.0), (0.6, 0.0), (0.68, -8.0), (0.76, -10.0), (0.88, 10.0))


def rest_bones() -> tuple[BoneEntry, ...]:
    """The bones at rest, arms lowered by 45 degrees; x is the axis of knees, elbows and toes."""
    trunk = [
        ("hips", None, (0.0, 0.0, 0.93), (0.0, 0.0, 1.03)),
        ("spine", "hips", (0.0, 0.0, 1.03), (0.0, 0.0, 1.16)),
        ("spine.001", "spine", (0.0, 0.0, 1.16), (0.0, 0.0, 1.29)),
        ("spine.002", "spine.001", (0.0, 0.0, 1.29), (0.0, 0.0, 1.46)),
        ("neck", "spine.002", (0.0, 0.0, 1.46), (0.0, 0.0, 1.55)),
        ("head", "neck", (0.0, 0.0, 1.55), (0.0, 0.0, 1.75)),
    ]
    bones = [_bone(name, parent, head, tail, X) for name, parent, head, tail in trunk]
    along = np.array([np.sin(LOWERED), 0.0, -np.cos(LOWERED)])
    arm = SHOULDER + np.cumsum((0.0, *ARM))[:, None] * along
    arm_x = np.array([np.cos(LOWERED), 0.0, np.sin(LOWERED)])
    for side, mirror in (("L", np.ones(3)), ("R", np.array([-1.0, 1.0, 1.0]))):
        x = arm_x * (1.0, 1.0, mirror[0])  # both elbows turn about +x when the arms hang
        joints = [(0.025, 0.0, 1.42), *arm, HIP, KNEE, ANKLE, BALL, TOE_TIP]
        root, shoulder, elbow, wrist, fingers, *leg = [mirror * point for point in joints]
        bones += [
            _bone(f"shoulder.{side}", "spine.002", root, shoulder, -Y),
            _bone(f"upper_arm.{side}", f"shoulder.{side}", shoulder, elbow, x),
            _bone(f"forearm.{side}", f"upper_arm.{side}", elbow, wrist, x, is_hinge=True),
            _bone(f"hand.{side}", f"forearm.{side}", wrist, fingers, x),
            _bone(f"thigh.{side}", "hips", leg[0], leg[1], X),
            _bone(f"shin.{side}", f"thigh.{side}", leg[1], leg[2], X, is_hinge=True),
            _bone(f"foot.{side}", f"shin.{side}", leg[2], leg[3], X),
            _bone(f"toe.{side}", f"foot.{side}", leg[3], leg[4], X, is_hinge=True),
        ]
    return tuple(bones)


def _bone(name, parent, head, tail, x, is_hinge=False):
    head, tail = np.round(head, 6), np.round(tail, 6)
    roll = roll_of((tail - head) / np.linalg.norm(tail - head), x)
    return BoneEntry(
        name=name,
        parent=parent,
        head=tuple(head.tolist()),
        tail=tuple(tail.tolist()),
        roll=round(roll, 6) + 0.0,
        locked=(False, is_hinge, is_hinge),
    )


def humanoid(frames: int = 60, fps: float = 24) -> Character:
    """The character with so many frames of its walk, from frame 1 on."""
    bones = rest_bones()
    turns, hips = walk(np.arange(frames) / fps, {bone.name: bone for bone in bones})
    names = [bone.name for bone in bones]
    location = np.zeros((frames, len(bones), 3))
    location[:, 0] = hips
    for at, bone in enumerate(bones[1:], 1):
        above = names.index(bone.parent)
        offset = np.subtract(bone.head, bones[above].head)
        location[:, at] = location[:, above] + turned(turns[bone.parent], offset)
    still = Character(  # for its axes at rest
        name="walker",
        bones=bones,
        fps=fps,
        frames=[1],
        location=location[:1],
        rotation=_ones(bones),
    )
    rotation = product(np.stack([turns[name] for name in names], axis=1), still.rest_rotation)
    return Character(
        name="walker",
        bones=bones,
        fps=fps,
        frames=np.arange(1, frames + 1),
        location=np.round(location, 6) + 0.0,
        rotation=np.round(rotation, 7) + 0.0,
        spine=("spine", "spine.001", "spine.002"),
        mass=MASS,
    )


def _ones(bones):
    return np.tile((1.0, 0.0, 0.0, 0.0), (1, len(bones), 1))


def walk(time: NDArray, bones: dict[str, BoneEntry]) -> tuple[dict[str, NDArray], NDArray]:
    """How each bone is turned from rest (f, 4), and where the head of the hips is (f, 3), at times [s]."""
    phase = time / CYCLE
    step, sway = np.cos(2.0 * np.pi * phase), np.sin(2.0 * np.pi * phase)
    hips = np.stack(
        [
            0.02 * sway,
            -STRIDE * phase - 0.005 * np.sin(4.0 * np.pi * phase),
            0.902 - 0.018 * np.cos(4.0 * np.pi * (phase - 0.03)),
        ],
        axis=-1,
    )
    # At phase 0 the left heel strikes: the left hip is in front, the right shoulder too.
    yaw, drop, lean = np.radians(-5.0 * step), np.radians(-3.0 * sway), np.radians(3.0)
    pelvis = product(about(Z, yaw), product(about(Y, drop), about(X, lean * np.ones_like(yaw))))
    turns = {"hips": pelvis}
    for name, share in (("spine", 0.3), ("spine.001", 0.8), ("spine.002", 1.4)):
        level = about(Y, (1.0 - share) * drop)
        turns[name] = product(
            about(Z, (1.0 - 1.6 * share) * yaw), product(level, about(X, lean * np.ones_like(yaw)))
        )
    nod = np.radians(1.0) * np.cos(4.0 * np.pi * phase)
    turns["neck"] = product(about(Z, -0.5 * yaw), about(X, lean + nod))
    turns["head"] = about(X, nod)
    for side, lag in (("L", 0.0), ("R", 0.5)):
        turns |= arm_turns(side, phase + lag, turns["spine.002"])
        turns |= leg_turns(side, phase + lag, lag, hips, pelvis, bones)
    return turns, hips


def arm_turns(side: str, phase: NDArray, chest: NDArray) -> dict[str, NDArray]:
    """How the bones of an arm are turned; it is furthest back when the leg of its side is in front."""
    mirror = 1.0 if side == "L" else -1.0
    hanging = about(Y, np.array(mirror * LOWERED))
    swing = np.radians(3.0 + 21.0 * np.cos(2.0 * np.pi * phase))
    bend = np.radians(20.0 - 11.0 * np.cos(2.0 * np.pi * (phase - 0.06)))
    wrist = np.radians(6.0 - 4.0 * np.cos(2.0 * np.pi * (phase - 0.12)))
    spread = about(Y, np.array(mirror * np.radians(-6.0)))
    arm = product(chest, product(about(X, swing), spread))
    upper = product(arm, hanging)
    fore = product(arm, product(about(X, -bend), hanging))
    hand = product(arm, product(about(X, -bend - wrist), hanging))
    return {
        f"shoulder.{side}": chest,
        f"upper_arm.{side}": upper,
        f"forearm.{side}": fore,
        f"hand.{side}": hand,
    }


def leg_turns(side, phase, lag, hips, pelvis, bones) -> dict[str, NDArray]:
    """How the bones of a leg are turned so that its ankle is where the step wants it."""
    thigh, shin = bones[f"thigh.{side}"], bones[f"shin.{side}"]
    hip = hips + turned(pelvis, np.subtract(thigh.head, bones["hips"].head))
    ankle, foot, toe = foot_path(phase, lag)
    ankle[:, 0] *= 1.0 if side == "L" else -1.0
    rest = [np.array(point) for point in (thigh.head, thigh.tail, shin.tail)]
    thigh_turn, shin_turn = two_bone_turns(rest, hip, ankle, turned(pelvis, X))
    return {
        f"thigh.{side}": thigh_turn,
        f"shin.{side}": shin_turn,
        f"foot.{side}": about(X, -foot),
        f"toe.{side}": about(X, -toe),
    }


def two_bone_turns(rest, hip: NDArray, ankle: NDArray, side: NDArray) -> tuple[NDArray, NDArray]:
    """How thigh and shin are turned from rest (three joints) to lead from hip to ankle, the knee in front.

    The knee bends about `side` made square to the line from hip to ankle; beyond its reach a leg is straight.
    """
    a, b = np.linalg.norm(rest[1] - rest[0]), np.linalg.norm(rest[2] - rest[1])
    line = ankle - hip
    length = np.minimum(np.linalg.norm(line, axis=-1), (a + b) * (1.0 - 1e-9))
    line = line / np.linalg.norm(line, axis=-1, keepdims=True)
    axis = side - np.sum(side * line, axis=-1, keepdims=True) * line
    axis = axis / np.linalg.norm(axis, axis=-1, keepdims=True)
    at_hip = np.arccos((a * a + length**2 - b * b) / (2.0 * a * length))
    at_ankle = np.arccos((b * b + length**2 - a * a) / (2.0 * b * length))
    upper, lower = turned(about(axis, -at_hip), line), turned(about(axis, at_ankle), line)
    return tuple(
        of_matrices(_frame(posed, axis) @ np.swapaxes(_frame(_unit(tail - head), X), -1, -2))
        for posed, head, tail in ((upper, rest[0], rest[1]), (lower, rest[1], rest[2]))
    )


def _unit(vector):
    return vector / np.linalg.norm(vector)


def _frame(along, axis):
    """Rotation matrices with columns axis, along and their cross product; axis is square to along."""
    return np.stack([axis, along, np.cross(axis, along)], axis=-1)


def foot_path(phase: NDArray, lag: float) -> tuple[NDArray, NDArray, NDArray]:
    """Ankle of a left foot (f, 3) [m], and the pitch of foot and toes (f,) [rad], toes up positive.

    A cycle begins at heel strike. The foot rolls over its heel, stands, rolls over its ball, and swings.
    """
    cycle, part = np.floor(phase), phase - np.floor(phase)
    foot, toe = _pitch(FOOT_PITCH), _pitch(TOE_PITCH)
    # Half a stance before the hips are above it, measured at the ankle that stands flat.
    start = -STRIDE * (cycle - lag) - 0.5 * STANCE * STRIDE + 0.04
    y, z = _planted(part, foot)
    swing = part > STANCE
    y[swing], z[swing] = _swung(part[swing], foot)
    ankle = np.stack([np.full_like(y, ANKLE[0]), start + y, z], axis=-1)
    return ankle, foot(part), toe(part)


def _planted(part, foot):
    """(y, z) of the ankle on the ground, y from where it is when the foot stands flat."""
    pivot = np.where((part < 0.2)[:, None], HEEL[1:], BALL[1:])
    angle = foot(part)
    arm = ANKLE[1:] - pivot
    cosine, sine = np.cos(angle), np.sin(angle)
    # A turn about -x lifts the toes, which are at -y.
    y = cosine * arm[:, 0] + sine * arm[:, 1]
    z = -sine * arm[:, 0] + cosine * arm[:, 1]
    return pivot[:, 0] + y - ANKLE[1], pivot[:, 1] + z


def _swung(part, foot):
    """(y, z) of the ankle in the air: it leaves the ground as it moves there, and lands while it goes on forwards."""
    ends, moment = np.array([STANCE, 1.0]), 1e-4
    y, z = _planted(ends - (0.0, 1.0), foot)
    earlier_y, earlier_z = _planted(ends - (moment, 1.0), foot)
    y[1] -= STRIDE
    slope_y = (y[0] - earlier_y[0]) / moment, LANDING_SPEED * CYCLE
    slope_z = (z[0] - earlier_z[0]) / moment, 0.0
    s = (part - STANCE) / (1.0 - STANCE)
    lift = LIFT * (4.0 * s * (1.0 - s)) ** 2
    return (
        CubicHermiteSpline(ends, y, slope_y)(part),
        CubicHermiteSpline(ends, z, slope_z)(part) + lift,
    )


def _pitch(keys):
    """A smooth periodic curve through keys (part of a cycle, degrees), as a function that gives radians."""
    times, degrees = np.array(keys).T
    times = np.concatenate([times - 1.0, times, times + 1.0])
    return PchipInterpolator(times, np.radians(np.tile(degrees, 3)))


def main(path: str = "sample_meshes/walker.json") -> None:
    """Write the character."""
    write_character(humanoid(), path)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
