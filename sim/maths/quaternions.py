"""Unit quaternions (w, x, y, z) in arrays of any shape (..., 4), which turn vectors (..., 3)."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.sim.errors import SettingsError

IDENTITY = (1.0, 0.0, 0.0, 0.0)


def product(p: NDArray, q: NDArray) -> NDArray:
    """The turn q, then the turn p."""
    a, b, c, d = np.moveaxis(np.asarray(p), -1, 0)
    e, f, g, h = np.moveaxis(np.asarray(q), -1, 0)
    return np.stack(
        [
            a * e - b * f - c * g - d * h,
            a * f + b * e + c * h - d * g,
            a * g - b * h + c * e + d * f,
            a * h + b * g - c * f + d * e,
        ],
        axis=-1,
    )


def inverse(q: NDArray) -> NDArray:
    """The turn back."""
    return np.asarray(q) * (1.0, -1.0, -1.0, -1.0)


def turned(q: NDArray, vectors: NDArray) -> NDArray:
    """Vectors turned by q."""
    w, axis = np.asarray(q)[..., :1], np.asarray(q)[..., 1:]
    twice = 2.0 * np.cross(axis, vectors)
    return vectors + w * twice + np.cross(axis, twice)


def about(axis: NDArray, angle: NDArray) -> NDArray:
    """The turn about a unit axis by an angle [rad]."""
    half = 0.5 * np.asarray(angle, np.float64)[..., None]
    return np.concatenate([np.cos(half), np.sin(half) * np.asarray(axis, np.float64)], axis=-1)


def as_matrices(q: NDArray) -> NDArray:
    """Rotation matrices (..., 3, 3); their columns are the turned axes."""
    q = np.asarray(q)
    w, x, y, z = q.T
    entries = [
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),
        2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),
        2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y),
    ]  # fmt: skip
    return np.ascontiguousarray(np.array(entries).T).reshape(*q.shape[:-1], 3, 3)


def of_matrices(matrices: NDArray) -> NDArray:
    """The quaternions of rotation matrices (..., 3, 3), w at least 0 up to rounding.

    Of the four ways to divide, the one by the largest component is taken, so that nothing is lost at half turns.
    """
    m = np.asarray(matrices, np.float64)
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    wx, wy, wz = (
        m[..., 2, 1] - m[..., 1, 2],
        m[..., 0, 2] - m[..., 2, 0],
        m[..., 1, 0] - m[..., 0, 1],
    )
    xy, xz, yz = (
        m[..., 0, 1] + m[..., 1, 0],
        m[..., 0, 2] + m[..., 2, 0],
        m[..., 1, 2] + m[..., 2, 1],
    )
    # Row i is 4 q_i q, so the one with the largest diagonal is the best to normalise.
    rows = np.stack(
        [
            np.stack([1.0 + xx + yy + zz, wx, wy, wz], axis=-1),
            np.stack([wx, 1.0 + xx - yy - zz, xy, xz], axis=-1),
            np.stack([wy, xy, 1.0 - xx + yy - zz, yz], axis=-1),
            np.stack([wz, xz, yz, 1.0 - xx - yy + zz], axis=-1),
        ],
        axis=-2,
    )
    best = np.argmax(np.diagonal(rows, axis1=-2, axis2=-1), axis=-1)
    q = np.take_along_axis(rows, best[..., None, None], axis=-2)[..., 0, :]
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return np.where(q[..., :1] < 0.0, -q, q)


def continuous(q: NDArray) -> NDArray:
    """The same turns (f, ..., 4), each frame on the hemisphere of the frame before."""
    q = np.array(q, np.float64)
    signs = np.where(np.sum(q[1:] * q[:-1], axis=-1) < 0.0, -1.0, 1.0)
    q[1:] *= np.cumprod(signs, axis=0)[..., None]
    return q


def turn_vectors(q: NDArray) -> NDArray:
    """Axis times angle [rad] of each turn, the short way, shape (..., 3)."""
    q = np.asarray(q, np.float64)
    q = np.where(q[..., :1] < 0.0, -q, q)
    sine = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    scale = np.where(
        sine > 1e-12, 2.0 * np.arctan2(sine, q[..., :1]) / np.maximum(sine, 1e-12), 2.0
    )
    return scale * q[..., 1:]


def by_vectors(vectors: NDArray) -> NDArray:
    """The turns about vectors by their lengths [rad], shape (..., 4)."""
    vectors = np.asarray(vectors, np.float64)
    angle = np.linalg.norm(vectors, axis=-1)
    return np.concatenate(
        [np.cos(0.5 * angle)[..., None], 0.5 * np.sinc(0.5 * angle / np.pi)[..., None] * vectors], axis=-1
    )  # fmt: skip


def slerp(a: NDArray, b: NDArray, share: float) -> NDArray[np.float64]:
    """The turn a share of the way from unit quaternion a to b, at constant speed."""
    angle = np.arccos(np.clip((a * b).sum(), -1.0, 1.0))
    if angle < 1e-9:
        return a
    return (np.sin((1.0 - share) * angle) * a + np.sin(share * angle) * b) / np.sin(angle)


def turn_to(normal: ArrayLike) -> NDArray[np.float64]:
    """Quaternion of the shortest turn that takes z to a direction of any length, shape (4,)."""
    normal = np.array(normal, np.float64)
    length = np.sqrt((normal * normal).sum())
    if normal.shape != (3,) or not 0.0 < length < np.inf:
        raise SettingsError("normal: expected a direction, three numbers that are not all 0")
    x, y, z = normal / length
    if z < -1.0 + 1e-12:
        return np.array([0.0, 1.0, 0.0, 0.0])
    turn = np.array([1.0 + z, -y, x, 0.0])
    return turn / np.sqrt((turn * turn).sum())
