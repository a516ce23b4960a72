"""Static equilibrium: where a body comes to rest under gravity, loads and pins.

Newton's method with a line search on the potential energy, the load raised in stages where it does not converge at
once (continuation). Thesis on interactive co-rotational FEM, sec. 3.2: A = K, b = f.

Limitations: every part of the body must be held. Co-rotated elements take the rotation of the invertible SVD.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.errors import SettingsError, SolverError
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.elasticity import determinants
from jellycage.sim.soft.loads import force_on_nodes
from jellycage.sim.soft.state import State
from jellycage.sim.soft.system import system_of
from jellycage.sim.solvers.newton import Newton
from jellycage.sim.solvers.pin_holding import PinsInStep, PinTracker
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
ROUGH = 1e-3  # Newton tolerance of the stages; the settings' own is for the end
MOST_ROUNDS = 10  # of Newton iterations at the end
SMALLEST_STAGE = 1.0 / 256.0  # of the load


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A static solution."""

    x: NDArray[np.float64]
    """Node positions [m], shape (n, 3)."""
    newton_iterations: int
    """Of all stages together."""
    stages: int
    """In how many parts the load was applied."""


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
    pins = tracker.during(x, time, np.inf)
    if pins.is_flying.any():
        raise SettingsError("equilibrium: a part of the body is not pinned and would fall; pin it")
    system = system_of([body])
    loose = replace(settings, newton_tolerance=max(settings.newton_tolerance, ROUGH))
    rough, fine = Newton(system, loose), Newton(system, settings)
    state = State(x, np.zeros_like(x), Newton.start_memory(replace(body, rotation_method="isvd")))
    done, stage, stages, iterations = 0.0, 1.0, 0, 0
    while done < 1.0:
        reached = min(done + stage, 1.0)
        moved = (reached - done) / (1.0 - done) * pins.moved
        increment = static_increment(state, reached * full, replace(pins, moved=moved))
        effort = rough.solve(increment, [state.memory])
        iterations += effort.newton_iterations
        stages += 1
        x = state.x + rough.u
        if effort.is_converged and np.isfinite(x).all() and (determinants(body, x) > 0.0).all():
            state.x[:] = x
            rough.remember([state.memory])
            done, stage = reached, 2.0 * stage
            pins = tracker.during(x, time, np.inf)
            continue
        stage = 0.5 * (reached - done)
        if stage < SMALLEST_STAGE:
            raise SolverError(
                f"no equilibrium found beyond {done:.0%} of the load; "
                "use a stiffer material, more pins or a dynamic simulation"
            )
    for _ in range(MOST_ROUNDS):
        effort = fine.solve(static_increment(state, full, pins), [state.memory])
        iterations += effort.newton_iterations
        state.x += fine.u
        fine.remember([state.memory])
        if effort.is_converged or effort.shortest == 0.0:
            return Equilibrium(state.x, iterations, stages)
    raise SolverError(
        f"no equilibrium found as exactly as asked in {iterations} Newton iterations; "
        "raise newton_iterations or newton_tolerance"
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
        moved=pins.moved,
        is_free=pins.is_free,
        springs=pins.springs,
        projection=pins.projection,
    )
