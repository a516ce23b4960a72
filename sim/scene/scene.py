"""A scene: everything that moves or stands in the way, and what acts on all of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jellycage.sim.errors import SettingsError
from jellycage.sim.ragdoll.ragdoll import Ragdoll
from jellycage.sim.rigid.body import RigidBody
from jellycage.sim.rigid.world import RigidSettings
from jellycage.sim.shapes import Shape
from jellycage.sim.shapes.colliders import Collider, as_collider
from jellycage.sim.shapes.static_mesh import StaticMesh
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.solvers.settings import SolverSettings
from jellycage.toolkit.arrays import frozen


@dataclass(frozen=True, eq=False)
class Scene:
    """Soft bodies, rigid bodies and ragdolls under gravity, and what they fall on.

    Soft bodies feel wind, colliders and each other, but no rigid things; an asset without a collision surface is not
    felt by others, and a bare cage is felt on its outer faces.
    Rigid bodies and ragdolls feel each other, colliders and meshes.
    """

    bodies: Sequence[SoftBody] = ()
    """What deforms."""
    gravity: ArrayLike = (0.0, 0.0, -9.81)
    """[m/s^2], shape (3,)."""
    wind: ArrayLike = (0.0, 0.0, 0.0)
    """Velocity of the air [m/s], shape (3,); felt by bodies with air_drag."""
    solver: SolverSettings = SolverSettings()
    """How hard to try with soft bodies."""
    colliders: Sequence[Collider | Shape] = ()
    """What nothing can enter; a bare shape stands still."""
    passing: Sequence[tuple[int, int]] = ()
    """Numbers of soft bodies that pass through each other."""
    rigid_bodies: Sequence[RigidBody] = ()
    ragdolls: Sequence[Ragdoll] = ()
    entering: Sequence[float] = ()
    """When the animation of each ragdoll lets go of it and it enters the world [s]; empty: all at 0."""
    meshes: Sequence[StaticMesh] = ()
    """What rigid bodies and ragdolls cannot enter either."""
    rigid_solver: RigidSettings = RigidSettings()
    """How hard to try with rigid bodies and ragdolls."""

    def __post_init__(self):
        for name in ("bodies", "colliders", "rigid_bodies", "ragdolls", "meshes"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "colliders", tuple(map(as_collider, self.colliders)))
        object.__setattr__(self, "passing", self._pairs())
        entering = tuple(float(time) for time in self.entering) or (0.0,) * len(self.ragdolls)
        if len(entering) != len(self.ragdolls) or not all(
            0.0 <= time < np.inf for time in entering
        ):
            raise SettingsError(
                f"entering: expected a time from 0 on for each of {len(self.ragdolls)} ragdolls"
            )
        object.__setattr__(self, "entering", entering)
        for name in ("gravity", "wind"):
            value = np.asarray(getattr(self, name), np.float64)
            if value.shape != (3,) or not np.isfinite(value).all():
                raise SettingsError(
                    f"{name}: expected three finite numbers, got {getattr(self, name)}"
                )
            object.__setattr__(self, name, frozen(value))

    def _pairs(self) -> tuple[tuple[int, int], ...]:
        pairs, count = tuple(tuple(pair) for pair in self.passing), len(self.bodies)
        for pair in pairs:
            if len(pair) != 2 or not all(0 <= number < count for number in pair):
                raise SettingsError(
                    f"passing: expected pairs of numbers below {count}, of bodies, got {pair}"
                )
        return pairs

    @property
    def has_rigid(self) -> bool:
        """Whether there is anything rigid that moves."""
        return bool(self.rigid_bodies or self.ragdolls)
