"""Quantities that change in time: keyed values, functions of time, and constants, read in one way."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.errors import SettingsError
from jellycage.toolkit.arrays import frozen


@dataclass(frozen=True, eq=False)
class Keyed:
    """A value given at some times, linear between them, held before the first and after the last."""

    times: NDArray[np.float64]
    """Times of the keys [s], shape (t,), strictly rising."""
    values: NDArray[np.float64]
    """Value at each key, shape (t, ...), in the unit of what is keyed."""

    def __post_init__(self):
        times, values = np.array(self.times, np.float64), np.array(self.values, np.float64)
        if times.ndim != 1 or not len(times) or values.shape[:1] != times.shape:
            raise SettingsError(
                "Keyed: expected one value for each of at least one time, "
                f"got times {times.shape} and values {values.shape}"
            )
        if not (np.isfinite(times).all() and np.isfinite(values).all()):
            raise SettingsError("Keyed: times and values must be finite; remove the broken keys")
        if (np.diff(times) <= 0.0).any():
            raise SettingsError("Keyed: times must rise strictly; sort the keys, remove repeats")
        object.__setattr__(self, "times", frozen(times))
        object.__setattr__(self, "values", frozen(values))

    def at(self, time: float) -> NDArray[np.float64]:
        """Value at a time [s], shape (...)."""
        after = int(np.searchsorted(self.times, time, side="right"))
        if after == 0 or after == len(self.times):
            return self.values[min(after, len(self.times) - 1)].copy()
        t0, t1 = self.times[after - 1 : after + 1]
        share = (time - t0) / (t1 - t0)
        # In this form a value that is held is held exactly.
        return self.values[after - 1] + share * (self.values[after] - self.values[after - 1])


def value_at(quantity, time: float) -> NDArray[np.float64]:
    """Value at a time [s] of a Keyed, of a function of time, or of a constant, as a new float64 array."""
    if isinstance(quantity, Keyed):
        return quantity.at(time)
    return np.array(quantity(time) if callable(quantity) else quantity, np.float64)


def checked(quantity, check: Callable[[NDArray], object]):
    """The quantity, once `check` has accepted every value known before time runs; a constant as a read-only array."""
    if isinstance(quantity, Keyed):
        for value in quantity.values:
            check(value)
        return quantity
    if callable(quantity):
        return quantity
    constant = np.array(quantity, np.float64)
    check(constant)
    constant.flags.writeable = False
    return constant
