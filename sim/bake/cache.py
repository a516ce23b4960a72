"""The cache of a bake: a folder that frames are streamed to, and that a bake can be continued from.

    bake.json                what was baked: digest of the shot, frames, names, counts
    mesh_0.npz ...           polygons and UVs of each body
    frame_0001.npy ...       vertices of all bodies one after the other, float32 (v, 3) [m], in the world, Z up
    velocity_0001.npy ...    their velocities [m/s], if asked for
    poses_0001.npy ...       locations and rotations of ragdolls' bodies and rigid bodies, if there are any, (n, 7)
    measures.bin             what was measured of the frames, one after the other, see `Measures`
    checkpoint.npz           the state of the scene after a frame

Every file appears whole or not at all. Frames are handed to the disk before the checkpoint that vouches for them, so
that after a crash or a power cut a bake continues from the checkpoint and gives the same frames, bit for bit.
"""

import dataclasses
import json
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.bake.measures import COLUMNS
from jellycage.sim.errors import CacheError
from jellycage.sim.export.frames import ExportMesh
from jellycage.toolkit.atomic_file import atomic_file

VERSION = 1
FACTS = "bake.json"
CHECKPOINT = "checkpoint.npz"
MEASURES = "measures.bin"
FRAME_FILES = tuple(f"{kind}_*.npy" for kind in ("frame", "velocity", "poses"))
OWN_FILES = (FACTS, CHECKPOINT, MEASURES, "mesh_*.npz", *FRAME_FILES, ".jellycage-*")

Arrays = dict[str, NDArray]


@dataclass(frozen=True)
class Facts:
    """What a cache holds when it is complete."""

    digest: str
    """Of the shot, see `Shot`."""
    frames: tuple[int, int]
    """First and last."""
    fps: float
    substeps: int
    names: tuple[str, ...]
    """Of the bodies."""
    vertex_counts: tuple[int, ...]
    velocities: bool
    version: int = VERSION


class Cache:
    """A bake's folder, open for reading and writing."""

    def __init__(self, folder: str | os.PathLike, facts: Facts, meshes: Sequence[ExportMesh]):
        self.folder, self.facts, self.meshes = Path(folder), facts, tuple(meshes)
        self._unsafe: list[Path] = []

    @property
    def frame_count(self) -> int:
        """Frames that it has when it is complete."""
        return self.facts.frames[1] - self.facts.frames[0] + 1

    def frame_path(self, frame: int, kind: str = "frame") -> Path:
        """Where the vertices (or velocities) of a frame are."""
        sign = "-" if frame < 0 else ""
        return self.folder / f"{kind}_{sign}{abs(frame):04d}.npy"

    def write_frame(self, frame: int, positions, velocities=None) -> None:
        """Keep the vertices of all bodies, shapes (v, 3), at a frame."""
        self._write_array(self.frame_path(frame), _single(positions))
        if self.facts.velocities:
            self._write_array(self.frame_path(frame, "velocity"), _single(velocities))

    def write_poses(self, frame: int, poses: tuple[NDArray, NDArray]) -> None:
        """Keep locations (n, 3) [m] and rotations (n, 4) at a frame."""
        self._write_array(self.frame_path(frame, "poses"), np.concatenate(poses, axis=1))

    def poses(self, frame: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Locations (n, 3) [m] and rotations (n, 4) at a frame."""
        array = self._read_array(frame, "poses")
        return array[:, :3], array[:, 3:]

    def all_poses(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Locations (f, n, 3) [m] and rotations (f, n, 4) at all frames that are done."""
        rows = [self.poses(frame) for frame in self.frames_done()]
        return tuple(np.array(part) for part in zip(*rows, strict=True))

    def append_measures(self, row: NDArray[np.float64], number: int) -> None:
        """Keep what was measured of frame `number`, counted from 0; what stood there or behind it goes."""
        path, size = self.folder / MEASURES, row.nbytes
        with open(path, "r+b" if path.exists() else "wb") as file:
            file.truncate(size * number)
            file.seek(size * number)
            file.write(row.astype("<f8").tobytes())
        if path not in self._unsafe:
            self._unsafe.append(path)

    def measures(self) -> NDArray[np.float64]:
        """One row per frame, see `Measures`; a row that a crash cut short is none."""
        values = np.fromfile(self.folder / MEASURES, "<f8")
        return values[: len(values) // len(COLUMNS) * len(COLUMNS)].reshape(-1, len(COLUMNS))

    def _write_array(self, path, array):
        temporary = path.with_name(f".jellycage-{secrets.token_hex(6)}.npy")
        try:
            with open(temporary, "wb") as file:
                np.save(file, array, allow_pickle=False)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.remove(temporary)
            raise
        self._unsafe.append(path)

    def frame(self, frame: int, kind: str = "frame") -> list[NDArray[np.float32]]:
        """Vertices (or, of kind "velocity", velocities) of each body at a frame, shapes (v, 3)."""
        array, path = self._read_array(frame, kind), self.frame_path(frame, kind)
        wanted = (sum(self.facts.vertex_counts), 3), np.float32
        if not isinstance(array, np.ndarray) or (array.shape, array.dtype) != wanted:
            raise CacheError(f"{path}: belongs to another bake; bake again with --force")
        return np.split(array, np.cumsum(self.facts.vertex_counts)[:-1])

    def _read_array(self, frame, kind):
        path = self.frame_path(frame, kind)
        try:
            return np.load(path, allow_pickle=False)
        except FileNotFoundError:
            raise CacheError(
                f"{self.folder}: frame {frame} is missing; continue the bake with --resume"
            ) from None
        except (OSError, ValueError, EOFError) as error:
            raise CacheError(f"{path}: no readable frame; bake again with --force") from error

    def frames_done(self) -> list[int]:
        """Frames that are there, from the first on without a gap."""
        done = []
        for frame in range(self.facts.frames[0], self.facts.frames[1] + 1):
            if not self.frame_path(frame).exists():
                break
            done.append(frame)
        return done

    def write_checkpoint(self, frame: int, state: Arrays) -> None:
        """Make the frames so far safe on disk, then the state to continue from."""
        for path in self._unsafe:
            handle = os.open(path, os.O_RDWR)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        self._unsafe.clear()
        with atomic_file(self.folder / CHECKPOINT) as temporary:
            np.savez(temporary, frame=frame, **state)

    def read_checkpoint(self) -> tuple[int | None, Arrays]:
        """The frame to continue after and the state then; None and nothing if there is no checkpoint."""
        path = self.folder / CHECKPOINT
        if not path.exists():
            return None, {}
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            frame = int(arrays.pop("frame"))
            rows = len(self.measures()) if "time" in arrays else 0
        except Exception as error:  # numpy raises what zipfile, zlib and its own parser raise
            raise CacheError(f"{path}: cannot be read; bake again with --force") from error
        if "time" not in arrays:
            raise CacheError(
                f"{self.folder}: was baked by an earlier version and cannot be continued by this one; "
                "convert still reads its frames, --force bakes it again"
            )
        if rows < frame - self.facts.frames[0] + 1:
            raise CacheError(f"{self.folder}: measures are missing; bake again with --force")
        return frame, arrays


def _single(parts) -> NDArray[np.float32]:
    return np.concatenate([np.asarray(part, np.float32) for part in parts])


def open_cache(folder: str | os.PathLike) -> Cache:
    """The cache in a folder."""
    folder = Path(folder)
    path = folder / FACTS
    if not path.is_file():
        raise CacheError(f"{folder}: no bake is here ({FACTS} is missing); give a bake's folder")
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        if values["version"] != VERSION:
            raise CacheError(f"{folder}: was baked by another version; bake again with --force")
        for name in ("frames", "names", "vertex_counts"):
            values[name] = tuple(values[name])
        facts = Facts(**values)
        first, last = facts.frames
        if not all(isinstance(number, int) for number in (first, last, *facts.vertex_counts)):
            raise TypeError("frames and vertex_counts must be whole numbers")
        if len(facts.vertex_counts) != len(facts.names):
            raise ValueError("names and vertex_counts must be as many")
        meshes = [_read_mesh(folder / f"mesh_{k}.npz", name) for k, name in enumerate(facts.names)]
    except CacheError:
        raise
    except Exception as error:  # whatever a broken file leads to
        raise CacheError(f"{folder}: cannot be read; bake again with --force") from error
    return Cache(folder, facts, meshes)


def make_cache(folder: str | os.PathLike, facts: Facts, meshes: Sequence[ExportMesh]) -> Cache:
    """A new cache in a folder, in place of one that was there; other files there are left alone."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    remove_cache(folder)
    for number, mesh in enumerate(meshes):
        arrays = {
            "vertex_count": mesh.vertex_count,
            "polygon_start": mesh.polygon_start,
            "polygon_vertices": mesh.polygon_vertices,
        }
        if mesh.uv is not None:
            arrays |= {"uv": mesh.uv, "uv_index": mesh.uv_index}
        with atomic_file(folder / f"mesh_{number}.npz") as temporary:
            np.savez(temporary, **arrays)
    with atomic_file(folder / FACTS) as temporary:
        text = json.dumps(dataclasses.asdict(facts), indent=1, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")
    return Cache(folder, facts, meshes)


def remove_cache(folder: str | os.PathLike) -> None:
    """Remove the files of a cache, bake.json first, and nothing else."""
    for pattern in OWN_FILES:
        for path in sorted(Path(folder).glob(pattern)):
            path.unlink()


def _read_mesh(path, name) -> ExportMesh:
    with np.load(path, allow_pickle=False) as arrays:
        optional = {key: arrays[key] for key in ("uv", "uv_index") if key in arrays}
        return ExportMesh(
            name,
            int(arrays["vertex_count"]),
            arrays["polygon_start"],
            arrays["polygon_vertices"],
            **optional,
        )


def all_frames(
    cache: Cache, last: int | None = None
) -> Iterator[tuple[int, list[NDArray[np.float32]]]]:
    """(frame, vertices of each body) of a cache that is complete, or complete up to the frame `last`, in order."""
    for frame in range(
        cache.facts.frames[0], (cache.facts.frames[1] if last is None else last) + 1
    ):
        yield frame, cache.frame(frame)
