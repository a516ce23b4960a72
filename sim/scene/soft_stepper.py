"""One soft body among the colliders of a scene: its steps, cut into shorter ones where it strikes something."""

from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.contact.candidates import Candidates
from jellycage.sim.contact.finder import ContactFinder
from jellycage.sim.contact.impacts import Impacts
from jellycage.sim.contact.memory import NO_MEMORY, ContactMemory
from jellycage.sim.contact.restitution import Restitution
from jellycage.sim.contact.rows import NO_CONTACTS, rows_from
from jellycage.sim.contact.strikes_kernels import PressedContacts
from jellycage.sim.errors import SolverError
from jellycage.sim.scene.scene import Scene
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

    def count(self, effort: Effort) -> None:
        """Add what a step cost."""
        self.newton_iterations += effort.newton_iterations
        self.linear_iterations += effort.linear_iterations


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

    @property
    def ahead(self) -> NDArray[np.float64]:
        """Where the nodes are foreseen to be after it, shape (n, 3) [m]."""
        return self.increment.x + self.increment.guess


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
        self.apply_events(state, start, end)
        done = 0.0  # of dt, in halves of halves, so that no time is lost to rounding
        while done < 1.0:
            share = self.share(done, self.longest_step(state, start + done * dt, dt) / dt)
            while True:
                until = done + share
                attempt = self.attempt(
                    state,
                    start + done * dt,
                    end if until == 1.0 else start + until * dt,
                    share * dt,
                )
                shorter = share
                if attempt.found is not None:
                    longest = self.impacts.foreseen(attempt.found, state.v, attempt.dt)
                    shorter = self.share(done, min(longest / dt, share))
                if shorter == share:
                    break
                share = shorter
            memory = self.take(state, memory, attempt)
            done = until
        return memory

    def longest_step(self, state: State, time: float, dt: float) -> float:
        """How long a step may be that starts at a time [s] within one of dt [s]."""
        led = self.pins.longest_step(state.v, time, dt)
        return min(self.impacts.longest_step(state), led)

    def share(self, done: float, longest: float) -> float:
        """Share of a step, a power of 1/2, that may follow what is done of it and is no longer than it may be."""
        share = 1.0
        while share > self.shortest and (share > longest or done % share):
            share *= 0.5
        return share

    def attempt(self, state: State, start: float, end: float, dt: float) -> Try:
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

    def take(self, state: State, memory: ContactMemory, attempt: Try) -> ContactMemory:
        """Take a step; returns what the contacts remember."""
        effort, memory, pressed = self._solve(state, attempt, memory)
        before, is_kept = self.arrive(state, attempt, self.solver.u, pressed)
        self.solver.remember([state.memory])
        self.settle(state, before, attempt, is_kept, effort.degenerate, pressed)
        self.spent.count(effort)
        return memory

    def arrive(
        self, state: State, attempt: Try, u, pressed: PressedContacts | None, *, stops=True
    ) -> tuple[State, NDArray[np.bool_]]:
        """Go to where displacements u (n, 3) [m] lead; (the state before, which parts have their angular momentum).

        stops: whether struck points are stopped now.
        """
        if not np.isfinite(u).all():
            raise SolverError(
                f"at {attempt.end:.4g} s the positions are no longer finite; "
                "use smaller time steps or a softer material"
            )
        dt, pins, increment = attempt.dt, attempt.pins, attempt.increment
        self.impacts.note(state.memory, pressed, state.v, dt)
        before = State(state.x, state.v.copy(), {})
        state.x = increment.x + u
        if pressed is not None and not stops:
            pressed = pressed._replace(is_struck=np.zeros(len(pressed.is_struck), np.bool_))
        is_kept = self.integrator.advance(
            state, before.x, u, attempt.prediction, increment, pins, pressed, dt
        )
        return before, is_kept

    def settle(self, state: State, before: State, attempt: Try, is_kept, degenerate, pressed):
        """What follows at the end of a step: degenerate points are rescued, what deforms too fast is held back."""
        body, dt, pins, collapsed = self.body, attempt.dt, attempt.pins, 0
        if degenerate:
            kept = state.v.copy()
            load = self.integrator.outer_force(attempt.end)
            collapsed = recover(body, self.solver, before, state, pins, is_kept, load, dt)
            self.integrator.disturb(state, state.v - kept, self._rescued_nodes(state))
        count_time(body, state, collapsed, dt)
        change = restrain(body, state, pins, dt)
        if change is not None:
            self.integrator.disturb(state, change, np.zeros(0, int))
        if self.restitution is not None:
            self._bounce(state, before, pressed, attempt.end, dt)

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

    def apply_events(self, state: State, start: float, end: float) -> None:
        """One-shot changes between two times [s]; elements that they collapse are followed."""
        if not self.body.loads:
            return
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
