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

NODES_PER_GROUP = 24  # fewer would make twelve modes a crowd
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
    """The coarse space of a system with node weights (n,) added to its stiffness and `fixed` dofs (3n,) held."""
    parts, groups = [], 0
    for number, body in enumerate(system.members):
        rows = system.rows(number)
        group, mode, matrix = _of_body(body, weight[rows], fixed[3 * rows.start : 3 * rows.stop])
        parts.append((group + groups, mode, matrix.reshape(-1), len(matrix)))
        groups += len(matrix) // 12
    group, mode, inverse, sizes = zip(*parts, strict=True)
    return CoarseSpace(
        group=frozen(np.concatenate(group)),
        mode=frozen(np.concatenate(mode)),
        inverse=frozen(np.concatenate(inverse)),
        start=frozen(np.append(0, np.cumsum(sizes))),
        turn=np.zeros((groups, 9)),
        r=np.zeros(12 * groups),
        z=np.zeros(12 * groups),
    )


def _of_body(body: SoftBody, weight, fixed):
    """(group, mode, inverse) of one body."""
    nodes = body.elements.nodes
    count = 1
    while 2 * count <= min(MOST_GROUPS, len(nodes) // NODES_PER_GROUP):
        count *= 2
    group = node_groups(nodes, count)
    size = np.bincount(group, minlength=count)[:, None]
    centre = np.stack([np.bincount(group, x, count) for x in nodes.T], axis=1) / size
    offset = nodes - centre[group]
    radius = np.sqrt(np.bincount(group, (offset**2).sum(axis=1), count) / size[:, 0])
    mode = np.concatenate([np.ones((len(nodes), 1)), offset / radius[group, None]], axis=1)

    pattern, points = body.pattern, points_at_rest(len(body.elements.volumes))
    blocks = np.zeros(9 * len(pattern.column))
    add_stiffness(body, np.array(nodes), points, "twist", blocks)
    blocks.reshape(-1, 9)[pattern.start[:-1, None], [0, 4, 8]] += weight[:, None]
    matrix = coarse_matrix(pattern.start, pattern.column, blocks, group, mode, fixed, 12 * count)
    invert_semidefinite(matrix)
    return group, mode, matrix
