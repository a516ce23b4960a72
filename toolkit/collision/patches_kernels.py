"""Patches of the cut surface: which triangles meet, and vertices in the order that patches use them."""

import numpy as np

from jellycage.toolkit.compile_kernels import njit


@njit
def pair_half_edges(half_edges, start, direction, face_tet, out_twin):
    """The half-edge on the other side of each, -1 for none: at edges of more than two faces in the same tet if any is.

    half_edges, start, direction: see `topology.Edges`.
    """
    for h in range(out_twin.shape[0]):
        out_twin[h] = -1
    for e in range(start.shape[0] - 1):
        for turn in range(2):
            for i in range(start[e], start[e + 1]):
                one = half_edges[i]
                for j in range(i + 1, start[e + 1]):
                    two = half_edges[j]
                    is_near = turn == 1 or face_tet[one // 3] == face_tet[two // 3]
                    is_free = out_twin[one] < 0 and out_twin[two] < 0
                    if is_near and is_free and direction[i] != direction[j]:
                        out_twin[one], out_twin[two] = two, one


@njit
def number_vertices(patch_triangle_start, faces, vertex_count, out_faces, out_vertex, out_start):
    """Give every patch vertices of its own, in the order that its triangles use them; returns how many.

    out_faces (t, 3): the new rows. out_vertex: the old vertex of each row. out_start (p+1,): first row of each patch.
    """
    seen, row = np.full(vertex_count, -1, np.int64), np.empty(vertex_count, np.int64)
    count = 0
    for p in range(patch_triangle_start.shape[0] - 1):
        out_start[p] = count
        for t in range(patch_triangle_start[p], patch_triangle_start[p + 1]):
            for c in range(3):
                v = faces[t, c]
                if seen[v] != p:
                    seen[v], row[v] = p, count
                    out_vertex[count] = v
                    count += 1
                out_faces[t, c] = row[v]
    out_start[patch_triangle_start.shape[0] - 1] = count
    return count


@njit
def carry_weights(tets, vertex_tet, vertex_weights, target_tet, out_weights):
    """Weights in one tet expressed in another that has all nodes which carry them; rows of both belong together."""
    for v in range(vertex_tet.shape[0]):
        e, f = vertex_tet[v], target_tet[v]
        for m in range(4):
            out_weights[v, m] = 0.0
            for n in range(4):
                if tets[e, n] == tets[f, m]:
                    out_weights[v, m] = vertex_weights[v, n]


@njit
def measure_patches(
    patch_triangle_start, faces, weights, positions, out_centre, out_area, out_vector
):
    """Centroid (weights in the tet), area and vector area of every patch [thesis 002, eqs. 5.3, 5.5, 5.6]."""
    for p in range(patch_triangle_start.shape[0] - 1):
        total, nx, ny, nz = 0.0, 0.0, 0.0, 0.0
        for m in range(4):
            out_centre[p, m] = 0.0
        for t in range(patch_triangle_start[p], patch_triangle_start[p + 1]):
            i, j, k = faces[t, 0], faces[t, 1], faces[t, 2]
            a, b, c = positions[i], positions[j], positions[k]
            ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
            vx, vy, vz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
            x, y, z = (uy * vz - uz * vy) / 2, (uz * vx - ux * vz) / 2, (ux * vy - uy * vx) / 2
            area = np.sqrt(x * x + y * y + z * z)
            total += area
            nx, ny, nz = nx + x, ny + y, nz + z
            for m in range(4):
                out_centre[p, m] += area * (weights[i, m] + weights[j, m] + weights[k, m]) / 3
        for m in range(4):
            if total > 0.0:
                out_centre[p, m] /= total
            else:  # a patch without area: its first corner is as good as any
                out_centre[p, m] = weights[faces[patch_triangle_start[p], 0], m]
        out_area[p] = total
        out_vector[p, 0], out_vector[p, 1], out_vector[p, 2] = nx, ny, nz
