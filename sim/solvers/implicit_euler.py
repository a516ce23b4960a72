"""Implicit Euler: robust at any stiffness and time step, and the default.

Thesis on interactive co-rotational FEM, sec. 3.2: displacement form, eqs. (3.1)-(3.8). Differs: the solver's line
search on the step's energy lets no step raise it, and one translation after a truncated solve makes the linear momentum
exact.

Limitations: first order; it damps motion the more the longer the step is, and turns fast spins into slower ones.
"""

import numpy as np

from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.loads import force_on_nodes
from jellycage.sim.soft.state import State
from jellycage.sim.solvers.pin_holding import PinsInStep
from jellycage.sim.solvers.problem_kernels import Increment
from jellycage.sim.solvers.recovery import is_helpless, pulled


class ImplicitEuler:
    """Makes the increments of one body. Holds nothing of its state."""

    def __init__(self, body: SoftBody, *, gravity=(0.0, 0.0, -9.81), wind=(0.0, 0.0, 0.0)):
        self.body = body
        self.gravity, self.wind = np.asarray(gravity, float), np.asarray(wind, float)
        self.weight_force = body.mass[:, None] * self.gravity
        self.prepared_dt = 0.0

    def increment(self, state: State, pins: PinsInStep, end: float, dt: float) -> Increment:
        """What the step of length dt [s] that ends at a time [s] asks for, from a state."""
        body = self.body
        self._prepare(dt)
        weight, centre, load = self._wells(state.v, end, dt)
        # Free parts fly and fall, pinned ones go on as they went: exact for a body that does not deform.
        guess = centre
        if pins.is_flying.any():
            is_flying = pins.is_flying[body.part][:, None]
            guess = centre + is_flying * (body.mass / weight)[:, None] * self.gravity
        if is_helpless(state.memory):
            weight, centre = pulled(body, state, weight, centre, load)
        return Increment(
            x=state.x,
            inertia=self.inertia,
            weight=weight,
            centre=centre,
            load=load,
            damping=self.damping,
            guess=guess,
            moved=pins.moved,
            is_free=pins.is_free,
            springs=pins.springs,
            projection=pins.projection,
        )

    def velocities(self, u, dt: float, out_v) -> None:
        """Velocities [m/s] at the end of a step with displacements u (n, 3)."""
        np.divide(u, dt, out=out_v)

    def _prepare(self, dt):
        """What depends on nothing but the length of the step."""
        if dt == self.prepared_dt:
            return
        body, mass = self.body, self.body.mass
        self.inertia = mass * (1.0 / (dt * dt) + body.mass_damping / dt)
        self.share = (mass / dt / self.inertia)[:, None]
        self.damping = np.full(len(mass), body.stiffness_damping / dt)
        self.prepared_dt = dt

    def _wells(self, v, time, dt):
        """(weight, centre, load) of an `Increment` for inertia, damping, drag, gravity and forces."""
        body, mass = self.body, self.body.mass
        weight, centre, load = self.inertia, self.share * v, self.weight_force
        if body.air_drag > 0.0:
            # Quadratic drag with the speed of the step's start: linear in the new velocity, hence stable.
            relative = v - self.wind
            speed = np.sqrt((relative * relative).sum(axis=1))
            drag = 0.5 * body.air_drag * body.exposed_area * speed
            weight = weight + drag / dt
            pull = self.inertia[:, None] * centre + drag[:, None] * self.wind
            centre = pull / weight[:, None]
        if body.loads:
            load = load + force_on_nodes(body.loads, time, len(mass))
        return weight, centre, load
