"""A collision surface in one pose of its cage: what queries need, worked out once per pose."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.arrays import as_points, frozen
from jellycage.toolkit.collision.kdop import refitted_dops
from jellycage.toolkit.collision.posed_kernels import PosedArrays, invert_tets, place_vertices


@dataclass(frozen=True, eq=False)
class Posed:
    """A collision surface at given positions of the nodes of its cage."""

    surface: object
    """The collision surface."""
    nodes: NDArray[np.float64]
    """Positions of all nodes of the cage [m], shape (m, 3)."""
    vertices: NDArray[np.float64]
    """Positions of the surface's vertices [m], shape (v, 3)."""
    dops: NDArray[np.float64]
    """14-DOPs of the coarse hierarchy [m], shape (2c - 1, 14); see `kdop`."""
    inverses: NDArray[np.float64]
    """Weights of nodes 0-2 of each tet from x - x3 [1/m], shape (c, 3, 3)."""
    conditions: NDArray[np.float64]
    """How flat each tet is, shape (c,): longest edge from x3 cubed over six volumes; inf if it has none."""

    def arrays(self) -> PosedArrays:
        """The arrays that kernels take, all read-only, so that every query is compiled once."""
        return self._arrays

    @cached_property
    def _arrays(self):
        s = self.surface
        return PosedArrays(
            nodes=self.nodes,
            tets=frozen(s.tets),
            tet_bdop=frozen(s.tet_bdop),
            tet_tree=frozen(s.tet_tree),
            tet_patch_start=frozen(s.tet_patch_start),
            patch_triangle_start=frozen(s.patch_triangle_start),
            patch_weight_area=frozen(s.patch_weight_area),
            triangles=frozen(s.triangles),
            vertices=self.vertices,
            dops=self.dops,
            inverses=self.inverses,
            conditions=self.conditions,
        )


def pose(surface, nodes) -> Posed:
    """A collision surface with the nodes of its cage at given positions [m], shape (m, 3)."""
    nodes = as_points(nodes, "nodes")
    count = len(surface.tets)
    vertices = np.empty((len(surface.weights), 3))
    place_vertices(
        nodes,
        surface.tets,
        surface.tet_patch_start,
        surface.patch_vertex_start,
        surface.weights,
        vertices,
    )
    inverses, conditions = np.empty((count, 3, 3)), np.empty(count)
    invert_tets(nodes, surface.tets, inverses, conditions)
    dops = refitted_dops(nodes, surface.tets, surface.tet_bdop, surface.tet_tree)
    return Posed(
        surface, nodes, frozen(vertices), frozen(dops), frozen(inverses), frozen(conditions)
    )


def weight_areas(patch_triangle_start, faces, weights) -> NDArray[np.float64]:
    """Vector areas of patches in the space of the weights of nodes 0-2 of their tets, shape (p, 3).

    faces (t, 3): rows of weights (v, 4). A pose with the edges D = [x0 - x3, x1 - x3, x2 - x3] has the vector areas
    cof(D) times these: thesis 002, appendix A.4, N_s = cof(F) N_m with F = D D_m^-1, without the stray 1/2 there.
    """
    a, b, c = (weights[faces[:, k], :3] for k in range(3))
    area = 0.5 * np.cross(b - a, c - a)
    return np.add.reduceat(area, patch_triangle_start[:-1], axis=0)
