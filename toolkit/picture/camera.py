"""Where a picture is taken from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class Camera:
    """A perspective camera; Z is up."""

    eye: NDArray[np.float64]
    """Position [m], shape (3,)."""
    axes: NDArray[np.float64]
    """Right, down and forward as unit rows, shape (3, 3)."""
    slope: float
    """Half the picture's height at distance 1: the tangent of half the angle of view."""

    def projected(self, x, width, height):
        """(x, y, w) of points on a picture of this size; NaN, NaN, -1 behind the camera."""
        local = (x - self.eye) @ self.axes.T
        focal = 0.5 * height / self.slope
        behind = local[:, 2] <= 1e-9
        w = 1.0 / np.where(behind, 1.0, local[:, 2])
        screen = np.column_stack(
            [0.5 * width + focal * local[:, 0] * w, 0.5 * height + focal * local[:, 1] * w, w]
        )
        screen[behind] = (np.nan, np.nan, -1.0)
        return screen

    def rays(self, width, height):
        """Ray through the centre of the first pixel, and what a column and a row add to it."""
        pixel = 2.0 * self.slope / height
        across, down = pixel * self.axes[0], pixel * self.axes[1]
        first = self.axes[2] + (0.5 - 0.5 * width) * across + (0.5 - 0.5 * height) * down
        return np.stack([first, across, down])


def camera_around(
    points: ArrayLike,
    *,
    direction: Sequence[float] = (0.62, -1.0, 0.42),
    aspect: float = 4.0 / 3.0,
    view_angle: float = 26.0,
    margin: float = 0.05,
) -> Camera:
    """A camera that sees all points, from the side that `direction` points to.

    `view_angle` [degrees] is vertical; `margin` is the part of the picture left free on each side.
    """
    points = np.asarray(points, dtype=np.float64).reshape(-1, 3)
    if not len(points):
        points = np.zeros((1, 3))
    back = np.asarray(direction, dtype=np.float64) / np.linalg.norm(direction)
    up = (0.0, 1.0, 0.0) if abs(back[2]) > 0.999 else (0.0, 0.0, 1.0)
    right = np.cross(up, back)
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(right, back), -back])
    slope = np.tan(np.radians(0.5 * view_angle))
    local = points @ axes.T
    room = slope * (1.0 - 2.0 * margin) * np.array([aspect, 1.0])
    # Across each axis the eye lies behind two lines of slope `room` through the outermost points;
    # where those lines cross is the nearest eye that sees everything.
    first = (local[:, :2] - room * local[:, 2:]).max(axis=0)
    last = (local[:, :2] + room * local[:, 2:]).min(axis=0)
    depth = ((last - first) / (2.0 * room)).min()
    size = np.ptp(local, axis=0).max()
    depth = min(depth, local[:, 2].min() - (0.05 * size if size else 1.0))
    return Camera(np.array([*(0.5 * (first + last)), depth]) @ axes, axes, slope)
