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


@pytest.fixture(scope="module")
def scripts(wheel, tmp_path_factory):
    """Where the commands of an environment are that holds the wheel and what it needs."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    run(scripts / "python", "-m", "pip", "install", "-q", wheel)
    return scripts


ASKED_FOLDER = "from jellycage.toolkit.compile_kernels import CACHE_FOLDER; print(CACHE_FOLDER)"


def test_elements_alone_are_compiled_alone(scripts):
    """Blender asks for elements alone, and never draws. The first command of the environment: nothing is compiled."""
    folder = Path(run(scripts / "python", "-c", ASKED_FOLDER).stdout.strip())
    with subprocess.Popen(
        [scripts / "python", "-m", "jellycage.sim.warm_up", "tet"], stdin=subprocess.PIPE
    ) as process:
        assert process.wait(300) == 0
    kept = {path.name.split(".")[0] for path in folder.rglob("*.nbi")}
    assert {"newton_kernels", "prediction_kernels", "strikes_kernels"} < kept
    assert "picture_kernels" not in kept
    assert {path.name for path in folder.rglob("warm_*")} == {"warm_tet"}


def test_the_demo_runs_from_the_wheel_in_an_empty_folder(scripts, tmp_path):
    done = run(scripts / "jellycage", "demo", cwd=tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    made = ["abc", "bake", "gif", "html"]
    assert names == [*(f"gummy_bear.{ending}" for ending in made), "gummy_bear_obj"]
    assert len(list((tmp_path / "gummy_bear_obj").glob("*.obj"))) == 72
    assert "gummy_bear.gif" in done.stdout


LIBRARY = """
import numpy as np
from jellycage import sim, toolkit
import jellycage, sim as theirs
assert theirs.MINE and not hasattr(sim, "MINE")
tet = sim.Cage(np.eye(4, 3), [[3, 0, 1, 2]])
run = sim.simulate(sim.Scene([jellycage.SoftBody(tet, sim.Corotated())]), 2)
assert np.isfinite(run.positions[0]).all()
"""


def test_foreign_packages_called_sim_and_toolkit_do_no_harm(scripts, tmp_path):
    """In the current folder and in site-packages."""
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(run(scripts / "python", "-c", asked).stdout.strip())
    for place in (tmp_path, packages):
        (place / "sim.py").write_text("MINE = True\n")
        (place / "toolkit").mkdir()
        (place / "toolkit" / "__init__.py").write_text("MINE = True\n")
    shutil.copy(ROOT / "sample_meshes" / "gummy_bear.obj", tmp_path)
    run(scripts / "python", "-c", LIBRARY, cwd=tmp_path)
    words = "drop gummy_bear.obj -o bear.abc --resolution 4 --frames 1-3"
    run(scripts / "jellycage", *words.split(), cwd=tmp_path)
    assert (tmp_path / "bear.abc").is_file()
    run(scripts / "jellycage", "cage", "gummy_bear.obj", "-o", "bear.npz", cwd=tmp_path)
