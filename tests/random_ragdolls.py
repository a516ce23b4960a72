"""Ragdolls of all kinds, dropped on anything: what must be true of them after five seconds.

`python tests/random_ragdolls.py 200` drops them all and prints what went wrong, if anything did.
"""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests")]

from jellycage.sim import shapes  # noqa: E402
from jellycage.sim.errors import SolverError  # noqa: E402
from jellycage.sim.maths import quaternions  # noqa: E402
from jellycage.sim.ragdoll.bones import BoneEntry  # noqa: E402
from jellycage.sim.ragdoll.character import Character  # noqa: E402
from jellycage.sim.ragdoll.humanoid import humanoid  # noqa: E402
from jellycage.sim.ragdoll.ragdoll import SPINES, RagdollSettings, build_ragdoll  # noqa: E402
from jellycage.sim.ragdoll.simulation import ragdoll_world  # noqa: E402
from jellycage.sim.shapes import colliders  # noqa: E402
from jellycage.sim.shapes.static_mesh import StaticMesh  # noqa: E402

FPS, SECONDS = 24.0, 5.0
GAP = 0.01  # of the length of the bone: more is too much for a joint at rest
REACH = 100.0  # [sizes] from where it started


@dataclass(frozen=True)
class Outcome:
    """How a drop ended."""

    seed: int
    text: str
    error: str
    """Text of a SolverError, or nothing."""
    stray: float
    """How far it got, in sizes; infinite if a position was not finite."""
    gap: float
    """Greatest gap of a joint, or error of a rod's length, at the end, per length of the bone."""
    fastest: float
    """Sizes per second, at the end."""
    seconds: float

    @property
    def is_whole(self) -> bool:
        """Whether it is finite, near and held together."""
        return not self.error and self.stray < REACH and self.gap < GAP


@cache
def walker():
    """The sample character, walking."""
    return humanoid()


def random_turn(rng, most):
    """A turn about any axis by at most so much [rad]."""
    axis = rng.normal(size=3)
    return quaternions.about(axis / np.linalg.norm(axis), rng.uniform(0.0, most))


def random_creature(rng):
    """Bones that grow out of one another anyhow, with names that say nothing."""
    count = int(rng.integers(2, 26))
    heads, tails, bones = np.zeros((count, 3)), np.zeros((count, 3)), []
    for at in range(count):
        above = -1 if at == 0 else int(rng.integers(max(0, at - 6), at))
        direction = rng.normal(size=3)
        if above >= 0:
            heads[at] = tails[above]
            direction = direction / np.linalg.norm(direction) + 0.8 * (
                tails[above] - heads[above]
            ) / np.linalg.norm(tails[above] - heads[above])
        tails[at] = heads[at] + rng.uniform(0.1, 0.4) * direction / np.linalg.norm(direction)
        bones.append(
            BoneEntry(
                name=f"骨 {at}", parent=None if above < 0 else f"骨 {above}",
                head=tuple(heads[at]), tail=tuple(tails[at]),
                roll=float(rng.uniform(-180, 180)), locked=tuple(bool(x) for x in rng.random(3) < 0.2),
            )
        )  # fmt: skip
    rest = Character(
        name="creature", bones=tuple(bones), fps=FPS, frames=[1], location=heads[None],
        rotation=np.tile([1.0, 0.0, 0.0, 0.0], (1, count, 1)),
    )  # fmt: skip
    return replace(rest, rotation=rest.rest_rotation[None])


def posed(character, rng, bend):
    """A character in a random pose near the one of its last frame, whole, in one frame."""
    rotation, location = character.rotation[-1].copy(), character.location[-1].copy()
    for at, above in enumerate(character.parent):
        if above < 0:
            continue
        was_above = character.rotation[-1, above]
        local = quaternions.product(quaternions.inverse(was_above), character.rotation[-1, at])
        seat = quaternions.turned(
            quaternions.inverse(was_above),
            character.location[-1, at] - character.location[-1, above],
        )
        location[at] = location[above] + quaternions.turned(rotation[above], seat)
        turn = quaternions.product(rotation[above], local)
        rotation[at] = quaternions.product(random_turn(rng, bend), turn)
    return replace(
        character, frames=character.frames[-1:], location=location[None], rotation=rotation[None]
    )


def random_drop(rng):
    """(character with a velocity, its size, what it falls on, words)."""
    is_human = rng.random() < 0.6
    character = posed(
        walker() if is_human else random_creature(rng), rng, rng.choice([0.0, 0.3, 0.8])
    )
    scale = float(np.exp(rng.uniform(np.log(0.2), np.log(5.0))))
    centre = character.location[-1].mean(axis=0)
    size = float(np.ptp(character.rest_head, axis=0).max() + character.lengths().max()) * scale
    turn = random_turn(rng, np.pi)
    place = quaternions.turned(turn, scale * (character.location[-1] - centre))
    place += [0.0, 0.0, rng.uniform(0.8, 2.5) * size]
    rotation = quaternions.product(turn, character.rotation[-1])
    # A rigid motion in the interval before.
    velocity, spin = rng.normal(scale=2.0 * size, size=3), rng.normal(scale=3.0, size=3)
    middle = place.mean(axis=0)
    back = quaternions.by_vectors(-spin / FPS)
    before = middle + quaternions.turned(back, place - middle) - velocity / FPS
    bones = tuple(
        replace(b, head=tuple(scale * np.array(b.head)), tail=tuple(scale * np.array(b.tail)))
        for b in character.bones
    )
    character = replace(
        character, bones=bones, fps=FPS, frames=np.array([1, 2]), location=np.stack([before, place]),
        rotation=np.stack([quaternions.product(back, rotation), rotation]), mass=None,
    )  # fmt: skip
    return character, size, ("human" if is_human else f"{len(bones)} bones") + f" of {size:.2g} m"


def random_surroundings(rng, size):
    """(colliders, meshes): a floor or hills, and things that lie about."""
    meshes, things = [], [colliders.ground(friction=float(rng.uniform(0.2, 1.0)))]
    for _ in range(rng.integers(0, 5)):
        place = np.append(rng.normal(scale=0.8 * size, size=2), rng.uniform(-0.1, 0.3) * size)
        motion = colliders.Motion(place, random_turn(rng, np.pi))
        kind = rng.integers(3)
        if kind == 0:
            things.append(colliders.Collider(shapes.Box(size * rng.uniform(0.1, 0.8, 3)), motion))
        elif kind == 1:
            things.append(colliders.Collider(shapes.Sphere(size * rng.uniform(0.1, 0.4)), motion))
        else:
            things.append(
                colliders.Collider(
                    shapes.Capsule.of_keys(
                        size * rng.uniform(0.05, 0.2), size * rng.uniform(0.2, 1)
                    ),
                    motion,
                )
            )
    if rng.random() < 0.3:
        side = np.linspace(-8.0, 8.0, 25) * size
        x, y = np.meshgrid(side, side, indexing="ij")
        z = 0.15 * size * rng.random(x.shape)
        number = np.arange(x.size).reshape(x.shape)
        a, b, c, d = number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]
        faces = np.concatenate(
            [np.stack([a, b, c], -1).reshape(-1, 3), np.stack([a, c, d], -1).reshape(-1, 3)]
        )
        meshes.append(StaticMesh(np.stack([x, y, z], -1).reshape(-1, 3), faces))
    return things, meshes


def drop(seed: int) -> Outcome:
    """Drop the ragdoll of a seed."""
    started = time.perf_counter()
    rng = np.random.default_rng(seed)
    character, size, text = random_drop(rng)
    settings = RagdollSettings(
        spine=str(rng.choice(SPINES)), strength=float(rng.choice([0.0, 0.0, 0.3, 0.7, 1.0])),
        damping=float(rng.choice([0.0, 2.0])), friction=float(rng.uniform(0.2, 1.0)),
        restitution=float(rng.choice([0.0, 0.0, 0.4])),
    )  # fmt: skip
    things, meshes = random_surroundings(rng, size)
    text += f", {settings.spine}, strength {settings.strength}, {len(things)} things, {len(meshes)} meshes"
    ragdoll = build_ragdoll(character, settings)
    world = ragdoll_world([ragdoll], colliders=things, meshes=meshes)
    start = world.state.p[: world.moving].copy()
    error, stray = "", 0.0
    try:
        for _ in range(int(FPS * SECONDS)):
            world.step(1.0 / FPS)
            away = np.abs(world.state.p[: world.moving] - start).max() / size
            stray = max(stray, away if np.isfinite(away) else np.inf)
    except SolverError as problem:
        error, stray = str(problem), np.inf
    gap, fastest = np.inf, np.inf
    if not error:
        left, lengths = world.residuals(), character.lengths()[ragdoll.body_bone]
        gaps = left.joint_gap / lengths[world.joints.body[:, 1]]
        rods = np.abs(left.rod_length) / np.array([rod.arc().length for rod in ragdoll.rods])
        gap = float(np.concatenate([gaps, rods]).max(initial=0.0))
        fastest = float(np.abs(world.state.v[: world.moving]).max() / size)
    return Outcome(seed, text, error, float(stray), gap, fastest, time.perf_counter() - started)


def main():
    """Drop them and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int, nargs="?", default=200)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    seeds = range(arguments.first, arguments.first + arguments.count)
    drop(arguments.first)  # compiled once
    with ProcessPoolExecutor(2) as pool:
        outcomes = list(pool.map(drop, seeds))
    for o in outcomes:
        if not o.is_whole:
            print(
                f"seed {o.seed}: {o.text}: {o.error or f'gap {o.gap:.2%}'}, stray {o.stray:.1f}, "
                f"fastest {o.fastest:.2f}"
            )
    count = len(outcomes)
    finite = sum(np.isfinite(o.stray) and o.stray < REACH for o in outcomes)
    whole = sum(o.is_whole for o in outcomes)
    gaps = np.array([o.gap for o in outcomes])
    print(
        f"{finite / count:.1%} finite and near, gaps under {GAP:.0%} in {whole / count:.1%}; median gap "
        f"{np.median(gaps):.1e}, 95 of 100 under {np.quantile(gaps, 0.95):.1e}; "
        f"{np.mean([o.fastest < 0.05 for o in outcomes]):.0%} at rest"
    )
    sys.exit(0 if finite == count and whole >= 0.99 * count else 1)


if __name__ == "__main__":
    main()
