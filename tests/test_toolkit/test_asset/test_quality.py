"""The check finds nothing in a good cage, and finds every way we know to spoil one."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from oracles import area, clipped, inward_planes
from shapes import ball, blocks, box, fork_cells, linked_rings, rotated, subdivided, together

from jellycage.toolkit.asset.quality import check_cage, min_dihedrals, node_components
from jellycage.toolkit.asset.quality_kernels import clip_in_plane
from jellycage.toolkit.embedding.embedding_kernels import barycentric
from jellycage.toolkit.prepare import build_cage

MESHES = {
    "ball": rotated(ball(2), 1),
    "fork": rotated(subdivided(blocks(*fork_cells()), 1), 2),
    "box": rotated(box((1.0, 1.2, 1.4)), 3),
}
KINDS = {"tet": {}, "lattice": {"fit_steps": 0}, "hex": {"element": "hex"}}


@pytest.fixture(scope="module", params=list(KINDS))
def kind(request):
    """Settings of a good cage."""
    return KINDS[request.param]


@pytest.fixture(scope="module", params=list(MESHES))
def good(request, kind):
    """A cage that the check accepts."""
    asset = build_cage(MESHES[request.param], resolution=5, **kind)
    assert check_cage(asset).problems == ()
    return asset


def rows_of(asset):
    """Element of each row of piece_triangles."""
    return np.repeat(np.arange(len(asset.elements)), np.diff(asset.piece_start))


def with_elements(asset, elements, **changes):
    """The asset with other elements of its own kind."""
    name = "cage_tets" if asset.element == "tet" else "cage_hexes"
    return replace(asset, **{name: elements}, **changes)


def reembedded(asset, nodes):
    """A tet asset with moved nodes and true weights, whatever their sign."""
    weights = np.empty_like(asset.embed_weights)
    for v, e in enumerate(asset.embed_element):
        barycentric(nodes, asset.cage_tets[e], asset.surface_vertices[v], weights[v])
    return replace(asset, cage_nodes=nodes, embed_weights=weights)


def test_a_moved_node_is_noticed(good):
    nodes = good.cage_nodes.copy()
    used = np.unique(good.elements[good.embed_element])[3]
    nodes[used] += 1e-3 * good.meta["cell_size"]
    assert check_cage(replace(good, cage_nodes=nodes)).problems


@pytest.mark.parametrize("name", MESHES)
def test_a_node_pushed_through_the_surface_is_noticed_though_weights_are_right(name):
    asset = build_cage(MESHES[name], resolution=5)
    has_triangle = np.diff(asset.piece_start) > 0
    touched = np.zeros(len(asset.cage_nodes), bool)
    touched[asset.cage_tets[has_triangle]] = True
    middle = asset.surface_vertices.mean(axis=0)
    distance = np.linalg.norm(asset.cage_nodes - middle, axis=1)
    # Far nodes are outer ones; a step of most of a cell towards the middle takes them through.
    candidates = np.flatnonzero(touched)[np.argsort(-distance[touched])][:6]
    for node in candidates:
        inward = (middle - asset.cage_nodes[node]) / distance[node]
        nodes = asset.cage_nodes.copy()
        nodes[node] += 0.7 * asset.meta["cell_size"] * inward
        assert check_cage(reembedded(asset, nodes)).problems


def test_a_face_pushed_through_the_middle_of_a_triangle_is_noticed():
    # One big triangle in two tets of a box; no vertex is near the node that moves, so no weight tells.
    asset = build_cage(rotated(box(), 3), resolution=7)
    holding = np.zeros(len(asset.cage_nodes), bool)
    holding[asset.cage_tets[asset.embed_element]] = True
    found = 0
    for node in np.flatnonzero(~holding):
        around = (asset.cage_tets == node).any(axis=1)
        if (np.diff(asset.piece_start)[around] == 0).any():
            continue
        nodes = asset.cage_nodes.copy()
        others = np.setdiff1d(asset.cage_tets[around], node)
        inward = nodes[others].mean(axis=0) - nodes[node]
        for share in (0.3, 0.6, 0.9):
            nodes[node] = asset.cage_nodes[node] + share * inward
            problems = check_cage(replace(asset, cage_nodes=nodes)).problems
            if any("outer face" in problem or "covered" in problem for problem in problems):
                found += 1
                break
    assert found >= 10


def test_a_vertex_given_to_a_wrong_element_is_noticed(good):
    rng = np.random.default_rng(0)
    for vertex in rng.choice(len(good.surface_vertices), 8, replace=False):
        elements = good.embed_element.copy()
        wrong = np.flatnonzero(np.arange(len(good.elements)) != elements[vertex])
        elements[vertex] = rng.choice(wrong)
        # With the old weights.
        assert check_cage(replace(good, embed_element=elements)).problems
        if good.element == "tet":
            # With weights that give the vertex back.
            assert check_cage(
                reembedded(replace(good, embed_element=elements), good.cage_nodes)
            ).problems


def test_a_vertex_given_to_another_copy_of_its_cell_is_noticed():
    asset = build_cage(MESHES["fork"], resolution=5, fit_steps=0)
    found = 0
    for vertex, element in enumerate(asset.embed_element):
        for other in np.flatnonzero(asset.element_cell == asset.element_cell[element]):
            if other != element:
                elements = asset.embed_element.copy()
                elements[vertex] = other
                # Weights stay right, as the copy has the same corners; only its triangles tell.
                assert check_cage(replace(asset, embed_element=elements)).problems
                found += 1
    assert found > 5


def planes_of(asset, element):
    """Inward planes of an element."""
    corners = asset.cage_nodes[asset.elements[element]]
    if asset.element == "tet":
        return inward_planes(corners)
    low, high = np.column_stack([np.eye(3), corners[0]]), np.column_stack([-np.eye(3), -corners[6]])
    return np.concatenate([low, high])


def test_every_dropped_triangle_of_an_element_is_noticed(good):
    element = rows_of(good)
    dropped = 0
    for row in range(0, len(element), max(len(element) // 25, 1)):
        triangle = good.surface_vertices[good.surface_faces[good.piece_triangles[row]]]
        # Less than 1e-5 of a triangle is below the check's own tolerance.
        if area(clipped(triangle, planes_of(good, element[row]))) < 2e-5 * area(triangle):
            continue
        start = good.piece_start - (np.arange(len(good.piece_start)) > element[row])
        left = np.delete(good.piece_triangles, row)
        problems = check_cage(replace(good, piece_start=start, piece_triangles=left)).problems
        assert any("covered" in problem for problem in problems)
        dropped += 1
    assert dropped > 10


def test_elements_that_come_apart_under_a_triangle_are_noticed(good):
    # Pairs of neighbours that list one triangle: one of them gets a copy of a shared node.
    element = rows_of(good)
    lists = [set(good.piece_triangles[element == e].tolist()) for e in range(len(good.elements))]
    nodes_of_face = 3 if good.element == "tet" else 4
    found = 0
    for a, b in combinations(range(len(good.elements)), 2):
        triangles = lists[a] & lists[b]
        shared = np.intersect1d(good.elements[a], good.elements[b]) if triangles else []
        if len(shared) != nodes_of_face or not is_crossed(good, triangles, shared):
            continue
        if sum(np.isin(shared, nodes).all() for nodes in good.elements) > 2:
            continue  # the triangle still passes from one copy of the cell to the other side
        spoilt = good.elements.copy()
        spoilt[b][spoilt[b] == shared[0]] = len(good.cage_nodes)
        nodes = np.vstack([good.cage_nodes, good.cage_nodes[shared[0]]])
        problems = check_cage(with_elements(good, spoilt, cage_nodes=nodes)).problems
        assert any("outer face" in problem for problem in problems)
        found += 1
        if found == 12:
            break
    assert found > 5


def is_crossed(asset, triangles, shared):
    """Whether one of some triangles passes the middle of an element face: its vertices lie clearly on both sides."""
    x = asset.cage_nodes[shared]
    normal = np.cross(x[1] - x[0], x[2] - x[0])
    normal /= np.linalg.norm(normal)
    middle, reach = x.mean(axis=0), 0.2 * asset.meta["cell_size"]
    for triangle in triangles:
        corners = asset.surface_vertices[asset.surface_faces[triangle]]
        height = (corners - middle) @ normal
        if height.min() < -1e-3 * reach and height.max() > 1e-3 * reach:
            low, high = corners[height.argmin()], corners[height.argmax()]
            s = height.min() / (height.min() - height.max())
            if np.linalg.norm(low + s * (high - low) - middle) < reach:
                return True
    return False


def test_elements_that_come_apart_deep_inside_are_noticed():
    asset = build_cage(rotated(ball(2), 1), resolution=8)
    full = np.flatnonzero(np.diff(asset.piece_start) == 0)
    spoilt = asset.cage_tets.copy()
    node = spoilt[full[0], 0]
    spoilt[full[0], 0] = len(asset.cage_nodes)
    nodes = np.vstack([asset.cage_nodes, asset.cage_nodes[node]])
    assert check_cage(replace(asset, cage_tets=spoilt, cage_nodes=nodes)).problems


def test_an_inverted_element_is_noticed(good):
    elements = good.elements.copy()
    elements[7] = (
        elements[7][[1, 0, 2, 3]]
        if good.element == "tet"
        else elements[7][[1, 0, 3, 2, 5, 4, 7, 6]]
    )
    assert any("positive volume" in p for p in check_cage(with_elements(good, elements)).problems)


def test_an_orphan_node_is_noticed(good):
    nodes = np.vstack([good.cage_nodes, good.cage_nodes.mean(axis=0)])
    problems = check_cage(replace(good, cage_nodes=nodes)).problems
    assert problems == ("1 nodes belong to no element",)


def test_weights_that_are_no_shares_are_noticed(good):
    weights = good.embed_weights.copy()
    weights[3, :2] += [-2.0, 2.0]
    assert any("outside" in p for p in check_cage(replace(good, embed_weights=weights)).problems)
    weights = good.embed_weights * 1.001
    assert any("outside" in p for p in check_cage(replace(good, embed_weights=weights)).problems)


def test_measures_are_those_of_the_elements():
    asset = build_cage(rotated(linked_rings(), 1), resolution=6)
    check = check_cage(asset)
    x = asset.cage_nodes[asset.cage_tets]
    assert check.volume == pytest.approx(np.linalg.det(x[:, 1:] - x[:, :1]).sum() / 6, rel=1e-9)
    smallest = min_dihedrals(asset.cage_nodes, asset.cage_tets).min()
    assert check.min_dihedral_deg == pytest.approx(smallest, rel=1e-9)
    assert check.components == 2 and check.is_bounding


def test_parts_that_share_one_node_are_one_part():
    assert node_components(np.array([[0, 1, 2, 3], [4, 5, 6, 7]]), 8) == 2
    assert node_components(np.array([[0, 1, 2, 3], [3, 4, 5, 6]]), 7) == 1


def test_clips_in_a_triangles_plane_have_the_areas_of_clips_in_space():
    rng = np.random.default_rng(5)
    tet = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    planes = inward_planes(tet)
    triangles = rng.uniform(-0.3, 0.9, size=(300, 3, 3))
    functions = np.einsum("mx,kcx->kmc", planes[:, :3], triangles) - planes[:, 3][:, None]
    share, side = np.empty(300), np.empty((300, 4))
    clip_in_plane(functions, share, side)
    want = np.array([area(clipped(t, planes)) / area(t) for t in triangles])
    np.testing.assert_allclose(share, want, atol=1e-12)
    assert (want > 0).sum() > 100
    # A face bounds the clip exactly where a corner beyond it was cut off.
    cut = [[len(clipped(t, planes)) > 0 and len(clipped(t, np.delete(planes, m, 0))) > 0
            and area(clipped(t, planes)) < area(clipped(t, np.delete(planes, m, 0))) - 1e-9
            for m in range(4)] for t in triangles]  # fmt: skip
    np.testing.assert_array_equal(side > 1e-9, cut)


def test_a_solid_with_parts_in_each_others_cells_is_accepted():
    asset = build_cage(together(box(), box((1, 1, 1), (1.01, 0, 0))), resolution=3)
    assert check_cage(asset).problems == () and asset.meta["components"] == 2
