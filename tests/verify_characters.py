"""Animated characters whose vertices lead a cage, in full, as a table. Exit 1 if a promise is broken.

    python tests/verify_characters.py FILE.glb[:ACTION] ... [--resolutions 8,16,32]

Each is made 2 m long and moves from the pose of its file into its animation, with all, half, a tenth or some of its
vertices pinned. Parts that its bones lead apart get cages of their own, as in a bake. CPU times are compared in the
same run, with the same body dropped on a floor. Not part of `make verify`: the project ships no animated characters.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests")]

from led_meshes import chosen_vertices  # noqa: E402
from skinned_characters import Character  # noqa: E402
from verify_motion import WEIGHTS, farthest, flesh, seconds_of_a_fall  # noqa: E402
from verify_report import Report  # noqa: E402

from jellycage import sim, toolkit  # noqa: E402
from jellycage.sim.scene.parting import groups_led_apart  # noqa: E402
from jellycage.toolkit.mesh.repair import parts_of  # noqa: E402

LENGTH = 2.0  # [m]
TIMES = np.arange(25) / 24.0


def verify_character(character, resolution, out):
    """Both kinds of cage, all choices of pins: how far off in cells, and how long it took against a fall."""
    vertices, faces = character.mesh
    scale = LENGTH / np.ptp(vertices, axis=0).max()
    mesh = toolkit.TriMesh(scale * vertices, faces)
    moved = {}

    def positions(time):
        if time not in moved:
            moved[time] = scale * character.vertices(time)
        return moved[time]

    for element in ("tet", "hex"):
        worst, slowest, cages, falls = (0.0, ""), (0.0, ""), {}, {}
        for part in ("all", "half", "tenth", "random"):
            for weight, strength in WEIGHTS.items():
                source = chosen_vertices(mesh.vertices, part)
                if strength is None:
                    strength = np.random.default_rng(1).uniform(0.0, 1.0, len(source)).round(1)
                asset = caged(mesh, resolution, element, source, strength, positions, cages)
                which = np.searchsorted(asset.source_vertex, source)  # the cage keeps their order
                # Half-strong pins follow with a lag: the animation is slower for them.
                pace = 1.0 if weight in ("1", "0.9") else 0.5
                points = sim.surface_points(asset, which)
                pin = sim.Pin(points, lambda t, s=source, p=pace: positions(p * t)[s], strength)
                body = sim.SoftBody(asset, flesh(asset), pins=[pin])
                off, seconds = farthest(body, pin, resolution)
                if id(asset) not in falls:
                    falls[id(asset)] = seconds_of_a_fall(asset)
                fallen = falls[id(asset)]
                if seconds > 3.0 * fallen:  # compiled, or the character was posed, in the first
                    seconds = min(seconds, farthest(body, pin, resolution)[1])
                worst = max(worst, (off, f"{part} at {weight}"))
                slowest = max(slowest, (seconds / fallen, f"{part} at {weight}"))
        name = f"{character.path.stem} {character.action}".strip() + f", {element}, {resolution}"
        out.line(
            f"{name}: farthest from its target", "{:.2f} cells ({})".format(*worst), worst[0] < 2.0
        )
        out.line(f"{name}: time against a fall", "{:.2f} ({})".format(*slowest), slowest[0] < 3.0)


def caged(mesh, resolution, element, source, strength, positions, known):
    """The cage that a bake would give the mesh with these vertices pinned; known ones are not built again."""

    def built(join):
        key = None if join is True else join.tobytes()
        if key not in known:
            known[key] = toolkit.build_cage(
                mesh, resolution=resolution, element=element, join=join, collision=False
            )
        return known[key]

    asset, part = built(True), parts_of(mesh)
    if asset.meta["solids"] <= asset.meta["components"]:
        return asset
    which = np.searchsorted(asset.source_vertex, source)
    pin = sim.Pin(sim.surface_points(asset, which), lambda t: positions(t)[source], strength)
    groups = groups_led_apart(asset, part, [pin], [source], asset.cage_nodes, TIMES)
    return asset if groups is None else built(np.append(groups, -1)[part])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", metavar="FILE.glb[:ACTION]")
    parser.add_argument("--resolutions", default="8,16,32")
    given = parser.parse_args()
    out = Report()
    for name in given.files:
        path, _, action = name.partition(":")
        for resolution in map(int, given.resolutions.split(",")):
            verify_character(Character(Path(path), action), resolution, out)
    out.close()


if __name__ == "__main__":
    main()
