"""Fitting: pull the outer nodes of a cage towards the surface without touching it or flattening a tet.

Each pass moves every outer node a share `relaxation` of the way to its local ODT optimum [thesis ch. 5.3.1, step 4];
the step is halved until all tets around keep their dihedral angles and no outer face has swept over the surface of
its own part. Only outer nodes move, and copies of a lattice node move apart. Nodes of a face where copies of one tet
meet the same neighbour stay: were such a face to pass the crotch between two fingers, the surface there would belong
to both.
"""

import numpy as np

from jellycage.toolkit.arrays import ragged
from jellycage.toolkit.cage.element_tables import TET_FACES
from jellycage.toolkit.cage.odt_kernels import RUN, BoxedSurface, OuterNodes, fit_pass, pack_boxes
from jellycage.toolkit.cage.tet_cage import FaceNeighbours

MIN_DIHEDRAL = 20.0
"""Smallest dihedral angle that fitting may leave in a tet [degrees]; the lattice starts at 54.7."""
REACH = 2
"""How many elements away a triangle may have lain before fitting to be met by the faces of a node."""
CLEARANCE = 1e-4
"""Distance that moving faces keep from the surface, in cells."""


def fitted(
    nodes,
    tets,
    neighbours: FaceNeighbours,
    points,
    faces,
    element_start,
    element_faces,
    *,
    steps,
    relaxation,
    is_fixed,
    progress=None,
):
    """Node positions after `steps` passes, everything in cells.

    points, faces: the surface; element_start, element_faces: the triangles in each element (CSR);
    is_fixed (n,): nodes that stay where they are.
    """
    nodes = nodes.copy()
    outer_element, outer_face = np.nonzero(neighbours.is_outer())
    fans = tets[outer_element[:, None], TET_FACES[outer_face]].astype(np.int64)
    outer_nodes = np.unique(fans)
    stays = is_fixed.copy()
    fork = np.flatnonzero(np.diff(neighbours.start) > 1)
    stays[tets[fork[:, None] // 4, TET_FACES[fork % 4]]] = True
    outer_nodes = outer_nodes[~stays[outer_nodes]]
    if len(outer_nodes) == 0 or steps == 0:
        return nodes
    place = np.full(len(nodes), -1, np.int64)
    place[outer_nodes] = np.arange(len(outer_nodes))

    element, corner = np.nonzero(place[tets] >= 0)
    ring_start, ring = ragged(place[tets[element, corner]], element, len(outer_nodes))
    fan_start, fan = _fans(fans, place, len(outer_nodes))
    near_start, near = _near_elements(ring_start, ring, neighbours, element_start)
    a, b, c = (points[faces[:, i]] for i in range(3))
    low, high = np.minimum(np.minimum(a, b), c), np.maximum(np.maximum(a, b), c)
    face_box = np.concatenate([low, high], axis=1)
    packed_faces = np.empty_like(element_faces)
    box = np.empty((len(element_faces) // RUN + len(tets) + 1, 6))
    pack_boxes(element_start, element_faces, face_box, packed_faces, box)
    outer = OuterNodes(
        node=outer_nodes,
        ring_start=ring_start,
        ring=ring,
        fan_start=fan_start,
        fan=fan,
        near_start=near_start,
        near=near,
    )
    surface = BoxedSurface(
        points=points,
        faces=faces,
        element_start=element_start,
        element_faces=packed_faces,
        box=box,
    )
    moved_at, tried_at = np.zeros(len(nodes), np.int64), np.full(len(nodes), -1)
    limit = np.cos(np.radians(MIN_DIHEDRAL))
    for step in range(steps):
        fit_pass(
            nodes, tets, outer, surface, float(relaxation), limit, CLEARANCE, moved_at, tried_at
        )
        if progress is not None:
            progress((step + 1) / steps)
    return nodes


def _fans(fans, place, count):
    """For every outer node the other two nodes of its outer faces: CSR starts and (k, 2)."""
    at = np.concatenate([fans, np.roll(fans, -1, axis=1), np.roll(fans, -2, axis=1)])
    at = at[place[at[:, 0]] >= 0]
    rows = place[at[:, 0]]
    order = np.argsort(rows, kind="stable")
    start = np.searchsorted(rows[order], np.arange(count + 1))
    return start, np.ascontiguousarray(at[order, 1:])


def _near_elements(ring_start, ring, neighbours, element_start):
    """Elements within REACH faces of those around every outer node, those that hold triangles."""
    rows = np.repeat(np.arange(len(ring_start) - 1), np.diff(ring_start))
    elements = ring
    for _ in range(REACH):
        first, last = neighbours.start[4 * elements], neighbours.start[4 * elements + 4]
        size = last - first
        offset = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        across = neighbours.elements[np.repeat(first, size) + offset]
        start, elements = ragged(
            np.concatenate([rows, np.repeat(rows, size)]),
            np.concatenate([elements, across]),
            len(ring_start) - 1,
        )
        rows = np.repeat(np.arange(len(start) - 1), np.diff(start))
    full = np.diff(element_start)[elements] > 0
    return ragged(rows[full], elements[full], len(ring_start) - 1)
