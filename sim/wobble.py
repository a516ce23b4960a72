"""A demonstration: the sample bear, its feet held, is pushed and wobbles; a picture of eight moments.

python -m sim.wobble [wobble.png]
"""

import sys

import numpy as np

import toolkit
from sim import NeoHookean, Pin, Scene, SoftBody, simulate, surface_points
from toolkit.camera import camera_around
from toolkit.picture import Shape, contact_sheet, render, write_png
from toolkit.samples import sample_path

SAG = 0.1  # of its height under its own weight
MOMENTS = (0, 2, 4, 6, 8, 11, 14, 40)  # frames in the picture


def wobbling_bear(resolution: int = 12) -> Scene:
    """The bear with its feet held, pushed sideways by three times its height per second."""
    asset = toolkit.build_cage(toolkit.read_mesh(sample_path()), resolution=resolution)
    vertices = asset.surface_vertices
    height = float(np.ptp(vertices[:, 2]))
    feet = np.flatnonzero(vertices[:, 2] < vertices[:, 2].min() + 0.06 * height)
    density = 1000.0
    # Self-weight strain is about rho g L / 2E.
    jelly = NeoHookean(density * 9.81 * height / (2.0 * SAG), 0.45, density)
    push = np.array([3.0, 0.0, 0.0]) * height
    body = SoftBody(
        asset, jelly, pins=[Pin(surface_points(asset, feet))], velocity=push, stiffness_damping=0.01
    )
    return Scene([body])


def picture(simulation, frames) -> np.ndarray:
    """Some frames side by side, seen from the front."""
    asset = simulation.scene.bodies[0].asset
    surfaces = [simulation.surface(frame) for frame in frames]
    width, height = 360, 420
    camera = camera_around(np.concatenate(surfaces), aspect=width / height)
    images = [
        render([Shape(surface, asset.surface_faces)], width=width, height=height, camera=camera)
        for surface in surfaces
    ]
    return contact_sheet(images, 4)


def main(path: str = "wobble.png") -> None:
    """Simulate, draw, and say what was done."""
    scene = wobbling_bear()
    simulation = simulate(scene, frames=max(MOMENTS), fps=24)
    write_png(path, picture(simulation, MOMENTS))
    elements = len(scene.bodies[0].elements.corners)
    print(f"{max(MOMENTS)} frames of a bear of {elements} tets; wrote {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
