"""GIF files, read back."""

import sys
import time

import numpy as np
import pytest
from PIL import Image

from jellycage.toolkit.errors import SettingsError
from jellycage.toolkit.picture.gif_file import write_gif


def read_gif(path):
    """Frames (n, h, w, 3), their durations [ms] and how often they loop (0: for ever)."""
    with Image.open(path) as image:
        frames, durations = [], []
        for number in range(image.n_frames):
            image.seek(number)
            frames.append(np.asarray(image.convert("RGB")))
            durations.append(image.info["duration"])
        return np.array(frames), durations, image.info["loop"]


def shown(path, fps):
    """The image in the middle of each 1 / fps seconds, shape (n, h, w, 3): what stays the same is in the file once."""
    frames, durations, _ = read_gif(path)
    ends = np.cumsum(durations) / 1000.0
    return frames[np.searchsorted(ends, (np.arange(round(ends[-1] * fps)) + 0.5) / fps)]


def shaded_ball(frames=6, width=96, height=72):
    """A smooth grey backdrop with a shaded blue ball that moves, lit from two sides: many more than 256 colours."""
    y, x = np.mgrid[:height, :width].astype(float)
    pictures = []
    for number in range(frames):
        grey = 235.0 - 30.0 * np.hypot(x / width - 0.5, y / height - 0.5)
        picture = np.repeat(grey[..., None], 3, axis=2)
        u, v = (x - 30 - 5 * number) / 25.0, (y - 36) / 25.0
        is_ball = u * u + v * v < 1.0
        key, fill = np.clip(0.5 - 0.6 * u - 0.6 * v, 0.0, 1.0), np.clip(0.5 + 0.5 * u - v, 0.0, 1.0)
        light = np.multiply.outer(key, (60.0, 110.0, 190.0)) + np.multiply.outer(
            fill, (80.0, 60.0, 40.0)
        )
        picture[is_ball] = light[is_ball]
        pictures.append(np.rint(picture).astype(np.uint8))
    return np.array(pictures)


def test_few_colours_come_back_exactly_frame_by_frame(tmp_path):
    rng = np.random.default_rng(0)
    colours = rng.integers(0, 256, (255, 3), dtype=np.uint8)
    frames = colours[rng.integers(0, 255, (5, 40, 60))]
    frames[3] = frames[2]  # nothing changes
    frames[4] = frames[3]
    frames[4, 7, 9] = colours[0]  # one pixel changes
    write_gif(tmp_path / "few.gif", frames, fps=10)
    np.testing.assert_array_equal(shown(tmp_path / "few.gif", fps=10), frames)
    assert [path.name for path in tmp_path.iterdir()] == ["few.gif"]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 8, 127, 128, 254, 255])
def test_every_size_of_palette_is_exact(tmp_path, count):
    colours = np.stack([np.arange(count), 255 - np.arange(count), np.full(count, 7)], 1).astype(
        np.uint8
    )
    frame = colours[np.random.default_rng(count).integers(0, count, (64, 65))]
    write_gif(tmp_path / "a.gif", [frame, frame[::-1]], fps=10)
    np.testing.assert_array_equal(shown(tmp_path / "a.gif", fps=10), [frame, frame[::-1]])


@pytest.mark.parametrize("size", [(1, 1), (1, 7), (300, 1), (3, 257)])
def test_odd_sizes_are_kept(tmp_path, size):
    frame = np.random.default_rng(1).integers(0, 2, (*size, 1), dtype=np.uint8) * np.uint8(
        [90, 0, 255]
    )
    write_gif(tmp_path / "a.gif", [frame], fps=10)
    np.testing.assert_array_equal(read_gif(tmp_path / "a.gif")[0], [frame])


def test_shaded_pictures_come_back_nearly(tmp_path):
    frames = shaded_ball()
    assert len(np.unique(frames.reshape(-1, 3), axis=0)) > 500
    write_gif(tmp_path / "ball.gif", frames, fps=24)
    read = read_gif(tmp_path / "ball.gif")[0]
    error = np.abs(read.astype(int) - frames)
    assert error.mean() < 0.6 and error.max() < 16


def test_dithering_keeps_the_mean_colour_of_smooth_shading(tmp_path):
    """Over blocks of 8 x 8 pixels, the period of the pattern, a colour that the palette lacks is met on average."""
    y, x = np.mgrid[:256, :256]
    frame = np.stack([x, y, 128 + (x - y) // 4], axis=2).astype(np.uint8)  # 2^16 colours
    write_gif(tmp_path / "ramp.gif", [frame], fps=1)
    read = read_gif(tmp_path / "ramp.gif")[0][0]

    def blocks(image):
        return image.astype(float).reshape(32, 8, 32, 8, 3).mean(axis=(1, 3))

    plain = np.abs(read.astype(float) - frame).mean()
    assert np.abs(blocks(read) - blocks(frame)).mean() < 0.5 * plain


def test_what_stands_still_does_not_flicker(tmp_path):
    frames = shaded_ball()
    write_gif(tmp_path / "ball.gif", frames, fps=24)
    read = read_gif(tmp_path / "ball.gif")[0]
    is_still = (frames == frames[0]).all(axis=(0, 3))
    assert is_still.mean() > 0.3
    assert (read[:, is_still] == read[0, is_still]).all()


@pytest.mark.parametrize("fps", [7.0, 10.0, 23.976, 24.0, 30.0, 50.0])
def test_the_animation_keeps_its_speed_and_loops_for_ever(tmp_path, fps):
    frames = np.zeros((48, 2, 2, 3), np.uint8)
    frames[::2] = 255
    write_gif(tmp_path / "a.gif", frames, fps)
    read, durations, loop = read_gif(tmp_path / "a.gif")
    assert len(read) == 48 and loop == 0
    assert sum(durations) == pytest.approx(1000.0 * 48 / fps, abs=10.0)  # GIF counts in 10 ms
    assert max(durations) - min(durations) <= 10
    assert min(durations) >= 20  # players take less for a mistake


def test_more_frames_than_players_show_are_thinned_out(tmp_path):
    frames = np.arange(120, dtype=np.uint8)[:, None, None, None] * np.ones((1, 2, 2, 3), np.uint8)
    write_gif(tmp_path / "a.gif", frames, fps=120)
    read, durations, _ = read_gif(tmp_path / "a.gif")
    assert len(read) == 40 and sum(durations) == 1000
    np.testing.assert_array_equal(read[:, 0, 0, 0], np.arange(0, 120, 3))


def test_same_frames_give_the_same_bytes(tmp_path):
    for name in ("a.gif", "b.gif"):
        write_gif(tmp_path / name, shaded_ball(), fps=24)
    assert (tmp_path / "a.gif").read_bytes() == (tmp_path / "b.gif").read_bytes()


def test_only_what_changes_is_written(tmp_path):
    still, moving = np.repeat(shaded_ball(1), 12, axis=0), shaded_ball(12)
    sizes = []
    for name, frames in (("one", still[:1]), ("still", still), ("moving", moving)):
        write_gif(tmp_path / name, frames, fps=24)
        sizes.append((tmp_path / name).stat().st_size)
    assert sizes[1] - sizes[0] < 12 * 40
    assert sizes[2] < 8 * sizes[0]


def test_pixels_between_those_that_change_cost_little(tmp_path):
    noise = np.random.default_rng(3).integers(0, 200, (64, 64, 1), dtype=np.uint8) * np.ones(
        3, np.uint8
    )
    frames = np.array([noise, noise])
    frames[1, [0, -1], [0, -1]] = 255
    write_gif(tmp_path / "one.gif", frames[:1], fps=24)
    write_gif(tmp_path / "two.gif", frames, fps=24)
    sizes = [(tmp_path / name).stat().st_size for name in ("one.gif", "two.gif")]
    assert sizes[1] - sizes[0] < 0.1 * sizes[0]


@pytest.mark.slow
def test_a_preview_takes_seconds(tmp_path):
    frames = shaded_ball(72, 480, 360)
    write_gif(tmp_path / "warm.gif", frames[:1], fps=24)
    start = time.perf_counter()
    write_gif(tmp_path / "a.gif", frames, fps=24)
    assert time.perf_counter() - start < 8.0  # about 0.7 s; the rest is room for a busy machine


def test_without_pillow_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(SettingsError, match="Pillow"):
        write_gif(tmp_path / "a.gif", [np.zeros((2, 2, 3), np.uint8)], 24)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("frames", "fps", "word"),
    [
        ([], 24, "at least one"),
        ([np.zeros((2, 2, 3))], 24, "uint8"),
        ([np.zeros((2, 2, 4), np.uint8)], 24, "shape"),
        ([np.zeros((2, 2), np.uint8)], 24, "shape"),
        ([np.zeros((0, 2, 3), np.uint8)], 24, "shape"),
        ([np.zeros((2, 2, 3), np.uint8), np.zeros((2, 3, 3), np.uint8)], 24, "one size"),
        ([np.zeros((2, 2, 3), np.uint8)], 0, "fps"),
        ([np.zeros((2, 2, 3), np.uint8)], np.nan, "fps"),
        ([np.zeros((1, 65536, 3), np.uint8)], 24, "65535"),
    ],
)
def test_what_cannot_be_a_gif_is_refused_before_anything_is_written(tmp_path, frames, fps, word):
    with pytest.raises(SettingsError, match=word):
        write_gif(tmp_path / "a.gif", frames, fps)
    assert not list(tmp_path.iterdir())
