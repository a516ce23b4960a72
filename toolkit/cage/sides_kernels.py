"""Which side of the surface borders on the void, where parts of the solid overlap."""

import numpy as np

from jellycage.toolkit.cage.lattice import TET_CORNERS
from jellycage.toolkit.cage.lattice_surface_kernels import cube_of
from jellycage.toolkit.cage.split_rays_kernels import is_crossed, jump_along
from jellycage.toolkit.cage.voxels_kernels import winding_at
from jellycage.toolkit.compile_kernels import njit
from jellycage.toolkit.geometry_kernels import clip_to_tet, clipping_room, tet_planes


@njit
def find_sides(surface, member_start, members, out_side):
    """Which side of each fragment borders on the void: 1 its front, -1 its back, 0 none (solid on both sides).

    The winding number at a point of the fragment is counted from a corner of its tet.
    """
    corners = np.empty((4, 3))
    cube = np.empty(3, np.int64)
    clipping = clipping_room()
    polygon = clipping.polygon
    at = np.empty(3)
    p, faces, shape = surface.points, surface.faces, surface.shape
    line_start, line_r, line_sum = surface.line_start, surface.line_r, surface.line_sum
    for s in range(surface.tets.shape[0]):
        k = cube_of(surface.tets[s], shape, cube)
        parity = (cube[0] + cube[1] + cube[2]) & 1
        for c in range(4):
            for axis in range(3):
                corners[c, axis] = cube[axis] + TET_CORNERS[parity, k, c, axis]
        tet_planes(corners[0], corners[1], corners[2], corners[3], clipping.planes)
        i, j, l = int(corners[0, 0]), int(corners[0, 1]), int(corners[0, 2])  # noqa: E741
        bottom = winding_at(i, j, l, shape, line_start, line_r, line_sum)
        own = members[member_start[s] : member_start[s + 1]]
        for fragment in own:
            a, b, c = faces[surface.fragment_face[fragment]]
            count = clip_to_tet(p[a], p[b], p[c], 0.0, clipping)
            out_side[fragment] = 1
            if count < 3:
                continue
            # The middle of the fragment, and the way to it from the tet's first corner.
            for axis in range(3):
                at[axis] = 0.0
                for n in range(count):
                    at[axis] += polygon[n, axis] / count
            ex, ey, ez = at[0] - corners[0, 0], at[1] - corners[0, 1], at[2] - corners[0, 2]
            winding = bottom
            for other in own:
                face = surface.fragment_face[other]
                u, v, w = faces[face]
                if other != fragment and is_crossed(corners[0], at, p[u], p[v], p[w]):
                    winding += jump_along(surface, face, ex, ey, ez)
            # Outside is one less than inside, and the way came from one of them.
            jump = jump_along(surface, surface.fragment_face[fragment], ex, ey, ez)
            front = winding + jump if jump < 0 else winding
            out_side[fragment] = 1 if front == 0 else (-1 if front == -1 else 0)
