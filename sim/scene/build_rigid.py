"""From the entries of a scene file to what is simulated of ragdolls and rigid bodies."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from jellycage.sim.errors import SceneError, SettingsError
from jellycage.sim.export.frames import export_mesh
from jellycage.sim.maths import quaternions
from jellycage.sim.ragdoll.character import Character
from jellycage.sim.ragdoll.character_file import read_character
from jellycage.sim.ragdoll.ragdoll import RagdollSettings, build_ragdoll
from jellycage.sim.rigid.body import RigidBody
from jellycage.sim.scene.collider_entries import ColliderEntry
from jellycage.sim.scene.entry_kinds import euler_matrix, metres_per_unit
from jellycage.sim.scene.rigid_entries import RagdollEntry, RigidEntry
from jellycage.sim.scene.scene_file import SceneFile
from jellycage.sim.scene.surfaces import (
    CarriedSurface,
    RagdollSurface,
    body_surface,
    ragdoll_surface,
)
from jellycage.sim.shapes import SHAPES, Shape
from jellycage.sim.shapes.static_mesh import StaticMesh
from jellycage.toolkit.arrays import frozen
from jellycage.toolkit.mesh.mesh_io import read_mesh
from jellycage.toolkit.mesh.sizes import size_notes

APART = "soft bodies and rigid ones, ragdolls included, do not feel each other"


@dataclass(eq=False)
class RigidThings:
    """Ragdolls, rigid bodies and meshes of a scene, how they are seen, and what a user should know about them."""

    dolls: list[RagdollSurface] = field(default_factory=list)
    bodies: list[RigidBody] = field(default_factory=list)
    surfaces: list[CarriedSurface] = field(default_factory=list)
    """Of each body."""
    meshes: list[StaticMesh] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def build_rigid(scene: SceneFile) -> RigidThings:
    """Read what is rigid in a scene file; colliders that are meshes are only there for rigid things."""
    built = RigidThings()
    walls = [entry for entry in scene.colliders if entry.kind == "mesh"]
    if walls and scene.bodies:
        names = ", ".join(entry.name for entry in walls)
        built.notes.append(f"{names}: soft bodies pass through colliders that are meshes")
    if not (scene.ragdolls or scene.rigids):
        return built
    if scene.bodies:
        built.notes.append(APART)
    for entry in scene.ragdolls:
        with _naming(entry.name):
            doll, said = _doll(scene, entry)
        built.dolls.append(doll)
        built.notes += [f"{entry.name}: {sentence}" for sentence in said]
    for entry in scene.rigids:
        with _naming(entry.name):
            body, surface, said = _body(entry)
        built.bodies.append(body)
        built.surfaces.append(surface)
        built.notes += [f"{entry.name}: {sentence}" for sentence in said]
    for entry in walls:
        with _naming(entry.name):
            built.meshes.append(_static_mesh(entry))
    return built


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Errors inside begin with the name of what they are about."""
    try:
        yield
    except (SettingsError, SceneError) as error:
        raise type(error)(f"{name}: {error}") from None


def _doll(scene: SceneFile, entry: RagdollEntry) -> tuple[RagdollSurface, list[str]]:
    """(ragdoll as it is seen, notes)."""
    character = read_character(entry.character)
    if character.fps != scene.fps:
        raise SceneError(
            f"its animation has {character.fps:g} frames per second and the scene {scene.fps:g}; "
            "give both the same"
        )
    transition = int(character.frames[-1])
    if transition < scene.frames[0]:
        raise SceneError(
            f"its animation ends at frame {transition}, before the first of the scene, "
            f"{scene.frames[0]}; begin the scene at {transition} or earlier"
        )
    turn, shift = euler_matrix(entry.rotation), np.array(entry.location)
    settings = RagdollSettings(
        spine=entry.spine,
        strength=entry.strength,
        damping=entry.damping,
        mass=entry.mass,
        friction=entry.friction,
        restitution=entry.restitution,
    )
    ragdoll = build_ragdoll(_placed(character, turn, shift), settings)
    notes = list(ragdoll.notes)
    if transition > scene.frames[1]:
        notes.append(f"goes limp at frame {transition}, after the last of the scene")
    surface = ragdoll_surface(
        entry.name, ragdoll, uses_positions=entry.positions, turn=turn, shift=shift
    )
    return surface, notes


def _placed(character: Character, turn, shift) -> Character:
    """A character whose animation is turned (3, 3) about the origin and then shifted (3,) [m]."""
    if np.array_equal(turn, np.eye(3)) and not shift.any():
        return character  # to the last bit
    return replace(
        character,
        location=character.location @ turn.T + shift,
        rotation=quaternions.product(quaternions.of_matrices(turn), character.rotation),
    )


def _body(entry: RigidEntry) -> tuple[RigidBody, CarriedSurface, list[str]]:
    """(body, what is seen of it, notes)."""
    mesh = None
    if entry.mesh is not None:
        mesh = read_mesh(entry.mesh, scale=metres_per_unit(entry.units))
    vertices = None if mesh is None else mesh.vertices * entry.scale
    body = RigidBody(
        [_shape(entry, vertices, mesh)],
        entry.location,
        quaternions.of_matrices(euler_matrix(entry.rotation)),
        entry.velocity,
        entry.spin,
        density=entry.density,
        mass=entry.mass,
        friction=entry.friction,
        restitution=entry.restitution,
        linear_damping=entry.linear_damping,
        angular_damping=entry.angular_damping,
    )
    if mesh is None:
        return body, body_surface(entry.name, [body]), []
    carrier = np.zeros(len(vertices), np.int64)
    surface = CarriedSurface(export_mesh(mesh, entry.name), frozen(vertices), frozen(carrier))
    return body, surface, [*mesh.warnings, *size_notes(vertices)]


def _shape(entry: RigidEntry, vertices, mesh) -> Shape:
    """What collides, in the frame of the body."""
    shape = SHAPES[entry.kind]
    if entry.kind == "mesh":
        return shape(vertices[np.unique(mesh.faces)])
    return shape.of_keys(**{name: getattr(entry, name) for name in shape.keys})


def _static_mesh(entry: ColliderEntry) -> StaticMesh:
    mesh = read_mesh(entry.mesh, scale=metres_per_unit(entry.units))
    vertices = (mesh.vertices * entry.scale) @ euler_matrix(entry.rotation).T + entry.location
    return StaticMesh(vertices, mesh.faces)
