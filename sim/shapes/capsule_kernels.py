"""Signed distance to all points within a of the z axis from -b to b."""

from jellycage.sim.shapes import sphere_kernels
from jellycage.toolkit.compile_kernels import njit_called

ball_distance = sphere_kernels.signed_distance


@njit_called
def signed_distance(a, b, c, x, y, z):
    """Distance [m] of (x, y, z) to the surface, negative inside, and the outward unit normal of the nearest place."""
    return ball_distance(a, 0.0, 0.0, x, y, z - min(max(z, -b), b))
