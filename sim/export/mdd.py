"""MDD, the point cache of LightWave and of Blender's Mesh Cache modifier: the positions of one mesh, frame after frame.

    8 bytes    i32 samples, i32 points
    then       samples x f32 time [s]
    then       samples x points x 3 float32, all big-endian

The times stand before the positions, so the number of frames must be known before the first is written.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.errors import SettingsError
from jellycage.sim.export.frames import ExportMesh, FileWriter

HEADER = Struct(">ii")
TIME_BYTES, POINT_BYTES = 4, 12


@dataclass(frozen=True, eq=False)
class TimedPoints:
    """What an MDD file holds."""

    positions: NDArray[np.float32]
    """Shape (samples, points, 3), in the file's own axes and units; read from disk where it is touched."""
    times: NDArray[np.float32]
    """Time of each sample [s], shape (samples,)."""


class MddWriter(FileWriter):
    """Writes an .mdd file of one mesh, exactly `frame_count` frames of it."""

    holds_one_mesh = True

    def __init__(
        self,
        path: str | os.PathLike,
        meshes: Sequence[ExportMesh],
        *,
        frame_count: int,
        **settings,
    ):
        super().__init__(path, meshes, frame_count=frame_count, **settings)
        if frame_count < 1:
            raise SettingsError(f"frame_count: must be at least 1, got {frame_count}")

    def _begin(self):
        self._file.write(HEADER.pack(self.frame_count, self.meshes[0].vertex_count))
        times = (self.first_frame + np.arange(self.frame_count)) / self.fps
        self._file.write(times.astype(">f4"))

    def _write_frame(self, points, velocities):
        if self.frames_written == self.frame_count:
            raise SettingsError(f"frame_count: more than the {self.frame_count} frames announced")
        self._file.write(points[0].astype(">f4"))

    def _finish(self):
        if self.frames_written != self.frame_count:
            raise SettingsError(
                f"frame_count: {self.frame_count} frames were announced, "
                f"{self.frames_written} written; announce as many as there are"
            )


def read_mdd(path: str | os.PathLike) -> TimedPoints:
    """The positions in an MDD file, and their times.

    Raises SettingsError, in one line with a remedy, if the file is none or damaged. An MDD file has no mark of its own;
    it is known by counts that agree with its size.
    """
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        header = file.read(HEADER.size)
    sample_count, point_count = HEADER.unpack(header) if len(header) == HEADER.size else (0, 0)
    if sample_count < 1 or point_count < 1:
        raise SettingsError(f"{path}: no MDD file; give one that was exported as MDD")
    positions_at = HEADER.size + sample_count * TIME_BYTES
    expected = positions_at + sample_count * point_count * POINT_BYTES
    if size != expected:
        raise SettingsError(
            f"{path}: {sample_count} samples of {point_count} points take {expected} bytes, "
            f"but the file has {size}; it is no MDD file, or cut short: export it again"
        )
    times = np.fromfile(path, ">f4", sample_count, offset=HEADER.size).astype(np.float32)
    shape = (sample_count, point_count, 3)
    return TimedPoints(np.memmap(path, ">f4", "r", positions_at, shape), times)
