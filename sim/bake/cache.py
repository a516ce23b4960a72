"""The cache of a bake: a folder that frames are streamed to, and that a bake can be continued from.

    bake.json                what was baked: digest of the shot, frames, names, counts
    mesh_0.npz ...           polygons and UVs of each body
    frame_0001.npy ...       vertices of all bodies one after the other, float32 (v, 3) [m], in the world, Z up
    velocity_0001.npy ...    their velocities [m/s], if asked for
    checkpoint.npz           the state of every body after a frame, and what was measured of the frames up to there;
                             of ragdolls and rigid bodies also where they were at all of them

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

from jellycage.sim.errors import CacheError
from jellycage.sim.export.frames import ExportMesh
from jellycage.sim.soft.state import Grips, State
from jellycage.toolkit.atomic_file import atomic_file

VERSION = 1
FACTS = "bake.json"
CHECKPOINT = "checkpoint.npz"
RIGID = "rigid."  # what the arrays of ragdolls and rigid bodies in a checkpoint begin with
OWN_FILES = (FACTS, CHECKPOINT, "mesh_*.npz", "frame_*.npy", "velocity_*.npy", ".jellycage-*")


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


@dataclass(eq=False)
class Checkpoint:
    """Where a bake can be continued."""

    frame: int
    states: list[State]
    measured: NDArray[np.float64]
    """One row per frame, see `bake.COLUMNS`."""
    rigid: dict[str, NDArray] = dataclasses.field(default_factory=dict)
    """Of ragdolls and rigid bodies: `locations` (f, n, 3) [m] and `rotations` (f, n, 4) at the frames so far, and the
    memory of their world; empty if there are none."""


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
        self._write_array(self.frame_path(frame), positions)
        if self.facts.velocities:
            self._write_array(self.frame_path(frame, "velocity"), velocities)

    def _write_array(self, path, parts):
        array = np.concatenate([np.asarray(part, np.float32) for part in parts])
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
        path = self.frame_path(frame, kind)
        try:
            array = np.load(path, allow_pickle=False)
        except FileNotFoundError:
            raise CacheError(
                f"{self.folder}: frame {frame} is missing; continue the bake with --resume"
            ) from None
        except (OSError, ValueError, EOFError) as error:
            raise CacheError(f"{path}: no readable frame; bake again with --force") from error
        wanted = (sum(self.facts.vertex_counts), 3), np.float32
        if not isinstance(array, np.ndarray) or (array.shape, array.dtype) != wanted:
            raise CacheError(f"{path}: belongs to another bake; bake again with --force")
        return np.split(array, np.cumsum(self.facts.vertex_counts)[:-1])

    def frames_done(self) -> list[int]:
        """Frames that are there, from the first on without a gap."""
        done = []
        for frame in range(self.facts.frames[0], self.facts.frames[1] + 1):
            if not self.frame_path(frame).exists():
                break
            done.append(frame)
        return done

    def write_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Make the frames so far safe on disk, then the state to continue from."""
        for path in self._unsafe:
            handle = os.open(path, os.O_RDWR)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        self._unsafe.clear()
        arrays = {"frame": checkpoint.frame, "measured": checkpoint.measured}
        for number, state in enumerate(checkpoint.states):
            for name, value in _flat(state).items():
                arrays[f"{number}.{name}"] = value
        arrays |= {f"{RIGID}{name}": array for name, array in checkpoint.rigid.items()}
        with atomic_file(self.folder / CHECKPOINT) as temporary:
            np.savez(temporary, **arrays)

    def read_checkpoint(self) -> Checkpoint | None:
        """What to continue from; None if there is none that can be read."""
        path = self.folder / CHECKPOINT
        if not path.exists():
            return None
        try:
            with np.load(path, allow_pickle=False) as arrays:
                states = [
                    _state({name: arrays[f"{number}.{name}"] for name in _STATE_NAMES})
                    for number in range(self._soft_count(arrays))
                ]
                rigid = {
                    name.removeprefix(RIGID): arrays[name]
                    for name in arrays.files
                    if name.startswith(RIGID)
                }
                return Checkpoint(int(arrays["frame"]), states, arrays["measured"], rigid)
        except Exception as error:  # numpy raises what zipfile, zlib and its own parser raise
            raise CacheError(f"{path}: cannot be read; bake again with --force") from error

    def _soft_count(self, arrays) -> int:
        """How many of the bodies a checkpoint has a state of: all, but for ragdolls and rigid bodies."""
        if not any(name.startswith(RIGID) for name in arrays.files):
            return len(self.facts.names)
        return len({name.split(".")[0] for name in arrays.files if name[0].isdigit()})


_STATE_NAMES = (
    *(field.name for field in dataclasses.fields(State) if field.name != "grips"),
    *(f"grips.{field.name}" for field in dataclasses.fields(Grips)),
)


def _flat(state: State) -> dict:
    """A state as arrays and numbers by name."""
    return {
        name: getattr(state.grips, name[6:]) if name.startswith("grips.") else getattr(state, name)
        for name in _STATE_NAMES
    }


def _state(values: dict) -> State:
    """The state of such arrays."""
    grips = Grips(*(values[f"grips.{field.name}"] for field in dataclasses.fields(Grips)))
    plain = {
        name: value if value.ndim else value.item()
        for name, value in values.items()
        if not name.startswith("grips.")
    }
    return State(**plain, grips=grips)


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
        optional = [arrays[key] if key in arrays else None for key in ("uv", "uv_index")]
        return ExportMesh(
            *(name, int(arrays["vertex_count"]), arrays["polygon_start"]),
            *(arrays["polygon_vertices"], *optional),
        )


def all_frames(
    cache: Cache, last: int | None = None
) -> Iterator[tuple[int, list[NDArray[np.float32]]]]:
    """(frame, vertices of each body) of a cache that is complete, or complete up to the frame `last`, in order."""
    for frame in range(
        cache.facts.frames[0], (cache.facts.frames[1] if last is None else last) + 1
    ):
        yield frame, cache.frame(frame)
