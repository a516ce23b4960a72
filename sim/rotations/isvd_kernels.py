"""The rotation of the invertible SVD: found by a warm-started iteration where that is safe, which gives the same."""

from jellycage.sim.maths.matrix3_kernels import determinant
from jellycage.sim.rotations.polar_kernels import polar_rotation
from jellycage.sim.rotations.svd_kernels import svd_rotation
from jellycage.toolkit.compile_kernels import njit_forwarding

FOLLOWS_COLLAPSE = False
ALPHA = 0.1  # an element below this fraction of its rest volume is degenerate


@njit_forwarding
def rotation(f, w, x, y, z):
    """The rotation of f as matrix and quaternion, given the quaternion that it had before."""
    if determinant(f) <= ALPHA:
        return svd_rotation(f)
    return polar_rotation(f, w, x, y, z)
