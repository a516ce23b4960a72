"""Products, preconditioner and conjugate gradients against dense algebra."""

from typing import NamedTuple

import numpy as np
import pytest
from beams import beam_hexes, beam_tets, end_nodes
from scipy.linalg import block_diag, null_space
from scipy.sparse import bsr_matrix

from jellycage.sim.contact.rows import NO_CONTACTS
from jellycage.sim.materials import Corotated
from jellycage.sim.maths.quaternions_kernels import matrix_of
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.cage import Cage
from jellycage.sim.soft.constraints import constraint_rows, joined_rows, projection
from jellycage.sim.soft.elasticity import add_stiffness, energy_and_forces, points_at_rest
from jellycage.sim.soft.matrix_pattern import matrix_pattern
from jellycage.sim.soft.pins import Pin
from jellycage.sim.soft.points import embedded_points, node_points
from jellycage.sim.soft.system import system_of
from jellycage.sim.solvers import conjugate_gradients_kernels as kernels
from jellycage.sim.solvers.coarse_space import coarse_space
from jellycage.sim.solvers.coarse_space_kernels import turn_groups
from jellycage.sim.solvers.conjugate_gradients_kernels import Matrix
from jellycage.toolkit.compile_kernels import njit

pytestmark = pytest.mark.slow

# These are called by kernels only, and would be Python here.
residual_norm = kernels.residual_norm
dot, multiply, solve = njit(kernels.dot), njit(kernels.multiply), njit(kernels.solve)
precondition, invert_diagonal = njit(kernels.precondition), njit(kernels.invert_diagonal)
find_diagonal = njit(kernels.find_diagonal)

TURN = np.array(matrix_of(0.5, 0.1, -0.7, 0.5)).reshape(3, 3)
MANY = 100_000


def pins_of(name, tets):
    """Pins of a beam of tets: nodes, points inside tets that share nodes, or both."""
    rng = np.random.default_rng(0)
    inside = embedded_points(tets, rng.integers(0, 30, 7), rng.dirichlet(np.ones(4), 7))
    return {
        "free": [],
        "fixed": [Pin(node_points([0, 1, 2, 5])), Pin(node_points([30]), normal=[0, 1, 0])],
        "basis": [Pin(inside), Pin(node_points([33]), along=[1, 2, 3])],
        "both": [Pin(inside, normal=[1, 1, 0]), Pin(node_points([0, 1, 30, 31]))],
    }[name]


every_constraint = pytest.mark.parametrize("pins", ["free", "fixed", "basis", "both"])


class Work(NamedTuple):
    """What `solve` uses of the solver's scratch."""

    inverse: np.ndarray
    r: np.ndarray
    z: np.ndarray
    p: np.ndarray
    ap: np.ndarray
    part_sums: np.ndarray


class Linear:
    """A, M and the constraints of one body, as a time step makes them, with dense twins."""

    def __init__(self, body, x, pins=(), weight=None):
        n, pattern = len(body.mass), body.pattern
        self.part = body.part
        self.weight = np.full(n, 20.0) if weight is None else weight
        rows = joined_rows(
            [constraint_rows(p.points, p.directions, np.arange(len(p.points))) for p in pins]
        )
        self.c = projection(rows, n)
        self.H = np.zeros((len(rows), 3 * n))
        self.H[rows.row_of_entries(), rows.dof] = rows.weight

        points = points_at_rest(len(body.elements.volumes))
        energy_and_forces(body, x, points, np.zeros((n, 3)))
        blocks = np.zeros(9 * len(pattern.column))
        add_stiffness(body, x, points, "twist", blocks)
        blocks.reshape(-1, 9)[pattern.start[:-1, None], [0, 4, 8]] += self.weight[:, None]
        self.a = Matrix(pattern.start, pattern.column, blocks)

        self.inverse, _ = inverted_diagonal(self.a)
        self.coarse = coarse_space(system_of([body]), self.weight, self.c.fixed)
        turn_groups(self.coarse, x)
        self.A = dense(self.a)
        self.free = null_space(self.H) if len(self.H) else np.eye(3 * n)
        """An orthonormal basis of the motions that the pins allow, (3n, f)."""

    def work(self):
        sums = np.zeros((self.part.max() + 1, 10))
        return Work(self.inverse, *(np.zeros(len(self.A)) for _ in range(4)), sums)

    def solved(self, b, x, tolerance=1e-12, floor=0.0, most=MANY, coarse=None):
        """The solution from x, and what `solve` returns."""
        out, coarse = x.copy(), coarse or self.coarse
        ends = tolerance, floor, most
        return out, solve(
            self.a, NO_CONTACTS, coarse, self.c, self.part, b, *ends, out, self.work()
        )

    def preconditioned(self, r):
        z = np.zeros(len(r))
        precondition(self.coarse, self.c, self.inverse, r, z)
        return z

    def residual_norm(self, residual):
        return residual_norm(self.coarse, self.c, self.inverse, residual, self.work())

    def without_coarse_part(self):
        return self.coarse._replace(inverse=np.zeros_like(self.coarse.inverse))


def inverted_diagonal(a):
    """Inverses of the diagonal blocks, and sqrt of the trace."""
    diagonal = np.full((len(a.start) - 1, 6), np.nan)
    find_diagonal(a, NO_CONTACTS, diagonal)
    out = np.full(9 * len(diagonal), np.nan)
    return out, invert_diagonal(diagonal, out)


def dense(a):
    upper = bsr_matrix((a.blocks.reshape(-1, 3, 3), a.column, a.start)).toarray()
    return np.triu(upper) + np.triu(upper, 1).T


def bent_beam(pins="free"):
    """A system of a beam that is bent, turned and in four groups."""
    nodes, tets = beam_tets(6, 3, 3)
    body = SoftBody(Cage(nodes, tets), Corotated(1e3, 0.3))
    x = nodes + 0.1 * np.sin(2.0 * nodes[:, [1, 0, 0]])
    weight = 10.0 + 30.0 * np.random.default_rng(1).random(len(nodes))
    return Linear(body, x @ TURN.T, pins_of(pins, tets), weight)


@pytest.fixture(scope="module")
def systems():
    """Systems by the name of their pins, each made once."""
    return {pins: bent_beam(pins) for pins in ("free", "fixed", "basis", "both")}


def test_the_systems_have_the_constraints_that_their_names_say(systems):
    found = {name: (s.c.fixed.any(), len(s.c.basis_start) > 1) for name, s in systems.items()}
    assert found == {
        "free": (False, False),
        "fixed": (True, False),
        "basis": (False, True),
        "both": (True, True),
    }
    assert all(len(s.coarse.turn) == 4 for s in systems.values()), "groups"


def vectors(system, seed=2):
    """A right-hand side and a start."""
    return np.random.default_rng(seed).normal(size=(2, len(system.A)))


def test_products_are_those_of_the_dense_matrix():
    rng = np.random.default_rng(3)
    for node_count, corners in ((4, 4), (23, 4), (30, 8)):
        elements = np.array([rng.permutation(node_count)[:corners] for _ in range(node_count)])
        pattern = matrix_pattern(elements, node_count)
        blocks = rng.normal(size=(len(pattern.column), 3, 3))
        blocks[pattern.start[:-1]] += blocks[pattern.start[:-1]].swapaxes(1, 2)
        a = Matrix(pattern.start, pattern.column, blocks.ravel())
        x, out = rng.normal(size=3 * node_count), np.full(3 * node_count, np.nan)
        multiply(*a, x, out)
        np.testing.assert_allclose(out, dense(a) @ x, atol=1e-12)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 7, 8, 30])
def test_the_dot_product_leaves_nothing_out(size):
    a, b = np.random.default_rng(size).normal(size=(2, size))
    assert dot(a, b) == pytest.approx(a @ b, abs=1e-13)


def test_diagonal_blocks_are_inverted_and_the_trace_is_returned(systems):
    a, A = systems["free"].a, systems["free"].A
    out, scale = inverted_diagonal(a)
    assert scale == pytest.approx(np.sqrt(np.trace(A)), rel=1e-13)
    for i, inverse in enumerate(out.reshape(-1, 3, 3)):
        block = A[3 * i : 3 * i + 3, 3 * i : 3 * i + 3]
        np.testing.assert_allclose(inverse @ block, np.eye(3), atol=1e-12)


def test_singular_diagonal_blocks_get_a_positive_stand_in():
    line = np.outer([1.0, 2.0, 0.0], [1.0, 2.0, 0.0])
    blocks = np.stack([line, np.zeros((3, 3)), np.diag([2.0, 0.0, 4.0])])
    out, _ = inverted_diagonal(Matrix(np.arange(4), np.arange(3), blocks.ravel()))
    expected = [np.diag([1.0, 0.25, 1.0]), np.eye(3), np.diag([0.5, 1.0, 0.25])]
    np.testing.assert_allclose(out.reshape(3, 3, 3), expected)


@every_constraint
def test_the_preconditioner_is_symmetric_and_positive_where_motion_is_free(systems, pins):
    system = systems[pins]
    Z = system.free
    M = Z.T @ np.stack([system.preconditioned(z) for z in Z.T], axis=1)
    scale = np.abs(M).max()
    np.testing.assert_allclose(M, M.T, atol=1e-13 * scale)
    assert np.linalg.eigvalsh(M)[0] > 1e-6 * scale


@every_constraint
def test_the_preconditioner_is_diagonal_part_plus_coarse_part(systems, pins):
    system = systems[pins]
    m, Z = system.coarse, system.free
    size = len(m.r)
    W = np.zeros((len(system.A), size))
    for i, group in enumerate(m.group):
        turn = m.turn[group].reshape(3, 3)
        for k in range(4):
            column = 12 * group + 3 * k
            W[3 * i : 3 * i + 3, column : column + 3] = m.mode[i, k] * turn
    whole = block_diag(*system.inverse.reshape(-1, 3, 3))
    whole += W @ m.inverse.reshape(size, size) @ W.T
    for r in (Z @ Z.T @ vectors(system)[0], Z[:, 3]):
        expected = Z @ Z.T @ whole @ r
        z = np.zeros(len(r))
        product = precondition(m, system.c, system.inverse, r, z)
        np.testing.assert_allclose(z, expected, atol=1e-11 * np.abs(expected).max())
        assert product == pytest.approx(r @ expected, rel=1e-10)


@every_constraint
def test_the_solution_is_that_of_dense_algebra(systems, pins):
    system = systems[pins]
    b, x = vectors(system)
    Z, A = system.free, system.A
    expected = x + Z @ np.linalg.solve(Z.T @ A @ Z, Z.T @ (b - A @ x))
    found, (iterations, _, _) = system.solved(b, x)
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
    assert 0 < iterations < len(A)
    if pins == "free":
        np.testing.assert_allclose(found, np.linalg.solve(A, b), atol=1e-9)


@every_constraint
def test_the_solution_keeps_to_the_constraints_after_any_number_of_iterations(systems, pins):
    system = systems[pins]
    b, x = vectors(system)
    for most in (0, 1, 5, 30):
        found, (iterations, _, _) = system.solved(b, x, most=most)
        assert iterations == most
        assert np.abs(system.H @ (found - x)).max(initial=0.0) < 1e-11
    np.testing.assert_array_equal(system.solved(b, x, most=0)[0], x)


@every_constraint
@pytest.mark.parametrize("tolerance", [1e-1, 1e-4])
def test_the_solver_stops_at_the_tolerance_and_not_before(systems, pins, tolerance):
    system = systems[pins]
    b, x = vectors(system)

    def norm(y):
        return system.residual_norm(b - system.A @ y)

    found, (iterations, first, last) = system.solved(b, x, tolerance)
    assert first == pytest.approx(norm(x), rel=1e-10)
    assert last == pytest.approx(norm(found), rel=1e-6)
    assert last <= tolerance * first
    _, (_, _, not_yet) = system.solved(b, x, tolerance, most=iterations - 1)
    assert not_yet > tolerance * first
    # The same norm as a floor stops it at the same place.
    again, (same, _, _) = system.solved(b, x, 0.0, floor=tolerance * first)
    assert same == iterations
    np.testing.assert_array_equal(again, found)


def test_the_residual_norm_is_that_of_the_preconditioner_on_free_motions(systems):
    system = systems["both"]
    b, _ = vectors(system)
    Z = system.free
    r = Z @ Z.T @ b
    found = system.residual_norm(b)
    M = Z.T @ np.stack([system.preconditioned(z) for z in Z.T], axis=1)
    assert found == pytest.approx(np.sqrt(Z.T @ r @ M @ Z.T @ r), rel=1e-11)


def test_a_solution_takes_no_iterations(systems):
    system = systems["fixed"]
    b, x = vectors(system)
    found, _ = system.solved(b, x)
    _, (iterations, _, _) = system.solved(b, found, floor=1e-6)
    assert iterations == 0
    x, result = system.solved(np.zeros_like(b), np.zeros_like(b))
    assert not x.any() and result == (0, 0.0, 0.0)


def long_beam(turn, weight=1e-3):
    nodes, hexes = beam_hexes(40, 2, 2, (20.0, 1.0, 1.0))
    body = SoftBody(Cage(nodes, hexes), Corotated(1e3, 0.3))
    pins = [Pin(node_points(end_nodes(nodes)[0]))]
    system = Linear(body, nodes @ turn.T, pins, np.full(len(nodes), weight))
    load = np.zeros_like(nodes)
    load[end_nodes(nodes)[1], 2] = -1.0
    return system, (load @ turn.T).ravel()


def test_the_coarse_space_saves_iterations_on_a_long_beam():
    system, b = long_beam(np.eye(3))
    x, (with_it, _, _) = system.solved(b, np.zeros_like(b), 1e-8)
    y, (without, _, _) = system.solved(
        b, np.zeros_like(b), 1e-8, coarse=system.without_coarse_part()
    )
    assert with_it < 0.6 * without
    np.testing.assert_allclose(x, y, atol=1e-5 * np.abs(x).max())


def test_a_turned_beam_takes_as_many_iterations_as_one_at_rest():
    counts, solutions = [], []
    for turn in (np.eye(3), TURN):
        system, b = long_beam(turn)
        x, (iterations, _, _) = system.solved(b, np.zeros_like(b), 1e-8)
        counts.append(iterations)
        solutions.append(x.reshape(-1, 3) @ turn)
    assert abs(counts[0] - counts[1]) <= 2
    np.testing.assert_allclose(*solutions, atol=1e-6 * np.abs(solutions[0]).max())


def test_groups_in_a_plane_are_no_obstacle():
    nodes, hexes = beam_hexes(1, 4, 4, (10.0, 1.0, 1.0))
    system = Linear(SoftBody(Cage(nodes, hexes), Corotated(1e3, 0.3)), nodes)
    b, x = vectors(system)
    found, _ = system.solved(b, x)
    np.testing.assert_allclose(found, np.linalg.solve(system.A, b), atol=1e-8 * np.abs(found).max())
    M = np.stack([system.preconditioned(unit) for unit in np.eye(len(b))], axis=1)
    assert np.linalg.eigvalsh((M + M.T) / 2)[0] > 0.0


@pytest.mark.parametrize("small", [1e-2, 1e-4])
def test_a_small_part_is_solved_as_well_as_the_large_one_beside_it(small):
    """In the norm of the whole it hardly counts: a crumb among pinned plates was left where the guess had put it."""
    nodes, tets = beam_tets(8, 3, 2)
    crumb, crumb_tets = beam_tets(2, 1, 1)
    cage = Cage(
        np.concatenate([nodes, small * crumb + [0.0, 0.0, 5.0]]),
        np.concatenate([tets, crumb_tets + len(nodes)]),
    )
    body = SoftBody(cage, Corotated(1e3, 0.3))
    system = Linear(body, np.array(cage.nodes), weight=1e4 * body.mass)
    b = np.random.default_rng(1).normal(size=len(system.A)) * np.repeat(body.mass, 3)
    exact = np.linalg.solve(system.A, b)
    found, _ = system.solved(b, np.zeros_like(b), tolerance=1e-3)
    for part in range(2):
        own = np.repeat(body.part == part, 3)
        away = np.linalg.norm((found - exact)[own])
        assert away < 1e-2 * np.linalg.norm(exact[own])
