"""Rays through the solid inside one tet: along its faces, along x, and segments against triangles.

Rays pass the inside of segments and triangles at no simple fraction: through a vertex they would graze the flat sides
that modelled objects are full of.
"""

import numpy as np

from jellycage.toolkit.cage.lattice import FORMS, LINE_AXIS
from jellycage.toolkit.cage.lattice_surface_kernels import (
    corner_of,
    cut_by_plane,
    edge_direction,
    face_plane,
    find_fragment,
    plane_axes,
)
from jellycage.toolkit.cage.voxels_kernels import walk, winding_at
from jellycage.toolkit.compile_kernels import njit_called
from jellycage.toolkit.geometry_kernels import tet_volume6
from jellycage.toolkit.union_kernels import find_sorted

GENERIC = 0.41421356
"""Where rays pass a segment or triangle: at no simple fraction, so that they do not meet other corners."""


@njit_called
def jump_along(surface, face, dx, dy, dz):
    """Change of the winding number when a triangle is passed in a direction: -1 out of it, +1 into it."""
    a, b, c = surface.faces[face, 0], surface.faces[face, 1], surface.faces[face, 2]
    p = surface.points
    e1x, e1y, e1z = p[b, 0] - p[a, 0], p[b, 1] - p[a, 1], p[b, 2] - p[a, 2]
    e2x, e2y, e2z = p[c, 0] - p[a, 0], p[c, 1] - p[a, 1], p[c, 2] - p[a, 2]
    n = dx * (e1y * e2z - e1z * e2y) + dy * (e1z * e2x - e1x * e2z) + dz * (e1x * e2y - e1y * e2x)
    return -1 if n > 0.0 else 1


@njit_called
def segment_hit(ends, au, av, v0):
    """The u at which a segment crosses the line v = v0, -inf if it does not; half-open, so chains agree."""
    va, vb = ends[0, av], ends[1, av]
    if (va > v0) == (vb > v0):
        return -np.inf
    return ends[0, au] + (v0 - va) / (vb - va) * (ends[1, au] - ends[0, au])


@njit_called
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
    d = edge_direction(corners[low], corners[high])
    if d < 0:
        low, high = exit_b, exit_a
        d = edge_direction(corners[low], corners[high])
    node = corners[low]
    axis = LINE_AXIS[d]
    vl, vh = corners[low, av], corners[high, av]
    r_exit = node[axis] + (v0 - vl) / (vh - vl) if vl != vh else float(node[axis])
    line_start, line_r, line_sum = surface.line_start, surface.line_r, surface.line_sum
    winding = winding_at(node[0], node[1], node[2], surface.shape, line_start, line_r, line_sum)
    end = surface.fragment_tet.shape[0] + 4 * s + corner_of(tet, node, surface.shape)
    number = (node[2] * (surface.shape[1] + 1) + node[1]) * (surface.shape[0] + 1) + node[0]
    g = find_sorted(surface.pierced_edges, number * 9 + d)
    if g >= 0:
        for p in range(surface.pierce_start[g], surface.pierce_start[g + 1]):
            if surface.pierce_r[p] < r_exit:
                winding += surface.pierce_jump[p]
                end = find_fragment(
                    surface.fragment_start, surface.fragment_tet, surface.pierce_face[p], s
                )
    return (first_hit if first_hit >= 0 else end), winding - total


@njit_called
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


@njit_called
def tet_ray(surface, s, y, z, own_root, members, roots, crossed):
    """Follow the x-line at (y, z) from where it last leaves a shell in tet s: the first node met, the winding there."""
    start = -np.inf
    for b in range(members.shape[0]):
        if roots[b] == own_root:
            start = max(start, line_hit(surface, surface.fragment_face[members[b]], y, z))
    at = np.empty(3)
    at[0], at[1], at[2] = start, y, z
    # Where the line leaves the tet.
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
    # Triangles on the way.
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
    # From there on in the face that it leaves through.
    form, _ = face_plane(surface.tets[s], m_exit, surface.shape, corners)
    au, av, _, _ = plane_axes(form)
    at[0] = x_exit
    node, winding = face_ray(surface, s, m_exit, at[au], at[av], members, crossed)
    return (first_hit if first_hit >= 0 else node), winding - total


@njit_called
def volume6(p, a, b, c, d):
    """Six times the signed volume of four points given by index."""
    x1, y1, z1 = p[b, 0] - p[a, 0], p[b, 1] - p[a, 1], p[b, 2] - p[a, 2]
    x2, y2, z2 = p[c, 0] - p[a, 0], p[c, 1] - p[a, 1], p[c, 2] - p[a, 2]
    x3, y3, z3 = p[d, 0] - p[a, 0], p[d, 1] - p[a, 1], p[d, 2] - p[a, 2]
    return x1 * (y2 * z3 - z2 * y3) - y1 * (x2 * z3 - z2 * x3) + z1 * (x2 * y3 - y2 * x3)


@njit_called
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
    return is_in_triangle(out_point, p[u], p[v], p[w])


@njit_called
def is_in_triangle(point, a, b, c):
    """Whether a point of a triangle's plane lies in the triangle, but for rounding.

    Between coplanar triangles the volumes above are rounding alone, and agree by chance.
    """
    best, largest = 0, -1.0
    for axis in range(3):
        i, j = (axis + 1) % 3, (axis + 2) % 3
        area = abs((b[i] - a[i]) * (c[j] - a[j]) - (b[j] - a[j]) * (c[i] - a[i]))
        if area > largest:
            largest, best = area, axis
    i, j = (best + 1) % 3, (best + 2) % 3
    total = (b[i] - a[i]) * (c[j] - a[j]) - (b[j] - a[j]) * (c[i] - a[i])
    v = ((point[i] - a[i]) * (c[j] - a[j]) - (point[j] - a[j]) * (c[i] - a[i])) / total
    w = ((b[i] - a[i]) * (point[j] - a[j]) - (b[j] - a[j]) * (point[i] - a[i])) / total
    return v >= -1e-9 and w >= -1e-9 and v + w <= 1.0 + 1e-9


@njit_called
def is_crossed(a, b, u, v, w):
    """Whether segment a-b passes through triangle uvw, all given as points."""
    if (tet_volume6(u, v, w, a) > 0.0) == (tet_volume6(u, v, w, b) > 0.0):
        return False
    first = tet_volume6(a, b, u, v) > 0.0
    return first == (tet_volume6(a, b, v, w) > 0.0) and first == (tet_volume6(a, b, w, u) > 0.0)


@njit_called
def cross_inside(surface, face, other, tet):
    """Whether two triangles cross along a segment that visits a tet (a key)."""
    p, faces = surface.points, surface.faces
    for c in range(3):
        for d in range(3):
            if faces[face, c] == faces[other, d]:
                return False
    # The segment ends where an edge of one triangle passes through the other.
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
    # The tets that it visits.
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
