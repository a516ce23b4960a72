"""Nothing explodes, and what is turned inside out comes back: a few of the scenes that `make verify` runs in full."""

import numpy as np
import pytest
from beams import beam_tets
from random_scenes import run_scene
from stepping import OneBody

from jellycage import sim
from jellycage.sim.materials import LAWS

SETTINGS = sim.SolverSettings(newton_iterations=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_violent_scene_stays_within_reach_and_comes_back(seed):
    outcome = run_scene(seed)
    assert outcome.is_bounded, outcome
    assert not outcome.error, outcome
    assert outcome.is_pinned or outcome.inverted == 0, outcome


@pytest.mark.slow
@pytest.mark.parametrize("integrator", ["bdf2", "implicit_euler"])
def test_crowded_hard_pins_do_not_throw_a_body_that_starts_mirrored(integrator):
    outcome = run_scene(20092, integrator)
    assert outcome.is_bounded and not outcome.error, outcome


@pytest.mark.slow
@pytest.mark.parametrize("seed", [91031, 91054, 91056, 91099])
def test_hardly_any_solid_does_not_let_corners_go(seed):
    """Pins tear at thin bars, of whose hexes some have corners that only they hold: 12 to 34 sizes without tethers."""
    outcome = run_scene(seed, is_in_lattice=True)
    assert outcome.stray < 2.0 and not outcome.error, outcome


def recovered(body, duration=5.0, dt=1 / 60, settings=SETTINGS):
    """First time without an inverted point [s], and inverted points at the end."""
    run = OneBody(body, dt, settings, gravity=(0, 0, 0))
    first = np.inf
    for step in range(round(duration / dt)):
        if np.isinf(first) and (sim.determinants(body, run.x) > 0.0).all():
            first = step * dt
        run.step()
    return first, int((sim.determinants(body, run.x) <= 0.0).sum())


def cube(start, **options):
    nodes, tets = beam_tets(6, 6, 6, size=(1.0, 1.0, 1.0))
    return sim.SoftBody(
        sim.Cage(nodes, tets), sim.Corotated(1e3, 0.35, 1.0), start=start(nodes), **options
    )


@pytest.mark.slow
def test_random_nodes_find_back_and_sooner_with_dapd():
    times = {"dapd": [], "isvd": []}
    for rotation, list_of_times in times.items():
        for seed in range(3):
            rng = np.random.default_rng(seed)
            body = cube(
                lambda n, rng=rng: rng.uniform(n.min(0), n.max(0), n.shape),
                rotation_method=rotation,
            )
            first, left = recovered(body)
            assert left == 0
            list_of_times.append(first)
    assert np.median(times["dapd"]) < np.median(times["isvd"])


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("dimensions", [2, 1, 0], ids=["plane", "line", "point"])
def test_a_crushed_body_comes_back(dimensions, law):
    nodes, tets = beam_tets(3, 3, 3, size=(1.0, 1.0, 1.0))
    flat = nodes.copy()
    flat[:, dimensions:] = nodes.mean(0)[dimensions:]
    flat += 1e-6 * np.random.default_rng(0).normal(size=nodes.shape)
    body = sim.SoftBody(sim.Cage(nodes, tets), law(1e3, 0.35, 1.0), start=flat)
    first, left = recovered(body, settings=sim.SolverSettings())
    assert first < 5.0 and left == 0
