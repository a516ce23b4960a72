"""Signed distance to everything below z = 0."""

from jellycage.toolkit.compile_kernels import njit_called


@njit_called
def signed_distance(a, b, c, x, y, z):
    """Distance [m] of (x, y, z) to the surface, negative inside, and the outward unit normal of the nearest place."""
    return z, 0.0, 0.0, 1.0
