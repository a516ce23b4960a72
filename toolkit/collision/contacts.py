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

from jellycage.toolkit.collision.bdop import triangle_vertices
from jellycage.toolkit.collision.posed import Posed
from jellycage.toolkit.collision.queries import Hits, all_hits, cast_rays
from jellycage.toolkit.collision.regions import Regions, contact_regions

OFFSET = 0.01
"""How far behind its point a ray to the other surface starts, over the square root of the point's area."""
GRAZING = 1e-6
"""Cosine below which a patch is taken to be parallel to its ray, so that rounding does not decide about walls."""
OUTSIDE = 1e-6
"""How far a centroid may be outside of its tet, as a weight; beyond that the patch's own centroid stands for it."""


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
    points, sign = regions.points, 1.0 if side == 0 else -1.0
    rows = np.flatnonzero((points.body == side) & (points.area > 0.0))
    along = sign * regions.flank_normal[regions.flank[rows]]
    vector = points.vector_area[rows]
    facing = -_dots(along, vector)
    is_facing = facing > GRAZING * np.sqrt(_dots(vector, vector))
    rows, along, facing = rows[is_facing], along[is_facing], facing[is_facing]

    patch, offset = points.patch[rows], OFFSET * np.sqrt(points.area[rows])
    lines = _lines(own, patch, points.centre[rows], along)
    nodes, weights, at = _own_points(own, points, rows, lines)
    hits = cast_rays(other, at - offset[:, None] * along, along)
    is_kept = np.isfinite(hits.distance)
    is_kept[is_kept] = _dots(_normals(other, hits.triangle[is_kept]), along[is_kept]) > 0.0
    leaves = lines.leaves(_dots(along, at - points.centre[rows]) + hits.distance - offset)
    is_kept &= ~leaves | (points.region[rows] >= regions.bounded)

    kept = np.flatnonzero(is_kept)
    rows, nodes, weights, at = rows[kept], nodes[kept], weights[kept], at[kept]
    triangle, normal = hits.triangle[kept], sign * along[kept]
    hit_patch, hit_nodes, hit_weights = _stencils(other.surface, triangle, hits.weights[kept])
    hit_at = np.einsum("km,kmx->kx", hit_weights, other.nodes[hit_nodes])

    def both(mine, others):
        return np.stack((mine, others) if side == 0 else (others, mine), axis=1)

    where = both(at, hit_at)
    return (
        np.full(len(rows), side),
        rows,
        points.region[rows],
        regions.flank[rows],
        both(patch[kept], hit_patch),
        triangle,
        both(nodes, hit_nodes),
        both(weights, hit_weights),
        where,
        normal,
        _dots(normal, where[:, 1] - where[:, 0]),
        points.area[rows],
        facing[kept],
    )


@dataclass(frozen=True, eq=False)
class _Lines:
    """Where lines through the centroids of points meet the body that those belong to."""

    hits: Hits
    from_centre: NDArray[np.float64]
    """How far beyond its centroid each hit is [m]."""
    slope: NDArray[np.float64]
    """Whether each hit comes out, above 0, or goes in, below."""
    is_own: NDArray[np.bool_]
    """Whether it is in the patch of the point."""
    reach: NDArray[np.float64]
    """How far from its centroid the surface of a point is looked for [m]."""

    def leaves(self, until):
        """Which lines come out of the body beyond the centroid and before `until`, not through their own patch."""
        found = np.zeros(len(until), bool)
        ray = self.hits.ray
        is_out = (self.slope > 0.0) & ~self.is_own & (self.from_centre > 0.0)
        found[ray[is_out & (self.from_centre < until[ray])]] = True
        return found

    def surface(self):
        """(lines, hits): the hit nearest to the centroid at which a line goes in through its own patch, if any."""
        away = np.abs(self.from_centre)
        near = (self.slope < 0.0) & self.is_own & (away <= self.reach[self.hits.ray])
        hit = np.flatnonzero(near)
        hit = hit[np.lexsort([away[hit], self.hits.ray[hit]])]
        line, first = np.unique(self.hits.ray[hit], return_index=True)
        return line, hit[first]


def _lines(posed, patch, centre, along):
    reach = 2.0 * np.sqrt(posed.surface.patch_area[patch])
    hits = all_hits(posed, centre - reach[:, None] * along, along)
    own = _patches(posed.surface, hits.triangle) == patch[hits.ray]
    slope = _dots(_normals(posed, hits.triangle), along[hits.ray])
    return _Lines(hits, hits.distance - reach[hits.ray], slope, own, reach)


def _own_points(posed, points, rows, lines):
    """(nodes, weights, positions) of points: on the surface where their lines meet it, else their centroids."""
    s, patch = posed.surface, points.patch[rows]
    tet = np.searchsorted(s.tet_patch_start, patch, "right") - 1
    nodes, weights = s.tets[tet], s.patch_centre[patch]
    cut = np.flatnonzero(~points.is_whole[rows] & np.isfinite(posed.conditions[tet]))
    away = points.centre[rows[cut]] - posed.nodes[nodes[cut, 3]]
    first = np.einsum("kij,kj->ki", posed.inverses[tet[cut]], away)
    found = np.column_stack([first, 1.0 - first.sum(axis=1)])
    # Where bodies are turned inside out parts count negative, and centroids may be anywhere.
    is_inner = (found > -OUTSIDE).all(axis=1)
    weights[cut[is_inner]] = found[is_inner]
    line, hit = lines.surface()
    _, _, weights[line] = _stencils(s, lines.hits.triangle[hit], lines.hits.weights[hit])
    return nodes, weights, np.einsum("km,kmx->kx", weights, posed.nodes[nodes])


def _stencils(surface, triangle, corner_weights):
    """(patch, nodes, weights) that carry points in triangles."""
    patch = _patches(surface, triangle)
    tet = np.searchsorted(surface.tet_patch_start, patch, "right") - 1
    corners = surface.weights[triangle_vertices(surface.triangles[triangle])]
    return patch, surface.tets[tet], np.einsum("kc,kcm->km", corner_weights, corners)


def _patches(surface, triangle):
    return np.searchsorted(surface.patch_triangle_start, triangle, "right") - 1


def _dots(one, other):
    return np.einsum("kx,kx->k", one, other)


def _normals(posed, triangles):
    """Normals of triangles, not of unit length."""
    corners = posed.vertices[triangle_vertices(posed.surface.triangles[triangles])]
    return np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
