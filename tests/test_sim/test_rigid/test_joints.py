"""Joints: their Jacobians against differences, what they hold, and how springs and limits act."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jellycage.sim.errors import SettingsError
from jellycage.sim.maths import quaternions
from jellycage.sim.maths.quaternions_kernels import (
    displace,
    inverse,
    multiply,
    product,
    turn_vector,
)
from jellycage.sim.rigid.body import RigidBody
from jellycage.sim.rigid.joint_angles_kernels import angle_errors, swing_angle, twist_angle
from jellycage.sim.rigid.joints import WORLD, Ball, ConeTwist, Fixed, Hinge
from jellycage.sim.rigid.joints_kernels import point_gap, prepare_joints
from jellycage.sim.rigid.motion_kernels import predict_motion
from jellycage.sim.rigid.world import RigidSettings, RigidWorld
from jellycage.sim.shapes import Box, Capsule

NO_GRAVITY = (0.0, 0.0, 0.0)
EXACT = RigidSettings(substeps=4, iterations=60, sleep_speed=0.0)


def quaternion(rotation):
    return rotation.as_quat()[[3, 0, 1, 2]]


def random_world(rng, kind, **settings):
    """Two boxes in random poses, joined in frames that are turned against each other, ready for a step."""
    turns = Rotation.random(2, random_state=rng)
    bodies = [
        RigidBody([Box(rng.uniform(0.2, 0.6, 3))], rng.normal(size=3), quaternion(turn))
        for turn in turns
    ]
    frame = Rotation.random(random_state=rng)
    bent = Rotation.from_rotvec(rng.normal(scale=0.5, size=3)) * frame
    joint = kind(
        a=0, b=1, point=rng.normal(size=3), frame=quaternion(frame), frame_b=quaternion(bent), **settings
    )  # fmt: skip
    world = RigidWorld(bodies, [joint], gravity=NO_GRAVITY)
    # Called from Python these are plain Python.
    predict_motion(world.state, world.arrays, world.scratch, np.zeros(3), 0.01)
    prepare_joints(world.state, world.scratch, world.joints, 0.01)
    return world


def turn_of(world, body, vector):
    """Frame b in frame a after one of the bodies was turned by a vector."""
    world.scratch.angular[:2] = 0.0
    world.scratch.angular[body] = vector
    frames, turn = [np.empty(4), np.empty(4)], np.empty(4)
    for side in range(2):
        displace(world.joints.world_frame[0, side], world.scratch.angular[side], frames[side])
    multiply(inverse(frames[0]), frames[1], turn)
    return turn


def slopes(world, measure, step=1e-6):
    """Derivative of a measure of the turn by the displacements of a and of b, shapes (..., 3) each."""
    return [
        np.stack(
            [
                (
                    np.array(measure(turn_of(world, body, step * axis)))
                    - np.array(measure(turn_of(world, body, -step * axis)))
                )
                / (2.0 * step)
                for axis in np.eye(3)
            ],
            axis=-1,
        )
        for body in (0, 1)
    ]


@pytest.mark.parametrize("seed", range(10))
def test_swing_and_twist_have_the_jacobians_of_differences(seed):
    world = random_world(np.random.default_rng(seed), ConeTwist, swing=1.0)
    for row, measure in ((world.joints.swing[0], swing_angle), (world.joints.twist[0], twist_angle)):  # fmt: skip
        of_a, of_b = slopes(world, measure)
        np.testing.assert_allclose(of_b, row[:3], atol=1e-8)
        np.testing.assert_allclose(of_a, -row[:3], atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_what_hinges_and_fixed_joints_hold_has_the_axes_as_jacobian_when_held(seed):
    rng = np.random.default_rng(seed)
    for kind, which in ((Hinge, slice(1, 3)), (Fixed, slice(0, 3))):
        world = random_world(rng, kind, stiffness=1.0)
        # Rows are those of a joint that is held; only there the axes of frame a are exact.
        world.joints.world_frame[0, 1] = world.joints.world_frame[0, 0]
        # The target is where it is, as a rigid muscle would have it.
        world.joints.target[0] = (1.0, 0.0, 0.0, 0.0)
        of_a, of_b = slopes(world, lambda turn, w=world: angle_errors(0, w.joints, turn))
        axes = world.joints.axes[0]
        np.testing.assert_allclose(of_b[which], axes[which], atol=1e-8)
        np.testing.assert_allclose(of_a[which], -axes[which], atol=1e-8)


def test_the_turn_from_a_target_is_that_of_scipy():
    rng = np.random.default_rng(0)
    for _ in range(50):
        target, turn = Rotation.random(2, random_state=rng)
        wanted = (turn * target.inv()).as_rotvec()
        left = product(quaternion(turn), inverse(quaternion(target)))
        np.testing.assert_allclose(turn_vector(left), wanted, atol=1e-12)


def test_the_point_has_the_jacobian_of_differences():
    world = random_world(np.random.default_rng(1), Ball)
    step, joints, scratch = 1e-6, world.joints, world.scratch

    def gap(linear, angular):
        scratch.linear[:2], scratch.angular[:2] = linear, angular
        turned = [np.empty(4), np.empty(4)]
        for body in range(2):
            displace(joints.world_frame[0, body], scratch.angular[body], turned[body])
        return np.array(point_gap(0, 0, 1, world.state, scratch, joints, *turned))

    for body, sign in ((0, -1.0), (1, 1.0)):
        for axis in np.eye(3):
            move = np.zeros((2, 3))
            move[body] = step * axis
            none = np.zeros((2, 3))
            moved = (gap(move, none) - gap(-move, none)) / (2.0 * step)
            np.testing.assert_allclose(moved, sign * axis, atol=1e-8)
            turned = (gap(none, move) - gap(none, -move)) / (2.0 * step)
            np.testing.assert_allclose(turned, sign * np.cross(axis, joints.arm[0, body]), atol=1e-8)  # fmt: skip


def arm(joint, **more):
    """A capsule along x that hangs on the world at the origin."""
    body = RigidBody([Capsule(0.05, (0.05, 0, 0), (0.95, 0, 0))], **more)
    return RigidWorld([body], [joint], settings=EXACT)


def direction(world):
    return quaternions.turned(world.state.q[0], np.array([1.0, 0.0, 0.0]))


def test_a_fixed_joint_holds_a_cantilever():
    world = arm(Fixed(a=WORLD, b=0, point=(0, 0, 0)))
    for _ in range(120):
        world.step(1 / 60)
    np.testing.assert_allclose(direction(world), [1, 0, 0], atol=1e-8)
    assert world.residuals().joint_gap.max() < 1e-8


def test_a_hinge_turns_about_its_axis_only_and_stops_at_its_limit():
    about_y = quaternions.about(
        np.array([0.0, 0.0, 1.0]), 0.5 * np.pi
    )  # x of the frame is y of the world
    world = arm(
        Hinge(a=WORLD, b=0, point=(0, 0, 0), frame=about_y, low=-0.1, high=0.7), spin=(3, 0, 3)
    )
    for _ in range(240):
        world.step(1 / 60)
        assert abs(direction(world)[1]) < 1e-5
        assert world.residuals().joint_angle.max() < 1e-4
    # Gravity turns x towards -z, which is positive about y.
    np.testing.assert_allclose(direction(world), [np.cos(0.7), 0.0, -np.sin(0.7)], atol=1e-3)


def test_a_cone_holds_what_swings_and_twists_in_it():
    joint = ConeTwist(a=WORLD, b=0, point=(0, 0, 0), swing=0.5, twist_low=-0.2, twist_high=0.3)
    world = arm(joint, spin=(20.0, 0.0, 4.0))
    for _ in range(240):
        world.step(1 / 60)
        assert world.residuals().joint_angle.max() < 2e-3
    angle = np.arccos(np.clip(direction(world)[0], -1.0, 1.0))
    assert angle == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize(("iterations", "substeps"), [(5, 2), (20, 2), (20, 8)])
def test_a_spring_sags_by_load_over_stiffness_whatever_the_effort(iterations, substeps):
    stiffness = 400.0
    body = RigidBody([Capsule(0.05, (0.05, 0, 0), (0.95, 0, 0))], mass=2.0)
    joint = Ball(a=WORLD, b=0, point=(0, 0, 0), stiffness=stiffness, damping=40.0)
    settings = RigidSettings(substeps=substeps, iterations=iterations, sleep_speed=0.0)
    world = RigidWorld([body], [joint], settings=settings)
    for _ in range(300):
        world.step(1 / 60)
    sag = np.arctan2(-direction(world)[2], direction(world)[0])
    # k a = m g l cos(a)
    assert stiffness * sag == pytest.approx(2.0 * 9.81 * 0.5 * np.cos(sag), rel=1e-3)


def test_a_spring_swings_at_its_frequency():
    body = RigidBody([Box((0.4, 0.4, 0.4))], spin=(0.0, 0.0, 0.1))
    inertia = body.properties.inertia[2, 2]
    rate = 2.0 * np.pi * 1.5
    joint = Ball(a=WORLD, b=0, point=(0, 0, 0), stiffness=inertia * rate**2)
    world = RigidWorld(
        [body], [joint], gravity=NO_GRAVITY, settings=RigidSettings(substeps=16, sleep_speed=0.0)
    )
    angles = []
    for _ in range(240):
        world.step(1 / 120)
        angles.append(2.0 * np.arctan2(world.state.q[0, 3], world.state.q[0, 0]))
    angles = np.array(angles)
    crossings = np.flatnonzero(np.diff(np.sign(angles)) != 0)
    period = 2.0 * np.diff(crossings).mean() / 120
    assert period == pytest.approx(1 / 1.5, rel=0.02)


def test_a_rigid_muscle_holds_any_pose():
    turn = quaternions.about(np.array([0.0, 1.0, 0.0]), 0.4)
    world = arm(Ball(a=WORLD, b=0, point=(0, 0, 0), frame_b=turn, stiffness=np.inf))
    start = direction(world)
    for _ in range(120):
        world.step(1 / 60)
    np.testing.assert_allclose(direction(world), start, atol=1e-7)


def chain(links, settings):
    """Links along x, hanging on the world."""
    length = 0.5
    bodies = [
        RigidBody([Box((length, 0.1, 0.1), (0.5 * length, 0, 0))], (length * i, 0, 0))
        for i in range(links)
    ]
    joints = [Ball(a=i - 1 if i else WORLD, b=i, point=(length * i, 0, 0)) for i in range(links)]
    pairs = [(a, b) for b in range(links) for a in range(b)]
    return RigidWorld(bodies, joints, settings=settings, excluded_pairs=pairs)


def test_a_chain_keeps_its_energy_for_ten_seconds():
    world = chain(3, RigidSettings(substeps=8, iterations=30, sleep_speed=0.0))
    start = world.energy()
    scale = 9.81 * sum(body.properties.mass * 1.5 for body in world.bodies)
    drift, gap = [], 0.0
    for _ in range(600):
        world.step(1 / 60)
        drift.append((world.energy() - start) / scale)
        gap = max(gap, world.residuals().joint_gap.max())
    assert abs(np.mean(drift[-60:])) < 2e-3
    assert gap < 1e-5


def test_gaps_vanish_with_iterations():
    gaps = []
    for iterations in (5, 20, 80):
        world = chain(6, RigidSettings(substeps=1, iterations=iterations, sleep_speed=0.0))
        for _ in range(60):
            world.advance(1 / 60, 1)
        gaps.append(world.residuals().joint_gap.max())
    assert gaps[0] > 5.0 * gaps[1] > 25.0 * gaps[2]


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: Ball(a=0, b=0, point=(0, 0, 0)), "itself"),
        (lambda: Ball(a=0, b=1, point=(0, 0)), "point"),
        (lambda: Ball(a=0, b=1, point=(0, 0, 0), stiffness=-1.0), "stiffness"),
        (lambda: Hinge(a=0, b=1, point=(0, 0, 0), low=1.0, high=0.0), "hinge"),
        (lambda: ConeTwist(a=0, b=1, point=(0, 0, 0), swing=-1.0), "swing"),
        (lambda: Ball(a=0, b=1, point=(0, 0, 0), frame=(0, 0, 0, 0)), "frame"),
        (lambda: RigidWorld([RigidBody([Box((1, 1, 1))])], [Ball(a=0, b=7, point=(0, 0, 0))]), "exist"),
    ],
)  # fmt: skip
def test_joints_that_cannot_be_are_refused(make, word):
    with pytest.raises(SettingsError, match=word):
        make()
