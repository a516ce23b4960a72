"""What can be done with a bake: free it, export it, turn it into shape keys, delete what is unused."""

import shutil
from pathlib import Path

import bpy
from bpy.props import EnumProperty, StringProperty

from .. import folders, pc2, schema, stack
from .starting import Explains, Starts

FORMATS = {suffix[1:].upper(): suffix for suffix in schema.WRITERS}


def baked_file(obj) -> Path | None:
    """The point cache that an object plays, or None."""
    modifier = stack.result_modifier(obj) if obj is not None and obj.type == "MESH" else None
    return folders.real_path(modifier.filepath) if modifier is not None else None


class OnBaked(Starts):
    """An operator on a baked object."""

    @staticmethod
    def why_not(context):
        path = baked_file(context.active_object)
        if path is None:
            return "Select a baked body"
        return "" if path.exists() else "Its cache is missing: bake again"


class JELLYCAGE_OT_free(Explains, bpy.types.Operator):
    """Take the result off the object. Files stay until Delete Unused, so that this can be undone"""

    bl_idname = "jellycage.free"
    bl_label = "Free Bake"
    bl_options = {"REGISTER", "UNDO"}

    @staticmethod
    def why_not(context):
        return "" if baked_file(context.active_object) is not None else "Select a baked body"

    def execute(self, context):
        stack.detach(context.active_object)
        context.active_object.jellycage.baked_settings = ""
        return {"FINISHED"}


class JELLYCAGE_OT_delete_unused(Explains, bpy.types.Operator):
    """Delete the files of bakes of this .blend that nothing plays"""

    bl_idname = "jellycage.delete_unused"
    bl_label = "Delete Unused"

    def execute(self, context):
        unused = folders.unused_bakes(stack.played_files())
        size = sum(map(folders.size, unused))
        for folder in unused:
            shutil.rmtree(folder, ignore_errors=True)
        self.report({"INFO"}, f"Deleted {len(unused)} bakes, {size / 1e6:.1f} MB")
        return {"FINISHED"}


class JELLYCAGE_OT_export(OnBaked, bpy.types.Operator):
    """Write the bodies of this bake, in the world and in metres, to a file for other programs"""

    bl_idname = "jellycage.export"
    bl_label = "Export Bake"

    format: EnumProperty(
        name="Format",
        items=[
            (name, row["name"], f"{suffix}: {row['sentence']}")
            for (name, suffix), row in zip(FORMATS.items(), schema.WRITERS.values(), strict=True)
        ],
    )
    filepath: StringProperty(subtype="FILE_PATH")

    def invoke(self, context, event):
        blend = Path(bpy.data.filepath or "untitled.blend")
        self.filepath = str(blend.with_suffix(FORMATS[self.format]))
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def execute(self, context):
        if not self.filepath:
            self.report({"ERROR"}, "Say where to: filepath is empty")
            return {"CANCELLED"}
        folder = baked_file(context.active_object).parent
        target, suffix = Path(bpy.path.abspath(self.filepath)), FORMATS[self.format]
        if target.suffix.lower() != suffix:
            target = target.with_name(target.name + suffix)  # "shot.v001" keeps its version
        job = {"task": "export", "cache": "frames", "exports": [{"path": str(target)}]}
        job["partial"] = not (folder / folders.DONE).exists()
        folders.write_json(folder / "export.json", job)

        def work(run):
            facts = yield from run.work_on(folder / "export.json")
            return f"Wrote {Path(facts['output'][0]).name}"

        return self.begin("Export", work)


class JELLYCAGE_OT_to_shape_keys(OnBaked, bpy.types.Operator):
    """Turn the bake into one shape key per frame, for programs that know nothing else"""

    bl_idname = "jellycage.to_shape_keys"
    bl_label = "To Shape Keys"
    bl_options = {"REGISTER", "UNDO"}

    def execute(self, context):
        obj = context.active_object
        modifier, path = stack.result_modifier(obj), baked_file(obj)
        positions = pc2.read_points(path)
        if positions.shape[1] != len(obj.data.vertices):
            self.report({"ERROR"}, "The mesh has changed since the bake: bake again")
            return {"CANCELLED"}
        if len(obj.modifiers) and stack.leading_modifiers(obj):
            self.report({"ERROR"}, "Apply the deforming modifiers first: they would act twice")
            return {"CANCELLED"}
        if obj.data.shape_keys is None:
            obj.shape_key_add(name="Basis", from_mix=False)
        obj.data.shape_keys.use_relative = True
        for key in obj.data.shape_keys.key_blocks[1:]:
            key.mute = True  # it is in the frames already
        first = int(modifier.frame_start)
        for at, points in enumerate(positions):
            frame = first + at
            key = obj.shape_key_add(name=f"Frame {frame}", from_mix=False)
            key.data.foreach_set("co", points.ravel())
            for where, value in ((frame - 1, 0.0), (frame, 1.0), (frame + 1, 0.0)):
                is_end = (at == 0 and where < frame) or (at == len(positions) - 1 and where > frame)
                key.value = value
                if not is_end:
                    key.keyframe_insert("value", frame=where)
        stack.detach(obj)
        obj.jellycage.baked_settings = ""
        return {"FINISHED"}


CLASSES = (
    JELLYCAGE_OT_free,
    JELLYCAGE_OT_delete_unused,
    JELLYCAGE_OT_export,
    JELLYCAGE_OT_to_shape_keys,
)
