"""The collision surface of a bare cage: its own outer faces, which need no cutting."""

import numpy as np

from jellycage.toolkit.cage.element_tables import TET_FACES
from jellycage.toolkit.cage.outer_faces import outer_faces
from jellycage.toolkit.collision.clip import Clipped
from jellycage.toolkit.collision.patches import lay_out
from jellycage.toolkit.collision.surface import CollisionSurface

HEX_TETS = np.array([[0, 1, 2, 5], [0, 2, 3, 7], [0, 5, 7, 4], [2, 5, 6, 7], [0, 2, 7, 5]])
"""Corners of the five tets of a hex, in the order of VTK."""
OWN_WEIGHTS = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
"""Of the first two corners of a triangle at each of its corners."""


def cage_surface(nodes, elements) -> CollisionSurface:
    """The outer faces of tets (e, 4) or hexes (e, 8), for nodes (n, 3) at rest [m]; quads are two triangles."""
    is_tet = elements.shape[1] == 4
    tets = elements if is_tet else elements[:, HEX_TETS].reshape(-1, 4)
    parent = np.arange(len(tets)) // (1 if is_tet else len(HEX_TETS))
    triangles = tets[:, TET_FACES].reshape(-1, 3)
    if is_tet:
        is_outer = is_row_of(triangles, outer_faces(elements))
    else:
        # Neighbours are cut along whatever diagonal they like: what is outside is so as a whole face.
        quads = outer_faces(hexes=elements)
        corners = np.concatenate([np.delete(quads, k, axis=1) for k in range(4)])
        is_outer = is_row_of(triangles, corners)
    faces, face_tet = triangles[is_outer], np.flatnonzero(is_outer) // 4
    tets = np.sort(tets, axis=1)
    used, rows = np.unique(faces, return_inverse=True)
    vertex_tet = np.empty(len(used), np.int64)
    vertex_tet[rows.reshape(-1)] = np.repeat(face_tet, 3)
    clipped = Clipped(
        faces=rows.reshape(-1, 3).astype(np.int64),
        face_tet=face_tet,
        source_face=np.arange(len(faces)),
        source_weights=np.broadcast_to(OWN_WEIGHTS, (len(faces), 3, 2)).copy(),
        vertex_tet=vertex_tet,
        vertex_weights=(tets[vertex_tet] == used[:, None]).astype(float),
    )
    return lay_out(clipped, nodes, tets.astype(np.int32), parent, np.arange(len(faces)))


def is_row_of(rows, others):
    """Whether each row (n, k) is one of the others (m, k), in whatever order."""
    both = np.sort(np.concatenate([others, rows]), axis=1)
    number = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
    return np.isin(number[len(others) :], number[: len(others)])
