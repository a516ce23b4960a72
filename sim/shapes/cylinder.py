"""Cylinders: drums, coins, pillars.

Soft bodies meet the round solid; rigid bodies a prism of SIDES sides with the same volume.

Limitations: a rigid cylinder that rolls on its prism loses a little speed at every edge, about a third in two turns.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jellycage.sim.shapes import cylinder_kernels
from jellycage.sim.shapes.hulls import MassProperties, Polytope
from jellycage.sim.shapes.shape import AROUND, Shape, as_length, core_of, set_field
from jellycage.toolkit.arrays import frozen

SIDES = 32


@dataclass(frozen=True, eq=False)
class Cylinder(Shape):
    """A cylinder about z, its middle at the origin."""

    radius: float
    """[m]."""
    length: float
    """From end to end [m]."""

    kind = "cylinder"
    keys = {"radius": "of a cylinder", "length": "from end to end of a cylinder, along its z"}
    kernels = cylinder_kernels

    def __post_init__(self):
        set_field(self, "radius", as_length(self.radius, "Cylinder: radius"))
        set_field(self, "length", as_length(self.length, "Cylinder: length"))

    def lengths(self):
        """(radius, half of its length, 0)."""
        return self.radius, 0.5 * self.length, 0.0

    @property
    def thickness(self):
        """Its diameter or its length [m]."""
        return min(2.0 * self.radius, self.length)

    def mass_properties(self, density):
        """At a density [kg/m^3]."""
        mass = density * np.pi * self.radius**2 * self.length
        across = mass * (self.radius**2 / 4.0 + self.length**2 / 12.0)
        inertia = np.diag([across, across, 0.5 * mass * self.radius**2])
        return MassProperties(mass, np.zeros(3), inertia)

    @cached_property
    def polytope(self) -> Polytope:
        """The prism that rigid bodies collide with."""
        turn = 2.0 * np.pi / SIDES
        return prism(self.radius * np.sqrt(turn / np.sin(turn)), self.length, SIDES)

    def core(self):
        """The corners of the prism."""
        return core_of(self.polytope)

    def drawn(self, *, fineness=1, extent=10.0):
        """A prism with its corners on the cylinder."""
        solid = prism(self.radius, self.length, fineness * AROUND)
        return np.array(solid.points), solid.triangles()


def prism(radius: float, length: float, sides: int) -> Polytope:
    """A prism about z with corners at a radius [m]."""
    angle = 2.0 * np.pi * np.arange(sides) / sides
    ring = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    low, high = (np.column_stack([ring, np.full(sides, z)]) for z in (-length / 2, length / 2))
    here, ahead = np.arange(sides), np.roll(np.arange(sides), -1)
    walls = np.stack([here, ahead, ahead + sides, here + sides], axis=1)
    middle = angle + np.pi / sides
    outward = np.column_stack([np.cos(middle), np.sin(middle), np.zeros(sides)])
    return Polytope(
        frozen(np.concatenate([low, high])),
        (here[::-1].copy(), here + sides, *walls),
        frozen(np.concatenate([[[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]], outward])),
    )
