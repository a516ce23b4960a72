"""Every promise of contact determination, on random poses of real bodies, as a table: part of `make verify`.

Exit 1 if one is broken. The unit tests hold the rest; timings are in benchmarks/contact_determination.py.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
folders = ("tests", "tests/test_toolkit/test_collision")
sys.path[:0] = [str(ROOT / folder) for folder in folders]

from region_oracles import (  # noqa: E402
    assert_areas_agree,
    assert_inside_is_exact,
    covered,
    deformed,
    pressed,
    walked_curves,
    walked_regions,
    winding_levels,
)
from verify_report import Report, given_folder, mesh_files  # noqa: E402

from jellycage import toolkit  # noqa: E402

TRIALS = 300
"""Random poses of pairs of bodies."""
LARGEST = 60_000
"""Triangles of the largest mesh that is tried: every one of them is tested on its own in every pose."""
SHAKES = (0.0, 0.05, 0.3)
"""How far nodes are moved on their own [cells]; at the last one bodies fold over themselves in places."""


def verify_regions(assets, out):
    """Curves, insides and vector areas of random poses."""
    rng = np.random.default_rng(3)
    wrong = {"curves": [], "insides": [], "vector areas": [], "regions": []}
    worst = seen = crossing = curves_seen = regions_seen = turned = walks = 0.0
    for trial in range(TRIALS):
        one, two = (assets[i] for i in rng.integers(len(assets), size=2))
        shake = SHAKES[trial % len(SHAKES)]
        a, b = (deformed(x, rng, shake=shake, bend=0.15, apart=0.12) for x in (one, two))
        regions = toolkit.contact_regions(a, b)
        curves = regions.curves
        where = f"pose {trial}"
        try:
            walked = walked_curves(a, b, curves.crossings)
            rows = np.split(curves.order, curves.start[1:-1])
            assert [row.tolist() for row in rows if len(row)] == walked
        except AssertionError as error:
            wrong["curves"].append(f"{where}: {error!r:.80}")
        try:
            seen += assert_inside_is_exact(a, b, regions)
        except AssertionError as error:
            wrong["insides"].append(f"{where}: {error!r:.80}")
        try:
            worst = max(worst, assert_areas_agree(regions))
        except AssertionError as error:
            wrong["vector areas"].append(f"{where}: {error!r:.80}")
        crossing += len(curves.crossings)
        curves_seen += len(curves)
        regions_seen += len(regions)
        if not winding_levels(regions) <= {0, 1}:
            turned += 1
            continue
        walked = walked_regions(a, b, curves)
        walks += walked is not None
        if walked not in (None, regions.curve_region.tolist()):
            wrong["regions"].append(where)
    size = f"{TRIALS} poses, {curves_seen:.0f} curves of {crossing:.0f} segments"
    claims = {
        "curves": f"{size}: poses unlike walking",
        "insides": f"{seen:.0f} whole triangles inside: poses unlike winding numbers",
        "vector areas": f"{regions_seen:.0f} regions: poses whose vector areas disagree",
        "regions": f"{walks:.0f} poses: regions unlike walking around triangles",
    }
    for name, claim in claims.items():
        out.line(claim, len(wrong[name]), not wrong[name])
    out.line("vector area by curves, by surfaces, over area", f"{worst:.1e}", worst <= 1e-9)
    print(f"        {turned:.0f} poses overlap themselves where the other body is")
    for notes in wrong.values():
        out.notes(notes[:5])


def verify_contacts(assets, out):
    """Bodies pressed together by a share of their size, so that how deep contacts may be is known."""
    for depth, mean, least in ((1e-6, 0.999, 0.999), (0.02, 0.99, 0.97), (0.1, 0.85, 0.4)):
        rng = np.random.default_rng(4)
        count, deepest, shares, against = 0, 0.0, [], 0
        for _ in range(TRIALS // 3):
            one, two = (assets[i] for i in rng.integers(len(assets), size=2))
            a, b = (deformed(x, rng, shake=0.0, bend=0.1, apart=0.1) for x in (one, two))
            direction = rng.normal(size=3)
            direction /= np.linalg.norm(direction)
            a = pressed(a, b, direction, depth)
            if a is None:
                continue
            regions = toolkit.contact_regions(a, b)
            contacts = toolkit.contact_points(a, b, regions)
            along = contacts.normal @ direction
            deepest = max(deepest, (contacts.depth * along).max(initial=0.0) / depth)
            shares.append(covered(regions, contacts))
            against += int((along < 0.0).sum())
            count += len(contacts)
        name = f"pressed together by {depth:g} of their size, {count} contacts"
        out.line(f"{name}: deepest", f"{deepest:.2f} of it", deepest < 1.1)
        text = f"{np.mean(shares):.4f} on average, {np.min(shares):.3f} at worst"
        holds = np.mean(shares) > mean and np.min(shares) > least
        out.line("    share of what faces that has contacts", text, holds)
        out.notes([f"{against} of them push against the way back"] if against else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    files, out = mesh_files(given_folder(parser)), Report()
    assets = []
    for path in files:
        mesh = toolkit.read_mesh(path)
        if len(mesh.faces) > LARGEST:
            continue
        try:
            asset = toolkit.build_cage(mesh, resolution=8)
        except toolkit.MeshError:
            continue  # nothing to cage
        if asset.collision is not None:
            assets.append(asset)
    verify_regions(assets, out)
    verify_contacts(assets, out)
    out.close()


if __name__ == "__main__":
    main()
