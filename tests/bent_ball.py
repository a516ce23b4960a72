"""A fine ball in a coarse cage that is bent along an arc: what shows the facets of an embedding."""

import numpy as np

ANGLE = 1.6
"""By which the ball is bent from pole to pole [rad]."""


def bent(points, angle=ANGLE):
    """Points (n, 3) around the origin, |z| <= 1, with the z axis bent to an arc in the xz plane."""
    radius = 2.0 / angle
    x, y, z = points.T
    turn = z / radius
    return np.stack([radius - (radius - x) * np.cos(turn), y, (radius - x) * np.sin(turn)], axis=1)


def collision_surface(asset, x):
    """The surface carried by the corners of each vertex's own element, shape (n, 3)."""
    return np.einsum("va,vai->vi", asset.embed_weights, x[asset.elements[asset.embed_element]])


def border_edges(asset):
    """Pairs of faces that share an edge and do not lie in one element, shape (k, 2)."""
    faces = asset.surface_faces
    edges = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    order = np.lexsort(edges.T)
    pairs = np.repeat(np.arange(len(faces)), 3)[order].reshape(-1, 2)
    element = asset.embed_element[faces]
    return pairs[(element[pairs].reshape(len(pairs), -1) != element[pairs[:, 0], :1]).any(axis=1)]


def normal_turns(x, faces, pairs):
    """Angle between the normals of each pair of faces [degrees], shape (k,)."""
    normals = np.cross(x[faces[:, 1]] - x[faces[:, 0]], x[faces[:, 2]] - x[faces[:, 0]])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    half = np.linalg.norm(normals[pairs[:, 0]] - normals[pairs[:, 1]], axis=1) / 2.0
    return np.degrees(2.0 * np.arcsin(half))


def normal_jumps(asset, x):
    """How much more or less than on the ball bent exactly the normals turn at element borders [degrees], shape (k,)."""
    pairs, faces = border_edges(asset), asset.surface_faces
    exact = normal_turns(bent(asset.surface_vertices), faces, pairs)
    return np.abs(normal_turns(x, faces, pairs) - exact)
