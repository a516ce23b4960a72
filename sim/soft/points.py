"""Material points: where pins, loads and contacts take hold of a cage.

Thesis on interactive co-rotational FEM, sec. 3.4.1: a point p = sum_i w_i x_i is a connector with the constant
Jacobian J that holds w_i. What is asked of the point goes to the nodes through J^T. A cage node is the point with one
weight of 1.

Differs from the thesis: eq. 3.29 writes m_p where 1/m_p is meant, as 3.30 and 3.31 show. Hexahedra come in by weights
alone.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.sim.errors import SettingsError
from jellycage.toolkit.arrays import frozen
from jellycage.toolkit.asset.asset import Asset

WEIGHT_SUM_ERROR = 1e-6
"""How far the weights of a point may be from 1 in sum: what a file in single precision leaves."""


@dataclass(frozen=True, eq=False)
class Points:
    """Material points, each a weighted sum of cage nodes."""

    nodes: NDArray[np.int32]
    """Cage nodes of each point, shape (k, a): a = 1 for nodes, 4 in tets, 8 in hexes."""
    weights: NDArray[np.float64]
    """Weight of each of them, shape (k, a); rows sum to 1."""

    def __post_init__(self):
        nodes, weights = np.asarray(self.nodes), np.array(self.weights, np.float64)
        if nodes.ndim != 2 or weights.shape != nodes.shape:
            raise SettingsError(
                "Points: expected nodes and weights of one shape (k, a), "
                f"got {nodes.shape} and {weights.shape}"
            )
        nodes = as_index_array(nodes, None, "Points: nodes")
        if not (np.abs(weights.sum(axis=1) - 1.0) <= WEIGHT_SUM_ERROR).all():
            raise SettingsError(
                "Points: the weights of every point must sum to 1; divide by the sum"
            )
        # The effective mass and the constraint rows take each node once.
        spare = -1 - np.arange(nodes.shape[1])
        used = np.sort(np.where(weights != 0.0, nodes, spare), axis=1)
        if (np.diff(used, axis=1) == 0).any():
            raise SettingsError("Points: a point names one node twice; add up its weights instead")
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "weights", frozen(weights))

    def __len__(self):
        return len(self.nodes)

    def check_nodes(self, node_count: int) -> None:
        """Refuse points that hang on nodes which a cage of `node_count` nodes does not have."""
        as_index_array(self.nodes, node_count, "Points: nodes")

    def positions(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """The points' share of any node quantity x, shape (n, 3) -> (k, 3): positions [m], velocities [m/s]."""
        return np.einsum("ka,kai->ki", self.weights, x[self.nodes])  # eq. 3.24: p = J x

    def spread(self, values: NDArray[np.float64], node_count: int) -> NDArray[np.float64]:
        """Node forces [N] or impulses [N s] of those at the points, shape (k, 3) -> (n, 3), summed in a fixed order."""
        nodes = self.nodes.reshape(-1)
        shares = (self.weights[:, :, None] * values[:, None, :]).reshape(-1, 3)
        axes = [np.bincount(nodes, shares[:, axis], node_count) for axis in range(3)]
        return np.stack(axes, axis=1)  # eqs. 3.26 and 3.27: f = J^T f_p

    def effective_mass(self, mass: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mass [kg] that each point shows to a force on it alone, from node masses (n,) -> (k,)."""
        return 1.0 / (self.weights**2 / mass[self.nodes]).sum(axis=1)  # eq. 3.30

    def per_point(self, value: ArrayLike, name: str) -> NDArray[np.float64]:
        """A value (3,) for all points or (k, 3) for each, as shape (k, 3); refused if it is anything else."""
        value = np.asarray(value, np.float64)
        if value.shape not in ((3,), (len(self), 3)):
            raise SettingsError(
                f"{name}: expected shape (3,) or ({len(self)}, 3), one row per point, got {value.shape}"
            )
        if not np.isfinite(value).all():
            raise SettingsError(f"{name}: must be finite; replace NaN and infinite values")
        return np.broadcast_to(value, (len(self), 3))


def as_index_array(indices: ArrayLike, count: int | None, name: str) -> NDArray[np.int32]:
    """Read-only int32 indices of any shape, none negative, all below `count` if that is known."""
    result = np.asarray(indices)
    if result.size and result.dtype.kind not in "iu":
        raise SettingsError(f"{name} must be whole numbers, got {result.dtype.name}")
    limit = np.iinfo(np.int32).max if count is None else count
    if result.size and (result.min() < 0 or result.max() >= limit):
        raise SettingsError(
            f"{name} must lie in [0, {limit}), got {result.min()}..{result.max()}; "
            "take the indices from this cage"
        )
    return frozen(result.astype(np.int32))


def node_points(indices: ArrayLike, *, node_count: int | None = None) -> Points:
    """Cage nodes as points, indices (k,)."""
    nodes = as_index_array(indices, node_count, "node_points: indices").reshape(-1, 1)
    return Points(nodes, np.ones(nodes.shape))


def embedded_points(elements: ArrayLike, element: ArrayLike, weights: ArrayLike) -> Points:
    """Points inside cage elements (e, 4) or (e, 8): the element (k,) of each and its weights (k, 4) or (k, 8)."""
    elements = np.asarray(elements)
    element = as_index_array(element, len(elements), "embedded_points: element")
    return Points(elements[element.reshape(-1)], weights)


def surface_points(asset: Asset, vertices: ArrayLike) -> Points:
    """Vertices (k,) of an asset's surface as points of its cage."""
    count = len(asset.surface_vertices)
    vertices = as_index_array(vertices, count, "surface_points: vertices").reshape(-1)
    return embedded_points(
        asset.elements, asset.embed_element[vertices], asset.embed_weights[vertices]
    )
