import struct

import numpy as np
import pytest
from moving_meshes import motion, quad_and_triangle, write_all, y_up

from jellycage.sim.errors import SettingsError
from jellycage.sim.export.mdd import MddWriter, read_mdd

BEAR = quad_and_triangle()


def header(samples=3, points=5, times=3):
    return struct.pack(">ii", samples, points) + np.arange(times).astype(">f4").tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("first_frame", [1, 1001])
def test_positions_come_back_to_the_bit(dtype, first_frame, tmp_path):
    frames = motion([BEAR], 7, dtype=dtype)
    settings = {"frame_count": 7, "fps": 25, "first_frame": first_frame}
    cache = read_mdd(write_all(MddWriter(tmp_path / "a.mdd", [BEAR], **settings), frames))
    times = (first_frame + np.arange(7)) / 25
    assert np.array_equal(cache.times, times.astype(np.float32))
    assert cache.positions.shape == (7, 5, 3)
    native = cache.positions.astype(np.float32)
    assert native.tobytes() == np.array(frames, np.float32).tobytes()


def test_the_file_is_what_the_format_says(tmp_path):
    frames = motion([BEAR], 3, dtype=np.float32)
    writer = MddWriter(tmp_path / "a.mdd", [BEAR], frame_count=3, fps=1, first_frame=0)
    assert write_all(writer, frames).read_bytes() == header() + np.array(frames, ">f4").tobytes()


def test_axes_and_scale(tmp_path):
    [[x]] = frames = motion([BEAR], 1)
    settings = {"frame_count": 1, "up_axis": "Y", "scale": 10.0}
    path = write_all(MddWriter(tmp_path / "a.mdd", [BEAR], **settings), frames)
    assert np.array_equal(read_mdd(path).positions[0], y_up(10.0 * x))


def test_a_file_is_mapped_and_not_read(tmp_path):
    path = write_all(MddWriter(tmp_path / "a.mdd", [BEAR], frame_count=2), motion([BEAR], 2))
    positions = read_mdd(path).positions
    assert isinstance(positions, np.memmap) and not positions.flags.writeable


@pytest.mark.parametrize(("announced", "message"), [(2, "more than the 2"), (4, "3 written")])
def test_another_number_of_frames_than_announced_is_refused(announced, message, tmp_path):
    with pytest.raises(SettingsError, match=message):
        write_all(MddWriter(tmp_path / "a.mdd", [BEAR], frame_count=announced), motion([BEAR], 3))
    assert list(tmp_path.iterdir()) == []


def test_no_frames_cannot_be_announced(tmp_path):
    with pytest.raises(SettingsError, match="at least 1"):
        MddWriter(tmp_path / "a.mdd", [BEAR], frame_count=0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no MDD file"),
        (header()[:7], "no MDD file"),
        (header(samples=0), "no MDD file"),
        (header(points=-1), "no MDD file"),
        (header(), "take 200 bytes, but the file has 20"),
        (header() + bytes(179), "the file has 199"),
        (header() + bytes(181), "the file has 201"),
        (b"POINTCACHE2\0" + bytes(200), "no MDD file"),
        (header(samples=2**31 - 1, points=2**31 - 1), "cut short"),
    ],
)
def test_bad_files_are_refused_in_one_line(data, message, tmp_path):
    path = tmp_path / "a.mdd"
    path.write_bytes(data)
    with pytest.raises(SettingsError, match=message) as error:
        read_mdd(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)
