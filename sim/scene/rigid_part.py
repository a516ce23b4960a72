"""Rigid bodies and ragdolls of a scene: their world, made again whenever a ragdoll comes in.

A ragdoll follows its animation up to the time at which it enters the world; until then nothing feels it. Rigid bodies
are in the world from the start. Whenever a ragdoll comes in, a world with it takes over from the one without.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.ragdoll.simulation import ragdoll_world
from jellycage.sim.rigid.world import RigidWorld
from jellycage.sim.scene.scene import Scene
from jellycage.sim.shapes.colliders import Collider
from jellycage.sim.soft.state import Memory


class RigidPart:
    """Steps what is rigid in a scene by frames of 1/fps [s]. What lasts is in the memory that is handed to it."""

    def __init__(self, scene: Scene, fps: float):
        self.scene, self.fps = scene, fps
        # The world's own time begins with what is in it first.
        self.start = 0.0 if scene.rigid_bodies else min(scene.entering)
        self.colliders = [_later(collider, self.start) for collider in scene.colliders]
        self.worlds: dict[tuple[int, ...], RigidWorld] = {}
        self.held: tuple[RigidWorld, Memory] | None = None

    def entered(self, time: float) -> tuple[int, ...]:
        """Ragdolls that are in the world at a time [s], in the order in which they came in."""
        entering = self.scene.entering
        order = sorted(range(len(entering)), key=entering.__getitem__)
        return tuple(number for number in order if entering[number] <= time + 0.5 / self.fps)

    def has_begun(self, time: float) -> bool:
        """Whether anything is in the world at a time [s]."""
        return self.start <= time + 0.5 / self.fps

    def world_at(self, time: float, memory: Memory) -> RigidWorld | None:
        """The world at a time [s] as its memory has it, or as it begins if there is none; None before its start."""
        if not self.has_begun(time):
            return None
        entered = self.entered(time)
        if not memory:
            return self._new_world(entered)
        if self.held is not None and self.held[1] is memory:
            return self.held[0]
        if entered not in self.worlds:
            self.worlds[entered] = self._new_world(entered)
        world = self.worlds[entered]
        world.restore(memory)
        self.held = world, memory
        return world

    def _new_world(self, entered) -> RigidWorld:
        """A world with everything that is in it by then, as it came in."""
        scene = self.scene
        return ragdoll_world(
            [scene.ragdolls[number] for number in entered],
            bodies=scene.rigid_bodies,
            colliders=self.colliders,
            meshes=scene.meshes,
            gravity=scene.gravity,
            settings=scene.rigid_solver,
        )

    def start_memory(self) -> Memory:
        """Of the world at time zero; empty if nothing is in it yet."""
        world = self.world_at(0.0, {})
        return {} if world is None else world.memory()

    def step(self, time: float, memory: Memory) -> Memory:
        """The memory a frame after a time [s]."""
        world, after = self.world_at(time, memory), time + 1.0 / self.fps
        self.held = None  # a step that fails leaves the world anyhow
        if world is not None:
            world.step(1.0 / self.fps)
        if self.entered(after) != self.entered(time) or world is None:
            return self._let_in(world, time, after)
        memory = world.memory()
        self.held = world, memory
        return memory

    def _let_in(self, old: RigidWorld | None, time: float, after: float) -> Memory:
        """The memory of a world with the ragdolls whose time has come, the others as in the old one."""
        new = self.world_at(after, {})
        if new is None:
            return {}
        memory = new.memory()
        if old is None:
            return memory
        before = old.memory()
        count = sum(len(self.scene.ragdolls[number].bodies) for number in self.entered(time))
        more = new.moving - old.moving
        for name, array in memory.items():
            if name.startswith("state_"):
                array[:count], array[count + more :] = before[name][:count], before[name][count:]
            elif name.startswith(("joint_", "rod_")):
                array[: len(before[name])] = before[name]
        # Velocities are those half a substep ago, see RigidWorld.advance.
        half = 0.5 / (self.fps * self.scene.rigid_solver.substeps)
        memory["state_v"][count : count + more] -= half * new.gravity
        return memory | {"time": before["time"]}

    def poses(
        self, time: float, memory: Memory
    ) -> dict[int | str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Locations (n, 3) [m] and rotations (n, 4) of the bodies of each ragdoll in the world, and of the "others"."""
        world = self.world_at(time, memory)
        if world is None:
            return {}
        locations, rotations = world.poses()
        found, at = {}, 0
        for number in self.entered(time):
            end = at + len(self.scene.ragdolls[number].bodies)
            found[number] = locations[at:end], rotations[at:end]
            at = end
        found["others"] = locations[at:], rotations[at:]
        return found


def _later(collider: Collider, seconds: float) -> Collider:
    """A collider on a clock that starts so much later."""
    if not seconds:
        return collider
    return replace(collider, motion=replace(collider.motion, times=collider.motion.times - seconds))
