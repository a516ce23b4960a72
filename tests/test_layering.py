"""Who may import whom, read from the sources and not from what happens to be loaded."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FORBIDDEN = {
    "toolkit": {"sim", "blender_addon", "bpy", "tests", "benchmarks"},
    "sim": {"blender_addon", "bpy", "tests", "benchmarks"},
    "blender_addon": {"toolkit", "sim", "tests", "benchmarks"},
}
NAMELESS = {"utils", "util", "helpers", "helper", "manager", "common", "misc"}


def sources(*folders):
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def imported(path) -> set[str]:
    """First part of every name that the file imports, wherever the import stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0] if node.level == 0 else ".")
    return found


def by_path(path):
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", sources(*FORBIDDEN), ids=by_path)
def test_nothing_reaches_back(path):
    assert not imported(path) & FORBIDDEN[path.relative_to(ROOT).parts[0]]


@pytest.mark.parametrize("path", sources("toolkit", "sim"), ids=by_path)
def test_only_kernels_import_numba(path):
    assert path.name.endswith("_kernels.py") or "numba" not in imported(path)


def test_every_file_is_named_after_what_is_in_it():
    folders = (*FORBIDDEN, "tests", "benchmarks", "sample_meshes")
    assert not [path for path in sources(*folders) if path.stem in NAMELESS]


def test_no_test_folder_shadows_a_package():
    assert not any((ROOT / "tests" / package).exists() for package in FORBIDDEN)


@pytest.mark.parametrize("name", ["toolkit", "sim"])
def test_public_names_exist(name):
    package = import_module(name)
    for public in package.__all__:
        assert getattr(package, public) is not None
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError):
        _ = package.no_such_name
