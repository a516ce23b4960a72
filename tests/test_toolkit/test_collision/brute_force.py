"""The same questions as in `toolkit.collision.queries`, answered by trying every triangle."""

import numpy as np

from toolkit.collision.pairs_kernels import cross_triangles
from toolkit.collision.rays_kernels import hit_triangle, prepare_ray
from toolkit.compile_kernels import njit


@njit
def every_hit(vertices, faces, origins, directions, limit, root, out_ray, out_distance, out_triangle):
    """Hits of the very predicate of the search, on all pairs of a ray and a triangle; returns how many."""
    ray, axes, slab = np.empty(10), np.empty(3, np.int64), np.empty((3, 7))
    weights = np.empty(3)
    count = 0
    for r in range(origins.shape[0]):
        prepare_ray(origins, directions, r, root, ray, axes, slab)
        for t in range(faces.shape[0]):
            at = hit_triangle(vertices, faces[t, 0], faces[t, 1], faces[t, 2], ray, axes, weights)
            if at >= 0.0 and at <= limit:
                if count < out_ray.shape[0]:
                    out_ray[count], out_distance[count], out_triangle[count] = r, at, t
                count += 1
    return count


def brute_hits(posed, origins, directions, limit=np.inf):
    """(ray, distance, triangle) of all hits, by ray, distance, triangle."""
    room = 10000
    while True:
        arrays = np.empty(room, np.int64), np.empty(room), np.empty(room, np.int64)
        faces = np.ascontiguousarray(posed.surface.vertices, np.int64)
        root = np.zeros((1, 14))
        count = every_hit(posed.vertices, faces, origins, directions, limit, root, *arrays)
        if count <= room:
            break
        room = count
    ray, distance, triangle = (array[:count] for array in arrays)
    order = np.lexsort([triangle, distance, ray])
    return ray[order], distance[order], triangle[order]


@njit
def every_pair(vertices_a, faces_a, vertices_b, faces_b, out_pairs, out_ends):
    """Crossings of the very predicate of the search, on all pairs of triangles; returns how many."""
    a, b = np.empty((3, 3)), np.empty((3, 3))
    ends, numbers, signs = np.empty(8), np.empty(4, np.int64), np.empty((5, 4), np.int64)
    count = 0
    for i in range(faces_a.shape[0]):
        for c in range(3):
            for k in range(3):
                a[c, k] = vertices_a[faces_a[i, c], k]
        for j in range(faces_b.shape[0]):
            for c in range(3):
                for k in range(3):
                    b[c, k] = vertices_b[faces_b[j, c], k]
            if cross_triangles(a, b, signs, ends, numbers):
                if count < out_pairs.shape[0]:
                    out_pairs[count, 0], out_pairs[count, 1] = i, j
                    for k in range(4):
                        out_pairs[count, 2 + k] = numbers[k]
                    for k in range(8):
                        out_ends[count, k] = ends[k]
                count += 1
    return count


def brute_pairs(a, b):
    """(numbers (k, 6), ends (k, 8)) of all crossing pairs, by triangle of A and of B."""
    room = 10000
    while True:
        arrays = np.empty((room, 6), np.int64), np.empty((room, 8))
        faces = (np.ascontiguousarray(posed.surface.vertices, np.int64) for posed in (a, b))
        faces_a, faces_b = faces
        count = every_pair(a.vertices, faces_a, b.vertices, faces_b, *arrays)
        if count <= room:
            return tuple(array[:count] for array in arrays)
        room = count
