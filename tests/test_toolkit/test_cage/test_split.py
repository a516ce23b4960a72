"""The splitting rule: parts of the solid that share a cell move apart, and nothing that is one is torn."""

import numpy as np
import pytest
from oracles import FACES, TurnedBoxes, signed_volume, split_cage, tet_corners
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components, dijkstra
from shapes import (
    ball,
    block_boxes,
    blocks,
    box,
    c_ring_cells,
    fork_cells,
    hollow_cells,
    inside_out,
    linked_rings,
    pipe_cells,
    random_rotation,
    ring_cells,
    rotated,
    sheets,
    subdivided,
    together,
    torus,
)

from jellycage.toolkit.asset.quality import node_components
from jellycage.toolkit.cage import split
from jellycage.toolkit.cage.split import split_solid, whole_tets
from jellycage.toolkit.cage.tet_cage import face_neighbours, tet_volumes
from jellycage.toolkit.cage.voxels import grid_around, surface_in_grid
from jellycage.toolkit.prepare import _embedded, build_cage

CELLS = {
    "fork": fork_cells(),
    "fork with a hair's gap": fork_cells(gap=1e-4),
    "cut ring": c_ring_cells(),
    "pipe": pipe_cells(),
    "thin pipe": pipe_cells(bore=0.05, wall=0.03),
    "cavity": hollow_cells(),
    "ring": ring_cells(),
}


def laid(mesh, **size):
    """A mesh's grid and its surface in it."""
    grid = grid_around(mesh[0], **size)
    return grid, surface_in_grid(*mesh, grid)


def split_of(mesh, **size):
    """Elements of a mesh."""
    return split_solid(laid(mesh, **size)[1], with_glue=True)


def assert_same_partition(names, others):
    """Two lists of names say the same about which of their items belong together."""
    pairs = set(zip(names, others, strict=True))
    assert len(pairs) == len(set(names)) == len(set(others))


@pytest.fixture
def with_twins(monkeypatch):
    """Leave copies of a cell with the same nodes as they are, so that elements are pieces."""
    monkeypatch.setattr(split, "_without_twins", lambda elements: elements)


def assert_rule_is_followed(mesh, boxes, box_of_face, *, turn, resolution):
    """Pieces, glue and nodes of a solid of boxes are those of the brute-force twin."""
    vertices, faces = mesh
    grid, surface = laid((vertices @ turn.T, faces), resolution=resolution)
    elements = split_solid(surface, with_glue=True)
    solid = TurnedBoxes(boxes, lambda points: grid.to_cells(points @ turn.T))
    pieces, want, want_glue = split_cage(solid, grid.shape)

    assert elements.contradictions == 0
    assert sorted(elements.cell.tolist()) == sorted(key for key, _ in want)
    # Which piece of the twin each element is: told by its fragments, or there is only one.
    name_of = {
        e: (key, max(pieces[key].values()))
        for e, key in enumerate(elements.cell.tolist())
        if len(set(pieces[key].values())) == 1
    }
    rows = zip(
        elements.fragment_element.tolist(),
        surface.tets[surface.fragment_tet].tolist(),
        surface.fragment_face.tolist(),
        strict=True,
    )
    for e, key, face in rows:
        piece = key, pieces[key][box_of_face[face]]
        assert name_of.setdefault(e, piece) == piece
    assert len(set(name_of.values())) == len(name_of) == len(want)
    glue = {frozenset((name_of[a], name_of[b])) for a, b, _ in elements.glue.tolist()}
    assert glue == want_glue
    assert_same_partition(
        [node for tet in elements.tets.tolist() for node in tet],
        [node for e in range(len(elements.tets)) for node in want[name_of[e]]],
    )


@pytest.mark.parametrize("resolution", [1, 2, 3])
@pytest.mark.parametrize("name", CELLS)
def test_the_rule_is_followed_exactly_on_turned_shapes_of_boxes(name, resolution, with_twins):
    assert_rule_is_followed(
        blocks(*CELLS[name]),
        *block_boxes(*CELLS[name]),
        turn=random_rotation(resolution),
        resolution=resolution,
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_rule_is_followed_exactly_on_boxes_that_overlap_or_not(seed, with_twins):
    rng = np.random.default_rng(seed)
    low = rng.uniform(0, 1, size=(5, 3))
    high = low + 10 ** rng.uniform(-1.5, 0, size=(5, 3))
    mesh = together(*(box(b - a, a) for a, b in zip(low, high, strict=True)))
    boxes, box_of_face = np.stack([low, high], axis=1), np.repeat(np.arange(5), 12)
    for resolution in (1, 3):
        turn = random_rotation(seed)
        assert_rule_is_followed(mesh, boxes, box_of_face, turn=turn, resolution=resolution)


def inside_convex(points, mesh, grid):
    """Which points (in cells) lie in a convex mesh."""
    vertices, faces = mesh
    a, b, c = (grid.to_cells(vertices[faces[:, k]]) for k in range(3))
    normals = np.cross(b - a, c - a)
    return (points @ normals.T <= np.einsum("ij,ij->i", normals, a)).all(axis=1)


def flood_count(corners, meshes, grid, n=24):
    """Parts of a union of convex meshes in a tet, as a flood over n-ths of the tet sees them."""
    i, j, k = (axis.reshape(-1) for axis in np.indices((n + 1, n + 1, n + 1)))
    kept = i + j + k <= n
    weights = np.stack([i, j, k, n - i - j - k], axis=1)[kept]
    points = weights @ corners / n
    is_solid = np.any([inside_convex(points, mesh, grid) for mesh in meshes], axis=0)
    number = np.full(kept.shape, -1)
    number[np.flatnonzero(kept)[is_solid]] = np.arange(is_solid.sum())
    number = np.pad(number.reshape(n + 1, n + 1, n + 1), 1, constant_values=-1)
    pairs = []
    for step in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, -1, 0), (1, 0, -1), (0, 1, -1)):
        other = np.roll(number, step, axis=(0, 1, 2))
        both = (number >= 0) & (other >= 0)
        pairs.append(np.stack([number[both], other[both]]))
    rows, columns = np.concatenate(pairs, axis=1)
    count = int(is_solid.sum())
    graph = coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(count, count))
    return connected_components(graph, directed=False)[0] if count else 0


@pytest.mark.parametrize(
    "meshes",
    [
        [ball(2), ball(2, centre=(2.3, 0, 0)), ball(1, 0.4, (1.1, 1.3, 0))],
        [ball(2), ball(2, 0.7, (1.2, 0.3, 0.1)), ball(1, 0.2, (0.9, 1.1, 0))],
    ],
    ids=["apart", "overlapping"],
)
def test_pieces_of_round_solids_equal_a_flood_of_fine_samples(meshes, with_twins):
    turned = [rotated(mesh, 6) for mesh in meshes]
    vertices, faces = together(*turned)
    grid, surface = laid((vertices, faces), resolution=3)
    elements = split_solid(surface)
    neighbours = face_neighbours(elements.tets, elements.cell)
    fill = _embedded(surface, elements, neighbours, elements.nodes).fill
    compared, most = 0, 0
    for key in surface.tets:
        own = np.flatnonzero(elements.cell == key)
        # A part below a fiftieth of the tet may fall between the 2925 samples.
        if fill[own].min() > 0.02:
            corners = tet_corners(key, grid.shape)
            assert flood_count(corners, turned, grid) == len(own)
            compared, most = compared + 1, max(most, len(own))
    assert compared > 30
    # Both have tets that two parts share.
    assert most == 2


def node_graph(asset):
    """Lengths of the cage's edges as a sparse matrix."""
    a, b = asset.elements[:, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]].reshape(-1, 2).T
    lengths = np.linalg.norm(asset.cage_nodes[a] - asset.cage_nodes[b], axis=1)
    # Repeated entries of a coo matrix would be added up.
    (a, b), first = np.unique(np.stack([a, b]), axis=1, return_index=True)
    count = len(asset.cage_nodes)
    return coo_matrix((lengths[first], (a, b)), shape=(count, count)).tocsr()


def cage_path(asset, vertex, other):
    """Shortest way along cage edges between the elements of two vertices [m]."""
    start = asset.elements[asset.embed_element[vertex]]
    end = asset.elements[asset.embed_element[other]]
    return float(dijkstra(node_graph(asset), directed=False, indices=start)[:, end].min())


def vertex_at(asset, place):
    """The vertex nearest to a place."""
    return int(np.linalg.norm(asset.surface_vertices - np.asarray(place), axis=1).argmin())


@pytest.mark.parametrize("gap", [0.1, 0.01, 1e-4])
@pytest.mark.parametrize("resolution", [3, 5, 9])
def test_bars_of_a_fork_closer_than_a_cell_are_far_apart_in_the_cage(gap, resolution):
    bar, length = 0.3, 2.0
    mesh = subdivided(blocks(*fork_cells(gap, bar, length)), 2)
    asset = build_cage(mesh, resolution=resolution)
    cell = asset.meta["cell_size"]
    assert gap < cell
    tips = [vertex_at(asset, (x, 0.3 + length, bar / 2)) for x in (bar, bar + gap)]
    path = cage_path(asset, *tips)
    # Down one bar and up the other, but for the elements at both ends and round the crotch.
    assert 2 * length - 4 * cell < path < 2 * length + gap + 4 * cell
    assert asset.meta["components"] == 1


@pytest.mark.parametrize("resolution", [3, 5, 9])
def test_front_and_back_of_one_bar_stay_together(resolution):
    bar, length = 0.1, 2.0
    mesh = subdivided(blocks(*fork_cells(0.05, bar, length)), 3)
    asset = build_cage(mesh, resolution=resolution)
    for height in (0.8, 1.3, 2.0):
        sides = [vertex_at(asset, (x, height, bar / 2)) for x in (0, bar)]
        assert cage_path(asset, *sides) <= bar + 3 * asset.meta["cell_size"]


@pytest.mark.parametrize(
    "cells", [pipe_cells(), hollow_cells(), ring_cells()], ids=["pipe", "cavity", "ring"]
)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_hollow_thing_inside_one_tet_is_one_element(cells, seed):
    elements = split_of(rotated(blocks(*cells), seed), cell_size=100.0)
    assert len(elements.tets) == 1


def test_nested_balls_inside_one_tet_are_one_element_and_separate_ones_are_two():
    nested = together(ball(1), inside_out(ball(1, 0.8)), ball(1, 0.6, (0.05, 0.02, 0.01)))
    apart = together(ball(1), ball(1, 0.7, (2.0, 0.3, 0.1)))
    shell = together(ball(1), inside_out(ball(1, 0.8)))
    for mesh, want in ((nested, 2), (apart, 2), (shell, 1), (ball(1), 1)):
        assert len(split_of(rotated(mesh, 5), cell_size=100.0).tets) == want


@pytest.mark.parametrize("resolution", [1, 2, 3, 4, 6])
@pytest.mark.parametrize(
    "mesh, want",
    [
        (linked_rings(), 2),
        (sheets(2), 2),
        (blocks(*pipe_cells()), 1),
        (blocks(*hollow_cells()), 1),
        (together(box(), box((1, 1, 1), (0.5, 0.3, 0.2))), 1),
        (together(ball(2), ball(2, 0.3)), 1),
        (together(ball(2), inside_out(ball(2, 0.6)), ball(2, 0.5)), 2),
        (torus(), 1),
    ],
    ids=["linked", "sheets", "pipe", "cavity", "overlap", "deep", "kernel", "torus"],
)
def test_the_cage_has_as_many_parts_as_the_solid(mesh, want, resolution):
    elements = split_of(rotated(mesh, 8), resolution=resolution)
    assert node_components(elements.tets, len(elements.nodes)) == want


@pytest.mark.parametrize("axis", range(3))
def test_equal_boxes_in_line_inside_one_tet_stay_apart(axis):
    # A ray from a corner of one of them would meet corners and edges of the next exactly.
    step = 0.05 * np.eye(3)[axis]
    row = together(*(box((0.02,) * 3, k * step) for k in range(3)))
    for at in np.random.default_rng(axis).uniform(-0.5, 0.5, size=(10, 3)):
        far = box((0.01,) * 3, at * 8)
        elements = split_of(together(row, far), cell_size=1.0)
        assert node_components(elements.tets, len(elements.nodes)) == 4


@pytest.mark.parametrize("resolution", [1, 2, 4])
def test_overlapping_boxes_with_flush_sides_are_one(resolution):
    # Their faces meet along edges and in planes only: nothing crosses properly.
    row = together(box(), box((1, 1, 1), (0.5, 0, 0)), box((1, 1, 1), (1.2, 0, 0.5)))
    for seed in range(25):
        elements = split_of(rotated(row, seed), resolution=resolution)
        assert node_components(elements.tets, len(elements.nodes)) == 1


def test_coplanar_sides_of_parallel_leaves_do_not_join_them():
    leaves = sheets(4, gap=1e-3, thickness=1e-3)
    for seed in range(12):
        elements = split_of(rotated(leaves, seed), resolution=4)
        assert node_components(elements.tets, len(elements.nodes)) == 4


CLOSE = {
    "fork": subdivided(blocks(*fork_cells()), 1),
    "cut ring": blocks(*c_ring_cells()),
    "pipe": blocks(*pipe_cells()),
    "cavity": subdivided(blocks(*hollow_cells()), 1),
    "linked": linked_rings(),
    "sheets": sheets(3),
    "torus": torus(),
    "hollow ball": together(ball(2), inside_out(ball(2, 0.6))),
}


@pytest.mark.parametrize("resolution", [2, 5, 8])
@pytest.mark.parametrize("name", CLOSE)
def test_no_two_copies_of_a_cell_have_the_same_nodes(name, resolution):
    elements = split_of(rotated(CLOSE[name], 9), resolution=resolution)
    rows = np.column_stack([elements.cell, elements.tets])
    assert len(np.unique(rows, axis=0)) == len(rows)
    assert len(np.unique(np.column_stack([elements.cell, elements.piece]), axis=0)) == len(rows)


@pytest.mark.parametrize("name", CLOSE)
def test_glued_elements_share_the_three_nodes_of_their_face(name):
    elements = split_of(rotated(CLOSE[name], 9), resolution=5)
    assert len(elements.glue)
    for a, b, m in np.unique(elements.glue, axis=0):
        assert set(elements.tets[a][FACES[m]]) <= set(elements.tets[b])


@pytest.mark.parametrize("name", CLOSE)
def test_nodes_lie_on_the_lattice_corners_of_their_cell(name):
    grid, surface = laid(rotated(CLOSE[name], 9), resolution=5)
    elements = split_solid(surface)
    for key, tet in zip(elements.cell, elements.tets, strict=True):
        np.testing.assert_array_equal(elements.nodes[tet], tet_corners(key, grid.shape))
    assert len(np.unique(elements.tets)) == len(elements.nodes)


@pytest.mark.parametrize(
    "settings",
    [{"fit_steps": 0}, {}, {"element": "hex"}, {"split": False}],
    ids=["lattice", "fitted", "hex", "whole"],
)
@pytest.mark.parametrize("name", CLOSE)
def test_fill_and_centres_add_up_to_the_volume_and_centre_of_the_solid(name, settings):
    mesh = rotated(CLOSE[name], 10)
    asset = build_cage(mesh, resolution=6, **settings)
    if asset.element == "tet":
        volumes = tet_volumes(asset.cage_nodes, asset.cage_tets)
    else:
        volumes = np.full(len(asset.cage_hexes), asset.meta["cell_size"] ** 3)
    assert (asset.cage_fill >= 0).all() and (asset.cage_fill <= 1).all()
    solid = asset.cage_fill * volumes
    assert solid.sum() == pytest.approx(signed_volume(*mesh), rel=1e-9)
    corners = mesh[0][mesh[1]]
    flux = np.linalg.det(corners) / 6.0
    centre = (flux[:, None] * corners.sum(axis=1) / 4.0).sum(axis=0) / flux.sum()
    np.testing.assert_allclose(solid @ asset.cage_centre / solid.sum(), centre, atol=1e-9)
    # Second moments about the origin, by Gauss too: 1/5 of the flux of x x x.
    total = corners.sum(axis=1)
    square = np.einsum("fai,faj->fij", corners, corners) + total[:, :, None] * total[:, None, :]
    expected = (flux[:, None, None] * square / 20.0).sum(axis=0)
    own = asset.cage_spread[:, [0, 3, 4, 3, 1, 5, 4, 5, 2]].reshape(-1, 3, 3)
    own = own + asset.cage_centre[:, :, None] * asset.cage_centre[:, None, :]
    found = (solid[:, None, None] * own).sum(axis=0)
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
    is_filled = asset.cage_fill > 1e-3
    assert (
        np.linalg.eigvalsh(own - asset.cage_centre[:, :, None] * asset.cage_centre[:, None, :])[
            is_filled
        ].min()
        > -1e-9
    )
    x = asset.cage_nodes[asset.elements]
    assert (asset.cage_centre >= x.min(axis=1) - 1e-9).all()
    assert (asset.cage_centre <= x.max(axis=1) + 1e-9).all()


@pytest.mark.parametrize("element", ["tet", "hex"])
def test_the_centre_of_a_slab_in_a_cube_is_the_middle_of_the_slab(element):
    # A plate 0.6 cells thick: every element's solid lies between its two faces.
    asset = build_cage(box((8.0, 8.0, 0.6)), cell_size=1.0, element=element, fit_steps=0)
    low, high = (f(asset.cage_nodes[asset.elements][:, :, 2], axis=1) for f in (np.min, np.max))
    middle = 0.5 * (np.maximum(low, 0.0) + np.minimum(high, 0.6))
    if element == "hex":
        np.testing.assert_allclose(asset.cage_centre[:, 2], middle, atol=1e-9)
    assert (asset.cage_centre[:, 2] > -1e-9).all() and (asset.cage_centre[:, 2] < 0.6 + 1e-9).all()


def test_fill_of_overlapping_solids_adds_up_to_their_union():
    # Exact but in the tets where the two surfaces cross, whose share falls with the square of the cell size.
    mesh = rotated(together(box(), box((1, 1, 1), (0.5, 0.25, 0.25))), 1)
    for resolution, rounding in ((8, 0.02), (16, 0.01), (32, 0.003)):
        asset = build_cage(mesh, resolution=resolution, fit_steps=0)
        solid = asset.cage_fill @ tet_volumes(asset.cage_nodes, asset.cage_tets)
        assert solid == pytest.approx(2 - 0.5 * 0.75 * 0.75, rel=rounding)
        assert asset.meta["surface_volume"] == pytest.approx(solid)


@pytest.mark.parametrize("name", CLOSE)
def test_without_splitting_every_cell_and_every_lattice_node_is_there_once(name):
    surface = laid(rotated(CLOSE[name], 11), resolution=4)[1]
    whole, parted = whole_tets(surface), split_solid(surface)
    np.testing.assert_array_equal(whole.cell, np.unique(parted.cell))
    assert len(np.unique(whole.nodes, axis=0)) == len(whole.nodes) <= len(parted.nodes)
    assert len(np.unique(whole.tets)) == len(whole.nodes)
    assert (tet_volumes(whole.nodes, whole.tets) > 0).all()
