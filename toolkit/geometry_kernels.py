"""Small exact-enough pieces of solid geometry that several kernels share."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.compile_kernels import njit_called


class Clipping(NamedTuple):
    """What `clip_to_tet` works in, and leaves its polygon in."""

    planes: NDArray[np.float64]
    """Of the tet, see `tet_planes`, shape (4, 4)."""
    polygon: NDArray[np.float64]
    """Corners, shape (8, 3)."""
    labels: NDArray[np.int64]
    """What each side, from a corner to the next, lies on, shape (8,): 0-3 a face of the tet, 4-6 the triangle's own
    sides ab, bc, ca."""
    spare: NDArray[np.float64]
    spare_labels: NDArray[np.int64]


@njit_called
def clipping_room():
    """Room for `clip_to_tet`."""
    return Clipping(
        planes=np.empty((4, 4)),
        polygon=np.empty((8, 3)),
        labels=np.empty(8, np.int64),
        spare=np.empty((8, 3)),
        spare_labels=np.empty(8, np.int64),
    )


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
def clip_polygon(clipping, count, m, margin):
    """Cut a convex polygon to the half-space n.x - o >= -margin of plane m; returns its new corner count.

    New sides get the label m. Corners exactly on the plane count as inside.
    """
    plane, polygon, labels = clipping.planes[m], clipping.polygon, clipping.labels
    spare, spare_labels = clipping.spare, clipping.spare_labels
    made = 0
    for i in range(count):
        j = i + 1 if i + 1 < count else 0
        di = plane[0] * polygon[i, 0] + plane[1] * polygon[i, 1] + plane[2] * polygon[i, 2]
        dj = plane[0] * polygon[j, 0] + plane[1] * polygon[j, 1] + plane[2] * polygon[j, 2]
        di, dj = di - plane[3] + margin, dj - plane[3] + margin
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
            spare_labels[made] = m if di >= 0.0 else labels[i]
            made += 1
    for i in range(made):
        for axis in range(3):
            polygon[i, axis] = spare[i, axis]
        labels[i] = spare_labels[i]
    return made


@njit_called
def clip_to_tet(a, b, c, margin, clipping):
    """The part of triangle abc inside the four planes, as a polygon with side labels; returns its corner count."""
    polygon, labels = clipping.polygon, clipping.labels
    for axis in range(3):
        polygon[0, axis], polygon[1, axis], polygon[2, axis] = a[axis], b[axis], c[axis]
    labels[0], labels[1], labels[2] = 4, 5, 6
    count = 3
    for m in range(4):
        count = clip_polygon(clipping, count, m, margin)
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
