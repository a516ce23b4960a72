"""Shapes on static meshes: no bumps inside flat ground, ridges felt, both sides, the tree against all triangles."""

import numpy as np
import pytest
from core_oracles import Scene, random_quaternion, random_shape

from jellycage.sim.contact.convex.contact_table_kernels import thin_out
from jellycage.sim.contact.convex.detection import detection_work, rigid_contacts
from jellycage.sim.contact.convex.mesh_kernels import find_triangles
from jellycage.sim.errors import SettingsError
from jellycage.sim.rigid.body import RigidBody
from jellycage.sim.rigid.world import RigidSettings, RigidWorld
from jellycage.sim.shapes import Box, Capsule, Hull, Sphere
from jellycage.sim.shapes.cores import shape_arrays
from jellycage.sim.shapes.kinds_kernels import CONCAVE, CONVEX_EDGE, FLAT_EDGE, OPEN_EDGE
from jellycage.sim.shapes.static_mesh import StaticMesh, mesh_arrays
from jellycage.toolkit.compile_kernels import njit

DT = 1.0 / 60.0
SHAPES = {
    "sphere": Sphere(0.1),
    "box": Box((0.3, 0.2, 0.2)),
    "capsule": Capsule(0.1, (-0.2, 0.0, 0.0), (0.2, 0.0, 0.0)),
    "hull": Hull([(x, y, z) for z, s in ((-0.1, 0.2), (0.1, 0.3)) for x, y in
                  ((s, 0.0), (0.0, s), (-s, -s), (s, -s))]),
}  # fmt: skip


def grid(height, cells=12, size=2.0):
    """A square of triangles around the origin, its heights a function of x and y."""
    x, y = np.meshgrid(*[np.linspace(-size / 2, size / 2, cells + 1)] * 2, indexing="ij")
    vertices = np.column_stack([x.ravel(), y.ravel(), height(x, y).ravel()])
    corner = (np.arange(cells)[:, None] * (cells + 1) + np.arange(cells)).ravel()
    a, b, c, d = corner, corner + cells + 1, corner + cells + 2, corner + 1
    return StaticMesh(
        vertices, np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])
    )


FLAT = grid(lambda x, y: 0.0 * x)


def fall(shape, q, mesh, gap):
    """A scene with the shape above a mesh at height 0, its lowest point a gap over it."""
    scene = Scene([[shape]], meshes=[mesh])
    scene.q[0] = q
    posed = scene.posed(0)
    scene.p[0, 2] = gap - (posed.points[:, 2].min() - posed.radius)
    return scene


@pytest.mark.parametrize("gap", [5e-3, 1e-6, 0.0, -1e-6, -5e-3])
@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_that_slides_over_flat_ground_feels_no_edge(name, gap):
    rng = np.random.default_rng(41)
    scene = fall(SHAPES[name], (1.0, 0.0, 0.0, 0.0), FLAT, gap)
    expected = {"sphere": 1, "box": 4, "capsule": 2, "hull": 4}[name]
    for way in np.linspace(-0.5, 0.5, 101):
        turn = rng.uniform(0.0, 2.0 * np.pi)
        scene.q[0] = (np.cos(turn / 2), 0.0, 0.0, np.sin(turn / 2))
        scene.p[0, :2] = way, 0.3 * way + 0.01
        found = scene.contacts(margin=0.01)
        assert np.array_equal(found.normal, np.tile([0.0, 0.0, -1.0], (len(found.gap), 1)))
        assert np.allclose(found.gap, gap, atol=1e-9)
        assert (found.body == (0, -1)).all() and (found.shape[:, 1] < 0).all()
        assert len(found.gap) == expected
        corners = scene.posed(0).points
        low = corners[corners[:, 2] < corners[:, 2].min() + 1e-9]
        apart = np.linalg.norm(low[:, None, :2] - found.point[None, :, 0, :2], axis=2)
        assert apart.min(axis=1).max() < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_a_tumbling_shape_on_flat_ground_is_only_pushed_up(name):
    rng = np.random.default_rng(42)
    for _ in range(100):
        gap = rng.choice([1e-3, -1e-3, -2e-2])
        scene = fall(SHAPES[name], random_quaternion(rng), FLAT, gap)
        scene.p[0, :2] = rng.uniform(-0.5, 0.5, 2)
        found = scene.contacts(margin=0.01)
        assert len(found.gap) >= 1
        assert np.allclose(found.normal, (0.0, 0.0, -1.0), atol=1e-12)
        assert abs(found.gap.min() - gap) < 1e-9


def test_a_sphere_over_a_ridge_gets_the_normal_of_the_ridge():
    ridge = grid(lambda x, y: -np.abs(x))
    scene = Scene([[Sphere(0.1)]], meshes=[ridge])
    for angle in np.linspace(-0.7, 0.7, 15):
        scene.p[0] = (0.105 * np.sin(angle), 0.03, 0.105 * np.cos(angle))
        found = scene.contacts(margin=0.01)
        assert len(found.gap) == 1
        assert np.allclose(found.normal[0], (-np.sin(angle), 0.0, -np.cos(angle)), atol=1e-9)
        assert np.allclose(found.point[0, 1], (0.0, 0.03, 0.0), atol=1e-9)
        assert abs(found.gap[0] - 5e-3) < 1e-9
    # On the slope it feels the slope alone.
    scene.p[0] = np.array([0.3, 0.03, -0.3]) + 0.105 * np.array([1.0, 0.0, 1.0]) / np.sqrt(2.0)
    found = scene.contacts(margin=0.01)
    assert np.allclose(found.normal, -np.array([1.0, 0.0, 1.0]) / np.sqrt(2.0), atol=1e-9)


def test_a_sphere_beside_an_open_edge_meets_the_edge_and_no_corner_on_it():
    scene = Scene([[Sphere(0.1)]], meshes=[FLAT])
    for way in np.linspace(-0.4, 0.4, 41):
        scene.p[0] = (1.0 + 0.105 * np.sin(0.6), way, 0.105 * np.cos(0.6))
        found = scene.contacts(margin=0.02)
        assert len(found.gap) == 1
        assert np.allclose(found.normal[0], (-np.sin(0.6), 0.0, -np.cos(0.6)), atol=1e-9)


def test_a_sphere_in_a_valley_is_held_by_both_sides():
    valley = grid(lambda x, y: np.abs(x))
    scene = Scene([[Sphere(0.1)]], meshes=[valley])
    scene.p[0] = (0.0, 0.02, 0.1 * np.sqrt(2.0) + 1e-3)
    found = scene.contacts(margin=0.01)
    assert len(found.gap) == 2
    expected = np.array([(-1.0, 0.0, -1.0), (1.0, 0.0, -1.0)]) / np.sqrt(2.0)
    assert np.allclose(found.normal[np.argsort(found.normal[:, 0])], expected, atol=1e-9)
    assert np.allclose(found.gap, 1e-3 / np.sqrt(2.0), atol=1e-9)


def groove(left, right):
    """Two slopes along y that meet at the origin, each so much steeper than flat ground [degrees]."""
    edges = (
        (-3.0, 3.0 * np.tan(np.radians(left))),
        (0.0, 0.0),
        (3.0, 3.0 * np.tan(np.radians(right))),
    )
    vertices = [(x, y, z) for x, z in edges for y in (-3.0, 3.0)]
    return StaticMesh(vertices, [(0, 2, 3), (0, 3, 1), (2, 4, 5), (2, 5, 3)])


SLOPE = np.tan(np.radians(30.0))
KEEL = Hull([(x, y, z) for y in (-0.2, 0.2) for x, z in
             ((0.0, 0.0), (0.3, 0.3 * SLOPE), (-0.3, 0.3 * SLOPE), (0.0, 0.4))])  # fmt: skip
GROOVES = {
    "box, flat with an edge against the slope": (
        Box((0.3, 0.4, 0.2)),
        0.0,
        (-0.15, 0.0, 0.1),
        4,
        2,
    ),
    "keel, a face on either side": (KEEL, 30.0, (0.0, 0.0, 0.0), 4, 4),
}


@pytest.mark.parametrize("name", GROOVES)
def test_both_sides_of_a_groove_of_60_degrees_keep_their_contacts(name):
    shape, left, place, on_left, on_right = GROOVES[name]
    scene = Scene([[shape]], meshes=[groove(left, 60.0 - left)])
    left, right = np.radians([left, 60.0 - left])
    for height in (1e-3, 1e-6, -1e-6, -1e-3):
        scene.p[0] = np.array(place) + (0.0, 0.0, height)
        found = scene.contacts(margin=0.01)
        for normal, count in (
            ((-np.sin(left), -np.cos(left)), on_left),
            ((np.sin(right), -np.cos(right)), on_right),
        ):
            is_met = np.abs(found.normal[:, ::2] - normal).max(axis=1) < 1e-9
            assert is_met.sum() == count
        assert np.abs(found.gap).max() <= 1.001 * abs(height)


@pytest.mark.parametrize("name", GROOVES)
def test_what_rests_in_a_groove_of_60_degrees_stays(name):
    shape, left, place, *_ = GROOVES[name]
    body = RigidBody([shape], location=place, friction=0.0)
    # Pressed to both sides, with nothing but their normals to hold it.
    world = RigidWorld(
        [body],
        meshes=[groove(left, 60.0 - left)],
        gravity=(3.0 if left == 0.0 else 0.0, 0.0, -9.81),
        settings=RigidSettings(sleep_speed=0.0),
    )
    for _ in range(48):
        world.step(1.0 / 24.0)
        location, rotation = world.poses()
        assert np.abs(location[0] - place).max() < 1e-3
        assert np.abs(rotation[0, 1:]).max() < 1e-3


@pytest.mark.parametrize("degrees, kept", [(0.0, 4), (1e-4, 4), (60.0, 8), (85.0, 8), (95.0, 8)])
def test_four_contacts_are_left_of_each_normal(degrees, kept):
    """Of eight at the corners of two squares, in turns, whose normals differ by an angle."""
    angle, square = np.radians(degrees), [(1, 0), (0, 1), (-1, 0), (0, -1)]
    out, work = rigid_contacts(8), detection_work(shape_arrays([[Sphere(1.0)]]), mesh_arrays([]))
    for i in range(8):
        out.normal[i] = (0.0, np.sin(angle), np.cos(angle)) if i % 2 else (0.0, 0.0, 1.0)
        out.point[i] = (*square[i // 2], 0.0) if i % 2 else (*np.multiply(2, square[i // 2]), 0.0)
        out.shape[i], out.gap[i] = (0, -1 - i), -1e-3 if i % 2 else -2e-3
    before = {tuple(row): tuple(point[0]) for row, point in zip(out.shape, out.point, strict=True)}
    assert thin_out(0, 8, 1.0, work, out) == kept
    left = {
        tuple(row): tuple(point[0]) for row, point in zip(out.shape[:kept], out.point, strict=False)
    }
    assert left.items() <= before.items() and len(left) == kept
    assert (out.gap[:4] == -2e-3).all()


def test_a_fast_sphere_in_a_valley_meets_the_far_side_before_it_is_there():
    step = StaticMesh(
        [(-5, -5, 0), (1, -5, 0), (1, 5, 0), (-5, 5, 0), (1, -5, 3), (1, 5, 3)],
        [(0, 1, 2), (0, 2, 3), (1, 4, 5), (1, 5, 2)],
    )
    scene = Scene([[Sphere(0.1)]], meshes=[step])
    scene.p[0], scene.v[0] = (-1.0, 0.0, 0.1), (150.0, 0.0, 0.0)
    found = scene.contacts(DT, 1e-3)
    walls = found.normal[:, 0] > 0.99
    assert walls.any() and np.allclose(found.gap[walls], 1.9)
    assert np.allclose(found.normal[~walls], (0.0, 0.0, -1.0), atol=1e-9)


TABLE = StaticMesh(*Box((2.0, 2.0, 0.5), (0.0, 0.0, -0.25)).drawn())


@pytest.mark.parametrize("gap", [1e-3, -1e-3])
def test_a_box_over_the_edge_of_a_table_is_pushed_up_not_aside(gap):
    scene = fall(Box((0.5, 0.5, 0.5)), (1.0, 0.0, 0.0, 0.0), TABLE, gap)
    scene.p[0, :2] = 0.9, 0.1
    found = scene.contacts(margin=0.01)
    assert np.allclose(found.normal, (0.0, 0.0, -1.0), atol=1e-9)
    assert np.allclose(found.gap, gap, atol=1e-9)
    assert np.allclose(found.point[:, 0, 0].max(), 1.0, atol=1e-6)
    assert np.allclose(found.point[:, 0, 0].min(), 0.65, atol=1e-6)


def test_a_mesh_of_a_box_acts_as_the_box():
    """The deepest contact of shapes with a box, and with the triangles of the box, have one gap and one normal."""
    rng = np.random.default_rng(43)
    brick = Box((1.0, 0.8, 0.6))
    mesh = StaticMesh(*brick.drawn())
    count = 0
    for kind in ("sphere", "capsule", "box", "hull"):
        for _ in range(60):
            shape, q = random_shape(kind, rng, 0.4), random_quaternion(rng)
            p = rng.normal(size=3)
            p *= 0.9 / np.sqrt(p @ p)
            solid, meshed = Scene([[shape], [brick]], 1), Scene([[shape]], meshes=[mesh])
            for scene in (solid, meshed):
                scene.p[0], scene.q[0] = p, q
            expected = solid.contacts(margin=0.2)
            if not len(expected.gap) or expected.gap.min() < 0.0:
                continue
            count += 1
            found = meshed.contacts(margin=0.2)
            nearest, best = expected.gap.argmin(), found.gap.argmin()
            assert abs(found.gap[best] - expected.gap[nearest]) < 1e-9
            assert np.allclose(found.normal[best], expected.normal[nearest], atol=1e-6)
    assert count > 60


def test_an_open_mesh_has_two_sides_and_a_solid_one_pushes_out():
    scene = Scene([[Sphere(0.1)]], meshes=[FLAT])
    for side in (1.0, -1.0):
        for gap in (5e-3, -0.05):
            scene.p[0] = (0.01, 0.02, side * (0.1 + gap))
            found = scene.contacts(margin=0.01)
            assert np.allclose(found.gap, gap) and np.allclose(found.normal, (0, 0, -side))
    scene = Scene([[Sphere(0.1)]], meshes=[TABLE])
    # Sunk in by more than half, it is still pushed up; wholly inside it is left alone.
    scene.p[0] = (0.1, 0.2, -0.02)
    assert np.allclose(scene.contacts(margin=0.01).gap, -0.1, atol=0.021)
    scene.p[0] = (0.0, 0.0, -0.25)
    assert len(scene.contacts(margin=0.2).gap) == 0


@njit
def near_triangles(meshes, low, high, stack, out):
    return find_triangles(meshes, low, high, stack, out)


def test_the_tree_finds_what_trying_all_triangles_finds():
    rng = np.random.default_rng(44)
    for count in (0, 1, 3, 4, 5, 17, 300):
        corners = rng.normal(size=(count, 1, 3)) + rng.normal(scale=0.2, size=(count, 3, 3))
        mesh = StaticMesh(corners.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3))
        arrays = mesh_arrays([mesh])
        for _ in range(30):
            low = rng.normal(size=3)
            high = low + rng.exponential(0.5, 3)
            out = np.zeros(count, np.int64)
            found = out[: near_triangles(arrays, low, high, np.zeros(64, np.int64), out)]
            is_near = (corners.min(axis=1) <= high) & (corners.max(axis=1) >= low)
            expected = np.flatnonzero(is_near.all(axis=1))
            assert np.array_equal(np.sort(arrays.number[found]), expected)


def test_edges_know_how_they_fold():
    roof = StaticMesh(
        [(0, -1, 0), (0, 1, 0), (1, 0, -0.5), (-1, 0, -0.5), (0, 3, 0), (1, 2, 0.5)],
        [(0, 2, 1), (0, 1, 3)],
    )
    assert sorted(mesh_arrays([roof]).fold.ravel()) == sorted([CONVEX_EDGE] * 2 + [OPEN_EDGE] * 4)
    ditch = StaticMesh(np.array(roof.vertices) * (1, 1, -1), roof.faces)
    assert sorted(mesh_arrays([ditch]).fold.ravel()) == sorted([CONCAVE] * 2 + [OPEN_EDGE] * 4)
    folds = mesh_arrays([FLAT]).fold
    assert set(folds.ravel()) == {FLAT_EDGE, OPEN_EDGE}
    assert (folds == OPEN_EDGE).sum() == 4 * 12
    assert mesh_arrays([TABLE]).is_solid.all() and not mesh_arrays([FLAT]).is_solid.any()
    torn = StaticMesh(TABLE.vertices[TABLE.faces].reshape(-1, 3), np.arange(36).reshape(-1, 3))
    assert np.array_equal(mesh_arrays([torn]).fold, mesh_arrays([TABLE]).fold)


def test_triangles_are_numbered_through_all_meshes_and_flat_ones_left_out():
    bad = StaticMesh([(0, 0, 0), (1, 0, 0), (2, 0, 0), (0, 1, 0)], [(0, 1, 2), (0, 1, 3)])
    arrays = mesh_arrays([TABLE, bad, FLAT])
    assert sorted(arrays.number) == [n for n in range(12 + 2 + len(FLAT.faces)) if n != 12]
    corners = np.concatenate([m.vertices[m.faces] for m in (TABLE, bad, FLAT)])
    assert np.array_equal(arrays.corners, corners[arrays.number])


@pytest.mark.parametrize("vertices, faces, word", [
    ([(0, 0), (1, 1)], [(0, 1, 1)], "vertices"),
    ([(0, 0, np.nan)] * 3, [(0, 1, 2)], "finite"),
    ([(0, 0, 0)] * 3, [(0, 1, 3)], "there are 3"),
    ([(0, 0, 0)] * 3, [(0, 1)], "faces"),
    ([(0, 0, 0)] * 3, [(0.5, 1, 2)], "faces"),
])  # fmt: skip
def test_bad_meshes_are_refused_in_one_sentence(vertices, faces, word):
    with pytest.raises(SettingsError, match=word) as caught:
        StaticMesh(vertices, faces)
    assert "\n" not in str(caught.value)
