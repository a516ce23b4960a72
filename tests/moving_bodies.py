"""Small bodies on their way, and their momenta: what tests of integrators look at."""

import numpy as np
from beams import beam_hexes, beam_tets
from stepping import OneBody, elastic

from jellycage import sim
from jellycage.sim.materials import LAWS

BEAMS = {"tets": beam_tets, "hexes": beam_hexes}
MATERIALS = {law.name: law for law in LAWS}
GRAVITY = np.array([0.0, 0.0, -9.81])
NONE = np.zeros(3)
FALLEN = {
    "implicit_euler": lambda n: n * (n + 1) / 2,
    "bdf2": lambda n: n * n / 2 + 0.75 * (1.0 - 3.0**-n),
}
"""How far, in a dt^2, n steps of an acceleration a take a body from rest; BDF2's first is one of implicit Euler."""
CONVERGED = sim.SolverSettings(
    newton_iterations=40,
    newton_tolerance=1e-10,
    linear_iterations=1000,
    linear_tolerance=1e-6,
    stiffness="projected",
    precision=1e-15,
)


def cage(kind, counts=(2, 2, 2), size=(1.0, 1.0, 1.0)):
    return sim.Cage(*BEAMS[kind](*counts, size))


def two_cubes(kind):
    """Two cubes in one cage that share no node, of different size."""
    one, other = cage(kind), cage(kind, (1, 2, 2), (0.5, 0.8, 0.7))
    nodes = np.concatenate([one.nodes, other.nodes + [1.5, 0.2, 0.1]])
    return sim.Cage(nodes, np.concatenate([one.elements, other.elements + len(one.nodes)]))


def stepped(body, steps, dt, settings, **surroundings):
    """The states after 0, 1, .. steps."""
    run = OneBody(body, dt, settings, **{"gravity": NONE, **surroundings})
    states = [run.copy()]
    for _ in range(steps):
        run.step()
        states.append(run.copy())
    return states


def momentum(body, state):
    """[kg m/s]."""
    return (body.mass[:, None] * state.v).sum(axis=0)


def angular_momentum(body, state):
    """About the origin [kg m^2/s]."""
    return (body.mass[:, None] * np.cross(state.x, state.v)).sum(axis=0)


def centre(body, x):
    """Of mass [m]."""
    return (body.mass[:, None] * x).sum(axis=0) / body.mass.sum()


def total_energy(body, state):
    """Kinetic and elastic [J]."""
    kinetic = 0.5 * (body.mass[:, None] * state.v**2).sum()
    return kinetic + elastic(body, state.x)[0]


def violent_body(kind, material, **options):
    """Two spinning cubes that were shaken until elements turned inside out."""
    cubes, rng = two_cubes(kind), np.random.default_rng(0)
    body = sim.SoftBody(
        cubes,
        material(),
        start=cubes.nodes + rng.normal(scale=0.3, size=cubes.nodes.shape),
        velocity=rng.normal(size=cubes.nodes.shape),
        spin=[5.0, -3.0, 8.0],
        **options,
    )
    assert (sim.determinants(body, body.start_positions()) < 0.0).any()
    return body


def inner_point(body, seed=0):
    """A material point inside the first element."""
    corners = body.elements.corners if isinstance(body, sim.SoftBody) else body.elements
    weights = np.random.default_rng(seed).dirichlet(np.ones(corners.shape[1]), 1)
    return sim.embedded_points(corners, [0], weights)
