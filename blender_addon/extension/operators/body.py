"""Build Cage, and what goes with being a soft body or a collider."""

import shutil

import bpy
import numpy as np
from bpy.props import EnumProperty

from .. import folders, sampling, scene_job, settings, stack
from ..errors import SetupError, for_artists
from .starting import Explains, Starts, push_undo

COLLECTION = "Jellycage Cages"
PATCH_COLOURS = [
    (0.80, 0.15, 0.12),
    (0.15, 0.45, 0.80),
    (0.90, 0.65, 0.10),
    (0.20, 0.60, 0.25),
    (0.55, 0.25, 0.70),
    (0.10, 0.65, 0.65),
    (0.90, 0.40, 0.55),
]
TET_EDGES = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
HEX_EDGES = [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4)]
HEX_EDGES += [(0, 4), (1, 5), (2, 6), (3, 7)]


class JELLYCAGE_OT_build_cage(Starts, bpy.types.Operator):
    """Make the active mesh a soft body: put it into a cage that is simulated in its place"""

    bl_idname = "jellycage.build_cage"
    bl_label = "Build Cage"
    bl_options = {"REGISTER"}

    @staticmethod
    def why_not(context):
        obj = context.active_object
        if obj is None or obj.type != "MESH":
            return "Select a mesh object"
        if obj.library is not None:
            return "The object is linked: make it local first (Object > Relations > Make Local)"
        return "" if obj.mode == "OBJECT" else "Leave this mode first: press Tab"

    def execute(self, context):
        obj, scene = context.active_object, context.scene
        return self.begin("Build Cage", lambda run: build(run, scene, obj))


def build(run, scene, obj):
    """The steps of building a cage."""
    scene_job.check_body(obj)
    body, name = obj.jellycage, obj.name
    folder = folders.new_scratch_folder("cage")
    with stack.simulated_part_only([obj]):
        arrays = scene_job.mesh_arrays(obj, scene)
        matrix = sampling.world_matrix(obj)
    np.savez(folder / "mesh.npz", **arrays)
    job = {"task": "cage", "mesh": "mesh.npz", "asset": "cage.npz"}
    job["settings"] = scene_job.cage_settings(body)
    if body.show_patches:
        job["patches"] = "patches.npz"
    folders.write_json(folder / "job.json", job)
    try:
        facts = yield from run.work_on(folder / "job.json")
        obj = bpy.data.objects.get(name)
        if obj is None:
            raise SetupError(f"{name} was removed meanwhile: nothing was changed")
        with np.load(folder / "cage.npz") as asset:
            nodes = asset["cage_nodes"] / sampling.unit(scene)
            elements = asset["cage_tets" if "cage_tets" in asset else "cage_hexes"]
        _, stretch = sampling.rigid_part(matrix)
        to_object = np.linalg.inv(stretch).T
        show(scene, obj, cage_mesh(obj, nodes @ to_object, elements))
        if (folder / "patches.npz").exists():
            with np.load(folder / "patches.npz") as cut:
                vertices = cut["vertices"] / sampling.unit(scene) @ to_object
                colour_patches(obj.jellycage.cage, vertices, cut["faces"], cut["patch"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    body = obj.jellycage
    body.role = "BODY"
    body.element_count = facts["elements"]
    body.is_bounding = facts["bounding"]
    body.cage_note = "\n".join(for_artists(sentence) for sentence in facts["warnings"])
    scene_job.bodies_of(scene)
    push_undo("Build Cage")
    return "Cage built"


def cage_mesh(obj, nodes, elements):
    """The wire of a cage as a mesh."""
    pairs = TET_EDGES if elements.shape[1] == 4 else HEX_EDGES
    edges = np.unique(np.sort(elements[:, pairs].reshape(-1, 2), axis=1), axis=0)
    mesh = bpy.data.meshes.new(f"{obj.name} Cage")
    mesh.from_pydata(nodes.tolist(), edges.tolist(), [])
    return mesh


def show(scene, obj, mesh) -> None:
    """Make or change the object that shows the cage, parented to the body."""
    cage = obj.jellycage.cage
    if cage is not None and sum(o.jellycage.cage == cage for o in bpy.data.objects) > 1:
        cage = None  # a copy of the body came with the cage of its original
    if cage is None or cage.name not in scene.objects:
        cage = bpy.data.objects.new(f"{obj.name} Cage", mesh)
        collection(scene).objects.link(cage)
        obj.jellycage.cage = cage
    else:
        old, cage.data = cage.data, mesh
        bpy.data.meshes.remove(old)
    cage.parent, cage.matrix_parent_inverse = obj, cage.matrix_parent_inverse.Identity(4)
    cage.display_type, cage.hide_render, cage.hide_select = "WIRE", True, True
    cage.hide_viewport, cage.show_in_front = False, False


def colour_patches(cage, vertices, faces, patch) -> None:
    """Let the object that shows the cage show the patches instead, in front of the body, which they coincide with."""
    mesh = cage.data
    mesh.clear_geometry()
    mesh.from_pydata(vertices.tolist(), [], faces.tolist())
    for number in range(len(PATCH_COLOURS)):
        mesh.materials.append(patch_material(number))
    # Patches that meet rarely have numbers next to each other.
    mesh.polygons.foreach_set("material_index", (patch % len(PATCH_COLOURS)).astype(np.int32))
    mesh.update()
    cage.display_type, cage.show_in_front = "TEXTURED", True


def patch_material(number):
    """A material whose colour is that of a solid view; one for all bodies."""
    name = f"Jellycage Patch {number + 1}"
    material = bpy.data.materials.get(name) or bpy.data.materials.new(name)
    material.diffuse_color = (*PATCH_COLOURS[number], 1.0)
    return material


def collection(scene):
    """The collection that cages are shown in."""
    found = scene.collection.children.get(COLLECTION)
    if found is None:
        found = bpy.data.collections.get(COLLECTION) or bpy.data.collections.new(COLLECTION)
        scene.collection.children.link(found)
    return found


class JELLYCAGE_OT_remove_body(Explains, bpy.types.Operator):
    """Make it an ordinary object again; a bake on it is freed"""

    bl_idname = "jellycage.remove_body"
    bl_label = "Remove Soft Body"
    bl_options = {"REGISTER", "UNDO"}

    @staticmethod
    def why_not(context):
        obj = context.active_object
        return "" if obj is not None and obj.jellycage.role == "BODY" else "Select a soft body"

    def execute(self, context):
        obj = context.active_object
        stack.detach(obj)
        cage = obj.jellycage.cage
        if cage is not None:
            data = cage.data
            bpy.data.objects.remove(cage)
            bpy.data.meshes.remove(data)
        obj.jellycage.role, obj.jellycage.element_count = "NONE", 0
        obj.jellycage.baked_settings = ""
        return {"FINISHED"}


class JELLYCAGE_OT_set_collider(Explains, bpy.types.Operator):
    """Let soft bodies bump into the selected objects"""

    bl_idname = "jellycage.set_collider"
    bl_label = "Make Collider"
    bl_options = {"REGISTER", "UNDO"}

    shape: EnumProperty(
        name="Shape",
        items=[*settings.SHAPES, ("NONE", "No Collider", "Not a collider any more")],
        default="BOX",
    )

    @staticmethod
    def why_not(context):
        is_any = any(obj.jellycage.role != "BODY" for obj in context.selected_objects)
        return "" if is_any else "Select objects that are not soft bodies"

    def execute(self, context):
        for obj in context.selected_objects:
            if obj.jellycage.role != "BODY":
                obj.jellycage.role = "NONE" if self.shape == "NONE" else "COLLIDER"
                if self.shape != "NONE":
                    obj.jellycage.shape = self.shape
        return {"FINISHED"}


CLASSES = (JELLYCAGE_OT_build_cage, JELLYCAGE_OT_remove_body, JELLYCAGE_OT_set_collider)
