"""Distances and depths of cores against every pair of features and every axis."""

import numpy as np
import pytest
from core_oracles import ALL_PAIRS, KINDS, ROUND, Posed, distance, separation, two_bodies

from jellycage.sim.contact.convex.broad_kernels import turn_cores
from jellycage.sim.contact.convex.detection_kernels import meet_cores
from jellycage.sim.contact.convex.gjk_kernels import closest_of_cores, closest_of_segments
from jellycage.toolkit.compile_kernels import njit

pytestmark = pytest.mark.slow


@njit
def met(q, shapes, work, s, t, ox, oy, oz):
    turn_cores(q, shapes, work.turned, work.normals)
    return meet_cores(shapes, work, s, t, ox, oy, oz)


@njit
def both_ways(a, b, simplex, out_closed, out_searched):
    closed = closest_of_segments(a, 0, a.shape[0], b, 0, b.shape[0], 0.0, 0.0, 0.0, out_closed)
    searched = closest_of_cores(
        a, 0, a.shape[0], b, 0, b.shape[0], 0.0, 0.0, 0.0, simplex, out_searched
    )
    return closed, searched


def meet(scene, s=0, t=1):
    """(gap of the cores, points on both relative to the first body, normal)."""
    work = scene.detector.work
    offset = scene.p[t] - scene.p[s]
    gap = met(scene.q, scene.shapes, work, s, t, *offset)
    return gap, work.near[:2].copy(), work.near[2].copy()


def twins(scene):
    """Both cores in the frame of the first body."""
    a, b = (scene.bodies[k][0] for k in range(2))
    return Posed(a, scene.q[0]), Posed(b, scene.q[1], scene.p[1] - scene.p[0])


def is_overlapping(a, b):
    return len(a.triangles) + len(b.triangles) > 0 and separation(a, b) <= 0.0


@pytest.mark.parametrize("scale, offset", [(1.0, 0.0), (1e-3, 0.0), (1e3, 0.0), (1.0, 1e3)])
def test_distance_equals_that_of_the_nearest_features(scale, offset):
    rng = np.random.default_rng(3)
    apart_count = 0
    for kinds in ALL_PAIRS:
        for apart in (0.8, 1.5, 1.5, 2.0, 3.0, 3.0, 30.0):
            scene = two_bodies(rng, kinds, scale, apart, offset)
            a, b = twins(scene)
            if is_overlapping(a, b):
                continue
            apart_count += 1
            expected = distance(a, b)
            gap, near, normal = meet(scene)
            tolerance = 1e-9 * max(expected, scale)
            assert abs(gap - expected) < tolerance, kinds
            assert abs(normal @ normal - 1.0) < 1e-14
            assert abs(normal @ (near[1] - near[0]) - gap) < tolerance
            for side, point in zip((a, b), near, strict=True):
                assert abs(side.signed_distance(point) + side.radius) < tolerance
    assert apart_count > 100


@pytest.mark.parametrize("scale, offset", [(1.0, 0.0), (1e-3, 0.0), (1e3, 0.0), (1.0, 1e3)])
def test_depth_is_the_least_over_all_axes(scale, offset):
    rng = np.random.default_rng(4)
    deep_count = 0
    for kinds in ALL_PAIRS:
        for apart in (0.0, 0.1, 0.3, 0.5, 0.7, 1.0):
            scene = two_bodies(rng, kinds, scale, apart, offset)
            a, b = twins(scene)
            if not is_overlapping(a, b):
                continue
            deep_count += 1
            gap, near, normal = meet(scene)
            expected = separation(a, b)
            assert abs(gap - expected) < 1e-7 * scale, kinds
            along = (b.points @ normal).min() - (a.points @ normal).max()
            assert abs(along - expected) < 1e-7 * scale
            assert abs(normal @ (near[1] - near[0]) - gap) < 1e-9 * scale
    assert deep_count > 70


def test_cores_that_touch_have_no_gap_and_a_good_normal():
    """From far apart, the second is moved until it touches, to the last digits, or a little further or less."""
    rng = np.random.default_rng(5)
    for kinds in ALL_PAIRS:
        if kinds[0] in ROUND and kinds[1] in ROUND:
            continue
        for past in (0.0, 1e-15, -1e-15, 1e-12, -1e-12, 1e-10, -1e-10, 1e-8, -1e-8, 1e-6, -1e-6):
            scene = two_bodies(rng, kinds, 1.0, 4.0)
            gap, _, normal = meet(scene)
            scene.p[1] -= (gap + past) * normal
            touched, near, turned = meet(scene)
            a, b = twins(scene)
            expected = separation(a, b) if is_overlapping(a, b) else distance(a, b)
            # Below a billionth of the size cores are taken to touch.
            assert abs(touched - expected) < 5e-9, (kinds, past)
            assert abs(turned @ turned - 1.0) < 1e-12
            # The normal parts them, but for what they overlap; it is as exact as rounding over distance.
            along = (b.points @ turned).min() - (a.points @ turned).max()
            assert abs(along - touched) < 5e-9 + 1e-15 / max(touched, 1e-8), (kinds, past)


@pytest.mark.parametrize("kinds", [k for k in ALL_PAIRS if set(k) <= set(ROUND)])
def test_the_closed_form_of_lines_agrees_with_the_search(kinds):
    rng = np.random.default_rng(6)
    rows = {"sphere": 1, "capsule": 2}
    for number in range(300):
        a, b = (rng.normal(size=(rows[kind], 3)) for kind in kinds)
        if number % 3 == 0 and len(a) == len(b) == 2:
            b[1] = (
                b[0]
                + rng.normal() * (a[1] - a[0])
                + 10.0 ** -rng.uniform(1, 16) * rng.normal(size=3)
            )
        near = np.zeros((3, 3)), np.zeros((3, 3))
        closed, searched = both_ways(a, b, np.zeros((4, 10)), *near)
        assert abs(closed - searched) < 1e-9


def test_lines_that_cross_have_a_normal_across_both():
    rng = np.random.default_rng(7)
    for _ in range(50):
        scene = two_bodies(rng, ("capsule", "capsule"), 1.0, 0.0)
        a, b = twins(scene)
        middles = a.points.mean(axis=0), b.points.mean(axis=0)
        scene.p[1] += middles[0] - middles[1]
        gap, _, normal = meet(scene)
        a, b = twins(scene)
        assert gap < 1e-12
        assert abs(normal @ normal - 1.0) < 1e-12
        assert abs(normal @ (a.points[1] - a.points[0])) < 1e-12
        assert abs(normal @ (b.points[1] - b.points[0])) < 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_a_shape_on_top_of_itself_has_a_normal(kind):
    rng = np.random.default_rng(8)
    scene = two_bodies(rng, (kind, kind), 1.0, 0.0)
    scene.bodies[1] = scene.bodies[0]
    scene = type(scene)(scene.bodies)
    gap, near, normal = meet(scene)
    a, b = twins(scene)
    assert np.isfinite(near).all() and abs(normal @ normal - 1.0) < 1e-12
    if len(a.triangles):
        assert abs(gap - separation(a, b)) < 1e-9
    else:
        assert gap == 0.0
