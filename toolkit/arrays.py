"""Arrays as the toolkit keeps them: C order, float64 or int32, read-only, checked once where they enter."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.toolkit.errors import MeshError


def frozen(array: NDArray) -> NDArray:
    """The same data as a read-only C-ordered array; never changes the flag of the caller's own array."""
    result = np.asarray(array, order="C").view()
    result.flags.writeable = False
    return result


def as_points(
    points: ArrayLike, name: str, columns: int = 3, *, error: type[Exception] = MeshError
) -> NDArray[np.float64]:
    """Finite float64 points of shape (n, columns), read-only. Raises `error` for others."""
    result = np.asarray(points, dtype=np.float64)
    if result.ndim != 2 or result.shape[1] != columns:
        raise error(f"{name}: expected an array of shape (n, {columns}), got {result.shape}")
    broken = int((~np.isfinite(result).all(axis=1)).sum())
    if broken:
        raise error(
            f"{name}: {broken} of {len(result)} are not finite (NaN or infinite); "
            "delete them or export the mesh again"
        )
    return frozen(result)


def as_indices(
    indices: ArrayLike, columns: int, count: int, name: str, *, error: type[Exception] = MeshError
) -> NDArray[np.int32]:
    """Read-only int32 indices of shape (m, columns), every one in [0, count). Raises `error` for others."""
    result = np.asarray(indices)
    if result.size == 0:
        result = result.reshape(0, columns)
    if result.ndim != 2 or result.shape[1] != columns:
        raise error(f"{name}: expected an array of shape (m, {columns}), got {result.shape}")
    if result.size and (result.min() < 0 or result.max() >= count):
        raise error(f"{name}: indices must lie in [0, {count}), got {result.min()}..{result.max()}")
    return frozen(result.astype(np.int32))


def sorted_unique(keys: NDArray) -> NDArray:
    """The distinct values, ascending: np.unique by sorting, which is faster here than by hashing."""
    keys = np.sort(keys)
    return keys[np.append(True, keys[1:] != keys[:-1])] if len(keys) else keys


def ragged(rows: NDArray, values: NDArray, count: int) -> tuple[NDArray, NDArray]:
    """CSR (start, values) over `count` rows from row numbers and values below 2^32, sorted and without repeats."""
    keys = sorted_unique(rows.astype(np.int64) << 32 | values.astype(np.int64))
    return np.searchsorted(keys >> 32, np.arange(count + 1)), keys & 0xFFFFFFFF
