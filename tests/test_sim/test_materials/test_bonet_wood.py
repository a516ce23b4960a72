"""What Bonet and Wood's energy has that the tests of all materials do not ask for."""

import numpy as np
import pytest

from jellycage import sim
from jellycage.sim.materials import LAWS
from jellycage.sim.materials.bonet_wood_kernels import CRUSHED

BonetWood = next(law for law in LAWS if law.name == "bonet_wood")


def test_the_energy_is_that_of_the_book():
    material = BonetWood(1e4, 0.3)
    mu, lam = material.lame()
    gradients = np.eye(3) + 0.3 * np.random.default_rng(4).normal(size=(50, 3, 3))
    j = np.linalg.det(gradients)
    sound = j > CRUSHED
    expected = mu / 2 * ((gradients**2).sum(axis=(1, 2)) - 3)
    expected = expected[sound] - mu * np.log(j[sound]) + lam / 2 * np.log(j[sound]) ** 2
    assert sound.sum() > 20
    np.testing.assert_allclose(material.energy_density(gradients)[sound], expected, rtol=1e-12)


def test_crushed_elements_have_a_smooth_way_back():
    material = BonetWood(1e4, 0.3)
    squashed = [np.diag([1.0, 1.0, j]) for j in (CRUSHED + 1e-7, CRUSHED - 1e-7)]
    for values in (material.energy_density, material.stress, material.hessian):
        above, below = (values(f[None]) for f in squashed)
        np.testing.assert_allclose(above, below, rtol=1e-4, atol=1e-6 * np.abs(above).max())
    depths = np.linspace(CRUSHED, -2.0, 50)
    energies = material.energy_density(np.array([np.diag([1.0, 1.0, j]) for j in depths]))
    assert (np.diff(energies) > 0.0).all()


@pytest.mark.parametrize("flat", [0.0, -1.0])
def test_a_crushed_body_comes_back(flat):
    nodes = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
    hexes = [[0, 4, 6, 2, 1, 5, 7, 3]]
    body = sim.SoftBody(
        sim.Cage(nodes, hexes), BonetWood(1e4, 0.3, 1000.0), start=nodes * [1.0, 1.0, flat]
    )
    run = sim.simulate(sim.Scene([body], gravity=(0, 0, 0)), 48)
    assert (sim.determinants(body, run.positions[0][-1]) > 0.5).all()
