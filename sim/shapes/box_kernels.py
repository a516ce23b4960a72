"""Signed distance to a box with half sides a, b, c."""

import math

from jellycage.toolkit.compile_kernels import njit_called


@njit_called
def signed_distance(a, b, c, x, y, z):
    """Distance [m] of (x, y, z) to the surface, negative inside, and the outward unit normal of the nearest place."""
    sx, sy, sz = math.copysign(1.0, x), math.copysign(1.0, y), math.copysign(1.0, z)
    dx, dy, dz = abs(x) - a, abs(y) - b, abs(z) - c
    if dx <= 0.0 and dy <= 0.0 and dz <= 0.0:
        if dx >= dy and dx >= dz:
            return dx, sx, 0.0, 0.0
        if dy >= dz:
            return dy, 0.0, sy, 0.0
        return dz, 0.0, 0.0, sz
    dx, dy, dz = max(dx, 0.0), max(dy, 0.0), max(dz, 0.0)
    length = math.sqrt(dx * dx + dy * dy + dz * dz)
    return length, sx * dx / length, sy * dy / length, sz * dz / length
