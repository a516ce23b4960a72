"""Joints: two points that coincide, and rules for how the two bodies may be turned.

Thesis 000, sections 6.4-6.6. Jacobians and effective masses are those of the start of the step, while errors are exact
at every iteration ("high fidelity joints"). With forces along the Jacobians of the start that is the SHAKE rule, which
neither adds nor takes energy; Jacobians of the end would damp.

A joint is a point, three rows, and if it holds or pulls angles three more along the axes of frame a; all are solved
together, since one at a time they undo each other's work. Limits are single rows before that.

Frames of a joint share their axes when the joint is at rest; x is the axis of the twist, or of the hinge. Rows that
stay within bounds have a multiplier of one sign. A spring of stiffness k with damping c is the row

    lambda = -h^2 k C(x) - h c J d,

so strength depends neither on the number of iterations nor, up to what `softness` allows, on the step; k = inf is a
rigid row. Limits act at once.
Multipliers are kept from step to step (warm start).

Differs from the thesis: large errors that an earlier step has left are not turned into velocity, or a solver that has
not converged would feed on them. First sweeps keep such errors as they were at the start of the step and give the
velocities; further ones (is_correcting) take them away and only move bodies. Small errors are mended at once, which
keeps the energy.
"""

import numpy as np

from jellycage.sim.maths.cholesky_kernels import factor_rows, solve_rows
from jellycage.sim.maths.matrix3_array_kernels import invert3, product_form, times3
from jellycage.sim.maths.quaternions_kernels import (
    displace,
    fill_matrix,
    inverse,
    multiply,
    rotated,
)
from jellycage.sim.rigid.joint_angles_kernels import (
    BALL,
    CONE_TWIST,
    FIXED,
    HINGE,
    angle_errors,
    swing_angle,
    twist_angle,
)
from jellycage.sim.rigid.rows_kernels import (
    LARGEST_CORRECTION,
    NEAR_LIMIT,
    add_arm,
    kept_share,
    push_point,
    softness,
    twist_both,
)
from jellycage.toolkit.compile_kernels import njit_called

TURNED_OVER = -0.7  # cosine of the swing from which on a twist is not defined well


@njit_called
def prepare_joints(state, scratch, joints, h):
    """Arms, axes and effective masses at the start of the step; applies the multipliers of the last one."""
    for j in range(joints.body.shape[0]):
        a, b = joints.body[j, 0], joints.body[j, 1]
        if scratch.inverse_mass[a] + scratch.inverse_mass[b] == 0.0:
            continue
        _prepare_point(j, a, b, state, scratch, joints)
        if joints.has_angles[j]:
            _prepare_angles(j, a, b, scratch, joints, h)


@njit_called
def _prepare_point(j, a, b, state, scratch, joints):
    """K = sum of 1/m + [r] I^-1 [r]^T over both bodies, inverted if there are no more rows."""
    mass = joints.mass[j]
    diagonal = scratch.inverse_mass[a] + scratch.inverse_mass[b]
    for row in range(3):
        for column in range(3):
            mass[row, column] = diagonal if row == column else 0.0
    for side in range(2):
        i = joints.body[j, side]
        local = joints.local_point[j, side]
        multiply(state.q[i], joints.frame[j, side], joints.world_frame[j, side])
        x, y, z = rotated(joints.world_frame[j, side], local[0], local[1], local[2])
        joints.arm[j, side, 0], joints.arm[j, side, 1], joints.arm[j, side, 2] = x, y, z
        if scratch.inverse_mass[i] > 0.0:
            add_arm(mass, scratch.symmetric_inverse_inertia[i], x, y, z)
    one, two, start = joints.arm[j, 0], joints.arm[j, 1], joints.start[j]
    for k in range(3):
        start[k] = state.p[b, k] + two[k] - state.p[a, k] - one[k]
    size = np.sqrt(start[0] ** 2 + start[1] ** 2 + start[2] ** 2)
    kept = kept_share(size, joints.largest_correction[j])
    scratch.has_large_error[0] |= kept > 0.0
    for k in range(3):
        start[k] *= kept
    push = joints.push[j]
    push_point(a, b, joints.arm[j], scratch, push[0], push[1], push[2])
    if not joints.has_rows[j]:
        invert3(mass[:3, :3], mass[3:, 3:])


@njit_called
def _prepare_angles(j, a, b, scratch, joints, h):
    """Axes of the rows, and their masses."""
    axes_a, axes_b, k3 = scratch.work3[0], scratch.work3[1], scratch.work3[2]
    fill_matrix(joints.world_frame[j, 0], axes_a)
    fill_matrix(joints.world_frame[j, 1], axes_b)
    for k in range(3):
        for m in range(3):
            joints.axes[j, k, m] = axes_a[m, k]
            k3[k, m] = (
                scratch.symmetric_inverse_inertia[a, k, m]
                + scratch.symmetric_inverse_inertia[b, k, m]
            )
    _prepare_limits(j, joints, axes_a, axes_b, k3)
    _fill_start(j, joints, scratch.work4[2], scratch.has_large_error)
    if joints.has_rows[j]:
        _fill_rows(j, a, b, scratch, joints, k3, h)
        push = joints.push[j]
        _twist_along(joints.axes[j], a, b, scratch, push[3], push[4], push[5])
    swing, twist = joints.swing[j], joints.twist[j]
    x = swing[3] * swing[0] + twist[3] * twist[0]
    y = swing[3] * swing[1] + twist[3] * twist[1]
    z = swing[3] * swing[2] + twist[3] * twist[2]
    twist_both(a, b, scratch, x, y, z)


@njit_called
def _fill_rows(j, a, b, scratch, joints, k3, h):
    """The rest of the 6 x 6 mass, with the softness of springs on its diagonal, as a factor."""
    mass, axes, arm = joints.mass[j], joints.axes[j], joints.arm[j]
    for k in range(3):
        x, y, z = axes[k, 0], axes[k, 1], axes[k, 2]
        ax, ay, az = times3(scratch.symmetric_inverse_inertia[a], x, y, z)
        bx, by, bz = times3(scratch.symmetric_inverse_inertia[b], x, y, z)
        # (M u) x r is how the point moves when a body is turned by an impulse along u.
        mass[3 + k, 0] = by * arm[1, 2] - bz * arm[1, 1] + ay * arm[0, 2] - az * arm[0, 1]
        mass[3 + k, 1] = bz * arm[1, 0] - bx * arm[1, 2] + az * arm[0, 0] - ax * arm[0, 2]
        mass[3 + k, 2] = bx * arm[1, 1] - by * arm[1, 0] + ax * arm[0, 1] - ay * arm[0, 0]
        x, y, z = times3(k3, x, y, z)
        for m in range(k, 3):
            mass[3 + m, 3 + k] = axes[m, 0] * x + axes[m, 1] * y + axes[m, 2] * z
    _soften_rows(j, joints, h)
    factor_rows(mass)


@njit_called
def _soften_rows(j, joints, h):
    """Compliance and share of the spring of each angular row: (0, 1) for one that holds."""
    kind, mass, soft = joints.kind[j], joints.mass[j], joints.soft[j]
    for k in range(3):
        if kind == FIXED or (kind == HINGE and k > 0) or joints.stiffness[j] == np.inf:
            soft[k, 0], soft[k, 1] = 0.0, 1.0
            continue
        spring, damper = joints.stiffness[j], joints.damping[j]
        soft[k, 0], soft[k, 1] = softness(spring, damper, mass[3 + k, 3 + k], h)
        mass[3 + k, 3 + k] += soft[k, 0]


@njit_called
def _fill_start(j, joints, turn, out_has_large_error):
    """Errors at the start of the step: of rows that hold, and by which limits are passed."""
    multiply(inverse(joints.world_frame[j, 0]), joints.world_frame[j, 1], turn)
    start, kind, limit = joints.start[j], joints.kind[j], joints.limit[j]
    start[3], start[4], start[5] = angle_errors(j, joints, turn)
    for k in range(3):
        # Springs have no error to get rid of.
        is_held = kind == FIXED or (kind == HINGE and k > 0) or joints.stiffness[j] == np.inf
        start[3 + k] *= is_held
    start[6] = max(0.0, swing_angle(turn) - limit[0])
    twist = twist_angle(turn)
    start[7] = max(0.0, twist - limit[2]) - max(0.0, limit[1] - twist)
    size = np.sqrt(start[3] ** 2 + start[4] ** 2 + start[5] ** 2)
    kept = kept_share(max(size, start[6], abs(start[7])), LARGEST_CORRECTION)
    for k in range(3, 8):
        start[k] *= kept
    out_has_large_error[0] |= kept > 0.0
    if limit[1] + NEAR_LIMIT < twist < limit[2] - NEAR_LIMIT:
        joints.twist[j, 3] = 0.0


@njit_called
def _prepare_limits(j, joints, axes_a, axes_b, k3):
    """Directions and masses of swing and twist at the start of the step. Rows are (x, y, z, multiplier, mass)."""
    ax, ay, az = axes_a[0, 0], axes_a[1, 0], axes_a[2, 0]
    bx, by, bz = axes_b[0, 0], axes_b[1, 0], axes_b[2, 0]
    nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    sine, cosine = np.sqrt(nx * nx + ny * ny + nz * nz), ax * bx + ay * by + az * bz
    # Almost straight, or turned right over, the direction is not known: the row rests for this step.
    s = 1.0 / sine if sine > 1e-3 else 0.0
    is_met = np.arctan2(sine, cosine) > joints.limit[j, 0] - NEAR_LIMIT
    _turn_row(joints.swing[j], s * nx, s * ny, s * nz, is_met, k3)
    s = 1.0 / (1.0 + cosine) if cosine > TURNED_OVER else 0.0
    _turn_row(joints.twist[j], s * (ax + bx), s * (ay + by), s * (az + bz), True, k3)


@njit_called
def _turn_row(row, x, y, z, is_met, k3):
    """Give a row (x, y, z, multiplier, mass) its new direction; what still points the same way keeps its multiplier."""
    size = row[0] * row[0] + row[1] * row[1] + row[2] * row[2]
    alike = (row[0] * x + row[1] * y + row[2] * z) / size if size > 0.0 else 0.0
    row[3] *= min(max(alike, 0.0), 1.0) if is_met else 0.0
    row[0], row[1], row[2] = x, y, z
    inverse_mass = product_form(k3, x, y, z)
    row[4] = 1.0 / inverse_mass if inverse_mass > 0.0 else 0.0


@njit_called
def solve_joints(state, scratch, joints, is_correcting, is_back):
    """One sweep over all joints, forth or back, that keeps errors or takes them away (is_correcting)."""
    kept = 0.0 if is_correcting else 1.0
    fa, fb, turn = scratch.work4[0], scratch.work4[1], scratch.work4[2]
    count = joints.body.shape[0]
    for at in range(count):
        j = count - 1 - at if is_back else at
        a, b = joints.body[j, 0], joints.body[j, 1]
        if scratch.inverse_mass[a] + scratch.inverse_mass[b] == 0.0:
            continue
        displace(joints.world_frame[j, 0], scratch.angular[a], fa)
        displace(joints.world_frame[j, 1], scratch.angular[b], fb)
        if joints.has_angles[j]:
            multiply(inverse(fa), fb, turn)
            if _solve_limits(j, a, b, scratch, joints, turn, kept):
                displace(joints.world_frame[j, 0], scratch.angular[a], fa)
                displace(joints.world_frame[j, 1], scratch.angular[b], fb)
                multiply(inverse(fa), fb, turn)
        gx, gy, gz = point_gap(j, a, b, state, scratch, joints, fa, fb)
        start, push = joints.start[j], joints.push[j]
        gx, gy, gz = gx - kept * start[0], gy - kept * start[1], gz - kept * start[2]
        if is_correcting:
            s = shortened(gx, gy, gz, joints.largest_correction[j])
            gx, gy, gz = s * gx, s * gy, s * gz
        if joints.has_rows[j]:
            _solve_rows_of(j, a, b, scratch, joints, turn, gx, gy, gz, kept)
            continue
        x, y, z = times3(joints.mass[j, 3:, 3:], -gx, -gy, -gz)
        push[0], push[1], push[2] = push[0] + x, push[1] + y, push[2] + z
        push_point(a, b, joints.arm[j], scratch, x, y, z)


@njit_called
def _solve_rows_of(j, a, b, scratch, joints, turn, gx, gy, gz, kept):
    """Point and angles of one joint together, from the gap of its point and the turn of its frames."""
    axes, start, push, soft = joints.axes[j], joints.start[j], joints.push[j], joints.soft[j]
    e0, e1, e2 = angle_errors(j, joints, turn)
    e0, e1, e2 = e0 - kept * start[3], e1 - kept * start[4], e2 - kept * start[5]
    d0, d1, d2 = times3(
        axes,
        scratch.angular[b, 0] - scratch.angular[a, 0],
        scratch.angular[b, 1] - scratch.angular[a, 1],
        scratch.angular[b, 2] - scratch.angular[a, 2],
    )
    right = scratch.work6
    right[0], right[1], right[2] = -gx, -gy, -gz
    for k in range(3):
        e = e0 if k == 0 else (e1 if k == 1 else e2)
        d = d0 if k == 0 else (d1 if k == 1 else d2)
        if soft[k, 0] == 0.0:
            e = min(max(e, -LARGEST_CORRECTION), LARGEST_CORRECTION)
        # (elastic C + viscous J d) / spring + compliance lambda, with viscous / spring = 1 - share.
        right[3 + k] = -soft[k, 1] * e - (1.0 - soft[k, 1]) * d - soft[k, 0] * push[3 + k]
    solve_rows(joints.mass[j], right)
    for k in range(6):
        push[k] += right[k]
    push_point(a, b, joints.arm[j], scratch, right[0], right[1], right[2])
    _twist_along(axes, a, b, scratch, right[3], right[4], right[5])


@njit_called
def _solve_limits(j, a, b, scratch, joints, turn, kept):
    """Swing and twist stay within their limits; whether that took a push."""
    kind = joints.kind[j]
    if kind == BALL or kind == FIXED:
        return False
    start, limit, is_pushed = joints.start[j], joints.limit[j], False
    if kind == CONE_TWIST:
        room = limit[0] + kept * start[6] - swing_angle(turn)
        is_pushed = _stay_below(max(room, -LARGEST_CORRECTION), joints.swing[j], a, b, scratch)
    low, high = limit[1] + kept * min(start[7], 0.0), limit[2] + kept * max(start[7], 0.0)
    angle = min(max(twist_angle(turn), low - LARGEST_CORRECTION), high + LARGEST_CORRECTION)
    return _stay_between(low, angle, high, joints.twist[j], a, b, scratch) or is_pushed


@njit_called
def shortened(x, y, z, most):
    """What to multiply a vector with so that it is no longer than that."""
    size = np.sqrt(x * x + y * y + z * z)
    return most / size if size > most else 1.0


@njit_called
def point_gap(j, a, b, state, scratch, joints, fa, fb):
    """How far the point of b is from that of a [m], as three numbers, at displaced frames fa, fb."""
    one, two = joints.local_point[j, 0], joints.local_point[j, 1]
    ax, ay, az = rotated(fa, one[0], one[1], one[2])
    bx, by, bz = rotated(fb, two[0], two[1], two[2])
    pa, pb, da, db = state.p[a], state.p[b], scratch.linear[a], scratch.linear[b]
    return (
        (pb[0] - pa[0]) + (db[0] - da[0]) + (bx - ax),
        (pb[1] - pa[1]) + (db[1] - da[1]) + (by - ay),
        (pb[2] - pa[2]) + (db[2] - da[2]) + (bz - az),
    )


@njit_called
def _twist_along(axes, a, b, scratch, l0, l1, l2):
    """Turn both bodies by angular impulses along three axes."""
    x = axes[0, 0] * l0 + axes[1, 0] * l1 + axes[2, 0] * l2
    y = axes[0, 1] * l0 + axes[1, 1] * l1 + axes[2, 1] * l2
    z = axes[0, 2] * l0 + axes[1, 2] * l1 + axes[2, 2] * l2
    twist_both(a, b, scratch, x, y, z)


@njit_called
def _stay_below(room, row, a, b, scratch):
    """Keep room >= 0 of an angle that grows along the row's direction; whether that took a push."""
    # The multiplier acts along +direction, so it is never positive.
    new = min(0.0, row[3] + row[4] * room)
    change = new - row[3]
    row[3] = new
    if change != 0.0:
        twist_both(a, b, scratch, change * row[0], change * row[1], change * row[2])
    return change != 0.0


@njit_called
def _stay_between(low, angle, high, row, a, b, scratch):
    """Keep an angle that grows along the row's direction between two bounds; whether that took a push."""
    below, above = row[3] + row[4] * (high - angle), row[3] + row[4] * (low - angle)
    new = min(0.0, below) if below < 0.0 else max(0.0, above)
    change = new - row[3]
    row[3] = new
    if change != 0.0:
        twist_both(a, b, scratch, change * row[0], change * row[1], change * row[2])
    return change != 0.0


@njit_called
def keep_joint_pushes(joints, is_back, scale):
    """Put the multipliers aside before bodies are only moved, and take them back (is_back) afterwards.

    What a blow leaves is no guide to the next step: beyond twice what it was before, and `scale` times the weight that
    hangs on it, a joint keeps nothing of it.
    """
    for j in range(joints.body.shape[0]):
        saved, push = joints.saved_push[j], joints.push[j]
        if is_back:
            for k in range(6):
                push[k] = saved[k]
            joints.swing[j, 3], joints.twist[j, 3] = saved[6], saved[7]
            continue
        size = np.sqrt(push[0] ** 2 + push[1] ** 2 + push[2] ** 2)
        most = 2.0 * joints.kept_push[j] + scale * joints.weight[j]
        s = most / size if size > most else 1.0
        joints.kept_push[j] = s * size
        for k in range(6):
            saved[k] = s * push[k]
        saved[6], saved[7] = s * joints.swing[j, 3], s * joints.twist[j, 3]
