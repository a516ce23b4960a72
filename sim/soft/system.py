"""Several bodies as one set of arrays, solved by the same kernels as one of them.

Rows (nodes) of the members follow each other; so do the blocks of their matrices, their parts and their quadrature
points, tets before hexes. A system of one shares the arrays of its body.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.gradient_kernels import ElementBatch
from jellycage.sim.soft.hourglass_kernels import Hourglass
from jellycage.toolkit.arrays import frozen


@dataclass(frozen=True, eq=False)
class System:
    """What a solver needs of its members."""

    members: tuple[SoftBody, ...]

    @cached_property
    def row_start(self) -> NDArray[np.int64]:
        """First row of each member and the end, shape (m + 1,)."""
        return _starts(len(body.mass) for body in self.members)

    @cached_property
    def part_start(self) -> NDArray[np.int64]:
        """First part of each member and the end, shape (m + 1,)."""
        return _starts(body.part_count for body in self.members)

    @cached_property
    def block_start(self) -> NDArray[np.int64]:
        """First matrix block of each member and the end, shape (m + 1,)."""
        return _starts(len(body.pattern.column) for body in self.members)

    @cached_property
    def tets(self) -> ElementBatch | None:
        """Tets of all members; None if there are none, so that no kernel is compiled for them."""
        return self._batch(4)

    @cached_property
    def hexes(self) -> ElementBatch | None:
        """Hexes of all members, or None."""
        return self._batch(8)

    @cached_property
    def hourglass(self) -> Hourglass | None:
        """Hourglass control of all one-point hexes, without rows if there are none; None without hexes."""
        if self.hexes is None:
            return None
        found = [
            (number, body.hourglass)
            for number, body in enumerate(self.members)
            if body.hourglass is not None
        ]
        if len(found) == 1:
            return self._shifted(*found[0])
        if not found:
            return NO_HOURGLASS
        parts = [self._shifted(number, hourglass) for number, hourglass in found]
        return Hourglass(*(frozen(np.concatenate(arrays)) for arrays in zip(*parts, strict=True)))

    @cached_property
    def points(self) -> tuple[slice, ...]:
        """Quadrature points of each member, among those of its kind."""
        ends = {4: 0, 8: 0}
        result = []
        for body in self.members:
            first = ends[body.corner_count]
            ends[body.corner_count] = first + len(body.elements.volumes)
            result.append(slice(first, ends[body.corner_count]))
        return tuple(result)

    @cached_property
    def start(self) -> NDArray[np.int64]:
        """First block of each row of the matrix, see `MatrixPattern`, shape (n + 1,)."""
        return self._joined(
            [body.pattern.start[:-1] for body in self.members], self.block_start, is_ended=True
        )

    @cached_property
    def column(self) -> NDArray[np.int64]:
        """Column of each block, shape (k,)."""
        return self._joined([body.pattern.column for body in self.members], self.row_start)

    @cached_property
    def part(self) -> NDArray[np.int64]:
        """Connected part that each row belongs to, shape (n,)."""
        return self._joined([body.part for body in self.members], self.part_start)

    @cached_property
    def size(self) -> float:
        """Of the smallest member [m]."""
        return min(body.size for body in self.members)

    @cached_property
    def rounding(self) -> float:
        """What rounding may add to the elastic energy [J]: terms of first order in the strain cancel in it."""
        total = 0.0
        for body in self.members:
            moduli = body.batch.parameters[:, :2].sum(axis=1)
            total += 1e-15 * float(
                (moduli * body.elements.fill * body.elements.element_volumes).sum()
            )
        return total

    def rows(self, member: int) -> slice:
        """Rows of a member."""
        return slice(int(self.row_start[member]), int(self.row_start[member + 1]))

    def _joined(self, arrays, shifts, *, is_ended=False):
        """Arrays of all members one after the other, each shifted; the last shift closes row starts."""
        if len(arrays) == 1:
            body = self.members[0]
            return body.pattern.start if is_ended else arrays[0]
        parts = [array + shift for array, shift in zip(arrays, shifts, strict=False)]
        return frozen(np.concatenate([*parts, shifts[-1:]] if is_ended else parts))

    def _batch(self, corners):
        found = [
            (number, body.batch)
            for number, body in enumerate(self.members)
            if body.corner_count == corners
        ]
        if not found:
            return None
        parts = [self._shifted(number, batch) for number, batch in found]
        if len(parts) == 1:
            return parts[0]
        ends = _starts(len(part.corners) for part in parts)
        parts = [
            part._replace(element=part.element + np.int32(first))
            for part, first in zip(parts, ends, strict=False)
        ]
        return ElementBatch(
            *(frozen(np.concatenate(arrays)) for arrays in zip(*parts, strict=True))
        )

    def _shifted(self, number, arrays):
        """A member's elements with rows and blocks of the system."""
        row, block = self.row_start[number], self.block_start[number]
        if row == 0 and block == 0:
            return arrays
        slots = arrays.slots
        return arrays._replace(
            corners=frozen(arrays.corners + np.int32(row)),
            slots=frozen(np.where(slots < 0, slots - block, slots + block)),
        )


def system_of(bodies: Sequence[SoftBody]) -> System:
    """The system of some bodies."""
    return System(tuple(bodies))


def _starts(counts) -> NDArray[np.int64]:
    return np.append(0, np.cumsum([*counts], dtype=np.int64))


NO_HOURGLASS = Hourglass(
    corners=frozen(np.zeros((0, 8), np.int32)),
    slots=frozen(np.zeros((0, 8, 8), np.int64)),
    gradients=frozen(np.zeros((0, 8, 3))),
    modes=frozen(np.zeros((0, 4, 8))),
    scale=frozen(np.zeros(0)),
    form=frozen(np.zeros((0, 12, 12))),
    spans=frozen(np.zeros((0, 8))),
    tether=frozen(np.zeros(0)),
)
