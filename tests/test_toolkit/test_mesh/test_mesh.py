"""TriMesh measures, polygons and conversions."""

import numpy as np
import pytest
from shapes import QUADS, ball, box, inside_out, torus

from jellycage.toolkit.errors import MeshError
from jellycage.toolkit.mesh.mesh import (
    TriMesh,
    as_mesh,
    mesh_from_polygons,
    to_meshio,
    to_trimesh,
    vertex_uv,
)


def test_volume_and_area_of_a_box_are_exact():
    mesh = as_mesh(box((2.0, 3.0, 4.0)))
    assert mesh.volume() == pytest.approx(24.0, rel=1e-15)
    assert mesh.area() == pytest.approx(2 * (6 + 8 + 12), rel=1e-15)
    assert np.array_equal(mesh.bounds(), [[0, 0, 0], [2, 3, 4]])


def test_volume_of_an_inverted_box_is_negative():
    assert as_mesh(inside_out(box())).volume() == pytest.approx(-1.0)


def test_volume_of_balls_converges_with_the_square_of_the_edge_length():
    errors = [4 / 3 * np.pi - as_mesh(ball(level)).volume() for level in (2, 3, 4)]
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(np.abs(rates - 2) < 0.1)


@pytest.mark.parametrize("offset, scale", [(1e8, 1.0), (0.0, 1e-6), (0.0, 1e9)])
def test_volume_survives_offset_and_scale(offset, scale):
    vertices, faces = torus()
    moved = vertices * scale + offset
    # Positions near 1e8 are rounded to 1.5e-8: that is what the tolerance allows.
    assert as_mesh((moved, faces)).volume() / scale**3 == pytest.approx(
        as_mesh((vertices, faces)).volume(), rel=1e-7
    )


def test_bounds_ignore_vertices_that_no_face_uses():
    vertices, faces = box()
    mesh = as_mesh((np.vstack([vertices, [[99, 99, 99]]]), faces))
    assert np.array_equal(mesh.bounds(), [[0, 0, 0], [1, 1, 1]])


def test_quads_are_kept_and_triangulated():
    mesh = as_mesh((box()[0], np.array(QUADS)))
    assert mesh.faces.shape == (12, 3) and mesh.polygon_count() == 6
    assert np.array_equal(mesh.polygon_vertices.reshape(6, 4), QUADS)
    assert mesh.volume() == pytest.approx(1.0)


def test_polygons_of_mixed_size_are_accepted_as_a_list():
    vertices = box()[0]
    mesh = as_mesh((vertices, [[0, 3, 2], [0, 2, 1], *QUADS[1:]]))
    assert mesh.polygon_count() == 7 and mesh.volume() == pytest.approx(1.0)


def star(points):
    """A star-shaped, strongly concave polygon in a tilted plane, counter-clockwise."""
    angle = 2 * np.pi * np.arange(2 * points) / (2 * points)
    reach = np.where(np.arange(2 * points) % 2, 0.3, 1.0)
    flat = np.stack([reach * np.cos(angle), reach * np.sin(angle), 0 * angle], axis=1)
    tilt = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    return flat @ (tilt * np.sign(np.linalg.det(tilt))).T


@pytest.mark.parametrize("points", [3, 5, 20, 300])
def test_concave_polygons_are_cut_without_overlap(points):
    vertices = star(points)
    mesh = as_mesh((vertices, [list(range(2 * points))]))
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    vector_areas = np.cross(b - a, c - a) / 2
    # Triangles that cover a flat polygon once have areas that add up to its vector area.
    total = np.linalg.norm(vector_areas.sum(axis=0))
    assert len(mesh.faces) == 2 * points - 2
    assert mesh.area() == pytest.approx(total, rel=1e-12)
    assert total == pytest.approx(points * 0.3 * np.sin(np.pi / points), rel=1e-12)


@pytest.mark.parametrize("shift", range(4))
def test_concave_quads_are_cut_at_the_inward_corner(shift):
    arrow = np.roll([[0, 0, 0], [1, -1, 0], [0, 2, 0], [-1, -1, 0]], shift, axis=0).astype(float)
    assert as_mesh((arrow, [[0, 1, 2, 3]])).area() == pytest.approx(2.0)


def test_a_polygon_that_crosses_itself_still_gives_all_its_triangles():
    angle = 4 * np.pi * np.arange(5) / 5
    vertices = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    vertices[1] *= 0.1
    assert len(as_mesh((vertices, [[0, 1, 2, 3, 4]])).faces) == 3


def test_faces_of_two_corners_are_left_out_with_a_warning():
    mesh = as_mesh((box()[0], [*QUADS, [0, 1]]))
    assert mesh.polygon_count() == 6 and "fewer than three" in mesh.warnings[0]


def test_trimesh_round_trip_keeps_vertices_faces_and_uvs():
    pytest.importorskip("trimesh")
    vertices, faces = ball(1)
    uv = vertices[:, :2]
    mesh = TriMesh(vertices, faces, uv=uv, uv_index=faces.ravel())
    again = as_mesh(to_trimesh(mesh))
    assert np.array_equal(again.vertices, vertices) and np.array_equal(again.faces, faces)
    assert np.array_equal(vertex_uv(again), uv)


def test_trimesh_conversion_does_not_merge_vertices():
    pytest.importorskip("trimesh")
    vertices, faces = box()
    soup = vertices[faces.ravel()] * 1e-9
    assert len(to_trimesh(as_mesh((soup, np.arange(36).reshape(-1, 3)))).vertices) == 36


def test_meshio_round_trip_keeps_polygons():
    pytest.importorskip("meshio")
    mesh = as_mesh((box()[0], [[0, 3, 2], [0, 2, 1], *QUADS[1:]]))
    again = as_mesh(to_meshio(mesh))
    assert np.array_equal(again.polygon_start, mesh.polygon_start)
    assert np.array_equal(again.polygon_vertices, mesh.polygon_vertices)


def test_meshio_volume_cells_alone_are_refused():
    meshio = pytest.importorskip("meshio")
    tets = meshio.Mesh(np.eye(4, 3), [("tetra", [[0, 1, 2, 3]])])
    with pytest.raises(MeshError, match="only tetra cells"):
        as_mesh(tets)


def test_a_vertex_with_two_uvs_has_no_single_one():
    vertices, faces = box()
    index = np.arange(36)
    mesh = TriMesh(vertices, faces, uv=np.random.default_rng(0).random((36, 2)), uv_index=index)
    assert vertex_uv(mesh) is None


def test_broken_uvs_are_left_out_with_a_warning():
    vertices, faces = box()
    start = 3 * np.arange(13)
    uv = np.full((36, 2), np.nan)
    mesh = mesh_from_polygons(vertices, start, faces.ravel(), uv=uv, uv_index=np.arange(36))
    assert mesh.uv is None and "texture" in mesh.warnings[0]


def test_indices_that_are_no_whole_numbers_are_refused():
    with pytest.raises(MeshError, match="whole numbers"):
        as_mesh((np.eye(3), np.array([[0.0, 1.0, 2.5]])))


def test_other_objects_are_refused_with_a_remedy():
    with pytest.raises(MeshError, match="is not a mesh; give"):
        as_mesh("box.obj")
