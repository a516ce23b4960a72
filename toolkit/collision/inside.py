"""What of two posed surfaces is inside the other body: triangles along the curves, flooded triangles, whole patches.

Thesis 002, section 5.5.3. Differs from the thesis: what is inside is not guessed from the curve's orientation, but
counted in winding numbers along edges from one exact answer for each connected part of the rim, so bodies may overlap
themselves; and parts of a surface that nothing crosses are asked for as well, so a body wholly inside another is
found.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.arrays import frozen
from jellycage.toolkit.collision.bdop import triangle_vertices
from jellycage.toolkit.collision.curves import Curves
from jellycage.toolkit.collision.flood_kernels import (
    Flooded,
    find_shells,
    flood_inwards,
    flood_whole,
)
from jellycage.toolkit.collision.parts_kernels import Pierces, link_loops, link_parts, sort_pierces
from jellycage.toolkit.collision.posed import Posed
from jellycage.toolkit.collision.rim_kernels import (
    Patched,
    Rim,
    find_rim,
    shift_windings,
    spread_windings,
)
from jellycage.toolkit.collision.winding_kernels import wind


@dataclass(frozen=True, eq=False)
class Inside:
    """What of one body's surface is inside the other body: winding number not 0."""

    mesh: Patched
    """The surface."""
    rim: Rim
    """Triangles that the curves pass through."""
    pierces: Pierces
    """Where their edges are pierced."""
    flooded: Flooded
    """All other triangles and patches inside. A patch is either covered whole, or triangle by triangle if it is cut."""
    first_node: int
    """Node of corner 0 of row 0 of the rim; see `flood_kernels`."""
    enclosed: NDArray[np.int64]
    """Pieces that no curve bounds: connected parts of the surface that are wholly inside."""

    @property
    def first_piece(self) -> int:
        """Node of the first piece."""
        return self.first_node + 3 * len(self.rim.triangle)

    @property
    def triangles(self) -> NDArray[np.int64]:
        """Whole triangles inside, of patches that are cut, shape (n,)."""
        return self.flooded.triangles

    @property
    def patches(self) -> NDArray[np.int64]:
        """Whole patches inside, shape (m,)."""
        return self.flooded.patches

    @property
    def triangle_piece(self) -> NDArray[np.int64]:
        """Piece of each of `triangles`, shape (n,)."""
        return self.flooded.label[self.flooded.triangles] - (1 + self.first_piece)

    @property
    def patch_piece(self) -> NDArray[np.int64]:
        """Piece of each of `patches`, shape (m,)."""
        return self.flooded.patch_label[self.flooded.patches] - (1 + self.first_piece)


def flood_both(a: Posed, b: Posed, curves: Curves) -> tuple[Inside, Inside, NDArray[np.int64]]:
    """What of A is inside B, what of B is inside A, and the union-find of all that hangs together."""
    rims = [_rim(posed, curves, side) for side, posed in enumerate((a, b))]
    # Nodes: the curves, then for each body the corners of its rim and no more pieces than those and its shells.
    room = [6 * len(rim.triangle) + len(mesh.patch_neighbour_start) for rim, mesh, *_ in rims]
    parent = np.arange(len(curves) + sum(room))
    first = len(curves)
    sides = []
    for side, (own, other) in enumerate(((a, b), (b, a))):
        sides.append(_flood(own, other, curves, side, rims[side], first, parent))
        first += room[side]
    return *sides, parent


def _rim(posed, curves, side):
    """(rim, mesh, label, patch_label, triangles in the patches that are cut) of one body."""
    s = posed.surface
    mesh = Patched(
        triangles=frozen(s.triangles),
        vertices=posed.vertices,
        patch_triangle_start=frozen(s.patch_triangle_start),
        patch_neighbour_start=frozen(s.patch_neighbour_start),
        patch_neighbours=frozen(s.patch_neighbours),
    )
    label = np.zeros(len(s.triangles), np.int32)
    patch_label = np.zeros(len(s.patch_triangle_start) - 1, np.int32)
    room = len(curves.crossings)
    rim = Rim(*np.empty((4, room), np.int64), *np.empty((3, room, 3), np.int64))
    count, total = find_rim(curves.segments(), side, mesh, label, patch_label, rim)
    return Rim(*(array[:count] for array in rim)), mesh, label, patch_label, total


def _flood(own, other, curves, side, found, first_node, parent):
    rim, mesh, label, patch_label, total = found
    segments, count = curves.segments(), len(rim.triangle)
    firsts = np.empty(count, np.int64)
    groups = spread_windings(rim, mesh, label, firsts)
    shift_windings(rim, _windings(own, other, side, rim.triangle[firsts[:groups]]))

    ends = int(rim.pierced.sum())
    pierces = Pierces(
        start=np.empty(count + 1, np.int64),
        edge=np.empty(ends, np.int64),
        share=np.empty(ends),
        gain=np.empty(ends, np.int64),
        curve=np.empty(ends, np.int64),
    )
    sort_pierces(segments, side, label, rim, pierces)
    link_parts(rim, pierces, first_node, parent)
    link_loops(segments, curves.vector_area, side, mesh, label, rim, first_node, parent)

    seeds, patches = 3 * count, len(patch_label)
    out = Flooded(
        label=label,
        patch_label=patch_label,
        triangles=np.empty(total, np.int64),
        patches=np.empty(patches, np.int64),
        winding=np.empty(seeds + patches, np.int64),
        sum_patch=np.empty(seeds, np.int64),
        sum_piece=np.empty(seeds, np.int64),
        sums=np.empty((seeds, 7)),
        last_sum=np.zeros(patches, np.int32),
    )
    counts = np.empty(4, np.int64)
    flood_inwards(rim, mesh, first_node, parent, out, counts)
    bounded = counts[3]
    shells = np.empty(patches, np.int64)
    shells = shells[: find_shells(mesh, patch_label, shells)]
    winding = _windings(own, other, side, mesh.patch_triangle_start[shells])
    flood_whole(shells, winding, mesh, first_node + 3 * count, out, counts)
    out = out._replace(
        triangles=out.triangles[: counts[0]],
        patches=out.patches[: counts[1]],
        winding=out.winding[: counts[3]],
        sum_patch=out.sum_patch[: counts[2]],
        sum_piece=out.sum_piece[: counts[2]],
        sums=out.sums[: counts[2]],
    )
    return Inside(mesh, rim, pierces, out, first_node, np.arange(bounded, counts[3]))


def _windings(own, other, side, triangles):
    """How often the other body goes around the first corners of triangles, ties as in `intersecting_pairs`.

    There B is shifted by the infinitesimal, which is to shift the points of A the other way.
    """
    winding = np.empty(len(triangles), np.int64)
    if len(triangles):
        corners = triangle_vertices(own.surface.triangles[triangles])
        points = frozen(own.vertices[corners[:, 0]])
        wind(other.arrays(), points, 1 if side == 1 else -1, winding)
    return winding
