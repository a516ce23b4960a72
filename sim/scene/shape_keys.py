"""Keys of scene files by which colliders and rigid bodies say what shape they are, from the table of shapes."""

from dataclasses import Field

from jellycage.sim.schema.schema import OnlyFor, key
from jellycage.sim.schema.schema_kinds import Number, Vector
from jellycage.sim.shapes import SHAPES

POSITIVE = Number(0.0, unit="m", above=True)
KINDS = {
    "radius": (POSITIVE, 0.5),
    "size": (Vector(POSITIVE), (1.0, 1.0, 1.0)),
    "length": (Number(0.0, unit="m"), 1.0),
}
"""What each key may be, and an example."""
EXAMPLES = {"radius": "radius = 0.5", "size": "size = [1.0, 1.0, 1.0]", "length": "length = 1.0"}
COLLIDERS = tuple(kind for kind, shape in SHAPES.items() if shape.kernels is not None)
RIGID_BODIES = tuple(kind for kind, shape in SHAPES.items() if shape.has_mass)


def shape_key(name: str) -> Field:
    """A key that some shapes are made from."""
    kind, example = KINDS[name]
    parts = [shape.keys[name] for shape in SHAPES.values() if name in shape.keys]
    sentence = "; ".join(parts)
    return key(kind, f"{sentence[0].upper()}{sentence[1:]}.", None, example=example)


def shape_rules() -> tuple[OnlyFor, ...]:
    """Which shapes each of the keys is for."""
    users = {name: [k for k, shape in SHAPES.items() if name in shape.keys] for name in KINDS}
    return tuple(OnlyFor(name, tuple(kinds), EXAMPLES[name]) for name, kinds in users.items())
