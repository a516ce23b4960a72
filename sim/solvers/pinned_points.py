"""The points of all pins of one body, counted through, as arrays."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from jellycage.sim.maths.keyed import Keyed
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.constraints import constraint_rows, joined_rows, row_values
from jellycage.toolkit.arrays import frozen


class PinnedPoints:
    """The points of a body's pins, k of them, one pin after the other, and their rows: see `constraints`."""

    def __init__(self, body: SoftBody):
        self.body, pins = body, body.pins
        self.known: dict[float, NDArray] = {}
        self.start = [pin.points.positions(body.start_positions()) for pin in pins]
        self.is_steady = not any(
            isinstance(quantity, Keyed) or callable(quantity)
            for pin in pins
            for quantity in (pin.target, pin.strength)
        )
        width = max((pin.points.nodes.shape[1] for pin in pins), default=1)
        self.nodes, self.weights = np.zeros((0, width), np.int32), np.zeros((0, width))
        self.blocked, self.mass, self.row_point = np.zeros((0, 6)), np.zeros(0), np.zeros(0, int)
        self.row_normal = np.zeros((0, 3))
        for pin in pins:
            points, directions = pin.points, pin.directions
            pad = ((0, 0), (0, width - points.nodes.shape[1]))
            own = len(self.nodes) + np.arange(len(points))
            self.row_point = np.append(self.row_point, np.repeat(own, len(directions)))
            normals = np.tile(directions, (len(points), 1))
            self.row_normal = np.append(self.row_normal, normals, axis=0)
            self.nodes = np.append(self.nodes, np.pad(points.nodes, pad, mode="edge"), axis=0)
            self.weights = np.append(self.weights, np.pad(points.weights, pad), axis=0)
            self.blocked = np.append(self.blocked, _blocked(pin), axis=0)
            self.mass = np.append(self.mass, points.effective_mass(body.mass))
        self.part = body.part[self.nodes[:, 0]]
        # Shape (k, n): what each node adds to each point.
        first = np.arange(0, self.nodes.size + 1, width)
        shape = len(self.nodes), len(body.mass)
        self.shares = csr_array((self.weights.ravel(), self.nodes.ravel(), first), shape)
        self.rows = joined_rows(
            [
                constraint_rows(pin.points, pin.directions, np.arange(len(pin.points)))
                for pin in pins
            ]
        )

    def strengths(self, time: float) -> NDArray[np.float64]:
        """Strength of each point at a time [s], shape (k,)."""
        return np.concatenate([np.zeros(0), *(pin.strengths(time) for pin in self.body.pins)])

    def targets(self, time: float) -> NDArray[np.float64]:
        """Where each point should be at a time [s], shape (k, 3) [m]."""
        if time not in self.known:
            while len(self.known) >= MOST_KNOWN:
                del self.known[next(iter(self.known))]
            pins = zip(self.body.pins, self.start, strict=True)
            targets = [np.zeros((0, 3)), *(pin.targets(at, time) for pin, at in pins)]
            self.known[time] = frozen(np.concatenate(targets))
        return self.known[time]

    def carried(self, of_nodes: NDArray[np.float64]) -> NDArray[np.float64]:
        """What a quantity of the nodes (n, 3) comes to at each point, shape (k, 3)."""
        return self.shares @ of_nodes

    def goals(self, targets: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the rows come to with the points at targets (k, 3), shape (r,) [m]."""
        goals, first = [np.zeros(0)], 0
        for pin in self.body.pins:
            own = np.arange(first, first + len(pin.points))
            goals.append(row_values(targets, pin.directions, own))
            first += len(own)
        return np.concatenate(goals)

    def nodes_of(self, points: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether each node of the body belongs to one of these points, shape (n,)."""
        result = np.zeros(len(self.body.mass), bool)
        result[self.nodes[points][self.weights[points] != 0.0]] = True
        return result

    def parts_without(self, points: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether each part of the body has none of these points."""
        result = np.ones(self.body.part_count, bool)
        result[self.body.part[self.nodes_of(points)]] = False
        return result

    def left_free(self, rows: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Projector on the translations of each part that some rows leave it, as (00, 11, 22, 01, 02, 12)."""
        normal = self.row_normal[rows]
        blocked = np.zeros((self.body.part_count, 3, 3))
        outer = normal[:, :, None] * normal[:, None, :]
        np.add.at(blocked, self.part[self.row_point[rows]], outer)
        values, vectors = np.linalg.eigh(blocked)
        free = np.where(values < NOT_BLOCKED * np.maximum(values[:, 2:], 1.0), 1.0, 0.0)
        projector = np.einsum("cik,ck,cjk->cij", vectors, free, vectors)
        projector[free.all(axis=1)] = np.eye(3)
        return np.ascontiguousarray(projector[:, [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])


MOST_KNOWN = 4  # times of which targets are kept: a step asks for those of its start, its end and the next one's end
NOT_BLOCKED = 1e-9  # sum of squared cosines with what pins hold: a part may slide there


def _blocked(pin):
    """`Springs.blocked` of each of its points, shape (k, 6)."""
    d = pin.directions
    blocked = np.einsum("ci,cj->ij", d, d)[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    return np.tile(blocked, (len(pin.points), 1))
