"""Steps are cut around blows, and nowhere else."""

import math

import numpy as np
import pytest
from contact_scenes import G, block, centre
from stepping import OneBody

from jellycage import sim
from jellycage.sim.contact.impacts import (
    CRUSHED,
    DEFORMED,
    GROWTH,
    LASTING,
    OUTRUN,
    RESOLVED,
    Impacts,
)
from jellycage.sim.solvers.methods import INTEGRATORS

DT = 1.0 / 24.0


class Recorded(Impacts):
    """Remembers how long the steps were [s]."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.lengths = []

    def note(self, memory, pressed, v, dt):
        super().note(memory, pressed, v, dt)
        self.lengths.append(dt)


def lengths_of_steps(body, frames, settings=None, dt=DT, **surroundings):
    """(lengths of the steps of each frame [s], the run at its end) of a body above a floor."""
    run = OneBody(body, dt, settings, colliders=[sim.ground()], **surroundings)
    watched = run.stepper.bodies[0]
    watched.impacts = Recorded(body, run.stepper.scene.gravity)
    frames_lengths = []
    for _ in range(frames):
        watched.impacts.lengths = []
        run.step()
        frames_lengths.append(watched.impacts.lengths)
    return frames_lengths, run


def falling(height=1.0, **options):
    return block("hexes", (1, 1, 1), (0.5, 0.5, 0.5), bottom=(0.0, 0.0, height), **options)


@pytest.mark.parametrize("integrator", list(INTEGRATORS))
def test_a_fall_is_cut_where_it_ends(integrator):
    body, settings = falling(), sim.SolverSettings(integrator=integrator)
    lengths, _ = lengths_of_steps(body, 72, settings)
    is_cut = np.array([len(own) > 1 for own in lengths])
    landing = int(np.sqrt(2.0 / G) / DT)
    assert not is_cut[: landing - 1].any()
    assert is_cut[landing - 1 : landing + 2].any()
    assert not is_cut[-24:].any()


@pytest.mark.parametrize("impact_steps", [1, 4, 16])
def test_no_step_is_cut_finer_than_asked_and_none_grows_too_fast(impact_steps):
    settings = sim.SolverSettings(impact_steps=impact_steps)
    lengths, run = lengths_of_steps(falling(young_modulus=1e7), 48, settings)
    assert max(map(len, lengths)) <= impact_steps
    every = np.concatenate(lengths)
    assert every.min() == run.stepper.dt / impact_steps  # so stiff a body asks for less yet
    assert (every[1:] <= GROWTH * every[:-1]).all()
    assert run.time == pytest.approx(48 * DT, rel=1e-12)


def test_the_parts_of_a_step_are_all_of_it():
    lengths, run = lengths_of_steps(falling(spin=(3.0, 2.0, 1.0)), 48)
    assert max(map(len, lengths)) > 4
    for own in lengths:
        assert math.fsum(own) == run.stepper.dt  # halves of halves: nothing is rounded


def test_a_body_at_rest_is_not_cut():
    lengths, _ = lengths_of_steps(falling(0.0, damping_ratio=1.0), 96)
    assert max(map(len, lengths[48:])) == 1


def test_a_body_far_from_everything_is_not_cut():
    lengths, _ = lengths_of_steps(
        falling(50.0, spin=(20.0, 0.0, 0.0), velocity=(30.0, 0.0, 0.0)), 24
    )
    assert max(map(len, lengths)) == 1


def test_a_softer_or_larger_body_is_cut_less():
    """The time in which waves cross a body is what counts."""
    impacts = Impacts(falling(young_modulus=1e6), (0.0, 0.0, -G))
    softer = Impacts(falling(young_modulus=1e4), (0.0, 0.0, -G))
    assert impacts.crossing == pytest.approx(0.5 * np.sqrt(1000.0 / 1e6))
    assert softer.crossing == pytest.approx(10.0 * impacts.crossing)


def test_steps_stay_short_until_the_body_has_sprung_back():
    body = falling()
    impacts, state = Impacts(body, (0.0, 0.0, -G)), OneBody(body, DT).soft
    memory = state.memory
    assert impacts.longest_step(state) == np.inf
    memory["step_before"][...], memory["impact_time"][...] = 1.0, 0.9 * LASTING * impacts.crossing
    assert impacts.longest_step(state) == RESOLVED * impacts.crossing
    # Nodes do not go far either, and less far while they outrun waves or elements are inside out.
    for share, is_collapsed, way in ((0.9, 0, DEFORMED), (1.1, 0, CRUSHED), (0.9, 1, CRUSHED)):
        fastest = share * OUTRUN * body.wave_speed
        state.v[0] = fastest / (np.sqrt(3.0) * (1.0 - body.mass[0] / body.mass.sum()))
        memory["collapse_pair"][0] = is_collapsed
        assert impacts.longest_step(state) == pytest.approx(way * impacts.length / fastest)
    memory["impact_time"][...] = 1.1 * LASTING * impacts.crossing
    assert impacts.longest_step(state) == GROWTH


@pytest.mark.slow
def test_the_rebound_does_not_depend_on_the_step():
    heights = []
    for substeps in (1, 4):
        body = falling(young_modulus=1e5, damping_ratio=0.02)
        _, run = lengths_of_steps(body, 10 * substeps, dt=DT / substeps)
        highest = 0.0
        for _ in range(20 * substeps):
            run.step()
            highest = max(highest, centre(body, run.x)[2])
        heights.append(highest)
    assert heights[0] == pytest.approx(heights[1], rel=0.1)


@pytest.mark.slow
def test_a_body_that_a_fall_crushes_springs_back():
    """Struck faster than its waves run, some of it is inside out for a while: it is not calmed before it is back."""
    rises = []
    for substeps in (2, 8):
        body = block(
            "tets",
            (4, 4, 4),
            bottom=(0.0, 0.0, 1.0),
            law=sim.NeoHookean,
            young_modulus=1e4,
            poisson_ratio=0.45,
            damping_ratio=0.0,
        )
        run, heights = OneBody(body, DT / substeps, colliders=[sim.ground()]), []
        while run.time < 1.2:
            run.step()
            heights.append(centre(body, run.x)[2])
        lowest = int(np.argmin(heights))
        rises.append(max(heights[lowest:]) - heights[lowest])
    assert rises[0] == pytest.approx(rises[1], rel=0.1)
    assert min(rises) > 0.6
