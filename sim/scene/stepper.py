"""One step of everything in a scene.

A step is a frame. Soft bodies take it in substeps: each body's integrator says what the substep asks for, the finder
which of its points may touch what, the solver where it goes. A body that strikes something, or is led wildly, cuts its
substep into shorter ones. Rigid bodies and ragdolls take the same time in substeps of their own. At the end of a step
everything is at the same time.
"""

from collections.abc import Callable

import numpy as np

from jellycage.sim.contact.overlap import Overlap
from jellycage.sim.errors import SettingsError, SolverError
from jellycage.sim.scene.rigid_part import RigidPart
from jellycage.sim.scene.scene import Scene
from jellycage.sim.scene.soft_stepper import Spent
from jellycage.sim.scene.soft_world import SoftWorld
from jellycage.sim.scene.state import SceneState, start_state


class Stepper:
    """Steps the states of one scene. Holds work arrays and no state, so a restored state goes on bit for bit."""

    def __init__(self, scene: Scene, *, fps: float = 24.0, substeps: int = 1):
        if not 0.0 < fps < np.inf or substeps < 1:
            raise SettingsError(
                f"fps, substeps: expected a positive number and at least 1, got {fps} and {substeps}"
            )
        self.scene, self.fps, self.substeps = scene, fps, substeps
        self.spent = Spent()
        self.soft = SoftWorld(scene, self.spent)
        self.bodies = self.soft.members
        self.rigid = RigidPart(scene, fps) if scene.has_rigid else None

    @property
    def dt(self) -> float:
        """Length of a substep [s]."""
        return 1.0 / (self.fps * self.substeps)

    def start(self) -> SceneState:
        """The state at time zero."""
        state = start_state(self.scene)
        if self.rigid is not None:
            state.rigid = self.rigid.start_memory()
        return state

    def step(
        self, state: SceneState, after_substep: Callable[[int], None] = lambda substep: None
    ) -> None:
        """Advance a state by one frame; after_substep is called with the number of substeps that are done.

        A step that fails, or that after_substep ends by an error, leaves the state as it was.
        """
        now = state.copy()
        for substep in range(1, self.substeps + 1):
            self._step_bodies(now, substep)
            after_substep(substep)
        if self.rigid is not None:
            now.rigid = self.rigid.step(state.time, state.rigid)
        state.time, state.soft, state.contacts, state.rigid = (
            now.time,
            now.soft,
            now.contacts,
            now.rigid,
        )

    def elastic_energy(self, number: int) -> float:
        """Elastic energy of a soft body at the end of the last step [J]."""
        return self.bodies[number].solver.elastic_energy

    def overlaps(self, state: SceneState) -> list[Overlap]:
        """Where soft bodies that collide are inside each other, by pairs."""
        return self.soft.overlaps(state.soft)

    def _step_bodies(self, state: SceneState, substep: int) -> None:
        dt, end = self.dt, state.time + self.dt
        try:
            state.contacts = self.soft.step(state.soft, state.contacts, state.time, end, dt)
        except SolverError as error:
            error.substep = substep
            raise
        state.time = end
