"""No two compiled functions share a name: numba would take the one for the other when both come from its cache."""

from collections import Counter
from importlib import import_module
from pathlib import Path

from jellycage.toolkit.compile_kernels import CALLED

ROOT = Path(__file__).resolve().parent.parent


def compiled():
    """Every function of the kernels that numba compiles, each once."""
    found = {}
    for package in ("toolkit", "sim"):
        for path in sorted((ROOT / package).rglob("*_kernels.py")):
            module = import_module(
                ".".join(("jellycage", *path.relative_to(ROOT).with_suffix("").parts))
            )
            for value in vars(module).values():
                function = getattr(value, "py_func", None)
                if function is not None:
                    found[id(function)] = function
    found |= {id(called.py_func): called.py_func for called in CALLED}
    return list(found.values())


def test_names_are_unique():
    names = Counter((function.__module__, function.__qualname__) for function in compiled())
    assert len(names) > 100
    assert [name for name, count in names.items() if count > 1] == []
