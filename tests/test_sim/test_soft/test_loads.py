"""Loads give nodes the momentum they stand for and points the change they ask for."""

import numpy as np
import pytest

from jellycage.sim.errors import SettingsError
from jellycage.sim.maths.keyed import Keyed
from jellycage.sim.soft.loads import (
    Force,
    Impulse,
    PositionChange,
    VelocityChange,
    apply_events,
    force_on_nodes,
)
from jellycage.sim.soft.points import embedded_points, node_points

NODE_COUNT = 9
TETS = [[0, 1, 2, 3], [1, 2, 3, 4], [5, 6, 7, 8]]


def points_in(elements, seed=0):
    weights = np.random.default_rng(seed).dirichlet(np.ones(4), len(elements))
    return embedded_points(TETS, elements, weights)


@pytest.fixture
def nodes():
    """Positions, velocities and unequal masses."""
    rng = np.random.default_rng(1)
    return rng.normal(size=(NODE_COUNT, 3)), rng.normal(size=(NODE_COUNT, 3)), rng.random(9) + 0.1


def momentum(v, mass):
    return (mass[:, None] * v).sum(axis=0)


def test_forces_add_up_and_follow_time():
    points = points_in([0, 1])
    ramp = Force(points, Keyed([0.0, 2.0], [[0.0, 0.0, 0.0], [0.0, 0.0, 8.0]]))
    loads = [ramp, Force(points, [[1, 0, 0], [0, 2, 0]]), Force(points, lambda t: [t, 0, 0])]
    total = force_on_nodes(loads, 1.0, NODE_COUNT).sum(axis=0)
    np.testing.assert_allclose(total, [1.0 + 2 * 1.0, 2.0, 2 * 4.0], rtol=1e-14)


def test_a_force_for_a_time_does_what_its_impulse_does(nodes):
    x, v, mass = nodes
    points, force, dt = points_in([0, 2]), np.array([1.0, 2.0, -3.0]), 0.01
    expected = v + dt * force_on_nodes([Force(points, force)], 0.0, NODE_COUNT) / mass[:, None]
    apply_events([Impulse(points, dt * force)], 0.0, 1.0, x, v, mass)
    np.testing.assert_allclose(v, expected, rtol=1e-14)


def test_an_impulse_adds_its_momentum_and_moves_nothing(nodes):
    x, v, mass = nodes
    before, x_before = momentum(v, mass), x.copy()
    impulse = np.random.default_rng(2).normal(size=(3, 3))
    apply_events([Impulse(points_in([0, 0, 1]), impulse)], 0.0, 1.0, x, v, mass)
    np.testing.assert_allclose(momentum(v, mass) - before, impulse.sum(axis=0), atol=1e-14)
    np.testing.assert_array_equal(x, x_before)


def test_an_impulse_changes_its_point_by_impulse_over_effective_mass(nodes):
    x, v, mass = nodes
    point, impulse = points_in([1]), np.array([0.1, 0.2, 0.3])
    before = point.positions(v)
    apply_events([Impulse(point, impulse)], 0.0, 1.0, x, v, mass)
    change = point.positions(v) - before
    np.testing.assert_allclose(change[0], impulse / point.effective_mass(mass), rtol=1e-12)


def test_one_point_follows_the_closed_formula(nodes):
    x, v, mass = nodes
    point, change = points_in([1]), np.array([1.0, -2.0, 0.5])
    share = np.zeros(NODE_COUNT)
    share[TETS[1]] = point.weights[0] * point.effective_mass(mass) / mass[TETS[1]]  # eq. 3.33
    expected = v + share[:, None] * change
    before = momentum(v, mass)
    apply_events([VelocityChange(point, change)], 0.0, 1.0, x, v, mass)
    np.testing.assert_allclose(v, expected, atol=1e-14)
    gained = momentum(v, mass) - before
    np.testing.assert_allclose(gained, point.effective_mass(mass) * change, rtol=1e-12)


@pytest.mark.parametrize("kind", [VelocityChange, PositionChange])
def test_points_that_share_nodes_all_get_what_they_asked(nodes, kind):
    x, v, mass = nodes
    points, asked = points_in([0, 0, 1, 2]), np.random.default_rng(3).normal(size=(4, 3))
    changed, kept = (v, x) if kind is VelocityChange else (x, v)
    before, kept_before = points.positions(changed), kept.copy()
    apply_events([kind(points, asked)], 0.0, 1.0, x, v, mass)
    np.testing.assert_allclose(points.positions(changed) - before, asked, atol=1e-11)
    np.testing.assert_array_equal(kept, kept_before)


def test_a_change_is_the_one_of_least_energy(nodes):
    x, v, mass = nodes
    points, asked = points_in([0, 0, 1, 2]), np.random.default_rng(4).normal(size=(4, 3))
    J = np.zeros((4, NODE_COUNT))
    np.put_along_axis(J, points.nodes.astype(int), points.weights, axis=1)
    impulses = np.linalg.pinv(J / mass @ J.T) @ asked
    expected = v + J.T @ impulses / mass[:, None]
    before = momentum(v, mass)
    apply_events([VelocityChange(points, asked)], 0.0, 1.0, x, v, mass)
    np.testing.assert_allclose(v, expected, atol=1e-11)
    np.testing.assert_allclose(momentum(v, mass) - before, impulses.sum(axis=0), atol=1e-11)


def test_many_points_of_one_tet_that_ask_for_one_velocity_get_it(nodes):
    x, v, mass = nodes
    points = points_in([0] * 30)
    before = v[:4].copy()
    apply_events([VelocityChange(points, [1, 2, 3])], 0.0, 1.0, x, v, mass)
    np.testing.assert_allclose(v[:4] - before, [[1, 2, 3]] * 4, atol=1e-11)


def test_an_event_happens_in_one_step_only(nodes):
    x, v, mass = nodes
    before = momentum(v, mass)
    load = Impulse(node_points([1]), [0, 0, 5], 0.3)
    for step in range(10):
        apply_events([load], 0.1 * step, 0.1 * (step + 1), x, v, mass)
    np.testing.assert_allclose(momentum(v, mass) - before, [0, 0, 5], atol=1e-13)


@pytest.mark.parametrize(("start", "happens"), [(0.5, True), (0.25, False), (0.75, False)])
def test_the_start_belongs_to_the_step_and_the_end_does_not(nodes, start, happens):
    x, v, mass = nodes
    before = v.copy()
    apply_events(
        [VelocityChange(node_points([0]), [1, 0, 0], 0.5)], start, start + 0.25, x, v, mass
    )
    assert (v != before).any() == happens


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda points: Force(points, [1, 2]), "Force: value"),
        (lambda points: Force(points, Keyed([0, 1], np.zeros((2, 5, 3)))), "one row per point"),
        (lambda points: Impulse(points, [np.nan, 0, 0]), "Impulse: value: must be finite"),
        (lambda points: VelocityChange(points, [0, 0, 0], np.inf), "VelocityChange: time"),
    ],
)
def test_loads_that_cannot_be_are_refused(make, text):
    with pytest.raises(SettingsError, match=text):
        make(points_in([0, 1]))
