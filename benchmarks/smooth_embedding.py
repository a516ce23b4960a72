"""Facets of the barycentric and the smooth embeddings: a fine ball in a coarse cage that is bent, as a table.

    python benchmarks/smooth_embedding.py [--subdivisions 7] [--json smooth.json] [--picture smooth_embedding.png]

After Fig. 5.3 of the thesis on interactive co-rotational FEM. "jump" is how much more the normals of neighbouring
triangles turn where elements meet than on the ball bent exactly: greatest and root mean square. "apart" is the greatest
distance from the surface that collides, and "error" that from the ball bent exactly; both in cells. "build" is the time
that the weights take, the least of three. The picture shows barycentric, MLS and Gaussian side by side.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests")]

from bent_ball import bent, collision_surface, normal_jumps  # noqa: E402
from shapes import ball  # noqa: E402

from jellycage import toolkit  # noqa: E402
from jellycage.toolkit.embedding.smooth_embedding import METHODS, smooth_embedding, smooth_rows  # noqa: E402
from jellycage.toolkit.picture.camera import camera_around  # noqa: E402
from jellycage.toolkit.picture.picture import Drawn, contact_sheet, render, write_png  # noqa: E402

PICTURE_RESOLUTION = 4


def surfaces(asset, x):
    """(name, vertices, seconds to build, nodes per vertex) of each embedding."""
    yield "barycentric", collision_surface(asset, x), 0.0, asset.embed_weights.shape[1]
    for method in METHODS:
        seconds = []
        for _ in range(3):
            began = time.perf_counter()
            where = asset.cage_nodes, asset.elements, asset.embed_element, asset.embed_weights
            rows = smooth_rows(*where, method)
            seconds.append(time.perf_counter() - began)
        y = smooth_embedding(asset, method).positions(x)
        yield method, y, min(seconds), len(rows[1]) / len(y)


def table(subdivisions):
    """One row per cage and embedding."""
    for element in ("tet", "hex"):
        for resolution in (4, 8, 16):
            asset = toolkit.build_cage(
                ball(subdivisions), resolution=resolution, element=element, collision=False
            )
            x, cell = bent(asset.cage_nodes), asset.meta["cell_size"]
            exact, collision = bent(asset.surface_vertices), collision_surface(asset, x)
            for name, y, seconds, nodes in surfaces(asset, x):
                jumps = normal_jumps(asset, y)
                yield {
                    "element": element,
                    "resolution": resolution,
                    "surface": name,
                    "jump_max_deg": float(jumps.max()),
                    "jump_rms_deg": float(np.sqrt((jumps**2).mean())),
                    "apart_cells": float(np.linalg.norm(y - collision, axis=1).max() / cell),
                    "error_cells": float(np.linalg.norm(y - exact, axis=1).max() / cell),
                    "nodes_per_vertex": nodes,
                    "build_seconds": seconds,
                    "vertices": len(y),
                }


def draw(path, subdivisions):
    """The bent ball three times, from the side where the bend is inside."""
    asset = toolkit.build_cage(ball(subdivisions), resolution=PICTURE_RESOLUTION, collision=False)
    x = bent(asset.cage_nodes)
    camera = camera_around(collision_surface(asset, x), aspect=1.0)
    images = [
        render([Drawn(y, asset.surface_faces)], width=480, height=480, camera=camera)
        for _, y, _, _ in surfaces(asset, x)
    ]
    write_png(path, contact_sheet(images, 3))


def main():
    """Print the table, write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--subdivisions", type=int, default=7, help="4**n * 8 triangles")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    print("cage    embedding     jump max    rms [deg]   apart  error [cells]  nodes  build [s]")
    rows = []
    for row in table(options.subdivisions):
        rows.append(row)
        print(
            f"{row['element']} {row['resolution']:2d}  {row['surface']:12s} "
            f"{row['jump_max_deg']:9.2f} {row['jump_rms_deg']:10.3f} "
            f"{row['apart_cells']:9.3f} {row['error_cells']:8.3f} "
            f"{row['nodes_per_vertex']:11.1f} {row['build_seconds']:9.2f}",
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if options.picture:
        draw(options.picture, options.subdivisions)


if __name__ == "__main__":
    main()
