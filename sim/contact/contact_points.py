"""Where a body can be touched: the vertices of its visible surface, and more where its triangles are large.

A vertex is a point of the element that holds it. Triangles that are longer than a share of the elements would let a
small collider through between their vertices; they get points inside, each in the element that holds it. A bare cage
is touched at the nodes of its outer faces.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.cage import Cage
from jellycage.sim.soft.points import Points
from jellycage.toolkit.arrays import frozen
from jellycage.toolkit.asset.asset import Asset
from jellycage.toolkit.cage.outer_faces import outer_faces

SPACING = 0.5  # of the size of an element: no point of the surface is further than this from a contact point
MOST_PER_EDGE = 64  # points along a triangle's edge at most


@dataclass(frozen=True, eq=False)
class ContactPoints(Points):
    """Points of a body that may touch something, sorted by element."""

    element: NDArray[np.int32]
    """Element that holds each point, shape (k,)."""


def contact_points(body: SoftBody) -> ContactPoints:
    """The contact points of a body."""
    asset = body.asset
    if isinstance(asset, Asset):
        element, weights = _surface_points(asset)
    else:
        element, weights = _cage_points(asset)
    order = np.argsort(element, kind="stable")
    element, weights = element[order], weights[order]
    return ContactPoints(asset.elements[element], weights, frozen(element.astype(np.int32)))


def _cage_points(cage: Cage):
    """Every node of an outer face once, in the first element that has it."""
    elements = cage.elements
    is_tet = elements.shape[1] == 4
    used = np.unique(outer_faces(elements if is_tet else None, None if is_tet else elements))
    first = np.full(len(cage.cage_nodes), -1)
    corner = np.zeros(len(cage.cage_nodes), int)
    for column in range(elements.shape[1] - 1, -1, -1):
        first[elements[::-1, column]] = np.arange(len(elements))[::-1]
        corner[elements[::-1, column]] = column
    weights = np.zeros((len(used), elements.shape[1]))
    weights[np.arange(len(used)), corner[used]] = 1.0
    return first[used], weights


def _surface_points(asset: Asset):
    """Element and weights of every vertex that a face uses and of the points inside large triangles."""
    used = np.unique(asset.surface_faces)
    element, weights = [asset.embed_element[used]], [asset.embed_weights[used]]
    corners = asset.cage_nodes[asset.elements[:, 0]], asset.cage_nodes[asset.elements[:, 1]]
    spacing = SPACING * float(np.sqrt(((corners[1] - corners[0]) ** 2).sum(axis=1)).mean())
    triangles = asset.surface_vertices[asset.surface_faces]
    edges = np.sqrt(((triangles - np.roll(triangles, 1, axis=1)) ** 2).sum(axis=2)).max(axis=1)
    parts = np.minimum(np.ceil(edges / spacing), MOST_PER_EDGE).astype(int)
    homes = np.repeat(np.arange(len(asset.elements)), np.diff(asset.piece_start))
    order = np.argsort(asset.piece_triangles, kind="stable")
    start = np.searchsorted(asset.piece_triangles[order], np.arange(len(triangles) + 1))
    for face in np.flatnonzero(parts > 1):
        candidates = homes[order[start[face] : start[face + 1]]]
        if len(candidates):
            points = _lattice(parts[face]) @ triangles[face]
            shares, depth = _weights_in(asset, candidates, points)
            best = depth.argmax(axis=0)
            element.append(candidates[best])
            chosen = np.maximum(shares[best, np.arange(len(points))], 0.0)
            weights.append(chosen / chosen.sum(axis=1, keepdims=True))
    return np.concatenate(element), np.concatenate(weights)


def _lattice(parts: int) -> NDArray[np.float64]:
    """Barycentric coordinates of the points that cut each edge of a triangle into parts, without its corners."""
    i, j = np.indices((parts + 1, parts + 1)).reshape(2, -1)
    rows = np.stack([i, j, parts - i - j], axis=1)
    return rows[(rows.min(axis=1) >= 0) & (rows.max(axis=1) < parts)] / parts


def _weights_in(asset: Asset, elements: NDArray, points: NDArray):
    """Weights of points (p, 3) in each of some elements (e,) at rest, shape (e, p, a), and how deep inside, (e, p)."""
    corners = asset.cage_nodes[asset.elements[elements]]
    offset = points[None, :, :] - corners[:, None, 0]
    if corners.shape[1] == 4:
        sides = (corners[:, 1:] - corners[:, :1]).transpose(0, 2, 1)
        rest = np.linalg.solve(sides, offset.transpose(0, 2, 1)).transpose(0, 2, 1)
        weights = np.concatenate([1.0 - rest.sum(axis=2, keepdims=True), rest], axis=2)
        return weights, weights.min(axis=2)
    # Hexes of an asset are the cells of a grid.
    size = corners[:, 6] - corners[:, 0]
    share = offset / size[:, None]
    is_upper = (corners - corners[:, :1]) / size[:, None] > 0.5
    factor = np.where(is_upper[:, None], share[:, :, None], 1.0 - share[:, :, None])
    return factor.prod(axis=3), np.minimum(share, 1.0 - share).min(axis=2)
