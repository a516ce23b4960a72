"""Contacts that close stop what they struck, and leave no rebound in the history of BDF2."""

import numpy as np
import pytest
from contact_scenes import block, momentum, slope, states

from jellycage import sim
from jellycage.sim.contact.strikes_kernels import SETTLED, PressedContacts, stop_strikes

NO_GRAVITY = (0.0, 0.0, 0.0)


def some_contacts(rng, count=4, nodes=24, friction=0.3):
    """Points of three nodes each, that stick and slip by turns; all but the last are struck."""
    normal = rng.normal(size=(count, 3))
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    along = np.cross(normal, rng.normal(size=(count, 3)))
    along /= np.linalg.norm(along, axis=1)[:, None]
    pressure = rng.uniform(1.0, 5.0, count)
    return PressedContacts(
        rows=rng.permuted(np.tile(np.arange(nodes), (count, 1)), axis=1)[:, :3].copy(),
        weights=rng.dirichlet(np.ones(3), count),
        normal=normal,
        velocity=rng.normal(size=(count, 3)),
        force=pressure[:, None] * (normal - friction * along),
        pressure=pressure,
        restitution=np.zeros(count),
        is_sticking=np.arange(count) % 2 == 0,
        is_struck=np.arange(count) < count - 1,
    )


def stopped(contacts, mass, step, v):
    """What `stop_strikes` tends to, by one dense solve: (velocities, what contacts changed them by)."""
    pushes, probes, wanted, change = [], [], [], np.zeros(v.size)
    for c in np.flatnonzero(contacts.is_struck):
        stencil = np.zeros((3, len(v), 3))  # velocity of the point from those of the nodes
        for n, w in zip(contacts.rows[c], contacts.weights[c], strict=True):
            stencil[:, n] += w * np.eye(3)
        stencil = stencil.reshape(3, -1)
        pressed = stencil.T @ contacts.force[c]
        change += np.repeat(step / mass, 3) * pressed
        is_sticking = contacts.is_sticking[c]
        ways = np.eye(3) if is_sticking else contacts.force[c][None] / contacts.pressure[c]
        seen = np.eye(3) if is_sticking else contacts.normal[c][None]
        pushes.append(ways @ stencil)
        probes.append(seen @ stencil)
        wanted.append(seen @ contacts.velocity[c])
    pushes, probes = np.concatenate(pushes), np.concatenate(probes)
    reach = pushes.T / np.repeat(mass, 3)[:, None]
    impulse = np.linalg.solve(probes @ reach, np.concatenate(wanted) - probes @ v.ravel())
    blow = (reach @ impulse).reshape(v.shape)
    return v + blow, change.reshape(v.shape) + blow


@pytest.mark.parametrize("seed", range(5))
def test_blows_in_turn_come_to_those_of_one_solve(seed):
    rng = np.random.default_rng(seed)
    contacts, mass, step = some_contacts(rng), rng.uniform(1.0, 2.0, 24), rng.uniform(0.5, 1.0, 24)
    v, change = rng.normal(size=(24, 3)), np.zeros((24, 3))
    expected = stopped(contacts, mass, step, v)
    stop_strikes(contacts, mass, step, v, change)
    np.testing.assert_allclose(v, expected[0], atol=20.0 * SETTLED)
    np.testing.assert_allclose(change, expected[1], atol=20.0 * SETTLED)


def test_contacts_that_were_pressed_before_give_no_blow():
    rng = np.random.default_rng(0)
    contacts = some_contacts(rng)._replace(is_struck=np.zeros(4, bool))
    v, change = rng.normal(size=(24, 3)), np.zeros((24, 3))
    before = v.copy()
    stop_strikes(contacts, np.ones(24), np.ones(24), v, change)
    np.testing.assert_array_equal(v, before)
    np.testing.assert_array_equal(change, 0.0)


def test_a_sliding_blow_has_friction_times_its_push():
    """On a plane at rest, with 0.3 as much along it as across."""
    rng = np.random.default_rng(1)
    contacts = some_contacts(rng, count=2)._replace(
        is_sticking=np.zeros(2, bool), velocity=np.zeros((2, 3))
    )
    mass, v, change = rng.uniform(1.0, 2.0, 24), rng.normal(size=(24, 3)), np.zeros((24, 3))
    before = v.copy()
    stop_strikes(contacts, mass, np.zeros(24), v, change)
    np.testing.assert_allclose(change, v - before, atol=1e-14)
    impulse = (mass[:, None] * change).sum(axis=0)
    push = impulse @ contacts.normal[0]
    across = np.linalg.norm(impulse - push * contacts.normal[0])
    assert across == pytest.approx(0.3 * abs(push), rel=1e-9)


@pytest.mark.parametrize("kind", ["tets", "hexes"])
@pytest.mark.parametrize("dt", [0.01, 0.005])
def test_what_is_stopped_dead_does_not_come_up_again(kind, dt):
    """A stiff cube that swallows every wave; Gear's formula alone gives it half its speed back."""
    body = block(
        kind,
        (1, 1, 1),
        young_modulus=1e8,
        damping_ratio=5.0,
        bottom=(0.0, 0.0, 0.1),
        velocity=(0.0, 0.0, -3.0),
    )
    run = list(states(body, [sim.ground()], 30, dt))
    rising = max(momentum(body, state)[2] for state in run) / body.mass.sum()
    assert rising < 0.05 * 3.0


@pytest.mark.parametrize("kind", ["tets", "hexes"])
def test_a_blow_without_friction_is_along_the_normal(kind):
    """Whatever the body does inside: what is lost along the plane is no more than a thousandth."""
    plane, normal, down = slope(np.radians(20.0), friction=0.0)
    body = block(
        kind, bottom=0.3 * normal, normal=normal, velocity=5.0 * down - 4.0 * normal, friction=0.0
    )
    run = list(states(body, [plane], 60, 0.01, gravity=NO_GRAVITY))
    gained = np.array([momentum(body, state) for state in run]) / body.mass.sum()
    assert gained[-1] @ normal > 0.0
    np.testing.assert_allclose(gained @ down, 5.0, rtol=1e-3)
    np.testing.assert_allclose(gained[:, 1], 0.0, atol=5e-3)


def test_a_sliding_strike_loses_friction_times_what_it_was_stopped_by():
    """A fast cube on a rough floor without gravity: mu times the change across is what it loses along."""
    body = block(
        "hexes",
        (1, 1, 1),
        bottom=(0.0, 0.0, 0.02),
        velocity=(20.0, 0.0, -1.0),
        young_modulus=1e7,
        damping_ratio=1.0,
    )
    run = list(states(body, [sim.ground(friction=0.5)], 20, 0.005, gravity=NO_GRAVITY))
    lost = np.array([20.0, 0.0, -1.0]) - momentum(body, run[-1]) / body.mass.sum()
    assert lost[0] == pytest.approx(-0.5 * lost[2], rel=0.02)
