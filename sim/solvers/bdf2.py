"""BDF2, Gear's method of order two, in frames that fly and spin with each part of a body: the default.

    x' = (3 x_{n+1} - 4 x_n + x_{n-1}) / 2 dt,  and the same for v' : one solve per step, as implicit Euler.

At 40 steps per period a vibration loses 5.6 % in ten periods (implicit Euler: all of it) and is 0.8 % too slow; stiff
modes die within a few steps, whatever the step is. TR-BDF2 loses 0.1 % for two solves per step. Generalised-alpha with
spectral radius 0.5 loses 0.4 % for one, but only halves the stiff modes per step, so contacts ring.

A node that has come to a dead stop in a step, or whose elements are degenerate, has no history: BDF2 would make a
rebound of half its speed. It takes a step of implicit Euler, which its neighbours do not notice.

Frames: see `prediction_kernels`. What a truncated solve, or nodes with and without a history side by side, leave of an
error in the momenta of a part that nothing touches is mended afterwards by a change of its velocity and spin.
"""

import numpy as np

from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.state import Memory, State
from jellycage.sim.solvers.implicit_step import ImplicitStep
from jellycage.sim.solvers.pin_holding import PinsInStep
from jellycage.sim.solvers.prediction_kernels import Frames, Prediction, predict
from jellycage.sim.solvers.problem_kernels import Increment
from jellycage.sim.solvers.rigid_motion_kernels import keep_momenta, rigid_motion

MOST_GROWTH = 2.0  # of a step against the one before: beyond 1 + sqrt(2) BDF2 is not stable
FASTEST_TURN = 1.0  # [rad] per step that a frame is turned by: more of it is no motion of a body


class BDF2(ImplicitStep):
    """Makes the increments of one body. Holds nothing of its state.

    Remembers the state of a step before, how long that step was, and for which nodes it is of use.
    """

    step_share = 2.0 / 3.0

    @staticmethod
    def start_memory(body: SoftBody) -> Memory:
        """What is remembered of a body at its start: no step yet."""
        count = len(body.mass)
        return {
            "x_before": np.zeros((count, 3)),
            "v_before": np.zeros((count, 3)),
            "has_before": np.zeros(count, np.bool_),
            "dt_before": np.zeros(()),
        }

    def predict(self, state: State, pins: PinsInStep, dt: float) -> tuple[Prediction, Frames]:
        """Where the nodes would go in dt [s] by what they did in the last two states, seen from their parts."""
        body, memory = self.body, state.memory
        frames = Frames(*rigid_motion(state.x, state.v, body.mass, body.part, body.part_count))
        turn = dt * np.sqrt((frames.spin * frames.spin).sum(axis=1))
        frames.spin[(turn > FASTEST_TURN) | ~pins.is_free] = 0.0
        frames.velocity[~pins.is_free] = 0.0
        dt_before = float(memory["dt_before"])
        if dt > MOST_GROWTH * dt_before:
            memory["has_before"][:] = False
        count = len(state.x)
        out = Prediction(np.empty(count), *(np.empty((count, 3)) for _ in range(4)))
        predict(
            state.x,
            state.v,
            memory["x_before"],
            memory["v_before"],
            memory["has_before"],
            body.mass,
            body.part,
            frames,
            dt,
            dt_before,
            out,
        )
        return out, frames

    def advance(
        self,
        state: State,
        v,
        increment: Increment,
        prediction: Prediction,
        is_untouched,
        is_smooth,
        dt: float,
    ) -> None:
        """Take velocities v (n, 3) [m/s] over, of a step of dt [s] from a state whose x is there already.

        is_untouched: parts whose momenta nothing but loads changed; is_smooth (n,): nodes that went on as they were.
        """
        body, memory = self.body, state.memory
        if is_untouched.any() and not body.air_drag:
            before = v.copy()
            keep_momenta(
                increment.x,
                state.v,
                state.x,
                increment.load - prediction.load,
                body.mass,
                body.part,
                is_untouched,
                body.mass_damping,
                dt,
                v,
            )
            # The states of before are corrected alike, or the next prediction would take it for acceleration.
            state.v += v - before
        memory["x_before"][:], memory["v_before"][:] = increment.x, state.v
        memory["has_before"][:], memory["dt_before"][...] = is_smooth, dt
        state.v[:] = v

    def disturb(self, state: State, change, nodes) -> None:
        """Take note that velocities changed (n, 3) [m/s] by no force, and of nodes whose history is of no use."""
        state.memory["v_before"] += change
        state.memory["has_before"][nodes] = False
