"""An interactive page of a surface inside its cage: one HTML file that works offline."""

import os

import numpy as np
from numpy.typing import ArrayLike

from jellycage.toolkit.arrays import as_indices, as_points
from jellycage.toolkit.atomic_file import atomic_file
from jellycage.toolkit.cage.outer_faces import face_edges, outer_faces, triangulated
from jellycage.toolkit.errors import ToolkitError

HIDDEN_AXIS = {"visible": False}


def write_page(
    path: str | os.PathLike,
    vertices: ArrayLike,
    faces: ArrayLike,
    cage_nodes: ArrayLike,
    cage_tets: ArrayLike | None = None,
    cage_hexes: ArrayLike | None = None,
    title: str = "",
) -> None:
    """Write the page, whole or not at all; the plotly script is inside, nothing is downloaded."""
    plotly = _plotly()
    vertices, cage_nodes = as_points(vertices, "vertices"), as_points(cage_nodes, "cage_nodes")
    faces = as_indices(faces, 3, len(vertices), "faces")
    outside = outer_faces(cage_tets, cage_hexes)
    figure = plotly.Figure(
        [
            plotly.Mesh3d(
                **_mesh_arrays(vertices, faces), color="#e2472f", name="surface", flatshading=False
            ),
            plotly.Mesh3d(
                **_mesh_arrays(cage_nodes, triangulated(outside)),
                color="#7fb2dd",
                opacity=0.12,
                name="cage",
                hoverinfo="skip",
            ),
            plotly.Scatter3d(
                **_line_arrays(cage_nodes, face_edges(outside)),
                mode="lines",
                line={"color": "#27435f", "width": 2},
                name="cage edges",
                hoverinfo="skip",
            ),
        ]
    )
    scene = {"xaxis": HIDDEN_AXIS, "yaxis": HIDDEN_AXIS, "zaxis": HIDDEN_AXIS}
    scene |= {"aspectmode": "data", "camera": {"eye": {"x": 1.0, "y": -1.6, "z": 0.7}}}
    figure.update_layout(title=title, scene=scene, margin={"l": 0, "r": 0, "b": 0, "t": 40})
    text = figure.to_html(include_plotlyjs=True, full_html=True, div_id="jellycage")
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _plotly():
    try:
        import plotly.graph_objects
    except ImportError:
        raise ToolkitError(
            'the interactive page needs plotly: pip install "jellycage[view]"'
        ) from None
    return plotly.graph_objects


def _mesh_arrays(points, faces):
    x, y, z = points.T.astype(np.float32)
    i, j, k = faces.T
    return {"x": x, "y": y, "z": z, "i": i, "j": j, "k": k}


def _line_arrays(points, edges):
    """Each edge as two points and a gap."""
    runs = np.full((len(edges), 3, 3), np.nan, dtype=np.float32)
    runs[:, :2] = points[edges]
    x, y, z = runs.reshape(-1, 3).T
    return {"x": x, "y": y, "z": z}
