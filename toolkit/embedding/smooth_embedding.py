"""The surface embedded smoothly in the cage, for display: weights of many nodes for every vertex, one sparse product.

Barycentric and trilinear weights are continuous, but their slope jumps where elements meet, and a fine surface in a
bent cage shows it as facets. Two remedies, both as weights over nodes that sum to 1 and reproduce affine motions:

    mls         moving least squares: the linear polynomial that fits the nodes around the vertex best.
                Kaufmann, Martin, Botsch, Gross 2009, "Flexible simulation of deformable models using discontinuous
                Galerkin FEM", as the thesis on interactive co-rotational FEM cites it (sec. 5.3.2).
    gaussian    linear blend skinning: the affine maps of the elements around the vertex, each with a Gaussian weight of
                the distance from its centre (thesis on constraint-based bodies for games, sec. 5.3.2).

Near means near inside the cage. A cage is split where parts lie close, and a finger must not pull its neighbour: a node
counts only if the way to it along the links of the cage is not much longer than the straight one. How much it counts is
known at the nodes, as a number from 0 to 1, and interpolated between them, so nothing ever jumps. Where all that is
near is open, as everywhere inside a whole part, those numbers are 1 and the weights have a continuous second (MLS) or
first (Gaussian) derivative; beside gaps and notches they are only continuous.

Limitations: the smooth surface does not touch what the collision surface touches, and may leave the cage; see
`surface_distance`. Weights can be negative.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, vstack

from jellycage.toolkit.arrays import frozen, ragged
from jellycage.toolkit.asset.asset import Asset
from jellycage.toolkit.cage.element_tables import CUBE_CORNERS
from jellycage.toolkit.embedding.smooth_embedding_kernels import (
    CageArrays,
    Sources,
    Ways,
    blend_elements,
    find_sources,
    find_ways,
    fit_least_squares,
)
from jellycage.toolkit.errors import SettingsError

METHODS = ("mls", "gaussian")
NODE_REACH = 1.3
"""How far a node is felt (MLS), in lengths of the longest link of the elements at it: they all lie well inside."""
ELEMENT_REACH = 2.0
"""How far an element is felt (Gaussian), in distances of its furthest corner from its centre."""
DEVIATIONS = 2.0
"""Standard deviations of the Gaussian within that reach."""
SLOPES = {
    4: np.array([[-1.0, -1.0, -1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    8: (CUBE_CORNERS - 0.5) / 2.0,
}
"""Slopes of the corner weights in the middle of a unit element."""
CHUNK = 1 << 15  # points at a time: a million vertices need no more room than these


@dataclass(frozen=True, eq=False)
class SmoothEmbedding:
    """Weights of cage nodes for every surface vertex, as CSR rows."""

    start: NDArray[np.int32]
    """Rows of the vertices, shape (n+1,)."""
    nodes: NDArray[np.int32]
    """Node indices, ascending in each row, shape (k,)."""
    weights: NDArray[np.float64]
    """Their weights, shape (k,); rows sum to 1."""
    node_count: int
    """Nodes that there are, m."""
    parameters: dict[str, Any]
    """Method and what it was made with, see `parameters_of`."""

    @cached_property
    def matrix(self) -> csr_matrix:
        """The weights as a sparse matrix, shape (n, m)."""
        shape = len(self.start) - 1, self.node_count
        return csr_matrix((self.weights, self.nodes, self.start), shape)

    def positions(self, x: ArrayLike) -> NDArray[np.float64]:
        """Vertices carried by node positions (or velocities) x (m, 3), shape (n, 3)."""
        return self.matrix @ np.asarray(x, np.float64)


@dataclass(frozen=True)
class SurfaceDistance:
    """The greatest distance between the smooth surface and the one that collides."""

    metres: float
    relative: float
    """To the diagonal of the box around the surface at rest."""
    vertex: int
    """Where it is."""


def smooth_embedding(asset: Asset, method: str = "mls") -> SmoothEmbedding:
    """The smooth embedding of an asset's surface: the one it carries if that is of this method, else a new one."""
    count, kept = len(asset.cage_nodes), asset.meta.get("smooth")
    is_kept = asset.smooth_start is not None and isinstance(kept, dict)
    if is_kept and kept.get("method") == method:
        rows = asset.smooth_start, asset.smooth_nodes, asset.smooth_weights
        return SmoothEmbedding(*rows, count, kept)
    rows = smooth_rows(
        asset.cage_nodes, asset.elements, asset.embed_element, asset.embed_weights, method
    )
    return SmoothEmbedding(*map(frozen, rows), count, parameters_of(method))


def with_smooth_embedding(asset: Asset, method: str = "mls") -> Asset:
    """The asset with the smooth embedding in it."""
    smooth = smooth_embedding(asset, method)
    return replace(
        asset,
        smooth_start=smooth.start,
        smooth_nodes=smooth.nodes,
        smooth_weights=smooth.weights,
        meta={**asset.meta, "smooth": smooth.parameters},
    )


def surface_distance(asset: Asset, smooth: SmoothEmbedding, x: ArrayLike) -> SurfaceDistance:
    """How far the smooth surface is from the one that collides when the nodes are at x (m, 3) [m]."""
    x = np.asarray(x, np.float64)
    corners = asset.elements[asset.embed_element]
    collision = np.einsum("va,vai->vi", asset.embed_weights, x[corners])
    apart = np.linalg.norm(smooth.positions(x) - collision, axis=1)
    if not len(apart):
        return SurfaceDistance(0.0, 0.0, -1)
    size = np.linalg.norm(np.ptp(asset.surface_vertices, axis=0))
    worst = int(apart.argmax())
    return SurfaceDistance(float(apart[worst]), float(apart[worst] / (size or 1.0)), worst)


def parameters_of(method: str) -> dict[str, Any]:
    """What decides the weights of a method, as an asset's meta keeps it."""
    if method not in METHODS:
        raise SettingsError(f'smooth must be "mls" or "gaussian", got {method!r}')
    if method == "mls":
        return {"method": method, "reach": NODE_REACH}
    return {"method": method, "reach": ELEMENT_REACH, "deviations": DEVIATIONS}


def smooth_rows(
    nodes, elements, element, weights, method: str
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """(start, nodes, weights) of points in a cage, given by an element and its corner weights each.

    nodes (m, 3), elements (e, 4|8), element (n,), weights (n, 4|8) not negative. Whether a point on a border is said to
    lie in the one element or in the other makes no difference.
    """
    parameters_of(method)
    weights = np.ascontiguousarray(weights, np.float64)
    element = np.asarray(element, np.int64)
    cage = _Cage(np.array(nodes, np.float64), np.array(elements, np.int64))
    found = (_NodeFit if method == "mls" else _ElementBlend)(cage, element)
    points = np.einsum("va,vai->vi", weights, cage.nodes[cage.elements[element]])
    order = np.argsort(element, kind="stable")
    parts = [
        csr_matrix(found.rows(points, element, weights, part)[::-1], (len(part), len(cage.nodes)))
        for part in np.split(order, np.arange(CHUNK, len(order), CHUNK))
    ]
    # Rows were made element by element; back to the order of the points.
    row = np.empty(len(order), np.int64)
    row[order] = np.arange(len(order))
    made = vstack(parts, format="csr")[row]
    return made.indptr.astype(np.int32), made.indices.astype(np.int32), made.data


class _Cage:
    """What both methods need to know of a cage."""

    def __init__(self, nodes, elements):
        self.nodes, self.elements = nodes, elements
        corners = nodes[elements]
        self.centres = corners.mean(axis=1)
        self.radius = np.sqrt(((corners - self.centres[:, None]) ** 2).sum(axis=2).max(axis=1))
        slopes = SLOPES[elements.shape[1]]
        self.arrays = CageArrays(
            nodes=nodes,
            elements=elements,
            centres=self.centres,
            radius=self.radius,
            # An element that is flat has no slope across it, and a point in it needs none.
            gradients=slopes @ np.linalg.pinv(np.einsum("eai,aj->eij", corners, slopes)),
        )
        pairs = np.array([(a, b) for a in range(elements.shape[1]) for b in range(a)])
        first, second = elements[:, pairs[:, 0]], elements[:, pairs[:, 1]]
        length = np.sqrt(((nodes[first] - nodes[second]) ** 2).sum(axis=2))
        self.size = self.greatest(length.max(axis=1))
        rows, columns = np.append(first, second), np.append(second, first)
        self.links = ragged(rows, columns, len(nodes))

    def greatest(self, values):
        """Of the values of elements the greatest at each node, shape (m,)."""
        result = np.zeros(len(self.nodes))
        np.maximum.at(result, self.elements, values[:, None])
        return result

    def ways(self, element, reach) -> Ways:
        """The ways from the corners of those elements."""
        is_wanted = np.zeros(len(self.nodes), np.bool_)
        is_wanted[self.elements[element]] = True
        start = np.zeros(len(self.nodes) + 1, np.int64)
        given = self.nodes, is_wanted, *self.links, reach, self.size
        found = _stored(lambda *out: find_ways(*given, start, *out), 256 * len(self.nodes))
        return Ways(start, *found)


def _stored(fill: Callable[..., int], room: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The indices and numbers that a kernel fills in, called again if they are more than there was room for."""
    while True:
        out = np.empty(room, np.int32), np.empty(room)
        count = fill(*out)
        if count <= room:
            return out[0][:count], out[1][:count]
        room = count


class _NodeFit:
    """Moving least squares over the nodes near each point."""

    def __init__(self, cage: _Cage, element):
        reach = NODE_REACH * cage.size
        every = np.arange(len(cage.nodes))
        self.cage, self.ways = cage.arrays, cage.ways(element, reach)
        self.sources = Sources(
            at_start=np.arange(len(every) + 1),
            at=every,
            nodes=every[:, None],
            centres=cage.nodes,
            reach=reach,
            sharpness=0.0,
            power=3,
        )

    def rows(self, points, element, weights, order):
        """CSR (start, nodes, weights) of the points of `order`."""
        start = np.zeros(len(order) + 1, np.int64)
        given = points, element, weights, order, self.cage, self.ways, self.sources
        node, weight = _stored(lambda *out: find_sources(*given, start, *out), 64 * len(order))
        fit_least_squares(
            points, element, order, self.cage, start, node, self.sources.reach, weight
        )
        return start, node, weight


class _ElementBlend:
    """A Gaussian blend of the affine maps of the elements near each point."""

    def __init__(self, cage: _Cage, element):
        reach = ELEMENT_REACH * cage.radius
        count, corners = cage.elements.shape
        every = np.repeat(np.arange(count), corners)
        at_start, at = ragged(cage.elements.ravel(), every, len(cage.nodes))
        self.cage = cage.arrays
        self.ways = cage.ways(element, cage.greatest(reach + cage.radius))
        self.sources = Sources(
            at_start=at_start,
            at=at,
            nodes=cage.elements,
            centres=cage.centres,
            reach=reach,
            sharpness=0.5 * DEVIATIONS**2,
            power=2,
        )

    def rows(self, points, element, weights, order):
        """CSR (start, nodes, weights) of the points of `order`."""
        start = np.zeros(len(order) + 1, np.int64)
        given = points, element, weights, order, self.cage, self.ways, self.sources
        near = _stored(lambda *out: find_sources(*given, start, *out), 128 * len(order))
        maps = points, order, self.cage, start.copy(), *near
        return start, *_stored(lambda *out: blend_elements(*maps, start, *out), 64 * len(order))
