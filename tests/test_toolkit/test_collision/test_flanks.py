import numpy as np
from region_oracles import placed
from shapes import box

from jellycage.toolkit.collision.contacts import contact_points
from jellycage.toolkit.collision.flanks import SPREAD
from jellycage.toolkit.collision.regions import contact_regions


def prism(outline, length):
    """An outline in the xz plane, star-shaped about its first corner, along y."""
    outline, count = np.asarray(outline, float), len(outline)
    ends = [np.insert(outline, 1, y, axis=1) for y in (-length / 2, length / 2)]
    fan = [[0, i, i + 1] for i in range(1, count - 1)]
    faces = fan + [[count + i for i in row[::-1]] for row in fan]
    for i in range(count):
        j = (i + 1) % count
        faces += [[i, count + i, count + j], [i, count + j, j]]
    faces = np.array(faces)
    vertices = np.concatenate(ends)
    volume = np.linalg.det(vertices[faces]).sum()
    return vertices, faces if volume > 0.0 else faces[:, ::-1]


GROOVE = prism([(0.0, -0.5), (-1.0, 0.5), (-1.0, -1.0), (1.0, -1.0), (1.0, 0.5)], 2.0)


def wedge(depth):
    """A square bar that stands on its edge in the groove, sunk in by a depth across its faces."""
    half = 0.4 * np.sqrt(2.0)
    bar = prism([(0.0, -half), (half, 0.0), (0.0, half), (-half, 0.0)], 1.0)
    return placed(bar, at=(0.0, 0.0, half - 0.5 - np.sqrt(2.0) * depth), resolution=4)


def test_a_wedge_in_a_groove_has_two_flanks_with_the_normals_of_its_faces():
    """To 5 degrees: the patches along the wedge's edge are on both faces, and belong to one flank."""
    bar, groove = wedge(0.01), placed(GROOVE, resolution=5)
    regions = contact_regions(bar, groove)
    assert len(regions) == 1
    np.testing.assert_allclose(regions.normal, [[0.0, 0.0, 1.0]], atol=1e-6)
    assert regions.flank_region.tolist() == [0, 0]
    wanted = np.sqrt(0.5) * np.array([[-1.0, 0.0, 1.0], [1.0, 0.0, 1.0]])
    found = regions.flank_normal[np.argsort(regions.flank_normal[:, 0])]
    assert (np.einsum("fx,fx->f", found, wanted) > np.cos(np.deg2rad(5.0))).all()
    contacts = contact_points(bar, groove, regions)
    deep = contacts.facing > 1e-3
    np.testing.assert_allclose(contacts.depth[deep], 0.01, rtol=0.1)
    for flank in (0, 1):
        rows = contacts.flank == flank
        assert {0, 1} == set(contacts.body[rows])
        assert contacts.facing[rows].sum() / 2.0 > 0.9 * 0.8


def test_a_cube_on_a_floor_has_one_flank_although_its_walls_dip_in():
    floor = placed(box((3.0, 3.0, 1.0), (-1.5, -1.5, -1.0)), resolution=6)
    cube = placed(box(), at=(-0.5, -0.5, -0.4), resolution=3)
    for a, b in ((cube, floor), (floor, cube)):
        regions = contact_regions(a, b)
        assert len(regions.flank_region) == 1
        np.testing.assert_array_equal(regions.flank_normal, regions.normal)


def test_a_rod_through_a_plate_is_split_until_normals_agree():
    """Section 5.5.5: the curves have opposite normals, and so have the sides of the rod."""
    plate = placed(box((2.0, 2.0, 0.4), (-1.0, -1.0, -0.2)), resolution=8)
    angles = np.arange(16) * np.pi / 8
    rod = prism(0.3 * np.stack([np.cos(angles), np.sin(angles)], axis=1), 3.0)
    rod = placed(rod, turn=[[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]], resolution=16)
    regions = contact_regions(rod, plate)
    assert len(regions) == 1 and len(regions.curves) == 2
    np.testing.assert_allclose(regions.vector_area, 0.0, atol=1e-12)
    assert len(regions.flank_region) >= 4
    points = regions.points
    toward = points.vector_area * np.where(points.body == 0, -1.0, 1.0)[:, None]
    for flank in range(len(regions.flank_region)):
        agreement = 0.0
        for body in (0, 1):
            own = toward[(regions.flank == flank) & (points.body == body)]
            if len(own):
                total = np.linalg.norm(own, axis=1).sum()
                agreement = max(agreement, np.linalg.norm(own.sum(axis=0)) / total)
        assert agreement >= np.cos(SPREAD / 2) or (regions.flank == flank).sum() == 1
    np.testing.assert_allclose(np.linalg.norm(regions.flank_normal, axis=1), 1.0)


def test_flanks_do_not_depend_on_which_body_comes_first():
    bar, groove = wedge(0.02), placed(GROOVE, resolution=5)
    one, two = contact_regions(bar, groove), contact_regions(groove, bar)
    first = one.flank_normal[np.argsort(one.flank_normal[:, 0])]
    second = -two.flank_normal[np.argsort(-two.flank_normal[:, 0])]
    np.testing.assert_allclose(first, second, atol=1e-9)
