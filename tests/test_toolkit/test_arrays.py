"""Arrays are checked once where they enter, and cannot be changed afterwards."""

import numpy as np
import pytest

from jellycage.toolkit.arrays import as_indices, as_points, frozen, ragged, sorted_unique
from jellycage.toolkit.errors import MeshError, SettingsError


def test_frozen_arrays_refuse_writing_and_leave_the_callers_array_alone():
    mine = np.zeros((3, 2))
    kept = frozen(mine)
    with pytest.raises(ValueError):
        kept[0, 0] = 1.0
    mine[0, 0] = 2.0
    assert frozen(np.asfortranarray(np.ones((3, 2)))).flags.c_contiguous


@pytest.mark.parametrize(
    "points", [np.zeros(3), np.zeros((2, 2)), [[0, 0, np.nan]], [[0, np.inf, 0]]]
)
def test_points_of_wrong_shape_or_not_finite_are_refused_by_name(points):
    with pytest.raises(MeshError, match="corners"):
        as_points(points, "corners")


@pytest.mark.parametrize("indices", [[[0, 1, 3]], [[0, -1, 2]], [[0, 1]], [0, 1, 2]])
def test_indices_of_wrong_shape_or_out_of_range_are_refused_by_name(indices):
    with pytest.raises(MeshError, match="faces"):
        as_indices(indices, 3, 3, "faces")


def test_the_caller_chooses_the_error():
    with pytest.raises(SettingsError, match="corners"):
        as_points(np.zeros(3), "corners", error=SettingsError)
    with pytest.raises(SettingsError, match="faces"):
        as_indices([[0, 1, 3]], 3, 3, "faces", error=SettingsError)


def test_no_indices_are_fine():
    assert as_indices([], 3, 0, "faces").shape == (0, 3)


def test_sorted_unique_equals_numpys():
    rng = np.random.default_rng(0)
    for size in (0, 1, 2, 50):
        keys = rng.integers(0, 20, size=size)
        np.testing.assert_array_equal(sorted_unique(keys), np.unique(keys))


def test_ragged_rows_hold_each_value_once_in_order():
    rng = np.random.default_rng(1)
    rows, values = rng.integers(0, 6, size=40), rng.integers(0, 2**32, size=40)
    rows, values = np.append(rows, rows[:5]), np.append(values, values[:5])
    start, found = ragged(rows, values, 8)
    assert start[0] == 0 and start[-1] == len(found) and len(start) == 9
    for row in range(8):
        want = sorted(set(values[rows == row].tolist()))
        assert found[start[row] : start[row + 1]].tolist() == want
