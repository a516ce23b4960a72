import numpy as np
import pytest
from brute_force import brute_hits
from collision_bodies import POSES, posed_nodes, wavy_body

from jellycage.toolkit.collision.posed import pose
from jellycage.toolkit.collision.queries import all_hits, cast_rays

TRIALS = 25


def awkward_rays(posed, rng, count=120):
    """Rays at a body: at random, through vertices and edges, from vertices, along axes and diagonals."""
    v, faces = posed.vertices, posed.surface.vertices
    size, middle = max(np.ptp(v, axis=0).max(), 1e-300), v.mean(axis=0)
    origins = middle + size * rng.normal(size=(count, 3))
    targets = middle + 0.3 * size * rng.normal(size=(count, 3))
    targets[:20] = v[rng.integers(len(v), size=20)]
    edges = faces[rng.integers(len(faces), size=20)]
    targets[20:40] = (v[edges[:, 0]] + v[edges[:, 1]]) / 2.0
    origins[40:55] = v[rng.integers(len(v), size=15)]
    directions = targets - origins
    directions[55:70] = np.eye(3)[rng.integers(3, size=15)]
    directions[70:80] = rng.choice([-1.0, 0.0, 1.0], (10, 3))
    origins[80:90] += 1e6 * directions[80:90]
    return origins, directions


@pytest.mark.parametrize("kind", POSES)
def test_all_hits_are_those_of_trying_every_triangle(kind):
    rng, body = np.random.default_rng(0), wavy_body()
    total = 0
    for _ in range(TRIALS):
        posed = pose(body, posed_nodes(kind, body.rest_nodes, rng))
        origins, directions = awkward_rays(posed, rng)
        ray, distance, triangle = brute_hits(posed, origins, directions)
        hits = all_hits(posed, origins, directions)
        assert (hits.ray == ray).all() and (hits.triangle == triangle).all()
        assert (hits.distance == distance).all()
        total += len(ray)
    assert total > 10 * TRIALS


@pytest.mark.parametrize("kind", POSES)
@pytest.mark.parametrize("limit", [np.inf, 0.7])
def test_the_first_hit_is_the_first_of_all(kind, limit):
    rng, body = np.random.default_rng(1), wavy_body()
    for _ in range(TRIALS):
        posed = pose(body, posed_nodes(kind, body.rest_nodes, rng))
        origins, directions = awkward_rays(posed, rng)
        ray, distance, triangle = brute_hits(posed, origins, directions, limit)
        wanted, where = np.full(len(origins), -1), np.full(len(origins), np.inf)
        wanted[ray[::-1]], where[ray[::-1]] = triangle[::-1], distance[::-1]
        hits = cast_rays(posed, origins, directions, limit=limit)
        assert (hits.triangle == wanted).all() and (hits.distance == where).all()


def test_weights_say_where_the_ray_meets_the_triangle():
    rng, body = np.random.default_rng(2), wavy_body()
    posed = pose(body, posed_nodes("bent", body.rest_nodes, rng))
    origins = rng.normal(size=(300, 3))
    directions = -origins + 0.2 * rng.normal(size=(300, 3))
    hits = all_hits(posed, origins, directions)
    corners = posed.vertices[body.vertices[hits.triangle]]
    there = np.einsum("hc,hcx->hx", hits.weights, corners)
    along = origins[hits.ray] + hits.distance[:, None] * directions[hits.ray]
    np.testing.assert_allclose(there, along, atol=1e-12)
    assert (hits.weights >= 0.0).all()


@pytest.mark.parametrize("kind", ["bent", "inverted", "far", "on a lattice"])
def test_a_ray_through_a_vertex_or_edge_passes_a_closed_surface_an_even_number_of_times(kind):
    rng, body = np.random.default_rng(3), wavy_body()
    for _ in range(TRIALS):
        posed = pose(body, posed_nodes(kind, body.rest_nodes, rng))
        v = posed.vertices
        edges = v[body.vertices[rng.integers(len(body.vertices), size=50), :2]]
        targets = np.concatenate([v[rng.integers(len(v), size=50)], edges.mean(axis=1)])
        away = rng.normal(size=(100, 3))
        origins = v.mean(axis=0) + 10.0 * np.ptp(v, axis=0).max() * away
        hits = all_hits(posed, origins, targets - origins)
        assert (np.bincount(hits.ray, minlength=100) % 2 == 0).all()


def test_a_ray_through_the_middle_of_a_ball_meets_it_where_geometry_says():
    body = wavy_body(radius=0.8, waves=0.0, level=6)
    posed = pose(body, body.rest_nodes)
    rng = np.random.default_rng(4)
    directions = rng.normal(size=(50, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    hits = all_hits(posed, [0.013, -0.021, 0.007] - 3.0 * directions, directions)
    assert (hits.ray == np.repeat(np.arange(50), 2)).all()
    # The contour's chords are a sixth of a cell: they leave the sphere by (1/6)^2 / 8 / 0.8 times 3 at most.
    np.testing.assert_allclose(
        hits.distance.reshape(-1, 2), np.tile([2.2, 3.8], (50, 1)), atol=0.014
    )


def test_unpacked_triangles_give_the_same_hits():
    rng = np.random.default_rng(5)
    packed, unpacked = wavy_body(), wavy_body(is_packed=False)
    assert packed.triangles.shape[1] == 6 and unpacked.triangles.shape[1] == 8
    x = posed_nodes("bent", packed.rest_nodes, rng)
    origins = rng.normal(size=(200, 3))
    one, other = (all_hits(pose(body, x), origins, -origins) for body in (packed, unpacked))
    assert (one.triangle == other.triangle).all() and (one.distance == other.distance).all()
    assert len(one.ray) > 100


def test_a_ray_without_direction_hits_nothing():
    body = wavy_body()
    hits = cast_rays(pose(body, body.rest_nodes), np.zeros((1, 3)), np.zeros((1, 3)))
    assert hits.triangle[0] == -1 and hits.distance[0] == np.inf


@pytest.mark.parametrize("kind", POSES)
def test_a_ray_hits_the_same_alone_as_among_others(kind):
    rng, body = np.random.default_rng(6), wavy_body()
    posed = pose(body, posed_nodes(kind, body.rest_nodes, rng))
    origins, directions = awkward_rays(posed, rng)
    directions[::9] = 0.0
    limits = rng.choice([0.0, 0.5, 1.0, np.inf], len(origins))
    together = cast_rays(posed, origins, directions, limit=limits)
    for r, limit in enumerate(limits):
        alone = cast_rays(posed, origins[r], directions[r], limit=limit)
        every = all_hits(posed, origins[r], directions[r], limit=limit)
        assert alone.triangle[0] == together.triangle[r]
        assert alone.distance[0] == together.distance[r]
        assert (alone.weights[0] == together.weights[r]).all()
        assert (every.weights[:1] == together.weights[r]).all()
        assert (len(every.ray) > 0) == (together.triangle[r] >= 0)
    assert (together.triangle[::9] == -1).all() and (together.triangle >= 0).any()
