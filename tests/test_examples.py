"""What the README shows must run."""

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SNIPPETS = [s for s in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "bpy" not in s]
"""Those that run outside Blender; tests/in_blender does the same as the other."""
SCENES = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
COMMANDS = re.findall(r"^jellycage (.+)$", README, re.MULTILINE)


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder that looks like the repository to someone who follows the README."""
    shutil.copytree(ROOT / "sample_meshes", tmp_path / "sample_meshes")
    monkeypatch.chdir(tmp_path)


def test_the_readme_has_examples():
    assert SNIPPETS and COMMANDS and len(SCENES) == 1


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_a_python_example_runs(snippet, checkout):
    exec(compile(snippet, "README.md", "exec"), {})


@pytest.mark.slow
def test_the_command_lines_run_in_order(checkout):
    from jellycage.sim.cli import main

    Path("shot.toml").write_text(SCENES[0], encoding="utf-8")
    for line in COMMANDS:
        result = CliRunner().invoke(main, line.split("#")[0].split())
        assert result.exit_code == 0, f"jellycage {line}\n{result.output}"


def test_linked_files_exist():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_files_that_the_architecture_names_exist():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(
        r"`((?:toolkit|sim|tests|contact|scene|soft|solvers)/[\w/]+(?:\.py|/))`", text
    )
    assert len(named) > 30
    for name in named:
        assert (ROOT / name).exists() or (ROOT / "sim" / name).exists() or "/x" in name, name
    # One soft step can be followed in ten places.
    step = text.split("## One soft step")[1].split("##")[0]
    assert len(re.findall(r"^\d+\. `", step, re.MULTILINE)) == 10
