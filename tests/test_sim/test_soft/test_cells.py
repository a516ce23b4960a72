"""Cubes of tets as elements: exact where tets are, and as soft as the solid where tets are too stiff."""

from pathlib import Path

import numpy as np
import pytest
from shapes import box, subdivided
from turned_bars import bar, displacements, rest_stiffness

from jellycage import sim, toolkit
from jellycage.sim.soft import body as soft_body
from jellycage.sim.soft import cells, elements
from jellycage.sim.soft.elasticity import energy_and_forces, points_at_rest
from jellycage.sim.solvers.standing import standing

SAMPLES = Path(__file__).resolve().parents[3] / "sample_meshes"
KINDS = ("tet", "hex")


def caged(name, element="tet", resolution=8):
    mesh = toolkit.read_mesh(SAMPLES / f"{name}.obj")
    return toolkit.build_cage(mesh, resolution=resolution, element=element, collision=False)


def evaluated(body, x):
    force = np.zeros_like(x)
    energy, _ = energy_and_forces(body, x, points_at_rest(len(body.elements.volumes)), force)
    return energy, force


@pytest.mark.parametrize("name", ["hand", "creature"])
def test_constant_strain_costs_what_the_solid_costs(name, monkeypatch):
    """But for a trace of solid in the void. The mean gradient also pulls at every node as the tets would together."""
    monkeypatch.setattr(soft_body, "LEAST_STIFF_FILL", 0.0)
    asset, material = caged(name), sim.NeoHookean(1.0, 0.3)
    cubes, tets = (sim.SoftBody(asset, material, coarsening=is_on) for is_on in (True, False))
    assert len(cubes.elements.corners) < len(tets.elements.corners)
    f = np.eye(3) + 0.1 * np.random.default_rng(0).normal(size=(3, 3))
    x = asset.cage_nodes @ f.T
    (energy, _), (expected, wanted) = evaluated(cubes, x), evaluated(tets, x)
    solid = tets.elements.volumes @ asset.cage_fill
    assert expected == pytest.approx(solid * material.energy_density(f[None])[0], rel=1e-9)
    assert energy == pytest.approx(expected, rel=0.005)
    monkeypatch.setattr(cells, "INTERPOLATED", 0.0)
    monkeypatch.setattr(elements, "OUTWARD", 1.0)
    _, force = evaluated(sim.SoftBody(asset, material), x)
    np.testing.assert_allclose(force, wanted, atol=0.005 * np.abs(wanted).max())


@pytest.mark.parametrize("element", KINDS)
def test_rotation_gives_no_force_and_no_mode_is_negative(element):
    body = sim.SoftBody(caged("hand", element), sim.NeoHookean(1.0, 0.45))
    q = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    q *= np.sign(np.linalg.det(q))
    energy, force = evaluated(body, body.elements.nodes @ q.T + [1.0, 2.0, 3.0])
    assert abs(energy) < 1e-12 and np.abs(force).max() < 1e-10
    k = rest_stiffness(body).toarray()
    scale = np.sqrt(np.diag(k))
    values = np.linalg.eigvalsh(k / np.outer(scale, scale))
    assert values[0] > -1e-12 and np.abs(values[:6]).max() < 1e-9 and values[6] > 1e-5


@pytest.mark.parametrize("element", KINDS)
def test_weight_is_that_of_the_solid_and_every_node_has_some(element):
    asset = caged("gummy_bear", element)
    body = sim.SoftBody(asset, sim.NeoHookean(1e4, 0.45, 1000.0))
    solid = elements.elements_of(asset.cage_nodes, asset.elements).volumes @ asset.cage_fill
    assert body.mass.sum() == pytest.approx(1000.0 * solid, rel=1e-12) and body.mass.min() > 0.0


@pytest.mark.parametrize("element", KINDS)
@pytest.mark.parametrize("seed", [-1, 100, 101])
def test_a_turned_bar_bends_and_twists_as_it_should(element, seed):
    """Five to one, three cells across: tets on their own bend by 0.71 to 0.85 of it and twist by 0.65 to 0.72."""
    asset, vertices = bar(5, seed, 16, element)
    body = sim.SoftBody(asset, sim.Corotated(1.0, 0.3, 1.0))
    stretch, bend, other, twist = displacements(body, vertices, seed)
    assert abs(stretch - 1.0) < 0.03
    assert 0.9 < bend < 1.1 and 0.9 < other < 1.1
    assert 0.85 < twist < 1.15


def test_mixing_in_the_interpolated_gradient_bends_better_and_hardly_stretches(monkeypatch):
    """Twenty to one, less than a cell across."""
    found = {}
    for share in (0.0, cells.INTERPOLATED):
        monkeypatch.setattr(cells, "INTERPOLATED", share)
        found[share] = np.array(
            [
                displacements(sim.SoftBody(asset, sim.Corotated(1.0, 0.3, 1.0)), vertices, seed)
                for seed in (102, 103, 104)
                for asset, vertices in [bar(20, seed, 16, "tet")]
            ]
        )
    mean, mixed = found.values()
    assert mixed[:, 1:3].mean() > mean[:, 1:3].mean() + 0.02
    assert np.abs(mixed[:, 0] - 1.0).max() < 0.03


def test_a_lying_rod_of_jelly_has_a_flat_top():
    """Weight shared out otherwise than pressure shows as a chequerboard."""
    for element in KINDS:
        mesh = subdivided(box((1.0, 0.2, 0.2)), 4)
        asset = toolkit.build_cage(mesh, resolution=6, element=element, collision=False)
        body = sim.SoftBody(asset, sim.NeoHookean(1e6, 0.48, 1000.0), friction=0.0)
        z = asset.surface_vertices[:, 2]
        sunk = (asset.surface_vertices - body.surface(standing(body).x))[z > z.max() - 1e-9, 2]
        assert sunk.max() < 1.6 * sunk.min()
