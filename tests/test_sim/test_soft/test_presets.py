"""Presets: a body of any size sags and swings as its preset says, and steps are as short as it needs."""

import dataclasses

import numpy as np
import pytest
from beams import beam_hexes

from jellycage.sim.errors import SettingsError
from jellycage.sim.materials import law_named
from jellycage.sim.scene.scene import Scene
from jellycage.sim.scene.simulation import simulate
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.cage import Cage
from jellycage.sim.soft.pins import Pin
from jellycage.sim.soft.points import node_points
from jellycage.sim.soft.presets import PRESETS, QUALITIES, preset_material, substeps_for
from jellycage.sim.solvers.quasistatic import equilibrium
from jellycage.sim.solvers.settings import SolverSettings

GRAVITY = (0.0, 0.0, -9.81)
EXACT = SolverSettings(20, 1e-8, 1000, 1e-8)


def column(preset, height, width):
    """A column on a floor on which its foot may spread, and the nodes at its top."""
    cells = max(1, round(6 * width / height))
    nodes, hexes = beam_hexes(cells, cells, 8, (width, width, height))
    is_low = nodes[:, 2] == 0.0
    floor = node_points(np.flatnonzero(is_low))
    edges = [node_points(np.flatnonzero(is_low & (nodes[:, axis] == 0.0))) for axis in (0, 1)]
    pins = [Pin(floor, normal=(0.0, 0.0, 1.0))]  # and two walls, lest it wanders or turns
    pins += [Pin(edge, normal=normal) for edge, normal in zip(edges, np.eye(3)[:2], strict=True)]
    material, damping = preset_material(preset, height, GRAVITY)
    body = SoftBody(Cage(nodes, hexes), material, pins=pins, stiffness_damping=damping)
    return body, np.flatnonzero(nodes[:, 2] == height)


@pytest.mark.parametrize("height", [0.1, 10.0])
@pytest.mark.parametrize("name", PRESETS)
def test_a_body_of_any_size_sags_by_the_promised_fraction(name, height):
    preset = PRESETS[name]
    body, top = column(preset, height, width=0.8 * height)  # a slender one would buckle
    sag = 1.0 - equilibrium(body, gravity=GRAVITY).x[top, 2].mean() / height
    # Strain of the size of the sag makes the law nonlinear by about as much; the flat foot stiffens a little.
    assert sag == pytest.approx(preset.sag, rel=0.03 + 1.5 * preset.sag)


@pytest.mark.parametrize("name", ["jelly", "rubber"])
def test_the_first_mode_has_the_promised_frequency_and_damping(name):
    """Without gravity, from a small speed in the shape of the mode: its swings shrink by the logarithmic decrement."""
    preset, height, steps = PRESETS[name], 2.0, 200
    frequency = np.pi / 2.0 * np.sqrt(9.81 / (2.0 * preset.sag * height))
    body, top = column(preset, height, width=0.1 * height)
    shape = np.sin(np.pi / 2.0 * body.asset.nodes[:, 2] / height)
    speed = 1e-3 * height * frequency * shape
    body = dataclasses.replace(body, velocity=np.outer(speed, (0.0, 0.0, 1.0)))
    fps = steps * frequency / (2.0 * np.pi)
    scene = Scene([body], gravity=(0.0, 0.0, 0.0), solver=EXACT)
    positions = simulate(scene, frames=2 * steps, fps=fps, substeps=1).positions[0]
    swing = positions[1:, top, 2].mean(axis=1) - height
    before = np.flatnonzero(np.diff(np.signbit(swing)))
    crossings = before + swing[before] / (swing[before] - swing[before + 1])
    assert np.diff(crossings) == pytest.approx(steps / 2, rel=0.015)
    halves = np.split(np.abs(swing), before + 1)[:-1]
    decrement = -np.polyfit(np.arange(len(halves)), np.log([h.max() for h in halves]), 1)[0]
    ratio = decrement / np.hypot(np.pi, decrement)
    assert ratio == pytest.approx(preset.damping_ratio, rel=0.03)


def test_twice_the_size_is_the_same_but_for_its_scale():
    preset = PRESETS["flesh"]
    small, small_damping = preset_material(preset, 0.3, GRAVITY)
    large, large_damping = preset_material(preset, 1.2, GRAVITY)
    assert large.young_modulus == pytest.approx(4.0 * small.young_modulus)
    assert large_damping == pytest.approx(2.0 * small_damping)
    assert large.density == small.density == preset.density
    assert large.poisson_ratio == preset.poisson_ratio


def test_a_metre_of_jelly_has_the_stiffness_of_the_formula():
    material, damping = preset_material(PRESETS["jelly"], 1.0, GRAVITY)
    assert material.young_modulus == pytest.approx(1000.0 * 9.81 / 0.2)
    assert damping == pytest.approx(4.0 * 0.04 / np.pi * np.sqrt(0.2 / 9.81))


def test_sag_can_be_chosen_and_gravity_may_be_missing_or_sideways():
    preset = PRESETS["foam"]
    usual, _ = preset_material(preset, 1.0, GRAVITY)
    stiffer, less_damped = preset_material(preset, 1.0, GRAVITY, sag=preset.sag / 4.0)
    assert stiffer.young_modulus == pytest.approx(4.0 * usual.young_modulus)
    assert less_damped == pytest.approx(preset_material(preset, 1.0, GRAVITY)[1] / 2.0)
    for gravity in ((0.0, 0.0, 0.0), (9.81, 0.0, 0.0)):
        assert preset_material(preset, 1.0, gravity)[0].young_modulus == usual.young_modulus
    moon, _ = preset_material(preset, 1.0, (0.0, 0.0, -1.62))
    assert moon.young_modulus == pytest.approx(usual.young_modulus * 1.62 / 9.81)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_ordered_sane_and_described(name):
    preset = PRESETS[name]
    material, damping = preset_material(preset, 1.0, GRAVITY)
    assert isinstance(material, law_named(preset.law)) and damping > 0.0
    assert 0.0 <= preset.restitution <= 1.0 and 0.0 < preset.damping_ratio < 1.0
    assert preset.description.endswith(".") and preset.description.count(".") == 1
    # Co-rotated tets lock above 0.45.
    assert preset.law == "neo_hookean" or preset.poisson_ratio <= 0.45


def test_presets_go_from_soft_to_stiff():
    sags = [preset.sag for preset in PRESETS.values()]
    assert sags == [0.10, 0.05, 0.02, 0.005, 0.001]
    assert list(PRESETS) == ["jelly", "flesh", "foam", "rubber", "stiff"]


def test_jelly_swings_for_seconds_and_rubber_for_less():
    """Time in which swings of a metre fall to 1/e: 1 / (ratio w)."""
    times = {
        name: 1.0 / (p.damping_ratio * np.pi / 2.0 * np.sqrt(9.81 / (2.0 * p.sag)))
        for name, p in PRESETS.items()
    }
    assert 2.0 < times["jelly"] < 3.0
    assert all(times[name] < 0.6 for name in ("flesh", "foam", "rubber", "stiff"))


@pytest.mark.parametrize("quality", QUALITIES.values(), ids=list(QUALITIES))
@pytest.mark.parametrize("length", [0.01, 0.3, 1.0, 50.0])
@pytest.mark.parametrize("fps", [12.0, 24.0, 120.0])
def test_substeps_are_the_fewest_that_are_short_enough(fps, length, quality):
    substeps = substeps_for(fps, length, GRAVITY, quality)
    longest = quality.largest_step * np.sqrt(length / 9.81)
    assert 1.0 / (fps * substeps) <= longest
    assert substeps == 1 or 1.0 / (fps * (substeps - 1)) > longest


def test_substeps_at_the_limit_are_not_one_more():
    standard = QUALITIES["standard"]
    for whole in range(1, 200):
        length = 9.81 * (1.0 / (24.0 * whole * standard.largest_step)) ** 2
        assert substeps_for(24.0, length, GRAVITY, standard) == whole
    assert substeps_for(24.0, 1.0, (0.0, 0.0, 0.0), standard) == 3


def test_qualities_rise():
    rows = list(QUALITIES.values())
    assert [row.resolution for row in rows] == [8, 16, 24]
    assert [row.newton_iterations for row in rows] == [2, 2, 4]
    assert [row.largest_step for row in rows] == [0.1, 0.05, 0.025]


@pytest.mark.parametrize("height", [0.0, -1.0, np.nan, np.inf])
def test_bodies_without_a_size_are_refused(height):
    with pytest.raises(SettingsError, match="height above 0"):
        preset_material(PRESETS["jelly"], height, GRAVITY)
    with pytest.raises(SettingsError, match="length above 0"):
        substeps_for(24.0, height, GRAVITY, QUALITIES["final"])


@pytest.mark.parametrize("sag", [0.0, 1.0, -0.1])
def test_a_sag_that_is_no_fraction_is_refused(sag):
    with pytest.raises(SettingsError, match="sag between 0 and 1"):
        preset_material(PRESETS["jelly"], 1.0, GRAVITY, sag=sag)
