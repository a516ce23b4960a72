"""Increments of several bodies as one, for a solver of their system."""

from collections.abc import Sequence

import numpy as np

from jellycage.sim.soft.constraints import joined_projections
from jellycage.sim.soft.system import System
from jellycage.sim.solvers.pin_holding import NOT_MOVED
from jellycage.sim.solvers.problem_kernels import Increment
from jellycage.sim.solvers.springs_kernels import Springs


def joined_increments(increments: Sequence[Increment], system: System) -> Increment:
    """What a step asks of a system whose members ask for these; of a system of one, just that."""
    if len(increments) == 1:
        return increments[0]
    columns = Increment(*zip(*increments, strict=True))
    arrays = columns._asdict() | {name: _filled(increments, name) for name in ("moved", "ahead")}
    joined = (
        *("x", "inertia", "weight", "centre", "load"),
        *("damping", "drift", "guess", "ahead", "sliding", "moved"),
    )
    return Increment(
        **{name: np.concatenate(arrays[name]) for name in joined},
        springs=_springs(columns.springs, system.row_start),
        projection=joined_projections(columns.projection),
    )


def _filled(increments, name):
    """Displacements that some members may have none of, as zeros where others have them."""
    given = [getattr(increment, name) for increment in increments]
    if not any(map(len, given)):
        return [NOT_MOVED]
    return [
        u if len(u) else np.zeros_like(increment.x)
        for u, increment in zip(given, increments, strict=True)
    ]


def _springs(parts: Sequence[Springs], row_start) -> Springs:
    """Springs between rows of the system; those of fewer nodes are padded with weight 0 at their own first one."""
    width = max(part.nodes.shape[1] for part in parts)
    padded = []
    for part, row in zip(parts, row_start, strict=False):
        more = ((0, 0), (0, width - part.nodes.shape[1]))
        nodes = np.pad(part.nodes, more, mode="edge") + np.int32(row)
        padded.append(part._replace(nodes=nodes, weights=np.pad(part.weights, more)))
    return Springs(*(np.concatenate(column) for column in zip(*padded, strict=True)))
