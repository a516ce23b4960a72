"""Draw docs/collision_surface.png: source, cage, surface cut along the cage, patches (thesis 002, Fig. 5.1).

python docs/draw_collision_surface.py
"""

from pathlib import Path

from jellycage import toolkit
from jellycage.toolkit.cage.outer_faces import face_edges, outer_faces, triangulated
from jellycage.toolkit.picture.picture import (
    CAGE_COLOUR,
    Drawn,
    contact_sheet,
    render,
    render_patches,
    write_png,
)
from jellycage.toolkit.samples import sample_path

SIZE = {"width": 480, "height": 600}
CLAY = (0.42, 0.36, 0.30)


def main():
    """Write the picture beside this script."""
    asset = toolkit.build_cage(toolkit.read_mesh(sample_path()), resolution=9)
    surface = asset.collision
    vertices, cut = surface.joined(asset.cage_nodes)
    outside = outer_faces(asset.cage_tets, None)
    panels = [
        [Drawn(asset.surface_vertices, asset.surface_faces, CLAY)],
        [Drawn(asset.cage_nodes, triangulated(outside), CAGE_COLOUR, edges=face_edges(outside))],
        [Drawn(vertices, cut, CLAY, edges=face_edges(cut))],
    ]
    images = [render(panel, **SIZE) for panel in panels]
    images.append(render_patches(surface, asset.cage_nodes, **SIZE))
    write_png(Path(__file__).parent / "collision_surface.png", contact_sheet(images, 4))


if __name__ == "__main__":
    main()
