import numpy as np
import pytest
from collision_bodies import place, posed_nodes, wavy_body

from jellycage.toolkit.collision.posed import pose, weight_areas
from jellycage.toolkit.errors import MeshError


def vertex_tets(body):
    patch_tet = np.repeat(np.arange(len(body.tets)), np.diff(body.tet_patch_start))
    return np.repeat(patch_tet, np.diff(body.patch_vertex_start))


def test_vertices_are_summed_in_the_order_of_nodes():
    body = wavy_body()
    x = posed_nodes("bent", body.rest_nodes, np.random.default_rng(0))
    posed = pose(body, x)
    assert (posed.vertices == place(body.weights, x[body.tets[vertex_tets(body)]])).all()


def test_copies_of_a_vertex_are_at_the_very_same_place():
    body = wavy_body()
    x = posed_nodes("far", body.rest_nodes, np.random.default_rng(1))
    vertices = pose(body, x).vertices
    first = np.full(body.vertex_number.max() + 1, -1)
    first[body.vertex_number[::-1]] = np.arange(len(vertices))[::-1]
    assert len(first) < len(vertices)
    assert (vertices == vertices[first[body.vertex_number]]).all()


def test_inverses_give_back_the_weights():
    body = wavy_body()
    posed = pose(body, posed_nodes("bent", body.rest_nodes, np.random.default_rng(2)))
    e = vertex_tets(body)
    away = posed.vertices - posed.nodes[body.tets[e, 3]]
    weights = np.einsum("vij,vj->vi", posed.inverses[e], away)
    np.testing.assert_allclose(weights, body.weights[:, :3], atol=1e-11)


def test_the_condition_of_a_tet_without_volume_is_infinite():
    body = wavy_body()
    posed = pose(body, body.rest_nodes * [1.0, 1.0, 0.0])
    assert np.isinf(posed.conditions).all() and (posed.inverses == 0.0).all()
    # An edge along each axis, cubed, over six volumes of a sixth: the diagonal of a cube is sqrt(3) long.
    assert pose(body, body.rest_nodes).conditions.max() == pytest.approx(3.0**1.5)


def test_vector_areas_follow_the_deformation():
    body = wavy_body()
    x = posed_nodes("inverted", body.rest_nodes, np.random.default_rng(3))
    corners = pose(body, x).vertices[body.vertices]
    area = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.add.reduceat(area, body.patch_triangle_start[:-1], axis=0)
    edges = x[body.tets[:, :3]] - x[body.tets[:, 3:]]
    cofactors = np.linalg.det(edges)[:, None, None] * np.linalg.inv(edges)
    patch_tet = np.repeat(np.arange(len(body.tets)), np.diff(body.tet_patch_start))
    in_weights = weight_areas(body.patch_triangle_start, body.vertices, body.weights)
    np.testing.assert_allclose(
        np.einsum("pij,pj->pi", cofactors[patch_tet], in_weights), area, atol=1e-12
    )


def test_nodes_must_be_finite():
    body = wavy_body()
    with pytest.raises(MeshError, match="nodes: .*finite"):
        pose(body, np.full_like(body.rest_nodes, np.nan))
