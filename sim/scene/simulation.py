"""Simulate a scene frame by frame."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.errors import SettingsError, SolverError
from jellycage.sim.scene.scene import Scene
from jellycage.sim.soft.state import State, start_state
from jellycage.sim.solvers.implicit_euler import ImplicitEuler


@dataclass(frozen=True, eq=False)
class Simulation:
    """Node positions of every body at every frame; frame 0 is the start."""

    scene: Scene
    """What was simulated."""
    fps: float
    """Frames per second."""
    positions: tuple[NDArray[np.float64], ...]
    """Of each body [m], shape (frames + 1, n, 3)."""
    states: tuple[State, ...]
    """Of each body at the end: what a continuation starts from."""

    def surface(self, frame: int, body: int = 0) -> NDArray[np.float64]:
        """The detailed surface of a body at a frame [m], shape (vertices, 3)."""
        return self.scene.bodies[body].surface(self.positions[body][frame])


def simulate(
    scene: Scene,
    frames: int,
    fps: float = 24.0,
    *,
    substeps: int = 2,
    progress: Callable[[int, int], None] | None = None,
) -> Simulation:
    """Advance a scene by `frames` frames of `substeps` steps each; calls progress(frame, frames) after every frame."""
    if frames < 0 or not fps > 0.0 or substeps < 1:
        raise SettingsError(
            "simulate: expected frames >= 0, fps > 0 and substeps >= 1, "
            f"got {frames}, {fps} and {substeps}"
        )
    dt = 1.0 / (fps * substeps)
    solvers = [
        ImplicitEuler(
            *(body, scene.solver), gravity=scene.gravity, wind=scene.wind, colliders=scene.colliders
        )
        for body in scene.bodies
    ]
    states = [start_state(body) for body in scene.bodies]
    positions = [np.empty((frames + 1, *state.x.shape)) for state in states]
    for state, track in zip(states, positions, strict=True):
        track[0] = state.x
    for frame in range(1, frames + 1):
        for number, (solver, state) in enumerate(zip(solvers, states, strict=True)):
            for substep in range(substeps):
                try:
                    solver.step(state, state, dt)
                except SolverError as error:
                    raise SolverError(
                        f"body {number}, frame {frame}, substep {substep + 1}: {error}"
                    ) from error
            positions[number][frame] = state.x
        if progress is not None:
            progress(frame, frames)
    return Simulation(scene, fps, tuple(positions), tuple(states))
