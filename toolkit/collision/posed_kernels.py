"""A collision surface in one pose: its deformed vertices, and what maps the world back into its tets."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.compile_kernels import njit


class PosedArrays(NamedTuple):
    """A posed surface as kernels see it; fields as in `CollisionSurface` and `Posed`."""

    nodes: NDArray[np.float64]
    tets: NDArray[np.int32]
    tet_bdop: NDArray[np.float64]
    tet_tree: NDArray[np.int32]
    tet_patch_start: NDArray[np.int32]
    patch_triangle_start: NDArray[np.int32]
    patch_weight_area: NDArray[np.float64]
    triangles: NDArray[np.uint32]
    vertices: NDArray[np.float64]
    dops: NDArray[np.float64]
    inverses: NDArray[np.float64]
    conditions: NDArray[np.float64]


class PosedTriangles(NamedTuple):
    """The triangles of a posed surface and their vertices, for what looks at nothing else."""

    triangles: NDArray[np.uint32]
    vertices: NDArray[np.float64]


@njit
def place_vertices(nodes, tets, tet_patch_start, patch_vertex_start, weights, out_vertices):
    """Deformed vertices, ((w0 x0 + w1 x1) + w2 x2) + w3 x3 in the order of nodes, one tet after the other."""
    for e in range(tets.shape[0]):
        a, b, c, d = nodes[tets[e, 0]], nodes[tets[e, 1]], nodes[tets[e, 2]], nodes[tets[e, 3]]
        ax, ay, az = a[0], a[1], a[2]
        bx, by, bz = b[0], b[1], b[2]
        cx, cy, cz = c[0], c[1], c[2]
        dx, dy, dz = d[0], d[1], d[2]
        first = patch_vertex_start[tet_patch_start[e]]
        last = patch_vertex_start[tet_patch_start[e + 1]]
        for v in range(first, last):
            w0, w1, w2, w3 = weights[v, 0], weights[v, 1], weights[v, 2], weights[v, 3]
            out_vertices[v, 0] = ((w0 * ax + w1 * bx) + w2 * cx) + w3 * dx
            out_vertices[v, 1] = ((w0 * ay + w1 * by) + w2 * cy) + w3 * dy
            out_vertices[v, 2] = ((w0 * az + w1 * bz) + w2 * cz) + w3 * dz


@njit
def invert_tets(nodes, tets, out_inverses, out_conditions):
    """Rows 0-2 of every inverse barycentric matrix, that give the weights of nodes 0-2 from x - x3.

    out_conditions: longest edge from x3 cubed over the determinant; inf where it is 0, the inverse is then 0.
    """
    for e in range(tets.shape[0]):
        a, b, c, d = nodes[tets[e, 0]], nodes[tets[e, 1]], nodes[tets[e, 2]], nodes[tets[e, 3]]
        ux, uy, uz = a[0] - d[0], a[1] - d[1], a[2] - d[2]
        vx, vy, vz = b[0] - d[0], b[1] - d[1], b[2] - d[2]
        wx, wy, wz = c[0] - d[0], c[1] - d[1], c[2] - d[2]
        px, py, pz = vy * wz - vz * wy, vz * wx - vx * wz, vx * wy - vy * wx
        qx, qy, qz = wy * uz - wz * uy, wz * ux - wx * uz, wx * uy - wy * ux
        rx, ry, rz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        volume = ux * px + uy * py + uz * pz
        size = np.sqrt(
            max(
                ux * ux + uy * uy + uz * uz,
                vx * vx + vy * vy + vz * vz,
                wx * wx + wy * wy + wz * wz,
            )
        )
        out_conditions[e] = size * size * size / abs(volume) if volume != 0.0 else np.inf
        scale = 1.0 / volume if volume != 0.0 else 0.0
        inverse = out_inverses[e]
        inverse[0, 0], inverse[0, 1], inverse[0, 2] = scale * px, scale * py, scale * pz
        inverse[1, 0], inverse[1, 1], inverse[1, 2] = scale * qx, scale * qy, scale * qz
        inverse[2, 0], inverse[2, 1], inverse[2, 2] = scale * rx, scale * ry, scale * rz
