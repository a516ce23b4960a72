"""MuJoCo's soft bodies (flex) on our cantilever: its cheapest settings of equal accuracy, on one thread.

    python benchmarks/mujoco_beam.py [--meshes 324 5k 30k] [--json FILE]

Needs `pip install mujoco`, version 4.0 or later (Apache-2.0). The beam of tests/beams.py is clamped at x = 0 and let
go under gravity. MuJoCo runs with `integrator="discrete"`: each step is one linearised implicit step,
whose linear system is solved by conjugate gradients with 3 x 3 blocks as preconditioner.

What there is to choose, without contacts: `iterations` bounds the conjugate gradients and `tolerance` stops them at a
relative residual. `solver` (CG or Newton), `jacobian` and the disable flags select code which runs only when there are
constraints: measured, they change neither motion nor times. With a tolerance of exactly 0 and thousands of iterations
the motion is not finite, so the converged run has a tiny one. The six tets of a cell stand together in the list, which
is also the faster order for MuJoCo. The material is Saint Venant-Kirchhoff unless told otherwise; it is the faster of
the two, but folds into itself under strong compression, where the stable neo-Hookean one does not.

Settings are accepted when the height of the tip, over all steps, differs from MuJoCo's own converged run at the same
step size by at most 2 % (RMS of the difference over RMS of the converged motion). Of those, the fastest counts.
"""

import argparse
import json
import os
import sys
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"  # before numpy is imported

import mujoco  # noqa: E402
import mujoco.rollout  # noqa: E402
import numpy as np  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests")]

from beams import beam_tets, end_nodes  # noqa: E402

MESHES = {"324": (6, 3, 3), "5k": (17, 7, 7), "30k": (30, 13, 13)}
"""Cells along x, y and z."""
PROBLEM = {"young_modulus": 1e4, "poisson_ratio": 0.35, "density": 2.1164}
"""[Pa], none, [kg/m^3]: a beam of 1.6 kg."""
GRAVITY = 9.81
UNBOUNDED = 100_000
"""Iterations that are never reached."""
CONVERGED = {"iterations": UNBOUNDED, "tolerance": 1e-10}
EXACT = 1e-8
"""Tolerance that is not reached before the iterations that matter are used up."""
TOLERANCES = (0.7, 0.5, 0.4, 0.35, 0.3, 0.2, 0.1, 0.01)
CAPS = (10, 13, 16, 20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90, 100, 120, 150, 200, 300)
SOLVERS = {"CG": mujoco.mjtSolver.mjSOL_CG, "Newton": mujoco.mjtSolver.mjSOL_NEWTON}
MATERIALS = {"StVK": 0, "SNH": 1}
"""Saint Venant-Kirchhoff, the default, and stable neo-Hookean, experimental in 4.0."""
DENSE = 20.0
"""Density [kg/m^3] of the case that folds the beam."""


def run(
    nodes,
    tets,
    fixed,
    tip,
    *,
    young_modulus,
    poisson_ratio,
    density,
    dt=1 / 60,
    steps=60,
    iterations=CONVERGED["iterations"],
    tolerance=CONVERGED["tolerance"],
    substeps=1,
    solver="CG",
    material="StVK",
    repeats=1,
):
    """Let the beam go, and give its motion and times.

    The result has `tip`: mean height of the nodes `tip` above rest after each step [m], shape (steps,); `ms_min` and
    `ms_mean`: milliseconds per step after the first, where each step counts with its fastest time of the `repeats`;
    `ms`: those of each step; `inverted`: tets without positive volume at the end, where not finite counts as inverted;
    `version` of MuJoCo.
    """
    model = beam_model(
        nodes,
        tets,
        fixed,
        young_modulus=young_modulus,
        poisson_ratio=poisson_ratio,
        density=density,
        timestep=dt / substeps,
        material=material,
    )
    settings = (iterations, tolerance, substeps, solver)
    return fastest(
        [_run_model(model, nodes, tets, fixed, tip, steps, *settings) for _ in range(repeats)]
    )


def cheapest(
    nodes,
    tets,
    fixed,
    tip,
    *,
    young_modulus,
    poisson_ratio,
    density,
    dt=1 / 60,
    steps=60,
    target=0.02,
    material="StVK",
    repeats=3,
):
    """Fastest settings whose tip stays within `target` of MuJoCo's converged run.

    The result is the row of those settings (`iterations`, `tolerance`, `error`, `ms_min`, `ms_mean`, `inverted`),
    with `table`: the rows of everything that was tried, and `converged`: the run compared with.
    """
    model = beam_model(
        nodes,
        tets,
        fixed,
        young_modulus=young_modulus,
        poisson_ratio=poisson_ratio,
        density=density,
        timestep=dt,
        material=material,
    )

    def measure(iterations, tolerance):
        result = _run_model(model, nodes, tets, fixed, tip, steps, iterations, tolerance, 1, "CG")
        result["error"] = relative_rms(result["tip"], converged["tip"]) if converged else 0.0
        return result

    converged = None
    converged = measure(**CONVERGED)
    by_tolerance = [measure(UNBOUNDED, tolerance) for tolerance in TOLERANCES]
    by_cap = list(_until_accurate(lambda cap: measure(cap, EXACT), target))
    enough = by_cap[-1]["iterations"]
    both = [
        measure(round(factor * enough), tolerance)
        for tolerance in [row["tolerance"] for row in by_tolerance if row["error"] <= target][:2]
        for factor in (1.0, 1.5)
    ]
    table = [*by_tolerance, *by_cap, *both]
    accurate = sorted(
        (row for row in table if row["error"] <= target), key=lambda row: row["ms_mean"]
    )
    rounds = [
        [measure(row["iterations"], row["tolerance"]) for row in accurate[:6]]
        for _ in range(repeats)  # in turns, so that a busy moment of the machine hits all of them
    ]
    finalists = [fastest(rows) for rows in zip(*rounds, strict=True)]
    best = min(finalists, key=lambda row: row["ms_mean"])
    return {**best, "table": table, "finalists": finalists, "converged": converged}


def beam_model(
    nodes, tets, fixed, *, young_modulus, poisson_ratio, density, timestep, material="StVK"
):
    """Compiled MuJoCo model of the tets, nodes `fixed` held, no contacts and no damping."""
    corners = nodes[tets]
    volume = np.linalg.det(corners[:, 1:] - corners[:, :1]).sum() / 6.0
    text = f"""
    <mujoco>
      <option timestep="{timestep!r}" integrator="discrete" gravity="0 0 {-GRAVITY}">
        <flag autoreset="disable"/>
      </option>
      <size memory="1G"/>
      <worldbody>
        <flexcomp name="beam" type="direct" dim="3" mass="{float(density * volume)!r}" radius="0.001"
                  point="{_words(nodes)}" element="{_words(tets)}">
          <edge equality="false" damping="0"/>
          <pin id="{_words(fixed)}"/>
          <contact contype="0" conaffinity="0" selfcollide="none"/>
          <elasticity young="{young_modulus!r}" poisson="{poisson_ratio!r}" damping="0"/>
        </flexcomp>
      </worldbody>
    </mujoco>"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says "no passive forces", though elasticity is one
        spec = mujoco.MjSpec.from_string(text)
        spec.flexes[0].elastic3d = MATERIALS[material]  # there is no attribute for it in XML
        return spec.compile()


def rollout_milliseconds(model, steps=60):
    """Mean milliseconds per step of `mujoco.rollout`, with no Python between the steps; NaN if it stopped early.

    Note: a rollout ends at the first warning and repeats that state, and iterations that are used up are a warning.
    So it can only be timed with settings which stop by tolerance.
    """
    data = mujoco.MjData(model)
    state = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
    mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    with quiet():
        started = time.perf_counter()
        states, _ = mujoco.rollout.rollout(model, data, state[None], nstep=steps)
        seconds = time.perf_counter() - started
    time_reached = states[0, -1, 0]  # a state starts with its time
    is_complete = abs(time_reached - steps * model.opt.timestep) < 0.5 * model.opt.timestep
    return 1e3 * seconds / steps if is_complete else np.nan


def step_milliseconds(model, steps=60):
    """Mean milliseconds per step of one call of mj_step for all steps."""
    data = mujoco.MjData(model)
    with quiet():
        started = time.perf_counter()
        mujoco.mj_step(model, data, steps)
        return 1e3 * (time.perf_counter() - started) / steps


def relative_rms(values, reference):
    """RMS of the difference over RMS of the reference; infinite if a value is not finite."""
    if not np.isfinite(values).all():
        return np.inf
    return float(np.linalg.norm(values - reference) / np.linalg.norm(reference))


@contextmanager
def quiet():
    """Keep MuJoCo from printing and logging warnings: that iterations are used up is the point here."""
    mujoco.set_mju_user_warning(lambda text: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(None)


def fastest(rows):
    """The first of several equal runs, where each step has its fastest time of all the runs."""
    ms = np.min([row["ms"] for row in rows], axis=0)
    later = ms[1:] if len(ms) > 1 else ms
    return {**rows[0], "ms": ms, "ms_min": float(later.min()), "ms_mean": float(later.mean())}


def _run_model(model, nodes, tets, fixed, tip, steps, iterations, tolerance, substeps, solver):
    model.opt.iterations, model.opt.tolerance = iterations, tolerance
    model.opt.solver = SOLVERS[solver]
    free = np.setdiff1d(np.arange(len(nodes)), fixed)
    x, height, seconds = _fall(model, nodes, free, tip, steps, substeps)
    corners = x[tets]
    is_upright = np.linalg.det(corners[:, 1:] - corners[:, :1]) > 0
    result = {
        "iterations": iterations,
        "tolerance": tolerance,
        "tip": height,
        "ms": 1e3 * seconds,
        "inverted": int((~is_upright).sum()),
        "version": mujoco.__version__,
    }
    return fastest([result])


def _fall(model, nodes, free, tip, steps, substeps):
    """Last positions (n, 3), height of the tip after each step, and seconds of each step.

    Each free node has three slide joints along the axes, so `qpos` is its displacement. `flexvert_xpos` would be
    one step late: mj_step moves the state last.
    """
    data = mujoco.MjData(model)
    x, height, seconds = nodes.copy(), np.empty(steps), np.empty(steps)
    with quiet(), np.errstate(invalid="ignore"):
        for step in range(steps):
            started = time.perf_counter()
            mujoco.mj_step(model, data, substeps)
            seconds[step] = time.perf_counter() - started
            x[free] = nodes[free] + data.qpos.reshape(-1, 3)
            height[step] = x[tip, 2].mean() - nodes[tip, 2].mean()
        mujoco.mj_forward(model, data)
    assert np.allclose(data.flexvert_xpos, x, atol=1e-6, equal_nan=True)
    return x, height, seconds


def _until_accurate(measure, target):
    """Rows of growing CAPS, up to and including the first that is accurate."""
    for cap in CAPS:
        row = measure(cap)
        yield row
        if row["error"] <= target:
            return


def _words(values):
    return " ".join(map(repr, np.ravel(values).tolist()))


def compare_mesh(name, repeats):
    """Search, print and return everything about one mesh."""
    nodes, tets = beam_tets(*MESHES[name])
    ends = end_nodes(nodes)
    best = cheapest(nodes, tets, *ends, **PROBLEM, repeats=repeats)
    print(f"\n{name}: {len(tets)} tets, {len(nodes)} nodes, MuJoCo {best['version']}")
    print(f"lowest tip {best['converged']['tip'].min():.4f} m, converged")
    print("iterations  tolerance     error   ms mean    ms min")
    for row in [best["converged"], *best["table"]]:
        _print_row(row)
    print("fastest of the accurate ones, measured again:")
    for row in best["finalists"]:
        _print_row(row, " <- cheapest" if row["ms_mean"] == best["ms_mean"] else "")
    settings = {key: best[key] for key in ("iterations", "tolerance")}
    if len(tets) < 10_000:
        best["dense"] = compare_dense(nodes, tets, *ends, settings)
    best["loops"] = compare_loops(nodes, tets, *ends, repeats)
    return best


def compare_dense(nodes, tets, fixed, tip, settings):
    """Runs of the beam of density DENSE, with both materials, with these settings and converged."""
    problem, rows = {**PROBLEM, "density": DENSE}, []
    for material in MATERIALS:
        for label, chosen in (("these settings", settings), ("converged", CONVERGED)):
            row = run(nodes, tets, fixed, tip, **problem, **chosen, material=material)
            rows.append({**row, "material": material})
            print(
                f"density {DENSE:g}, {material}, {label}: {row['inverted']} inverted after 1 s,"
                f" tip {row['tip'][-1]:.3f} m, lowest {row['tip'].min():.3f} m"
            )
    return rows


def compare_loops(nodes, tets, fixed, tip, repeats):
    """Mean milliseconds per step of three ways to loop over the same steps, each the fastest of `repeats`."""
    settings = {"iterations": UNBOUNDED, "tolerance": 0.3}
    model = beam_model(nodes, tets, fixed, **PROBLEM, timestep=1 / 60)
    model.opt.iterations, model.opt.tolerance = settings.values()
    rows = [
        (
            float(run(nodes, tets, fixed, tip, **PROBLEM, **settings)["ms"].mean()),
            step_milliseconds(model),
            rollout_milliseconds(model),
        )
        for _ in range(repeats)
    ]
    names = ("a call per step", "one call of mj_step", "rollout")
    result = dict(zip(names, np.min(rows, axis=0).tolist(), strict=True))
    print("ms mean at tolerance 0.3: " + ", ".join(f"{k} {v:.3f}" for k, v in result.items()))
    return result


def _print_row(row, note=""):
    count = "-" if row["iterations"] == UNBOUNDED else row["iterations"]
    print(
        f"{count:>10} {row['tolerance']:10g} {row['error']:9.2%} {row['ms_mean']:9.3f} {row['ms_min']:9.3f}{note}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--meshes", nargs="+", choices=list(MESHES), default=list(MESHES))
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the fastest counts")
    parser.add_argument("--json", type=Path, help="also write the numbers there")
    arguments = parser.parse_args()
    results = {name: compare_mesh(name, arguments.repeats) for name in arguments.meshes}
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1, default=np.ndarray.tolist))


if __name__ == "__main__":
    main()
