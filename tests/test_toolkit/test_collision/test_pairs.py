from collections import Counter

import numpy as np
import pytest
from brute_force import brute_pairs
from collision_bodies import POSES, posed_nodes, wavy_body

from jellycage.toolkit.collision.bdop import triangle_neighbours
from jellycage.toolkit.collision.posed import pose
from jellycage.toolkit.collision.queries import are_inside, intersecting_pairs

TRIALS = 12


def two_bodies(kind, rng):
    """Two posed bodies that overlap, with coordinates of one size."""
    a, b = wavy_body(), wavy_body(radius=0.7, waves=0.15)
    state = rng.bit_generator.state
    x = posed_nodes(kind, a.rest_nodes, rng)
    rng.bit_generator.state = state  # the same kind of pose at the same place
    y = posed_nodes(kind, b.rest_nodes, rng)
    return pose(a, x), pose(b, y + 0.2 * np.ptp(x, axis=0) * rng.normal(size=3))


def assert_closed(crossings):
    """Every segment ends exactly where another begins."""
    first, second = (
        Counter(map(bytes, np.ascontiguousarray(crossings.ends[:, k]))) for k in (0, 1)
    )
    assert first == second


def assert_same_as_brute_force(a, b):
    crossings = intersecting_pairs(a, b)
    numbers, ends = brute_pairs(a, b)
    assert len(crossings) == len(numbers)
    assert (crossings.triangle == numbers[:, :2]).all()
    assert (crossings.body == numbers[:, 2::2]).all() and (crossings.edge == numbers[:, 3::2]).all()
    assert (crossings.share == ends[:, :2]).all() and (
        crossings.ends.reshape(-1, 6) == ends[:, 2:]
    ).all()
    assert_closed(crossings)
    for leaf in (1, 8):  # deep into the trees
        again = intersecting_pairs(a, b, leaf=leaf)
        assert (again.triangle == crossings.triangle).all() and (again.ends == crossings.ends).all()
    return crossings


@pytest.mark.slow
@pytest.mark.parametrize("kind", POSES)
def test_pairs_are_those_of_trying_every_pair_and_segments_form_closed_curves(kind):
    rng = np.random.default_rng(0)
    total = sum(len(assert_same_as_brute_force(*two_bodies(kind, rng))) for _ in range(TRIALS))
    assert total > 10 * TRIALS or kind == "flat"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bent", "inverted", "on a lattice", "nearly flat"])
def test_a_body_that_coincides_with_another_crosses_it_along_closed_curves(kind):
    rng, body = np.random.default_rng(1), wavy_body()
    for _ in range(3):
        posed = pose(body, posed_nodes(kind, body.rest_nodes, rng))
        assert len(assert_same_as_brute_force(posed, posed)) > 0


def test_bodies_that_share_faces_of_the_lattice_cross_along_closed_curves():
    body = wavy_body()
    a, b = pose(body, body.rest_nodes), pose(body, body.rest_nodes + [0.25, 0.0, 0.0])
    assert len(assert_same_as_brute_force(a, b)) > 0


def test_flat_bodies_in_one_plane_do_not_cross():
    rng = np.random.default_rng(2)
    a, b = two_bodies("flat", rng)
    assert len(intersecting_pairs(a, pose(b.surface, b.nodes * [1.0, 1.0, 0.0]))) == 0


def test_curves_go_counter_clockwise_on_a_about_what_is_inside_b():
    """A point of triangle A just to the left of the segment is inside B, one of B just to the right is inside A."""
    rng = np.random.default_rng(3)
    a, b = two_bodies("bent", rng)
    crossings = intersecting_pairs(a, b)
    q = crossings.ends
    middle, along = q.mean(axis=1), q[:, 1] - q[:, 0]
    is_long = np.linalg.norm(along, axis=1) > 1e-3
    assert is_long.sum() > 50
    for own, other, sign, k in ((a, b, 1.0, 0), (b, a, -1.0, 1)):
        corners = own.vertices[own.surface.vertices[crossings.triangle[:, k]]]
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        left = np.cross(normal, along)
        left *= sign * 1e-7 / np.linalg.norm(left, axis=1, keepdims=True)
        assert are_inside(other, (middle + left)[is_long]).all()
        assert not are_inside(other, (middle - left)[is_long]).any()


def test_ends_lie_on_the_edge_that_is_named_and_in_the_face_of_the_other():
    a, b = two_bodies("bent", np.random.default_rng(4))
    crossings = intersecting_pairs(a, b)
    assert set(crossings.body.sum(axis=1)) == {0, 1, 2}  # VA-FB, EA-EB, FA-VB
    for n in range(len(crossings)):
        for end in range(2):
            k = crossings.body[n, end]
            own, other = ((a, b), (b, a))[k]
            corner = own.surface.vertices[crossings.triangle[n, k]]
            p, q = (own.vertices[corner[(crossings.edge[n, end] + i) % 3]] for i in (0, 1))
            point = p + crossings.share[n, end] * (q - p)
            np.testing.assert_allclose(point, crossings.ends[n, end], atol=1e-14)
            u, v, w = other.vertices[other.surface.vertices[crossings.triangle[n, 1 - k]]]
            normal = np.cross(v - u, w - u)
            assert abs((point - u) @ normal) / np.linalg.norm(normal) < 1e-13
            weights = np.linalg.lstsq(np.stack([u, v, w], axis=1), point, rcond=None)[0]
            assert weights.min() > -1e-9


def test_both_triangles_at_a_pierced_edge_are_found_also_across_patches():
    a, b = two_bodies("far", np.random.default_rng(5))
    crossings = intersecting_pairs(a, b)
    pairs = set(map(tuple, crossings.triangle.tolist()))
    near = [triangle_neighbours(posed.surface.triangles) for posed in (a, b)]
    patch = [
        np.searchsorted(
            p.surface.patch_triangle_start, np.arange(len(p.surface.triangles)), "right"
        )
        for p in (a, b)
    ]
    across = 0
    for n, pair in enumerate(crossings.triangle):
        for end in range(2):
            k = crossings.body[n, end]
            other = pair.copy()
            other[k] = near[k][pair[k], crossings.edge[n, end]]
            assert tuple(other.tolist()) in pairs
            across += patch[k][other[k]] != patch[k][pair[k]]
    assert across > 5


def test_what_is_apart_does_not_cross():
    body = wavy_body()
    a, b = pose(body, body.rest_nodes), pose(body, body.rest_nodes + [5.0, 0.0, 0.0])
    assert len(intersecting_pairs(a, b)) == 0


def test_unpacked_triangles_cross_alike():
    bodies = wavy_body(), wavy_body(is_packed=False)
    x = posed_nodes("bent", bodies[0].rest_nodes, np.random.default_rng(6))
    found = [intersecting_pairs(pose(s, x), pose(o, x + 0.3)) for s, o in (bodies, bodies[::-1])]
    assert (found[0].triangle == found[1].triangle).all() and len(found[0]) > 20
