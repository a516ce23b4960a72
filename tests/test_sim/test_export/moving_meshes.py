"""Small meshes that move, for all export tests."""

import numpy as np

from jellycage.sim.export.frames import ExportMesh


def quad_and_triangle(name="Bear"):
    """Five vertices, a quad and a triangle, with UVs on all corners but one."""
    return ExportMesh(
        name,
        5,
        [0, 4, 7],
        [0, 1, 2, 3, 0, 3, 4],
        [[0.25, 0.5], [1.0, 0.0], [0.125, 1.0]],
        [0, 1, 2, 1, 0, -1, 2],
    )


def triangle(name="Plate"):
    """One triangle without UVs."""
    return ExportMesh(name, 3, [0, 3], [0, 1, 2])


def cube(name="Cube"):
    """Eight vertices of the unit cube and its six quads, outwards; and the positions (8, 3)."""
    x = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)], float)
    quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    uv = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    mesh = ExportMesh(name, 8, np.arange(0, 25, 4), np.ravel(quads), uv, np.arange(24) % 4)
    return mesh, x


def motion(meshes, frame_count, seed=0, dtype=np.float64):
    """Random positions [m]: a list over frames of lists over meshes of (n, 3)."""
    rng = np.random.default_rng(seed)
    return [
        [rng.normal(size=(mesh.vertex_count, 3)).astype(dtype) for mesh in meshes]
        for _ in range(frame_count)
    ]


def write_all(writer, frames, velocities=None):
    """All frames through a writer, from its opening to its end."""
    with writer:
        for i, positions in enumerate(frames):
            writer.write(positions, None if velocities is None else velocities[i])
    return writer.path


def y_up(x):
    """(x, z, -y) in single precision."""
    return np.stack([x[:, 0], x[:, 2], -x[:, 1]], axis=1).astype(np.float32)
