"""One step of everything in a scene.

A step is a frame. Soft bodies take it in substeps: each body's integrator says what the substep asks for, the finder
which of its points may touch what, the solver where it goes. Rigid bodies and ragdolls take the same time in substeps
of their own. At the end of a step everything is at the same time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.contact.finder import NOTHING_TOUCHED, ContactFinder, TouchedNodes
from jellycage.sim.contact.memory import NO_MEMORY, ContactMemory, joined_memories
from jellycage.sim.contact.rows import NO_CONTACTS, rows_from
from jellycage.sim.errors import SettingsError, SolverError
from jellycage.sim.scene.rigid_part import RigidPart
from jellycage.sim.scene.scene import Scene
from jellycage.sim.scene.state import SceneState, start_state
from jellycage.sim.shapes.colliders import ColliderArrays, collider_arrays
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.elasticity import follow_degeneration
from jellycage.sim.soft.loads import apply_events
from jellycage.sim.soft.state import State
from jellycage.sim.soft.system import system_of
from jellycage.sim.solvers.methods import INTEGRATORS, SOLVERS, chosen
from jellycage.sim.solvers.newton import Effort
from jellycage.sim.solvers.pin_holding import PinTracker
from jellycage.sim.solvers.problem_kernels import Increment
from jellycage.sim.solvers.recovery import count_time, recover

MOST_TRIES = 3  # of a step that presses points into colliders unforeseen


@dataclass
class Spent:
    """What steps have cost so far."""

    newton_iterations: int = 0
    linear_iterations: int = 0
    contact_seconds: float = 0.0
    """Time spent on finding contacts [s]."""


class Stepper:
    """Steps the states of one scene. Holds work arrays and no state, so a restored state goes on bit for bit."""

    def __init__(self, scene: Scene, *, fps: float = 24.0, substeps: int = 1):
        if not 0.0 < fps < np.inf or substeps < 1:
            raise SettingsError(
                f"fps, substeps: expected a positive number and at least 1, got {fps} and {substeps}"
            )
        self.scene, self.fps, self.substeps = scene, fps, substeps
        self.spent = Spent()
        self.bodies = [SoftStepper(body, scene, self.spent) for body in scene.bodies]
        self._count_features()
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

    def _step_bodies(self, state: SceneState, substep: int) -> None:
        dt, end = self.dt, state.time + self.dt
        colliders = None
        if self.scene.colliders:
            colliders = collider_arrays(self.scene.colliders, state.time, end)
        memories = []
        for number, (body, soft) in enumerate(zip(self.bodies, state.soft, strict=True)):
            try:
                memory = body.step(soft, state.contacts, colliders, state.time, end, dt)
            except SolverError as error:
                error.body, error.substep = number, substep
                raise
            memories.append(memory)
        state.contacts, state.time = joined_memories(memories), end

    def _count_features(self):
        """Give every contact point, and then every collider, its place among the features of the scene."""
        finders = [body.finder for body in self.bodies if body.finder is not None]
        counts = [len(finder.points) for finder in finders]
        for finder, end, count in zip(finders, np.cumsum(counts), counts, strict=True):
            finder.number_features(int(end) - count, sum(counts))


class SoftStepper:
    """Steps one soft body among the colliders of a scene."""

    def __init__(self, body: SoftBody, scene: Scene, spent: Spent):
        self.body, self.spent = body, spent
        self.integrator = chosen(INTEGRATORS, scene.solver.integrator)(
            body, gravity=scene.gravity, wind=scene.wind
        )
        self.solver = chosen(SOLVERS, scene.solver.method)(system_of([body]), scene.solver)
        self.pins = PinTracker(body)
        self.finder = ContactFinder(body, scene.colliders) if scene.colliders else None

    def step(
        self,
        state: State,
        memory: ContactMemory,
        colliders: ColliderArrays | None,
        start: float,
        end: float,
        dt: float,
    ) -> ContactMemory:
        """Advance a state from one time [s] to another, dt [s] later; returns what its contacts remember."""
        body, solver, integrator = self.body, self.solver, self.integrator
        if body.loads:
            self._apply_events(state, start, end)
        pins = self.pins.during(state.x, end, dt)
        prediction = integrator.predict(state, pins, dt)
        increment = integrator.increment(state, prediction, pins, end, dt)
        effort, memory, touched = self._solve(state, increment, memory, colliders, dt)
        if not np.isfinite(solver.u).all():
            raise SolverError(
                f"at {end:.4g} s the positions are no longer finite; use smaller time steps or a softer material"
            )
        x_before, state.x = state.x, increment.x + solver.u
        integrator.advance(state, x_before, solver.u, prediction, increment, pins, touched, dt)
        solver.remember([state.memory])
        collapsed = 0
        if effort.degenerate:
            kept = state.v.copy()
            collapsed = recover(body, solver, x_before, state, pins.is_free, dt)
            integrator.disturb(state, state.v - kept, self._degenerate_nodes(state))
        count_time(state.memory, collapsed, dt)
        self.spent.newton_iterations += effort.newton_iterations
        self.spent.linear_iterations += effort.linear_iterations
        return memory

    def _degenerate_nodes(self, state: State) -> NDArray[np.int32]:
        """Nodes of elements with a degenerate quadrature point."""
        corners, pair = self.body.elements.corners, state.memory["collapse_pair"]
        element = np.flatnonzero(pair) // (len(pair) // len(corners))
        return corners[element].reshape(-1)

    def _apply_events(self, state: State, start: float, end: float) -> None:
        """One-shot changes between two times [s]; elements that they collapse are followed."""
        x, v = state.x.copy(), state.v.copy()
        apply_events(self.body.loads, start, end, state.x, state.v, self.body.mass)
        moved = np.flatnonzero((state.x != x).any(axis=1))
        self.integrator.disturb(state, state.v - v, moved)
        if len(moved):
            follow_degeneration(self.body, x, state.x, 0.0, state.memory)

    def _solve(
        self, state: State, increment: Increment, memory, colliders, dt
    ) -> tuple[Effort, ContactMemory, Callable[[], TouchedNodes]]:
        """Displacements, in the solver; what they cost, what the contacts remember, and how to ask what was touched."""
        if self.finder is None:
            effort = self.solver.solve(increment, [state.memory], NO_CONTACTS)
            return effort, NO_MEMORY, lambda: NOTHING_TOUCHED
        finder, x = self.finder, state.x
        began = perf_counter()
        found = finder.find(x, increment.x + increment.guess, colliders)
        self.spent.contact_seconds += perf_counter() - began
        for _ in range(MOST_TRIES):
            found = finder.on_their_side(found, memory, colliders)
            rows = finder.rows(found, memory, state.v, dt)
            if increment.x is not x:
                rows = rows_from(rows, increment.x - x)
            effort = self.solver.solve(increment, [state.memory], rows)
            began = perf_counter()
            more = finder.missed(x, increment.x + self.solver.u, colliders, found)
            self.spent.contact_seconds += perf_counter() - began
            if more is None:
                break
            found = more
        now = finder.remembered(found, rows, colliders, self.solver.u)
        return effort, now, lambda: finder.touched(found, rows, memory)
