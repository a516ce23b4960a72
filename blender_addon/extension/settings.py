"""What an artist sets: on objects, and on the scene. Nothing here is about a bake that is running.

What is a key of scene files takes its limits, default and sentence from there, by `schema.of`; what the panel says
otherwise is given to it, with the reason.
"""

import json

import bpy
from bpy.props import (
    BoolProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from .schema import LAWS, PRESETS, QUALITIES, entry, of

START = PRESETS[entry("body.preset")["default"]]
"""The preset of a new body, whose numbers are shown."""
FRAMES = of("frames")
ICE = "0 slides like ice, 1 sticks like rubber"


def _items(known):
    return [
        (name.upper(), name.capitalize(), row["description"].rstrip("."))
        for name, row in known.items()
    ]


def _preset_chosen(body, _context):
    preset = PRESETS[body.preset.lower()]
    body.sag, body.friction = preset["sag"], preset["friction"]
    body.poisson_ratio, body.density = preset["poisson_ratio"], preset["density"]
    body.damping_ratio, body.law = preset["damping_ratio"], preset["law"].upper()


MATERIAL = tuple(
    "units preset sag young_modulus poisson_ratio density friction damping_ratio law".split()
)
"""Names of what a material of the user's own keeps."""

BODY = (
    *"resolution element fit join surface".split(),
    *MATERIAL,
    *"paint_group paint_low paint_high velocity spin use_own_motion pin_group pin_strength".split(),
)
"""Names of what changes the result for a body."""

VECTORS = ("velocity", "spin")
COLLIDER = ("role", "shape", "collider_friction")
SCENE = ("quality", "ground", "ground_height", "ground_friction")


SHAPES = [
    ("PLANE", "Plane", "Endless, through the origin of the object; its +Z side is free"),
    ("BOX", "Box", "The object's bounding box"),
    ("SPHERE", "Sphere", "Around the object's bounding box, by its longest side"),
    ("CAPSULE", "Capsule", "Along the object's Z axis, inside its bounding box"),
    ("CYLINDER", "Cylinder", "Along the object's Z axis, from end to end of its bounding box"),
]


class JellycageObject(bpy.types.PropertyGroup):
    """A soft body or a collider."""

    role: EnumProperty(
        name="Role",
        items=[
            ("NONE", "None", "Jellycage leaves this object alone"),
            ("BODY", "Soft Body", "Simulated"),
            ("COLLIDER", "Collider", "Soft bodies bump into it"),
        ],
    )
    uid: StringProperty(description="Tells bodies apart whatever they are called")

    resolution: IntProperty(
        name="Resolution",
        **of(
            "body.resolution",
            "More cells bend finer and take longer",
            default=QUALITIES["standard"]["resolution"],
        ),
        soft_min=2,
        soft_max=48,
    )
    element: EnumProperty(
        name="Elements",
        items=[
            ("TET", "Tets", "Tetrahedra: fit the shape closely, good for most things"),
            ("HEX", "Hexes", "Cubes: bend best for their number, good for thin and soft things"),
        ],
    )
    fit: BoolProperty(
        name="Fit Closely",
        description="Pull the cage of tetrahedra closer to the surface",
        default=True,
    )
    join: EnumProperty(
        name="Join Parts",
        description=of("body.join")["description"],
        items=[
            ("AUTO", "By Pins", "One body, but parts that pins lead apart get cages of their own"),
            ("JOINED", "Always", "Closed parts that overlap are one body"),
            ("APART", "Never", "Each closed part has a cage of its own; nothing joins them"),
        ],
    )
    surface: EnumProperty(
        name="Surface",
        description="What is shown. Collisions use Exact, whatever is shown",
        items=[
            (
                "BARYCENTRIC",
                "Exact",
                "The surface that collides. Facets show where the cells of the cage meet and bend",
            ),
            (
                "MLS",
                "Smooth (MLS)",
                "Moving least squares: no facets. Leaves the surface that collides, and what it rests on, "
                "by about a tenth of a cell, up to a fifth of one where the cage bends sharply",
            ),
            (
                "GAUSSIAN",
                "Smooth (Gaussian)",
                "Blended cells: no facets. Stays a little closer to the surface that collides than MLS",
            ),
        ],
    )
    show_patches: BoolProperty(
        name="Show Patches",
        description="Build Cage also colours the pieces of the surface that lie in one cell of the cage",
        default=False,
    )
    cage: PointerProperty(
        name="Cage",
        description="The object that shows the cage",
        type=bpy.types.Object,
    )
    element_count: IntProperty()
    is_bounding: BoolProperty()
    cage_note: StringProperty()

    units: EnumProperty(
        name="Units",
        items=[
            ("SIZE", "By Size", "Looks the same at any size"),
            ("REAL", "Real Units", "Stiffness in pascals, as measured"),
        ],
    )
    preset: EnumProperty(
        name="Preset",
        description="What it is made of",
        items=_items(PRESETS),
        update=_preset_chosen,
    )
    sag: FloatProperty(
        name="Sag",
        **of("body.sag", default=START["sag"]),
        soft_min=0.001,
        soft_max=0.2,
        precision=3,
    )
    law: EnumProperty(
        name="Law",
        items=[(name.upper(), row["title"], row["sentence"]) for name, row in LAWS.items()],
    )
    young_modulus: FloatProperty(
        name="Stiffness",
        **of("body.material.young_modulus"),
        precision=0,
    )
    poisson_ratio: FloatProperty(
        name="Poisson Ratio",
        **of("body.material.poisson_ratio", default=START["poisson_ratio"]),
        precision=3,
    )
    density: FloatProperty(
        name="Density",
        **of("body.material.density", default=START["density"]),
        precision=0,
    )
    damping_ratio: FloatProperty(
        name="Damping",
        **of("body.damping_ratio", default=START["damping_ratio"]),
        soft_max=1.0,
        precision=3,
    )
    friction: FloatProperty(
        name="Friction",
        **of("body.friction", ICE, default=START["friction"]),
        soft_max=1.0,
    )
    paint_group: StringProperty(
        name="Paint",
        description="Vertex group: stiffness goes from Softest at weight 0 to Stiffest at weight 1",
    )
    paint_low: FloatProperty(
        name="Softest",
        **of("body.paint.young_modulus.low", default=1e4),
        precision=0,
    )
    paint_high: FloatProperty(
        name="Stiffest",
        **of("body.paint.young_modulus.high", default=1e6),
        precision=0,
    )
    velocity: FloatVectorProperty(
        name="Velocity",
        # In units of the scene, which Blender shows, and not in m/s.
        **of("body.velocity", description="At the first frame, in the world"),
        subtype="VELOCITY",
        unit="VELOCITY",
    )
    spin: FloatVectorProperty(
        name="Spin",
        # Turns, which can be counted on screen, and not rad/s.
        **of(
            "body.spin",
            description="Turns per second about each axis of the world at the first frame",
        ),
        subtype="XYZ",
    )
    use_own_motion: BoolProperty(
        name="From Own Motion",
        description="Start with the velocity and spin that the object has at the first frame",
    )
    pin_group: StringProperty(
        name="Pins",
        description="Vertex group that is held, and follows the object's own animation",
    )
    pin_strength: FloatProperty(
        name="Strength",
        **of("body.pin.strength", "Multiplies the painted weights and can be keyframed"),
    )

    shape: EnumProperty(
        name="Shape",
        items=SHAPES,
        default="BOX",
    )
    collider_friction: FloatProperty(name="Friction", **of("collider.friction", ICE), soft_max=1.0)

    baked_settings: StringProperty(description="What was set when it was baked")


class JellycageScene(bpy.types.PropertyGroup):
    """What holds for all bodies of a scene."""

    quality: EnumProperty(
        name="Quality",
        items=_items(QUALITIES),
        default=entry("quality")["default"].upper(),
        description="How hard to try",
    )
    use_scene_range: BoolProperty(
        name="Scene Range", description="Bake the frames of the scene", default=True
    )
    frame_start: IntProperty(
        name="Start",
        description="First frame to bake: the bodies start as they are there",
        default=FRAMES["default"][0],
        min=FRAMES["min"],
        max=FRAMES["max"],
    )
    frame_end: IntProperty(
        name="End",
        description="Last frame to bake",
        default=FRAMES["default"][1],
        min=FRAMES["min"],
        max=FRAMES["max"],
    )
    keep_going: BoolProperty(
        name="Keep Going",
        description="Bake on when a body is torn apart, crushed or left inside out",
    )
    ground: EnumProperty(
        name="Ground",
        items=[
            (
                "AUTO",
                "Automatic",
                "At height 0, or below the bodies if they reach lower; none if an object is a collider",
            ),
            ("HEIGHT", "At Height", "An endless floor at this height"),
            ("NONE", "None", "Nothing but the colliders"),
        ],
    )
    ground_height: FloatProperty(
        name="Height", description="Of the ground above 0", subtype="DISTANCE", unit="LENGTH"
    )
    ground_friction: FloatProperty(
        name="Friction", **of("collider.friction", "Of the ground"), soft_max=1.0
    )

    def frame_range(self, scene) -> tuple[int, int]:
        """First and last frame to bake."""
        if self.use_scene_range:
            return scene.frame_start, scene.frame_end
        return self.frame_start, max(self.frame_start, self.frame_end)


def values(group, names) -> dict:
    """The named settings as JSON has them."""
    found = {name: getattr(group, name) for name in names}
    return {name: [*value] if name in VECTORS else value for name, value in found.items()}


def fingerprint(scene, obj) -> str:
    """Everything that is set for a body, to notice that something was changed since its bake."""
    colliders = [
        (other.name, values(other.jellycage, COLLIDER))
        for other in scene.objects
        if other.jellycage.role == "COLLIDER"
    ]
    settings = scene.jellycage
    return json.dumps(
        [
            values(obj.jellycage, BODY),
            values(settings, SCENE),
            settings.frame_range(scene),
            [scene.render.fps, scene.render.fps_base, scene.unit_settings.scale_length],
            [*scene.gravity, scene.use_gravity],
            colliders,
            len(obj.data.vertices),
        ]
    )


CLASSES = (JellycageObject, JellycageScene)


def register():
    for each in CLASSES:
        bpy.utils.register_class(each)
    bpy.types.Object.jellycage = PointerProperty(type=JellycageObject)
    bpy.types.Scene.jellycage = PointerProperty(type=JellycageScene)


def unregister():
    del bpy.types.Scene.jellycage
    del bpy.types.Object.jellycage
    for each in reversed(CLASSES):
        bpy.utils.unregister_class(each)
