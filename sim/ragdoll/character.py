"""A character: bones at rest, and the frames of animation that lead to the frame of transition.

World space, metres, z up. A bone's axes are Blender's: local y runs from head to tail. Quaternions are (w, x, y, z).
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.errors import SceneError
from jellycage.sim.ragdoll.arrays import as_indices, as_numbers, as_turns, consecutive
from jellycage.sim.ragdoll.bones import BoneEntry, check_lengths, parents_of, rest_axes
from jellycage.sim.schema.schema import shown
from jellycage.toolkit.arrays import frozen

EVEN_TOLERANCE = 1e-3  # between the largest and the least scale of a matrix that scales evenly
MOST_WEIGHTS = 4


@dataclass(frozen=True, eq=False)
class Skin:
    """The visible mesh at rest and which bones move it."""

    vertices: NDArray[np.float64]
    """Rest positions in the world [m], shape (v, 3)."""
    faces: NDArray[np.int32]
    """Triangles, shape (t, 3)."""
    bones: NDArray[np.int32]
    """Bones that move each vertex, shape (v, k), k from 1 to 4."""
    weights: NDArray[np.float64]
    """How much, shape (v, k); they sum to 1, or to 0 where no bone moves the vertex."""

    def __post_init__(self):
        vertices = as_numbers(self.vertices, (None, 3), "skin.vertices")
        count = len(vertices)
        faces = as_indices(self.faces, (None, 3), count, "skin.faces")
        weights = as_numbers(self.weights, (count, None), "skin.weights")
        width = weights.shape[1]
        if not 1 <= width <= MOST_WEIGHTS:
            raise SceneError(
                f"skin.weights: expected 1 to {MOST_WEIGHTS} columns, got {width}; "
                "keep the largest weights of each vertex"
            )
        bones = as_indices(self.bones, (count, width), 2**31 - 1, "skin.bones")
        if (weights < 0.0).any():
            raise SceneError("skin.weights: expected none below 0; set those to 0")
        sums = weights.sum(axis=1, keepdims=True)
        is_off = (np.abs(sums - 1.0) > 1e-12) & (sums > 0.0)
        weights = np.where(is_off, weights / np.where(is_off, sums, 1.0), weights)
        _set(self, vertices=vertices, faces=faces, bones=bones, weights=frozen(weights))


@dataclass(frozen=True, eq=False, kw_only=True)
class Character:
    """Bones at rest with their animation up to the frame of transition; everything is checked when it is made.

    What is wrong raises SceneError: where, what, and a remedy.
    """

    name: str
    bones: tuple[BoneEntry, ...]
    """Parents before children."""
    fps: float
    """Frames per second."""
    frames: NDArray[np.int64]
    """Consecutive frames of animation, shape (f,), at least one; the last is the frame of transition."""
    location: NDArray[np.float64]
    """Posed heads in the world [m], shape (f, b, 3)."""
    rotation: NDArray[np.float64]
    """Posed axes in the world, shape (f, b, 4); neighbouring frames are on the same hemisphere."""
    spine: tuple[str, ...] | None = None
    """Bones of the spine from bottom to top, each the parent of the next; None: to be guessed."""
    mass: float | None = None
    """Of the whole character [kg]; None: to be guessed."""
    skin: Skin | None = None
    matrix: NDArray[np.float64] = field(default_factory=lambda: np.eye(4))
    """World transform of the armature at the frame of transition, shape (4, 4); it scales evenly."""

    parent: NDArray[np.int32] = field(init=False)
    """Index of each bone's parent, -1 for none, shape (b,)."""
    rest_head: NDArray[np.float64] = field(init=False)
    """Shape (b, 3) [m]."""
    rest_tail: NDArray[np.float64] = field(init=False)
    """Shape (b, 3) [m]."""
    rest_rotation: NDArray[np.float64] = field(init=False)
    """Axes at rest in the world, shape (b, 4)."""
    scale: float = field(init=False)
    """How much the armature's transform scales."""

    def __post_init__(self):
        bones = tuple(self.bones)
        if not bones:
            raise SceneError("bones: there is none; add at least one")
        parent = parents_of(bones)
        check_lengths(bones, parent)
        frames = consecutive(self.frames)
        shape = len(frames), len(bones)
        _set(
            self,
            bones=bones,
            parent=parent,
            rest_head=frozen(np.array([bone.head for bone in bones], np.float64)),
            rest_tail=frozen(np.array([bone.tail for bone in bones], np.float64)),
            rest_rotation=frozen(
                np.array([rest_axes(bone, f"bones[{at}]") for at, bone in enumerate(bones)])
            ),
            fps=float(self.fps),
            frames=frames,
            location=as_numbers(self.location, (*shape, 3), "location"),
            rotation=as_turns(self.rotation, shape, "rotation"),
            matrix=as_numbers(self.matrix, (4, 4), "matrix"),
        )
        _set(self, scale=even_scale(self.matrix))
        if self.spine is not None:
            _set(self, spine=tuple(self.spine))
            self._check_spine()
        if self.skin is not None and self.skin.bones.size and self.skin.bones.max() >= len(bones):
            raise SceneError(
                f"skin.bones: expected bones below {len(bones)}, got {self.skin.bones.max()}; "
                "number them as they stand in bones"
            )

    def _check_spine(self):
        for at, name in enumerate(self.spine):
            bone = self.index(name) if name in self.names else -1
            if bone < 0:
                raise SceneError(f"spine[{at}]: there is no bone {shown(name)}; correct the name")
            if at and self.bones[bone].parent != self.spine[at - 1]:
                raise SceneError(
                    f"spine[{at}]: {shown(name)} does not hang on {shown(self.spine[at - 1])}; "
                    "name the bones from bottom to top without gaps"
                )
        if not self.spine:
            raise SceneError("spine: there is no bone in it; add some or remove the key")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the bones."""
        return tuple(bone.name for bone in self.bones)

    def index(self, name: str) -> int:
        """Which bone has that name; KeyError if none has."""
        for at, bone in enumerate(self.bones):
            if bone.name == name:
                return at
        raise KeyError(name)

    def lengths(self) -> NDArray[np.float64]:
        """Length of each bone at rest [m], shape (b,)."""
        return np.linalg.norm(self.rest_tail - self.rest_head, axis=1)


def even_scale(matrix: NDArray[np.float64]) -> float:
    """How much a transform (4, 4) scales; one that mirrors, flattens or scales unevenly is refused."""
    if not np.allclose(matrix[3], (0.0, 0.0, 0.0, 1.0), rtol=0.0, atol=1e-9):
        raise SceneError("matrix: expected (0, 0, 0, 1) as its last row; write rows, not columns")
    stretches = np.linalg.svd(matrix[:3, :3], compute_uv=False)
    if not stretches[2] > (1.0 - EVEN_TOLERANCE) * stretches[0]:
        raise SceneError("matrix: scales unevenly; apply the scale of the armature first")
    if np.linalg.det(matrix[:3, :3]) < 0.0:
        raise SceneError("matrix: mirrors; apply the scale of the armature first")
    return float(np.cbrt(np.linalg.det(matrix[:3, :3])))


def _set(owner, **values):
    for name, value in values.items():
        object.__setattr__(owner, name, value)
