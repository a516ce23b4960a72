"""The one thing that is being worked on. It lives here, never in the .blend, and ends with Blender.

A run is a generator: it yields whenever Blender may do something else. In a window a timer takes it on, without one a
loop does, so that both do the same.
"""

import time
import traceback
from collections import deque
from collections.abc import Generator
from pathlib import Path

import bpy

from . import folders
from .child import Child
from .errors import SetupError, Stopped, disk_sentence, for_artists

INTERVAL = 0.1
SLICE = 0.05  # seconds that reading the scene may take before Blender gets its turn
LINGER = 8.0  # seconds that the end of a run is told in the status bar
PATIENCE = 0.6  # seconds that a child may take to stop before it is ended


class Run:
    """A piece of work, how far it is, and how it ended."""

    def __init__(self, title: str, work):
        self.title, self.text, self.fraction, self.eta = title, "Starting", 0.0, None
        self.is_cancelled, self.cancelled_at = False, 0.0
        self.child: Child | None = None
        self.warnings: list[str] = []
        self.steps: Generator = work(self)

    def advance(self) -> bool:
        """Do a bit; False when it has ended."""
        try:
            next(self.steps)
            return True
        except StopIteration as end:
            finish(end.value or "", noted=self.warnings)
        except Stopped as stop:
            finish(str(stop))
        except SetupError as problem:
            finish(problem=str(problem))
        except ReferenceError:
            finish(problem="The scene was changed while it was read: try again")
        except OSError as problem:
            finish(problem=disk_sentence(problem))
        except Exception:
            # A timer that raises is never called again, and the panel would wait forever.
            log.extend(traceback.format_exc().splitlines())
            finish(problem="Something unexpected happened: copy the log and report it")
        return False

    def cancel(self) -> None:
        """Stop soon, keeping what is finished."""
        if not self.is_cancelled:
            self.is_cancelled, self.cancelled_at = True, time.perf_counter()
            self.text = "Stopping"
            if self.child is not None:
                self.child.cancel()

    def work_on(self, job: Path):
        """Have a child work on a job; the value is what it made. To be used with `yield from`."""
        self.child = Child(job, folders.compiled_folder())
        try:
            facts, error = None, None
            while self.child.is_running() or not self.child.events.empty():
                while not self.child.events.empty():
                    event = self.child.events.get()
                    if event["event"] == "done":
                        facts = event
                    elif event["event"] == "error":
                        error = event
                    else:
                        self._follow(event)
                if facts is not None or error is not None:
                    break
                if self.is_cancelled and time.perf_counter() - self.cancelled_at > PATIENCE:
                    raise Stopped("Stopped")  # it is compiling, or in a very long step
                yield
            until = time.perf_counter() + PATIENCE
            while facts is None and self.child.is_running() and time.perf_counter() < until:
                yield
            code = self.child.process.poll()
        finally:
            log[:] = list(self.child.log)
            if facts is None:
                self.child.end(patience=0.1)
            else:
                leave_alone(self.child)
            self.child = None
        if error is not None and error.get("code") == 130:
            raise Stopped("Stopped")
        if error is not None:
            raise SetupError(for_artists(error["message"]))
        if facts is None:
            raise SetupError(f"The worker ended without a word (code {code}): copy the log")
        return facts

    def _follow(self, event):
        # A bake's cages are built in a moment: the bar is for its frames.
        if self.title != "Bake" or event["event"] != "stage":
            self.fraction = event.get("fraction", self.fraction)
        if event["event"] == "stage":
            if not self.is_cancelled:
                self.text = event["stage"][:1].upper() + event["stage"][1:]
            self.eta = None
        else:
            if not self.is_cancelled:
                self.text = f"Frame {event['frame']}"
            self.eta = event.get("eta")


current: Run | None = None
message, error, log = "", "", []
warnings: list[str] = []
"""What an artist should know of what was made last, in sentences, what matters most first."""
resumable: Path | None = None
"""The folder of a bake that was stopped."""
resumable_bodies: set[str] = set()
"""Uids and names of its bodies."""
finished_children: deque[Child] = deque()


def start(title: str, work) -> None:
    """Begin a run; a timer takes it on in a window, otherwise this returns when it has ended."""
    global current
    if current is not None:
        raise SetupError(f"{current.title} is still running: stop it first")
    finish()
    current = Run(title, work)
    if bpy.app.background:
        while current is not None:
            if current.advance():
                time.sleep(0.005)
        return
    bpy.app.timers.register(_tick, first_interval=0.0)


def _tick():
    """Called by Blender's timer."""
    if current is None:
        return None
    is_going_on = current.advance()
    redraw()
    return INTERVAL if is_going_on else None


def finish(said: str = "", *, problem: str = "", noted: list[str] = ()) -> None:
    """Note that nothing runs any more and how it ended, and show it."""
    global current, message, error, warnings, resumable, resumable_bodies
    current, message, error, warnings = None, said, problem, [*noted]
    resumable = folders.unfinished_bake()
    described = folders.read_json(resumable / folders.BODIES) if resumable is not None else None
    rows = described["bodies"] if described else []
    resumable_bodies = {row[name] for row in rows for name in ("uid", "object")}
    show_in_status_bar(problem or said)
    redraw()


def can_resume(scene) -> bool:
    """Whether a bake was stopped that is about something in a scene."""
    return resumable is not None and any(
        obj.jellycage.uid in resumable_bodies or obj.name in resumable_bodies
        for obj in scene.objects
        if obj.jellycage.role == "BODY"
    )


def complain(problem: str) -> None:
    """Show a problem that is not about what runs."""
    global error
    error = problem
    show_in_status_bar(problem)
    redraw()


def stop_all() -> None:
    """End whatever runs, at once: the file is being closed, or the extension switched off."""
    global current
    run, current = current, None
    if run is not None:
        run.is_cancelled = True
        run.steps.close()
    while finished_children:
        finished_children.popleft().end(patience=0.1)
    for timer in (_tick, clear_status):
        if bpy.app.timers.is_registered(timer):
            bpy.app.timers.unregister(timer)
    clear_status()


def leave_alone(child: Child) -> None:
    """Let a child that has said all compile what the next job needs; it is ended with Blender at the latest."""
    finished_children.append(child)
    while len(finished_children) > 1:
        finished_children.popleft().end(patience=0.0)


def redraw() -> None:
    """Show what has changed, in the panel and in the status bar."""
    manager = bpy.context.window_manager
    for window in manager.windows if manager is not None else ():
        for area in window.screen.areas:
            if area.type == "PREFERENCES":
                area.tag_redraw()
            elif area.type == "VIEW_3D":  # its sidebar only: drawing the scene may take long
                for region in area.regions:
                    if region.type == "UI":
                        region.tag_redraw()
        if current is not None:
            window.workspace.status_text_set(
                f"Jellycage: {current.title}, {current.text} {current.fraction:.0%}   ESC stops"
            )


def show_in_status_bar(text: str) -> None:
    """Say something at the bottom of every window for a while."""
    for workspace in bpy.data.workspaces:
        workspace.status_text_set(f"Jellycage: {text}" if text else None)
    if text and not bpy.app.background:
        if bpy.app.timers.is_registered(clear_status):
            bpy.app.timers.unregister(clear_status)
        bpy.app.timers.register(clear_status, first_interval=LINGER)


def clear_status() -> None:
    """Give the status bar back, unless a run needs it."""
    if current is None:
        show_in_status_bar("")


def forget() -> None:
    """What was said last is not true any more."""
    global message
    message = ""
    warnings.clear()


def sliced(frames, scene, record):
    """Visit frames of a scene in slices; the value is nothing. To be used with `yield from`, restores the frame."""
    run, before, subframe = current, scene.frame_current, scene.frame_subframe
    began = time.perf_counter()
    try:
        for count, frame in enumerate(frames):
            # Also the frame that is shown: what is animated may have been touched since.
            if len(frames) > 1 or frame != scene.frame_current or scene.frame_subframe:
                scene.frame_set(frame)
            record(frame)
            run.text, run.fraction = f"Reading frame {frame}", count / len(frames)
            if run.is_cancelled:
                raise Stopped("Stopped: nothing was baked")
            if time.perf_counter() - began > SLICE:
                yield
                began = time.perf_counter()
    finally:
        scene.frame_set(before, subframe=subframe)
