"""Bake, Resume and Stop."""

import shutil

import bpy

from .. import folders, running, scene_job, settings, stack
from ..errors import SetupError, Stopped, for_artists
from ..scene_job import Recording
from .starting import Starts, push_undo


class JELLYCAGE_OT_bake(Starts, bpy.types.Operator):
    """Simulate all soft bodies of the scene. Blender stays usable; ESC stops and keeps finished frames"""

    bl_idname = "jellycage.bake"
    bl_label = "Bake"
    bl_options = {"REGISTER"}

    @staticmethod
    def why_not(context):
        is_any = any(
            obj.type == "MESH" and obj.jellycage.role == "BODY" for obj in context.scene.objects
        )
        return "" if is_any else "Build a cage first: select a mesh and press Build Cage"

    def execute(self, context):
        scene = context.scene
        return self.begin("Bake", lambda run: bake(run, scene))


class JELLYCAGE_OT_resume(Starts, bpy.types.Operator):
    """Go on with the bake that was stopped, with the settings it began with"""

    bl_idname = "jellycage.resume"
    bl_label = "Resume"
    bl_options = {"REGISTER"}

    @staticmethod
    def why_not(context):
        return "" if running.can_resume(context.scene) else "No bake of this scene was stopped"

    def execute(self, context):
        scene, folder = context.scene, running.resumable
        job = {**folders.read_json(folder / folders.JOB), "resume": True}
        job["keep_going"] = scene.jellycage.keep_going  # what may have ended it
        folders.write_json(folder / folders.JOB, job)
        return self.begin("Bake", lambda run: simulate(run, scene, folder))


class JELLYCAGE_OT_stop(bpy.types.Operator):
    """Stop after this step; finished frames are kept"""

    bl_idname = "jellycage.stop"
    bl_label = "Stop"

    @classmethod
    def poll(cls, context):
        return running.current is not None

    def execute(self, context):
        running.current.cancel()
        return {"FINISHED"}


def bake(run, scene):
    """The steps of a bake: read the scene, simulate, attach."""
    bodies = scene_job.bodies_of(scene)
    for obj in bodies:
        scene_job.check_body(obj)
    if not bodies:
        raise SetupError("There is no soft body in this scene: select a mesh and press Build Cage")
    folder = folders.new_bake_folder()
    try:
        recording = Recording(scene, bodies, folder)
        yield from running.sliced(recording.frames_to_visit(), scene, recording.record)
        recording.write()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    prints = {obj.jellycage.uid: settings.fingerprint(scene, obj) for obj in bodies}
    described = folders.read_json(folder / folders.BODIES)
    for row in described["bodies"]:
        row["settings"] = prints[row["uid"]]
    folders.write_json(folder / folders.BODIES, described)
    return (yield from simulate(run, scene, folder))


def simulate(run, scene, folder):
    """The steps after the scene was read; also the whole of Resume."""
    name = scene.name
    try:
        facts = yield from run.work_on(folder / folders.JOB)
        is_done = True
    except Stopped:
        facts, is_done = (yield from partial_export(run, folder)), False
        if facts is None:
            raise
    described = folders.read_json(folder / folders.BODIES)
    if is_done:
        folders.write_json(folder / folders.DONE, facts)
        run.warnings = [for_artists(sentence) for sentence in facts["warnings"]]
    missing = attach(bpy.data.scenes.get(name), folder, described)
    push_undo("Bake")
    first, last = described["frames"]
    if not is_done:
        return f"Stopped after frame {facts['last_frame']}: Resume goes on"
    if missing:
        return f"Baked, but {', '.join(missing)} is no longer there"
    return f"Baked frames {first} to {last}"


def partial_export(run, folder):
    """Write what there is of a bake that was stopped; None if there is nothing yet."""
    if not (folder / "frames" / "bake.json").exists():
        return None
    job = folders.read_json(folder / folders.JOB)
    job = {"task": "export", "cache": job["cache"], "exports": job["exports"], "partial": True}
    folders.write_json(folder / "export.json", job)
    run.is_cancelled = False
    try:
        return (yield from run.work_on(folder / "export.json"))
    except SetupError:
        return None


def attach(scene, folder, described) -> list[str]:
    """Let every body of a bake play its file; returns the names of those that are gone."""
    missing = []
    for row in described["bodies"]:
        obj = body_of(scene, row) if scene is not None else None
        if obj is None:
            missing.append(row["object"])
            continue
        stack.attach(obj, folders.stored_path(folder / row["file"]), described["frames"][0])
        obj.jellycage.baked_settings = row.get("settings", "")
        if obj.jellycage.cage is not None:
            obj.jellycage.cage.hide_viewport = True
    return missing


def body_of(scene, row):
    """The object that a row of a bake is about, or None: by its uid whatever it is called now.

    A copy made meanwhile has the same uid, and undo or a file saved before may know none: then the name counts.
    """
    named = scene.objects.get(row["object"])
    same = [obj for obj in scene.objects if obj.jellycage.uid == row["uid"]]
    if named is not None and (named in same or not (same or named.jellycage.uid)):
        named.jellycage.uid = row["uid"]
        return named
    return same[0] if same else None


CLASSES = (JELLYCAGE_OT_bake, JELLYCAGE_OT_resume, JELLYCAGE_OT_stop)
