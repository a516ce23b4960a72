"""The first hit or all hits of many rays on a posed surface."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.collision.bdop_kernels import bdop_of, index_mask
from jellycage.toolkit.collision.bounds_kernels import prepare_box
from jellycage.toolkit.collision.kdop_kernels import AXIS_COUNT
from jellycage.toolkit.collision.rays_kernels import (
    enter_box,
    enter_dop,
    enter_weights,
    hit_triangle,
    prepare_ray,
    prepare_weights,
)
from jellycage.toolkit.compile_kernels import njit, njit_borrowing, njit_called, njit_inside


class RayRoom(NamedTuple):
    """A prepared ray, see `prepare_ray`."""

    ray: NDArray[np.float64]
    axes: NDArray[np.uint32]
    slab: NDArray[np.float64]


class TetRoom(NamedTuple):
    """A tet prepared for a ray: its slabs of weights, see `prepare_weights`, or, if it is flat, its bounds."""

    slabs: NDArray[np.float64]
    shift: NDArray[np.int64]
    factors: NDArray[np.float64]
    shifts: NDArray[np.int64]


class Stacks(NamedTuple):
    """What waits in the hierarchy of tets, and in that of a patch, with the parameters at which the ray enters it."""

    todo: NDArray[np.uint32]
    enter: NDArray[np.float64]
    first: NDArray[np.uint32]
    last: NDArray[np.uint32]
    entry: NDArray[np.float64]


@njit_inside
def enter_bdop(triangles, t, slack, until, slab, is_flat, slabs, shift, factors, shifts):
    """Parameter after the start at which a prepared ray enters the b-DOP of triangle t; inf: not until `until`."""
    box = bdop_of(triangles, t)
    if is_flat:
        at = enter_box(box, factors, shifts, slab, 0.0, until)
    else:
        at = enter_weights(box, slabs, shift, -slack, until)
    return at


@njit_inside
def cast_in_tet(
    posed, e, start, limit, slack, row, found, prepared, room, stacks, out_hits, out_triangle
):
    """Hits of a prepared ray in tet e up to `limit`; returns how many there are now, and the new limit.

    The ray enters the tet at `start`. With row < 0 all hits are kept, from row `found` of the outputs on as far as
    there are rows; otherwise the first one, in that row.
    """
    nodes, tets, triangles, vertices = posed.nodes, posed.tets, posed.triangles, posed.vertices
    patch_start, triangle_start = posed.tet_patch_start, posed.patch_triangle_start
    ray, axes, slab = prepared.ray, prepared.axes, prepared.slab
    slabs, shift, factors, shifts = room.slabs, room.shift, room.factors, room.shifts
    first, last, entry = stacks.first, stacks.last, stacks.entry
    # Where the tet is too flat for weights to mean much, in the world and from the ray's own start.
    is_flat = not prepare_weights(
        nodes, tets[e, 3], posed.inverses, posed.conditions, e, start, ray, slabs, shift
    )
    if is_flat:
        prepare_box(nodes, tets, e, 0, factors, shifts)
        start = 0.0
    mask = index_mask(triangles)
    for patch in range(patch_start[e], patch_start[e + 1]):
        t, end = np.uint32(triangle_start[patch]), np.uint32(triangle_start[patch + 1])
        until = limit + slack - start
        far = enter_bdop(triangles, t, slack, until, slab, is_flat, slabs, shift, factors, shifts)
        if far == np.inf:
            continue
        # Down the tree of the patch: the triangle of a node, then its children.
        count = 0
        while True:
            i = np.int64(triangles[t, 0]) & mask
            j = np.int64(triangles[t, 1]) & mask
            k = np.int64(triangles[t, 2]) & mask
            at, u, v, w = hit_triangle(vertices, i, j, k, ray, axes)
            if at >= 0.0 and at <= limit:
                place = found if row < 0 else row
                if row < 0 or found == 0 or at < limit or t < out_triangle[row]:
                    if place < out_hits.shape[0]:
                        out_triangle[place], out_hits[place, 0] = t, at
                        out_hits[place, 1], out_hits[place, 2] = u, v
                        out_hits[place, 3] = w
                    found += 1
                if row >= 0:
                    limit = at
                    until = limit + slack - start
            # On with the child that the ray enters first; the other one waits.
            left, near, far = np.uint32(t + 1), np.inf, np.inf
            middle = np.uint32(left + ((end - left) >> 1))
            if left < end:
                far = enter_bdop(
                    triangles, middle, slack, until, slab, is_flat, slabs, shift, factors, shifts
                )
            if left < middle:
                near = enter_bdop(
                    triangles, left, slack, until, slab, is_flat, slabs, shift, factors, shifts
                )
            if near < np.inf:
                t = left
                if far < near:
                    first[count], last[count], entry[count] = left, middle, near
                    t, count = middle, count + 1
                elif far < np.inf:
                    first[count], last[count], entry[count] = middle, end, far
                    end, count = middle, count + 1
                else:
                    end = middle
                continue
            if far < np.inf:
                t = middle
                continue
            count -= 1
            while count >= 0 and entry[count] > until:
                count -= 1
            if count < 0:
                break
            t, end = first[count], last[count]
    return found, limit


@njit_borrowing
def cast_with(
    posed,
    origins,
    directions,
    limits,
    keep_all,
    prepared,
    room,
    stacks,
    out_start,
    out_hits,
    out_triangle,
):
    """`cast` with room for a prepared ray and tet, and for what waits in both hierarchies."""
    tree, dops, todo, enter = posed.tet_tree, posed.dops, stacks.todo, stacks.enter
    ray, axes, slab = prepared.ray, prepared.axes, prepared.slab
    inner = tree.shape[0]
    found = 0
    for r in range(origins.shape[0]):
        # All hits are kept in rows that grow; of nearest hits the ray has one row.
        limit, row = limits[r], -1
        if keep_all:
            out_start[r] = found
        else:
            out_triangle[r], out_hits[r, 0] = -1, np.inf
            found, row = 0, r
        slack = prepare_ray(origins, directions, r, dops, ray, axes, slab)
        count = 0
        if slack >= 0.0:
            todo[0], enter[0] = 0, enter_dop(dops, np.uint32(0), slab, limit + slack)
            count = 1 if enter[0] < np.inf else 0
        while count > 0:
            count -= 1
            if enter[count] > limit + slack:
                continue
            n = todo[count]
            start = enter[count]
            while n < inner:
                # On with the child that the ray enters first; the other one waits.
                left, right = np.uint32(tree[n, 0]), np.uint32(tree[n, 1])
                near = enter_dop(dops, left, slab, limit + slack)
                far = enter_dop(dops, right, slab, limit + slack)
                if far < near:
                    near, far, left, right = far, near, right, left
                n, start = left, near
                if near == np.inf:
                    break
                if far < np.inf:
                    todo[count], enter[count] = right, far
                    count += 1
            if start == np.inf:
                continue
            # A tet: its patches may bring the limit nearer.
            e = n - inner
            found, limit = cast_in_tet(
                posed,
                e,
                start,
                limit,
                slack,
                row,
                found,
                prepared,
                room,
                stacks,
                out_hits,
                out_triangle,
            )
        if keep_all and found <= out_triangle.shape[0]:
            sort_hits(out_start[r], found, out_hits, out_triangle)
    out_start[out_start.shape[0] - 1] = found
    return found


@njit
def cast(posed, origins, directions, limits, keep_all, out_start, out_hits, out_triangle):
    """Cast rays; out_hits (h, 4): parameter and corner weights of hits, out_triangle (h,).

    With keep_all: hits of ray r are rows out_start[r] to out_start[r + 1], by parameter and then by triangle; returns
    how many there are (stores those that fit). Otherwise row r is the first hit of ray r, triangle -1 if none.
    """
    # Indices without a sign, so that none is tested for counting from the end.
    prepared = RayRoom(
        ray=np.empty(10), axes=np.empty(3, np.uint32), slab=np.empty((3, AXIS_COUNT))
    )
    room = TetRoom(
        slabs=np.empty((3, 4)),
        shift=np.empty((2, 4), np.int64),
        factors=np.empty((1, 3, 9)),
        shifts=np.empty((1, 3, 6), np.int64),
    )
    count = posed.tets.shape[0]
    stacks = Stacks(
        todo=np.empty(count + 1, np.uint32),
        enter=np.empty(count + 1),
        first=np.empty(128, np.uint32),
        last=np.empty(128, np.uint32),
        entry=np.empty(128),
    )
    return cast_with(
        posed,
        origins,
        directions,
        limits,
        keep_all,
        prepared,
        room,
        stacks,
        out_start,
        out_hits,
        out_triangle,
    )


@njit_called
def sort_hits(first, last, hits, triangle):
    """Sort the hits of one ray, rows first to last, by parameter and then by triangle."""
    for i in range(first + 1, last):
        for j in range(i, first, -1):
            is_later = hits[j - 1, 0] > hits[j, 0]
            is_later |= hits[j - 1, 0] == hits[j, 0] and triangle[j - 1] > triangle[j]
            if not is_later:
                break
            triangle[j - 1], triangle[j] = triangle[j], triangle[j - 1]
            for c in range(4):
                hits[j - 1, c], hits[j, c] = hits[j, c], hits[j - 1, c]
