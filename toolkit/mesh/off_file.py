"""OFF: counts, positions, polygons, as text."""

import numpy as np

from jellycage.toolkit.errors import MeshError
from jellycage.toolkit.mesh.mesh import TriMesh, mesh_from_polygons

KINDS = {b"OFF", b"COFF", b"NOFF", b"CNOFF", b"STOFF"}
AGAIN = "export the file again"


def parsed_off(data: bytes) -> TriMesh:
    """The mesh in the text of an OFF file; colours and normals are not read."""
    rows = [line.split(b"#", 1)[0].split() for line in data.splitlines()]
    rows = [row for row in rows if row]
    if not rows or rows[0][0] not in KINDS or b"BINARY" in rows[0]:
        raise MeshError("this is no OFF text file that we know; export it as OBJ or PLY")
    head = rows[0][1:] or (rows[1] if len(rows) > 1 else [])
    body = rows[1 if rows[0][1:] else 2 :]
    try:
        vertex_count, face_count = int(head[0]), int(head[1])
        if min(vertex_count, face_count) < 0 or vertex_count + face_count > len(body):
            raise MeshError(
                f"the file is cut short: it announces {vertex_count} vertices and {face_count} "
                f"faces and has {len(body)} rows; copy or {AGAIN}"
            )
        vertices = [[float(word) for word in row[:3]] for row in body[:vertex_count]]
        polygons = [_polygon(row) for row in body[vertex_count : vertex_count + face_count]]
        start = np.concatenate([[0], np.cumsum([len(p) for p in polygons], dtype=np.int64)])
        corners = np.array([index for polygon in polygons for index in polygon], dtype=np.int64)
        points = np.array(vertices, dtype=np.float64).reshape(vertex_count, 3)
    except MeshError:
        raise
    except (ValueError, IndexError, OverflowError):
        raise MeshError(f"a row does not hold the numbers that OFF asks for; {AGAIN}") from None
    return mesh_from_polygons(points, start, corners)


def _polygon(row):
    size = int(row[0])
    if size < 0 or len(row) < size + 1:
        raise ValueError(row)
    return [int(word) for word in row[1 : size + 1]]
