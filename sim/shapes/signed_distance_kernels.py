"""Signed distance to simple shapes, each in its own space, and where a moving point first meets one."""

import math

from jellycage.toolkit.compile_kernels import njit_called

PLANE, SPHERE, BOX, CAPSULE = 0, 1, 2, 3
TRACE_STEPS = 64  # to find where a way enters a shape; a handful is the rule
NEAR = 1e-9  # of the way that is left: close enough to have arrived


@njit_called
def signed_distance(kind, a, b, c, x, y, z):
    """Distance [m] of (x, y, z) to the surface, negative inside, and the outward unit normal of the nearest place.

    (a, b, c): radius of a sphere; half sides of a box; radius and half length of a capsule along z.
    """
    if kind == PLANE:
        return z, 0.0, 0.0, 1.0
    if kind == BOX:
        return box_distance(a, b, c, x, y, z)
    if kind == CAPSULE:
        z -= min(max(z, -b), b)
    length = math.sqrt(x * x + y * y + z * z)
    if length == 0.0:
        return -a, 1.0, 0.0, 0.0
    return length - a, x / length, y / length, z / length


@njit_called
def box_distance(a, b, c, x, y, z):
    """`signed_distance` of a box with half sides a, b, c."""
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
