"""Signed distance to any shape in its own space, and where a moving point first meets one."""

import math

from jellycage.sim.maths.choice_kernels import chosen
from jellycage.sim.shapes import SHAPES
from jellycage.toolkit.compile_kernels import njit, njit_called

TRACE_STEPS = 64  # to find where a way enters a shape; a handful is the rule
NEAR = 1e-9  # of the way that is left: close enough to have arrived
KINDS = tuple(kind for kind, shape in SHAPES.items() if shape.kernels is not None)
"""The place of a kind of shape is its number here."""

signed_distance = chosen(
    [SHAPES[kind].kernels.signed_distance for kind in KINDS], "signed_distance"
)


@njit
def find_signed_distances(points, kind, lengths, out_distance):
    """Distance [m] of points (n, 3) in the shape's own space, negative inside it."""
    for p in range(len(points)):
        x, y, z = points[p, 0], points[p, 1], points[p, 2]
        out_distance[p] = signed_distance(kind, lengths[0], lengths[1], lengths[2], x, y, z)[0]


@njit_called
def tangent_plane(kind, a, b, c, x0, y0, z0, x1, y1, z1, margin):
    """The plane that a point meets on its way from 0 to 1: (is met, normal, a point of it).

    Where the way enters the shape, or if it does not and ends within the margin, where it ends. A point that starts
    inside meets the place that it is nearest to.
    """
    wx, wy, wz = x1 - x0, y1 - y0, z1 - z0
    way = math.sqrt(wx * wx + wy * wy + wz * wz)
    d, nx, ny, nz = signed_distance(kind, a, b, c, x0, y0, z0)
    if d > way + margin:
        return False, nx, ny, nz, x0, y0, z0
    t = 0.0
    x, y, z = x0, y0, z0
    for _ in range(TRACE_STEPS):
        if d <= NEAR * way or t >= 1.0:
            break
        # The shapes are convex, so is the distance along the way: Newton's method never passes its first zero.
        closing = -(nx * wx + ny * wy + nz * wz)
        t = min(t + d / closing, 1.0) if closing > 0.0 else 1.0
        x, y, z = x0 + t * wx, y0 + t * wy, z0 + t * wz
        d, nx, ny, nz = signed_distance(kind, a, b, c, x, y, z)
    return d <= margin, nx, ny, nz, x - d * nx, y - d * ny, z - d * nz
