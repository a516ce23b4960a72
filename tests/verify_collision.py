"""Every promise of the collision surface, in full, as a table: part of `make verify`. Exit 1 if one is broken.

The unit tests hold the rest. Timings are in benchmarks/collision.py, the thesis' Table 5.1 in benchmarks/table_5_1.py.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
folders = ("tests", "tests/test_toolkit/test_collision")
sys.path[:0] = [str(ROOT / folder) for folder in folders]

import test_clip  # noqa: E402
import test_real_bodies  # noqa: E402
from bent_ball import bent, collision_surface, normal_jumps  # noqa: E402
from brute_force import brute_hits, brute_nearest, brute_pairs  # noqa: E402
from collision_bodies import POSES, posed_nodes, wavy_body  # noqa: E402
from collision_claims import measure  # noqa: E402
from shapes import ball  # noqa: E402
from verify_report import Report, given_folder, mesh_files  # noqa: E402

from jellycage import toolkit  # noqa: E402
from jellycage.toolkit.collision.posed import pose  # noqa: E402
from jellycage.toolkit.embedding.smooth_embedding import METHODS, smooth_embedding  # noqa: E402

KINDS = {
    "tets": {},
    "hexes": {"element": "hex"},
    "tets, not split": {"split": False},
    "hexes, not split, resolution 8": {"element": "hex", "split": False, "resolution": 8},
}
POSES_PER_KIND = 60
"""Random poses of each kind that every query is tried in."""


def verify_cutting(files, out):
    """Area, closedness, containment and bit-identity of the cut surface, all meshes and kinds of cage."""
    worst = {}
    for path in files:
        mesh = toolkit.read_mesh(path)
        for kind, settings in KINDS.items():
            try:
                asset = toolkit.build_cage(mesh, **settings)
            except toolkit.MeshError:
                continue  # nothing to cage; `verify` is about those
            claims = vars(measure(asset))
            for name, value in claims.items():
                value = -value if name == "least_share" else value
                worst[name] = max(worst.get(name, (-np.inf, "")), (value, f"{path.stem}, {kind}"))
    count = len(files) * len(KINDS)
    limits = {
        "area_error": ("error of the total area", 1e-9),
        "vector_error": ("error of the vector area", 1e-9),
        "open_edges": ("edges without their twin", 0),
        "outside": ("negative weights, or sums off 1", 1e-14),
        "apart": ("border vertices apart, random nodes", 0.0),
    }
    for name, (claim, limit) in limits.items():
        value, where = worst[name]
        out.line(f"{count} cut surfaces: {claim}", f"{value:.2g} ({where})", value <= limit)
    share, where = -worst["least_share"][0], worst["least_share"][1]
    out.line(
        f"{count} cut surfaces: smallest triangle / source",
        f"{share:.2g} ({where})",
        share >= 1e-12,
    )


def verify_cutting_on_the_cage(out, trials=200):
    """Surfaces with vertices exactly on faces, edges and nodes of the cage."""
    failed = []
    for seed in range(trials):
        try:
            test_clip.test_vertices_on_faces_edges_and_nodes_leave_no_crack(seed)
        except Exception as error:  # any kind is a broken promise
            failed.append(f"seed {seed}: {error!r:.80}")
    out.line(f"{trials} surfaces with vertices on the cage itself: failed", len(failed), not failed)
    out.notes(failed[:5])


def verify_queries(out):
    """Rays, nearest points and pairs against trying every triangle, in all kinds of poses."""
    body, other = wavy_body(), wavy_body(radius=0.7, waves=0.15)
    wrong = {"hits": 0, "nearest points": 0, "pairs": 0}
    total = dict.fromkeys(wrong, 0)
    for kind in POSES:
        rng = np.random.default_rng(7)
        for _ in range(POSES_PER_KIND):
            state = rng.bit_generator.state
            x = posed_nodes(kind, body.rest_nodes, rng)
            rng.bit_generator.state = state
            y = posed_nodes(kind, other.rest_nodes, rng)
            size, middle = np.ptp(x, axis=0), x.mean(axis=0)
            one, two = pose(body, x), pose(other, y + 0.2 * size * rng.normal(size=3))
            origins = middle + size * rng.normal(size=(20, 3))
            directions = middle - origins + 0.3 * size * rng.normal(size=(20, 3))
            hits, brute = (
                toolkit.all_hits(one, origins, directions),
                brute_hits(one, origins, directions),
            )
            same = np.array_equal(hits.triangle, brute[2]) and np.array_equal(
                hits.distance, brute[1]
            )
            wrong["hits"] += not same
            total["hits"] += len(brute[0])
            found = toolkit.closest_points(one, origins)
            wrong["nearest points"] += not np.array_equal(
                found.distance, brute_nearest(one, origins)[0]
            )
            total["nearest points"] += len(origins)
            crossings, numbers = toolkit.intersecting_pairs(one, two), brute_pairs(one, two)[0]
            wrong["pairs"] += not np.array_equal(crossings.triangle, numbers[:, :2])
            total["pairs"] += len(numbers)
    poses = len(POSES) * POSES_PER_KIND
    for name, count in wrong.items():
        out.line(
            f"{poses} poses, {total[name]} {name}: poses unlike brute force", count, count == 0
        )


def verify_real_bodies(out, trials=10):
    """Pairs on surfaces that were really cut."""
    assets = {n: toolkit.build_cage(m, **s) for n, (m, s) in test_real_bodies.BODIES.items()}
    rng = np.random.default_rng(11)
    wrong, total = 0, 0
    for name in assets:
        for _ in range(trials):
            a = test_real_bodies.posed_at(assets[name], rng)
            b = test_real_bodies.posed_at(assets["torus"], rng)
            pairs, numbers = toolkit.intersecting_pairs(a, b), brute_pairs(a, b)[0]
            wrong += not np.array_equal(pairs.triangle, numbers[:, :2])
            total += len(numbers)
    out.line(f"cut surfaces, {total} pairs: poses unlike brute force", wrong, wrong == 0)


def verify_smooth(out):
    """Affine motions and normal jumps of the smooth surfaces, on a bent ball."""
    asset = toolkit.build_cage(ball(7), resolution=8)
    rng = np.random.default_rng(0)
    matrix, shift = rng.normal(size=(3, 3)), rng.normal(size=3)
    moved = asset.cage_nodes @ matrix + shift
    nodes = bent(asset.cage_nodes)
    jumps = normal_jumps(asset, collision_surface(asset, nodes))
    for method in METHODS:
        smooth = smooth_embedding(asset, method)
        error = np.abs(smooth.positions(moved) - (asset.surface_vertices @ matrix + shift)).max()
        out.line(f"{method}: affine motion off by", f"{error:.1e}", error < 1e-12)
        own = normal_jumps(asset, smooth.positions(nodes))
        text = f"{own.max():.2f} of {jumps.max():.2f} degrees"
        out.line(
            f"{method}: greatest normal jump against barycentric",
            text,
            5.0 * own.max() < jumps.max(),
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    files, out = mesh_files(given_folder(parser)), Report()
    verify_cutting(files, out)
    verify_cutting_on_the_cage(out)
    verify_queries(out)
    verify_real_bodies(out)
    verify_smooth(out)
    out.close()


if __name__ == "__main__":
    main()
