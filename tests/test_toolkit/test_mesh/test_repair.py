"""What a mesh means as a solid: closed, wound outwards, nothing edited silently."""

import numpy as np
import pytest
from shapes import ball, box, inside_out, together, torus

from jellycage.toolkit.errors import MeshError
from jellycage.toolkit.mesh.mesh import TriMesh, as_mesh
from jellycage.toolkit.mesh.repair import mesh_report, solid_of
from jellycage.toolkit.mesh.repair_kernels import find_windings


def volume(solid):
    """Signed volume of a solid."""
    return TriMesh(solid.vertices, solid.faces).volume()


def winding_numbers(points, solid):
    """Solid angles after van Oosterom and Strackee 1983, doi:10.1109/TBME.1983.325207."""
    a, b, c = (solid.vertices[solid.faces[:, k]] - points[:, None] for k in range(3))
    la, lb, lc = (np.linalg.norm(side, axis=2) for side in (a, b, c))
    below = la * lb * lc + (a * b).sum(2) * lc + (b * c).sum(2) * la + (c * a).sum(2) * lb
    above = np.einsum("pfi,pfi->pf", a, np.cross(b, c))
    return (2 * np.arctan2(above, below)).sum(axis=1) / (4 * np.pi)


def assert_winding_is_whole(solid):
    """The winding number of a closed chain is an integer everywhere off the surface."""
    low, high = solid.vertices.min(axis=0), solid.vertices.max(axis=0)
    points = np.random.default_rng(3).uniform(low, high, size=(40, 3))
    winding = winding_numbers(points, solid)
    assert np.abs(winding - np.round(winding)).max() < 1e-9


def open_ball(removed=5):
    vertices, faces = ball(2)
    return vertices, faces[removed:]


@pytest.mark.parametrize("mesh, true", [(box(), 1.0), (ball(3), None), (torus(), None)])
def test_a_clean_mesh_is_left_alone(mesh, true):
    vertices, faces = mesh
    solid = solid_of(as_mesh(mesh))
    assert np.array_equal(solid.vertices, vertices) and np.array_equal(solid.faces, faces)
    assert np.array_equal(solid.source_face, np.arange(len(faces)))
    assert np.array_equal(solid.vertex_of, np.arange(len(vertices)))
    assert not solid.flipped.any() and solid.shell_count == 1 and solid.warnings == ()
    assert true is None or volume(solid) == pytest.approx(true)


@pytest.mark.parametrize("offset, scale", [(1e8, 1.0), (0.0, 1e-6), (0.0, 1e-150), (0.0, 1e150)])
def test_results_do_not_depend_on_place_or_size(offset, scale):
    vertices, faces = together(open_ball(), ball(1, 0.3), ball(1, 0.4, (3.0, 0, 0)))
    plain = solid_of(as_mesh((vertices, faces)))
    moved = solid_of(as_mesh((vertices * scale + offset, faces)))
    assert np.array_equal(plain.faces, moved.faces) and plain.warnings == moved.warnings
    # Positions near 1e8 are rounded to 1.5e-8.
    assert np.allclose((moved.vertices - offset) / scale, plain.vertices, rtol=0, atol=1e-7)


def test_soup_is_welded_bit_for_bit():
    vertices, faces = ball(2, 1e-9)
    solid = solid_of(TriMesh(vertices[faces.ravel()], np.arange(faces.size).reshape(-1, 3)))
    assert len(solid.vertices) == len(vertices) and solid.boundary_edges == 0
    assert np.array_equal(solid.vertices[solid.vertex_of], vertices[faces.ravel()])


def test_minus_zero_is_the_same_place_as_zero():
    vertices, faces = box()
    soup = vertices[faces.ravel()]
    soup[::2][soup[::2] == 0] = -0.0
    assert len(solid_of(TriMesh(soup, np.arange(36).reshape(-1, 3))).vertices) == 8


def test_unused_vertices_are_dropped_and_said():
    vertices, faces = box()
    solid = solid_of(as_mesh((np.vstack([[[50, 50, 50]], vertices]), faces + 1)))
    assert solid.vertex_of[0] == -1 and len(solid.vertices) == 8
    assert solid.warnings == ("1 vertex in no face ignored.",)


def test_slivers_stay_and_repeated_corners_go():
    vertices, faces = box()
    sliver = np.vstack([vertices, (vertices[0] + vertices[2]) / 2])
    # The diagonal 0-2 gets a vertex on one side only: a zero-area sliver closes the gap.
    keep = [face for face in faces.tolist() if set(face) != {0, 2, 3}]
    cut = [[0, 3, 8], [8, 3, 2], [0, 8, 2], [1, 1, 4]]
    solid = solid_of(as_mesh((sliver, np.array(keep + cut))))
    assert len(solid.faces) == 14 and solid.boundary_edges == 0
    assert "1 face without area" in solid.warnings[0] and volume(solid) == pytest.approx(1.0)


def test_every_face_twice_gives_the_clean_mesh():
    vertices, faces = ball(2)
    twice = np.concatenate([faces, faces[::-1]])
    solid = solid_of(as_mesh((vertices, twice)))
    assert (
        np.array_equal(solid.faces, faces) and f"{len(faces)} faces left out" in solid.warnings[0]
    )


def test_every_face_from_both_sides_gives_the_clean_mesh():
    vertices, faces = ball(2)
    solid = solid_of(as_mesh((vertices, np.concatenate([faces, faces[:, ::-1]]))))
    assert np.array_equal(solid.faces, faces)


def test_a_few_flipped_faces_are_flipped_back():
    vertices, faces = ball(2)
    mixed = faces.copy()
    wrong = np.random.default_rng(0).choice(len(faces), 20, replace=False)
    mixed[wrong] = mixed[wrong][:, ::-1]
    solid = solid_of(as_mesh((vertices, mixed)))
    assert np.array_equal(np.flatnonzero(solid.flipped), np.sort(wrong))
    assert "20 faces wound against" in solid.warnings[0]
    assert volume(solid) == pytest.approx(as_mesh((vertices, faces)).volume())


NESTS = {
    "ball": [ball(1)],
    "cavity": [ball(2), inside_out(ball(2, 0.5))],
    "overlap": [ball(2), ball(2, 0.5)],
    "solid in cavity": [ball(2), inside_out(ball(2, 0.6)), ball(1, 0.3)],
    "apart": [ball(1), ball(1, 0.5, (3, 0, 0))],
}


@pytest.mark.parametrize("parts", NESTS.values(), ids=NESTS)
def test_a_mesh_and_its_inside_out_copy_mean_the_same_solid(parts):
    plain = solid_of(as_mesh(together(*parts)))
    turned = solid_of(as_mesh(inside_out(together(*parts))))
    assert volume(turned) == pytest.approx(volume(plain))
    assert turned.flipped.all() and not plain.flipped.any()
    assert f"All {len(plain.faces)} faces pointed inwards" in turned.warnings[0]
    assert turned.warnings[1:] == plain.warnings


def test_a_cavity_stays_hollow():
    solid = solid_of(as_mesh(together(ball(3), inside_out(ball(3, 0.5)))))
    assert any("1 shell is a cavity" in note for note in solid.warnings)
    assert volume(solid) == pytest.approx(as_mesh(ball(3)).volume() * (1 - 0.125))


def test_a_solid_inside_another_is_named():
    solid = solid_of(as_mesh(together(ball(3), ball(2, 0.5))))
    assert any("overlaps another" in note for note in solid.warnings)


def test_one_inverted_part_among_several_is_flipped():
    parts = [ball(1), inside_out(ball(1, 1.0, (3, 0, 0))), ball(1, 1.0, (6, 0, 0))]
    solid = solid_of(as_mesh(together(*parts)))
    assert volume(solid) == pytest.approx(3 * as_mesh(ball(1)).volume())
    assert "1 part (32 faces) pointed inwards" in solid.warnings[0]
    assert "3 separate parts." in solid.warnings


def test_a_touching_part_is_not_taken_for_a_cavity():
    low = box((2.0, 2.0, 1.0))
    for corner in ((0.5, 0.5, 1.0), (0.5, 0.5, -1.0), (2.0, 0.5, 0.0)):
        solid = solid_of(as_mesh(together(low, inside_out(box((1, 1, 1), corner)))))
        assert volume(solid) == pytest.approx(5.0)
        assert not any("overlap" in note or "cavit" in note for note in solid.warnings)


def test_two_balls_that_share_a_vertex_are_two_shells():
    solid = solid_of(as_mesh(together(ball(1), ball(1, 1.0, (2.0, 0, 0)))))
    assert len(solid.vertices) == 2 * len(ball(1)[0]) and solid.shell_count == 2


def test_two_boxes_that_share_an_edge_are_two_shells_and_each_is_turned_outwards():
    solid = solid_of(as_mesh(together(box(), inside_out(box((1, 1, 1), (1, 1, 0))))))
    assert solid.nonmanifold_edges == 1 and solid.shell_count == 2
    assert volume(solid) == pytest.approx(2.0)


def test_holes_are_closed_by_caps_and_counted():
    vertices, faces = box()
    solid = solid_of(as_mesh((vertices, faces[4:])))
    assert solid.boundary_edges == 8 and "2 holes (8 boundary edges) closed" in solid.warnings[0]
    assert (solid.source_face == -1).sum() == 8 and np.all(solid.shell == 0)
    assert volume(solid) == pytest.approx(1.0)


def test_a_fin_changes_neither_volume_nor_winding():
    vertices, faces = box()
    fin = np.vstack([vertices, [2.0, 2.0, 2.0]]), np.vstack([faces, [0, 1, 8]])
    solid = solid_of(as_mesh(fin))
    assert solid.nonmanifold_edges == 1 and volume(solid) == pytest.approx(1.0)
    assert any("1 edge is shared by more than two faces" in note for note in solid.warnings)
    assert_winding_is_whole(solid)


def test_an_inner_wall_changes_no_volume():
    vertices, faces = together(box(), box((1, 1, 1), (1, 0, 0)))
    assert volume(solid_of(as_mesh((vertices, faces)))) == pytest.approx(2.0)


def moebius(count=24):
    angle = 2 * np.pi * np.arange(count) / count
    rows = []
    for side in (-0.3, 0.3):
        reach = 1 + side * np.cos(angle / 2)
        rows.append(
            np.stack([reach * np.cos(angle), reach * np.sin(angle), side * np.sin(angle / 2)], 1)
        )
    faces = []
    for k in range(count):
        a, b, c, d = k, k + 1, k + count, k + count + 1
        if k == count - 1:
            b, d = count, 0
        faces += [[a, b, d], [a, d, c]]
    return np.concatenate(rows), np.array(faces)


@pytest.mark.parametrize("seed", range(12))
def test_winding_numbers_are_whole_for_any_faces(seed):
    rng = np.random.default_rng(seed)
    vertices, faces = ball(1)
    broken = faces[rng.random(len(faces)) > 0.2]
    extra = np.array([rng.choice(len(vertices), 3, replace=False) for _ in range(15)])
    solid = solid_of(as_mesh((vertices, np.concatenate([broken, extra]))))
    assert_winding_is_whole(solid)


def test_a_one_sided_surface_is_closed_and_said():
    vertices, faces = together(moebius(), ball(1, 1.0, (5, 0, 0)))
    solid = solid_of(as_mesh((vertices, faces)))
    assert any("one-sided" in note for note in solid.warnings)
    assert_winding_is_whole(solid)


def test_crossing_counts_equal_solid_angles():
    solid = solid_of(as_mesh(together(torus(), ball(2, 0.3, (1.0, 0, 0)))))
    points = np.random.default_rng(5).uniform(-1.5, 1.5, size=(200, 3))
    whole = np.round(winding_numbers(points, solid)).astype(int)
    big = np.full((len(points), 3), np.inf)
    start = np.zeros(len(points) + 1, dtype=np.int64)
    start[1:] = len(solid.faces)  # the first shell has all faces, the others none
    low, high = -big, big
    out = [np.empty(len(points), dtype=np.int32) for _ in range(3)]
    # A shell is never tested against its own point, so the first point is skipped.
    found = find_windings(points, solid.vertices.copy(), solid.faces.copy(), start, low, high, *out)
    counted = np.zeros(len(points), dtype=int)
    counted[out[1][:found]] = out[2][:found]
    assert np.array_equal(counted[1:], whole[1:]) and set(whole) == {0, 1, 2}


@pytest.mark.parametrize("tilt", [0.0, 0.7])
def test_a_flat_sheet_has_no_volume(tilt):
    x, y = (axis.ravel() for axis in np.meshgrid(np.arange(5.0), np.arange(5.0)))
    vertices = np.stack([x, y, tilt * x], axis=1).astype(np.float32)
    faces = [f for k in range(19) if k % 5 < 4 for f in ([k, k + 1, k + 6], [k, k + 6, k + 5])]
    with pytest.raises(MeshError, match="has no volume.*Solidify"):
        solid_of(as_mesh((vertices, np.array(faces))))


@pytest.mark.parametrize("faces", [np.zeros((0, 3), int), [[0, 0, 1]], [[0, 1, 2]]])
def test_next_to_nothing_has_no_volume(faces):
    with pytest.raises(MeshError, match="no volume"):
        solid_of(as_mesh((np.eye(3), np.array(faces))))


def test_a_thin_closed_sheet_is_a_solid():
    assert volume(solid_of(as_mesh(box((1.0, 1.0, 0.002))))) == pytest.approx(0.002)


def test_hundreds_of_shells_are_sorted_out():
    rng = np.random.default_rng(2)
    bubbles = [inside_out(ball(0, 0.01, centre)) for centre in rng.uniform(-0.5, 0.5, (300, 3))]
    solid = solid_of(as_mesh(together(ball(4), *bubbles)))
    assert solid.shell_count == 301 and any("300 shells are cavities" in n for n in solid.warnings)


@pytest.mark.parametrize(
    "mesh, genus, components",
    [(ball(2), 0, 1), (torus(), 1, 1), (together(torus(), ball(1, 0.1)), 1, 2)],
)
def test_report_of_clean_meshes(mesh, genus, components):
    report = mesh_report(as_mesh(mesh))
    assert report.is_closed and report.is_consistently_wound and report.problems == ()
    assert (report.genus, report.components) == (genus, components)


def test_report_names_each_problem_with_a_remedy():
    vertices, faces = box()
    wrong = faces.copy()
    wrong[0] = wrong[0][::-1]
    fin = np.vstack([wrong, [0, 1, 8], [2, 2, 3], faces[5]])
    report = mesh_report(as_mesh((np.vstack([vertices, [2, 2, 2], [7, 7, 7]]), fin)))
    assert not report.is_closed and not report.is_consistently_wound and report.genus is None
    assert report.boundary_edges == 2 and report.degenerate_faces == 1
    assert report.duplicate_faces == 1 and report.unreferenced_vertices == 1
    assert len(report.problems) == 6 and all(":" in sentence for sentence in report.problems)


def test_report_has_no_genus_where_two_parts_meet_in_a_vertex():
    report = mesh_report(as_mesh(together(ball(1), ball(1, 1.0, (2.0, 0, 0)))))
    assert report.is_closed and report.genus is None and report.components == 2


def test_report_accepts_a_mesh_without_faces():
    report = mesh_report(as_mesh((np.eye(3), np.zeros((0, 3), int))))
    assert report.faces == 0 and "no faces" in report.problems[0]
