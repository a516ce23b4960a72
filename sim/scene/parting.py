"""Which closed parts of a mesh need cages of their own, because pins lead them where one cage cannot follow.

A cage joins parts that overlap: the arm of a robot and its hand become one solid. Led by bones of their own they may go
further apart than its elements can bridge. Where two parts meet in an element, each has a motion of its own there: the
rigid one that its pinned points show, the nearest first (moving least squares; Schaefer, McPhail, Warren 2006,
doi:10.1145/1179352.1141920). How far these two go apart, by how far the points that show them are from each other, is
the strain that one cage would have to bear. Parts between which it is too much must not share a cage, whatever joins
them; the others do, those first that move alike most. What no pins hold stays with the part that it hangs on most.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree

from jellycage.sim.soft.pins import Pin
from jellycage.toolkit.asset.asset import Asset

MOST_STRAIN = 0.5
"""That a cage has to bear between two parts."""
LEAST_STRENGTH = 0.5
"""Of points that are expected at their targets: softer ones are left behind in any cage."""
FARTHEST = 3.0
"""Distance of the pinned points of a part from where it meets another one, beyond which it bends instead [cells]."""
LEAST_WIDTH = 0.02
"""Second width of the points by which pins hold a part, in the first: less is a line, about which it would turn."""
MOST_TIMES = 64
"""How many times are looked at,"""
MOST_PLACES = 16
"""at how many elements in which two parts meet,"""
NEIGHBOURS = 64
"""and at how many points of each part there."""


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
    rest = np.concatenate([lead.rest[lead.is_held] for lead in leads])
    of_point = np.concatenate([lead.part for lead in leads])
    is_held = _are_held(rest, of_point, int(part.max()) + 1)
    meetings = _meetings(asset, part[asset.source_vertex], start)
    both = meetings.parts[meetings.of_place]
    watched = np.flatnonzero(is_held[both].all(axis=1))
    sides = [
        _Neighbours.of(rest, of_point, meetings.places[watched], both[watched, k], asset)
        for k in (0, 1)
    ]
    far = FARTHEST * asset.meta["cell_size"]
    is_near = np.maximum(sides[0].distance, sides[1].distance) <= far
    gap = sides[0].distance + sides[1].distance + asset.meta["cell_size"]
    apart = np.zeros(len(watched))
    for time in times:
        goals = np.concatenate([lead.goals(time) for lead in leads])
        way = sides[0].carried(goals) - sides[1].carried(goals)
        apart = np.maximum(apart, np.sqrt((way**2).sum(axis=1)))
    strain = np.zeros(len(meetings.parts))
    np.maximum.at(strain, meetings.of_place[watched], np.where(is_near, apart / gap, 0.0))
    if not (strain > MOST_STRAIN).any():
        return None
    return _groups(meetings, strain, is_held)


@dataclass(frozen=True, eq=False)
class _Lead:
    """The points of a pin that it holds firmly all the time."""

    pin: Pin
    rest: NDArray[np.float64]
    """Where all points of the pin begin, shape (k, 3) [m]."""
    is_held: NDArray[np.bool_]
    """Which of them it holds so, shape (k,)."""
    part: NDArray[np.int64]
    """Part of the mesh that each of these belongs to, shape (h,)."""

    @classmethod
    def of(cls, pin, part, start, times):
        is_held = np.min([pin.strengths(time) for time in times], axis=0) >= LEAST_STRENGTH
        return cls(pin, pin.points.positions(start), is_held, part[is_held])

    def goals(self, time):
        """Where they are led at a time [s], shape (h, 3) [m]."""
        return self.pin.targets(self.rest, time)[self.is_held]


def _are_held(points, of_point, count):
    """Whether points (k, 3) of each of so many parts hold it, all three turns as well, shape (count,)."""
    is_held = np.zeros(count, bool)
    for number in np.unique(of_point):
        away = points[of_point == number]
        width = np.linalg.svd(away - away.mean(axis=0), compute_uv=False)
        is_held[number] = len(width) > 1 and width[1] > LEAST_WIDTH * width[0]
    return is_held


class _Meetings(NamedTuple):
    """Where parts meet in elements of the cage that they share."""

    parts: NDArray[np.int64]
    """Two parts that meet, shape (p, 2)."""
    count: NDArray[np.int64]
    """In how many elements they do, shape (p,)."""
    places: NDArray[np.float64]
    """Centres of some of these elements, shape (m, 3) [m]."""
    of_place: NDArray[np.int64]
    """Which two parts meet there, shape (m,)."""


def _meetings(asset, part, start):
    """Where parts meet; part: that of each vertex of the surface, shape (v,)."""
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
    element = np.repeat(np.arange(len(corners)), len(pairs) // len(corners))
    rows = np.column_stack([np.sort(of_node[pairs], axis=1), element])
    rows = np.unique(rows[(rows[:, 0] >= 0) & (rows[:, 0] < rows[:, 1])], axis=0)
    parts, of_row, count = np.unique(rows[:, :2], axis=0, return_inverse=True, return_counts=True)
    of_row = of_row.reshape(-1)
    within = np.arange(len(rows)) - (np.cumsum(count) - count)[of_row]
    chosen = within % np.maximum(count // MOST_PLACES, 1)[of_row] == 0
    places = start[corners[rows[chosen, 2]]].mean(axis=1)
    return _Meetings(parts, count, places, of_row[chosen])


class _Neighbours(NamedTuple):
    """Points of a part near places, and how much each tells of the motion of the part there."""

    places: NDArray[np.float64]
    """Shape (m, 3) [m]."""
    points: NDArray[np.float64]
    """Where they start, shape (m, k, 3) [m]."""
    which: NDArray[np.int64]
    """Of all points, shape (m, k)."""
    weight: NDArray[np.float64]
    """Shape (m, k); they sum to 1."""
    distance: NDArray[np.float64]
    """Of the nearest, shape (m,) [m]."""

    @classmethod
    def of(cls, rest, of_point, places, part, asset):
        """For places (m, 3), each in a part (m,), among points that begin at rest (k, 3), each of_point (k,)."""
        which = np.zeros((len(places), NEIGHBOURS), np.int64)
        distance = np.full(which.shape, np.inf)
        for number in np.unique(part):
            own, here = np.flatnonzero(of_point == number), part == number
            found, at = cKDTree(rest[own]).query(places[here], NEIGHBOURS)
            which[here], distance[here] = own[np.minimum(at, len(own) - 1)], found
        weight = 1.0 / (distance**2 + asset.meta["cell_size"] ** 2) ** 2
        weight /= weight.sum(axis=1, keepdims=True)
        return cls(places, rest[which], which, weight, distance[:, 0])

    def carried(self, goals):
        """Where the part would have its places go if all points are led to goals (k, 3), shape (m, 3) [m]."""
        goals, weight = goals[self.which], self.weight[:, None]
        middle, centre = weight @ self.points, weight @ goals
        spread = ((goals - centre) * self.weight[:, :, None]).transpose(0, 2, 1) @ (
            self.points - middle
        )
        u, _, vt = np.linalg.svd(spread)
        u[:, :, 2] *= np.linalg.det(u @ vt)[:, None]
        return centre[:, 0] + np.einsum("mij,mj->mi", u @ vt, self.places - middle[:, 0])


def _groups(meetings, strain, is_held):
    """Group of each part: as few as there can be without two in one that must not be, shape (p,)."""
    group = np.arange(len(is_held))
    apart = [set() for _ in group]  # groups that each must not join
    links = []
    rows = zip(meetings.parts.tolist(), meetings.count.tolist(), strain.tolist(), strict=True)
    for (a, b), count, strained in rows:
        if strained > MOST_STRAIN:
            apart[a].add(b)
            apart[b].add(a)
        else:
            is_free = not (is_held[a] and is_held[b])
            links.append((is_free, -count if is_free else strained, a, b))
    for _, _, a, b in sorted(links):
        kept, gone = sorted((int(group[a]), int(group[b])))
        if kept == gone or gone in apart[kept]:
            continue
        group[group == gone] = kept
        for enemy in apart[gone]:
            apart[enemy].add(kept)
        apart[kept] |= apart[gone]
    return np.unique(group, return_inverse=True)[1]
