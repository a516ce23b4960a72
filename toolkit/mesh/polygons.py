"""Polygons cut into triangles: convex ones as fans, others by ear clipping in the mean plane.

Polygons are CSR rows: `start` (p+1,) into `corners` (c,), which holds vertex indices. The triangles
of one polygon are neighbours in the result, in polygon order, and use no new vertices, so the
original polygons can be written back.
"""

import numpy as np
from numpy.typing import NDArray

REFLEX = -1e-9
"""A corner turns inwards if its turn is below this share of the polygon's squared area."""


def triangulated(
    vertices: NDArray[np.float64], start: NDArray[np.int32], corners: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Triangles of all polygons, shape (c - 2p, 3); each must have at least three corners."""
    sizes = np.diff(start)
    first = np.concatenate([[0], np.cumsum(sizes - 2)])
    faces = np.empty((first[-1], 3), dtype=np.int32)
    for size in np.unique(sizes):
        rows = np.flatnonzero(sizes == size)
        ring = corners[start[rows][:, None] + np.arange(size)]
        at = first[rows][:, None] + np.arange(size - 2)
        faces[at] = ring[:, None, :] if size == 3 else _cut(vertices, ring)
    return faces


def _cut(vertices, ring):
    """Triangles of polygons of one size: ring (k, s) -> (k, s-2, 3)."""
    count, size = ring.shape
    turns = _turns(vertices[ring])
    is_reflex = turns < REFLEX
    # A quad with one inward corner is cut from there; a convex polygon from its first corner.
    origin = np.argmax(is_reflex, axis=1) if size == 4 else np.zeros(count, dtype=np.int64)
    fan = np.take_along_axis(ring, (origin[:, None] + np.arange(size)) % size, axis=1)
    apex = np.broadcast_to(fan[:, :1], (count, size - 2))
    result = np.stack([apex, fan[:, 1:-1], fan[:, 2:]], axis=2)
    if size > 4:
        for row in np.flatnonzero(is_reflex.any(axis=1)):
            result[row] = ring[row][_ears(_flattened(vertices[ring[row]]))]
    return result


def _turns(points):
    """Signed turn at each corner over the polygon's squared area, points (k, s, 3) -> (k, s)."""
    with np.errstate(all="ignore"):
        points = points - points[:, :1]
        scale = np.abs(points).max(axis=(1, 2), keepdims=True)
        points = points / np.where(scale > 0, scale, 1.0)
        normal = np.cross(points, np.roll(points, -1, axis=1)).sum(axis=1)
        ahead = np.roll(points, -1, axis=1) - points
        turn = np.einsum("ksi,ki->ks", np.cross(np.roll(ahead, 1, axis=1), ahead), normal)
        square = np.einsum("ki,ki->k", normal, normal)[:, None]
        return np.where(square > 0, turn / square, 0.0)


def _flattened(points):
    """The polygon (s, 3) in its mean plane, counter-clockwise, shape (s, 2)."""
    with np.errstate(all="ignore"):
        points = points - points.mean(axis=0)
        points = points / np.abs(points).max()
        normal = np.cross(points, np.roll(points, -1, axis=0)).sum(axis=0)
        normal = normal / np.linalg.norm(normal)
        across = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
        across = across / np.linalg.norm(across)
        return np.stack([points @ across, points @ np.cross(normal, across)], axis=1)


def _ears(flat):
    """Corner numbers (s-2, 3) of the triangles of a simple polygon, by cutting off ears.

    A polygon that crosses itself runs out of ears; any corner is cut then, so the result always
    has s-2 triangles and covers every corner.
    """
    ring = list(range(len(flat)))
    before, after = np.roll(flat, 1, axis=0), np.roll(flat, -1, axis=0)
    # Only corners that turn inwards at the start can ever lie inside an ear.
    inward = np.flatnonzero(_side(before.T, flat.T, after) <= 0)
    triangles = []
    at = waited = 0
    while len(ring) > 3:
        at %= len(ring)
        ear = [ring[at - 1], ring[at], ring[(at + 1) % len(ring)]]
        if waited > len(ring) or _is_ear(flat, ear, inward):
            triangles.append(ear)
            inward = inward[inward != ring.pop(at)]
            waited = 0
        else:
            at += 1
            waited += 1
    return np.array([*triangles, ring])


def _is_ear(flat, ear, inward):
    """Whether the corner is convex and no inward corner elsewhere lies in its triangle."""
    a, b, c = flat[ear]
    if _side(a, b, c) <= 0:
        return False
    others = flat[inward]
    others = others[~(others[:, None] == flat[ear]).all(axis=2).any(axis=1)]
    is_inside = (_side(a, b, others) >= 0) & (_side(b, c, others) >= 0) & (_side(c, a, others) >= 0)
    return not is_inside.any()


def _side(a, b, points):
    """Twice the signed area of (a, b, point): positive to the left of a -> b."""
    return (b[0] - a[0]) * (points[..., 1] - a[1]) - (b[1] - a[1]) * (points[..., 0] - a[0])
