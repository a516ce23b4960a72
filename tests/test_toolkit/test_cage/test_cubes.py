"""The cubes that tets were cut from."""

from pathlib import Path

import numpy as np
import pytest

from jellycage import toolkit
from jellycage.toolkit.cage.cubes import cubes_of_tets
from jellycage.toolkit.cage.element_tables import CUBE_CORNERS

SAMPLES = Path(__file__).resolve().parents[3] / "sample_meshes"


def caged(name, **settings):
    mesh = toolkit.read_mesh(SAMPLES / name)
    return toolkit.build_cage(mesh, resolution=10, collision=False, **settings)


@pytest.mark.parametrize("name", ["hand.obj", "creature.obj"])
@pytest.mark.parametrize("is_split", [True, False])
def test_corners_are_where_they_are_in_the_lattice(name, is_split):
    asset = caged(name, fit_steps=0, split=is_split)
    cubes, of_tet = cubes_of_tets(asset.cage_tets, asset.element_cell, asset.meta["grid_shape"])
    x = asset.cage_nodes[cubes] / asset.meta["cell_size"] - CUBE_CORNERS
    is_there = cubes >= 0
    first = x[np.arange(len(x)), is_there.argmax(axis=1)]
    off = np.where(is_there[:, :, None], x - first[:, None], 0.0)
    assert np.abs(off).max() < 1e-9
    assert is_there.any(axis=1).all() and (np.bincount(of_tet) <= 5).all()


def test_a_cube_has_the_nodes_of_its_tets_and_no_others():
    asset = caged("hand.obj")
    cubes, of_tet = cubes_of_tets(asset.cage_tets, asset.element_cell, asset.meta["grid_shape"])
    for number, cube in enumerate(cubes):
        own = asset.cage_tets[of_tet == number]
        np.testing.assert_array_equal(np.sort(cube[cube >= 0]), np.unique(own))
        assert len(np.unique(asset.element_cell[of_tet == number] // 5)) == 1


def test_copies_that_keep_limbs_apart_are_cubes_of_their_own():
    """Two tets of one lattice cube that share no face: two limbs pass it."""
    tets = np.array([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]])
    cubes, of_tet = cubes_of_tets(tets, np.array([0, 0, 1]), (2, 2, 2))
    assert len(cubes) == 3 and sorted(of_tet) == [0, 1, 2]
