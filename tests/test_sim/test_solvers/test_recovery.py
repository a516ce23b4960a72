"""Helping a folded body must not push or spin it, and must leave alone what is only stretched."""

import numpy as np
import pytest
from beams import beam_tets
from random_scenes import random_scene, run_scene
from stepping import OneBody

from jellycage import sim
from jellycage.sim.contact.impacts import Impacts
from jellycage.sim.soft.degeneration_kernels import PATIENCE
from jellycage.sim.soft.elasticity import follow_degeneration
from jellycage.sim.soft.state import State
from jellycage.sim.solvers.methods import INTEGRATORS
from jellycage.sim.solvers.newton import Newton
from jellycage.sim.solvers.recovery import count_time
from jellycage.sim.solvers.recovery_kernels import unfolded


@pytest.fixture
def rest():
    return beam_tets(3, 2, 2, size=(3.0, 1.0, 1.0))[0]


def masses(count, seed=0):
    return np.random.default_rng(seed).uniform(0.5, 2.0, count)


@pytest.mark.parametrize("seed", range(5))
def test_the_unfolded_shape_has_the_same_momenta(rest, seed):
    """Centre and angular momentum of a pull by mass: sums of m (goal - x) and m x cross (goal - x) are zero."""
    mass = masses(len(rest), seed)
    x = rest + np.random.default_rng(seed).normal(scale=[0.2, 1.0, 3.0][seed % 3], size=rest.shape)
    pull = mass[:, None] * (unfolded(x, rest, mass, np.zeros(len(x), np.int64), 1) - x)
    scale = (mass[:, None] * np.abs(x)).sum()
    np.testing.assert_allclose(pull.sum(axis=0), 0.0, atol=1e-12 * scale)
    np.testing.assert_allclose(np.cross(x, pull).sum(axis=0), 0.0, atol=1e-11 * scale)


def test_a_body_that_is_only_stretched_is_where_it_belongs(rest):
    stretch = np.array([[1.5, 0.3, 0.0], [0.0, 1.2, 0.4], [0.1, 0.0, 2.0]])
    x = rest @ stretch.T + [5.0, -3.0, 2.0]
    found = unfolded(x, rest, masses(len(x)), np.zeros(len(x), np.int64), 1)
    np.testing.assert_allclose(found, x, atol=1e-12)


@pytest.mark.parametrize("kept", [2, 1, 0], ids=["plane", "line", "point"])
def test_a_collapsed_body_is_to_have_its_rest_shape(rest, kept):
    x = rest.copy()
    x[:, kept:] = 0.0
    found = unfolded(x, rest, masses(len(x)), np.zeros(len(x), np.int64), 1)
    distance = np.linalg.norm(found[:, None] - found[None], axis=2)
    expected = np.linalg.norm(rest[:, None] - rest[None], axis=2)
    np.testing.assert_allclose(distance, expected, atol=1e-9)


def test_a_torn_body_is_to_have_its_rest_shape(rest):
    """What scatters its nodes must not be pulled to a shape as large as that, by a pull that nothing resists."""
    found = unfolded(4.0 * rest, rest, masses(len(rest)), np.zeros(len(rest), np.int64), 1)
    np.testing.assert_allclose(np.ptp(found, axis=0), np.ptp(rest, axis=0), atol=1e-9)


def test_every_part_is_unfolded_on_its_own(rest):
    mass = masses(len(rest))
    x = rest + np.random.default_rng(1).normal(scale=0.3, size=rest.shape)
    alone = unfolded(x, rest, mass, np.zeros(len(x), np.int64), 1)
    both = unfolded(
        np.concatenate([x, x + 10.0]),
        np.concatenate([rest, rest]),
        np.concatenate([mass, mass]),
        np.repeat(np.arange(2), len(x)),
        2,
    )
    np.testing.assert_allclose(both, np.concatenate([alone, alone + 10.0]), atol=1e-9)


def test_a_sound_body_is_never_pulled():
    """Nothing shakes it, however much it swings."""
    body = sim.SoftBody(sim.Cage(*beam_tets(3, 2, 2)), sim.NeoHookean(1e4), spin=[3.0, 0.0, 0.0])
    run = OneBody(body, 0.02)
    for _ in range(50):
        run.step()
        assert run.memory["recovery_time"] == 0.0


@pytest.mark.parametrize("seed", [20053, 20076])
def test_a_folded_body_stiffer_than_a_gentle_pull_is_opened(seed):
    """Rescued elements fall back into a fold that neighbours hold: only a pull stronger than those opens it."""
    assert run_scene(seed).inverted == 0


@pytest.mark.parametrize("seed", [50081, 50177])
def test_a_body_that_starts_on_a_line_is_not_flung_apart(seed):
    """It has no inertia about the line, and must not be turned with the spin that would follow from that."""
    assert run_scene(seed).is_bounded


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_nodes_that_leap_through_each_other_do_not_spin_a_body_up(integrator):
    """Angular momentum of a body in the void, from just after the leap, while a third of it is inside out."""
    body, gravity, dt, _, _ = random_scene(20344)
    run = OneBody(body, dt, sim.SolverSettings(integrator=integrator), gravity=gravity)
    found = []
    while run.time < 0.2:
        run.step()
        if run.time > body.loads[0].time + dt:
            r = run.x - body.mass @ run.x / body.mass.sum()
            found.append(np.cross(r, body.mass[:, None] * run.v).sum(axis=0))
    assert (sim.determinants(body, run.x) <= 0.0).sum() > 0
    np.testing.assert_allclose(found[-1], found[0], atol=1e-6 * np.linalg.norm(found[0]))


def test_an_element_that_falls_back_is_rescued_at_once():
    nodes, tets = beam_tets(1, 1, 1)
    body, flat, dt = sim.SoftBody(sim.Cage(nodes, tets), sim.Corotated(1e4)), nodes.copy(), 0.01
    flat[:, 2] *= -0.1
    memory = Newton.start_memory(body) | Impacts.start_memory(body)
    time = memory["degenerate_time"]

    def go(x_from, x_to, steps):
        for _ in range(steps):
            collapsed = follow_degeneration(body, x_from, x_to, dt, memory)
            count_time(body, State(x_to, nodes, memory), collapsed, dt)
            x_from = x_to

    go(nodes, flat, 3)
    go(flat, nodes, 1)
    assert (time == 0.0).all()  # one that was no trouble is forgotten
    go(nodes, flat, 12)
    go(flat, nodes, 12)
    assert (memory["collapse_pair"] == 0).all()
    go(nodes, flat, 1)
    assert (time > PATIENCE).all()
    go(flat, nodes, 1000)
    assert (time == 0.0).all()


def test_a_body_that_has_all_of_its_volume_again_is_trusted_soon():
    """Or it would be pulled, and its elements rescuers, while it already flies and falls."""
    nodes, tets = beam_tets(1, 1, 1)
    body, flat, dt = sim.SoftBody(sim.Cage(nodes, tets), sim.NeoHookean(1e4)), nodes.copy(), 0.01
    flat[:, 2] *= -0.1
    state = State(
        nodes, np.zeros_like(nodes), Newton.start_memory(body) | Impacts.start_memory(body)
    )
    memory, before = state.memory, nodes

    def go(x, seconds):
        nonlocal before
        for _ in range(round(seconds / dt)):
            collapsed = follow_degeneration(body, before, x, dt, memory)
            count_time(body, State(x, state.v, memory), collapsed, dt)
            before = x

    go(flat, 1.0)
    memory["recovery_debt"][...] = 100.0
    go(0.75 * nodes, 0.5)  # 0.42 of the volume: still squeezed
    assert (memory["collapse_pair"] != 0).all() and memory["recovery_time"] > 0.9
    go(nodes, 0.5)
    assert (memory["collapse_pair"] == 0).all() and memory["recovery_time"] < 0.1
    go(nodes, 2.0)
    assert memory["recovery_time"] == 0.0 and memory["recovery_debt"] == 0.0


def test_a_folded_body_on_a_leash_comes_to_rest():
    """Frames of its elements give energy: swinging on its pins it must pay for that, or it swings for ever."""
    body, gravity, dt, end, _ = random_scene(20147)
    run, energy = OneBody(body, dt, gravity=gravity), []
    while run.time < end + 1.0:
        run.step()
        kinetic = 0.5 * float(body.mass @ (run.v**2).sum(axis=1))
        energy.append(kinetic + run.stepper.elastic_energy(0))
    assert energy[-1] < 0.1 * max(energy)
