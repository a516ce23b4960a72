"""Scenes of soft bodies that meet each other, and sums over them, shared by the checks of their contact."""

from functools import cache
from pathlib import Path

import numpy as np
from contact_scenes import centre
from oracles import signed_volume
from shapes import ball, box, random_rotation, subdivided
from stepping import elastic

from jellycage import sim, toolkit
from jellycage.sim.soft.presets import QUALITIES, stiffness_damping, substeps_for

G, FPS = 9.81, 24.0
NOWHERE = (0.0, 0.0, 0.0)
SAMPLES = Path(__file__).resolve().parent.parent / "sample_meshes"
JELLY = sim.NeoHookean(1e5, 0.4, 1000.0)
DAMPING_RATIO = 0.1  # of the first mode along the height of a body


@cache
def cube(edge=0.2, resolution=4, splits=3):
    """A cube that stands on z = 0."""
    return slab((edge, edge, edge), resolution, splits)


@cache
def slab(size, resolution=4, splits=3):
    """A block that stands on the middle of its bottom at the origin."""
    corner = (-size[0] / 2, -size[1] / 2, 0.0)
    return toolkit.build_cage(subdivided(box(size, corner), splits), resolution=resolution)


@cache
def globe(radius=0.1, resolution=6, splits=3):
    """A ball about the origin."""
    return toolkit.build_cage(ball(splits, radius), resolution=resolution)


@cache
def sample(name, size=0.2, resolution=8):
    """A sample mesh whose longest side is `size` [m], its box about the origin."""
    return sized(SAMPLES / f"{name}.obj", size, resolution)


def sized(path, size, resolution):
    """The same of any mesh file."""
    mesh = toolkit.read_mesh(path)
    low, high = mesh.bounds()
    vertices = (mesh.vertices - (low + high) / 2.0) * (size / (high - low).max())
    return toolkit.build_cage(toolkit.TriMesh(vertices, mesh.faces), resolution=resolution)


def soft(asset, at=NOWHERE, *, turned=None, law=JELLY, damping_ratio=DAMPING_RATIO, **options):
    """A body of an asset that starts moved to `at` [m], after it was turned by a matrix."""
    nodes = asset.cage_nodes if turned is None else asset.cage_nodes @ turned.T
    height = float(np.ptp(asset.surface_vertices, axis=0).min())
    options.setdefault("stiffness_damping", stiffness_damping(damping_ratio, law, height))
    return sim.SoftBody(asset, law, start=nodes + at, **options)


def stepper_of(bodies, *, quality="standard", length=None, gravity=(0.0, 0.0, -G), **surroundings):
    """Steps bodies at the steps of a quality, for a length [m]: by default the longest side of the smallest."""
    row = QUALITIES[quality]
    if length is None:
        length = min(np.ptp(body.asset.surface_vertices, axis=0).max() for body in bodies)
    settings = sim.SolverSettings(newton_iterations=row.newton_iterations)
    scene = sim.Scene(bodies, solver=settings, gravity=gravity, **surroundings)
    return sim.Stepper(scene, fps=FPS, substeps=substeps_for(FPS, length, gravity, row))


def frames(stepper, seconds, state=None):
    """Its state after each frame: the same object, stepped on."""
    state = stepper.start() if state is None else state
    for _ in range(round(seconds * stepper.fps)):
        stepper.step(state)
        yield state


def after(stepper, seconds, state=None):
    """Its state after some time [s]."""
    state = stepper.start() if state is None else state
    for _ in frames(stepper, seconds, state):
        pass
    return state


def centres(bodies, state):
    """Centres of mass [m], shape (bodies, 3)."""
    return np.array([centre(b, s.x) for b, s in zip(bodies, state.soft, strict=True)])


def mean_velocities(bodies, state):
    """Velocities of the centres of mass [m/s], shape (bodies, 3)."""
    return np.array([b.mass @ s.v / b.mass.sum() for b, s in zip(bodies, state.soft, strict=True)])


def momenta(bodies, state):
    """Linear [kg m/s] and angular momentum about the origin [kg m^2/s], shape (2, 3)."""
    linear, angular = np.zeros(3), np.zeros(3)
    for body, own in zip(bodies, state.soft, strict=True):
        p = body.mass[:, None] * own.v
        linear += p.sum(axis=0)
        angular += np.cross(own.x, p).sum(axis=0)
    return np.array([linear, angular])


def momentum_scale(bodies, state):
    """Sum of m |v| of all nodes [kg m/s]."""
    pairs = zip(bodies, state.soft, strict=True)
    return sum(float(body.mass @ np.linalg.norm(own.v, axis=1)) for body, own in pairs)


def energies(bodies, state):
    """Kinetic and elastic energy of each body [J], from positions and speeds alone, shape (bodies, 2)."""
    return np.array(
        [
            (0.5 * body.mass @ (own.v * own.v).sum(axis=1), elastic(body, own.x)[0])
            for body, own in zip(bodies, state.soft, strict=True)
        ]
    )


def stack(count, young_modulus=1e5, edge=0.2, gap=0.005):
    """Soft cubes above each other and the floor, with gaps [m]."""
    law = sim.NeoHookean(young_modulus, 0.4, 1000.0)
    places = [(0.0, 0.0, (edge + gap) * k + gap) for k in range(count)]
    return [soft(cube(edge), at, law=law) for at in places]


def tilted(angle):
    """Gravity that a slope of an angle [rad] feels which falls along +x."""
    return (G * np.sin(angle), 0.0, -G * np.cos(angle))


def held_nodes(asset, is_held):
    """A pin of the nodes of a cage that stay where they start."""
    return sim.Pin(sim.node_points(np.flatnonzero(is_held), node_count=len(asset.cage_nodes)))


def held_below(asset, height=0.0):
    """A pin of the nodes of the cage that are no higher than this [m]."""
    return held_nodes(asset, asset.cage_nodes[:, 2] <= height)


PILED = ("gummy_bear", "beam", "hand", "creature", "torus_knot")


def random_pile(seed, files):
    """(bodies, colliders, typical size [m], text): 2 to 12 meshes above the floor of a box of planes."""
    rng = np.random.default_rng(seed)
    count, scale = int(rng.integers(2, 13)), 10.0 ** rng.uniform(-0.8, 0.8)
    pitch, bodies, names = 1.6 * scale, [], []
    for k in range(count):
        path = files[rng.integers(len(files))]
        size = scale * rng.uniform(0.6, 1.5)
        asset = sized(path, size, int(rng.integers(6, 11)))
        cell = np.array([k % 2, k // 2 % 2, k // 4]) - [0.5, 0.5, 0.0]
        at = pitch * cell + rng.uniform(-0.05, 0.05, 3) * scale + [0.0, 0.0, 0.9 * scale]
        law = _random_law(rng, asset, scale, size)
        turned = random_rotation(int(rng.integers(1 << 30)))
        bodies.append(soft(asset, at, turned=turned, law=law, friction=rng.uniform(0.1, 0.9)))
        names.append(path.stem)
    text = f"{scale:.2g} m: {', '.join(sorted(names))}"
    return bodies, walled(1.9 * scale), scale, text


def _random_law(rng, asset, scale, size):
    """A material with which a body weighs up to ten times as much or as little as others, and stands by itself."""
    volume = signed_volume(asset.surface_vertices, asset.surface_faces)
    density = 1000.0 * 0.1 * scale**3 / volume * 10.0 ** rng.uniform(-1.0, 1.0)
    softest = max(density * G * size / 0.5, 1e3)
    young_modulus = np.exp(rng.uniform(np.log(softest), np.log(max(1e7, softest))))
    return sim.NeoHookean(young_modulus, rng.uniform(0.2, 0.48), density)


def walled(half):
    """A floor and four walls at +-half [m]."""
    s = np.sqrt(0.5)
    turns = ((s, 0, s, 0), (s, 0, -s, 0), (s, -s, 0, 0), (s, s, 0, 0))
    places = ((-half, 0, 0), (half, 0, 0), (0, -half, 0), (0, half, 0))
    walls = [
        sim.Collider(sim.Plane(), sim.Motion(place, turn))
        for place, turn in zip(places, turns, strict=True)
    ]
    return [sim.ground(), *walls]
