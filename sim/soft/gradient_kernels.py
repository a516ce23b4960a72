"""Elements of one kind as arrays, and the deformation gradient at their quadrature points.

At a quadrature point F = sum_a x_a g_a^T, with g_a the rest gradient of the shape function of corner a. Tets have one
point, hexes one or eight. Kernels for 4 and for 8 corners come from one source: the number of corners is a constant
that the compiler unrolls.
"""

from typing import NamedTuple

import numpy as np

from jellycage.sim.maths.matrix3_kernels import determinant
from jellycage.toolkit.compile_kernels import njit_as, njit_called


class ElementBatch(NamedTuple):
    """Elements of one kind, of all bodies of a system."""

    corners: np.ndarray
    """Rows of the system, shape (e, 4) or (e, 8)."""
    slots: np.ndarray
    """Blocks of the matrix, see `MatrixPattern`, shape (e, a, a)."""
    law: np.ndarray
    """Number of each element's material, shape (e,)."""
    parameters: np.ndarray
    """The material's numbers, shape (e, p)."""
    rotation_method: np.ndarray
    """Number of each element's method for rotations, shape (e,)."""
    element: np.ndarray
    """Element of each quadrature point, shape (q,)."""
    gradients: np.ndarray
    """Rest gradients of the shape functions [1/m], shape (q, a, 3)."""
    volumes: np.ndarray
    """Solid that each point stands for [m^3], shape (q,)."""
    modes: np.ndarray
    """Hourglass modes gamma_i of one-point hexes, shape (q, 4, 8); of tets (0, 4, 8)."""
    enhancement: np.ndarray
    """L of them, see `enhancement_kernels`, shape (q, 6, 12) or (0, 6, 12)."""
    is_enhanced: np.ndarray
    """Whether each point has any of it, shape (q,) or (0,)."""


class QuadraturePoints(NamedTuple):
    """What changes at the quadrature points of a batch."""

    rotation: np.ndarray
    """Unit quaternion (w, x, y, z), shape (q, 4): the warm start of the next one."""
    stretch: np.ndarray
    """tr(e) and mean |e_ii| of co-rotated points, shape (q, 2)."""
    collapse_pair: np.ndarray
    """Feature pair 1..7 that collapsed, plus SHRUNK where it shrank, 0 where none did, shape (q,)."""
    degenerate_time: np.ndarray
    """How long the point has been degenerate [s], shape (q,)."""


def gradient_kernel(corners):
    """F of a quadrature point of an element with that many corners."""

    @njit_as(f"deformation_gradient_{corners}", njit_called)
    def deformation_gradient(x, elements, g, e, q):
        """F from differences to the first corner: exact to rounding however far from the origin the body is."""
        n0 = elements[e, 0]
        ox, oy, oz = x[n0, 0], x[n0, 1], x[n0, 2]
        f0 = f1 = f2 = f3 = f4 = f5 = f6 = f7 = f8 = 0.0
        for a in range(1, corners):
            n = elements[e, a]
            dx, dy, dz = x[n, 0] - ox, x[n, 1] - oy, x[n, 2] - oz
            gx, gy, gz = g[q, a, 0], g[q, a, 1], g[q, a, 2]
            f0 += dx * gx
            f1 += dx * gy
            f2 += dx * gz
            f3 += dy * gx
            f4 += dy * gy
            f5 += dy * gz
            f6 += dz * gx
            f7 += dz * gy
            f8 += dz * gz
        return f0, f1, f2, f3, f4, f5, f6, f7, f8

    return deformation_gradient


tet_gradient = gradient_kernel(4)
hex_gradient = gradient_kernel(8)


def volume_kernel(corners, gradient):
    @njit_as(f"determinants_{corners}")
    def determinants(x, elements, g):
        """det F at every quadrature point, shape (q,); elements (e, a), the points g (q, a, 3) of each consecutive."""
        points = g.shape[0] // elements.shape[0]
        out = np.empty(g.shape[0])
        for q in range(g.shape[0]):
            out[q] = determinant(gradient(x, elements, g, q // points, q))
        return out

    return determinants


tet_determinants = volume_kernel(4, tet_gradient)
hex_determinants = volume_kernel(8, hex_gradient)
