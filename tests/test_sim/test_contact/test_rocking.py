"""What rocks on a floor comes to rest as it should, whatever the steps are; contacts must not drive it."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from stepping import OneBody

from jellycage import sim, toolkit
from jellycage.sim.maths.quaternions import as_matrices
from jellycage.sim.solvers.methods import INTEGRATORS

SAMPLES = Path(__file__).resolve().parents[3] / "sample_meshes"
FPS = 24.0


@cache
def bear():
    """The sample bear, leaning back by 40 degrees just above the floor."""
    mesh = toolkit.read_mesh(SAMPLES / "gummy_bear.obj")
    half = np.radians(-20.0)
    turn = as_matrices(np.array([np.cos(half), np.sin(half), 0.0, 0.0]))
    vertices = mesh.vertices @ turn.T
    vertices[:, 2] -= vertices[:, 2].min()
    return toolkit.build_cage(toolkit.TriMesh(vertices, mesh.faces), resolution=8)


def tilts(substeps, integrator="bdf2", seconds=2.0, damping=0.01):
    """Angle of the bear against how it started after each frame [rad], and the greatest speed at the end [m/s]."""
    material = sim.NeoHookean(1.5e5, 0.45, 1000.0)
    body = sim.SoftBody(bear(), material, stiffness_damping=damping)
    settings = sim.SolverSettings(integrator=integrator)
    run = OneBody(body, 1.0 / (FPS * substeps), settings, colliders=[sim.ground()])
    rest, found = body.elements.nodes, []
    rest = rest - body.mass @ rest / body.mass.sum()
    for number in range(int(seconds * FPS) * substeps):
        run.step()
        if number % substeps == substeps - 1:
            offset = run.x - body.mass @ run.x / body.mass.sum()
            u, _, vt = np.linalg.svd((body.mass[:, None] * offset).T @ rest)
            found.append(np.arctan2((u @ vt)[2, 1], (u @ vt)[1, 1]))
    return np.array(found), np.abs(run.v).max()


@cache
def converged():
    return tilts(16)[0]


@pytest.mark.slow
@pytest.mark.parametrize("substeps", [2, 4])
def test_a_bear_rocks_at_long_steps_as_it_does_at_short_ones(substeps):
    """Contacts that gave way until multipliers raised them again lifted it a little each time it rolled on."""
    found, _ = tilts(substeps)
    assert np.ptp(converged()) > np.radians(40.0)
    assert np.abs(found - converged()).max() < np.radians(8.0)


@pytest.mark.slow
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_bear_that_rocks_comes_to_rest(integrator):
    found, speed = tilts(2, integrator, seconds=6.0, damping=0.05)
    assert np.ptp(found) > np.radians(20.0)
    assert np.ptp(found[-24:]) < np.radians(1.0)
    assert speed < 0.03
