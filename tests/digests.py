"""Digests of the results of short runs of everything that exists: what a change of structure must not change.

    python tests/digests.py --output before.npz       at one commit
    python tests/digests.py --against before.npz      at another: says which runs differ, and by how much

Bits depend on the processor and on the compiler, so nothing is stored in the project.
"""

import argparse
import hashlib
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from beams import beam_hexes, beam_tets
from shapes import ball, torus

from jellycage import sim, toolkit

SAMPLES = Path(__file__).resolve().parent.parent / "sample_meshes"
BEAMS = {"tets": beam_tets, "hexes": beam_hexes}
COMMAND = str(Path(sys.executable).parent / "jellycage")
TURN = (0.9, 0.1, -0.2, 0.3)


# ---- from Python


def block(kind="tets", law="Corotated", *, young_modulus=2e4, height=0.1, **options):
    """A bar of 0.4 x 0.3 x 0.8 m that hangs above the floor and spins."""
    nodes, elements = BEAMS[kind](2, 2, 4, (0.4, 0.3, 0.8))
    material = getattr(sim, law)(young_modulus, 0.4, 1000.0)
    options = {"spin": (0.5, 1.0, 2.0), "stiffness_damping": 0.002, **options}
    cage = sim.Cage(nodes + [0.0, 0.0, height], elements)
    return sim.SoftBody(cage, material, **options)


def simulated(*bodies, frames=24, colliders=(), **options):
    """Node positions of all bodies at all frames."""
    run = sim.simulate(sim.Scene(bodies, colliders=colliders, **options), frames)
    return list(run.positions)


def pinned():
    top = sim.node_points(range(36, 45))
    side = sim.node_points([0, 1])
    led = sim.Keyed([0.0, 0.5, 1.0], np.array([[0, 0, 0], [0.2, 0, 0.1], [0, 0.1, 0]])[:, None, :])
    body = block(height=0.5)
    start = body.asset.nodes[36:45]
    target = sim.Keyed(led.times, start + led.values)
    pins = [sim.Pin(top, target=target), sim.Pin(side, strength=0.4)]
    sliding = sim.Pin(top, normal=(1.0, 2.0, 3.0))
    return simulated(block(height=0.5, pins=pins), block("hexes", pins=[sliding]))


def loaded():
    points = sim.node_points([0, 8, 44])
    loads = [
        sim.Force(points, (5.0, 0.0, 20.0)),
        sim.Impulse(points, (0.0, 3.0, 0.0), 0.2),
        sim.VelocityChange(points, (1.0, 0.0, 0.0), 0.4),
        sim.PositionChange(points, (0.0, 0.0, 0.05), 0.6),
    ]
    return simulated(block(loads=loads))


def collided():
    path = sim.Motion([[0.0, 0.0, -0.3], [0.3, 0.0, 0.1]], [TURN, (1.0, 0.0, 0.0, 0.0)], [0.0, 1.0])
    still = sim.Motion((0.2, 0.15, -0.3), TURN)
    runs = []
    for collider in (
        sim.Collider(sim.Sphere(0.3), still, 0.8),
        sim.Collider(sim.Box((0.5, 0.6, 0.4)), path, 0.5, 0.2),
        sim.Collider(sim.Capsule.of_keys(0.2, 0.5), path, 0.9),
        sim.Collider(sim.Plane(), path, 0.2, 0.5),
    ):
        for kind in BEAMS:
            runs += simulated(block(kind, restitution=0.1), colliders=[collider])
    return runs


def squashed(rotation):
    body = block(height=1.0)
    start = np.array(body.asset.nodes)
    start[:, 2] = 1.0 + 0.02 * np.sin(7.0 * np.arange(len(start)))
    return simulated(block(height=1.0, start=start, rotation_method=rotation))


def touching(**settings):
    """Blocks that fall, slide and come to rest, a little off the grid so that no contact is there by chance."""
    solver = sim.SolverSettings(**settings)
    slope = sim.Collider(sim.Plane(), sim.Motion((0.0, 0.0, 0.0), (1.0, 0.08, -0.05, 0.0)), 0.4)
    runs = []
    for kind in BEAMS:
        body = block(kind, height=0.03, young_modulus=1e5, stiffness_damping=0.01)
        runs += simulated(body, colliders=[slope], solver=solver)
    return runs


def rested():
    pin = sim.Pin(sim.node_points(range(9)))
    kinds = [("tets", "Corotated"), ("hexes", "NeoHookean")]
    return [sim.equilibrium(block(kind, law, pins=[pin])).x for kind, law in kinds]


def embedded():
    """A ball in a cage, barycentric, falling on its visible surface, two bodies in a scene."""
    runs = []
    for element in ("tet", "hex"):
        asset = toolkit.build_cage(ball(2, 0.3, (0, 0, 0.35)), resolution=6, element=element)
        soft = sim.SoftBody(asset, sim.NeoHookean(3e3, 0.45, 1000.0), velocity=(1.0, 0.0, -3.0))
        runs += simulated(soft, block(), frames=18, colliders=[sim.ground(friction=0.4)])
        runs.append(soft.surface(runs[-2][-1]))
    return runs


def asset_of(mesh, **settings):
    asset = toolkit.build_cage(mesh, **settings)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "asset.npz"
        toolkit.save_asset(asset, path)
        with np.load(path, allow_pickle=False) as arrays:
            return [arrays[name] for name in sorted(arrays.files) if name != "meta"]


def asked():
    """Rays, nearest points and pairs on a posed collision surface."""
    rng = np.random.default_rng(3)
    asset = toolkit.build_cage(torus(), resolution=8)
    x = asset.cage_nodes + 0.02 * rng.normal(size=asset.cage_nodes.shape)
    one, two = (toolkit.pose(asset.collision, x + shift) for shift in (0.0, [0.3, 0.1, 0.2]))
    points = rng.normal(size=(200, 3))
    hits = toolkit.cast_rays(one, points, -points)
    near = toolkit.closest_points(one, points)
    pairs = toolkit.intersecting_pairs(one, two)
    values = [*(v for found in (hits, near, pairs) for v in vars(found).values())]
    values.append(toolkit.are_inside(one, points))
    return [value for value in values if isinstance(value, np.ndarray)]


# ---- from the command line


def command(folder, *arguments):
    """Run jellycage in a folder; what --json prints, without times and places."""
    done = subprocess.run(
        [COMMAND, *map(str, arguments), "--json", "-q"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{arguments}: {done.stderr}")
    return json.loads(done.stdout)


def baked(content, *options, stopped_after=None):
    """Frames of a scene, and what was measured in double precision."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "scene.json").write_text(json.dumps(content))
        vertices = toolkit.read_mesh(SAMPLES / "gummy_bear.obj").vertices
        height = (vertices[:, 2] - vertices[:, 2].min()) / np.ptp(vertices[:, 2])
        np.savez(Path(folder) / "paint.npz", height=height)
        if stopped_after is not None:
            stop(folder, stopped_after)
            options = (*options, "--resume")
        facts = command(folder, "bake", "scene.json", "-o", "bake", *options)
        frames = sorted([*Path(folder).glob("bake/frame_*"), *Path(folder).glob("bake/velocity_*")])
        motions = [
            np.frombuffer(path.read_bytes(), np.uint8)
            for path in sorted(Path(folder).glob("*.bvh"))
        ]
        measured = [facts[name] or 0.0 for name in ("volume_error_max", "contacts_max", "min_J")]
        return [*(np.load(path) for path in frames), np.array(measured, float), *motions]


def stop(folder, frame):
    """Begin to bake the scene of a folder and stop after a frame, as Ctrl-C does."""
    begun = subprocess.Popen([COMMAND, "bake", "scene.json", "-o", "bake", "-q"], cwd=folder)
    while not (Path(folder) / "bake" / f"frame_{frame:04d}.npy").exists():
        time.sleep(0.005)
    begun.send_signal(signal.SIGINT)
    if begun.wait() != 130:
        raise SystemExit("the bake that is to be resumed was not stopped in time")


def scene(body=None, **keys):
    row = {"mesh": str(SAMPLES / "gummy_bear.obj"), "resolution": 6, "location": [0, 0, 0.05]}
    content = {"frames": [1, 20], "quality": "preview", "body": [{**row, **(body or {})}]}
    return {**content, "collider": [{"kind": "plane", "friction": 0.6}], **keys}


PAINT = {
    "young_modulus": {"file": "paint.npz", "array": "height", "low": 2e4, "high": 2e5},
    "density": {"file": "paint.npz", "array": "height", "low": 500.0, "high": 1500.0},
}
SPHERE = {"kind": "sphere", "radius": 0.1, "location": [0.1, 0.05, -0.02], "friction": 0.8}
RIGIDS = [
    {"kind": "box", "size": [0.4, 0.6, 0.8], "location": [0, -3.0, 2.2], "spin": [1, 2, 3]},
    {"kind": "mesh", "mesh": str(SAMPLES / "hand.obj"), "location": [0.3, -3.2, 3]},
    {"kind": "capsule", "radius": 0.1, "length": 0.4, "location": [0.1, -3.1, 4]},
    {"kind": "sphere", "radius": 0.2, "location": [0.1, -3.0, 5], "restitution": 0.5},
]
RAGDOLL = {"character": str(SAMPLES / "walker.json"), "motion": ["walker.bvh"]}
BEAM = {"kind": "mesh", "mesh": str(SAMPLES / "beam.obj"), "location": [0, -3.0, 0.2]}


def let_go(*options):
    """Bones and shapes of the sample character after it has gone limp."""
    with tempfile.TemporaryDirectory() as folder:
        facts = command(
            folder, "ragdoll", SAMPLES / "walker.json", "--frames", 24,
            "-o", "a.bvh", "-o", "a.json", "-o", "a.abc", *options,
        )  # fmt: skip
        files = [
            np.frombuffer((Path(folder) / name).read_bytes(), np.uint8)
            for name in ("a.bvh", "a.json")
        ]
        # The archive says which version wrote it, so its length is all that counts.
        size = (Path(folder) / "a.abc").stat().st_size
        return [*files, np.array([facts["joint_gap_max"], facts["rod_length_error_max"], size])]


RUNS = {
    "tets, co-rotated": lambda: simulated(block()),
    "tets, neo-Hookean": lambda: simulated(block(law="NeoHookean")),
    "hexes, co-rotated": lambda: simulated(block("hexes")),
    "hexes, neo-Hookean, 8 points": lambda: simulated(block("hexes", "NeoHookean", quadrature=8)),
    "two bodies": lambda: simulated(block(), block("hexes", height=9.0)),
    "dapd": lambda: squashed("dapd"),
    "isvd": lambda: squashed("isvd"),
    "pins": pinned,
    "loads": loaded,
    "wind": lambda: simulated(block(air_drag=0.6, mass_damping=0.3), wind=(3.0, 1.0, 0.0)),
    "colliders": collided,
    "contact, defaults": touching,
    "contact, half the tolerances": lambda: touching(
        newton_tolerance=0.015, linear_tolerance=0.005, precision=5e-10
    ),
    "contact, tolerances of 1e-10": lambda: touching(
        newton_iterations=200,
        newton_tolerance=1e-10,
        linear_iterations=5000,
        linear_tolerance=1e-10,
        precision=1e-10,
    ),
    "equilibrium": rested,
    "surfaces": embedded,
    "queries": asked,
    "asset, tets": lambda: asset_of(toolkit.read_mesh(SAMPLES / "hand.obj"), resolution=12),
    "asset, hexes": lambda: asset_of(
        toolkit.read_mesh(SAMPLES / "creature.obj"), resolution=10, element="hex"
    ),
    "asset, torus knot": lambda: asset_of(
        toolkit.read_mesh(SAMPLES / "torus_knot.obj"), resolution=16, smooth="mls"
    ),
    "preset": lambda: baked(scene({"preset": "flesh", "element": "hex"}, quality="standard")),
    "smooth surface": lambda: baked(scene({"surface": "gaussian"}), "--velocities"),
    "painted": lambda: baked(scene({"paint": PAINT, "material": {"young_modulus": 3e4}})),
    "resumed": lambda: baked(scene({"preset": "rubber"}, frames=[1, 60]), stopped_after=20),
    "violence": lambda: baked(
        scene({"velocity": [1, 0.5, -25], "spin": [3, 8, 1]}, collider=[{"kind": "plane"}, SPHERE])
    ),
    "rigid bodies": lambda: baked(
        {"frames": [1, 40], "rigid": RIGIDS, "collider": [BEAM, {"kind": "plane"}]}
    ),
    "ragdoll": let_go,
    "ragdoll, joints": lambda: let_go("--spine", "joints", "--strength", 0.3),
    "mixed scene": lambda: baked(
        scene(frames=[50, 75], rigid=RIGIDS[2:], ragdoll=[RAGDOLL]), "--velocities"
    ),
}


def digest(arrays) -> str:
    total = hashlib.sha256()
    for array in arrays:
        array = np.ascontiguousarray(array)
        total.update(f"{array.dtype} {array.shape}".encode() + array.tobytes())
    return total.hexdigest()[:16]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", help=".npz to keep the results in")
    parser.add_argument("--against", help=".npz of another commit")
    parser.add_argument("--only", help="names that hold this text")
    arguments = parser.parse_args()
    known = np.load(arguments.against, allow_pickle=False) if arguments.against else None
    kept, differing = {}, 0
    for name, run in RUNS.items():
        if arguments.only and arguments.only not in name:
            continue
        arrays = run()
        verdict = ""
        if known is not None:
            before = [known[f"{name}.{k}"] for k in range(int(known[f"{name}.count"]))]
            verdict = "same" if digest(arrays) == digest(before) else _difference(arrays, before)
            differing += verdict != "same"
        print(f"{name:32s} {digest(arrays)}  {verdict}", flush=True)
        kept |= {f"{name}.{k}": array for k, array in enumerate(arrays)}
        kept[f"{name}.count"] = len(arrays)
    if arguments.output:
        np.savez_compressed(arguments.output, **kept)
    if known is not None:
        print(f"{sum(name.endswith('.count') for name in kept)} runs, {differing} differ")
    return 1 if differing else 0


def _difference(after, before) -> str:
    if [a.shape for a in after] != [b.shape for b in before]:
        return "other shapes"
    pairs = [(a, b) for a, b in zip(after, before, strict=True) if a.dtype.kind == "f" and a.size]
    return f"differs by {max((np.abs(a - b).max() for a, b in pairs), default=np.nan):.3g}"


if __name__ == "__main__":
    sys.exit(main())
