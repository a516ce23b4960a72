"""Ground and walls."""

from dataclasses import dataclass

import numpy as np

from jellycage.sim.errors import SettingsError
from jellycage.sim.shapes import plane_kernels
from jellycage.sim.shapes.hulls import MassProperties
from jellycage.sim.shapes.shape import Core, Shape


@dataclass(frozen=True, eq=False)
class Plane(Shape):
    """Everything below the xy plane of its body: ground and walls. It has no mass; only surroundings can have it."""

    kind = "plane"
    kernels = plane_kernels
    has_mass = False

    def mass_properties(self, density: float) -> MassProperties:
        """Refused: a plane has no end."""
        raise SettingsError("Plane: it has no mass; give the moving body a Box, or keep it fixed")

    def core(self):
        """No points: it has no end."""
        return Core(np.zeros((0, 3)))

    def drawn(self, *, fineness=1, extent=10.0):
        """A square of twice the extent [m]."""
        s = extent
        square = np.array([(-s, -s, 0.0), (s, -s, 0.0), (s, s, 0.0), (-s, s, 0.0)])
        return square, np.array([(0, 1, 2), (0, 2, 3)])
