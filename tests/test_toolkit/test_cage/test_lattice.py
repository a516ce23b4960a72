"""The tables of the lattice agree with geometry and with each other."""

from itertools import product

import numpy as np
import pytest

from jellycage.toolkit.cage.lattice import (
    DIRECTIONS,
    EDGE_RING,
    EDGE_RING_COUNT,
    FACE_MATCH,
    FORMS,
    LINE_AXIS,
    LINE_FORMS,
    NEIGHBOUR,
    TET_CORNERS,
    TET_EDGES,
)
from jellycage.toolkit.cage.voxels_kernels import find_forms, find_tets, line_node, ring_tets

CUBES = [np.array(cube) for cube in product((3, 4), repeat=3)]
"""Cubes of both parities, away from zero."""


def nodes_of(cube, k):
    """Lattice nodes of tet k of a cube."""
    return TET_CORNERS[sum(cube) % 2, k] + np.asarray(cube)


def volumes(tets):
    """Signed volumes of tets, shape (..., 4, 3)."""
    return np.linalg.det(tets[..., 1:, :] - tets[..., :1, :]) / 6


def keys_of(points, shape):
    """Tet key of every point."""
    forms, floors = np.empty((len(points), 7)), np.empty((len(points), 7), np.int64)
    find_forms(points, forms, floors)
    keys = np.empty(len(points), np.int64)
    find_tets(floors, shape, keys)
    return keys


def test_five_tets_fill_a_cube():
    found = volumes(TET_CORNERS.astype(float))
    np.testing.assert_allclose(found[:, 0], 1 / 3, rtol=1e-14)
    np.testing.assert_allclose(found[:, 1:], 1 / 6, rtol=1e-14)


def test_a_point_lies_in_the_tet_of_its_key_and_in_no_other():
    shape = np.array([7, 6, 5])
    points = np.random.default_rng(0).uniform(0, shape, size=(3000, 3))
    cube = np.floor(points).astype(np.int64)
    key = keys_of(points, shape)
    np.testing.assert_array_equal(
        key // 5, (cube[:, 2] * shape[1] + cube[:, 1]) * shape[0] + cube[:, 0]
    )
    inside = np.empty((len(points), 5), bool)
    for i, (point, at) in enumerate(zip(points, cube, strict=True)):
        for k in range(5):
            tet = nodes_of(at, k).astype(float)
            swapped = np.repeat(tet[None], 4, axis=0)
            swapped[range(4), range(4)] = point
            inside[i, k] = (volumes(swapped) > 0).all()
    np.testing.assert_array_equal(inside.sum(axis=1), 1)
    np.testing.assert_array_equal(inside.argmax(axis=1), key % 5)


def test_every_face_lies_on_an_integer_level_of_one_form():
    for cube, k, m in product(CUBES, range(5), range(4)):
        levels = FORMS @ np.delete(nodes_of(cube, k), m, axis=0).T
        flat = np.flatnonzero((levels == levels[:, :1]).all(axis=1))
        assert len(flat) == 1
        assert levels[flat[0], 0] == round(levels[flat[0], 0])


def test_no_integer_level_cuts_a_tet():
    for cube, k in product(CUBES, range(5)):
        levels = FORMS @ nodes_of(cube, k).T
        assert (np.ceil(levels.max(axis=1)) - np.floor(levels.min(axis=1)) <= 1).all()


def test_the_neighbour_of_a_neighbour_is_oneself():
    for cube, k, m in product(CUBES, range(5), range(4)):
        parity = sum(cube) % 2
        other, other_k = cube + NEIGHBOUR[parity, k, m, :3], NEIGHBOUR[parity, k, m, 3]
        back = [
            (tuple(other + row[:3]), row[3]) for row in NEIGHBOUR[sum(other) % 2, other_k].tolist()
        ]
        assert back.count((tuple(cube), k)) == 1


def test_neighbours_lie_on_both_sides_of_their_face():
    for cube, k, m in product(CUBES, range(5), range(4)):
        parity = sum(cube) % 2
        other = nodes_of(cube + NEIGHBOUR[parity, k, m, :3], NEIGHBOUR[parity, k, m, 3])
        own = nodes_of(cube, k)
        match = FACE_MATCH[parity, k, m]
        assert match[m] == -1
        rest = [c for c in range(4) if c != m]
        np.testing.assert_array_equal(own[rest], other[match[rest]])
        far = ({0, 1, 2, 3} - set(match[rest].tolist())).pop()
        mirrored = own.astype(float)
        mirrored[m] = other[far]
        assert volumes(own.astype(float)) > 0 > volumes(mirrored)


@pytest.mark.parametrize("parity, d", list(product(range(2), range(9))))
def test_tets_around_an_edge_close_a_ring(parity, d):
    start = np.array([2 + parity, 2, 2])
    end = start + DIRECTIONS[d]
    around = [
        frozenset(map(tuple, nodes_of(cube, k)))
        for cube in product(range(5), repeat=3)
        for k in range(5)
        if {tuple(start), tuple(end)} <= set(map(tuple, nodes_of(cube, k)))
    ]
    count = EDGE_RING_COUNT[parity, d]
    ring = [
        frozenset(map(tuple, nodes_of(start + row[:3], row[3])))
        for row in EDGE_RING[parity, d, :count]
    ]
    assert len(ring) == len(set(ring)) == len(around)
    assert set(ring) == set(around)
    for a, b in zip(ring, ring[1:] + ring[:1], strict=True):
        assert len(a & b) == 3


def test_diagonals_join_even_nodes_only():
    # i + j + k keeps its parity along a diagonal, and inner tets have even corners.
    assert (EDGE_RING_COUNT[0] > 0).all()
    assert (EDGE_RING_COUNT[1, :3] > 0).all()
    assert (EDGE_RING_COUNT[1, 3:] == 0).all()


def test_ring_keys_name_the_tets_of_the_table():
    shape = np.array([6, 7, 8])
    for start in ((2, 2, 2), (3, 2, 4)):
        parity, node = sum(start) % 2, (start[2] * 8 + start[1]) * 7 + start[0]
        for d in range(9):
            keys = np.empty(6, np.int64)
            count = ring_tets(node * 9 + d, shape, keys)
            for key, row in zip(keys[:count], EDGE_RING[parity, d], strict=False):
                middle = nodes_of(np.array(start) + row[:3], row[3]).mean(axis=0)
                assert keys_of(middle[None], shape)[0] == key


def test_a_line_is_where_its_two_forms_are_constant():
    for d, (forms, axis) in enumerate(zip(LINE_FORMS, LINE_AXIS, strict=True)):
        np.testing.assert_array_equal(FORMS[forms] @ DIRECTIONS[d], 0)
        assert DIRECTIONS[d, axis] == 1
        for start in product(range(2), repeat=3):
            levels = FORMS[forms] @ start
            if (levels != np.round(levels)).any():
                continue
            for step in range(-2, 3):
                want, node = start + step * DIRECTIONS[d], np.empty(3, np.int64)
                line_node(d, *np.round(levels).astype(np.int64), want[axis], node)
                np.testing.assert_array_equal(node, want)


def test_the_six_edges_of_a_tet_run_along_the_nine_directions():
    for parity, k in product(range(2), range(5)):
        corners = TET_CORNERS[parity, k]
        for a, b, d in TET_EDGES[parity, k]:
            np.testing.assert_array_equal(corners[b] - corners[a], DIRECTIONS[d])
        assert len({frozenset(edge[:2]) for edge in TET_EDGES[parity, k].tolist()}) == 6
