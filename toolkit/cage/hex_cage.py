"""Hexahedral cages: the kept cubes, copied where the solid in them falls into parts. They stay cubes: no fitting.

A part of the solid in a cube is a set of tet elements glued inside that cube, so tets and hexes follow one rule.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.cage.element_tables import CUBE_CORNERS
from jellycage.toolkit.cage.glue_kernels import join_cubes, join_hex_corners
from jellycage.toolkit.cage.lattice import TET_CORNERS
from jellycage.toolkit.cage.split import LatticeElements
from jellycage.toolkit.union_kernels import roots


@dataclass(frozen=True, eq=False)
class Hexes:
    """A hexahedral cage in lattice coordinates."""

    nodes: NDArray[np.float64]
    """Positions in cells, shape (n, 3)."""
    hexes: NDArray[np.int32]
    """Node indices, shape (h, 8), VTK order."""
    cell: NDArray[np.int64]
    """Number of the cube that each hex is a copy of."""
    piece: NDArray[np.int32]
    """Which part of the solid in that cube."""
    of_element: NDArray[np.int64]
    """The hex that each tet element lies in, shape (e,)."""


def hexes_of(elements: LatticeElements, shape, *, split=True) -> Hexes:
    """The hexes that hold some tet elements; with split=False one per cube, nodes shared wherever they coincide."""
    cube = elements.cell // 5
    parent = np.arange(len(cube))
    join_cubes(elements.glue, cube, parent)
    part = roots(parent) if split else cube
    _, first, of_element = np.unique(part, return_index=True, return_inverse=True)
    of_element = of_element.reshape(-1)
    # Number the hexes by cube, then by their first element.
    order = np.lexsort((first, cube[first]))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    of_element, cell = number[of_element], cube[first][order]

    at = places(cube, shape)
    # With a margin the steps to the neighbours differ along x, y and z, also in a grid of one cell across.
    room = np.asarray(shape) + 2
    padded = (at[:, 2] * room[1] + at[:, 1]) * room[0] + at[:, 0]
    corner_parent = np.arange(8 * len(cell))
    join_hex_corners(of_element, padded, elements.glue, room, CUBE_CORNERS, corner_parent)
    corners = (places(cell, shape)[:, None] + CUBE_CORNERS).reshape(-1, 3)
    if split:
        chosen, node = np.unique(roots(corner_parent), return_inverse=True)
        nodes = corners[chosen]
    else:
        nodes, node = np.unique(corners, axis=0, return_inverse=True)
    return _without_twins(nodes.astype(float), node.reshape(-1, 8), cell, of_element)


def tets_of_hexes(hexes, cell, shape):
    """Five tets for each hex, cut as its cube in the lattice is, shape (5h, 4)."""
    number = np.empty((2, 2, 2), np.int64)
    number[tuple(CUBE_CORNERS.T)] = np.arange(8)
    parity = places(cell, shape).sum(axis=1) % 2
    corner = number[tuple(np.moveaxis(TET_CORNERS, -1, 0))]
    return np.take_along_axis(hexes[:, None], corner[parity], axis=2).reshape(-1, 4)


def places(cube, shape):
    """Integer positions of cubes from their numbers, shape (n, 3)."""
    return np.stack(
        [cube % shape[0], cube // shape[0] % shape[1], cube // (shape[0] * shape[1])], axis=1
    )


def _without_twins(nodes, hexes, cell, of_element):
    """Copies of a cube that ended with the same eight nodes become one."""
    rows = np.column_stack([cell, hexes])
    _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    first, group = first[order], number[group.reshape(-1)]
    cell = cell[first]
    piece = np.arange(len(cell)) - np.searchsorted(cell, cell)
    return Hexes(
        nodes, hexes[first].astype(np.int32), cell, piece.astype(np.int32), group[of_element]
    )
