"""Barycentric bounds (b-DOPs) of triangles inside tets, and the implicit trees that they form.

Thesis 002, sections 5.4.2-5.4.3: barycentric discrete orientation polytopes, an interval [a_i, b_i] for each of the
four weights in a tet. They hold under every deformation of the tet, so a tree of them is never refitted.

The tree of a patch is the order of its triangles. Triangle i0 is the node of the range [i0, i1): it has children
[iL, mid) and [mid, i1) with iL = i0 + 1 and mid = iL + (i1 - iL) // 2, of which the left may be empty. Its b-DOP bounds
the triangle itself and both children. Bounds are 8 bits each, rounded outwards: see `bdop_kernels`.

Triangles are six 32-bit words: three corners, counter-clockwise from outside, and the three neighbours across the edges
that start there. Up to 2^21 - 1 vertices and triangles an index takes the lower 21 bits of its word, and the upper 11
of all six hold the b-DOP. Above, triangles have eight words, of which the last two are the b-DOP.
"""

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.collision.bdop_kernels import (
    INDEX_MASK,
    QUANTUM,
    WORD_MASK,
    bound_trees,
    measure_triangles,
    order_trees,
    pack,
    read_bdops,
)


def build_trees(
    patch_triangle_start, faces, weights
) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """(order, b-DOPs) of the trees of all patches: order (t,) permutes triangles within patches only.

    faces (t, 3) are rows of weights (n, 4) in the tet of the patch, which lie in [0, 1]. Row i of the b-DOPs belongs
    to triangle order[i].
    """
    faces = np.ascontiguousarray(faces, np.int32)
    weights = np.ascontiguousarray(weights, np.float64)
    start = np.ascontiguousarray(patch_triangle_start, np.int32)
    count = len(faces)
    order, end = np.empty(count, np.int32), np.empty(count, np.int32)
    centre, extent = np.empty((4, count)), np.empty(count)
    measure_triangles(faces, weights, order, centre, extent)
    order_trees(start, centre, extent, order, end)
    bdops = np.empty(count, np.int64)
    bound_trees(faces, weights, order, end, bdops)
    return order, bdops.view(np.uint64)


def pack_triangles(vertices, neighbours, bdops) -> NDArray[np.uint32]:
    """Triangles as words, shape (t, 6) or, with more than 2^21 - 1 features, (t, 8).

    vertices (t, 3): corners; neighbours (t, 3): across the edge from corner i to the next, -1 for none; bdops (t,).
    """
    vertices = np.ascontiguousarray(vertices, np.int64)
    neighbours = np.ascontiguousarray(neighbours, np.int64)
    features = max(len(vertices), int(vertices.max(initial=-1)) + 1)
    triangles = np.empty((len(vertices), 6 if features <= INDEX_MASK else 8), np.uint32)
    pack(vertices, neighbours, np.ascontiguousarray(bdops, np.uint64).view(np.int64), triangles)
    return triangles


def _index_mask(triangles) -> int:
    return INDEX_MASK if triangles.shape[1] == 6 else WORD_MASK


def triangle_vertices(triangles) -> NDArray[np.int32]:
    """Corners of packed triangles, shape (t, 3)."""
    return (triangles[:, :3] & np.uint32(_index_mask(triangles))).astype(np.int32)


def triangle_neighbours(triangles) -> NDArray[np.int32]:
    """Neighbours of packed triangles, shape (t, 3), -1 for none."""
    mask = np.uint32(_index_mask(triangles))
    neighbours = triangles[:, 3:6] & mask
    return np.where(neighbours == mask, -1, neighbours.astype(np.int64)).astype(np.int32)


def triangle_bdops(triangles) -> NDArray[np.uint64]:
    """b-DOPs of packed triangles, shape (t,)."""
    bdops = np.empty(len(triangles), np.int64)
    read_bdops(triangles, bdops)
    return bdops.view(np.uint64)


def bdop_bounds(bdops) -> NDArray[np.float64]:
    """The bounds a_0..a_3, b_0..b_3 of quantised b-DOPs, shape (t, 8)."""
    byte = np.ascontiguousarray(bdops, "<u8").view(np.uint8).reshape(-1, 8).astype(np.float64)
    byte[:, 4:] += 1.0
    return byte * QUANTUM


def tet_bdops(tet_patch_start, patch_vertex_start, weights) -> NDArray[np.float64]:
    """Bounds a_0..a_3, b_0..b_3 of all vertices in each tet, shape (c, 8), not quantised."""
    start = np.asarray(patch_vertex_start)[np.asarray(tet_patch_start)[:-1]]
    low = np.minimum.reduceat(weights, start, axis=0)
    high = np.maximum.reduceat(weights, start, axis=0)
    return np.concatenate([low, high], axis=1)
