"""A scene: bodies and what acts on all of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jellycage.sim.errors import SettingsError
from jellycage.sim.shapes.colliders import Collider
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.solvers.settings import SolverSettings
from jellycage.toolkit.arrays import frozen


@dataclass(frozen=True, eq=False)
class Scene:
    """Soft bodies under gravity and wind, and what they fall on. Bodies do not feel each other."""

    bodies: Sequence[SoftBody]
    """What moves."""
    gravity: ArrayLike = (0.0, 0.0, -9.81)
    """[m/s^2], shape (3,)."""
    wind: ArrayLike = (0.0, 0.0, 0.0)
    """Velocity of the air [m/s], shape (3,); felt by bodies with air_drag."""
    solver: SolverSettings = SolverSettings()
    """How hard to try."""
    colliders: Sequence[Collider] = ()
    """What bodies cannot enter."""

    def __post_init__(self):
        object.__setattr__(self, "bodies", tuple(self.bodies))
        object.__setattr__(self, "colliders", tuple(self.colliders))
        for name in ("gravity", "wind"):
            value = np.asarray(getattr(self, name), np.float64)
            if value.shape != (3,) or not np.isfinite(value).all():
                raise SettingsError(
                    f"{name}: expected three finite numbers, got {getattr(self, name)}"
                )
            object.__setattr__(self, name, frozen(value))
