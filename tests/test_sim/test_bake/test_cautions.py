"""A bake says which elements were inside out and when, which steps were too long for the motion, and what took ages."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from beams import beam_hexes, beam_tets
from shapes import box
from tiny_shots import baked, document, shot_of, tiny_shot, violent_document

from jellycage import sim, toolkit
from jellycage.sim.bake.bake import bake
from jellycage.sim.bake.bake_task import BakeTask
from jellycage.sim.bake.cautions import Cautions, slow_frames
from jellycage.sim.bake.health import Health
from jellycage.sim.bake.measures import COLUMNS, Measures
from jellycage.sim.errors import Cancelled
from jellycage.sim.scene.scene_file import scene_of
from jellycage.sim.scene.state import start_state

BUILDS = {"tets": beam_tets, "hexes": beam_hexes}
FPS = 20.0


@pytest.fixture(params=list(BUILDS))
def scene(request):
    cage = sim.Cage(*BUILDS[request.param](3, 2, 2, (1.5, 1.0, 1.0)))
    return sim.Scene([sim.SoftBody(cage, sim.NeoHookean(1e5, 0.3, 1000.0))])


def told(scene, *frames, substeps=1):
    """What is said after frames from 1001 on, each given as a function that changes a state."""
    cautions, health = Cautions(scene, ["bar"], FPS, substeps), Health(scene, FPS)
    noted, times = cautions.start(), health.start()
    for frame, change in enumerate(frames, start=1001):
        state = start_state(scene)
        change(state.soft[0])
        times, _ = health.after(state, times)
        noted = cautions.after(frame, state, times, noted)
    return cautions.sentences(noted)


def still(soft):
    """Leave it as it is."""


def pushed(count):
    """Push some corners through their cells."""

    def change(soft):
        for node in (0, -1)[:count]:
            soft.x[node] += 2.0 * (soft.x.mean(axis=0) - soft.x[node])

    return change


def turning(speed):
    """Spin about an axis that is none of its own [rad/s], on the way to somewhere else at 1000 m/s."""
    axis = np.array([1.0, 2.0, -2.0]) / 3.0

    def change(soft):
        soft.v[:] = [1e3, 0.0, 5.0] + np.cross(speed * axis, soft.x)

    return change


def test_nothing_is_said_of_what_is_sound(scene):
    assert told(scene, still, still, turning(0.9 * FPS)) == []


def test_elements_inside_out_are_said_once_with_their_frames_and_number(scene):
    def count(corners):
        state = start_state(scene)
        pushed(corners)(state.soft[0])
        body = scene.bodies[0]
        det = sim.determinants(body, state.soft[0].x).reshape(len(body.elements.corners), -1)
        return int((det <= 0.0).any(axis=1).sum())

    assert 0 < count(1) < count(2)

    def told_of_them(*frames):
        return [text for text in told(scene, *frames) if "inside out" in text]

    (said,) = told_of_them(still, pushed(1), pushed(2), still, pushed(1), still)
    assert said.startswith(f"bar, frames 1002 to 1005: up to {count(2)} elements were inside out;")
    (said,) = told_of_them(still, still, pushed(1), still)
    assert said.startswith(f"bar, frame 1003: up to {count(1)} elements were inside out;")


def test_a_body_that_was_crushed_is_said_once_with_its_frames_volume_and_width(scene):
    def pressed(height, width=1.0):
        def change(soft):
            soft.x[:] *= [width, width, height]

        return change

    assert told(scene, pressed(0.8), pressed(1.5), pressed(0.3, 1.8)) == []
    (said,) = told(scene, still, pressed(0.7), pressed(0.3), still, pressed(0.6), still)
    # Tets share out the mass of the bar unevenly, which turns its axes a little.
    text = "crushed to 30% of its volume and 3[0-2]% of its width;"
    assert re.match(f"bar, frames 1002 to 1005: {text}", said)
    (said,) = told(scene, still, pressed(0.1, 3.0))
    text = "crushed to 90% of its volume and 1[0-2]% of its width;"
    assert re.match(f"bar, frame 1002: {text}", said)


def led(scene, cells, **how):
    """The scene, with a corner that is led so many cells along x; a cell of it is half a metre."""
    (body,) = scene.bodies
    points = sim.node_points([0])
    target = points.positions(body.start_positions()) + [0.5 * cells, 0.0, 0.0]
    return sim.Scene([replace(body, pins=[sim.Pin(points, target, **how)])])


def test_hard_pins_that_are_not_followed_are_said_once_with_their_frames_and_distance(scene):
    def followed(soft):
        soft.x[0, 0] += 1.0

    (said,) = told(led(scene, 3.0), still, still, followed)
    # These tets are a sixth of a cell, those of a lattice a fifth.
    text = "hard pins are up to 3.[02] cells from where they are led; use a finer cage"
    assert re.match(f"bar, frames 1001 to 1002: {text}", said)
    assert told(led(scene, 1.8), still) == []


def test_soft_pins_and_ways_that_are_free_are_not_said(scene):
    assert told(led(scene, 3.0, strength=0.9), still) == []
    assert told(led(scene, 3.0, along=(1.0, 0.0, 0.0)), still) == []
    assert len(told(led(scene, 3.0, normal=(1.0, 0.0, 0.0)), still)) == 1


def test_parts_that_are_joined_and_led_apart_are_told_to_be_kept_apart():
    """Two boxes that overlap, and follow a hand each: one cage cannot, two can."""
    one = box((1.0, 1.0, 1.0))
    mesh = toolkit.TriMesh(
        np.concatenate([one[0], one[0] + [0.9, 0.0, 0.0]]), np.concatenate([one[1], one[1] + 8])
    )
    target = mesh.vertices + np.where(np.arange(16) < 8, -2.0, 2.0)[:, None] * [1.0, 0.0, 0.0]
    for join in (True, False):
        asset = toolkit.build_cage(mesh, resolution=6, join=join)
        points = sim.surface_points(asset, np.arange(16))
        body = sim.SoftBody(asset, sim.NeoHookean(1e5), pins=[sim.Pin(points, target)])
        scene = sim.Scene([body], gravity=(0.0, 0.0, 0.0))
        stepper, cautions = sim.Stepper(scene, fps=24.0), Cautions(scene, ["pair"], 24.0, 1)
        state, noted = stepper.start(), cautions.start()
        for _ in range(24):
            stepper.step(state)
        noted = cautions.after(24, state, Health(scene, 24.0).start(), noted)
        said = [text for text in cautions.sentences(noted) if "hard pins" in text]
        assert ["join = false" in text for text in said] == [True] * join


@pytest.mark.parametrize("substeps", [1, 3])
def test_a_turn_of_more_than_a_radian_in_a_substep_is_too_fast(scene, substeps):
    fast = 2.5 * FPS * substeps
    (said,) = told(scene, still, turning(0.5 * fast), turning(fast), still, substeps=substeps)
    assert said.startswith("bar, frame 1003: turns by 2.5 rad in one substep")
    # With as many substeps as it asks for all is well.
    enough = int(re.search(r"use more substeps, about (\d+)$", said)[1])
    assert enough <= 3 * substeps
    assert told(scene, turning(fast), substeps=enough) == []


def test_a_node_that_is_carried_past_its_body_in_a_substep_is_too_fast(scene):
    def torn(sizes):
        def change(soft):
            soft.v[0, 2] = sizes * scene.bodies[0].size * FPS

        return change

    assert told(scene, torn(0.8)) == []
    (said,) = told(scene, torn(3.0))
    assert (
        said.startswith("bar, frame 1001: changes its shape by 2.") and "substeps, about 3" in said
    )


def test_frames_inside_out_of_a_bake_are_those_that_were_measured(tmp_path):
    shot = shot_of(tmp_path, violent_document(tmp_path))
    result, _ = baked(shot, tmp_path / "whole", keep_going=True)
    is_inverted = result.column("min_J") <= 0.0
    frames = result.column("frame")[is_inverted].astype(int)
    assert len(frames), "this scene is meant to turn elements inside out"
    said = [text for text in result.cautions if "inside out" in text]
    when = f"frame {frames[0]}:" if len(frames) == 1 else f"frames {frames[0]} to {frames[-1]}:"
    assert len(said) == 1 and said[0].startswith(f"cube, {when}")
    # A bake that was stopped on the way, or is only asked for again, says the same.
    stops = iter([False] * 3 * (frames[0] - 1001 + 1) + [True])
    with pytest.raises(Cancelled):
        bake(shot, tmp_path / "parts", keep_going=True, is_cancelled=lambda: next(stops))
    again = bake(shot, tmp_path / "parts", keep_going=True, resume=True)
    assert again.baked < result.baked and again.cautions == result.cautions
    assert bake(shot, tmp_path / "whole", keep_going=True).cautions == result.cautions


def test_a_spin_that_the_steps_swallow_is_said_though_it_is_gone_after_a_frame(tmp_path):
    content = document(
        tmp_path, frames=(1, 3), colliders=(), substeps=2, body={"spin": [0, 0, 300.0]}
    )
    emitted = []
    task = BakeTask.of_scene(
        scene_of(content, tmp_path),
        tmp_path / "a.bake",
        report=tmp_path / "a.html",
        keep_going=True,
    )
    facts = json.loads(json.dumps(task.run(emitted.append)))
    said = [text for text in facts["warnings"] if "in one substep" in text]
    assert len(said) == 1 and said[0].startswith("cube, frame 1: turns by 6.2 rad in one substep")
    assert said[0] in (tmp_path / "a.html").read_text()


def test_a_plain_fall_is_no_reason_for_cautions(tmp_path):
    shot = tiny_shot(tmp_path, frames=(1, 24), body={"preset": "jelly", "location": [0, 0, 1.0]})
    assert bake(shot, tmp_path / "bake").cautions == ()


def measured(*seconds):
    """Measures of frames from 1001 on of which steps took so long [s]; the first is the start."""
    rows = [Measures(frame, step_seconds=0.9 * s, contact_seconds=0.1 * s).row()
            for frame, s in enumerate((0.0, *seconds), start=1001)]  # fmt: skip
    assert np.array(rows).shape == (len(seconds) + 1, len(COLUMNS))
    return np.array(rows)


def test_a_frame_far_slower_than_those_before_it_is_named():
    (said,) = slow_frames(measured(1.0, 2.0, 1.0, 1.0, 300.0, 400.0, 1.0), ["bear", "ball"])
    assert said.startswith("bear, ball, frame 1007: took 400 s, the frames before it 1 s;")


@pytest.mark.parametrize(
    "seconds",
    [
        (1.0, 1.0, 1.0, 1.0, 59.0, 1.0),  # a minute is nothing
        (5.0, 5.0, 5.0, 5.0, 99.0),  # a busy machine
        (200.0, 1.0, 1.0, 1.0),  # the first compiles
        (0.01, 200.0, 200.0, 200.0),  # nothing to compare with yet
        (),
    ],
)
def test_a_frame_that_is_merely_slow_is_not(seconds):
    assert slow_frames(measured(*seconds), ["bear"]) == []


def test_a_bake_tells_of_its_slowest_frame(tmp_path, monkeypatch):
    """As if every frame after the first few were too slow."""
    for name in ("SLOW_FACTOR", "SLOW_SECONDS"):
        monkeypatch.setattr(f"jellycage.sim.bake.cautions.{name}", 1e-9)
    result = bake(tiny_shot(tmp_path), tmp_path / "bake")
    spent = result.column("step_seconds") + result.column("contact_seconds")
    slowest = 1 + 4 + int(spent[4:].argmax())
    assert [text.split(": took")[0] for text in result.cautions] == [f"cube, frame {slowest}"]
