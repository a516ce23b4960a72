"""Cages around surface meshes: read a mesh, build its cage, save, load and convert the asset, ask its surface.

The names are imported when they are first used, so that the command line answers at once.
"""

from importlib import import_module

_HOME = {
    "Asset": "asset.asset",
    "AssetError": "errors",
    "MeshError": "errors",
    "SettingsError": "errors",
    "ToolkitError": "errors",
    "TriMesh": "mesh.mesh",
    "all_hits": "collision.queries",
    "are_inside": "collision.queries",
    "build_cage": "prepare",
    "cage_mesh": "asset.cage_export",
    "cast_rays": "collision.queries",
    "check_cage": "asset.quality",
    "closest_points": "collision.queries",
    "contact_curves": "collision.curves",
    "contact_points": "collision.contacts",
    "contact_regions": "collision.regions",
    "intersecting_pairs": "collision.queries",
    "load_asset": "asset.asset_file",
    "mesh_report": "mesh.repair",
    "parts_of": "mesh.repair",
    "pose": "collision.posed",
    "read_mesh": "mesh.mesh_io",
    "save_asset": "asset.asset_file",
    "to_meshio": "mesh.mesh",
    "to_trimesh": "mesh.mesh",
    "write_cage": "asset.cage_export",
}

__all__ = list(_HOME)


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module 'jellycage.toolkit' has no attribute {name!r}")
    return getattr(import_module(f"jellycage.toolkit.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
