"""BDF2 moves bodies to second order, keeps spin and momenta of what nothing touches, and makes no rebound of a stop."""

import numpy as np
import pytest
from beams import beam_hexes, beam_tets
from ringing import NO_GRAVITY, bent_beam, crossings, swings
from stepping import OneBody, elastic, state_bits

from jellycage import sim
from jellycage.sim.solvers.prediction_kernels import (
    Prediction,
    find_frames,
    find_velocities,
    find_wells,
    predict,
)

BEAMS = {"tets": beam_tets, "hexes": beam_hexes}
SETTINGS = sim.SolverSettings(integrator="bdf2")
TIGHT = sim.SolverSettings(
    integrator="bdf2",
    newton_iterations=40,
    newton_tolerance=1e-10,
    linear_iterations=2000,
    linear_tolerance=1e-8,
    stiffness="projected",
    precision=1e-15,
)
ONE_STEP = sim.SolverSettings(integrator="bdf2", newton_iterations=1)


@pytest.fixture(params=list(BEAMS))
def kind(request):
    return request.param


def block(kind, size=(1.0, 0.6, 0.3), young=1e6, **options):
    cage = sim.Cage(*BEAMS[kind](3, 2, 2, size))
    return sim.SoftBody(cage, sim.NeoHookean(young, 0.3, 1000.0), **options)


def momenta(body, run):
    """Momentum, and angular momentum about the centre."""
    p = body.mass[:, None] * run.v
    arm = run.x - (body.mass[:, None] * run.x).sum(axis=0) / body.mass.sum()
    return p.sum(axis=0), np.cross(arm, p).sum(axis=0)


def turn_between(mass, a, b):
    """Angle [rad] of the rotation that takes the shape a (n, 3) nearest to b."""
    a, b = (x - (mass[:, None] * x).sum(axis=0) / mass.sum() for x in (a, b))
    u, _, v = np.linalg.svd((mass[:, None] * b).T @ a)
    rotation = u @ np.diag([1.0, 1.0, np.linalg.det(u @ v)]) @ v
    return np.arccos(np.clip((np.trace(rotation) - 1.0) / 2.0, -1.0, 1.0))


def predicted(x, v, before, is_known, dt, slowest=0.01):
    """A prediction for nodes of mass 2 that are one part; before: x, v, turn and length of the last step."""
    n, x_before, v_before, turn, dt_before = len(x), *before
    mass, part, known = np.full(n, 2.0), np.zeros(n, np.int64), np.full(n, is_known)
    history = x_before, v_before, turn.copy(), dt_before
    free = np.ones(1, np.bool_)
    frames = find_frames(x, v, history, known, mass, part, free, slowest, 1.0, dt)
    out = Prediction(np.empty((n, 3)), np.empty(n), *(np.empty((n, 3)) for _ in range(5)), frames)
    predict(x, v, x_before, v_before, known, mass, part, dt, dt_before, out)
    return out


def test_without_a_turn_it_is_gears_formula():
    rng = np.random.default_rng(0)
    x, v, x_before, v_before = rng.normal(size=(4, 5, 3))
    dt, dt_before = 0.02, 0.016
    made = predicted(x, v, (x_before, v_before, np.zeros((1, 3)), dt_before), True, dt, 9.0)
    after = rng.normal(size=(5, 3))  # any end of the step

    def slope(a, b, c):
        """At the end, of the parabola through three values."""
        t = np.array([-dt_before, 0.0, dt])
        basis = np.linalg.inv(np.vander(t, 3))
        return np.einsum("k,kni->ni", [2.0 * dt, 1.0, 0.0] @ basis, np.array([a, b, c]))

    w = (after - x - made.drift) / made.step[:, None]
    np.testing.assert_allclose(w, slope(x_before, x, after), atol=1e-9)
    acceleration = (w - made.velocity) / made.step[:, None]
    np.testing.assert_allclose(acceleration, slope(v_before, v, w), atol=1e-7)
    np.testing.assert_array_equal(made.load, 0.0)
    acceleration = (v - v_before) / dt_before
    np.testing.assert_allclose(made.ahead, dt * v + 0.5 * dt**2 * acceleration, atol=1e-12)


@pytest.mark.parametrize("is_known", [False, True])
def test_a_rigid_flight_is_predicted_exactly(is_known):
    """About an axis of inertia and at any speed: nothing is left for the solver to do but to hold the body together."""
    x = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 0.5, 0], [0, -0.5, 0], [0, 0, 0.2], [0, 0, -0.2]])
    spin, velocity, dt, dt_before = (
        np.array([0.0, 0.0, 20.0]),
        np.array([3.0, 2.0, 1.0]),
        0.04,
        0.03,
    )

    def turned(angle):
        c, s = np.cos(angle), np.sin(angle)
        return x @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])

    def state(time):
        return turned(20.0 * time) + time * velocity, np.cross(spin, turned(20.0 * time)) + velocity

    before = (*state(-dt_before), dt_before * spin[None], dt_before)
    made = predicted(*state(0.0), before, is_known, dt)
    np.testing.assert_allclose(made.frames.turn[0], dt * spin, atol=1e-12)
    mass, part = np.full(6, 2.0), np.zeros(6, np.int64)
    weight, centre, after = np.empty(6), np.empty((6, 3)), np.empty((6, 3))
    find_wells(made, mass, 0.0, np.zeros(6), np.zeros(3), weight, centre)
    np.testing.assert_allclose(x + made.turned + centre, state(dt)[0], atol=1e-12)
    find_velocities(made, x + made.turned, centre, mass, part, after)
    np.testing.assert_allclose(after, state(dt)[1], atol=1e-10)
    centripetal = -2.0 * np.cross(spin, np.cross(spin, turned(20.0 * dt)))
    np.testing.assert_allclose(made.load, centripetal, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("substeps", [1, 2, 8])
@pytest.mark.parametrize("turns", [0.5, 1.0, 3.0])
def test_a_spinning_block_goes_on_spinning(kind, turns, substeps):
    """About the axis of greatest inertia, hardly stretched by it; implicit Euler makes a half of the turns or less."""
    body = block(kind, young=3e8, spin=(0.0, 0.0, 2.0 * np.pi * turns))
    run = OneBody(body, 1.0 / (24.0 * substeps), SETTINGS, gravity=NO_GRAVITY)
    angle, before, start = 0.0, run.x, momenta(body, run)
    for _ in range(48 * substeps):
        run.step()
        angle += turn_between(body.mass, before, run.x)
        before = run.x
    assert angle / (2.0 * np.pi) == pytest.approx(2.0 * turns, rel=0.03)
    for now, then in zip(momenta(body, run), start, strict=True):
        np.testing.assert_allclose(now, then, atol=1e-9 * np.linalg.norm(start[1]))


@pytest.mark.slow
def test_a_tumbling_soft_block_agrees_with_short_steps(kind):
    """About no axis of its own, and stretched by its spin: the shape after a second is that of 16 times the steps."""
    ends = []
    for substeps in (2, 32):
        body = block(kind, young=1e5, spin=(3.0, 4.0, 2.0), velocity=(1.0, 2.0, 3.0))
        run = OneBody(body, 1.0 / (24.0 * substeps), SETTINGS)
        for _ in range(24 * substeps):
            run.step()
        ends.append(run.x)
    assert np.linalg.norm(ends[1] - ends[0], axis=1).max() < 0.03 * body.size


@pytest.mark.slow
@pytest.mark.parametrize("settings", [TIGHT, SETTINGS, ONE_STEP], ids=["tight", "default", "one"])
def test_the_loss_of_a_vibration_is_that_of_the_formula(settings):
    """At 40 steps per period 5.6 % of the amplitude in ten periods and 0.8 % of the frequency; and of second order."""
    body, shape = bent_beam()
    fine = swings(body, shape, 0.001, 1200, settings)
    period = 2.0 * np.diff(crossings(fine, 0.001)).mean()
    losses, shifts = [], []
    for steps in (20, 40):
        z = swings(body, shape, period / steps, 6 * steps, settings)
        turn = 1j * 2.0 * np.pi / steps
        formula = np.roots([1.5 - turn, -2.0, 0.5])
        grown = np.abs(formula[np.abs(formula - np.exp(turn)).argmin()])
        kept = np.abs(z[5 * steps :]).max() / np.abs(z[steps : 2 * steps]).max()
        assert 1.0 - kept == pytest.approx(1.0 - grown ** (4.0 * steps), abs=0.02)
        losses.append(1.0 - kept)
        shifts.append(np.diff(crossings(z, period / steps)).mean() * 2.0 / period - 1.0)
    assert losses[1] < 0.06 and abs(shifts[1]) < 0.01
    assert shifts[0] / shifts[1] == pytest.approx(4.0, rel=0.15)


def test_a_fall_is_behind_the_parabola_by_the_square_of_the_step(kind):
    """By 3/4 g dt^2, which its first step leaves; implicit Euler by g t dt / 2."""
    body, errors = block(kind), []
    for steps in (10, 20, 40):
        run = OneBody(body, 0.4 / steps, SETTINGS)
        for _ in range(steps):
            run.step()
        errors.append(np.abs(run.x - body.elements.nodes + [0.0, 0.0, 9.81 * 0.4**2 / 2]).max())
    np.testing.assert_allclose(errors, 0.75 * 9.81 * 0.16 / np.array([100, 400, 1600]), rtol=1e-3)


def test_mass_damping_slows_a_rigid_motion_to_second_order(kind):
    velocity, damping = np.array([1.0, 2.0, -3.0]), 3.0
    body, errors = block(kind, velocity=velocity, mass_damping=damping), []
    for steps in (20, 40, 80):
        run = OneBody(body, 0.8 / steps, SETTINGS, gravity=NO_GRAVITY)
        for _ in range(steps):
            run.step()
        errors.append(np.abs(run.v / (velocity * np.exp(-0.8 * damping)) - 1.0).max())
    assert errors[-1] < 1e-3
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 4.0, rtol=0.1)


def test_the_energy_of_a_free_vibration_does_not_grow(kind):
    cage = sim.Cage(*BEAMS[kind](4, 2, 2, (1.0, 0.5, 0.5)))
    rng = np.random.default_rng(1)
    body = sim.SoftBody(
        cage, sim.NeoHookean(1e5, 0.4, 1000.0), velocity=rng.normal(size=cage.nodes.shape)
    )
    run = OneBody(body, 0.01, SETTINGS, gravity=NO_GRAVITY)
    energy = []
    for _ in range(300):
        run.step()
        energy.append(0.5 * (body.mass[:, None] * run.v**2).sum() + elastic(body, run.x)[0])
    tens = np.array(energy).reshape(30, 10).mean(axis=1)
    assert (np.diff(tens) < 1e-3 * tens[0]).all()


def test_one_newton_step_is_as_good_as_many(kind):
    """For it is taken where the step is foreseen to end: a body that swells and shrinks with damping, on no floor."""
    cage = sim.Cage(*BEAMS[kind](4, 2, 2, (1.0, 0.5, 0.5)))
    start = cage.nodes * [1.25, 0.85, 0.85]
    law = sim.NeoHookean(1e5, 0.4, 1000.0)
    body = sim.SoftBody(cage, law, start=start, stiffness_damping=0.002)
    lengths = {}
    for settings in (ONE_STEP, TIGHT):
        run = OneBody(body, 0.01, settings, gravity=NO_GRAVITY)
        lengths[settings] = []
        for _ in range(60):
            run.step()
            lengths[settings].append(np.ptp(run.x[:, 0]))
    np.testing.assert_allclose(lengths[ONE_STEP], lengths[TIGHT], atol=0.01 * 0.25)


@pytest.mark.slow
@pytest.mark.parametrize("young", [1e5, 1e6, 1e8])
@pytest.mark.parametrize("dt", [0.02, 0.005])
def test_a_fall_ends_no_higher_than_it_began(kind, young, dt):
    body = block(kind, (0.5, 0.5, 0.5), young)
    run = OneBody(body, dt, SETTINGS, colliders=[sim.ground(-1.0)])
    heights = []
    for _ in range(round(1.5 / dt)):
        run.step()
        heights.append((body.mass * run.x[:, 2]).sum() / body.mass.sum())
    lowest = int(np.argmin(heights[: round(0.6 / dt)]))
    assert max(heights[lowest:]) < 0.25 + 1e-6
    assert min(heights) > -1.0


@pytest.mark.slow
def test_steps_of_other_lengths_keep_the_order():
    """A cube that rings, by steps that change: the error falls with their square."""
    cage = sim.Cage(*beam_hexes(2, 2, 2))
    stretched = cage.nodes * [1.02, 0.99, 0.99]
    body = sim.SoftBody(cage, sim.Corotated(1e5, 0.3, 1000.0), start=stretched)
    ends = []
    for count in (160, 320, 2560):
        run = OneBody(body, 0.2 / count, TIGHT, gravity=NO_GRAVITY)
        half = sim.Stepper(run.stepper.scene, fps=2.0 * count / 0.2)
        for step in range(count):
            if step % 4 == 0:
                half.step(run.state)
                half.step(run.state)
            else:
                run.step()
        ends.append(run.x)
    errors = [np.abs(end - ends[-1]).max() for end in ends]
    assert errors[0] > 3.3 * errors[1]


def test_a_state_that_is_put_away_goes_on_bit_for_bit(kind):
    body = block(kind, spin=(1.0, 2.0, 3.0))
    run = OneBody(body, 0.02, SETTINGS, colliders=[sim.ground(-0.3)])
    for _ in range(20):
        run.step()
    twin = run.stepper.start()
    twin.restore({name: np.array(array) for name, array in run.state.arrays().items()})
    other = sim.Stepper(run.stepper.scene, fps=50.0)
    for _ in range(10):
        run.step()
        other.step(twin)
    assert state_bits(run.state) == state_bits(twin)
