"""What a solver lowers during one step: an energy of the displacement u from the step's start,

    E(u) = sum_i w_i/2 |u_i - c_i|^2 - f.u + Psi(x + u) + b/2 (u - s).K (u - s) + springs + contacts

Inertia, mass damping, air drag and wind are wells (w_i, c_i) at the rows, gravity and loads are f, Psi is elastic, b K
is the Rayleigh stiffness damping with the stiffness where the solve starts, s a displacement that is not damped;
springs are soft pins; contacts add what `contact.response_kernels` says. Its minimum is an implicit step (thesis on
interactive co-rotational FEM, eqs. 3.1-3.5 in displacement form), or with no wells the static equilibrium.

Degenerate elements keep the rotation that DAPD gave them at the step's start, so their energy is quadratic during the
step and its gradient is DAPD's approximate stress (sec. 4.4.6): E is a true function, and a line search on it is sound.
"""

from typing import NamedTuple

import numpy as np

from jellycage.sim.contact.response_kernels import ContactRows, contact_energy_and_forces
from jellycage.sim.soft.constraints import Projection
from jellycage.sim.soft.elasticity_kernels import (
    hex_add_stiffness,
    hex_energy_and_forces,
    tet_add_stiffness,
    tet_energy_and_forces,
)
from jellycage.sim.soft.hourglass_kernels import (
    add_hourglass_stiffness,
    hourglass_energy_and_forces,
)
from jellycage.sim.solvers.coarse_space_kernels import CoarseSpace
from jellycage.sim.solvers.conjugate_gradients_kernels import (
    Matrix,
    dot,
    find_diagonal,
    invert_diagonal,
    multiply,
)
from jellycage.sim.solvers.springs_kernels import Springs, add_springs, spring_energy_and_forces
from jellycage.toolkit.compile_kernels import by_reference, njit, njit_called


class Increment(NamedTuple):
    """What one step asks for; see the head of this file."""

    x: np.ndarray
    """Positions at the start [m], shape (n, 3)."""
    inertia: np.ndarray
    """The part of w that stays the same from step to step [N/m], shape (n,): what the coarse space is made for."""
    weight: np.ndarray
    """w [N/m], shape (n,)."""
    centre: np.ndarray
    """c [m], shape (n, 3)."""
    load: np.ndarray
    """f [N], shape (n, 3)."""
    damping: np.ndarray
    """b, shape (n,)."""
    drift: np.ndarray
    """s [m], shape (n, 3)."""
    guess: np.ndarray
    """Where the first linear solve starts [m], shape (n, 3)."""
    ahead: np.ndarray
    """Where the step is foreseen to end [m], shape (n, 3), without rows if that is not known."""
    moved: np.ndarray
    """Displacement that takes the hard pins to their targets [m], shape (n, 3), without rows if they are there."""
    sliding: np.ndarray
    """Projector on the translations that hard pins leave each part, (00, 11, 22, 01, 02, 12), shape (parts, 6)."""
    springs: Springs
    """Soft pins."""
    projection: Projection
    """The motions that hard pins leave."""


class Solution(NamedTuple):
    """What a solver comes to."""

    u: np.ndarray
    """Displacements [m], shape (n, 3)."""
    elastic_x: np.ndarray
    """Where the elastic forces were found last [m], shape (n, 3)."""
    elastic_force: np.ndarray
    """[N], shape (n, 3)."""
    elastic: np.ndarray
    """Elastic energy [J] and number of degenerate points there, shape (2,)."""


class Scratch(NamedTuple):
    """Work arrays of a solver, of n rows."""

    x: np.ndarray
    """x + u."""
    force: np.ndarray
    """Minus the gradient of E at u."""
    smooth_force: np.ndarray
    """The same without contacts, where E was looked at last."""
    model_force: np.ndarray
    """Right-hand side of a linear solve with contacts."""
    direction: np.ndarray
    """Of Newton's step."""
    before: np.ndarray
    """Direction that the pass before came to."""
    trial: np.ndarray
    trial_force: np.ndarray
    damping: np.ndarray
    """Blocks of b K."""
    diagonal: np.ndarray
    """Diagonal blocks, shape (n, 6)."""
    inverse: np.ndarray
    """Their inverses, shape (9n,)."""
    r: np.ndarray
    """Shape (3n,), as the next three."""
    z: np.ndarray
    p: np.ndarray
    ap: np.ndarray
    part_sums: np.ndarray
    """Sums over each part, shape (parts, 10): of forces and stiffnesses, or of what is left to solve for."""


class Problem(NamedTuple):
    """Everything about one step of one system, passed to kernels as one reference.

    A kind of element that is None is not compiled for, which halves the time that the first step takes.
    """

    tets: object
    """`ElementBatch` or None."""
    tet_points: object
    """Their `QuadraturePoints` or None."""
    hexes: object
    hex_points: object
    hourglass: object
    """`Hourglass` of the hexes, or None without hexes."""
    part: np.ndarray
    """Part of each row, shape (n,)."""
    rounding: float
    """What rounding may add to the elastic energy [J]."""
    differential: int
    """See `elasticity`."""
    increment: Increment
    contacts: ContactRows
    matrix: Matrix
    coarse: CoarseSpace
    solution: Solution
    scratch: Scratch


refer_increment, refer_springs = by_reference(Increment), by_reference(Springs)
refer_projection, refer_contacts = by_reference(Projection), by_reference(ContactRows)
refer_matrix, refer_coarse = by_reference(Matrix), by_reference(CoarseSpace)
refer_solution, refer_scratch = by_reference(Solution), by_reference(Scratch)
refer_problem = by_reference(Problem)


@njit_called
def referred_increment(i):
    """An increment, and its springs and projection, by reference."""
    return refer_increment(
        i.x,
        i.inertia,
        i.weight,
        i.centre,
        i.load,
        i.damping,
        i.drift,
        i.guess,
        i.ahead,
        i.moved,
        i.sliding,
        refer_springs(*i.springs),
        refer_projection(*i.projection),
    )


@njit_called
def referred(p):
    """A problem, and what it is made of, by reference."""
    return refer_problem(
        p.tets,
        p.tet_points,
        p.hexes,
        p.hex_points,
        p.hourglass,
        p.part,
        p.rounding,
        p.differential,
        referred_increment(p.increment),
        refer_contacts(*p.contacts),
        refer_matrix(*p.matrix),
        refer_coarse(*p.coarse),
        refer_solution(*p.solution),
        refer_scratch(*p.scratch),
    )


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
def tet_forces(tets, points, x, out_force):
    """(energy, degenerate points) of the tets at x, if there are any; adds their forces."""
    if tets is None:
        return 0.0, 0
    return tet_energy_and_forces(x, tets, points, out_force)


@njit_called
def hex_forces(hexes, points, hourglass, x, out_force):
    """(energy, degenerate points) of the hexes at x, if there are any; adds their forces."""
    if hexes is None:
        return 0.0, 0
    energy, degenerate = hex_energy_and_forces(x, hexes, points, out_force)
    if hourglass.modes.shape[0]:
        energy += hourglass_energy_and_forces(x, hourglass, out_force)
    return energy, degenerate


@njit
def find_elastic_forces(
    tets, tet_points, hexes, hex_points, hourglass, x, out_x, out_force, out_elastic
):
    """Elastic energy and forces at x, see `Solution`, unless those of x are there already."""
    is_known = True
    for i in range(x.shape[0]):
        for k in range(3):
            is_known = is_known and out_x[i, k] == x[i, k]
        if not is_known:
            break
    if is_known:
        return
    clear(out_force)
    energy, degenerate = tet_forces(tets, tet_points, x, out_force)
    more, others = hex_forces(hexes, hex_points, hourglass, x, out_force)
    out_elastic[0], out_elastic[1] = energy + more, degenerate + others
    copy(x, out_x)


@njit_called
def find_value(problem, is_damped, u, out_force):
    """E(u) [J], and its negative gradient [N] in out_force."""
    increment, solution, scratch = problem.increment, problem.solution, problem.scratch
    x = scratch.x
    add(increment.x, u, x)
    find_elastic_forces(
        problem.tets,
        problem.tet_points,
        problem.hexes,
        problem.hex_points,
        problem.hourglass,
        x,
        solution.elastic_x,
        solution.elastic_force,
        solution.elastic,
    )
    # Elasticity, wells and loads.
    energy = solution.elastic[0]
    centre, weight, load = increment.centre, increment.weight, increment.load
    elastic_force = solution.elastic_force
    for i in range(u.shape[0]):
        for k in range(3):
            d = u[i, k] - centre[i, k]
            energy += 0.5 * weight[i] * d * d - load[i, k] * u[i, k]
            out_force[i, k] = elastic_force[i, k] + load[i, k] - weight[i] * d
    if increment.springs.stiffness.shape[0]:
        energy += spring_energy_and_forces(x, increment.springs, out_force)
    if is_damped:
        flat, drift = u.reshape(-1), increment.drift.reshape(-1)
        force, rate, damped = out_force.reshape(-1), scratch.p, scratch.ap
        for i in range(flat.shape[0]):
            rate[i] = flat[i] - drift[i]
        multiply(problem.matrix.start, problem.matrix.column, scratch.damping, rate, damped)
        energy += 0.5 * dot(rate, damped)
        for i in range(flat.shape[0]):
            force[i] -= damped[i]
    if problem.contacts.gap.shape[0]:
        copy(out_force, scratch.smooth_force)
        energy += contact_energy_and_forces(problem.contacts, u, out_force)
    return energy


@njit_called
def add_tet_stiffness(tets, points, differential, x, out_blocks):
    """Add the stiffness of the tets at x, if there are any."""
    if tets is not None:
        tet_add_stiffness(x, tets, points, differential, out_blocks)


@njit_called
def add_hex_stiffness(hexes, points, hourglass, differential, x, out_blocks):
    """Add the stiffness of the hexes at x, if there are any."""
    if hexes is not None:
        hex_add_stiffness(x, hexes, points, differential, out_blocks)
        if hourglass.modes.shape[0]:
            add_hourglass_stiffness(x, hourglass, out_blocks)


@njit_called
def assemble(problem, has_damping, is_damped):
    """The matrix at x + u: elastic, damping (that of u = 0), wells, springs. Returns sqrt of its trace."""
    increment, scratch, matrix = problem.increment, problem.scratch, problem.matrix
    blocks, start, damping, x = matrix.blocks, matrix.start, scratch.damping, scratch.x
    for i in range(blocks.shape[0]):
        blocks[i] = 0.0
    add(increment.x, problem.solution.u, x)
    differential = problem.differential
    add_tet_stiffness(problem.tets, problem.tet_points, differential, x, blocks)
    add_hex_stiffness(problem.hexes, problem.hex_points, problem.hourglass, differential, x, blocks)
    if has_damping:
        if not is_damped:
            for row in range(x.shape[0]):
                factor = increment.damping[row]
                for i in range(9 * start[row], 9 * start[row + 1]):
                    damping[i] = factor * blocks[i]
        for i in range(blocks.shape[0]):
            blocks[i] += damping[i]
    weight = increment.weight
    for i in range(x.shape[0]):
        o = 9 * start[i]
        blocks[o] += weight[i]
        blocks[o + 4] += weight[i]
        blocks[o + 8] += weight[i]
    if increment.springs.stiffness.shape[0]:
        add_springs(matrix, increment.springs)
    find_diagonal(matrix, problem.contacts, scratch.diagonal)
    return invert_diagonal(scratch.diagonal, scratch.inverse)
