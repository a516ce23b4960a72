"""The same questions as in `jellycage.toolkit.collision.queries`, answered by trying every triangle."""

import numpy as np

from jellycage.toolkit.collision.nearest_kernels import near_triangle
from jellycage.toolkit.collision.pairs_kernels import cross_triangles
from jellycage.toolkit.collision.predicates_kernels import point_of
from jellycage.toolkit.collision.rays_kernels import hit_triangle, prepare_ray
from jellycage.toolkit.compile_kernels import njit


@njit
def every_hit(
    vertices, faces, origins, directions, limit, root, out_ray, out_distance, out_triangle
):
    """Hits of the very predicate of the search, on all pairs of a ray and a triangle; returns how many."""
    ray, axes, slab = np.empty(10), np.empty(3, np.int64), np.empty((3, 7))
    count = 0
    for r in range(origins.shape[0]):
        if prepare_ray(origins, directions, r, root, ray, axes, slab) < 0.0:
            continue  # no direction
        for t in range(faces.shape[0]):
            at = hit_triangle(vertices, faces[t, 0], faces[t, 1], faces[t, 2], ray, axes)[0]
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
def corners_of(vertices, faces, t):
    """The corners of a triangle as three points."""
    return (
        point_of(vertices, faces[t, 0]),
        point_of(vertices, faces[t, 1]),
        point_of(vertices, faces[t, 2]),
    )


@njit
def every_pair(vertices_a, faces_a, vertices_b, faces_b, out_pairs, out_ends):
    """Crossings of the very predicate of the search, on all pairs of triangles; returns how many."""
    ends, numbers, signs = np.empty((1, 8)), np.empty((1, 6), np.int64), np.empty((5, 4), np.int64)
    count = 0
    for i in range(faces_a.shape[0]):
        a = corners_of(vertices_a, faces_a, i)
        for j in range(faces_b.shape[0]):
            b = corners_of(vertices_b, faces_b, j)
            if cross_triangles(a, b, 0, signs, ends, numbers):
                if count < out_pairs.shape[0]:
                    out_pairs[count, 0], out_pairs[count, 1] = i, j
                    for k in range(4):
                        out_pairs[count, 2 + k] = numbers[0, 2 + k]
                    for k in range(8):
                        out_ends[count, k] = ends[0, k]
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


@njit
def every_distance(vertices, faces, points, out_square, out_triangle):
    """Square of the distance to the nearest of all triangles, by the very function of the search."""
    weights = np.empty(3)
    for p in range(points.shape[0]):
        out_square[p], out_triangle[p] = np.inf, -1
        for t in range(faces.shape[0]):
            square = near_triangle(
                points, p, vertices, faces[t, 0], faces[t, 1], faces[t, 2], np.inf, weights
            )
            if square < out_square[p]:
                out_square[p], out_triangle[p] = square, t


def brute_nearest(posed, points):
    """(distance, triangle) of the nearest triangle to each point."""
    square, triangle = np.empty(len(points)), np.empty(len(points), np.int64)
    faces = np.ascontiguousarray(posed.surface.vertices, np.int64)
    every_distance(posed.vertices, faces, points, square, triangle)
    return np.sqrt(square), triangle


def solid_angles(posed, points):
    """Winding numbers by solid angles (van Oosterom, Strackee 1983), not rounded: another way altogether."""
    corners = posed.vertices[posed.surface.vertices]
    winding = np.empty(len(points))
    for p, point in enumerate(points):
        a, b, c = np.moveaxis(corners - point, 1, 0)
        la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
        up = np.einsum("ti,ti->t", a, np.cross(b, c))
        down = la * lb * lc + lc * (a * b).sum(1) + la * (b * c).sum(1) + lb * (c * a).sum(1)
        winding[p] = 2.0 * np.arctan2(up, down).sum() / (4.0 * np.pi)
    return winding
