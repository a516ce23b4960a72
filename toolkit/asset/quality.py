"""Is the cage what it promises? Checked from the asset's arrays alone, by other means than those that built it.

The builder walks through floors, edges and faces; the check clips every triangle with every element that claims it, in
the triangle's own barycentric plane, and asks that the clips tile the triangle and that wherever a clip ends on an
element face, an element of another cell that claims the triangle too has the same face.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from jellycage.toolkit.arrays import sorted_unique
from jellycage.toolkit.asset.asset import Asset
from jellycage.toolkit.asset.quality_kernels import clip_in_plane, find_min_dihedrals
from jellycage.toolkit.cage.element_tables import HEX_FACES, TET_FACES
from jellycage.toolkit.cage.tet_cage import tet_volumes

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
    problems += _core_problems(asset)
    return CageCheck(
        tuple(problems),
        node_components(elements, len(nodes)),
        dihedral,
        float(volumes.sum() * cell_size**3),
    )


def min_dihedrals(nodes, tets):
    """Smallest dihedral angle of each tet [degrees], shape (e,)."""
    cosine = np.empty(len(tets))
    find_min_dihedrals(nodes, tets, cosine)
    return np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))


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
    is_simple = (owners == owners[:, :1]).all(axis=1)
    covered = np.zeros(len(asset.surface_faces))
    covered[face[is_simple[face] & (owners[face, 0] == element)]] = 1.0
    rows = np.flatnonzero(~is_simple[face])
    face, element = face[rows].astype(np.int64), element[rows]
    functions = _face_functions(asset, face, element, cell_size)
    share, side = np.empty(len(rows)), np.empty(functions.shape[:2])
    clip_in_plane(functions, share, side)
    covered += np.bincount(face, share, minlength=len(covered))
    problems = _owner_problems(asset, owners, is_simple)
    wrong = int((np.abs(covered - 1.0) > 100 * TOLERANCE).sum())
    if wrong:
        problems.append(f"{wrong} triangles are not covered by their elements")
    torn = _torn_count(asset, face, element, side)
    if torn:
        problems.append(f"{torn} triangles cross an outer face of their own part")
    return problems


def _owner_problems(asset, owners, is_simple):
    """Vertices in an element that claims none of the triangles around them: another copy of the right cell, say."""
    known = np.zeros(len(asset.surface_vertices), bool)
    known[asset.surface_faces[is_simple]] = True
    face, corner = np.nonzero(~is_simple[:, None] & ~known[asset.surface_faces])
    claims = asset.piece_triangles + len(asset.surface_faces) * np.repeat(
        np.arange(len(asset.elements)), np.diff(asset.piece_start)
    )
    wanted = face + len(asset.surface_faces) * owners[face, corner].astype(np.int64)
    # Claims are ascending: rows run through the elements, and within one through its triangles.
    at = np.searchsorted(claims, wanted).clip(max=max(len(claims) - 1, 0))
    is_claimed = claims[at] == wanted if len(claims) else np.zeros(len(wanted), bool)
    vertex = asset.surface_faces[face, corner]
    known[vertex[is_claimed]] = True
    strangers = len(np.unique(vertex[~known[vertex]]))
    return [f"{strangers} vertices belong to elements without their triangles"] if strangers else []


def _core_problems(asset):
    """Elements deep in the solid that do not share all their faces."""
    number = face_numbers(asset)
    count = int(number.max(initial=0)) + 1
    cells = np.repeat(asset.element_cell, number.shape[1])
    lowest, highest = np.full(count, np.iinfo(np.int64).max), np.full(count, -1)
    np.minimum.at(lowest, number.ravel(), cells)
    np.maximum.at(highest, number.ravel(), cells)
    is_outer = (lowest == highest)[number].any(axis=1)
    is_core = (np.diff(asset.piece_start) == 0) & (asset.cage_fill == 1.0)
    torn = int((is_outer & is_core).sum())
    return [f"{torn} elements inside the solid have an outer face"] if torn else []


def _torn_count(asset, face, element, side):
    """Triangles with a clip that ends on an element face which no claiming element of another cell shares."""
    face_number = face_numbers(asset)
    row, m = np.nonzero(side >= 0.0)
    key = face[row] * (int(face_number.max(initial=0)) + 1) + face_number[element[row], m]
    group = np.searchsorted(sorted_unique(key), key)
    cell = asset.element_cell[element[row]]
    lowest = np.full(group.max(initial=-1) + 1, np.iinfo(np.int64).max)
    highest = np.full(len(lowest), -1)
    np.minimum.at(lowest, group, cell)
    np.maximum.at(highest, group, cell)
    is_torn = (lowest == highest)[group] & (side[row, m] > TOLERANCE)
    return len(np.unique(face[row[is_torn]]))


def face_numbers(asset):
    """A number for every element face, equal where all nodes are the same, shape (e, 4|6)."""
    table = TET_FACES if asset.element == "tet" else HEX_FACES
    nodes = np.sort(asset.elements[:, table], axis=2).reshape(-1, table.shape[1])
    order = np.lexsort(nodes.T)
    is_new = np.append(True, (nodes[order][1:] != nodes[order][:-1]).any(axis=1))
    number = np.empty(len(nodes), np.int64)
    number[order] = np.cumsum(is_new) - 1
    return number.reshape(len(asset.elements), -1)


def _face_functions(asset, face, element, cell_size):
    """Signed distances of the triangle's corners from the element's faces, in cells, positive inside: (k, 4|6, 3)."""
    centre = asset.cage_nodes.mean(axis=0)
    nodes = (asset.cage_nodes - centre) / cell_size
    corners = (asset.surface_vertices - centre)[asset.surface_faces[face]] / cell_size
    table = TET_FACES if asset.element == "tet" else HEX_FACES
    used = sorted_unique(element)
    element = np.searchsorted(used, element)
    x = nodes[asset.elements[used]]
    origin = x[:, table[:, 0]]
    normals = np.cross(x[:, table[:, 1]] - origin, x[:, table[:, 2]] - origin)
    normals /= np.linalg.norm(normals, axis=2, keepdims=True)
    inside = np.einsum("emx,emx->em", x.mean(axis=1)[:, None] - origin, normals)
    normals *= np.sign(inside)[..., None]
    offset = np.einsum("emx,emx->em", origin, normals)
    return normals[element] @ corners.transpose(0, 2, 1) - offset[element][..., None]
