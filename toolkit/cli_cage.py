"""What `jellycage cage` and `jellycage demo` do: from a mesh file to the asset and its pictures."""

import importlib.util
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from jellycage.toolkit.atomic_file import check_writable
from jellycage.toolkit.console import Console, progress_of
from jellycage.toolkit.errors import MeshError


@dataclass(frozen=True)
class Outputs:
    """The files to write."""

    asset: Path
    png: Path | None = None
    html: Path | None = None
    colours_patches: bool = False
    """Whether the picture shows the patches of the collision surface instead of the cage."""

    def check(self, context: click.Context) -> None:
        """Stop before the work if a file could not be written after it."""
        for path, suffix in ((self.asset, ".npz"), (self.png, ".png"), (self.html, ".html")):
            if path is None:
                continue
            if path.suffix.lower() != suffix:
                raise click.UsageError(f"{path}: the name must end in {suffix}", context)
            check_writable(path)
        if self.html and importlib.util.find_spec("plotly") is None:
            remedy = "install it with: pip install 'jellycage[view]'"
            raise click.UsageError(f"--html needs plotly, {remedy}", context)


def write_outputs(
    console: Console, path: Path, outputs: Outputs, settings: dict[str, Any], *, scale: float = 1.0
) -> dict[str, Any]:
    """Cage the mesh at `path`, in units of `scale` metres, write every output, and give what --json prints."""
    from jellycage.toolkit.asset.asset_facts import asset_facts
    from jellycage.toolkit.asset.asset_file import save_asset
    from jellycage.toolkit.mesh.mesh_io import read_mesh
    from jellycage.toolkit.prepare import build_cage

    with progress_of(console) as progress:
        started = time.perf_counter()
        progress("reading", 0.0)
        mesh = read_mesh(path, scale=scale)
        asset = build_cage(mesh, progress=progress, **settings)
        seconds = time.perf_counter() - started
        progress("writing", 1.0)
        save_asset(asset, outputs.asset)
        if outputs.png:
            _write_picture(asset, outputs.png, outputs.colours_patches)
        if outputs.html:
            _write_page(asset, outputs.html)
    facts = {"output": str(outputs.asset), **asset_facts(asset), "seconds": round(seconds, 4)}
    facts["warnings"] = list(dict.fromkeys([*mesh.warnings, *asset.meta.get("warnings", [])]))
    facts["png"] = outputs.png and str(outputs.png)
    facts["html"] = outputs.html and str(outputs.html)
    for sentence in facts["warnings"]:
        console.warn(sentence)
    return facts


def _write_picture(asset, path: Path, colours_patches: bool) -> None:
    import jellycage.toolkit.picture.picture as picture

    if colours_patches and asset.collision is None:
        raise MeshError("there are no patches to colour; leave out --png-patches")
    if colours_patches:
        image = picture.render_patches(asset.collision, asset.cage_nodes)
    else:
        image = picture.render_surface_in_cage(*_shapes(asset))
    picture.write_png(path, image)


def _write_page(asset, path: Path) -> None:
    from jellycage.toolkit.picture.page import write_page

    write_page(path, *_shapes(asset), title=str(asset.meta.get("name", "")))


def _shapes(asset) -> tuple:
    return (
        asset.surface_vertices,
        asset.surface_faces,
        asset.cage_nodes,
        asset.cage_tets,
        asset.cage_hexes,
    )
