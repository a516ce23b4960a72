"""The pattern against a dense matrix with the same couplings."""

import numpy as np
import pytest
from beams import beam_hexes, beam_tets

from jellycage.sim.soft.matrix_pattern import matrix_pattern


def random_elements(rng, node_count, count, corners):
    return np.array([rng.permutation(node_count)[:corners] for _ in range(count)], np.int32)


def cases():
    rng = np.random.default_rng(0)
    tets, hexes = beam_tets(2, 2, 1), beam_hexes(2, 1, 2)
    return {
        "one tet": (np.array([[2, 0, 3, 1]], np.int32), 4),
        "tets": (tets[1], len(tets[0])),
        "hexes": (hexes[1], len(hexes[0])),
        "tets in any order": (random_elements(rng, 15, 20, 4), 15),
        "hexes in any order": (random_elements(rng, 20, 6, 8), 20),
        "nodes without elements": (np.array([[1, 5, 3, 7]], np.int32), 10),
    }


CASES = cases()
every_case = pytest.mark.parametrize(("corners", "node_count"), CASES.values(), ids=CASES.keys())


def coupled(corners, node_count):
    """Which nodes share an element, or are the same, shape (n, n)."""
    result = np.eye(node_count, dtype=bool)
    for element in corners:
        for i in element:
            result[i, element] = True
    return result


def rows_of(pattern):
    return np.repeat(np.arange(len(pattern.start) - 1), np.diff(pattern.start))


@every_case
def test_the_blocks_are_the_upper_couplings_row_by_row(corners, node_count):
    pattern = matrix_pattern(corners, node_count)
    expected = np.argwhere(np.triu(coupled(corners, node_count)))
    np.testing.assert_array_equal(np.column_stack([rows_of(pattern), pattern.column]), expected)
    np.testing.assert_array_equal(pattern.column[pattern.start[:-1]], np.arange(node_count))


@every_case
def test_every_pair_of_corners_finds_its_block(corners, node_count):
    pattern = matrix_pattern(corners, node_count)
    row = rows_of(pattern)
    assert pattern.slots.shape == (len(corners), corners.shape[1], corners.shape[1])
    for element, slots in zip(corners, pattern.slots, strict=True):
        for a, i in enumerate(element):
            for b, j in enumerate(element):
                slot, is_stored_transposed = slots[a, b], slots[a, b] < 0
                assert is_stored_transposed == (i > j)
                block = -1 - slot if is_stored_transposed else slot
                assert (row[block], pattern.column[block]) == (min(i, j), max(i, j))


@every_case
def test_element_matrices_add_up_to_the_dense_matrix(corners, node_count):
    rng = np.random.default_rng(1)
    pattern = matrix_pattern(corners, node_count)
    size = corners.shape[1]
    expected = np.zeros((node_count, 3, node_count, 3))
    blocks = np.zeros((len(pattern.column), 3, 3))
    for element, slots in zip(corners, pattern.slots, strict=True):
        part = rng.normal(size=(3 * size, 3 * size))
        part = (part + part.T).reshape(size, 3, size, 3)
        for a in range(size):
            for b in range(size):
                expected[element[a], :, element[b], :] += part[a, :, b, :]
                if b >= a:
                    slot = slots[a, b]
                    blocks[slot if slot >= 0 else -1 - slot] += (
                        part[a, :, b, :] if slot >= 0 else part[a, :, b, :].T
                    )
    found = np.zeros_like(expected)
    for i, j, block in zip(rows_of(pattern), pattern.column, blocks, strict=True):
        found[i, :, j, :] = block
        found[j, :, i, :] = block.T
    np.testing.assert_allclose(found, expected, atol=1e-13)


def test_the_pattern_cannot_be_written_to():
    pattern = matrix_pattern(*CASES["tets"])
    for array in (pattern.start, pattern.column, pattern.slots):
        assert not array.flags.writeable
