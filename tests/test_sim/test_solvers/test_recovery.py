"""Helping a folded body must not push or spin it, and must leave alone what is only stretched."""

import numpy as np
import pytest
from beams import beam_tets
from stepping import OneBody

from jellycage import sim
from jellycage.sim.solvers.recovery_kernels import unfolded


@pytest.fixture
def rest():
    return beam_tets(3, 2, 2, size=(3.0, 1.0, 1.0))[0]


def masses(count, seed=0):
    return np.random.default_rng(seed).uniform(0.5, 2.0, count)


@pytest.mark.parametrize("seed", range(5))
def test_the_unfolded_shape_has_the_same_momenta(rest, seed):
    """Centre and angular momentum of a pull by mass: sums of m (goal - x) and m x cross (goal - x) are zero."""
    mass = masses(len(rest), seed)
    x = rest + np.random.default_rng(seed).normal(scale=[0.2, 1.0, 3.0][seed % 3], size=rest.shape)
    pull = mass[:, None] * (unfolded(x, rest, mass, np.zeros(len(x), np.int64), 1) - x)
    scale = (mass[:, None] * np.abs(x)).sum()
    np.testing.assert_allclose(pull.sum(axis=0), 0.0, atol=1e-12 * scale)
    np.testing.assert_allclose(np.cross(x, pull).sum(axis=0), 0.0, atol=1e-11 * scale)


def test_a_body_that_is_only_stretched_is_where_it_belongs(rest):
    stretch = np.array([[1.5, 0.3, 0.0], [0.0, 1.2, 0.4], [0.1, 0.0, 2.0]])
    x = rest @ stretch.T + [5.0, -3.0, 2.0]
    found = unfolded(x, rest, masses(len(x)), np.zeros(len(x), np.int64), 1)
    np.testing.assert_allclose(found, x, atol=1e-12)


@pytest.mark.parametrize("kept", [2, 1, 0], ids=["plane", "line", "point"])
def test_a_collapsed_body_is_to_have_its_rest_shape(rest, kept):
    x = rest.copy()
    x[:, kept:] = 0.0
    found = unfolded(x, rest, masses(len(x)), np.zeros(len(x), np.int64), 1)
    distance = np.linalg.norm(found[:, None] - found[None], axis=2)
    expected = np.linalg.norm(rest[:, None] - rest[None], axis=2)
    np.testing.assert_allclose(distance, expected, atol=1e-9)


def test_every_part_is_unfolded_on_its_own(rest):
    mass = masses(len(rest))
    x = rest + np.random.default_rng(1).normal(scale=0.3, size=rest.shape)
    alone = unfolded(x, rest, mass, np.zeros(len(x), np.int64), 1)
    both = unfolded(
        np.concatenate([x, x + 10.0]),
        np.concatenate([rest, rest]),
        np.concatenate([mass, mass]),
        np.repeat(np.arange(2), len(x)),
        2,
    )
    np.testing.assert_allclose(both, np.concatenate([alone, alone + 10.0]), atol=1e-9)


def test_a_sound_body_is_never_pulled():
    """Nothing shakes it, however much it swings."""
    body = sim.SoftBody(sim.Cage(*beam_tets(3, 2, 2)), sim.NeoHookean(1e4), spin=[3.0, 0.0, 0.0])
    run = OneBody(body, 0.02)
    for _ in range(50):
        run.step()
        assert run.memory["recovery_time"] == 0.0
