"""Draw docs/stiffness.png: meshes held at their feet lean over under their weight, in cages of 8, 16 and 24 cells.

python docs/draw_stiffness.py
"""

from pathlib import Path

import numpy as np

from jellycage import sim, toolkit
from jellycage.toolkit.picture.camera import camera_around
from jellycage.toolkit.picture.picture import Drawn, contact_sheet, render, write_png
from jellycage.toolkit.samples import sample_path

FOLDER = sample_path().parent
SIZE = {"width": 400, "height": 420}
RESOLUTIONS = (8, 16, 24)
STIFFNESS = {"gummy_bear": 9e3, "hand": 3.5e4, "creature": 5e4}
"""Young modulus of each over its height [Pa/m]."""


def main():
    """Write the picture beside this script."""
    rows = [leaning(name, factor) for name, factor in STIFFNESS.items()]
    images = [image for row in rows for image in row]
    write_png(Path(__file__).parent / "stiffness.png", contact_sheet(images, len(RESOLUTIONS)))


def leaning(name: str, factor: float):
    """Pictures of one mesh at every resolution, seen by one camera."""
    mesh = toolkit.read_mesh(FOLDER / f"{name}.obj")
    found = [leaned(mesh, factor, resolution) for resolution in RESOLUTIONS]
    points = np.concatenate([vertices for vertices, _ in found])
    camera = camera_around(
        points, direction=(0.0, -1.0, 0.15), aspect=SIZE["width"] / SIZE["height"]
    )
    return [render([Drawn(*shape)], camera=camera, **SIZE) for shape in found]


def leaned(mesh, factor: float, resolution: int):
    """(vertices, faces) of a mesh whose lowest twentieth is held, where weight pulls it sideways and down."""
    asset = toolkit.build_cage(mesh, resolution=resolution, collision=False)
    z = asset.surface_vertices[:, 2] - asset.surface_vertices[:, 2].min()
    feet = sim.surface_points(asset, np.flatnonzero(z < 0.05 * z.max()))
    material = sim.NeoHookean(factor * float(z.max()), 0.45, 1000.0)
    body = sim.SoftBody(asset, material, pins=[sim.Pin(feet)])
    return body.surface(sim.equilibrium(body, gravity=(3.0, 0.0, -3.0)).x), asset.surface_faces


if __name__ == "__main__":
    main()
