"""What all shapes have: what they weigh, how they collide and how they look, in the frame of their body [m].

A shape is a file with a class, and a file of kernels with `signed_distance` if soft bodies can meet it; its place in
`shapes.SHAPES` is all that scene files, the rigid world, soft contact and pictures need to know of it.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import ModuleType
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.sim.errors import SettingsError
from jellycage.sim.shapes.hulls import MassProperties, Polytope
from jellycage.toolkit.arrays import frozen

Mesh = tuple[NDArray[np.float64], NDArray[np.int64]]
"""Vertices (v, 3) [m] and triangles (t, 3), outward."""
ORIGIN = (0.0, 0.0, 0.0)
NO_TURN = (1.0, 0.0, 0.0, 0.0)
AROUND, DOWN = 16, 8  # triangles of drawn spheres, capsules and cylinders


class Core(NamedTuple):
    """Convex shapes for collision detection: the hull of a few points with a radius around it."""

    points: NDArray[np.float64]
    """[m], shape (k, 3); none: everything below the xy plane."""
    faces: tuple[NDArray[np.int64], ...] = ()
    """Corners of each face, counter-clockwise from outside; none if there are one or two points."""
    normals: NDArray[np.float64] = np.zeros((0, 3))
    """Outward unit normal of each face, shape (f, 3)."""
    edges: NDArray[np.int64] = np.zeros((0, 4), np.int64)
    """Two points and the two faces beside each edge (-1: none), shape (e, 4)."""
    radius: float = 0.0
    """[m]."""


@dataclass(frozen=True, eq=False)
class Shape(ABC):
    """A convex solid."""

    kind: ClassVar[str]
    """Its name in scene files."""
    keys: ClassVar[dict[str, str]] = {}
    """Keys of scene files that it is made from, and what they are of it."""
    kernels: ClassVar[ModuleType | None] = None
    """`signed_distance(a, b, c, x, y, z)`, or None: soft bodies cannot meet it."""
    has_mass: ClassVar[bool] = True

    @classmethod
    def of_keys(cls, **values) -> "Shape":
        """The shape that a scene file describes by its keys, about the origin."""
        return cls(**values)

    def lengths(self) -> tuple[float, float, float]:
        """The numbers (a, b, c) that `signed_distance` takes [m]."""
        return 0.0, 0.0, 0.0

    @property
    def thickness(self) -> float:
        """Where it is thinnest [m]."""
        return np.inf

    @property
    def frame(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Rotation (4,) and location (3,) [m] of the space in which `signed_distance` knows it."""
        return np.array(NO_TURN), np.array(ORIGIN)

    @abstractmethod
    def mass_properties(self, density: float) -> MassProperties:
        """At a density [kg/m^3]."""

    @abstractmethod
    def core(self) -> Core:
        """How rigid bodies collide with it."""

    @abstractmethod
    def drawn(self, *, fineness: int = 1, extent: float = 10.0) -> Mesh:
        """Triangles to draw it by, round parts so many times finer; of a plane a square of twice the extent [m]."""


def core_of(polytope: Polytope) -> Core:
    """The core of a polytope."""
    return Core(polytope.points, polytope.faces, polytope.normals, polytope.edges())


def set_field(shape: Shape, name: str, value) -> None:
    """Set a field of a frozen shape while it is being made."""
    object.__setattr__(shape, name, value)


def as_length(value: float, name: str) -> float:
    """A positive length [m]."""
    if not 0.0 < float(value) < np.inf:
        raise SettingsError(f"{name}: expected a positive length [m], got {value}")
    return float(value)


def as_numbers(value: ArrayLike, count: int, name: str) -> NDArray[np.float64]:
    """So many finite numbers."""
    array = np.array(value, np.float64)
    if array.shape != (count,) or not np.isfinite(array).all():
        raise SettingsError(f"{name}: expected {count} finite numbers, got {value}")
    return frozen(array)


def as_turn(value: ArrayLike, name: str) -> NDArray[np.float64]:
    """A quaternion, made of length 1."""
    turn = as_numbers(value, 4, name)
    length = np.sqrt(turn @ turn)
    if not length > 1e-6:
        raise SettingsError(f"{name} must not be zero; (1, 0, 0, 0) is no turn")
    return frozen(turn / length)


def rounded(radius: float, start: NDArray, end: NDArray, fineness: int) -> Mesh:
    """Rings around a line, between two poles: a sphere or a capsule."""
    around, down = fineness * AROUND, fineness * DOWN
    line = end - start
    length = np.sqrt(line @ line)
    z = line / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
    x = np.cross(z, np.eye(3)[np.abs(z).argmin()])
    x /= np.sqrt(x @ x)
    y = np.cross(z, x)
    half = np.linspace(-0.5 * np.pi, 0.0, down // 2 + 1)[1:]
    rings = [(start, angle) for angle in half]
    rings += [(end, -angle) for angle in half[::-1][0 if length > 0.0 else 1 :]]
    turn = 2.0 * np.pi * np.arange(around) / around
    circle = np.outer(np.cos(turn), x) + np.outer(np.sin(turn), y)
    rows = [at + radius * (np.cos(a) * circle + np.sin(a) * z) for at, a in rings]
    vertices = np.concatenate([*rows, [start - radius * z, end + radius * z]])
    here = np.arange(around)
    ahead = np.roll(here, -1)
    low, high, last = len(vertices) - 2, len(vertices) - 1, around * (len(rings) - 1)
    faces = [np.column_stack([np.full(around, low), ahead, here])]
    for r in range(len(rings) - 1):
        a, b = r * around + here, r * around + ahead
        c, d = (r + 1) * around + here, (r + 1) * around + ahead
        faces += [np.column_stack([a, b, d]), np.column_stack([a, d, c])]
    faces.append(np.column_stack([last + here, last + ahead, np.full(around, high)]))
    return vertices, np.concatenate(faces)
