"""Steps of all rigid bodies: find contacts, predict, hold together by projected Gauss-Seidel, move."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.contact.convex.detection_kernels import BodyPoses, find_contacts
from jellycage.sim.rigid.contacts_kernels import keep_pushes, prepare_contacts, solve_contacts
from jellycage.sim.rigid.islands_kernels import fall_asleep, wake_islands
from jellycage.sim.rigid.joints_kernels import keep_joint_pushes, prepare_joints, solve_joints
from jellycage.sim.rigid.motion_kernels import finish_motion, limit_turns, predict_motion
from jellycage.sim.rigid.rods_kernels import keep_rod_pushes, prepare_rods, solve_rods
from jellycage.toolkit.compile_kernels import njit_borrowing, njit_called

BLOW = 4.0  # times the weight of two bodies: a push beyond that is not expected to last
LEAST_PULL = 1.0  # [m/s^2], for weights where there is no gravity
CORRECTING = 0.4  # share of the sweeps that take errors and overlaps away; others find velocities


class RigidTables(NamedTuple):
    """All that a step works on."""

    state: tuple
    """`RigidState`."""
    bodies: tuple
    """`BodyArrays`."""
    shapes: tuple
    """`ShapeArrays`."""
    meshes: tuple
    """`MeshArrays`."""
    joints: tuple
    """`JointArrays`."""
    rods: tuple
    """`RodArrays`."""
    contacts: tuple
    """`RigidContacts`."""
    kept: tuple
    """`KeptPushes`."""
    counts: NDArray[np.int64]
    """Contacts of this step and of the last one, shape (2,)."""
    scratch: tuple
    """`Scratch`."""
    work: tuple
    """`DetectionWork`."""
    excluded: NDArray[np.int64]
    """Sorted numbers of pairs that never meet, see `find_contacts`."""


@njit_called
def lead_bodies(state, led, step, first):
    """Put what is led where a step finds it, with the velocity that takes it to the next place."""
    for i in range(led.p.shape[1]):
        for k in range(3):
            state.p[first + i, k] = led.p[step, i, k]
            state.v[first + i, k] = led.v[step, i, k]
            state.w[first + i, k] = led.w[step, i, k]
        for k in range(4):
            state.q[first + i, k] = led.q[step, i, k]


@njit_called
def solve_step(
    state, bodies, shapes, joints, rods, contacts, kept, counts, scratch, gravity, h, iterations
):
    """Displace all bodies by one step, with the contacts that were found for it."""
    count = counts[0]
    scratch.has_large_error[0] = False
    # The free step x* of eq. 6.11, then the rows of eq. 6.13 at the start of the step, with warm starts.
    predict_motion(state, bodies, scratch, gravity, h)
    prepare_rods(state, scratch, rods, h)
    prepare_joints(state, scratch, joints, h)
    prepare_contacts(state, bodies, shapes, scratch, contacts, count, kept, counts[1], gravity, h)
    # Projected Gauss-Seidel on eq. 6.14: what velocities are made of.
    correcting = int(CORRECTING * iterations) if scratch.has_large_error[0] else 0
    for sweep in range(iterations - correcting):
        # Forth and back in turn: errors of one direction do not pile up at its end.
        is_back = sweep % 2 == 1
        limit_turns(scratch)
        solve_rods(state, scratch, rods, False)
        solve_joints(state, scratch, joints, False, is_back)
        solve_contacts(scratch, contacts, count, 0, is_back, False)
    for i in range(state.p.shape[0]):
        for k in range(3):
            scratch.velocity_linear[i, k] = scratch.linear[i, k]
            scratch.velocity_angular[i, k] = scratch.angular[i, k]
    # Multipliers for the warm start of the next step are those of now.
    pull = np.sqrt(gravity[0] ** 2 + gravity[1] ** 2 + gravity[2] ** 2)
    scale = BLOW * h * h * max(pull, LEAST_PULL)
    keep_pushes(bodies, contacts, count, kept, scale)
    keep_joint_pushes(joints, False, scale)
    keep_rod_pushes(rods, False, scale)
    # Further sweeps only move bodies: they take errors and overlaps away.
    for sweep in range(correcting):
        is_back = sweep % 2 == 1
        limit_turns(scratch)
        # Joints come last: limbs that overlap a little are seen less than limbs that come apart.
        solve_contacts(scratch, contacts, count, 1, is_back, False)
        solve_rods(state, scratch, rods, True)
        solve_joints(state, scratch, joints, True, is_back)
    if correcting > 0:
        # But nothing sinks into the ground for the sake of a joint.
        solve_contacts(scratch, contacts, count, 1, False, True)
    keep_joint_pushes(joints, True, scale)
    keep_rod_pushes(rods, True, scale)


@njit_borrowing
def advance(tables, led, gravity, moving, h, first, steps, iterations, margin, sleep):
    """Advance by steps of h [s], from number `first` on; returns how many are done, fewer if room ran out.

    moving: how many bodies can be pushed. sleep: (slow [m/s], patience [s]).
    """
    state, bodies, joints, rods = tables.state, tables.bodies, tables.joints, tables.rods
    contacts, counts, scratch = tables.contacts, tables.counts, tables.scratch
    shapes, meshes, work = tables.shapes, tables.meshes, tables.work
    kept, excluded = tables.kept, tables.excluded
    poses = BodyPoses(state.p, state.q, state.v, state.w, state.is_asleep)
    for step in range(first, steps):
        lead_bodies(state, led, step, moving)
        found = find_contacts(poses, h, margin, moving, excluded, shapes, meshes, work, contacts)
        if found < 0 or found > contacts.gap.shape[0]:
            return step
        counts[0] = found
        wake_islands(state, bodies, contacts, found, sleep[0], h)
        solve_step(
            state,
            bodies,
            shapes,
            joints,
            rods,
            contacts,
            kept,
            counts,
            scratch,
            gravity,
            h,
            iterations,
        )
        finish_motion(state, scratch, h)
        counts[1] = found
        fall_asleep(state, bodies, joints, rods, contacts, found, scratch, h, sleep[0], sleep[1])
    return steps
