"""From a mesh to its asset: any kind of mesh, any place and size, the same bytes every time."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import meshio
import numpy as np
import pytest
import trimesh
from oracles import tet_corners
from shapes import (
    ball,
    blocks,
    box,
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

from jellycage import toolkit
from jellycage.toolkit.asset.asset_file import save_asset
from jellycage.toolkit.asset.quality import check_cage
from jellycage.toolkit.errors import SettingsError
from jellycage.toolkit.mesh.mesh import TriMesh
from jellycage.toolkit.prepare import build_cage

ROOT = Path(toolkit.__file__).resolve().parent.parent
FORK = rotated(subdivided(blocks(*fork_cells()), 1), 1)


def saved(asset, path):
    """The bytes of an asset's file."""
    save_asset(asset, path)
    return path.read_bytes()


def assert_sound(asset):
    """The check finds nothing, and meta says so."""
    assert check_cage(asset).problems == ()
    assert asset.meta["bounding"] is True


@pytest.mark.parametrize(
    "wrap",
    [
        lambda v, f: TriMesh(v, f),
        lambda v, f: trimesh.Trimesh(v, f, process=False),
        lambda v, f: meshio.Mesh(v, [("triangle", f)]),
        lambda v, f: (v, f),
        lambda v, f: (v.tolist(), f.tolist()),
    ],
    ids=["TriMesh", "trimesh", "meshio", "pair", "lists"],
)
def test_every_kind_of_mesh_gives_the_same_cage(wrap, tmp_path):
    want = saved(build_cage(FORK, resolution=5), tmp_path / "pair.npz")
    assert saved(build_cage(wrap(*FORK), resolution=5), tmp_path / "other.npz") == want


@pytest.mark.parametrize("element", ["tet", "hex"])
def test_building_twice_gives_the_same_bytes(element, tmp_path):
    one, two = (
        saved(build_cage(FORK, resolution=7, element=element), tmp_path / name)
        for name in ("one.npz", "two.npz")
    )
    assert one == two


@pytest.mark.slow
def test_the_number_of_threads_changes_no_byte(tmp_path):
    np.savez(tmp_path / "mesh.npz", vertices=FORK[0], faces=FORK[1])
    code = (
        "import sys, numpy as np\n"
        "from toolkit import build_cage, save_asset\n"
        "mesh = np.load(sys.argv[1])\n"
        "for element in ('tet', 'hex'):\n"
        "    cage = build_cage((mesh['vertices'], mesh['faces']), resolution=9, element=element)\n"
        "    save_asset(cage, sys.argv[2] + element)\n"
    )
    digests = set()
    for threads in ("1", "2"):
        environment = {
            **os.environ,
            "NUMBA_NUM_THREADS": threads,
            "OMP_NUM_THREADS": threads,
            "PYTHONHASHSEED": threads,
        }
        out = tmp_path / f"cage{threads}"
        subprocess.run(
            [sys.executable, "-c", code, tmp_path / "mesh.npz", out], env=environment, check=True
        )
        both = [Path(f"{out}{element}").read_bytes() for element in ("tet", "hex")]
        digests.add(hashlib.sha256(b"".join(both)).hexdigest())
    here = [
        saved(build_cage(FORK, resolution=9, element=element), tmp_path / f"here{element}")
        for element in ("tet", "hex")
    ]
    digests.add(hashlib.sha256(b"".join(here)).hexdigest())
    assert len(digests) == 1


@pytest.mark.slow
@pytest.mark.parametrize("element", ["tet", "hex"])
@pytest.mark.parametrize(
    "mesh", [FORK, rotated(torus(), 2), linked_rings()], ids=["fork", "torus", "linked"]
)
@pytest.mark.parametrize(
    "scale, shift",
    [(1e-6, 0.0), (1e6, 0.0), (1.0, 1e8), (1e-6, 1.0), (2.0**-20, 0.0)],
    ids=str,
)
def test_size_and_place_change_neither_elements_nor_shape(mesh, scale, shift, element):
    vertices, faces = mesh
    moved = vertices * scale + shift
    # Both cages are built around the same rounded surface, so that only our own rounding differs.
    plain = build_cage(((moved - shift) / scale, faces), resolution=6, element=element)
    asset = build_cage((moved, faces), resolution=6, element=element)
    np.testing.assert_array_equal(asset.elements, plain.elements)
    np.testing.assert_array_equal(asset.element_cell, plain.element_cell)
    np.testing.assert_array_equal(asset.embed_element, plain.embed_element)
    # What floats can tell at that distance, and what fitting makes of the last bits.
    tolerance = 4 * np.finfo(float).eps * abs(shift) / scale + 1e-9
    np.testing.assert_allclose((asset.cage_nodes - shift) / scale, plain.cage_nodes, atol=tolerance)
    assert_sound(asset)


SYMMETRIC = {
    "cube": box(),
    "slab": box((1, 1, 0.25)),
    "bar": box((4, 1, 1)),
    "octahedron": ball(0),
    "ball": ball(2),
    "torus": torus(),
    "fork": blocks(*fork_cells(0.1, 0.3, 1.8)),
    "cut ring": blocks(*c_ring_cells(0.1)),
    "pipe": blocks(*pipe_cells()),
    "cavity": blocks(*hollow_cells(0.5, 0.25)),
    "sheets": sheets(3),
    "hollow ball": together(ball(1), inside_out(ball(1, 0.5))),
    "grid of quarters": subdivided(box(), 2),
}


@pytest.mark.parametrize("element", ["tet", "hex"])
@pytest.mark.parametrize("name", SYMMETRIC)
@pytest.mark.parametrize(
    "resolutions",
    [(2, 6), pytest.param(range(1, 13), marks=pytest.mark.slow)],
    ids=["two", "all"],
)
def test_straight_and_symmetric_shapes_work_at_every_resolution(name, element, resolutions):
    for resolution in resolutions:
        asset = build_cage(SYMMETRIC[name], resolution=resolution, element=element)
        assert check_cage(asset).problems == (), resolution
        assert asset.meta["components"] == (3 if name == "sheets" else 1), resolution


@pytest.mark.parametrize(
    "cell_size", [pytest.param(0.1, marks=pytest.mark.slow), 0.25, 0.5, 1.0, 2.0]
)
@pytest.mark.parametrize("name", ["cube", "grid of quarters", "pipe", "octahedron"])
def test_cells_that_divide_the_shape_evenly_work(name, cell_size):
    for steps in (0, 10):
        asset = build_cage(SYMMETRIC[name], cell_size=cell_size, fit_steps=steps)
        assert_sound(asset)
        assert asset.meta["cell_size"] == cell_size


def test_unreferenced_vertices_change_nothing_but_numbers():
    vertices, faces = FORK
    more = np.concatenate([[[50.0, 0, 0]], vertices, [[0, 0, -90.0]]])
    plain, asset = build_cage(FORK, resolution=5), build_cage((more, faces + 1), resolution=5)
    np.testing.assert_array_equal(asset.cage_nodes, plain.cage_nodes)
    np.testing.assert_array_equal(asset.source_vertex, plain.source_vertex + 1)
    np.testing.assert_array_equal(asset.surface_faces, plain.surface_faces)


def test_faces_keep_the_users_vertices():
    vertices, faces = FORK
    asset = build_cage(FORK, resolution=5)
    np.testing.assert_array_equal(asset.surface_vertices, vertices)
    np.testing.assert_array_equal(asset.source_vertex, np.arange(len(vertices)))
    np.testing.assert_array_equal(asset.surface_faces, faces)


def test_vertices_at_one_place_stay_separate_in_the_asset():
    vertices, faces = FORK
    soup = vertices[faces].reshape(-1, 3)
    asset = build_cage((soup, np.arange(len(soup)).reshape(-1, 3)), resolution=5)
    np.testing.assert_array_equal(asset.surface_vertices, soup)
    np.testing.assert_array_equal(asset.surface_faces.reshape(-1), np.arange(len(soup)))
    np.testing.assert_array_equal(asset.cage_nodes, build_cage(FORK, resolution=5).cage_nodes)
    assert_sound(asset)


@pytest.mark.parametrize("element", ["tet", "hex"])
def test_caps_over_holes_are_not_in_the_asset(element):
    vertices, faces = rotated(ball(2), 3)
    asset = build_cage((vertices, faces[7:]), resolution=5, element=element)
    np.testing.assert_array_equal(asset.surface_faces, faces[7:])
    np.testing.assert_array_equal(asset.surface_vertices, vertices[asset.source_vertex])
    assert asset.piece_triangles.max() < len(faces) - 7
    assert_sound(asset)
    assert asset.meta["warnings"]


def test_faces_that_were_turned_point_outwards_in_the_asset():
    vertices, faces = FORK
    asset = build_cage((vertices, faces[:, ::-1]), resolution=5)
    a, b, c = (asset.surface_vertices[asset.surface_faces[:, k]] for k in range(3))
    assert np.einsum("ij,ij->", a, np.cross(b, c)) > 0
    np.testing.assert_array_equal(asset.cage_nodes, build_cage(FORK, resolution=5).cage_nodes)


@pytest.mark.parametrize(
    "settings",
    [
        {"element": "tri"},
        {"fit_steps": -1},
        {"fit_steps": 1001},
        {"fit_relaxation": 0.0},
        {"fit_relaxation": 1.5},
        {"fit_relaxation": float("nan")},
        {"resolution": 0},
        {"resolution": 100000},
        {"cell_size": 0.0},
        {"cell_size": float("inf")},
        {"cell_size": float("nan")},
        {"cell_size": 1e-9},
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused_in_one_line(settings):
    with pytest.raises(SettingsError) as caught:
        build_cage(box(), **settings)
    assert str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("element", ["tet", "hex"])
def test_progress_rises_through_named_stages(element):
    calls = []
    build_cage(
        FORK,
        resolution=5,
        element=element,
        progress=lambda stage, share: calls.append((stage, share)),
    )
    stages, shares = zip(*calls, strict=True)
    assert list(shares) == sorted(shares)
    assert 0.0 <= shares[0] and shares[-1] <= 1.0
    assert stages[0] == "repairing" and "voxelising" in stages and stages[-1] == "checking"
    assert ("fitting" in stages) == (element == "tet")


@pytest.mark.parametrize("name", SYMMETRIC)
def test_one_cell_is_enough(name):
    for element in ("tet", "hex"):
        asset = build_cage(rotated(SYMMETRIC[name], 4), resolution=1, element=element)
        assert asset.meta["resolution"] == 1
        assert_sound(asset)


def test_without_fitting_every_node_lies_on_the_lattice():
    asset = build_cage(FORK, resolution=6, fit_steps=0)
    shape, origin = asset.meta["grid_shape"], np.array(asset.meta["grid_origin"])
    for cell, tet in zip(asset.element_cell, asset.cage_tets, strict=True):
        want = tet_corners(cell, shape) * asset.meta["cell_size"] + origin
        np.testing.assert_array_equal(asset.cage_nodes[tet], want)


def test_meta_tells_what_was_asked_and_measured():
    asset = build_cage(FORK, cell_size=0.3, fit_steps=3)
    assert asset.meta["settings"]["cell_size"] == asset.meta["cell_size"] == 0.3
    assert asset.meta["settings"]["fit_steps"] == 3
    assert asset.meta["volume_ratio"] > 1
    assert asset.meta["source_hash"] != build_cage(box(), resolution=2).meta["source_hash"]
