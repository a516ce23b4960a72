"""Figures 7.5 to 7.8 of thesis 000: a rod for a spine against three ball joints and against one, and what they cost.

    python benchmarks/ragdoll.py [--json FILE] [--plot FILE.html]

All with the same solver, one step per frame at 60 Hz, 20 iterations and the multipliers of the last frame to start
from. Residuals are sums over all joints of a ragdoll, means over 5 s. "equal time" gives the rod the iterations that
cost what 20 of the chain cost. Times are the minimum of several runs; the machine should be idle.
"""

import argparse
import json
import os
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"  # before numpy is imported

import numpy as np  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
from jellycage.sim.maths.quaternions import about, product, turned  # noqa: E402
from jellycage.sim.ragdoll.humanoid import humanoid  # noqa: E402
from jellycage.sim.ragdoll.ragdoll import RagdollSettings, build_ragdoll  # noqa: E402
from jellycage.sim.ragdoll.simulation import ragdoll_world  # noqa: E402
from jellycage.sim.rigid.body import RigidBody  # noqa: E402
from jellycage.sim.rigid.joints import WORLD, Ball, Fixed  # noqa: E402
from jellycage.sim.rigid.rods import Rod  # noqa: E402
from jellycage.sim.rigid.world import RigidSettings, RigidWorld  # noqa: E402
from jellycage.sim.shapes import Box, Capsule  # noqa: E402
from jellycage.sim.shapes.colliders import Collider, Motion, ground  # noqa: E402

HZ, SECONDS, ITERATIONS = 60, 5, 20
DROPS = 8  # a single one is a matter of luck
SPINES = {"rod": "one rod", "joints": "three joints", "ball": "one ball joint"}
DOWN = (0.0, 0.0, -9.81)
BOUNDS = {"passive bending": 0.5, "drop": 1.0}
"""Residuals of the rod, as shares of those of three joints, at most."""


def still(character):
    """A character without its animation: it starts at rest."""
    return replace(
        character,
        frames=character.frames[-1:],
        location=character.location[-1:],
        rotation=character.rotation[-1:],
    )


def moved(character, shift, turn=(1.0, 0.0, 0.0, 0.0)):
    """A character put elsewhere, turned about the origin first."""
    turn = np.array(turn)
    return replace(
        character,
        location=turned(turn, character.location) + np.array(shift),
        rotation=product(turn, character.rotation),
    )


def held_at_hips(spine, gravity=DOWN, strength=0.0, iterations=ITERATIONS):
    """A ragdoll whose hips the world holds, nothing else around it."""
    ragdoll = build_ragdoll(still(humanoid()), RagdollSettings(spine=spine, strength=strength))
    hips = list(ragdoll.body_bone).index(ragdoll.character.index("hips"))
    hold = Fixed(a=WORLD, b=hips, point=ragdoll.bodies[hips].centre())
    settings = RigidSettings(substeps=1, iterations=iterations, sleep_speed=0.0)
    world = RigidWorld(
        ragdoll.bodies, [*ragdoll.joints, hold], ragdoll.rods, gravity=gravity, settings=settings,
        excluded_pairs=ragdoll.excluded_pairs,
    )  # fmt: skip
    return ragdoll, world


def dropped(spine, iterations=ITERATIONS, drop=0):
    """A ragdoll that falls on to a box and the ground, tilted another way in each drop."""
    way = 2.0 * np.pi * drop / DROPS
    tilt = about(np.array([np.cos(way), np.sin(way), 0.0]), 0.7)
    character = still(humanoid())
    character = moved(moved(character, -character.location[-1, 0]), (0.0, 0.0, 2.2), tilt)
    ragdoll = build_ragdoll(character, RagdollSettings(spine=spine))
    settings = RigidSettings(substeps=1, iterations=iterations, sleep_speed=0.0)
    around = [ground(), Collider(Box((0.8, 0.4, 0.6)), Motion((0.0, 0.0, 0.3)))]
    return ragdoll, ragdoll_world([ragdoll], colliders=around, settings=settings)


def residual_curves(makes):
    """Dislocation [m] and violation [rad] after each frame, shape (frames, 2), and seconds per frame; means of runs."""
    runs = [residual_curve(make) for make in makes]
    return np.mean([curve for curve, _ in runs], axis=0), np.mean([spent for _, spent in runs])


def residual_curve(make):
    """The same of one run; the time is the least of three."""
    best = np.inf
    for _ in range(3):
        _, world = make()
        world.advance(1 / HZ, 1)
        curves, spent = [], 0.0
        for _ in range(HZ * SECONDS - 1):
            started = time.perf_counter()
            world.advance(1 / HZ, 1)
            spent += time.perf_counter() - started
            left = world.residuals()
            curves.append((left.dislocation, left.violation))
        best = min(best, spent / len(curves))
    return np.array(curves), best


def compare_residuals(out):
    """Fig. 7.5: three kinds of spine in two scenes."""
    curves = {}
    drops = [partial(dropped, drop=drop) for drop in range(DROPS)]
    for scene, makes in (("passive bending", [held_at_hips]), ("drop", drops)):
        means, spent = {}, {}
        for spine, words in SPINES.items():
            curve, spent[spine] = residual_curves([partial(make, spine) for make in makes])
            curves[scene, words] = curve
            means[spine] = curve.mean(axis=0)
        iterations = max(ITERATIONS, round(ITERATIONS * spent["joints"] / spent["rod"]))
        equal, _ = residual_curves([partial(make, "rod", iterations=iterations) for make in makes])
        print(
            f"\nFig. 7.5, {scene}: mean over {SECONDS} s   dislocation [cm]   violation [rad]   ms per frame"
        )
        for spine, words in SPINES.items():
            a, b = means[spine]
            print(f"{words:>42s} {100 * a:18.5f} {b:17.5f} {1e3 * spent[spine]:14.3f}")
        a, b = equal.mean(axis=0)
        print(f"{f'one rod, equal time ({iterations} iterations)':>42s} {100 * a:18.5f} {b:17.5f}")
        for name, at in (("dislocation", 0), ("violation", 1)):
            ratio = means["rod"][at] / max(means["joints"][at], 1e-300)
            out(f"{scene}: {name}, rod / three joints", ratio, BOUNDS[scene])
            out(
                f"{scene}: {name}, rod / one ball",
                means["rod"][at] / max(means["ball"][at], 1e-300),
                None,
            )
            ratio = equal.mean(axis=0)[at] / max(means["joints"][at], 1e-300)
            out(f"{scene}: {name}, rod / three joints, equal time", ratio, None)
    return curves


def compare_held_poses(out):
    """Fig. 7.6: muscles of strength 1 hold the pose while something pulls sideways as hard as the weight, twice."""
    deviation = {}
    for spine in SPINES:
        ragdoll, world = held_at_hips(spine, (0.0, 2 * 9.81, -9.81), strength=1.0)
        head = list(ragdoll.body_bone).index(ragdoll.character.index("head"))
        start, far = world.state.p[head].copy(), []
        for _ in range(HZ * SECONDS):
            world.advance(1 / HZ, 1)
            far.append(np.linalg.norm(world.state.p[head] - start))
        deviation[spine] = np.mean(far), np.max(far)
    print("\nFig. 7.6, pose held under load: the head is off by   mean [cm]   at most [cm]")
    for spine, words in SPINES.items():
        print(f"{words:>50s} {100 * deviation[spine][0]:11.4f} {100 * deviation[spine][1]:12.4f}")
    out("held pose: rod / three joints", deviation["rod"][0] / deviation["joints"][0], 1.0)


def cost_per_constraint(out):
    """Time of one iteration of a rod and of a ball joint, from the slope over iterations."""
    count = 500
    pairs = [
        RigidBody([Box((0.2, 0.2, 0.2))], location=(x, 3.0 * i, 0.0)) for i in range(count) for x in (0.0, 1.0)
    ]  # fmt: skip
    joints = [Ball(a=2 * i, b=2 * i + 1, point=(0.5, 3.0 * i, 0.0)) for i in range(count)]
    rods = [
        Rod(
            a=2 * i,
            b=2 * i + 1,
            points=[(0.1, 3.0 * i, 0), (0.9, 3.0 * i, 0)],
            bend_stiffness=10.0,
            twist_stiffness=10.0,
        )
        for i in range(count)
    ]
    for name, parts in (("ball joint", (joints, [])), ("rod", ([], rods))):
        spent = {}
        for iterations in (20, 120):
            settings = RigidSettings(iterations=iterations, sleep_speed=0.0)
            world = RigidWorld(pairs, *parts, settings=settings)
            world.advance(1 / HZ, 1)
            best = np.inf
            for _ in range(10):
                started = time.perf_counter()
                world.advance(1 / HZ, 1)
                best = min(best, time.perf_counter() - started)
            spent[iterations] = best
        out(f"ns per {name} and iteration", 1e9 * (spent[120] - spent[20]) / (100 * count), None)


def pile(spine="rod", count=30):
    """Thirty ragdolls above a floor with things on it."""
    rng = np.random.default_rng(0)
    ragdolls = []
    base = still(humanoid())
    base = moved(base, -base.location[-1, 0])
    for i in range(count):
        axis = rng.normal(size=3)
        turn = about(axis / np.linalg.norm(axis), rng.uniform(0.0, 3.0))
        place = (
            1.1 * (i % 3) - 1.1,
            1.1 * (i // 3 % 3) - 1.1,
            2.0 + 1.6 * (i // 9) + 0.1 * (i % 3),
        )
        ragdolls.append(build_ragdoll(moved(base, place, turn), RagdollSettings(spine=spine)))
    sideways = about(np.array([1.0, 0.0, 0.0]), 0.5 * np.pi)
    around = [
        ground(),
        Collider(Box((1.0, 1.0, 0.8)), Motion((0.8, 0.4, 0.4))),
        Collider(Capsule.of_keys(0.25, 3.0), Motion((-0.9, 0.0, 0.25), sideways)),
    ]
    settings = RigidSettings(substeps=1, iterations=ITERATIONS)
    return ragdolls, ragdoll_world(ragdolls, colliders=around, settings=settings)


def time_pile(out):
    """Fig. 7.8: thirty ragdolls fall together, 10 s at 60 Hz."""
    _, world = pile()
    world.step(1 / HZ)
    ragdolls, world = pile()
    spent, fastest, contacts, gap = [], 0.0, 0, 0.0
    for _ in range(10 * HZ):
        started = time.perf_counter()
        world.step(1 / HZ)
        spent.append(time.perf_counter() - started)
        fastest = max(fastest, np.linalg.norm(world.state.v[: world.moving], axis=1).max())
        contacts = max(contacts, int(world.counts[0]))
        gap = max(gap, world.residuals().joint_gap.max())
    far = np.abs(world.state.p[: world.moving]).max()
    print(f"\nFig. 7.8: {len(ragdolls)} ragdolls, {world.moving} bodies, at most {contacts} contacts; fastest "
          f"{fastest:.1f} m/s, greatest gap {100 * gap:.1f} cm, all within {far:.1f} m, "
          f"{world.state.is_asleep[: world.moving].mean():.0%} asleep after 10 s")  # fmt: skip
    out("pile: times real time, mean over 10 s", 1.0 / (HZ * np.mean(spent)), None)
    worst = np.max(np.convolve(spent, np.full(HZ, 1 / HZ), "valid"))
    out("pile: times real time, slowest second", 1.0 / (HZ * worst), 1.0)


def write_plot(curves, path):
    """Residuals over time, as in Fig. 7.5."""
    from plotly.subplots import make_subplots

    scenes = list(dict.fromkeys(scene for scene, _ in curves))
    figure = make_subplots(rows=2, cols=len(scenes), subplot_titles=scenes)
    colours = {"one rod": "#d62728", "three joints": "#1f77b4", "one ball joint": "#999999"}
    for (scene, words), curve in curves.items():
        for row, scale in ((1, 100.0), (2, 1.0)):
            figure.add_scatter(
                x=np.arange(len(curve)) / HZ, y=scale * curve[:, row - 1], name=words, legendgroup=words,
                line={"color": colours[words]}, showlegend=scene == scenes[0] and row == 1,
                row=row, col=scenes.index(scene) + 1,
            )  # fmt: skip
    figure.update_xaxes(title="time [s]", row=2)
    figure.update_yaxes(title="dislocation [cm]", row=1, col=1)
    figure.update_yaxes(title="violation [rad]", row=2, col=1)
    figure.write_html(path)
    print(f"\nwrote {path}")


def main():
    """Print the tables, and write them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path, help="HTML page with the curves; needs plotly")
    arguments = parser.parse_args()
    rows = []

    def out(name, value, bound):
        verdict = "" if bound is None else f"(bound {bound:g})"
        print(f"{name:>58s} {value:9.3f} {verdict}", flush=True)
        rows.append({"name": name, "value": float(value), "bound": bound})

    curves = compare_residuals(out)
    compare_held_poses(out)
    cost_per_constraint(out)
    time_pile(out)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))
    if arguments.plot:
        write_plot(curves, arguments.plot)


if __name__ == "__main__":
    main()
