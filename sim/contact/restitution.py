"""Restitution: with at least which share of its speed a part leaves what it struck.

An episode lasts from the step in which a part first touches something to the one in which it is let go of. Its normal
n is the direction of all that the contacts gave, v_in the speed of the part's centre along n before the first of them,
against the places that it touched. A part leaves, or would leave if its weight did not hold it, when it no longer
comes nearer and the contacts give no more than its weight. If it is slower then than e v_in, it gets what is missing,
all of its nodes the same, as far as the episode has lost the energy for it. So the part's own elasticity counts, how
the time is cut up does not, and a greater e never makes it slower.
"""

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.contact.candidates import dots
from jellycage.sim.contact.strikes_kernels import PressedContacts
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.state import Memory, State

FREE, TOUCHING, DONE = range(3)  # stages of an episode
STILL_COMING = 0.1  # of the speed of arrival: slower than this a part no longer comes nearer
HELD = 1.5  # weights that a part is pressed with at most when it is let go of


class Restitution:
    """Of the parts of one body.

    A memory has for each part its `bounce_stage`, and of the episode `bounce_arrival`, velocity of the centre before it
    [m/s], `bounce_energy`, energy before it and what loads have done since [J], `bounce_load`, impulse of the loads
    [N s], and `bounce_push`: impulse of the contacts, its part along their normals, and that times the velocity of
    their places and times restitution. Of the body it has `bounce_elastic`, the elastic energy after the last step [J].
    """

    def __init__(self, body: SoftBody, slowest: float):
        """slowest: speed of arrival that makes no episode [m/s]."""
        self.body, self.slowest = body, slowest
        self.mass = np.bincount(body.part, body.mass)

    @staticmethod
    def start_memory(body: SoftBody) -> Memory:
        """What is remembered of a body at its start."""
        parts = body.part_count
        return {
            "bounce_stage": np.zeros(parts, np.int8),
            "bounce_arrival": np.zeros((parts, 3)),
            "bounce_energy": np.zeros(parts),
            "bounce_load": np.zeros((parts, 3)),
            "bounce_push": np.zeros((parts, 8)),
            "bounce_elastic": np.zeros(()),
        }

    def change(
        self,
        before: State,
        state: State,
        pressed: PressedContacts | None,
        load: NDArray[np.float64],
        elastic: float,
        dt: float,
    ) -> NDArray[np.float64] | None:
        """What a step of dt [s] from one state to another adds to the velocity of each part [m/s], shape (parts, 3).

        load: forces from outside (n, 3) [N]; elastic: energy of the body after it [J]. None if there is nothing to add.
        Takes note of the step in the memory of the state.
        """
        memory, part = state.memory, self.body.part
        stage = memory["bounce_stage"]
        push = np.zeros((len(stage), 8))
        if pressed is not None:
            touching = part[pressed.rows[:, 0]]
            impulse = dt * pressed.pressure[:, None]
            given = np.hstack(
                [
                    dt * pressed.force,
                    impulse,
                    impulse * pressed.velocity,
                    impulse * pressed.restitution[:, None],
                ]
            )
            np.add.at(push, touching, given)
        is_pressed = push[:, 3] > 0.0
        begins = is_pressed & (stage == FREE)
        if begins.any():
            velocity, energy = self._motion(before.v, memory["bounce_elastic"])
            memory["bounce_arrival"][begins] = velocity[begins]
            memory["bounce_energy"][begins] = energy[begins]
            for name in ("bounce_load", "bounce_push"):
                memory[name][begins] = 0.0
            stage[begins] = TOUCHING
        memory["bounce_elastic"][...] = elastic
        if not stage.any():
            return None
        memory["bounce_push"] += push
        work = (load * (state.x - before.x)).sum(axis=1)
        weight = self._sums(load)
        memory["bounce_energy"] += np.bincount(part, work)
        memory["bounce_load"] += dt * weight
        change = self._missing(state, push, weight, elastic, dt)
        # What was let go of is free again; what is still coming is on its way into the same episode.
        stage[(stage == DONE) & ~is_pressed] = FREE
        return change

    def _missing(self, state, push, weight, elastic, dt):
        """What the parts that leave in this step lack, and mark them."""
        memory = state.memory
        stage, total = memory["bounce_stage"], memory["bounce_push"]
        sums = np.maximum(total[:, 3:4], np.finfo(float).tiny)
        place, e = total[:, 4:7] / sums, total[:, 7] / sums[:, 0]
        normal = total[:, :3] / np.maximum(np.linalg.norm(total[:, :3], axis=1), 1e-300)[:, None]
        velocity, energy = self._motion(state.v, elastic)
        v_in = -dots(memory["bounce_arrival"] - place, normal)
        v_out = dots(velocity - place, normal)
        pressed = dots(push[:, :3], normal) / dt
        leaves = (stage == TOUCHING) & (v_out > -STILL_COMING * v_in)
        leaves &= pressed <= HELD * np.maximum(-dots(weight, normal), 0.0)
        stage[leaves] = DONE
        # In the space of the places; energies of motion change by p.u - m u^2 / 2 from one to the other.
        arrived = memory["bounce_energy"] - dots(
            self.mass[:, None] * memory["bounce_arrival"] + memory["bounce_load"], place
        )
        lost = arrived - (energy - dots(self.mass[:, None] * velocity, place))
        most = np.sqrt(np.maximum(v_out, 0.0) ** 2 + 2.0 * np.maximum(lost, 0.0) / self.mass)
        lacks = leaves & (v_in > self.slowest) & (v_out < np.minimum(e * v_in, most))
        if not lacks.any():
            return None
        return np.where(lacks, np.minimum(e * v_in, most) - v_out, 0.0)[:, None] * normal

    def _motion(self, v, elastic: float):
        """Velocity of the centre (parts, 3), and energy of each part; elastic energy is known of a whole body only."""
        kinetic = 0.5 * np.bincount(self.body.part, self.body.mass * (v * v).sum(axis=1))
        if len(kinetic) == 1:
            kinetic += elastic
        return self._sums(self.body.mass[:, None] * v) / self.mass[:, None], kinetic

    def _sums(self, vectors):
        """Of the nodes of each part, shape (parts, 3)."""
        return np.stack([np.bincount(self.body.part, column) for column in vectors.T], axis=1)
