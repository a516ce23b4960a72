"""Whether a mesh is open only because corners that should be one lie a hair apart.

Exporters that write a corner per face, each rounded by itself, make such soups. Nothing is merged here: a distance that
is right for one model breaks another, so it is found, tried, and told.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from jellycage.toolkit.mesh.topology import (
    edges_of,
    is_degenerate,
    is_duplicate,
    joined,
    numbered,
)

LEAST, MOST = 1e-8, 1e-4
"""Distances that are tried, as shares of the diagonal of the box: from rounding of single precision upwards."""


def closing_distance(vertices: NDArray[np.float64], faces: NDArray[np.int32]) -> float | None:
    """A power of ten [m] within which corners must be merged to close a mesh without losing a face; None if none does.

    vertices (n, 3) [m], of which bitwise equal ones are welded, faces (f, 3) without repeated corners.
    """
    if not len(faces):
        return None
    edges = edges_of(faces, len(vertices))
    loose = np.unique(edges.ends[edges.count == 1])
    if not len(loose):
        return None
    with np.errstate(over="ignore"):
        diagonal = float(np.linalg.norm(np.ptp(vertices[loose], axis=0)))
    if not 0.0 < diagonal < np.inf:
        return None
    tree = KDTree(vertices[loose])
    first, last = (math.ceil(math.log10(share * diagonal)) for share in (LEAST, MOST))
    for power in range(first, last):
        pairs = loose[tree.query_pairs(10.0**power, output_type="ndarray")]
        vertex, count = numbered(joined(len(vertices), pairs)[0])
        merged = vertex[faces]
        if is_degenerate(merged).any():
            return None  # larger ones swallow even more
        if (edges_of(merged, count).count == 2).all() and not is_duplicate(merged).any():
            return 10.0**power
    return None
