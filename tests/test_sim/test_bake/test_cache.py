"""Caches: what is written comes back to the last bit, and what is broken is refused in one line."""

import dataclasses
import errno
import io
import json
import os

import numpy as np
import pytest
from mesh_files import npy_bytes
from tiny_shots import is_leftover, state_bits, tiny_shot

import jellycage.sim.bake.cache
from jellycage.sim.bake.bake import COLUMNS, bake
from jellycage.sim.bake.cache import (
    CHECKPOINT,
    FACTS,
    Checkpoint,
    Facts,
    all_frames,
    make_cache,
    open_cache,
    remove_cache,
)
from jellycage.sim.contact.contacts import Grips
from jellycage.sim.errors import CacheError
from jellycage.sim.export.frames import ExportMesh
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


def distinct_state(seed, contacts=3):
    """A state whose every field has a value of its own, made from the fields that there are."""
    rng = np.random.default_rng(seed)
    values = {}
    for field in dataclasses.fields(State):
        if field.name == "grips":
            key = np.arange(contacts, dtype=np.int64) + 2**40
            values["grips"] = Grips(
                key, rng.normal(size=(contacts, 3)), rng.normal(size=(contacts, 4))
            )
        elif field.type in (float, "float"):
            values[field.name] = float(rng.normal())
        elif field.name == "pair":
            values[field.name] = rng.integers(0, 16, 5).astype(np.int8)
        else:
            values[field.name] = rng.normal(size=(5, 4))
    return State(**values)


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
    cache = new_cache(tmp_path)
    assert cache.read_checkpoint() is None
    given = Checkpoint(2, [distinct_state(1, contacts), distinct_state(2)], np.eye(len(COLUMNS)))
    cache.write_checkpoint(given)
    found = open_cache(tmp_path).read_checkpoint()
    assert found.frame == 2 and found.measured.tobytes() == given.measured.tobytes()
    for got, state in zip(found.states, given.states, strict=True):
        assert state_bits(got) == state_bits(state)
        for field in dataclasses.fields(State):
            assert type(getattr(got, field.name)) is type(getattr(state, field.name))


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
    cache.write_checkpoint(
        Checkpoint(-1, [distinct_state(1), distinct_state(2)], np.zeros((2, 12)))
    )
    assert order[-1] == CHECKPOINT
    assert {path.stat().st_ino for path in tmp_path.glob("*.npy")} <= set(order[:-1])


def test_a_copy_of_a_state_has_every_field_and_shares_no_array():
    state = distinct_state(4)
    copy = state.copy()
    assert state_bits(copy) == state_bits(state)
    for field in dataclasses.fields(State):
        value = getattr(state, field.name)
        if isinstance(value, np.ndarray):
            assert not np.shares_memory(value, getattr(copy, field.name)), field.name


def test_no_field_of_a_state_can_be_forgotten(tmp_path):
    """The names in the file are those of the dataclasses: a field that is added is written, or this fails."""
    cache = new_cache(tmp_path)
    cache.write_checkpoint(Checkpoint(1, [distinct_state(1), distinct_state(2)], np.zeros((1, 12))))
    with np.load(tmp_path / CHECKPOINT) as arrays:
        names = set(arrays)
    plain = {field.name for field in dataclasses.fields(State)} - {"grips"}
    wanted = plain | {f"grips.{field.name}" for field in dataclasses.fields(Grips)}
    assert names == {f"{k}.{name}" for k in (0, 1) for name in wanted} | {"frame", "measured"}
    # What is no field would be lost in silence, so there must be nothing else.
    assert set(vars(distinct_state(1))) == plain | {"grips"}
    assert set(vars(distinct_state(1).grips)) == {field.name for field in dataclasses.fields(Grips)}


def test_a_new_field_is_kept_without_a_change_here(tmp_path, monkeypatch):
    """A State with one more field, through the same functions."""

    @dataclasses.dataclass(eq=False)
    class Longer(State):
        heat: float = 0.0

    names = (*jellycage.sim.bake.cache._STATE_NAMES, "heat")
    monkeypatch.setattr(jellycage.sim.bake.cache, "State", Longer)
    monkeypatch.setattr(jellycage.sim.bake.cache, "_STATE_NAMES", names)
    cache = new_cache(tmp_path, names=("tri",), vertex_counts=(3,))
    plain = vars(distinct_state(3))
    cache.write_checkpoint(Checkpoint(1, [Longer(**plain, heat=2.5)], np.zeros((1, 12))))
    assert cache.read_checkpoint().states[0].heat == 2.5


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


@pytest.mark.parametrize("kind", ["empty", "cut", "foreign", "field"])
def test_a_broken_checkpoint_is_refused(kind, tmp_path):
    cache = new_cache(tmp_path)
    cache.write_checkpoint(Checkpoint(1, [distinct_state(1), distinct_state(2)], np.zeros((1, 12))))
    path = tmp_path / CHECKPOINT
    whole = path.read_bytes()
    if kind == "field":
        with np.load(path) as arrays:
            rest = {name: arrays[name] for name in arrays if name != "1.grips.drag"}
        np.savez(path, **rest)
    else:
        path.write_bytes({"empty": b"", "cut": whole[:-100], "foreign": b"hello"}[kind])
    assert "--force" in refused(cache.read_checkpoint)


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
    cache.write_checkpoint(Checkpoint(1, [distinct_state(1), distinct_state(2)], np.zeros((1, 12))))
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
