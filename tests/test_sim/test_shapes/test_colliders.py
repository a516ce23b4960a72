"""Colliders are where their keys say, and wrong values are refused in one line."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jellycage import sim
from jellycage.sim.maths.quaternions import as_matrices, slerp, turn_to
from jellycage.sim.shapes.colliders import collider_arrays
from jellycage.sim.shapes.signed_distance_kernels import KINDS


def quaternion(axis, degrees):
    half = np.radians(degrees) / 2.0
    axis = np.asarray(axis, float) / np.linalg.norm(axis)
    return np.array([np.cos(half), *(np.sin(half) * axis)])


def turn_of(pose):
    return pose[:9].reshape(3, 3)


def angle_of(matrix):
    """Angle of a rotation [degrees]."""
    return np.degrees(np.arccos(np.clip((np.trace(matrix) - 1.0) / 2.0, -1.0, 1.0)))


def random_quaternions(count, seed=0):
    q = np.random.default_rng(seed).normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def test_matrices_of_quaternions_are_rotations():
    for q in random_quaternions(50):
        r = as_matrices(q)
        np.testing.assert_allclose(r @ r.T, np.eye(3), atol=1e-14)
        assert np.linalg.det(r) == pytest.approx(1.0, abs=1e-14)
        np.testing.assert_allclose(r, Rotation.from_quat(q[[1, 2, 3, 0]]).as_matrix(), atol=1e-14)


def test_turn_to_takes_z_to_a_direction_by_the_shortest_turn():
    directions = np.random.default_rng(0).normal(size=(50, 3))
    special = [[0, 0, 1], [0, 0, -1], [1, 0, 0], [0, -3, 0], [1e-7, 0, -1], [0, 0, 1e-30]]
    for d in [*directions, *special]:
        d = np.asarray(d, float) / np.linalg.norm(d)
        q = turn_to(5.0 * d)
        r = as_matrices(q)
        assert abs(np.linalg.norm(q) - 1.0) < 1e-12
        np.testing.assert_allclose(r @ [0.0, 0.0, 1.0], d, atol=1e-6 if d[2] < -0.9 else 1e-12)
        expected = np.degrees(np.arccos(np.clip(d[2], -1.0, 1.0)))
        assert angle_of(r) == pytest.approx(expected, abs=1e-4)


def test_a_pose_passes_through_its_keys_and_is_held_outside():
    rng = np.random.default_rng(0)
    times, places = np.array([-1.0, 0.5, 2.0]), rng.normal(size=(3, 3))
    turns = random_quaternions(3)
    motion = sim.Motion(places, 3.0 * turns, times)  # of any length
    for time, place, turn in zip(times, places, turns, strict=True):
        pose = motion.pose(time)
        assert pose.shape == (12,)
        np.testing.assert_allclose(pose[9:], place, atol=1e-14)
        np.testing.assert_allclose(turn_of(pose), as_matrices(turn), atol=1e-14)
    np.testing.assert_allclose(motion.pose(-9.0), motion.pose(-1.0), atol=1e-14)
    np.testing.assert_allclose(motion.pose(9.0), motion.pose(2.0), atol=1e-14)


def test_a_place_moves_straight_and_evenly_between_keys():
    motion = sim.Motion([[0, 0, 0], [4, -8, 0], [4, -8, 1]], times=[1.0, 3.0, 4.0])
    np.testing.assert_allclose(motion.pose(1.5)[9:], [1.0, -2.0, 0.0])
    np.testing.assert_allclose(motion.pose(3.25)[9:], [4.0, -8.0, 0.25])
    np.testing.assert_array_equal(turn_of(motion.pose(1.5)), np.eye(3))


def test_a_turn_goes_on_at_constant_speed():
    axis, times = [1.0, 2.0, -0.5], [0.0, 2.0]
    motion = sim.Motion(rotations=[quaternion(axis, 20.0), quaternion(axis, 170.0)], times=times)
    steps = [turn_of(motion.pose(t)) for t in np.linspace(0.0, 2.0, 11)]
    turned = [angle_of(a.T @ b) for a, b in zip(steps[:-1], steps[1:], strict=True)]
    np.testing.assert_allclose(turned, 15.0, atol=1e-9)
    np.testing.assert_allclose(steps[4], as_matrices(quaternion(axis, 80.0)), atol=1e-14)


def test_turns_take_the_shorter_way_whatever_the_sign_of_the_keys():
    a, b, c = (quaternion([0, 0, 1], angle) for angle in (0.0, 100.0, 200.0))
    motion = sim.Motion(rotations=[a, -b, c], times=[0.0, 1.0, 2.0])
    for time in (0.25, 1.0, 1.75):
        expected = as_matrices(quaternion([0, 0, 1], 100.0 * time))
        np.testing.assert_allclose(turn_of(motion.pose(time)), expected, atol=1e-14)
    back = sim.Motion(rotations=[a, quaternion([0, 0, 1], 270.0)], times=[0.0, 1.0])
    expected = as_matrices(quaternion([0, 0, 1], -45.0))
    np.testing.assert_allclose(turn_of(back.pose(0.5)), expected, atol=1e-14)


def test_slerp_between_equal_turns_is_that_turn():
    q = quaternion([1, 1, 0], 40.0)
    np.testing.assert_array_equal(slerp(q, q, 0.3), q)


def test_ground_is_a_level_plane_at_its_height():
    floor = sim.ground(1.5, friction=0.2, restitution=0.1)
    assert isinstance(floor.shape, sim.Plane)
    assert (floor.friction, floor.restitution, floor.thickness) == (0.2, 0.1, np.inf)
    pose = floor.motion.pose(3.0)
    np.testing.assert_array_equal(pose[9:], [0.0, 0.0, 1.5])
    np.testing.assert_array_equal(turn_of(pose), np.eye(3))
    assert sim.ground().motion.pose(0.0)[11] == 0.0


def test_lengths_and_thickness_of_the_shapes():
    np.testing.assert_array_equal(sim.Sphere(2.0).lengths(), [2.0, 0.0, 0.0])
    np.testing.assert_array_equal(sim.Box((1.0, 2.0, 0.5)).lengths(), [0.5, 1.0, 0.25])
    np.testing.assert_array_equal(sim.Capsule.of_keys(0.3, 2.0).lengths(), [0.3, 1.0, 0.0])
    assert sim.Sphere(2.0).thickness == 4.0
    assert sim.Box((1.0, 2.0, 0.5)).thickness == 0.5
    assert sim.Capsule.of_keys(0.3, 2.0).thickness == 0.6


def test_arrays_hold_every_collider_at_both_ends_of_a_step():
    moving = sim.Motion([[0, 0, 0], [0, 0, 2]], times=[0.0, 1.0])
    colliders = (
        sim.ground(-1.0),
        sim.Collider(sim.Sphere(0.5), moving),
        sim.Collider(sim.Box((2, 4, 6))),
    )
    arrays = collider_arrays(colliders, 0.25, 0.75)
    assert [c.shape.kind for c in colliders] == [KINDS[kind] for kind in arrays.kind]
    np.testing.assert_array_equal(arrays.before[:, 11], [-1.0, 0.5, 0.0])
    np.testing.assert_array_equal(arrays.after[:, 11], [-1.0, 1.5, 0.0])
    np.testing.assert_array_equal(arrays.parameters, [[0, 0, 0], [0.5, 0, 0], [1, 2, 3]])
    nothing = collider_arrays((), 0.0, 1.0)
    assert [len(array) for array in nothing] == [0, 0, 0, 0]


WRONG = {
    "friction below 0": lambda: sim.ground(friction=-0.1),
    "friction without end": lambda: sim.ground(friction=np.inf),
    "friction not a number": lambda: sim.Collider(sim.Sphere(1.0), friction=np.nan),
    "restitution above 1": lambda: sim.ground(restitution=1.1),
    "restitution below 0": lambda: sim.Collider(sim.Box((1.0, 1.0, 1.0)), restitution=-0.1),
    "radius below 0": lambda: sim.Sphere(-1.0),
    "radius not a number": lambda: sim.Capsule.of_keys(np.nan, 1.0),
    "length below 0": lambda: sim.Capsule.of_keys(1.0, -1.0),
    "side below 0": lambda: sim.Box((1.0, -1.0, 1.0)),
    "side without end": lambda: sim.Box((1.0, np.inf, 1.0)),
    "two sides": lambda: sim.Box((1.0, 1.0)),
    "one side": lambda: sim.Box(1.0),
    "a hull": lambda: sim.Collider(sim.Hull(np.eye(4, 3))),
    "no shape": lambda: sim.Collider("sphere"),
    "times fall": lambda: sim.Motion([[0, 0, 0]] * 2, times=[1.0, 0.0]),
    "times repeat": lambda: sim.Motion([[0, 0, 0]] * 2, times=[1.0, 1.0]),
    "times not numbers": lambda: sim.Motion([[0, 0, 0]] * 2, times=[0.0, np.nan]),
    "too few places": lambda: sim.Motion([[0, 0, 0]] * 2, times=[0.0, 1.0, 2.0]),
    "flat place": lambda: sim.Motion((0.0, 0.0)),
    "place not a number": lambda: sim.Motion((0.0, 0.0, np.nan)),
    "too few turns": lambda: sim.Motion(rotations=[[1, 0, 0, 0]] * 2, times=[0.0, 1.0, 2.0]),
    "no turn": lambda: sim.Motion(rotations=(0.0, 0.0, 0.0, 0.0)),
    "turn of three numbers": lambda: sim.Motion(rotations=(1.0, 0.0, 0.0)),
    "no keys": lambda: sim.Motion(np.zeros((0, 3)), times=[]),
    "no normal": lambda: turn_to((0.0, 0.0, 0.0)),
    "flat normal": lambda: turn_to((0.0, 1.0)),
    "normal not a number": lambda: turn_to((0.0, 1.0, np.nan)),
}


@pytest.mark.parametrize("make", WRONG.values(), ids=WRONG)
def test_wrong_values_are_refused_in_one_line(make):
    with pytest.raises(sim.SettingsError) as caught:
        make()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) > 20


def test_values_at_the_limits_are_taken():
    assert sim.ground(friction=0.0, restitution=1.0).restitution == 1.0
    assert sim.Capsule.of_keys(0.5, 0.0).lengths()[1] == 0.0


def test_a_motion_does_not_change_with_the_arrays_that_it_was_made_from():
    places, times = np.zeros((2, 3)), np.array([0.0, 1.0])
    motion = sim.Motion(places, times=times)
    places[:], times[:] = 7.0, 9.0
    np.testing.assert_array_equal(motion.pose(0.5)[9:], 0.0)
    with pytest.raises(ValueError):
        motion.locations[0] = 1.0
