"""Bodies pressed on each other slowly, and what goes through them: forces, centres of pressure, stresses."""

import numpy as np
from body_scenes import FPS, JELLY, globe, slab, soft
from lattice_blocks import tets_around
from shapes import ball, box, subdivided
from stepping import elastic

from jellycage import sim, toolkit
from jellycage.sim.soft.presets import QUALITIES

FREE = (0.0, 0.0, 0.0)


def pressed_patches(stepper, state, i, j):
    """What contacts of bodies i < j remember: (body, patch, force on i [N]) of each, shapes (c,), (c,) and (c, 3)."""
    memory = state.contacts
    row, side, patch = stepper.soft.finder(i, j).kept(memory)
    return np.array([i, j])[side], patch, memory.pressure[row, None] * memory.plane[row, :3]


def force_between(stepper, state, i, j):
    """What body j presses on body i with [N], shape (3,), i < j."""
    return pressed_patches(stepper, state, i, j)[2].sum(axis=0)


def centre_of_pressure(stepper, state, i, j):
    """Where bodies i < j press on each other [m], shape (3,): the mean of their patches by upward force."""
    body, patch, force = pressed_patches(stepper, state, i, j)
    places = np.empty((len(body), 3))
    for which in (i, j):
        surface, own = stepper.scene.bodies[which].asset.collision, body == which
        tets = surface.tets[surface.patch_tet[patch[own]]]
        weights = surface.patch_centre[patch[own]]
        places[own] = np.einsum("pa,pai->pi", weights, state.soft[which].x[tets])
    return force[:, 2] @ places / force[:, 2].sum()


def guided(asset, middle=0.0):
    """A pin that keeps three points of the axis of a body, about a height [m], on a vertical line: it cannot lean."""
    places = np.outer(np.array([-0.04, 0.0, 0.04]) + middle, [0.0, 0.0, 1.0])
    tet = tets_around(places, asset.cage_nodes, asset.cage_tets)
    corners = asset.cage_nodes[asset.cage_tets[tet]]
    edges = (corners[:, :3] - corners[:, 3:]).transpose(0, 2, 1)
    first = np.linalg.solve(edges, (places - corners[:, 3])[:, :, None])[:, :, 0]
    weights = np.column_stack([first, 1.0 - first.sum(axis=1)])
    return sim.Pin(sim.embedded_points(asset.cage_tets, tet, weights), along=(0.0, 0.0, 1.0))


def finer(shape, splits, resolution=5):
    """The very same solid, whose triangles are cut into four `splits` times more."""
    cut = subdivided(box((0.2, 0.2, 0.2), (-0.1, -0.1, -0.1)), 2)
    plain = cut if shape == "cube" else ball(3, 0.1)
    return toolkit.build_cage(subdivided(plain, splits), resolution=resolution)


def one_on_another(shape, splits):
    """Two cubes, the upper one not in the middle, or two balls that are kept from rolling off, on a floor."""
    asset, aside = finer(shape, splits), 0.03 if shape == "cube" else 0.0
    pins = [] if shape == "cube" else [guided(asset)]
    options = {"damping_ratio": 0.5, "pins": pins}
    return [soft(asset, (aside * k, 0.0, 0.1 + 0.2 * k), **options) for k in range(2)]


def pressed_blocks(pressure):
    """Two blocks of unlike cages and triangles above each other, the upper one pressed down from above [Pa].

    Their law is linear in the stretch, so that nominal stresses are known whatever the pressure is.
    """
    side = (0.2, 0.2, 0.2)
    lower, upper = slab(side, 5, 2), slab(side, 7, 3)
    load = sim.Force(*top_forces(upper, pressure))
    law = sim.Corotated(JELLY.young_modulus, JELLY.poisson_ratio, JELLY.density)
    options = {"friction": 0.0, "damping_ratio": 0.5, "law": law}
    below = soft(lower, pins=[guided(lower, 0.1)], **options)
    return [below, soft(upper, (0.0, 0.0, 0.2), loads=[load], pins=[guided(upper, 0.1)], **options)]


def top_forces(asset, pressure):
    """Points of the top of an asset, and the force on each [N] under a pressure on it [Pa]."""
    vertices, faces = asset.surface_vertices, asset.surface_faces
    is_top = vertices[:, 2] >= vertices[:, 2].max() - 1e-9
    a, b, c = vertices[faces[is_top[faces].all(axis=1)]].transpose(1, 0, 2)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2.0
    corners = faces[is_top[faces].all(axis=1)]
    share = np.bincount(corners.ravel(), np.repeat(area / 3.0, 3), len(vertices))
    top = np.flatnonzero(share > 0.0)
    return sim.surface_points(asset, top), -pressure * share[top, None] * [0.0, 0.0, 1.0]


def upright_stresses(body, x):
    """Nominal stress along z of each co-rotated element that is not turned [Pa], solid volumes [m^3], heights [m]."""
    elements, corners = body.elements, body.elements.corners
    points = len(elements.volumes) // len(corners)
    nodes = np.repeat(corners, points, axis=0)
    gradient = np.einsum("qai,qaj->qij", x[nodes], elements.gradients)
    strain = (gradient + gradient.transpose(0, 2, 1)) / 2.0 - np.eye(3)
    young, nu = body.material.young_modulus, body.material.poisson_ratio
    trace = np.trace(strain, axis1=1, axis2=2)
    stress = young / (1.0 + nu) * (strain[:, 2, 2] + nu / (1.0 - 2.0 * nu) * trace)
    return stress, body.solid_volumes, elements.nodes[nodes][:, :, 2].mean(axis=1)


def second_layer(body, height, cell):
    """Which elements are one layer in from a contact at a height at rest [m], of cells of a size [m]."""
    away = np.abs(upright_stresses(body, body.elements.nodes)[2] - height)
    return (away > cell) & (away <= 2.0 * cell)


def squeezed(count, resolution, approach, *, radius=0.1, seconds=1.0):
    """Force [N] through balls above each other between two plates, each contact pressed by an approach [m].

    Read from the elastic forces below the middle of the lowest: what they do not balance is what it stands on.
    """
    asset = globe(radius, resolution, 5)
    places = radius * (1.0 + 2.0 * np.arange(count))
    options = {"friction": 0.0, "damping_ratio": 1.0, "pins": [guided(asset)]}
    bodies = [soft(asset, (0.0, 0.0, z), **options) for z in places]
    top = 2.0 * radius * count
    down = top - 2.0 * count * approach
    # Upside down: a plate is solid below its own xy plane.
    path = sim.Motion([(0, 0, top), (0, 0, down)], [(0.0, 1.0, 0.0, 0.0)] * 2, [0.0, 0.7 * seconds])
    plates = [sim.ground(friction=0.0), sim.Collider(sim.Plane(), path, 0.0)]
    settings = sim.SolverSettings(newton_iterations=QUALITIES["final"].newton_iterations)
    scene = sim.Scene(bodies, colliders=plates, gravity=FREE, solver=settings)
    stepper = sim.Stepper(scene, fps=FPS, substeps=1)
    state = stepper.start()
    for _ in range(round(seconds * FPS)):
        stepper.step(state)
    x = state.soft[0].x
    is_low = bodies[0].start_positions()[:, 2] < places[0]
    return -elastic(bodies[0], x)[1][is_low, 2].sum()


def hertz_force(radius, approach):
    """Of a ball of the standard material pressed on a rigid plate, or on its like by as much each [N]. Hertz 1882."""
    modulus = JELLY.young_modulus / (1.0 - JELLY.poisson_ratio**2)
    return 4.0 / 3.0 * modulus * np.sqrt(radius) * approach**1.5
