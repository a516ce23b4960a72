"""The extension in a real Blender: each claim of each script in tests/in_blender, tried in a process of its own."""

import ast
import subprocess
import sys
from pathlib import Path

import click
import pytest

from jellycage.sim.export.writers import WRITERS

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPTS = ROOT / "tests" / "in_blender"
ARGUMENTS = {
    "dropping.py": [ROOT / "sample_meshes", ROOT, Path(click.__file__).parent.parent],
    "ragdolls.py": [ROOT, sys.executable],
}
CLAIMING = (
    *("installing.py", "dropping.py", "results.py", "keeping_caches.py", "failing.py"),
    *("scene_truth.py", "panels.py", "properties.py", "registering.py", "ragdolls.py"),
)


def claims():
    """(script, claim) of every function that is marked as a claim."""
    for script in CLAIMING:
        for node in ast.parse((SCRIPTS / script).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and "claim" in map(
                ast.unparse, node.decorator_list
            ):
                yield pytest.param(script, node.name, id=f"{Path(script).stem}-{node.name}")


@pytest.mark.slow
@pytest.mark.parametrize(("script", "claim"), [*claims()])
def test_in_blender(blender, script, claim):
    failure = blender.claims(script, *ARGUMENTS.get(script, ()))[claim]
    if failure.startswith("SKIPPED "):
        pytest.skip(failure.removeprefix("SKIPPED "))
    assert not failure, failure


@pytest.fixture(scope="session")
def exports_read(blender, tmp_path_factory):
    """What Blender found when it read every export."""
    folder = tmp_path_factory.mktemp("exports")
    subprocess.run([sys.executable, SCRIPTS / "write_exports.py", folder], check=True)
    return blender.run_script(SCRIPTS / "read_exports.py", folder)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [suffix[1:] for suffix in WRITERS])
def test_blender_reads_the_export(exports_read, kind):
    assert exports_read["compared"][kind] > 12
    assert not [text for text in exports_read["failures"] if text.startswith(kind)]


def test_every_script_is_run():
    told = {*CLAIMING, "claims.py", "read_exports.py", "write_exports.py"}
    assert {path.name for path in SCRIPTS.glob("*.py")} == told
