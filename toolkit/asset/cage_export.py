"""The cage for other programs: .vtk, .vtu and .msh through meshio, the surface as .obj."""

import os
from pathlib import Path

import meshio
import numpy as np

from jellycage.toolkit.asset.asset import Asset
from jellycage.toolkit.atomic_file import atomic_file
from jellycage.toolkit.errors import SettingsError
from jellycage.toolkit.mesh.mesh import TriMesh

CAGE_SUFFIXES = (".vtk", ".vtu", ".msh")
SUFFIXES = (*CAGE_SUFFIXES, ".obj")


def cage_mesh(asset: Asset) -> meshio.Mesh:
    """The cage as meshio knows it, with cage_fill, element_piece and element_cell per element."""
    kind = "tetra" if asset.element == "tet" else "hexahedron"
    data = {name: getattr(asset, name) for name in ("cage_fill", "element_piece", "element_cell")}
    return meshio.Mesh(
        asset.cage_nodes.copy(),
        [(kind, asset.elements.copy())],
        cell_data={name: [array.copy()] for name, array in data.items()},
    )


def check_suffix(path: str | os.PathLike) -> str:
    """The suffix of `path` in small letters, if it is one that can be written."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise SettingsError(
            f"{path}: cannot write {suffix or 'a file without suffix'}; "
            f"use one of {', '.join(SUFFIXES)}"
        )
    return suffix


def write_cage(asset: Asset, path: str | os.PathLike) -> None:
    """Write the cage (.vtk .vtu .msh) or the surface with its polygons and UVs (.obj), whole."""
    suffix = check_suffix(path)
    with atomic_file(path) as temporary:
        if suffix == ".obj":
            _write_surface(asset, temporary)
        else:
            _write_elements(asset, temporary, suffix)


def surface_mesh(asset: Asset) -> TriMesh:
    """The surface as it came: vertices in the order of the file, its own polygons and UVs.

    Vertices that no face of the file used are left out. If a corner of a polygon is not a surface
    vertex any more (repair merged it), the triangles stand in for the polygons.
    """
    order = np.argsort(asset.source_vertex, kind="stable")
    file_rows = asset.source_vertex[order]
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    corners = {"polygon_start": None, "polygon_vertices": None, "uv": None, "uv_index": None}
    if asset.polygon_vertices is None:
        corners.update(uv=asset.uv, uv_index=asset.uv_index)
    elif np.isin(asset.polygon_vertices, file_rows).all():
        rows = np.searchsorted(file_rows, asset.polygon_vertices).astype(np.int32)
        corners = {"polygon_start": asset.polygon_start, "polygon_vertices": rows}
        corners.update(uv=asset.uv, uv_index=asset.uv_index)
    return TriMesh(
        asset.surface_vertices[order],
        rank[asset.surface_faces],
        name=str(asset.meta.get("name", "surface")),
        **corners,
    )


def _write_surface(asset: Asset, path: Path) -> None:
    from jellycage.toolkit.mesh.mesh_io import write_obj

    write_obj(surface_mesh(asset), path)


def _write_elements(asset: Asset, path: Path, suffix: str) -> None:
    # Binary in all three formats, so that every bit comes back.
    file_format = {".vtk": "vtk", ".vtu": "vtu", ".msh": "gmsh"}[suffix]
    meshio.write(path, cage_mesh(asset), file_format=file_format)
