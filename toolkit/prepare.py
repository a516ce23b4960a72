"""From a mesh to its asset: repair, lattice, split, fit, embedding, check. Everything between is in cells."""

import hashlib
from dataclasses import dataclass, replace
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike

from jellycage.toolkit.arrays import ragged
from jellycage.toolkit.asset.asset import Asset
from jellycage.toolkit.asset.quality import check_cage
from jellycage.toolkit.cage.element_tables import CUBE_CORNERS
from jellycage.toolkit.cage.hex_cage import Hexes, hexes_of, tets_of_hexes
from jellycage.toolkit.cage.lattice_surface_kernels import LatticeSurface, find_vertex_elements
from jellycage.toolkit.cage.odt import fitted
from jellycage.toolkit.cage.split import LatticeElements, fragment_sides, split_solid, whole_tets
from jellycage.toolkit.cage.tet_cage import FaceNeighbours, face_neighbours, tet_volumes
from jellycage.toolkit.cage.voxels import Grid, grid_around, surface_in_grid, with_bays
from jellycage.toolkit.collision.clip import CutError, clip
from jellycage.toolkit.collision.patches import lay_out
from jellycage.toolkit.collision.surface import CollisionSurface
from jellycage.toolkit.embedding.embedding import Embedding, embed, gathered
from jellycage.toolkit.embedding.smooth_embedding import METHODS, with_smooth_embedding
from jellycage.toolkit.errors import SettingsError
from jellycage.toolkit.mesh.mesh import TriMesh, as_mesh
from jellycage.toolkit.mesh.repair import Solid, solid_of
from jellycage.toolkit.mesh.sizes import size_notes

ATTEMPTS = 8
"""How often the lattice is shifted when a mesh falls exactly on it."""


@dataclass(frozen=True)
class CageSettings:
    """How a cage is built. Either `resolution` or `cell_size` decides the size of the cells."""

    resolution: int = 16
    """Cells across the longest side."""
    cell_size: float | None = None
    """Side of a cell [m]; overrides the resolution."""
    element: str = "tet"
    """"tet" or "hex"."""
    fit_steps: int = 10
    """Fitting passes (tets only)."""
    fit_relaxation: float = 1.0
    """Share of the way to the optimum that a node goes in one pass, 0..1. The thesis takes 0.1; whole steps end
    tighter and sooner, because a step that goes too far is halved anyway."""
    split: bool = True
    """Whether parts of the solid that share a cell get copies of their own."""
    join: bool | ArrayLike = True
    """Whether closed parts that overlap become one solid; otherwise each has a cage of its own, and nothing joins them.
    Or which may: those whose vertices have the same number, shape (n,) for the n vertices of the mesh; see `parts_of`.
    """
    collision: bool = True
    """Whether to cut the surface along the cage, for queries and contact on it."""
    smooth: str | None = None
    """Weights for a smooth display beside the others: "mls" or "gaussian", see `smooth_embedding`."""

    def __post_init__(self):
        for name, kind in (
            ("resolution", Integral),
            ("fit_steps", Integral),
            ("fit_relaxation", Real),
        ):
            if not isinstance(getattr(self, name), kind):
                words = name.replace("_", " ")
                raise SettingsError(f"{words} must be a number, got {getattr(self, name)!r}")
        if self.cell_size is not None and not isinstance(self.cell_size, Real):
            raise SettingsError(f"cell size must be a number, got {self.cell_size!r}")
        if self.element not in ("tet", "hex"):
            raise SettingsError(f'element must be "tet" or "hex", got {self.element!r}')
        if self.smooth not in (None, *METHODS):
            raise SettingsError(f'smooth must be "mls" or "gaussian", got {self.smooth!r}')
        if np.ndim(self.join):
            object.__setattr__(self, "join", np.asarray(self.join))
            if self.join.ndim != 1 or self.join.dtype.kind not in "iu":
                raise SettingsError("join must be true, false, or a whole number for each vertex")
        if not 0 <= self.fit_steps <= 1000:
            raise SettingsError(f"fit steps must lie in 0..1000, got {self.fit_steps}")
        if not 0.0 < self.fit_relaxation <= 1.0:
            raise SettingsError(f"fit relaxation must lie in 0..1, got {self.fit_relaxation}")


def build_cage(mesh, *, progress=None, **settings) -> Asset:
    """The asset of a mesh: its surface in a cage that strictly contains it.

    mesh: a TriMesh, trimesh.Trimesh, meshio.Mesh or a pair (vertices, faces). settings: see CageSettings.
    progress is called as progress(stage, fraction).
    """
    settings = CageSettings(**settings)
    report = progress or (lambda stage, fraction: None)
    mesh = as_mesh(mesh)
    report("repairing", 0.0)
    if np.ndim(settings.join) and len(settings.join) != len(mesh.vertices):
        raise SettingsError(
            f"join must have a number for each of the {len(mesh.vertices)} vertices, got {len(settings.join)}"
        )
    solid = solid_of(mesh)
    report("voxelising", 0.1)
    grid, surface, elements = _laid(solid, settings)
    neighbours = face_neighbours(elements.tets, elements.cell)
    report("fitting" if settings.element == "tet" else "embedding", 0.4)
    if settings.element == "tet":
        nodes, embedding = _fitted(surface, elements, neighbours, settings, report)
        asset = _tet_asset(mesh, solid, grid, elements, nodes, embedding, settings)
        hexes = None
    else:
        embedding = _embedded(surface, elements, neighbours, elements.nodes)
        hexes = hexes_of(elements, grid.shape, split=settings.split)
        asset = _hex_asset(mesh, solid, grid, surface, elements, hexes, embedding, settings)
        nodes = hexes.nodes
    if settings.collision:
        report("cutting", 0.8)
        try:
            collision = _collision(solid, grid, surface, elements, hexes, nodes, embedding)
            asset = replace(asset, collision=collision)
        except CutError as error:
            warnings = [*asset.meta["warnings"], f"No collision surface: {error}."]
            asset = replace(asset, meta={**asset.meta, "warnings": warnings})
    report("checking", 0.9)
    asset = _checked(asset)
    return asset if settings.smooth is None else with_smooth_embedding(asset, settings.smooth)


def _laid(solid: Solid, settings) -> tuple[Grid, LatticeSurface, LatticeElements]:
    """Lattice and elements; the lattice is shifted until no mesh edge runs exactly along it."""
    best = None
    body = np.full(len(solid.vertices), -1, np.int64)
    body[solid.faces] = solid.body[:, None]
    used = body >= 0
    bay = _bays(solid, body, settings.join)
    for attempt in range(ATTEMPTS):
        grid = grid_around(
            solid.vertices[used],
            resolution=settings.resolution,
            cell_size=settings.cell_size,
            attempt=attempt,
        )
        if bay is not None:
            grid = with_bays(grid, solid.vertices, bay)
        surface = surface_in_grid(solid.vertices, solid.faces, grid, bay)
        make = split_solid if settings.split else whole_tets
        elements = make(surface, with_glue=settings.element == "hex")
        if best is None or elements.contradictions < best[2].contradictions:
            best = grid, surface, elements
        if elements.contradictions == 0:
            break
    return best


def _bays(solid: Solid, body, join):
    """Bay of each vertex, alike where bodies may join; None if all may. body: that of each vertex, -1 if none."""
    if np.ndim(join):
        group = np.empty(body.max() + 1, join.dtype)
        has_body = solid.vertex_of >= 0
        of_vertex = body[solid.vertex_of[has_body]]
        group[of_vertex] = join[has_body]
        if (group[of_vertex] != join[has_body]).any():
            raise SettingsError("join must have one number for all vertices of a closed part")
        return np.unique(group[np.maximum(body, 0)], return_inverse=True)[1]
    return None if join else np.unique(np.maximum(body, 0), return_inverse=True)[1]


def _embedded(surface, elements, neighbours, nodes) -> Embedding:
    vertex_face = np.zeros(len(surface.points), np.int64)
    vertex_face[surface.faces.reshape(-1)] = np.repeat(np.arange(len(surface.faces)), 3)
    homes = elements.fragment_element.astype(np.int64)
    first = np.empty(len(surface.points), np.int64)
    find_vertex_elements(surface, vertex_face, homes, first)
    return embed(
        surface.points,
        surface.faces,
        nodes,
        elements.tets,
        neighbours,
        elements.solid_corner,
        first,
        (surface.fragment_start, homes),
        fragment_sides(surface),
    )


def _fitted(surface, elements, neighbours: FaceNeighbours, settings, report):
    """Fitted nodes and the embedding in them; nodes around anything that got out stay put, and the fit starts again."""
    starts, members = ragged(elements.fragment_element, surface.fragment_face, len(elements.tets))
    is_fixed = np.zeros(len(elements.nodes), bool)
    while True:
        nodes = fitted(
            elements.nodes,
            elements.tets,
            neighbours,
            surface.points,
            surface.faces,
            starts,
            members,
            steps=settings.fit_steps,
            relaxation=settings.fit_relaxation,
            is_fixed=is_fixed,
            progress=lambda fraction: report("fitting", 0.4 + 0.4 * fraction),
        )
        embedding = _embedded(surface, elements, neighbours, nodes)
        loose = embedding.escaped.any(axis=1)
        lost = embedding.element < 0
        if lost.any():
            home = _embedded(surface, elements, neighbours, elements.nodes).element
            loose[home[lost]] = True
        again = np.zeros_like(is_fixed)
        again[elements.tets[loose]] = True
        again[elements.tets[again[elements.tets].any(axis=1)]] = True
        if not (again & ~is_fixed).any():
            return nodes, embedding
        is_fixed |= again


def _tet_asset(mesh, solid, grid, elements, nodes, embedding: Embedding, settings):
    return _asset(
        mesh,
        solid,
        grid,
        settings,
        cage_nodes=grid.to_metres(nodes),
        cage_tets=elements.tets,
        element=embedding.element,
        weights=embedding.weights,
        cell=elements.cell,
        piece=elements.piece,
        fill=embedding.fill,
        centre=grid.to_metres(embedding.centre),
        spread=embedding.spread * grid.cell_size**2,
        face=embedding.face,
        face_element=embedding.face_element,
    )


def _hex_asset(mesh, solid, grid, surface, elements, hexes: Hexes, embedding, settings):
    element = hexes.of_element[embedding.element]
    at = surface.points - hexes.nodes[hexes.hexes[element, 0]]
    weights = np.prod(np.where(CUBE_CORNERS == 1, at[:, None], 1.0 - at[:, None]), axis=2)
    volume = embedding.fill * tet_volumes(elements.nodes, elements.tets)
    middle = hexes.nodes[hexes.hexes].mean(axis=1)
    fill, centre, spread = gathered(embedding, volume, hexes.of_element, middle)
    return _asset(
        mesh,
        solid,
        grid,
        settings,
        cage_nodes=grid.to_metres(hexes.nodes),
        cage_hexes=hexes.hexes,
        element=element,
        weights=weights,
        cell=hexes.cell,
        piece=hexes.piece,
        fill=fill.clip(0.0, 1.0),
        centre=grid.to_metres(centre),
        spread=spread * grid.cell_size**2,
        face=embedding.face,
        face_element=hexes.of_element[embedding.face_element],
    )


def _collision(solid, grid, surface, elements, hexes, nodes, embedding) -> CollisionSurface:
    """The surface cut along the tets of the cage, or along the five of each hex."""
    tets, cell, tet_of = elements.tets, elements.cell, np.arange(len(elements.tets))
    parent = tet_of
    if hexes is not None:
        tets = tets_of_hexes(hexes.hexes, hexes.cell, grid.shape)
        cell = (5 * hexes.cell[:, None] + np.arange(5)).reshape(-1)
        tet_of = 5 * hexes.of_element + elements.cell % 5
        parent = np.repeat(np.arange(len(hexes.hexes)), 5)
    tets = np.sort(tets, axis=1)
    clipped = clip(
        surface.points,
        surface.faces,
        surface.face_edges,
        nodes,
        tets,
        cell,
        tet_of[embedding.element],
        (surface.fragment_start, tet_of[elements.fragment_element]),
    )
    is_real = solid.source_face >= 0
    source_face = np.where(is_real, np.cumsum(is_real) - 1, -1)
    return lay_out(clipped, grid.to_metres(nodes), tets, parent, source_face)


def _asset(
    mesh: TriMesh,
    solid: Solid,
    grid: Grid,
    settings: CageSettings,
    *,
    element,
    weights,
    cell,
    piece,
    fill,
    centre,
    spread,
    face,
    face_element,
    **cage,
) -> Asset:
    """The asset in the user's vertices and triangles: solid vertices are welded ones, and caps are left out."""
    source_vertex = np.flatnonzero(solid.vertex_of >= 0)
    row = np.full(len(mesh.vertices), -1, np.int64)
    row[source_vertex] = np.arange(len(source_vertex))
    real = solid.source_face >= 0
    faces = row[mesh.faces[solid.source_face[real]]]
    turned = solid.flipped[real]
    faces[turned] = faces[turned][:, [0, 2, 1]]
    vertex = solid.vertex_of[source_vertex]
    is_real = real[face]
    start, triangles = ragged(face_element[is_real], face[is_real], len(cell))
    polygons = mesh.polygon_start, mesh.polygon_vertices
    if mesh.uv is not None and mesh.polygon_start is None:
        polygons = 3 * np.arange(len(mesh.faces) + 1), mesh.faces.reshape(-1)
    return Asset(
        surface_vertices=mesh.vertices[source_vertex],
        surface_faces=faces,
        source_vertex=source_vertex.astype(np.int32),
        embed_element=element[vertex],
        embed_weights=weights[vertex],
        element_cell=cell,
        element_piece=piece,
        cage_fill=fill,
        cage_centre=centre,
        cage_spread=spread,
        piece_start=start,
        piece_triangles=triangles,
        polygon_start=polygons[0],
        polygon_vertices=polygons[1],
        uv=mesh.uv,
        uv_index=mesh.uv_index,
        meta=_meta(mesh, solid, grid, settings),
        **cage,
    )


def _meta(mesh, solid, grid, settings):
    digest = hashlib.sha256(mesh.vertices.tobytes())
    digest.update(mesh.faces.tobytes())
    return {
        "name": mesh.name,
        "units": "m",
        "source_hash": digest.hexdigest(),
        "source_vertices": len(mesh.vertices),
        "settings": {
            "resolution": settings.resolution if settings.cell_size is None else None,
            "cell_size": settings.cell_size,
            "element": settings.element,
            "fit_steps": settings.fit_steps,
            "fit_relaxation": settings.fit_relaxation,
            "split": settings.split,
            "join": "groups" if np.ndim(settings.join) else settings.join,
        },
        "cell_size": grid.cell_size,
        "resolution": grid.resolution,
        "grid_origin": grid.origin.tolist(),
        "grid_shape": grid.shape.tolist(),
        "solids": len(np.unique(solid.body)),
        "warnings": [*mesh.warnings, *solid.warnings, *size_notes(solid.vertices)],
    }


def _checked(asset: Asset) -> Asset:
    """The asset with what the check measured in its meta."""
    check = check_cage(asset)
    if asset.element == "tet":
        volumes = tet_volumes(asset.cage_nodes - asset.cage_nodes[0], asset.cage_tets)
    else:
        volumes = asset.meta["cell_size"] ** 3
    warnings, solids = asset.meta["warnings"], asset.meta["solids"]
    if check.components < solids and asset.meta["settings"]["join"] is True:
        note = f"{solids} closed parts that overlap became {check.components}; join = false keeps them apart."
        warnings = [*warnings, note]
    solid_volume = float((asset.cage_fill * volumes).sum())
    meta = {
        **asset.meta,
        "warnings": warnings,
        "components": check.components,
        "bounding": check.is_bounding,
        "min_dihedral_deg": check.min_dihedral_deg,
        "cage_volume": check.volume,
        "surface_volume": solid_volume,
        "volume_ratio": check.volume / solid_volume,
    }
    return replace(asset, meta=meta)
