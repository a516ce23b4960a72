"""A coarse space for the linear solver: how whole regions of a body move, stretch and shear.

Conjugate gradients carry a push one element further per iteration, so a body that is many elements long needs many.
Groups of nodes that move affinely, twelve modes each, do it at once: the preconditioner is the inverse of the diagonal
blocks plus W Q C Q^T W^T. W holds the modes at rest, Q the present rotation of each group, and C is the inverse of
W^T A W for the body at rest. So C is made once per time step length, and turning the modes instead of making it again
costs nothing: the co-rotational idea, one level up. Far from rest C is less apt, and the iterations rise towards what
they would be without it; the solution is the same.

Additive two-level methods: Dohrmann, Klawonn, Widlund 2008, doi:10.1007/978-3-540-75199-1_28.
"""

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.elasticity import add_stiffness, points_at_rest
from jellycage.sim.soft.system import System
from jellycage.sim.solvers.coarse_space_kernels import (
    CoarseSpace,
    coarse_matrix,
    invert_semidefinite,
)
from jellycage.toolkit.arrays import frozen

NODES_PER_GROUP = 24  # fewer would make twelve modes a crowd, but for parts that have no more
MOST_GROUPS = (
    8  # 96 coarse unknowns: their dense inverse stays cheap beside a product with the matrix
)


def node_groups(nodes: NDArray, count: int) -> NDArray[np.int64]:
    """Split nodes (n, 3) into `count` (a power of two) groups of even size, each time across the longest extent."""
    groups = [np.arange(len(nodes))]
    while len(groups) < count:
        halves = []
        for members in groups:
            axis = np.argmax(np.ptp(nodes[members], axis=0))
            order = members[np.argsort(nodes[members, axis], kind="stable")]
            halves += [np.sort(part) for part in np.array_split(order, 2)]
        groups = halves
    label = np.empty(len(nodes), np.int64)
    for number, members in enumerate(groups):
        label[members] = number
    return label


def coarse_space(system: System, weight: NDArray, fixed: NDArray) -> CoarseSpace:
    """The coarse space of a system with node weights (n,) added to its stiffness and `fixed` dofs (3n,) held.

    Every part of every member has groups of its own: no push goes from one to another.
    """
    groups, modes, inverses, starts = [], [], [], [0]
    for number, body in enumerate(system.members):
        rows = system.rows(number)
        pattern, blocks = body.pattern, _blocks_at_rest(body, weight[rows])
        group, mode = np.empty(len(body.mass), np.int64), np.empty((len(body.mass), 4))
        for own in _rows_of_parts(body):
            group[own], mode[own], size = _modes(body.elements.nodes[own])
            held = fixed[3 * rows.start : 3 * rows.stop]
            arrays = pattern.start, pattern.column, blocks
            matrix = coarse_matrix(*arrays, own, group, mode, held, size)
            invert_semidefinite(matrix)
            inverses.append(matrix.reshape(-1))
            group[own] += starts[-1] // 12
            starts.append(starts[-1] + size)
        groups.append(group)
        modes.append(mode)
    return CoarseSpace(
        group=frozen(np.concatenate(groups)),
        mode=frozen(np.concatenate(modes)),
        inverse=frozen(np.concatenate(inverses)),
        start=frozen(np.array(starts)),
        turn=np.zeros((starts[-1] // 12, 9)),
        r=np.zeros(starts[-1]),
        z=np.zeros(starts[-1]),
    )


def _rows_of_parts(body: SoftBody):
    """The nodes of each part, in order."""
    order = np.argsort(body.part, kind="stable")
    return np.split(order, np.searchsorted(body.part[order], np.arange(1, body.part_count)))


def _blocks_at_rest(body: SoftBody, weight):
    """The blocks of its matrix at rest."""
    blocks = np.zeros(9 * len(body.pattern.column))
    points = points_at_rest(len(body.elements.volumes))
    add_stiffness(body, np.array(body.elements.nodes), points, "twist", blocks)
    blocks.reshape(-1, 9)[body.pattern.start[:-1, None], [0, 4, 8]] += weight[:, None]
    return blocks


def _modes(nodes):
    """(group, mode, number of coarse unknowns) of the nodes of one part."""
    count = 1
    while 2 * count <= min(MOST_GROUPS, len(nodes) // NODES_PER_GROUP):
        count *= 2
    group = node_groups(nodes, count)
    size = np.bincount(group, minlength=count)[:, None]
    centre = np.stack([np.bincount(group, x, count) for x in nodes.T], axis=1) / size
    offset = nodes - centre[group]
    radius = np.sqrt(np.bincount(group, (offset**2).sum(axis=1), count) / size[:, 0])
    mode = np.concatenate([np.ones((len(nodes), 1)), offset / radius[group, None]], axis=1)
    return group, mode, 12 * count
