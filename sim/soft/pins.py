"""Pins: points that are held, or led along a path, hard or softly.

Thesis on interactive co-rotational FEM, sec. 3.4.2.1: a pin forbids 1, 2 or 3 directions to each of its points.

Differs from the thesis, which has hard constraints only: a pin has a strength s in 0..1. At 1 its points are
projected, see `constraints`, or where they are too many held as hard as the cage can. Below, a point that carries a
mass m_p hangs on a critically damped spring with the rate w = `spring_rate(s)`: stiffness m_p w^2 [N/m] and damping
2 m_p w [N s/m] against the motion of its target. All soft points of a part carry all of it, shared out by their
effective masses. So its error decays as (1 + w t) exp(-w t), whatever the mass, the mesh, the number of points and the
time step are.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.sim.errors import SettingsError
from jellycage.sim.maths.keyed import Keyed, checked, value_at
from jellycage.sim.soft.points import Points
from jellycage.toolkit.arrays import frozen

# At strength 0.5 the time constant 1/w is 8 ms: points give way, and arrive in a frame or two.
HALF_STRENGTH_FREQUENCY = 20.0
"""Frequency of the spring at strength 0.5 [Hz]."""


@dataclass(frozen=True, eq=False)
class Pin:
    """Points held at a target, in all directions or free to slide along a line or in a plane."""

    points: Points
    """The k points that are held."""
    target: ArrayLike | Keyed | Callable[[float], ArrayLike] | None = None
    """Where to [m]: (3,) for all or (k, 3), keyed, or a function of time [s]; None: where they are at the start."""
    strength: ArrayLike | Keyed | Callable[[float], ArrayLike] = 1.0
    """0 is off, 1 is hard, a spring between: one number for all or (k,), keyed, or a function of time [s]."""
    along: ArrayLike | None = None
    """Direction of the line through the target on which each point may slide, shape (3,), of any length."""
    normal: ArrayLike | None = None
    """Normal of the plane through the target in which each point may slide, shape (3,), of any length."""

    def __post_init__(self):
        if self.along is not None and self.normal is not None:
            raise SettingsError("Pin: give along (a line) or normal (a plane), not both")
        for name in ("along", "normal"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _unit_vector(getattr(self, name), f"Pin: {name}"))
        if self.target is not None:
            object.__setattr__(self, "target", checked(self.target, self._as_targets))
        object.__setattr__(self, "strength", checked(self.strength, self._as_strengths))

    @property
    def directions(self) -> NDArray[np.float64]:
        """The blocked directions, orthonormal, shape (c, 3): 3 for a point, 2 for a line, 1 for a plane."""
        if self.normal is not None:
            return self.normal[None, :].copy()
        if self.along is None:
            return np.eye(3)
        # The axis that is least along the line stays an axis if the line is one, which keeps the rows sparse.
        first = np.eye(3)[np.abs(self.along).argmin()]
        first -= (first * self.along).sum() * self.along
        first /= np.sqrt((first * first).sum())
        return np.stack([first, np.cross(self.along, first)])

    def targets(self, rest_positions: NDArray[np.float64], time: float) -> NDArray[np.float64]:
        """Where the points should be at a time [s], shape (k, 3) [m]; `rest_positions` (k, 3): where they began."""
        if self.target is None:
            return np.array(rest_positions, np.float64)
        return self._as_targets(value_at(self.target, time)).copy()

    def strengths(self, time: float) -> NDArray[np.float64]:
        """Strength of each point at a time [s], shape (k,), in 0..1; exactly 1 is hard."""
        return self._as_strengths(value_at(self.strength, time)).copy()

    def _as_targets(self, value):
        return self.points.per_point(value, "Pin: target")

    def _as_strengths(self, value):
        if np.shape(value) not in ((), (len(self.points),)):
            raise SettingsError(
                f"Pin: strength must be one number or {len(self.points)}, one per point, "
                f"got shape {np.shape(value)}"
            )
        if not ((value >= 0.0) & (value <= 1.0)).all():
            raise SettingsError(
                "Pin: strength must lie in 0..1 (0 off, 1 hard), "
                f"got {np.min(value):g}..{np.max(value):g}"
            )
        return np.broadcast_to(value, len(self.points))


def spring_rate(strength: ArrayLike) -> NDArray[np.float64]:
    """Rate w [rad/s] of the critically damped spring that a strength in 0..1 stands for; infinite at 1."""
    strength = np.asarray(strength, np.float64)
    with np.errstate(divide="ignore"):
        return 2.0 * np.pi * HALF_STRENGTH_FREQUENCY * strength / (1.0 - strength)


def _unit_vector(vector: ArrayLike, name: str) -> NDArray[np.float64]:
    vector = np.array(vector, np.float64)
    length = np.sqrt((vector * vector).sum())
    if vector.shape != (3,) or not 0.0 < length < np.inf:
        raise SettingsError(f"{name}: expected a direction, three numbers that are not all 0")
    return frozen(vector / length)
