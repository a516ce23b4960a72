"""Materials of the user's own: kept as small files in the user's folder, offered in a menu."""

import bpy
from bpy.props import StringProperty

from .. import folders, settings
from .starting import Explains


def own_materials() -> list[str]:
    """Names of the saved materials."""
    return sorted(path.stem for path in folders.user_folder("materials").glob("*.json"))


def _path(name):
    return folders.user_folder("materials") / f"{folders.safe_name(name)}.json"


class OnBody(Explains):
    """An operator on the material of a body."""

    @staticmethod
    def why_not(context):
        obj = context.active_object
        return "" if obj is not None and obj.jellycage.role == "BODY" else "Select a soft body"


class JELLYCAGE_OT_save_material(OnBody, bpy.types.Operator):
    """Keep this material under a name of your own"""

    bl_idname = "jellycage.save_material"
    bl_label = "Save Material"

    name: StringProperty(name="Name", default="My Jelly")

    def invoke(self, context, event):
        return context.window_manager.invoke_props_dialog(self)

    def execute(self, context):
        if not self.name.strip():
            self.report({"ERROR"}, "Give it a name")
            return {"CANCELLED"}
        kept = settings.values(context.active_object.jellycage, settings.MATERIAL)
        folders.write_json(_path(self.name), kept)
        return {"FINISHED"}


class JELLYCAGE_OT_load_material(OnBody, bpy.types.Operator):
    """Use this material"""

    bl_idname = "jellycage.load_material"
    bl_label = "Load Material"
    bl_options = {"REGISTER", "UNDO"}

    name: StringProperty(name="Name")

    def execute(self, context):
        kept = folders.read_json(_path(self.name))
        if not isinstance(kept, dict):
            self.report({"ERROR"}, f"The material {self.name} cannot be read: save it again")
            return {"CANCELLED"}
        body = context.active_object.jellycage
        # The preset first: choosing it sets others.
        for name in sorted(kept, key=lambda name: name != "preset"):
            if name in settings.MATERIAL:
                try:
                    setattr(body, name, kept[name])
                except TypeError:
                    self.report({"WARNING"}, f"{name}: {kept[name]} is not known here")
        return {"FINISHED"}


class JELLYCAGE_OT_delete_material(bpy.types.Operator):
    """Forget this material"""

    bl_idname = "jellycage.delete_material"
    bl_label = "Delete Material"

    name: StringProperty(name="Name")

    def execute(self, context):
        _path(self.name).unlink(missing_ok=True)
        return {"FINISHED"}


class JELLYCAGE_MT_materials(bpy.types.Menu):
    """Materials of your own"""

    bl_idname = "JELLYCAGE_MT_materials"
    bl_label = "Own Materials"

    def draw(self, context):
        names = own_materials()
        for name in names:
            row = self.layout.row(align=True)
            row.operator("jellycage.load_material", text=name).name = name
            row.operator("jellycage.delete_material", text="", icon="X").name = name
        if not names:
            self.layout.label(text="None saved yet")


CLASSES = (
    JELLYCAGE_OT_save_material,
    JELLYCAGE_OT_load_material,
    JELLYCAGE_OT_delete_material,
    JELLYCAGE_MT_materials,
)
