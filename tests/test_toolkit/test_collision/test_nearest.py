import numpy as np
import pytest
from brute_force import brute_nearest
from collision_bodies import POSES, posed_nodes, wavy_body

from jellycage.toolkit.collision.nearest_kernels import near_triangle
from jellycage.toolkit.collision.posed import pose
from jellycage.toolkit.collision.queries import closest_points
from jellycage.toolkit.compile_kernels import njit


@pytest.mark.parametrize("kind", POSES)
def test_the_nearest_point_is_that_of_trying_every_triangle(kind):
    rng, body = np.random.default_rng(0), wavy_body()
    for _ in range(15):
        posed = pose(body, posed_nodes(kind, body.rest_nodes, rng))
        v = posed.vertices
        points = v.mean(axis=0) + np.ptp(v, axis=0).max() * rng.normal(size=(80, 3))
        points[:20] = v[rng.integers(len(v), size=20)]
        nearest = closest_points(posed, points)
        distance, triangle = brute_nearest(posed, points)
        assert (nearest.triangle == triangle).all() and (nearest.distance == distance).all()
        there = np.linalg.norm(nearest.points - points, axis=1)
        np.testing.assert_allclose(
            there, distance, atol=1e-14 * np.abs(v).max() + 1e-12 * distance.max()
        )


@pytest.mark.parametrize("thickness", [1.0, 1e-3, 1e-8, 1e-14, 0.0])
def test_no_sampled_point_of_a_triangle_is_nearer_than_the_nearest(thickness):
    rng = np.random.default_rng(1)
    near = njit(
        lambda points, vertices, weights: near_triangle(
            points, 0, vertices, 0, 1, 2, np.inf, weights
        )
    )
    a, b = np.meshgrid(np.linspace(0, 1, 60), np.linspace(0, 1, 60))
    samples = np.stack([a, b, 1 - a - b], axis=-1)[a + b <= 1]
    for _ in range(50):
        corners, weights = rng.normal(size=(3, 3)), np.empty(3)
        corners[2] = (
            corners[0] + 0.6 * (corners[1] - corners[0]) + thickness * (corners[2] - corners[0])
        )
        point = rng.normal(size=(1, 3))
        square = near(point, corners, weights)
        sampled = ((samples @ corners - point) ** 2).sum(axis=1).min()
        assert square <= sampled * (1 + 1e-12)
        assert ((weights @ corners - point) ** 2).sum() == pytest.approx(square, rel=1e-9)
        assert (weights >= 0).all() and weights.sum() == pytest.approx(1.0)
