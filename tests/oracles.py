"""Slow and plain twins of what the toolkit computes, in numpy alone: clipping, winding numbers, the splitting rule."""

from itertools import combinations

import numpy as np

from jellycage.toolkit.cage.lattice import TET_CORNERS

FACES = np.array([[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]])
"""Corners of the face opposite each corner of a tet."""


def tet_corners(key, shape):
    """Lattice nodes of a tet key, shape (4, 3), from the definition of keys."""
    cube, k = divmod(int(key), 5)
    at = np.array([cube % shape[0], cube // shape[0] % shape[1], cube // (shape[0] * shape[1])])
    return at + TET_CORNERS[at.sum() % 2, k]


def inward_planes(corners):
    """Unit normals and offsets (n.x - o >= 0 inside) of the faces of a tet, shape (4, 4)."""
    planes = []
    for m in range(4):
        a, b, c = (corners[i] for i in FACES[m])
        normal = np.cross(b - a, c - a).astype(float)
        normal /= np.linalg.norm(normal)
        if normal @ (corners[m] - a) < 0:
            normal = -normal
        planes.append([*normal, normal @ a])
    return np.array(planes)


def clipped(polygon, planes, margin=0.0):
    """A convex polygon cut to the half-spaces n.x - o >= margin, shape (k, 3), k = 0 if nothing is left."""
    polygon = np.asarray(polygon, float)
    for *normal, offset in planes:
        if not len(polygon):
            break
        d = polygon @ np.array(normal) - offset - margin
        left = []
        for i in range(len(polygon)):
            j = (i + 1) % len(polygon)
            if d[i] >= 0:
                left.append(polygon[i])
            if (d[i] >= 0) != (d[j] >= 0):
                left.append(polygon[i] + d[i] / (d[i] - d[j]) * (polygon[j] - polygon[i]))
        polygon = np.array(left).reshape(-1, 3)
    return polygon


def area(polygon):
    """Area of a flat polygon."""
    if len(polygon) < 3:
        return 0.0
    return float(
        np.linalg.norm(np.cross(polygon[1:-1] - polygon[0], polygon[2:] - polygon[0]).sum(axis=0))
        / 2
    )


def winding_numbers(points, vertices, faces):
    """Solid angles / 4 pi, after van Oosterom and Strackee 1983, doi:10.1109/TBME.1983.325207."""
    a, b, c = (vertices[faces[:, k]] - points[:, None] for k in range(3))
    la, lb, lc = (np.linalg.norm(side, axis=2) for side in (a, b, c))
    below = la * lb * lc + (a * b).sum(2) * lc + (b * c).sum(2) * la + (c * a).sum(2) * lb
    above = np.einsum("pfi,pfi->pf", a, np.cross(b, c))
    return (2 * np.arctan2(above, below)).sum(axis=1) / (4 * np.pi)


def signed_volume(vertices, faces):
    """Volume by Gauss's theorem, about the middle."""
    a, b, c = (vertices[faces[:, k]] - vertices.mean(axis=0) for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


class Groups:
    """The plainest union-find there is."""

    def __init__(self):
        self.parent = {}

    def root(self, item):
        """The item that stands for all items joined with this one."""
        self.parent.setdefault(item, item)
        while self.parent[item] != item:
            item = self.parent[item]
        return item

    def join(self, a, b):
        """Make two groups one."""
        a, b = sorted([self.root(a), self.root(b)])
        self.parent[b] = a


class TurnedBoxes:
    """A solid made of boxes that were turned and moved, in cells: the splitting rule can be decided exactly in it.

    Two boxes are one inside a convex region if what they share (a common side, or an overlap) reaches into the region.
    """

    def __init__(self, boxes, to_cells):
        self.corners = []
        self.planes = []
        self.shared = []
        for low, high in boxes:
            unit = np.stack(np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij"), -1).reshape(-1, 3)
            self.corners.append(to_cells(low + unit * (high - low)))
            self.planes.append(self._planes(self.corners[-1]))
        for i, j in combinations(range(len(boxes)), 2):
            low, high = np.maximum(boxes[i][0], boxes[j][0]), np.minimum(boxes[i][1], boxes[j][1])
            width = high - low
            if (width >= 0).all() and (width == 0).sum() <= 1:
                self.shared.append((i, j, self._sides(to_cells, low, high)))
        self.sides = [self._sides(to_cells, low, high) for low, high in boxes]

    @staticmethod
    def _planes(corners):
        planes = []
        for step in (4, 2, 1):
            normal = corners[step] - corners[0]
            length = np.linalg.norm(normal)
            normal = normal / length
            planes.append([*normal, normal @ corners[0]])
            planes.append([*-normal, -normal @ corners[0] - length])
        return np.array(planes)

    @staticmethod
    def _sides(to_cells, low, high):
        """The six sides of a box as quads; one if it is flat."""
        sides = []
        for axis in range(3):
            for level in {low[axis], high[axis]}:
                quad = np.tile(low, (4, 1))
                quad[:, axis] = level
                u, v = (axis + 1) % 3, (axis + 2) % 3
                quad[[1, 2], u], quad[[2, 3], v] = high[u], high[v]
                sides.append(to_cells(quad))
        return sides

    def _meets(self, sides, boxes, corners, planes):
        """Whether the box with these sides (the overlap of `boxes`) reaches into a tet."""
        if any(len(clipped(side, planes)) for side in sides):
            return True
        return all(
            (self.planes[b][:, :3] @ corners[0] >= self.planes[b][:, 3]).all() for b in boxes
        )

    def pieces(self, corners):
        """The connected parts of the solid in a tet: a dict from box to the lowest box of its part."""
        planes = inward_planes(corners)
        low, high = corners.min(axis=0), corners.max(axis=0)
        inside = [
            b
            for b in range(len(self.corners))
            if (self.corners[b].min(axis=0) <= high).all()
            and (self.corners[b].max(axis=0) >= low).all()
            and self._meets(self.sides[b], [b], corners, planes)
        ]
        groups = Groups()
        for b in inside:
            groups.root(b)
        for i, j, sides in self.shared:
            if i in groups.parent and j in groups.parent:
                if self._meets(sides, [i, j], corners, planes):
                    groups.join(i, j)
        return {b: groups.root(b) for b in inside}

    def on_face(self, triangle):
        """The boxes that a triangle meets with positive area."""
        return [b for b in range(len(self.planes)) if len(clipped(triangle, self.planes[b])) > 2]


def split_cage(solid: TurnedBoxes, shape):
    """The splitting rule by brute force over every tet of the lattice: elements {(key, piece): four node names}.

    Names of nodes mean nothing but which are the same. Twins (copies with the same nodes) are still there.
    """
    pieces, by_face = {}, {}
    for key in range(5 * int(np.prod(shape))):
        corners = tet_corners(key, shape)
        found = solid.pieces(corners)
        if found:
            pieces[key] = found
            for m in range(4):
                by_face.setdefault(frozenset(map(tuple, corners[FACES[m]])), []).append(key)
    groups = Groups()
    glued = set()
    for face, keys in by_face.items():
        if len(keys) == 2:
            for b in solid.on_face(np.array(sorted(face))):
                one, other = ((key, pieces[key][b]) for key in keys)
                glued.add(frozenset([one, other]))
                for node in face:
                    groups.join((*one, node), (*other, node))
    elements = {}
    for key, found in pieces.items():
        for piece in sorted(set(found.values())):
            nodes = [tuple(c) for c in tet_corners(key, shape)]
            elements[key, piece] = tuple(groups.root((key, piece, node)) for node in nodes)
    return pieces, elements, glued
