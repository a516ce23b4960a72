"""Rigid bodies against what mechanics says of them."""

import numpy as np
import pytest

from jellycage.sim import shapes
from jellycage.sim.errors import SettingsError
from jellycage.sim.maths import quaternions
from jellycage.sim.maths.quaternions import turn_to
from jellycage.sim.rigid.body import RigidBody
from jellycage.sim.rigid.joints import WORLD, Ball
from jellycage.sim.rigid.world import RigidSettings, RigidWorld
from jellycage.sim.shapes import Box, Capsule, Hull, Sphere, colliders
from jellycage.sim.shapes.colliders import Motion, ground

G = 9.81
AWAKE = RigidSettings(sleep_speed=0.0)
NO_GRAVITY = (0.0, 0.0, 0.0)


def stepped(world, steps, dt=1 / 60):
    """The world after so many steps."""
    for _ in range(steps):
        world.step(dt)
    return world


def momenta(world, h):
    """Linear and angular momentum about the origin; velocities belong to half a step before the poses."""
    n = world.moving
    mass = 1.0 / world.arrays.inverse_mass[:n]
    v, w = world.state.v[:n], world.state.w[:n]
    q = quaternions.product(quaternions.by_vectors(-0.5 * h * w), world.state.q[:n])
    turn = quaternions.as_matrices(q)
    spin = np.einsum("nij,njk,nlk,nl->ni", turn, world.arrays.inertia[:n], turn, w)
    return (mass[:, None] * v).sum(axis=0), (
        spin + mass[:, None] * np.cross(world.state.p[:n], v)
    ).sum(axis=0)


def test_free_fall_is_exact():
    world = stepped(RigidWorld([RigidBody([Sphere(0.1)], velocity=(1.0, 0.0, 2.0))]), 60)
    np.testing.assert_allclose(world.state.p[0], [1.0, 0.0, 2.0 - 0.5 * G], atol=1e-12)


def test_a_free_body_keeps_its_momentum_and_tumbles_with_its_energy():
    body = RigidBody([Box((0.1, 0.3, 0.7))], spin=(0.5, 6.0, 0.3))  # about its middle axis: tumbles
    world = RigidWorld([body], gravity=NO_GRAVITY, settings=AWAKE)
    h = 1 / 240
    _, before = momenta(world, h)
    energy, lowest, highest = world.energy(), np.inf, -np.inf
    way = []
    for _ in range(600):
        world.advance(1 / 60, 4)
        lowest, highest = min(lowest, world.energy()), max(highest, world.energy())
        way.append(quaternions.turned(world.state.q[0], np.array([0.0, 1.0, 0.0])))
    _, after = momenta(world, h)
    np.testing.assert_allclose(after, before, rtol=2e-3, atol=2e-3 * np.linalg.norm(before))
    assert 0.985 * energy < lowest and highest < 1.015 * energy
    assert np.min(np.array(way)[:, 1]) < -0.9  # Dzhanibekov: the axis turns right over


def disc():
    """A flat disc 0.1 m above the origin of its frame."""
    angle = 2.0 * np.pi * np.arange(24) / 24
    rim = np.stack([0.1 * np.cos(angle), 0.1 * np.sin(angle)], axis=1)
    return Hull(np.concatenate([np.column_stack([rim, np.full(24, z)]) for z in (0.09, 0.11)]))


@pytest.mark.parametrize("spin", [60.0, 150.0, 250.0])
def test_a_fast_top_precesses_at_the_analytic_rate(spin):
    tilt, lever = 0.5, 0.1
    turn = quaternions.about(np.array([1.0, 0.0, 0.0]), tilt)
    properties = RigidBody([disc()]).properties
    axial, across = properties.inertia[2, 2], properties.inertia[0, 0] + properties.mass * lever**2
    # m g l = W (I3 s - I1 W cos(tilt)): the slow one of the two steady precessions.
    roots = np.roots([-across * np.cos(tilt), axial * spin, -properties.mass * G * lever])
    rate = roots[np.argmin(np.abs(roots))].real
    axis = quaternions.turned(turn, np.array([0.0, 0.0, 1.0]))
    omega = rate * np.array([0.0, 0.0, 1.0]) + (spin - rate * np.cos(tilt)) * axis
    centre = quaternions.turned(turn, properties.centre)
    body = RigidBody([disc()], rotation=turn, spin=omega, velocity=np.cross(omega, centre))
    world = RigidWorld([body], [Ball(a=WORLD, b=0, point=(0.0, 0.0, 0.0))], settings=AWAKE)
    angles = []
    for _ in range(120):
        world.advance(1 / 60, 32)
        x, y, z = quaternions.turned(world.state.q[0], np.array([0.0, 0.0, 1.0]))
        angles.append(np.arctan2(y, x))
    angles = np.unwrap(angles)
    assert (angles[-1] - angles[0]) / (119 / 60) == pytest.approx(rate, rel=0.02)
    assert np.arccos(z) == pytest.approx(tilt, abs=np.radians(1.0))


def box_on_slope(angle, friction):
    """A box that lies on an inclined plane."""
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    slope = colliders.Collider(
        shapes.Plane(), Motion((0.0, 0.0, 0.0), turn_to(normal)), friction=friction
    )
    body = RigidBody(
        [Box((0.4, 0.4, 0.2))], location=0.1 * normal, rotation=turn_to(normal), friction=friction
    )
    return RigidWorld([body], colliders=[slope], settings=AWAKE)


@pytest.mark.parametrize("friction", [0.3, 0.6, 1.0])
def test_a_box_rests_just_below_the_angle_of_friction(friction):
    world = box_on_slope(np.arctan(friction) - np.radians(1.0), friction)
    start = world.state.p[0].copy()
    assert np.linalg.norm(stepped(world, 300).state.p[0] - start) < 1e-4


@pytest.mark.parametrize("friction", [0.3, 0.6, 1.0])
def test_a_box_slides_above_it_as_coulomb_says(friction):
    angle = np.arctan(friction) + np.radians(5.0)
    world = box_on_slope(angle, friction)
    start = world.state.p[0].copy()
    way = np.linalg.norm(stepped(world, 120).state.p[0] - start)
    wanted = G * (np.sin(angle) - friction * np.cos(angle))
    assert 2.0 * way / 2.0**2 == pytest.approx(wanted, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("sleep_speed", [0.0, 0.03])
def test_ten_boxes_stand_for_ten_seconds(sleep_speed):
    bodies = [RigidBody([Box((0.5, 0.5, 0.5))], location=(0, 0, 0.25 + 0.5 * i)) for i in range(10)]
    world = RigidWorld(
        bodies, colliders=[ground()], settings=RigidSettings(sleep_speed=sleep_speed)
    )
    start = world.state.p[:10].copy()
    stepped(world, 600)
    assert np.abs(world.state.p[:10] - start).max() < 0.02
    assert world.state.is_asleep[:10].all() == (sleep_speed > 0.0)


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_balls_that_meet_head_on_part_as_newton_says(restitution):
    fast = RigidBody([Sphere(0.1)], (-0.5, 0, 0), velocity=(3, 0, 0), restitution=restitution)
    heavy = RigidBody([Sphere(0.1)], (0.5, 0, 0), velocity=(-1, 0, 0), density=3000)
    world = RigidWorld([fast, heavy], gravity=NO_GRAVITY)
    before, _ = momenta(world, 0.0)
    stepped(world, 30)
    after, _ = momenta(world, 0.0)
    np.testing.assert_allclose(after, before, atol=1e-12)
    assert world.state.v[1, 0] - world.state.v[0, 0] == pytest.approx(4.0 * restitution, abs=1e-9)


def test_an_oblique_collision_keeps_both_momenta():
    box = RigidBody([Box((0.5, 0.3, 0.2))], (-1, 0.1, 0), velocity=(3, 0, 0), spin=(1, 2, 3))
    capsule = RigidBody([Capsule(0.1, (0, 0, -0.3), (0, 0, 0.3))], (0.5, 0, 0), spin=(0, 1, 2))
    world = RigidWorld([box, capsule], gravity=NO_GRAVITY, settings=AWAKE)
    linear, angular = momenta(world, 1 / 240)
    for _ in range(60):
        world.advance(1 / 60, 4)
    assert np.linalg.norm(world.state.v[1]) > 0.5  # they did meet
    after, turned = momenta(world, 1 / 240)
    np.testing.assert_allclose(after, linear, atol=1e-11)
    np.testing.assert_allclose(turned, angular, atol=5e-3 * np.linalg.norm(angular))


@pytest.mark.parametrize("speed", [10.0, 60.0, 300.0, 1000.0])
def test_a_fast_ball_does_not_pass_through_a_thin_plate(speed):
    ball = RigidBody([Sphere(0.01)], location=(0.0, 0.0, 1.0), velocity=(0.0, 0.0, -speed))
    plate = shapes.Box((2.0, 2.0, 0.001))
    world = RigidWorld([ball], colliders=[plate], settings=RigidSettings(substeps=1))
    assert stepped(world, 60).state.p[0, 2] == pytest.approx(0.0105, abs=1e-4)


def test_a_ball_bounces_to_the_height_that_its_restitution_gives():
    ball = RigidBody([Sphere(0.1)], location=(0.0, 0.0, 1.1), restitution=0.8)
    world = RigidWorld([ball], colliders=[ground()])
    heights = [stepped(world, 1).state.p[0, 2] for _ in range(80)]
    lowest = int(np.argmin(heights[:60]))
    assert max(heights[lowest:]) - 0.1 == pytest.approx(0.64, rel=0.03)


def test_what_overlaps_comes_apart_without_a_jump():
    boxes = [
        RigidBody([Box((1, 1, 1))], location=(0, 0, 0.3)),
        RigidBody([Box((1, 1, 1))], (0, 0, 1)),
    ]
    world = RigidWorld(boxes, colliders=[ground()])
    fastest = 0.0
    for _ in range(180):
        fastest = max(fastest, np.abs(stepped(world, 1).state.v[:2]).max())
    assert fastest < 0.5
    np.testing.assert_allclose(world.state.p[:2, 2], [0.5, 1.5], atol=0.01)


def test_a_moving_belt_carries_a_box_along():
    belt = colliders.Collider(
        shapes.Box((20, 2, 1)), Motion([(0, 0, -0.5), (2, 0, -0.5)], (1, 0, 0, 0), [0.0, 2.0])
    )
    body = RigidBody([Box((0.2, 0.2, 0.2))], location=(0, 0, 0.1))
    world = stepped(RigidWorld([body], colliders=[belt]), 120)
    assert world.state.p[0, 0] == pytest.approx(2.0, abs=0.15)
    assert world.state.v[0, 0] == pytest.approx(1.0, abs=1e-3)


def test_sleep_ends_when_something_comes():
    sleeper = RigidBody([Box((0.4, 0.4, 0.4))], location=(0, 0, 0.2))
    comer = RigidBody([Sphere(0.2)], location=(-3.5, 0, 0.2), velocity=(3, 0, 0))
    world = RigidWorld([sleeper, comer], colliders=[ground(friction=0.0)])
    stepped(world, 45)
    assert world.state.is_asleep[0] and not world.state.is_asleep[1]
    before, _ = momenta(world, 0.0)
    stepped(world, 25)
    # It is hit as if it had been awake.
    after, _ = momenta(world, 0.0)
    assert after[0] == pytest.approx(before[0], rel=1e-6)
    assert world.state.v[0, 0] > 0.5


def test_a_world_continues_from_its_memory_bit_for_bit():
    def world():
        bodies = [
            RigidBody([Box((0.5, 0.4, 0.3))], (0, 0.05 * i, 0.3 + 0.45 * i)) for i in range(4)
        ]
        return RigidWorld(bodies, [Ball(a=0, b=1, point=(0, 0, 0.5))], colliders=[ground()])

    straight = stepped(world(), 60)
    first = stepped(world(), 30)
    second = world()
    second.restore(first.memory())
    stepped(second, 30)
    for a, b in zip(straight.state, second.state, strict=True):
        np.testing.assert_array_equal(a, b)


def test_more_contacts_than_there_is_room_for_are_found_all_the_same():
    side = 12
    bodies = [
        RigidBody([Box((0.1, 0.1, 0.1))], location=(0.2 * i, 0.2 * j, 0.05))
        for i in range(side)
        for j in range(side)
    ]
    world = stepped(RigidWorld(bodies, colliders=[ground()]), 5)
    assert world.counts[0] == 4 * side * side > 256
    np.testing.assert_allclose(world.state.p[: side * side, 2], 0.05, atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"location": (0.0, np.nan, 0.0)}, "location"),
        ({"rotation": (0.0, 0.0, 0.0, 0.0)}, "rotation"),
        ({"density": -1.0}, "density"),
        ({"mass": 0.0}, "mass"),
        ({"friction": -0.1}, "friction"),
        ({"restitution": 1.5}, "restitution"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, word):
    with pytest.raises(SettingsError, match=word):
        RigidBody([Sphere(0.1)], **settings)
