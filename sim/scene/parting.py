"""Which closed parts of a mesh need cages of their own, because pins lead them where one cage cannot follow.

A cage joins parts that overlap: the arm of a robot and its hand become one solid. Led by bones of their own they may
come further apart than its cells can bend. A part gets a cage of its own if pins hold it by itself, some of its points
miss their targets by more than half a cell in the best shape of the cage that is shared (least squares), and its own
pins alone would bring them at least twice as close. What no pins hold stays with the part that it hangs on most.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array, diags_array
from scipy.sparse.csgraph import (
    connected_components,
    dijkstra,
    laplacian,
    minimum_spanning_tree,
)
from scipy.sparse.linalg import splu

from jellycage.sim.soft.pins import Pin, spring_rate
from jellycage.toolkit.asset.asset import Asset

MOST_MISSED = 0.5
"""By how much points may miss their targets in a cage that is shared [cells]: a quarter of what a bake warns of."""
GAIN = 2.0
"""How many times closer its own pins must bring a part."""
LEAST_WIDTH = 0.02
"""Second width of the points by which pins hold a part, in the first: less is a line, about which it would turn."""
SMOOTHNESS = 1e-3
"""Weight of how differently the nodes of an element move, beside that of a point."""
LEAST_STRENGTH = 0.5
"""Of points that are expected at their targets: softer ones are left behind in any cage."""
FIRMEST = 0.99
"""Strength: harder points count as much. Harder ones win against softer ones of the same element."""
MOST_TIMES = 64
"""How many times are looked at."""


def groups_led_apart(
    asset: Asset,
    part: NDArray[np.int64],
    pins: Sequence[Pin],
    pinned: Sequence[NDArray[np.int64]],
    start: NDArray[np.float64],
    times: NDArray[np.float64],
) -> NDArray[np.int64] | None:
    """The group of parts whose cage each part shares, shape (p,), or None if one cage can follow all pins.

    asset: the mesh in one cage. part: to which each vertex of the mesh belongs, from 0, shape (m,). pinned: vertices of
    the mesh of each pin. start: cage nodes at the start [m], shape (n, 3). times: from first to last [s], shape (t,).
    """
    times = times[np.linspace(0, len(times) - 1, min(len(times), MOST_TIMES)).round().astype(int)]
    leads = [
        _Lead.of(pin, part[vertices], start, times)
        for pin, vertices in zip(pins, pinned, strict=True)
        if len(pin.directions) == 3  # what may slide is not held
    ]
    if all(lead.pin.target is None for lead in leads):
        return None
    nodes, weights, strength, of_point = (
        np.concatenate(arrays)
        for arrays in zip(
            *((lead.nodes, lead.weights, lead.strength, lead.part) for lead in leads), strict=True
        )
    )
    count = int(part.max()) + 1
    shared = _BestShape(nodes, weights, strength)
    # With nodes of its own for each part: what its own pins alone make of it.
    alone = _BestShape(of_point[:, None] * len(start) + nodes, weights, strength)
    is_led_apart = np.zeros(count, bool)
    for time in times:
        way = np.concatenate([lead.way(time) for lead in leads])
        missed = shared.missed(way)
        is_far = (strength >= LEAST_STRENGTH) & (missed > MOST_MISSED * asset.meta["cell_size"])
        if is_far.any():
            is_led_apart[of_point[is_far & (missed > GAIN * alone.missed(way))]] = True
    is_held = _are_held(np.concatenate([lead.start for lead in leads]), of_point, count)
    is_led_apart &= is_held
    if not is_led_apart.any():
        return None
    return _groups(_ties(asset, part[asset.source_vertex], count), is_held, is_led_apart)


@dataclass(frozen=True, eq=False)
class _Lead:
    """The points of a pin that it holds all the time."""

    pin: Pin
    is_held: NDArray[np.bool_]
    strength: NDArray[np.float64]
    """How firmly, at the least, shape (h,)."""
    rest: NDArray[np.float64]
    """Where all points of the pin begin [m], shape (k, 3)."""
    part: NDArray[np.int64]
    """Part of the mesh that each held point belongs to, shape (h,)."""

    @classmethod
    def of(cls, pin, part, start, times):
        strength = np.min([pin.strengths(time) for time in times], axis=0)
        is_held = strength > 0.0
        return cls(pin, is_held, strength[is_held], pin.points.positions(start), part[is_held])

    @property
    def nodes(self):
        return self.pin.points.nodes[self.is_held].astype(np.int64)

    @property
    def weights(self):
        return self.pin.points.weights[self.is_held]

    @property
    def start(self):
        return self.rest[self.is_held]

    def way(self, time):
        """Where to from the start at a time [s], shape (h, 3) [m]."""
        return (self.pin.targets(self.rest, time) - self.rest)[self.is_held]


class _BestShape:
    """Nodes moved by u so that points come closest: min |W u - way|^2 + s |D u|^2, D their differences in elements.

    Points count as their springs are stiff.
    """

    def __init__(self, nodes, weights, strength):
        """nodes and weights: on which the points hang, shapes (k, a); strength: of each, shape (k,)."""
        used, column = np.unique(nodes, return_inverse=True)
        row = np.repeat(np.arange(len(nodes)), nodes.shape[1])
        at, shape = (row, column.reshape(-1)), (len(nodes), len(used))
        self.rows = csc_array((weights.reshape(-1), at), shape=shape)
        of_point = csc_array((np.ones(nodes.size), at), shape=shape)
        spread = laplacian(of_point.T @ of_point)
        rate = spring_rate(np.minimum(strength, FIRMEST))
        self.pull = (diags_array(rate / rate.mean()) @ self.rows).T
        self.factor = splu((self.pull @ self.rows + SMOOTHNESS * spread).tocsc())

    def missed(self, way):
        """How far points that should go by way (k, 3) stay from there, shape (k,) [m]."""
        off = way - self.rows @ self.factor.solve(self.pull @ way)
        return np.sqrt((off**2).sum(axis=1))


def _are_held(rest, part, count):
    """Whether points at rest (k, 3) of each of so many parts hold it, all three turns as well, shape (count,)."""
    is_held = np.zeros(count, bool)
    for number in np.unique(part):
        away = rest[part == number]
        width = np.linalg.svd(away - away.mean(axis=0), compute_uv=False)
        is_held[number] = len(width) > 1 and width[1] > LEAST_WIDTH * width[0]
    return is_held


def _ties(asset, part, count):
    """In how many elements of the cage two of so many parts meet, symmetric, shape (count, count)."""
    corners = asset.elements
    pairs = corners[:, [(i, j) for i in range(corners.shape[1]) for j in range(i)]].reshape(-1, 2)
    cage = coo_array((np.ones(len(pairs)), pairs.T), shape=2 * (len(asset.cage_nodes),)).tocsr()
    # Every node belongs to the part whose surface is nearest, counted in elements.
    of_node = np.full(len(asset.cage_nodes), -1)
    of_node[corners[asset.embed_element]] = part[:, None]
    _, _, nearest = dijkstra(
        cage,
        directed=False,
        indices=np.flatnonzero(of_node >= 0),
        return_predecessors=True,
        unweighted=True,
        min_only=True,
    )
    of_node = np.where(nearest >= 0, of_node[nearest], -1)
    meeting = np.sort(of_node[pairs], axis=1)
    meeting = meeting[(meeting[:, 0] >= 0) & (meeting[:, 0] < meeting[:, 1])]
    one_way = coo_array((np.ones(len(meeting)), meeting.T), shape=(count, count)).tocsr()
    return one_way + one_way.T


def _groups(ties, is_held, is_led_apart):
    """Group of each part: one for each that is led apart, and what hangs together of the others, shape (p,)."""
    ties = ties.tocoo()
    one, other = ties.coords
    stays = is_held & ~is_led_apart
    is_kept = stays[one] & stays[other]
    cluster = _connected(one[is_kept], other[is_kept], len(is_held))
    # What is not held hangs on what holds it most, through others if need be: a tree from a root that holds the held.
    is_free = ~(is_held[one] & is_held[other])
    root = cluster.max() + 1
    held = np.unique(cluster[is_held])
    strength = coo_array(
        (
            np.concatenate([ties.data[is_free], np.full(len(held), 2.0 * ties.data.sum())]),
            (
                np.concatenate([cluster[one[is_free]], np.full(len(held), root)]),
                np.concatenate([cluster[other[is_free]], held]),
            ),
        ),
        shape=(root + 1, root + 1),
    ).tocsr()
    strength.data = 1.0 / strength.data
    tree = minimum_spanning_tree(strength).tocoo()
    is_hung = (tree.coords[0] != root) & (tree.coords[1] != root)
    return _connected(tree.coords[0][is_hung], tree.coords[1][is_hung], root)[cluster]


def _connected(one, other, count):
    """Number of the component of each of so many things, linked in pairs, shape (count,)."""
    links = coo_array((np.ones(len(one)), (one, other)), shape=(count, count))
    return connected_components(links, directed=False)[1]
