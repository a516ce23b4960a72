"""The surface embedded in the cage: the element and weights of every vertex, the elements of every triangle."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.cage.copies_kernels import Copies
from jellycage.toolkit.cage.tet_cage import FaceNeighbours, tet_volumes
from jellycage.toolkit.embedding.embedding_kernels import locate_faces, locate_vertices

EMPTY = 1e-9  # the centre of less solid than this is rounding


@dataclass(frozen=True, eq=False)
class Embedding:
    """Where a surface lies in a tet cage."""

    element: NDArray[np.int32]
    """Element of every vertex, shape (n,); -1 if the walk left the cage."""
    weights: NDArray[np.float64]
    """Barycentric weights in it, shape (n, 4), not negative, rows sum to 1."""
    face: NDArray[np.int64]
    """Triangle of every (triangle, element) row."""
    face_element: NDArray[np.int64]
    """Element of every such row."""
    fill: NDArray[np.float64]
    """Share of each element that is solid, shape (e,), in 0..1."""
    centre: NDArray[np.float64]
    """Centre of that solid, or of the element where there is none, shape (e, 3)."""
    escaped: NDArray[np.bool_]
    """Outer faces that a triangle of their own part crosses, shape (e, 4); all False in a bounding cage."""


def embed(
    points,
    faces,
    nodes,
    tets,
    neighbours: FaceNeighbours,
    solid_corner,
    first_element,
    homes,
    home_side,
) -> Embedding:
    """Embed a closed surface in a cage.

    first_element (n,): where the walk for each vertex starts; homes: (start, elements) CSR over faces, the elements
    that a triangle lay in before fitting, which tells copies of one tet apart; home_side: see `fragment_sides`.
    """
    element = np.array(first_element, np.int64)
    weights = np.zeros((len(points), 4))
    vertex_face = np.zeros(len(points), np.int64)
    vertex_face[faces[::-1].reshape(-1)] = np.repeat(np.arange(len(faces))[::-1], 3)
    copies = Copies(
        start=neighbours.start, elements=neighbours.elements, home_start=homes[0], homes=homes[1]
    )
    locate_vertices(points, vertex_face, nodes, tets, copies, element, weights)
    solid = np.zeros((len(tets), 4))
    escaped = np.zeros((len(tets), 4), np.bool_)
    # Fitting changes the number of (triangle, element) rows by a few per cent.
    room = int(1.2 * len(homes[1])) + 1024
    while True:
        rows = np.empty(room, np.int64), np.empty(room, np.int64)
        solid[:] = 0.0
        count = locate_faces(
            points, faces, element, nodes, tets, copies, home_side, *rows, solid, escaped
        )
        if count <= room:
            break
        room = count
    size = tet_volumes(nodes, tets)
    fill = solid[:, 0] / size + solid_corner[:, 0]
    corners = nodes[tets]
    middle = corners.mean(axis=1)
    moment = solid[:, 1:] + (size * solid_corner[:, 0])[:, None] * (middle - corners[:, 3])
    centre = np.where(
        (fill > EMPTY)[:, None],
        corners[:, 3] + moment / (np.maximum(fill, EMPTY) * size)[:, None],
        middle,
    )
    return Embedding(
        element.astype(np.int32),
        weights,
        rows[0][:count],
        rows[1][:count],
        np.clip(fill, 0.0, 1.0),
        centre,
        escaped,
    )
