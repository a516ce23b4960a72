"""What a scene file says of parts of a body: pins, loads and paint. This is the format."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.sim.scene.entry_kinds import (
    DIRECTION,
    FRACTION,
    FRAME,
    THREE_ZEROS,
    BoxKind,
    StrengthKey,
    Three,
    VectorKey,
    VerticesKind,
)
from jellycage.sim.schema.schema import ExactlyOne, NotTogether, OnlyFor, Together, key
from jellycage.sim.schema.schema_kinds import (
    Always,
    Choice,
    Either,
    ExistingFile,
    Keys,
    Number,
    Table,
    Text,
    Vector,
)

ONE_SHOT_LOADS = ("impulse", "velocity", "position")


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Weights of the vertices, from the mesh or from a file."""

    attribute: str | None = key(
        Text(),
        "Vertex attribute of the mesh, which must be a .ply or .npz file.",
        None,
        example="stiffness",
    )
    file: Path | None = key(
        ExistingFile(".npz"), "File of weights, one per vertex.", None, example="weights.npz"
    )
    array: str | None = key(Text(), "Name of the array in that file.", None, example="stiffness")


@dataclass(frozen=True, kw_only=True)
class StiffnessPaint(Weights):
    """Stiffness by weight, in place of the material's: logarithmic between low and high."""

    RULES = (
        ExactlyOne(("attribute", "file"), 'attribute = "stiffness"'),
        Together("file", "array"),
    )

    low: float = key(Number(1.0, 1e12, "Pa"), "Young modulus at weight 0.", example=1e4)
    high: float = key(Number(1.0, 1e12, "Pa"), "Young modulus at weight 1.", example=1e6)

    def values(self, weights: ArrayLike) -> NDArray[np.float64]:
        """Young modulus [Pa] at weights in 0..1, of their shape."""
        return self.low * (self.high / self.low) ** np.asarray(weights, np.float64)


@dataclass(frozen=True, kw_only=True)
class DensityPaint(Weights):
    """Density by weight, in place of the material's: linear between low and high."""

    RULES = StiffnessPaint.RULES

    low: float = key(Number(0.1, 1e5, "kg/m^3"), "Density at weight 0.", example=500.0)
    high: float = key(Number(0.1, 1e5, "kg/m^3"), "Density at weight 1.", example=2000.0)

    def values(self, weights: ArrayLike) -> NDArray[np.float64]:
        """Density [kg/m^3] at weights in 0..1, of their shape."""
        return self.low + (self.high - self.low) * np.asarray(weights, np.float64)


@dataclass(frozen=True, kw_only=True)
class PaintEntry:
    """What differs from place to place in the body."""

    young_modulus: StiffnessPaint | None = key(Table(StiffnessPaint), "Painted stiffness.", None)
    density: DensityPaint | None = key(Table(DensityPaint), "Painted density.", None)


@dataclass(frozen=True, kw_only=True)
class Selection(Weights):
    """Some vertices of the body."""

    RULES = (
        ExactlyOne(("vertices", "box", "attribute", "file", "all"), "all = true"),
        Together("file", "array"),
    )

    vertices: tuple[int, ...] | None = key(
        VerticesKind(), "These vertices, counted from 0 as in the mesh.", None, example=(0, 1)
    )
    box: tuple[Three, Three] | None = key(
        BoxKind(),
        "Those in a box, by rest position before the transform.",
        None,
        example=((-1.0, -1.0, 0.0), (1.0, 1.0, 0.1)),
    )
    all: bool = key(Always(), "All of them.", False, example=True)


@dataclass(frozen=True, kw_only=True)
class PinEntry(Selection):
    """Vertices that are held or led. Weights in 0..1 multiply the strength; those of weight 0 are not pinned."""

    RULES = (
        *Selection.RULES,
        NotTogether("target", ("offset",), "both say where the pin goes"),
        NotTogether("along", ("normal",), "a pin slides along a line or in a plane"),
    )

    strength: float | tuple[StrengthKey, ...] = key(
        Either((FRACTION, Keys(StrengthKey))), "0 is off, 1 is hard, a spring between.", 1.0
    )
    target: Path | None = key(
        ExistingFile(".pc2"),
        "Where to: positions in the world of the pinned vertices or of all, one sample per frame.",
        None,
        example="hand.pc2",
    )
    offset: tuple[VectorKey, ...] | None = key(
        Keys(VectorKey),
        "Where to: so far from where they began, in the world [m].",
        None,
        example=({"frame": 1, "value": THREE_ZEROS},),
    )
    along: Three | None = key(
        DIRECTION, "They may slide along this line.", None, example=(0.0, 0.0, 1.0)
    )
    normal: Three | None = key(
        DIRECTION,
        "They may slide in the plane across this normal.",
        None,
        example=(0.0, 0.0, 1.0),
    )


def is_keyed(value: Any) -> bool:
    """Whether a strength or the value of a load is given by keys."""
    return isinstance(value, tuple) and isinstance(value[0], StrengthKey | VectorKey)


class KeysOnlyForForces:
    """Only what lasts can change in time."""

    sentence = "Keys of value are only for kind force."

    def check(self, values, place):
        if values["kind"] != "force" and is_keyed(values["value"]):
            raise place.key("value").error(
                f"keys are for forces, a change of kind {values['kind']} happens once",
                "give three numbers and a frame",
            )


@dataclass(frozen=True, kw_only=True)
class LoadEntry(Selection):
    """What is done to vertices. Weights multiply the value."""

    RULES = (*Selection.RULES, OnlyFor("frame", ONE_SHOT_LOADS), KeysOnlyForForces())

    kind: str = key(
        Choice(("force", *ONE_SHOT_LOADS)),
        "A force lasts; impulse, velocity and position changes happen once.",
        example="force",
    )
    value: Three | tuple[VectorKey, ...] = key(
        Either((Vector(), Keys(VectorKey))),
        "What each vertex gets, in the world: force [N], impulse [N s], velocity [m/s], position [m].",
        example=(0.0, 0.0, 1.0),
    )
    frame: float | None = key(FRAME, "When; left out: the first frame.", None, example=1)
