"""Scene files: good ones are read to the last key, bad ones are refused in one line that helps."""

import dataclasses
import json
import os
import tomllib
from pathlib import Path

import numpy as np
import pytest
from bad_scenes import BEAR, FILES, MALFORMED

from jellycage.sim.errors import SceneError, SimError
from jellycage.sim.rigid.world import RigidSettings
from jellycage.sim.scene.entry_kinds import StrengthKey, VectorKey, euler_matrix
from jellycage.sim.scene.scene_file import (
    EXAMPLE,
    SceneFile,
    read_scene_file,
    scene_of,
    scene_page,
    scene_schema,
)
from jellycage.sim.schema.schema import Place, keys_of
from jellycage.sim.soft.presets import PRESETS, QUALITIES
from jellycage.sim.solvers.methods import SOLVERS
from jellycage.sim.solvers.settings import SolverSettings
from jellycage.toolkit.prepare import CageSettings

ROOT = Path(__file__).resolve().parents[3]
EVERY_KEY = """
frames = [1001, 1050]
fps = 25
substeps = 5
seed = 7
quality = "preview"
gravity = [0, 0, -1.62]
wind = [3, 0, 0]

[solver]
newton_iterations = 3
newton_tolerance = 0.1
linear_iterations = 50
linear_tolerance = 0.2
stiffness = "hybrid"
precision = 1e-6
integrator = "implicit_euler"
impact_steps = 4

[rigid_solver]
substeps = 8
iterations = 20
sleep_speed = 0.01
sleep_time = 2

[output]
path = "out/shot.abc"
up_axis = "Z"
scale = 100
velocities = true

[[body]]
name = "Bear"
mesh = "bear.ply"
units = "cm"
location = [1, 2, 3]
rotation = [10, 20, 30]
scale = [1, 2, 0.5]
velocity = [0, 0, -4]
spin = [0, 1, 0]
preset = "rubber"
sag = 0.02
stiffness_damping = 0.03
mass_damping = 0.5
air_drag = 0.6
friction = 0.25
restitution = 0.75
group = "crowd"
passes_through = ["stone", "crowd"]
resolution = 12
element = "hex"
fit_steps = 3
split = false
join = false
coarsening = false
quadrature = 8
rotation_method = "isvd"
surface = "mls"

[body.paint.young_modulus]
low = 1e3
high = 1e5
attribute = "hard"

[body.paint.density]
low = 500
high = 1500
file = "weights.npz"
array = "heavy"

[[body.pin]]
vertices = [0, 3, 2]
strength = 0.5
target = "hand.pc2"
along = [0, 0, 2]

[[body.pin]]
box = [[-1, -1, 0], [1, 1, 0.1]]
strength = [{frame = -3, value = 0}, {frame = 24.5, value = 1}]
offset = [{frame = 1, value = [0, 0, 0]}, {frame = 24, value = [0, 0, 1]}]
normal = [1, 0, 0]

[[body.pin]]
file = "weights.npz"
array = "held"

[[body.pin]]
attribute = "hand"

[[body.pin]]
all = true

[[body.load]]
kind = "force"
attribute = "wind"
value = [{frame = 1, value = [0, 0, 0]}, {frame = 9, value = [5, 0, 0]}]

[[body.load]]
kind = "impulse"
all = true
value = [0, 0, 2]
frame = 1010

[[body.load]]
kind = "velocity"
file = "weights.npz"
array = "pushed"
value = [1, 0, 0]

[[body.load]]
kind = "position"
vertices = [5]
value = [0, 1, 0]

[[body.load]]
kind = "force"
box = [[0, 0, 0], [1, 1, 1]]
value = [0, 0, 9]

[[body]]
name = "stone"
asset = "bear.npz"
matrix = [[2, 0, 0, 5], [0, 2, 0, 6], [0, 0, 2, 7], [0, 0, 0, 1]]
damping_ratio = 0.2

[body.material]
law = "corotated"
young_modulus = 2e6
poisson_ratio = 0.3
density = 2500

[[body]]
mesh = "bear.ply"
cell_size = 0.125
[body.paint.young_modulus]
low = 1e6
high = 1e5
file = "weights.npz"
array = "hard"
[body.paint.density]
low = 1
high = 2
attribute = "heavy"

[[ragdoll]]
name = "Walker"
character = "walker.json"
spine = "ball"
strength = 0.25
damping = 3
mass = 60
friction = 0.4
restitution = 0.1
location = [1, 2, 3]
rotation = [0, 0, 45]
positions = true
motion = ["out/walker.bvh", "walker_motion.json"]

[[ragdoll]]
character = "walker.json"
motion = "second.BVH"

[[rigid]]
name = "Crate"
kind = "mesh"
mesh = "crate.obj"
units = 0.5
scale = [1, 2, 3]
location = [0, 0, 2]
rotation = [90, 0, 0]
velocity = [1, 0, 0]
spin = [0, 0, 2]
density = 300
friction = 0.8
restitution = 0.2
linear_damping = 0.1
angular_damping = 0.3

[[rigid]]
kind = "capsule"
radius = 0.2
length = 0.6
mass = 12

[[rigid]]
kind = "box"
size = [1, 2, 3]

[[collider]]
kind = "mesh"
mesh = "stairs.obj"
units = "ft"
scale = 2
location = [0, 0, 1]

[[collider]]
kind = "plane"
name = "floor"
friction = 0.9
restitution = 0.1
normal = [0, 0.1, 1]

[[collider]]
kind = "sphere"
radius = 0.5
keys = [{frame = 1, location = [0, 0, 1]}, {frame = 10, rotation = [0, 0, 90]}]

[[collider]]
kind = "box"
size = [1, 2, 3]
location = [4, 0, 0]
rotation = [0, 45, 0]

[[collider]]
kind = "capsule"
radius = 0.1
length = 0
"""


@pytest.fixture
def shot(tmp_path):
    """A folder with everything that the scenes name; a function that writes a scene there and gives its path."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    def write(content, name="scene.toml"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def refusal(path):
    """The text with which a file is refused, which is one line with a problem and a remedy."""
    with pytest.raises(SceneError) as caught:
        read_scene_file(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ") and len(text.splitlines()) == 1
    problem, remedy = text[len(f"{path}: ") :].split("; ", 1)
    assert problem and remedy and "null" not in remedy and len(text) < 700
    return text[len(f"{path}: ") :]


@pytest.mark.parametrize("content", MALFORMED, ids=lambda c: repr(c[-60:])[:70])
def test_a_malformed_file_is_refused_by_key_and_remedy(shot, content):
    where, remedy = MALFORMED[content]
    text = refusal(shot(content))
    assert where in text.split("; ")[0] or text.startswith(where), text
    assert remedy in text, text


def test_there_are_many_malformed_files():
    assert len(MALFORMED) >= 45


@pytest.mark.parametrize(
    ("content", "words"),
    {
        "[]": ("the document: expected a table of keys, got []",),
        "{": ("line 1: no JSON",),
        '{\n"fps": 24,\n}': ("line 3: no JSON",),
        '{"fps": 24, "fps": 25}': ('"fps": stands 2 times', "keep one"),
        '{"body": [{"mesh": "bear.ply"}], "fps": NaN}': ("fps: expected a number", "got nan"),
        '{"body": [{"mesh": "bear.ply"}], "fps": 1e999}': ("fps: expected a number", "got inf"),
        '{"body": [{"mesh": "bear.ply", "cell_size": null}]}': ("cell_size: expected", "got null"),
        '{"body": [{"mesh": "\\ud800.ply"}]}': ("body[0].mesh: expected", "got "),
        '{"body": [{"mesh": "bear.ply", "wind": ' + "[" * 500 + "]" * 500 + "}]}": ("wind: unknown",),
        '{"body": [{"mesh": "bear.ply", "sag": ' + "[" * 500 + "]" * 500 + "}]}": ("sag: expected",),
        '{"a": ' * 9999: ("too deep",),
    }.items(),
    ids=lambda c: repr(c)[:40],
)  # fmt: skip
def test_malformed_json_is_refused_in_the_same_way(shot, content, words):
    text = refusal(shot(content, "scene.json"))
    assert all(word in text for word in words), text


def test_files_that_are_none_are_refused(shot, tmp_path):
    (tmp_path / "folder.toml").mkdir()
    for name, word in {
        "missing.toml": "no such file",
        "folder.toml": "no regular file",
        "a\nb\0.toml": "no such file",
    }.items():
        with pytest.raises(SceneError, match=word) as caught:
            read_scene_file(tmp_path / name)
        assert "; " in str(caught.value) and len(str(caught.value).splitlines()) == 1
    assert "rename" in refusal(shot(BEAR, "scene.yaml"))
    assert issubclass(SceneError, SimError) and issubclass(SceneError, ValueError)


@pytest.mark.skipif(os.name == "nt" or not hasattr(os, "geteuid"), reason="permissions of Unix")
def test_a_file_that_may_not_be_read_is_refused(shot):
    path = shot(BEAR)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("the superuser reads everything")
    assert "cannot be read" in refusal(path)


def test_the_shortest_scene_has_all_the_defaults(shot):
    scene = read_scene_file(shot(BEAR))
    assert scene.frames == (1, 72) and scene.fps == 24.0 and scene.substeps is None
    assert scene.seed == 0 and scene.quality == "standard"
    assert scene.gravity == (0.0, 0.0, -9.81) and scene.wind == (0.0, 0.0, 0.0)
    assert scene.output.path is None and scene.output.up_axis is None
    assert scene.output.scale == 1.0 and scene.output.velocities is False
    assert scene.colliders == ()
    (body,) = scene.bodies
    assert body.name == "bear" and body.preset == "jelly" and body.material is None
    assert (
        body.friction == PRESETS["jelly"].friction
        and body.damping_ratio == PRESETS["jelly"].damping_ratio
    )
    assert body.restitution == PRESETS["jelly"].restitution
    assert body.resolution is None and body.cell_size is None
    assert body.pins == () and body.loads == () and body.paint.density is None
    assert np.array_equal(body.transform, np.eye(4))


def test_defaults_are_those_of_the_code_that_uses_them(shot):
    """No default is said twice: cage, solver and material have theirs."""
    scene = read_scene_file(shot(BEAR + BEAR + "[body.material]\n"))
    for name in ("element", "fit_steps", "split"):
        assert getattr(scene.bodies[0], name) == getattr(CageSettings(), name)
    assert QUALITIES["standard"].resolution == CageSettings().resolution
    expected = SolverSettings(newton_iterations=QUALITIES["standard"].newton_iterations)
    assert scene.solver_settings == expected
    solver_keys = scene_schema()["keys"]["solver"]["keys"]
    # There is one solver to choose yet, and one integrator that is exact in contact.
    hidden = {"method", "integrator"}
    assert len(SOLVERS) == 1
    assert {*solver_keys, *hidden} == {field.name for field in dataclasses.fields(SolverSettings)}
    body = scene.bodies[1]
    assert body.preset is None and body.damping_ratio == 0.0
    assert (body.friction, body.restitution) == (0.5, 0.0)
    assert (body.material.young_modulus, body.material.poisson_ratio) == (1e5, 0.45)


def test_every_key_is_read(shot, tmp_path):
    scene = read_scene_file(shot(EVERY_KEY))
    bear, stone, plain = scene.bodies
    assert scene.frames == (1001, 1050) and scene.fps == 25.0 and scene.substeps == 5
    assert scene.seed == 7 and scene.quality == "preview"
    assert scene.gravity == (0.0, 0.0, -1.62) and scene.wind == (3.0, 0.0, 0.0)
    assert scene.solver_settings == SolverSettings(
        3, 0.1, 50, 0.2, "hybrid", 1e-6, integrator="implicit_euler", impact_steps=4
    )
    assert scene.output.path == tmp_path / "out" / "shot.abc" and scene.output.up_axis == "Z"
    assert scene.output.scale == 100.0 and scene.output.velocities is True
    assert bear.name == "Bear" and bear.mesh == tmp_path / "bear.ply" and bear.asset is None
    assert bear.velocity == (0.0, 0.0, -4.0) and bear.spin == (0.0, 1.0, 0.0)
    assert bear.preset == "rubber" and bear.sag == 0.02 and bear.stiffness_damping == 0.03
    assert (bear.mass_damping, bear.air_drag) == (0.5, 0.6)
    assert (bear.friction, bear.restitution) == (0.25, 0.75)
    assert bear.group == "crowd" and bear.passes_through == ("stone", "crowd")
    assert scene.passing == ((0, 1),)
    assert bear.resolution == 12 and bear.element == "hex" and bear.fit_steps == 3
    assert (
        bear.split is False
        and bear.quadrature == 8
        and not bear.coarsening
        and bear.rotation_method == "isvd"
        and bear.surface == "mls"
    )
    assert bear.paint.young_modulus.attribute == "hard"
    assert bear.paint.density.file == tmp_path / "weights.npz"
    assert bear.paint.density.array == "heavy"
    led, slid, held, *_ = bear.pins
    assert led.vertices == (0, 3, 2) and led.strength == 0.5 and led.along == (0.0, 0.0, 2.0)
    assert led.target == tmp_path / "hand.pc2"
    assert slid.box == ((-1.0, -1.0, 0.0), (1.0, 1.0, 0.1)) and slid.normal == (1.0, 0.0, 0.0)
    assert slid.strength == (StrengthKey(frame=-3, value=0), StrengthKey(frame=24.5, value=1))
    assert slid.offset[1] == VectorKey(frame=24, value=(0, 0, 1))
    assert held.file == tmp_path / "weights.npz" and held.array == "held" and not held.all
    force, blow, *_ = bear.loads
    assert force.attribute == "wind" and force.value[1] == VectorKey(frame=9, value=(5, 0, 0))
    assert (blow.kind, blow.all, blow.value, blow.frame) == ("impulse", True, (0, 0, 2), 1010)
    assert stone.material.law == "corotated" and stone.material.young_modulus == 2e6
    assert stone.material.poisson_ratio == 0.3 and stone.material.density == 2500.0
    assert np.array_equal(stone.transform @ [1, 1, 1, 1], [7, 8, 9, 1])
    assert plain.cell_size == 0.125 and plain.name == "bear_2"
    stairs, floor, ball, crate, stick = scene.colliders
    assert stairs.mesh == tmp_path / "stairs.obj" and stairs.scale == 2.0 and stairs.units == "ft"
    assert stairs.name == "mesh" and stairs.location == (0, 0, 1)
    assert (floor.name, floor.kind, floor.normal) == ("floor", "plane", (0, 0.1, 1))
    assert (floor.friction, floor.restitution) == (0.9, 0.1)
    assert ball.radius == 0.5 and ball.name == "sphere" and stick.name == "capsule"
    assert ball.keys[0].rotation == (0, 0, 0) and ball.keys[0].location == (0, 0, 1)
    assert ball.keys[1].rotation == (0, 0, 90) and ball.keys[1].location == (0, 0, 0)
    assert crate.size == (1, 2, 3) and crate.location == (4, 0, 0) and crate.rotation == (0, 45, 0)
    assert (stick.radius, stick.length) == (0.1, 0.0)


def test_every_key_of_ragdolls_and_rigid_bodies_is_read(shot, tmp_path):
    scene = read_scene_file(shot(EVERY_KEY))
    walker, second = scene.ragdolls
    assert walker.name == "Walker" and walker.character == tmp_path / "walker.json"
    assert (walker.spine, walker.strength, walker.damping, walker.mass) == ("ball", 0.25, 3, 60)
    assert (walker.friction, walker.restitution, walker.positions) == (0.4, 0.1, True)
    assert walker.location == (1, 2, 3) and walker.rotation == (0, 0, 45)
    assert walker.motion == (tmp_path / "out" / "walker.bvh", tmp_path / "walker_motion.json")
    assert second.name == "walker_2" and second.motion == (tmp_path / "second.BVH",)
    crate, capsule, box = scene.rigids
    assert (crate.name, capsule.name, box.name) == ("Crate", "capsule", "box")
    assert crate.mesh == tmp_path / "crate.obj" and crate.scale == (1, 2, 3) and crate.units == 0.5
    assert crate.location == (0, 0, 2) and crate.rotation == (90, 0, 0)
    assert crate.velocity == (1, 0, 0) and crate.spin == (0, 0, 2)
    assert (crate.density, crate.mass) == (300, None)
    assert (crate.friction, crate.restitution) == (0.8, 0.2)
    assert (crate.linear_damping, crate.angular_damping) == (0.1, 0.3)
    assert (capsule.radius, capsule.length, capsule.mass) == (0.2, 0.6, 12)
    assert box.size == (1, 2, 3)
    assert scene.rigid_settings == RigidSettings(8, 20, 0.01, 2.0)
    short = read_scene_file(shot('substeps = 3\n[[rigid]]\nkind = "sphere"\nradius = 1'))
    assert short.rigid_settings == RigidSettings(substeps=3) and short.bodies == ()


def test_the_long_scene_really_has_every_key():
    def missing(table, documents, path):
        for name, row in table["keys"].items():
            given = [document[name] for document in documents if name in document]
            if not given:
                yield f"{path}{name}"
            elif row["type"] in ("table", "tables"):
                inner = (
                    given if row["type"] == "table" else [item for rows in given for item in rows]
                )
                yield from missing(row, inner, f"{path}{name}.")

    assert not list(missing(scene_schema(), [tomllib.loads(EVERY_KEY)], ""))


@pytest.mark.parametrize("content", [BEAR, EVERY_KEY], ids=["short", "long"])
def test_json_and_toml_give_the_same_scene(shot, content):
    scene = read_scene_file(shot(content))
    again = read_scene_file(shot(json.dumps(tomllib.loads(content)), "scene.json"))
    assert again == scene and again.content == scene.content


def test_a_byte_order_mark_and_windows_lines_are_no_problem(shot):
    content = b"\xef\xbb\xbf" + EVERY_KEY.replace("\n", "\r\n").encode()
    assert read_scene_file(shot(content)) == read_scene_file(shot(EVERY_KEY))


@pytest.mark.parametrize("frames", [(1001, 1001), (-20, -3), (0, 0)])
def test_frames_may_start_anywhere(shot, frames):
    assert read_scene_file(shot(f"frames = {list(frames)}\n" + BEAR)).frames == frames


def test_relative_paths_start_at_the_scene_whatever_the_working_folder(shot, tmp_path, monkeypatch):
    shot('[[body]]\nmesh = "../meshes/./duck.obj"\n[output]\npath = "a.abc"', "meshes/duck.toml")
    monkeypatch.chdir(tmp_path / "meshes")
    for path in ("duck.toml", tmp_path / "meshes" / "duck.toml", "../meshes/duck.toml"):
        scene = read_scene_file(path)
        assert scene.bodies[0].mesh == tmp_path / "meshes" / "duck.obj"
        assert scene.output.path == tmp_path / "meshes" / "a.abc"
    absolute = json.dumps(str(tmp_path / "bear.obj"))
    scene = read_scene_file(shot(f"[[body]]\nmesh = {absolute}", "meshes/duck.toml"))
    assert scene.bodies[0].mesh == tmp_path / "bear.obj"


def test_names_come_from_files_and_are_made_unique(shot, tmp_path):
    (tmp_path / "a:b?.obj").touch()
    odd = '[[body]]\nmesh = "a:b?.obj"\n'
    given = BEAR + 'name = "BEAR_2"\n'
    duck = '[[body]]\nmesh = "meshes/duck.obj"\n'
    plane = '[[collider]]\nkind = "plane"\n'
    scene = read_scene_file(shot(BEAR + given + BEAR + duck + odd + plane + plane))
    assert [body.name for body in scene.bodies] == ["bear", "BEAR_2", "bear_3", "duck", "a_b_"]
    assert [collider.name for collider in scene.colliders] == ["plane", "plane_2"]


def test_rotation_and_scale_are_applied_as_in_blender(shot):
    """Scale along the body's own axes, then turn about x, y and z of the world, then move."""
    body = read_scene_file(shot(EVERY_KEY)).bodies[0]
    x, y, z = np.radians((10, 20, 30))
    point = np.array([1.0, 1.0, 1.0]) * (1, 2, 0.5)
    for (first, second), angle in zip(((1, 2), (2, 0), (0, 1)), (x, y, z), strict=True):
        a, b = point[first], point[second]
        point[first] = np.cos(angle) * a - np.sin(angle) * b
        point[second] = np.sin(angle) * a + np.cos(angle) * b
    np.testing.assert_allclose(body.transform @ [1, 1, 1, 1], [*(point + (1, 2, 3)), 1], atol=1e-14)
    # A quarter turn about z takes x to y.
    np.testing.assert_allclose(euler_matrix((0, 0, 90)) @ [1, 0, 0], [0, 1, 0], atol=1e-15)


def test_painted_values_are_met_at_both_ends_and_halfway(shot):
    paint = read_scene_file(shot(EVERY_KEY)).bodies[0].paint
    weights = np.array([0.0, 0.5, 1.0])
    np.testing.assert_allclose(paint.young_modulus.values(weights), [1e3, 1e4, 1e5], rtol=1e-12)
    np.testing.assert_allclose(paint.density.values(weights), [500, 1000, 1500], rtol=1e-12)


def test_content_is_json_and_moves_with_its_folder(shot, tmp_path):
    scene = read_scene_file(shot(EVERY_KEY))
    assert json.loads(json.dumps(scene.content, allow_nan=False)) == scene.content
    assert str(tmp_path) not in json.dumps(scene.content)
    assert scene.content["body"][0]["mesh"] == "bear.ply"
    outside = read_scene_file(shot('[[body]]\nmesh = "../bear.obj"', "meshes/a.toml"))
    assert outside.content["body"][0]["mesh"] == "../bear.obj"


def test_content_holds_every_key_but_the_output(shot):
    def assert_holds(content, document, path):
        if isinstance(document, dict):
            for name in document:
                assert_holds(content[name], document[name], f"{path}.{name}")
        elif isinstance(document, list):
            for at, (a, b) in enumerate(zip(content, document, strict=True)):
                assert_holds(a, b, f"{path}[{at}]")
        else:
            assert content == document, path

    document = tomllib.loads(EVERY_KEY)
    content = read_scene_file(shot(EVERY_KEY)).content
    del document["output"]
    for row in document["ragdoll"]:  # where their motion goes is output too
        del row["motion"]
    assert_holds(content, document, "")
    assert set(content) == set(scene_schema()["keys"]) - {"output"}


def test_a_document_from_elsewhere_is_read_like_a_file(shot, tmp_path):
    scene = read_scene_file(shot(EVERY_KEY))
    assert scene_of(tomllib.loads(EVERY_KEY), tmp_path) == scene
    with pytest.raises(SceneError, match="^body: is missing; add"):
        scene_of({}, tmp_path)


def tables(entry):
    """A table and all tables inside it, as classes."""
    yield entry
    for field in keys_of(entry).values():
        kind = field.metadata["kind"]
        for inner in (kind, *getattr(kind, "kinds", ())):
            if hasattr(inner, "entry"):
                yield from tables(inner.entry)


def test_every_key_is_explained_and_every_example_is_right(shot, tmp_path):
    """An example is what messages advise, so it must pass its own check; so must every default."""
    for entry in tables(SceneFile):
        assert entry.__doc__.endswith(".") and "\n" not in entry.__doc__
        for name, field in keys_of(entry).items():
            kind, sentence = field.metadata["kind"], field.metadata["sentence"]
            assert sentence.endswith(".") and kind.described()["type"], name
            if hasattr(kind, "entry") and field.metadata["example"] is None:
                continue
            example = field.metadata["example"]
            example = field.default if example is None else example
            assert example is not None, f"{entry.__name__}.{name} has no example"
            kind.read(example, Place(tmp_path, name, example))
            if field.default not in (None, "", (), False, dataclasses.MISSING):
                kind.read(field.default, Place(tmp_path, name, example))


def test_the_schema_is_plain_data_with_limits():
    schema = scene_schema()
    assert json.loads(json.dumps(schema)) == schema
    resolution = schema["keys"]["body"]["keys"]["resolution"]
    assert (resolution["low"], resolution["high"]) == (1, 512)
    assert resolution["type"] == "whole number" and not resolution["is_needed"]
    assert schema["keys"]["fps"]["default"] == 24.0
    assert schema["keys"]["ragdoll"]["keys"]["character"]["is_needed"]
    assert schema["keys"]["gravity"]["unit"] == "m/s^2" and schema["keys"]["gravity"]["count"] == 3


def test_the_page_is_what_the_table_says():
    page = (ROOT / "docs" / "scene_file.md").read_text(encoding="utf-8")
    assert page == scene_page(scene_schema()), (
        "write it again: python -m jellycage.sim.scene.scene_file"
    )
    for name in ("young_modulus", "[[body.pin]]", "`jelly`", "Exactly one of mesh and asset."):
        assert name in page


def test_the_example_of_the_page_can_be_read(shot):
    scene = read_scene_file(shot(EXAMPLE))
    assert scene.frames == (1001, 1096) and scene.colliders[0].friction == 0.8
