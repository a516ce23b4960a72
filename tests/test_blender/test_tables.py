"""What the extension knows of the simulator without importing it, compared with the simulator."""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from jellycage.sim.bake.health import REMEDY
from jellycage.sim.export.frames import ExportMesh
from jellycage.sim.export.pc2 import Pc2Writer, read_pc2
from jellycage.sim.export.writers import WRITERS
from jellycage.sim.scene.scene_file import scene_schema
from jellycage.sim.soft.presets import EARTH_GRAVITY, QUALITIES, substeps_for
from jellycage.toolkit.mesh.sizes import size_notes

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "blender_addon"))

import build_extension  # noqa: E402  (the folder of scripts is no package)

PLAIN_MODULES = ("schema.py", "estimate.py", "pc2.py", "errors.py")
"""Modules of the extension that need no Blender."""


@pytest.fixture(scope="module")
def extension(tmp_path_factory):
    """The plain modules of the extension with the tables of a build, imported by their names."""
    folder = tmp_path_factory.mktemp("plain") / "plain_extension"
    (folder / "vendor").mkdir(parents=True)
    (folder / "__init__.py").touch()
    for name in PLAIN_MODULES:
        (folder / name).write_bytes((build_extension.EXTENSION / name).read_bytes())
    for name, content in build_extension.table_files().items():
        (folder / name).write_bytes(content)
    sys.path.insert(0, str(folder.parent))
    yield lambda name: import_module(f"plain_extension.{name}")
    sys.path.remove(str(folder.parent))


def test_the_schema_is_the_simulators(extension):
    schema = extension("schema")
    assert schema.SCENE == scene_schema()
    assert list(schema.WRITERS) == list(WRITERS)
    for suffix, row in schema.WRITERS.items():
        assert row == {"name": WRITERS[suffix].name, "sentence": WRITERS[suffix].sentence}


def test_a_property_says_what_its_key_says(extension):
    of = extension("schema").of
    assert of("body.material.density") == {
        "description": "Mass per volume; water has 1000 [kg/m^3]",
        "min": 0.1,
        "max": 1e5,
        "default": 1000.0,
    }
    assert of("body.resolution", "More take longer", default=16) == {
        "description": "Cells across the longest side. More take longer",
        "min": 1,
        "max": 512,
        "default": 16,
    }
    assert "default" not in of("body.sag") and "min" not in of("body.velocity")
    assert (of("body.pin.strength")["min"], of("body.pin.strength")["max"]) == (0.0, 1.0)
    assert of("body.velocity", description="At first")["description"] == "At first"


@pytest.mark.parametrize("quality", QUALITIES)
def test_steps_per_frame_are_those_of_the_simulator(extension, quality):
    chance = np.random.default_rng(0)
    cases = [
        (24.0, 0.5, EARTH_GRAVITY),
        (24.0, 1.0, 0.0),
        (1.0 / 0.05, EARTH_GRAVITY, EARTH_GRAVITY),
    ]
    cases += [tuple(10.0 ** chance.uniform((0, -3, -2), (2, 2, 2))) for _ in range(200)]
    for fps, length, gravity in cases:
        ours = substeps_for(fps, length, (0.0, 0.0, -gravity), QUALITIES[quality])
        assert extension("estimate").steps_per_frame(fps, length, gravity, quality) == ours


def test_point_caches_are_those_of_the_simulator(extension, tmp_path):
    frames = np.random.default_rng(0).normal(size=(3, 5, 3)).astype(np.float32)
    extension("pc2").write_points(tmp_path / "a.pc2", list(frames), 1001)
    with Pc2Writer(tmp_path / "b.pc2", [ExportMesh("b", 5, [0], [])], first_frame=1001) as writer:
        for x in frames:
            writer.write([x])
    assert (tmp_path / "a.pc2").read_bytes() == (tmp_path / "b.pc2").read_bytes()
    assert (extension("pc2").read_points(tmp_path / "b.pc2") == frames).all()
    assert (read_pc2(tmp_path / "a.pc2").positions == frames).all()


def test_an_artist_is_not_told_of_options(extension):
    sentence = extension("errors").for_artists
    ended = sentence(f"bear, frame 7: is torn apart; {REMEDY}")
    assert "--" not in ended and ended.endswith("; Keep Going bakes on")
    (large,), (small,) = (size_notes(length * np.eye(3)) for length in (1600.0, 1e-4))
    assert sentence(large) == (
        "It is 1600 m long: in millimetres? Scale it by 0.001, or by 0.01 if in centimetres."
    )
    assert "Scale it by 1000." in sentence(small) and "--" not in sentence(small)
    assert sentence("stopped, --resume continues") == "stopped, Resume continues"
