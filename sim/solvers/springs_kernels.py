"""Soft pins: springs stiffness/2 |B (J x - target)|^2 from points to targets."""

from typing import NamedTuple

import numpy as np

from jellycage.toolkit.compile_kernels import njit_called, njit_inside


class Springs(NamedTuple):
    """Springs from points to targets."""

    nodes: np.ndarray
    """Nodes of each point, all of one element, shape (s, a); padded with weight 0."""
    weights: np.ndarray
    """Their weights, shape (s, a)."""
    stiffness: np.ndarray
    """[N/m], shape (s,)."""
    blocked: np.ndarray
    """B = sum of d d^T over the blocked directions, as (00, 11, 22, 01, 02, 12), shape (s, 6)."""
    target: np.ndarray
    """[m], shape (s, 3)."""


NO_SPRINGS = Springs(
    nodes=np.zeros((0, 1), np.int32),
    weights=np.zeros((0, 1)),
    stiffness=np.zeros(0),
    blocked=np.zeros((0, 6)),
    target=np.zeros((0, 3)),
)


@njit_called
def pull_of(springs, x, p):
    """Offset J x - target [m] of a spring and minus its force on its point [N]."""
    target, b, k = springs.target[p], springs.blocked[p], springs.stiffness[p]
    nodes, weights = springs.nodes, springs.weights
    dx, dy, dz = -target[0], -target[1], -target[2]
    for a in range(nodes.shape[1]):
        n, w = nodes[p, a], weights[p, a]
        dx += w * x[n, 0]
        dy += w * x[n, 1]
        dz += w * x[n, 2]
    return (
        (dx, dy, dz),
        (
            k * (b[0] * dx + b[3] * dy + b[4] * dz),
            k * (b[3] * dx + b[1] * dy + b[5] * dz),
            k * (b[4] * dx + b[5] * dy + b[2] * dz),
        ),
    )


@njit_inside
def spring_energy_and_forces(x, springs, out_force):
    """Energy [J] of the springs at x (n, 3); adds the forces [N]."""
    total = 0.0
    nodes, weights = springs.nodes, springs.weights
    for p in range(nodes.shape[0]):
        (dx, dy, dz), (fx, fy, fz) = pull_of(springs, x, p)
        total += 0.5 * (fx * dx + fy * dy + fz * dz)
        for a in range(nodes.shape[1]):
            n, w = nodes[p, a], weights[p, a]
            out_force[n, 0] -= w * fx
            out_force[n, 1] -= w * fy
            out_force[n, 2] -= w * fz
    return total


@njit_inside
def add_springs(matrix, springs):
    """Add the springs' stiffness J^T (k B) J to the upper blocks; nodes of a point share an element, so all exist."""
    start, column, blocks = matrix.start, matrix.column, matrix.blocks
    for p in range(springs.nodes.shape[0]):
        b, nodes, weights = springs.blocked[p], springs.nodes[p], springs.weights[p]
        for i in range(nodes.shape[0]):
            for j in range(nodes.shape[0]):
                row, col = nodes[i], nodes[j]
                k = springs.stiffness[p] * weights[i] * weights[j]
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
                blocks[o] += k * b[0]
                blocks[o + 4] += k * b[1]
                blocks[o + 8] += k * b[2]
                blocks[o + 1] += k * b[3]
                blocks[o + 3] += k * b[3]
                blocks[o + 2] += k * b[4]
                blocks[o + 6] += k * b[4]
                blocks[o + 5] += k * b[5]
                blocks[o + 7] += k * b[5]
