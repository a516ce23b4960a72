"""Add Demo Scene: a bear above a floor, ready to bake."""

from pathlib import Path

import bpy
import numpy as np

from .starting import Explains

BEAR = Path(__file__).resolve().parent.parent / "sample_meshes" / "gummy_bear.obj"


class JELLYCAGE_OT_add_demo(Explains, bpy.types.Operator):
    """Add a gummy bear above a floor: then Build Cage, Bake, and press Space"""

    bl_idname = "jellycage.add_demo"
    bl_label = "Add Demo Scene"
    bl_options = {"REGISTER", "UNDO"}

    @staticmethod
    def why_not(context):
        return "" if context.mode == "OBJECT" else "Leave this mode first: press Tab"

    def execute(self, context):
        for obj in context.selected_objects:
            obj.select_set(False)
        floor = _object(context, "Demo Floor", *_square(2.0))
        floor.jellycage.role, floor.jellycage.shape = "COLLIDER", "PLANE"
        bear = _object(context, "Demo Bear", *_read_obj(BEAR))
        bear.location, bear.rotation_euler = (0.0, 0.0, 0.4), np.radians([-15.0, 0.0, 20.0])
        bear.data.shade_smooth()
        body = bear.jellycage
        body.resolution, body.sag, body.damping_ratio = 10, 0.04, 0.08
        bear.select_set(True)
        context.view_layer.objects.active = bear
        _paint(bear, "Demo Gummy", (0.8, 0.05, 0.04, 1.0), 0.25)
        _paint(floor, "Demo Floor", (0.75, 0.75, 0.72, 1.0), 0.8)
        scene = context.scene
        scene.frame_start, scene.frame_end = 1, 72
        scene.frame_set(1)
        return {"FINISHED"}


def _object(context, name, vertices, faces):
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(vertices, [], faces)
    obj = bpy.data.objects.new(name, mesh)
    context.collection.objects.link(obj)
    return obj


def _square(half):
    corners = [(-half, -half, 0.0), (half, -half, 0.0), (half, half, 0.0), (-half, half, 0.0)]
    return corners, [(0, 1, 2, 3)]


def _read_obj(path):
    """Vertices and faces of an OBJ file that has nothing else of interest."""
    vertices, faces = [], []
    for line in path.read_text(encoding="utf-8").splitlines():
        word, *rest = line.split() or [""]
        if word == "v":
            vertices.append([float(x) for x in rest[:3]])
        elif word == "f":
            faces.append([int(corner.split("/")[0]) - 1 for corner in rest])
    return vertices, faces


def _paint(obj, name, colour, roughness):
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    material.diffuse_color = colour
    shader = next(n for n in material.node_tree.nodes if n.type == "BSDF_PRINCIPLED")
    shader.inputs["Base Color"].default_value = colour
    shader.inputs["Roughness"].default_value = roughness
    obj.data.materials.append(material)


CLASSES = (JELLYCAGE_OT_add_demo,)
