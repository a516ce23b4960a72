"""Contact regions: what of A is inside B and what of B is inside A, joined where they share curves.

Thesis 002, sections 5.5.3-5.5.5. Each region bounds a volume that both bodies claim. The vector area of its curves is
that of its surface in A, and the opposite of that in B; it is the direction in which to part the bodies, and the best
one, since the volume changes at that rate [property (d) in 5.5.4.1]. It is made of points, one for what is inside of
each patch. Differs from the thesis: the inner parts of one patch in one region are one point, not several, since they
act on the same four nodes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.arrays import frozen
from jellycage.toolkit.collision.curves import Curves, contact_curves
from jellycage.toolkit.collision.flanks import flanks_of
from jellycage.toolkit.collision.inside import Inside, flood_both
from jellycage.toolkit.collision.parts_kernels import (
    Points,
    add_flooded,
    measure_rim,
    number_regions,
)
from jellycage.toolkit.collision.posed import Posed
from jellycage.toolkit.collision.queries import closest_points
from jellycage.toolkit.collision.whole_kernels import add_patches


@dataclass(frozen=True, eq=False)
class RegionPoints:
    """What is inside of each patch in each region, on both bodies: first those of A."""

    body: NDArray[np.int64]
    """0 for patches of A, 1 for those of B, shape (n,)."""
    patch: NDArray[np.int64]
    """Patch of that body, shape (n,)."""
    region: NDArray[np.int64]
    """Region, shape (n,)."""
    is_whole: NDArray[np.bool_]
    """Whether all of the patch is inside, shape (n,)."""
    area: NDArray[np.float64]
    """Area [m^2], shape (n,). That of a whole patch is its area at rest times the change of its vector area, between
    s3/s1 and s1/s3 of the true one, for s1 and s3 the greatest and least stretch of its tet; exact if it is flat."""
    vector_area: NDArray[np.float64]
    """Vector area [m^2], outwards, shape (n, 3)."""
    centre: NDArray[np.float64]
    """Centroid [m], shape (n, 3). That of a whole patch is the one at rest carried along, off by no more than
    (k - 1) / (k + 1) of its diameter, k^2 = s1/s3."""

    def __len__(self):
        return len(self.body)


@dataclass(frozen=True, eq=False)
class Regions:
    """Regions that two bodies share, r of them; those that curves bound come first."""

    curves: Curves
    """Their curves."""
    curve_region: NDArray[np.int64]
    """Region of each curve, shape (c,)."""
    inside: tuple[Inside, Inside]
    """Triangles and patches: of A inside B, of B inside A."""
    piece_region: tuple[NDArray[np.int64], NDArray[np.int64]]
    """Region of the pieces of either."""
    vector_area: NDArray[np.float64]
    """Vector area [m^2] of what of A is inside, from the curves alone, shape (r, 3); on B it is the opposite."""
    normal: NDArray[np.float64]
    """Unit vector from B to A along which to part them, shape (r, 3): against the vector area. Of a part of a body that
    is wholly inside the other: the way from its centroid to the nearest point of the surface. 0 if there is none."""
    points: RegionPoints
    """What they are made of."""
    flank: NDArray[np.int64]
    """Flank of each point, shape (n,); see `flanks`."""
    flank_region: NDArray[np.int64]
    """Region of each flank, shape (f,)."""
    flank_normal: NDArray[np.float64]
    """Unit vector from B to A along which to part what belongs to a flank, shape (f, 3)."""
    bounded: int
    """How many regions curves bound; in the others a part of one body is wholly inside the other."""

    def __len__(self):
        return len(self.normal)

    @property
    def area(self) -> NDArray[np.float64]:
        """Area [m^2] of what of A and of B is inside, shape (r, 2); what a body encloses k times counts k times."""
        return self._sums(self.points.area)

    @property
    def centre(self) -> NDArray[np.float64]:
        """Centroids [m] of those, shape (r, 2, 3); nan where there is nothing."""
        points, area = self.points, self.area
        sums = [self._sums(points.area * points.centre[:, k]) for k in range(3)]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.stack(sums, axis=-1) / area[..., None]

    @property
    def surface_vector_area(self) -> NDArray[np.float64]:
        """Vector areas [m^2], outwards, of what is inside of A and of B, from their points, shape (r, 2, 3)."""
        return np.stack([self._sums(self.points.vector_area[:, k]) for k in range(3)], axis=-1)

    def _sums(self, values):
        key = 2 * self.points.region + self.points.body
        return np.bincount(key, values, minlength=2 * len(self)).reshape(-1, 2)


def contact_regions(a: Posed, b: Posed, curves: Curves | None = None) -> Regions:
    """The regions of two posed closed surfaces; curves: those of `contact_curves`, if they are there already.

    What is inside is exact: the same as the winding number of every triangle that does not cross. Where a body overlaps
    itself what it goes around k times counts k times, and -1 times where it is turned inside out.
    """
    curves = contact_curves(a, b) if curves is None else curves
    first, second, parent = flood_both(a, b, curves)
    inside, count = (first, second), len(curves)
    enclosed = np.concatenate([i.first_piece + i.enclosed for i in inside])
    region = np.empty(len(parent), np.int64)
    regions = number_regions(parent, count, enclosed, region)
    rows = [_points(posed, curves, k, inside[k], region) for k, posed in enumerate((a, b))]
    points = RegionPoints(*(np.concatenate(columns) for columns in zip(*rows, strict=True)))

    bounded = regions - len(enclosed)
    vector = np.zeros((regions, 3))
    for k in range(3):
        vector[:bounded, k] = np.bincount(
            region[:count], curves.vector_area[:, k], minlength=bounded
        )
    normal = unit(-vector)
    for r in range(bounded, regions):
        normal[r] = _way_out(points, r, (a, b))
    flank, flank_region, flank_normal = flanks_of(
        points.region, points.body, points.vector_area, normal
    )
    return Regions(
        curves=curves,
        curve_region=region[:count],
        inside=inside,
        piece_region=tuple(
            region[i.first_piece : i.first_piece + len(i.flooded.winding)] for i in inside
        ),
        vector_area=vector,
        normal=normal,
        points=points,
        flank=flank,
        flank_region=flank_region,
        flank_normal=flank_normal,
        bounded=bounded,
    )


def unit(vectors) -> NDArray[np.float64]:
    """Vectors of length 1, or 0 for those without a length, shape (n, 3)."""
    length = np.sqrt(np.einsum("nx,nx->n", vectors, vectors))[:, None]
    return np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0.0)


def _points(posed, curves, side, inside, region):
    """Columns of `RegionPoints` of one body."""
    s, flooded = posed.surface, inside.flooded
    patches = len(flooded.patches)
    room = len(flooded.sum_patch) + len(curves.crossings) + patches
    points = Points(
        patch=np.empty(room, np.int64),
        region=np.empty(room, np.int64),
        is_whole=np.empty(room, np.bool_),
        sums=np.empty((room, 7)),
        last=np.zeros(len(flooded.patch_label), np.int64),
        previous=np.empty(room, np.int64),
    )
    count = measure_rim(
        curves.segments(),
        side,
        inside.mesh,
        flooded.label,
        inside.rim,
        inside.pierces,
        region,
        inside.first_node,
        points,
    )
    count = add_flooded(flooded, inside.first_piece, region, count, points)
    piece = inside.patch_piece
    measures = frozen(s.patch_centre), frozen(s.patch_area), frozen(s.patch_vector_area)
    add_patches(
        flooded.patches,
        region[inside.first_piece + piece],
        flooded.winding[piece],
        posed.arrays(),
        measures,
        count,
        points,
    )
    rows = slice(count + patches)
    sums = points.sums[rows]
    area = sums[:, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = sums[:, 4:] / area[:, None]
    body = np.full(len(area), side)
    return (
        body, points.patch[rows], points.region[rows], points.is_whole[rows], area, sums[:, 1:4], centre
    )  # fmt: skip


def _way_out(points, region, bodies):
    """From B to A, the way from the centroid of what is wholly inside to the nearest point of the other surface."""
    rows = np.flatnonzero(points.region == region)
    area, side = points.area[rows], int(points.body[rows[0]])
    if area.sum() == 0.0:
        return np.zeros(3)
    centre = area @ points.centre[rows] / area.sum()
    away = unit(closest_points(bodies[1 - side], centre[None]).points - centre)[0]
    return away if side == 0 else -away
