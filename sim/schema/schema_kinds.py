"""Kinds of values that a key of a document may take: numbers, words, files, vectors, tables, keys in time.

Each kind says in words what it expects, and its `read` gives a value in our types or raises a SceneError.
Kinds of plain values have plain names (Number, Text, Table); those that stand for a thing which also exists as a class
or an array end in Kind (FrameRangeKind, BoxKind), wherever they are declared.
"""

import difflib
import os
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jellycage.sim.schema.schema import (
    Place,
    described,
    keys_of,
    listed,
    one_line,
    read_table,
    shown,
)

LAST_FRAME = 1048574  # Blender's, and as far below zero
LARGEST = 1e12
"""Numbers beyond this are mistakes."""
COUNT_WORDS = {2: "two", 3: "three", 4: "four"}
UNUSABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Control characters, line breaks and halves of characters."""


class Kind(ABC):
    """What values a key takes."""

    word = ""
    """The type, in a word or two."""
    expected = ""
    """What is allowed, to be read after "expected"."""

    @abstractmethod
    def read(self, value: Any, place: Place) -> Any:
        """The value as we keep it, or a SceneError."""

    def described(self) -> dict:
        """Type and limits as plain data."""
        return {"type": self.word, "allowed": self.expected}


@dataclass(frozen=True)
class Number(Kind):
    """A finite number in a range, read as float."""

    low: float = -LARGEST
    high: float = LARGEST
    unit: str = ""
    above: bool = False
    """Whether `low` itself is too low."""
    below: bool = False
    """Whether `high` itself is too high."""

    word = "number"

    @property
    def expected(self):
        return f"a {self.word}{self._range()}{f' [{self.unit}]' if self.unit else ''}"

    def _range(self):
        if (self.low, self.high) == (-LARGEST, LARGEST):
            return ""
        if self.high == LARGEST:
            return f" {'above' if self.above else 'of at least'} {self.low:g}"
        words = "above" if self.above else "from", "to below" if self.below else "to"
        return f" {words[0]} {self.low:.10g} {words[1]} {self.high:.10g}"

    def suits(self, value) -> bool:
        """Whether a value is of this type, in range or not."""
        return isinstance(value, int | float) and not isinstance(value, bool)

    def holds(self, value) -> bool:
        """Whether a value is of this type and in range; NaN is in none."""
        is_inside = self.suits(value) and self.low <= value <= self.high
        return is_inside and not (
            (self.above and value == self.low) or (self.below and value == self.high)
        )

    def read(self, value, place):
        if not self.holds(value):
            raise place.wrong(self.expected, value, self.remedy(value))
        return float(value)

    def remedy(self, value) -> str:
        """What to say of a number that only breaks the limit that nobody mentions; empty for others."""
        is_huge = self.suits(value) and abs(value) > LARGEST == self.high
        return f"stay within {LARGEST:g}" if is_huge else ""

    def described(self):
        limits = {"low": self.low, "high": self.high} if self._range() else {}
        return {**super().described(), **limits, "unit": self.unit}


@dataclass(frozen=True)
class Whole(Number):
    """A whole number in a range."""

    word = "whole number"

    def suits(self, value):
        return isinstance(value, int) and not isinstance(value, bool)

    def read(self, value, place):
        super().read(value, place)
        return value


class Flag(Kind):
    """True or false."""

    word = "flag"
    expected = "true or false"

    def read(self, value, place):
        if not isinstance(value, bool):
            raise place.wrong(self.expected, value)
        return value


class Always(Flag):
    """True: what is said by leaving the key out needs no false."""

    expected = "true"

    def read(self, value, place):
        if value is not True:
            raise place.wrong(self.expected, value, "write true, or remove the key")
        return value


@dataclass(frozen=True)
class Choice(Kind):
    """One of a few words or whole numbers."""

    options: tuple

    word = "choice"

    @property
    def expected(self):
        return listed(list(map(shown, self.options)))

    def holds(self, value) -> bool:
        """Whether a value is one of them; the type is compared too: True equals 1."""
        return any(type(value) is type(option) and value == option for option in self.options)

    def read(self, value, place):
        if self.holds(value):
            return value
        words = [option for option in self.options if isinstance(option, str)]
        close = difflib.get_close_matches(value, words, 1) if isinstance(value, str) else ()
        remedy = f"did you mean {shown(close[0])}?" if close else ""
        raise place.wrong(self.expected, value, remedy)

    def described(self):
        return {**super().described(), "options": list(self.options)}


@dataclass(frozen=True)
class Text(Kind):
    """A text that is not blank, without control characters and those in `forbidden`."""

    forbidden: str = ""
    longest: int = 255

    word = "text"

    @property
    def expected(self):
        without = f" without any of {' '.join(self.forbidden)}" if self.forbidden else ""
        return f"a text of 1 to {self.longest} characters{without}"

    def read(self, value, place):
        fits = isinstance(value, str) and value.strip() and len(value) <= self.longest
        if not fits or UNUSABLE.search(value) or set(value) & set(self.forbidden):
            raise place.wrong(self.expected, value)
        return value


class NewFile(Kind):
    """A path where something will be written, read as an absolute Path."""

    word = "path"
    expected = "a path"

    def read(self, value, place):
        if not isinstance(value, str) or not value.strip() or UNUSABLE.search(value):
            raise place.wrong(self.expected, value)
        return Path(os.path.normpath(place.folder / value))


@dataclass(frozen=True)
class ExistingFile(NewFile):
    """The path of a file that is there, read as an absolute Path."""

    ending: str = ""
    """Such as .npz; empty for any."""

    word = "file"

    @property
    def expected(self):
        return f"the path of a{f' {self.ending}' if self.ending else 'n existing'} file"

    def read(self, value, place):
        path = super().read(value, place)
        if self.ending and path.suffix.lower() != self.ending:
            raise place.wrong(self.expected, value)
        if not os.path.isfile(path):
            what = "a folder" if os.path.isdir(path) else "nothing"
            remedy = f"there is {what} at {one_line(path)}, correct the path or put the file there"
            raise place.wrong(self.expected, value, remedy)
        return path


@dataclass(frozen=True)
class Vector(Kind):
    """A few numbers, or rows of numbers, read as a tuple."""

    item: "Number | Vector" = Number()
    count: int = 3
    is_direction: bool = False
    """Whether they must not all be 0."""

    word = "numbers"

    @property
    def expected(self):
        rest = self.item.expected.removeprefix(f"a {self.item.word}")
        ending = ", not all 0" if self.is_direction else ""
        return f"{COUNT_WORDS[self.count]} {self.item.word}s{rest}{ending}"

    def holds(self, value) -> bool:
        """Whether a value is a list of so many numbers, all in range."""
        if not isinstance(value, list | tuple) or len(value) != self.count:
            return False
        return all(map(self.item.holds, value)) and (any(value) or not self.is_direction)

    def read(self, value, place):
        if not self.holds(value):
            numbers = value if isinstance(value, list | tuple) else ()
            raise place.wrong(self.expected, value, max(map(self.item.remedy, numbers), default=""))
        return tuple(self.item.read(number, place) for number in value)

    def described(self):
        return {**self.item.described(), **super().described(), "count": self.count}


@dataclass(frozen=True)
class Words(Kind):
    """A list of texts, none twice, read as a tuple."""

    item: Text = Text()

    word = "words"
    expected = "a list of texts"

    def read(self, value, place):
        if not isinstance(value, list | tuple):
            raise place.wrong(self.expected, value)
        found = tuple(self.item.read(each, place.item(at)) for at, each in enumerate(value))
        if len(set(found)) < len(found):
            raise place.wrong(self.expected, value, "name each of them once")
        return found

    def described(self):
        return {**self.item.described(), **super().described()}


@dataclass(frozen=True)
class Table(Kind):
    """A table inside a table, [name] in TOML, read as an instance of `entry`."""

    entry: type

    word = "table"
    expected = "a table of keys"

    def read(self, value, place):
        return read_table(self.entry, value, place)

    def described(self):
        return {**super().described(), **described(self.entry)}


@dataclass(frozen=True)
class Tables(Kind):
    """A list of tables, [[name]] in TOML, read as a tuple of `entry`."""

    entry: type

    word = "tables"
    expected = "a list of tables"

    def holds(self, value) -> bool:
        """Whether a value is a list of tables."""
        return isinstance(value, list | tuple) and all(isinstance(v, dict) for v in value)

    def read(self, value, place):
        if not self.holds(value):
            name = re.sub(r"\[\d+\]", "", place.name)
            raise place.wrong(self.expected, value, f"begin each of them with a line [[{name}]]")
        return tuple(read_table(self.entry, row, place.item(at)) for at, row in enumerate(value))

    def described(self):
        return {**super().described(), **described(self.entry)}


@dataclass(frozen=True)
class Keys(Tables):
    """Values at frames, at least one, in the order of their frames."""

    word = "keys"

    @property
    def expected(self):
        return f"keys [{{{', '.join(keys_of(self.entry))}}}, ...]"

    def holds(self, value):
        return super().holds(value) and len(value) > 0

    def read(self, value, place):
        if not self.holds(value):
            raise place.wrong(self.expected, value)
        keys = super().read(value, place)
        for at in range(1, len(keys)):
            before, frame = keys[at - 1].frame, keys[at].frame
            if not before < frame:
                raise (
                    place.item(at)
                    .key("frame")
                    .error(
                        f"frames must rise, got {frame:g} after {before:g}",
                        "sort the keys by frame and remove repeats",
                    )
                )
        return keys


@dataclass(frozen=True)
class Either(Kind):
    """One of several kinds: the first that holds the value."""

    kinds: tuple[Number | Choice | Vector | Keys, ...]

    @property
    def word(self):
        return " or ".join(kind.word for kind in self.kinds)

    @property
    def expected(self):
        return " or ".join(kind.expected for kind in self.kinds)

    def read(self, value, place):
        for kind in self.kinds:
            if kind.holds(value):
                return kind.read(value, place)
        raise place.wrong(self.expected, value)

    def described(self):
        return {**super().described(), "either": [kind.described() for kind in self.kinds]}


class FrameRangeKind(Kind):
    """First and last frame."""

    word = "frames"
    expected = "first and last frame, two whole numbers, the first no later than the last"

    pair = Vector(Whole(-LAST_FRAME, LAST_FRAME), 2)

    def read(self, value, place):
        if not self.pair.holds(value) or value[0] > value[1]:
            raise place.wrong(self.expected, value)
        return tuple(value)

    def described(self):
        return {**self.pair.described(), **super().described()}
