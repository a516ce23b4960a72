"""Errors of joints and rods as bodies are."""

import numpy as np

from jellycage.sim.maths.quaternions_kernels import inverse, multiply, rotated, turn_vector
from jellycage.sim.rigid.joint_angles_kernels import (
    BALL,
    CONE_TWIST,
    FIXED,
    HINGE,
    hinge_error,
    swing_angle,
    twist_angle,
)
from jellycage.sim.rigid.rod_shape_kernels import find_rod_errors
from jellycage.toolkit.compile_kernels import njit


@njit
def measure_joints(state, joints, out):
    """Gap [m] and angle beyond what is allowed [rad] of each joint, shape (j, 2)."""
    fa, fb, turn = np.empty(4), np.empty(4), np.empty(4)
    for j in range(joints.body.shape[0]):
        a, b = joints.body[j, 0], joints.body[j, 1]
        one, two = joints.local_point[j, 0], joints.local_point[j, 1]
        multiply(state.q[a], joints.frame[j, 0], fa)
        multiply(state.q[b], joints.frame[j, 1], fb)
        ax, ay, az = rotated(fa, one[0], one[1], one[2])
        bx, by, bz = rotated(fb, two[0], two[1], two[2])
        x = state.p[b, 0] + bx - state.p[a, 0] - ax
        y = state.p[b, 1] + by - state.p[a, 1] - ay
        z = state.p[b, 2] + bz - state.p[a, 2] - az
        out[j, 0] = np.sqrt(x * x + y * y + z * z)
        multiply(inverse(fa), fb, turn)
        beyond = 0.0
        kind = joints.kind[j]
        if kind == HINGE:
            e1, e2 = hinge_error(turn)
            beyond += np.sqrt(e1 * e1 + e2 * e2)
        if kind == FIXED:
            e0, e1, e2 = turn_vector(turn)
            beyond += np.sqrt(e0 * e0 + e1 * e1 + e2 * e2)
        if kind == CONE_TWIST:
            beyond += max(0.0, swing_angle(turn) - joints.limit[j, 0])
        if kind != BALL and kind != FIXED:
            twist = twist_angle(turn)
            beyond += max(0.0, twist - joints.limit[j, 2], joints.limit[j, 1] - twist)
        out[j, 1] = beyond


@njit
def measure_rods(state, rods, out):
    """Error of the length [m] and angle by which it is no arc or beyond its limits [rad] of each rod, shape (r, 2)."""
    error = np.empty(6)
    for r in range(rods.body.shape[0]):
        a, b = rods.body[r, 0], rods.body[r, 1]
        ends, frames, rest = rods.ends[r], rods.frames[r], rods.rest[r]
        pa, qa, pb, qb = state.p[a], state.q[a], state.p[b], state.q[b]
        psi, _ = find_rod_errors(pa, qa, pb, qb, ends, frames, rest, error)
        out[r, 0] = error[0]
        beyond = max(0.0, psi - rods.limit[r, 0]) + max(0.0, abs(error[5]) - rods.limit[r, 1])
        out[r, 1] = np.sqrt(error[1] ** 2 + error[2] ** 2) + beyond
