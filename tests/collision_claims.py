"""What a collision surface promises, measured from the asset alone."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Claims:
    """Measures of one collision surface; see `measure`."""

    area_error: float
    """Of the total area, relative."""
    vector_error: float
    """Of the sum of vector areas, relative to the total area."""
    least_share: float
    """Area of the smallest triangle / area of its source triangle."""
    open_edges: int
    """Edges without a triangle across that runs through the same two vertices the other way."""
    outside: float
    """Greatest negative weight, or weight sum off 1."""
    apart: float
    """Greatest distance between copies of a border vertex under random node positions: must be exactly 0."""
    off_source: float
    """Greatest distance of a corner from its place on its source triangle, relative to the size."""


def measure(asset, seed=0) -> Claims:
    """Everything that the cut surface of an asset promises, as numbers."""
    surface = asset.collision
    nodes = asset.cage_nodes
    x = posed(surface, nodes)
    corners = x[surface.vertices]
    is_real = surface.source_face >= 0
    source = asset.surface_vertices[asset.surface_faces]
    wanted, got = vector_areas(source), vector_areas(corners)
    area, piece = np.linalg.norm(wanted, axis=1), np.linalg.norm(got, axis=1)
    of = surface.source_face[is_real]
    has_area = area[of] > 0.0
    share = (piece[is_real][has_area] / area[of][has_area]).min()
    weights = np.concatenate(
        [surface.source_weights, 1.0 - surface.source_weights.sum(axis=2, keepdims=True)], axis=2
    )[is_real]
    places = np.einsum("tck,tkx->tcx", weights, source[of])
    size = np.ptp(asset.surface_vertices, axis=0).max()
    moved = np.random.default_rng(seed).normal(size=nodes.shape) * size
    return Claims(
        area_error=abs(piece[is_real].sum() / area.sum() - 1.0),
        vector_error=np.linalg.norm(got[is_real].sum(axis=0) - wanted.sum(axis=0)) / area.sum(),
        least_share=share,
        open_edges=open_edges(surface),
        outside=max(-surface.weights.min(), np.abs(surface.weights.sum(axis=1) - 1.0).max()),
        apart=spread(posed(surface, moved), surface.vertex_number),
        off_source=np.abs(places - corners[is_real]).max() / size,
    )


def posed(surface, nodes):
    """Positions of all vertices, summed in the order of the nodes."""
    corners = nodes[surface.tets[surface.vertex_tet]]
    w = surface.weights[:, :, None]
    return ((w[:, 0] * corners[:, 0] + w[:, 1] * corners[:, 1]) + w[:, 2] * corners[:, 2]) + w[
        :, 3
    ] * corners[:, 3]


def vector_areas(corners):
    """Half the cross products of triangles, shape (t, 3)."""
    return np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) / 2.0


def open_edges(surface) -> int:
    """Edges whose neighbour is missing, does not point back, or does not run the other way."""
    number = surface.vertex_number[surface.vertices]
    across = surface.neighbours
    triangle, edge = np.nonzero(np.ones(across.shape, bool))
    other = across[triangle, edge]
    start, end = number[triangle, edge], number[triangle, (edge + 1) % 3]
    is_twin = (
        (across[other] == triangle[:, None])
        & (number[other] == end[:, None])
        & (np.roll(number[other], -1, axis=1) == start[:, None])
    )
    return int(((other < 0) | ~is_twin.any(axis=1)).sum())


def spread(x, number) -> float:
    """Greatest difference between rows with one number."""
    low = np.full((number.max() + 1, 3), np.inf)
    high = -low
    np.minimum.at(low, number, x)
    np.maximum.at(high, number, x)
    return float((high - low).max())
