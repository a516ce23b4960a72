"""Documents: TOML and JSON files as dicts and lists, arrays in them, how they are spelt, and pages about their keys."""

import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.sim.errors import SceneError
from jellycage.sim.schema.schema import Place, one_line, shown
from jellycage.sim.schema.schema_kinds import LARGEST, Kind, Text
from jellycage.toolkit.arrays import frozen
from jellycage.toolkit.atomic_file import atomic_file


class RowsKind(Kind):
    """A few numbers for every bone in every frame, read as an array (f, b, width)."""

    word = "rows"

    def __init__(self, width: int, what: str):
        self.width, self.what = width, what

    @property
    def expected(self):
        return f"for each frame a list with {self.what} of each bone"

    def read(self, value, place):
        return as_numbers(value, (None, None, self.width), place.name)


class TransformKind(Kind):
    """A transform as rows, read as an array (4, 4)."""

    word = "matrix"
    expected = "four rows of four numbers, the last one [0, 0, 0, 1]"

    def read(self, value, place):
        return as_numbers(value, (4, 4), place.name)


class NamesKind(Kind):
    """A list of names."""

    word = "names"
    expected = "a list of names"

    def read(self, value, place):
        if not isinstance(value, list | tuple):
            raise place.wrong(self.expected, value)
        return tuple(Text().read(name, place.item(at)) for at, name in enumerate(value))


def read_text_document(path: Path) -> Any:
    """What a .toml or .json file holds, as dicts and lists."""
    if not os.path.exists(path):
        raise SceneError("there is no such file; check the path")
    if not os.path.isfile(path):
        raise SceneError("no regular file; give the path of a .toml or .json file")
    kind = path.suffix.lower()
    if kind not in (".toml", ".json"):
        raise SceneError("expected a name that ends in .toml or .json; rename the file")
    text = _text(path)
    try:
        return tomllib.loads(text) if kind == ".toml" else _json_document(text)
    except SceneError:
        raise
    except json.JSONDecodeError as error:
        raise SceneError(f"line {error.lineno}: no JSON ({error.msg}); correct that line") from None
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"(.*) \(at line (\d+)", str(error))
        what, line = found.groups() if found else (error, text.rstrip().count("\n") + 1)
        raise SceneError(f"line {line}: no TOML ({one_line(what)}); correct that line") from None
    except (RecursionError, ValueError):
        raise SceneError(
            "brackets too deep or a number too long; remove what is not needed"
        ) from None


def _text(path):
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise SceneError(f"cannot be read ({error.strerror}); check who may read it") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise SceneError(f"line {line}: not UTF-8; save the file as UTF-8") from None


def _json_document(text):
    def table(pairs):
        for name, times in Counter(name for name, _ in pairs).items():
            if times > 1:
                raise SceneError(f"{shown(name)}: stands {times} times in one table; keep one")
        return dict(pairs)

    return json.loads(text, object_pairs_hook=table)


def read_document(path: str | os.PathLike, made: Callable[[Any, Place], Any]):
    """What `made` makes of the document in a file; its errors name the file."""
    path = Path(path)
    try:
        return made(read_text_document(path), Place(Path(os.path.abspath(path.parent))))
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


def as_numbers(values: ArrayLike, shape: tuple, where: str) -> NDArray[np.float64]:
    """Finite float64 values of a shape (None: any size there), read-only."""
    try:
        result = np.asarray(values)
    except ValueError:  # rows of different lengths
        result = np.empty(0, object)
    wanted = f"({', '.join('n' if size is None else str(size) for size in shape)})"
    if result.dtype.kind not in "iuf":
        raise SceneError(
            f"{where}: expected numbers of shape {wanted}, got something else or rows of "
            "different lengths; write every row with all its numbers"
        )
    fits = result.ndim == len(shape) and all(
        size in (None, given) for size, given in zip(shape, result.shape, strict=True)
    )
    if not fits:
        came = f"({', '.join(map(str, result.shape))})"
        raise SceneError(
            f"{where}: expected numbers of shape {wanted}, got {came}; add or remove rows"
        )
    if not (np.abs(result) <= LARGEST).all():
        raise SceneError(
            f"{where}: expected numbers within {LARGEST:g}, got NaN, infinity or more; correct them"
        )
    return frozen(result.astype(np.float64))


def table_section(table: dict, path: str) -> list[str]:
    """Lines on one table of the schema and on those inside it."""
    rows, inner = [], []
    for name, row in table["keys"].items():
        if row["type"] in ("table", "tables"):
            title = f"[{path}{name}]" if row["type"] == "table" else f"[[{path}{name}]]"
            inner += ["", f"## `{title}`", *table_section(row, f"{path}{name}.")]
        else:
            rows.append(_row(name, row))
    head = ["", "| key | allowed | default | what it is |", "|---|---|---|---|"] if rows else []
    rules = ["", *(f"- {rule}" for rule in table["rules"])] if table["rules"] else []
    return ["", table["about"], *head, *rows, *rules, *inner]


def _row(name, row):
    default = "" if row["default"] in (None, "") else f"`{shown(row['default'])}`"
    default = "needed" if row["is_needed"] else default
    cells = f"`{name}`", row["allowed"], default, row["sentence"]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
