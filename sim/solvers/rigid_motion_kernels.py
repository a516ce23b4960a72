"""How the parts of a body move as a whole: centre, velocity and spin of each, and changes of them."""

import numpy as np

from jellycage.sim.maths.matrix3_kernels import solve_symmetric
from jellycage.toolkit.compile_kernels import njit


@njit
def part_inertia(x, mass, part, count):
    """Mass and centre (c, 4) and inertia (00, 11, 22, 01, 02, 12) about it (c, 6) of each part of a body."""
    centre, inertia = np.zeros((count, 4)), np.zeros((count, 6))
    for i in range(x.shape[0]):
        c = part[i]
        centre[c, 3] += mass[i]
        for k in range(3):
            centre[c, k] += mass[i] * x[i, k]
    for c in range(count):
        for k in range(3):
            centre[c, k] /= centre[c, 3]
    for i in range(x.shape[0]):
        c = part[i]
        rx, ry, rz = x[i, 0] - centre[c, 0], x[i, 1] - centre[c, 1], x[i, 2] - centre[c, 2]
        inertia[c, 0] += mass[i] * (ry * ry + rz * rz)
        inertia[c, 1] += mass[i] * (rx * rx + rz * rz)
        inertia[c, 2] += mass[i] * (rx * rx + ry * ry)
        inertia[c, 3] -= mass[i] * rx * ry
        inertia[c, 4] -= mass[i] * rx * rz
        inertia[c, 5] -= mass[i] * ry * rz
    return centre, inertia


@njit
def angular_sums(x, vector, centre, part, count):
    """sum of r x vector about the centre of each part, shape (c, 3)."""
    out = np.zeros((count, 3))
    for i in range(x.shape[0]):
        c = part[i]
        rx, ry, rz = x[i, 0] - centre[c, 0], x[i, 1] - centre[c, 1], x[i, 2] - centre[c, 2]
        out[c, 0] += ry * vector[i, 2] - rz * vector[i, 1]
        out[c, 1] += rz * vector[i, 0] - rx * vector[i, 2]
        out[c, 2] += rx * vector[i, 1] - ry * vector[i, 0]
    return out


@njit
def rigid_motion(x, v, mass, part, count):
    """Mass and centre (c, 4), velocity (c, 3) [m/s] and spin (c, 3) [rad/s] of each part: those of its momenta."""
    centre, inertia = part_inertia(x, mass, part, count)
    momentum, velocity = np.empty_like(v), np.zeros((count, 3))
    for i in range(x.shape[0]):
        for k in range(3):
            momentum[i, k] = mass[i] * v[i, k]
            velocity[part[i], k] += momentum[i, k]
    spin = angular_sums(x, momentum, centre, part, count)
    for c in range(count):
        for k in range(3):
            velocity[c, k] /= centre[c, 3]
        spin[c] = solve_symmetric(inertia[c], spin[c, 0], spin[c, 1], spin[c, 2])
    return centre, velocity, spin


@njit
def add_rigid_motion(x, centre, velocity, spin, part, scale, out_v):
    """out_v += scale times the rigid motion of each part."""
    for i in range(x.shape[0]):
        c = part[i]
        rx, ry, rz = x[i, 0] - centre[c, 0], x[i, 1] - centre[c, 1], x[i, 2] - centre[c, 2]
        wx, wy, wz = spin[c, 0], spin[c, 1], spin[c, 2]
        out_v[i, 0] += scale * (velocity[c, 0] + wy * rz - wz * ry)
        out_v[i, 1] += scale * (velocity[c, 1] + wz * rx - wx * rz)
        out_v[i, 2] += scale * (velocity[c, 2] + wx * ry - wy * rx)


@njit
def keep_momenta(x, v, x_after, load, mass, part, is_kept, mass_damping, dt, out_v):
    """Give the parts that are kept the momentum and angular momentum that loads (n, 3) [N] leave them after dt [s].

    x, v: before the step; x_after, out_v: after it. Mass damping [1/s] takes its share of both.
    """
    count = is_kept.shape[0]
    centre, _ = part_inertia(x, mass, part, count)
    centre_after, inertia = part_inertia(x_after, mass, part, count)
    momentum = np.zeros((count, 3))
    impulse = np.empty_like(v)
    before, after = np.empty_like(v), np.empty_like(v)
    fading, gain = (1.0 - 0.5 * mass_damping * dt), 1.0 / (1.0 + 0.5 * mass_damping * dt)
    for i in range(x.shape[0]):
        for k in range(3):
            before[i, k], after[i, k] = mass[i] * v[i, k], mass[i] * out_v[i, k]
            impulse[i, k] = gain * dt * load[i, k]
            momentum[part[i], k] += gain * fading * before[i, k] + impulse[i, k] - after[i, k]
    turned = angular_sums(x, before, centre, part, count)
    turning = angular_sums(x_after, impulse, centre_after, part, count)
    missing = angular_sums(x_after, after, centre_after, part, count)
    spin = np.zeros((count, 3))
    for c in range(count):
        for k in range(3):
            missing[c, k] = gain * fading * turned[c, k] + turning[c, k] - missing[c, k]
            momentum[c, k] = momentum[c, k] / centre[c, 3] if is_kept[c] else 0.0
        if is_kept[c]:
            spin[c] = solve_symmetric(inertia[c], missing[c, 0], missing[c, 1], missing[c, 2])
    add_rigid_motion(x_after, centre_after, momentum, spin, part, 1.0, out_v)


@njit
def keep_centres(x, v, v_after, mass, part, is_kept, dt, out_x):
    """Take the parts that are kept to where the mean of their velocities takes their centres in dt [s].

    x, v: before the step; v_after, out_x: after it. Elsewhere they would have another angular momentum.
    """
    strayed, whole = np.zeros((is_kept.shape[0], 3)), np.zeros(is_kept.shape[0])
    for i in range(x.shape[0]):
        c = part[i]
        whole[c] += mass[i]
        for k in range(3):
            ahead = x[i, k] + 0.5 * dt * (v[i, k] + v_after[i, k])
            strayed[c, k] += mass[i] * (ahead - out_x[i, k])
    for i in range(x.shape[0]):
        c = part[i]
        if is_kept[c]:
            for k in range(3):
                out_x[i, k] += strayed[c, k] / whole[c]
