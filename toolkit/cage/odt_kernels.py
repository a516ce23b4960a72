"""One pass of fitting: outer nodes move towards their ODT optimum and stop before the surface.

Alliez, Cohen-Steiner, Yvinec, Desbrun 2005, "Variational Tetrahedral Meshing", doi:10.1145/1073204.1073238: the local
optimum x* = sum |T| c_T / sum |T| over the 1-ring, c_T the circumcentres.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.compile_kernels import njit, njit_called, njit_inside
from jellycage.toolkit.geometry_kernels import (
    clip_to_tet,
    clipping_room,
    min_dihedral_cosine,
    sort_with,
    tet_planes,
    tet_volume6,
)

HALVINGS = 5
"""How often a step is halved before the node stays."""
RUN = 8
"""Triangles that share a box."""


class OuterNodes(NamedTuple):
    """The nodes that move, and what is around each, as CSR over them."""

    node: NDArray[np.int64]
    ring_start: NDArray[np.int64]
    ring: NDArray[np.int64]
    """Tets at it."""
    fan_start: NDArray[np.int64]
    fan: NDArray[np.int64]
    """The two other nodes of each outer face at it, shape (k, 2)."""
    near_start: NDArray[np.int64]
    near: NDArray[np.int64]
    """Elements whose triangles may meet those faces."""


class BoxedSurface(NamedTuple):
    """The surface, its triangles in each element (CSR), and their boxes; see `pack_boxes`."""

    points: NDArray[np.float64]
    faces: NDArray[np.int64]
    element_start: NDArray[np.int64]
    element_faces: NDArray[np.int64]
    box: NDArray[np.float64]


@njit_called
def circumcentre_and_volume(a, b, c, d, out_centre):
    """Circumcentre of a tet; returns six times its volume."""
    volume6 = tet_volume6(a, b, c, d)
    uu, vv, ww = 0.0, 0.0, 0.0
    for axis in range(3):
        uu += (b[axis] - a[axis]) ** 2
        vv += (c[axis] - a[axis]) ** 2
        ww += (d[axis] - a[axis]) ** 2
    for x in range(3):
        y, z = (x + 1) % 3, (x + 2) % 3
        uy, uz = b[y] - a[y], b[z] - a[z]
        vy, vz = c[y] - a[y], c[z] - a[z]
        wy, wz = d[y] - a[y], d[z] - a[z]
        step = uu * (vy * wz - vz * wy) + vv * (wy * uz - wz * uy) + ww * (uy * vz - uz * vy)
        out_centre[x] = a[x] + step / (2.0 * volume6)
    return volume6


@njit_inside
def odt_optimum(i, nodes, tets, ring, out_target):
    """Volume-weighted mean of the circumcentres around node i."""
    centre = np.empty(3)
    total = 0.0
    for axis in range(3):
        out_target[axis] = 0.0
    for e in ring:
        volume = circumcentre_and_volume(
            nodes[tets[e, 0]], nodes[tets[e, 1]], nodes[tets[e, 2]], nodes[tets[e, 3]], centre
        )
        total += volume
        for axis in range(3):
            out_target[axis] += volume * centre[axis]
    for axis in range(3):
        out_target[axis] /= total


@njit_called
def worst_cosine(nodes, tets, ring):
    """Cosine of the smallest dihedral among some tets (2 if one is inverted)."""
    worst = -1.0
    for e in ring:
        worst = max(
            worst,
            min_dihedral_cosine(
                nodes[tets[e, 0]], nodes[tets[e, 1]], nodes[tets[e, 2]], nodes[tets[e, 3]]
            ),
        )
    return worst


@njit
def pack_boxes(element_start, element_faces, face_box, out_order, out_box):
    """Reorder each element's triangles along a space-filling curve, and box them in runs of RUN.

    out_order: the reordered element_faces; out_box (r, 6): boxes, element e's from run_start(element_start[e], e) on.
    """
    longest = 0
    for e in range(element_start.shape[0] - 1):
        longest = max(longest, element_start[e + 1] - element_start[e])
    keys = np.empty(longest, np.int64)
    load = np.empty(longest, np.int64)
    for e in range(element_start.shape[0] - 1):
        first, count = element_start[e], element_start[e + 1] - element_start[e]
        for p in range(count):
            t = element_faces[first + p]
            load[p] = t
            keys[p] = 0
            for axis in range(3):
                middle = 0.5 * (face_box[t, axis] + face_box[t, axis + 3])
                # Sixteenths of a cell, bits of the axes interleaved (Morton order).
                q = int(np.floor(16.0 * middle)) & 127
                for bit in range(7):
                    keys[p] |= ((q >> bit) & 1) << (3 * bit + axis)
        sort_with(keys, load, count)
        run = run_start(first, e)
        for p in range(count):
            t = load[p]
            out_order[first + p] = t
            r = run + p // RUN
            for axis in range(3):
                low, high = face_box[t, axis], face_box[t, axis + 3]
                is_first = p % RUN == 0
                out_box[r, axis] = low if is_first else min(out_box[r, axis], low)
                out_box[r, axis + 3] = high if is_first else max(out_box[r, axis + 3], high)


@njit_called
def run_start(first, e):
    """Row of an element's first box: enough room for every element's last, part-filled run."""
    return first // RUN + e


@njit_inside
def gather_near(low, high, elements, surface, out_runs):
    """Runs of triangles (first, last) of some elements whose boxes meet a box; returns how many."""
    element_start, box = surface.element_start, surface.box
    n = 0
    for e in elements:
        first, last = element_start[e], element_start[e + 1]
        r = run_start(first, e)
        for p in range(first, last, RUN):
            if (
                (box[r, 0] <= high[0] and box[r, 3] >= low[0])
                and (box[r, 1] <= high[1] and box[r, 4] >= low[1])
                and (box[r, 2] <= high[2] and box[r, 5] >= low[2])
            ):
                out_runs[n, 0], out_runs[n, 1], out_runs[n, 2] = p, min(p + RUN, last), r
                n += 1
            r += 1
    return n


@njit_called
def is_box_beyond(plane, box, margin):
    """Whether a box lies wholly on the negative side of a plane, by more than the margin."""
    reach = -plane[3] + margin
    for axis in range(3):
        reach += plane[axis] * (box[axis + 3] if plane[axis] > 0.0 else box[axis])
    return reach < 0.0


@njit_called
def height(plane, p):
    """Signed distance of a point from a plane."""
    return plane[0] * p[0] + plane[1] * p[1] + plane[2] * p[2] - plane[3]


@njit_called
def sweep_hits(x, target, a, b, surface, runs, run_count, margin, clipping):
    """Whether the tet that face (x, a, b) sweeps when x moves to target meets a triangle of the runs."""
    points, faces = surface.points, surface.faces
    element_faces, box, planes = surface.element_faces, surface.box, clipping.planes
    if tet_volume6(x, target, a, b) >= 0.0:
        tet_planes(x, target, a, b, planes)
    else:
        tet_planes(target, x, a, b, planes)
    for n in range(run_count):
        apart = False
        for m in range(4):
            if is_box_beyond(planes[m], box[runs[n, 2]], margin):
                apart = True
                break
        if apart:
            continue
        for r in range(runs[n, 0], runs[n, 1]):
            t = element_faces[r]
            p, q, s = points[faces[t, 0]], points[faces[t, 1]], points[faces[t, 2]]
            apart = False
            for m in range(4):
                plane = planes[m]
                if (
                    height(plane, p) < -margin
                    and height(plane, q) < -margin
                    and height(plane, s) < -margin
                ):
                    apart = True
                    break
            if apart:
                continue
            if clip_to_tet(p, q, s, margin, clipping) > 0:
                return True
    return False


@njit_inside
def worst_cosine_at(i, at, nodes, tets, ring):
    """worst_cosine with node i moved to another place."""
    x, y, z = nodes[i, 0], nodes[i, 1], nodes[i, 2]
    nodes[i, 0], nodes[i, 1], nodes[i, 2] = at[0], at[1], at[2]
    worst = worst_cosine(nodes, tets, ring)
    nodes[i, 0], nodes[i, 1], nodes[i, 2] = x, y, z
    return worst


@njit_inside
def fan_hits(i, target, nodes, fan, surface, runs, run_count, margin, clipping):
    """Whether a face of the fan would sweep over a triangle of the runs if node i moved to target."""
    for f in range(fan.shape[0]):
        a, b = nodes[fan[f, 0]], nodes[fan[f, 1]]
        if sweep_hits(nodes[i], target, a, b, surface, runs, run_count, margin, clipping):
            return True
    return False


@njit_inside
def advance(i, step, nodes, tets, ring, fan, near, surface, limit, margin, runs, clipping):
    """Move node i by as much of a step as shape and surface allow; returns whether it moved.

    The step is halved until the tets around keep their dihedral angles, which is the cheaper test, and then until no
    outer face sweeps over the surface either.
    """
    target, low, high = np.empty(3), np.empty(3), np.empty(3)
    tries = 0
    run_count = -1
    while tries < HALVINGS:
        for axis in range(3):
            target[axis] = nodes[i, axis] + step[axis]
            step[axis] *= 0.5
        tries += 1
        if worst_cosine_at(i, target, nodes, tets, ring) > limit:
            continue
        if run_count < 0:
            for axis in range(3):
                low[axis] = min(nodes[i, axis], target[axis])
                high[axis] = max(nodes[i, axis], target[axis])
                for f in range(fan.shape[0]):
                    for c in range(2):
                        low[axis] = min(low[axis], nodes[fan[f, c], axis])
                        high[axis] = max(high[axis], nodes[fan[f, c], axis])
                low[axis] -= margin
                high[axis] += margin
            run_count = gather_near(low, high, near, surface, runs)
        if not fan_hits(i, target, nodes, fan, surface, runs, run_count, margin, clipping):
            for axis in range(3):
                nodes[i, axis] = target[axis]
            return True
    return False


@njit
def fit_pass(nodes, tets, outer, surface, relaxation, cosine_limit, margin, moved_at, tried_at):
    """Move every outer node once, in order; returns how many moved.

    moved_at, tried_at (per node): a clock that lets a node rest until a neighbour has moved; moved_at starts at 0,
    tried_at at -1.
    """
    clipping = clipping_room()
    runs = np.empty((surface.box.shape[0], 3), np.int64)
    step = np.empty(3)
    moved = 0
    clock = 0
    for i in range(moved_at.shape[0]):
        clock = max(clock, moved_at[i], tried_at[i])
    for n in range(outer.node.shape[0]):
        i = outer.node[n]
        own = outer.ring[outer.ring_start[n] : outer.ring_start[n + 1]]
        latest = 0
        for e in own:
            for c in range(4):
                latest = max(latest, moved_at[tets[e, c]])
        if latest <= tried_at[i]:
            continue
        clock += 1
        tried_at[i] = clock
        odt_optimum(i, nodes, tets, own, step)
        for axis in range(3):
            step[axis] = relaxation * (step[axis] - nodes[i, axis])
        limit = max(cosine_limit, worst_cosine(nodes, tets, own))
        fan = outer.fan[outer.fan_start[n] : outer.fan_start[n + 1]]
        near = outer.near[outer.near_start[n] : outer.near_start[n + 1]]
        if advance(i, step, nodes, tets, own, fan, near, surface, limit, margin, runs, clipping):
            moved += 1
            clock += 1
            moved_at[i] = clock
    return moved
