"""The families of solvers and integrators, by the names that `SolverSettings` knows them by.

An integrator, `Integrator(body, gravity=..., wind=...)`, has `start_memory(body)`, makes a prediction and the
`increment` of a step, and may `advance` a state by what came of it; `disturb` tells it of changes that no force made.
A solver, `Solver(system, settings)`, has `start_memory(body)`, `solve(increment, memories, contacts)`, which leaves
`u`, `remember(memories)` and `elastic_energy`. Neither holds the state of a body.
"""

from jellycage.sim.errors import SettingsError
from jellycage.sim.solvers.bdf2 import BDF2
from jellycage.sim.solvers.implicit_euler import ImplicitEuler
from jellycage.sim.solvers.newton import Newton

SOLVERS = {"newton": Newton}
INTEGRATORS = {"bdf2": BDF2, "implicit_euler": ImplicitEuler}


def chosen(table: dict, name: str):
    """The member of a table that has a name."""
    if name not in table:
        what = "method" if table is SOLVERS else "integrator"
        raise SettingsError(f"{what}: expected one of {', '.join(table)}, got {name!r}")
    return table[name]
