"""BVH, the motion of bones as most programs read it: a tree of offsets, then three angles per joint and frame.

At rest the frames of all joints lie along the axes of the file. A joint is where its parent puts the joint's offset,
turned from rest by its angles, Z, then X, then Y, each about the axes that the one before has turned. The root has its
position as well, and so has every bone whose posed head does not follow from the turns: for those the three positions
take the place of the offset.

Blender's importer reads the files with its own settings: y is up, one unit is a metre, frames begin at its Start Frame.
Every bone has an End Site where its tail is not the head of its only child; Blender takes it for the tail.
"""

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.errors import SettingsError
from jellycage.sim.maths.quaternions import as_matrices, inverse, product, turned
from jellycage.sim.ragdoll.character import Character
from jellycage.sim.ragdoll.motion import BoneMotion
from jellycage.sim.schema.schema import shown
from jellycage.toolkit.atomic_file import atomic_file

UP_AXES = {
    "Y": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
    "Z": np.eye(3),
}
"""From the world to the axes of the file."""
FOLLOWS = 2e-6  # [m]: a head that stays this close to where its parent puts it needs no position
ANGLES = "Zrotation Xrotation Yrotation"
POSITIONS = "Xposition Yposition Zposition"


@dataclass(frozen=True, eq=False)
class BvhJoint:
    """A bone as the file has it."""

    name: str
    parent: int
    """Index of its parent, -1 for the root."""
    offset: NDArray[np.float64]
    """From its parent's head to its own at rest [m], shape (3,)."""
    end: NDArray[np.float64] | None
    """From its head to its tail at rest [m], shape (3,), if there is an End Site."""
    position: NDArray[np.float64] | None
    """In its parent's frame [m], shape (f, 3), if it has channels for it."""
    angles: NDArray[np.float64]
    """About Z, X and Y [degrees], shape (f, 3)."""


def write_bvh(
    character: Character, motion: BoneMotion, path: str | os.PathLike, *, up_axis: str = "Y"
) -> None:
    """Write the motion of a character's bones; the file appears whole or not at all.

    Several bones without a parent are put under a root of their own that does not move. What BVH cannot spell in
    names, spaces and braces, becomes an underscore.
    """
    if up_axis not in UP_AXES:
        raise SettingsError(f'up_axis: expected "Y" or "Z", got {shown(up_axis)}; use "Y"')
    joints = joints_of(character, motion, UP_AXES[up_axis])
    lines, order = hierarchy(joints)
    values = [_channels(joints[at]) for at in order]
    lines += ["MOTION", f"Frames: {len(motion.frames)}", f"Frame Time: {1.0 / motion.fps:.10f}"]
    lines += [" ".join(map(_spelt, row)) for row in np.concatenate(values, axis=1)]
    with atomic_file(path) as draft:
        draft.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def joints_of(character: Character, motion: BoneMotion, axes: NDArray) -> list[BvhJoint]:
    """The joints of the file, the root first; axes turn the world into those of the file."""
    location, rotation = _poses(character, motion)
    turn = product(rotation, inverse(character.rest_rotation))
    parent, names = character.parent, _file_names(character.names)
    has_common_root = np.count_nonzero(parent < 0) > 1
    frame_count = len(motion.frames)
    joints = []
    if has_common_root:
        nothing = np.zeros((frame_count, 3))
        joints.append(BvhJoint(_free("root", set(names)), -1, np.zeros(3), None, nothing, nothing))
    ends = _ends(character)
    for at, name in enumerate(names):
        above, head = parent[at], character.rest_head[at]
        if above < 0:
            offset, position, local = head, location[:, at], turn[:, at]
        else:
            back = inverse(turn[:, above])
            offset = head - character.rest_head[above]
            position = turned(back, location[:, at] - location[:, above])
            local = product(back, turn[:, at])
            if _may_follow(character, at) and np.abs(position - offset).max() <= FOLLOWS:
                position = None
        matrices = axes @ as_matrices(local) @ axes.T
        joints.append(
            BvhJoint(
                name=name,
                parent=int(above) + has_common_root,
                offset=axes @ offset,
                end=None if ends[at] is None else axes @ ends[at],
                position=None if position is None else position @ axes.T,
                angles=np.degrees(angles_of(matrices)),
            )
        )
    return joints


def _poses(character, motion):
    """Location and rotation of the character's bones, in its order."""
    place = {name: at for at, name in enumerate(motion.names)}
    for name in character.names:
        if name not in place:
            raise SettingsError(f"motion: bone {shown(name)} is missing; give the motion of all")
    columns = [place[name] for name in character.names]
    return motion.location[:, columns], motion.rotation[:, columns]


def _ends(character):
    """From head to tail of each bone, None where the only child begins at the tail."""
    ends = list(character.rest_tail - character.rest_head)
    for at in range(len(ends)):
        children = np.flatnonzero(character.parent == at)
        if len(children) == 1 and np.allclose(
            character.rest_head[children[0]], character.rest_tail[at], rtol=0.0, atol=1e-9
        ):
            ends[at] = None
    return ends


def _may_follow(character, at):
    """Whether a reader leaves a bone without position channels where its offset puts it.

    Blender's importer moves a bone to its parent's tail if the parent's tail, measured from the grandparent's head,
    equals the bone's offset, whether they are the same point or not.
    """
    above = character.parent[at]
    further = character.parent[above]
    begin = character.rest_head[further] if further >= 0 else np.zeros(3)
    offset = character.rest_head[at] - character.rest_head[above]
    is_mistaken = np.allclose(character.rest_tail[above] - begin, offset, rtol=0.0, atol=1e-5)
    is_connected = np.allclose(character.rest_head[at], character.rest_tail[above], atol=1e-9)
    return is_connected or not is_mistaken


def angles_of(matrices: NDArray) -> NDArray:
    """Angles (f, 3) [rad] about Z, X and Y of M = Z X Y for matrices (f, 3, 3), as steady as they can be."""
    m = np.moveaxis(matrices, 0, -1)
    across = np.hypot(m[0, 1], m[1, 1])
    x = np.arctan2(m[2, 1], across)
    is_locked = across < 1e-7  # z and y turn about the same axis there: y alone does it
    z = np.where(is_locked, 0.0, np.arctan2(-m[0, 1], m[1, 1]))
    y = np.where(is_locked, np.arctan2(m[0, 2], m[0, 0]), np.arctan2(-m[2, 0], m[2, 2]))
    first = np.stack([z, x, y], axis=1)
    second = np.stack([z + np.pi, np.pi - x, y + np.pi], axis=1)  # the same turn
    result = first.copy()
    for frame in range(1, len(result)):
        before = result[frame - 1]
        both = [angles[frame] for angles in (first, second)]
        both = [
            angles - 2.0 * np.pi * np.round((angles - before) / (2.0 * np.pi)) for angles in both
        ]
        result[frame] = min(both, key=lambda angles: np.abs(angles - before).sum())
    return result


def _file_names(names):
    """Names that BVH can spell, all different."""
    taken, result = set(), []
    for name in names:
        word = "_".join(name.split()).replace("{", "_").replace("}", "_")
        result.append(_free(word, taken))
        taken.add(result[-1])
    return result


def _free(word, taken):
    number, name = 2, word
    while name in taken:
        name, number = f"{word}_{number}", number + 1
    return name


def hierarchy(joints: list[BvhJoint]) -> tuple[list[str], list[int]]:
    """The lines of the tree of joints, and the joints in the order in which they stand there."""
    children = [[] for _ in joints]
    for at, joint in enumerate(joints[1:], 1):
        children[joint.parent].append(at)
    lines, order, waiting = ["HIERARCHY"], [], [(0, 0)]
    open_until = 0
    while waiting:
        at, depth = waiting.pop()
        lines += ["\t" * level + "}" for level in range(open_until - 1, depth - 1, -1)]
        lines += _joint_lines(joints[at], depth)
        order.append(at)
        waiting += [(child, depth + 1) for child in reversed(children[at])]
        open_until = depth + 1
    return lines + ["\t" * level + "}" for level in range(open_until - 1, -1, -1)], order


def _joint_lines(joint, depth):
    tab = "\t" * depth
    channels = f"6 {POSITIONS} {ANGLES}" if joint.position is not None else f"3 {ANGLES}"
    lines = [
        f"{tab}{'JOINT' if depth else 'ROOT'} {joint.name}",
        f"{tab}{{",
        f"{tab}\tOFFSET {_row(joint.offset)}",
        f"{tab}\tCHANNELS {channels}",
    ]
    if joint.end is not None:
        lines += [
            f"{tab}\tEnd Site",
            f"{tab}\t{{",
            f"{tab}\t\tOFFSET {_row(joint.end)}",
            f"{tab}\t}}",
        ]
    return lines


def _channels(joint):
    if joint.position is None:
        return joint.angles
    return np.concatenate([joint.position, joint.angles], axis=1)


def _row(values):
    return " ".join(map(_spelt, values))


def _spelt(value):
    text = f"{value:.8f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text
