"""The cubes of the lattice that the tets of a cage were cut from, five or fewer each."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from jellycage.toolkit.cage.element_tables import CUBE_CORNERS, TET_FACES
from jellycage.toolkit.cage.hex_cage import places
from jellycage.toolkit.cage.lattice import TET_CORNERS


def cubes_of_tets(tets, cell, shape) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """(cubes, of_tet): corners of each cube in the order of a hex, -1 for those of no tet, (c, 8), and whose tets are.

    tets (t, 4), cell (t,): which of the lattice's tets each is a copy of; shape (3,): cubes of the lattice. Tets of one
    cube that share no face, copies that keep close limbs apart, are cubes of their own.
    """
    tets, cell = np.asarray(tets), np.asarray(cell)
    group = _joined_by_faces(tets, cell // 5)
    number = np.empty((2, 2, 2), np.int64)
    number[tuple(CUBE_CORNERS.T)] = np.arange(8)
    parity = places(cell // 5, shape).sum(axis=1) % 2
    corner = number[tuple(np.moveaxis(TET_CORNERS, -1, 0))][parity, cell % 5]  # (t, 4)
    # Where copies meet, a cube may have two nodes at one corner: its tets stay alone.
    low, high = np.full((2, int(group.max(initial=-1)) + 1, 8), -1, np.int64)
    low[:] = np.iinfo(np.int64).max
    np.minimum.at(low, (group[:, None], corner), tets)
    np.maximum.at(high, (group[:, None], corner), tets)
    is_torn = ((high >= 0) & (low != high)).any(axis=1)[group]
    keys = np.where(is_torn, len(low) + np.arange(len(tets)), group)
    _, of_tet = np.unique(keys, return_inverse=True)
    of_tet = of_tet.reshape(-1)
    cubes = np.full((int(of_tet.max(initial=-1)) + 1, 8), -1, np.int32)
    cubes[of_tet[:, None], corner] = tets
    return cubes, of_tet


def _joined_by_faces(tets, cube):
    """Group (t,) of tets of one cube that share faces, directly or by others."""
    faces = np.sort(tets[:, TET_FACES], axis=2).reshape(-1, 3)
    keys = np.column_stack([np.repeat(cube, 4), faces])
    _, face = np.unique(keys, axis=0, return_inverse=True)
    tet = np.repeat(np.arange(len(tets)), 4)
    order = np.argsort(face.reshape(-1), kind="stable")
    face, tet = face.reshape(-1)[order], tet[order]
    same = np.flatnonzero(face[1:] == face[:-1])
    links = coo_matrix((np.ones(len(same)), (tet[same], tet[same + 1])), 2 * (len(tets),))
    return connected_components(links, directed=False)[1]
