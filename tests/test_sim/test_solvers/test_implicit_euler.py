"""Implicit Euler moves bodies as mechanics says: momentum, energy, frequencies, damping, drag and loads."""

import numpy as np
import pytest
from beams import beam_hexes, beam_tets, end_nodes
from stepping import OneBody, elastic

from jellycage import sim
from jellycage.sim.materials import LAWS
from jellycage.sim.rotations import ROTATIONS

BEAMS = {"tets": beam_tets, "hexes": beam_hexes}
MATERIALS = {law.name: law for law in LAWS}
GRAVITY = np.array([0.0, 0.0, -9.81])
NONE = np.zeros(3)
CONVERGED = sim.SolverSettings(
    newton_iterations=40,
    newton_tolerance=1e-10,
    linear_iterations=1000,
    linear_tolerance=1e-6,
    stiffness="projected",
    precision=1e-15,
)


def cage(kind, counts=(2, 2, 2), size=(1.0, 1.0, 1.0)):
    return sim.Cage(*BEAMS[kind](*counts, size))


def two_cubes(kind):
    """Two cubes in one cage that share no node, of different size."""
    one, other = cage(kind), cage(kind, (1, 2, 2), (0.5, 0.8, 0.7))
    nodes = np.concatenate([one.nodes, other.nodes + [1.5, 0.2, 0.1]])
    return sim.Cage(nodes, np.concatenate([one.elements, other.elements + len(one.nodes)]))


def stepped(body, steps, dt, settings=None, **surroundings):
    """The states after 0, 1, .. steps."""
    run = OneBody(body, dt, settings, **{"gravity": NONE, **surroundings})
    states = [run.copy()]
    for _ in range(steps):
        run.step()
        states.append(run.copy())
    return states


def momentum(body, state):
    return (body.mass[:, None] * state.v).sum(axis=0)


def angular_momentum(body, state):
    return (body.mass[:, None] * np.cross(state.x, state.v)).sum(axis=0)


def centre(body, x):
    return (body.mass[:, None] * x).sum(axis=0) / body.mass.sum()


def total_energy(body, state):
    kinetic = 0.5 * (body.mass[:, None] * state.v**2).sum()
    return kinetic + elastic(body, state.x)[0]


@pytest.fixture(params=list(BEAMS))
def kind(request):
    return request.param


@pytest.fixture(params=list(MATERIALS))
def material(request):
    return MATERIALS[request.param]


@pytest.mark.parametrize("settings", [None, CONVERGED], ids=["default", "converged"])
def test_free_fall_is_the_discrete_parabola(kind, material, settings):
    """A falling body does not deform: every node follows it, whatever the solver's tolerances are."""
    velocity, dt = np.array([1.0, -2.0, 3.0]), 0.02
    body = sim.SoftBody(cage(kind), material(), velocity=velocity)
    error = 0.0
    for n, state in enumerate(stepped(body, 50, dt, settings, gravity=GRAVITY)):
        fallen = velocity * n * dt + GRAVITY * dt**2 * n * (n + 1) / 2
        error = max(error, np.abs(state.x - body.elements.nodes - fallen).max())
    assert error < 1e-12 * np.linalg.norm(fallen)


def test_the_centre_of_a_falling_body_is_exact(kind, material):
    velocity, dt = np.array([1.0, -2.0, 3.0]), 0.02
    body = sim.SoftBody(cage(kind), material(), velocity=velocity)
    start, error = centre(body, body.elements.nodes), 0.0
    for n, state in enumerate(stepped(body, 50, dt, gravity=GRAVITY)):
        fallen = velocity * n * dt + GRAVITY * dt**2 * n * (n + 1) / 2
        error = max(error, np.abs(centre(body, state.x) - start - fallen).max())
    assert error < 1e-12 * np.linalg.norm(fallen)


def test_free_fall_is_first_order():
    """The discrete parabola is ahead of the true one by g t dt / 2."""
    body, errors = sim.SoftBody(cage("tets"), sim.Corotated()), []
    start = centre(body, body.elements.nodes)
    for steps in (10, 20, 40):
        x = stepped(body, steps, 0.4 / steps, gravity=GRAVITY)[-1].x
        errors.append(np.abs(centre(body, x) - start - GRAVITY * 0.4**2 / 2).max())
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 2.0, rtol=1e-9)


def violent_body(kind, material, **options):
    """Two spinning cubes that were shaken until elements turned inside out."""
    cubes, rng = two_cubes(kind), np.random.default_rng(0)
    body = sim.SoftBody(
        cubes,
        material(),
        start=cubes.nodes + rng.normal(scale=0.3, size=cubes.nodes.shape),
        velocity=rng.normal(size=cubes.nodes.shape),
        spin=[5.0, -3.0, 8.0],
        **options,
    )
    assert (sim.determinants(body, body.start_positions()) < 0.0).any()
    return body


@pytest.mark.parametrize("gravity", [NONE, GRAVITY], ids=["weightless", "falling"])
@pytest.mark.parametrize("linear_iterations", [1, 2])
def test_truncated_solves_keep_the_momentum_of_every_part(
    kind, material, linear_iterations, gravity
):
    settings = sim.SolverSettings(newton_iterations=1, linear_iterations=linear_iterations)
    body, dt = violent_body(kind, material), 0.01
    states = stepped(body, 30, dt, settings, gravity=gravity)
    worst = 0.0
    for part in range(2):
        mass = body.mass * (body.part == part)
        scale = (mass[:, None] * np.abs(states[0].v)).sum()
        start = (mass[:, None] * states[0].v).sum(axis=0)
        for n, state in enumerate(states):
            expected = start + mass.sum() * gravity * n * dt
            error = (mass[:, None] * state.v).sum(axis=0) - expected
            worst = max(worst, np.abs(error).max() / scale)
    assert worst < 1e-10


@pytest.mark.parametrize("rotation", list(ROTATIONS))
def test_the_momentum_of_inverted_elements_is_kept(kind, rotation):
    body = violent_body(kind, sim.Corotated, rotation_method=rotation)
    states = stepped(body, 100, 0.01)
    scale = (body.mass[:, None] * np.abs(states[0].v)).sum()
    worst = max(np.abs(momentum(body, s) - momentum(body, states[0])).max() for s in states)
    assert worst < 1e-10 * scale


def test_the_drift_of_the_angular_momentum_is_first_order(kind, material):
    body = sim.SoftBody(cage(kind), material(poisson_ratio=0.3), spin=[1.0, 2.0, -3.0])
    drifts = []
    for steps in (80, 160, 320):
        states = stepped(body, steps, 0.2 / steps, CONVERGED)
        change = angular_momentum(body, states[-1]) - angular_momentum(body, states[0])
        drifts.append(np.linalg.norm(change) / np.linalg.norm(angular_momentum(body, states[0])))
    ratios = np.divide(drifts[:-1], drifts[1:])
    assert drifts[-1] < 0.01
    np.testing.assert_allclose(ratios, 2.0, rtol=0.1)


@pytest.mark.parametrize("quadrature", [1, 8])
def test_internal_forces_have_no_torque_and_no_sum(kind, material, quadrature):
    body = sim.SoftBody(cage(kind), material(), rotation_method="isvd", quadrature=quadrature)
    worst = 0.0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = body.elements.nodes + rng.normal(scale=0.4, size=(27, 3))
        force = elastic(body, x)[1]
        scale = (np.linalg.norm(x, axis=1) * np.linalg.norm(force, axis=1)).sum()
        torque = np.cross(x, force).sum(axis=0)
        worst = max(worst, np.abs(torque).max() / scale, np.abs(force.sum(axis=0)).max() / scale)
    assert worst < 1e-12


def test_a_body_at_rest_stays_at_rest(kind, material):
    body = sim.SoftBody(cage(kind), material())
    moved = np.abs(stepped(body, 100, 0.01)[-1].x - body.elements.nodes).max()
    assert moved < 1e-12 * body.size


def test_a_body_at_its_equilibrium_stays_there(kind, material):
    beam = cage(kind, (4, 2, 2), (2.0, 0.5, 0.5))
    pins = [sim.Pin(sim.node_points(end_nodes(beam.nodes)[0]), target=beam.nodes[:9])]
    hanging = sim.SoftBody(beam, material(), pins=pins)
    x = sim.equilibrium(hanging).x
    body = sim.SoftBody(beam, material(), pins=pins, start=x)
    sag = np.abs(x - beam.nodes).max()
    states = stepped(body, 100, 0.02, gravity=GRAVITY)
    drift = max(np.abs(state.x - x).max() for state in states)
    assert sag > 0.05
    assert drift < 1e-8 * body.size  # the solver's precision is 1e-9 of the size


def plucked_beam(damping=0.0, amplitude=1e-6):
    """A cantilever displaced along its first mode: the body, the mode [per sqrt(kg)] and its angular frequency."""
    pytest.importorskip("skfem", reason="the oracle is scikit-fem")
    from elastic_reference import free_rows, lumped_mass, stiffness_matrix
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import eigsh

    nodes, tets = beam_tets(7, 2, 2)
    clamped, _ = end_nodes(nodes)
    free = free_rows(len(nodes), clamped)
    mass = np.repeat(lumped_mass(nodes, tets, 1000.0), 3)[free]
    matrix = stiffness_matrix(nodes, tets, 1e5, 0.35)[free][:, free].tocsc()
    value, vector = eigsh(
        matrix, k=1, M=diags_array(mass).tocsc(), sigma=0.0, v0=np.ones(len(free))
    )
    mode = np.zeros(3 * len(nodes))
    mode[free] = vector[:, 0]
    mode = mode.reshape(-1, 3)
    body = sim.SoftBody(
        sim.Cage(nodes, tets),
        sim.Corotated(1e5, 0.35, 1000.0),
        pins=[sim.Pin(sim.node_points(clamped), target=nodes[clamped])],
        start=nodes + amplitude * mode / np.abs(mode).max(),
        stiffness_damping=damping,
    )
    return body, mode, np.sqrt(value[0])


def recurrence(body, mode, dt, steps):
    """(p, r) of q[n+2] = p q[n+1] - r q[n], which the amplitude q of a mode follows in implicit Euler."""
    states = stepped(body, steps, dt, CONVERGED)
    offset = np.array([state.x - body.elements.nodes for state in states])
    q = np.einsum("i,ik,nik->n", body.mass, mode, offset)
    (p, r), *_ = np.linalg.lstsq(np.stack([q[1:-1], -q[:-2]], axis=1), q[2:], rcond=None)
    return p, r


def frequency(p, r, dt):
    """Frequency [Hz] of the oscillation that the recurrence describes."""
    return np.abs(np.angle(np.roots([1.0, -p, r]))).max() / (2.0 * np.pi * dt)


def test_a_plucked_beam_has_the_first_natural_frequency():
    """Implicit Euler is low by (w dt)^2 / 3: two steps, extrapolated to none, and the rate of the error."""
    body, mode, _ = plucked_beam()
    from elastic_reference import first_frequency

    nodes, tets = body.elements.nodes, body.elements.corners
    expected = first_frequency(nodes, tets, end_nodes(nodes)[0], 1e5, 0.35, 1000.0)
    steps = (0.08 / expected, 0.04 / expected, 0.02 / expected)
    found = [frequency(*recurrence(body, mode, dt, 60), dt) for dt in steps]
    extrapolated = found[2] + (found[2] - found[1]) / 3
    errors = expected - np.array(found)
    assert extrapolated == pytest.approx(expected, rel=2e-3)
    np.testing.assert_allclose(errors[:-1] / errors[1:], 4.0, rtol=0.15)


@pytest.mark.parametrize("damping", [0.0, 0.02])
def test_a_mode_loses_what_the_formula_says(damping):
    """q'' = -w^2 q - beta w^2 q' by implicit Euler has r = 1 / (1 + (w dt)^2 + beta w^2 dt)."""
    body, mode, omega = plucked_beam(damping)
    dt = 0.2 / omega
    p, r = recurrence(body, mode, dt, 40)
    stiff = (omega * dt) ** 2 + damping * omega**2 * dt
    assert r == pytest.approx(1.0 / (1.0 + stiff), rel=1e-6)
    assert p == pytest.approx((2.0 + damping * omega**2 * dt) / (1.0 + stiff), rel=1e-6)


@pytest.mark.parametrize("settings", [None, CONVERGED], ids=["default", "converged"])
def test_free_vibration_never_gains_energy(kind, material, settings):
    stretched = cage(kind).nodes * [1.4, 0.9, 0.8]
    body = sim.SoftBody(cage(kind), material(), start=stretched, spin=[0.0, 2.0, 1.0])
    energies = np.array([total_energy(body, s) for s in stepped(body, 100, 0.005, settings)])
    gain = np.diff(energies).max() / energies[0]
    assert gain <= 1e-12
    assert energies[-1] < 0.9 * energies[0]


def test_mass_damping_slows_a_rigid_motion_by_its_formula(kind, material):
    velocity, alpha, dt = np.array([1.0, 2.0, -3.0]), 3.0, 0.02
    body = sim.SoftBody(cage(kind), material(), velocity=velocity, mass_damping=alpha)
    for settings in (None, CONVERGED):
        for n, state in enumerate(stepped(body, 40, dt, settings)):
            expected = velocity / (1.0 + alpha * dt) ** n
            mean = momentum(body, state) / body.mass.sum()
            np.testing.assert_allclose(mean, expected, rtol=1e-12)
    np.testing.assert_allclose(state.v, np.tile(expected, (27, 1)), atol=1e-6)


def test_stiffness_damping_leaves_a_rigid_translation_alone(kind, material):
    velocity = np.array([1.0, 2.0, -3.0])
    body = sim.SoftBody(cage(kind), material(), velocity=velocity, stiffness_damping=0.1)
    v = stepped(body, 40, 0.02)[-1].v
    np.testing.assert_allclose(v, np.tile(velocity, (27, 1)), rtol=1e-12)


def test_stiffness_damping_takes_energy_out_of_a_vibration(kind, material):
    stretched = cage(kind).nodes * [1.1, 1.0, 1.0]
    left = []
    for damping in (0.0, 0.01, 0.05):
        body = sim.SoftBody(cage(kind), material(), start=stretched, stiffness_damping=damping)
        left.append(total_energy(body, stepped(body, 40, 0.005)[-1]))
    assert left[0] > 2.0 * left[1] > 4.0 * left[2]


def test_a_falling_cube_reaches_its_terminal_velocity(kind):
    light = sim.Corotated(density=100.0)
    body = sim.SoftBody(cage(kind, size=(0.2, 0.2, 0.2)), light, air_drag=20.0)
    area = 6 * 0.2**2 / 4  # a quarter of the surface: what a convex body shows on average
    expected = np.sqrt(2.0 * body.mass.sum() * 9.81 / (20.0 * area))
    fallen = stepped(body, 300, 0.02, CONVERGED, gravity=GRAVITY)[-1]
    speed = -momentum(body, fallen)[2] / body.mass.sum()
    assert body.exposed_area.sum() == pytest.approx(area, rel=1e-12)
    assert speed == pytest.approx(expected, rel=1e-6)


def test_wind_carries_a_body_along():
    """With drag k |w - v| (w - v) the distance to the wind's velocity is s / (1 + k s t), in steps too."""
    body = sim.SoftBody(cage("hexes", (1, 1, 1)), sim.Corotated(), air_drag=50.0)
    wind, dt = np.array([3.0, 4.0, 0.0]), 0.05
    k = 0.5 * 50.0 * 1.5 / 1000.0
    for n, state in enumerate(stepped(body, 100, dt, CONVERGED, wind=wind)):
        expected = wind * (1.0 - 1.0 / (1.0 + k * 5.0 * n * dt))
        np.testing.assert_allclose(state.v, np.tile(expected, (8, 1)), atol=1e-10)


def inner_point(body, seed=0):
    """A material point inside the first element."""
    corners = body.elements.corners if isinstance(body, sim.SoftBody) else body.elements
    weights = np.random.default_rng(seed).dirichlet(np.ones(corners.shape[1]), 1)
    return sim.embedded_points(corners, [0], weights)


def test_a_constant_force_accelerates_the_centre_of_mass(kind, material):
    body_cage, force, dt = cage(kind), np.array([100.0, -50.0, 300.0]), 0.01
    body = sim.SoftBody(body_cage, material(), loads=[sim.Force(inner_point(body_cage), force)])
    start = centre(body, body.elements.nodes)
    for n, state in enumerate(stepped(body, 30, dt)):
        gained = momentum(body, state)
        np.testing.assert_allclose(gained, force * n * dt, rtol=1e-10, atol=1e-10)
        moved = force / body.mass.sum() * dt**2 * n * (n + 1) / 2
        np.testing.assert_allclose(centre(body, state.x) - start, moved, rtol=1e-9, atol=1e-12)


def test_a_keyed_force_gives_the_sum_of_its_values_at_the_ends_of_the_steps(kind):
    body_cage, dt = cage(kind), 0.01
    ramp = sim.Keyed([0.0, 0.1, 0.2], [[0, 0, 0], [0, 0, 100.0], [0, 0, 0]])
    body = sim.SoftBody(body_cage, sim.Corotated(), loads=[sim.Force(inner_point(body_cage), ramp)])
    expected = np.zeros(3)
    for n, state in enumerate(stepped(body, 30, dt)):
        if n:
            expected += dt * ramp.at(n * dt)
        np.testing.assert_allclose(momentum(body, state), expected, rtol=1e-10, atol=1e-10)
    assert expected[2] == pytest.approx(100.0 * 0.1, rel=1e-12)


def test_an_impulse_changes_the_momentum_once(kind, material):
    body_cage, blow = cage(kind), np.array([30.0, -20.0, 50.0])
    load = sim.Impulse(inner_point(body_cage), blow, time=0.053)
    body = sim.SoftBody(body_cage, material(), loads=[load])
    for n, state in enumerate(stepped(body, 20, 0.01)):
        expected = blow if n >= 6 else NONE
        np.testing.assert_allclose(momentum(body, state), expected, atol=1e-9)


def test_a_velocity_change_happens_at_its_point(kind):
    """In a tiny step the elastic forces have no time to answer."""
    body_cage, change = cage(kind), np.array([1.0, 2.0, -0.5])
    point = inner_point(body_cage)
    body = sim.SoftBody(body_cage, sim.Corotated(), loads=[sim.VelocityChange(point, change)])
    before, after = stepped(body, 1, 1e-6)
    np.testing.assert_allclose(
        point.positions(after.v) - point.positions(before.v), [change], rtol=1e-6
    )


def test_a_position_change_moves_its_point_and_gives_no_momentum(kind):
    body_cage, change = cage(kind), np.array([0.1, 0.02, -0.05])
    point = inner_point(body_cage)
    body = sim.SoftBody(body_cage, sim.Corotated(), loads=[sim.PositionChange(point, change)])
    before, after = stepped(body, 1, 1e-6)
    moved = point.positions(after.x) - point.positions(before.x)
    np.testing.assert_allclose(moved, [change], rtol=1e-6)
    np.testing.assert_allclose(momentum(body, after), 0.0, atol=1e-9)


@pytest.mark.parametrize("fps", [0.0, -10.0, np.nan, np.inf])
def test_a_time_step_that_is_none_is_refused(fps):
    scene = sim.Scene([sim.SoftBody(cage("hexes"), sim.Corotated())])
    with pytest.raises(sim.SettingsError, match="fps, substeps: expected a positive"):
        sim.Stepper(scene, fps=fps)
