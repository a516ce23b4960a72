"""What Blender's scene looks like at a frame, as arrays in metres, Z up.

An object's transform may stretch, shear and mirror. What is handed over is the mesh with all of that applied, and a
rigid motion, so that the simulation never sees a scale.
"""

import bpy
import numpy as np

from . import stack


def unit(scene) -> float:
    """Metres per unit of the scene."""
    return scene.unit_settings.scale_length


def world_matrix(obj) -> np.ndarray:
    """From an object's space to the world, (4, 4), in units of the scene, evaluated."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    return np.array(obj.evaluated_get(depsgraph).matrix_world, dtype=np.float64)


def rigid_part(matrix) -> tuple[np.ndarray, np.ndarray]:
    """(rotation (3, 3), rest (3, 3)) whose product is the linear part of a matrix: the rest stretches and mirrors."""
    linear = matrix[:3, :3]
    # Mirrored always along the object's own X, so that the rotation does not jump from frame to frame.
    mirror = np.diag([-1.0 if np.linalg.det(linear) < 0.0 else 1.0, 1.0, 1.0])
    u, _, vt = np.linalg.svd(linear @ mirror)
    rotation = u @ vt
    return rotation, rotation.T @ linear


def vertices(mesh) -> np.ndarray:
    """Positions in the object's space, (n, 3)."""
    flat = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", flat)
    return flat.reshape(-1, 3).astype(np.float64)


def simulated_vertices(obj) -> np.ndarray:
    """Positions in the object's space after the leading modifiers, (n, 3), within `simulated_part_only`."""
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return vertices(evaluated.data)


def topology(mesh) -> dict[str, np.ndarray]:
    """Polygons and active UVs of a mesh, as an .npz mesh has them."""
    corners = np.empty(len(mesh.loops), np.int32)
    mesh.loops.foreach_get("vertex_index", corners)
    start = np.empty(len(mesh.polygons) + 1, np.int32)
    mesh.polygons.foreach_get("loop_start", start[:-1])
    start[-1] = len(corners)
    found = {"polygon_start": start, "polygon_vertices": corners}
    layer = mesh.uv_layers.active
    if layer is not None and len(corners):
        uv = np.empty(2 * len(corners), np.float32)
        layer.data.foreach_get("uv", uv)
        found["uv"], found["uv_index"] = uv.reshape(-1, 2), np.arange(len(corners))
    return found


def turned_around(faces: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Polygons with their corners the other way round, for a mesh that was mirrored."""
    start = faces["polygon_start"]
    sizes = np.diff(start)
    inside = np.arange(start[-1]) - np.repeat(start[:-1], sizes)
    row = np.repeat(start[1:], sizes) - 1 - inside
    return {
        name: array[row] if name in ("polygon_vertices", "uv_index") else array
        for name, array in faces.items()
    }


def weights(obj, group_name: str) -> np.ndarray:
    """Weights of a vertex group, (n,); 0 where a vertex is not in it."""
    index = obj.vertex_groups[group_name].index
    found = np.zeros(len(obj.data.vertices))
    for vertex in obj.data.vertices:
        for group in vertex.groups:
            if group.group == index:
                found[vertex.index] = group.weight
    return found


def is_animated(obj, seen=None) -> bool:
    """Whether an object, or anything that moves or deforms it, may change in time. Rather once too often."""
    seen = set() if seen is None else seen
    if obj is None or obj in seen:
        return False
    seen.add(obj)
    data = obj.data
    for owner in (obj, data, getattr(data, "shape_keys", None)):
        if owner is not None and _has_animation(owner):
            return True
    if obj.type == "ARMATURE" and any(bone.constraints for bone in obj.pose.bones):
        return True
    if obj.constraints or obj.rigid_body:
        return True
    modifiers = stack.leading_modifiers(obj) if obj.type == "MESH" else ()
    if any(modifier.type in ("WAVE", "MESH_CACHE") for modifier in modifiers):
        return True
    related = [getattr(m, p.identifier) for m in modifiers for p in m.bl_rna.properties]
    related = [other for other in related if isinstance(other, bpy.types.Object)]
    return any(is_animated(other, seen) for other in (obj.parent, *related))


def _has_animation(owner) -> bool:
    data = getattr(owner, "animation_data", None)
    return data is not None and bool(data.action or data.drivers or data.nla_tracks)


def bounding_box(obj) -> tuple[np.ndarray, np.ndarray]:
    """(centre, size) of an object's box in its own space, (3,) each."""
    corners = np.array(obj.bound_box, dtype=np.float64)
    low, high = corners.min(axis=0), corners.max(axis=0)
    return (low + high) / 2.0, high - low
