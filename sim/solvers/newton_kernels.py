"""Newton's method with a line search on the energy of one step (see `newton`), from the first force to the last.

One call per step: at a few hundred elements the calls would otherwise cost more than the arithmetic.
"""

import math
from typing import NamedTuple

import numpy as np

from jellycage.sim.contact.response_kernels import (
    Touch,
    add_contact_forces,
    contact_block,
    contact_energy_and_forces,
    gap_and_slip,
    look_at_contacts,
    move_out,
    raise_planes,
)
from jellycage.sim.maths.matrix3_kernels import solve_symmetric
from jellycage.sim.soft.constraints_kernels import project
from jellycage.sim.soft.elasticity_kernels import (
    add_hourglass_stiffness,
    hex_add_stiffness,
    hex_energy_and_forces,
    hourglass_energy_and_forces,
    tet_add_stiffness,
    tet_energy_and_forces,
)
from jellycage.sim.solvers.coarse_space_kernels import turn_groups
from jellycage.sim.solvers.conjugate_gradients_kernels import (
    Constraints,
    Matrix,
    Preconditioner,
    dot,
    invert_diagonal,
    multiply,
    residual_norm,
    solve,
)
from jellycage.toolkit.compile_kernels import by_reference, njit, njit_called, njit_inside

SUFFICIENT = 1e-4  # Armijo: a step must lower E by this fraction of what its slope promises
SHORTEST = 1e-6  # of a Newton step that the line search still tries
ROUNDING = 1e-13  # of the energies at hand: a rise below this is none
BALANCING = 4  # shifts of a body that touches something
SHORTEST_PASS = 0.05  # of the way from one pass to the next
PASS_PRECISION = 0.02  # later passes start near their solution and need not fall as far again; more creeps and sinks
MOST_PASSES = 20  # in which a linear solve finds out which contacts are pressed and which slip


class Shape(NamedTuple):
    """What a body is, in arrays; see `Elements` and `SoftBody`."""

    corners: np.ndarray
    slots: np.ndarray
    gradients: np.ndarray
    volumes: np.ndarray
    parameters: np.ndarray
    part: np.ndarray
    law: int
    rounding: float
    """What rounding may add to the elastic energy [J]."""


class Hourglass(NamedTuple):
    """What only hexes have, in arrays without rows if they have eight points; None for tets.

    A kernel that gets None is compiled for tets alone, which halves the time that the first step takes.
    """

    modes: np.ndarray
    scale: np.ndarray
    rest: np.ndarray


class Task(NamedTuple):
    """What a step asks for, in arrays; see `Increment`. `moved` has no rows if the pins are where they should be."""

    x: np.ndarray
    pair: np.ndarray
    trapped: np.ndarray
    weight: np.ndarray
    centre: np.ndarray
    load: np.ndarray
    guess: np.ndarray
    moved: np.ndarray
    is_free: np.ndarray
    damping: float


class SpringArrays(NamedTuple):
    """The arrays of `Springs`."""

    nodes: np.ndarray
    weights: np.ndarray
    stiffness: np.ndarray
    blocked: np.ndarray
    target: np.ndarray


class Work(NamedTuple):
    """What the method writes: the displacement u, the rotations, and scratch."""

    u: np.ndarray
    trial: np.ndarray
    direction: np.ndarray
    force: np.ndarray
    trial_force: np.ndarray
    rotation: np.ndarray
    stretch: np.ndarray
    damping: np.ndarray
    r: np.ndarray
    z: np.ndarray
    p: np.ndarray
    ap: np.ndarray
    sums: np.ndarray
    elastic_x: np.ndarray
    elastic_force: np.ndarray
    elastic: np.ndarray
    """(energy, degenerate points) at elastic_x."""
    smooth: np.ndarray
    """Forces without those of contacts, where E was looked at last, shape (n, 3)."""
    model_force: np.ndarray
    """Right-hand side of a linear solve with contacts, shape (n, 3)."""
    base: np.ndarray
    """Matrix blocks without those of contacts."""
    x: np.ndarray
    """Positions x + u, shape (n, 3)."""
    before: np.ndarray
    """Direction that the pass before came to, shape (n, 3)."""


class Limits(NamedTuple):
    """`SolverSettings` for kernels; `precision` in metres."""

    newton_iterations: int
    newton_tolerance: float
    linear_iterations: int
    linear_tolerance: float
    precision: float
    differential: int


refer_shape, refer_task = by_reference(Shape), by_reference(Task)
refer_springs, refer_touch, refer_matrix = (by_reference(t) for t in (SpringArrays, Touch, Matrix))
refer_preconditioner, refer_constraints = by_reference(Preconditioner), by_reference(Constraints)
refer_work = by_reference(Work)


@njit_called
def clear(out):
    """out = 0, for arrays of rows."""
    for i in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[i, k] = 0.0


@njit_called
def copy(a, out):
    """out = a, shape (n, 3)."""
    for i in range(out.shape[0]):
        for k in range(3):
            out[i, k] = a[i, k]


@njit_called
def add(a, b, out):
    """out = a + b, shape (n, 3)."""
    for i in range(out.shape[0]):
        for k in range(3):
            out[i, k] = a[i, k] + b[i, k]


@njit_called
def copy_flat(a, out):
    """out = a, flat."""
    for i in range(out.shape[0]):
        out[i] = a[i]


@njit
def find_elastic_forces(shape, hourglass, x, pair, trapped, work):
    """Elastic energy and forces at x, into the work arrays, unless they are there already."""
    is_known, known = True, work.elastic_x
    for i in range(x.shape[0]):
        for k in range(3):
            is_known = is_known and known[i, k] == x[i, k]
        if not is_known:
            break
    if is_known:
        return
    s = shape
    clear(work.elastic_force)
    if hourglass is None:
        energy, degenerate = tet_energy_and_forces(
            x,
            s.corners,
            s.gradients,
            s.volumes,
            s.parameters,
            pair,
            trapped,
            s.law,
            work.rotation,
            work.stretch,
            work.elastic_force,
        )
    else:
        energy, degenerate = hex_energy_and_forces(
            x,
            s.corners,
            s.gradients,
            s.volumes,
            s.parameters,
            pair,
            trapped,
            s.law,
            work.rotation,
            work.stretch,
            work.elastic_force,
        )
        if hourglass.modes.shape[0]:
            energy += hourglass_energy_and_forces(
                *(x, s.corners, s.gradients, hourglass.modes, hourglass.scale, hourglass.rest),
                work.elastic_force,
            )
    work.elastic[0], work.elastic[1] = energy, degenerate
    copy(x, known)


@njit_called
def value(shape, hourglass, task, springs, touch, matrix, work, is_damped, u, out_force):
    """E(u) [J], and its negative gradient [N] in out_force."""
    x = work.x
    add(task.x, u, x)
    find_elastic_forces(shape, hourglass, x, task.pair, task.trapped, work)
    energy = work.elastic[0]
    centre, weight, load, elastic_force = task.centre, task.weight, task.load, work.elastic_force
    for i in range(u.shape[0]):
        for k in range(3):
            d = u[i, k] - centre[i, k]
            energy += 0.5 * weight[i] * d * d - load[i, k] * u[i, k]
            out_force[i, k] = elastic_force[i, k] + load[i, k] - weight[i] * d
    if springs.stiffness.shape[0]:
        energy += spring_energy_and_forces(x, springs, out_force)
    if is_damped:
        flat, force, damped = u.reshape(-1), out_force.reshape(-1), work.ap
        multiply(matrix.start, matrix.column, work.damping, flat, damped)
        energy += 0.5 * dot(flat, damped)
        for i in range(flat.shape[0]):
            force[i] -= damped[i]
    if touch.gap.shape[0]:
        copy(out_force, work.smooth)
        energy += contact_energy_and_forces(touch, u, out_force)
    return energy


@njit_called
def assemble(shape, hourglass, task, springs, matrix, work, is_damped, differential, out_inverse):
    """The matrix at x + u: elastic, damping (that of u = 0), wells, springs. Returns sqrt of its trace."""
    s, blocks, start, damping, weight = (
        shape,
        matrix.blocks,
        matrix.start,
        work.damping,
        task.weight,
    )
    for i in range(blocks.shape[0]):
        blocks[i] = 0.0
    x = work.x
    add(task.x, work.u, x)
    if hourglass is None:
        tet_add_stiffness(
            x,
            s.corners,
            s.slots,
            s.gradients,
            s.volumes,
            s.parameters,
            task.pair,
            task.trapped,
            s.law,
            differential,
            work.rotation,
            work.stretch,
            blocks,
        )
    else:
        hex_add_stiffness(
            x,
            s.corners,
            s.slots,
            s.gradients,
            s.volumes,
            s.parameters,
            task.pair,
            task.trapped,
            s.law,
            differential,
            work.rotation,
            work.stretch,
            blocks,
        )
        if hourglass.modes.shape[0]:
            add_hourglass_stiffness(
                *(x, s.corners, s.slots, s.gradients, hourglass.modes, hourglass.scale),
                *(hourglass.rest, blocks),
            )
    if task.damping > 0.0:
        if not is_damped:
            factor = task.damping
            for i in range(blocks.shape[0]):
                damping[i] = factor * blocks[i]
        for i in range(blocks.shape[0]):
            blocks[i] += damping[i]
    for i in range(x.shape[0]):
        o = 9 * start[i]
        blocks[o] += weight[i]
        blocks[o + 4] += weight[i]
        blocks[o + 8] += weight[i]
    if springs.stiffness.shape[0]:
        add_springs(matrix, springs)
    return invert_diagonal(start, blocks, out_inverse)


@njit_inside
def spring_energy_and_forces(x, springs, out_force):
    """Energy [J] of springs stiffness/2 |B (J x - target)|^2 from points to targets; adds the forces [N]."""
    total = 0.0
    nodes, weights = springs.nodes, springs.weights
    for p in range(nodes.shape[0]):
        target, b, k = springs.target[p], springs.blocked[p], springs.stiffness[p]
        dx, dy, dz = -target[0], -target[1], -target[2]
        for a in range(nodes.shape[1]):
            n, w = nodes[p, a], weights[p, a]
            dx += w * x[n, 0]
            dy += w * x[n, 1]
            dz += w * x[n, 2]
        fx = k * (b[0] * dx + b[3] * dy + b[4] * dz)
        fy = k * (b[3] * dx + b[1] * dy + b[5] * dz)
        fz = k * (b[4] * dx + b[5] * dy + b[2] * dz)
        total += 0.5 * (fx * dx + fy * dy + fz * dz)
        for a in range(nodes.shape[1]):
            n, w = nodes[p, a], weights[p, a]
            out_force[n, 0] -= w * fx
            out_force[n, 1] -= w * fy
            out_force[n, 2] -= w * fz
    return total


@njit_inside
def add_springs(matrix, springs):
    """Add the springs' stiffness to the blocks; the nodes of a point belong to one element, so every block exists."""
    for p in range(springs.nodes.shape[0]):
        b = springs.blocked[p]
        block = (b[0], b[1], b[2], b[3], b[4], b[5])
        add_point_block(matrix, springs.nodes[p], springs.weights[p], springs.stiffness[p], block)


@njit_inside
def add_contacts(matrix, touch):
    """Add the stiffness of the springs that stand for contacts to the blocks."""
    for c in range(touch.gap.shape[0]):
        if touch.is_pressed[c] or touch.grip[c] > 0.0:
            add_point_block(matrix, touch.nodes[c], touch.weights[c], 1.0, contact_block(touch, c))


@njit_inside
def add_point_block(matrix, nodes, weights, scale, b):
    """Add J^T (scale B) J of one point to the upper blocks; B as (00, 11, 22, 01, 02, 12)."""
    start, column, out_blocks = matrix.start, matrix.column, matrix.blocks
    for i in range(nodes.shape[0]):
        for j in range(nodes.shape[0]):
            row, col = nodes[i], nodes[j]
            k = scale * weights[i] * weights[j]
            if col < row or k == 0.0:
                continue
            low, high = start[row], start[row + 1] - 1
            while low < high:
                middle = (low + high) // 2
                if column[middle] < col:
                    low = middle + 1
                else:
                    high = middle
            o = 9 * low
            out_blocks[o] += k * b[0]
            out_blocks[o + 4] += k * b[1]
            out_blocks[o + 8] += k * b[2]
            out_blocks[o + 1] += k * b[3]
            out_blocks[o + 3] += k * b[3]
            out_blocks[o + 2] += k * b[4]
            out_blocks[o + 6] += k * b[4]
            out_blocks[o + 5] += k * b[5]
            out_blocks[o + 7] += k * b[5]


@njit_inside
def search(shape, hourglass, task, springs, touch, matrix, work, is_damped, energy):
    """Move u along the direction as far as E falls; returns the new E and the fraction taken, 0 if it never does."""
    slope = -dot(work.force.reshape(-1), work.direction.reshape(-1))
    if not slope < 0.0:
        return energy, 0.0
    noise = ROUNDING * (abs(energy) + abs(work.elastic[0])) + shape.rounding
    taken = 1.0
    u, direction, trial = work.u, work.direction, work.trial
    while taken >= SHORTEST:
        for i in range(u.shape[0]):
            for k in range(3):
                trial[i, k] = u[i, k] + taken * direction[i, k]
        new = value(
            shape,
            hourglass,
            task,
            springs,
            touch,
            matrix,
            work,
            is_damped,
            work.trial,
            work.trial_force,
        )
        if new <= energy + SUFFICIENT * taken * slope + noise:
            copy(work.trial, work.u)
            copy(work.trial_force, work.force)
            return new, taken
        if math.isfinite(new):
            curve = new - energy - taken * slope
            taken *= min(max(-slope * taken / (2.0 * curve), 0.1), 0.5)
        else:
            taken *= 0.1
    value(shape, hourglass, task, springs, touch, matrix, work, is_damped, work.u, work.force)
    return energy, 0.0


@njit_inside
def reach_pins(shape, hourglass, task, springs, touch, matrix, work, is_damped):
    """Go where the pins are at their targets: along the direction, or if that costs more, the pins alone; returns E."""
    base = value(
        shape,
        hourglass,
        task,
        springs,
        touch,
        matrix,
        work,
        is_damped,
        task.moved,
        work.trial_force,
    )
    copy(work.direction, work.u)
    energy = value(
        shape, hourglass, task, springs, touch, matrix, work, is_damped, work.u, work.force
    )
    if energy <= base:
        return energy
    copy(task.moved, work.u)
    return value(
        shape, hourglass, task, springs, touch, matrix, work, is_damped, work.u, work.force
    )


@njit_inside
def balance_parts(task, springs, touch, part, sums, out_u):
    """Shift every part without hard pins as a whole until wells, forces, springs and contacts on it balance.

    Elastic forces cancel within a part, so a truncated solve leaves an error in the momentum that one shift mends.
    """
    weight, load, centre, is_free = task.weight, task.load, task.centre, task.is_free
    clear(sums)  # force, then stiffness (00, 11, 22, 01, 02, 12) of each part
    for i in range(out_u.shape[0]):
        c = part[i]
        for k in range(3):
            sums[c, 3 + k] += weight[i]
            sums[c, k] += load[i, k] - weight[i] * (out_u[i, k] - centre[i, k])
    for p in range(springs.stiffness.shape[0]):
        c, b, k = part[springs.nodes[p, 0]], springs.blocked[p], springs.stiffness[p]
        dx, dy, dz = -springs.target[p, 0], -springs.target[p, 1], -springs.target[p, 2]
        for a in range(springs.nodes.shape[1]):
            n, w = springs.nodes[p, a], springs.weights[p, a]
            dx += w * (task.x[n, 0] + out_u[n, 0])
            dy += w * (task.x[n, 1] + out_u[n, 1])
            dz += w * (task.x[n, 2] + out_u[n, 2])
        sums[c, 0] -= k * (b[0] * dx + b[3] * dy + b[4] * dz)
        sums[c, 1] -= k * (b[3] * dx + b[1] * dy + b[5] * dz)
        sums[c, 2] -= k * (b[4] * dx + b[5] * dy + b[2] * dz)
        for m in range(6):
            sums[c, 3 + m] += k * b[m]
    for t in range(touch.gap.shape[0]):
        if touch.is_pressed[t] or touch.grip[t] > 0.0:
            c, b = part[touch.nodes[t, 0]], contact_block(touch, t)
            g, dx, dy, dz = gap_and_slip(touch, out_u, t)
            push = -touch.stiffness[t] * g if touch.is_pressed[t] else 0.0
            sums[c, 0] += push * touch.normal[t, 0] - touch.grip[t] * dx
            sums[c, 1] += push * touch.normal[t, 1] - touch.grip[t] * dy
            sums[c, 2] += push * touch.normal[t, 2] - touch.grip[t] * dz
            for m in range(6):
                sums[c, 3 + m] += b[m]
    for c in range(sums.shape[0]):
        sums[c, 0], sums[c, 1], sums[c, 2] = solve_symmetric(
            sums[c, 3:], sums[c, 0], sums[c, 1], sums[c, 2]
        )
    for i in range(out_u.shape[0]):
        c = part[i]
        if is_free[c]:
            for k in range(3):
                out_u[i, k] += sums[c, k]


@njit_inside
def shorten_pass(matrix, touch, work):
    """Go from the direction of the pass before to the new one only as far as E, but for the contacts linear, falls.

    Whole steps may go back and forth between sets of pressed contacts for ever; E is convex here, so these arrive.
    """
    change, direction, before = work.p, work.direction.reshape(-1), work.before.reshape(-1)
    for i in range(change.shape[0]):
        change[i] = direction[i] - before[i]
    multiply(matrix.start, matrix.column, work.base, change, work.ap)
    slope = dot(before, work.ap) - dot(work.smooth.reshape(-1), change)
    curve = dot(change, work.ap)
    add(work.u, work.before, work.trial)
    energy = contact_energy_and_forces(touch, work.trial, work.trial_force)
    taken = 1.0
    while taken > SHORTEST_PASS:
        for i in range(change.shape[0]):
            direction[i] = before[i] + taken * change[i]
        add(work.u, work.direction, work.trial)
        new = contact_energy_and_forces(touch, work.trial, work.trial_force)
        if taken * slope + 0.5 * taken * taken * curve + new <= energy:
            break
        taken *= 0.5


@njit_inside
def solve_for_direction(matrix, m, c, touch, limits, floor, work):
    """Newton's direction from u, starting with the one given; returns iterations and the first residual's norm.

    With contacts the solve is repeated, the elastic matrix as it is, until it agrees with the contacts that it took for
    pressed or slipping.
    """
    direction = work.direction.reshape(-1)
    if touch.gap.shape[0] == 0:
        iterations, first, _ = solve(
            *(matrix, m, c, work.force.reshape(-1), limits.linear_tolerance, floor),
            *(limits.linear_iterations, direction, work.r, work.z, work.p, work.ap),
        )
        return iterations, first
    copy_flat(matrix.blocks, work.base)
    total, norm = 0, 0.0
    for number in range(MOST_PASSES):
        copy_flat(work.base, matrix.blocks)
        add_contacts(matrix, touch)
        invert_diagonal(matrix.start, matrix.blocks, m.inverse)
        copy(work.smooth, work.model_force)
        add_contact_forces(touch, work.u, work.model_force)
        iterations, first, _ = solve(
            *(matrix, m, c, work.model_force.reshape(-1), limits.linear_tolerance, floor),
            *(limits.linear_iterations, direction, work.r, work.z, work.p, work.ap),
        )
        total += iterations
        if number == 0:
            norm = first
            floor = max(floor, PASS_PRECISION * limits.linear_tolerance * norm)
        else:
            shorten_pass(matrix, touch, work)
        copy(work.direction, work.before)
        add(work.u, work.direction, work.trial)
        if look_at_contacts(touch, work.trial):
            continue
        if number == MOST_PASSES - 1 or not raise_planes(touch, work.trial):
            break
    return total, norm


@njit
def minimise(
    shape, hourglass, task, springs, touch, matrix, preconditioner, constraints, limits, work
):
    """Lower E from u = 0 as far as the limits ask; leaves u, the rotations, and what the contacts came to.

    Returns Newton steps, linear iterations, whether the residual was seen to be small enough, the shortest fraction.
    """
    shape, task, springs = refer_shape(*shape), refer_task(*task), refer_springs(*springs)
    touch, matrix, work = refer_touch(*touch), refer_matrix(*matrix), refer_work(*work)
    m, c = refer_preconditioner(*preconditioner), refer_constraints(*constraints)
    b, direction = work.force.reshape(-1), work.direction.reshape(-1)
    turn_groups(task.x, m.group, m.mode, m.turn)
    clear(work.u)
    # Not yet: the damping of a step is made from the matrix at its start.
    is_damped = task.damping < 0.0
    energy = value(
        shape, hourglass, task, springs, touch, matrix, work, is_damped, work.u, work.force
    )
    scale = assemble(
        shape, hourglass, task, springs, matrix, work, is_damped, limits.differential, m.inverse
    )
    is_damped = task.damping > 0.0
    floor = limits.precision * scale
    copy(task.guess, work.direction)
    project(direction, c.fixed, c.basis_start, c.basis_dof, c.basis_value)
    if task.moved.shape[0]:
        add(work.direction, task.moved, work.direction)
    look_at_contacts(touch, work.direction)
    newton = linear = 0
    goal, taken, shortest, is_converged = 0.0, 1.0, 1.0, False
    while True:
        iterations, norm = solve_for_direction(matrix, m, c, touch, limits, floor, work)
        linear += iterations
        newton += 1
        if newton == 1:
            goal = max(limits.newton_tolerance * norm, floor)
        if touch.gap.shape[0]:  # friction depends on the pressures that the solve has found
            energy = value(
                *(shape, hourglass, task, springs, touch, matrix, work, is_damped, work.u),
                work.force,
            )
        if newton == 1 and task.moved.shape[0]:
            energy = reach_pins(shape, hourglass, task, springs, touch, matrix, work, is_damped)
        else:
            energy, taken = search(
                shape, hourglass, task, springs, touch, matrix, work, is_damped, energy
            )
        if newton == 1 and taken == 0.0:
            # A truncated solve from the guess may point uphill; from zero it never does.
            if touch.gap.shape[0]:
                copy_flat(work.base, matrix.blocks)
        else:
            shortest = min(shortest, taken)
            if taken == 0.0 or newton >= limits.newton_iterations:
                break
            is_converged = residual_norm(m, c, b, work.r, work.z) <= goal
            if is_converged:
                break
            assemble(
                *(shape, hourglass, task, springs, matrix, work, is_damped, limits.differential),
                m.inverse,
            )
        clear(work.direction)
    if touch.gap.shape[0]:
        move_out(touch, work.r[: work.u.shape[0]], work.trial, work.u)
        # Friction changes as a body is shifted, so that takes more than one.
        for _ in range(BALANCING):
            look_at_contacts(touch, work.u)
            balance_parts(task, springs, touch, shape.part, work.sums, work.u)
        look_at_contacts(touch, work.u)
    else:
        balance_parts(task, springs, touch, shape.part, work.sums, work.u)
    return newton, linear, is_converged, shortest
