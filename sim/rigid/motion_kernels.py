"""Free motion of rigid bodies: where a step would take them if nothing held them, and what they end with.

Thesis 000, section 6.3: a step works on displacements d = (linear, angular), the generalised difference of two poses.
Differs from it: the thesis lets angular displacements persist, which is wrong for bodies that are not balls. Here the
angular momentum persists. With the orientation half-way through the step, R = exp(h w / 2) R_n, it is

    L = R I R^T w,    in the frame of the body at the start:    I u = exp(-h u / 2) R_n^T L,    u = R_n^T w,

which Newton's method solves for u. The rule is symmetric in time and keeps L exactly.
"""

import numpy as np

from sim.rigid.matrix3_kernels import invert3, times3, turn_tensor
from sim.rigid.rotation_kernels import displace, fill_matrix, rotated
from toolkit.compile_kernels import njit_called

GYROSCOPIC_STEPS = 4  # of Newton's method; a slow body needs one


@njit_called
def predict_motion(state, bodies, scratch, gravity, h):
    """Displacements of a free step, and inverse masses and inertias (0 of what does not move) for the constraints."""
    for i in range(state.p.shape[0]):
        if bodies.inverse_mass[i] == 0.0 or state.is_asleep[i]:
            scratch.ease[i] = 0.0
            is_led = bodies.inverse_mass[i] == 0.0
            for k in range(3):
                scratch.linear[i, k] = h * state.v[i, k] if is_led else 0.0
                scratch.angular[i, k] = h * state.w[i, k] if is_led else 0.0
                for m in range(3):
                    scratch.turn_ease[i, k, m] = 0.0
            continue
        scratch.ease[i] = bodies.inverse_mass[i]
        slowed = 1.0 / (1.0 + h * bodies.damping[i, 0])
        for k in range(3):
            scratch.linear[i, k] = h * slowed * (state.v[i, k] + h * gravity[k])
        find_spin(i, state, bodies, scratch, h)


@njit_called
def find_spin(i, state, bodies, scratch, h):
    """The angular displacement of a free step of body i, and its inverse inertia half-way through."""
    q, inertia, inverse = state.q[i], bodies.inertia[i], bodies.inverse_inertia[i]
    work, turned, turn = scratch.work3, scratch.work4[0], scratch.work3[0]
    # The momentum, from the orientation half a step back; then in the body's frame.
    wx, wy, wz = state.w[i, 0], state.w[i, 1], state.w[i, 2]
    work[1, 0, 0], work[1, 0, 1], work[1, 0, 2] = -0.5 * h * wx, -0.5 * h * wy, -0.5 * h * wz
    displace(q, work[1, 0], turned)
    fill_matrix(turned, turn)
    turn_tensor(turn, inertia, work[2])
    slowed = 1.0 / (1.0 + h * bodies.damping[i, 1])
    lx, ly, lz = times3(work[2], slowed * wx, slowed * wy, slowed * wz)
    fill_matrix(q, turn)
    bx = turn[0, 0] * lx + turn[1, 0] * ly + turn[2, 0] * lz
    by = turn[0, 1] * lx + turn[1, 1] * ly + turn[2, 1] * lz
    bz = turn[0, 2] * lx + turn[1, 2] * ly + turn[2, 2] * lz
    ux, uy, uz = times3(inverse, bx, by, bz)
    unit = scratch.work4[1]
    unit[0], unit[1], unit[2], unit[3] = 1.0, 0.0, 0.0, 0.0
    for _ in range(GYROSCOPIC_STEPS):
        work[1, 0, 0], work[1, 0, 1], work[1, 0, 2] = -0.5 * h * ux, -0.5 * h * uy, -0.5 * h * uz
        displace(unit, work[1, 0], turned)
        ex, ey, ez = rotated(turned, bx, by, bz)
        # f = I u - e,    f' = I - h/2 [e]x
        fx, fy, fz = times3(inertia, ux, uy, uz)
        for k in range(3):
            for m in range(3):
                work[2, k, m] = inertia[k, m]
        s = 0.5 * h
        work[2, 0, 1] += s * ez
        work[2, 0, 2] -= s * ey
        work[2, 1, 0] -= s * ez
        work[2, 1, 2] += s * ex
        work[2, 2, 0] += s * ey
        work[2, 2, 1] -= s * ex
        invert3(work[2], work[1])
        dx, dy, dz = times3(work[1], fx - ex, fy - ey, fz - ez)
        ux, uy, uz = ux - dx, uy - dy, uz - dz
        if dx * dx + dy * dy + dz * dz <= 1e-26 * (ux * ux + uy * uy + uz * uz):
            break
    ax, ay, az = rotated(q, ux, uy, uz)
    scratch.angular[i, 0], scratch.angular[i, 1], scratch.angular[i, 2] = h * ax, h * ay, h * az
    # dw by dL: with f as above, R_n f'^-1 exp(-h u / 2) R_n^T.
    fill_matrix(turned, work[2])
    for k in range(3):
        for m in range(3):
            work[3, k, m] = (
                work[1, k, 0] * work[2, 0, m] + work[1, k, 1] * work[2, 1, m] + work[1, k, 2] * work[2, 2, m]
            )  # fmt: skip
    turn_tensor(turn, work[3], scratch.turn_ease[i])


@njit_called
def finish_motion(state, scratch, h):
    """Move every body to its place; velocities are displacements, without what takes overlaps apart, over the step."""
    turned = scratch.work4[0]
    for i in range(state.p.shape[0]):
        for k in range(3):
            state.p[i, k] += scratch.linear[i, k]
            state.v[i, k] = scratch.swift_linear[i, k] / h
            state.w[i, k] = scratch.swift_angular[i, k] / h
        displace(state.q[i], scratch.angular[i], turned)
        length = np.sqrt(turned[0] ** 2 + turned[1] ** 2 + turned[2] ** 2 + turned[3] ** 2)
        for k in range(4):
            state.q[i, k] = turned[k] / length
