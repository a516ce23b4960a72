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
    out_solid (e, 4): volume of the solid in each element [cells^3] and its first moments about corner 3 [cells^4], but
    for the solid at corner 0, which the caller adds.
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
            volume = side * tet_volume6(apex, a, b, c) / 6.0
            out_solid[e0, 0] += volume
            for k in range(3):
                out_solid[e0, 1 + k] += volume * (a[k] + b[k] + c[k] - 3.0 * apex[k]) / 4.0
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
def add_solid(side, a, b, c, x0, x1, x2, x3, clipping, corners, out_solid):
    """Add what a triangle's part in a tet is to the volume and first moments of the solid there: Gauss about corner 3.

    Volume is 1/3 of the flux of y = x - x3, the moment 1/4 of that of y y. Faces 0-2 pass through corner 3 and add
    nothing. On face 3 the solid's area and its moment follow from Gauss's theorem about corner 2, and on the edge of
    faces 2 and 3 (x0 x1) its length and its moment from the pierced points, measured from x1.
    """
    planes, polygon, labels = clipping.planes, clipping.polygon, clipping.labels
    # The polygon itself, as a fan of triangles.
    for i in range(1, corners - 1):
        ux, uy, uz = (
            polygon[i, 0] - polygon[0, 0],
            polygon[i, 1] - polygon[0, 1],
            polygon[i, 2] - polygon[0, 2],
        )
        vx, vy, vz = (
            polygon[i + 1, 0] - polygon[0, 0],
            polygon[i + 1, 1] - polygon[0, 1],
            polygon[i + 1, 2] - polygon[0, 2],
        )
        flux = 0.5 * (
            (polygon[0, 0] - x3[0]) * (uy * vz - uz * vy)
            + (polygon[0, 1] - x3[1]) * (uz * vx - ux * vz)
            + (polygon[0, 2] - x3[2]) * (ux * vy - uy * vx)
        )
        out_solid[0] += side * flux / 3.0
        for k in range(3):
            middle = (polygon[0, k] + polygon[i, k] + polygon[i + 1, k]) / 3.0 - x3[k]
            out_solid[1 + k] += side * flux * middle / 4.0
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
    area, area_x, area_y, area_z = 0.0, 0.0, 0.0, 0.0  # moments about x2
    if size > 0.0:
        for i in range(corners):
            if labels[i] == 3:
                j = i + 1 if i + 1 < corners else 0
                dx = polygon[j, 0] - polygon[i, 0]
                dy = polygon[j, 1] - polygon[i, 1]
                dz = polygon[j, 2] - polygon[i, 2]
                qx, qy, qz = polygon[i, 0] - x2[0], polygon[i, 1] - x2[1], polygon[i, 2] - x2[2]
                flux = (qx * mx + qy * my + qz * mz) / size * np.sqrt(dx * dx + dy * dy + dz * dz)
                area += flux / 2.0
                area_x += flux * (qx + 0.5 * dx) / 3.0
                area_y += flux * (qy + 0.5 * dy) / 3.0
                area_z += flux * (qz + 0.5 * dz) / 3.0
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
            qx, qy, qz = x1[0] - x2[0], x1[1] - x2[1], x1[2] - x2[2]
            kx, ky, kz = qy * ez - qz * ey, qz * ex - qx * ez, qx * ey - qy * ex
            distance = np.sqrt(kx * kx + ky * ky + kz * kz) / edge  # of x2 from the edge
            flux = sign * s * distance
            area += flux / 2.0
            area_x += flux * (qx + 0.5 * s * ex / edge) / 3.0
            area_y += flux * (qy + 0.5 * s * ey / edge) / 3.0
            area_z += flux * (qz + 0.5 * s * ez / edge) / 3.0
    # From the area to the flux through face 3, and from moments about x2 to those about x3.
    out_solid[0] += side * area * height / 3.0
    out_solid[1] += side * height * (area_x + area * (x2[0] - x3[0])) / 4.0
    out_solid[2] += side * height * (area_y + area * (x2[1] - x3[1])) / 4.0
    out_solid[3] += side * height * (area_z + area * (x2[2] - x3[2])) / 4.0
