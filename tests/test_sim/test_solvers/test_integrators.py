"""Every integrator moves bodies as mechanics says: falls, momenta, rest, damping, drag and loads."""

from dataclasses import replace

import numpy as np
import pytest
from beams import end_nodes
from moving_bodies import (
    BEAMS,
    CONVERGED,
    FALLEN,
    GRAVITY,
    MATERIALS,
    NONE,
    cage,
    centre,
    inner_point,
    momentum,
    stepped,
    violent_body,
)
from stepping import elastic

from jellycage import sim
from jellycage.sim.rotations import ROTATIONS
from jellycage.sim.solvers.methods import INTEGRATORS


@pytest.fixture(params=list(BEAMS))
def kind(request):
    return request.param


@pytest.fixture(params=list(MATERIALS))
def material(request):
    return MATERIALS[request.param]


@pytest.fixture(params=list(INTEGRATORS))
def settings(request):
    return sim.SolverSettings(integrator=request.param)


def converged(settings):
    """The same integrator with a solver that goes on to the end."""
    return replace(CONVERGED, integrator=settings.integrator)


@pytest.mark.parametrize("is_converged", [False, True], ids=["default", "converged"])
def test_free_fall_is_the_discrete_parabola(kind, material, settings, is_converged):
    """A falling body does not deform: every node follows it, whatever the solver's tolerances are."""
    velocity, dt = np.array([1.0, -2.0, 3.0]), 0.02
    body = sim.SoftBody(cage(kind), material(), velocity=velocity)
    error, fall = 0.0, FALLEN[settings.integrator]
    settings = converged(settings) if is_converged else settings
    for n, state in enumerate(stepped(body, 50, dt, settings, gravity=GRAVITY)):
        fallen = velocity * n * dt + GRAVITY * dt**2 * fall(n)
        error = max(error, np.abs(state.x - body.elements.nodes - fallen).max())
    assert error < 1e-12 * np.linalg.norm(fallen)


@pytest.mark.parametrize("gravity", [NONE, GRAVITY], ids=["weightless", "falling"])
@pytest.mark.parametrize("linear_iterations", [1, 2])
def test_truncated_solves_keep_the_momentum_of_every_part(
    kind, material, linear_iterations, gravity, settings
):
    settings = replace(settings, newton_iterations=1, linear_iterations=linear_iterations)
    body, dt = violent_body(kind, material), 0.01
    states = stepped(body, 30, dt, settings, gravity=gravity)
    worst = 0.0
    for part in range(2):
        mass = body.mass * (body.part == part)
        scale = (mass[:, None] * np.abs(states[0].v)).sum()
        start = (mass[:, None] * states[0].v).sum(axis=0)
        for n, state in enumerate(states):
            expected = start + mass.sum() * gravity * n * dt
            error = (mass[:, None] * state.v).sum(axis=0) - expected
            worst = max(worst, np.abs(error).max() / scale)
    assert worst < 1e-10


@pytest.mark.parametrize("rotation", list(ROTATIONS))
def test_the_momentum_of_inverted_elements_is_kept(kind, rotation, settings):
    body = violent_body(kind, sim.Corotated, rotation_method=rotation)
    states = stepped(body, 100, 0.01, settings)
    scale = (body.mass[:, None] * np.abs(states[0].v)).sum()
    worst = max(np.abs(momentum(body, s) - momentum(body, states[0])).max() for s in states)
    assert worst < 1e-10 * scale


@pytest.mark.parametrize("quadrature", [1, 8])
def test_internal_forces_have_no_torque_and_no_sum(kind, material, quadrature):
    body = sim.SoftBody(cage(kind), material(), rotation_method="isvd", quadrature=quadrature)
    worst = 0.0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = body.elements.nodes + rng.normal(scale=0.4, size=(27, 3))
        force = elastic(body, x)[1]
        scale = (np.linalg.norm(x, axis=1) * np.linalg.norm(force, axis=1)).sum()
        torque = np.cross(x, force).sum(axis=0)
        worst = max(worst, np.abs(torque).max() / scale, np.abs(force.sum(axis=0)).max() / scale)
    assert worst < 1e-12


def test_a_body_at_rest_stays_at_rest(kind, material, settings):
    body = sim.SoftBody(cage(kind), material())
    moved = np.abs(stepped(body, 100, 0.01, settings)[-1].x - body.elements.nodes).max()
    assert moved < 1e-12 * body.size


def test_a_body_at_its_equilibrium_stays_there(kind, material, settings):
    beam = cage(kind, (4, 2, 2), (2.0, 0.5, 0.5))
    pins = [sim.Pin(sim.node_points(end_nodes(beam.nodes)[0]), target=beam.nodes[:9])]
    hanging = sim.SoftBody(beam, material(), pins=pins)
    x = sim.equilibrium(hanging).x
    body = sim.SoftBody(beam, material(), pins=pins, start=x)
    sag = np.abs(x - beam.nodes).max()
    states = stepped(body, 100, 0.02, settings, gravity=GRAVITY)
    drift = max(np.abs(state.x - x).max() for state in states)
    assert sag > 0.05
    assert drift < 1e-8 * body.size  # the solver's precision is 1e-9 of the size


def test_stiffness_damping_leaves_a_rigid_translation_alone(kind, material, settings):
    velocity = np.array([1.0, 2.0, -3.0])
    body = sim.SoftBody(cage(kind), material(), velocity=velocity, stiffness_damping=0.1)
    v = stepped(body, 40, 0.02, settings)[-1].v
    np.testing.assert_allclose(v, np.tile(velocity, (27, 1)), rtol=1e-12)


def test_a_falling_cube_reaches_its_terminal_velocity(kind, settings):
    light = sim.Corotated(density=100.0)
    body = sim.SoftBody(cage(kind, size=(0.2, 0.2, 0.2)), light, air_drag=20.0)
    area = 6 * 0.2**2 / 4  # a quarter of the surface: what a convex body shows on average
    expected = np.sqrt(2.0 * body.mass.sum() * 9.81 / (20.0 * area))
    fallen = stepped(body, 300, 0.02, converged(settings), gravity=GRAVITY)[-1]
    speed = -momentum(body, fallen)[2] / body.mass.sum()
    assert body.exposed_area.sum() == pytest.approx(area, rel=1e-12)
    assert speed == pytest.approx(expected, rel=1e-6)


def test_a_constant_force_accelerates_the_centre_of_mass(kind, material, settings):
    body_cage, force, dt = cage(kind), np.array([100.0, -50.0, 300.0]), 0.01
    body = sim.SoftBody(body_cage, material(), loads=[sim.Force(inner_point(body_cage), force)])
    start = centre(body, body.elements.nodes)
    for n, state in enumerate(stepped(body, 30, dt, settings)):
        gained = momentum(body, state)
        np.testing.assert_allclose(gained, force * n * dt, rtol=1e-10, atol=1e-10)
        moved = force / body.mass.sum() * dt**2 * FALLEN[settings.integrator](n)
        np.testing.assert_allclose(centre(body, state.x) - start, moved, rtol=1e-9, atol=1e-12)


def test_a_keyed_force_gives_the_sum_of_its_values_at_the_ends_of_the_steps(kind, settings):
    body_cage, dt = cage(kind), 0.01
    ramp = sim.Keyed([0.0, 0.1, 0.2], [[0, 0, 0], [0, 0, 100.0], [0, 0, 0]])
    body = sim.SoftBody(body_cage, sim.Corotated(), loads=[sim.Force(inner_point(body_cage), ramp)])
    expected = np.zeros(3)
    for n, state in enumerate(stepped(body, 30, dt, settings)):
        if n:
            expected += dt * ramp.at(n * dt)
        np.testing.assert_allclose(momentum(body, state), expected, rtol=1e-10, atol=1e-10)
    assert expected[2] == pytest.approx(100.0 * 0.1, rel=1e-12)


def test_an_impulse_changes_the_momentum_once(kind, material, settings):
    body_cage, blow = cage(kind), np.array([30.0, -20.0, 50.0])
    load = sim.Impulse(inner_point(body_cage), blow, time=0.053)
    body = sim.SoftBody(body_cage, material(), loads=[load])
    for n, state in enumerate(stepped(body, 20, 0.01, settings)):
        expected = blow if n >= 6 else NONE
        np.testing.assert_allclose(momentum(body, state), expected, atol=1e-9)


def test_a_velocity_change_happens_at_its_point(kind, settings):
    """In a tiny step the elastic forces have no time to answer."""
    body_cage, change = cage(kind), np.array([1.0, 2.0, -0.5])
    point = inner_point(body_cage)
    body = sim.SoftBody(body_cage, sim.Corotated(), loads=[sim.VelocityChange(point, change)])
    before, after = stepped(body, 1, 1e-6, settings)
    np.testing.assert_allclose(
        point.positions(after.v) - point.positions(before.v), [change], rtol=1e-6
    )


def test_a_position_change_moves_its_point_and_gives_no_momentum(kind, settings):
    body_cage, change = cage(kind), np.array([0.1, 0.02, -0.05])
    point = inner_point(body_cage)
    body = sim.SoftBody(body_cage, sim.Corotated(), loads=[sim.PositionChange(point, change)])
    before, after = stepped(body, 1, 1e-6, settings)
    moved = point.positions(after.x) - point.positions(before.x)
    np.testing.assert_allclose(moved, [change], rtol=1e-6)
    np.testing.assert_allclose(momentum(body, after), 0.0, atol=1e-9)


@pytest.mark.parametrize("fps", [0.0, -10.0, np.nan, np.inf])
def test_a_time_step_that_is_none_is_refused(fps):
    scene = sim.Scene([sim.SoftBody(cage("hexes"), sim.Corotated())])
    with pytest.raises(sim.SettingsError, match="fps, substeps: expected a positive"):
        sim.Stepper(scene, fps=fps)
