"""The surface in its lattice against plain clipping and solid angles."""

from itertools import product

import numpy as np
import pytest
from oracles import area, clipped, inward_planes, tet_corners, winding_numbers
from shapes import (
    ball,
    blocks,
    box,
    fork_cells,
    hollow_cells,
    inside_out,
    pipe_cells,
    rotated,
    together,
    torus,
)

from jellycage.toolkit.cage.lattice import FORMS
from jellycage.toolkit.cage.voxels import (
    MAX_CELLS,
    PADDING,
    grid_around,
    interior_cubes,
    surface_in_grid,
)
from jellycage.toolkit.cage.voxels_kernels import winding_at
from jellycage.toolkit.errors import SettingsError

SHAPES = {
    "ball": ball(1),
    "torus": torus(8, 6),
    "fork": blocks(*fork_cells()),
    "pipe": blocks(*pipe_cells()),
    "cavity": blocks(*hollow_cells()),
    "flipped ball in a ball": together(ball(1), inside_out(ball(1, 0.4))),
    "ball in a ball": together(ball(1), ball(1, 0.4)),
    "overlapping boxes": together(box(), box((1, 1, 1), (0.5, 0.3, 0.2))),
    "apart": together(box(), ball(1, 0.3, (2, 1, 0))),
}


def laid(name, seed, resolution):
    """A shape, turned, its grid and its surface in that grid."""
    vertices, faces = rotated(SHAPES[name], seed)
    grid = grid_around(vertices, resolution=resolution)
    return grid, surface_in_grid(vertices, faces, grid)


def windings(surface):
    """What the kernels say at every lattice node, indexed [i, j, k]."""
    counts = surface.shape + 1
    found = np.empty(counts, np.int64)
    lines = surface.line_start, surface.line_r, surface.line_sum
    for i, j, k in np.ndindex(*counts):
        found[i, j, k] = winding_at(i, j, k, surface.shape, *lines)
    return found


@pytest.mark.parametrize("name", ["ball", "torus", "fork", "overlapping boxes"])
@pytest.mark.parametrize("seed", [1, 2])
def test_fragments_are_where_clipping_leaves_something(name, seed):
    _, surface = laid(name, seed, 3)
    found = set(
        zip(
            surface.fragment_face.tolist(), surface.tets[surface.fragment_tet].tolist(), strict=True
        )
    )
    assert len(found) == len(surface.fragment_face)
    sure, possible = set(), set()
    for key in range(5 * int(np.prod(surface.shape))):
        corners = tet_corners(key, surface.shape)
        planes = inward_planes(corners)
        triangles = surface.points[surface.faces]
        near = (triangles.min(axis=1) <= corners.max(axis=0)).all(axis=1)
        near &= (triangles.max(axis=1) >= corners.min(axis=0)).all(axis=1)
        for face in np.flatnonzero(near).tolist():
            # Within 1e-12 of a face, clipping in floats may say either.
            if len(clipped(triangles[face], planes, -1e-12)):
                possible.add((face, key))
            if len(clipped(triangles[face], planes, 1e-12)):
                sure.add((face, key))
    assert sure <= found <= possible
    assert len(possible) > 100


def test_fragments_of_a_triangle_tile_it():
    _, surface = laid("torus", 3, 5)
    for face in range(0, len(surface.faces), 7):
        triangle = surface.points[surface.faces[face]]
        rows = range(surface.fragment_start[face], surface.fragment_start[face + 1])
        keys = surface.tets[surface.fragment_tet[rows]]
        parts = [
            area(clipped(triangle, inward_planes(tet_corners(key, surface.shape)))) for key in keys
        ]
        assert sum(parts) == pytest.approx(area(triangle), rel=1e-12)


@pytest.mark.parametrize("name", SHAPES)
def test_winding_numbers_at_nodes_equal_solid_angles(name):
    _, surface = laid(name, 4, 6)
    nodes = np.stack(np.meshgrid(*(np.arange(n + 1) for n in surface.shape), indexing="ij"), -1)
    want = winding_numbers(nodes.reshape(-1, 3).astype(float), surface.points, surface.faces)
    assert np.abs(want - np.round(want)).max() < 1e-9
    np.testing.assert_array_equal(windings(surface).reshape(-1), np.round(want))
    assert want.max() > 0.5


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("resolution", [1, 2, 7])
def test_interior_cubes_have_a_solid_corner_and_no_other_cube_has(name, resolution):
    _, surface = laid(name, 5, resolution)
    solid = windings(surface) != 0
    x, y, z = surface.shape
    touched = np.zeros((x, y, z), bool)
    for i, j, k in product((0, 1), repeat=3):
        touched |= solid[i : i + x, j : j + y, k : k + z]
    want = np.flatnonzero(touched.transpose(2, 1, 0).reshape(-1))
    np.testing.assert_array_equal(interior_cubes(surface), want)


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("attempt", range(3))
def test_the_longest_side_takes_exactly_as_many_cells_as_asked(axis, attempt):
    vertices = np.array([[0.0, 0.0, 0.0], [0.3, 0.3, 0.3]])
    vertices[1, axis] = 0.7318
    for resolution in range(1, 300):
        grid = grid_around(vertices, resolution=resolution, attempt=attempt)
        assert grid.shape.max() == grid.shape[axis] == resolution


@pytest.mark.parametrize("attempt", range(8))
def test_the_surface_lies_strictly_inside_the_grid(attempt):
    rng = np.random.default_rng(attempt)
    for resolution in [*range(1, 20), MAX_CELLS]:
        vertices = rng.uniform(-1, 1, size=(9, 3)) * rng.uniform(0.01, 5, size=3) + 7
        grid = grid_around(vertices, resolution=resolution, attempt=attempt)
        at = grid.to_cells(vertices)
        # The grid's size is rounded down by up to 1e-9 cells.
        free = PADDING - 1e-9
        assert (at > free).all() and (at < grid.shape - free).all()
        np.testing.assert_allclose(grid.to_metres(at), vertices, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("attempt", range(8))
def test_the_middle_of_a_symmetric_model_lies_on_no_lattice_plane(attempt):
    vertices = np.array([[-1.0, -1, -1], [1, 1, 1]])
    for resolution in range(1, 40):
        grid = grid_around(vertices, resolution=resolution, attempt=attempt)
        levels = FORMS @ grid.to_cells(np.zeros(3)) * 2
        assert np.abs(levels - np.round(levels)).min() > 1e-5


def test_cell_size_overrides_resolution():
    grid = grid_around(box((2, 1, 1))[0], resolution=99, cell_size=0.4)
    assert grid.cell_size == 0.4
    assert (grid.shape * 0.4 > [2, 1, 1]).all()
    assert (grid.shape * 0.4 < np.array([2, 1, 1]) + 2 * 0.4).all()


@pytest.mark.parametrize(
    "settings",
    [
        {"resolution": 0},
        {"resolution": -3},
        {"resolution": MAX_CELLS + 1},
        {"resolution": float("nan")},
        {"cell_size": 0.0},
        {"cell_size": -1.0},
        {"cell_size": float("nan")},
        {"cell_size": float("inf")},
        {"cell_size": 1e-5},
    ],
    ids=str,
)
def test_nonsense_sizes_are_refused_in_one_line(settings):
    with pytest.raises(SettingsError) as caught:
        grid_around(box()[0], **settings)
    assert "\n" not in str(caught.value)
