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

import numpy as np

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
def settle_vertices(
    points, vertex_face, nodes, tets, sides, start, elements, home_start, homes,
    out_element, out_weights,
):  # fmt: skip
    """The tet that strictly holds each vertex, from a first guess in out_element, and the weights there.

    Returns how many vertices have none: they lie exactly on a face, or outside.
    """
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
            onward = choose_copy(e, m, vertex_face[v], start, elements, home_start, homes)
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
def find_corners(
    face, e, points, faces, face_edges, nodes, tets, side, tet_faces, tet_edges, vertex_element, face_total, edge_total,
    depth, across, height, joins, out_key, out_bary, out_weights,
):  # fmt: skip
    """The corners of the part of a triangle in a tet, in no order; returns how many, -1 if a vertex disagrees.

    joins (7, 2): the two sides that each corner joins, 0-3 faces of the tet, 4-6 edges of the triangle.
    """
    made = 0
    for c in range(3):
        v = faces[face, c]
        least = depths_in(points[v], nodes, tets[e], side, depth[c])
        if least > 0.0:
            if vertex_element[v] != e:
                return -1
            total = depth[c, 0] + depth[c, 1] + depth[c, 2] + depth[c, 3]
            joins[made, 0], joins[made, 1] = 4 + (c + 2) % 3, 4 + c
            out_key[made] = -1 - v
            for k in range(3):
                out_bary[made, k] = 1.0 if k == c else 0.0
            for m in range(4):
                out_weights[made, m] = depth[c, m] / total
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
            out_key[made] = 2 * (face_edges[face, c] * face_total + tet_faces[e, m])
            # Along the edge from its lower vertex, so that both triangles at it get the same share.
            low, high = (c, d) if faces[face, c] < faces[face, d] else (d, c)
            share = depth[low, m] / (depth[low, m] - depth[high, m])
            out_bary[made, (c + 2) % 3] = 0.0
            out_bary[made, low], out_bary[made, high] = 1.0 - share, share
            total = wi + wj + wk
            out_weights[made, m] = 0.0
            out_weights[made, i], out_weights[made, j], out_weights[made, k] = (
                wi / total,
                wj / total,
                wk / total,
            )
            made += 1
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
        out_key[made] = 2 * (face * edge_total + tet_edges[e, g]) + 1
        total = wa + wb + wc
        out_bary[made, 0], out_bary[made, 1], out_bary[made, 2] = wa / total, wb / total, wc / total
        share = height[i] / (height[i] - height[j])
        for m in range(4):
            out_weights[made, m] = 0.0
        out_weights[made, i], out_weights[made, j] = 1.0 - share, share
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
def clip_faces(
    which, points, faces, face_edges, nodes, tets, sides, tet_faces, tet_edges, face_total, edge_total,
    vertex_element, start, elements, home_start, homes,
    out_face, out_element, out_start, out_key, out_bary, out_weights, out_count,
):  # fmt: skip
    """Cut the triangles in `which` along the tets, walking through shared faces only.

    out_face, out_element, out_start: one row per polygon; out_key, out_bary (3), out_weights (4): one per corner of
    one. Keys: -1 - mesh vertex, 2 * (mesh edge * face_total + cage face), 2 * (triangle * edge_total + cage edge) + 1.
    out_count: polygons, corners, contradictions. Counts go on when the room is used up.
    """
    depth, across, height = np.empty((3, 4)), np.empty((3, 6)), np.empty(4)
    joins, at_side = np.empty((MOST, 2), np.int64), np.empty((7, 2), np.int64)
    key, order, side_after = (
        np.empty(MOST, np.int64),
        np.empty(MOST, np.int64),
        np.empty(MOST, np.int64),
    )
    bary, weights = np.empty((MOST, 3)), np.empty((MOST, 4))
    todo = np.empty(4096, np.int64)
    polygons, corners, wrong = 0, 0, 0
    for w in range(which.shape[0]):
        face = which[w]
        count = 0
        for c in range(3):
            e = vertex_element[faces[face, c]]
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
            made = find_corners(
                face, e, points, faces, face_edges, nodes, tets, sides[e], tet_faces, tet_edges, vertex_element,
                face_total, edge_total, depth, across, height, joins, key, bary, weights,
            )  # fmt: skip
            if made < 3 or not order_corners(made, joins, depth, at_side, order, side_after):
                wrong += 1
                continue
            if polygons < out_face.shape[0] and corners + made <= out_key.shape[0]:
                out_face[polygons], out_element[polygons] = face, e
                out_start[polygons] = corners
                for k in range(made):
                    n = order[k]
                    out_key[corners + k] = key[n]
                    for axis in range(3):
                        out_bary[corners + k, axis] = bary[n, axis]
                    for m in range(4):
                        out_weights[corners + k, m] = weights[n, m]
            polygons += 1
            corners += made
            for k in range(made):
                if side_after[k] > 3:
                    continue
                onward = choose_copy(e, side_after[k], face, start, elements, home_start, homes)
                if onward < 0:
                    wrong += 1
                    continue
                todo, count = with_new(todo, count, onward)
    out_count[0], out_count[1], out_count[2] = polygons, corners, wrong
