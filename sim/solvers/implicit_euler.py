"""Implicit Euler: robust at any stiffness and time step.

Thesis on interactive co-rotational FEM, sec. 3.2: displacement form, eqs. (3.1)-(3.8). Differs: the solver's line
search on the step's energy lets no step raise it, and one translation after a truncated solve makes the linear momentum
exact.

Limitations: first order; it damps motion the more the longer the step is, and turns fast spins into slower ones.
"""

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.loads import force_on_nodes
from jellycage.sim.soft.state import Memory, State
from jellycage.sim.solvers.pin_holding import NOT_MOVED, PinsInStep
from jellycage.sim.solvers.problem_kernels import Increment
from jellycage.sim.solvers.recovery import is_helpless, pulled

STILL = 1e-7  # of a body's size: what lies on something and would go no further in a step has come to rest


class ImplicitEuler:
    """Makes the increments of one body, and the end of a step from its displacements. Holds nothing of its state."""

    step_share = 1.0
    """Length of the steps of which the inertia is, in dt."""

    def __init__(self, body: SoftBody, *, gravity=(0.0, 0.0, -9.81), wind=(0.0, 0.0, 0.0)):
        self.body = body
        self.gravity, self.wind = np.asarray(gravity, float), np.asarray(wind, float)
        self.weight_force = body.mass[:, None] * self.gravity
        self.nothing = np.zeros((len(body.mass), 3))
        self.prepared_dt = 0.0

    @staticmethod
    def start_memory(body: SoftBody) -> Memory:
        """What is remembered of a body at its start."""
        return {}

    def predict(self, state: State, pins: PinsInStep, dt: float):
        """What is known of the step of dt [s] from a state before anything acts on it, for the other functions."""
        return None

    def increment(
        self, state: State, prediction, pins: PinsInStep, end: float, dt: float
    ) -> Increment:
        """What the step of length dt [s] that ends at a time [s] asks for, from a state."""
        body = self.body
        self._prepare(dt)
        x, drift, frame_force = self._start(state, prediction)
        weight, centre = self._wells(state.v, prediction, dt)
        load = self.outer_force(end)
        own_force = self.weight_force
        if frame_force is not None:
            load, own_force = load + frame_force, own_force + frame_force
        guess = self._guess(pins.is_flying, state.memory["is_touched"], centre, own_force, weight)
        if is_helpless(state.memory):
            weight, centre = pulled(body, state, pins.is_flying, weight, centre, load)
        return Increment(
            x=x,
            inertia=self.inertia,
            weight=weight,
            centre=centre,
            load=load,
            damping=self.damping,
            drift=drift,
            guess=guess,
            ahead=self._ahead(prediction),
            moved=pins.moved,
            sliding=pins.sliding,
            springs=pins.springs,
            projection=pins.projection,
        )

    def outer_force(self, time: float):
        """Weight and loads at a time [s], shape (n, 3) [N]."""
        if not self.body.loads:
            return self.weight_force
        return self.weight_force + force_on_nodes(self.body.loads, time, len(self.body.mass))

    def advance(
        self, state: State, x_before, u, prediction, increment: Increment, pins, pressed, dt: float
    ) -> NDArray[np.bool_]:
        """Give a state, whose x is at the end of a step of dt [s] from x_before, its velocities there.

        u: displacements from the x of the increment, all (n, 3) [m]; pressed: the `PressedContacts`, or None. Returns
        which parts were given the angular momentum that they should have, whatever torque is in the forces from inside.
        """
        np.divide(u, dt, out=state.v)
        return np.zeros(self.body.part_count, np.bool_)

    def forget(self, state: State, change, prediction, increment: Increment) -> None:
        """Leave out of the history what struck contacts changed the velocities by in a step, (n, 3) [m/s]."""

    def shift(self, state: State, way) -> None:
        """Move a state by (n, 3) [m] that is no motion."""
        state.x = state.x + way

    def disturb(self, state: State, change, nodes) -> None:
        """Take note that velocities changed (n, 3) [m/s] by no force, and of nodes whose history is of no use."""

    def _start(self, state: State, prediction):
        """Positions from which displacements count, those that are not damped, and the forces of the frame or None."""
        return state.x, self.nothing, None

    def _wells(self, v, prediction, dt: float):
        """(weight, centre) of an `Increment` for inertia, damping and drag."""
        weight, centre = self.inertia, self.share * v
        if self.body.air_drag > 0.0:
            drag = self._drag(v)
            weight = weight + drag / dt
            pull = self.inertia[:, None] * centre + drag[:, None] * self.wind
            centre = pull / weight[:, None]
        return weight, centre

    def _guess(self, is_flying, is_touched, centre, own_force, weight):
        """Where the solve starts. Free parts fly and fall: exact for a body that does not deform.

        Others, and what lies or slides on something that carries it, go on as they went; what hardly moves there stays.
        """
        if is_touched.any() and np.abs(centre).max() < STILL * self.body.size:
            return self.nothing
        is_falling = is_flying & ~is_touched
        if not is_falling.any():
            return centre
        return centre + is_falling[self.body.part][:, None] * (own_force / weight[:, None])

    def _ahead(self, prediction):
        """Where the step is foreseen to end, if that is known."""
        return NOT_MOVED

    def _drag(self, v):
        """Quadratic drag with the speed of the step's start: linear in the new velocity, hence stable [N s/m]."""
        relative = v - self.wind
        speed = np.sqrt((relative * relative).sum(axis=1))
        return 0.5 * self.body.air_drag * self.body.exposed_area * speed

    def _prepare(self, dt):
        """What depends on nothing but the length of the step."""
        if dt == self.prepared_dt:
            return
        body, mass, step = self.body, self.body.mass, self.step_share * dt
        self.inertia = mass * (1.0 / (step * step) + body.mass_damping / step)
        self.share = (mass / step / self.inertia)[:, None]
        self.damping = np.full(len(mass), body.stiffness_damping / step)
        self.prepared_dt = dt
