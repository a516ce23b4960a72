"""Which vertices of a body pins, loads and paint are about, and with which weights.

A scene file counts vertices as the mesh file does; a cage carries those that have a face, in an order of its own.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from jellycage.sim.errors import SceneError
from jellycage.sim.scene.body_entries import BodyEntry
from jellycage.sim.soft.points import Points, embedded_points
from jellycage.toolkit.asset.asset import Asset


class Selections:
    """Finds the vertices that pins, loads and paint are about, and their weights."""

    def __init__(self, entry: BodyEntry, asset: Asset, source, attributes):
        self.entry, self.asset, self.source, self.attributes = entry, asset, source, attributes
        self.row = np.full(len(source), -1)
        self.row[asset.source_vertex] = np.arange(len(asset.source_vertex))

    def weights(self, selection, name) -> NDArray[np.float64]:
        """Weight of every vertex of the source, shape (v,)."""
        count = len(self.source)
        if selection.attribute is not None:
            if selection.attribute not in self.attributes:
                known = ", ".join(self.attributes) or "none"
                raise SceneError(
                    f"{self.entry.name}: {name}: {self.entry.mesh or self.entry.asset} has no vertex "
                    f"attribute {selection.attribute!r}; it has: {known}"
                )
            weights = self.attributes[selection.attribute]
        else:
            weights = _array(selection.file, selection.array)
        if weights.shape != (count,):
            raise SceneError(
                f"{self.entry.name}: {name}: expected {count} weights, one per vertex, "
                f"got shape {weights.shape}; export them from the same mesh"
            )
        if not ((weights >= 0.0) & (weights <= 1.0)).all():
            raise SceneError(
                f"{self.entry.name}: {name}: weights must lie in 0..1, "
                f"got {weights.min():g}..{weights.max():g}; divide them by the greatest"
            )
        return weights

    def vertices(self, selection, name):
        """(source vertices, weights) that a pin or load is about; all of them have a face."""
        count = len(self.source)
        weights = np.ones(count)
        if selection.vertices is not None:
            chosen = np.array(selection.vertices)
            if chosen.max() >= count:
                raise SceneError(
                    f"{self.entry.name}: {name}: there is no vertex {chosen.max()}, "
                    f"the mesh has {count}; count from 0"
                )
        elif selection.box is not None:
            low, high = np.array(selection.box)
            chosen = np.flatnonzero(((self.source >= low) & (self.source <= high)).all(axis=1))
        elif selection.all:
            chosen = np.arange(count)
        else:
            weights = self.weights(selection, name)
            chosen = np.flatnonzero(weights > 0.0)
        chosen = chosen[self.row[chosen] >= 0]
        if not len(chosen):
            raise SceneError(
                f"{self.entry.name}: {name}: selects no vertex of a face; check the selection"
            )
        return chosen, weights[chosen]

    def points(self, chosen) -> Points:
        """Source vertices as points of the cage."""
        rows = self.row[chosen]
        asset = self.asset
        return embedded_points(asset.elements, asset.embed_element[rows], asset.embed_weights[rows])

    def per_element(self, weights) -> NDArray[np.float64]:
        """Mean weight of the vertices nearest to each element, from those of the source (v,), shape (e,)."""
        asset = self.asset
        centres = asset.cage_nodes[asset.elements].mean(axis=1)
        tree = cKDTree(asset.surface_vertices)
        nearest = tree.query(centres, k=min(4, len(asset.surface_vertices)))[1]
        return weights[asset.source_vertex][nearest.reshape(len(centres), -1)].mean(axis=1)


def _array(path, name):
    try:
        with np.load(path, allow_pickle=False) as arrays:
            if name not in arrays:
                raise SceneError(
                    f"{path}: has no array {name!r}; it has: {', '.join(arrays) or 'none'}"
                )
            return np.asarray(arrays[name], np.float64)
    except SceneError:
        raise
    except Exception as error:  # numpy raises what zipfile, zlib and its own parser raise
        raise SceneError(f"{path}: no readable .npz file ({error}); save it again") from error
