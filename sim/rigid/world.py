"""A world of rigid bodies: what is in it, and stepping it.

Position-level dynamics after thesis 000, chapters 6 and 7; see `motion_kernels`, `joints_kernels`, `rods_kernels` and
`contacts_kernels` for what each part does and where it differs.

Limitations: Gauss-Seidel converges slowly where a heavy body hangs on a light one; more iterations, or better more
substeps, help. Orientation changes of more than half a radian per step are resolved by further substeps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.sim.contact.convex.detection import detection_work, grown, rigid_contacts
from jellycage.sim.errors import SettingsError, SolverError
from jellycage.sim.maths import quaternions
from jellycage.sim.rigid.body import BodyArrays, RigidBody, RigidState
from jellycage.sim.rigid.joints import JOINT_KEPT, Joint, joint_arrays
from jellycage.sim.rigid.residuals import Residuals, residuals
from jellycage.sim.rigid.rods import ROD_KEPT, Rod, rod_arrays
from jellycage.sim.rigid.step_kernels import RigidTables, advance
from jellycage.sim.shapes import Shape
from jellycage.sim.shapes.colliders import Collider, as_collider
from jellycage.sim.shapes.cores import shape_arrays
from jellycage.sim.shapes.static_mesh import StaticMesh, mesh_arrays
from jellycage.toolkit.arrays import frozen

MOST_TURN = 0.5  # [rad] per substep
MOST_SUBSTEPS = 24
MARGIN = 0.005  # [m] within which a contact is kept track of


@dataclass(frozen=True)
class RigidSettings:
    """How hard the solver tries."""

    substeps: int = 8
    """Steps per call of `RigidWorld.step`; fast turning takes more."""
    iterations: int = 20
    """Sweeps of Gauss-Seidel per substep."""
    sleep_speed: float = 0.03
    """Bodies slower than this may fall asleep [m/s]; 0: never."""
    sleep_time: float = 0.5
    """After so long [s]."""

    def __post_init__(self):
        for name in ("substeps", "iterations"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name}: expected at least 1, got {getattr(self, name)}")
        for name in ("sleep_speed", "sleep_time"):
            if not getattr(self, name) >= 0.0:
                raise SettingsError(f"{name}: expected 0 or more, got {getattr(self, name)}")


class Scratch(NamedTuple):
    """Room for a step."""

    inverse_mass: NDArray[np.float64]
    """Inverse masses [1/kg], 0 of what does not move, shape (n,)."""
    inverse_inertia: NDArray[np.float64]
    """Inverse inertias in the world, gyroscopic part included, shape (n, 3, 3)."""
    symmetric_inverse_inertia: NDArray[np.float64]
    """Their symmetric parts, of which effective masses are made, shape (n, 3, 3)."""
    linear: NDArray[np.float64]
    """Displacements [m], shape (n, 3)."""
    angular: NDArray[np.float64]
    """Displacements [rad], shape (n, 3)."""
    velocity_linear: NDArray[np.float64]
    """Displacements that velocities are made of [m], shape (n, 3)."""
    velocity_angular: NDArray[np.float64]
    """[rad], shape (n, 3)."""
    island: NDArray[np.int64]
    island_slow_time: NDArray[np.float64]
    has_large_error: NDArray[np.bool_]
    """Whether an error is too large to become velocity, shape (1,)."""
    work3: NDArray[np.float64]
    work4: NDArray[np.float64]
    work6: NDArray[np.float64]
    work_rod: NDArray[np.float64]


def scratch_for(count: int) -> Scratch:
    """Room for a step of so many bodies."""
    return Scratch(
        inverse_mass=np.zeros(count),
        inverse_inertia=np.zeros((count, 3, 3)),
        symmetric_inverse_inertia=np.zeros((count, 3, 3)),
        linear=np.zeros((count, 3)),
        angular=np.zeros((count, 3)),
        velocity_linear=np.zeros((count, 3)),
        velocity_angular=np.zeros((count, 3)),
        island=np.zeros(count, np.int64),
        island_slow_time=np.zeros(count),
        has_large_error=np.zeros(1, bool),
        work3=np.zeros((4, 3, 3)),
        work4=np.zeros((6, 4)),
        work6=np.zeros(6),
        work_rod=np.zeros((16, 3)),
    )


class KeptPushes(NamedTuple):
    """Multipliers of the contacts of the last step, to start the next one from."""

    key: NDArray[np.int64]
    local: NDArray[np.float64]
    push: NDArray[np.float64]
    is_taken: NDArray[np.bool_]


class Led(NamedTuple):
    """Where colliders are at the start of each substep, and the velocities that take them to the next."""

    p: NDArray[np.float64]
    q: NDArray[np.float64]
    v: NDArray[np.float64]
    w: NDArray[np.float64]


def kept_pushes(room: int) -> KeptPushes:
    """Room for the multipliers of so many contacts."""
    return KeptPushes(
        key=np.zeros(room, np.int64),
        local=np.zeros((room, 3)),
        push=np.zeros((room, 3)),
        is_taken=np.zeros(room, bool),
    )


class RigidWorld:
    """Rigid bodies, joints, rods and their surroundings, with the state that steps change.

    Bodies are numbered as given; `colliders` are planes, spheres, boxes and capsules, which may move;
    `meshes` are static. Bodies that a joint or a rod connects do not collide with each other, nor do the pairs in
    `excluded_pairs`.
    """

    def __init__(
        self,
        bodies: Sequence[RigidBody],
        joints: Sequence[Joint] = (),
        rods: Sequence[Rod] = (),
        *,
        colliders: Sequence[Collider | Shape] = (),
        meshes: Sequence[StaticMesh] = (),
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        settings: RigidSettings | None = None,
        excluded_pairs: ArrayLike = (),
    ):
        self.settings = settings or RigidSettings()
        self.gravity = frozen(np.array(gravity, np.float64))
        self.bodies, self.colliders = tuple(bodies), tuple(map(as_collider, colliders))
        self.time, self.last_h, self.moving = 0.0, 0.0, len(self.bodies)
        self.shapes = [
            *([body.shapes for body in self.bodies]),
            *([c.shape] for c in self.colliders),
            [],
        ]
        count = len(self.shapes)
        self.world = count - 1  # stands for everything that is fixed
        centres = np.zeros((count, 3))
        centres[: self.moving] = [b.properties.centre for b in self.bodies] or np.zeros((0, 3))
        self.shape_arrays = shape_arrays(self.shapes, centres)
        self.meshes = mesh_arrays(meshes)
        self.state = self._start(count)
        self.arrays = self._body_arrays(count)
        self.joints = joint_arrays(joints, self.state, self.arrays, self.world)
        self.rods = rod_arrays(rods, self.state, self.arrays, self.world)
        self.scratch = scratch_for(count)
        self.excluded = _pair_numbers(self.joints.body, self.rods.body, excluded_pairs, count)
        self.work = detection_work(self.shape_arrays, self.meshes)
        self.contacts, self.kept = rigid_contacts(256), kept_pushes(256)
        self.counts = np.zeros(2, np.int64)

    def _start(self, count) -> RigidState:
        p, q, v, w = (
            np.zeros((count, 3)),
            np.zeros((count, 4)),
            np.zeros((count, 3)),
            np.zeros((count, 3)),
        )
        q[:, 0] = 1.0
        for i, body in enumerate(self.bodies):
            p[i], q[i], v[i], w[i] = body.centre(), body.rotation, body.velocity, body.spin
        return RigidState(p, q, v, w, np.zeros(count), np.zeros(count, bool), np.arange(count))

    def _body_arrays(self, count) -> BodyArrays:
        inverse_mass, inertia = np.zeros(count), np.zeros((count, 3, 3))
        inverse, damping = np.zeros((count, 3, 3)), np.zeros((count, 2))
        friction, restitution = np.full(count, 0.5), np.zeros(count)
        for i, body in enumerate(self.bodies):
            properties = body.properties
            inverse_mass[i], inertia[i] = 1.0 / properties.mass, properties.inertia
            inverse[i] = np.linalg.inv(properties.inertia)
            damping[i] = body.linear_damping, body.angular_damping
        for i, body in enumerate((*self.bodies, *self.colliders)):
            friction[i], restitution[i] = body.friction, body.restitution
        reach = np.zeros(count)
        np.maximum.at(reach, self.shape_arrays.body, self.shape_arrays.reach)
        least = np.ascontiguousarray(np.linalg.eigvalsh(inertia)[:, 0])
        return BodyArrays(
            inverse_mass=inverse_mass,
            inertia=inertia,
            inverse_inertia=inverse,
            least_inertia=least,
            friction=friction,
            restitution=restitution,
            damping=damping,
            reach=reach,
        )

    def step(self, dt: float) -> None:
        """Advance by dt [s], in as many substeps as settings and fast turning ask for."""
        fastest = np.sqrt((self.state.w[: self.moving] ** 2).sum(axis=1).max(initial=0.0))
        wanted = min(np.ceil(fastest * dt / MOST_TURN), MOST_SUBSTEPS)
        self.advance(dt, max(self.settings.substeps, int(wanted)))

    def advance(self, dt: float, substeps: int) -> None:
        """Advance by dt [s] in a given number of substeps."""
        h, settings = dt / substeps, self.settings
        sleep = settings.sleep_speed, settings.sleep_time
        if self.time == 0.0:
            # Velocities are those half-way through steps; those of the start are half a step on.
            self.state.v[: self.moving] -= 0.5 * h * self.gravity
        self._rescale(h)
        led, done = self._led(h, substeps), 0
        while True:
            done = advance(
                self._tables(), led, self.gravity, self.moving,
                h, done, substeps, settings.iterations, MARGIN, sleep,
            )  # fmt: skip
            if done == substeps:
                break
            self._grow()
        self.time += dt
        if not (np.isfinite(self.state.p).all() and np.isfinite(self.state.q).all()):
            raise SolverError("rigid bodies: a position is no number; use more substeps")

    def _tables(self) -> RigidTables:
        return RigidTables(
            state=self.state,
            bodies=self.arrays,
            shapes=self.shape_arrays,
            meshes=self.meshes,
            joints=self.joints,
            rods=self.rods,
            contacts=self.contacts,
            kept=self.kept,
            counts=self.counts,
            scratch=self.scratch,
            work=self.work,
            excluded=self.excluded,
        )

    def _rescale(self, h):
        """Make the multipliers of the last step fit a step of another length: they are forces times h^2."""
        if self.last_h > 0.0 and h != self.last_h:
            scale = (h / self.last_h) ** 2
            joints, rods = self.joints, self.rods
            for array in (joints.push, joints.kept_push, rods.push):
                array *= scale
            for array in (joints.swing[:, 3], joints.twist[:, 3], rods.limit_push, rods.kept_push):
                array *= scale
            self.kept.push[:] *= scale
        self.last_h = h

    def _grow(self):
        """Room for the contacts that the last step needed."""
        self.work, self.contacts = grown(self.work, self.contacts)
        if len(self.contacts.gap) > len(self.kept.key):
            kept = self.kept
            self.kept = kept_pushes(len(self.contacts.gap))
            for old, new in zip(kept, self.kept, strict=True):
                new[: len(old)] = old

    def _led(self, h, substeps) -> Led:
        """Where the colliders are led during the next substeps."""
        shape = substeps + 1, len(self.colliders)
        p, q = np.zeros((*shape, 3)), np.zeros((*shape, 4))
        for i, collider in enumerate(self.colliders):
            for step in range(substeps + 1):
                pose = collider.motion.pose(self.time + step * h)
                p[step, i] = pose[9:]
                q[step, i] = quaternions.of_matrices(pose[:9].reshape(3, 3))
        turns = quaternions.product(q[1:], quaternions.inverse(q[:-1]))
        return Led(p[:-1], q[:-1], np.diff(p, axis=0) / h, quaternions.turn_vectors(turns) / h)

    def poses(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Where the frames of the bodies are: locations (b, 3) [m] and rotations (b, 4)."""
        q = self.state.q[: self.moving].copy()
        centres = np.array([b.properties.centre for b in self.bodies]).reshape(-1, 3)
        return self.state.p[: self.moving] - quaternions.turned(q, centres), q

    def memory(self) -> dict[str, NDArray]:
        """All that a continuation needs to give the same bits, as arrays with names."""
        kept = {name: array[: self.counts[1]] for name, array in self.kept._asdict().items()}
        parts = {
            "state": self.state._asdict(),
            "joint": {name: getattr(self.joints, name) for name in JOINT_KEPT},
            "rod": {name: getattr(self.rods, name) for name in ROD_KEPT},
            "contact": kept,
        }
        return {"time": np.array([self.time, self.last_h])} | {
            f"{part}_{name}": array.copy()
            for part, arrays in parts.items()
            for name, array in arrays.items()
        }

    def restore(self, memory: dict[str, NDArray]) -> None:
        """Go back to a memory of a world made of the same things."""
        self.time, self.last_h = map(float, memory["time"])
        count = len(memory["contact_key"])
        if count > len(self.contacts.gap):
            self.contacts, self.kept = rigid_contacts(count), kept_pushes(count)
        self.counts[:] = 0, count
        for part, owner, names in (
            ("state", self.state, RigidState._fields),
            ("joint", self.joints, JOINT_KEPT),
            ("rod", self.rods, ROD_KEPT),
        ):
            for name in names:
                getattr(owner, name)[...] = memory[f"{part}_{name}"]
        for name, array in self.kept._asdict().items():
            array[:count] = memory[f"contact_{name}"]

    def residuals(self) -> Residuals:
        """How well joints and rods hold now."""
        return residuals(self.state, self.joints, self.rods)

    def potential_energy(self) -> float:
        """Potential energy of the bodies [J]."""
        n = self.moving
        mass = 1.0 / self.arrays.inverse_mass[:n]
        return -float((mass[:, None] * self.state.p[:n] * self.gravity).sum())

    def energy(self) -> float:
        """Kinetic and potential energy of the bodies [J]; springs are not counted."""
        n, a = self.moving, self.arrays
        mass = 1.0 / a.inverse_mass[:n]
        turn = quaternions.as_matrices(self.state.q[:n])
        spin = np.einsum("nji,nj->ni", turn, self.state.w[:n])
        kinetic = (mass[:, None] * self.state.v[:n] ** 2).sum()
        kinetic += np.einsum("ni,nij,nj->", spin, a.inertia[:n], spin)
        return float(0.5 * kinetic - (mass[:, None] * self.state.p[:n] * self.gravity).sum())


def _pair_numbers(*pairs_and_count):
    """Pairs of bodies that do not collide, as sorted numbers a * count + b with a < b."""
    *lists, count = pairs_and_count
    pairs = np.concatenate([np.asarray(pairs, np.int64).reshape(-1, 2) for pairs in lists])
    low, high = pairs.min(axis=1, initial=count), pairs.max(axis=1, initial=0)
    return np.unique(low * count + high)
