import io
import json
import os
import tracemalloc
import zipfile

import numpy as np
import pytest
from sample_assets import cut_asset, hex_asset, tet_asset

import jellycage.toolkit.asset.asset_file
from jellycage.toolkit.asset.asset import ARRAYS
from jellycage.toolkit.asset.asset_file import load_asset, save_asset
from jellycage.toolkit.collision.surface import ARRAYS as COLLISION_ARRAYS
from jellycage.toolkit.errors import AssetError


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "fan.npz"
    save_asset(tet_asset(), path)
    return path


def members_of(path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_members(path, members: dict[str, bytes]):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def npy(array, **header) -> bytes:
    """The bytes of an .npy file, with a header that may lie."""
    buffer = io.BytesIO()
    array = np.asarray(array)
    described = np.lib.format.header_data_from_array_1_0(array) | header
    np.lib.format.write_array_header_1_0(buffer, described)
    return buffer.getvalue() + array.tobytes()


def assert_refused(path, *words):
    with pytest.raises(AssetError) as caught:
        load_asset(path)
    text = str(caught.value)
    assert "\n" not in text and path.name in text
    for word in words:
        assert word in text


@pytest.mark.parametrize("asset", [tet_asset(), hex_asset()], ids=["tet", "hex"])
def test_round_trip_gives_the_same_bits(asset, tmp_path):
    save_asset(asset, tmp_path / "a.npz")
    loaded = load_asset(tmp_path / "a.npz")
    for name in ARRAYS:
        before, after = getattr(asset, name), getattr(loaded, name)
        if before is None:
            assert after is None
        else:
            assert before.dtype == after.dtype and before.shape == after.shape
            assert before.tobytes() == after.tobytes() and not after.flags.writeable
    assert loaded.meta == asset.meta
    assert loaded.format_version == asset.format_version


def test_a_collision_surface_comes_back_with_the_same_bits(tmp_path):
    asset = cut_asset()
    save_asset(asset, tmp_path / "a.npz")
    loaded = load_asset(tmp_path / "a.npz")
    for name in COLLISION_ARRAYS:
        before, after = getattr(asset.collision, name), getattr(loaded.collision, name)
        assert before.dtype == after.dtype and before.shape == after.shape
        assert before.tobytes() == after.tobytes() and not after.flags.writeable
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        assert arrays["collision_triangles"].shape[1] == 6


def test_half_a_collision_surface_is_refused(tmp_path):
    path = tmp_path / "half.npz"
    save_asset(cut_asset(), path)
    members = members_of(path)
    del members["collision_weights.npy"]
    write_members(path, members)
    assert_refused(path, "collision_weights", "jellycage cage")


@pytest.mark.slow
def test_a_damaged_collision_surface_is_refused_or_harmless(tmp_path):
    path, damaged = tmp_path / "whole.npz", tmp_path / "damaged.npz"
    save_asset(cut_asset(), path)
    members = members_of(path)
    names = [name for name in members if name.startswith("collision_")]
    random = np.random.default_rng(2)
    refused = 0
    for _ in range(300):
        name = names[random.integers(len(names))]
        changed = bytearray(members[name])
        changed[random.integers(0, len(changed))] = random.integers(0, 256)
        write_members(damaged, members | {name: bytes(changed)})
        try:
            surface = load_asset(damaged).collision
            surface.posed(cut_nodes(members))
        except AssetError as error:
            assert "\n" not in str(error)
            refused += 1
    assert refused > 50


def cut_nodes(members):
    return np.load(io.BytesIO(members["cage_nodes.npy"]))


def test_numpy_can_read_the_file_without_pickles(saved):
    with np.load(saved, allow_pickle=False) as arrays:
        assert arrays["format_version"] == 1
        assert json.loads(arrays["meta"].item())["name"] == "fan"
        assert arrays["cage_tets"].shape == (2, 4)


def test_names_outside_ascii_survive(tmp_path):
    path = tmp_path / "naïve モデル.npz"
    save_asset(tet_asset(meta={"name": "球 \udcff"}), path)
    assert load_asset(path).meta["name"] == "球 \udcff"


def test_the_same_asset_gives_the_same_bytes_at_any_time(saved, tmp_path, monkeypatch):
    monkeypatch.setattr("time.time", lambda: 2e9)
    save_asset(tet_asset(), tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == saved.read_bytes()
    with zipfile.ZipFile(saved) as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_order_in_meta_does_not_change_the_bytes(tmp_path):
    save_asset(tet_asset(meta={"a": 1, "b": 2}), tmp_path / "ab.npz")
    save_asset(tet_asset(meta={"b": 2, "a": 1}), tmp_path / "ba.npz")
    assert (tmp_path / "ab.npz").read_bytes() == (tmp_path / "ba.npz").read_bytes()


def test_a_file_cut_short_anywhere_is_refused(saved, tmp_path):
    data = saved.read_bytes()
    cut = tmp_path / "cut.npz"
    for length in [*range(0, 200), *range(200, len(data), 97), len(data) - 1]:
        cut.write_bytes(data[:length])
        assert_refused(cut)


def test_damaged_bytes_are_refused_or_harmless(saved, tmp_path):
    data = saved.read_bytes()
    damaged = tmp_path / "damaged.npz"
    random = np.random.default_rng(0)
    for _ in range(500):
        changed = bytearray(data)
        for place in random.integers(0, len(data), random.integers(1, 4)):
            changed[place] = random.integers(0, 256)
        damaged.write_bytes(changed)
        try:
            load_asset(damaged)
        except AssetError as error:
            assert "\n" not in str(error)


def test_damage_inside_a_sound_archive_is_refused_or_harmless(saved, tmp_path):
    members = members_of(saved)
    names = list(members)
    damaged = tmp_path / "damaged.npz"
    random = np.random.default_rng(1)
    for _ in range(500):
        name = names[random.integers(len(names))]
        changed = bytearray(members[name])
        for place in random.integers(0, len(changed), random.integers(1, 4)):
            changed[place] = random.integers(0, 256)
        write_members(damaged, members | {name: bytes(changed)})
        try:
            load_asset(damaged)
        except AssetError as error:
            assert "\n" not in str(error)


def test_foreign_files_are_refused_with_a_remedy(tmp_path):
    path = tmp_path / "foreign.npz"
    for data in (b"", b"PK\x03\x04", b"v 0 0 0\n" * 100, b"\x93NUMPY", bytes(1000)):
        path.write_bytes(data)
        assert_refused(path)
    np.savez(path, weights=np.zeros(3))
    assert_refused(path, "not a jellycage asset")
    write_members(path, {"readme.txt": b"hello"})
    assert_refused(path, "not a jellycage asset")
    np.savez(path, format_version=np.array(1), meta=np.array("{}"))
    assert_refused(path, "missing")


def test_a_pickle_is_never_opened(saved, tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "exploded"),)

    np.savez(tmp_path / "pickle.npz", format_version=np.array(Bomb(), dtype=object), meta="{}")
    assert_refused(tmp_path / "pickle.npz")
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("version", [2, 2**62])
def test_a_later_version_says_update(saved, version):
    write_members(saved, members_of(saved) | {"format_version.npy": npy(np.int64(version))})
    assert_refused(saved, "later", "update")


def test_a_later_version_is_named_even_if_its_arrays_differ(saved):
    write_members(saved, {"format_version.npy": npy(np.int64(9)), "meta.npy": npy("{}")})
    assert_refused(saved, "later")


@pytest.mark.parametrize("version", [np.int64(0), np.float64(1), np.array([1]), np.array("1")])
def test_a_version_that_is_none_is_refused(saved, version):
    write_members(saved, members_of(saved) | {"format_version.npy": npy(version)})
    assert_refused(saved, "format_version")


@pytest.mark.parametrize("name", [name for name in ARRAYS if name != "cage_hexes"])
def test_every_array_is_checked(saved, name):
    members = members_of(saved)
    write_members(saved, members | {f"{name}.npy": npy(np.zeros(3, dtype=np.complex128))})
    assert_refused(saved, name)
    write_members(saved, members | {f"{name}.npy": npy(np.zeros((1, 1, 1), ARRAYS[name][0]))})
    assert_refused(saved, name)
    write_members(saved, {key: data for key, data in members.items() if key != f"{name}.npy"})
    if name not in ("cage_centre", "cage_spread", "polygon_start", "polygon_vertices"):
        assert_refused(saved)


@pytest.mark.parametrize("text", ["", "[1]", "{", "NaN", '{"a": Infinity}', "[" * 100_000])
def test_meta_that_is_no_json_object_is_refused(saved, text):
    write_members(saved, members_of(saved) | {"meta.npy": npy(np.array(text))})
    assert_refused(saved, "meta")


def test_a_shape_that_announces_more_than_is_there_takes_no_memory(saved):
    for shape in [(10**9, 3), (10**18, 3), (-1, 3), (0, 10**30)]:
        lie = npy(np.zeros((4, 3)), shape=shape)
        write_members(saved, members_of(saved) | {"surface_vertices.npy": lie})
        tracemalloc.start()
        assert_refused(saved)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
        tracemalloc.stop()


def test_a_zip_bomb_is_refused_before_it_is_unpacked(saved):
    members = members_of(saved)
    write_members(saved, members | {"surface_vertices.npy": bytes(100_000_000)})
    tracemalloc.start()
    assert_refused(saved, "announce")
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


def test_a_missing_file_or_a_folder_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_asset(tmp_path / "none.npz")
    with pytest.raises(OSError):
        load_asset(tmp_path)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, MemoryError])
def test_an_interrupted_save_leaves_the_old_file_and_nothing_else(saved, monkeypatch, error):
    before = saved.read_bytes()

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(jellycage.toolkit.asset.asset_file.np.lib.format, "write_array", fail)
    with pytest.raises(error):
        save_asset(hex_asset(), saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["fan.npz"]
