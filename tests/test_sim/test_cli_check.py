"""`jellycage check` names unlikely sizes and what starts inside something else, and --input-scale mends the first."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tiny_shots import document, write_scene

from jellycage.sim.bake.cache import open_cache
from jellycage.sim.cli import main
from jellycage.toolkit.asset.asset_file import load_asset
from jellycage.toolkit.mesh.mesh_io import read_mesh

MILLIMETRES = 1000.0


def run(*arguments):
    return CliRunner().invoke(main, [*map(str, arguments), "--progress", "none"])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder: a cube of 1 m, and one of 1 m in millimetres that stands 2 m above the floor."""
    monkeypatch.chdir(tmp_path)
    write_scene(tmp_path, document(tmp_path))
    mesh = read_mesh("cube.obj")
    lines = ["v {} {} {}".format(*row) for row in MILLIMETRES * (mesh.vertices + [0, 0, 2.0])]
    lines += ["f {} {} {}".format(*row) for row in mesh.faces + 1]
    Path("big.obj").write_text("\n".join(lines) + "\n")
    return tmp_path


def problems(*arguments):
    result = run("check", *arguments, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)["problems"]
    assert all(text in run("check", *arguments).stdout for text in found)
    return found


def test_check_asks_about_the_size_of_a_mesh_until_it_is_scaled(folder):
    (said,) = problems("big.obj")
    assert "1000 m long" in said and "--input-scale 0.001" in said
    assert problems("big.obj", "--input-scale", "0.001") == problems("cube.obj") == []


@pytest.mark.slow
def test_check_of_a_scene_names_sizes_overlaps_and_what_is_in_the_floor(folder):
    cube = {"mesh": "cube.obj", "resolution": 4}
    rows = [
        {**cube, "name": "giant", "mesh": "big.obj", "location": [0, 0, 1e4]},
        {**cube, "name": "low", "location": [0, 0, -0.25]},
        {**cube, "name": "beside", "location": [0.5, 0, 0.5]},
        {**cube, "name": "mended", "mesh": "big.obj", "units": "mm"},
    ]
    content = document(folder)
    write_scene(folder, content | {"body": rows})
    said = [text for text in problems("scene.json") if "Young modulus" not in text]
    assert said[0].startswith("low and beside: start 0.") and "inside each other" in said[0]
    assert said[1] == "low: starts 0.25 m (25% of its size) inside plane; move it out"
    assert said[2].startswith("giant: It is 1000 m long: in millimetres?") and len(said) == 3


def test_a_scene_is_not_scaled_by_an_option(folder):
    result = run("check", "scene.json", "--input-scale", "0.001")
    assert result.exit_code == 2 and "a scene has units" in result.stderr


def test_info_and_cage_scale_what_they_read(folder):
    facts = json.loads(run("info", "big.obj", "--input-scale", "0.001", "--json").stdout)
    assert facts["size"] == pytest.approx([1.0, 1.0, 1.0])
    common = ("cage", "big.obj", "-o", "a.npz", "--resolution", "2", "--json")
    assert any("1000 m long" in text for text in json.loads(run(*common).stdout)["warnings"])
    scaled = json.loads(run(*common, "--input-scale", "0.001").stdout)
    assert scaled["warnings"] == [] and scaled["cell_size"] < 1.0
    low, high = np.array([0.0, 0.0, 2.0]), np.array([1.0, 1.0, 3.0])
    vertices = load_asset("a.npz").surface_vertices
    assert np.allclose([vertices.min(axis=0), vertices.max(axis=0)], [low, high])
    result = run("info", "a.npz", "--input-scale", "2")
    assert result.exit_code == 2 and "an asset is in metres" in result.stderr


@pytest.mark.parametrize("given", [(), ("--height", "0.25")])
def test_drop_scales_the_mesh_and_falls_from_the_height_of_what_it_became(folder, given):
    common = ("--frames", "1-2", "--resolution", "4", "--quality", "preview", "--json", *given)
    scaled = run("drop", "big.obj", "-o", "big.bake", "--input-scale", "0.001", *common)
    plain = run("drop", "cube.obj", "-o", "cube.bake", *common)
    assert scaled.exit_code == plain.exit_code == 0, scaled.output
    low = open_cache("big.bake").frame(1)[0].min(axis=0)
    assert low == pytest.approx([0.0, 0.0, 0.25 if given else 1.0])
    for frame in (1, 2):
        a, b = (open_cache(name).frame(frame)[0] for name in ("big.bake", "cube.bake"))
        assert np.allclose(a, b, rtol=0, atol=1e-6)
    assert not any(" m long: " in text for text in json.loads(scaled.stdout)["warnings"])


def test_drop_says_that_a_mesh_is_unlikely_large(folder):
    common = ("drop", "big.obj", "-o", "a.bake", "--frames", "1-1", "--resolution", "2")
    text = run(*common, "--report", "a.html").stdout
    assert "big: It is 1000 m long: in millimetres?" in text
    assert "It is 1000 m long" in Path("a.html").read_text()


@pytest.mark.parametrize("wrong", ["0", "-1", "much"])
def test_a_scale_is_a_positive_number(folder, wrong):
    for command in (("info",), ("check",), ("cage", "-o", "a.npz"), ("drop", "-o", "a.bake")):
        assert run(*command, "cube.obj", "--input-scale", wrong).exit_code == 2
