import numpy as np
import pytest
from collision_bodies import POSES, posed_nodes, wavy_body

from jellycage.toolkit.collision.bdop import (
    bdop_bounds,
    build_trees,
    pack_triangles,
    tet_bdops,
    triangle_bdops,
    triangle_neighbours,
    triangle_vertices,
)
from jellycage.toolkit.collision.bounds_kernels import high_bound, low_bound, prepare_axis
from jellycage.toolkit.collision.posed import pose
from jellycage.toolkit.compile_kernels import njit


def random_patches(rng, sizes):
    """(start, faces, weights) of loose triangles; some weights are exactly 0 or 1."""
    start = np.cumsum([0, *sizes])
    middle = rng.dirichlet([0.7] * 4, start[-1])
    weights = np.abs(np.repeat(middle, 3, axis=0) + rng.normal(scale=0.02, size=(3 * start[-1], 4)))
    weights[rng.random(weights.shape) < 0.1] = 0.0
    weights /= weights.sum(axis=1, keepdims=True)
    weights[:4] = np.eye(4)
    return start, np.arange(3 * start[-1]).reshape(-1, 3), weights


def nodes_of(first, last):
    """All nodes [i0, i1) of the tree of a range."""
    if first < last:
        yield first, last
        middle = first + 1 + (last - first - 1) // 2
        yield from nodes_of(first + 1, middle)
        yield from nodes_of(middle, last)


def test_every_node_bounds_its_range_to_within_a_quantum():
    start, faces, weights = random_patches(np.random.default_rng(0), [1, 2, 3, 4, 50, 333])
    order, bdops = build_trees(start, faces, weights)
    bounds, corners = bdop_bounds(bdops), weights[faces[order]]
    for patch in range(len(start) - 1):
        for first, last in nodes_of(start[patch], start[patch + 1]):
            inside = corners[first:last].reshape(-1, 4)
            low, high = inside.min(axis=0), inside.max(axis=0)
            assert (bounds[first, :4] <= low).all() and (bounds[first, 4:] >= high).all()
            assert (bounds[first, :4] >= low - 1 / 256).all()
            assert (bounds[first, 4:] <= high + 1 / 256).all()


def test_triangles_stay_in_their_patch():
    start, faces, weights = random_patches(np.random.default_rng(1), [7, 1, 40])
    order, _ = build_trees(start, faces, weights)
    for first, last in zip(start[:-1], start[1:], strict=True):
        assert sorted(order[first:last]) == list(range(first, last))


def test_children_are_halves_along_the_longest_axis():
    start, faces, weights = random_patches(np.random.default_rng(2), [257])
    order, _ = build_trees(start, faces, weights)
    centre = weights[faces[order]].mean(axis=1)
    for first, last in nodes_of(0, 257):
        middle = first + 1 + (last - first - 1) // 2
        if middle > first + 1:
            axis = np.argmax(np.ptp(centre[first:last], axis=0))
            assert centre[first + 1 : middle, axis].max() <= centre[middle:last, axis].min() + 1e-15


@pytest.mark.parametrize("offset, columns", [(0, 6), (2**21 - 1 - 30, 6), (2**21 - 30, 8)])
def test_what_is_packed_can_be_read_back(offset, columns):
    rng = np.random.default_rng(3)
    vertices = np.arange(30).reshape(10, 3) + offset
    neighbours = rng.integers(-1, 10, (10, 3))
    bdops = rng.integers(0, 2**64, 10, dtype=np.uint64)
    triangles = pack_triangles(vertices, neighbours, bdops)
    assert triangles.shape == (10, columns) and triangles.dtype == np.uint32
    assert (triangle_vertices(triangles) == vertices).all()
    assert (triangle_neighbours(triangles) == neighbours).all()
    assert (triangle_bdops(triangles) == bdops).all()


def test_tet_bounds_are_those_of_its_vertices():
    body = wavy_body()
    patch_tet = np.repeat(np.arange(len(body.tets)), np.diff(body.tet_patch_start))
    vertex_tet = np.repeat(patch_tet, np.diff(body.patch_vertex_start))
    bounds = tet_bdops(body.tet_patch_start, body.patch_vertex_start, body.weights)
    for e in range(len(body.tets)):
        weights = body.weights[vertex_tet == e]
        assert (bounds[e] == [*weights.min(axis=0), *weights.max(axis=0)]).all()


@njit
def bound_nodes(nodes, tets, tet, box, direction, out_bounds):
    """Bounds of quantised b-DOPs along a direction, each in its tet."""
    factors, shifts = np.empty((1, 1, 9)), np.empty((1, 1, 6), np.int64)
    for n in range(box.shape[0]):
        x, y, z = direction[0], direction[1], direction[2]
        prepare_axis(nodes, tets, tet[n], x, y, z, 0, 0, factors, shifts)
        out_bounds[n, 0] = low_bound(box[n], factors, shifts, 0, 0)
        out_bounds[n, 1] = high_bound(box[n], factors, shifts, 0, 0)


@pytest.mark.parametrize("kind", POSES)
def test_bounds_hold_in_every_pose_along_every_direction(kind):
    rng, body = np.random.default_rng(4), wavy_body()
    patch_tet = np.repeat(np.arange(len(body.tets)), np.diff(body.tet_patch_start))
    triangle_tet = np.repeat(patch_tet, np.diff(body.patch_triangle_start))
    start = body.patch_triangle_start
    ranges = [r for p in range(len(start) - 1) for r in nodes_of(start[p], start[p + 1])]
    box, bounds = triangle_bdops(body.triangles).view(np.int64), np.empty((len(triangle_tet), 2))
    for _ in range(3):
        posed = pose(body, posed_nodes(kind, body.rest_nodes, rng))
        for direction in (*np.eye(3), rng.normal(size=3)):
            bound_nodes(posed.nodes, body.tets, triangle_tet, box, direction, bounds)
            # Projections of vertices are rounded as well; the margin covers that.
            at = posed.vertices[body.vertices] @ direction
            for first, last in ranges:
                assert bounds[first, 0] <= at[first:last].min()
                assert bounds[first, 1] >= at[first:last].max()


def test_bounds_are_tight_where_one_weight_alone_varies():
    """Between a node and the middle of the face opposite, along their connection, nothing is lost but a quantum."""
    weights = np.array([[1.0, 0, 0, 0], [0.5, 1 / 6, 1 / 6, 1 / 6], [0.75, 1 / 12, 1 / 12, 1 / 12]])
    _, bdops = build_trees([0, 1], [[0, 1, 2]], weights)
    nodes = np.array([[1.0, 0, 0], [0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
    bounds, tets = np.empty((1, 2)), np.array([[0, 1, 2, 3]], np.int32)
    where = np.zeros(1, np.int64)
    bound_nodes(nodes, tets, where, bdops.view(np.int64), np.array([1.0, 0, 0]), bounds)
    np.testing.assert_allclose(bounds[0], [0.5, 1.0], atol=1.01 / 256)
