"""How the faces of a surface hang together: welded vertices, edges, winding, connected patches.

Everything is sorted by counting or joined by union-find, so the cost stays linear whatever the mesh
looks like.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.mesh.repair_kernels import find_equal, group_edges, join_pairs


@dataclass(frozen=True, eq=False)
class Edges:
    """Undirected edges. Half-edge h of face h // 3 runs from its corner h % 3 to the next."""

    half_edges: NDArray[np.int32]
    """Half-edges grouped by edge, shape (3f,)."""
    start: NDArray[np.int32]
    """CSR rows of `half_edges`, shape (e+1,)."""
    ends: NDArray[np.int32]
    """Lower and higher vertex of each edge, shape (e, 2)."""
    direction: NDArray[np.int8]
    """+1 if the half-edge runs from the lower to the higher vertex, else -1, shape (3f,)."""
    net: NDArray[np.int32]
    """Sum of the directions of each edge, shape (e,): 0 where it is closed and wound alike."""

    @property
    def count(self) -> NDArray[np.int32]:
        """Number of faces at each edge, shape (e,)."""
        return np.diff(self.start)


def welded(vertices, faces):
    """(vertex_of, positions): bitwise equal positions become one vertex, unused ones -1.

    The vertices keep the order of their first appearance.
    """
    positions = vertices + 0.0  # -0.0 becomes 0.0: they are the same place
    is_used = np.zeros(len(vertices), dtype=bool)
    is_used[faces.ravel()] = True
    vertex_of = np.empty(len(vertices), dtype=np.int32)
    count = find_equal(positions.view(np.int64), is_used, vertex_of)
    if count == len(vertices):
        return vertex_of, positions
    first = np.full(count, len(vertices), dtype=np.int64)
    used = np.flatnonzero(is_used)
    np.minimum.at(first, vertex_of[used], used)
    return vertex_of, positions[first]


def is_degenerate(faces):
    """Which faces name a vertex twice, shape (f,)."""
    a, b, c = faces.T
    return (a == b) | (b == c) | (c == a)


def is_duplicate(faces):
    """Which faces have the same three vertices as an earlier one, in whatever order, shape (f,)."""
    a, b, c = faces.T
    low, high = np.minimum(np.minimum(a, b), c), np.maximum(np.maximum(a, b), c)
    rows = np.stack([low, a ^ b ^ c ^ low ^ high, high], axis=1).astype(np.int64)
    number = np.empty(len(faces), dtype=np.int32)
    count = find_equal(rows, np.ones(len(faces), dtype=bool), number)
    if count == len(faces):
        return np.zeros(len(faces), dtype=bool)
    # Numbers count up, so a number that is not above all before it was given before.
    highest_before = np.concatenate([[-1], np.maximum.accumulate(number)[:-1]])
    return number <= highest_before


def edges_of(faces, vertex_count) -> Edges:
    """The edges of triangles without repeated vertices."""
    room = 3 * len(faces)
    half_edges, direction = np.empty(room, np.int32), np.empty(room, np.int8)
    start, net = np.empty(room + 1, np.int32), np.empty(room, np.int32)
    ends = np.empty((room, 2), np.int32)
    count = group_edges(faces, vertex_count, half_edges, direction, start, ends, net)
    return Edges(half_edges, start[: count + 1], ends[:count], direction, net[:count])


def patches_of(face_count, edges: Edges):
    """(patch, turn, conflicts) of faces joined across edges of exactly two faces.

    patch (f,) is the lowest face of the patch, turn (f,) is 1 for faces wound against that one, and
    conflicts the number of edges across which no choice helps (the surface is one-sided there).
    """
    first = edges.start[:-1][edges.count == 2]
    pairs = np.stack([edges.half_edges[first], edges.half_edges[first + 1]], axis=1) // 3
    is_turned = (edges.direction[first] == edges.direction[first + 1]).astype(np.int8)
    return joined(face_count, pairs, is_turned)


def shells_of(patch, edges: Edges):
    """(shell, shell_count) of faces: patches, joined at other edges if one there is open.

    So two closed boxes that touch along an edge stay two shells, and a fin belongs to the shell it
    stands on.
    """
    odd = np.flatnonzero((edges.count != 2) | (edges.net != 0))
    if odd.size:
        patch = _joined_at(patch, edges, odd)
    return numbered(patch)


def _joined_at(patch, edges, odd):
    size = edges.count[odd]
    edge = np.repeat(np.arange(len(odd)), size)
    within = np.arange(len(edge)) - np.repeat(np.cumsum(size) - size, size)
    at = edges.start[odd][edge] + within
    owner = patch[edges.half_edges[at] // 3]
    groups, group = np.unique(edge * np.int64(len(patch)) + owner, return_inverse=True)
    own_net = np.bincount(group, edges.direction[at])
    is_open_patch = np.zeros(len(patch), dtype=bool)
    is_open_patch[groups[own_net != 0] % len(patch)] = True
    has_open = np.bincount(edge, is_open_patch[owner])[edge] > 0
    is_link = has_open[1:] & (edge[1:] == edge[:-1])
    pairs = np.stack([owner[1:], owner[:-1]], axis=1)[is_link]
    root, _, _ = joined(len(patch), pairs)
    return root[patch]


def components_of(face_count, edges: Edges):
    """(component, count) of faces joined across every edge they share."""
    pairs = np.stack([edges.half_edges[1:], edges.half_edges[:-1]], axis=1) // 3
    edge = np.repeat(np.arange(len(edges.net)), edges.count)
    return numbered(joined(face_count, pairs[edge[1:] == edge[:-1]])[0])


def fans_of(faces, edges: Edges):
    """(fan, count) of face corners, shape (3f,): corners at one vertex joined across shared edges.

    More fans than vertices: parts meet in a point.
    """
    edge = np.repeat(np.arange(len(edges.net)), edges.count)
    is_pair = edge[1:] == edge[:-1]
    one, two = edges.half_edges[:-1][is_pair], edges.half_edges[1:][is_pair]
    one_next, two_next = one - one % 3 + (one + 1) % 3, two - two % 3 + (two + 1) % 3
    is_same = faces.ravel()[one] == faces.ravel()[two]
    pairs = np.concatenate(
        [
            np.stack([one, np.where(is_same, two, two_next)], axis=1),
            np.stack([one_next, np.where(is_same, two_next, two)], axis=1),
        ]
    )
    return numbered(joined(3 * len(faces), pairs)[0])


def unpinched(vertices, faces, edges: Edges):
    """(vertices, faces) with a vertex of its own for every fan; the first fan keeps the old one."""
    fan, count = fans_of(faces, edges)
    if count == len(vertices):
        return vertices, faces
    corner = np.empty(count, dtype=np.int64)
    corner[fan[::-1]] = np.arange(len(fan))[::-1]
    vertex = faces.ravel()[corner]
    is_first = np.zeros(count, dtype=bool)
    is_first[np.unique(vertex, return_index=True)[1]] = True
    number = np.empty(count, dtype=np.int32)
    number[is_first] = vertex[is_first]
    number[~is_first] = len(vertices) + np.arange((~is_first).sum())
    return np.concatenate([vertices, vertices[vertex[~is_first]]]), number[fan].reshape(-1, 3)


def joined(count, pairs, is_turned=None):
    """(root, turn, conflicts) of `count` items joined by pairs (k, 2); see `join_pairs`."""
    root, turn = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.int8)
    if is_turned is None:
        is_turned = np.zeros(len(pairs), dtype=np.int8)
    conflicts = join_pairs(pairs.astype(np.int32), is_turned, root, turn)
    return root, turn, conflicts


def numbered(root):
    """(number, count): groups given by their lowest item are numbered from 0 in that order."""
    is_root = root == np.arange(len(root))
    number = np.cumsum(is_root, dtype=np.int32) - np.int32(1)
    return number[root], int(is_root.sum())
