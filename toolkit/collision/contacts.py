"""Contacts of two posed bodies that overlap: points of one surface, and where they belong on the other.

Thesis 002, section 5.5.4. From each point of a region a ray goes along the region's normal to the other surface. All
rays of a flank are parallel, so contacts of one place do not contradict each other, however rough the surfaces are.
Differs from the thesis: the point is not the centroid, which is beside the surface, but where the ray's line meets
the surface of the same patch nearest to it, so that gaps are those that are seen (the centroid only if there is
none); the thickness of a body is not compared with a threshold, its own surface is always looked at, but for the
patch that the ray comes from.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.arrays import frozen
from jellycage.toolkit.collision.casting_kernels import cast
from jellycage.toolkit.collision.contacts_kernels import (
    Carried,
    Lines,
    Places,
    pair_points,
    place_points,
)
from jellycage.toolkit.collision.posed import Posed
from jellycage.toolkit.collision.regions import Regions, contact_regions

OFFSET = 0.01
"""How far behind its point a ray to the other surface starts, over the square root of the point's area."""
GRAZING = 1e-6
"""Cosine below which a patch is taken to be parallel to its ray, so that rounding does not decide about walls."""


@dataclass(frozen=True, eq=False)
class Contacts:
    """Pairs of points of two bodies that belong together, k of them: one for each patch of either body in each region.

    Both surfaces are covered: sums over contacts of A alone, or of B alone, are integrals over the contact.
    """

    body: NDArray[np.int64]
    """Body whose patch it stands for, shape (k,): 0 A, 1 B. With its patch this is what persists from step to step."""
    point: NDArray[np.int64]
    """Row of that in the points of the regions, shape (k,)."""
    region: NDArray[np.int64]
    """Region, shape (k,)."""
    flank: NDArray[np.int64]
    """Flank of the region, shape (k,): all of one have the same normal."""
    patch: NDArray[np.int64]
    """Patch of A and of B that the points lie in, shape (k, 2)."""
    triangle: NDArray[np.int64]
    """Triangle of the other body that the ray hits, shape (k,)."""
    nodes: NDArray[np.int32]
    """Nodes of the cage of A, and of B, that carry the points, shape (k, 2, 4)."""
    weights: NDArray[np.float64]
    """Their weights, shape (k, 2, 4), sum 1."""
    points: NDArray[np.float64]
    """Point of A and of B [m], shape (k, 2, 3)."""
    normal: NDArray[np.float64]
    """Unit vector from B to A along which they are to part, shape (k, 3)."""
    depth: NDArray[np.float64]
    """How far the point of B is beyond that of A along it [m], shape (k,): the gap with the opposite sign."""
    area: NDArray[np.float64]
    """Area of what is inside of the patch [m^2], shape (k,)."""
    facing: NDArray[np.float64]
    """The part of its vector area along the normal [m^2], shape (k,): over all points of a body in a region with one
    flank it sums up to the length of the region's vector area, whatever the triangles."""

    def __len__(self):
        return len(self.body)


def contact_points(a: Posed, b: Posed, regions: Regions | None = None) -> Contacts:
    """The contacts of two posed closed surfaces; regions: those of `contact_regions`, if they are there already.

    A point has none if its patch does not face the other body [5.5.4.1, both sign conditions], or if the way out of
    the other body leads through the far side of its own. What encloses a body wholly has no such side: all rays count.
    """
    regions = contact_regions(a, b) if regions is None else regions
    rows = [_contacts_of(a, b, regions, side) for side in (0, 1)]
    return Contacts(*(np.concatenate(columns) for columns in zip(*rows, strict=True)))


def _contacts_of(a, b, regions, side):
    """Columns of `Contacts` for the points of one body."""
    own, other = (a, b) if side == 0 else (b, a)
    own_arrays, other_arrays = own.arrays(), other.arrays()
    points, sign = regions.points, 1.0 if side == 0 else -1.0
    rows = np.flatnonzero((points.body == side) & (points.area > 0.0))
    along, vector = sign * regions.flank_normal[regions.flank[rows]], points.vector_area[rows]
    facing = -np.einsum("kx,kx->k", along, vector)
    is_facing = facing > GRAZING * np.sqrt(np.einsum("kx,kx->k", vector, vector))
    rows, along, facing = rows[is_facing], along[is_facing], facing[is_facing]

    area, region = points.area[rows], points.region[rows]
    lines = _lines(own, points, rows, along)
    places = _places(len(rows))
    place_points(own_arrays, _carried(own), lines, places)
    offset = OFFSET * np.sqrt(area)
    hits = _cast(other_arrays, places.at - offset[:, None] * along, along, False)
    kept, hit = np.empty(len(rows), np.int64), _places(len(rows))
    count = pair_points(
        own_arrays,
        other_arrays,
        _carried(other),
        lines,
        places,
        (offset, *hits[1:]),
        region < regions.bounded,
        kept,
        hit,
    )
    kept = kept[:count]
    rows, normal = rows[kept], sign * along[kept]
    first, second = (places, hit) if side == 0 else (hit, places)
    which = (kept, slice(count)) if side == 0 else (slice(count), kept)

    def both(name):
        pair = getattr(first, name)[which[0]], getattr(second, name)[which[1]]
        return np.stack(pair, axis=1)

    at = both("at")
    return (
        np.full(count, side),
        rows,
        region[kept],
        regions.flank[rows],
        both("patch"),
        hits[2][kept],
        both("nodes"),
        both("weights"),
        at,
        normal,
        np.einsum("kx,kx->k", normal, at[:, 1] - at[:, 0]),
        area[kept],
        facing[kept],
    )


def _lines(own, points, rows, along):
    """Lines through the centroids of points, and all that they hit on the points' own body."""
    patch = points.patch[rows]
    centre, reach = points.centre[rows], 2.0 * np.sqrt(own.surface.patch_area[patch])
    hits = _cast(own.arrays(), centre - reach[:, None] * along, along, True)
    return Lines(patch, points.is_whole[rows], centre, along, reach, *hits)


def _cast(arrays, origins, directions, keep_all):
    """(start, hits, triangles) of rays; see `cast`."""
    count = len(origins)
    start, limits, room = np.empty(count + 1, np.int64), np.full(count, np.inf), count
    origins, directions, limits = frozen(origins), frozen(directions), frozen(limits)
    while True:
        room = 8 * room + 8 if keep_all else count
        hits, triangle = np.zeros((room, 4)), np.empty(room, np.int64)
        found = cast(arrays, origins, directions, limits, keep_all, start, hits, triangle)
        if found <= room or not keep_all:
            return start, hits, triangle


def _places(count):
    return Places(
        patch=np.empty(count, np.int64),
        nodes=np.empty((count, 4), np.int32),
        weights=np.empty((count, 4)),
        at=np.empty((count, 3)),
    )


def _carried(posed):
    s = posed.surface
    return Carried(frozen(s.weights), frozen(s.patch_centre))
