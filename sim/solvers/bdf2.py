"""BDF2, Gear's method of order two, in frames that spin with each part of a body.

    x' = (3 x_{n+1} - 4 x_n + x_{n-1}) / 2 dt,  and the same for v' : one solve per step, as implicit Euler.

At 40 steps per period a vibration loses 5.6 % in ten periods (implicit Euler: all of it) and is 0.8 % too slow; stiff
modes die within a few steps, whatever the step is. TR-BDF2 loses 0.1 % for two solves per step. Generalised-alpha with
spectral radius 0.5 loses 0.4 % for one, but only halves the stiff modes per step.

Contacts that close have no part in the history: BDF2 would make a rebound of half the speed of a dead stop
(`strikes_kernels`). Parts with elements that are being rescued, or whose nodes outrun the steps, take steps of implicit
Euler: the forces that bring them back are no gradients of an energy and lean on its damping.

Frames: see `prediction_kernels`. What a truncated solve leaves of an error in the momenta of a part that nothing
touches is mended afterwards by a change of its velocity and spin.

Limitations: angular momentum of parts with collapsed elements that something touches is kept as well as implicit Euler
keeps it. Steps much longer than waves take to cross a body, where none are cut (`impacts`), rebound too little, or too
much where it is damped so strongly that a blow stops it all at once. A point that slips and then sticks overshoots a
little.
"""

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.contact.candidates import dots, parted
from jellycage.sim.contact.strikes_kernels import PressedContacts, stop_strikes
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.elasticity import are_rescued
from jellycage.sim.soft.state import Memory, State
from jellycage.sim.solvers.implicit_euler import ImplicitEuler
from jellycage.sim.solvers.pin_holding import PinsInStep
from jellycage.sim.solvers.prediction_kernels import (
    Prediction,
    find_frames,
    find_velocities,
    find_wells,
    forget_fastest,
    mend_turns,
    predict,
)
from jellycage.sim.solvers.problem_kernels import Increment
from jellycage.sim.solvers.recovery import is_helpless, parts_of
from jellycage.sim.solvers.rigid_motion_kernels import (
    add_rigid_motion,
    keep_momenta,
    rigid_motion,
)

MOST_GROWTH = 2.1  # of a step against the one before: beyond 1 + sqrt(2) BDF2 is not stable
SLOWEST_TURN = 0.01  # [rad] per step that a frame is turned by: BDF2 itself takes no notice of less
FASTEST_TURN = 1.0  # more is no motion of a body
MOST_DEFORMED = 0.1  # sizes that a node moves against its part in a step: more is no motion that the steps can follow


class BDF2(ImplicitEuler):
    """Implicit Euler from where the last two states point. Holds nothing of the state.

    Remembers the state of a step before, how long that step was and how far it turned each part, and for which nodes
    that is of use.
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

    def predict(self, state: State, pins: PinsInStep, dt: float) -> Prediction:
        """Where the nodes would go in dt [s] by what they did in the last two states, seen from their parts."""
        body, memory, count = self.body, state.memory, len(state.x)
        dt_before = float(memory["dt_before"])
        x_before, v_before = memory["x_before"], memory["v_before"]
        is_rescued, is_collapsed = self._is_rescued(memory), self._is_collapsed(memory)
        is_known = memory["has_before"] & (dt <= MOST_GROWTH * dt_before)
        is_known &= ~is_rescued[body.part]
        fastest = MOST_DEFORMED * body.size / dt
        forget_fastest(state.x, state.v, body.mass, body.part, body.part_count, fastest, is_known)
        frames = find_frames(
            state.x,
            state.v,
            (x_before, v_before, memory["turn_before"].copy(), dt_before),
            is_known,
            body.mass,
            body.part,
            pins.is_free & ~is_collapsed,
            SLOWEST_TURN,
            FASTEST_TURN,
            dt,
        )
        shapes = ((count, 3), count, *5 * ((count, 3),))
        made = Prediction(*(np.empty(shape) for shape in shapes), frames)
        predict(
            state.x,
            state.v,
            x_before,
            v_before,
            is_known,
            body.mass,
            body.part,
            dt,
            dt_before,
            made,
        )
        return made

    def advance(
        self, state: State, x_before, u, prediction, increment: Increment, pins, pressed, dt: float
    ) -> NDArray[np.bool_]:
        """Velocities and memory at the end of a step, and the turn and the momenta of untouched parts mended."""
        body, memory, frames = self.body, state.memory, prediction.frames
        v = np.empty_like(u)
        find_velocities(prediction, increment.x, u, body.mass, body.part, v)
        # What is led moves as it was moved in this very step.
        is_led = pins.projection.fixed.reshape(-1, 3).any(axis=1)
        v[is_led] = (state.x - x_before)[is_led] / dt
        is_untouched = pins.is_flying & (body.air_drag == 0.0) & ~self._is_collapsed(memory)
        if pressed is not None:
            is_untouched[body.part[pressed.rows[pressed.weights != 0.0]]] = False
        turned = frames.turn
        if turned.any():
            turned = mend_turns(frames, increment.x, body.mass, body.part, is_untouched, state.x)
        if is_untouched.any():
            before = v.copy()
            keep_momenta(
                x_before,
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
        memory["x_before"][:], memory["v_before"][:] = x_before, state.v
        memory["has_before"][:], memory["dt_before"][...] = ~is_led, dt
        memory["turn_before"][:] = turned
        if pressed is not None and pressed.is_struck.any():
            change = np.zeros_like(v)
            blows = fast_strikes(pressed, state.v, self.gravity, dt)
            stop_strikes(blows, body.mass, prediction.step, v, change)
            state.v[:] = v
            self.forget(state, change, prediction, increment)
        state.v[:] = v
        return is_untouched

    def forget(self, state: State, change, prediction: Prediction, increment: Increment) -> None:
        """Leave out of the history what struck contacts changed the velocities by in a step, (n, 3) [m/s].

        Struck nodes get a past with no forces but loads, for those from inside answered the blow. What they were
        together is taken out of the history of the whole part, or its momenta would change by it.
        """
        body, memory = self.body, state.memory
        x_before, v_before, dt = (memory[name] for name in ("x_before", "v_before", "dt_before"))
        v, load = state.v, increment.load - prediction.load
        struck = np.flatnonzero(change.any(axis=1))
        past = v[struck] - dt * load[struck] / body.mass[struck, None]
        uneven = np.zeros_like(v)
        uneven[struck] = past - v_before[struck] - change[struck]
        v_before[struck] = past
        centre, velocity, spin = rigid_motion(
            state.x, uneven, body.mass, body.part, body.part_count
        )
        add_rigid_motion(state.x, centre, velocity, spin, body.part, -1.0, v_before)
        x_before[struck] = state.x[struck] - 0.5 * dt * (v + v_before)[struck]
        _, _, spin = rigid_motion(x_before, v_before, body.mass, body.part, body.part_count)
        parts = np.unique(body.part[struck])
        memory["turn_before"][parts] = dt * spin[parts]

    def shift(self, state: State, way) -> None:
        """Move a state by (n, 3) [m] that is no motion."""
        super().shift(state, way)
        state.memory["x_before"] += way

    def disturb(self, state: State, change, nodes) -> None:
        """Take note that velocities changed (n, 3) [m/s] by no force, and of nodes whose history is of no use."""
        memory = state.memory
        memory["v_before"] += change
        memory["x_before"] -= memory["dt_before"] * change
        memory["has_before"][nodes] = False

    def _is_rescued(self, memory: Memory):
        """Whether each part has elements that are being rescued, or is pulled with all of its body, shape (parts,)."""
        if is_helpless(memory):
            return np.ones(self.body.part_count, np.bool_)
        return parts_of(self.body, are_rescued(self.body, memory))

    def _is_collapsed(self, memory: Memory):
        """Whether each part has collapsed elements, or is pulled, shape (parts,): it may have next to no inertia."""
        return self._is_rescued(memory) | parts_of(self.body, memory["collapse_pair"] != 0)

    def _start(self, state, prediction):
        x = state.x + prediction.turned if prediction.turned.any() else state.x
        return x, prediction.drift, prediction.load

    def _ahead(self, prediction):
        return prediction.ahead

    def _wells(self, v, prediction, dt):
        body, count = self.body, len(v)
        drag = self._drag(v) if body.air_drag > 0.0 else np.zeros(count)
        weight, centre = np.empty(count), np.empty((count, 3))
        find_wells(prediction, body.mass, body.mass_damping, drag, self.wind, weight, centre)
        return weight, centre


def fast_strikes(contacts: PressedContacts, v, gravity, dt: float) -> PressedContacts:
    """The same contacts, of which only those are struck that came faster than what falls for a step of dt [s].

    v: velocities before it (n, 3) [m/s]. Others only come back to what they lie on; stopped each time, they would go on
    doing so for ever.
    """
    speed = parted(contacts.weights, contacts.rows, v) - contacts.velocity
    is_blow = -dots(speed, contacts.normal) > np.linalg.norm(gravity) * dt
    return contacts._replace(is_struck=contacts.is_struck & is_blow)
