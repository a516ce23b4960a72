"""How stiff coarse cages are, in full, as a table: part of `make verify`. Exit 1 if a promise is broken.

    python tests/verify_stiffness.py [--meshes DIR]

Bars of all orientations bend, twist, stretch and swing as theory says (`turned_bars`), at every resolution alike, and
meshes that are held at their feet lean over alike.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / folder) for folder in ("tests", "tests/test_sim/test_soft")]

from test_hourglass import EXACT, cantilever  # noqa: E402
from turned_bars import (  # noqa: E402
    bar,
    bent_far,
    displacements,
    elastica,
    frequencies,
    held_firmly,
    other_displacements,
    true_frequencies,
)
from verify_report import Report, given_folder, mesh_files  # noqa: E402

from jellycage import sim, toolkit  # noqa: E402

SEEDS = (-1, *range(200, 210))  # along the axes, and ten that chose nothing
# (slenderness, resolution): how far off bending and twist may be.
BOUNDS = {
    (5, 16): (0.10, 0.15),
    (5, 8): (0.20, 0.30),
    (10, 16): (0.20, None),
    (10, 8): (0.35, None),
    (20, 16): (0.35, None),
}
TWISTING = 2  # of the first six frequencies of a bar, five to one
LOOSER = 0.05  # at a Poisson ratio of 0.48


def verify_bars(out):
    """Every orientation, cage and Poisson ratio, held loosely and pinned."""
    for element in ("tet", "hex"):
        for nu in (0.3, 0.48):
            for (slenderness, resolution), (bending, twisting) in BOUNDS.items():
                for is_pinned in (False, True):
                    found = []
                    for seed in SEEDS:
                        asset, vertices = bar(slenderness, seed, resolution, element)
                        body = sim.SoftBody(asset, sim.Corotated(1.0, nu, 1.0))
                        found.append(displacements(body, vertices, seed, is_pinned=is_pinned))
                    name = f"{slenderness}:1 at {resolution}, {element}, nu {nu}"
                    name += ", pinned" if is_pinned else ""
                    report(out, name, np.array(found), bending, twisting, nu == 0.48)


def report(out, name, found, bending, twisting, is_soft):
    """Lines of bars (k, 4) of one kind."""
    more = LOOSER if is_soft else 0.0
    for what, columns, bound in (
        ("bending", [1, 2], bending),
        ("twist", [3], twisting),
        ("compression", [0], 0.03),
    ):
        if bound is not None:
            low, high = found[:, columns].min(), found[:, columns].max()
            holds = max(high - 1.0, 1.0 - low) < bound + (more if what != "compression" else 0.0)
            out.line(f"{name}: {what} of theory", f"{low:.2f} to {high:.2f}", holds)


def verify_what_chose_nothing(out):
    """Two other loads, free vibrations, and bars that are bent far."""
    for element in ("tet", "hex"):
        for resolution in (16, 8):
            bound, twisting = BOUNDS[5, resolution]
            loaded, swinging = [], []
            for seed in SEEDS:
                asset, vertices = bar(5, seed, resolution, element)
                body = sim.SoftBody(asset, sim.Corotated(1.0, 0.3, 1.0))
                loaded.append(other_displacements(body, vertices, seed))
                swinging.append(frequencies(body) / true_frequencies(5, 0.3))
            name = f"5:1 at {resolution}, {element}"
            loaded, swinging = np.array(loaded), np.array(swinging)
            for what, found, limit in (
                ("sinks under its weight", loaded[:, :2], bound),
                ("is turned by a torque", loaded[:, 2:], bound),
                ("swings, five frequencies", np.delete(swinging, TWISTING, axis=1), bound),
                ("swings about itself", swinging[:, TWISTING], twisting),
            ):
                text = f"{found.min():.2f} to {found.max():.2f}"
                out.line(f"{name}: {what}, of theory", text, np.abs(found - 1.0).max() < limit)
        for load in (2.0, 5.0):
            exact, found = elastica(load, 5, 0.3), []
            for seed in SEEDS[:4]:
                asset, vertices = bar(5, seed, 16, element)
                body = sim.SoftBody(asset, sim.Corotated(1e5, 0.3, 1000.0))
                found.append(bent_far(body, vertices, seed, load) / exact)
            claim = f"5:1 at 16, {element}: bent by P L^2 / E I = {load:.0f}, of theory"
            text = f"{min(found):.2f} to {max(found):.2f}"
            out.line(claim, text, max(abs(share - 1.0) for share in found) < 0.10)


def verify_meshes(files, out):
    """How far the tops of meshes go that stand on their feet, tilted: coarse cages against one of 48 cells."""
    for path in files:
        mesh = toolkit.read_mesh(path)
        for element in ("tet", "hex"):
            found = [leaning(mesh, resolution, element) for resolution in (16, 24, 48)]
            for resolution, share, bound in ((16, 0, 0.15), (24, 1, 0.10)):
                off = abs(found[share] / found[2] - 1.0)
                claim = f"{path.stem}, {element}: leans at {resolution} as at 48, off by"
                out.line(claim, f"{off:.1%}", off < bound)


def leaning(mesh, resolution, element):
    """How far the upper tenth goes, on average, if the lower twentieth is held and a little weight pulls sideways."""
    asset = toolkit.build_cage(mesh, resolution=resolution, element=element, collision=False)
    x = asset.surface_vertices
    z = x[:, 2] - x[:, 2].min()
    feet = np.flatnonzero(z < 0.05 * z.max())
    body = sim.SoftBody(asset, sim.Corotated(1.0, 0.45, 1.0))
    weight = np.outer(body.mass, [1.0, 0.0, 0.0]).reshape(-1, 1)
    moved = body.surface(held_firmly(body, feet, weight).reshape(-1, 3))
    return np.linalg.norm(moved[z > 0.9 * z.max()], axis=1).mean()


def verify_cantilever(out):
    """MacNeal and Harder's beam of plain cubes."""
    for cells, twisted in (((60, 2, 1), 0.10), ((120, 4, 2), 0.04)):
        off = cantilever(cells) / EXACT - 1.0
        names = ("extension", "shear in plane", "shear out of plane", "twist")
        for name, value, bound in zip(names, off, (0.04, 0.04, 0.04, twisted), strict=True):
            count = " x ".join(str(n) for n in cells)
            claim = f"cantilever of {count} cubes: {name} off by"
            out.line(claim, f"{value:.1%}", abs(value) < bound)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    files, out = mesh_files(given_folder(parser)), Report()
    verify_cantilever(out)
    verify_what_chose_nothing(out)
    verify_meshes(files, out)
    verify_bars(out)
    out.close()


if __name__ == "__main__":
    main()
