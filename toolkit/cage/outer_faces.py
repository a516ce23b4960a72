"""The outside of a cage: faces that belong to one element only, for pictures and pages."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.toolkit.cage.element_tables import HEX_FACES, TET_FACES


def outer_faces(tets: ArrayLike | None = None, hexes: ArrayLike | None = None) -> NDArray[np.int32]:
    """Faces of one element only, outward: (f, 3) of tets, (f, 4) of hexes, (0, 3) without elements.

    Elements in copies of one cell may meet a neighbour at the same face: such a face has three
    owners and is inside.
    """
    if tets is not None and len(tets):
        return _single(np.asarray(tets, dtype=np.int32)[:, TET_FACES].reshape(-1, 3))
    if hexes is not None and len(hexes):
        return _single(np.asarray(hexes, dtype=np.int32)[:, HEX_FACES].reshape(-1, 4))
    return np.zeros((0, 3), dtype=np.int32)


def triangulated(faces: NDArray[np.int32]) -> NDArray[np.int32]:
    """Triangles as they are, quads cut along their first diagonal."""
    if faces.shape[1] == 3:
        return faces
    return faces[:, ((0, 1, 2), (0, 2, 3))].reshape(-1, 3)


def face_edges(faces: NDArray[np.int32]) -> NDArray[np.int32]:
    """Each edge of the faces once, shape (e, 2), smaller index first."""
    corners = np.stack([faces, np.roll(faces, -1, axis=1)], axis=-1).reshape(-1, 2)
    return np.unique(np.sort(corners, axis=1), axis=0)


def _single(faces):
    _, row, count = np.unique(
        np.sort(faces, axis=1), axis=0, return_inverse=True, return_counts=True
    )
    return faces[count[row.ravel()] == 1]
