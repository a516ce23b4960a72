"""How long a cage takes, warm and on one thread, next to alpha wrapping + TetGen where those are installed.

    python benchmarks/cage.py [--meshes FOLDER] [--json FILE]

Times are the minimum of several runs. The peers (`pip install pymeshlab tetgen`) run in the same process on the same
arrays; compare the ratios, not the seconds. The last table shows that time and memory follow triangles + kept cells.
"""

import argparse
import json
import os
import sys
import time
import tracemalloc
from pathlib import Path

for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"  # before numpy is imported

import numpy as np  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests")]

from shapes import subdivided  # noqa: E402

from jellycage import toolkit  # noqa: E402

BOUNDS = {10: 0.4, 32: 1.5, 128: 15.0}
"""Seconds that a cage of 100K triangles may take at each resolution."""


def fastest(function, runs):
    """(seconds, result) of the fastest of several runs."""
    best, result = np.inf, None
    for _ in range(runs):
        started = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - started)
    return best, result


def alpha_wrap_and_tetgen(mesh, relative=0.1):
    """(nodes, tets) by the peers, with edges of about `relative` of the diagonal."""
    import pymeshlab
    import tetgen

    meshes = pymeshlab.MeshSet()
    meshes.add_mesh(pymeshlab.Mesh(mesh.vertices, mesh.faces))
    meshes.generate_alpha_wrap(
        alpha=pymeshlab.PercentageValue(100 * relative),
        offset=pymeshlab.PercentageValue(25 * relative),
    )
    wrap = meshes.current_mesh()
    nodes, tets, *_ = tetgen.TetGen(
        np.ascontiguousarray(wrap.vertex_matrix()),
        np.ascontiguousarray(wrap.face_matrix(), np.int32),
    ).tetrahedralize(switches="pq1.8Q")
    return nodes, tets


def peer_row(mesh):
    """Seconds, tets, smallest dihedral and volume ratio of the peers; None if they are not installed."""
    from jellycage.toolkit.asset.quality import min_dihedrals
    from jellycage.toolkit.cage.tet_cage import tet_volumes

    try:
        seconds, (nodes, tets) = fastest(lambda: alpha_wrap_and_tetgen(mesh), 3)
    except ImportError:
        return None
    tets = np.asarray(tets)[:, :4].astype(np.int32)
    volumes = tet_volumes(nodes, tets)
    tets[volumes < 0] = tets[volumes < 0][:, [0, 2, 1, 3]]
    return {
        "seconds": seconds,
        "tets": len(tets),
        "min_dihedral_deg": float(min_dihedrals(nodes, tets).min()),
        "volume_ratio": float(np.abs(volumes).sum() / mesh.volume()),
    }


def time_resolutions(files, resolutions):
    """One row per mesh and resolution."""
    rows = []
    print(
        f"{'mesh':22s} {'triangles':>9s} {'res':>4s} {'tets':>8s} {'seconds':>8s} {'dihedral':>8s} {'volume':>7s}"
    )
    for path in files:
        mesh = toolkit.read_mesh(path)
        for resolution in resolutions:
            runs = 5 if resolution < 100 else 2
            seconds, asset = fastest(
                lambda m=mesh, r=resolution: toolkit.build_cage(m, resolution=r), runs
            )
            rows.append(
                {
                    "mesh": path.stem,
                    "triangles": len(mesh.faces),
                    "resolution": resolution,
                    "tets": len(asset.elements),
                    "seconds": seconds,
                }
            )
            print(
                f"{path.stem:22s} {len(mesh.faces):9d} {resolution:4d} {len(asset.elements):8d} {seconds:8.3f} "
                f"{asset.meta['min_dihedral_deg']:8.1f} {asset.meta['volume_ratio']:6.2f}x",
                flush=True,
            )
        rows += time_peers(path, mesh)
    return rows


def time_peers(path, mesh):
    """Ours at a cell of a tenth of the diagonal, and the peers' at the same size."""
    diagonal = np.linalg.norm(np.ptp(mesh.bounds(), axis=0))
    peer = peer_row(mesh)
    if peer is None:
        return []
    seconds, asset = fastest(lambda: toolkit.build_cage(mesh, cell_size=0.1 * diagonal), 5)
    print(
        f"  cell 0.1 of the diagonal: ours {seconds:.3f} s, {len(asset.elements)} tets, "
        f"{asset.meta['min_dihedral_deg']:.1f} deg, {asset.meta['volume_ratio']:.2f}x; "
        f"alpha wrap + TetGen {peer['seconds']:.3f} s, {peer['tets']} tets, "
        f"{peer['min_dihedral_deg']:.1f} deg, {peer['volume_ratio']:.2f}x; "
        f"time ratio {peer['seconds'] / seconds:.2f}",
        flush=True,
    )
    return [{"mesh": path.stem, "peer": peer, "ours_seconds": seconds}]


def time_growth(path):
    """Time and traced memory against triangles (by subdivision) and against kept cells (by resolution)."""
    mesh = toolkit.read_mesh(path)
    rows = []
    heads = f"{'triangles':>9s} {'tets':>9s} {'seconds':>8s} {'MB':>7s} {'us per (triangle + tet)':>24s}"
    print(f"\n{path.stem}: growth\n{heads}")
    steps = [(s, 16) for s in range(5)] + [(0, r) for r in (32, 64)]
    for subdivisions, resolution in steps:
        vertices, faces = subdivided((mesh.vertices, mesh.faces), subdivisions)
        seconds, asset = fastest(
            lambda v=vertices, f=faces, r=resolution: toolkit.build_cage((v, f), resolution=r), 2
        )
        tracemalloc.start()
        toolkit.build_cage((vertices, faces), resolution=resolution)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        size = len(faces) + len(asset.elements)
        rows.append(
            {"triangles": len(faces), "tets": len(asset.elements), "seconds": seconds, "MB": peak}
        )
        print(
            f"{len(faces):9d} {len(asset.elements):9d} {seconds:8.3f} {peak:7.0f} {1e6 * seconds / size:24.2f}",
            flush=True,
        )
    return rows


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--meshes", type=Path, default=ROOT / "sample_meshes")
    parser.add_argument("--resolutions", type=int, nargs="+", default=list(BOUNDS))
    parser.add_argument("--json", type=Path, help="also write the numbers there")
    arguments = parser.parse_args()
    files = sorted(p for p in arguments.meshes.rglob("*") if p.suffix in (".ply", ".obj", ".off"))
    large = [p for p in files if "100k" in p.stem]
    if not files:
        parser.error(f"no .ply, .obj or .off meshes in {arguments.meshes}")
    toolkit.build_cage(toolkit.read_mesh(files[0]))  # compiles
    rows = time_resolutions(large or files, arguments.resolutions)
    growth = time_growth(min(files, key=lambda p: p.stat().st_size))
    for resolution, bound in BOUNDS.items():
        seconds = [
            r["seconds"] for r in rows if r.get("resolution") == resolution and r["triangles"] > 9e4
        ]
        if seconds:
            print(f"100K triangles at {resolution}: slowest {max(seconds):.2f} s (bound {bound} s)")
    if arguments.json:
        arguments.json.write_text(json.dumps({"cages": rows, "growth": growth}, indent=1))


if __name__ == "__main__":
    main()
