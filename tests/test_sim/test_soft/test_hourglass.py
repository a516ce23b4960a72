"""What hourglass modes cost, against elements with incompatible modes, and against beams."""

import numpy as np
import pytest
from beams import beam_hexes
from scipy.sparse import bsr_array
from scipy.sparse.linalg import splu
from turned_bars import assembled, bar

from jellycage import sim
from jellycage.sim.soft.elasticity import add_stiffness, points_at_rest
from jellycage.sim.soft.elements import HOURGLASS_SIGNS, elements_of
from jellycage.sim.soft.hourglass import TETHERED, hourglass_forms
from jellycage.sim.soft.hourglass_kernels import (
    SQUASHED,
    TAUT,
    add_hourglass_stiffness,
    hourglass_energy_and_forces,
)

CUBE = beam_hexes(1, 1, 1, (1.0, 1.0, 1.0))


def parallelepiped(seed):
    """One hex, a cube under a random affine map."""
    rng = np.random.default_rng(seed)
    while True:
        stretch = np.eye(3) + 0.4 * rng.normal(size=(3, 3))
        if np.linalg.det(stretch) > 0.2:
            return CUBE[0] @ stretch.T, CUBE[1]


def hooke(nu):
    """C_ijkl for a Young modulus of 1."""
    mu, lam = 0.5 / (1.0 + nu), nu / ((1.0 + nu) * (1.0 - 2.0 * nu))
    one = np.eye(3)
    return lam * np.einsum("ij,kl->ijkl", one, one) + mu * (
        np.einsum("ik,jl->ijkl", one, one) + np.einsum("il,jk->ijkl", one, one)
    )


def condensed_energy(nodes, nu, q):
    """Energy of corners that move by sum_i q_i psi_i, i < 3, with three incompatible modes 1 - xi_d^2 of least energy.

    Wilson's element, integrated by 3^3 points.
    """
    x = nodes[CUBE[1][0]]
    g = np.linalg.inv(np.einsum("ai,ad->id", x, HOURGLASS_SIGNS) / 8.0)
    volume, c = 8.0 / np.linalg.det(g), hooke(nu)
    points, weights = np.polynomial.legendre.leggauss(3)
    energy = 0.0
    k, push = np.zeros((9, 9)), np.zeros(9)
    for i, j, m in np.ndindex(3, 3, 3):
        s, t, u = points[[i, j, m]]
        w = weights[i] * weights[j] * weights[m] / 8.0 * volume
        slopes = np.array([[0, u, t], [u, 0, s], [t, s, 0]]) @ g  # of psi_0, psi_1, psi_2
        h = np.einsum("ik,id->kd", q, slopes)
        # Columns (direction k, mode d): -2 xi_d in direction k along g_d.
        inner = np.zeros((3, 3, 3, 3))
        for d, xi in enumerate((s, t, u)):
            inner[np.arange(3), d, np.arange(3)] = -2.0 * xi * g[d]
        inner = inner.reshape(9, 3, 3)
        energy += 0.5 * w * np.einsum("ij,ijkl,kl", h, c, h)
        k += w * np.einsum("aij,ijkl,bkl->ab", inner, c, inner)
        push += w * np.einsum("aij,ijkl,kl->a", inner, c, h)
    return energy - 0.5 * push @ np.linalg.solve(k, push)


@pytest.mark.parametrize("nu", [0.0, 0.3, 0.49])
@pytest.mark.parametrize("seed", range(6))
def test_modes_of_two_axes_cost_what_incompatible_modes_leave(seed, nu):
    nodes, hexes = parallelepiped(seed)
    scale, form = hourglass_forms(elements_of(nodes, hexes), nu)
    q = np.zeros((4, 3))
    q[:3] = np.random.default_rng(seed + 100).normal(size=(3, 3))
    found = 0.5 * (scale[0] * (q * q).sum() + q.ravel() @ form[0] @ q.ravel())
    np.testing.assert_allclose(found, condensed_energy(nodes, nu, q[:3]), rtol=1e-10)


@pytest.mark.parametrize("nu", [0.0, 0.3, 0.499])
def test_no_mode_is_free_and_none_locks(nu):
    scale, form = hourglass_forms(elements_of(*CUBE), nu)
    values = np.linalg.eigvalsh(form[0] + scale[0] * np.eye(12))
    # Bending of a cube costs 4/3 E V / h^2; all others are of that size, however incompressible.
    assert values.min() > 0.2 * 4.0 / 3.0 and values.max() < 3.0 * 4.0 / 3.0
    assert np.linalg.eigvalsh(form[0]).min() > -1e-12


def test_a_thin_layer_bends_as_a_thin_layer():
    """A tenth of a cube, at its top: bent up along x it is stretched by its own thickness, not by that of the cube."""
    thick = 0.1
    spread = np.array([[1 / 12, 1 / 12, thick**2 / 12, 0.0, 0.0, 0.0]])
    at_top = {"fill": [thick], "centres": [[0.5, 0.5, 1.0 - thick / 2]]}
    middle, layer = elements_of(*CUBE), elements_of(*CUBE, **at_top, spread=spread)
    full, thin = (
        (form[0] + scale[0] * np.eye(12)).reshape(4, 3, 4, 3)
        for scale, form in (hourglass_forms(e, 0.3) for e in (middle, layer))
    )
    ratio = thin[1, 0, 1, 0] / full[1, 0, 1, 0]  # a trace of solid all over the cube adds to it
    assert thick**2 < ratio < 0.2
    # Moved by the product of all coordinates, its own plane bends: modes are those about the layer.
    x = CUBE[0][CUBE[1][0]]
    xi = 2.0 * x - 1.0
    q = layer.hourglass_modes[0] @ xi.prod(axis=1)
    np.testing.assert_allclose(q, [0.0, 0.0, 1.0 - thick, 1.0], atol=0.05)


def rest_stiffness(body):
    """Stiffness at rest [N/m], shape (3 n, 3 n)."""
    pattern = body.pattern
    blocks = np.zeros(9 * len(pattern.column))
    points = points_at_rest(len(body.elements.volumes))
    add_stiffness(body, np.array(body.elements.nodes), points, "projected", blocks)
    arrays = blocks.reshape(-1, 3, 3), pattern.column, pattern.start
    upper = bsr_array(arrays, shape=2 * (3 * len(body.mass),)).tocsr()
    block = np.repeat(np.arange(len(body.mass)), 3)
    entries = upper.tocoo()
    is_off = block[entries.row] != block[entries.col]
    lower = (entries.data[is_off], (entries.col[is_off], entries.row[is_off]))
    return upper + type(entries)(lower, shape=upper.shape).tocsr()


def cantilever(cells, law=sim.Corotated):
    """Displacements of MacNeal and Harder's beam by a unit load at its end: along x, y and z [m], in twist [rad]."""
    size, young = (6.0, 0.2, 0.1), 1e7
    nodes, hexes = beam_hexes(*cells, size)
    nodes = nodes - nodes.min(axis=0)
    body = sim.SoftBody(sim.Cage(nodes, hexes), law(young, 0.3, 1.0))
    k = rest_stiffness(body)
    free = np.repeat(nodes[:, 0] > 1e-9, 3)
    at_end = np.flatnonzero(np.isclose(nodes[:, 0], 6.0))
    share = np.ones(len(at_end))
    for axis in (1, 2):
        is_side = np.isclose(nodes[at_end, axis] % size[axis], 0.0) | np.isclose(
            nodes[at_end, axis], size[axis]
        )
        share[is_side] *= 0.5
    share /= share.sum()
    y, z = nodes[at_end, 1] - 0.1, nodes[at_end, 2] - 0.05
    radius = share @ (y * y + z * z)
    loads = np.zeros((4, *nodes.shape))
    for axis in range(3):
        loads[axis, at_end, axis] = share
    loads[3, at_end, 1], loads[3, at_end, 2] = -share * z / radius, share * y / radius
    loads = loads.reshape(4, -1)[:, free].T
    return np.einsum("ij,ij->j", loads, splu(k[free][:, free].tocsc()).solve(loads))


EXACT = np.array([3e-5, 0.1081, 0.4321, 0.03208])


@pytest.mark.parametrize(
    ("cells", "bent", "twisted"), [((60, 2, 1), 0.04, 0.10), ((120, 4, 2), 0.04, 0.04)]
)
@pytest.mark.parametrize("law", [sim.Corotated, sim.NeoHookean])
def test_plain_cubes_bend_and_twist_as_beams_do(law, cells, bent, twisted):
    """MacNeal, Harder 1985: extension, shear in plane and out of it, twist."""
    off = cantilever(cells, law) / EXACT - 1.0
    assert np.abs(off[:3]).max() < bent and abs(off[3]) < twisted


@pytest.fixture(scope="module", params=["tet", "hex"])
def thin_bar(request):
    """Ten to one, with cubes that hardly hold any solid."""
    body = sim.SoftBody(bar(10, 1, 8, request.param)[0], sim.NeoHookean(1.0, 0.3))
    assert (body.elements.fill < 0.5 * TETHERED).any()
    return body


def tethered(body, x):
    """Energy, forces and stiffness of the tethers and props alone."""
    found = []
    for hourglass in (body.hourglass, body.hourglass._replace(tether=0.0 * body.hourglass.tether)):
        force, blocks = np.zeros_like(x), np.zeros(9 * len(body.pattern.column))
        energy = hourglass_energy_and_forces(x, hourglass, force)
        add_hourglass_stiffness(x, hourglass, blocks)
        found.append((energy, force.ravel(), assembled(body, blocks).toarray()))
    return (a - b for a, b in zip(*found, strict=True))


def test_tethers_are_slack_until_a_hex_is_twice_its_size(thin_bar):
    nodes, h = thin_bar.elements.nodes, thin_bar.hourglass
    assert TAUT == 2.0**2
    assert ((h.tether > 0.0) == (thin_bar.elements.fill < TETHERED)).all()
    for factor, is_taut in ((1.99, False), (2.01, True)):
        energy, force, stiffness = tethered(thin_bar, factor * nodes)
        assert (energy > 0.0) == force.any() == stiffness.any() == is_taut
    energy, force, _ = tethered(thin_bar, 3.0 * nodes + [1.0, 2.0, 3.0])
    assert energy == pytest.approx(0.5 * h.tether.sum() * (9.0 - TAUT) ** 2)
    assert np.abs(force.reshape(-1, 3).sum(axis=0)).max() < 1e-12 * np.abs(force).max() * len(nodes)


def test_props_push_squashed_hexes_back_and_nothing_else(thin_bar):
    rng = np.random.default_rng(0)
    nodes, squash = thin_bar.elements.nodes, np.diag([1.0, 1.0, 1.1 * SQUASHED])
    for x, is_squashed in ((nodes @ squash, False), (nodes @ squash @ np.diag([0.9, 1, 1]), True)):
        energy, force, stiffness = tethered(thin_bar, x)
        assert (energy > 0.0) == force.any() == stiffness.any() == is_squashed
    mirrored = nodes @ np.diag([1.0, 1.0, -0.5]) + 0.02 * rng.normal(size=nodes.shape)
    way, h = rng.normal(size=nodes.shape), 1e-6
    _, force, stiffness = tethered(thin_bar, mirrored)
    (before, _, _), (after, _, _) = (tethered(thin_bar, mirrored + s * h * way) for s in (-1, 1))
    assert (after - before) / (2.0 * h) == pytest.approx(-force @ way.ravel(), rel=1e-6)
    assert np.linalg.eigvalsh(stiffness)[0] > -1e-12 * np.abs(stiffness).max()


def test_forces_and_stiffness_of_tethers_are_derivatives(thin_bar):
    rng = np.random.default_rng(0)
    nodes = thin_bar.elements.nodes
    turned = nodes @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    x = 2.2 * turned + 0.02 * rng.normal(size=nodes.shape)  # so little that none is squashed
    way, h = rng.normal(size=nodes.shape), 1e-6
    _, force, stiffness = tethered(thin_bar, x)
    (before, pull, _), (after, push, _) = (tethered(thin_bar, x + s * h * way) for s in (-1, 1))
    assert (after - before) / (2.0 * h) == pytest.approx(-force @ way.ravel(), rel=1e-6)
    change = (push - pull) / (2.0 * h)
    np.testing.assert_allclose(stiffness @ way.ravel(), -change, atol=1e-6 * np.abs(change).max())
    assert np.linalg.eigvalsh(stiffness)[0] > -1e-12 * np.abs(stiffness).max()
