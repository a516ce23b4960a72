"""Pins and spins, in full, as a table: part of `make verify`. Exit 1 if a promise is broken.

    python tests/verify_motion.py [--meshes DIR]

Every mesh of the folder dances with all, half, a tenth or some of its vertices pinned. Times are compared in the same
run, with the same body dropped on a floor.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / folder) for folder in ("tests", "tests/test_sim/test_solvers")]

from beams import beam_hexes, beam_tets  # noqa: E402
from led_meshes import chosen_vertices, dancer  # noqa: E402
from stepping import OneBody  # noqa: E402
from test_bdf2 import momenta, turn_between  # noqa: E402
from verify import Report, mesh_files  # noqa: E402

from jellycage import sim, toolkit  # noqa: E402
from jellycage.sim.soft.presets import (  # noqa: E402
    PRESETS,
    QUALITIES,
    preset_material,
    substeps_for,
)

GRAVITY = (0.0, 0.0, -9.81)
FPS = 24.0
RESOLUTIONS = (8, 16, 32)
WEIGHTS = {"1": 1.0, "0.9": 0.9, "0.5": 0.5, "random": None}
LARGEST_MESH = 30_000  # triangles: larger ones say nothing new about pins
BDF2 = sim.SolverSettings(integrator="bdf2")


def verify_pins(files, out):
    """Every mesh, cage and choice of pins: how far off in cells, and how long it took against a fall."""
    for path in files:
        mesh = toolkit.read_mesh(path)
        if len(mesh.faces) > LARGEST_MESH:
            continue
        for element in ("tet", "hex"):
            worst, slowest = (0.0, ""), (0.0, "")
            for resolution in RESOLUTIONS:
                asset = toolkit.build_cage(mesh, resolution=resolution, element=element)
                fallen = seconds_of_a_fall(asset)
                for part in ("all", "half", "tenth", "random"):
                    for weight in WEIGHTS:
                        off, seconds = danced(asset, resolution, part, weight)
                        case = f"{part} at {weight}, resolution {resolution}"
                        worst = max(worst, (off, case))
                        slowest = max(slowest, (seconds / fallen, case))
            claim = f"{path.stem}, {element}: farthest from its target"
            out.line(claim, f"{worst[0]:.2f} cells ({worst[1]})", worst[0] < 2.0)
            claim = f"{path.stem}, {element}: time against a fall"
            out.line(claim, f"{slowest[0]:.2f} ({slowest[1]})", slowest[0] < 3.0)


def danced(asset, resolution, part, weight):
    """Greatest distance of a point pinned with half strength or more, in cells, and seconds, of a second of dance."""
    which = chosen_vertices(asset.surface_vertices, part)
    strength = WEIGHTS[weight]
    if strength is None:
        strength = np.random.default_rng(1).uniform(0.0, 1.0, len(which)).round(1)
    # Half-strong pins follow with a lag of 80 ms: the dance is slower for them.
    pace = 1.0 if weight in ("1", "0.9") else 0.5
    body, pin = dancer(asset, flesh(asset), which, strength, pace=pace)
    start = pin.points.positions(asset.cage_nodes)
    cell = np.ptp(asset.surface_vertices, axis=0).max() / resolution
    counts = np.broadcast_to(strength, len(which)) >= 0.5
    off, began = 0.0, time.perf_counter()
    for state in frames(body):
        x, goal = state.soft[0].x, pin.targets(start, state.time)
        away = np.linalg.norm(pin.points.positions(x) - goal, axis=1)
        off = max(off, away[counts].max() / cell)
    return off, time.perf_counter() - began


def seconds_of_a_fall(asset):
    """Seconds that the same body takes to fall on a floor, the faster of two times."""
    body = sim.SoftBody(asset, flesh(asset))
    floor = sim.ground(asset.surface_vertices[:, 2].min() - 0.02 * body.size)
    times = []
    for _ in range(2):
        began = time.perf_counter()
        for _ in frames(body, floor):
            pass
        times.append(time.perf_counter() - began)
    return min(times)


def frames(body, *colliders):
    """The states of a second at preview quality."""
    quality = QUALITIES["preview"]
    settings = sim.SolverSettings(newton_iterations=quality.newton_iterations)
    scene = sim.Scene([body], colliders=colliders, solver=settings)
    stepper = sim.Stepper(scene, fps=FPS, substeps=substeps_for(FPS, body.size, GRAVITY, quality))
    state = stepper.start()
    for _ in range(int(FPS)):
        stepper.step(state)
        yield state


def flesh(asset):
    """The preset for a body of its height."""
    height = np.ptp(asset.surface_vertices[:, 2])
    return preset_material(PRESETS["flesh"], height, GRAVITY)[0]


def verify_spins(out):
    """BDF2, about the axis of greatest inertia: four seconds at the steps of each quality."""
    for name, quality in QUALITIES.items():
        substeps = substeps_for(FPS, 1.0, GRAVITY, quality)
        for build in (beam_tets, beam_hexes):
            worst, lost = 0.0, 0.0
            for turns in (0.5, 1.0, 2.0, 3.0):
                cage = sim.Cage(*build(3, 3, 2, (1.0, 1.0, 0.6)))
                spin = (0.0, 0.0, 2.0 * np.pi * turns)
                body = sim.SoftBody(cage, sim.NeoHookean(1e7, 0.3, 1000.0), spin=spin)
                run = OneBody(body, 1.0 / (FPS * substeps), BDF2, gravity=(0.0, 0.0, 0.0))
                start, before, angle = momenta(body, run)[1], run.x, 0.0
                for _ in range(int(4 * FPS) * substeps):
                    run.step()
                    angle += turn_between(body.mass, before, run.x)
                    before = run.x
                worst = max(worst, abs(angle / (8.0 * np.pi * turns) - 1.0))
                change = np.linalg.norm(momenta(body, run)[1] - start)
                lost = max(lost, change / np.linalg.norm(start))
            kind = "tets" if build is beam_tets else "hexes"
            out.line(f"spin with BDF2, {name}, {kind}: turns off by", f"{worst:.2%}", worst < 0.03)
            out.line(
                f"spin with BDF2, {name}, {kind}: angular momentum off by",
                f"{lost:.1e}",
                lost < 1e-6,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--meshes", type=Path, default=ROOT / "sample_meshes")
    files = mesh_files(parser.parse_args().meshes.expanduser())
    if not files:
        parser.error("no meshes there: name a folder with .obj, .ply, .stl, .off or .glb files")
    out, started = Report(), time.perf_counter()
    verify_spins(out)
    verify_pins(files, out)
    broken = sum(not holds for *_, holds in out.lines)
    print(
        f"\n{len(out.lines) - broken} hold, {broken} broken, {time.perf_counter() - started:.0f} s"
    )
    sys.exit(broken > 0)


if __name__ == "__main__":
    main()
