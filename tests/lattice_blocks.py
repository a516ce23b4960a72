"""Blocks of the cage's lattice as tets, for surfaces that lie exactly on its faces, edges and nodes."""

import numpy as np

from jellycage.toolkit.cage.lattice import TET_CORNERS


def lattice_block(size):
    """(nodes, tets, cell): size^3 unit cubes of five tets each, rows of tets ascending."""
    side = np.arange(size)
    cube = np.stack(np.meshgrid(side, side, side, indexing="ij"), axis=-1).reshape(-1, 3)
    corners = cube[:, None, None] + TET_CORNERS[cube.sum(axis=1) % 2]
    nodes, node = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    tets = np.sort(node.reshape(-1, 4), axis=1).astype(np.int32)
    return nodes.astype(float), tets, np.arange(len(tets))


def tets_around(points, nodes, tets):
    """For each point a tet that holds it or is nearest to doing so, shape (n,)."""
    corners = nodes[tets]
    maps = np.linalg.inv((corners[:, 1:] - corners[:, :1]).transpose(0, 2, 1))
    found = []
    for point in points:
        rest = np.einsum("exy,ey->ex", maps, point - corners[:, 0])
        least = np.minimum(rest.min(axis=1), 1.0 - rest.sum(axis=1))
        found.append(int(least.argmax()))
    return np.array(found)
