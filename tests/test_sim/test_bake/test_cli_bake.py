"""Baking from the command line as scripts see it."""

import errno
import json
import os
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from bad_scenes import FILES, MALFORMED
from click.testing import CliRunner
from PIL import Image
from tiny_shots import (
    FLOOR,
    cube_file,
    document,
    environment,
    frame_digests,
    python,
    write_scene,
)

from jellycage.sim.bake.cache import all_frames, open_cache
from jellycage.sim.cli import main
from jellycage.sim.errors import Cancelled, SolverError
from jellycage.sim.export.mdd import read_mdd
from jellycage.sim.export.pc2 import read_pc2
from jellycage.sim.soft.presets import PRESETS
from jellycage.toolkit.mesh.mesh_io import read_mesh

FACTS = {
    *("frames", "seconds", "ms_per_step", "volume_error_max", "contacts_max", "min_J"),
    *("smooth_distance_max", "solver", "warnings", "output"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a scene of a falling cube in it."""
    monkeypatch.chdir(tmp_path)
    write_scene(tmp_path, document(tmp_path, frames=(1001, 1006)))
    return tmp_path


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with a finished bake of two cubes and every file that can be made of it; what the command said."""
    folder = tmp_path_factory.mktemp("finished")
    content = document(folder, frames=(1001, 1006))
    row = content["body"][0]
    content["body"] = [row, {**row, "name": "second", "location": [3.0, 1.0, 0.5]}]
    content["collider"] = [FLOOR, {"kind": "sphere", "radius": 0.2, "location": [3, 0, 0]}]
    scene = write_scene(folder, content)
    outputs = [
        word for name in ("a.abc", "a.pc2", "a.mdd", "a.obj") for word in ("-o", folder / name)
    ]
    extras = ["--preview", folder / "a.gif", "--report", folder / "a.html"]
    result = run("bake", scene, *outputs, *extras, "--json", "--progress", "json")
    assert result.exit_code == 0, result.output
    return folder, result


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def assert_one_line(result, code, *words):
    assert result.exit_code == code, result.output
    assert result.stderr.startswith("jellycage: ") and result.stderr.count("\n") == 1
    assert "Traceback" not in result.output
    for word in words:
        assert word in result.stderr


# ---- bake


def test_bake_writes_and_tells_the_promised_facts(finished):
    folder, result = finished
    facts = json.loads(result.stdout)
    assert facts.keys() >= FACTS and facts["frames"] == 6 and facts["first_frame"] == 1001
    assert facts["contacts_max"] > 0 and 0.0 < facts["volume_error_max"] < 0.5
    assert facts["ms_per_step"] > 0.0 and len(facts["warnings"]) >= 2
    names = {Path(path).name for path in facts["output"]}
    assert names == {
        "a.abc",
        *(f"a_{name}.{ending}" for name in ("cube", "second") for ending in ("pc2", "mdd")),
        *(f"a_{frame}.obj" for frame in range(1001, 1007)),
    }
    assert all(Path(path).exists() for path in facts["output"])
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_all_files_hold_the_same_positions(finished):
    folder, _ = finished
    cache = open_cache(folder / "a.bake")
    frames = np.array([np.stack(bodies) for _, bodies in all_frames(cache)])  # (frames, 2, 8, 3)
    for number, name in enumerate(("cube", "second")):
        points = read_pc2(folder / f"a_{name}.pc2")
        assert points.start == 1001.0 and points.rate == 1.0
        assert points.positions.tobytes() == frames[:, number].tobytes()
        timed = read_mdd(folder / f"a_{name}.mdd")
        assert np.array_equal(timed.positions, frames[:, number])
        assert timed.times == pytest.approx(np.arange(1001, 1007) / 24.0)
    for frame, bodies in all_frames(cache):
        mesh = read_mesh(folder / f"a_{frame}.obj")
        assert mesh.vertices == pytest.approx(np.concatenate(bodies), abs=1e-6)


def test_the_alembic_file_holds_them_too_with_y_up(finished):
    pytest.importorskip("alembic3d")
    folder, _ = finished
    frames = np.array([np.stack(b) for _, b in all_frames(open_cache(folder / "a.bake"))])
    for number, points in enumerate(alembic_points(folder / "a.abc")):
        turned = frames[:, number][..., [0, 2, 1]] * np.array([1, 1, -1], np.float32)
        assert np.array_equal(points, turned)


def alembic_points(path):
    """Points of every mesh of an Alembic file, shape (frames, v, 3) each, by the reference library."""
    import alembic3d.Abc as Abc
    import alembic3d.AbcGeom as AbcGeom

    archive = Abc.IArchive(str(path))
    top = archive.getTop()
    for number in range(top.getNumChildren()):
        transform = AbcGeom.IXform(top, top.getChildHeader(number).getName())
        mesh = AbcGeom.IPolyMesh(transform, transform.getChildHeader(0).getName()).getSchema()
        points = mesh.getPositionsProperty()
        samples = [points.getValue(k) for k in range(mesh.getNumSamples())]
        yield np.array([np.array(memoryview(sample)) for sample in samples])


def test_progress_lines_tell_frame_substep_time_and_health(finished):
    _, result = finished
    lines = [json.loads(line) for line in result.stderr.splitlines()]
    frames = [line for line in lines if line["event"] == "frame"]
    assert [line["frame"] for line in frames] == [1002, 1003, 1004, 1005, 1006]
    wanted = {"frame", "substep", "seconds", "eta", "volume_error", "contacts"}
    assert all(line.keys() >= wanted for line in frames)
    assert frames[-1]["eta"] == 0.0 and frames[-1]["fraction"] == 1.0


def test_a_finished_bake_is_not_baked_again(finished, tmp_path):
    folder, _ = finished
    before = frame_digests(folder / "a.bake")
    result = run("bake", folder / "scene.json", "--cache", folder / "a.bake", "--json")
    assert result.exit_code == 0 and json.loads(result.stdout)["ms_per_step"] is None
    assert frame_digests(folder / "a.bake") == before


def test_the_gif_has_every_frame(finished):
    folder, _ = finished
    with Image.open(folder / "a.gif") as image:
        assert image.n_frames == 6 and image.size == (480, 360)
        image.seek(5)
        assert len(np.unique(np.asarray(image.convert("RGB")).reshape(-1, 3), axis=0)) > 10


class Page(HTMLParser):
    """What is in a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.links, self.text, self.lines = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]
        self.lines += [value for name, value in attrs if name == "points"]

    def handle_data(self, data):
        self.text.append(data)


def test_the_report_is_one_page_with_five_plots(finished):
    folder, _ = finished
    text = (folder / "a.html").read_text(encoding="utf-8")
    assert "http" not in text and "url(" not in text
    page = Page()
    page.feed(text)
    page.close()
    assert page.tags.count("svg") == 5 and not page.links
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    titles = (
        "Energy [J]",
        "Error of the volume [%]",
        "Contacts",
        "Least det F",
        "Time per frame [ms]",
    )
    assert all(title in page.text for title in titles)
    assert len(page.lines) == 4 + 1 + 1 + 1 + 3
    for line in page.lines:
        points = np.array([pair.split(",") for pair in line.split()], float)
        assert points.shape == (6, 2) and (np.diff(points[:, 0]) > 0).all()
        assert (points >= 0.0).all() and points[:, 0].max() <= 860 and points[:, 1].max() <= 220
    assert "cube: jelly of 1 m" in text


def test_options_take_the_place_of_the_scenes(folder):
    result = run(
        *("bake", "scene.json", "-o", "out", "--frames", "-2--1", "--fps", "12", "--substeps", "5"),
        *("--velocities", "--json"),
    )
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert (facts["frames"], facts["first_frame"], facts["fps"], facts["substeps"]) == (
        2,
        -2,
        12,
        5,
    )
    assert facts["output"] == ["out"] and Path("out/velocity_-0001.npy").exists()


def test_the_output_of_the_scene_is_the_default(folder):
    content = document(folder, output={"path": "b.pc2", "up_axis": "Y", "scale": 100.0})
    write_scene(folder, content)
    assert run("bake", "scene.json", "-q").output == ""
    cache = open_cache("b.bake")
    wanted = 100.0 * cache.frame(6)[0][:, [0, 2, 1]] * np.array([1, 1, -1], np.float32)
    assert read_pc2("b.pc2").positions[-1] == pytest.approx(wanted, rel=1e-6)


def test_dry_run_builds_and_writes_nothing(folder):
    before = sorted(folder.iterdir())
    result = run("bake", "scene.json", "--dry-run", "--json")
    stiffness = json.loads(result.stdout)
    assert stiffness["young_modulus"][0] > 0.0 and 0.0 < stiffness["sag"][0] <= 0.5
    facts = json.loads(result.stdout)
    assert result.exit_code == 0 and facts["frames"] == [1001, 1006] and facts["vertices"] == [8]
    assert facts["bytes"] == 12 * 8 * 6 and facts["elements"][0] > 0 and facts["substeps"] >= 1
    assert "jelly" in facts["warnings"][0]
    assert sorted(folder.iterdir()) == before
    assert "substeps" in run("bake", "scene.json", "--dry-run").stdout


def test_dry_run_heeds_the_options(folder):
    options = ["--frames", "5-6", "--fps", "12", "--substeps", "9"]
    facts = json.loads(run("bake", "scene.json", "--dry-run", "--json", *options).stdout)
    assert (facts["frames"], facts["fps"], facts["substeps"]) == ([5, 6], 12.0, 9)


def test_a_seed_is_accepted_as_before_and_changes_nothing(folder):
    old = json.loads(Path("scene.json").read_text()) | {"seed": 0}
    Path("old.json").write_text(json.dumps(old))
    assert run("bake", "scene.json", "-o", "a", "-q").exit_code == 0
    before = frame_digests("a")
    for scene, *seed in (("old.json",), ("scene.json", "--seed", "7")):
        # The same bake, finished: there is nothing to do again.
        assert run("bake", scene, "-o", "a", "--resume", "-q", *seed).exit_code == 0
        assert frame_digests("a") == before
    assert "--seed" not in run("bake", "--help").stdout


def test_no_file_is_written_over_by_another_of_the_same_bake(folder):
    for option in (("-o", "a.abc"), ("--report", "a.abc")):
        result = run("bake", "scene.json", "-o", "a.abc", *option, "--progress", "none")
        assert result.exit_code in (2, 3), option
        assert_one_line(result, result.exit_code)


def test_an_unfinished_bake_needs_resume_or_force(folder, monkeypatch):
    def stop(*_):
        raise Cancelled("stopped as asked; finished frames are kept, --resume continues")

    with monkeypatch.context() as patch:
        patch.setattr("jellycage.sim.bake.bake._Run._step", stop)
        assert_one_line(run("bake", "scene.json", "-o", "a", "--progress", "none"), 130, "--resume")
    assert_one_line(run("bake", "scene.json", "-o", "a", "--progress", "none"), 3, "1 of 6 frames")
    assert run("bake", "scene.json", "-o", "a", "--resume", "-q").exit_code == 0
    assert_one_line(
        run("bake", "scene.json", "-o", "a", "--frames", "1-3", "--progress", "none"), 3, "--force"
    )
    assert run("bake", "scene.json", "-o", "a", "--frames", "1-3", "--force", "-q").exit_code == 0
    assert len(frame_digests("a")) == 3


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from jellycage.sim.cli import main\n"
        "try: main(['bake', '--help'])\nexcept SystemExit: pass\n"
        "print(sorted({'numpy', 'numba', 'scipy', 'trimesh', 'meshio'} & set(sys.modules)))"
    )
    done = subprocess.run(python("-c", code), capture_output=True, text=True, env=environment())
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


# ---- drop, presets, check, convert


def test_drop_puts_a_mesh_on_the_floor_in_one_line(folder):
    result = run(
        *("drop", "cube.obj", "-o", "a.abc", "--preview", "a.png", "--resolution", "4"),
        *("--frames", "1-14", "--quality", "preview", "--height", "0.1", "--preset", "rubber"),
    )
    assert result.exit_code == 0, result.output
    assert "14 frames" in result.stdout and "wrote a.abc" in result.stdout
    assert "rubber" in result.stdout and "a.png" in result.stdout
    cache = open_cache("a.bake")
    assert cache.frame(1)[0][:, 2].min() == pytest.approx(0.1)
    lowest = [bodies[0][:, 2].min() for _, bodies in all_frames(cache)]
    assert min(lowest) > -0.02 and lowest[-1] < 0.1
    with Image.open("a.png") as image:
        assert image.size == (4 * 360, 3 * 300)  # twelve of the frames


def test_drop_with_a_smooth_surface_says_how_far_it_is_from_the_one_that_collides(folder):
    common = ("drop", "cube.obj", "--resolution", "4", "--frames", "1-8", "--quality", "preview")
    plain = run(*common, "-o", "a.bake", "--height", "0.05", "--json")
    smooth = run(*common, "-o", "b.bake", "--height", "0.05", "--surface", "mls", "--json")
    assert json.loads(plain.stdout)["smooth_distance_max"] is None
    found = json.loads(smooth.stdout)["smooth_distance_max"]
    apart = [
        np.linalg.norm(a[0] - b[0], axis=1).max()
        for (_, a), (_, b) in zip(
            all_frames(open_cache("a.bake")), all_frames(open_cache("b.bake")), strict=True
        )
    ]
    assert apart[0] < 1e-6 and found == pytest.approx(max(apart), abs=1e-6) and found > 1e-5
    text = run(*common, "-o", "b.bake", "--height", "0.05", "--surface", "mls").stdout
    assert f"smooth surface at most {found:.3g} m from the one that collides" in text


def test_drop_refuses_what_is_no_mesh_or_preset(folder):
    Path("bad.obj").write_text("no mesh")
    assert_one_line(run("drop", "bad.obj", "-o", "a.abc", "--progress", "none"), 3, "bad.obj")
    assert_one_line(run("drop", "none.obj", "-o", "a.abc", "--progress", "none"), 5, "none.obj")
    assert_one_line(run("drop", "cube.obj", "-o", "a.abc", "--preset", "steel"), 3, "steel")
    assert_one_line(run("drop", "cube.obj"), 2, "where to?")


def test_presets_are_listed(folder):
    facts = json.loads(run("presets", "--json").stdout)
    assert list(facts["presets"]) == list(PRESETS) and "preview" in facts["qualities"]
    jelly = facts["presets"]["jelly"]
    assert jelly["poisson_ratio"] == 0.48
    assert jelly["young_modulus_of_1_m"] == pytest.approx(1000 * 9.81 / 0.2)
    text = run("presets").stdout
    assert all(preset.description in text for preset in PRESETS.values())


def test_check_tells_whether_a_scene_can_be_baked(folder):
    result = run("check", "scene.json", "--json")
    facts = json.loads(result.stdout)
    assert result.exit_code == 0 and facts["ok"] is True and facts["substeps"] >= 1
    assert "can be baked" in run("check", "scene.json").stdout
    assert run("check", "cube.obj").exit_code == 0
    write_scene(folder, document(folder, body={"pin": [{"vertices": [99]}]}), "bad.json")
    result = run("check", "bad.json", "--json", "--progress", "none")
    assert_one_line(result, 3, "no vertex 99")
    assert json.loads(result.stdout)["ok"] is False


@pytest.mark.parametrize("ending", [".abc", ".pc2", ".mdd", ".obj"])
def test_convert_makes_files_of_a_bake(ending, finished, tmp_path):
    folder, _ = finished
    result = run("convert", folder / "a.bake", tmp_path / f"a{ending}", "--json")
    assert result.exit_code == 0, result.output
    made = sorted(tmp_path.iterdir())
    assert [Path(path) for path in json.loads(result.stdout)["output"]] == made
    for path in made:
        # The facts in an Alembic file may hold the time of writing; points are compared elsewhere.
        if ending != ".abc":
            assert path.read_bytes() == (folder / path.name).read_bytes()


@pytest.mark.parametrize("stem", ["a", "a[1]"])
def test_the_files_of_a_sequence_are_those_that_were_written(stem, finished, tmp_path):
    (tmp_path / "a_old.obj").write_text("mine")
    result = run("convert", finished[0] / "a.bake", tmp_path / f"{stem}.obj", "--json")
    names = [Path(path).name for path in json.loads(result.stdout)["output"]]
    assert names == [f"{stem}_{frame}.obj" for frame in range(1001, 1007)]


def test_convert_refuses_what_is_no_bake(folder, finished):
    Path("empty").mkdir()
    assert_one_line(run("convert", "empty", "a.abc"), 3, "no bake is here")
    assert_one_line(run("convert", finished[0] / "a.bake", "a.xyz"), 3, ".xyz")
    assert_one_line(run("convert", finished[0] / "a.bake", "missing/a.abc"), 5, "missing")


# ---- errors


def full(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def unsolvable(*_, **__):
    raise SolverError("cube, frame 1002, substep 1: not finite; use smaller time steps")


def interrupted(*_, **__):
    raise KeyboardInterrupt


ERRORS = {
    "no output": (["scene.json"], 2, None),
    "option": (["scene.json", "-o", "a.abc", "--colour"], 2, None),
    "frames": (["scene.json", "-o", "a.abc", "--frames", "9-1"], 2, None),
    "fps": (["scene.json", "-o", "a.abc", "--fps", "0"], 2, None),
    "two folders": (["scene.json", "-o", "a", "-o", "b"], 2, None),
    "no scene": (["none.toml", "-o", "a.abc"], 3, None),
    "broken scene": (["broken.toml", "-o", "a.abc"], 3, None),
    "ending": (["scene.json", "-o", "a.xyz"], 3, None),
    "preview": (["scene.json", "-o", "a.abc", "--preview", "a.bmp"], 3, None),
    "scale": (["scene.json", "-o", "a.abc", "--scale", "-1"], (2, 3), None),
    "folder": (["scene.json", "-o", "missing/a.abc"], 5, None),
    "report": (["scene.json", "-o", "a.abc", "--report", "missing/a.html"], 5, None),
    "is folder": (["scene.json", "-o", "a.abc", "--preview", "folder.png"], 5, None),
    "solver": (["scene.json", "-o", "a.abc"], 4, unsolvable),
    "full": (["scene.json", "-o", "a.abc"], 5, full),
    "interrupted": (["scene.json", "-o", "a.abc"], 130, interrupted),
}


@pytest.mark.parametrize("kind", ERRORS)
def test_errors_are_one_line_and_with_json_one_object(kind, folder, monkeypatch):
    arguments, code, failing = ERRORS[kind]
    Path("broken.toml").write_text("fps = ")
    Path("folder.png").mkdir()
    if failing:
        monkeypatch.setattr("jellycage.sim.scene.soft_stepper.SoftStepper.step", failing)
    result = run("bake", *arguments, "--json", "--progress", "none")
    codes = (code,) if isinstance(code, int) else code
    assert_one_line(result, result.exit_code)
    assert result.exit_code in codes, result.output
    told = json.loads(result.stdout)
    assert told["ok"] is False and told["code"] == result.exit_code
    assert result.stderr == f"jellycage: {told['error']}\n"
    assert not Path("a.abc").exists()
    # What can be known before is told before anything is simulated or written.
    assert Path("a.bake").exists() == (failing is not None)


def test_an_interrupted_bake_keeps_its_frames(folder, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("jellycage.sim.scene.soft_stepper.SoftStepper.step", interrupted)
        assert run("bake", "scene.json", "-o", "a.abc", "-q").exit_code == 130
    assert open_cache("a.bake").frames_done() == [1001]
    assert run("bake", "scene.json", "-o", "a.abc", "-q", "--resume").exit_code == 0
    assert Path("a.abc").exists()


@pytest.mark.parametrize("content", MALFORMED, ids=lambda c: repr(c[-60:])[:70])
def test_a_malformed_scene_ends_in_one_line(content, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in FILES:
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).touch()
    Path("scene.toml").write_bytes(content if isinstance(content, bytes) else content.encode())
    result = run("bake", "scene.toml", "-o", "a.abc")
    assert result.exit_code in (2, 3)
    assert_one_line(result, result.exit_code, "scene.toml")
    assert result.stdout == "" and not Path("a.bake").exists()


def test_meshes_that_are_none_end_in_one_line(folder):
    for text in ("", "no mesh", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"):
        Path("cube.obj").write_text(text)
        assert_one_line(run("bake", "scene.json", "-o", "a.abc", "--progress", "none"), 3, "cube")
    cube_file(folder)
    assert run("bake", "scene.json", "-o", "a.abc", "-q").exit_code == 0
