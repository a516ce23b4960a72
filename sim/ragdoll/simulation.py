"""Simulate ragdolls: from characters to the motion of their bones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.sim.errors import SettingsError
from jellycage.sim.ragdoll.character import Character
from jellycage.sim.ragdoll.motion import BoneMotion
from jellycage.sim.ragdoll.playback import motion_of
from jellycage.sim.ragdoll.ragdoll import Ragdoll, RagdollSettings, build_ragdoll
from jellycage.sim.rigid.body import RigidBody
from jellycage.sim.rigid.world import RigidSettings, RigidWorld
from jellycage.sim.shapes.colliders import Collider, ground
from jellycage.sim.shapes.static_mesh import StaticMesh


def ragdoll_world(
    ragdolls: Sequence[Ragdoll],
    *,
    bodies: Sequence[RigidBody] = (),
    colliders: Sequence[Collider] = (),
    meshes: Sequence[StaticMesh] = (),
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    settings: RigidSettings | None = None,
) -> RigidWorld:
    """A world with ragdolls, one after the other, and then other bodies."""
    all_bodies, joints, rods, excluded_pairs = [], [], [], [np.zeros((0, 2), np.int64)]
    for ragdoll in ragdolls:
        first = len(all_bodies)
        all_bodies += ragdoll.bodies
        joints += [replace(joint, a=joint.a + first, b=joint.b + first) for joint in ragdoll.joints]
        rods += [replace(rod, a=rod.a + first, b=rod.b + first) for rod in ragdoll.rods]
        excluded_pairs.append(ragdoll.excluded_pairs + first)
    return RigidWorld(
        [*all_bodies, *bodies], joints, rods, colliders=colliders, meshes=meshes, gravity=gravity,
        settings=settings, excluded_pairs=np.concatenate(excluded_pairs),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class RagdollRun:
    """What a simulation gave."""

    ragdolls: tuple[Ragdoll, ...]
    world: RigidWorld
    locations: NDArray[np.float64]
    """Of the frames of all bodies, from the transition on [m], shape (f, n, 3)."""
    rotations: NDArray[np.float64]
    """Shape (f, n, 4)."""

    def motion(self, number: int = 0, *, positions: bool = False) -> BoneMotion:
        """The bones of one of the ragdolls, the animation before the transition included."""
        first = sum(len(ragdoll.bodies) for ragdoll in self.ragdolls[:number])
        own = slice(first, first + len(self.ragdolls[number].bodies))
        return motion_of(
            self.ragdolls[number], self.locations[:, own], self.rotations[:, own], positions=positions
        )  # fmt: skip


def simulate_ragdolls(
    characters: Sequence[Character],
    frames: int,
    settings: RagdollSettings | Sequence[RagdollSettings] | None = None,
    *,
    colliders: Sequence[Collider] | None = None,
    meshes: Sequence[StaticMesh] = (),
    bodies: Sequence[RigidBody] = (),
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    solver: RigidSettings | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> RagdollRun:
    """Let characters go at their frames of transition and simulate so many frames; colliders None: a floor at z = 0.

    All characters must have the same frames per second. progress is called as progress(frame, frames).
    """
    if frames < 0 or not characters:
        raise SettingsError("simulate_ragdolls: expected at least one character and frames >= 0")
    if len({character.fps for character in characters}) > 1:
        raise SettingsError("simulate_ragdolls: characters differ in fps; sample them alike")
    if settings is None or isinstance(settings, RagdollSettings):
        settings = [settings] * len(characters)
    ragdolls = tuple(map(build_ragdoll, characters, settings))
    world = ragdoll_world(
        ragdolls, bodies=bodies, meshes=meshes, gravity=gravity, settings=solver,
        colliders=[ground()] if colliders is None else colliders,
    )  # fmt: skip
    track = [world.poses()]
    for frame in range(1, frames + 1):
        world.step(1.0 / characters[0].fps)
        track.append(world.poses())
        if progress is not None:
            progress(frame, frames)
    locations, rotations = (np.array(part) for part in zip(*track, strict=True))
    return RagdollRun(ragdolls, world, locations, rotations)
