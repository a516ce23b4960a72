"""The surface cut along the tets of its cage: a mesh without cracks where no triangle spans two tets.

Thesis 002, section 5.4.1. Corners are found from signs alone (`clip_kernels`), so the pieces always fit. Where vertices
lie exactly on faces, edges or nodes of the cage those signs contradict each other, and the surface is moved by a
billionth of a cell: all of it, which changes no area. Rejected: exact arithmetic, which still leaves slivers without
area to be cleaned up.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.cage.copies_kernels import Copies
from jellycage.toolkit.cage.tet_cage import face_neighbours, tet_volumes
from jellycage.toolkit.collision.clip_kernels import (
    EDGES,
    FLAT,
    Corners,
    CutSurface,
    CuttingCage,
    clip_faces,
    settle_vertices,
)
from jellycage.toolkit.collision.polygons_kernels import fan_polygons, join_slivers
from jellycage.toolkit.errors import ToolkitError
from jellycage.toolkit.mesh.topology import is_degenerate
from jellycage.toolkit.union_kernels import roots

NUDGES = 1e-9 * np.array(
    [
        [0.0, 0.0, 0.0],
        [0.7548776662, 0.5698402910, -0.3247179572],
        [-1.1347241384, 1.6180339887, 2.2360679775],
        [3.3027756377, -2.4142135624, 1.4655712319],
    ]
)
"""How far the surface is moved at each attempt [cells], in directions that no lattice has."""
JITTERS = (1e-9, 1e-8, 1e-7, 1e-6)
"""How far, at most, every vertex is moved on its own at the attempts after those [cells]."""


class CutError(ToolkitError):
    """The surface and the cage lie so that no attempt gave a sound mesh. No mesh is known for which this happens."""


@dataclass(frozen=True, eq=False)
class Clipped:
    """A surface cut along the tets of its cage."""

    faces: NDArray[np.int64]
    """Vertex indices of the triangles, shape (t, 3)."""
    face_tet: NDArray[np.int64]
    """Tet that each triangle lies in, shape (t,)."""
    source_face: NDArray[np.int64]
    """Triangle that each was cut from, shape (t,)."""
    source_weights: NDArray[np.float64]
    """Weights of that triangle's first two corners at each corner, shape (t, 3, 2)."""
    vertex_tet: NDArray[np.int64]
    """A tet at each vertex, shape (v,)."""
    vertex_weights: NDArray[np.float64]
    """Weights of its corners, ascending by node, shape (v, 4): exactly 0 but for the nodes of the face, edge or node
    of the cage that the vertex lies on."""


def clip(points, faces, face_edges, nodes, tets, cell, first_tet, homes) -> Clipped:
    """Cut a closed surface along the tets that it lies in; lengths in cells.

    face_edges (f, 3): number of the mesh edge that starts at each corner of a face. tets (e, 4): ascending in each row.
    cell (e,): copies of one cell have one number, and never meet. first_tet (n,): about where each vertex lies. homes:
    (start, tets) CSR over faces, the tets that tell copies apart for a face.
    """
    volumes = tet_volumes(nodes, tets)
    neighbours = face_neighbours(tets, cell)
    copies = Copies(
        start=neighbours.start, elements=neighbours.elements, home_start=homes[0], homes=homes[1]
    )
    tet_faces, tet_edges, face_total, edge_total = _numbered_parts(tets)
    cage = CuttingCage(
        nodes=nodes,
        tets=tets,
        sides=np.sign(volumes),
        tet_faces=tet_faces,
        tet_edges=tet_edges,
        face_total=face_total,
        edge_total=edge_total,
    )
    least = None
    for moved in _attempts(points):
        cut = _cut(moved, faces, face_edges, cage, copies, first_tet)
        if cut.wrong == 0:
            clipped, helpless = _cleaned(points, faces, nodes, tets, cut)
            if helpless == 0:
                return clipped
            least = helpless if least is None else min(least, helpless)
    raise CutError(
        "the surface could not be cut along its cage; try another resolution"
        if least is None
        else f"{least} slivers remain where the surface is cut; try another resolution"
    )


def _attempts(points):
    """The surface, then moved a little as a whole, then each vertex on its own."""
    for nudge in NUDGES:
        yield points + nudge
    for seed, jitter in enumerate(JITTERS):
        yield points + np.random.default_rng(seed).uniform(-jitter, jitter, points.shape)


def _numbered_parts(tets):
    """Numbers of the faces (e, 4) and edges (e, 6) of tets, equal where all nodes are, and how many there are."""
    rows = tets.astype(np.int64)
    count = int(rows.max()) + 1
    first, second, third = (rows[:, [1, 0, 0, 0]], rows[:, [2, 2, 1, 1]], rows[:, [3, 3, 3, 2]])
    pair, pair_of = np.unique((first * count + second).ravel(), return_inverse=True)
    triple = pair_of.reshape(-1) * np.int64(count) + third.ravel()
    faces, face = np.unique(triple, return_inverse=True)
    ends = rows[:, EDGES]
    edges, edge = np.unique((ends[..., 0] * count + ends[..., 1]).ravel(), return_inverse=True)
    return face.reshape(-1, 4), edge.reshape(-1, 6), len(faces), len(edges)


@dataclass(frozen=True, eq=False)
class _Cut:
    """Polygons, before they are triangles."""

    whole: NDArray[np.int64]
    face: NDArray[np.int64]
    tet: NDArray[np.int64]
    start: NDArray[np.int64]
    key: NDArray[np.int64]
    bary: NDArray[np.float64]
    weights: NDArray[np.float64]
    vertex_tet: NDArray[np.int64]
    vertex_weights: NDArray[np.float64]
    wrong: int


def _cut(points, faces, face_edges, cage, copies, first_tet) -> _Cut:
    vertex_face = np.zeros(len(points), np.int64)
    vertex_face[faces[::-1].reshape(-1)] = np.repeat(np.arange(len(faces))[::-1], 3)
    tet = np.array(first_tet, np.int64)
    weights = np.empty((len(points), 4))
    wrong = settle_vertices(points, vertex_face, cage, copies, tet, weights)
    at = tet[faces]
    is_whole = (at[:, 0] == at[:, 1]) & (at[:, 1] == at[:, 2])
    which = np.flatnonzero(~is_whole)
    surface = CutSurface(points=points, faces=faces, face_edges=face_edges, vertex_tet=tet)
    room = 4 * len(which) + 64
    while True:
        rows = np.empty((3, room), np.int64)
        corner = Corners(
            key=np.empty(4 * room, np.int64),
            bary=np.empty((4 * room, 3)),
            weights=np.empty((4 * room, 4)),
        )
        count = np.zeros(3, np.int64)
        clip_faces(which, surface, cage, copies, rows, corner, count)
        if count[0] <= room and count[1] <= 4 * room:
            break
        room = max(count[0], count[1] // 4 + 1)
    polygons, corners = count[0], count[1]
    start = np.append(rows[2, :polygons], corners)
    return _Cut(
        whole=np.flatnonzero(is_whole),
        face=rows[0, :polygons],
        tet=rows[1, :polygons],
        start=start,
        key=corner.key[:corners],
        bary=corner.bary[:corners],
        weights=corner.weights[:corners],
        vertex_tet=tet,
        vertex_weights=weights,
        wrong=int(wrong + count[2]),
    )


def _cleaned(points, faces, nodes, tets, cut: _Cut) -> tuple[Clipped, int]:
    """Triangles of what was cut, and how many slivers are left among them."""
    count = len(cut.vertex_tet)
    is_new = cut.key >= 0
    keys, first, number = np.unique(cut.key[is_new], return_index=True, return_inverse=True)
    vertex = np.where(is_new, 0, -1 - cut.key)
    vertex[is_new] = count + number.reshape(-1)
    at = np.flatnonzero(is_new)[first]
    polygon = np.repeat(np.arange(len(cut.tet)), np.diff(cut.start))
    vertex_tet = np.concatenate([cut.vertex_tet, cut.tet[polygon[at]]])
    weights = np.concatenate([cut.vertex_weights, cut.weights[at]])

    x = np.einsum("vm,vmx->vx", weights, nodes[tets[vertex_tet]])
    a, b, c = (points[faces[cut.face, corner]] for corner in range(3))
    normals = np.cross(b - a, c - a)
    longest = np.maximum(((b - a) ** 2).sum(axis=1), ((c - a) ** 2).sum(axis=1))
    normals[np.linalg.norm(normals, axis=1) < FLAT * longest] = 0.0
    parent = np.arange(len(vertex_tet))
    helpless = join_slivers(cut.start, vertex, normals, nodes, tets, vertex_tet, weights, parent, x)

    room = len(cut.key)
    made = np.empty(room, np.int64), np.empty((room, 3), np.int64), np.empty((room, 3, 2))
    size = fan_polygons(cut.start, vertex, normals, x, cut.bary, parent, *made)
    polygon, cut_faces, bary = (array[:size] for array in made)
    # A vertex may have been joined to one in a polygon next door, so whole triangles change theirs too.
    joined = roots(parent)[faces[cut.whole]]
    is_kept = ~is_degenerate(joined)
    whole = cut.whole[is_kept]
    corners = np.broadcast_to(np.eye(3)[:, :2], (len(whole), 3, 2))
    return Clipped(
        np.concatenate([joined[is_kept], cut_faces]),
        np.concatenate([cut.vertex_tet[faces[whole, 0]], cut.tet[polygon]]),
        np.concatenate([whole, cut.face[polygon]]),
        np.concatenate([corners, bary]),
        vertex_tet,
        weights,
    ), helpless
