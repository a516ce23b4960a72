"""Rigid bodies: shapes with a mass, where they start and how fast. Frozen; what moves is in `RigidState`."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.sim.errors import SettingsError
from jellycage.sim.maths import quaternions
from jellycage.sim.shapes.hulls import MassProperties
from jellycage.sim.shapes.shape import Shape
from jellycage.toolkit.arrays import frozen


@dataclass(frozen=True, eq=False)
class RigidBody:
    """A body that does not deform. Everything but its shapes has a default that works."""

    shapes: Sequence[Shape]
    """What it is made of, in its own frame."""
    location: ArrayLike = (0.0, 0.0, 0.0)
    """Of the origin of its frame at the start [m], shape (3,)."""
    rotation: ArrayLike = (1.0, 0.0, 0.0, 0.0)
    """Its frame at the start, unit quaternion (w, x, y, z)."""
    velocity: ArrayLike = (0.0, 0.0, 0.0)
    """Of its centre of mass at the start [m/s], shape (3,)."""
    spin: ArrayLike = (0.0, 0.0, 0.0)
    """Angular velocity at the start [rad/s], shape (3,)."""
    density: float = 1000.0
    """[kg/m^3]; not used if a mass is given."""
    mass: float | None = None
    """[kg]; None: by density."""
    friction: float = 0.5
    """Coulomb's coefficient; a pair has the geometric mean of its two."""
    restitution: float = 0.0
    """Share of the speed of approach that it leaves with, 0..1; a pair has the larger of its two."""
    linear_damping: float = 0.0
    """Rate at which it loses speed [1/s]."""
    angular_damping: float = 0.0
    """Rate at which it loses spin [1/s]."""
    least_inertia: float = 0.0
    """Moments of inertia below this share of the greatest are raised to it, 0..1: what is long and thin and hangs on
    joints spins about itself at the least push, which no solver bears well."""

    def __post_init__(self):
        object.__setattr__(self, "shapes", tuple(self.shapes))
        if not self.shapes:
            raise SettingsError("shapes: there is none; give a rigid body at least one")
        for name, width in (("location", 3), ("rotation", 4), ("velocity", 3), ("spin", 3)):
            value = np.array(getattr(self, name), np.float64)
            if value.shape != (width,) or not np.isfinite(value).all():
                raise SettingsError(f"{name}: expected {width} finite numbers")
            object.__setattr__(self, name, frozen(value))
        length = np.linalg.norm(self.rotation)
        if not 0.5 < length < 2.0:
            raise SettingsError("rotation: expected a quaternion of length 1; normalise it")
        object.__setattr__(self, "rotation", frozen(self.rotation / length))
        for name in ("density", "mass"):
            value = getattr(self, name)
            if value is not None and not 0.0 < value < np.inf:
                raise SettingsError(f"{name}: expected a positive number, got {value}")
        for name in ("friction", "linear_damping", "angular_damping"):
            if not 0.0 <= getattr(self, name) < np.inf:
                raise SettingsError(
                    f"{name}: expected 0 or a positive number, got {getattr(self, name)}"
                )
        for name in ("restitution", "least_inertia"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise SettingsError(f"{name}: expected 0 to 1, got {getattr(self, name)}")

    @cached_property
    def properties(self) -> MassProperties:
        """Mass, centre and inertia about the centre, in the frame of the body."""
        parts = [shape.mass_properties(self.density) for shape in self.shapes]
        mass = sum(part.mass for part in parts)
        centre = sum(part.mass * part.centre for part in parts) / mass
        inertia = np.zeros((3, 3))
        for part in parts:
            r = part.centre - centre
            inertia += part.inertia + part.mass * ((r @ r) * np.eye(3) - np.outer(r, r))
        if self.least_inertia > 0.0:
            moments, axes = np.linalg.eigh(inertia)
            inertia = axes * np.maximum(moments, self.least_inertia * moments[2]) @ axes.T
        scale = 1.0 if self.mass is None else self.mass / mass
        return MassProperties(scale * mass, centre, scale * inertia)

    def centre(self) -> NDArray[np.float64]:
        """Centre of mass at the start, in the world [m], shape (3,)."""
        return self.location + quaternions.turned(self.rotation, self.properties.centre)


class BodyArrays(NamedTuple):
    """What a step reads of the bodies: those that move first, then those that are led or stand still."""

    inverse_mass: NDArray[np.float64]
    """[1/kg], shape (n,); 0 for what cannot be pushed."""
    inertia: NDArray[np.float64]
    """About the centre, in the body's frame [kg m^2], shape (n, 3, 3)."""
    inverse_inertia: NDArray[np.float64]
    """Shape (n, 3, 3)."""
    least_inertia: NDArray[np.float64]
    """The least of its eigenvalues [kg m^2], shape (n,)."""
    friction: NDArray[np.float64]
    """Shape (n,)."""
    restitution: NDArray[np.float64]
    """Shape (n,)."""
    damping: NDArray[np.float64]
    """Linear and angular [1/s], shape (n, 2)."""
    reach: NDArray[np.float64]
    """Greatest distance of a point from the centre [m], shape (n,)."""


class RigidState(NamedTuple):
    """What changes from step to step."""

    p: NDArray[np.float64]
    """Centres of mass [m], shape (n, 3)."""
    q: NDArray[np.float64]
    """Orientations (w, x, y, z), shape (n, 4)."""
    v: NDArray[np.float64]
    """Velocities [m/s], shape (n, 3)."""
    w: NDArray[np.float64]
    """Angular velocities in the world [rad/s], shape (n, 3)."""
    slow_time: NDArray[np.float64]
    """How long each has been slow [s], shape (n,)."""
    is_asleep: NDArray[np.bool_]
    """Shape (n,)."""
    island: NDArray[np.int64]
    """Bodies that fell asleep together have the same number, shape (n,)."""

    def copy(self) -> "RigidState":
        """An independent copy."""
        return RigidState(*(array.copy() for array in self))
