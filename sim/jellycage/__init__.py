"""Soft bodies that keep their volume, and ragdolls whose spine bends: the names that most programs start with.

This folder is installed as the package `jellycage`; `toolkit` and `sim` are its two halves and have all other names.
"""

from importlib import import_module

_HOME = {
    "Corotated": "sim",
    "NeoHookean": "sim",
    "Pin": "sim",
    "Scene": "sim",
    "SoftBody": "sim",
    "build_cage": "toolkit",
    "ground": "sim",
    "load_asset": "toolkit",
    "read_mesh": "toolkit",
    "save_asset": "toolkit",
    "simulate": "sim",
    "sim": "",
    "toolkit": "",
}

__all__ = list(_HOME)


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module 'jellycage' has no attribute {name!r}")
    if not _HOME[name]:
        return import_module(f"jellycage.{name}")
    return getattr(import_module(f"jellycage.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
