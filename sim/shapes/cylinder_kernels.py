"""Signed distance to a cylinder of radius a about the z axis from -b to b."""

import math

from jellycage.toolkit.compile_kernels import njit_called


@njit_called
def signed_distance(a, b, c, x, y, z):
    """Distance [m] of (x, y, z) to the surface, negative inside, and the outward unit normal of the nearest place."""
    radius = math.sqrt(x * x + y * y)
    ux, uy = (x / radius, y / radius) if radius > 0.0 else (1.0, 0.0)
    end = math.copysign(1.0, z)
    side, top = radius - a, abs(z) - b
    if side <= 0.0 and top <= 0.0:
        if side >= top:
            return side, ux, uy, 0.0
        return top, 0.0, 0.0, end
    side, top = max(side, 0.0), max(top, 0.0)
    length = math.sqrt(side * side + top * top)
    return length, ux * side / length, uy * side / length, end * top / length
