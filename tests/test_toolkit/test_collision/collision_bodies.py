"""Small collision surfaces for tests, exact by construction: contours on a lattice that refines every tet of a block.

A tet with ascending nodes is refined as Kuhn did, in steps from node to node, so neighbours agree on their shared
face. Contour vertices lie on lattice edges: what lies on a cage face has weight 0 for the node opposite, and
the same weights on the other side.
"""

from functools import cache
from itertools import permutations
from types import SimpleNamespace

import numpy as np

from jellycage.toolkit.collision.bdop import build_trees, pack_triangles, tet_bdops
from jellycage.toolkit.collision.kdop import build_tet_tree
from jellycage.toolkit.collision.posed import weight_areas

STEPS = np.array(
    [np.cumsum([np.eye(3, dtype=int)[i] for i in p], axis=0) for p in permutations(range(3))]
)


def kuhn_block(cells):
    """(nodes, tets) of a block of unit cubes of six tets each around the origin, rows ascending."""
    grid = np.stack(np.meshgrid(*[np.arange(cells + 1)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    number = {tuple(p): i for i, p in enumerate(grid)}
    tets = []
    for corner in grid[(grid < cells).all(axis=1)]:
        for steps in STEPS:
            path = [tuple(corner), *(tuple(corner + step) for step in steps)]
            tets.append(sorted(number[p] for p in path))
    return grid - cells / 2.0, np.array(tets, np.int32)


def refined_tet(level):
    """Corners of the small tets of a tet, as whole weights that sum to `level`, shape (k, 4, 4)."""
    found = []
    for corner in np.ndindex(level, level, level):
        for steps in STEPS:
            y = np.array([corner, *(np.array(corner) + step for step in steps)])
            if (
                (level >= y[:, 0]).all()
                and (y[:, 0] >= y[:, 1]).all()
                and (y[:, 1] >= y[:, 2]).all()
            ):
                found.append(
                    np.stack([level - y[:, 0], y[:, 0] - y[:, 1], y[:, 1] - y[:, 2], y[:, 2]], 1)
                )
    return np.array(found)


def contour(value, weights):
    """Weights of the corners of the triangles where a small tet's values (4,) change sign, outside positive."""
    inside, outside = np.flatnonzero(value < 0), np.flatnonzero(value >= 0)

    def cut(i, o):
        s = value[i] / (value[i] - value[o])
        return (1.0 - s) * weights[i] + s * weights[o]

    if len(inside) in (0, 4):
        return []
    if len(inside) == 1 or len(outside) == 1:
        return [[cut(i, o) for i in inside for o in outside]]
    a, b = inside
    c, d = outside
    ac, ad, bc, bd = cut(a, c), cut(a, d), cut(b, c), cut(b, d)
    return [[ac, ad, bd], [ac, bd, bc]]


@cache
def wavy_body(radius=0.8, waves=0.1, level=3, is_packed=True):
    """A wavy ball in the 48 tets of a block of eight cells."""
    return contour_body(ball(radius, waves=waves), level=level, is_packed=is_packed)


def contour_body(field, *, cells=2, level=4, is_packed=True):
    """A collision surface, with its rest nodes, around where field(points) < 0."""
    nodes, tets = kuhn_block(cells)
    small = refined_tet(level) / level
    used, patch_faces, patch_weights, patch_count = [], [], [], []
    for tet in tets:
        triangles = [
            _turned(triangle, corners, value, nodes[tet])
            for corners, value in ((c, field(c @ nodes[tet])) for c in small)
            for triangle in contour(value, corners)
        ]
        if triangles:
            pieces = _pieces(np.array(triangles))
            used.append(tet)
            patch_count.append(len(pieces))
            for piece in pieces:
                weights, inverse = np.unique(piece.reshape(-1, 4), axis=0, return_inverse=True)
                patch_faces.append(inverse.reshape(-1, 3))
                patch_weights.append(weights)
    return _laid_out(nodes, np.array(used), patch_count, patch_faces, patch_weights, is_packed)


def _turned(triangle, corners, value, x):
    """The triangle counter-clockwise as seen from where the field is positive."""
    a, b, c = (w @ x for w in triangle)
    up = corners[np.argmax(value)] @ x - corners[np.argmin(value)] @ x
    return triangle if np.cross(b - a, c - a) @ up > 0 else [triangle[0], triangle[2], triangle[1]]


def _pieces(triangles):
    """The connected parts of the triangles of a tet (t, 3, 4)."""
    _, corner = np.unique(triangles.reshape(-1, 4), axis=0, return_inverse=True)
    corner, label = corner.reshape(-1, 3), np.arange(len(triangles))
    while True:
        lowest = np.full(corner.max() + 1, len(triangles))
        np.minimum.at(lowest, corner, label[:, None])
        new = lowest[corner].min(axis=1)
        if (new == label).all():
            return [triangles[label == k] for k in np.unique(label)]
        label = new


def _laid_out(nodes, tets, patch_count, patch_faces, patch_weights, is_packed):
    triangle_start = np.cumsum([0, *map(len, patch_faces)])
    vertex_start = np.cumsum([0, *map(len, patch_weights)])
    tet_patch_start = np.cumsum([0, *patch_count])
    weights = np.concatenate(patch_weights)
    faces = np.concatenate([f + s for f, s in zip(patch_faces, vertex_start, strict=False)])
    order, bdops = build_trees(triangle_start, faces, weights)
    faces = faces[order]
    patch_tet = np.repeat(np.arange(len(tets)), patch_count)
    vertex_tet = np.repeat(patch_tet, np.diff(vertex_start))
    x = place(weights, nodes[tets[vertex_tet]])
    _, number = np.unique(x, axis=0, return_inverse=True)
    corners = x[faces]
    area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) / 2.0
    vector = np.add.reduceat(area, triangle_start[:-1], axis=0)
    triangles = pack_triangles(faces, neighbours_of(number.reshape(-1)[faces]), bdops)
    if not is_packed:
        triangles = _unpacked(triangles, faces, bdops)
    tet_bdop = tet_bdops(tet_patch_start, vertex_start, weights)
    tets = np.ascontiguousarray(tets, np.int32)
    return SimpleNamespace(
        rest_nodes=nodes,
        tets=tets,
        tet_bdop=tet_bdop,
        tet_tree=build_tet_tree(nodes, tets, tet_bdop),
        tet_patch_start=tet_patch_start.astype(np.int32),
        patch_triangle_start=triangle_start.astype(np.int32),
        patch_vertex_start=vertex_start.astype(np.int32),
        patch_vector_area=vector,
        patch_weight_area=weight_areas(triangle_start, faces, weights),
        triangles=triangles,
        vertices=faces,
        weights=weights,
        vertex_number=number.reshape(-1),
    )


def _unpacked(triangles, faces, bdops):
    words = np.empty((len(triangles), 8), np.uint32)
    words[:, :3], words[:, 3:6] = faces, triangles[:, 3:] & np.uint32(2**21 - 1)
    words[:, 6], words[:, 7] = bdops & np.uint64(2**32 - 1), bdops >> np.uint64(32)
    return words


def place(weights, x):
    """Positions as every part of the surface must sum them: ((w0 x0 + w1 x1) + w2 x2) + w3 x3."""
    parts = weights[:, :, None] * x
    return ((parts[:, 0] + parts[:, 1]) + parts[:, 2]) + parts[:, 3]


def neighbours_of(faces):
    """Triangles across the edge from corner i to the next, -1 for none, shape (t, 3)."""
    row = {}
    for t, face in enumerate(faces.tolist()):
        for i in range(3):
            row[face[i], face[(i + 1) % 3]] = t
    return np.array(
        [[row.get((f[(i + 1) % 3], f[i]), -1) for i in range(3)] for f in faces.tolist()]
    )


def ball(radius=0.8, centre=(0.013, -0.021, 0.007), waves=0.0):
    """A field that is negative in a ball, with waves on it if wanted."""

    def field(points):
        y = points - np.array(centre)
        ripple = waves * np.sin(9.0 * y[:, 0]) * np.sin(7.0 * y[:, 1] + 1.0) * np.sin(8.0 * y[:, 2])
        return np.sqrt((y**2).sum(axis=1)) - radius - ripple

    return field


POSES = (
    "bent",
    "inverted",
    "flat",
    "nearly flat",
    "collapsed",
    "far",
    "tiny",
    "huge",
    "on a lattice",
)


def posed_nodes(pose, nodes, rng):
    """Nodes in a random pose of a given kind."""
    turn = np.eye(3) + rng.normal(scale=0.2, size=(3, 3))
    x = nodes @ turn.T + rng.normal(scale=0.08, size=nodes.shape)
    if pose == "inverted":  # in places, and wholly now and then
        x += rng.normal(scale=0.5, size=x.shape)
        x[:, 0] *= rng.choice([-1.0, 1.0])
    elif pose == "flat":
        x[:, 2] = 0.0
    elif pose == "nearly flat":
        x[:, 2] *= 10.0 ** rng.uniform(-12.0, -3.0)
    elif pose == "collapsed":
        x[rng.integers(len(x), size=6)] = x[0]
    elif pose == "far":
        x += rng.normal(size=3) * 10.0 ** rng.uniform(2.0, 6.0)
    elif pose == "tiny":
        x = 1e-6 * x + rng.normal(size=3) * 10.0 ** rng.uniform(-6.0, 0.0)
    elif pose == "huge":
        x *= 1e6
    elif pose == "on a lattice":
        x = np.round(4.0 * x) / 4.0
    return x
