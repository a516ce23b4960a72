"""Newton's method with a line search on the energy of one step, see `problem_kernels`.

One call per step: at a few hundred elements the calls would otherwise cost more than the arithmetic.
"""

import math
from typing import NamedTuple

from jellycage.sim.contact.response_kernels import (
    add_spring_forces,
    contact_energy_and_forces,
    raise_multipliers,
    stabilise_positions,
    update_active_set,
)
from jellycage.sim.soft.constraints_kernels import project
from jellycage.sim.solvers.balance_kernels import balance_parts
from jellycage.sim.solvers.coarse_space_kernels import turn_groups
from jellycage.sim.solvers.conjugate_gradients_kernels import (
    NEWTON_GOAL,
    dot,
    find_diagonal,
    invert_diagonal,
    is_part_left,
    multiply,
    residual_norm,
    set_part_goals,
    solve,
)
from jellycage.sim.solvers.problem_kernels import (
    add,
    assemble,
    clear,
    copy,
    find_value,
    referred,
)
from jellycage.toolkit.compile_kernels import njit, njit_inside

SUFFICIENT = 1e-4  # Armijo: a step must lower E by this fraction of what its slope promises
SHORTEST = 1e-6  # of a Newton step that the line search still tries
SHORT = (
    0.5  # Newton steps that are shorter have not got far and are made up for by as many more, up to
)
MOST_EXTRA = 6  # times those that may follow the first
SHORTEST_REACH = 1e-3  # of the way from the pins alone to the first Newton step
LOAD_SHARE = 0.5  # of the loads, times the tolerance: a residual below this is none
ROUNDING = 1e-13  # of the energies at hand: a rise below this is none
BALANCING = 4  # shifts of a body that touches something
SHORTEST_PASS = 0.05  # of the way from one pass to the next
PASS_PRECISION = 0.02  # later passes start near their solution and need not fall as far again; more creeps and sinks
MOST_PASSES = 20  # in which a linear solve finds out which contacts are active and which slip


class NewtonLimits(NamedTuple):
    """The numbers of `SolverSettings`; `precision` in metres; settled: see `update_active_set`."""

    newton_iterations: int
    newton_tolerance: float
    linear_iterations: int
    linear_tolerance: float
    precision: float
    settled: float


@njit_inside
def search(problem, is_damped, energy):
    """Move u along the direction as far as E falls; returns the new E and the fraction taken, 0 if it never does."""
    solution, scratch = problem.solution, problem.scratch
    u, direction, trial = solution.u, scratch.direction, scratch.trial
    slope = -dot(scratch.force.reshape(-1), direction.reshape(-1))
    if not slope < 0.0:
        return energy, 0.0
    noise = ROUNDING * (abs(energy) + abs(solution.elastic[0])) + problem.rounding
    taken = 1.0
    while taken >= SHORTEST:
        for i in range(u.shape[0]):
            for k in range(3):
                trial[i, k] = u[i, k] + taken * direction[i, k]
        new = find_value(problem, is_damped, trial, scratch.trial_force)
        if new <= energy + SUFFICIENT * taken * slope + noise:
            copy(trial, u)
            copy(scratch.trial_force, scratch.force)
            return new, taken
        # Where the parabola through both energies and the slope is lowest.
        if math.isfinite(new):
            curve = new - energy - taken * slope
            taken *= min(max(-slope * taken / (2.0 * curve), 0.1), 0.5)
        else:
            taken *= 0.1
    find_value(problem, is_damped, u, scratch.force)
    return energy, 0.0


@njit_inside
def reach_pins(problem, is_damped):
    """Go where the pins are at their targets: from there as far along the direction as E falls; returns E."""
    solution, scratch, moved = problem.solution, problem.scratch, problem.increment.moved
    u, direction = solution.u, scratch.direction
    base = find_value(problem, is_damped, moved, scratch.trial_force)
    taken = 1.0
    while taken > SHORTEST_REACH:
        for i in range(u.shape[0]):
            for k in range(3):
                u[i, k] = moved[i, k] + taken * (direction[i, k] - moved[i, k])
        energy = find_value(problem, is_damped, u, scratch.force)
        if energy <= base:
            return energy
        taken *= 0.25
    copy(moved, u)
    return find_value(problem, is_damped, u, scratch.force)


@njit_inside
def damp_pass(problem):
    """Go from the direction of the pass before to the new one only as far as E, but for the contacts linear, falls.

    Whole steps may go back and forth between active sets for ever; E is convex here, so these arrive.
    """
    matrix, contacts, scratch = problem.matrix, problem.contacts, problem.scratch
    change, u = scratch.p, problem.solution.u
    direction, before = scratch.direction.reshape(-1), scratch.before.reshape(-1)
    for i in range(change.shape[0]):
        change[i] = direction[i] - before[i]
    multiply(matrix.start, matrix.column, matrix.blocks, change, scratch.ap)
    slope = dot(before, scratch.ap) - dot(scratch.smooth_force.reshape(-1), change)
    curve = dot(change, scratch.ap)
    add(u, scratch.before, scratch.trial)
    energy = contact_energy_and_forces(contacts, scratch.trial, scratch.trial_force)
    taken = 1.0
    while taken > SHORTEST_PASS:
        for i in range(change.shape[0]):
            direction[i] = before[i] + taken * change[i]
        add(u, scratch.direction, scratch.trial)
        new = contact_energy_and_forces(contacts, scratch.trial, scratch.trial_force)
        if taken * slope + 0.5 * taken * taken * curve + new <= energy:
            break
        taken *= 0.5


@njit_inside
def solve_for_direction(problem, limits, floor):
    """Newton's direction from u, starting with the one given; returns iterations and the first residual's norm.

    With contacts the solve is repeated, the elastic matrix as it is, until it agrees with the active set and the slips
    that it took for granted.
    """
    matrix, contacts, scratch = problem.matrix, problem.contacts, problem.scratch
    direction, u = scratch.direction.reshape(-1), problem.solution.u
    total, norm = 0, 0.0
    for number in range(MOST_PASSES):
        # Springs in the place of contacts, as the pass before left them, enter force and preconditioner.
        b = scratch.force
        if contacts.gap.shape[0]:
            b = scratch.model_force
            copy(scratch.smooth_force, b)
            add_spring_forces(contacts, u, b)
            find_diagonal(matrix, contacts, scratch.diagonal)
            invert_diagonal(scratch.diagonal, scratch.inverse)
        iterations, first, _ = solve(
            matrix,
            contacts,
            problem.coarse,
            problem.increment.projection,
            problem.part,
            b.reshape(-1),
            limits.linear_tolerance,
            floor,
            limits.linear_iterations,
            direction,
            scratch,
        )
        total += iterations
        if number == 0:
            norm = first
            floor = max(floor, PASS_PRECISION * limits.linear_tolerance * norm)
        else:
            damp_pass(problem)
        if contacts.gap.shape[0] == 0:
            break
        # What do the contacts really do there? If the same, only planes that are still too deep are raised.
        copy(scratch.direction, scratch.before)
        add(u, scratch.direction, scratch.trial)
        if update_active_set(contacts, scratch.trial, limits.settled):
            continue
        if number == MOST_PASSES - 1 or not raise_multipliers(contacts, scratch.trial):
            break
    return total, norm


@njit_inside
def find_target(increment, guess, out_u):
    """Displacements (n, 3) as guessed, but with the hard pins at their targets."""
    projection, flat = increment.projection, out_u.reshape(-1)
    copy(guess, out_u)
    project(
        flat,
        projection.fixed,
        projection.basis_start,
        projection.basis_dof,
        projection.basis_value,
    )
    if increment.moved.shape[0]:
        add(out_u, increment.moved, out_u)


@njit_inside
def go_ahead(problem, standing):
    """Move u to where the step is foreseen to end, if E, but for contacts, is not higher there than `standing` [J]."""
    increment, solution, scratch = problem.increment, problem.solution, problem.scratch
    if increment.ahead.shape[0] == 0 or solution.elastic[1] > 0.0:
        return False
    find_target(increment, increment.ahead, scratch.trial)
    energy = find_value(problem, False, scratch.trial, scratch.trial_force)
    energy -= contact_energy(problem, scratch.trial)
    if not energy <= standing or solution.elastic[1] > 0.0:
        return False
    copy(scratch.trial, solution.u)
    return True


@njit_inside
def contact_energy(problem, u):
    """Energy of the contacts at displacements u (n, 3) [J]."""
    if problem.contacts.gap.shape[0] == 0:
        return 0.0
    return contact_energy_and_forces(problem.contacts, u, problem.scratch.trial_force)


@njit_inside
def prepare(problem, has_damping):
    """Matrix and forces at u, and a direction to start with, to the guess with the hard pins at their targets.

    Returns E and the sqrt of the matrix's trace.
    """
    scratch, u = problem.scratch, problem.solution.u
    find_value(problem, False, u, scratch.force)
    trace = assemble(problem, has_damping, False)
    energy = find_value(problem, has_damping, u, scratch.force)
    find_target(problem.increment, problem.increment.guess, scratch.trial)
    update_active_set(problem.contacts, scratch.trial)
    for i in range(u.shape[0]):
        for k in range(3):
            scratch.direction[i, k] = scratch.trial[i, k] - u[i, k]
    return energy, trace


@njit
def minimise(problem, limits):
    """Lower E from u = 0 as far as the limits ask; leaves u, the rotations, and what the contacts came to.

    Returns Newton steps, linear iterations, whether the residual was seen to be small enough, the shortest fraction.
    """
    problem = referred(problem)
    increment, contacts, scratch = problem.increment, problem.contacts, problem.scratch
    projection, solution = increment.projection, problem.solution
    turn_groups(problem.coarse, increment.x)
    # The damping of a step is made from the matrix that is assembled first.
    is_damped = False
    for i in range(increment.damping.shape[0]):
        is_damped = is_damped or increment.damping[i] > 0.0
    is_moved = increment.moved.shape[0] > 0
    clear(solution.u)
    standing = find_value(problem, False, solution.u, scratch.force)
    standing -= contact_energy(problem, solution.u)
    # Where it is foreseen to end, Newton's first step is as good as two from where it begins.
    is_ahead = go_ahead(problem, standing)
    energy, trace = prepare(problem, is_damped)
    floor = limits.precision * trace
    # A good guess leaves little, so that falling as far again would be too much: the loads are a measure as well.
    weighed = residual_norm(
        problem.coarse, projection, scratch.inverse, increment.load.reshape(-1), scratch
    )
    floor = max(floor, LOAD_SHARE * limits.newton_tolerance * weighed)
    has_parts = scratch.part_sums.shape[0] > 1
    newton = linear = extra = 0
    goal, taken, shortest, is_converged = 0.0, 1.0, 1.0, False
    while True:
        if newton == 0 and has_parts:
            residual_norm(
                problem.coarse, projection, scratch.inverse, scratch.force.reshape(-1), scratch
            )
            set_part_goals(
                problem.part,
                scratch.r,
                scratch.z,
                limits.newton_tolerance,
                floor,
                scratch.part_sums,
                NEWTON_GOAL,
            )
        iterations, norm = solve_for_direction(problem, limits, floor)
        linear += iterations
        newton += 1
        if newton == 1:
            goal = max(limits.newton_tolerance * max(norm, weighed), floor)
        if newton == 1 and is_ahead:
            add(solution.u, scratch.direction, solution.u)
            energy = find_value(problem, is_damped, solution.u, scratch.force)
            clear(scratch.direction)
            if not energy <= standing + contact_energy(problem, scratch.direction):
                clear(solution.u)
                is_ahead, newton = False, 0
                energy, _ = prepare(problem, is_damped)
                continue
        else:
            if contacts.gap.shape[0]:  # friction depends on the pressures that the solve has found
                energy = find_value(problem, is_damped, solution.u, scratch.force)
            if newton == 1 and is_moved:
                energy = reach_pins(problem, is_damped)
            else:
                energy, taken = search(problem, is_damped, energy)
        # A truncated solve from the guess may point uphill; from zero it never does.
        if newton > 1 or taken > 0.0:
            shortest = min(shortest, taken)
            if taken < SHORT:
                extra = min(extra + 1, MOST_EXTRA * (limits.newton_iterations - 1))
            if taken == 0.0 or newton >= limits.newton_iterations + extra:
                break
            norm = residual_norm(
                problem.coarse, projection, scratch.inverse, scratch.force.reshape(-1), scratch
            )
            is_converged = norm <= goal and not (
                has_parts
                and is_part_left(problem.part, scratch.r, scratch.z, scratch.part_sums, NEWTON_GOAL)
            )
            if is_converged:
                break
            assemble(problem, is_damped, is_damped)
        clear(scratch.direction)
    if contacts.gap.shape[0]:
        stabilise_positions(contacts, scratch.r[: solution.u.shape[0]], scratch.trial, solution.u)
        # Friction changes as a body is shifted, so that takes more than one.
        for _ in range(BALANCING):
            update_active_set(contacts, solution.u)
            balance_parts(problem)
        update_active_set(contacts, solution.u)
    else:
        balance_parts(problem)
    return newton, linear, is_converged, shortest


@njit
def take_over(rotation, collapse_pair, degenerate_time, out_rotation, out_pair, out_time):
    """Copy what is remembered of quadrature points; says whether any of it differs from what was there."""
    differs = False
    for q in range(rotation.shape[0]):
        for i in range(4):
            differs = differs or out_rotation[q, i] != rotation[q, i]
            out_rotation[q, i] = rotation[q, i]
        differs = differs or out_pair[q] != collapse_pair[q]
        differs = differs or out_time[q] != degenerate_time[q]
        out_pair[q], out_time[q] = collapse_pair[q], degenerate_time[q]
    return differs
