"""Strain of the solid beyond its gradient: orthogonal to constant stress, with a true energy, and bars that bend."""

import numpy as np
import pytest
from beams import beam_hexes
from test_hourglass import CUBE, hooke, parallelepiped
from turned_bars import assembled, bar, displacements

from jellycage import sim
from jellycage.sim.soft import body as soft_body
from jellycage.sim.soft.elasticity import add_stiffness, energy_and_forces, points_at_rest
from jellycage.sim.soft.elements import HOURGLASS_SIGNS, elements_of
from jellycage.sim.soft.hourglass import LEAST_SPREAD, pure_derivatives

KINDS = ("tet", "hex")
LAWS = (sim.NeoHookean(1.0, 0.3), sim.Corotated(1.0, 0.3))


@pytest.fixture(scope="module", params=KINDS)
def thin(request):
    """The cage of a bar of less than a cell across, turned."""
    return bar(10, 102, 8, request.param)


def evaluated(body, x):
    force = np.zeros_like(x)
    energy, _ = energy_and_forces(body, x, points_at_rest(len(body.elements.volumes)), force)
    return energy, force


def turn():
    q = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    return q * np.sign(np.linalg.det(q))


@pytest.mark.parametrize("nu", [0.0, 0.3, 0.48])
@pytest.mark.parametrize("seed", range(4))
def test_pure_derivatives_are_those_of_incompatible_modes(seed, nu):
    """Wilson's element: -2 times the amplitudes of 1 - xi_d^2 that take the least energy."""
    nodes, hexes = parallelepiped(seed)
    q = np.random.default_rng(seed + 100).normal(size=(3, 3))
    g = np.linalg.inv(np.einsum("ai,ad->id", nodes[CUBE[1][0]], HOURGLASS_SIGNS) / 8.0)
    c, mean = hooke(nu), 1.0 / 3.0  # of xi_d^2
    k, push = np.zeros((3, 3, 3, 3)), np.zeros((3, 3))
    for d in range(3):
        others = [(e, f) for e in range(3) for f in range(3) if len({d, e, f}) == 3]
        h = sum(np.outer(q[f], g[e]) for e, f in others)  # change of the gradient along xi_d
        k[d, :, d, :] = mean * np.einsum("j,ijkl,l->ik", g[d], c, g[d])
        push[d] = mean * np.einsum("j,ijkl,kl->i", g[d], c, h)
    exact = -np.linalg.solve(k.reshape(9, 9), push.ravel()).reshape(3, 3)
    found = np.einsum("dimc,mc->di", pure_derivatives(elements_of(nodes, hexes), nu)[0], q)
    assert LEAST_SPREAD < 0.1
    np.testing.assert_allclose(found, exact, atol=1e-10)


def test_constant_stress_does_nothing_to_any_node(thin):
    asset, _ = thin
    body = sim.SoftBody(asset, LAWS[0])
    batch, modes = body.batch, body.elements.hourglass_modes
    assert batch.is_enhanced.any()
    done, size = np.zeros((len(body.mass), 6, 3)), 0.0
    for e, corners in enumerate(batch.corners):
        rows = batch.enhancement[e].reshape(6, 4, 3)
        share = batch.volumes[e] * np.einsum("sic,ia->asc", rows, modes[e])
        np.add.at(done, corners, share)
        size = max(size, np.abs(share).max())
    assert np.abs(done).max() < 1e-5 * size


def test_whole_elements_have_none():
    body = sim.SoftBody(sim.Cage(*beam_hexes(3, 2, 2, (1.0, 1.0, 1.0))), LAWS[0])
    assert not body.batch.is_enhanced.any() and not body.batch.enhancement.any()


@pytest.mark.parametrize("law", LAWS, ids=["neo-Hookean", "co-rotated"])
def test_forces_are_derivatives_of_the_energy_and_turn_nothing(thin, law):
    body, rng = sim.SoftBody(thin[0], law), np.random.default_rng(0)
    nodes = np.array(body.elements.nodes)
    for stretch, noise in ((1.0, 0.01), (0.6, 0.03), (1.7, 0.1)):
        x = stretch * nodes @ turn().T + noise * rng.normal(size=nodes.shape)
        way, h = rng.normal(size=nodes.shape), 1e-6
        (before, _), (_, force), (after, _) = (evaluated(body, x + s * h * way) for s in (-1, 0, 1))
        size = np.abs(force).max() + 1e-9
        assert (after - before) / (2.0 * h) == pytest.approx(-(force * way).sum(), abs=1e-6 * size)
        assert np.abs(force.sum(axis=0)).max() < 1e-11 * size
        assert np.abs(np.cross(x - x.mean(axis=0), force).sum(axis=0)).max() < 1e-11 * size


@pytest.mark.parametrize("law", LAWS, ids=["neo-Hookean", "co-rotated"])
def test_stiffness_is_exact_at_rest_and_never_negative(thin, law):
    body, rng = sim.SoftBody(thin[0], law), np.random.default_rng(0)
    nodes = np.array(body.elements.nodes)

    def stiffness(x):
        points, blocks = (
            points_at_rest(len(body.elements.volumes)),
            np.zeros(9 * len(body.pattern.column)),
        )
        energy_and_forces(body, x, points, np.zeros_like(x))
        add_stiffness(body, x, points, "projected", blocks)
        return assembled(body, blocks)

    x, way, h = nodes @ turn().T, rng.normal(size=nodes.shape), 1e-6
    change = (evaluated(body, x - h * way)[1] - evaluated(body, x + h * way)[1]).ravel() / (2 * h)
    np.testing.assert_allclose(stiffness(x) @ way.ravel(), change, atol=1e-6 * np.abs(change).max())
    k = stiffness(x + 0.05 * rng.normal(size=x.shape)).toarray()
    assert np.linalg.eigvalsh(k)[0] > -1e-12 * np.abs(k).max()


def test_bent_as_far_as_it_likes_an_element_is_not_turned_inside_out_by_it(thin):
    """F~ = F (I + G) with |G| < 1/2: energy and forces stay of the size that gradients alone make."""
    body, rng = sim.SoftBody(thin[0], LAWS[0]), np.random.default_rng(0)
    nodes = np.array(body.elements.nodes)
    for noise in (0.1, 10.0, 1e3):
        energy, force = evaluated(body, nodes + noise * rng.normal(size=nodes.shape))
        assert np.isfinite(energy) and energy > 0.0 and np.isfinite(force).all()
    point = np.zeros_like(nodes)  # all in one point
    assert np.isfinite(evaluated(body, point)[0]) and np.isfinite(evaluated(body, point)[1]).all()


@pytest.mark.parametrize(
    ("element", "least", "without"), [("hex", 0.71, 0.67), ("tet", 0.645, 0.64)]
)
def test_bars_thinner_than_a_cell_bend_and_do_not_stretch(element, least, without, monkeypatch):
    """Twenty to one at 16, the worst of three seeds; and that it is this which does it."""

    def worst():
        found = []
        for seed in (102, 103, 104):
            asset, vertices = bar(20, seed, 16, element)
            body = sim.SoftBody(asset, sim.Corotated(1.0, 0.3, 1.0))
            found.append(displacements(body, vertices, seed))
        found = np.array(found)
        assert np.abs(found[:, 0] - 1.0).max() < 0.03
        return found[:, 1:3].min()

    assert worst() > least
    monkeypatch.setattr(soft_body, "enhancement", lambda e, nu: np.zeros((len(e.corners), 6, 12)))
    assert worst() < without
