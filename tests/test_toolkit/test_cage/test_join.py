"""Closed shells that overlap: one solid, or each in a cage of its own."""

import numpy as np
import pytest
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from shapes import ball, box, inside_out, rotated, together

from jellycage.toolkit.asset.quality import check_cage
from jellycage.toolkit.cage.tet_cage import tet_volumes
from jellycage.toolkit.prepare import build_cage

CHAIN = [ball(2, 0.6, (0.9 * k, 0.2 * (k % 2), 0.0)) for k in range(4)]


SOLIDS = {
    "two boxes": [[box()], [box((1, 1, 1), (0.5, 0.3, 0.2))]],
    "a chain of balls": [[mesh] for mesh in CHAIN],
    "one in the other": [[ball(2, 1.0)], [ball(2, 0.4, (0.1, 0.0, 0.0))]],
    "one in a hollow one": [
        [ball(2, 1.0), inside_out(ball(2, 0.7))],
        [ball(2, 0.4, (0.1, 0.0, 0.0))],
        [box((1, 1, 1), (0.5, -0.5, -0.5))],
    ],
    "far apart": [[box()], [box((1, 1, 1), (7.0, 5.0, 3.0))]],
}
"""Shells of each solid."""


def volume(mesh):
    vertices, faces = mesh
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum()) / 6.0


def components(asset):
    """Number of the connected part of the cage that each element is in."""
    elements, count = asset.elements, len(asset.cage_nodes)
    rows = np.repeat(elements[:, 0], elements.shape[1] - 1)
    pairs = np.ones(len(rows)), (rows, elements[:, 1:].reshape(-1))
    return connected_components(coo_matrix(pairs, shape=(count, count)), directed=False)[1][
        elements[:, 0]
    ]


@pytest.mark.parametrize("element", ["tet", "hex"])
@pytest.mark.parametrize("resolution", [3, 8, 13])
@pytest.mark.parametrize("name", SOLIDS)
def test_every_solid_has_a_cage_with_its_own_volume(name, resolution, element):
    solids = [[rotated(mesh, 3) for mesh in solid] for solid in SOLIDS[name]]
    mesh = together(*(shell for solid in solids for shell in solid))
    asset = build_cage(mesh, resolution=resolution, element=element, join=False)
    assert check_cage(asset).problems == ()
    assert asset.meta["resolution"] == resolution and asset.collision is not None
    part = components(asset)
    assert part.max() + 1 == len(solids)
    solid_of = np.repeat(
        np.arange(len(solids)), [sum(len(shell[0]) for shell in solid) for solid in solids]
    )
    home = part[asset.embed_element]
    if element == "tet":
        volumes = tet_volumes(asset.cage_nodes, asset.cage_tets)
    else:
        volumes = np.full(len(asset.elements), asset.meta["cell_size"] ** 3)
    for number, solid in enumerate(solids):
        own = np.unique(home[solid_of[asset.source_vertex] == number])
        assert len(own) == 1
        filled = (asset.cage_fill * volumes)[part == own[0]].sum()
        np.testing.assert_allclose(filled, sum(volume(shell) for shell in solid), rtol=1e-6)


def test_joined_they_are_one():
    for shells in (CHAIN, [*SOLIDS["two boxes"][0], *SOLIDS["two boxes"][1]]):
        assert build_cage(together(*shells), resolution=8).meta["components"] == 1


@pytest.mark.parametrize("join", [True, False])
def test_what_was_joined_is_said(join):
    said = " ".join(build_cage(together(*CHAIN), resolution=4, join=join).meta["warnings"])
    assert ("4 closed parts that overlap became 1;" in said) == join
    far = together(*(shell for solid in SOLIDS["far apart"] for shell in solid))
    assert "overlap" not in " ".join(build_cage(far, resolution=4, join=join).meta["warnings"])


def test_boxes_that_share_a_corner_or_a_side_keep_their_vertices_apart():
    touching = together(box(), box((1, 1, 1), (1.0, 1.0, 1.0)), box((1, 1, 1), (1.0, 0.0, 0.0)))
    asset = build_cage(touching, resolution=6, join=False)
    assert check_cage(asset).problems == ()
    home = components(asset)[asset.embed_element]
    assert [len(set(home[8 * k : 8 * k + 8].tolist())) for k in range(3)] == [1, 1, 1]


def test_one_shell_is_caged_as_ever():
    joined, apart = (build_cage(ball(2), resolution=7, join=join) for join in (True, False))
    np.testing.assert_array_equal(joined.elements, apart.elements)
    np.testing.assert_allclose(joined.cage_nodes, apart.cage_nodes, rtol=0.0, atol=1e-12)
