"""Conjugate gradients on a symmetric matrix of 3x3 blocks, of which only the diagonal and upper ones are kept.

Half of the matrix is half of the memory traffic: every block is read once and used for both of its places.
"""

import math
from typing import NamedTuple

import numpy as np

from jellycage.sim.soft.constraints_kernels import project
from jellycage.sim.solvers.coarse_space_kernels import add_coarse
from jellycage.toolkit.compile_kernels import njit_called, njit_inside


class Matrix(NamedTuple):
    """Block rows (see `matrix_pattern`) and nine numbers per block."""

    start: np.ndarray
    column: np.ndarray
    blocks: np.ndarray


class Constraints(NamedTuple):
    """The arrays of a `constraints.Projection`."""

    fixed: np.ndarray
    basis_start: np.ndarray
    basis_dof: np.ndarray
    basis_value: np.ndarray


class Preconditioner(NamedTuple):
    """Inverse diagonal blocks (9n,), a `CoarseSpace`, the rotations of its groups (g, 9), and scratch (12 g,)."""

    inverse: np.ndarray
    group: np.ndarray
    mode: np.ndarray
    coarse_inverse: np.ndarray
    turn: np.ndarray
    coarse: np.ndarray
    coarse_out: np.ndarray


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
def invert_diagonal(start, blocks, out):
    """Inverse of every diagonal block, nine numbers each; returns sqrt(trace A), metres to the norm of residuals."""
    trace = 0.0
    for row in range(start.shape[0] - 1):
        o = 9 * start[row]
        a, b, c = blocks[o], blocks[o + 1], blocks[o + 2]
        d, e, f = blocks[o + 4], blocks[o + 5], blocks[o + 8]
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
def precondition(m, c, r, out_z):
    """z = S (D^-1 + coarse part) r for a residual r that is projected already; returns r . z."""
    inverse, fixed = m.inverse, c.fixed
    for row in range(r.shape[0] // 3):
        i, o = 3 * row, 9 * row
        r0, r1, r2 = r[i], r[i + 1], r[i + 2]
        z0 = inverse[o] * r0 + inverse[o + 1] * r1 + inverse[o + 2] * r2
        z1 = inverse[o + 3] * r0 + inverse[o + 4] * r1 + inverse[o + 5] * r2
        z2 = inverse[o + 6] * r0 + inverse[o + 7] * r1 + inverse[o + 8] * r2
        out_z[i] = 0.0 if fixed[i] else z0
        out_z[i + 1] = 0.0 if fixed[i + 1] else z1
        out_z[i + 2] = 0.0 if fixed[i + 2] else z2
    add_coarse(m.group, m.mode, m.coarse_inverse, m.turn, fixed, r, m.coarse, m.coarse_out, out_z)
    if c.basis_start.shape[0] > 1:
        project(out_z, fixed, c.basis_start, c.basis_dof, c.basis_value)
    return dot(r, out_z)


@njit_inside
def residual_norm(m, c, residual, r, z):
    """sqrt(r . M^-1 r) of the projected residual, about the energy that is still to be had; r, z are scratch."""
    fixed = c.fixed
    for i in range(residual.shape[0]):
        r[i] = 0.0 if fixed[i] else residual[i]
    if c.basis_start.shape[0] > 1:
        project(r, fixed, c.basis_start, c.basis_dof, c.basis_value)
    return math.sqrt(max(precondition(m, c, r, z), 0.0))


@njit_called
def solve(a, m, c, b, tolerance, floor, most, out_x, r, z, p, ap):
    """Projected, preconditioned conjugate gradients for A x = b from the x given.

    x keeps its components along the constraints: the residual and every search direction are projected (Ascher,
    Boxerman 2003, with the projector of `constraints`). Stops when sqrt(r . M^-1 r) has fallen to `floor`, or to
    `tolerance` times its first value, or after `most` iterations. Returns the iterations, the first and the last norm.
    """
    size, fixed = b.shape[0], c.fixed
    has_basis = c.basis_start.shape[0] > 1
    multiply(a.start, a.column, a.blocks, out_x, ap)
    for i in range(size):
        r[i] = 0.0 if fixed[i] else b[i] - ap[i]
    if has_basis:
        project(r, fixed, c.basis_start, c.basis_dof, c.basis_value)
    rz = precondition(m, c, r, z)
    for i in range(size):
        p[i] = z[i]
    first = rz
    goal = max(tolerance * tolerance * first, floor * floor)
    iterations = 0
    while iterations < most and rz > goal:
        multiply(a.start, a.column, a.blocks, p, ap)
        pap = dot(p, ap)
        if not pap > 0.0:
            break
        alpha = rz / pap
        for i in range(size):
            out_x[i] += alpha * p[i]
            r[i] = 0.0 if fixed[i] else r[i] - alpha * ap[i]
        if has_basis:
            project(r, fixed, c.basis_start, c.basis_dof, c.basis_value)
        new = precondition(m, c, r, z)
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
