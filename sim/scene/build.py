"""A shot: a scene file with everything that it names read, caged and put in place, ready to be baked.

A body's own transform is split in two: its stretch changes the rest shape, its rotation and location change where the
body starts. What is simulated is in the world, in metres, with Z up.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from jellycage.sim.export.frames import ExportMesh
from jellycage.sim.materials import law_named
from jellycage.sim.maths.quaternions import turn_to
from jellycage.sim.maths.quaternions_kernels import quaternion_of
from jellycage.sim.scene.body_entries import BodyEntry
from jellycage.sim.scene.build_asset import caged, split_transform, start_of
from jellycage.sim.scene.build_points import Clock, load_of, pin_of
from jellycage.sim.scene.build_rigid import build_rigid
from jellycage.sim.scene.collider_entries import ColliderEntry
from jellycage.sim.scene.entry_kinds import euler_matrix
from jellycage.sim.scene.scene import Scene
from jellycage.sim.scene.scene_file import SceneFile
from jellycage.sim.scene.shot import Shot
from jellycage.sim.scene.surfaces import EmbeddedSurface
from jellycage.sim.shapes import SHAPES
from jellycage.sim.shapes.colliders import Collider, Motion
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.presets import (
    PRESETS,
    QUALITIES,
    preset_material,
    stiffness_damping,
    substeps_for,
)
from jellycage.sim.solvers.standing import sagging
from jellycage.toolkit.arrays import frozen
from jellycage.toolkit.asset.asset import Asset
from jellycage.toolkit.embedding.smooth_embedding import smooth_embedding
from jellycage.toolkit.version import VERSION

STANDING = "standing"  # the stage in which the stiffness of a preset is found


def build_shot(
    scene: SceneFile,
    *,
    collision: bool = False,
    progress: Callable[[str, float], None] | None = None,
) -> Shot:
    """Read and cage what a scene file names. progress is called as progress(stage, fraction).

    collision: whether all cages that are built get a collision surface, which what can touch no other does not need.
    """
    report = progress or (lambda stage, fraction: None)
    clock = Clock(scene.frames[0], scene.fps)
    bodies, skins, sags, notes = [], [], [], []
    count = len(scene.bodies)
    may_touch = len(scene.passing) < count * (count - 1) // 2
    for number, entry in enumerate(scene.bodies):
        share = number / count
        body, skin, sag, said = _body(
            scene,
            entry,
            clock,
            collision or may_touch,
            lambda stage, part, name=entry.name, share=share: report(
                f"{name}: {stage}", share + part / count
            ),
        )
        if may_touch and body.asset.collision is None:
            said = (*said, "has no collision surface, so that others pass through it")
        bodies.append(body)
        skins.append(skin)
        sags.append(sag)
        notes += [f"{entry.name}: {sentence}" for sentence in said]
    rigid = build_rigid(scene)
    return Shot(
        scene=Scene(
            bodies,
            scene.gravity,
            scene.wind,
            scene.solver_settings,
            [_collider(entry, clock) for entry in scene.colliders if entry.kind != "mesh"],
            passing=scene.passing,
            rigid_bodies=rigid.bodies,
            ragdolls=[doll.ragdoll for doll in rigid.dolls],
            entering=[clock.seconds(doll.transition) for doll in rigid.dolls],
            meshes=rigid.meshes,
            rigid_solver=scene.rigid_settings,
        ),
        frames=scene.frames,
        fps=scene.fps,
        substeps=_substeps(scene, bodies),
        skins=tuple(skins),
        sags=tuple(sags),
        dolls=tuple(rigid.dolls),
        surfaces=tuple(rigid.surfaces),
        digest=scene_digest(scene),
        notes=(*notes, *rigid.notes),
    )


def _substeps(scene, bodies) -> int:
    """Steps per frame of the soft bodies, or of the rigid ones if there are no others."""
    if not bodies:
        return scene.rigid_settings.substeps
    lengths = [float(np.ptp(body.start_positions(), axis=0).max()) for body in bodies]
    return scene.substeps or substeps_for(
        scene.fps, min(lengths), scene.gravity, QUALITIES[scene.quality]
    )


def scene_digest(scene: SceneFile) -> str:
    """Digest of the scene, of the contents of the files that it names, and of the version that simulates it."""
    digest = hashlib.sha256(f"{VERSION}\n{json.dumps(scene.content, sort_keys=True)}".encode())
    for path in _files(scene):
        digest.update(hashlib.sha256(Path(path).read_bytes()).digest())
    return digest.hexdigest()


def _files(scene):
    for body in scene.bodies:
        yield body.mesh or body.asset
        for entry in (*body.pins, *body.loads, body.paint.young_modulus, body.paint.density):
            for name in ("file", "target"):
                if getattr(entry, name, None) is not None:
                    yield getattr(entry, name)
    for ragdoll in scene.ragdolls:
        yield ragdoll.character
        skin = json.loads(ragdoll.character.read_text(encoding="utf-8-sig")).get("skin")
        if skin is not None:
            yield ragdoll.character.parent / skin
    yield from (entry.mesh for entry in (*scene.rigids, *scene.colliders) if entry.mesh is not None)


def _body(scene: SceneFile, entry: BodyEntry, clock: Clock, collision, report):
    """(body, skin, sag, notes) of one entry."""
    selected, notes = caged(scene, entry, clock, collision, report)
    asset, start = selected.asset, start_of(entry, selected.asset)
    rotation, stretch, _ = split_transform(entry.transform)
    up = np.array(scene.gravity) / (np.linalg.norm(scene.gravity) or 1.0)
    along = (asset.surface_vertices @ rotation.T) @ (up if up.any() else np.array([0.0, 0.0, 1.0]))
    height = float(np.ptp(along))
    uniform = _material(scene, entry, height)
    body = SoftBody(
        asset,
        replace(uniform, **_painted(entry, selected)),
        pins=[pin_of(pin, selected, clock, start) for pin in entry.pins],
        loads=[load_of(load, selected, clock) for load in entry.loads],
        start=None if np.array_equal(start, asset.cage_nodes) else start,
        velocity=entry.velocity,
        spin=entry.spin,
        mass_damping=entry.mass_damping or 0.0,
        air_drag=entry.air_drag or 0.0,
        friction=entry.friction,
        restitution=entry.restitution,
        quadrature=entry.quadrature,
        coarsening=entry.coarsening,
        rotation_method=entry.rotation_method,
    )
    sag = None
    if entry.material is None and entry.paint.young_modulus is None:
        report(STANDING, 1.0)
        body, sag, said = _sized(scene, entry, height, body)
        uniform = replace(uniform, young_modulus=body.material.young_modulus)
        notes = (*notes, *said)
    damping = entry.stiffness_damping
    if damping is None:
        damping = stiffness_damping(entry.damping_ratio, uniform, height)
    skin = _skin(asset, selected.source, entry, stretch @ rotation.T)
    return replace(body, stiffness_damping=damping), skin, sag, notes


def _material(scene, entry, height):
    """What the entry says, without paint; the stiffness of a preset is that of a column of this height."""
    if entry.material is not None:
        m = entry.material
        return law_named(m.law)(m.young_modulus, m.poisson_ratio, m.density)
    return preset_material(PRESETS[entry.preset], height, scene.gravity, sag=_sag(entry))[0]


def _painted(entry, selected):
    """What differs from element to element, by name."""
    painted = {}
    for name in ("young_modulus", "density"):
        paint = getattr(entry.paint, name)
        if paint is not None:
            weights = selected.weights(paint, f"paint.{name}")
            painted[name] = paint.values(selected.per_element(weights))
    return painted


def _sag(entry: BodyEntry) -> float:
    return PRESETS[entry.preset].sag if entry.sag is None else entry.sag


def _sized(scene, entry, height, body):
    """(body, sag, notes): as stiff as it takes to sag as its preset says."""
    preset, wanted = PRESETS[entry.preset], _sag(entry)
    found = sagging(body, wanted, gravity=scene.gravity)
    notes = [
        f"{entry.preset} of {height:.3g} m that sags by {found.sag:.1%}: "
        f"Young modulus {float(found.material.young_modulus):.4g} Pa, "
        f"Poisson ratio {preset.poisson_ratio:g}, density {preset.density:g} kg/m^3"
    ]
    if found.is_held_straight:
        notes.append(
            "so slender that it may fold under its own weight; its sag is that of the body held straight"
        )
    if not found.is_reached:
        notes.append(
            f"a sag of {wanted:.1%} was asked for, but the body gives way before it comes to rest there; "
            "ask for less, or give a material"
        )
    return replace(body, material=found.material), found.sag, notes


def _collider(entry: ColliderEntry, clock: Clock) -> Collider:
    keys = entry.keys or ()
    places = [(key.location, key.rotation) for key in keys] or [(entry.location, entry.rotation)]
    locations = [np.zeros(3) if p is None else p for p, _ in places]
    matrices = [euler_matrix((0, 0, 0) if r is None else r) for _, r in places]
    rotations = [quaternion_of(tuple(matrix.ravel())) for matrix in matrices]
    if entry.kind == "plane":
        turn = turn_to((0.0, 0.0, 1.0) if entry.normal is None else entry.normal)
        rotations = [_product(rotation, turn) for rotation in rotations]
    times = [clock.seconds(key.frame) for key in keys] or [0.0]
    shape = SHAPES[entry.kind]
    return Collider(
        shape.of_keys(**{name: getattr(entry, name) for name in shape.keys}),
        Motion(locations, rotations, times),
        entry.friction,
        entry.restitution,
    )


def _product(a, b):
    """Quaternion of turn b followed by turn a."""
    aw, av, bw, bv = a[0], np.asarray(a[1:]), b[0], np.asarray(b[1:])
    return np.concatenate([[aw * bw - av @ bv], aw * bv + bw * av + np.cross(av, bv)])


def _skin(asset: Asset, source, entry: BodyEntry, turned) -> EmbeddedSurface:
    """Every vertex of the source in its order; those of faces hang in the cage, others on the nearest of them."""
    count = len(source)
    row = np.full(count, -1)
    row[asset.source_vertex] = np.arange(len(asset.source_vertex))
    loose = np.flatnonzero((row < 0) & np.isfinite(source).all(axis=1))
    offset = np.zeros((count, 3))
    if (row < 0).any():
        rest = source[asset.source_vertex]
        nearest = cKDTree(rest).query(source[loose])[1]
        row[loose] = nearest
        offset[loose] = (source[loose] - rest[nearest]) @ turned
        row[row < 0] = 0  # an asset does not keep vertices without a face
    nodes = asset.elements[asset.embed_element[row]]
    start, corners = asset.polygon_start, asset.polygon_vertices
    uv, uv_index = asset.uv, asset.uv_index
    if start is None:
        start = 3 * np.arange(len(asset.surface_faces) + 1)
        corners = asset.source_vertex[asset.surface_faces].ravel()
    mesh = ExportMesh(entry.name, count, start, corners, uv, uv_index)
    weights = asset.embed_weights[row]
    smooth = None
    if entry.surface != "barycentric":
        smooth = smooth_embedding(asset, entry.surface).matrix[row]
    return EmbeddedSurface(
        mesh, frozen(nodes.astype(np.int32)), frozen(weights), frozen(offset), smooth
    )
