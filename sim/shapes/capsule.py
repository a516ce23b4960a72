"""Capsules: lines with a radius."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jellycage.sim.errors import SettingsError
from jellycage.sim.maths.quaternions import turn_to
from jellycage.sim.shapes import capsule_kernels
from jellycage.sim.shapes.hulls import MassProperties
from jellycage.sim.shapes.shape import (
    NO_TURN,
    Core,
    Shape,
    as_length,
    as_numbers,
    rounded,
    set_field,
)


@dataclass(frozen=True, eq=False)
class Capsule(Shape):
    """All points within a radius of a line."""

    radius: float
    """[m]."""
    start: ArrayLike
    """First end of the line [m], shape (3,)."""
    end: ArrayLike
    """Its other end [m], shape (3,)."""

    kind = "capsule"
    keys = {
        "radius": "of a capsule",
        "length": "between the centres of a capsule's ends, along its z",
    }
    kernels = capsule_kernels

    @classmethod
    def of_keys(cls, radius, length):
        """Along z; length: between the centres of its ends [m]."""
        if not 0.0 <= length < np.inf:
            raise SettingsError(f"Capsule: length: expected 0 or more [m], got {length}")
        half = 0.5 * length
        return cls(radius, (0.0, 0.0, -half), (0.0, 0.0, half))

    def __post_init__(self):
        set_field(self, "radius", as_length(self.radius, "Capsule: radius"))
        set_field(self, "start", as_numbers(self.start, 3, "Capsule: start"))
        set_field(self, "end", as_numbers(self.end, 3, "Capsule: end"))

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

    def lengths(self):
        """(radius, half of its line, 0)."""
        line = self.end - self.start
        return self.radius, 0.5 * float(np.sqrt(line @ line)), 0.0

    @property
    def thickness(self):
        """Its diameter [m]."""
        return 2.0 * self.radius

    @property
    def frame(self):
        """At the middle of its line, z along it."""
        line = self.end - self.start
        turn = turn_to(line) if line.any() else np.array(NO_TURN)
        return turn, 0.5 * (self.start + self.end)

    def core(self):
        """Two points and the line between them, or one if they coincide."""
        if (self.start == self.end).all():
            return Core(self.start[None], radius=self.radius)
        line = np.array([[0, 1, -1, -1]])
        return Core(np.array([self.start, self.end]), edges=line, radius=self.radius)

    def drawn(self, *, fineness=1, extent=10.0):
        """Rings between two poles."""
        return rounded(self.radius, self.start, self.end, fineness)
