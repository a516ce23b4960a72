"""Make the sample meshes: `python sample_meshes/make_sample_meshes.py [FOLDER]`.

The figures are signed distances (`figures.py`). Their surface is found by surface nets on a grid,
which give quads and, unlike marching cubes, no slivers; the vertices are then evened out along the
surface and projected back to it (`evened`). Coordinates are rounded to 5 decimals before anything
is checked, so the checks hold for the files.

Gibson 1998, "Constrained Elastic Surface Nets", doi:10.1007/BFb0056277: a vertex per crossed cell.
Differs from the paper: the vertices are relaxed on the exact surface, not inside their cells.
"""

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import trimesh
from figures import FINGERS, creature, creature_arm, creature_head, finger, gummy_bear, hand
from scipy.sparse import coo_matrix
from scipy.spatial import cKDTree

DECIMALS = 5


@dataclass(frozen=True, eq=False)
class QuadMesh:
    """A closed surface of quads, with one optional texture coordinate per corner."""

    vertices: np.ndarray
    """Positions [m], shape (n, 3), Z up, the lowest at z = 0."""
    quads: np.ndarray
    """Vertex indices, shape (q, 4), counter-clockwise seen from outside."""
    corner_uv: np.ndarray | None = None
    """Texture coordinates, shape (q, 4, 2)."""

    def triangles(self):
        """Each quad cut along its first diagonal, shape (2 q, 3)."""
        return np.concatenate([self.quads[:, [0, 1, 2]], self.quads[:, [0, 2, 3]]])


# From a signed distance to quads.


def surface_nets(distance, low, high, cell):
    """Quads around the zero level, one vertex per grid cell that it crosses."""
    low, cell = np.asarray(low, float), np.asarray(cell, float)
    shape = np.ceil((np.asarray(high) - low) / cell).astype(int) + 1
    grid = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1)
    d = distance((low + grid * cell).reshape(-1, 3)).reshape(shape)
    cell_shape = shape - 1
    total, count, quads = np.zeros((*cell_shape, 3)), np.zeros(cell_shape), []
    for axis in range(3):
        step = np.eye(3, dtype=int)[axis]
        d0, d1 = d[_head(axis)], d[_tail(axis)]
        start = np.argwhere((d0 < 0) != (d1 < 0))
        a, b = d0[tuple(start.T)], d1[tuple(start.T)]
        crossing = start + (a / (a - b))[:, None] * step
        # The four cells around a grid edge, counter-clockwise seen from its far end.
        u, v = np.roll(step, 1), np.roll(step, 2)
        ring = np.stack([start - u - v, start - v, start, start - u], axis=1)
        np.add.at(total, tuple(ring.reshape(-1, 3).T), np.repeat(crossing, 4, axis=0))
        np.add.at(count, tuple(ring.reshape(-1, 3).T), 1)
        ring[a >= 0] = ring[a >= 0, ::-1]
        quads.append(np.ravel_multi_index(tuple(np.moveaxis(ring, -1, 0)), cell_shape))
    used, quads = np.unique(np.concatenate(quads), return_inverse=True)
    centre = total.reshape(-1, 3)[used] / count.reshape(-1)[used, None]
    return low + centre * cell, quads.reshape(-1, 4)


def _head(axis):
    return tuple(slice(None, -1) if k == axis else slice(None) for k in range(3))


def _tail(axis):
    return tuple(slice(1, None) if k == axis else slice(None) for k in range(3))


def gradient(distance, p, h=1e-4):
    """Central differences, shape (n, 3)."""
    steps = h * np.eye(3)
    return np.stack([distance(p + s) - distance(p - s) for s in steps], axis=1) / (2.0 * h)


def projected(distance, p, steps=3):
    """The points moved to the zero level along the gradient."""
    for _ in range(steps):
        g = gradient(distance, p)
        length2 = np.maximum((g * g).sum(axis=1), 0.05)
        p = p - (distance(p) / length2)[:, None] * g
    return p


def evened(distance, vertices, quads, passes=16):
    """Vertices slid along the surface towards the mean of their neighbours."""
    edges = np.concatenate([quads, np.roll(quads, -1, axis=1)], axis=1).reshape(-1, 2, 4)
    i, j = edges[:, 0].ravel(), edges[:, 1].ravel()
    n = len(vertices)
    neighbours = coo_matrix((np.ones(len(i)), (i, j)), shape=(n, n)).tocsr()
    valence = np.asarray(neighbours.sum(axis=1))
    p = projected(distance, vertices)
    for _ in range(passes):
        move = neighbours @ p / valence - p
        normal = gradient(distance, p)
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        move -= (move * normal).sum(axis=1, keepdims=True) * normal
        p = projected(distance, p + 0.5 * move, steps=1)
    return projected(distance, p)


def from_distance(distance, low, high, cell):
    """A figure as quads of about the size of a cell [m]."""
    vertices, quads = surface_nets(distance, low, high, cell)
    return QuadMesh(evened(distance, vertices, quads), quads)


# Meshes that have a formula.


def knot_curve(t):
    """A (2, 3) torus knot around the y axis, shape (n, 3), for t in [0, 2 pi)."""
    radius = 2.0 + 0.85 * np.cos(3.0 * t)
    return np.stack([radius * np.sin(2 * t), np.sin(3 * t), radius * np.cos(2 * t)], axis=-1)


def transported_frames(tangent):
    """Unit vectors across a closed curve that turn as little as possible and meet at the end."""
    side = np.empty_like(tangent)
    vector = np.cross(tangent[0], (0.0, 1.0, 0.0))
    for i in range(len(tangent) + 1):
        direction = tangent[i % len(tangent)]
        vector = vector - (vector @ direction) * direction
        vector = vector / np.linalg.norm(vector)
        if i < len(tangent):
            side[i] = vector
    up = np.cross(tangent, side)
    leftover = np.arctan2(vector @ up[0], vector @ side[0])
    angle = -leftover * np.arange(len(tangent))[:, None] / len(tangent)
    side = np.cos(angle) * side + np.sin(angle) * up
    return side, np.cross(tangent, side)


def torus_knot(around=16, along=256, tube=0.085):
    """A torus knot standing upright, 1 m tall, as a tube of even rings."""
    fine = np.linspace(0.0, 2.0 * np.pi, 20001)
    length = np.linalg.norm(np.diff(knot_curve(fine), axis=0), axis=1).cumsum()
    t = np.interp(np.arange(along) / along * length[-1], np.append(0.0, length), fine)
    size = (1.0 - 2.0 * tube) / np.ptp(knot_curve(fine)[:, 2])
    tangent = knot_curve(t + 1e-4) - knot_curve(t - 1e-4)
    side, up = transported_frames(tangent / np.linalg.norm(tangent, axis=1, keepdims=True))
    angle = np.linspace(0.0, 2.0 * np.pi, around, endpoint=False)[:, None]
    circle = np.cos(angle) * side[:, None] + np.sin(angle) * up[:, None]
    vertices = (size * knot_curve(t)[:, None] + tube * circle).reshape(-1, 3)
    i, k = np.meshgrid(np.arange(along), np.arange(around), indexing="ij")
    i1, k1 = (i + 1) % along, (k + 1) % around
    corners = [i * around + k, i * around + k1, i1 * around + k1, i1 * around + k]
    return QuadMesh(vertices, np.stack(corners, axis=-1).reshape(-1, 4))


def beam(size=(2.1, 0.6, 0.6), cell=0.075):
    """A box of even quads with sharp edges; its volume is exact."""
    shape = np.round(np.divide(size, cell)).astype(int)
    keys = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        a, b = (m.ravel() for m in np.meshgrid(np.arange(shape[u]), np.arange(shape[v])))
        for end, ring in (
            (0, ((0, 0), (0, 1), (1, 1), (1, 0))),
            (1, ((0, 0), (1, 0), (1, 1), (0, 1))),
        ):
            corner = np.empty((len(a), 4, 3), dtype=int)
            corner[..., axis] = end * shape[axis]
            for k, (da, db) in enumerate(ring):
                corner[:, k, u], corner[:, k, v] = a + da, b + db
            keys.append(corner)
    keys = np.concatenate(keys)
    points, quads = np.unique(keys.reshape(-1, 3), axis=0, return_inverse=True)
    return QuadMesh(points * (np.asarray(size) / shape), quads.reshape(-1, 4))


# What leaves the script.


def settled(mesh):
    """Centred in x and y, lowest point at z = 0, rounded as it will be written."""
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    middle = 0.5 * (low + high) * (1, 1, 0) + low * (0, 0, 1)
    return QuadMesh(np.round(mesh.vertices - middle, DECIMALS) + 0.0, mesh.quads)


def with_cylindrical_uv(mesh):
    """Texture coordinates around the z axis; the seam runs down the back (+y)."""
    x, y, z = mesh.vertices.T
    u = np.arctan2(x, -y) / (2.0 * np.pi) + 0.5
    corner_u = u[mesh.quads]
    crosses = np.ptp(corner_u, axis=1, keepdims=True) > 0.5
    corner_u = np.where(crosses & (corner_u < 0.5), corner_u + 1.0, corner_u)
    corner_uv = np.stack([corner_u, (z / z.max())[mesh.quads]], axis=-1)
    return QuadMesh(mesh.vertices, mesh.quads, np.round(corner_uv, DECIMALS))


def crossing_faces(vertices, faces):
    """Pairs (i, j), shape (c, 2), for which an edge of triangle i passes through triangle j."""
    corners = vertices[faces]
    centre = corners.mean(axis=1)
    reach = np.linalg.norm(corners - centre[:, None], axis=2).max()
    pairs = cKDTree(centre).query_pairs(2.0 * reach, output_type="ndarray")
    pairs = np.concatenate([pairs, pairs[:, ::-1]])
    shared = (faces[pairs[:, 0]][:, :, None] == faces[pairs[:, 1]][:, None, :]).any(axis=(1, 2))
    pairs = pairs[~shared]
    a, b, c = np.moveaxis(corners[pairs[:, 1]], 1, 0)
    hit = np.zeros(len(pairs), dtype=bool)
    for k in range(3):
        p, q = corners[pairs[:, 0], k], corners[pairs[:, 0], (k + 1) % 3]
        apart = _volume(a, b, c, p) * _volume(a, b, c, q) < 0.0
        turns = np.stack([_volume(p, q, a, b), _volume(p, q, b, c), _volume(p, q, c, a)])
        hit |= apart & ((turns >= 0).all(axis=0) | (turns <= 0).all(axis=0))
    return pairs[hit]


def _volume(a, b, c, d):
    return np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a)


def check(name, mesh, euler_number):
    """Stop unless closed, manifold, one piece, outward, free of crossings and slivers."""
    faces = mesh.triangles()
    solid = trimesh.Trimesh(mesh.vertices, faces, process=False)
    assert solid.is_watertight and solid.is_winding_consistent, f"{name}: not closed"
    assert solid.body_count == 1, f"{name}: {solid.body_count} bodies"
    # With one closed body, a pinched vertex would lower this number too.
    assert solid.euler_number == euler_number, f"{name}: Euler number {solid.euler_number}"
    assert solid.volume > 0.0, f"{name}: inside out"
    smallest_angle = np.degrees(solid.face_angles.min())
    assert smallest_angle > 8.0, f"{name}: sliver with an angle of {smallest_angle:.1f} degrees"
    assert len(np.unique(mesh.vertices, axis=0)) == len(mesh.vertices), f"{name}: twin vertices"
    assert not len(crossing_faces(mesh.vertices, faces)), f"{name}: crosses itself"
    return solid


def gap_between(a, b, low, high, cell=0.004):
    """Smallest distance [m] between two parts inside a box, given their signed distances."""
    axes = [np.arange(lo, hi, cell) for lo, hi in zip(low, high, strict=True)]
    p = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    return (np.maximum(a(p), 0.0) + np.maximum(b(p), 0.0)).min()


def check_gaps():
    """Stop if limbs that are there to be kept apart are not close, or not apart."""
    gaps = [gap_between(creature_head, creature_arm, (0, -0.2, 0.5), (0.3, 0.2, 1))]
    for k in range(len(FINGERS) - 1):
        pair = (partial(finger, index=k), partial(finger, index=k + 1))
        gaps += [gap_between(*pair, (-0.3, -0.1, z), (0.3, 0.1, z + 0.01)) for z in (0.55, 0.7)]
    assert 0.008 < min(gaps) and max(gaps) < 0.03, f"gaps [m]: {np.round(gaps, 4)}"


def obj_text(name, mesh):
    """The mesh as Wavefront OBJ; equal texture coordinates are written once."""
    lines = [f"# {name}, made by make_sample_meshes.py; metres, Z up; CC0", f"o {name}"]
    lines += [f"v {x:.{DECIMALS}f} {y:.{DECIMALS}f} {z:.{DECIMALS}f}" for x, y, z in mesh.vertices]
    if mesh.corner_uv is None:
        lines += ["f {} {} {} {}".format(*quad) for quad in mesh.quads + 1]
    else:
        uv, index = np.unique(mesh.corner_uv.reshape(-1, 2), axis=0, return_inverse=True)
        lines += [f"vt {u:.{DECIMALS}f} {v:.{DECIMALS}f}" for u, v in uv]
        corners = np.stack([mesh.quads, index.reshape(-1, 4)], axis=-1).reshape(-1, 8) + 1
        lines += ["f {}/{} {}/{} {}/{} {}/{}".format(*row) for row in corners]
    return "\n".join(lines) + "\n"


def make_all():
    """Name -> (mesh, expected Euler number)."""
    bear = from_distance(gummy_bear, (-0.22, -0.24, -0.02), (0.22, 0.19, 0.58), 0.0122)
    figure = from_distance(
        creature, (-0.4, -0.28, -0.03), (0.4, 0.45, 1.03), (0.0135, 0.0185, 0.0185)
    )
    open_hand = from_distance(hand, (-0.3, -0.2, -0.03), (0.4, 0.16, 1.03), (0.0105, 0.016, 0.017))
    return {
        "gummy_bear": (with_cylindrical_uv(settled(bear)), 2),
        "creature": (settled(figure), 2),
        "hand": (settled(open_hand), 2),
        "torus_knot": (settled(torus_knot()), 0),
        "beam": (settled(beam()), 2),
    }


def main(folder):
    """Make, check and write every mesh."""
    check_gaps()
    for name, (mesh, euler_number) in make_all().items():
        solid = check(name, mesh, euler_number)
        text = obj_text(name, mesh)
        (folder / f"{name}.obj").write_bytes(text.encode("ascii"))
        size = " x ".join(f"{s:.2f}" for s in solid.extents)
        print(
            f"{name}: {len(mesh.quads)} quads, {size} m, {solid.volume:.4f} m^3, {len(text)} bytes"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent)
