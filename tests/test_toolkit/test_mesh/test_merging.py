"""A mesh whose corners nearly meet is told to merge them, where that closes it, and not to become thicker."""

import numpy as np
import pytest
from shapes import ball, box, torus

from jellycage.toolkit.errors import MeshError
from jellycage.toolkit.mesh.merging import closing_distance
from jellycage.toolkit.mesh.mesh import TriMesh
from jellycage.toolkit.mesh.repair import mesh_report, solid_of


def soup(mesh, apart=0.0, size=1.0):
    """A mesh with corners of their own for every face, each moved by up to `apart` along every axis."""
    vertices, faces = mesh
    corners = size * vertices[faces.ravel()]
    corners = corners + apart * np.random.default_rng(0).uniform(-1.0, 1.0, corners.shape)
    return TriMesh(corners, np.arange(faces.size).reshape(-1, 3))


@pytest.mark.parametrize("mesh", [box(), ball(3), torus()])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_soup_of_corners_that_nearly_meet_is_told_to_merge_them(mesh, size):
    near = soup(mesh, 1e-6 * size, size)
    with pytest.raises(
        MeshError, match=r"has no volume.*merge by distance .*By Distance, "
    ) as caught:
        solid_of(near)
    assert "Solidify" not in str(caught.value)
    told = mesh_report(near).problems
    assert sum("merge by distance" in text for text in told) == 1
    assert not any("Solidify" in text or "Fill Holes" in text for text in told)
    # It is true: once corners within the distance are one, the mesh is a solid.
    distance = closing_distance(near.vertices, near.faces)
    assert f"{distance:g} m" in str(caught.value) and 1e-6 * size <= distance <= 1e-4 * size
    merged = size * mesh[0][mesh[1].ravel()]
    assert np.abs(merged - near.vertices).max() < distance
    assert solid_of(TriMesh(merged, near.faces)).boundary_edges == 0


def test_a_seam_that_nearly_meets_is_told_to_merge_too():
    vertices, faces = ball(2)
    half = vertices[faces].mean(axis=1)[:, 2] > 0.0
    both = np.concatenate([vertices, vertices + 2e-6])
    seam = TriMesh(both, np.where(half[:, None], faces, faces + len(vertices)))
    assert any("merge by distance" in text for text in mesh_report(seam).problems)


def test_what_merging_does_not_close_is_told_otherwise():
    vertices, faces = ball(2)
    flat = TriMesh(np.eye(3), np.array([[0, 1, 2]]))
    doubled = TriMesh(np.concatenate([np.eye(3), np.eye(3) + 1e-6]), np.arange(6).reshape(2, 3))
    for mesh in (flat, doubled, soup((vertices, faces), 1e-2)):
        assert closing_distance(mesh.vertices, mesh.faces) is None
        with pytest.raises(MeshError, match="Solidify"):
            solid_of(mesh)
    holed = TriMesh(vertices, faces[3:])
    assert (
        closing_distance(vertices, faces) is closing_distance(holed.vertices, holed.faces) is None
    )
    assert any("Fill Holes" in text for text in mesh_report(holed).problems)
