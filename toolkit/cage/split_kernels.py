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

import numpy as np

from jellycage.toolkit.cage.lattice import DIRECTIONS, TET_CORNERS, TET_EDGES
from jellycage.toolkit.cage.lattice_surface_kernels import (
    corner_of,
    cube_of,
    cut_by_plane,
    face_between,
    face_plane,
    find_fragment,
    longest_walk,
    plane_axes,
    refer_surface,
)
from jellycage.toolkit.cage.split_rays_kernels import (
    GENERIC,
    cross_inside,
    face_ray,
    segment_hit,
    tet_ray,
)
from jellycage.toolkit.cage.voxels_kernels import edge_parts, ring_tets, walk, winding_at
from jellycage.toolkit.compile_kernels import njit, njit_called
from jellycage.toolkit.geometry_kernels import sort_with
from jellycage.toolkit.union_kernels import find_root, find_sorted, join


@njit
def join_across_edges(surface, parent, out_crossed):
    """Link 1; also marks the tet faces that each fragment crosses (bits 0-3). Returns the contradictions met."""
    wrong = 0
    forms, floors = surface.forms, surface.floors
    walked = np.empty(longest_walk(surface.edges, surface.floors, surface.vertex_tet), np.int64)
    for e in range(surface.edges.shape[0]):
        a, b = surface.edges[e, 0], surface.edges[e, 1]
        # An edge in one tet joins all its triangles there.
        if surface.vertex_tet[a] == surface.vertex_tet[b]:
            first = -1
            for f in range(surface.edge_face_start[e], surface.edge_face_start[e + 1]):
                fragment = find_fragment(
                    surface.fragment_start,
                    surface.fragment_tet,
                    surface.edge_faces[f],
                    surface.vertex_tet[a],
                )
                if first >= 0:
                    join(parent, first, fragment)
                first = fragment
            continue
        count = walk(forms[a], floors[a], forms[b], floors[b], surface.shape, walked)
        # Another one is followed from tet to tet, and marks the faces between them.
        first_face, last_face = surface.edge_face_start[e], surface.edge_face_start[e + 1]
        before = -1
        for s in range(count):
            tet = find_sorted(surface.tets, walked[s])
            enter = face_between(walked[s], walked[s - 1], surface.shape) if s > 0 else -1
            leave = face_between(walked[s], walked[s + 1], surface.shape) if s + 1 < count else -1
            wrong += (s > 0 and enter < 0) or (s + 1 < count and leave < 0)
            before = -1
            for f in range(first_face, last_face):
                fragment = find_fragment(
                    surface.fragment_start, surface.fragment_tet, surface.edge_faces[f], tet
                )
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
    fragment_count, shape = surface.fragment_tet.shape[0], surface.shape
    line_start, line_r, line_sum = surface.line_start, surface.line_r, surface.line_sum
    ring = np.empty(6, np.int64)
    low, high = np.empty(3, np.int64), np.empty(3, np.int64)
    for g in range(surface.pierced_edges.shape[0]):
        edge = surface.pierced_edges[g]
        d = edge_parts(edge, shape, low)
        for axis in range(3):
            high[axis] = low[axis] + DIRECTIONS[d, axis]
        bottom = winding_at(low[0], low[1], low[2], shape, line_start, line_r, line_sum)
        around = ring_tets(edge, shape, ring)
        first, last = surface.pierce_start[g], surface.pierce_start[g + 1]
        for c in range(around):
            tet = find_sorted(surface.tets, ring[c])
            a, b = corner_of(ring[c], low, shape), corner_of(ring[c], high, shape)
            border = 0
            for m in range(4):
                if m != a and m != b:
                    border |= (1 << m) | (16 << m)
            # Up the edge: what lies at both ends of a solid stretch is joined.
            winding = bottom
            below = fragment_count + 4 * tet + a
            for p in range(first, last):
                fragment = find_fragment(
                    surface.fragment_start, surface.fragment_tet, surface.pierce_face[p], tet
                )
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
        # All jumps together must lead from the winding number of the lower end to that of the upper.
        top = winding_at(high[0], high[1], high[2], shape, line_start, line_r, line_sum)
        total = bottom
        for p in range(first, last):
            total += surface.pierce_jump[p]
        wrong += total != top
    return wrong


@njit
def join_along_free_edges(surface, parent, out_solid):
    """Link 2 on lattice edges that the surface does not pierce, and which corners of each tet are solid (S, 4)."""
    fragment_count, shape = surface.fragment_tet.shape[0], surface.shape
    line_start, line_r, line_sum = surface.line_start, surface.line_r, surface.line_sum
    cube = np.empty(3, np.int64)
    for s in range(surface.tets.shape[0]):
        k = cube_of(surface.tets[s], shape, cube)
        parity = (cube[0] + cube[1] + cube[2]) & 1
        for c in range(4):
            i = cube[0] + TET_CORNERS[parity, k, c, 0]
            j = cube[1] + TET_CORNERS[parity, k, c, 1]
            l = cube[2] + TET_CORNERS[parity, k, c, 2]  # noqa: E741
            out_solid[s, c] = winding_at(i, j, l, shape, line_start, line_r, line_sum) != 0
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
            number = (l * (shape[1] + 1) + j) * (shape[0] + 1) + i
            if find_sorted(surface.pierced_edges, number * 9 + d) < 0:
                join(parent, fragment_count + 4 * s + a, fragment_count + 4 * s + b)


@njit_called
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
        # Where the line at that height leaves each closed loop for the last time.
        last_u = np.full(n, -np.inf)
        for a in range(n):
            root = find_root(curve, a)
            if not is_open[root]:
                face = surface.fragment_face[members[a]]
                cut_by_plane(surface, face, form, level, ends, edges)
                last_u[root] = max(last_u[root], segment_hit(ends, au, av, level_v[root]))
        # A ray from each closed one: what it meets first through solid belongs to the same piece.
        for a in range(n):
            if find_root(curve, a) == a and not is_open[a] and height[a] > 0.0:
                node, winding = face_ray(surface, s, m, last_u[a], level_v[a], members, crossed)
                if winding != 0 and node >= 0:
                    join(parent, node, members[a])


@njit_called
def join_shells(surface, s, members, crossed, parent):
    """Link 4 in tet s, with rays that start as those of link 3 do."""
    n = members.shape[0]
    roots = np.empty(n, np.int64)
    for a in range(n):
        roots[a] = find_root(parent, members[a])
    by_root, order = roots.copy(), np.arange(n)
    sort_with(by_root, order, n)
    p, faces = surface.points, surface.faces
    first = 0
    while first < n:
        last = first
        is_shell = True
        largest, y, z = -1.0, 0.0, 0.0
        while last < n and by_root[last] == by_root[first]:
            fragment = members[order[last]]
            is_shell &= crossed[fragment] == 0
            face = surface.fragment_face[fragment]
            a, b, c = faces[face, 0], faces[face, 1], faces[face, 2]
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


@njit_called
def join_crossings(surface, s, members, parent):
    """Link 5 in tet s: triangles of different pieces whose boxes overlap, swept in order of x."""
    n = members.shape[0]
    first_x, order = np.empty(n), np.arange(n)
    low, high = np.empty((n, 3)), np.empty((n, 3))
    roots = np.empty(n, np.int64)
    p, faces = surface.points, surface.faces
    for a in range(n):
        roots[a] = find_root(parent, members[a])
        face = surface.fragment_face[members[a]]
        u, v, w = faces[face, 0], faces[face, 1], faces[face, 2]
        for axis in range(3):
            low[a, axis] = min(p[u, axis], p[v, axis], p[w, axis])
            high[a, axis] = max(p[u, axis], p[v, axis], p[w, axis])
        first_x[a] = low[a, 0]
    sort_with(first_x, order, n)
    for i in range(n):
        a = order[i]
        j = i + 1
        while j < n and first_x[j] <= high[a, 0]:
            b = order[j]
            j += 1
            if (
                roots[a] == roots[b]
                or (low[a, 1] > high[b, 1] or low[b, 1] > high[a, 1])
                or (low[a, 2] > high[b, 2] or low[b, 2] > high[a, 2])
                or find_root(parent, members[a]) == find_root(parent, members[b])
            ):
                continue
            face, other = surface.fragment_face[members[a]], surface.fragment_face[members[b]]
            if cross_inside(surface, face, other, surface.tets[s]):
                join(parent, members[a], members[b])


@njit_called
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
    reference = refer_surface(*surface)
    fragment_count = surface.fragment_tet.shape[0]
    for s in range(surface.tets.shape[0]):
        own = members[member_start[s] : member_start[s + 1]]
        roots = np.empty(own.shape[0] + 4, np.int64)
        if piece_count(s, own, solid, fragment_count, parent, roots) > 1:
            many += 1
            join_face_loops(reference, s, own, crossed, parent)
            join_shells(reference, s, own, crossed, parent)
            join_crossings(reference, s, own, parent)
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
