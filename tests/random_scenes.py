"""Violent random scenes: whatever an artist or a bug may do to a body, and what must still be true afterwards.

`python tests/random_scenes.py 500` runs them all and prints what went wrong, if anything did; with `--lattices` in
cages of meshes and of thin bars, whose cubes hold anything from all to nothing.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests")]

from beams import beam_hexes, beam_tets  # noqa: E402
from stepping import OneBody  # noqa: E402

from jellycage import sim  # noqa: E402

SETTLING = 2.0  # time after the last load [s]
REACH = 10.0  # sizes beyond rest pose, targets and ballistic flight that a node may stray

BARS = {"bar": 0, "bar too": 1, "other bar": 3}
"""Ten to one, and how they are turned."""
LATTICES = ("gummy_bear", "hand", "creature", *BARS)


@dataclass(frozen=True)
class Outcome:
    """How a scene ended."""

    seed: int
    text: str
    """What the scene was."""
    error: str
    """Text of the SolverError, or nothing."""
    stray: float
    """Greatest distance beyond the ballistic reach, in sizes; infinite if a position was not finite."""
    is_pinned: bool
    inverted: int
    """Quadrature points with det F <= 0 at the end."""
    seconds: float

    @property
    def is_bounded(self) -> bool:
        """Whether every position stayed finite and within reach."""
        return self.stray <= REACH


@cache
def bear(element: str):
    """A cage with limbs, from the sample mesh."""
    from jellycage import toolkit

    mesh = toolkit.read_mesh(ROOT / "sample_meshes" / "gummy_bear.obj")
    return toolkit.build_cage(mesh, resolution=7, element=element)


def random_cage(rng, dt):
    """A box or the bear, in tets or hexes; small ones where the steps are many."""
    element = rng.choice(["tet", "hex"])
    if dt > 2e-3 and rng.random() < 0.3:
        return bear(element)
    most = 3 if dt < 1e-3 else 5
    cells = rng.integers(1, most + 1, size=3)
    size = cells * rng.uniform(0.05, 0.4)
    return sim.Cage(*(beam_tets if element == "tet" else beam_hexes)(*cells, size=size))


@cache
def lattice_cage(name: str, element: str):
    """A cage of 8 cells, one of LATTICES."""
    from turned_bars import bar

    from jellycage import toolkit

    if name in BARS:
        return bar(10, BARS[name], 8, element)[0]
    mesh = toolkit.read_mesh(ROOT / "sample_meshes" / f"{name}.obj")
    return toolkit.build_cage(mesh, resolution=8, element=element, collision=False)


def random_start(rng, nodes):
    """Rest, or a shape that no body should be in, and its name."""
    low, high = nodes.min(axis=0), nodes.max(axis=0)
    centre, noise = nodes.mean(axis=0), 1e-6 * np.ptp(nodes) * rng.normal(size=nodes.shape)
    kind = rng.choice(
        ["rest"] * 5 + ["random", "plane", "line", "point", "mirrored", "small", "large"]
    )
    if kind == "rest":
        return None, kind
    if kind == "random":
        return rng.uniform(low, high, nodes.shape), kind
    basis = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    kept = {"plane": 2, "line": 1, "point": 0}.get(kind)
    if kept is not None:
        flat = (nodes - centre) @ basis
        flat[:, kept:] = 0.0
        return centre + flat @ basis.T + noise, kind
    if kind == "mirrored":
        return centre + (nodes - centre) * [-1.0, 1.0, 1.0] + noise, kind
    return centre + (nodes - centre) * (0.1 if kind == "small" else 4.0), kind


def random_points(rng, cage):
    """Some nodes, or points inside elements."""
    count = int(rng.integers(1, 6))
    if rng.random() < 0.5:
        return sim.node_points(
            rng.choice(len(cage.cage_nodes), size=min(count, len(cage.cage_nodes)), replace=False)
        )
    weights = rng.dirichlet(np.ones(cage.elements.shape[1]), size=count)
    return sim.embedded_points(cage.elements, rng.integers(len(cage.elements), size=count), weights)


def random_pin(rng, cage, size, end):
    """A pin whose targets jump about."""
    points = random_points(rng, cage)
    rest = points.positions(cage.cage_nodes)
    times = np.sort(rng.uniform(0.0, end, size=4))
    jumps = rng.normal(scale=size, size=(4, 1, 3))
    target = sim.Keyed(times, rest + np.concatenate([np.zeros((1, 1, 3)), jumps[1:]]))
    strength = 1.0 if rng.random() < 0.6 else float(rng.uniform(0.05, 0.99))
    way = {}
    if rng.random() < 0.3:
        way = {str(rng.choice(["along", "normal"])): rng.normal(size=3)}
    return sim.Pin(points, target=target, strength=strength, **way)


def random_event(rng, cage, size, end):
    """A blow, a kick or a jerk."""
    points, when = random_points(rng, cage), float(rng.uniform(0.0, end))
    direction = rng.normal(size=3)
    kind = rng.integers(3)
    if kind == 0:
        return sim.VelocityChange(points, direction * 10.0 ** rng.uniform(0, 2), when)
    if kind == 1:
        return sim.PositionChange(points, direction * size * rng.uniform(0.1, 1.0), when)
    mass = 10.0 ** rng.uniform(-2, 1)
    return sim.Impulse(points, direction * mass, when)


def random_scene(seed: int, is_in_lattice: bool = False):
    """(body, gravity, dt, end of the loads, text) of a seed."""
    rng = np.random.default_rng(seed)
    if is_in_lattice:
        dt = 1.0 / (24.0 * rng.integers(2, 5))
        cage = lattice_cage(str(rng.choice(LATTICES)), str(rng.choice(["tet", "hex"])))
    else:
        dt = 10.0 ** rng.uniform(-4.0, np.log10(1.0 / 24.0))
        cage = random_cage(rng, dt)
    nodes = cage.cage_nodes
    size = float(np.linalg.norm(np.ptp(nodes, axis=0)))
    law = [sim.Corotated, sim.NeoHookean][rng.integers(2)]
    young, nu = 10.0 ** rng.uniform(2, 9), rng.uniform(0.0, 0.49)
    density = 10.0 ** rng.uniform(1.7, 3.7)
    start, kind = random_start(rng, nodes)
    end = float(rng.uniform(0.1, 0.5))
    pins = [random_pin(rng, cage, size, end) for _ in range(rng.integers(1, 4))]
    pins = pins if rng.random() < (0.7 if is_in_lattice else 0.4) else []
    loads = [random_event(rng, cage, size, end) for _ in range(rng.integers(4))]
    quadrature = 8 if rng.random() < 0.3 and not is_in_lattice else 1
    damping = 10.0 ** rng.uniform(-5, -2) if rng.random() < 0.3 else 0.0
    body = sim.SoftBody(
        cage,
        law(young, nu, density),
        pins=pins,
        loads=loads,
        start=start,
        velocity=rng.normal(scale=3.0, size=3),
        spin=rng.normal(scale=5.0, size=3),
        stiffness_damping=damping,
        quadrature=quadrature,
    )
    gravity = np.array([0.0, 0.0, -9.81]) * (rng.random() < 0.5)
    element = f"{len(cage.elements)} {'tets' if cage.elements.shape[1] == 4 else 'hexes'}"
    text = (
        f"{law.__name__} {element} x{quadrature} E={young:.2g} nu={nu:.2f} rho={density:.0f} "
        f"dt={dt:.2g} start={kind} pins={len(pins)} loads={len(loads)} beta={damping:.1g}"
    )
    return body, gravity, dt, end, text


def target_centre(pin, body, time):
    """The centre of a pin's targets at a time [s], shape (3,) [m]."""
    return pin.targets(pin.points.positions(body.start_positions()), time).mean(axis=0)


def away(x, pin, centre) -> float:
    """How far nodes (n, 3) are at most from the centre of a pin's targets, or from the line or plane through it [m]."""
    offset = x - centre
    if pin is not None and pin.along is not None:
        offset = offset - np.outer(offset @ pin.along, pin.along)
    if pin is not None and pin.normal is not None:
        offset = np.outer(offset @ pin.normal, pin.normal)
    return float(np.abs(offset).max())


def run_scene(
    seed: int,
    integrator: str = sim.SolverSettings().integrator,
    is_in_lattice: bool = False,
) -> Outcome:
    """Simulate the scene of a seed until it had time to settle."""
    body, gravity, dt, end, text = random_scene(seed, is_in_lattice)
    began = time.perf_counter()
    state = OneBody(body, dt, sim.SolverSettings(integrator=integrator), gravity=gravity)
    speed = np.sqrt((state.v**2).sum(axis=1)).max()
    centre, stray, error, reach = state.x.mean(axis=0), 0.0, "", 0.0
    still_x, still_v = np.zeros_like(state.x), np.zeros_like(state.x)
    goals = []
    try:
        while state.time < end + SETTLING:
            still_x[:], still_v[:] = 0.0, 0.0
            for load in body.loads:
                if state.time <= load.time < state.time + dt:
                    load.apply(body.mass, still_x, still_v)
            speed += np.sqrt((still_v**2).sum(axis=1)).max()
            speed += np.sqrt((gravity**2).sum()) * dt
            reach += speed * dt + np.sqrt((still_x**2).sum(axis=1)).max()
            state.step()
            if len(body.pins) and state.time < end + dt:
                goals += [(pin, target_centre(pin, body, state.time)) for pin in body.pins]
            distance = min(away(state.x, *goal) for goal in [*goals[-40:], (None, centre)])
            stray = max(stray, (distance - reach) / body.size)
            if not np.isfinite(state.x).all():
                stray = np.inf
                break
    except sim.SolverError as failure:
        error = str(failure)
    inverted = int((sim.determinants(body, state.x) <= 0.0).sum())
    seconds = time.perf_counter() - began
    return Outcome(seed, text, error, stray, bool(body.pins), inverted, seconds)


def summary(outcomes) -> dict[str, float]:
    """The fractions that the promises are about."""
    free = [o for o in outcomes if not o.is_pinned and not o.error]
    return {
        "bounded": sum(o.is_bounded for o in outcomes) / len(outcomes),
        "failed": sum(bool(o.error) for o in outcomes) / len(outcomes),
        "recovered": sum(o.inverted == 0 for o in free) / max(len(free), 1),
    }


def run_scenes(
    seeds,
    processes: int = 2,
    integrator: str = sim.SolverSettings().integrator,
    is_in_lattice: bool = False,
) -> Iterator[Outcome]:
    """Outcomes of many seeds, several at a time."""
    run = partial(run_scene, integrator=integrator, is_in_lattice=is_in_lattice)
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(run, seeds, chunksize=4)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--integrator", default=sim.SolverSettings().integrator)
    parser.add_argument("--lattices", action="store_true")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    outcomes, seeds = [], range(arguments.first, arguments.first + arguments.count)
    for outcome in run_scenes(seeds, arguments.processes, arguments.integrator, arguments.lattices):
        outcomes.append(outcome)
        if outcome.error or not outcome.is_bounded or (outcome.inverted and not outcome.is_pinned):
            print(
                f"{outcome.seed:4d} stray {outcome.stray:.2g} inverted {outcome.inverted} "
                f"{outcome.seconds:.1f} s  {outcome.text}  {outcome.error}",
                flush=True,
            )
    for name, value in summary(outcomes).items():
        print(f"{name:10s} {value:.1%}")
    print(
        f"slowest {max(o.seconds for o in outcomes):.1f} s, all {sum(o.seconds for o in outcomes):.0f} s"
    )


if __name__ == "__main__":
    main()
