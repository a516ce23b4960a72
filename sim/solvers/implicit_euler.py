"""Implicit Euler: robust at any stiffness and time step, and the default.

Thesis on interactive co-rotational FEM, sec. 3.2: displacement form, eqs. (3.1)-(3.8), Newton's method with conjugate
gradients inside; one Newton step makes it semi-implicit. Differs: a line search on the step's energy (see `newton`)
lets no step raise it, and one translation after a truncated solve makes the linear momentum exact.

Limitations: first order; it damps motion the more the longer the step is, and turns fast spins into slower ones.
"""

from time import perf_counter

import numpy as np

from jellycage.sim.contact.contacts import Contacts
from jellycage.sim.errors import SettingsError, SolverError
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.elasticity import follow_degeneration
from jellycage.sim.soft.loads import apply_events, force_on_nodes
from jellycage.sim.soft.state import State
from jellycage.sim.solvers.newton import Effort, Increment, Newton
from jellycage.sim.solvers.pin_holding import Holding
from jellycage.sim.solvers.recovery_kernels import calm, cancel_torque, unfolded
from jellycage.sim.solvers.settings import SolverSettings

MOST_TRIES = 3  # of a step that presses points into colliders unforeseen
PATIENCE = 0.1  # how long a body may have degenerate elements before it is calmed [s]
CALMING = 0.1  # time in which the velocities of its deformation then fall to 1/e [s]
PAYING = (
    0.05  # the same, of a debt that is being paid: a shrunk body at rest must be able to grow [s]
)
HELPLESS = 0.5  # after this time its nodes are also pulled to where they belong [s]
LONGEST_SHAKEN = 1.0  # that is remembered, and when the pull is greatest [s]
CONFIDENCE = 0.5  # how fast a sound body is trusted again, in times of the time that it was not
PULL = 20.0  # rate of the pull at its greatest [rad/s]


class ImplicitEuler:
    """Steps one body. Reusable; holds work arrays and no state of the body."""

    def __init__(
        self,
        body: SoftBody,
        settings: SolverSettings | None = None,
        *,
        gravity=(0.0, 0.0, -9.81),
        wind=(0.0, 0.0, 0.0),
        colliders=(),
    ):
        self.body = body
        self.settings = settings or SolverSettings()
        self.gravity, self.wind = np.asarray(gravity, float), np.asarray(wind, float)
        self.newton = Newton(body, self.settings)
        self.holding = Holding(body)
        self.contacts = Contacts(body, tuple(colliders)) if colliders else None
        self.weight_force = body.mass[:, None] * self.gravity
        self.inertia_dt = 0.0
        self.contact_seconds = 0.0  # spent so far on finding contacts

    def step(self, state_in: State, state_out: State, dt: float) -> Effort:
        """Advance by dt [s]; state_out may be state_in."""
        if not 0.0 < dt < np.inf:
            raise SettingsError(f"dt: expected a positive time step in seconds, got {dt}")
        body, newton = self.body, self.newton
        end = state_in.time + dt
        now = state_in.copy()
        if body.loads:
            apply_events(body.loads, now.time, end, now.x, now.v, body.mass)
            if not np.array_equal(now.x, state_in.x):
                follow_degeneration(
                    body, state_in.x, now.x, 0.0, now.pair, now.trapped, now.rotation
                )
        held = self.holding.during(now.x, end, dt)
        damping = body.stiffness_damping / dt
        inertia, weight, centre, load = self._wells(now.v, end, dt)
        # Free parts fly and fall, pinned ones go on as they went: exact for a body that does not deform.
        guess = centre
        if held.is_flying.any():
            is_flying = held.is_flying[body.part][:, None]
            guess = centre + is_flying * (body.mass / weight)[:, None] * self.gravity
        if now.shaken > HELPLESS:
            weight, centre = self._pulled(now, weight, centre, load)
        increment = Increment(now, inertia, weight, centre, load, damping, held, guess)
        colliders = self.contacts.during(now.time, end) if self.contacts else None
        effort, found, touch = self._minimise(increment, colliders, dt)
        if not np.isfinite(newton.u).all():
            raise SolverError(
                f"at {end:.4g} s the positions are no longer finite; use smaller time steps or a softer material"
            )
        state_out.time = end
        np.divide(newton.u, dt, out=state_out.v)
        np.add(now.x, newton.u, out=state_out.x)
        state_out.rotation[:] = newton.work.rotation
        state_out.pair[:], state_out.trapped[:] = now.pair, now.trapped
        state_out.debt, state_out.shaken, state_out.grips = now.debt, now.shaken, now.grips
        collapsed = 0
        if effort.degenerate:
            collapsed = self._settle_degenerate(now.x, state_out, held.is_free, dt)
        shaken = now.shaken + (dt if collapsed else -CONFIDENCE * dt)
        state_out.shaken = min(max(shaken, 0.0), LONGEST_SHAKEN)
        if self.contacts is not None:
            state_out.grips = self.contacts.remember(found, touch, colliders, newton.u)
        return effort

    def _minimise(self, increment, colliders, dt):
        """The step's displacements, in `newton`; its effort and contacts."""
        if self.contacts is None:
            return self.newton.minimise(increment), None, None
        contacts, x, grips = self.contacts, increment.state.x, increment.state.grips
        began = perf_counter()
        found = contacts.find(x, x + increment.guess, colliders)
        self.contact_seconds += perf_counter() - began
        for _ in range(MOST_TRIES):
            found = contacts.on_their_side(found, grips, colliders)
            touch = contacts.touch(found, grips, increment.state.v, dt)
            effort = self.newton.minimise(increment._replace(touch=touch))
            began = perf_counter()
            more = contacts.missed(x, x + self.newton.u, colliders, found)
            self.contact_seconds += perf_counter() - began
            if more is None:
                break
            found = more
        return effort, found, touch

    def _settle_degenerate(self, x_before, state, is_free, dt):
        """New frames for degenerate elements, without the spin and the energy that they would give the body."""
        body, newton = self.body, self.newton
        energy = newton.elastic_energy
        cancel_torque(
            state.x, newton.work.elastic_force, body.mass, body.part, is_free, dt, state.v
        )
        collapsed = follow_degeneration(
            *(body, x_before, state.x, dt, state.pair, state.trapped, state.rotation)
        )
        newton.evaluate(state)
        # What motion cannot pay at once stays owed.
        debt = max(state.debt + newton.elastic_energy - energy, 0.0)
        fraction = 1.0 - np.exp(-2.0 * dt / CALMING) if state.shaken > PATIENCE else 0.0
        most = 1.0 - np.exp(-2.0 * dt / PAYING)
        state.debt = calm(
            state.x, body.mass, body.part, len(is_free), fraction, most, debt, state.v
        )
        return collapsed

    def _pulled(self, state, weight, centre, load):
        """Wells (weight, centre) with a pull to the unfolded shape, where the body would be without elasticity."""
        body = self.body
        rate = PULL * (state.shaken - HELPLESS) / (LONGEST_SHAKEN - HELPLESS)
        free = state.x + centre + load / weight[:, None]
        goals = unfolded(free, body.elements.nodes, body.mass, body.part, int(body.part.max()) + 1)
        pull = body.mass * rate * rate
        both = weight + pull
        moved = (weight[:, None] * centre + pull[:, None] * (goals - state.x)) / both[:, None]
        return both, moved

    def _wells(self, v, time, dt):
        """(inertia, weight, centre, load) of an `Increment` for inertia, damping, drag, gravity and forces."""
        body, mass = self.body, self.body.mass
        if dt != self.inertia_dt:
            self.inertia = mass * (1.0 / (dt * dt) + body.mass_damping / dt)
            self.share = (mass / dt / self.inertia)[:, None]
            self.inertia_dt = dt
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
        return self.inertia, weight, centre, load
