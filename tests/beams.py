"""Structured beams of tetrahedra or bricks, in numpy alone, so that tests and benchmarks share them.

A beam fills the box from the origin to `size`. Nodes are numbered with z fastest; both kinds have the same nodes.
"""

from itertools import permutations

import numpy as np

SIZE = (2.1, 0.6, 0.6)
"""Length, width and height of the reference cantilever [m]."""

HEX_CORNERS = np.array(
    [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
)
"""Corners of the unit cube in VTK order, shape (8, 3)."""


def beam_tets(nx, ny, nz, size=SIZE):
    """Nodes (n, 3) [m] and tets (6 nx ny nz, 4) int32 of a beam, every volume positive.

    Each cell holds the six tets of Kuhn, which share the diagonal from its lowest to its highest corner; the six
    of a cell are neighbours in the list.
    """
    nodes, corner_node = _grid(nx, ny, nz, size)
    return nodes, corner_node(kuhn_corners()).reshape(-1, 4)


def beam_hexes(nx, ny, nz, size=SIZE):
    """Nodes (n, 3) [m] and hexes (nx ny nz, 8) int32 of a beam, corners in VTK order."""
    nodes, corner_node = _grid(nx, ny, nz, size)
    return nodes, corner_node(HEX_CORNERS)


def end_nodes(nodes):
    """Indices of the nodes at the lowest and at the highest x: the clamped end and the tip."""
    x = nodes[:, 0]
    slack = 1e-9 * np.ptp(x)
    return np.flatnonzero(x < x.min() + slack), np.flatnonzero(x > x.max() - slack)


def kuhn_corners():
    """Corners of the six tets of a unit cube, shape (6, 4, 3): walks along the axes in each order."""
    corners = np.zeros((6, 4, 3), int)
    for tet, axes in zip(corners, permutations(range(3)), strict=True):
        for step, axis in enumerate(axes):
            tet[step + 1 :, axis] += 1
        if np.linalg.det(tet[1:] - tet[0]) < 0:
            tet[[1, 2]] = tet[[2, 1]]
    return corners


def _grid(nx, ny, nz, size):
    """Nodes, and a function from corners (..., 3) of the unit cube to the nodes (cells, ...) there."""
    axes = [np.linspace(0.0, length, n + 1) for length, n in zip(size, (nx, ny, nz), strict=True)]
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    index = np.arange(len(nodes), dtype=np.int32).reshape(nx + 1, ny + 1, nz + 1)
    strides = np.array([(ny + 1) * (nz + 1), nz + 1, 1], np.int32)
    lowest = index[:-1, :-1, :-1].ravel()

    def corner_node(corners):
        offsets = (corners @ strides).astype(np.int32)
        return lowest.reshape(-1, *[1] * offsets.ndim) + offsets

    return nodes, corner_node
