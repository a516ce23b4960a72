"""One soft body on its way, step by step, and its elastic energy: what tests of the solver look at."""

import numpy as np

from jellycage import sim
from jellycage.sim.soft.elasticity import energy_and_forces, points_at_rest
from jellycage.sim.solvers.implicit_euler import ImplicitEuler
from jellycage.sim.solvers.pin_holding import PinTracker


class OneBody:
    """The state of a scene with one soft body, and what steps it by dt [s]."""

    def __init__(self, body, dt, settings=None, *, state=None, **surroundings):
        scene = sim.Scene([body], solver=settings or sim.SolverSettings(), **surroundings)
        self.stepper = sim.Stepper(scene, fps=1.0 / dt)
        self.state = self.stepper.start() if state is None else state.state.copy()

    def step(self):
        self.stepper.step(self.state)

    def copy(self):
        """The same at this moment, with a state of its own."""
        return self.at(self)

    def at(self, other):
        """The same scene in the state of another."""
        twin = object.__new__(OneBody)
        twin.stepper, twin.state = self.stepper, other.state.copy()
        return twin

    @property
    def soft(self):
        return self.state.soft[0]

    @property
    def x(self):
        return self.soft.x

    @property
    def v(self):
        return self.soft.v

    @property
    def memory(self):
        return self.soft.memory

    @property
    def time(self):
        return self.state.time

    @property
    def contacts(self):
        return self.state.contacts


def euler_increment(body, state, dt, **surroundings):
    """What a step of implicit Euler from time 0 asks of a body."""
    euler, pins = ImplicitEuler(body, **surroundings), PinTracker(body).during(state.x, 0.0, dt, dt)
    return euler.increment(state, euler.predict(state, pins, dt), pins, dt, dt)


def state_bits(state) -> dict[str, tuple]:
    """Type, shape and bytes of all that the state of a scene holds."""
    return arrays_bits(state.arrays())


def arrays_bits(arrays) -> dict[str, tuple]:
    """Type, shape and bytes of arrays by name."""
    return {
        name: (array.dtype.str, array.shape, array.tobytes())
        for name, array in ((name, np.asarray(array)) for name, array in arrays.items())
    }


def elastic(body, x):
    """Elastic energy [J] and forces [N] at x, with the rotations of sound points."""
    force = np.zeros_like(x)
    energy, _ = energy_and_forces(body, x, points_at_rest(len(body.elements.volumes)), force)
    return energy, force
