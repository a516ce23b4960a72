"""Where the nodes of a body would go without forces, and the wells that follow from it.

Every implicit step here is one of implicit Euler in some frame, of some length h, from some start: with the velocity w
in the frame at its end, and s and w0 known,

    u = s + h w,    m (w - w0) / h = forces.

Implicit Euler itself is h = dt, s = 0, w0 = v. BDF2 (Gear's method of order two) takes both from where the last two
states point: h = (1 + q) / (1 + 2q) dt, s = q^2 / (1 + 2q) (x - x_before) and w0 = v + q^2 / (1 + 2q) (v - v_before)
after a step of dt / q, so 2/3 dt and 1/3 after one of the same length.

The frame moves with the velocity V of the part and turns with its spin omega, both constant during the step, about the
origin c + V t. States of before are carried into its axes at the end of the step by R = exp(dt omega). That is a mere
change of variables, which costs no accuracy, but a body that flies and spins is at rest in it: neither method can damp
what it does not see. What the frame adds are the forces of Coriolis and the centrifugal one,

    -m (2 omega x w + omega x (omega x y)),

found from the last states, at the same order as the method.
"""

from typing import NamedTuple

import numpy as np

from jellycage.sim.maths.matrix3_kernels import cross, product, rotation_by, times
from jellycage.toolkit.compile_kernels import njit


class Frames(NamedTuple):
    """Of c parts, during one step."""

    centre: np.ndarray
    """c at the start of the step [m], and the mass, shape (c, 4)."""
    velocity: np.ndarray
    """V [m/s], shape (c, 3)."""
    spin: np.ndarray
    """omega [rad/s], shape (c, 3)."""


class Prediction(NamedTuple):
    """Of the n nodes of a body."""

    step: np.ndarray
    """h [s], shape (n,)."""
    drift: np.ndarray
    """s [m], shape (n, 3)."""
    velocity: np.ndarray
    """w0 [m/s], shape (n, 3)."""
    carried: np.ndarray
    """V + omega x y, what the frame itself does to the node [m/s], shape (n, 3)."""
    load: np.ndarray
    """Forces of the frame [N], shape (n, 3)."""


@njit
def predict(x, v, x_before, v_before, is_known, mass, part, frames, dt, dt_before, out):
    """Fill a `Prediction` for dt [s] from (x, v) and, where a node `is_known`, from the state dt_before [s] ago."""
    q = dt / dt_before if dt_before > 0.0 else 1.0
    share = q * q / (1.0 + 2.0 * q)
    for i in range(x.shape[0]):
        c = part[i]
        ox, oy, oz = frames.spin[c, 0], frames.spin[c, 1], frames.spin[c, 2]
        vx, vy, vz = frames.velocity[c, 0], frames.velocity[c, 1], frames.velocity[c, 2]
        turn = rotation_by(dt * ox, dt * oy, dt * oz)
        # Place and velocity of the node in the frame, with the axes of the step's end.
        rx = x[i, 0] - frames.centre[c, 0]
        ry = x[i, 1] - frames.centre[c, 1]
        rz = x[i, 2] - frames.centre[c, 2]
        tx, ty, tz = cross(ox, oy, oz, rx, ry, rz)
        yx, yy, yz = times(turn, rx, ry, rz)
        wx, wy, wz = times(turn, v[i, 0] - vx - tx, v[i, 1] - vy - ty, v[i, 2] - vz - tz)
        # Where both are known a step before, Gear's combination, and what they will be at the end.
        h, px, py, pz, qx, qy, qz = dt, yx, yy, yz, wx, wy, wz
        if is_known[i]:
            h = (1.0 + q) / (1.0 + 2.0 * q) * dt
            both = product(turn, rotation_by(dt_before * ox, dt_before * oy, dt_before * oz))
            bx = x_before[i, 0] - frames.centre[c, 0] + dt_before * vx
            by = x_before[i, 1] - frames.centre[c, 1] + dt_before * vy
            bz = x_before[i, 2] - frames.centre[c, 2] + dt_before * vz
            tx, ty, tz = cross(ox, oy, oz, bx, by, bz)
            dx, dy, dz = (
                v_before[i, 0] - vx - tx,
                v_before[i, 1] - vy - ty,
                v_before[i, 2] - vz - tz,
            )
            bx, by, bz = times(both, bx, by, bz)
            dx, dy, dz = times(both, dx, dy, dz)
            px, py, pz = yx + share * (yx - bx), yy + share * (yy - by), yz + share * (yz - bz)
            qx, qy, qz = wx + share * (wx - dx), wy + share * (wy - dy), wz + share * (wz - dz)
            yx, yy, yz = yx + q * (yx - bx), yy + q * (yy - by), yz + q * (yz - bz)
            wx, wy, wz = wx + q * (wx - dx), wy + q * (wy - dy), wz + q * (wz - dz)
        out.step[i] = h
        out.drift[i, 0], out.drift[i, 1] = px - rx + dt * vx, py - ry + dt * vy
        out.drift[i, 2] = pz - rz + dt * vz
        out.velocity[i, 0], out.velocity[i, 1], out.velocity[i, 2] = qx, qy, qz
        tx, ty, tz = cross(ox, oy, oz, yx, yy, yz)
        out.carried[i, 0], out.carried[i, 1], out.carried[i, 2] = vx + tx, vy + ty, vz + tz
        cx, cy, cz = cross(ox, oy, oz, 2.0 * wx + tx, 2.0 * wy + ty, 2.0 * wz + tz)
        m = mass[i]
        out.load[i, 0], out.load[i, 1], out.load[i, 2] = -m * cx, -m * cy, -m * cz


@njit
def find_wells(prediction, mass, mass_damping, drag, wind, out_weight, out_centre):
    """Weights [N/m] and centres [m] of `Increment`, for inertia, mass damping [1/s] and drag (n,) [N s/m] in a wind."""
    for i in range(mass.shape[0]):
        h, m = prediction.step[i], mass[i]
        slowed = mass_damping * m + drag[i]
        weight = (m / h + slowed) / h
        out_weight[i] = weight
        for k in range(3):
            rate = prediction.drift[i, k] / h
            pull = m * (rate + prediction.velocity[i, k]) / h
            pull += slowed * (rate - prediction.carried[i, k]) + drag[i] * wind[k]
            out_centre[i, k] = pull / weight


@njit
def find_velocities(prediction, frames, x, u, part, dt, out_v):
    """Velocities [m/s] in the world at the end of a step from x with displacements u (n, 3)."""
    for i in range(x.shape[0]):
        c, h = part[i], prediction.step[i]
        rx = x[i, 0] + u[i, 0] - frames.centre[c, 0] - dt * frames.velocity[c, 0]
        ry = x[i, 1] + u[i, 1] - frames.centre[c, 1] - dt * frames.velocity[c, 1]
        rz = x[i, 2] + u[i, 2] - frames.centre[c, 2] - dt * frames.velocity[c, 2]
        t = cross(frames.spin[c, 0], frames.spin[c, 1], frames.spin[c, 2], rx, ry, rz)
        for k in range(3):
            w = (u[i, k] - prediction.drift[i, k]) / h
            out_v[i, k] = w + frames.velocity[c, k] + t[k]
