"""Free motion of rigid bodies: where a step would take them if nothing held them, and what they end with.

Thesis 000, section 6.3: a step works on displacements d = (linear, angular), the generalised difference of two poses.
Differs from it: the thesis lets angular displacements persist, which is wrong for bodies that are not balls. Here the
angular momentum persists. With the orientation half-way through the step, R = exp(h w / 2) R_n, it is

    L = R I R^T w,    in the frame of the body at the start:    I u = exp(-h u / 2) R_n^T L,    u = R_n^T w,

which Newton's method solves for u. The rule is symmetric in time and keeps L exactly.
"""

import numpy as np

from jellycage.sim.maths.matrix3_array_kernels import invert3, times3, turn_tensor
from jellycage.sim.maths.quaternions_kernels import displace, fill_matrix, rotated
from jellycage.toolkit.compile_kernels import njit_called

GYROSCOPIC_STEPS = 4  # of Newton's method; a slow body needs one
GYROSCOPIC_SHARE = 0.5  # of the least inertia, that the gyroscopic part of a mass may have
TAMED_TURN = 1.5  # [rad] that constraints may make of that
MOST_TURN = 1.0  # [rad] per step; what spins faster is slowed to that


@njit_called
def predict_motion(state, bodies, scratch, gravity, h):
    """Displacements of a free step, and inverse masses and inertias (0 of what does not move) for the constraints."""
    for i in range(state.p.shape[0]):
        if bodies.inverse_mass[i] == 0.0 or state.is_asleep[i]:
            scratch.inverse_mass[i] = 0.0
            is_led = bodies.inverse_mass[i] == 0.0
            for k in range(3):
                scratch.linear[i, k] = h * state.v[i, k] if is_led else 0.0
                scratch.angular[i, k] = h * state.w[i, k] if is_led else 0.0
                for m in range(3):
                    scratch.inverse_inertia[i, k, m] = scratch.symmetric_inverse_inertia[
                        i, k, m
                    ] = 0.0
            continue
        scratch.inverse_mass[i] = bodies.inverse_mass[i]
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
    # Newton's method for u of the head of this file, from the spin without the gyroscopic part.
    ux, uy, uz = times3(inverse, bx, by, bz)
    unit = scratch.work4[1]
    unit[0], unit[1], unit[2], unit[3] = 1.0, 0.0, 0.0, 0.0
    ex, ey, ez = bx, by, bz
    for _ in range(GYROSCOPIC_STEPS):
        work[1, 0, 0], work[1, 0, 1], work[1, 0, 2] = -0.5 * h * ux, -0.5 * h * uy, -0.5 * h * uz
        displace(unit, work[1, 0], turned)
        ex, ey, ez = rotated(turned, bx, by, bz)
        # f = I u - e,    f' = I - h/2 [e]x
        fx, fy, fz = times3(inertia, ux, uy, uz)
        for k in range(3):
            for m in range(3):
                work[2, k, m] = inertia[k, m]
        subtract_cross(work[2], 0.5 * h * ex, 0.5 * h * ey, 0.5 * h * ez)
        invert3(work[2], work[1])
        dx, dy, dz = times3(work[1], fx - ex, fy - ey, fz - ez)
        ux, uy, uz = ux - dx, uy - dy, uz - dz
        if dx * dx + dy * dy + dz * dz <= 1e-26 * (ux * ux + uy * uy + uz * uz):
            break
    # Into the world, no faster than one step can bear.
    ax, ay, az = rotated(q, ux, uy, uz)
    angle = h * np.sqrt(ax * ax + ay * ay + az * az)
    s = h * min(1.0, MOST_TURN / angle) if angle > 0.0 else h
    scratch.angular[i, 0], scratch.angular[i, 1], scratch.angular[i, 2] = s * ax, s * ay, s * az
    _fill_inverse_inertia(i, bodies, scratch, ex, ey, ez, h)


@njit_called
def _fill_inverse_inertia(i, bodies, scratch, ex, ey, ez, h):
    """dw by dL of body i in the world: with f as above, R_n f'^-1 exp(-h u / 2) R_n^T.

    work3[0] holds R_n and work4[0] the quaternion of exp(-h u / 2). Where the gyroscopic part would outweigh the
    inertia, Gauss-Seidel would diverge; it is cut back to what it can bear.
    """
    work, inertia = scratch.work3, bodies.inertia[i]
    size = np.sqrt(ex * ex + ey * ey + ez * ez)
    most = GYROSCOPIC_SHARE * bodies.least_inertia[i]
    s = min(0.5 * h, most / size) if size > 0.0 else 0.0
    for k in range(3):
        for m in range(3):
            work[2, k, m] = inertia[k, m]
    subtract_cross(work[2], s * ex, s * ey, s * ez)
    invert3(work[2], work[1])
    fill_matrix(scratch.work4[0], work[2])
    for k in range(3):
        for m in range(3):
            work[3, k, m] = (
                work[1, k, 0] * work[2, 0, m]
                + work[1, k, 1] * work[2, 1, m]
                + work[1, k, 2] * work[2, 2, m]
            )
    turn_tensor(work[0], work[3], scratch.inverse_inertia[i])
    for k in range(3):
        for m in range(3):
            scratch.symmetric_inverse_inertia[i, k, m] = 0.5 * (
                scratch.inverse_inertia[i, k, m] + scratch.inverse_inertia[i, m, k]
            )


@njit_called
def subtract_cross(m, x, y, z):
    """Subtract the matrix of the cross product with (x, y, z), in place."""
    m[0, 1] += z
    m[0, 2] -= y
    m[1, 0] -= z
    m[1, 2] += x
    m[2, 0] += y
    m[2, 1] -= x


@njit_called
def limit_turns(scratch):
    """Shorten angular displacements that have become so large that no Jacobian of the start means anything any more."""
    for i in range(scratch.angular.shape[0]):
        if scratch.inverse_mass[i] == 0.0:
            continue
        x, y, z = scratch.angular[i, 0], scratch.angular[i, 1], scratch.angular[i, 2]
        squared = x * x + y * y + z * z
        if squared > TAMED_TURN * TAMED_TURN:
            s = TAMED_TURN / np.sqrt(squared)
            scratch.angular[i, 0], scratch.angular[i, 1], scratch.angular[i, 2] = (
                s * x,
                s * y,
                s * z,
            )


@njit_called
def finish_motion(state, scratch, h):
    """Move every body to its place; velocities are displacements, without what takes overlaps apart, over the step."""
    turned = scratch.work4[0]
    for i in range(state.p.shape[0]):
        for k in range(3):
            state.p[i, k] += scratch.linear[i, k]
            state.v[i, k] = scratch.velocity_linear[i, k] / h
            state.w[i, k] = scratch.velocity_angular[i, k] / h
        displace(state.q[i], scratch.angular[i], turned)
        length = np.sqrt(turned[0] ** 2 + turned[1] ** 2 + turned[2] ** 2 + turned[3] ** 2)
        for k in range(4):
            state.q[i, k] = turned[k] / length
