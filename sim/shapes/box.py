"""Bricks."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from jellycage.sim.errors import SettingsError
from jellycage.sim.maths import quaternions
from jellycage.sim.shapes import box_kernels
from jellycage.sim.shapes.hulls import MassProperties, Polytope
from jellycage.sim.shapes.shape import (
    NO_TURN,
    ORIGIN,
    Shape,
    as_numbers,
    as_turn,
    core_of,
    set_field,
)
from jellycage.toolkit.arrays import frozen

BOX_SIGNS = np.array(
    [(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)], np.float64
)
BOX_FACES = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
BOX_NORMALS = np.array([(-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0), (0, 0, -1), (0, 0, 1)], float)


@dataclass(frozen=True, eq=False)
class Box(Shape):
    """A brick."""

    size: ArrayLike
    """Side lengths [m], shape (3,)."""
    centre: ArrayLike = ORIGIN
    """[m], shape (3,)."""
    rotation: ArrayLike = NO_TURN
    """Unit quaternion (w, x, y, z), shape (4,)."""

    kind = "box"
    keys = {"size": "full lengths of a box along its axes"}
    kernels = box_kernels

    def __post_init__(self):
        size = as_numbers(self.size, 3, "Box: size")
        if not (size > 0.0).all():
            raise SettingsError(f"Box: size must be three positive lengths [m], got {tuple(size)}")
        set_field(self, "size", size)
        set_field(self, "centre", as_numbers(self.centre, 3, "Box: centre"))
        set_field(self, "rotation", as_turn(self.rotation, "Box: rotation"))

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

    def lengths(self):
        """Half of each side."""
        return tuple(float(side) for side in 0.5 * self.size)

    @property
    def thickness(self):
        """Its shortest side [m]."""
        return float(self.size.min())

    @property
    def frame(self):
        """At its centre, along its sides."""
        return self.rotation, self.centre

    def core(self):
        """Its corners."""
        return core_of(self.polytope)

    def drawn(self, *, fineness=1, extent=10.0):
        """Two triangles for each side."""
        return np.array(self.polytope.points), self.polytope.triangles()
