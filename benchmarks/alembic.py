"""How fast Alembic files are written, next to the reference library and Blender, and how much memory it takes.

    python benchmarks/alembic.py [--vertices 50000] [--frames 240] [--bpy PYTHON] [--json FILE]

Ours and the library (`pip install alembic3d`) get the same frames, made outside the clock, in this process. Ours gets
doubles, as the simulator has them, turns them Y up and flushes the file to the disk; the library gets singles as they
are to be stored. Blender runs in a child of the PYTHON that has `bpy`: it exports a mesh that a shape key moves,
without normals, and its time includes moving it. Each number is the best of three runs. Peak memory is that of a fresh
process which writes that many frames.
"""

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "test_sim" / "test_export")]

AIM = 250.0
"""Megabytes per second that ours should reach."""
RUNS = 3
MEMORY_FRAMES = (100, 1000)


def quad_grid(vertex_count):
    """Quads (q, 4) and positions [m] (n, 3) of a square with about that many vertices."""
    side = round(vertex_count**0.5)
    at = np.arange(side * side).reshape(side, side)
    quads = np.stack([at[:-1, :-1], at[:-1, 1:], at[1:, 1:], at[1:, :-1]], axis=2).reshape(-1, 4)
    x = np.random.default_rng(0).normal(size=(side * side, 3))
    return quads, x


def moving(x, frame_count):
    """Positions of one frame after the other, no two alike."""
    return (x + 0.001 * frame for frame in range(frame_count))


class Clock:
    """Seconds spent inside its blocks."""

    def __init__(self):
        self.seconds = 0.0

    def __enter__(self):
        self._began = time.perf_counter()

    def __exit__(self, *error):
        self.seconds += time.perf_counter() - self._began


def write_plainly(path, quads, x, frame_count):
    """Nothing but the bytes of the points, for comparison."""
    clock = Clock()
    with open(path, "wb") as file:
        for positions in moving(x, frame_count):
            points = positions.astype(np.float32)
            with clock:
                file.write(points)
        with clock:
            file.flush()
            os.fsync(file.fileno())
    return clock.seconds


def write_ours(path, quads, x, frame_count):
    from jellycage.sim.export.alembic import AlembicWriter
    from jellycage.sim.export.frames import ExportMesh

    clock = Clock()
    with clock:
        mesh = ExportMesh("grid", len(x), np.arange(0, quads.size + 1, 4), quads.ravel())
        writer = AlembicWriter(path, [mesh]).__enter__()
    for positions in moving(x, frame_count):
        with clock:
            writer.write([positions])
    with clock:
        writer.__exit__(None, None, None)
    return clock.seconds


def write_with_library(path, quads, x, frame_count):
    from alembic_library import LibraryMesh, library_archive

    clock = Clock()
    with clock:
        archive, sampling = library_archive(path, 24.0, 1)
        counts = np.full(len(quads), 4)
        mesh = LibraryMesh(archive, sampling, "grid", counts, quads[:, ::-1].ravel())
    for positions in moving(x, frame_count):
        points = positions.astype(np.float32)
        with clock:
            mesh.push(points)
    with clock:
        del archive, mesh
        gc.collect()
    return clock.seconds


def write_with_blender(path, quads, x, frame_count):
    """Runs in a Python that has bpy."""
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    mesh = bpy.data.meshes.new("grid")
    mesh.from_pydata(x.tolist(), [], quads.tolist())
    obj = bpy.data.objects.new("grid", mesh)
    bpy.context.scene.collection.objects.link(obj)
    obj.shape_key_add(name="start")
    key = obj.shape_key_add(name="end")
    key.data.foreach_set("co", (x + 0.001 * frame_count).astype(np.float32).ravel())
    for frame, value in ((1, 0.0), (frame_count, 1.0)):
        key.value = value
        key.keyframe_insert("value", frame=frame)
    options = {"start": 1, "end": frame_count, "normals": False, "as_background_job": False}
    clock = Clock()
    with clock:
        bpy.ops.wm.alembic_export(filepath=str(path), **options)
    return clock.seconds


WRITERS = {
    "plain bytes": write_plainly,
    "jellycage": write_ours,
    "alembic3d": write_with_library,
    "bpy": write_with_blender,
}


def measured(kind, arguments, folder):
    """Megabytes and megabytes per second of the best run."""
    path = folder / "grid.abc"
    quads, x = quad_grid(arguments.vertices)
    best = np.inf
    for _ in range(RUNS):
        best = min(best, WRITERS[kind](path, quads, x, arguments.frames))
    megabytes = path.stat().st_size / 1e6
    path.unlink()
    return {"writer": kind, "MB": megabytes, "seconds": best, "MB/s": megabytes / best}


def in_child(python, *options):
    """The last line that this file prints in a process of its own, as JSON; None if it fails."""
    command = [python, __file__, *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    lines = done.stdout.strip().splitlines()
    return json.loads(lines[-1]) if done.returncode == 0 and lines else None


def time_writers(arguments, folder):
    """One row per writer that is there."""
    quads, x = quad_grid(100)
    write_ours(folder / "small.abc", quads, x, 3)  # compiles
    rows = []
    print(f"{'writer':12s} {'MB':>8s} {'seconds':>8s} {'MB/s':>7s}")
    for kind in WRITERS:
        if kind == "bpy":
            sizes = ("--vertices", arguments.vertices, "--frames", arguments.frames)
            row = arguments.bpy and in_child(arguments.bpy, "--inside-bpy", *sizes)
        else:
            try:
                row = measured(kind, arguments, folder)
            except ImportError:
                row = None
        if not row:
            print(f"{kind:12s} skipped: it cannot be imported")
            continue
        rows.append(row)
        print(f"{kind:12s} {row['MB']:8.1f} {row['seconds']:8.3f} {row['MB/s']:7.0f}", flush=True)
    speed = next(row["MB/s"] for row in rows if row["writer"] == "jellycage")
    print(f"aim: {AIM:.0f} MB/s; {'reached' if speed >= AIM else 'NOT reached'}")
    return rows


def measure_memory(arguments):
    """Peak memory [MB] of a process that writes so many frames."""
    rows = []
    print(f"\n{'frames':>8s} {'peak MB':>8s}")
    for count in MEMORY_FRAMES:
        sizes = ("--vertices", arguments.vertices, "--frames", count)
        row = in_child(sys.executable, "--memory", *sizes)
        rows.append(row)
        print(f"{count:8d} {row['peak MB']:8.1f}", flush=True)
    return rows


def peak_memory(arguments, folder):
    import resource

    quads, x = quad_grid(arguments.vertices)
    write_ours(folder / "grid.abc", quads, x, arguments.frames)
    unit = 1e6 if sys.platform == "darwin" else 1e6 / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    return {"frames": arguments.frames, "peak MB": peak}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vertices", type=int, default=50_000)
    parser.add_argument("--frames", type=int, default=240)
    parser.add_argument("--bpy", help="a Python that has bpy")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--inside-bpy", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--memory", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.memory:
            print(json.dumps(peak_memory(arguments, folder)))
        elif arguments.inside_bpy:
            print("\n" + json.dumps(measured("bpy", arguments, folder)), flush=True)
        else:
            rows = time_writers(arguments, folder) + measure_memory(arguments)
            if arguments.json:
                arguments.json.write_text(json.dumps(rows, indent=1))
    if arguments.inside_bpy:
        os._exit(0)  # Blender as a module may hang when it is left in the ordinary way


if __name__ == "__main__":
    main()
