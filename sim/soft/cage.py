"""A bare cage: nodes and elements without a surface, for those who bring their own mesh."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.errors import SettingsError
from jellycage.toolkit.arrays import as_indices, as_points
from jellycage.toolkit.collision.cage_surface import cage_surface
from jellycage.toolkit.collision.surface import CollisionSurface


@dataclass(frozen=True, eq=False)
class Cage:
    """Tets or hexes. What a soft body needs of a `toolkit.Asset`, made from two arrays."""

    nodes: NDArray[np.float64]
    """Rest positions [m], shape (n, 3)."""
    elements: NDArray[np.int32]
    """Node indices, (e, 4) tets of positive volume or (e, 8) hexes in the corner order of VTK."""

    def __post_init__(self):
        columns = np.shape(self.elements)[-1] if np.ndim(self.elements) == 2 else 0
        if columns not in (4, 8):
            raise SettingsError(
                f"elements: expected shape (e, 4) or (e, 8), got {np.shape(self.elements)}"
            )
        object.__setattr__(self, "nodes", as_points(np.array(self.nodes, float), "nodes"))
        object.__setattr__(
            self, "elements", as_indices(self.elements, columns, len(self.nodes), "elements")
        )

    @property
    def cage_nodes(self) -> NDArray[np.float64]:
        """The same as `nodes`, under the asset's name."""
        return self.nodes

    @property
    def cage_fill(self) -> NDArray[np.float64]:
        """1 for every element, shape (e,)."""
        return np.ones(len(self.elements))

    @property
    def cage_centre(self) -> None:
        """None: the solid is in the middle of every element."""
        return None

    @cached_property
    def collision(self) -> CollisionSurface:
        """Its outer faces, on which other bodies touch it."""
        return cage_surface(self.nodes, self.elements)

    @property
    def cage_spread(self) -> None:
        """None: the solid fills every element."""
        return None
