"""A cylinder weighs what it should, is where it should be, and soft and rigid bodies rest on it and as it."""

import numpy as np
import pytest
from contact_scenes import block

from jellycage import sim
from jellycage.sim.shapes import SHAPES
from jellycage.sim.shapes.cylinder import Cylinder
from jellycage.sim.shapes.cylinder_kernels import signed_distance


def test_it_weighs_what_its_triangles_weigh():
    shape = Cylinder(0.3, 0.8)
    exact, prism = shape.mass_properties(700.0), shape.polytope.mass_properties(700.0)
    assert shape.polytope.is_closed()
    assert exact.mass == pytest.approx(700.0 * np.pi * 0.09 * 0.8)
    assert prism.mass == pytest.approx(exact.mass, rel=1e-9)
    np.testing.assert_allclose(prism.inertia, exact.inertia, rtol=2e-3, atol=1e-9)


def test_the_distance_is_that_to_the_nearest_of_many_points():
    rng = np.random.default_rng(7)
    a, b, n = 0.5, 0.4, 400
    angle, height = np.meshgrid(np.linspace(0, 2 * np.pi, n), np.linspace(-b, b, n // 4))
    wall = np.stack([a * np.cos(angle), a * np.sin(angle), height], axis=-1).reshape(-1, 3)
    reach = a * np.sqrt(np.linspace(0, 1, n // 4))[:, None] * np.ones(n)
    turn = np.linspace(0, 2 * np.pi, n)
    lids = [
        np.stack([reach * np.cos(turn), reach * np.sin(turn), np.full_like(reach, z)], axis=-1)
        for z in (-b, b)
    ]
    surface = np.concatenate([wall, *(lid.reshape(-1, 3) for lid in lids)])
    for p in rng.uniform(-0.9, 0.9, (300, 3)):
        d, *normal = signed_distance(a, b, 0.0, *p)
        inside = np.hypot(p[0], p[1]) < a and abs(p[2]) < b
        nearest = np.linalg.norm(surface - p, axis=1).min()
        assert abs(abs(d) - nearest) < 0.03 and (d < 0.0) == inside
        assert np.linalg.norm(normal) == pytest.approx(1.0)
        on = p - d * np.array(normal)
        assert abs(signed_distance(a, b, 0.0, *on)[0]) < 1e-12


def test_a_soft_block_rests_on_a_drum():
    drum = sim.Collider(Cylinder(0.8, 0.5), sim.Motion((0.0, 0.0, -0.25)))
    body = block(bottom=(0.0, 0.0, 0.02), young_modulus=1e5, stiffness_damping=0.02)
    x = sim.simulate(sim.Scene([body], colliders=[drum]), 48, substeps=4).positions[0][-1]
    assert abs(x[:, 2].min()) < 0.01 and np.abs(x[:, :2].mean(axis=0)).max() < 0.01


def test_a_rigid_cylinder_stands_and_rolls():
    standing = sim.RigidBody([Cylinder(0.2, 0.5)], (0.0, 0.0, 0.25))
    lying = sim.RigidBody(
        [Cylinder(0.2, 0.5)], (0.0, 2.0, 0.2), (0.5**0.5, 0.0, 0.5**0.5, 0.0),
        velocity=(0.0, 1.0, 0.0), spin=(-5.0, 0.0, 0.0),
    )  # fmt: skip
    scene = sim.Scene(rigid_bodies=[standing, lying], colliders=[sim.ground()])
    stepper = sim.Stepper(scene, fps=24.0)
    state = stepper.start()
    for _ in range(48):
        stepper.step(state)
    upright, rolled = state.rigid["state_p"][:2]
    np.testing.assert_allclose(upright, [0.0, 0.0, 0.25], atol=2e-3)
    # Every edge of the prism takes a little of its speed: 4.0 would be a round one's.
    assert rolled[2] == pytest.approx(0.2, abs=4e-3) and 3.2 < rolled[1] < 4.0


def test_scene_files_know_it(tmp_path):
    from jellycage.sim.scene.build import build_shot
    from jellycage.sim.scene.scene_file import scene_of

    drum = {"kind": "cylinder", "radius": 0.3, "length": 0.5}
    shot = build_shot(scene_of({"frames": [1, 2], "rigid": [drum], "collider": [drum]}, tmp_path))
    (body,), (collider,) = shot.scene.rigid_bodies, shot.scene.colliders
    assert isinstance(body.shapes[0], Cylinder) and isinstance(collider.shape, Cylinder)
    assert SHAPES["cylinder"] is Cylinder
