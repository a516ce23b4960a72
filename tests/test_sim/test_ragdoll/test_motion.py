"""Motion files: exact on the way there and back, and one sentence for what cannot be used."""

import json
from dataclasses import replace

import numpy as np
import pytest
from random_characters import random_turns

from jellycage.sim.errors import SceneError
from jellycage.sim.ragdoll.motion import BoneMotion, read_motion, write_motion


def random_motion(seed, names=("hips", "背骨", 'a "b"'), frame_count=5):
    rng = np.random.default_rng(seed)
    return BoneMotion(
        names=names,
        fps=29.97,
        frames=np.arange(1001, 1001 + frame_count),
        location=rng.normal(size=(frame_count, len(names), 3)) * 10.0 ** rng.integers(-9, 9),
        rotation=random_turns(rng, frame_count, len(names)),
    )


@pytest.mark.parametrize("seed", range(5))
def test_a_motion_reads_back_exactly(tmp_path, seed):
    motion = random_motion(seed)
    write_motion(motion, tmp_path / "a.json")
    read = read_motion(tmp_path / "a.json")
    assert (read.names, read.fps) == (motion.names, motion.fps)
    for name in ("frames", "location", "rotation"):
        np.testing.assert_array_equal(getattr(read, name), getattr(motion, name))


def test_rotations_stay_on_one_hemisphere():
    motion = random_motion(1, frame_count=40)
    assert (np.sum(motion.rotation[1:] * motion.rotation[:-1], axis=-1) >= 0.0).all()


BAD = {
    "no format": ({"format": None}, "format: is missing"),
    "a character": ({"format": "jellycage character"}, "format: expected"),
    "a later version": ({"version": 3}, "version: expected 1"),
    "no bones": ({"bones": []}, "bones: there is none"),
    "a name twice": ({"bones": ["hips", "hips", "head"]}, r"bones\[1\]: .hips. stands twice"),
    "a name too many": ({"bones": ["a", "b", "c", "d"]}, "location: expected .*got .5, 3, 3."),
    "a blank name": ({"bones": ["a", "", "c"]}, r"bones\[1\]: expected a text"),
    "frames too few": ({"frames": [1001, 1004]}, "location: expected .*got .5, 3, 3."),
    "frames as one": ({"frames": 1001}, "frames: expected first and last"),
    "no fps": ({"fps": -1}, "fps: expected"),
    "location flat": ({"location": [1.0, 2.0]}, "location: expected numbers"),
    "location gone": ({"location": None}, "location: is missing"),
    "rotation zero": ({"rotation": [[[0.0] * 4] * 3] * 5}, r"rotation\[0\]\[0\]: .*length 0"),
    "rotation infinite": ({"rotation": [[[float("inf")] * 4] * 3] * 5}, "rotation: .*infinity"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_motion_is_refused_in_one_sentence(tmp_path, name):
    change, expected = BAD[name]
    path = tmp_path / "a.json"
    write_motion(random_motion(0), path)
    document = json.loads(path.read_text(encoding="utf-8")) | change
    path.write_text(json.dumps({key: v for key, v in document.items() if v is not None}))
    with pytest.raises(SceneError, match=expected) as caught:
        read_motion(path)
    assert str(caught.value).startswith(f"{path}: ") and "\n" not in str(caught.value)


def test_a_motion_with_gaps_between_its_frames_is_refused():
    with pytest.raises(SceneError, match="frames: expected consecutive frames, got 9 after 2; "):
        replace(random_motion(0), frames=[1, 2, 9, 10, 11])
