"""What a scene file says of soft bodies. This is the format.

Each field is one key with what it allows, a sentence and a default; `schema` reads documents by them, and the page
docs/scene_file.md is made of them.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.materials import LAWS, NeoHookean
from jellycage.sim.rotations import ROTATIONS
from jellycage.sim.scene.entry_kinds import (
    DEGREES,
    FRACTION,
    MESH_UNITS,
    METRES,
    NAME,
    PLAIN_FRICTION,
    PLAIN_RESTITUTION,
    SCALE,
    THREE_ZEROS,
    UNITS_SENTENCE,
    MatrixKind,
    Three,
    euler_matrix,
)
from jellycage.sim.scene.point_entries import LoadEntry, PaintEntry, PinEntry
from jellycage.sim.schema.schema import ExactlyOne, NotTogether, key
from jellycage.sim.schema.schema_kinds import (
    Choice,
    ExistingFile,
    Flag,
    Number,
    Table,
    Tables,
    Vector,
    Whole,
    Words,
)
from jellycage.sim.soft.presets import PRESETS
from jellycage.toolkit.embedding.smooth_embedding import METHODS

SURFACES = ("barycentric", *METHODS)


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
            ("resolution", "cell_size", "element", "fit_steps", "split", "join"),
            "an asset has its cage already",
        ),
        NotTogether("asset", ("units",), "an asset is in metres"),
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
    units: str | float = key(MESH_UNITS, UNITS_SENTENCE, "m")
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
        "Least share of the approach speed that it leaves a collider with; its own elasticity may give more; "
        f"left out: the preset's, {PLAIN_RESTITUTION:g} with a material.",
        None,
        example=0.2,
    )
    group: str | None = key(
        NAME, "A name that it shares with others, for passes_through.", None, example="crowd"
    )
    passes_through: tuple[str, ...] = key(
        Words(NAME),
        "Soft bodies and groups that it does not collide with, nor they with it; its own group may be one of them.",
        (),
        example=("curtain",),
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
    join: bool | None = key(
        Flag(),
        "Whether closed parts that overlap are one body; false: each has a cage of its own, and nothing joins them; "
        "left out: one body, but for parts that pins lead further apart than its cage can follow.",
        None,
        example=False,
    )
    coarsening: bool = key(
        Flag(),
        "Whether the tets of a cube are one element that bends as the solid in it; false: each on its own, too stiff.",
        True,
    )
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
