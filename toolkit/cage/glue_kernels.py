"""Gluing of elements across faces, and the nodes that follow from it, for tets and for hexes."""

import numpy as np

from jellycage.toolkit.cage.lattice import FACE_MATCH, NEIGHBOUR, TET_CORNERS
from jellycage.toolkit.cage.lattice_surface_kernels import (
    cube_of,
    face_between,
    find_fragment,
    longest_walk,
)
from jellycage.toolkit.cage.voxels_kernels import ring_tets, walk, winding_at
from jellycage.toolkit.compile_kernels import njit, njit_called
from jellycage.toolkit.union_kernels import find_root, find_sorted, join


@njit_called
def join_corners(parent, a, b, m, parity, k):
    """Merge the three corners of face m of element a with their partners in element b."""
    for c in range(4):
        if c != m:
            join(parent, 4 * a + c, 4 * b + FACE_MATCH[parity, k, m, c])


@njit_called
def glue_step(surface, tet, other, faces, fragment_element, parent, out_pairs, row):
    """Glue the elements that hold triangles on both sides of the face between two tets (keys); returns how many."""
    m = face_between(tet, other, surface.shape)
    here, there = find_sorted(surface.tets, tet), find_sorted(surface.tets, other)
    cube = np.empty(3, np.int64)
    k = cube_of(tet, surface.shape, cube)
    parity = (cube[0] + cube[1] + cube[2]) & 1
    found = 0
    for face in faces:
        a = find_fragment(surface.fragment_start, surface.fragment_tet, face, here)
        b = find_fragment(surface.fragment_start, surface.fragment_tet, face, there)
        if m < 0 or a < 0 or b < 0:
            continue
        a, b = fragment_element[a], fragment_element[b]
        join_corners(parent, a, b, m, parity, k)
        if row + found < out_pairs.shape[0]:
            out_pairs[row + found, 0] = a
            out_pairs[row + found, 1] = b
            out_pairs[row + found, 2] = m
        found += 1
    return found


@njit
def glue_fragments(surface, fragment_element, parent, out_pairs):
    """Glue elements through every face that a triangle of both crosses.

    Returns the number of glued pairs, repeats included; out_pairs (k, 3) takes (element, element, face of the first).
    """
    found = 0
    forms, floors = surface.forms, surface.floors
    walked = np.empty(longest_walk(surface.edges, surface.floors, surface.vertex_tet), np.int64)
    for e in range(surface.edges.shape[0]):
        a, b = surface.edges[e, 0], surface.edges[e, 1]
        if surface.vertex_tet[a] == surface.vertex_tet[b]:
            continue
        count = walk(forms[a], floors[a], forms[b], floors[b], surface.shape, walked)
        faces = surface.edge_faces[surface.edge_face_start[e] : surface.edge_face_start[e + 1]]
        for s in range(count - 1):
            found += glue_step(
                surface, walked[s], walked[s + 1], faces, fragment_element, parent, out_pairs, found
            )
    for g in range(surface.pierced_edges.shape[0]):
        around = ring_tets(surface.pierced_edges[g], surface.shape, walked)
        faces = surface.pierce_face[surface.pierce_start[g] : surface.pierce_start[g + 1]]
        for c in range(around):
            tet, other = walked[c], walked[(c + 1) % around]
            found += glue_step(
                surface, tet, other, faces, fragment_element, parent, out_pairs, found
            )
    return found


@njit
def glue_corners(shape, tets, corner_element, parent, out_pairs):
    """Glue elements through every face with a solid corner, as glue_fragments does.

    tets: sorted keys; corner_element (t, 4): the element whose part holds each corner, -1 if it is not solid.
    """
    found = 0
    cube = np.empty(3, np.int64)
    for t in range(tets.shape[0]):
        k = cube_of(tets[t], shape, cube)
        parity = (cube[0] + cube[1] + cube[2]) & 1
        for m in range(4):
            i = cube[0] + NEIGHBOUR[parity, k, m, 0]
            j = cube[1] + NEIGHBOUR[parity, k, m, 1]
            l = cube[2] + NEIGHBOUR[parity, k, m, 2]  # noqa: E741
            if i < 0 or j < 0 or l < 0 or i >= shape[0] or j >= shape[1] or l >= shape[2]:
                continue
            other_key = ((l * shape[1] + j) * shape[0] + i) * 5 + NEIGHBOUR[parity, k, m, 3]
            if other_key < tets[t]:
                continue
            other = -2
            for c in range(4):
                a = corner_element[t, c]
                if c == m or a < 0:
                    continue
                if other == -2:
                    other = find_sorted(tets, other_key)
                if other < 0:
                    break
                b = corner_element[other, FACE_MATCH[parity, k, m, c]]
                if b >= 0:
                    join_corners(parent, a, b, m, parity, k)
                    if found < out_pairs.shape[0]:
                        out_pairs[found, 0], out_pairs[found, 1], out_pairs[found, 2] = a, b, m
                    found += 1
    return found


@njit
def number_nodes(parent, tets, element_tet, shape, out_node, out_position):
    """Number the merged corners in order of first appearance: out_node (e, 4), out_position (n, 3); returns n."""
    number = np.full(parent.shape[0], -1, np.int64)
    cube = np.empty(3, np.int64)
    count = 0
    for e in range(element_tet.shape[0]):
        k = cube_of(tets[element_tet[e]], shape, cube)
        parity = (cube[0] + cube[1] + cube[2]) & 1
        for c in range(4):
            root = find_root(parent, 4 * e + c)
            if number[root] < 0:
                number[root] = count
                for axis in range(3):
                    out_position[count, axis] = cube[axis] + TET_CORNERS[parity, k, c, axis]
                count += 1
            out_node[e, c] = number[root]
    return count


@njit
def has_solid_corner(tets, shape, line_start, line_r, line_sum, out_solid):
    """Whether the first corner of each tet (keys) lies in the solid; enough for tets free of surface."""
    cube = np.empty(3, np.int64)
    for t in range(tets.shape[0]):
        k = cube_of(tets[t], shape, cube)
        parity = (cube[0] + cube[1] + cube[2]) & 1
        i = cube[0] + TET_CORNERS[parity, k, 0, 0]
        j = cube[1] + TET_CORNERS[parity, k, 0, 1]
        l = cube[2] + TET_CORNERS[parity, k, 0, 2]  # noqa: E741
        out_solid[t] = winding_at(i, j, l, shape, line_start, line_r, line_sum) != 0


@njit
def join_cubes(pairs, cube, parent):
    """Merge glued elements of one cube."""
    for p in range(pairs.shape[0]):
        a, b = pairs[p, 0], pairs[p, 1]
        if cube[a] == cube[b]:
            join(parent, a, b)


@njit
def join_hex_corners(hex_of, cube, pairs, shape, corners, parent):
    """Merge the four corners of the shared cube face of every glued pair in neighbouring cubes."""
    for p in range(pairs.shape[0]):
        a, b = pairs[p, 0], pairs[p, 1]
        step = cube[b] - cube[a]
        if step == 0:
            continue
        if step < 0:
            a, b, step = b, a, -step
        axis = 0 if step == 1 else (1 if step == shape[0] else 2)
        for c in range(8):
            if corners[c, axis] == 1:
                for d in range(8):
                    same = corners[d, axis] == 0
                    for other in range(3):
                        same &= other == axis or corners[c, other] == corners[d, other]
                    if same:
                        join(parent, 8 * hex_of[a] + c, 8 * hex_of[b] + d)
