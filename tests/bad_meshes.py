"""What each file of a `bad` folder must give, and whether the command line gives it."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from jellycage import toolkit

ROOT = Path(__file__).resolve().parent.parent
REFUSED = {
    "nan_vertices.ply": "2 of",
    "empty_file.obj": "empty",
    "vertices_0_faces_0.ply": "no vertices",
    "truncated_binary.ply": "cut short",
    "point_cloud.ply": "no faces",
    "garbage.ply": "PLY",
    "planar_2d.obj": "no volume",
}
"""Files that must be refused with exit 3, and words of the sentence."""
REPAIRED = {
    "open_cut_bottom.ply": ("closed by caps", 1, None),
    "nonmanifold_fin.ply": ("shared by more than two", 1, 0.204706),
    "winding_all_inverted.ply": ("flipped", 1, 0.204706),
    "duplicate_faces_all.ply": ("1000 faces", 1, 0.204706),
    "degenerate_zero_area.ply": ("80 faces", 1, 0.519093),
    "is_binary_stl.obj": ("STL", 1, None),
    "quads_cube.obj": ("", 1, 1.0),
    "ngons_and_lines.obj": ("mtllib", 1, 0.75),
    "negative_indices.obj": ("", 1, 0.519093),
    "offset_1e8.ply": ("", 1, 0.204706),
    "tiny_1e-6.ply": ("", 1, 0.204706e-18),
    "three_components.ply": ("3 separate parts", 3, None),
    "bubble_inside.ply": ("cavit", 1, 0.5077),
    "nested_solid_inside.ply": ("once", 1, 0.5191),
    "selfint_two_overlapping.ply": ("overlap", 1, None),
    "thin_sheet_2mm.ply": ("", 1, 0.002),
    "parallel_sheets_5mm_gap.ply": ("2 separate parts", 2, 0.04),
    "naïve_モデル/球 ball ñ.ply": ("", 1, None),
    "unreferenced_vertices.ply": ("300 vertices", 1, 0.204706),
    "bowtie_vertex.ply": ("", 2, None),
    "triangle_soup.stl": ("", 1, None),
}
"""Files that must get a right cage: words of a warning, parts of the cage, volume of the solid in it [m^3]."""


def bad_mesh_rows(folder):
    """(claim, measured, holds) for every file that the manifest of a `bad` folder names."""
    manifest = next(iter(sorted(folder.rglob("bad/manifest.json"))), None)
    if manifest is None:
        return
    for row in json.loads(manifest.read_text(encoding="utf-8")):
        yield _row(manifest.parent / row["file"], row["file"])


def _row(path, name):
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "cage.npz"
        command = [
            sys.executable,
            "-m",
            "jellycage.toolkit.cli",
            "cage",
            str(path),
            "-o",
            str(target),
        ]
        result = subprocess.run(
            [*command, "--json", "--progress", "none"],
            cwd=ROOT,
            capture_output=True,
            encoding="utf-8",
            timeout=300,
        )
        left = [p.name for p in Path(folder).iterdir() if p != target]
        said = result.stderr.strip()
        if name in REFUSED:
            one_line = said.count("\n") == 0 and "Traceback" not in said
            holds = (
                result.returncode == 3 and one_line and REFUSED[name] in said
            ) and not target.exists()
            return f"bad: {name}", f"exit {result.returncode}: {said[-90:]}", holds and not left
        words, parts, volume = REPAIRED[name]
        if result.returncode != 0:
            return f"bad: {name}", f"exit {result.returncode}: {said[-90:]}", False
        facts = json.loads(result.stdout)
        asset = toolkit.load_asset(target)
        solid = _solid_volume(asset)
        holds = facts["bounding"] and facts["components"] == parts
        holds &= any(words in sentence for sentence in facts["warnings"]) or not words
        holds &= volume is None or abs(solid - volume) <= 0.01 * volume
        measured = f"{facts['elements']} tets, {facts['components']} parts, {solid:.4g} m^3"
        warned = f", {facts['warnings'][0][:60]}" if facts["warnings"] else ""
        return f"bad: {name}", measured + warned, holds and not left


def _solid_volume(asset):
    x = asset.cage_nodes[asset.cage_tets]
    x = x - asset.cage_nodes.mean(axis=0)
    sides = x[:, 1:] - x[:, :1]
    volumes = (sides[:, 0, None] @ np.cross(sides[:, 1], sides[:, 2])[..., None])[:, 0, 0] / 6.0
    return float((asset.cage_fill * volumes).sum())
