"""Bake a shot: simulate frame by frame into a cache, with measures of every frame, resumable at any time."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.bake.cache import Cache, Checkpoint, Facts, make_cache, open_cache
from jellycage.sim.errors import CacheError, Cancelled, SolverError
from jellycage.sim.scene.build import Shot
from jellycage.sim.scene.rigid_run import RigidRun
from jellycage.sim.soft.elasticity import determinants
from jellycage.sim.soft.state import State, start_state
from jellycage.sim.solvers.implicit_euler import ImplicitEuler

COLUMNS = (
    "frame",
    "kinetic_energy",
    "elastic_energy",
    "potential_energy",
    "volume_error",
    "contacts",
    "min_J",
    "smooth_distance",
    "newton_iterations",
    "linear_iterations",
    "step_seconds",
    "contact_seconds",
    "write_seconds",
)
"""What is measured of each frame: energies [J], signed relative error of the volume that is furthest from 0, contacts,
least det F and greatest distance of a smooth surface from the one that collides [m] at its end, iterations of all its
steps, and time spent [s]. Without soft bodies volume and det F are NaN."""
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
    """One row per frame, see COLUMNS."""
    seconds: float
    """Of this run; a bake that was continued took longer."""
    baked: int
    """Frames that this run simulated."""
    track: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    """Locations (frames, n, 3) [m] and rotations (frames, n, 4) of all bodies of ragdolls and all rigid bodies."""

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
    progress: Callable[[Progress], None] | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Bake:
    """Simulate a shot into a cache folder.

    A folder that holds the finished bake of the same shot is used as it is. One that holds an unfinished bake of it is
    continued with `resume`, one of another shot is replaced with `force`; otherwise they are refused with CacheError.
    `is_cancelled` is asked after every step; Cancelled and KeyboardInterrupt leave a cache that can be continued.
    """
    cache, checkpoint = _prepared(shot, folder, velocities, resume, force)
    run = _Run(shot, cache, progress, is_cancelled)
    return run.finish(checkpoint)


def _prepared(shot, folder, velocities, resume, force) -> tuple[Cache, Checkpoint | None]:
    """The cache to write to, and where to continue from."""
    folder = Path(folder)
    meshes = shot.meshes
    facts = Facts(
        shot.digest,
        *(tuple(shot.frames), shot.fps, shot.substeps),
        tuple(mesh.name for mesh in meshes),
        tuple(mesh.vertex_count for mesh in meshes),
        velocities,
    )
    if force or not (folder / "bake.json").exists():
        return make_cache(folder, facts, meshes), None
    cache = open_cache(folder)
    if replace(cache.facts, velocities=velocities) != facts or velocities > cache.facts.velocities:
        raise CacheError(
            f"{folder}: holds a bake of another scene or of other settings; "
            "give another folder, or --force to replace it"
        )
    checkpoint = cache.read_checkpoint()
    done = cache.frames_done()
    last = checkpoint.frame if checkpoint else None
    if last == shot.frames[1] and len(done) == cache.frame_count:
        return cache, checkpoint
    if not resume:
        raise CacheError(
            f"{folder}: holds {len(done)} of {cache.frame_count} frames; "
            "--resume continues, --force starts again"
        )
    if last is not None and (not done or done[-1] < last):
        raise CacheError(f"{folder}: frames are missing; --force bakes all of them again")
    return cache, checkpoint


class _Run:
    """One run of a bake."""

    def __init__(self, shot: Shot, cache: Cache, progress, is_cancelled):
        self.shot, self.cache = shot, cache
        self.report = progress or (lambda progress: None)
        self.is_cancelled = is_cancelled
        scene = shot.scene
        self.solvers = [
            ImplicitEuler(
                *(body, scene.solver),
                gravity=scene.gravity,
                wind=scene.wind,
                colliders=scene.colliders,
            )
            for body in scene.bodies
        ]
        self.rest_volumes = [_solid_volume(body, body.elements.nodes) for body in scene.bodies]
        self.rigid = None if shot.rigid is None else RigidRun(shot.rigid)

    def finish(self, checkpoint: Checkpoint | None) -> Bake:
        """Bake what is left."""
        shot, began = self.shot, time.perf_counter()
        first, last = shot.frames
        self.began, self.first_baked = began, first
        if checkpoint is None:
            states = [start_state(body) for body in shot.scene.bodies]
            rigid = self._remembered({})
            self._write(first, states, rigid)
            checkpoint = Checkpoint(first, states, self._measured(first, states)[None], rigid)
            self.cache.write_checkpoint(checkpoint)
        elif self.rigid is not None:
            self.rigid.restore(checkpoint.frame, checkpoint.rigid)
        self.first_baked = checkpoint.frame
        saved, saved_at = checkpoint, time.perf_counter()
        try:
            while checkpoint.frame < last:
                checkpoint = self._frame(checkpoint)
                if time.perf_counter() - saved_at > CHECKPOINT_SECONDS:
                    self.cache.write_checkpoint(checkpoint)
                    saved, saved_at = checkpoint, time.perf_counter()
        finally:
            # Also on Ctrl-C and on errors: what is finished is kept.
            if saved is not checkpoint:
                self.cache.write_checkpoint(checkpoint)
        seconds = time.perf_counter() - began
        rigid = checkpoint.rigid
        track = (rigid["locations"], rigid["rotations"]) if rigid else None
        return Bake(self.cache, checkpoint.measured, seconds, last - self.first_baked, track)

    def _frame(self, checkpoint: Checkpoint) -> Checkpoint:
        """Simulate the frame after a checkpoint."""
        frame, shot = checkpoint.frame + 1, self.shot
        states = [state.copy() for state in checkpoint.states]
        effort = np.zeros(2)
        began = time.perf_counter()
        finding = -sum(solver.contact_seconds for solver in self.solvers)
        for substep in range(shot.substeps):
            for number, (solver, state) in enumerate(zip(self.solvers, states, strict=True)):
                try:
                    done = solver.step(state, state, shot.dt)
                except SolverError as error:
                    name = shot.skins[number].mesh.name
                    raise SolverError(
                        f"{name}, frame {frame}, substep {substep + 1}: {error}"
                    ) from error
                effort += done.newton_iterations, done.linear_iterations
            if self.is_cancelled():
                raise Cancelled("stopped as asked; finished frames are kept, --resume continues")
            if substep + 1 < shot.substeps:
                self._tell(checkpoint, frame, substep + 1)
        rigid = self._step_rigid(checkpoint)
        stepped = time.perf_counter()
        finding += sum(solver.contact_seconds for solver in self.solvers)
        self._write(frame, states, rigid)
        row = self._measured(frame, states)
        row[COLUMNS.index("newton_iterations") :][:2] = effort
        row[COLUMNS.index("step_seconds") :] = (
            stepped - began - finding,
            finding,
            time.perf_counter() - stepped,
        )
        measured = np.concatenate([checkpoint.measured, row[None]])
        result = Checkpoint(frame, states, measured, rigid)
        self._tell(result, frame, shot.substeps)
        return result

    def _step_rigid(self, checkpoint: Checkpoint) -> dict[str, NDArray]:
        """Take ragdolls and rigid bodies to the next frame; what to remember of them."""
        if self.rigid is None:
            return {}
        try:
            self.rigid.step()
        except SolverError as error:
            raise SolverError(f"frame {checkpoint.frame + 1}: {error}") from error
        return self._remembered(checkpoint.rigid)

    def _remembered(self, before: dict[str, NDArray]) -> dict[str, NDArray]:
        """What a checkpoint keeps of ragdolls and rigid bodies, given what the one before it kept."""
        if self.rigid is None:
            return {}
        track = {
            name: np.concatenate([before[name], pose[None]]) if before else pose[None]
            for name, pose in zip(("locations", "rotations"), self.rigid.poses(), strict=True)
        }
        return self.rigid.memory() | track

    def _write(self, frame, states: list[State], rigid: dict[str, NDArray]):
        """Write what is seen at a frame."""
        pairs = list(zip(self.shot.skins, states, strict=True))
        positions = [skin.positions(state.x) for skin, state in pairs]
        velocities = None
        if self.cache.facts.velocities:
            velocities = [skin.velocities(state.v) for skin, state in pairs]
        if self.rigid is not None:
            track = rigid["locations"], rigid["rotations"]
            positions += self.shot.rigid.positions(frame, *(pose[-1] for pose in track))
            if velocities is not None:
                before = tuple(pose[-2] for pose in track) if len(track[0]) > 1 else None
                velocities += self.rigid.velocities(before)
        self.cache.write_frame(frame, positions, velocities)

    def _measured(self, frame, states: list[State]) -> NDArray[np.float64]:
        """The row of a frame, without what was spent on it."""
        row = np.zeros(len(COLUMNS))
        errors, least = [], np.inf if self.solvers else np.nan
        scene = self.shot.scene
        for body, state, solver, rest in zip(
            scene.bodies, states, self.solvers, self.rest_volumes, strict=True
        ):
            momentum = body.mass[:, None] * state.v
            row[1] += 0.5 * (momentum * state.v).sum()
            row[2] += solver.newton.elastic_energy
            row[3] -= (body.mass[:, None] * state.x * scene.gravity).sum()
            errors.append(_solid_volume(body, state.x) / rest - 1.0)
            row[5] += len(state.grips)
            least = min(least, determinants(body, state.x).min())
        row[0], row[4], row[6] = frame, max(errors, key=abs, default=np.nan), least
        distances = (
            skin.smooth_distance(state.x)
            for skin, state in zip(self.shot.skins, states, strict=True)
        )
        row[7] = max(distances, default=0.0)
        if self.rigid is not None:
            kinetic, potential = self.rigid.energies()
            row[1] += kinetic
            row[3] += potential
            row[5] += self.rigid.contact_count
        return row

    def _tell(self, checkpoint: Checkpoint, frame: int, substep: int):
        first, last = self.shot.frames
        is_done = substep == self.shot.substeps
        finished = frame - first - (0 if is_done else 1 - substep / self.shot.substeps)
        seconds = time.perf_counter() - self.began
        here = finished - (self.first_baked - first)
        total = max(last - first, 1)
        eta = seconds / here * (last - first - finished) if here > 0 else 0.0
        row = checkpoint.measured[-1]
        self.report(
            Progress(
                *(frame, substep, is_done, finished / total, seconds, eta),
                *(float(row[4]), int(row[5])),
            )
        )


def _solid_volume(body, x) -> float:
    """Volume of the solid in a cage with node positions x (n, 3) [m^3]."""
    e = body.elements
    points = len(e.volumes) // len(e.corners)
    fill = np.repeat(body.asset.cage_fill, points)
    return float((fill * e.volumes * determinants(body, x)).sum())
