"""Every vertex has an element that contains it and weights that give it back."""

import numpy as np
import pytest
from shapes import (
    ball,
    blocks,
    fork_cells,
    hollow_cells,
    linked_rings,
    pipe_cells,
    rotated,
    subdivided,
    torus,
)

from jellycage.toolkit.cage.element_tables import CUBE_CORNERS
from jellycage.toolkit.embedding.embedding_kernels import barycentric
from jellycage.toolkit.prepare import build_cage

SHAPES = {
    "ball": ball(2),
    "torus": torus(),
    "fork": subdivided(blocks(*fork_cells()), 2),
    "pipe": subdivided(blocks(*pipe_cells()), 1),
    "cavity": subdivided(blocks(*hollow_cells()), 1),
    "linked": linked_rings(),
}
KINDS = {
    "lattice": {"fit_steps": 0},
    "fitted": {},
    "hex": {"element": "hex"},
    "whole": {"split": False},
    "whole hex": {"split": False, "element": "hex"},
}


def weights_of(point, tet):
    """Barycentric weights by solving four equations."""
    return np.linalg.solve(np.vstack([tet.T, np.ones(4)]), np.append(point, 1.0))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SHAPES)
def test_weights_are_shares_that_give_every_vertex_back(name, kind):
    vertices, faces = rotated(SHAPES[name], 1)
    asset = build_cage((vertices, faces), resolution=6, **KINDS[kind])
    weights = asset.embed_weights
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-13)
    corners = asset.cage_nodes[asset.elements[asset.embed_element]]
    size = np.ptp(vertices, axis=0).max()
    np.testing.assert_allclose(
        np.einsum("ij,ijk->ik", weights, corners), vertices[asset.source_vertex], atol=1e-12 * size
    )


def test_barycentric_weights_solve_their_equations():
    rng = np.random.default_rng(2)
    found = np.empty(4)
    for _ in range(50):
        tet = np.concatenate([np.zeros((1, 3)), np.eye(3)]) + rng.normal(scale=0.1, size=(4, 3))
        point = rng.uniform(-1, 1, size=3)
        barycentric(tet, np.arange(4), point, found)
        np.testing.assert_allclose(found, weights_of(point, tet), atol=1e-12)


@pytest.mark.parametrize("steps", [0, 10])
@pytest.mark.parametrize("name", SHAPES)
def test_without_splitting_the_element_is_the_one_that_holds_the_vertex(name, steps):
    asset = build_cage(rotated(SHAPES[name], 3), resolution=4, fit_steps=steps, split=False)
    tets = asset.cage_nodes[asset.cage_tets]
    inverse = np.linalg.inv(
        np.concatenate([tets.transpose(0, 2, 1), np.ones((len(tets), 1, 4))], axis=1)
    )
    points = np.column_stack([asset.surface_vertices, np.ones(len(asset.surface_vertices))])
    smallest = np.einsum("eij,pj->pei", inverse, points).min(axis=2)
    own = smallest[np.arange(len(points)), asset.embed_element]
    assert (own >= -1e-9).all()
    # Strictly inside one element means inside no other: they do not overlap.
    clear = own > 1e-9
    assert clear.mean() > 0.9
    assert ((smallest > 1e-9).sum(axis=1)[clear] == 1).all()


def test_hex_weights_are_trilinear():
    asset = build_cage(rotated(SHAPES["fork"], 4), resolution=5, element="hex")
    low = asset.cage_nodes[asset.cage_hexes[asset.embed_element, 0]]
    x, y, z = ((asset.surface_vertices - low) / asset.meta["cell_size"]).T
    for corner, (i, j, k) in enumerate(CUBE_CORNERS):
        want = (x if i else 1 - x) * (y if j else 1 - y) * (z if k else 1 - z)
        np.testing.assert_allclose(asset.embed_weights[:, corner], want, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_every_triangle_of_a_vertex_is_listed_in_the_vertexs_element(kind):
    asset = build_cage(rotated(SHAPES["fork"], 5), resolution=6, **KINDS[kind])
    rows = np.repeat(np.arange(len(asset.elements)), np.diff(asset.piece_start))
    listed = set(zip(rows.tolist(), asset.piece_triangles.tolist(), strict=True))
    # A vertex on the very border of its element may touch it in one point only.
    inner = asset.embed_weights.min(axis=1) > 1e-9
    for face, corners in enumerate(asset.surface_faces):
        for vertex in corners[inner[corners]]:
            assert (asset.embed_element[vertex], face) in listed


def test_two_bars_of_a_fork_never_share_an_element():
    gap, bar = 0.01, 0.3
    asset = build_cage(subdivided(blocks(*fork_cells(gap, bar)), 3), resolution=6)
    x, y, _ = asset.surface_vertices.T
    # Above the crotch by more than the two cells that may hold both.
    above = y > 0.3 + 2 * asset.meta["cell_size"]
    left, right = (set(asset.embed_element[above & side]) for side in (x <= bar, x > bar))
    assert left and right and not left & right
