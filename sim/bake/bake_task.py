"""Bakes as tasks: the command line and the worker both run these."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jellycage.sim.bake.bake import Bake, Progress, bake
from jellycage.sim.bake.exports import Export, write_export
from jellycage.sim.bake.preview import check_preview, write_preview
from jellycage.sim.bake.report import write_report
from jellycage.sim.errors import SettingsError
from jellycage.sim.scene.build import STANDING, build_shot
from jellycage.sim.scene.scene_file import SceneFile
from jellycage.sim.scene.shot import Shot, write_motion_file
from jellycage.toolkit.atomic_file import check_writable
from jellycage.toolkit.compile_kernels import COMPILING

STEP_SECONDS = 0.5  # a frame that takes longer is reported on in between

Emit = Callable[[dict[str, Any]], None]
"""Is given what happens, as JSON has it: {"event": "stage" | "frame", ...}."""


@dataclass(frozen=True)
class MotionFile:
    """Where the motion of a ragdoll's bones is written."""

    ragdoll: int
    """Its number in the shot."""
    path: Path
    """.bvh or .json."""
    up_axis: str | None = None


@dataclass(frozen=True)
class BakeTask:
    """A shot to be built, where to bake it, and what to make of it."""

    build: Callable[[Callable[[str, float], None]], Shot]
    """Makes the shot; is given a function that is told (stage, fraction)."""
    cache: Path
    """Folder of the bake."""
    exports: tuple[Export, ...] = ()
    motions: tuple[MotionFile, ...] = ()
    preview: Path | None = None
    """.png or .gif."""
    report: Path | None = None
    """.html."""
    velocities: bool = False
    resume: bool = False
    force: bool = False
    keep_going: bool = False
    """Whether to bake on when a body is in trouble."""
    elements: frozenset[str] = frozenset()
    """Kinds of element that it simulates: they can be compiled meanwhile."""

    @classmethod
    def of_scene(cls, scene: SceneFile, cache: Path, exports=(), **options) -> "BakeTask":
        """Bake a scene file."""
        up_axis = scene.output.up_axis
        motions = [
            MotionFile(number, path, up_axis)
            for number, entry in enumerate(scene.ragdolls)
            for path in entry.motion
        ]
        return cls(
            lambda progress: build_shot(scene, progress=progress),
            cache,
            tuple(exports),
            tuple(motions),
            elements=frozenset(body.element for body in scene.bodies),
            **options,
        )

    def check(self) -> None:
        """Stop before the work if something could not be written after it."""
        for export in self.exports:
            export.check()
        if self.preview is not None:
            check_preview(self.preview)
        others = [path for path in (self.preview, self.report) if path is not None]
        others += [motion.path for motion in self.motions]
        for path in others:
            check_writable(path)
        paths = [path.resolve() for path in (*(export.path for export in self.exports), *others)]
        for path in paths:
            if paths.count(path) > 1:
                raise SettingsError(f"{path}: is to be written twice; give each output a name")

    def run(
        self, emit: Emit, is_cancelled: Callable[[], bool] = lambda: False, helpers=()
    ) -> dict[str, Any]:
        """Build, bake, export; returns what `bake --json` prints. helpers: processes that compile meanwhile."""
        return self.finish(emit, is_cancelled, helpers).facts()

    def finish(
        self, emit: Emit, is_cancelled: Callable[[], bool] = lambda: False, helpers=()
    ) -> "Outcome":
        """The same; returns what it came to."""
        self.check()
        began = time.perf_counter()

        def report(stage, share):
            # The first that runs what the helpers compile.
            if stage.endswith(STANDING):
                _await(helpers, emit)
            _stage(emit, stage, float(share))

        shot = self.build(report)
        _await(helpers, emit)
        result = bake(
            shot,
            self.cache,
            velocities=self.velocities,
            resume=self.resume,
            force=self.force,
            keep_going=self.keep_going,
            progress=_Teller(emit),
            is_cancelled=is_cancelled,
        )
        written = self._write(shot, result, emit)
        return Outcome(self, shot, result, written, time.perf_counter() - began)

    def _write(self, shot: Shot, result: Bake, emit: Emit) -> list[Path]:
        """Make files of a bake; what was written, but for preview and report."""
        written = []
        for export in self.exports:

            def tell(share, stage=f"writing {export.path.name}"):
                _stage(emit, stage, share)

            written += write_export(result.cache, export, progress=tell)
        for file in self.motions:
            _stage(emit, f"writing {file.path.name}", 0.0)
            motion = shot.motion(file.ragdoll, result.poses)
            write_motion_file(shot.dolls[file.ragdoll], motion, file.path, up_axis=file.up_axis)
            written.append(file.path)
        if self.report is not None:
            notes = _warnings(shot, result)
            write_report(self.report, result, title=self.cache.name, notes=notes)
        if self.preview is not None:
            stage = f"drawing {self.preview.name}"
            write_preview(
                self.preview, shot, result.cache, progress=lambda share: _stage(emit, stage, share)
            )
        return written


def _stage(emit: Emit, stage: str, share: float) -> None:
    emit({"event": "stage", "stage": stage, "fraction": round(share, 4)})


class _Teller:
    """Says where a bake is, after every frame and within slow ones."""

    def __init__(self, emit: Emit):
        self.emit, self.told_at = emit, time.perf_counter()

    def __call__(self, progress: Progress) -> None:
        now = time.perf_counter()
        if not progress.is_frame_done and now - self.told_at < STEP_SECONDS:
            return
        self.told_at = now
        self.emit(
            {
                "event": "frame" if progress.is_frame_done else "substep",
                "frame": progress.frame,
                "substep": progress.substep,
                "fraction": round(progress.done, 4),
                "seconds": round(progress.seconds, 3),
                "eta": round(progress.eta, 3),
                "volume_error": None if np.isnan(progress.volume_error) else progress.volume_error,
                "contacts": progress.contacts,
            }
        )


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a task came to."""

    task: BakeTask
    shot: Shot
    result: Bake
    written: list[Path]
    seconds: float

    def ms_per_step(self) -> float | None:
        """Of the frames that this run simulated [ms]; None if it simulated none."""
        result = self.result
        if not result.baked:
            return None
        spent = result.column("step_seconds") + result.column("contact_seconds")
        steps = result.baked * self.shot.substeps
        return round(1e3 * float(spent[-result.baked :].sum()) / steps, 4)

    def facts(self) -> dict[str, Any]:
        """What `bake --json` prints."""
        task, shot, result = self.task, self.shot, self.result
        is_soft = bool(shot.scene.bodies)
        is_smooth = any(skin.smooth is not None for skin in shot.skins)
        greatest = {
            name: float(np.abs(result.column(name)).max())
            for name in (
                "volume_error",
                "overlap_depth",
                "overlap_volume",
                "smooth_distance",
                "joint_gap",
                "rod_length_error",
            )
        }
        has_rigid = shot.scene.has_rigid
        return {
            "frames": len(result.measured),
            "first_frame": shot.frames[0],
            "fps": shot.fps,
            "substeps": shot.substeps,
            "seconds": round(self.seconds, 3),
            "ms_per_step": self.ms_per_step(),
            "volume_error_max": greatest["volume_error"] if is_soft else None,
            "contacts_max": int(result.column("contacts").max()),
            "overlap_depth_max": greatest["overlap_depth"] if is_soft else None,
            "overlap_volume_max": greatest["overlap_volume"] if is_soft else None,
            "min_J": float(result.column("min_J").min()) if is_soft else None,
            "smooth_distance_max": greatest["smooth_distance"] if is_smooth else None,
            "joint_gap_max": greatest["joint_gap"] if has_rigid else None,
            "rod_length_error_max": greatest["rod_length_error"] if has_rigid else None,
            "solver": _solver(shot),
            "elements": sum(len(body.asset.elements) for body in shot.scene.bodies),
            "rigid_bodies": shot.rigid_rows[-1].stop if shot.rigid_rows else 0,
            **shot.stiffness,
            "warnings": _warnings(shot, result),
            "cache": str(task.cache),
            "output": [str(path) for path in self.written] or [str(task.cache)],
            "preview": task.preview and str(task.preview),
            "report": task.report and str(task.report),
        }


def _warnings(shot: Shot, result: Bake) -> list[str]:
    """What a user should know of a bake, in sentences, what matters most first."""
    return [*result.troubles, *result.cautions, *shot.notes]


def _await(helpers, emit: Emit) -> None:
    """Wait until everything is compiled."""
    for helper in helpers:
        if helper is not None:
            if helper.poll() is None:
                _stage(emit, COMPILING, 0.0)
            helper.wait()


def _solver(shot: Shot) -> str:
    """How the scene was simulated, in words."""
    words = []
    if shot.scene.bodies:
        settings = shot.scene.solver
        words.append(f"{settings.integrator}, at most {settings.newton_iterations} Newton steps")
    if shot.scene.has_rigid:
        settings = shot.scene.rigid_solver
        words.append(
            f"rigid bodies at {settings.substeps} substeps of {settings.iterations} iterations"
        )
    return "; ".join(words)
