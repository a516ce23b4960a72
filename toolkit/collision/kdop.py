"""The coarse hierarchy over the tets of a collision surface: a tree built once, 14-DOPs refitted to every pose.

Thesis 002, sections 5.4.2 and 5.4.4. The two nodes that make the smallest one are joined until one is left. Differs
from the thesis: smallest is the area of the box, since what is flat has no volume at all, and large surfaces are
first halved into groups that are small enough for this.

The tree is one array, shape (c - 1, 2): the two children of every inner node, which come after it. Numbers from c - 1
on are leaves, c - 1 + e for tet e. Row 0 is the root, also of a surface in a single tet, which has no inner nodes.
"""

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.collision.kdop_kernels import (
    bound_tets,
    cluster_boxes,
    join_dops,
    number_tree,
)

GROUP = 512
"""Tets that are joined by looking at all pairs; the time grows with the square of it."""


def refitted_dops(nodes, tets, tet_bdop, tet_tree) -> NDArray[np.float64]:
    """14-DOPs of all nodes of the hierarchy, shape (2c - 1, 14): seven low bounds, then seven high ones [m]."""
    dops = np.empty((2 * len(tets) - 1, 14))
    bound_tets(nodes, tets, tet_bdop, dops[len(tets) - 1 :])
    join_dops(tet_tree, dops)
    return dops


def build_tet_tree(nodes, tets, tet_bdop) -> NDArray[np.int32]:
    """The hierarchy over the tets of a surface at rest, shape (c - 1, 2); nodes: rest positions [m]."""
    count = len(tets)
    tree = np.empty((max(count - 1, 0), 2), np.int32)
    if count < 2:
        return tree
    dops = np.empty((count, 14))
    bound_tets(nodes, tets, tet_bdop, dops)
    boxes = dops[:, [0, 1, 2, 7, 8, 9]]
    pairs = np.empty((count - 1, 2), np.int64)
    root, _ = _grow(boxes, np.arange(count), count, 0, pairs)
    number_tree(pairs, count, root, tree)
    return tree


def _grow(boxes, members, count, made, out_pairs) -> tuple[int, int]:
    """(root, made): name of the tree over some boxes, and how many inner nodes there are after it."""
    if len(members) == 1:
        return int(members[0]), made
    if len(members) <= GROUP:
        rows = out_pairs[made : made + len(members) - 1]
        cluster_boxes(boxes[members], members.copy(), count + made, rows)
        made += len(rows)
        return count + made - 1, made
    middle = boxes[members, :3] + boxes[members, 3:]
    axis = int(np.argmax(np.ptp(middle, axis=0)))
    order = np.argsort(middle[:, axis], kind="stable")
    half = len(members) // 2
    left, made = _grow(boxes, members[order[:half]], count, made, out_pairs)
    right, made = _grow(boxes, members[order[half:]], count, made, out_pairs)
    out_pairs[made] = left, right
    return count + made, made + 1
