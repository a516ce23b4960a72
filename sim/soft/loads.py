"""Loads: forces that last, and impulses, velocity and position changes that happen once.

Thesis on interactive co-rotational FEM, sec. 3.4.1. A load names points; nodes get their share through the connector
J.

Differs from the thesis: eqs. 3.33 and 3.34 are exact for one point. Several points of one change that share nodes
would add to each other's result, so they are solved for together: of all node changes that give every point what was
asked, the one of least kinetic energy, M^-1 J^T (J M^-1 J^T)^+ dp. For one point, or points that share no node, it is
eq. 3.33. The nodes gain just the momentum of the impulses (J M^-1 J^T)^+ dp at the points: m_p dp for one point. If a
cage has too few nodes to give all the points what they ask, they get it in the sense of least squares.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.sim.errors import SettingsError
from jellycage.sim.maths.keyed import Keyed, checked, value_at
from jellycage.sim.soft.constraints import constraint_rows, prescribed
from jellycage.sim.soft.points import Points
from jellycage.toolkit.arrays import frozen


@dataclass(frozen=True, eq=False)
class Force:
    """A force on points, for as long as it is not zero."""

    points: Points
    value: ArrayLike | Keyed | Callable[[float], ArrayLike]
    """Force on each point [N]: (3,) for all or (k, 3), keyed, or a function of time [s]."""

    def __post_init__(self):
        object.__setattr__(self, "value", checked(self.value, self._per_point))

    def at(self, time: float) -> NDArray[np.float64]:
        """Force on each point at a time [s], shape (k, 3) [N]."""
        return self._per_point(value_at(self.value, time))

    def _per_point(self, value):
        return self.points.per_point(value, "Force: value")


@dataclass(frozen=True, eq=False)
class Event:
    """What happens to points once; the kinds of it say what."""

    points: Points
    value: NDArray[np.float64]
    """What each point gets, shape (3,) for all or (k, 3), in the unit of the kind."""
    time: float = 0.0
    """When [s]."""

    def __post_init__(self):
        name = type(self).__name__
        value = np.array(self.value, np.float64)
        object.__setattr__(self, "value", frozen(self.points.per_point(value, f"{name}: value")))
        if not np.isfinite(self.time):
            raise SettingsError(f"{name}: time must be a finite number of seconds, got {self.time}")


class Impulse(Event):
    """A blow to each point [N s]."""

    def apply(self, mass, out_x, out_v):
        """Change the node velocities: together they gain the momentum of the blow."""
        out_v += self.points.spread(self.value, len(mass)) / mass[:, None]  # eqs. 3.27 and 3.32


class VelocityChange(Event):
    """What is added to the velocity of each point [m/s]."""

    def apply(self, mass, out_x, out_v):
        """Change the node velocities so that each point's changes as asked."""
        out_v += lightest_change(self.points, self.value, mass)  # eq. 3.33


class PositionChange(Event):
    """What is added to the position of each point [m]; velocities stay."""

    def apply(self, mass, out_x, out_v):
        """Change the node positions so that each point's changes as asked."""
        out_x += lightest_change(self.points, self.value, mass)  # eq. 3.34


def lightest_change(points: Points, change: ArrayLike, mass: NDArray) -> NDArray[np.float64]:
    """The node changes (n, 3) with the smallest sum of m |dx|^2 that give every point its change (k, 3)."""
    # In y = M^1/2 dx this is the smallest y with J M^-1/2 y = dp, a least-squares problem that needs no inverse.
    rows = constraint_rows(points, np.eye(3), np.arange(len(points)))
    root = np.sqrt(np.repeat(mass, 3))
    rows = replace(rows, weight=rows.weight / root[rows.dof])
    wanted = np.ascontiguousarray(change, np.float64).reshape(-1)
    return (prescribed(rows, wanted, len(mass)) / root).reshape(-1, 3)


def force_on_nodes(loads: Iterable, time: float, node_count: int) -> NDArray[np.float64]:
    """Sum of all forces among the loads at a time [s] on each node, shape (n, 3) [N]."""
    total = np.zeros((node_count, 3))
    for load in loads:
        if isinstance(load, Force):
            total += load.points.spread(load.at(time), node_count)  # eq. 3.26
    return total


def apply_events(loads: Iterable, start: float, end: float, out_x, out_v, mass: NDArray) -> None:
    """Do to positions and velocities (n, 3), in place, what happens at start <= time < end [s], first things first.

    mass (n,) [kg]; events at one time go in the order of the loads.
    """
    events = [load for load in loads if isinstance(load, Event) and start <= load.time < end]
    for event in sorted(events, key=lambda event: event.time):
        event.apply(mass, out_x, out_v)
