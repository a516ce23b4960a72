"""A mesh as numpy arrays in an .npz file: what a program that has arrays hands over, exact and without a parser.

vertices           (n, 3)  positions [m]
faces              (f, 3)  triangles; or polygon_start (p+1,) and polygon_vertices (c,), CSR polygons
uv, uv_index       (k, 2) and (c,), optional
anything else      (n,)    a number for each vertex, such as painted weights
"""

import io
import zipfile
import zlib

import numpy as np

from jellycage.toolkit.errors import MeshError
from jellycage.toolkit.mesh.mesh import TriMesh, mesh_from_polygons

OWN_NAMES = {"vertices", "faces", "polygon_start", "polygon_vertices", "uv", "uv_index"}


def parsed_npz(data: bytes) -> TriMesh:
    """The mesh in the bytes of an .npz file."""
    arrays = _arrays(data)
    if "cage_nodes" in arrays:
        raise MeshError("an asset, which has its cage already; give it as `asset`, not as `mesh`")
    if "vertices" not in arrays:
        raise MeshError("no array `vertices`; save vertices (n, 3) and faces (f, 3)")
    vertices = arrays["vertices"]
    start, corners = _polygons(arrays)
    attributes = {
        name: np.asarray(array, np.float64)
        for name, array in arrays.items()
        if name not in OWN_NAMES and array.shape == (len(vertices),) and array.dtype.kind in "biuf"
    }
    return mesh_from_polygons(
        vertices,
        start,
        corners,
        uv=arrays.get("uv"),
        uv_index=arrays.get("uv_index"),
        attributes=attributes,
    )


def _arrays(data):
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise MeshError(
            "no readable .npz file; save it again with numpy.savez, without objects"
        ) from error
    except (AttributeError, TypeError):  # numpy.load gives a lone array as it is
        raise MeshError(
            "one array and no .npz file; save vertices and faces with numpy.savez"
        ) from None


def _polygons(arrays):
    if "faces" in arrays:
        faces = arrays["faces"]
        if faces.ndim != 2 or faces.shape[1] < 3:
            raise MeshError(f"faces: expected shape (f, 3), got {faces.shape}")
        return np.arange(len(faces) + 1) * faces.shape[1], faces.ravel()
    if "polygon_start" not in arrays or "polygon_vertices" not in arrays:
        raise MeshError(
            "no array `faces`; save faces (f, 3), or polygon_start and polygon_vertices"
        )
    start, corners = arrays["polygon_start"], arrays["polygon_vertices"]
    is_rising = start.ndim == 1 and start.size and start.dtype.kind in "iu"
    if not is_rising or start[0] != 0 or start[-1] != corners.size or (np.diff(start) < 0).any():
        raise MeshError(f"polygon_start: expected whole numbers rising from 0 to {corners.size}")
    return start, corners
