"""Check Setup: what may go wrong with a body, where, and what can be done about it with one click."""

import bmesh
import bpy
import numpy as np
from bpy.props import StringProperty

from .. import running, sampling, stack
from .starting import Explains

PROBLEMS = {
    "loose": ("{} loose vertices: they follow the surface", "Delete Loose"),
    "flat": ("{} faces without area: they are ignored", "Dissolve Flat"),
    "holes": ("{} open edges: holes are closed inside", "Fill Holes"),
    "branches": ("{} edges with 3 or more faces", ""),
    "flipped": ("{} faces point inwards", "Face Outwards"),
}
"""What may be wrong with a mesh: a sentence with a count, and the name of its remedy if there is one."""

found: dict[str, tuple[dict[str, int], list[str]]] = {}
"""What the last check found, by object name: counts of each problem of the mesh, and sentences about the rest."""


def look_at(context, obj) -> None:
    """Check an object and keep what was found."""
    bm = bmesh.new()
    bm.from_mesh(obj.data)
    counts = {kind: len(elements) for kind, elements in offenders(bm).items() if elements}
    bm.free()
    found[obj.name] = counts, sentences(context, obj)


def offenders(bm) -> dict[str, list]:
    """The elements of a bmesh that have each problem."""
    return {
        "loose": [v for v in bm.verts if not v.link_faces],
        "flat": [f for f in bm.faces if f.calc_area() < 1e-12 * _extent(bm) ** 2],
        "holes": [e for e in bm.edges if len(e.link_faces) == 1],
        "branches": [e for e in bm.edges if len(e.link_faces) > 2],
        "flipped": _flipped(bm),
    }


def _extent(bm):
    return max((v.co.length for v in bm.verts), default=1.0)


def _flipped(bm):
    """Faces that Recalculate Outside would turn."""
    copy = bm.copy()
    bmesh.ops.recalc_face_normals(copy, faces=copy.faces)
    copy.faces.ensure_lookup_table()
    turned = [f for f in bm.faces if f.normal.dot(copy.faces[f.index].normal) < 0.0]
    copy.free()
    return turned


def sentences(context, obj) -> list[str]:
    """What is not about the mesh itself."""
    said, scene = [], context.scene
    after = [m for m in obj.modifiers if m not in stack.leading_modifiers(obj)[:]]
    if any(m.type == "MIRROR" for m in after):
        said.append("Mirror comes after: both halves move alike")
    if not scene.use_gravity and not any(obj.jellycage.velocity):
        said.append("No gravity and no velocity: it will hang still")
    matrix = sampling.world_matrix(obj)
    size = max(obj.dimensions) * sampling.unit(scene)
    if obj.jellycage.units == "REAL" and not 0.01 <= size <= 100.0:
        said.append(f"It is {size:.3g} m large: real units may surprise")
    if abs(np.linalg.det(matrix[:3, :3])) < 1e-12:
        said.append("It is scaled to almost nothing")
    return said


class JELLYCAGE_OT_check_setup(Explains, bpy.types.Operator):
    """Look for what may go wrong with the active object"""

    bl_idname = "jellycage.check_setup"
    bl_label = "Check Setup"

    @staticmethod
    def why_not(context):
        obj = context.active_object
        is_mesh = obj is not None and obj.type == "MESH" and obj.mode == "OBJECT"
        return "" if is_mesh else "Select a mesh object in Object mode"

    def execute(self, context):
        obj = context.active_object
        look_at(context, obj)
        self.report({"INFO"}, "See the list" if any(found[obj.name]) else "Nothing to worry about")
        running.redraw()
        return {"FINISHED"}


class OnProblem(Explains):
    """An operator on one kind of problem."""

    @staticmethod
    def why_not(context):
        obj = context.active_object
        return "" if obj is not None and obj.type == "MESH" else "Select a mesh object"


class JELLYCAGE_OT_select_problem(OnProblem, bpy.types.Operator):
    """Show where: selects the offending vertices, edges or faces in Edit mode"""

    bl_idname = "jellycage.select_problem"
    bl_label = "Select"
    bl_options = {"REGISTER", "UNDO"}

    kind: StringProperty()

    def execute(self, context):
        obj = context.active_object
        mode = {"loose": "VERT", "holes": "EDGE", "branches": "EDGE"}.get(self.kind, "FACE")
        context.tool_settings.mesh_select_mode = [mode == m for m in ("VERT", "EDGE", "FACE")]
        bpy.ops.object.mode_set(mode="EDIT")
        bm = bmesh.from_edit_mesh(obj.data)
        for elements in (bm.verts, bm.edges, bm.faces):
            for element in elements:
                element.select = False
        for element in offenders(bm).get(self.kind, []):
            element.select_set(True)
        bmesh.update_edit_mesh(obj.data)
        return {"FINISHED"}


class JELLYCAGE_OT_fix_problem(OnProblem, bpy.types.Operator):
    """Mend it"""

    bl_idname = "jellycage.fix_problem"
    bl_label = "Fix"
    bl_options = {"REGISTER", "UNDO"}

    kind: StringProperty()

    def execute(self, context):
        obj = context.active_object
        if obj.mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")
        bm = bmesh.new()
        bm.from_mesh(obj.data)
        elements = offenders(bm).get(self.kind, [])
        if self.kind == "loose":
            bmesh.ops.delete(bm, geom=elements, context="VERTS")
        elif self.kind == "flat":
            bmesh.ops.dissolve_degenerate(bm, dist=1e-6 * _extent(bm), edges=bm.edges)
        elif self.kind == "holes":
            bmesh.ops.holes_fill(bm, edges=elements, sides=0)
            bmesh.ops.recalc_face_normals(bm, faces=bm.faces)
        elif self.kind == "flipped":
            bmesh.ops.recalc_face_normals(bm, faces=bm.faces)
        bm.to_mesh(obj.data)
        bm.free()
        obj.data.update()
        look_at(context, obj)
        return {"FINISHED"}


CLASSES = (JELLYCAGE_OT_check_setup, JELLYCAGE_OT_select_problem, JELLYCAGE_OT_fix_problem)
