"""Bakes in processes that are killed, interrupted, or have other numbers of threads: always the same bytes."""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tiny_shots import environment, frame_digests, python, shot_of, violent_document, write_scene

from jellycage.sim.bake.bake import bake
from jellycage.sim.bake.cache import open_cache

FRAMES = (1001, 1060)
KILLS = int(os.environ.get("JELLYCAGE_KILLS", "3"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="signals are those of Unix"),
]


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """A violent drop as a scene file."""
    return violent_scene(tmp_path_factory.mktemp("scene"))


@pytest.fixture(scope="module")
def whole(scene, tmp_path_factory):
    """Digests of the frames that a bake in one go gives."""
    return whole_digests(scene, tmp_path_factory.mktemp("whole"))


def violent_scene(folder) -> Path:
    """A scene file that takes long enough to be killed in the middle."""
    return write_scene(folder, violent_document(folder, frames=FRAMES))


def whole_digests(scene: Path, folder) -> dict[str, str]:
    """Digests of the frames of a bake that nothing stops."""
    bake(shot_of(scene.parent, json.loads(scene.read_text())), folder, keep_going=True)
    return frame_digests(folder)


def heed_ctrl_c():
    """A shell that runs the tests in the background lets them ignore Ctrl-C, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def started(scene, cache, *options, **more):
    """A bake in a process of its own."""
    command = python(
        "-m",
        "jellycage.sim.cli",
        "bake",
        scene,
        "--cache",
        cache,
        "--keep-going",
        "--progress",
        "json",
    )
    return subprocess.Popen(
        [*command, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**more),
        preexec_fn=None if os.name == "nt" else heed_ctrl_c,
    )


def wait_for_frame(process, frame):
    """Read what the process says until it has finished a frame; False if it ends before."""
    for line in process.stderr:
        told = json.loads(line)
        if told.get("event") == "frame" and told["frame"] >= frame:
            return True
    return False


def killed_often(scene: Path, cache: Path, kills: int, seed: int) -> int:
    """Kill a bake at random moments and continue it, until it is finished; how often it was alive to be killed."""
    chance, hits = random.Random(seed), 0
    for number in range(kills):
        done = len(list(cache.glob("frame_*.npy")))
        process = started(scene, cache, "--resume")
        try:
            # The first line of the bake, then a random time: between frames, in a frame, in a write.
            left = FRAMES[1] - FRAMES[0] - done
            wait_for_frame(
                process, FRAMES[0] + done + chance.randrange(max(left // (kills + 1), 1))
            )
            time.sleep(chance.uniform(0.0, 0.02))
            if process.poll() is None:
                hits += 1
        finally:
            process.kill()
            process.communicate()
        assert number or (cache / "bake.json").exists()
    process = started(scene, cache, "--resume", "--json")
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert json.loads(output)["frames"] == FRAMES[1] - FRAMES[0] + 1
    return hits


def test_a_bake_that_was_killed_continues_to_the_same_bytes(scene, whole, tmp_path):
    cache = tmp_path / "a.bake"
    hits = killed_often(scene, cache, KILLS, seed=1)
    assert hits >= min(KILLS, 2)
    assert frame_digests(cache) == whole
    assert open_cache(cache).read_checkpoint()[0] == FRAMES[1]


def test_ctrl_c_leaves_with_130_and_keeps_what_is_finished(scene, whole, tmp_path):
    cache = tmp_path / "a.bake"
    process = started(scene, cache)
    assert wait_for_frame(process, FRAMES[0] + 2)
    process.send_signal(signal.SIGINT)
    output, rest = process.communicate(timeout=120)
    assert process.returncode == 130 and output == ""
    told = [line for line in rest.splitlines() if not line.startswith("{")]
    assert len(told) == 1 and told[0].startswith("jellycage: ") and "interrupted" in told[0]
    done = open_cache(cache).frames_done()
    assert 3 <= len(done) < FRAMES[1] - FRAMES[0] + 1
    # The signal may come after a frame is told of and before the checkpoint has it: that one is baked again.
    assert open_cache(cache).read_checkpoint()[0] >= done[-1] - 1
    assert not [path for path in cache.iterdir() if path.name.startswith(".")]
    process = started(scene, cache, "--resume")
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert frame_digests(cache) == whole


@pytest.mark.parametrize("threads", ["1", "2"])
def test_the_number_of_threads_changes_no_byte(threads, scene, whole, tmp_path):
    limits = {"NUMBA_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
    process = started(scene, tmp_path / "a.bake", **limits)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert frame_digests(tmp_path / "a.bake") == whole
