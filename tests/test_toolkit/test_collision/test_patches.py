from dataclasses import replace

import numpy as np
import pytest
from collision_claims import measure, open_edges, vector_areas
from shapes import ball, blocks, box, c_ring_cells, fork_cells, subdivided, together, torus

import jellycage.toolkit.prepare
from jellycage import toolkit
from jellycage.toolkit.collision.clip import CutError
from jellycage.toolkit.errors import AssetError

CASES = {
    "ball of tets": (ball(3), {"resolution": 6}),
    "ball of hexes": (ball(3), {"resolution": 6, "element": "hex"}),
    "fork with copies of tets": (subdivided(blocks(*fork_cells()), 2), {"resolution": 5}),
    "fork with copies of hexes": (
        subdivided(blocks(*fork_cells()), 2),
        {"resolution": 5, "element": "hex"},
    ),
    "ring, not split": (subdivided(blocks(*c_ring_cells()), 2), {"resolution": 4, "split": False}),
    "triangles larger than cells": (box((1.0, 0.7, 0.4)), {"resolution": 12}),
    "torus": (torus(), {"resolution": 5}),
    "one cell": (ball(2), {"resolution": 1}),
    "two parts": (together(ball(2), ball(2, centre=(3.0, 0.0, 0.0))), {"resolution": 6}),
}


@pytest.fixture(scope="module", params=CASES)
def asset(request):
    mesh, settings = CASES[request.param]
    return toolkit.build_cage(mesh, **settings)


def test_the_cut_surface_is_the_source_without_cracks(asset):
    claims = measure(asset)
    assert claims.area_error < 1e-9
    assert claims.vector_error < 1e-9
    assert claims.least_share >= 1e-12
    assert claims.open_edges == 0
    assert claims.outside < 1e-14
    assert claims.off_source < 1e-9


def test_copies_of_a_border_vertex_move_alike_to_the_bit(asset):
    number = asset.collision.vertex_number
    assert len(np.unique(number)) < len(number), "no vertex lies on a border"
    assert measure(asset, seed=1).apart == 0.0


def test_patches_are_the_connected_pieces_in_each_tet(asset):
    """Brute force: flood through neighbours in the same tet, one triangle at a time."""
    surface = asset.collision
    tet = surface.patch_tet[surface.triangle_patch]
    seen = np.full(len(tet), -1)
    pieces = 0
    for first in range(len(tet)):
        if seen[first] >= 0:
            continue
        todo = [first]
        seen[first] = pieces
        while todo:
            t = todo.pop()
            for other in surface.neighbours[t]:
                if other >= 0 and tet[other] == tet[t] and seen[other] < 0:
                    seen[other] = pieces
                    todo.append(other)
        pieces += 1
    assert pieces == len(surface.patch_area)
    assert len(np.unique(np.stack([seen, surface.triangle_patch]), axis=1).T) == pieces


def test_triangles_and_vertices_of_a_patch_lie_together(asset):
    surface = asset.collision
    patch = np.repeat(np.arange(len(surface.patch_area)), np.diff(surface.patch_vertex_start))
    np.testing.assert_array_equal(
        patch[surface.vertices], surface.triangle_patch[:, None].repeat(3, 1)
    )
    assert (np.diff(surface.patch_tet) >= 0).all()
    assert (np.diff(surface.tets, axis=1) > 0).all()


def test_neighbouring_patches_are_those_of_neighbouring_triangles(asset):
    surface = asset.collision
    patch = surface.triangle_patch
    wanted = {
        (p, q)
        for p, row in zip(patch, surface.neighbours, strict=True)
        for q in patch[row]
        if p != q
    }
    rows = np.repeat(np.arange(len(surface.patch_area)), np.diff(surface.patch_neighbour_start))
    assert set(zip(rows, surface.patch_neighbours, strict=True)) == wanted


def test_measures_of_patches_are_the_sums_over_their_triangles(asset):
    surface = asset.collision
    corners = surface.posed(asset.cage_nodes)[surface.vertices]
    vector = vector_areas(corners)
    area = np.linalg.norm(vector, axis=1)
    centre = corners.mean(axis=1)
    nodes = asset.cage_nodes[surface.tets[surface.patch_tet]]
    got = np.einsum("pm,pmx->px", surface.patch_centre, nodes)
    for p in range(len(surface.patch_area)):
        rows = slice(surface.patch_triangle_start[p], surface.patch_triangle_start[p + 1])
        np.testing.assert_allclose(
            surface.patch_vector_area[p], vector[rows].sum(axis=0), atol=1e-14
        )
        np.testing.assert_allclose(surface.patch_area[p], area[rows].sum(), atol=1e-14)
        wanted = area[rows] @ centre[rows] / area[rows].sum()
        np.testing.assert_allclose(got[p], wanted, atol=1e-12)


def test_parents_are_the_elements_that_hold_the_tets(asset):
    surface = asset.collision
    elements = asset.elements[surface.tet_parent]
    assert (surface.tets[:, :, None] == elements[:, None, :]).any(axis=2).all()


def test_the_same_mesh_gives_the_same_surface():
    mesh = ball(2)
    one, two = (toolkit.build_cage(mesh, resolution=4).collision for _ in range(2))
    np.testing.assert_array_equal(one.triangles, two.triangles)
    np.testing.assert_array_equal(one.weights, two.weights)


def test_caps_over_holes_belong_to_the_surface_and_to_no_face():
    vertices, faces = ball(3)
    faces = faces[vertices[faces].mean(axis=1)[:, 2] < 0.7]
    asset = toolkit.build_cage((vertices, faces), resolution=6)
    assert (asset.collision.source_face < 0).any()
    assert measure(asset).area_error < 1e-9
    assert open_edges(asset.collision) == 0


def test_a_cage_without_a_collision_surface_says_so(monkeypatch):
    def refuse(*arguments):
        raise CutError("the surface could not be cut; try another resolution")

    monkeypatch.setattr(jellycage.toolkit.prepare, "clip", refuse)
    asset = toolkit.build_cage(ball(2), resolution=3)
    assert asset.collision is None
    assert any("No collision surface" in sentence for sentence in asset.meta["warnings"])


def test_texture_coordinates_survive_the_cut():
    """A linear function of position, given at the source's corners, is the same linear function at every cut corner."""
    asset = toolkit.build_cage(ball(3), resolution=6)
    surface = asset.collision
    linear = np.array([0.3, -0.7, 0.2])
    given = (asset.surface_vertices @ linear)[asset.surface_faces[surface.source_face]]
    first, second = surface.source_weights[..., 0], surface.source_weights[..., 1]
    got = first * given[:, :1] + second * given[:, 1:2] + (1.0 - first - second) * given[:, 2:]
    np.testing.assert_allclose(
        got, surface.posed(asset.cage_nodes)[surface.vertices] @ linear, atol=1e-12
    )


def test_arrays_that_do_not_belong_together_are_refused():
    surface = toolkit.build_cage(ball(2), resolution=3).collision
    broken = {
        "patch_centre": surface.patch_centre[:-1],
        "weights": np.full_like(surface.weights, np.nan),
        "triangles": surface.triangles[:, :5],
        "patch_neighbours": surface.patch_neighbours + len(surface.patch_area),
        "tet_tree": surface.tet_tree[::-1],
        "tet_patch_start": surface.tet_patch_start + 1,
    }
    for name, value in broken.items():
        with pytest.raises(AssetError, match=f"collision_{name}"):
            replace(surface, **{name: value})
    words = surface.triangles.copy()
    words[0, 0] |= 2**21 - 1
    with pytest.raises(AssetError, match="collision_triangles"):
        replace(surface, triangles=words)
