"""The build of the extension, with wheels of a few bytes: no network, no Blender."""

import dataclasses
import hashlib
import json
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from mesh_files import CUBE_OBJ

from jellycage.sim.soft.presets import PRESETS, QUALITIES
from jellycage.toolkit.version import VERSION

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "blender_addon"))

import build_extension  # noqa: E402  (the folder of scripts is no package)
import lock_wheels  # noqa: E402

MANIFEST = build_extension.MANIFEST
PLATFORMS = list(lock_wheels.PLATFORM_TAGS)
LIBRARIES = {"numpy", "scipy", "numba", "llvmlite"}

WORKER_IMPORTS = """
import json, sys
before = set(sys.modules)
sys.path.insert(0, sys.argv[1])
import jellycage.sim.bake.bake_task, jellycage.sim.worker
job = jellycage.sim.worker.read_job(sys.argv[2])
files = [getattr(sys.modules[name], "__file__", None) for name in set(sys.modules) - before]
print(json.dumps({"cache": job.cache.name, "files": [file for file in files if file]}))
"""


class Workshop:
    """An add-on of two lines, a lock, and wheels that lie where the lock says they can be downloaded."""

    def __init__(self, folder):
        self.folder, self.extension = folder, folder / "extension"
        self.index, self.wheels, self.output = folder / "index", folder / "wheels", folder / "dist"
        self.extension.mkdir()
        self.index.mkdir()
        (self.extension / "__init__.py").write_text("def register(): ...\n")
        shutil.copy(build_extension.EXTENSION / MANIFEST, self.extension)
        self.lock = folder / "wheels.lock"
        self.locked = [
            self.make_wheel(abi, platform, name, version)
            for abi, versions in lock_wheels.PINNED.items()
            for platform in PLATFORMS
            for name, version in versions.items()
        ]
        self.write_lock()

    def make_wheel(self, abi, platform, name, version):
        file = f"{name}-{version}-{abi}-{abi}-{lock_wheels.PLATFORM_TAGS[platform][0]}.whl"
        path = self.index / file
        path.write_bytes(f"bytes of {file}".encode())
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        return lock_wheels.Wheel(abi, platform, name, version, file, sha256, path.as_uri())

    def write_lock(self):
        self.lock.write_text(lock_wheels.lock_text(self.locked))

    def edit_manifest(self, old, new):
        path = self.extension / MANIFEST
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def build(self, *arguments, platform="linux-x64"):
        """The exit code."""
        places = {
            "--platform": platform,
            "--extension": self.extension,
            "--lock": self.lock,
            "--wheels": self.wheels,
            "--output": self.output,
        }
        words = [str(word) for pair in places.items() for word in pair]
        return build_extension.main([*words, *map(str, arguments)])

    def zip_of(self, platform="linux-x64", suffix=""):
        return self.output / f"jellycage-{VERSION}-{platform}{suffix}.zip"


@pytest.fixture
def workshop(tmp_path):
    return Workshop(tmp_path)


@pytest.fixture
def refuses(workshop, capsys):
    """Build, and expect one sentence with these words, an exit code, and no trace of a zip."""

    def check(*words, code=3, arguments=(), **options):
        assert workshop.build(*arguments, **options) == code
        (sentence,) = capsys.readouterr().err.splitlines()
        assert all(word in sentence for word in words), sentence
        assert not workshop.output.exists() or not list(workshop.output.iterdir())

    return check


def manifest_of(path):
    with zipfile.ZipFile(path) as archive:
        return tomllib.loads(archive.read(MANIFEST).decode())


# ---- what is in the zip


def test_the_same_sources_give_the_same_bytes(workshop):
    assert workshop.build() == 0
    first = workshop.zip_of().read_bytes()
    (workshop.extension / "__init__.py").touch()
    (workshop.extension / "__pycache__").mkdir()
    (workshop.extension / "__pycache__" / "x.pyc").write_bytes(b"x")
    assert workshop.build() == 0
    assert workshop.zip_of().read_bytes() == first
    assert [path.name for path in workshop.output.iterdir()] == [workshop.zip_of().name]


def test_every_platform_gets_its_own_wheels(workshop, capsys):
    assert workshop.build(platform="all") == 0
    said = capsys.readouterr().out
    for platform in PLATFORMS:
        path = workshop.zip_of(platform)
        assert f"{path} 0." in said
        expected = {wheel.file for wheel in workshop.locked if wheel.platform == platform}
        values = manifest_of(path)
        assert values["platforms"] == [platform]
        assert {Path(wheel).name for wheel in values["wheels"]} == expected
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
        assert {Path(name).name for name in names if name.startswith("wheels/")} == expected
        assert names == sorted(names)


def test_the_manifest_keeps_what_it_said_before(workshop):
    assert workshop.build() == 0
    source = tomllib.loads((build_extension.EXTENSION / MANIFEST).read_text())
    values = manifest_of(workshop.zip_of())
    assert {key: values[key] for key in source} == source
    assert set(values) - set(source) == {"platforms", "wheels"}


@pytest.mark.parametrize(
    ("abi", "first", "end"), [("cp311", "4.2.0", "5.1.0"), ("cp313", "5.1.0", None)]
)
def test_a_zip_for_one_python_is_only_for_blenders_that_have_it(workshop, abi, first, end):
    assert workshop.build("--abi", abi) == 0
    values = manifest_of(workshop.zip_of(suffix=f"-{abi}"))
    assert values["blender_version_min"] == first
    assert values.get("blender_version_max") == end
    assert all(abi in wheel for wheel in values["wheels"])


def test_presets_are_those_of_the_simulator(workshop):
    assert workshop.build() == 0
    with zipfile.ZipFile(workshop.zip_of()) as archive:
        told = json.loads(archive.read("vendor/presets.json"))
    for key, table in (("presets", PRESETS), ("qualities", QUALITIES)):
        assert told[key] == {name: dataclasses.asdict(row) for name, row in table.items()}
        assert list(told[key]) == list(table)


def test_the_worker_runs_from_the_zip_with_what_blender_has(workshop, tmp_path):
    assert workshop.build() == 0
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(workshop.zip_of()) as archive:
        archive.extractall(unpacked)
    (tmp_path / "cube.obj").write_text(CUBE_OBJ)
    scene = {"frames": [1, 6], "body": [{"mesh": "cube.obj"}]}
    (tmp_path / "job.json").write_text(json.dumps({"scene": scene, "cache": "a.bake"}))
    vendor = unpacked / "vendor"
    done = subprocess.run(
        [sys.executable, "-I", "-c", WORKER_IMPORTS, str(vendor), str(tmp_path / "job.json")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["cache"] == "a.bake"
    parts = [Path(file).parts for file in told["files"]]
    installed = {row[row.index("site-packages") + 1] for row in parts if "site-packages" in row}
    assert installed == LIBRARIES
    ours = [Path(file) for file in told["files"] if Path(file).name == "compile_kernels.py"]
    assert ours == [vendor / "jellycage" / "toolkit" / "compile_kernels.py"]
    packages = [ROOT / name for name in build_extension.PACKAGES.values()]
    assert not any(Path(file).is_relative_to(p) for p in packages for file in told["files"])
    assert (unpacked / "sample_meshes" / "gummy_bear.obj").is_file()
    assert "CC0" in (unpacked / "sample_meshes" / "LICENCE.txt").read_text()


def test_what_is_left_out_exists_and_nothing_vendored_imports_it():
    files = build_extension.vendored_files()
    for name in build_extension.LEFT_OUT:
        assert (ROOT / name).is_file() and f"vendor/jellycage/{name}" not in files
        module = f"jellycage.{name}".removesuffix(".py").replace("/", ".")
        importers = [
            path
            for path in files.values()
            if isinstance(path, Path) and f"from {module} import" in path.read_text("utf-8")
        ]
        assert not importers


# ---- wheels


def test_a_wheel_that_is_there_is_not_downloaded_again(workshop, capsys):
    assert workshop.build() == 0
    assert "downloading" in capsys.readouterr().out
    shutil.rmtree(workshop.index)
    assert workshop.build() == 0
    assert "downloading" not in capsys.readouterr().out


def test_a_wheel_that_cannot_be_downloaded_is_refused(workshop, refuses):
    shutil.rmtree(workshop.index)
    refuses("cannot be downloaded", "put the file into", code=5)
    assert not list(workshop.wheels.iterdir())


def test_a_downloaded_wheel_with_another_hash_is_refused_and_not_kept(workshop, refuses):
    for path in workshop.index.iterdir():
        path.write_bytes(b"something else")
    refuses("sha256", "lock_wheels.py")
    assert not list(workshop.wheels.iterdir())


def test_a_kept_wheel_with_another_hash_is_refused(workshop, refuses):
    workshop.wheels.mkdir()
    (workshop.wheels / workshop.locked[0].file).write_bytes(b"something else")
    refuses(workshop.locked[0].file, "sha256", "remove it")


def test_versions_that_differ_between_platforms_are_refused(workshop, refuses):
    at = next(i for i, w in enumerate(workshop.locked) if w.platform == "macos-arm64")
    wheel = workshop.locked[at]
    workshop.locked[at] = workshop.make_wheel(wheel.abi, wheel.platform, wheel.name, "0.64.0")
    workshop.write_lock()
    refuses("macos-arm64", f"{wheel.name} 0.64.0", "pin one version")


def test_a_wheel_that_one_platform_lacks_is_refused(workshop, refuses):
    workshop.locked = [
        w for w in workshop.locked if (w.platform, w.name) != (PLATFORMS[1], "scipy")
    ]
    workshop.write_lock()
    refuses(PLATFORMS[1], "scipy", "nothing")


def test_a_platform_without_wheels_is_refused(workshop, refuses):
    workshop.locked = [w for w in workshop.locked if w.platform != "linux-x64"]
    workshop.write_lock()
    refuses("no wheels for cp311 on linux-x64")


@pytest.mark.parametrize("text", ["", "wheel = 3", "[[wheel]]\nabi = 1", "not toml", None])
def test_a_lock_that_is_none_is_refused(workshop, refuses, text):
    workshop.lock.unlink()
    if text is not None:
        workshop.lock.write_text(text)
    refuses("wheels.lock", "lock_wheels.py", code=5 if text is None else 3)


def test_the_lock_holds_the_pinned_versions_for_every_platform():
    found = {(w.abi, w.platform, w.name, w.version) for w in lock_wheels.read_lock()}
    assert found == {
        (abi, platform, name, version)
        for abi, versions in lock_wheels.PINNED.items()
        for platform in PLATFORMS
        for name, version in versions.items()
    }


def test_the_wheel_for_the_oldest_system_is_locked():
    wanted = lock_wheels.Wheel("cp311", "macos-arm64", "scipy", "1.15.3", "", "", "")
    names = [
        *("scipy-1.15.3-cp311-cp311-macosx_14_0_arm64.whl", "scipy-1.15.3.tar.gz"),
        *(
            "scipy-1.15.3-cp311-cp311-macosx_12_0_arm64.whl",
            "scipy-1.15.3-cp311-cp311-win_amd64.whl",
        ),
    ]
    found = lock_wheels.find_wheel(wanted, [(name, "0" * 64, "address") for name in names])
    assert found.file == names[2]
    with pytest.raises(lock_wheels.BuildError, match="no wheel for cp311 on macos-arm64"):
        lock_wheels.find_wheel(wanted, [(names[0], "0" * 64, "address")])


# ---- the manifest and the command line


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        (f'version = "{VERSION}"', 'version = "9.9.9"', "toolkit/version.py"),
        ("any mesh", "any mesh.", "tagline"),
        ("any mesh", "any mesh" + " at all" * 9, "tagline"),
        ("simulation caches", "simulation caches" + " and more" * 9, "permissions.files"),
        ("simulation caches", "simulation caches!", "permissions.files"),
        ("SPDX:", "", "SPDX:GPL"),
        ('name = "Jellycage"', 'name = "Blender Jelly"', "name"),
        ('maintainer = "The Jellycage team"', "", "maintainer"),
        ('type = "add-on"', "type = ", "TOML"),
    ],
)
def test_a_bad_manifest_is_refused(workshop, refuses, old, new, word):
    workshop.edit_manifest(old, new)
    refuses(MANIFEST, word)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--platform", "linux_x64"], "linux-x64"),
        (["--abi", "cp312"], "cp311"),
        (["--blender-python", sys.executable], "bpy"),
    ],
)
def test_a_wrong_option_is_refused(refuses, arguments, word):
    refuses(arguments[1], word, arguments=arguments)


def test_a_folder_that_is_no_addon_is_refused(workshop, refuses):
    (workshop.extension / "__init__.py").unlink()
    refuses("__init__.py")


def test_a_file_that_the_build_makes_must_not_lie_in_the_sources(workshop, refuses):
    (workshop.extension / "LICENSE").write_text("mine")
    refuses("LICENSE", "remove it")


def test_a_wheel_that_lies_in_the_sources_is_refused(workshop, refuses):
    (workshop.extension / "wheels").mkdir()
    (workshop.extension / "wheels" / "stray-1.0-py3-none-any.whl").write_bytes(b"x")
    refuses("stray-1.0", "not in the manifest")


def test_a_failed_build_leaves_the_zip_of_before(workshop):
    assert workshop.build() == 0
    before = workshop.zip_of().read_bytes()
    workshop.edit_manifest("any mesh", "any mesh.")
    assert workshop.build() == 3
    assert workshop.zip_of().read_bytes() == before


def test_an_output_that_is_a_file_is_an_input_output_error(workshop, capsys):
    workshop.output.write_text("in the way")
    assert workshop.build() == 5
    assert len(capsys.readouterr().err.splitlines()) == 1
