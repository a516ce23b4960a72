"""More pins than a cage has freedom: it follows as closely as it can, and never leaps."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from led_meshes import chosen_vertices, dancer
from random_scenes import run_scene
from shapes import ball, box, subdivided, together
from stepping import OneBody

from jellycage import sim, toolkit
from jellycage.sim.soft.presets import PRESETS, preset_material

SAMPLES = Path(__file__).resolve().parents[3] / "sample_meshes"
DT = 1.0 / 48.0


@cache
def caged(name, element, resolution=8):
    return toolkit.build_cage(
        toolkit.read_mesh(SAMPLES / f"{name}.obj"), resolution=resolution, element=element
    )


def flesh(asset):
    height = np.ptp(asset.surface_vertices[:, 2])
    return preset_material(PRESETS["flesh"], height, (0.0, 0.0, -9.81))[0]


def cell(asset, resolution=8):
    return np.ptp(asset.surface_vertices, axis=0).max() / resolution


def offsets(run, pin):
    """Distance of each pinned point from its target [m]."""
    start = pin.points.positions(run.stepper.scene.bodies[0].elements.nodes)
    return np.linalg.norm(pin.points.positions(run.x) - pin.targets(start, run.time), axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("element", ["tet", "hex"])
@pytest.mark.parametrize("name", ["hand", "creature", "gummy_bear"])
@pytest.mark.parametrize(
    ("part", "strength"), [("all", 1.0), ("half", 1.0), ("tenth", 0.9), ("random", 0.8)]
)
def test_a_dancing_mesh_is_followed_within_two_cells(name, element, part, strength):
    asset = caged(name, element)
    which = chosen_vertices(asset.surface_vertices, part)
    body, pin = dancer(asset, flesh(asset), which, strength)
    run = OneBody(body, DT)
    for _ in range(48):
        run.step()
        assert offsets(run, pin).max() < 2.0 * cell(asset)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["creature", "gummy_bear"])
def test_a_wild_dance_is_followed_in_long_steps(name):
    """Faster, one step per frame: uncut, elements turn inside out and points are up to a cell behind."""
    asset = caged(name, "tet", 16)
    which = chosen_vertices(asset.surface_vertices, "tenth")
    body, pin = dancer(asset, flesh(asset), which, pace=1.5)
    run = OneBody(body, 2.0 * DT)
    for _ in range(24):
        run.step()
        assert offsets(run, pin).max() < 0.5 * cell(asset, 16)


def farthest(run, pin, steps):
    """Greatest distance of a pinned point from its target in so many steps [m]."""
    off = 0.0
    for _ in range(steps):
        run.step()
        off = max(off, offsets(run, pin).max())
    return off


BAR = subdivided(box((2.0, 0.5, 0.5)), 3)
HINGED = together(BAR, (BAR[0] + [1.4, 0.02, 0.03], BAR[1]))
"""Two bars that overlap by 0.6 m, and what turns the second about the middle of that."""


def led_hinge(asset, strength):
    """The bars, the second led by a quarter of a turn in a second, and their pin."""
    start, middle = asset.surface_vertices, np.array([1.7, 0.25, 0.25])
    is_second = asset.source_vertex >= len(BAR[0])

    def at(time):
        c, s = np.cos(0.5 * np.pi * time), np.sin(0.5 * np.pi * time)
        turned = (start - middle) @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]) + middle
        return np.where(is_second[:, None], turned, start)

    pin = sim.Pin(sim.surface_points(asset, np.arange(len(start))), at, strength)
    return sim.SoftBody(asset, flesh(asset), pins=[pin]), pin


@pytest.mark.parametrize("element", ["tet", "hex"])
@pytest.mark.parametrize("strength", [1.0, 0.9, 0.5])
def test_plates_that_overlap_follow_their_own_bones_if_they_are_not_joined(element, strength):
    apart, joined = (
        toolkit.build_cage(HINGED, resolution=24, element=element, join=join)
        for join in (False, True)
    )
    off = []
    for asset in (apart, joined):
        body, pin = led_hinge(asset, strength)
        off.append(farthest(OneBody(body, DT), pin, 48))
    assert off[0] < 0.5 * apart.meta["cell_size"] and off[0] < 0.5 * off[1]


def test_a_screw_in_one_large_hex_is_turned_as_its_points_are():
    """Nothing but points within a fifth of a cell says how that hex is turned."""
    mesh = together(box((1.5, 0.5, 0.5)), ball(1, 0.09, (2.0, 0.3, 0.3)))
    asset = toolkit.build_cage(mesh, cell_size=1.0, element="hex", join=False)

    start = asset.surface_vertices

    def turned(time):
        c, s = np.cos(np.sin(3.0 * time)), np.sin(np.sin(3.0 * time))
        return start @ np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]])

    pin = sim.Pin(sim.surface_points(asset, np.arange(len(start))), turned)
    run = OneBody(sim.SoftBody(asset, flesh(asset), pins=[pin]), DT)
    assert farthest(run, pin, 96) < 0.03


@pytest.mark.parametrize("element", ["tet", "hex"])
def test_contradicting_pins_are_met_halfway(element):
    asset = caged("gummy_bear", element)
    points = sim.surface_points(asset, np.arange(len(asset.surface_vertices)))
    start, aside = points.positions(asset.cage_nodes), np.array([0.4, 0.0, 0.0])
    size = np.ptp(asset.surface_vertices, axis=0).max()
    pins = [sim.Pin(points, start + way * size * aside) for way in (1.0, -1.0)]
    run = OneBody(sim.SoftBody(asset, flesh(asset), pins=pins), DT)
    for _ in range(24):
        run.step()
        assert np.abs(points.positions(run.x) - start).max() < 0.1 * size


def jumping(element, which):
    """A run without gravity in which pins on a bear jump by ten sizes at 0.2 s and let go at 0.5 s, and its pin."""
    asset = caged("gummy_bear", element)
    vertices, size = asset.surface_vertices, np.ptp(asset.surface_vertices, axis=0).max()
    chosen = np.arange(len(vertices))
    if which == "one element":
        chosen = np.flatnonzero(asset.embed_element == np.bincount(asset.embed_element).argmax())
    jump = sim.Keyed([0.2, 0.21], [vertices[chosen], vertices[chosen] + [10.0 * size, 0, 0]])
    pin = sim.Pin(sim.surface_points(asset, chosen), jump, sim.Keyed([0.5, 0.51], [1.0, 0.0]))
    body = sim.SoftBody(asset, flesh(asset), pins=[pin])
    return OneBody(body, DT, gravity=(0.0, 0.0, 0.0)), pin


def width(x):
    """Greatest extent of points (n, 3) [m]."""
    return np.ptp(x, axis=0).max()


@pytest.mark.slow
@pytest.mark.parametrize("element", ["tet", "hex"])
@pytest.mark.parametrize("which", ["all", "one element"])
def test_pins_that_jump_ten_sizes_and_let_go_leave_a_sound_body(element, which):
    run, pin = jumping(element, which)
    body, widest = run.stepper.scene.bodies[0], 3.0 if which == "all" else 25.0
    for step in range(120):
        run.step()
        assert width(body.surface(run.x)) < widest * width(body.asset.surface_vertices)
        if step == 22 and which == "all":
            assert offsets(run, pin).max() < 0.1 * cell(body.asset)
    assert (sim.determinants(body, run.x) > 0.0).all()
    volume = (sim.determinants(body, run.x) * body.solid_volumes).sum() / body.solid_volumes.sum()
    assert abs(volume - 1.0) < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("which", ["all", "one element"])
@pytest.mark.parametrize("element", ["tet", "hex"])
def test_the_cage_of_pins_that_jump_stays_near(element, which):
    run, _ = jumping(element, which)
    size = width(run.stepper.scene.bodies[0].asset.surface_vertices)
    for _ in range(120):
        run.step()
        assert width(run.x) < 25.0 * size


@pytest.mark.slow
@pytest.mark.parametrize("seed", [20325, 33176, 70824])
def test_points_that_contradict_each_other_do_not_tear_nodes_away(seed):
    """Met exactly, or by springs that hold a node by next to nothing, they would take nodes forty sizes away."""
    assert run_scene(seed).stray < 9.0


@pytest.mark.slow
def test_hard_points_that_contradict_firm_springs_do_not_tear_nodes_away():
    """A hard point on a node that springs hold elsewhere would take another, of small weight, fifteen sizes away."""
    assert run_scene(90299, "implicit_euler").stray < 5.0
