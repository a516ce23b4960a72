"""The closed curves in which two posed surfaces cross.

Thesis 002, section 5.5.2. Differs from the thesis: segments are joined by what they are, never by where they are. Each
ends where an edge of one body pierces a face of the other, and goes on in the pair with the triangle across that edge.
No grid, no radius; since pairs are exact (`predicates_kernels`) every end has its one successor on closed surfaces.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.collision.curves_kernels import Segments, follow_segments, trace_curves
from jellycage.toolkit.collision.posed import Posed
from jellycage.toolkit.collision.queries import Crossings, intersecting_pairs
from jellycage.toolkit.errors import MeshError


@dataclass(frozen=True, eq=False)
class Curves:
    """Closed curves in which two surfaces cross: counter-clockwise on A about what is inside B, clockwise on B."""

    crossings: Crossings
    """Their segments."""
    start: NDArray[np.int64]
    """CSR rows of the curves in `order`, shape (c+1,)."""
    order: NDArray[np.int64]
    """Segments of one curve after the other, each as they follow, shape (k,)."""
    curve: NDArray[np.int64]
    """Curve of each segment, shape (k,)."""
    vector_area: NDArray[np.float64]
    """Vector area [m^2] of what each bounds on A, along the normal of A, shape (c, 3); on B it is the opposite."""

    def __len__(self):
        return len(self.vector_area)

    def segments(self) -> Segments:
        """The arrays that kernels take."""
        c = self.crossings
        return Segments(c.triangle, c.body, c.edge, c.share, c.ends, self.curve)


def contact_curves(a: Posed, b: Posed, crossings: Crossings | None = None) -> Curves:
    """The closed curves of two closed surfaces; crossings: those of `intersecting_pairs`, if they are there already.

    Raises MeshError where a surface is open.
    """
    found = intersecting_pairs(a, b) if crossings is None else crossings
    found = Crossings(
        *(
            np.ascontiguousarray(array)
            for array in (found.triangle, found.body, found.edge, found.share, found.ends)
        )
    )
    count = len(found)
    following = np.empty(count, np.int64)
    arrays = a.arrays(), b.arrays()
    missing = follow_segments(
        found.triangle, found.body, found.edge, arrays[0].triangles, arrays[1].triangles, following
    )
    if missing:
        raise MeshError(
            f"{missing} of {count} segments in which the surfaces cross end at an edge of one "
            "triangle only; contact regions need closed surfaces"
        )
    curve, order, start = (np.empty(count + extra, np.int64) for extra in (0, 0, 1))
    area = np.empty((count, 3))
    curves = trace_curves(following, found.ends, curve, order, start, area)
    return Curves(found, start[: curves + 1], order, curve, area[:curves])
