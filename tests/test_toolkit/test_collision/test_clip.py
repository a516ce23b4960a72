import numpy as np
import pytest
from lattice_blocks import lattice_block, tets_around
from shapes import ball, box, random_rotation

from jellycage.toolkit.collision.clip import clip


def cut(points, faces, size=5):
    nodes, tets, cell = lattice_block(size)
    homes = np.zeros(len(faces) + 1, np.int64), np.empty(0, np.int64)
    clipped = clip(
        np.asarray(points, float),
        np.asarray(faces, np.int32),
        edge_numbers(faces),
        nodes,
        tets,
        cell,
        tets_around(points, nodes, tets),
        homes,
    )
    return nodes, tets, clipped


def edge_numbers(faces):
    """The number of the edge from each corner to the next, shape (f, 3)."""
    ends = np.sort(np.stack([faces, np.roll(faces, -1, axis=1)], axis=-1), axis=-1)
    return np.unique(ends.reshape(-1, 2), axis=0, return_inverse=True)[1].reshape(-1, 3)


def vector_areas(x, faces):
    a, b, c = (x[faces[:, corner]] for corner in range(3))
    return np.cross(b - a, c - a) / 2.0


def positions(nodes, tets, clipped):
    return np.einsum("vm,vmx->vx", clipped.vertex_weights, nodes[tets[clipped.vertex_tet]])


def assert_cut(points, faces, nodes, tets, clipped):
    """Everything that a cut surface promises."""
    x = positions(nodes, tets, clipped)
    source = vector_areas(np.asarray(points, float), faces)
    pieces = vector_areas(x, clipped.faces)
    area, piece_area = np.linalg.norm(source, axis=1), np.linalg.norm(pieces, axis=1)
    assert abs(piece_area.sum() / area.sum() - 1.0) < 1e-9
    assert np.linalg.norm(pieces.sum(axis=0) - source.sum(axis=0)) < 1e-9 * area.sum()
    assert (piece_area >= 1e-12 * area[clipped.source_face]).all()
    # Each piece lies on the right side of its own source triangle, in its plane.
    along = np.einsum("tx,tx->t", pieces, source[clipped.source_face])
    assert (along >= 0.99 * piece_area * area[clipped.source_face]).all()
    assert_every_edge_has_its_twin(clipped.faces)
    assert_inside(tets, clipped)
    weights = np.concatenate(
        [clipped.source_weights, 1.0 - clipped.source_weights.sum(axis=2, keepdims=True)], axis=2
    )
    corners = np.asarray(points)[faces[clipped.source_face]]
    np.testing.assert_allclose(
        np.einsum("tck,tkx->tcx", weights, corners), x[clipped.faces], atol=1e-7
    )


def assert_every_edge_has_its_twin(faces):
    ends = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    there, counts = np.unique(ends, axis=0, return_counts=True)
    back, back_counts = np.unique(ends[:, ::-1], axis=0, return_counts=True)
    np.testing.assert_array_equal(there, back)
    np.testing.assert_array_equal(counts, back_counts)


def assert_inside(tets, clipped):
    """No weight is negative, and every corner hangs on nodes of its triangle's tet alone."""
    assert clipped.vertex_weights.min() >= 0.0
    np.testing.assert_allclose(clipped.vertex_weights.sum(axis=1), 1.0, atol=1e-14)
    carrying = np.where(clipped.vertex_weights > 0.0, tets[clipped.vertex_tet], -1)[clipped.faces]
    own = tets[clipped.face_tet][:, None, None]
    assert ((carrying[..., None] == own).any(axis=-1) | (carrying < 0)).all()


def test_a_sphere_is_cut_without_cracks():
    vertices, faces = ball(3)
    points = 2.5 + 1.7 * vertices @ random_rotation(0)
    nodes, tets, clipped = cut(points, faces)
    assert_cut(points, faces, nodes, tets, clipped)
    assert len(clipped.faces) > 2 * len(faces)
    np.testing.assert_allclose(positions(nodes, tets, clipped)[: len(points)], points, atol=1e-13)


def test_a_triangle_inside_one_tet_stays_whole():
    nodes, tets, _ = lattice_block(3)
    vertices, faces = ball(1, radius=0.02, centre=nodes[tets[40]].mean(axis=0))
    nodes, tets, clipped = cut(vertices, faces, 3)
    np.testing.assert_array_equal(clipped.faces, faces)
    assert (clipped.face_tet == 40).all()


@pytest.mark.parametrize(
    "corner, size",
    [((1, 1, 1), (3, 3, 3)), ((1, 1, 1), (3, 2, 1)), ((0.5, 1, 1.5), (3.5, 2.5, 1.5))],
)
def test_boxes_whose_sides_lie_on_lattice_planes_are_cut_without_cracks(corner, size):
    points, faces = box(size, corner)
    nodes, tets, clipped = cut(points, faces)
    assert_cut(points, faces, nodes, tets, clipped)


def test_a_surface_made_of_faces_of_the_cage_is_cut_without_cracks():
    nodes, tets, _ = lattice_block(5)
    inner = (nodes[tets].min(axis=1) >= 1).all(axis=1) & (nodes[tets].max(axis=1) <= 4).all(axis=1)
    faces = outer_faces(nodes, tets[inner])
    used, faces = np.unique(faces, return_inverse=True)
    faces = faces.reshape(-1, 3).astype(np.int32)
    nodes, tets, clipped = cut(nodes[used], faces)
    assert_cut(nodes[used], faces, nodes, tets, clipped)


def outer_faces(nodes, tets):
    """Faces that one tet has alone, counter-clockwise from outside."""
    rows = []
    for corner in range(4):
        others = np.delete(tets, corner, axis=1)
        a, b, c = (nodes[others[:, k]] for k in range(3))
        is_inward = np.einsum("ex,ex->e", np.cross(b - a, c - a), nodes[tets[:, corner]] - a) > 0
        rows.append(np.where(is_inward[:, None], others[:, [0, 2, 1]], others))
    faces = np.concatenate(rows)
    _, first, count = np.unique(
        np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True
    )
    return faces[first[count == 1]]


@pytest.mark.parametrize("seed", range(12))
def test_vertices_on_faces_edges_and_nodes_leave_no_crack(seed):
    """Closed surfaces with vertices on a coarse grid: most lie on the cage, and many edges along it."""
    rng = np.random.default_rng(seed)
    vertices, faces = ball(int(rng.integers(1, 3)))
    step = 1.0 / rng.integers(1, 5)
    points = 3.5 + rng.uniform(1.2, 2.1, (len(vertices), 1)) * vertices
    points = (
        np.round(points / step) * step
    )  # 1 to 6: strictly inside the block, which has no room beyond
    nodes, tets, clipped = cut(points, faces, 7)
    assert_cut_or_flat(points, faces, nodes, tets, clipped)


def assert_cut_or_flat(points, faces, nodes, tets, clipped):
    """As `assert_cut`; triangles that rounding has robbed of their area are looked at for their edges only."""
    area = np.linalg.norm(vector_areas(points, faces), axis=1)
    x = positions(nodes, tets, clipped)
    piece_area = np.linalg.norm(vector_areas(x, clipped.faces), axis=1)
    assert abs(piece_area.sum() / area.sum() - 1.0) < 1e-9
    is_solid = area[clipped.source_face] > 0.0
    assert (piece_area[is_solid] >= 1e-12 * area[clipped.source_face[is_solid]]).all()
    assert_every_edge_has_its_twin(clipped.faces)
    assert_inside(tets, clipped)
