"""What implicit integrators have in common: from a prediction to the increment of a step, and to its end."""

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.loads import force_on_nodes
from jellycage.sim.soft.state import State
from jellycage.sim.solvers.pin_holding import PinsInStep
from jellycage.sim.solvers.prediction_kernels import Frames, Prediction, find_velocities, find_wells
from jellycage.sim.solvers.problem_kernels import Increment
from jellycage.sim.solvers.recovery import is_helpless, pulled


class ImplicitStep:
    """Makes the increments of one body. Holds nothing of its state.

    A kind of it says how to `predict` and what to `remember`, and `step_share`: h / dt of most of its nodes.
    """

    step_share: float

    def __init__(self, body: SoftBody, *, gravity=(0.0, 0.0, -9.81), wind=(0.0, 0.0, 0.0)):
        self.body = body
        self.gravity, self.wind = np.asarray(gravity, float), np.asarray(wind, float)
        self.weight_force = body.mass[:, None] * self.gravity
        self.drag = np.zeros(len(body.mass))
        self.prepared_dt = 0.0

    def increment(
        self, state: State, prediction: Prediction, pins: PinsInStep, end: float, dt: float
    ) -> Increment:
        """What the step of length dt [s] that ends at a time [s] asks for, from a state and as its frames turn it."""
        body = self.body
        self._prepare(dt)
        weight, centre = np.empty(len(body.mass)), np.empty((len(body.mass), 3))
        if body.air_drag > 0.0:
            # Quadratic drag with the speed of the step's start: linear in the new velocity, hence stable.
            relative = state.v - self.wind
            speed = np.sqrt((relative * relative).sum(axis=1))
            self.drag = 0.5 * body.air_drag * body.exposed_area * speed
        find_wells(prediction, body.mass, body.mass_damping, self.drag, self.wind, weight, centre)
        load = self.weight_force + prediction.load
        if body.loads:
            load += force_on_nodes(body.loads, end, len(body.mass))
        # Free parts fly and fall, pinned ones go on as they went: exact for a body that does not deform.
        guess = centre
        if pins.is_flying.any():
            is_flying = pins.is_flying[body.part][:, None]
            own = self.weight_force + prediction.load
            guess = centre + is_flying * own / weight[:, None]
        if is_helpless(state.memory):
            weight, centre = pulled(body, state, weight, centre, load)
        return Increment(
            x=state.x + prediction.turned if prediction.turned.any() else state.x,
            inertia=self.inertia,
            weight=weight,
            centre=centre,
            load=load,
            damping=self.damping,
            drift=prediction.drift,
            guess=guess,
            moved=pins.moved,
            is_free=pins.is_free,
            springs=pins.springs,
            projection=pins.projection,
        )

    def velocities(self, prediction: Prediction, frames: Frames, x, u) -> NDArray[np.float64]:
        """Velocities [m/s] at the end of a step with displacements u from the x of its increment, shapes (n, 3)."""
        v = np.empty_like(u)
        find_velocities(prediction, frames, x, u, self.body.mass, self.body.part, v)
        return v

    def _prepare(self, dt):
        """What depends on nothing but the length of the step."""
        if dt == self.prepared_dt:
            return
        body, step = self.body, self.step_share * dt
        self.inertia = body.mass * (1.0 / (step * step) + body.mass_damping / step)
        self.damping = np.full(len(body.mass), body.stiffness_damping / step)
        self.prepared_dt = dt
