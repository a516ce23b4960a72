"""Walks from element to element in a cage whose cells may be there in several copies."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.compile_kernels import njit_called


class Copies(NamedTuple):
    """What lies across each face of an element, and what tells copies of one cell apart there."""

    start: NDArray[np.int64]
    elements: NDArray[np.int64]
    """Elements across, CSR over 4 * element + face; see `FaceNeighbours`."""
    home_start: NDArray[np.int64]
    homes: NDArray[np.int64]
    """Elements that each triangle of the surface lay in before fitting, CSR over those."""


@njit_called
def choose_copy(e, m, face, copies):
    """The element across face m of e that a triangle enters: the copy it lay in before fitting, or the nearest."""
    start, elements = copies.start, copies.elements
    home_start, homes = copies.home_start, copies.homes
    first, last = start[4 * e + m], start[4 * e + m + 1]
    if last - first <= 1:
        return elements[first] if last > first else -1
    for n in range(first, last):
        for h in range(home_start[face], home_start[face + 1]):
            if homes[h] == elements[n]:
                return elements[n]
    for n in range(first, last):
        for side in range(4 * elements[n], 4 * elements[n] + 4):
            for p in range(start[side], start[side + 1]):
                for h in range(home_start[face], home_start[face + 1]):
                    if homes[h] == elements[p] and elements[p] != e:
                        return elements[n]
    return elements[first]


@njit_called
def with_new(todo, count, item):
    """(todo, count) with an item added to the first `count` of todo unless it is there; todo grows as needed."""
    for p in range(count):
        if todo[p] == item:
            return todo, count
    if count == todo.shape[0]:
        longer = np.empty(2 * count, np.int64)
        for p in range(count):  # assigning a slice takes seconds to compile
            longer[p] = todo[p]
        todo = longer
    todo[count] = item
    return todo, count + 1
