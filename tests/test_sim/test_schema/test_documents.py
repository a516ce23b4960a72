"""Documents: read from TOML and JSON alike, refused in one line with a remedy, written so that they read back."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from jellycage.sim.errors import SceneError
from jellycage.sim.schema.documents import (
    NamesKind,
    RowsKind,
    TransformKind,
    as_numbers,
    read_document,
    read_text_document,
    table_section,
    write_document,
)
from jellycage.sim.schema.schema import NotTogether, Place, described, key
from jellycage.sim.schema.schema_kinds import Number, Table, Tables, Text

PLACE = Place(Path(), "bones")


@dataclass(frozen=True, kw_only=True)
class Wheel:
    """Something round."""

    radius: float = key(Number(0.0, 10.0, "m"), "Half its width | at rest.", 0.5)


@dataclass(frozen=True, kw_only=True)
class Cart:
    """Something that rolls."""

    RULES = (NotTogether("name", ("axle",), "one is enough"),)

    name: str = key(Text(), "What it is called.", example="cart")
    axle: Wheel = key(Table(Wheel), "Its axle.", Wheel())
    wheels: tuple[Wheel, ...] = key(Tables(Wheel), "Its wheels.", (), name="wheel")


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_toml_and_json_are_read_alike(tmp_path):
    toml = written(tmp_path, "a.toml", 'fps = 24\n[[body]]\nmesh = "bär.obj"\n')
    text = json.dumps({"fps": 24, "body": [{"mesh": "bär.obj"}]})
    assert read_text_document(toml) == read_text_document(written(tmp_path, "a.JSON", text))
    marked = written(tmp_path, "b.toml", b"\xef\xbb\xbffps = 24\n")
    assert read_text_document(marked) == {"fps": 24}


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.yaml", "a: 1", "ends in .toml or .json; rename"),
        ("a.toml", "a = 1\nb = \n", "line 2: no TOML"),
        ("a.json", '{"a": 1,\n"b" 2}', "line 2: no JSON"),
        ("a.json", '{"a": 1, "a": 2}', '"a": stands 2 times in one table; keep one'),
        ("a.json", "[" * 100_000, "too deep"),
        ("a.toml", b"a = 1\nb = '\xe9'\n", "line 2: not UTF-8; save"),
    ],
)
def test_what_is_no_document_is_refused_in_one_line(name, content, words, tmp_path):
    with pytest.raises(SceneError) as refused:
        read_text_document(written(tmp_path, name, content))
    assert words in str(refused.value) and "\n" not in str(refused.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(SceneError, match="there is no such file"):
        read_text_document(tmp_path / "none.toml")
    with pytest.raises(SceneError, match="no regular file"):
        read_text_document(tmp_path)


def test_errors_name_the_file_and_paths_start_beside_it(tmp_path):
    path = written(tmp_path, "a.toml", "a = 1\n")
    document, place = read_document(path, lambda *given: given)
    assert document == {"a": 1} and place.folder == tmp_path and place.name == ""

    def refuse(_document, place):
        raise place.key("a").error("is odd", "make it even")

    with pytest.raises(SceneError, match=r"a\.toml: a: is odd; make it even$"):
        read_document(path, refuse)


def test_what_is_written_reads_back_to_the_bit(tmp_path):
    rows = np.random.default_rng(0).normal(size=(4, 3))
    document = {
        "name": 'Bär "1"\n',
        "none": [],
        "few": [1, 2.5],
        "rows": [*rows.tolist(), [5e-324, 1e300, 0.1]],
        "bones": [{"head": row} for row in rows.tolist()],
    }
    write_document(document, tmp_path / "a.json")
    assert read_text_document(tmp_path / "a.json") == document
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    # One line for each plain key, and for each list of rows one more than it has rows.
    assert len(text.splitlines()) == 2 + 3 + (5 + 2) + (4 + 2)


def test_numbers_that_json_does_not_have_are_not_written(tmp_path):
    with pytest.raises(ValueError):
        write_document({"a": float("nan")}, tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


def test_numbers_are_read_only_doubles_of_the_shape():
    found = as_numbers([[1, 2], [3, 4]], (None, 2), "rows")
    assert found.dtype == np.float64 and found.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert not found.flags.writeable


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([[1, 2], [3]], "rows of different lengths"),
        ([["a", "b"]], "something else"),
        ([[True, False]], "something else"),
        ([[1, 2, 3]], r"shape \(n, 2\), got \(1, 3\)"),
        ([1, 2], r"shape \(n, 2\), got \(2\)"),
        ([[1.0, float("nan")]], "NaN, infinity or more"),
        ([[1.0, 1e13]], r"within 1e\+12"),
    ],
)
def test_other_numbers_are_refused_by_name(values, words):
    with pytest.raises(SceneError, match=f"^head: .*{words}"):
        as_numbers(values, (None, 2), "head")


def test_rows_are_numbers_for_every_bone_in_every_frame():
    kind = RowsKind(3, "the head")
    assert kind.read([[[0, 0, 1]], [[0, 0, 2]]], PLACE).shape == (2, 1, 3)
    assert kind.described()["allowed"] == "for each frame a list with the head of each bone"
    with pytest.raises(SceneError, match=r"bones: expected numbers of shape \(n, n, 3\)"):
        kind.read([[0, 0, 1]], PLACE)


def test_a_transform_has_four_rows():
    assert np.array_equal(TransformKind().read(np.eye(4).tolist(), PLACE), np.eye(4))
    with pytest.raises(SceneError, match=r"bones: expected numbers of shape \(4, 4\)"):
        TransformKind().read(np.eye(3).tolist(), PLACE)


def test_names_are_a_list_of_texts():
    assert NamesKind().read(["hips", "spine"], PLACE) == ("hips", "spine")
    with pytest.raises(SceneError, match="bones: expected a list of names"):
        NamesKind().read("hips", PLACE)
    with pytest.raises(SceneError, match=r"bones\[1\]: expected a text"):
        NamesKind().read(["hips", " "], PLACE)


def test_a_page_tells_every_key_of_every_table_and_the_rules():
    lines = table_section(described(Cart), "")
    text = "\n".join(lines)
    assert lines[:2] == ["", "Something that rolls."]
    assert "| `name` | a text of 1 to 255 characters | needed | What it is called. |" in lines
    assert (
        text.count("| `radius` | a number from 0 to 10 [m] | `0.5` | Half its width \\| at rest. |")
        == 2
    )
    assert "## `[axle]`" in lines and "## `[[wheel]]`" in lines
    assert "- name does not go with axle: one is enough." in lines
