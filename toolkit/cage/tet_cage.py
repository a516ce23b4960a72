"""Tets and which of them meet across each face."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.cage.element_tables import TET_FACES


@dataclass(frozen=True, eq=False)
class FaceNeighbours:
    """Elements across every element face, CSR over 4 * element + face."""

    start: NDArray[np.int64]
    """Shape (4e+1,); an empty row is an outer face."""
    elements: NDArray[np.int64]
    """Neighbours; more than one only where copies of one tet meet the same neighbour."""

    def is_outer(self):
        """Whether each face is outer, shape (e, 4)."""
        return (np.diff(self.start) == 0).reshape(-1, 4)


def tet_volumes(nodes, tets):
    """Signed volume of each tet, shape (e,)."""
    a, b, c, d = (nodes[tets[:, i]] for i in range(4))
    return np.einsum("ij,ij->i", b - a, np.cross(c - a, d - a)) / 6.0


def face_neighbours(tets, cell) -> FaceNeighbours:
    """Neighbours across faces: elements of another lattice tet that share all three nodes of the face."""
    triples = np.sort(tets[:, TET_FACES].reshape(-1, 3).astype(np.int64), axis=1)
    count = int(tets.max()) + 1
    if count < 2**21:
        keys = triples[:, 0] << 42 | triples[:, 1] << 21 | triples[:, 2]
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        is_first = np.append(True, keys[1:] != keys[:-1])
    else:
        order = np.lexsort(triples.T[::-1])
        triples = triples[order]
        is_first = np.append(True, (triples[1:] != triples[:-1]).any(axis=1))
    first = np.flatnonzero(is_first)
    size = np.diff(np.append(first, len(order)))
    rows, others = [], []
    for n in range(2, int(size.max(initial=1)) + 1):
        group = order[first[size == n][:, None] + np.arange(n)]
        for i in range(n):
            for j in range(n):
                across = cell[group[:, i] // 4] != cell[group[:, j] // 4]
                rows.append(group[across, i])
                others.append(group[across, j] // 4)
    row = np.concatenate(rows) if rows else np.empty(0, np.int64)
    other = np.concatenate(others) if others else np.empty(0, np.int64)
    order = np.lexsort((other, row))
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=4 * len(tets)))])
    return FaceNeighbours(start, other[order])
