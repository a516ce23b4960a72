"""What of the rim's triangles is inside: which parts hang together, and their areas, without building polygons.

Thesis 002, section 5.5.3.3. The inner parts of a triangle are bounded by the segments in it and by stretches of its
edges, and boundary integrals may be added in any order. The winding number counts: what the other body goes around
twice counts twice, what it is turned inside out about counts negative. So sums over a surface and integrals along
curves are the same whatever overlaps itself.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.collision.rim_kernels import corner_of
from jellycage.toolkit.compile_kernels import njit, njit_called
from jellycage.toolkit.union_kernels import find_root, join


class Pierces(NamedTuple):
    """Where edges of the rim's triangles are pierced, by row of the rim, then by edge, then along it."""

    start: NDArray[np.int64]
    edge: NDArray[np.int64]
    share: NDArray[np.float64]
    gain: NDArray[np.int64]
    """1 where the edge goes into the other body, -1 where it comes out."""
    curve: NDArray[np.int64]


class Points(NamedTuple):
    """Sums over what is inside of one patch in one region."""

    patch: NDArray[np.int64]
    region: NDArray[np.int64]
    is_whole: NDArray[np.bool_]
    sums: NDArray[np.float64]
    """Area, vector area, area times centroid, shape (n, 7)."""
    last: NDArray[np.int64]
    """1 + the last row of each patch, 0 for none."""
    previous: NDArray[np.int64]
    """The same of the row before, in the same patch."""


@njit
def sort_pierces(segments, side, label, rim, out):
    """Collect and sort the pierced edges of the rim's triangles."""
    count = rim.triangle.shape[0]
    filled = np.zeros(count, np.int64)
    out.start[0] = 0
    for r in range(count):
        out.start[r + 1] = out.start[r] + rim.pierced[r, 0] + rim.pierced[r, 1] + rim.pierced[r, 2]
    for n in range(segments.triangle.shape[0]):
        for end in range(2):
            if segments.body[n, end] != side:
                continue
            r = -1 - np.int64(label[segments.triangle[n, side]])
            edge, share = segments.edge[n, end], segments.share[n, end]
            i = out.start[r] + filled[r]
            filled[r] += 1
            while i > out.start[r] and (
                out.edge[i - 1] > edge or (out.edge[i - 1] == edge and out.share[i - 1] > share)
            ):
                out.edge[i], out.share[i] = out.edge[i - 1], out.share[i - 1]
                out.gain[i], out.curve[i] = out.gain[i - 1], out.curve[i - 1]
                i -= 1
            out.edge[i], out.share[i] = edge, share
            out.gain[i] = 1 if (end == 0) == (side == 1) else -1
            out.curve[i] = segments.curve[n]


@njit
def link_parts(rim, pierces, first_node, parent):
    """Join the curves and corners, from `first_node` on, that one stretch of an edge inside leads between."""
    for r in range(rim.triangle.shape[0]):
        i = pierces.start[r]
        for edge in range(3):
            node, winding = first_node + 3 * r + edge, rim.winding[r, edge]
            while i < pierces.start[r + 1] and pierces.edge[i] == edge:
                if winding != 0:
                    join(parent, node, pierces.curve[i])
                winding += pierces.gain[i]
                node = pierces.curve[i]
                i += 1
            if winding != 0:
                join(parent, node, first_node + 3 * r + (edge + 1) % 3)


@njit_called
def plane_distance(segments, n, m):
    """Square of the distance of the first point of segment n from segment m."""
    square, along, away = 0.0, 0.0, 0.0
    for k in range(3):
        d = segments.ends[m, 1, k] - segments.ends[m, 0, k]
        p = segments.ends[n, 0, k] - segments.ends[m, 0, k]
        square += d * d
        along += d * p
        away += p * p
    share = min(max(along / square, 0.0), 1.0) if square > 0.0 else 0.0
    return away - 2.0 * share * along + share * share * square


@njit_called
def normal_of(mesh, t):
    """Unit normal of triangle t; 0 if it has no area."""
    v = mesh.vertices
    i, j, k = (
        corner_of(mesh.triangles, t, 0),
        corner_of(mesh.triangles, t, 1),
        corner_of(mesh.triangles, t, 2),
    )
    ux, uy, uz = v[j, 0] - v[i, 0], v[j, 1] - v[i, 1], v[j, 2] - v[i, 2]
    vx, vy, vz = v[k, 0] - v[i, 0], v[k, 1] - v[i, 1], v[k, 2] - v[i, 2]
    x, y, z = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    length = np.sqrt(x * x + y * y + z * z)
    scale = 1.0 / length if length > 0.0 else 0.0
    return scale * x, scale * y, scale * z


@njit
def link_loops(segments, vector_area, side, mesh, label, rim, first_node, parent):
    """Join curves that lie within one triangle, and so pierce none of its edges, to the part around them, if any.

    Where the triangle is whole otherwise that has its corners. If not, and the curve is around a hole, the nearest
    other curve in the triangle is a border of the same part. vector_area (c, 3): of the curves, on A.
    """
    count = vector_area.shape[0]
    first, sign = np.empty(count, np.int64), 1.0 if side == 0 else -1.0
    is_loop = np.ones(count, np.bool_)
    for n in range(segments.triangle.shape[0]):
        first[segments.curve[n]] = n
        for end in range(2):
            if segments.body[n, end] == side:
                is_loop[segments.curve[n]] = False
    for c in range(count):
        if not is_loop[c]:
            continue
        n = first[c]
        t = segments.triangle[n, side]
        r = -1 - np.int64(label[t])
        is_cut = rim.pierced[r, 0] + rim.pierced[r, 1] + rim.pierced[r, 2] > 0
        if not is_cut and rim.winding[r, 0] != 0:
            join(parent, c, first_node + 3 * r)
            continue
        normal, up = normal_of(mesh, t), 0.0
        for k in range(3):
            up += sign * normal[k] * vector_area[c, k]
        if up > 0.0:
            continue
        nearest, around = np.inf, -1
        for m in range(segments.triangle.shape[0]):
            if segments.triangle[m, side] == t and segments.curve[m] != c:
                away = plane_distance(segments, n, m)
                if away < nearest:
                    nearest, around = away, segments.curve[m]
        if around >= 0:
            join(parent, c, around)


@njit_called
def row_for(patch, region, count, points):
    """The row of a patch in a region among `count`; a new one, with sums of 0, if there is none yet."""
    row = points.last[patch] - 1
    while row >= 0:
        if points.region[row] == region:
            return row
        row = points.previous[row] - 1
    points.patch[count], points.region[count], points.is_whole[count] = patch, region, False
    points.previous[count], points.last[patch] = points.last[patch], count + 1
    for k in range(7):
        points.sums[count, k] = 0.0
    return count


@njit_called
def add_fan(origin, p, q, times, normal, row, out_sums):
    """Add the triangle from an origin to p and q, so many times; its area is signed by the normal of its plane.

    Thesis 002, eqs. 5.4 and 5.7; the latter is unsigned there.
    """
    ux, uy, uz = p[0] - origin[0], p[1] - origin[1], p[2] - origin[2]
    vx, vy, vz = q[0] - origin[0], q[1] - origin[1], q[2] - origin[2]
    half = 0.5 * times
    x, y, z = half * (uy * vz - uz * vy), half * (uz * vx - ux * vz), half * (ux * vy - uy * vx)
    area = x * normal[0] + y * normal[1] + z * normal[2]
    out_sums[row, 0] += area
    out_sums[row, 1] += x
    out_sums[row, 2] += y
    out_sums[row, 3] += z
    third = area / 3.0
    out_sums[row, 4] += third * (origin[0] + p[0] + q[0])
    out_sums[row, 5] += third * (origin[1] + p[1] + q[1])
    out_sums[row, 6] += third * (origin[2] + p[2] + q[2])


@njit_called
def point_on(mesh, t, edge, share):
    """A point on the edge that starts at a corner of triangle t."""
    v = mesh.vertices
    i, j = corner_of(mesh.triangles, t, edge), corner_of(mesh.triangles, t, (edge + 1) % 3)
    return (
        v[i, 0] + share * (v[j, 0] - v[i, 0]),
        v[i, 1] + share * (v[j, 1] - v[i, 1]),
        v[i, 2] + share * (v[j, 2] - v[i, 2]),
    )


@njit_called
def end_of(segments, n, end):
    """One end of a segment."""
    return segments.ends[n, end, 0], segments.ends[n, end, 1], segments.ends[n, end, 2]


@njit
def measure_rim(segments, side, mesh, label, rim, pierces, region_of_node, first_node, points):
    """Add what of the rim's triangles is inside to the rows of `points`; returns how many there are."""
    count = 0
    for n in range(segments.triangle.shape[0]):
        t = segments.triangle[n, side]
        r = -1 - np.int64(label[t])
        origin = end_of(segments, rim.segment[r], 0)
        row = row_for(rim.patch[r], region_of_node[segments.curve[n]], count, points)
        count = max(count, row + 1)
        # Segments run counter-clockwise on A and clockwise on B.
        p, q = end_of(segments, n, side), end_of(segments, n, 1 - side)
        add_fan(origin, p, q, 1, normal_of(mesh, t), row, points.sums)
    for r in range(rim.triangle.shape[0]):
        t = rim.triangle[r]
        origin, normal = end_of(segments, rim.segment[r], 0), normal_of(mesh, t)
        i = pierces.start[r]
        for edge in range(3):
            node, winding, share = first_node + 3 * r + edge, rim.winding[r, edge], 0.0
            while True:
                is_last = i == pierces.start[r + 1] or pierces.edge[i] != edge
                until = 1.0 if is_last else pierces.share[i]
                if winding != 0:
                    row = row_for(rim.patch[r], region_of_node[node], count, points)
                    count = max(count, row + 1)
                    p, q = point_on(mesh, t, edge, share), point_on(mesh, t, edge, until)
                    add_fan(origin, p, q, winding, normal, row, points.sums)
                if is_last:
                    break
                winding += pierces.gain[i]
                node, share = pierces.curve[i], until
                i += 1
    return count


@njit
def add_flooded(flooded, first_piece, region_of_node, count, points):
    """Add the triangles that were covered one by one to the rows of `points`; returns how many there are."""
    for s in range(flooded.sum_patch.shape[0]):
        region = region_of_node[first_piece + flooded.sum_piece[s]]
        row = row_for(flooded.sum_patch[s], region, count, points)
        count = max(count, row + 1)
        for k in range(7):
            points.sums[row, k] += flooded.sums[s, k]
    return count


@njit
def number_regions(parent, curves, pieces, out_region):
    """Regions of all nodes, in the order of their first curves and then of the given pieces; returns how many.

    pieces: nodes of those that no curve bounds.
    """
    for node in range(parent.shape[0]):
        out_region[node] = -1
    count = 0
    for node in range(curves):
        root = find_root(parent, node)
        if out_region[root] < 0:
            out_region[root] = count
            count += 1
    for i in range(pieces.shape[0]):
        out_region[find_root(parent, pieces[i])] = count
        count += 1
    for node in range(parent.shape[0]):
        out_region[node] = out_region[find_root(parent, node)]
    return count
