"""No body deforms faster than its material can follow, so none is torn to many times its size; others are let be."""

import numpy as np
import pytest
from beams import beam_hexes, beam_tets
from random_scenes import run_scene
from stepping import OneBody

from jellycage import sim
from jellycage.sim.solvers import recovery
from jellycage.sim.solvers.methods import INTEGRATORS
from jellycage.sim.solvers.recovery_kernels import slow_down

WITHIN = 5.0  # sizes of the body


def moving(seed=0, parts=2):
    """Nodes, masses, parts and velocities at random."""
    rng = np.random.default_rng(seed)
    x, v = rng.normal(size=(2, 20 * parts, 3))
    return x, rng.uniform(0.5, 2.0, len(x)), np.repeat(np.arange(parts), 20), v


def slowed(x, mass, part, v, fastest, *, is_flying=(True, True), drifting=None, pace=None):
    """Velocities after `slow_down`, and what it returned."""
    result, count = v.copy(), len(is_flying)
    drifting = np.zeros((count, 6)) if drifting is None else drifting
    pace = np.zeros((count, 3)) if pace is None else pace
    is_slowed = slow_down(
        x, mass, part, np.array(is_flying), drifting, pace, np.array(fastest), result
    )
    return result, is_slowed


def test_flying_parts_keep_their_momenta():
    x, mass, part, v = moving()
    found, is_slowed = slowed(x, mass, part, v, [0.5, 0.5])
    assert is_slowed
    for own in (part == 0, part == 1):
        before, after = (mass[own, None] * motion[own] for motion in (v, found))
        np.testing.assert_allclose(after.sum(axis=0), before.sum(axis=0), atol=1e-12)
        turning = [np.cross(x[own], momentum).sum(axis=0) for momentum in (before, after)]
        np.testing.assert_allclose(turning[1], turning[0], atol=1e-12)
        assert np.abs(found[own] - v[own]).max() > 0.1


def test_only_the_part_that_is_too_fast_is_slowed():
    x, mass, part, v = moving()
    found, _ = slowed(x, mass, part, v, [0.5, 100.0])
    np.testing.assert_array_equal(found[part == 1], v[part == 1])


def test_slow_motion_is_left_alone_to_the_bit():
    x, mass, part, v = moving()
    found, is_slowed = slowed(x, mass, part, v, [100.0, 100.0])
    assert not is_slowed
    np.testing.assert_array_equal(found, v)


def test_held_parts_are_slowed_against_their_pins_but_not_along_their_rails():
    x, mass, part, v = moving(parts=1)
    pace, rail = np.array([[3.0, 0.0, 0.0]]), np.array([[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    v += [0.0, 50.0, 40.0]
    found, _ = slowed(x, mass, part, v, [2.0], is_flying=[False], drifting=rail, pace=pace)
    mean = mass @ v[:, 2] / mass.sum()
    away = np.linalg.norm(found - [3.0, 0.0, mean], axis=1)
    assert away.max() == pytest.approx(2.0)
    assert mass @ found[:, 2] / mass.sum() == pytest.approx(mean)


@pytest.mark.slow
@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("build", [beam_tets, beam_hexes], ids=["tets", "hexes"])
def test_a_body_that_starts_four_times_too_large_does_not_swing_far(build, integrator):
    """Its energy of volume, let loose in one direction, would stretch it to twenty times its size."""
    cage = sim.Cage(*build(1, 1, 1, (0.2, 0.2, 0.2)))
    rng = np.random.default_rng(3)
    start = 4.0 * cage.cage_nodes + rng.normal(scale=0.02, size=cage.cage_nodes.shape)
    body = sim.SoftBody(cage, sim.NeoHookean(3e3, 0.1, 1800.0), start=start, quadrature=8)
    settings = sim.SolverSettings(integrator=integrator)
    run = OneBody(body, 4e-4, settings, gravity=(0.0, 0.0, 0.0))
    for _ in range(1500):
        run.step()
        assert np.ptp(run.x, axis=0).max() < WITHIN * body.size


@pytest.mark.slow
@pytest.mark.parametrize("seed", [20147, 26047])
def test_a_soft_body_is_not_flung_away_by_pins_that_jump(seed):
    assert run_scene(seed).stray < WITHIN


def test_a_body_that_is_led_faster_than_its_waves_is_as_fast_as_its_pins():
    cage = sim.Cage(*beam_tets(3, 1, 1, (0.6, 0.2, 0.2)))
    material = sim.NeoHookean(500.0, 0.3, 500.0)  # waves run at 1 m/s
    nodes = cage.cage_nodes

    def carried(time):
        return nodes + [20.0 * time, 0.0, 0.0]

    pin = sim.Pin(sim.node_points(np.arange(len(nodes))), target=carried)
    loose = np.flatnonzero(nodes[:, 0] < 0.3)
    leading = sim.Pin(sim.node_points(loose), target=lambda time: carried(time)[loose])
    for pins in ([pin], [leading]):
        body = sim.SoftBody(cage, material, pins=pins, velocity=(20.0, 0.0, 0.0))
        run = OneBody(body, 0.01, gravity=(0.0, 0.0, 0.0))
        for _ in range(50):
            run.step()
        np.testing.assert_allclose(run.x, carried(run.time), atol=1e-3)


def test_what_is_between_pins_that_are_faster_than_waves_is_left_alone(monkeypatch):
    """The tips of a windmill outrun them against the mean of its pins."""
    cage = sim.Cage(*beam_hexes(5, 1, 1, (2.0, 0.4, 0.4)))
    nodes, material = cage.cage_nodes, sim.NeoHookean(2e3, 0.3, 1000.0)  # waves run at 1.4 m/s
    ends = np.flatnonzero(np.abs(nodes[:, 0] - 1.0) > 0.99)
    centre = nodes.mean(axis=0)

    def turned(time):
        c, s = np.cos(8.0 * time), np.sin(8.0 * time)
        return centre + (nodes[ends] - centre) @ np.array([[c, s, 0.0], [-s, c, 0.0], [0, 0, 1]])

    pin = sim.Pin(sim.node_points(ends), target=turned)
    body, found = sim.SoftBody(cage, material, pins=[pin], spin=(0.0, 0.0, 8.0)), []
    for fastest in (recovery.FASTEST_HELD, np.inf):
        monkeypatch.setattr(recovery, "FASTEST_HELD", fastest)
        run = OneBody(body, 0.005, gravity=(0.0, 0.0, 0.0))
        for _ in range(40):
            run.step()
        found.append(run.x.copy())
    np.testing.assert_array_equal(*found)
