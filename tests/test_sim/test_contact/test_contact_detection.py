"""Candidates are the points that meet a collider on their way, in planes that lie where the step ends."""

import numpy as np
import pytest
from contact_scenes import block, kind_of

from jellycage import sim
from jellycage.sim.contact.finder import (
    CARRIERS,
    LIGHT,
    MARGIN,
    PUSH_OUT,
    RESTING,
    STIFFNESS,
    THIN,
    TOLERANCE,
    ContactFinder,
)
from jellycage.sim.contact.memory import NO_MEMORY
from jellycage.sim.contact.pair_finder import FLANKS
from jellycage.sim.contact.response_kernels import update_active_set
from jellycage.sim.maths.quaternions import turn_to
from jellycage.sim.shapes.colliders import collider_arrays
from jellycage.sim.shapes.signed_distance_kernels import signed_distance


def turning(axis, degrees):
    half = np.radians(degrees) / 2.0
    return np.array([np.cos(half), *(np.sin(half) * np.asarray(axis, float))])


def moving(start, end, turns):
    return sim.Motion([start, end], turns, [0.0, 1.0])


MOVING = {
    "plane": sim.Collider(
        sim.Plane(),
        moving([0.0, 0.0, 0.2], [1.0, -2.0, 0.6], [turning([1, 0, 0], 5), turning([0, 1, 0], 20)]),
    ),
    "box": sim.Collider(
        sim.Box((1.5, 0.8, 0.3)),
        moving([0.0, 2.0, 0.2], [0.1, 0.0, 0.5], [turning([0, 0, 1], 5), turning([1, 0, 0], 80)]),
    ),
    "sphere": sim.Collider(
        sim.Sphere(0.5), moving([-2.0, 0, 0.5], [2.0, 0, 0.5], [turning([0, 0, 1], 1)] * 2)
    ),
    "capsule": sim.Collider(
        sim.Capsule.of_keys(0.2, 1.0),
        moving([0, 0, 3.0], [0, 0, -1.0], [turning([0, 1, 0], 60), turning([0, 1, 0], 90)]),
    ),
}


def into(pose, x):
    """World points in the space of a pose."""
    return (x - pose[9:]) @ pose[:9].reshape(3, 3)


def out_of(pose, x):
    return x @ pose[:9].reshape(3, 3).T + pose[9:]


def distances(collider, pose, x):
    """Signed distance of world points (p, 3) to a collider in a pose [m], shape (p,)."""
    return np.array(
        [
            signed_distance(kind_of(collider), *collider.shape.lengths(), *y)[0]
            for y in into(pose, x)
        ]
    )


def own_nodes(points):
    """The node that each contact point of a bare cage is."""
    return points.nodes[np.arange(len(points)), points.weights.argmax(axis=1)]


def set_up(collider, seed=0):
    """A body that moves and deforms in a step of 1 s, and the finder of its contacts with a collider."""
    body = block("tets", (3, 3, 3))
    finder = ContactFinder(body, (collider,))
    rng = np.random.default_rng(seed)
    x = body.elements.nodes + rng.normal(scale=0.02, size=body.elements.nodes.shape)
    ahead = x + [0.3, -0.2, -0.4] + rng.normal(scale=0.1, size=x.shape)
    return finder, x, ahead, collider_arrays((collider,), 0.0, 1.0)


@pytest.mark.parametrize("collider", MOVING.values(), ids=MOVING)
def test_candidates_are_the_points_whose_way_in_the_colliders_space_meets_it(collider):
    finder, x, ahead, arrays = set_up(collider)
    found = finder.find(x, ahead, arrays)
    before, after = collider.motion.pose(0.0), collider.motion.pose(1.0)
    own, margin = own_nodes(finder.points), MARGIN * finder.body.size
    start, end = into(before, x[own]), into(after, ahead[own])
    way = start + np.linspace(0.0, 1.0, 2001)[:, None, None] * (end - start)
    kind, lengths = kind_of(collider), collider.shape.lengths()
    d = np.array([[signed_distance(kind, *lengths, *y)[0] for y in row] for row in way[::4]])
    is_in = d.min(axis=0) < 0.0
    is_near = d[-1] < margin
    is_met = np.zeros(len(own), bool)
    is_met[found.feature[:, 0]] = True
    # Ways that only just graze may be either.
    clear = np.abs(d.min(axis=0)) > 0.002
    np.testing.assert_array_equal(is_met[clear], (is_in | is_near)[clear])
    assert 0 < is_met.sum()
    assert len(np.unique(found.key)) == len(found.key)


def test_gaps_to_a_moving_plane_are_distances_at_the_end_of_the_step():
    """For any displacement u: g + n.u is how high the point then is above the plane where it then is."""
    collider = MOVING["plane"]
    finder, x, ahead, arrays = set_up(collider)
    found = finder.find(x, ahead, arrays)
    own = own_nodes(finder.points)[found.feature[:, 0]]
    assert len(own) > 5
    for seed in range(3):
        u = np.random.default_rng(seed).normal(size=x.shape)
        gap = found.gap + (found.normal * u[own]).sum(axis=1)
        expected = distances(collider, collider.motion.pose(1.0), (x + u)[own])
        np.testing.assert_allclose(gap, expected, atol=1e-12)


@pytest.mark.parametrize("collider", MOVING.values(), ids=MOVING)
def test_the_rows_of_a_candidate(collider):
    finder, x, ahead, arrays = set_up(collider)
    found = finder.find(x, ahead, arrays)
    own = own_nodes(finder.points)[found.feature[:, 0]]
    before, after = collider.motion.pose(0.0), collider.motion.pose(1.0)
    local = into(before, x[own])
    np.testing.assert_allclose(found.anchor, local, atol=1e-12)
    # A point that the collider carries along keeps its gap and does not slip.
    np.testing.assert_allclose(found.carried, out_of(after, local) - x[own], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), 1.0, atol=1e-12)
    carried = found.gap + (found.normal * found.carried).sum(axis=1)
    d = distances(collider, before, x[own])
    # The plane touches a convex shape, so nothing is higher above it than it is away from the shape.
    assert (carried <= d + 1e-9).all()
    inside = d < 0.0
    np.testing.assert_allclose(carried[inside], d[inside], atol=1e-12)


def test_room_for_candidates_grows():
    finder, x, ahead, arrays = set_up(sim.ground(50.0))
    finder.room = 2
    found = finder.find(x, ahead, arrays)
    assert len(found.key) == len(finder.points) > 2
    np.testing.assert_array_equal(found.feature[:, 0], np.arange(len(finder.points)))


def test_points_meet_each_collider_of_several():
    finder, x, ahead, _ = set_up(sim.ground(50.0))
    colliders = (
        sim.ground(50.0),
        sim.Collider(sim.Sphere(0.1), sim.Motion((0, 9, 0))),
        sim.ground(60.0),
    )
    both = ContactFinder(finder.body, colliders)
    found = both.find(x, ahead, collider_arrays(colliders, 0.0, 1.0))
    count = len(both.points)
    assert np.bincount(found.feature[:, 1], minlength=3).tolist() == [count, 0, count]
    # A pair's key is its place among all pairs of features, points before colliders.
    point, collider = found.feature.T
    np.testing.assert_array_equal(found.key, point * (count + 3) + count + collider)
    assert len(np.unique(found.key)) == 2 * count


def test_keys_are_those_of_the_scene_whatever_body_they_are_of():
    """Each body's points have a place of their own among all features, and all bodies see the same colliders."""
    bodies = [block("tets", (1, 1, 1), bottom=(3.0 * k, 0.0, -0.1)) for k in range(3)]
    colliders = (sim.ground(), sim.ground(-0.05))
    stepper = sim.Stepper(sim.Scene(bodies, colliders=colliders))
    arrays, keys = collider_arrays(colliders, 0.0, 1.0), []
    patches = sum(len(body.asset.collision.patch_area) for body in bodies)
    first_collider = 3 * 8 + FLANKS * patches  # after the points and the patches of all bodies
    for number, stepped in enumerate(stepper.bodies):
        x = np.array(bodies[number].elements.nodes)
        found = stepped.finder.find(x, x, arrays)
        assert len(found.key) == 8
        point, collider = np.divmod(found.key, first_collider + 2 + 3)
        np.testing.assert_array_equal(point, 8 * number + found.feature[:, 0])
        np.testing.assert_array_equal(collider, first_collider + found.feature[:, 1])
        keys.append(found.key)
    assert (np.diff(np.concatenate([np.unique(own) for own in keys])) > 0).all()


def test_pairs_have_the_mean_friction_the_greater_restitution_and_a_tolerance_of_their_size():
    body = block("tets", friction=0.9, restitution=0.3)
    colliders = (
        sim.ground(friction=0.4, restitution=0.1),
        sim.Collider(sim.Box((5.0, 5.0, 0.02)), friction=0.0, restitution=0.8),
    )
    finder = ContactFinder(body, colliders)
    np.testing.assert_allclose(finder.friction, [0.6, 0.0])
    np.testing.assert_allclose(finder.restitution, [0.3, 0.8])
    np.testing.assert_allclose(finder.tolerance, [TOLERANCE * body.size, THIN * 0.02])


def rows_of(finder, x, ahead, arrays, memory=NO_MEMORY, dt=0.02):
    found = finder.find(x, ahead, arrays)
    return found, finder.rows(found, memory, dt)


def test_points_of_an_element_share_its_stiffness():
    """Together they are as stiff as one; k is STIFFNESS effective masses, none too light, over dt squared.

    But so much at least that a few elements carry the body without sinking in.
    """
    finder, x, ahead, arrays = set_up(sim.ground(50.0))
    element, mass = finder.points.element, finder.mass
    count = np.bincount(element)[element]
    assert count.max() > 1
    mass = np.maximum(mass, LIGHT * mass.mean())
    weight, depth = 9.81 * finder.body.mass.sum(), RESTING * finder.body.size
    least = weight / (CARRIERS * depth)
    for dt in (0.02, 0.0005):
        _, rows = rows_of(finder, x, ahead, arrays, dt=dt)
        expected = np.maximum(STIFFNESS * mass / dt**2, least)
        assert (expected > least).any() == (dt < 0.01)
        np.testing.assert_allclose(rows.stiffness * count, expected)


def test_deep_points_are_asked_to_come_out_at_a_gentle_speed():
    body = block("hexes", (1, 1, 1), bottom=(0.0, 0.0, -0.5))
    finder = ContactFinder(body, (sim.ground(),))
    x = body.elements.nodes
    arrays = collider_arrays(finder.colliders, 0.0, 0.02)
    found, rows = rows_of(finder, x, x, arrays)
    assert len(rows.gap) == 4
    np.testing.assert_allclose(found.gap, -0.5)
    np.testing.assert_allclose(rows.gap, -PUSH_OUT * body.size * 0.02)
    # Points that are nearly out are asked to come out.
    higher = x + [0.0, 0.0, 0.49999]
    _, rows = rows_of(finder, higher, higher, arrays)
    np.testing.assert_allclose(rows.gap, -1e-5, rtol=1e-6)


def test_a_pressed_contact_remembers_its_bristle_and_its_plane():
    collider = sim.Collider(
        sim.Plane(), sim.Motion(rotations=turn_to((0.3, 0.1, 1.0))), friction=0.5
    )
    body = block("tets", (2, 2, 2), bottom=(0.0, 0.0, -0.1))
    finder, dt = ContactFinder(body, (collider,)), 0.02
    x, arrays = body.elements.nodes, collider_arrays(finder.colliders, 0.0, dt)
    found, rows = rows_of(finder, x, x, arrays, dt=dt)
    u = np.zeros_like(x) + [1e-3, -2e-3, 0.0]
    update_active_set(rows, u)
    memory = finder.remembered(found, rows, arrays, u)
    assert 0 < len(memory) == (rows.pressure > 0.0).sum() < len(finder.points)
    assert (np.diff(memory.key) > 0).all()
    pressed = np.flatnonzero(rows.pressure > 0.0)
    limit = 0.5 * rows.pressure[pressed]
    drag = np.linalg.norm(memory.drag, axis=1)
    assert (drag <= limit * (1.0 + 1e-12)).all()
    assert drag.max() > 0.0
    np.testing.assert_allclose((memory.drag * rows.normal[pressed]).sum(axis=1), 0.0, atol=1e-9)
    # In the plane's own space it is z = 0, whatever the turn.
    np.testing.assert_allclose(
        memory.plane, np.tile([0.0, 0.0, 1.0, 0.0], (len(memory), 1)), atol=1e-9
    )
    # The next step starts with bristles that pull as they did.
    again = finder.rows(found, memory, dt)
    pull = again.stiffness[:, None] * again.slip
    np.testing.assert_allclose(pull[pressed], memory.drag, atol=1e-9 * drag.max())
    others = np.setdiff1d(np.arange(len(found.key)), pressed)
    np.testing.assert_allclose(again.slip[others], 0.0, atol=1e-14)


def test_points_pressed_beyond_the_middle_of_a_thin_box_are_still_pushed_back_up():
    box = sim.Collider(sim.Box((4.0, 4.0, 0.1)), sim.Motion((0.0, 0.0, -0.05)))
    body = block("hexes", (1, 1, 1), bottom=(0.0, 0.0, -0.01))
    finder, dt = ContactFinder(body, (box,)), 0.02
    x, arrays = body.elements.nodes, collider_arrays(finder.colliders, 0.0, dt)
    found, rows = rows_of(finder, x, x, arrays)
    update_active_set(rows, np.zeros_like(x))
    memory = finder.remembered(found, rows, arrays, np.zeros_like(x))
    assert len(memory) == 4
    deep = x - [0.0, 0.0, 0.07]
    found = finder.find(deep, deep, arrays)
    low = found.normal[:, 2] < 0.0
    assert low.sum() == 4  # the lower side is nearer now
    back = finder.on_their_side(found, memory, arrays)
    np.testing.assert_allclose(back.normal[low], np.tile([0.0, 0.0, 1.0], (4, 1)), atol=1e-12)
    np.testing.assert_allclose(back.gap[low], -0.08, atol=1e-12)
    same = finder.on_their_side(found, NO_MEMORY, arrays)
    np.testing.assert_array_equal(same.normal, found.normal)
    np.testing.assert_array_equal(same.gap, found.gap)


def test_points_that_a_step_pressed_in_unforeseen_become_candidates():
    finder, x, _, arrays = set_up(sim.ground(-0.5))
    found = finder.find(x, x, arrays)
    assert len(found.key) == 0
    assert finder.missed(x, x + [5.0, 0.0, 0.3], arrays, found) is None
    more = finder.missed(x, x - [0.0, 0.0, 1.0], arrays, found)
    own = own_nodes(finder.points)
    deep = np.flatnonzero(x[own, 2] - 1.0 < -0.5 - MARGIN * finder.body.size)
    np.testing.assert_array_equal(np.sort(more.feature[:, 0]), deep)
    assert finder.missed(x, x - [0.0, 0.0, 1.0], arrays, more) is None
