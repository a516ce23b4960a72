"""The sidebar tab: verbs in the order in which they are used, and a line that says what to do next."""

import re
import textwrap

import bpy

from . import estimate, running, settings, stack
from .operators import result, setup

LETTERS = 34  # that fit into a line at the default width
MOST_WARNINGS = 4  # that are shown; all are copied with the log
OLD_SETTINGS = re.compile(r'"seed": \d+, ')
"""What older bakes tell of their settings that had no effect and is gone."""


def said(layout, text: str, icon: str = "NONE") -> None:
    """A sentence in as many lines as it takes."""
    column = layout.column(align=True)
    column.scale_y = 0.8
    for at, line in enumerate(textwrap.wrap(text, LETTERS)):
        column.label(text=line, icon=icon if at == 0 else ("BLANK1" if icon != "NONE" else "NONE"))


def what_next(context) -> tuple[str, str]:
    """(sentence, icon): what to do now."""
    obj = context.active_object
    if running.current is not None:
        return "Stopping" if running.current.is_cancelled else "Working. ESC stops", "TIME"
    if obj is None or obj.type != "MESH" or obj.jellycage.role == "COLLIDER":
        if any(o.jellycage.role == "BODY" for o in context.scene.objects):
            return "Select a soft body, or Bake", "INFO"
        return "Select a mesh object", "INFO"
    if obj.mode != "OBJECT":
        return "Press Tab for Object mode", "INFO"
    if obj.jellycage.role != "BODY":
        return "Press Build Cage", "INFO"
    path = result.baked_file(obj)
    if path is None:
        return "Press Bake", "INFO"
    if not path.exists():
        return "The cache is missing: Bake again", "ERROR"
    if is_outdated(context.scene, obj):
        return "Settings changed since the bake: Bake again", "INFO"
    if path.parent == running.resumable:
        return "Resume, or press Space to play", "INFO"
    return "Press Space to play", "CHECKMARK"


def is_outdated(scene, obj) -> bool:
    """Whether something was set differently since the bake."""
    kept = OLD_SETTINGS.sub("", obj.jellycage.baked_settings)
    return bool(kept) and kept != settings.fingerprint(scene, obj)


def is_body(context) -> bool:
    """Whether the active object is a soft body."""
    obj = context.active_object
    return obj is not None and obj.type == "MESH" and obj.jellycage.role == "BODY"


class Sidebar:
    """Where all panels are."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Jellycage"


class JELLYCAGE_PT_main(Sidebar, bpy.types.Panel):
    """What to do next, and what is being done"""

    bl_idname = "JELLYCAGE_PT_main"
    bl_label = "Jellycage"

    def draw(self, context):
        layout = self.layout
        said(layout, *what_next(context))
        run = running.current
        if run is not None:
            eta = f", {estimate.in_words(run.eta)} left" if run.eta else ""
            layout.progress(factor=run.fraction, text=f"{run.fraction:.0%}{eta}")
            said(layout, run.text)
            layout.operator("jellycage.stop", icon="CANCEL")
        if running.error:
            box = layout.box()
            said(box, running.error, "ERROR")
            box.operator("jellycage.copy_log", icon="COPYDOWN")
        elif running.message:
            said(layout, running.message)
        self.draw_warnings(layout)
        if not context.scene.objects or context.active_object is None:
            layout.operator("jellycage.add_demo", icon="OUTLINER_OB_META")

    def draw_warnings(self, layout):
        if not running.warnings:
            return
        box = layout.box()
        for sentence in running.warnings[:MOST_WARNINGS]:
            said(box, sentence, "INFO")
        more = len(running.warnings) - MOST_WARNINGS
        if more > 0:
            box.label(text=f"{more} more: Copy Log", icon="BLANK1")
            box.operator("jellycage.copy_log", icon="COPYDOWN")


class JELLYCAGE_PT_body(Sidebar, bpy.types.Panel):
    """Build Cage and Check Setup"""

    bl_idname = "JELLYCAGE_PT_body"
    bl_parent_id = "JELLYCAGE_PT_main"
    bl_label = "Body"

    def draw(self, context):
        layout, obj = self.layout, context.active_object
        if obj is None or obj.type != "MESH":
            layout.operator("jellycage.build_cage", icon="MESH_CUBE")
            return
        body = obj.jellycage
        column = layout.column()
        column.use_property_split, column.use_property_decorate = True, False
        column.prop(body, "resolution")
        column.prop(body, "element")
        if body.element == "TET":
            column.prop(body, "fit")
        column.prop(body, "join")
        column.prop(body, "surface")
        column.prop(body, "show_patches")
        row = layout.row(align=True)
        text = "Rebuild Cage" if body.role == "BODY" else "Build Cage"
        row.operator("jellycage.build_cage", text=text, icon="MESH_CUBE")
        if body.role == "BODY":
            row.operator("jellycage.remove_body", text="", icon="X")
        if body.role == "BODY" and body.element_count:
            self.draw_cage(layout, context, obj)
        layout.operator("jellycage.check_setup", icon="VIEWZOOM")
        self.draw_problems(layout, context, obj)

    def draw_cage(self, layout, context, obj):
        body, box = obj.jellycage, layout.box().column(align=True)
        kind = "tets" if body.element == "TET" else "hexes"
        inside = "Surface is inside" if body.is_bounding else "Surface sticks out!"
        box.label(text=inside, icon="CHECKMARK" if body.is_bounding else "ERROR")
        box.label(text=f"{body.element_count:,} {kind}", icon="BLANK1")
        if body.cage is not None:
            box.prop(body.cage, "hide_viewport", text="Hide Cage", toggle=True)
            box.separator(factor=0.5)
        for sentence in body.cage_note.splitlines():
            said(box, sentence, "INFO")

    def draw_problems(self, layout, context, obj):
        if obj.name not in setup.found:
            return
        box = layout.box()
        counts, sentences = setup.found[obj.name]
        if not counts and not sentences:
            box.label(text="Nothing to worry about", icon="CHECKMARK")
        for kind, count in counts.items():
            text, remedy = setup.PROBLEMS[kind]
            said(box, text.format(count), "INFO")
            row = box.row(align=True)
            row.operator("jellycage.select_problem", text="Show").kind = kind
            if remedy:
                row.operator("jellycage.fix_problem", text=remedy).kind = kind
        for sentence in sentences:
            said(box, sentence, "INFO")


class JELLYCAGE_PT_material(Sidebar, bpy.types.Panel):
    """What the body is made of, and how it starts"""

    bl_idname = "JELLYCAGE_PT_material"
    bl_parent_id = "JELLYCAGE_PT_main"
    bl_label = "Material"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context):
        return is_body(context)

    def draw(self, context):
        layout, obj = self.layout, context.active_object
        body = obj.jellycage
        row = layout.row(align=True)
        row.prop(body, "units", expand=True)
        column = layout.column()
        column.use_property_split, column.use_property_decorate = True, False
        if body.units == "SIZE":
            column.prop(body, "preset")
            column.prop(body, "sag")
        else:
            column.prop(body, "law")
            column.prop(body, "young_modulus")
            column.prop(body, "poisson_ratio")
            column.prop(body, "density")
        column.prop(body, "damping_ratio")
        column.prop(body, "friction")
        column.prop_search(body, "paint_group", obj, "vertex_groups")
        if body.paint_group:
            column.prop(body, "paint_low")
            column.prop(body, "paint_high")
        row = layout.row(align=True)
        row.menu("JELLYCAGE_MT_materials", text="Own Materials")
        row.operator("jellycage.save_material", text="", icon="ADD")
        column = layout.column()
        column.use_property_split, column.use_property_decorate = True, False
        column.label(text="Start")
        column.prop(body, "use_own_motion")
        if not body.use_own_motion:
            column.prop(body, "velocity")
            column.prop(body, "spin")


class JELLYCAGE_PT_pins(Sidebar, bpy.types.Panel):
    """What holds the body, and what it bumps into"""

    bl_idname = "JELLYCAGE_PT_pins"
    bl_parent_id = "JELLYCAGE_PT_main"
    bl_label = "Pins and Colliders"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context):
        layout, obj = self.layout, context.active_object
        column = layout.column()
        column.use_property_split, column.use_property_decorate = True, False
        if is_body(context):
            column.prop_search(obj.jellycage, "pin_group", obj, "vertex_groups")
            if obj.jellycage.pin_group:
                column.prop(obj.jellycage, "pin_strength", slider=True)
        elif obj is not None:
            if obj.jellycage.role == "COLLIDER":
                column.prop(obj.jellycage, "shape")
                column.prop(obj.jellycage, "collider_friction")
                layout.operator(
                    "jellycage.set_collider", text="No Collider", icon="X"
                ).shape = "NONE"
            else:
                layout.operator_menu_enum("jellycage.set_collider", "shape", text="Make Collider")
        ground = context.scene.jellycage
        column = layout.column()
        column.use_property_split, column.use_property_decorate = True, False
        column.prop(ground, "ground")
        if ground.ground == "HEIGHT":
            column.prop(ground, "ground_height")
        if ground.ground != "NONE":
            column.prop(ground, "ground_friction")


class JELLYCAGE_PT_bake(Sidebar, bpy.types.Panel):
    """Bake all bodies"""

    bl_idname = "JELLYCAGE_PT_bake"
    bl_parent_id = "JELLYCAGE_PT_main"
    bl_label = "Bake"

    def draw(self, context):
        layout, scene = self.layout, context.scene
        ours = scene.jellycage
        column = layout.column()
        column.use_property_split, column.use_property_decorate = True, False
        column.prop(ours, "quality")
        column.prop(ours, "use_scene_range")
        if not ours.use_scene_range:
            column.prop(ours, "frame_start")
            column.prop(ours, "frame_end")
        column.prop(ours, "keep_going")
        bodies = [o for o in scene.objects if o.type == "MESH" and o.jellycage.role == "BODY"]
        if bodies:
            seconds, size = estimate.bake(scene, bodies)
            count = f"{len(bodies)} bodies" if len(bodies) > 1 else "1 body"
            layout.label(
                text=f"{count}, ~{estimate.in_words(seconds)}, {estimate.size_in_words(size)}"
            )
        layout.operator("jellycage.bake", icon="PHYSICS")
        if running.current is None and running.can_resume(scene):
            layout.operator("jellycage.resume", icon="PLAY")


class JELLYCAGE_PT_result(Sidebar, bpy.types.Panel):
    """What to do with a bake"""

    bl_idname = "JELLYCAGE_PT_result"
    bl_parent_id = "JELLYCAGE_PT_main"
    bl_label = "Result"

    @classmethod
    def poll(cls, context):
        obj = context.active_object
        return is_body(context) and stack.result_modifier(obj) is not None

    def draw(self, context):
        layout, obj = self.layout, context.active_object
        modifier = stack.result_modifier(obj)
        row = layout.row(align=True)
        row.prop(modifier, "show_viewport", text="Show")
        row.operator("jellycage.free")
        layout.operator_menu_enum("jellycage.export", "format", text="Export")
        layout.operator("jellycage.to_shape_keys")
        layout.operator("jellycage.delete_unused", icon="TRASH")


CLASSES = (
    JELLYCAGE_PT_main,
    JELLYCAGE_PT_body,
    JELLYCAGE_PT_material,
    JELLYCAGE_PT_pins,
    JELLYCAGE_PT_bake,
    JELLYCAGE_PT_result,
)
