"""Shots: what a scene file says arrives at the right vertices, elements and times."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from shapes import QUADS, box, random_rotation, subdivided
from tiny_shots import CUBE, document, painted_cube, painted_mesh, shot_of, tiny_shot

from jellycage.sim.errors import SceneError, SimError
from jellycage.sim.export.frames import ExportMesh
from jellycage.sim.export.pc2 import Pc2Writer
from jellycage.sim.scene.build import build_shot, scene_digest
from jellycage.sim.scene.entry_kinds import euler_matrix
from jellycage.sim.scene.scene_file import scene_of
from jellycage.sim.shapes import Box, Capsule, Plane, Sphere
from jellycage.sim.soft.elasticity import determinants
from jellycage.sim.soft.loads import Force, Impulse, PositionChange, VelocityChange
from jellycage.sim.soft.presets import PRESETS, stiffness_damping
from jellycage.sim.solvers.standing import standing
from jellycage.toolkit.asset.asset_file import save_asset
from jellycage.toolkit.embedding.smooth_embedding import smooth_embedding
from jellycage.toolkit.mesh.mesh_io import read_mesh
from jellycage.toolkit.prepare import build_cage

UP = np.flatnonzero(CUBE[:, 2] == 1.0)
HALF = (CUBE[:, 2] > 0.5).astype(float)


def started(shot, body=0):
    """Vertices of a body at the start."""
    return shot.skins[body].positions(shot.scene.bodies[body].start_positions())


def refusal(folder, content) -> str:
    """The one line with which a scene is refused."""
    with pytest.raises(SimError) as caught:
        shot_of(folder, content)
    text = str(caught.value)
    assert len(text.splitlines()) == 1 and ";" in text
    return text


# ---- transforms


TURNED = np.eye(4)
TURNED[:3, :3] = random_rotation(3) @ np.diag([1.5, 0.5, 0.8]) @ random_rotation(4)
TURNED[:3, 3] = (3.0, -2.0, 1.0)
TRANSFORMS = {
    "none": {"location": [0, 0, 0]},
    "location": {"location": [1.25, -3.5, 0.1]},
    "rotation": {"rotation": [20, -50, 70]},
    "scale": {"location": [0, 0, 0], "scale": 0.3},
    "stretch": {"location": [0, 1, 0], "rotation": [0, 90, 10], "scale": [2.0, 0.5, 1.0]},
    "matrix": {"matrix": TURNED.tolist()},
}


def transformed(body):
    """The cube's corners where the keys of a body put them, by its own arithmetic."""
    if "matrix" in body:
        return CUBE @ TURNED[:3, :3].T + TURNED[:3, 3]
    turn = euler_matrix(body.get("rotation", (0, 0, 0)))
    place = body.get("location", (0.0, 0.0, 0.05))
    return (CUBE * body.get("scale", 1.0)) @ turn.T + np.array(place)


@pytest.mark.parametrize("element", ["tet", "hex"])
@pytest.mark.parametrize("body", TRANSFORMS.values(), ids=list(TRANSFORMS))
def test_the_skin_starts_where_the_transform_puts_the_mesh(body, element, tmp_path):
    content = document(tmp_path)
    keys = {name: value for name, value in content["body"][0].items() if name != "location"}
    keys["location"] = [0.0, 0.0, 0.05]
    if "matrix" in body:
        del keys["location"]
    content["body"] = [{**keys, **body, "element": element}]
    shot = shot_of(tmp_path, content)
    assert started(shot) == pytest.approx(transformed(body), abs=1e-9)
    soft = shot.scene.bodies[0]
    assert determinants(soft, soft.start_positions()) == pytest.approx(1.0, abs=1e-9)


def test_a_turned_body_is_without_strain_and_stays_at_rest(tmp_path):
    body = {"rotation": [20, -50, 170], "scale": [2.0, 0.5, 1.0]}
    shot = tiny_shot(tmp_path, body=body, colliders=(), gravity=[0, 0, 0])
    soft = shot.scene.bodies[0]
    stepper = shot.stepper()
    state = stepper.start()
    stepper.step(state)
    scale = float(soft.material.young_modulus) * soft.size**3
    # An energy density is a difference of terms of the size of the modulus: rounding leaves 1e-16 of it.
    assert abs(stepper.elastic_energy(0)) < 1e-15 * scale
    assert state.soft[0].x == pytest.approx(soft.start_positions(), abs=1e-9)


def test_scale_changes_the_rest_shape_and_rotation_does_not(tmp_path):
    plain, turned, scaled = (
        tiny_shot(tmp_path, body=body).scene.bodies[0]
        for body in ({}, {"rotation": [0, 0, 30]}, {"scale": [2.0, 1.0, 1.0]})
    )
    assert turned.elements.nodes == pytest.approx(plain.elements.nodes, abs=1e-12)
    extent = np.ptp(scaled.asset.surface_vertices, axis=0)
    assert extent == pytest.approx([2.0, 1.0, 1.0], abs=1e-9)


@pytest.mark.parametrize(
    ("units", "metres"),
    [("m", 1.0), ("cm", 0.01), ("mm", 0.001), ("in", 0.0254), ("ft", 0.3048), (2.5, 2.5)],
)
def test_units_scale_the_mesh_as_it_is_read_before_all_else(units, metres, tmp_path):
    """Boxes of pins and locations are in metres, whatever the file is in; scale comes on top."""
    half = [[-1.0, -1.0, 0.5 * metres], [9.0, 9.0, 9.0]]
    body = {"units": units, "scale": 2.0, "location": [0, 0, 1], "pin": [{"box": half}]}
    shot = tiny_shot(tmp_path, body=body)
    assert started(shot) == pytest.approx(2.0 * metres * CUBE + [0, 0, 1], abs=1e-12)
    assert len(shot.scene.bodies[0].pins[0].points.nodes) == 4
    # As if the file had been written in metres.
    scaled = painted_mesh(tmp_path, metres * CUBE, QUADS, "scaled.ply")
    same = tiny_shot(tmp_path, body={**body, "mesh": scaled, "units": "m"})
    assert np.array_equal(started(same), started(shot))


def test_units_are_refused_for_an_asset_and_if_there_is_no_such_unit(tmp_path):
    asset = {"asset": "a.npz", "units": "mm"}
    (tmp_path / "a.npz").touch()
    with pytest.raises(SceneError, match="units: not together with asset, an asset is in metres"):
        scene_of({"body": [asset]}, tmp_path)
    for wrong in ("furlong", 0.0, -1.0, True):
        with pytest.raises(SceneError, match=r'units: expected "m", "cm".* or a number above 0'):
            scene_of(document(tmp_path, body={"units": wrong}), tmp_path)


@pytest.mark.parametrize("scale", [1000.0, 1e-4])
def test_a_shot_asks_about_an_unlikely_size_once(scale, tmp_path):
    content = document(tmp_path, body={"scale": scale})
    save_asset(build_cage(read_mesh(tmp_path / "cube.obj"), resolution=2), tmp_path / "a.npz")
    content["body"].append({"asset": "a.npz", "name": "asset", "scale": scale})
    content["rigid"] = [{"kind": "mesh", "mesh": "cube.obj", "name": "crate", "units": scale}]
    notes = [text for text in shot_of(tmp_path, content).notes if " m long: " in text]
    assert [text.split(":")[0] for text in notes] == ["cube", "asset", "crate"]


def test_velocity_and_spin_are_those_of_the_world(tmp_path):
    body = {"velocity": [1, 2, 3], "spin": [0, 0, 2], "rotation": [90, 0, 0]}
    soft = tiny_shot(tmp_path, body=body).scene.bodies[0]
    v, x = soft.start_velocities(), soft.start_positions()
    centre = np.average(x, axis=0, weights=soft.mass)
    assert v == pytest.approx([1, 2, 3] + np.cross([0, 0, 2], x - centre), abs=1e-9)


# ---- skins


def test_the_skin_keeps_vertices_polygons_and_uvs_of_the_file(tmp_path):
    lines = [f"v {x} {y} {z}" for x, y, z in CUBE.tolist()]
    lines += ["vt 0 0", "vt 1 0", "vt 1 1", "vt 0 1"]
    lines += ["f " + " ".join(f"{i + 1}/{k + 1}" for k, i in enumerate(quad)) for quad in QUADS]
    (tmp_path / "uv.obj").write_text("\n".join(lines) + "\n")
    skin = tiny_shot(tmp_path, body={"mesh": "uv.obj"}).skins[0]
    assert skin.mesh.vertex_count == 8 and skin.mesh.name == "uv"
    assert skin.mesh.polygon_start.tolist() == list(range(0, 25, 4))
    assert skin.mesh.polygon_vertices.tolist() == [i for quad in QUADS for i in quad]
    assert skin.mesh.uv.tolist() == [[0, 0], [1, 0], [1, 1], [0, 1]]
    assert skin.mesh.uv_index.tolist() == [0, 1, 2, 3] * 6


def test_loose_vertices_follow_the_nearest_of_a_face(tmp_path):
    loose = [[0.1, 0.2, 1.5], [-0.5, 0.0, 0.0]]
    text = "".join(f"v {x} {y} {z}\n" for x, y, z in [loose[0], *CUBE.tolist(), loose[1]])
    text += "".join("f " + " ".join(str(i + 2) for i in quad) + "\n" for quad in QUADS)
    (tmp_path / "loose.obj").write_text(text)
    body = {"mesh": "loose.obj", "rotation": [0, 0, 90], "scale": 2.0, "location": [1, 1, 1]}
    shot = tiny_shot(tmp_path, body=body)
    points = np.array([loose[0], *CUBE.tolist(), loose[1]])
    wanted = (2.0 * points) @ euler_matrix((0, 0, 90)).T + 1.0
    assert started(shot) == pytest.approx(wanted, abs=1e-9)
    x = shot.scene.bodies[0].start_positions() + (0.0, 0.0, 5.0)
    assert shot.skins[0].positions(x) == pytest.approx(wanted + (0.0, 0.0, 5.0), abs=1e-9)
    velocity = shot.skins[0].velocities(np.full_like(x, 2.0))
    assert velocity == pytest.approx(2.0)


def test_an_asset_gives_the_same_shot_as_its_mesh(tmp_path):
    from jellycage.toolkit.asset.asset_file import save_asset

    body = {"rotation": [10, 20, 30], "scale": 2.0}
    shot = tiny_shot(tmp_path, body=body)
    flat = tiny_shot(tmp_path)
    save_asset(flat.scene.bodies[0].asset, tmp_path / "cube.npz")
    content = document(tmp_path)
    content["body"] = [{"asset": "cube.npz", "location": [0.0, 0.0, 0.05], **body}]
    asset = shot_of(tmp_path, content)
    assert started(asset) == pytest.approx(started(shot), abs=1e-9)
    assert asset.skins[0].mesh.polygon_vertices.tolist() == [i for quad in QUADS for i in quad]


# ---- materials


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_becomes_the_stiffness_with_which_the_body_sags_as_it_says_and_a_note(
    name, tmp_path
):
    shot = tiny_shot(tmp_path, body={"preset": name, "scale": [1.0, 1.0, 3.0]})
    soft, preset = shot.scene.bodies[0], PRESETS[name]
    material = soft.material
    assert standing(soft).sag == pytest.approx(preset.sag, rel=0.05)
    damping = stiffness_damping(preset.damping_ratio, material, 3.0)
    assert soft.stiffness_damping == pytest.approx(damping)
    assert (soft.friction, soft.restitution) == (PRESETS[name].friction, PRESETS[name].restitution)
    (note,) = [note for note in shot.notes if name in note]
    assert note.startswith("cube: ") and f"{float(material.young_modulus):.4g} Pa" in note


def test_a_damping_ratio_is_that_of_the_first_mode_along_the_height(tmp_path):
    given = {"young_modulus": 4e5, "density": 1000.0}
    body = {"material": given, "damping_ratio": 0.3, "scale": [1.0, 1.0, 2.0]}
    soft = tiny_shot(tmp_path, body=body).scene.bodies[0]
    frequency = (
        np.pi / 2 * np.sqrt(4e5 / 1000.0) / 2.0
    )  # of a rod of 2 m that is held at one end [rad/s]
    assert soft.stiffness_damping * frequency / 2 == pytest.approx(0.3)


def test_the_height_is_measured_along_gravity(tmp_path):
    body = {"scale": [1.0, 1.0, 3.0], "rotation": [0, 90, 0]}
    lying = tiny_shot(tmp_path, body=body).scene.bodies[0]
    sideways = tiny_shot(tmp_path, body=body, gravity=[-9.81, 0, 0]).scene.bodies[0]
    assert sideways.material.young_modulus > 2.0 * lying.material.young_modulus


def test_painted_density_counts_in_the_sag_and_painted_stiffness_is_taken_as_it_is(tmp_path):
    vertices, faces = subdivided(box(), 3)
    top = (vertices[:, 2] > 0.5).astype(float)
    body = {"mesh": painted_mesh(tmp_path, vertices, faces, top=top), "preset": "flesh"}
    heavy = {"density": {"low": 500.0, "high": 2000.0, "attribute": "top"}}
    soft = tiny_shot(tmp_path, body=body | {"paint": heavy}).scene.bodies[0]
    assert standing(soft).sag == pytest.approx(PRESETS["flesh"].sag, rel=0.05)
    stiff = {"young_modulus": {"low": 1e4, "high": 1e5, "attribute": "top"}}
    shot = tiny_shot(tmp_path, body=body | {"paint": stiff})
    assert shot.scene.bodies[0].material.young_modulus.max() == pytest.approx(1e5)
    assert not any("sags" in note for note in shot.notes)


def test_a_material_is_taken_as_it_is(tmp_path):
    given = {"law": "corotated", "young_modulus": 2e5, "poisson_ratio": 0.3, "density": 700.0}
    body = {"material": given, "stiffness_damping": 0.02, "mass_damping": 0.5, "air_drag": 0.6}
    soft = tiny_shot(tmp_path, body=body).scene.bodies[0]
    assert type(soft.material).__name__ == "Corotated"
    assert (soft.material.young_modulus, soft.material.poisson_ratio) == (2e5, 0.3)
    assert (soft.stiffness_damping, soft.mass_damping, soft.air_drag) == (0.02, 0.5, 0.6)
    assert soft.mass.sum() == pytest.approx(700.0, rel=0.05)  # of a cubic metre


@pytest.mark.parametrize("kind", ["attribute", "npz"])
def test_painted_stiffness_and_density_reach_the_elements(kind, tmp_path):
    vertices, faces = subdivided(box(), 3)  # the surface nearest to an element is of its own half
    top = (vertices[:, 2] > 0.5).astype(float)
    body = {"mesh": painted_mesh(tmp_path, vertices, faces, top=top)}
    source = {"attribute": "top"}
    if kind == "npz":
        np.savez(tmp_path / "paint.npz", top=top)
        source = {"file": "paint.npz", "array": "top"}
    body["paint"] = {
        "young_modulus": {"low": 1e4, "high": 1e5, **source},
        "density": {"low": 500.0, "high": 2000.0, **source},
    }
    soft = tiny_shot(tmp_path, body=body).scene.bodies[0]
    height = soft.asset.cage_nodes[soft.asset.elements].mean(axis=1)[:, 2]
    young, density = soft.material.young_modulus, soft.material.density
    assert young.shape == density.shape == height.shape
    for is_half, modulus, mass in ((height > 0.75, 1e5, 2000.0), (height < 0.25, 1e4, 500.0)):
        assert is_half.sum() > 10
        assert young[is_half] == pytest.approx(modulus) and density[is_half] == pytest.approx(mass)
    # Cubes have the mean of what was painted on their tets.
    assert soft.young_modulus.min() == pytest.approx(1e4)
    assert soft.young_modulus.max() == pytest.approx(1e5)


# ---- pins


def pin_shot(folder, pin, frames=(1001, 1010), **body):
    shot = tiny_shot(folder, frames=frames, body={**body, "pin": [pin]})
    return shot, shot.scene.bodies[0].pins[0]


SELECTIONS = {
    "vertices": ({"vertices": [7, 4]}, [7, 4]),
    "box": ({"box": [[-1, -1, 0.9], [2, 2, 1.1]]}, UP),
    "attribute": ({"attribute": "top"}, UP),
    "npz": ({"file": "weights.npz", "array": "top"}, UP),
    "all": ({"all": True}, range(8)),
}


@pytest.mark.parametrize("kind", SELECTIONS)
def test_pins_hold_the_vertices_that_are_selected(kind, tmp_path):
    selection, chosen = SELECTIONS[kind]
    np.savez(tmp_path / "weights.npz", top=0.5 * HALF)
    body = {"mesh": painted_cube(tmp_path, top=0.5 * HALF), "rotation": [0, 0, 45], "scale": 2.0}
    shot, pin = pin_shot(tmp_path, selection, **body)
    start = shot.scene.bodies[0].start_positions()
    assert pin.points.positions(start) == pytest.approx(started(shot)[list(chosen)], abs=1e-9)
    wanted = 0.5 if kind in ("attribute", "npz") else 1.0
    assert pin.strengths(0.0) == pytest.approx(wanted)
    assert len(pin.strengths(0.0)) == len(chosen)


def test_strength_and_offset_keys_are_at_their_frames(tmp_path):
    pin = {
        "vertices": [6],
        "strength": [{"frame": 1001, "value": 1.0}, {"frame": 1005, "value": 0.5}],
        "offset": [{"frame": 1003, "value": [0, 0, 0]}, {"frame": 1007, "value": [0, 2, 0]}],
    }
    shot, pin = pin_shot(tmp_path, pin, rotation=[0, 0, 90])
    began = started(shot)[[6]]
    for frame, strength, y in ((1001, 1, 0), (1003, 0.75, 0), (1005, 0.5, 1), (1010, 0.5, 2)):
        time = (frame - 1001) / 24.0
        assert pin.strengths(time) == pytest.approx(strength)
        assert pin.targets(began * 0, time) == pytest.approx(began + [0, y, 0], abs=1e-9)


@pytest.mark.parametrize("count", ["pinned", "all"])
def test_a_point_cache_leads_the_pinned_vertices(count, tmp_path):
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(4, 8, 3))
    chosen = [5, 2]
    rows = samples if count == "all" else samples[:, chosen]
    mesh = ExportMesh("a", rows.shape[1], [0], [])
    with Pc2Writer(tmp_path / "lead.pc2", [mesh], first_frame=1002) as writer:
        for row in rows:
            writer.write([row])
    _, pin = pin_shot(tmp_path, {"vertices": chosen, "target": "lead.pc2"})
    for frame, sample in ((1002, 0), (1004, 2), (1005, 3), (1009, 3), (1001, 0)):
        target = pin.targets(np.zeros((2, 3)), (frame - 1001) / 24.0)
        assert target == pytest.approx(samples[sample, chosen], abs=1e-6)  # float32


def test_pins_may_slide(tmp_path):
    _, pin = pin_shot(tmp_path, {"all": True, "along": [0, 0, 2]})
    assert pin.directions @ [0, 0, 1] == pytest.approx(0.0)
    _, pin = pin_shot(tmp_path, {"all": True, "normal": [0, 3, 0]})
    assert pin.directions.tolist() == [[0.0, 1.0, 0.0]]


# ---- loads


def load_of(folder, load):
    return tiny_shot(folder, frames=(1001, 1010), body={"load": [load]}).scene.bodies[0].loads[0]


@pytest.mark.parametrize(
    ("kind", "type_"),
    [("impulse", Impulse), ("velocity", VelocityChange), ("position", PositionChange)],
)
def test_changes_happen_at_their_frame(kind, type_, tmp_path):
    load = load_of(tmp_path, {"kind": kind, "all": True, "value": [1, 2, 3], "frame": 1004})
    assert type(load) is type_ and load.time == pytest.approx(3 / 24)
    assert load.value == pytest.approx(np.tile([1, 2, 3], (8, 1)))
    assert load_of(tmp_path, {"kind": kind, "all": True, "value": [1, 2, 3]}).time == 0.0


def test_forces_last_and_follow_their_keys_and_weights(tmp_path):
    weights = np.linspace(0.0, 1.0, 8)
    np.savez(tmp_path / "w.npz", w=weights)
    source = {"kind": "force", "file": "w.npz", "array": "w"}
    still = load_of(tmp_path, {**source, "value": [0, 0, 8]})
    assert type(still) is Force
    assert still.at(0.3) == pytest.approx(weights[1:, None] * [0, 0, 8])
    keys = [{"frame": 1001, "value": [0, 0, 0]}, {"frame": 1005, "value": [4, 0, 0]}]
    moving = load_of(tmp_path, {**source, "value": keys})
    for frame, x in ((1001, 0), (1002, 1), (1005, 4), (1010, 4)):
        force = moving.at((frame - 1001) / 24.0)
        assert force == pytest.approx(weights[1:, None] * [x, 0, 0])


# ---- colliders


def test_colliders_of_each_kind_are_where_they_should_be(tmp_path):
    keys = [
        {"frame": 1001, "location": [0, 0, 1]},
        {"frame": 1005, "location": [4, 0, 1], "rotation": [0, 0, 90]},
    ]
    common = {"friction": 0.7, "restitution": 0.2}
    colliders = [
        {"kind": "plane", "normal": [1, 0, 0], "location": [5, 6, 7], **common},
        {"kind": "plane", "normal": [1, 0, 0], "rotation": [0, 0, 90]},
        {"kind": "sphere", "radius": 0.25, "keys": keys, **common},
        {"kind": "box", "size": [1, 2, 3], "rotation": [90, 0, 0]},
        {"kind": "capsule", "radius": 0.1, "length": 2.0, "location": [0, 0, 3]},
    ]
    made = tiny_shot(tmp_path, frames=(1001, 1010), colliders=colliders).scene.colliders
    assert [type(c.shape) for c in made] == [Plane, Plane, Sphere, Box, Capsule]
    assert [c.friction for c in made] == [0.7, 0.5, 0.7, 0.5, 0.5]
    assert [c.restitution for c in made] == [0.2, 0, 0.2, 0, 0]

    def pose(number, frame=1001):
        pose = made[number].motion.pose((frame - 1001) / 24.0)
        return pose[:9].reshape(3, 3), pose[9:]

    assert pose(0)[0] @ [0, 0, 1] == pytest.approx([1, 0, 0])
    assert pose(0)[1].tolist() == [5, 6, 7]
    assert pose(1)[0] @ [0, 0, 1] == pytest.approx([0, 1, 0])
    assert made[2].shape.radius == 0.25
    for frame, x, degrees in ((1001, 0, 0), (1003, 2, 45), (1005, 4, 90), (1009, 4, 90)):
        turn, location = pose(2, frame)
        assert location == pytest.approx([x, 0, 1])
        assert turn == pytest.approx(euler_matrix((0, 0, degrees)), abs=1e-12)
    assert made[3].shape.lengths() == pytest.approx([0.5, 1.0, 1.5])
    assert pose(3)[0] == pytest.approx(euler_matrix((90, 0, 0)), abs=1e-12)
    assert made[4].shape.lengths() == (0.1, 1.0, 0.0)


def test_rotations_of_colliders_are_the_eulers_of_any_angle(tmp_path):
    rng = np.random.default_rng(1)
    angles = [*rng.uniform(-360, 360, (20, 3)).tolist(), [180, 0, 0], [0, 180, 0], [0, 0, 180]]
    colliders = [{"kind": "box", "size": [1, 1, 1], "rotation": row} for row in angles]
    made = tiny_shot(tmp_path, colliders=colliders).scene.colliders
    for collider, row in zip(made, angles, strict=True):
        turn = collider.motion.pose(0.0)[:9].reshape(3, 3)
        assert turn == pytest.approx(euler_matrix(row), abs=1e-12)


# ---- refusals


def test_what_a_pin_cannot_use_is_refused_in_one_line(tmp_path):
    np.savez(tmp_path / "w.npz", short=np.ones(5), big=np.full(8, 3.0), none=np.zeros(8))
    np.savez(tmp_path / "nan.npz", w=np.full(8, np.nan))
    (tmp_path / "broken.npz").write_bytes(b"PK\3\4 nothing")
    np.save(tmp_path / "array.npy", np.ones(8))
    (tmp_path / "array.npy").rename(tmp_path / "array.npz")
    mesh = ExportMesh("a", 3, [0], [])
    with Pc2Writer(tmp_path / "three.pc2", [mesh]) as writer:
        writer.write([np.zeros((3, 3))])
    (tmp_path / "cut.pc2").write_bytes((tmp_path / "three.pc2").read_bytes()[:40])
    ply = {"mesh": painted_cube(tmp_path, top=HALF)}
    for pin, words in (
        ({"attribute": "bottom"}, ("no vertex attribute 'bottom'", "top")),
        ({"file": "w.npz", "array": "short"}, ("expected 8 weights", "(5,)")),
        ({"file": "w.npz", "array": "big"}, ("0..1", "3..3")),
        ({"file": "w.npz", "array": "absent"}, ("no array 'absent'", "short, big, none")),
        ({"file": "w.npz", "array": "none"}, ("selects no vertex",)),
        ({"file": "nan.npz", "array": "w"}, ("0..1",)),
        ({"file": "broken.npz", "array": "w"}, ("broken.npz: no readable .npz",)),
        ({"file": "array.npz", "array": "w"}, ("array.npz: no readable .npz",)),
        ({"vertices": [0, 8]}, ("no vertex 8", "the mesh has 8")),
        ({"box": [[5, 5, 5], [6, 6, 6]]}, ("selects no vertex",)),
        ({"vertices": [0, 1], "target": "three.pc2"}, ("3 points", "expected 2", "or 8")),
        ({"vertices": [0, 1], "target": "cut.pc2"}, ("cut.pc2",)),
    ):
        text = refusal(tmp_path, document(tmp_path, body={**ply, "pin": [pin]}))
        assert all(word in text for word in words), text


def test_paint_is_refused_in_the_same_way(tmp_path):
    np.savez(tmp_path / "w.npz", short=np.ones(5))
    paint = {"density": {"low": 1.0, "high": 2.0, "file": "w.npz", "array": "short"}}
    with pytest.raises(SceneError, match=r"cube: paint.density: expected 8 weights"):
        tiny_shot(tmp_path, body={"paint": paint})


# ---- digests


def full_document(folder):
    """A scene that names one file of every kind."""
    np.savez(folder / "w.npz", w=HALF)
    with Pc2Writer(folder / "lead.pc2", [ExportMesh("a", 8, [0], [])]) as writer:
        writer.write([CUBE])
    weights = {"file": "w.npz", "array": "w"}
    body = {
        "paint": {"density": {"low": 500.0, "high": 900.0, **weights}},
        "pin": [{"vertices": [0], "target": "lead.pc2"}],
        "load": [{"kind": "force", "value": [0, 0, 1], **weights}],
    }
    return document(folder, body=body, output={"path": "a.abc"})


def digest_of(folder, content):
    return scene_digest(scene_of(content, folder))


def test_the_digest_changes_with_every_file_that_is_named(tmp_path):
    content = full_document(tmp_path)
    before = digest_of(tmp_path, content)
    assert len(before) == 64 and digest_of(tmp_path, content) == before
    for name in ("cube.obj", "w.npz", "lead.pc2"):
        old = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(old + b"\n")
        assert digest_of(tmp_path, content) != before, name
        (tmp_path / name).write_bytes(old)
    assert digest_of(tmp_path, content) == before


def test_the_digest_changes_with_every_key_but_those_of_the_output(tmp_path):
    content = full_document(tmp_path)
    before = digest_of(tmp_path, content)
    changes = [
        {"frames": [1, 7]}, {"fps": 25}, {"substeps": 9}, {"seed": 1}, {"quality": "final"},
        {"gravity": [0, 0, -1]}, {"wind": [1, 0, 0]}, {"solver": {"newton_iterations": 7}},
        {"solver": {"linear_tolerance": 0.5}}, {"collider": []},
        {"collider": [{"kind": "plane", "friction": 0.61, "restitution": 0.3}]},
    ]  # fmt: skip
    body = {
        "name": "b", "location": [0, 0, 1], "rotation": [1, 0, 0], "scale": 2.0, "velocity": [1, 0, 0],
        "spin": [1, 0, 0], "preset": "foam", "sag": 0.2, "stiffness_damping": 0.1, "mass_damping": 0.1,
        "air_drag": 0.1, "friction": 0.1, "restitution": 0.1, "resolution": 5, "element": "hex",
        "fit_steps": 3, "split": False, "join": False, "coarsening": False, "quadrature": 8, "pin": [], "load": [],
        "paint": {},
    }  # fmt: skip
    changes += [{"body": [{**content["body"][0], name: value}]} for name, value in body.items()]
    found = [digest_of(tmp_path, content | change) for change in changes]
    assert before not in found and len(set(found)) == len(found)
    for output in ({}, {"path": "b.pc2", "up_axis": "Z", "scale": 3.0, "velocities": True}):
        assert digest_of(tmp_path, content | {"output": output}) == before


def test_the_digest_does_not_know_the_folder(tmp_path):
    here, there = tmp_path / "here", tmp_path / "far" / "there"
    here.mkdir()
    content = full_document(here)
    before = digest_of(here, content)
    shutil.copytree(here, there)
    assert digest_of(there, content) == before
    assert digest_of(there, json.loads(json.dumps(content))) == before


def test_substeps_follow_the_smallest_body_unless_they_are_given(tmp_path):
    content = document(tmp_path)
    small = {**content["body"][0], "scale": 0.01}
    one, two = (
        shot_of(tmp_path, content | {"body": bodies}).substeps
        for bodies in (content["body"], [*content["body"], small])
    )
    assert two > one
    given = scene_of(content | {"substeps": 7}, tmp_path)
    assert build_shot(given).substeps == 7
    assert build_shot(replace(given, fps=12.0)).stepper().dt == pytest.approx(1 / 84)


def test_progress_names_the_body_and_rises(tmp_path):
    content = document(tmp_path)
    content["body"] = [{**content["body"][0], "name": name} for name in ("left", "right")]
    told = []
    build_shot(scene_of(content, tmp_path), progress=lambda *line: told.append(line))
    assert {stage.split(":")[0] for stage, _ in told} == {"left", "right"}
    shares = [share for _, share in told]
    assert shares == sorted(shares) and 0.0 <= shares[0] <= shares[-1] <= 1.0


# ---- what is seen


@pytest.mark.parametrize("surface", ["mls", "gaussian"])
@pytest.mark.parametrize("body", TRANSFORMS.values(), ids=list(TRANSFORMS))
def test_a_smooth_skin_starts_where_the_transform_puts_the_mesh(body, surface, tmp_path):
    keys = {"mesh": document(tmp_path)["body"][0]["mesh"], "resolution": 4, **body}
    shot = shot_of(tmp_path, {"body": [{**keys, "surface": surface}]})
    plain = shot_of(tmp_path, {"body": [keys]})
    assert shot.skins[0].smooth is not None and plain.skins[0].smooth is None
    np.testing.assert_allclose(started(shot), started(plain), atol=1e-12)
    assert shot.digest != plain.digest


@pytest.mark.parametrize("surface", ["mls", "gaussian"])
def test_a_smooth_skin_is_carried_by_the_smooth_weights_velocities_too(surface, tmp_path):
    shot = tiny_shot(tmp_path, body={"surface": surface})
    skin, body = shot.skins[0], shot.scene.bodies[0]
    smooth = smooth_embedding(body.asset, surface)
    x = body.start_positions() + 0.1 * np.sin(5.0 * body.start_positions()[:, ::-1])
    rows = np.argsort(body.asset.source_vertex)
    np.testing.assert_allclose(skin.positions(x), smooth.positions(x)[rows], atol=1e-14)
    np.testing.assert_allclose(skin.velocities(x), smooth.positions(x)[rows], atol=1e-14)
    apart = np.linalg.norm(skin.positions(x) - body.surface(x)[rows], axis=1).max()
    assert skin.smooth_distance(x) == pytest.approx(apart) and apart > 1e-5
    assert tiny_shot(tmp_path).skins[0].smooth_distance(x) == 0.0


def test_vertices_without_a_face_follow_a_smooth_skin_too(tmp_path):
    vertices = np.vstack([CUBE, [[0.5, 0.5, 1.5]]])
    mesh = painted_mesh(tmp_path, vertices, QUADS)
    body = {"mesh": mesh, "resolution": 4, "surface": "mls"}
    shot = shot_of(tmp_path, {"body": [body]})
    np.testing.assert_allclose(started(shot), vertices, atol=1e-12)


def test_an_asset_with_smooth_weights_is_shown_by_them(tmp_path):
    asset = build_cage((CUBE, box()[1]), resolution=4, collision=False, smooth="mls")
    marked = replace(asset, smooth_weights=asset.smooth_weights * 2.0)
    save_asset(marked, tmp_path / "cube.npz")
    shots = {
        surface: shot_of(tmp_path, {"body": [{"asset": "cube.npz", "surface": surface}]})
        for surface in ("barycentric", "mls", "gaussian")
    }
    np.testing.assert_allclose(started(shots["mls"]), 2.0 * CUBE, atol=1e-12)
    np.testing.assert_allclose(started(shots["barycentric"]), CUBE, atol=1e-12)
    np.testing.assert_allclose(started(shots["gaussian"]), CUBE, atol=1e-12)
