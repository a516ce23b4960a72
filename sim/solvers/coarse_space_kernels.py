"""The coarse matrix, its inverse, the rotations of the groups, and the coarse part of the preconditioner."""

from typing import NamedTuple

import numpy as np

from jellycage.sim.maths.matrix3_kernels import times, transposed
from jellycage.sim.rotations.svd_kernels import svd_rotation
from jellycage.toolkit.compile_kernels import njit, njit_called, njit_inside


class CoarseSpace(NamedTuple):
    """Groups of nodes, the inverse of the coarse matrix, and what changes from step to step."""

    group: np.ndarray
    """Group of each node, shape (n,)."""
    mode: np.ndarray
    """(1, y0, y1, y2) of each node, y its rest offset from the group's centre in radii of the group, shape (n, 4)."""
    inverse: np.ndarray
    """C, a dense block for each part, one after the other, by rows; unknown 12 group + 3 mode + axis."""
    start: np.ndarray
    """First unknown of each part and the end, shape (parts + 1,)."""
    turn: np.ndarray
    """Rotation of each group from rest, shape (g, 9); written in every step."""
    r: np.ndarray
    """Scratch, shape (12 g,)."""
    z: np.ndarray
    """Scratch, shape (12 g,)."""


NEGLIGIBLE = 1e-10  # a pivot below this fraction of its diagonal belongs to a mode that the others already make


@njit
def coarse_matrix(start, column, blocks, rows, group, mode, fixed, size):
    """W^T A W of rows that no others are tied to, shape (size, size), with the fixed dofs left out of the modes."""
    out = np.zeros((size, size))
    for row in rows:
        for slot in range(start[row], start[row + 1]):
            col = column[slot]
            for a in range(3):
                for b in range(3):
                    if fixed[3 * row + a] or fixed[3 * col + b]:
                        continue
                    value = blocks[9 * slot + 3 * a + b]
                    for i in range(4):
                        for j in range(4):
                            part = mode[row, i] * value * mode[col, j]
                            k = 12 * group[row] + 3 * i + a
                            m = 12 * group[col] + 3 * j + b
                            out[k, m] += part
                            if row != col:
                                out[m, k] += part
    return out


@njit
def invert_semidefinite(out):
    """Replace a symmetric positive semi-definite matrix by its inverse on the modes that are independent."""
    size = out.shape[0]
    diagonal = np.empty(size)
    dropped = np.zeros(size, np.bool_)
    for i in range(size):
        diagonal[i] = out[i, i]
    for k in range(size):
        pivot = out[k, k]
        if not pivot > NEGLIGIBLE * diagonal[k]:
            dropped[k] = True
            for i in range(size):
                out[i, k] = out[k, i] = 0.0
            continue
        # Gauss-Jordan without row exchanges, which a definite matrix does not need.
        out[k, k] = 1.0
        for j in range(size):
            out[k, j] /= pivot
        for i in range(size):
            if i != k and not dropped[i]:
                factor = out[i, k]
                if factor != 0.0:
                    out[i, k] = 0.0
                    for j in range(size):
                        out[i, j] -= factor * out[k, j]
    for i in range(size):
        for j in range(i):
            if dropped[i] or dropped[j]:
                out[i, j] = out[j, i] = 0.0
            else:
                out[i, j] = out[j, i] = 0.5 * (out[i, j] + out[j, i])


@njit_inside
def turn_groups(coarse, x):
    """Find the rotation of each group from rest by the best affine fit to its nodes at x."""
    group, mode, out_turn = coarse.group, coarse.mode, coarse.turn
    count = out_turn.shape[0]
    centre = np.zeros((count, 4))
    fit = np.zeros((count, 9))
    for i in range(x.shape[0]):
        g = group[i]
        centre[g, 3] += 1.0
        for k in range(3):
            centre[g, k] += x[i, k]
    for i in range(x.shape[0]):
        g = group[i]
        for k in range(3):
            d = x[i, k] - centre[g, k] / centre[g, 3]
            for m in range(3):
                fit[g, 3 * k + m] += d * mode[i, 1 + m]
    for g in range(count):
        f = fit[g]
        r, _, _, _, _ = svd_rotation((f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8]))
        for k in range(9):
            out_turn[g, k] = r[k]


@njit_called
def add_coarse(space, fixed, r, out_z):
    """out_z += W Q C Q^T W^T r, fixed dofs left alone."""
    group, mode, inverse, start = space.group, space.mode, space.inverse, space.start
    turn, coarse, coarse_out = space.turn, space.r, space.z
    # W^T r, turned back to the groups' rest frames.
    for k in range(coarse.shape[0]):
        coarse[k] = 0.0
    for i in range(group.shape[0]):
        o = 12 * group[i]
        r0, r1, r2 = r[3 * i], r[3 * i + 1], r[3 * i + 2]
        for k in range(4):
            m = mode[i, k]
            coarse[o + 3 * k] += m * r0
            coarse[o + 3 * k + 1] += m * r1
            coarse[o + 3 * k + 2] += m * r2
    for g in range(turn.shape[0]):
        t = turn[g]
        back = transposed((t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8]))
        for k in range(4):
            o = 12 * g + 3 * k
            coarse[o], coarse[o + 1], coarse[o + 2] = times(
                back, coarse[o], coarse[o + 1], coarse[o + 2]
            )
    # C, block by block.
    for i in range(coarse.shape[0]):
        coarse_out[i] = 0.0
    o = 0
    for part in range(start.shape[0] - 1):
        first, last = start[part], start[part + 1]
        size = last - first
        given, found = coarse[first:last], coarse_out[first:last]
        block = inverse[o : o + size * size].reshape(size, size)
        for j in range(given.shape[0]):
            c = given[j]
            for i in range(given.shape[0]):
                found[i] += block[j, i] * c
        o += size * size
    # Back to the world and out to the nodes.
    for g in range(turn.shape[0]):
        t = turn[g]
        forth = (t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8])
        for k in range(4):
            o = 12 * g + 3 * k
            coarse_out[o], coarse_out[o + 1], coarse_out[o + 2] = times(
                forth, coarse_out[o], coarse_out[o + 1], coarse_out[o + 2]
            )
    for i in range(group.shape[0]):
        o = 12 * group[i]
        z0 = z1 = z2 = 0.0
        for k in range(4):
            m = mode[i, k]
            z0 += m * coarse_out[o + 3 * k]
            z1 += m * coarse_out[o + 3 * k + 1]
            z2 += m * coarse_out[o + 3 * k + 2]
        if not fixed[3 * i]:
            out_z[3 * i] += z0
        if not fixed[3 * i + 1]:
            out_z[3 * i + 1] += z1
        if not fixed[3 * i + 2]:
            out_z[3 * i + 2] += z2
