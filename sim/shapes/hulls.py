"""Convex polytopes: corners, polygonal faces and edges of the convex hull of points, and what a polytope weighs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import ConvexHull, QhullError

from jellycage.sim.errors import SettingsError
from jellycage.toolkit.arrays import frozen

MOST_CORNERS = 64
FLAT = 1e-6  # of the size: thinner points have no hull
COPLANAR = 1e-9  # of the size: how far corners of one face may lie from its plane


@dataclass(frozen=True, eq=False)
class MassProperties:
    """How heavy a body is and how hard it is to turn."""

    mass: float
    """[kg]."""
    centre: NDArray[np.float64]
    """Centre of mass in the frame of the body [m], shape (3,)."""
    inertia: NDArray[np.float64]
    """About the centre of mass, along the axes of the body [kg m^2], shape (3, 3)."""


@dataclass(frozen=True, eq=False)
class Polytope:
    """A convex solid with flat faces."""

    points: NDArray[np.float64]
    """Corners [m], shape (n, 3)."""
    faces: tuple[NDArray[np.int64], ...]
    """Corners of each face, counter-clockwise from outside."""
    normals: NDArray[np.float64]
    """Outward unit normal of each face, shape (f, 3)."""

    def edges(self) -> NDArray[np.int64]:
        """Two corners of each edge, the face left of it and the face right of it, shape (e, 4)."""
        sides = {}
        for number, face in enumerate(self.faces):
            for i, j in zip(face, np.roll(face, -1), strict=True):
                sides[int(i), int(j)] = number
        rows = [(i, j, f, sides.get((j, i), -1)) for (i, j), f in sides.items() if i < j]
        return np.array(rows, np.int64).reshape(-1, 4)

    def is_closed(self) -> bool:
        """Whether every edge has a face on both sides, and nothing is left out (Euler)."""
        edges = self.edges()
        half_edges = sum(len(face) for face in self.faces)
        is_paired = 2 * len(edges) == half_edges and bool((edges >= 0).all())
        return is_paired and len(self.points) - len(edges) + len(self.faces) == 2

    def triangles(self) -> NDArray[np.int64]:
        """Faces cut into triangles, outward, shape (t, 3)."""
        rows = [(f[0], f[k], f[k + 1]) for f in self.faces for k in range(1, len(f) - 1)]
        return np.array(rows, np.int64)

    def mass_properties(self, density: float) -> MassProperties:
        """Of the solid at a density [kg/m^3]."""
        return solid_mass_properties(self.points, self.triangles(), density)


def solid_mass_properties(vertices: NDArray, faces: NDArray, density: float) -> MassProperties:
    """Of the inside of a closed triangle mesh, summed over the tets from its middle to each face."""
    middle = vertices.mean(axis=0)
    a, b, c = np.moveaxis((vertices - middle)[faces], 1, 0)
    volume6 = np.einsum("ij,ij->i", a, np.cross(b, c))
    total = a + b + c
    volume = volume6.sum() / 6.0
    centre = (volume6[:, None] * total).sum(axis=0) / 24.0 / volume
    # The integral of x x^T over a tet with one corner at 0.
    squares = sum(np.einsum("i,ij,ik->jk", volume6, x, x) for x in (a, b, c, total)) / 120.0
    squares -= volume * np.outer(centre, centre)
    inertia = density * (np.trace(squares) * np.eye(3) - squares)
    return MassProperties(density * volume, middle + centre, inertia)


def convex_polytope(points: ArrayLike, name: str = "Hull") -> Polytope:
    """The convex hull of points [m], with at most 64 corners: of more, the outermost are kept."""
    points = np.array(points, np.float64)
    if points.ndim != 2 or points.shape[1] != 3 or not np.isfinite(points).all():
        raise SettingsError(f"{name}: expected finite points of shape (n, 3), got {points.shape}")
    points = np.unique(points, axis=0)
    _refuse_flat(points, name)
    try:
        points = points[ConvexHull(points).vertices]
        if len(points) > MOST_CORNERS:
            points = _outermost(points)
        return _merged(points)
    except QhullError:
        raise SettingsError(
            f"{name}: the points have no convex hull; move some of them out of their plane"
        ) from None


def _refuse_flat(points: NDArray, name: str):
    if len(points) < 4:
        raise SettingsError(f"{name}: expected at least 4 different points, got {len(points)}")
    axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2]
    extent = np.ptp(points @ axes.T, axis=0)
    if extent.min() < FLAT * extent.max():
        raise SettingsError(
            f"{name}: the points lie in one plane or line; add thickness, or use a thin Box"
        )


def _outermost(points: NDArray) -> NDArray[np.float64]:
    """Points that are extreme along one of 64 even directions, once the shape is made round."""
    k = np.arange(MOST_CORNERS) + 0.5
    z, angle = 1.0 - 2.0 * k / MOST_CORNERS, np.pi * (1.0 + 5.0**0.5) * k
    across = np.sqrt(1.0 - z * z)
    directions = np.column_stack([across * np.cos(angle), across * np.sin(angle), z])
    offsets = points - points.mean(axis=0)
    _, spread, axes = np.linalg.svd(offsets, full_matrices=False)
    round_points = offsets @ axes.T / spread
    return points[np.unique((round_points @ directions.T).argmax(axis=0))]


def _merged(points: NDArray) -> Polytope:
    """The hull of points with its coplanar triangles merged to polygons, and only true corners kept."""
    while True:
        hull = ConvexHull(points)
        label = _face_labels(points, hull)
        # A corner has three faces or more; what lies on an edge or in a face has fewer.
        pairs = np.unique(
            np.column_stack([hull.simplices.reshape(-1), np.repeat(label, 3)]), axis=0
        )
        is_corner = np.bincount(pairs[:, 0], minlength=len(points)) >= 3
        if is_corner.all() or is_corner.sum() < 4:
            break
        points = points[is_corner]
    polytope = _polytope(points, hull, label)
    if polytope.is_closed():
        return polytope
    return _polytope(points, hull, np.arange(len(hull.simplices)))


def _face_labels(points: NDArray, hull: ConvexHull) -> NDArray:
    """Which face each triangle of a hull belongs to, shape (t,)."""
    count = len(hull.simplices)
    first = np.repeat(np.arange(count), 3)
    second = hull.neighbors.reshape(-1)
    corners = points[hull.simplices[second]]
    planes = hull.equations[first]
    heights = np.abs(np.einsum("ijk,ik->ij", corners, planes[:, :3]) + planes[:, 3:])
    is_same = heights.max(axis=1) < COPLANAR * np.ptp(points, axis=0).max()
    graph = coo_matrix((is_same[is_same], (first[is_same], second[is_same])), (count, count))
    return connected_components(graph, directed=False)[1]


def _polytope(points: NDArray, hull: ConvexHull, label: NDArray) -> Polytope:
    """The polytope whose faces are groups of triangles of a hull."""
    faces, normals = [], []
    for number in range(label.max() + 1):
        group = np.flatnonzero(label == number)
        corners = np.unique(hull.simplices[group])
        normal = hull.equations[group, :3].mean(axis=0)
        normal /= np.sqrt(normal @ normal)
        offsets = points[corners] - points[corners].mean(axis=0)
        u = offsets[0] - normal * (offsets[0] @ normal)
        v = np.cross(normal, u)
        order = np.argsort(np.arctan2(offsets @ v, offsets @ u))
        faces.append(corners[order].astype(np.int64))
        normals.append(normal)
    return Polytope(frozen(points), tuple(faces), frozen(np.array(normals)))
