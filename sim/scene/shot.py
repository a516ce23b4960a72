"""A shot: a scene over some frames, and how everything in it is seen. What `bake` needs."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.export.bvh import write_bvh
from jellycage.sim.export.frames import ExportMesh
from jellycage.sim.ragdoll.motion import BoneMotion, write_motion
from jellycage.sim.ragdoll.playback import motion_of
from jellycage.sim.scene.scene import Scene
from jellycage.sim.scene.state import SceneState
from jellycage.sim.scene.stepper import Stepper
from jellycage.sim.scene.surfaces import CarriedSurface, EmbeddedSurface, RagdollSurface

Poses = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Locations (n, 3) [m] and rotations (n, 4) of all bodies of all ragdolls, and then of all rigid bodies."""


@dataclass(frozen=True, eq=False)
class Shot:
    """A scene, what is seen of it, and its clock."""

    scene: Scene
    frames: tuple[int, int]
    """First, which is the start, and last."""
    fps: float
    substeps: int
    """Per frame, of soft bodies, or of rigid ones if there are no others."""
    skins: tuple[EmbeddedSurface, ...] = ()
    """Of each soft body."""
    sags: tuple[float | None, ...] = ()
    """Fraction of its height that each soft body with a preset loses to its own weight; None with a material."""
    dolls: tuple[RagdollSurface, ...] = ()
    """Of each ragdoll, with frames of transition that are not before the first frame."""
    surfaces: tuple[CarriedSurface, ...] = ()
    """Of each rigid body."""
    digest: str = ""
    """Of everything that decides the result: 64 hexadecimal digits."""
    notes: tuple[str, ...] = ()
    """What a user should know, in sentences: the stiffness that a preset came to, what was repaired."""

    @property
    def meshes(self) -> list[ExportMesh]:
        """Everything that is written to files: soft bodies, ragdolls, rigid bodies."""
        return [seen.mesh for seen in (*self.skins, *self.dolls, *self.surfaces)]

    @property
    def stiffness(self) -> dict[str, list]:
        """What scripts are told of the soft bodies: Young modulus [Pa], the mean where it is painted, and sag."""
        young = [float(np.mean(body.material.young_modulus)) for body in self.scene.bodies]
        return {"young_modulus": young, "sag": list(self.sags)}

    def stepper(self) -> Stepper:
        """Steps the scene from frame to frame."""
        return Stepper(self.scene, fps=self.fps, substeps=self.substeps)

    @cached_property
    def rigid_rows(self) -> list[slice]:
        """Which of all `Poses` belong to each ragdoll, and then to each rigid body."""
        counts = [len(doll.ragdoll.bodies) for doll in self.dolls] + [1] * len(self.surfaces)
        ends = np.cumsum(counts)
        return [slice(int(end - count), int(end)) for end, count in zip(ends, counts, strict=True)]

    def poses(self, stepper: Stepper, frame: int, state: SceneState) -> Poses:
        """Where rigid things are at a frame; ragdolls that are still to come, where their animation is."""
        inside = stepper.rigid.poses(state.time, state.rigid)
        parts = [
            inside.get(number) or doll.animated(frame) for number, doll in enumerate(self.dolls)
        ]
        parts += [inside["others"]] if self.surfaces else []
        locations, rotations = zip(*parts, strict=True)
        return np.concatenate(locations), np.concatenate(rotations)

    def rigid_positions(self, frame: int, poses: Poses) -> list[NDArray]:
        """Vertices [m] of ragdolls and rigid bodies at a frame."""
        seen = [lambda *own, doll=doll: doll.positions(frame, *own) for doll in self.dolls]
        seen += [surface.positions for surface in self.surfaces]
        return [
            positions(*(part[own] for part in poses))
            for positions, own in zip(seen, self.rigid_rows, strict=True)
        ]

    def rigid_velocities(
        self, frame: int, state: SceneState, poses: Poses, before: Poses | None
    ) -> list[NDArray]:
        """Velocities [m/s] of ragdolls and rigid bodies; before: the poses one frame ago, None at the first.

        Those of ragdolls are the mean ones since then.
        """
        now, result = self.rigid_positions(frame, poses), []
        for doll, own, x in zip(self.dolls, self.rigid_rows, now, strict=False):
            then = doll.animated(frame - 1) if before is None else [part[own] for part in before]
            result.append(self.fps * (x - doll.positions(frame - 1, *then)))
        # Rigid bodies come last among the bodies that are in the world.
        count = len(self.surfaces)
        in_world = sum(
            len(self.scene.ragdolls[number].bodies)
            for number, time in enumerate(self.scene.entering)
            if time <= state.time + 0.5 / self.fps
        )
        for row, x in zip(range(in_world, in_world + count), now[len(self.dolls) :], strict=True):
            p, v, w = (state.rigid[f"state_{name}"][row] for name in "pvw")
            result.append(v + np.cross(w, x - p))
        return result

    def motion(self, number: int, poses: Poses) -> BoneMotion:
        """The bones of a ragdoll, its whole animation included.

        poses: locations (f, n, 3) [m] and rotations (f, n, 4) at the frames so far.
        """
        doll, own = self.dolls[number], self.rigid_rows[number]
        character = doll.ragdoll.character
        start = doll.transition - self.frames[0]
        locations, rotations = (part[start:, own] for part in poses)
        if not len(locations):
            return BoneMotion(
                names=character.names,
                fps=character.fps,
                frames=character.frames,
                location=character.location,
                rotation=character.rotation,
            )
        return motion_of(doll.ragdoll, locations, rotations, positions=doll.uses_positions)


def write_motion_file(
    doll: RagdollSurface, motion: BoneMotion, path: Path, *, up_axis: str | None = None
) -> None:
    """Write the bones of a ragdoll as .bvh, y up if nothing else is said, or as .json, which is always in the world."""
    if path.suffix.lower() == ".bvh":
        write_bvh(doll.ragdoll.character, motion, path, up_axis=up_axis or "Y")
    else:
        write_motion(motion, path)
