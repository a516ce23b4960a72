"""Animated GIF files, written by Pillow: one palette for all frames, ordered dithering.

Smooth shading needs more than 256 colours. A colour that the palette lacks becomes a pattern of two entries on either
side of it, by an 8 x 8 matrix of thresholds that stays where it is, so what does not move does not flicker; Pillow's
own dithering passes errors on from pixel to pixel, and flickers. From frame to frame Pillow writes the rectangle that
changes, and in it the pixels that do; a frame like the one before only makes that last longer.
"""

import math
import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from jellycage.toolkit.atomic_file import atomic_file
from jellycage.toolkit.errors import SettingsError

PALETTE_SIZE = 255  # and one entry that stands for "as before"
FASTEST = 50.0  # frames per second; players slow down files that ask for more
CENTISECONDS = 100


def pillow():
    """The module that images are of; refuses where Pillow is not installed, as inside Blender."""
    try:
        from PIL import Image
    except ImportError:
        raise SettingsError("a GIF needs Pillow: pip install pillow, or ask for a PNG") from None
    return Image


def write_gif(path: str | os.PathLike, frames: Sequence[NDArray[np.uint8]], fps: float) -> None:
    """Write images of shape (h, w, 3) as an animation that repeats for ever, whole or not at all.

    Above 50 frames per second, which no player shows, some frames are left out. Up to 255 colours are kept exactly.
    """
    frames = _checked_frames(frames, fps)
    stride = math.ceil(fps / FASTEST)
    frames, fps = frames[::stride], fps / stride
    # The ends of frames are rounded, not their lengths, so that the whole keeps its speed.
    ends = [round(number * CENTISECONDS / fps) for number in range(len(frames) + 1)]
    palette, images = _indexed(frames)
    images = [pillow().fromarray(image) for image in images]
    for image in images:
        image.putpalette(palette.tobytes())
    with atomic_file(path) as draft:
        images[0].save(
            draft,
            format="GIF",
            save_all=True,
            append_images=images[1:],
            duration=[10 * int(length) for length in np.diff(ends)],  # [ms]
            loop=0,
            palette=palette.tobytes(),
            optimize=True,
        )


def _checked_frames(frames, fps):
    frames = [np.asarray(frame) for frame in frames]
    if not frames:
        raise SettingsError("frames: expected at least one image")
    shape = frames[0].shape
    if any(frame.dtype != np.uint8 or frame.shape != shape for frame in frames):
        raise SettingsError("frames: expected uint8 images of one size")
    if len(shape) != 3 or shape[2] != 3 or not 0 < min(shape) or max(shape) > 65535:
        raise SettingsError(f"frames: expected shape (h, w, 3) of 1 to 65535 pixels, got {shape}")
    if not 0.01 <= fps < math.inf:
        raise SettingsError(f"fps: expected a number from 0.01, got {fps}")
    return frames


def _indexed(frames) -> tuple[NDArray[np.uint8], list[NDArray[np.uint8]]]:
    """A palette (k, 3) for all frames, and each frame in entries of it, shape (h, w)."""
    count = np.zeros(1 << 24, np.int32)
    for frame in frames:
        np.add.at(count, _packed(frame), 1)
    packed = np.flatnonzero(count)
    colours = np.stack([packed >> 16, packed >> 8 & 255, packed & 255], axis=1).astype(np.uint8)
    palette = _palette(colours, count[packed])
    first, second, share = _mixtures(colours.astype(float), palette.astype(float))
    number_of = np.cumsum(count > 0, dtype=np.int32) - 1
    threshold = _thresholds(*frames[0].shape[:2])
    numbers = (number_of[_packed(frame)] for frame in frames)
    return palette, [np.where(share[n] > threshold, second[n], first[n]) for n in numbers]


def _packed(frame) -> NDArray[np.int32]:
    """Each colour as one number, red << 16 | green << 8 | blue."""
    red, green, blue = np.moveaxis(frame.astype(np.int32), -1, 0)
    return red << 16 | green << 8 | blue


def _palette(colours, count) -> NDArray[np.uint8]:
    """At most 255 colours (k, 3) that stand for the colours (n, 3), of which there are so many (n,)."""
    # By its root a count matters less: a wide backdrop would leave too few entries for what moves in front of it.
    sample = np.repeat(colours, np.ceil(np.sqrt(count)).astype(int), axis=0)
    image = pillow().fromarray(sample[None])
    chosen = image.quantize(PALETTE_SIZE, pillow().Quantize.MEDIANCUT, kmeans=1)
    return np.array(chosen.getpalette(), np.uint8).reshape(-1, 3)


def _mixtures(colours, palette):
    """Two palette entries for each colour (n, 3), and the share 0..1 of the second that comes closest to it.

    The second is the entry nearest to the colour mirrored at the first, so the two lie on either side of it. A colour
    of the palette is its own mixture.
    """
    tree = KDTree(palette)
    first = tree.query(colours)[1]
    away = colours - palette[first]
    second = tree.query(colours + away)[1]
    along = palette[second] - palette[first]
    length = np.maximum(
        (along**2).sum(axis=1), 1.0
    )  # 0 where both are one; entries are whole numbers
    share = (away * along).sum(axis=1) / length
    return first.astype(np.uint8), second.astype(np.uint8), share


def _thresholds(height: int, width: int) -> NDArray[np.float64]:
    """Bayer's matrix: the numbers (k + 1/2) / 64, each as far from its neighbours as can be, over an image (h, w)."""
    order = np.zeros((1, 1))
    for _ in range(3):
        order = np.block([[4 * order, 4 * order + 2], [4 * order + 3, 4 * order + 1]])
    rows, columns = np.arange(height) % 8, np.arange(width) % 8
    return ((order + 0.5) / 64)[np.ix_(rows, columns)]
