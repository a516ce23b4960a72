"""Where every surface vertex and triangle lies in the cage, found by walking through shared faces only."""

import numpy as np

from jellycage.toolkit.cage.copies_kernels import choose_copy, with_new
from jellycage.toolkit.compile_kernels import njit, njit_called, njit_inside
from jellycage.toolkit.geometry_kernels import clip_to_tet, clipping_room, tet_planes, tet_volume6

ROUNDING = 1e-10
"""Barycentric weights above minus this count as zero."""
SHORT = 1e-9
"""Polygon sides shorter than this, in cells, lead nowhere."""


@njit_called
def barycentric(nodes, tet, point, out_weights):
    """Barycentric weights of a point in a tet (four node indices)."""
    a, b, c, d = nodes[tet[0]], nodes[tet[1]], nodes[tet[2]], nodes[tet[3]]
    total = tet_volume6(a, b, c, d)
    out_weights[0] = tet_volume6(point, b, c, d) / total
    out_weights[1] = tet_volume6(a, point, c, d) / total
    out_weights[2] = tet_volume6(a, b, point, d) / total
    out_weights[3] = 1.0 - out_weights[0] - out_weights[1] - out_weights[2]


@njit_inside
def is_inside(nodes, tet, point, out_weights):
    """Whether a tet holds a point, but for rounding; its weights go to out_weights."""
    barycentric(nodes, tet, point, out_weights)
    smallest = min(out_weights[0], out_weights[1], out_weights[2], out_weights[3])
    return smallest >= -ROUNDING


@njit_inside
def find_around(point, face, first, nodes, tets, copies, weights, queue):
    """The element that holds a point, searched breadth first through shared faces; -1 if none of the nearest does."""
    queue[0] = first
    count, done = 1, 0
    while done < count:
        e = queue[done]
        done += 1
        if is_inside(nodes, tets[e], point, weights):
            return e
        for m in range(4):
            onward = choose_copy(e, m, face, copies)
            is_new = onward >= 0 and count < queue.shape[0]
            for q in range(count):
                is_new &= queue[q] != onward
            if is_new:
                queue[count] = onward
                count += 1
    return -1


@njit
def locate_vertices(points, vertex_face, nodes, tets, copies, out_element, out_weights):
    """Element and weights of every vertex, searched from out_element's first guess; returns how many were lost (-1).

    vertex_face: one triangle at each vertex, which tells copies apart.
    """
    lost = 0
    weights = np.empty(4)
    queue = np.empty(256, np.int64)
    for v in range(points.shape[0]):
        first = out_element[v]
        e = find_around(points[v], vertex_face[v], first, nodes, tets, copies, weights, queue)
        out_element[v] = e
        if e < 0:
            lost += 1
            continue
        total = 0.0
        for c in range(4):
            weights[c] = max(weights[c], 0.0)
            total += weights[c]
        for c in range(4):
            out_weights[v, c] = weights[c] / total
    return lost


@njit_called
def side_in(e, face, copies, home_side):
    """The void's side of a triangle in an element: as in that home, or in its first if it was not there before."""
    home_start, homes = copies.home_start, copies.homes
    for h in range(home_start[face], home_start[face + 1]):
        if homes[h] == e:
            return home_side[h]
    return home_side[home_start[face]]


@njit
def locate_faces(
    points,
    faces,
    vertex_element,
    nodes,
    tets,
    copies,
    home_side,
    out_face,
    out_element,
    out_solid,
    out_escaped,
):
    """The elements that each triangle passes, and what it adds to the solid in them.

    home_side: for each home 1 if the triangle's front borders on the void there, -1 if its back does, else 0.

    out_face, out_element: one row per (triangle, element); returns how many (stores those that fit).
    out_solid (e, 10): volume of the solid in each element [cells^3], its first moments about corner 3 [cells^4] and its
    second ones (00, 11, 22, 01, 02, 12) [cells^5], but for the solid at corner 0, which the caller adds.
    out_escaped (e, 4): True for outer faces that a triangle of the element crosses.
    """
    room = out_face.shape[0]
    found = 0
    clipping = clipping_room()
    polygon, labels = clipping.polygon, clipping.labels
    todo = np.empty(4096, np.int64)
    for t in range(faces.shape[0]):
        # Most triangles lie in one element whole: nothing to clip.
        a, b, c = points[faces[t, 0]], points[faces[t, 1]], points[faces[t, 2]]
        e0 = vertex_element[faces[t, 0]]
        if e0 == vertex_element[faces[t, 1]] and e0 == vertex_element[faces[t, 2]] and e0 >= 0:
            if found < room:
                out_face[found], out_element[found] = t, e0
            found += 1
            side = side_in(e0, t, copies, home_side)
            apex = nodes[tets[e0, 3]]
            add_cone(0.5 * side * tet_volume6(apex, a, b, c), a, b, c, apex, out_solid[e0])
            continue
        # The others are walked through, from the elements of their corners on.
        count = 0
        for corner in range(3):
            e = vertex_element[faces[t, corner]]
            is_new = e >= 0
            for p in range(count):
                is_new &= todo[p] != e
            if is_new:
                todo[count] = e
                count += 1
        done = 0
        while done < count:
            e = todo[done]
            done += 1
            x0, x1, x2, x3 = (
                nodes[tets[e, 0]],
                nodes[tets[e, 1]],
                nodes[tets[e, 2]],
                nodes[tets[e, 3]],
            )
            tet_planes(x0, x1, x2, x3, clipping.planes)
            corners = clip_to_tet(a, b, c, 0.0, clipping)
            if corners < 3:
                # A vertex on the very border of its element: nothing of the triangle lies inside.
                continue
            if found < room:
                out_face[found], out_element[found] = t, e
            found += 1
            side = side_in(e, t, copies, home_side)
            add_solid(side, a, b, c, x0, x1, x2, x3, clipping, corners, out_solid[e])
            # On through the faces of the element that the polygon has sides on.
            for side in range(corners):
                m = labels[side]
                if m > 3:
                    continue
                nxt = side + 1 if side + 1 < corners else 0
                length = np.sqrt(
                    (polygon[nxt, 0] - polygon[side, 0]) ** 2
                    + (polygon[nxt, 1] - polygon[side, 1]) ** 2
                    + (polygon[nxt, 2] - polygon[side, 2]) ** 2
                )
                if length < SHORT:
                    continue
                onward = choose_copy(e, m, t, copies)
                if onward < 0:
                    out_escaped[e, m] = True
                    continue
                todo, count = with_new(todo, count, onward)
    return found


@njit_called
def add_cone(flux, a, b, c, apex, out_solid):
    """Add the volume and moments of a tet of a triangle and an apex: 1/3, 1/4 and 1/5 of the flux of 1, y and y y."""
    out_solid[0] += flux / 3.0
    for n in range(9):
        i, j = n // 3, n % 3
        if i > j:
            continue
        ai, bi, ci = a[i] - apex[i], b[i] - apex[i], c[i] - apex[i]
        aj, bj, cj = a[j] - apex[j], b[j] - apex[j], c[j] - apex[j]
        if i == j:
            out_solid[1 + i] += flux * (ai + bi + ci) / 12.0
        square = (ai * aj + bi * bj + ci * cj + (ai + bi + ci) * (aj + bj + cj)) / 12.0
        out_solid[4 + (i if i == j else 2 + i + j)] += flux * square / 5.0


@njit_called
def add_segment(flux, q, d, out_area):
    """Add the area and moments of a triangle of a segment q, q + d and the origin: 1/2, 1/3 and 1/4 of its flux."""
    out_area[0] += flux / 2.0
    for n in range(9):
        i, j = n // 3, n % 3
        if i == j:
            out_area[1 + i] += flux * (q[i] + 0.5 * d[i]) / 3.0
        if i <= j:
            square = q[i] * q[j] + 0.5 * (q[i] * d[j] + d[i] * q[j]) + d[i] * d[j] / 3.0
            out_area[4 + (i if i == j else 2 + i + j)] += flux * square / 4.0


@njit_called
def add_solid(side, a, b, c, x0, x1, x2, x3, clipping, corners, out_solid):
    """Add what a triangle's part in a tet is to the volume and moments of the solid there: Gauss about corner 3.

    Volume is 1/3 of the flux of y = x - x3, the moments 1/4 and 1/5 of those of y y and y y y. Faces 0-2 pass through
    corner 3 and add nothing. On face 3 the solid's area and its moments follow from Gauss's theorem about corner 2, and
    on the edge of faces 2 and 3 (x0 x1) its length and its moments from the pierced points, measured from x1.
    """
    planes, polygon, labels = clipping.planes, clipping.polygon, clipping.labels
    # The polygon itself, as a fan of triangles.
    for i in range(1, corners - 1):
        flux = 0.5 * side * tet_volume6(x3, polygon[0], polygon[i], polygon[i + 1])
        add_cone(flux, polygon[0], polygon[i], polygon[i + 1], x3, out_solid)
    touches = False
    for i in range(corners):
        touches |= labels[i] == 3
    if not touches:
        return
    # Face 3, at distance `height` from corner 3: the sides of the polygon on it, with the normal that they have there.
    px, py, pz = planes[3, 0], planes[3, 1], planes[3, 2]
    height = px * (x3[0] - x0[0]) + py * (x3[1] - x0[1]) + pz * (x3[2] - x0[2])
    # The triangle's own normal: the polygon may be too small to give it.
    tx = (b[1] - a[1]) * (c[2] - a[2]) - (b[2] - a[2]) * (c[1] - a[1])
    ty = (b[2] - a[2]) * (c[0] - a[0]) - (b[0] - a[0]) * (c[2] - a[2])
    tz = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    into = tx * px + ty * py + tz * pz
    mx, my, mz = tx - into * px, ty - into * py, tz - into * pz
    size = np.sqrt(mx * mx + my * my + mz * mz)
    area = np.zeros(10)  # and its moments about x2
    if size > 0.0:
        for i in range(corners):
            if labels[i] == 3:
                j = i + 1 if i + 1 < corners else 0
                d = polygon[j] - polygon[i]
                q = polygon[i] - x2
                flux = (q[0] * mx + q[1] * my + q[2] * mz) / size * np.sqrt((d * d).sum())
                add_segment(flux, q, d, area)
    # The edge x0 x1 closes the solid's part of face 3 where the polygon pierces it.
    ex, ey, ez = x0[0] - x1[0], x0[1] - x1[1], x0[2] - x1[2]
    edge = np.sqrt(ex * ex + ey * ey + ez * ez)
    for i in range(corners):
        h = i - 1 if i > 0 else corners - 1
        if (labels[h] == 2 and labels[i] == 3) or (labels[h] == 3 and labels[i] == 2):
            s = (
                (polygon[i, 0] - x1[0]) * ex
                + (polygon[i, 1] - x1[1]) * ey
                + (polygon[i, 2] - x1[2]) * ez
            ) / edge
            sign = -1.0 if tx * ex + ty * ey + tz * ez < 0.0 else 1.0
            q = x1 - x2
            kx, ky, kz = q[1] * ez - q[2] * ey, q[2] * ex - q[0] * ez, q[0] * ey - q[1] * ex
            distance = np.sqrt(kx * kx + ky * ky + kz * kz) / edge  # of x2 from the edge
            add_segment(sign * s * distance, q, s / edge * (x0 - x1), area)
    # From the area to the flux through face 3, and from moments about x2 to those about x3.
    flux, o = side * height, x2 - x3
    out_solid[0] += flux * area[0] / 3.0
    for n in range(9):
        i, j = n // 3, n % 3
        if i == j:
            out_solid[1 + i] += flux * (area[1 + i] + area[0] * o[i]) / 4.0
        if i <= j:
            k = 4 + (i if i == j else 2 + i + j)
            square = area[k] + area[1 + i] * o[j] + o[i] * area[1 + j] + area[0] * o[i] * o[j]
            out_solid[k] += flux * square / 5.0
