"""Where the nodes of a body would go without forces, and the wells that follow from it.

Every implicit step here is one of implicit Euler in some frame, of some length h, from some start: with the velocity w
in the frame at its end, and s and w0 known,

    u = s + h w,    m (w - w0) / h = forces.

Implicit Euler itself is h = dt, s = 0, w0 = v. BDF2 (Gear's method of order two) takes both from where the last two
states point: h = (1 + q) / (1 + 2q) dt, s = q^2 / (1 + 2q) (x - x_before) and w0 = v + q^2 / (1 + 2q) (v - v_before)
after a step of dt / q, so 2/3 dt and 1/3 after one of the same length.

A part that turns is seen from a frame that turns with it, so that neither method can damp its spin. A free rigid body
keeps its angular momentum L while its inertia I turns, so the frame turns by exp(dt omega) with the omega in the middle
of the step, omega = I^-1 L there, and has the spin I^-1 L at its end. Places y about the centre and velocities w that
remain in the frame are those of the deformation alone. Those of the last state are turned along, those of the one
before twice. Where nothing touches a part, its turn is mended after the solve by what its inertia has changed in the
step (`mend_turns`). What the frame adds are the forces of Coriolis and the centrifugal one,

    -m (2 omega x w + omega x (omega x y)),

found from the last states, at the same order as the method; that of its acceleration only turns the part, and is in L.
The displacement u of the solver counts from the nodes as the frame has turned them, so that its matrix is that of the
body in its new orientation, however far it turns.
"""

from typing import NamedTuple

import numpy as np

from jellycage.sim.maths.matrix3_kernels import (
    cross,
    product,
    rotation_by,
    solve_symmetric,
    times,
    transposed,
)
from jellycage.sim.solvers.rigid_motion_kernels import (
    add_rigid_motion,
    angular_sums,
    part_inertia,
    rigid_motion,
)
from jellycage.toolkit.compile_kernels import njit

MOST_MENDED = 0.1  # [rad] by which a turn is mended: more is no error of the method
MIDDLE_ITERATIONS = 4  # in which the spin in the middle of a step is found


class Frames(NamedTuple):
    """Of c parts, during one step. Those that are not turned have no spins."""

    centre: np.ndarray
    """At the start of the step [m], and the mass, shape (c, 4)."""
    velocity: np.ndarray
    """Of the centre [m/s], shape (c, 3)."""
    spin: np.ndarray
    """[rad/s], shape (c, 3)."""
    centre_before: np.ndarray
    """The same a step before, as far as the nodes are known; shape (c, 4), and the next two."""
    velocity_before: np.ndarray
    spin_before: np.ndarray
    turn: np.ndarray
    """Rotation vector by which the frame turns during the step [rad], shape (c, 3)."""
    turn_before: np.ndarray
    """The one before, if it had ended with the spin of now from its start on."""
    spin_after: np.ndarray
    """At the end, if nothing acts on the part [rad/s], shape (c, 3)."""
    gain: np.ndarray
    """What the torques of the last step add to the start w0 of BDF2 [rad/s], shape (c, 3)."""


class Prediction(NamedTuple):
    """Of the n nodes of a body."""

    turned: np.ndarray
    """How far the frame turns the node, from where the displacement counts [m], shape (n, 3)."""
    step: np.ndarray
    """h [s], shape (n,)."""
    drift: np.ndarray
    """s [m], shape (n, 3)."""
    velocity: np.ndarray
    """w0 [m/s], shape (n, 3)."""
    carried: np.ndarray
    """omega x y, what the frame itself does to the node [m/s], shape (n, 3)."""
    load: np.ndarray
    """Forces of the frame [N], shape (n, 3)."""
    ahead: np.ndarray
    """Where the nodes go if they are accelerated as in the last step [m], from where it counts, shape (n, 3)."""
    frames: Frames
    """Of the parts."""


@njit
def forget_fastest(x, v, mass, part, count, fastest, out_is_known):
    """Nothing is known of the nodes of a part of which one moves faster than `fastest` [m/s] against it.

    Nodes with and without a history side by side give each other what they have not.
    """
    centre, velocity, spin = rigid_motion(x, v, mass, part, count)
    moving = v.copy()
    add_rigid_motion(x, centre, velocity, spin, part, -1.0, moving)
    is_slow = np.ones(count, np.bool_)
    for i in range(x.shape[0]):
        speed = moving[i, 0] ** 2 + moving[i, 1] ** 2 + moving[i, 2] ** 2
        is_slow[part[i]] &= speed < fastest * fastest
    for i in range(x.shape[0]):
        out_is_known[i] &= is_slow[part[i]]


@njit
def find_frames(x, v, before, is_known, mass, part, is_free, slowest, fastest, dt):
    """`Frames` of the parts of a body at (x, v); before: x, v, the turns (c, 3) of that step and its length [s].

    is_free: parts that may be turned; of them those are that turn by more than `slowest` and less than `fastest` [rad].
    """
    x_before, v_before, turn_before, dt_before = before
    count = is_free.shape[0]
    centre, velocity, spin = rigid_motion(x, v, mass, part, count)
    centre_before, velocity_before, spin_before = rigid_motion(
        x_before, v_before, mass, part, count
    )
    _, inertia = part_inertia(x, mass, part, count)
    _, inertia_before = part_inertia(x_before, mass, part, count)
    q = dt / dt_before if dt_before > 0.0 else 1.0
    is_whole = np.ones(count, np.bool_)
    for i in range(x.shape[0]):
        is_whole[part[i]] &= is_known[i]
    turn, after, gain = np.zeros((count, 3)), np.zeros((count, 3)), np.zeros((count, 3))
    for c in range(count):
        wx, wy, wz = spin[c, 0], spin[c, 1], spin[c, 2]
        angle = dt * np.sqrt(wx * wx + wy * wy + wz * wz)
        if not is_free[c] or not slowest < angle < fastest:
            spin[c] = spin_before[c] = 0.0
            turn_before[c] = 0.0
            continue
        lx, ly, lz = angular_momentum(inertia[c], spin[c])
        jx = jy = jz = 0.0
        if is_whole[c]:
            bx, by, bz = angular_momentum(inertia_before[c], spin_before[c])
            jx, jy, jz = q * (lx - bx), q * (ly - by), q * (lz - bz)
            tx, ty, tz = solve_symmetric(inertia[c], lx - bx, ly - by, lz - bz)
            turn_before[c, 0] += 0.5 * dt_before * tx
            turn_before[c, 1] += 0.5 * dt_before * ty
            turn_before[c, 2] += 0.5 * dt_before * tz
        for _ in range(MIDDLE_ITERATIONS):
            half = rotation_by(0.5 * dt * wx, 0.5 * dt * wy, 0.5 * dt * wz)
            wx, wy, wz = turned_solution(half, inertia[c], lx, ly, lz)
        turn[c, 0], turn[c, 1], turn[c, 2] = dt * wx, dt * wy, dt * wz
        whole = rotation_by(turn[c, 0], turn[c, 1], turn[c, 2])
        after[c] = turned_solution(whole, inertia[c], lx, ly, lz)
        share = q / (1.0 + 2.0 * q)
        gain[c] = turned_solution(whole, inertia[c], share * jx, share * jy, share * jz)
    return Frames(
        centre,
        velocity,
        spin,
        centre_before,
        velocity_before,
        spin_before,
        turn,
        turn_before,
        after,
        gain,
    )


@njit
def angular_momentum(inertia, spin):
    """I omega, with I as (00, 11, 22, 01, 02, 12)."""
    x, y, z = spin[0], spin[1], spin[2]
    return (
        inertia[0] * x + inertia[3] * y + inertia[4] * z,
        inertia[3] * x + inertia[1] * y + inertia[5] * z,
        inertia[4] * x + inertia[5] * y + inertia[2] * z,
    )


@njit
def turned_solution(turn, inertia, x, y, z):
    """(R I R^T)^-1 (x, y, z)."""
    a, b, c = times(transposed(turn), x, y, z)
    a, b, c = solve_symmetric(inertia, a, b, c)
    return times(turn, a, b, c)


@njit
def predict(x, v, x_before, v_before, is_known, mass, part, dt, dt_before, out):
    """Fill a `Prediction` for dt [s] from (x, v) and, where a node `is_known`, from the state dt_before [s] ago."""
    q = dt / dt_before if dt_before > 0.0 else 1.0
    share, f = q * q / (1.0 + 2.0 * q), out.frames
    for i in range(x.shape[0]):
        c = part[i]
        turn = rotation_by(f.turn[c, 0], f.turn[c, 1], f.turn[c, 2])
        # Place and velocity of the node in the frame, with the axes of the step's end.
        rx, ry, rz = x[i, 0] - f.centre[c, 0], x[i, 1] - f.centre[c, 1], x[i, 2] - f.centre[c, 2]
        tx, ty, tz = cross(f.spin[c, 0], f.spin[c, 1], f.spin[c, 2], rx, ry, rz)
        vx, vy, vz = f.velocity[c, 0], f.velocity[c, 1], f.velocity[c, 2]
        ax, ay, az = times(turn, rx, ry, rz)
        wx, wy, wz = times(turn, v[i, 0] - vx - tx, v[i, 1] - vy - ty, v[i, 2] - vz - tz)
        yx, yy, yz = ax, ay, az
        # Where both are known a step before, Gear's combination, and what they will be at the end.
        h, sx, sy, sz = dt, 0.0, 0.0, 0.0
        qx, qy, qz = wx + vx, wy + vy, wz + vz
        ex, ey, ez = qx, qy, qz
        if is_known[i]:
            h = (1.0 + q) / (1.0 + 2.0 * q) * dt
            earlier = rotation_by(f.turn_before[c, 0], f.turn_before[c, 1], f.turn_before[c, 2])
            both = product(turn, earlier)
            bx = x_before[i, 0] - f.centre_before[c, 0]
            by = x_before[i, 1] - f.centre_before[c, 1]
            bz = x_before[i, 2] - f.centre_before[c, 2]
            tx, ty, tz = cross(
                f.spin_before[c, 0], f.spin_before[c, 1], f.spin_before[c, 2], bx, by, bz
            )
            ux, uy, uz = f.velocity_before[c, 0], f.velocity_before[c, 1], f.velocity_before[c, 2]
            dx, dy, dz = (
                v_before[i, 0] - ux - tx,
                v_before[i, 1] - uy - ty,
                v_before[i, 2] - uz - tz,
            )
            bx, by, bz = times(both, bx, by, bz)
            dx, dy, dz = times(both, dx, dy, dz)
            sx = share * (yx - bx + f.centre[c, 0] - f.centre_before[c, 0])
            sy = share * (yy - by + f.centre[c, 1] - f.centre_before[c, 1])
            sz = share * (yz - bz + f.centre[c, 2] - f.centre_before[c, 2])
            ex += 0.5 * q * (wx - dx + vx - ux)
            ey += 0.5 * q * (wy - dy + vy - uy)
            ez += 0.5 * q * (wz - dz + vz - uz)
            tx, ty, tz = cross(f.gain[c, 0], f.gain[c, 1], f.gain[c, 2], yx, yy, yz)
            qx += share * (wx - dx + vx - ux) + tx
            qy += share * (wy - dy + vy - uy) + ty
            qz += share * (wz - dz + vz - uz) + tz
            yx, yy, yz = yx + q * (yx - bx), yy + q * (yy - by), yz + q * (yz - bz)
            wx, wy, wz = wx + q * (wx - dx), wy + q * (wy - dy), wz + q * (wz - dz)
        out.step[i] = h
        out.turned[i, 0], out.turned[i, 1], out.turned[i, 2] = ax - rx, ay - ry, az - rz
        out.drift[i, 0], out.drift[i, 1], out.drift[i, 2] = sx, sy, sz
        out.velocity[i, 0], out.velocity[i, 1], out.velocity[i, 2] = qx, qy, qz
        out.ahead[i, 0], out.ahead[i, 1], out.ahead[i, 2] = dt * ex, dt * ey, dt * ez
        ox, oy, oz = f.spin_after[c, 0], f.spin_after[c, 1], f.spin_after[c, 2]
        tx, ty, tz = cross(ox, oy, oz, yx, yy, yz)
        out.carried[i, 0], out.carried[i, 1], out.carried[i, 2] = tx, ty, tz
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
def find_velocities(prediction, x, u, mass, part, out_v):
    """Velocities [m/s] in the world at the end of a step with displacements u from the turned nodes x (n, 3)."""
    end, frames = x + u, prediction.frames
    centre, _ = part_inertia(end, mass, part, frames.turn.shape[0])
    for i in range(x.shape[0]):
        c, h = part[i], prediction.step[i]
        rx, ry, rz = end[i, 0] - centre[c, 0], end[i, 1] - centre[c, 1], end[i, 2] - centre[c, 2]
        spin = frames.spin_after[c]
        t = cross(spin[0], spin[1], spin[2], rx, ry, rz)
        for k in range(3):
            out_v[i, k] = (u[i, k] - prediction.drift[i, k]) / h + t[k]


@njit
def mend_turns(frames, x_turned, mass, part, is_untouched, out_x):
    """Turn untouched parts to where their angular momentum takes them; returns how far each part turned (c, 3) [rad].

    x_turned: nodes as the frame turned them; out_x: at the end of the step. The spin is I^-1 L at every moment, where
    velocities of the deformation alone have no angular momentum (Tisserand's axes), so the turn of the step is that of
    the I in its middle; the solve knows only the forces at its end.
    """
    count = is_untouched.shape[0]
    start, inertia = part_inertia(x_turned, mass, part, count)
    end, _ = part_inertia(out_x, mass, part, count)
    middle, change = np.empty_like(out_x), np.empty_like(out_x)
    for i in range(out_x.shape[0]):
        c = part[i]
        for k in range(3):
            a, b = x_turned[i, k] - start[c, k], out_x[i, k] - end[c, k]
            middle[i, k], change[i, k] = 0.5 * (a + b), mass[i] * (b - a)
    centre, between = part_inertia(middle, mass, part, count)
    turned = angular_sums(middle, change, centre, part, count)
    mended, total = np.zeros((count, 3)), frames.turn.copy()
    for c in range(count):
        t = frames.turn[c]
        if t[0] == 0.0 and t[1] == 0.0 and t[2] == 0.0:
            continue
        px, py, pz = solve_symmetric(between[c], turned[c, 0], turned[c, 1], turned[c, 2])
        if is_untouched[c]:
            # dt L in the axes of the end, for the turn is dt I^-1 L, and what the frame turned by half leaves it alone.
            lx, ly, lz = angular_momentum(inertia[c], t)
            wx, wy, wz = solve_symmetric(between[c], lx, ly, lz)
            wx, wy, wz = wx - t[0], wy - t[1], wz - t[2]
            if (wx - px) ** 2 + (wy - py) ** 2 + (wz - pz) ** 2 < MOST_MENDED * MOST_MENDED:
                mended[c, 0], mended[c, 1], mended[c, 2] = wx - px, wy - py, wz - pz
                px, py, pz = wx, wy, wz
        total[c, 0], total[c, 1], total[c, 2] = t[0] + px, t[1] + py, t[2] + pz
    for i in range(out_x.shape[0]):
        c = part[i]
        m = mended[c]
        if m[0] == 0.0 and m[1] == 0.0 and m[2] == 0.0:
            continue
        y = times(
            rotation_by(m[0], m[1], m[2]),
            out_x[i, 0] - end[c, 0],
            out_x[i, 1] - end[c, 1],
            out_x[i, 2] - end[c, 2],
        )
        for k in range(3):
            out_x[i, k] = end[c, k] + y[k]
    return total
