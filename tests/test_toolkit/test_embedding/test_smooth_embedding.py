"""Smooth weights reproduce affine motions, never jump, keep to their own part, and leave no facets."""

from dataclasses import replace

import bent_ball
import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra
from shapes import ball, blocks, fork_cells, hollow_cells, linked_rings, rotated, subdivided, torus

from jellycage.toolkit.asset.asset_file import load_asset, save_asset
from jellycage.toolkit.cage.element_tables import CUBE_CORNERS
from jellycage.toolkit.embedding import smooth_embedding as smooth_embedding_module
from jellycage.toolkit.embedding.smooth_embedding import (
    DEVIATIONS,
    ELEMENT_REACH,
    METHODS,
    NODE_REACH,
    smooth_embedding,
    smooth_rows,
    surface_distance,
    with_smooth_embedding,
)
from jellycage.toolkit.embedding.smooth_embedding_kernels import DETOUR, STRAIGHT
from jellycage.toolkit.errors import AssetError, SettingsError
from jellycage.toolkit.prepare import build_cage

pytestmark = pytest.mark.slow

SHAPES = {
    "ball": ball(2),
    "torus": torus(),
    "fork": subdivided(blocks(*fork_cells()), 3),
    "cavity": subdivided(blocks(*hollow_cells()), 1),
    "linked": linked_rings(),
}
KINDS = {"lattice": {"fit_steps": 0}, "fitted": {}, "hex": {"element": "hex"}}


def caged(name, kind, resolution=6):
    return build_cage(
        rotated(SHAPES[name], 1), resolution=resolution, collision=False, **KINDS[kind]
    )


def rows_of(asset, method, element=None, weights=None):
    """Dense weights, shape (n, m)."""
    element = asset.embed_element if element is None else element
    weights = asset.embed_weights if weights is None else weights
    start, nodes, values = smooth_rows(asset.cage_nodes, asset.elements, element, weights, method)
    return csr_matrix((values, nodes, start), (len(element), len(asset.cage_nodes))).toarray()


class Oracle:
    """The same weights straight from their definition, one point at a time."""

    def __init__(self, asset):
        self.x, self.elements = asset.cage_nodes, asset.elements
        count, corners = len(self.x), self.elements.shape[1]
        self.apart = np.linalg.norm(self.x[:, None] - self.x, axis=2)
        linked = np.zeros((count, count), bool)
        self.size = np.zeros(count)
        for element in self.elements:
            linked[np.ix_(element, element)] = True
            longest = self.apart[np.ix_(element, element)].max()
            self.size[element] = np.maximum(self.size[element], longest)
        self.links = csr_matrix(np.where(linked, self.apart, 0.0))
        self.centres = self.x[self.elements].mean(axis=1)
        far = self.x[self.elements] - self.centres[:, None]
        self.radius = np.linalg.norm(far, axis=2).max(axis=1)
        slopes = {
            4: np.array([[-1, -1, -1], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float),
            8: np.array(
                [[i, j, k] for k in (-1, 1) for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            )
            / 4,
        }[corners]
        self.gradients = [slopes @ np.linalg.inv(self.x[e].T @ slopes) for e in self.elements]

    def ways(self, a, reach):
        """Length of the way from node a to every node, through nodes within reach."""
        allowed = np.flatnonzero(self.apart[a] <= reach + self.size[a])
        inside = self.links[allowed][:, allowed]
        result = np.full(len(self.x), np.inf)
        result[allowed] = dijkstra(inside, indices=int(np.flatnonzero(allowed == a)[0]))
        return result

    @staticmethod
    def openness(way, straight):
        ratio = np.where(way <= STRAIGHT * straight, 0.0, way / np.maximum(straight, 1e-300))
        t = np.clip((DETOUR - ratio) / (DETOUR - STRAIGHT), 0.0, 1.0)
        return t * t * (3 - 2 * t)

    def mls(self, element, weights):
        corners = self.elements[element]
        point = weights @ self.x[corners]
        reach = NODE_REACH * self.size
        q = np.linalg.norm(self.x - point, axis=1) / reach
        w = np.maximum(1 - q**2, 0) ** 3
        w *= weights @ [self.openness(self.ways(a, reach), self.apart[a]) for a in corners]
        near = np.flatnonzero(w)
        root = np.sqrt(w[near])[:, None]
        basis = np.column_stack([np.ones(len(near)), self.x[near] - point])
        result = np.zeros(len(self.x))
        result[near] = np.linalg.pinv(root * basis)[0] * root[:, 0]
        return result

    def gaussian(self, element, weights):
        corners = self.elements[element]
        point = weights @ self.x[corners]
        reach = ELEMENT_REACH * self.radius
        node_reach = np.zeros(len(self.x))
        for e, nodes in enumerate(self.elements):
            node_reach[nodes] = np.maximum(node_reach[nodes], reach[e] + self.radius[e])
        q = np.linalg.norm(self.centres - point, axis=1) / reach
        g = np.exp(-0.5 * (DEVIATIONS * q) ** 2) * np.maximum(1 - q**2, 0) ** 2
        nodes_open = [self.openness(self.ways(a, node_reach), self.apart[a]) for a in corners]
        open_at = [at_nodes[self.elements].min(axis=1) for at_nodes in nodes_open]
        g *= weights @ open_at
        result = np.zeros(len(self.x))
        for e in np.flatnonzero(g):
            share = 1 / len(corners) + self.gradients[e] @ (point - self.centres[e])
            np.add.at(result, self.elements[e], g[e] / g.sum() * share)
        return result


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["ball", "fork"])
def test_the_weights_are_those_of_their_definition(name, kind, method):
    asset = caged(name, kind, 8)
    oracle = Oracle(asset)
    chosen = np.random.default_rng(0).choice(len(asset.embed_element), 25, replace=False)
    found = rows_of(asset, method)[chosen]
    for row, v in zip(found, chosen, strict=True):
        expected = getattr(oracle, method)(asset.embed_element[v], asset.embed_weights[v])
        # The kernel adds 1e-10 to the squares of its equations to keep them solvable.
        np.testing.assert_allclose(row, expected, atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SHAPES)
def test_affine_motions_are_reproduced_and_rows_sum_to_one(name, kind, method):
    asset = caged(name, kind)
    smooth = smooth_embedding(asset, method)
    np.testing.assert_allclose(
        smooth.positions(np.ones((len(asset.cage_nodes), 1))), 1.0, atol=1e-12
    )
    rng = np.random.default_rng(3)
    for _ in range(3):
        slope, offset = rng.normal(size=(3, 3)), rng.normal(size=3)
        expected = asset.surface_vertices @ slope.T + offset
        found = smooth.positions(asset.cage_nodes @ slope.T + offset)
        assert np.abs(found - expected).max() < 1e-12 * max(1.0, np.abs(expected).max())


def shared_faces(asset):
    """(first element, second element, corners in each) of the faces that two elements share."""
    sides = {
        4: [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]],
        8: [[0, 1, 2, 3], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]],
    }[asset.elements.shape[1]]
    seen = {}
    for e, corners in enumerate(asset.elements):
        for side in sides:
            nodes = corners[side]
            order = np.argsort(nodes)
            seen.setdefault(tuple(nodes[order]), []).append((e, np.array(side)[order]))
    return [pair[:2] for pair in seen.values() if len(pair) > 1]


def corner_weights(asset, element, points):
    """Weights of points (n, 3) in elements (n,)."""
    corners = asset.cage_nodes[asset.elements[element]]
    if asset.element == "tet":
        equations = np.concatenate(
            [corners.transpose(0, 2, 1), np.ones((len(points), 1, 4))], axis=1
        )
        return np.linalg.solve(
            equations, np.column_stack([points, np.ones(len(points))])[..., None]
        )[..., 0]
    at = (points - corners[:, 0]) / asset.meta["cell_size"]
    return np.prod(np.where(CUBE_CORNERS == 1, at[:, None], 1.0 - at[:, None]), axis=2)


def points_on_faces(asset, faces):
    """A point well inside each shared face and the unit normal from its first element to its second."""
    rng = np.random.default_rng(5)
    points, normals = [], []
    for (e, side), (f, _) in faces:
        corners = asset.cage_nodes[asset.elements[e, side]]
        points.append(rng.dirichlet(np.full(len(corners), 4.0)) @ corners)
        normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
        to_second = asset.cage_nodes[asset.elements[f]].mean(axis=0) - points[-1]
        normals.append(normal * np.sign(normal @ to_second) / np.linalg.norm(normal))
    return np.array(points), np.array(normals)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["ball", "fork", "linked"])
def test_nothing_jumps_where_a_vertex_passes_into_the_next_element(name, kind, method):
    asset = caged(name, kind, 8)
    faces = shared_faces(asset)
    assert len(faces) > 100
    points, _ = points_on_faces(asset, faces)
    sides = np.array([(first[0], second[0]) for first, second in faces]).T
    here, there = (
        rows_of(asset, method, side, np.maximum(corner_weights(asset, side, points), 0.0))
        for side in sides
    )
    np.testing.assert_allclose(here, there, atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_slope_does_not_jump_either_inside_a_whole_part(kind, method):
    asset = caged("ball", kind)
    faces = shared_faces(asset)
    points, normals = points_on_faces(asset, faces)
    moved, step = bent_ball.bent(asset.cage_nodes), 1e-4
    slopes = {"smooth": [], "plain": []}
    for side, sign in ((0, -1.0), (1, 1.0)):
        element = np.array([face[side][0] for face in faces])
        weights = [
            corner_weights(asset, element, points + k * sign * step * normals) for k in (1, 2)
        ]
        near, far = (rows_of(asset, method, element, w) @ moved for w in weights)
        slopes["smooth"].append(sign * (far - near) / step)
        near, far = (np.einsum("va,vai->vi", w, moved[asset.elements[element]]) for w in weights)
        slopes["plain"].append(sign * (far - near) / step)
    jumps = {name: np.linalg.norm(b - a, axis=1) for name, (a, b) in slopes.items()}
    # What is left over three steps is the curvature of the bend, and no jump.
    assert jumps["smooth"].max() < 0.02
    assert jumps["plain"].max() > 0.4


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_finger_does_not_pull_the_one_beside_it(kind, method):
    vertices, faces = SHAPES["fork"]
    asset = build_cage((vertices, faces), resolution=8, collision=False, **KINDS[kind])
    cell, base = asset.meta["cell_size"], 0.3
    tips = asset.surface_vertices[:, 1] > base + 4 * cell
    left = tips & (asset.surface_vertices[:, 0] < 0.325)
    right = tips & ~left
    corners = asset.elements[asset.embed_element]
    apart = np.linalg.norm(
        asset.cage_nodes[corners[left]].mean(axis=1)[:, None]
        - asset.cage_nodes[corners[right]].mean(axis=1),
        axis=2,
    )
    assert left.sum() > 20 and right.sum() > 20 and apart.min() < cell
    moved = asset.cage_nodes.copy()
    own = np.zeros(len(moved), bool)
    own[corners[right]] = True
    moved[own] += [0.7, 0.1, 0.0]
    smooth = smooth_embedding(asset, method)
    shift = smooth.positions(moved) - asset.surface_vertices
    assert np.abs(shift[left]).max() < 1e-12
    assert np.linalg.norm(shift[right], axis=1).max() > 0.7


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_fine_bent_ball_shows_no_facets(kind, method):
    asset = build_cage(ball(6), resolution=8, collision=False, **KINDS[kind])
    x = bent_ball.bent(asset.cage_nodes)
    plain = bent_ball.normal_jumps(asset, bent_ball.collision_surface(asset, x))
    smooth = bent_ball.normal_jumps(asset, smooth_embedding(asset, method).positions(x))
    rms = [np.sqrt((jumps**2).mean()) for jumps in (plain, smooth)]
    assert plain.max() > 8.0
    assert smooth.max() < plain.max() / 5.0
    assert rms[1] < rms[0] / 5.0


@pytest.mark.parametrize("method", METHODS)
def test_the_distance_from_the_collision_surface_is_the_greatest_there_is(method):
    asset = build_cage(ball(3, radius=2.0), resolution=5, collision=False)
    smooth = smooth_embedding(asset, method)
    x = asset.cage_nodes + 0.3 * np.sin(2.0 * asset.cage_nodes[:, ::-1])
    found = surface_distance(asset, smooth, x)
    apart = np.linalg.norm(smooth.positions(x) - bent_ball.collision_surface(asset, x), axis=1)
    assert found.metres == apart.max() > 0.01 and apart[found.vertex] == found.metres
    assert found.relative == pytest.approx(found.metres / np.sqrt(48.0))
    assert surface_distance(asset, smooth, x).metres < 0.5 * asset.meta["cell_size"]


@pytest.mark.parametrize("method", METHODS)
def test_a_motion_that_is_affine_keeps_both_surfaces_together(method):
    asset = build_cage(ball(3), resolution=5, collision=False)
    x = asset.cage_nodes @ np.diag([2.0, 0.5, 1.0]) + [1.0, 2.0, 3.0]
    assert surface_distance(asset, smooth_embedding(asset, method), x).relative < 1e-14


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("height", [1.0, 1e-3, 1e-9, 0.0])
def test_nodes_in_one_plane_still_carry_their_points(height, method):
    """One tet, down to a flat one: points in it come back and follow what moves in its plane."""
    nodes = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.3, 0.3, height]], float)
    weights = np.random.default_rng(2).dirichlet(np.ones(4), 20)
    start, found, values = smooth_rows(nodes, [[0, 1, 2, 3]], np.zeros(20, int), weights, method)
    rows = csr_matrix((values, found, start), (20, 4)).toarray()
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(rows @ nodes, weights @ nodes, atol=1e-12)
    assert np.abs(rows).max() < 1.0 + 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_the_vertices_and_the_number_at_a_time_make_no_difference(method, monkeypatch):
    asset = caged("fork", "fitted")
    rows = rows_of(asset, method)
    turned = np.random.default_rng(1).permutation(len(rows))
    found = rows_of(asset, method, asset.embed_element[turned], asset.embed_weights[turned])
    assert np.array_equal(found, rows[turned])
    monkeypatch.setattr(smooth_embedding_module, "CHUNK", 7)
    assert np.array_equal(rows_of(asset, method), rows)


@pytest.mark.parametrize("method", METHODS)
def test_an_asset_keeps_its_smooth_weights_in_its_file(method, tmp_path):
    asset = build_cage(ball(2), resolution=4, collision=False, smooth=method)
    save_asset(asset, tmp_path / "ball.npz")
    loaded = load_asset(tmp_path / "ball.npz")
    fresh = smooth_embedding(build_cage(ball(2), resolution=4, collision=False), method)
    assert loaded.meta["smooth"] == fresh.parameters and fresh.parameters["method"] == method
    for name in ("start", "nodes", "weights"):
        assert np.array_equal(getattr(loaded, f"smooth_{name}"), getattr(fresh, name))
    kept = smooth_embedding(loaded, method)
    assert kept.weights is loaded.smooth_weights
    other = next(name for name in METHODS if name != method)
    assert len(smooth_embedding(loaded, other).weights) != len(kept.weights)


def test_without_asking_an_asset_has_no_smooth_weights():
    asset = build_cage(ball(2), resolution=4, collision=False)
    assert asset.smooth_start is None and "smooth" not in asset.meta


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"smooth_weights": None}, "all of them or none"),
        ({"smooth_start": np.array([0, 1], np.int32)}, "smooth_start: expected"),
        ({"smooth_nodes": -1}, "smooth_nodes: indices"),
        ({"smooth_weights": np.zeros(3)}, "smooth_weights: expected"),
    ],
)
def test_broken_smooth_weights_are_refused(changes, words):
    asset = with_smooth_embedding(build_cage(ball(1), resolution=3, collision=False))
    if "smooth_nodes" in changes:
        changes = {"smooth_nodes": np.full_like(asset.smooth_nodes, -1)}
    with pytest.raises(AssetError, match=words):
        replace(asset, **changes)


@pytest.mark.parametrize("meta", [{}, {"smooth": "mls"}, {"smooth": {"method": "other"}}])
def test_weights_of_unknown_origin_are_not_used(meta):
    asset = with_smooth_embedding(build_cage(ball(1), resolution=3, collision=False))
    marked = replace(asset, smooth_weights=2.0 * asset.smooth_weights, meta=meta)
    assert np.array_equal(smooth_embedding(marked).weights, asset.smooth_weights)


def test_an_unknown_method_is_refused():
    with pytest.raises(SettingsError, match="got 'cubic'"):
        build_cage(ball(1), resolution=3, smooth="cubic")
    with pytest.raises(SettingsError, match="mls"):
        smooth_embedding(build_cage(ball(1), resolution=3, collision=False), "cubic")
