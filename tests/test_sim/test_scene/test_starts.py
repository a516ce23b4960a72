"""What starts inside something else is named, with how deep; what only touches, or only its box overlaps, is not."""

import numpy as np
import pytest
from shapes import ball
from tiny_shots import cube_file, painted_mesh

from jellycage import sim
from jellycage.sim.scene.build import build_shot
from jellycage.sim.scene.scene_file import scene_of
from jellycage.sim.scene.starts import start_notes
from jellycage.sim.shapes.colliders import Collider, Motion


def notes(folder, bodies=(), colliders=(), rigids=()):
    """What is said of a scene; bodies without a mesh are cubes with corners at 0 and 1."""
    rows = [{"mesh": cube_file(folder), "resolution": 4, **row} for row in bodies]
    content = {"body": rows, "collider": list(colliders), "rigid": list(rigids)}
    shot = build_shot(scene_of(content, folder), collision=True)
    return start_notes(shot, [row["name"] for row in colliders])


FLOOR = {"kind": "plane", "name": "floor"}


@pytest.mark.parametrize(
    ("height", "said"),
    [
        (-0.2, ["cube: starts 0.2 m (20% of its size) inside floor; move it out"]),
        (-3.0, ["cube: starts 3 m (300% of its size) inside floor; move it out"]),
        (-1e-4, []),
        (0.0, []),
        (0.5, []),
    ],
)
def test_a_body_in_the_floor_is_named_with_its_depth(tmp_path, height, said):
    assert notes(tmp_path, [{"location": [0, 0, height]}], [FLOOR]) == said


@pytest.mark.parametrize("element", ["tet", "hex"])
def test_bodies_that_overlap_are_named_with_the_depth(tmp_path, element):
    """Two cubes of 1 m, one shifted by 0.75 m along an axis: 0.25 m deep."""
    kinds = {"element": element}
    two = [{"name": "a", **kinds}, {"name": "b", "location": [0.0, 0.75, 0.0], **kinds}]
    (said,) = notes(tmp_path, two)
    assert said.startswith("a and b: start 0.") and said.endswith(
        "inside each other and will part; move them apart, or let them pass through each other"
    )
    depth = float(said.split("start ")[1].split(" m")[0])
    assert 0.2 < depth <= 0.25


def test_one_body_inside_another_is_found_from_either_side(tmp_path):
    small = {"name": "small", "scale": 0.2, "location": [0.4, 0.4, 0.4]}
    for bodies in ([{"name": "big"}, small], [small, {"name": "big"}]):
        (said,) = notes(tmp_path, bodies)
        assert "start 0.4 m (200% of the smaller one) inside each other" in said


def test_bodies_of_which_only_the_boxes_overlap_are_apart(tmp_path):
    """Two balls of radius 1 along a diagonal: the boxes overlap, the balls are 0.07 m apart."""
    vertices, faces = ball(2)
    mesh = painted_mesh(tmp_path, vertices, faces, "ball.ply")
    rows = [{"mesh": mesh, "name": name} for name in "ab"]
    for shift, count in ((1.2, 0), (1.0, 1)):
        there = {**rows[1], "location": [shift] * 3}
        assert len(notes(tmp_path, [rows[0], there])) == count


def test_bodies_that_touch_are_apart(tmp_path):
    assert notes(tmp_path, [{"name": "a"}, {"name": "b", "location": [0, 0, 1.0]}]) == []


def test_a_small_collider_inside_a_body_is_found_too(tmp_path):
    """No vertex of the cube is in the ball at its centre, whose own points are up to 0.5 m deep."""
    ball_inside = {"kind": "sphere", "name": "core", "radius": 0.05, "location": [0.5, 0.5, 0.5]}
    (said,) = notes(tmp_path, [{}], [FLOOR, ball_inside])
    assert said.startswith("cube: starts 0.4") and "inside core" in said
    beside = {**ball_inside, "location": [2.0, 0.5, 0.5]}
    assert notes(tmp_path, [{}], [FLOOR, beside]) == []


def test_a_turned_and_moved_collider_is_where_it_is_at_the_start(tmp_path):
    keys = [{"frame": 1, "location": [0.0, 0.0, -0.5]}, {"frame": 9, "location": [0.0, 0.0, 0.5]}]
    press = {"kind": "box", "name": "press", "size": [8.0, 8.0, 1.0], "keys": keys}
    assert notes(tmp_path, [{}], [press]) == []
    lower = [{"location": [0.0, 0.0, -0.3]}]
    assert "cube: starts 0.3 m (30% of its size) inside press" in notes(tmp_path, lower, [press])[0]
    tilted = {
        "kind": "plane",
        "name": "wall",
        "rotation": [0.0, 90.0, 0.0],
        "location": [0.4, 0, 0],
    }
    assert "cube: starts 0.4 m" in notes(tmp_path, [{}], [tilted])[0]


def test_a_rigid_body_in_the_floor_is_named(tmp_path):
    crate = {"kind": "box", "name": "crate", "size": [1.0, 1.0, 2.0], "location": [0, 0, 0.9]}
    (said,) = notes(tmp_path, colliders=[FLOOR], rigids=[crate])
    assert said == "crate: starts 0.1 m (5% of its size) inside floor; move it out"
    assert notes(tmp_path, colliders=[FLOOR], rigids=[{**crate, "location": [0, 0, 1.0]}]) == []


def test_distances_of_a_collider_are_those_of_its_shape():
    points = np.random.default_rng(0).uniform(-2.0, 2.0, (50, 3))
    centre = np.array([0.3, -0.2, 0.1])
    found = Collider(sim.Sphere(0.7), Motion(centre)).distances(points)
    assert np.allclose(found, np.linalg.norm(points - centre, axis=1) - 0.7, rtol=0, atol=1e-12)
