"""The static solver against scikit-fem: the same numbers on the same mesh, and the same limit on finer ones."""

import numpy as np
import pytest
from beams import beam_hexes, beam_tets, end_nodes
from caged_beam import caged_beam_sag

pytest.importorskip("skfem", reason="the oracle is scikit-fem")

from elastic_reference import linear_displacement, sagging_tip, tip_displacement  # noqa: E402

from jellycage import sim

BEAMS = {"tets": beam_tets, "hexes": beam_hexes}
MATERIALS = {"corotated": sim.Corotated, "neo_hookean": sim.NeoHookean}
STIFF = 1e9
"""Young modulus [Pa] with which the beam sags by less than a millimetre: small strains."""


def cantilever(kind, counts, material, *, quadrature=1):
    nodes, elements = BEAMS[kind](*counts)
    pins = [sim.Pin(sim.node_points(end_nodes(nodes)[0]))]
    return sim.SoftBody(sim.Cage(nodes, elements), material, pins=pins, quadrature=quadrature)


def tip_sag(kind, counts, poisson_ratio, *, quadrature=1):
    """Mean displacement [m] of the end face of the stiff beam under its own weight."""
    material = sim.Corotated(STIFF, poisson_ratio, 1000.0)
    body = cantilever(kind, counts, material, quadrature=quadrature)
    nodes, (_, ny, nz) = body.elements.nodes, counts
    sides = [np.r_[0.5, np.ones(n - 1), 0.5] / n for n in (ny, nz)]  # the trapezoidal rule
    sag = (sim.equilibrium(body).x - nodes)[end_nodes(nodes)[1], 2]
    return float(sides[0] @ sag.reshape(ny + 1, nz + 1) @ sides[1])


def orders(kind, across, poisson_ratio, expected):
    """Order of the error of the tip between successive numbers of cells across the beam."""
    errors = [tip_sag(kind, (round(3.5 * n), n, n), poisson_ratio) / expected - 1.0 for n in across]
    found = np.log(np.divide(errors[:-1], errors[1:])) / np.log(np.divide(across[1:], across[:-1]))
    print(kind, across, "errors", np.round(errors, 5), "orders", np.round(found, 3))
    return found


@pytest.mark.parametrize("law", list(MATERIALS))
@pytest.mark.parametrize(("kind", "quadrature"), [("tets", 1), ("hexes", 8)])
def test_a_small_load_gives_the_displacement_of_linear_elasticity(kind, quadrature, law):
    """Strains of 1e-7, so that what is not linear is as small; rounding costs as much again."""
    body = cantilever(kind, (7, 2, 2), MATERIALS[law](1e5, 0.35, 1000.0), quadrature=quadrature)
    nodes, gravity = body.elements.nodes, np.array([0.0, 0.0, -1e-6])
    clamped, tip = end_nodes(nodes)
    force = body.mass[:, None] * gravity
    expected = linear_displacement(nodes, body.elements.corners, clamped, force, 1e5, 0.35)
    found = sim.equilibrium(body, gravity=gravity).x - nodes
    error = np.abs((found - expected)[tip]).max() / np.abs(expected[tip]).max()
    assert error < 1e-6


@pytest.mark.parametrize("counts", [(6, 3, 3), (10, 2, 2), (21, 6, 6)])
@pytest.mark.parametrize("poisson_ratio", [0.35, 0.45])
def test_one_point_hexes_do_not_lock(counts, poisson_ratio):
    error = (
        tip_sag("hexes", counts, poisson_ratio) / tip_displacement(STIFF, poisson_ratio, 1000.0) - 1
    )
    assert abs(error) < 0.1


@pytest.fixture(scope="module")
def smooth_tip():
    """Converged tip of a beam with Poisson ratio 0, whose clamp holds back no contraction: no singular stress.

    Triquadratic hexes, two meshes extrapolated: the second is off by 0.02 %, the limit by a tenth of that.
    """
    coarse, fine = sagging_tip(0.0, 2), sagging_tip(0.0, 4)
    return -(fine + (fine - coarse) / 7.0) * 1000.0 * 9.81 / STIFF


@pytest.mark.slow
def test_one_point_hexes_are_second_order_where_the_solution_is_smooth(smooth_tip):
    found = orders("hexes", (2, 4, 8), 0.0, smooth_tip)
    assert found[0] > 1.5
    assert found[1] > 1.8


@pytest.mark.slow
def test_tets_approach_second_order_where_the_solution_is_smooth(smooth_tip):
    """The coarse ones are 40 % too stiff, far from where the order shows."""
    found = orders("tets", (2, 4, 8, 12), 0.0, smooth_tip)
    assert (found > 1.2).all()
    assert found[-1] > 1.8


@pytest.mark.parametrize(("kind", "across"), [("hexes", (4, 8, 12)), ("tets", (4, 8, 12))])
def test_the_edge_of_the_clamp_lowers_the_order_as_theory_says(kind, across):
    """A clamped right angle with Poisson ratio 0.35 has stress r^(s-1), s = 0.68, and the tip the order 2 s = 1.36."""
    found = orders(kind, across, 0.35, tip_displacement(STIFF, 0.35, 1000.0))
    assert (found > 1.2).all()


def test_a_beam_in_a_cage_of_hexes_sags_the_same_at_any_resolution():
    # The cage is up to half a cell wider than the beam on every side: 1.9 times too stiff were it taken for full.
    sags = [caged_beam_sag("hex", resolution) for resolution in (6, 8, 11, 16)]
    np.testing.assert_allclose(sags, sags[-1], rtol=0.07)
