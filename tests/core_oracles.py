"""Slow and plain twins of collision detection: every feature with every other, every axis, every pair."""

from itertools import combinations

import numpy as np
from scipy.spatial.transform import Rotation

from jellycage.sim.contact.convex.detection import Detector
from jellycage.sim.contact.convex.detection_kernels import BodyPoses
from jellycage.sim.shapes import Box, Capsule, Hull, Plane, Sphere
from jellycage.sim.shapes.cores import shape_arrays
from jellycage.sim.shapes.static_mesh import mesh_arrays

KINDS = ("sphere", "capsule", "box", "plate", "tet", "hull", "large hull")


def random_quaternion(rng):
    return Rotation.random(random_state=rng).as_quat()[[3, 0, 1, 2]]


def matrix(q):
    return Rotation.from_quat(np.asarray(q)[[1, 2, 3, 0]]).as_matrix()


def random_shape(kind, rng, scale=1.0):
    """A shape of a kind, about as large as the scale, around the origin of its body."""
    near = scale * rng.normal(scale=0.1, size=3)
    if kind == "sphere":
        return Sphere(scale * rng.uniform(0.1, 1.0), near)
    if kind == "capsule":
        return Capsule(scale * rng.uniform(0.05, 0.3), near, scale * rng.normal(size=3))
    if kind == "box":
        return Box(scale * rng.uniform(0.3, 1.5, 3), near, random_quaternion(rng))
    if kind == "plate":
        return Box(scale * np.array([1.0, 1.5, 1e-3]), near, random_quaternion(rng))
    count = {"tet": 4, "hull": 12, "large hull": 60}[kind]
    return Hull(scale * rng.normal(scale=0.6, size=(count, 3)))


def core(shape):
    """Points and radius."""
    if isinstance(shape, Sphere):
        return shape.centre[None], shape.radius
    if isinstance(shape, Capsule):
        return np.array([shape.start, shape.end]), shape.radius
    return shape.polytope.points, 0.0


class Posed:
    """A shape turned and moved, with every corner, edge, triangle and normal of its core."""

    def __init__(self, shape, q=(1.0, 0.0, 0.0, 0.0), p=(0.0, 0.0, 0.0)):
        points, self.radius = core(shape)
        turn = matrix(q)
        self.points = points @ turn.T + p
        if isinstance(shape, Sphere | Capsule):
            self.triangles = np.zeros((0, 3, 3))
            ends = [(0, len(points) - 1)]
            self.normals = np.zeros((0, 3))
        else:
            self.triangles = self.points[shape.polytope.triangles()]
            ends = shape.polytope.edges()[:, :2]
            self.normals = shape.polytope.normals @ turn.T
            self.heights = np.array(
                [
                    n @ self.points[f[0]]
                    for n, f in zip(self.normals, shape.polytope.faces, strict=True)
                ]
            )
        self.edges = self.points[np.array(ends)]

    def signed_distance(self, point):
        """To the surface [m], negative inside."""
        if len(self.triangles) and (self.normals @ point - self.heights).max() <= 0.0:
            return (self.normals @ point - self.heights).max() - self.radius
        squares = [points_to_edges(point[None], self.edges).min()]
        if len(self.triangles):
            squares.append(points_to_triangles(point[None], self.triangles).min())
        return np.sqrt(min(squares)) - self.radius


def points_to_edges(points, edges):
    """Squared distance of every point to every segment."""
    a, u = edges[:, 0], edges[:, 1] - edges[:, 0]
    r = points[:, None] - a
    uu = (u * u).sum(axis=1)
    t = np.clip((r * u).sum(axis=2) / np.where(uu > 0.0, uu, 1.0), 0.0, 1.0)
    return ((r - t[..., None] * u) ** 2).sum(axis=2)


def points_to_triangles(points, triangles):
    """Squared distance of every point to the inside of every triangle; infinite if it is not over it."""
    a, u, v = triangles[:, 0], triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    n = np.cross(u, v)
    nn = (n * n).sum(axis=1)
    r = points[:, None] - a
    s = (np.cross(r, v) * n).sum(axis=2) / nn
    t = (np.cross(u, r) * n).sum(axis=2) / nn
    squared = (r * n).sum(axis=2) ** 2 / nn
    return np.where((s >= 0.0) & (t >= 0.0) & (s + t <= 1.0), squared, np.inf)


def edges_to_edges(first, second):
    """Squared distance between the lines of edges where it is inside both; infinite elsewhere."""
    a, u = first[:, None, 0], (first[:, 1] - first[:, 0])[:, None]
    b, v = second[None, :, 0], (second[:, 1] - second[:, 0])[None]
    n = np.cross(u, v)
    nn = (n * n).sum(axis=2)
    r = b - a
    with np.errstate(divide="ignore", invalid="ignore"):
        s = (np.cross(r, v) * n).sum(axis=2) / nn
        t = (np.cross(r, u) * n).sum(axis=2) / nn
        squared = (r * n).sum(axis=2) ** 2 / nn
        return np.where((s >= 0.0) & (s <= 1.0) & (t >= 0.0) & (t <= 1.0), squared, np.inf)


def distance(a: Posed, b: Posed):
    """Of two cores that do not overlap: the least over all pairs of features."""
    squares = [points_to_edges(a.points, b.edges).min(), points_to_edges(b.points, a.edges).min()]
    squares.append(edges_to_edges(a.edges, b.edges).min())
    if len(b.triangles):
        squares.append(points_to_triangles(a.points, b.triangles).min())
    if len(a.triangles):
        squares.append(points_to_triangles(b.points, a.triangles).min())
    return np.sqrt(min(squares))


def separation(a: Posed, b: Posed):
    """Greatest gap along any normal of a face or across any two edges: minus the depth of cores that overlap."""
    u, v = (x.edges[:, 1] - x.edges[:, 0] for x in (a, b))
    across = np.cross(u[:, None], v[None]).reshape(-1, 3)
    length = np.sqrt((across**2).sum(axis=1))
    sizes = np.sqrt(np.outer((u**2).sum(axis=1), (v**2).sum(axis=1)).reshape(-1))
    is_good = length > 1e-6 * sizes
    across = across[is_good] / length[is_good, None]
    axes = np.concatenate([a.normals, b.normals, across])
    axes = np.concatenate([axes, -axes])
    gaps = (axes @ b.points.T).min(axis=1) - (axes @ a.points.T).max(axis=1)
    return gaps.max()


class Scene:
    """Bodies of one or more shapes each, at rest unless told otherwise, and their contacts."""

    def __init__(self, bodies, dynamic_count=None, meshes=(), excluded=(), centres=None):
        self.bodies = bodies
        self.count = len(bodies)
        self.dynamic_count = self.count if dynamic_count is None else dynamic_count
        self.p, self.q = np.zeros((self.count, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (self.count, 1))
        self.v, self.w = np.zeros((self.count, 3)), np.zeros((self.count, 3))
        self.is_asleep = np.zeros(self.count, bool)
        self.shapes, self.meshes = shape_arrays(bodies, centres), mesh_arrays(meshes)
        self.detector = Detector(self.shapes, self.meshes, np.array(excluded, np.int64))

    def poses(self):
        """Where the bodies are now."""
        return BodyPoses(self.p, self.q, self.v, self.w, self.is_asleep)

    def contacts(self, dt=0.0, margin=0.0):
        """Copies of what is found."""
        found = self.detector.find(self.poses(), dt, margin, self.dynamic_count)
        return type(found)(*(array.copy() for array in found))

    def posed(self, shape):
        """The Posed twin of a shape's number."""
        body = self.shapes.body[shape]
        first = int(np.flatnonzero(self.shapes.body == body)[0])
        return Posed(self.bodies[body][shape - first], self.q[body], self.p[body])


def two_bodies(rng, kinds, scale, apart, offset=0.0):
    """A scene of two random shapes whose middles are a distance apart [scales]."""
    scene = Scene([[random_shape(kind, rng, scale)] for kind in kinds])
    direction = rng.normal(size=3)
    scene.p[1] = scale * apart * direction / np.sqrt(direction @ direction)
    scene.p += offset * rng.normal(size=3)
    scene.q[0], scene.q[1] = random_quaternion(rng), random_quaternion(rng)
    return scene


ALL_PAIRS = [(a, a) for a in KINDS] + list(combinations(KINDS, 2))
ROUND = ("sphere", "capsule")
GROUND = Plane()
