"""Ragdolls and rigid bodies in scene files and bakes."""

import json
import os
import signal
import subprocess
import time
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from ragdoll_files import alembic_points, walker, walker_file
from tiny_shots import (
    FLOOR,
    baked,
    cube_file,
    document,
    environment,
    frame_digests,
    is_leftover,
    python,
    shot_of,
    write_scene,
)

from jellycage.sim.bake.bake import bake
from jellycage.sim.bake.cache import open_cache
from jellycage.sim.cli import main
from jellycage.sim.errors import CacheError, Cancelled, SceneError, SettingsError
from jellycage.sim.export.mdd import read_mdd
from jellycage.sim.export.pc2 import read_pc2
from jellycage.sim.ragdoll.character_file import read_character
from jellycage.sim.ragdoll.motion import read_motion
from jellycage.sim.scene.build import build_shot, scene_digest
from jellycage.sim.scene.entry_kinds import euler_matrix
from jellycage.sim.scene.scene_file import read_scene_file, scene_of
from jellycage.toolkit.errors import ToolkitError

BOX = {"kind": "box", "size": [0.4, 0.6, 0.8]}


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def matrices(q):
    """Rotation matrices of quaternions (..., 4), written out."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def busy(folder, frames=(58, 80)) -> dict:
    """Two ragdolls that go limp at different frames, one of them dressed, three rigid bodies and a ramp."""
    early = walker_file(folder, "early.json", frames=(58, 60))
    late = walker_file(folder, "late.json", frames=(50, 66), dressed=True)
    (Path(folder) / "ramp.obj").write_text(
        "v -2 -3 0\nv 2 -3 0\nv 2 -9 0\nv -2 -9 0\nv -2 -9 1\nv 2 -9 1\n"
        "f 1 2 6 5\nf 1 4 3 2\nf 3 4 5 6\nf 2 3 6\nf 1 5 4\n"
    )
    return {
        "frames": list(frames),
        "ragdoll": [
            {"character": late, "location": [0.2, 0.3, 0.6], "rotation": [0, 0, 25]},
            {"character": early, "motion": ["early.bvh", "early_motion.json"]},
        ],
        "rigid": [
            {**BOX, "location": [0, -3.0, 2.2], "spin": [1, 2, 3]},
            {"kind": "mesh", "mesh": cube_file(folder), "scale": 0.4, "location": [0.3, -3.2, 3]},
            {"kind": "capsule", "radius": 0.1, "length": 0.4, "location": [0.1, -3.1, 4]},
        ],
        "collider": [{"kind": "mesh", "mesh": "ramp.obj"}, FLOOR],
    }


# ---- rigid bodies


def test_a_thrown_box_flies_along_a_parabola_and_spins(tmp_path):
    row = {**BOX, "location": [1, 2, 3], "velocity": [1.0, -2.0, 3.0], "spin": [0, 0, 5.0]}
    shot = shot_of(tmp_path, {"frames": [1, 25], "rigid": [{**row, "rotation": [0, 0, 30]}]})
    _, frames = baked(shot, tmp_path / "bake")
    start = shot.surfaces[0].vertices
    for number, points in enumerate(frames):
        t = number / 24.0
        centre = np.array([1 + t, 2 - 2 * t, 3 + 3 * t - 0.5 * 9.81 * t * t])
        wanted = start @ euler_matrix((0, 0, 30 + np.degrees(5 * t))).T + centre
        assert np.abs(points - wanted).max() < 2e-6  # single precision


def test_a_mesh_is_shown_as_it_is_and_collides_as_its_hull(tmp_path):
    row = {"kind": "mesh", "mesh": cube_file(tmp_path), "scale": [1, 2, 0.5], "mass": 3.0}
    content = {
        "frames": [1, 60],
        "rigid": [{**row, "location": [0, 0, 0.5]}],
        "collider": [{"kind": "plane"}],
    }
    shot = shot_of(tmp_path, content)
    result, frames = baked(shot, tmp_path / "bake")
    mesh = result.cache.meshes[0]
    assert mesh.name == "cube" and np.array_equal(np.diff(mesh.polygon_start), np.full(6, 4))
    assert shot.scene.rigid_bodies[0].properties.mass == pytest.approx(3.0)
    assert np.allclose(np.ptp(frames[0], axis=0), [1, 2, 0.5])
    assert np.abs(frames[0][:, 2].min() - 0.5) < 1e-6
    assert np.abs(frames[-1][:, 2].min()) < 0.006  # it lies on the floor
    assert np.allclose(frames[-1][:, :2], frames[0][:, :2], atol=0.01)


@pytest.mark.parametrize("kind", ["plane", "mesh", "box"])
def test_bodies_come_to_rest_on_every_kind_of_floor(tmp_path, kind):
    cube_file(tmp_path)
    floor = {
        "plane": {"kind": "plane", "location": [0, 0, 0.5]},
        "box": {"kind": "box", "size": [4, 4, 1]},
        "mesh": {
            "kind": "mesh",
            "mesh": "cube.obj",
            "scale": [4, 4, 1],
            "location": [-2, -2, -0.5],
        },
    }[kind]
    shapes = [
        {**BOX, "location": [-1.2, 0, 1.2]},
        {"kind": "sphere", "radius": 0.3, "location": [0, 0, 1.2], "density": 200},
        {"kind": "capsule", "radius": 0.2, "length": 0.5, "rotation": [90, 0, 0], "location": [1.2, 0, 1.2]},
    ]  # fmt: skip
    shot = shot_of(tmp_path, {"frames": [1, 60], "rigid": shapes, "collider": [floor]})
    result, _ = baked(shot, tmp_path / "bake")
    for points in result.cache.frame(60):
        assert abs(points[:, 2].min() - 0.5) < 0.012
    assert result.column("contacts").max() >= 3 and result.column("contacts")[0] == 0
    assert result.column("kinetic_energy")[-1] < 1e-3 * result.column("kinetic_energy").max()
    lost = result.column("potential_energy")[0] - result.column("potential_energy")[-1]
    weight = [9.81 * body.properties.mass for body in shot.scene.rigid_bodies]
    height = np.array([1.2 - 0.5 - 0.4, 1.2 - 0.5 - 0.3, 1.2 - 0.5 - 0.2])
    assert lost == pytest.approx(weight @ height, rel=0.03)


def test_a_moving_collider_carries_a_rigid_body(tmp_path):
    lift = {"kind": "box", "size": [3, 3, 0.2], "location": [0, 0, -0.1], "friction": 1.0}
    lift["keys"] = [{"frame": 11}, {"frame": 59, "location": [0.5, 0, 0.9]}]
    content = {"frames": [11, 71], "rigid": [{**BOX, "location": [0, 0, 0.41]}], "collider": [lift]}
    _, frames = baked(shot_of(tmp_path, content), tmp_path / "bake")
    assert abs(frames[-1][:, 2].min() - 1.0) < 0.02 and abs(frames[-1][:, 0].mean() - 0.5) < 0.05


def test_velocities_are_those_of_the_motion(tmp_path):
    walker_file(tmp_path)
    row = {**BOX, "location": [9, 0, 30], "spin": [0, 4, 0], "velocity": [1, 0, 0]}
    content = {"frames": [58, 70], "ragdoll": [{"character": "walker.json"}], "rigid": [row]}
    result, _ = baked(shot_of(tmp_path, content), tmp_path / "bake", velocities=True)
    cache = result.cache
    for frame in range(59, 70):
        before, now, after = (cache.frame(f) for f in (frame - 1, frame, frame + 1))
        doll, box = cache.frame(frame, "velocity")
        assert np.abs(doll - 24.0 * (now[0].astype(float) - before[0])).max() < 1e-4
        middle = 12.0 * (after[1].astype(float) - before[1])
        # Theirs is half a substep old; a circle is not its chord.
        assert np.abs(box - middle).max() < 0.5 * 9.81 / 96 + 0.03
    assert not cache.frame(58, "velocity")[0].any()  # nothing is known of the time before


# ---- ragdolls


def test_a_ragdoll_in_a_scene_moves_as_the_command_says_to_the_bit(tmp_path):
    walker_file(tmp_path)
    scene = {
        "frames": [40, 84],
        "ragdoll": [{"character": "walker.json", "motion": "scene.json"}],
        "collider": [{"kind": "plane"}],
    }
    result = run("bake", write_scene(tmp_path, scene, "shot.json"), "-o", tmp_path / "a.bake")
    assert result.exit_code == 0, result.output
    command = [tmp_path / "walker.json", "-o", tmp_path / "command.json", "--frames", 24]
    assert run("ragdoll", *command).exit_code == 0
    assert (tmp_path / "scene.json").read_bytes() == (tmp_path / "command.json").read_bytes()


def test_up_to_the_transition_the_shapes_follow_their_bones(tmp_path):
    walker_file(tmp_path, frames=(50, 60))
    row = {"character": "walker.json", "location": [3, 1, 0.5], "rotation": [0, 0, 90]}
    shot = shot_of(tmp_path, {"frames": [45, 62], "ragdoll": [row]})
    result, frames = baked(shot, tmp_path / "bake")
    character, doll = read_character(tmp_path / "walker.json"), shot.dolls[0]
    for frame in range(45, 61):
        at = max(frame - 50, 0)
        bone = doll.ragdoll.body_bone[doll.surface.body]
        turn = matrices(character.rotation[at, bone])
        points = np.einsum("vij,vj->vi", turn, doll.surface.vertices) + character.location[at, bone]
        wanted = points @ np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1]]) + (3, 1, 0.5)
        assert np.abs(frames[frame - 45] - wanted).max() < 1e-6
    assert np.abs(frames[-1] - frames[-2]).max() > 1e-3


def skinned(skin, character, location, rotation):
    """Linear blend skinning, one vertex and one bone after the other."""
    result = np.array(skin.vertices)
    for v, point in enumerate(skin.vertices):
        if not skin.weights[v].any():
            continue
        total = np.zeros(3)
        for bone, weight in zip(skin.bones[v], skin.weights[v], strict=True):
            turn = matrices(rotation[bone]) @ matrices(character.rest_rotation[bone]).T
            total += weight * (turn @ (point - character.rest_head[bone]) + location[bone])
        result[v] = total
    return result


def test_a_skin_is_moved_by_the_bones(tmp_path):
    walker_file(tmp_path, dressed=True)
    row = {"character": "walker.json", "motion": "m.json"}
    content = {"frames": [58, 72], "ragdoll": [row], "collider": [{"kind": "plane"}]}
    scene = write_scene(tmp_path, content)
    assert run("bake", scene, "-o", tmp_path / "a.bake").exit_code == 0
    cache, motion = open_cache(tmp_path / "a.bake"), read_motion(tmp_path / "m.json")
    character = read_character(tmp_path / "walker.json")
    for at, frame in enumerate(motion.frames):
        wanted = skinned(character.skin, character, motion.location[at], motion.rotation[at])
        assert np.abs(cache.frame(int(frame))[0] - wanted).max() < 1e-6
    assert cache.meshes[0].vertex_count == len(character.skin.vertices)


def test_a_moved_character_takes_vertices_without_bones_along(tmp_path):
    walker_file(tmp_path, dressed=True)
    row = {"character": "walker.json", "location": [1, 2, 3], "rotation": [0, 0, 90]}
    shot = shot_of(tmp_path, {"frames": [58, 61], "ragdoll": [row]})
    _, frames = baked(shot, tmp_path / "bake")
    rest = walker(dressed=True).skin.vertices[-3:]
    wanted = rest @ np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1]]) + (1, 2, 3)
    assert np.abs(frames[:, -3:] - wanted).max() < 1e-6


def test_a_ragdoll_that_comes_in_later_disturbs_nobody_far_away(tmp_path):
    """While nothing touches, everything moves as if it were alone."""
    walker_file(tmp_path, "early.json", frames=(58, 60))
    walker_file(tmp_path, "late.json", frames=(58, 66))
    early = {"character": "early.json", "location": [0, 0, 50]}
    late = {"character": "late.json", "location": [9, 0, 50]}
    box = {**BOX, "location": [-9, 0, 50], "spin": [1, 2, 3]}

    def frames_of(name, **rows):
        content = {"frames": [60, 76], "collider": [FLOOR], **rows}
        return open_cache(bake(shot_of(tmp_path, content), tmp_path / name).cache.folder)

    both = frames_of("both", ragdoll=[late, early], rigid=[box])
    alone = [
        frames_of("late", ragdoll=[late]),
        frames_of("early", ragdoll=[early]),
        frames_of("box", rigid=[box]),
    ]
    for frame in range(60, 77):
        for at, cache in enumerate(alone):
            assert np.abs(both.frame(frame)[at] - cache.frame(frame)[0]).max() < 2e-5, (frame, at)


def test_colliders_keep_the_time_of_the_scene_while_it_waits_for_a_ragdoll(tmp_path):
    """A floor that has sunk away before the transition catches nobody."""
    walker_file(tmp_path)
    lift = {"kind": "box", "size": [9, 9, 1], "location": [0, -3, -0.5]}
    lift["keys"] = [{"frame": 57}, {"frame": 58, "location": [0, -3, -9.5]}]
    content = {"frames": [40, 72], "ragdoll": [{"character": "walker.json"}]}
    _, free = baked(shot_of(tmp_path, content), tmp_path / "free")
    _, sunk = baked(shot_of(tmp_path, content | {"collider": [lift]}), tmp_path / "sunk")
    assert np.abs(free - sunk).max() < 1e-5
    lift["keys"][1]["location"] = [0, -3, -0.5]  # it stays
    _, held = baked(shot_of(tmp_path, content | {"collider": [lift]}), tmp_path / "held")
    assert np.abs(free - held).max() > 0.1


def test_a_late_ragdoll_lands_on_what_lies_there(tmp_path):
    walker_file(tmp_path, "late.json", frames=(58, 70))
    content = {
        "frames": [50, 130],
        "ragdoll": [{"character": "late.json", "location": [0, 3.6, 0.6]}],
        "rigid": [{"kind": "box", "size": [3, 3, 0.5], "location": [0, 0, 0.25]}],
        "collider": [{"kind": "plane"}],
    }
    result, _ = baked(shot_of(tmp_path, content), tmp_path / "bake")
    doll, box = result.cache.frame(130)
    assert doll[:, 2].min() > 0.45 and abs(box[:, 2].max() - 0.5) < 0.02
    assert doll[:, 2].max() < 1.2  # it has fallen over


def test_a_scene_that_ends_before_the_transition_shows_the_animation(tmp_path):
    walker_file(tmp_path, frames=(50, 60))
    row = {"character": "walker.json", "motion": "m.json"}
    scene = write_scene(tmp_path, {"frames": [50, 55], "ragdoll": [row]})
    result = run("bake", scene, "-o", tmp_path / "a.bake", "--json", "-q")
    facts = json.loads(result.stdout)
    assert any("goes limp at frame 60, after the last" in note for note in facts["warnings"])
    motion = read_motion(tmp_path / "m.json")
    assert np.array_equal(motion.location, walker(frames=(50, 60)).location)


# ---- resuming


def straight(folder, **options):
    shot = shot_of(folder, busy(folder))
    assert [doll.transition for doll in shot.dolls] == [66, 60]
    return shot, bake(shot, folder / "straight", **options)


@pytest.mark.slow
@pytest.mark.parametrize("frame", [58, 59, 60, 63, 65, 66, 75])
def test_an_interrupted_bake_goes_on_to_the_same_bytes(tmp_path, frame):
    """Before anybody is limp, at both transitions and between and after them."""
    shot, whole = straight(tmp_path, velocities=True)
    steps = count(1)

    def is_cancelled():
        return next(steps) > (frame - 58) * shot.substeps

    with pytest.raises(Cancelled):
        bake(shot, tmp_path / "parts", velocities=True, is_cancelled=is_cancelled)
    assert open_cache(tmp_path / "parts").frames_done()[-1] == frame
    again = shot_of(tmp_path, busy(tmp_path))
    resumed = bake(again, tmp_path / "parts", velocities=True, resume=True)
    assert resumed.baked == 80 - frame
    wanted = frame_digests(tmp_path / "straight")
    assert len(wanted) == 2 * 23 and frame_digests(tmp_path / "parts") == wanted
    for a, b in zip(whole.poses, resumed.poses, strict=True):
        assert np.array_equal(a, b) and a.shape[:2] == (23, 16 + 16 + 3)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals are those of Unix")
def test_a_bake_that_was_killed_goes_on_to_the_same_bytes(tmp_path):
    content = busy(tmp_path, frames=(58, 300))
    bake(shot_of(tmp_path, content), tmp_path / "straight")
    scene, parts = write_scene(tmp_path, content, "shot.json"), tmp_path / "parts"
    command = python("-m", "jellycage.sim.cli", "bake", scene, "--cache", parts, "-q", "--resume")
    process = subprocess.Popen(command, env=environment())
    until = time.monotonic() + 120.0
    while not (parts / "frame_0075.npy").exists() and time.monotonic() < until:
        time.sleep(0.002)
    process.kill()
    assert process.wait() == -signal.SIGKILL, "it was too fast to be killed"
    assert not (parts / "frame_0300.npy").exists()
    subprocess.run(command, env=environment(), check=True)
    assert frame_digests(parts) == frame_digests(tmp_path / "straight")


@pytest.mark.slow
def test_thread_counts_and_processes_give_the_same_bytes(tmp_path):
    straight(tmp_path)
    scene = write_scene(tmp_path, busy(tmp_path), "shot.json")
    for threads in ("1", "2"):
        out = tmp_path / f"threads_{threads}.bake"
        subprocess.run(
            python("-m", "jellycage.sim.cli", "bake", scene, "-o", out, "-q"),
            env=environment(NUMBA_NUM_THREADS=threads),
            check=True,
        )
        assert frame_digests(out) == frame_digests(tmp_path / "straight")


def test_the_motion_of_a_resumed_bake_is_whole(tmp_path):
    scene = write_scene(tmp_path, busy(tmp_path), "shot.json")
    assert run("bake", scene, "-o", tmp_path / "a.bake").exit_code == 0
    wanted = (tmp_path / "early_motion.json").read_bytes()
    (tmp_path / "early_motion.json").unlink()
    shot = build_shot(read_scene_file(scene))
    steps = count(1)
    with pytest.raises(Cancelled):
        bake(shot, tmp_path / "b.bake", is_cancelled=lambda: next(steps) > 40)
    result = run("bake", scene, "-o", tmp_path / "b.bake", "--resume")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "early_motion.json").read_bytes() == wanted


def test_the_digest_notices_changes_of_every_file(tmp_path):
    content = busy(tmp_path)
    scene = scene_of(content, tmp_path)
    seen = {scene_digest(scene)}
    for name in ("ramp.obj", "cube.obj", "early.json", "late_skin.npz"):
        with open(tmp_path / name, "ab") as file:
            file.write(b" \n" if name != "late_skin.npz" else b"x")
        seen.add(scene_digest(scene))
    assert len(seen) == 5
    content["ragdoll"][1]["motion"] = "elsewhere.bvh"
    assert scene_digest(scene_of(content, tmp_path)) in seen  # where motion goes decides nothing


# ---- files


@pytest.mark.slow
def test_every_file_of_a_rigid_scene_can_be_written(tmp_path):
    scene = write_scene(tmp_path, busy(tmp_path), "shot.json")
    outputs = [w for name in ("a.abc", "a.pc2", "a.mdd", "a.obj") for w in ("-o", tmp_path / name)]
    extras = ["--preview", tmp_path / "a.png", "--report", tmp_path / "a.html"]
    result = run("bake", scene, *outputs, *extras, "--json", "--progress", "json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["volume_error_max"] is None and facts["min_J"] is None
    assert facts["elements"] == 0 and facts["rigid_bodies"] == 35 and facts["contacts_max"] > 4
    assert "rigid bodies at 8 substeps" in facts["solver"]
    for line in result.stderr.splitlines():
        json.loads(line, parse_constant=pytest.fail)  # no NaN
    cache = open_cache(tmp_path / "a.bake")
    names = ["late", "early", "box", "cube", "capsule"]
    assert list(cache.facts.names) == names
    found = alembic_points(tmp_path / "a.abc")
    assert list(found) == names
    for at, name in enumerate(names):
        wanted = np.array([cache.frame(frame)[at] for frame in range(58, 81)])
        assert np.array_equal(found[name], wanted[:, :, [0, 2, 1]] * np.float32([1, 1, -1]))
        assert np.array_equal(read_pc2(tmp_path / f"a_{name}.pc2").positions, wanted)
        assert len(read_mdd(tmp_path / f"a_{name}.mdd").positions) == 23
    assert len(list(tmp_path.glob("a_*.obj"))) == 23
    page = (tmp_path / "a.html").read_text()
    assert "det F" not in page and "nan" not in page.lower() and "Contacts" in page
    sheet = np.asarray(Image.open(tmp_path / "a.png").convert("RGB")).astype(int)
    for colour in (0, 1, 2):  # red, green and blue things are seen
        others = [other for other in range(3) if other != colour]
        assert (sheet[..., colour] - sheet[..., others].max(axis=-1) > 40).sum() > 200
    assert (tmp_path / "early.bvh").is_file() and not is_leftover(tmp_path)
    assert str(tmp_path / "early.bvh") in facts["output"]


def test_alembic_of_a_rigid_body_is_its_transform(tmp_path):
    scene = write_scene(tmp_path, busy(tmp_path), "shot.json")
    assert run("bake", scene, "-o", tmp_path / "a.abc", "--up-axis", "Z").exit_code == 0
    shot, found = build_shot(read_scene_file(scene)), alembic_points(tmp_path / "a.abc")
    stepper = shot.stepper()
    state = stepper.start()
    for number in range(23):
        locations, rotations = shot.poses(stepper, 58 + number, state)
        for at, name in enumerate(("box", "cube", "capsule")):
            turn = matrices(rotations[32 + at])
            wanted = shot.surfaces[at].vertices @ turn.T + locations[32 + at]
            assert np.abs(found[name][number] - wanted).max() < 2e-6
        stepper.step(state)


def test_soft_and_rigid_bodies_bake_side_by_side_and_are_said_to_be_apart(tmp_path):
    soft = document(tmp_path, frames=(1, 8))
    wanted, alone = baked(shot_of(tmp_path, soft), tmp_path / "soft")
    both = {**soft, "rigid": [{**BOX, "name": "brick", "location": [0.5, 0.5, 3.0]}]}
    both["collider"] = [*soft["collider"], {"kind": "mesh", "mesh": "cube.obj", "name": "wall"}]
    shot = shot_of(tmp_path, both)
    result, frames = baked(shot, tmp_path / "both")
    assert np.array_equal(frames[:, :8], alone) and frames.shape[1] == 16
    assert result.cache.facts.names == ("cube", "brick")
    for name in ("volume_error", "min_J", "elastic_energy"):
        assert np.array_equal(result.column(name), wanted.column(name))
    assert any("do not feel each other" in note for note in shot.notes)
    assert any(note.startswith("wall: soft bodies pass through") for note in shot.notes)
    assert not shot_of(tmp_path, soft).scene.has_rigid


def test_check_and_dry_run_know_rigid_scenes(tmp_path):
    scene = write_scene(tmp_path, busy(tmp_path), "shot.json")
    facts = json.loads(run("check", scene, "--json", "-q").stdout)
    assert facts["ok"] and facts["substeps"] == 8
    facts = json.loads(run("bake", scene, "--dry-run", "--json", "-q", "--substeps", 7).stdout)
    assert facts["rigid_bodies"] == 35 and facts["substeps"] == 7 and len(facts["vertices"]) == 5


# ---- bad scenes

DOLL = '[[ragdoll]]\ncharacter = "walker.json"\n'
CRATE = '[[rigid]]\nkind = "mesh"\nmesh = "cube.obj"\n'
BALL = '[[rigid]]\nkind = "sphere"\nradius = 1\n'
BAD = {
    "[[ragdoll]]": "ragdoll[0].character: is missing",
    '[[ragdoll]]\ncharacter = "cube.obj"': "expected the path of a .json file",
    '[[ragdoll]]\ncharacter = "nobody.json"': "there is nothing at",
    '[[ragdoll]]\ncharacter = "empty.json"': "empty.json: line 1: no JSON",
    DOLL + 'spine = "rope"': 'ragdoll[0].spine: expected "rod", "joints" or "ball"',
    DOLL + "strength = 2": "ragdoll[0].strength: expected a number from 0 to 1",
    DOLL + "mass = 0": "ragdoll[0].mass: expected a number above 0",
    DOLL + 'motion = "m.fbx"': "ragdoll[0].motion: expected a path",
    DOLL + 'motion = ["m.bvh", "./m.bvh"]': "names a file twice",
    DOLL + 'motion = "walker.json"': '"walker.json" is a character too',
    DOLL + 'motion = "m.bvh"\n' + DOLL + 'motion = "m.bvh"': "is the motion of ragdoll[0] too",
    DOLL + "stiffness = 1": "ragdoll[0].stiffness: unknown key",
    "frames = [61, 90]\n" + DOLL: "ends at frame 60, before the first of the scene, 61",
    "fps = 30\n" + DOLL: "24 frames per second and the scene 30",
    "[[rigid]]\nradius = 1": "rigid[0].kind: is missing",
    '[[rigid]]\nkind = "plane"': 'rigid[0].kind: expected "sphere"',
    '[[rigid]]\nkind = "mesh"': "rigid[0].mesh: is missing, a mesh needs it",
    '[[rigid]]\nkind = "box"\nsize = [1, 0, 1]': "rigid[0].size: expected three numbers above 0",
    BALL + "size = [1, 1, 1]": "rigid[0].size: does not belong to kind sphere",
    BALL + "scale = 2": "rigid[0].scale: does not belong to kind sphere",
    BALL + "mass = 3\ndensity = 4": "rigid[0].density: not together with mass",
    BALL + "restitution = 1.5": "rigid[0].restitution: expected a number from 0 to 1",
    BALL + 'name = "a"\n' + DOLL + 'name = "A"': '"a" is the name of ragdoll[0] too',
    '[[rigid]]\nkind = "mesh"\nmesh = "flat.obj"': "flat: Hull: the points lie in one plane",
    '[[rigid]]\nkind = "mesh"\nmesh = "empty.json"': "the ending '.json' is not known",
    BALL + '[[collider]]\nkind = "mesh"': "collider[0].mesh: is missing",
    BALL + '[[collider]]\nkind = "mesh"\nmesh = "cube.obj"\nfriction = 1': "does not belong to kind mesh",
    BALL + '[[collider]]\nkind = "mesh"\nmesh = "cube.obj"\nkeys = [{frame = 1}]': "keys: does not belong",
    BALL + '[[collider]]\nkind = "plane"\nscale = 2': "scale: does not belong to kind plane",
    BALL + "[rigid_solver]\nsubsteps = 0": "rigid_solver.substeps: expected a whole number",
    BALL + "[rigid_solver]\niterations = 1.5": "rigid_solver.iterations: expected a whole number",
    "ragdoll = []\nrigid = []": "body: is missing; add for example [[body]], [[ragdoll]] or [[rigid]]",
}  # fmt: skip


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_bad_scenes_are_refused_in_one_line(tmp_path, text):
    walker_file(tmp_path)
    cube_file(tmp_path)
    (tmp_path / "empty.json").touch()
    (tmp_path / "flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n")
    scene = tmp_path / "scene.toml"
    scene.write_text(text)
    result = run("bake", scene, "-o", tmp_path / "a.abc", "--progress", "none")
    assert result.exit_code == 3, result.output
    assert result.stderr.count("\n") == 1 and BAD[text] in result.stderr, result.stderr
    assert not (tmp_path / "a.bake").exists() and not (tmp_path / "a.abc").exists()
    with pytest.raises((SceneError, SettingsError, ToolkitError)):
        build_shot(read_scene_file(scene))


def test_a_motion_that_could_not_be_written_stops_the_bake_before_it_begins(tmp_path):
    walker_file(tmp_path)
    scene = tmp_path / "scene.toml"
    scene.write_text(DOLL + 'motion = "nowhere/m.bvh"')
    result = run("bake", scene, "-o", tmp_path / "a.abc", "--progress", "none")
    assert result.exit_code == 5 and "no such folder" in result.stderr
    assert not (tmp_path / "a.bake").exists()


def test_a_checkpoint_that_lost_its_rigid_bodies_is_refused(tmp_path):
    content = {"frames": [1, 8], "rigid": [{**BOX, "location": [0, 0, 1]}], "collider": [FLOOR]}
    shot, place = shot_of(tmp_path, content), tmp_path / "bake"
    steps = count()
    with pytest.raises(Cancelled):
        bake(shot, place, is_cancelled=lambda: next(steps) > 20)
    cache = open_cache(place)
    frame, arrays = cache.read_checkpoint()
    assert frame < 8
    kept = {name: array for name, array in arrays.items() if not name.startswith("rigid.")}
    cache.write_checkpoint(frame, kept)
    with pytest.raises(CacheError, match="does not fit this scene"):
        bake(shot, place, resume=True)
    cache.write_checkpoint(frame, arrays)
    assert bake(shot, place, resume=True).baked == 8 - frame
