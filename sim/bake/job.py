"""A job: a scene, where to bake it, and what to make of it. The command line and the worker both run these."""

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
from jellycage.sim.scene.build import build_shot
from jellycage.sim.scene.scene_file import SceneFile
from jellycage.sim.scene.shot import Shot, write_motion_file
from jellycage.toolkit.atomic_file import check_writable
from jellycage.toolkit.compile_kernels import COMPILING

STEP_SECONDS = 0.5  # a frame that takes longer is reported on in between

Emit = Callable[[dict[str, Any]], None]
"""Is given what happens, as JSON has it: {"event": "stage" | "frame", ...}."""


@dataclass(frozen=True)
class Job:
    """What is to be done."""

    scene: SceneFile
    cache: Path
    """Folder of the bake."""
    exports: tuple[Export, ...] = ()
    preview: Path | None = None
    """.png or .gif."""
    report: Path | None = None
    """.html."""
    velocities: bool = False
    resume: bool = False
    force: bool = False

    def check(self) -> None:
        """Stop before the work if something could not be written after it."""
        for export in self.exports:
            export.check()
        if self.preview is not None:
            check_preview(self.preview)
        others = [path for path in (self.preview, self.report) if path is not None]
        others += [path for ragdoll in self.scene.ragdolls for path in ragdoll.motion]
        for path in others:
            check_writable(path)
        paths = [path.resolve() for path in (*(export.path for export in self.exports), *others)]
        for path in paths:
            if paths.count(path) > 1:
                raise SettingsError(f"{path}: is to be written twice; give each output a name")

    @property
    def elements(self) -> set[str]:
        """Kinds of element that it simulates."""
        return {body.element for body in self.scene.bodies}

    def run(self, emit: Emit, is_cancelled: Callable[[], bool], helpers=()) -> dict[str, Any]:
        """`run_job`, as every task of the worker has it."""
        return run_job(self, emit, is_cancelled, helpers)


def run_job(
    job: Job, emit: Emit, is_cancelled: Callable[[], bool] = lambda: False, helpers=()
) -> dict:
    """Build, bake, export; returns what `bake --json` prints. helpers: processes that compile meanwhile, or None."""
    job.check()
    began = time.perf_counter()
    shot = build_shot(
        job.scene,
        progress=lambda stage, share: emit(
            {"event": "stage", "stage": stage, "fraction": round(float(share), 4)}
        ),
    )
    for helper in helpers:
        if helper is not None:
            if helper.poll() is None:
                _stage(emit, COMPILING, 0.0)
            helper.wait()
    result = bake(
        *(shot, job.cache),
        velocities=job.velocities,
        resume=job.resume,
        force=job.force,
        progress=_Teller(emit),
        is_cancelled=is_cancelled,
    )
    written = []
    for export in job.exports:
        stage = f"writing {export.path.name}"
        written += write_export(
            *(result.cache, export),
            progress=lambda share, stage=stage: _stage(emit, stage, share),
        )
    written += _write_motions(job, shot, result)
    if job.report is not None:
        write_report(job.report, result, title=job.cache.name, notes=shot.notes)
    if job.preview is not None:
        stage = f"drawing {job.preview.name}"
        write_preview(
            *(job.preview, shot, result.cache), progress=lambda share: _stage(emit, stage, share)
        )
    return _facts(job, shot, result, written, time.perf_counter() - began)


def _write_motions(job: Job, shot: Shot, result: Bake) -> list[Path]:
    """Write the motion of the bones of every ragdoll that asks for it; what was written."""
    written = []
    for number, entry in enumerate(job.scene.ragdolls):
        for path in entry.motion:
            motion = shot.motion(number, result.poses)
            write_motion_file(shot.dolls[number], motion, path, up_axis=job.scene.output.up_axis)
            written.append(path)
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


def _facts(job: Job, shot: Shot, result: Bake, written: list[Path], seconds: float) -> dict:
    steps = max(result.baked * shot.substeps, 1)
    spent = result.column("step_seconds") + result.column("contact_seconds")
    spent = spent[len(spent) - result.baked :].sum() if result.baked else 0.0
    is_soft = bool(shot.scene.bodies)
    return {
        "frames": len(result.measured),
        "first_frame": shot.frames[0],
        "fps": shot.fps,
        "substeps": shot.substeps,
        "seconds": round(seconds, 3),
        "ms_per_step": round(1e3 * float(spent) / steps, 4) if result.baked else None,
        "volume_error_max": float(np.abs(result.column("volume_error")).max()) if is_soft else None,
        "contacts_max": int(result.column("contacts").max()),
        "min_J": float(result.column("min_J").min()) if is_soft else None,
        "smooth_distance_max": float(result.column("smooth_distance").max())
        if any(skin.smooth is not None for skin in shot.skins)
        else None,
        "solver": _solver(shot),
        "elements": sum(len(body.elements.corners) for body in shot.scene.bodies),
        "rigid_bodies": shot.rigid_rows[-1].stop if shot.rigid_rows else 0,
        "warnings": list(shot.notes),
        "cache": str(job.cache),
        "output": [str(path) for path in written] or [str(job.cache)],
        "preview": job.preview and str(job.preview),
        "report": job.report and str(job.report),
    }


def _solver(shot: Shot) -> str:
    """How the scene was simulated, in words."""
    words = []
    if shot.scene.bodies:
        most = shot.scene.solver.newton_iterations
        words.append(f"implicit Euler, at most {most} Newton steps")
    if shot.scene.has_rigid:
        settings = shot.scene.rigid_solver
        words.append(
            f"rigid bodies at {settings.substeps} substeps of {settings.iterations} iterations"
        )
    return "; ".join(words)
