"""Balls."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jellycage.sim.shapes import sphere_kernels
from jellycage.sim.shapes.hulls import MassProperties
from jellycage.sim.shapes.shape import (
    NO_TURN,
    ORIGIN,
    Core,
    Shape,
    as_length,
    as_numbers,
    rounded,
    set_field,
)


@dataclass(frozen=True, eq=False)
class Sphere(Shape):
    """A ball."""

    radius: float
    """[m]."""
    centre: ArrayLike = ORIGIN
    """[m], shape (3,)."""

    kind = "sphere"
    keys = {"radius": "of a sphere"}
    kernels = sphere_kernels

    def __post_init__(self):
        set_field(self, "radius", as_length(self.radius, "Sphere: radius"))
        set_field(self, "centre", as_numbers(self.centre, 3, "Sphere: centre"))

    def mass_properties(self, density: float) -> MassProperties:
        """At a density [kg/m^3]."""
        mass = density * 4.0 / 3.0 * np.pi * self.radius**3
        return MassProperties(mass, self.centre, 0.4 * mass * self.radius**2 * np.eye(3))

    def lengths(self):
        """(radius, 0, 0)."""
        return self.radius, 0.0, 0.0

    @property
    def thickness(self):
        """Its diameter [m]."""
        return 2.0 * self.radius

    @property
    def frame(self):
        """At its centre."""
        return np.array(NO_TURN), self.centre

    def core(self):
        """One point."""
        return Core(self.centre[None], radius=self.radius)

    def drawn(self, *, fineness=1, extent=10.0):
        """Rings between two poles."""
        return rounded(self.radius, self.centre, self.centre, fineness)
