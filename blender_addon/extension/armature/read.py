"""From an animated armature to a character file: bones at rest, poses frame by frame, the skin.

What is written is what Blender shows: poses come from the evaluated armature, so that constraints, drivers and layers
of animation are in them. Everything is in the world, in metres.
"""

import json
import os
import secrets
from pathlib import Path

import bpy
import numpy as np

from .. import sampling
from ..errors import SetupError

FORMAT, VERSION = "jellycage character", 1
MOST_WEIGHTS = 4
EVEN = 1e-3  # how much the scales of an even transform may differ


def write_character(obj, path, scene, first: int, last: int, *, mesh=None, bones=None) -> None:
    """Write CHARACTER.json, and NAME_skin.npz beside it if a mesh is skinned; each appears whole or not at all."""
    path = Path(path)
    document = character_of(obj, scene, first, last, mesh=mesh, bones=bones)
    skin = document.pop("skin", None)
    if skin is not None:
        document["skin"] = f"{path.stem}_skin.npz"
        _write_whole(path.with_name(document["skin"]), lambda file: np.savez(file, **skin))
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    _write_whole(path, lambda file: file.write(text.encode()))


def character_of(obj, scene, first: int, last: int, *, mesh=None, bones=None) -> dict:
    """A character as its file has it, `skin` as arrays; `last` is the frame of transition.

    mesh: the skinned mesh, or None for all that this armature deforms. bones: names of those to take, or None for
    all; a bone whose parent is left out hangs on the next one above.
    """
    check_armature(obj)
    if first > last:
        raise SetupError(f"The frames {first} to {last} are no range: begin before the transition")
    chosen = chosen_bones(obj, bones)
    world, poses = sampled_poses(obj, scene, range(first, last + 1))
    columns = [at for at, bone in enumerate(obj.data.bones) if bone in chosen]
    rest = rest_matrices(obj)[columns]
    above = nearest_above(chosen)
    unit = sampling.unit(scene)
    matrix = np.diag([unit, unit, unit, 1.0]) @ world[-1]
    heads = (matrix @ rest)[..., :3, 3]
    tails = heads + (matrix @ rest)[..., :3, 1] * [[bone.length] for bone in chosen]
    posed = (np.diag([unit, unit, unit, 1.0]) @ world)[:, None] @ poses[:, columns]
    axes = as_quaternions(turns_of(matrix @ rest, chosen))
    rows = []
    for at, bone in enumerate(chosen):
        row = {"name": bone.name, "head": heads[at].tolist(), "tail": tails[at].tolist()}
        row["rotation"] = axes[at].tolist()
        if above[at] is not None:
            row["parent"] = above[at].name
        locks = list(obj.pose.bones[bone.name].lock_rotation)
        if any(locks):
            row["locked"] = locks
        rows.append(row)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "name": obj.name,
        "fps": scene.render.fps / scene.render.fps_base,
        "frames": [first, last],
        "bones": rows,
        "location": posed[..., :3, 3].tolist(),
        "rotation": steady(as_quaternions(turns_of(posed, chosen))).tolist(),
        "matrix": matrix.tolist(),
    }
    skin = skin_of(obj, scene, last, chosen, mesh)
    return document if skin is None else {**document, "skin": skin}


def check_armature(obj) -> None:
    """Raise SetupError if the poses of an object cannot be read."""
    if obj.type != "ARMATURE":
        raise SetupError(f"{obj.name} is no armature: choose the armature of the character")
    if not obj.data.bones:
        raise SetupError(f"{obj.name} has no bones: add some, or choose another armature")
    if obj.mode == "EDIT":
        raise SetupError(f"{obj.name} is in Edit mode: press Tab")
    if obj.data.pose_position == "REST":
        raise SetupError(f"{obj.name} shows its rest pose: choose Pose Position in its properties")


def check_scale(matrix, name: str) -> None:
    """Raise SetupError if a transform mirrors, flattens or scales unevenly."""
    stretches = np.linalg.svd(matrix[:3, :3], compute_uv=False)
    if not stretches[2] > (1.0 - EVEN) * stretches[0]:
        raise SetupError(f"{name} is scaled unevenly: apply its scale (Ctrl A)")
    if np.linalg.det(matrix[:3, :3]) < 0.0:
        raise SetupError(f"{name} is mirrored by a negative scale: apply its scale (Ctrl A)")


def chosen_bones(obj, names=None) -> list:
    """The bones with these names, parents before children as Blender keeps them; None: all."""
    if names is None:
        return list(obj.data.bones)
    for name in names:
        if name not in obj.data.bones:
            raise SetupError(f"{obj.name} has no bone {name}: choose the armature it belongs to")
    if not names:
        raise SetupError(f"No bone of {obj.name} is chosen: choose at least one")
    wanted = set(names)
    return [bone for bone in obj.data.bones if bone.name in wanted]


def nearest_above(chosen) -> list:
    """For each chosen bone the nearest chosen one above it, or None."""
    names = {bone.name for bone in chosen}
    return [next((b for b in bone.parent_recursive if b.name in names), None) for bone in chosen]


def sampled_poses(obj, scene, frames) -> tuple[np.ndarray, np.ndarray]:
    """World transform (f, 4, 4) and poses of all bones in the armature's space (f, b, 4, 4), as evaluated.

    In units of the scene. The scene is back at its frame afterwards.
    """
    before = scene.frame_current, scene.frame_subframe
    count = len(obj.data.bones)
    world, poses = np.empty((len(frames), 4, 4)), np.empty((len(frames), count, 4, 4))
    flat = np.empty(16 * count, np.float32)
    columns = [obj.pose.bones.find(bone.name) for bone in obj.data.bones]  # may be sorted otherwise
    try:
        for at, frame in enumerate(frames):
            scene.frame_set(frame)
            evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
            world[at] = np.array(evaluated.matrix_world)
            evaluated.pose.bones.foreach_get("matrix", flat)
            poses[at] = flat.reshape(count, 4, 4).transpose(0, 2, 1)[columns]
            check_scale(world[at], obj.name)
    finally:
        scene.frame_set(before[0], subframe=before[1])
    scales = np.cbrt(np.linalg.det(world[:, :3, :3]))
    if np.ptp(scales) > EVEN * scales.max():
        raise SetupError(f"{obj.name} changes its scale in time: remove those keys")
    return world, poses


def rest_matrices(obj) -> np.ndarray:
    """All bones at rest in the armature's space, (b, 4, 4)."""
    flat = np.empty(16 * len(obj.data.bones), np.float32)
    obj.data.bones.foreach_get("matrix_local", flat)
    return flat.reshape(-1, 4, 4).transpose(0, 2, 1).astype(np.float64)


# ---- turns


def turns_of(matrices, bones) -> np.ndarray:
    """The rotations in transforms (..., b, 4, 4) of bones, without their scale: y keeps its direction."""
    linear = matrices[..., :3, :3]
    mirrored = np.argwhere(np.linalg.det(linear) <= 0.0)
    if len(mirrored):
        name = bones[mirrored[0][-1]].name
        raise SetupError(f"Bone {name} is mirrored or has no size: clear its scale (Alt S)")
    y = linear[..., 1] / np.linalg.norm(linear[..., 1], axis=-1, keepdims=True)
    z = np.cross(linear[..., 0], y)
    z /= np.linalg.norm(z, axis=-1, keepdims=True)
    return np.stack([np.cross(y, z), y, z], axis=-1)


def as_quaternions(turns) -> np.ndarray:
    """(w, x, y, z) of rotation matrices (..., 3, 3)."""
    xx, yy, zz = (turns[..., i, i] for i in range(3))
    wx, wy, wz = (turns[..., k, j] - turns[..., j, k] for j, k in ((1, 2), (2, 0), (0, 1)))
    yz, zx, xy = (turns[..., k, j] + turns[..., j, k] for j, k in ((1, 2), (2, 0), (0, 1)))
    rows = [  # each is the quaternion times four of its own components; the largest is the most exact
        [1.0 + xx + yy + zz, wx, wy, wz],
        [wx, 1.0 + xx - yy - zz, xy, zx],
        [wy, xy, 1.0 - xx + yy - zz, yz],
        [wz, zx, yz, 1.0 - xx - yy + zz],
    ]
    rows = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
    best = np.argmax(np.diagonal(rows, axis1=-2, axis2=-1), axis=-1)
    found = np.take_along_axis(rows, best[..., None, None], axis=-2)[..., 0, :]
    return found / np.linalg.norm(found, axis=-1, keepdims=True)


def steady(quaternions) -> np.ndarray:
    """Quaternions (f, ..., 4), each frame on the hemisphere of the one before."""
    signs = np.where(np.sum(quaternions[1:] * quaternions[:-1], axis=-1) < 0.0, -1.0, 1.0)
    signs = np.concatenate([np.ones_like(quaternions[:1, ..., 0]), np.cumprod(signs, axis=0)])
    return quaternions * signs[..., None]


# ---- the skin


def skin_of(obj, scene, frame: int, chosen, mesh=None) -> dict[str, np.ndarray] | None:
    """Vertices at rest in the world, triangles, bones and weights of the meshes that an armature deforms."""
    meshes = [mesh] if mesh is not None else skinned_meshes(obj, scene)
    before = scene.frame_current, scene.frame_subframe
    scene.frame_set(frame)
    try:
        parts = [_skin_part(part, scene, _columns(obj, chosen)) for part in meshes]
    finally:
        scene.frame_set(before[0], subframe=before[1])
    if not parts:
        return None
    sizes = [len(part["vertices"]) for part in parts]
    for part, start in zip(parts, np.cumsum([0, *sizes]), strict=False):
        part["faces"] += start
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def skinned_meshes(obj, scene) -> list:
    """The meshes of a scene that an armature deforms by vertex groups."""
    return [
        other
        for other in scene.objects
        if other.type == "MESH"
        and len(other.data.polygons)
        and any(
            modifier.type == "ARMATURE" and modifier.object == obj and modifier.use_vertex_groups
            for modifier in other.modifiers
        )
    ]


def _columns(obj, chosen):
    """Name of every bone -> index of the chosen bone that carries it."""
    index = {bone.name: at for at, bone in enumerate(chosen)}
    found = {}
    for bone in obj.data.bones:
        carriers = (b.name for b in (bone, *bone.parent_recursive) if b.name in index)
        carrier = next(carriers, None)
        if carrier is not None:
            found[bone.name] = index[carrier]
    return found


def _skin_part(mesh, scene, columns):
    data = mesh.data
    data.calc_loop_triangles()
    faces = np.empty(3 * len(data.loop_triangles), np.int32)
    data.loop_triangles.foreach_get("vertices", faces)
    matrix = sampling.world_matrix(mesh)
    points = (sampling.vertices(data) @ matrix[:3, :3].T + matrix[:3, 3]) * sampling.unit(scene)
    if np.linalg.det(matrix[:3, :3]) < 0.0:
        faces = faces.reshape(-1, 3)[:, ::-1].ravel()
    of_group = {group.index: columns.get(group.name) for group in mesh.vertex_groups}
    bones = np.zeros((len(points), MOST_WEIGHTS), np.int32)
    weights = np.zeros((len(points), MOST_WEIGHTS))
    for at, vertex in enumerate(data.vertices):
        shares = {}
        for group in vertex.groups:
            bone = of_group.get(group.group)
            if bone is not None:
                shares[bone] = shares.get(bone, 0.0) + group.weight
        largest = sorted(shares.items(), key=lambda share: -share[1])[:MOST_WEIGHTS]
        for k, (bone, weight) in enumerate(largest):
            bones[at, k], weights[at, k] = bone, weight
    sums = weights.sum(axis=1, keepdims=True)
    weights /= np.where(sums > 0.0, sums, 1.0)
    return {"vertices": points, "faces": faces.reshape(-1, 3), "bones": bones, "weights": weights}


def _write_whole(path, write):
    """Let `write` write to a file beside the path, and put it there when it is complete."""
    draft = path.with_name(f".jellycage-{secrets.token_hex(6)}{path.suffix}")
    try:
        with open(draft, "wb") as file:
            write(file)
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
