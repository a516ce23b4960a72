"""Rods that carry bodies: statics from the least energy of an arc, and chains of joints that they stand for."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from jellycage.sim.errors import SettingsError
from jellycage.sim.maths import quaternions
from jellycage.sim.rigid.body import RigidBody
from jellycage.sim.rigid.joints import WORLD
from jellycage.sim.rigid.rods import Rod, arc_through, bend_of
from jellycage.sim.rigid.world import RigidSettings, RigidWorld
from jellycage.sim.shapes import Box

LENGTH = 0.4


def loaded_rod(
    points=((0, 0, 0), (LENGTH, 0, 0)), *, body=None, iterations=60, gravity=(0, 0, -9.81), **rod
):
    """A box at the end of a rod that the world holds."""
    end = np.array(points[-1], float)
    body = body or RigidBody([Box((0.2, 0.1, 0.1), (0.1, 0, 0))], location=end, mass=3.0)
    settings = RigidSettings(substeps=4, iterations=iterations, sleep_speed=0.0)
    return RigidWorld(
        [body], [], [Rod(a=WORLD, b=0, points=points, **rod)], gravity=gravity, settings=settings
    )


def settled(world, steps=600):
    for _ in range(steps):
        world.step(1 / 60)
    return world


def hanging_bend(stiffness, mass, lever):
    """The bend at which stiffness and gravity balance: least energy over all arcs that start along x."""

    def energy(psi):
        # The end of the arc, then the centre of the box beyond it, both below.
        drop = LENGTH * 0.5 * psi * np.sinc(0.5 * psi / np.pi) ** 2
        return 0.5 * stiffness * psi**2 - mass * 9.81 * (drop + lever * np.sin(psi))

    return minimize_scalar(energy, bounds=(0.0, 2.5), method="bounded", options={"xatol": 1e-10}).x


@pytest.mark.parametrize("stiffness", [10.0, 30.0, 200.0])
def test_a_loaded_rod_hangs_as_an_arc_of_its_length_and_least_energy(stiffness):
    world = settled(
        loaded_rod(
            bend_stiffness=stiffness, twist_stiffness=10.0, bend_damping=4.0, twist_damping=1.0
        )
    )
    left = world.residuals()
    assert abs(left.rod_length[0]) < 1e-6
    assert left.rod_angle[0] < 1e-6
    x, y, z = quaternions.turned(world.state.q[0], np.array([1.0, 0.0, 0.0]))
    psi = np.arctan2(-z, x)
    assert psi == pytest.approx(hanging_bend(stiffness, 3.0, 0.1), rel=1e-4)
    # The end is where an arc of that bend ends.
    end = world.poses()[0][0]
    wanted = LENGTH * np.array([np.sinc(psi / np.pi), 0.0, -0.5 * psi * np.sinc(0.5 * psi / np.pi) ** 2])  # fmt: skip
    np.testing.assert_allclose(end, wanted, atol=1e-5)


def test_twenty_iterations_leave_little():
    world = loaded_rod(iterations=20, bend_stiffness=30.0, bend_damping=1.0, twist_damping=1.0)
    worst = np.zeros(2)
    for _ in range(120):
        world.step(1 / 60)
        left = world.residuals()
        worst = np.maximum(worst, [abs(left.rod_length[0]), left.rod_angle[0]])
    print(f"length off by at most {worst[0]:.2e} m, no arc by {worst[1]:.2e} rad")
    assert worst[0] < 1e-4 and worst[1] < 1e-3


def test_a_torque_along_a_straight_rod_only_twists_it():
    body = RigidBody([Box((0.2, 0.2, 0.2))], location=(LENGTH, 0, 0), spin=(3.0, 0, 0))
    world = loaded_rod(body=body, gravity=(0, 0, 0), twist_stiffness=5.0, bend_stiffness=1.0)  # fmt: skip
    widest = 0.0
    for _ in range(120):
        world.step(1 / 60)
        turn = quaternions.turn_vectors(world.state.q[0])
        assert np.abs(turn[1:]).max() < 1e-9
        np.testing.assert_allclose(world.state.p[0], [LENGTH, 0, 0], atol=1e-9)
        widest = max(widest, abs(turn[0]))
    inertia = body.properties.inertia[0, 0]
    assert widest == pytest.approx(3.0 * np.sqrt(inertia / 5.0), rel=0.05)  # of a free swing


def test_limits_of_bend_and_twist_hold():
    body = RigidBody(
        [Box((0.3, 0.2, 0.2), (0.15, 0, 0))], location=(LENGTH, 0, 0), spin=(8.0, 0, 0)
    )
    world = loaded_rod(
        body=body, most_bend=0.8, most_twist=0.4, bend_damping=2.0, twist_damping=0.5
    )
    for _ in range(300):
        world.step(1 / 60)
        assert world.residuals().rod_angle[0] < 5e-3
    x, _, z = quaternions.turned(world.state.q[0], np.array([1.0, 0.0, 0.0]))
    assert np.arctan2(-z, x) == pytest.approx(0.8, abs=0.01)


def test_a_rod_is_valid_and_at_rest_in_whatever_line_it_starts():
    rng = np.random.default_rng(0)
    for _ in range(40):
        points = np.cumsum(rng.normal(size=(rng.integers(2, 7), 3)), axis=0)
        turn = rng.normal(size=4)
        body = RigidBody(
            [Box((0.2, 0.1, 0.1))], location=points[-1], rotation=turn / np.linalg.norm(turn)
        )
        world = loaded_rod(
            points, body=body, gravity=(0, 0, 0), bend_stiffness=10.0, twist_stiffness=10.0
        )
        left = world.residuals()
        assert abs(left.rod_length[0]) < 1e-12 and left.rod_angle[0] < 1e-7
        start = world.state.p[0].copy()
        settled(world, 10)
        np.testing.assert_allclose(world.state.p[0], start, atol=1e-9)


def test_an_arc_through_points_of_an_arc_is_that_arc():
    angle = np.linspace(0.0, 1.7, 400)
    points = 2.0 * np.stack([np.sin(angle), np.zeros(400), 1.0 - np.cos(angle)], axis=1)
    arc = arc_through(points)
    assert arc.bend == pytest.approx(1.7, rel=1e-4)
    assert arc.length == pytest.approx(3.4, rel=1e-4)
    np.testing.assert_allclose(arc.at(np.linspace(0, 1, 400)), points, atol=1e-3)
    assert bend_of(np.sinc(0.5 * 1.3 / np.pi)) == pytest.approx(1.3, abs=1e-9)


def chain_end(total, joints):
    """End of a chain of length 1 whose equal joints share an angle, with half a link at either end (Fig. 7.4)."""
    link = 1.0 / joints
    lengths = [0.5 * link, *[link] * (joints - 1), 0.5 * link]
    angles = total / joints * np.arange(joints + 1)
    return np.dot(lengths, np.cos(angles)), np.dot(lengths, np.sin(angles))


def test_a_chain_of_many_joints_reaches_where_the_rod_does():
    away = []
    for joints in (1, 3, 6, 12, 24):
        far = 0.0
        for psi in np.linspace(0.05, 2.5, 30):
            arc = np.array([np.sinc(psi / np.pi), 0.5 * psi * np.sinc(0.5 * psi / np.pi) ** 2])
            far = max(far, np.linalg.norm(arc - chain_end(psi, joints)))
        away.append(far)
    print(
        "distance from the rod's locus, per length, of 1, 3, 6, 12, 24 joints:", np.round(away, 5)
    )
    ratios = np.array(away[:-1]) / np.array(away[1:])
    np.testing.assert_allclose(ratios[1:], 4.0, rtol=0.1)  # second order in the number of joints
    assert away[0] > 5.0 * away[1]


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"points": [(0, 0, 0)]}, "two points"),
        ({"points": [(0, 0, 0), (0, 0, 0)]}, "apart"),
        ({"points": [(0, 0, 0), (np.nan, 0, 0)]}, "finite"),
        ({"bend_stiffness": -1.0}, "bend_stiffness"),
        ({"most_bend": 4.0}, "most_bend"),
        ({"b": WORLD}, "both ends"),
    ],
)
def test_rods_that_cannot_be_are_refused(settings, word):
    with pytest.raises(SettingsError, match=word):
        Rod(**{"a": WORLD, "b": 0, "points": [(0, 0, 0), (1, 0, 0)]} | settings)
