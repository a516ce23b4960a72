"""Candidates are the points that meet a collider on their way, in planes that lie where the step ends."""

import numpy as np
import pytest
from contact_scenes import block

from jellycage import sim
from jellycage.sim.contact.contacts import (
    LIGHT,
    MARGIN,
    PUSH_OUT,
    STIFFNESS,
    THIN,
    TOLERANCE,
    Contacts,
)
from jellycage.sim.contact.response_kernels import look_at_contacts
from jellycage.sim.maths.quaternions import turn_to
from jellycage.sim.shapes.signed_distance_kernels import signed_distance
from jellycage.sim.soft.state import NO_GRIPS


def turning(axis, degrees):
    half = np.radians(degrees) / 2.0
    return np.array([np.cos(half), *(np.sin(half) * np.asarray(axis, float))])


def moving(start, end, turns):
    return sim.Motion([start, end], turns, [0.0, 1.0])


MOVING = {
    "plane": sim.Plane(
        moving([0.0, 0.0, 0.2], [1.0, -2.0, 0.6], [turning([1, 0, 0], 5), turning([0, 1, 0], 20)])
    ),
    "box": sim.Box(
        (1.5, 0.8, 0.3),
        moving([0.0, 2.0, 0.2], [0.1, 0.0, 0.5], [turning([0, 0, 1], 5), turning([1, 0, 0], 80)]),
    ),
    "sphere": sim.Sphere(0.5, moving([-2.0, 0, 0.5], [2.0, 0, 0.5], [turning([0, 0, 1], 1)] * 2)),
    "capsule": sim.Capsule(
        0.2,
        1.0,
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
        [signed_distance(collider.kind, *collider.parameters(), *y)[0] for y in into(pose, x)]
    )


def own_nodes(points):
    """The node that each contact point of a bare cage is."""
    return points.nodes[np.arange(len(points)), points.weights.argmax(axis=1)]


def set_up(collider, seed=0):
    """A body that moves and deforms in a step of 1 s, and its contacts with a collider."""
    body = block("tets", (3, 3, 3))
    contacts = Contacts(body, (collider,))
    rng = np.random.default_rng(seed)
    x = body.elements.nodes + rng.normal(scale=0.02, size=body.elements.nodes.shape)
    ahead = x + [0.3, -0.2, -0.4] + rng.normal(scale=0.1, size=x.shape)
    return contacts, x, ahead, contacts.during(0.0, 1.0)


@pytest.mark.parametrize("collider", MOVING.values(), ids=MOVING)
def test_candidates_are_the_points_whose_way_in_the_colliders_space_meets_it(collider):
    contacts, x, ahead, arrays = set_up(collider)
    found = contacts.find(x, ahead, arrays)
    before, after = collider.motion.pose(0.0), collider.motion.pose(1.0)
    own, margin = own_nodes(contacts.points), MARGIN * contacts.body.size
    start, end = into(before, x[own]), into(after, ahead[own])
    way = start + np.linspace(0.0, 1.0, 2001)[:, None, None] * (end - start)
    kind, lengths = collider.kind, collider.parameters()
    d = np.array([[signed_distance(kind, *lengths, *y)[0] for y in row] for row in way[::4]])
    is_in = d.min(axis=0) < 0.0
    is_near = d[-1] < margin
    is_met = np.zeros(len(own), bool)
    is_met[found.point] = True
    # Ways that only just graze may be either.
    clear = np.abs(d.min(axis=0)) > 0.002
    np.testing.assert_array_equal(is_met[clear], (is_in | is_near)[clear])
    assert 0 < is_met.sum()
    assert len(np.unique(contacts.keys(found))) == len(found.point)


def test_gaps_to_a_moving_plane_are_distances_at_the_end_of_the_step():
    """For any displacement u: g + n.u is how high the point then is above the plane where it then is."""
    collider = MOVING["plane"]
    contacts, x, ahead, arrays = set_up(collider)
    found = contacts.find(x, ahead, arrays)
    own = own_nodes(contacts.points)[found.point]
    assert len(own) > 5
    for seed in range(3):
        u = np.random.default_rng(seed).normal(size=x.shape)
        gap = found.plane[:, 3] + (found.plane[:, :3] * u[own]).sum(axis=1)
        expected = distances(collider, collider.motion.pose(1.0), (x + u)[own])
        np.testing.assert_allclose(gap, expected, atol=1e-12)


@pytest.mark.parametrize("collider", MOVING.values(), ids=MOVING)
def test_the_rows_of_a_candidate(collider):
    contacts, x, ahead, arrays = set_up(collider)
    found = contacts.find(x, ahead, arrays)
    own = own_nodes(contacts.points)[found.point]
    before, after = collider.motion.pose(0.0), collider.motion.pose(1.0)
    local = into(before, x[own])
    np.testing.assert_allclose(found.plane[:, 7:], local, atol=1e-12)
    # A point that the collider carries along keeps its gap and does not slip.
    np.testing.assert_allclose(found.plane[:, 4:7], out_of(after, local) - x[own], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(found.plane[:, :3], axis=1), 1.0, atol=1e-12)
    carried = found.plane[:, 3] + (found.plane[:, :3] * found.plane[:, 4:7]).sum(axis=1)
    d = distances(collider, before, x[own])
    # The plane touches a convex shape, so nothing is higher above it than it is away from the shape.
    assert (carried <= d + 1e-9).all()
    inside = d < 0.0
    np.testing.assert_allclose(carried[inside], d[inside], atol=1e-12)


def test_room_for_candidates_grows():
    contacts, x, ahead, arrays = set_up(sim.ground(50.0))
    contacts.room = 2
    found = contacts.find(x, ahead, arrays)
    assert len(found.point) == len(contacts.points) > 2
    np.testing.assert_array_equal(found.point, np.arange(len(contacts.points)))


def test_points_meet_each_collider_of_several():
    contacts, x, ahead, _ = set_up(sim.ground(50.0))
    both = Contacts(
        contacts.body, (sim.ground(50.0), sim.Sphere(0.1, sim.Motion((0, 9, 0))), sim.ground(60.0))
    )
    found = both.find(x, ahead, both.during(0.0, 1.0))
    count = len(both.points)
    assert np.bincount(found.collider, minlength=3).tolist() == [count, 0, count]
    assert len(np.unique(both.keys(found))) == 2 * count
    assert both.keys(found).max() == 3 * count - 1


def test_pairs_have_the_mean_friction_the_greater_restitution_and_a_tolerance_of_their_size():
    body = block("tets", friction=0.9, restitution=0.3)
    colliders = (
        sim.ground(friction=0.4, restitution=0.1),
        sim.Box((5.0, 5.0, 0.02), friction=0.0, restitution=0.8),
    )
    contacts = Contacts(body, colliders)
    np.testing.assert_allclose(contacts.friction, [0.6, 0.0])
    np.testing.assert_allclose(contacts.restitution, [0.3, 0.8])
    np.testing.assert_allclose(contacts.tolerance, [TOLERANCE * body.size, THIN * 0.02])


def touch_of(contacts, x, ahead, arrays, grips=NO_GRIPS, dt=0.02):
    found = contacts.find(x, ahead, arrays)
    return found, contacts.touch(found, grips, np.zeros_like(x), dt)


def test_points_of_an_element_share_its_stiffness():
    """Together they are as stiff as one; k is STIFFNESS effective masses, none too light, over dt squared."""
    contacts, x, ahead, arrays = set_up(sim.ground(50.0))
    _, touch = touch_of(contacts, x, ahead, arrays)
    p = contacts.points
    count = np.bincount(p.element)[p.element]
    assert count.max() > 1
    mass = np.maximum(p.mass, LIGHT * p.mass.mean())
    np.testing.assert_allclose(touch.stiffness, STIFFNESS * mass / count / 0.02**2)


def test_deep_points_are_asked_to_come_out_at_a_gentle_speed():
    body = block("hexes", (1, 1, 1), bottom=(0.0, 0.0, -0.5))
    contacts = Contacts(body, (sim.ground(),))
    x = body.elements.nodes
    found, touch = touch_of(contacts, x, x, contacts.during(0.0, 0.02))
    assert len(touch.gap) == 4
    np.testing.assert_allclose(found.plane[:, 3], -0.5)
    np.testing.assert_allclose(touch.gap, -PUSH_OUT * body.size * 0.02)
    # Points that are nearly out are asked to come out.
    higher = x + [0.0, 0.0, 0.49999]
    _, touch = touch_of(contacts, higher, higher, contacts.during(0.0, 0.02))
    np.testing.assert_allclose(touch.gap, -1e-5, rtol=1e-6)


def test_a_pressed_contact_remembers_its_bristle_and_its_plane():
    collider = sim.Plane(sim.Motion(rotations=turn_to((0.3, 0.1, 1.0))), friction=0.5)
    body = block("tets", (2, 2, 2), bottom=(0.0, 0.0, -0.1))
    contacts, dt = Contacts(body, (collider,)), 0.02
    x, arrays = body.elements.nodes, contacts.during(0.0, dt)
    found, touch = touch_of(contacts, x, x, arrays, dt=dt)
    u = np.zeros_like(x) + [1e-3, -2e-3, 0.0]
    look_at_contacts(touch, u)
    grips = contacts.remember(found, touch, arrays, u)
    assert 0 < len(grips) == (touch.pressure > 0.0).sum() < len(contacts.points)
    assert (np.diff(grips.key) > 0).all()
    pressed = np.flatnonzero(touch.pressure > 0.0)
    limit = 0.5 * touch.pressure[pressed]
    drag = np.linalg.norm(grips.drag, axis=1)
    assert (drag <= limit * (1.0 + 1e-12)).all()
    assert drag.max() > 0.0
    np.testing.assert_allclose((grips.drag * touch.normal[pressed]).sum(axis=1), 0.0, atol=1e-9)
    # In the plane's own space it is z = 0, whatever the turn.
    np.testing.assert_allclose(
        grips.plane, np.tile([0.0, 0.0, 1.0, 0.0], (len(grips), 1)), atol=1e-9
    )
    # The next step starts with bristles that pull as they did.
    again = contacts.touch(found, grips, np.zeros_like(x), dt)
    pull = again.stiffness[:, None] * again.slip
    np.testing.assert_allclose(pull[pressed], grips.drag, atol=1e-9 * drag.max())
    others = np.setdiff1d(np.arange(len(found.point)), pressed)
    np.testing.assert_allclose(again.slip[others], 0.0, atol=1e-14)


def test_points_pressed_beyond_the_middle_of_a_thin_box_are_still_pushed_back_up():
    box = sim.Box((4.0, 4.0, 0.1), sim.Motion((0.0, 0.0, -0.05)))
    body = block("hexes", (1, 1, 1), bottom=(0.0, 0.0, -0.01))
    contacts, dt = Contacts(body, (box,)), 0.02
    x, arrays = body.elements.nodes, contacts.during(0.0, dt)
    found, touch = touch_of(contacts, x, x, arrays)
    look_at_contacts(touch, np.zeros_like(x))
    grips = contacts.remember(found, touch, arrays, np.zeros_like(x))
    assert len(grips) == 4
    deep = x - [0.0, 0.0, 0.07]
    found = contacts.find(deep, deep, arrays)
    low = found.plane[:, 2] < 0.0
    assert low.sum() == 4  # the lower side is nearer now
    back = contacts.on_their_side(found, grips, arrays)
    np.testing.assert_allclose(back.plane[low, :3], np.tile([0.0, 0.0, 1.0], (4, 1)), atol=1e-12)
    np.testing.assert_allclose(back.plane[low, 3], -0.08, atol=1e-12)
    np.testing.assert_array_equal(
        contacts.on_their_side(found, NO_GRIPS, arrays).plane, found.plane
    )


def test_points_that_a_step_pressed_in_unforeseen_become_candidates():
    contacts, x, _, arrays = set_up(sim.ground(-0.5))
    found = contacts.find(x, x, arrays)
    assert len(found.point) == 0
    assert contacts.missed(x, x + [5.0, 0.0, 0.3], arrays, found) is None
    more = contacts.missed(x, x - [0.0, 0.0, 1.0], arrays, found)
    own = own_nodes(contacts.points)
    deep = np.flatnonzero(x[own, 2] - 1.0 < -0.5 - MARGIN * contacts.body.size)
    np.testing.assert_array_equal(np.sort(more.point), deep)
    assert contacts.missed(x, x - [0.0, 0.0, 1.0], arrays, more) is None
