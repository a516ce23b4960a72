"""Pins, spins, sags and crushes, in full, as a table: part of `make verify`. Exit 1 if a promise is broken.

    python tests/verify_motion.py [--meshes DIR]

Every mesh of the folder dances with all, half, a tenth or some of its vertices pinned. CPU times are compared in the
same run, with the same body dropped on a floor.
"""

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / folder) for folder in ("tests", "tests/test_sim/test_solvers")]

from beams import beam_hexes, beam_tets  # noqa: E402
from crushing import crushed  # noqa: E402
from led_meshes import chosen_vertices, dancer  # noqa: E402
from shapes import ball, box  # noqa: E402
from stepping import OneBody  # noqa: E402
from test_bdf2 import momenta, turn_between  # noqa: E402
from verify_report import Report, given_folder, mesh_files  # noqa: E402

from jellycage import sim, toolkit  # noqa: E402
from jellycage.sim.soft.presets import (  # noqa: E402
    PRESETS,
    QUALITIES,
    preset_material,
    stiffness_damping,
    substeps_for,
)
from jellycage.sim.solvers.standing import sagging, standing  # noqa: E402

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
                        if seconds > 3.0 * fallen:  # as of the fall, the faster of two times
                            seconds = min(seconds, danced(asset, resolution, part, weight)[1])
                        case = f"{part} at {weight}, resolution {resolution}"
                        worst = max(worst, (off, case))
                        slowest = max(slowest, (seconds / fallen, case))
            claim = f"{path.stem}, {element}: farthest from its target"
            out.line(claim, f"{worst[0]:.2f} cells ({worst[1]})", worst[0] < 2.0)
            claim = f"{path.stem}, {element}: time against a fall"
            out.line(claim, f"{slowest[0]:.2f} ({slowest[1]})", slowest[0] < 3.0)


def danced(asset, resolution, part, weight):
    """What `farthest` says of a second of dance."""
    which = chosen_vertices(asset.surface_vertices, part)
    strength = WEIGHTS[weight]
    if strength is None:
        strength = np.random.default_rng(1).uniform(0.0, 1.0, len(which)).round(1)
    # Half-strong pins follow with a lag: the dance is slower for them.
    pace = 1.0 if weight in ("1", "0.9") else 0.5
    body, pin = dancer(asset, flesh(asset), which, strength, pace=pace)
    return farthest(body, pin, resolution)


def farthest(body, pin, resolution):
    """Greatest distance of a point pinned with half strength or more, in cells, and seconds, of a second."""
    asset = body.asset
    start = pin.points.positions(asset.cage_nodes)
    cell = np.ptp(asset.surface_vertices, axis=0).max() / resolution
    counts = pin.strengths(0.0) >= 0.5
    off, seconds = 0.0, 0.0
    began = time.process_time()
    for state in frames(body):
        seconds += time.process_time() - began
        x, goal = state.soft[0].x, pin.targets(start, state.time)
        away = np.linalg.norm(pin.points.positions(x) - goal, axis=1)
        off = max(off, away[counts].max(initial=0.0) / cell)
        began = time.process_time()
    return off, seconds


def seconds_of_a_fall(asset):
    """Seconds that the same body takes to fall on a floor, the faster of two times."""
    body = sim.SoftBody(asset, flesh(asset))
    floor = sim.ground(asset.surface_vertices[:, 2].min() - 0.02 * body.size)
    times = []
    for _ in range(2):
        began = time.process_time()
        for _ in frames(body, floor):
            pass
        times.append(time.process_time() - began)
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


def verify_sags(files, out):
    """Every shape, quality and size: what a body of jelly loses of its height, as its preset promises."""
    shapes = {
        "cube": lambda: box((1.0, 1.0, 1.0)),
        "ball": lambda: ball(3, 0.5),
        "rod": lambda: box((0.2, 0.2, 1.0)),
        "rod that lies": lambda: box((1.0, 0.2, 0.2)),
        **{path.stem: lambda path=path: toolkit.read_mesh(path) for path in files},
    }
    for name, make in shapes.items():
        mesh = make()
        if len(mesh.faces if hasattr(mesh, "faces") else mesh[1]) > LARGEST_MESH:
            continue
        for quality, row in QUALITIES.items():
            asset = toolkit.build_cage(mesh, resolution=row.resolution, collision=False)
            found = [sagged(asset, size, "jelly") for size in (0.1, 1.0, 10.0)]
            out_of_reach = [sag for sag, is_reached, _ in found if not is_reached]
            if out_of_reach:
                out.notes([f"{name}, {quality}: gives way before it sags by 10 %, and says so"])
                continue
            off = max(abs(sag / PRESETS["jelly"].sag - 1.0) for sag, _, _ in found)
            seconds = max(seconds for _, _, seconds in found)
            claim = f"{name}, {quality}, 0.1, 1 and 10 m: sag of jelly off by"
            out.line(claim, f"{off:.1%} (found in {seconds:.1f} s)", off < 0.1)
        asset = toolkit.build_cage(mesh, resolution=8, collision=False)
        for preset, row in PRESETS.items():
            sag, is_reached, _ = sagged(asset, 1.0, preset)
            off = abs(sag / row.sag - 1.0)
            if is_reached:
                out.line(f"{name} of {preset}, preview: sag off by", f"{off:.1%}", off < 0.1)
    # Those that stand by themselves: a rod of jelly would fold.
    for name, preset in (
        ("cube", "jelly"),
        ("cube", "flesh"),
        ("rod", "rubber"),
        ("rod that lies", "jelly"),
        ("rod that lies", "flesh"),
    ):
        off = abs(settled_sag(shapes[name](), preset) / PRESETS[preset].sag - 1.0)
        out.line(f"{name} of {preset} that settles: sag off by", f"{off:.1%}", off < 0.1)


def sized(asset, size, preset):
    """A body with its preset's stiffness, grown by a factor, and what was found out about it."""
    grown = asset.stretched(size * np.eye(3))
    height = float(np.ptp(grown.surface_vertices[:, 2]))
    body = sim.SoftBody(grown, preset_material(PRESETS[preset], height, GRAVITY)[0], friction=0.0)
    found = sagging(body, PRESETS[preset].sag)
    return replace(body, material=found.material), found


def sagged(asset, size, preset):
    """(sag by a solve of its own, ten times as exact as the one for the preset; whether it was reached; seconds)."""
    began = time.process_time()
    body, found = sized(asset, size, preset)
    seconds = time.process_time() - began
    sag = standing(body, tolerance=2e-3).sag if found.is_reached else found.sag
    return sag, found.is_reached, seconds


def settled_sag(mesh, preset):
    """What a body loses of its height that settles on a floor without friction, well damped, step by step."""
    body, _ = sized(toolkit.build_cage(mesh, resolution=8, collision=False), 1.0, preset)
    z = body.asset.surface_vertices[:, 2]
    height = float(np.ptp(z))
    damping = stiffness_damping(0.5, body.material, height)
    body = replace(body, stiffness_damping=damping)
    dt = 0.02 * np.sqrt(height / 9.81)
    run = OneBody(body, dt, gravity=GRAVITY, colliders=[sim.ground(float(z.min()), friction=0.0)])
    while run.time < 12.0 * np.sqrt(height / 9.81):
        run.step()
    return 1.0 - float(np.ptp(body.surface(run.x)[:, 2])) / height


def verify_crushes(out):
    """Every shape, cage, material, integrator and length of steps: crushed to a twentieth of its height, and let go."""
    materials = {
        "jelly": preset_material(PRESETS["jelly"], 1.0, GRAVITY)[0],
        **{f"stiff, {nu}": sim.NeoHookean(1e6, nu, 1000.0) for nu in (0.3, 0.48)},
        "co-rotated": sim.Corotated(1e6, 0.45, 1000.0),
    }
    shapes = {"cube": box((1.0, 1.0, 1.0)), "ball": ball(3, 0.5)}
    for shape, mesh in shapes.items():
        for element in ("tet", "hex"):
            # Coarse at every quality: steps are what matters here, and a fine one takes minutes.
            asset = toolkit.build_cage(mesh, resolution=6, element=element)
            for name, quality in QUALITIES.items():
                for integrator in ("bdf2", "implicit_euler"):
                    settings = sim.SolverSettings(
                        newton_iterations=quality.newton_iterations, integrator=integrator
                    )
                    for material, law in materials.items():
                        body = sim.SoftBody(asset, law)
                        substeps = substeps_for(FPS, body.size, GRAVITY, quality)
                        found = crushed(body, settings, substeps=substeps)
                        claim = f"{shape} of {material}, {element}, {integrator}, {name}: crushed"
                        text = f"to {found.least_volume:.0%}, back at {found.volume:.1%}"
                        text += ", warned" if found.warnings else ", NOT WARNED"
                        out.line(claim, text, found.is_good)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    files, out = mesh_files(given_folder(parser)), Report()
    verify_spins(out)
    verify_sags(files, out)
    verify_crushes(out)
    verify_pins(files, out)
    out.close()


if __name__ == "__main__":
    main()
