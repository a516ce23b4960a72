"""Implicit Euler: robust at any stiffness and time step.

Thesis on interactive co-rotational FEM, sec. 3.2: displacement form, eqs. (3.1)-(3.8). Differs: the solver's line
search on the step's energy lets no step raise it, and one translation after a truncated solve makes the linear momentum
exact.

Limitations: first order; it damps motion the more the longer the step is, and turns fast spins into slower ones.
"""

import numpy as np

from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.state import Memory, State
from jellycage.sim.solvers.implicit_step import ImplicitStep
from jellycage.sim.solvers.pin_holding import PinsInStep
from jellycage.sim.solvers.prediction_kernels import Frames, Prediction


class ImplicitEuler(ImplicitStep):
    """Makes the increments of one body. Holds nothing of its state."""

    step_share = 1.0

    def __init__(self, body: SoftBody, *, gravity=(0.0, 0.0, -9.81), wind=(0.0, 0.0, 0.0)):
        super().__init__(body, gravity=gravity, wind=wind)
        count = len(body.mass)
        self.nothing = np.zeros((count, 3))
        self.frames = Frames(*(np.zeros((body.part_count, 3)) for _ in Frames._fields))
        self.steps = np.zeros(count)

    @staticmethod
    def start_memory(body: SoftBody) -> Memory:
        """What is remembered of a body at its start: nothing."""
        return {}

    def predict(self, state: State, pins: PinsInStep, dt: float) -> tuple[Prediction, Frames]:
        """Where the nodes would go in dt [s]: straight on, seen from the world."""
        self.steps[:] = dt
        nothing = self.nothing
        return Prediction(nothing, self.steps, nothing, state.v, nothing, nothing), self.frames

    def advance(
        self,
        state: State,
        x_before,
        x_turned,
        v,
        frames: Frames,
        load,
        is_untouched,
        is_smooth,
        dt: float,
    ) -> None:
        """Take velocities v (n, 3) [m/s] over; nothing else of a step lasts."""
        state.v[:] = v

    def disturb(self, state: State, change, nodes) -> None:
        """Take note that velocities changed (n, 3) [m/s] by no force: it makes no difference here."""
