"""Whole patches in a pose, at a cost that does not depend on how many triangles they have.

Thesis 002, section 5.5.3.5 and appendix A.4. The vector area follows the tet's cofactors and is exact. Differs from
the thesis: the area is not that at rest but changes as much as the vector area does, so that it is exact for flat
patches and after rigid motions.
"""

import numpy as np

from jellycage.toolkit.collision.rim_kernels import row_of
from jellycage.toolkit.compile_kernels import njit

CLOSED = 1e-6
"""Vector area over area below which a patch is as good as closed, and keeps its area at rest."""


@njit
def add_patches(patches, region, winding, posed, measures, count, points):
    """Add whole patches, `winding` times each, as rows of `points` from `count` on.

    measures: (patch_centre, patch_area, patch_vector_area) of the surface.
    """
    nodes, tets = posed.nodes, posed.tets
    centre, rest_area, rest_vector = measures
    for n in range(patches.shape[0]):
        p, row = patches[n], count + n
        e = row_of(posed.tet_patch_start, p)
        a, b, c, d = nodes[tets[e, 0]], nodes[tets[e, 1]], nodes[tets[e, 2]], nodes[tets[e, 3]]
        ux, uy, uz = a[0] - d[0], a[1] - d[1], a[2] - d[2]
        vx, vy, vz = b[0] - d[0], b[1] - d[1], b[2] - d[2]
        wx, wy, wz = c[0] - d[0], c[1] - d[1], c[2] - d[2]
        f, g, h = (
            posed.patch_weight_area[p, 0],
            posed.patch_weight_area[p, 1],
            posed.patch_weight_area[p, 2],
        )
        x = f * (vy * wz - vz * wy) + g * (wy * uz - wz * uy) + h * (uy * vz - uz * vy)
        y = f * (vz * wx - vx * wz) + g * (wz * ux - wx * uz) + h * (uz * vx - ux * vz)
        z = f * (vx * wy - vy * wx) + g * (wx * uy - wy * ux) + h * (ux * vy - uy * vx)
        rest = np.sqrt(rest_vector[p, 0] ** 2 + rest_vector[p, 1] ** 2 + rest_vector[p, 2] ** 2)
        scale = 1.0
        if rest > CLOSED * rest_area[p]:
            scale = np.sqrt(x * x + y * y + z * z) / rest
        times = winding[n]
        area = times * scale * rest_area[p]
        points.patch[row], points.region[row], points.is_whole[row] = p, region[n], True
        points.sums[row, 0] = area
        points.sums[row, 1], points.sums[row, 2], points.sums[row, 3] = (
            times * x,
            times * y,
            times * z,
        )
        for k in range(3):
            at = centre[p, 0] * a[k] + centre[p, 1] * b[k] + centre[p, 2] * c[k]
            points.sums[row, 4 + k] = area * (at + centre[p, 3] * d[k])
