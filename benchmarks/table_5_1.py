"""Table 5.1 of thesis 002 side by side with ours: sizes of the collision surface at matching numbers of tets.

    python benchmarks/table_5_1.py --meshes FOLDER [--json FILE]

FOLDER holds armadillo_1k.ply, ..., horse_100k.ply. The cell size is searched so that the cage has as many tets as the
thesis' one; "off" and "on" tell whether parts that share a cell get copies of their own, which the thesis has not.
Counted are tets with a patch, patches, triangles after cutting, and vertices, repeated where patches meet.
"""

import argparse
import json
from pathlib import Path

from jellycage import toolkit

ROOT = Path(__file__).resolve().parent.parent

# name: tets of the cage, tets with patches, patches, thousands of triangles, thousands of vertices
THESIS = {
    "armadillo_1k": (452, 440, 522, 6, 6.5),
    "armadillo_5k": (465, 449, 533, 15, 14),
    "armadillo_10k": (472, 456, 552, 24, 20),
    "armadillo_100k": (483, 467, 563, 130, 84),
    "dragon_1k": (411, 411, 557, 6, 7),
    "dragon_5k": (411, 411, 590, 16, 15),
    "dragon_10k": (408, 408, 586, 25, 21),
    "dragon_100k": (411, 411, 598, 130, 85),
    "horse_1k": (283, 281, 336, 5, 5),
    "horse_5k": (287, 285, 356, 13, 11),
    "horse_10k": (287, 285, 354, 20, 16),
    "horse_100k": (287, 285, 366, 117, 73),
}
COLUMNS = ("tets with patches", "patches", "triangles", "vertices")


def matching(mesh, tets, split):
    """The asset whose number of tets is nearest to the wanted one, by bisection of the cell size."""
    longest = float((mesh.bounds()[1] - mesh.bounds()[0]).max())
    low, high = longest / 40, longest / 2
    best = None
    for _ in range(12):
        cell_size = (low * high) ** 0.5
        asset = toolkit.build_cage(mesh, cell_size=cell_size, split=split)
        if best is None or abs(len(asset.elements) - tets) < abs(len(best.elements) - tets):
            best = asset
        if len(asset.elements) > tets:
            low = cell_size
        else:
            high = cell_size
    return best


def sizes(asset):
    """The counts of the table's columns."""
    surface = asset.collision
    return len(surface.tets), len(surface.patch_area), len(surface.triangles), len(surface.weights)


def main():
    """Print the table; per column ours and, in brackets, ours / thesis."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--meshes", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    print(f"{'mesh':15s} {'copies':6s} {'tets':>14s} " + " ".join(f"{c:>18s}" for c in COLUMNS))
    for name, (tets, *thesis) in THESIS.items():
        paths = sorted(arguments.meshes.rglob(f"{name}.ply"))
        if not paths:
            print(f"{name:15s} not in {arguments.meshes}")
            continue
        mesh = toolkit.read_mesh(paths[0])
        wanted = thesis[0], thesis[1], 1000 * thesis[2], 1000 * thesis[3]
        for split in (False, True):
            asset = matching(mesh, tets, split)
            ours = sizes(asset)
            cells = [f"{a:d} ({a / b:.2f})" for a, b in zip(ours, wanted, strict=True)]
            count = f"{len(asset.elements)} ({len(asset.elements) / tets:.2f})"
            print(
                f"{name:15s} {'on' if split else 'off':6s} {count:>14s} "
                + " ".join(f"{c:>18s}" for c in cells)
            )
            rows.append({"mesh": name, "copies": split, "tets": len(asset.elements), "thesis_tets": tets,
                         "ours": ours, "thesis": wanted})  # fmt: skip
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
