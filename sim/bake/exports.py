"""From a bake's cache to files: the format by the ending of the name."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jellycage.sim.bake.cache import Cache, all_frames
from jellycage.sim.errors import SettingsError
from jellycage.sim.export.alembic import AlembicWriter
from jellycage.sim.export.frames import safe_names
from jellycage.sim.export.mdd import MddWriter
from jellycage.sim.export.obj_sequence import ObjSequenceWriter
from jellycage.sim.export.pc2 import Pc2Writer
from jellycage.toolkit.atomic_file import check_writable

FORMATS = {
    ".abc": "Alembic, all bodies in one file",
    ".pc2": "point cache, one file per body",
    ".mdd": "point cache, one file per body",
    ".obj": "a sequence of files, one per frame",
}


@dataclass(frozen=True)
class Export:
    """A file to write from a bake, and how."""

    path: Path
    up_axis: str | None = None
    """"Y" or "Z"; None: Y in Alembic, Z in the others, as their readers expect."""
    scale: float = 1.0
    """Units of the file per metre."""
    body: str | None = None
    """Name of the only body to write; None: all."""
    placements: Path | None = None
    """.npy of the transforms from the world to the file's space, shape (1 or frames, 4, 4), for moving objects."""

    @property
    def kind(self) -> str:
        """Ending of the name, a key of FORMATS."""
        kind = self.path.suffix.lower()
        if kind not in FORMATS:
            raise SettingsError(
                f"{self.path}: the ending {kind!r} is not known; use one of {', '.join(FORMATS)}"
            )
        return kind

    def check(self) -> None:
        """Stop before the work if the file could not be written after it."""
        _ = self.kind
        if self.up_axis not in (None, "Y", "Z"):
            raise SettingsError(f"{self.path}: up_axis must be Y or Z, got {self.up_axis!r}")
        is_number = isinstance(self.scale, int | float) and not isinstance(self.scale, bool)
        if not is_number or not 0.0 < self.scale < float("inf"):
            raise SettingsError(
                f"{self.path}: scale must be a number above 0, units per metre, got {self.scale!r}"
            )
        check_writable(self.path)


def write_export(
    cache: Cache,
    export: Export,
    *,
    last: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[Path]:
    """Write a bake that is finished, or finished up to the frame `last`, to a file, or to one per body or frame.

    Returns what was written.
    """
    facts, kind = cache.facts, export.kind
    if last is None:
        last = facts.frames[1]
    chosen = _chosen(facts.names, export)
    meshes, placements = cache.meshes[chosen], _placements(export, cache.frame_count)
    common = {"fps": facts.fps, "first_frame": facts.frames[0], "scale": export.scale}
    if export.up_axis is not None:
        common["up_axis"] = export.up_axis
    if kind == ".abc":
        with AlembicWriter(export.path, meshes, **common) as writer:
            _stream(cache, writer, chosen, placements, last, progress, facts.velocities)
        return [export.path]
    if kind == ".obj":
        with ObjSequenceWriter(export.path, meshes, **common) as writer:
            _stream(cache, writer, chosen, placements, last, progress)
        return [writer.frame_path(frame) for frame in range(facts.frames[0], last + 1)]
    paths = body_paths(export.path, facts.names[chosen])
    for number, (path, mesh) in enumerate(zip(paths, meshes, strict=True), start=chosen.start):
        if kind == ".pc2":
            writer = Pc2Writer(path, [mesh], **common)
        else:
            writer = MddWriter(path, [mesh], frame_count=last - facts.frames[0] + 1, **common)
        with writer:
            _stream(cache, writer, slice(number, number + 1), placements, last, progress)
    return paths


def body_paths(path: Path, names) -> list[Path]:
    """One path per body: the path itself for one, stem_name.ending for several."""
    if len(names) == 1:
        return [path]
    return [path.with_name(f"{path.stem}_{name}{path.suffix}") for name in safe_names(names)]


def _chosen(names, export):
    """The rows of the bodies to write, as a slice."""
    if export.body is None:
        return slice(0, len(names))
    if export.body not in names:
        raise SettingsError(
            f"{export.path}: no body is called {export.body!r}; there are {', '.join(names)}"
        )
    at = names.index(export.body)
    return slice(at, at + 1)


def _placements(export, frame_count):
    """Transforms from the world to the file's space, one per frame, shape (frames, 4, 4), or None."""
    if export.placements is None:
        return None
    try:
        matrices = np.load(export.placements, allow_pickle=False).astype(np.float64)
        if matrices.shape in ((1, 4, 4), (frame_count, 4, 4)):
            return np.broadcast_to(matrices, (frame_count, 4, 4))
    except (ValueError, TypeError, AttributeError, EOFError):
        pass
    raise SettingsError(
        f"{export.placements}: expected an array of shape (1 or {frame_count}, 4, 4); "
        "save it with numpy.save"
    )


def _stream(cache, writer, bodies, placements, last, progress, with_velocities=False):
    """Give a writer every frame of some bodies."""
    for count, (frame, positions) in enumerate(all_frames(cache, last), start=1):
        positions = positions[bodies]
        velocities = cache.frame(frame, "velocity")[bodies] if with_velocities else None
        if placements is not None:
            turn, shift = placements[count - 1][:3, :3].T, placements[count - 1][:3, 3]
            positions = [x @ turn + shift for x in positions]
            velocities = velocities and [v @ turn for v in velocities]
        writer.write(positions, velocities)
        if progress is not None:
            progress(count / (last - cache.facts.frames[0] + 1))
