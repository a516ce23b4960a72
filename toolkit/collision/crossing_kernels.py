"""All pairs of crossing triangles of two posed surfaces: two trees at once, first of tets, then of triangles.

Nodes of two patches are compared along x, y, z and along the vector areas of both patches, which part gently curved
patches that lie along each other early.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.collision.bdop_kernels import bdop_of, index_mask
from jellycage.toolkit.collision.bounds_kernels import (
    high_bound,
    low_bound,
    prepare_axis,
    prepare_box,
)
from jellycage.toolkit.collision.kdop_kernels import AXIS_COUNT
from jellycage.toolkit.collision.pairs_kernels import are_parted, cross_triangles
from jellycage.toolkit.collision.posed_kernels import PosedTriangles
from jellycage.toolkit.collision.predicates_kernels import point_of
from jellycage.toolkit.compile_kernels import njit, njit_called, njit_inside


class Directions(NamedTuple):
    """Five directions prepared in a tet of A (row 0) and one of B (row 1): x, y, z and the normals of both patches."""

    factors: NDArray[np.float64]
    shifts: NDArray[np.int64]
    """See `prepare_axis`, shapes (2, 5, 9) and (2, 5, 6)."""
    normals: NDArray[np.float64]
    """Vector areas, shape (2, 3)."""


class Scratch(NamedTuple):
    """What the comparison of two patches works in."""

    todo: NDArray[np.int64]
    """Pairs of ranges of triangles that wait, shape (256, 4)."""
    bounds: NDArray[np.float64]
    """Of one triangle, shape (2, 5)."""
    near_a: NDArray[np.int64]
    near_b: NDArray[np.int64]
    boxes_a: NDArray[np.float64]
    boxes_b: NDArray[np.float64]
    """Triangles of two small nodes that meet the other one, and their bounds, shape (n, 10)."""
    reach: NDArray[np.float64]
    """Bounds of the node of B, of what is near it of A, and of what is near that of B, shape (3, 10)."""
    signs: NDArray[np.int64]


@njit_inside
def overlap_nodes(box_a, box_b, factors, shifts):
    """Whether the bounds of quantised b-DOPs of A and B meet along all prepared directions."""
    for k in range(5):
        axis = 4 - k
        low, high = (
            low_bound(box_a, factors, shifts, 0, axis),
            high_bound(box_b, factors, shifts, 1, axis),
        )
        if low > high:
            return False
        low, high = (
            low_bound(box_b, factors, shifts, 1, axis),
            high_bound(box_a, factors, shifts, 0, axis),
        )
        if low > high:
            return False
    return True


@njit_inside
def bound_triangle(mesh, t, side, directions, out_bounds):
    """Low and high bounds (2, 5) of a triangle along the prepared directions, whose last two are the normals."""
    triangles, vertices = mesh.triangles, mesh.vertices
    factors, normals = directions.factors, directions.normals
    mask = index_mask(triangles)
    for k in range(5):
        out_bounds[0, k], out_bounds[1, k] = np.inf, -np.inf
    for c in range(3):
        v = np.int64(triangles[t, c]) & mask
        x, y, z = vertices[v, 0], vertices[v, 1], vertices[v, 2]
        for k in range(5):
            if k < 3:
                at = vertices[v, k]
            else:
                at = normals[k - 3, 0] * x + normals[k - 3, 1] * y + normals[k - 3, 2] * z
            out_bounds[0, k], out_bounds[1, k] = (
                min(out_bounds[0, k], at),
                max(out_bounds[1, k], at),
            )
    for k in range(3, 5):
        out_bounds[0, k] -= factors[side, k, 8]
        out_bounds[1, k] += factors[side, k, 8]


@njit_inside
def gather_near(mesh, first, last, side, directions, reach, out_near, out_bounds, out_reach):
    """Triangles of a range that meet the bounds `reach` (10,): numbers, bounds (n, 10), and bounds of all; their count.

    Bounds are low and high by turns along the five prepared directions.
    """
    triangles, vertices = mesh.triangles, mesh.vertices
    factors, normals = directions.factors, directions.normals
    mask = index_mask(triangles)
    margin, other_margin = factors[side, 3, 8], factors[side, 4, 8]
    nx, ny, nz = normals[0, 0], normals[0, 1], normals[0, 2]
    mx, my, mz = normals[1, 0], normals[1, 1], normals[1, 2]
    count = 0
    for k in range(5):
        out_reach[2 * k], out_reach[2 * k + 1] = np.inf, -np.inf
    for t in range(first, last):
        i = np.int64(triangles[t, 0]) & mask
        j = np.int64(triangles[t, 1]) & mask
        k = np.int64(triangles[t, 2]) & mask
        # Direction by direction, so that most triangles are dropped after the first ones.
        ax, bx, cx = vertices[i, 0], vertices[j, 0], vertices[k, 0]
        low_x, high_x = min(min(ax, bx), cx), max(max(ax, bx), cx)
        if low_x > reach[1] or high_x < reach[0]:
            continue
        ay, by, cy = vertices[i, 1], vertices[j, 1], vertices[k, 1]
        low_y, high_y = min(min(ay, by), cy), max(max(ay, by), cy)
        if low_y > reach[3] or high_y < reach[2]:
            continue
        az, bz, cz = vertices[i, 2], vertices[j, 2], vertices[k, 2]
        low_z, high_z = min(min(az, bz), cz), max(max(az, bz), cz)
        if low_z > reach[5] or high_z < reach[4]:
            continue
        a, b, c = (
            nx * ax + ny * ay + nz * az,
            nx * bx + ny * by + nz * bz,
            nx * cx + ny * cy + nz * cz,
        )
        low_n, high_n = min(min(a, b), c) - margin, max(max(a, b), c) + margin
        if low_n > reach[7] or high_n < reach[6]:
            continue
        a, b, c = (
            mx * ax + my * ay + mz * az,
            mx * bx + my * by + mz * bz,
            mx * cx + my * cy + mz * cz,
        )
        low_m, high_m = min(min(a, b), c) - other_margin, max(max(a, b), c) + other_margin
        if low_m > reach[9] or high_m < reach[8]:
            continue
        # Near in all five: kept, and the common bounds grow.
        out_near[count] = t
        out_bounds[count, 0], out_bounds[count, 1] = low_x, high_x
        out_bounds[count, 2], out_bounds[count, 3] = low_y, high_y
        out_bounds[count, 4], out_bounds[count, 5] = low_z, high_z
        out_bounds[count, 6], out_bounds[count, 7] = low_n, high_n
        out_bounds[count, 8], out_bounds[count, 9] = low_m, high_m
        for d in range(5):
            out_reach[2 * d] = min(out_reach[2 * d], out_bounds[count, 2 * d])
            out_reach[2 * d + 1] = max(out_reach[2 * d + 1], out_bounds[count, 2 * d + 1])
        count += 1
    return count


@njit_inside
def meet(bounds, i, others, j):
    """Whether two rows of bounds meet along all five directions."""
    return (
        bounds[i, 0] <= others[j, 1]
        and others[j, 0] <= bounds[i, 1]
        and bounds[i, 2] <= others[j, 3]
        and others[j, 2] <= bounds[i, 3]
        and bounds[i, 4] <= others[j, 5]
        and others[j, 4] <= bounds[i, 5]
        and bounds[i, 6] <= others[j, 7]
        and others[j, 6] <= bounds[i, 7]
        and bounds[i, 8] <= others[j, 9]
        and others[j, 8] <= bounds[i, 9]
    )


@njit_called
def find_near(own_mesh, own, mesh, first, last, side, directions, room, scratch):
    """Triangles in a range of a tree of body `side` whose nodes meet triangle `own` of the other; returns how many.

    They go to scratch.near_a; scratch.todo is free from row `room` on.
    """
    triangles, factors, shifts = mesh.triangles, directions.factors, directions.shifts
    bounds, todo, out_near = scratch.bounds, scratch.todo, scratch.near_a
    bound_triangle(own_mesh, own, 1 - side, directions, bounds)
    found, count = 0, room + 1
    todo[room, 0], todo[room, 1] = first, last
    while count > room:
        count -= 1
        t, end = todo[count, 0], todo[count, 1]
        box = bdop_of(triangles, t)
        is_near = True
        for k in range(5):
            is_near = bounds[0, k] <= high_bound(box, factors, shifts, side, k)
            if not is_near or low_bound(box, factors, shifts, side, k) > bounds[1, k]:
                is_near = False
                break
        if not is_near:
            continue
        out_near[found] = t
        found += 1
        middle = t + 1 + (end - t - 1) // 2
        if middle > t + 1:
            todo[count, 0], todo[count, 1] = t + 1, middle
            count += 1
        if end > middle:
            todo[count, 0], todo[count, 1] = middle, end
            count += 1
    return found


@njit_called
def corners_of(triangles, vertices, t):
    """The three corners of triangle t."""
    mask = index_mask(triangles)
    return (
        point_of(vertices, np.int64(triangles[t, 0]) & mask),
        point_of(vertices, np.int64(triangles[t, 1]) & mask),
        point_of(vertices, np.int64(triangles[t, 2]) & mask),
    )


@njit_called
def try_pair(first, second, a, b, found, signs, out_pairs, out_ends):
    """Try triangles a of A and b of B, given their corners; returns how many pairs cross so far."""
    # When all rows are used up the last one is scratch.
    row = min(found, out_pairs.shape[0] - 1)
    if not cross_triangles(first, second, row, signs, out_ends, out_pairs):
        return found
    out_pairs[row, 0], out_pairs[row, 1] = a, b
    return found + 1


@njit_called
def cross_patches(mesh_a, mesh_b, ranges, leaf, directions, found, scratch, out_pairs, out_ends):
    """Find the crossing pairs of two patches whose tets are prepared; returns how many there are so far.

    ranges: first and last triangle of the patch of A, and of that of B.
    """
    triangles_a, vertices_a = mesh_a.triangles, mesh_a.vertices
    triangles_b, vertices_b = mesh_b.triangles, mesh_b.vertices
    factors, shifts, todo = directions.factors, directions.shifts, scratch.todo
    near, other_near, reach = scratch.near_a, scratch.near_b, scratch.reach
    boxes_a, boxes_b, signs = scratch.boxes_a, scratch.boxes_b, scratch.signs
    todo[0, 0], todo[0, 1], todo[0, 2], todo[0, 3] = ranges
    count = 1
    while count > 0:
        count -= 1
        a, end_a, b, end_b = todo[count, 0], todo[count, 1], todo[count, 2], todo[count, 3]
        if not overlap_nodes(bdop_of(triangles_a, a), bdop_of(triangles_b, b), factors, shifts):
            continue
        if (end_a - a) * (end_b - b) <= leaf:
            # Two small nodes: of A what reaches the bounds of B, of B what reaches that, then all pairs of these.
            box = bdop_of(triangles_b, b)
            for k in range(5):
                reach[0, 2 * k] = low_bound(box, factors, shifts, 1, k)
                reach[0, 2 * k + 1] = high_bound(box, factors, shifts, 1, k)
            near_a = gather_near(mesh_a, a, end_a, 0, directions, reach[0], near, boxes_a, reach[1])
            near_b = 0
            if near_a > 0:
                near_b = gather_near(
                    mesh_b, b, end_b, 1, directions, reach[1], other_near, boxes_b, reach[2]
                )
            for n in range(near_a if near_b > 0 else 0):
                if not meet(boxes_a, n, reach, 2):
                    continue
                for m in range(near_b):
                    if not meet(boxes_a, n, boxes_b, m):
                        continue
                    i, j = near[n], other_near[m]
                    if are_parted(triangles_a, vertices_a, i, triangles_b, vertices_b, j):
                        continue
                    first = corners_of(triangles_a, vertices_a, i)
                    second = corners_of(triangles_b, vertices_b, j)
                    found = try_pair(first, second, i, j, found, signs, out_pairs, out_ends)
            continue
        # The larger node is opened: its own triangle against the other node, and its children.
        is_a = end_a - a >= end_b - b
        if is_a:
            tried = find_near(mesh_a, a, mesh_b, b, end_b, 1, directions, count, scratch)
        else:
            tried = find_near(mesh_b, b, mesh_a, a, end_a, 0, directions, count, scratch)
        for n in range(tried):
            i, j = (a, near[n]) if is_a else (near[n], b)
            if not are_parted(triangles_a, vertices_a, i, triangles_b, vertices_b, j):
                first = corners_of(triangles_a, vertices_a, i)
                second = corners_of(triangles_b, vertices_b, j)
                found = try_pair(first, second, i, j, found, signs, out_pairs, out_ends)
        left, end = (a + 1, end_a) if is_a else (b + 1, end_b)
        middle = left + (end - left) // 2
        for child in range(2):
            start, stop = (left, middle) if child == 0 else (middle, end)
            if stop > start:
                todo[count, 0], todo[count, 1] = (start, stop) if is_a else (a, end_a)
                todo[count, 2], todo[count, 3] = (b, end_b) if is_a else (start, stop)
                count += 1
    return found


@njit_called
def set_normal(patch_weight_area, inverses, e, patch, side, out_normals):
    """Direction of the vector area of a patch in its deformed tet e; 0 if that has no volume."""
    for k in range(3):
        out_normals[side, k] = 0.0
        for i in range(3):
            out_normals[side, k] += patch_weight_area[patch, i] * inverses[e, i, k]


@njit_called
def overlap_dops(dops_a, n, dops_b, m):
    """Whether 14-DOPs n of A and m of B meet."""
    for k in range(AXIS_COUNT):
        high = AXIS_COUNT + k
        if dops_a[n, k] > dops_b[m, high] or dops_b[m, k] > dops_a[n, high]:
            return False
    return True


@njit_called
def extent(dops, n):
    """How large a 14-DOP is: the sum of its sides along x, y and z."""
    return dops[n, 7] - dops[n, 0] + dops[n, 8] - dops[n, 1] + dops[n, 9] - dops[n, 2]


@njit
def find_tet_pairs(tree_a, dops_a, tree_b, dops_b, out_tets):
    """Find the pairs of tets whose 14-DOPs meet; returns how many there are (stores those that fit)."""
    inner_a, inner_b = tree_a.shape[0], tree_b.shape[0]
    todo = np.empty((inner_a + inner_b + 2, 2), np.int64)
    todo[0, 0], todo[0, 1] = 0, 0
    count, found = 1, 0
    while count > 0:
        count -= 1
        n, m = todo[count, 0], todo[count, 1]
        if not overlap_dops(dops_a, n, dops_b, m):
            continue
        if n >= inner_a and m >= inner_b:
            if found < out_tets.shape[0]:
                out_tets[found, 0], out_tets[found, 1] = n - inner_a, m - inner_b
            found += 1
            continue
        is_a = m >= inner_b or (n < inner_a and extent(dops_a, n) >= extent(dops_b, m))
        for child in range(2):
            todo[count, 0] = tree_a[n, child] if is_a else n
            todo[count, 1] = m if is_a else tree_b[m, child]
            count += 1
    return found


@njit
def cross_tets(posed_a, posed_b, tet_pairs, leaf, out_pairs, out_ends):
    """Find all crossing pairs of triangles in pairs of tets; returns how many there are (stores those that fit).

    Rows of out_pairs (k, 6): triangle of A, of B, body and edge of the first end, of the second. Rows of out_ends
    (k, 8): shares of the way along those edges, the two points.
    """
    directions = Directions(
        factors=np.empty((2, 5, 9)),
        shifts=np.empty((2, 5, 6), np.int64),
        normals=np.empty((2, 3)),
    )
    scratch = Scratch(
        todo=np.empty((256, 4), np.int64),
        bounds=np.empty((2, 5)),
        near_a=np.empty(max(posed_a.triangles.shape[0], posed_b.triangles.shape[0]), np.int64),
        near_b=np.empty(leaf, np.int64),
        boxes_a=np.empty((leaf, 10)),
        boxes_b=np.empty((leaf, 10)),
        reach=np.empty((3, 10)),
        signs=np.empty((5, 4), np.int64),
    )
    factors, shifts, normals = directions.factors, directions.shifts, directions.normals
    nodes_a, tets_a, nodes_b, tets_b = posed_a.nodes, posed_a.tets, posed_b.nodes, posed_b.tets
    triangles_a, triangles_b = posed_a.triangles, posed_b.triangles
    mesh_a = PosedTriangles(triangles_a, posed_a.vertices)
    mesh_b = PosedTriangles(triangles_b, posed_b.vertices)
    start_a, start_b = posed_a.patch_triangle_start, posed_b.patch_triangle_start
    found = 0
    for pair in range(tet_pairs.shape[0]):
        e, f = tet_pairs[pair, 0], tet_pairs[pair, 1]
        # Bounds along three axes are those of the tets; two more directions are the patches' own.
        prepare_box(nodes_a, tets_a, e, 0, factors, shifts)
        prepare_box(nodes_b, tets_b, f, 1, factors, shifts)
        for p in range(posed_a.tet_patch_start[e], posed_a.tet_patch_start[e + 1]):
            set_normal(posed_a.patch_weight_area, posed_a.inverses, e, p, 0, normals)
            for q in range(posed_b.tet_patch_start[f], posed_b.tet_patch_start[f + 1]):
                set_normal(posed_b.patch_weight_area, posed_b.inverses, f, q, 1, normals)
                for k in range(2):
                    x, y, z = normals[k, 0], normals[k, 1], normals[k, 2]
                    prepare_axis(nodes_a, tets_a, e, x, y, z, 0, 3 + k, factors, shifts)
                    prepare_axis(nodes_b, tets_b, f, x, y, z, 1, 3 + k, factors, shifts)
                ranges = start_a[p], start_a[p + 1], start_b[q], start_b[q + 1]
                # Most patches are apart: that is seen without a call.
                roots = bdop_of(triangles_a, ranges[0]), bdop_of(triangles_b, ranges[2])
                if not overlap_nodes(roots[0], roots[1], factors, shifts):
                    continue
                found = cross_patches(
                    mesh_a, mesh_b, ranges, leaf, directions, found, scratch, out_pairs, out_ends
                )
    return found
