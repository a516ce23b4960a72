"""The coarse space against its dense definition."""

import numpy as np
import pytest
from beams import beam_hexes, beam_tets
from scipy.linalg import block_diag
from scipy.sparse import bsr_matrix

from jellycage.sim.materials import Corotated
from jellycage.sim.maths.quaternions_kernels import matrix_of
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.cage import Cage
from jellycage.sim.soft.elasticity import add_stiffness, points_at_rest
from jellycage.sim.soft.system import system_of
from jellycage.sim.solvers.coarse_space import (
    MOST_GROUPS,
    NODES_PER_GROUP,
    coarse_space,
    node_groups,
)
from jellycage.sim.solvers.coarse_space_kernels import (
    add_coarse,
    coarse_matrix,
    invert_semidefinite,
    turn_groups,
)

TURN = np.array(matrix_of(0.5, 0.1, -0.7, 0.5)).reshape(3, 3)


def bodies():
    flat = beam_hexes(1, 4, 4, (10.0, 1.0, 1.0))  # each half of its nodes lies in a plane
    turn = np.array(matrix_of(np.cos(0.1), 0.0, np.sin(0.1), 0.0)).reshape(3, 3)
    cages = {
        "one group": beam_tets(2, 2, 2),
        "tets": beam_tets(8, 3, 2),
        "hexes": beam_hexes(12, 2, 2),
        "planes": flat,
        "slanted planes": (flat[0] @ turn.T, flat[1]),
    }
    return {
        name: SoftBody(Cage(*cage), Corotated(1e3, 0.3), quadrature=8)
        for name, cage in cages.items()
    }


BODIES = bodies()
every_body = pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
SOLID = {name: body for name, body in BODIES.items() if "planes" not in name}
every_solid = pytest.mark.parametrize("body", SOLID.values(), ids=SOLID.keys())


def clamped(body):
    """Fixed dofs: the nodes at lowest x, and one coordinate of the last node."""
    fixed = np.zeros((len(body.mass), 3), bool)
    fixed[body.elements.nodes[:, 0] < body.elements.nodes[:, 0].min() + 1e-9] = True
    fixed[-1, 1] = True
    return fixed.ravel()


def rest_matrix(body, weight):
    """Stiffness at rest plus node weights, dense."""
    points, pattern = points_at_rest(len(body.elements.volumes)), body.pattern
    blocks = np.zeros(9 * len(pattern.column))
    add_stiffness(body, np.array(body.elements.nodes), points, "projected", blocks)
    upper = bsr_matrix((blocks.reshape(-1, 3, 3), pattern.column, pattern.start)).toarray()
    return np.triu(upper) + np.triu(upper, 1).T + np.diag(np.repeat(weight, 3))


def space_of(*bodies, weight=None, fixed=None):
    """The coarse space of a system of bodies, weights 1 and no dof fixed unless told otherwise."""
    n = sum(len(body.mass) for body in bodies)
    weight = np.ones(n) if weight is None else weight
    return coarse_space(
        system_of(bodies), weight, np.zeros(3 * n, bool) if fixed is None else fixed
    )


def inverse_of(space):
    """C as a matrix, shape (12g, 12g)."""
    sizes, at = np.diff(space.start), 0
    blocks = []
    for size in sizes:
        blocks.append(space.inverse[at : at + size * size].reshape(size, size))
        at += size * size
    assert at == len(space.inverse)
    return block_diag(*blocks)


def modes(space, fixed):
    """W, shape (3n, 12g): the modes with the fixed dofs left out."""
    W = np.zeros((len(fixed), len(space.r)))
    for i, (group, mode) in enumerate(zip(space.group, space.mode, strict=True)):
        for k in range(4):
            for axis in range(3):
                W[3 * i + axis, 12 * group + 3 * k + axis] = mode[k]
    W[fixed] = 0.0
    return W


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_groups_are_even_and_leave_no_node_out(count):
    nodes = np.random.default_rng(0).normal(size=(203, 3)) * [5.0, 1.0, 2.0]
    sizes = np.bincount(node_groups(nodes, count))
    assert len(sizes) == count and sizes.sum() == 203
    assert np.ptp(sizes) <= 1


def test_groups_of_a_long_body_are_slices_of_it():
    nodes = np.random.default_rng(1).random((400, 3)) * [1.0, 100.0, 2.0]
    group = node_groups(nodes, 8)
    extents = np.array([(nodes[group == g, 1].min(), nodes[group == g, 1].max()) for g in range(8)])
    extents = extents[np.argsort(extents[:, 0])]
    assert (extents[1:, 0] >= extents[:-1, 1]).all()


@every_body
def test_the_number_of_groups_follows_the_number_of_nodes(body):
    n, space = len(body.mass), space_of(body)
    count = len(space.r) // 12
    assert len(space.turn) == count and space.start.tolist() == [0, 12 * count]
    assert count == space.group.max() + 1 and count & (count - 1) == 0
    assert count <= max(1, min(MOST_GROUPS, n // NODES_PER_GROUP)) < 2 * count


@every_body
def test_modes_are_the_affine_motions_of_a_group(body):
    nodes, space = body.elements.nodes, space_of(body)
    for g in range(space.group.max() + 1):
        mode, x = space.mode[space.group == g], nodes[space.group == g]
        offset = x - x.mean(axis=0)
        radius = np.sqrt((offset**2).sum(axis=1).mean())
        np.testing.assert_allclose(
            mode, np.column_stack([np.ones(len(x)), offset / radius]), atol=1e-12
        )


@every_solid
@pytest.mark.parametrize("is_clamped", [False, True])
def test_the_coarse_inverse_is_that_of_the_dense_matrix(body, is_clamped):
    n = len(body.mass)
    weight = 10.0 * np.random.default_rng(2).random(n) + 5.0
    fixed = clamped(body) if is_clamped else np.zeros(3 * n, bool)
    space = space_of(body, weight=weight, fixed=fixed)
    W, inverse = modes(space, fixed), inverse_of(space)
    dense = W.T @ rest_matrix(body, weight) @ W
    np.testing.assert_allclose(inverse @ dense, np.eye(len(dense)), atol=1e-8)
    np.testing.assert_array_equal(inverse, inverse.T)


@pytest.mark.parametrize("name", ["planes", "slanted planes"])
def test_groups_in_a_plane_lose_the_modes_that_they_cannot_tell_apart(name):
    body = BODIES[name]
    n = len(body.mass)
    weight, fixed = np.ones(n), np.zeros(3 * n, bool)
    space = space_of(body, weight=weight, fixed=fixed)
    W, inverse = modes(space, fixed), inverse_of(space)
    dense = W.T @ rest_matrix(body, weight) @ W
    assert len(dense) == 24 and np.linalg.matrix_rank(W, tol=1e-9) == 18
    assert (np.diag(inverse) > 0.0).sum() == 18
    assert_inverse_on_range(dense, inverse)


def assert_inverse_on_range(matrix, inverse):
    """A C A = A and C A C = C, with C symmetric and semi-definite."""
    scale = np.abs(matrix).max()
    np.testing.assert_array_equal(inverse, inverse.T)
    np.testing.assert_allclose(matrix @ inverse @ matrix, matrix, atol=1e-9 * scale)
    np.testing.assert_allclose(
        inverse @ matrix @ inverse, inverse, atol=1e-9 * np.abs(inverse).max()
    )
    values = np.linalg.eigvalsh(inverse)
    assert values[0] > -1e-12 * values[-1]


def test_a_body_held_everywhere_has_no_coarse_part():
    body = BODIES["tets"]
    assert not space_of(body, fixed=np.ones(3 * len(body.mass), bool)).inverse.any()


@pytest.mark.parametrize("rank", [0, 1, 5, 11, 12])
def test_a_semidefinite_matrix_is_inverted_on_its_range(rank):
    rng = np.random.default_rng(rank)
    factor = rng.normal(size=(12, rank))
    matrix = factor @ factor.T
    inverse = matrix.copy()
    invert_semidefinite(inverse)
    if rank == 12:
        np.testing.assert_allclose(inverse @ matrix, np.eye(12), atol=1e-8)
    if rank:
        assert_inverse_on_range(matrix, inverse)
    else:
        assert not inverse.any()
    assert (np.diag(inverse) > 0.0).sum() == rank


def test_the_coarse_matrix_is_the_dense_product():
    body = BODIES["tets"]
    rng = np.random.default_rng(3)
    n, pattern = len(body.mass), body.pattern
    blocks = rng.normal(size=(len(pattern.column), 3, 3))
    blocks[pattern.start[:-1]] += blocks[pattern.start[:-1]].swapaxes(1, 2)
    fixed = rng.random(3 * n) < 0.2
    space = space_of(body, fixed=fixed)
    W = modes(space, fixed)
    upper = bsr_matrix((blocks, pattern.column, pattern.start)).toarray()
    dense = W.T @ (np.triu(upper) + np.triu(upper, 1).T) @ W
    found = coarse_matrix(
        *(pattern.start, pattern.column, blocks.ravel(), np.arange(n)),
        *(space.group, space.mode, fixed, len(dense)),
    )
    np.testing.assert_allclose(found, dense, atol=1e-11 * np.abs(dense).max())


@pytest.mark.slow
@every_body
def test_groups_turn_with_the_body(body):
    nodes, space = body.elements.nodes, space_of(body)
    turn_groups(space, nodes @ TURN.T + [4.0, 5.0, 6.0])
    np.testing.assert_allclose(space.turn.reshape(-1, 3, 3) - TURN, 0.0, atol=1e-12)
    # Each group has its own rotation: here those of odd number stay at rest.
    is_still = space.group % 2 == 1
    turn_groups(space, np.where(is_still[:, None], nodes, nodes @ TURN.T))
    for g, found in enumerate(space.turn.reshape(-1, 3, 3)):
        np.testing.assert_allclose(found, np.eye(3) if g % 2 else TURN, atol=1e-12)


@pytest.mark.parametrize("is_clamped", [False, True])
@pytest.mark.parametrize("names", [["hexes"], ["hexes", "one group", "tets"]], ids=len)
def test_the_coarse_part_is_the_dense_product(names, is_clamped):
    bodies = [BODIES[name] for name in names]
    rng = np.random.default_rng(4)
    fixed = np.concatenate([clamped(body) for body in bodies]) & is_clamped
    space = space_of(*bodies, fixed=fixed)
    for g, q in enumerate(rng.normal(size=(len(space.turn), 4))):
        space.turn[g] = matrix_of(*(q / np.linalg.norm(q)))
    Q = block_diag(*(turn.reshape(3, 3) for turn in np.repeat(space.turn, 4, axis=0)))
    r, z = rng.normal(size=(2, len(fixed)))
    r[fixed] = 0.0
    W = modes(space, fixed)
    expected = z + W @ Q @ inverse_of(space) @ Q.T @ W.T @ r
    add_coarse(space, fixed, r, z)
    np.testing.assert_allclose(z, expected, atol=1e-12 * np.abs(expected).max())


def test_the_coarse_space_of_a_system_is_that_of_its_bodies():
    """One block of the inverse per body: what they have alone."""
    bodies = [BODIES[name] for name in ("hexes", "one group", "tets")]
    alone = [space_of(body) for body in bodies]
    together = space_of(*bodies)
    np.testing.assert_array_equal(
        inverse_of(together), block_diag(*(inverse_of(space) for space in alone))
    )
    np.testing.assert_array_equal(together.mode, np.concatenate([space.mode for space in alone]))
    first = np.cumsum([0, *(len(space.turn) for space in alone)])
    groups = [space.group + shift for space, shift in zip(alone, first, strict=False)]
    np.testing.assert_array_equal(together.group, np.concatenate(groups))


def test_parts_of_a_body_have_spaces_of_their_own():
    """As if they were bodies: a push on one is none on another, and a part of one tet is solved at once."""
    large, small = beam_tets(8, 3, 2), (np.eye(4, 3), np.array([[0, 1, 2, 3]]))
    small = small[0] + [0.0, 0.0, 5.0], small[1][:, [0, 2, 1, 3]]
    nodes = np.concatenate([large[0], small[0]])
    tets = np.concatenate([large[1], small[1] + len(large[0])])
    whole, *alone = (
        SoftBody(Cage(*cage), Corotated(1e3, 0.3)) for cage in ((nodes, tets), large, small)
    )
    space, expected = space_of(whole), space_of(*alone)
    for found, wanted in zip(space, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
    dense = rest_matrix(whole, np.ones(len(nodes)))
    z = np.zeros(3 * len(nodes))
    r = np.zeros(3 * len(nodes))
    r[-12:] = np.random.default_rng(5).normal(size=12)
    turn_groups(space, nodes)
    add_coarse(space, np.zeros(len(r), bool), r, z)
    np.testing.assert_allclose(z, np.linalg.solve(dense, r), atol=1e-9)
