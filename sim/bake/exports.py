"""From a bake's cache to files: the format by the ending of the name."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jellycage.sim.bake.cache import Cache, all_frames
from jellycage.sim.errors import SettingsError
from jellycage.sim.export.frames import safe_names
from jellycage.sim.export.writers import WRITERS
from jellycage.toolkit.atomic_file import check_writable


@dataclass(frozen=True)
class Export:
    """A file to write from a bake, and how."""

    path: Path
    up_axis: str | None = None
    """"Y" or "Z"; None: as readers of the format expect, see `FrameWriter.usual_up_axis`."""
    scale: float = 1.0
    """Units of the file per metre."""
    body: str | None = None
    """Name of the only body to write; None: all."""
    placements: Path | None = None
    """.npy of the transforms from the world to the file's space, shape (1 or frames, 4, 4), for moving objects."""

    @property
    def kind(self) -> str:
        """Ending of the name, a key of WRITERS."""
        kind = self.path.suffix.lower()
        if kind not in WRITERS:
            raise SettingsError(
                f"{self.path}: the ending {kind!r} is not known; use one of {', '.join(WRITERS)}"
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
    facts = cache.facts
    first = facts.frames[0]
    last = facts.frames[1] if last is None else last
    chosen, placements = _chosen(facts.names, export), _placements(export, cache.frame_count)
    writer_class = WRITERS[export.kind].writer
    parts = [(export.path, chosen)]
    if writer_class.holds_one_mesh:
        rows = [slice(row, row + 1) for row in range(chosen.start, chosen.stop)]
        parts = zip(body_paths(export.path, facts.names[chosen]), rows, strict=True)
    written = []
    for path, bodies in parts:
        with writer_class(
            path,
            cache.meshes[bodies],
            fps=facts.fps,
            first_frame=first,
            frame_count=last - first + 1,
            up_axis=export.up_axis,
            scale=export.scale,
        ) as writer:
            _stream(cache, writer, bodies, placements, last, progress)
        written += writer.written_paths
    return written


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


def _stream(cache, writer, bodies, placements, last, progress):
    """Give a writer every frame of some bodies."""
    with_velocities = writer.keeps_velocities and cache.facts.velocities
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
