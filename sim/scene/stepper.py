"""One step of everything in a scene.

A step is a frame. Soft bodies take it in substeps: each body's integrator says what the substep asks for, the finder
which of its points may touch what, the solver where it goes. A body that strikes something, or is led wildly, cuts its
substep into shorter ones. Rigid bodies and ragdolls take the same time in substeps of their own. At the end of a step
everything is at the same time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.contact.candidates import Candidates
from jellycage.sim.contact.finder import ContactFinder
from jellycage.sim.contact.impacts import Impacts
from jellycage.sim.contact.memory import NO_MEMORY, ContactMemory, joined_memories
from jellycage.sim.contact.restitution import Restitution
from jellycage.sim.contact.rows import NO_CONTACTS, rows_from
from jellycage.sim.contact.strikes_kernels import PressedContacts
from jellycage.sim.errors import SettingsError, SolverError
from jellycage.sim.scene.rigid_part import RigidPart
from jellycage.sim.scene.scene import Scene
from jellycage.sim.scene.state import SceneState, start_state
from jellycage.sim.shapes.colliders import ColliderArrays, collider_arrays
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.elasticity import are_rescued, follow_degeneration
from jellycage.sim.soft.loads import apply_events
from jellycage.sim.soft.state import State
from jellycage.sim.soft.system import system_of
from jellycage.sim.solvers.methods import INTEGRATORS, SOLVERS, chosen
from jellycage.sim.solvers.newton import Effort
from jellycage.sim.solvers.pin_holding import PinsInStep, PinTracker
from jellycage.sim.solvers.problem_kernels import Increment
from jellycage.sim.solvers.recovery import count_time, recover, restrain

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
        memories = []
        for number, (body, soft) in enumerate(zip(self.bodies, state.soft, strict=True)):
            try:
                memory = body.step(soft, state.contacts, state.time, end, dt)
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


class Try(NamedTuple):
    """A step that may be taken."""

    end: float
    """[s]."""
    dt: float
    """[s]."""
    pins: PinsInStep
    prediction: object
    """Of the integrator."""
    increment: Increment
    colliders: ColliderArrays | None
    found: Candidates | None
    """What may touch; None without colliders."""


class SoftStepper:
    """Steps one soft body among the colliders of a scene."""

    def __init__(self, body: SoftBody, scene: Scene, spent: Spent):
        self.body, self.spent, self.colliders = body, spent, scene.colliders
        self.integrator = chosen(INTEGRATORS, scene.solver.integrator)(
            body, gravity=scene.gravity, wind=scene.wind
        )
        self.solver = chosen(SOLVERS, scene.solver.method)(system_of([body]), scene.solver)
        self.pins = PinTracker(body)
        self.finder = (
            ContactFinder(body, scene.colliders, scene.gravity) if scene.colliders else None
        )
        self.impacts = Impacts(body, scene.gravity)
        has_restitution = self.finder is not None and self.finder.restitution.any()
        self.restitution = Restitution(body, self.impacts.slowest) if has_restitution else None
        self.shortest = 0.5 ** int(np.log2(scene.solver.impact_steps))

    def step(
        self, state: State, memory: ContactMemory, start: float, end: float, dt: float
    ) -> ContactMemory:
        """Advance a state from one time [s] to another, dt [s] later; returns what its contacts remember."""
        if self.body.loads:
            self._apply_events(state, start, end)
        done = 0.0  # of dt, in halves of halves, so that no time is lost to rounding
        while done < 1.0:
            led = self.pins.longest_step(state.v, start + done * dt, dt)
            share = self._share(done, min(self.impacts.longest_step(state), led) / dt)
            while True:
                until = done + share
                attempt = self._attempt(
                    state,
                    start + done * dt,
                    end if until == 1.0 else start + until * dt,
                    share * dt,
                )
                shorter = share
                if attempt.found is not None:
                    longest = self.impacts.foreseen(attempt.found, state.v, attempt.dt)
                    shorter = self._share(done, min(longest / dt, share))
                if shorter == share:
                    break
                share = shorter
            memory = self._take(state, memory, attempt)
            done = until
        return memory

    def _share(self, done: float, longest: float) -> float:
        """Share of a step, a power of 1/2, that may follow what is done of it and is no longer than it may be."""
        share = 1.0
        while share > self.shortest and (share > longest or done % share):
            share *= 0.5
        return share

    def _attempt(self, state: State, start: float, end: float, dt: float) -> Try:
        """What a step from one time [s] to another asks for, and what it may meet."""
        pins = self.pins.during(state.x, start, end, dt)
        prediction = self.integrator.predict(state, pins, dt)
        increment = self.integrator.increment(state, prediction, pins, end, dt)
        colliders = found = None
        if self.finder is not None:
            began = perf_counter()
            colliders = collider_arrays(self.colliders, start, end)
            found = self.finder.find(state.x, increment.x + increment.guess, colliders)
            self.spent.contact_seconds += perf_counter() - began
        return Try(end, dt, pins, prediction, increment, colliders, found)

    def _take(self, state: State, memory: ContactMemory, attempt: Try) -> ContactMemory:
        """Take a step; returns what the contacts remember."""
        body, solver, integrator = self.body, self.solver, self.integrator
        dt, pins, increment = attempt.dt, attempt.pins, attempt.increment
        effort, memory, pressed = self._solve(state, attempt, memory)
        if not np.isfinite(solver.u).all():
            raise SolverError(
                f"at {attempt.end:.4g} s the positions are no longer finite; "
                "use smaller time steps or a softer material"
            )
        self.impacts.note(state.memory, pressed, state.v, dt)
        x_before, v_before, state.x = state.x, state.v.copy(), increment.x + solver.u
        is_kept = integrator.advance(
            state, x_before, solver.u, attempt.prediction, increment, pins, pressed, dt
        )
        solver.remember([state.memory])
        collapsed = 0
        if effort.degenerate:
            kept = state.v.copy()
            before, load = State(x_before, v_before, {}), integrator.outer_force(attempt.end)
            collapsed = recover(body, solver, before, state, pins, is_kept, load, dt)
            integrator.disturb(state, state.v - kept, self._rescued_nodes(state))
        count_time(body, state, collapsed, dt)
        change = restrain(body, state, pins, dt)
        if change is not None:
            integrator.disturb(state, change, np.zeros(0, int))
        if self.restitution is not None:
            self._bounce(state, State(x_before, v_before, {}), pressed, attempt.end, dt)
        self.spent.newton_iterations += effort.newton_iterations
        self.spent.linear_iterations += effort.linear_iterations
        return memory

    def _bounce(self, state: State, before: State, pressed, end: float, dt: float) -> None:
        """Let parts that leave what they struck do so as fast as they should."""
        load = self.integrator.outer_force(end)
        change = self.restitution.change(
            before, state, pressed, load, self.solver.elastic_energy, dt
        )
        if change is not None:
            change = change[self.body.part]
            state.v += change
            self.integrator.disturb(state, change, np.zeros(0, int))

    def _rescued_nodes(self, state: State) -> NDArray[np.int32]:
        """Nodes of elements with a quadrature point that is being rescued."""
        corners, is_rescued = self.body.elements.corners, are_rescued(self.body, state.memory)
        element = np.flatnonzero(is_rescued) // (len(is_rescued) // len(corners))
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
        self, state: State, attempt: Try, memory: ContactMemory
    ) -> tuple[Effort, ContactMemory, PressedContacts | None]:
        """Displacements, in the solver; what they cost, what the contacts remember, and which are pressed."""
        increment, found, colliders, dt = (
            attempt.increment,
            attempt.found,
            attempt.colliders,
            attempt.dt,
        )
        if found is None:
            return self.solver.solve(increment, [state.memory], NO_CONTACTS), NO_MEMORY, None
        finder, x = self.finder, state.x
        for tries_left in reversed(range(MOST_TRIES)):
            found = finder.on_their_side(found, memory, colliders)
            rows = finder.rows(found, memory, dt)
            if increment.x is not x:
                rows = rows_from(rows, increment.x - x)
            effort = self.solver.solve(increment, [state.memory], rows)
            if not tries_left:  # what this one missed is left to the next step
                break
            began = perf_counter()
            more = finder.missed(x, increment.x + self.solver.u, colliders, found)
            self.spent.contact_seconds += perf_counter() - began
            if more is None:
                break
            found = more
        now = finder.remembered(found, rows, colliders, self.solver.u)
        return effort, now, finder.pressed(found, rows, memory, self.solver.u, dt)
