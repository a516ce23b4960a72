"""Ragdolls and rigid bodies of a shot: what is in their world, and stepping it from frame to frame.

A ragdoll follows its animation up to its frame of transition and is in the world from there on; until then nothing
feels it. Rigid bodies are in the world from the first frame. Whenever a ragdoll comes in, a world with it takes over
from the one without.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.sim.export.bvh import write_bvh
from jellycage.sim.export.frames import ExportMesh
from jellycage.sim.ragdoll.motion import BoneMotion, write_motion
from jellycage.sim.ragdoll.playback import motion_of
from jellycage.sim.ragdoll.simulation import ragdoll_world
from jellycage.sim.rigid.body import RigidBody
from jellycage.sim.rigid.world import RigidSettings, RigidWorld
from jellycage.sim.scene.surfaces import CarriedSurface, RagdollSurface
from jellycage.sim.shapes.colliders import Collider
from jellycage.sim.shapes.static_mesh import StaticMesh


@dataclass(frozen=True, eq=False)
class RigidShot:
    """What is simulated, and how it is seen."""

    frames: tuple[int, int]
    """First and last."""
    fps: float
    dolls: Sequence[RagdollSurface] = ()
    """With frames of transition that are not before the first frame."""
    bodies: Sequence[RigidBody] = ()
    surfaces: Sequence[CarriedSurface] = ()
    """Of each body."""
    colliders: Sequence[Collider] = ()
    """At times [s] since the first frame."""
    meshes: Sequence[StaticMesh] = ()
    gravity: ArrayLike = (0.0, 0.0, -9.81)
    """[m/s^2], shape (3,)."""
    settings: RigidSettings = RigidSettings()

    @property
    def export_meshes(self) -> list[ExportMesh]:
        """What is written to files: ragdolls, then rigid bodies."""
        return [seen.mesh for seen in (*self.dolls, *self.surfaces)]

    def entered(self, frame: int) -> list[int]:
        """Ragdolls that are in the world at a frame, in the order in which they came in."""
        order = sorted(range(len(self.dolls)), key=lambda number: self.dolls[number].transition)
        return [number for number in order if self.dolls[number].transition <= frame]

    def rows(self) -> list[slice]:
        """Which of all bodies, those of the ragdolls and then the others, belong to each thing that is seen."""
        counts = [len(doll.ragdoll.bodies) for doll in self.dolls] + [1] * len(self.bodies)
        ends = np.cumsum(counts)
        return [slice(int(end - count), int(end)) for end, count in zip(ends, counts, strict=True)]

    def positions(self, frame: int, locations: NDArray, rotations: NDArray) -> list[NDArray]:
        """Vertices [m] of everything that is seen, with all bodies at locations (n, 3) [m] and rotations (n, 4)."""
        rows = self.rows()
        dolls, others = rows[: len(self.dolls)], rows[len(self.dolls) :]
        return [
            doll.positions(frame, locations[own], rotations[own])
            for doll, own in zip(self.dolls, dolls, strict=True)
        ] + [
            surface.positions(locations[own], rotations[own])
            for surface, own in zip(self.surfaces, others, strict=True)
        ]

    def motion(self, number: int, locations: NDArray, rotations: NDArray) -> BoneMotion:
        """The bones of a ragdoll, its whole animation included.

        locations (f, n, 3) [m] and rotations (f, n, 4) are those of all bodies at the frames so far.
        """
        doll, own = self.dolls[number], self.rows()[number]
        character = doll.ragdoll.character
        start = doll.transition - self.frames[0]
        if start >= len(locations):
            return BoneMotion(
                names=character.names, fps=character.fps, frames=character.frames,
                location=character.location, rotation=character.rotation,
            )  # fmt: skip
        return motion_of(
            doll.ragdoll, locations[start:, own], rotations[start:, own],
            positions=doll.uses_positions,
        )  # fmt: skip


class RigidRun:
    """A shot at one of its frames; `step` goes to the next."""

    def __init__(self, shot: RigidShot):
        self.shot, self.frame = shot, shot.frames[0]
        waiting = [doll.transition for doll in shot.dolls]
        # The world's own time begins with what is in it first.
        self.start = shot.frames[0] if shot.bodies else min(waiting)
        self.colliders = [_later(c, (self.start - self.frame) / shot.fps) for c in shot.colliders]
        self.world = self._world()

    def _world(self) -> RigidWorld | None:
        """A world with everything that is in it at this frame, as it came in."""
        if self.frame < self.start:
            return None
        shot = self.shot
        return ragdoll_world(
            [shot.dolls[number].ragdoll for number in shot.entered(self.frame)],
            bodies=shot.bodies, colliders=self.colliders, meshes=shot.meshes,
            gravity=shot.gravity, settings=shot.settings,
        )  # fmt: skip

    def step(self) -> None:
        """Go to the next frame."""
        if self.world is not None:
            self.world.step(1.0 / self.shot.fps)
        was = self.shot.entered(self.frame)
        self.frame += 1
        if self.shot.entered(self.frame) != was:
            self._let_in(was)

    def _let_in(self, was):
        """Put the ragdolls whose time has come into the world."""
        old, self.world = self.world, self._world()
        if old is None:
            return
        count = sum(len(self.shot.dolls[number].ragdoll.bodies) for number in was)
        new = self.world.moving - old.moving
        before, memory = old.memory(), self.world.memory()
        for name, array in memory.items():
            if name.startswith("state_"):
                array[:count], array[count + new :] = before[name][:count], before[name][count:]
            elif name.startswith(("joint_", "rod_")):
                array[: len(before[name])] = before[name]
        # Velocities are those half a substep ago, see RigidWorld.advance.
        half = 0.5 / (self.shot.fps * self.shot.settings.substeps)
        memory["state_v"][count : count + new] -= half * self.world.gravity
        self.world.restore(memory | {"time": before["time"]})

    def poses(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Locations (n, 3) [m] and rotations (n, 4) of all bodies; of ragdolls to come, where their animation is."""
        shot, inside = self.shot, {}
        if self.world is not None:
            locations, rotations = self.world.poses()
            at = 0
            for number in shot.entered(self.frame):
                count = len(shot.dolls[number].ragdoll.bodies)
                inside[number] = locations[at : at + count], rotations[at : at + count]
                at += count
            inside["others"] = locations[at:], rotations[at:]
        parts = [
            inside.get(number) or doll.animated(self.frame)
            for number, doll in enumerate(shot.dolls)
        ]
        parts += [inside["others"]] if shot.bodies else []
        locations, rotations = zip(*parts, strict=True)
        return np.concatenate(locations), np.concatenate(rotations)

    def velocities(self, before: tuple[NDArray, NDArray] | None = None) -> list[NDArray]:
        """Velocities [m/s] of everything that is seen; before: all poses one frame ago, None at the first.

        Those of ragdolls are the mean ones since then.
        """
        shot, rows = self.shot, self.shot.rows()
        now = shot.positions(self.frame, *self.poses())
        result = []
        for doll, own, x in zip(shot.dolls, rows, now, strict=False):
            then = doll.animated(self.frame - 1) if before is None else [p[own] for p in before]
            result.append(shot.fps * (x - doll.positions(self.frame - 1, *then)))
        for row, x in enumerate(now[len(shot.dolls) :], start=-len(shot.bodies)):
            p, v, w = (getattr(self.world.state, name)[: self.world.moving][row] for name in "pvw")
            result.append(v + np.cross(w, x - p))
        return result

    def memory(self) -> dict[str, NDArray]:
        """All that a continuation needs to give the same bits, as arrays with names."""
        return {} if self.world is None else self.world.memory()

    def restore(self, frame: int, memory: dict[str, NDArray]) -> None:
        """Go to a frame whose memory was kept."""
        self.frame = frame
        self.world = self._world()
        if self.world is not None:
            self.world.restore(memory)

    def energies(self) -> tuple[float, float]:
        """Kinetic and potential energy of what is in the world [J]."""
        if self.world is None:
            return 0.0, 0.0
        n = self.world.moving
        mass = 1.0 / self.world.arrays.inverse_mass[:n]
        potential = -float((mass[:, None] * self.world.state.p[:n] * self.world.gravity).sum())
        return self.world.energy() - potential, potential

    @property
    def contact_count(self) -> int:
        """Contacts of the last substep."""
        return 0 if self.world is None else int(self.world.counts[1])

    def errors(self) -> tuple[float, float]:
        """Largest gap of a joint and largest error of a rod's length now [m]."""
        if self.world is None:
            return 0.0, 0.0
        left = self.world.residuals()
        return float(left.joint_gap.max(initial=0.0)), float(
            np.abs(left.rod_length).max(initial=0.0)
        )


def _later(collider: Collider, seconds: float) -> Collider:
    """A collider on a clock that starts so much later."""
    if not seconds:
        return collider
    return replace(collider, motion=replace(collider.motion, times=collider.motion.times - seconds))


def write_motion_file(
    doll: RagdollSurface, motion: BoneMotion, path: Path, *, up_axis: str | None = None
) -> None:
    """Write the bones of a ragdoll as .bvh, y up if nothing else is said, or as .json, which is always in the world."""
    if path.suffix.lower() == ".bvh":
        write_bvh(doll.ragdoll.character, motion, path, up_axis=up_axis or "Y")
    else:
        write_motion(motion, path)
