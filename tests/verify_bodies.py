"""Soft bodies that touch each other, in full, as a table: part of `make verify`. Exit 1 if a line is broken.

    python tests/verify_bodies.py [--meshes DIR] [--only stacks,momentum,..] [--seeds A:B]

Depths are those of exported vertices inside the exported surface of another body. `--seeds` are those of the random
piles; `--meshes` what they are made of.
"""

import argparse
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests")]

from body_scenes import (  # noqa: E402
    FPS,
    JELLY,
    G,
    after,
    centres,
    cube,
    energies,
    frames,
    globe,
    held_below,
    held_nodes,
    mean_velocities,
    momenta,
    momentum_scale,
    random_pile,
    sample,
    slab,
    soft,
    stack,
    stepper_of,
    tilted,
)
from contact_scenes import speed  # noqa: E402
from overlaps import (  # noqa: E402
    deepest,
    deepest_share,
    depth,
    extent,
    fastest_vertex,
    inverted,
    is_finite,
    plain_depth,
    volume_errors,
)
from pressed_bodies import (  # noqa: E402
    centre_of_pressure,
    force_between,
    hertz_force,
    one_on_another,
    pressed_blocks,
    second_layer,
    squeezed,
    upright_stresses,
)
from shapes import random_rotation  # noqa: E402
from stepping import state_bits  # noqa: E402
from verify_report import Report, given_folder, mesh_files  # noqa: E402

from jellycage import sim  # noqa: E402

FREE = (0.0, 0.0, 0.0)  # gravity of those who have none
EDGE = 0.2  # of the cubes [m]
# A column glued of n cubes buckles by its own weight if E < rho g 12 (n L)^3 / (7.84 L^2) (Greenhill 1881): for 1e5 Pa
# that is above 0.64 m. Five cubes need 3.8e5.
STACKS = {2: 1e5, 5: 1e6}
LARGEST_MESH = 30_000  # triangles: larger ones say nothing new about piles


def verify_oracle(out):
    """The depth that all other lines rest on, against trying every triangle."""
    asset, rng = sample("gummy_bear"), np.random.default_rng(1)
    body = soft(asset, turned=random_rotation(5))
    x = body.start_positions() + 0.004 * rng.normal(size=asset.cage_nodes.shape)
    points = 0.12 * rng.uniform(-1.0, 1.0, (400, 3))
    found, plain = depth(points, body, x), plain_depth(points, body.surface(x), asset.surface_faces)
    off = abs(found / plain - 1.0)
    out.line("the deepest of 400 points in a bear, off by", f"{off:.0e}", off < 1e-9)


def verify_stacks(out):
    """Stacks of cubes that stand for 10 s and never sleep."""
    for count, young_modulus in STACKS.items():
        bodies = stack(count, young_modulus)
        stepper = stepper_of(bodies, length=EDGE, colliders=[sim.ground(friction=0.5)])
        began, drift = centres(bodies, stepper.start()), 0.0
        for state in frames(stepper, 10.0):
            away = (centres(bodies, state) - began)[:, :2]
            drift = max(drift, np.linalg.norm(away, axis=1).max() / EDGE)
        out.line(f"{count} cubes, 10 s: drift", f"{drift:.3%} of the edge", drift < 0.005)
        deep = deepest(bodies, state) / EDGE
        out.line(f"{count} cubes: overlap", f"{deep:.3%} of the edge", deep < 0.005)
        fastest = max(map(speed, state.soft)) / np.sqrt(G * EDGE)
        out.line(f"{count} cubes: speed at the end", f"{fastest:.1e} sqrt(g L)", fastest < 1e-3)
        off = max(force_errors(bodies, stepper, state))
        out.line(f"{count} cubes: force through contacts off by", f"{off:.2%}", off < 0.01)


def force_errors(bodies, stepper, state):
    """How far what each pair of neighbours in a stack presses with is from the weight above, in such weights."""
    weights = np.array([G * body.mass.sum() for body in bodies])
    for k in range(len(bodies) - 1):
        above = weights[k + 1 :].sum()
        yield np.linalg.norm(force_between(stepper, state, k, k + 1) - [0, 0, -above]) / above


def verify_momentum(out):
    """Two bodies that collide in free space, and a cube that flies through a slot."""
    for friction in (0.0, 0.5):
        for name, bodies in colliding(friction).items():
            verify_collision(f"{name}, mu {friction}", bodies, out)
    verify_slot(out)


def colliding(friction):
    """Pairs of bodies that fly at each other obliquely and off-centre, by name."""
    there, back = (1.5, 0.3, 0.1), (-1.5, -0.2, 0.0)
    at = (0.2 + 0.03, 0.06, 0.04)
    return {
        "cubes": [
            soft(cube(), velocity=there, friction=friction, turned=random_rotation(3)),
            soft(cube(), 1.2 * np.array(at), velocity=back, friction=friction),
        ],
        "balls": [
            soft(globe(), velocity=there, friction=friction),
            soft(globe(), at, velocity=back, friction=friction, spin=(0.0, 5.0, 0.0)),
        ],
    }


def verify_collision(name, bodies, out):
    stepper = stepper_of(bodies, length=EDGE, gravity=FREE)
    # A frame is a step: each is looked at.
    stepper = sim.Stepper(stepper.scene, fps=FPS * stepper.substeps)
    state = stepper.start()
    scale = momentum_scale(bodies, state) * np.array([1.0, EDGE])
    before, began, full = (
        momenta(bodies, state),
        momenta(bodies, state),
        energies(bodies, state).sum(),
    )
    worst, highest, told, touched = np.zeros(2), 0.0, 0.0, 0
    for _ in frames(stepper, 0.75, state):
        now, energy = momenta(bodies, state), energies(bodies, state)
        worst = np.maximum(worst, np.linalg.norm(now - before, axis=1) / scale)
        highest = max(highest, energy.sum() / full - 1.0)
        off = [stepper.elastic_energy(k) - energy[k, 1] for k in range(len(bodies))]
        told, before = max(told, np.abs(off).max() / full), now
        touched += len(state.contacts) > 0
    total = np.linalg.norm(before - began, axis=1) / scale
    for kind, step, run in zip(("momentum", "angular momentum"), worst, total, strict=True):
        is_kept = step < 1e-9 and run < 1e-9 * FPS
        out.line(f"{name}: {kind} off", f"{step:.1e} a step, {run:.1e} in all", is_kept)
    out.line(f"{name}: energy above its start", f"{highest:.2%}", highest < 1e-3 and touched)
    out.line(f"{name}: elastic energy told off by", f"{told:.1e}", told < 1e-3)


def verify_slot(out):
    """A cube at 10 m/s between two blocks that are held, with 0.1 mm of play."""
    block, side = slab((0.4, 0.2, 0.2), 8), (EDGE + 0.2 + 1e-4) / 2.0
    held = [held_nodes(block, np.ones(len(block.cage_nodes), bool))]
    walls = [soft(block, (0.0, y, 0.0), pins=held) for y in (-side, side)]
    bodies = [soft(cube(), (-0.35, 0.0, 0.0), velocity=(10.0, 0.0, 0.0)), *walls]
    state = after(stepper_of(bodies, length=EDGE, gravity=FREE), 0.125)
    left, way = mean_velocities(bodies, state)[0, 0], centres(bodies, state)[0, 0]
    is_through = 9.8 <= left <= 10.0 * (1.0 + 1e-9) and way > 0.3
    out.line("10 m/s through a slot leaves", f"{left:.3f} m/s", is_through)


def verify_messy(out):
    """Bodies that start inside each other."""
    for name, make in tangles().items():
        for surroundings in ("free", "floor"):
            bodies = make()
            sizes = [extent(body) for body in bodies]
            low = min(body.surface(body.start_positions())[:, 2].min() for body in bodies)
            gravity, colliders, height = FREE, [], max(sizes)
            if surroundings == "floor":
                gravity, colliders = (0.0, 0.0, -G), [sim.ground(low - 0.01)]
                top = max(body.surface(body.start_positions())[:, 2].max() for body in bodies)
                height = top - low + 0.01
            stepper = stepper_of(bodies, length=min(sizes), gravity=gravity, colliders=colliders)
            verify_parted(f"{name}, {surroundings}", bodies, stepper, height, out)


def tangles():
    """What makes the bodies of each case, by its name."""
    assets = {"cubes": cube(), "balls": globe(), "bears": sample("gummy_bear")}
    found = {}
    for name, asset in assets.items():
        for share in (0.1, 0.3, 0.5):
            found[f"{name} by {share:.0%}"] = lambda a=asset, s=share: overlapping(a, s)
    found["a ball in a ball"] = lambda: [soft(globe()), soft(globe(0.05), (0.01, 0.02, 0.015))]
    found["ten balls in one place"] = lambda: [
        soft(globe(resolution=4, splits=2), at)
        for at in np.random.default_rng(4).uniform(-0.02, 0.02, (10, 3))
    ]
    return found


def overlapping(asset, share):
    """A body and the same again, moved along x until so much of its width is in the first."""
    width = np.ptp(asset.surface_vertices[:, 0])
    return [soft(asset), soft(asset, ((1.0 - share) * width, 0.02 * width, 0.0))]


def verify_parted(name, bodies, stepper, height, out):
    """Whether bodies are apart after 2 s, and were never faster than three times a free fall from a height [m]."""
    began, fastest = deepest_share(bodies, stepper.start()), 0.0
    for state in frames(stepper, 2.0):
        fastest = max(fastest, fastest_vertex(bodies, state) / np.sqrt(2.0 * G * height))
    deep, swollen = deepest_share(bodies, state), volume_errors(bodies, state).max()
    flipped = inverted(bodies, state)
    text = f"overlap {deep:.2%} from {began:.0%}, speed {fastest:.2f} of a fall"
    text += f", volume {swollen:.2%}, inverted {flipped}"
    is_good = deep < 0.01 < began and fastest < 3.0 and swollen < 0.02 and not flipped
    out.line(f"{name}: after 2 s", text, is_good and is_finite(state))


def verify_sticking(out):
    """A cube lifted off another slowly, and one that falls on another from 20 m."""
    verify_lift(out)
    verify_fall(out)


def verify_lift(out):
    """The top of the upper of two cubes goes up at 5 mm/s; a pull on the lower one would stretch it.

    Its spring is measured by the scene itself: the weight of the upper one shortens it by a known way.
    """
    pace, seconds, floor = 0.005, 4.0, [sim.ground()]
    bodies = [soft(cube(), (0, 0, EDGE * k), damping_ratio=0.5) for k in range(2)]
    stepper = stepper_of(bodies, length=EDGE, colliders=floor)
    state = after(stepper, 3.0)
    top = np.flatnonzero(bodies[1].asset.cage_nodes[:, 2] >= EDGE)
    points = sim.node_points(top, node_count=len(bodies[1].mass))
    held, start = state.soft[1].x[top], state.time

    def led(time):
        return held + [0.0, 0.0, pace * max(time - start, 0.0)]

    lifted = soft(cube(), (0, 0, EDGE), damping_ratio=0.5, pins=[sim.Pin(points, led)])
    bodies = [bodies[0], lifted]
    stepper, arrays = stepper_of(bodies, length=EDGE, colliders=floor), state.arrays()
    state = stepper.start()
    state.restore(arrays)
    heights = [centres(bodies, state)[0, 2]]
    heights += [centres(bodies, state)[0, 2] for state in frames(stepper, seconds, state)]
    alone = after(stepper_of(bodies[:1], length=EDGE, colliders=floor), 3.0)
    free = centres(bodies[:1], alone)[0, 2]
    pull = (max(heights) - free) / (free - heights[0])
    out.line("a lifted cube pulls the lower one by", f"{pull:.2%} of its weight", pull < 0.01)
    gap = (
        bodies[1].surface(state.soft[1].x)[:, 2].min()
        - bodies[0].surface(state.soft[0].x)[:, 2].max()
    )
    out.line("a lifted cube is off the lower one by", f"{gap * 1e3:.1f} mm", gap > 1e-3)


def verify_fall(out):
    """A cube that falls on another from 20 m: it is not below it while it is over it."""
    fall = (0.0, 0.0, -np.sqrt(2.0 * G * 20.0))
    bodies = [soft(cube()), soft(cube(), (0.0, 0.0, EDGE + 0.005), velocity=fall)]
    stepper, is_ordered = stepper_of(bodies, length=EDGE, colliders=[sim.ground()]), True
    for state in frames(stepper, 4.0):
        way = np.subtract(*centres(bodies, state)[::-1])
        is_ordered &= bool(way[2] > 0.0 or np.linalg.norm(way[:2]) > 0.7 * EDGE)
    deep, swollen = deepest_share(bodies, state), volume_errors(bodies, state).max()
    out.line("a cube from 20 m stays above", str(is_ordered), is_ordered and is_finite(state))
    text = f"overlap {deep:.2%}, volume {swollen:.2%}, inverted {inverted(bodies, state)}"
    is_good = deep < 0.01 and swollen < 0.02 and not inverted(bodies, state)
    out.line("a cube from 20 m: 4 s later", text, is_good)


def verify_slope(out):
    """A block on a slab that is held from below, just less and more steep than friction holds."""
    for friction in (0.3, 0.5):
        # Unlike each by itself: a pair has the geometric mean.
        for angle, is_steep in ((-2.0, False), (5.0, True)):
            tilt = np.arctan(friction) + np.radians(angle)
            ways, speeds, times = slid(tilt, friction)
            if is_steep:
                exact = G * (np.sin(tilt) - friction * np.cos(tilt))
                late = times > 0.4
                found = np.polyfit(times[late], speeds[late], 1)[0]
                text, claim = f"{found:.3f} of {exact:.3f} m/s^2", f"mu {friction}, 5 degrees more"
                out.line(claim, text, abs(found / exact - 1.0) < 0.08)
            else:
                crept = abs(ways[-1] - ways[np.searchsorted(times, times[-1] - 2.5)])
                claim = f"mu {friction}, 2 degrees less: creeps"
                out.line(claim, f"{crept * 1e3:.3f} mm in 2.5 s", crept < 1e-3)


def slid(tilt, friction):
    """Ways [m] and speeds [m/s] along a slope of an angle [rad], and times [s], of a block on a slab."""
    ground, top = slab((1.6, 0.4, 0.1), 16, 4), slab((0.2, 0.2, 0.1), 4)
    below = soft(ground, pins=[held_below(ground)], friction=0.8 * friction)
    block = soft(top, (-0.5, 0.0, 0.1), damping_ratio=0.5, friction=friction / 0.8)
    bodies = [below, block]
    stepper = stepper_of(bodies, length=0.1, gravity=tilted(tilt))
    ways, speeds, times = [], [], []
    for state in frames(stepper, 1.25 if tilt > np.arctan(friction) else 4.0):
        ways.append(centres(bodies, state)[1, 0])
        speeds.append(mean_velocities(bodies, state)[1, 0])
        times.append(state.time)
    return np.array(ways), np.array(speeds), np.array(times)


def verify_detail(out):
    """The same solids in the same cages, whose triangles are cut into 4 and 16."""
    for shape in ("cube", "ball"):
        found = [rested(one_on_another(shape, splits)) for splits in range(3)]
        for splits in (1, 2):
            away, aside = (np.abs(found[splits][k] - found[0][k]).max() / EDGE for k in range(2))
            claim = f"{shape} on {shape}, triangles cut {splits} times"
            out.line(f"{claim}: centres move", f"{away:.3%} of the size", away < 0.005)
            out.line(f"{claim}: centre of pressure", f"{aside:.3%} of the size", aside < 0.01)


def rested(bodies):
    """Centres of two bodies that lie on each other, and of their pressure [m]."""
    stepper = stepper_of(bodies, length=EDGE, colliders=[sim.ground()])
    state = after(stepper, 3.0)
    return centres(bodies, state), centre_of_pressure(stepper, state, 0, 1)


def verify_patch(out):
    """Two blocks of unlike meshes under one pressure: the stress beyond the first layer at their contact."""
    pressure = 0.02 * JELLY.young_modulus
    bodies = pressed_blocks(pressure)
    floor = [sim.ground(friction=0.0)]
    state = after(stepper_of(bodies, length=EDGE, gravity=FREE, colliders=floor), 2.0)
    for body, own, height, cells, name in zip(
        bodies, state.soft, (EDGE, 0.0), (5, 7), ("lower", "upper"), strict=True
    ):
        stress, volume, _ = upright_stresses(body, own.x)
        chosen = second_layer(body, height, EDGE / cells) & (volume > 0.0)
        off, share = -stress[chosen] / pressure - 1.0, volume[chosen] / volume[chosen].sum()
        mean, rms, worst = share @ off, np.sqrt(share @ off**2), np.abs(off).max()
        text = f"mean {mean:.1%}, rms {rms:.1%}, worst {worst:.1%}"
        is_good = abs(mean) < 0.01 and rms < 0.05 and worst < 0.15
        out.line(f"patch test, {name} block: stress off", text, is_good)


def verify_hertz(out):
    """A ball between two plates, and two: as if each of them was alone on a plate."""
    radius = 0.1
    exact = hertz_force(radius, 0.04 * radius)
    for count, name in ((1, "a ball on a plane"), (2, "a ball on a ball")):
        found = [squeezed(count, n, 0.04 * radius) / exact - 1.0 for n in (16, 24, 32)]
        text = " ".join(f"{off:+.1%}" for off in found)
        falls = all(abs(b) < abs(a) for a, b in pairwise(found))
        out.line(f"{name}: force off Hertz, 16, 24, 32", text, falls and abs(found[-1]) < 0.1)


def verify_piles(files, seeds, out):
    """Random bodies in a box, after they had time to settle."""
    found = [settled(seed, files, out) for seed in seeds]
    count = len(found)
    apart = sum(deep < 0.01 for _, deep, _, _ in found) / count
    within = sum(outside < 0.01 for *_, outside, _ in found) / count
    sound = sum(not flipped for *_, flipped in found) / count
    finite = sum(ok for ok, *_ in found) / count
    out.line(f"{count} piles: finite", f"{finite:.0%}", finite == 1.0)
    out.line(f"{count} piles: overlap below 1 %", f"{apart:.0%}", apart >= 0.98)
    out.line(f"{count} piles: nothing outside", f"{within:.0%}", within == 1.0)
    out.line(f"{count} piles: nothing inside out", f"{sound:.0%}", sound >= 0.99)


def settled(seed, files, out):
    """(is finite, deepest vertex and farthest one outside in sizes, how many points are inside out)."""
    bodies, colliders, scale, text = random_pile(seed, files)
    stepper = stepper_of(bodies, colliders=colliders)
    try:
        # As long as three seconds at a metre.
        state = after(stepper, 3.0 * np.sqrt(scale))
    except sim.SimError as error:
        out.notes([f"seed {seed}: {error}; {text}"])
        return False, np.inf, np.inf, 1
    if not is_finite(state):
        out.notes([f"seed {seed}: not finite; {text}"])
        return False, np.inf, np.inf, 1
    deep, outside, flipped = deepest_share(bodies, state), 0.0, inverted(bodies, state)
    for body, own in zip(bodies, state.soft, strict=True):
        surface = body.surface(own.x)
        beyond = max(-collider.distances(surface).min() for collider in colliders)
        outside = max(outside, beyond / extent(body))
    if deep >= 0.01 or outside >= 0.01 or flipped:
        out.notes([f"seed {seed}: {deep:.1%} deep, {outside:.1%} out, {flipped} inverted; {text}"])
    return True, deep, outside, flipped


def verify_determinism(out):
    """The same bytes twice, and after a rest half way."""
    for name, make in {"cubes": lambda: stack(3), "bears": bears}.items():
        floor = [sim.ground()]
        once = after(stepper_of(make(), length=EDGE, colliders=floor), 1.0)
        half = after(stepper_of(make(), length=EDGE, colliders=floor), 0.5).arrays()
        stepper = stepper_of(make(), length=EDGE, colliders=floor)
        state = stepper.start()
        state.restore({key: np.array(array) for key, array in half.items()})
        again = after(stepper_of(make(), length=EDGE, colliders=floor), 1.0)
        is_same, is_taken_up = (
            state_bits(once) == state_bits(other) for other in (again, after(stepper, 0.5, state))
        )
        out.line(f"{name}: the same bytes twice", str(is_same), is_same)
        out.line(f"{name}: a restored state goes on alike", str(is_taken_up), is_taken_up)


def bears():
    """Two bears that fall on each other."""
    asset = sample("gummy_bear")
    low = -asset.surface_vertices[:, 2].min()
    height = np.ptp(asset.surface_vertices[:, 2])
    return [soft(asset, (0.03 * k, 0.01 * k, low + (height + 0.01) * k)) for k in range(2)]


SECTIONS = (
    "oracle",
    "stacks",
    "momentum",
    "messy",
    "sticking",
    "slope",
    "detail",
    "patch",
    "hertz",
    "determinism",
    "piles",
)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(SECTIONS), help=f"of {', '.join(SECTIONS)}")
    parser.add_argument("--seeds", default="400:420", help="first and one past the last, A:B")
    folder = given_folder(parser)
    arguments, out = parser.parse_args(), Report()
    first, last = map(int, arguments.seeds.split(":"))
    for name in arguments.only.split(","):
        if name not in SECTIONS:
            parser.error(f"--only: expected some of {', '.join(SECTIONS)}, got {name}")
        if name == "piles":
            verify_piles(mesh_files(folder), range(first, last), out)
        else:
            globals()[f"verify_{name}"](out)
    out.close()


if __name__ == "__main__":
    main()
