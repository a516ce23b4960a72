"""What a scene file says of colliders. This is the format."""

from dataclasses import dataclass, replace
from pathlib import Path

from jellycage.sim.scene.entry_kinds import (
    DEGREES,
    DIRECTION,
    FRACTION,
    MESH_UNITS,
    METRES,
    NAME,
    PLAIN_FRICTION,
    PLAIN_RESTITUTION,
    SCALE,
    THREE_ZEROS,
    UNITS_SENTENCE,
    PlaceKey,
    Three,
)
from jellycage.sim.scene.shape_keys import COLLIDERS, shape_key, shape_rules
from jellycage.sim.schema.schema import OnlyFor, key
from jellycage.sim.schema.schema_kinds import (
    Choice,
    ExistingFile,
    Keys,
    Number,
)


@dataclass(frozen=True, kw_only=True)
class ColliderEntry:
    """Something hard that bodies bump into, still or moving."""

    RULES = (
        OnlyFor("normal", ("plane",)),
        *shape_rules(),
        OnlyFor("mesh", ("mesh",), 'mesh = "stairs.obj"'),
        OnlyFor("units", ("mesh",)),
        OnlyFor("scale", ("mesh",)),
        *(OnlyFor(name, COLLIDERS) for name in ("friction", "restitution", "keys")),
    )

    kind: str = key(
        Choice((*COLLIDERS, "mesh")),
        "Its shape; only ragdolls and rigid bodies meet a mesh, soft bodies pass through it.",
        example="plane",
    )
    name: str = key(NAME, "Left out: its kind, made unique.", "", example="floor")
    friction: float = key(Number(0.0, 10.0), "Coulomb coefficient.", PLAIN_FRICTION)
    restitution: float = key(
        FRACTION,
        "Least share of the approach speed that a soft body leaves with; its own elasticity may give more.",
        PLAIN_RESTITUTION,
    )
    location: Three = key(METRES, "Where its centre, or a point of the plane, is.", THREE_ZEROS)
    rotation: Three = key(DEGREES, "XYZ Euler angles as in Blender: first about x.", THREE_ZEROS)
    normal: Three = key(DIRECTION, "Free side of the plane, before its rotation.", (0.0, 0.0, 1.0))
    radius: float | None = shape_key("radius")
    size: Three | None = shape_key("size")
    length: float | None = shape_key("length")
    mesh: Path | None = key(
        ExistingFile(),
        "Surface of a mesh collider, which stands still and has a friction of 0.5.",
        None,
        example="stairs.obj",
    )
    units: str | float = key(MESH_UNITS, UNITS_SENTENCE, "m")
    scale: float | Three = key(SCALE, "Of a mesh, along its axes.", 1.0)
    keys: tuple[PlaceKey, ...] = key(
        Keys(PlaceKey),
        "Where it is at frames: straight between them, turning the shorter way.",
        (),
        example=({"frame": 1, "location": THREE_ZEROS},),
    )

    def __post_init__(self):
        keys = tuple(
            replace(
                place,
                location=self.location if place.location is None else place.location,
                rotation=self.rotation if place.rotation is None else place.rotation,
            )
            for place in self.keys
        )
        object.__setattr__(self, "keys", keys)
