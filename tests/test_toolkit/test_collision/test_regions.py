import numpy as np
import pytest
from region_oracles import (
    ASSETS,
    assert_areas_agree,
    assert_inside_is_exact,
    built,
    clipped_patches,
    deformed,
    placed,
    walked_regions,
    winding_levels,
)
from shapes import ball, blocks, box, hollow_cells, together, torus

from jellycage import toolkit
from jellycage.toolkit.collision.bdop import pack_triangles
from jellycage.toolkit.collision.curves import contact_curves
from jellycage.toolkit.collision.posed import pose
from jellycage.toolkit.collision.regions import contact_regions
from jellycage.toolkit.collision.rim_kernels import Patched, twin_edge


@pytest.mark.parametrize("name", ASSETS)
def test_what_is_inside_is_what_has_a_winding_number(name):
    rng, total = np.random.default_rng(0), 0
    for other in ("torus", "copies", "two parts"):
        a, b = deformed(built(name), rng), deformed(built(other), rng)
        regions = contact_regions(a, b)
        total += assert_inside_is_exact(a, b, regions)
        assert_areas_agree(regions)
    assert total > 100


def test_regions_are_those_of_walking_around_every_crossed_triangle():
    """Rough bodies, so that many curves share regions and triangles."""
    rng, curves, regions = np.random.default_rng(9), 0, 0
    for name in ("copies", "torus", "two parts", "tets"):
        for _ in range(3):
            a = deformed(built(name), rng, shake=0.15, apart=0.1)
            b = deformed(built("copies"), rng, shake=0.15, apart=0.1)
            found = contact_regions(a, b)
            if not winding_levels(found) <= {0, 1}:
                continue
            walked = walked_regions(a, b, found.curves)
            if walked is not None:
                assert found.curve_region.tolist() == walked
                curves, regions = curves + len(walked), regions + max(walked, default=-1) + 1
    assert curves > regions + 5 and regions > 8


@pytest.mark.parametrize("shake", [0.4, 1.0])
def test_bodies_that_overlap_themselves_or_are_turned_inside_out_are_counted_exactly(shake):
    rng, seen = np.random.default_rng(1), set()
    for _ in range(5):
        a = deformed(built("copies"), rng, shake=shake, bend=0.6)
        b = deformed(built("torus"), rng, shake=shake, bend=0.6)
        regions = contact_regions(a, b)
        assert_inside_is_exact(a, b, regions)
        assert_areas_agree(regions)
        for inside in regions.inside:
            seen |= set(inside.flooded.winding.tolist())
    assert {1, 2} <= seen and (shake < 1.0 or -1 in seen)


def test_bodies_that_touch_on_a_lattice_are_decided_as_their_crossings_are():
    """Faces, edges and vertices of one body lie exactly on those of the other."""
    asset = toolkit.build_cage(box(), resolution=2)
    nodes = np.round(8.0 * asset.cage_nodes) / 8.0
    a = pose(asset.collision, nodes)
    for shift in np.ndindex(3, 3, 3):
        b = pose(asset.collision, nodes + 0.25 * np.array(shift) - 0.25)
        regions = contact_regions(a, b)
        assert_inside_is_exact(a, b, regions)


def test_areas_and_centroids_are_those_of_clipping_by_a_convex_body():
    rng, whole = np.random.default_rng(2), 0
    convex = toolkit.build_cage(ball(2), resolution=3)
    for name in ("copies", "torus", "hexes"):
        own = deformed(built(name), rng, bend=0.0, apart=0.0)
        stretch = 0.4 * (np.eye(3) + 0.2 * rng.normal(size=(3, 3)))
        stretch *= np.sign(np.linalg.det(stretch))
        middle = own.vertices[rng.integers(len(own.vertices))]
        other = pose(convex.collision, convex.cage_nodes @ stretch + middle)
        regions = contact_regions(own, other)
        assert len(regions) > 0
        wanted, full = clipped_patches(own, other)
        points = regions.points
        is_a = points.body == 0
        for k in range(3):
            found = np.bincount(
                points.patch[is_a], points.vector_area[is_a, k], minlength=len(full)
            )
            np.testing.assert_allclose(found, wanted[:, 1 + k], atol=1e-13)
        is_cut = is_a & ~points.is_whole
        area = np.bincount(points.patch[is_cut], points.area[is_cut], minlength=len(full))
        at = points.patch[is_cut]
        np.testing.assert_allclose(area[at], wanted[at, 0], atol=1e-13)
        for k in range(3):
            moment = np.bincount(
                at, points.area[is_cut] * points.centre[is_cut, k], minlength=len(full)
            )
            np.testing.assert_allclose(moment[at], wanted[at, 4 + k], atol=1e-13)
        rows = is_a & points.is_whole
        np.testing.assert_allclose(wanted[points.patch[rows], 0], full[points.patch[rows]])
        whole += rows.sum()
    assert whole > 10


def test_areas_and_centroids_of_whole_patches_are_within_the_stated_bound():
    rng, moved = np.random.default_rng(3), 0
    asset = built("tets")
    large = toolkit.build_cage(box((4.0, 4.0, 4.0), (-2.0, -2.0, -2.0)), resolution=1)
    for _ in range(3):
        own = deformed(asset, rng, shake=0.15, bend=0.3, apart=0.0)
        regions = contact_regions(own, pose(large.collision, large.cage_nodes))
        points, s = regions.points, asset.collision
        assert points.is_whole.all() and len(points) == len(s.patch_area)
        rest = asset.cage_nodes[s.tets]
        now = own.nodes[s.tets]
        gradient = np.swapaxes(now[:, :3] - now[:, 3:], 1, 2) @ np.linalg.inv(
            np.swapaxes(rest[:, :3] - rest[:, 3:], 1, 2)
        )
        stretch = np.linalg.svd(gradient, compute_uv=False)
        bound = (stretch[:, 0] / stretch[:, 2])[s.patch_tet[points.patch]]
        corners = own.vertices[s.vertices]
        vector = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        area, centre = np.linalg.norm(vector, axis=1), corners.mean(axis=1)
        for n, p in enumerate(points.patch):
            rows = slice(s.patch_triangle_start[p], s.patch_triangle_start[p + 1])
            ratio = points.area[n] / area[rows].sum()
            assert 1.0 / bound[n] - 1e-12 <= ratio <= bound[n] + 1e-12
            np.testing.assert_allclose(points.vector_area[n], vector[rows].sum(axis=0), atol=1e-14)
            true = area[rows] @ centre[rows] / area[rows].sum()
            x = own.vertices[s.patch_vertex_start[p] : s.patch_vertex_start[p + 1]]
            diameter = np.linalg.norm(x[:, None] - x, axis=2).max()
            k = np.sqrt(bound[n])
            away = np.linalg.norm(points.centre[n] - true)
            assert away <= (k - 1.0) / (k + 1.0) * diameter + 1e-12
            moved += away > 1e-4 * diameter
    assert moved > 10  # the bound has something to bound


def test_whole_patches_keep_their_area_when_turned():
    rng = np.random.default_rng(4)
    asset = built("tets")
    own = deformed(asset, rng, shake=0.0, bend=0.0, apart=0.0)
    large = toolkit.build_cage(box((4.0, 4.0, 4.0), (-2.0, -2.0, -2.0)), resolution=1)
    points = contact_regions(own, pose(large.collision, large.cage_nodes)).points
    size = np.ptp(asset.cage_nodes, axis=0).max()
    rest = asset.collision.patch_area[points.patch] / size**2
    np.testing.assert_allclose(points.area, rest, rtol=1e-12)


TURNED = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""A torus about z becomes one about y: its ring stands upright."""


def test_a_ring_that_stands_in_a_block_is_one_region_with_two_curves():
    block = placed(box((4.0, 4.0, 2.0), (-2.0, -2.0, -2.03)), resolution=1)
    ring = placed(torus(), resolution=5, turn=TURNED)
    for a, b in ((ring, block), (block, ring)):
        regions = contact_regions(a, b)
        assert regions.curve_region.tolist() == [0, 0]
        assert len(contact_regions(b, a).points) == len(regions.points)


def test_a_ring_that_lies_in_a_block_is_one_region_around_a_hole():
    """Its inner curve is a hole in what of the block's face is inside, within a triangle or two."""
    for resolution in (1, 9):
        block = placed(box((4.0, 4.0, 1.0), (-2.0, -2.0, -1.27)), resolution=resolution)
        ring = placed(torus(), resolution=5)
        for a, b in ((ring, block), (block, ring)):
            regions = contact_regions(a, b)
            assert regions.curve_region.tolist() == [0, 0]
            side = 0 if a is block else 1
            outer = np.pi * ((1.0 + 0.3) ** 2 - (1.0 - 0.3) ** 2)  # about
            assert 0.8 * outer < regions.area[0, side] < outer


def test_rings_within_one_triangle_are_told_apart_from_what_they_enclose():
    """A ring dips into a triangle of a block, and a ball through the middle of the ring does, too."""
    block = placed(box((9.0, 9.0, 1.0), (-2.0, -7.0, -1.27)), resolution=1)
    vertices, faces = torus()
    small, more = ball(2, radius=0.3)
    both = np.concatenate([vertices, small]), np.concatenate([faces, more + len(vertices)])
    other = placed(both, resolution=12)
    for a, b in ((other, block), (block, other)):
        regions = contact_regions(a, b)
        assert len(regions) == 2 and sorted(np.bincount(regions.curve_region)) == [1, 2]
        area = np.sort(regions.area[:, 0 if a is block else 1])
        assert area[0] < np.pi * 0.3**2 < area[1]


def test_a_hole_within_one_triangle_belongs_to_what_is_around_it():
    """A hollow cube dips in: nothing but the triangle joins the curve of its hollow to that of its outside."""
    block = placed(box((30.0, 30.0, 9.0), (0.0, 0.0, -9.0)), resolution=1)
    corners = block.vertices[block.surface.vertices]
    up = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, 2]
    at = corners[np.argmax(up)].mean(axis=0) - [0.5, 0.5, 0.45]
    turn = np.linalg.qr(np.array([[1.0, 0.2, 0.1], [-0.2, 1.0, 0.0], [-0.1, 0.0, 1.0]]))[0]
    turn *= np.linalg.det(turn)
    hollow = placed(blocks(*hollow_cells()), at=at, turn=turn, resolution=5)
    for a, b in ((hollow, block), (block, hollow)):
        regions = contact_regions(a, b)
        assert np.ptp(regions.curves.crossings.triangle[:, 0 if a is block else 1]) == 0
        assert regions.curve_region.tolist() == [0, 0]
        area = regions.area[0, 0 if a is block else 1]
        outer, inner = np.sort(np.linalg.norm(regions.curves.vector_area, axis=1))[::-1]
        assert area == pytest.approx(outer - inner, rel=1e-9)


def test_parts_that_dip_in_apart_are_regions_of_their_own():
    block = placed(box((6.0, 4.0, 1.0), (-2.0, -2.0, -1.7)), resolution=1)
    regions = contact_regions(built_pose("two parts"), block)
    assert len(regions) == 2 and len(regions.curves) == 2
    np.testing.assert_allclose(regions.normal, [[0.0, 0.0, 1.0]] * 2, atol=1e-12)
    x = np.sort(regions.centre[:, 0, 0])
    np.testing.assert_allclose(x, [0.0, 2.2], atol=1e-2)


def built_pose(name):
    asset = built(name)
    return pose(asset.collision, asset.cage_nodes)


def test_the_normal_is_exact_if_either_surface_is_flat():
    """Property (a) of 5.5.4.1: however uneven the other one is."""
    rng = np.random.default_rng(5)
    block = placed(box((4.0, 4.0, 1.0), (-2.0, -2.0, -1.0)), resolution=3)
    uneven = deformed(built("copies"), rng, shake=0.2, bend=0.2, apart=0.0)
    up, down = contact_regions(uneven, block), contact_regions(block, uneven)
    assert len(up) > 0
    np.testing.assert_allclose(up.normal, np.tile([0.0, 0.0, 1.0], (len(up), 1)), atol=1e-12)
    np.testing.assert_allclose(down.normal, -up.normal[: len(down)], atol=1e-12)


def tip(axis, angle):
    c, s = np.cos(angle), np.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    turn = np.eye(3)
    turn[i, i], turn[i, j], turn[j, i], turn[j, j] = c, -s, s, c
    return turn


def test_a_vertex_in_a_face_is_parted_along_the_face_and_two_edges_along_their_cross_product():
    """Appendix A.3, proximity's normals, whatever the way the bodies are turned."""
    rng = np.random.default_rng(6)
    cube = box((1.0, 1.0, 1.0), (-0.5, -0.5, -0.5))
    world = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    world *= np.linalg.det(world)
    asset = toolkit.build_cage(cube, resolution=1)

    def at(turn, shift):
        return pose(asset.collision, (asset.cage_nodes @ turn.T + shift) @ world.T)

    corner = tip(0, np.arctan(np.sqrt(0.5))) @ tip(2, np.pi / 4)
    corner = tip(1, 0.1) @ tip(0, np.pi / 2) @ tip(0, -np.pi / 2) @ corner
    lower = at(np.eye(3), [0.0, 0.0, -0.5])
    low = (corner @ asset.surface_vertices.T)[2].min()
    upper = at(corner, [0.11, 0.07, -low - 0.01])
    regions = contact_regions(upper, lower)
    assert len(regions) == 1
    np.testing.assert_allclose(regions.normal[0], world @ [0.0, 0.0, 1.0], atol=1e-9)
    # Two edges: one cube stands on its edge along x, the other one hangs with its edge along another direction.
    above, below = tip(0, np.pi / 4), tip(2, 0.9) @ tip(0, np.pi / 4)
    half = np.sqrt(0.5)
    regions = contact_regions(
        at(above, [0.03, 0.02, half - 0.004]), at(below, [0.0, 0.0, -half + 0.004])
    )
    assert len(regions) == 1
    edges = np.cross(above @ [1.0, 0.0, 0.0], below @ [1.0, 0.0, 0.0])
    edges *= np.sign(edges[2]) / np.linalg.norm(edges)
    np.testing.assert_allclose(regions.normal[0], world @ edges, atol=1e-9)


def test_vector_areas_change_linearly_between_changes_of_topology():
    """The second difference falls with the square of the step, and no term is lost in between."""
    rng = np.random.default_rng(7)
    a, b = deformed(built("tets"), rng, apart=0.0), deformed(built("torus"), rng, apart=0.1)
    motion = rng.normal(size=a.nodes.shape)

    def area(step):
        found = contact_regions(pose(a.surface, a.nodes + step * motion), b)
        return found.vector_area, found.curves.crossings.triangle

    middle, pairs = area(0.0)
    assert len(middle) > 0
    seconds = []
    for step in (1e-6, 5e-7):
        (above, more), (below, fewer) = area(step), area(-step)
        np.testing.assert_array_equal(more, pairs)
        np.testing.assert_array_equal(fewer, pairs)
        first, second = (above - below) / (2.0 * step), above - 2.0 * middle + below
        assert np.abs(second).max() < 1e-3 * step * np.abs(first).max()
        seconds.append(np.abs(second).max() / step**2)
    assert seconds[0] == pytest.approx(seconds[1], rel=0.2)


def test_the_volume_between_the_bodies_falls_along_the_vector_area():
    """Property (d): moving A by d changes the volume of a region by the vector area of its part of A, dot d."""
    rng = np.random.default_rng(8)
    a, b = deformed(built("tets"), rng, apart=0.0), deformed(built("copies"), rng, apart=0.1)
    direction = np.array([0.3, -0.5, 0.8])

    def volume(step):
        """By the divergence theorem, over cut triangles and whole ones of both."""
        moved = pose(a.surface, a.nodes + step * direction)
        total = 0.0
        for side, own in enumerate((moved, b)):
            inside = contact_regions(moved, b).inside[side]
            total += enclosed_volume(own, inside, moved, b, side)
        return total

    step = 1e-5
    regions = contact_regions(a, b)
    rate = (volume(step) - volume(-step)) / (2.0 * step)
    assert rate == pytest.approx((regions.vector_area @ direction).sum(), rel=1e-6)


def enclosed_volume(own, inside, a, b, side):
    """Integral of x . n / 3 over what is inside: exact for planar parts, x . n being constant on each."""
    triangles = np.concatenate(
        [inside.triangles]
        + [np.arange(*own.surface.patch_triangle_start[p : p + 2]) for p in inside.patches.tolist()]
    )
    corners = own.vertices[own.surface.vertices[triangles]]
    total = np.linalg.det(corners).sum() / 6.0
    return total + rim_volume(own, inside, contact_curves(a, b), side)


def rim_volume(own, inside, curves, side):
    """The same over the clipped triangles: their vector areas by sorting what pierces their edges."""
    c, total = curves.crossings, 0.0
    for r, t in enumerate(inside.rim.triangle):
        corners = own.vertices[own.surface.vertices[t]]
        rows = np.flatnonzero(c.triangle[:, side] == t)
        ends = c.ends[rows] - corners[0]
        area = np.cross(ends[:, side], ends[:, 1 - side]).sum(axis=0)
        # Along the edge opposite to corner 0 the winding number integrates to this; the others point at corner 0.
        length = float(inside.rim.winding[r, 2])
        for n in rows:
            for end in range(2):
                if c.body[n, end] == side and c.edge[n, end] == 1:
                    is_entry = (end == 0) == (side == 1)
                    length += c.share[n, end] * (-1.0 if is_entry else 1.0)
        area = area + length * np.cross(corners[1] - corners[0], corners[2] - corners[0])
        total += 0.5 * area @ corners[0] / 3.0
    return total


def test_a_body_wholly_inside_another_is_a_region_without_a_curve():
    small = placed(ball(2, radius=0.2), at=(0.5, 0.0, 0.1), resolution=3)
    large = built_pose("tets")
    for a, b, sign in ((small, large, 1.0), (large, small, -1.0)):
        regions = contact_regions(a, b)
        assert len(regions) == 1 and len(regions.curves) == 0
        assert_inside_is_exact(a, b, regions)
        side = 0 if sign > 0 else 1
        assert regions.area[0, side] == pytest.approx(small.surface.patch_area.sum())
        assert regions.area[0, 1 - side] == 0.0
        wanted = sign * np.array([0.5, 0.0, 0.1]) / np.linalg.norm([0.5, 0.0, 0.1])
        assert regions.normal[0] @ wanted > 0.95  # the nearest way out of the large ball


def test_a_body_in_the_hollow_of_another_is_not_inside_it():
    hollow = placed(blocks(*hollow_cells()), resolution=5)
    middle = 0.5 * (hollow.vertices.min(axis=0) + hollow.vertices.max(axis=0))
    small = placed(ball(2, radius=0.1), at=middle, resolution=3)
    assert len(contact_regions(hollow, small)) == 0 and len(contact_regions(small, hollow)) == 0


def test_one_part_may_cross_while_another_is_wholly_inside():
    parts = built_pose("two parts")
    block = placed(box((4.0, 4.0, 4.0), (-1.7, -2.0, -2.0)), resolution=2)
    regions = contact_regions(parts, block)
    assert len(regions) == 2 and regions.curve_region.tolist() == [0]
    assert_inside_is_exact(parts, block, regions)
    assert_areas_agree(regions)


def test_bodies_apart_have_no_regions():
    a = built_pose("tets")
    regions = contact_regions(a, pose(a.surface, a.nodes + [5.0, 0.0, 0.0]))
    assert len(regions) == 0 and len(regions.points) == 0 and regions.area.shape == (0, 2)


def test_a_part_within_one_tet_keeps_its_area_at_rest():
    """Its patch is closed, and has no vector area that would tell how it is stretched."""
    small, parts = 0.02, []
    for x in (1.61, 1.73, 1.87):
        vertices, faces = ball(2, radius=small, centre=(x, 0.13, 0.07))
        parts.append((vertices, faces))
    asset = toolkit.build_cage(together(box((1.0, 1.0, 1.0)), *parts), resolution=3)
    is_closed = np.linalg.norm(asset.collision.patch_vector_area, axis=1) < 1e-12
    assert is_closed.any()
    large = placed(box((4.0, 4.0, 4.0), (-2.0, -2.0, -2.0)), resolution=1)
    points = contact_regions(pose(asset.collision, 0.5 * asset.cage_nodes), large).points
    rows = is_closed[points.patch]
    assert points.is_whole[rows].all()
    np.testing.assert_array_equal(points.area[rows], asset.collision.patch_area[points.patch[rows]])
    np.testing.assert_allclose(points.area[~rows].sum(), 0.25 * 6.0, rtol=0.01)


def test_the_twin_of_an_edge_is_the_one_that_lies_there():
    """Two triangles that share all three edges."""
    vertices = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    faces, neighbours = np.array([[0, 1, 2], [2, 1, 0]]), np.array([[1, 1, 1], [0, 0, 0]])
    words = pack_triangles(faces, neighbours, np.zeros(2, np.uint64))
    none = np.empty(0, np.int32)
    mesh = Patched(words, vertices, none, none, none)
    for edge in range(3):
        twin = twin_edge(mesh, 0, edge, 1)
        assert faces[1, twin] == faces[0, (edge + 1) % 3]
        assert faces[1, (twin + 1) % 3] == faces[0, edge]
