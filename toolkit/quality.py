"""Is the cage what it promises? Checked from the asset's arrays alone, by other means than those that built it.

The builder walks through floors, edges and faces; the check clips every triangle with every element that claims it, in
the triangle's own barycentric plane, and asks that the clips tile the triangle and that wherever a clip ends on an
element face, an element of another cell that claims the triangle too has the same face.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from toolkit.asset import Asset
from toolkit.tet_cage import FACE_CORNERS, tet_volumes

HEX_FACES = np.array(
    [[0, 3, 7, 4], [1, 2, 6, 5], [0, 1, 5, 4], [3, 2, 6, 7], [0, 1, 2, 3], [4, 5, 6, 7]]
)
"""Corners of the faces x=0, x=1, y=0, y=1, z=0, z=1 of a hex in VTK order."""

TOLERANCE = 1e-7
"""Relative lengths and areas below this are rounding."""


@dataclass(frozen=True)
class CageCheck:
    """What was measured; `problems` is empty for a sound cage."""

    problems: tuple[str, ...]
    components: int
    """Parts of the cage that share no node."""
    min_dihedral_deg: float
    """Smallest dihedral angle of all elements [degrees]."""
    volume: float
    """Sum of the element volumes [m^3]."""

    @property
    def is_bounding(self) -> bool:
        """Whether every check passed."""
        return not self.problems


def check_cage(asset: Asset) -> CageCheck:
    """Check an asset's cage: shape, nodes, embedding, bounding."""
    elements, nodes = asset.elements, asset.cage_nodes
    cell_size = float(asset.meta.get("cell_size", 1.0))
    local = (nodes - nodes.mean(axis=0)) / cell_size
    problems = []
    if asset.element == "tet":
        volumes = tet_volumes(local, elements)
        dihedral = float(min_dihedrals(local, elements).min())
    else:
        spans = local[elements[:, [1, 3, 4]]] - local[elements[:, :1]]
        volumes, dihedral = np.linalg.det(spans), 90.0
    flat = int((volumes <= 0).sum())
    if flat:
        problems.append(f"{flat} elements have no positive volume")
    orphans = len(nodes) - len(np.unique(elements))
    if orphans:
        problems.append(f"{orphans} nodes belong to no element")
    problems += _vertex_problems(asset, cell_size)
    problems += _triangle_problems(asset, cell_size)
    return CageCheck(
        tuple(problems),
        node_components(elements, len(nodes)),
        dihedral,
        float(volumes.sum() * cell_size**3),
    )


def min_dihedrals(nodes, tets):
    """Smallest dihedral angle of each tet [degrees], shape (e,)."""
    x = nodes[tets]
    corners = x[:, FACE_CORNERS]
    normals = np.cross(corners[:, :, 1] - corners[:, :, 0], corners[:, :, 2] - corners[:, :, 0])
    normals /= np.linalg.norm(normals, axis=2, keepdims=True)
    pairs = [(i, j) for i in range(4) for j in range(i)]
    cosines = np.stack([-np.einsum("ij,ij->i", normals[:, i], normals[:, j]) for i, j in pairs])
    return np.degrees(np.arccos(np.clip(cosines.max(axis=0), -1.0, 1.0)))


def node_components(elements, node_count) -> int:
    """Number of connected parts of a cage, elements being joined by shared nodes."""
    columns = elements[:, 1:].reshape(-1)
    rows = np.repeat(elements[:, 0], elements.shape[1] - 1)
    ones = np.ones(len(rows), np.int8)
    graph = coo_matrix((ones, (rows, columns)), shape=(node_count, node_count))
    return int(connected_components(graph, directed=False)[0])


def _vertex_problems(asset, cell_size):
    """Vertices whose weights do not give their place, or place them outside their element."""
    weights = asset.embed_weights
    centre = asset.cage_nodes.mean(axis=0)
    corners = (asset.cage_nodes - centre)[asset.elements[asset.embed_element]]
    misplaced = np.einsum("ij,ijk->ik", weights, corners) - (asset.surface_vertices - centre)
    # Positions far from the origin are rounded to this.
    rounding = 8 * np.finfo(float).eps * np.abs(asset.surface_vertices).max(initial=0.0)
    far = np.abs(misplaced).max(axis=1, initial=0.0) > TOLERANCE * cell_size + rounding
    outside = (weights < 0.0).any(axis=1) | (np.abs(weights.sum(axis=1) - 1.0) > TOLERANCE)
    problems = []
    if far.any():
        problems.append(f"{int(far.sum())} vertices are not where their weights say")
    if outside.any():
        problems.append(f"{int(outside.sum())} vertices lie outside their element")
    return problems


def _triangle_problems(asset, cell_size):
    """Triangles that their elements do not cover, or that pass from one to another where no face is shared."""
    element = np.repeat(np.arange(len(asset.elements)), np.diff(asset.piece_start))
    face = asset.piece_triangles
    owners = asset.embed_element[asset.surface_faces]
    # A triangle with three vertices in one element lies in it: elements are convex.
    simple = (owners == owners[:, :1]).all(axis=1)
    covered = np.zeros(len(asset.surface_faces))
    hit = simple[face] & (owners[face, 0] == element)
    covered[face[hit]] = 1.0
    rows = ~simple[face]
    face, element = face[rows], element[rows]
    clip = _Clip(asset, face, element, cell_size)
    np.add.at(covered, face, clip.areas())
    problems = []
    wrong = int((np.abs(covered - 1.0) > 1e-5).sum())
    if wrong:
        problems.append(f"{wrong} triangles are not covered by their elements")
    torn = clip.torn_count(asset, face, element)
    if torn:
        problems.append(f"{torn} triangles cross an outer face of their own part")
    return problems


class _Clip:
    """Triangles clipped by elements, all at once, as polygons in the triangle's barycentric plane (s, t)."""

    def __init__(self, asset, face, element, cell_size):
        functions = _face_functions(asset, face, element, cell_size)
        count = len(face)
        self.room = 3 + functions.shape[1]
        polygon = np.zeros((count, self.room, 2))
        polygon[:, 1, 0] = polygon[:, 2, 1] = 1.0
        label = np.full((count, self.room), -1)
        size = np.full(count, 3)
        for m in range(functions.shape[1]):
            polygon, label, size = self._cut(polygon, label, size, functions[:, m], m)
        self.polygon, self.label, self.size = polygon, label, size
        corners = asset.surface_vertices[asset.surface_faces[face]] / cell_size
        self.sides = corners[:, 1:] - corners[:, :1]

    def _cut(self, polygon, label, size, function, m):
        """Keep the part where a linear function, given at the triangle's corners, is not negative."""
        column = np.arange(self.room)
        following = np.where(column + 1 < size[:, None], column + 1, 0)
        slopes = function[:, 1:] - function[:, :1]
        value = function[:, :1] + np.einsum("kcx,kx->kc", polygon, slopes)
        after = np.take_along_axis(value, following, axis=1)
        after_point = np.take_along_axis(polygon, following[..., None], axis=1)
        live = column < size[:, None]
        keeps = live & (value >= 0)
        crosses = live & ((value >= 0) != (after >= 0))
        with np.errstate(divide="ignore", invalid="ignore"):
            s = value / (value - after)
        between = polygon + s[..., None] * (after_point - polygon)
        # Corner i gives itself, its crossing, both or nothing, in this order.
        emitted = keeps.astype(int) + crosses
        place = np.cumsum(emitted, axis=1) - emitted
        new_polygon = np.zeros_like(polygon)
        new_label = np.full_like(label, -1)
        row, at = np.nonzero(keeps)
        new_polygon[row, place[row, at]] = polygon[row, at]
        new_label[row, place[row, at]] = label[row, at]
        row, at = np.nonzero(crosses)
        target = place[row, at] + keeps[row, at]
        new_polygon[row, target] = between[row, at]
        new_label[row, target] = np.where(keeps[row, at], m, label[row, at])
        return new_polygon, new_label, emitted.sum(axis=1)

    def areas(self):
        """Share of its triangle that each clip covers."""
        following = self._following()
        x, y = self.polygon[..., 0], self.polygon[..., 1]
        x2, y2 = following[..., 0], following[..., 1]
        live = np.arange(self.room) < self.size[:, None]
        # Twice the polygon area over twice the unit triangle's (1/2 each): x y' - x' y.
        return np.where(live, x * y2 - x2 * y, 0.0).sum(axis=1)

    def _following(self):
        column = np.arange(self.room)
        following = np.where(column + 1 < self.size[:, None], column + 1, 0)
        return np.take_along_axis(self.polygon, following[..., None], axis=1)

    def torn_count(self, asset, face, element):
        """Triangles with a clip that ends on a face which no claiming element of another cell shares."""
        step = (self._following() - self.polygon) @ self.sides
        length = np.linalg.norm(step, axis=2)
        live = (np.arange(self.room) < self.size[:, None]) & (self.label >= 0)
        row, at = np.nonzero(live & (length > TOLERANCE))
        # A much shorter end of the neighbour's clip still proves that it is there.
        proof_row, proof_at = np.nonzero(live)
        table = FACE_CORNERS if asset.element == "tet" else HEX_FACES
        key, _, triangle = _face_keys(asset, table, face, element, row, self.label[row, at])
        claim_key, claim_cell, claim_triangle = _face_keys(
            asset, table, face, element, proof_row, self.label[proof_row, proof_at]
        )
        wanted = np.column_stack([triangle, key])
        claims = np.column_stack([claim_triangle, claim_key])
        both = np.concatenate([wanted, claims])
        _, group = np.unique(both, axis=0, return_inverse=True)
        group = group.reshape(-1)
        lowest = np.full(group.max(initial=-1) + 1, np.iinfo(np.int64).max)
        highest = np.full(len(lowest), -1)
        np.minimum.at(lowest, group[len(wanted) :], claim_cell)
        np.maximum.at(highest, group[len(wanted) :], claim_cell)
        mine = group[: len(wanted)]
        is_torn = lowest[mine] == highest[mine]
        return len(np.unique(triangle[is_torn]))


def _face_functions(asset, face, element, cell_size):
    """Signed distances of the triangle's corners from the element's faces, in cells, positive inside: (k, 4|6, 3)."""
    centre = asset.cage_nodes.mean(axis=0)
    nodes = (asset.cage_nodes - centre) / cell_size
    corners = (asset.surface_vertices - centre)[asset.surface_faces[face]] / cell_size
    table = FACE_CORNERS if asset.element == "tet" else HEX_FACES
    x = nodes[asset.elements]
    normals = np.cross(x[:, table[:, 1]] - x[:, table[:, 0]], x[:, table[:, 2]] - x[:, table[:, 0]])
    normals /= np.linalg.norm(normals, axis=2, keepdims=True)
    inside = np.einsum("emk,emk->em", x.mean(axis=1)[:, None] - x[:, table[:, 0]], normals)
    normals *= np.sign(inside)[..., None]
    origin = x[:, table[:, 0]]
    return np.stack(
        [
            np.einsum("kmc,kmc->km", corners[:, c][:, None] - origin[element], normals[element])
            for c in range(3)
        ],
        axis=2,
    )


def _face_keys(asset, table, face, element, row, label):
    """(face key, cell, triangle) of some clip sides; equal keys mean the same nodes."""
    nodes = np.sort(asset.elements[element[row][:, None], table[label]].astype(np.int64), axis=1)
    key = np.zeros(len(nodes), np.int64)
    for column in range(3):
        # Three nodes of a face name it; 21 bits each, folded for larger cages.
        key = key * 2097143 + nodes[:, column]
    return key, asset.element_cell[element[row]], face[row].astype(np.int64)
