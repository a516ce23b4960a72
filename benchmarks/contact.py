"""A detailed model that falls on a plane: where the time of a step goes, and how it compares with real time.

    python benchmarks/contact.py [--mesh FILE] [--tets 472] [--steps 240] [--newton 1]

The Armadillo of the thesis on interactive co-rotational FEM, table 3.2: 10^4 embedded triangles, 472 elements, 0.65 kg,
E = 1000 Pa, nu = 0.25, mu = 1, a fall of 1 m, here at 60 steps per second on one thread. The model is scaled to 1 m,
and the cage is the one of all resolutions whose number of tets comes nearest.
"""

import argparse
import os
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"  # before numpy is imported

import numpy as np  # noqa: E402

from jellycage import sim, toolkit  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent

MASS = 0.65  # [kg]
RATE = 60  # steps per second
FALL = 1.0  # [m]


def nearest_cage(mesh, tets):
    """The cage of the mesh whose number of tets comes nearest."""
    best = None
    for resolution in range(2, 33):
        asset = toolkit.build_cage(mesh, resolution=resolution)
        count = len(asset.elements)
        if best is None or abs(count - tets) < abs(len(best.elements) - tets):
            best = asset
        if count > 2 * tets:
            break
    return best


def falling_body(mesh, tets):
    """The model, 1 m large and FALL above z = 0, with the material of the table."""
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    scale = 1.0 / (high - low).max()
    vertices = scale * (mesh.vertices - [*(low + high)[:2] / 2.0, low[2]]) + [0.0, 0.0, FALL]
    asset = nearest_cage((vertices, mesh.faces), tets)
    light = sim.SoftBody(asset, sim.Corotated(1000.0, 0.25, 1.0))
    density = MASS / light.mass.sum()
    return sim.SoftBody(asset, sim.Corotated(1000.0, 0.25, density), friction=1.0)


class Stopwatch:
    """Adds up the time that is spent in some functions [s]."""

    def __init__(self):
        self.seconds = {}

    def around(self, name, function):
        """The function, timed under a name."""
        self.seconds[name] = 0.0

        def timed(*arguments):
            began = time.perf_counter()
            result = function(*arguments)
            self.seconds[name] += time.perf_counter() - began
            return result

        return timed


def fall(body, steps, newton_iterations):
    """Seconds of every step, by phase, and the number of contacts, shape (steps,) each."""
    settings = sim.SolverSettings(newton_iterations=newton_iterations)
    scene = sim.Scene([body], solver=settings, colliders=[sim.ground(friction=1.0)])
    stepper = sim.Stepper(scene, fps=RATE)
    watch, state, parts = Stopwatch(), stepper.start(), stepper.bodies[0]
    parts.finder.find = watch.around("finding contacts", parts.finder.find)
    parts.solver.solve = watch.around("solving", parts.solver.solve)
    rows, contacts = [], []
    for _ in range(steps):
        watch.seconds = dict.fromkeys(watch.seconds, 0.0)
        began = time.perf_counter()
        stepper.step(state)
        total = time.perf_counter() - began
        rows.append({**watch.seconds, "rest": total - sum(watch.seconds.values()), "total": total})
        contacts.append(len(state.contacts))
    phases = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return phases, np.array(contacts), state.soft[0]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mesh", type=Path, default=ROOT / "sample_meshes" / "creature.obj")
    parser.add_argument("--tets", type=int, default=472, help="how many the cage should have")
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--newton", type=int, default=1, help="most Newton steps per time step")
    parser.add_argument("--repeats", type=int, default=3, help="the fastest counts")
    arguments = parser.parse_args()
    mesh = toolkit.read_mesh(arguments.mesh)
    body = falling_body(mesh, arguments.tets)
    fall(body, 60, arguments.newton)  # compiles
    runs = [fall(body, arguments.steps, arguments.newton) for _ in range(max(arguments.repeats, 1))]
    phases = {name: np.min([run[0][name] for run in runs], axis=0) for name in runs[0][0]}
    contacts, state = runs[0][1:]
    touching = contacts > 0
    print(
        f"{arguments.mesh.name}: {len(mesh.faces)} triangles, {len(body.asset.elements)} tets, "
        f"{len(body.mass)} nodes, {body.mass.sum():.2f} kg; {arguments.newton} Newton"
    )
    print(f"at most {contacts.max()} contacts, at the end {contacts[-1]}")
    print("ms per step        all   touching    slowest")
    for name, seconds in phases.items():
        ms = 1e3 * seconds
        while_touching = ms[touching].mean() if touching.any() else 0.0
        print(f"{name:16s} {ms.mean():6.3f} {while_touching:10.3f} {ms.max():10.3f}")
    simulated, spent = arguments.steps / RATE, phases["total"].sum()
    print(f"{simulated / spent:.1f} times real time on one thread")
    inverted = int((sim.determinants(body, state.x) <= 0.0).sum())
    lowest = body.surface(state.x)[:, 2].min()
    print(f"at the end {inverted} inverted tets, lowest point at {1e3 * lowest:.2f} mm")


if __name__ == "__main__":
    main()
