"""What contact must never leave behind: how deep surfaces are in each other, what lost its volume or is inside out."""

from itertools import permutations

import numpy as np
from oracles import signed_volume

from jellycage import sim
from jellycage.toolkit.collision.posed import pose
from jellycage.toolkit.collision.queries import are_inside, closest_points


def surface_velocities(body, v):
    """Of the vertices of the exported surface [m/s], shape (vertices, 3): they hang on the nodes linearly."""
    return body.surface(v)


def depth(points, body, x):
    """How far the deepest of some points (n, 3) is inside a body at x [m]; 0 if all are outside."""
    low, high = np.sort(body.surface(x), axis=0)[[0, -1]]
    points = points[((points >= low) & (points <= high)).all(axis=1)]
    if not len(points):
        return 0.0
    posed = pose(body.asset.collision, x)
    points = points[are_inside(posed, points)]
    return float(closest_points(posed, points).distance.max()) if len(points) else 0.0


def plain_depth(points, vertices, faces):
    """The same of a closed surface, by trying every triangle: solid angles, then distances."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    deepest = 0.0
    for point in points:
        if abs(solid_turns(point, a, b, c)) > 0.5:
            deepest = max(deepest, distances(point, a, b, c).min())
    return deepest


def solid_turns(point, a, b, c):
    """How often triangles (f, 3) go around a point, after van Oosterom and Strackee 1983."""
    a, b, c = a - point, b - point, c - point
    la, lb, lc = (np.linalg.norm(side, axis=1) for side in (a, b, c))
    below = la * lb * lc + (a * b).sum(1) * lc + (b * c).sum(1) * la + (c * a).sum(1) * lb
    above = np.einsum("fi,fi->f", a, np.cross(b, c))
    return np.arctan2(above, below).sum() / (2.0 * np.pi)


def distances(point, a, b, c):
    """From a point to each of the triangles with corners a, b, c (f, 3) [m], shape (f,)."""
    normal = np.cross(b - a, c - a)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    found, is_over = np.full(len(a), np.inf), np.ones(len(a), bool)
    for p, q in ((a, b), (b, c), (c, a)):
        edge, arm = q - p, point - p
        share = (edge * arm).sum(1) / np.maximum((edge * edge).sum(1), 1e-300)
        arm_left = arm - np.clip(share, 0.0, 1.0)[:, None] * edge
        found = np.minimum(found, np.linalg.norm(arm_left, axis=1))
        is_over &= (np.cross(edge, arm) * normal).sum(1) >= 0.0
    return np.where(is_over, np.abs(((point - a) * normal).sum(1)), found)


def deepest(bodies, state):
    """The deepest vertex of any exported surface inside another [m]."""
    surfaces = [body.surface(soft.x) for body, soft in zip(bodies, state.soft, strict=True)]
    return max(
        (
            depth(surfaces[i], bodies[j], state.soft[j].x)
            for i, j in permutations(range(len(bodies)), 2)
        ),
        default=0.0,
    )


def deepest_share(bodies, state):
    """The same in sizes of the smaller of the two."""
    surfaces = [body.surface(soft.x) for body, soft in zip(bodies, state.soft, strict=True)]
    return max(
        (
            depth(surfaces[i], bodies[j], state.soft[j].x)
            / min(extent(bodies[i]), extent(bodies[j]))
            for i, j in permutations(range(len(bodies)), 2)
        ),
        default=0.0,
    )


def extent(body):
    """Longest side of the box around a body's surface at rest [m]."""
    return float(np.ptp(body.asset.surface_vertices, axis=0).max())


def volume_errors(bodies, state):
    """How far each surface is from its volume at rest, in those, shape (bodies,)."""
    found = []
    for body, soft in zip(bodies, state.soft, strict=True):
        faces, rest = body.asset.surface_faces, body.asset.surface_vertices
        found.append(signed_volume(body.surface(soft.x), faces) / signed_volume(rest, faces) - 1.0)
    return np.abs(found)


def inverted(bodies, state):
    """How many quadrature points of all bodies are inside out."""
    pairs = zip(bodies, state.soft, strict=True)
    return sum(int((sim.determinants(body, soft.x) <= 0.0).sum()) for body, soft in pairs)


def is_finite(state):
    """Whether all positions and speeds are numbers."""
    return all(np.isfinite(soft.x).all() and np.isfinite(soft.v).all() for soft in state.soft)


def fastest_vertex(bodies, state):
    """Speed of the fastest vertex of all surfaces [m/s]."""
    return max(
        float(np.linalg.norm(surface_velocities(body, soft.v), axis=1).max())
        for body, soft in zip(bodies, state.soft, strict=True)
    )
