"""The lattice laid over a solid: which tets its surface touches, and the winding number at every lattice node.

The winding number is counted along lattice lines. The surface is closed (repair has seen to it), so the count is an
integer everywhere, whatever holes, flips, overlaps or nested shells the mesh had.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.arrays import sorted_unique
from jellycage.toolkit.cage.lattice_surface_kernels import LatticeSurface
from jellycage.toolkit.cage.voxels_kernels import (
    count_visits,
    find_forms,
    find_interior_cubes,
    find_pierces,
    find_tets,
    find_visits,
)
from jellycage.toolkit.errors import SettingsError
from jellycage.toolkit.mesh.topology import edges_of

MAX_CELLS = 2048
"""Largest number of cells along one side: tet keys and edge keys then stay far below 2^63."""

PADDING = 0.02
"""Free space around the surface on every side, in cells at least."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Cubic cells over the padded bounding box."""

    origin: NDArray[np.float64]
    """Position of lattice node (0, 0, 0) [m], shape (3,)."""
    cell_size: float
    """Side of a cell [m]."""
    shape: NDArray[np.int64]
    """Number of cells along x, y, z."""
    resolution: int
    """Cells across the longest side of what it was laid around."""
    bay_end: NDArray[np.float64] | None = None
    """Where bays for solids that are kept apart end along x, ascending, shape (b,); None: all share one place."""
    bay_shift: NDArray[np.int64] | None = None
    """Cells along x by which what stands in each bay was moved there, shape (b,)."""

    def to_cells(self, points, bay=None):
        """Positions in cells from the origin, each moved to its bay (n,) if there are any."""
        cells = (points - self.origin) / self.cell_size
        if self.bay_end is not None:
            cells[:, 0] += self.bay_shift[bay]
        return cells

    def to_metres(self, points):
        """Positions [m], back from their bays, of positions in cells."""
        if self.bay_end is not None:
            points = points.copy()
            points[:, 0] -= self.bay_shift[np.searchsorted(self.bay_end, points[:, 0])]
        return points * self.cell_size + self.origin


def grid_around(vertices, *, resolution=16, cell_size=None, attempt=0) -> Grid:
    """A grid with `resolution` cells across the longest side of the vertices, or with cells of `cell_size` [m].

    The offset of the lattice is an irrational share of a cell, another one at every attempt, so that flat sides and
    symmetric models do not fall on lattice planes.
    """
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    longest = float((high - low).max())
    # Golden-ratio multiples spread the attempts evenly and differ along the three axes.
    share = (
        PADDING
        + 0.1 * np.modf((attempt + 1) * np.array([0.6180339887, 0.7548776662, 0.5698402910]))[0]
    )
    if cell_size is None:
        if not 1 <= resolution <= MAX_CELLS:
            raise SettingsError(f"resolution must lie in 1..{MAX_CELLS}, got {resolution}")
        cell_size = longest / (resolution - 2 * share.max()) if resolution > 1 else longest * 1.4
    elif not 0 < cell_size <= 1000 * longest:
        raise SettingsError(
            f"cell size must be greater than 0 and at most {1000 * longest:.3g}, "
            f"a thousand times the mesh, got {cell_size:g}"
        )
    # A whole number of cells must not become one more by rounding.
    shape = np.ceil((high - low) / cell_size + 2 * share - 1e-9).astype(np.int64)
    if shape.max() > MAX_CELLS + 1:
        raise SettingsError(
            f"cell size {cell_size:g} gives {shape.max()} cells across; "
            f"use at least {longest / MAX_CELLS:.3g}"
        )
    spare = shape - (high - low) / cell_size
    # Not about the mean of the shares: the shifts would add up to zero, and f3 would be whole in the middle of a
    # symmetric model. This way PADDING is left on both sides.
    origin = low - (0.5 * spare + 0.25 * (share - PADDING)) * cell_size
    return Grid(origin, float(cell_size), shape, int(shape.max()))


def with_bays(grid: Grid, vertices, bay) -> Grid:
    """The grid made longer, so that vertices [m] (n, 3) of different bays (n,), numbered from 0, share no cell in it.

    What is in different bays then never meets, whatever is done in the lattice.
    """
    x = grid.to_cells(vertices)[:, 0]
    low, high = np.full(bay.max() + 1, np.inf), np.full(bay.max() + 1, -np.inf)
    np.minimum.at(low, bay, x)
    np.maximum.at(high, bay, x)
    # Even numbers of cells, for the lattice repeats every two; and a free one between two bays.
    first = 2 * np.floor(low / 2.0).astype(np.int64)
    width = 2 * np.ceil((high - first + 1.0) / 2.0).astype(np.int64)
    end = np.cumsum(width)
    shape = np.array([end[-1], *grid.shape[1:]])
    return replace(grid, shape=shape, bay_end=end - 0.5, bay_shift=end - width - first)


def _pierces(points, forms, floors, faces, shape):
    """Edges, positions, faces and jumps of all pierces, sorted by edge, then along it."""
    room = 4 * len(faces) + 1024
    while True:
        edge, r = np.empty(room, np.int64), np.empty(room)
        face, jump = np.empty(room, np.int64), np.empty(room, np.int64)
        found = find_pierces(points, forms, floors, faces, shape, edge, r, face, jump)
        if found <= room:
            break
        room = found
    return edge[:found], r[:found], face[:found], jump[:found]


def _x_lines(edge, r, jump, shape):
    """Jumps of the winding number along every x-line of nodes: CSR starts, positions, running sums."""
    on_x = np.flatnonzero(edge % 9 == 0)
    line = edge[on_x] // 9 // (shape[0] + 1)
    order = np.lexsort((r[on_x], line))
    on_x, line = on_x[order], line[order]
    count = int((shape[1] + 1) * (shape[2] + 1))
    start = np.searchsorted(line, np.arange(count + 1))
    sums = np.cumsum(jump[on_x])
    # Every line ends at winding number zero, so running sums start afresh by themselves.
    return start, r[on_x], sums


def surface_in_grid(vertices, faces, grid: Grid, bay=None) -> LatticeSurface:
    """The surface's fragments, pierces and winding lines in the lattice. Positions [m], faces closed and oriented.

    bay: of each vertex, if the grid has bays.
    """
    shape = grid.shape
    points = grid.to_cells(vertices, bay)
    faces = faces.astype(np.int64)
    forms, floors = np.empty((len(points), 7)), np.empty((len(points), 7), np.int64)
    find_forms(points, forms, floors)
    vertex_tet = np.empty(len(points), np.int64)
    find_tets(floors, shape, vertex_tet)

    edge, r, face, jump = _pierces(points, forms, floors, faces, shape)
    line_start, line_r, line_sum = _x_lines(edge, r, jump, shape)

    room = np.empty(len(faces), np.int64)
    count_visits(floors, vertex_tet, faces, face, room)
    start = np.concatenate([[0], np.cumsum(room)])
    keys, count = np.empty(start[-1], np.int64), np.empty(len(faces), np.int64)
    find_visits(forms, floors, vertex_tet, faces, shape, edge, face, start, keys, count)
    fragment_start = np.concatenate([[0], np.cumsum(count)])
    fragment_face = np.repeat(np.arange(len(faces)), count)
    row = np.arange(fragment_start[-1]) - fragment_start[fragment_face]
    keys = keys[start[fragment_face] + row]
    tets = sorted_unique(keys)

    order = np.lexsort((r, edge))
    pierced_edges, pierce_start = np.unique(edge[order], return_index=True)
    edges = edges_of(faces, len(points))
    face_edges = np.empty(3 * len(faces), np.int64)
    face_edges[edges.half_edges] = np.repeat(np.arange(len(edges.ends)), edges.count)
    return LatticeSurface(
        points=points,
        forms=forms,
        floors=floors,
        faces=faces,
        edges=edges.ends.astype(np.int64),
        face_edges=face_edges.reshape(-1, 3),
        edge_face_start=edges.start.astype(np.int64),
        edge_faces=edges.half_edges.astype(np.int64) // 3,
        shape=shape,
        tets=tets,
        vertex_tet=np.searchsorted(tets, vertex_tet),
        fragment_start=fragment_start,
        fragment_tet=np.searchsorted(tets, keys),
        fragment_face=fragment_face,
        pierced_edges=pierced_edges,
        pierce_start=np.append(pierce_start, len(edge)).astype(np.int64),
        pierce_r=r[order],
        pierce_face=face[order],
        pierce_jump=jump[order],
        line_start=line_start,
        line_r=line_r,
        line_sum=line_sum,
    )


def interior_cubes(surface: LatticeSurface) -> NDArray[np.int64]:
    """Numbers of the cubes with at least one corner in the solid, ascending."""
    room = 1024
    while True:
        cubes = np.empty(room, np.int64)
        found = find_interior_cubes(
            surface.shape, surface.line_start, surface.line_r, surface.line_sum, cubes
        )
        if found <= room:
            return cubes[:found]
        room = found
