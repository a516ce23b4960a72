"""Which points of a body meet which colliders during a step, and in which plane."""

import math
from typing import NamedTuple

import numpy as np

from jellycage.sim.shapes.signed_distance_kernels import signed_distance, tangent_plane
from jellycage.toolkit.compile_kernels import njit, njit_called


class PlanesMet(NamedTuple):
    """Points of one body that meet colliders in a step, and in which planes; c of them."""

    point: np.ndarray
    """Shape (c,)."""
    collider: np.ndarray
    """Shape (c,)."""
    normal: np.ndarray
    """Out of the collider, at the end of the step, shape (c, 3)."""
    gap: np.ndarray
    """Of the point at x to the plane, as if that were already where it is at the end of the step [m], shape (c,)."""
    carried: np.ndarray
    """How far the collider carries the place of the point [m], shape (c, 3)."""
    anchor: np.ndarray
    """Where the point is in the collider's space at x [m], shape (c, 3)."""


@njit_called
def into_pose(pose, x, y, z):
    """A world point in the space of a pose, see `Motion.pose`."""
    x, y, z = x - pose[9], y - pose[10], z - pose[11]
    return (
        pose[0] * x + pose[3] * y + pose[6] * z,
        pose[1] * x + pose[4] * y + pose[7] * z,
        pose[2] * x + pose[5] * y + pose[8] * z,
    )


@njit_called
def turned(pose, x, y, z):
    """A direction of a pose's space in the world."""
    return (
        pose[0] * x + pose[1] * y + pose[2] * z,
        pose[3] * x + pose[4] * y + pose[5] * z,
        pose[6] * x + pose[7] * y + pose[8] * z,
    )


@njit_called
def point_at(x, nodes, weights, p):
    """Position of an embedded point."""
    px = py = pz = 0.0
    for a in range(nodes.shape[1]):
        n, w = nodes[p, a], weights[p, a]
        px += w * x[n, 0]
        py += w * x[n, 1]
        pz += w * x[n, 2]
    return px, py, pz


@njit_called
def may_meet(x, x_ahead, nodes, colliders, c, margin):
    """Whether points between the nodes (a,) of an element may meet a collider on their way from x to x_ahead."""
    before, after, size = colliders.before[c], colliders.after[c], colliders.parameters[c]
    # In the collider's space, where it stands still, all ways are in a ball about the first middle.
    mx = my = mz = 0.0
    for n in nodes:
        mx, my, mz = mx + x[n, 0], my + x[n, 1], mz + x[n, 2]
    count = nodes.shape[0]
    mx, my, mz = into_pose(before, mx / count, my / count, mz / count)
    square = 0.0
    for n in nodes:
        px, py, pz = into_pose(before, x[n, 0], x[n, 1], x[n, 2])
        qx, qy, qz = into_pose(after, x_ahead[n, 0], x_ahead[n, 1], x_ahead[n, 2])
        square = max(square, (px - mx) ** 2 + (py - my) ** 2 + (pz - mz) ** 2)
        square = max(square, (qx - mx) ** 2 + (qy - my) ** 2 + (qz - mz) ** 2)
    d, _, _, _ = signed_distance(colliders.kind[c], size[0], size[1], size[2], mx, my, mz)
    return not d > math.sqrt(square) + margin


@njit
def find_planes(x, x_ahead, points, weights, element_start, colliders, margin, out):
    """Points that meet a collider on their way from x to x_ahead, both (n, 3), in the collider's own space.

    points, weights: nodes (p, a) and weights, none negative, of the points; those of element e, one after the other,
    begin at element_start (e + 1,). Returns how many there are, which may be more than out, a `PlanesMet`, has room
    for.
    """
    count = 0
    is_near = np.empty(colliders.kind.shape[0], np.bool_)
    for e in range(element_start.shape[0] - 1):
        first, end, is_any_near = element_start[e], element_start[e + 1], False
        for c in range(is_near.shape[0]):
            is_near[c] = may_meet(x, x_ahead, points[first], colliders, c, margin)
            is_any_near = is_any_near or is_near[c]
        if not is_any_near:
            continue
        for p in range(first, end):
            x0, y0, z0 = point_at(x, points, weights, p)
            x1, y1, z1 = point_at(x_ahead, points, weights, p)
            for c in range(is_near.shape[0]):
                if is_near[c]:
                    count = add_plane(x0, y0, z0, x1, y1, z1, p, c, colliders, margin, count, out)
    return count


@njit_called
def add_plane(x0, y0, z0, x1, y1, z1, p, c, colliders, margin, count, out):
    """Add the plane of collider c that point p meets on its way from 0 to 1, if any, to the `count` that are there."""
    # In the collider's space, where it stands still.
    before, after, size = colliders.before[c], colliders.after[c], colliders.parameters[c]
    a0, b0, c0 = into_pose(before, x0, y0, z0)
    a1, b1, c1 = into_pose(after, x1, y1, z1)
    is_met, nx, ny, nz, qx, qy, qz = tangent_plane(
        colliders.kind[c], size[0], size[1], size[2], a0, b0, c0, a1, b1, c1, margin
    )
    if not is_met:
        return count
    if count < out.gap.shape[0]:
        # The place where the point was, carried along by the collider.
        sx, sy, sz = turned(after, a0, b0, c0)
        sx, sy, sz = sx + after[9] - x0, sy + after[10] - y0, sz + after[11] - z0
        wx, wy, wz = turned(after, nx, ny, nz)
        gap = nx * (a0 - qx) + ny * (b0 - qy) + nz * (c0 - qz)
        out.point[count], out.collider[count] = p, c
        out.gap[count] = gap - (wx * sx + wy * sy + wz * sz)
        normal, carried, anchor = out.normal[count], out.carried[count], out.anchor[count]
        normal[0], normal[1], normal[2] = wx, wy, wz
        carried[0], carried[1], carried[2] = sx, sy, sz
        anchor[0], anchor[1], anchor[2] = a0, b0, c0
    return count + 1
