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
from jellycage.sim.solvers.prediction_kernels import (
    Frames,
    Prediction,
    find_frames,
    mend_turns,
    predict,
)
from jellycage.sim.solvers.recovery import is_helpless
from jellycage.sim.solvers.rigid_motion_kernels import keep_momenta

MOST_GROWTH = 2.1  # of a step against the one before: beyond 1 + sqrt(2) BDF2 is not stable
SLOWEST_TURN = 0.01  # [rad] per step that a frame is turned by: BDF2 itself takes no notice of less
FASTEST_TURN = 1.0  # more is no motion of a body


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
            "turn_before": np.zeros((body.part_count, 3)),
        }

    def predict(self, state: State, pins: PinsInStep, dt: float) -> tuple[Prediction, Frames]:
        """Where the nodes would go in dt [s] by what they did in the last two states, seen from their parts."""
        body, memory = self.body, state.memory
        dt_before = float(memory["dt_before"])
        if dt > MOST_GROWTH * dt_before:
            memory["has_before"][:] = False
        x_before, v_before = memory["x_before"], memory["v_before"]
        frames = find_frames(
            state.x,
            state.v,
            (x_before, v_before, memory["turn_before"].copy(), dt_before),
            memory["has_before"],
            body.mass,
            body.part,
            pins.is_free & (not is_helpless(memory)),
            SLOWEST_TURN,
            FASTEST_TURN,
            dt,
        )
        count = len(state.x)
        shapes = ((count, 3), count, *3 * ((count, 3),), (count, 3))
        out = Prediction(*(np.empty(shape) for shape in shapes))
        predict(
            state.x,
            state.v,
            x_before,
            v_before,
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
        x_before,
        x_turned,
        v,
        frames: Frames,
        load,
        is_untouched,
        is_smooth,
        dt: float,
    ) -> None:
        """Take velocities v (n, 3) [m/s] over, of a step of dt [s] from x_before to a state whose x is there already.

        x_turned: nodes as the frames turned them, shape (n, 3) [m].
        is_untouched: parts whose momenta nothing but loads (n, 3) [N] changed; is_smooth (n,): nodes that went on as
        they were.
        """
        body, memory = self.body, state.memory
        turned = frames.turn
        if turned.any():
            turned = mend_turns(frames, x_turned, body.mass, body.part, is_untouched, dt, state.x)
        if is_untouched.any() and not body.air_drag:
            before = v.copy()
            keep_momenta(
                x_before,
                state.v,
                state.x,
                load,
                body.mass,
                body.part,
                is_untouched,
                body.mass_damping,
                dt,
                v,
            )
            # The states of before are corrected alike, or the next prediction would take it for acceleration.
            state.v += v - before
        memory["x_before"][:], memory["v_before"][:] = x_before, state.v
        memory["has_before"][:], memory["dt_before"][...] = is_smooth, dt
        memory["turn_before"][:] = turned
        state.v[:] = v

    def disturb(self, state: State, change, nodes) -> None:
        """Take note that velocities changed (n, 3) [m/s] by no force, and of nodes whose history is of no use."""
        state.memory["v_before"] += change
        state.memory["has_before"][nodes] = False
