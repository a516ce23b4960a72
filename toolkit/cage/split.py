"""Elements and nodes of the cage: one element per lattice tet and connected part of the solid in it.

Two elements in neighbouring tets are glued if their parts overlap on the shared face; nodes are the classes of
(element, corner) under gluing. So arms that share a cell with the head, or fingers closer than a cell, move apart,
while front and back of one limb, two sheets of one part, stay together [thesis ch. 5.3.1, step 3, taken further].
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.cage.glue_kernels import (
    glue_corners,
    glue_fragments,
    has_solid_corner,
    number_nodes,
)
from jellycage.toolkit.cage.lattice_surface_kernels import LatticeSurface
from jellycage.toolkit.cage.sides_kernels import find_sides
from jellycage.toolkit.cage.split_kernels import (
    join_across_edges,
    join_along_free_edges,
    join_along_pierced_edges,
    join_holes_and_crossings,
    number_pieces,
)
from jellycage.toolkit.cage.voxels import interior_cubes


@dataclass(frozen=True, eq=False)
class LatticeElements:
    """The cage before fitting, in lattice coordinates."""

    nodes: NDArray[np.float64]
    """Positions in cells, shape (n, 3)."""
    tets: NDArray[np.int32]
    """Node indices, shape (e, 4), positive volumes."""
    cell: NDArray[np.int64]
    """Key of the lattice tet of each element: 5 * cube + index in the cube."""
    piece: NDArray[np.int32]
    """Which part of the solid in that tet."""
    solid_corner: NDArray[np.bool_]
    """Whether each corner lies in the element's part of the solid, shape (e, 4)."""
    fragment_element: NDArray[np.int32]
    """Element of every fragment of the surface."""
    glue: NDArray[np.int64]
    """Glued pairs (element, element, face of the first), shape (g, 3), repeats possible; empty if not asked for."""
    contradictions: int
    """Near-degenerate answers met; if not zero the lattice should be shifted and the work done again."""


def split_solid(surface: LatticeSurface, *, with_glue=False) -> LatticeElements:
    """Elements with their own node copies. with_glue: also list the glued pairs, which hexes need."""
    parent, crossed, solid, wrong = _pieces(surface)
    fragment_count, tet_count = len(surface.fragment_tet), len(surface.tets)
    member_start, members = _members(surface)
    join_holes_and_crossings(surface, member_start, members, crossed, solid, parent)

    piece = np.empty(fragment_count, np.int64)
    corner_piece = np.empty((tet_count, 4), np.int64)
    piece_count = np.empty(tet_count, np.int64)
    number_pieces(surface, member_start, members, solid, parent, piece, corner_piece, piece_count)
    return _assemble(surface, piece, corner_piece, piece_count, wrong, with_glue)


def whole_tets(surface: LatticeSurface, *, with_glue=False) -> LatticeElements:
    """Elements without splitting: every kept tet once, nodes shared wherever they coincide."""
    _, _, solid, wrong = _pieces(surface)
    piece = np.zeros(len(surface.fragment_tet), np.int64)
    ones = np.ones(len(surface.tets), np.int64)
    # Every corner counts as joined, so that all face neighbours are glued.
    split = _assemble(surface, piece, np.zeros((len(ones), 4), np.int64), ones, wrong, with_glue)
    first, node = np.unique(split.nodes, axis=0, return_inverse=True)
    solid_corner = split.solid_corner.copy()
    at = np.searchsorted(surface.tets, split.cell)
    touched = (at < len(surface.tets)) & (
        surface.tets[at.clip(max=len(surface.tets) - 1)] == split.cell
    )
    solid_corner[touched] = solid[at[touched]]
    tets = node.reshape(-1)[split.tets].astype(np.int32)
    return replace(split, nodes=first, tets=tets, solid_corner=solid_corner)


def fragment_sides(surface: LatticeSurface) -> NDArray[np.int64]:
    """Which side of every fragment borders on the void: 1 its front, -1 its back, 0 none, inside overlapping parts."""
    sides = np.ones(len(surface.fragment_tet), np.int64)
    if not np.isin(surface.line_sum, (0, 1)).all():
        find_sides(surface, *_members(surface), sides)
    return sides


def _members(surface):
    """Fragments of every tet that the surface touches, as CSR."""
    members = np.argsort(surface.fragment_tet, kind="stable")
    start = np.searchsorted(surface.fragment_tet[members], np.arange(len(surface.tets) + 1))
    return start, members


def _pieces(surface):
    fragment_count, tet_count = len(surface.fragment_tet), len(surface.tets)
    parent = np.arange(fragment_count + 4 * tet_count)
    crossed = np.zeros(fragment_count, np.uint8)
    solid = np.zeros((tet_count, 4), np.bool_)
    wrong = join_across_edges(surface, parent, crossed)
    wrong += join_along_pierced_edges(surface, parent, crossed)
    join_along_free_edges(surface, parent, solid)
    return parent, crossed, solid, int(wrong)


def _assemble(surface, piece, corner_piece, piece_count, wrong, with_glue):
    """Elements from numbered pieces: tets the surface touches first, then those inside, all sorted by tet."""
    inside = _inside_tets(surface)
    keys = np.concatenate([surface.tets, inside])
    order = np.argsort(keys, kind="stable")
    tets = keys[order]
    count = np.concatenate([piece_count, np.ones(len(inside), np.int64)])[order]
    start = np.concatenate([[0], np.cumsum(count)])
    place = np.empty(len(keys), np.int64)
    place[order] = np.arange(len(keys))

    fragment_element = start[place[surface.fragment_tet]] + piece
    corner = np.concatenate([corner_piece, np.zeros((len(inside), 4), np.int64)])[order]
    corner_element = np.where(corner >= 0, start[:-1, None] + corner, -1)
    element_tet = np.repeat(np.arange(len(tets)), count)
    parent = np.arange(4 * len(element_tet))
    jobs = (
        (glue_fragments, surface, fragment_element, parent),
        (glue_corners, surface.shape, tets, corner_element, parent),
    )
    glue = np.concatenate([_pairs(with_glue, *job) for job in jobs])

    node_of = np.empty((len(element_tet), 4), np.int64)
    position = np.empty((4 * len(element_tet), 3))
    node_count = number_nodes(parent, tets, element_tet, surface.shape, node_of, position)
    solid_corner = corner_element[element_tet] == np.arange(len(element_tet))[:, None]
    elements = LatticeElements(
        nodes=position[:node_count],
        tets=node_of.astype(np.int32),
        cell=tets[element_tet],
        piece=(np.arange(len(element_tet)) - start[element_tet]).astype(np.int32),
        solid_corner=solid_corner,
        fragment_element=fragment_element.astype(np.int32),
        glue=glue,
        contradictions=wrong,
    )
    return _without_twins(elements)


def _pairs(is_wanted, kernel, *arguments):
    """Glue, and the rows that the gluing kernel lists if they are wanted."""
    rows = np.empty((0, 3), np.int64)
    found = kernel(*arguments, rows)
    if is_wanted:
        rows = np.empty((found, 3), np.int64)
        kernel(*arguments, rows)
    return rows


def _inside_tets(surface):
    """Keys of the tets inside the solid that the surface does not touch, ascending."""
    keys = (interior_cubes(surface)[:, None] * 5 + np.arange(5)).reshape(-1)
    at = np.searchsorted(surface.tets, keys).clip(max=len(surface.tets) - 1)
    keys = keys[surface.tets[at] != keys]
    solid = np.empty(len(keys), np.bool_)
    has_solid_corner(
        keys, surface.shape, surface.line_start, surface.line_r, surface.line_sum, solid
    )
    return keys[solid]


def _without_twins(elements):
    """Copies of a tet that ended with the same four nodes become one."""
    same_cell = elements.cell[1:] == elements.cell[:-1]
    if not same_cell.any():
        return elements
    rows = np.column_stack([elements.cell, elements.tets])
    order = np.lexsort(rows.T[::-1])
    is_new = np.ones(len(rows), bool)
    is_new[1:] = (rows[order][1:] != rows[order][:-1]).any(axis=1)
    first = order[is_new]
    group = np.empty(len(rows), np.int64)
    group[order] = np.cumsum(is_new) - 1
    rank = np.argsort(first, kind="stable")
    new_number = np.empty(len(first), np.int64)
    new_number[rank] = np.arange(len(first))
    first = first[rank]
    solid = np.zeros((len(first), 4), bool)
    np.logical_or.at(solid, new_number[group], elements.solid_corner)
    cell = elements.cell[first]
    piece = np.arange(len(cell)) - np.searchsorted(cell, cell)
    return LatticeElements(
        nodes=elements.nodes,
        tets=elements.tets[first],
        cell=cell,
        piece=piece.astype(np.int32),
        solid_corner=solid,
        fragment_element=new_number[group][elements.fragment_element].astype(np.int32),
        glue=np.column_stack([new_number[group][elements.glue[:, :2]], elements.glue[:, 2]]),
        contradictions=elements.contradictions,
    )
