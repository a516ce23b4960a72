"""Tiny assets for tests, made by hand."""

import numpy as np
from shapes import ball

from jellycage import toolkit
from jellycage.toolkit.asset.asset import Asset


def tet_asset(**changes) -> Asset:
    """A triangle fan of four vertices in two tets, read from a file with one quad and UVs."""
    nodes = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=float) / 3
    vertices = np.array([[0.1, 0.1, 0.1], [0.2, 0.1, 0.1], [0.2, 0.2, 0.1], [0.1, 0.2, 0.1]]) / 3
    values = {
        "surface_vertices": vertices,
        "surface_faces": [[0, 1, 2], [0, 2, 3]],
        "source_vertex": [4, 3, 1, 0],
        "cage_nodes": nodes,
        "cage_tets": [[0, 1, 2, 3], [1, 4, 2, 3]],
        "embed_element": [0, 0, 0, 0],
        "embed_weights": np.full((4, 4), 0.25),
        "smooth_start": [0, 2, 4, 6, 8],
        "smooth_nodes": [0, 4, 1, 2, 3, 4, 0, 1],
        "smooth_weights": np.tile([-0.25, 1.25], 4),
        "element_cell": [7, 2**40],
        "element_piece": [0, 1],
        "cage_fill": [1 / 3, 0.0],
        "cage_centre": [[0.1, 0.1, 0.1], [0.2, 0.2, 0.2]],
        "piece_start": [0, 2, 2],
        "piece_triangles": [0, 1],
        "polygon_start": [0, 4],
        "polygon_vertices": [4, 3, 1, 0],
        "uv": [[0, 0], [1, 0], [1, 1], [0, 1]],
        "uv_index": [0, 1, 2, 3],
        "meta": {"name": "fan", "components": 1, "cell_size": 1 / 3, "bounding": True},
    }
    return Asset(**(values | changes))


def cut_asset() -> Asset:
    """A ball in a few tets, with its collision surface."""
    return toolkit.build_cage(ball(1), resolution=2)


def hex_asset() -> Asset:
    """One triangle in one cube."""
    corners = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1]]
    return Asset(
        surface_vertices=np.full((3, 3), 0.5) + np.eye(3) / 7,
        surface_faces=[[0, 1, 2]],
        source_vertex=[0, 1, 2],
        cage_nodes=np.array([*corners, [0, 1, 1]], dtype=float) / 7,
        cage_hexes=[[0, 1, 2, 3, 4, 5, 6, 7]],
        embed_element=[0, 0, 0],
        embed_weights=np.full((3, 8), 0.125),
        element_cell=[0],
        element_piece=[0],
        cage_fill=[0.5],
        piece_start=[0, 1],
        piece_triangles=[0],
        meta={"name": "cube"},
    )
