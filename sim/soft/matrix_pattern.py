"""Where the 3x3 blocks of a symmetric matrix over the nodes are: the diagonal and upper ones, row by row."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.arrays import frozen, sorted_unique


@dataclass(frozen=True, eq=False)
class MatrixPattern:
    """Block rows of a symmetric matrix; the first block of each row is the diagonal one."""

    start: NDArray[np.int64]
    """First block of each row, shape (n+1,)."""
    column: NDArray[np.int64]
    """Column of each block, never below its row, shape (k,)."""
    slots: NDArray[np.int64]
    """Block of each pair of corners of each element, shape (e, a, a); -1 - block where it is stored transposed."""


def matrix_pattern(corners, node_count: int) -> MatrixPattern:
    """The pattern of a matrix whose entries couple the corners of each element; corners (e, a)."""
    corners = corners.astype(np.int64)
    first, second = corners[:, :, None], corners[:, None, :]
    low, high = np.minimum(first, second), np.maximum(first, second)
    keys = low * node_count + high
    diagonal = np.arange(node_count, dtype=np.int64) * (node_count + 1)
    blocks = sorted_unique(np.concatenate([keys.ravel(), diagonal]))
    start = np.searchsorted(blocks, np.arange(node_count + 1, dtype=np.int64) * node_count)
    slots = np.searchsorted(blocks, keys)
    slots = np.where(first > second, -1 - slots, slots)
    return MatrixPattern(frozen(start), frozen(blocks % node_count), frozen(slots))
