"""Connected parts of the solid inside each lattice tet, found exactly from mesh and lattice topology.

Nodes of the union-find are fragments (a triangle in a tet) and the four corners of every tet that the surface touches.
Inside one tet, two nodes belong to one piece of the solid if a chain of these links them:

    1 two triangles share a mesh edge that visits the tet
    2 a solid stretch of a tet edge joins the triangles or corners at its ends
    3 a closed curve on a tet face: a ray in the face, from the curve through solid, meets another curve or an edge
    4 a closed shell inside the tet: a ray in the tet, through solid, meets another triangle or a face, then as in 3
    5 two triangles cross each other inside the tet

1-4 are complete for surfaces that do not cross themselves: a part of the solid is bounded by sheets and face regions,
a face region by curves and edge stretches, and only holes (3) and cavities (4) leave several boundaries to be joined.
"Solid" is everywhere where the winding number is not zero.
"""

from typing import NamedTuple

import numpy as np

from toolkit.compile_kernels import njit
from toolkit.geometry_kernels import sort_with
from toolkit.lattice import (
    FACE_MATCH,
    FORMS,
    LINE_AXIS,
    NEIGHBOUR,
    TET_CORNERS,
    TET_EDGES,
)
from toolkit.voxels_kernels import (
    crossing_count,
    edge_parts,
    ring_tets,
    walk,
    winding_at,
)

GENERIC = 0.41421356
"""Where rays pass a segment or triangle: at no simple fraction, so that they do not meet other corners."""


class Surface(NamedTuple):
    """The surface in its lattice, as arrays; lengths in cells."""

    points: np.ndarray
    forms: np.ndarray
    floors: np.ndarray
    faces: np.ndarray
    edges: np.ndarray
    face_edges: np.ndarray
    edge_face_start: np.ndarray
    edge_faces: np.ndarray
    shape: np.ndarray
    tets: np.ndarray
    vertex_tet: np.ndarray
    fragment_start: np.ndarray
    fragment_tet: np.ndarray
    fragment_face: np.ndarray
    pierced_edges: np.ndarray
    pierce_start: np.ndarray
    pierce_r: np.ndarray
    pierce_face: np.ndarray
    pierce_jump: np.ndarray
    line_start: np.ndarray
    line_r: np.ndarray
    line_sum: np.ndarray


@njit
def find_root(parent, i):
    """Root of i, halving the path on the way."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit
def join(parent, i, j):
    """Merge two sets; the smaller root wins, so the result does not depend on the order."""
    i, j = find_root(parent, i), find_root(parent, j)
    if i < j:
        parent[j] = i
    else:
        parent[i] = j


@njit
def find_sorted(keys, key):
    """Position of a key in an ascending array, -1 if absent."""
    low, high = 0, keys.shape[0]
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < keys.shape[0] and keys[low] == key else -1


@njit
def find_fragment(surface, face, tet):
    """Number of the fragment of a face in a tet (index into surface.tets), -1 if it is not there."""
    first, last = surface.fragment_start[face], surface.fragment_start[face + 1]
    at = find_sorted(surface.fragment_tet[first:last], tet)
    return first + at if at >= 0 else -1


@njit
def cube_of(tet, shape, out_cube):
    """Index in its cube of a tet key; the cube's integer position goes to out_cube."""
    cube = tet // 5
    out_cube[0] = cube % shape[0]
    cube //= shape[0]
    out_cube[1] = cube % shape[1]
    out_cube[2] = cube // shape[1]
    return tet % 5


@njit
def face_between(tet, other, shape):
    """Local face (opposite corner) of `tet` that `other` shares, -1 if they are not face neighbours."""
    cube = np.empty(3, np.int64)
    k = cube_of(tet, shape, cube)
    parity = (cube[0] + cube[1] + cube[2]) & 1
    for m in range(4):
        i = cube[0] + NEIGHBOUR[parity, k, m, 0]
        j = cube[1] + NEIGHBOUR[parity, k, m, 1]
        l = cube[2] + NEIGHBOUR[parity, k, m, 2]  # noqa: E741
        if ((l * shape[1] + j) * shape[0] + i) * 5 + NEIGHBOUR[parity, k, m, 3] == other:
            return m
    return -1


@njit
def corner_of(tet, node, shape):
    """Local corner of a tet at a lattice node, -1 if it has none there."""
    cube = np.empty(3, np.int64)
    k = cube_of(tet, shape, cube)
    parity = (cube[0] + cube[1] + cube[2]) & 1
    for c in range(4):
        same = True
        for axis in range(3):
            same &= cube[axis] + TET_CORNERS[parity, k, c, axis] == node[axis]
        if same:
            return c
    return -1


@njit
def longest_walk(surface):
    """Room that the longest walk along a mesh edge needs, and at least that of a ring."""
    longest = 6
    for e in range(surface.edges.shape[0]):
        a, b = surface.edges[e, 0], surface.edges[e, 1]
        if surface.vertex_tet[a] != surface.vertex_tet[b]:
            longest = max(longest, crossing_count(surface.floors[a], surface.floors[b]) + 1)
    return longest


@njit
def join_across_edges(surface, parent, out_crossed):
    """Link 1; also marks the tet faces that each fragment crosses (bits 0-3). Returns the contradictions met."""
    wrong = 0
    walked = np.empty(longest_walk(surface), np.int64)
    for e in range(surface.edges.shape[0]):
        a, b = surface.edges[e, 0], surface.edges[e, 1]
        if surface.vertex_tet[a] == surface.vertex_tet[b]:
            first = -1
            for f in range(surface.edge_face_start[e], surface.edge_face_start[e + 1]):
                fragment = find_fragment(surface, surface.edge_faces[f], surface.vertex_tet[a])
                if first >= 0:
                    join(parent, first, fragment)
                first = fragment
            continue
        count = walk(
            surface.forms[a], surface.floors[a], surface.forms[b], surface.floors[b],
            surface.shape, walked,
        )  # fmt: skip
        first_face, last_face = surface.edge_face_start[e], surface.edge_face_start[e + 1]
        before = -1
        for s in range(count):
            tet = find_sorted(surface.tets, walked[s])
            enter = face_between(walked[s], walked[s - 1], surface.shape) if s > 0 else -1
            leave = face_between(walked[s], walked[s + 1], surface.shape) if s + 1 < count else -1
            wrong += (s > 0 and enter < 0) or (s + 1 < count and leave < 0)
            before = -1
            for f in range(first_face, last_face):
                fragment = find_fragment(surface, surface.edge_faces[f], tet)
                if fragment < 0:
                    wrong += 1
                    continue
                if before >= 0:
                    join(parent, before, fragment)
                before = fragment
                if enter >= 0:
                    out_crossed[fragment] |= 1 << enter
                if leave >= 0:
                    out_crossed[fragment] |= 1 << leave
    return wrong


@njit
def join_along_pierced_edges(surface, parent, out_crossed):
    """Link 2 on lattice edges that the surface pierces; marks crossed faces (bits 0-3) and those whose border is
    pierced (bits 4-7). Returns the contradictions met."""
    wrong = 0
    fragment_count = surface.fragment_tet.shape[0]
    ring = np.empty(6, np.int64)
    low, high = np.empty(3, np.int64), np.empty(3, np.int64)
    step = np.empty(3, np.int64)
    for g in range(surface.pierced_edges.shape[0]):
        edge = surface.pierced_edges[g]
        d = edge_parts(edge, surface.shape, low)
        direction_step(d, step)
        for axis in range(3):
            high[axis] = low[axis] + step[axis]
        bottom = winding_at(
            low[0],
            low[1],
            low[2],
            surface.shape,
            surface.line_start,
            surface.line_r,
            surface.line_sum,
        )
        around = ring_tets(edge, surface.shape, ring)
        first, last = surface.pierce_start[g], surface.pierce_start[g + 1]
        for c in range(around):
            tet = find_sorted(surface.tets, ring[c])
            a, b = corner_of(ring[c], low, surface.shape), corner_of(ring[c], high, surface.shape)
            border = 0
            for m in range(4):
                if m != a and m != b:
                    border |= (1 << m) | (16 << m)
            winding = bottom
            below = fragment_count + 4 * tet + a
            for p in range(first, last):
                fragment = find_fragment(surface, surface.pierce_face[p], tet)
                if fragment < 0:
                    wrong += 1
                    continue
                out_crossed[fragment] |= border
                if winding != 0:
                    join(parent, below, fragment)
                winding += surface.pierce_jump[p]
                below = fragment
            if winding != 0:
                join(parent, below, fragment_count + 4 * tet + b)
        top = winding_at(
            high[0], high[1], high[2],
            surface.shape, surface.line_start, surface.line_r, surface.line_sum,
        )  # fmt: skip
        total = bottom
        for p in range(first, last):
            total += surface.pierce_jump[p]
        wrong += total != top
    return wrong


@njit
def direction_step(d, out_step):
    """The direction vector of a lattice edge: DIRECTIONS[d]."""
    for axis in range(3):
        out_step[axis] = 0
    if d < 3:
        out_step[d] = 1
    elif d == 3 or d == 4:
        out_step[1], out_step[2] = 1, 2 * (d - 3) - 1
    elif d == 5 or d == 6:
        out_step[0], out_step[2] = 1, 2 * (d - 5) - 1
    else:
        out_step[0], out_step[1] = 1, 2 * (d - 7) - 1


@njit
def join_along_free_edges(surface, parent, out_solid):
    """Link 2 on lattice edges that the surface does not pierce, and which corners of each tet are solid (S, 4)."""
    fragment_count = surface.fragment_tet.shape[0]
    cube = np.empty(3, np.int64)
    for s in range(surface.tets.shape[0]):
        k = cube_of(surface.tets[s], surface.shape, cube)
        parity = (cube[0] + cube[1] + cube[2]) & 1
        for c in range(4):
            i = cube[0] + TET_CORNERS[parity, k, c, 0]
            j = cube[1] + TET_CORNERS[parity, k, c, 1]
            l = cube[2] + TET_CORNERS[parity, k, c, 2]  # noqa: E741
            out_solid[s, c] = (
                winding_at(
                    i, j, l, surface.shape, surface.line_start, surface.line_r, surface.line_sum
                )
                != 0
            )
        for g in range(6):
            a, b, d = (
                TET_EDGES[parity, k, g, 0],
                TET_EDGES[parity, k, g, 1],
                TET_EDGES[parity, k, g, 2],
            )
            if not (out_solid[s, a] and out_solid[s, b]):
                continue
            i = cube[0] + TET_CORNERS[parity, k, a, 0]
            j = cube[1] + TET_CORNERS[parity, k, a, 1]
            l = cube[2] + TET_CORNERS[parity, k, a, 2]  # noqa: E741
            number = (l * (surface.shape[1] + 1) + j) * (surface.shape[0] + 1) + i
            if find_sorted(surface.pierced_edges, number * 9 + d) < 0:
                join(parent, fragment_count + 4 * s + a, fragment_count + 4 * s + b)


@njit
def face_plane(tet, m, shape, out_corners):
    """Form and integer level of a tet's face opposite corner m; its three corners go to out_corners (3, 3)."""
    cube = np.empty(3, np.int64)
    k = cube_of(tet, shape, cube)
    parity = (cube[0] + cube[1] + cube[2]) & 1
    row = 0
    for c in range(4):
        if c != m:
            for axis in range(3):
                out_corners[row, axis] = cube[axis] + TET_CORNERS[parity, k, c, axis]
            row += 1
    for f in range(7):
        levels = np.empty(3)
        for row in range(3):
            levels[row] = (
                FORMS[f, 0] * out_corners[row, 0]
                + FORMS[f, 1] * out_corners[row, 1]
                + FORMS[f, 2] * out_corners[row, 2]
            )
        if levels[0] == levels[1] and levels[1] == levels[2]:
            return f, int(levels[0])
    return -1, 0


@njit
def plane_axes(form):
    """In-plane coordinates (u, v) of a face and the step of w = the third one when u grows by one in the plane."""
    if form == 0:
        return 1, 2, 0, 0.0
    if form == 1:
        return 2, 0, 1, 0.0
    if form == 2:
        return 0, 1, 2, 0.0
    return 0, 1, 2, -1.0 if form == 3 or form == 5 else 1.0


@njit
def cut_by_plane(surface, face, form, level, out_points, out_edges):
    """Where a triangle's edges cross a lattice plane: positions and mesh edges; returns how many (0 or 2)."""
    n = 0
    for c in range(3):
        a, b = surface.faces[face, c], surface.faces[face, (c + 1) % 3]
        if (surface.floors[a, form] < level) == (surface.floors[b, form] < level):
            continue
        if a > b:
            a, b = b, a
        fa, fb = surface.forms[a, form], surface.forms[b, form]
        s = (level - fa) / (fb - fa)
        for axis in range(3):
            x = surface.points[a, axis]
            out_points[n, axis] = x + s * (surface.points[b, axis] - x)
        out_edges[n] = surface.face_edges[face, c]
        n += 1
    return n


@njit
def jump_along(surface, face, dx, dy, dz):
    """Change of the winding number when a triangle is passed in a direction: -1 out of it, +1 into it."""
    a, b, c = surface.faces[face, 0], surface.faces[face, 1], surface.faces[face, 2]
    p = surface.points
    e1x, e1y, e1z = p[b, 0] - p[a, 0], p[b, 1] - p[a, 1], p[b, 2] - p[a, 2]
    e2x, e2y, e2z = p[c, 0] - p[a, 0], p[c, 1] - p[a, 1], p[c, 2] - p[a, 2]
    n = dx * (e1y * e2z - e1z * e2y) + dy * (e1z * e2x - e1x * e2z) + dz * (e1x * e2y - e1y * e2x)
    return -1 if n > 0.0 else 1


@njit
def segment_hit(ends, au, av, v0):
    """The u at which a segment crosses the line v = v0, -inf if it does not; half-open, so chains agree."""
    va, vb = ends[0, av], ends[1, av]
    if (va > v0) == (vb > v0):
        return -np.inf
    return ends[0, au] + (v0 - va) / (vb - va) * (ends[1, au] - ends[0, au])


@njit
def face_ray(surface, s, m, u0, v0, members, crossed):
    """Follow a ray in face m of tet s from (u0, v0) along +u: the first node met, the winding number at the start.

    `members`: the tet's fragments. The node is a fragment, or a corner of the tet, in union-find numbering.
    """
    tet = surface.tets[s]
    corners = np.empty((3, 3), np.int64)
    form, level = face_plane(tet, m, surface.shape, corners)
    au, av, aw, slope = plane_axes(form)
    along = np.zeros(3)
    along[au], along[aw] = 1.0, slope
    # Leave the face: the farthest of its borders along the ray.
    u_exit, exit_a, exit_b = -np.inf, 0, 1
    for c in range(3):
        a, b = c, (c + 1) % 3
        va, vb = corners[a, av], corners[b, av]
        if (va > v0) != (vb > v0):
            u = corners[a, au] + (v0 - va) / (vb - va) * (corners[b, au] - corners[a, au])
            if u > u_exit:
                u_exit, exit_a, exit_b = u, a, b
    # Triangles on the way.
    ends = np.empty((2, 3))
    edges = np.empty(2, np.int64)
    total, nearest, first_hit = 0, np.inf, -1
    for fragment in members:
        if not crossed[fragment] & (1 << m):
            continue
        face = surface.fragment_face[fragment]
        if cut_by_plane(surface, face, form, level, ends, edges) < 2:
            continue
        u = segment_hit(ends, au, av, v0)
        if u > u0 and u < u_exit:
            total += jump_along(surface, face, along[0], along[1], along[2])
            if u < nearest:
                nearest, first_hit = u, fragment
    # The stretch of the border where the ray leaves.
    low, high = exit_a, exit_b
    d = edge_direction(corners[high] - corners[low])
    if d < 0:
        low, high = exit_b, exit_a
        d = edge_direction(corners[high] - corners[low])
    node = corners[low]
    axis = LINE_AXIS[d]
    vl, vh = corners[low, av], corners[high, av]
    r_exit = node[axis] + (v0 - vl) / (vh - vl) if vl != vh else float(node[axis])
    winding = winding_at(
        node[0],
        node[1],
        node[2],
        surface.shape,
        surface.line_start,
        surface.line_r,
        surface.line_sum,
    )
    end = surface.fragment_tet.shape[0] + 4 * s + corner_of(tet, node, surface.shape)
    number = (node[2] * (surface.shape[1] + 1) + node[1]) * (surface.shape[0] + 1) + node[0]
    g = find_sorted(surface.pierced_edges, number * 9 + d)
    if g >= 0:
        for p in range(surface.pierce_start[g], surface.pierce_start[g + 1]):
            if surface.pierce_r[p] < r_exit:
                winding += surface.pierce_jump[p]
                end = find_fragment(surface, surface.pierce_face[p], s)
    return (first_hit if first_hit >= 0 else end), winding - total


@njit
def edge_direction(step):
    """Number of the lattice direction equal to a step, -1 if it is the opposite of one."""
    want = np.empty(3, np.int64)
    for d in range(9):
        direction_step(d, want)
        if want[0] == step[0] and want[1] == step[1] and want[2] == step[2]:
            return d
    return -1


@njit
def join_face_loops(surface, s, members, crossed, parent):
    """Link 3 in tet s. Rays start where a line through the inside of a segment leaves the loop for the last time:
    through a vertex they would graze the flat sides that modelled objects are full of."""
    corners = np.empty((3, 3), np.int64)
    ends = np.empty((2, 3))
    edges = np.empty(2, np.int64)
    n = members.shape[0]
    keys, owner = np.empty(2 * n, np.int64), np.empty(2 * n, np.int64)
    for m in range(4):
        form, level = face_plane(surface.tets[s], m, surface.shape, corners)
        au, av, _, _ = plane_axes(form)
        # Curves on the face: its segments, joined where they share a mesh edge.
        curve = np.arange(n)
        is_open = np.zeros(n, np.bool_)
        height, level_v = np.full(n, -1.0), np.zeros(n)
        count = 0
        for a in range(n):
            is_open[a] = not crossed[members[a]] & (1 << m) or crossed[members[a]] & (16 << m)
            if not crossed[members[a]] & (1 << m):
                continue
            face = surface.fragment_face[members[a]]
            if cut_by_plane(surface, face, form, level, ends, edges) < 2:
                is_open[a] = True
                continue
            for e in range(2):
                keys[count], owner[count] = edges[e], a
                count += 1
            height[a] = abs(ends[1, av] - ends[0, av])
            level_v[a] = ends[0, av] + GENERIC * (ends[1, av] - ends[0, av])
        sort_with(keys, owner, count)
        for p in range(1, count):
            if keys[p] == keys[p - 1]:
                join(curve, owner[p], owner[p - 1])
        # Per loop: whether it is open, and the height of its steepest segment.
        for a in range(n):
            root = find_root(curve, a)
            is_open[root] |= is_open[a]
            if height[a] > height[root]:
                height[root], level_v[root] = height[a], level_v[a]
        last_u = np.full(n, -np.inf)
        for a in range(n):
            root = find_root(curve, a)
            if not is_open[root]:
                face = surface.fragment_face[members[a]]
                cut_by_plane(surface, face, form, level, ends, edges)
                last_u[root] = max(last_u[root], segment_hit(ends, au, av, level_v[root]))
        for a in range(n):
            if find_root(curve, a) == a and not is_open[a] and height[a] > 0.0:
                node, winding = face_ray(surface, s, m, last_u[a], level_v[a], members, crossed)
                if winding != 0 and node >= 0:
                    join(parent, node, members[a])


@njit
def join_shells(surface, s, members, crossed, parent):
    """Link 4 in tet s, with rays that start as those of link 3 do."""
    n = members.shape[0]
    roots = np.empty(n, np.int64)
    for a in range(n):
        roots[a] = find_root(parent, members[a])
    by_root, order = roots.copy(), np.arange(n)
    sort_with(by_root, order, n)
    p = surface.points
    first = 0
    while first < n:
        last = first
        is_shell = True
        largest, y, z = -1.0, 0.0, 0.0
        while last < n and by_root[last] == by_root[first]:
            fragment = members[order[last]]
            is_shell &= crossed[fragment] == 0
            a, b, c = surface.faces[surface.fragment_face[fragment]]
            area = abs(
                (p[b, 1] - p[a, 1]) * (p[c, 2] - p[a, 2])
                - (p[b, 2] - p[a, 2]) * (p[c, 1] - p[a, 1])
            )
            if area > largest:
                largest = area
                y = p[a, 1] + 0.5 * GENERIC * (p[b, 1] + p[c, 1] - 2.0 * p[a, 1])
                z = p[a, 2] + 0.5 * GENERIC * (p[b, 2] + p[c, 2] - 2.0 * p[a, 2])
            last += 1
        if is_shell and largest > 0.0:
            node, winding = tet_ray(surface, s, y, z, by_root[first], members, roots, crossed)
            if winding != 0 and node >= 0:
                join(parent, node, by_root[first])
        first = last


@njit
def tet_ray(surface, s, y, z, own_root, members, roots, crossed):
    """Follow the x-line at (y, z) from where it last leaves a shell in tet s: the first node met, the winding there."""
    start = -np.inf
    for b in range(members.shape[0]):
        if roots[b] == own_root:
            start = max(start, line_hit(surface, surface.fragment_face[members[b]], y, z))
    at = np.array([start, y, z])
    x_exit, m_exit = np.inf, 0
    corners = np.empty((3, 3), np.int64)
    for m in range(4):
        form, level = face_plane(surface.tets[s], m, surface.shape, corners)
        if FORMS[form, 0] == 0.0:
            continue
        here = FORMS[form, 0] * at[0] + FORMS[form, 1] * at[1] + FORMS[form, 2] * at[2]
        x = start + (level - here) / FORMS[form, 0]
        if x > start and x < x_exit:
            x_exit, m_exit = x, m
    total, nearest, first_hit = 0, np.inf, -1
    for b in range(members.shape[0]):
        if roots[b] == own_root:
            continue
        face = surface.fragment_face[members[b]]
        x = line_hit(surface, face, y, z)
        if x > start and x < x_exit:
            total += jump_along(surface, face, 1.0, 0.0, 0.0)
            if x < nearest:
                nearest, first_hit = x, members[b]
    form, _ = face_plane(surface.tets[s], m_exit, surface.shape, corners)
    au, av, _, _ = plane_axes(form)
    at[0] = x_exit
    node, winding = face_ray(surface, s, m_exit, at[au], at[av], members, crossed)
    return (first_hit if first_hit >= 0 else node), winding - total


@njit
def line_hit(surface, face, y, z):
    """The x at which the x-line through (y, z) meets a triangle, -inf if it does not."""
    p = surface.points
    a, b, c = surface.faces[face, 0], surface.faces[face, 1], surface.faces[face, 2]
    w0 = (p[b, 1] - y) * (p[c, 2] - z) - (p[b, 2] - z) * (p[c, 1] - y)
    w1 = (p[c, 1] - y) * (p[a, 2] - z) - (p[c, 2] - z) * (p[a, 1] - y)
    w2 = (p[a, 1] - y) * (p[b, 2] - z) - (p[a, 2] - z) * (p[b, 1] - y)
    if not ((w0 >= 0 and w1 >= 0 and w2 >= 0) or (w0 <= 0 and w1 <= 0 and w2 <= 0)):
        return -np.inf
    total = w0 + w1 + w2
    if total == 0.0:
        return -np.inf
    return (w0 * p[a, 0] + w1 * p[b, 0] + w2 * p[c, 0]) / total


@njit
def segment_hits_triangle(p, a, b, faces, face, out_point):
    """Whether segment a-b crosses a triangle properly; the point goes to out_point."""
    u, v, w = faces[face, 0], faces[face, 1], faces[face, 2]
    da, db = volume6(p, u, v, w, a), volume6(p, u, v, w, b)
    if (da > 0) == (db > 0) or da == db:
        return False
    s0, s1, s2 = volume6(p, a, b, u, v), volume6(p, a, b, v, w), volume6(p, a, b, w, u)
    if not ((s0 > 0 and s1 > 0 and s2 > 0) or (s0 < 0 and s1 < 0 and s2 < 0)):
        return False
    s = da / (da - db)
    for axis in range(3):
        out_point[axis] = p[a, axis] + s * (p[b, axis] - p[a, axis])
    return True


@njit
def volume6(p, a, b, c, d):
    """Six times the signed volume of four points given by index."""
    x1, y1, z1 = p[b, 0] - p[a, 0], p[b, 1] - p[a, 1], p[b, 2] - p[a, 2]
    x2, y2, z2 = p[c, 0] - p[a, 0], p[c, 1] - p[a, 1], p[c, 2] - p[a, 2]
    x3, y3, z3 = p[d, 0] - p[a, 0], p[d, 1] - p[a, 1], p[d, 2] - p[a, 2]
    return x1 * (y2 * z3 - z2 * y3) - y1 * (x2 * z3 - z2 * x3) + z1 * (x2 * y3 - y2 * x3)


@njit
def cross_inside(surface, face, other, tet):
    """Whether two triangles cross along a segment that visits a tet (a key)."""
    p, faces = surface.points, surface.faces
    for c in range(3):
        for d in range(3):
            if faces[face, c] == faces[other, d]:
                return False
    for axis in range(3):
        a, b, c = faces[face, 0], faces[face, 1], faces[face, 2]
        low, high = min(p[a, axis], p[b, axis], p[c, axis]), max(p[a, axis], p[b, axis], p[c, axis])
        a, b, c = faces[other, 0], faces[other, 1], faces[other, 2]
        if max(p[a, axis], p[b, axis], p[c, axis]) < low:
            return False
        if min(p[a, axis], p[b, axis], p[c, axis]) > high:
            return False
    ends = np.empty((6, 3))
    n = 0
    for c in range(3):
        if segment_hits_triangle(
            p, faces[face, c], faces[face, (c + 1) % 3], faces, other, ends[n]
        ):
            n += 1
        if segment_hits_triangle(
            p, faces[other, c], faces[other, (c + 1) % 3], faces, face, ends[n]
        ):
            n += 1
    if n < 2:
        return False
    forms = np.empty((2, 7))
    floors = np.empty((2, 7), np.int64)
    steps = 2
    for m in range(7):
        for e in range(2):
            at = ends[e * (n - 1)]
            forms[e, m] = FORMS[m, 0] * at[0] + FORMS[m, 1] * at[1] + FORMS[m, 2] * at[2]
            floors[e, m] = int(np.floor(forms[e, m]))
        steps += abs(floors[0, m] - floors[1, m])
    walked = np.empty(steps, np.int64)
    count = walk(forms[0], floors[0], forms[1], floors[1], surface.shape, walked)
    for s in range(count):
        if walked[s] == tet:
            return True
    return False


@njit
def join_crossings(surface, s, members, parent):
    """Link 5 in tet s: triangles of different pieces whose x-ranges overlap, swept in order of x."""
    n = members.shape[0]
    low, order = np.empty(n), np.arange(n)
    high = np.empty(n)
    p = surface.points
    for a in range(n):
        face = surface.fragment_face[members[a]]
        u, v, w = surface.faces[face, 0], surface.faces[face, 1], surface.faces[face, 2]
        low[a] = min(p[u, 0], p[v, 0], p[w, 0])
        high[a] = max(p[u, 0], p[v, 0], p[w, 0])
    sort_with(low, order, n)
    for a in range(n):
        fragment = members[order[a]]
        face = surface.fragment_face[fragment]
        b = a + 1
        while b < n and low[b] <= high[order[a]]:
            other = members[order[b]]
            if find_root(parent, fragment) != find_root(parent, other):
                if cross_inside(surface, face, surface.fragment_face[other], surface.tets[s]):
                    join(parent, fragment, other)
            b += 1


@njit
def piece_count(s, members, solid, fragment_count, parent, out_roots):
    """How many pieces tet s has so far; their roots, in order of first appearance, go to out_roots."""
    n = 0
    for a in range(members.shape[0] + 4):
        if a < members.shape[0]:
            root = find_root(parent, members[a])
        elif solid[s, a - members.shape[0]]:
            root = find_root(parent, fragment_count + 4 * s + a - members.shape[0])
        else:
            continue
        is_new = True
        for b in range(n):
            is_new &= out_roots[b] != root
        if is_new:
            out_roots[n] = root
            n += 1
    return n


@njit
def join_holes_and_crossings(surface, member_start, members, crossed, solid, parent):
    """Links 3-5 in the tets that still have several pieces; returns how many those were."""
    many = 0
    fragment_count = surface.fragment_tet.shape[0]
    for s in range(surface.tets.shape[0]):
        own = members[member_start[s] : member_start[s + 1]]
        roots = np.empty(own.shape[0] + 4, np.int64)
        if piece_count(s, own, solid, fragment_count, parent, roots) > 1:
            many += 1
            join_face_loops(surface, s, own, crossed, parent)
            join_shells(surface, s, own, crossed, parent)
            join_crossings(surface, s, own, parent)
    return many


@njit
def number_pieces(
    surface, member_start, members, solid, parent, out_piece, out_corner_piece, out_count
):
    """Piece of every fragment and of every solid corner (-1 for the others) in each tet, and the pieces per tet."""
    fragment_count = surface.fragment_tet.shape[0]
    for s in range(surface.tets.shape[0]):
        own = members[member_start[s] : member_start[s + 1]]
        roots = np.empty(own.shape[0] + 4, np.int64)
        n = piece_count(s, own, solid, fragment_count, parent, roots)
        out_count[s] = n
        for a in range(own.shape[0]):
            root = find_root(parent, own[a])
            for b in range(n):
                if roots[b] == root:
                    out_piece[own[a]] = b
        for c in range(4):
            out_corner_piece[s, c] = -1
            if solid[s, c]:
                root = find_root(parent, fragment_count + 4 * s + c)
                for b in range(n):
                    if roots[b] == root:
                        out_corner_piece[s, c] = b


@njit
def join_corners(parent, a, b, m, parity, k):
    """Merge the three corners of face m of element a with their partners in element b."""
    for c in range(4):
        if c != m:
            join(parent, 4 * a + c, 4 * b + FACE_MATCH[parity, k, m, c])


@njit
def glue_fragments(surface, fragment_element, parent, out_pairs):
    """Glue elements through every face that a triangle of both crosses.

    Returns the number of glued pairs, repeats included; out_pairs (k, 3) takes (element, element, face of the first).
    """
    found = 0
    walked = np.empty(longest_walk(surface), np.int64)
    for e in range(surface.edges.shape[0]):
        a, b = surface.edges[e, 0], surface.edges[e, 1]
        if surface.vertex_tet[a] == surface.vertex_tet[b]:
            continue
        count = walk(
            surface.forms[a], surface.floors[a], surface.forms[b], surface.floors[b],
            surface.shape, walked,
        )  # fmt: skip
        for s in range(count - 1):
            for f in range(surface.edge_face_start[e], surface.edge_face_start[e + 1]):
                found += glue_fragment(
                    surface, surface.edge_faces[f], walked[s], walked[s + 1],
                    fragment_element, parent, out_pairs, found,
                )  # fmt: skip
    for g in range(surface.pierced_edges.shape[0]):
        around = ring_tets(surface.pierced_edges[g], surface.shape, walked)
        for p in range(surface.pierce_start[g], surface.pierce_start[g + 1]):
            for c in range(around):
                found += glue_fragment(
                    surface, surface.pierce_face[p], walked[c], walked[(c + 1) % around],
                    fragment_element, parent, out_pairs, found,
                )  # fmt: skip
    return found


@njit
def glue_fragment(surface, face, tet, other, fragment_element, parent, out_pairs, row):
    """Glue the elements that hold a triangle on both sides of the face between two tets (keys); 1 if there are two."""
    m = face_between(tet, other, surface.shape)
    a = find_fragment(surface, face, find_sorted(surface.tets, tet))
    b = find_fragment(surface, face, find_sorted(surface.tets, other))
    if m < 0 or a < 0 or b < 0:
        return 0
    cube = np.empty(3, np.int64)
    k = cube_of(tet, surface.shape, cube)
    parity = (cube[0] + cube[1] + cube[2]) & 1
    a, b = fragment_element[a], fragment_element[b]
    join_corners(parent, a, b, m, parity, k)
    if row < out_pairs.shape[0]:
        out_pairs[row, 0], out_pairs[row, 1], out_pairs[row, 2] = a, b, m
    return 1


@njit
def glue_corners(shape, tets, corner_element, parent, out_pairs):
    """Glue elements through every face with a solid corner, as glue_fragments does.

    tets: sorted keys; corner_element (t, 4): the element whose part holds each corner, -1 if it is not solid.
    """
    found = 0
    cube = np.empty(3, np.int64)
    for t in range(tets.shape[0]):
        k = cube_of(tets[t], shape, cube)
        parity = (cube[0] + cube[1] + cube[2]) & 1
        for m in range(4):
            i = cube[0] + NEIGHBOUR[parity, k, m, 0]
            j = cube[1] + NEIGHBOUR[parity, k, m, 1]
            l = cube[2] + NEIGHBOUR[parity, k, m, 2]  # noqa: E741
            if i < 0 or j < 0 or l < 0 or i >= shape[0] or j >= shape[1] or l >= shape[2]:
                continue
            other_key = ((l * shape[1] + j) * shape[0] + i) * 5 + NEIGHBOUR[parity, k, m, 3]
            if other_key < tets[t]:
                continue
            other = -2
            for c in range(4):
                a = corner_element[t, c]
                if c == m or a < 0:
                    continue
                if other == -2:
                    other = find_sorted(tets, other_key)
                if other < 0:
                    break
                b = corner_element[other, FACE_MATCH[parity, k, m, c]]
                if b >= 0:
                    join_corners(parent, a, b, m, parity, k)
                    if found < out_pairs.shape[0]:
                        out_pairs[found, 0], out_pairs[found, 1], out_pairs[found, 2] = a, b, m
                    found += 1
    return found


@njit
def number_nodes(parent, tets, element_tet, shape, out_node, out_position):
    """Number the merged corners in order of first appearance: out_node (e, 4), out_position (n, 3); returns n."""
    number = np.full(parent.shape[0], -1, np.int64)
    cube = np.empty(3, np.int64)
    count = 0
    for e in range(element_tet.shape[0]):
        k = cube_of(tets[element_tet[e]], shape, cube)
        parity = (cube[0] + cube[1] + cube[2]) & 1
        for c in range(4):
            root = find_root(parent, 4 * e + c)
            if number[root] < 0:
                number[root] = count
                for axis in range(3):
                    out_position[count, axis] = cube[axis] + TET_CORNERS[parity, k, c, axis]
                count += 1
            out_node[e, c] = number[root]
    return count


@njit
def has_solid_corner(tets, shape, line_start, line_r, line_sum, out_solid):
    """Whether the first corner of each tet (keys) lies in the solid; enough for tets free of surface."""
    cube = np.empty(3, np.int64)
    for t in range(tets.shape[0]):
        k = cube_of(tets[t], shape, cube)
        parity = (cube[0] + cube[1] + cube[2]) & 1
        i = cube[0] + TET_CORNERS[parity, k, 0, 0]
        j = cube[1] + TET_CORNERS[parity, k, 0, 1]
        l = cube[2] + TET_CORNERS[parity, k, 0, 2]  # noqa: E741
        out_solid[t] = winding_at(i, j, l, shape, line_start, line_r, line_sum) != 0


@njit
def find_vertex_elements(surface, vertex_face, fragment_element, out_element):
    """The element of each vertex before fitting: that of one of its triangles in the vertex's tet."""
    for v in range(surface.points.shape[0]):
        fragment = find_fragment(surface, vertex_face[v], surface.vertex_tet[v])
        out_element[v] = fragment_element[fragment]


@njit
def join_cubes(pairs, cube, parent):
    """Merge glued elements of one cube."""
    for p in range(pairs.shape[0]):
        a, b = pairs[p, 0], pairs[p, 1]
        if cube[a] == cube[b]:
            join(parent, a, b)


@njit
def join_hex_corners(hex_of, cube, pairs, shape, corners, parent):
    """Merge the four corners of the shared cube face of every glued pair in neighbouring cubes."""
    for p in range(pairs.shape[0]):
        a, b = pairs[p, 0], pairs[p, 1]
        step = cube[b] - cube[a]
        if step == 0:
            continue
        if step < 0:
            a, b, step = b, a, -step
        axis = 0 if step == 1 else (1 if step == shape[0] else 2)
        for c in range(8):
            if corners[c, axis] == 1:
                for d in range(8):
                    same = corners[d, axis] == 0
                    for other in range(3):
                        same &= other == axis or corners[c, other] == corners[d, other]
                    if same:
                        join(parent, 8 * hex_of[a] + c, 8 * hex_of[b] + d)
