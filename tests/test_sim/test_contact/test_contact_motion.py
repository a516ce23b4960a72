"""Bodies rest, slide, fall, bounce and ride on colliders as mechanics says."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from contact_scenes import (
    BEAMS,
    G,
    block,
    centre,
    kind_of,
    last,
    momentum,
    slope,
    speed,
    states,
    turn_to,
)
from shapes import ball, box
from stepping import OneBody, state_bits

from jellycage import sim, toolkit
from jellycage.sim.contact.contact_points import contact_points
from jellycage.sim.contact.memory import NO_MEMORY
from jellycage.sim.shapes.signed_distance_kernels import signed_distance

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
DT = 0.01


@pytest.fixture(params=list(BEAMS))
def kind(request):
    return request.param


def points_of(body):
    """A function from node positions to those of the contact points."""
    p = contact_points(body)
    return lambda x: np.einsum("pa,pai->pi", p.weights, x[p.nodes])


def velocity(body, state):
    """Of the centre of mass [m/s]."""
    return momentum(body, state) / body.mass.sum()


def depth(collider, x, time=0.0):
    """How far the deepest of some points (p, 3) is inside a collider at a time [s], in metres."""
    pose = collider.motion.pose(time)
    local = (x - pose[9:]) @ pose[:9].reshape(3, 3)
    values = (signed_distance(kind_of(collider), *collider.shape.lengths(), *y)[0] for y in local)
    return -min(values)


# Rest.


@pytest.mark.parametrize("young_modulus", [1e6, 1e8])
def test_a_block_at_rest_stays_and_hardly_sinks_in(kind, young_modulus):
    body, floor = block(kind, young_modulus=young_modulus), [sim.ground()]
    settled = last(states(body, floor, 800, DT))
    after = last(states(body, floor, 100, DT, state=settled))
    assert np.abs(after.x - settled.x).max() < 1e-9
    assert 0.0 < -after.x[:, 2].min() < 0.002 * body.size


def watched_run(body, collider, steps):
    """(state, contacts) at the end of a run."""
    run = OneBody(body, DT, colliders=[collider])
    finder = run.stepper.bodies[0].finder
    remembered, seen = finder.remembered, []

    def watch(found, rows, *rest):
        seen[:] = [rows]
        return remembered(found, rows, *rest)

    finder.remembered = watch
    for _ in range(steps):
        run.step()
    return run, seen[0]


@pytest.mark.parametrize("degrees", [0.0, 15.0])
def test_pressure_and_friction_carry_the_weight(kind, degrees):
    plane, normal, down = slope(np.radians(degrees))
    body = block(kind, normal=normal)
    state, rows = watched_run(body, plane, 300)
    weight = body.mass.sum() * G
    across, along = weight * np.cos(np.radians(degrees)), weight * np.sin(np.radians(degrees))
    assert rows.pressure.sum() == pytest.approx(across, rel=1e-3)
    np.testing.assert_allclose(state.contacts.drag.sum(axis=0), along * down, atol=1e-3 * weight)


def test_a_body_far_from_the_origin_behaves_the_same():
    moved = []
    for offset in (0.0, 1e4):
        body = block(
            bottom=(offset, -offset, offset + 0.5), spin=(1.0, 2.0, 3.0), young_modulus=1e5
        )
        state = last(states(body, [sim.ground(offset)], 200, DT))
        moved.append(state.x - body.elements.nodes)
    # Positions have 1.8e-12 of rounding there, and a tumbling body makes more of it.
    np.testing.assert_allclose(moved[0], moved[1], atol=1e-8)
    assert np.abs(moved[0]).max() > 0.3


def test_a_surface_in_a_cage_rests_on_its_own_points():
    """A ball in a loose cage: the surface stands on the floor, not the cage."""
    asset = toolkit.build_cage(ball(3, 0.5, (0.0, 0.0, 0.6)), resolution=4)
    body = sim.SoftBody(asset, sim.Corotated(1e5, 0.3, 1000.0), stiffness_damping=0.01)
    state = last(states(body, [sim.ground()], 400, DT))
    surface = body.surface(state.x)
    assert -1e-3 < surface[:, 2].min() < 1e-4
    assert state.x[:, 2].min() < surface[:, 2].min() - 2e-3  # of the cage
    assert abs(velocity(body, state)[2]) < 0.1  # it may roll


# Slopes.


@pytest.mark.parametrize("newton_iterations", [1, 4])
@pytest.mark.parametrize("young_modulus", [1e6, 1e8])
def test_a_block_does_not_creep_below_the_angle_of_friction(young_modulus, newton_iterations):
    plane, normal, _ = slope(np.arctan(0.5) - np.radians(1.0))
    body = block(normal=normal, young_modulus=young_modulus)
    settings = sim.SolverSettings(newton_iterations=newton_iterations)
    settled = last(states(body, [plane], 100, DT, settings))
    after = last(states(body, [plane], 500, DT, settings, settled))
    assert np.abs(after.x - settled.x).max() < 1e-3 * body.size


def measured_slide(angle, body_options=None, settings=None, **options):
    """Acceleration down a slope [m/s^2]."""
    plane, normal, down = slope(angle, **options)
    body = block(normal=normal, **(body_options or {}))
    run = list(states(body, [plane], 200, DT, settings))
    return (velocity(body, run[-1]) - velocity(body, run[99])) @ down / (100 * DT)


@pytest.mark.parametrize("newton_iterations", [1, 4])
@pytest.mark.parametrize("young_modulus", [1e6, 1e8])
def test_a_block_slides_with_coulombs_acceleration(young_modulus, newton_iterations):
    angle = np.arctan(0.5) + np.radians(5.0)
    settings = sim.SolverSettings(newton_iterations=newton_iterations)
    found = measured_slide(angle, {"young_modulus": young_modulus}, settings)
    assert found == pytest.approx(G * (np.sin(angle) - 0.5 * np.cos(angle)), rel=0.01)


def test_a_block_slides_freely_without_friction(kind):
    angle = np.radians(20.0)
    found = measured_slide(angle, {"kind": kind}, friction=0.0)
    assert found == pytest.approx(G * np.sin(angle), rel=1e-9)


def test_friction_of_a_pair_is_the_geometric_mean():
    angle = np.arctan(0.6) + 0.1
    found = measured_slide(angle, {"friction": 0.9}, friction=0.4)
    assert found == pytest.approx(G * (np.sin(angle) - 0.6 * np.cos(angle)), rel=0.01)


def test_a_frictionless_floor_leaves_the_horizontal_momentum_alone(kind):
    body = block(
        kind, bottom=(0, 0, 0.5), velocity=(1.0, -2.0, 0.0), spin=(3, 4, 5), young_modulus=1e5
    )
    start = momentum(body, OneBody(body, DT))
    for state in states(body, [sim.ground(friction=0.0)], 150, DT):
        error = momentum(body, state) - start
        assert np.abs(error[:2]).max() < 1e-10 * np.linalg.norm(start)
    assert len(state.contacts)


def test_a_sliding_body_stops_where_friction_has_used_up_its_speed():
    """v^2 / (2 mu g), and it never turns back."""
    body = block(size=(1.0, 1.0, 0.2), counts=(3, 3, 1), velocity=(3.0, 0.0, 0.0))
    run = list(states(body, [sim.ground()], 150, DT))
    forward = np.array([velocity(body, state)[0] for state in run])
    slid = centre(body, run[-1].x)[0] - centre(body, body.elements.nodes)[0]
    assert slid == pytest.approx(3.0**2 / (2.0 * 0.5 * G), rel=0.05)
    assert forward.min() > -0.05
    assert abs(forward[-1]) < 1e-3


# Falls.


@pytest.mark.parametrize("young_modulus", [1e4, 1e5, 1e6])
def test_a_long_fall_ends_on_a_thin_box(kind, young_modulus):
    body = block(
        *(kind, (3, 3, 3)),
        bottom=(0.0, 0.0, 20.0),
        young_modulus=young_modulus,
        stiffness_damping=0.05,  # the softest would sway for long
    )
    points = points_of(body)
    for state in states(body, [sim.Box((6.0, 6.0, 0.02))], 240, 1 / 24):
        x = points(state.x)
        is_over = (np.abs(x[:, :2]) < 3.0).all(axis=1)
        assert is_over.any()
        assert x[is_over, 2].min() > 0.0
    assert is_over.all()
    assert np.abs(velocity(body, state)).max() < 0.05
    assert 0.0 < x[:, 2].min() < 0.012


def test_a_fast_flat_throw_does_not_pass_through_a_thin_box():
    """80 m/s along the box, half a metre per second down: it skims over it and is never below it."""
    body = block(
        *("tets", (2, 2, 1), (0.2, 0.2, 0.05)),
        bottom=(-2.0, 0.0, 0.03),
        velocity=(80.0, 0.0, -0.5),
        friction=0.0,
    )
    sheet = sim.Collider(sim.Box((20.0, 20.0, 0.002)), friction=0.0)
    run = list(states(body, [sheet], 3, 1 / 24, gravity=(0.0, 0.0, 0.0)))
    assert centre(body, run[-1].x)[0] == pytest.approx(8.0)
    assert min(state.x[:, 2].min() for state in run) > 0.0


def rebound(restitution, **options):
    """How high the centre of a stiff cube comes again after a fall of 1 m [m]."""
    body = block(bottom=(0.0, 0.0, 1.0), **options)
    highest, has_turned = 0.0, False
    for state in states(body, [sim.ground(restitution=restitution)], 140, DT):
        has_turned = has_turned or velocity(body, state)[2] > 0.0
        if has_turned:
            highest = max(highest, centre(body, state.x)[2] - 0.5)
    return highest


def test_a_stiff_body_without_restitution_stays_down():
    assert rebound(0.0, young_modulus=1e9, damping_ratio=1.0) < 0.02


def test_a_stiff_body_bounces_with_its_restitution():
    heights = [rebound(e, young_modulus=1e9, damping_ratio=1.0) for e in (0.0, 0.25, 0.5, 0.75)]
    assert (np.diff(heights) > 0.0).all()
    assert 0.6 * 0.5**2 < heights[2] < 1.05 * 0.5**2


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_no_bounce_is_higher_than_the_fall(restitution):
    for young_modulus in (1e4, 1e6):
        assert rebound(restitution, young_modulus=young_modulus) < 1.0


@pytest.mark.parametrize("young_modulus", [1e4, 1e5, 1e6])
def test_a_body_that_starts_in_the_floor_comes_out_without_flying_off(kind, young_modulus):
    body = block(kind, bottom=(0.0, 0.0, -0.2), young_modulus=young_modulus)
    for state in states(body, [sim.ground()], 300, DT):
        assert centre(body, state.x)[2] < 0.5 + 0.1
    assert state.x[:, 2].min() > -0.002 * body.size


def test_a_body_whose_middle_is_in_a_box_comes_out_of_it():
    """Most of the bottom is inside a table; it rises at a gentle speed."""
    body = block(counts=(5, 5, 2), bottom=(0.0, 0.0, -0.05), young_modulus=1e6)
    table = sim.Collider(sim.Box((0.8, 0.8, 1.0)), sim.Motion((0.0, 0.0, -0.5)))
    points = points_of(body)
    run = list(states(body, [table], 200, DT))
    assert depth(table, points(run[0].x)) > 0.02
    assert depth(table, points(run[-1].x)) < 0.01 * body.size
    assert max(speed(state) for state in run) < 3.0


# Letting go.


def test_a_lifted_body_is_never_held_down():
    """Each step is compared with the same step without the floor: contacts push up or do nothing."""
    rest = block(young_modulus=1e5).elements.nodes
    top = np.flatnonzero(rest[:, 2] > 0.99)
    path = sim.Keyed([0.0, 0.5, 2.5], [rest[top], rest[top], rest[top] + [0.0, 0.0, 2.0]])
    pin = sim.Pin(sim.node_points(top), path)
    body = block(young_modulus=1e5, pins=[pin])
    alone = OneBody(body, DT)
    before, pushed = alone, 0
    for state in states(body, [sim.ground()], 300, DT):
        free = alone.at(before)
        free.step()
        push = (momentum(body, state) - momentum(body, free))[2]
        assert push > -1e-9
        pushed += push > 1.0
        if state.x[:, 2].min() > 0.01:
            assert not len(state.contacts)
            np.testing.assert_allclose(state.x, free.x, atol=1e-9)
        before = state
    assert pushed > 30
    hanging = last(states(body, [], 300, DT))
    np.testing.assert_allclose(state.x, hanging.x, atol=1e-3)
    assert state.x[:, 2].min() > 0.9


def test_a_body_thrown_up_from_rest_flies_as_if_there_were_no_floor(kind):
    body, floor = block(kind), [sim.ground()]
    resting = last(states(body, floor, 200, DT))
    assert len(resting.contacts)
    resting.soft.v += [0.5, 0.0, 3.0]
    thrown = last(states(body, floor, 25, DT, state=resting))
    free = last(states(body, [], 25, DT, state=resting))
    np.testing.assert_allclose(thrown.x, free.x, atol=1e-9)


# Colliders that move.


def test_a_rising_floor_lifts_a_body(kind):
    body = block(kind)
    motion = sim.Motion([[0, 0, 0], [0, 0, 0], [0, 0, 2.0]], times=[0.0, 0.5, 2.5])
    run = list(states(body, [sim.Collider(sim.Plane(), motion)], 400, DT))
    for state in run[149:240]:
        np.testing.assert_allclose(velocity(body, state), [0.0, 0.0, 1.0], atol=0.05)
        assert abs(state.x[:, 2].min() - (state.time - 0.5)) < 0.002 * body.size
    assert abs(run[-1].x[:, 2].min() - 2.0) < 0.002 * body.size
    assert np.abs(velocity(body, run[-1])).max() < 1e-3


@pytest.mark.parametrize("element", ["tet", "hex"])
@pytest.mark.parametrize("width", [2.0, 4.0])
def test_a_ram_that_is_as_fast_as_waves_does_not_go_in(element, width):
    """Corners may slip round the edges of a ram that is as wide as the body, but not into it."""
    cube = box((2.0, 2.0, 2.0), (-1.0, -1.0, -1.0))
    cage = toolkit.build_cage(cube, resolution=4, element=element, collision=False)
    body = sim.SoftBody(cage, sim.NeoHookean(7.25e4, 0.48, 1000.0), stiffness_damping=0.012)
    share, locations = np.linspace(0.0, 1.0, 12), np.zeros((12, 3))
    locations[:, 0] = -3.0 + 2.5 * share * share * (3.0 - 2.0 * share)
    motion = sim.Motion(locations, times=np.arange(12) / 24.0)
    ram = sim.Collider(sim.Box((2.0, width, width)), motion)
    state = OneBody(body, 1.0 / 24.0, colliders=[ram], gravity=(0.0, 0.0, 0.0))
    points = points_of(body)
    for _ in range(11):
        state.step()
        assert depth(ram, points(state.x), state.time) < 0.001 * body.size
        if width > 2.0:
            face = motion.pose(state.time)[9] + 1.0
            assert points(state.x)[:, 0].min() > face - 0.001 * body.size


def test_a_fast_floor_hits_a_body_from_below():
    """A floor that jumps up by more than the body's height in one step takes it along."""
    body = block(size=(1.0, 1.0, 0.1), counts=(3, 3, 1))
    motion = sim.Motion([[0, 0, 0], [0, 0, 0], [0, 0, 0.5]], times=[0.0, 0.1, 0.1 + DT])
    state = last(states(body, [sim.Collider(sim.Plane(), motion)], 12, DT))
    assert state.x[:, 2].min() > 0.5 - 0.02 * body.size


def test_a_conveyor_drags_a_body_up_to_its_speed_and_no_further(kind):
    body = block(kind, (3, 3, 1), (1.0, 1.0, 0.2), damping_ratio=1.0)
    motion = sim.Motion([[0, 0, 0], [0, 0, 0], [40.0, 0, 0]], times=[0.0, 0.5, 20.5])
    forward = np.array(
        [
            velocity(body, state)[0]
            for state in states(body, [sim.Collider(sim.Plane(), motion)], 400, 0.5 * DT)
        ]
    )
    gained = (forward[159] - forward[109]) / (25 * DT)
    assert gained == pytest.approx(0.5 * G, rel=0.03)
    assert np.abs(forward[80:99]).max() < 1e-6
    assert forward.max() < 2.0 * 1.01
    assert forward[-1] == pytest.approx(2.0, abs=1e-3)


def test_a_turntable_carries_a_block_around():
    rate = 0.5
    angles = np.linspace(0.0, 2.0 * np.pi, 9)
    turns = np.stack([np.cos(angles / 2), 0 * angles, 0 * angles, np.sin(angles / 2)], axis=1)
    motion = sim.Motion(rotations=turns, times=0.5 + angles / rate)
    body = block(size=(0.4, 0.4, 0.2), bottom=(0.2, 0.0, 0.0))
    error = 0.0
    for state in states(body, [sim.Collider(sim.Plane(), motion)], 700, DT):
        angle = max(state.time - 0.5, 0.0) * rate
        middle = centre(body, state.x)
        expected = 0.2 * np.array([np.cos(angle), np.sin(angle)])
        error = max(error, np.linalg.norm(middle[:2] - expected))
    assert error < 0.01 * 0.2
    # It has turned about itself as well.
    side = state.x[body.elements.nodes[:, 0].argmax()] - middle
    begun = body.elements.nodes[body.elements.nodes[:, 0].argmax()] - [0.2, 0.0, 0.1]
    turned = np.arctan2(side[1], side[0]) - np.arctan2(begun[1], begun[0])
    assert np.cos(turned - angle) > 0.999


def test_a_ball_that_flies_by_hits_what_is_in_its_way():
    """It crosses the body's whole length in one step and is felt nevertheless."""
    body = block(bottom=(0.0, 0.0, 0.0), young_modulus=1e5)
    motion = sim.Motion([[-3.0, 0.0, 0.5], [0.0, 0.0, 0.5]], times=[0.0, 0.05])
    state = last(
        states(body, [sim.Collider(sim.Sphere(0.4), motion)], 30, 0.05, gravity=(0.0, 0.0, 0.0))
    )
    assert velocity(body, state)[0] > 1.0


# Round things.


@pytest.mark.parametrize(
    "collider",
    [
        sim.Collider(sim.Sphere(1.0), friction=0.8),
        sim.Collider(
            sim.Capsule.of_keys(0.5, 2.0),
            sim.Motion(rotations=turn_to((1.0, 0.0, 0.0))),
            friction=0.8,
        ),
    ],
    ids=["sphere", "capsule"],
)
def test_a_slab_comes_to_rest_draped_over_something_round(collider):
    body = block(
        *("tets", (4, 4, 1), (1.6, 1.6, 0.3)),
        bottom=(0.0, 0.0, collider.shape.radius + 0.02),
        young_modulus=2e4,
        friction=0.8,
        stiffness_damping=0.02,
        mass_damping=4.0,
    )
    points = points_of(body)
    for state in states(body, [collider], 300, DT):
        assert depth(collider, points(state.x)) < 0.01 * body.size
    assert speed(state) < 0.01
    assert len(state.contacts) > 4
    assert state.x[:, 2].min() < collider.shape.radius - 0.3
    assert np.linalg.norm(centre(body, state.x)[:2]) < 0.05


# The thesis on interactive co-rotational FEM.


@pytest.mark.parametrize("newton_iterations", [1, 2, 4, 8])
def test_a_beam_that_falls_on_a_ramp_is_held_by_friction(newton_iterations):
    """Fig. 3.19: a fall of 2 m, mu = 0.75; at rest at t = 3.75 s whatever the number of Newton steps."""
    ramp, normal, _ = slope(np.radians(25.0), friction=0.75)
    body = block(
        *("tets", (6, 3, 3), (2.1, 0.6, 0.6)),
        bottom=(0.0, 0.0, 2.0),
        young_modulus=1e4,
        poisson_ratio=0.35,
        density=5.0 / 0.756,
        friction=0.75,
    )
    settings = sim.SolverSettings(newton_iterations=newton_iterations)
    state = last(states(body, [ramp], 225, 1 / 60, settings, gravity=(0.0, 0.0, -9.8)))
    assert state.time == pytest.approx(3.75)
    assert speed(state) < 1e-2
    assert (state.x @ normal).min() > -0.002 * body.size


@pytest.mark.parametrize(("young_modulus", "density"), [(1e3, 10.0), (1e4, 50.0)])
def test_bodies_recover_from_hard_falls(kind, young_modulus, density):
    """Fig. 4.12, bottom row: 30 m/s flatten a soft body and turn elements inside out; not for long."""
    body = block(
        *(kind, (4, 4, 4)),
        bottom=(0.0, 0.0, 0.5),
        young_modulus=young_modulus,
        poisson_ratio=0.35,
        density=density,
        damping_ratio=0.0,
        velocity=(0.0, 0.0, -30.0),
    )
    most, later = 0, []
    for state in states(body, [sim.ground()], 135, 1 / 60):
        inverted = int((sim.determinants(body, state.x) <= 0.0).sum())
        most = max(most, inverted)
        if 1.0 < state.memory["impact_time"] < np.inf:
            later.append(inverted)
    assert most > 10
    assert later and max(later) == 0
    assert points_of(body)(state.x)[:, 2].min() > -0.01 * body.size


# The same bits.


def tumbling(kind="tets"):
    body = block(kind, bottom=(0.0, 0.0, 0.3), spin=(2.0, 1.0, 0.0), young_modulus=1e5)
    colliders = [slope(0.2)[0], sim.Collider(sim.Sphere(0.4), sim.Motion((0.8, 0.0, 0.0)))]
    return body, colliders


def assert_same_bits(a, b):
    assert state_bits(a.state) == state_bits(b.state)


def test_two_runs_are_the_same_bit_for_bit(kind):
    first, second = (last(states(*tumbling(kind), 60, DT)) for _ in range(2))
    assert len(first.contacts)
    assert_same_bits(first, second)


def test_a_copy_of_the_state_continues_bit_for_bit(kind):
    body, colliders = tumbling(kind)
    run = list(states(body, colliders, 80, DT))
    middle = run[49].copy()
    assert len(middle.contacts)
    assert_same_bits(last(states(body, colliders, 30, DT, state=middle)), run[-1])


def test_the_memory_of_contacts_matters():
    """Without the bristles of the step before, a block on a slope slides a little."""
    plane, normal, down = slope(0.4)
    body = block(normal=normal)
    settled = last(states(body, [plane], 400, DT))
    state = settled.copy()
    for _ in range(50):
        state.state.contacts = NO_MEMORY
        state.step()
    kept = last(states(body, [plane], 50, DT, state=settled))
    assert (centre(body, kept.x) - centre(body, settled.x)) @ down < 1e-6
    assert (centre(body, state.x) - centre(body, settled.x)) @ down > 1e-4


def test_a_step_of_a_copy_leaves_the_state_that_it_was_copied_from():
    body, colliders = tumbling()
    apart = OneBody(body, DT, colliders=colliders)
    for in_place in states(body, colliders, 60, DT):
        before, bits = apart, state_bits(apart.state)
        apart = before.copy()
        apart.step()
        assert state_bits(before.state) == bits
        assert_same_bits(in_place, apart)


SCRIPT = """
import hashlib
from contact_scenes import last, states
from test_contact_motion import tumbling

for kind in ("tets", "hexes"):
    state = last(states(*tumbling(kind), 40, 0.01))
    assert len(state.contacts)
    bits = state.x.tobytes() + state.v.tobytes() + state.contacts.drag.tobytes()
    print(hashlib.sha256(bits).hexdigest())
"""


@pytest.mark.slow
def test_one_thread_and_two_give_one_result():
    results = []
    folders = [ROOT / "tests", Path(__file__).parent]
    for threads in ("1", "2"):
        names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        env = {**os.environ, **dict.fromkeys(names, threads)}
        env["PYTHONPATH"] = os.pathsep.join(map(str, folders))
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True
        )
        results.append(done.stdout.split())
    assert len(results[0]) == 2
    assert results[0] == results[1]
