"""From poses in the world to the channels of bones: rotation in each bone's own mode, location where it is needed.

Blender's own rule for parents, rotation and scale is used (`Bone.convert_local_to_pose`), each bone relative to its
parent as the parent will really be: simulated, following a simulated bone, or animated as before.
"""

import math
from dataclasses import dataclass, field

import bpy
import numpy as np
from mathutils import Euler, Matrix, Quaternion, Vector

from .. import sampling
from .read import sampled_poses

MOVED = 1e-5  # of a bone's length: less needs no key of its location


@dataclass
class Track:
    """What becomes of one bone's channels, from the frame before the simulation on."""

    pose_bone: bpy.types.PoseBone
    rotation: list = field(default_factory=list)
    """Values of its rotation channels."""
    location: list = field(default_factory=list)
    has_moved: bool = False
    """Whether its location needs keys."""


def tracks_of(obj, scene, frames, targets, chosen, start) -> dict[str, Track]:
    """The channels of the chosen bones in each frame, such that they pose as their targets."""
    before = frames[0] - 1
    world, poses = sampled_poses(obj, scene, range(before, frames[-1] + 1))
    unit = sampling.unit(scene)
    names = {bone.name for bone in chosen}
    tracks = {name: Track(obj.pose.bones[name]) for name in names}
    last = {name: _values(start, tracks[name].pose_bone) for name in names}
    first_rotation = {name: rotation_of(*last[name]) for name in names}
    for at in range(len(frames)):
        to_armature = Matrix(np.linalg.inv(world[at + 1]).tolist())
        turn = to_armature.to_quaternion()
        shown = {}
        for bone, matrix in zip(obj.data.bones, poses[at + 1], strict=True):
            old = Matrix(matrix.tolist())
            if bone.name not in names:
                shown[bone.name] = _followed(bone, old, shown)
                continue
            place, quaternion = (rows[at] for rows in targets[bone.name])
            goal = Matrix.LocRotScale(
                to_armature @ Vector(place / unit),
                turn @ Quaternion(quaternion).normalized(),
                old.to_scale(),
            )
            basis = _converted(bone, goal, shown, invert=True)
            track = tracks[bone.name]
            mode = track.pose_bone.rotation_mode
            rotation = locked(
                basis.to_quaternion(),
                first_rotation[bone.name],
                mode,
                track.pose_bone.lock_rotation,
            )
            values = channel_values(rotation, mode, last[bone.name][1])
            location = _location(bone, basis, track, last[bone.name][2])
            track.rotation.append(values)
            track.location.append(location)
            last[bone.name] = (mode, values, last[bone.name][2])
            kept = Matrix.LocRotScale(Vector(location), rotation_of(mode, values), basis.to_scale())
            shown[bone.name] = (_converted(bone, kept, shown, invert=False), old)
    return tracks


def _followed(bone, old, shown):
    """(pose, old pose) of a bone that keeps its place relative to its parent."""
    if bone.parent is None or shown[bone.parent.name][0] == shown[bone.parent.name][1]:
        return old, old
    new_parent, old_parent = shown[bone.parent.name]
    rest = {"matrix_local": bone.matrix_local, "parent_matrix_local": bone.parent.matrix_local}
    basis = bone.convert_local_to_pose(old, parent_matrix=old_parent, invert=True, **rest)
    return bone.convert_local_to_pose(basis, parent_matrix=new_parent, **rest), old


def _converted(bone, matrix, shown, *, invert):
    """From pose to basis (invert) or back, the parent being where it is shown."""
    if bone.parent is None:
        return bone.convert_local_to_pose(matrix, bone.matrix_local, invert=invert)
    return bone.convert_local_to_pose(
        matrix,
        bone.matrix_local,
        parent_matrix=shown[bone.parent.name][0],
        parent_matrix_local=bone.parent.matrix_local,
        invert=invert,
    )


def _location(bone, basis, track, animated):
    """Location channels of a bone: a connected one has none."""
    if bone.use_connect and bone.parent is not None:
        return (0.0, 0.0, 0.0)
    place = basis.to_translation()
    if (place - Vector(animated)).length > MOVED * max(bone.length, 1e-9):
        track.has_moved = True
    return tuple(place)


def rotation_path(pose_bone) -> str:
    """The property that holds a bone's rotation in its own mode."""
    kinds = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
    return kinds.get(pose_bone.rotation_mode, "rotation_euler")


def rotation_of(mode: str, values, *_) -> Quaternion:
    """The rotation that channels mean."""
    if mode == "QUATERNION":
        return Quaternion(values).normalized()
    if mode == "AXIS_ANGLE":
        axis = Vector(values[1:])
        return Quaternion(axis.normalized() if axis.length else Vector((0, 1, 0)), values[0])
    return Euler(values, mode).to_quaternion()


def channel_values(rotation: Quaternion, mode: str, before) -> tuple:
    """A rotation in the channels of a mode, of all ways to write it the nearest to the values before."""
    if mode == "QUATERNION":
        rotation = rotation.copy()
        if rotation.dot(Quaternion(before)) < 0.0:
            rotation.negate()
        return tuple(rotation)
    if mode != "AXIS_ANGLE":
        return tuple(rotation.to_euler(mode, Euler(before, mode)))
    axis, angle = rotation.to_axis_angle()
    old = Vector(before[1:])
    if abs(angle) < 1e-6:
        return (0.0, *(old if old.length else axis))
    if axis.dot(old) < 0.0:
        axis, angle = -axis, -angle
    return (angle + 2.0 * math.pi * round((before[0] - angle) / (2.0 * math.pi)), *axis)


def locked(rotation: Quaternion, first: Quaternion, mode: str, locks) -> Quaternion:
    """The rotation with its locked Euler angles as they were at first."""
    if not any(locks):
        return rotation
    order = mode if mode not in ("QUATERNION", "AXIS_ANGLE") else "XYZ"
    old = first.to_euler(order)
    new = rotation.to_euler(order, old)
    return Euler(
        [o if lock else n for o, n, lock in zip(old, new, locks, strict=True)], order
    ).to_quaternion()


def channels_at(obj, scene, frame, chosen):
    """{(path, index): value} of rotation and location of the chosen bones at a frame, as animated."""
    now = scene.frame_current, scene.frame_subframe
    scene.frame_set(frame)
    try:
        evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
        found = {}
        for bone in chosen:
            pose_bone = evaluated.pose.bones[bone.name]
            for path in (rotation_path(pose_bone), "location"):
                full = obj.pose.bones[bone.name].path_from_id(path)
                found |= {(full, i): v for i, v in enumerate(getattr(pose_bone, path))}
        return found
    finally:
        scene.frame_set(now[0], subframe=now[1])


def _values(start, pose_bone):
    """(mode, rotation channels, location channels) of a bone at the start."""
    path = rotation_path(pose_bone)
    count = 3 if path == "rotation_euler" else 4
    full, place = pose_bone.path_from_id(path), pose_bone.path_from_id("location")
    rotation = tuple(start[full, i] for i in range(count))
    return pose_bone.rotation_mode, rotation, tuple(start[place, i] for i in range(3))
