"""Make a folder of exports for `read_exports.py` to check inside Blender.

    python tests/in_blender/write_exports.py FOLDER [--frames 12] [--first-frame 1001]

Two bodies: a cloth of quads with UVs, whose positions are in the world, and a plate of polygons below a transform.
"""

import argparse
from pathlib import Path

import numpy as np

from jellycage.sim.export.frames import ExportMesh
from jellycage.sim.export.writers import WRITERS

FPS = 24.0
PLATE_MATRIX = np.array(
    [[0.0, -2.0, 0.0, 5.0], [1.0, 0.0, 0.0, -6.0], [0.0, 0.0, 0.5, 7.0], [0.0, 0.0, 0.0, 1.0]]
)


def grid(name, rows, columns):
    """A rectangle of quads with a UV for each vertex, and its positions (n, 3) in the unit square."""
    at = np.arange(rows * columns).reshape(rows, columns)
    quads = np.stack([at[:-1, :-1], at[:-1, 1:], at[1:, 1:], at[1:, :-1]], axis=2).reshape(-1)
    v, u = (axis.ravel() for axis in np.mgrid[0 : 1 : rows * 1j, 0 : 1 : columns * 1j])
    uv = np.stack([u, v], axis=1)
    start = np.arange(0, len(quads) + 1, 4)
    mesh = ExportMesh(name, rows * columns, start, quads, uv, quads)
    return mesh, np.append(uv, np.zeros((len(uv), 1)), axis=1)


def plate(name):
    """A pentagon, a quad and a triangle without UVs, and positions (n, 3)."""
    mesh = ExportMesh(name, 8, [0, 5, 9, 12], [0, 1, 2, 3, 4, 0, 4, 5, 6, 0, 6, 7])
    angles = np.arange(8) * np.pi / 4
    return mesh, np.stack([np.cos(angles), np.sin(angles), 0.1 * np.arange(8)], axis=1)


def moved(x, frame):
    """Positions [m] and velocities [m/s] that are different in every frame and along every axis."""
    phase = 5.0 * x[:, [1, 2, 0]] + 0.3 * frame
    drift = np.array([0.01, -0.02, 0.03])
    return x + 0.1 * np.sin(phase) + frame * drift, (0.03 * np.cos(phase) + drift) * FPS


def write_exports(folder, frame_count, first_frame):
    """Every format, and expected.npz: positions and velocities in single precision, faces and UVs."""
    bodies = [grid("Bär 熊", 9, 14), plate("plate/a")]
    meshes = [mesh for mesh, _ in bodies]
    frames = [list(zip(*(moved(x, i) for _, x in bodies), strict=True)) for i in range(frame_count)]
    options = {"fps": FPS, "first_frame": first_frame, "frame_count": frame_count}
    writers = []
    for suffix, row in WRITERS.items():
        if row.writer.holds_one_mesh:
            for i, mesh in enumerate(meshes):
                writers.append(row.writer(folder / f"body_{i}{suffix}", [mesh], **options))
        else:
            more = {"matrices": [None, PLATE_MATRIX]} if suffix == ".abc" else {}
            writers.append(row.writer(folder / f"scene{suffix}", meshes, **options, **more))
    for writer in writers:
        body = int(writer.path.stem[-1]) if writer.path.stem.startswith("body") else None
        with writer:
            for positions, velocities in frames:
                writer.write(positions if body is None else [positions[body]], velocities)
    expected = {"fps": FPS, "first_frame": first_frame, "matrix_1": PLATE_MATRIX}
    for i, (mesh, name) in enumerate(zip(meshes, writers[0].names, strict=True)):
        expected[f"name_{i}"] = name
        expected[f"positions_{i}"] = np.array([x[i] for x, _ in frames], np.float32)
        expected[f"velocities_{i}"] = np.array([v[i] for _, v in frames], np.float32)
        expected[f"polygon_start_{i}"] = mesh.polygon_start
        expected[f"polygon_vertices_{i}"] = mesh.polygon_vertices
        if mesh.uv is not None:
            expected[f"corner_uv_{i}"] = mesh.uv[mesh.uv_index].astype(np.float32)
    np.savez(folder / "expected.npz", **expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--frames", type=int, default=12)
    parser.add_argument("--first-frame", type=int, default=1001)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    write_exports(arguments.folder, arguments.frames, arguments.first_frame)


if __name__ == "__main__":
    main()
