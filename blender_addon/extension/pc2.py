"""PC2 point caches, which the Mesh Cache modifier plays and the worker reads; `jellycage.sim.export.pc2` says more."""

from pathlib import Path
from struct import Struct

import numpy as np

HEADER = Struct("<12siiffi")
MAGIC, VERSION = b"POINTCACHE2\0", 1


def write_points(path: Path, samples: list[np.ndarray], first_frame: int) -> None:
    """Write positions, (n, 3) for each frame from the first on."""
    counts = len(samples[0]), first_frame, 1.0, len(samples)
    with open(path, "wb") as file:
        file.write(HEADER.pack(MAGIC, VERSION, *counts))
        for points in samples:
            file.write(points.astype("<f4").tobytes())


def read_points(path: Path) -> np.ndarray:
    """The samples of a file, (samples, points, 3), read from disk where they are touched."""
    with open(path, "rb") as file:
        _, _, point_count, _, _, sample_count = HEADER.unpack(file.read(HEADER.size))
    return np.memmap(path, "<f4", "r", HEADER.size, (sample_count, point_count, 3))
