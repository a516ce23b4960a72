"""Loops behind `repair`: welding, sorting, joining and winding numbers of shells."""

import numpy as np

from jellycage.toolkit.compile_kernels import njit, njit_called


@njit
def find_equal(rows, is_used, out_number):
    """Number used rows (n, 3) int64 by first appearance, equal ones alike; give the count.

    Unused rows get -1. An open-addressing hash table, so the cost is linear.
    """
    n = rows.shape[0]
    size = 16
    while size < 2 * n:
        size *= 2
    table = np.full(size, -1, np.int32)
    count = 0
    for i in range(n):
        out_number[i] = -1
        if not is_used[i]:
            continue
        h = np.uint64(rows[i, 0]) * np.uint64(0x9E3779B97F4A7C15)
        h = (h ^ (h >> np.uint64(29)) ^ np.uint64(rows[i, 1])) * np.uint64(0xBF58476D1CE4E5B9)
        h = (h ^ (h >> np.uint64(32)) ^ np.uint64(rows[i, 2])) * np.uint64(0x94D049BB133111EB)
        slot = np.int64((h ^ (h >> np.uint64(31))) & np.uint64(size - 1))
        while True:
            j = table[slot]
            if j < 0:
                table[slot] = i
                out_number[i] = count
                count += 1
                break
            if rows[j, 0] == rows[i, 0] and rows[j, 1] == rows[i, 1] and rows[j, 2] == rows[i, 2]:
                out_number[i] = out_number[j]
                break
            slot = (slot + 1) & (size - 1)
    return count


@njit
def group_edges(faces, vertex_count, out_half_edges, out_direction, out_start, out_ends, out_net):
    """Group the half-edges of faces (f, 3) by undirected edge and give the number of edges.

    Counting sort by the higher vertex, then stably by the lower. out_half_edges, out_direction:
    (3f,); out_start (3f+1,), out_ends (3f, 2) and out_net (3f,) are filled as far as there are
    edges.
    """
    m = 3 * faces.shape[0]
    by_high = np.empty(m, np.int32)
    low, high = np.empty(m, np.int32), np.empty(m, np.int32)
    first_low, first_high = (
        np.zeros(vertex_count + 1, np.int32),
        np.zeros(vertex_count + 1, np.int32),
    )
    # Count the half-edges of each vertex, as the lower and as the higher one; sums are where their groups start.
    for h in range(m):
        f, k = h // 3, h % 3
        a, b = faces[f, k], faces[f, (k + 1) % 3]
        low[h], high[h] = min(a, b), max(a, b)
        first_low[low[h] + 1] += 1
        first_high[high[h] + 1] += 1
    for v in range(vertex_count):
        first_low[v + 1] += first_low[v]
        first_high[v + 1] += first_high[v]
    # Sort by the higher vertex, then by the lower.
    for h in range(m):
        by_high[first_high[high[h]]] = h
        first_high[high[h]] += 1
    for i in range(m):
        h = by_high[i]
        out_half_edges[first_low[low[h]]] = h
        first_low[low[h]] += 1
    # Neighbours with the same ends are one edge.
    e = -1
    for i in range(m):
        h = out_half_edges[i]
        if e < 0 or low[h] != out_ends[e, 0] or high[h] != out_ends[e, 1]:
            e += 1
            out_start[e] = i
            out_ends[e, 0], out_ends[e, 1] = low[h], high[h]
            out_net[e] = 0
        out_direction[i] = 1 if faces[h // 3, h % 3] == low[h] else -1
        out_net[e] += out_direction[i]
    out_start[e + 1] = m
    return e + 1


@njit
def add_volumes(vertices, faces, shell, out_volume):
    """Add the signed volume of the tetrahedron of each face and the origin to its shell."""
    for f in range(faces.shape[0]):
        a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
        x = vertices[b, 1] * vertices[c, 2] - vertices[b, 2] * vertices[c, 1]
        y = vertices[b, 2] * vertices[c, 0] - vertices[b, 0] * vertices[c, 2]
        z = vertices[b, 0] * vertices[c, 1] - vertices[b, 1] * vertices[c, 0]
        volume = vertices[a, 0] * x + vertices[a, 1] * y + vertices[a, 2] * z
        out_volume[shell[f]] += volume / 6.0


@njit
def join_pairs(pairs, is_turned, out_root, out_turn):
    """Join items by pairs (k, 2); is_turned says that the two of a pair differ in turn (0 or 1).

    out_root becomes the lowest item of each group, out_turn the turn against that item. Gives the
    number of pairs that contradict the others. Union-find with path compression; the turn travels
    along the links.
    """
    n = out_root.shape[0]
    for i in range(n):
        out_root[i] = i
        out_turn[i] = 0
    conflicts = 0
    for k in range(pairs.shape[0]):
        a, turn_a = _find(out_root, out_turn, np.int64(pairs[k, 0]))
        b, turn_b = _find(out_root, out_turn, np.int64(pairs[k, 1]))
        turn = turn_a ^ turn_b ^ is_turned[k]
        if a == b:
            conflicts += turn
        elif a < b:
            out_root[b] = a
            out_turn[b] = turn
        else:
            out_root[a] = b
            out_turn[a] = turn
    for i in range(n):
        _find(out_root, out_turn, i)
    return conflicts


@njit_called
def _find(root, turn, i):
    """Root of i and turn against it; afterwards every item on the way points at the root."""
    top = i
    total = 0
    while root[top] != top:
        total ^= turn[top]
        top = root[top]
    left = total
    while root[i] != top and i != top:
        above = root[i]
        step = turn[i]
        root[i] = top
        turn[i] = left
        left ^= step
        i = above
    return top, total


@njit
def find_windings(
    points, vertices, faces, shell_start, low, high, out_shell, out_point, out_winding
):
    """Winding number of each shell around each point of another shell, where it is not zero.

    points (s, 3): one per shell. Faces are sorted by shell, rows shell_start[j]:shell_start[j+1];
    low, high (s, 3) are the boxes of the shells. Gives the number of entries found; if that is more
    than the outputs hold, the rest is counted but not kept. Signed crossings of a ray along +z: a
    face counts if the point lies in its shadow on the xy plane. Each edge is evaluated from its
    lower to its higher vertex, so two faces always agree about their common edge and the sum over a
    closed shell is an exact integer.
    """
    found = 0
    y_low, y_high = np.empty(faces.shape[0]), np.empty(faces.shape[0])
    for f in range(faces.shape[0]):
        a, b, c = vertices[faces[f, 0], 1], vertices[faces[f, 1], 1], vertices[faces[f, 2], 1]
        y_low[f], y_high[f] = min(a, b, c), max(a, b, c)
    for i in range(points.shape[0]):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        for j in range(low.shape[0]):
            if i == j or x < low[j, 0] or y < low[j, 1] or z < low[j, 2]:
                continue
            if x > high[j, 0] or y > high[j, 1] or z > high[j, 2]:
                continue
            winding = 0
            for f in range(shell_start[j], shell_start[j + 1]):
                if y_low[f] <= y and y < y_high[f]:
                    winding += _crossing(vertices, faces[f, 0], faces[f, 1], faces[f, 2], x, y, z)
            if winding != 0:
                if found < out_shell.shape[0]:
                    out_shell[found] = j
                    out_point[found] = i
                    out_winding[found] = winding
                found += 1
    return found


@njit_called
def _crossing(vertices, a, b, c, x, y, z):
    """+1 or -1 if the ray from (x, y, z) along +z leaves or enters through the face, else 0."""
    is_a, is_b, is_c = vertices[a, 1] > y, vertices[b, 1] > y, vertices[c, 1] > y
    covers = 0
    if is_a != is_b and _is_right(vertices, a, b, x, y):
        covers += 1 if is_b else -1
    if is_b != is_c and _is_right(vertices, b, c, x, y):
        covers += 1 if is_c else -1
    if is_c != is_a and _is_right(vertices, c, a, x, y):
        covers += 1 if is_a else -1
    if covers == 0:
        return 0
    ux, uy = vertices[b, 0] - vertices[a, 0], vertices[b, 1] - vertices[a, 1]
    vx, vy = vertices[c, 0] - vertices[a, 0], vertices[c, 1] - vertices[a, 1]
    uz, vz = vertices[b, 2] - vertices[a, 2], vertices[c, 2] - vertices[a, 2]
    height = (uy * vz - uz * vy) * (vertices[a, 0] - x)
    height += (uz * vx - ux * vz) * (vertices[a, 1] - y)
    height += (ux * vy - uy * vx) * (vertices[a, 2] - z)
    return covers if height * covers > 0 else 0


@njit_called
def _is_right(vertices, i, j, x, y):
    """Whether the edge meets the line through y to the right of x."""
    if i > j:
        i, j = j, i
    share = (y - vertices[i, 1]) / (vertices[j, 1] - vertices[i, 1])
    return vertices[i, 0] + share * (vertices[j, 0] - vertices[i, 0]) > x
