"""The rotation in a deformation gradient, one file per method.

A method is a file of kernels with `rotation(f, w, x, y, z)`, which gives the rotation of f as matrix and quaternion
from the quaternion that it had before, and `FOLLOWS_COLLAPSE`: whether collapsed points are noted, see
`degeneration_kernels`.
"""

from jellycage.sim.rotations import dapd_kernels, isvd_kernels

ROTATIONS = {"dapd": dapd_kernels, "isvd": isvd_kernels}
"""Every method by name; its place is its number in kernels."""
