"""Contacts: gaps that stay open, friction, restitution.

Thesis 000, section 6.6. Contacts are predicted: found once, where bodies are at the start of the step, for all that
could touch during it. With the relative displacement d of the two points, each asks for

    n.d >= -gap                  or, for a pair that bounces,  n.d >= e h (speed of approach),
    |lambda_t| <= mu lambda_n    with the tangential part of d held at 0 as far as that allows, after the normal part.

What overlaps is only kept from overlapping more; then, once velocities are known, a few more sweeps take it apart at a
limited speed, so that overlaps do not become speed.
"""

import numpy as np

from jellycage.sim.contact.convex.broad_kernels import CONVEX
from jellycage.sim.maths.matrix3_array_kernels import times3
from jellycage.sim.maths.quaternions_kernels import unrotate
from jellycage.sim.rigid.rows_kernels import push_point
from jellycage.toolkit.compile_kernels import njit_called

PUSH_SPEED = 1.5  # [m/s] at which overlaps are taken apart
PARTED = 0.35  # share of an overlap that a step takes apart
LEFT_OVER = 0.002  # overlap that is left alone, as a share of the body's size
MESH = (1 << 30) - 1  # in keys, the place of all static meshes
BOUNCE_STEPS = 2.0  # an approach slower than gravity makes in so many steps does not bounce


@njit_called
def prepare_contacts(state, bodies, shapes, scratch, contacts, count, kept, kept_count, gravity, h):
    """Arms, masses and what each contact asks for; applies the multipliers of the last step."""
    slow = BOUNCE_STEPS * h * np.sqrt(gravity[0] ** 2 + gravity[1] ** 2 + gravity[2] ** 2)
    local = scratch.work_rod[0]
    for c in range(count):
        if contacts.body[c, 1] < 0:
            contacts.body[c, 1] = state.p.shape[0] - 1  # the world is the last body
        a, b = contacts.body[c, 0], contacts.body[c, 1]
        contacts.key[c] = pair_key(shapes, contacts.shape[c, 0], contacts.shape[c, 1])
        for k in range(3):
            # What overlaps is pushed at one place; what has yet to meet, each where it will be met.
            one, two = contacts.point[c, 0, k], contacts.point[c, 1, k]
            if contacts.gap[c] < 0.0:
                one = two = 0.5 * (one + two)
            contacts.arm[c, 0, k] = one - state.p[a, k]
            contacts.arm[c, 1, k] = two - state.p[b, k]
        n, t = contacts.normal[c], contacts.tangent[c]
        fill_tangents(n, t)
        contacts.friction[c] = np.sqrt(bodies.friction[a] * bodies.friction[b])
        _fill_contact_masses(c, a, b, scratch, contacts)
        _fill_target(c, a, b, state, bodies, scratch, contacts, slow, h)
        unrotate(state.q[a], contacts.arm[c, 0], local)
        for k in range(3):
            contacts.local[c, k] = local[k]
            contacts.push[c, k] = 0.0
    recall_pushes(contacts, count, kept, kept_count)
    for c in range(count):
        a, b = contacts.body[c, 0], contacts.body[c, 1]
        push = contacts.push[c]
        contacts.kept_push[c] = push[0]
        _push_contact(c, a, b, scratch, contacts, push[0], push[1], push[2])


@njit_called
def fill_tangents(n, out):
    """Two unit vectors across n, which change smoothly with it (Duff et al. 2017, "Building an Orthonormal Basis")."""
    sign = 1.0 if n[2] >= 0.0 else -1.0
    a = -1.0 / (sign + n[2])
    b = n[0] * n[1] * a
    out[0, 0], out[0, 1], out[0, 2] = 1.0 + sign * n[0] * n[0] * a, sign * b, -sign * n[0]
    out[1, 0], out[1, 1], out[1, 2] = b, sign + n[1] * n[1] * a, -n[1]


@njit_called
def _fill_contact_masses(c, a, b, scratch, contacts):
    """Effective masses along the normal and across it."""
    n, t, arm, mass = contacts.normal[c], contacts.tangent[c], contacts.arm[c], contacts.mass[c]
    inverse_mass = scratch.inverse_mass[a] + scratch.inverse_mass[b]
    normal, tangent = inverse_mass, scratch.work3[0]
    tangent[0, 0] = tangent[1, 1] = inverse_mass
    tangent[0, 1] = 0.0
    for side in range(2):
        i, r = (a, arm[0]) if side == 0 else (b, arm[1])
        if scratch.inverse_mass[i] == 0.0:
            continue
        m = scratch.symmetric_inverse_inertia[i]
        x, y, z = _torque(r, n)
        mx, my, mz = times3(m, x, y, z)
        normal += x * mx + y * my + z * mz
        x0, y0, z0 = _torque(r, t[0])
        x1, y1, z1 = _torque(r, t[1])
        mx, my, mz = times3(m, x0, y0, z0)
        tangent[0, 0] += x0 * mx + y0 * my + z0 * mz
        tangent[0, 1] += x1 * mx + y1 * my + z1 * mz
        mx, my, mz = times3(m, x1, y1, z1)
        tangent[1, 1] += x1 * mx + y1 * my + z1 * mz
    mass[0] = 1.0 / normal if normal > 0.0 else 0.0
    # One number for both tangents, from the greater eigenvalue: with a matrix, friction would not oppose the slip.
    half = 0.5 * (tangent[0, 0] - tangent[1, 1])
    inverse_mass = 0.5 * (tangent[0, 0] + tangent[1, 1]) + np.sqrt(half * half + tangent[0, 1] ** 2)
    mass[1] = 1.0 / inverse_mass if inverse_mass > 0.0 else 0.0


@njit_called
def _torque(r, f):
    return r[1] * f[2] - r[2] * f[1], r[2] * f[0] - r[0] * f[2], r[0] * f[1] - r[1] * f[0]


@njit_called
def _fill_target(c, a, b, state, bodies, scratch, contacts, slow, h):
    """The least normal displacement, without (target 0) and with (target 1) the push that takes overlaps apart."""
    gap, n, arm = contacts.gap[c], contacts.normal[c], contacts.arm[c]
    contacts.target[c, 0] = contacts.target[c, 1] = min(-gap, 0.0)
    # The smaller of the two that can be pushed sets the scale.
    reach = min(
        bodies.reach[a] if bodies.inverse_mass[a] > 0.0 else np.inf,
        bodies.reach[b] if bodies.inverse_mass[b] > 0.0 else np.inf,
    )
    depth = -gap - LEFT_OVER * reach
    if depth > 0.0:
        contacts.target[c, 1] = min(PARTED * depth, h * PUSH_SPEED)
        scratch.has_large_error[0] = True
    bounce = max(bodies.restitution[a], bodies.restitution[b])
    if bounce > 0.0:
        ax, ay, az = _point_velocity(state, a, arm[0])
        bx, by, bz = _point_velocity(state, b, arm[1])
        speed = n[0] * (bx - ax) + n[1] * (by - ay) + n[2] * (bz - az)
        if speed < -slow and gap + h * speed <= 0.0:
            contacts.target[c, 0] = contacts.target[c, 1] = -h * bounce * speed


@njit_called
def _point_velocity(state, i, r):
    v, w = state.v[i], state.w[i]
    return (
        v[0] + w[1] * r[2] - w[2] * r[1],
        v[1] + w[2] * r[0] - w[0] * r[2],
        v[2] + w[0] * r[1] - w[1] * r[0],
    )


@njit_called
def pair_key(shapes, s, t):
    """A number for a pair of shapes that rises in the order in which contacts are found."""
    is_last = t < 0 or shapes.kind[t] != CONVEX
    return (np.int64(is_last) << 60) + (np.int64(s) << 30) + np.int64(t if t >= 0 else MESH)


@njit_called
def recall_pushes(contacts, count, kept, kept_count):
    """Multipliers of the last step for contacts of the same shapes, each from the nearest place that is not taken.

    In both lists keys rise, so that a merge walks along them.
    """
    last, c = 0, 0
    while c < count:
        key, end = contacts.key[c], c
        while end < count and contacts.key[end] == key:
            end += 1
        while last < kept_count and kept.key[last] < key:
            last += 1
        until = last
        while until < kept_count and kept.key[until] == key:
            until += 1
        for at in range(c, end):
            best, nearest = -1, np.inf
            for k in range(last, until):
                if kept.is_taken[k]:
                    continue
                far = 0.0
                for axis in range(3):
                    far += (contacts.local[at, axis] - kept.local[k, axis]) ** 2
                if far < nearest:
                    best, nearest = k, far
            if best >= 0:
                kept.is_taken[best] = True
                for k in range(3):
                    contacts.push[at, k] = kept.push[best, k]
        last, c = until, end


@njit_called
def keep_pushes(bodies, contacts, count, out_kept, scale):
    """What the next step recalls: as with joints, not what is left of a blow."""
    for c in range(count):
        weight = 0.0
        for side in range(2):
            inverse_mass = bodies.inverse_mass[contacts.body[c, side]]
            weight += 1.0 / inverse_mass if inverse_mass > 0.0 else 0.0
        most = 2.0 * contacts.kept_push[c] + scale * weight
        s = min(1.0, most / contacts.push[c, 0]) if contacts.push[c, 0] > 0.0 else 1.0
        out_kept.is_taken[c] = False
        out_kept.key[c] = contacts.key[c]
        for k in range(3):
            out_kept.local[c, k] = contacts.local[c, k]
            out_kept.push[c, k] = s * contacts.push[c, k]


@njit_called
def solve_contacts(scratch, contacts, count, which, is_back, is_outer):
    """One sweep over all contacts, or those with what stands firm (is_outer), forth or back; which: of its targets."""
    for at in range(count):
        c = count - 1 - at if is_back else at
        mass = contacts.mass[c]
        if mass[0] == 0.0:
            continue
        a, b = contacts.body[c, 0], contacts.body[c, 1]
        if is_outer and scratch.inverse_mass[a] > 0.0 and scratch.inverse_mass[b] > 0.0:
            continue
        n, t, push = contacts.normal[c], contacts.tangent[c], contacts.push[c]
        x, y, z = _relative(a, b, scratch, contacts.arm[c])
        along = n[0] * x + n[1] * y + n[2] * z
        new = max(0.0, push[0] - mass[0] * (along - contacts.target[c, which]))
        change = new - push[0]
        push[0] = new
        if change != 0.0:
            _push_contact(c, a, b, scratch, contacts, change, 0.0, 0.0)
        bound = contacts.friction[c] * new
        if bound == 0.0 and push[1] == 0.0 and push[2] == 0.0:
            continue
        x, y, z = _relative(a, b, scratch, contacts.arm[c])
        s0, s1 = t[0, 0] * x + t[0, 1] * y + t[0, 2] * z, t[1, 0] * x + t[1, 1] * y + t[1, 2] * z
        l0, l1 = push[1] - mass[1] * s0, push[2] - mass[1] * s1
        size = np.sqrt(l0 * l0 + l1 * l1)
        if size > bound:
            l0, l1 = l0 * bound / size, l1 * bound / size
        _push_contact(c, a, b, scratch, contacts, 0.0, l0 - push[1], l1 - push[2])
        push[1], push[2] = l0, l1


@njit_called
def _relative(a, b, scratch, arm):
    """Displacement of the point of b against that of a, to first order, as three numbers."""
    la, ta, lb, tb = scratch.linear[a], scratch.angular[a], scratch.linear[b], scratch.angular[b]
    ra, rb = arm[0], arm[1]
    return (
        lb[0] - la[0] + tb[1] * rb[2] - tb[2] * rb[1] - ta[1] * ra[2] + ta[2] * ra[1],
        lb[1] - la[1] + tb[2] * rb[0] - tb[0] * rb[2] - ta[2] * ra[0] + ta[0] * ra[2],
        lb[2] - la[2] + tb[0] * rb[1] - tb[1] * rb[0] - ta[0] * ra[1] + ta[1] * ra[0],
    )


@njit_called
def _push_contact(c, a, b, scratch, contacts, along, one, two):
    """Displace both bodies by impulses (times the step) along normal and tangents."""
    n, t = contacts.normal[c], contacts.tangent[c]
    x = along * n[0] + one * t[0, 0] + two * t[1, 0]
    y = along * n[1] + one * t[0, 1] + two * t[1, 1]
    z = along * n[2] + one * t[0, 2] + two * t[1, 2]
    push_point(a, b, contacts.arm[c], scratch, x, y, z)
