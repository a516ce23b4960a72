from types import SimpleNamespace

import numpy as np
import pytest
from collision_bodies import POSES, posed_nodes, wavy_body
from region_oracles import ASSETS, built, deformed, walked_curves

from jellycage.toolkit.collision.bdop import pack_triangles, triangle_bdops, triangle_neighbours
from jellycage.toolkit.collision.curves import contact_curves
from jellycage.toolkit.collision.posed import pose
from jellycage.toolkit.errors import MeshError


def two_bodies(kind, rng):
    """Two posed bodies of the same kind of pose that overlap."""
    a, b = wavy_body(), wavy_body(radius=0.7, waves=0.15)
    state = rng.bit_generator.state
    x = posed_nodes(kind, a.rest_nodes, rng)
    rng.bit_generator.state = state
    y = posed_nodes(kind, b.rest_nodes, rng)
    return pose(a, x), pose(b, y + 0.2 * np.ptp(x, axis=0) * rng.normal(size=3))


def assert_same_as_walked(a, b):
    curves = contact_curves(a, b)
    walked = walked_curves(a, b, curves.crossings)
    rows = [
        curves.order[i:j].tolist() for i, j in zip(curves.start[:-1], curves.start[1:], strict=True)
    ]
    assert rows == walked
    for number, row in enumerate(rows):
        assert (curves.curve[row] == number).all()
        first, last = curves.crossings.ends[row, 0], curves.crossings.ends[row, 1]
        np.testing.assert_array_equal(last, np.roll(first, -1, axis=0))  # to the bit
    return curves


@pytest.mark.parametrize("kind", POSES)
def test_curves_are_those_of_walking_from_end_to_end(kind):
    rng = np.random.default_rng(0)
    found = [assert_same_as_walked(*two_bodies(kind, rng)) for _ in range(3)]
    assert sum(len(curves.crossings) for curves in found) > 20 or kind == "flat"


@pytest.mark.slow
@pytest.mark.parametrize("name", ASSETS)
def test_curves_of_bodies_that_were_really_cut(name):
    rng = np.random.default_rng(1)
    found = [
        assert_same_as_walked(deformed(built(name), rng), deformed(built("torus"), rng))
        for _ in range(4)
    ]
    assert sum(len(curves.crossings) for curves in found) > 100


def test_bodies_that_coincide_have_closed_curves():
    body = wavy_body()
    posed = pose(body, posed_nodes("bent", body.rest_nodes, np.random.default_rng(2)))
    assert len(assert_same_as_walked(posed, posed)) > 0


def test_the_vector_area_of_a_curve_is_the_integral_along_it():
    a, b = two_bodies("far", np.random.default_rng(3))
    curves = contact_curves(a, b)
    for number, area in enumerate(curves.vector_area):
        ends = curves.crossings.ends[curves.order[curves.start[number] : curves.start[number + 1]]]
        ends = ends - ends.mean(axis=(0, 1))
        wanted = 0.5 * np.cross(ends[:, 0], ends[:, 1]).sum(axis=0)
        np.testing.assert_allclose(area, wanted, atol=1e-12)


def test_an_open_surface_is_refused():
    body = wavy_body()
    neighbours = triangle_neighbours(body.triangles)
    is_removed = np.zeros(len(neighbours), bool)
    is_removed[::3] = True
    neighbours[is_removed[neighbours]] = -1
    words = pack_triangles(body.vertices, neighbours, triangle_bdops(body.triangles))
    opened = SimpleNamespace(**{**vars(body), "triangles": words})
    with pytest.raises(MeshError, match="closed surfaces"):
        contact_curves(pose(opened, body.rest_nodes), pose(body, body.rest_nodes + 0.3))
