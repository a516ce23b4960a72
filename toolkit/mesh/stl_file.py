"""STL, binary and ASCII: a list of triangles, each with its own three vertices."""

import numpy as np

from jellycage.toolkit.errors import MeshError
from jellycage.toolkit.mesh.mesh import TriMesh

RECORD = np.dtype([("normal", "<f4", (3,)), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def announced_triangles(data: bytes) -> int | None:
    """The number of triangles in a binary STL header; None if there are too few bytes for one."""
    return int.from_bytes(data[80:84], "little") if len(data) >= 84 else None


def is_binary_stl(data: bytes) -> bool:
    """Whether the announced number of triangles is exactly what the file has room for."""
    count = announced_triangles(data)
    return bool(count) and len(data) == 84 + RECORD.itemsize * count


def is_ascii_stl(data: bytes) -> bool:
    """Whether the bytes begin like an ASCII STL file."""
    start = data[:4096].lstrip().lower()
    return start.startswith(b"solid") and (b"facet" in start or b"endsolid" in start)


def parsed_stl(data: bytes) -> TriMesh:
    """The triangles of an STL file, three new vertices for each: `repair` welds them."""
    corners = _ascii(data) if is_ascii_stl(data) and not is_binary_stl(data) else _binary(data)
    return TriMesh(corners, np.arange(len(corners)).reshape(-1, 3))


def _binary(data):
    count = announced_triangles(data)
    room = (len(data) - 84) // RECORD.itemsize
    if count is None or count > room:
        announced = "" if count is None else f" announces {count} triangles and"
        raise MeshError(
            f"the file is cut short or no STL: it{announced} has {len(data)} bytes; "
            "copy or export it again"
        )
    if count < room:
        raise MeshError(
            f"the STL header announces {count} triangles but there is room for {room}; "
            "export the file again"
        )
    return np.frombuffer(data, RECORD, count, 84)["corners"].reshape(-1, 3)


def _ascii(data):
    rows = [line.split() for line in data.lower().splitlines()]
    words = [row[1:4] for row in rows if row and row[0] == b"vertex"]
    starts = sum(1 for row in rows if row and row[0] == b"facet")
    has_end = any(row and row[0] == b"endsolid" for row in rows)
    if len(words) != 3 * starts or not has_end:
        raise MeshError(
            f"the STL text is cut short or damaged ({starts} facets, {len(words)} vertices); "
            "copy or export it again"
        )
    try:
        return np.array([[float(w) for w in row] for row in words]).reshape(-1, 3)
    except ValueError:
        raise MeshError("a vertex line does not hold three numbers; export it again") from None
