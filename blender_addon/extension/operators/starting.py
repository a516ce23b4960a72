"""What operators have in common: they say why they cannot be used, and some start a run."""

import bpy

from .. import running
from ..errors import SetupError


class Explains:
    """An operator whose button says why it is grey."""

    @classmethod
    def poll(cls, context):
        reason = cls.why_not(context)
        if running.current is not None:
            reason = f"{running.current.title} is still running"
        if reason:
            cls.poll_message_set(reason)
        return not reason

    @staticmethod
    def why_not(context) -> str:
        """Why it cannot be used although nothing runs, or ""."""
        return ""


class Starts(Explains):
    """An operator that starts a run."""

    def begin(self, title: str, work):
        """Start it. In a window it goes on by itself; without one it has ended when this returns."""
        try:
            running.start(title, work)
        except SetupError as problem:
            self.report({"ERROR"}, str(problem))
            return {"CANCELLED"}
        if running.current is not None:
            return {"FINISHED"}
        if running.error:
            self.report({"ERROR"}, running.error)
            return {"CANCELLED"}
        if running.message:
            self.report({"INFO"}, running.message)
        return {"FINISHED"}


def push_undo(text: str) -> None:
    """One step back for what a run did, whose steps were taken by a timer."""
    windows = bpy.context.window_manager.windows
    if bpy.app.background or not windows:
        bpy.ops.ed.undo_push(message=text)
        return
    with bpy.context.temp_override(window=windows[0]):
        bpy.ops.ed.undo_push(message=text)
