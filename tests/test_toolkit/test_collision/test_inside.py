import numpy as np
import pytest
from brute_force import solid_angles
from collision_bodies import ball, contour_body, posed_nodes, wavy_body

from jellycage.toolkit.collision.posed import pose
from jellycage.toolkit.collision.queries import are_inside, winding_numbers
from jellycage.toolkit.collision.winding_kernels import wind


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["bent", "inverted", "collapsed", "far", "tiny", "huge", "on a lattice"]
)
def test_winding_numbers_are_those_of_solid_angles(kind):
    rng, body = np.random.default_rng(0), wavy_body()
    seen = set()
    for _ in range(15):
        posed = pose(body, posed_nodes(kind, body.rest_nodes, rng))
        v = posed.vertices
        points = v.mean(axis=0) + 0.3 * np.ptp(v, axis=0).max() * rng.normal(size=(60, 3))
        winding = winding_numbers(posed, points)
        # Solid angles of points that are nearly on the surface are rounded.
        np.testing.assert_allclose(winding, solid_angles(posed, points), atol=1e-5)
        assert (are_inside(posed, points) == (winding != 0)).all()
        seen |= set(winding.tolist())
    assert {0, 1} <= seen
    if kind == "inverted":
        assert -1 in seen


def test_rays_through_vertices_and_edges_are_counted_once():
    """Points level with a vertex or an edge in y and z: the ray along x passes exactly through it."""
    rng, body = np.random.default_rng(1), wavy_body()
    posed = pose(body, posed_nodes("on a lattice", body.rest_nodes, rng))
    v = posed.vertices
    edges = v[body.vertices[:, :2]].mean(axis=1)
    for level in (v, edges):
        points = level[rng.integers(len(level), size=200)].copy()
        points[:, 0] = rng.uniform(v[:, 0].min() - 0.5, v[:, 0].max(), 200)
        np.testing.assert_allclose(
            winding_numbers(posed, points), solid_angles(posed, points), atol=1e-5
        )


def test_a_point_on_the_surface_is_decided_by_the_shift():
    """A shift along x comes first: where the normal points along +x the shifted point is outside."""
    body = wavy_body()
    posed = pose(body, body.rest_nodes)
    corners = posed.vertices[body.vertices]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, 0]
    number = body.vertex_number[body.vertices]
    low, high = (np.full(number.max() + 1, s * np.inf) for s in (1, -1))
    np.minimum.at(low, number, normal[:, None])
    np.maximum.at(high, number, normal[:, None])
    inside = are_inside(posed, posed.vertices)
    assert not inside[low[body.vertex_number] > 1e-9].any()
    assert inside[high[body.vertex_number] < -1e-9].all()


def test_a_hollow_body_is_not_inside_in_its_hollow():
    hollow = contour_body(lambda p: np.maximum(ball(0.9)(p), -ball(0.5)(p)), level=3)
    posed = pose(hollow, hollow.rest_nodes)
    rows = np.array([[0.0, 0.0, 0.0], [0.7, 0.0, 0.0], [0.0, -0.7, 0.0], [2.0, 0.0, 0.0]])
    assert are_inside(posed, rows).tolist() == [False, True, True, False]


def test_points_shifted_the_other_way_are_those_of_a_mirrored_body():
    """Vertices lie on the surface, so that the shift decides: it must decide against what it decides otherwise."""
    rng, body = np.random.default_rng(2), wavy_body()
    nodes = posed_nodes("on a lattice", body.rest_nodes, rng)
    posed, mirrored = pose(body, nodes), pose(body, -nodes)
    found = np.empty(len(posed.vertices), np.int64)
    wind(posed.arrays(), posed.vertices, -1, found)
    np.testing.assert_array_equal(found, -winding_numbers(mirrored, -posed.vertices))
    assert (found != winding_numbers(posed, posed.vertices)).any()
