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


def blocks(is_full, *planes):
    """The boundary of the full cells of a rectilinear grid, corners shared; planes: their coordinates along x, y, z.

    Cells that touch along an edge or at a corner only are left to the caller to avoid.
    """
    return _boundary(is_full, planes)[:2]


def block_boxes(is_full, *planes):
    """The full cells as boxes (low, high), shape (b, 2, 3), and the box of every face of `blocks`, shape (f,)."""
    full = np.argwhere(is_full)
    low = np.stack([np.asarray(x, float)[full[:, i]] for i, x in enumerate(planes)], axis=1)
    high = np.stack([np.asarray(x, float)[full[:, i] + 1] for i, x in enumerate(planes)], axis=1)
    return np.stack([low, high], axis=1), _boundary(is_full, planes)[2]


def _boundary(is_full, planes):
    is_full = np.asarray(is_full, bool)
    number = np.cumsum(is_full.reshape(-1)).reshape(is_full.shape) - 1
    padded = np.pad(is_full, 1)
    nodes = np.array(is_full.shape) + 1
    quads, owners = [], []
    for axis, side in np.ndindex(3, 2):
        bare = is_full & ~np.roll(padded, 1 - 2 * side, axis=axis)[1:-1, 1:-1, 1:-1]
        cells = np.argwhere(bare)
        u, v = np.eye(3, dtype=int)[[(axis + 1) % 3, (axis + 2) % 3]]
        first = cells + side * np.eye(3, dtype=int)[axis]
        ring = [first, first + u, first + u + v, first + v]
        quads.append(np.stack(ring if side else ring[::-1], axis=1))
        owners.append(number[bare])
    quads = np.concatenate(quads)
    keys = np.ravel_multi_index(tuple(quads.reshape(-1, 3).T), nodes)
    used, corner = np.unique(keys, return_inverse=True)
    at = np.unravel_index(used, nodes)
    vertices = np.stack([np.asarray(x, float)[i] for x, i in zip(planes, at, strict=True)], axis=1)
    faces = corner.reshape(-1, 4)[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3)
    return vertices, faces, np.repeat(np.concatenate(owners), 2)


def fork_cells(gap=0.05, bar=0.3, length=2.0):
    """Two bars along y, `gap` apart in x, on a common base: arguments of `blocks`."""
    is_full = np.ones((3, 2, 1), bool)
    is_full[1, 1] = False
    return is_full, [0, bar, bar + gap, 2 * bar + gap], [0, 0.3, 0.3 + length], [0, bar]


def c_ring_cells(gap=0.05):
    """A square ring in the xy plane, cut through by a gap on one side: arguments of `blocks`."""
    is_full = np.ones((3, 5, 1), bool)
    is_full[1, 1:4] = False
    is_full[2, 2] = False
    half = gap / 2
    return is_full, [0, 0.3, 1.2, 1.5], [0, 0.3, 0.75 - half, 0.75 + half, 1.2, 1.5], [0, 0.3]


def pipe_cells(bore=0.3, wall=0.2, length=2.0):
    """A square pipe along z, open at both ends: arguments of `blocks`."""
    is_full = np.ones((3, 3, 1), bool)
    is_full[1, 1] = False
    across = [0, wall, wall + bore, 2 * wall + bore]
    return is_full, across, across, [0, length]


def hollow_cells(cavity=0.4, wall=0.3):
    """A cube with a cubic cavity: arguments of `blocks`."""
    is_full = np.ones((3, 3, 3), bool)
    is_full[1, 1, 1] = False
    across = [0, wall, wall + cavity, 2 * wall + cavity]
    return is_full, across, across, across


def ring_cells(hole=1.0, bar=0.3):
    """A square ring in the xy plane: arguments of `blocks`."""
    is_full = np.ones((3, 3, 1), bool)
    is_full[1, 1] = False
    across = [0, bar, bar + hole, 2 * bar + hole]
    return is_full, across, across, [0, bar]


def linked_rings(hole=1.0, bar=0.3):
    """Two square rings linked like a chain, apart everywhere."""
    vertices, faces = blocks(*ring_cells(hole, bar))
    middle = bar + hole / 2
    shift = np.array([middle, 0, 0]) + [0, middle + bar / 2, bar / 2 - middle]
    second = vertices[:, [0, 2, 1]] * [1, -1, 1] + shift
    return together((vertices, faces), (second, faces))


def sheets(count=2, gap=0.03, thickness=0.02, size=1.0):
    """Parallel square sheets, `gap` apart along z."""
    step = gap + thickness
    return together(*(box((size, size, thickness), (0, 0, k * step)) for k in range(count)))


def subdivided(mesh, times=1):
    """Every triangle cut into four, `times` times; the surface stays where it is."""
    vertices, faces = mesh
    for _ in range(times):
        edges = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]], axis=2).reshape(-1, 2)
        pairs, middle = np.unique(edges, axis=0, return_inverse=True)
        ab, bc, ca = (middle.reshape(-1, 3) + len(vertices)).T
        vertices = np.concatenate([vertices, vertices[pairs].mean(axis=1)])
        a, b, c = faces.T
        corners = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        faces = np.concatenate([np.stack(corner, axis=1) for corner in corners])
    return vertices, faces


def random_rotation(seed):
    """A rotation matrix, evenly spread over all rotations."""
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    q *= np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else -q


def rotated(mesh, seed):
    """The mesh turned by a random rotation."""
    vertices, faces = mesh
    return vertices @ random_rotation(seed).T, faces
