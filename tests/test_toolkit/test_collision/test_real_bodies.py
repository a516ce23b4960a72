"""Queries on surfaces that were really cut, copies of cells and hexes included, against trying every triangle."""

import numpy as np
import pytest
from brute_force import brute_hits, brute_pairs
from shapes import ball, blocks, fork_cells, subdivided, torus

from jellycage import toolkit
from jellycage.toolkit.collision.posed import pose
from jellycage.toolkit.collision.queries import (
    all_hits,
    are_inside,
    cast_rays,
    closest_points,
    intersecting_pairs,
)

BODIES = {
    "tets": (ball(3), {"resolution": 4}),
    "hexes": (ball(3), {"resolution": 4, "element": "hex"}),
    "copies": (subdivided(blocks(*fork_cells()), 2), {"resolution": 5}),
    "torus": (torus(), {"resolution": 5}),
}


@pytest.fixture(scope="module")
def assets():
    return {name: toolkit.build_cage(mesh, **settings) for name, (mesh, settings) in BODIES.items()}


def posed_at(asset, rng, amount=0.1):
    """The asset's surface with its cage turned, moved and shaken."""
    nodes = asset.cage_nodes - asset.cage_nodes.mean(axis=0)
    size = np.ptp(nodes, axis=0).max()
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    nodes = (
        nodes @ turn / size + amount * rng.normal(size=nodes.shape) * asset.meta["cell_size"] / size
    )
    return pose(asset.collision, nodes + 0.3 * rng.normal(size=3))


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("other", ["tets", "torus"])
def test_crossing_triangles_are_those_of_trying_every_pair(name, other, assets):
    rng = np.random.default_rng(0)
    total = 0
    for _ in range(3):
        a, b = posed_at(assets[name], rng), posed_at(assets[other], rng)
        crossings = intersecting_pairs(a, b)
        numbers, _ = brute_pairs(a, b)
        np.testing.assert_array_equal(crossings.triangle, numbers[:, :2])
        total += len(crossings)
    assert total > 50


@pytest.mark.parametrize("name", BODIES)
def test_hits_are_those_of_trying_every_triangle(name, assets):
    rng = np.random.default_rng(1)
    posed = posed_at(assets[name], rng)
    origins, directions = rng.normal(size=(2, 200, 3))
    hits = all_hits(posed, origins, directions)
    ray, distance, triangle = brute_hits(posed, origins, directions)
    np.testing.assert_array_equal(hits.ray, ray)
    np.testing.assert_array_equal(hits.triangle, triangle)
    np.testing.assert_allclose(hits.distance, distance, rtol=1e-9)
    first = cast_rays(posed, origins, directions)
    for r in range(len(origins)):
        own = distance[ray == r]
        assert first.distance[r] == (own.min() if len(own) else np.inf)


@pytest.mark.parametrize("name", BODIES)
def test_a_closed_surface_tells_inside_from_outside_as_rays_do(name, assets):
    rng = np.random.default_rng(2)
    posed = posed_at(assets[name], rng, amount=0.02)
    points = rng.uniform(posed.vertices.min(axis=0), posed.vertices.max(axis=0), (300, 3))
    hits = all_hits(posed, points, rng.normal(size=points.shape))
    is_odd = np.bincount(hits.ray, minlength=len(points)) % 2 == 1
    np.testing.assert_array_equal(are_inside(posed, points), is_odd)
    assert 0 < is_odd.sum() < len(points)


def test_the_nearest_point_is_no_farther_than_any_vertex(assets):
    rng = np.random.default_rng(3)
    posed = posed_at(assets["copies"], rng)
    points = rng.normal(size=(100, 3))
    nearest = closest_points(posed, points)
    apart = np.linalg.norm(posed.vertices[None] - points[:, None], axis=2).min(axis=1)
    assert (nearest.distance <= apart + 1e-12).all()
    assert (nearest.distance >= 0.0).all()
