"""However many points are pinned, their springs are few and pull the cage as all of them would."""

import numpy as np
import pytest

from jellycage.sim.solvers.pin_springs import LEAST, LEAST_HARD, pin_springs
from jellycage.sim.solvers.springs_kernels import spring_energy_and_forces
from jellycage.toolkit.compile_kernels import njit

FREE = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])


@njit
def pulled(x, springs, out_force):
    return spring_energy_and_forces(x, springs, out_force)


def points_in(elements, count, seed):
    """Points at random in elements (e, a), their stiffnesses and targets."""
    rng = np.random.default_rng(seed)
    nodes = elements[rng.integers(len(elements), size=count)].astype(np.int32)
    weights = rng.dirichlet(np.ones(elements.shape[1]), count)
    return nodes, weights, rng.uniform(0.1, 100.0, count), rng.normal(size=(count, 3))


def brute(x, nodes, weights, stiffness, blocked, target):
    """Energy and forces of one spring per point."""
    a, b, c, d, e, f = blocked.T
    matrix = np.array([[a, d, e], [d, b, f], [e, f, c]]).transpose(2, 0, 1)
    offset = np.einsum("pa,pai->pi", weights, x[nodes]) - target
    pull = stiffness[:, None] * np.einsum("pij,pj->pi", matrix, offset)
    force = np.zeros_like(x)
    np.add.at(force, nodes, -weights[:, :, None] * pull[:, None, :])
    return 0.5 * (pull * offset).sum(), force


@pytest.mark.parametrize("corners", [1, 4, 8])
@pytest.mark.parametrize("count", [1, 3, 500])
def test_they_pull_as_all_points_would(corners, count):
    elements = np.arange(3 * corners).reshape(3, corners)
    nodes, weights, stiffness, target = points_in(elements, count, count + corners)
    blocked = np.where(np.arange(count)[:, None] % 2 == 0, FREE, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    springs = pin_springs(nodes, weights, stiffness, blocked, np.full(count, LEAST)).towards(target)
    assert len(springs.stiffness) <= min(count, 2 * 3 * corners)
    energies = []
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=(3 * corners, 3))
        force = np.zeros_like(x)
        energy = pulled(x, springs, force)
        expected, expected_force = brute(x, nodes, weights, stiffness, blocked, target)
        np.testing.assert_allclose(force, expected_force, atol=1e-9 * np.abs(expected_force).max())
        energies.append(energy - expected)
    # What contradicting targets keep is a number that no displacement changes.
    assert np.ptp(energies) < 1e-9 * abs(expected)


def test_points_of_one_place_say_nothing_about_the_rest_of_their_element():
    nodes = np.tile(np.arange(4, dtype=np.int32), (9, 1))
    weights = np.tile([0.1, 0.2, 0.3, 0.4], (9, 1))
    made = pin_springs(nodes, weights, np.ones(9), np.tile(FREE, (9, 1)), np.full(9, LEAST))
    assert len(made.springs.stiffness) == 1
    targets = np.random.default_rng(0).normal(size=(9, 3))
    spring = made.towards(targets)
    scale = spring.weights[0] @ weights[0] / (weights[0] @ weights[0])
    np.testing.assert_allclose(spring.target[0], scale * targets.mean(axis=0), atol=1e-12)


def test_without_points_there_are_no_springs():
    nothing = np.zeros(0)
    none = pin_springs(
        np.zeros((0, 4), np.int32), np.zeros((0, 4)), nothing, np.zeros((0, 6)), nothing
    )
    assert len(none.towards(np.zeros((0, 3))).stiffness) == 0


def test_hard_points_that_are_close_together_do_not_make_nodes_leap():
    """Two points a hair apart that are led apart: soft ones say so, hard ones leave the difference to the material."""
    weights = np.array([[0.25, 0.25, 0.25, 0.25], [0.27, 0.23, 0.25, 0.25]])
    nodes, both = np.tile(np.arange(4, dtype=np.int32), (2, 1)), np.tile(FREE, (2, 1))
    soft, hard = (
        pin_springs(nodes, weights, np.ones(2), both, np.full(2, least)).springs
        for least in (LEAST, LEAST_HARD)
    )
    assert (len(soft.stiffness), len(hard.stiffness)) == (2, 1)
