"""The oracle is right: bars, beams and patches whose answer is known on paper."""

import numpy as np
import pytest
from beams import SIZE, beam_hexes, beam_tets, end_nodes

pytest.importorskip("skfem", reason="the oracle is scikit-fem")

from elastic_reference import (  # noqa: E402
    TIP_DEFLECTION,
    converged_tip,
    first_frequency,
    linear_displacement,
    lumped_mass,
    sagging_tip,
    stiffness_matrix,
    tip_displacement,
)

BEAMS = {"tets": beam_tets, "hexes": beam_hexes}
FACES = {4: [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]], 8: [[1, 2, 6, 5]]}
"""Corners of the faces of an element that may lie on the end of a beam (of a hex only the one at highest x)."""


@pytest.fixture(params=list(BEAMS))
def beam(request):
    """Maker of a beam of one kind of element."""
    return BEAMS[request.param]


def end_shares(nodes, elements, tip):
    """Part of a uniform pull on the end face that each node takes, shape (n,), in sum one."""
    faces = elements[:, FACES[elements.shape[1]]].reshape(-1, len(FACES[elements.shape[1]][0]))
    faces = faces[np.isin(faces, tip).all(axis=1)]
    corners = nodes[faces]
    area = np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    shares = np.repeat(area / area.sum() / faces.shape[1], faces.shape[1])
    return np.bincount(faces.ravel(), weights=shares, minlength=len(nodes))


def timoshenko_deflection(poisson_ratio):
    """Tip deflection of the sagging beam times E / (density gravity) [m^2]: bending and shear.

    Cowper 1966, doi:10.1115/1.3625046: shear coefficient of a rectangle.
    """
    length, _, height = SIZE
    shear_coefficient = 10 * (1 + poisson_ratio) / (12 + 11 * poisson_ratio)
    bending = 12 * length**4 / (8 * height**2)
    return bending + length**2 * (1 + poisson_ratio) / shear_coefficient


def test_tets_fill_the_beam_and_stand_upright():
    nodes, tets = beam_tets(4, 3, 2)
    corners = nodes[tets]
    volumes = np.linalg.det(corners[:, 1:] - corners[:, :1]) / 6
    assert (volumes > 0).all()
    assert volumes.sum() == pytest.approx(np.prod(SIZE), rel=1e-12)
    assert tets.dtype == np.int32 and tets.shape == (6 * 24, 4)
    assert lumped_mass(nodes, tets, 3.0).sum() == pytest.approx(3 * np.prod(SIZE), rel=1e-12)


def test_the_tets_of_a_cell_share_its_main_diagonal():
    nodes, tets = beam_tets(2, 2, 2, size=(2, 2, 2))
    _, hexes = beam_hexes(2, 2, 2, size=(2, 2, 2))
    for corners, cell in zip(hexes, tets.reshape(-1, 6, 4), strict=True):
        assert all({corners[0], corners[6]} <= set(tet) <= set(corners) for tet in cell)


def test_hex_corners_follow_vtk():
    nodes, hexes = beam_hexes(1, 1, 1, size=(1, 1, 1))
    walk = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]]
    assert hexes.dtype == np.int32
    np.testing.assert_array_equal(nodes[hexes[0]], walk)


def test_a_pulled_bar_lengthens_by_force_times_length_over_stiffness(beam):
    nodes, elements = beam(5, 2, 3)
    fixed, tip = end_nodes(nodes)
    force = np.zeros_like(nodes)
    force[:, 0] = 7.0 * end_shares(nodes, elements, tip)
    found = linear_displacement(nodes, elements, fixed, force, 1e4, 0.0)
    expected = np.outer(nodes[:, 0], [7.0 / (1e4 * SIZE[1] * SIZE[2]), 0, 0])
    np.testing.assert_allclose(found, expected, atol=1e-9 * expected.max())


def test_a_uniform_strain_passes_through_distorted_elements(beam):
    nodes, elements = beam(4, 3, 3)
    inside = ((nodes > 1e-9) & (nodes < np.array(SIZE) - 1e-9)).all(axis=1)
    nodes[inside] += np.random.default_rng(0).uniform(-0.05, 0.05, (inside.sum(), 3))
    strain = np.array([[3.0, 1.0, -2.0], [1.0, -1.0, 0.5], [-2.0, 0.5, 2.0]]) * 1e-3
    u = nodes @ strain
    force = (stiffness_matrix(nodes, elements, 1e4, 0.35) @ u.ravel()).reshape(-1, 3)
    lame, shear = 1e4 * 0.35 / (1.35 * 0.3), 1e4 / 2.7
    stress = lame * np.trace(strain) * np.eye(3) + 2 * shear * strain
    assert abs(force[inside]).max() < 1e-12 * abs(force).max() * len(nodes)
    energy = 0.5 * np.sum(stress * strain) * np.prod(SIZE)
    assert 0.5 * np.sum(force * u) == pytest.approx(energy, rel=1e-10)


def test_rigid_motions_cost_nothing(beam):
    nodes, elements = beam(3, 2, 2)
    matrix = stiffness_matrix(nodes, elements, 1e4, 0.3)
    for motion in (np.ones_like(nodes), np.cross([0.3, -0.2, 0.9], nodes)):
        assert abs(matrix @ motion.ravel()).max() < 1e-10 * abs(matrix).max()


def test_hexes_bend_further_than_tets_and_both_less_than_the_converged_beam():
    tips = []
    for make in (beam_tets, beam_hexes):
        nodes, elements = make(6, 3, 3)
        fixed, tip = end_nodes(nodes)
        force = np.zeros_like(nodes)
        force[:, 2] = -lumped_mass(*beam_tets(6, 3, 3), 2.0) * 9.81
        tips.append(linear_displacement(nodes, elements, fixed, force, 1e4, 0.35)[tip, 2].mean())
    assert 0 > tips[0] > tips[1] > tip_displacement(1e4, 0.35, 2.0)


@pytest.mark.parametrize("poisson_ratio", TIP_DEFLECTION)
def test_the_converged_tip_is_near_timoshenko(poisson_ratio):
    """The clamp forbids the contraction at the wall, which a beam theory leaves out: a few percent stiffer."""
    ratio = TIP_DEFLECTION[poisson_ratio] / timoshenko_deflection(poisson_ratio)
    assert 0.94 < ratio < 1.0


def test_a_coarse_quadratic_beam_is_already_near_the_table():
    assert sagging_tip(0.35, 2) == pytest.approx(TIP_DEFLECTION[0.35], rel=0.02)


@pytest.mark.slow
def test_the_table_of_tips_can_be_computed_again():
    assert converged_tip(0.35) == pytest.approx(TIP_DEFLECTION[0.35], rel=1e-4)


def test_the_frequency_of_a_slender_beam_converges_to_euler_and_bernoulli():
    """Linear tets are too stiff in bending by a part that falls with the square of the cell; extrapolated away."""
    length, side, young_modulus, density = 1.0, 0.1, 1e6, 1000.0
    periods = {}
    for across in (4, 8):
        nodes, tets = beam_tets(5 * across, across, across, size=(length, side, side))
        fixed, _ = end_nodes(nodes)
        frequency = first_frequency(nodes, tets, fixed, young_modulus, 0.0, density)
        periods[across] = 1.0 / frequency**2
    extrapolated = periods[8] + (periods[8] - periods[4]) / 3
    beam_theory = 1.8751**2 / (2 * np.pi) * np.sqrt(young_modulus * side**2 / (12 * density))
    assert 1 / np.sqrt(periods[4]) > 1 / np.sqrt(periods[8]) > beam_theory
    assert 1 / np.sqrt(extrapolated) == pytest.approx(beam_theory / length**2, rel=0.03)
