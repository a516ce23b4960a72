"""Contact regions found by trying everything, and bodies in random poses to try it on."""

from functools import cache

import numpy as np
from shapes import ball, blocks, fork_cells, subdivided, together, torus

from jellycage import toolkit
from jellycage.toolkit.collision.posed import pose

ASSETS = {
    "tets": (ball(3), {"resolution": 4}),
    "hexes": (ball(3), {"resolution": 4, "element": "hex"}),
    "copies": (subdivided(blocks(*fork_cells()), 2), {"resolution": 5}),
    "torus": (torus(), {"resolution": 5}),
    "two parts": (together(ball(2), ball(2, centre=(2.2, 0.0, 0.0))), {"resolution": 6}),
}


@cache
def built(name):
    """An asset by name."""
    mesh, settings = ASSETS[name]
    return toolkit.build_cage(mesh, **settings)


def deformed(asset, rng, *, shake=0.1, bend=0.1, apart=0.15):
    """The asset's surface, of unit size, with its cage turned, bent smoothly, shaken by a share of a cell, and moved."""
    nodes = asset.cage_nodes - asset.cage_nodes.mean(axis=0)
    size = np.ptp(nodes, axis=0).max()
    nodes = nodes / size + shake * rng.normal(size=nodes.shape) * asset.meta["cell_size"] / size
    waves = rng.normal(size=(3, 3))
    nodes = nodes + bend * np.sin(3.0 * nodes @ waves.T)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turn *= np.linalg.det(turn)  # no mirror
    return pose(asset.collision, nodes @ turn + apart * rng.normal(size=3))


def walked_curves(a, b, crossings):
    """Curves as lists of segments, by a dictionary of their ends: edges as pairs of vertices, faces as triangles.

    Asserts that every end is the end of one segment and the beginning of one other, or of itself.
    """
    faces = [p.surface.vertices for p in (a, b)]
    numbers = [p.surface.vertex_number for p in (a, b)]
    begins, finishes = {}, {}
    for n, pair in enumerate(crossings.triangle.tolist()):
        for end, table in ((0, begins), (1, finishes)):
            k, i = int(crossings.body[n, end]), int(crossings.edge[n, end])
            corners = faces[k][pair[k]]
            edge = frozenset(int(numbers[k][corners[(i + j) % 3]]) for j in (0, 1))
            assert len(edge) == 2
            key = k, edge, pair[1 - k]
            assert key not in table
            table[key] = n
    assert begins.keys() == finishes.keys()
    follower = {n: begins[key] for key, n in finishes.items()}
    curves, seen = [], set()
    for n in range(len(crossings)):
        if n not in seen:
            row = [n]
            while follower[row[-1]] != n:
                row.append(follower[row[-1]])
            seen |= set(row)
            curves.append(row)
    return curves
