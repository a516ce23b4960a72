"""What the verify scripts share: their meshes, and the table that they close with."""

import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUFFIXES = {".ply", ".obj", ".off", ".stl", ".glb"}


def mesh_files(folder):
    """Every mesh below a folder but those that are bad on purpose, in order."""
    skipped = ("bad", "tets")
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix in SUFFIXES and not set(skipped) & set(path.relative_to(folder).parts[:-1])
    ]


class Report:
    """Lines of the closing table, and notes printed as they come."""

    def __init__(self):
        self.lines, self.started = [], time.perf_counter()

    def line(self, claim, measured, holds):
        self.lines.append((claim, measured, bool(holds)))
        print(f"{'holds ' if holds else 'BROKEN'}  {claim}: {measured}", flush=True)

    def notes(self, sentences):
        for sentence in sentences:
            print(f"        {sentence}", flush=True)

    def close(self):
        """Print the table and end the script: with 1 if a line is broken."""
        print(f"\n{'claim':52s} measured")
        for claim, measured, holds in self.lines:
            print(f"{'' if holds else '*** '}{claim:52s} {measured}")
        broken = sum(not holds for *_, holds in self.lines)
        seconds = time.perf_counter() - self.started
        print(f"{len(self.lines) - broken} hold, {broken} broken, {seconds:.0f} s")
        sys.exit(broken > 0)


def given_folder(parser):
    """The folder of meshes that the command line names, once it is known to hold some."""
    parser.add_argument("--meshes", type=Path, default=ROOT / "sample_meshes")
    folder = parser.parse_args().meshes.expanduser()
    if not mesh_files(folder):
        parser.error(
            f"no meshes in {folder}: name a folder with .obj, .ply, .stl, .off or .glb files"
        )
    return folder
