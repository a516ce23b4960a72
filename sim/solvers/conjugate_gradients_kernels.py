"""Conjugate gradients on a symmetric matrix of 3x3 blocks, of which only the diagonal and upper ones are kept.

Half of the matrix is half of the memory traffic: every block is read once and used for both of its places. Contacts
stay out of the matrix and add their own products, see `contact.response_kernels`.
"""

import math
from typing import NamedTuple

import numpy as np

from jellycage.sim.contact.response_kernels import add_contact_diagonal, add_contact_products
from jellycage.sim.soft.constraints_kernels import project
from jellycage.sim.solvers.coarse_space_kernels import add_coarse
from jellycage.toolkit.compile_kernels import njit_called, njit_inside

LINEAR_GOAL, NEWTON_GOAL = 1, 2  # columns of `Scratch.part_sums`


class Matrix(NamedTuple):
    """Block rows (see `matrix_pattern`) and nine numbers per block."""

    start: np.ndarray
    column: np.ndarray
    blocks: np.ndarray


@njit_called
def multiply(start, column, blocks, x, out):
    """out = A x. The first block of every row is the diagonal one."""
    rows = np.uint64(start.shape[0] - 1)
    for i in range(3 * rows):
        out[i] = 0.0
    for row in range(rows):
        i = np.uint64(3 * row)
        x0, x1, x2 = x[i], x[i + np.uint64(1)], x[i + np.uint64(2)]
        s0 = s1 = s2 = 0.0
        # Unsigned indices: numba then leaves out the test for negative ones.
        first = np.uint64(start[row])
        o = np.uint64(9) * first
        s0 = blocks[o] * x0 + blocks[o + np.uint64(1)] * x1 + blocks[o + np.uint64(2)] * x2
        s1 = (
            blocks[o + np.uint64(3)] * x0
            + blocks[o + np.uint64(4)] * x1
            + blocks[o + np.uint64(5)] * x2
        )
        s2 = (
            blocks[o + np.uint64(6)] * x0
            + blocks[o + np.uint64(7)] * x1
            + blocks[o + np.uint64(8)] * x2
        )
        # Blocks above the diagonal act twice, as they are and transposed.
        for slot in range(first + np.uint64(1), np.uint64(start[row + np.uint64(1)])):
            o = np.uint64(9) * np.uint64(slot)
            j = np.uint64(3) * np.uint64(column[slot])
            y0, y1, y2 = x[j], x[j + np.uint64(1)], x[j + np.uint64(2)]
            b0, b1, b2 = blocks[o], blocks[o + np.uint64(1)], blocks[o + np.uint64(2)]
            b3, b4, b5 = (
                blocks[o + np.uint64(3)],
                blocks[o + np.uint64(4)],
                blocks[o + np.uint64(5)],
            )
            b6, b7, b8 = (
                blocks[o + np.uint64(6)],
                blocks[o + np.uint64(7)],
                blocks[o + np.uint64(8)],
            )
            s0 += b0 * y0 + b1 * y1 + b2 * y2
            s1 += b3 * y0 + b4 * y1 + b5 * y2
            s2 += b6 * y0 + b7 * y1 + b8 * y2
            out[j] += b0 * x0 + b3 * x1 + b6 * x2
            out[j + np.uint64(1)] += b1 * x0 + b4 * x1 + b7 * x2
            out[j + np.uint64(2)] += b2 * x0 + b5 * x1 + b8 * x2
        out[i] += s0
        out[i + np.uint64(1)] += s1
        out[i + np.uint64(2)] += s2


@njit_called
def multiply_all(matrix, contacts, x, out):
    """out = A x + sum J^T B J x."""
    multiply(matrix.start, matrix.column, matrix.blocks, x, out)
    add_contact_products(contacts, x, out)


@njit_called
def find_diagonal(matrix, contacts, out_diagonal):
    """Diagonal blocks of A + sum J^T B J as (00, 11, 22, 01, 02, 12), shape (n, 6)."""
    start, blocks = matrix.start, matrix.blocks
    for row in range(start.shape[0] - 1):
        o = 9 * start[row]
        out_diagonal[row, 0], out_diagonal[row, 3] = blocks[o], blocks[o + 1]
        out_diagonal[row, 4], out_diagonal[row, 1] = blocks[o + 2], blocks[o + 4]
        out_diagonal[row, 5], out_diagonal[row, 2] = blocks[o + 5], blocks[o + 8]
    add_contact_diagonal(contacts, out_diagonal)


@njit_called
def invert_diagonal(diagonal, out):
    """Inverse of every diagonal block, nine numbers each; returns sqrt(trace A), metres to the norm of residuals."""
    trace = 0.0
    for row in range(diagonal.shape[0]):
        a, b, c = diagonal[row, 0], diagonal[row, 3], diagonal[row, 4]
        d, e, f = diagonal[row, 1], diagonal[row, 5], diagonal[row, 2]
        trace += a + d + f
        c00, c01, c02 = d * f - e * e, c * e - b * f, b * e - c * d
        det = a * c00 + b * c01 + c * c02
        i = 9 * row
        if det > 1e-12 * a * d * f:
            out[i], out[i + 1], out[i + 2] = c00 / det, c01 / det, c02 / det
            out[i + 3], out[i + 4], out[i + 5] = (
                out[i + 1],
                (a * f - c * c) / det,
                (b * c - a * e) / det,
            )
            out[i + 6], out[i + 7], out[i + 8] = out[i + 2], out[i + 5], (a * d - b * b) / det
        else:
            for k in range(9):
                out[i + k] = 0.0
            out[i] = 1.0 / a if a > 0.0 else 1.0
            out[i + 4] = 1.0 / d if d > 0.0 else 1.0
            out[i + 8] = 1.0 / f if f > 0.0 else 1.0
    return math.sqrt(trace)


@njit_called
def precondition(coarse, projection, inverse, r, out_z):
    """z = S (D^-1 + coarse part) r for a residual r that is projected already; returns r . z."""
    fixed = projection.fixed
    for row in range(r.shape[0] // 3):
        i, o = 3 * row, 9 * row
        r0, r1, r2 = r[i], r[i + 1], r[i + 2]
        z0 = inverse[o] * r0 + inverse[o + 1] * r1 + inverse[o + 2] * r2
        z1 = inverse[o + 3] * r0 + inverse[o + 4] * r1 + inverse[o + 5] * r2
        z2 = inverse[o + 6] * r0 + inverse[o + 7] * r1 + inverse[o + 8] * r2
        out_z[i] = 0.0 if fixed[i] else z0
        out_z[i + 1] = 0.0 if fixed[i + 1] else z1
        out_z[i + 2] = 0.0 if fixed[i + 2] else z2
    add_coarse(coarse, fixed, r, out_z)
    project_basis(projection, out_z)
    return dot(r, out_z)


@njit_called
def project_basis(projection, out):
    """Take the components along the constraints out of a vector that is 0 at fixed dofs."""
    if projection.basis_start.shape[0] > 1:
        project(
            out,
            projection.fixed,
            projection.basis_start,
            projection.basis_dof,
            projection.basis_value,
        )


@njit_inside
def residual_norm(coarse, projection, inverse, residual, scratch):
    """sqrt(r . M^-1 r) of the projected residual, about the energy that is still to be had."""
    fixed, r = projection.fixed, scratch.r
    for i in range(residual.shape[0]):
        r[i] = 0.0 if fixed[i] else residual[i]
    project_basis(projection, r)
    return math.sqrt(max(precondition(coarse, projection, inverse, r, scratch.z), 0.0))


@njit_called
def find_part_sums(part, r, z, out_sums):
    """r . z of each part, column 0 of out_sums."""
    out_sums[:, 0] = 0.0
    for row in range(part.shape[0]):
        i = 3 * row
        out_sums[part[row], 0] += r[i] * z[i] + r[i + 1] * z[i + 1] + r[i + 2] * z[i + 2]


@njit_called
def set_part_goals(part, r, z, tolerance, floor, out_sums, goal):
    """What r . z of each part is to fall to, a column of out_sums: each part has its share of the floor by its rows."""
    find_part_sums(part, r, z, out_sums)
    out_sums[:, goal] = 0.0
    for row in range(part.shape[0]):
        out_sums[part[row], goal] += floor * floor / part.shape[0]
    for c in range(out_sums.shape[0]):
        out_sums[c, goal] = max(out_sums[c, goal], tolerance * tolerance * out_sums[c, 0])


@njit_called
def is_part_left(part, r, z, sums, goal):
    """Whether r . z of any part is above its goal in a column of sums."""
    find_part_sums(part, r, z, sums)
    for c in range(sums.shape[0]):
        if sums[c, 0] > sums[c, goal]:
            return True
    return False


@njit_called
def solve(matrix, contacts, coarse, projection, part, b, tolerance, floor, most, out_x, scratch):
    """Projected, preconditioned conjugate gradients for (A + sum J^T B J) x = b from the x given.

    x keeps its components along the constraints: the residual and every search direction are projected (Ascher,
    Boxerman 2003, with the projector of `constraints`). Stops when sqrt(r . M^-1 r) has fallen to `floor`, or to
    `tolerance` times its first value, in all and in every part, for a small one hardly counts in the whole; or after
    `most` iterations. Returns the iterations, the first and the last norm.
    """
    size, fixed, inverse = b.shape[0], projection.fixed, scratch.inverse
    r, z, p, ap = scratch.r, scratch.z, scratch.p, scratch.ap
    multiply_all(matrix, contacts, out_x, ap)
    for i in range(size):
        r[i] = 0.0 if fixed[i] else b[i] - ap[i]
    project_basis(projection, r)
    rz = precondition(coarse, projection, inverse, r, z)
    for i in range(size):
        p[i] = z[i]
    first = rz
    goal = max(tolerance * tolerance * first, floor * floor)
    has_parts = scratch.part_sums.shape[0] > 1
    if has_parts:
        set_part_goals(part, r, z, tolerance, floor, scratch.part_sums, LINEAR_GOAL)
    iterations = 0
    while iterations < most:
        if rz <= goal and not (
            has_parts and is_part_left(part, r, z, scratch.part_sums, LINEAR_GOAL)
        ):
            break
        multiply_all(matrix, contacts, p, ap)
        pap = dot(p, ap)
        if not pap > 0.0:
            break
        alpha = rz / pap
        for i in range(size):
            out_x[i] += alpha * p[i]
            r[i] = 0.0 if fixed[i] else r[i] - alpha * ap[i]
        project_basis(projection, r)
        new = precondition(coarse, projection, inverse, r, z)
        beta = new / rz
        rz = new
        for i in range(size):
            p[i] = z[i] + beta * p[i]
        iterations += 1
    return iterations, math.sqrt(max(first, 0.0)), math.sqrt(max(rz, 0.0))


@njit_called
def dot(a, b):
    """Sum of products of two flat arrays, in four interleaved sums: fast, and the same on any number of threads."""
    size = a.shape[0]
    s0 = s1 = s2 = s3 = 0.0
    for i in range(0, size - 3, 4):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
    for i in range(size - size % 4, size):
        s0 += a[i] * b[i]
    return (s0 + s1) + (s2 + s3)
