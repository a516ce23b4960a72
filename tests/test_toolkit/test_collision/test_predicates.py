from fractions import Fraction

import numpy as np
import pytest

from jellycage.toolkit.collision.predicates_kernels import (
    accurate_volume,
    side_of_face,
    turn_about,
    turn_of_edges,
    volume_sign,
)
from jellycage.toolkit.compile_kernels import njit

S = Fraction(1, 10**60)
SHIFT = [S, S**2, S**3]  # smaller than anything that doubles of these sizes can differ by

signs = {
    "volume": njit(lambda a, b, c, d: volume_sign(a, b, c, d)),
    "accurate": njit(lambda a, b, c, d: accurate_volume(a, b, c, d)),
    "side": njit(lambda a, b, c, d, shift: side_of_face(a, b, c, d, shift)),
    "edges": njit(lambda a, b, c, d: turn_of_edges(a, b, c, d)),
    "turn": njit(lambda points, vertices: turn_about(points, 0, vertices, 0, 1, 1)),
}


def exact(point, shift=None):
    return [Fraction(float(x)) + (s if shift else 0) for x, s in zip(point, SHIFT, strict=True)]


def exact_volume(a, b, c, d):
    u, v, w = ([x - y for x, y in zip(p, a, strict=True)] for p in (b, c, d))
    return (
        w[0] * (u[1] * v[2] - u[2] * v[1])
        + w[1] * (u[2] * v[0] - u[0] * v[2])
        + w[2] * (u[0] * v[1] - u[1] * v[0])
    )


def sign(value):
    return (value > 0) - (value < 0)


def nearly_flat_tets(count):
    """Four points in one plane but for rounding, or exactly in it, of all sizes and in all places."""
    rng = np.random.default_rng(0)
    for i in range(count):
        points = rng.normal(size=(4, 3)) * 10.0 ** rng.integers(-6, 7)
        points += rng.normal(size=3) * 10.0 ** rng.integers(-6, 7)
        if i % 4 == 0:
            points[3] = rng.dirichlet([1.0] * 3) @ points[:3]
        elif i % 4 == 1:
            points = rng.integers(-2, 3, (4, 3)).astype(float)
        elif i % 4 == 2:
            points[3] = points[0] + (points[2] - points[1]) * rng.choice([0.0, 0.5, 1.0])
        else:
            points[:, rng.integers(3)] = points[0, 0]
        yield tuple(map(tuple, points.tolist()))


def test_volume_signs_are_exact():
    flat = 0
    for tet in nearly_flat_tets(2000):
        volume = exact_volume(*map(exact, tet))
        flat += volume == 0
        assert signs["volume"](*tet) == sign(volume)
        assert signs["accurate"](*tet) == pytest.approx(float(volume), rel=1e-11, abs=0.0)
    assert flat > 300


@pytest.mark.parametrize("shift", [1, -1])
def test_sides_of_faces_are_those_after_shifting_body_b(shift):
    for tet in nearly_flat_tets(1000):
        a, b, c, x = (exact(p, shift=(shift == 1) == (i == 3)) for i, p in enumerate(tet))
        assert signs["side"](*tet, shift) == sign(exact_volume(a, b, c, x))


def test_turns_of_edges_are_those_after_shifting_body_b():
    for tet in nearly_flat_tets(1000):
        volume = exact_volume(*(exact(p, shift=i > 1) for i, p in enumerate(tet)))
        assert signs["edges"](*tet) == sign(volume)


def test_turns_about_points_are_those_after_shifting_the_point():
    decided = 0
    for tet in nearly_flat_tets(2000):
        p, b, c = exact(tet[0], shift=True), exact(tet[1]), exact(tet[2])
        area = (b[1] - p[1]) * (c[2] - p[2]) - (b[2] - p[2]) * (c[1] - p[1])
        assert signs["turn"](np.array(tet[:1]), np.array(tet[1:])) == sign(area)
        b, c = (np.array(tet[i]) - tet[0] for i in (1, 2))
        decided += b[1] * c[2] == b[2] * c[1]
    assert decided > 100
