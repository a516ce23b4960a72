"""Implicit Euler follows its own formulas: falls, frequencies, what it takes from vibrations and spins."""

from dataclasses import replace

import numpy as np
import pytest
from beams import beam_tets, end_nodes
from moving_bodies import (
    BEAMS,
    CONVERGED,
    GRAVITY,
    MATERIALS,
    angular_momentum,
    cage,
    centre,
    momentum,
    stepped,
    total_energy,
)

from jellycage import sim

EULER = sim.SolverSettings(integrator="implicit_euler")
EXACT_EULER = replace(CONVERGED, integrator="implicit_euler")
BOTH = pytest.mark.parametrize("settings", [EULER, EXACT_EULER], ids=["default", "converged"])


@pytest.fixture(params=list(BEAMS))
def kind(request):
    return request.param


@pytest.fixture(params=list(MATERIALS))
def material(request):
    return MATERIALS[request.param]


def test_free_fall_is_first_order():
    """The discrete parabola is ahead of the true one by g t dt / 2."""
    body, errors = sim.SoftBody(cage("tets"), sim.Corotated()), []
    start = centre(body, body.elements.nodes)
    for steps in (10, 20, 40):
        x = stepped(body, steps, 0.4 / steps, EULER, gravity=GRAVITY)[-1].x
        errors.append(np.abs(centre(body, x) - start - GRAVITY * 0.4**2 / 2).max())
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 2.0, rtol=1e-9)


def test_the_drift_of_the_angular_momentum_is_first_order(kind, material):
    body = sim.SoftBody(cage(kind), material(poisson_ratio=0.3), spin=[1.0, 2.0, -3.0])
    drifts = []
    for steps in (80, 160, 320):
        states = stepped(body, steps, 0.2 / steps, EXACT_EULER)
        change = angular_momentum(body, states[-1]) - angular_momentum(body, states[0])
        drifts.append(np.linalg.norm(change) / np.linalg.norm(angular_momentum(body, states[0])))
    ratios = np.divide(drifts[:-1], drifts[1:])
    assert drifts[-1] < 0.01
    np.testing.assert_allclose(ratios, 2.0, rtol=0.1)


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
    states = stepped(body, steps, dt, EXACT_EULER)
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


@BOTH
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
    for settings in (EULER, EXACT_EULER):
        for n, state in enumerate(stepped(body, 40, dt, settings)):
            expected = velocity / (1.0 + alpha * dt) ** n
            mean = momentum(body, state) / body.mass.sum()
            np.testing.assert_allclose(mean, expected, rtol=1e-12)
    np.testing.assert_allclose(state.v, np.tile(expected, (27, 1)), atol=1e-6)


def test_stiffness_damping_takes_energy_out_of_a_vibration(kind, material):
    stretched = cage(kind).nodes * [1.1, 1.0, 1.0]
    left = []
    for damping in (0.0, 0.01, 0.05):
        body = sim.SoftBody(cage(kind), material(), start=stretched, stiffness_damping=damping)
        left.append(total_energy(body, stepped(body, 40, 0.005, EULER)[-1]))
    assert left[0] > 2.0 * left[1] > 4.0 * left[2]


def test_wind_carries_a_body_along():
    """With drag k |w - v| (w - v) the distance to the wind's velocity is s / (1 + k s t), in steps too."""
    body = sim.SoftBody(cage("hexes", (1, 1, 1)), sim.Corotated(), air_drag=50.0)
    wind, dt = np.array([3.0, 4.0, 0.0]), 0.05
    k = 0.5 * 50.0 * 1.5 / 1000.0
    for n, state in enumerate(stepped(body, 100, dt, EXACT_EULER, wind=wind)):
        expected = wind * (1.0 - 1.0 / (1.0 + k * 5.0 * n * dt))
        np.testing.assert_allclose(state.v, np.tile(expected, (8, 1)), atol=1e-10)
