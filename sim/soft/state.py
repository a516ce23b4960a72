"""What changes from step to step."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.elasticity import follow_degeneration
from jellycage.toolkit.arrays import frozen


@dataclass(frozen=True, eq=False)
class Grips:
    """What contacts remember from one step to the next, sorted by key."""

    key: NDArray[np.int64]
    """Collider times the number of contact points, plus the point, shape (c,)."""
    drag: NDArray[np.float64]
    """Force of each bristle on its collider, along the plane [N], shape (c, 3)."""
    plane: NDArray[np.float64]
    """Normal and offset of the plane in the collider's own space, shape (c, 4)."""

    def __len__(self):
        return len(self.key)


NO_GRIPS = Grips(frozen(np.zeros(0, np.int64)), frozen(np.zeros((0, 3))), frozen(np.zeros((0, 4))))


@dataclass(eq=False)
class State:
    """Everything that a step reads and writes of one body: a copy of it continues bit for bit."""

    time: float
    """[s] since the start."""
    x: NDArray[np.float64]
    """Node positions [m], shape (n, 3)."""
    v: NDArray[np.float64]
    """Node velocities [m/s], shape (n, 3)."""
    rotation: NDArray[np.float64]
    """Unit quaternion (w, x, y, z) of each quadrature point, shape (q, 4): the warm start of the next step."""
    pair: NDArray[np.int8]
    """Feature pair 1..7 that collapsed at each quadrature point, plus 8 where it shrank, 0 where none did, (q,)."""
    trapped: NDArray[np.float64]
    """How long each quadrature point has been degenerate [s], shape (q,)."""
    debt: float = 0.0
    """Energy that changes of frame of degenerate points gave the body and that its motion has not paid back yet [J]."""
    shaken: float = 0.0
    """How long the body has had collapsed points, less some of the time since without [s]."""
    grips: Grips = NO_GRIPS
    """What its contacts remember."""

    def copy(self) -> "State":
        """An independent copy."""
        arrays = (self.x, self.v, self.rotation, self.pair, self.trapped)
        return State(
            self.time, *(array.copy() for array in arrays), self.debt, self.shaken, self.grips
        )


def start_state(body: SoftBody) -> State:
    """The state at time zero. A start shape with collapsed elements is read as reached in a straight line from rest."""
    points = len(body.elements.volumes)
    rotation = np.zeros((points, 4))
    rotation[:, 0] = 1.0
    x, v = np.array(body.start_positions()), np.array(body.start_velocities())
    state = State(0.0, x, v, rotation, np.zeros(points, np.int8), np.zeros(points))
    if body.start is not None:
        rest = np.array(body.elements.nodes)
        follow_degeneration(body, rest, x, 0.0, state.pair, state.trapped, state.rotation)
    return state
