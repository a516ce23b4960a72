"""How bodies come back from inverted and collapsed elements: tables, and plots as one HTML page.

    python benchmarks/degeneration.py [--meshes DIR] [--seeds 20] [--plot degeneration.html]

After the thesis on interactive co-rotational FEM, sec. 4.5. Nodes are put at random inside the bounding box of Cube666,
Armadillo1K and Dragon1K (Table 4.1; the last two are cages of about as many tets around DIR/armadillo_10k.ply and
DIR/dragon_10k.ply; without them the samples `creature` and `gummy_bear` stand in). One Newton step per time step of
1/60 s, as in the thesis. "back" is the first time without an inverted element, "for good" the last one with any.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests")]

from beams import beam_tets  # noqa: E402
from stepping import OneBody  # noqa: E402

from jellycage import sim, toolkit  # noqa: E402

DT = 1 / 60
DURATION = 5.0
SEMI_IMPLICIT = sim.SolverSettings(newton_iterations=1)


def table_4_1(meshes):
    """(name, cage, mass [kg], Young modulus [Pa]) of each model."""
    yield "Cube666", sim.Cage(*beam_tets(6, 6, 6, size=(1.0, 1.0, 1.0))), 1.0, 1e3
    for name, stand_in, count, mass, young in (
        ("armadillo_10k.ply", "creature.obj", 452, 1.2, 1e4),
        ("dragon_10k.ply", "gummy_bear.obj", 411, 1.3, 1e3),
    ):
        path = meshes / name
        if not path.exists():
            path = ROOT / "sample_meshes" / stand_in
        yield f"{path.stem}", cage_near(toolkit.read_mesh(path), count), mass, young


def cage_near(mesh, count):
    """The cage of a mesh whose number of tets is nearest to count."""
    cages = [toolkit.build_cage(mesh, resolution=resolution) for resolution in range(5, 11)]
    return min(cages, key=lambda cage: abs(len(cage.elements) - count))


def body_of(cage, mass, young, poisson=0.35, law=sim.Corotated, **more):
    """A body of that total mass."""
    unit = sim.SoftBody(cage, law(young, poisson, 1.0)).mass.sum()
    return sim.SoftBody(cage, law(young, poisson, mass / unit), **more)


def inverted_counts(body, settings=SEMI_IMPLICIT, gravity=(0, 0, 0), duration=DURATION):
    """Inverted quadrature points before every step and after the last one, and the last state."""
    state = OneBody(body, DT, settings, gravity=gravity)
    counts = [int((sim.determinants(body, state.x) <= 0.0).sum())]
    for _ in range(round(duration / DT)):
        state.step()
        counts.append(int((sim.determinants(body, state.x) <= 0.0).sum()))
    return np.array(counts), state


def recovery(counts):
    """(first time without an inverted element, time after the last with one) [s]; infinite if there is none."""
    good = np.flatnonzero(counts == 0)
    if not len(good):
        return np.inf, np.inf
    bad = np.flatnonzero(counts > 0)
    last = (bad[-1] + 1) * DT if len(bad) else 0.0
    return good[0] * DT, last if counts[-1] == 0 else np.inf


def random_start(cage, seed):
    """Every node somewhere in the bounding box."""
    nodes = cage.cage_nodes
    return np.random.default_rng(seed).uniform(nodes.min(0), nodes.max(0), nodes.shape)


def crushed_start(cage, dimensions, seed=0):
    """The rest shape flattened to a plane (2), a line (1) or a point (0), plus noise of 1e-6 of its size."""
    nodes = cage.cage_nodes
    flat = nodes.copy()
    flat[:, dimensions:] = nodes.mean(0)[dimensions:]
    noise = np.random.default_rng(seed).normal(size=nodes.shape)
    return flat + 1e-6 * np.ptp(nodes, axis=0).max() * noise


METHODS = {
    "DAPD": {"rotation_method": "dapd"},
    "ISVD": {"rotation_method": "isvd"},
    "neo-Hookean": {"law": sim.NeoHookean},
}


def random_recovery(meshes, seeds):
    """Print the table of random starts; returns {model: {method: counts (seeds, steps)}}."""
    print(
        "random start        tets  method        back: median      max   for good: median      max   failed"
    )
    curves = {}
    for name, cage, mass, young in table_4_1(meshes):
        curves[name] = {}
        for method, options in METHODS.items():
            runs = [
                inverted_counts(
                    body_of(cage, mass, young, start=random_start(cage, seed), **options)
                )[0]
                for seed in range(seeds)
            ]
            times = np.array([recovery(counts) for counts in runs])
            failed = int(np.isinf(times[:, 1]).sum())
            print(
                f"{name:18s} {len(cage.elements):5d}  {method:12s} {np.median(times[:, 0]):11.3f} s"
                f" {times[:, 0].max():7.3f} s {np.median(times[:, 1]):14.3f} s {times[:, 1].max():7.3f} s"
                f" {failed:5d}/{seeds}",
                flush=True,
            )
            curves[name][method] = np.array(runs)
    return curves


def crushed_recovery(meshes):
    """Print how long a body takes to come back from a plane, a line and a point."""
    print("\ncrushed to         method          back      for good   shape error after 5 s")
    cage = sim.Cage(*beam_tets(6, 6, 6, size=(1.0, 1.0, 1.0)))
    for dimensions, name in ((2, "plane"), (1, "line"), (0, "point")):
        for method, options in METHODS.items():
            body = body_of(cage, 1.0, 1e3, start=crushed_start(cage, dimensions), **options)
            counts, state = inverted_counts(body, sim.SolverSettings())
            first, last = recovery(counts)
            print(
                f"{name:18s} {method:12s} {first:7.3f} s {last:10.3f} s {shape_error(body, state.x):12.2%}",
                flush=True,
            )


def shape_error(body, x):
    """RMS distance from the best rigid fit of the rest shape, as a fraction of the size."""
    rest = body.elements.nodes - body.elements.nodes.mean(0)
    now = x - x.mean(0)
    u, _, vt = np.linalg.svd(now.T @ rest)
    turn = u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt
    return float(np.sqrt(((now - rest @ turn.T) ** 2).sum(axis=1).mean()) / body.size)


def persistent_degeneration():
    """Print Fig. 4.11: a soft, heavy beam on the left half of its base, pressed flat for good."""
    print("\nFig. 4.11, 10 s under 50 m/s^2   inverted   least det F   greatest speed")
    nodes, tets = beam_tets(6, 3, 3)
    base = np.flatnonzero((nodes[:, 2] < 1e-9) & (nodes[:, 0] < 1.05 + 1e-9))
    settings = sim.SolverSettings(newton_iterations=1, linear_iterations=10)
    for method, options in METHODS.items():
        pins = [sim.Pin(sim.node_points(base))]
        body = body_of(sim.Cage(nodes, tets), 5.0, 1e3, 0.25, pins=pins, **options)
        counts, state = inverted_counts(body, settings, gravity=(0, 0, -50.0), duration=10.0)
        least = sim.determinants(body, state.x).min()
        speed = np.sqrt((state.v**2).sum(axis=1)).max()
        print(f"{method:30s} {counts[-1]:9d} {least:13.3f} {speed:13.3g} m/s", flush=True)


def write_plot(curves, path):
    """Inverted elements over time, median and range over the seeds, one panel per model."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=1, cols=len(curves), subplot_titles=list(curves))
    colours = {"DAPD": "#1f77b4", "ISVD": "#d62728", "neo-Hookean": "#2ca02c"}
    for column, (_, methods) in enumerate(curves.items(), 1):
        for method, runs in methods.items():
            t = np.arange(runs.shape[1]) * DT
            figure.add_scatter(
                x=t,
                y=np.median(runs, axis=0),
                name=method,
                line={"color": colours[method]},
                showlegend=column == 1,
                row=1,
                col=column,
            )
            figure.add_trace(
                go.Scatter(
                    x=np.concatenate([t, t[::-1]]),
                    y=np.concatenate([runs.max(axis=0), runs.min(axis=0)[::-1]]),
                    fill="toself",
                    line={"width": 0},
                    fillcolor=colours[method],
                    opacity=0.2,
                    showlegend=False,
                ),
                row=1,
                col=column,
            )
    figure.update_xaxes(title="time [s]", range=[0, 2])
    figure.update_yaxes(title="inverted elements")
    figure.write_html(path)
    print(f"\nwrote {path}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--meshes", type=Path, default=ROOT / "sample_meshes")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--plot", type=Path, help="HTML page with the curves; needs plotly")
    arguments = parser.parse_args()
    curves = random_recovery(arguments.meshes, arguments.seeds)
    crushed_recovery(arguments.meshes)
    persistent_degeneration()
    if arguments.plot:
        write_plot(curves, arguments.plot)


if __name__ == "__main__":
    main()
