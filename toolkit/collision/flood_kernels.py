"""Floods over what is inside: from the rim inwards, through triangles of patches that are cut and over whole patches.

Nodes of one union-find over both bodies tell what is connected: first the curves, then for each body the corners of its
rim, three per row, then its pieces. A piece is what one flood covers.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.collision.curves_kernels import neighbour_of
from jellycage.toolkit.collision.rim_kernels import corner_of, row_of, twin_edge
from jellycage.toolkit.compile_kernels import njit, njit_called
from jellycage.toolkit.union_kernels import join


class Flooded(NamedTuple):
    """What a flood covers."""

    label: NDArray[np.int32]
    """Of each triangle: 1 + node of its piece, 0 for those that are not covered one by one, -1 - row in the rim."""
    patch_label: NDArray[np.int32]
    """Of each patch: 1 + node of its piece, 0 for those that are not covered, -1 for those that are cut."""
    triangles: NDArray[np.int64]
    """Triangles covered one by one, in the order of the flood."""
    patches: NDArray[np.int64]
    """Patches covered as a whole."""
    winding: NDArray[np.int64]
    """Winding number of each piece."""
    sum_patch: NDArray[np.int64]
    sum_piece: NDArray[np.int64]
    sums: NDArray[np.float64]
    """Patch, piece and sums over triangles covered one by one: area, vector area, area times centroid, shape (s, 7)."""
    last_sum: NDArray[np.int32]
    """Of each patch: 1 + row of its sums in the piece that is being flooded, or in an earlier one."""


@njit_called
def add_triangle(mesh, t, times, row, out_sums):
    """Add a whole triangle, so many times, to a row of sums [thesis 002, eqs. 5.3, 5.5, 5.6]."""
    vertices = mesh.vertices
    i, j, k = (
        corner_of(mesh.triangles, t, 0),
        corner_of(mesh.triangles, t, 1),
        corner_of(mesh.triangles, t, 2),
    )
    ax, ay, az = vertices[i, 0], vertices[i, 1], vertices[i, 2]
    bx, by, bz = vertices[j, 0], vertices[j, 1], vertices[j, 2]
    cx, cy, cz = vertices[k, 0], vertices[k, 1], vertices[k, 2]
    ux, uy, uz, vx, vy, vz = bx - ax, by - ay, bz - az, cx - ax, cy - ay, cz - az
    half = 0.5 * times
    x, y, z = half * (uy * vz - uz * vy), half * (uz * vx - ux * vz), half * (ux * vy - uy * vx)
    area = np.sqrt(x * x + y * y + z * z)
    area = area if times > 0 else -area
    out_sums[row, 0] += area
    out_sums[row, 1] += x
    out_sums[row, 2] += y
    out_sums[row, 3] += z
    third = area / 3.0
    out_sums[row, 4] += third * (ax + bx + cx)
    out_sums[row, 5] += third * (ay + by + cy)
    out_sums[row, 6] += third * (az + bz + cz)


@njit_called
def flood_patches(patch, node, mesh, count, out):
    """Flood over neighbouring patches that are not cut; returns how many are covered so far."""
    start, neighbours = mesh.patch_neighbour_start, mesh.patch_neighbours
    done = count
    out.patch_label[patch], out.patches[count] = node + 1, patch
    count += 1
    while done < count:
        p = out.patches[done]
        done += 1
        for i in range(start[p], start[p + 1]):
            other = neighbours[i]
            if out.patch_label[other] == 0:
                out.patch_label[other], out.patches[count] = node + 1, other
                count += 1
    return count


@njit_called
def flood_triangles(seed, piece, node, mesh, counts, parent, out):
    """Flood from a triangle of a patch that is cut; counts: triangles, patches and sums so far."""
    triangles, start = mesh.triangles, mesh.patch_triangle_start
    done, count = counts[0], counts[0]
    out.label[seed], out.triangles[count] = node + 1, seed
    count += 1
    patch, first, last, row = -1, 0, 0, 0
    while done < count:
        t = out.triangles[done]
        done += 1
        if not first <= t < last:
            patch = row_of(start, t)
            first, last = start[patch], start[patch + 1]
            row = np.int64(out.last_sum[patch]) - 1
            if row < 0 or out.sum_piece[row] != piece:
                row = counts[2]
                counts[2] += 1
                out.last_sum[patch] = row + 1
                out.sum_patch[row], out.sum_piece[row] = patch, piece
                for k in range(7):
                    out.sums[row, k] = 0.0
        add_triangle(mesh, t, out.winding[piece], row, out.sums)
        for i in range(3):
            other = neighbour_of(triangles, t, i)
            if other < 0:
                continue
            label = out.label[other]
            if label != 0:
                if label > 0 and label != node + 1:
                    join(parent, node, label - 1)
                continue
            if not first <= other < last:
                p = row_of(start, other)
                label = out.patch_label[p]
                if label > 0:
                    join(parent, node, label - 1)
                elif label == 0:
                    counts[1] = flood_patches(p, node, mesh, counts[1], out)
                if label >= 0:
                    continue
            out.label[other], out.triangles[count] = node + 1, other
            count += 1
    counts[0] = count


@njit
def flood_inwards(rim, mesh, first_node, parent, out, out_counts):
    """Flood what is inside of the other body from the rim; out_counts: triangles, patches, sums, pieces.

    first_node: that of corner 0 of row 0 of the rim.
    """
    triangles = mesh.triangles
    first_piece = first_node + 3 * rim.triangle.shape[0]
    for k in range(4):
        out_counts[k] = 0
    for r in range(rim.triangle.shape[0]):
        t = rim.triangle[r]
        for i in range(3):
            # An edge that nothing pierces is inside where its corner is, and so is the triangle across it.
            if rim.pierced[r, i] > 0 or rim.winding[r, i] == 0:
                continue
            other = neighbour_of(triangles, t, i)
            corner = first_node + 3 * r
            label = np.int64(out.label[other])
            if label < 0:
                s, j = -1 - label, twin_edge(mesh, t, i, other)
                join(parent, corner + i, first_node + 3 * s + (j + 1) % 3)
                join(parent, corner + (i + 1) % 3, first_node + 3 * s + j)
                continue
            patch = -1
            if label == 0:
                patch = row_of(mesh.patch_triangle_start, other)
                label = max(np.int64(out.patch_label[patch]), 0)
            if label == 0:
                piece = out_counts[3]
                out_counts[3] += 1
                node = first_piece + piece
                out.winding[piece] = rim.winding[r, i]
                if out.patch_label[patch] == 0:
                    out_counts[1] = flood_patches(patch, node, mesh, out_counts[1], out)
                else:
                    flood_triangles(other, piece, node, mesh, out_counts, parent, out)
                label = node + 1
            join(parent, corner + i, label - 1)
    return out_counts[3]


@njit
def find_shells(mesh, patch_label, out_first):
    """Find the connected parts of a surface that nothing crosses; returns how many. out_first: a patch of each."""
    start, neighbours = mesh.patch_neighbour_start, mesh.patch_neighbours
    patches = start.shape[0] - 1
    todo, is_seen = np.empty(patches, np.int64), np.zeros(patches, np.bool_)
    count = 0
    for first in range(patches):
        if is_seen[first]:
            continue
        is_cut, left = False, 1
        todo[0], is_seen[first] = first, True
        while left > 0:
            left -= 1
            p = todo[left]
            is_cut |= patch_label[p] < 0
            for i in range(start[p], start[p + 1]):
                other = neighbours[i]
                if not is_seen[other]:
                    is_seen[other], todo[left] = True, other
                    left += 1
        if not is_cut:
            out_first[count] = first
            count += 1
    return count


@njit
def flood_whole(shells, winding, mesh, first_piece, out, out_counts):
    """Cover those connected parts of a surface, given by a patch of each, whose winding number is not 0."""
    for n in range(shells.shape[0]):
        if winding[n] != 0:
            piece = out_counts[3]
            out_counts[3] += 1
            out.winding[piece] = winding[n]
            out_counts[1] = flood_patches(shells[n], first_piece + piece, mesh, out_counts[1], out)
