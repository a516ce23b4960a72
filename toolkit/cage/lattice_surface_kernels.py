"""The surface in its lattice as arrays, and where in the lattice its parts lie."""

from typing import NamedTuple

import numpy as np

from jellycage.toolkit.cage.lattice import DIRECTIONS, FORMS, NEIGHBOUR, TET_CORNERS
from jellycage.toolkit.cage.voxels_kernels import crossing_count
from jellycage.toolkit.compile_kernels import by_reference, njit, njit_called
from jellycage.toolkit.union_kernels import find_sorted


class LatticeSurface(NamedTuple):
    """The surface in its lattice, as arrays; lengths in cells."""

    points: np.ndarray
    forms: np.ndarray
    floors: np.ndarray
    faces: np.ndarray
    edges: np.ndarray
    face_edges: np.ndarray
    edge_face_start: np.ndarray
    edge_faces: np.ndarray
    shape: np.ndarray
    tets: np.ndarray
    vertex_tet: np.ndarray
    fragment_start: np.ndarray
    fragment_tet: np.ndarray
    fragment_face: np.ndarray
    pierced_edges: np.ndarray
    pierce_start: np.ndarray
    pierce_r: np.ndarray
    pierce_face: np.ndarray
    pierce_jump: np.ndarray
    line_start: np.ndarray
    line_r: np.ndarray
    line_sum: np.ndarray


refer_surface = by_reference(LatticeSurface)


@njit_called
def find_fragment(fragment_start, fragment_tet, face, tet):
    """Number of the fragment of a face in a tet (index into surface.tets), -1 if it is not there."""
    first, last = fragment_start[face], fragment_start[face + 1]
    if last - first == 1:
        return first if fragment_tet[first] == tet else -1
    at = find_sorted(fragment_tet[first:last], tet)
    return first + at if at >= 0 else -1


@njit_called
def cube_of(tet, shape, out_cube):
    """Index in its cube of a tet key; the cube's integer position goes to out_cube."""
    cube = tet // 5
    out_cube[0] = cube % shape[0]
    cube //= shape[0]
    out_cube[1] = cube % shape[1]
    out_cube[2] = cube // shape[1]
    return tet % 5


@njit_called
def face_between(tet, other, shape):
    """Local face (opposite corner) of `tet` that `other` shares, -1 if they are not face neighbours."""
    nx, ny = shape[0], shape[1]
    cube, k = tet // 5, tet % 5
    parity = (cube % nx + cube // nx % ny + cube // (nx * ny)) & 1
    for m in range(4):
        step = NEIGHBOUR[parity, k, m]
        if ((step[2] * ny + step[1]) * nx + step[0]) * 5 + step[3] - k == other - tet:
            return m
    return -1


@njit_called
def corner_of(tet, node, shape):
    """Local corner of a tet at a lattice node, -1 if it has none there."""
    cube = np.empty(3, np.int64)
    k = cube_of(tet, shape, cube)
    parity = (cube[0] + cube[1] + cube[2]) & 1
    for c in range(4):
        same = True
        for axis in range(3):
            same &= cube[axis] + TET_CORNERS[parity, k, c, axis] == node[axis]
        if same:
            return c
    return -1


@njit_called
def edge_direction(a, b):
    """Number of the lattice direction from node a to node b, -1 if it is the opposite of one."""
    for d in range(9):
        same = True
        for axis in range(3):
            same &= b[axis] - a[axis] == DIRECTIONS[d, axis]
        if same:
            return d
    return -1


@njit_called
def face_plane(tet, m, shape, out_corners):
    """Form and integer level of a tet's face opposite corner m; its three corners go to out_corners (3, 3)."""
    cube = np.empty(3, np.int64)
    k = cube_of(tet, shape, cube)
    parity = (cube[0] + cube[1] + cube[2]) & 1
    row = 0
    for c in range(4):
        if c != m:
            for axis in range(3):
                out_corners[row, axis] = cube[axis] + TET_CORNERS[parity, k, c, axis]
            row += 1
    for f in range(7):
        levels = np.empty(3)
        for row in range(3):
            levels[row] = (
                FORMS[f, 0] * out_corners[row, 0]
                + FORMS[f, 1] * out_corners[row, 1]
                + FORMS[f, 2] * out_corners[row, 2]
            )
        if levels[0] == levels[1] and levels[1] == levels[2]:
            return f, int(levels[0])
    return -1, 0


@njit_called
def plane_axes(form):
    """In-plane coordinates (u, v) of a face and the step of w = the third one when u grows by one in the plane."""
    if form == 0:
        return 1, 2, 0, 0.0
    if form == 1:
        return 2, 0, 1, 0.0
    if form == 2:
        return 0, 1, 2, 0.0
    return 0, 1, 2, -1.0 if form == 3 or form == 5 else 1.0


@njit_called
def cut_by_plane(surface, face, form, level, out_points, out_edges):
    """Where a triangle's edges cross a lattice plane: positions and mesh edges; returns how many (0 or 2)."""
    n = 0
    for c in range(3):
        a, b = surface.faces[face, c], surface.faces[face, (c + 1) % 3]
        if (surface.floors[a, form] < level) == (surface.floors[b, form] < level):
            continue
        if a > b:
            a, b = b, a
        fa, fb = surface.forms[a, form], surface.forms[b, form]
        s = (level - fa) / (fb - fa)
        for axis in range(3):
            x = surface.points[a, axis]
            out_points[n, axis] = x + s * (surface.points[b, axis] - x)
        out_edges[n] = surface.face_edges[face, c]
        n += 1
    return n


@njit_called
def longest_walk(edges, floors, vertex_tet):
    """Room that the longest walk along a mesh edge needs, and at least that of a ring."""
    longest = 6
    for e in range(edges.shape[0]):
        a, b = edges[e, 0], edges[e, 1]
        if vertex_tet[a] != vertex_tet[b]:
            longest = max(longest, crossing_count(floors[a], floors[b]) + 1)
    return longest


@njit
def find_vertex_elements(surface, vertex_face, fragment_element, out_element):
    """The element of each vertex before fitting: that of one of its triangles in the vertex's tet."""
    for v in range(surface.points.shape[0]):
        fragment = find_fragment(
            surface.fragment_start, surface.fragment_tet, vertex_face[v], surface.vertex_tet[v]
        )
        out_element[v] = fragment_element[fragment]
