"""The projection and the prescribed displacement against their dense definitions."""

import time

import numpy as np
import pytest

from jellycage.sim.soft.constraints import (
    can_be_met,
    constraint_rows,
    joined_rows,
    prescribed,
    projection,
    row_values,
    way_to,
)
from jellycage.sim.soft.constraints_kernels import project
from jellycage.sim.soft.pins import Pin
from jellycage.sim.soft.points import Points, embedded_points, node_points

# Rounding of the dense twins, whose smallest singular values are about 1e-3.
EXACT = 1e-11


def random_points(rng, node_count, count, corners=4, elements=None):
    """Points in random elements: more points than elements, so that many share nodes."""
    tets = [rng.permutation(node_count)[:corners] for _ in range(elements or count)]
    element = rng.integers(0, len(tets), count)
    return embedded_points(tets, element, rng.dirichlet(np.ones(corners), count))


def rows_of(*pins):
    return joined_rows(
        [constraint_rows(p.points, p.directions, np.arange(len(p.points))) for p in pins]
    )


def dense(rows, node_count):
    matrix = np.zeros((len(rows), 3 * node_count))
    matrix[rows.row_of_entries(), rows.dof] = rows.weight
    return matrix


def applied(made, vector):
    result = vector.copy()
    project(result, made.fixed, made.basis_start, made.basis_dof, made.basis_value)
    return result


def projector(made):
    """The projection as a matrix, one unit vector after the other."""
    return np.stack([applied(made, unit) for unit in np.eye(len(made.fixed))], axis=1)


def cases():
    rng = np.random.default_rng(2)
    slanted = rng.normal(size=3)
    fifty = embedded_points([[3, 1, 4, 6]], np.zeros(50, int), rng.dirichlet(np.ones(4), 50))
    flat = np.hstack([np.zeros((9, 1)), rng.dirichlet(np.ones(3), 9)])
    face = embedded_points([[3, 1, 4, 6]], np.zeros(9, int), flat)
    nodes = node_points([0, 3, 9])
    return {
        "nothing": (rows_of(), 4),
        "nodes": (rows_of(Pin(nodes)), 10),
        "the same nodes twice": (rows_of(Pin(nodes), Pin(nodes)), 10),
        "nodes on slanted lines": (rows_of(Pin(nodes, along=slanted)), 10),
        "a few points": (rows_of(Pin(random_points(rng, 12, 3))), 12),
        "points that overlap": (rows_of(Pin(random_points(rng, 12, 9))), 12),
        "fifty points in a tet": (rows_of(Pin(fifty)), 8),
        "nine points on a face": (rows_of(Pin(face)), 8),
        "slanted planes": (rows_of(Pin(random_points(rng, 9, 40), normal=slanted)), 9),
        "hexes": (rows_of(Pin(random_points(rng, 14, 7, corners=8), along=slanted)), 14),
        "all at once": (
            rows_of(
                Pin(fifty, normal=[1, 1, 0]),
                Pin(nodes, along=[0, 0, 1]),
                Pin(random_points(rng, 20, 8), along=slanted),
                Pin(random_points(rng, 20, 30, elements=2)),
            ),
            20,
        ),
    }


CASES = cases()
every_case = pytest.mark.parametrize(("rows", "node_count"), CASES.values(), ids=CASES.keys())


def test_a_row_is_one_direction_of_one_point():
    rng = np.random.default_rng(3)
    points, x = random_points(rng, 7, 6), rng.normal(size=(7, 3))
    directions, which = rng.normal(size=(2, 3)), [4, 1, 2]
    expected = [points.positions(x)[p] @ direction for p in which for direction in directions]
    rows = constraint_rows(points, directions, which)
    np.testing.assert_allclose(dense(rows, 7) @ x.reshape(-1), expected, rtol=1e-13)
    np.testing.assert_allclose(row_values(points.positions(x), directions, which), expected)


def test_zeros_are_left_out_of_the_rows():
    points = Points([[2, 5]], [[1.0, 0.0]])
    rows = constraint_rows(points, np.eye(3), [0])
    np.testing.assert_array_equal(rows.dof, [6, 7, 8])
    np.testing.assert_array_equal(rows.start, [0, 1, 2, 3])


@every_case
def test_the_projection_is_that_of_the_dense_matrix(rows, node_count):
    matrix = dense(rows, node_count)
    expected = np.eye(3 * node_count) - np.linalg.pinv(matrix, rcond=1e-9) @ matrix
    np.testing.assert_allclose(projector(projection(rows, node_count)), expected, atol=EXACT)


@every_case
def test_the_projection_is_symmetric_and_changes_nothing_the_second_time(rows, node_count):
    made = projection(rows, node_count)
    S = projector(made)
    np.testing.assert_allclose(S, S.T, atol=1e-14)
    np.testing.assert_allclose(S @ S, S, atol=1e-13)
    assert np.abs(dense(rows, node_count) @ S).max(initial=0.0) < EXACT
    assert not made.fixed[made.basis_dof].any()


def test_pinned_nodes_need_no_basis():
    made = projection(CASES["the same nodes twice"][0], 10)
    assert len(made.basis_value) == 0
    np.testing.assert_array_equal(np.flatnonzero(made.fixed.reshape(10, 3)[:, 0]), [0, 3, 9])


def test_fifty_points_in_a_tet_fix_its_nodes():
    made = projection(CASES["fifty points in a tet"][0], 8)
    assert len(made.basis_value) == 0
    np.testing.assert_array_equal(np.flatnonzero(made.fixed[2::3]), [1, 3, 4, 6])


def test_what_is_left_beside_fixed_nodes_is_one_short_vector():
    rows = rows_of(
        Pin(node_points([0, 1])),
        Pin(Points([[0, 1, 2, 3]], [[0.25] * 4]), normal=[0, 0, 1]),
    )
    made = projection(rows, 4)
    assert made.fixed.sum() == 6
    np.testing.assert_array_equal(made.basis_dof, [8, 11])
    np.testing.assert_allclose(np.abs(made.basis_value), np.sqrt(0.5))


def test_rows_that_all_but_repeat_each_other_do_not_spoil_the_projection():
    # Small remainders come first: taken in this order, rounding would be blown up by a million.
    rng = np.random.default_rng(4)
    weights = np.full((40, 4), 0.25) + np.geomspace(1e-9, 0.1, 40)[:, None] * rng.normal(
        size=(40, 4)
    )
    weights /= weights.sum(axis=1, keepdims=True)
    points = embedded_points([[0, 1, 2, 3]], np.zeros(40, int), weights)
    rows = rows_of(Pin(points, normal=rng.normal(size=3)))
    matrix = dense(rows, 4)
    expected = np.eye(12) - np.linalg.pinv(matrix, rcond=1e-9) @ matrix
    np.testing.assert_allclose(projector(projection(rows, 4)), expected, atol=EXACT)


@pytest.mark.parametrize("tiny", [1e-5, 1e-6, 3e-7, 3e-8, 1e-9])
def test_tiny_weights_never_cost_more_motions_than_there_are_rows(tiny):
    # Almost the node 0 itself: a bound too loose would fix it and the direction of the tiny rest as well.
    weights = [[1.0 - 3.0 * tiny, tiny, tiny, tiny]]
    made = projection(rows_of(Pin(Points([[0, 1, 2, 3]], weights))), 4)
    assert np.trace(projector(made)) == pytest.approx(9.0, abs=1e-9)


@every_case
def test_the_prescribed_displacement_is_the_smallest_of_the_least_squares(rows, node_count):
    matrix = dense(rows, node_count)
    wanted = np.random.default_rng(5).normal(size=len(rows))
    expected = np.linalg.lstsq(matrix, wanted, rcond=1e-9)[0]
    scale = np.abs(expected).max(initial=1.0)
    made = prescribed(rows, wanted, node_count)
    np.testing.assert_allclose(made, expected, atol=1e-9 * scale)


def test_pinned_nodes_are_taken_to_their_targets_to_the_last_digit():
    rng = np.random.default_rng(6)
    offsets = rng.normal(size=(3, 3))
    d = prescribed(CASES["nodes"][0], offsets.reshape(-1), 10).reshape(10, 3)
    np.testing.assert_allclose(d[[0, 3, 9]], offsets, rtol=1e-15)
    assert not d[[1, 2, 4, 5, 6, 7, 8]].any()


def test_a_prescribed_displacement_has_no_free_part():
    rows, node_count = CASES["all at once"]
    d = prescribed(rows, np.random.default_rng(7).normal(size=len(rows)), node_count)
    free = applied(projection(rows, node_count), d)
    assert np.abs(free).max() < 1e-11 * np.abs(d).max()


def test_a_cage_full_of_pinned_points_is_ready_in_two_seconds():
    rng = np.random.default_rng(8)
    rows = rows_of(Pin(random_points(rng, 400, 2000, elements=1200), normal=[1, 2, 3]))
    projection(CASES["nodes"][0], 10)  # compiles
    began = time.perf_counter()
    made = projection(rows, 400)
    assert time.perf_counter() - began < 2.0
    vector = rng.normal(size=1200)
    free = applied(made, vector)
    assert np.abs(dense(rows, 400) @ free).max() < EXACT
    assert made.fixed.sum() + len(made.basis_start) - 1 == np.linalg.matrix_rank(
        dense(rows, 400)[:, ::3]
    )


def test_contradicting_rows_are_met_halfway_and_never_wildly():
    """Several hard pins may claim one node for different places; the displacement stays that of least squares."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        nodes = rng.integers(0, 4, size=int(rng.integers(2, 14)))
        rows = constraint_rows(node_points(nodes), np.eye(3), np.arange(len(nodes)))
        wanted = rng.normal(size=len(rows)) * rng.choice([1e-9, 1.0, 1e3])
        if seed % 2:
            wanted[: len(wanted) // 2] = -wanted[len(wanted) - len(wanted) // 2 :]
        found = prescribed(rows, wanted, 4)
        dense = np.zeros((len(rows), 12))
        dense[rows.row_of_entries(), rows.dof] = rows.weight
        expected = np.linalg.lstsq(dense, wanted, rcond=None)[0]
        np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(wanted).max())
        # What no displacement can lessen must not be tried: its gradient is nothing but rounding.
        hopeless = wanted - dense @ expected
        left = np.abs(prescribed(rows, hopeless, 4)).max()
        assert left <= 1e-9 * np.abs(wanted).max()


def test_rows_that_nearly_determine_each_other_cannot_be_met():
    """Two points a hair apart in one tet that are led to different places would throw its nodes far away."""
    near = [[0.25, 0.25, 0.25, 0.25], [0.26, 0.24, 0.25, 0.25], [0.97, 0.01, 0.01, 0.01]]
    points = embedded_points(np.array([[0, 1, 2, 3]]), [0, 0, 0], near)
    rows = constraint_rows(points, np.eye(3), np.arange(3))
    np.testing.assert_array_equal(can_be_met(rows, 4), False)
    wanted = np.random.default_rng(0).normal(size=9)
    assert np.abs(prescribed(rows, wanted, 4)).max() > 20.0 * np.abs(wanted).max()
    apart = constraint_rows(points, np.eye(3), [0, 2])
    np.testing.assert_array_equal(can_be_met(apart, 4), True)
    np.testing.assert_array_equal(can_be_met(joined_rows([apart, apart]), 4), True)
    far = constraint_rows(node_points([7]), np.eye(3), [0])
    assert can_be_met(joined_rows([rows, far]), 8).tolist() == [False] * 9 + [True] * 3


def test_rows_that_tie_many_nodes_together_cannot_be_met():
    """However well they are placed: projecting on them would cost more than everything else."""
    chain = np.arange(100)[:, None] + np.arange(2)
    points = Points(chain, np.tile([0.8, 0.2], (100, 1)))
    met = can_be_met(constraint_rows(points, np.eye(3), np.arange(100)), 101)
    np.testing.assert_array_equal(met, False)
    few = can_be_met(constraint_rows(points, np.eye(3), np.arange(20)), 101)
    np.testing.assert_array_equal(few, True)


@every_case
def test_the_way_is_that_of_least_squares(rows, node_count):
    expected = np.linalg.pinv(dense(rows, node_count), rcond=1e-4)
    np.testing.assert_allclose(way_to(rows, node_count).toarray(), expected, atol=1e-9)


@pytest.mark.parametrize("apart", [1e-5, 1e-7, 1e-9, 0.0])
def test_points_a_hair_apart_that_are_led_apart_are_met_halfway(apart):
    """As are vertices that a file has twice, a last digit apart, in two groups."""
    weights = np.array([[0.1, 0.2, 0.3, 0.4], [0.1 + apart, 0.2 - apart, 0.3, 0.4]])
    points = embedded_points(np.array([[0, 1, 2, 3]]), [0, 0], weights)
    rows = constraint_rows(points, np.eye(3), np.arange(2))
    wanted = np.array([1.0, 0.0, 0.0, -1.0, 0.0, 2.0])
    d = way_to(rows, 4) @ wanted
    assert np.abs(d).max() < 5.0
    middle = 0.5 * (wanted[:3] + wanted[3:])
    np.testing.assert_allclose(dense(rows, 4) @ d, np.tile(middle, 2), atol=1e-4)
