"""Characters out of Blender and motions into it: what is written is what is shown, and what is loaded is shown again.

Arguments after FOLDER: the checkout, and a Python that can import sim.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import bpy
import numpy as np
from claims import FACTS, FOLDER, addon, assert_one_sentence, claim, new_scene, try_all
from mathutils import Euler, Matrix, Quaternion, Vector

ROOT, PYTHON = Path(sys.argv[2]), sys.argv[3]
WALKER = json.loads((ROOT / "sample_meshes" / "walker.json").read_text(encoding="utf-8"))
FREE = {**WALKER, "bones": [{**row, "locked": [False] * 3} for row in WALKER["bones"]]}
TRANSITION = WALKER["frames"][1]
PLACED = Matrix.LocRotScale(Vector((2.0, -1.0, 0.5)), Euler((0.3, -0.2, 1.9)), Vector((0.4,) * 3))
READ = """
import sys, numpy as np
from jellycage.sim.ragdoll.character_file import read_character
c = read_character(sys.argv[1])
arrays = {n: getattr(c, n) for n in ("location", "rotation", "rest_head", "rest_tail", "rest_rotation", "matrix")}
if c.skin is not None:
    arrays |= {"skin_" + n: getattr(c.skin, n) for n in ("vertices", "faces", "bones", "weights")}
np.savez(sys.argv[2], names=c.names, locked=[b.locked for b in c.bones], scale=c.scale, **arrays)
"""
BVH = """
import sys
from jellycage.sim.export.bvh import write_bvh
from jellycage.sim.ragdoll.character_file import read_character
from jellycage.sim.ragdoll.motion import read_motion
write_bvh(read_character(sys.argv[1]), read_motion(sys.argv[2]), sys.argv[3])
"""


# ---- armatures


def build(character, matrix=None, *, mode="QUATERNION", names=None):
    """An armature with the bones and the animation of a character, its object placed by a matrix."""
    matrix = matrix or Matrix()
    scene = new_scene(character["frames"][1])
    scene.render.fps = 24
    data = bpy.data.armatures.new("Walker")
    obj = bpy.data.objects.new("Walker", data)
    scene.collection.objects.link(obj)
    obj.matrix_world = matrix
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.mode_set(mode="EDIT")
    inverse = matrix.inverted()
    for row in character["bones"]:
        bone = data.edit_bones.new(row["name"])
        bone.head, bone.tail = inverse @ Vector(row["head"]), inverse @ Vector(row["tail"])
        axes = rest_axes(row)
        bone.align_roll(inverse.to_quaternion() @ (axes @ Vector((0.0, 0.0, 1.0))))
        if "parent" in row:
            bone.parent = data.edit_bones[row["parent"]]
    bpy.ops.object.mode_set(mode="OBJECT")
    for row in character["bones"]:
        obj.pose.bones[row["name"]].rotation_mode = mode
        obj.pose.bones[row["name"]].lock_rotation = row.get("locked", (False,) * 3)
    animate(obj, character, inverse)
    return obj


def rest_axes(row):
    """Axes of a bone at rest, by Blender's rule for rolls."""
    if "rotation" in row:
        return Quaternion(row["rotation"])
    y = (Vector(row["tail"]) - Vector(row["head"])).normalized()
    axis = bpy.types.Bone.MatrixFromAxisRoll(y, np.radians(row.get("roll", 0.0)))
    return axis.to_quaternion()


def animate(obj, character, inverse):
    """Keyframe every bone in every frame, from poses by plain matrices."""
    rest = {bone.name: np.array(bone.matrix_local) for bone in obj.data.bones}
    first = character["frames"][0]
    before = {}
    for at, (places, turns) in enumerate(
        zip(character["location"], character["rotation"], strict=True)
    ):
        poses = {}
        for row, place, turn in zip(character["bones"], places, turns, strict=True):
            name, parent = row["name"], row.get("parent")
            where = inverse.to_quaternion() @ Quaternion(turn)
            poses[name] = np.array(Matrix.LocRotScale(inverse @ Vector(place), where, None))
            start = rest[name]
            if parent:
                start = poses[parent] @ np.linalg.inv(rest[parent]) @ rest[name]
            place, turn, _ = Matrix((np.linalg.inv(start) @ poses[name]).tolist()).decompose()
            bone = obj.pose.bones[name]
            bone.location = place
            bone.keyframe_insert("location", frame=first + at)
            before[name] = key_rotation(bone, turn, first + at, before.get(name))


def key_rotation(bone, turn, frame, before):
    """Keyframe a rotation in the bone's mode."""
    if bone.rotation_mode == "QUATERNION":
        if before is not None:
            turn.make_compatible(before)
        bone.rotation_quaternion = before = turn
        bone.keyframe_insert("rotation_quaternion", frame=frame)
    elif bone.rotation_mode == "AXIS_ANGLE":
        axis, angle = turn.to_axis_angle()
        bone.rotation_axis_angle = (angle, *axis)
        bone.keyframe_insert("rotation_axis_angle", frame=frame)
    else:
        before = (
            turn.to_euler(bone.rotation_mode, before)
            if before
            else turn.to_euler(bone.rotation_mode)
        )
        bone.rotation_euler = before
        bone.keyframe_insert("rotation_euler", frame=frame)
    return before


def shown_bones(obj, frame, subframe=0.0):
    """Heads and tails of all bones in the world at a frame, {name: (2, 3)}, and their axes {name: (3, 3)}."""
    bpy.context.scene.frame_set(frame, subframe=subframe)
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    world = evaluated.matrix_world
    ends = {b.name: np.array([world @ b.head, world @ b.tail]) for b in evaluated.pose.bones}
    axes = {
        b.name: np.array((world @ b.matrix).to_quaternion().to_matrix())
        for b in evaluated.pose.bones
    }
    return ends, axes


def all_shown(obj, frames):
    return [shown_bones(obj, frame) for frame in frames]


def assert_same_poses(found, expected, tolerance, names=None):
    for frame, ((ends, axes), (wanted_ends, wanted_axes)) in enumerate(
        zip(found, expected, strict=True)
    ):
        for name in names or wanted_ends:
            apart = np.abs(ends[name] - wanted_ends[name]).max()
            assert apart <= tolerance, f"{name} in frame {frame} of the list: {apart}"
            turn = np.abs(axes[name] - wanted_axes[name]).max()
            assert turn <= max(10 * tolerance, 1e-5), f"axes of {name}, {frame}: {turn}"


# ---- motions


def tumble(obj, first, count, *, bend=1.0, unit=1.0, turn=(0.11, 0.02, 0.04)):
    """A motion from the pose of a frame on: the body turns over and falls while every bone bends."""
    ends, axes = shown_bones(obj, first)
    rng = np.random.default_rng(0)
    bones = list(obj.data.bones)
    bends = {bone.name: Vector(rng.normal(size=3)).normalized() for bone in bones}
    centre = np.mean([pair.mean(axis=0) for pair in ends.values()], axis=0)
    location, rotation = np.empty((count, len(bones), 3)), np.empty((count, len(bones), 4))
    for k in range(count):
        rigid = np.array(Euler([angle * k for angle in turn]).to_matrix())
        turns, heads = {}, {}
        for b, bone in enumerate(bones):
            own = Quaternion(bends[bone.name], 0.02 * bend * k).to_matrix()
            turns[bone.name] = rigid @ np.array(own)
            if bone.parent is None:
                moved = rigid @ (ends[bone.name][0] - centre) + centre
                heads[bone.name] = moved + (0.02 * k, 0.01 * k, -0.004 * k * k)
            else:
                arm = ends[bone.name][0] - ends[bone.parent.name][0]
                heads[bone.name] = heads[bone.parent.name] + turns[bone.parent.name] @ arm
            location[k, b] = heads[bone.name] * unit
            posed = Matrix((turns[bone.name] @ axes[bone.name]).tolist())
            rotation[k, b] = posed.to_quaternion()
    return {
        "format": "jellycage motion",
        "version": 1,
        "fps": 24.0,
        "frames": [first, first + count - 1],
        "bones": [bone.name for bone in bones],
        "location": location.tolist(),
        "rotation": rotation.tolist(),
    }


def poses_of(obj, motion, unit=1.0):
    """What a motion shows, as `all_shown`."""
    scale = obj.matrix_world.to_scale()[0]
    found = []
    for places, turns in zip(motion["location"], motion["rotation"], strict=True):
        ends, axes = {}, {}
        for name, place, turn in zip(motion["bones"], places, turns, strict=True):
            axes[name] = np.array(Quaternion(turn).to_matrix())
            head = np.array(place) / unit
            ends[name] = np.array(
                [head, head + axes[name][:, 1] * obj.data.bones[name].length * scale]
            )
        found.append((ends, axes))
    return found


def frames_of(motion):
    return range(motion["frames"][0], motion["frames"][1] + 1)


def curves_of(action):
    """{(path, index): [(frame, value), ...]} of all curves of an action."""
    curves = getattr(action, "fcurves", None)
    if curves is None:
        curves = [c for bag in action.layers[0].strips[0].channelbags for c in bag.fcurves]
    return {(c.data_path, c.array_index): [tuple(p.co) for p in c.keyframe_points] for c in curves}


def load_and_check(obj, motion, *, tolerance=1e-4, names=None, first=1, unit=1.0, between=2e-5):
    """Load a motion, and see that nothing changes before it and that it is shown."""
    old = obj.animation_data.action if obj.animation_data else None
    keys = curves_of(old) if old else None
    frames = range(first, motion["frames"][0])
    before = all_shown(obj, frames)
    halves = [shown_bones(obj, frame, 0.5) for frame in frames[:-1]]
    now = bpy.context.scene.frame_current
    action = addon("armature.action").load_motion(obj, motion, names)
    assert bpy.context.scene.frame_current == now
    assert obj.animation_data.action == action and action != old
    assert_same_poses(all_shown(obj, frames), before, 1e-6)
    if between is not None:
        assert_same_poses([shown_bones(obj, frame, 0.5) for frame in frames[:-1]], halves, between)
    assert_same_poses(
        all_shown(obj, frames_of(motion)), poses_of(obj, motion, unit), tolerance, names
    )
    if old:
        assert curves_of(old) == keys and old.use_fake_user
    return action


# ---- out of Blender


def read_back(path):
    """What sim reads from a character file."""
    out = path.with_suffix(".npz")
    done = subprocess.run([PYTHON, "-c", READ, path, out], cwd=ROOT, capture_output=True, text=True)
    assert not done.returncode, done.stderr[-800:]
    return np.load(out)


def assert_written_as_shown(obj, path, first=1, last=TRANSITION, unit=1.0, **options):
    addon("armature.read").write_character(obj, path, bpy.context.scene, first, last, **options)
    found = read_back(path)
    names = list(found["names"])
    scale = obj.matrix_world.to_scale()[0] * unit
    lengths = np.array([obj.data.bones[name].length * scale for name in names])
    np.testing.assert_allclose(
        np.linalg.norm(found["rest_tail"] - found["rest_head"], axis=1), lengths, rtol=1e-5
    )
    for at, (ends, axes) in enumerate(all_shown(obj, range(first, last + 1))):
        for b, name in enumerate(names):
            turn = np.array(Quaternion(found["rotation"][at, b]).to_matrix())
            np.testing.assert_allclose(found["location"][at, b], ends[name][0] * unit, atol=1e-5)
            np.testing.assert_allclose(turn, axes[name], atol=1e-5)
            tail = found["location"][at, b] + turn[:, 1] * lengths[b]
            np.testing.assert_allclose(tail, ends[name][1] * unit, atol=1e-5)
    return found


def walker_heads(names):
    """Heads of the walker's bones in the order of names, (f, b, 3)."""
    order = [row["name"] for row in WALKER["bones"]]
    return np.array(WALKER["location"])[:, [order.index(name) for name in names]]


@claim
def a_character_reads_back_as_blender_shows_it():
    obj = build(WALKER)
    bpy.context.scene.frame_set(17)
    found = assert_written_as_shown(obj, FOLDER / "plain.json")
    assert bpy.context.scene.frame_current == TRANSITION  # as all_shown left it
    np.testing.assert_allclose(found["location"], walker_heads(found["names"]), atol=1e-5)
    locked = {row["name"]: row.get("locked", [False] * 3) for row in WALKER["bones"]}
    assert {
        n: list(lock) for n, lock in zip(found["names"], found["locked"], strict=True)
    } == locked
    for b, name in enumerate(found["names"]):
        row = next(row for row in WALKER["bones"] if row["name"] == name)
        np.testing.assert_allclose(found["rest_head"][b], row["head"], atol=1e-6)
        axes = np.array(Quaternion(found["rest_rotation"][b]).to_matrix())
        np.testing.assert_allclose(axes, np.array(rest_axes(row).to_matrix()), atol=2e-5)


@claim
def the_scene_is_back_at_its_frame_after_writing():
    obj = build(WALKER)
    bpy.context.scene.frame_set(17, subframe=0.25)
    addon("armature.read").write_character(obj, FOLDER / "back.json", bpy.context.scene, 1, 5)
    assert (bpy.context.scene.frame_current, bpy.context.scene.frame_subframe) == (17, 0.25)


@claim
def a_moved_turned_and_scaled_armature_is_written_where_it_is():
    obj = build(WALKER, PLACED)
    found = assert_written_as_shown(obj, FOLDER / "placed.json")
    np.testing.assert_allclose(found["location"], walker_heads(found["names"]), atol=1e-5)
    np.testing.assert_allclose(found["matrix"], np.array(PLACED), atol=1e-6)
    assert abs(found["scale"] - 0.4) < 1e-6


@claim
def constraints_and_units_are_in_what_is_written():
    obj = build(WALKER)
    target = bpy.data.objects.new("Target", None)
    bpy.context.scene.collection.objects.link(target)
    target.location = (0.3, -0.6, 1.0)
    constraint = obj.pose.bones["hand.L"].constraints.new("IK")
    constraint.target, constraint.chain_count = target, 3
    obj.pose.bones["head"].constraints.new("TRACK_TO").target = target
    bpy.context.scene.unit_settings.scale_length = 0.01
    assert_written_as_shown(obj, FOLDER / "constrained.json", unit=0.01)


@claim
def a_skin_is_written_with_its_weights():
    obj = build(WALKER, PLACED)
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=4, y_subdivisions=5, location=(0.1, 0.2, 0.3))
    mesh = bpy.context.active_object
    rng = np.random.default_rng(1)
    names = [row["name"] for row in WALKER["bones"]]
    weights = rng.random((len(mesh.data.vertices), len(names))) ** 4
    for b, name in enumerate(names):
        group = mesh.vertex_groups.new(name=name)
        for v, row in enumerate(weights):
            group.add([v], row[b], "REPLACE")
    mesh.vertex_groups.new(name="not a bone").add([0], 1.0, "REPLACE")
    mesh.modifiers.new("Armature", "ARMATURE").object = obj
    mesh.parent = obj
    found = assert_written_as_shown(obj, FOLDER / "skinned.json")
    world = [mesh.matrix_world @ v.co for v in mesh.data.vertices]
    np.testing.assert_allclose(found["skin_vertices"], world, atol=1e-5)
    assert len(found["skin_faces"]) == 2 * len(mesh.data.polygons)
    for v, row in enumerate(weights):
        best = sorted(range(len(names)), key=lambda b: -row[b])[:4]
        named = [names.index(found["names"][b]) for b in found["skin_bones"][v]]
        assert named == best
        np.testing.assert_allclose(found["skin_weights"][v], row[best] / row[best].sum(), atol=1e-5)


@claim
def mirrored_and_uneven_armatures_are_refused_in_one_sentence():
    for scale in ((-1.0, 1.0, 1.0), (1.0, 1.0, 2.0), (0.0, 0.0, 0.0), (-1.0, -1.0, -1.0)):
        obj = build(WALKER)
        motion = tumble(obj, TRANSITION, 3)
        obj.scale = scale
        bpy.context.view_layer.update()
        actions = len(bpy.data.actions)
        for act in (
            lambda obj=obj: addon("armature.read").character_of(obj, bpy.context.scene, 1, 3),
            lambda obj=obj, motion=motion: addon("armature.action").load_motion(obj, motion),
        ):
            assert "scale" in refusal(act)
        assert len(bpy.data.actions) == actions


def refusal(act):
    """The sentence with which something is refused."""
    try:
        act()
    except addon("errors").SetupError as error:
        assert_one_sentence(str(error))
        return str(error)
    raise AssertionError("it was not refused")


@claim
def what_cannot_be_read_or_loaded_is_refused_in_one_sentence():
    obj = build(WALKER)
    scene, load = bpy.context.scene, addon("armature.action").load_motion
    character_of = addon("armature.read").character_of
    motion = tumble(obj, TRANSITION, 3)
    cube = bpy.data.objects.new("Cube", None)
    empty = bpy.data.objects.new("Empty", bpy.data.armatures.new("Empty"))
    assert "no armature" in refusal(lambda: character_of(cube, scene, 1, 3))
    assert "no bones" in refusal(lambda: character_of(empty, scene, 1, 3))
    assert "no range" in refusal(lambda: character_of(obj, scene, 3, 1))
    assert "no bone tail" in refusal(lambda: character_of(obj, scene, 1, 3, bones=["tail"]))
    assert "no motion" in refusal(lambda: load(obj, {"format": "jellycage character"}))
    assert "no bone tail" in refusal(lambda: load(obj, motion, ["tail"]))
    for change in ({"frames": [1, 99]}, {"frames": 3}, {"location": [[1.0], [1.0, 2.0]]}):
        assert "incomplete" in refusal(lambda change=change: load(obj, {**motion, **change}))
    less = {key: value for key, value in motion.items() if key != "rotation"}
    assert "incomplete" in refusal(lambda: load(obj, less))
    broken = json.loads(json.dumps(motion))
    broken["location"][1][2][0] = float("nan")
    assert "finite" in refusal(lambda: load(obj, broken))
    other = {**motion, "bones": [*motion["bones"][:-1], "someone else's"]}
    assert "someone else's" in refusal(lambda: load(obj, other))
    obj.animation_data.action_influence = 0.5
    assert "blended" in refusal(lambda: load(obj, motion))
    obj.animation_data.action_influence = 1.0
    obj.pose.bones["head"].driver_add("rotation_quaternion", 1)
    assert "driver" in refusal(lambda: load(obj, motion))
    obj.data.pose_position = "REST"
    assert "rest pose" in refusal(lambda: character_of(obj, scene, 1, 3))


# ---- into Blender


@claim
def a_motion_is_shown_and_what_was_before_it_stays():
    obj = build(FREE)
    motion = tumble(obj, TRANSITION, 30)
    bpy.context.scene.frame_set(12)
    load_and_check(obj, motion)


@claim
def a_motion_is_shown_by_an_armature_that_is_moved_turned_and_scaled():
    obj = build(FREE, PLACED)
    load_and_check(obj, tumble(obj, TRANSITION, 30))


@claim
def every_rotation_mode_shows_the_motion():
    for mode in ("XYZ", "ZXY", "YZX", "AXIS_ANGLE"):
        obj = build(FREE, mode=mode)
        load_and_check(obj, tumble(obj, TRANSITION, 30))


@claim
def nothing_jumps_where_the_simulation_begins():
    parts, first = [part / 8.0 for part in range(8)], TRANSITION - 10
    for mode in ("QUATERNION", "XYZ", "AXIS_ANGLE"):
        obj = build(FREE, mode=mode)
        walked = [shown_bones(obj, first - 1, part) for part in parts]
        addon("armature.action").load_motion(obj, tumble(obj, first, 10))
        found = [shown_bones(obj, first - 1, part) for part in parts]
        assert_same_poses(found[:1], walked[:1], 1e-6)
        assert_same_poses(found, walked, 5e-3)


@claim
def between_simulated_frames_nothing_flips():
    for mode in ("QUATERNION", "XYZ", "AXIS_ANGLE"):
        obj = build(FREE, mode=mode)
        motion = tumble(obj, TRANSITION, 60, bend=0.2, turn=(0.11, 0.0, 0.0))  # a whole turn
        addon("armature.action").load_motion(obj, motion)
        shown = all_shown(obj, frames_of(motion))
        for at, frame in enumerate(frames_of(motion)[:-1]):
            halfway, _ = shown_bones(obj, frame, 0.5)
            for name in ("hips", "spine", "shin.L", "hand.R"):
                middle = (shown[at][0][name] + shown[at + 1][0][name]) / 2.0
                assert np.abs(halfway[name] - middle).max() < 0.03, (mode, frame, name)


@claim
def locked_axes_keep_their_value():
    obj = build(WALKER)
    motion = tumble(obj, TRANSITION, 20)
    locked = {r["name"] for r in WALKER["bones"] if any(r.get("locked", ()))}
    assert len(locked) == 6
    addon("armature.action").load_motion(obj, motion)
    bent = 0.0
    for frame in frames_of(motion):
        bpy.context.scene.frame_set(frame)
        for name in locked:
            angles = obj.pose.bones[name].rotation_quaternion.to_euler("XYZ")
            assert max(abs(angles.y), abs(angles.z)) < 1e-4, (name, angles)
            bent = max(bent, abs(angles.x))
    assert bent > 0.3
    # What hangs on a locked bone still points where the motion says.
    shown, wanted = all_shown(obj, frames_of(motion)), poses_of(obj, motion)
    for (_, axes), (_, expected) in zip(shown, wanted, strict=True):
        np.testing.assert_allclose(axes["hand.L"], expected["hand.L"], atol=1e-3)


@claim
def only_chosen_bones_change():
    obj = build(FREE, PLACED)
    chosen = ["spine", "spine.002", "upper_arm.L", "hand.L", "shin.R"]
    motion = tumble(obj, TRANSITION, 20)
    old = obj.animation_data.action
    action = addon("armature.action").load_motion(obj, motion, chosen)
    before, after = curves_of(old), curves_of(action)
    named = tuple(f'pose.bones["{name}"]' for name in chosen)
    for key, keys in after.items():
        if not key[0].startswith(named):
            assert keys == before[key], key
    assert any(after[key] != before[key] for key in before)
    shown, wanted = all_shown(obj, frames_of(motion)), poses_of(obj, motion)
    assert_same_poses(shown, wanted, 1e-4, chosen)
    for at, frame in enumerate(frames_of(motion)):
        ends, _ = shown[at]
        bpy.context.scene.frame_set(frame)
        assert np.abs(ends["hips"] - wanted[at][0]["hips"]).max() > 1e-4 or at == 0


@claim
def bones_that_were_not_animated_stay_where_they_were_before():
    obj = build(
        {
            **FREE,
            "frames": [1, 1],
            "location": FREE["location"][:1],
            "rotation": FREE["rotation"][:1],
        }
    )
    obj.animation_data_clear()
    motion = tumble(obj, 20, 10)
    action = load_and_check(obj, motion)
    # Bones that keep their place relative to their parent need no keys of it.
    places = {path for path, _ in curves_of(action) if path.endswith("location")}
    assert places == {'pose.bones["hips"].location'}, places


@claim
def sparse_keys_are_kept_up_to_the_simulation_between_frames_too():
    obj = sparsely_animated(("BEZIER", "LINEAR", "CONSTANT", "BEZIER"))
    load_and_check(obj, tumble(obj, 33, 12))
    obj = sparsely_animated(("BEZIER", "LINEAR", "CONSTANT", "BEZIER"))
    load_and_check(obj, tumble(obj, 41, 12))
    obj = sparsely_animated(("BEZIER", "LINEAR", "CONSTANT", "BEZIER"))
    load_and_check(obj, tumble(obj, 75, 12))


@claim
def easings_cycles_and_straight_ends_are_kept_in_every_frame():
    obj = sparsely_animated(("SINE", "BOUNCE", "CYCLES", "EXTRAPOLATED", "BEZIER"))
    load_and_check(obj, tumble(obj, 33, 12), between=None)


def sparsely_animated(kinds):
    """The walker with a few keys for its first bones, interpolated in a way each."""
    obj = build(FREE, mode="XYZ")
    names = [bone.name for bone in obj.data.bones]
    obj.animation_data_clear()
    rng = np.random.default_rng(3)
    for name, kind in zip(names, kinds, strict=False):
        bone = obj.pose.bones[name]
        for frame in (1, 9, 17, 40, 70):
            bone.rotation_euler = rng.normal(scale=0.6, size=3)
            bone.keyframe_insert("rotation_euler", frame=frame)
        shape_curves(obj, bone, kind)
    return obj


def shape_curves(obj, bone, kind):
    """Give the curves of a bone an interpolation, or cycles, or an end that goes on straight."""
    action = obj.animation_data.action
    curves = getattr(action, "fcurves", None) or action.layers[0].strips[0].channelbags[0].fcurves
    for curve in curves:
        if curve.data_path != bone.path_from_id("rotation_euler"):
            continue
        if kind == "CYCLES":
            curve.keyframe_points.remove(curve.keyframe_points[-1])
            curve.keyframe_points.remove(curve.keyframe_points[-1])
            curve.modifiers.new("CYCLES")
        elif kind == "EXTRAPOLATED":
            curve.extrapolation = "LINEAR"
        else:
            for point in curve.keyframe_points:
                point.interpolation = kind
        curve.update()


@claim
def tracks_of_the_nla_editor_are_kept():
    obj = build(FREE)
    animation = obj.animation_data
    walk = animation.action
    track = animation.nla_tracks.new()
    strip = track.strips.new("walk", 1, walk)
    if getattr(animation, "action_slot", None) is not None:
        strip.action_slot = animation.action_slot
    animation.action = None
    motion = tumble(obj, TRANSITION, 12)
    load_and_check(obj, motion, between=0.02)
    assert len(animation.nla_tracks) == 1 and animation.nla_tracks[0].strips[0].action == walk
    assert not animation.nla_tracks[0].mute


@claim
def constraints_let_go_when_the_simulation_begins():
    obj = build(FREE)
    target = bpy.data.objects.new("Target", None)
    bpy.context.scene.collection.objects.link(target)
    target.location = (0.5, -0.6, 1.0)
    constraint = obj.pose.bones["forearm.L"].constraints.new("IK")
    constraint.target, constraint.chain_count = target, 2
    obj.pose.bones["head"].constraints.new("TRACK_TO").target = target
    load_and_check(obj, tumble(obj, TRANSITION, 12))


@claim
def an_object_that_goes_on_moving_shows_the_motion_in_the_world():
    obj = build(FREE)
    for frame, place in ((1, 0.0), (TRANSITION + 15, 3.0)):
        obj.location.x = place
        obj.rotation_euler.z = place
        obj.keyframe_insert("location", frame=frame)
        obj.keyframe_insert("rotation_euler", frame=frame)
    motion = tumble(obj, TRANSITION, 12)
    load_and_check(obj, motion)


@claim
def bones_that_do_not_inherit_still_show_the_motion():
    obj = build(FREE)
    bones = obj.data.bones
    bones["head"].use_inherit_rotation = False
    bones["hand.L"].inherit_scale = "NONE"
    bones["shin.L"].use_local_location = False
    bones["spine.001"].use_inherit_rotation = False
    load_and_check(obj, tumble(obj, TRANSITION, 12))


@claim
def scaled_bones_keep_their_scale_and_show_the_motion():
    obj = build(FREE)
    obj.pose.bones["hips"].scale = (1.3, 1.3, 1.3)
    obj.pose.bones["head"].scale = (0.5, 0.5, 0.5)
    motion = tumble(obj, TRANSITION, 12)
    addon("armature.action").load_motion(obj, motion)
    for (ends, axes), (wanted, turns) in zip(
        all_shown(obj, frames_of(motion)), poses_of(obj, motion), strict=True
    ):
        for name in wanted:
            np.testing.assert_allclose(ends[name][0], wanted[name][0], atol=1e-4)
            np.testing.assert_allclose(axes[name], turns[name], atol=1e-4)
    assert tuple(obj.pose.bones["hips"].scale) == (np.float32(1.3),) * 3


@claim
def a_chain_that_only_passes_above_the_chosen_bones_goes_on():
    obj = build(FREE)
    target = bpy.data.objects.new("Target", None)
    bpy.context.scene.collection.objects.link(target)
    target.location = (0.5, -0.6, 1.0)
    constraint = obj.pose.bones["forearm.L"].constraints.new("IK")
    constraint.target, constraint.chain_count = target, 2
    motion = tumble(obj, TRANSITION, 8)
    addon("armature.action").load_motion(obj, motion, ["shoulder.L"])
    bpy.context.scene.frame_set(TRANSITION + 4)
    assert constraint.influence == 1.0
    addon("armature.action").load_motion(obj, motion, ["upper_arm.L"])
    bpy.context.scene.frame_set(TRANSITION - 1)
    assert constraint.influence == 1.0
    bpy.context.scene.frame_set(TRANSITION)
    assert constraint.influence == 0.0


@claim
def connected_bones_and_scenes_in_centimetres_show_the_motion():
    obj = build(FREE, Matrix.Scale(100.0, 4))
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in obj.data.edit_bones:
        if bone.parent and (bone.parent.tail - bone.head).length < 1e-6:
            bone.use_connect = True
    assert sum(bone.use_connect for bone in obj.data.edit_bones) > 12
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.scene.unit_settings.scale_length = 0.01
    load_and_check(obj, tumble(obj, TRANSITION, 12, unit=0.01), tolerance=2e-3, unit=0.01)


@claim
def names_in_japanese_with_quotes_and_emoji_survive():
    new = ["\u80cc\u9aa8", 'the "left" arm', "\U0001f9b4.001", "a\\b", "it's", "\u8173 L"]
    old = [row["name"] for row in FREE["bones"][: len(new)]]
    renamed = dict(zip(old, new, strict=True))
    rows = [
        {k: renamed.get(v, v) if k in ("name", "parent") else v for k, v in row.items()}
        for row in FREE["bones"]
    ]
    obj = build({**FREE, "bones": rows})
    found = assert_written_as_shown(obj, FOLDER / "\u540d\u524d.json")
    assert set(new) <= set(found["names"])
    load_and_check(obj, tumble(obj, TRANSITION, 8))


@claim
def a_chain_of_300_bones_is_written_and_shown():
    count, last = 300, 20
    heads = np.column_stack([0.1 * np.arange(count + 1), np.zeros((count + 1, 2))])
    rows = [
        {"name": f"b{at}", "head": heads[at].tolist(), "tail": heads[at + 1].tolist(), "roll": 0.0}
        | ({"parent": f"b{at - 1}"} if at else {})
        for at in range(count)
    ]
    turn = tuple(rest_axes(rows[0]))
    snake = {
        "frames": [1, last],
        "bones": rows,
        "location": [heads[:-1].tolist()] * last,
        "rotation": [[turn] * count] * last,
    }
    obj = build(snake)
    began = time.perf_counter()
    assert_written_as_shown(obj, FOLDER / "snake.json", 1, last)
    FACTS["seconds to write and check 300 bones x 20 frames"] = round(
        time.perf_counter() - began, 2
    )
    motion = tumble(obj, last, 20, bend=0.1)
    began = time.perf_counter()
    addon("armature.action").load_motion(obj, motion)
    FACTS["seconds to load 300 bones x 20 frames"] = round(time.perf_counter() - began, 2)
    assert_same_poses(all_shown(obj, frames_of(motion)), poses_of(obj, motion), 1e-4)


@claim
def a_second_motion_replaces_the_end_of_the_first():
    obj = build(FREE)
    addon("armature.action").load_motion(obj, tumble(obj, TRANSITION, 30), name="first")
    action = load_and_check(obj, tumble(obj, TRANSITION + 10, 12))
    assert action.name == "Walker ragdoll" and "first" in bpy.data.actions


# ---- BVH


@claim
def an_imported_bvh_file_shows_the_motion():
    obj = build(FREE, PLACED)
    motion = tumble(obj, TRANSITION, 25)
    assert_bvh_is_shown(obj, motion, "tumble")


@claim
def an_imported_bvh_file_shows_loose_bones_and_several_roots():
    rows = [
        {"name": "one", "head": [0.0, 0.0, 1.0], "tail": [0.0, 0.3, 1.2]},
        {"name": "on one", "parent": "one", "head": [0.0, 0.6, 1.4], "tail": [0.2, 0.6, 1.4]},
        {"name": "two", "head": [1.0, 0.0, 1.0], "tail": [1.0, 0.0, 2.0]},
        {"name": "on two", "parent": "two", "head": [1.0, 0.0, 3.0], "tail": [1.0, 0.0, 4.0]},
        {"name": "twice on two", "parent": "two", "head": [1.3, 0.0, 1.5], "tail": [1.3, 0.4, 1.5]},
    ]
    place = [[row["head"] for row in rows]] * 3
    turn = [[list(rest_axes(row)) for row in rows]] * 3
    obj = build({"frames": [1, 3], "bones": rows, "location": place, "rotation": turn})
    motion = tumble(obj, 3, 25)
    for at, row in enumerate(motion["location"]):
        row[1] = [p + 0.01 * at for p in row[1]]  # its head leaves its parent
    assert_bvh_is_shown(obj, motion, "loose")


def assert_bvh_is_shown(obj, motion, name):
    """Write a character and its motion as BVH, import that with Blender's own settings, and compare."""
    character, path = FOLDER / f"{name}.json", FOLDER / f"{name}_motion.json"
    addon("armature.read").write_character(
        obj, character, bpy.context.scene, 1, motion["frames"][0]
    )
    path.write_text(json.dumps(motion), encoding="utf-8")
    wanted = poses_of(obj, motion)
    bvh = FOLDER / f"{name}.bvh"
    done = subprocess.run(
        [PYTHON, "-c", BVH, character, path, bvh], cwd=ROOT, capture_output=True, text=True
    )
    assert not done.returncode, done.stderr[-800:]
    assert_imported(bvh, wanted)


def assert_imported(bvh, wanted):
    """Blender's own importer shows the bones of a BVH file where they are wanted in every frame."""
    import addon_utils  # there only after bpy

    addon_utils.enable("io_anim_bvh")
    assert bpy.ops.import_anim.bvh(filepath=str(bvh)) == {"FINISHED"}
    imported = bpy.context.active_object
    for at, (expected, _) in enumerate(wanted):
        found, _ = shown_bones(imported, 1 + at)
        for bone, ends in expected.items():
            apart = np.abs(found[bone.replace(" ", "_")] - ends).max()
            assert apart < 1e-4, f"{bone} in frame {at}: {apart}"


# ---- there and back


@claim
def a_walker_let_go_at_frame_60_falls_and_nothing_before_it_changes():
    obj = build(WALKER, Matrix.LocRotScale(Vector((1.0, 2.0, 0.0)), Euler((0.0, 0.0, 0.7)), None))
    old = obj.animation_data.action
    keys, frames = curves_of(old), range(1, TRANSITION)
    before, at_transition = all_shown(obj, frames), all_shown(obj, [TRANSITION])
    character, motion, bvh = (FOLDER / f"let_go{end}" for end in (".json", "_motion.json", ".bvh"))
    addon("armature.read").write_character(obj, character, bpy.context.scene, 1, TRANSITION)
    done = subprocess.run(
        [PYTHON, "-m", "jellycage.sim.cli", "ragdoll", character, "-o", motion, "-o", bvh, "--frames", "48", "-q"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert not done.returncode, done.stderr[-800:]
    loaded = json.loads(motion.read_text(encoding="utf-8"))
    chosen = [name for name in loaded["bones"] if not name.startswith("toe")]
    action = addon("armature.action").load_motion(obj, loaded, chosen, first=TRANSITION)
    assert_same_poses(all_shown(obj, frames), before, 1e-6)
    assert_same_poses(all_shown(obj, [TRANSITION]), at_transition, 1e-4)
    wanted = poses_of(obj, loaded)
    shown = all_shown(obj, frames_of(loaded))
    assert_same_poses(shown[TRANSITION - 1 :], wanted[TRANSITION - 1 :], 1e-4, chosen)
    assert shown[-1][0]["head"][0][2] < 0.6, "it did not fall"
    # No jump: the step into the first simulated frame is like the last step of the walk.
    heads = [np.array([ends[0] for ends in bones.values()]) for bones, _ in shown]
    last, first = (heads[TRANSITION - 1 + k] - heads[TRANSITION - 2 + k] for k in range(2))
    assert np.abs(first - last).max() < 0.03
    assert curves_of(old) == keys and old.use_fake_user and obj.animation_data.action == action
    old_curves, new_curves = keys, curves_of(action)
    for key, points in new_curves.items():
        bone = key[0].split('"')[1]
        is_new = max(frame for frame, _ in points) > TRANSITION
        assert is_new == (bone in chosen), key
    assert set(old_curves) <= set(new_curves)
    assert_imported(bvh, wanted)


if __name__ == "__main__":
    try_all()
