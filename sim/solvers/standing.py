"""Standing: what a body loses of its height to its own weight, on a floor without friction under its start pose.

Forces scale with the stiffness, so how a body stands depends on its weight over its stiffness alone. `sagging` uses
that: it presses the body down with more or less than its weight, one Newton step at a time, until it sags as far as
asked, and makes the material that much softer or stiffer. The contacts are those of a bake, unilateral and at the
same points of the surface, without friction.

What would carry a body away from where it stands is held for each of its parts: the mean sideways motion, and the mean
turn. That leaves out how it would tip over, not how it gives way. A straight column of height L and radius of gyration
r that is held like that folds at rho g L^3 / (E r^2) = 17 if its foot may tilt, at 55 on a flat one (Greenhill's 7.84
is for one that may lean over). As the softest preset sags by a tenth, with rho g L / E = 0.2, a body with L / r above 9
is held straight as well, since it would hardly stand: layer by layer the mean sideways motion is none.

Parts that hang together with no other stand on floors of their own; the heaviest one counts.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.sim.contact.contact_points import contact_points
from jellycage.sim.contact.response_kernels import ContactRows
from jellycage.sim.contact.rows import new_rows, rows_from
from jellycage.sim.errors import SettingsError, SolverError
from jellycage.sim.materials.elastic import Elastic
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.constraints import Projection
from jellycage.sim.soft.points import Points, node_points, surface_points
from jellycage.sim.soft.presets import EARTH_GRAVITY, gravity_strength
from jellycage.sim.soft.state import State
from jellycage.sim.soft.system import system_of
from jellycage.sim.solvers.newton import Newton
from jellycage.sim.solvers.pin_holding import NOT_MOVED, PinsInStep
from jellycage.sim.solvers.quasistatic import static_increment
from jellycage.sim.solvers.settings import SolverSettings
from jellycage.sim.solvers.springs_kernels import NO_SPRINGS
from jellycage.toolkit.arrays import frozen
from jellycage.toolkit.asset.asset import Asset

ONE_STEP = SolverSettings(
    newton_iterations=1,
    newton_tolerance=0.0,
    linear_iterations=500,
    linear_tolerance=1e-2,
    stiffness="projected",
    precision=1e-12,
)
LINEAR_SHARE = 0.1  # of the tolerance of a sag: that of the linear solves
NEAR = 0.02  # of the sag: how near `sagging` comes
SETTLED = 0.005  # of the sag: what a last step may still change
SHORT = 0.2  # of a step: a body of which a step is cut shorter wants more care
FEATHER = 1e-3  # of a load: so little that the body answers in proportion
MOST_LOADS = 8
FOLDED = 1.1  # of a load: where one that is greater by this is too much, there is little in between
MOST_AT_ONCE = 20  # steps
MOST_STEPS = 6  # under one load of the others
DEPTH = 0.005  # of the sag: how deep below the floor a point may be left
TOUCH = 1e-6  # of the height: how deep the lowest points start below it
MOST_TO_REST = 200  # steps, for an exact answer
HARDNESS = 10.0  # of contacts, in the stiffness of their nodes
CANDIDATES = 0.6  # of the height: points above do not come down to the floor
SLENDER = 9.0  # heights in its radius of gyration, see above
MOST_LAYERS = 32
CHANGE = 1.25  # power of a change of load: a column wants 1, a ball about 1.6
LARGEST_CHANGE = 4.0  # of the load, from one step to the next
LOST = 1.25  # sags: a body that is pressed flatter goes back, lest it stays folded
HOLD = 1e-6  # of what holds a column: wells about where a step starts, for a body that leaves the floor
DEPENDENT = 1e-9  # of the longest row: a row that the others leave less of says nothing new
WRITTEN = ("raised", "pressure", "slip_stiffness", "is_active")


@dataclass(frozen=True, eq=False)
class Standing:
    """A body that stands."""

    x: NDArray[np.float64]
    """Node positions [m], shape (n, 3)."""
    sag: float
    """Fraction of its height that it has lost."""
    newton_iterations: int
    is_held_straight: bool
    """Whether it is so slender that it would fold."""


@dataclass(frozen=True, eq=False)
class Sagging:
    """A material that lets a body sag."""

    material: Elastic
    """The body's, stiffer or softer."""
    sag: float
    """Fraction of its height that the body loses."""
    is_reached: bool
    """Whether that is what was asked for."""
    is_held_straight: bool
    """Whether it is so slender that it would fold."""


def standing(
    body: SoftBody, *, gravity=(0.0, 0.0, -EARTH_GRAVITY), tolerance: float = 1e-3
) -> Standing:
    """How a body stands on a floor under its start pose, its sag within a fraction of itself.

    Pins, loads and motion of the body do nothing. Without gravity that of the Earth along -z counts.
    """
    stand = _Stand(
        body,
        gravity,
        replace(ONE_STEP, linear_tolerance=LINEAR_SHARE * tolerance, linear_iterations=5000),
    )
    stand.prepare(min(stand.column_sag(), 0.5), tolerance)
    before = 0.0
    for number in range(1, MOST_TO_REST):
        sag = stand.press(1.0)
        if stand.share == 0.0 or abs(sag - before) < tolerance * stand.share * abs(sag):
            return Standing(stand.state.x, sag, number, stand.is_held_straight)
        before = sag
    raise SolverError(
        f"standing: the body has not come to rest in {number} Newton iterations; use a stiffer material"
    )


def sagging(
    body: SoftBody, sag: float, *, gravity=(0.0, 0.0, -EARTH_GRAVITY), near: float = NEAR
) -> Sagging:
    """The body's material, made softer or stiffer so that it loses this fraction of its height, give or take `near`.

    Where a body cannot sag that far, what comes nearest. Without gravity that of the Earth along -z counts.
    """
    if not 0.0 < sag < 1.0:
        raise SettingsError(f"sagging: expected a sag between 0 and 1, got {sag}")
    stand = _Stand(body, gravity, ONE_STEP)
    stand.prepare(sag, DEPTH)
    load, found = _load_at_once(stand, sag, near) or _load_from_below(stand, sag, near)
    material = replace(body.material, young_modulus=body.material.young_modulus / load)
    return Sagging(material, found, abs(found / sag - 1.0) < near, stand.is_held_straight)


def _load_at_once(stand: "_Stand", sag: float, near: float) -> tuple[float, float] | None:
    """Load and sag, from steps that change the load as they find out about it; None for bodies that want more care."""
    load, before = sag / stand.column_sag(), 0.0
    for _ in range(MOST_AT_ONCE):
        found = stand.press(load)
        off = abs(found / sag - 1.0)
        if off < near and abs(found - before) < SETTLED * stand.share * sag:
            return load, found
        if stand.share < SHORT:
            return None
        # What the whole of the step would have come to.
        aim = before + (found - before) / stand.share
        is_lost = aim > LOST * sag
        before = found
        if is_lost:
            stand.go_back(sag / aim)
            before *= sag / aim
        if off > 0.5 * near or is_lost:
            change = (sag / max(aim, 1e-9)) ** CHANGE
            load *= float(np.clip(change, 1.0 / LARGEST_CHANGE, LARGEST_CHANGE))
    return None


def _load_from_below(stand: "_Stand", sag: float, near: float) -> tuple[float, float]:
    """The greatest load found under which the body comes to rest with no more than a sag, and what it sags by then."""
    stand.start()
    load = FEATHER * sag / stand.column_sag()
    load *= 0.5 * sag / max(stand.press(load), FEATHER**2 * sag)
    low, high, best = 0.0, np.inf, (load, 0.0)
    for _ in range(MOST_LOADS):
        kept = stand.kept()
        found = stand.settled(load, (1.0 + near) * sag)
        if found is None:
            high = load
            stand.restore(kept)
            load = float(np.sqrt(low * high)) if low else load / LARGEST_CHANGE
        else:
            low, best = load, (load, found)
            if found > (1.0 - near) * sag:
                break
            load = min(
                load * min(sag / max(found, 1e-9), LARGEST_CHANGE), float(np.sqrt(low * high))
            )
        if high < FOLDED * low:
            break
    return best


class _Stand:
    """A body on its floor, or floors, and what presses it down."""

    def __init__(self, body: SoftBody, gravity: ArrayLike, settings: SolverSettings):
        self.body = body = replace(body, pins=(), loads=(), rotation_method="isvd")
        down = np.asarray(gravity, float)
        self.down = down / np.linalg.norm(down) if down.any() else np.array([0.0, 0.0, -1.0])
        self.gravity = gravity_strength(gravity)
        self.newton = Newton(system_of([body]), settings)
        self.points = contact_points(body)
        self.seen = self._seen()
        self.part = body.part[self.points.nodes[:, 0]]
        drop = self.points.positions(body.start_positions()) @ self.down
        self.floor = np.full(body.part_count, -np.inf)
        np.maximum.at(self.floor, self.part, drop)
        self.above = self.floor[self.part] - drop
        heaviest = np.bincount(body.part, body.mass).argmax()
        counts = body.part[self.seen.nodes[:, 0]] == heaviest
        self.seen = Points(self.seen.nodes[counts], self.seen.weights[counts])
        self.lowest = self.floor[heaviest]
        self.height = float(
            (self.lowest - self.seen.positions(body.start_positions()) @ self.down).max()
        )
        if not self.height > 0.0:
            raise SettingsError("standing: the body has no height along gravity; turn it")

    def _seen(self) -> Points:
        """What shows how high it is: its vertices, or all nodes of a bare cage."""
        if not isinstance(self.body.asset, Asset):
            return node_points(np.arange(len(self.body.mass)))
        return surface_points(self.body.asset, np.arange(len(self.body.asset.surface_vertices)))

    def column_sag(self) -> float:
        """What a column of its height would lose, as a fraction."""
        young = float(np.mean(self.body.material.young_modulus))
        density = float(np.mean(self.body.material.density))
        return density * self.gravity * self.height / (2.0 * young)

    def prepare(self, sag: float, depth: float) -> None:
        """Make ready for a sag of about this, with points at most this fraction of it below the floor."""
        body, lost = self.body, sag * self.height
        slenderness = self.height / (SLENDER * self._radius())
        self.is_held_straight = slenderness > 1.0
        layers = min(int(np.ceil(2.0 * slenderness)), MOST_LAYERS) if slenderness > 1.0 else 1
        held = _held(body, self.down, layers)
        parts = body.part_count
        self.pins = PinsInStep(
            held,
            NOT_MOVED,
            NO_SPRINGS,
            is_free=np.zeros(parts, bool),
            is_flying=np.zeros(parts, bool),
            is_led=np.zeros(len(body.mass), bool),
            sliding=np.zeros((parts, 6)),
            drifting=np.zeros((parts, 6)),
            pace=np.zeros((parts, 3)),
            paces=np.zeros(parts),
        )
        # The coarse space takes the floor for wells that give by as much as the body does.
        self.inertia = body.mass * (self.gravity / (self.column_sag() * self.height))
        near = np.flatnonzero(self.above < CANDIDATES * self.height)
        nodes, weights = self.points.nodes[near], self.points.weights[near]
        element = self.points.element[near]
        # Points of one element share one stiffness: how fine the surface is must not matter.
        stiffness = (weights * body.stiffness_scale[nodes]).sum(axis=1)
        stiffness *= HARDNESS / np.bincount(element)[element]
        count = len(near)
        self.at_start = new_rows(
            rows=nodes,
            weights=weights,
            normal=np.tile(-self.down, (count, 1)),
            gap=self.above[near],
            slip=np.zeros((count, 3)),
            stiffness=stiffness,
            friction=np.zeros(count),
            tolerance=np.full(count, depth * lost),
        )
        self.start()

    def start(self) -> None:
        """Put the body back to where it starts, just into the floor, so that the lowest points carry it."""
        body = self.body
        into = np.tile(TOUCH * self.height * self.down, (len(body.mass), 1))
        x = body.start_positions() + into
        self.state = State(x, np.zeros_like(x), Newton.start_memory(body))
        none = {name: np.zeros_like(getattr(self.at_start, name)) for name in WRITTEN}
        self.contacts = rows_from(self.at_start._replace(**none), into)

    def go_back(self, share: float) -> None:
        """Keep a share of the way from the start, and of what the floor bears."""
        raised = share * self.contacts.raised
        moved = share * (self.state.x - self.body.start_positions())
        self.start()
        self.state.x[:] = self.body.start_positions() + moved
        self.contacts = rows_from(self.at_start._replace(raised=raised), moved)

    def press(self, load: float) -> float:
        """One Newton step under so many weights; returns the sag, and leaves the `share` of the step that was taken."""
        weight = (load * self.gravity * self.body.mass)[:, None] * self.down
        increment = static_increment(self.state, weight, self.pins)
        increment = increment._replace(inertia=self.inertia, weight=HOLD * self.inertia)
        effort = self.newton.solve(increment, [self.state.memory], self.contacts)
        self.share = effort.shortest
        self.state.x += self.newton.u
        self.newton.remember([self.state.memory])
        self.contacts = rows_from(self.contacts, self.newton.u)
        top = self.seen.positions(self.state.x) @ self.down
        return 1.0 - float((self.lowest - top).max()) / self.height

    def settled(self, load: float, most: float) -> float | None:
        """Its sag at rest under a load; None if it is more than `most` or it does not come to rest."""
        before = np.inf
        for _ in range(MOST_STEPS):
            sag = self.press(load)
            if sag > 2.0 * most:
                return None
            if abs(sag - before) < SETTLED * self.share * most:
                return sag if sag < most else None
            before = sag
        return None

    def kept(self):
        """All that changes, for `restore`."""
        return self.state.copy(), ContactRows(*(array.copy() for array in self.contacts))

    def restore(self, kept) -> None:
        """Go back to what `kept` gave."""
        self.state, self.contacts = kept

    def _radius(self) -> float:
        """Smallest radius of gyration sideways [m] of the body."""
        mass, x = self.body.mass, self.body.start_positions()
        sideways = (x - mass @ x / mass.sum()) @ _sideways(self.down).T
        return float(np.sqrt(np.linalg.eigvalsh((mass * sideways.T) @ sideways / mass.sum())[0]))


def _sideways(down) -> NDArray[np.float64]:
    """Two directions across another, shape (2, 3)."""
    return np.linalg.svd(down[None])[2][1:]


def _held(body: SoftBody, down, layers: int) -> Projection:
    """The motions that leave every layer of each part where it is in the mean, and every part as it is turned."""
    dofs, rows = [], []
    for part in range(body.part_count):
        nodes = np.flatnonzero(body.part == part)
        mass, x = body.mass[nodes], body.start_positions()[nodes]
        arm = x - mass @ x / mass.sum()
        rank = np.argsort(np.argsort(arm @ down, kind="stable"), kind="stable")
        layer = rank * min(layers, len(nodes)) // len(nodes)
        moves = [
            np.outer(layer == number, side)
            for number in range(layer.max() + 1)
            for side in _sideways(down)
        ]
        moves += [np.cross(axis, arm) for axis in np.eye(3)]
        momenta = np.array([(mass[:, None] * move).ravel() for move in moves])
        basis, size = np.linalg.qr(momenta.T)
        is_own = np.abs(np.diag(size)) > DEPENDENT * np.abs(size).max()
        rows += list(basis.T[is_own])
        dofs += is_own.sum() * [(3 * nodes[:, None] + np.arange(3)).ravel()]
    return Projection(
        frozen(np.zeros(3 * len(body.mass), np.uint8)),
        frozen(np.append(0, np.cumsum([len(row) for row in rows])).astype(np.int32)),
        frozen(np.concatenate(dofs).astype(np.int32)),
        frozen(np.concatenate(rows)),
    )
