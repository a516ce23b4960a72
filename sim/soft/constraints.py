"""Hard pins as linear constraints H dx = wanted, and the projection that keeps an iterative solver on them.

Thesis on interactive co-rotational FEM, sec. 3.4.2.1. A row of H is one blocked direction of one point, eq. 3.45; a
degree of freedom (dof) is 3 * node + axis. A solver moves to `prescribed` once and then projects its search
directions with S, so that H dx = 0 in every iteration, eq. 3.42.

Differs from the thesis: its S_e = I - H_e^T H_e, eq. 3.44, is a projector only if the rows of H_e are orthonormal,
and one element's projection undoes another's where they share nodes. Here S = I - H^T (H H^T)^+ H, once for all rows:
they may overlap and repeat each other, as the rows of fifty pinned points in one tet do.

How: S starts as I; the longest remainder u = S h of a row h is taken next, and S loses u u^T / |u|^2. A row that
depends on those before it has no remainder and costs next to nothing. Rows fall into blocks that share no dof, with
one dense S for each; the axes of point pins are such blocks. Dofs that are left no freedom are then zeroed by a flag,
and what remains of the rows on the other dofs is made orthonormal again: it is empty for pinned nodes, and short
where many points pin whole elements.

Limitations: time grows with the cube and memory with the square of the dofs in a block, and rows that nearly determine
each other make nodes leap. `can_be_met` says which rows are fit for this; the others are springs, see `pin_springs`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_matrix, csr_array
from scipy.sparse.csgraph import connected_components

from jellycage.sim.soft.constraints_kernels import (
    DEPENDENT,
    Basis,
    RowArrays,
    RowBlocks,
    orthonormalise_blocks,
    solve_least_squares,
)
from jellycage.sim.soft.points import Points
from jellycage.toolkit.arrays import frozen

# Below DEPENDENT of the kernels, so that rows cut off at fixed dofs leave nothing that counts; rounding is far below.
NO_FREEDOM = 1e-8
"""A dof is fixed if the rows let less than this share of its motion through."""
NEARLY_DEPENDENT = 0.2  # of a unit row: less than this left by the others makes nodes leap five times as far as asked
LEAST_LEFT = 1e-4  # of a row, between rounding and that
MOST_TIED = 64  # dofs that rows may tie together: projecting on more of them costs more than all else in an iteration
ITERATIONS_PER_DOF = 4
"""Cap of the least-squares iterations; without rounding one per dof would do."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Constraint rows: the sparse matrix H over the 3n dofs, one row after the other."""

    start: NDArray[np.int32]
    """CSR rows in `dof` and `weight`, shape (r+1,)."""
    dof: NDArray[np.int32]
    """Dof 3 * node + axis of each entry."""
    weight: NDArray[np.float64]
    """Value of each entry."""

    def __post_init__(self):
        for name, dtype in (("start", np.int32), ("dof", np.int32), ("weight", np.float64)):
            object.__setattr__(self, name, frozen(np.asarray(getattr(self, name), dtype)))

    def __len__(self):
        return len(self.start) - 1

    def row_of_entries(self) -> NDArray[np.int64]:
        """Row of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))


class Projection(NamedTuple):
    """S = I - H^T (H H^T)^+ H: zero the fixed dofs, then take out the components along the basis."""

    fixed: NDArray[np.uint8]
    """1 for each dof that has no freedom, shape (3n,)."""
    basis_start: NDArray[np.int32]
    """CSR rows of the basis, shape (b+1,)."""
    basis_dof: NDArray[np.int32]
    """Dof of each entry, never a fixed one."""
    basis_value: NDArray[np.float64]
    """Value of each entry; the b vectors are orthonormal."""


def constraint_rows(points: Points, directions: NDArray, which: ArrayLike) -> Rows:
    """One row for each of the points `which` (indices) and each direction (c, 3), points first, zeros left out."""
    which = np.asarray(which, np.int64)
    nodes, weights = points.nodes[which], points.weights[which]
    weight = directions[None, :, None, :] * weights[:, None, :, None]  # eq. 3.45: H_e = H_p J
    dof = np.broadcast_to(3 * nodes[:, None, :, None] + np.arange(3), weight.shape)
    kept = weight != 0.0
    count = kept.sum(axis=(2, 3)).reshape(-1)
    return Rows(np.append(0, np.cumsum(count)), dof[kept], weight[kept])


def row_values(offsets: NDArray, directions: NDArray, which: ArrayLike) -> NDArray[np.float64]:
    """Components of the points' offsets (k, 3) along the directions, in the order of `constraint_rows`, shape (r,)."""
    return np.einsum("kj,cj->kc", offsets[np.asarray(which, np.int64)], directions).reshape(-1)


def joined_rows(parts: Sequence[Rows]) -> Rows:
    """The rows of all parts, one part after the other."""
    starts, shift = [np.zeros(1, np.int64)], 0
    for part in parts:
        starts.append(part.start[1:] + shift)
        shift += int(part.start[-1])
    dof = [np.zeros(0, np.int32), *(part.dof for part in parts)]
    weight = [np.zeros(0), *(part.weight for part in parts)]
    return Rows(np.concatenate(starts), np.concatenate(dof), np.concatenate(weight))


def chosen_rows(rows: Rows, chosen: NDArray[np.bool_]) -> Rows:
    """Some of the rows, in their order."""
    count = np.diff(rows.start)
    kept = np.repeat(chosen, count)
    return Rows(np.append(0, np.cumsum(count[chosen])), rows.dof[kept], rows.weight[kept])


def projection(rows: Rows, node_count: int) -> Projection:
    """The orthogonal projector on the displacements that all rows leave free."""
    rows = _unit_rows(rows)
    freedom, _, _ = _orthonormal_basis(rows, 3 * node_count)
    fixed = freedom < NO_FREEDOM
    # Unit rows cut short keep their scale: what was negligible in the row stays so.
    _, basis, _ = _orthonormal_basis(_without(rows, fixed), 3 * node_count)
    return Projection(frozen(fixed.astype(np.uint8)), basis.start, basis.dof, basis.weight)


def joined_projections(parts: Sequence[Projection]) -> Projection:
    """The projection of a system whose members, one after the other, have these."""
    if len(parts) == 1:
        return parts[0]
    starts, dofs, shift, entries = [np.zeros(1, np.int32)], [], 0, 0
    for part in parts:
        starts.append(part.basis_start[1:] + entries)
        dofs.append(part.basis_dof + shift)
        shift += len(part.fixed)
        entries += len(part.basis_dof)
    return Projection(
        frozen(np.concatenate([part.fixed for part in parts])),
        frozen(np.concatenate(starts).astype(np.int32)),
        frozen(np.concatenate(dofs).astype(np.int32)),
        frozen(np.concatenate([part.basis_value for part in parts])),
    )


def can_be_met(rows: Rows, node_count: int) -> NDArray[np.bool_]:
    """Whether each row can be held exactly, at little cost and without nodes that leap about, shape (r,).

    Rows that share dofs stand or fall together: there must be few dofs, and what the others leave of a row must be much
    or nothing. One that they determine exactly is welcome, and is met halfway if it contradicts them; one that they
    nearly determine could only be met by nodes that move much further than it asks.
    """
    block, first = _blocks(rows, 3 * node_count)
    size = np.bincount(block)
    is_small = size[block[first]] <= MOST_TIED
    small = chosen_rows(_unit_rows(rows), is_small)
    _, _, remainder = _orthonormal_basis(small, 3 * node_count, NEARLY_DEPENDENT)
    is_good = np.zeros(len(rows), np.bool_)
    is_good[is_small] = remainder <= 10.0 * DEPENDENT
    is_bad = np.bincount(block[first], ~is_good, len(size)) > 0
    return ~is_bad[block[first]]


def tied_rows(rows: Rows, node_count: int) -> NDArray[np.int64]:
    """Number of the group that each row is in, shape (r,): rows that share dofs are of one group."""
    if not len(rows):
        return np.zeros(0, np.int64)
    block, first = _blocks(rows, 3 * node_count)
    return np.unique(block[first], return_inverse=True)[1].reshape(-1)


def prescribed(rows: Rows, wanted: ArrayLike, node_count: int) -> NDArray[np.float64]:
    """The smallest displacement d, shape (3n,) [m], that minimises |H d - wanted|, for wanted (r,) [m].

    Note that rows which contradict each other, and points with tiny weights on free nodes, can ask for displacements
    far larger than `wanted`, as in any least squares.
    """
    d = np.zeros(3 * node_count)
    dof_count = len(np.unique(rows.dof))
    wanted = np.ascontiguousarray(wanted, np.float64)
    most = ITERATIONS_PER_DOF * dof_count
    solve_least_squares(rows.start, rows.dof, rows.weight, frozen(wanted), most, d)
    return d


def way_to(rows: Rows, node_count: int) -> csr_array:
    """The matrix that makes of wanted (r,) the smallest displacement that minimises |H d - wanted|, shape (3n, r).

    For rows that can be met: what the others leave of one below LEAST_LEFT counts as nothing, so rows that say the same
    and want different things are met halfway, and no node leaps.
    """
    dof_count = 3 * node_count
    if not len(rows):
        return csr_array((dof_count, 0))
    block, blocks = _row_blocks(rows, dof_count)
    row_place = _places(blocks.row_start, blocks.row)
    shapes = np.stack([np.diff(blocks.row_start), np.diff(blocks.dof_start)], axis=1)
    entry_row, entry_block = rows.row_of_entries(), block[rows.dof]
    values, dofs, of_rows = [], [], []
    for shape in np.unique(shapes[shapes[:, 0] > 0], axis=0):  # blocks of one shape at a time
        alike = np.flatnonzero((shapes == shape).all(axis=1))
        number = np.full(len(shapes), -1)
        number[alike] = np.arange(len(alike))
        own = number[entry_block] >= 0
        h = np.zeros((len(alike), *shape))
        at = number[entry_block[own]], row_place[entry_row[own]], blocks.place[rows.dof[own]]
        h[at] = rows.weight[own]
        inverse = np.linalg.pinv(h, rcond=LEAST_LEFT)
        dof = blocks.dof[blocks.dof_start[alike][:, None] + np.arange(shape[1])]
        row = blocks.row[blocks.row_start[alike][:, None] + np.arange(shape[0])]
        values.append(inverse.ravel())
        dofs.append(np.repeat(dof, shape[0]))
        of_rows.append(np.tile(row, shape[1]).ravel())
    where = np.concatenate(dofs), np.concatenate(of_rows)
    return csr_array((np.concatenate(values), where), (dof_count, len(rows)))


def _unit_rows(rows: Rows) -> Rows:
    row = rows.row_of_entries()
    norm = np.sqrt(np.bincount(row, rows.weight**2, len(rows)))
    return Rows(rows.start, rows.dof, rows.weight / norm[row])


def _without(rows: Rows, fixed: NDArray[np.bool_]) -> Rows:
    """The rows on the dofs that are not fixed; rows without entries go."""
    kept = ~fixed[rows.dof]
    count = np.bincount(rows.row_of_entries()[kept], minlength=len(rows))
    start = np.append(0, np.cumsum(count[count > 0]))
    return Rows(start, rows.dof[kept], rows.weight[kept])


def _orthonormal_basis(
    rows: Rows, dof_count: int, least: float = DEPENDENT
) -> tuple[NDArray[np.float64], Rows, NDArray[np.float64]]:
    """How free each dof is, 0..1, (3n,), orthonormal vectors that span the rows, and what they leave of each, (r,)."""
    if not len(rows):
        return np.ones(dof_count), rows, np.zeros(0)
    _, blocks = _row_blocks(rows, dof_count)
    size, row_count = np.diff(blocks.dof_start), np.diff(blocks.row_start)
    rank = np.minimum(size, row_count)
    most = (rank * size).sum()
    basis = Basis(
        start=np.empty(rank.sum() + 1, np.int32),
        dof=np.empty(most, np.int32),
        value=np.empty(most),
        freedom=np.empty(dof_count),
        remainder=np.zeros(len(rows)),
    )
    made = orthonormalise_blocks(
        RowArrays(rows.start, rows.dof, rows.weight),
        blocks,
        least,
        basis,
    )
    end = basis.start[made]
    vectors = Rows(basis.start[: made + 1], basis.dof[:end].copy(), basis.value[:end].copy())
    return basis.freedom, vectors, basis.remainder


def _blocks(rows: Rows, dof_count: int) -> tuple[NDArray, NDArray]:
    """Block of each dof, (3n,), that rows tie together, and the first dof of each row, (r,)."""
    first = rows.dof[rows.start[:-1]]
    links = (np.ones(len(rows.dof), np.int8), (first[rows.row_of_entries()], rows.dof))
    graph = coo_matrix(links, (dof_count, dof_count))
    return connected_components(graph, directed=False)[1], first


def _row_blocks(rows: Rows, dof_count: int) -> tuple[NDArray, RowBlocks]:
    """Block of each dof, (3n,), and the blocks."""
    block, first = _blocks(rows, dof_count)
    count = int(block.max()) + 1
    dof_start, dof = _grouped(block, count)
    return block, RowBlocks(_places(dof_start, dof), dof_start, dof, *_grouped(block[first], count))


def _places(start: NDArray, items: NDArray) -> NDArray[np.int64]:
    """Where each item is in its group, for groups as CSR that hold every item once."""
    place = np.empty(len(items), np.int64)
    place[items] = np.arange(len(items)) - np.repeat(start[:-1], np.diff(start))
    return place


def _grouped(label: NDArray, count: int) -> tuple[NDArray, NDArray]:
    """CSR (start, items) of the items with each label, in their order."""
    start = np.append(0, np.cumsum(np.bincount(label, minlength=count)))
    return start, np.argsort(label, kind="stable")
