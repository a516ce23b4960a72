"""Parts of a mesh that overlap share a cage until pins lead them apart."""

import numpy as np
import pytest
from shapes import ball, box, random_rotation, subdivided, together
from tiny_shots import shot_of

from jellycage.sim.export.frames import ExportMesh
from jellycage.sim.export.pc2 import Pc2Writer
from jellycage.toolkit.errors import SettingsError
from jellycage.toolkit.mesh.mesh import TriMesh
from jellycage.toolkit.mesh.repair import parts_of
from jellycage.toolkit.prepare import build_cage

FRAMES = 12
ARM = subdivided(box((1.0, 0.3, 0.3)), 2)
HAND = subdivided(box((0.6, 0.26, 0.26), (0.8, 0.02, 0.02)), 2)
RING = ball(2, 0.2, (0.45, 0.15, 0.15))  # on the arm


def part_numbers(shells):
    """Which shell each vertex of them all is of."""
    return np.repeat(np.arange(len(shells)), [len(shell[0]) for shell in shells])


def turned(vertices, part, which, degrees):
    """Poses in which some parts turn about where arm and hand meet."""
    joint = np.array([0.9, 0.15, 0.15])
    for angle in np.radians(np.linspace(0.0, degrees, FRAMES)):
        c, s = np.cos(angle), np.sin(angle)
        moved = (vertices - joint) @ np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]) + joint
        yield np.where(np.isin(part, which)[:, None], moved, vertices)


def led(folder, shells, *, which=(1,), degrees=90.0, weight=None, pin=None, **body):
    """(shot, poses) of shells of which some turn; weight: of the pin for each shell."""
    vertices, faces = together(*shells)
    part = part_numbers(shells)
    weights = np.ones(len(vertices)) if weight is None else np.array(weight)[part]
    np.savez(folder / "mesh.npz", vertices=vertices, faces=faces, weight=weights)
    poses = np.array(list(turned(vertices, part, which, degrees)))
    mesh = ExportMesh("mesh", len(vertices), [0], [])
    with Pc2Writer(folder / "poses.pc2", [mesh], first_frame=1) as cache:
        for pose in poses:
            cache.write([pose])
    keys = {"attribute": "weight", "target": "poses.pc2"} if pin is None else pin
    row = {"mesh": "mesh.npz", "resolution": 8, "preset": "flesh", "pin": [keys], **body}
    scene = {"frames": [1, FRAMES], "gravity": [0.0, 0.0, 0.0], "quality": "preview"}
    return shot_of(folder, {**scene, "body": [row]}), poses


def components(shot):
    return shot.scene.bodies[0].asset.meta["components"]


def said(shot):
    return "because pins lead those that overlap apart" in " ".join(shot.notes)


def farthest(shot, poses):
    """How far vertices are at most from where they are led, in cells."""
    stepper, body, most = shot.stepper(), shot.scene.bodies[0], 0.0
    state = stepper.start()
    for pose in poses[1:]:
        stepper.step(state)
        away = body.surface(state.soft[0].x) - pose[body.asset.source_vertex]
        most = max(most, float(np.linalg.norm(away, axis=1).max()))
    return most / body.asset.meta["cell_size"]


@pytest.mark.parametrize("element", ["tet", "hex"])
def test_a_hand_that_folds_on_its_arm_has_a_cage_of_its_own(element, tmp_path):
    """One cage of both cannot follow; the hand follows by itself, and an artist is told."""
    shot, poses = led(tmp_path, (ARM, HAND), element=element)
    assert components(shot) == 2 and said(shot)
    left = farthest(shot, poses)
    joined, poses = led(tmp_path, (ARM, HAND), element=element, join=True)
    assert components(joined) == 1 and not said(joined)
    assert 4.0 * left < farthest(joined, poses)


@pytest.mark.parametrize(
    "change",
    [
        {"which": (0, 1)},  # all turn alike
        {"degrees": 5.0},  # hardly apart
        {"weight": (1.0, 0.0)},  # nothing would hold the hand
        {"weight": (1.0, 0.2)},  # so soft that it is left behind anyway
        {"pin": {"all": True}},  # held, not led
        {"pin": {"all": True, "normal": [0, 0, 1], "target": "poses.pc2"}},  # may slide
    ],
    ids=["together", "little", "unpinned", "soft", "held", "sliding"],
)
def test_parts_that_one_cage_can_follow_stay_one_body(change, tmp_path):
    shot, _ = led(tmp_path, (ARM, HAND), **change)
    assert components(shot) == 1 and not said(shot)
    body, joined = (
        s.scene.bodies[0].asset for s in (shot, led(tmp_path, (ARM, HAND), **change, join=True)[0])
    )
    np.testing.assert_array_equal(body.cage_nodes, joined.cage_nodes)


def test_what_no_pin_holds_stays_with_the_part_that_it_hangs_on(tmp_path):
    shot, _ = led(tmp_path, (ARM, HAND, RING), weight=(1.0, 1.0, 0.0))
    asset = shot.scene.bodies[0].asset
    part = part_numbers((ARM, HAND, RING))[asset.source_vertex]
    nodes = [set(asset.elements[asset.embed_element[part == k]].ravel()) for k in range(3)]
    assert components(shot) == 2
    assert nodes[2] & nodes[0] and not nodes[1] & (nodes[0] | nodes[2])


def test_a_part_that_is_led_by_its_far_end_bends_and_stays_attached(tmp_path):
    shells = ARM, subdivided(box((2.0, 0.26, 0.26), (0.8, 0.02, 0.02)), 3)
    vertices = together(*shells)[0]
    for least, count in ((2.2, 1), (0.0, 2)):
        held = np.flatnonzero((part_numbers(shells) == 0) | (vertices[:, 0] > least)).tolist()
        pin = {"vertices": held, "target": "poses.pc2"}
        assert components(led(tmp_path, shells, pin=pin)[0]) == count


def test_parts_are_led_apart_alike_wherever_the_body_is_and_however_large(tmp_path):
    for body in ({"location": [3, -2, 1]}, {"scale": [2.0, 1.0, 1.0]}):
        vertices = together(ARM, HAND)[0]
        offset = {"offset": [{"frame": 1, "value": [0, 0, 0]}, {"frame": 9, "value": [0, 0, 1.5]}]}
        hand = np.flatnonzero(part_numbers((ARM, HAND)) == 1).tolist()
        held = np.setdiff1d(np.arange(len(vertices)), hand).tolist()
        pins = [{"vertices": hand, **offset}, {"vertices": held}]
        shot, _ = led(tmp_path, (ARM, HAND), pin=pins[0], **body)
        assert components(shot) == 1  # nothing leads the arm elsewhere
        body = {**body, "mesh": "mesh.npz", "resolution": 8, "preset": "flesh", "pin": pins}
        scene = {"frames": [1, FRAMES], "quality": "preview", "body": [body]}
        assert components(shot_of(tmp_path, scene)) == 2


def test_parts_of_a_mesh_are_its_closed_shells_and_what_is_hollow_in_them():
    hollow = [ball(2, 1.0), ball(2, 0.7)]
    hollow[1] = hollow[1][0], hollow[1][1][:, ::-1]
    vertices, faces = together(*hollow, box((1, 1, 1), (0.5, 0.5, 0.5)))
    turn = random_rotation(5)
    mesh = TriMesh(np.concatenate([vertices, [[9.0, 9.0, 9.0]]]) @ turn.T, faces)
    sizes = [len(hollow[0][0]) + len(hollow[1][0]), 8, 1]
    part = parts_of(mesh)
    bounds = np.cumsum([0, *sizes])
    found = [set(part[a:b].tolist()) for a, b in zip(bounds[:-1], bounds[1:], strict=True)]
    assert [len(numbers) for numbers in found] == [1, 1, 1]
    assert found[2] == {-1} and found[0] | found[1] == {0, 1}


def test_a_cage_joins_those_whose_vertices_have_one_number():
    chain = [ball(2, 0.6, (0.9 * k, 0.0, 0.0)) for k in range(4)]
    vertices, faces = together(*chain)
    number = part_numbers(chain)
    for join, count in ((number // 2, 2), (number, 4), (0 * number, 1), (7 - number // 3, 2)):
        asset = build_cage((vertices, faces), resolution=8, join=join)
        assert asset.meta["components"] == count
    for join, words in (
        (number[:-1], f"number for each of the {len(vertices)} vertices"),
        (number + 0.5, "whole number for each vertex"),
        (np.arange(len(vertices)), "one number for all vertices of a closed part"),
    ):
        with pytest.raises(SettingsError, match=words):
            build_cage((vertices, faces), resolution=8, join=join)
