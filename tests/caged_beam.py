"""A beam in a cage, held by the vertices of one end face: what an artist pins, and no node of the cage."""

import numpy as np
from shapes import box, subdivided

from jellycage import sim, toolkit


def caged_beam_sag(element: str, resolution: int) -> float:
    """How far the free end of a beam of 1 x 0.25 x 0.25 m, 1 MPa, Poisson ratio 0.45, sags by its own weight [m]."""
    mesh = subdivided(box((1.0, 0.25, 0.25)), 5)
    asset = toolkit.build_cage(mesh, resolution=resolution, element=element)
    x = asset.surface_vertices[:, 0]
    held = sim.surface_points(asset, np.flatnonzero(x < 1e-9))
    body = sim.SoftBody(asset, sim.Corotated(1e6, 0.45, 1000.0), pins=[sim.Pin(held)])
    moved = body.surface(sim.equilibrium(body).x) - asset.surface_vertices
    return -float(moved[x > 1.0 - 1e-9, 2].mean())
