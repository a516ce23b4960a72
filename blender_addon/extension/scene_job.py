"""From Blender's scene to a job for the worker: a folder with a scene file, the meshes, and what moves.

    recording = Recording(scene, bodies, folder)
    for frame in recording.frames_to_visit(): scene.frame_set(frame); recording.record(frame)
    recording.write()

The folder's scene.json can be baked by the command line as well, and gives the same frames.
"""

import math
import secrets
from pathlib import Path

import bpy
import mathutils
import numpy as np

from . import folders, pc2, sampling, schema, stack
from .errors import SetupError

PIN, PAINT = "jellycage_pin", "jellycage_paint"


def bodies_of(scene) -> list:
    """The soft bodies of a scene that can be simulated, each with a uid of its own."""
    found = [obj for obj in scene.objects if obj.type == "MESH" and obj.jellycage.role == "BODY"]
    seen = set()
    for obj in found:
        if not obj.jellycage.uid or obj.jellycage.uid in seen:  # a copy has the uid of its original
            obj.jellycage.uid = secrets.token_hex(8)
        seen.add(obj.jellycage.uid)
    return found


def colliders_of(scene) -> list:
    """The objects that bodies bump into."""
    return [obj for obj in scene.objects if obj.jellycage.role == "COLLIDER"]


def check_body(obj) -> None:
    """Raise SetupError if an object cannot be simulated."""
    if obj.mode != "OBJECT":
        raise SetupError(f"{obj.name} is in {obj.mode.replace('_', ' ').title()} mode: press Tab")
    if obj.name not in bpy.context.view_layer.objects or obj.hide_viewport:
        raise SetupError(f"{obj.name} is hidden: show it in the Outliner, or remove its soft body")
    if not obj.data.polygons:
        raise SetupError(f"{obj.name} has no faces: add some, or choose another object")
    stretches = np.linalg.svd(sampling.world_matrix(obj)[:3, :3], compute_uv=False)
    if not stretches[2] > 1e-9 * max(stretches[0], 1e-30):
        raise SetupError(f"{obj.name} is scaled to zero: give it a scale in every direction")
    for name in (obj.jellycage.pin_group, obj.jellycage.paint_group):
        if name and name not in obj.vertex_groups:
            raise SetupError(f"{obj.name} has no vertex group {name}: choose another or make it")


def mesh_arrays(obj, scene) -> dict[str, np.ndarray]:
    """An object's simulated mesh at the current frame: stretched, in metres, within `simulated_part_only`."""
    _, stretch = sampling.rigid_part(sampling.world_matrix(obj))
    points = sampling.simulated_vertices(obj) @ (stretch.T * sampling.unit(scene))
    faces = sampling.topology(obj.data)
    if np.linalg.det(stretch) < 0.0:
        faces = sampling.turned_around(faces)
    return {"vertices": points, **faces}


def cage_settings(body) -> dict:
    """Settings of the cage as `toolkit.build_cage` has them."""
    settings = {
        "resolution": body.resolution,
        "element": body.element.lower(),
        "fit_steps": schema.entry("body.fit_steps")["default"] if body.fit else 0,
    }
    if body.join != "AUTO":
        settings["join"] = body.join == "JOINED"
    return settings


class Recording:
    """What a bake needs to know of Blender's scene, gathered frame by frame."""

    def __init__(self, scene, bodies, folder: Path):
        self.scene, self.folder, self.bodies = scene, folder, bodies
        self.colliders = colliders_of(scene)
        self.frames = scene.jellycage.frame_range(scene)
        self.unit = sampling.unit(scene)
        self.moving = {obj for obj in (*bodies, *self.colliders) if sampling.is_animated(obj)}
        self.meshes, self.matrices, self.targets, self.strengths = {}, {}, {}, {}
        self.before = {}
        names = folders_names(bodies)
        self.names = dict(zip(bodies, names, strict=True))

    def frames_to_visit(self) -> list[int]:
        """The frames at which `record` must be called, in order; one if nothing moves."""
        first, last = self.frames
        frames = [*range(first, last + 1)] if self.moving else [first]
        if any(obj.jellycage.use_own_motion and obj in self.moving for obj in self.bodies):
            frames.insert(0, first - 1)
        return frames

    def record(self, frame: int) -> None:
        """Keep what there is at the scene's current frame."""
        first, _ = self.frames
        for obj in (*self.bodies, *self.colliders):
            if frame < first:
                self.before[obj] = sampling.world_matrix(obj)
            elif frame == first or obj in self.moving:
                self.matrices.setdefault(obj, []).append(sampling.world_matrix(obj))
        if frame < first:
            return
        with stack.simulated_part_only(self.bodies):
            for obj in self.bodies:
                if frame == first:
                    self.meshes[obj] = mesh_arrays(obj, self.scene)
                if obj.jellycage.pin_group:
                    self.strengths.setdefault(obj, []).append(obj.jellycage.pin_strength)
                    if obj in self.moving:
                        self._record_target(obj)

    def _record_target(self, obj):
        points, matrix = sampling.simulated_vertices(obj), self.matrices[obj][-1]
        if len(points) != len(self.meshes[obj]["vertices"]):
            raise SetupError(
                f"{obj.name} changes its number of vertices in time: move the modifier that does "
                "so below, or apply it"
            )
        moved = (points @ matrix[:3, :3].T + matrix[:3, 3]) * self.unit
        self.targets.setdefault(obj, []).append(moved.astype(np.float32))

    def write(self) -> Path:
        """Write the job's folder; returns the path of the job."""
        scene = self.scene
        gravity = [g * self.unit for g in scene.gravity] if scene.use_gravity else [0.0, 0.0, 0.0]
        document = {
            "frames": list(self.frames),
            "fps": scene.render.fps / scene.render.fps_base,
            "quality": scene.jellycage.quality.lower(),
            "gravity": gravity,
            "body": [self._body(obj) for obj in self.bodies],
            "collider": [*self._ground(), *map(self._collider, self.colliders)],
        }
        exports, listed = [], []
        for obj in self.bodies:
            name = self.names[obj]
            to_object = np.linalg.inv(self.matrices[obj]) @ np.diag([1.0 / self.unit] * 3 + [1.0])
            np.save(self.folder / f"{name}_placements.npy", to_object)
            row = {"path": f"{name}.pc2", "body": name, "placements": f"{name}_placements.npy"}
            exports.append(row)
            listed.append({"uid": obj.jellycage.uid, "object": obj.name, "file": f"{name}.pc2"})
        folders.write_json(self.folder / "scene.json", document)
        folders.write_json(
            self.folder / folders.BODIES, {"frames": list(self.frames), "bodies": listed}
        )
        job = {"scene": "scene.json", "cache": "frames", "exports": exports}
        job["keep_going"] = scene.jellycage.keep_going
        folders.write_json(self.folder / folders.JOB, job)
        return self.folder / folders.JOB

    def _body(self, obj):
        body, name = obj.jellycage, self.names[obj]
        arrays = dict(self.meshes[obj])
        row = {
            "name": name,
            "mesh": f"{name}.npz",
            "matrix": self._rigid(self.matrices[obj][0]).tolist(),
            "damping_ratio": body.damping_ratio,
            "friction": body.friction,
            **cage_settings(body),
            "surface": body.surface.lower(),
            **self._start(obj),
        }
        if body.units == "SIZE":
            row |= {"preset": body.preset.lower(), "sag": body.sag}
        else:
            names = ("young_modulus", "poisson_ratio", "density")
            row["material"] = {"law": body.law.lower(), **{n: getattr(body, n) for n in names}}
        if body.paint_group:
            arrays[PAINT] = sampling.weights(obj, body.paint_group)
            row["paint"] = {
                "young_modulus": {
                    "attribute": PAINT,
                    "low": min(body.paint_low, body.paint_high),
                    "high": max(body.paint_low, body.paint_high),
                }
            }
            if body.paint_low > body.paint_high:
                arrays[PAINT] = 1.0 - arrays[PAINT]
        if body.pin_group:
            arrays[PIN] = sampling.weights(obj, body.pin_group)
            if not arrays[PIN].any():
                raise SetupError(
                    f"{obj.name}: no vertex has a weight in the pin group {body.pin_group}: paint some"
                )
            row["pin"] = [self._pin(obj)]
        np.savez(self.folder / f"{name}.npz", **arrays)
        return row

    def _rigid(self, matrix):
        """The rigid part of a transform, (4, 4), in metres."""
        result = np.eye(4)
        result[:3, :3], _ = sampling.rigid_part(matrix)
        result[:3, 3] = matrix[:3, 3] * self.unit
        return result

    def _start(self, obj):
        """Velocity [m/s] and spin [rad/s] at the first frame."""
        body = obj.jellycage
        if body.use_own_motion and obj in self.before:
            fps = self.scene.render.fps / self.scene.render.fps_base
            now, then = self._rigid(self.matrices[obj][0]), self._rigid(self.before[obj])
            centre = self.meshes[obj]["vertices"].mean(axis=0)
            moved = (now - then) @ [*centre, 1.0]
            return {
                "velocity": [float(v * fps) for v in moved[:3]],
                "spin": [float(w * fps) for w in rotation_vector(now[:3, :3] @ then[:3, :3].T)],
            }
        return {
            "velocity": [v * self.unit for v in body.velocity],
            "spin": [2.0 * math.pi * turns for turns in body.spin],
        }

    def _pin(self, obj):
        strengths, first = self.strengths[obj], self.frames[0]
        strength = strengths[0]
        if any(s != strength for s in strengths):
            strength = [{"frame": first + at, "value": s} for at, s in enumerate(strengths)]
        pin = {"attribute": PIN, "strength": strength}
        if obj in self.targets:
            pin["target"] = f"{self.names[obj]}_target.pc2"
            pc2.write_points(self.folder / pin["target"], self.targets[obj], first)
        return pin

    def _ground(self):
        settings = self.scene.jellycage
        if settings.ground == "NONE" or (settings.ground == "AUTO" and self.colliders):
            return []
        height = settings.ground_height
        if settings.ground == "AUTO":
            height = ground_height([self._span(obj) for obj in self.bodies])
        return [
            {
                "kind": "plane",
                "name": "Ground",
                "location": [0.0, 0.0, height * self.unit],
                "friction": settings.ground_friction,
            }
        ]

    def _span(self, obj):
        """(lowest, highest) point of a body at the first frame, in units of the scene."""
        matrix = self._rigid(self.matrices[obj][0])
        z = (self.meshes[obj]["vertices"] @ matrix[2, :3] + matrix[2, 3]) / self.unit
        return float(z.min()), float(z.max())

    def _collider(self, obj):
        shape = obj.jellycage.shape
        centre, size = sampling.bounding_box(obj)
        places = []
        for matrix in self.matrices[obj]:
            turn, stretch = sampling.rigid_part(matrix)
            middle = np.zeros(3) if shape == "PLANE" else centre
            place = matrix[:3, :3] @ middle + matrix[:3, 3]
            places.append((place * self.unit, euler_degrees(turn)))
        size = size * np.linalg.norm(stretch, axis=0) * self.unit
        row = {
            "kind": shape.lower(),
            "friction": obj.jellycage.collider_friction,
            "location": places[0][0].tolist(),
            "rotation": places[0][1].tolist(),
        }
        least = 1e-6 * max(float(size.max()), 1e-6)
        if shape == "BOX":
            row["size"] = np.maximum(size, least).tolist()
        elif shape == "SPHERE":
            row["radius"] = max(float(size.max()) / 2.0, least)
        elif shape in ("CAPSULE", "CYLINDER"):
            row["radius"] = max(float(max(size[0], size[1])) / 2.0, least)
            ends = 2.0 * row["radius"] if shape == "CAPSULE" else 0.0
            row["length"] = max(float(size[2]) - ends, 0.0 if ends else least)
        if len(places) > 1:
            row["keys"] = [
                {"frame": self.frames[0] + at, "location": p.tolist(), "rotation": r.tolist()}
                for at, (p, r) in enumerate(places)
            ]
        return row


def ground_height(spans) -> float:
    """Where an automatic ground lies: at 0, or half a body below the lowest one if one reaches lower."""
    low = min(low for low, _ in spans)
    tall = max(high - low for low, high in spans)
    return 0.0 if low >= -0.01 * tall else low - 0.5 * tall


def folders_names(bodies) -> list[str]:
    """A file name for each body, all different also where case does not count."""
    names = []
    for obj in bodies:
        name, number = folders.safe_name(obj.name), 2
        taken = {other.lower() for other in names}
        unique = name
        while unique.lower() in taken:
            unique, number = f"{name}_{number}", number + 1
        names.append(unique)
    return names


def rotation_vector(turn) -> np.ndarray:
    """Axis times angle [rad] of a rotation matrix by less than half a turn, (3,)."""
    axis = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    sine, cosine = np.linalg.norm(axis) / 2.0, (np.trace(turn) - 1.0) / 2.0
    return axis / 2.0 if sine < 1e-9 else axis / (2.0 * sine) * math.atan2(sine, cosine)


def euler_degrees(turn) -> np.ndarray:
    """XYZ Euler angles of a rotation matrix as Blender has them [degrees], (3,)."""
    return np.degrees(mathutils.Matrix(turn.tolist()).to_euler("XYZ"))
