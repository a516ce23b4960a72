"""One pass of fitting: outer nodes move towards their ODT optimum and stop before the surface.

Alliez, Cohen-Steiner, Yvinec, Desbrun 2005, "Variational Tetrahedral Meshing", doi:10.1145/1073204.1073238: the local
optimum x* = sum |T| c_T / sum |T| over the 1-ring, c_T the circumcentres.
"""

import numpy as np

from toolkit.compile_kernels import njit
from toolkit.geometry_kernels import (
    clip_to_tet,
    min_dihedral_cosine,
    tet_planes,
    tet_volume6,
)

HALVINGS = 5


@njit
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


@njit
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


@njit
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
def gather_near(low, high, elements, element_start, element_faces, face_box, mark, stamp, out_near):
    """Triangles of some elements whose boxes meet a box, each once; returns how many."""
    n = 0
    for e in elements:
        for p in range(element_start[e], element_start[e + 1]):
            t = element_faces[p]
            if mark[t] == stamp:
                continue
            mark[t] = stamp
            if (
                face_box[t, 0] <= high[0] and face_box[t, 3] >= low[0]
                and face_box[t, 1] <= high[1] and face_box[t, 4] >= low[1]
                and face_box[t, 2] <= high[2] and face_box[t, 5] >= low[2]
            ):  # fmt: skip
                out_near[n] = t
                n += 1
    return n


@njit
def sweep_hits(x, target, a, b, points, faces, near, near_count, margin, buffers):
    """Whether the tet that face (x, a, b) sweeps when x moves to target meets one of the near triangles."""
    planes, polygon, labels, spare, spare_labels = buffers
    if tet_volume6(x, target, a, b) >= 0.0:
        tet_planes(x, target, a, b, planes)
    else:
        tet_planes(target, x, a, b, planes)
    low, high = np.empty(3), np.empty(3)
    for axis in range(3):
        low[axis] = min(x[axis], target[axis], a[axis], b[axis]) - margin
        high[axis] = max(x[axis], target[axis], a[axis], b[axis]) + margin
    for n in range(near_count):
        p, q, r = points[faces[near[n], 0]], points[faces[near[n], 1]], points[faces[near[n], 2]]
        apart = False
        for axis in range(3):
            apart |= p[axis] < low[axis] and q[axis] < low[axis] and r[axis] < low[axis]
            apart |= p[axis] > high[axis] and q[axis] > high[axis] and r[axis] > high[axis]
        if apart:
            continue
        if clip_to_tet(p, q, r, planes, margin, polygon, labels, spare, spare_labels) > 0:
            return True
    return False


@njit
def fit_pass(
    nodes, tets, outer_nodes, ring_start, ring, fan_start, fan, near_start, near_elements,
    element_start, element_faces, points, faces, face_box, relaxation, cosine_limit, margin,
):  # fmt: skip
    """Move every outer node once, in order; returns the sum of the distances moved.

    ring: tets around each outer node (CSR); fan: the two other nodes of each outer face at it (CSR);
    near_elements: elements whose triangles may meet those faces (CSR).
    """
    buffers = (
        np.empty((4, 4)),
        np.empty((8, 3)),
        np.empty(8, np.int64),
        np.empty((8, 3)),
        np.empty(8, np.int64),
    )
    mark = np.full(faces.shape[0], -1, np.int64)
    near = np.empty(faces.shape[0], np.int64)
    target, step, old = np.empty(3), np.empty(3), np.empty(3)
    low, high = np.empty(3), np.empty(3)
    moved = 0.0
    for n in range(outer_nodes.shape[0]):
        i = outer_nodes[n]
        own = ring[ring_start[n] : ring_start[n + 1]]
        odt_optimum(i, nodes, tets, own, target)
        for axis in range(3):
            old[axis] = nodes[i, axis]
            step[axis] = relaxation * (target[axis] - old[axis])
        # Quality first: it is the cheaper test.
        limit = max(cosine_limit, worst_cosine(nodes, tets, own))
        share = 1.0
        tries = 0
        while tries < HALVINGS:
            for axis in range(3):
                nodes[i, axis] = old[axis] + share * step[axis]
            if worst_cosine(nodes, tets, own) <= limit:
                break
            share *= 0.5
            tries += 1
        for axis in range(3):
            target[axis] = nodes[i, axis]
            nodes[i, axis] = old[axis]
        if tries == HALVINGS:
            continue
        for axis in range(3):
            low[axis] = min(old[axis], target[axis])
            high[axis] = max(old[axis], target[axis])
        for f in range(fan_start[n], fan_start[n + 1]):
            for c in range(2):
                for axis in range(3):
                    low[axis] = min(low[axis], nodes[fan[f, c], axis])
                    high[axis] = max(high[axis], nodes[fan[f, c], axis])
        for axis in range(3):
            low[axis] -= margin
            high[axis] += margin
        near_count = gather_near(
            low, high, near_elements[near_start[n] : near_start[n + 1]],
            element_start, element_faces, face_box, mark, n, near,
        )  # fmt: skip
        while tries < HALVINGS:
            hit = False
            for f in range(fan_start[n], fan_start[n + 1]):
                if sweep_hits(
                    old, target, nodes[fan[f, 0]], nodes[fan[f, 1]],
                    points, faces, near, near_count, margin, buffers,
                ):  # fmt: skip
                    hit = True
                    break
            if not hit:
                break
            for axis in range(3):
                target[axis] = 0.5 * (old[axis] + target[axis])
            tries += 1
        if tries == HALVINGS:
            continue
        # A shorter step keeps the dihedrals only if it is checked again.
        for axis in range(3):
            nodes[i, axis] = target[axis]
        if worst_cosine(nodes, tets, own) > limit:
            for axis in range(3):
                nodes[i, axis] = old[axis]
            continue
        moved += np.sqrt(
            (target[0] - old[0]) ** 2 + (target[1] - old[1]) ** 2 + (target[2] - old[2]) ** 2
        )
    return moved
