"""What shapes weigh, against formulas, sums over drawn meshes and random points; hulls; what is refused."""

import numpy as np
import pytest
from core_oracles import KINDS, Posed, random_quaternion, random_shape

from jellycage.sim.errors import SettingsError
from jellycage.sim.shapes import Box, Capsule, Hull, Plane, Sphere
from jellycage.sim.shapes.cores import shape_arrays
from jellycage.sim.shapes.hulls import MOST_CORNERS, convex_polytope, solid_mass_properties

CORNERS = np.array([(x, y, z) for x in (0, 1) for y in (0, 2) for z in (0, 3)], float)


@pytest.mark.parametrize("kind", KINDS)
def test_mass_agrees_with_random_points(kind):
    """Monte Carlo: a share of points in a box around the shape, within four standard errors."""
    rng = np.random.default_rng(31)
    shape = random_shape(kind, rng)
    if kind == "plate":
        shape = Box((1.0, 1.5, 0.2), (0.1, 0.2, 0.3))
    if kind == "tet":
        shape = Hull(np.vstack([np.zeros(3), np.eye(3)]) + 0.2 * rng.normal(size=(4, 3)))
    posed = Posed(shape)
    low, high = posed.points.min(axis=0) - posed.radius, posed.points.max(axis=0) + posed.radius
    points = rng.uniform(low, high, size=(200_000, 3))
    if len(posed.triangles):
        is_inside = ((points @ posed.normals.T) <= posed.heights).all(axis=1)
    else:
        a, u = posed.points[0], posed.points[-1] - posed.points[0]
        t = np.clip((points - a) @ u / max(u @ u, 1e-300), 0.0, 1.0)
        is_inside = ((points - a - t[:, None] * u) ** 2).sum(axis=1) <= posed.radius**2
    density, box = 700.0, np.prod(high - low)
    got, inside = shape.mass_properties(density), points[is_inside]
    share = is_inside.mean()
    error = 4.0 * np.sqrt(share * (1.0 - share) / len(points)) + 1e-12
    assert abs(got.mass / density / box - share) < error
    deviation = inside.std(axis=0) / np.sqrt(len(inside))
    assert (np.abs(inside.mean(axis=0) - got.centre) < 5.0 * deviation).all()
    offsets = inside - got.centre
    squares = got.mass * (offsets[:, :, None] * offsets[:, None, :]).mean(axis=0)
    expected = np.trace(squares) * np.eye(3) - squares
    assert np.abs(got.inertia - expected).max() < 0.02 * np.trace(got.inertia)


def test_inertia_of_a_ball_and_a_brick_is_that_of_the_books():
    ball = Sphere(0.3, (1.0, 2.0, 3.0)).mass_properties(1000.0)
    assert ball.mass == pytest.approx(1000.0 * 4.0 / 3.0 * np.pi * 0.027)
    assert np.allclose(ball.inertia, 0.4 * ball.mass * 0.09 * np.eye(3))
    assert np.allclose(ball.centre, (1.0, 2.0, 3.0))
    brick = Box((1.0, 2.0, 3.0)).mass_properties(2.0)
    assert brick.mass == pytest.approx(12.0)
    assert np.allclose(brick.inertia, np.diag([13.0, 10.0, 5.0]))


def test_a_turned_brick_weighs_as_its_hull_does():
    rng = np.random.default_rng(32)
    for _ in range(20):
        brick = Box(rng.uniform(0.1, 2.0, 3), rng.normal(size=3), random_quaternion(rng))
        one, other = brick.mass_properties(3.0), Hull(brick.polytope.points).mass_properties(3.0)
        assert one.mass == pytest.approx(other.mass)
        assert np.allclose(one.centre, other.centre)
        assert np.allclose(one.inertia, other.inertia)


@pytest.mark.parametrize("length", [0.0, 1e-3, 0.5, 4.0])
def test_a_capsule_weighs_as_the_limit_of_fine_meshes(length):
    """The error of a mesh of rings falls with the square of its fineness."""
    capsule = Capsule(0.2, (0.1, 0.0, 0.0), (0.1, length * 0.6, length * 0.8))
    exact = capsule.mass_properties(10.0)
    errors = []
    for fineness in (4, 8):
        meshed = solid_mass_properties(*capsule.drawn(fineness=fineness), 10.0)
        assert np.allclose(meshed.centre, exact.centre, atol=1e-12)
        errors.append([meshed.mass / exact.mass - 1.0, *(np.diag(meshed.inertia - exact.inertia))])
    coarse, fine = np.array(errors)
    assert np.abs(coarse).max() > 1e-6
    assert np.allclose(fine, coarse / 4.0, rtol=0.02, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_drawn_meshes_are_closed_face_outward_and_lie_on_the_surface(kind):
    rng = np.random.default_rng(33)
    for _ in range(5):
        shape = random_shape(kind, rng)
        vertices, faces = shape.drawn()
        edges = {(int(f[i]), int(f[(i + 1) % 3])) for f in faces for i in range(3)}
        assert len(edges) == 3 * len(faces)
        assert all((j, i) in edges for i, j in edges)
        drawn = solid_mass_properties(vertices, faces, 1.0)
        assert 0.85 < drawn.mass / shape.mass_properties(1.0).mass < 1.0 + 1e-9
        posed = Posed(shape)
        assert max(abs(posed.signed_distance(vertex)) for vertex in vertices) < 1e-9


def test_the_hull_of_a_brick_has_eight_corners_six_faces_and_twelve_edges():
    rng = np.random.default_rng(34)
    for _ in range(50):
        brick = Box(rng.uniform(0.01, 2.0, 3), rng.normal(size=3), random_quaternion(rng)).polytope
        # Points on its edges, in its faces and inside do not count.
        weights = rng.dirichlet(np.full(8, 0.2), 30)
        middles = [(brick.points[i] + brick.points[j]) / 2.0 for i, j, *_ in brick.edges()]
        hull = convex_polytope(np.concatenate([brick.points, weights @ brick.points, middles]))
        assert (len(hull.points), len(hull.faces), len(hull.edges())) == (8, 6, 12)
        assert hull.is_closed()


@pytest.mark.parametrize("count", [4, 7, 20, 64, 65, 1000])
def test_hulls_are_closed_convex_and_have_few_corners(count):
    rng = np.random.default_rng(35)
    for stretch in ((1.0, 1.0, 1.0), (1.0, 1.0, 0.01), (100.0, 1.0, 1.0)):
        points = rng.normal(size=(count, 3)) * stretch
        if count == 1000:
            points /= np.sqrt(((points / stretch) ** 2).sum(axis=1, keepdims=True))
        hull = convex_polytope(points)
        assert hull.is_closed() and len(hull.points) <= MOST_CORNERS
        size = np.ptp(points, axis=0).max()
        heights = np.array(
            [n @ hull.points[f[0]] for n, f in zip(hull.normals, hull.faces, strict=True)]
        )
        assert ((hull.points @ hull.normals.T - heights).max(axis=0) < 1e-8 * size).all()
        for normal, face in zip(hull.normals, hull.faces, strict=True):
            a, b, c = hull.points[face[:3]]
            assert np.cross(b - a, c - b) @ normal > 0.0
        if count <= MOST_CORNERS:
            assert ((points @ hull.normals.T - heights).max() < 1e-8 * size).all()
        else:
            full = solid_ball_volume(stretch) if count == 1000 else None
            if full is not None:
                assert 0.75 < hull.mass_properties(1.0).mass / full < 1.0


def solid_ball_volume(stretch):
    return 4.0 / 3.0 * np.pi * np.prod(stretch)


@pytest.mark.parametrize("make, word", [
    (lambda: Sphere(0.0), "radius"),
    (lambda: Sphere(float("nan")), "radius"),
    (lambda: Sphere(1.0, (1.0, 2.0)), "centre"),
    (lambda: Capsule(-1.0, (0, 0, 0), (1, 0, 0)), "radius"),
    (lambda: Capsule(1.0, (0, 0, np.inf), (1, 0, 0)), "start"),
    (lambda: Box((1.0, 0.0, 1.0)), "size"),
    (lambda: Box((1.0, 1.0, 1.0), rotation=(0, 0, 0, 0)), "rotation"),
    (lambda: Hull(CORNERS[:3]), "4 different points"),
    (lambda: Hull(CORNERS[:, :2]), "shape"),
    (lambda: Hull(CORNERS * (1.0, 1.0, 0.0)), "thickness"),
    (lambda: Hull(CORNERS * (1.0, 0.0, 0.0)), "different points"),
    (lambda: Hull(np.outer(np.arange(9.0), (1, 2, 3))), "thickness"),
    (lambda: Hull([[np.nan] * 3] * 5), "finite"),
    (lambda: Hull(np.repeat(CORNERS[:1], 9, axis=0)), "4 different points"),
    (lambda: Plane().mass_properties(1.0), "mass"),
])  # fmt: skip
def test_bad_shapes_are_refused_in_one_sentence(make, word):
    with pytest.raises(SettingsError, match=word) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_arrays_hold_every_core_relative_to_the_centre_of_mass():
    bodies = [[Sphere(0.5, (1.0, 0.0, 0.0)), Box((1.0, 1.0, 1.0))], [], [Hull(CORNERS)], [Plane()]]
    centres = np.array([(0.5, 0.0, 0.0), (9.0, 9.0, 9.0), (0.5, 1.0, 1.5), (0.0, 0.0, 0.0)])
    arrays = shape_arrays(bodies, centres)
    assert arrays.body.tolist() == [0, 0, 2, 3]
    assert arrays.point_start.tolist() == [0, 1, 9, 17, 17]
    assert arrays.face_start.tolist() == [0, 0, 6, 12, 12]
    assert np.allclose(arrays.points[0], (0.5, 0.0, 0.0))
    assert np.allclose(arrays.reach, [1.0, np.sqrt(1.5), np.sqrt(0.25 + 1.0 + 2.25), 0.0])
    for s, (first, last) in enumerate(zip(arrays.face_start, arrays.face_start[1:], strict=False)):
        points = arrays.points[arrays.point_start[s] : arrays.point_start[s + 1]]
        for f in range(first, last):
            corners = arrays.corners[arrays.corner_start[f] : arrays.corner_start[f + 1]]
            heights = arrays.points[corners] @ arrays.normals[f]
            assert (
                np.ptp(heights) < 1e-12 and (points @ arrays.normals[f]).max() < heights[0] + 1e-12
            )
        for i, j, left, right in arrays.edges[arrays.edge_start[s] : arrays.edge_start[s + 1]]:
            for f in (left, right):
                corners = arrays.corners[arrays.corner_start[f] : arrays.corner_start[f + 1]]
                assert i in corners and j in corners
