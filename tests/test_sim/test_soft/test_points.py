"""Points follow their nodes, pass forces on to them, and weigh what the equations of motion say."""

import numpy as np
import pytest
from sample_assets import hex_asset, tet_asset

from jellycage.sim.errors import SettingsError
from jellycage.sim.soft.points import Points, embedded_points, node_points, surface_points

RNG = np.random.default_rng(1)


def some_points(corners=4, count=20, node_count=9):
    """Random points that share nodes."""
    rng = np.random.default_rng(corners)
    nodes = np.array([rng.permutation(node_count)[:corners] for _ in range(count)])
    return Points(nodes, rng.dirichlet(np.ones(corners), count))


@pytest.mark.parametrize("corners", [1, 4, 8])
def test_an_affine_motion_of_the_nodes_moves_the_points_alike(corners):
    points, x = some_points(corners), RNG.normal(size=(9, 3))
    matrix, shift = RNG.normal(size=(3, 3)), RNG.normal(size=3)
    moved = points.positions(x @ matrix.T + shift)
    np.testing.assert_allclose(moved, points.positions(x) @ matrix.T + shift, atol=1e-13)


@pytest.mark.parametrize("corners", [1, 4, 8])
def test_spreading_is_the_transpose_of_interpolating(corners):
    points, x, values = some_points(corners), RNG.normal(size=(9, 3)), RNG.normal(size=(20, 3))
    work = (points.positions(x) * values).sum()
    assert (x * points.spread(values, 9)).sum() == pytest.approx(work, rel=1e-13)


def test_spreading_keeps_the_sum_and_the_moment():
    points, x, force = some_points(), RNG.normal(size=(9, 3)), RNG.normal(size=(20, 3))
    spread = points.spread(force, 12)
    assert spread.shape == (12, 3)
    np.testing.assert_allclose(spread.sum(axis=0), force.sum(axis=0), atol=1e-13)
    moment = np.cross(points.positions(x), force).sum(axis=0)
    np.testing.assert_allclose(np.cross(x, spread[:9]).sum(axis=0), moment, atol=1e-12)


def test_the_effective_mass_is_force_over_acceleration():
    points, mass, force = some_points(), RNG.random(9) + 0.1, np.array([2.0, 0.0, 0.0])
    for p, effective in enumerate(points.effective_mass(mass)):
        one = Points(points.nodes[p : p + 1], points.weights[p : p + 1])
        acceleration = one.positions(one.spread(force[None], 9) / mass[:, None])[0]
        np.testing.assert_allclose(effective * acceleration, force, rtol=1e-13, atol=1e-15)


def test_a_node_weighs_its_own_mass_and_the_middle_of_a_tet_four_times_a_corner():
    mass = np.full(6, 0.3)
    assert node_points([2]).effective_mass(mass) == pytest.approx(0.3)
    middle = embedded_points([[0, 1, 2, 3]], [0], np.full((1, 4), 0.25))
    assert middle.effective_mass(mass) == pytest.approx(1.2)


@pytest.mark.parametrize("asset", [tet_asset(), hex_asset()], ids=["tet", "hex"])
def test_surface_points_are_the_embedded_vertices(asset):
    vertices = [2, 0]
    points = surface_points(asset, vertices)
    corners = asset.cage_nodes[asset.elements[asset.embed_element[vertices]]]
    expected = (asset.embed_weights[vertices][:, :, None] * corners).sum(axis=1)
    np.testing.assert_allclose(points.positions(asset.cage_nodes), expected, rtol=1e-14)


def test_no_points_are_points_too():
    points = node_points([])
    assert len(points) == 0
    assert points.positions(np.ones((3, 3))).shape == (0, 3)
    np.testing.assert_array_equal(points.spread(np.zeros((0, 3)), 3), np.zeros((3, 3)))


def test_points_are_kept_apart_from_the_arrays_they_came_from():
    weights = np.ones((1, 1))
    points = Points([[0]], weights)
    weights[0] = 7.0
    assert points.weights[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        points.weights[0] = 2.0


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Points([[0, 1]], [[0.5, 0.4]]), "sum to 1"),
        (lambda: Points([[0, 1]], [[np.nan, 1.0]]), "sum to 1"),
        (lambda: Points([[0, 0]], [[0.5, 0.5]]), "one node twice"),
        (lambda: Points([[0, 1]], [[1.0]]), "one shape"),
        (lambda: Points([[-1]], [[1.0]]), "lie in"),
        (lambda: node_points([0.5]), "whole numbers"),
        (lambda: node_points([3], node_count=3), r"lie in \[0, 3\), got 3..3"),
        (lambda: node_points([3]).check_nodes(3), r"lie in \[0, 3\)"),
        (lambda: embedded_points([[0, 1, 2, 3]], [1], np.full((1, 4), 0.25)), r"\[0, 1\)"),
        (lambda: surface_points(tet_asset(), [4]), r"\[0, 4\)"),
        (lambda: node_points([0, 1]).per_point(np.zeros((3, 3)), "Force"), r"\(2, 3\)"),
        (lambda: node_points([0]).per_point([0, 0, np.inf], "Force"), "finite"),
    ],
)
def test_points_that_cannot_be_are_refused(make, text):
    with pytest.raises(SettingsError, match=text):
        make()


def test_a_node_may_be_named_again_with_no_weight():
    assert len(Points([[5, 0, 0, 0]], [[1.0, 0.0, 0.0, 0.0]])) == 1
