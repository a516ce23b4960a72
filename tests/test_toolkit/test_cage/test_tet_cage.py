"""The tet cage and which elements meet across each face."""

import numpy as np
import pytest
from oracles import FACES
from shapes import blocks, fork_cells, rotated, sheets

from jellycage.toolkit.cage.element_tables import TET_FACES
from jellycage.toolkit.cage.split import split_solid
from jellycage.toolkit.cage.tet_cage import face_neighbours, tet_volumes
from jellycage.toolkit.cage.voxels import grid_around, surface_in_grid

UNIT = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])


def split_of(mesh, resolution):
    """Elements of a mesh."""
    return split_solid(surface_in_grid(*mesh, grid_around(mesh[0], resolution=resolution)))


def test_volumes_are_signed():
    np.testing.assert_allclose(
        tet_volumes(UNIT, np.array([[0, 1, 2, 3], [0, 2, 1, 3]])), [1 / 6, -1 / 6]
    )


def test_faces_are_counter_clockwise_from_outside():
    for m, face in enumerate(TET_FACES):
        a, b, c = UNIT[face]
        assert m not in face
        assert np.cross(b - a, c - a) @ (UNIT[m] - a) < 0


@pytest.mark.parametrize("mesh", [blocks(*fork_cells()), sheets(3)], ids=["fork", "sheets"])
def test_neighbours_share_three_nodes_and_come_from_another_cell(mesh):
    elements = split_of(rotated(mesh, 2), 4)
    tets, cell = elements.tets, elements.cell
    neighbours = face_neighbours(tets, cell)
    sets = [set(tet) for tet in tets.tolist()]
    for e in range(len(tets)):
        for m in range(4):
            face = set(tets[e][FACES[m]].tolist())
            want = [o for o in range(len(tets)) if face <= sets[o] and cell[o] != cell[e]]
            row = slice(neighbours.start[4 * e + m], neighbours.start[4 * e + m + 1])
            assert neighbours.elements[row].tolist() == want
            assert neighbours.is_outer()[e, m] == (not want)


def test_neighbours_do_not_depend_on_how_large_node_numbers_are():
    # From 2^21 nodes on, three of them no longer fit one key.
    elements = split_of(rotated(blocks(*fork_cells()), 2), 4)
    small = face_neighbours(elements.tets, elements.cell)
    large = face_neighbours(elements.tets + 2**21, elements.cell)
    np.testing.assert_array_equal(small.start, large.start)
    np.testing.assert_array_equal(small.elements, large.elements)
