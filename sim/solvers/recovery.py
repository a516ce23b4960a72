"""What a body does about elements that stay inside out: it pays for their energy, is calmed, and at last is pulled.

`recovery_kernels` says why. Of a body's memory this uses what `Newton` describes.
"""

import numpy as np

from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.elasticity import follow_degeneration
from jellycage.sim.soft.state import Memory, State
from jellycage.sim.solvers.newton import Newton
from jellycage.sim.solvers.recovery_kernels import calm, cancel_torque, unfolded

PATIENCE = 0.1  # how long a body may have degenerate elements before it is calmed [s]
CALMING = 0.1  # time in which the velocities of its deformation then fall to 1/e [s]
PAYING = (
    0.05  # the same, of a debt that is being paid: a shrunk body at rest must be able to grow [s]
)
HELPLESS = 0.5  # after this time its nodes are also pulled to where they belong [s]
LONGEST_TIME = 1.0  # that is remembered, and when the pull is greatest [s]
CONFIDENCE = 0.5  # how fast a sound body is trusted again, in times of the time that it was not
WARINESS = 0.05  # the same below PATIENCE: a body that swings through itself again and again is calmed in the end
PULL = 20.0  # rate of the pull at its greatest [rad/s]


def recover(body: SoftBody, newton: Newton, x_before, state: State, is_free, dt: float) -> int:
    """New frames for degenerate elements, without the spin and the energy that they would give the body.

    newton has just solved the step of dt [s] from x_before (n, 3) to the state. Returns how many points are collapsed.
    """
    memory, energy = state.memory, newton.elastic_energy
    cancel_torque(
        state.x, newton.solution.elastic_force, body.mass, body.part, is_free, dt, state.v
    )
    collapsed = follow_degeneration(body, x_before, state.x, dt, memory)
    newton.evaluate(state.x, [memory])
    # What motion cannot pay at once stays owed.
    debt = max(memory["recovery_debt"][()] + newton.elastic_energy - energy, 0.0)
    is_calmed = memory["recovery_time"] > PATIENCE
    fraction = 1.0 - np.exp(-2.0 * dt / CALMING) if is_calmed else 0.0
    most = 1.0 - np.exp(-2.0 * dt / PAYING)
    memory["recovery_debt"][...] = calm(
        state.x, body.mass, body.part, len(is_free), fraction, most, debt, state.v
    )
    return collapsed


def count_time(memory: Memory, collapsed: int, dt: float) -> None:
    """Add a step of dt [s] to the time that a body has had collapsed points, or take some of it away."""
    trust = CONFIDENCE if memory["recovery_time"] > PATIENCE else WARINESS
    time = memory["recovery_time"] + (dt if collapsed else -trust * dt)
    memory["recovery_time"][...] = min(max(time, 0.0), LONGEST_TIME)


def is_helpless(memory: Memory) -> bool:
    """Whether a body has been inside out for so long that it must be pulled."""
    return memory["recovery_time"] > HELPLESS


def pulled(body: SoftBody, state: State, weight, centre, load):
    """Wells (weight, centre) with a pull to the unfolded shape, where the body would be without elasticity."""
    rate = PULL * (state.memory["recovery_time"] - HELPLESS) / (LONGEST_TIME - HELPLESS)
    free = state.x + centre + load / weight[:, None]
    goals = unfolded(free, body.elements.nodes, body.mass, body.part, body.part_count)
    pull = body.mass * rate * rate
    both = weight + pull
    moved = (weight[:, None] * centre + pull[:, None] * (goals - state.x)) / both[:, None]
    return both, moved
