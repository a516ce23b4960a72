"""Scenes run frame by frame, can be stopped and continued, and say where they failed."""

import numpy as np
import pytest
from beams import beam_hexes, beam_tets, end_nodes
from stepping import OneBody, state_bits

from jellycage import sim
from jellycage.sim.scene.soft_stepper import SoftStepper

BEAMS = {"tets": beam_tets, "hexes": beam_hexes}


def beam_body(kind="tets", material=None, **options):
    cage = sim.Cage(*BEAMS[kind](3, 1, 1, (1.0, 0.3, 0.3)))
    pins = options.pop("pins", [sim.Pin(sim.node_points(end_nodes(cage.nodes)[0]))])
    return sim.SoftBody(cage, material or sim.Corotated(), pins=pins, **options)


def shaken_body(kind, material, **options):
    """A body whose start shape has inverted elements, led by a keyed pin inside an element and a soft one."""
    cage = sim.Cage(*BEAMS[kind](3, 2, 2, (1.0, 0.5, 0.5)))
    rng = np.random.default_rng(7)
    weights = rng.dirichlet(np.ones(cage.elements.shape[1]), 2)
    inner = sim.embedded_points(cage.elements, [0, 1], weights)
    start = inner.positions(cage.nodes)
    path = sim.Keyed([0.0, 0.1, 0.3], [start, start + [0.0, 0.3, 0.4], start - [0.5, 0.0, 0.0]])
    soft = sim.Keyed([0.0, 0.2], [0.8, 0.0])
    body = sim.SoftBody(
        cage,
        material,
        pins=[sim.Pin(inner, path), sim.Pin(sim.node_points([30, 31]), strength=soft)],
        loads=[sim.Impulse(sim.node_points([20]), [1.0, 2.0, 3.0], time=0.11)],
        start=cage.nodes + rng.normal(scale=0.35, size=cage.nodes.shape),
        spin=[0.0, 3.0, 0.0],
        air_drag=1.0,
        stiffness_damping=0.001,
        **options,
    )
    assert (sim.determinants(body, body.start_positions()) < 0.0).any()
    return body


def test_the_shortest_example_runs():
    nodes, tets = beam_tets(4, 2, 2)
    clamp = sim.Pin(sim.node_points(end_nodes(nodes)[0]))
    body = sim.SoftBody(sim.Cage(nodes, tets), sim.NeoHookean(young_modulus=1e5), pins=[clamp])
    result = sim.simulate(sim.Scene([body]), frames=12, fps=24)
    assert result.positions[0].shape == (13, len(nodes), 3)
    np.testing.assert_array_equal(result.positions[0][0], nodes)
    sag = nodes[:, 2] - result.positions[0][-1, :, 2]
    assert sag.max() > 0.1
    assert np.isfinite(result.positions[0]).all()


def test_frame_zero_is_the_start_and_the_last_is_the_state():
    body = beam_body(start=beam_body().elements.nodes + 0.1, velocity=[1.0, 0.0, 0.0], pins=())
    result = sim.simulate(sim.Scene([body]), 3, 30.0, substeps=4)
    np.testing.assert_array_equal(result.positions[0][0], body.start)
    np.testing.assert_array_equal(result.positions[0][-1], result.state.soft[0].x)
    assert result.state.time == pytest.approx(3 / 30.0, rel=1e-12)
    assert result.fps == 30.0


def test_no_frames_is_the_start_alone():
    result = sim.simulate(sim.Scene([beam_body()]), 0)
    assert result.positions[0].shape[0] == 1


def test_a_scene_without_bodies_is_empty():
    result = sim.simulate(sim.Scene([]), 2)
    assert result.positions == () and result.state.soft == []


def test_frames_are_steps_of_the_solver():
    body, scene_options = beam_body(), {"gravity": (0.0, 1.0, -5.0), "wind": (1.0, 0.0, 0.0)}
    result = sim.simulate(sim.Scene([body], **scene_options), 4, 25.0, substeps=3)
    stepper = sim.Stepper(sim.Scene([body], **scene_options), fps=75.0)
    state = stepper.start()
    for frame in range(1, 5):
        for _ in range(3):
            stepper.step(state)
        np.testing.assert_array_equal(result.positions[0][frame], state.soft[0].x)


def test_progress_hears_of_every_frame():
    heard = []
    sim.simulate(sim.Scene([beam_body()]), 3, progress=lambda *call: heard.append(call))
    assert heard == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    "options",
    [{"frames": -1}, {"fps": 0.0}, {"fps": -24.0}, {"fps": np.nan}, {"substeps": 0}],
)
def test_frames_that_cannot_be_are_refused(options):
    with pytest.raises(sim.SettingsError, match="simulate: expected frames >= 0"):
        sim.simulate(sim.Scene([beam_body()]), **{"frames": 2, **options})


def test_frames_without_duration_are_refused():
    with pytest.raises(sim.SettingsError, match="fps, substeps: expected a positive number"):
        sim.simulate(sim.Scene([beam_body()]), 1, fps=np.inf)


@pytest.mark.parametrize("name", ["gravity", "wind"])
@pytest.mark.parametrize("value", [(0.0, 1.0), (0.0, np.nan, 0.0), 9.81])
def test_surroundings_that_cannot_be_are_refused(name, value):
    with pytest.raises(sim.SettingsError, match=f"{name}: expected three finite numbers"):
        sim.Scene([], **{name: value})


def test_a_failure_names_body_frame_and_substep(monkeypatch):
    first, second = beam_body(), beam_body("hexes")
    step, calls = SoftStepper.step, []

    def failing_step(self, *arguments):
        calls.append(self.body)
        if calls.count(second) == 6:
            raise sim.SolverError("the mathematics failed")
        return step(self, *arguments)

    monkeypatch.setattr(SoftStepper, "step", failing_step)
    with pytest.raises(
        sim.SolverError, match="^body 1, frame 2, substep 2: the mathematics failed"
    ):
        sim.simulate(sim.Scene([first, second], passing=[(0, 1)]), 5, substeps=4)


def test_an_absurd_force_is_an_error_or_finite():
    body = beam_body(loads=[sim.Force(sim.node_points([5]), [1e300, 1e300, 0.0])], pins=())
    try:
        result = sim.simulate(sim.Scene([body]), 3)
    except sim.SolverError as error:
        assert "body 0, frame" in str(error)
    else:
        assert np.isfinite(result.positions[0]).all()


def assert_same_state(one, other):
    assert state_bits(one.state) == state_bits(other.state)


MADE = {
    "corotated": (sim.Corotated(), {}),
    "corotated by isvd": (sim.Corotated(), {"rotation_method": "isvd"}),
    "neo-Hookean": (sim.NeoHookean(), {}),
}


@pytest.mark.parametrize("made", list(MADE))
@pytest.mark.parametrize("kind", list(BEAMS))
def test_it_does_not_matter_whether_a_state_or_its_copy_is_stepped(kind, made):
    material, options = MADE[made]
    body = shaken_body(kind, material, **options)
    run, front = OneBody(body, 0.01), OneBody(body, 0.01)
    for _ in range(20):
        back, before = front.copy(), state_bits(front.state)
        run.step()
        back.step()
        assert state_bits(front.state) == before
        front = back
        assert_same_state(run, front)


@pytest.mark.slow
@pytest.mark.parametrize("made", list(MADE))
@pytest.mark.parametrize("kind", list(BEAMS))
def test_a_copied_state_continues_bit_for_bit(kind, made):
    """At every stop of a run through inversion, with pins that move and a pin that lets go."""
    material, options = MADE[made]
    body = shaken_body(kind, material, **options)
    state = OneBody(body, 0.01)
    stops, degenerate = {}, 0
    for step in range(30):
        if step in (1, 2, 5, 12, 21):
            stops[step] = state.copy()
            degenerate += np.count_nonzero(state.memory["collapse_pair"])
        state.step()
    assert degenerate > 0 or made != "corotated"
    for step, stopped in stops.items():
        fresh = OneBody(body, 0.01, state=stopped)
        for _ in range(30 - step):
            fresh.step()
        assert_same_state(fresh, state)


def test_a_copy_shares_nothing():
    state = OneBody(beam_body(), 0.01)
    copy = state.copy()
    for name, array in state.soft.arrays().items():
        assert not np.shares_memory(array, copy.soft.arrays()[name]), name
    state.step()
    assert_same_state(copy, OneBody(beam_body(), 0.01))


def test_bodies_that_pass_through_each_other_move_as_if_alone():
    bodies = [beam_body(), shaken_body("hexes", sim.NeoHookean()), beam_body("hexes")]
    together = sim.simulate(sim.Scene(bodies, passing=[(0, 1), (0, 2), (2, 1)]), 5)
    for number, body in enumerate(bodies):
        alone = sim.simulate(sim.Scene([body]), 5)
        np.testing.assert_array_equal(together.positions[number], alone.positions[0])


def test_a_bare_cage_has_no_surface():
    with pytest.raises(sim.SettingsError, match="bare Cage has none"):
        sim.simulate(sim.Scene([beam_body()]), 1).surface(1)
