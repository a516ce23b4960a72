"""Which lattice tets a surface touches, exactly and without polygons: floors, edge walks and pierced lattice lines.

A triangle touches a tet if one of its edges visits the tet or one of the tet's edges pierces the triangle. Both are
decided by predicates that depend only on a mesh edge and a lattice plane or line, evaluated in one canonical order,
so that two triangles sharing an edge always agree.
"""

import numpy as np

from jellycage.toolkit.cage.lattice import (
    EDGE_RING,
    EDGE_RING_COUNT,
    FORMS,
    LINE_AXIS,
    LINE_FORMS,
    LINE_SIGN,
)
from jellycage.toolkit.compile_kernels import njit, njit_called
from jellycage.toolkit.geometry_kernels import sort_with


@njit
def find_forms(points, out_forms, out_floors):
    """The seven forms of every point and their floors."""
    for i in range(points.shape[0]):
        for m in range(7):
            f = FORMS[m, 0] * points[i, 0] + FORMS[m, 1] * points[i, 1] + FORMS[m, 2] * points[i, 2]
            out_forms[i, m] = f
            out_floors[i, m] = int(np.floor(f))


@njit_called
def tet_in_cube(i, j, k, n3, n4, n5, n6):
    """Index 0..4 of the tet in cube (i, j, k) that the floors of f3..f6 select."""
    if (i + j + k) & 1 == 0:
        if n3 >= (i + j + k) // 2 + 1:
            return 1
        if n4 >= (i - j - k) // 2:
            return 2
        if n5 >= (-i + j - k) // 2:
            return 3
        if n6 >= (-i - j + k) // 2:
            return 4
        return 0
    if n3 < (i + j + k + 1) // 2:
        return 1
    if n4 < (i - j - k - 1) // 2:
        return 2
    if n5 < (-i + j - k - 1) // 2:
        return 3
    if n6 < (-i - j + k - 1) // 2:
        return 4
    return 0


@njit_called
def tet_key(floors, shape):
    """One integer per tet: five times the cube's number (x fastest) plus the tet's index in it."""
    i, j, k = floors[0], floors[1], floors[2]
    cube = (k * shape[1] + j) * shape[0] + i
    return cube * 5 + tet_in_cube(i, j, k, floors[3], floors[4], floors[5], floors[6])


@njit
def find_tets(floors, shape, out_tet):
    """Tet key of every point."""
    for i in range(floors.shape[0]):
        out_tet[i] = tet_key(floors[i], shape)


@njit_called
def crossing_count(na, nb):
    """How many lattice planes lie between two points, from their floors."""
    total = 0
    for m in range(7):
        total += abs(nb[m] - na[m])
    return total


@njit_called
def walk(fa, na, fb, nb, shape, out_tets):
    """Tet keys along the segment a -> b, in order; returns how many.

    The caller passes a and b in canonical order and room for crossing_count + 1 keys.
    """
    count = crossing_count(na, nb)
    out_tets[0] = tet_key(na, shape)
    if count == 0:
        return 1
    if count == 1:
        out_tets[1] = tet_key(nb, shape)
        return 2
    s = np.empty(count)
    order, form = np.empty(count, np.int64), np.empty(count, np.int64)
    floor_after = np.empty(count, np.int64)
    c = 0
    for m in range(7):
        length = fb[m] - fa[m]
        for level in range(na[m] + 1, nb[m] + 1):
            s[c], order[c], form[c], floor_after[c] = (level - fa[m]) / length, c, m, level
            c += 1
        for level in range(na[m], nb[m], -1):
            s[c], order[c], form[c], floor_after[c] = (level - fa[m]) / length, c, m, level - 1
            c += 1
    sort_with(s, order, count)
    floors = np.empty(7, np.int64)
    for m in range(7):
        floors[m] = na[m]
    found = 1
    for p in range(count):
        floors[form[order[p]]] = floor_after[order[p]]
        key = tet_key(floors, shape)
        if key != out_tets[found - 1]:
            out_tets[found] = key
            found += 1
    return found


@njit_called
def edge_side(pa, qa, pb, qb, p, q, is_canonical):
    """+1 or -1: the side of (p, q) against the line a -> b; a and b swap to the opposite answer, ties included."""
    if is_canonical:
        return 1 if (pb - pa) * (q - qa) - (qb - qa) * (p - pa) >= 0.0 else -1
    return -1 if (pa - pb) * (q - qb) - (qa - qb) * (p - pb) >= 0.0 else 1


@njit_called
def line_node(d, a, b, r, out_node):
    """Lattice node number r on the line of direction d at levels a, b of its two forms."""
    if d == 0:
        out_node[0], out_node[1], out_node[2] = r, a, b
    elif d == 1:
        out_node[0], out_node[1], out_node[2] = b, r, a
    elif d == 2:
        out_node[0], out_node[1], out_node[2] = a, b, r
    elif d == 3:
        out_node[0], out_node[1], out_node[2] = a, r, 2 * b - a - r
    elif d == 4:
        out_node[0], out_node[1], out_node[2] = a, r, r - a - 2 * b
    elif d == 5:
        out_node[0], out_node[1], out_node[2] = r, a, 2 * b - a - r
    elif d == 6:
        out_node[0], out_node[1], out_node[2] = r, a, r - a - 2 * b
    elif d == 7:
        out_node[0], out_node[1], out_node[2] = r, 2 * b - a - r, a
    else:
        out_node[0], out_node[1], out_node[2] = r, r - a - 2 * b, a


@njit
def find_pierces(points, forms, floors, faces, shape, out_edge, out_r, out_face, out_jump):
    """Every place where a lattice edge pierces a triangle; returns how many (stores those that fit).

    out_edge: 9 * (number of the edge's lower node) + direction; out_r: position along the line in cells;
    out_jump: change of the winding number when the line is followed upwards through the triangle.
    """
    found = 0
    node = np.empty(3, np.int64)
    room = out_edge.shape[0]
    for t in range(faces.shape[0]):
        v0, v1, v2 = faces[t, 0], faces[t, 1], faces[t, 2]
        for d in range(9):
            # Lines of a direction are where the linear forms p and q are whole: those between the corners may meet it.
            p, q = LINE_FORMS[d, 0], LINE_FORMS[d, 1]
            p_low = min(floors[v0, p], floors[v1, p], floors[v2, p])
            p_high = max(floors[v0, p], floors[v1, p], floors[v2, p])
            if p_low == p_high:
                continue
            q_low = min(floors[v0, q], floors[v1, q], floors[v2, q])
            q_high = max(floors[v0, q], floors[v1, q], floors[v2, q])
            if q_low == q_high:
                continue
            p0, p1, p2 = forms[v0, p], forms[v1, p], forms[v2, p]
            q0, q1, q2 = forms[v0, q], forms[v1, q], forms[v2, q]
            axis = LINE_AXIS[d]
            for a in range(p_low + 1, p_high + 1):
                for b in range(q_low + 1, q_high + 1):
                    # Inside if all three edges have it on one side. The two triangles of an edge never agree on it.
                    side = edge_side(p0, q0, p1, q1, a, b, v0 < v1)
                    if edge_side(p1, q1, p2, q2, a, b, v1 < v2) != side:
                        continue
                    if edge_side(p2, q2, p0, q0, a, b, v2 < v0) != side:
                        continue
                    if found < room:
                        # Where along the line, by the areas opposite to the corners; never outside the triangle.
                        w0 = (p1 - a) * (q2 - b) - (q1 - b) * (p2 - a)
                        w1 = (p2 - a) * (q0 - b) - (q2 - b) * (p0 - a)
                        w2 = (p0 - a) * (q1 - b) - (q0 - b) * (p1 - a)
                        x0, x1, x2 = points[v0, axis], points[v1, axis], points[v2, axis]
                        total = w0 + w1 + w2
                        r = (w0 * x0 + w1 * x1 + w2 * x2) / total if total != 0.0 else x0
                        r = min(max(r, min(x0, x1, x2)), max(x0, x1, x2))
                        line_node(d, a, b, int(np.floor(r)), node)
                        number = (node[2] * (shape[1] + 1) + node[1]) * (shape[0] + 1) + node[0]
                        out_edge[found] = number * 9 + d
                        out_r[found] = r
                        out_face[found] = t
                        out_jump[found] = -side * LINE_SIGN[d]
                    found += 1
    return found


@njit_called
def edge_parts(edge, shape, out_node):
    """Direction of a lattice edge from its key; its lower node goes to out_node."""
    number = edge // 9
    out_node[0] = number % (shape[0] + 1)
    number //= shape[0] + 1
    out_node[1] = number % (shape[1] + 1)
    out_node[2] = number // (shape[1] + 1)
    return edge % 9


@njit_called
def ring_tets(edge, shape, out_tets):
    """Keys of the tets around a lattice edge, in cyclic order; returns how many."""
    node = np.empty(3, np.int64)
    d = edge_parts(edge, shape, node)
    parity = (node[0] + node[1] + node[2]) & 1
    count = EDGE_RING_COUNT[parity, d]
    for c in range(count):
        i = node[0] + EDGE_RING[parity, d, c, 0]
        j = node[1] + EDGE_RING[parity, d, c, 1]
        k = node[2] + EDGE_RING[parity, d, c, 2]
        out_tets[c] = ((k * shape[1] + j) * shape[0] + i) * 5 + EDGE_RING[parity, d, c, 3]
    return count


@njit
def count_visits(floors, vertex_tet, faces, pierce_face, out_count):
    """Upper bound of the tets that each triangle touches."""
    for t in range(faces.shape[0]):
        a, b, c = faces[t, 0], faces[t, 1], faces[t, 2]
        if vertex_tet[a] == vertex_tet[b] and vertex_tet[b] == vertex_tet[c]:
            out_count[t] = 1
        else:
            out_count[t] = 3
            out_count[t] += crossing_count(floors[a], floors[b])
            out_count[t] += crossing_count(floors[b], floors[c])
            out_count[t] += crossing_count(floors[c], floors[a])
    for p in range(pierce_face.shape[0]):
        out_count[pierce_face[p]] += 6


@njit
def find_visits(
    forms, floors, vertex_tet, faces, shape, pierce_edge, pierce_face, start, out_tet, out_count
):
    """The tets that each triangle touches, sorted and unique, at start[t] in out_tet; out_count[t] of them.

    Pierces come sorted by face.
    """
    longest = 0
    for t in range(faces.shape[0]):
        longest = max(longest, start[t + 1] - start[t])
    walked = np.empty(longest + 8, np.int64)
    ring = np.empty(6, np.int64)
    p = 0
    for t in range(faces.shape[0]):
        first = start[t]
        n = 0
        a = faces[t, 0]
        # The whole triangle is in the tet of its corners.
        if start[t + 1] - first == 1:
            out_tet[first] = vertex_tet[a]
            out_count[t] = 1
            continue
        # Tets along its edges, each walked in the same sense from both of its triangles,
        for c in range(3):
            u, v = faces[t, c], faces[t, (c + 1) % 3]
            if u > v:
                u, v = v, u
            steps = walk(forms[u], floors[u], forms[v], floors[v], shape, walked)
            for s in range(steps):
                out_tet[first + n] = walked[s]
                n += 1
        # and around every lattice edge that pierces it.
        while p < pierce_face.shape[0] and pierce_face[p] == t:
            around = ring_tets(pierce_edge[p], shape, ring)
            for c in range(around):
                out_tet[first + n] = ring[c]
                n += 1
            p += 1
        keys = out_tet[first : first + n]
        sort_with(keys, walked, n)
        unique = 0
        for c in range(n):
            if c == 0 or keys[c] != keys[unique - 1]:
                keys[unique] = keys[c]
                unique += 1
        out_count[t] = unique


@njit_called
def winding_at(i, j, k, shape, line_start, line_r, line_sum):
    """Winding number at lattice node (i, j, k): the jumps on its x-line below it."""
    line = k * (shape[1] + 1) + j
    low, high = line_start[line], line_start[line + 1]
    first = low
    while low < high:
        middle = (low + high) // 2
        if line_r[middle] < i:
            low = middle + 1
        else:
            high = middle
    return line_sum[low - 1] if low > first else 0


@njit
def find_interior_cubes(shape, line_start, line_r, line_sum, out_cube):
    """Numbers of the cubes with at least one corner in the solid, ascending; returns how many (stores those that fit).

    Runs along the four x-lines of each column of cubes are merged, so the cost follows the surface and the result.
    """
    found = 0
    room = out_cube.shape[0]
    lines = np.empty(4, np.int64)
    at = np.empty(4, np.int64)
    for k in range(shape[2]):
        for j in range(shape[1]):
            lines[0] = k * (shape[1] + 1) + j
            lines[1] = lines[0] + 1
            lines[2] = lines[0] + shape[1] + 1
            lines[3] = lines[2] + 1
            for c in range(4):
                at[c] = line_start[lines[c]]
            i = 0
            while i < shape[0]:
                # The next cube at or after i that a solid run of nodes [low, high] touches: low - 1 <= i <= high.
                nearest = shape[0]
                for c in range(4):
                    end = line_start[lines[c] + 1]
                    while at[c] < end:
                        if line_sum[at[c]] != 0:
                            high = (
                                int(np.ceil(line_r[at[c] + 1])) - 1 if at[c] + 1 < end else shape[0]
                            )
                            low = int(np.ceil(line_r[at[c]]))
                            if low <= high and high >= i:
                                nearest = min(nearest, max(low - 1, i))
                                break
                        at[c] += 1
                if nearest >= shape[0]:
                    break
                if found < room:
                    out_cube[found] = (k * shape[1] + j) * shape[0] + nearest
                found += 1
                i = nearest + 1
    return found
