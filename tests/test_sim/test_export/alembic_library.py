"""The reference library as a writer and as a reader of animated meshes."""

import alembic3d.Abc as Abc
import alembic3d.AbcGeom as AbcGeom
import imath
import numpy as np
from alembic3d.AbcCoreAbstract import TimeSampling


def library_array(kind, values):
    """An imath array of the kind, filled with the values."""
    result = kind(len(values))
    if kind is imath.UnsignedIntArray:  # the one that is no buffer
        for i, value in enumerate(values):
            result[i] = int(value)
    else:
        np.asarray(memoryview(result))[:] = values
    return result


def numbers(array):
    """The content of an imath array, shape (n,) or (n, k)."""
    return np.array(memoryview(array)) if len(array) else np.zeros(0)


class LibraryMesh:
    """A transform and a mesh below it in an archive that the library writes."""

    def __init__(self, archive, sampling, name, counts, corners, uv=None, uv_index=None):
        transform = AbcGeom.OXform(archive.getTop(), name, Abc.Argument(sampling))
        sample = AbcGeom.XformSample()
        sample.setMatrix(imath.M44d())
        transform.getSchema().set(sample)
        self.schema = AbcGeom.OPolyMesh(
            transform, f"{name}Shape", Abc.Argument(sampling)
        ).getSchema()
        self.corners = library_array(imath.IntArray, corners)
        self.counts = library_array(imath.IntArray, counts)
        self.uv = None
        if uv is not None:
            self.schema.setUVSourceName("UVMap")
            self.uv = AbcGeom.OV2fGeomParamSample(
                library_array(imath.V2fArray, uv),
                library_array(imath.UnsignedIntArray, uv_index),
                AbcGeom.GeometryScope.kFacevaryingScope,
            )

    def push(self, points, velocities=None):
        points = library_array(imath.V3fArray, points)
        if self.schema.getNumSamples() == 0:
            arguments = (points, self.corners, self.counts)
            arguments += () if self.uv is None else (self.uv,)
            sample = AbcGeom.OPolyMeshSchemaSample(*arguments)
        else:
            sample = AbcGeom.OPolyMeshSchemaSample(points)
        if velocities is not None:
            sample.setVelocities(library_array(imath.V3fArray, velocities))
        self.schema.set(sample)


def library_archive(path, fps, first_frame):
    """(archive, number of its time sampling)."""
    archive = Abc.CreateArchiveWithInfo(str(path), fps, "Jellycage", "")
    return archive, archive.addTimeSampling(TimeSampling(1.0 / fps, first_frame / fps))


def read_objects(path):
    """The archive, which must stay alive, and for each transform its name, schema, and the schema of its mesh."""
    archive = Abc.IArchive(str(path))
    top, found = archive.getTop(), []
    for i in range(top.getNumChildren()):
        transform = AbcGeom.IXform(top, top.getChildHeader(i).getName())
        mesh = AbcGeom.IPolyMesh(transform, transform.getChildHeader(0).getName())
        found.append((transform.getName(), transform.getSchema(), mesh.getSchema()))
    return archive, found
