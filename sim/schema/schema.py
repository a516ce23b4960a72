"""Tables of keys, declared once: what reads and checks a document also describes it.

A table is a frozen dataclass whose fields are made by `key`: a kind of value (see `schema_kinds`), a sentence, a
default. `read_table` turns a dict, as TOML and JSON give it, into that dataclass or raises a SceneError. `described`
tells the same declaration as plain data, from which the documentation is written. Rules say which keys go together.

    @dataclass(frozen=True, kw_only=True)
    class Ball:
        RULES = (NotTogether("diameter", ("radius",), "both give the size"),)
        radius: float = key(Number(0.0, 10.0, "m"), "Half its width.", 0.5)
        diameter: float | None = key(Number(0.0, 20.0, "m"), "Its width.", None, example=1.0)
"""

import dataclasses
import difflib
import json
import os
import re
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any

from jellycage.sim.errors import SceneError

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
LONGEST_LIST = 16  # in a message
LONGEST_VALUE = 160  # characters of it; a 4 x 4 matrix still fits


@dataclass(frozen=True)
class Place:
    """Where in a document a value stands."""

    folder: Path
    """Relative paths start here."""
    name: str = ""
    """Such as body[0].material; empty for the whole document."""
    example: Any = None
    """A value that would be right, or None."""

    def key(self, name: Any, example: Any = None) -> "Place":
        """Where the value of a key of this table stands."""
        word = name if isinstance(name, str) and BARE_KEY.fullmatch(name) else shown(name)
        return Place(self.folder, f"{self.name}.{word}" if self.name else word, example)

    def item(self, index: int) -> "Place":
        """Where an item of this list stands."""
        return Place(self.folder, f"{self.name}[{index}]")

    def error(self, problem: str, remedy: str) -> SceneError:
        """What is wrong here and what to do about it, to be raised."""
        return SceneError(f"{self.name or 'the document'}: {problem}; {remedy}")

    def wrong(self, expected: str, value: Any, remedy: str = "") -> SceneError:
        """Something other than expected stands here, to be raised."""
        came = shown(value)
        came = came if len(came) <= LONGEST_VALUE else f"{came[:LONGEST_VALUE]} ..."
        example = f"{self.name.split('.')[-1]} = {shown(self.example)}"
        return self.error(
            f"expected {expected}, got {came}", remedy or f"write for example {example}"
        )


def shown(value: Any, depth: int = 3) -> str:
    """A value as a document would spell it, in one line and not too long."""
    if isinstance(value, str):
        text = one_line(json.dumps(value, ensure_ascii=False))
        return text if len(text) <= 60 else f'{text[:56]}..."'
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int | float):
        return repr(value) if -1e15 < value < 1e15 else f"{float_of(value):g}"
    if isinstance(value, list | tuple) and len(value) <= LONGEST_LIST and depth:
        return f"[{', '.join(shown(item, depth - 1) for item in value)}]"
    if isinstance(value, dict) and len(value) <= 3 and depth:
        rows = (f"{one_line(name)[:40]} = {shown(item, depth - 1)}" for name, item in value.items())
        return f"{{{', '.join(rows)}}}"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return "a table" if isinstance(value, dict) else f"a {type(value).__name__}"


def float_of(number: float) -> float:
    """The number as float, infinite if it is a whole number beyond all floats."""
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def one_line(thing: Any) -> str:
    """The text of a path, a name or an error in which nothing breaks the line."""
    return "".join(c if c.isprintable() else " " for c in str(thing))


def listed(words, last: str = "or") -> str:
    """Words in a sentence: a, b or c."""
    *first, final = words
    return f"{', '.join(first)} {last} {final}" if first else final


def key(kind, sentence: str, default: Any = MISSING, *, name: str = "", example: Any = None):
    """A dataclass field that stands for a key of a document; without a default it must be given.

    name: how documents spell it, if not as the field. example: for messages, if the default is none.
    """
    metadata = {"kind": kind, "sentence": sentence, "name": name, "example": example}
    return dataclasses.field(default=default, metadata=metadata)


def keys_of(entry: type) -> dict[str, dataclasses.Field]:
    """The fields of a table that are keys, by the names that documents use."""
    fields = [field for field in dataclasses.fields(entry) if "kind" in field.metadata]
    return {field.metadata["name"] or field.name: field for field in fields}


def read_table(entry: type, document: Any, place: Place, **more):
    """An instance of `entry` with the values of a dict, all checked; `more` fills the fields that are no keys."""
    if not isinstance(document, dict):
        raise place.wrong("a table of keys", document, "write it as { key = value }")
    fields = keys_of(entry)
    for name in document:
        if name not in fields:
            raise _unknown(name, fields, place)
    values = {}
    for name, field in fields.items():
        if name in document:
            values[name] = field.metadata["kind"].read(
                document[name], place.key(name, _example(field))
            )
        elif field.default is MISSING:
            example = _example(field)
            hint = f"{name} = {shown(example)}" if example is not None else f"[[{name}]]"
            raise place.key(name).error("is missing", f"add for example {hint}")
    for rule in getattr(entry, "RULES", ()):
        rule.check(values, place)
    return entry(**{fields[name].name: value for name, value in values.items()}, **more)


def _unknown(name, fields, place):
    """What to say of a key that the table does not have."""
    entries = {
        table: getattr(field.metadata["kind"], "entry", None) for table, field in fields.items()
    }
    inside = [table for table, entry in entries.items() if entry and name in keys_of(entry)]
    close = difflib.get_close_matches(str(name), fields, 1)
    if inside:
        remedy = f"it belongs in {inside[0]}"
    elif close:
        remedy = f"did you mean {close[0]}?"
    else:
        remedy = f"the keys here are {', '.join(fields)}"
    return place.key(name).error("unknown key", remedy)


def _example(field):
    """A good value of a key: the given one, else its default."""
    example = field.metadata["example"]
    return field.default if example is None and field.default is not MISSING else example


def described(entry: type) -> dict:
    """A table as plain data: its sentence, every key with type, limits and default, and the rules."""
    keys = {}
    for name, field in keys_of(entry).items():
        is_needed = field.default is MISSING
        keys[name] = {
            **field.metadata["kind"].described(),
            "sentence": field.metadata["sentence"],
            "is_needed": is_needed,
            "default": None if is_needed else plain(field.default),
        }
    rules = [rule.sentence for rule in getattr(entry, "RULES", ())]
    return {"about": entry.__doc__, "keys": keys, "rules": rules}


def plain(value: Any, folder: Path | None = None) -> Any:
    """Values and tables as JSON has them; paths are relative to the folder where that is possible."""
    if dataclasses.is_dataclass(value):
        fields = keys_of(type(value))
        return {name: plain(getattr(value, fields[name].name), folder) for name in fields}
    if isinstance(value, tuple):
        return [plain(item, folder) for item in value]
    if isinstance(value, Path):
        return _relative(value, folder).as_posix()
    return value


def _relative(path, folder):
    try:
        return path if folder is None else Path(os.path.relpath(path, folder))
    except ValueError:  # on another drive of Windows
        return path


@dataclass(frozen=True)
class ExactlyOne:
    """One of the keys must be there and no other of them."""

    names: tuple[str, ...]
    example: str

    @property
    def sentence(self) -> str:
        return f"Exactly one of {listed(self.names, 'and')}."

    def check(self, values, place):
        given = [name for name in self.names if name in values]
        if not given:
            problem = f"{listed(self.names)} is missing"
            raise place.error(problem, f"add for example {self.example}")
        if len(given) > 1:
            raise place.key(given[1]).error(f"not together with {given[0]}", "keep one of the two")


@dataclass(frozen=True)
class NotTogether:
    """A key forbids some others."""

    name: str
    others: tuple[str, ...]
    because: str

    @property
    def sentence(self) -> str:
        return f"{self.name} does not go with {listed(self.others)}: {self.because}."

    def check(self, values, place):
        for other in self.others if self.name in values else ():
            if other in values:
                problem = f"not together with {self.name}, {self.because}"
                raise place.key(other).error(problem, "remove one of the two")


@dataclass(frozen=True)
class Together:
    """Two keys that need each other."""

    first: str
    second: str

    @property
    def sentence(self) -> str:
        return f"{self.first} and {self.second} go together."

    def check(self, values, place):
        for name, other in ((self.first, self.second), (self.second, self.first)):
            if name in values and other not in values:
                raise place.key(other).error(
                    f"is missing, {name} needs it", f"add it or remove {name}"
                )


@dataclass(frozen=True)
class OnlyFor:
    """A key that only some kinds of the entry have."""

    name: str
    kinds: tuple[str, ...]
    example: str = ""
    """If it is not empty those kinds need the key."""

    @property
    def sentence(self) -> str:
        need = ", which must have it" if self.example else ""
        return f"{self.name} belongs to kind {listed(self.kinds)}{need}."

    def check(self, values, place):
        kind, place = values["kind"], place.key(self.name)
        if self.name in values and kind not in self.kinds:
            remedy = f"remove it, or change the kind to {listed(self.kinds)}"
            raise place.error(f"does not belong to kind {kind}", remedy)
        if self.example and kind in self.kinds and self.name not in values:
            raise place.error(f"is missing, a {kind} needs it", f"add for example {self.example}")
