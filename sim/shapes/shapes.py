"""Shapes of rigid bodies, in the frame of their body [m]: what they weigh and how they look.

Every convex shape is a core, a few points, with a radius around their hull: that is all that collision detection knows.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.sim.errors import SettingsError
from jellycage.sim.maths import quaternions
from jellycage.sim.shapes.hulls import MassProperties, Polytope, convex_polytope
from jellycage.toolkit.arrays import frozen

AROUND, DOWN = 16, 8  # triangles of drawn spheres and capsules
DRAWN_PLANE = 10.0  # half the side of a drawn plane [m]

BOX_SIGNS = np.array(
    [(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)], np.float64
)
BOX_FACES = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
BOX_NORMALS = np.array([(-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0), (0, 0, -1), (0, 0, 1)], float)


@dataclass(frozen=True, eq=False)
class Sphere:
    """A ball."""

    radius: float
    """[m]."""
    centre: ArrayLike = (0.0, 0.0, 0.0)
    """[m], shape (3,)."""

    def __post_init__(self):
        _set(self, "radius", _length(self.radius, "Sphere: radius"))
        _set(self, "centre", _numbers(self.centre, 3, "Sphere: centre"))

    def mass_properties(self, density: float) -> MassProperties:
        """At a density [kg/m^3]."""
        mass = density * 4.0 / 3.0 * np.pi * self.radius**3
        return MassProperties(mass, self.centre, 0.4 * mass * self.radius**2 * np.eye(3))


@dataclass(frozen=True, eq=False)
class Capsule:
    """All points within a radius of a line."""

    radius: float
    """[m]."""
    start: ArrayLike
    """First end of the line [m], shape (3,)."""
    end: ArrayLike
    """Its other end [m], shape (3,)."""

    def __post_init__(self):
        _set(self, "radius", _length(self.radius, "Capsule: radius"))
        _set(self, "start", _numbers(self.start, 3, "Capsule: start"))
        _set(self, "end", _numbers(self.end, 3, "Capsule: end"))

    def mass_properties(self, density: float) -> MassProperties:
        """A cylinder and two half balls, at a density [kg/m^3]."""
        r, line = self.radius, self.end - self.start
        length = float(np.sqrt(line @ line))
        axis = line / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
        cylinder, ball = density * np.pi * r**2 * length, density * 4.0 / 3.0 * np.pi * r**3
        along = 0.5 * cylinder * r**2 + 0.4 * ball * r**2
        # The centre of a half ball is 3/8 r from its flat side.
        across = cylinder * (length**2 / 12.0 + r**2 / 4.0)
        across += ball * (0.4 * r**2 + 0.25 * length**2 + 0.375 * length * r)
        outer = np.outer(axis, axis)
        inertia = across * (np.eye(3) - outer) + along * outer
        return MassProperties(cylinder + ball, 0.5 * (self.start + self.end), inertia)


@dataclass(frozen=True, eq=False)
class Box:
    """A brick."""

    size: ArrayLike
    """Side lengths [m], shape (3,)."""
    centre: ArrayLike = (0.0, 0.0, 0.0)
    """[m], shape (3,)."""
    rotation: ArrayLike = (1.0, 0.0, 0.0, 0.0)
    """Unit quaternion (w, x, y, z), shape (4,)."""

    def __post_init__(self):
        size = _numbers(self.size, 3, "Box: size")
        if not (size > 0.0).all():
            raise SettingsError(f"Box: size must be three positive lengths [m], got {tuple(size)}")
        turn = _numbers(self.rotation, 4, "Box: rotation")
        length = np.sqrt(turn @ turn)
        if not length > 1e-6:
            raise SettingsError("Box: rotation must not be zero; (1, 0, 0, 0) is no turn")
        _set(self, "size", size)
        _set(self, "centre", _numbers(self.centre, 3, "Box: centre"))
        _set(self, "rotation", frozen(turn / length))

    @cached_property
    def polytope(self) -> Polytope:
        """Corners and faces."""
        turn = quaternions.as_matrices(self.rotation)
        points = self.centre + (BOX_SIGNS * self.size) @ turn.T
        faces = tuple(np.array(face, np.int64) for face in BOX_FACES)
        return Polytope(frozen(points), faces, frozen(BOX_NORMALS @ turn.T))

    def mass_properties(self, density: float) -> MassProperties:
        """At a density [kg/m^3]."""
        mass = density * float(np.prod(self.size))
        squares = self.size**2
        turn = quaternions.as_matrices(self.rotation)
        inertia = turn * (mass / 12.0 * (squares.sum() - squares)) @ turn.T
        return MassProperties(mass, self.centre, inertia)


@dataclass(frozen=True, eq=False)
class Hull:
    """The convex hull of points; of more than 64 corners the outermost are kept."""

    points: ArrayLike
    """[m], shape (n, 3)."""

    def __post_init__(self):
        polytope = convex_polytope(self.points)
        _set(self, "polytope", polytope)
        _set(self, "points", polytope.points)

    def mass_properties(self, density: float) -> MassProperties:
        """At a density [kg/m^3]."""
        return self.polytope.mass_properties(density)


@dataclass(frozen=True, eq=False)
class Plane:
    """Everything below the xy plane of its body: ground and walls. It has no mass; only surroundings can have it."""

    def mass_properties(self, density: float) -> MassProperties:
        """Refused: a plane has no end."""
        raise SettingsError("Plane: it has no mass; give the moving body a Box, or keep it fixed")


Shape = Sphere | Capsule | Box | Hull | Plane


def vertices_and_faces(shape: Shape) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """A triangle mesh of a shape for drawing, faces outward; a plane is a square of 20 m."""
    if isinstance(shape, Sphere):
        return _rounded(shape.radius, shape.centre, shape.centre)
    if isinstance(shape, Capsule):
        return _rounded(shape.radius, shape.start, shape.end)
    if isinstance(shape, Plane):
        s = DRAWN_PLANE
        square = np.array([(-s, -s, 0.0), (s, -s, 0.0), (s, s, 0.0), (-s, s, 0.0)])
        return square, np.array([(0, 1, 2), (0, 2, 3)])
    return np.array(shape.polytope.points), shape.polytope.triangles()


def _rounded(radius: float, start: NDArray, end: NDArray):
    """Rings around a line, between two poles."""
    line = end - start
    length = np.sqrt(line @ line)
    z = line / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
    x = np.cross(z, np.eye(3)[np.abs(z).argmin()])
    x /= np.sqrt(x @ x)
    y = np.cross(z, x)
    half = np.linspace(-0.5 * np.pi, 0.0, DOWN // 2 + 1)[1:]
    rings = [(start, angle) for angle in half]
    rings += [(end, -angle) for angle in half[::-1][0 if length > 0.0 else 1 :]]
    turn = 2.0 * np.pi * np.arange(AROUND) / AROUND
    circle = np.outer(np.cos(turn), x) + np.outer(np.sin(turn), y)
    rows = [at + radius * (np.cos(a) * circle + np.sin(a) * z) for at, a in rings]
    vertices = np.concatenate([*rows, [start - radius * z, end + radius * z]])
    here = np.arange(AROUND)
    ahead = np.roll(here, -1)
    low, high, last = len(vertices) - 2, len(vertices) - 1, AROUND * (len(rings) - 1)
    faces = [np.column_stack([np.full(AROUND, low), ahead, here])]
    for r in range(len(rings) - 1):
        a, b = r * AROUND + here, r * AROUND + ahead
        c, d = (r + 1) * AROUND + here, (r + 1) * AROUND + ahead
        faces += [np.column_stack([a, b, d]), np.column_stack([a, d, c])]
    faces.append(np.column_stack([last + here, last + ahead, np.full(AROUND, high)]))
    return vertices, np.concatenate(faces)


def _set(shape, name: str, value):
    object.__setattr__(shape, name, value)


def _length(value: float, name: str) -> float:
    if not 0.0 < float(value) < np.inf:
        raise SettingsError(f"{name}: expected a positive length [m], got {value}")
    return float(value)


def _numbers(value: ArrayLike, count: int, name: str) -> NDArray[np.float64]:
    array = np.array(value, np.float64)
    if array.shape != (count,) or not np.isfinite(array).all():
        raise SettingsError(f"{name}: expected {count} finite numbers, got {value}")
    return frozen(array)
