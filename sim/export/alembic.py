"""Alembic: several moving meshes in one .abc file, as the reference library and Blender read it.

    ABC - Bear (transform, constant) - BearShape (mesh: faces and UVs once, points at every frame)

Faces are turned around: Alembic lists corners clockwise seen from outside, we the other way. Time is in seconds, so
that frame = time * fps. No date is written: the same frames give the same bytes.
"""

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.sim.errors import SettingsError
from jellycage.sim.export.digest_kernels import find_bounds
from jellycage.sim.export.frames import AXES, ExportMesh, FileWriter
from jellycage.sim.export.ogawa import Archive, Compound, Object, Samples

POLYMESH = "schema=AbcGeom_PolyMesh_v1;schemaBaseType=AbcGeom_GeomBase_v1"
POLYMESH_OBJECT = f"{POLYMESH};schemaObjTitle=AbcGeom_PolyMesh_v1:.geom"
XFORM = "schema=AbcGeom_Xform_v3"
XFORM_OBJECT = f"{XFORM};schemaObjTitle=AbcGeom_Xform_v3:.xform"
BOX = "interpretation=box"
POINT = "geoScope=vtx;interpretation=point"
VECTOR = "interpretation=vector"
CORNER_UV = (
    "arrayExtent=1;geoScope=fvr;interpretation=vector;isGeomParam=true;"
    "podExtent=2;podName=float32_t;sourceName=UVMap"
)
MATRIX_OP = 0x30
"""The one operation of our transforms: a 4x4 matrix."""


class AlembicWriter(FileWriter):
    """Writes an .abc file.

    `matrices` are constant 4x4 transforms, one for each mesh or None, that take the positions to the world [m]: columns
    are axes, the last column is the place. Velocities are kept if the first frame has them; then all frames must.
    """

    usual_up_axis = "Y"
    keeps_velocities = True

    def __init__(
        self,
        path: str | os.PathLike,
        meshes: Sequence[ExportMesh],
        *,
        matrices: Sequence[ArrayLike | None] | None = None,
        **settings,
    ):
        super().__init__(path, meshes, **settings)
        matrices = [None] * len(self.meshes) if matrices is None else matrices
        if len(matrices) != len(self.meshes):
            raise SettingsError(
                f"matrices: expected one for each of {len(self.meshes)} meshes, got {len(matrices)}"
            )
        self._matrices = [
            np.eye(4) if matrix is None else self._placed_matrix(matrix) for matrix in matrices
        ]

    def _placed_matrix(self, matrix):
        """A transform between vectors in the axes and units of the file."""
        matrix = np.asarray(matrix, np.float64)
        if matrix.shape != (4, 4) or not np.isfinite(matrix).all():
            raise SettingsError(f"matrices: must be finite, of shape (4, 4), got {matrix.shape}")
        if not np.array_equal(matrix[3], [0.0, 0.0, 0.0, 1.0]):
            raise SettingsError(
                "matrices: the last row must be 0 0 0 1; a matrix of row vectors wants .T"
            )
        axes, signs = np.array(AXES[self.up_axis]).T
        rows, signs = [*axes.astype(int), 3], np.append(signs, 1.0)
        result = matrix[np.ix_(rows, rows)] * np.outer(signs, signs)
        result[:3, 3] *= self.scale
        return result

    def _begin(self):
        self._archive = Archive(self._file, self.first_frame / self.fps, 1.0 / self.fps)
        self._bounds = Samples(self._archive, ".childBnds", np.float64, 6, metadata=BOX)
        self._bodies = [
            _Body(self._archive, name, mesh, matrix)
            for name, mesh, matrix in zip(self.names, self.meshes, self._matrices, strict=True)
        ]

    def _write_frame(self, points, velocities):
        has_velocities = self._bodies[0].velocities.count > 0
        if self.frames_written and has_velocities != (velocities is not None):
            raise SettingsError("velocities: give them for every frame, or for none")
        velocities = velocities or [None] * len(points)
        for body, x, v in zip(self._bodies, points, velocities, strict=True):
            body.push(x, v)
        low, high = zip(*(body.world_box() for body in self._bodies), strict=True)
        self._bounds.push([np.min(low, axis=0), np.max(high, axis=0)])

    def _finish(self):
        self._archive.close(
            Object("ABC", "", [self._bounds], [body.scene_object() for body in self._bodies]),
            "_ai_AlembicVersion=Alembic 1.8.12;_ai_Application=Jellycage;"
            f"_ai_DCC_FPS={self.fps:.6f}",
        )


class _Body:
    """One mesh and the transform above it."""

    def __init__(self, archive, name, mesh, matrix):
        self.name = name
        self.matrix = matrix
        self.box = np.empty((2, 3))
        self.transform = transform_properties(archive, matrix)
        self.topology = topology_properties(archive, mesh)
        self.uv = uv_properties(archive, mesh)
        self.points = Samples(archive, "P", np.float32, 3, is_array=True, metadata=POINT)
        self.bounds = Samples(archive, ".selfBnds", np.float64, 6, metadata=BOX)
        self.velocities = Samples(
            archive, ".velocities", np.float32, 3, is_array=True, metadata=VECTOR
        )

    def push(self, points, velocities):
        """Add a frame: float32 (n, 3), and the same or None."""
        if self.points.count:
            for each in self.topology + self.uv:
                each.repeat()
        self.points.push(points)
        find_bounds(points, self.box)
        self.bounds.push(self.box)
        if velocities is not None:
            self.velocities.push(velocities)

    def world_box(self):
        """Low and high corner of the transformed box, each of shape (3,)."""
        # Arvo 1990, "Transforming Axis-Aligned Bounding Boxes": each entry picks the end that reaches farther.
        reach = self.matrix[:3, :3, None] * self.box.T
        place = self.matrix[:3, 3]
        return place + reach.min(axis=2).sum(axis=1), place + reach.max(axis=2).sum(axis=1)

    def scene_object(self):
        """The transform with the mesh as its child."""
        properties = [self.bounds, self.points, *self.topology]
        if self.velocities.count:
            properties.append(self.velocities)
        if self.uv:
            properties.append(Compound("uv", CORNER_UV, self.uv))
        geometry = Compound(".geom", POLYMESH, properties)
        shape = Object(f"{self.name}Shape", POLYMESH_OBJECT, [geometry])
        transform = Compound(".xform", XFORM, self.transform)
        return Object(self.name, XFORM_OBJECT, [transform], [shape])


def transform_properties(archive: Archive, matrix: NDArray[np.float64]) -> list[Samples]:
    """A constant 4x4 matrix as a transform; the file keeps it transposed, for row vectors."""
    ops = Samples(archive, ".ops", np.uint8, is_timeless=True).push([MATRIX_OP])
    properties = [
        Samples(archive, ".inherits", np.bool_).push([True]),
        ops,
        Samples(archive, ".vals", np.float64, 16).push(matrix.T),
    ]
    if not np.array_equal(matrix, np.eye(4)):
        mark = Samples(archive, "isNotConstantIdentity", np.bool_, is_timeless=True)
        properties.append(mark.push([True]))
    return properties


def topology_properties(archive: Archive, mesh: ExportMesh) -> list[Samples]:
    """The faces, turned around."""
    corners = mesh.polygon_vertices[reversed_corners(mesh.polygon_start)]
    sizes = np.diff(mesh.polygon_start)
    return [
        Samples(archive, ".faceIndices", np.int32, is_array=True).push(corners),
        Samples(archive, ".faceCounts", np.int32, is_array=True).push(sizes),
    ]


def uv_properties(archive: Archive, mesh: ExportMesh) -> list[Samples]:
    """Texture coordinates, indexed by the corners of the faces as they are written; none if there are none."""
    if mesh.uv is None:
        return []
    index = mesh.uv_index[reversed_corners(mesh.polygon_start)]
    is_missing = index < 0
    # An index cannot say "none": such corners share one more coordinate, the origin.
    uv = np.vstack([mesh.uv, np.zeros((int(is_missing.any()), 2))])
    index = np.where(is_missing, len(mesh.uv), index)
    values = Samples(archive, ".vals", np.float32, 2, is_array=True, metadata=CORNER_UV)
    return [values.push(uv), Samples(archive, ".indices", np.uint32, is_array=True).push(index)]


def reversed_corners(polygon_start: NDArray[np.int32]) -> NDArray[np.int32]:
    """For each corner the one that takes its place when all polygons are turned around, shape (c,)."""
    sizes = np.diff(polygon_start)
    ends = polygon_start[:-1] + polygon_start[1:] - 1  # of a corner and its substitute, the sum
    return np.repeat(ends, sizes) - np.arange(polygon_start[-1])
