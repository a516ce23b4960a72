"""What all exporters share: meshes whose points move while their faces stay, written frame by frame.

    with AlembicWriter("bear.abc", [export_mesh(bear)], fps=24, first_frame=1) as writer:
        for x in frames:
            writer.write([x])

A writer knows everything but the positions from the start and keeps no frame in memory. The file appears under its
name when the block ends without an error; until then, and after an error or Ctrl-C, there is none. Every format stores
single precision, so what is compared after reading back is the position rounded to float32.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.sim.errors import SettingsError
from jellycage.toolkit.arrays import frozen
from jellycage.toolkit.atomic_file import atomic_file
from jellycage.toolkit.mesh.mesh import TriMesh

AXES = {"Z": ((0, 1.0), (1, 1.0), (2, 1.0)), "Y": ((0, 1.0), (2, 1.0), (1, -1.0))}
"""For each way up: our axis, and its sign, that each axis of the file is taken from."""

UNSAFE = dict.fromkeys([*range(32), *map(ord, "/;=\x7f\x85\u2028\u2029")], "_")
"""What ends a line or separates the parts of a path or of metadata, and so cannot stand in a name."""


@dataclass(frozen=True, eq=False)
class ExportMesh:
    """The part of a mesh that no frame changes."""

    name: str
    vertex_count: int
    polygon_start: NDArray[np.int32]
    """CSR rows of the polygons in `polygon_vertices`, shape (p+1,)."""
    polygon_vertices: NDArray[np.int32]
    """Vertex indices of the corners, counter-clockwise seen from outside, shape (c,)."""
    uv: NDArray[np.float64] | None = None
    """Texture coordinates, shape (k, 2)."""
    uv_index: NDArray[np.int32] | None = None
    """Row of `uv` for each corner, shape (c,); -1 where there is none."""

    def __post_init__(self):
        for key in ("polygon_start", "polygon_vertices", "uv_index"):
            if getattr(self, key) is not None:
                object.__setattr__(self, key, frozen(np.array(getattr(self, key), np.int32)))
        if self.uv is not None:
            object.__setattr__(self, "uv", frozen(np.array(self.uv, np.float64)))
        if self.vertex_count < 1:
            raise SettingsError(f"mesh {self.name!r}: has no vertices; leave it out")
        start, corner_count = self.polygon_start, len(self.polygon_vertices)
        if (
            not len(start)
            or start[0] != 0
            or start[-1] != corner_count
            or (np.diff(start) < 3).any()
        ):
            raise SettingsError(
                f"mesh {self.name!r}: polygon_start must rise from 0 to {corner_count} "
                "by three corners or more at a time"
            )
        _check_rows(self.polygon_vertices, 0, self.vertex_count, self.name, "polygon_vertices")
        if (self.uv is None) != (self.uv_index is None):
            raise SettingsError(f"mesh {self.name!r}: uv and uv_index go together; give both")
        if self.uv is not None:
            if self.uv.ndim != 2 or self.uv.shape[1] != 2 or len(self.uv_index) != corner_count:
                raise SettingsError(
                    f"mesh {self.name!r}: expected uv of shape (k, 2) and {corner_count} rows of "
                    f"uv_index, got {self.uv.shape} and {len(self.uv_index)}"
                )
            _check_rows(self.uv_index, -1, len(self.uv), self.name, "uv_index")


def _check_rows(rows, low, high, mesh_name, name):
    if rows.size and (rows.min() < low or rows.max() >= high):
        raise SettingsError(
            f"mesh {mesh_name!r}: {name} must lie in [{low}, {high}), "
            f"got {rows.min()}..{rows.max()}"
        )


def export_mesh(mesh: TriMesh, name: str | None = None) -> ExportMesh:
    """The polygons and UVs of a mesh as they came, under another name if one is given."""
    is_plain = mesh.polygon_start is None
    return ExportMesh(
        mesh.name if name is None else name,
        len(mesh.vertices),
        3 * np.arange(len(mesh.faces) + 1) if is_plain else mesh.polygon_start,
        mesh.faces.ravel() if is_plain else mesh.polygon_vertices,
        mesh.uv,
        mesh.uv_index,
    )


def safe_names(names: Iterable[str]) -> list[str]:
    """The names in order, changed where they are empty, taken already or hold what a file cannot."""
    result = []
    for name in names:
        text = name.encode("utf-8", "replace").decode().translate(UNSAFE).strip() or "mesh"
        unique, number = text, 2
        while unique in result:
            unique, number = f"{text}_{number}", number + 1
        result.append(unique)
    return result


class FrameWriter(ABC):
    """An animation on its way into a file.

    `first_frame` is the number of the first frame that is written; `frame_count` how many there will be, which only
    formats that begin with it need; `up_axis` which axis of the file points up ("Z" as in our own data, or "Y":
    (x, z, -y); None: as readers of the format expect); `scale` file units per metre.
    """

    usual_up_axis = "Z"
    """What readers of the format expect."""
    keeps_velocities = False
    holds_one_mesh = False

    def __init__(
        self,
        path: str | os.PathLike,
        meshes: Sequence[ExportMesh],
        *,
        fps: float = 24.0,
        first_frame: int = 1,
        frame_count: int | None = None,
        up_axis: str | None = None,
        scale: float = 1.0,
    ):
        up_axis = self.usual_up_axis if up_axis is None else up_axis
        if up_axis not in AXES:
            raise SettingsError(f"up_axis: must be 'Y' or 'Z', got {up_axis!r}")
        for name, value in (("fps", fps), ("scale", scale)):
            if not 0.0 < value < np.inf:
                raise SettingsError(f"{name}: must be positive and finite, got {value}")
        if not float(first_frame).is_integer():
            raise SettingsError(f"first_frame: must be a whole number, got {first_frame}")
        meshes = tuple(meshes)
        if not meshes:
            raise SettingsError("meshes: there is none; give at least one")
        if self.holds_one_mesh and len(meshes) > 1:
            raise SettingsError(
                f"meshes: a point cache holds one mesh, got {len(meshes)}; write a file for each"
            )
        self.path = Path(path)
        self.meshes = meshes
        self.names = safe_names(mesh.name for mesh in meshes)
        self.fps = float(fps)
        self.first_frame = int(first_frame)
        self.frame_count = frame_count
        self.up_axis = up_axis
        self.scale = float(scale)
        self.frames_written = 0

    def __enter__(self):
        self._context = self._opened()
        self._context.__enter__()
        return self

    def __exit__(self, *error):
        return self._context.__exit__(*error)

    def write(
        self, positions: Sequence[ArrayLike], velocities: Sequence[ArrayLike] | None = None
    ) -> None:
        """Write the next frame: positions [m] and velocities [m/s], shape (n, 3) for each mesh, Z up.

        Formats that have no place for velocities leave them out.
        """
        points = self._placed(positions, "positions")
        if velocities is not None and self.keeps_velocities:
            velocities = self._placed(velocities, "velocities")
        self._write_frame(points, velocities)
        self.frames_written += 1

    @property
    def written_paths(self) -> list[Path]:
        """The files of what was written so far."""
        return [self.path]

    @abstractmethod
    def _opened(self):
        """A context in which frames can be written."""

    @abstractmethod
    def _write_frame(self, points, velocities):
        """Write one frame: float32 (n, 3) for each mesh, in the axes and units of the file."""

    def _placed(self, vectors, what):
        """The vectors of all meshes in the axes and units of the file, float32."""
        if len(vectors) != len(self.meshes):
            raise SettingsError(
                f"{what}: expected one array for each of {len(self.meshes)} meshes, got {len(vectors)}"
            )
        return [
            self._placed_one(np.asarray(x), mesh, what)
            for x, mesh in zip(vectors, self.meshes, strict=True)
        ]

    def _placed_one(self, x, mesh, what):
        where = f"frame {self.first_frame + self.frames_written}, mesh {mesh.name!r}: {what}"
        if x.shape != (mesh.vertex_count, 3):
            raise SettingsError(
                f"{where} must have the shape ({mesh.vertex_count}, 3), got {x.shape}"
            )
        result = np.empty(x.shape, np.float32)
        with np.errstate(over="ignore"):
            for column, (axis, sign) in enumerate(AXES[self.up_axis]):
                # In double, so that a scale rounds only once, and alike for both input precisions.
                result[:, column] = x[:, axis].astype(float, copy=False) * (sign * self.scale)
        if not np.isfinite(result).all():
            raise SettingsError(
                f"{where} must be finite in single precision; stop before the frame that broke"
            )
        return result


class FileWriter(FrameWriter):
    """A writer of all frames into one file, which appears when the last is in it."""

    @contextmanager
    def _opened(self):
        with atomic_file(self.path) as draft, open(draft, "wb") as self._file:
            self._begin()
            yield
            if not self.frames_written:
                raise SettingsError(f"{self.path}: no frame was written; write at least one")
            self._finish()

    @abstractmethod
    def _begin(self):
        """Write what comes before the first frame."""

    @abstractmethod
    def _finish(self):
        """Write what is known only after the last frame."""
