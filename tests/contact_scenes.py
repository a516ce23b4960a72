"""Blocks and what they meet, shared by the tests of contact."""

import numpy as np
from beams import beam_hexes, beam_tets
from stepping import OneBody

from jellycage import sim
from jellycage.sim.maths.quaternions import as_matrices, turn_to
from jellycage.sim.shapes.signed_distance_kernels import KINDS
from jellycage.sim.soft.presets import stiffness_damping

BEAMS = {"tets": beam_tets, "hexes": beam_hexes}
G = 9.81


def block(
    kind="tets",
    counts=(2, 2, 2),
    size=(1.0, 1.0, 1.0),
    *,
    bottom=(0.0, 0.0, 0.0),
    normal=(0.0, 0.0, 1.0),
    young_modulus=1e6,
    poisson_ratio=0.3,
    density=1000.0,
    law=sim.Corotated,
    damping_ratio=0.5,
    **options,
):
    """A block that stands on the middle of its lowest face, at `bottom`, upright along `normal`.

    damping_ratio: of its first mode along its height; by default it comes to rest soon.
    """
    nodes, elements = BEAMS[kind](*counts, size)
    nodes = nodes - [size[0] / 2, size[1] / 2, 0.0]
    nodes = nodes @ as_matrices(turn_to(normal)).T + bottom
    material = law(young_modulus, poisson_ratio, density)
    options.setdefault("stiffness_damping", stiffness_damping(damping_ratio, material, size[2]))
    return sim.SoftBody(sim.Cage(nodes, elements), material, **options)


def slope(angle, **options):
    """A plane through the origin that falls along +x by an angle [rad], its normal and the way down."""
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    down = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    return sim.Collider(sim.Plane(), sim.Motion(rotations=turn_to(normal)), **options), normal, down


def kind_of(collider):
    """The number by which kernels know its kind of shape."""
    return KINDS.index(collider.shape.kind)


def states(body, colliders, steps, dt, settings=None, state=None, **surroundings):
    """The states after 1, 2, .. steps, each a copy, one by one."""
    run = OneBody(body, dt, settings, state=state, colliders=colliders, **surroundings)
    for _ in range(steps):
        run.step()
        yield run.copy()


def last(run):
    """The last of several states."""
    for state in run:  # noqa: B007
        pass
    return state


def centre(body, x):
    """Centre of mass [m]."""
    return (body.mass[:, None] * x).sum(axis=0) / body.mass.sum()


def momentum(body, state):
    """[kg m/s]."""
    return (body.mass[:, None] * state.v).sum(axis=0)


def speed(state):
    """Of the fastest node [m/s]."""
    return float(np.linalg.norm(state.v, axis=1).max())
