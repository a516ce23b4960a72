"""What a body does about elements that stay inside out: it pays for their energy, is calmed, and at last is pulled.

And what it does about nodes that outrun their material, which is torn by that or turned inside out: it is slowed down.

`recovery_kernels` says why. Of a body's memory this uses what `Newton` describes.
"""

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.contact.impacts import is_under_blow
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.degeneration_kernels import PATIENCE as POINT_PATIENCE
from jellycage.sim.soft.degeneration_kernels import SOUND
from jellycage.sim.soft.elasticity import determinants, follow_degeneration
from jellycage.sim.soft.state import Memory, State
from jellycage.sim.solvers.newton import Newton
from jellycage.sim.solvers.pin_holding import PinsInStep
from jellycage.sim.solvers.recovery_kernels import (
    calm,
    cancel_torque,
    slow_down,
    unfolded,
)
from jellycage.sim.solvers.rigid_motion_kernels import (
    add_rigid_motion,
    keep_momenta,
    rigid_motion,
)

PATIENCE = 0.1  # how long a body may have degenerate elements before it is calmed [s], or
MOST_PATIENCE = 0.3  # after a blow, if it is so soft that waves take as long to cross it
CALMING = 0.1  # time in which the velocities of its deformation then fall to 1/e [s]
PAYING = (
    0.05  # the same, of a debt that is being paid: a shrunk body at rest must be able to grow [s]
)
LONGEST_LED = 0.15  # that elements between pins are taken to have been inside out [s]
MOST_GAIN = 1.5  # of kinetic energy, to keep momenta: more is asked for by a part that has shrunk
HELPLESS = 0.5  # after this time its nodes are also pulled to where they belong [s]
LONGEST_TIME = 1.5  # that is remembered [s]
SQUEEZED = 1.05  # and that points which are rescued, but not inside out, add up to [s]
CONFIDENCE = 0.5  # how fast a sound body is trusted again, in times of the time that it was not
WARINESS = 0.05  # the same below PATIENCE: a body that swings through itself again and again is calmed in the end
RELIEF = 0.1  # time in which all that falls to 1/e in a body that has all of its volume again [s]
PULL = 40.0  # how fast the rate of the pull grows [rad/s^2]
GREATEST_PULL = 20.0  # what it grows to [rad/s]
# Folded parts that no pin holds are pulled harder: by a share of the rate at which their elements swing.
FIRST_SHARE = 0.016
DOUBLING = 0.1  # time in which that grows as much again, until nothing resists [s]
# Nodes that outrun the waves of their material tear it to as many times its size: none does, and then it cannot stray.
FASTEST_FLYING = 9.0  # wave speeds at which nodes move against their part: a blow at two flings light ones at six
FASTEST_HELD = 2.5  # and against its pins
FARTHEST = 0.5  # sizes that they go so in a step
TOUCHED_SHARE = 1.0  # greatest where something touches the part: more would push it through a press


def recover(
    body: SoftBody, newton: Newton, before: State, state: State, pins: PinsInStep, is_kept, load, dt
) -> int:
    """New frames for degenerate elements, without the spin and the energy that they would give the body.

    newton has just solved the step of dt [s] from a state before to this one under loads (n, 3) [N]; is_kept: which
    parts (c,) have the angular momentum that they should have. Returns how many points are collapsed.
    """
    is_free = pins.is_free & ~is_kept
    memory, energy = state.memory, newton.elastic_energy
    cancel_torque(
        state.x, newton.solution.elastic_force, body.mass, body.part, is_free, dt, state.v
    )
    is_alone = pins.is_flying & ~is_kept & ~memory["is_touched"] & (body.air_drag == 0.0)
    if is_alone.any():
        _keep_momenta(body, before, state, is_alone, load, dt)
    collapsed = follow_degeneration(body, before.x, state.x, dt, memory)
    _yield_to_pins(body, pins, memory)
    newton.evaluate(state.x, [memory])
    # What motion cannot pay at once stays owed.
    debt = max(memory["recovery_debt"][()] + newton.elastic_energy - energy, 0.0)
    is_calmed = memory["recovery_time"] > patience_with(body, memory)
    fraction = 1.0 - np.exp(-2.0 * dt / CALMING) if is_calmed else 0.0
    most = 1.0 - np.exp(-2.0 * dt / PAYING)
    debt = calm(state.x, body.mass, body.part, len(is_free), fraction, most, debt, state.v)
    if debt > 0.0 and not pins.is_free.all():
        debt = _pay(body, pins, most, debt, state.v)
    memory["recovery_debt"][...] = debt
    return collapsed


def _yield_to_pins(body: SoftBody, pins: PinsInStep, memory: Memory) -> None:
    """Let elements that pins hold inside out not be rescued harder and harder: they would only keep the pins away."""
    if pins.is_led.any():
        is_led = pins.is_led[body.elements.corners].any(axis=1)
        time = memory["degenerate_time"].reshape(len(is_led), -1)
        time[is_led] = np.minimum(time[is_led], LONGEST_LED)


def _keep_momenta(body: SoftBody, before: State, state: State, is_alone, load, dt: float) -> None:
    """Give the parts (c,) that nothing touches the momenta that loads (n, 3) [N] leave them.

    A step of implicit Euler changes angular momentum by dt sum of m v_before x v: nodes that turn round in it spin the
    part up. One that shrank to nearly nothing has no room for what it had, and is left as it is.
    """
    mass, part, count = body.mass, body.part, body.part_count
    v = state.v.copy()
    keep_momenta(before.x, before.v, state.x, load, mass, part, is_alone, body.mass_damping, dt, v)
    then, now, kept = (
        np.bincount(part, mass * (motion * motion).sum(axis=1), count)
        for motion in (before.v, state.v, v)
    )
    is_mended = (kept <= MOST_GAIN * np.maximum(then, now))[part]
    state.v[is_mended] = v[is_mended]


def _pay(body: SoftBody, pins: PinsInStep, most: float, debt: float, out_v) -> float:
    """Take a debt [J] from all motion of parts on hard pins against those, at most a fraction of its energy.

    On a leash, motion as a whole is vibration too, and none of its momenta is kept. Returns what is still owed.
    """
    is_led = pins.projection.fixed.reshape(-1, 3).any(axis=1)
    is_led[pins.projection.basis_dof // 3] = True
    led = np.flatnonzero(is_led)
    lead = np.zeros((body.part_count, 3))
    np.add.at(lead, body.part[led], body.mass[led, None] * out_v[led])
    held = np.bincount(body.part[led], body.mass[led], body.part_count)
    lead /= np.where(held > 0.0, held, 1.0)[:, None]
    rows = np.flatnonzero(~pins.is_free[body.part] & ~is_led)
    lead = lead[body.part[rows]]
    motion = out_v[rows] - lead
    kinetic = 0.5 * float(body.mass[rows] @ (motion * motion).sum(axis=1))
    if kinetic <= 0.0:
        return debt
    paid = min(debt, most * kinetic)
    out_v[rows] = lead + np.sqrt(1.0 - paid / kinetic) * motion
    return debt - paid


def restrain(body: SoftBody, state: State, pins: PinsInStep, dt: float):
    """Let no part deform faster than the waves of its material, or steps of dt [s], could ever follow.

    Returns by how much that changed the velocities, shape (n, 3) [m/s], or None.
    """
    before = state.v.copy()
    fastest = body.wave_speed * np.where(pins.is_flying, FASTEST_FLYING, FASTEST_HELD)
    fastest = np.minimum(fastest, FARTHEST * body.size / dt) + pins.paces
    is_slowed = slow_down(
        state.x,
        body.mass,
        body.part,
        pins.is_flying,
        pins.drifting,
        pins.pace,
        fastest,
        state.v,
    )
    return state.v - before if is_slowed else None


def count_time(body: SoftBody, state: State, collapsed: int, dt: float) -> None:
    """Add a step of dt [s] to the time that a body has had collapsed points, or take some of it away.

    Points that are still being rescued count half up to a time: they may be stuck in a fold, or would fall back for
    ever, but may also be squeezed for good. Those that were rescued are trusted slowly, and with the body; but soon
    where all of it has its volume again and comes to rest, for then there is no fold.
    """
    memory = state.memory
    before = memory["recovery_time"][()]
    patience = patience_with(body, memory)
    trust = CONFIDENCE if before > patience else WARINESS
    time = before - trust * dt
    is_degenerate = memory["collapse_pair"] != 0
    if collapsed:
        time = before + dt
    elif before > patience and is_sound(body, state):
        fading = np.exp(-dt / RELIEF)
        time = before * fading
        rescued = memory["degenerate_time"]
        np.maximum(
            rescued * fading, np.minimum(rescued, POINT_PATIENCE), out=rescued, where=is_degenerate
        )
        memory["recovery_debt"] *= fading
    elif is_degenerate.any():
        time = min(before + 0.5 * dt, SQUEEZED) if before < SQUEEZED else max(time, SQUEEZED)
    memory["recovery_time"][...] = min(max(time, 0.0), LONGEST_TIME)
    if time <= 0.0:
        memory["recovery_debt"][...] = 0.0
    if before > 0.0:
        rescued = memory["degenerate_time"]
        rescued[~is_degenerate] -= WARINESS * dt if time > 0.0 else np.inf
        np.maximum(rescued, 0.0, out=rescued)


def is_sound(body: SoftBody, state: State) -> bool:
    """Whether all of a body has its volume, and is too slow to turn itself inside out."""
    if determinants(body, state.x).min() <= SOUND:
        return False
    centre, velocity, spin = rigid_motion(state.x, state.v, body.mass, body.part, body.part_count)
    moving = state.v.copy()
    add_rigid_motion(state.x, centre, velocity, spin, body.part, -1.0, moving)
    return float((moving * moving).sum(axis=1).max()) < body.wave_speed**2


def patience_with(body: SoftBody, memory: Memory) -> float:
    """How long a body may have degenerate elements before it is calmed [s]."""
    if is_under_blow(body, memory):
        return min(max(body.length / body.wave_speed, PATIENCE), MOST_PATIENCE)
    return PATIENCE


def is_helpless(memory: Memory) -> bool:
    """Whether a body has been inside out for so long that it must be pulled."""
    return memory["recovery_time"] > HELPLESS


def pulled(body: SoftBody, state: State, is_flying, weight, centre, load):
    """Wells (weight, centre) with a pull to the unfolded shape, where the body would be without elasticity.

    is_flying: whether no pin holds each part; only those are pulled harder and harder while they are folded.
    """
    time = state.memory["recovery_time"] - HELPLESS
    rate = np.full(body.part_count, min(PULL * time, GREATEST_PULL))
    is_folded = is_flying & parts_of(body, state.memory["collapse_pair"] != 0)
    own = np.sqrt(body.stiffness_scale.sum() / body.mass.sum())
    share = np.full(body.part_count, FIRST_SHARE * (2.0 ** (time / DOUBLING) - 1.0))
    share[state.memory["is_touched"]] = min(share[0], TOUCHED_SHARE)
    rate[is_folded] += own * share[is_folded]
    free = state.x + centre + load / weight[:, None]
    goals = unfolded(free, body.elements.nodes, body.mass, body.part, body.part_count)
    pull = body.mass * (rate * rate)[body.part]
    both = weight + pull
    moved = (weight[:, None] * centre + pull[:, None] * (goals - state.x)) / both[:, None]
    return both, moved


def parts_of(body: SoftBody, points: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each part of a body has an element with one of the quadrature points (q,), shape (parts,)."""
    corners = body.elements.corners
    result = np.zeros(body.part_count, np.bool_)
    if points.any():
        element = np.flatnonzero(points) // (len(points) // len(corners))
        result[body.part[corners[element, 0]]] = True
    return result
