"""Small exact-enough pieces of solid geometry that several kernels share."""

import numpy as np

from jellycage.toolkit.compile_kernels import njit_called


@njit_called
def sort_with(keys, payload, count):
    """Sort the first `count` keys in place, moving the payload along (shell sort: small code, quick to compile)."""
    gap = 1
    while 3 * gap + 1 < count:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            key, load = keys[i], payload[i]
            j = i
            while j >= gap and keys[j - gap] > key:
                keys[j], payload[j] = keys[j - gap], payload[j - gap]
                j -= gap
            keys[j], payload[j] = key, load
        gap //= 3


@njit_called
def tet_volume6(a, b, c, d):
    """Six times the signed volume of a tet."""
    x1, y1, z1 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    x2, y2, z2 = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    x3, y3, z3 = d[0] - a[0], d[1] - a[1], d[2] - a[2]
    return x1 * (y2 * z3 - z2 * y3) - y1 * (x2 * z3 - z2 * x3) + z1 * (x2 * y3 - y2 * x3)


@njit_called
def tet_planes(a, b, c, d, out_plane):
    """Inward unit normals and offsets of the faces opposite a, b, c, d of a positive tet: n.x - o >= 0 inside.

    A face without area gets a zero normal, which every point satisfies.
    """
    plane_through(b, d, c, out_plane[0])
    plane_through(a, c, d, out_plane[1])
    plane_through(a, d, b, out_plane[2])
    plane_through(a, b, c, out_plane[3])


@njit_called
def plane_through(a, b, c, out_plane):
    """Unit normal of (b - a) x (c - a) and offset of the plane through three points; zero if they are in line."""
    x1, y1, z1 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    x2, y2, z2 = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    nx, ny, nz = y1 * z2 - z1 * y2, z1 * x2 - x1 * z2, x1 * y2 - y1 * x2
    length = np.sqrt(nx * nx + ny * ny + nz * nz)
    scale = 1.0 / length if length > 1e-14 else 0.0
    out_plane[0], out_plane[1], out_plane[2] = nx * scale, ny * scale, nz * scale
    out_plane[3] = out_plane[0] * a[0] + out_plane[1] * a[1] + out_plane[2] * a[2]


@njit_called
def clip_polygon(polygon, labels, count, plane, label, margin, spare, spare_labels):
    """Cut a convex polygon to the half-space n.x - o >= -margin; returns its new corner count.

    labels[i] names what side i (from corner i to the next) lies on; new sides get `label`. Corners exactly on the
    plane count as inside. The result is written back into polygon and labels.
    """
    made = 0
    for i in range(count):
        j = i + 1 if i + 1 < count else 0
        di = (
            plane[0] * polygon[i, 0] + plane[1] * polygon[i, 1] + plane[2] * polygon[i, 2]
            - plane[3] + margin
        )  # fmt: skip
        dj = (
            plane[0] * polygon[j, 0] + plane[1] * polygon[j, 1] + plane[2] * polygon[j, 2]
            - plane[3] + margin
        )  # fmt: skip
        if di >= 0.0:
            for axis in range(3):
                spare[made, axis] = polygon[i, axis]
            spare_labels[made] = labels[i]
            made += 1
        if (di >= 0.0) != (dj >= 0.0):
            s = di / (di - dj)
            for axis in range(3):
                spare[made, axis] = polygon[i, axis] + s * (polygon[j, axis] - polygon[i, axis])
            # Leaving: the new side runs along the plane. Entering: the rest of the old side follows.
            spare_labels[made] = label if di >= 0.0 else labels[i]
            made += 1
    for i in range(made):
        for axis in range(3):
            polygon[i, axis] = spare[i, axis]
        labels[i] = spare_labels[i]
    return made


@njit_called
def clip_to_tet(a, b, c, planes, margin, polygon, labels, spare, spare_labels):
    """The part of triangle abc inside four planes, as a polygon with side labels; returns its corner count.

    Labels: 0-3 the tet face that a side lies on, 4-6 the triangle's own sides ab, bc, ca. The buffers hold 8 rows.
    """
    for axis in range(3):
        polygon[0, axis], polygon[1, axis], polygon[2, axis] = a[axis], b[axis], c[axis]
    labels[0], labels[1], labels[2] = 4, 5, 6
    count = 3
    for m in range(4):
        count = clip_polygon(polygon, labels, count, planes[m], m, margin, spare, spare_labels)
        if count == 0:
            return 0
    return count


@njit_called
def min_dihedral_cosine(a, b, c, d):
    """Cosine of the smallest dihedral angle of a positive tet (1 is flat); 2 if the tet is not positive."""
    ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    vx, vy, vz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    wx, wy, wz = d[0] - a[0], d[1] - a[1], d[2] - a[2]
    # Outward normals of the faces opposite d, b, c, and of the one opposite a, which closes the sum.
    dx, dy, dz = vy * uz - vz * uy, vz * ux - vx * uz, vx * uy - vy * ux
    if wx * dx + wy * dy + wz * dz >= 0.0:
        return 2.0
    bx, by, bz = wy * vz - wz * vy, wz * vx - wx * vz, wx * vy - wy * vx
    cx, cy, cz = uy * wz - uz * wy, uz * wx - ux * wz, ux * wy - uy * wx
    ax, ay, az = -bx - cx - dx, -by - cy - dy, -bz - cz - dz
    sa = 1.0 / np.sqrt(ax * ax + ay * ay + az * az)
    sb = 1.0 / np.sqrt(bx * bx + by * by + bz * bz)
    sc = 1.0 / np.sqrt(cx * cx + cy * cy + cz * cz)
    sd = 1.0 / np.sqrt(dx * dx + dy * dy + dz * dz)
    return max(
        -(ax * bx + ay * by + az * bz) * sa * sb,
        -(ax * cx + ay * cy + az * cz) * sa * sc,
        -(ax * dx + ay * dy + az * dz) * sa * sd,
        -(bx * cx + by * cy + bz * cz) * sb * sc,
        -(bx * dx + by * dy + bz * dz) * sb * sd,
        -(cx * dx + cy * dy + cz * dz) * sc * sd,
    )
