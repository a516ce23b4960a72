"""What is seen: meshes that cages, bodies or bones carry, ready to be drawn and exported."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from jellycage.sim.export.frames import ExportMesh
from jellycage.sim.maths import quaternions
from jellycage.sim.ragdoll.character import Skin
from jellycage.sim.ragdoll.playback import motion_of
from jellycage.sim.ragdoll.ragdoll import Ragdoll
from jellycage.sim.rigid.body import RigidBody
from jellycage.toolkit.arrays import frozen


@dataclass(frozen=True, eq=False)
class EmbeddedSurface:
    """What is seen of a soft body and written to files: every vertex of its mesh in the order of the file."""

    mesh: ExportMesh
    nodes: NDArray[np.int32]
    """Cage nodes of each vertex, shape (v, a)."""
    weights: NDArray[np.float64]
    """Their weights, shape (v, a)."""
    offset: NDArray[np.float64]
    """What is added [m], shape (v, 3): zero but for vertices without a face, which follow the nearest that has one."""
    smooth: csr_matrix | None = None
    """Weights of all nodes to be seen by, shape (v, n); None: it is seen as it collides."""

    def positions(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Vertices carried by node positions x (n, 3), shape (v, 3) [m]."""
        return self.velocities(x) + self.offset

    def velocities(self, v: NDArray[np.float64]) -> NDArray[np.float64]:
        """Vertex velocities of node velocities v (n, 3), shape (v, 3) [m/s]."""
        return self._colliding(v) if self.smooth is None else self.smooth @ v

    def smooth_distance(self, x: NDArray[np.float64]) -> float:
        """How far a vertex is seen from where it collides, at most [m]."""
        if self.smooth is None:
            return 0.0
        return float(np.linalg.norm(self.smooth @ x - self._colliding(x), axis=1).max(initial=0.0))

    def _colliding(self, x):
        return np.einsum("va,vai->vi", self.weights, x[self.nodes])


@dataclass(frozen=True, eq=False)
class CarriedSurface:
    """A mesh whose vertices are fixed to bodies."""

    mesh: ExportMesh
    vertices: NDArray[np.float64]
    """In the frames of their bodies [m], shape (v, 3)."""
    body: NDArray[np.int64]
    """Which body carries each vertex, shape (v,)."""

    def positions(self, locations: NDArray, rotations: NDArray) -> NDArray[np.float64]:
        """Vertices (v, 3) [m] while bodies are at locations (n, 3) [m] and rotations (n, 4)."""
        return locations[self.body] + quaternions.turned(rotations[self.body], self.vertices)


@dataclass(frozen=True, eq=False)
class SkinnedSurface:
    """A mesh that bones move, each vertex by the weighted mean of where its bones take it."""

    mesh: ExportMesh
    skin: Skin
    rest_head: NDArray[np.float64]
    """Of each bone [m], shape (b, 3)."""
    rest_rotation: NDArray[np.float64]
    """Axes of each bone at rest, shape (b, 4)."""
    still: NDArray[np.float64]
    """Where vertices are that no bone moves [m], shape (v, 3)."""

    def positions(self, locations: NDArray, rotations: NDArray) -> NDArray[np.float64]:
        """Vertices (v, 3) [m] while bones are at locations (b, 3) [m] and rotations (b, 4)."""
        skin = self.skin
        turn = quaternions.product(rotations, quaternions.inverse(self.rest_rotation))
        shift = locations - quaternions.turned(turn, self.rest_head)
        total = np.zeros_like(skin.vertices)
        for bone, weight in zip(skin.bones.T, skin.weights.T, strict=True):
            total += weight[:, None] * (quaternions.turned(turn[bone], skin.vertices) + shift[bone])
        return np.where(skin.weights.any(axis=1, keepdims=True), total, self.still)


@dataclass(frozen=True, eq=False)
class RagdollSurface:
    """What is seen of a ragdoll: its skin, or without one the shapes of its bodies."""

    ragdoll: Ragdoll
    surface: CarriedSurface | SkinnedSurface
    uses_positions: bool = False
    """Whether bones of the spine leave their places so that the chest meets its body, see `motion_of`."""

    @property
    def mesh(self) -> ExportMesh:
        """What no frame changes."""
        return self.surface.mesh

    @property
    def transition(self) -> int:
        """The last frame of the animation."""
        return int(self.ragdoll.character.frames[-1])

    def animated(self, frame: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Locations (n, 3) [m] and rotations (n, 4) of the bodies where the animation has them."""
        location, rotation = self._animated_bones(frame)
        return location[self.ragdoll.body_bone], rotation[self.ragdoll.body_bone]

    def positions(self, frame: int, locations: NDArray, rotations: NDArray) -> NDArray[np.float64]:
        """Vertices (v, 3) [m] at a frame, with the bodies at locations (n, 3) [m] and rotations (n, 4)."""
        if isinstance(self.surface, CarriedSurface):
            return self.surface.positions(locations, rotations)
        if frame < self.transition:
            return self.surface.positions(*self._animated_bones(frame))
        motion = motion_of(
            self.ragdoll, locations[None], rotations[None], positions=self.uses_positions
        )
        return self.surface.positions(motion.location[-1], motion.rotation[-1])

    def _animated_bones(self, frame):
        """Poses of the bones; before the animation begins, those of its first frame."""
        character = self.ragdoll.character
        row = int(np.clip(frame - character.frames[0], 0, len(character.frames) - 1))
        return character.location[row], character.rotation[row]


def body_surface(name: str, bodies: Sequence[RigidBody]) -> CarriedSurface:
    """The shapes of bodies as one mesh."""
    vertices, faces, carrier, count = [], [], [], 0
    for number, owner in enumerate(bodies):
        for shape in owner.shapes:
            points, triangles = shape.drawn()
            vertices.append(points)
            faces.append(triangles + count)
            carrier.append(np.full(len(points), number))
            count += len(points)
    corners = np.concatenate(faces).ravel()
    mesh = ExportMesh(name, count, np.arange(0, len(corners) + 1, 3), corners)
    return CarriedSurface(mesh, frozen(np.concatenate(vertices)), frozen(np.concatenate(carrier)))


def ragdoll_surface(
    name: str,
    ragdoll: Ragdoll,
    *,
    uses_positions: bool = False,
    turn: NDArray | None = None,
    shift: NDArray | None = None,
) -> RagdollSurface:
    """What is seen of a ragdoll under a name; turn (3, 3) and shift (3,) [m] say how its character was placed."""
    character = ragdoll.character
    skin = character.skin
    if skin is None or not len(skin.faces):
        return RagdollSurface(ragdoll, body_surface(name, ragdoll.bodies), uses_positions)
    mesh = ExportMesh(
        name, len(skin.vertices), np.arange(0, skin.faces.size + 1, 3), skin.faces.ravel()
    )
    still = skin.vertices if turn is None else skin.vertices @ turn.T + shift
    surface = SkinnedSurface(
        mesh, skin, character.rest_head, character.rest_rotation, frozen(np.array(still))
    )
    return RagdollSurface(ragdoll, surface, uses_positions)
