"""The outer faces of bare cages as collision surfaces."""

import numpy as np
import pytest
from beams import beam_hexes, beam_tets

from jellycage.toolkit.collision.cage_surface import cage_surface


@pytest.mark.slow
@pytest.mark.parametrize("build", [beam_tets, beam_hexes])
def test_they_are_closed_and_bound_the_cage(build):
    nodes, elements = (np.array(a) for a in build(2, 3, 4, (1.0, 1.5, 2.0)))
    surface = cage_surface(nodes, elements)
    assert (surface.neighbours >= 0).all()
    corners = surface.posed(nodes)[surface.vertices]
    normals = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert np.linalg.norm(normals, axis=1).sum() == pytest.approx(13.0)
    assert (normals * corners.mean(axis=1)).sum() / 3.0 == pytest.approx(3.0)  # Gauss
    element = elements[surface.tet_parent[surface.patch_tet]]
    assert (np.isin(surface.tets[surface.patch_tet], element)).all()


def test_every_vertex_is_a_node_however_the_cage_is_bent():
    nodes, elements = (np.array(a) for a in beam_hexes(2, 1, 1, (2.0, 1.0, 1.0)))
    surface = cage_surface(nodes, elements)
    bent = nodes + 0.2 * np.random.default_rng(1).normal(size=nodes.shape)
    away = np.linalg.norm(surface.posed(bent)[:, None] - bent, axis=2).min(axis=1)
    assert away.max() < 1e-15
