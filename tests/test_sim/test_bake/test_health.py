"""A bake ends where a body comes to harm, says which, when and where, and keeps what was good; or goes on if asked."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from beams import beam_hexes, beam_tets
from tiny_shots import document

from jellycage import sim
from jellycage.sim.bake.bake import bake
from jellycage.sim.bake.cache import open_cache
from jellycage.sim.bake.health import Health
from jellycage.sim.scene.build import build_shot
from jellycage.sim.scene.scene_file import scene_of
from jellycage.sim.scene.state import start_state

COMMAND = str(Path(sys.executable).parent / "jellycage")
BUILDS = {"tets": beam_tets, "hexes": beam_hexes}
FPS = 20.0


@pytest.fixture(params=list(BUILDS))
def scene(request):
    cage = sim.Cage(*BUILDS[request.param](3, 2, 2, (1.5, 1.0, 1.0)))
    return sim.Scene([sim.SoftBody(cage, sim.NeoHookean(1e5, 0.3, 1000.0))])


def told(scene, *shapes):
    """What is said of each of some shapes in turn, given as changes of the rest shape."""
    health, state = Health(scene, FPS), start_state(scene)
    times, rest, texts = health.start(), state.soft[0].x.copy(), []
    for frame, shape in enumerate(shapes, start=1):
        state.soft[0].x, state.time = shape(rest.copy()), frame / FPS
        times, troubles = health.after(state, times)
        texts.append(list(troubles.values()))
    return texts


def test_what_a_sound_body_does_is_no_trouble(scene):
    def far_and_turned(x):
        return x @ np.array([[0.0, 1, 0], [-1, 0, 0], [0, 0, 1]]) + 1e6

    assert (
        told(scene, lambda x: x, lambda x: 1.2 * x, lambda x: 0.8 * x, far_and_turned) == [[]] * 4
    )


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (lambda x: x * 0.79, "49% of its volume"),
        (lambda x: x * 1.27, "205% of its volume"),
        (lambda x: x + 60.0 * np.eye(len(x), 3, k=-5), "is torn apart"),
        (lambda x: x * np.nan, "is torn apart"),
    ],
)
def test_a_body_that_is_too_small_too_large_or_torn_is_in_trouble(scene, shape, text):
    is_torn = text == "is torn apart"
    said = told(scene, *(1 if is_torn else 5) * [shape])
    assert text in said[-1][0] and said[:-1] == [[]] * len(said[:-1])


def test_an_element_may_be_inside_out_for_a_moment_and_no_longer(scene):
    """A corner that is pushed through its cell, for four frames of 0.05 s and for five."""

    def pushed(x):
        x[0] += 2.0 * (x.mean(axis=0) - x[0])
        return x

    assert (sim.determinants(scene.bodies[0], pushed(start_state(scene).soft[0].x)) <= 0.0).any()
    momentary = told(scene, *4 * [pushed], lambda x: x, *4 * [pushed])
    assert momentary == [[]] * 9
    for_good = told(scene, *5 * [pushed])
    assert for_good[:4] == [[]] * 4
    assert "inside out for 0.25 s at (" in for_good[4][0]


def test_what_pins_do_to_their_elements_is_asked_for(scene):
    """The same corner, led through its cell by a pin."""

    def pushed(x):
        x[0] += 2.0 * (x.mean(axis=0) - x[0])
        return x

    let_go = sim.Keyed([4.0 / FPS, 4.5 / FPS], [1.0, 0.0])
    for strength, said in ((1.0, []), (let_go, ["inside out"])):
        pin = sim.Pin(sim.node_points([0]), strength=strength)
        pinned = replace(scene.bodies[0], pins=[pin])
        texts = told(replace(scene, bodies=[pinned]), *9 * [pushed])
        assert texts[:-1] == [[]] * 8
        assert [part in text for part, text in zip(said, texts[-1], strict=True)] == [True] * len(
            said
        )


def crushed(folder):
    """A cube between a floor and a ceiling that comes down to a tenth of it, from frame 3 to 9."""
    press = {
        "kind": "box",
        "size": [4.0, 4.0, 1.0],
        "keys": [
            {"frame": frame, "location": [0.5, 0.5, z], "rotation": [0.0, 0.0, 0.0]}
            for frame, z in ((3, 1.6), (9, 0.62))
        ],
    }
    return document(folder, frames=(1, 18), colliders=({"kind": "plane"}, press))


def test_a_crushed_body_ends_the_bake_and_leaves_what_was_good(tmp_path):
    shot = build_shot(scene_of(crushed(tmp_path), tmp_path))
    with pytest.raises(
        sim.SolverError, match=r"^cube, frame \d+: .* at \(.*--keep-going"
    ) as caught:
        bake(shot, tmp_path / "bake")
    last = int(str(caught.value).split("frame ")[1].split(":")[0]) - 1
    assert open_cache(tmp_path / "bake").frames_done() == list(range(1, last + 1))
    assert caught.value.exit_code == 4
    # On from there, if asked: to the same frames as in one go.
    for _ in range(2):
        with pytest.raises(sim.SolverError) as again:
            bake(shot, tmp_path / "bake", resume=True)
        assert str(again.value) == str(caught.value)
    on = bake(shot, tmp_path / "bake", resume=True, keep_going=True)
    whole = bake(shot, tmp_path / "whole", keep_going=True)
    assert on.troubles == whole.troubles and str(caught.value).startswith(on.troubles[0])
    # A bake that is there already is no better for that.
    with pytest.raises(sim.SolverError, match=r"^cube, frame"):
        bake(shot, tmp_path / "whole")
    assert bake(shot, tmp_path / "whole", keep_going=True).troubles == whole.troubles
    for frame in (1, last, 18):
        name = f"frame_{frame:04d}.npy"
        assert (tmp_path / "bake" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert whole.column("volume_error").min() < -0.5


@pytest.mark.slow
def test_the_command_says_it_and_ends_with_4_or_goes_on(tmp_path):
    (tmp_path / "shot.json").write_text(json.dumps(crushed(tmp_path)))
    ask = [COMMAND, "bake", "shot.json", "-o", "out.pc2", "--progress", "none", "--json"]
    ended = subprocess.run(ask, cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 4 and "cube, frame " in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1 and not (tmp_path / "out.pc2").exists()
    went_on = subprocess.run(
        [*ask, "--resume", "--keep-going"], cwd=tmp_path, capture_output=True, text=True
    )
    assert went_on.returncode == 0, went_on.stderr
    assert any("cube, frame " in text for text in json.loads(went_on.stdout)["warnings"])


def test_a_fall_of_jelly_from_twice_its_height_is_no_trouble(tmp_path):
    content = document(tmp_path, frames=(1, 24), body={"preset": "jelly", "location": [0, 0, 2.0]})
    assert bake(build_shot(scene_of(content, tmp_path)), tmp_path / "bake").troubles == ()
