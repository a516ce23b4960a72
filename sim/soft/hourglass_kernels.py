"""Hourglass control of hexes with one quadrature point, see `hourglass`."""

from typing import NamedTuple

import numpy as np

from jellycage.sim.maths.matrix3_kernels import cofactor, determinant, product, times, transposed
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
    """k [N/m], shape (h,)."""
    form: np.ndarray
    """A [N/m], shape (h, 12, 12)."""
    spans: np.ndarray
    """c_a of the tether at each corner [1/m^2], shape (h, 8): S = sum c_a |x_a - mean x|^2 is 1 at rest."""
    tether: np.ndarray
    """Its stiffness [J], shape (h,): it has the energy tether/2 max(S - TAUT, 0)^2."""


TAUT = 4.0
"""S of a hex of twice its size."""
SQUASHED = 0.5
"""det F of a hex that is propped up, and"""
PROP = 6.0
"""times the stiffness of its tether that it is: energy PROP tether/2 max(SQUASHED - det F, 0)^2."""


@njit_called
def mode_amplitudes(x, elements, modes, e, n, f, out_q, out_p):
    """q_i and p_i = F^T q_i of an element whose modes are those of row n, shape (4, 3) each."""
    n0 = elements[e, 0]
    ft = transposed(f)
    for i in range(4):
        qx = qy = qz = 0.0
        for a in range(1, 8):
            node, m = elements[e, a], modes[n, i, a]
            qx += m * (x[node, 0] - x[n0, 0])
            qy += m * (x[node, 1] - x[n0, 1])
            qz += m * (x[node, 2] - x[n0, 2])
        out_q[i, 0], out_q[i, 1], out_q[i, 2] = qx, qy, qz
        out_p[i, 0], out_p[i, 1], out_p[i, 2] = times(ft, qx, qy, qz)


@njit_called
def tautness(x, elements, spans, e, out_y):
    """S - TAUT of an element, and its corners from their mean, shape (8, 3)."""
    n0 = elements[e, 0]
    total = mx = my = mz = 0.0
    for a in range(8):
        n, c = elements[e, a], spans[e, a]
        for d in range(3):
            out_y[a, d] = x[n, d] - x[n0, d]
        total += c
        mx += c * out_y[a, 0]
        my += c * out_y[a, 1]
        mz += c * out_y[a, 2]
    mx, my, mz = mx / total, my / total, mz / total
    size = 0.0
    for a in range(8):
        out_y[a, 0] -= mx
        out_y[a, 1] -= my
        out_y[a, 2] -= mz
        y = out_y[a]
        size += spans[e, a] * (y[0] * y[0] + y[1] * y[1] + y[2] * y[2])
    return size - TAUT


@njit_called
def add_tether(x, hourglass, e, y, out_force):
    """Energy [J] of the tether of an element; adds its forces [N]. y (8, 3) is scratch."""
    k, elements, spans = hourglass.tether[e], hourglass.corners, hourglass.spans
    if k == 0.0:
        return 0.0
    taut = tautness(x, elements, spans, e, y)
    if taut <= 0.0:
        return 0.0
    for a in range(8):
        pull = 2.0 * k * taut * spans[e, a]
        for d in range(3):
            out_force[elements[e, a], d] -= pull * y[a, d]
    return 0.5 * k * taut * taut


@njit_called
def add_tether_stiffness(x, hourglass, e, y, out_blocks):
    """Add its stiffness, 2 k (S - TAUT) (c_a delta_ab - c_a c_b / sum c) I + 4 k c_a c_b y_a y_b^T, to the blocks.

    S is convex, so no direction is negative.
    """
    k, spans, slots = hourglass.tether[e], hourglass.spans, hourglass.slots
    if k == 0.0:
        return
    taut = tautness(x, hourglass.corners, spans, e, y)
    if taut <= 0.0:
        return
    total = spans[e].sum()
    for a in range(8):
        for b in range(a, 8):
            c = spans[e, a] * spans[e, b]
            if c == 0.0:
                continue
            slot = slots[e, a, b]
            is_turned = slot < 0
            o = 9 * (-slot - 1) if is_turned else 9 * slot
            even = 2.0 * k * taut * ((spans[e, a] if a == b else 0.0) - c / total)
            for i in range(3):
                for j in range(3):
                    outer = y[b, i] * y[a, j] if is_turned else y[a, i] * y[b, j]
                    out_blocks[o + 3 * i + j] += 4.0 * k * c * outer
                out_blocks[o + 4 * i] += even


@njit_called
def add_prop(hourglass, e, f, out_force):
    """Energy [J] of what props an element up, F = f; adds its forces [N]."""
    k = PROP * hourglass.tether[e]
    squashed = SQUASHED - determinant(f)
    if k == 0.0 or squashed <= 0.0:
        return 0.0
    elements, g, c = hourglass.corners, hourglass.gradients, cofactor(f)
    push = k * squashed
    for a in range(8):
        px, py, pz = times(c, g[e, a, 0], g[e, a, 1], g[e, a, 2])
        n = elements[e, a]
        out_force[n, 0] += push * px
        out_force[n, 1] += push * py
        out_force[n, 2] += push * pz
    return 0.5 * push * squashed


@njit_called
def add_prop_stiffness(hourglass, e, f, y, out_blocks):
    """Add k dJ dJ^T, what is never negative of its stiffness, to the blocks. y (8, 3) is scratch."""
    k = PROP * hourglass.tether[e]
    if k == 0.0 or determinant(f) >= SQUASHED:
        return
    g, slots, c = hourglass.gradients, hourglass.slots, cofactor(f)
    for a in range(8):
        y[a, 0], y[a, 1], y[a, 2] = times(c, g[e, a, 0], g[e, a, 1], g[e, a, 2])
    for a in range(8):
        for b in range(a, 8):
            slot = slots[e, a, b]
            is_turned = slot < 0
            o = 9 * (-slot - 1) if is_turned else 9 * slot
            for i in range(3):
                for j in range(3):
                    outer = y[b, i] * y[a, j] if is_turned else y[a, i] * y[b, j]
                    out_blocks[o + 3 * i + j] += k * outer


@njit
def hourglass_energy_and_forces(x, hourglass, out_force):
    """Energy [J] of the hourglass modes, the tether and the prop of every one-point hex; adds the forces [N]."""
    elements, g, modes = hourglass.corners, hourglass.gradients, hourglass.modes
    scale, form = hourglass.scale, hourglass.form
    q, p, push, pull = np.empty((4, 3)), np.empty((4, 3)), np.empty((4, 3)), np.empty((4, 3))
    y = np.empty((8, 3))
    total = 0.0
    for e in range(elements.shape[0]):
        total += add_tether(x, hourglass, e, y, out_force)
        f = hex_gradient(x, elements, g, e, e)
        total += add_prop(hourglass, e, f, out_force)
        mode_amplitudes(x, elements, modes, e, e, f, q, p)
        k = scale[e]
        for i in range(4):
            for d in range(3):
                row = 3 * i + d
                s = 0.0
                for j in range(4):
                    s += (
                        form[e, row, 3 * j] * p[j, 0]
                        + form[e, row, 3 * j + 1] * p[j, 1]
                        + form[e, row, 3 * j + 2] * p[j, 2]
                    )
                pull[i, d] = s
                total += 0.5 * (k * q[i, d] * q[i, d] + p[i, d] * s)
            rx, ry, rz = times(f, pull[i, 0], pull[i, 1], pull[i, 2])
            push[i, 0], push[i, 1], push[i, 2] = (
                k * q[i, 0] + rx,
                k * q[i, 1] + ry,
                k * q[i, 2] + rz,
            )
        for a in range(8):
            n = elements[e, a]
            for i in range(4):
                m = modes[e, i, a]
                # The second part is the stress q_i (A F^T q)_i^T, from the derivative by F.
                c = pull[i, 0] * g[e, a, 0] + pull[i, 1] * g[e, a, 1] + pull[i, 2] * g[e, a, 2]
                out_force[n, 0] -= m * push[i, 0] + c * q[i, 0]
                out_force[n, 1] -= m * push[i, 1] + c * q[i, 1]
                out_force[n, 2] -= m * push[i, 2] + c * q[i, 2]
    return total


@njit
def add_hourglass_stiffness(x, hourglass, out_blocks):
    """Add the stiffness of the modes at fixed F, gamma_ia (k delta_ij I + F A_ij F^T) gamma_jb, tethers and props."""
    elements, slots, g = hourglass.corners, hourglass.slots, hourglass.gradients
    modes, scale, form = hourglass.modes, hourglass.scale, hourglass.form
    turned, half, y = np.empty((4, 4, 9)), np.empty((4, 8, 9)), np.empty((8, 3))
    for e in range(elements.shape[0]):
        add_tether_stiffness(x, hourglass, e, y, out_blocks)
        f = hex_gradient(x, elements, g, e, e)
        add_prop_stiffness(hourglass, e, f, y, out_blocks)
        ft = transposed(f)
        for i in range(4):
            for j in range(i, 4):
                r, c = 3 * i, 3 * j
                a = form[e]
                block = (
                    a[r, c], a[r, c + 1], a[r, c + 2],
                    a[r + 1, c], a[r + 1, c + 1], a[r + 1, c + 2],
                    a[r + 2, c], a[r + 2, c + 1], a[r + 2, c + 2],
                )  # fmt: skip
                block = product(f, product(block, ft))
                for n in range(9):
                    turned[i, j, n] = block[n]
                    turned[j, i, 3 * (n % 3) + n // 3] = block[n]
            for n in range(0, 9, 4):
                turned[i, i, n] += scale[e]
        half[:] = 0.0
        for i in range(4):
            for j in range(4):
                for b in range(8):
                    m = modes[e, j, b]
                    for n in range(9):
                        half[i, b, n] += m * turned[i, j, n]
        for a in range(8):
            for b in range(a, 8):
                slot = slots[e, a, b]
                is_turned = slot < 0  # stored the other way round
                o = 9 * (-slot - 1) if is_turned else 9 * slot
                for n in range(9):
                    s = 0.0
                    for i in range(4):
                        s += modes[e, i, a] * half[i, b, n]
                    out_blocks[o + (3 * (n % 3) + n // 3 if is_turned else n)] += s
