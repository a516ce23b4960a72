"""What a frame costs while bodies fall, bounce and settle: the sample meshes at every quality, on one thread.

    python benchmarks/falls.py [--meshes DIR] [--rounds 3] [--against PYTHON]

PYTHON is the interpreter of another checkout's `.venv`: both take turns, and the ratio of their fastest times is
printed. Both simulate the same cages, made here.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"  # before numpy is imported

import numpy as np  # noqa: E402

from jellycage import sim, toolkit  # noqa: E402
from jellycage.sim.soft.presets import (  # noqa: E402
    PRESETS,
    QUALITIES,
    preset_material,
    substeps_for,
)

ROOT = Path(__file__).resolve().parent.parent
FPS, SECONDS = 24.0, 2.0
GRAVITY = (0.0, 0.0, -9.81)
LARGEST_MESH = 30_000  # triangles: larger ones cost what their cages do


def milliseconds_per_frame(path, quality, preset):
    """Of the caged mesh in a file, dropped from half its height: CPU time [ms]."""
    asset, quality = toolkit.load_asset(path), QUALITIES[quality]
    z = asset.surface_vertices[:, 2]
    height = float(np.ptp(z))
    material, damping = preset_material(PRESETS[preset], height, GRAVITY)
    body = sim.SoftBody(asset, material, stiffness_damping=damping)
    settings = sim.SolverSettings(newton_iterations=quality.newton_iterations)
    floor = sim.ground(float(z.min()) - 0.5 * height)
    scene = sim.Scene([body], colliders=[floor], solver=settings)
    substeps = substeps_for(FPS, height, GRAVITY, quality)
    stepper = sim.Stepper(scene, fps=FPS, substeps=substeps)
    state, frames = stepper.start(), round(SECONDS * FPS)
    began = time.process_time()
    for _ in range(frames):
        stepper.step(state)
    return (time.process_time() - began) / frames * 1e3


def fastest_times(python, cases, rounds):
    """The least of several times for each case [ms], of each interpreter in turn."""
    times = np.full((len(python), len(cases)), np.inf)
    for _ in range(rounds):
        for row, interpreter in zip(times, python, strict=True):
            command = [interpreter, __file__, "--cases", json.dumps(cases)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            np.minimum(row, json.loads(done.stdout), out=row)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--meshes", type=Path, default=ROOT / "sample_meshes")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--against", metavar="PYTHON")
    parser.add_argument("--cases", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.cases is not None:
        cases = json.loads(arguments.cases)
        milliseconds_per_frame(*cases[0])  # compiles
        print(json.dumps([milliseconds_per_frame(*case) for case in cases]))
        return
    python = [sys.executable, *([arguments.against] if arguments.against else [])]
    files = sorted(p for p in arguments.meshes.rglob("*") if p.suffix in (".ply", ".obj", ".off"))
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            mesh = toolkit.read_mesh(path)
            if len(mesh.faces) > LARGEST_MESH:
                continue
            cases = []
            for name, quality in QUALITIES.items():
                cage = str(Path(folder) / f"{path.stem}_{name}.npz")
                toolkit.save_asset(toolkit.build_cage(mesh, resolution=quality.resolution), cage)
                cases += [(cage, name, preset) for preset in ("jelly", "rubber")]
            times = fastest_times(python, cases, arguments.rounds)
            for (_, quality, preset), column in zip(cases, times.T, strict=True):
                ratio = f", {column[0] / column[1]:.2f} of the other" if len(python) > 1 else ""
                print(f"{path.stem:12s} {preset:7s}{quality:9s}{column[0]:8.1f} ms a frame{ratio}")


if __name__ == "__main__":
    main()
