"""What a scene file says of ragdolls and rigid bodies. This is the format, as in `body_entries`."""

from dataclasses import dataclass
from pathlib import Path

from jellycage.sim.ragdoll.ragdoll import SPINES, RagdollSettings
from jellycage.sim.rigid.body import RigidBody
from jellycage.sim.rigid.world import RigidSettings
from jellycage.sim.scene.entry_kinds import (
    DEGREES,
    FRACTION,
    MESH_UNITS,
    METRES,
    NAME,
    SCALE,
    THREE_ZEROS,
    UNITS_SENTENCE,
    Three,
)
from jellycage.sim.scene.shape_keys import RIGID_BODIES, shape_key, shape_rules
from jellycage.sim.schema.schema import NotTogether, OnlyFor, key
from jellycage.sim.schema.schema_kinds import (
    Choice,
    ExistingFile,
    Flag,
    Kind,
    NewFile,
    Number,
    Vector,
    Whole,
)

MOTION_ENDINGS = (".bvh", ".json")
DAMPING = Number(0.0, 1e6, "1/s")
FRICTION = Number(0.0, 10.0)


class MotionFilesKind(Kind):
    """Where the motion of bones is written: one path or several, read as a tuple of absolute Paths."""

    word = "paths"
    expected = f"a path, or a list of paths, that ends in {' or '.join(MOTION_ENDINGS)}"

    def read(self, value, place):
        given = value if isinstance(value, list | tuple) else [value]
        paths = []
        for text in given:
            if not isinstance(text, str) or not text.lower().endswith(MOTION_ENDINGS):
                raise place.wrong(self.expected, value)
            paths.append(NewFile().read(text, place))
        if len(set(paths)) < len(paths):
            raise place.error("names a file twice", "remove the repeats")
        return tuple(paths)


@dataclass(frozen=True, kw_only=True)
class RagdollEntry:
    """A character that follows its animation up to the last frame of it, and goes limp there."""

    name: str = key(NAME, "Left out: that of the file, made unique.", "", example="walker")
    character: Path = key(
        ExistingFile(".json"), "Bones and animation, see character_file.md.", example="walker.json"
    )
    spine: str = key(
        Choice(SPINES),
        "One curved rod, a joint for each bone, or one ball joint.",
        RagdollSettings.spine,
    )
    strength: float = key(
        FRACTION,
        "Of the muscles that hold its last pose: 0 limp, 1 rigid.",
        RagdollSettings.strength,
    )
    damping: float = key(DAMPING, "Rate at which joints slow down.", RagdollSettings.damping)
    mass: float | None = key(
        Number(0.0, unit="kg", above=True),
        "In all; left out: the character's own, or by its height.",
        None,
        example=75.0,
    )
    friction: float = key(FRICTION, "Coulomb coefficient.", RagdollSettings.friction)
    restitution: float = key(
        FRACTION, "Share of its speed that it bounces back with.", RagdollSettings.restitution
    )
    location: Three = key(METRES, "Moves it with its animation.", THREE_ZEROS)
    rotation: Three = key(
        DEGREES,
        "Turns it with its animation, about the origin: XYZ Euler angles as in Blender.",
        THREE_ZEROS,
    )
    positions: bool = key(
        Flag(),
        "Whether bones of the spine go where it is, at the expense of their lengths.",
        False,
    )
    motion: tuple[Path, ...] = key(
        MotionFilesKind(),
        "Files for the motion of its bones, written after the bake.",
        (),
        example="walker.bvh",
    )


@dataclass(frozen=True, kw_only=True)
class RigidEntry:
    """A body that moves but does not deform."""

    RULES = (
        OnlyFor("mesh", ("mesh",), 'mesh = "crate.obj"'),
        OnlyFor("units", ("mesh",)),
        OnlyFor("scale", ("mesh",)),
        *shape_rules(),
        NotTogether("mass", ("density",), "both say how heavy it is"),
    )

    kind: str = key(
        Choice(RIGID_BODIES),
        "Its shape; of a mesh the convex hull collides.",
        example="box",
    )
    name: str = key(NAME, "Left out: its kind or file, made unique.", "", example="crate")
    mesh: Path | None = key(ExistingFile(), "What is seen of a mesh.", None, example="crate.obj")
    units: str | float = key(MESH_UNITS, UNITS_SENTENCE, "m")
    scale: float | Three = key(SCALE, "Of a mesh, along its axes.", 1.0)
    radius: float | None = shape_key("radius")
    size: Three | None = shape_key("size")
    length: float | None = shape_key("length")
    location: Three = key(METRES, "Where its centre, or the origin of its mesh, is.", THREE_ZEROS)
    rotation: Three = key(DEGREES, "XYZ Euler angles as in Blender: first about x.", THREE_ZEROS)
    velocity: Three = key(
        Vector(Number(unit="m/s")), "Of its centre of mass, at the start.", THREE_ZEROS
    )
    spin: Three = key(
        Vector(Number(unit="rad/s")), "At the start, about the centre of mass.", THREE_ZEROS
    )
    density: float = key(
        Number(0.1, 1e5, "kg/m^3"), "Mass per volume; water has 1000.", RigidBody.density
    )
    mass: float | None = key(
        Number(0.0, unit="kg", above=True), "In place of a density.", None, example=10.0
    )
    friction: float = key(FRICTION, "Coulomb coefficient.", RigidBody.friction)
    restitution: float = key(
        FRACTION, "Share of its speed that it bounces back with.", RigidBody.restitution
    )
    linear_damping: float = key(DAMPING, "Rate at which it loses speed.", RigidBody.linear_damping)
    angular_damping: float = key(DAMPING, "Rate at which it loses spin.", RigidBody.angular_damping)


@dataclass(frozen=True, kw_only=True)
class RigidSolverEntry:
    """How hard the solver of ragdolls and rigid bodies tries."""

    substeps: int | None = key(
        Whole(1, 1000),
        f"Steps per frame; left out: the scene's substeps, or {RigidSettings.substeps}.",
        None,
        example=4,
    )
    iterations: int = key(
        Whole(1, 10000), "Sweeps over joints and contacts per step.", RigidSettings.iterations
    )
    sleep_speed: float = key(
        Number(0.0, unit="m/s"),
        "Bodies slower than this may fall asleep; 0: never.",
        RigidSettings.sleep_speed,
    )
    sleep_time: float = key(Number(0.0, unit="s"), "After so long.", RigidSettings.sleep_time)
