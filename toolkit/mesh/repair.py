"""The closed, oriented surface that a mesh means, and a report on the mesh itself.

Nothing is moved and nothing is edited silently: equal positions are welded bit for bit, broken
faces are left out, windings are made to agree, and what is open is closed by cones over the
borders. The result has a zero net chain: every directed edge is balanced, so its winding number is
an integer everywhere, for fins, non-manifold edges and one-sided surfaces too. Every act is a
sentence in `warnings`. Rejected: merging with a tolerance (breaks small models), dropping slivers
(opens holes), and cutting fins off (a cone gives them a back of zero thickness and changes no
volume).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.arrays import frozen
from jellycage.toolkit.errors import MeshError
from jellycage.toolkit.mesh.merging import closing_distance
from jellycage.toolkit.mesh.mesh import TriMesh
from jellycage.toolkit.mesh.repair_notes import (
    NO_VOLUME,
    counted,
    merge_remedy,
    note_caps,
    note_shells,
    note_winding,
    problems_of,
)
from jellycage.toolkit.mesh.shells import facing_of
from jellycage.toolkit.mesh.sizes import size_notes
from jellycage.toolkit.mesh.topology import (
    Edges,
    components_of,
    edges_of,
    fans_of,
    is_degenerate,
    is_duplicate,
    joined,
    numbered,
    patches_of,
    shells_of,
    unpinched,
    welded,
)


@dataclass(frozen=True, eq=False)
class Solid:
    """A closed surface: the faces of a mesh, welded and wound alike, and caps over its holes."""

    vertices: NDArray[np.float64]
    """Positions [m], shape (n, 3): those that faces use, each once, then centres of caps, then doubles."""
    faces: NDArray[np.int32]
    """Vertex indices, shape (f, 3), counter-clockwise from outside; the mesh's first, then caps."""
    source_face: NDArray[np.int32]
    """The face of the mesh that each face was, shape (f,); -1 for a cap."""
    vertex_of: NDArray[np.int32]
    """The vertex here of each vertex of the mesh; -1 if no face uses it."""
    flipped: NDArray[np.bool_]
    """Whether the face is wound against the mesh, shape (f,); False for a cap."""
    shell: NDArray[np.int32]
    """The closed part that each face belongs to, caps too, shape (f,)."""
    shell_count: int
    body: NDArray[np.int32]
    """The shell whose solid each face bounds, shape (f,): that of the face, but around a cavity the shell outside."""
    warnings: tuple[str, ...]
    """What was done or noticed, in sentences."""
    boundary_edges: int
    """Edges of one face only, before caps, without repeated faces."""
    nonmanifold_edges: int
    """Edges of more than two faces, before caps, without repeated faces."""

    def __post_init__(self):
        for key in ("vertices", "faces", "source_face", "vertex_of", "flipped", "shell", "body"):
            object.__setattr__(self, key, frozen(getattr(self, key)))


def solid_of(mesh: TriMesh) -> Solid:
    """The closed surface that the mesh means, wound alike; MeshError if it encloses no volume."""
    notes = []
    vertex_of, vertices = welded(mesh.vertices, mesh.faces)
    faces, source = _sound_faces(vertex_of[mesh.faces], notes)
    unused = int((vertex_of < 0).sum())
    if unused:
        notes.append(f"{counted(unused, 'vertex', 'vertices')} in no face ignored.")
    centre, diagonal = _frame(mesh, vertices, faces)
    edges = edges_of(faces, len(vertices))
    boundary, nonmanifold = int((edges.count == 1).sum()), int((edges.count > 2).sum())

    patch, turn, conflicts = patches_of(len(faces), edges)
    flipped = _minority(patch, turn)
    if flipped.any():
        faces = _turned(faces, flipped)
        edges = edges_of(faces, len(vertices))
    shell, shell_count = shells_of(patch, edges)

    local = (vertices - centre) / diagonal
    caps, cap_shell, centres, hole_count = _caps(local, edges, shell)
    if len(caps):
        faces, shell = np.concatenate([faces, caps]), np.concatenate([shell, cap_shell])
        local = np.concatenate([local, centres])
        vertices = np.concatenate([vertices, centre + diagonal * centres])
        source = np.concatenate([source, np.full(len(caps), -1, dtype=np.int32)])
        assert not edges_of(faces, len(vertices)).net.any(), "the caps do not close the surface"

    whole = len(vertices)
    vertices, faces = unpinched(vertices, faces, edges_of(faces, whole) if len(caps) else edges)
    local = np.concatenate([local, (vertices[whole:] - centre) / diagonal])
    if len(vertices) > whole:
        pinched = counted(len(vertices) - whole, "vertex", "vertices")
        notes.append(f"{pinched} where parts meet in a point doubled.")
        is_real = source >= 0
        corners = _turned(faces[is_real], flipped)
        vertex_of[mesh.faces[source[is_real]]] = corners  # each in a fan of its own

    facing = facing_of(local, faces, shell, shell_count)
    if abs(facing.volume.sum()) <= _least_volume(vertices, diagonal):
        raise _no_volume(mesh, closing_distance(vertices, faces[source >= 0]))
    is_real = source >= 0
    note_winding(notes, flipped, facing, shell[is_real], conflicts)
    note_caps(notes, boundary, nonmanifold, hole_count)
    note_shells(notes, facing, shell_count)
    is_turned = facing.is_turned[shell]
    flipped = np.concatenate([flipped, np.zeros(len(caps), dtype=bool)]) ^ is_turned
    return Solid(
        vertices=vertices,
        faces=_turned(faces, is_turned),
        source_face=source,
        vertex_of=vertex_of,
        flipped=flipped & is_real,
        shell=shell,
        shell_count=shell_count,
        body=facing.owner[shell],
        warnings=tuple(notes),
        boundary_edges=boundary,
        nonmanifold_edges=nonmanifold,
    )


def parts_of(mesh: TriMesh) -> NDArray[np.int64]:
    """The closed part that each vertex of a mesh belongs to, from 0, shape (n,); -1 if no face uses it.

    The walls of a cavity belong to the part around it.
    """
    solid = solid_of(mesh)
    part = np.full(len(solid.vertices) + 1, -1, np.int64)  # the last for vertices in no face
    part[solid.faces] = np.unique(solid.body, return_inverse=True)[1].reshape(-1, 1)
    return part[solid.vertex_of]


def _sound_faces(faces, notes):
    """(faces, source) without those that name a vertex twice or repeat another face."""
    source = np.arange(len(faces), dtype=np.int32)
    is_bad = is_degenerate(faces)
    if is_bad.any():
        notes.append(f"{counted(is_bad.sum(), 'face')} without area (a corner twice) left out.")
        faces, source = faces[~is_bad], source[~is_bad]
    is_bad = is_duplicate(faces)
    if is_bad.any():
        notes.append(
            f"{counted(is_bad.sum(), 'face')} left out because another has the same corners."
        )
        faces, source = faces[~is_bad], source[~is_bad]
    return faces, source


def _frame(mesh, vertices, faces):
    """(centre, diagonal) of the box of the vertices [m]; MeshError if there is no usable box."""
    if not len(faces):
        raise _no_volume(mesh)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    with np.errstate(over="ignore"):
        diagonal = float(np.linalg.norm((high / 2 - low / 2) / _largest(high, low))) * 2
        diagonal *= _largest(high, low)
    if not np.isfinite(diagonal):
        raise MeshError(f"{mesh.name} is too large for numbers ({high - low} m); scale it down")
    if diagonal == 0:
        raise _no_volume(mesh)
    return low / 2 + high / 2, diagonal


def _largest(high, low):
    """The largest half side of the box, or 1 if it has none: squares must not overflow."""
    return float((high / 2 - low / 2).max()) or 1.0


def _least_volume(vertices, diagonal):
    """The smallest relative volume that is not rounding, which grows far from the origin."""
    return NO_VOLUME + np.finfo(np.float64).eps * np.abs(vertices).max() / diagonal


def _no_volume(mesh, distance=None):
    """What to raise; distance [m]: merging corners within it would close the mesh."""
    if distance is not None:
        return MeshError(
            f"{mesh.name} has no volume (its faces do not hang together); {merge_remedy(distance)}"
        )
    return MeshError(
        f"{mesh.name} has no volume (it is flat, or its faces cancel); "
        "give it thickness: in Blender add a Solidify modifier and apply it"
    )


def _minority(patch, turn):
    """Faces to flip, shape (f,), so that each patch is wound as most of its faces are."""
    turned = np.bincount(patch, turn, len(patch))
    is_mostly_turned = 2 * turned > np.bincount(patch, minlength=len(patch))
    return (turn == 1) != is_mostly_turned[patch]


def _turned(faces, is_turned):
    """Faces with the chosen ones wound the other way."""
    if not is_turned.any():
        return faces
    faces = faces.copy()
    faces[is_turned] = faces[is_turned][:, [0, 2, 1]]
    return faces


def _caps(vertices, edges: Edges, shell):
    """(caps, their shells, centres, number of plain holes): cones that balance every edge.

    A connected border of one shell is coned from its centroid, each edge as often as it is out of
    balance.
    """
    odd = np.flatnonzero(edges.net)
    if not odd.size:
        return np.zeros((0, 3), np.int32), np.zeros(0, np.int32), np.zeros((0, 3)), 0
    ends, net = edges.ends[odd], edges.net[odd]
    edge_shell = shell[edges.half_edges[edges.start[odd]] // 3]
    corner = edge_shell[:, None] * np.int64(len(vertices)) + ends
    corners, corner = np.unique(corner, return_inverse=True)
    corner = corner.reshape(-1, 2)
    hole, hole_count = numbered(joined(len(corners), corner)[0])
    places = vertices[corners % len(vertices)]
    size = np.bincount(hole)
    centres = np.stack([np.bincount(hole, places[:, k]) / size for k in range(3)], axis=1)

    edge_hole = hole[corner[:, 0]]
    apex = len(vertices) + edge_hole
    low, high = ends.T
    tail, head = np.where(net > 0, high, low), np.where(net > 0, low, high)
    caps = np.stack([tail, head, apex], axis=1).astype(np.int32)
    is_plain = np.bincount(edge_hole, edges.count[odd] != 1, hole_count) == 0
    times = np.abs(net)
    return (
        np.repeat(caps, times, axis=0),
        np.repeat(edge_shell, times),
        centres,
        int(is_plain.sum()),
    )


@dataclass(frozen=True, eq=False)
class MeshReport:
    """What a mesh is, as it came: only equal positions are taken as one vertex."""

    vertices: int
    faces: int
    polygons: int
    size: tuple[float, float, float]
    """Box of the vertices that faces use [m]."""
    volume: float
    """Signed volume [m^3]."""
    area: float
    """[m^2]."""
    is_closed: bool
    """Every edge has exactly two faces."""
    is_consistently_wound: bool
    """Faces that share an edge of two faces agree which side is out."""
    components: int
    """Parts that hang together by edges."""
    genus: int | None
    """Handles of all parts; None unless closed, wound alike and manifold at every vertex."""
    boundary_edges: int
    nonmanifold_edges: int
    degenerate_faces: int
    """Faces that name a place twice; the edge counts leave them out."""
    duplicate_faces: int
    unreferenced_vertices: int
    problems: tuple[str, ...]
    """What is wrong, in sentences with a remedy."""


def mesh_report(mesh: TriMesh) -> MeshReport:
    """Count what is there and say what is wrong with it; repairs nothing and accepts any mesh."""
    vertex_of, vertices = welded(mesh.vertices, mesh.faces)
    faces = vertex_of[mesh.faces]
    is_bad = is_degenerate(faces)
    faces = faces[~is_bad]
    edges = edges_of(faces, len(vertices)) if len(faces) else None
    counts = edges.count if len(faces) else np.zeros(0, dtype=np.int64)
    is_wound = edges is None or not (edges.net[counts == 2]).any()
    is_closed = len(faces) > 0 and bool((counts == 2).all())
    components = components_of(len(faces), edges)[1] if len(faces) else 0
    genus = None
    if is_closed and is_wound and fans_of(faces, edges)[1] == len(vertices):
        genus = (2 * components - len(vertices) + len(counts) - len(faces)) // 2
    low, high = mesh.bounds()
    values = dict(
        vertices=len(mesh.vertices),
        faces=len(mesh.faces),
        polygons=mesh.polygon_count(),
        size=tuple((high - low).tolist()),
        volume=mesh.volume(),
        area=mesh.area(),
        is_closed=is_closed,
        is_consistently_wound=bool(is_wound),
        components=components,
        genus=genus,
        boundary_edges=int((counts == 1).sum()),
        nonmanifold_edges=int((counts > 2).sum()),
        degenerate_faces=int(is_bad.sum()),
        duplicate_faces=int(is_duplicate(faces).sum()),
        unreferenced_vertices=int((vertex_of < 0).sum()),
    )
    return MeshReport(
        **values,
        problems=(
            *problems_of(values, closing_distance(vertices, faces)),
            *size_notes(mesh.bounds()),
        ),
    )
