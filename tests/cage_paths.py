"""Shortest ways through a cage, for the claim that limbs stay apart and are not torn.

A way runs from element to element through the middles of shared faces, as the surface does when it is walked. The
stricter way along cage edges may turn at any shared node; it is measured too, because shared nodes drag both sides.
"""

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree

from jellycage.toolkit.asset.quality import face_numbers
from jellycage.toolkit.cage.element_tables import HEX_FACES, TET_FACES


def ray_hit(vertices, faces, origin, direction):
    """(triangle, point) where a ray first meets a surface, at least 1e-6 of the surface's size away."""
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    n = np.cross(b - a, c - a)
    slope = n @ direction
    facing = np.flatnonzero(slope != 0)
    a, b, c, n = a[facing], b[facing], c[facing], n[facing]
    t = np.einsum("ij,ij->i", a - origin, n) / slope[facing]
    hit = origin + t[:, None] * direction
    inside = t > 1e-6 * np.ptp(vertices, axis=0).max()
    # A ray along a shared side may be rounded to either of its triangles, so both count.
    slack = 1e-9 * np.einsum("ij,ij->i", n, n)
    for p, q in ((a, b), (b, c), (c, a)):
        inside &= np.einsum("ij,ij->i", np.cross(q - p, hit - p), n) >= -slack
    first = np.flatnonzero(inside)[t[inside].argmin()]
    return int(facing[first]), hit[first]


def close_but_far(asset, most=300):
    """(start, end, way) on a surface: points within two cells, but over four cells and four times as far along it.

    start and end are (triangle, point), way is the length over the surface [m].
    """
    reach = 2 * asset.meta["cell_size"]
    faces, vertices = asset.surface_faces, asset.surface_vertices
    ends = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    length = np.linalg.norm(vertices[ends[:, 0]] - vertices[ends[:, 1]], axis=1)
    graph = coo_matrix((length, (ends[:, 0], ends[:, 1])), shape=(len(vertices),) * 2).tocsr()
    triangle = np.zeros(len(vertices), int)
    triangle[faces.ravel()] = np.repeat(np.arange(len(faces)), 3)
    pairs = []
    tree = cKDTree(vertices)
    for a in range(0, len(vertices), max(1, len(vertices) // 400)):
        near = np.array(tree.query_ball_point(vertices[a], reach))
        way = dijkstra(graph, directed=False, indices=a)[near]
        straight = np.linalg.norm(vertices[near] - vertices[a], axis=1)
        is_far = (way > 2 * reach) & (way > 4 * straight)
        pairs += [(a, b, w) for b, w in zip(near[is_far], way[is_far], strict=True)]
    pairs = pairs[:: max(1, len(pairs) // most)]
    return [((triangle[a], vertices[a]), (triangle[b], vertices[b]), way) for a, b, way in pairs]


class CagePaths:
    """Ways through the shared faces of a cage between points of its surface."""

    def __init__(self, asset):
        self.asset = asset
        self.owner = np.repeat(np.arange(len(asset.elements)), np.diff(asset.piece_start))
        number = face_numbers(asset)
        count = int(number.max()) + 1
        cells = np.repeat(asset.element_cell, number.shape[1])
        low, high = np.full(count, np.iinfo(np.int64).max), np.full(count, -1)
        np.minimum.at(low, number.ravel(), cells)
        np.maximum.at(high, number.ravel(), cells)
        self.is_shared = (low != high)[number]
        self.faces = number
        table = TET_FACES if asset.element == "tet" else HEX_FACES
        self.middle = np.empty((count, 3))
        self.middle[number] = asset.cage_nodes[asset.elements[:, table]].mean(axis=2)
        self.graph = self._graph(count)
        self.edges = self._edges()

    def _edges(self):
        nodes, elements = self.asset.cage_nodes, self.asset.elements
        sides = [elements[:, [i, j]] for i in range(elements.shape[1]) for j in range(i)]
        ends = np.unique(np.sort(np.concatenate(sides), axis=1), axis=0)
        length = np.linalg.norm(nodes[ends[:, 0]] - nodes[ends[:, 1]], axis=1)
        return coo_matrix((length, (ends[:, 0], ends[:, 1])), shape=(len(nodes),) * 2).tocsr()

    def _graph(self, count):
        sides = self.faces.shape[1]
        ends = []
        for i in range(sides):
            for j in range(i):
                both = self.is_shared[:, i] & self.is_shared[:, j]
                ends.append(self.faces[both][:, [i, j]])
        ends = np.unique(np.sort(np.concatenate(ends), axis=1), axis=0)
        length = np.linalg.norm(self.middle[ends[:, 0]] - self.middle[ends[:, 1]], axis=1)
        return coo_matrix((length, (ends[:, 0], ends[:, 1])), shape=(count, count)).tocsr()

    def element_at(self, triangle, point):
        """The element of a triangle that holds a point on it: the one whose faces it is deepest inside."""
        claims = self.owner[self.asset.piece_triangles == triangle]
        return int(max(claims, key=lambda element: self._depth(element, point)))

    def _depth(self, element, point):
        x = self.asset.cage_nodes[self.asset.elements[element]]
        if len(x) == 8:
            return min((point - x[0]).min(), (x[6] - point).min())
        weights = np.linalg.solve((x[1:] - x[0]).T, point - x[0])
        return min(weights.min(), 1.0 - weights.sum())

    def length(self, start, end):
        """Length of the way between two (triangle, point) [m]; straight if one element holds both."""
        first, last = self.element_at(*start), self.element_at(*end)
        if first == last:
            return float(np.linalg.norm(start[1] - end[1]))
        doors, exits = (self.faces[e][self.is_shared[e]] for e in (first, last))
        return _shortest(self.graph, self.middle, doors, exits, start[1], end[1])

    def edge_length(self, start, end):
        """As `length`, along cage edges."""
        first, last = self.element_at(*start), self.element_at(*end)
        if first == last:
            return float(np.linalg.norm(start[1] - end[1]))
        tips, ends = self.asset.elements[first], self.asset.elements[last]
        return _shortest(self.edges, self.asset.cage_nodes, tips, ends, start[1], end[1])


def _shortest(graph, points, doors, exits, start, end):
    """Length of the shortest way start - door - graph - exit - end."""
    to_doors = np.linalg.norm(points[doors] - start, axis=1)
    to_exits = np.linalg.norm(points[exits] - end, axis=1)
    between = dijkstra(graph, directed=False, indices=doors)[:, exits]
    return float((to_doors[:, None] + between + to_exits).min())
