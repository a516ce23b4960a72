"""PLY: our own reader, because doubles and polygons must survive.

What the header announces is compared with the bytes that are there before any array is made.
"""

from dataclasses import dataclass

import numpy as np

from jellycage.toolkit.errors import MeshError
from jellycage.toolkit.mesh.mesh import TriMesh, mesh_from_polygons

TYPES = {
    **dict.fromkeys(("char", "int8"), "i1"),
    **dict.fromkeys(("uchar", "uint8"), "u1"),
    **dict.fromkeys(("short", "int16"), "i2"),
    **dict.fromkeys(("ushort", "uint16"), "u2"),
    **dict.fromkeys(("int", "int32"), "i4"),
    **dict.fromkeys(("uint", "uint32"), "u4"),
    **dict.fromkeys(("float", "float32"), "f4"),
    **dict.fromkeys(("double", "float64"), "f8"),
}
ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
UV_NAMES = (("s", "t"), ("u", "v"), ("texture_u", "texture_v"))
NORMALS = ("nx", "ny", "nz")
COLOURS = ("red", "green", "blue", "alpha")
FACE_LISTS = ("vertex_indices", "vertex_index")
AGAIN = "export the file again"


@dataclass(frozen=True)
class Element:
    """One table of the file: its rows and the properties of a row."""

    name: str
    count: int
    properties: tuple[tuple[str, str, str | None], ...]
    """(name, type, type of the list's length or None if it is no list), types as numpy codes."""

    def has_lists(self) -> bool:
        return any(length for _, _, length in self.properties)


def parsed_ply(data: bytes) -> TriMesh:
    """The mesh in the bytes of a PLY file, ASCII or binary."""
    order, elements, body = _header(data)
    vertices = uv = attributes = faces = None
    reader = _Words(body) if order == "" else _Bytes(body, order)
    for element in elements:
        reader.check(element)
        if element.name == "vertex":
            vertices, uv, attributes = _vertex_columns(element, reader)
        elif element.name == "face":
            faces = reader.lists(element, _face_list(element))
        elif vertices is None or faces is None:
            reader.skip(element)
    if vertices is None:
        raise MeshError(f"the header names no vertices; {AGAIN}")
    if any(element.name == "tristrips" for element in elements) and faces is None:
        raise MeshError("the faces are triangle strips; export them as plain faces")
    start, corners = (np.zeros(1, int), np.zeros(0, int)) if faces is None else faces
    return mesh_from_polygons(
        vertices,
        start,
        corners,
        uv=uv,
        uv_index=None if uv is None else corners,
        attributes=attributes,
    )


def _header(data):
    """(byte order, elements, body)."""
    end = data.find(b"end_header", 0, 1 << 16)
    newline = data.find(b"\n", end)
    if end < 0 or (newline < 0 and b"\r" not in data[end:]):
        raise MeshError(f"the PLY header has no end; {AGAIN}")
    stop = newline if newline >= 0 else data.index(b"\r", end)
    order, elements = None, []
    for line in data[:end].decode("latin-1").splitlines()[1:]:
        words = line.split()
        if words[:1] == ["format"] and len(words) > 1 and words[1] in ORDERS:
            order = ORDERS[words[1]]
        elif words[:1] == ["element"]:
            elements.append(_element(words))
        elif words[:1] == ["property"]:
            if not elements:
                raise MeshError(f"the PLY header is damaged; {AGAIN}")
            old = elements[-1]
            elements[-1] = Element(old.name, old.count, (*old.properties, _property(words)))
    if order is None:
        raise MeshError(f"the PLY header names no known format; {AGAIN}")
    return order, elements, data[stop + 1 :]


def _element(words):
    if len(words) != 3 or not (words[2].isascii() and words[2].isdigit()) or len(words[2]) > 15:
        raise MeshError(f"the PLY header line '{_printable(words)}' is damaged; {AGAIN}")
    return Element(words[1], int(words[2]), ())


def _property(words):
    is_list = words[1:2] == ["list"]
    kinds = words[2:4] if is_list else words[1:2]
    if len(words) != (5 if is_list else 3) or any(kind not in TYPES for kind in kinds):
        raise MeshError(f"the PLY header line '{_printable(words)}' is damaged; {AGAIN}")
    if is_list and TYPES[kinds[0]][0] == "f":
        raise MeshError(f"the PLY header gives a list a length of type {kinds[0]}; {AGAIN}")
    return words[-1], TYPES[kinds[-1]], TYPES[kinds[0]] if is_list else None


def _printable(words):
    return " ".join(words)[:60].encode("ascii", "backslashreplace").decode()


def _vertex_columns(element, reader):
    """Positions (n, 3), UVs (n, 2) or None, and all else by name, each (n,)."""
    names = [name for name, _, _ in element.properties]
    if element.has_lists() or not {"x", "y", "z"} <= set(names):
        raise MeshError(f"the vertices have no plain x, y and z; {AGAIN}")
    if len(set(names)) < len(names):
        raise MeshError(f"the vertices have two properties of one name; {AGAIN}")
    columns = dict(zip(names, reader.columns(element), strict=True))
    pair = next((pair for pair in UV_NAMES if set(pair) <= set(names)), None)
    points = np.stack([columns[axis] for axis in "xyz"], axis=1)
    uv = None if pair is None else np.stack([columns[axis] for axis in pair], axis=1)
    for name, kind, _ in element.properties:
        if name in COLOURS and kind[0] != "f":
            columns[name] = columns[name] / np.iinfo(kind).max
    named = {*"xyz", *NORMALS, *(name for pair in UV_NAMES for name in pair)}
    return points, uv, {name: columns[name] for name in names if name not in named}


def _face_list(element):
    """Which property of the faces holds the vertex indices."""
    for at, (name, kind, length) in enumerate(element.properties):
        if name in FACE_LISTS and length and kind[0] != "f":
            return at
    raise MeshError(f"the faces have no list of vertex indices; {AGAIN}")


def _cut_short(element):
    return MeshError(
        f"the file is cut short: it announces {element.count} {_printable([element.name])} "
        f"rows and ends before them; copy or {AGAIN}"
    )


class _Bytes:
    """Reads the tables of a binary body one after the other."""

    def __init__(self, body, order):
        self.body, self.order, self.at = body, order, 0

    def check(self, element):
        """Refuse a table that cannot fit into the bytes that are left."""
        row = sum(np.dtype(length or kind).itemsize for _, kind, length in element.properties)
        if element.count * max(row, 1) > len(self.body) - self.at:
            raise _cut_short(element)

    def columns(self, element):
        """Each property of a table without lists as float64."""
        fields = [
            (f"f{at}", self.order + kind) for at, (_, kind, _) in enumerate(element.properties)
        ]
        rows = np.frombuffer(self.body, np.dtype(fields), element.count, self.at)
        self.at += rows.nbytes
        return [rows[name].astype(np.float64) for name, _ in fields]

    def skip(self, element):
        """Step over a table."""
        if element.has_lists():
            self.lists(element, 0)
        elif element.properties:
            self.columns(element)

    def lists(self, element, wanted):
        """CSR rows of one list property; all others are stepped over."""
        return self._equal_lists(element, wanted) or self._mixed_lists(element, wanted)

    def _equal_lists(self, element, wanted):
        """The fast way: every list is as long as in the first row; None if that is not so."""
        if element.count == 0:
            return np.zeros(1, np.int64), np.zeros(0, np.int64)
        fields, at = [], self.at
        for index, (_, kind, length) in enumerate(element.properties):
            size = 1
            if length:
                if at + np.dtype(length).itemsize > len(self.body):
                    raise _cut_short(element)
                size = int(np.frombuffer(self.body, self.order + length, 1, at)[0])
                fields.append((f"n{index}", self.order + length))
                at += np.dtype(length).itemsize
            if size < 0 or (at - self.at + size) * element.count > len(self.body):
                return None
            at += size * np.dtype(kind).itemsize
            fields.append((f"f{index}", self.order + kind, (size,)))
        layout = np.dtype(fields)
        if layout.itemsize * element.count > len(self.body) - self.at:
            return None
        rows = np.frombuffer(self.body, layout, element.count, self.at)
        for name in layout.names:
            if name[0] == "n" and (rows[name] != rows[name][0]).any():
                return None
        self.at += rows.nbytes
        values = rows[f"f{wanted}"]
        return values.shape[1] * np.arange(element.count + 1), values.astype(np.int64).ravel()

    def _mixed_lists(self, element, wanted):
        """The slow way, row by row."""
        body, at, ends, pieces = self.body, self.at, [0], []
        codes = [
            (length and np.dtype(self.order + length), np.dtype(self.order + kind))
            for _, kind, length in element.properties
        ]
        signed = [bool(length) and length.kind == "i" for length, _ in codes]
        endian = "big" if self.order == ">" else "little"
        for _ in range(element.count):
            for index, (length, kind) in enumerate(codes):
                size = 1
                if length:
                    size = int.from_bytes(
                        body[at : at + length.itemsize], endian, signed=signed[index]
                    )
                    at += length.itemsize
                stop = at + size * kind.itemsize
                if size < 0 or stop > len(body):
                    raise _cut_short(element)
                if index == wanted:
                    pieces.append(body[at:stop])
                    ends.append(ends[-1] + size)
                at = stop
        self.at = at
        values = np.frombuffer(b"".join(pieces), codes[wanted][1])
        return np.array(ends, dtype=np.int64), values.astype(np.int64)


class _Words:
    """Reads the tables of an ASCII body one after the other."""

    def __init__(self, body):
        self.words, self.at = body.split(), 0

    def check(self, element):
        """Refuse a table that cannot fit into the words that are left."""
        if element.count * max(len(element.properties), 1) > len(self.words) - self.at:
            raise _cut_short(element)

    def columns(self, element):
        """Each property of a table without lists as float64."""
        width = len(element.properties)
        table = np.array(self._numbers(width * element.count), dtype=np.float64)
        return list(table.reshape(element.count, width).T)

    def skip(self, element):
        """Step over a table."""
        self.lists(element, 0 if element.has_lists() else None)

    def lists(self, element, wanted):
        """CSR rows of one list property; all others are stepped over."""
        ends, values = [0], []
        for _ in range(element.count):
            for index, (_, _, length) in enumerate(element.properties):
                size = int(self._numbers(1)[0]) if length else 1
                if size < 0 or self.at + size > len(self.words):
                    raise _cut_short(element)
                if index == wanted:
                    values += self._numbers(size)
                    ends.append(ends[-1] + size)
                else:
                    self.at += size
        return np.array(ends, dtype=np.int64), np.array(values, dtype=np.float64).astype(np.int64)

    def _numbers(self, count):
        words = self.words[self.at : self.at + count]
        if len(words) < count:
            raise MeshError(f"the file is cut short; copy or {AGAIN}")
        self.at += count
        try:
            return list(map(float, words))
        except ValueError:
            raise MeshError(f"the tables hold something that is no number; {AGAIN}") from None
