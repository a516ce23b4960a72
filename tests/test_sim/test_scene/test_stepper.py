"""States of scenes: restored, copied or taken in turns they go on bit for bit, and a failed step leaves them alone."""

import numpy as np
import pytest
from ragdoll_files import walker_file
from stepping import state_bits
from tiny_shots import FLOOR, document, shot_of, violent_document

from jellycage import sim
from jellycage.sim.rigid.world import RigidWorld
from jellycage.sim.scene.soft_stepper import SoftStepper

FRAMES = 14
BOX = {"kind": "box", "size": [0.4, 0.6, 0.8]}
RIGID = [
    {**BOX, "location": [0, -3.0, 0.6], "spin": [1, 2, 3]},
    {"kind": "sphere", "radius": 0.2, "location": [0.1, -3.0, 1.4]},
]


def soft(folder):
    """A body that is turned inside out by a ball on the floor."""
    return violent_document(folder, frames=(1, 20))


def two_bodies(folder):
    content = document(folder, substeps=2)
    row = content["body"][0]
    return {**content, "body": [{**row, "name": "a"}, {**row, "name": "b", "preset": "jelly"}]}


def rigid(folder):
    return {"frames": [1, 20], "rigid": RIGID, "collider": [FLOOR]}


def ragdolls(folder):
    """Two that come in after each other, the first of them not at the start."""
    early = walker_file(folder, "early.json", frames=(58, 60))
    late = walker_file(folder, "late.json", frames=(50, 64))
    rows = [{"character": late, "location": [0.2, 0.3, 0.6]}, {"character": early}]
    return {"frames": [58, 80], "ragdoll": rows, "collider": [FLOOR]}


def mixed(folder):
    both = {**ragdolls(folder), "rigid": RIGID}
    return {**violent_document(folder, frames=(58, 80)), **both}


SCENES = {scene.__name__: scene for scene in (soft, two_bodies, rigid, ragdolls, mixed)}


@pytest.fixture(scope="module")
def shots(tmp_path_factory):
    """A shot of every scene."""
    folder = tmp_path_factory.mktemp("shots")
    return {name: shot_of(folder, scene(folder)) for name, scene in SCENES.items()}


@pytest.fixture(params=list(SCENES))
def shot(request, shots):
    return shots[request.param]


def run_of(shot, frames=FRAMES):
    """The states at all frames, each a copy."""
    stepper = shot.stepper()
    states = [stepper.start()]
    for _ in range(frames):
        states.append(states[-1].copy())
        stepper.step(states[-1])
    return states


def assert_same(state, other):
    assert state_bits(state) == state_bits(other)


def test_the_scenes_are_as_eventful_as_they_should_be(shots):
    """Or the tests below would prove little."""
    body = shots["soft"].scene.bodies[0]
    run = run_of(shots["soft"])
    assert min(sim.determinants(body, state.soft[0].x).min() for state in run) < 0.0
    assert max(len(state.contacts) for state in run) >= 4
    assert len(run_of(shots["two_bodies"])[-1].contacts) > 4
    assert max(len(state.rigid["contact_key"]) for state in run_of(shots["rigid"])) > 0
    counts = [len(state.rigid.get("state_p", ())) for state in run_of(shots["ragdolls"])]
    assert counts[0] == 0 < counts[3] < counts[-1]
    assert len(set(counts)) == 3


def test_every_part_of_a_scene_is_at_the_same_time(shot):
    run = run_of(shot, 4)
    for frame, state in enumerate(run):
        assert state.time == pytest.approx(frame / shot.fps, rel=1e-12, abs=1e-15)
        assert len(state.soft) == len(shot.scene.bodies)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["arrays", "copy"])
def test_a_state_that_was_put_away_goes_on_bit_for_bit(shot, way):
    run = run_of(shot)
    for stop in (0, 1, 2, 5, 6, 11):
        stepper = shot.stepper()
        if way == "copy":
            state = run[stop].copy()
        else:
            state = stepper.start()
            state.restore({name: np.array(array) for name, array in run[stop].arrays().items()})
            assert_same(state, run[stop])
        for frame in range(stop + 1, FRAMES + 1):
            stepper.step(state)
            assert_same(state, run[frame])


@pytest.mark.slow
def test_a_step_of_a_copy_leaves_the_state_that_it_was_copied_from(shot):
    stepper = shot.stepper()
    state = stepper.start()
    for _ in range(8):
        before = state_bits(state)
        copy = state.copy()
        stepper.step(copy)
        stepper.step(copy)
        assert state_bits(state) == before
        stepper.step(state)


@pytest.mark.slow
def test_states_that_take_turns_in_one_stepper_move_as_in_steppers_of_their_own(shot):
    run, stepper, ahead = run_of(shot), shot.stepper(), 5
    first, second = stepper.start(), run[ahead].copy()
    for frame in range(1, FRAMES - ahead + 1):
        stepper.step(first)
        stepper.step(second)
        assert_same(first, run[frame])
        assert_same(second, run[frame + ahead])


# ---- steps that fail


class Stop(Exception):
    """Raised in the middle of a step."""


def failing(function, call):
    """The function, which fails at one of its calls."""
    calls = iter(range(1, 10**6))

    def wrapped(*arguments):
        if next(calls) == call:
            raise Stop
        return function(*arguments)

    return wrapped


@pytest.mark.slow
@pytest.mark.parametrize("owner", [SoftStepper, RigidWorld], ids=lambda owner: owner.__name__)
def test_a_step_that_fails_leaves_the_state_as_it_was(shot, owner, monkeypatch):
    """Wherever it fails: at any body in any substep, or in the rigid world after all soft bodies have moved."""
    method = "attempt" if owner is SoftStepper else "step"
    run = run_of(shot, 9)
    stepper, state = shot.stepper(), run[8].copy()
    before, scene = state_bits(state), shot.scene
    calls = len(scene.bodies) * shot.substeps if owner is SoftStepper else int(scene.has_rigid)
    for call in range(1, calls + 1):
        with monkeypatch.context() as patch:
            patch.setattr(owner, method, failing(getattr(owner, method), call))
            with pytest.raises(Stop):
                stepper.step(state)
        assert state_bits(state) == before
    stepper.step(state)
    assert_same(state, run[9])


@pytest.mark.slow
def test_a_step_that_is_stopped_between_substeps_leaves_the_state_as_it_was(shot):
    def stop(substep):
        raise Stop

    run = run_of(shot, 9)
    stepper, state = shot.stepper(), run[8].copy()
    with pytest.raises(Stop):
        stepper.step(state, stop)
    assert_same(state, run[8])
    stepper.step(state)
    assert_same(state, run[9])


def test_a_failure_of_the_solver_names_body_and_substep():
    nodes = np.vstack([np.zeros(3), np.eye(3)])
    load = sim.Force(sim.node_points([0]), [1e300, 1e300, 0.0])
    plain = sim.SoftBody(sim.Cage(nodes, [[0, 1, 2, 3]]), sim.Corotated())
    bad = sim.SoftBody(sim.Cage(nodes, [[0, 1, 2, 3]]), sim.Corotated(), loads=[load])
    stepper = sim.Stepper(sim.Scene([plain, bad]), substeps=2)
    state = stepper.start()
    before = state_bits(state)
    try:
        stepper.step(state)
    except sim.SolverError as error:
        assert error.body == 1 and error.substep in (1, 2)
        assert state_bits(state) == before
    else:
        assert np.isfinite(state.soft[1].x).all()


@pytest.mark.parametrize(
    "options", [{"fps": 0.0}, {"fps": np.nan}, {"fps": np.inf}, {"substeps": 0}]
)
def test_steps_that_cannot_be_are_refused(options):
    with pytest.raises(sim.SettingsError, match="fps, substeps: expected a positive number"):
        sim.Stepper(sim.Scene([]), **options)


@pytest.mark.parametrize("entering", [(0.0,), (-1.0, 0.0), (np.nan, 0.0), (np.inf, 0.0)])
def test_ragdolls_enter_at_times_from_the_start_on(shots, entering):
    with pytest.raises(
        sim.SettingsError, match="entering: expected a time from 0 on for each of 2"
    ):
        sim.Scene(ragdolls=shots["ragdolls"].scene.ragdolls, entering=entering)


def test_states_that_differ_in_memory_alone_do_not_share_forces(tmp_path):
    shot = shot_of(tmp_path, document(tmp_path, body={"material": {"law": "corotated"}}))
    stepper, state = shot.stepper(), shot.stepper().start()
    other = state.copy()
    other.soft[0].memory["collapse_pair"][:] = 4  # held in a frame that is turned
    other.soft[0].memory["rotation"][:] = [0.8, 0.0, 0.6, 0.0]
    alone = other.copy()
    # The first one leaves its forces behind, at the place where the second one starts.
    stepper.bodies[0].solver.evaluate(state.soft[0].x, [state.soft[0].memory])
    stepper.step(other)
    shot.stepper().step(alone)
    assert state_bits(other) == state_bits(alone)
