"""Contact points lie on the surface, close enough to each other, and carry the mass that a push on them feels."""

import numpy as np
import pytest
from beams import beam_hexes, beam_tets
from shapes import ball, box

from jellycage import sim, toolkit
from jellycage.sim.contact.contact_points import SPACING, contact_points
from jellycage.toolkit.cage.outer_faces import outer_faces


@pytest.fixture(scope="module", params=["tet", "hex"])
def body(request):
    """A cube of 12 large triangles in a cage of much smaller elements."""
    asset = toolkit.build_cage(box(), resolution=6, element=request.param)
    return sim.SoftBody(asset, sim.Corotated())


def positions(points, x):
    return np.einsum("pa,pai->pi", points.weights, x[points.nodes])


def distance_to_cube(x):
    """Of points to the surface of the unit cube [m]."""
    outside = np.linalg.norm(np.maximum(np.maximum(-x, x - 1.0), 0.0), axis=1)
    inside = np.minimum(x, 1.0 - x).min(axis=1)
    return np.where(outside > 0.0, outside, np.abs(inside))


def element_length(asset):
    edge = asset.cage_nodes[asset.elements[:, 1]] - asset.cage_nodes[asset.elements[:, 0]]
    return float(np.linalg.norm(edge, axis=1).mean())


def test_weights_are_shares_of_the_element_that_holds_the_point(body):
    points = contact_points(body)
    np.testing.assert_allclose(points.weights.sum(axis=1), 1.0, atol=1e-12)
    assert points.weights.min() >= -1e-9
    np.testing.assert_array_equal(points.nodes, body.asset.elements[points.element])
    assert (np.diff(points.element) >= 0).all()


def test_every_vertex_of_the_surface_is_a_contact_point(body):
    x = positions(contact_points(body), body.asset.cage_nodes)
    for vertex in body.asset.surface_vertices:
        assert np.linalg.norm(x - vertex, axis=1).min() < 1e-9


def test_points_lie_on_the_surface(body):
    x = positions(contact_points(body), body.asset.cage_nodes)
    assert distance_to_cube(x).max() < 1e-9


@pytest.mark.slow
def test_no_place_of_the_surface_is_far_from_a_contact_point(body):
    x = positions(contact_points(body), body.asset.cage_nodes)
    u = np.linspace(0.0, 1.0, 41)
    for axis in range(3):
        for side in (0.0, 1.0):
            lines = [u, u, u]
            lines[axis] = np.array([side])
            places = np.stack(np.meshgrid(*lines), axis=-1).reshape(-1, 3)
            away = np.linalg.norm(places[:, None] - x[None], axis=2).min(axis=1)
            assert away.max() <= SPACING * element_length(body.asset)


def test_points_of_small_triangles_are_the_vertices_alone():
    asset = toolkit.build_cage(ball(4), resolution=4)
    body = sim.SoftBody(asset, sim.Corotated())
    triangles = asset.surface_vertices[asset.surface_faces]
    longest = np.linalg.norm(triangles - np.roll(triangles, 1, axis=1), axis=2).max()
    assert longest < SPACING * element_length(asset)
    points = contact_points(body)
    assert len(points) == len(asset.surface_vertices)
    x = positions(points, asset.cage_nodes)
    order = np.argsort(asset.embed_element, kind="stable")
    np.testing.assert_allclose(x, asset.surface_vertices[order], atol=1e-9)


def test_points_follow_the_surface(body):
    """Under an affine map of the nodes a point of the cube goes where the map takes it."""
    points, rest = contact_points(body), body.asset.cage_nodes
    matrix, shift = np.random.default_rng(0).normal(size=(3, 3)), np.array([1.0, 2.0, 3.0])
    moved = positions(points, rest @ matrix.T + shift)
    np.testing.assert_allclose(moved, positions(points, rest) @ matrix.T + shift, atol=1e-12)


@pytest.mark.parametrize("beam", [beam_tets, beam_hexes])
def test_a_bare_cage_is_touched_at_every_outer_node_once(beam):
    nodes, elements = beam(3, 4, 3, (1.0, 2.0, 3.0))
    body = sim.SoftBody(sim.Cage(nodes, elements), sim.Corotated())
    points = contact_points(body)
    assert set(np.unique(points.weights)) == {0.0, 1.0}
    own = points.nodes[np.arange(len(points)), points.weights.argmax(axis=1)]
    outer = ((nodes == 0.0) | (nodes == [1.0, 2.0, 3.0])).any(axis=1)
    np.testing.assert_array_equal(np.sort(own), np.flatnonzero(outer))
    is_tet = elements.shape[1] == 4
    faces = outer_faces(elements if is_tet else None, None if is_tet else elements)
    np.testing.assert_array_equal(np.sort(own), np.unique(faces))
    np.testing.assert_array_equal(points.nodes, elements[points.element])
    # A push on a node moves the mass of that node.
    np.testing.assert_allclose(points.effective_mass(body.mass), body.mass[own])


def test_the_mass_of_a_point_is_what_a_push_on_it_moves(body):
    """An impulse p on a point gives node a the velocity w_a p / m_a, and the point the sum of w_a times that."""
    points, impulse = contact_points(body), 2.0
    velocity = points.weights * impulse / body.mass[points.nodes]
    gained = (points.weights * velocity).sum(axis=1)
    np.testing.assert_allclose(points.effective_mass(body.mass), impulse / gained)
