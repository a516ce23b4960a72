"""The arrays of characters and motions, checked once where they enter; what is wrong raises SceneError.

`where` says where in a file the values stand, for the message.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.sim.errors import SceneError
from jellycage.sim.maths import quaternions
from jellycage.sim.schema.documents import as_numbers
from jellycage.toolkit.arrays import frozen

UNIT_TOLERANCE = 0.01  # quaternions further from length 1 are a mistake


def consecutive(frames: ArrayLike) -> NDArray[np.int64]:
    """Frames as an array of shape (f,): whole numbers, at least one, each one more than the last."""
    result = np.asarray(frames)
    if result.ndim != 1 or not result.size or result.dtype.kind not in "iu":
        raise SceneError("frames: expected a row of at least one whole number; give the frames")
    gaps = np.flatnonzero(np.diff(result.astype(np.int64)) != 1)
    if gaps.size:
        before, after = result[gaps[0]], result[gaps[0] + 1]
        raise SceneError(
            f"frames: expected consecutive frames, got {after} after {before}; "
            "sample every frame from first to last"
        )
    return frozen(result.astype(np.int64))


def as_turns(values: ArrayLike, shape: tuple[int, ...], where: str) -> NDArray[np.float64]:
    """Unit quaternions of shape (*shape, 4), continuous from frame to frame; those nearly of length 1 are mended."""
    q = as_numbers(values, (*shape, 4), where)
    length = np.linalg.norm(q, axis=-1, keepdims=True)
    off = np.abs(length - 1.0)
    if off.size and off.max() > UNIT_TOLERANCE:
        at = np.unravel_index(np.argmax(off), off.shape)[:-1]
        index = "".join(f"[{i}]" for i in at)
        raise SceneError(
            f"{where}{index}: expected a quaternion (w, x, y, z) of length 1, got length "
            f"{length[(*at, 0)]:.4g}; normalise it"
        )
    q = np.where(off > 1e-12, q / length, q)
    return frozen(quaternions.continuous(q) if len(shape) == 2 else q)


def as_indices(values: ArrayLike, shape: tuple, count: int, where: str) -> NDArray[np.int32]:
    """int32 values of a shape, all in [0, count), read-only."""
    result = as_numbers(values, shape, where)
    if result.size and (
        (result != np.round(result)).any() or result.min() < 0 or result.max() >= count
    ):
        raise SceneError(f"{where}: expected whole numbers in [0, {count}); correct the indices")
    return frozen(result.astype(np.int32))
