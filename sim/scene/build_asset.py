"""The cage of a body of a scene file: made before, built now, or built once more for parts that its pins lead apart."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.scene.body_entries import BodyEntry
from jellycage.sim.scene.build_points import Clock, pin_of
from jellycage.sim.scene.entry_kinds import metres_per_unit
from jellycage.sim.scene.parting import groups_led_apart
from jellycage.sim.scene.scene_file import SceneFile
from jellycage.sim.scene.selections import Selections
from jellycage.sim.soft.presets import QUALITIES
from jellycage.toolkit.asset.asset import Asset
from jellycage.toolkit.asset.asset_file import load_asset
from jellycage.toolkit.mesh.mesh_io import read_mesh
from jellycage.toolkit.mesh.repair import parts_of
from jellycage.toolkit.mesh.sizes import size_notes
from jellycage.toolkit.prepare import build_cage


def caged(
    scene: SceneFile,
    entry: BodyEntry,
    clock: Clock,
    collision: bool,
    report: Callable[[str, float], None],
) -> tuple[Selections, tuple[str, ...]]:
    """(selected, notes): a body in its cage, which is stretched but neither turned nor moved, and what is to be said.

    report is called as report(stage, fraction).
    """
    _, stretch, _ = split_transform(entry.transform)
    if entry.asset is not None:
        asset = load_asset(entry.asset)
        source = np.full((asset.meta.get("source_vertices", 0), 3), np.nan)
        if len(source) <= asset.source_vertex.max(initial=-1):
            source = np.full((int(asset.source_vertex.max()) + 1, 3), np.nan)
        source[asset.source_vertex] = asset.surface_vertices
        stretched = asset.stretched(stretch)
        return Selections(entry, stretched, source, {}), size_notes(stretched.surface_vertices)
    mesh = read_mesh(entry.mesh, scale=metres_per_unit(entry.units))
    stretched = replace(mesh, vertices=mesh.vertices @ stretch)
    settings = {name: getattr(entry, name) for name in ("element", "fit_steps", "split")}
    if entry.cell_size is not None:
        settings["cell_size"] = entry.cell_size
    else:
        settings["resolution"] = entry.resolution or QUALITIES[scene.quality].resolution
    settings |= {"progress": report, "collision": collision}

    def selections(join):
        asset = build_cage(stretched, join=join, **settings)
        return Selections(entry, asset, mesh.vertices, mesh.attributes)

    selected, said = selections(entry.join is not False), []
    meta = selected.asset.meta
    if entry.join is None and meta["solids"] > meta["components"]:
        groups = _groups(scene, selected, clock, parts_of(stretched))
        if groups is not None:
            selected = selections(groups)
            meta = selected.asset.meta
            said = [
                f"{meta['solids']} closed parts have {meta['components']} cages, because pins lead those that "
                "overlap apart; join = true makes one body of them"
            ]
    return selected, tuple(dict.fromkeys([*mesh.warnings, *meta.get("warnings", []), *said]))


def start_of(entry: BodyEntry, asset: Asset) -> NDArray[np.float64]:
    """Where the nodes of a cage that was stretched start, shape (n, 3) [m]."""
    rotation, _, location = split_transform(entry.transform)
    return asset.cage_nodes @ rotation.T + location


def split_transform(transform: NDArray[np.float64]):
    """(rotation, symmetric stretch, location) of a 4 x 4 transform that does not mirror."""
    linear = transform[:3, :3]
    u, s, vt = np.linalg.svd(linear)
    rotation = u @ vt
    stretch = vt.T @ np.diag(s) @ vt
    # Nothing but a location leaves the numbers of the mesh as they are, to the last bit.
    if np.allclose(linear, np.eye(3), rtol=0.0, atol=1e-15):
        rotation = stretch = np.eye(3)
    return rotation, stretch, transform[:3, 3]


def _groups(scene, selected, clock, part):
    """Group of each vertex of the mesh, as its pins lead its parts (m,); None if they need only one cage."""
    entry, start = selected.entry, start_of(selected.entry, selected.asset)
    pins = [pin_of(pin, selected, clock, start) for pin in entry.pins]
    pinned = [selected.vertices(pin, "pin")[0] for pin in entry.pins]
    first, last = scene.frames
    times = np.array([clock.seconds(frame) for frame in range(first, last + 1)])
    groups = groups_led_apart(selected.asset, part, pins, pinned, start, times)
    return None if groups is None else np.append(groups, -1)[part]
