"""Hex cages: one rule with the tets, cubes that stay cubes."""

import numpy as np
import pytest
from shapes import (
    ball,
    blocks,
    box,
    c_ring_cells,
    fork_cells,
    linked_rings,
    pipe_cells,
    rotated,
    sheets,
    together,
)

from jellycage.toolkit.asset.quality import check_cage, node_components
from jellycage.toolkit.cage.element_tables import CUBE_CORNERS
from jellycage.toolkit.cage.hex_cage import hexes_of
from jellycage.toolkit.cage.split import split_solid, whole_tets
from jellycage.toolkit.cage.voxels import grid_around, surface_in_grid
from jellycage.toolkit.prepare import build_cage

SHAPES = {
    "fork": (blocks(*fork_cells()), 1),
    "cut ring": (blocks(*c_ring_cells()), 1),
    "pipe": (blocks(*pipe_cells()), 1),
    "linked": (linked_rings(), 2),
    "sheets": (sheets(3), 3),
    "ball": (ball(2), 1),
    "overlap": (together(box(), box((1, 1, 1), (0.5, 0.3, 0.2))), 1),
}


def laid(mesh, resolution, make=split_solid):
    """Grid shape and elements of a mesh."""
    grid = grid_around(mesh[0], resolution=resolution)
    return grid.shape, make(surface_in_grid(*mesh, grid), with_glue=True)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("resolution", [1, 3, 6])
def test_hexes_are_unit_cubes_at_their_cell_in_as_many_parts_as_the_solid(name, resolution):
    mesh, parts = SHAPES[name]
    shape, elements = laid(rotated(mesh, 3), resolution)
    hexes = hexes_of(elements, shape)
    cell = hexes.cell
    at = np.stack([cell % shape[0], cell // shape[0] % shape[1], cell // shape[0] // shape[1]], 1)
    np.testing.assert_array_equal(hexes.nodes[hexes.hexes], at[:, None] + CUBE_CORNERS)
    np.testing.assert_array_equal(hexes.cell[hexes.of_element], elements.cell // 5)
    assert len(np.unique(hexes.hexes)) == len(hexes.nodes)
    rows = np.column_stack([cell, hexes.hexes])
    assert len(np.unique(rows, axis=0)) == len(rows)
    assert node_components(hexes.hexes, len(hexes.nodes)) == parts


@pytest.mark.parametrize("name", SHAPES)
def test_glued_tets_lie_in_one_hex_or_in_hexes_that_share_a_face(name):
    shape, elements = laid(rotated(SHAPES[name][0], 3), 4)
    hexes = hexes_of(elements, shape)
    for a, b in np.unique(elements.glue[:, :2], axis=0):
        one, other = hexes.of_element[[a, b]]
        if hexes.cell[one] == hexes.cell[other]:
            assert one == other
        else:
            assert len(set(hexes.hexes[one]) & set(hexes.hexes[other])) == 4


@pytest.mark.parametrize(
    "length", [(3, 1, 1), (1, 3, 1), (1, 1, 3), (1, 3, 3), (3, 1, 3), (3, 3, 1)]
)
def test_grids_of_one_cell_across_get_cubes_too(length):
    # The neighbours along two axes are then one cube number away.
    asset = build_cage(box(np.array(length) * 0.3), cell_size=0.5, element="hex")
    assert min(asset.meta["grid_shape"]) == 1 < max(asset.meta["grid_shape"])
    assert check_cage(asset).problems == ()
    assert asset.meta["components"] == 1


def test_without_splitting_every_cube_and_every_node_is_there_once():
    shape, elements = laid(rotated(blocks(*fork_cells()), 3), 5, whole_tets)
    hexes = hexes_of(elements, shape, split=False)
    np.testing.assert_array_equal(hexes.cell, np.unique(elements.cell // 5))
    assert len(np.unique(hexes.nodes, axis=0)) == len(hexes.nodes)


def test_bars_of_a_fork_closer_than_a_cell_get_hexes_of_their_own():
    mesh = blocks(*fork_cells(gap=0.01))
    asset = build_cage(mesh, resolution=6, element="hex")
    owner = asset.embed_element
    tips = asset.surface_vertices[:, 1] > 2.0
    left = tips & (asset.surface_vertices[:, 0] < 0.305)
    nodes = [set(asset.cage_hexes[owner[side]].ravel()) for side in (left, tips & ~left)]
    assert nodes[0] and nodes[1] and not nodes[0] & nodes[1]
