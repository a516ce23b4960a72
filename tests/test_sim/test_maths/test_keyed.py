"""Keyed values are linear between keys and held outside; every kind of quantity is read in one way."""

import numpy as np
import pytest

from jellycage.sim.errors import SettingsError
from jellycage.sim.maths.keyed import Keyed, value_at


def test_a_linear_function_is_met_everywhere_between_the_keys():
    times = np.array([-1.0, 0.25, 0.5, 3.0])
    slope = np.array([[1.0, -2.0], [0.5, 4.0]])
    keyed = Keyed(times, 3.0 + times[:, None, None] * slope)
    for time in np.linspace(-1.0, 3.0, 17):
        np.testing.assert_allclose(keyed.at(time), 3.0 + time * slope, atol=1e-14)


def test_every_key_is_met_exactly():
    rng = np.random.default_rng(0)
    keyed = Keyed(np.cumsum(rng.random(9)), rng.normal(size=(9, 3)))
    for time, value in zip(keyed.times, keyed.values, strict=True):
        np.testing.assert_array_equal(keyed.at(time), value)


def test_the_first_and_the_last_value_are_held():
    keyed = Keyed([1.0, 2.0], [5.0, 7.0])
    assert keyed.at(-100.0) == 5.0
    assert keyed.at(100.0) == 7.0
    assert Keyed([1.0], [4.0]).at(0.0) == Keyed([1.0], [4.0]).at(2.0) == 4.0


def test_a_value_between_equal_keys_is_exactly_theirs():
    keyed = Keyed([0.0, 1.0], [1 / 3, 1 / 3])
    assert all(keyed.at(time) == 1 / 3 for time in np.random.default_rng(1).random(1000))


def test_keyed_functions_and_constants_are_read_alike():
    keyed = Keyed([0.0, 2.0], [[0.0, 1.0], [4.0, 1.0]])
    for quantity in (keyed, lambda time: [2 * time, 1], [2, 1]):
        value = value_at(quantity, 1.0)
        assert value.dtype == np.float64
        np.testing.assert_array_equal(value, [2.0, 1.0])


def test_what_is_read_can_be_changed_without_changing_the_keys():
    keyed = Keyed([0.0, 1.0], [[1.0], [2.0]])
    value_at(keyed, 5.0)[:] = 9.0
    assert keyed.at(5.0) == 2.0


@pytest.mark.parametrize(
    ("times", "values", "text"),
    [
        ([0.0, 0.0], [1.0, 2.0], "rise strictly"),
        ([1.0, 0.0], [1.0, 2.0], "rise strictly"),
        ([0.0, 1.0], [1.0], "one value for each"),
        ([], [], "at least one time"),
        ([0.0], [np.nan], "finite"),
    ],
)
def test_keys_that_cannot_be_read_are_refused(times, values, text):
    with pytest.raises(SettingsError, match=text):
        Keyed(times, values)
