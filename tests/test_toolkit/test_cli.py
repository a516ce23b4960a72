"""The command line as scripts see it. The slow stages are stood in for; the end has real ones."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from sample_assets import cut_asset, tet_asset

import jellycage.toolkit.asset.asset_file
import jellycage.toolkit.cli
from jellycage.toolkit.asset.asset_file import load_asset, save_asset
from jellycage.toolkit.cli import main
from jellycage.toolkit.compile_kernels import COMPILING
from jellycage.toolkit.errors import AssetError, MeshError, SettingsError
from jellycage.toolkit.version import VERSION

COMMANDS = ["info", "check", "cage", "convert", "demo", "version", "completion"]
CAGE_KEYS = {
    "element",
    "elements",
    "nodes",
    "resolution",
    "cell_size",
    "components",
    "bounding",
    "min_dihedral_deg",
    "volume_ratio",
    "seconds",
    "warnings",
}
CUBE = """v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1
f 4 3 2 1\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n"""
META = {
    "name": "cube",
    "resolution": 16,
    "cell_size": 0.1,
    "components": 1,
    "bounding": True,
    "min_dihedral_deg": 20.5,
    "volume_ratio": 1.5,
    "warnings": ["A hole was closed."],
}


@dataclass
class Report:
    vertices: int = 8
    is_closed: bool = True
    volume: float = float("nan")
    size: tuple = (1.0, 1.0, 1.0)
    problems: tuple = ("One hole; it will be closed.",)


class Stages:
    """Stand-ins for the stages behind the commands; `error` is raised in the middle."""

    def __init__(self):
        self.settings = None
        self.error = None
        self.is_compiled = True

    def build_cage(self, mesh, progress=None, **settings):
        self.settings = settings
        progress("voxels", 0.0)
        if self.error:
            raise self.error
        progress("voxels", 0.5)
        progress("fitting", 1.0)
        return tet_asset(meta=META)

    def solid_of(self, mesh):
        if self.error:
            raise self.error


@pytest.fixture
def stages(monkeypatch):
    """The commands without their heavy parts."""
    stages = Stages()
    modules = {
        "prepare": SimpleNamespace(build_cage=stages.build_cage),
        "mesh.repair": SimpleNamespace(solid_of=stages.solid_of, mesh_report=lambda mesh: Report()),
        "picture.picture": SimpleNamespace(
            render_surface_in_cage=lambda *arrays: "picture",
            write_png=lambda path, image: Path(path).write_text(image),
        ),
        "picture.page": SimpleNamespace(
            write_page=lambda path, *a, title: Path(path).write_text(title)
        ),
        "compile_kernels": SimpleNamespace(
            is_compiled=lambda: stages.is_compiled, COMPILING=COMPILING
        ),
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, f"jellycage.toolkit.{name}", module)
    return stages


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty current folder with one cube in it."""
    monkeypatch.chdir(tmp_path)
    Path("cube.obj").write_text(CUBE)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def assert_one_line(result, code, *words):
    assert result.exit_code == code, result.output
    assert result.stderr.startswith("jellycage: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.output
    for word in words:
        assert word in result.stderr


# ---- talk


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_the_same_options(command):
    text = run(command, "--help").stdout
    for option in ("--json", "--progress", "--quiet", "--verbose", "--debug"):
        assert option in text


def test_version_is_said_with_and_without_json():
    assert run("version").stdout == f"jellycage {VERSION}\n"
    assert "numpy" in run("version", "-v").stdout
    assert json.loads(run("version", "--json").stdout)["jellycage"] == VERSION


def test_options_may_stand_before_the_command():
    assert json.loads(run("--json", "version").stdout)["jellycage"] == VERSION


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell):
    result = run("completion", shell)
    assert result.exit_code == 0 and "_JELLYCAGE_COMPLETE" in result.stdout


def test_info_tells_what_the_mesh_is(stages, folder):
    facts = json.loads(run("info", "cube.obj", "--json").stdout)
    assert facts["vertices"] == 8 and facts["volume"] is None and facts["size"] == [1.0] * 3
    text = run("info", "cube.obj").stdout
    assert "is closed" in text and "yes" in text and "1 x 1 x 1" in text and "hole" in text


def test_info_tells_what_is_inside_an_asset(folder):
    asset = cut_asset()
    save_asset(asset, "a.npz")
    facts = json.loads(run("info", "a.npz", "--json").stdout)
    assert facts["elements"] == len(asset.elements) and facts["bounding"] is True
    surface = facts["collision"]
    assert surface["triangles"] == len(asset.collision.triangles)
    assert surface["patches"] == len(asset.collision.patch_area)
    assert surface["tree_bytes_per_triangle"] == 0 and 24 < surface["bytes_per_triangle"] < 500
    text = run("info", "a.npz").stdout
    assert "patches" in text and "problem" not in text
    save_asset(tet_asset(), "b.npz")
    assert json.loads(run("info", "b.npz", "--json").stdout)["collision"] is None
    Path("c.npz").write_bytes(Path("a.npz").read_bytes()[:500])
    assert_one_line(run("info", "c.npz"), 3, "c.npz")


@pytest.mark.slow
def test_a_picture_can_colour_the_patches(folder):
    result = run("cage", "cube.obj", "-o", "a.npz", "--resolution", "2", "--png", "a.png")
    assert result.exit_code == 0, result.output
    result = run(
        *("cage", "cube.obj", "-o", "a.npz", "--resolution", "2", "--png", "b.png"),
        "--png-patches",
    )
    assert result.exit_code == 0, result.output
    assert Path("b.png").read_bytes() not in (b"", Path("a.png").read_bytes())
    assert run("cage", "cube.obj", "-o", "a.npz", "--png-patches").exit_code == 2


def test_check_lists_what_can_be_mended_and_leaves_with_0(stages, folder):
    result = run("check", "cube.obj", "--json")
    assert result.exit_code == 0
    facts = json.loads(result.stdout)
    assert facts["ok"] is True and facts["problems"] == ["One hole; it will be closed."]


def test_check_leaves_with_3_where_there_is_no_cage(stages, folder):
    stages.error = MeshError("cube.obj: no volume; give it thickness")
    result = run("check", "cube.obj", "--json")
    assert_one_line(result, 3, "thickness")
    assert json.loads(result.stdout)["ok"] is False
    assert run("check", "cube.obj").stdout == ""


# ---- cage


def test_cage_writes_all_files_and_the_promised_facts(stages, folder):
    result = run("cage", "cube.obj", "-o", "a.npz", "--png", "a.png", "--html", "a.html", "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts.keys() >= CAGE_KEYS
    assert facts["element"] == "tet" and facts["elements"] == 2 and facts["nodes"] == 5
    assert facts["warnings"] == ["A hole was closed."]
    assert load_asset("a.npz").meta == META
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["a.html", "a.npz", "a.png", "cube.obj"]


def test_settings_reach_the_builder(stages, folder):
    run(
        "cage",
        "cube.obj",
        "-o",
        "a.npz",
        "--resolution",
        "9",
        "--element",
        "hex",
        "--no-split",
        "--no-join",
    )
    assert stages.settings["resolution"] == 9 and "cell_size" not in stages.settings
    assert (
        stages.settings["element"] == "hex"
        and stages.settings["split"] is stages.settings["join"] is False
    )
    run("cage", "cube.obj", "-o", "a.npz", "--cell-size", "0.05", "--fit-steps", "3")
    assert stages.settings["cell_size"] == 0.05 and "resolution" not in stages.settings
    assert stages.settings["fit_steps"] == 3 and stages.settings["fit_relaxation"] == 1.0
    assert stages.settings["collision"] is True
    assert stages.settings["smooth"] is None
    run("cage", "cube.obj", "-o", "a.npz", "--no-collision", "--smooth", "gaussian")
    assert stages.settings["collision"] is False and stages.settings["smooth"] == "gaussian"


def test_quiet_says_nothing_but_json_and_errors(stages, folder):
    result = run("cage", "cube.obj", "-o", "a.npz", "-q")
    assert (result.exit_code, result.output) == (0, "")
    result = run("cage", "cube.obj", "-o", "a.npz", "-q", "--json")
    assert result.stderr == "" and json.loads(result.stdout)["elements"] == 2
    assert_one_line(run("cage", "none.obj", "-o", "a.npz", "-q"), 5, "none.obj")


def test_progress_is_told_as_asked(stages, folder):
    plain = run("cage", "cube.obj", "-o", "a.npz", "--json", "--progress", "plain").stderr
    assert plain.splitlines() == ["reading", "voxels", "fitting", "writing"]
    lines = run("cage", "cube.obj", "-o", "a.npz", "--json", "--progress", "json").stderr
    assert {"stage": "voxels", "fraction": 0.5} in map(json.loads, lines.splitlines())
    assert run("cage", "cube.obj", "-o", "a.npz", "--json", "--progress", "none").stderr == ""
    bar = run("cage", "cube.obj", "-o", "a.npz", "--json", "--progress", "bar").stderr
    assert "\n" not in bar and "100% fitting" in bar and bar.endswith("\r")


def test_the_first_run_says_that_it_compiles(stages, folder):
    stages.is_compiled = False
    text = run("cage", "cube.obj", "-o", "a.npz", "--progress", "plain").stderr
    assert "compiling, first run only" in text
    assert "compiling" in run("info", "cube.obj", "--json").stderr
    assert "compiling" in run("check", "cube.obj", "--json").stderr


def test_demo_works_in_an_empty_folder(stages, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("sample.obj").write_text(CUBE)
    monkeypatch.setattr("jellycage.toolkit.samples.sample_path", lambda: Path("sample.obj"))
    # By name it may be the one of `jellycage.sim.cli`, which takes its place once that is imported.
    result = CliRunner().invoke(jellycage.toolkit.cli.demo, ["--progress", "none"])
    assert result.exit_code == 0 and "gummy_bear_cage.png" in result.stdout
    assert Path("gummy_bear_cage.npz").exists() and Path("gummy_bear_cage.png").exists()


# ---- errors


@pytest.mark.parametrize(
    "arguments",
    [
        ["cage", "cube.obj"],
        ["cage"],
        ["cage", "cube.obj", "-o", "a.vtk"],
        ["cage", "cube.obj", "-o", "a.npz", "--resolution", "many"],
        ["cage", "cube.obj", "-o", "a.npz", "--resolution", "8", "--cell-size", "0.1"],
        ["cage", "cube.obj", "-o", "a.npz", "--element", "pyramid"],
        ["cage", "cube.obj", "-o", "a.npz", "--png", "cube.obj"],
        ["cage", "cube.obj", "-o", "a.npz", "--colour"],
        ["melt", "cube.obj"],
        ["completion", "cmd"],
    ],
    ids=" ".join,
)
def test_wrong_usage_leaves_with_2(arguments, stages, folder):
    assert_one_line(run(*arguments), 2, "--help")
    assert Path("cube.obj").read_text() == CUBE and not Path("a.npz").exists()


def test_no_command_shows_the_help_and_leaves_with_2():
    result = run()
    assert result.exit_code == 2 and "Commands:" in result.stderr


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (MeshError("cube.obj: no volume;\ngive it thickness"), 3, "no volume; give it"),
        (SettingsError("resolution: expected 1 or more, got 0"), 3, "resolution"),
        (AssetError("a.npz: damaged"), 3, "damaged"),
        (MemoryError(), 3, "memory"),
        (PermissionError(13, "Permission denied", "cube.obj"), 5, "cube.obj: Permission denied"),
        (OSError("disk full"), 5, "disk full"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (ZeroDivisionError("oops"), 1, "bug"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_become_one_line_and_an_exit_code(error, code, words, stages, folder):
    stages.error = error
    result = run("cage", "cube.obj", "-o", "a.npz", "--progress", "none")
    assert_one_line(result, code, words)
    assert [path.name for path in folder.iterdir()] == ["cube.obj"]


def test_debug_shows_the_traceback(stages, folder):
    stages.error = MeshError("cube.obj: no volume")
    result = run("cage", "cube.obj", "-o", "a.npz", "--debug")
    assert result.exit_code == 3 and "Traceback" in result.stderr


def test_a_missing_mesh_is_input_output(stages, folder):
    assert_one_line(run("info", "none.obj"), 5, "none.obj")
    assert_one_line(run("check", "none.obj"), 5, "none.obj")
    assert_one_line(run("cage", "none.obj", "-o", "a.npz", "--progress", "none"), 5, "none.obj")


@pytest.mark.parametrize("option", ["-o", "--png", "--html"])
def test_a_missing_folder_is_told_before_the_work_starts(option, stages, folder):
    outputs = {"-o": "a.npz", "--png": "a.png", "--html": "a.html"}
    outputs[option] = f"missing/{outputs[option]}"
    result = run("cage", "cube.obj", *(word for pair in outputs.items() for word in pair))
    assert_one_line(result, 5, "missing", "make it first")
    assert stages.settings is None


# ---- convert


@pytest.mark.parametrize("suffix", [".vtk", ".vtu", ".msh", ".obj"])
def test_convert_writes_every_format(suffix, folder):
    save_asset(tet_asset(), "a.npz")
    result = run("convert", "a.npz", f"a{suffix}", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["output"] == f"a{suffix}"
    assert Path(f"a{suffix}").stat().st_size > 0


def test_convert_explains_what_it_cannot_do(folder):
    save_asset(tet_asset(), "a.npz")
    assert_one_line(run("convert", "a.npz", "a.abc"), 3, ".abc", ".vtk")
    assert_one_line(run("convert", "none.npz", "a.vtk"), 5, "none.npz")
    assert_one_line(run("convert", "a.npz", "missing/a.vtk"), 5, "missing")
    assert_one_line(run("convert", "cube.obj", "a.vtk"), 3, "not a jellycage asset")
    Path("cut.npz").write_bytes(Path("a.npz").read_bytes()[:500])
    assert_one_line(run("convert", "cut.npz", "a.vtk"), 3, "cut.npz")
    assert not Path("a.vtk").exists()


def test_an_interrupted_convert_keeps_the_old_file(folder, monkeypatch):
    save_asset(tet_asset(), "a.npz")
    Path("a.vtk").write_text("old")

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("meshio.write", interrupt)
    assert_one_line(run("convert", "a.npz", "a.vtk"), 130)
    assert Path("a.vtk").read_text() == "old"
    assert sorted(path.name for path in folder.iterdir()) == ["a.npz", "a.vtk", "cube.obj"]


# ---- as a process


def command(*arguments, **options):
    environment = {**os.environ, **options.pop("env", {})}
    return subprocess.run(
        [sys.executable, "-m", "jellycage.toolkit.cli", *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        **options,
    )


def test_help_and_version_import_nothing_heavy():
    code = (
        "import sys; from jellycage.toolkit.cli import main\n"
        "try: main(['version'])\nexcept SystemExit: pass\n"
        "print(sorted({'numpy', 'numba', 'scipy', 'trimesh', 'meshio'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


STOPPED = {
    # Run with -m, Python would end by the signal if it came there, whatever exit code it was asked for.
    "in code from a string": ["print('begun')", "exec('raise KeyboardInterrupt')"],
    # The compiler would lose it, and fail or crash.
    "while a kernel is compiled": [
        "from numba.core.compiler_lock import global_compiler_lock",
        "with global_compiler_lock:",
        "    signal.raise_signal(signal.SIGINT)",
        "    print('begun')",
        "time.sleep(9.0)",
        "print('not heeded')",
    ],
}


@pytest.mark.skipif(os.name == "nt", reason="signals are those of Unix")
@pytest.mark.parametrize("where", STOPPED)
def test_an_interrupt_leaves_with_130_wherever_it_comes(where, tmp_path):
    body = "".join(f"    {line}\n" for line in STOPPED[where])
    (tmp_path / "stopping.py").write_text(
        "import click, signal, time\nfrom jellycage.toolkit.cli import main\n"
        f"def stopped():\n{body}"
        "main.add_command(click.Command('stop', callback=stopped))\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "stopping", "stop"], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 130, done.stderr
    assert done.stdout == "begun\n" and "interrupted" in done.stderr


def test_version_answers_at_once():
    best = 9.0
    for _ in range(3):
        started = time.perf_counter()
        assert command("version").returncode == 0
        best = min(best, time.perf_counter() - started)
    assert best < 1.0  # 0.15 s when the machine is idle; here others may use it too


def test_there_is_no_colour_without_a_terminal(folder):
    assert "\x1b" not in command("info", "none.obj").stderr


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGPIPE")
def test_a_closed_pipe_is_no_drama(folder):
    script = f'"{sys.executable}" -m jellycage.toolkit.cli --help | true'
    done = subprocess.run(script, shell=True, capture_output=True, text=True)
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


@pytest.mark.slow
def test_the_real_stages_agree_with_the_command_line(folder):
    done = command(
        "cage", "cube.obj", "-o", "a.npz", "--png", "a.png", "--resolution", "4", "--json"
    )
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts.keys() >= CAGE_KEYS and facts["bounding"] is True and facts["components"] == 1
    assert load_asset("a.npz").meta["resolution"] == 4
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")
    assert command("info", "cube.obj").returncode == 0
    assert command("check", "cube.obj").returncode == 0


def heed_ctrl_c():
    """A shell that runs the tests in the background lets them ignore Ctrl-C, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(os.name == "nt", reason="signals are those of Unix")
def test_ctrl_c_leaves_with_130_and_no_half_file(folder):
    process = subprocess.Popen(
        [sys.executable, "-m", "jellycage.toolkit.cli", "cage", "cube.obj", "-o", "a.npz"]
        + ["--resolution", "100", "--progress", "plain"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ},
        preexec_fn=None if os.name == "nt" else heed_ctrl_c,
    )
    assert process.stderr.readline().startswith("reading")
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=120)
    assert process.returncode == 130 and "Traceback" not in rest
    assert [path.name for path in folder.iterdir()] == ["cube.obj"]


def test_the_commands_defaults_are_the_librarys():
    from jellycage.toolkit.cli import cage
    from jellycage.toolkit.prepare import CageSettings

    defaults = {option.name: option.default for option in cage.params}
    for name in ("element", "fit_steps", "fit_relaxation"):
        assert defaults[name] == getattr(CageSettings(), name)
