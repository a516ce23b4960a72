"""Vibrations, their damping and their energy, and soft bodies that spin, in full, as a table: part of `make verify`.

    python tests/verify_vibrations.py

Exit 1 if a promise is broken.
"""

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / folder) for folder in ("tests", "tests/test_sim/test_solvers")]

from beams import beam_hexes, beam_tets  # noqa: E402
from ringing import NO_GRAVITY, bent_beam, crossings, damping_ratio_of, peaks, swings  # noqa: E402
from stepping import OneBody, elastic  # noqa: E402
from test_bdf2 import momenta, turn_between  # noqa: E402
from verify_report import Report  # noqa: E402

from jellycage import sim  # noqa: E402
from jellycage.sim.soft.presets import QUALITIES, stiffness_damping, substeps_for  # noqa: E402
from jellycage.sim.solvers.rigid_motion_kernels import rigid_motion  # noqa: E402

FPS = 24.0
GRAVITY = (0.0, 0.0, -9.81)
BEAMS = {"tets": beam_tets, "hexes": beam_hexes}


def settings_of(quality):
    return sim.SolverSettings(newton_iterations=quality.newton_iterations)


def verify_loss(out):
    """Ten periods at 40 steps each, and the order of the frequency's error."""
    for kind, build in BEAMS.items():
        # Wider than high, or tets would hand the vibration over from one plane to the other.
        body, shape = bent_beam(build, size=(2.0, 0.8, 0.5))
        fine = sim.SolverSettings(newton_tolerance=1e-6, linear_tolerance=1e-6)
        period = 2.0 * np.diff(crossings(swings(body, shape, 1e-3, 6000, fine), 1e-3)).mean()
        for name, quality in QUALITIES.items():
            settings, shifts = settings_of(quality), {}
            for steps in (20, 40, 80):
                z = swings(body, shape, period / steps, 11 * steps, settings)
                shifts[steps] = 2.0 * np.diff(crossings(z, period / steps)).mean() / period - 1.0
                if steps == 40:
                    high = peaks(z)
                    lost = 1.0 - (high[-1] / high[0]) ** (20.0 / (len(high) - 1))
            claim = f"beam of {kind}, {name}: amplitude lost in ten periods"
            out.line(claim, f"{lost:.1%} at 40 steps per period", lost < 0.06)
            claim = f"beam of {kind}, {name}: frequency off by"
            out.line(claim, f"{shifts[40]:.2%} at 40 steps per period", abs(shifts[40]) < 0.01)
            order = np.log2(shifts[20] / shifts[80]) / 2.0
            out.line(f"beam of {kind}, {name}: order in dt", f"{order:.2f}", abs(order - 2.0) < 0.2)


def verify_energy(out):
    """Ten seconds of bodies without damping: means over periods never rise, and the end is no higher than the start."""
    rng = np.random.default_rng(5)
    for kind, build in BEAMS.items():
        beam, _ = bent_beam(build, young=1e6)
        cage = sim.Cage(*build(4, 2, 2, (1.0, 0.5, 0.5)))
        shaken = {
            law.__name__: sim.SoftBody(cage, law(1e5, 0.4, 1000.0), velocity=0.5 * noise)
            for law, noise in zip(
                (sim.NeoHookean, sim.Corotated),
                rng.normal(size=(2, *cage.nodes.shape)),
                strict=True,
            )
        }
        for name, body in {"bent beam": beam, **shaken}.items():
            for substeps in (1, 2, 8):
                run = OneBody(body, 1.0 / (FPS * substeps), gravity=NO_GRAVITY)
                energy = [energy_of(body, run)]
                for _ in range(int(10.0 * FPS) * substeps):
                    run.step()
                    energy.append(energy_of(body, run))
                means = np.array(energy[1:]).reshape(20, -1).mean(axis=1)
                rise, end = np.diff(means).max() / means[0], energy[-1] / energy[0] - 1.0
                out.line(
                    f"{name}, {kind}, {substeps} substeps: energy over 10 s",
                    f"means rise by {max(rise, 0.0):.2%}, {end:+.1%} at the end",
                    rise < 1e-3 and end < 1e-3,
                )


def energy_of(body, run):
    """Energy of motion and deformation [J]."""
    return 0.5 * float(body.mass @ (run.v**2).sum(axis=1)) + elastic(body, run.x)[0]


def verify_damping(out):
    """A ratio of 0.1, measured on the first mode along the height of a body as stiff as jelly."""
    for name, quality in QUALITIES.items():
        found = []
        for height in (0.1, 0.3, 1.0, 3.0, 10.0):
            material = sim.NeoHookean(1000.0 * 9.81 * height / 0.2, 0.0, 1000.0)
            nodes, hexes = beam_hexes(2, 2, 12, (0.2 * height, 0.2 * height, height))
            foot = np.flatnonzero(nodes[:, 2] == nodes[:, 2].min())
            shape = np.outer(np.sin(np.pi / 2.0 * nodes[:, 2] / height), (0.0, 0.0, height))
            body = sim.SoftBody(
                sim.Cage(nodes, hexes),
                material,
                pins=[sim.Pin(sim.node_points(foot))],
                velocity=0.01 * np.sqrt(9.81 / height) * shape,
                stiffness_damping=stiffness_damping(0.1, material, height),
            )
            dt = 1.0 / (FPS * substeps_for(FPS, height, GRAVITY, quality))
            steps = int(6.0 * np.sqrt(height / 9.81) / dt)
            found.append(damping_ratio_of(swings(body, shape, dt, steps, settings_of(quality))))
        off = np.abs(np.array(found) / 0.1 - 1.0).max()
        text = " ".join(f"{ratio:.4f}" for ratio in found)
        out.line(f"damping ratio 0.1, {name}, 0.1 to 10 m", text, off < 0.1)


def verify_soft_spins(out):
    """Bodies that their spin stretches, against the same cage in steps of 1/32.

    Those of tets wobble, for they are not quite even, and ring, for nothing damps them. How far the wobble has come
    after four seconds, the axis of momentum in the body's own space, is told beside the same of half as many steps as
    the exact run takes: it is no promise, for it differs by degrees between runs that agree in all else.
    """
    for name, quality in QUALITIES.items():
        substeps = substeps_for(FPS, 1.0, GRAVITY, quality)
        for kind, build in BEAMS.items():
            off = tilt = own_tilt = loose = 0.0
            for turns in (0.5, 1.0, 2.0, 3.0):
                for load in (0.02, 0.1):  # rho omega^2 L^2 / 8 E
                    young = 1000.0 * (2.0 * np.pi * turns) ** 2 / (8.0 * load)
                    angle, axis, own = spun(build, young, turns, substeps, quality)
                    exact, exact_axis, exact_own = spun(build, young, turns, 32 * substeps, quality)
                    half_own = spun(build, young, turns, 16 * substeps, quality)[2]
                    loose = max(loose, degrees_between(half_own, exact_own))
                    off = max(off, abs(angle / exact - 1.0))
                    tilt = max(tilt, degrees_between(axis, exact_axis))
                    own_tilt = max(own_tilt, degrees_between(own, exact_own))
            claim = f"soft spin, {name}, {kind}: against 32 times the steps"
            text = f"turns off by {off:.2%}, axis by {tilt:.2f} degrees"
            out.line(claim, text, off < 0.03 and tilt < 0.5)
            wobble = f"its wobble {own_tilt:.2f} degrees off, of half as many steps {loose:.2f}"
            out.notes([f"soft spin, {name}, {kind}: {wobble}"])


def degrees_between(a, b):
    """Angle between two directions."""
    return np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b))


def spun(build, young, turns, substeps, quality):
    """Angle that a block turns by in four seconds [rad], the axis of that, and of its momentum in its own space."""
    cage = sim.Cage(*build(3, 3, 2, (1.0, 1.0, 0.6)))
    spin = (0.0, 0.0, 2.0 * np.pi * turns)
    body = sim.SoftBody(cage, sim.NeoHookean(young, 0.3, 1000.0), spin=spin)
    run = OneBody(body, 1.0 / (FPS * substeps), settings_of(quality), gravity=NO_GRAVITY)
    before, angle, axis = run.x, 0.0, np.zeros(3)
    for _ in range(int(4 * FPS) * substeps):
        run.step()
        angle += turn_between(body.mass, before, run.x)
        axis += rigid_motion(run.x, run.v, body.mass, body.part, 1)[2][0]
        before = run.x
    rest = cage.nodes - body.mass @ cage.nodes / body.mass.sum()
    u, _, vt = np.linalg.svd((body.mass[:, None] * run.x).T @ rest)
    own = (u @ vt).T @ momenta(body, run)[1]
    return angle, axis / np.linalg.norm(axis), own / np.linalg.norm(own)


def main():
    out = Report()
    verify_loss(out)
    verify_damping(out)
    verify_energy(out)
    verify_soft_spins(out)
    out.close()


if __name__ == "__main__":
    main()
