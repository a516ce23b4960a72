"""Rods in a step: masses and multipliers of their six rows, see `rod_shape_kernels`, and of their limits."""

import numpy as np

from jellycage.sim.maths.cholesky_kernels import factor_rows, solve_rows
from jellycage.sim.maths.matrix3_array_kernels import product_form, times3
from jellycage.sim.maths.quaternions_kernels import displace
from jellycage.sim.rigid.rod_shape_kernels import ROWS, find_rod_errors, measure_rod
from jellycage.sim.rigid.rows_kernels import LARGEST_CORRECTION, NEAR_LIMIT, kept_share, softness
from jellycage.toolkit.compile_kernels import njit_called


@njit_called
def prepare_rods(state, scratch, rods, h):
    """Jacobians and effective masses at the start of the step; applies the multipliers of the last one."""
    for r in range(rods.body.shape[0]):
        a, b = rods.body[r, 0], rods.body[r, 1]
        if scratch.inverse_mass[a] + scratch.inverse_mass[b] == 0.0:
            continue
        pa, qa, pb, qb = state.p[a], state.q[a], state.p[b], state.q[b]
        ends, frames, rest, jacobian = rods.ends[r], rods.frames[r], rods.rest[r], rods.jacobian[r]
        psi = measure_rod(
            pa, qa, pb, qb, ends, frames, rest, scratch.work_rod, rods.error[r], jacobian
        )
        # Errors at the start of rows that hold, and by which limits are passed; large ones do not become velocity.
        for row in range(ROWS):
            # Springs have no error to get rid of.
            which = 0 if row < 5 else 1
            is_hard = row < 3 or rods.stiffness[r, which] == np.inf
            rods.start[r, row] = rods.error[r, row] if is_hard else 0.0
        rods.start[r, ROWS] = max(0.0, psi - rods.limit[r, 0])
        rods.start[r, ROWS + 1] = max(0.0, abs(rods.error[r, 5]) - rods.limit[r, 1])
        angle = 0.0
        for row in range(1, ROWS + 2):
            angle = max(angle, abs(rods.start[r, row]))
        kept = max(
            kept_share(abs(rods.start[r, 0]), rods.largest_correction[r]),
            kept_share(angle, LARGEST_CORRECTION),
        )
        scratch.has_large_error[0] |= kept > 0.0
        for row in range(ROWS + 2):
            rods.start[r, row] *= kept
        # Effective mass J M^-1 J^T of all six rows, made symmetric since the inertia has a gyroscopic part.
        _fill_response(a, b, scratch, rods.jacobian[r], rods.response[r])
        for row in range(ROWS):
            for column in range(row + 1):
                total = 0.0
                for k in range(12):
                    total += rods.jacobian[r, row, k] * rods.response[r, k, column]
                    total += rods.jacobian[r, column, k] * rods.response[r, k, row]
                rods.mass[r, row, column] = 0.5 * total
        _soften(r, rods, h)
        # Limits are single rows, about the axis of the bend and that of the twist.
        for row in range(2):
            twist = rods.jacobian[r, 5, 9:12]
            bend = rods.limit_axis[r, row]
            for k in range(3):
                bend[k] = twist[k]
            if row == 0:
                _bend_axis(rods.error[r], rods.rest[r], rods.jacobian[r], bend)
            inverse_mass = product_form(
                scratch.symmetric_inverse_inertia[a], bend[0], bend[1], bend[2]
            )
            inverse_mass += product_form(
                scratch.symmetric_inverse_inertia[b], bend[0], bend[1], bend[2]
            )
            rods.limit_mass[r, row] = 1.0 / inverse_mass if inverse_mass > 0.0 else 0.0
            # What pushed in the last step does so still only at the limit.
            is_met = psi > rods.limit[r, 0] - NEAR_LIMIT
            if row == 1:
                is_met = abs(rods.error[r, 5]) > rods.limit[r, 1] - NEAR_LIMIT
            rods.limit_push[r, row] *= is_met and inverse_mass > 0.0
        factor_rows(rods.mass[r])
        # Warm start.
        _push_rows(a, b, scratch, rods.response[r], rods.push[r])
        for row in range(2):
            _push_limit(r, row, a, b, scratch, rods, rods.limit_push[r, row])


@njit_called
def _bend_axis(error, rest, jacobian, out):
    """Direction in which the bend psi grows when b turns; zero when straight."""
    one, two = error[3] + rest[1], error[4] + rest[2]
    psi = np.sqrt(one * one + two * two)
    s = 1.0 / psi if psi > 1e-3 else 0.0
    for k in range(3):
        out[k] = s * (one * jacobian[3, 9 + k] + two * jacobian[4, 9 + k])


@njit_called
def _fill_response(a, b, scratch, jacobian, out):
    """M^-1 J^T: how both bodies are displaced by a unit impulse along each row, shape (12, 6)."""
    for row in range(ROWS):
        for side in range(2):
            i, at = (a, 0) if side == 0 else (b, 6)
            for k in range(3):
                out[at + k, row] = scratch.inverse_mass[i] * jacobian[row, at + k]
            turn = jacobian[row, at + 3 : at + 6]
            x, y, z = times3(scratch.inverse_inertia[i], turn[0], turn[1], turn[2])
            out[at + 3, row], out[at + 4, row], out[at + 5, row] = x, y, z


@njit_called
def _soften(r, rods, h):
    """Compliance of bend and twist: 1 / (h^2 k + h c) on the diagonal."""
    for row in range(3, ROWS):
        which = 0 if row < 5 else 1
        k, c = rods.stiffness[r, which], rods.damping[r, which]
        if k == np.inf:
            rods.soft[r, row - 3, 0], rods.soft[r, row - 3, 1] = 0.0, 1.0
            continue
        compliance, share = softness(k, c, rods.mass[r, row, row], h)
        rods.soft[r, row - 3, 0], rods.soft[r, row - 3, 1] = compliance, share
        rods.mass[r, row, row] += compliance


@njit_called
def solve_rods(state, scratch, rods, is_correcting):
    """One sweep over all rods: all rows of a rod at once, then its limits; see `joints_kernels` for is_correcting."""
    kept = 0.0 if is_correcting else 1.0
    qa, qb = scratch.work4[0], scratch.work4[1]
    pa, pb = scratch.work_rod[0], scratch.work_rod[1]
    for r in range(rods.body.shape[0]):
        a, b = rods.body[r, 0], rods.body[r, 1]
        if scratch.inverse_mass[a] + scratch.inverse_mass[b] == 0.0:
            continue
        error, push = rods.error[r], rods.push[r]
        # Exact errors of where both bodies are by now (section 6.6).
        for k in range(3):
            pa[k] = state.p[a, k] + scratch.linear[a, k]
            pb[k] = state.p[b, k] + scratch.linear[b, k]
        displace(state.q[a], scratch.angular[a], qa)
        displace(state.q[b], scratch.angular[b], qb)
        ends, frames, rest = rods.ends[r], rods.frames[r], rods.rest[r]
        psi, twist = find_rod_errors(pa, qa, pb, qb, ends, frames, rest, error)
        for row in range(ROWS):
            error[row] -= kept * rods.start[r, row]
        # Large errors are mended bit by bit.
        most = rods.largest_correction[r]
        error[0] = -min(max(error[0], -most), most)
        for row in range(1, 3):
            error[row] = -min(max(error[row], -LARGEST_CORRECTION), LARGEST_CORRECTION)
        for row in range(3, ROWS):
            # (elastic C + viscous J d) / spring + compliance lambda, with viscous / spring = 1 - share.
            compliance, share = rods.soft[r, row - 3, 0], rods.soft[r, row - 3, 1]
            moved = 0.0
            for k in range(3):
                turned = scratch.angular[b, k] - scratch.angular[a, k]
                moved += rods.jacobian[r, row, 9 + k] * turned
            error[row] = -share * error[row] - (1.0 - share) * moved - compliance * push[row]
        # All rows at once (section 7.6), then the limits.
        solve_rows(rods.mass[r], error)
        for row in range(ROWS):
            push[row] += error[row]
        _push_rows(a, b, scratch, rods.response[r], error)
        _limit_rod(r, a, b, scratch, rods, psi, twist, kept)


@njit_called
def _push_rows(a, b, scratch, response, push):
    """Displace both bodies by impulses (times the step) along the rows."""
    for k in range(3):
        la, ta, lb, tb = 0.0, 0.0, 0.0, 0.0
        for row in range(ROWS):
            la += response[k, row] * push[row]
            ta += response[3 + k, row] * push[row]
            lb += response[6 + k, row] * push[row]
            tb += response[9 + k, row] * push[row]
        scratch.linear[a, k] += la
        scratch.angular[a, k] += ta
        scratch.linear[b, k] += lb
        scratch.angular[b, k] += tb


@njit_called
def _limit_rod(r, a, b, scratch, rods, psi, twist, kept):
    """Bend at most so far, twist at most so far from none to either side."""
    push, beyond = rods.limit_push[r], rods.start[r, ROWS:]
    most = rods.limit[r, 0] + kept * beyond[0]
    new = min(0.0, push[0] + rods.limit_mass[r, 0] * max(most - psi, -LARGEST_CORRECTION))
    if new != push[0]:
        _push_limit(r, 0, a, b, scratch, rods, new - push[0])
        push[0] = new
    away = twist - rods.rest[r, 3]
    away -= 2.0 * np.pi * np.round(away / (2.0 * np.pi))
    most = rods.limit[r, 1] + kept * beyond[1]
    away = min(max(away, -most - LARGEST_CORRECTION), most + LARGEST_CORRECTION)
    high = push[1] + rods.limit_mass[r, 1] * (most - away)
    low = push[1] + rods.limit_mass[r, 1] * (-most - away)
    new = high if high < 0.0 else max(0.0, low)
    if new != push[1]:
        _push_limit(r, 1, a, b, scratch, rods, new - push[1])
        push[1] = new


@njit_called
def _push_limit(r, row, a, b, scratch, rods, push):
    """Turn both bodies by an angular impulse along the axis of a limit."""
    axis = rods.limit_axis[r, row]
    for side in range(2):
        i, sign = (a, -push) if side == 0 else (b, push)
        x, y, z = times3(scratch.inverse_inertia[i], sign * axis[0], sign * axis[1], sign * axis[2])
        scratch.angular[i, 0] += x
        scratch.angular[i, 1] += y
        scratch.angular[i, 2] += z


@njit_called
def keep_rod_pushes(rods, is_back, scale):
    """As `keep_joint_pushes` of joints."""
    for r in range(rods.body.shape[0]):
        saved = rods.saved_push[r]
        if is_back:
            for row in range(ROWS):
                rods.push[r, row] = saved[row]
            rods.limit_push[r, 0], rods.limit_push[r, 1] = saved[ROWS], saved[ROWS + 1]
            continue
        size = abs(rods.push[r, 0])
        most = 2.0 * rods.kept_push[r] + scale * rods.weight[r]
        s = most / size if size > most else 1.0
        rods.kept_push[r] = s * size
        for row in range(ROWS):
            saved[row] = s * rods.push[r, row]
        saved[ROWS], saved[ROWS + 1] = s * rods.limit_push[r, 0], s * rods.limit_push[r, 1]
