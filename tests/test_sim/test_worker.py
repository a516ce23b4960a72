"""The worker: every line is JSON, every end has its code, and it needs little to run."""

import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from tiny_shots import document, environment, frame_digests, painted_cube, python, write_scene

from jellycage.sim import worker
from jellycage.sim.bake.cache import open_cache
from jellycage.sim.bake.measures import Meter
from jellycage.sim.errors import SolverError

DONE_KEYS = {
    *("frames", "seconds", "ms_per_step", "volume_error_max", "contacts_max", "min_J"),
    *("solver", "warnings", "output"),
}
FRAME_KEYS = {"event", "frame", "substep", "fraction", "seconds", "eta", "volume_error", "contacts"}


class OpenInput:
    """A stdin that says some lines once it is let go on, and then ends or stays open."""

    def __init__(self, lines=(), *, ends=False):
        self.lines, self.ends, self.go_on = lines, ends, threading.Event()

    def __iter__(self):
        self.go_on.wait(60.0)
        yield from self.lines
        if not self.ends:
            threading.Event().wait(60.0)


def write_job(folder, **changes):
    """A job file in a folder, as a dict with changes."""
    job = {"scene": document(folder), "cache": "a.bake", **changes}
    return write_scene(folder, {k: v for k, v in job.items() if v is not ...}, "job.json")


def run(path, monkeypatch, capsys, stdin=None):
    """(exit code, events) of the worker run on a job in this process."""
    monkeypatch.setattr("sys.stdin", stdin or OpenInput())
    code = worker.main([str(path)])
    lines = capsys.readouterr().out.splitlines()
    return code, [json.loads(line) for line in lines]


# ---- what it says


def test_events_come_in_order_and_end_with_done(tmp_path, monkeypatch, capsys):
    exports = [{"path": "a.abc"}, {"path": "a.pc2", "up_axis": "Y", "scale": 100.0}]
    path = write_job(tmp_path, exports=exports, report="a.html", preview="a.png", velocities=True)
    code, events = run(path, monkeypatch, capsys)
    assert code == 0 and all("event" in event for event in events)
    kinds = [event["event"] for event in events if event["event"] != "substep"]
    middle = [k for k, kind in enumerate(kinds) if kind == "frame"]
    assert middle == list(range(middle[0], middle[0] + 5)) and middle[0] > 0
    assert set(kinds[: middle[0]]) == set(kinds[middle[-1] + 1 : -1]) == {"stage"}
    assert kinds[-1] == "done"
    frames = [event for event in events if event["event"] == "frame"]
    assert [event["frame"] for event in frames] == [2, 3, 4, 5, 6]
    assert all(event.keys() == FRAME_KEYS for event in frames)
    assert [event["fraction"] for event in frames] == [0.2, 0.4, 0.6, 0.8, 1.0]
    stages = [event for event in events if event["event"] == "stage"]
    assert all(set(event) == {"event", "stage", "fraction"} for event in stages)
    assert all(0.0 <= event["fraction"] <= 1.0 for event in stages)
    done = events[-1]
    assert done.keys() >= DONE_KEYS and done["frames"] == 6
    assert done["output"] == [str(tmp_path / "a.abc"), str(tmp_path / "a.pc2")]
    for name in ("a.abc", "a.pc2", "a.html", "a.png", "a.bake/velocity_0006.npy"):
        assert (tmp_path / name).stat().st_size > 0


def test_a_scene_may_be_a_file_beside_the_job(tmp_path, monkeypatch, capsys):
    write_scene(tmp_path, document(tmp_path, frames=(1, 2)))
    code, events = run(write_job(tmp_path, scene="scene.json"), monkeypatch, capsys)
    assert code == 0 and events[-1]["output"] == [str(tmp_path / "a.bake")]


def test_slow_frames_are_told_of_in_between(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("jellycage.sim.bake.bake_task.STEP_SECONDS", 0.0)
    scene = document(tmp_path, frames=(1, 3), substeps=4)
    _, events = run(write_job(tmp_path, scene=scene), monkeypatch, capsys)
    steps = [event for event in events if event["event"] == "substep"]
    assert [(event["frame"], event["substep"]) for event in steps] == [
        (frame, step) for frame in (2, 3) for step in (1, 2, 3)
    ]
    assert all(event.keys() == FRAME_KEYS for event in steps)


# ---- stopping


@pytest.mark.parametrize("way", ["cancel", "end"])
def test_cancel_and_the_end_of_stdin_stop_it_and_keep_frames(way, tmp_path, monkeypatch, capsys):
    whole = write_job(tmp_path, cache="whole.bake")
    assert run(whole, monkeypatch, capsys)[0] == 0
    stdin = OpenInput(["go\n", "cancel\n"]) if way == "cancel" else OpenInput(["go\n"], ends=True)
    measured = Meter.measured

    def slow(self, frame, state):
        if frame == 3:
            stdin.go_on.set()
            stop_seen.wait(10.0)
        return measured(self, frame, state)

    stop_seen = threading.Event()
    watch = worker.watch_stdin
    monkeypatch.setattr(worker, "watch_stdin", lambda stop: (watch(stop), stop_seen.set()))
    with monkeypatch.context() as patch:
        patch.setattr(Meter, "measured", slow)
        code, events = run(write_job(tmp_path), patch, capsys, stdin)
    assert code == 130
    assert events[-1]["event"] == "error" and events[-1]["code"] == 130
    assert "--resume" in events[-1]["message"]
    assert open_cache(tmp_path / "a.bake").frames_done() == [1, 2, 3]
    code, events = run(write_job(tmp_path, resume=True), monkeypatch, capsys)
    assert code == 0 and events[-1]["frames"] == 6
    assert [event["frame"] for event in events if event["event"] == "frame"] == [4, 5, 6]
    assert frame_digests(tmp_path / "a.bake") == frame_digests(tmp_path / "whole.bake")


# ---- jobs that cannot be done


def refused(path, monkeypatch, capsys, code=3):
    """The message of the one event with which a job is refused."""
    got, events = run(path, monkeypatch, capsys)
    errors = [event for event in events if event["event"] == "error"]
    assert got == code and events[-1:] == errors, events
    assert set(errors[0]) == {"event", "message", "code"} and errors[0]["code"] == code
    assert len(errors[0]["message"].splitlines()) == 1
    return errors[0]["message"]


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ("[]", "expected an object"),
        ("5", "expected an object"),
        ("{}", "scene and cache"),
        ('{"scene": {}}', "scene and cache"),
        ("[" * 99999, "no JSON"),
        (b"\xff\xfe", "no JSON"),
    ],
)
def test_what_is_no_job_is_refused(content, word, tmp_path, monkeypatch, capsys):
    path = tmp_path / "job.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert word in refused(path, monkeypatch, capsys)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"colour": 1}, "colour"),
        ({"scene": {}}, "body"),
        ({"scene": "missing.toml"}, "missing.toml"),
        ({"exports": 5}, "exports"),
        ({"exports": ["a.abc"]}, "exports"),
        ({"exports": [{}]}, "exports"),
        ({"exports": [{"path": "a.xyz"}]}, ".xyz"),
        ({"preview": "a.bmp"}, ".png or .gif"),
    ],
    ids=str,
)
def test_jobs_with_wrong_values_are_refused(change, word, tmp_path, monkeypatch, capsys):
    path = write_job(tmp_path, **change)
    assert word in refused(path, monkeypatch, capsys)
    assert not (tmp_path / "a.bake").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"cache": 5},
        {"cache": None},
        {"scene": 5},
        {"scene": None},
        {"exports": [{"path": "a.abc", "scale": "big"}]},
        {"exports": [{"path": "a.abc", "scale": -1.0}]},
        {"exports": [{"path": "a.abc", "up_axis": "X"}]},
    ],
    ids=str,
)
def test_jobs_with_values_of_wrong_kinds_are_refused(change, tmp_path, monkeypatch, capsys):
    refused(write_job(tmp_path, **change), monkeypatch, capsys)
    assert not (tmp_path / "a.bake").exists()


def test_a_gif_without_pillow_is_refused_before_the_work(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "PIL", None)
    path = write_job(tmp_path, preview="a.gif")
    assert "Pillow" in refused(path, monkeypatch, capsys)
    assert not (tmp_path / "a.bake").exists()


def test_folders_that_are_missing_are_input_and_output(tmp_path, monkeypatch, capsys):
    refused(tmp_path / "none.json", monkeypatch, capsys, 5)
    path = write_job(tmp_path, report="missing/a.html")
    assert "missing" in refused(path, monkeypatch, capsys, 5)
    assert not (tmp_path / "a.bake").exists()


def test_it_takes_one_argument(monkeypatch, capsys):
    assert worker.main([]) == 3
    assert json.loads(capsys.readouterr().out)["code"] == 3


@pytest.mark.parametrize(
    ("error", "code"),
    [(SolverError("cube, frame 2: no"), 4), (OSError(28, "full"), 5), (ZeroDivisionError("x"), 1)],
)
def test_errors_in_the_middle_have_their_codes(error, code, tmp_path, monkeypatch, capsys):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("jellycage.sim.bake.bake_task.build_shot", fail)
    refused(write_job(tmp_path), monkeypatch, capsys, code)


# ---- as a process

BLOCKED = """
import sys
for name in ("trimesh", "meshio", "click", "plotly", "PIL", "matplotlib", "alembic3d"):
    sys.modules[name] = None
from jellycage.sim.worker import main
code = main(sys.argv[1:])
seen = {name.split(".")[0] for name in sys.modules if sys.modules[name] is not None}
print(sorted(seen & {"bpy", "dask", "pytest", "skfem"}), file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.slow
def test_it_needs_numpy_scipy_and_numba_alone_and_ends_with_stdin_open(tmp_path):
    np.savez(tmp_path / "w.npz", w=np.ones(8))
    scene = document(tmp_path, frames=(1, 3))
    row = scene["body"][0]
    ply = {"mesh": painted_cube(tmp_path, top=np.ones(8)), "pin": [{"attribute": "top"}]}
    scene["body"] = [row, {**row, **ply, "name": "held", "location": [5, 0, 1]}]
    exports = [{"path": f"a{ending}"} for ending in (".abc", ".pc2", ".mdd", ".obj")]
    path = write_job(tmp_path, scene=scene, exports=exports, preview="a.png", report="a.html")
    process = subprocess.Popen(
        python("-c", BLOCKED, path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    lines = list(process.stdout)  # stdin stays open: it must end by itself
    code = process.wait(60)
    errors = process.stderr.read()
    process.stdin.close()
    events = [json.loads(line) for line in lines]
    assert code == 0 and events[-1]["event"] == "done", errors
    assert errors.strip() == "[]"
    assert all(Path(name).exists() for name in events[-1]["output"])


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals are those of Unix")
def test_a_process_stops_when_stdin_is_closed(tmp_path):
    path = write_job(tmp_path, scene=document(tmp_path, frames=(1, 5000)))
    process = subprocess.Popen(
        python("-m", "jellycage.sim.worker", path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    for line in process.stdout:
        if json.loads(line)["event"] == "frame":
            break
    process.stdin.close()
    rest = [json.loads(line) for line in process.stdout]
    assert process.wait(60) == 130
    assert rest[-1]["event"] == "error" and rest[-1]["code"] == 130
    assert len(open_cache(tmp_path / "a.bake").frames_done()) >= 2


def test_emitted_lines_are_whole(capsys):
    worker.emit({"event": "stage", "stage": "a\nb \u2028", "fraction": 0.5})
    text = capsys.readouterr().out
    assert text.count("\n") == 1 and json.loads(io.StringIO(text).readline())["stage"][1] == "\n"
