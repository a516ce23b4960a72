"""A part leaves what it struck with at least the share of its speed that its restitution says, however time is cut."""

import numpy as np
import pytest
from contact_scenes import G, block, centre, momentum
from stepping import OneBody, elastic

from jellycage import sim
from jellycage.sim.contact.restitution import Restitution
from jellycage.sim.solvers.methods import INTEGRATORS

FPS = 24.0
NO_GRAVITY = (0.0, 0.0, 0.0)


@pytest.fixture(params=list(INTEGRATORS))
def settings(request):
    return sim.SolverSettings(integrator=request.param)


def cube(**options):
    """Half a metre, on its way down, damped so much that it does not bounce by itself."""
    own = {
        "young_modulus": 1e6,
        "damping_ratio": 5.0,
        "bottom": (0.0, 0.0, 0.5),
        "velocity": (0.0, 0.0, -3.0),
    }
    return block("hexes", (1, 1, 1), (0.5, 0.5, 0.5), **{**own, **options})


def ratio(body, substeps, settings, **floor):
    """Speed of the centre after a blow in speeds before it, of a body thrown down without gravity."""
    floor = sim.ground(**floor)
    run = OneBody(body, 1.0 / (FPS * substeps), settings, colliders=[floor], gravity=NO_GRAVITY)
    arriving = momentum(body, run)[2]
    for _ in range(24 * substeps):
        run.step()
    return -momentum(body, run)[2] / arriving


def energies(body, substeps, settings):
    """Of a fall on a floor, after each step [J]."""
    run = OneBody(body, 1.0 / (FPS * substeps), settings, colliders=[sim.ground()])
    for _ in range(24 * substeps):
        run.step()
        moving = 0.5 * (body.mass[:, None] * run.v**2).sum()
        height = centre(body, run.x)[2]
        yield moving + elastic(body, run.x)[0] + G * body.mass.sum() * height


@pytest.mark.parametrize("substeps", [1, 4, 16])
@pytest.mark.parametrize("restitution", [0.3, 0.6, 0.9])
def test_a_dull_cube_leaves_with_its_share_of_speed(restitution, substeps, settings):
    found = ratio(cube(restitution=restitution), substeps, settings)
    assert found == pytest.approx(restitution, abs=0.08)


def test_the_greater_of_body_and_floor_counts(settings):
    assert ratio(cube(), 4, settings, restitution=0.6) == pytest.approx(0.6, abs=0.08)
    assert ratio(cube(restitution=0.6), 4, settings) == pytest.approx(0.6, abs=0.08)


def test_a_bouncy_body_bounces_more_with_more_of_it(settings):
    bodies = (cube(young_modulus=1e5, damping_ratio=0.05, restitution=e) for e in (0, 0.5, 0.8, 1))
    found = [ratio(body, 4, settings) for body in bodies]
    assert (np.diff(found) > -0.01).all()
    assert 0.1 < found[0] < found[-1] <= 1.0


@pytest.mark.parametrize("restitution", [0.5, 1.0])
def test_a_bounce_gives_no_energy(restitution, settings):
    for damping_ratio in (0.05, 5.0):
        body = cube(restitution=restitution, damping_ratio=damping_ratio)
        first, *rest = energies(body, 4, settings)
        assert max(rest) < 1.01 * first


def test_a_body_at_rest_whose_floor_is_taken_away_only_falls(settings):
    """The speed of its arrival is long past: it gets no kick."""
    path = sim.Motion([(0.0, 0.0, 0.0), (0.0, 0.0, -9.0)], times=[2.0, 2.05])
    floor = sim.Collider(sim.Plane(), path, restitution=0.5)
    body = cube(bottom=(0.0, 0.0, 0.05), velocity=(0.0, 0.0, 0.0), damping_ratio=1.0)
    run = OneBody(body, 1.0 / 96.0, settings, colliders=[floor])
    rising = []
    for _ in range(240):
        run.step()
        rising.append(momentum(body, run)[2] / body.mass.sum())
    assert max(rising[:96]) > 0.2
    assert max(rising[144:]) < 0.02
    assert rising[-1] == pytest.approx(-0.5 * G, rel=0.03)


def test_without_restitution_nothing_is_remembered():
    body = cube()
    run = OneBody(body, 1.0 / FPS, colliders=[sim.ground()])
    for _ in range(20):
        run.step()
    for name, start in Restitution.start_memory(body).items():
        np.testing.assert_array_equal(run.memory[name], start)
