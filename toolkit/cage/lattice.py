"""The regular lattice of the cage: cubes of side 1, each cut into five tets, as tables.

Every cube is cut into a regular inner tet on its four even corners (i + j + k even) and a corner tet at each odd
corner; the diagonals of shared cube faces agree because parity is global [thesis ch. 5.3.1, step 1]. All faces then
lie on seven families of parallel planes, the integer levels of seven linear forms:

    f0 = x   f1 = y   f2 = z   f3 = (x+y+z)/2   f4 = (x-y-z)/2   f5 = (-x+y-z)/2   f6 = (-x-y+z)/2

so a point's tet follows from seven floors, and a segment's tets from sorting its crossings of integer levels.
Tet 0 of a cube is the inner one; tet k = 1..4 is cut off by a level of f3, f4, f5, f6 respectively.

Edges have nine directions; an edge line is the intersection of an integer level of two forms (`LINE_FORMS`), and the
third coordinate along it (`LINE_AXIS`) is an integer at the nodes.
"""

from itertools import product

import numpy as np

FORMS = np.array(
    [
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
        [0.5, 0.5, 0.5],
        [0.5, -0.5, -0.5],
        [-0.5, 0.5, -0.5],
        [-0.5, -0.5, 0.5],
    ]
)
"""Coefficients of the seven forms, shape (7, 3)."""

DIRECTIONS = np.array(
    [
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
        [0, 1, -1],
        [0, 1, 1],
        [1, 0, -1],
        [1, 0, 1],
        [1, -1, 0],
        [1, 1, 0],
    ],
    dtype=np.int64,
)
"""The nine edge directions, shape (9, 3)."""

LINE_FORMS = np.array(
    [[1, 2], [2, 0], [0, 1], [0, 3], [0, 5], [1, 3], [1, 4], [2, 3], [2, 4]], dtype=np.int64
)
"""The two forms that are constant along each direction, shape (9, 2)."""

LINE_AXIS = np.array([0, 1, 2, 1, 1, 0, 0, 0, 0], dtype=np.int64)
"""The coordinate that grows by one along each direction."""

# Corners of the cube that carry tets 1..4, for even and odd cubes, and the even corners of the inner tet.
ODD_CORNERS = (
    ((1, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1)),
    ((0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)),
)


def _line_signs():
    """Sign of n.D for a triangle whose corners run counter-clockwise in its two line forms."""
    signs = []
    for direction, forms in zip(DIRECTIONS, LINE_FORMS, strict=True):
        basis = np.linalg.pinv(FORMS[forms])
        signs.append(np.sign(np.linalg.det(np.column_stack([basis, direction]))))
    return np.array(signs, dtype=np.int64)


def _tet_corners():
    corners = np.zeros((2, 5, 4, 3), dtype=np.int64)
    for parity in range(2):
        odd = np.array(ODD_CORNERS[parity])
        corners[parity, 0] = 1 - odd
        for k, corner in enumerate(odd, start=1):
            corners[parity, k, 0] = corner
            corners[parity, k, 1:] = np.abs(corner - np.eye(3, dtype=np.int64))
        for k in range(5):
            tet = corners[parity, k]
            if np.linalg.det(tet[1:] - tet[0]) < 0:
                tet[[2, 3]] = tet[[3, 2]]
    return corners


LINE_SIGN = _line_signs()
TET_CORNERS = _tet_corners()
"""Corners of the five tets of an even and an odd cube, shape (2, 5, 4, 3), positive volumes."""


def _tets_of_cubes(reach):
    """Every tet of the cubes near the origin: a dict from its sorted nodes to (cube, k)."""
    found = {}
    for cube in product(range(-reach, reach + 1), repeat=3):
        for k in range(5):
            nodes = TET_CORNERS[sum(cube) % 2, k] + np.array(cube)
            found[tuple(sorted(map(tuple, nodes)))] = (cube, k)
    return found


def _neighbours():
    """Across the face opposite to each corner: cube offset and tet (2,5,4,4), and where each corner goes (2,5,4,4)."""
    across = np.zeros((2, 5, 4, 4), dtype=np.int64)
    match = np.full((2, 5, 4, 4), -1, dtype=np.int64)
    by_nodes = _tets_of_cubes(2)
    for parity, k, m in product(range(2), range(5), range(4)):
        cube = np.array([parity, 0, 0])
        nodes = [tuple(c) for c in TET_CORNERS[parity, k] + cube]
        face = set(nodes[:m] + nodes[m + 1 :])
        for other, (other_cube, other_k) in by_nodes.items():
            if face < set(other) and nodes[m] not in other:
                across[parity, k, m] = [*(np.array(other_cube) - cube), other_k]
                other_nodes = TET_CORNERS[sum(other_cube) % 2, other_k] + np.array(other_cube)
                order = [tuple(c) for c in other_nodes]
                for c in range(4):
                    if c != m:
                        match[parity, k, m, c] = order.index(nodes[c])
    return across, match


NEIGHBOUR, FACE_MATCH = _neighbours()


def _tets_around_edges():
    """Tets around the edge from a node of each parity along each direction, in cyclic order: (2, 9, 6, 4)."""
    around = np.full((2, 9, 6, 4), -9, dtype=np.int64)
    count = np.zeros((2, 9), dtype=np.int64)
    by_nodes = _tets_of_cubes(2)
    for parity, d in product(range(2), range(9)):
        start = np.array([parity, 0, 0])
        ends = {tuple(start), tuple(start + DIRECTIONS[d])}
        ring = {nodes: tet for nodes, tet in by_nodes.items() if ends < set(nodes)}
        if not ring:
            continue
        order = [min(ring)]
        while len(order) < len(ring):
            last = set(order[-1])
            order.append(
                next(n for n in sorted(ring) if n not in order and len(last & set(n)) == 3)
            )
        count[parity, d] = len(order)
        for row, nodes in enumerate(order):
            cube, k = ring[nodes]
            around[parity, d, row] = [*(np.array(cube) - start), k]
    return around, count


EDGE_RING, EDGE_RING_COUNT = _tets_around_edges()


def _tet_edges():
    """The six edges of each tet: the two local corners (lower end first) and the direction, (2, 5, 6, 3)."""
    edges = np.zeros((2, 5, 6, 3), dtype=np.int64)
    for parity, k in product(range(2), range(5)):
        row = 0
        for a, b in product(range(4), range(4)):
            step = TET_CORNERS[parity, k, b] - TET_CORNERS[parity, k, a]
            hit = np.flatnonzero((step == DIRECTIONS).all(axis=1))
            if a != b and len(hit):
                edges[parity, k, row] = [a, b, hit[0]]
                row += 1
    return edges


TET_EDGES = _tet_edges()
