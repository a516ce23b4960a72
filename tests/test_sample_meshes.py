"""The sample meshes as they lie in the folder: what the README there promises."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import trimesh

FOLDER = Path(__file__).resolve().parent.parent / "sample_meshes"
EULER_NUMBER = {"gummy_bear": 2, "creature": 2, "hand": 2, "torus_knot": 0, "beam": 2}


def load(name, folder=FOLDER):
    """Vertices and quads in file order, by a reader of its own."""
    rows = [line.split() for line in (folder / f"{name}.obj").read_text().splitlines()]
    vertices = np.array([row[1:] for row in rows if row[0] == "v"], float)
    quads = [[int(c.split("/")[0]) - 1 for c in row[1:]] for row in rows if row[0] == "f"]
    return vertices, np.array(quads)


def solid(name):
    vertices, quads = load(name)
    return trimesh.Trimesh(vertices, quads[:, ((0, 1, 2), (0, 2, 3))].reshape(-1, 3), process=False)


@pytest.mark.parametrize("name", EULER_NUMBER)
def test_mesh_is_closed_in_one_piece_outward_and_stands_on_the_ground(name):
    mesh = solid(name)
    assert mesh.is_watertight and mesh.is_winding_consistent and mesh.volume > 0.0
    assert mesh.body_count == 1 and mesh.euler_number == EULER_NUMBER[name]
    assert mesh.bounds[0, 2] == 0.0


def test_beam_has_its_exact_volume():
    assert solid("beam").volume == pytest.approx(2.1 * 0.6 * 0.6, rel=1e-12)


def test_bear_has_texture_coordinates_at_every_corner():
    text = (FOLDER / "gummy_bear.obj").read_text()
    uv = np.array([line.split()[1:] for line in text.splitlines() if line[:3] == "vt "], float)
    assert uv[:, 1].min() == 0.0 and uv[:, 1].max() == 1.0
    assert uv[:, 0].min() < 0.01 and uv[:, 0].max() > 0.99
    faces = [line for line in text.splitlines() if line[:2] == "f "]
    assert all(line.count("/") == 4 for line in faces)


def test_all_samples_together_stay_small():
    assert sum(path.stat().st_size for path in FOLDER.glob("*.obj")) < 2e6


@pytest.mark.slow
def test_script_makes_the_files_that_are_in_the_folder(tmp_path):
    script = [sys.executable, str(FOLDER / "make_sample_meshes.py"), str(tmp_path)]
    subprocess.run(script, check=True, capture_output=True)
    for name in EULER_NUMBER:
        (vertices, quads), (made, made_quads) = load(name), load(name, tmp_path)
        np.testing.assert_array_equal(quads, made_quads)
        # Another processor may round the last decimal the other way.
        np.testing.assert_allclose(vertices, made, atol=2.1e-5)
