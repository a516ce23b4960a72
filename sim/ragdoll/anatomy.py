"""Shapes of a character's bodies, guessed from its bones, its skin and the roles of the bones.

A body has the frame of its bone: y runs from head to tail. All is measured at rest.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.maths import quaternions
from jellycage.sim.ragdoll import roles
from jellycage.sim.ragdoll.character import Character
from jellycage.sim.shapes import Box, Capsule, Hull, Shape

# Radius of a limb as a share of its bone's length, of adults.
THICKNESS = {
    roles.NECK: 0.5,
    roles.HEAD: 0.42,
    roles.UPPER_ARM: 0.14,
    roles.FOREARM: 0.14,
    roles.HAND: 0.2,
    roles.THIGH: 0.17,
    roles.SHIN: 0.12,
    roles.FOOT: 0.3,
}
PLAIN_THICKNESS = 0.2
DEPTH = 0.62  # of a trunk, as a share of its width
LEAST_SKIN = 12  # vertices that a bone must move to be measured by them
HEEL = 0.35  # how far a foot reaches behind the ankle, as a share of its bone


@dataclass(frozen=True)
class Bearings:
    """Which way a character looks at rest: unit vectors in the world."""

    left: NDArray[np.float64]
    forward: NDArray[np.float64]
    up: NDArray[np.float64]


def bearings_of(character: Character, bone_roles) -> Bearings:
    """From where its left and right limbs are; without any it looks along -y, as Blender's characters do."""
    up, left = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    for role in (roles.THIGH, roles.UPPER_ARM, roles.CLAVICLE):
        pair = [i for i, r in enumerate(bone_roles) if r == role]
        sides = {side_of(character.names[i]): character.rest_head[i] for i in pair}
        if {"left", "right"} <= set(sides):
            across = sides["left"] - sides["right"]
            across = across - (across @ up) * up
            if np.linalg.norm(across) > 1e-6:
                left = across / np.linalg.norm(across)
                break
    return Bearings(left, np.cross(left, up), up)


def side_of(name: str) -> str:
    """ "left", "right" or nothing."""
    lower = name.lower()
    for side, ends, words in (
        ("left", (".l", "_l", "-l", " l"), ("left", "左")),
        ("right", (".r", "_r", "-r", " r"), ("right", "右")),
    ):
        stem = lower.rstrip("0123456789.")
        if (
            stem.endswith(ends)
            or any(word in lower for word in words)
            or lower.startswith(tuple(f"{e[1]}{e[0]}" for e in ends[:2]))
        ):
            return side
    return ""


def body_shape(
    character: Character, bone: int, role: str, bearings: Bearings, below: float = 0.0, beyond: float = 0.0
) -> Shape:  # fmt: skip
    """The shape of a bone's body in the bone's frame, reaching so far below its head and beyond its tail [m] too."""
    entry, length = character.bones[bone], float(character.lengths()[bone])
    length = max(length, 1e-3)
    kind = entry.shape
    if kind is None:
        is_trunk = role in (roles.HIPS, roles.SPINE)
        kind = "box" if is_trunk or role == roles.FOOT else "capsule"
    if kind == "hull":
        points = skin_points(character, bone)
        if len(points) >= LEAST_SKIN:
            return Hull(points)
        kind = "capsule"
    radius = entry.radius or skin_radius(character, bone)
    if kind == "box" and role == roles.FOOT:
        return _foot(character, bone, bearings, radius)
    if kind == "box":
        return _trunk(character, bone, role, bearings, radius, below, beyond)
    radius = radius or THICKNESS.get(role, PLAIN_THICKNESS) * length
    inset = min(radius, 0.49 * length) if role in (roles.HEAD, roles.HAND) else 0.0
    start = np.array([0.0, inset - below, 0.0])
    end = np.array([0.0, length - inset + beyond, 0.0])
    return Capsule(radius, start, end)


def skin_points(character: Character, bone: int) -> NDArray[np.float64]:
    """Vertices that a bone moves more than others do, in its frame [m], shape (n, 3)."""
    skin = character.skin
    if skin is None or not len(skin.vertices):
        return np.zeros((0, 3))
    strongest = skin.bones[np.arange(len(skin.bones)), skin.weights.argmax(axis=1)]
    chosen = skin.vertices[(strongest == bone) & (skin.weights.max(axis=1) > 0.0)]
    back = quaternions.inverse(character.rest_rotation[bone])
    return quaternions.turned(back, chosen - character.rest_head[bone])


def skin_radius(character: Character, bone: int) -> float | None:
    """Median distance of a bone's skin from its axis [m]; None if it has too little of it."""
    points = skin_points(character, bone)
    if len(points) < LEAST_SKIN:
        return None
    radius = float(np.median(np.hypot(points[:, 0], points[:, 2])))
    return radius if radius > 1e-4 else None


def _trunk(character, bone, role, bearings, radius, below, beyond):
    """A box as wide as what hangs on the trunk is apart."""
    length = float(character.lengths()[bone])
    half = radius or max(_half_width(character, bone, role, bearings), 0.35 * length)
    back = quaternions.inverse(character.rest_rotation[bone])
    left = quaternions.turned(back, bearings.left)
    y = np.array([0.0, 1.0, 0.0])
    left = left - left[1] * y
    if np.linalg.norm(left) < 0.3:
        left = np.array([1.0, 0.0, 0.0])
    left = left / np.linalg.norm(left)
    turn = quaternions.of_matrices(np.stack([left, y, np.cross(left, y)], axis=1))
    height = below + length + beyond
    return Box((2.0 * half, height, 2.0 * DEPTH * half), (0.0, 0.5 * height - below, 0.0), turn)


def _half_width(character, bone, role, bearings):
    """Half the width of a part of the trunk [m]: of hips and chest by their limbs, in between by theirs."""
    hanging = [i for i in range(len(character.bones)) if character.parent[i] == bone]
    away = np.zeros((0, 2))
    if hanging:
        ends = np.stack([character.rest_head[hanging], character.rest_tail[hanging]], axis=1)
        away = np.abs((ends - character.rest_head[bone]) @ bearings.left)
    # Hips are wider than their joints; shoulders are at the ends of collar bones.
    half = 1.5 * away[:, 0].max(initial=0.0) if role == roles.HIPS else 0.8 * away.max(initial=0.0)
    if half > 0.02 * float(np.ptp(character.rest_head[:, 2])) or not hanging:
        return half
    above = [i for i in hanging if roles.role_of(character.names[i]) == roles.SPINE]
    return 0.85 * _half_width(character, above[0], roles.SPINE, bearings) if above else half


def _foot(character, bone, bearings, radius):
    """A box from heel to ball, from the ankle down to the sole."""
    head, tail = character.rest_head[bone], character.rest_tail[bone]
    along = tail - head
    along = along - (along @ bearings.up) * bearings.up
    length = np.linalg.norm(along)
    if length < 1e-3:
        along, length = bearings.forward, float(character.lengths()[bone])
    along = along / np.linalg.norm(along)
    sole = _sole(character, bone)
    height = max((head @ bearings.up) - sole, 0.15 * length)
    width = 2.0 * radius if radius else 0.65 * length
    centre = head + along * 0.5 * (1.0 - HEEL) * length - 0.5 * height * bearings.up
    size = (width, (1.0 + HEEL) * length, height)
    axes = np.stack([np.cross(along, bearings.up), along, bearings.up], axis=1)
    back = quaternions.inverse(character.rest_rotation[bone])
    turn = quaternions.product(back, quaternions.of_matrices(axes))
    return Box(size, quaternions.turned(back, centre - head), turn)


def _sole(character, bone):
    """Height of the ground that a foot stands on at rest [m]: that of the lowest bone, or 0 if that is just above."""
    lowest = min(character.rest_head[:, 2].min(), character.rest_tail[:, 2].min())
    lowest = 0.0 if 0.0 <= lowest < 0.25 * character.lengths()[bone] else lowest
    own = min(character.rest_head[bone, 2], character.rest_tail[bone, 2])
    return lowest if own - lowest < 0.5 * character.lengths()[bone] else own


def toe_shape(character: Character, foot: int, toe: int) -> Shape:
    """Toes that ride on a foot, in its frame, bent as they are at the transition."""
    length = max(float(character.lengths()[toe]), 1e-3)
    radius = min(max(character.rest_head[toe, 2] - _sole(character, foot), 0.1 * length), 0.4 * length)  # fmt: skip
    back = quaternions.inverse(character.rotation[-1, foot])
    start = quaternions.turned(back, character.location[-1, toe] - character.location[-1, foot])
    turn = quaternions.product(back, character.rotation[-1, toe])
    return Capsule(radius, start, start + quaternions.turned(turn, (0.0, length - radius, 0.0)))
