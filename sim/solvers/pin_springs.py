"""Springs of any number of pinned points, as few as their cage can tell apart.

The points p of one element, with weights w_p, stiffnesses k_p and targets t_p, have the energy

    sum_p k_p/2 |w_p.x - t_p|^2  =  sum_m l_m/2 |q_m.x - s_m|^2  +  what does not depend on x,

where l_m, q_m are the eigenvalues above zero and eigenvectors of M = sum_p k_p w_p w_p^T, and s_m = q_m.(sum_p k_p w_p
t_p) / l_m. So an element has at most as many springs as corners, whether ten points are pinned in it or a thousand,
and points that contradict each other are followed as closely as the cage can: in the sense of least squares.

Hard points leave out eigenvectors that they hardly tell from zero. They would be met by nodes that leap several times
as far as the points are led; the material decides about them instead.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from jellycage.sim.solvers.springs_kernels import NO_SPRINGS, Springs

LEAST = 1e-9  # of the greatest eigenvalue of an element: below this its points say nothing about a direction
LEAST_HARD = 0.04  # and hard ones too little: nodes would leap five times as far as they are led
LEAST_ALONE = 1e-3  # in a part of one element, where nothing else says how it is turned: enough for that and no more


@dataclass(frozen=True, eq=False)
class PinSprings:
    """The springs of k points; where to depends on where the points are to go."""

    springs: Springs
    """With targets at zero, s of them."""
    share: csr_array
    """What each point adds to each target, shape (s, k)."""

    def towards(self, targets: NDArray[np.float64]) -> Springs:
        """The springs that pull the points to targets (k, 3) [m]."""
        return self.springs._replace(target=np.ascontiguousarray(self.share @ targets))


def pin_springs(nodes, weights, stiffness, blocked, least) -> PinSprings:
    """Springs for points of nodes and weights (k, a), of a stiffness (k,) [N/m], blocked as in `Springs`, shape (k, 6).

    least (k,): of the greatest eigenvalue of an element, the least that its points say enough with.

    The points with the same nodes in the same order are of one element.
    """
    if not len(nodes):
        return PinSprings(NO_SPRINGS, csr_array((0, 0)))
    kinds, kind = np.unique(blocked, axis=0, return_inverse=True)
    keys = np.column_stack([kind.reshape(-1), nodes])
    groups, group = np.unique(keys, axis=0, return_inverse=True)
    group = group.reshape(-1)
    pulled = stiffness[:, None] * weights
    m = np.zeros((len(groups), *2 * nodes.shape[1:]))
    np.add.at(m, group, pulled[:, :, None] * weights[:, None, :])
    values, vectors = np.linalg.eigh(m)
    least_of_group = np.zeros(len(groups))
    np.maximum.at(least_of_group, group, least)
    of_group, of_mode = np.nonzero(values > (least_of_group * values[:, -1])[:, None])
    value, vector = values[of_group, of_mode], vectors[of_group, :, of_mode]
    # Every point has a share in each spring of its group.
    first = np.searchsorted(of_group, np.arange(len(groups) + 1))
    count = np.diff(first)[group]
    point = np.repeat(np.arange(len(nodes)), count)
    spring = np.arange(len(point)) - np.repeat(np.cumsum(count) - count - first[group], count)
    part = np.einsum("ea,ea->e", pulled[point], vector[spring]) / value[spring]
    springs = Springs(
        nodes=np.ascontiguousarray(groups[of_group, 1:].astype(np.int32)),
        weights=np.ascontiguousarray(vector),
        stiffness=value,
        blocked=np.ascontiguousarray(kinds[groups[of_group, 0]]),
        target=np.zeros((len(value), 3)),
    )
    return PinSprings(springs, csr_array((part, (spring, point)), (len(value), len(nodes))))
