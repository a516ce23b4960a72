"""What the files of characters and motions have in common: values over frames and bones, and how they are spelt."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sim.errors import SceneError
from sim.ragdoll.arrays import as_numbers
from sim.scene_file import _document
from sim.schema import Place, one_line
from sim.schema_kinds import Kind, Text
from toolkit.atomic_file import atomic_file


class Rows(Kind):
    """A few numbers for every bone in every frame, read as an array (f, b, width)."""

    word = "rows"

    def __init__(self, width: int, what: str):
        self.width, self.what = width, what

    @property
    def expected(self):
        return f"for each frame a list with {self.what} of each bone"

    def read(self, value, place):
        return as_numbers(value, (None, None, self.width), place.name)


class Transform(Kind):
    """A transform as rows, read as an array (4, 4)."""

    word = "matrix"
    expected = "four rows of four numbers, the last one [0, 0, 0, 1]"

    def read(self, value, place):
        return as_numbers(value, (4, 4), place.name)


class Names(Kind):
    """A list of names."""

    word = "names"
    expected = "a list of names"

    def read(self, value, place):
        if not isinstance(value, list | tuple):
            raise place.wrong(self.expected, value)
        return tuple(Text().read(name, place.item(at)) for at, name in enumerate(value))


def read_document(path: str | os.PathLike, made: Callable[[Any, Place], Any]):
    """What `made` makes of the document in a file; its errors name the file."""
    path = Path(path)
    try:
        return made(_document(path), Place(Path(os.path.abspath(path.parent))))
    except SceneError as error:
        raise SceneError(f"{one_line(path)}: {error}") from None


def write_document(document: dict, path: str | os.PathLike) -> None:
    """Write a document as JSON: what it lists stands one item to a line, and every float reads back the same."""
    rows = [f"  {_spelt(name)}: {_value(value)}" for name, value in document.items()]
    text = "{\n" + ",\n".join(rows) + "\n}\n"
    with atomic_file(path) as draft:
        draft.write_text(text, encoding="utf-8", newline="\n")


def _value(value):
    if isinstance(value, list) and value and isinstance(value[0], list | dict):
        return "[\n    " + ",\n    ".join(map(_spelt, value)) + "\n  ]"
    return _spelt(value)


def _spelt(value):
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
