"""What the worker does besides bakes: build a cage, export a bake, prove that the installation works.

Every task has `elements`, the kinds of element that the simulator should be compiled for beside it the first time, and
`run(emit, is_cancelled, helpers)`, where helpers are the processes that do so.
"""

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jellycage.sim.bake.bake_task import BakeTask, Emit
from jellycage.sim.bake.cache import open_cache
from jellycage.sim.bake.exports import Export, write_export
from jellycage.sim.errors import CacheError, Cancelled
from jellycage.sim.scene.scene_file import scene_of
from jellycage.toolkit.asset.asset_file import save_asset
from jellycage.toolkit.atomic_file import atomic_file, check_writable
from jellycage.toolkit.cage.element_tables import CUBE_CORNERS, HEX_FACES
from jellycage.toolkit.mesh.mesh_io import read_mesh
from jellycage.toolkit.prepare import build_cage
from jellycage.toolkit.version import VERSION


@dataclass(frozen=True)
class CageTask:
    """Build the cage of a mesh, to be looked at."""

    mesh: Path
    asset: Path
    """.npz to write."""
    settings: dict[str, Any]
    """See `jellycage.toolkit.prepare.CageSettings`; whether there is a collision surface follows from `patches`."""
    patches: Path | None = None
    """.npz to write with the cut surface: vertices (v, 3) [m], faces (t, 3) and the patch of each, shape (t,)."""

    @property
    def elements(self) -> set[str]:
        """Kinds of element that a bake of it would simulate: they can be compiled meanwhile."""
        return {self.settings.get("element", "tet")} & {"tet", "hex"}

    def run(self, emit: Emit, is_cancelled: Callable[[], bool], helpers=()) -> dict[str, Any]:
        """Returns what the asset's meta knows, and counts."""
        for path in filter(None, (self.asset, self.patches)):
            check_writable(path)

        def tell(stage, share):
            if is_cancelled():
                raise Cancelled("stopped; nothing was written")
            emit({"event": "stage", "stage": stage, "fraction": round(float(share), 4)})

        mesh = read_mesh(self.mesh)
        settings = self.settings | {"collision": self.patches is not None}
        asset = build_cage(mesh, progress=tell, **settings)
        save_asset(asset, self.asset)
        if asset.collision is not None:
            vertices, faces = asset.collision.joined(asset.cage_nodes)
            with atomic_file(self.patches) as temporary, open(temporary, "wb") as file:
                np.savez(file, vertices=vertices, faces=faces, patch=asset.collision.triangle_patch)
        return {
            **asset.meta,
            "warnings": list(dict.fromkeys([*mesh.warnings, *asset.meta["warnings"]])),
            "nodes": len(asset.cage_nodes),
            "elements": len(asset.elements),
            "output": str(self.asset),
        }


@dataclass(frozen=True)
class ExportTask:
    """Write a bake to files."""

    cache: Path
    exports: tuple[Export, ...]
    partial: bool = False
    """Whether to write the frames that there are, if it is not finished."""
    elements = frozenset()

    def run(self, emit: Emit, is_cancelled: Callable[[], bool], helpers=()) -> dict[str, Any]:
        """Returns the paths, and the last frame."""
        written, cache = [], open_cache(self.cache)
        last = cache.facts.frames[1]
        if self.partial:
            done = cache.frames_done()
            if not done:
                raise CacheError(f"{self.cache}: no frame is finished; bake again")
            last = done[-1]
        for export in self.exports:
            export.check()
        for export in self.exports:

            def tell(share, stage=f"writing {export.path.name}"):
                if is_cancelled():
                    raise Cancelled("stopped; the file was not written")
                emit({"event": "stage", "stage": stage, "fraction": round(share, 4)})

            written += write_export(cache, export, last=last, progress=tell)
        return {"output": [str(path) for path in written], "last_frame": last}


@dataclass(frozen=True)
class SelfTest:
    """Cage and drop a cube, and say with what."""

    elements = frozenset({"tet"})

    def run(self, emit: Emit, is_cancelled: Callable[[], bool], helpers=()) -> dict[str, Any]:
        """Returns versions and places of what was used, and how well the cube kept its volume."""
        with tempfile.TemporaryDirectory() as folder:
            np.savez(Path(folder, "cube.npz"), vertices=CUBE_CORNERS, faces=HEX_FACES)
            scene = {
                "frames": [1, 12],
                "quality": "preview",
                "body": [{"mesh": "cube.npz", "resolution": 4, "location": [0.0, 0.0, 0.2]}],
                "collider": [{"kind": "plane"}],
            }
            task = BakeTask.of_scene(scene_of(scene, Path(folder)), Path(folder, "bake"))
            facts = task.run(emit, is_cancelled, helpers)
        used = {name: sys.modules[name] for name in ("numpy", "scipy", "numba", "llvmlite")}
        return {
            "jellycage": VERSION,
            "python": sys.version.split()[0],
            "versions": {name: module.__version__ for name, module in used.items()},
            "files": {name: module.__file__ for name, module in used.items()},
            "volume_error_max": facts["volume_error_max"],
            "seconds": facts["seconds"],
        }
