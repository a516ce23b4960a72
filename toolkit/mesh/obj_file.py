"""Wavefront OBJ: our own reader, because vertex order, polygons and UVs must survive exactly."""

from collections import Counter
from operator import methodcaller

import numpy as np

from jellycage.toolkit.errors import MeshError
from jellycage.toolkit.mesh.mesh import TriMesh, mesh_from_polygons

SILENT = {b"vn", b"g", b"o", b"s", b"usemtl", b"mg"}
"""Keywords of every ordinary file that do not concern the shape; others are named in a warning."""


def parsed_obj(data: bytes) -> TriMesh:
    """The mesh in the text of an OBJ file; all objects and groups together."""
    if b"\\" in data:
        data = data.replace(b"\\\r\n", b" ").replace(b"\\\n", b" ")
    positions, uvs, corners, sizes, seen, seen_uv = [], [], [], [], [], []
    ignored = Counter()
    for line in data.splitlines():
        if b"#" in line:
            line = line[: line.index(b"#")]
        words = line.split()
        if not words:
            continue
        key = words[0]
        if key == b"v":
            positions += words[1:4] if len(words) > 3 else _short(words, 3)
        elif key == b"f":
            corners += words[1:]
            sizes.append(len(words) - 1)
            seen.append(len(positions))
            seen_uv.append(len(uvs))
        elif key == b"vt":
            uvs += words[1:3] if len(words) > 2 else [*words[1:], b"0", b"0"][:2]
        elif key not in SILENT:
            ignored[key[:20].decode("ascii", "backslashreplace")] += 1
    vertices = _floats(positions, "v").reshape(-1, 3)
    uv = _floats(uvs, "vt").reshape(-1, 2)
    vertex, uv_index = _indices(corners)
    seen = np.repeat(np.array(seen, dtype=np.int64) // 3, sizes)
    seen_uv = np.repeat(np.array(seen_uv, dtype=np.int64) // 2, sizes)
    return mesh_from_polygons(
        vertices,
        np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]),
        _resolved(vertex, seen, len(vertices), "v"),
        uv=uv,
        uv_index=_resolved(uv_index, seen_uv, len(uv), "vt") if len(uv) else None,
        warnings=(_ignored_sentence(ignored),) if ignored else (),
    )


def _short(words, count):
    line = b" ".join(words)[:40].decode("ascii", "backslashreplace")
    raise MeshError(f"line '{line}' has fewer than {count} numbers; export the file again")


def _floats(words, key):
    try:
        return np.array(list(map(float, words)), dtype=np.float64)
    except ValueError as error:
        raise MeshError(
            f"a '{key}' line holds something that is no number ({_brief(error)}); "
            "export the file again"
        ) from None


def _indices(corners):
    """Vertex and UV numbers of face corners as written; 0 where there is no UV."""
    try:
        slashes = set(map(methodcaller("count", b"/"), corners))
        text = b" ".join(corners)
        if len(slashes) <= 1 and b"//" not in text and not text.endswith(b"/"):
            # The usual case, all corners written alike: one conversion for all numbers.
            numbers = list(map(int, text.replace(b"/", b" ").split()))
            table = np.array(numbers, dtype=np.int64).reshape(len(corners), -1 if corners else 1)
            uv = table[:, 1] if table.shape[1] > 1 else np.zeros(len(corners), dtype=np.int64)
            return table[:, 0], uv
        parts = [corner.split(b"/") for corner in corners]
        vertex = [int(part[0]) for part in parts]
        uv = [int(part[1]) if len(part) > 1 and part[1] else 0 for part in parts]
        return np.array(vertex, dtype=np.int64), np.array(uv, dtype=np.int64)
    except (ValueError, OverflowError) as error:
        raise MeshError(
            f"an 'f' line holds something that is no index ({_brief(error)}); export the file again"
        ) from None


def _resolved(written, seen, count, key):
    """Rows from 1-based or relative (negative) numbers; -1 where a UV is missing."""
    is_missing = (written == 0) if key == "vt" else np.zeros(len(written), dtype=bool)
    rows = np.where(written < 0, seen + written, written - 1)
    is_wrong = ~is_missing & ((rows < 0) | (rows >= count))
    if is_wrong.any():
        raise MeshError(
            f"a face names {key} number {written[is_wrong][0]}, but there are {count}; "
            "the file is damaged or cut short: export it again"
        )
    return np.where(is_missing, -1, rows)


def _ignored_sentence(ignored):
    names = [f"{key} ({count})" for key, count in ignored.most_common(6)]
    more = f" and {len(ignored) - 6} more kinds" if len(ignored) > 6 else ""
    return f"Ignored lines of kinds that carry no surface: {', '.join(names)}{more}."


def _brief(error):
    """The error's text on one line, cut short."""
    return " ".join(str(error).encode("ascii", "backslashreplace").decode().split())[:80]
