"""What contacts remember from one step to the next: one table per scene."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.arrays import frozen


@dataclass(frozen=True, eq=False)
class ContactMemory:
    """Contacts that were pressed, c of them, sorted by key."""

    key: NDArray[np.int64]
    """See `Candidates`, shape (c,)."""
    drag: NDArray[np.float64]
    """Force of each bristle on side b, along the plane [N], shape (c, 3)."""
    plane: NDArray[np.float64]
    """Normal and offset of the plane in b's own space, shape (c, 4); if b is soft the normal in the world, and whether
    its bodies are being taken apart."""
    pressure: NDArray[np.float64]
    """What it was pressed with [N], shape (c,): its multiplier, from which the next step starts."""

    def __len__(self):
        return len(self.key)

    def known(self, key: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(rows here, rows of `key`) of the keys that are remembered."""
        if not len(self):
            return np.zeros(0, int), np.zeros(0, int)
        row = np.minimum(np.searchsorted(self.key, key), len(self) - 1)
        known = np.flatnonzero(self.key[row] == key)
        return row[known], known

    def arrays(self) -> dict[str, NDArray]:
        """Its arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


NO_MEMORY = ContactMemory(
    frozen(np.zeros(0, np.int64)),
    frozen(np.zeros((0, 3))),
    frozen(np.zeros((0, 4))),
    frozen(np.zeros(0)),
)


def joined_memories(parts: Sequence[ContactMemory]) -> ContactMemory:
    """One table of those of several parties."""
    parts = [part for part in parts if len(part)]
    if len(parts) < 2:
        return parts[0] if parts else NO_MEMORY
    order = np.argsort(np.concatenate([part.key for part in parts]), kind="stable")
    columns = zip(*(part.arrays().values() for part in parts), strict=True)
    return ContactMemory(*(np.concatenate(column)[order] for column in columns))
