"""What the worker does besides bakes."""

import json
import threading

import numpy as np
import pytest
from tiny_shots import document, write_scene

from jellycage.sim import worker
from jellycage.sim.bake.cache import open_cache
from jellycage.sim.bake.exports import Export, write_export
from jellycage.sim.errors import SettingsError
from jellycage.sim.export.pc2 import read_pc2
from jellycage.toolkit.asset.asset_file import load_asset


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A function from a job to (exit code, the last event)."""

    def never():
        threading.Event().wait()
        yield ""

    def run(job):
        monkeypatch.setattr("sys.stdin", never())
        code = worker.main([str(write_scene(tmp_path, job, "job.json"))])
        return code, json.loads(capsys.readouterr().out.splitlines()[-1])

    return run


def two_cubes(folder, frames=(1, 4)):
    scene = document(folder, frames=frames)
    scene["body"] += [{**scene["body"][0], "location": [3.0, 0.0, 0.5]}]
    scene["body"][0]["name"], scene["body"][1]["name"] = "near", "far"
    return scene


def test_a_cage_is_built_and_told_about(run, tmp_path):
    document(tmp_path)
    settings = {"resolution": 4, "element": "hex", "fit_steps": 0}
    code, said = run(
        {"task": "cage", "mesh": "cube.obj", "asset": "cage.npz", "settings": settings}
    )
    asset = load_asset(tmp_path / "cage.npz")
    assert code == 0 and said["event"] == "done" and said["bounding"] is True
    assert (said["elements"], said["nodes"]) == (len(asset.cage_hexes), len(asset.cage_nodes))
    assert said["warnings"] == [] and asset.collision is None


def test_patches_are_written_beside_the_cage_if_asked_for(run, tmp_path):
    document(tmp_path)
    job = {"task": "cage", "mesh": "cube.obj", "asset": "cage.npz", "settings": {"resolution": 3}}
    assert run(job | {"patches": "patches.npz"})[0] == 0
    asset = load_asset(tmp_path / "cage.npz")
    with np.load(tmp_path / "patches.npz") as cut:
        assert len(cut["faces"]) == len(cut["patch"]) == len(asset.collision.triangles)
        assert cut["patch"].max() == len(asset.collision.patch_area) - 1
        corners = cut["vertices"][cut["faces"]]
    source = asset.surface_vertices[asset.surface_faces]
    np.testing.assert_allclose(total_area(corners), total_area(source), rtol=1e-9)


def total_area(corners):
    sides = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return np.linalg.norm(sides, axis=1).sum() / 2.0


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"settings": {"resolution": 0}}, "resolution"),
        ({"mesh": "missing.obj"}, "missing.obj"),
        ({"asset": "no_such_folder/cage.npz"}, "no_such_folder"),
        ({"settings": []}, "object"),
        ({"task": "bend"}, "task"),
        ({"scene": {}}, "scene"),
    ],
)
def test_bad_cage_jobs_end_with_one_sentence(run, tmp_path, change, word):
    document(tmp_path)
    job = {"task": "cage", "mesh": "cube.obj", "asset": "cage.npz", "settings": {}}
    code, said = run({**job, **change})
    assert code in (3, 5) and said["event"] == "error" and word in said["message"]
    assert not (tmp_path / "cage.npz").exists()


def test_a_bake_can_be_exported_later_and_as_far_as_it_got(run, tmp_path):
    assert run({"scene": two_cubes(tmp_path), "cache": "a.bake"})[0] == 0
    job = {"task": "export", "cache": "a.bake", "exports": [{"path": "a.pc2", "body": "far"}]}
    code, said = run(job)
    assert code == 0 and said["last_frame"] == 4 and len(said["output"]) == 1
    whole = np.array(read_pc2(tmp_path / "a.pc2").positions)
    frames = [open_cache(tmp_path / "a.bake").frame(frame)[1] for frame in (1, 2, 3, 4)]
    np.testing.assert_array_equal(whole, frames)

    (tmp_path / "a.bake" / "frame_0004.npy").unlink()
    code, said = run(job)
    assert code == 3 and "frame 4" in said["message"]
    for path in ("a.pc2", "a.mdd", "a.abc", "a.obj"):
        code, said = run({**job, "exports": [{"path": path}], "partial": True})
        assert code == 0 and said["last_frame"] == 3
    part = read_pc2(tmp_path / "a_far.pc2").positions
    np.testing.assert_array_equal(part, whole[:3])
    for path in (tmp_path / "a.bake").glob("frame_*.npy"):
        path.unlink()
    code, said = run({**job, "partial": True})
    assert code == 3 and "no frame is finished" in said["message"]


def test_an_export_may_be_placed_in_a_space_that_moves(run, tmp_path):
    run({"scene": two_cubes(tmp_path), "cache": "a.bake"})
    random = np.random.default_rng(3)
    matrices = np.tile(np.eye(4), (4, 1, 1))
    matrices[:, :3] = random.normal(size=(4, 3, 4))
    np.save(tmp_path / "moving.npy", matrices)
    np.save(tmp_path / "still.npy", matrices[:1])
    cache = open_cache(tmp_path / "a.bake")
    for name, of_frame in (("moving", [0, 1, 2, 3]), ("still", [0, 0, 0, 0])):
        export = Export(tmp_path / "b.pc2", body="near", placements=tmp_path / f"{name}.npy")
        write_export(cache, export)
        got = read_pc2(tmp_path / "b.pc2").positions
        for at, row in enumerate(of_frame):
            x = np.c_[cache.frame(1 + at)[0].astype(float), np.ones(8)] @ matrices[row].T
            np.testing.assert_array_equal(got[at], x[:, :3].astype(np.float32))


def test_wrong_bodies_and_placements_are_refused(run, tmp_path):
    run({"scene": two_cubes(tmp_path), "cache": "a.bake"})
    cache = open_cache(tmp_path / "a.bake")
    with pytest.raises(SettingsError, match="'middle'; there are near, far"):
        write_export(cache, Export(tmp_path / "a.pc2", body="middle"))
    for content in (np.zeros((3, 4, 4)), np.zeros(4), np.array(["x"])):
        np.save(tmp_path / "p.npy", content)
        with pytest.raises(SettingsError, match="expected an array of shape"):
            write_export(cache, Export(tmp_path / "a.pc2", placements=tmp_path / "p.npy"))
    assert not (tmp_path / "a.pc2").exists()


def test_the_self_test_says_with_what_it_worked(run):
    code, said = run({"task": "check"})
    assert code == 0 and said["volume_error_max"] < 0.05
    assert set(said["versions"]) == set(said["files"]) == {"numpy", "scipy", "numba", "llvmlite"}
    assert said["versions"]["numpy"] == np.__version__ and said["files"]["numpy"] == np.__file__
