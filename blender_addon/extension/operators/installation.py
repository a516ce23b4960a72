"""Check Installation, in the preferences, and Copy Log."""

import platform
import shutil

import bpy

from .. import folders, running
from .starting import Starts


class JELLYCAGE_OT_check_installation(Starts, bpy.types.Operator):
    """Drop a cube in the worker, and say with which versions"""

    bl_idname = "jellycage.check_installation"
    bl_label = "Check Installation"

    def execute(self, context):
        return self.begin("Check", check)


checked = ""
"""What the last check found."""


def check(run):
    """The steps of a self-test."""
    global checked
    checked = ""
    folder = folders.new_scratch_folder("check")
    try:
        folders.write_json(folder / "job.json", {"task": "check"})
        facts = yield from run.work_on(folder / "job.json")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    checked = f"Works: Python {facts['python']}, {versions}"
    return checked


class JELLYCAGE_OT_copy_log(bpy.types.Operator):
    """Copy what the worker said last, for a report"""

    bl_idname = "jellycage.copy_log"
    bl_label = "Copy Log"

    def execute(self, context):
        head = f"Blender {bpy.app.version_string}, {platform.platform()}"
        lines = [head, running.error or running.message, *running.warnings, *running.log]
        context.window_manager.clipboard = "\n".join(lines)
        self.report({"INFO"}, "Copied")
        return {"FINISHED"}


class JellycagePreferences(bpy.types.AddonPreferences):
    """What is shown in the preferences of the extension."""

    bl_idname = __package__.rpartition(".")[0]

    def draw(self, context):
        row = self.layout.row()
        row.operator("jellycage.check_installation")
        row.operator("jellycage.copy_log")
        said = running.error or checked
        if running.current is not None:
            said = f"{running.current.text} ..."
        if said:
            self.layout.label(text=said, icon="ERROR" if running.error else "CHECKMARK")


CLASSES = (JELLYCAGE_OT_check_installation, JELLYCAGE_OT_copy_log, JellycagePreferences)
