"""Pins hold while a body moves: hard ones to rounding, soft ones as their springs say, none where they are off."""

import numpy as np
import pytest
from beams import beam_hexes, beam_tets, end_nodes
from moving_bodies import FALLEN
from stepping import OneBody

from jellycage import sim
from jellycage.sim.materials import LAWS
from jellycage.sim.soft.pins import HALF_STRENGTH_FREQUENCY, spring_rate
from jellycage.sim.solvers.pin_holding import PinTracker
from jellycage.sim.solvers.recovery import LONGEST_LED

BEAMS = {"tets": beam_tets, "hexes": beam_hexes}
MATERIALS = {law.name: law for law in LAWS}
SIZE = (1.0, 0.4, 0.4)
CLOSE = 1e-10  # of the size: what "met" means for a hard pin
EXACT = sim.SolverSettings(
    newton_iterations=20, newton_tolerance=1e-10, linear_tolerance=1e-6, precision=1e-15
)
SLANTED = np.array([1.0, -2.0, 0.5])
FALL = FALLEN[sim.SolverSettings.integrator]


def beam(kind):
    return sim.Cage(*BEAMS[kind](4, 2, 2, SIZE))


def clamped(cage):
    return sim.node_points(end_nodes(cage.nodes)[0])


def inner_points(cage, elements, seed=0):
    """Material points inside elements, at random."""
    weights = np.random.default_rng(seed).dirichlet(np.ones(cage.elements.shape[1]), len(elements))
    return sim.embedded_points(cage.elements, elements, weights)


def steps(body, count, dt=0.02, *, settings=None, gravity=(0.0, 0.0, -9.81)):
    """Yield the state after each step."""
    run = OneBody(body, dt, settings, gravity=gravity)
    for _ in range(count):
        run.step()
        yield run


def violation(pin, state, start):
    """Largest distance [m] of the pin's points from where it lets them be."""
    offset = pin.points.positions(state.x) - pin.targets(start, state.time)
    return np.abs(offset @ pin.directions.T).max()


@pytest.fixture(params=list(BEAMS))
def kind(request):
    return request.param


@pytest.fixture(params=list(MATERIALS))
def material(request):
    return MATERIALS[request.param]


def test_pinned_nodes_do_not_move_at_all(kind, material):
    cage = beam(kind)
    nodes = end_nodes(cage.nodes)[0]
    body = sim.SoftBody(cage, material(), pins=[sim.Pin(clamped(cage))])
    for state in steps(body, 50):
        np.testing.assert_array_equal(state.x[nodes], cage.nodes[nodes])
        np.testing.assert_array_equal(state.v[nodes], 0.0)
    assert np.abs(state.x - cage.nodes).max() > 0.01


def pins_of(cage, target):
    """One pin of each kind on inner points of the beam's first cells; target is a function of the points' start."""
    points = {
        "nodes": clamped(cage),
        "embedded": inner_points(cage, [0, 1, 2]),
        "line": inner_points(cage, [0, len(cage.elements) - 1], seed=1),
        "plane": inner_points(cage, [0, 2, len(cage.elements) - 1], seed=2),
    }
    slides = {"line": {"along": SLANTED}, "plane": {"normal": SLANTED}}
    return {
        name: sim.Pin(p, target(p.positions(cage.nodes)), **slides.get(name, {}))
        for name, p in points.items()
    }


PATHS = {
    "held": lambda start: None,
    "led": lambda start: sim.Keyed(
        [0.0, 0.3, 0.6], [start, start + [0.3, 0.2, 0.5], start + [-0.2, 0.4, 0.1]]
    ),
    "turned": lambda start: lambda time: turned(start, 6.0 * time),
    "torn": lambda start: sim.Keyed(
        [0.09, 0.1, 0.3, 0.31],
        [start, start + [0, 0, 1.0], start + [0, 0, 1.0], start - [1.5, 0, 0]],
    ),
}


def turned(points, angle):
    """Points turned about the y axis."""
    c, s = np.cos(angle), np.sin(angle)
    return points @ np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]])


@pytest.mark.parametrize("path", list(PATHS))
@pytest.mark.parametrize("name", ["nodes", "embedded", "line", "plane"])
def test_hard_pins_are_met_in_every_step(kind, material, name, path):
    cage = beam(kind)
    pin = pins_of(cage, PATHS[path])[name]
    body = sim.SoftBody(cage, material(), pins=[pin])
    start = pin.points.positions(cage.nodes)
    worst = 0.0
    for state in steps(body, 40):
        assert np.isfinite(state.x).all()
        worst = max(worst, violation(pin, state, start))
    assert worst < CLOSE * body.size


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nodes", "embedded"])
def test_a_body_follows_a_jump_of_its_own_length(kind, material, name):
    """Where the pins jumped to, the whole body comes to rest as a copy of the one that hangs there."""
    cage, jump = beam(kind), np.array([0.3, 0.2, 1.0])
    points = pins_of(cage, PATHS["held"])[name].points
    start = points.positions(cage.nodes)
    x = {}
    for moved in (0.0, 1.0):
        pin = sim.Pin(points, start + moved * jump)
        body = sim.SoftBody(cage, material(1e6), pins=[pin], mass_damping=5.0)
        for state in steps(body, 250, settings=sim.SolverSettings(newton_tolerance=1e-6)):
            assert np.isfinite(state.x).all()
            assert violation(pin, state, start) < CLOSE * body.size
        x[moved] = state.x
    np.testing.assert_allclose(x[1.0] - x[0.0], np.tile(jump, (len(cage.nodes), 1)), atol=1e-3)


def test_a_line_pin_lets_its_points_slide_along_and_nowhere_else(kind):
    cage = sim.Cage(*BEAMS[kind](2, 2, 2, (0.5, 0.5, 0.5)))
    points = inner_points(cage, [0, 3, 5])
    body = sim.SoftBody(cage, sim.Corotated(), pins=[sim.Pin(points, along=[0, 0, 1])])
    start, dt = points.positions(cage.nodes), 0.01
    for state in steps(body, 50, dt):
        offset = points.positions(state.x) - start
        assert np.abs(offset[:, :2]).max() < CLOSE * body.size
    np.testing.assert_allclose(offset[:, 2], -9.81 * dt**2 * FALL(50), rtol=1e-3)


def test_a_body_slides_down_a_slanted_plane(kind):
    """Without friction: the part of gravity along the plane is all that accelerates it."""
    cage = sim.Cage(*BEAMS[kind](2, 2, 2, (0.5, 0.5, 0.5)))
    points = sim.node_points(np.arange(len(cage.nodes)))
    body = sim.SoftBody(cage, sim.Corotated(), pins=[sim.Pin(points, normal=SLANTED)])
    normal, gravity, dt = SLANTED / np.linalg.norm(SLANTED), np.array([0.0, 0.0, -9.81]), 0.01
    *_, state = steps(body, 30, dt, settings=EXACT)
    expected = (gravity - (gravity @ normal) * normal) * dt**2 * FALL(30)
    np.testing.assert_allclose(
        state.x - cage.nodes, np.tile(expected, (len(cage.nodes), 1)), rtol=1e-9
    )


def test_pins_may_overlap_and_repeat_each_other(kind, material):
    """Fifty points of one element, the element's nodes themselves, a line and a plane on them."""
    cage = beam(kind)
    many, nodes = inner_points(cage, [0] * 50), sim.node_points(cage.elements[0])
    pins = [
        sim.Pin(many),
        sim.Pin(nodes),
        sim.Pin(nodes, along=SLANTED),
        sim.Pin(inner_points(cage, [0, 0], seed=3), normal=SLANTED),
    ]
    body = sim.SoftBody(cage, material(), pins=pins)
    twin = sim.SoftBody(cage, material(), pins=[sim.Pin(nodes)])
    worst = 0.0
    for state, other in zip(steps(body, 30), steps(twin, 30), strict=True):
        for pin in pins:
            worst = max(worst, violation(pin, state, pin.points.positions(cage.nodes)))
        np.testing.assert_allclose(state.x, other.x, atol=1e-6 * body.size)
    assert worst < CLOSE * body.size


def test_redundant_pins_may_be_led(kind):
    cage = beam(kind)
    points = inner_points(cage, [0] * 30)
    pin = sim.Pin(points, lambda time: turned(points.positions(cage.nodes), 4.0 * time))
    body = sim.SoftBody(cage, sim.Corotated(), pins=[pin])
    worst = max(violation(pin, state, None) for state in steps(body, 40))
    assert worst < CLOSE * body.size


def test_strength_zero_is_no_pin_at_all(kind, material):
    cage = beam(kind)
    pins = [sim.Pin(clamped(cage)), sim.Pin(inner_points(cage, [5]), [9.0, 9.0, 9.0], strength=0.0)]
    body = sim.SoftBody(cage, material(), pins=pins)
    twin = sim.SoftBody(cage, material(), pins=pins[:1])
    for state, other in zip(steps(body, 20), steps(twin, 20), strict=True):
        np.testing.assert_array_equal(state.x, other.x)
        np.testing.assert_array_equal(state.v, other.v)


def test_a_body_that_only_weak_pins_of_strength_zero_hold_falls(kind):
    cage = beam(kind)
    body = sim.SoftBody(cage, sim.Corotated(), pins=[sim.Pin(clamped(cage), strength=0.0)])
    twin = sim.SoftBody(cage, sim.Corotated())
    for state, other in zip(steps(body, 20), steps(twin, 20), strict=True):
        np.testing.assert_array_equal(state.x, other.x)


def test_half_strength_lies_between_off_and_hard(kind, material):
    cage = beam(kind)
    height = {}
    for strength in (0.0, 0.2, 0.5, 0.8, 1.0):
        pin = sim.Pin(clamped(cage), strength=strength)
        body = sim.SoftBody(cage, material(), pins=[pin])
        *_, state = steps(body, 20)
        height[strength] = pin.points.positions(state.x)[:, 2].mean()
    low, *between, high = height.values()
    assert (np.diff(list(height.values())) > 0.0).all()
    assert low < 0.2 - 0.5 < max(between) < high == pytest.approx(0.2, abs=1e-12)


def test_a_pin_that_is_released_lets_its_body_fall(kind):
    cage, dt = beam(kind), 0.02
    every = sim.node_points(np.arange(len(cage.nodes)))
    release = sim.Keyed([0.2, 0.2 + 1e-9], [1.0, 0.0])
    body = sim.SoftBody(cage, sim.Corotated(), pins=[sim.Pin(every, strength=release)])
    for n, state in enumerate(steps(body, 30, dt), 1):
        fallen = -9.81 * dt**2 * FALL(max(n - 10, 0))
        centre = (body.mass * state.x[:, 2]).sum() / body.mass.sum()
        assert centre - 0.2 == pytest.approx(fallen, abs=1e-12)


@pytest.mark.parametrize("strength", [0.3, 0.5])
def test_a_soft_pin_answers_as_its_spring_does(strength):
    """A tet with every node pinned is pulled as a whole: (1 + w t) exp(-w t), at first order of the damper."""
    tet = sim.Cage([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2, 3]])
    jump, end = np.array([0.2, -0.1, 0.3]), 0.4 / HALF_STRENGTH_FREQUENCY
    pin = sim.Pin(sim.node_points([0, 1, 2, 3]), tet.nodes + jump, strength=strength)
    body, errors = sim.SoftBody(tet, sim.Corotated(), pins=[pin]), []
    wt = spring_rate(strength) * end
    left = (1.0 + wt) * np.exp(-wt)
    for count in (200, 400, 800):
        *_, state = steps(body, count, end / count, settings=EXACT, gravity=(0.0, 0.0, 0.0))
        found = (tet.nodes + jump - state.x) / jump
        assert np.ptp(found) < 1e-7
        errors.append(abs(found.mean() - left))
    assert errors[-1] < 0.01 * left
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 2.0, rtol=0.05)


def test_soft_pins_slide_along_their_line_freely(kind):
    cage = sim.Cage(*BEAMS[kind](1, 1, 1, (0.5, 0.5, 0.5)))
    points = sim.node_points(np.arange(8))
    start = cage.nodes + [0.1, 0.0, 0.0]
    pin = sim.Pin(points, cage.nodes, strength=0.5, along=[0, 0, 1])
    body = sim.SoftBody(cage, sim.Corotated(), pins=[pin], start=start)
    *_, state = steps(body, 50, 0.01, settings=EXACT)
    fallen = -9.81 * 0.01**2 * FALL(50)
    np.testing.assert_allclose(state.x[:, 2] - start[:, 2], fallen, rtol=1e-6)
    assert np.abs(state.x[:, 0] - cage.nodes[:, 0]).max() < 0.001


def test_a_softly_pinned_body_keeps_its_books_of_momentum():
    """One linear iteration on a violently bent, stiff body: gravity and the spring alone may move it as a whole."""
    nodes, tets = beam_tets(3, 2, 2)
    bent = nodes + np.random.default_rng(0).normal(scale=0.2, size=nodes.shape)
    strength, dt = 0.5, 0.005
    pin = sim.Pin(sim.node_points([0]), target=nodes[:1], strength=strength)
    body = sim.SoftBody(sim.Cage(nodes, tets), sim.Corotated(1e8, 0.45), pins=[pin], start=bent)
    settings = sim.SolverSettings(newton_iterations=1, linear_iterations=1)
    before = OneBody(body, dt, settings)
    after = before.copy()
    after.step()
    moved = after.x - before.x
    rate, m = spring_rate(strength), body.mass.sum()  # one point carries all of it
    spring = -m * rate**2 * (after.x[0] - nodes[0]) - 2.0 * m * rate * moved[0] / dt
    pull = body.mass.sum() * np.array([0.0, 0.0, -9.81]) + spring
    np.testing.assert_allclose(
        (body.mass[:, None] * moved).sum(axis=0) / dt**2, pull, atol=1e-6 * np.abs(pull).max()
    )


@pytest.mark.parametrize("count", [1, 3, 40])
def test_few_soft_pins_carry_a_body_as_many_do(kind, count):
    """A stiff body that begins aside of its targets comes to them as (1 + w t) exp(-w t), be its pins few or many."""
    cage = beam(kind)
    aside, rate, end = np.array([0.0, 0.05, 0.02]), float(spring_rate(0.4)), 0.15
    middle = np.abs(cage.nodes - cage.nodes.mean(axis=0)).sum(axis=1).argsort()[:count]
    pin = sim.Pin(sim.node_points(middle), cage.nodes[middle], strength=0.4)
    body = sim.SoftBody(cage, sim.Corotated(1e9, 0.3), pins=[pin], start=cage.nodes + aside)
    *_, state = steps(body, 300, end / 300, gravity=(0.0, 0.0, 0.0))
    left = (state.x[middle] - cage.nodes[middle]).mean(axis=0) @ aside / (aside @ aside)
    wt = rate * end
    assert left == pytest.approx((1.0 + wt) * np.exp(-wt), abs=0.03)


def test_a_soft_pin_that_is_led_at_an_even_pace_does_not_lag(kind):
    """It swings about where it should be, less and less; what it swings about is no way behind."""
    cage, pace = beam(kind), np.array([2.0, 1.0, 0.0])
    points = clamped(cage)
    start = points.positions(cage.nodes)
    pin = sim.Pin(points, lambda time: start + time * pace, strength=0.5)
    body = sim.SoftBody(cage, sim.Corotated(1e6, 0.3), pins=[pin], mass_damping=0.0)
    behind = [
        (points.positions(state.x) - pin.targets(start, state.time)).mean(axis=0)
        for state in steps(body, 160, gravity=(0.0, 0.0, 0.0))
    ]
    assert np.abs(behind[-40:]).max() < 0.01 * body.size
    assert np.abs(np.mean(behind[-40:], axis=0)).max() < 0.001 * body.size


def test_a_body_on_a_rail_keeps_its_momentum_along_it(kind):
    """However violently it swells, and however early its solves end."""
    cage, along = beam(kind), SLANTED / np.linalg.norm(SLANTED)
    nodes = cage.nodes
    flat = nodes * [1.0, 0.3, 0.3]
    pin = sim.Pin(
        sim.node_points([0, 7, 20]), sim.node_points([0, 7, 20]).positions(flat), along=along
    )
    law = sim.NeoHookean(1e8, 0.3, 300.0)
    body = sim.SoftBody(cage, law, pins=[pin], start=flat, velocity=3.0 * along)
    settings = sim.SolverSettings(newton_iterations=1)
    for run in steps(body, 20, 0.01, settings=settings, gravity=(0.0, 0.0, 0.0)):
        assert body.mass @ run.v @ along / body.mass.sum() == pytest.approx(3.0, abs=1e-6)


def test_soft_pins_hold_what_is_stiff_for_its_mass_as_if_it_were_heavier():
    """A stiff end would be bent back by its elements; elsewhere springs are in proportion to the masses they carry."""
    cage = sim.Cage(*BEAMS["tets"](8, 1, 1, (2.0, 0.25, 0.25)))
    is_stiff = cage.nodes[cage.elements].mean(axis=1)[:, 0] > 1.75
    material = sim.NeoHookean(np.where(is_stiff, 1e7, 1e4), 0.3, 1000.0)
    every = sim.node_points(np.arange(len(cage.nodes)))
    body = sim.SoftBody(cage, material, pins=[sim.Pin(every, strength=0.5)])
    holding = PinTracker(body).holding
    holding.springs(cage.nodes, cage.nodes, cage.nodes, 0.02)
    share = holding.prepared[0.02].stiffness / body.mass
    soft = cage.nodes[:, 0] < 1.6
    np.testing.assert_allclose(share[soft], share[soft].mean(), rtol=1e-9)
    assert share[cage.nodes[:, 0] == 2.0].mean() > 1.5 * share[soft].mean()


def test_elements_that_pins_hold_inside_out_are_not_rescued_ever_harder():
    """Their stiffness would grow hundredfold and keep every pin near them from its target."""
    cage = sim.Cage(*BEAMS["tets"](4, 1, 1, (2.0, 0.5, 0.5)))
    led = np.flatnonzero(cage.nodes[:, 0] < 1.1)
    mirrored = cage.nodes[led] * [1.0, 1.0, -1.0]
    pin = sim.Pin(sim.node_points(led), mirrored)
    body = sim.SoftBody(cage, sim.NeoHookean(1e5, 0.3, 1000.0), pins=[pin])
    for state in steps(body, 60):
        is_led = np.isin(cage.elements, led).any(axis=1)
        assert state.memory["degenerate_time"][is_led].max() <= LONGEST_LED
    assert (sim.determinants(body, state.x) < 0.0).any()
    np.testing.assert_array_equal(state.x[led], mirrored)
