"""Bodies that ring: a beam that was bent, a column that was stretched, and how to read their swings."""

import numpy as np
from beams import beam_hexes, end_nodes
from stepping import OneBody

from jellycage import sim

NO_GRAVITY = (0.0, 0.0, 0.0)


def bent_beam(build=beam_hexes, counts=(6, 2, 2), size=(2.0, 0.5, 0.5), young=1e7):
    """A beam without damping, fixed at one end and bent as by a gravity of 1 m/s^2, and by how much (n, 3) [m]."""
    cage = sim.Cage(*build(*counts, size))
    fixed, _ = end_nodes(cage.nodes)
    pins = [sim.Pin(sim.node_points(fixed))]
    law = sim.Corotated(young, 0.3, 1000.0)
    bent = sim.equilibrium(sim.SoftBody(cage, law, pins=pins), gravity=(0.0, 0.0, -1.0)).x
    return sim.SoftBody(cage, law, pins=pins, start=bent), bent - cage.nodes


def swings(body, shape, dt, steps, settings):
    """How much of a shape (n, 3) is in the displacement of a body, by mass, at the start and after each step."""
    run, weighed = OneBody(body, dt, settings, gravity=NO_GRAVITY), body.mass[:, None] * shape
    found = []
    for number in range(steps + 1):
        if number:
            run.step()
        found.append(((run.x - body.elements.nodes) * weighed).sum() / (shape * weighed).sum())
    return np.array(found)


def crossings(z, dt):
    """Times at which a swing sampled every dt [s] goes through zero."""
    k = np.flatnonzero(z[:-1] * z[1:] < 0.0)
    return dt * (k + z[k] / (z[k] - z[k + 1]))


def peaks(z):
    """Greatest distances from zero between its crossings, by the parabola through the three highest samples."""
    k = np.flatnonzero(z[:-1] * z[1:] < 0.0)
    found = []
    for half in np.split(np.abs(z), k + 1)[1:-1]:
        top = int(np.clip(half.argmax(), 1, max(len(half) - 2, 1)))
        if len(half) < 3:
            found.append(half.max())
            continue
        a, b, c = half[top - 1 : top + 2]
        bend = a - 2.0 * b + c
        found.append(b - (c - a) ** 2 / (8.0 * bend) if bend < 0.0 else half.max())
    return np.array(found)


def damping_ratio_of(z):
    """Of a swing, by the logarithmic decrement of its peaks."""
    heights = np.log(peaks(z))
    decrement = -np.polyfit(np.arange(len(heights)), heights, 1)[0]
    return decrement / np.hypot(np.pi, decrement)
