"""The deformation gradient of the solid in an element, from that of its corners and its modes, see `enhancement`.

    F~ = F (I + G),   G = y / sqrt(n^2 + |y|^2 / LARGEST^2),   y = L p,   p_i = F^T q_i,   n = |F|^2 / 3

At rest dF~ = dF + L dq. It turns with the body, does not depend on how large the body has grown, and as |G| < LARGEST
it is turned inside out where F is, and nowhere else.
"""

import math

from jellycage.sim.maths.matrix3_kernels import product, squared_size, times, transposed
from jellycage.sim.soft.hourglass_kernels import mode_amplitudes
from jellycage.toolkit.compile_kernels import njit_called

LARGEST = 0.5
"""Bent further than this, an element is folded rather than bent."""
NOTHING = 1e-30


@njit_called
def full(y):
    """The symmetric matrix of (00, 11, 22, 01, 02, 12)."""
    return y[0], y[3], y[4], y[3], y[1], y[5], y[4], y[5], y[2]


@njit_called
def enhancement(x, batch, e, n, f, out_q, out_p):
    """(y, factor) of quadrature point n of an element, G = factor y; and its q_i and p_i, shape (4, 3) each."""
    rows = batch.enhancement
    mode_amplitudes(x, batch.corners, batch.modes, e, n, f, out_q, out_p)
    y0 = y1 = y2 = y3 = y4 = y5 = 0.0
    for i in range(4):
        for c in range(3):
            p, k = out_p[i, c], 3 * i + c
            y0 += rows[n, 0, k] * p
            y1 += rows[n, 1, k] * p
            y2 += rows[n, 2, k] * p
            y3 += rows[n, 3, k] * p
            y4 += rows[n, 4, k] * p
            y5 += rows[n, 5, k] * p
    size = y0 * y0 + y1 * y1 + y2 * y2 + 2.0 * (y3 * y3 + y4 * y4 + y5 * y5)
    grown = squared_size(f) / 3.0
    factor = 1.0 / math.sqrt(grown * grown + size / (LARGEST * LARGEST) + NOTHING)
    return (y0, y1, y2, y3, y4, y5), factor


@njit_called
def enhanced(f, y, factor):
    """F~."""
    g = full(y)
    return product(
        f,
        (
            1.0 + factor * g[0], factor * g[1], factor * g[2],
            factor * g[3], 1.0 + factor * g[4], factor * g[5],
            factor * g[6], factor * g[7], 1.0 + factor * g[8],
        ),
    )  # fmt: skip


@njit_called
def add_enhanced_forces(batch, e, n, f, y, factor, stress, q, out_force):
    """Add the forces by which modes change F~, under the stress dPsi/dF~; returns dPsi/dF."""
    elements, modes, rows, volume = batch.corners, batch.modes, batch.enhancement, batch.volumes[n]
    # F^T P, by what it does along each of the six.
    s = product(transposed(f), stress)
    t0, t1, t2 = s[0], s[4], s[8]
    t3, t4, t5 = s[1] + s[3], s[2] + s[6], s[5] + s[7]
    along = t0 * y[0] + t1 * y[1] + t2 * y[2] + t3 * y[3] + t4 * y[4] + t5 * y[5]
    # d factor = -factor^3 (n dn + y:dy / LARGEST^2)
    shrinking = factor * factor * factor * along
    less = shrinking / (LARGEST * LARGEST)
    t0, t1, t2 = factor * t0 - less * y[0], factor * t1 - less * y[1], factor * t2 - less * y[2]
    t3 = factor * t3 - 2.0 * less * y[3]
    t4 = factor * t4 - 2.0 * less * y[4]
    t5 = factor * t5 - 2.0 * less * y[5]
    g = full(y)
    pulled = product(
        stress,
        (
            1.0 + factor * g[0], factor * g[1], factor * g[2],
            factor * g[3], 1.0 + factor * g[4], factor * g[5],
            factor * g[6], factor * g[7], 1.0 + factor * g[8],
        ),
    )  # fmt: skip
    less = -2.0 / 3.0 * shrinking * squared_size(f) / 3.0
    p0, p1, p2 = pulled[0] + less * f[0], pulled[1] + less * f[1], pulled[2] + less * f[2]
    p3, p4, p5 = pulled[3] + less * f[3], pulled[4] + less * f[4], pulled[5] + less * f[5]
    p6, p7, p8 = pulled[6] + less * f[6], pulled[7] + less * f[7], pulled[8] + less * f[8]
    for i in range(4):
        k = 3 * i
        vx = t0 * rows[n, 0, k] + t1 * rows[n, 1, k] + t2 * rows[n, 2, k]
        vx += t3 * rows[n, 3, k] + t4 * rows[n, 4, k] + t5 * rows[n, 5, k]
        k += 1
        vy = t0 * rows[n, 0, k] + t1 * rows[n, 1, k] + t2 * rows[n, 2, k]
        vy += t3 * rows[n, 3, k] + t4 * rows[n, 4, k] + t5 * rows[n, 5, k]
        k += 1
        vz = t0 * rows[n, 0, k] + t1 * rows[n, 1, k] + t2 * rows[n, 2, k]
        vz += t3 * rows[n, 3, k] + t4 * rows[n, 4, k] + t5 * rows[n, 5, k]
        # dp_i = dF^T q_i + F^T dq_i
        qx, qy, qz = q[i, 0], q[i, 1], q[i, 2]
        p0, p1, p2 = p0 + qx * vx, p1 + qx * vy, p2 + qx * vz
        p3, p4, p5 = p3 + qy * vx, p4 + qy * vy, p5 + qy * vz
        p6, p7, p8 = p6 + qz * vx, p7 + qz * vy, p8 + qz * vz
        fx, fy, fz = times(f, vx, vy, vz)
        for a in range(8):
            m, node = volume * modes[n, i, a], elements[e, a]
            out_force[node, 0] -= m * fx
            out_force[node, 1] -= m * fy
            out_force[node, 2] -= m * fz
    return p0, p1, p2, p3, p4, p5, p6, p7, p8


@njit_called
def find_changes(batch, n, f, y, factor, u, w, out_z, out_changes):
    """U^T dF~ W by every coordinate of the corners, shape (24, 9), G fixed but for what modes change of it."""
    modes, rows, g = batch.modes, batch.enhancement, batch.gradients
    for i in range(4):
        for c in range(3):
            f0, f1, f2 = f[3 * c], f[3 * c + 1], f[3 * c + 2]
            for s in range(6):
                k = 3 * i
                out_z[i, c, s] = factor * (
                    rows[n, s, k] * f0 + rows[n, s, k + 1] * f1 + rows[n, s, k + 2] * f2
                )
    ut, wt = transposed(u), transposed(w)
    left, b = product(ut, f), full(y)
    for a in range(8):
        gx, gy, gz = g[n, a, 0], g[n, a, 1], g[n, a, 2]
        dx, dy, dz = times(b, gx, gy, gz)
        hx, hy, hz = times(wt, gx + factor * dx, gy + factor * dy, gz + factor * dz)
        m0, m1, m2, m3 = modes[n, 0, a], modes[n, 1, a], modes[n, 2, a], modes[n, 3, a]
        for c in range(3):
            change = (
                m0 * out_z[0, c, 0] + m1 * out_z[1, c, 0] + m2 * out_z[2, c, 0] + m3 * out_z[3, c, 0],
                m0 * out_z[0, c, 1] + m1 * out_z[1, c, 1] + m2 * out_z[2, c, 1] + m3 * out_z[3, c, 1],
                m0 * out_z[0, c, 2] + m1 * out_z[1, c, 2] + m2 * out_z[2, c, 2] + m3 * out_z[3, c, 2],
                m0 * out_z[0, c, 3] + m1 * out_z[1, c, 3] + m2 * out_z[2, c, 3] + m3 * out_z[3, c, 3],
                m0 * out_z[0, c, 4] + m1 * out_z[1, c, 4] + m2 * out_z[2, c, 4] + m3 * out_z[3, c, 4],
                m0 * out_z[0, c, 5] + m1 * out_z[1, c, 5] + m2 * out_z[2, c, 5] + m3 * out_z[3, c, 5],
            )  # fmt: skip
            turned = product(product(left, full(change)), w)
            out = out_changes[3 * a + c]
            for i in range(3):
                own = ut[3 * i + c]
                out[3 * i] = turned[3 * i] + own * hx
                out[3 * i + 1] = turned[3 * i + 1] + own * hy
                out[3 * i + 2] = turned[3 * i + 2] + own * hz


@njit_called
def add_enhanced_blocks(slots, e, changes, scaling, even, swap, volume, pushes, out_blocks):
    """Blocks of changes^T H changes times a volume, H in the frames of the changes, see `stretch_modes`."""
    a00, a11, a22, a01, a02, a12 = scaling
    p01, p02, p12 = even
    q01, q02, q12 = swap
    for k in range(24):
        d, h = changes[k], pushes[k]
        h[0] = volume * (a00 * d[0] + a01 * d[4] + a02 * d[8])
        h[4] = volume * (a01 * d[0] + a11 * d[4] + a12 * d[8])
        h[8] = volume * (a02 * d[0] + a12 * d[4] + a22 * d[8])
        h[1], h[3] = volume * (p01 * d[1] + q01 * d[3]), volume * (p01 * d[3] + q01 * d[1])
        h[2], h[6] = volume * (p02 * d[2] + q02 * d[6]), volume * (p02 * d[6] + q02 * d[2])
        h[5], h[7] = volume * (p12 * d[5] + q12 * d[7]), volume * (p12 * d[7] + q12 * d[5])
    for a in range(8):
        for b in range(a, 8):
            slot = slots[e, a, b]
            is_turned = slot < 0  # stored the other way round
            o = 9 * (-slot - 1) if is_turned else 9 * slot
            first, second = (b, a) if is_turned else (a, b)
            for i in range(3):
                for j in range(3):
                    s = 0.0
                    for k in range(9):
                        s += changes[3 * first + i, k] * pushes[3 * second + j, k]
                    out_blocks[o + 3 * i + j] += s
