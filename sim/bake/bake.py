"""Bake a shot: simulate frame by frame into a cache, with measures of every frame, resumable at any time."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.bake.cache import CHECKPOINT, Arrays, Cache, Facts, make_cache, open_cache
from jellycage.sim.bake.cautions import Cautions, slow_frames
from jellycage.sim.bake.health import REMEDY, Health
from jellycage.sim.bake.measures import COLUMNS, Measures, Meter
from jellycage.sim.errors import CacheError, Cancelled, SolverError
from jellycage.sim.scene.shot import Poses, Shot
from jellycage.sim.scene.state import SceneState

TROUBLES = (
    "health.troubles"  # in a checkpoint: what was the matter with each soft body first, or nothing
)
CHECKPOINT_SECONDS = 2.0  # a bake that is killed loses no more than this, and a frame


@dataclass(frozen=True)
class Progress:
    """What is known after a step."""

    frame: int
    """That is being simulated, or was just finished."""
    substep: int
    """Steps of it that are done."""
    is_frame_done: bool
    done: float
    """Fraction of the whole bake."""
    seconds: float
    """Since the bake began or was continued."""
    eta: float
    """Seconds that are left, as far as can be told."""
    volume_error: float
    contacts: int


@dataclass(frozen=True, eq=False)
class Bake:
    """What a bake came to."""

    cache: Cache
    measured: NDArray[np.float64]
    """One row per frame, see `Measures`."""
    seconds: float
    """Of this run; a bake that was continued took longer."""
    baked: int
    """Frames that this run simulated."""
    troubles: tuple[str, ...] = ()
    """What went wrong in it, body by body, if it was to keep going."""
    cautions: tuple[str, ...] = ()
    """What else a user should know of it, see `cautions`."""

    @cached_property
    def poses(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Locations (frames, n, 3) [m] and rotations (frames, n, 4) of all bodies of ragdolls and all rigid bodies."""
        return self.cache.all_poses()

    def column(self, name: str) -> NDArray[np.float64]:
        """One measure at every frame, shape (frames,)."""
        return self.measured[:, COLUMNS.index(name)]


def bake(
    shot: Shot,
    folder: str | Path,
    *,
    velocities: bool = False,
    resume: bool = False,
    force: bool = False,
    keep_going: bool = False,
    progress: Callable[[Progress], None] | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Bake:
    """Simulate a shot into a cache folder.

    A folder that holds the finished bake of the same shot is used as it is. One that holds an unfinished bake of it is
    continued with `resume`, one of another shot is replaced with `force`; otherwise they are refused with CacheError.
    A frame in which a body is torn apart, crushed or left inside out, see `health`, ends the bake with SolverError, and
    what was baked before is kept; so does asking for such a bake again. With `keep_going` it is noted.
    `is_cancelled` is asked after every step; Cancelled and KeyboardInterrupt leave a cache that can be continued.
    """
    cache, frame, arrays = _prepared(shot, folder, velocities, resume, force)
    return _Run(shot, cache, keep_going, progress, is_cancelled).finish(frame, arrays)


def _prepared(shot, folder, velocities, resume, force) -> tuple[Cache, int | None, Arrays]:
    """The cache to write to, and the frame and state to continue from, None if there is none."""
    folder = Path(folder)
    meshes = shot.meshes
    facts = Facts(
        digest=shot.digest,
        frames=tuple(shot.frames),
        fps=shot.fps,
        substeps=shot.substeps,
        names=tuple(mesh.name for mesh in meshes),
        vertex_counts=tuple(mesh.vertex_count for mesh in meshes),
        velocities=velocities,
    )
    if force or not (folder / "bake.json").exists():
        return make_cache(folder, facts, meshes), None, {}
    cache = open_cache(folder)
    if replace(cache.facts, velocities=velocities) != facts or velocities > cache.facts.velocities:
        raise CacheError(
            f"{folder}: holds a bake of another scene or of other settings; "
            "give another folder, or --force to replace it"
        )
    last, arrays = cache.read_checkpoint()
    done = cache.frames_done()
    if last == shot.frames[1] and len(done) == cache.frame_count:
        return cache, last, arrays
    if not resume:
        raise CacheError(
            f"{folder}: holds {len(done)} of {cache.frame_count} frames; "
            "--resume continues, --force starts again"
        )
    if last is not None and (not done or done[-1] < last):
        raise CacheError(f"{folder}: frames are missing; --force bakes all of them again")
    return cache, last, arrays


class _Run:
    """One run of a bake: a state that goes from frame to frame, and what is kept of it."""

    def __init__(self, shot: Shot, cache: Cache, keep_going: bool, progress, is_cancelled):
        self.shot, self.cache, self.keep_going = shot, cache, keep_going
        self.report = progress or (lambda progress: None)
        self.is_cancelled = is_cancelled
        self.stepper = shot.stepper()
        self.meter = Meter(shot, self.stepper)
        self.health = Health(shot.scene, shot.fps)
        self.ill_for = self.health.start()
        self.names = [skin.mesh.name for skin in shot.skins]
        self.cautions = Cautions(shot.scene, self.names, shot.fps, shot.substeps)
        self.noted = self.cautions.start()
        self.troubles: dict[int, str] = {}
        self.poses: Poses | None = None

    def finish(self, frame: int | None, arrays: Arrays) -> Bake:
        """Bake what is left after a frame whose state is in the arrays."""
        first, last = self.shot.frames
        self.began, self.first_baked = time.perf_counter(), first
        self.state = self.stepper.start()
        if frame is None:
            self.frame = first
            self.poses = self._write(first, self.state)
            self.measured = self.meter.measured(first, self.state)
            self.noted = self.cautions.after(first, self.state, self.ill_for, self.noted)
            self.cache.append_measures(self.measured.row(), 0)
            self._save()
        else:
            self.frame = frame
            self._restore(arrays)
        self._end_if(self.troubles)
        self.first_baked = self.saved = self.frame
        saved_at = time.perf_counter()
        try:
            while self.frame < last:
                self._step()
                if time.perf_counter() - saved_at > CHECKPOINT_SECONDS:
                    self._save()
                    saved_at = time.perf_counter()
        finally:
            # Also on Ctrl-C and on errors: what is finished is kept.
            if self.saved != self.frame:
                self._save()
        seconds = time.perf_counter() - self.began
        measured = self.cache.measures()
        return Bake(
            self.cache,
            measured,
            seconds,
            last - self.first_baked,
            tuple(self.troubles.values()),
            (
                *self.cautions.sentences(self.noted),
                *slow_frames(measured, [mesh.name for mesh in self.shot.meshes]),
            ),
        )

    def _restore(self, arrays: Arrays) -> None:
        rigid = self.stepper.rigid
        try:
            self.state.restore(arrays)
            if rigid is not None and rigid.has_begun(self.state.time):
                if not self.state.rigid:
                    raise KeyError("rigid")
                rigid.world_at(self.state.time, self.state.rigid)
            self.ill_for = {name: arrays[name] for name in self.ill_for}
            self.noted = {name: arrays[name] for name in self.noted}
            self.troubles = {n: str(text) for n, text in enumerate(arrays[TROUBLES]) if text}
        except (KeyError, TypeError, ValueError) as error:
            path = self.cache.folder / CHECKPOINT
            raise CacheError(f"{path}: does not fit this scene; bake again with --force") from error
        rows = self.cache.measures()[: self.frame - self.shot.frames[0] + 1]
        self.measured = Measures(*rows[-1])
        if rigid is not None:
            self.poses = self.cache.poses(self.frame)

    def _save(self) -> None:
        """Make the frames so far safe, and the state from which they can be continued."""
        said = np.array([self.troubles.get(n, "") for n in range(len(self.shot.skins))], np.str_)
        arrays = {**self.state.arrays(), **self.ill_for, **self.noted, TROUBLES: said}
        self.cache.write_checkpoint(self.frame, arrays)
        self.saved = self.frame

    def _step(self) -> None:
        """Simulate the next frame; only what is whole is kept."""
        shot, stepper, state = self.shot, self.stepper, self.state.copy()
        frame, before = self.frame + 1, replace(stepper.spent)
        names = self.names
        began = time.perf_counter()
        try:
            stepper.step(state, self._after_substep)
        except SolverError as error:
            raise error.at_frame(frame, names) from error
        ill_for, troubles = self.health.after(state, self.ill_for)
        troubles = {n: f"{names[n]}, frame {frame}: {text}" for n, text in troubles.items()}
        self._end_if(troubles)
        stepped = time.perf_counter()
        poses = self._write(frame, state)
        measured, spent = self.meter.measured(frame, state), stepper.spent
        measured.newton_iterations = spent.newton_iterations - before.newton_iterations
        measured.linear_iterations = spent.linear_iterations - before.linear_iterations
        measured.contact_seconds = spent.contact_seconds - before.contact_seconds
        measured.step_seconds = stepped - began - measured.contact_seconds
        measured.write_seconds = time.perf_counter() - stepped
        self.cache.append_measures(measured.row(), frame - shot.frames[0])
        self.frame, self.state, self.poses, self.measured = frame, state, poses, measured
        self.noted = self.cautions.after(frame, state, ill_for, self.noted)
        self.ill_for, self.troubles = ill_for, {**troubles, **self.troubles}
        self._tell(frame, shot.substeps)

    def _end_if(self, troubles: dict[int, str]) -> None:
        """Go no further with bodies in trouble, unless it is to keep going."""
        if troubles and not self.keep_going:
            raise SolverError(f"{next(iter(troubles.values()))}; {REMEDY}")

    def _after_substep(self, substep: int) -> None:
        if self.is_cancelled():
            raise Cancelled("stopped as asked; finished frames are kept, --resume continues")
        if substep < self.shot.substeps:
            self._tell(self.frame + 1, substep)

    def _write(self, frame: int, state: SceneState) -> Poses | None:
        """Write what is seen of a state at a frame; the poses of what is rigid in it."""
        shot, poses = self.shot, None
        pairs = list(zip(shot.skins, state.soft, strict=True))
        positions = [skin.positions(soft.x) for skin, soft in pairs]
        velocities = [skin.velocities(soft.v) for skin, soft in pairs]
        if self.stepper.rigid is not None:
            poses = shot.poses(self.stepper, frame, state)
            self.cache.write_poses(frame, poses)
            positions += shot.rigid_positions(frame, poses)
            if self.cache.facts.velocities:
                velocities += shot.rigid_velocities(frame, state, poses, self.poses)
        self.cache.write_frame(frame, positions, velocities)
        return poses

    def _tell(self, frame: int, substep: int) -> None:
        first, last = self.shot.frames
        is_done = substep == self.shot.substeps
        finished = frame - first - (0 if is_done else 1 - substep / self.shot.substeps)
        seconds = time.perf_counter() - self.began
        here = finished - (self.first_baked - first)
        self.report(
            Progress(
                frame=frame,
                substep=substep,
                is_frame_done=is_done,
                done=finished / max(last - first, 1),
                seconds=seconds,
                eta=seconds / here * (last - first - finished) if here > 0 else 0.0,
                volume_error=float(self.measured.volume_error),
                contacts=int(self.measured.contacts),
            )
        )
