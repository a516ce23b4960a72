"""Which points of a body meet which colliders during a step, and in which plane."""

from jellycage.sim.shapes.signed_distance_kernels import tangent_plane
from jellycage.toolkit.compile_kernels import njit, njit_called


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


@njit
def find_contacts(
    x, x_ahead, nodes, weights, colliders, margin, out_point, out_collider, out_plane
):
    """Points that meet a collider on their way from x to x_ahead, both (n, 3), in the collider's own space.

    Each row of out_plane: the plane's outward normal and the point's gap to it at x, if the plane were already where it
    is at the end of the step; how far the collider carries the place of the point [m]; and where the point is in the
    collider's space at x [m]. Returns how many there are, which may be more than there is room for.
    """
    count = 0
    room = out_point.shape[0]
    for p in range(nodes.shape[0]):
        x0, y0, z0 = point_at(x, nodes, weights, p)
        x1, y1, z1 = point_at(x_ahead, nodes, weights, p)
        for c in range(colliders.kind.shape[0]):
            before, after, size = colliders.before[c], colliders.after[c], colliders.parameters[c]
            a0, b0, c0 = into_pose(before, x0, y0, z0)
            a1, b1, c1 = into_pose(after, x1, y1, z1)
            is_met, nx, ny, nz, qx, qy, qz = tangent_plane(
                colliders.kind[c], size[0], size[1], size[2], a0, b0, c0, a1, b1, c1, margin
            )
            if not is_met:
                continue
            if count < room:
                # The place where the point was, carried along by the collider.
                sx, sy, sz = turned(after, a0, b0, c0)
                sx, sy, sz = sx + after[9] - x0, sy + after[10] - y0, sz + after[11] - z0
                wx, wy, wz = turned(after, nx, ny, nz)
                gap = nx * (a0 - qx) + ny * (b0 - qy) + nz * (c0 - qz)
                out_point[count], out_collider[count] = p, c
                out = out_plane[count]
                out[0], out[1], out[2] = wx, wy, wz
                out[3] = gap - (wx * sx + wy * sy + wz * sz)
                out[4], out[5], out[6] = sx, sy, sz
                out[7], out[8], out[9] = a0, b0, c0
            count += 1
    return count
