"""The direction in which two overlapping cores overlap least; see `gjk_kernels`."""

import numpy as np

from jellycage.sim.contact.convex.gjk_kernels import furthest
from jellycage.toolkit.compile_kernels import njit_called

PREFER_FACES = 1e-9  # of the depth: edges must be better by more
PARALLEL = 1e-12  # squared sine of the angle between edges that have no common normal


@njit_called
def part_by_faces(shapes, turned, normals, a, b, ox, oy, oz, best, out_near):
    """Look for a face of core a with less overlap than best (a negative gap): row 2 of out_near gets its normal.

    turned (k, 3), normals (f, 3): points and normals turned into the world. The offset takes points of b into the frame
    of a. Rows 0 and 1: the points on a and on b.
    """
    b0, b1 = shapes.point_start[b], shapes.point_start[b + 1]
    for f in range(shapes.face_start[a], shapes.face_start[a + 1]):
        nx, ny, nz = normals[f, 0], normals[f, 1], normals[f, 2]
        i = shapes.corners[shapes.corner_start[f]]
        j = furthest(turned, b0, b1, -nx, -ny, -nz)
        x, y, z = turned[j, 0] + ox, turned[j, 1] + oy, turned[j, 2] + oz
        gap = nx * (x - turned[i, 0]) + ny * (y - turned[i, 1]) + nz * (z - turned[i, 2])
        if gap > best:
            best = gap
            out_near[0, 0], out_near[0, 1], out_near[0, 2] = (
                x - gap * nx,
                y - gap * ny,
                z - gap * nz,
            )
            out_near[1, 0], out_near[1, 1], out_near[1, 2] = x, y, z
            out_near[2, 0], out_near[2, 1], out_near[2, 2] = nx, ny, nz
    return best


@njit_called
def is_crossed(normals, f, g, x, y, z):
    """Whether the arc between two neighbouring normals crosses the plane across a direction (true without faces)."""
    if f < 0:
        return True
    left = normals[f, 0] * x + normals[f, 1] * y + normals[f, 2] * z
    right = normals[g, 0] * x + normals[g, 1] * y + normals[g, 2] * z
    return left * right < 0.0


@njit_called
def part_by_edges(shapes, turned, normals, a, b, ox, oy, oz, best, out_near):
    """Look for an edge of each core whose common normal has less overlap than best; as `part_by_faces`."""
    for e in range(shapes.edge_start[a], shapes.edge_start[a + 1]):
        i, k, f, g = shapes.edges[e, 0], shapes.edges[e, 1], shapes.edges[e, 2], shapes.edges[e, 3]
        ax, ay, az = turned[i, 0], turned[i, 1], turned[i, 2]
        ux, uy, uz = turned[k, 0] - ax, turned[k, 1] - ay, turned[k, 2] - az
        uu = ux * ux + uy * uy + uz * uz
        for h in range(shapes.edge_start[b], shapes.edge_start[b + 1]):
            # Only edges whose arcs on the Gauss map cross make a face of the difference (Gregorius 2013).
            p, q = shapes.edges[h, 2], shapes.edges[h, 3]
            if not is_crossed(normals, p, q, ux, uy, uz):
                continue
            j, m = shapes.edges[h, 0], shapes.edges[h, 1]
            bx, by, bz = turned[j, 0], turned[j, 1], turned[j, 2]
            vx, vy, vz = turned[m, 0] - bx, turned[m, 1] - by, turned[m, 2] - bz
            if not is_crossed(normals, f, g, vx, vy, vz):
                continue
            nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
            vv, nn = vx * vx + vy * vy + vz * vz, nx * nx + ny * ny + nz * nz
            if nn <= PARALLEL * uu * vv:
                continue
            # Outward for a (f >= 0) and inward for b, or the arcs are on opposite sides.
            side, other = 0.0, 0.0
            if f >= 0:
                side = nx * (normals[f, 0] + normals[g, 0]) + ny * (normals[f, 1] + normals[g, 1])
                side += nz * (normals[f, 2] + normals[g, 2])
            if p >= 0:
                other = nx * (normals[p, 0] + normals[q, 0]) + ny * (normals[p, 1] + normals[q, 1])
                other += nz * (normals[p, 2] + normals[q, 2])
            if side * other > 0.0:
                continue
            scale = (1.0 if side - other > 0.0 else -1.0) / np.sqrt(nn)
            nx, ny, nz = scale * nx, scale * ny, scale * nz
            rx, ry, rz = bx + ox - ax, by + oy - ay, bz + oz - az
            gap = nx * rx + ny * ry + nz * rz
            if gap > best + PREFER_FACES * abs(best):
                best = gap
                # Where the lines are nearest: s (u x v) . (u x v) = (r x v) . (u x v).
                cx, cy, cz = ry * vz - rz * vy, rz * vx - rx * vz, rx * vy - ry * vx
                s = (cx * nx + cy * ny + cz * nz) / (scale * nn)
                x, y, z = ax + s * ux, ay + s * uy, az + s * uz
                out_near[0, 0], out_near[0, 1], out_near[0, 2] = x, y, z
                out_near[1, 0], out_near[1, 1] = x + gap * nx, y + gap * ny
                out_near[1, 2] = z + gap * nz
                out_near[2, 0], out_near[2, 1], out_near[2, 2] = nx, ny, nz
    return best


@njit_called
def least_overlap(shapes, turned, normals, a, b, ox, oy, oz, out_near):
    """Gap [m] of two cores that touch or overlap, at least one with faces: minus the least way that parts them.

    Rows 0 and 1 of out_near: a point on each, relative to body a; row 2: the unit normal from a to b.
    """
    best = part_by_faces(shapes, turned, normals, a, b, ox, oy, oz, -np.inf, out_near)
    mine = best
    best = part_by_faces(shapes, turned, normals, b, a, -ox, -oy, -oz, best, out_near)
    if best > mine:
        # Found from b: swap the points, seen from a, and turn the normal round.
        x, y, z = out_near[0, 0], out_near[0, 1], out_near[0, 2]
        out_near[0, 0], out_near[0, 1], out_near[0, 2] = (
            out_near[1, 0] + ox,
            out_near[1, 1] + oy,
            out_near[1, 2] + oz,
        )
        out_near[1, 0], out_near[1, 1], out_near[1, 2] = x + ox, y + oy, z + oz
        for c in range(3):
            out_near[2, c] = -out_near[2, c]
    return part_by_edges(shapes, turned, normals, a, b, ox, oy, oz, best, out_near)


@njit_called
def part_of_lines(a, a0, a1, b, b0, b1, ox, oy, oz, out_near):
    """A normal for two points or lines that meet: across both, from the middle of a to that of b if it can be told."""
    i, j = a1 - 1, b1 - 1
    ux, uy, uz = a[i, 0] - a[a0, 0], a[i, 1] - a[a0, 1], a[i, 2] - a[a0, 2]
    vx, vy, vz = b[j, 0] - b[b0, 0], b[j, 1] - b[b0, 1], b[j, 2] - b[b0, 2]
    uu, vv = ux * ux + uy * uy + uz * uz, vx * vx + vy * vy + vz * vz
    mx = 0.5 * (b[b0, 0] + b[j, 0] - a[a0, 0] - a[i, 0]) + ox
    my = 0.5 * (b[b0, 1] + b[j, 1] - a[a0, 1] - a[i, 1]) + oy
    mz = 0.5 * (b[b0, 2] + b[j, 2] - a[a0, 2] - a[i, 2]) + oz
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    nn = nx * nx + ny * ny + nz * nz
    if nn <= PARALLEL * uu * vv:
        if uu < vv:
            ux, uy, uz, uu = vx, vy, vz, vv
        nx, ny, nz = mx, my, mz
        if uu > 0.0:
            along = (mx * ux + my * uy + mz * uz) / uu
            nx, ny, nz = mx - along * ux, my - along * uy, mz - along * uz
        nn = nx * nx + ny * ny + nz * nz
        if nn <= 1e-24 * (uu + mx * mx + my * my + mz * mz):
            # One on top of the other: any direction across.
            nx, ny, nz = 0.0, 0.0, 1.0
            if uu > 0.0:
                nx, ny, nz = (uz, 0.0, -ux) if abs(uy) < 0.7 * np.sqrt(uu) else (0.0, -uz, uy)
            nn = nx * nx + ny * ny + nz * nz
    scale = 1.0 / np.sqrt(nn)
    if nx * mx + ny * my + nz * mz < 0.0:
        scale = -scale
    out_near[2, 0], out_near[2, 1], out_near[2, 2] = scale * nx, scale * ny, scale * nz
