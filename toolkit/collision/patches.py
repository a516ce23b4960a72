"""From the cut surface to patches: connected pieces inside one tet, their neighbours, and everything in one order."""

import numpy as np

from jellycage.toolkit.arrays import ragged
from jellycage.toolkit.collision.bdop import build_trees, pack_triangles, tet_bdops
from jellycage.toolkit.collision.clip import Clipped
from jellycage.toolkit.collision.kdop import build_tet_tree
from jellycage.toolkit.collision.patches_kernels import (
    carry_weights,
    measure_patches,
    number_vertices,
    pair_half_edges,
)
from jellycage.toolkit.collision.posed import weight_areas
from jellycage.toolkit.collision.surface import CollisionSurface
from jellycage.toolkit.mesh.topology import edges_of, joined, numbered


def lay_out(clipped: Clipped, nodes, tets, tet_parent, source_face) -> CollisionSurface:
    """The collision surface of a cut one: patches in the order of their tets, triangles in that of their trees.

    nodes: rest positions [m]; tets: ascending rows; tet_parent: their elements in the cage; source_face: the row of
    the surface's faces for each face that was cut, -1 for none.
    """
    twin = _twins(clipped)
    patch, patch_tet = _patches(clipped, twin)
    order = np.argsort(patch, kind="stable")
    start = np.searchsorted(patch[order], np.arange(len(patch_tet) + 1))
    rows, vertex, vertex_start = _numbered_vertices(start, clipped, order)
    weights = _weights(clipped, tets, vertex, _each(patch_tet, vertex_start))
    tree_order, bdops = build_trees(start, rows, weights)
    order, rows = order[tree_order], rows[tree_order]

    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    twin = twin.reshape(-1, 3)[order]
    neighbours = np.where(twin < 0, -1, place[twin // 3])
    used, used_start = np.unique(patch_tet, return_index=True)
    tet_patch_start = np.append(used_start, len(patch_tet))
    positions = np.einsum("vm,vmx->vx", weights, nodes[tets[_each(patch_tet, vertex_start)]])
    centre, area = np.empty((len(patch_tet), 4)), np.empty(len(patch_tet))
    vector = np.empty((len(patch_tet), 3))
    measure_patches(start, rows, weights, positions, centre, area, vector)
    near_start, near = _patch_neighbours(patch[order], neighbours, len(patch_tet))
    bounds = tet_bdops(tet_patch_start, vertex_start, weights)
    return CollisionSurface(
        tets=tets[used],
        tet_parent=tet_parent[used],
        tet_bdop=bounds,
        tet_tree=build_tet_tree(nodes, tets[used], bounds),
        tet_patch_start=tet_patch_start,
        patch_triangle_start=start,
        patch_vertex_start=vertex_start,
        patch_centre=centre,
        patch_area=area,
        patch_vector_area=vector,
        patch_weight_area=weight_areas(start, rows, weights),
        patch_neighbour_start=near_start,
        patch_neighbours=near,
        triangles=pack_triangles(rows, neighbours, bdops),
        source_face=source_face[clipped.source_face[order]],
        source_weights=clipped.source_weights[order],
        weights=weights,
        vertex_number=_compact(vertex),
    )


def _twins(clipped: Clipped):
    edges = edges_of(clipped.faces.astype(np.int32), len(clipped.vertex_tet))
    twin = np.empty(clipped.faces.size, np.int64)
    pair_half_edges(edges.half_edges, edges.start, edges.direction, clipped.face_tet, twin)
    return twin


def _patches(clipped: Clipped, twin):
    """(patch, patch_tet): the patch of each triangle, numbered by tet and then by first triangle."""
    near = np.flatnonzero(twin > np.arange(len(twin)))
    pairs = np.stack([near // 3, twin[near] // 3], axis=1)
    is_same = clipped.face_tet[pairs[:, 0]] == clipped.face_tet[pairs[:, 1]]
    number, count = numbered(joined(len(clipped.faces), pairs[is_same])[0])
    tet = np.empty(count, np.int64)
    tet[number] = clipped.face_tet
    order = np.argsort(tet, kind="stable")
    rank = np.empty(count, np.int64)
    rank[order] = np.arange(count)
    return rank[number], tet[order]


def _numbered_vertices(start, clipped: Clipped, order):
    """(rows, vertex, vertex_start): corners as rows of vertices that belong to one patch each."""
    faces = clipped.faces[order]
    rows, vertex = np.empty_like(faces), np.empty(faces.size, np.int64)
    vertex_start = np.empty(len(start), np.int64)
    count = number_vertices(start, faces, len(clipped.vertex_tet), rows, vertex, vertex_start)
    return rows, vertex[:count], vertex_start


def _weights(clipped: Clipped, tets, vertex, target):
    """Weights of every vertex in the tet of its patch."""
    weights = np.empty((len(vertex), 4))
    carry_weights(tets, clipped.vertex_tet[vertex], clipped.vertex_weights[vertex], target, weights)
    return weights


def _each(values, start):
    """A value for each row of a CSR: that of the row's group."""
    return np.repeat(values, np.diff(start))


def _patch_neighbours(patch, neighbours, count):
    """CSR of the patches across the edges of each patch."""
    other = np.where(neighbours < 0, patch[:, None], patch[neighbours])
    is_border = other != patch[:, None]
    return ragged(np.broadcast_to(patch[:, None], other.shape)[is_border], other[is_border], count)


def _compact(vertex):
    """Numbers from 0 without gaps, in the order of the old ones."""
    is_used = np.zeros(int(vertex.max(initial=-1)) + 1, bool)
    is_used[vertex] = True
    return (np.cumsum(is_used) - 1)[vertex]
