"""Orthonormal bases, projections and least squares over sparse constraint rows (CSR over the 3n degrees of freedom)."""

from typing import NamedTuple

import numpy as np

from jellycage.toolkit.compile_kernels import njit, njit_called

DEPENDENT = 1e-7  # a unit row with a smaller remainder depends on the rows before it; rounding leaves about 1e-14
CONVERGED = 1e-13  # gradient of the least squares, relative to where it started
EXACT = 1e-15  # gradient that is only rounding, relative to the residual
RISE = 1e-9  # of the squared residual, which can only fall: more than this is rounding gone wild
PATIENCE = 200  # iterations in which that gradient must halve, else rounding has stopped it


@njit_called
def project(vector, fixed, basis_start, basis_dof, basis_value):
    """Take the constrained part out of a flat (3n,) vector, in place: vector = S vector."""
    for i in range(vector.shape[0]):
        if fixed[i]:
            vector[i] = 0.0
    for b in range(basis_start.shape[0] - 1):
        part = 0.0
        for k in range(basis_start[b], basis_start[b + 1]):
            part += basis_value[k] * vector[basis_dof[k]]
        for k in range(basis_start[b], basis_start[b + 1]):
            vector[basis_dof[k]] -= part * basis_value[k]


class RowArrays(NamedTuple):
    """Constraint rows: CSR over the 3n dofs."""

    start: np.ndarray
    dof: np.ndarray
    weight: np.ndarray


class RowBlocks(NamedTuple):
    """Dofs and rows of blocks that share no dof, both as CSR, and the place of each dof in its block, shape (3n,)."""

    place: np.ndarray
    dof_start: np.ndarray
    dof: np.ndarray
    row_start: np.ndarray
    row: np.ndarray


class Basis(NamedTuple):
    """Orthonormal vectors as CSR; how free each dof is, (3n,); what they leave of each row, (r,)."""

    start: np.ndarray
    dof: np.ndarray
    value: np.ndarray
    freedom: np.ndarray
    """How much of a motion of each dof alone the rows let through, 1 for dofs in no row."""
    remainder: np.ndarray


@njit_called
def orthonormalise_block(rows, which, place, dofs, made, least, out):
    """Add an orthonormal basis of some rows over some dofs to a CSR with `made` rows; returns its new row count.

    place (3n,): where each dof is in dofs.
    The row with the longest remainder goes next: in another order a short one would be taken whose direction is mostly
    rounding, and the error would grow from row to row.
    """
    row_start, row_dof, row_weight = rows.start, rows.dof, rows.weight
    out_start, out_dof, out_value = out.start, out.dof, out.value
    size = dofs.shape[0]
    u, S = np.empty(size), np.zeros((size, size))
    for i in range(size):
        S[i, i] = 1.0
    remainder = np.empty(which.shape[0])  # squared
    for r in range(which.shape[0]):
        remainder[r] = norm_squared(row_weight[row_start[which[r]] : row_start[which[r] + 1]])
    for _ in range(which.shape[0]):
        longest = np.argmax(remainder)
        if remainder[longest] < least * least:
            break
        row = which[longest]
        remainder[longest] = 0.0
        if find_remainder(rows, row, place, S, u) < least:
            continue
        end = out_start[made]
        for i in range(size):
            if u[i] != 0.0:
                out_dof[end], out_value[end] = dofs[i], u[i]
                end += 1
                for j in range(size):
                    S[i, j] -= u[i] * u[j]
        made += 1
        out_start[made] = end
        for r in range(which.shape[0]):
            part = 0.0
            for k in range(row_start[which[r]], row_start[which[r] + 1]):
                part += row_weight[k] * u[place[row_dof[k]]]
            remainder[r] -= part * part
    for i in range(size):
        out.freedom[dofs[i]] = np.sqrt(norm_squared(S[i]))
    for r in range(which.shape[0]):
        out.remainder[which[r]] = np.sqrt(max(remainder[r], 0.0))
    return made


@njit_called
def find_remainder(rows, row, place, S, out_u):
    """The unit vector along S h, for one row h; returns the length of S h."""
    row_dof, row_weight = rows.dof, rows.weight
    size = S.shape[0]
    once = np.zeros(size)
    for k in range(rows.start[row], rows.start[row + 1]):
        i = place[row_dof[k]]
        for j in range(size):
            once[j] += row_weight[k] * S[i, j]
    # Twice: the first time leaves a little along the older vectors, and more of it the shorter the remainder is.
    out_u[:] = 0.0
    for i in range(size):
        if once[i] != 0.0:
            for j in range(size):
                out_u[j] += once[i] * S[i, j]
    length = np.sqrt(norm_squared(out_u))
    for i in range(size):
        out_u[i] /= length
    return length


@njit
def orthonormalise_blocks(rows, blocks, least, out):
    """Orthonormal basis of rows, block by block, into a `Basis`; returns how many vectors it has.

    Rows with a remainder below `least` are left out.
    """
    made = 0
    out.start[0] = 0
    out.freedom[:] = 1.0
    for b in range(blocks.dof_start.shape[0] - 1):
        dofs = blocks.dof[blocks.dof_start[b] : blocks.dof_start[b + 1]]
        which = blocks.row[blocks.row_start[b] : blocks.row_start[b + 1]]
        if which.shape[0]:
            made = orthonormalise_block(rows, which, blocks.place, dofs, made, least, out)
    return made


@njit
def solve_least_squares(row_start, row_dof, row_weight, wanted, iterations, out_d):
    """Smallest d that minimises |H d - wanted|, by conjugate gradients on H^T H (CGLS); returns the iterations taken.

    out_d (3n,) must come in as zeros: started there, d never leaves the row space of H, so it is the smallest.
    """
    residual = wanted.copy()
    image = np.empty(wanted.shape[0])
    gradient = np.empty(out_d.shape[0])
    multiply_transposed(row_start, row_dof, row_weight, residual, gradient)
    direction = gradient.copy()
    size = norm_squared(gradient)
    # Rows that contradict each other leave a residual, and of their gradient nothing but rounding.
    left = norm_squared(residual)
    enough = max(CONVERGED * CONVERGED * size, EXACT * EXACT * left)
    best, waited = size, 0
    for iteration in range(iterations):
        if size <= enough or waited > PATIENCE:
            return iteration
        multiply(row_start, row_dof, row_weight, direction, image)
        step = size / norm_squared(image)
        for row in range(residual.shape[0]):
            residual[row] -= step * image[row]
        before = left
        left = norm_squared(residual)
        if not left <= before * (1.0 + RISE):
            return iteration
        for i in range(out_d.shape[0]):
            out_d[i] += step * direction[i]
        multiply_transposed(row_start, row_dof, row_weight, residual, gradient)
        before = size
        size = norm_squared(gradient)
        for i in range(out_d.shape[0]):
            direction[i] = gradient[i] + size / before * direction[i]
        waited += 1
        if size < 0.25 * best:
            best, waited = size, 0
    return iterations


@njit
def find_distances(row_start, row_dof, row_weight, x, goal, near, out_wanted):
    """goal - H x, the way that each row still has to go; returns whether all are within `near`."""
    multiply(row_start, row_dof, row_weight, x, out_wanted)
    is_near = True
    for row in range(goal.shape[0]):
        out_wanted[row] = goal[row] - out_wanted[row]
        is_near = is_near and abs(out_wanted[row]) <= near
    return is_near


@njit_called
def multiply(row_start, row_dof, row_weight, d, out_values):
    """H d: the value of each row."""
    for row in range(row_start.shape[0] - 1):
        total = 0.0
        for k in range(row_start[row], row_start[row + 1]):
            total += row_weight[k] * d[row_dof[k]]
        out_values[row] = total


@njit_called
def multiply_transposed(row_start, row_dof, row_weight, values, out_d):
    """H^T values: what the rows' values do to each dof."""
    out_d[:] = 0.0
    for row in range(row_start.shape[0] - 1):
        for k in range(row_start[row], row_start[row + 1]):
            out_d[row_dof[k]] += row_weight[k] * values[row]


@njit_called
def norm_squared(vector):
    """Sum of squares, in order."""
    total = 0.0
    for value in vector:
        total += value * value
    return total
