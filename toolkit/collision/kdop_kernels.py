"""Bounds of deformed tets along fixed directions, and the coarse hierarchy of 14-DOPs over them.

Otaduy, Germann, Redon, Gross 2007, "Adaptive Deformations with Fast Tight Bounds", through thesis 002, eqs. 5.1-5.2:
along any direction what lies in a b-DOP is bounded by the sorted projections x0 <= x1 <= x2 <= x3 of the tet's nodes,

    low  = b0 x0 + a3 x3 + a2 x2 + (1 - b0 - a3 - a2) x1
    high = b3 x3 + a0 x0 + a1 x1 + (1 - b3 - a0 - a1) x2

whatever the sign of the last factor. Rounding enters where nodes are projected (3 roundings), where the sum is taken
(4 products of factors that add up to 5 at most), in vertices (4) and in their weights, whose sum is 1 within a few
units. All of it is below MARGIN times the greatest sum |n_k x_k| of a node, and bounds are widened by that.
"""

import numpy as np

from jellycage.toolkit.compile_kernels import njit, njit_called, njit_inside

MARGIN = 1e-14
"""Rounding of a projected vertex and of its bounds together, over the size of the projections (about 90 units)."""
AXES = np.array(
    [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [1, 1, -1], [1, -1, 1], [-1, 1, 1]], np.float64
)
"""Directions of a 14-DOP, not of unit length."""
AXIS_COUNT = 7


@njit_called
def sort_four(p0, p1, p2, p3):
    """Four numbers in ascending order, and which they were."""
    i0, i1, i2, i3 = 0, 1, 2, 3
    if p1 < p0:
        p0, p1, i0, i1 = p1, p0, i1, i0
    if p3 < p2:
        p2, p3, i2, i3 = p3, p2, i3, i2
    if p2 < p0:
        p0, p2, i0, i2 = p2, p0, i2, i0
    if p3 < p1:
        p1, p3, i1, i3 = p3, p1, i3, i1
    if p2 < p1:
        p1, p2, i1, i2 = p2, p1, i2, i1
    return p0, p1, p2, p3, i0, i1, i2, i3


@njit_called
def tight_bounds(p0, p1, p2, p3, bdops, e):
    """(low, high) of what lies in b-DOP e of (c, 8) along a direction, from the projections of the four nodes.

    Without a margin for rounding.
    """
    x0, x1, x2, x3, i0, i1, i2, i3 = sort_four(p0, p1, p2, p3)
    low = x1 + bdops[e, 4 + i0] * (x0 - x1) + bdops[e, i3] * (x3 - x1) + bdops[e, i2] * (x2 - x1)
    high = x2 + bdops[e, 4 + i3] * (x3 - x2) + bdops[e, i0] * (x0 - x2) + bdops[e, i1] * (x1 - x2)
    return low, high


@njit_called
def project_tet(nodes, tets, e, nx, ny, nz):
    """Projections of the four nodes of tet e on a direction, and the greatest sum |n_k x_k| among them."""
    a, b, c, d = nodes[tets[e, 0]], nodes[tets[e, 1]], nodes[tets[e, 2]], nodes[tets[e, 3]]
    ax, ay, az = nx * a[0], ny * a[1], nz * a[2]
    bx, by, bz = nx * b[0], ny * b[1], nz * b[2]
    cx, cy, cz = nx * c[0], ny * c[1], nz * c[2]
    dx, dy, dz = nx * d[0], ny * d[1], nz * d[2]
    size = max(
        abs(ax) + abs(ay) + abs(az),
        abs(bx) + abs(by) + abs(bz),
        abs(cx) + abs(cy) + abs(cz),
        abs(dx) + abs(dy) + abs(dz),
    )
    return ax + ay + az, bx + by + bz, cx + cy + cz, dx + dy + dz, size


@njit
def bound_tets(nodes, tets, tet_bdop, out_dops):
    """14-DOPs of what lies in each tet: low bounds along AXES, then high ones, shape (c, 14)."""
    for e in range(tets.shape[0]):
        for k in range(AXIS_COUNT):
            p0, p1, p2, p3, size = project_tet(nodes, tets, e, AXES[k, 0], AXES[k, 1], AXES[k, 2])
            low, high = tight_bounds(p0, p1, p2, p3, tet_bdop, e)
            out_dops[e, k] = low - MARGIN * size
            out_dops[e, AXIS_COUNT + k] = high + MARGIN * size


@njit
def join_dops(tree, out_dops):
    """14-DOPs of the inner nodes of the hierarchy, the first rows of out_dops (2c - 1, 14), from those of the tets."""
    for n in range(tree.shape[0] - 1, -1, -1):
        left, right = tree[n, 0], tree[n, 1]
        for k in range(AXIS_COUNT):
            out_dops[n, k] = min(out_dops[left, k], out_dops[right, k])
            high = AXIS_COUNT + k
            out_dops[n, high] = max(out_dops[left, high], out_dops[right, high])


@njit_called
def joined_area(boxes, i, j):
    """Half the area of the box around two boxes (low corner, high corner)."""
    dx = max(boxes[i, 3], boxes[j, 3]) - min(boxes[i, 0], boxes[j, 0])
    dy = max(boxes[i, 4], boxes[j, 4]) - min(boxes[i, 1], boxes[j, 1])
    dz = max(boxes[i, 5], boxes[j, 5]) - min(boxes[i, 2], boxes[j, 2])
    return dx * dy + dy * dz + dz * dx


@njit_inside
def find_partner(boxes, live, i):
    """The other live box that makes the smallest box with box i, and the area of that."""
    best, smallest = -1, np.inf
    for j in range(live):
        if j != i:
            area = joined_area(boxes, i, j)
            if area < smallest:
                best, smallest = j, area
    return best, smallest


@njit
def cluster_boxes(boxes, number, first, out_pairs):
    """Join the two boxes that make the smallest one until one is left; its number is the last one given.

    boxes (n, 6) and number (n,), the names of the boxes, are used up. Row i of out_pairs names what was joined into
    box first + i.
    """
    live = boxes.shape[0]
    partner, area = np.empty(live, np.int64), np.empty(live)
    for i in range(live):
        partner[i], area[i] = find_partner(boxes, live, i)
    made = 0
    while live > 1:
        i = 0
        for j in range(1, live):
            if area[j] < area[i]:
                i = j
        i, j = min(i, partner[i]), max(i, partner[i])
        out_pairs[made, 0], out_pairs[made, 1] = number[i], number[j]
        for k in range(3):
            boxes[i, k] = min(boxes[i, k], boxes[j, k])
            boxes[i, 3 + k] = max(boxes[i, 3 + k], boxes[j, 3 + k])
        number[i] = first + made
        made += 1
        live -= 1
        # The last box moves to place j. Others keep their partners: the joined box is no better than its parts were.
        for k in range(6):
            boxes[j, k] = boxes[live, k]
        number[j], area[j], partner[j] = number[live], area[live], partner[live]
        for n in range(live):
            at = partner[n]
            if n == i or at == i or at == j:
                partner[n], area[n] = find_partner(boxes, live, n)
            elif at == live:
                partner[n] = j


@njit
def number_tree(pairs, count, root, out_tree):
    """Number the inner nodes of a tree over `count` leaves so that children come after their parents.

    pairs: names of the two children of inner node count + i; below `count` a name is a leaf. In out_tree leaf e is
    count - 1 + e.
    """
    todo = np.empty((count + 1, 3), np.int64)
    todo[0, 0], todo[0, 1], todo[0, 2] = root, -1, 0
    left, made = 1, 0
    while left > 0:
        left -= 1
        name, parent, side = todo[left, 0], todo[left, 1], todo[left, 2]
        at = count - 1 + name if name < count else made
        if parent >= 0:
            out_tree[parent, side] = at
        if name >= count:
            made += 1
            for child in range(2):
                todo[left, 0] = pairs[name - count, 1 - child]
                todo[left, 1], todo[left, 2] = at, 1 - child
                left += 1
