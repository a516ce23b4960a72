"""The surface embedded in the cage: the element and weights of every vertex, the elements of every triangle."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.cage.copies_kernels import Copies
from jellycage.toolkit.cage.tet_cage import FaceNeighbours
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
    spread: NDArray[np.float64]
    """Mean square of the solid's distances from that centre, (00, 11, 22, 01, 02, 12), shape (e, 6)."""
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
    solid = np.zeros((len(tets), 10))
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
    fill, centre, spread = _moments(solid, solid_corner[:, 0], nodes[tets])
    return Embedding(
        element.astype(np.int32),
        weights,
        rows[0][:count],
        rows[1][:count],
        np.clip(fill, 0.0, 1.0),
        centre,
        spread,
        escaped,
    )


def gathered(embedding: Embedding, volume, of, middle):
    """(fill, centre, spread) of the solid in cubes of one cell^3, from that in their tets.

    volume: of the solid in each tet (t,) [cells^3]; of: its cube (t,); middle: of the cubes (c, 3), where those without
    solid have their centre.
    """
    away = embedding.centre - middle[of]
    square = embedding.spread + as_six(away[:, :, None] * away[:, None, :])
    columns = np.column_stack([away, square]).T
    sums = [np.bincount(of, volume * column, len(middle)) for column in columns]
    fill = np.bincount(of, volume, minlength=len(middle))
    is_empty = (fill < EMPTY)[:, None]
    mean = np.stack(sums, axis=1) / np.maximum(fill, EMPTY)[:, None]
    offset = np.where(is_empty, 0.0, mean[:, :3])
    spread = mean[:, 3:] - as_six(offset[:, :, None] * offset[:, None, :])
    return fill, middle + offset, np.where(is_empty, 0.0, spread)


def _moments(solid, at_corner, corners):
    """(fill, centre, spread) of tets (e, 4, 3) with moments about corner 3, and with solid at their corner 0 or not."""
    y = corners - corners[:, 3:]
    size = -np.linalg.det(y[:, :3]) / 6.0
    # Those of whole tets: the mean of y, and of y y.
    total = y.sum(axis=1)
    square = (np.einsum("eai,eaj->eij", y, y) + total[:, :, None] * total[:, None, :]) / 20.0
    whole = np.column_stack([np.ones(len(y)), total / 4.0, as_six(square)])
    moments = solid + (size * at_corner)[:, None] * whole
    fill = moments[:, 0] / size
    mean = moments / np.where(fill > EMPTY, moments[:, 0], 1.0)[:, None]
    mean = np.where((fill > EMPTY)[:, None], mean, whole)
    centre = mean[:, 1:4]
    spread = mean[:, 4:] - as_six(centre[:, :, None] * centre[:, None, :])
    return fill, corners[:, 3] + centre, spread


def as_six(matrix):
    """A symmetric matrix (e, 3, 3) as (00, 11, 22, 01, 02, 12), shape (e, 6)."""
    return matrix[:, [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
