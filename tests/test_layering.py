"""Who may import whom, read from the sources and not from what happens to be loaded."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FORBIDDEN = {
    "toolkit": {"jellycage.sim", "blender_addon", "bpy", "tests", "benchmarks"},
    "sim": {"blender_addon", "bpy", "tests", "benchmarks"},
    "blender_addon": {"jellycage", "tests", "benchmarks"},
}
CHAPTERS = {
    "toolkit": (
        "errors version arrays atomic_file json_values compile_kernels union_kernels geometry_kernels",
        "mesh",
        "cage",
        "collision",
        "asset",
        "embedding",
        "picture",
        "prepare samples console cli_cage cli",
    ),
    "sim": (
        "errors",
        "maths",
        "rotations",
        "materials",
        "soft",
        "shapes",
        "contact.convex",
        "contact",
        "solvers",
        "rigid",
        "schema",
        "ragdoll",
        "export",
        "scene",
        "bake",
        "warm_up worker cli_check cli_ragdoll cli",
    ),
}
"""Chapters of each package in the order of the book: what stands lower may import what stands higher."""
NAMELESS = {"utils", "util", "helpers", "helper", "manager", "common", "misc"}


def sources(*folders):
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def imported(text: str) -> set[str]:
    """Every module, and every name of a module, that a source imports, wherever the import stands."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def is_in(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def chapter(package: str, name: str) -> int | None:
    """Number of the chapter that a name below a package, such as "contact.convex.detection", belongs to."""
    found = [
        (len(start), number)
        for number, row in enumerate(CHAPTERS[package])
        for start in row.split()
        if is_in(name, start)
    ]
    return max(found)[1] if found else None


def reaching_up(package: str, module: str, text: str) -> list[str]:
    """Imports of a module of a package that belong to a higher chapter than its own."""
    own, top = chapter(package, module), f"jellycage.{package}."
    return [
        name
        for name in sorted(imported(text))
        if name.startswith(top)
        and chapter(package, name.removeprefix(top)) is not None
        and chapter(package, name.removeprefix(top)) > own
    ]


def by_path(path):
    return path.relative_to(ROOT).as_posix()


def module_of(path) -> tuple[str, str]:
    """(package, dotted name in it) of a source."""
    package, *rest = path.relative_to(ROOT).with_suffix("").parts
    return package, ".".join(part for part in rest if part != "__init__")


@pytest.mark.parametrize("path", sources(*FORBIDDEN), ids=by_path)
def test_nothing_reaches_back(path):
    forbidden = FORBIDDEN[path.relative_to(ROOT).parts[0]]
    names = imported(path.read_text(encoding="utf-8"))
    assert not [name for name in names for package in forbidden if is_in(name, package)]


INNER = [path for path in sources(*CHAPTERS) if module_of(path)[1] not in ("", "jellycage")]


@pytest.mark.parametrize("path", INNER, ids=by_path)
def test_no_chapter_imports_a_later_one(path):
    package, module = module_of(path)
    assert chapter(package, module) is not None, "which chapter is it in?"
    assert reaching_up(package, module, path.read_text(encoding="utf-8")) == []


def test_an_import_of_a_later_chapter_is_noticed():
    for text in (
        "from jellycage.sim.bake.bake import bake",
        "from jellycage.sim.bake import bake",
        "import jellycage.sim.bake.bake",
        "def f():\n    from jellycage.sim import bake",
    ):
        assert reaching_up("sim", "soft.body", text)
        assert not reaching_up("sim", "cli", text)
    assert reaching_up("sim", "contact.convex.gjk_kernels", "import jellycage.sim.contact.rows")
    assert not reaching_up("sim", "contact.rows", "import jellycage.sim.contact.convex.x")


@pytest.mark.parametrize("path", sources("toolkit", "sim"), ids=by_path)
def test_only_kernels_import_numba(path):
    names = {name.split(".")[0] for name in imported(path.read_text(encoding="utf-8"))}
    assert path.name.endswith("_kernels.py") or "numba" not in names


@pytest.mark.parametrize("path", sources("toolkit", "sim", "tests", "benchmarks"), ids=by_path)
def test_our_packages_are_imported_by_their_installed_names(path):
    names = {name.split(".")[0] for name in imported(path.read_text(encoding="utf-8"))}
    assert not names & {"toolkit", "sim"}


def test_every_file_is_named_after_what_is_in_it():
    folders = (*FORBIDDEN, "tests", "benchmarks", "sample_meshes")
    assert not [path for path in sources(*folders) if path.stem in NAMELESS]


def test_no_test_folder_shadows_a_package():
    assert not any((ROOT / "tests" / package).exists() for package in ("jellycage", *FORBIDDEN))


@pytest.mark.parametrize("name", ["jellycage", "jellycage.toolkit", "jellycage.sim"])
def test_public_names_exist(name):
    package = import_module(name)
    for public in package.__all__:
        assert getattr(package, public) is not None
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError):
        _ = package.no_such_name
