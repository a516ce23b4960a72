import struct

import numpy as np
import pytest
from moving_meshes import motion, quad_and_triangle, write_all, y_up

from jellycage.sim.errors import SettingsError
from jellycage.sim.export.pc2 import Pc2Writer, read_pc2

BEAR = quad_and_triangle()


def header(magic=b"POINTCACHE2\0", version=1, points=5, start=1.0, rate=1.0, samples=3):
    return struct.pack("<12siiffi", magic, version, points, start, rate, samples)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("first_frame", [1, 1001])
def test_positions_come_back_to_the_bit(dtype, first_frame, tmp_path):
    frames = motion([BEAR], 7, dtype=dtype)
    path = write_all(Pc2Writer(tmp_path / "a.pc2", [BEAR], first_frame=first_frame), frames)
    cache = read_pc2(path)
    assert (cache.start, cache.rate) == (first_frame, 1.0)
    assert cache.positions.shape == (7, 5, 3) and cache.positions.dtype == np.float32
    assert cache.positions.tobytes() == np.array(frames, np.float32).tobytes()


def test_the_file_is_what_the_format_says(tmp_path):
    frames = motion([BEAR], 3, dtype=np.float32)
    path = write_all(Pc2Writer(tmp_path / "a.pc2", [BEAR]), frames)
    assert path.read_bytes() == header() + np.array(frames, "<f4").tobytes()


def test_axes_and_scale(tmp_path):
    [[x]] = frames = motion([BEAR], 1)
    path = write_all(Pc2Writer(tmp_path / "a.pc2", [BEAR], up_axis="Y", scale=10.0), frames)
    assert np.array_equal(read_pc2(path).positions[0], y_up(10.0 * x))


def test_a_file_is_mapped_and_not_read(tmp_path):
    positions = read_pc2(
        write_all(Pc2Writer(tmp_path / "a.pc2", [BEAR]), motion([BEAR], 2))
    ).positions
    assert isinstance(positions, np.memmap) and not positions.flags.writeable


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no PC2 file"),
        (header()[:31], "no PC2 file"),
        (header(magic=b"POINTCACHE3\0") + bytes(180), "no PC2 file"),
        (b"\0" * 212, "no PC2 file"),
        (header(version=2) + bytes(180), "version 2"),
        (header(points=0), "0 points"),
        (header(points=-5, samples=-3) + bytes(180), "-5 points"),
        (header(samples=0), "0 samples"),
        (header() + bytes(179), "take 212 bytes, but the file has 211"),
        (header() + bytes(181), "the file has 213"),
        (header(points=2**31 - 1, samples=2**31 - 1), "cut short"),
    ],
)
def test_bad_files_are_refused_in_one_line(data, message, tmp_path):
    path = tmp_path / "a.pc2"
    path.write_bytes(data)
    with pytest.raises(SettingsError, match=message) as error:
        read_pc2(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_a_missing_file_is_an_oserror(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_pc2(tmp_path / "none.pc2")
