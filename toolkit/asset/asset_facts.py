"""What is inside an asset, in numbers that JSON can hold."""

from typing import Any

from jellycage.toolkit.asset.asset import Asset
from jellycage.toolkit.collision.surface import ARRAYS, CollisionSurface

PROVENANCE = ("source_face", "source_weights", "vertex_number")
"""Arrays of the collision surface that no query reads."""


def asset_facts(asset: Asset) -> dict[str, Any]:
    """Counts and measures of an asset, its collision surface and its smooth embedding; None for what it lacks."""
    measured = ("resolution", "cell_size", "components", "bounding", "min_dihedral_deg")
    return {
        "element": asset.element,
        "elements": len(asset.elements),
        "nodes": len(asset.cage_nodes),
        "surface_vertices": len(asset.surface_vertices),
        "surface_faces": len(asset.surface_faces),
        **{name: asset.meta.get(name) for name in (*measured, "volume_ratio")},
        "collision": None if asset.collision is None else _collision_facts(asset.collision),
        "smooth": asset.meta.get("smooth"),
    }


def _collision_facts(surface: CollisionSurface) -> dict[str, Any]:
    count = len(surface.triangles)
    size = {name: getattr(surface, name).nbytes / count for name in ARRAYS}
    provenance = sum(size[name] for name in PROVENANCE)
    return {
        "tets": len(surface.tets),
        "patches": len(surface.patch_area),
        "triangles": count,
        "vertices": len(surface.weights),
        "cap_triangles": int((surface.source_face < 0).sum()),
        "bytes_per_triangle": round(sum(size.values()) - provenance, 2),
        "tree_bytes_per_triangle": 4 * (surface.triangles.shape[1] - 6),
        "provenance_bytes_per_triangle": round(provenance, 2),
    }
