"""PC2, the point cache of Blender's Mesh Cache modifier and of 3ds Max: the positions of one mesh, frame after frame.

32 bytes   "POINTCACHE2" and a zero byte, i32 version 1, i32 points, f32 start, f32 rate, i32 samples
then       samples x points x 3 float32, all little-endian
"""

import os
from dataclasses import dataclass
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.errors import SettingsError
from jellycage.sim.export.frames import FileWriter

HEADER = Struct("<12siiffi")
MAGIC = b"POINTCACHE2\0"
VERSION = 1
POINT_BYTES = 12


@dataclass(frozen=True, eq=False)
class PointCache:
    """What a PC2 file holds."""

    positions: NDArray[np.float32]
    """Shape (samples, points, 3), in the file's own axes and units; read from disk where it is touched."""
    start: float
    """Frame of the first sample."""
    rate: float
    """Frames from one sample to the next."""


class Pc2Writer(FileWriter):
    """Writes a .pc2 file of one mesh, a sample per frame."""

    holds_one_mesh = True

    def _begin(self):
        self._write_header()

    def _write_frame(self, points, velocities):
        self._file.write(points[0].astype("<f4", copy=False))

    def _finish(self):
        self._file.seek(0)
        self._write_header()

    def _write_header(self):
        counts = self.meshes[0].vertex_count, self.first_frame, 1.0, self.frames_written
        self._file.write(HEADER.pack(MAGIC, VERSION, *counts))


def read_pc2(path: str | os.PathLike) -> PointCache:
    """The positions in a PC2 file, and the frames they belong to.

    Raises SettingsError, in one line with a remedy, if the file is none or damaged.
    """
    with open(path, "rb") as file:
        header = file.read(HEADER.size)
    if len(header) < HEADER.size or not header.startswith(MAGIC):
        raise SettingsError(f"{path}: no PC2 file; give one that was exported as PC2")
    _, version, point_count, start, rate, sample_count = HEADER.unpack(header)
    if version != VERSION or point_count < 1 or sample_count < 1:
        raise SettingsError(
            f"{path}: version {version} with {sample_count} samples of {point_count} points; "
            "expected version 1 and at least one of each: export the file again"
        )
    size = os.path.getsize(path)
    expected = HEADER.size + sample_count * point_count * POINT_BYTES
    if size != expected:
        raise SettingsError(
            f"{path}: {sample_count} samples of {point_count} points take {expected} bytes, "
            f"but the file has {size}; it is cut short or damaged: export it again"
        )
    shape = (sample_count, point_count, 3)
    return PointCache(np.memmap(path, "<f4", "r", HEADER.size, shape), start, rate)
