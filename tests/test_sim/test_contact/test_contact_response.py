"""Forces of contacts are gradients of an energy, never pull, stay in Coulomb's cone; the linear model bounds it."""

import numpy as np
import pytest

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
