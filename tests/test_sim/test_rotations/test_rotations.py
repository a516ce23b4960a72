"""Singular values, rotations and the way back from collapse against numpy and explicit positions."""

from itertools import permutations

import numpy as np
import pytest

from jellycage.sim.maths.quaternions_kernels import matrix_of, quaternion_of
from jellycage.sim.rotations.dapd_kernels import (
    BETA,
    collapse_pair,
    collapse_time,
    pair_gradient,
    undegenerate,
)
from jellycage.sim.rotations.isvd_kernels import ALPHA
from jellycage.sim.rotations.polar_kernels import polar_rotation
from jellycage.sim.rotations.svd_kernels import svd, svd_rotation

EXACT = 2e-14  # rounding of a dozen products of numbers near 1
START = (1.0, 0.0, 0.0, 0.0)
REST = np.array([[0.1, 0.0, 0.2], [1.1, 0.1, 0.0], [0.3, 0.9, -0.1], [0.2, 0.3, 1.2]])
"""A tet of positive volume, shape (4, 3)."""
INSCRIBED = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])
"""Four corners of a cube, no two of them neighbours."""


def flat(matrix):
    return tuple(np.asarray(matrix, float).ravel())


def square(nine):
    return np.array(nine).reshape(3, 3)


def random_rotation(rng):
    return square(matrix_of(*random_quaternion(rng)))


def random_quaternion(rng):
    q = rng.normal(size=4)
    return tuple(q / np.linalg.norm(q))


def with_stretches(rng, *stretches):
    return random_rotation(rng) @ np.diag(stretches) @ random_rotation(rng).T


def svd_cases():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=3), rng.normal(size=3)
    return {
        "random": list(rng.normal(size=(200, 3, 3))),
        "inverted": [with_stretches(rng, 1.5, 0.7, -0.3) for _ in range(50)],
        "identity": [np.eye(3), -np.eye(3), np.diag([1.0, -1.0, 1.0])],
        "rotations": [random_rotation(rng) for _ in range(20)],
        "two equal": [with_stretches(rng, 2.0, 2.0, 0.5), with_stretches(rng, 2.0, 0.5, 0.5)],
        "equal but for the sign": [with_stretches(rng, 1.0, 1.0, -1.0)],
        "rank 2": [with_stretches(rng, 1.0, 0.5, 0.0), np.diag([0.0, 1.0, 2.0])],
        "rank 1": [np.outer(a, b), np.outer(a, [0, 0, 1]), np.diag([0.0, 0.0, 3.0])],
        "rank 0": [np.zeros((3, 3))],
        "nearly rank 1": [with_stretches(rng, 1.0, 1e-9, -1e-10) for _ in range(20)],
        "tiny": list(1e-12 * rng.normal(size=(20, 3, 3))),
        "huge": list(1e12 * rng.normal(size=(20, 3, 3))),
        "of all sizes": [with_stretches(rng, 1e6, 1.0, 1e-6) for _ in range(20)],
        "triangular": [np.triu(rng.normal(size=(3, 3))), np.tril(rng.normal(size=(3, 3)))],
    }


SVD_CASES = svd_cases()
every_case = pytest.mark.parametrize("matrices", SVD_CASES.values(), ids=SVD_CASES.keys())


@every_case
def test_the_svd_has_two_rotations_and_a_sign(matrices):
    for f in matrices:
        u, s, v = svd(flat(f))
        u, s, v = square(u), np.array(s), square(v)
        expected = np.linalg.svd(f, compute_uv=False)
        size = expected[0]
        np.testing.assert_allclose(u @ np.diag(s) @ v.T, f, atol=EXACT * size)
        for rotation in (u, v):
            np.testing.assert_allclose(rotation.T @ rotation, np.eye(3), atol=EXACT)
            assert np.linalg.det(rotation) == pytest.approx(1.0, abs=EXACT)
        np.testing.assert_allclose(np.abs(s), expected, atol=EXACT * size)
        assert s[0] >= s[1] - EXACT * size and s[1] >= abs(s[2]) - EXACT * size
        if expected[2] > 1e-9 * size:
            assert np.sign(s[2]) == np.sign(np.linalg.det(f))
            assert s[1] > 0.0


def test_quaternions_and_matrices_are_the_same_rotations():
    rng = np.random.default_rng(1)
    axes = [np.roll([1.0, 0.0, 0.0, 0.0], i) for i in range(4)]
    for q in [*axes, *(random_quaternion(rng) for _ in range(200))]:
        r = square(matrix_of(*q))
        np.testing.assert_allclose(r.T @ r, np.eye(3), atol=EXACT)
        assert np.linalg.det(r) == pytest.approx(1.0, abs=EXACT)
        back = np.array(quaternion_of(flat(r)))
        np.testing.assert_allclose(back * np.sign(back @ q), q, atol=EXACT)


def test_a_quaternion_turns_the_right_way():
    half = 0.5 * np.pi / 3
    r = square(matrix_of(np.cos(half), 0.0, 0.0, np.sin(half)))
    np.testing.assert_allclose(r @ [1, 0, 0], [0.5, np.sqrt(0.75), 0.0], atol=EXACT)


def test_the_polar_rotation_is_that_of_the_svd_wherever_it_starts():
    rng = np.random.default_rng(2)
    gradients = [*rng.normal(size=(200, 3, 3)), *(random_rotation(rng) for _ in range(20))]
    gradients += [with_stretches(rng, 2.0, 1.0, 0.01) for _ in range(20)]
    for f in gradients:
        u, s, v = svd(flat(f))
        # Where s1 + s2 is small any rotation about the long axis is as good: the rounding grows as its inverse.
        slack = 1e-14 * (1.0 + s[0] / max(s[1] + s[2], 1e-6))
        expected = square(u) @ square(v).T
        for start in (START, (0.0, 1.0, 0.0, 0.0), random_quaternion(rng), random_quaternion(rng)):
            r, *q = polar_rotation(flat(f), *start)
            np.testing.assert_allclose(square(r), expected, atol=slack)
            assert r == matrix_of(*q)


def test_the_polar_rotation_is_exact_from_the_opposite_rotation():
    # Every half turn is a stationary point of tr(R^T F): one that Newton's method must not take for the maximum.
    f = np.diag([1.3, 0.9, 0.6])
    for start in np.eye(4):
        r, *_ = polar_rotation(flat(f), *start)
        np.testing.assert_allclose(square(r), np.eye(3), atol=EXACT)


def test_a_rotation_that_is_right_comes_back_to_the_last_bit():
    rng = np.random.default_rng(3)
    gradients = [
        with_stretches(rng, *(0.3 + 1.7 * rng.random(3))) @ random_rotation(rng) for _ in range(200)
    ]
    gradients += [with_stretches(rng, 1.5, 0.9, sign * 0.2) for sign in (-1, 1) for _ in range(50)]
    for f in gradients:
        _, *once = polar_rotation(flat(f), *random_quaternion(rng))
        _, *twice = polar_rotation(flat(f), *once)
        assert once == twice
        _, *svd_once = svd_rotation(flat(f))
        assert list(svd_rotation(flat(f))[1:]) == svd_once


def cubic(f0, f1):
    """Coefficients of det(f0 + t (f1 - f0)) - alpha, highest first."""
    times = np.array([0.0, 1.0, -1.0, 0.5])
    values = [np.linalg.det(f0 + t * (f1 - f0)) - ALPHA for t in times]
    return np.linalg.solve(np.vander(times, 4), values)


def test_the_collapse_time_is_the_first_root_of_the_cubic():
    rng = np.random.default_rng(4)
    kinds = {"root": 0, "none": 0, "several": 0}
    for _ in range(2000):
        f0, f1 = rng.normal(size=(2, 3, 3))
        t = collapse_time(flat(f0), flat(f1))
        if np.linalg.det(f0) <= ALPHA:
            assert t == 0.0
            continue
        roots = np.roots(cubic(f0, f1))
        real = np.sort(roots[np.abs(roots.imag) < 1e-7].real)
        real = real[(real > 0.0) & (real <= 1.0)]
        if len(real) == 0:
            kinds["none"] += 1
            assert t == 1.0
            continue
        kinds["root"] += 1
        kinds["several"] += len(real) > 1
        assert t == pytest.approx(real[0], abs=1e-9)
    assert min(kinds.values()) > 20


def test_the_collapse_time_of_straight_and_bent_paths():
    fall = collapse_time(flat(np.eye(3)), flat(np.diag([1.0, 1.0, -1.0])))
    assert fall == pytest.approx((1.0 - ALPHA) / 2.0, abs=1e-14)
    bent = collapse_time(flat(np.eye(3)), flat(np.diag([1.0, -1.0, -1.0])))  # c3 = 0
    assert bent == pytest.approx((1.0 - np.sqrt(ALPHA)) / 2.0, abs=1e-14)
    assert collapse_time(flat(np.eye(3)), flat(np.eye(3))) == 1.0


def rest_gradients(nodes):
    """Gradients of the corners of one tet, shape (1, 4, 3)."""
    return np.linalg.inv(np.column_stack([nodes, np.ones(4)]))[:3].T[None].copy()


def edges(x):
    """D_s of a tet with corners x (4, 3)."""
    return (x[1:] - x[0]).T


def touching_pair(x):
    """Feature pair of four points in a plane: a vertex in the triangle of the others, or two edges that cross.

    Also the distance to a change of the answer, in barycentric coordinates.
    """
    centred = x - x.mean(axis=0)
    plane = np.linalg.svd(centred)[2][:2]
    p = centred @ plane.T
    found, margin = [], np.inf
    for vertex in range(4):
        triangle = p[[c for c in range(4) if c != vertex]]
        inside = np.linalg.solve(np.vstack([triangle.T, np.ones(3)]), [*p[vertex], 1.0])
        margin = min(margin, np.abs(inside).min())
        if (inside > 0.0).all():
            found.append(1 + vertex)
    for partner in (1, 2, 3):
        k, m = (c for c in (1, 2, 3) if c != partner)
        along = np.column_stack([p[partner] - p[0], p[k] - p[m]])
        s, t = np.linalg.solve(along, p[k] - p[0])
        if 0.0 < s < 1.0 and 0.0 < t < 1.0:
            found.append(4 + partner)
    return found, margin


def test_the_collapse_pair_is_the_one_that_touches():
    # Tets a thousand times their rest size are flat to 1e-9 when alpha of the rest volume is left.
    rng = np.random.default_rng(5)
    seen = []
    for _ in range(400):
        nodes = rng.normal(size=(4, 3))
        if np.linalg.det(edges(nodes)) < 0.1:
            continue
        f0, f1 = 1e3 * rng.normal(size=(2, 3, 3))
        f0 *= np.sign(np.linalg.det(f0))
        f1 *= -np.sign(np.linalg.det(f1))
        roots = np.roots(cubic(f0, f1))
        t = min(r.real for r in roots if abs(r.imag) < 1e-9 and 0.0 < r.real < 1.0)
        found, margin = touching_pair(nodes @ (f0 + t * (f1 - f0)).T)
        if margin < 1e-3:
            continue
        assert found == [collapse_pair(flat(f0), flat(f1), rest_gradients(nodes), 0, 4)]
        seen += found
    assert set(seen) == set(range(1, 8)) and len(seen) > 100


def test_hexes_collapse_as_the_tet_inscribed_in_a_cube():
    rng = np.random.default_rng(6)
    g = rest_gradients(INSCRIBED)
    for pair in range(1, 8):
        of_tet, of_hex = (np.array(pair_gradient(g, 0, corners, pair)) for corners in (4, 8))
        np.testing.assert_allclose(of_hex, 4.0 * of_tet, atol=EXACT)
    for _ in range(100):
        f0, f1 = flat(np.eye(3)), flat(rng.normal(size=(3, 3)))
        assert collapse_pair(f0, f1, g, 0, 8) == collapse_pair(f0, f1, g, 0, 4)


def features(pair):
    """The corners (A, B) of a feature pair, B in an order that makes (A, B) an even permutation of 0..3."""
    first = (pair - 1,) if pair <= 4 else (0, pair - 4)
    for rest in permutations([c for c in range(4) if c not in first]):
        if np.linalg.det(np.eye(4)[[*first, *rest]]) > 0.0:
            return first, rest
    raise AssertionError


def collapse_direction(x, pair):
    """u of sec. 4.4.1 by cross products, with (x_A - x_B) . u = det D_s for both kinds of pair."""
    a, b = features(pair)
    if len(a) == 1:
        return -np.cross(x[b[1]] - x[b[0]], x[b[2]] - x[b[0]])
    return np.cross(x[a[1]] - x[a[0]], x[b[1]] - x[b[0]])


def displacement(w, h):
    """lambda of eqs. (4.7)-(4.11)."""
    r = 1.0 - w / h
    if w >= h:
        return 0.0
    return BETA * h * (2 * r**2 - r**3) if w >= 0.0 else BETA * h * r


def virtual_positions(x, pair):
    """Corners after eqs. (4.1)-(4.11), and (w, h)."""
    a, b = features(pair)
    u = collapse_direction(x, pair)
    length = np.linalg.norm(u)
    w = (x[a[0]] - x[b[0]]) @ u / length
    h = ALPHA * np.linalg.det(edges(REST)) / length
    moved = x.copy()
    moved[list(a)] += displacement(w, h) * u / length
    return moved, w, h


def virtual_gradient(f, pair):
    return undegenerate(flat(f), *pair_gradient(rest_gradients(REST), 0, 4, pair))


@pytest.mark.parametrize("pair", range(1, 8))
def test_the_virtual_shape_is_that_of_the_moved_corners(pair):
    rng = np.random.default_rng(pair)
    bands = {"sound": 0, "flat": 0, "inverted": 0}
    for scale in [*np.full(60, 0.3), *np.full(60, 1.0)]:
        f = scale * rng.normal(size=(3, 3))
        x = REST @ f.T
        a, b = features(pair)
        u = collapse_direction(x, pair)
        for i in a:
            for j in b:
                assert (x[i] - x[j]) @ u == pytest.approx(np.linalg.det(edges(x)), abs=1e-13)
        moved, w, h = virtual_positions(x, pair)
        bands["sound" if w >= h else "inverted" if w < 0.0 else "flat"] += 1
        expected = edges(moved) @ np.linalg.inv(edges(REST))
        is_defined, virtual = virtual_gradient(f, pair)
        assert is_defined
        np.testing.assert_allclose(square(virtual), expected, atol=1e-11 * np.abs(expected).max())
        assert np.linalg.det(square(virtual)) >= 0.9 * ALPHA
    assert min(bands.values()) > 5


@pytest.mark.parametrize("pair", range(1, 8))
def test_the_virtual_volume_is_alpha_at_the_threshold_and_positive_below(pair):
    g = np.array(pair_gradient(rest_gradients(REST), 0, 4, pair))
    f = with_stretches(np.random.default_rng(7), 1.3, 0.9, 0.7)
    normal = np.linalg.inv(f).T @ g  # along cof(F) g
    direction = np.outer(normal, g) / (normal @ normal)

    def at(share):
        """F with the pair's distance scaled: det is that share of det F and the direction of collapse is kept."""
        return f + (share - 1.0) * direction

    volume = np.linalg.det(f)
    assert np.linalg.det(at(0.3)) == pytest.approx(0.3 * volume)
    is_defined, virtual = virtual_gradient(at(ALPHA / volume), pair)
    assert is_defined and np.linalg.det(square(virtual)) == pytest.approx(ALPHA, rel=1e-12)
    for det in (0.9 * ALPHA, 0.5 * ALPHA, 0.0, -0.01, -1.0, -30.0):
        is_defined, virtual = virtual_gradient(at(det / volume), pair)
        assert is_defined and np.linalg.det(square(virtual)) > 0.5 * ALPHA
    # Collapsed and inverted: w + lambda is BETA h + (1 - BETA) w, on both sides of w = 0.
    _, virtual = virtual_gradient(at(-1.0 / volume), pair)
    assert np.linalg.det(square(virtual)) == pytest.approx(BETA * ALPHA + BETA - 1.0, rel=1e-12)


def test_the_displacement_is_smooth_in_the_distance():
    def shift(w):
        """lambda of diag(1, 1, w) along the third axis, where h = alpha."""
        return undegenerate((1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, w), 0.0, 0.0, 1.0)[1][8] - w

    def slope(w, step):
        return (shift(w + step) - shift(w)) / step

    step = 1e-7
    for w, expected, slant in ((ALPHA, 0.0, 0.0), (0.0, BETA * ALPHA, -BETA)):
        assert shift(w) == pytest.approx(expected, abs=1e-14)
        for side in (step, -step):
            # The curve bends by at most 4 BETA / h, so the slope over a step is off by 4 BETA step / h.
            bend = 4.0 * BETA * step / ALPHA
            assert shift(w + side) == pytest.approx(expected, abs=2.0 * BETA * step)
            assert slope(w, side) == pytest.approx(slant, abs=bend + 1e-8)
    between = np.linspace(0.0, ALPHA, 11)
    found = [shift(w) for w in between]
    np.testing.assert_allclose(found, [displacement(w, ALPHA) for w in between], atol=1e-15)


def test_the_size_of_the_pairs_gradient_does_not_matter():
    f, g = flat(np.diag([1.0, 1.2, -0.4])), np.array([0.3, -0.2, 0.8])
    _, virtual = undegenerate(f, *g)
    _, again = undegenerate(f, *(50.0 * g))
    np.testing.assert_allclose(again, virtual, rtol=1e-13)


def test_a_direction_that_is_undefined_is_said_to_be():
    rng = np.random.default_rng(8)
    for scale in (1e-6, 1.0, 1e6):
        line = flat(scale * np.outer(rng.normal(size=3), rng.normal(size=3)))
        for pair in range(1, 8):
            is_defined, same = virtual_gradient(line, pair)
            assert not is_defined and same == line
    assert not virtual_gradient(np.zeros((3, 3)), 1)[0]
    # A plane has a direction of collapse, unless the pair's own feature is what vanished.
    assert undegenerate(flat(np.diag([1.0, 1.0, 0.0])), 0.0, 0.0, 1.0)[0]
    assert not undegenerate(flat(np.diag([1.0, 1.0, 0.0])), 1.0, 0.0, 0.0)[0]
