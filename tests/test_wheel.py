"""The wheel, installed where nothing of the checkout can help it."""

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKED = ("toolkit", "sim", "sample_meshes", "pyproject.toml", "README.md", "LICENSE")

pytestmark = [pytest.mark.slow, pytest.mark.wheel]


def run(*command, **options):
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, env=environment, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from a copy so that the checkout stays clean."""
    source = tmp_path_factory.mktemp("source")
    for name in PACKED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    output = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", output, source)
    (wheel,) = output.glob("*.whl")
    return wheel


def test_the_wheel_holds_the_packages_and_one_sample(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
    assert {name.split("/")[0] for name in names} == {"jellycage"}
    meshes = [name for name in names if not name.endswith(".py")]
    assert meshes == ["jellycage/toolkit/sample_meshes/gummy_bear.obj"]
    assert wheel.stat().st_size < 2_000_000


def test_the_demo_runs_from_the_wheel_in_an_empty_folder(wheel, tmp_path):
    venv.create(tmp_path / "venv", with_pip=True)
    scripts = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin")
    run(scripts / "python", "-m", "pip", "install", "-q", wheel)
    empty = tmp_path / "empty"
    empty.mkdir()
    done = run(scripts / "jellycage", "demo", cwd=empty)
    names = sorted(path.name for path in empty.iterdir())
    made = ["abc", "bake", "gif", "html"]
    assert names == [*(f"gummy_bear.{ending}" for ending in made), "gummy_bear_obj"]
    assert len(list((empty / "gummy_bear_obj").glob("*.obj"))) == 72
    assert "gummy_bear.gif" in done.stdout
