"""Pins block what they say, lead where they say, and pull as hard as they say."""

import numpy as np
import pytest

from jellycage.sim.errors import SettingsError
from jellycage.sim.maths.keyed import Keyed
from jellycage.sim.soft.pins import HALF_STRENGTH_FREQUENCY, Pin, spring_rate
from jellycage.sim.soft.points import node_points

POINTS = node_points([4, 2])
REST = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
SLANTED = np.array([1.0, -2.0, 0.5])


def test_a_point_pin_blocks_every_direction():
    np.testing.assert_array_equal(Pin(POINTS).directions, np.eye(3))


@pytest.mark.parametrize("along", [SLANTED, [0, 0, 2], [0, -1, 0], [1e-3, 0, 0], [1, 1, 1]])
def test_a_line_pin_blocks_the_two_directions_across_it(along):
    directions = Pin(POINTS, along=along).directions
    np.testing.assert_allclose(directions @ directions.T, np.eye(2), atol=1e-15)
    np.testing.assert_allclose(directions @ np.array(along), 0.0, atol=1e-15)


def test_a_line_along_an_axis_blocks_the_other_axes_themselves():
    assert np.count_nonzero(Pin(POINTS, along=[0, 0, 2]).directions) == 2


def test_a_plane_pin_blocks_its_normal():
    expected = SLANTED[None] / np.linalg.norm(SLANTED)
    np.testing.assert_allclose(Pin(POINTS, normal=SLANTED).directions, expected, rtol=1e-15)


def test_without_a_target_the_points_stay_where_they_are():
    np.testing.assert_array_equal(Pin(POINTS).targets(REST, 3.0), REST)


def test_targets_may_be_constant_keyed_or_functions():
    moved = REST + [0.0, 0.0, 2.0]
    keyed = Keyed([0.0, 4.0], [REST, REST + [0.0, 0.0, 4.0]])
    for target in (moved, keyed, lambda time: REST + [0.0, 0.0, time]):
        np.testing.assert_allclose(Pin(POINTS, target).targets(REST, 2.0), moved)


def test_one_target_may_serve_all_points():
    np.testing.assert_array_equal(Pin(POINTS, [0, 0, 1]).targets(REST, 0.0), [[0, 0, 1]] * 2)


def test_strength_may_differ_by_point_and_change_in_time():
    pin = Pin(POINTS, strength=Keyed([0.0, 1.0], [[0.0, 1.0], [1.0, 1.0]]))
    np.testing.assert_array_equal(pin.strengths(0.0) == 1.0, [False, True])
    np.testing.assert_allclose(pin.strengths(0.25), [0.25, 1.0])
    np.testing.assert_array_equal(pin.strengths(2.0) == 1.0, [True, True])
    np.testing.assert_array_equal(Pin(POINTS, strength=0.5).strengths(0.0), [0.5, 0.5])


def test_the_spring_rate_runs_from_nothing_to_infinity():
    rate = spring_rate([0.0, 0.5, 1.0])
    np.testing.assert_allclose(rate, [0.0, 2.0 * np.pi * HALF_STRENGTH_FREQUENCY, np.inf])
    assert (np.diff(spring_rate(np.linspace(0.0, 1.0, 50))) > 0.0).all()


@pytest.mark.parametrize("mass", [1e-3, 10.0])
def test_a_half_strong_spring_halves_its_error_in_two_frames_and_never_overshoots(mass):
    rate, error, speed, dt = float(spring_rate(0.5)), 1.0, 0.0, 1e-5
    path = []
    for _ in range(int(0.5 / dt)):
        speed += dt * -(mass * rate**2 * error + 2.0 * mass * rate * speed) / mass
        error += dt * speed
        path.append(error)
    assert path[int(2 / 24 / dt)] < 0.5
    assert min(path) >= 0.0
    assert path[-1] < 1e-3


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"along": [1, 0, 0], "normal": [0, 1, 0]}, "not both"),
        ({"along": [0, 0, 0]}, "along: expected a direction"),
        ({"normal": [1, 0]}, "normal: expected a direction"),
        ({"normal": [np.nan, 0, 0]}, "normal: expected a direction"),
        ({"strength": 1.01}, r"0\.\.1"),
        ({"strength": [0.5, -0.1]}, r"0\.\.1"),
        ({"strength": np.nan}, r"0\.\.1"),
        ({"strength": Keyed([0, 1], [0, 2])}, r"0\.\.1"),
        ({"strength": [1, 1, 1]}, "one per point"),
        ({"target": np.zeros((3, 3))}, "one row per point"),
        ({"target": Keyed([0, 1], np.zeros((2, 5, 3)))}, "one row per point"),
    ],
)
def test_pins_that_cannot_be_are_refused_when_made(settings, text):
    with pytest.raises(SettingsError, match=text):
        Pin(POINTS, **settings)


def test_a_function_that_leaves_the_range_is_refused_when_read():
    pin = Pin(POINTS, strength=lambda time: time)
    assert (pin.strengths(1.0) == 1.0).all()
    with pytest.raises(SettingsError, match=r"0\.\.1"):
        pin.strengths(1.5)
