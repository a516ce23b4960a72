"""The modifier stack: which part of it is simulated, and where the result goes.

What is simulated is the mesh after the leading modifiers that only move vertices. The result is a Mesh Cache modifier
right there, so that Subdivision Surface and all others that change topology work on the simulated shape, also where
they have other levels in renders than in the viewport.
"""

from contextlib import contextmanager
from pathlib import Path

import bpy

NAME = "Jellycage"

DEFORMING = {
    *"ARMATURE CAST CURVE DISPLACE HOOK LAPLACIANDEFORM LATTICE MESH_CACHE MESH_DEFORM".split(),
    *"SHRINKWRAP SIMPLE_DEFORM SMOOTH CORRECTIVE_SMOOTH LAPLACIANSMOOTH SURFACE_DEFORM".split(),
    *"WARP WAVE VOLUME_DISPLACE DATA_TRANSFER NORMAL_EDIT WEIGHTED_NORMAL UV_PROJECT".split(),
    *"UV_WARP VERTEX_WEIGHT_EDIT VERTEX_WEIGHT_MIX VERTEX_WEIGHT_PROXIMITY COLLISION".split(),
}
"""Modifiers that leave vertices and faces what they are."""


def result_modifier(obj):
    """Our modifier on an object, or None."""
    return next(
        (m for m in obj.modifiers if m.type == "MESH_CACHE" and m.name.startswith(NAME)), None
    )


def leading_count(obj) -> int:
    """How many modifiers there are before our result, or before the first that changes topology."""
    for at, modifier in enumerate(obj.modifiers):
        if modifier == result_modifier(obj) or modifier.type not in DEFORMING:
            return at
    return len(obj.modifiers)


def leading_modifiers(obj):
    """The modifiers that are part of what is simulated."""
    return obj.modifiers[: leading_count(obj)]


@contextmanager
def simulated_part_only(objects):
    """Within this block the objects evaluate to what is simulated of them."""
    switched = []
    try:
        for obj in objects:
            for modifier in obj.modifiers[leading_count(obj) :]:
                if modifier.show_viewport:
                    modifier.show_viewport = False
                    switched.append(modifier)
        yield
    finally:
        for modifier in switched:
            modifier.show_viewport = True


def attach(obj, path: str, first_frame: int) -> None:
    """Let an object play a point cache that begins at a frame."""
    modifier = result_modifier(obj)
    if modifier is None:
        at = leading_count(obj)
        modifier = obj.modifiers.new(NAME, "MESH_CACHE")
        obj.modifiers.move(len(obj.modifiers) - 1, at)
    modifier.cache_format = "PC2"
    modifier.forward_axis, modifier.up_axis = "POS_Y", "POS_Z"
    modifier.deform_mode, modifier.interpolation = "OVERWRITE", "LINEAR"
    modifier.time_mode, modifier.play_mode = "FRAME", "SCENE"
    modifier.frame_start, modifier.frame_scale = first_frame, 1.0
    modifier.filepath = path


def detach(obj) -> None:
    """Let an object be as it was before it was baked."""
    modifier = result_modifier(obj)
    if modifier is not None:
        obj.modifiers.remove(modifier)


def played_files() -> set[Path]:
    """Absolute paths of all point caches that something in the open .blend plays."""
    return {
        Path(bpy.path.abspath(modifier.filepath)).resolve()
        for obj in bpy.data.objects
        for modifier in obj.modifiers
        if modifier.type == "MESH_CACHE" and modifier.filepath
    }
