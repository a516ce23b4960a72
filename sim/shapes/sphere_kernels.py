"""Signed distance to a ball of radius a about the origin."""

import math

from jellycage.toolkit.compile_kernels import njit_called


@njit_called
def signed_distance(a, b, c, x, y, z):
    """Distance [m] of (x, y, z) to the surface, negative inside, and the outward unit normal of the nearest place."""
    length = math.sqrt(x * x + y * y + z * z)
    if length == 0.0:
        return -a, 1.0, 0.0, 0.0
    return length - a, x / length, y / length, z / length
