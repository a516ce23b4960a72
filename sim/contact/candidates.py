"""Candidates: what may touch during a step, in which plane, as signed stencils over the rows of the scene's bodies."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Candidates(NamedTuple):
    """Pairs of features of two parties, c of them. Side a is soft; b is led, or soft with weights below zero."""

    key: NDArray[np.int64]
    """One number per pair that stays the same from step to step, shape (c,): feature of a times the number of all
    features, plus feature of b, both counted through all parties of the scene."""
    feature: NDArray[np.int64]
    """Feature of a among those of its party, and the party b, shape (c, 2)."""
    rows: NDArray[np.int32]
    """Rows of the system, shape (c, w)."""
    weights: NDArray[np.float64]
    """Signed weights: the pair parts by sum of w_i u_i, shape (c, w); padded with 0."""
    normal: NDArray[np.float64]
    """Out of b, at the end of the step, shape (c, 3)."""
    gap: NDArray[np.float64]
    """At the end of the step if nothing soft moves [m], shape (c,)."""
    carried: NDArray[np.float64]
    """Displacement of the place on b, if that is led [m], shape (c, 3)."""
    anchor: NDArray[np.float64]
    """Where the point of a is in b's own space at the start [m], shape (c, 3); 0 if b is soft."""
    area: NDArray[np.float64]
    """What it stands for, among those of the same element, shape (c,): area [m^2], or 1 each."""

    def moved(self, values: NDArray) -> NDArray[np.float64]:
        """sum of w_i values_i for values (n, 3) at the rows, shape (c, 3)."""
        return parted(self.weights, self.rows, values)


def parted(weights: NDArray, rows: NDArray, values: NDArray) -> NDArray[np.float64]:
    """sum of w_i values_i of stencils (c, w), for values (n, 3) at the rows, shape (c, 3)."""
    return np.einsum("pa,pai->pi", weights, values[rows])


def dots(a: NDArray, b: NDArray) -> NDArray[np.float64]:
    """Dot products of the rows of two arrays (c, 3), shape (c,)."""
    return np.einsum("ci,ci->c", a, b)


def joined(first: Candidates, second: Candidates, chosen: NDArray[np.bool_]) -> Candidates:
    """The candidates of the first and the chosen ones of the second."""
    return Candidates(*(np.concatenate([a, b[chosen]]) for a, b in zip(first, second, strict=True)))
