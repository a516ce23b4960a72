"""Small closed meshes made by code: (vertices (n, 3), faces (f, 3)), faces pointing outwards."""

import numpy as np

QUADS = [[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]]
"""The six sides of `box` as quads."""


def box(size=(1.0, 1.0, 1.0), corner=(0.0, 0.0, 0.0)):
    """A box of 12 triangles with its lowest corner at `corner`."""
    x, y, z = np.asarray(size, dtype=float)
    vertices = [
        (0, 0, 0),
        (x, 0, 0),
        (x, y, 0),
        (0, y, 0),
        (0, 0, z),
        (x, 0, z),
        (x, y, z),
        (0, y, z),
    ]
    faces = [triangle for a, b, c, d in QUADS for triangle in ((a, b, c), (a, c, d))]
    return np.array(vertices, dtype=float) + corner, np.array(faces)


def ball(subdivisions=2, radius=1.0, centre=(0.0, 0.0, 0.0)):
    """A sphere from an octahedron split `subdivisions` times: 8 * 4**subdivisions triangles."""
    vertices = np.array(
        [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], float
    )
    ring = [0, 2, 1, 3]
    upper = [[ring[k], ring[(k + 1) % 4], 4] for k in range(4)]
    faces = np.array(upper + [[b, a, 5] for a, b, _ in upper])
    for _ in range(subdivisions):
        edges = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]], axis=2).reshape(-1, 2)
        pairs, middle = np.unique(edges, axis=0, return_inverse=True)
        ab, bc, ca = (middle.reshape(-1, 3) + len(vertices)).T
        vertices = np.concatenate([vertices, vertices[pairs].mean(axis=1)])
        vertices /= np.linalg.norm(vertices, axis=1, keepdims=True)
        a, b, c = faces.T
        corners = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        faces = np.concatenate([np.stack(corner, axis=1) for corner in corners])
    return radius * vertices + centre, faces


def torus(around=24, across=12, radius=1.0, thickness=0.4):
    """A torus about z: 2 * around * across triangles."""
    i, j = np.meshgrid(np.arange(around), np.arange(across), indexing="ij")
    u, v = 2 * np.pi * i.ravel() / around, 2 * np.pi * j.ravel() / across
    reach = radius + thickness * np.cos(v)
    vertices = np.stack([reach * np.cos(u), reach * np.sin(u), thickness * np.sin(v)], axis=1)

    def at(p, q):
        return ((p % around) * across + q % across).ravel()

    a, b, c, d = at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)
    return vertices, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


def together(*meshes):
    """Several meshes as one, without joining anything."""
    first = np.cumsum([0, *(len(vertices) for vertices, _ in meshes)])
    faces = [faces + at for (_, faces), at in zip(meshes, first, strict=False)]
    return np.concatenate([vertices for vertices, _ in meshes]), np.concatenate(faces)


def inside_out(mesh):
    """The same mesh with every face wound the other way."""
    vertices, faces = mesh
    return vertices, faces[:, ::-1]
