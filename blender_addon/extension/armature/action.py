"""From a motion file to a new action on the armature: dense keys for the chosen bones from the first frame of it on.

The action that was there stays as it is and is kept in the .blend. The new one is a copy of it: up to the frame before
the simulation nothing changes, other bones keep their curves, tracks of the NLA editor stay. Constraints that hold a
chosen bone lose their influence when the simulation begins.
"""

from itertools import pairwise

import bpy
import numpy as np

from ..errors import SetupError
from .channels import channels_at, rotation_path, tracks_of
from .read import check_armature, chosen_bones
from .tails import replace_end

FORMAT = "jellycage motion"
CHAINS = ("IK", "SPLINE_IK")
"""Constraints that move the bones above theirs too."""


def load_motion(obj, motion: dict, bones=None, *, first=None, name: str = "", scene=None):
    """Give an armature the motion of a file, as a new action; returns the action.

    bones: names of those to move, or None for all that the motion has. first: the frame of transition, before which
    the animation stays as it is; None: all frames of the motion are loaded. Raises SetupError, in one sentence, if
    that cannot be done, and then nothing has changed.
    """
    scene = scene or bpy.context.scene
    check_armature(obj)
    targets, frames = _targets(motion)
    if first is not None:
        targets, frames = _from(first, targets, frames)
    chosen = chosen_bones(obj, list(targets) if bones is None else bones)
    for bone in chosen:
        if bone.name not in targets:
            raise SetupError(f"The motion has no bone {bone.name}: choose others")
    check_animation(obj, chosen)
    holding = holding_constraints(obj, chosen)
    before = frames[0] - 1
    start = channels_at(obj, scene, before, chosen)
    tracks = tracks_of(obj, scene, frames, targets, chosen, start)
    layers = _layered_values(obj, scene, before, chosen)
    action, holder = new_action(obj, name or f"{obj.name} ragdoll")
    first = min(scene.frame_start, before)
    for bone in chosen:
        track = tracks[bone.name]
        paths = [(rotation_path(track.pose_bone), track.rotation)]
        place = track.pose_bone.path_from_id("location")
        is_free = bone.parent is None or not bone.use_connect
        if is_free and (track.has_moved or layers or _is_keyed(holder, place)):
            paths.append(("location", track.location))
        for path, values in paths:
            for index, column in enumerate(zip(*values, strict=True)):
                key = (track.pose_bone.path_from_id(path), index)
                _replace(holder, key, bone.name, before, column, start, layers, first)
    for constraint in holding:
        key = (constraint.path_from_id("influence"), 0)
        _replace(holder, key, None, before, [0.0], {key: constraint.influence}, {}, first)
        _hold(holder, key, before)
    return action


# ---- what may be loaded


def _from(first, targets, frames):
    """What `_targets` gives, without the frames before the first."""
    if first not in frames:
        raise SetupError(
            f"The motion has no frame {first}: choose one from {frames[0]} to {frames[-1]}"
        )
    at = frames.index(first)
    return {name: tuple(part[at:] for part in parts) for name, parts in targets.items()}, frames[
        at:
    ]


def _targets(motion):
    """({name: (locations (f, 3) [m], quaternions (f, 4))}, frames) of a motion as its file has it."""
    if not isinstance(motion, dict) or motion.get("format") != FORMAT:
        raise SetupError("This is no motion: choose the .json file that the simulation wrote")
    try:
        names, (first, last) = motion["bones"], motion["frames"]
        frames = range(first, last + 1)
        location = np.array(motion["location"], np.float64)
        rotation = np.array(motion["rotation"], np.float64)
    except (KeyError, TypeError, ValueError):  # a key is missing, or rows are of different lengths
        raise SetupError("The motion is incomplete: simulate it again") from None
    shape = (len(frames), len(names))
    if location.shape != (*shape, 3) or rotation.shape != (*shape, 4) or not all(shape):
        raise SetupError("The motion is incomplete: simulate it again")
    if not (np.isfinite(location).all() and np.isfinite(rotation).all()):
        raise SetupError("The motion has numbers that are not finite: simulate it again")
    return {name: (location[:, at], rotation[:, at]) for at, name in enumerate(names)}, frames


def check_animation(obj, chosen) -> None:
    """Raise SetupError if an armature cannot get an action that moves the chosen bones."""
    if obj.library is not None:
        raise SetupError(f"{obj.name} is linked: make a library override of it first")
    animation = obj.animation_data
    if animation is None:
        return
    if animation.use_tweak_mode:
        raise SetupError(f"{obj.name} is in tweak mode of the NLA editor: press Tab there")
    if animation.action_blend_type != "REPLACE" or animation.action_influence != 1.0:
        raise SetupError(
            f"The action of {obj.name} is blended: set it to Replace and 1 in the NLA editor"
        )
    paths = {}
    for bone in chosen:
        pose_bone = obj.pose.bones[bone.name]
        for path in (rotation_path(pose_bone), "location", "rotation_mode"):
            paths[pose_bone.path_from_id(path)] = bone.name
        for constraint in pose_bone.constraints:
            paths[constraint.path_from_id("influence")] = bone.name
    for driver in animation.drivers:
        if driver.data_path in paths and not driver.mute:
            raise SetupError(
                f"Bone {paths[driver.data_path]} is moved by a driver: remove it or leave the bone out"
            )


def holding_constraints(obj, chosen) -> list:
    """The constraints that would move chosen bones away from their keys."""
    names, found = {bone.name for bone in chosen}, []
    for pose_bone in obj.pose.bones:
        for constraint in pose_bone.constraints:
            if constraint.mute:
                continue
            moved = [pose_bone, *_chain(pose_bone, constraint)]
            if any(bone.name in names for bone in moved):
                found.append(constraint)
    return found


def _chain(pose_bone, constraint):
    """The bones above that a constraint moves as well."""
    if constraint.type not in CHAINS:
        return []
    above, count = pose_bone.parent_recursive, constraint.chain_count
    has_own = getattr(constraint, "use_tail", True)  # whether the chain begins with the bone itself
    return above[: count - has_own] if count else above


# ---- actions and curves


def new_action(obj, name: str):
    """A copy of an armature's action, or an empty one, assigned to it; (action, holder of its curves and groups)."""
    animation = obj.animation_data or obj.animation_data_create()
    old = animation.action
    slot = getattr(animation, "action_slot", None)
    has_slots = "slots" in bpy.types.Action.bl_rna.properties
    is_animated = old is not None and (slot is not None or not has_slots)
    if old is not None:
        old.use_fake_user = True
    action = old.copy() if is_animated else bpy.data.actions.new(name)
    action.name = name
    action.use_fake_user = False
    animation.action = action
    if not has_slots:
        return action, action
    if is_animated:
        own = next(own for own in action.slots if own.handle == slot.handle)
    else:
        own = action.slots.new(id_type="OBJECT", name=obj.name)
    animation.action_slot = own
    layer = action.layers[0] if action.layers else action.layers.new("Layer")
    strip = layer.strips[0] if layer.strips else layer.strips.new(type="KEYFRAME")
    return action, strip.channelbag(own, ensure=True)


def _replace(holder, key, group, before, values, start, layers, first):
    """Give a channel its simulated values; up to the frame before, it stays as it is."""
    path, index = key
    curve = holder.fcurves.find(path, index=index)
    if curve is not None and not curve.mute:
        replace_end(curve, before, values, None, first)
        return
    if curve is not None:
        holder.fcurves.remove(curve)
    curve = _new_curve(holder, path, index, group)
    if key in layers:  # tracks of the NLA editor moved it until now
        samples = layers[key]
        replace_end(curve, before - len(samples), [*samples, *values], samples[0], first)
    else:
        replace_end(curve, before, values, start[key], first)


def _is_keyed(holder, path):
    return any(holder.fcurves.find(path, index=index) for index in range(3))


def _new_curve(holder, path, index, group):
    curve = holder.fcurves.new(path, index=index)
    if group is not None:
        curve.group = holder.groups.get(group) or holder.groups.new(group)
    return curve


def _hold(holder, key, frame):
    """Let a curve keep the value it has at a frame until the next."""
    for point, _ in pairwise(holder.fcurves.find(key[0], index=key[1]).keyframe_points):
        if abs(point.co.x - frame) < 0.5:
            point.interpolation = "CONSTANT"


def _layered_values(obj, scene, before, chosen):
    """{(path, index): values from the scene's first frame to the one before} if tracks of the NLA editor may act."""
    animation = obj.animation_data
    if animation is None or not any(
        strip for track in animation.nla_tracks if not track.mute for strip in track.strips
    ):
        return {}
    frames = range(min(scene.frame_start, before), before + 1)
    rows = [channels_at(obj, scene, frame, chosen) for frame in frames]
    return {key: [row[key] for row in rows] for key in rows[0]}
