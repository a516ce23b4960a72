"""Characters and motions made at random, with seeds."""

import numpy as np

from jellycage.sim.ragdoll.bones import BoneEntry
from jellycage.sim.ragdoll.character import Character, Skin
from jellycage.sim.ragdoll.motion import BoneMotion


def random_turns(rng, *shape):
    """Unit quaternions."""
    q = rng.normal(size=(*shape, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def random_character(seed, bone_count=9, frame_count=4, *, roots=1, names=None, **more):
    """Bones that hang on one another anyhow, with gaps between them, in poses without any order."""
    rng = np.random.default_rng(seed)
    names = names or [f"bone {at}" for at in range(bone_count)]
    bones = []
    for at, name in enumerate(names):
        parent = None if at < roots else names[rng.integers(0, at)]
        head = rng.normal(size=3)
        tail = head + rng.normal(size=3)
        bones.append(
            BoneEntry(
                name=name,
                parent=parent,
                head=tuple(head.tolist()),
                tail=tuple(tail.tolist()),
                roll=float(rng.uniform(-180.0, 180.0)),
                locked=tuple((rng.random(3) < 0.3).tolist()),
                radius=float(rng.uniform(0.01, 0.1)) if at % 2 else None,
                swing=float(rng.uniform(0.0, 180.0)) if at % 3 else None,
                shape="box" if at % 4 == 0 else None,
            )
        )
    return Character(
        name="somebody",
        bones=tuple(bones),
        fps=23.976,
        frames=np.arange(-2, frame_count - 2),
        location=rng.normal(size=(frame_count, len(names), 3)),
        rotation=random_turns(rng, frame_count, len(names)),
        **more,
    )


def random_skin(seed, bone_count, vertex_count=20, width=3):
    """A mesh of random triangles with random weights."""
    rng = np.random.default_rng(seed)
    return Skin(
        vertices=rng.normal(size=(vertex_count, 3)),
        faces=rng.integers(0, vertex_count, size=(7, 3)),
        bones=rng.integers(0, bone_count, size=(vertex_count, width)),
        weights=rng.random((vertex_count, width)),
    )


def hierarchic_motion(character, seed, frame_count=6):
    """Random turns, and the heads that follow from them as every bone keeps its place on its parent."""
    rng = np.random.default_rng(seed)
    count = len(character.bones)
    matrices, location = np.empty((frame_count, count, 3, 3)), np.empty((frame_count, count, 3))
    rest = matrices_of(character.rest_rotation)
    rotation = random_turns(rng, frame_count, count)
    posed = matrices_of(rotation)
    for at, above in enumerate(character.parent):
        matrices[:, at] = posed[:, at] @ rest[at].T
        if above < 0:
            location[:, at] = rng.normal(size=(frame_count, 3))
        else:
            arm = character.rest_head[at] - character.rest_head[above]
            location[:, at] = location[:, above] + matrices[:, above] @ arm
    return BoneMotion(
        names=character.names,
        fps=30.0,
        frames=np.arange(5, 5 + frame_count),
        location=location,
        rotation=rotation,
    )


def matrices_of(q):
    """Rotation matrices of quaternions by the textbook formula, (..., 3, 3)."""
    w, x, y, z = np.moveaxis(np.asarray(q), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))
