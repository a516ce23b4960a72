"""Points where shapes meet: on both surfaces, as many as expected, and steady."""

import numpy as np
import pytest
from core_oracles import ALL_PAIRS, GROUND, Scene, two_bodies
from scipy.spatial.transform import Rotation

from jellycage.sim.shapes import Box, Capsule, Hull, Sphere

CUBE = Box((1.0, 1.0, 1.0))
ROD = Capsule(0.1, (-0.5, 0.0, 0.0), (0.5, 0.0, 0.0))


def turn_about(axis, angle):
    return Rotation.from_rotvec(angle * np.array(axis, float)).as_quat()[[3, 0, 1, 2]]


def stacked(lower, upper, height, q=(1.0, 0.0, 0.0, 0.0), at=(0.0, 0.0)):
    """One shape over another."""
    scene = Scene([[lower], [upper]])
    scene.p[1] = (*at, height)
    scene.q[1] = q
    return scene


def sorted_points(points):
    return points[np.lexsort(np.round(points, 6).T)]


@pytest.mark.slow
@pytest.mark.parametrize("apart", [0.2, 0.9, 1.5, 2.5])
def test_points_lie_on_both_surfaces_and_the_nearest_is_kept(apart):
    rng = np.random.default_rng(11)
    count = 0
    for kinds in ALL_PAIRS:
        for _ in range(6):
            scene = two_bodies(rng, kinds, 1.0, apart, 10.0)
            found = scene.contacts(margin=0.3)
            if not len(found.gap):
                continue
            count += len(found.gap)
            sides = [scene.posed(k) for k in range(2)]
            nearest = found.gap.min()
            for normal, points, gap in zip(found.normal, found.point, found.gap, strict=True):
                assert abs(normal @ normal - 1.0) < 1e-12
                assert abs(normal @ (points[1] - points[0]) - gap) < 1e-9
                assert gap < 0.3 + 1e-9
                for side, point in zip(sides, points, strict=True):
                    away = side.signed_distance(point)
                    # The point of least overlap is on a core, which may be inside the other's radius.
                    assert abs(away) < 1e-9, (kinds, away, gap)
            scene.p[1] -= nearest * found.normal[0]
            assert abs(scene.contacts(margin=0.3).gap.min()) < 1e-7, kinds
    assert count > 30


def test_swapped_bodies_have_the_opposite_normal_and_the_same_points():
    rng = np.random.default_rng(12)
    count = 0
    for kinds in ALL_PAIRS:
        for apart in (0.3, 0.8, 1.2):
            scene = two_bodies(rng, kinds, 1.0, apart)
            other = Scene(scene.bodies[::-1])
            other.p, other.q = scene.p[::-1].copy(), scene.q[::-1].copy()
            here, there = scene.contacts(margin=0.5), other.contacts(margin=0.5)
            assert len(here.gap) == len(there.gap)
            if not len(here.gap):
                continue
            count += 1
            assert np.abs(here.normal[0] + there.normal[0]).max() < 1e-7, kinds
            assert abs(here.gap.min() - there.gap.min()) < 1e-9
            if len(here.gap) < 4:
                mine, theirs = sorted_points(here.point[:, 0]), sorted_points(there.point[:, 1])
                assert np.abs(mine - theirs).max() < 1e-6, kinds
    assert count > 50


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 0.0, -1e-6, -1e-3])
@pytest.mark.parametrize("ground", [Box((4.0, 4.0, 1.0)), GROUND], ids=["box", "plane"])
def test_a_box_lies_on_its_four_corners(ground, gap):
    scene = Scene([[CUBE], [ground]], dynamic_count=1)
    top = 0.5 if isinstance(ground, Box) else 0.0
    scene.p[0] = (0.3, 0.2, top + 0.5 + gap)
    found = scene.contacts(margin=0.01)
    assert len(found.gap) == 4
    assert np.allclose(found.gap, gap, atol=1e-12)
    assert np.allclose(found.normal, (0.0, 0.0, -1.0), atol=1e-12)
    expected = [(x, y, top + gap) for x in (-0.2, 0.8) for y in (-0.3, 0.7)]
    assert np.allclose(sorted_points(found.point[:, 0]), sorted_points(np.array(expected)))


@pytest.mark.parametrize("ground", [Box((4.0, 4.0, 1.0)), GROUND], ids=["box", "plane"])
def test_a_capsule_lies_on_its_two_ends_and_stands_on_one(ground):
    scene = Scene([[ROD], [ground]], dynamic_count=1)
    top = 0.5 if isinstance(ground, Box) else 0.0
    scene.p[0] = (0.0, 0.0, top + 0.1)
    found = scene.contacts(margin=0.01)
    assert np.allclose(sorted_points(found.point[:, 1])[:, 0], (-0.5, 0.5))
    assert np.allclose(found.gap, 0.0, atol=1e-12)
    scene.q[0], scene.p[0, 2] = turn_about((0, 1, 0), 0.5 * np.pi), top + 0.6
    found = scene.contacts(margin=0.01)
    assert len(found.gap) == 1
    assert np.allclose(found.point[0], (0.0, 0.0, top), atol=1e-12)


def test_a_box_turned_by_an_eighth_on_a_box_has_four_points_on_the_octagon():
    scene = stacked(CUBE, CUBE, 1.0, turn_about((0, 0, 1), np.pi / 4))
    found = scene.contacts(margin=0.01)
    assert len(found.gap) == 4
    x, y = np.abs(found.point[:, 0, :2]).T
    # Corners of the octagon where sides x = 1/2 and x + y = 1/sqrt(2) meet.
    assert np.allclose(np.maximum(x, y), 0.5)
    assert np.allclose(np.minimum(x, y), np.sqrt(0.5) - 0.5)
    corners = found.point[:, 0, :2]
    spread = np.linalg.norm(corners[:, None] - corners[None], axis=2).max()
    assert spread > 1.0


def test_crossing_edges_meet_in_one_point():
    edge_up, edge_down = turn_about((1, 0, 0), np.pi / 4), turn_about((0, 1, 0), np.pi / 4)
    scene = stacked(CUBE, CUBE, np.sqrt(2.0) + 1e-3, edge_down)
    scene.q[0] = edge_up
    found = scene.contacts(margin=0.01)
    assert len(found.gap) == 1
    assert abs(found.gap[0] - 1e-3) < 1e-12
    assert np.allclose(found.point[0, :, :2], 0.0, atol=1e-9)


def test_a_box_on_its_edge_has_the_ends_of_the_edge():
    scene = stacked(
        Box((4.0, 4.0, 1.0)), CUBE, 0.5 + np.sqrt(0.5), turn_about((1, 0, 0), np.pi / 4)
    )
    found = scene.contacts(margin=0.01)
    assert np.allclose(sorted_points(found.point[:, 1]), [(-0.5, 0, 0.5), (0.5, 0, 0.5)], atol=1e-9)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-6, 1e-4])
def test_nearly_parallel_capsules_meet_in_two_points(angle):
    scene = stacked(ROD, ROD, 0.2, turn_about((0, 0, 1), angle), at=(0.3, 0.0))
    found = scene.contacts(margin=0.01)
    assert len(found.gap) == 2
    assert np.allclose(sorted_points(found.point[:, 0])[:, 0], (-0.2, 0.5), atol=1e-3)
    assert np.allclose(found.gap, 0.0, atol=1e-4)


def test_crossed_capsules_meet_in_one_point():
    found = stacked(ROD, ROD, 0.2, turn_about((0, 0, 1), 1.0)).contacts(margin=0.01)
    assert len(found.gap) == 1
    assert np.allclose(found.point[0], (0.0, 0.0, 0.1), atol=1e-9)


PRISM = Hull([(np.cos(a), np.sin(a), z) for a in np.arange(12) * np.pi / 6 for z in (-0.5, 0.5)])


@pytest.mark.parametrize("gap", [1e-4, -1e-4])
@pytest.mark.parametrize(
    "lower, upper, q",
    [
        (CUBE, CUBE, (1.0, 0.0, 0.0, 0.0)),
        (CUBE, CUBE, turn_about((0, 0, 1), np.pi / 4)),
        (CUBE, CUBE, turn_about((0, 0, 1), 0.3)),
        (PRISM, PRISM, (1.0, 0.0, 0.0, 0.0)),
        (PRISM, CUBE, turn_about((0, 0, 1), 0.2)),
        (CUBE, ROD, (1.0, 0.0, 0.0, 0.0)),
        (ROD, ROD, (1.0, 0.0, 0.0, 0.0)),
    ],
)
def test_nothing_flickers_while_a_body_trembles(lower, upper, q, gap):
    """Turned by a billionth this way and that, the same points are chosen in the same order."""
    rng = np.random.default_rng(13)
    height = sum({CUBE: 0.5, PRISM: 0.5, ROD: 0.1}[shape] for shape in (lower, upper)) + gap
    scene = stacked(lower, upper, height, q)
    still = scene.contacts(margin=0.01)
    assert len(still.gap) == (2 if ROD in (lower, upper) else 4)
    for _ in range(40):
        shaken = Rotation.from_rotvec(rng.normal(scale=1e-9, size=3)) * Rotation.from_quat(
            np.asarray(q)[[1, 2, 3, 0]]
        )
        scene.q[1] = shaken.as_quat()[[3, 0, 1, 2]]
        scene.p[1] = np.array([0.0, 0.0, height]) + rng.normal(scale=1e-9, size=3)
        found = scene.contacts(margin=0.01)
        assert found.gap.shape == still.gap.shape
        assert np.abs(found.point - still.point).max() < 1e-7
        assert np.abs(found.normal - still.normal).max() < 1e-6


def test_a_sphere_has_one_contact_with_each():
    for shape in (Sphere(0.5), CUBE, GROUND):
        low = 0.0 if shape is GROUND else 0.5
        scene = Scene([[Sphere(0.25)], [shape]], dynamic_count=1)
        scene.p[0, 2] = low + 0.25 + 1e-3
        found = scene.contacts(margin=0.01)
        assert np.allclose(found.gap, [1e-3]) and np.allclose(found.normal, [(0, 0, -1)])
