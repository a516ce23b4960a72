"""Every promise of the solver, in full, as a table: part of `make verify`. Exit 1 if one is broken.

The unit tests hold the rest: derivatives, pins, loads, determinism. Timings are in benchmarks/dynamics.py.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [
    str(ROOT / folder) for folder in ("tests", "tests/test_sim/test_solvers", "benchmarks")
]

import degeneration  # noqa: E402
from beams import beam_hexes, beam_tets, end_nodes  # noqa: E402
from elastic_reference import linear_displacement, tip_displacement  # noqa: E402
from random_scenes import run_scenes, summary  # noqa: E402
from stepping import OneBody  # noqa: E402
from test_implicit_euler import frequency, plucked_beam, recurrence  # noqa: E402
from verify_report import Report  # noqa: E402

from jellycage import sim  # noqa: E402
from jellycage.sim.materials import LAWS  # noqa: E402
from jellycage.sim.solvers.methods import INTEGRATORS  # noqa: E402


def cantilever(build, cells, law, density=1000.0, **options):
    """A clamped beam and its end nodes."""
    nodes, elements = build(*cells)
    fixed, tip = end_nodes(nodes)
    pins = [sim.Pin(sim.node_points(fixed))]
    return sim.SoftBody(sim.Cage(nodes, elements), law, pins=pins, **options), fixed, tip


def verify_materials(out):
    """Stress and Hessian against central differences."""
    F = np.eye(3) + np.random.default_rng(0).normal(scale=0.3, size=(50, 3, 3))
    step = 1e-6
    for law in LAWS:
        material, stress, hessian = law(1.0, 0.4), np.empty((50, 9)), np.empty((50, 9, 9))
        for k in range(9):
            d = np.zeros((3, 3))
            d.flat[k] = step
            stress[:, k] = material.energy_density(F + d) - material.energy_density(F - d)
            hessian[:, :, k] = (material.stress(F + d) - material.stress(F - d)).reshape(50, 9)
        wrong = np.abs(stress / (2 * step) - material.stress(F).reshape(50, 9)).max()
        bent = np.abs(hessian / (2 * step) - material.hessian(F)).max()
        least = np.linalg.eigvalsh(material.projected_hessian(F)).min()
        out.line(
            f"{law.__name__}: stress, Hessian by differences",
            f"{wrong:.1e}, {bent:.1e}",
            max(wrong, bent) < 1e-7,
        )
        out.line(f"{law.__name__}: least eigenvalue when projected", f"{least:.1e}", least > -1e-12)
    rest = [law(1.0, 0.4).hessian(np.eye(3)[None]) for law in LAWS]
    same = max(np.abs(hessian - rest[0]).max() for hessian in rest)
    out.line("the materials' Hessians at rest differ by", f"{same:.1e}", same < 1e-12)


def verify_statics(out):
    """Small loads against scikit-fem, and locking."""
    for build, name in ((beam_tets, "tets"), (beam_hexes, "hexes, 8 points")):
        for law in LAWS:
            body, fixed, tip = cantilever(build, (6, 3, 3), law(1e4, 0.35, 1000.0), quadrature=8)
            gravity = np.array([0.0, 0.0, -1e-6])
            x = sim.equilibrium(body, gravity=gravity).x
            force = body.mass[:, None] * gravity
            e = body.elements
            u = linear_displacement(e.nodes, e.corners, fixed, force, 1e4, 0.35)
            error = abs((x - e.nodes)[tip, 2].mean() / u[tip, 2].mean() - 1.0)
            out.line(
                f"tip against scikit-fem, {law.__name__}, {name}", f"{error:.1e}", error < 1e-6
            )
    for nu in (0.35, 0.45):
        exact = tip_displacement(1e4, nu, 1000.0, 1e-5)
        for cells in ((6, 3, 3), (10, 2, 2), (21, 6, 6)):
            ratio = []
            for build in (beam_hexes, beam_tets):
                body, _, tip = cantilever(build, cells, sim.Corotated(1e4, nu, 1000.0))
                x = sim.equilibrium(body, gravity=(0, 0, -1e-5)).x
                ratio.append((x - body.elements.nodes)[tip, 2].mean() / exact)
            text = f"hexes {ratio[0]:.3f}, tets {ratio[1]:.3f} of the converged tip"
            out.line(
                f"locking, {'x'.join(map(str, cells))}, nu {nu}", text, abs(ratio[0] - 1) < 0.1
            )


def verify_dynamics(out):
    """Momentum with truncated solves, and the first frequency."""
    nodes, tets = beam_tets(4, 3, 3)
    start = nodes + np.random.default_rng(0).normal(scale=0.1, size=nodes.shape)
    body = sim.SoftBody(
        sim.Cage(nodes, tets),
        sim.Corotated(1e5, 0.4),
        start=start,
        velocity=(3, 1, 2),
        spin=(4, 5, 6),
    )
    for integrator in INTEGRATORS:
        settings = sim.SolverSettings(
            newton_iterations=1, linear_iterations=2, integrator=integrator
        )
        state = OneBody(body, 1 / 60, settings, gravity=(0, 0, 0))
        before = (body.mass[:, None] * state.v).sum(axis=0)
        for _ in range(200):
            state.step()
        drift = (body.mass[:, None] * state.v).sum(axis=0) - before
        drift = np.abs(drift).max() / np.abs(before).max()
        claim = f"momentum, two CG iterations, 200 steps, {integrator}"
        out.line(claim, f"{drift:.1e}", drift < 1e-10)
    measured, expected = beam_frequency()
    error = abs(measured / expected - 1.0)
    claim = "first frequency of the beam, implicit Euler, dt -> 0"
    out.line(claim, f"{error:.2%} off", error < 0.02)


def beam_frequency():
    """Frequency of the first mode [Hz] by implicit Euler, extrapolated to dt = 0, and of the lumped linear model."""
    body, mode, omega = plucked_beam()
    expected = omega / (2.0 * np.pi)
    coarse, fine = (
        frequency(*recurrence(body, mode, dt, 60), dt) for dt in (0.04 / expected, 0.02 / expected)
    )
    return fine + (fine - coarse) / 3.0, expected


STARTS = 60  # of each model; the medians of 20 are no closer than a tenth


def verify_degeneration(meshes, out):
    """Random starts of Table 4.1 and crushed bodies."""
    for name, methods in degeneration.random_recovery(meshes, STARTS).items():
        times = {
            method: np.array([degeneration.recovery(counts) for counts in runs])
            for method, runs in methods.items()
        }
        back, for_good = times["DAPD"].T
        out.line(
            f"{name}: back with DAPD, {STARTS} starts",
            f"first {back.max():.2f} s at most, for good {for_good.max():.2f} s at most",
            for_good.max() <= 5.0,
        )
        median = {method: np.median(times[method][:, 0]) for method in times}
        out.line(
            f"{name}: median of DAPD, of ISVD",
            f"{median['DAPD']:.2f} s, {median['ISVD']:.2f} s",
            median["DAPD"] < median["ISVD"],
        )
    degeneration.crushed_recovery(meshes)
    degeneration.persistent_degeneration()


def verify_scenes(count, out):
    """Violent random scenes, with each integrator."""
    for integrator in INTEGRATORS:
        outcomes = []
        for outcome in run_scenes(range(count), integrator=integrator):
            outcomes.append(outcome)
            is_folded = outcome.inverted and not outcome.is_pinned
            if outcome.error or not outcome.is_bounded or is_folded:
                out.notes([f"{outcome}"])
        fractions = summary(outcomes)
        for claim, name, holds in (
            ("within reach", "bounded", fractions["bounded"] == 1.0),
            ("SolverError", "failed", fractions["failed"] <= 0.01),
            ("no element inverted after 2 s", "recovered", fractions["recovered"] >= 0.99),
        ):
            out.line(f"{count} scenes, {integrator}: {claim}", f"{fractions[name]:.1%}", holds)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--meshes", type=Path, default=ROOT / "sample_meshes")
    parser.add_argument("--scenes", type=int, default=60)
    arguments = parser.parse_args()
    meshes = arguments.meshes.expanduser()
    meshes = meshes / "models" if (meshes / "models").is_dir() else meshes
    out = Report()
    verify_materials(out)
    verify_statics(out)
    verify_dynamics(out)
    verify_degeneration(meshes, out)
    verify_scenes(arguments.scenes, out)
    out.close()


if __name__ == "__main__":
    main()
