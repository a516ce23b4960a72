"""Forces and stiffness of whole bodies are derivatives of one energy, which does not see rigid motion."""

import numpy as np
import pytest
from beams import beam_hexes, beam_tets
from scipy.sparse import bsr_matrix

from jellycage.sim.materials import LAWS, Corotated, NeoHookean
from jellycage.sim.maths.quaternions_kernels import matrix_of
from jellycage.sim.rotations import ROTATIONS
from jellycage.sim.rotations.dapd_kernels import pair_gradient, undegenerate
from jellycage.sim.rotations.isvd_kernels import ALPHA
from jellycage.sim.rotations.svd_kernels import svd_rotation
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.cage import Cage
from jellycage.sim.soft.degeneration_kernels import PATIENCE, RELEASE, SHRUNK, SOUND, STIFFEST
from jellycage.sim.soft.elasticity import (
    DIFFERENTIALS,
    add_stiffness,
    determinants,
    energy_and_forces,
    follow_degeneration,
    points_at_rest,
)

YOUNG, POISSON = 50.0, 0.3
# Central differences with steps of 1e-6 m on bodies of about 1 m: truncation 1e-11, rounding 1e-10 of the whole.
STEP, FROM_DIFFERENCES = 1e-6, 1e-7
TURN = np.array(matrix_of(0.5, 0.1, -0.7, 0.5)).reshape(3, 3)
STRETCH = TURN @ np.diag([1.06, 1.1, 1.03])
"""An affine map at which the exact Hessian of every material is positive."""


def cages():
    tets, cubes = beam_tets(2, 1, 1, (1.0, 0.5, 0.5)), beam_hexes(2, 1, 1, (1.0, 0.5, 0.5))
    shaken = cubes[0] + np.random.default_rng(0).uniform(-0.06, 0.06, cubes[0].shape)
    return {
        "tets": ((shaken, tets[1]), 1),
        "cubes": (cubes, 1),
        "bricks": (beam_hexes(2, 1, 1, (2.0, 0.4, 0.7)), 1),
        "distorted hexes": ((shaken, cubes[1]), 1),
        "eight points": ((shaken, cubes[1]), 8),
    }


CAGES = cages()
every_cage = pytest.mark.parametrize("cage", CAGES)
every_material = pytest.mark.parametrize("kind", LAWS, ids=lambda kind: kind.__name__)


def body_of(cage, kind=Corotated, **changes):
    (nodes, elements), quadrature = CAGES[cage]
    young = YOUNG * np.linspace(1.0, 2.0, len(elements))
    return SoftBody(Cage(nodes, elements), kind(young, POISSON), quadrature=quadrature, **changes)


def one_tet(kind=Corotated, **changes):
    nodes = np.array([[0.1, 0.0, 0.2], [1.1, 0.1, 0.0], [0.3, 0.9, -0.1], [0.2, 0.3, 1.2]])
    return SoftBody(Cage(nodes, [[0, 1, 2, 3]]), kind(YOUNG, POISSON), **changes)


def points_of(body):
    """The quadrature points of a body at rest."""
    return points_at_rest(len(body.elements.volumes))


def follow(points, body, x_from, x_to, dt):
    """`follow_degeneration` of points; how many are collapsed."""
    return follow_degeneration(body, x_from, x_to, dt, points._asdict())


def evaluated(body, x, points=None):
    """Energy, forces and the number of degenerate points at x."""
    force = np.zeros_like(x)
    energy, degenerate = energy_and_forces(body, x, points or points_of(body), force)
    return energy, force, degenerate


def stiffness(body, x, differential, points=None):
    """The assembled matrix, dense."""
    points = points or points_of(body)
    evaluated(body, x, points)
    pattern = body.pattern
    blocks = np.zeros(9 * len(pattern.column))
    add_stiffness(body, x, points, differential, blocks)
    upper = bsr_matrix((blocks.reshape(-1, 3, 3), pattern.column, pattern.start)).toarray()
    for i in range(0, len(upper), 3):
        corner = upper[i : i + 3, i : i + 3]
        np.testing.assert_allclose(corner, corner.T, atol=1e-12 * np.abs(upper).max())
    return np.triu(upper) + np.triu(upper, 1).T


def differences(function, x):
    """Derivative of function(x) by every coordinate, as the last axis."""
    columns = []
    for unit in np.eye(x.size).reshape(-1, *x.shape):
        ahead, behind = function(x + STEP * unit), function(x - STEP * unit)
        columns.append((ahead - behind) / (2.0 * STEP))
    return np.stack(columns, axis=-1)


def assert_forces_match(body, x, points=None):
    force = evaluated(body, x, points)[1].ravel()
    found = -differences(lambda y: np.float64(evaluated(body, y, points)[0]), x)
    np.testing.assert_allclose(force, found, atol=FROM_DIFFERENCES * np.abs(force).max())


def shaken(body, amount, seed=1, scale=(1.0, 1.0, 1.0)):
    """The body scaled, turned, and its nodes moved by random amounts [m]."""
    nodes = np.array(body.elements.nodes) * scale
    return nodes @ TURN.T + np.random.default_rng(seed).uniform(-amount, amount, nodes.shape)


@every_material
@every_cage
@pytest.mark.parametrize("height", [1.0, -0.6], ids=["bent", "inverted"])
def test_forces_are_the_slope_of_the_energy(cage, kind, height):
    body = body_of(cage, kind, rotation_method="isvd")
    x = shaken(body, 0.1, scale=(1.0, 1.0, height))
    assert (np.sign(determinants(body, x)) == np.sign(height)).all()
    assert_forces_match(body, x)


@every_material
@every_cage
def test_the_projected_stiffness_is_the_slope_of_the_forces_where_that_is_positive(cage, kind):
    body = body_of(cage, kind)
    x = np.array(body.elements.nodes) @ STRETCH.T
    if cage in ("tets", "eight points"):  # without hourglass modes the shape need not be affine
        x += np.random.default_rng(2).uniform(-2e-3, 2e-3, x.shape)
    found = -differences(lambda y: evaluated(body, y)[1].ravel(), x)
    K = stiffness(body, x, "projected")
    np.testing.assert_allclose(K, found, atol=FROM_DIFFERENCES * np.abs(K).max())


@every_material
@every_cage
@pytest.mark.parametrize("differential", DIFFERENTIALS)
def test_every_differential_is_positive_and_lets_bodies_move(cage, kind, differential):
    body = body_of(cage, kind)
    for amount in (0.0, 0.1, 0.6):
        K = stiffness(body, shaken(body, amount), differential)
        values = np.linalg.eigvalsh(K)
        assert values[0] > -1e-12 * values[-1]
        ways = np.tile(np.eye(3), (len(body.mass), 1))
        assert np.abs(K @ ways).max() < 1e-12 * values[-1]
    # At rest all are the exact stiffness: rigid motions are the only ones without force.
    values = np.linalg.eigvalsh(stiffness(body, shaken(body, 0.0), differential))
    assert (np.abs(values[:6]) < 1e-12 * values[-1]).all() and values[6] > 1e-4 * values[-1]


@pytest.mark.parametrize(
    ("stretches", "is_near"),
    [
        ((1.1, 0.9, 0.6), True),
        ((1.1, 0.9, 0.4), False),
        ((0.75, 0.7, 0.6), False),
        ((2.1, 0.9, 0.52), False),
        ((1.9, 1.4, 0.8), False),
        ((1.1, 0.9, -0.3), False),
    ],
)
def test_negative_eigenvalues_count_by_their_size_far_from_rest(stretches, is_near):
    body = one_tet(NeoHookean)
    f = TURN @ np.diag(stretches)
    x = np.array(body.elements.nodes) @ f.T
    values, vectors = np.linalg.eigh(body.material.hessian(f[None])[0])
    assert values[0] < 0.0
    # dF_ij by component i of corner a is g_aj.
    slope = np.einsum("aj,ik->ijak", body.elements.gradients[0], np.eye(3)).reshape(9, 12)
    kept = {"projected": np.maximum(values, 0.0), "twist": np.abs(values)}
    kept["hybrid"] = kept["twist"] = kept["projected" if is_near else "twist"]
    for differential, filtered in kept.items():
        found = stiffness(body, x, differential)
        expected = body.elements.volumes[0] * slope.T @ (vectors * filtered) @ vectors.T @ slope
        np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())


@every_cage
def test_all_differentials_agree_at_rest(cage):
    body = body_of(cage)
    K = stiffness(body, shaken(body, 0.0), "projected")
    for differential in ("hybrid", "twist"):
        found = stiffness(body, shaken(body, 0.0), differential)
        np.testing.assert_allclose(found, K, atol=1e-12 * np.abs(K).max())


@pytest.mark.parametrize("scale", [0.5, 0.9, 1.1, 1.25])
def test_the_twist_differential_is_exact_where_all_stretches_are_the_same(scale):
    body = body_of("tets")
    x = scale * np.array(body.elements.nodes) @ TURN.T
    K = stiffness(body, x, "projected")
    np.testing.assert_allclose(stiffness(body, x, "twist"), K, atol=1e-12 * np.abs(K).max())


@pytest.mark.parametrize("amount", [0.05, 0.3, 2.0], ids=["small", "large", "beyond one"])
def test_the_hybrid_differential_is_that_of_the_thesis(amount):
    # Thesis on interactive co-rotational FEM, eqs. (3.19)-(3.23), one displacement after the other.
    body = one_tet()
    nodes, (g,), (volume,) = body.elements.nodes, body.elements.gradients, body.elements.volumes
    rng = np.random.default_rng(3)
    f = TURN @ (
        np.eye(3) + amount * np.diag([0.9, -0.4, 1.3]) + 0.1 * amount * rng.normal(size=(3, 3))
    )
    f *= np.sign(np.linalg.det(f))
    u, _, vt = np.linalg.svd(f)
    R = u @ vt
    mu, lam = (float(p) for p in body.material.lame())
    gamma = min(np.abs(np.diag(R.T @ f - np.eye(3))).sum() / 3, 1.0)
    assert (gamma == 1.0) == (amount == 2.0)
    expected = np.zeros((12, 12))
    for i, dx in enumerate(np.eye(12).reshape(12, 4, 3)):
        dF = dx.T @ g
        turned = R.T @ dF
        first = 2 * mu * dF + lam * np.trace(turned) * R
        second = mu * R @ (turned + turned.T) + lam * np.trace(turned) * R
        dP = gamma * first + (1 - gamma) * second
        expected[:, i] = (volume * g @ dP.T).ravel()
    K = stiffness(body, np.array(nodes) @ f.T, "hybrid")
    np.testing.assert_allclose(K, expected, atol=1e-12 * np.abs(expected).max())


@every_material
@every_cage
@pytest.mark.parametrize("seed", range(4))
def test_elastic_forces_push_and_turn_nothing_as_a_whole(cage, kind, seed):
    body = body_of(cage, kind, rotation_method="isvd")
    x = shaken(body, 0.15 * (1 + seed), seed)
    force = evaluated(body, x)[1]
    size = np.linalg.norm(force, axis=1).sum()
    assert np.abs(force.sum(axis=0)).max() < 1e-13 * size
    arm = x - x.mean(axis=0)
    torque = np.cross(arm, force).sum(axis=0)
    assert np.abs(torque).max() < 1e-12 * size * np.abs(arm).max()


@every_material
@every_cage
def test_rigid_motion_costs_nothing(cage, kind):
    body = body_of(cage, kind)
    x = np.array(body.elements.nodes) @ TURN.T + [3.0, -2.0, 1.0]
    energy, force, degenerate = evaluated(body, x)
    assert abs(energy) < 1e-13 * YOUNG and degenerate == 0
    assert np.abs(force).max() < 1e-13 * YOUNG
    np.testing.assert_allclose(determinants(body, x), 1.0, rtol=1e-13)


@every_material
@every_cage
def test_a_turned_body_has_the_same_energy_and_turned_forces(cage, kind):
    body = body_of(cage, kind)
    x = shaken(body, 0.1)
    energy, force, _ = evaluated(body, x)
    turned_energy, turned_force, _ = evaluated(body, x @ TURN.T)
    assert turned_energy == pytest.approx(energy, rel=1e-12)
    np.testing.assert_allclose(turned_force, force @ TURN.T, atol=1e-12 * np.abs(force).max())


@every_material
@every_cage
def test_bodies_far_away_feel_the_same_to_the_last_bit(cage, kind):
    # Positions in units of 2^-20 m are exact at a million metres: only a sum of large numbers would lose digits.
    body = body_of(cage, kind)
    x = np.round(shaken(body, 0.1) * 2**20) / 2**20
    energy, force, _ = evaluated(body, x)
    far_energy, far_force, _ = evaluated(body, x + [2.0**20, -(2.0**19), 2.0**20])
    assert far_energy == energy
    np.testing.assert_array_equal(far_force, force)


@every_material
def test_the_energy_is_that_of_the_material_times_volume(kind):
    body = body_of("eight points", kind)
    x, e = shaken(body, 0.1), body.elements
    f = np.einsum("qai,qaj->qij", np.repeat(x[e.corners], 8, axis=0), e.gradients)
    material = kind(np.repeat(body.material.young_modulus, 8), POISSON)
    expected = e.volumes @ material.energy_density(f)
    assert evaluated(body, x)[0] == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(determinants(body, x), np.linalg.det(f), rtol=1e-12)


@pytest.mark.parametrize("axes", [(0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1)])
def test_a_bent_brick_holds_the_energy_of_pure_bending(axes):
    # u = q (2X/hx)(2Y/hy) along x is bending about z: strain (2q/hx) (2Y/hy), energy E/2 V (2q/hx)^2 / 3, if the brick
    # is as wide along z as it then wants to be: less by Poisson's ratio where it is stretched.
    size, q = np.array([1.0, 0.4, 0.7]), 0.03
    nodes, hexes = beam_hexes(1, 1, 1, size)
    body = SoftBody(Cage(nodes, hexes), Corotated(YOUNG, POISSON))
    local = 2.0 * nodes / size - 1.0
    along, across = axes
    bent = np.array(nodes)
    bent[:, along] += q * local[:, along] * local[:, across]
    wide = 3 - along - across
    bent[:, wide] -= POISSON * q * size[wide] / size[along] * local[:, wide] * local[:, across]
    expected = YOUNG / 2 * np.prod(size) * (2 * q / size[along]) ** 2 / 3
    for x in (bent, bent @ TURN.T):
        assert evaluated(body, x)[0] == pytest.approx(expected, rel=1e-12)


def pushed(body, height):
    """Nodes of the tet with its last corner moved towards the middle of its face: det F is the height."""
    x = np.array(body.elements.nodes)
    middle = x[:3].mean(axis=0)
    x[3] = middle + height * (x[3] - middle)
    return x


def test_a_collapsed_point_remembers_its_pair_until_it_is_back():
    body = one_tet()
    points, dt = points_of(body), PATIENCE / 10
    seen = []
    for before, after in ((1.0, 0.2), (0.2, -0.3), (-0.3, -1.0), (-1.0, 0.05), (0.05, 0.15)):
        x = pushed(body, after)
        follow(points, body, pushed(body, before), x, dt)
        seen.append((int(points.collapse_pair[0]), round(float(points.degenerate_time[0] / dt), 9)))
        if points.collapse_pair[0]:
            # R is that of the virtual shape, in which the corner is above its face.
            f = np.einsum("ai,aj->ij", x, body.elements.gradients[0])
            g = pair_gradient(body.elements.gradients, 0, 4, points.collapse_pair[0])
            _, virtual = undegenerate(tuple(f.ravel()), *g)
            expected = svd_rotation(virtual)[0]
            np.testing.assert_allclose(matrix_of(*points.rotation[0]), expected, atol=1e-13)
    # The corner that goes through is number 4; the time is counted while det F is below alpha.
    assert seen == [(0, 0), (4, 1), (4, 2), (4, 3), (0, 0)]


def test_the_pair_is_the_one_of_the_way_and_not_of_the_end():
    body = one_tet()
    rest = np.array(body.elements.nodes)
    found = []
    for corner in range(4):
        points, x = points_of(body), rest.copy()
        others = rest[[c for c in range(4) if c != corner]].mean(axis=0)
        x[corner] += 1.5 * (others - rest[corner])
        follow(points, body, rest, x, 0.01)
        found.append(int(points.collapse_pair[0]))
    assert found == [1, 2, 3, 4]
    points, x = points_of(body), rest.copy()
    x[[0, 2]] += 1.5 * (rest[[1, 3]].mean(axis=0) - rest[[0, 2]].mean(axis=0))
    follow(points, body, rest, x, 0.01)
    assert points.collapse_pair[0] == 6
    # A second collapse on the way back and forth does not change it.
    follow(points, body, x, pushed(body, -2.0), 0.01)
    assert points.collapse_pair[0] == 6


@pytest.mark.parametrize("cage", ["cubes", "eight points"])
def test_hexes_collapse_and_come_back_too(cage):
    body = body_of(cage)
    points, rest = points_of(body), np.array(body.elements.nodes)
    flipped = rest * [1.0, 1.0, -0.5]
    follow(points, body, rest, flipped, 0.01)
    assert (points.collapse_pair == 7).all(), (
        "opposite edges of the inscribed tet come together along z"
    )
    np.testing.assert_allclose(
        np.abs(points.rotation), np.eye(4)[[0] * len(points.collapse_pair)], atol=1e-9
    )
    energy, force, degenerate = evaluated(body, flipped, points)
    assert degenerate == len(points.collapse_pair)
    lowest, highest = rest[:, 2] < 0.25, rest[:, 2] > 0.25
    assert force[lowest, 2].sum() < 0.0 < force[highest, 2].sum(), "pushes back through"
    follow(points, body, flipped, rest, 0.01)
    assert not points.collapse_pair.any() and not points.degenerate_time.any()


@every_material
def test_only_bodies_with_dapd_follow_degeneration(kind):
    for rotation, method in ROTATIONS.items():
        body = one_tet(kind, rotation_method=rotation)
        points = points_of(body)
        follow(points, body, pushed(body, 1.0), pushed(body, -1.0), PATIENCE)
        has_followed = [
            points.collapse_pair[0] == 4,
            points.degenerate_time[0] > 0.0,
            points.rotation[0, 0] != 1.0,
        ]
        assert has_followed == [method.FOLLOWS_COLLAPSE] * 3
        assert method.FOLLOWS_COLLAPSE == (rotation == "dapd")


def test_a_degenerate_point_keeps_its_rotation_and_is_linear():
    body = one_tet()
    points = points_of(body)
    x = pushed(body, -0.7)
    follow(points, body, pushed(body, 1.0), x, 0.01)
    kept = points.rotation.copy()
    assert_forces_match(body, x, points)
    np.testing.assert_array_equal(points.rotation, kept)
    # Linear forces: those half-way are the mean of those at the ends.
    other = x + np.random.default_rng(4).normal(scale=0.3, size=x.shape)
    ends = [evaluated(body, y, points)[1] for y in (x, other)]
    middle = evaluated(body, (x + other) / 2, points)[1]
    np.testing.assert_allclose(middle, sum(ends) / 2, atol=1e-12 * np.abs(ends).max())
    K = -differences(lambda y: evaluated(body, y, points)[1].ravel(), x)
    for differential in ("twist", "projected"):
        found = stiffness(body, x, differential, points)
        np.testing.assert_allclose(found, K, atol=FROM_DIFFERENCES * np.abs(K).max())


def test_an_undefined_direction_keeps_the_rotation():
    body = one_tet()
    points, rest = points_of(body), np.array(body.elements.nodes)
    points.rotation[0] = [0.5, 0.5, 0.5, 0.5]
    follow(points, body, rest, rest * [1.0, 0.0, 0.0], 0.01)
    assert points.collapse_pair[0] > 0
    np.testing.assert_array_equal(points.rotation[0], [0.5, 0.5, 0.5, 0.5])


@every_material
def test_a_point_is_rescued_after_patience_and_released_when_sound(kind):
    body = one_tet(kind)
    points, dt = points_of(body), PATIENCE / 4.5
    down, low, sound = pushed(body, -0.5), pushed(body, 0.9 * SOUND), pushed(body, 1.1 * SOUND)
    assert ALPHA < determinants(body, low)[0] < SOUND < determinants(body, sound)[0]

    def followed(x, times=1):
        for _ in range(times):
            follow(points, body, pushed(body, 1.0), x, dt)
        return int(points.collapse_pair[0]), float(points.degenerate_time[0] / dt)

    assert followed(down, 4) == (4, pytest.approx(4.0))
    # Within its patience a point is let go as soon as it is above alpha.
    assert followed(low) == (0, 0.0)
    assert followed(down, 6) == (4, pytest.approx(6.0))
    assert followed(low, 3) == (4, pytest.approx(6.0)), (
        "above alpha but not sound: no better, no worse"
    )
    assert followed(down) == (4, pytest.approx(7.0))
    assert followed(sound, 8) == (4, pytest.approx(7.0 - 8 * RELEASE))
    left = 4.5  # PATIENCE, at which it was let go
    assert followed(sound, 3) == (0, pytest.approx(left)), "the time above its patience is over"
    assert followed(down) == (4, pytest.approx(left + 1.0 + 4.5)), "what falls back has none left"


def test_a_point_that_shrank_is_told_from_one_that_was_flattened():
    body = one_tet(Corotated)
    points, rest = points_of(body), pushed(body, 1.0)
    for scale, pair in (([0.0, 1.0, 1.0], 0), ([0.0, 0.0, 1.0], SHRUNK), ([0.0] * 3, SHRUNK)):
        follow(points, body, rest, rest * scale, 0.0)
        assert (
            points.collapse_pair[0] // SHRUNK == pair // SHRUNK
            and points.collapse_pair[0] % SHRUNK > 0
        )


def assert_same_body(body, points, other, other_points, x):
    energy, force, degenerate = evaluated(body, x, points)
    expected_energy, expected_force, _ = evaluated(other, x, other_points)
    assert degenerate == 1
    assert energy == pytest.approx(expected_energy, rel=1e-11, abs=1e-12)
    np.testing.assert_allclose(force, expected_force, atol=1e-11 * np.abs(force).max())


@every_material
@pytest.mark.parametrize("shrunk", [0, SHRUNK])
@pytest.mark.parametrize("turns", [0.5, 1.5, 2.5, 6.5, 1000.5])
def test_a_rescuer_has_its_own_law_and_stiffens_with_time(kind, turns, shrunk):
    body = one_tet(kind)
    points = points_of(body)
    points.collapse_pair[:], points.degenerate_time[:] = 4 + shrunk, turns * PATIENCE
    points.rotation[:] = [0.8, 0.0, 0.6, 0.0]
    factor = min(2.0 ** max(turns - 1.0, 0.0), STIFFEST)
    is_in_frame = kind.kernels.NEEDS_ROTATION if turns < 1.0 else bool(shrunk)
    by_itself = kind if turns < 1.0 else NeoHookean
    other = one_tet(Corotated if is_in_frame else by_itself)
    other = SoftBody(other.asset, type(other.material)(factor * YOUNG, POISSON))
    framed = points_of(other)
    framed.collapse_pair[:], framed.rotation[:] = is_in_frame * 4, points.rotation
    for height in (-1.0, 0.05, 0.3, 1.2):
        x = pushed(body, height) @ TURN.T
        assert_same_body(body, points, other, framed, x)
        np.testing.assert_array_equal(points.rotation, [[0.8, 0.0, 0.6, 0.0]])
        for differential in DIFFERENTIALS:
            values = np.linalg.eigvalsh(stiffness(body, x, differential, points))
            assert values[0] > -1e-12 * values[-1]
    for differential in DIFFERENTIALS:
        soft, stiff = (
            np.linalg.eigvalsh(stiffness(body, pushed(body, 1.0), differential, p))[-1]
            for p in (None, points)
        )
        assert stiff > 0.99 * factor * soft


@every_material
def test_degenerate_points_are_counted(kind):
    body = body_of("tets", kind)
    x = shaken(body, 0.6)
    expected = (determinants(body, x) <= ALPHA).sum()
    assert evaluated(body, x)[2] == expected > 0
    assert evaluated(body, shaken(body, 0.0))[2] == 0
