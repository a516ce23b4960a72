"""Hourglass control of hexes with one quadrature point, see `elements`."""

from typing import NamedTuple

import numpy as np

from jellycage.sim.maths.matrix3_kernels import IDENTITY, product, times, transposed
from jellycage.sim.soft.gradient_kernels import hex_gradient
from jellycage.toolkit.compile_kernels import njit, njit_called


class Hourglass(NamedTuple):
    """The one-point hexes of a system, in arrays without rows if there are none."""

    corners: np.ndarray
    """Rows of the system, shape (h, 8)."""
    slots: np.ndarray
    """Blocks of the matrix, shape (h, 8, 8)."""
    gradients: np.ndarray
    """Rest gradients at their points [1/m], shape (h, 8, 3)."""
    modes: np.ndarray
    """gamma_i, shape (h, 4, 8)."""
    scale: np.ndarray
    """k_i [N/m], shape (h, 4)."""
    rest: np.ndarray
    """A_i as (00, 11, 22, 01, 02, 12) [N/m], shape (h, 4, 6), or without rows if all are cubes."""


@njit_called
def symmetric_times(m, x, y, z):
    """The symmetric matrix (00, 11, 22, 01, 02, 12) times a vector."""
    return (
        m[0] * x + m[3] * y + m[4] * z,
        m[3] * x + m[1] * y + m[5] * z,
        m[4] * x + m[5] * y + m[2] * z,
    )


@njit
def hourglass_energy_and_forces(x, hourglass, out_force):
    """Energy [J] of the hourglass modes of every one-point hex, see `elements`; adds the forces [N]."""
    elements, g, modes = hourglass.corners, hourglass.gradients, hourglass.modes
    scale, rest = hourglass.scale, hourglass.rest
    total = 0.0
    for e in range(elements.shape[0]):
        n0 = elements[e, 0]
        f = IDENTITY
        if rest.shape[0]:
            f = hex_gradient(x, elements, g, e, e)
        for i in range(4):
            qx = qy = qz = 0.0
            for a in range(1, 8):
                n = elements[e, a]
                m = modes[e, i, a]
                qx += m * (x[n, 0] - x[n0, 0])
                qy += m * (x[n, 1] - x[n0, 1])
                qz += m * (x[n, 2] - x[n0, 2])
            k = scale[e, i]
            total += 0.5 * k * (qx * qx + qy * qy + qz * qz)
            px, py, pz = k * qx, k * qy, k * qz
            hx = hy = hz = 0.0
            if rest.shape[0]:
                bx, by, bz = times(transposed(f), qx, qy, qz)
                hx, hy, hz = symmetric_times(rest[e, i], bx, by, bz)
                total += 0.5 * (bx * hx + by * hy + bz * hz)
                rx, ry, rz = times(f, hx, hy, hz)
                px, py, pz = px + rx, py + ry, pz + rz
            for a in range(8):
                n = elements[e, a]
                m = modes[e, i, a]
                # The second part is the stress q (A F^T q)^T, from the derivative by F.
                c = hx * g[e, a, 0] + hy * g[e, a, 1] + hz * g[e, a, 2]
                out_force[n, 0] -= m * px + c * qx
                out_force[n, 1] -= m * py + c * qy
                out_force[n, 2] -= m * pz + c * qz
    return total


@njit
def add_hourglass_stiffness(x, hourglass, out_blocks):
    """Add the stiffness of the hourglass modes at fixed F, gamma_ia gamma_ib (k_i I + F A_i F^T), to the blocks."""
    elements, slots, g = hourglass.corners, hourglass.slots, hourglass.gradients
    modes, scale, rest = hourglass.modes, hourglass.scale, hourglass.rest
    for e in range(elements.shape[0]):
        f = IDENTITY
        if rest.shape[0]:
            f = hex_gradient(x, elements, g, e, e)
        for i in range(4):
            k = scale[e, i]
            b00, b01, b02, b11, b12, b22 = k, 0.0, 0.0, k, 0.0, k
            if rest.shape[0]:
                m = rest[e, i]
                block = (m[0], m[3], m[4], m[3], m[1], m[5], m[4], m[5], m[2])
                block = product(f, product(block, transposed(f)))
                b00, b01, b02 = b00 + block[0], b01 + block[1], b02 + block[2]
                b11, b12, b22 = b11 + block[4], b12 + block[5], b22 + block[8]
            for a in range(8):
                for b in range(a, 8):
                    slot = slots[e, a, b]
                    o = 9 * slot if slot >= 0 else 9 * (-slot - 1)
                    w = modes[e, i, a] * modes[e, i, b]
                    out_blocks[o] += w * b00
                    out_blocks[o + 4] += w * b11
                    out_blocks[o + 8] += w * b22
                    if rest.shape[0]:
                        out_blocks[o + 1] += w * b01
                        out_blocks[o + 3] += w * b01
                        out_blocks[o + 2] += w * b02
                        out_blocks[o + 6] += w * b02
                        out_blocks[o + 5] += w * b12
                        out_blocks[o + 7] += w * b12
