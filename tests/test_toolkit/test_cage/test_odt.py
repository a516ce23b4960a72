"""Fitting: tighter, never flatter than promised, never through the surface."""

from itertools import combinations

import numpy as np
import pytest
from shapes import (
    ball,
    blocks,
    c_ring_cells,
    fork_cells,
    hollow_cells,
    inside_out,
    linked_rings,
    pipe_cells,
    rotated,
    sheets,
    subdivided,
    together,
    torus,
)

from jellycage.toolkit.arrays import ragged
from jellycage.toolkit.asset.quality import check_cage, min_dihedrals
from jellycage.toolkit.cage.odt import MIN_DIHEDRAL, fitted
from jellycage.toolkit.cage.odt_kernels import (
    BoxedSurface,
    circumcentre_and_volume,
    odt_optimum,
    sweep_hits,
)
from jellycage.toolkit.cage.split import split_solid
from jellycage.toolkit.cage.tet_cage import face_neighbours, tet_volumes
from jellycage.toolkit.cage.voxels import grid_around, surface_in_grid
from jellycage.toolkit.geometry_kernels import clipping_room, min_dihedral_cosine
from jellycage.toolkit.prepare import build_cage

SHAPES = {
    "ball": ball(2),
    "torus": torus(),
    "fork": subdivided(blocks(*fork_cells()), 1),
    "cut ring": blocks(*c_ring_cells()),
    "pipe": blocks(*pipe_cells()),
    "cavity": blocks(*hollow_cells()),
    "linked": linked_rings(),
    "sheets": sheets(2),
    "hollow ball": together(ball(2), inside_out(ball(2, 0.6))),
}


def random_tets(count, seed=0):
    """Positive tets with no flat ones among them, shape (count, 4, 3)."""
    tets = np.random.default_rng(seed).normal(size=(4 * count, 4, 3))
    volume = np.linalg.det(tets[:, 1:] - tets[:, :1])
    return tets[volume > 0.3][:count]


def circumcentre(tet):
    """The point equally far from four corners, by solving its three linear equations."""
    return np.linalg.solve(2 * (tet[1:] - tet[0]), (tet[1:] ** 2).sum(axis=1) - (tet[0] ** 2).sum())


def test_the_circumcentre_is_equally_far_from_all_corners():
    centre = np.empty(3)
    for tet in random_tets(50):
        volume6 = circumcentre_and_volume(*tet, centre)
        distance = np.linalg.norm(tet - centre, axis=1)
        np.testing.assert_allclose(distance, distance[0], rtol=1e-10)
        assert volume6 == pytest.approx(np.linalg.det(tet[1:] - tet[0]), rel=1e-12)


def test_the_optimum_is_the_volume_weighted_mean_of_circumcentres():
    tets = random_tets(12, seed=1)
    nodes, indices = tets.reshape(-1, 3), np.arange(48).reshape(-1, 4)
    ring = np.array([1, 4, 5, 9])
    target = np.empty(3)
    odt_optimum(0, nodes, indices, ring, target)
    volumes = tet_volumes(nodes, indices)[ring]
    want = np.average([circumcentre(tets[e]) for e in ring], axis=0, weights=volumes)
    np.testing.assert_allclose(target, want, rtol=1e-10, atol=1e-12)


def test_dihedrals_equal_those_of_plane_geometry():
    for tet in random_tets(50, seed=2):
        angles = []
        for i, j in combinations(range(4), 2):
            k, m = {0, 1, 2, 3} - {i, j}
            # Looking along edge i-j: the angle between the other two corners.
            along = (tet[j] - tet[i]) / np.linalg.norm(tet[j] - tet[i])
            a, b = (x - tet[i] - (x - tet[i]) @ along * along for x in (tet[k], tet[m]))
            angles.append(np.arccos(a @ b / np.linalg.norm(a) / np.linalg.norm(b)))
        assert np.arccos(min_dihedral_cosine(*tet)) == pytest.approx(min(angles), abs=1e-7)
        found = min_dihedrals(tet, np.array([[0, 1, 2, 3]]))[0]
        assert found == pytest.approx(np.degrees(min(angles)), abs=1e-5)


def test_an_inverted_tet_counts_as_worse_than_flat():
    tet = random_tets(1)[0]
    assert min_dihedral_cosine(tet[0], tet[2], tet[1], tet[3]) == 2.0


def test_a_swept_face_hits_what_lies_between_its_old_and_new_place():
    x, target, a, b = np.eye(4)[:, :3] * 2  # sweeps the tet 0 <= x, y, z, x + y + z <= 2
    rng = np.random.default_rng(3)
    faces, runs = np.array([[0, 1, 2]]), np.array([[0, 1, 0]])
    hits = 0
    for _ in range(300):
        middle = rng.uniform(-0.5, 2, size=3)
        points = middle + rng.normal(scale=0.05, size=(3, 3))
        inside = (points >= 0).all(axis=1) & (points.sum(axis=1) <= 2)
        distance = np.append(points, (2 - points.sum(axis=1, keepdims=True)) / np.sqrt(3), axis=1)
        box = np.concatenate([points.min(axis=0), points.max(axis=0)])[None]
        surface = BoxedSurface(points, faces, np.array([0, 1]), np.array([0]), box)
        hit = sweep_hits(x, target, a, b, surface, runs, 1, 1e-4, clipping_room())
        hits += hit
        if inside.any():
            assert hit
        if (distance < -1e-4).all(axis=0).any():
            assert not hit
    assert 30 < hits < 270


@pytest.mark.parametrize("resolution", [4, pytest.param(9, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SHAPES)
def test_fitting_tightens_and_keeps_every_tet_well_shaped(name, resolution):
    mesh = rotated(SHAPES[name], 4)
    before = build_cage(mesh, resolution=resolution, fit_steps=0)
    after = build_cage(mesh, resolution=resolution)
    np.testing.assert_array_equal(before.cage_tets, after.cage_tets)
    volumes = tet_volumes(after.cage_nodes, after.cage_tets)
    assert (volumes > 0).all()
    assert volumes.sum() < tet_volumes(before.cage_nodes, before.cage_tets).sum()
    # Cosines are compared in floats, and the nodes were scaled since.
    assert min_dihedrals(after.cage_nodes, after.cage_tets).min() >= MIN_DIHEDRAL - 1e-6


@pytest.mark.parametrize("seed", range(15))
def test_no_fit_leaves_a_problem_for_the_check(seed):
    rng = np.random.default_rng(seed)
    name = list(SHAPES)[seed % len(SHAPES)]
    settings = {
        "resolution": int(rng.integers(1, 11)),
        "fit_steps": int(rng.integers(1, 25)),
        "fit_relaxation": float(rng.uniform(0.05, 1.0)),
    }
    asset = build_cage(rotated(SHAPES[name], seed + 100), **settings)
    assert check_cage(asset).problems == (), (name, settings)


def lattice_cage(mesh, resolution=5):
    """What `fitted` needs of a mesh."""
    surface = surface_in_grid(*mesh, grid_around(mesh[0], resolution=resolution))
    elements = split_solid(surface)
    neighbours = face_neighbours(elements.tets, elements.cell)
    rows = ragged(elements.fragment_element, surface.fragment_face, len(elements.tets))
    return elements, (
        elements.nodes,
        elements.tets,
        neighbours,
        surface.points,
        surface.faces,
        *rows,
    )


def test_fixed_nodes_and_inner_nodes_stay_to_the_bit():
    elements, arguments = lattice_cage(rotated(SHAPES["fork"], 5))
    neighbours = arguments[2]
    is_fixed = np.random.default_rng(6).random(len(elements.nodes)) < 0.3
    after = fitted(*arguments, steps=10, relaxation=0.5, is_fixed=is_fixed)
    has_moved = (after != elements.nodes).any(axis=1)
    assert has_moved.any() and not has_moved[is_fixed].any()
    is_outer = np.zeros(len(after), bool)
    for e, m in np.argwhere(neighbours.is_outer()):
        is_outer[np.delete(elements.tets[e], m)] = True
    assert not has_moved[~is_outer].any()


def test_nodes_where_copies_of_one_tet_meet_one_neighbour_stay():
    elements, arguments = lattice_cage(rotated(blocks(*fork_cells()), 5))
    start = arguments[2].start
    crotch = np.flatnonzero(np.diff(start) > 1)
    assert len(crotch)
    nodes = np.unique([np.delete(elements.tets[row // 4], row % 4) for row in crotch])
    none = np.zeros(len(elements.nodes), bool)
    after = fitted(*arguments, steps=10, relaxation=0.5, is_fixed=none)
    np.testing.assert_array_equal(after[nodes], elements.nodes[nodes])


def test_no_passes_change_nothing_and_progress_rises_to_one():
    elements, arguments = lattice_cage(rotated(SHAPES["ball"], 5))
    none = np.zeros(len(elements.nodes), bool)
    same = fitted(*arguments, steps=0, relaxation=0.5, is_fixed=none)
    np.testing.assert_array_equal(same, elements.nodes)
    seen = []
    fitted(*arguments, steps=4, relaxation=0.5, is_fixed=none, progress=seen.append)
    assert seen == [0.25, 0.5, 0.75, 1.0]


def test_more_passes_never_loosen_a_ball():
    mesh = rotated(ball(3), 7)
    volumes = [
        build_cage(mesh, resolution=8, fit_steps=steps).meta["cage_volume"]
        for steps in (0, 1, 3, 10)
    ]
    assert volumes == sorted(volumes, reverse=True)
