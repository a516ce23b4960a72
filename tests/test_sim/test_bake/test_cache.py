"""Caches: what is written comes back to the last bit, and what is broken is refused in one line."""

import dataclasses
import errno
import io
import json
import os

import numpy as np
import pytest
from mesh_files import npy_bytes
from stepping import arrays_bits, state_bits
from tiny_shots import is_leftover, tiny_shot

from jellycage.sim.bake.bake import bake
from jellycage.sim.bake.cache import (
    CHECKPOINT,
    FACTS,
    MEASURES,
    Facts,
    all_frames,
    make_cache,
    open_cache,
    remove_cache,
)
from jellycage.sim.bake.measures import COLUMNS
from jellycage.sim.contact.memory import ContactMemory
from jellycage.sim.errors import CacheError
from jellycage.sim.export.frames import ExportMesh
from jellycage.sim.scene.state import SceneState
from jellycage.sim.soft.state import State

MESHES = (
    ExportMesh("tri", 3, [0, 3], [0, 1, 2], [[0, 0], [1, 0], [0, 1]], [0, 1, 2]),
    ExportMesh("quad", 4, [0, 4], [0, 1, 2, 3]),
)
FACTS_OF_TWO = Facts("d" * 64, (-2, 3), 24.0, 2, ("tri", "quad"), (3, 4), True)


def new_cache(folder, **changes):
    return make_cache(folder, dataclasses.replace(FACTS_OF_TWO, **changes), MESHES)


def positions(seed):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(count, 3)) for count in (3, 4)]


def distinct_soft(rng):
    """The state of a body whose every array has values of its own."""
    memory = {
        "rotation": rng.normal(size=(7, 4)),
        "collapse_pair": rng.integers(0, 16, 7).astype(np.int8),
        "recovery_debt": np.array(rng.normal()),
    }
    return State(rng.normal(size=(5, 3)), rng.normal(size=(5, 3)), memory)


def distinct_state(seed, contacts=3):
    """A state of a scene of two bodies whose every array has values of its own."""
    rng = np.random.default_rng(seed)
    key = np.arange(contacts, dtype=np.int64) + 2**40
    return SceneState(
        time=float(rng.normal()),
        soft=[distinct_soft(rng), distinct_soft(rng)],
        contacts=ContactMemory(
            key,
            rng.normal(size=(contacts, 3)),
            rng.normal(size=(contacts, 4)),
            rng.uniform(size=contacts),
        ),
        rigid={"state_p": rng.normal(size=(4, 3)), "contact_key": np.arange(3) + 2**41},
    )


def write_checkpoint(cache, frame, state):
    """A checkpoint, with the measures that belong to it."""
    for number in range(frame - cache.facts.frames[0] + 1):
        cache.append_measures(np.full(len(COLUMNS), float(number)), number)
    cache.write_checkpoint(frame, state.arrays())


def refused(action) -> str:
    """The one line with which a cache is refused."""
    with pytest.raises(CacheError) as caught:
        action()
    text = str(caught.value)
    assert len(text.splitlines()) == 1 and ";" in text
    return text


# ---- round trips


def test_frames_and_velocities_come_back_as_they_were(tmp_path):
    cache = new_cache(tmp_path)
    for frame in range(-2, 4):
        cache.write_frame(frame, positions(frame + 10), positions(frame + 20))
    again = open_cache(tmp_path)
    assert again.facts == cache.facts and again.frame_count == 6
    assert again.frames_done() == [-2, -1, 0, 1, 2, 3]
    for frame, bodies in all_frames(again):
        for kind, seed in (("frame", frame + 10), ("velocity", frame + 20)):
            found = again.frame(frame, kind)
            for got, given in zip(found, positions(seed), strict=True):
                assert got.dtype == np.float32
                assert got.tobytes() == given.astype(np.float32).tobytes()
        assert [len(body) for body in bodies] == [3, 4]


def test_meshes_come_back_with_polygons_and_uvs(tmp_path):
    new_cache(tmp_path)
    for mesh, given in zip(open_cache(tmp_path).meshes, MESHES, strict=True):
        for name, value in vars(given).items():
            got = getattr(mesh, name)
            if isinstance(value, np.ndarray):
                assert got.dtype == value.dtype and np.array_equal(got, value), name
            else:
                assert got == value, name


def test_velocities_are_only_kept_when_asked_for(tmp_path):
    cache = new_cache(tmp_path, velocities=False)
    cache.write_frame(1, positions(1))
    assert [path.name for path in tmp_path.glob("*.npy")] == ["frame_0001.npy"]


def test_a_gap_ends_the_frames_that_are_done(tmp_path):
    cache = new_cache(tmp_path)
    for frame in (-2, -1, 1):
        cache.write_frame(frame, positions(0), positions(0))
    assert cache.frames_done() == [-2, -1]


@pytest.mark.parametrize("contacts", [0, 3])
def test_a_checkpoint_comes_back_to_the_last_bit(contacts, tmp_path):
    cache, given = new_cache(tmp_path), distinct_state(1, contacts)
    assert cache.read_checkpoint() == (None, {})
    write_checkpoint(cache, 2, given)
    frame, arrays = open_cache(tmp_path).read_checkpoint()
    assert frame == 2 and arrays_bits(arrays) == state_bits(given)
    found = distinct_state(2)
    found.restore(arrays)
    assert state_bits(found) == state_bits(given)
    assert type(found.time) is float and type(found.contacts) is ContactMemory


def test_measures_come_back_and_what_is_behind_a_row_goes(tmp_path):
    cache = new_cache(tmp_path)
    rows = np.random.default_rng(0).normal(size=(4, len(COLUMNS)))
    for number, row in enumerate(rows):
        cache.append_measures(row, number)
    assert open_cache(tmp_path).measures().tobytes() == rows.tobytes()
    cache.append_measures(rows[3], 1)
    assert cache.measures().tobytes() == rows[[0, 3]].tobytes()


def test_poses_come_back_as_they_were(tmp_path):
    cache, rng = new_cache(tmp_path, velocities=False), np.random.default_rng(0)
    given = [(rng.normal(size=(5, 3)), rng.normal(size=(5, 4))) for _ in range(2)]
    for frame, poses in zip((-2, -1), given, strict=True):
        cache.write_frame(frame, positions(0))
        cache.write_poses(frame, poses)
    for found, parts in zip(
        open_cache(tmp_path).all_poses(), zip(*given, strict=True), strict=True
    ):
        assert found.tobytes() == np.array(parts).tobytes()


def test_frames_are_on_the_disk_before_the_checkpoint_that_vouches_for_them(tmp_path, monkeypatch):
    cache = new_cache(tmp_path)
    for frame in (-2, -1):
        cache.write_frame(frame, positions(1), positions(2))
    order, fsync, replace = [], os.fsync, os.replace

    def seen_fsync(handle):
        order.append(os.fstat(handle).st_ino)
        fsync(handle)

    def seen_replace(source, target):
        order.append(os.path.basename(target))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", seen_fsync)
    monkeypatch.setattr(os, "replace", seen_replace)
    write_checkpoint(cache, -1, distinct_state(1))
    assert order[-1] == CHECKPOINT
    vouched = [*tmp_path.glob("*.npy"), tmp_path / MEASURES]
    assert {path.stat().st_ino for path in vouched} <= set(order[:-1])


def test_a_copy_of_a_state_has_every_field_and_shares_what_is_never_written_to():
    state = distinct_state(4)
    copy = state.copy()
    assert state_bits(copy) == state_bits(state)
    for one, other in zip(state.soft, copy.soft, strict=True):
        for name, array in one.arrays().items():
            assert not np.shares_memory(array, other.arrays()[name]), name


def test_no_field_of_a_state_can_be_forgotten(tmp_path):
    """The names in the file are those of the dataclasses: a field that is added is written, or this fails."""
    cache, state = new_cache(tmp_path), distinct_state(1)
    write_checkpoint(cache, 1, state)
    with np.load(tmp_path / CHECKPOINT) as arrays:
        names = set(arrays)
    fields = {kind: {f.name for f in dataclasses.fields(kind)} for kind in (State, SceneState)}
    remembered = {field.name for field in dataclasses.fields(ContactMemory)}
    soft = fields[State] - {"memory"} | set(state.soft[0].memory)
    wanted = {f"soft.{k}.{name}" for k in (0, 1) for name in soft}
    wanted |= {f"contacts.{name}" for name in remembered}
    wanted |= {f"rigid.{name}" for name in state.rigid}
    assert names == wanted | {"frame", "time"}
    assert {name.split(".")[0] for name in names} == fields[SceneState] | {"frame"}
    # What is no field would be lost in silence, so there must be nothing else.
    assert set(vars(state)) == fields[SceneState]
    assert set(vars(state.soft[0])) == fields[State]
    assert set(vars(state.contacts)) == remembered


def test_what_a_solver_remembers_in_addition_is_kept_without_a_change_here(tmp_path):
    cache, state, again = new_cache(tmp_path), distinct_state(3), distinct_state(5)
    for one, heat in ((state, 2.5), (again, 0.0)):
        one.soft[1].memory["heat"] = np.array(heat)
    write_checkpoint(cache, 1, state)
    again.restore(cache.read_checkpoint()[1])
    assert again.soft[1].memory["heat"] == 2.5


# ---- broken files


def test_a_folder_without_a_bake_is_refused(tmp_path):
    assert "bake.json" in refused(lambda: open_cache(tmp_path))
    assert "bake.json" in refused(lambda: open_cache(tmp_path / "missing"))


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"version": 1}', '{"version": 2}', "{}", "\udcff\udcfe", "7"],
)
def test_broken_facts_are_refused(text, tmp_path):
    new_cache(tmp_path)
    (tmp_path / FACTS).write_bytes(text.encode("utf-8", "surrogateescape"))
    assert "--force" in refused(lambda: open_cache(tmp_path))


def test_facts_with_a_key_too_many_are_refused(tmp_path):
    new_cache(tmp_path)
    facts = json.loads((tmp_path / FACTS).read_text())
    (tmp_path / FACTS).write_text(json.dumps(facts | {"colour": 1}))
    refused(lambda: open_cache(tmp_path))


@pytest.mark.parametrize(
    "change",
    [{"vertex_counts": ["a", "b"]}, {"frames": [1]}, {"vertex_counts": [3, 9]}, {"names": ["tri"]}],
    ids=str,
)
def test_facts_that_do_not_fit_are_refused(change, tmp_path):
    new_cache(tmp_path).write_frame(1, positions(1), positions(2))
    facts = json.loads((tmp_path / FACTS).read_text())
    (tmp_path / FACTS).write_text(json.dumps(facts | change))
    assert "--force" in refused(
        lambda: (open_cache(tmp_path).frame(1), open_cache(tmp_path).frame_count)
    )


@pytest.mark.parametrize("content", [b"", b"PK\3\4", None])
def test_a_broken_or_missing_mesh_is_refused(content, tmp_path):
    new_cache(tmp_path)
    path = tmp_path / "mesh_1.npz"
    path.unlink() if content is None else path.write_bytes(content)
    assert "--force" in refused(lambda: open_cache(tmp_path))


def npz():
    file = io.BytesIO()
    np.savez(file, array=np.zeros((7, 3), np.float32))
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    {
        "missing": (None, "--resume"),
        "empty": (b"", "no readable frame"),
        "foreign": (b"hello, this is no array at all", "no readable frame"),
        "cut": (npy_bytes(np.zeros((7, 3), np.float32))[:-8], "no readable frame"),
        "pickle": (b"\x80\x04K\x01.", "no readable frame"),
        "count": (npy_bytes(np.zeros((8, 3), np.float32)), "another bake"),
        "doubles": (npy_bytes(np.zeros((7, 3))), "another bake"),
        "archive": (npz(), "--force"),
    }.values(),
    ids=["missing", "empty", "foreign", "cut", "pickle", "count", "doubles", "archive"],
)
def test_broken_frames_are_refused(content, words, tmp_path):
    cache = new_cache(tmp_path)
    if content is not None:
        cache.frame_path(1).write_bytes(content)
    assert words in refused(lambda: cache.frame(1))


@pytest.mark.parametrize("kind", ["empty", "cut", "foreign", "frame"])
def test_a_broken_checkpoint_is_refused(kind, tmp_path):
    cache = new_cache(tmp_path)
    write_checkpoint(cache, 1, distinct_state(1))
    path = tmp_path / CHECKPOINT
    whole = path.read_bytes()
    if kind == "frame":
        np.savez(path, **distinct_state(1).arrays())
    else:
        path.write_bytes({"empty": b"", "cut": whole[:-100], "foreign": b"hello"}[kind])
    assert "--force" in refused(cache.read_checkpoint)


OLD_STATE = ("x", "v", "time", "rotation", "pair", "trapped", "debt", "shaken")
"""What a checkpoint of version 0.1 has of each body, and of its contacts."""
OLD_GRIPS = ("grips.key", "grips.drag", "grips.plane")


@pytest.mark.parametrize("measures", [False, True])
def test_a_checkpoint_of_an_earlier_version_is_refused_and_its_frames_are_read(measures, tmp_path):
    cache = new_cache(tmp_path)
    cache.write_frame(-2, positions(1), positions(2))
    if measures:
        cache.append_measures(np.zeros(len(COLUMNS)), 0)
    old = {f"{k}.{name}": np.zeros((5, 3)) for k in (0, 1) for name in (*OLD_STATE, *OLD_GRIPS)}
    old |= {"rigid.locations": np.zeros((1, 2, 3)), "rigid.state_p": np.zeros((2, 3))}
    np.savez(tmp_path / CHECKPOINT, frame=-2, measured=np.zeros((1, 12)), **old)
    text = refused(open_cache(tmp_path).read_checkpoint)
    assert "earlier version" in text and "--force" in text
    assert open_cache(tmp_path).frame(-2)[0].tobytes() == positions(1)[0].astype("f4").tobytes()


# ---- what else is in the folder


def test_other_files_are_left_alone(tmp_path):
    others = ["notes.txt", "frames.npy", "mesh.npz", "bake.json.bak", "checkpoint.npz.old"]
    for name in others:
        (tmp_path / name).write_text(name)
    (tmp_path / "frame_folder").mkdir()
    new_cache(tmp_path).write_frame(1, positions(1), positions(2))
    new_cache(tmp_path)
    assert not list(tmp_path.glob("frame_*.npy"))
    remove_cache(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*others, "frame_folder"])
    assert all((tmp_path / name).read_text() == name for name in others)


def test_the_facts_go_first_when_a_cache_is_removed(tmp_path, monkeypatch):
    """What is left by a crash in the middle is no bake and is not taken for one."""
    cache = new_cache(tmp_path)
    cache.write_frame(1, positions(1), positions(2))
    write_checkpoint(cache, 1, distinct_state(1))
    unlink = type(tmp_path).unlink
    removed = []

    def slow(path, *options):
        removed.append(path.name)
        if len(removed) == 2:
            raise KeyboardInterrupt
        unlink(path, *options)

    monkeypatch.setattr(type(tmp_path), "unlink", slow)
    with pytest.raises(KeyboardInterrupt):
        remove_cache(tmp_path)
    assert removed[0] == FACTS
    refused(lambda: open_cache(tmp_path))


# ---- a full disk


def full_after(function, calls):
    """The function, which finds the disk full from a call on."""
    count = iter(range(10**6))

    def wrapped(*arguments, **options):
        if next(count) >= calls:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return function(*arguments, **options)

    return wrapped


@pytest.mark.parametrize("name", ["save", "replace"])
def test_a_frame_that_does_not_fit_leaves_nothing(name, tmp_path, monkeypatch):
    cache = new_cache(tmp_path)
    cache.write_frame(-2, positions(1), positions(2))
    module = np if name == "save" else os
    monkeypatch.setattr(module, name, full_after(getattr(module, name), 0))
    with pytest.raises(OSError) as caught:
        cache.write_frame(-1, positions(3), positions(4))
    assert caught.value.errno == errno.ENOSPC
    assert not is_leftover(tmp_path) and cache.frames_done() == [-2]
    assert cache.frame(-2)[0] == pytest.approx(positions(1)[0].astype(np.float32))


@pytest.mark.parametrize("name", ["save", "replace"])
def test_a_bake_on_a_full_disk_can_be_resumed(name, tmp_path, monkeypatch):
    shot = tiny_shot(tmp_path, frames=(1, 6))
    whole = bake(shot, tmp_path / "whole")
    module = np if name == "save" else os
    with monkeypatch.context() as patch:
        # Some writes are those of the checkpoint, the facts and the meshes; either way frames are there.
        patch.setattr(
            module, name, full_after(getattr(module, name), 6 if name == "replace" else 4)
        )
        with pytest.raises(OSError) as caught:
            bake(shot, tmp_path / "cut")
        assert caught.value.errno == errno.ENOSPC
    assert not is_leftover(tmp_path / "cut")
    cache = open_cache(tmp_path / "cut")
    done = cache.frames_done()
    assert 2 <= len(done) < 6
    for frame in done:
        assert cache.frame(frame)[0].tobytes() == whole.cache.frame(frame)[0].tobytes()
    again = bake(shot, tmp_path / "cut", resume=True)
    for frame in range(1, 7):
        assert again.cache.frame(frame)[0].tobytes() == whole.cache.frame(frame)[0].tobytes()
