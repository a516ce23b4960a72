"""From the bodies of a ragdoll back to the bones of its character.

Bones with a body turn as it does; others keep their pose on the bone that they hang on. Bones of the spine between
hips and chest share the *change* of orientation since the transition, each by its length. Heads follow from the
rotations, so bones keep their lengths; `positions` moves the bones of the spine so that the chest meets its body, at
the expense of theirs (thesis 000, section 7.5).
"""

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.maths import quaternions
from jellycage.sim.ragdoll.motion import BoneMotion
from jellycage.sim.ragdoll.ragdoll import Ragdoll


def motion_of(
    ragdoll: Ragdoll,
    locations: NDArray[np.float64],
    rotations: NDArray[np.float64],
    *,
    positions: bool = False,
) -> BoneMotion:
    """The motion of all bones while bodies are at locations (f, n, 3) [m] and rotations (f, n, 4).

    These are frames from the transition on; the frames of animation before it come first.
    """
    character = ragdoll.character
    bones, frames = len(character.bones), len(rotations)
    rotation = np.empty((frames, bones, 4))
    location = np.empty((frames, bones, 3))
    started, placed = character.rotation[-1], character.location[-1]
    shares = spine_shares(ragdoll)
    for bone in range(bones):
        parent, body = character.parent[bone], ragdoll.bone_body[bone]
        is_own = body >= 0 and ragdoll.body_bone[body] == bone
        hangs = parent >= 0 and not (is_own and ragdoll.bone_body[parent] < 0)
        if is_own:
            rotation[:, bone] = rotations[:, body]
        elif bone in shares:
            rotation[:, bone] = _shared(ragdoll, rotations, bone, shares[bone])
        elif parent >= 0:
            rotation[:, bone] = _carried(rotation[:, parent], started[parent], started[bone])
        else:
            rotation[:, bone] = started[bone]
        if any(character.bones[bone].locked) and hangs:
            rotation[:, bone] = _unlocked(character, bone, parent, rotation)
        if hangs:
            # As it sat on its parent at the transition.
            seat = quaternions.turned(quaternions.inverse(started[parent]), placed[bone] - placed[parent])  # fmt: skip
            location[:, bone] = location[:, parent] + quaternions.turned(rotation[:, parent], seat)
        else:
            location[:, bone] = locations[:, body] if is_own else placed[bone]
    if positions and ragdoll.rods:
        _stretch_spine(ragdoll, locations, location)
    before = len(character.frames) - 1
    return BoneMotion(
        names=character.names,
        fps=character.fps,
        frames=np.arange(character.frames[0], character.frames[-1] + frames),
        location=np.concatenate([character.location[:before], location]),
        rotation=quaternions.continuous(np.concatenate([character.rotation[:before], rotation])),
    )


def spine_shares(ragdoll: Ragdoll) -> dict[int, float]:
    """For bones of the spine without a body, how much of the chest's turn against the hips they have, 0..1."""
    if len(ragdoll.spine) < 3 or ragdoll.settings.spine == "joints":
        return {}
    lengths = ragdoll.character.lengths()[list(ragdoll.spine[1:])]
    # A joint turns by the mean of the halves of bone that it lies between.
    turns = np.array([0.5 * (a + b) for a, b in zip(lengths[:-1], lengths[1:], strict=True)])
    turns = np.concatenate([[0.5 * lengths[0]], turns])
    shares = np.cumsum(turns) / turns.sum()
    return {bone: float(share) for bone, share in zip(ragdoll.spine[1:-1], shares, strict=False)}


def _carried(parent_turns, parent_start, start):
    """The turns of a bone that keeps its pose on its parent."""
    on_parent = quaternions.product(quaternions.inverse(parent_start), start)
    return quaternions.product(parent_turns, on_parent)


def _shared(ragdoll, rotations, bone, share):
    """The turns of a bone of the spine: the change of the hips, and its share of the chest's change against that."""
    started = ragdoll.character.rotation[-1]
    hips, chest = (ragdoll.bone_body[ragdoll.spine[end]] for end in (0, -1))
    low, high = (
        quaternions.product(rotations[:, body], quaternions.inverse(started[ragdoll.spine[end]]))
        for body, end in ((hips, 0), (chest, -1))
    )
    between = quaternions.product(quaternions.inverse(low), high)
    part = quaternions.by_vectors(share * quaternions.turn_vectors(between))
    return quaternions.product(quaternions.product(low, part), started[bone])


def _unlocked(character, bone, parent, rotation):
    """The turns of a bone without what turns it about its locked axes since the transition."""
    started = character.rotation[-1]
    kept = _carried(rotation[:, parent], started[parent], started[bone])
    change = quaternions.product(quaternions.inverse(kept), rotation[:, bone])
    vectors = quaternions.turn_vectors(change)
    vectors = np.where(np.array(character.bones[bone].locked), 0.0, vectors)
    return quaternions.product(kept, quaternions.by_vectors(vectors))


def _stretch_spine(ragdoll, locations, location):
    """Move bones between hips and chest, and all above, so that the chest is where its body is."""
    character, spine = ragdoll.character, ragdoll.spine
    chest = spine[-1]
    gap = locations[:, ragdoll.bone_body[chest]] - location[:, chest]
    lengths = character.lengths()[list(spine[1:])]
    shares = dict(zip(spine[2:], np.cumsum(lengths)[:-1] / lengths[:-1].sum(), strict=True))
    moved = np.zeros(len(character.bones))
    for bone in range(len(character.bones)):
        parent = character.parent[bone]
        moved[bone] = shares.get(bone, moved[parent] if parent >= 0 else 0.0)
    location += moved[None, :, None] * gap[:, None, :]
