import numpy as np
import pytest
from collision_bodies import POSES, posed_nodes, wavy_body

from jellycage.toolkit.collision.kdop import GROUP, build_tet_tree, refitted_dops
from jellycage.toolkit.collision.kdop_kernels import AXES, tight_bounds
from jellycage.toolkit.collision.posed import pose
from jellycage.toolkit.compile_kernels import njit


def loose_tets(rng, count):
    """(nodes, tets, tet_bdop): tets that share no nodes."""
    nodes = np.repeat(rng.normal(size=(count, 3)), 4, axis=0) + rng.normal(
        scale=0.05, size=(4 * count, 3)
    )
    weights = rng.dirichlet([1.0] * 4, (count, 5))
    bounds = np.concatenate([weights.min(axis=1), weights.max(axis=1)], axis=1)
    return nodes, np.arange(4 * count, dtype=np.int32).reshape(-1, 4), bounds


def leaves_under(tree, count, n):
    return (
        {n - count + 1}
        if n >= count - 1
        else leaves_under(tree, count, tree[n, 0]) | leaves_under(tree, count, tree[n, 1])
    )


def greedy_groups(boxes):
    """The sets of boxes that joining the two that make the smallest box gives, by trying all pairs every time."""
    live = {frozenset([i]): (box[:3], box[3:]) for i, box in enumerate(boxes)}
    made = set()
    while len(live) > 1:

        def area(pair):
            low = np.minimum(live[pair[0]][0], live[pair[1]][0])
            d = np.maximum(live[pair[0]][1], live[pair[1]][1]) - low
            return d[0] * d[1] + d[1] * d[2] + d[2] * d[0]

        names = list(live)
        a, b = min(((a, b) for i, a in enumerate(names) for b in names[:i]), key=area)
        (low_a, high_a), (low_b, high_b) = live.pop(a), live.pop(b)
        live[a | b] = np.minimum(low_a, low_b), np.maximum(high_a, high_b)
        made.add(a | b)
    return made


@pytest.mark.parametrize("seed", range(5))
def test_the_tree_joins_the_pair_with_the_smallest_box_each_time(seed):
    count = 24
    nodes, tets, bounds = loose_tets(np.random.default_rng(seed), count)
    tree = build_tet_tree(nodes, tets, bounds)
    dops = refitted_dops(nodes, tets, bounds, tree)
    groups = greedy_groups(dops[count - 1 :][:, [0, 1, 2, 7, 8, 9]])
    assert {frozenset(leaves_under(tree, count, n)) for n in range(count - 1)} == groups


@pytest.mark.parametrize("count", [1, 2, 3, GROUP, 2 * GROUP + 1])
def test_every_node_but_the_root_is_a_child_once_and_comes_after_its_parent(count):
    tree = build_tet_tree(*loose_tets(np.random.default_rng(0), count))
    assert tree.shape == (count - 1, 2)
    assert (np.sort(tree.ravel()) == np.arange(1, 2 * count - 1)).all()
    assert (tree > np.arange(count - 1)[:, None]).all()


@pytest.mark.parametrize("kind", POSES)
def test_dops_hold_all_vertices_of_their_tets_in_every_pose(kind):
    rng, body = np.random.default_rng(1), wavy_body()
    count = len(body.tets)
    patch_tet = np.repeat(np.arange(count), np.diff(body.tet_patch_start))
    vertex_tet = np.repeat(patch_tet, np.diff(body.patch_vertex_start))
    for _ in range(5):
        posed = pose(body, posed_nodes(kind, body.rest_nodes, rng))
        at = posed.vertices @ AXES.T
        for n in range(2 * count - 1):
            inside = at[np.isin(vertex_tet, list(leaves_under(body.tet_tree, count, n)))]
            assert (posed.dops[n, :7] <= inside.min(axis=0)).all()
            assert (posed.dops[n, 7:] >= inside.max(axis=0)).all()


def test_tight_bounds_are_those_of_the_formula_and_hold_all_weights():
    bounds_along = njit(lambda p, bdops, e: tight_bounds(p[0], p[1], p[2], p[3], bdops, e))
    rng = np.random.default_rng(2)
    for _ in range(200):
        weights = rng.dirichlet([1.0] * 4, 6)
        bdop = np.array([[*weights.min(axis=0), *weights.max(axis=0)]])
        p = rng.normal(size=4)
        low, high = bounds_along(p, bdop, 0)
        i, a, b = np.argsort(p), bdop[0, :4], bdop[0, 4:]
        x, a, b = p[i], a[i], b[i]
        assert low == pytest.approx(
            b[0] * x[0] + a[3] * x[3] + a[2] * x[2] + (1 - b[0] - a[3] - a[2]) * x[1]
        )
        assert high == pytest.approx(
            b[3] * x[3] + a[0] * x[0] + a[1] * x[1] + (1 - b[3] - a[0] - a[1]) * x[2]
        )
        assert (low <= weights @ p + 1e-14).all() and (weights @ p <= high + 1e-14).all()
