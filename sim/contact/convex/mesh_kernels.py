"""Shapes against the triangles of static meshes, without bumps on the edges inside a surface.

A normal may lean over an edge of its triangle only as far as the neighbour's normal does, so not at all where the edge
is flat or concave. A nearest point further over a convex edge belongs to the neighbour, and is left to it.
"""

import numpy as np

from jellycage.sim.contact.convex.gjk_kernels import furthest
from jellycage.sim.contact.convex.manifold_kernels import FACING, LYING
from jellycage.sim.shapes.kinds_kernels import FLAT_EDGE, LEAF, OPEN_EDGE
from jellycage.toolkit.compile_kernels import njit_called

LEANING = 1e-6  # sine of the angle by which a normal may lean without being looked at
KEPT, FLATTENED, LIFTED, LEFT, CROSSED = 0, 1, 2, 3, 4
"""What became of a normal: nothing, put upright at a flat edge, at a concave one, left to the neighbour; or it is a way
out of a triangle that the shape crosses."""


@njit_called
def find_triangles(meshes, low, high, stack, out_found):
    """Triangles whose bounds meet a box, in the order of the tree; returns how many, perhaps more than fit."""
    count, depth, leaves = 0, 1, meshes.low.shape[0] // 2
    stack[0] = 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if (
            meshes.low[node, 0] > high[0] or meshes.high[node, 0] < low[0]
            or meshes.low[node, 1] > high[1] or meshes.high[node, 1] < low[1]
            or meshes.low[node, 2] > high[2] or meshes.high[node, 2] < low[2]
        ):  # fmt: skip
            continue
        if node < leaves:
            stack[depth], stack[depth + 1] = 2 * node + 1, 2 * node
            depth += 2
            continue
        first = (node - leaves) * LEAF
        for t in range(first, min(first + LEAF, meshes.corners.shape[0])):
            is_near = True
            for c in range(3):
                x, y, z = meshes.corners[t, 0, c], meshes.corners[t, 1, c], meshes.corners[t, 2, c]
                if min(x, y, z) > high[c] or max(x, y, z) < low[c]:
                    is_near = False
            if is_near:
                if count < out_found.shape[0]:
                    out_found[count] = t
                count += 1
    return count


@njit_called
def is_over_edge(meshes, t, x, y, z):
    """Whether a normal that leans over a corner of triangle t leans over an edge there, so that others are nearer."""
    top, most = 0, -np.inf
    for i in range(3):
        corner = meshes.corners[t, i]
        up = x * (corner[0] - meshes.corners[t, 0, 0])
        up += y * (corner[1] - meshes.corners[t, 0, 1]) + z * (corner[2] - meshes.corners[t, 0, 2])
        if up > most:
            top, most = i, up
    place = meshes.place[t, top]
    for k in range(meshes.spoke_start[place], meshes.spoke_start[place + 1]):
        spoke = meshes.spokes[k]
        if x * spoke[0] + y * spoke[1] + z * spoke[2] > LEANING:
            return True
    return False


@njit_called
def settle_normal(meshes, t, side, x, y, z):
    """What becomes of a normal of triangle t, seen from its front (side 1) or back (-1), and the normal then."""
    ux, uy, uz = (
        side * meshes.normals[t, 0],
        side * meshes.normals[t, 1],
        side * meshes.normals[t, 2],
    )
    state, flattened, has_leant = KEPT, 0, False
    # Twice: what is straightened at one edge may lean over another.
    for _ in range(2):
        for e in range(3):
            ox, oy, oz = meshes.outward[t, e, 0], meshes.outward[t, e, 1], meshes.outward[t, e, 2]
            lean = x * ox + y * oy + z * oz
            fold = meshes.fold[t, e]
            if lean <= LEANING:
                continue
            has_leant = True
            if fold == OPEN_EDGE:
                continue
            if fold * side > 0.0:
                # Convex: as far as the neighbour's normal.
                ax, ay, az = meshes.across[t, e, 0], meshes.across[t, e, 1], meshes.across[t, e, 2]
                if x * ax + y * ay + z * az > LEANING:
                    return LEFT, ux, uy, uz
                continue
            # Flat or concave: not at all.
            state = max(state, FLATTENED if fold == FLAT_EDGE else LIFTED)
            flattened |= 1 << e
            x, y, z = x - lean * ox, y - lean * oy, z - lean * oz
    length = np.sqrt(x * x + y * y + z * z)
    up = x * ux + y * uy + z * uz
    if state == KEPT and has_leant and is_over_edge(meshes, t, x, y, z):
        return LEFT, ux, uy, uz
    # At a corner between two such edges it is upright; or it is but for rounding, or little of it is left.
    if flattened & (flattened - 1) != 0 or length == 0.0:
        return state, ux, uy, uz
    if up > length * (1.0 - 0.5 * LEANING * LEANING) or (state != KEPT and up < 0.3 * length):
        return state, ux, uy, uz
    return state, x / length, y / length, z / length


@njit_called
def gap_along(points, first, last, triangle, x, y, z):
    """How far a core is in front of a triangle along a direction [m]; negative if behind."""
    i = furthest(points, first, last, -x, -y, -z)
    j = furthest(triangle, 0, 3, x, y, z)
    return (
        x * (points[i, 0] - triangle[j, 0])
        + y * (points[i, 1] - triangle[j, 1])
        + z * (points[i, 2] - triangle[j, 2])
    )


@njit_called
def part_from_triangle(shapes, turned, normals, s, triangle, meshes, t, side, out_near):
    """Gap [m] of a core that crosses a triangle: the least way out to its front along a normal that it may have.

    Row 2 of out_near: that normal, away from the triangle; rows 0 and 1: the points on the core and on the triangle.
    """
    first, last = shapes.point_start[s], shapes.point_start[s + 1]
    x, y, z = side * meshes.normals[t, 0], side * meshes.normals[t, 1], side * meshes.normals[t, 2]
    # Out along the normal of the triangle.
    best = gap_along(turned, first, last, triangle, x, y, z)
    i = furthest(turned, first, last, -x, -y, -z)
    px, py, pz = turned[i, 0], turned[i, 1], turned[i, 2]
    # Along the normal of a face of the core, if the triangle may have it.
    for f in range(shapes.face_start[s], shapes.face_start[s + 1]):
        nx, ny, nz = -normals[f, 0], -normals[f, 1], -normals[f, 2]
        if settle_normal(meshes, t, side, nx, ny, nz)[0] != KEPT:
            continue
        if nx * x + ny * y + nz * z < 0.0:
            continue
        gap = gap_along(turned, first, last, triangle, nx, ny, nz)
        if gap > best * (1.0 - 1e-9):
            best = gap
            out_near[2, 0], out_near[2, 1], out_near[2, 2] = nx, ny, nz
            j = furthest(triangle, 0, 3, nx, ny, nz)
            px, py, pz = (
                triangle[j, 0] + gap * nx,
                triangle[j, 1] + gap * ny,
                triangle[j, 2] + gap * nz,
            )
            x, y, z = nx, ny, nz
    ux, uy, uz = (
        side * meshes.normals[t, 0],
        side * meshes.normals[t, 1],
        side * meshes.normals[t, 2],
    )
    # Across an edge of the core and one of the triangle that is convex or open.
    for h in range(shapes.edge_start[s], shapes.edge_start[s + 1]):
        i, j = shapes.edges[h, 0], shapes.edges[h, 1]
        ex, ey, ez = (
            turned[j, 0] - turned[i, 0],
            turned[j, 1] - turned[i, 1],
            turned[j, 2] - turned[i, 2],
        )
        for e in range(3):
            if meshes.fold[t, e] == FLAT_EDGE or meshes.fold[t, e] * side < 0.0:
                continue
            a, b = triangle[e], triangle[e + 1 if e < 2 else 0]
            vx, vy, vz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
            nx, ny, nz = ey * vz - ez * vy, ez * vx - ex * vz, ex * vy - ey * vx
            nn = nx * nx + ny * ny + nz * nz
            if nn <= 1e-12 * (ex * ex + ey * ey + ez * ez) * (vx * vx + vy * vy + vz * vz):
                continue
            scale = (1.0 if nx * ux + ny * uy + nz * uz >= 0.0 else -1.0) / np.sqrt(nn)
            nx, ny, nz = scale * nx, scale * ny, scale * nz
            if settle_normal(meshes, t, side, nx, ny, nz)[0] != KEPT:
                continue
            gap = gap_along(turned, first, last, triangle, nx, ny, nz)
            if gap > best * (1.0 - 1e-9):
                best = gap
                x, y, z = nx, ny, nz
                # Where the two lines are nearest: along (n . n) = (r x v) . n.
                rx, ry, rz = a[0] - turned[i, 0], a[1] - turned[i, 1], a[2] - turned[i, 2]
                cx, cy, cz = ry * vz - rz * vy, rz * vx - rx * vz, rx * vy - ry * vx
                along = (cx * nx + cy * ny + cz * nz) / (scale * nn)
                along = min(max(along, 0.0), 1.0)
                px, py, pz = (
                    turned[i, 0] + along * ex,
                    turned[i, 1] + along * ey,
                    turned[i, 2] + along * ez,
                )
    out_near[0, 0], out_near[0, 1], out_near[0, 2] = px, py, pz
    out_near[1, 0], out_near[1, 1], out_near[1, 2] = px - best * x, py - best * y, pz - best * z
    out_near[2, 0], out_near[2, 1], out_near[2, 2] = x, y, z
    return best


@njit_called
def triangle_feature(triangle, side, nx, ny, nz, x, y, z, out_corners):
    """Corners of what a triangle turns to a direction: all, if it faces it, else its edge or corner; their count.

    (nx, ny, nz) is the normal to the side from which it is seen.
    """
    if nx * x + ny * y + nz * z > FACING:
        for i in range(3):
            # Counter-clockwise from the side where the direction points.
            row = i if side > 0.0 else 2 - i
            for c in range(3):
                out_corners[row, c] = triangle[i, c]
        return 3
    top = furthest(triangle, 0, 3, x, y, z)
    least, other = LYING, -1
    for i in range(3):
        if i == top:
            continue
        ux, uy, uz = (
            triangle[i, 0] - triangle[top, 0],
            triangle[i, 1] - triangle[top, 1],
            triangle[i, 2] - triangle[top, 2],
        )
        lean = abs(ux * x + uy * y + uz * z) / np.sqrt(ux * ux + uy * uy + uz * uz)
        if lean < least:
            least, other = lean, i
    for c in range(3):
        out_corners[0, c] = triangle[top, c]
        if other >= 0:
            out_corners[1, c] = triangle[other, c]
    return 1 if other < 0 else 2
