"""What a scene file is made of: bodies, pins, loads, colliders. This is the format.

Each field is one key with what it allows, a sentence and a default; `schema` reads documents by them, and the page
docs/scene_file.md is made of them.
"""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.sim.materials import LAWS, NeoHookean
from jellycage.sim.rotations import ROTATIONS
from jellycage.sim.scene.shape_keys import COLLIDERS, shape_key, shape_rules
from jellycage.sim.schema.schema import ExactlyOne, NotTogether, OnlyFor, Together, key
from jellycage.sim.schema.schema_kinds import (
    LAST_FRAME,
    Always,
    Choice,
    Either,
    ExistingFile,
    Flag,
    Keys,
    Kind,
    NewFile,
    Number,
    Table,
    Tables,
    Text,
    Vector,
    Whole,
)
from jellycage.sim.soft.elasticity import DIFFERENTIALS
from jellycage.sim.soft.presets import PRESETS
from jellycage.sim.solvers.settings import SolverSettings
from jellycage.toolkit.embedding.smooth_embedding import METHODS

SURFACES = ("barycentric", *METHODS)
ONE_SHOT_LOADS = ("impulse", "velocity", "position")
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


@dataclass(frozen=True, kw_only=True)
class SolverEntry:
    """How hard the solver tries."""

    newton_iterations: int | None = key(
        Whole(1, 1000), "Most Newton steps per time step; left out: by quality.", None, example=2
    )
    newton_tolerance: float = key(
        Number(0.0, 1.0, below=True),
        "Newton's method stops when the residual has fallen to this fraction of what it was.",
        SolverSettings.newton_tolerance,
    )
    linear_iterations: int = key(
        Whole(1, 100000),
        "Most conjugate-gradient iterations per Newton step.",
        SolverSettings.linear_iterations,
    )
    linear_tolerance: float = key(
        Number(0.0, 1.0, below=True),
        "They stop when the residual has fallen to this fraction of what it was.",
        SolverSettings.linear_tolerance,
    )
    stiffness: str = key(
        Choice(DIFFERENTIALS),
        "Stress differential of co-rotated bodies; projected is the exact and slow one.",
        SolverSettings.stiffness,
    )
    precision: float = key(
        Number(0.0, 1.0, below=True),
        "Displacements below this fraction of a body's size are not worth an iteration.",
        SolverSettings.precision,
    )


@dataclass(frozen=True, kw_only=True)
class OutputEntry:
    """What is written and how. Nothing here changes the simulation."""

    path: Path | None = key(
        NewFile(),
        "File or folder to write; left out: given to the command.",
        None,
        example="shot.abc",
    )
    up_axis: str | None = key(
        Choice(("Y", "Z")),
        "Axis that points up in the files; left out: Y in Alembic, Z in the others.",
        None,
        example="Y",
    )
    scale: float = key(Number(0.0, above=True), "Units of the files per metre.", 1.0)
    velocities: bool = key(Flag(), "Whether to write velocities, for motion blur.", False)


@dataclass(frozen=True, kw_only=True)
class MaterialEntry:
    """A material in real units, the same at every size."""

    law: str = key(
        Choice(tuple(law.name for law in LAWS)),
        "; ".join(f"{law.name}: {law.sentence}" for law in LAWS) + ".",
        NeoHookean.name,
    )
    young_modulus: float = key(
        Number(1.0, 1e12, "Pa"), "Stiffness: 5e3 gelatin, 1e5 soft rubber, 1e7 hard rubber.", 1e5
    )
    poisson_ratio: float = key(
        Number(0.0, 0.499), "Sideways contraction: 0 like cork, 0.49 like rubber.", 0.45
    )
    density: float = key(Number(0.1, 1e5, "kg/m^3"), "Mass per volume; water has 1000.", 1000.0)


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


class AttributesNeedAMeshWithThem:
    """Of the mesh files that are read only PLY and NPZ carry vertex attributes, and assets carry none."""

    sentence = "attribute, in paint, pins and loads, needs a mesh in a .ply or .npz file."

    def check(self, values, place):
        if "mesh" in values and values["mesh"].suffix.lower() in (".ply", ".npz"):
            return
        paint = values.get("paint", PaintEntry())
        rows = {place.key("paint").key(name): row for name, row in vars(paint).items()}
        for name in ("pin", "load"):
            rows |= {place.key(name).item(at): row for at, row in enumerate(values.get(name, ()))}
        for where, row in rows.items():
            if row is not None and row.attribute is not None:
                raise where.key("attribute").error(
                    "only a .ply or .npz mesh has vertex attributes",
                    "export the mesh as PLY, or use file and array",
                )


@dataclass(frozen=True, kw_only=True)
class BodyEntry:
    """A soft body."""

    RULES = (
        ExactlyOne(("mesh", "asset"), 'mesh = "bear.obj"'),
        NotTogether(
            "asset",
            ("resolution", "cell_size", "element", "fit_steps", "split"),
            "an asset has its cage already",
        ),
        NotTogether("cell_size", ("resolution",), "both give the size of the cells"),
        NotTogether("matrix", ("location", "rotation", "scale"), "the matrix holds all three"),
        NotTogether("material", ("preset", "sag"), "a material has its own stiffness"),
        NotTogether("damping_ratio", ("stiffness_damping",), "both slow deformation"),
        AttributesNeedAMeshWithThem(),
    )

    name: str = key(NAME, "Left out: that of the file, made unique.", "", example="bear")
    mesh: Path | None = key(ExistingFile(), "Surface to put into a cage.", None, example="bear.obj")
    asset: Path | None = key(
        ExistingFile(".npz"), "Cage and surface made before.", None, example="bear.npz"
    )
    location: Three = key(METRES, "Where its origin is.", THREE_ZEROS)
    rotation: Three = key(DEGREES, "XYZ Euler angles as in Blender: first about x.", THREE_ZEROS)
    scale: float | Three = key(SCALE, "Along its axes.", 1.0)
    matrix: tuple[tuple[float, ...], ...] | None = key(
        MatrixKind(),
        "The transform in rows, in place of location, rotation and scale.",
        None,
        example=((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)),
    )
    velocity: Three = key(Vector(Number(unit="m/s")), "At the start.", THREE_ZEROS)
    spin: Three = key(
        Vector(Number(unit="rad/s")), "At the start, about the centre of mass.", THREE_ZEROS
    )
    preset: str | None = key(Choice(tuple(PRESETS)), "What it is made of, at any size.", "jelly")
    sag: float | None = key(
        Number(1e-4, 0.5),
        "Fraction of its height lost to its own weight; left out: the preset's.",
        None,
        example=0.05,
    )
    material: MaterialEntry | None = key(
        Table(MaterialEntry), "What it is made of in real units, in place of a preset.", None
    )
    paint: PaintEntry = key(Table(PaintEntry), "Stiffness and density by vertex.", PaintEntry())
    stiffness_damping: float | None = key(
        Number(0.0, 1e3, "s"),
        "Rayleigh beta, slows deformation; left out: the preset's, 0 with a material.",
        None,
        example=0.01,
    )
    damping_ratio: float | None = key(
        Number(0.0, 100.0),
        "Of the first mode along the height: 0 rings on, 1 returns without swinging; "
        "left out: the preset's, 0 with a material.",
        None,
        example=0.1,
    )
    mass_damping: float = key(Number(0.0, 1e6, "1/s"), "Rayleigh alpha, slows every motion.", 0.0)
    air_drag: float = key(
        Number(0.0, 1e6, "kg/m^3"), "Drag coefficient times density of the air, about 0.6.", 0.0
    )
    friction: float | None = key(
        Number(0.0, 10.0),
        f"Coulomb coefficient; left out: the preset's, {PLAIN_FRICTION:g} with a material.",
        None,
        example=0.5,
    )
    restitution: float | None = key(
        FRACTION,
        "Share of its speed that it leaves a collider with, on top of its own bounce; "
        f"left out: the preset's, {PLAIN_RESTITUTION:g} with a material.",
        None,
        example=0.2,
    )
    resolution: int | None = key(
        Whole(1, 512), "Cells across the longest side; left out: by quality.", None, example=16
    )
    cell_size: float | None = key(
        Number(0.0, unit="m", above=True),
        "Side of a cell, in place of resolution.",
        None,
        example=0.05,
    )
    element: str = key(Choice(("tet", "hex")), "Tets fit the shape, hexes are regular.", "tet")
    fit_steps: int = key(Whole(0, 1000), "Passes that pull tets closer to the surface.", 10)
    split: bool = key(Flag(), "Whether parts that share a cell move separately.", True)
    quadrature: int = key(Choice((1, 8)), "Quadrature points of a hex; tets have one.", 1)
    rotation_method: str = key(
        Choice(tuple(ROTATIONS)),
        "How corotated elements find their rotation: dapd also brings inverted ones back.",
        "dapd",
    )
    surface: str = key(
        Choice(SURFACES),
        "What is written to files: barycentric is the surface that collides, with facets where elements meet; "
        "mls and gaussian are smooth, but leave it by a part of a cell, which a bake reports.",
        "barycentric",
    )
    pins: tuple[PinEntry, ...] = key(Tables(PinEntry), "What is held or led.", (), name="pin")
    loads: tuple[LoadEntry, ...] = key(Tables(LoadEntry), "What is done to it.", (), name="load")

    def __post_init__(self):
        put = object.__setattr__
        if self.material is not None:
            put(self, "preset", None)
        preset = PRESETS.get(self.preset)
        if self.friction is None:
            put(self, "friction", preset.friction if preset else PLAIN_FRICTION)
        if self.restitution is None:
            put(self, "restitution", preset.restitution if preset else PLAIN_RESTITUTION)
        if self.damping_ratio is None and self.stiffness_damping is None:
            put(self, "damping_ratio", preset.damping_ratio if preset else 0.0)

    @property
    def transform(self) -> NDArray[np.float64]:
        """From the body's own space to the world, shape (4, 4), applied to columns."""
        if self.matrix is not None:
            return np.array(self.matrix)
        result = np.eye(4)
        result[:3, :3] = euler_matrix(self.rotation) * self.scale
        result[:3, 3] = self.location
        return result


@dataclass(frozen=True, kw_only=True)
class ColliderEntry:
    """Something hard that bodies bump into, still or moving."""

    RULES = (
        OnlyFor("normal", ("plane",)),
        *shape_rules(),
        OnlyFor("mesh", ("mesh",), 'mesh = "stairs.obj"'),
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
        "Share of its speed that a body leaves with, on top of its own bounce.",
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


def euler_matrix(degrees: ArrayLike) -> NDArray[np.float64]:
    """Rotation by XYZ Euler angles [degrees] as in Blender, about the fixed x, then y, then z, shape (3, 3)."""
    (cx, cy, cz), (sx, sy, sz) = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    x = np.array([[1.0, 0.0, 0.0], [0.0, cx, -sx], [0.0, sx, cx]])
    y = np.array([[cy, 0.0, sy], [0.0, 1.0, 0.0], [-sy, 0.0, cy]])
    z = np.array([[cz, -sz, 0.0], [sz, cz, 0.0], [0.0, 0.0, 1.0]])
    return z @ y @ x
