"""How wide kernels are and how long sources: what a reader can hold in mind."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MOST_ARGUMENTS, MOST_LINES = 12, 400


def sources():
    return [path for folder in ("toolkit", "sim") for path in sorted((ROOT / folder).rglob("*.py"))]


def by_path(path):
    return path.relative_to(ROOT).as_posix()


def wide_kernels(text: str) -> list[str]:
    """Decorated functions with more arguments than they should have."""
    return [
        node.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and node.decorator_list
        if len(node.args.posonlyargs + node.args.args + node.args.kwonlyargs) > MOST_ARGUMENTS
    ]


def faults(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    found = wide_kernels(text) if path.name.endswith("_kernels.py") else []
    return found + [f"{count} lines" for count in [len(text.splitlines())] if count > MOST_LINES]


@pytest.mark.parametrize("path", sources(), ids=by_path)
def test_kernels_are_narrow_and_sources_short(path):
    assert not faults(path)


def test_a_wide_kernel_is_noticed():
    wide = ", ".join(f"a{k}" for k in range(MOST_ARGUMENTS + 1))
    assert wide_kernels(f"@njit\ndef f({wide}):\n    pass") == ["f"]
    assert not wide_kernels(f"def f({wide}):\n    pass\n@njit\ndef g(a, b):\n    pass")
