"""What goes wrong is told in one sentence, finished frames are kept, and everything can be tried again."""

import os
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import bpy
from claims import (
    FACTS,
    FOLDER,
    add_cube,
    addon,
    assert_one_sentence,
    bake,
    children,
    choose,
    claim,
    frames_of,
    keyframes,
    make_body,
    new_scene,
    played_file,
    points_of,
    shown,
    switch_on,
    try_all,
)

LAST = 24


def slow_scene():
    """A cube whose bake takes long enough to be stopped."""
    scene = new_scene(LAST, quality="FINAL")
    obj = add_cube(resolution=7)
    addon("scene_job").bodies_of(scene)  # as Build Cage does: from now on it is known by its uid
    return obj


def begin_bake():
    """A bake as it runs in a window, where a timer takes it on."""
    running, operators = addon("running"), addon("operators.bake")
    scene = bpy.context.scene
    running.message = running.error = ""
    running.current = running.Run("Bake", lambda run: operators.bake(run, scene))
    return running.current


def go_on(run, until=lambda run: False):
    """Take a run on until something, or its end; False if it has ended."""
    ends = time.monotonic() + 120.0
    while run.advance():
        if until(run):
            return True
        assert time.monotonic() < ends, run.text
        time.sleep(0.002)
    return False


def is_at_frame_3(run):
    word, _, number = run.text.partition(" ")
    return word == "Frame" and int(number) >= 3


@cache
def stopped():
    """(sentence, cube, path of the stopped bake, its samples), stopped by the artist."""
    obj = slow_scene()
    blend = FOLDER / "stopped" / "stopped.blend"
    blend.parent.mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(blend))
    run = begin_bake()
    assert go_on(run, is_at_frame_3), addon("running").error
    began = time.perf_counter()
    run.cancel()
    go_on(run)
    FACTS["seconds to stop"] = round(time.perf_counter() - began, 2)
    return addon("running").message, obj, played_file(obj), points_of(played_file(obj))


@claim
def a_stopped_bake_keeps_and_plays_finished_frames():
    sentence, obj, _, samples = stopped()
    assert sentence.startswith("Stopped after frame") and "Resume" in sentence
    assert 3 <= len(samples) < LAST, len(samples)
    for at, points in enumerate(samples):
        assert shown(obj, 1 + at).tobytes() == points.tobytes()
    assert shown(obj, LAST).tobytes() == samples[-1].tobytes()


@claim
def delete_unused_leaves_what_can_be_resumed():
    _, obj, path, _ = stopped()
    choose(obj)
    addon("stack").detach(obj)
    assert bpy.ops.jellycage.delete_unused() == {"FINISHED"}
    assert path.exists()


@claim
def a_resumed_bake_equals_one_that_was_never_stopped():
    _, obj, path, samples = stopped()
    assert addon("folders").unfinished_bake() == path.parent
    assert bpy.ops.jellycage.resume() == {"FINISHED"}, addon("running").error
    assert addon("folders").unfinished_bake() is None
    assert frames_of(obj) == (1, LAST) and len(points_of(played_file(obj))) == LAST
    assert (points_of(played_file(obj))[: len(samples)] == samples).all()
    resumed = played_file(obj).read_bytes()
    bake()
    assert played_file(obj).read_bytes() == resumed


@claim
def a_bake_that_blender_was_killed_in_can_be_resumed():
    folder = FOLDER / "killed"
    folder.mkdir()
    command = [sys.executable, __file__, str(folder), "be killed"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == -signal.SIGKILL, done.stderr[-500:]
    worker = Path("/proc", done.stdout.split()[-1])
    ends = time.monotonic() + 10.0
    while worker.exists() and "Z" not in (worker / "stat").read_text().rpartition(")")[2][:3]:
        assert time.monotonic() < ends, "the worker outlived Blender"
        time.sleep(0.05)
    bpy.ops.wm.open_mainfile(filepath=str(folder / "killed.blend"))
    assert addon("running").current is None
    obj = bpy.data.objects["Cube"]
    choose(obj)
    assert addon("panel").what_next(bpy.context)[0] == "Press Bake"
    assert addon("folders").unfinished_bake() is not None
    assert bpy.ops.jellycage.resume() == {"FINISHED"}, addon("running").error
    assert len(points_of(played_file(obj))) == LAST


def be_killed():
    """Save, bake, and die after a few frames; the worker's id is on stdout."""
    slow_scene()
    bpy.ops.wm.save_as_mainfile(filepath=str(FOLDER / "killed.blend"))
    run = begin_bake()
    assert go_on(run, is_at_frame_3), addon("running").error
    print(f"\n{run.child.process.pid}", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


@claim
def a_new_file_does_not_offer_to_resume_the_bake_of_another():
    slow_scene()
    run = begin_bake()
    assert go_on(run, is_at_frame_3), addon("running").error
    run.cancel()
    go_on(run)
    assert addon("folders").unfinished_bake() is not None
    new_scene(6)
    assert addon("folders").unfinished_bake() is None


def refused(operator=None):
    """What an artist is told when this, by default a bake, does not work; nothing may be left running."""
    running = addon("running")
    before = len(bpy.data.objects)
    try:
        outcome = (operator or bpy.ops.jellycage.bake)()
        assert outcome == {"CANCELLED"}, f"{outcome}: {running.message}"
        sentence = running.error
    except RuntimeError as error:
        sentence = str(error).removeprefix("Error: ").strip()
    assert_one_sentence(sentence)
    assert running.current is None and len(bpy.data.objects) == before
    return sentence


@claim
def a_stopped_bake_is_not_offered_where_its_bodies_are_gone():
    new_scene(LAST)
    obj = add_cube()
    run = begin_bake()
    assert go_on(run, is_at_frame_3)
    run.cancel()
    assert not go_on(run)
    assert bpy.ops.jellycage.resume.poll()
    bpy.data.objects.remove(obj)
    assert not bpy.ops.jellycage.resume.poll()


@claim
def a_crushed_body_ends_the_bake_unless_it_is_to_keep_going():
    """A cube between the ground and a press that comes down to a tenth of it."""
    scene = new_scene(18)
    obj = add_cube(location=(0.0, 0.0, 1.05))
    scene.jellycage.ground = "HEIGHT"
    bpy.ops.mesh.primitive_cube_add(location=(0.0, 0.0, 4.2))
    press = bpy.context.active_object
    press.scale, press.jellycage.role, press.jellycage.shape = (4.0, 4.0, 1.0), "COLLIDER", "BOX"
    keyframes(press, "location", {3: (0.0, 0.0, 3.2), 9: (0.0, 0.0, 1.2)})
    choose(obj)
    sentence = refused()
    assert sentence.startswith("Cube, frame ") and "Keep Going bakes on" in sentence, sentence
    assert "--" not in sentence
    scene.jellycage.keep_going = True
    assert bpy.ops.jellycage.resume() == {"FINISHED"}, addon("running").error
    assert len(points_of(played_file(obj))) == 18
    kept = addon("running").warnings
    assert sentence.startswith(kept[0]) and any("Young modulus" in text for text in kept)
    bake()
    assert addon("running").warnings == kept


@claim
def a_crash_of_the_worker_is_one_sentence():
    new_scene(6)
    obj = add_cube()
    script = FOLDER / "crash.py"
    script.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    child = addon("child")
    boot, child.BOOT = child.BOOT, script
    try:
        sentence = refused()
    finally:
        child.BOOT = boot
    assert "copy the log" in sentence and not obj.modifiers
    assert bpy.ops.jellycage.bake.poll()
    assert not children()


@claim
def a_worker_that_cannot_start_is_one_sentence():
    new_scene(6)
    add_cube()
    child = addon("child")
    path, child.python_path = child.python_path, lambda: str(FOLDER / "no python")
    try:
        assert "no python" in refused()
    finally:
        child.python_path = path


@claim
def a_folder_that_cannot_be_written_is_one_sentence_with_a_remedy():
    new_scene(6)
    add_cube()
    folders = addon("folders")
    # Not even root may make folders here.
    place, folders.cache_folder = folders.cache_folder, lambda blend=None: Path("/sys/jellycage")
    try:
        sentence = refused()
    finally:
        folders.cache_folder = place
    assert "/sys/jellycage" in sentence and "save the .blend" in sentence, sentence


@claim
def a_file_where_the_cache_should_be_is_one_sentence():
    new_scene(6)
    add_cube()
    blend = FOLDER / "blocked" / "blocked.blend"
    blend.parent.mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(blend))
    (blend.parent / "jellycage_cache").write_text("in the way")
    assert "jellycage_cache" in refused()


@claim
def a_full_disk_is_one_sentence_with_a_remedy():
    place = FOLDER / "full"
    place.mkdir()
    options = ["-t", "tmpfs", "-o", "size=200k", "tmpfs"]
    mounted = subprocess.run(["mount", *options, str(place)], capture_output=True)
    folders = addon("folders")
    new_scene(200)
    add_cube(resolution=6)
    cache_folder, folders.cache_folder = folders.cache_folder, lambda blend=None: place
    try:
        if mounted.returncode:  # not allowed here: a disk that is full from the start
            folders.write_json = full_disk
        sentence = refused()
    finally:
        folders.cache_folder = cache_folder
        if not mounted.returncode:
            subprocess.run(["umount", str(place)])
    FACTS["full disk"] = sentence
    assert "disk is full" in sentence and "free some space" in sentence, sentence


def full_disk(path, value):
    raise OSError(28, "No space left on device", str(path))


@claim
def an_empty_mesh_is_one_sentence():
    new_scene(6)
    obj = bpy.data.objects.new("Nothing", bpy.data.meshes.new("Nothing"))
    bpy.context.scene.collection.objects.link(obj)
    choose(obj)
    assert "has no faces" in refused(bpy.ops.jellycage.build_cage)
    make_body(obj)
    assert "has no faces" in refused()


@claim
def flat_text_is_one_sentence_with_a_remedy():
    new_scene(6)
    bpy.ops.object.text_add()
    bpy.ops.object.convert(target="MESH")
    assert "Solidify" in refused(bpy.ops.jellycage.build_cage)


@claim
def edit_mode_is_one_sentence():
    new_scene(6)
    add_cube()
    bpy.ops.object.mode_set(mode="EDIT")
    assert "press Tab" in refused(bpy.ops.jellycage.build_cage)
    assert "press Tab" in refused()
    bpy.ops.object.mode_set(mode="OBJECT")


@claim
def a_body_scaled_to_zero_is_one_sentence():
    new_scene(6)
    add_cube().scale.z = 0.0
    assert "scaled to zero" in refused()


@claim
def a_pin_group_that_is_not_there_is_one_sentence():
    new_scene(6)
    add_cube(pin_group="Nails")
    assert "Nails" in refused()
    bpy.context.active_object.vertex_groups.new(name="Nails")
    assert "paint some" in refused()


@claim
def a_second_bake_is_refused_while_one_runs():
    slow_scene()
    run = begin_bake()
    assert go_on(run, lambda run: run.child is not None)
    assert "still running" in refused_poll(bpy.ops.jellycage.bake)
    run.cancel()
    go_on(run)


def refused_poll(operator):
    try:
        operator()
    except RuntimeError as error:
        return str(error)
    raise AssertionError("it was not refused")


@claim
def a_body_that_is_deleted_during_its_bake_is_said():
    new_scene(6)
    obj = add_cube()
    run = begin_bake()
    assert go_on(run, lambda run: run.child is not None)
    bpy.data.objects.remove(obj)
    go_on(run)
    assert_one_sentence(addon("running").message)
    assert "Cube is no longer there" in addon("running").message


@claim
def a_copy_that_is_made_during_a_bake_is_left_alone():
    new_scene(6)
    obj = add_cube()
    run = begin_bake()
    assert go_on(run, lambda run: run.child is not None)
    bpy.ops.object.duplicate()
    go_on(run)
    assert addon("stack").result_modifier(obj) is not None
    assert not bpy.context.active_object.modifiers


@claim
def undo_during_a_bake_does_no_harm():
    new_scene(6)
    add_cube()
    bpy.ops.ed.undo_push(message="cube")
    bpy.context.active_object.location.x = 3.0
    bpy.ops.ed.undo_push(message="moved")
    run = begin_bake()
    assert go_on(run, lambda run: run.child is not None)
    bpy.ops.ed.undo()
    go_on(run)
    assert not addon("running").error, addon("running").error
    obj = bpy.data.objects["Cube"]
    assert obj.location.x == 0.0
    assert addon("stack").result_modifier(obj) is not None, addon("running").message


@claim
def opening_another_file_ends_the_bake():
    slow_scene()
    run = begin_bake()
    assert go_on(run, lambda run: run.child is not None)
    new_scene(6)
    assert addon("running").current is None
    assert not children()


if __name__ == "__main__":
    if sys.argv[2:] == ["be killed"]:
        switch_on()
        be_killed()
    try_all()
