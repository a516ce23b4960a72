"""Triangles cut along the tets that they pass.

A polygon, the part of a triangle in a tet, is a cycle through its sides: each lies on one of the tet's four faces or
on one of the triangle's three edges, and each corner joins two of them. There are three kinds of corners:

    a mesh vertex in the tet           joins two edges of the triangle
    a mesh edge through a cage face    joins that edge and that face
    a cage edge through the triangle   joins the two faces at that edge

Whether a corner is there follows from signs of volumes of four points, each computed in one canonical order of its
points. So all that meet at a corner agree on it, and the pieces fit without cracks whatever was rounded. Signs that
no geometry could have do not make a cycle: they are counted, and the caller moves the surface a little.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.cage.copies_kernels import choose_copy, with_new
from jellycage.toolkit.compile_kernels import njit, njit_called, njit_inside
from jellycage.toolkit.geometry_kernels import tet_volume6

EDGES = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])
"""Corners of the six edges of a tet; the faces at edge g are opposite the corners of edge 5 - g."""
EDGE_OF = np.array([[-1, 0, 1, 2], [0, -1, 3, 4], [1, 3, -1, 5], [2, 4, 5, -1]])
"""Number of the edge between two corners."""
PARITY = np.array([1, -1, 1, 1, -1, 1])
"""Sign of the permutation (edge g, edge 5 - g) of the corners."""
FLAT = 1e-12
"""Triangles with less area than this, over their longest side squared, have no inside that a cage edge pierces."""
MOST = 7
"""Corners that a polygon can have: one per side."""


class CutSurface(NamedTuple):
    """The surface that is cut."""

    points: NDArray[np.float64]
    faces: NDArray[np.int64]
    face_edges: NDArray[np.int64]
    """Number of the mesh edge that starts at each corner of a face, shape (f, 3)."""
    vertex_tet: NDArray[np.int64]
    """Tet that strictly holds each vertex."""


class CuttingCage(NamedTuple):
    """The tets that it is cut along."""

    nodes: NDArray[np.float64]
    tets: NDArray[np.int64]
    """Ascending in each row, shape (e, 4)."""
    sides: NDArray[np.float64]
    """Signs of their volumes, shape (e,)."""
    tet_faces: NDArray[np.int64]
    tet_edges: NDArray[np.int64]
    """Numbers of their faces (e, 4) and edges (e, 6)."""
    face_total: int
    edge_total: int


class Corners(NamedTuple):
    """Corners of polygons, a row each."""

    key: NDArray[np.int64]
    """What a corner is: -1 - mesh vertex, 2 * (mesh edge * face_total + cage face) or
    2 * (triangle * edge_total + cage edge) + 1."""
    bary: NDArray[np.float64]
    """Weights of the triangle's corners, shape (k, 3)."""
    weights: NDArray[np.float64]
    """Weights of the tet's corners, shape (k, 4)."""


class Signs(NamedTuple):
    """Volumes that decide on the corners of one polygon."""

    depth: NDArray[np.float64]
    """Of the triangle's corners behind the tet's faces, shape (3, 4)."""
    across: NDArray[np.float64]
    """Of mesh edges with cage edges, shape (3, 6)."""
    height: NDArray[np.float64]
    """Of the tet's corners over the triangle, shape (4,)."""


@njit_called
def is_flat(a, b, c):
    """Whether a triangle has next to no area."""
    ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    vx, vy, vz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    longest = max(ux * ux + uy * uy + uz * uz, vx * vx + vy * vy + vz * vz)
    return x * x + y * y + z * z < (FLAT * longest) ** 2


@njit_called
def depths_in(point, nodes, tet, side, out_depth):
    """Volumes between a point and the faces of a tet with ascending corners, positive inside; the least of them."""
    x0, x1, x2, x3 = nodes[tet[0]], nodes[tet[1]], nodes[tet[2]], nodes[tet[3]]
    out_depth[0] = side * tet_volume6(point, x1, x2, x3)
    out_depth[1] = -side * tet_volume6(point, x0, x2, x3)
    out_depth[2] = side * tet_volume6(point, x0, x1, x3)
    out_depth[3] = -side * tet_volume6(point, x0, x1, x2)
    return min(min(out_depth[0], out_depth[1]), min(out_depth[2], out_depth[3]))


@njit
def settle_vertices(points, vertex_face, cage, copies, out_element, out_weights):
    """The tet that strictly holds each vertex, from a first guess in out_element, and the weights there.

    Returns how many vertices have none: they lie exactly on a face, or outside.
    """
    nodes, tets, sides = cage.nodes, cage.tets, cage.sides
    depth = np.empty(4)
    lost = 0
    for v in range(points.shape[0]):
        e = out_element[v]
        least = depths_in(points[v], nodes, tets[e], sides[e], depth)
        for _ in range(16):
            if least > 0.0:
                break
            m = 0
            for c in range(1, 4):
                if depth[c] < depth[m]:
                    m = c
            onward = choose_copy(e, m, vertex_face[v], copies)
            if onward < 0:
                break
            e = onward
            least = depths_in(points[v], nodes, tets[e], sides[e], depth)
        lost += least <= 0.0
        out_element[v] = e
        total = depth[0] + depth[1] + depth[2] + depth[3]
        for c in range(4):
            out_weights[v, c] = depth[c] / total
    return lost


@njit_inside
def find_corners(face, e, surface, cage, signs, out_joins, out_corners):
    """The corners of the part of a triangle in a tet, in no order; returns how many, -1 if a vertex disagrees.

    out_joins (7, 2): the two sides that each corner joins, 0-3 faces of the tet, 4-6 edges of the triangle.
    """
    points, faces, nodes, tets = surface.points, surface.faces, cage.nodes, cage.tets
    depth, across, height = signs.depth, signs.across, signs.height
    key, bary, weights = out_corners.key, out_corners.bary, out_corners.weights
    joins, side = out_joins, cage.sides[e]
    # Mesh vertices in the tet.
    made = 0
    for c in range(3):
        v = faces[face, c]
        least = depths_in(points[v], nodes, tets[e], side, depth[c])
        if least > 0.0:
            if surface.vertex_tet[v] != e:
                return -1
            total = depth[c, 0] + depth[c, 1] + depth[c, 2] + depth[c, 3]
            joins[made, 0], joins[made, 1] = 4 + (c + 2) % 3, 4 + c
            key[made] = -1 - v
            for k in range(3):
                bary[made, k] = 1.0 if k == c else 0.0
            for m in range(4):
                weights[made, m] = depth[c, m] / total
            made += 1
    if made == 3:
        return 3
    # Volumes of mesh edges with cage edges: which side they pass each other on.
    for c in range(3):
        a, b = faces[face, c], faces[face, (c + 1) % 3]
        turn = 1.0
        if a > b:
            a, b, turn = b, a, -1.0
        for g in range(6):
            p, q = nodes[tets[e, EDGES[g, 0]]], nodes[tets[e, EDGES[g, 1]]]
            across[c, g] = turn * tet_volume6(points[a], points[b], p, q)
    # Mesh edges through cage faces: their ends lie on either side, and they pass its three edges on the same side.
    for c in range(3):
        d = (c + 1) % 3
        for m in range(4):
            if (depth[c, m] > 0.0) == (depth[d, m] > 0.0):
                continue
            i = 1 if m == 0 else 0
            j = 1 if m > 1 else 2
            k = 2 if m == 3 else 3
            wi, wj, wk = (
                across[c, EDGE_OF[j, k]],
                -across[c, EDGE_OF[i, k]],
                across[c, EDGE_OF[i, j]],
            )
            if not ((wi > 0.0 and wj > 0.0 and wk > 0.0) or (wi < 0.0 and wj < 0.0 and wk < 0.0)):
                continue
            if made == MOST:
                return -1
            joins[made, 0], joins[made, 1] = 4 + c, m
            key[made] = 2 * (surface.face_edges[face, c] * cage.face_total + cage.tet_faces[e, m])
            # Along the edge from its lower vertex, so that both triangles at it get the same share.
            low, high = (c, d) if faces[face, c] < faces[face, d] else (d, c)
            share = depth[low, m] / (depth[low, m] - depth[high, m])
            bary[made, (c + 2) % 3] = 0.0
            bary[made, low], bary[made, high] = 1.0 - share, share
            total = wi + wj + wk
            weights[made, m] = 0.0
            weights[made, i], weights[made, j], weights[made, k] = (
                wi / total,
                wj / total,
                wk / total,
            )
            made += 1
    # Cage edges through the triangle, likewise.
    a, b, c = points[faces[face, 0]], points[faces[face, 1]], points[faces[face, 2]]
    if is_flat(a, b, c):
        return made
    for m in range(4):
        height[m] = tet_volume6(nodes[tets[e, m]], a, b, c)  # negative in front of the triangle
    for g in range(6):
        i, j = EDGES[g, 0], EDGES[g, 1]
        if (height[i] > 0.0) == (height[j] > 0.0):
            continue
        wc, wa, wb = across[0, g], across[1, g], across[2, g]
        if not ((wa > 0.0 and wb > 0.0 and wc > 0.0) or (wa < 0.0 and wb < 0.0 and wc < 0.0)):
            continue
        if made == MOST:
            return -1
        joins[made, 0], joins[made, 1] = EDGES[5 - g, 0], EDGES[5 - g, 1]
        # Here the order of the two matters: a polygon counter-clockwise on the triangle passes from 0 to 1.
        if (height[i] < 0.0) == (PARITY[g] * side > 0.0):
            joins[made, 0], joins[made, 1] = joins[made, 1], joins[made, 0]
        key[made] = 2 * (face * cage.edge_total + cage.tet_edges[e, g]) + 1
        total = wa + wb + wc
        bary[made, 0], bary[made, 1], bary[made, 2] = wa / total, wb / total, wc / total
        share = height[i] / (height[i] - height[j])
        for m in range(4):
            weights[made, m] = 0.0
        weights[made, i], weights[made, j] = 1.0 - share, share
        made += 1
    return made


@njit_inside
def order_corners(made, joins, depth, at_side, out_order, out_side):
    """The corners as a cycle, counter-clockwise on the triangle, and the side after each; False if they are none."""
    for side in range(7):
        at_side[side, 0], at_side[side, 1] = -1, -1
    for n in range(made):
        for end in range(2):
            side = joins[n, end]
            if at_side[side, 0] < 0:
                at_side[side, 0] = n
            elif at_side[side, 1] < 0:
                at_side[side, 1] = n
            else:
                return False
    for side in range(7):
        if at_side[side, 0] >= 0 and at_side[side, 1] < 0:
            return False
    # The first corner tells the direction: vertices and cage edges join their sides in order, a mesh edge leaves the
    # tet through a face that its end lies behind.
    n, side = 0, joins[0, 1]
    if joins[0, 0] >= 4 and joins[0, 1] < 4 and depth[(joins[0, 0] - 3) % 3, joins[0, 1]] > 0.0:
        side = joins[0, 0]
    for k in range(made):
        out_order[k], out_side[k] = n, side
        n = at_side[side, 0] if at_side[side, 1] == n else at_side[side, 1]
        side = joins[n, 0] if joins[n, 1] == side else joins[n, 1]
        if n == 0 and k + 1 < made:
            return False
    return n == 0


@njit
def clip_faces(which, surface, cage, copies, out_polygons, out_corners, out_count):
    """Cut the triangles in `which` along the tets, walking through shared faces only.

    out_polygons (3, p): triangle, tet and first corner of each polygon. out_count: polygons, corners, contradictions.
    Counts go on when the room is used up.
    """
    signs = Signs(depth=np.empty((3, 4)), across=np.empty((3, 6)), height=np.empty(4))
    corner = Corners(
        key=np.empty(MOST, np.int64), bary=np.empty((MOST, 3)), weights=np.empty((MOST, 4))
    )
    joins, at_side = np.empty((MOST, 2), np.int64), np.empty((7, 2), np.int64)
    order, side_after = np.empty(MOST, np.int64), np.empty(MOST, np.int64)
    faces, vertex_tet = surface.faces, surface.vertex_tet
    todo = np.empty(4096, np.int64)
    polygons, corners, wrong = 0, 0, 0
    for w in range(which.shape[0]):
        face = which[w]
        count = 0
        # The walk starts in the tets of the corners.
        for c in range(3):
            e = vertex_tet[faces[face, c]]
            is_new = True
            for p in range(count):
                is_new &= todo[p] != e
            if is_new:
                todo[count] = e
                count += 1
        done = 0
        while done < count:
            e = todo[done]
            done += 1
            # One convex polygon per tet that the triangle passes through.
            made = find_corners(face, e, surface, cage, signs, joins, corner)
            if made < 3 or not order_corners(made, joins, signs.depth, at_side, order, side_after):
                wrong += 1
                continue
            if polygons < out_polygons.shape[1] and corners + made <= out_corners.key.shape[0]:
                out_polygons[0, polygons], out_polygons[1, polygons] = face, e
                out_polygons[2, polygons] = corners
                for k in range(made):
                    n = order[k]
                    out_corners.key[corners + k] = corner.key[n]
                    for axis in range(3):
                        out_corners.bary[corners + k, axis] = corner.bary[n, axis]
                    for m in range(4):
                        out_corners.weights[corners + k, m] = corner.weights[n, m]
            polygons += 1
            corners += made
            # On through the faces of the tet that the polygon has sides on.
            for k in range(made):
                if side_after[k] > 3:
                    continue
                onward = choose_copy(e, side_after[k], face, copies)
                if onward < 0:
                    wrong += 1
                    continue
                todo, count = with_new(todo, count, onward)
    out_count[0], out_count[1], out_count[2] = polygons, corners, wrong
