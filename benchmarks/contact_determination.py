"""How long it takes to determine the contacts of two posed bodies, phase by phase, warm and on one thread.

    python benchmarks/contact_determination.py [--meshes FOLDER] [--json FILE]

Two bodies of 100K triangles in a stored pose with one curve of about 1296 crossing pairs and about 20,000 triangles
inside, as in Table 5.2 of thesis 002, whose 30 ms were taken on an i5-2500K: all phases, and the table's four rows.
FOLDER should hold armadillo_100k.ply and horse_100k.ply; without them the samples are subdivided. With armadillo and
horse of 1K and 10K triangles as well: the same ride at three levels of detail, as in Fig. 5.10. Times are the minimum
of several runs.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from collision import ROOT, bent, fastest, mesh_of, riding_pose

from jellycage import toolkit
from jellycage.toolkit.collision import inside
from jellycage.toolkit.collision.contacts import contact_points
from jellycage.toolkit.collision.crossing_kernels import corners_of, find_tet_pairs
from jellycage.toolkit.collision.curves import contact_curves
from jellycage.toolkit.collision.inside import flood_both
from jellycage.toolkit.collision.pairs_kernels import are_parted, cross_triangles
from jellycage.toolkit.collision.posed import pose
from jellycage.toolkit.collision.queries import intersecting_pairs
from jellycage.toolkit.collision.regions import contact_regions
from jellycage.toolkit.compile_kernels import njit

RUNS = 30
BOUNDS = {"all phases": 10.0, "riding, 100k": 8.0}
"""Milliseconds at most."""
DEEP = {
    "armadillo_100k": ((-1.26, 2.73, 0.16, 0.71), (0.122, -0.274, 0.307)),
    "gummy_bear": ((1.23, -0.03, 0.19, 0.35), (0.077, -0.399, 0.419)),
}
"""Turn (quaternion, any length) and place of the first body at its unit size, the other one at the origin."""
THESIS = {
    "all": 30,
    "every triangle of tets that meet": 1753,
    "leaves of one pair": 33,
    "no flood over patches": 34,
}
"""Rows of Table 5.2 [ms]. In the second one nothing is asked of triangles but the planes that part them."""


def unit_size(nodes):
    """Nodes bent a little, about the origin, with the longest side 1."""
    nodes = bent(nodes, 0.05)
    nodes = nodes - nodes.mean(axis=0)
    return nodes / np.ptp(nodes, axis=0).max()


def turned(nodes, quaternion):
    """Nodes turned by a quaternion of any length."""
    w, x, y, z = np.array(quaternion) / np.linalg.norm(quaternion)
    turn = np.eye(3) + 2.0 * np.array(
        [
            [-y * y - z * z, x * y - w * z, x * z + w * y],
            [x * y + w * z, -x * x - z * z, y * z - w * x],
            [x * z - w * y, y * z + w * x, -x * x - y * y],
        ]
    )
    return nodes @ turn.T


def time_phases(one, two, nodes, other_nodes):
    """(milliseconds of each phase and of all in a row, regions, contacts)."""
    phases = {}

    def timed(name, function):
        function()
        seconds, result = fastest(function, RUNS)
        phases[name] = 1e3 * seconds
        return result

    a, b = timed("pose", lambda: (pose(one.collision, nodes), pose(two.collision, other_nodes)))
    pairs = timed("pairs", lambda: intersecting_pairs(a, b))
    curves = timed("curves", lambda: contact_curves(a, b, pairs))
    timed("flood", lambda: flood_both(a, b, curves))
    regions = timed("regions", lambda: contact_regions(a, b, curves))
    phases["regions"] -= phases["flood"]
    contacts = timed("correspondences", lambda: contact_points(a, b, regions))
    timed(
        "all phases",
        lambda: contact_points(pose(one.collision, nodes), pose(two.collision, other_nodes)),
    )
    return phases, regions, contacts


def triangles_inside(regions):
    """How many triangles are inside, cut ones not counted, and in how many whole patches."""
    count = patches = 0
    for part in regions.inside:
        start = part.mesh.patch_triangle_start
        count += len(part.triangles) + int((start[part.patches + 1] - start[part.patches]).sum())
        patches += len(part.patches)
    return count, patches


@njit
def cross_all(a, b, tets, out):
    """Crossing pairs among all triangles of pairs of tets; returns how many there are. out: room for one."""
    numbers, ends, signs = out
    found = 0
    for n in range(tets.shape[0]):
        e, f = tets[n, 0], tets[n, 1]
        first, last = (
            a.patch_triangle_start[a.tet_patch_start[e]],
            a.patch_triangle_start[a.tet_patch_start[e + 1]],
        )
        start, stop = (
            b.patch_triangle_start[b.tet_patch_start[f]],
            b.patch_triangle_start[b.tet_patch_start[f + 1]],
        )
        for i in range(first, last):
            for j in range(start, stop):
                if not are_parted(a.triangles, a.vertices, i, b.triangles, b.vertices, j):
                    one = corners_of(a.triangles, a.vertices, i)
                    two = corners_of(b.triangles, b.vertices, j)
                    found += cross_triangles(one, two, 0, signs, ends, numbers)
    return found


def time_without_trees(a, b):
    """(milliseconds, pairs) of the coarse hierarchy and then every triangle of tets that meet."""
    one, two = a.arrays(), b.arrays()
    room = np.empty((1, 6), np.int64), np.empty((1, 8)), np.empty((5, 4), np.int64)

    def run():
        tets = np.empty((len(one.tets) * len(two.tets), 2), np.int64)
        count = find_tet_pairs(one.tet_tree, one.dops, two.tet_tree, two.dops, tets)
        return cross_all(one, two, tets[:count], room)

    run()
    seconds, count = fastest(run, 3)
    return 1e3 * seconds, count


def time_triangle_flood(a, b, curves):
    """Milliseconds of the flood if every patch counts as cut, so that all triangles are covered one by one."""
    find = inside.find_rim

    def find_all(segments, side, mesh, label, patch_label, rim):
        count, _ = find(segments, side, mesh, label, patch_label, rim)
        patch_label[:] = -1
        return count, len(label)

    inside.find_rim = find_all
    try:
        flood_both(a, b, curves)
        return 1e3 * fastest(lambda: flood_both(a, b, curves), RUNS)[0]
    finally:
        inside.find_rim = find


def deep_table(folder, out):
    """The phases, then the rows of Table 5.2, in a deep pose."""
    has_models = any(folder.rglob("armadillo_100k.ply")) and any(folder.rglob("horse_100k.ply"))
    one = mesh_of(folder, "armadillo_100k", "gummy_bear")
    two = mesh_of(folder, "horse_100k", "creature")
    first, second = (toolkit.build_cage(mesh, resolution=8) for mesh in (one, two))
    turn, at = DEEP["armadillo_100k" if has_models else "gummy_bear"]
    nodes, other_nodes = turned(unit_size(first.cage_nodes), turn) + at, unit_size(second.cage_nodes)  # fmt: skip
    phases, regions, contacts = time_phases(first, second, nodes, other_nodes)
    count, patches = triangles_inside(regions)
    note = f"{len(regions.curves)} curve of {len(regions.curves.crossings)} pairs, {count} triangles inside of which "
    whole = count - sum(len(part.triangles) for part in regions.inside)
    note += f"{whole} in {patches} whole patches, {len(contacts)} contacts"
    print(f"{len(first.collision.triangles)} x {len(second.collision.triangles)} triangles; {note}")
    for name, value in phases.items():
        out(name, value, note if name == "all phases" else "")

    a, b = pose(first.collision, nodes), pose(second.collision, other_nodes)
    total, pairs = phases["all phases"], phases["pairs"]
    rest = total - pairs
    slow, found = time_without_trees(a, b)
    assert found == len(regions.curves.crossings)
    intersecting_pairs(a, b, leaf=1)
    single = 1e3 * fastest(lambda: intersecting_pairs(a, b, leaf=1), RUNS)[0]
    flood = time_triangle_flood(a, b, regions.curves)
    rows = total, slow + rest, single + rest, total - phases["flood"] + flood
    for (name, thesis), value in zip(THESIS.items(), rows, strict=True):
        out(f"Table 5.2: {name}", value, f"thesis {thesis}")


def ride(folder, out):
    """Contact determination of the same ride at three levels of detail."""
    names = [f"{name}_{d}.ply" for name in ("armadillo", "horse") for d in ("1k", "10k", "100k")]
    if not all(any(folder.rglob(name)) for name in names):
        return
    shift, counts = None, {}
    for detail in ("100k", "10k", "1k"):
        bodies = [
            toolkit.build_cage(mesh_of(folder, f"{name}_{detail}", ""), resolution=8)
            for name in ("armadillo", "horse")
        ]
        if shift is None:  # where the finest level rides, the others do
            above, below = riding_pose(*bodies)
            shift = above[0] - bent(bodies[0].cage_nodes, 0.05)[0]
        nodes = [bent(body.cage_nodes, 0.05) for body in bodies]
        phases, regions, contacts = time_phases(*bodies, nodes[0] + shift, nodes[1])
        counts[detail] = len(contacts)
        parts = ", ".join(f"{name} {value:.2f}" for name, value in phases.items())
        out(
            f"riding, {detail}",
            phases["all phases"],
            f"{len(regions.curves.crossings)} pairs, {len(contacts)} contacts; {parts}",
        )
    ratio = max(counts.values()) / min(counts.values())
    out("most contacts over fewest", ratio, "at 1K, 10K and 100K triangles")


def main():
    """Print the table, and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--meshes", type=Path, default=ROOT / "sample_meshes")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []

    def out(name, value, note):
        bound = BOUNDS.get(name)
        verdict = "" if bound is None else f"(bound {bound:g})"
        print(f"{name:>44s} {value:9.3f} {verdict:10s} {note}", flush=True)
        rows.append({"name": name, "value": value, "bound": bound, "note": note})

    print("milliseconds")
    deep_table(arguments.meshes, out)
    ride(arguments.meshes, out)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
