"""The command `ragdoll` as scripts see it."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from ragdoll_files import alembic_points, walker, walker_file
from tiny_shots import cube_file, is_leftover

from jellycage.sim.bake.cache import open_cache
from jellycage.sim.cli import main
from jellycage.sim.errors import SolverError
from jellycage.sim.maths.quaternions import turned
from jellycage.sim.ragdoll.motion import read_motion
from jellycage.sim.ragdoll.ragdoll import RagdollSettings, build_ragdoll
from jellycage.sim.ragdoll.simulation import simulate_ragdolls
from jellycage.sim.rigid.world import RigidSettings
from jellycage.sim.scene.rigid_part import RigidPart
from jellycage.sim.shapes.colliders import ground
from jellycage.sim.shapes.static_mesh import StaticMesh
from jellycage.toolkit.mesh.mesh_io import read_mesh

FACTS = {
    *("frames", "bodies", "joints", "rods", "spine", "mass", "seconds", "ms_per_step"),
    *("joint_gap_max", "rod_length_error_max", "warnings", "output"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a character in it."""
    monkeypatch.chdir(tmp_path)
    walker_file(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(main, ["ragdoll", *(str(argument) for argument in arguments)])


def done(*arguments):
    """What a run that must succeed says with --json."""
    result = run(*arguments, "--json", "-q")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def assert_one_line(result, code, *words):
    assert result.exit_code == code, result.output
    assert result.stderr.count("\n") == 1 and "Traceback" not in result.output
    for word in words:
        assert word in result.stderr


def same_motion(a, b):
    return (
        a.names == b.names
        and np.array_equal(a.frames, b.frames)
        and np.array_equal(a.location, b.location)
        and np.array_equal(a.rotation, b.rotation)
    )


def test_the_motion_is_that_of_the_simulator_to_the_bit(folder):
    facts = done("walker.json", "-o", "m.json", "--frames", 20)
    wanted = simulate_ragdolls([walker()], 20).motion()
    assert same_motion(read_motion("m.json"), wanted)
    assert facts["frames"] == 23 and facts["transition"] == 60 and facts["simulated"] == 20


def test_every_option_reaches_the_simulator(folder):
    cube_file(folder)
    words = "--spine ball --strength 0.3 --damping 5 --mass 40 --friction 0.2 --restitution 0.5"
    words += " --ground -0.4 --gravity 1 0 -5 --substeps 6 --iterations 9 --obstacle cube.obj"
    facts = done("walker.json", "-o", "m.json", "--frames", 15, *words.split())
    cube = read_mesh("cube.obj")
    wanted = simulate_ragdolls(
        [walker()],
        15,
        RagdollSettings("ball", 0.3, 5.0, 40.0, 0.2, 0.5),
        colliders=[ground(-0.4)],
        meshes=[StaticMesh(cube.vertices, cube.faces)],
        gravity=(1.0, 0.0, -5.0),
        solver=RigidSettings(6, 9),
    )
    assert same_motion(read_motion("m.json"), wanted.motion())
    assert facts["mass"] == pytest.approx(40.0) and facts["rods"] == 0
    done("walker.json", "-o", "p.json", "--frames", 15, "--positions")
    wanted = simulate_ragdolls([walker()], 15).motion(positions=True)
    assert same_motion(read_motion("p.json"), wanted)


def test_it_tells_the_promised_facts(folder):
    facts = done("walker.json", "-o", "m.json", "-o", "m.bvh", "--frames", 10)
    assert set(facts) >= FACTS
    assert facts["spine"] == ["hips", "spine", "spine.001", "spine.002"]
    assert facts["mass"] == pytest.approx(75.0) and facts["rods"] == 1
    assert facts["bodies"] == facts["joints"] + facts["rods"] + 1  # a tree
    assert 0.0 < facts["joint_gap_max"] < 0.03 and 0.0 < facts["rod_length_error_max"] < 0.03
    assert facts["output"] == ["m.json", "m.bvh"] and facts["ms_per_step"] > 0.0
    still = done("walker.json", "-o", "m.json", "--frames", 0)
    assert still["ms_per_step"] is None and still["frames"] == 3
    # Bodies go by their centres of mass, so the last frame is rounded.
    assert np.abs(read_motion("m.json").location - walker().location).max() < 1e-14


def test_without_ground_the_centre_of_mass_falls_freely(folder):
    done("walker.json", "-o", "m.json", "--frames", 24, "--ground", "none")
    motion, ragdoll = read_motion("m.json"), build_ragdoll(walker())
    mass = np.array([body.properties.mass for body in ragdoll.bodies])
    centres = np.array([body.properties.centre for body in ragdoll.bodies])
    place, turn = motion.location[:, ragdoll.body_bone], motion.rotation[:, ragdoll.body_bone]
    centre = np.einsum("n,fni->fi", mass, place + turned(turn, centres)) / mass.sum()
    velocity = 24.0 * (centre[2] - centre[1])  # of the last interval of the animation
    t = np.arange(25)[:, None] / 24.0
    wanted = centre[2] + t * velocity - 0.5 * t**2 * (0.0, 0.0, 9.81)
    # Bones keep their lengths exactly and joints do not quite, so that the two differ by millimetres.
    assert np.abs(centre[2:] - wanted).max() < 0.02


def shapes_by_hand(result, points_of):
    """Points of every body's shape carried by its rotation matrix, frame by frame."""
    frames = []
    for p, q in zip(result.locations, result.rotations, strict=True):
        rows = []
        for at, body in enumerate(result.ragdolls[0].bodies):
            w, x, y, z = q[at]
            turn = np.array(
                [
                    [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                    [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                    [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
                ]
            )
            points = np.concatenate([shape.drawn()[0] for shape in body.shapes])
            rows.append(points_of(points, at) @ turn.T + p[at])
        frames.append(np.concatenate(rows))
    return np.array(frames)


@pytest.mark.parametrize("axis", ["Y", "Z"])
def test_alembic_holds_the_shapes_carried_by_the_bodies(folder, axis):
    done("walker.json", "-o", "m.abc", "--frames", 12, *([] if axis == "Y" else ["--up-axis", "Z"]))
    wanted = shapes_by_hand(simulate_ragdolls([walker()], 12), lambda points, at: points)
    ((name, found),) = alembic_points(folder / "m.abc").items()
    if axis == "Y":
        wanted = wanted[:, :, [0, 2, 1]] * (1, 1, -1)
    assert name == "walker" and len(found) == 15
    assert np.abs(found[2:] - wanted).max() < 1e-5


def test_files_overwrite_motions_but_neither_characters_nor_other_documents(folder):
    before = (folder / "walker.json").read_bytes()
    assert_one_line(run("walker.json", "-o", "walker.json"), 3, "is the character itself")
    assert_one_line(run("walker.json", "-o", "walker.json", "--force"), 3, "character itself")
    (folder / "notes.json").write_text("{}")
    assert_one_line(run("walker.json", "-o", "notes.json"), 3, "holds no motion", "--force")
    assert (folder / "notes.json").read_text() == "{}"
    assert (folder / "walker.json").read_bytes() == before
    for extra in (["--force"], []):  # the second time it is a motion
        assert run("walker.json", "-o", "notes.json", "--frames", 1, *extra).exit_code == 0
    assert len(read_motion("notes.json").frames) == 4


def test_names_and_paths_in_japanese_work(folder):
    place = folder / "人形 フォルダ"
    place.mkdir()
    walker_file(place, "歩行者.json", name="歩く人")
    facts = done(
        place / "歩行者.json", "-o", place / "動き.bvh", "-o", place / "動き.abc", "--frames", 2
    )
    assert facts["character"] == "歩く人" and (place / "動き.bvh").stat().st_size > 1000
    assert list(alembic_points(place / "動き.abc")) == ["歩く人"]


def test_a_preview_shows_something_that_moves(folder):
    facts = done("walker.json", "--preview", "m.png", "--frames", 30)
    sheet = np.asarray(Image.open(folder / "m.png").convert("RGB")).astype(int)
    assert facts["preview"] == "m.png" and facts["output"] == []
    height, width = sheet.shape[0] // 3, sheet.shape[1] // 4
    first, last = sheet[:height, :width], sheet[-height:, -width:]
    is_red = [(image[..., 0] - image[..., 1] > 60).sum() for image in (first, last)]
    assert min(is_red) > 300 and np.abs(first - last).max() > 60


def test_progress_goes_to_stderr(folder):
    result = run("walker.json", "-o", "m.json", "--frames", 3, "--progress", "json")
    lines = [json.loads(line) for line in result.stderr.splitlines()]
    assert lines[-1]["stage"].startswith("writing m.json")
    shares = [line["fraction"] for line in lines if line["event"] == "frame"]
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert "limp from frame 60" in result.stdout
    assert run("walker.json", "-o", "m.json", "--frames", 3, "-q").output == ""


BAD = {
    "-o m.fbx": (3, "the ending '.fbx' is not known"),
    "": (2, "where to?"),
    "-o m.json --spine string": (2, "spine"),
    "-o m.json --strength 1.5": (3, "strength: expected 0 to 1"),
    "-o m.json --strength nan": (3, "strength"),
    "-o m.json --mass 0": (3, "mass: expected a positive number"),
    "-o m.json --friction -1": (3, "friction"),
    "-o m.json --restitution 2": (3, "restitution"),
    "-o m.json --damping inf": (3, "damping"),
    "-o m.json --ground floor": (2, "expected a height"),
    "-o m.json --ground nan": (3, "finite"),
    "-o m.json --gravity 0 0 nan": (3, "gravity: expected three finite numbers"),
    "-o m.json --gravity 0 0": (2, "gravity"),
    "-o m.json --frames -1": (2, "frames"),
    "-o m.json --substeps 0": (2, "substeps"),
    "-o m.json --iterations 0": (2, "iterations"),
    "-o m.json --obstacle nothing.obj": (5, "nothing.obj"),
    "-o m.json --obstacle walker.json": (3, "walker.json"),
    "-o m.json --preview m.jpg": (3, "a preview ends in .png or .gif"),
    "-o m.json -o ./m.json": (3, "is to be written twice"),
    "-o nowhere/m.json": (5, "no such folder"),
}


@pytest.mark.parametrize("words", BAD)
def test_what_cannot_be_done_is_refused_in_one_line_before_any_work(folder, words, monkeypatch):
    monkeypatch.setattr("jellycage.sim.scene.rigid_part.RigidPart.step", None)
    code, sentence = BAD[words]
    before = sorted(path.name for path in folder.iterdir())
    result = run("walker.json", *words.split(), "--progress", "none")
    assert_one_line(result, code, sentence)
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (None, 3, "there is no such file"),
        ("", 3, "no JSON"),
        ("[1]", 3, "expected a table"),
        ('{"format": "jellycage motion"}', 3, "format"),
        ("{}", 3, "is missing"),
        (b"\xff\xfe{}", 3, "UTF-8"),
    ],
)
def test_bad_characters_are_refused_in_one_line(folder, content, code, words):
    if content is not None:
        data = content if isinstance(content, bytes) else content.encode()
        (folder / "bad.json").write_bytes(data)
    assert_one_line(run("bad.json", "-o", "m.bvh", "--progress", "none"), code, words)
    answer = json.loads(run("bad.json", "-o", "m.bvh", "--json", "-q").stdout)
    assert answer["ok"] is False and answer["code"] == code
    assert not (folder / "m.bvh").exists()


@pytest.mark.parametrize(
    ("error", "code"), [(KeyboardInterrupt(), 130), (SolverError("it broke; try"), 4)]
)
def test_a_run_that_stops_leaves_no_file(folder, monkeypatch, error, code):
    def stop(*arguments):
        raise error

    monkeypatch.setattr("jellycage.sim.scene.rigid_part.RigidPart.step", stop)
    result = run("walker.json", "-o", "m.bvh", "-o", "m.abc", "--progress", "none")
    assert_one_line(result, code)
    assert not (folder / "m.bvh").exists() and not is_leftover(folder)


def test_the_help_names_every_default_truly():
    text = " ".join(run("--help").output.split())
    settings, solver = RagdollSettings(), RigidSettings()
    for words in (
        f"({settings.spine})",
        f"wooden ({settings.strength:g})",
        f"1/s ({settings.damping:g})",
        f"bodies ({settings.friction:g})",
        f"0 to 1 ({settings.restitution:g})",
        f"per frame ({solver.substeps})",
        f"per step ({solver.iterations})",
    ):
        assert words in text


def test_a_stopped_run_resumes_and_gives_the_same_bits(folder, monkeypatch):
    done("walker.json", "-o", "whole.json", "--frames", 12)
    step, steps = RigidPart.step, iter(range(100))

    def stop_later(self, *arguments):
        if next(steps) == 8:
            raise KeyboardInterrupt
        return step(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(RigidPart, "step", stop_later)
        words = ("walker.json", "-o", "m.json", "--frames", 12, "--cache", "kept.bake")
        assert_one_line(run(*words, "--progress", "none"), 130)
    assert open_cache("kept.bake").frames_done()[-1] == 66
    assert done(*words, "--resume")["cache"] == "kept.bake"
    assert same_motion(read_motion("m.json"), read_motion("whole.json"))
    # Another scene is refused with --resume, and replaces it without.
    other = ("walker.json", "-o", "m.json", "--frames", 3, "--cache", "kept.bake")
    assert_one_line(run(*other, "--resume", "--progress", "none"), 3, "of another scene")
    assert done(*other)["frames"] == 6
