"""Forces of contacts are gradients of an energy, never pull, stay in Coulomb's cone; the linear model bounds it."""

import numpy as np
import pytest
from contact_scenes import block
from scipy.sparse import bsr_matrix
from stepping import euler_increment

from jellycage import sim
from jellycage.sim.contact.response_kernels import (
    ContactRows,
    add_spring_forces,
    contact_block,
    contact_energy_and_forces,
    gap_and_slip,
    raise_multipliers,
    stabilise_positions,
    update_active_set,
)
from jellycage.sim.contact.rows import NO_CONTACTS, new_rows
from jellycage.sim.materials import LAWS
from jellycage.sim.soft.system import system_of
from jellycage.sim.solvers import conjugate_gradients_kernels as kernels
from jellycage.sim.solvers.conjugate_gradients_kernels import Matrix
from jellycage.sim.solvers.increments import joined_increments
from jellycage.sim.solvers.newton import Newton
from jellycage.toolkit.compile_kernels import njit

# These are called by kernels only, and would be Python here.
multiply_all, find_diagonal = njit(kernels.multiply_all), njit(kernels.find_diagonal)

CASES = {
    "free": dict(gap=0.5, slip=0.0, pressure=0.0),
    "pressed": dict(gap=-0.3, slip=0.0, pressure=3.0),
    "sticking": dict(gap=-0.3, slip=0.01, pressure=50.0),
    "slipping": dict(gap=-0.3, slip=0.9, pressure=0.5),
    "lifted with old pressure": dict(gap=0.2, slip=0.05, pressure=20.0),
    "without friction": dict(gap=-0.3, slip=0.9, pressure=3.0, friction=0.0),
    "raised": dict(gap=0.2, slip=0.1, pressure=20.0, raised=0.4),
}


def one_contact(gap, slip, pressure, friction=0.6, raised=0.0, stiffness=20.0, seed=0):
    """A contact of a point of a tet with a tilted plane; slip: length of d0."""
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=3)
    normal /= np.linalg.norm(normal)
    along = np.cross(normal, rng.normal(size=3))
    along /= np.linalg.norm(along)
    return ContactRows(
        rows=np.array([[4, 0, 2, 1]], np.int32),
        weights=rng.dirichlet(np.ones(4))[None],
        normal=normal[None],
        gap=np.array([gap]),
        raised=np.array([raised]),
        slip=(slip * along)[None],
        stiffness=np.array([stiffness]),
        friction=np.array([friction]),
        pressure=np.array([pressure]),
        slip_stiffness=np.zeros(1),
        is_active=np.zeros(1, bool),
        tolerance=np.array([1e-3]),
    )


def joined(*contacts):
    return ContactRows(*(np.concatenate(arrays) for arrays in zip(*contacts, strict=True)))


def energy_and_forces(rows, u):
    force = np.zeros_like(u)
    return contact_energy_and_forces(rows, u, force), force


def motion(seed=1, scale=0.02):
    return np.random.default_rng(seed).normal(scale=scale, size=(6, 3))


def force_on_point(rows, u):
    """Force that one contact puts on its point, from the forces on its nodes."""
    return energy_and_forces(rows, u)[1].sum(axis=0)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_forces_are_minus_the_gradient_of_the_energy(case):
    rows, u, h = one_contact(**case), motion(), 1e-6
    if case["gap"] > 0.0 and not case.get("raised"):
        assert gap_and_slip(rows, u, 0)[0] > 0.0
    force, expected = energy_and_forces(rows, u)[1], np.zeros_like(u)
    for index in np.ndindex(u.shape):
        step = np.zeros_like(u)
        step[index] = h
        upper, lower = (energy_and_forces(rows, u + s)[0] for s in (step, -step))
        expected[index] = -(upper - lower) / (2.0 * h)
    np.testing.assert_allclose(force, expected, atol=1e-7)


def test_forces_of_several_contacts_add_up():
    contacts = [one_contact(**case, seed=seed) for seed, case in enumerate(CASES.values())]
    u = motion()
    energies, forces = zip(*(energy_and_forces(t, u) for t in contacts), strict=True)
    energy, force = energy_and_forces(joined(*contacts), u)
    assert energy == pytest.approx(sum(energies))
    np.testing.assert_allclose(force, sum(forces), atol=1e-12)


def test_the_push_is_a_spring_that_never_pulls():
    for gap in np.linspace(-1.0, 1.0, 21):
        rows = one_contact(gap=gap, slip=0.0, pressure=0.0)
        push = force_on_point(rows, np.zeros((6, 3)))
        expected = 20.0 * max(-gap, 0.0) * rows.normal[0]
        np.testing.assert_allclose(push, expected, atol=1e-12)


def test_a_point_that_moves_away_is_let_go():
    rows = one_contact(gap=-0.1, slip=0.0, pressure=2.0)
    away = np.tile(0.11 * rows.normal[0], (6, 1))
    np.testing.assert_allclose(force_on_point(rows, away), 0.0, atol=1e-12)


def test_friction_is_coulombs():
    """Against the slip; k d as long as that is below mu N, then mu N."""
    for slip in np.linspace(0.0, 1.0, 21):
        rows = one_contact(gap=0.0, slip=slip, pressure=4.0)
        force = force_on_point(rows, np.zeros((6, 3)))
        assert abs(force @ rows.normal[0]) < 1e-12
        assert np.linalg.norm(force) == pytest.approx(min(20.0 * slip, 0.6 * 4.0), abs=1e-12)
        assert force @ rows.slip[0] <= 0.0


def test_gap_and_slip_of_a_moved_point():
    rows, u = one_contact(gap=0.3, slip=0.2, pressure=1.0, raised=0.1), motion()
    moved = (rows.weights[0][:, None] * u[rows.rows[0]]).sum(axis=0)
    gap, *slip = gap_and_slip(rows, u, 0)
    assert gap == pytest.approx(0.3 - 0.1 + moved @ rows.normal[0])
    across = moved - (moved @ rows.normal[0]) * rows.normal[0]
    np.testing.assert_allclose(slip, rows.slip[0] + across, atol=1e-14)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_springs_of_a_linear_solve_touch_the_energy_and_lie_above_it(case):
    """E(u) + forces and block make a quadratic Q with Q(u) = E(u), the same gradient, and Q >= E everywhere."""
    rows, u = one_contact(**case), motion()
    update_active_set(rows, u)  # pressures and grips of this u
    start, force = energy_and_forces(rows, u)
    model = np.zeros_like(u)
    add_spring_forces(rows, u, model)
    np.testing.assert_allclose(model, force, atol=1e-12)

    xx, yy, zz, xy, xz, yz = contact_block(rows, 0)
    block = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    rng = np.random.default_rng(2)
    for scale in (1e-3, 0.1, 1.0, 10.0):
        for _ in range(50):
            step = rng.normal(scale=scale, size=u.shape)
            moved = (rows.weights[0][:, None] * step[rows.rows[0]]).sum(axis=0)
            quadratic = start - (model * step).sum() + 0.5 * moved @ block @ moved
            if rows.is_active[0]:
                value = energy_and_forces(rows, u + step)[0]
                assert value <= quadratic + 1e-9 * max(1.0, quadratic)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_block_is_the_derivative_of_the_springs_forces(case):
    rows, u, h = one_contact(**case), motion(), 1e-3
    update_active_set(rows, u)
    xx, yy, zz, xy, xz, yz = contact_block(rows, 0)
    block = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    for axis in range(3):
        forces = []
        for sign in (1.0, -1.0):
            forces.append(np.zeros_like(u))
            add_spring_forces(rows, u + sign * h * np.eye(3)[axis], forces[-1])
        derivative = (forces[0] - forces[1]).sum(axis=0) / (2.0 * h)
        np.testing.assert_allclose(derivative, -block[axis], atol=1e-9)


def test_an_update_of_the_active_set_finds_pressure_and_grip():
    sticking = one_contact(gap=-0.5, slip=0.1, pressure=0.0)
    slipping = one_contact(gap=-0.5, slip=0.8, pressure=0.0, seed=1)
    free = one_contact(gap=0.5, slip=0.1, pressure=7.0, seed=2)
    rows = joined(sticking, slipping, free)
    assert update_active_set(rows, np.zeros((6, 3)))
    np.testing.assert_allclose(rows.pressure, [10.0, 10.0, 0.0])
    np.testing.assert_allclose(rows.slip_stiffness, [20.0, 0.6 * 10.0 / 0.8, 0.0])
    assert rows.is_active.tolist() == [True, True, False]
    assert not update_active_set(rows, np.zeros((6, 3)))  # nothing new


def test_planes_are_raised_until_a_loaded_point_ends_at_them():
    """A load p on a point with a well of stiffness w: the multipliers bring it to the plane, however soft k is."""
    rows = one_contact(gap=0.0, slip=0.0, pressure=0.0)
    load, well, k = 8.0, 5.0, rows.stiffness[0]
    normal, depth = rows.normal[0], None
    for _ in range(40):
        # Balance along the normal: -p - w z + k (raised - z) = 0.
        z = (k * rows.raised[0] - load) / (k + well)
        depth, u = -z, np.tile(z * normal, (6, 1))
        update_active_set(rows, u)
        if not raise_multipliers(rows, u):
            break
    assert abs(depth) <= rows.tolerance[0]
    assert rows.pressure[0] == pytest.approx(load, rel=0.01)


def test_a_plane_is_not_raised_for_a_point_within_its_tolerance():
    rows = one_contact(gap=-0.9e-3, slip=0.0, pressure=0.0)
    update_active_set(rows, np.zeros((6, 3)))
    assert not raise_multipliers(rows, np.zeros((6, 3)))
    assert rows.raised[0] == 0.0
    rows.gap[0] = -1.1e-3
    assert raise_multipliers(rows, np.zeros((6, 3)))
    assert rows.raised[0] == pytest.approx(1.1e-3)


def test_what_is_too_deep_is_moved_out_and_nothing_else():
    deep, shallow = one_contact(gap=-0.5, slip=0, pressure=0), one_contact(0.3, 0, 0, seed=3)
    rows = joined(deep, shallow)
    u = np.zeros((6, 3))
    stabilise_positions(rows, np.zeros(6), np.zeros((6, 3)), u)
    depths = [-(gap_and_slip(rows, u, c)[0] + rows.raised[c]) for c in range(2)]
    assert depths[0] <= rows.tolerance[0] + 1e-9
    assert depths[0] > 0.0  # no further than it must
    assert np.array_equal(u[[3, 5]], np.zeros((2, 3)))  # nodes without contacts
    np.testing.assert_allclose(np.cross(u, rows.normal[0]), 0.0, atol=1e-12)
    again = u.copy()
    stabilise_positions(rows, np.zeros(6), np.zeros((6, 3)), again)
    np.testing.assert_array_equal(again, u)


def test_moving_out_takes_the_smallest_change_of_the_nodes():
    """Of all changes that move the point by the depth the one with the least sum of squares is J^T times a number."""
    rows, u = one_contact(gap=-0.5, slip=0.0, pressure=0.0), np.zeros((6, 3))
    rows.tolerance[0] = 0.0
    stabilise_positions(rows, np.zeros(6), np.zeros((6, 3)), u)
    w = rows.weights[0]
    expected = 0.5 * (w / (w @ w))[:, None] * rows.normal[0]
    np.testing.assert_allclose(u[rows.rows[0]], expected, atol=1e-12)


# Contacts whose side b is soft too: weights below zero.

STENCILS = {
    "two bodies": [4, 0, 2, 1, 5, 7, 6, 9],
    "itself": [4, 0, 2, 1, 2, 3, 8, 0],
}
"""Rows of side a and then of side b; of a body with itself, some of them on both."""
ROWS = 10
every_stencil = pytest.mark.parametrize("nodes", STENCILS.values(), ids=STENCILS)


def soft_contact(nodes, seed=0, **case):
    """A contact of a point of one tet with a point of another."""
    contact = one_contact(**case, seed=seed)
    weights = np.random.default_rng(seed + 50).dirichlet(np.ones(4))
    return contact._replace(
        rows=np.array([nodes], np.int32),
        weights=np.concatenate([contact.weights, -weights[None]], axis=1),
    )


def jacobian(rows, count):
    """J of every contact: how displacements move side a against side b, shape (c, 3, 3n)."""
    J = np.zeros((len(rows.gap), 3, count, 3))
    for c, (nodes, weights) in enumerate(zip(rows.rows, rows.weights, strict=True)):
        for node, weight in zip(nodes, weights, strict=True):
            J[c, :, node] += weight * np.eye(3)
    return J.reshape(len(rows.gap), 3, 3 * count)


@every_stencil
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_forces_between_soft_things_are_slopes_of_the_energy_and_sum_to_zero(case, nodes):
    rows, h = soft_contact(nodes, **case), 1e-6
    u = np.random.default_rng(3).normal(scale=0.02, size=(ROWS, 3))
    force, expected = energy_and_forces(rows, u)[1], np.zeros_like(u)
    for index in np.ndindex(u.shape):
        step = np.zeros_like(u)
        step[index] = h
        upper, lower = (energy_and_forces(rows, u + s)[0] for s in (step, -step))
        expected[index] = -(upper - lower) / (2.0 * h)
    np.testing.assert_allclose(force, expected, atol=1e-7)
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-13 * max(np.abs(force).max(), 1.0))
    update_active_set(rows, u)
    springs = np.zeros_like(u)
    add_spring_forces(rows, u, springs)
    np.testing.assert_allclose(springs.sum(axis=0), 0.0, atol=1e-12)
    # Moving both sides together changes nothing.
    together = u + [3.0, -2.0, 1.0]
    np.testing.assert_allclose(
        energy_and_forces(rows, together)[1], energy_and_forces(rows, u)[1], atol=1e-12
    )


def linear_problem(nodes):
    """A sparse matrix, contacts with springs in all states, and the dense matrix of both."""
    rng = np.random.default_rng(6)
    start = np.append(np.arange(ROWS), ROWS).astype(np.int64)  # diagonal blocks only
    blocks = rng.normal(size=(ROWS, 3, 3))
    blocks = blocks @ blocks.swapaxes(1, 2) + 0.1 * np.eye(3)
    rows = joined(*(soft_contact(nodes, seed, **case) for seed, case in enumerate(CASES.values())))
    update_active_set(rows, rng.normal(scale=0.02, size=(ROWS, 3)))
    assert rows.is_active.any() and not rows.is_active.all() and (rows.slip_stiffness > 0.0).any()
    J = jacobian(rows, ROWS)
    springs = np.zeros((3 * ROWS, 3 * ROWS))
    for c in range(len(rows.gap)):
        xx, yy, zz, xy, xz, yz = contact_block(rows, c)
        springs += J[c].T @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ J[c]
    matrix = Matrix(start, np.arange(ROWS), blocks.ravel())
    dense = bsr_matrix((blocks, np.arange(ROWS), start)).toarray()
    return matrix, rows, dense, springs


@every_stencil
def test_products_with_contacts_are_those_of_a_dense_matrix(nodes):
    matrix, rows, dense, springs = linear_problem(nodes)
    p, out = np.random.default_rng(7).normal(size=3 * ROWS), np.full(3 * ROWS, np.nan)
    multiply_all(matrix, rows, p, out)
    expected = (dense + springs) @ p
    np.testing.assert_allclose(out, expected, atol=1e-12 * np.abs(expected).max())
    multiply_all(matrix, NO_CONTACTS, p, out)
    np.testing.assert_allclose(out, dense @ p, atol=1e-12 * np.abs(expected).max())


@every_stencil
def test_the_diagonal_of_contacts_is_that_of_the_dense_matrix_or_above_it(nodes):
    """Above it where a node is on both sides of a contact, which pulls it less than either of them."""
    matrix, rows, dense, springs = linear_problem(nodes)
    diagonal = np.full((ROWS, 6), np.nan)
    find_diagonal(matrix, rows, diagonal)
    is_on_both = np.isin(np.arange(ROWS), np.intersect1d(nodes[:4], nodes[4:]))
    assert is_on_both.any() == (nodes is STENCILS["itself"])
    for i, (xx, yy, zz, xy, xz, yz) in enumerate(diagonal):
        own = slice(3 * i, 3 * i + 3)
        more = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - (dense + springs)[own, own]
        if is_on_both[i]:
            assert np.linalg.eigvalsh(more)[0] > -1e-12 * np.abs(springs).max()
        else:
            np.testing.assert_allclose(more, 0.0, atol=1e-12 * np.abs(springs).max())


@every_stencil
def test_soft_things_that_are_too_deep_are_moved_apart(nodes):
    rows, u = soft_contact(nodes, gap=-0.5, slip=0.0, pressure=0.0), np.zeros((ROWS, 3))
    stabilise_positions(rows, np.zeros(ROWS), np.zeros((ROWS, 3)), u)
    depth = -gap_and_slip(rows, u, 0)[0]
    assert 0.0 < depth <= rows.tolerance[0] * (1.0 + 1e-9)
    np.testing.assert_allclose(np.cross(u, rows.normal[0]), 0.0, atol=1e-12)
    assert not u[np.setdiff1d(np.arange(ROWS), nodes)].any()


TIGHT = sim.SolverSettings(
    newton_iterations=60,
    newton_tolerance=1e-13,
    linear_iterations=3000,
    linear_tolerance=1e-10,
    stiffness="projected",
    precision=1e-16,
)
DT = 0.01


def solved_step(members, rows, settings=TIGHT):
    """Displacements of a weightless step of free bodies as one system, and how their momentum changes, (m, 3)."""
    system = system_of(members)
    states = sim.start_state(sim.Scene(members)).soft
    increments = [
        euler_increment(body, state, DT, gravity=(0.0, 0.0, 0.0))
        for body, state in zip(members, states, strict=True)
    ]
    newton = Newton(system, settings)
    newton.solve(joined_increments(increments, system), [state.memory for state in states], rows)
    changes = [
        (body.mass[:, None] * (newton.u[system.rows(number)] / DT - state.v)).sum(axis=0)
        for number, (body, state) in enumerate(zip(members, states, strict=True))
    ]
    return newton.u, np.array(changes)


def stencils(nodes, weights, normal, gap, stiffness, friction=0.5):
    """Contacts in parallel planes."""
    count = len(nodes)
    return new_rows(
        rows=np.array(nodes, np.int32),
        weights=np.array(weights, float),
        normal=np.tile(normal, (count, 1)),
        gap=np.full(count, gap),
        slip=np.zeros((count, 3)),
        stiffness=np.full(count, stiffness),
        friction=np.full(count, friction),
        tolerance=np.full(count, 1e-4),
    )


def collision(law=sim.Corotated):
    """Two blocks that fly at each other, and contacts of points of the one's foot with points under the other's top."""
    below = block("tets", law=law, young_modulus=1e5, velocity=(0.0, 0.0, 1.0))
    above = block(
        "hexes", (2, 1, 1), bottom=(0.1, 0.05, 1.001), young_modulus=3e5, velocity=(0.7, 0.0, -2.0)
    )
    foot = np.flatnonzero(above.elements.nodes[:, 2] < 1.01) + len(below.mass)
    top = [
        tet for tet in below.elements.corners if (below.elements.nodes[tet, 2] > 0.99).sum() == 3
    ]
    rng = np.random.default_rng(8)
    nodes, weights = [], []
    for tet in top:
        nodes.append([*rng.choice(foot, 4, replace=False), *tet])
        weights.append([*rng.dirichlet(np.ones(4)), *-rng.dirichlet(np.ones(4))])
    stiffness = 100.0 * below.mass.mean() / DT**2
    return [below, above], stencils(nodes, weights, [0.0, 0.0, 1.0], 0.001, stiffness)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_bodies_that_collide_hand_each_other_their_momentum(law):
    members, rows = collision(law)
    u, change = solved_step(members, rows)
    scale = np.abs(change).max()
    np.testing.assert_allclose(change.sum(axis=0), 0.0, atol=1e-7 * scale)
    pressed = rows.pressure > 0.0
    assert pressed.sum() >= 2
    # The one above is pushed up by the pressures, and held back by no more than friction allows.
    assert change[1, 2] / DT == pytest.approx(rows.pressure.sum(), rel=1e-6)
    assert -0.5 * rows.pressure.sum() * DT * (1.0 + 1e-6) <= change[1, 0] < 0.0
    gaps = [gap_and_slip(rows, u, c)[0] + rows.raised[c] for c in range(len(rows.gap))]
    assert min(gaps) > -1.001e-4
    free, none = solved_step(members, NO_CONTACTS)
    assert np.abs(none).max() < 1e-9 * scale
    assert np.abs(u - free).max() > 1e-3


def folded():
    """A block of which the top is drawn to its foot, and contacts of the one with the other that hold them apart."""
    body = block("tets", young_modulus=1e5, velocity=(1.0, 2.0, 3.0), spin=(0.0, 4.0, 0.0))
    z = body.elements.nodes[:, 2]
    nodes, weights = [], []
    rng = np.random.default_rng(9)
    for a, b in zip(*(np.flatnonzero(end) for end in (z > 0.99, z < 0.01)), strict=True):
        nodes.append([a, b, a, 13])  # node a is on both sides; the last is padding
        share = rng.uniform(0.6, 0.9)
        weights.append([1.0, -share, share - 1.0, 0.0])
    return body, stencils(nodes, weights, [0.0, 0.0, 1.0], -0.01, 1e3 * body.mass.mean() / DT**2)


@pytest.mark.parametrize("linear_iterations", [2, 3000])
def test_contacts_of_a_body_with_itself_do_not_move_it(linear_iterations):
    """Not even after a truncated solve, which is balanced as a whole."""
    body, rows = folded()
    settings = sim.SolverSettings(newton_iterations=1, linear_iterations=linear_iterations)
    u, (change,) = solved_step([body], rows, settings)
    assert (rows.pressure > 0.0).any()
    scale = rows.pressure.sum() * DT
    np.testing.assert_allclose(change, 0.0, atol=1e-10 * scale)
    assert np.abs(u - solved_step([body], NO_CONTACTS, settings)[0]).max() > 1e-3
