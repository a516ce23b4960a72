import numpy as np
import pytest
from collision_bodies import POSES, posed_nodes
from region_oracles import ASSETS, built, covered, deformed, placed, pressed
from shapes import ball, box

from jellycage import toolkit
from jellycage.toolkit.collision import contacts as contacts_module
from jellycage.toolkit.collision.contacts import contact_points
from jellycage.toolkit.collision.posed import pose
from jellycage.toolkit.collision.queries import are_inside, cast_rays, closest_points
from jellycage.toolkit.collision.regions import contact_regions


def turned(seed):
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    return turn * np.linalg.det(turn)


def on_each_other(overlap, seed=0, shift=(0.03, 0.07)):
    """A cube on a larger block, overlapping by a little, both turned; and the direction that was up."""
    world = turned(seed)
    floor = placed(box((3.0, 3.0, 1.0), (-1.5, -1.5, -1.0)), turn=world, resolution=6)
    at = world @ [*shift, 0.5 - overlap]
    cube = placed(box((1.0, 1.0, 1.0), (-0.5, -0.5, -0.5)), at=at, turn=world, resolution=3)
    return cube, floor, world @ [0.0, 0.0, 1.0]


@pytest.mark.parametrize("overlap", [0.1, 1e-3, 1e-6])
def test_a_cube_that_overlaps_a_floor_is_parted_by_the_overlap(overlap):
    cube, floor, up = on_each_other(overlap)
    contacts = contact_points(cube, floor)
    assert set(contacts.body) == {0, 1}
    np.testing.assert_allclose(contacts.normal, np.tile(up, (len(contacts), 1)), atol=1e-9)
    # Where the line through a centroid misses its patch, one that is nearly all wall, the centroid stands for it.
    assert (contacts.depth <= overlap * (1.0 + 1e-9)).all()
    is_exact = np.isclose(contacts.depth, overlap, rtol=1e-9)
    assert is_exact[contacts.body == 1].all() and is_exact.mean() > 0.85
    for body in (0, 1):  # either surface covers the whole contact once
        own = contacts.body == body
        assert contacts.facing[own].sum() == pytest.approx(1.0, rel=1e-9)
    assert contacts.area[contacts.body == 1].sum() == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_surfaces_that_coincide_but_for_rounding_are_found(seed):
    cube, floor, up = on_each_other(0.0, seed)
    regions = contact_regions(cube, floor)
    contacts = contact_points(cube, floor, regions)
    # Rounding decides where one is a little inside the other; wherever it is there is a contact, of no depth.
    assert len(contacts) > 5 and covered(regions, contacts) == pytest.approx(1.0)
    assert np.abs(contacts.depth).max() < 1e-12


def test_there_is_one_contact_for_each_patch_whatever_its_triangles():
    counts = []
    for halvings in (0, 1, 2):
        vertices, faces = ball(3 + halvings)
        asset = toolkit.build_cage((vertices, faces), resolution=4)
        one = pose(asset.collision, asset.cage_nodes)
        other = pose(asset.collision, asset.cage_nodes + [0.3, 0.2, 1.8])
        contacts = contact_points(one, other)
        keys = set(zip(contacts.body.tolist(), contacts.patch[:, 0].tolist(), strict=True))
        counts.append(len(contacts))
        assert len(keys) <= len(contacts)
        assert np.unique(contacts.point).size == len(contacts)
    assert max(counts) <= 1.3 * min(counts)


@pytest.mark.parametrize("name", ASSETS)
def test_contacts_hold_what_they_promise(name):
    rng, total = np.random.default_rng(0), 0
    for _ in range(3):
        a, b = deformed(built(name), rng, apart=0.1), deformed(built("torus"), rng, apart=0.1)
        regions = contact_regions(a, b)
        contacts = contact_points(a, b, regions)
        total += len(contacts)
        assert all(array.flags.c_contiguous for array in vars(contacts).values())
        assert (contacts.depth > -1e-2).all() and (contacts.facing > 0.0).all()
        np.testing.assert_allclose(contacts.normal, regions.flank_normal[contacts.flank])
        np.testing.assert_array_equal(contacts.region, regions.flank_region[contacts.flank])
        np.testing.assert_array_equal(regions.points.body[contacts.point], contacts.body)
        own_patch = contacts.patch[np.arange(len(contacts)), contacts.body]
        np.testing.assert_array_equal(regions.points.patch[contacts.point], own_patch)
        for k, posed in enumerate((a, b)):
            # The stencil carries the point, and is of the tet of the patch that is named.
            x = np.einsum("km,kmx->kx", contacts.weights[:, k], posed.nodes[contacts.nodes[:, k]])
            np.testing.assert_allclose(x, contacts.points[:, k], atol=1e-14)
            np.testing.assert_allclose(contacts.weights[:, k].sum(axis=1), 1.0, atol=1e-9)
            assert contacts.weights[:, k].min() > -1e-7
            tets = posed.surface.tets[posed.surface.patch_tet[contacts.patch[:, k]]]
            np.testing.assert_array_equal(tets, contacts.nodes[:, k])
            # What was hit lies on the surface, in the triangle that is named.
            hit = contacts.body != k
            nearest = closest_points(posed, contacts.points[hit, k])
            assert nearest.distance.max(initial=0.0) < 1e-12
            patch = posed.surface.triangle_patch[contacts.triangle[hit]]
            np.testing.assert_array_equal(patch, contacts.patch[hit, k])
            # Both sign conditions: it faces along the normal, B up and A down.
            corners = posed.vertices[posed.surface.vertices[contacts.triangle[hit]]]
            facing = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
            sign = 1.0 if k == 1 else -1.0
            assert (sign * np.einsum("kx,kx->k", facing, contacts.normal[hit]) > 0.0).all()
            vectors = regions.points.vector_area[contacts.point[~hit]]
            assert (sign * np.einsum("kx,kx->k", vectors, contacts.normal[~hit]) > 0.0).all()
        away = contacts.points[:, 1] - contacts.points[:, 0]
        np.testing.assert_allclose(
            away, contacts.depth[:, None] * contacts.normal, atol=1e-12
        )  # straight along the normal
    assert total > 20


def test_contacts_do_not_depend_on_which_body_comes_first():
    rng = np.random.default_rng(1)
    a, b = deformed(built("tets"), rng, apart=0.1), deformed(built("copies"), rng, apart=0.1)
    one, two = contact_points(a, b), contact_points(b, a)
    assert len(one) == len(two) > 10

    def table(contacts, first):
        body = contacts.body if first == 0 else 1 - contacts.body
        order = np.lexsort([contacts.patch[:, 1 - first], contacts.patch[:, first], body])
        sign = 1.0 if first == 0 else -1.0
        return (
            contacts.points[order][:, [first, 1 - first]],
            sign * contacts.normal[order],
            contacts.depth[order],
            contacts.area[order],
        )

    for left, right in zip(table(one, 0), table(two, 1), strict=True):
        np.testing.assert_allclose(left, right, atol=1e-9)


def test_a_ray_that_leaves_its_own_body_first_gives_no_contact():
    """A plate that leans deep into a block: its lower face would be paired with the block's top through thin air."""
    lean = np.deg2rad(40.0)
    turn = np.array(
        [[np.cos(lean), 0.0, np.sin(lean)], [0.0, 1.0, 0.0], [-np.sin(lean), 0.0, np.cos(lean)]]
    )
    plate = placed(box((0.1, 1.0, 2.0), (-0.05, -0.5, -1.0)), turn=turn, resolution=12)
    block = placed(box((4.0, 4.0, 2.0), (-2.0, -2.0, -2.0)), resolution=4)
    regions = contact_regions(plate, block)
    np.testing.assert_allclose(regions.normal, [[0.0, 0.0, 1.0]], atol=1e-9)
    contacts = contact_points(plate, block, regions)
    points = regions.points
    is_facing = (points.body == 0) & (points.vector_area[:, 2] < 0.0)
    own = contacts.body == 0
    assert 2 < own.sum() < 0.5 * is_facing.sum()
    share = np.linspace(0.02, 0.98, 25)[:, None, None]
    way = (1.0 - share) * contacts.points[:, 0] + share * contacts.points[:, 1]
    assert are_inside(plate, way.reshape(-1, 3)).all()


def test_a_body_wholly_inside_another_is_led_out_on_the_side_it_is_near():
    small = placed(ball(2, radius=0.2), at=(0.0, 0.5, 0.0), resolution=3)
    asset = built("tets")
    large = pose(asset.collision, asset.cage_nodes)
    for a, b, side in ((small, large, 0), (large, small, 1)):
        contacts = contact_points(a, b)
        assert len(contacts) > 5 and (contacts.body == side).all()
        sign = 1.0 if side == 0 else -1.0
        assert (sign * contacts.normal[:, 1] > 0.95).all()
        # The far half of the ball is led all the way: it would be out if every point were.
        assert contacts.depth.max() == pytest.approx(0.5 + 0.2, abs=0.03)
        distance = closest_points((b, a)[side], contacts.points[:, side]).distance
        assert (contacts.depth >= distance - 1e-9).all()
        out = contacts.points[:, side] + (contacts.depth + 1e-6)[:, None] * sign * contacts.normal
        assert not are_inside(large, out).any()


def test_contacts_stay_the_same_features_while_a_cube_slides():
    keys = []
    for x in (0.03, 0.0301, 0.0302):
        cube, floor, _ = on_each_other(1e-3, shift=(x, 0.07))
        contacts = contact_points(cube, floor)
        own = contacts.patch[np.arange(len(contacts)), contacts.body]
        keys.append(list(zip(contacts.body.tolist(), own.tolist(), strict=True)))
        assert len(set(keys[-1])) == len(keys[-1])
    assert keys[0] == keys[1] == keys[2]


def test_depths_follow_the_pose_linearly():
    """What the response assumes: moving A along the normal by h makes every contact shallower by h."""
    rng = np.random.default_rng(3)
    a = deformed(built("tets"), rng, apart=0.0)
    b = placed(box((4.0, 4.0, 2.0), (-2.0, -2.0, -2.1)), resolution=4)
    before = contact_points(a, b)
    assert (before.body == 0).sum() > 3
    h = 1e-5
    after = contact_points(pose(a.surface, a.nodes + [0.0, 0.0, h]), b)
    is_whole = contact_regions(a, b).points.is_whole[before.point]
    for own in (0, 1):
        rows = (before.body == own) & is_whole
        np.testing.assert_array_equal(before.patch[rows], after.patch[rows])
        np.testing.assert_allclose(before.depth[rows] - after.depth[rows], h, rtol=1e-6)


@pytest.mark.parametrize("depth, least", [(1e-5, 0.999), (0.02, 0.97)])
def test_no_contact_is_deeper_than_bodies_were_pressed_and_all_that_faces_has_one(depth, least):
    """Moved back by `depth` along the direction of pressing they would just touch."""
    rng, total = np.random.default_rng(5), 0
    for name in ("tets", "copies", "torus", "hexes"):
        a = deformed(built(name), rng, shake=0.05)
        b = deformed(built("copies"), rng, shake=0.05)
        direction = rng.normal(size=3)
        direction /= np.linalg.norm(direction)
        a = pressed(a, b, direction, depth)
        if a is None:
            continue
        regions = contact_regions(a, b)
        contacts = contact_points(a, b, regions)
        assert (contacts.depth > 0.0).all()
        assert (contacts.depth * (contacts.normal @ direction) < 1.1 * depth).all()
        assert covered(regions, contacts) > least
        total += len(contacts)
    assert total > 4


def test_bodies_apart_have_no_contacts():
    a = pose(built("tets").collision, built("tets").cage_nodes)
    contacts = contact_points(a, pose(a.surface, a.nodes + [5.0, 0.0, 0.0]))
    assert len(contacts) == 0 and contacts.points.shape == (0, 2, 3)


def test_rays_reach_the_side_of_the_other_body_that_is_ahead():
    """By brute force: no exit of the other surface lies between a point and its counterpart."""
    rng = np.random.default_rng(4)
    a, b = deformed(built("copies"), rng, apart=0.05), deformed(built("torus"), rng, apart=0.05)
    contacts = contact_points(a, b)
    assert len(contacts) > 10
    for k, sign in ((0, 1.0), (1, -1.0)):
        rows = (contacts.body == k) & (contacts.depth > 1e-6)
        other = (b, a)[k]
        again = cast_rays(other, contacts.points[rows, k], sign * contacts.normal[rows])
        np.testing.assert_array_equal(again.triangle, contacts.triangle[rows])
        np.testing.assert_allclose(again.distance, contacts.depth[rows], atol=1e-9)


@pytest.mark.parametrize("is_on_surface", [True, False])
@pytest.mark.parametrize("kind", POSES)
@pytest.mark.filterwarnings("error")
def test_contacts_are_finite_in_poses_of_all_kinds(kind, is_on_surface, monkeypatch):
    """Also where lines through centroids miss the surface, as all of them do here if not `is_on_surface`."""
    if not is_on_surface:
        lines = contacts_module._lines

        def missing(*arguments):
            found = lines(*arguments)
            return found._replace(start=np.zeros_like(found.start))

        monkeypatch.setattr(contacts_module, "_lines", missing)
    rng = np.random.default_rng(6)
    one, two = built("tets"), built("copies")
    scale = np.ptp(two.cage_nodes, axis=0).max() / np.ptp(one.cage_nodes, axis=0).max()
    for _ in range(4):
        state = rng.bit_generator.state
        x = posed_nodes(kind, one.cage_nodes * scale, rng)
        rng.bit_generator.state = state  # the same kind of pose at the same place
        y = posed_nodes(kind, two.cage_nodes - two.cage_nodes.mean(axis=0), rng)
        y += 0.2 * np.ptp(x, axis=0) * rng.normal(size=3)
        a, b = pose(one.collision, x), pose(two.collision, y)
        regions = contact_regions(a, b)
        contacts = contact_points(a, b, regions)
        for array in (regions.vector_area, regions.normal, regions.flank_normal, regions.area):
            assert np.isfinite(array).all()
        for name in ("weights", "points", "normal", "depth", "area", "facing"):
            assert np.isfinite(getattr(contacts, name)).all(), name
        for k, posed in enumerate((a, b)):  # in the box around their patches
            start = posed.surface.patch_vertex_start
            for n, p in enumerate(contacts.patch[:, k].tolist()):
                x = posed.vertices[start[p] : start[p + 1]]
                slack = 1e-3 * np.ptp(x, axis=0).max() + 1e-9 * np.abs(x).max()
                assert (contacts.points[n, k] >= x.min(axis=0) - slack).all()
                assert (contacts.points[n, k] <= x.max(axis=0) + slack).all()
        size = np.ptp(np.concatenate([a.vertices, b.vertices]), axis=0).max()
        assert (np.abs(contacts.depth) < 2.0 * size).all()
