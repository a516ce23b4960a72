"""Convex hulls of points, such as the vertices of a mesh."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jellycage.sim.shapes.hulls import MassProperties, convex_polytope
from jellycage.sim.shapes.shape import Shape, core_of, set_field


@dataclass(frozen=True, eq=False)
class Hull(Shape):
    """The convex hull of points; of more than 64 corners the outermost are kept."""

    points: ArrayLike
    """[m], shape (n, 3)."""

    kind = "mesh"

    def __post_init__(self):
        polytope = convex_polytope(self.points)
        set_field(self, "polytope", polytope)
        set_field(self, "points", polytope.points)

    def mass_properties(self, density: float) -> MassProperties:
        """At a density [kg/m^3]."""
        return self.polytope.mass_properties(density)

    def core(self):
        """Its corners."""
        return core_of(self.polytope)

    def drawn(self, *, fineness=1, extent=10.0):
        """Its faces, cut into triangles."""
        return np.array(self.polytope.points), self.polytope.triangles()
