"""Kinds of values and keys in time that the tables of a scene file share."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.sim.schema.schema import key
from jellycage.sim.schema.schema_kinds import (
    LAST_FRAME,
    Choice,
    Either,
    Kind,
    Number,
    Text,
    Vector,
    Whole,
)

THREE_ZEROS = (0.0, 0.0, 0.0)
PLAIN_FRICTION, PLAIN_RESTITUTION = 0.5, 0.0

Three = tuple[float, float, float]

METRES = Vector(Number(unit="m"))
DEGREES = Vector(Number(unit="degrees"))
DIRECTION = Vector(is_direction=True)
CORNERS, ROWS = Vector(Vector(), 2), Vector(Vector(count=4), 4)
INDEX = Whole(0, 2**31 - 2)
FRAME = Number(-LAST_FRAME, LAST_FRAME)
FRACTION = Number(0.0, 1.0)
SCALE = Either((Number(0.0, above=True), Vector(Number(0.0, above=True))))
UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "in": 0.0254, "ft": 0.3048}
"""Metres of each."""
MESH_UNITS = Either((Choice(tuple(UNITS)), Number(0.0, unit="m", above=True)))
UNITS_SENTENCE = "Of the numbers in the mesh file, by name or in metres; scale comes on top."
NAME = Text(forbidden='/\\:*?"<>|', longest=63)  # also a file name, and a path in Alembic and USD


class BoxKind(Kind):
    """The lowest and the highest corner of a box."""

    word = "box"
    expected = "two corners [[x, y, z], [x, y, z]] [m], the first nowhere higher than the second"

    def read(self, value, place):
        if not CORNERS.holds(value) or any(a > b for a, b in zip(*value, strict=True)):
            raise place.wrong(self.expected, value)
        return CORNERS.read(value, place)


class MatrixKind(Kind):
    """A 4 x 4 transform that neither mirrors nor flattens, in rows, like Blender's matrix_world."""

    word = "matrix"
    expected = "four rows of four numbers, the last one [0, 0, 0, 1]"

    def read(self, value, place):
        if not ROWS.holds(value):
            raise place.wrong(self.expected, value)
        rows = ROWS.read(value, place)
        if rows[3] != (0.0, 0.0, 0.0, 1.0):
            raise place.wrong(self.expected, value, "write rows, not columns")
        linear = np.array(rows)[:3, :3]
        stretches = np.linalg.svd(linear, compute_uv=False)
        if not stretches[2] > 1e-9 * stretches[0] or np.linalg.det(linear) < 0.0:
            raise place.error("mirrors or flattens the body", "apply the scale to the mesh first")
        return rows


class VerticesKind(Kind):
    """Vertex indices, each once."""

    word = "vertices"
    expected = f"a list of vertex indices, whole numbers from 0 to {INDEX.high}"

    def read(self, value, place):
        if not isinstance(value, list | tuple) or not value or not all(map(INDEX.holds, value)):
            raise place.wrong(self.expected, value)
        vertex, times = Counter(value).most_common(1)[0]
        if times > 1:
            raise place.error(f"names vertex {vertex} {times} times", "remove the repeats")
        return tuple(value)


@dataclass(frozen=True, kw_only=True)
class StrengthKey:
    """A strength at a frame."""

    frame: float = key(FRAME, "When.", example=1)
    value: float = key(FRACTION, "Strength, linear between keys.", example=1.0)


@dataclass(frozen=True, kw_only=True)
class VectorKey:
    """Three numbers at a frame."""

    frame: float = key(FRAME, "When.", example=1)
    value: Three = key(Vector(), "Linear between keys.", example=THREE_ZEROS)


@dataclass(frozen=True, kw_only=True)
class PlaceKey:
    """Where a collider is at a frame."""

    frame: float = key(FRAME, "When.", example=1)
    location: Three | None = key(
        METRES, "Left out: that of the collider.", None, example=THREE_ZEROS
    )
    rotation: Three | None = key(
        DEGREES, "Left out: that of the collider.", None, example=THREE_ZEROS
    )


def metres_per_unit(units: str | float) -> float:
    """What `MESH_UNITS` says, as a number [m]."""
    return UNITS.get(units, units)


def euler_matrix(degrees: ArrayLike) -> NDArray[np.float64]:
    """Rotation by XYZ Euler angles [degrees] as in Blender, about the fixed x, then y, then z, shape (3, 3)."""
    (cx, cy, cz), (sx, sy, sz) = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    x = np.array([[1.0, 0.0, 0.0], [0.0, cx, -sx], [0.0, sx, cx]])
    y = np.array([[cy, 0.0, sy], [0.0, 1.0, 0.0], [-sy, 0.0, cy]])
    z = np.array([[cz, -sz, 0.0], [sz, cz, 0.0], [0.0, 0.0, 1.0]])
    return z @ y @ x
