"""Animated GIF files: one palette for all frames, ordered dithering, LZW.

CompuServe 1990, "Graphics Interchange Format, Version 89a": blocks and LZW codes, with the loop block of Netscape.

Smooth shading needs more than 256 colours. A colour that the palette lacks becomes a pattern of two entries on either
side of it, by an 8 x 8 matrix of thresholds that stays where it is, so what does not move does not flicker. The
palette comes from cutting the box of colours with the largest error at its mean, again and again. From frame to frame
only the rectangle that changes is written, and in it only the pixels that do.
"""

import math
import os
import struct
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.atomic_file import atomic_file
from jellycage.toolkit.errors import SettingsError
from jellycage.toolkit.picture import gif_kernels as kernels

PALETTE_SIZE = 255  # and one entry that stands for "as before"
FASTEST = 50.0  # frames per second; players slow down files that ask for more
CENTISECONDS = 100


def write_gif(path: str | os.PathLike, frames: Sequence[NDArray[np.uint8]], fps: float) -> None:
    """Write images of shape (h, w, 3) as an animation that repeats for ever, whole or not at all.

    Above 50 frames per second, which no player shows, some frames are left out. Up to 255 colours are kept exactly.
    """
    frames = _checked_frames(frames, fps)
    stride = math.ceil(fps / FASTEST)
    frames, fps = frames[::stride], fps / stride
    height, width, _ = frames[0].shape
    count = _colour_counts(frames)
    colours = _as_rgb(np.flatnonzero(count))
    palette = _palette(colours, count[count > 0])
    bits = max(2, math.ceil(math.log2(len(palette) + 1)))
    table = np.zeros((1 << bits, 3), np.uint8)
    table[: len(palette)] = palette
    parts = _parts(_indexed(frames, count, colours, palette), unchanged=len(palette))
    with atomic_file(path) as draft, open(draft, "wb") as file:
        file.write(b"GIF89a" + struct.pack("<HHBBB", width, height, 0xF0 | bits - 1, 0, 0))
        file.write(table.tobytes() + b"\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0")
        for number, (left, top, part) in enumerate(parts):
            # The ends of frames are rounded, not their lengths, so that the whole keeps its speed.
            delay = round((number + 1) * CENTISECONDS / fps) - round(number * CENTISECONDS / fps)
            file.write(struct.pack("<BBBBHBB", 0x21, 0xF9, 4, 0b101, delay, len(palette), 0))
            file.write(struct.pack("<BHHHHB", 0x2C, left, top, part.shape[1], part.shape[0], 0))
            file.write(_packed(part, bits))
        file.write(b"\x3b")


def _checked_frames(frames, fps):
    frames = [np.ascontiguousarray(frame) for frame in frames]
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


def _colour_counts(frames) -> NDArray[np.int32]:
    """How often each 24-bit colour is in the frames, shape (2^24,)."""
    count = np.zeros(1 << 24, np.int32)
    for frame in frames:
        kernels.count_colours(frame.reshape(-1, 3), count)
    return count


def _as_rgb(colours) -> NDArray[np.float64]:
    return np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=1).astype(np.float64)


def _palette(colours, count) -> NDArray[np.uint8]:
    """At most 255 colours (k, 3) that stand for the colours (n, 3), of which there are so many (n,)."""
    boxes = [_Box(colours, np.asarray(count, np.float64))]
    while len(boxes) < PALETTE_SIZE:
        worst = max(range(len(boxes)), key=lambda b: boxes[b].error)
        if boxes[worst].error <= 0.0:
            break
        boxes += boxes.pop(worst).halves()
    return np.rint([box.mean for box in boxes]).astype(np.uint8)


class _Box:
    """Some colours, their mean, and how badly it stands for them."""

    def __init__(self, colours, count):
        self.colours, self.count = colours, count
        self.mean = count @ colours / count.sum()
        spread = count @ (colours - self.mean) ** 2
        self.axis, self.error = int(spread.argmax()), float(spread.max())

    def halves(self):
        """The box in two, cut at the mean across the axis of the largest error."""
        is_low = self.colours[:, self.axis] <= self.mean[self.axis]
        return [_Box(self.colours[side], self.count[side]) for side in (is_low, ~is_low)]


def _indexed(frames, count, colours, palette) -> Iterator[NDArray[np.uint8]]:
    """Each frame in entries of the palette, shape (h, w)."""
    first, second = (np.empty(len(colours), np.uint8) for _ in range(2))
    share = np.empty(len(colours))
    kernels.find_mixtures(colours, palette.astype(np.float64), first, second, share)
    number_of = np.cumsum(count > 0, dtype=np.int32) - 1
    for frame in frames:
        index = np.empty(frame.shape[:2], np.uint8)
        kernels.index_pixels(frame, number_of, first, second, share, _thresholds(), index)
        yield index


def _thresholds(doublings: int = 3) -> NDArray[np.float64]:
    """Bayer's matrix: the numbers (k + 1/2) / n in (0, 1), each as far from its neighbours as can be, shape (8, 8)."""
    order = np.zeros((1, 1))
    for _ in range(doublings):
        order = np.block([[4 * order, 4 * order + 2], [4 * order + 3, 4 * order + 1]])
    return (order + 0.5) / order.size


def _parts(images, unchanged: int) -> Iterator[tuple[int, int, NDArray[np.uint8]]]:
    """Left, top and entries of the rectangle in which each image differs from the one before; `unchanged` elsewhere."""
    before = None
    for image in images:
        if before is None:
            yield 0, 0, image
        else:
            is_new = image != before
            rows, columns = (np.flatnonzero(is_new.any(axis=axis)) for axis in (1, 0))
            top, bottom = (rows[0], rows[-1] + 1) if len(rows) else (0, 1)
            left, right = (columns[0], columns[-1] + 1) if len(columns) else (0, 1)
            part = np.where(is_new, image, np.uint8(unchanged))
            yield left, top, part[top:bottom, left:right]
        before = image


def _packed(part, bits) -> bytes:
    """The LZW data of a rectangle, in blocks of up to 255 bytes."""
    out = np.empty(2 * part.size + 16, np.uint8)
    size = kernels.pack_lzw(np.ascontiguousarray(part).reshape(-1), bits, out)
    data = out[:size].tobytes()
    blocks = [data[at : at + 255] for at in range(0, size, 255)]
    return bytes([bits]) + b"".join(bytes([len(block)]) + block for block in blocks) + b"\0"
