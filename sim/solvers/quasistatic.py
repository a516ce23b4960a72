"""Static equilibrium: where a body comes to rest under gravity, loads and pins.

Newton steps with a line search on the potential energy, one at a time. Projected stiffness makes each of them safe but
many, where a body bends far: they are the steps of a fixed-point iteration, and Anderson's mixing of the last few takes
it further wherever that lowers the energy. Wells about where a step starts shorten steps that go astray, and fade as
they get better (Levenberg); at rest they do nothing. So every step lowers the energy, and their number is bounded.
Where elements end up inside out the load is raised in stages. Thesis on interactive co-rotational FEM, sec. 3.2:
A = K, b = f. Anderson 1965, doi:10.1145/321296.321305; Walker, Ni 2011, doi:10.1137/10078356X.

Limitations: every part of the body must be held. Co-rotated elements take the rotation of the invertible SVD.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.errors import SettingsError, SolverError
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.constraints import Projection
from jellycage.sim.soft.elasticity import determinants
from jellycage.sim.soft.loads import force_on_nodes
from jellycage.sim.soft.state import State
from jellycage.sim.soft.system import system_of
from jellycage.sim.solvers.newton import Newton
from jellycage.sim.solvers.pin_holding import NOT_MOVED, PinsInStep, PinTracker
from jellycage.sim.solvers.problem_kernels import Increment
from jellycage.sim.solvers.settings import SolverSettings

STATIC = SolverSettings(
    newton_iterations=60,
    newton_tolerance=1e-9,
    linear_iterations=5000,
    linear_tolerance=1e-4,
    stiffness="projected",
    precision=1e-15,
)
ROUGH = 1e-3  # tolerance of the stages; the settings' own is for the end
GOOD_ENOUGH = (
    1e-5  # residual, in the greatest one seen, that is an answer when there are no more iterations
)
MOST_ROUNDS = 20  # of Newton iterations, in all
SMALLEST_STAGE = 1.0 / 32.0  # of the load
MIXED = 8  # steps that are mixed
FAINTEST, STRONGEST = 1e-9, 1.0  # wells, in what holds the nodes
SHORT = 0.05  # of a step: the next is held a hundred times as firmly
ROUNDING = 1e-12  # of the elastic energy: a rise below this is none
SYMMETRIC = np.array([[0, 3, 4], [3, 1, 5], [4, 5, 2]])
NOT_HELD = 1e-12  # of a node: a part that its pins hold by less is not held by them


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A static solution."""

    x: NDArray[np.float64]
    """Node positions [m], shape (n, 3)."""
    newton_iterations: int
    """Of all stages together."""
    stages: int
    """In how many parts the load was applied."""
    residual: float
    """Greatest force on a node that is not balanced, as a fraction of all loads, or of the greatest on the way."""


def equilibrium(
    body: SoftBody,
    *,
    gravity=(0.0, 0.0, -9.81),
    time: float = 0.0,
    settings: SolverSettings = STATIC,
) -> Equilibrium:
    """Where the body rests with the loads and pin targets of a time [s], from its start positions."""
    tracker = PinTracker(body)
    x = np.array(body.start_positions())
    full = body.mass[:, None] * np.asarray(gravity, float)
    full = full + force_on_nodes(body.loads, time, len(x))
    pins = tracker.during(x, time, time, np.inf)
    if pins.is_flying.any():
        raise SettingsError("equilibrium: a part of the body is not pinned and would fall; pin it")
    if _slides(body, pins, full):
        raise SettingsError(
            "equilibrium: the pins let a part of the body slide, and its loads would move it for ever; "
            "pin it against them"
        )
    descent = _Descent(body, x, settings)
    done, stage, stages = 0.0, 1.0, 0
    while done < 1.0:
        reached = min(done + stage, 1.0)
        moved = (reached - done) / (1.0 - done) * pins.moved
        before = descent.state.copy()
        tolerance = settings.newton_tolerance if reached == 1.0 else ROUGH
        residual = descent.run(reached * full, replace(pins, moved=moved), tolerance)
        stages += 1
        x = descent.state.x
        is_at_rest = residual <= (GOOD_ENOUGH if reached == 1.0 else 2.0 * ROUGH)
        if is_at_rest and (determinants(body, x) > 0.0).all():
            done, stage = reached, 2.0 * stage
            pins = tracker.during(x, time, time, np.inf)
            continue
        descent.state = before
        stage = 0.5 * (reached - done)
        if stage < SMALLEST_STAGE or descent.left <= 0:
            why = "elements turn inside out" if is_at_rest else "the body does not come to rest"
            raise SolverError(
                f"no equilibrium found beyond {done:.0%} of the load in {descent.iterations} Newton iterations: "
                f"{why}; use a stiffer material, more pins or a dynamic simulation"
            )
    return Equilibrium(x, descent.iterations, stages, residual)


class _Descent:
    """A body on its way down in energy."""

    def __init__(self, body: SoftBody, x, settings: SolverSettings):
        self.body = replace(body, rotation_method="isvd")
        self.newton = Newton(
            system_of([self.body]), replace(settings, newton_iterations=1, newton_tolerance=0.0)
        )
        self.state = State(x, np.zeros_like(x), Newton.start_memory(self.body))
        self.left = MOST_ROUNDS * settings.newton_iterations
        self.iterations, self.greatest = 0, 0.0

    def run(self, load, pins: PinsInStep, tolerance: float) -> float:
        """Descend under node forces (n, 3) [N] until the residual is that small; returns it, see `Equilibrium`."""
        state, newton = self.state, self.newton
        firmness, past = FAINTEST, _Past()
        self.greatest = max(self.greatest, float(np.abs(_projected(load, pins.projection)).sum()))
        residual = 1.0
        while self.left > 0:
            self.left -= 1
            self.iterations += 1
            wells = firmness * self.body.stiffness_scale
            increment = static_increment(state, load, pins)._replace(weight=wells)
            effort = newton.solve(increment, [state.memory])
            newton.remember([state.memory])
            force = _projected(newton.scratch.force, pins.projection)
            largest = float(np.abs(force).max())
            self.greatest = max(self.greatest, largest)
            residual = largest / (self.greatest or 1.0)
            state.x += newton.u
            if not np.isfinite(state.x).all():
                return np.inf
            if residual <= tolerance:
                return residual
            if effort.shortest < SHORT:
                if firmness >= STRONGEST or (effort.shortest == 0.0 and residual < GOOD_ENOUGH):
                    return residual
                firmness, past = 100.0 * firmness, _Past()
            else:
                firmness = max(0.1 * firmness, FAINTEST)
                self._mix(past, load, pins)
            pins = replace(pins, moved=NOT_MOVED)
        return residual

    def _mix(self, past: "_Past", load, pins):
        """Go on from a mixture of the last steps, if the energy is lower there."""
        state, newton = self.state, self.newton
        mixed = past.mixed(state.x, newton.u)
        if mixed is None:
            return
        here, there = (self._energy(x, load, pins) for x in (state.x, mixed))
        if there < here + ROUNDING * abs(newton.elastic_energy):
            state.x[:] = mixed
        else:
            past.forget()

    def _energy(self, x, load, pins):
        self.newton.evaluate(x, [self.state.memory])
        energy = self.newton.elastic_energy - float((load * x).sum())
        springs = pins.springs
        if len(springs.stiffness):
            offset = np.einsum("sa,sai->si", springs.weights, x[springs.nodes]) - springs.target
            pull = np.einsum("sij,sj->si", springs.blocked[:, SYMMETRIC], offset)
            energy += 0.5 * float((springs.stiffness * (offset * pull).sum(axis=1)).sum())
        return energy


class _Past:
    """The last steps of a fixed-point iteration, for Anderson's mixing."""

    def __init__(self):
        self.ends, self.steps = [], []

    def forget(self) -> None:
        """All but the last step."""
        self.ends, self.steps = self.ends[-1:], self.steps[-1:]

    def mixed(self, end, step) -> NDArray[np.float64] | None:
        """Where the steps so far, this one included, would vanish if they were linear; None after the first."""
        self.ends = [*self.ends, end.copy()][-MIXED:]
        self.steps = [*self.steps, step.copy()][-MIXED:]
        if len(self.steps) == 1:
            return None
        changes = np.stack([(step - other).ravel() for other in self.steps[:-1]])
        shares = np.linalg.lstsq(changes @ changes.T, changes @ step.ravel(), rcond=1e-12)[0]
        return end - sum(
            share * (end - other) for share, other in zip(shares, self.ends[:-1], strict=True)
        )


def static_increment(state: State, load, pins: PinsInStep) -> Increment:
    """What equilibrium under node forces (n, 3) [N] asks for, from a state."""
    # Not a column of the rows: kernels would be compiled once more for an array with gaps.
    weight, none = np.zeros(len(state.x)), np.zeros_like(state.x)
    return Increment(
        x=state.x,
        inertia=weight,
        weight=weight,
        centre=none,
        load=load,
        damping=weight,
        drift=none,
        guess=none,
        ahead=NOT_MOVED,
        moved=pins.moved,
        sliding=pins.sliding,
        springs=pins.springs,
        projection=pins.projection,
    )


def _projected(force, projection: Projection) -> NDArray[np.float64]:
    """The part of node forces (n, 3) that pins do not take."""
    p = projection
    free = np.where(p.fixed == 0, force.reshape(-1), 0.0)
    if len(p.basis_dof):
        row = np.repeat(np.arange(len(p.basis_start) - 1), np.diff(p.basis_start))
        share = np.bincount(row, p.basis_value * free[p.basis_dof])
        free -= np.bincount(p.basis_dof, p.basis_value * share[row], len(free))
    return free


def _slides(body: SoftBody, pins: PinsInStep, load) -> bool:
    """Whether a part is free to move as a whole along some direction in which node forces (n, 3) push it."""
    springs = pins.springs
    for part in range(body.part_count):
        is_own = body.part == part
        moves = [np.outer(is_own, axis) for axis in np.eye(3)]
        held = np.array([move.ravel() - _projected(move, pins.projection) for move in moves])
        hold = held @ held.T
        if len(springs.stiffness):
            whole = (springs.weights * is_own[springs.nodes]).sum(axis=1)
            hold = hold + np.einsum("s,sij->ij", whole * whole, springs.blocked[:, SYMMETRIC])
        firmness, direction = np.linalg.eigh(hold)
        push = direction.T @ load[is_own].sum(axis=0)
        if (np.abs(push[firmness < NOT_HELD]) > 1e-9 * np.abs(load[is_own]).sum()).any():
            return True
    return False
