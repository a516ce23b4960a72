"""Quadrature is exact where it should be: affine fields, volumes, and hourglass modes that see none of either."""

import numpy as np
import pytest
from beams import HEX_CORNERS, beam_hexes, beam_tets

from jellycage.sim.errors import SettingsError
from jellycage.sim.soft.elements import elements_of

SIZE = (1.5, 0.6, 0.8)
EXACT = 1e-13  # rounding of sums of eight numbers near 1
TET = np.vstack([np.zeros(3), np.eye(3)])


def distorted(nodes, amount=0.06):
    """The nodes inside the box moved by random amounts [m]: hexes of all shapes that fill the same box."""
    inside = ((nodes > 0.0) & (nodes < SIZE)).all(axis=1)
    return nodes + amount * inside[:, None] * np.random.default_rng(0).uniform(-1, 1, nodes.shape)


def slanted(nodes):
    """An affine image with volume 1.2 times that of the nodes."""
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    shear = np.array([[1.0, 0.3, -0.2], [0.0, 1.5, 0.4], [0.0, 0.0, 0.8]])
    return nodes @ shear.T @ (turn * np.linalg.det(turn)).T + [5.0, -3.0, 2.0]


def cases():
    tets, hexes = beam_tets(3, 3, 3, SIZE), beam_hexes(3, 3, 3, SIZE)
    return {
        "tets": elements_of(*tets),
        "distorted tets": elements_of(distorted(tets[0]), tets[1]),
        "bricks, one point": elements_of(*hexes),
        "bricks, eight points": elements_of(*hexes, quadrature=8),
        "slanted bricks, one point": elements_of(slanted(hexes[0]), hexes[1]),
        "distorted hexes, one point": elements_of(distorted(hexes[0]), hexes[1]),
        "distorted hexes, eight points": elements_of(distorted(hexes[0]), hexes[1], quadrature=8),
    }


CASES = cases()
every_case = pytest.mark.parametrize("elements", CASES.values(), ids=CASES.keys())
ONE_POINT = {name: case for name, case in CASES.items() if "one point" in name}
every_one_point = pytest.mark.parametrize("elements", ONE_POINT.values(), ids=ONE_POINT.keys())


@every_case
def test_the_gradient_of_an_affine_field_is_exact(elements):
    slope, offset = np.random.default_rng(2).normal(size=(3, 3)), np.array([3.0, -1.0, 2.0])
    field = elements.nodes @ slope.T + offset
    points = len(elements.volumes) // len(elements.corners)
    at_corners = np.repeat(field[elements.corners], points, axis=0)
    found = np.einsum("qai,qaj->qij", at_corners, elements.gradients)
    np.testing.assert_allclose(
        found, np.broadcast_to(slope, found.shape), atol=1e2 * EXACT, rtol=EXACT
    )
    np.testing.assert_allclose(elements.gradients.sum(axis=1), 0.0, atol=1e2 * EXACT)


@pytest.mark.parametrize(
    ("name", "volume"),
    [
        ("tets", 1.0),
        ("distorted tets", 1.0),
        ("bricks, one point", 1.0),
        ("bricks, eight points", 1.0),
        ("slanted bricks, one point", 1.2),
        ("distorted hexes, eight points", 1.0),
    ],
)
def test_the_volumes_fill_the_body(name, volume):
    # One point in a hex that is no parallelepiped gives its volume to second order only: it is not in the list.
    elements = CASES[name]
    assert elements.volumes.sum() == pytest.approx(volume * np.prod(SIZE), rel=EXACT)
    assert elements.element_volumes.shape == (len(elements.corners),)
    assert elements.element_volumes.sum() == pytest.approx(volume * np.prod(SIZE), rel=EXACT)


def test_eight_points_give_the_volume_of_one_twisted_hex():
    nodes, hexes = beam_hexes(1, 1, 1, (1.0, 1.0, 1.0))
    # A cone: z is scaled by 1 + x/2 + y/4 at the corners, so that its volume is the mean of that on the square.
    nodes = nodes * np.stack([np.ones(8), np.ones(8), 1 + nodes[:, 0] / 2 + nodes[:, 1] / 4], 1)
    found = elements_of(nodes, hexes, quadrature=8).element_volumes
    np.testing.assert_allclose(found, 1.0 + 0.25 + 0.125, rtol=EXACT)


def test_the_points_of_an_element_are_consecutive():
    nodes, hexes = beam_hexes(3, 3, 3, SIZE)
    together = elements_of(distorted(nodes), hexes, quadrature=8)
    for e in (0, 13, 26):
        alone = elements_of(distorted(nodes), hexes[e : e + 1], quadrature=8)
        np.testing.assert_allclose(together.gradients[8 * e : 8 * e + 8], alone.gradients)
        np.testing.assert_allclose(together.volumes[8 * e : 8 * e + 8], alone.volumes)


@every_one_point
def test_hourglass_modes_do_not_see_affine_fields_and_complete_them(elements):
    x, modes = elements.nodes[elements.corners], elements.hourglass_modes
    assert modes.shape == (len(x), 4, 8)
    np.testing.assert_allclose(modes.sum(axis=2), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.einsum("eia,eaj->eij", modes, x), 0.0, atol=1e-12)
    # With the gradients and the constant they span all motions of the eight corners: none is left without energy.
    spacing = np.ptp(x, axis=1).mean()
    ones = np.ones((len(x), 1, 8))
    motions = np.concatenate([modes, elements.gradients.swapaxes(1, 2) * spacing / 8, ones / 8], 1)
    lengths = np.linalg.norm(motions, axis=2, keepdims=True)
    assert np.linalg.svd(motions / lengths, compute_uv=False).min() > 0.3


@every_one_point
def test_hourglass_modes_are_dual_to_their_patterns(elements):
    # A corner pattern of amplitude q, whatever the shape of the hex, is measured as q: gamma_i . H_j = delta_ij.
    s, t, u = 2 * HEX_CORNERS.T - 1
    patterns = np.stack([t * u, u * s, s * t, s * t * u])
    found = np.einsum("eia,ja->eij", elements.hourglass_modes, patterns)
    gradients = np.einsum("eaj,ia->eij", elements.gradients, patterns)
    np.testing.assert_allclose(gradients, 0.0, atol=1e-12)
    np.testing.assert_allclose(found, np.broadcast_to(np.eye(4), found.shape), atol=1e-12)


def test_only_one_point_hexes_have_hourglass_modes():
    nodes, hexes = beam_hexes(2, 2, 2, (1.0, 1.0, 1.0))
    for elements in (elements_of(nodes, hexes, quadrature=8), CASES["tets"]):
        assert elements.hourglass_modes.shape == (0, 4, 8)
        assert elements.hourglass_axes.shape == elements.hourglass_spread.shape == (0, 3, 3)


@pytest.mark.parametrize(
    ("nodes", "bad"),
    [
        (TET, [0, 2, 1, 3]),
        ([*TET, [0.5, 0.5, 0.0]], [0, 1, 2, 4]),
        ([*TET, [0.0, 0.0, 1.0]], [0, 1, 3, 4]),
    ],
    ids=["inverted", "flat", "two corners in one"],
)
def test_flat_and_inverted_tets_are_named(nodes, bad):
    with pytest.raises(SettingsError, match="element 1 has no positive rest volume"):
        elements_of(nodes, [[0, 1, 2, 3], bad])


@pytest.mark.parametrize("quadrature", [1, 8])
@pytest.mark.parametrize(
    "order", [[1, 0, 3, 2, 5, 4, 7, 6], [0, 1, 2, 3, 0, 1, 2, 3]], ids=["inverted", "flat"]
)
def test_flat_and_inverted_hexes_are_named(order, quadrature):
    nodes, hexes = beam_hexes(1, 1, 1, (1.0, 1.0, 1.0))
    with pytest.raises(SettingsError, match="element 1 has no positive rest volume"):
        elements_of(nodes, [hexes[0], hexes[0, order]], quadrature=quadrature)


def test_a_hex_that_is_inverted_at_one_corner_only_is_named():
    nodes, hexes = beam_hexes(1, 1, 1, (1.0, 1.0, 1.0))
    nodes[hexes[0, 6]] = [0.2, 0.2, 0.2]
    with pytest.raises(SettingsError, match="element 0 has no positive rest volume"):
        elements_of(nodes, hexes, quadrature=8)


def test_other_numbers_of_points_are_refused():
    nodes, hexes = beam_hexes(1, 1, 1)
    with pytest.raises(SettingsError, match="quadrature: expected 1 or 8 points per hex, got 27"):
        elements_of(nodes, hexes, quadrature=27)
