"""Signed distances are those of the shapes, and a moving point meets a shape where its way enters it."""

import numpy as np
import pytest

from jellycage.sim.shapes.signed_distance_kernels import (
    KINDS,
    signed_distance,
    tangent_plane,
)

PLANE, SPHERE, BOX, CAPSULE = map(KINDS.index, ("plane", "sphere", "box", "capsule"))

SHAPES = {
    "plane": (PLANE, 0.0, 0.0, 0.0),
    "sphere": (SPHERE, 0.7, 0.0, 0.0),
    "box": (BOX, 0.9, 0.4, 0.6),
    "flat_box": (BOX, 1.0, 0.8, 0.01),
    "capsule": (CAPSULE, 0.3, 0.8, 0.0),
    "point": (SPHERE, 0.0, 0.0, 0.0),
    "segment": (CAPSULE, 0.0, 0.5, 0.0),
}
WIDE = (BOX, 20.0, 20.0, 1e-9)
SOLID = ["sphere", "box", "flat_box", "capsule"]


def distance(shape, x):
    return signed_distance(*SHAPES[shape], *map(float, x))[0]


def normal(shape, x):
    return np.array(signed_distance(*SHAPES[shape], *map(float, x))[1:])


def is_inside(shape, x):
    """Whether points (.., 3) are inside, from what the shapes are."""
    kind, a, b, c = SHAPES[shape]
    if kind == PLANE:
        return x[..., 2] < 0.0
    if kind == BOX:
        return (np.abs(x) < [a, b, c]).all(axis=-1)
    if kind == SPHERE:
        return np.linalg.norm(x, axis=-1) < a
    # A capsule is a cylinder and two balls.
    is_round = np.hypot(x[..., 0], x[..., 1]) < a
    ends = [np.linalg.norm(x - [0.0, 0.0, end], axis=-1) < a for end in (-b, b)]
    return (is_round & (np.abs(x[..., 2]) < b)) | ends[0] | ends[1]


def surface(shape, spacing):
    """Points of the surface, none further than `spacing` from some other."""
    kind, a, b, c = SHAPES[shape]
    if shape == "plane":
        u = np.arange(-1.6, 1.6, spacing)
        return np.stack(np.meshgrid(u, u, [0.0]), axis=-1).reshape(-1, 3)
    if kind == BOX:
        half, sides = np.array([a, b, c]), []
        for axis in range(3):
            lines = [np.linspace(-h, h, int(2 * h / spacing) + 2) for h in half]
            lines[axis] = half[axis] * np.array([-1.0, 1.0])
            sides.append(np.stack(np.meshgrid(*lines), axis=-1).reshape(-1, 3))
        return np.concatenate(sides)
    turns = np.linspace(0.0, 2.0 * np.pi, int(2 * np.pi * max(a, spacing) / spacing) + 2)
    tilts = np.linspace(0.0, np.pi, len(turns))
    turn, tilt = (array.ravel() for array in np.meshgrid(turns, tilts))
    ring = np.stack([np.cos(turn) * np.sin(tilt), np.sin(turn) * np.sin(tilt), np.cos(tilt)], 1)
    ball = a * ring
    if kind == SPHERE:
        return ball
    up = np.where(ball[:, 2:] >= 0.0, b, -b) * [0.0, 0.0, 1.0]
    turn, height = (v.ravel() for v in np.meshgrid(turns, np.arange(-b, b, spacing)))
    wall = np.stack([a * np.cos(turn), a * np.sin(turn), height], axis=1)
    return np.concatenate([ball + up, wall])


def samples(shape, count=300):
    """Points around, inside and on the surface of a shape, away from places with several nearest ones."""
    x = np.random.default_rng(0).uniform(-1.5, 1.5, (count, 3))
    return np.concatenate([x, 0.4 * x, surface(shape, 0.2)[::7] + 1e-3 * x[:1]])


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_distances_are_those_to_a_sampled_surface(shape):
    spacing = 0.02
    points, cloud = samples(shape), surface(shape, spacing)
    nearest = np.array([np.sqrt(((cloud - x) ** 2).sum(axis=1).min()) for x in points])
    found = np.array([distance(shape, x) for x in points])
    assert (np.abs(found) <= nearest + 1e-9).all()
    # A sample lies within half a diagonal of the nearest place, and the surface curves away from it.
    assert (nearest <= np.sqrt(found**2 + spacing**2) + 0.1 * spacing).all()
    assert ((found < 0.0) == is_inside(shape, points)).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_normals_are_unit_gradients_of_the_distance(shape):
    h, worst, compared = 1e-6, 0.0, 0
    for x in samples(shape):
        n = normal(shape, x)
        assert abs(np.linalg.norm(n) - 1.0) < 1e-12
        steps = h * np.eye(3)
        gradient = [(distance(shape, x + s) - distance(shape, x - s)) / (2 * h) for s in steps]
        # Between two equally near places the gradient jumps, and its difference is shorter than 1.
        if abs(np.linalg.norm(gradient) - 1.0) < 1e-4:
            worst, compared = max(worst, np.abs(n - gradient).max()), compared + 1
    assert compared > 300
    assert worst < 1e-3


@pytest.mark.parametrize("shape", SHAPES)
def test_a_normal_leads_to_the_surface(shape):
    """A step of minus the distance along the normal ends on the surface, from inside as from outside."""
    for x in samples(shape):
        d = distance(shape, x)
        assert abs(distance(shape, x - d * normal(shape, x))) < 1e-12


def test_distances_of_a_box_at_faces_edges_and_corners():
    half = np.array(SHAPES["box"][1:])
    assert distance("box", half + [0.3, 0.0, 0.0]) == pytest.approx(0.3)
    assert distance("box", half + [0.3, 0.4, 0.0]) == pytest.approx(0.5)
    assert distance("box", -half - [1.0, 2.0, 2.0]) == pytest.approx(3.0)
    assert distance("box", [0.0, 0.0, 0.0]) == pytest.approx(-half.min())
    assert distance("box", half) == 0.0
    assert distance("box", half * [1, 1, 0]) == 0.0
    np.testing.assert_allclose(normal("box", -half - 1.0), -np.ones(3) / np.sqrt(3.0))
    np.testing.assert_allclose(normal("box", [0.85, 0.1, 0.1]), [1.0, 0.0, 0.0])
    np.testing.assert_allclose(normal("box", [0.1, -0.39, 0.1]), [0.0, -1.0, 0.0])


@pytest.mark.parametrize(("shape", "x"), [("sphere", (0, 0, 0)), ("capsule", (0, 0, 0.2))])
def test_the_middle_of_round_shapes_has_a_normal(shape, x):
    assert distance(shape, x) == -SHAPES[shape][1]
    n = normal(shape, x)
    assert np.linalg.norm(n) == 1.0
    assert abs(distance(shape, np.array(x) + SHAPES[shape][1] * n)) < 1e-12


def met(shape, start, end, margin=0.01):
    """(is met, normal, place) of a way; shape: a name or (kind, a, b, c)."""
    way = [float(x) for x in (*start, *end)]
    is_met, *rest = tangent_plane(*SHAPES.get(shape, shape), *way, margin)
    return is_met, np.array(rest[:3]), np.array(rest[3:])


@pytest.mark.parametrize("end", [-0.005, -0.5, -50.0, -1e6])
def test_a_straight_way_through_a_thin_box_meets_its_near_side(end):
    is_met, n, place = met("flat_box", (0.3, 0.2, 1.0), (0.3, 0.2, end))
    assert is_met
    np.testing.assert_allclose(n, [0.0, 0.0, 1.0])
    # As near as the tracing goes: a billionth of the way.
    np.testing.assert_allclose(place, [0.3, 0.2, 0.01], atol=2e-9 * (1.0 - end))


def test_a_way_that_slides_over_a_face_within_the_margin_meets_it_where_it_ends():
    is_met, n, place = met("box", (-0.5, 0.0, 0.605), (0.5, 0.0, 0.605))
    assert is_met
    np.testing.assert_allclose(n, [0.0, 0.0, 1.0])
    np.testing.assert_allclose(place, [0.5, 0.0, 0.6], atol=1e-12)


def test_a_way_that_ends_beyond_the_margin_meets_nothing():
    assert not met("box", (-3.0, 0.0, 0.62), (3.0, 0.0, 0.62))[0]
    assert not met("sphere", (-3.0, 0.0, 0.701), (3.0, 0.0, 0.701), margin=1e-4)[0]
    assert met("sphere", (-3.0, 0.0, 0.699), (3.0, 0.0, 0.699), margin=1e-4)[0]


@pytest.mark.parametrize("rise", [1.0, 0.1, 0.01, 1e-3, 1e-4])
@pytest.mark.parametrize("shape", [SHAPES["plane"], WIDE], ids=["plane", "wide box"])
def test_a_way_at_a_shallow_angle_meets_what_it_enters(shape, rise):
    """It enters halfway, and ends below: in the plane, or under the box."""
    start, end = np.array([-5.0, 0.1, 10.0 * rise]), np.array([5.0, 0.1, -10.0 * rise])
    is_met, n, place = met(shape, start, end, margin=1e-6)
    assert is_met
    np.testing.assert_allclose(n, [0.0, 0.0, 1.0])
    np.testing.assert_allclose(place, [0.0, 0.1, 0.0], atol=1e-4)


def test_a_way_past_a_shape_is_not_met_where_it_was_near():
    """It grazes the face within the margin and ends far beyond the edge."""
    assert not met("box", (-0.8, 0.0, 0.605), (40.0, 0.0, 0.605))[0]
    assert not met("sphere", (-3.0, 0.0, 0.705), (3.0, 0.0, 0.705))[0]


def test_ways_that_miss_or_are_far_away_meet_nothing():
    for shape in SOLID:
        assert not met(shape, (5.0, 5.0, 5.0), (5.0, 5.0, -5.0))[0]
        assert not met(shape, (1e4, 0.0, 0.0), (1e4, 0.0, 1.0))[0]
        assert not met(shape, (0.0, 0.0, 2.0), (0.0, 0.0, 9.0))[0]  # away from it
    assert not met("plane", (0.0, 0.0, 1e4), (0.0, 0.0, 1e4 - 1.0))[0]


@pytest.mark.parametrize("shape", SOLID)
def test_a_point_that_starts_inside_meets_the_nearest_place(shape):
    start = np.array([0.02, 0.03, 0.004])
    for end in (start, start + [3.0, 0.0, 0.0], start - [0.0, 0.0, 3.0]):
        is_met, n, place = met(shape, start, end)
        assert is_met
        np.testing.assert_allclose(n, normal(shape, start))
        np.testing.assert_allclose(place, start - distance(shape, start) * n, atol=1e-12)


def test_a_way_without_length_is_met_within_the_margin_only():
    for height, expected in ((0.005, True), (0.02, False), (-1.0, True), (0.0, True)):
        is_met, n, place = met("plane", (2.0, 3.0, height), (2.0, 3.0, height))
        assert is_met == expected
        if expected:
            np.testing.assert_allclose(n, [0.0, 0.0, 1.0])
            np.testing.assert_allclose(place, [2.0, 3.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("shape", SOLID)
def test_random_ways_meet_a_shape_at_the_first_sample_inside(shape):
    rng = np.random.default_rng(1)
    start = rng.uniform(-2.0, 2.0, (400, 3))
    end = np.where(rng.random((400, 1)) < 0.5, 0.2, 1.0) * rng.uniform(-2.0, 2.0, (400, 3))
    share = np.linspace(0.0, 1.0, 4001)[:, None]
    hits = misses = 0
    for a, b in zip(start, end, strict=True):
        if is_inside(shape, a):
            continue
        way = a + share * (b - a)
        inside = is_inside(shape, way)
        is_met, n, place = met(shape, a, b, margin=1e-6)
        if inside.any():
            hits += 1
            assert is_met
            first = way[inside.argmax()]
            spacing = np.linalg.norm(b - a) / 4000
            assert np.linalg.norm(place - first) <= 1.01 * spacing + 1e-6
            assert abs(distance(shape, place)) < 1e-6
            assert (b - a) @ n < 1e-6  # it enters, it does not leave
        elif is_met:
            # Shorter than the samples' spacing inside.
            closest = min(distance(shape, x) for x in way)
            assert closest < np.linalg.norm(b - a) / 4000
        else:
            misses += 1
    assert hits > 30
    assert misses > 100
