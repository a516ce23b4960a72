"""Bounces, restitution, friction and depth in the ground, in full, as a table: part of `make verify`. Exit 1 if broken.

    python tests/verify_impacts.py [--meshes DIR]

A bounce is compared with the converged run of the same cage: the same integrator in steps of 1/32 of those at preview.
What is crushed until its centre is in the floor is inside out, and comes back by chance: runs of 1/32 to 1/128 differ
among each other by a tenth. It is compared with their mean.
"""

import argparse
import sys
from functools import cache
from pathlib import Path

import numpy as np
import trimesh

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests")]

from contact_scenes import block, centre  # noqa: E402
from stepping import OneBody  # noqa: E402
from verify_report import Report, given_folder, mesh_files  # noqa: E402

from jellycage import sim, toolkit  # noqa: E402
from jellycage.sim.soft.presets import (  # noqa: E402
    PRESETS,
    QUALITIES,
    preset_material,
    substeps_for,
)

G, FPS = 9.81, 24.0
GRAVITY = (0.0, 0.0, -G)
HEIGHTS = (0.3, 1.0, 3.0)
REFINED = 32  # steps of a converged run to one at preview
STILLED, STILL = 25.0, 4.0  # jelly that is damped by so many times comes to rest in this time [s]
IN_THE_FLOOR = -0.5  # where the centre of a body of 1 m is [m above its rest height]
MODULI = (1e4, 1e5, 1e6, 1e7)


@cache
def caged(shape):
    """A ball or cube, 1 m across, that stands on the floor."""
    if shape == "ball":
        mesh = trimesh.creation.icosphere(3, 0.5)
    else:
        mesh = trimesh.creation.box((1.0, 1.0, 1.0)).subdivide().subdivide().subdivide()
    vertices = np.array(mesh.vertices) + [0.0, 0.0, 0.5]
    return toolkit.build_cage(toolkit.TriMesh(vertices, np.array(mesh.faces)), resolution=8)


def materials():
    """Materials by name, with their stiffness damping [s]."""
    found = {f"E {young:.0e}": (sim.NeoHookean(young, 0.45, 1000.0), 0.0) for young in MODULI}
    for name in ("rubber", "jelly"):
        found[name] = preset_material(PRESETS[name], 1.0, GRAVITY)
    return found


def drop(shape, material, height, substeps, newton_iterations, **options):
    """Centres above the rest height [m] and upward speeds [m/s] after each frame."""
    asset, (law, damping) = caged(shape), material
    start = asset.cage_nodes + [0.0, 0.0, height]
    body = sim.SoftBody(asset, law, start=start, stiffness_damping=damping, **options)
    settings = sim.SolverSettings(newton_iterations=newton_iterations)
    scene = sim.Scene([body], colliders=[sim.ground()], solver=settings)
    stepper = sim.Stepper(scene, fps=FPS, substeps=substeps)
    state = stepper.start()
    heights, speeds = [], []
    fall = np.sqrt(2.0 * height / G)
    for _ in range(int((2.6 * fall + 1.0) * FPS)):
        stepper.step(state)
        soft = state.soft[0]
        heights.append(centre(body, soft.x)[2] - 0.5)
        speeds.append(body.mass @ soft.v[:, 2] / body.mass.sum())
    return np.array(heights), np.array(speeds)


def first_bounce(heights, speeds):
    """Where the centre is lowest, and at the top of its first bounce [m]."""
    rising = np.flatnonzero(speeds > 0.0)
    if not len(rising):
        return heights.min(), heights.min()
    falling = np.flatnonzero(speeds[rising[0] :] <= 0.0)
    top = rising[0] + (falling[0] if len(falling) else len(speeds) - rising[0]) - 1
    # Between frames it is higher still, as far as it flies.
    return heights[: top + 1].min(), heights[top] + speeds[top] ** 2 / (2.0 * G)


def verify_bounces(out):
    """First bounces at the steps of each quality against converged ones."""
    finest = REFINED * substeps_for(FPS, 1.0, GRAVITY, QUALITIES["preview"])
    for shape in ("ball", "cube"):
        for name, material in materials().items():
            worst = {quality: (0.0, "") for quality in QUALITIES}
            for height in HEIGHTS:
                exact = converged_bounce(shape, material, height, finest)
                for quality, q in QUALITIES.items():
                    steps = substeps_for(FPS, 1.0, GRAVITY, q)
                    heights, speeds = drop(shape, material, height, steps, q.newton_iterations)
                    low, high = first_bounce(heights, speeds)
                    off = abs((high - low) / exact - 1.0)
                    text = f"{high - low:.3f} of {exact:.3f} m from {height} m"
                    worst[quality] = max(worst[quality], (off, text))
            for quality, (off, text) in worst.items():
                out.line(
                    f"{shape}, {name}, {quality}: first bounce", f"{off:.1%} off, {text}", off < 0.1
                )


def converged_bounce(shape, material, height, finest):
    """From its lowest to the top of its first bounce [m]."""
    found = []
    for steps in (finest, 2 * finest, 4 * finest):
        low, high = first_bounce(*drop(shape, material, height, steps, 4))
        found.append(high - low)
        if low > IN_THE_FLOOR:
            break
    return np.mean(found)


def verify_restitution(out):
    """A ball whose own rebound is small, at many steps per frame; and that a greater e never makes it lower."""
    dull = sim.NeoHookean(1e5, 0.45, 1000.0), 0.3
    fall = np.sqrt(2.0 * G)
    for e in (0.0, 0.3, 0.6, 0.9):
        found = []
        for substeps in (1, 2, 4, 8, 16, 32):
            heights, speeds = drop("ball", dull, 1.0, substeps, 2, restitution=e)
            top = max(first_bounce(heights, speeds)[1], 0.0)
            # Frames may miss the moment at which it leaves, and it leaves from below its rest height.
            found.append(max(speeds.max(), np.sqrt(2.0 * G * top)) / fall)
        text = " ".join(f"{value:.3f}" for value in found)
        off = max(abs(value - e) for value in found)
        is_right = off < 0.08 if e else max(found) < np.sqrt(0.1)
        out.line(f"restitution {e} at 1, 2, .. 32 substeps", text, is_right)
    for name, material in materials().items():
        peaks = [
            first_bounce(*drop("ball", material, 1.0, 2, 2, restitution=e))[1]
            for e in (0.0, 0.3, 0.6, 0.9)
        ]
        text = " ".join(f"{peak:.3f}" for peak in peaks)
        is_monotone = all(b >= a - 0.01 for a, b in zip(peaks, peaks[1:], strict=False))
        out.line(f"{name}: peaks with e 0, 0.3, 0.6, 0.9", f"{text} m", is_monotone)


def verify_friction(out):
    """A block at 2 m/s on mu 0.4 stops after v^2 / 2 mu g."""
    exact = 2.0**2 / (2.0 * 0.4 * G)
    steps = substeps_for(FPS, 1.0, GRAVITY, QUALITIES["standard"])
    for kind in ("tets", "hexes"):
        body = block(
            kind,
            (3, 3, 1),
            (1.0, 1.0, 0.3),
            velocity=(2.0, 0.0, 0.0),
            friction=0.4,
            damping_ratio=0.04,
        )
        settings = sim.SolverSettings(newton_iterations=QUALITIES["standard"].newton_iterations)
        floor = [sim.ground(friction=0.4)]
        run = OneBody(body, 1.0 / (FPS * steps), settings, colliders=floor)
        began = centre(body, run.x)[0]
        for _ in range(int(1.5 * FPS) * steps):
            run.step()
        way = centre(body, run.x)[0] - began
        out.line(
            f"a block of {kind} slides", f"{way:.3f} m of {exact:.3f}", abs(way / exact - 1) < 0.02
        )


def verify_depths(files, out):
    """How deep meshes of jelly sink into the ground when they fall from their own height, and at rest."""
    for name, quality in QUALITIES.items():
        deepest, resting = (0.0, ""), (0.0, "")
        for path in files:
            asset = toolkit.build_cage(toolkit.read_mesh(path), resolution=quality.resolution)
            height = np.ptp(asset.surface_vertices[:, 2])
            time = 1.0 + 3.0 * np.sqrt(height / G)
            deepest = max(deepest, (max(depths(asset, quality, height, 1.0, time)), path.stem))
            still = depths(asset, quality, 0.0, STILLED, STILL)
            resting = max(resting, (max(still[-12:]), path.stem))
        out.line(
            f"{name}: deepest at impact", f"{deepest[0]:.2%} ({deepest[1]})", deepest[0] < 0.007
        )
        out.line(f"{name}: deepest at rest", f"{resting[0]:.2%} ({resting[1]})", resting[0] < 0.002)


def depths(asset, quality, above, damped, seconds):
    """Of jelly that starts so far above the ground [m], below it after each frame, in sizes."""
    vertices = asset.surface_vertices
    material, damping = preset_material(PRESETS["jelly"], np.ptp(vertices[:, 2]), GRAVITY)
    body = sim.SoftBody(asset, material, stiffness_damping=damped * damping)
    settings = sim.SolverSettings(newton_iterations=quality.newton_iterations)
    ground = vertices[:, 2].min() - above
    scene = sim.Scene([body], colliders=[sim.ground(ground)], solver=settings)
    steps = substeps_for(FPS, body.size, GRAVITY, quality)
    stepper, found = sim.Stepper(scene, fps=FPS, substeps=steps), []
    state = stepper.start()
    for _ in range(int(seconds * FPS)):
        stepper.step(state)
        found.append((ground - body.surface(state.soft[0].x)[:, 2].min()) / body.size)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    files, out = mesh_files(given_folder(parser)), Report()
    verify_friction(out)
    verify_restitution(out)
    verify_bounces(out)
    verify_depths(files, out)
    out.close()


if __name__ == "__main__":
    main()
