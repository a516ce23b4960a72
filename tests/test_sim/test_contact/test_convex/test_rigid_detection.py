"""Which bodies meet: the broad phase against all pairs, who never meets, and what is met ahead of a fast body."""

import numpy as np
import pytest
from core_oracles import GROUND, KINDS, Scene, random_quaternion, random_shape

from jellycage.sim.contact.convex.detection import detection_work, rigid_contacts
from jellycage.sim.contact.convex.detection_kernels import find_contacts
from jellycage.sim.shapes import Box, Capsule, Sphere
from jellycage.toolkit.compile_kernels import njit

DT = 1.0 / 60.0


def random_scene(rng, count, **changes):
    """Bodies of one to three shapes, moving and turning."""
    bodies = [
        [random_shape(str(rng.choice(KINDS)), rng, 0.3) for _ in range(rng.integers(1, 4))]
        for _ in range(count)
    ]
    scene = Scene(bodies, **changes)
    scene.p[:] = rng.normal(scale=0.4, size=(count, 3)) * rng.uniform(0.5, 1.5, 3)
    scene.q[:] = [random_quaternion(rng) for _ in range(count)]
    scene.v[:], scene.w[:] = rng.normal(scale=5.0, size=(2, count, 3))
    return scene


def swept_bounds(scene, shape, dt, margin):
    """Bounds over the step, from the words of the docstring."""
    body, posed = scene.shapes.body[shape], scene.posed(shape)
    reach = np.sqrt(((posed.points - scene.p[body]) ** 2).sum(axis=1)).max() + posed.radius
    spin = np.sqrt(scene.w[body] @ scene.w[body]) * reach * dt
    grown = posed.radius + margin + spin
    ends = [posed.points, posed.points + scene.v[body] * dt]
    return np.min(ends, axis=(0, 1)) - grown, np.max(ends, axis=(0, 1)) + grown


def all_pairs(scene, dt, margin, excluded=()):
    """Every pair of shapes that the broad phase should give, in order."""
    bounds = [swept_bounds(scene, s, dt, margin) for s in range(len(scene.shapes.body))]
    pairs = []
    for s in range(len(bounds)):
        for t in range(s + 1, len(bounds)):
            a, b = scene.shapes.body[s], scene.shapes.body[t]
            is_still = [k >= scene.dynamic_count or scene.is_asleep[k] for k in (a, b)]
            if a == b or all(is_still) or min(a, b) * scene.count + max(a, b) in excluded:
                continue
            if (bounds[s][0] <= bounds[t][1]).all() and (bounds[t][0] <= bounds[s][1]).all():
                pairs.append((s, t))
    return pairs


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_the_broad_phase_finds_what_trying_all_pairs_finds(seed):
    rng = np.random.default_rng(seed)
    total = 0
    for number in range(20):
        count = int(rng.integers(1, 9))
        excluded = [
            a * count + b for a in range(count) for b in range(a + 1, count) if rng.random() < 0.2
        ]
        dynamic_count = int(rng.integers(0, count + 1))
        scene = random_scene(rng, count, dynamic_count=dynamic_count, excluded=excluded)
        scene.is_asleep[:] = rng.random(count) < 0.3
        margin = 0.05 if number % 2 else 0.0
        for _ in range(2):
            scene.contacts(DT, margin)
            work = scene.detector.work
            expected = all_pairs(scene, DT, margin, excluded)
            assert [tuple(pair) for pair in work.pairs[: work.needed[0]]] == expected
            total += len(expected)
            scene.p += scene.v * DT
    assert total > 100


def test_contacts_are_those_of_each_pair_alone():
    """Neither the order of sorting nor what was found before changes a contact."""
    rng = np.random.default_rng(21)
    scene = random_scene(rng, 8)
    found = scene.contacts(DT, 0.02)
    assert len(found.gap) > 10
    expected = []
    for a in range(8):
        for b in range(a + 1, 8):
            pair = Scene([scene.bodies[a], scene.bodies[b]])
            for name in ("p", "q", "v", "w"):
                getattr(pair, name)[:] = getattr(scene, name)[[a, b]]
            alone = pair.contacts(DT, 0.02)
            expected += [
                (point.tobytes(), gap) for point, gap in zip(alone.point, alone.gap, strict=True)
            ]
    assert sorted(expected) == sorted(
        (point.tobytes(), gap) for point, gap in zip(found.point, found.gap, strict=True)
    )


def test_contacts_come_in_order_and_the_same_again():
    rng = np.random.default_rng(22)
    scene = random_scene(rng, 12)
    first = scene.contacts(DT, 0.02)
    shapes = [tuple(row) for row in first.shape]
    assert shapes == sorted(shapes)
    scene.detector.work.order[:] = scene.detector.work.order[::-1].copy()
    again = scene.contacts(DT, 0.02)
    for one, other in zip(first, again, strict=True):
        assert one.tobytes() == other.tobytes()


def test_little_room_is_asked_for_and_made():
    scene = Scene([[Box((1.0, 1.0, 1.0))] for _ in range(12)] + [[GROUND]], dynamic_count=12)
    scene.p[:12, 0], scene.p[:12, 2] = 0.99 * np.arange(12), 0.5
    roomy = scene.contacts(margin=0.01)
    assert len(roomy.gap) == 4 * 11 + 4 * 12
    detector = scene.detector
    detector.work, detector.out = detection_work(scene.shapes, scene.meshes, 1), rigid_contacts(1)
    rest = (detector.excluded, scene.shapes, scene.meshes, detector.work, detector.out)
    assert find_contacts(scene.poses(), 0.0, 0.01, 12, *rest) == -1
    tight = scene.contacts(margin=0.01)
    for one, other in zip(roomy, tight, strict=True):
        assert np.array_equal(one, other)


@njit
def counted_in_a_kernel(poses, dt, margin, count, excluded, shapes, meshes, work, out):
    return 2 * find_contacts(poses, dt, margin, count, excluded, shapes, meshes, work, out)


def test_a_kernel_can_call_it():
    scene = Scene([[Sphere(1.0)], [Sphere(1.0)]])
    scene.p[1, 0] = 1.9
    detector = scene.detector
    rest = (detector.excluded, scene.shapes, scene.meshes, detector.work, detector.out)
    assert counted_in_a_kernel(scene.poses(), 0.0, 0.01, 2, *rest) == 2


def test_bodies_without_shapes_meet_nothing():
    assert len(Scene([[], []]).contacts(DT, 0.1).gap) == 0
    assert len(Scene([]).contacts(DT, 0.1).gap) == 0


def test_the_centre_of_mass_is_the_origin():
    scene = Scene(
        [[Sphere(0.5, (3.0, 0.0, 0.0))], [GROUND]], 1, centres=[(3.0, 0.0, 0.0), (0.0,) * 3]
    )
    scene.p[0] = (7.0, 0.0, 0.6)
    found = scene.contacts(margin=0.2)
    assert np.allclose(found.point[0], [(7.0, 0.0, 0.1), (7.0, 0.0, 0.0)])
    assert scene.shapes.reach[0] == pytest.approx(0.5)


THIN = Box((2.0, 2.0, 1e-3))


@pytest.mark.parametrize("target", [THIN, GROUND], ids=["plate", "plane"])
def test_a_small_fast_sphere_meets_a_thin_plate_from_wherever_it_could_cross_it(target):
    speed, radius = 300.0, 0.01
    top = 5e-4 if target is THIN else 0.0
    scene = Scene([[Sphere(radius)], [target]], dynamic_count=1)
    scene.v[0] = (0.0, 0.0, -speed)
    for way in np.linspace(0.0, speed * DT, 200):
        scene.p[0] = (0.1, -0.2, top + radius + way)
        found = scene.contacts(DT, 1e-3)
        assert len(found.gap) == 1
        assert abs(found.gap[0] - way) < 1e-12
        assert np.allclose(found.normal[0], (0.0, 0.0, -1.0), atol=1e-9)
    scene.p[0, 2] = top + radius + speed * DT + 0.01
    assert len(scene.contacts(DT, 1e-3).gap) == 0


def test_a_spinning_capsule_meets_what_its_ends_could_reach():
    """Whatever its turn, a plate within the way of its ends in the step is met, and one out of reach is not."""
    rng = np.random.default_rng(23)
    rod = Capsule(0.02, (-1.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    hits = 0
    for _ in range(100):
        scene = Scene([[rod], [THIN]], dynamic_count=1)
        scene.q[0] = random_quaternion(rng)
        scene.w[0] = rng.normal(scale=10.0, size=3)
        scene.p[0, 2] = rng.uniform(0.05, 2.0)
        lowest = scene.posed(0).points[:, 2].min() - 0.02 - 5e-4
        way = np.sqrt(scene.w[0] @ scene.w[0]) * DT * 1.02
        found = scene.contacts(DT, 0.0)
        if lowest <= 0.0 or abs(lowest - way) < 1e-9:
            continue
        is_over = np.abs(scene.posed(0).points[:, :2]).max() < 1.0
        if is_over and lowest < way:
            assert len(found.gap) > 0
            hits += 1
        if lowest > way:
            assert len(found.gap) == 0
    assert hits > 5


def test_a_turning_plane_is_met_by_what_it_could_reach():
    scene = Scene([[Sphere(0.1)], [GROUND]], dynamic_count=1)
    scene.p[0] = (5.0, 0.0, 0.4)
    assert len(scene.contacts(DT, 0.0).gap) == 0
    scene.w[1] = (0.0, -6.0, 0.0)
    found = scene.contacts(DT, 0.0)
    assert np.allclose(found.gap, 0.3)
