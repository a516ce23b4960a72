"""Build the Blender extension: one zip per platform that installs from disk, without a network.

    python blender_addon/build_extension.py --platform linux-x64

    blender_manifest.toml    the one in extension/, with the platform and its wheels filled in
    *.py                     the add-on, from extension/
    vendor/jellycage/        what the worker imports, in a process of its own
    vendor/presets.json      presets and qualities for the panel, which must not import sim
    vendor/schema.json       keys of scene files, with limits and sentences, and file formats, for the panel too
    sample_meshes/           the mesh of the demo
    wheels/                  numba, llvmlite and scipy as wheels.lock has them

The same sources and wheels give the same bytes. A zip appears whole and checked, or not at all.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from functools import cache
from pathlib import Path

from lock_wheels import (
    LOCK,
    PINNED,
    PLATFORM_TAGS,
    BuildError,
    BuildFileError,
    Wheel,
    check_hash,
    chosen_wheels,
    download,
)

ROOT = Path(__file__).resolve().parent.parent
EXTENSION = ROOT / "blender_addon" / "extension"
MANIFEST = "blender_manifest.toml"
PACKAGES = {"jellycage": "sim/jellycage", "jellycage/toolkit": "toolkit", "jellycage/sim": "sim"}
"""Where the worker finds our packages, and where they lie here; `pyproject.toml` says the same of the wheel."""
SAMPLES = ("gummy_bear.obj",)

LEFT_OUT = {
    "sim/cli.py": "the command line needs click",
    "sim/cli_check.py": "the command line needs click",
    "sim/cli_ragdoll.py": "the command line needs click",
    "toolkit/cli.py": "the command line needs click",
    "toolkit/console.py": "the command line needs click",
    "toolkit/cli_cage.py": "the command line needs click",
    "sim/jellycage/__init__.py": "is the package jellycage itself",
    "toolkit/samples.py": "only the command line asks for it",
    "toolkit/asset/cage_export.py": "needs meshio",
    "toolkit/picture/page.py": "needs plotly",
}
"""Modules that the worker does without, and why they stay behind."""

BLENDER_VERSIONS = {"cp311": (None, "5.1.0"), "cp313": ("5.1.0", None)}
"""Blenders (from, up to) with a Python: a zip for one Python must not be installed in the others."""

REQUIRED = (
    *"schema_version id name tagline version type maintainer license".split(),
    *"blender_version_min platforms wheels".split(),
)
LONGEST_TEXT = 64  # of the tagline and of every reason for a permission
TABLES_CODE = """
import json, dataclasses
from jellycage.sim.materials import LAWS
from jellycage.sim.export.writers import WRITERS
from jellycage.sim.scene.scene_file import scene_schema
from jellycage.sim.soft.presets import PRESETS, QUALITIES
presets = {name: dataclasses.asdict(row) for name, row in PRESETS.items()}
qualities = {name: dataclasses.asdict(row) for name, row in QUALITIES.items()}
laws = {law.name: {"title": law.title, "sentence": law.sentence} for law in LAWS}
writers = {suffix: {"name": row.name, "sentence": row.sentence} for suffix, row in WRITERS.items()}
print(json.dumps({
    "presets.json": {"presets": presets, "qualities": qualities},
    "schema.json": {"scene": scene_schema(), "writers": writers, "laws": laws},
}))
"""
"""In a process of its own: nothing in this folder imports sim."""

Files = dict[str, bytes | Path]
"""What goes into a zip: the name in it -> the bytes, or the file that has them."""


# ---- what goes in


def project_version() -> str:
    """The version of the project."""
    text = (ROOT / "toolkit" / "version.py").read_text(encoding="utf-8")
    return re.search(r'^VERSION = "(.+)"$', text, re.MULTILINE)[1]


def addon_files(folder: Path) -> Files:
    """The add-on's own files, but for the manifest."""
    if not (folder / "__init__.py").is_file():
        raise BuildError(
            f"{folder}: has no __init__.py, so it is no add-on; give another --extension"
        )
    return {name: path for name, path in plain_files(folder) if name != MANIFEST}


def plain_files(folder: Path) -> list[tuple[str, Path]]:
    """(name in the folder, path) of every file that was not made by Python, an editor or the system."""
    found = [
        (path.relative_to(folder), path) for path in sorted(folder.rglob("*")) if path.is_file()
    ]
    return [
        (name.as_posix(), path)
        for name, path in found
        if path.suffix != ".pyc"
        and not any(part[0] == "." or part == "__pycache__" for part in name.parts)
    ]


def vendored_files() -> Files:
    """The modules that the worker imports, and the tables of the panel."""
    files: Files = {}
    for package, folder in PACKAGES.items():
        for name, path in plain_files(ROOT / folder):
            is_wanted = package == "jellycage" or f"{folder}/{name}" not in LEFT_OUT
            if path.suffix == ".py" and is_wanted:
                files[f"vendor/{package}/{name}"] = path
    return {**files, **table_files()}


@cache
def table_files() -> Files:
    """What the panel knows of the simulator, as JSON.

    presets.json: {"presets": {name: {...}}, "qualities": {name: {...}}}; schema.json: {"scene": `scene_schema()`,
    "writers": {suffix: {"name", "sentence"}}, "laws": {name: {"title", "sentence"}}}.
    """
    command = [sys.executable, "-I", "-c", TABLES_CODE]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise BuildError(
            f"jellycage.sim cannot be imported ({reason}); run this with .venv/bin/python"
        )
    tables = json.loads(done.stdout)
    return {f"vendor/{name}": f"{json.dumps(tables[name], indent=2)}\n".encode() for name in tables}


def sample_files() -> Files:
    """The sample meshes and their licence."""
    folder = ROOT / "sample_meshes"
    lines = (folder / "README.md").read_text(encoding="utf-8").splitlines()
    note = next(line for line in lines if line.startswith("Licence:"))
    meshes = {f"sample_meshes/{name}": folder / name for name in SAMPLES}
    return {**meshes, "sample_meshes/LICENCE.txt": f"{note}\n".encode()}


def wheel_files(wheels: list[Wheel], folder: Path) -> Files:
    """The wheels, in the folder or downloaded to it, each with the sha256 of the lock."""
    folder.mkdir(parents=True, exist_ok=True)
    for wheel in wheels:
        if not (folder / wheel.file).exists():
            download(wheel, folder)
        check_hash(wheel, folder / wheel.file, f"remove it from {folder} and build again")
    return {f"wheels/{wheel.file}": folder / wheel.file for wheel in wheels}


# ---- the manifest


def filled_manifest(text: str, platform: str, abis: list[str], wheels: list[Wheel]) -> str:
    """A manifest with its platform, its wheels and, for one Python only, the Blenders that have it."""
    lines = [f'platforms = ["{platform}"]', "wheels = ["]
    lines += [f'  "./wheels/{wheel.file}",' for wheel in wheels]
    lines += ["]"]
    if len(abis) == 1:
        first, end = BLENDER_VERSIONS[abis[0]]
        if first:
            text = re.sub(
                r'(?m)^blender_version_min = ".*"$', f'blender_version_min = "{first}"', text
            )
        if end:
            lines += [f'blender_version_max = "{end}"']
    # Keys after a table's head would belong to the table.
    keys, head, tables = text.partition("\n[")
    return keys.rstrip() + "\n" + "\n".join(lines) + "\n" + head + tables


def check_manifest(text: str, version: str) -> dict:
    """The values of a filled manifest; refuses what Blender refuses, and what it should."""
    try:
        values = tomllib.loads(text)
    except ValueError as error:
        raise BuildError(f"{MANIFEST}: not TOML ({error}); correct it") from None
    missing = [key for key in REQUIRED if not values.get(key)]
    if missing:
        raise BuildError(f"{MANIFEST}: {missing[0]}: missing; add it")
    if values["version"] != version:
        raise BuildError(
            f"{MANIFEST}: version: {values['version']}, but toolkit/version.py says {version}; make them equal"
        )
    if not re.fullmatch(r"\d+\.\d+\.\d+(-[\w.]+)?", version):
        raise BuildError(f"{MANIFEST}: version: {version}: expected three numbers, as in 1.2.3")
    if "blender" in values["name"].lower():
        raise BuildError(
            f"{MANIFEST}: name: has Blender in it, which its makers do not allow; rename it"
        )
    texts = {"tagline": values["tagline"]}
    texts |= {f"permissions.{key}": said for key, said in values.get("permissions", {}).items()}
    for key, said in texts.items():
        if len(said) > LONGEST_TEXT or not said[-1:].isalnum():
            raise BuildError(
                f"{MANIFEST}: {key}: expected 1 to {LONGEST_TEXT} characters without closing punctuation, "
                f"got {said!r}; change it"
            )
    wrong = [name for name in values["license"] if not name.startswith("SPDX:")]
    if wrong:
        raise BuildError(f"{MANIFEST}: license: {wrong[0]}: write SPDX:{wrong[0]}")
    for platform in values["platforms"]:
        check_name("platform", platform, PLATFORM_TAGS)
    return values


# ---- the zip


def write_zip(path: Path, files: Files) -> None:
    """A zip in which nothing tells when, where or by whom it was made."""
    with zipfile.ZipFile(path, "w") as archive:
        for name in sorted(files):
            content = files[name]
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system = 3  # Unix, also when built on Windows
            entry.external_attr = 0o100644 << 16
            # A wheel is compressed already.
            entry.compress_type = (
                zipfile.ZIP_STORED if name.endswith(".whl") else zipfile.ZIP_DEFLATED
            )
            archive.writestr(entry, content if isinstance(content, bytes) else content.read_bytes())


def check_zip(path: Path, version: str) -> None:
    """Refuse a zip that Blender would refuse, or install in part."""
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        values = check_manifest(archive.read(MANIFEST).decode("utf-8"), version)
    listed = {wheel.removeprefix("./") for wheel in values["wheels"]}
    present = {name for name in names if name.startswith("wheels/")}
    for name in sorted(listed ^ present):
        said = "listed in the manifest but not there" if name in listed else "not in the manifest"
        raise BuildError(f"{path.name}: {name}: {said}; remove wheels from the extension's folder")
    for name in ("__init__.py", "LICENSE", "vendor/jellycage/sim/worker.py", *table_files()):
        if name not in names:
            raise BuildError(f"{path.name}: {name}: missing; take a complete checkout")


def check_with_blender(path: Path, blender_python: str) -> None:
    """Let Blender's own tool look at a zip, its list of tags included."""
    find = "import importlib.util as u; print(*u.find_spec('bpy').submodule_search_locations)"
    try:
        found = subprocess.run([blender_python, "-c", find], capture_output=True, text=True)
        folder = Path(found.stdout.strip())
        tool = next(folder.glob("*/scripts/addons_core/bl_pkg/cli/blender_ext.py"))
        tags = next(folder.glob("*/scripts/modules/_bpy_internal/extensions/tags.py"))
    except (OSError, StopIteration):
        raise BuildError(
            f"--blender-python {blender_python}: cannot import bpy; name a Python that has it"
        ) from None
    command = [blender_python, tool, "validate", "--valid-tags", tags, path]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        said = " ".join((done.stdout + done.stderr).split())
        raise BuildError(f"{path.name}: Blender refuses it ({said}); correct the manifest")


def build(
    platform: str,
    abis: list[str],
    *,
    output: Path,
    wheel_folder: Path,
    extension: Path = EXTENSION,
    lock: Path = LOCK,
    blender_python: str | None = None,
) -> Path:
    """Build and check the zip of a platform for these Pythons; returns its path."""
    version = project_version()
    wheels = chosen_wheels(lock, platform, abis)
    own = addon_files(extension)
    manifest = (extension / MANIFEST).read_text(encoding="utf-8")
    manifest = filled_manifest(manifest, platform, abis, wheels)
    check_manifest(manifest, version)
    made = {MANIFEST: manifest.encode(), "LICENSE": ROOT / "LICENSE"}
    made |= {**vendored_files(), **sample_files(), **wheel_files(wheels, wheel_folder)}
    twice = sorted(own.keys() & made.keys())
    if twice:
        raise BuildError(f"{extension / twice[0]}: the build makes this file; remove it")
    # The name of a zip that serves every Blender says nothing of Pythons.
    suffix = f"-{abis[0]}" if len(abis) == 1 else ""
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output, prefix=".build-") as draft_folder:
        draft = Path(draft_folder) / f"jellycage-{version}-{platform}{suffix}.zip"
        write_zip(draft, {**own, **made})
        check_zip(draft, version)
        if blender_python:
            check_with_blender(draft, blender_python)
        return draft.replace(output / draft.name)


def check_name(kind: str, name: str, known) -> None:
    """Refuse a name that is not known."""
    if name not in known:
        raise BuildError(f"{kind} {name}: not known; use {', '.join(known)}")


def chosen(kind: str, name: str, known) -> list[str]:
    """The names that an option stands for."""
    if name == "all":
        return list(known)
    check_name(kind, name, [*known, "all"])
    return [name]


def read_options(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Build the Blender extension, a zip per platform.")
    add = parser.add_argument
    add("--platform", default="all", help=f"{', '.join(PLATFORM_TAGS)} or all (the default)")
    add("--abi", default="all", help=f"Python of Blender: {', '.join(PINNED)} or all (the default)")
    add("--output", type=Path, default=ROOT / "dist", help="folder for the zips (dist)")
    add("--wheels", type=Path, default=ROOT / "build" / "wheels", help="folder that keeps wheels")
    add("--extension", type=Path, default=EXTENSION, help="folder of the add-on's sources")
    add("--lock", type=Path, default=LOCK, help="lock of the wheels")
    add("--blender-python", help="a Python with bpy, whose own checks are run as well")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Build what the command line asks for; returns the exit code."""
    options = read_options(arguments)
    try:
        abis = chosen("--abi", options.abi, PINNED)
        for platform in chosen("--platform", options.platform, PLATFORM_TAGS):
            path = build(
                platform,
                abis,
                output=options.output,
                wheel_folder=options.wheels,
                extension=options.extension,
                lock=options.lock,
                blender_python=options.blender_python,
            )
            print(f"{path} {path.stat().st_size / 1e6:.1f} MB", flush=True)
        return 0
    except BuildError as error:
        print(f"build_extension: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        said = f"{error.filename}: {error.strerror}; check the path, its permissions and the disk"
        print(f"build_extension: {said}", file=sys.stderr)
        return BuildFileError.exit_code


if __name__ == "__main__":
    sys.exit(main())
