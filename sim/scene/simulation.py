"""Simulate a scene frame by frame."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.errors import SettingsError, SolverError
from jellycage.sim.scene.scene import Scene
from jellycage.sim.scene.state import SceneState
from jellycage.sim.scene.stepper import Stepper


@dataclass(frozen=True, eq=False)
class Simulation:
    """Node positions of every soft body at every frame; frame 0 is the start."""

    scene: Scene
    """What was simulated."""
    fps: float
    """Frames per second."""
    positions: tuple[NDArray[np.float64], ...]
    """Of each soft body [m], shape (frames + 1, n, 3)."""
    state: SceneState
    """At the end: what a continuation starts from."""

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
    stepper = Stepper(scene, fps=fps, substeps=substeps)
    state = stepper.start()
    positions = [np.empty((frames + 1, *soft.x.shape)) for soft in state.soft]
    for frame in range(frames + 1):
        if frame > 0:
            try:
                stepper.step(state)
            except SolverError as error:
                raise error.at_frame(frame) from error
            if progress is not None:
                progress(frame, frames)
        for row, soft in zip(positions, state.soft, strict=True):
            row[frame] = soft.x
    return Simulation(scene, fps, tuple(positions), state)
