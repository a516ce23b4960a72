"""Every promise of scenes, contact and bakes, in full, as a table: part of `make verify`. Exit 1 if one is broken.

The unit tests hold the rest: formats, scene files, the worker, errors. Timings are in benchmarks/.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / folder) for folder in ("tests",)]

from beams import beam_hexes, beam_tets  # noqa: E402
from caged_beam import caged_beam_sag  # noqa: E402
from shapes import ball, box  # noqa: E402
from stepping import OneBody  # noqa: E402
from verify_report import Report  # noqa: E402

from jellycage import sim, toolkit  # noqa: E402
from jellycage.sim.bake.cache import open_cache  # noqa: E402
from jellycage.sim.contact.contact_points import contact_points  # noqa: E402
from jellycage.sim.maths.quaternions import turn_to  # noqa: E402
from jellycage.sim.soft.presets import PRESETS, QUALITIES, preset_material, substeps_for  # noqa: E402

GRAVITY = (0.0, 0.0, -9.81)
FRICTION = 0.5


def slide(angle, newton_iterations, young_modulus, duration, dt=1 / 48):
    """(time, place along the slope, speed along it) of a block that is set down on an incline [degrees]."""
    a = np.radians(angle)
    down = np.array([np.cos(a), 0.0, -np.sin(a)])
    normal = np.array([np.sin(a), 0.0, np.cos(a)])
    nodes, tets = beam_tets(4, 4, 2, size=(1.0, 1.0, 0.5))
    nodes = nodes @ np.stack([down, [0.0, 1.0, 0.0], normal])
    body = sim.SoftBody(
        sim.Cage(nodes, tets),
        sim.Corotated(young_modulus, 0.3, 1000.0),
        friction=FRICTION,
        stiffness_damping=0.002,
    )
    plane = sim.Collider(
        sim.Plane(), sim.Motion((0.0, 0.0, 0.0), turn_to(normal)), friction=FRICTION
    )
    settings = sim.SolverSettings(newton_iterations=newton_iterations)
    state = OneBody(body, dt, settings, colliders=[plane])
    share, rows = (body.mass / body.mass.sum())[:, None], []
    for _ in range(round(duration / dt)):
        state.step()
        rows.append((state.time, (share * state.x).sum(0) @ down, (share * state.v).sum(0) @ down))
    return np.array(rows).T, body.size


def verify_friction(out):
    """A block just below and well above the angle of repose."""
    critical = np.degrees(np.arctan(FRICTION))
    for young_modulus in (1e6, 1e8):
        for newton_iterations in (1, 4):
            name = f"E = {young_modulus:.0e}, {newton_iterations} Newton"
            (time_, place, _), size = slide(critical - 1.0, newton_iterations, young_modulus, 6.0)
            creep = abs(place[-1] - place[np.searchsorted(time_, 1.0)]) / size
            out.line(f"incline -1 degree, {name}: creep in 5 s", f"{creep:.1e}", creep < 1e-3)
            (time_, _, speed), _ = slide(critical + 5.0, newton_iterations, young_modulus, 2.0)
            a = np.radians(critical + 5.0)
            wanted = 9.81 * (np.sin(a) - FRICTION * np.cos(a))
            half = len(time_) // 4
            got = (speed[-1] - speed[half]) / (time_[-1] - time_[half])
            error = got / wanted - 1.0
            out.line(
                f"incline +5 degrees, {name}: acceleration", f"{error:+.2%}", abs(error) < 0.05
            )


def verify_thin_box(out):
    """A drop of 20 m onto 2 cm, one step per frame of film."""
    for build in (beam_tets, beam_hexes):
        for young_modulus in (1e4, 1e5, 1e6):
            nodes, elements = build(4, 4, 4, size=(1.0, 1.0, 1.0))
            body = sim.SoftBody(
                sim.Cage(nodes + [-0.5, -0.5, 20.0], elements),
                sim.NeoHookean(young_modulus, 0.4, 1000.0),
                stiffness_damping=0.002,
            )
            state = OneBody(body, 1 / 24, colliders=[sim.Box((8.0, 8.0, 0.02))])
            points, lowest = contact_points(body), np.inf
            for _ in range(24 * 6):
                state.step()
                z = np.einsum("pa,pa->p", points.weights, state.x[points.nodes, 2])
                lowest = min(lowest, z.min())
            out.line(
                f"20 m onto a thin box, {build.__name__[5:]}, E = {young_modulus:.0e}: lowest point",
                f"{lowest:+.3f} m",
                lowest > -0.01,
            )


def fallen(mesh, resolution, element, preset="jelly"):
    """(sag at rest, greatest squash of the first impact, depth below the floor), fractions of the height."""
    asset = toolkit.build_cage(mesh, resolution=resolution, element=element)
    z = asset.surface_vertices[:, 2]
    height = float(np.ptp(z))
    material, damping = preset_material(PRESETS[preset], height, GRAVITY)
    body = sim.SoftBody(
        asset,
        material,
        start=asset.cage_nodes + [0.0, 0.0, height - z.min()],
        stiffness_damping=damping,
        friction=PRESETS[preset].friction,
    )
    quality = QUALITIES["standard"]
    dt = 1.0 / (24.0 * substeps_for(24.0, height, GRAVITY, quality))
    settings = sim.SolverSettings(newton_iterations=quality.newton_iterations)
    state = OneBody(body, dt, settings, gravity=GRAVITY, colliders=[sim.ground()])
    unit, least, heights = np.sqrt(height / 9.81), np.inf, []
    while state.time < 36.0 * unit:
        state.step()
        z = body.surface(state.x)[:, 2]
        if state.time < 3.0 * unit:
            least = min(least, np.ptp(z))
        if state.time > 24.0 * unit:  # it still wobbles about where it will come to rest
            heights.append(np.ptp(z))
    return 1.0 - np.mean(heights) / height, 1.0 - least / height, -z.min() / height


def verify_sizes(out):
    """The same preset looks the same at any size and resolution."""
    shapes = {"ball": lambda s: ball(3, 0.5 * s), "cube": lambda s: box((s, s, s))}
    for name, make in shapes.items():
        sag, squash, depth = np.array([fallen(make(s), 8, "tet") for s in (0.1, 1.0, 10.0)]).T
        spread = np.ptp(sag) / sag[1], np.ptp(squash) / squash[1]
        out.line(f"{name} at 0.1, 1, 10 m: sag differs by", f"{spread[0]:.2%}", spread[0] < 0.02)
        out.line(f"{name} at 0.1, 1, 10 m: squash differs by", f"{spread[1]:.2%}", spread[1] < 0.05)
        out.line(f"{name}: depth below the floor at rest", f"{depth.max():.2%}", depth.max() < 0.01)
        for element in ("tet", "hex"):
            coarse, fine = (fallen(make(1.0), r, element)[0] for r in (8, 16))
            change = abs(coarse / fine - 1.0)
            out.line(
                f"{name} of {element} elements, resolution 8 to 16: sag changes by",
                f"{change:.1%} ({coarse:.4f}, {fine:.4f})",
                change < 0.1,
            )


def verify_beam(out):
    """A beam held by the vertices of one end face sags by its own weight."""
    for element in ("tet", "hex"):
        sags = [caged_beam_sag(element, resolution) for resolution in (8, 16)]
        change = abs(sags[0] / sags[1] - 1.0)
        text = f"{change:.1%} ({sags[0]:.4f}, {sags[1]:.4f} m)"
        if element == "hex":
            out.line("beam of hexes, resolution 8 to 16: sag changes by", text, change < 0.1)
        else:
            out.notes([f"beam of tets, resolution 8 to 16: sag changes by {text}"])


def verify_demo(out):
    """What `make demo` shows, in a folder of its own with nothing compiled."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(Path(folder) / "compiled")}
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "jellycage.sim.cli", "demo", "--json", "-q"],
            cwd=folder,
            env=environment,
            capture_output=True,
            check=True,
        )
        seconds = time.perf_counter() - began
        facts = json.loads(done.stdout)
        cache = open_cache(Path(folder) / "gummy_bear.bake")
        frames = [cache.frame(f)[0] for f in range(1, 73)]
        height = float(np.ptp(frames[0][:, 2]))
        speed = np.abs(frames[-1] - frames[-2]).max() * 24.0 / height
        depth = -min(frame[:, 2].min() for frame in frames[-12:]) / height
        out.line("demo: seconds, compiling included", f"{seconds:.0f}", seconds < 60.0)
        error = facts["volume_error_max"]
        out.line("demo: volume kept within", f"{error:.2%}", error < 0.03)
        out.line("demo: depth below the floor at rest", f"{depth:.2%}", depth < 0.01)
        out.line("demo: speed at the end, heights per second", f"{speed:.3f}", speed < 0.2)
        files = [Path(folder, name) for name in ("gummy_bear.abc", "gummy_bear.gif")]
        count = len(list(Path(folder, "gummy_bear_obj").glob("*.obj")))
        is_there = all(path.stat().st_size > 1000 for path in files) and count == 72
        out.line("demo: Alembic, GIF and 72 OBJ files", "written", is_there)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args()
    out = Report()
    verify_demo(out)
    verify_friction(out)
    verify_thin_box(out)
    verify_sizes(out)
    verify_beam(out)
    out.close()


if __name__ == "__main__":
    main()
