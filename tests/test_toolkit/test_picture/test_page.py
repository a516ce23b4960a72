"""The interactive page: complete in itself, and one line of help if plotly is missing."""

import base64
import builtins
import json
from html.parser import HTMLParser

import numpy as np
import pytest

from jellycage.toolkit.errors import ToolkitError
from jellycage.toolkit.picture.page import write_page

NODES = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], float)
VERTICES = 0.25 + 0.125 * NODES[:3]
ARGUMENTS = (VERTICES, [(0, 1, 2)], NODES, [(0, 1, 2, 3)])


def loaded_by(text):
    """What the tags of the page ask a browser to fetch."""
    found = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            found.extend(value for name, value in attrs if name in ("src", "href"))

    Reader().feed(text)
    return found


def test_the_test_would_notice_a_script_from_the_network():
    assert loaded_by('<script src="https://example.org/a.js"></script>')


def figure_data(text):
    """The traces of the page: the first JSON list handed to Plotly.newPlot."""
    start = text.index("[", text.rindex("Plotly.newPlot("))
    return json.JSONDecoder().raw_decode(text[start:])[0]


def numbers(value):
    if isinstance(value, dict):
        return np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"])
    return np.array([np.nan if v is None else v for v in value], float)


def test_page_holds_the_arrays_and_loads_nothing(tmp_path):
    pytest.importorskip("plotly")
    write_page(tmp_path / "a.html", *ARGUMENTS, title="a <b> & jelly")
    assert [p.name for p in tmp_path.iterdir()] == ["a.html"]
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    surface, cage, lines = figure_data(text)
    for axis, name in enumerate("xyz"):
        np.testing.assert_array_equal(numbers(surface[name]), VERTICES[:, axis])
        np.testing.assert_array_equal(numbers(cage[name]), NODES[:, axis])
    assert len(numbers(cage["i"])) == 4
    assert len(numbers(lines["x"])) == 6 * 3
    assert loaded_by(text) == []


def test_page_without_cage_is_written(tmp_path):
    pytest.importorskip("plotly")
    write_page(tmp_path / "a.html", VERTICES, [(0, 1, 2)], np.zeros((0, 3)))
    assert (tmp_path / "a.html").stat().st_size > 1000


def test_without_plotly_the_error_says_what_to_install(tmp_path, monkeypatch):
    real_import = builtins.__import__

    def no_plotly(name, *args, **kwargs):
        if name.startswith("plotly"):
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_plotly)
    with pytest.raises(ToolkitError) as caught:
        write_page(tmp_path / "a.html", *ARGUMENTS)
    assert 'pip install "jellycage[view]"' in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())
