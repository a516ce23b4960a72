"""Bakes: the frames of the simulation, whatever comes in between."""

from functools import partial

import numpy as np
import pytest
from stepping import arrays_bits
from tiny_shots import (
    baked,
    document,
    frame_digests,
    is_leftover,
    shot_of,
    tiny_shot,
    violent_document,
)

from jellycage.sim.bake import bake as baking
from jellycage.sim.bake.cache import CHECKPOINT, MEASURES, open_cache
from jellycage.sim.bake.measures import COLUMNS, Meter
from jellycage.sim.errors import CacheError, Cancelled, SolverError
from jellycage.sim.scene.simulation import simulate
from jellycage.sim.scene.soft_stepper import SoftStepper

# The drop of these tests turns elements inside out for longer than a bake would let pass.
bake = partial(baking.bake, keep_going=True)

FIRST, LAST = 1001, 1010


@pytest.fixture(scope="module")
def violent(tmp_path_factory):
    """The shot of a violent drop."""
    folder = tmp_path_factory.mktemp("violent")
    return shot_of(folder, violent_document(folder, frames=(FIRST, LAST)))


@pytest.fixture(scope="module")
def whole(violent, tmp_path_factory):
    """The same, baked in one go, with velocities."""
    return bake(violent, tmp_path_factory.mktemp("whole") / "w.bake", velocities=True)


def after(steps, error=None):
    """Is asked after every step; stops, or raises, at one of them."""
    count = iter(range(1, 10**6))

    def is_cancelled():
        if next(count) < steps:
            return False
        if error is not None:
            raise error
        return True

    return is_cancelled


def assert_same(folder, whole):
    """Frames, velocities and the states to continue from agree in every bit."""
    assert frame_digests(folder) == frame_digests(whole.cache.folder)
    cache = open_cache(folder)
    (frame, ours), (whole_frame, theirs) = cache.read_checkpoint(), whole.cache.read_checkpoint()
    assert frame == whole_frame and arrays_bits(ours) == arrays_bits(theirs)
    physics = slice(0, COLUMNS.index("step_seconds"))
    assert cache.measures()[:, physics].tobytes() == whole.measured[:, physics].tobytes()
    assert not is_leftover(folder)


# ---- the same as the simulation


def test_a_bake_is_the_simulation_rounded_to_single_precision(violent, whole):
    track = simulate(violent.scene, LAST - FIRST, violent.fps, substeps=violent.substeps)
    for number, frame in enumerate(range(FIRST, LAST + 1)):
        wanted = violent.skins[0].positions(track.positions[0][number]).astype(np.float32)
        assert whole.cache.frame(frame)[0].tobytes() == wanted.tobytes()
    _, arrays = whole.cache.read_checkpoint()
    state = {
        name: array
        for name, array in arrays.items()
        if not name.startswith(("health.", "cautions."))
    }
    assert arrays_bits(state) == arrays_bits(track.state.arrays())
    velocity = violent.skins[0].velocities(track.state.soft[0].v).astype(np.float32)
    assert whole.cache.frame(LAST, "velocity")[0].tobytes() == velocity.tobytes()


def test_the_drop_is_as_violent_as_it_should_be(whole):
    """Or the tests of resuming would prove little."""
    _, state = whole.cache.read_checkpoint()
    assert whole.column("min_J").min() < 0.0  # elements inside out
    assert whole.column("contacts").max() >= 4
    assert state["time"] == pytest.approx((LAST - FIRST) / 24.0)


def test_frames_have_the_numbers_of_the_scene(whole):
    names = sorted(path.name for path in whole.cache.folder.glob("frame_*.npy"))
    assert names == [f"frame_{frame}.npy" for frame in range(FIRST, LAST + 1)]
    assert whole.column("frame").tolist() == list(range(FIRST, LAST + 1))
    assert whole.baked == LAST - FIRST and len(whole.measured) == LAST - FIRST + 1


def test_one_frame_is_the_start(tmp_path):
    shot = tiny_shot(tmp_path, frames=(0, 0))
    result, frames = baked(shot, tmp_path / "a.bake")
    start = shot.skins[0].positions(shot.scene.bodies[0].start_positions())
    assert result.baked == 0 and frames[0] == pytest.approx(start, abs=1e-6)
    assert bake(shot, tmp_path / "a.bake").baked == 0


def test_two_bodies_do_not_mind_each_other(tmp_path):
    content = document(tmp_path)
    row = content["body"][0]
    content["substeps"] = 2
    content["body"] = [{**row, "name": "a"}, {**row, "name": "b", "location": [9.0, 0.0, 0.3]}]
    result, both = baked(shot_of(tmp_path, content), tmp_path / "both")
    assert result.cache.facts.names == ("a", "b") and result.cache.facts.vertex_counts == (8, 8)
    for number, body in enumerate(content["body"]):
        _, alone = baked(shot_of(tmp_path, content | {"body": [body]}), tmp_path / body["name"])
        assert both[:, 8 * number : 8 * number + 8].tobytes() == alone.tobytes()


# ---- what is measured


def test_energies_volume_and_contacts_are_those_of_a_fall(tmp_path):
    body = {"location": [0.0, 0.0, 0.2], "preset": "flesh"}
    shot = tiny_shot(tmp_path, frames=(1, 12), body=body, substeps=4)
    result = bake(shot, tmp_path / "a.bake")
    soft = shot.scene.bodies[0]
    height = result.column("potential_energy")
    mass = soft.mass.sum()
    centre = np.average(soft.start_positions(), axis=0, weights=soft.mass)[2]
    assert height[0] == pytest.approx(9.81 * mass * centre)
    assert (np.diff(height[:5]) < 0.0).all()
    # In free fall, until 0.2 s, height becomes speed.
    speed = 9.81 * 3 / 24.0
    assert result.column("kinetic_energy")[3] == pytest.approx(0.5 * mass * speed**2, rel=1e-6)
    assert result.column("kinetic_energy")[0] == 0.0
    assert result.column("elastic_energy")[:4] == pytest.approx(0.0, abs=1e-9)
    assert result.column("elastic_energy").max() > 1.0
    assert result.column("contacts")[:4].max() == 0 and result.column("contacts").max() >= 3
    assert np.abs(result.column("volume_error")[:4]).max() < 1e-9
    assert 1e-6 < np.abs(result.column("volume_error")).max() < 0.1
    assert (
        result.column("min_J")[0] == pytest.approx(1.0) and 0.0 < result.column("min_J").min() < 1
    )
    for name in ("newton_iterations", "step_seconds", "write_seconds"):
        assert (result.column(name)[1:] > 0.0).all() and result.column(name)[0] == 0.0
    assert (result.column("newton_iterations")[1:] >= 4).all()
    assert (result.column("contact_seconds") >= 0.0).all()


@pytest.mark.parametrize("scales", [(0.9, 1.0), (1.05, 0.9), (1.1, 0.95)])
def test_the_measures_of_several_bodies_are_sums_and_the_worst(scales, tmp_path):
    content = document(tmp_path, frames=(1, 1))
    row = content["body"][0]
    content["body"] = [{**row, "name": "a"}, {**row, "name": "b"}]
    shot = shot_of(tmp_path, content)
    stepper = shot.stepper()
    state = stepper.start()
    for soft, scale in zip(state.soft, scales, strict=True):
        soft.x *= scale
        soft.v[:] = (0.0, 3.0, 4.0)
    row = Meter(shot, stepper).measured(7, state).row()
    found = dict(zip(COLUMNS, row, strict=True))
    worst = max((scale**3 - 1.0 for scale in scales), key=abs)
    assert found["frame"] == 7 and found["volume_error"] == pytest.approx(worst)
    assert found["min_J"] == pytest.approx(min(scales) ** 3)
    mass = sum(body.mass.sum() for body in shot.scene.bodies)
    assert found["kinetic_energy"] == pytest.approx(12.5 * mass)


def test_progress_rises_and_knows_every_step(tmp_path):
    shot = tiny_shot(tmp_path, frames=(5, 8), substeps=3)
    told = []
    bake(shot, tmp_path / "a.bake", progress=told.append)
    assert [(p.frame, p.substep) for p in told] == [(f, s) for f in (6, 7, 8) for s in (1, 2, 3)]
    assert [p.is_frame_done for p in told] == [p.substep == 3 for p in told]
    assert [p.done for p in told] == pytest.approx(np.arange(1, 10) / 9)
    assert told[-1].eta == 0.0 and all(p.eta > 0.0 for p in told[:-1])
    assert all(a.seconds <= b.seconds for a, b in zip(told, told[1:], strict=False))


# ---- stopping and continuing


@pytest.mark.slow
@pytest.mark.parametrize("error", [None, KeyboardInterrupt()], ids=["cancelled", "ctrl-c"])
@pytest.mark.parametrize("steps", [1, 11, 12, 26])
def test_a_bake_that_was_stopped_continues_to_the_same_bits(error, steps, violent, whole, tmp_path):
    folder = tmp_path / "a.bake"
    with pytest.raises(KeyboardInterrupt if error else Cancelled):
        bake(violent, folder, velocities=True, is_cancelled=after(steps, error))
    cache = open_cache(folder)
    finished = FIRST + (steps - 1) // violent.substeps
    assert cache.frames_done() == list(range(FIRST, finished + 1))
    assert cache.read_checkpoint()[0] == finished
    result = bake(violent, folder, velocities=True, resume=True)
    assert result.baked == LAST - finished
    assert_same(folder, whole)


@pytest.mark.slow
def test_a_bake_may_be_stopped_at_every_frame(violent, whole, tmp_path):
    folder = tmp_path / "a.bake"
    for _ in range(FIRST, LAST):
        try:
            bake(violent, folder, velocities=True, resume=True, is_cancelled=after(4))
        except Cancelled:
            continue
    bake(violent, folder, velocities=True, resume=True)
    assert_same(folder, whole)


def test_frames_beyond_the_checkpoint_are_baked_again(violent, whole, tmp_path):
    """As after a power cut: later frames are lost, or half there."""
    folder = tmp_path / "a.bake"
    with pytest.raises(Cancelled):
        bake(violent, folder, velocities=True, is_cancelled=after(12))
    old = (folder / "checkpoint.npz").read_bytes()
    bake(violent, folder, velocities=True, resume=True)
    (folder / "checkpoint.npz").write_bytes(old)
    (folder / f"frame_{LAST}.npy").unlink()
    (folder / f"frame_{LAST - 1}.npy").write_bytes(b"half")
    result = bake(violent, folder, velocities=True, resume=True)
    assert result.baked == LAST - 1004
    assert_same(folder, whole)


def test_without_a_checkpoint_a_bake_begins_again(violent, whole, tmp_path):
    folder = tmp_path / "a.bake"
    with pytest.raises(Cancelled):
        bake(violent, folder, velocities=True, is_cancelled=after(8))
    (folder / "checkpoint.npz").unlink()
    assert bake(violent, folder, velocities=True, resume=True).baked == LAST - FIRST
    assert_same(folder, whole)


def test_frames_that_the_checkpoint_vouches_for_must_be_there(violent, tmp_path):
    folder = tmp_path / "a.bake"
    with pytest.raises(Cancelled):
        bake(violent, folder, is_cancelled=after(12))
    (folder / "frame_1002.npy").unlink()
    with pytest.raises(CacheError, match="frames are missing; --force"):
        bake(violent, folder, resume=True)


def test_half_a_row_of_measures_is_as_good_as_none(violent, whole, tmp_path):
    """As after a power cut, or on a full disk."""
    folder = tmp_path / "a.bake"
    with pytest.raises(Cancelled):
        bake(violent, folder, velocities=True, is_cancelled=after(12))
    with open(folder / MEASURES, "ab") as file:
        file.write(b"\0" * 43)
    bake(violent, folder, velocities=True, resume=True)
    assert_same(folder, whole)


def test_measures_that_the_checkpoint_vouches_for_must_be_there(violent, tmp_path):
    folder = tmp_path / "a.bake"
    with pytest.raises(Cancelled):
        bake(violent, folder, is_cancelled=after(12))
    whole_rows = (folder / MEASURES).read_bytes()
    for rest in (whole_rows[:-8], whole_rows[:8], b"", None):
        (folder / MEASURES).unlink() if rest is None else (folder / MEASURES).write_bytes(rest)
        with pytest.raises(CacheError, match="bake again with --force"):
            bake(violent, folder, resume=True)


def test_a_checkpoint_without_one_of_its_arrays_is_refused(tmp_path):
    content = document(tmp_path, frames=(1, 4), body={"location": [0.0, 0.0, -0.01]})
    content["rigid"] = [{"kind": "sphere", "radius": 0.1, "location": [3, 0, 0.1]}]
    shot, folder = shot_of(tmp_path, content), tmp_path / "a.bake"
    with pytest.raises(Cancelled):
        bake(shot, folder, is_cancelled=after(3))
    frame, arrays = open_cache(folder).read_checkpoint()
    wanted = {"time", "soft", "contacts", "rigid", "health", "cautions"}
    assert {name.split(".")[0] for name in arrays} == wanted
    for missing in arrays:
        rest = {name: array for name, array in arrays.items() if name != missing}
        np.savez(folder / CHECKPOINT, frame=frame, **rest)
        with pytest.raises(CacheError, match="--force") as caught:
            bake(shot, folder, resume=True)
        assert len(str(caught.value).splitlines()) == 1, missing
    np.savez(folder / CHECKPOINT, frame=frame, **arrays)
    assert bake(shot, folder, resume=True).baked == 4 - frame


def test_checkpoints_come_while_a_bake_goes_on(violent, whole, tmp_path, monkeypatch):
    monkeypatch.setattr("jellycage.sim.bake.bake.CHECKPOINT_SECONDS", 0.0)
    seen = []

    def look(progress):
        if progress.is_frame_done:
            frame, _ = open_cache(tmp_path / "a.bake").read_checkpoint()
            seen.append(progress.frame - frame)

    bake(violent, tmp_path / "a.bake", velocities=True, progress=look)
    assert set(seen) == {1}  # that of the frame before
    assert_same(tmp_path / "a.bake", whole)


# ---- what is in the folder already


def test_a_finished_bake_is_used_as_it_is(whole, violent):
    before = frame_digests(whole.cache.folder)
    times = {p.name: p.stat().st_mtime_ns for p in whole.cache.folder.iterdir()}
    for options in ({}, {"resume": True}, {"velocities": True}):
        result = bake(violent, whole.cache.folder, **options)
        assert result.baked == 0 and result.measured.tobytes() == whole.measured.tobytes()
    assert frame_digests(whole.cache.folder) == before
    assert {p.name: p.stat().st_mtime_ns for p in whole.cache.folder.iterdir()} == times


def test_another_scene_is_refused_and_replaced_by_force(tmp_path):
    (tmp_path / "a.bake").mkdir()
    (tmp_path / "a.bake" / "mine.txt").write_text("mine")
    first = tiny_shot(tmp_path, frames=(1, 4))
    bake(first, tmp_path / "a.bake")
    before = frame_digests(tmp_path / "a.bake")
    other = tiny_shot(tmp_path, frames=(1, 4), gravity=[0, 0, -1.62])
    for options in ({}, {"resume": True}):
        with pytest.raises(CacheError, match="another scene or of other settings.*--force"):
            bake(other, tmp_path / "a.bake", **options)
    assert frame_digests(tmp_path / "a.bake") == before
    result = bake(other, tmp_path / "a.bake", force=True)
    assert result.baked == 3 and frame_digests(tmp_path / "a.bake") != before
    assert result.cache.facts.digest == other.digest
    assert (tmp_path / "a.bake" / "mine.txt").read_text() == "mine"


def test_velocities_cannot_be_had_afterwards(tmp_path):
    shot = tiny_shot(tmp_path, frames=(1, 3))
    bake(shot, tmp_path / "a.bake")
    with pytest.raises(CacheError, match="--force"):
        bake(shot, tmp_path / "a.bake", velocities=True)
    result = bake(shot, tmp_path / "a.bake", velocities=True, force=True)
    assert result.cache.frame(3, "velocity")[0].shape == (8, 3)


def test_an_unfinished_bake_is_refused_without_resume(violent, tmp_path):
    with pytest.raises(Cancelled):
        bake(violent, tmp_path / "a.bake", is_cancelled=after(8))
    with pytest.raises(CacheError, match="holds 3 of 10 frames; --resume continues, --force"):
        bake(violent, tmp_path / "a.bake")
    assert bake(violent, tmp_path / "a.bake", force=True).baked == 9


def test_force_leaves_no_frame_of_a_longer_bake(tmp_path):
    bake(tiny_shot(tmp_path, frames=(1, 6)), tmp_path / "a.bake")
    bake(tiny_shot(tmp_path, frames=(1, 3)), tmp_path / "a.bake", force=True)
    assert len(list((tmp_path / "a.bake").glob("frame_*.npy"))) == 3


# ---- errors


def test_an_error_of_the_solver_names_body_frame_and_substep(tmp_path, monkeypatch):
    content = document(tmp_path, frames=(1001, 1006), substeps=3)
    row = content["body"][0]
    content["body"] = [{**row, "name": "left"}, {**row, "name": "right", "location": [9, 0, 0]}]
    shot = shot_of(tmp_path, content)
    step, count = SoftStepper.step, iter(range(1, 100))

    def failing(solver, *arguments):
        if (
            next(count) == 2 * (3 * 2 + 1) + 2
        ):  # the second body in the second substep of frame 1004
            raise SolverError("the positions are no longer finite; use smaller time steps")
        return step(solver, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(SoftStepper, "step", failing)
        with pytest.raises(SolverError) as caught:
            bake(shot, tmp_path / "a.bake")
    assert str(caught.value).startswith("right, frame 1004, substep 2: the positions")
    assert open_cache(tmp_path / "a.bake").frames_done() == [1001, 1002, 1003]
    assert bake(shot, tmp_path / "a.bake", resume=True).baked == 3
