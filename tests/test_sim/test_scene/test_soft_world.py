"""Soft bodies that collide with each other, step by step."""

import numpy as np
import pytest
from body_scenes import (
    SAMPLES,
    G,
    after,
    centres,
    cube,
    energies,
    frames,
    globe,
    mean_velocities,
    momenta,
    momentum_scale,
    random_pile,
    soft,
    stack,
    stepper_of,
)
from contact_scenes import block, speed
from overlaps import deepest, deepest_share, inverted, volume_errors
from pressed_bodies import force_between, one_on_another
from stepping import state_bits
from verify_bodies import colliding, mesh_files

from jellycage import sim, toolkit
from jellycage.sim.errors import SettingsError
from jellycage.sim.scene.soft_stepper import SoftStepper

pytestmark = pytest.mark.slow
EDGE, FREE = 0.2, (0.0, 0.0, 0.0)


def on_a_floor(bodies, **options):
    return stepper_of(bodies, length=EDGE, colliders=[sim.ground(friction=0.5)], **options)


def test_a_stack_stands_still_and_presses_with_its_weight():
    bodies = stack(3, 1e6)
    stepper = on_a_floor(bodies)
    began = centres(bodies, stepper.start())
    state = after(stepper, 4.0)
    assert np.abs((centres(bodies, state) - began)[:, :2]).max() < 0.005 * EDGE
    assert deepest(bodies, state) < 0.005 * EDGE
    assert max(map(speed, state.soft)) < 1e-3 * np.sqrt(G * EDGE)
    for k in range(2):
        above = sum(G * body.mass.sum() for body in bodies[k + 1 :])
        off = force_between(stepper, state, k, k + 1) - [0.0, 0.0, -above]
        assert np.linalg.norm(off) < 0.01 * above


@pytest.mark.parametrize("kind", ["cubes", "balls"])
@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_bodies_that_collide_keep_their_momenta_and_gain_no_energy(kind, friction):
    bodies = colliding(friction)[kind]
    stepper = stepper_of(bodies, length=EDGE, gravity=FREE)
    state = stepper.start()
    before, scale = momenta(bodies, state), momentum_scale(bodies, state)
    energy, velocity, touched = energies(bodies, state).sum(), mean_velocities(bodies, state), 0
    for _ in frames(stepper, 0.5, state):
        now = momenta(bodies, state)
        off = np.abs(now - before).max(axis=1) / scale / np.array([1.0, EDGE])
        assert off.max() < 1e-9
        assert energies(bodies, state).sum() < 1.001 * energy
        before, touched = now, max(touched, len(state.contacts))
    assert touched > 0 and deepest(bodies, state) == 0.0
    change = mean_velocities(bodies, state) - velocity
    assert (np.linalg.norm(change, axis=1) > 0.5).all()  # they have really met


def test_what_is_near_nothing_is_stepped_as_if_it_were_alone():
    """To the bit, and its contacts with the floor as well; what passes through others has nothing near it."""
    near = [soft(cube(), (0.0, 0.0, 0.01)), soft(globe(), (0.05, 0.0, 0.25))]
    far = [soft(cube(), (0.0, 0.0, 0.01)), soft(globe(), (5.0, 0.0, 0.25))]
    for bodies, passing in ((far, ()), (near, [(1, 0)])):
        both = after(on_a_floor(bodies, passing=passing), 0.4)
        for number, body in enumerate(bodies):
            alone = after(on_a_floor([body]), 0.4)
            np.testing.assert_array_equal(both.soft[number].x, alone.soft[0].x)
            np.testing.assert_array_equal(both.soft[number].v, alone.soft[0].v)


@pytest.mark.parametrize("element", ["tet", "hex"])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_bodies_that_start_in_each_other_part_without_a_burst(element, share):
    ball = toolkit.build_cage(
        (globe().surface_vertices, globe().surface_faces), resolution=5, element=element
    )
    bodies = [soft(ball), soft(ball, (0.01, 0.02, 0.2 * (1.0 - share)))]
    stepper, fastest = stepper_of(bodies, length=EDGE, gravity=FREE), 0.0
    for state in frames(stepper, 2.0):
        fastest = max(fastest, *(np.abs(each.v).max() for each in state.soft))
    assert deepest(bodies, state) < 0.01 * EDGE and not inverted(bodies, state)
    assert volume_errors(bodies, state).max() < 0.02
    assert fastest < 3.0 * np.sqrt(2.0 * G * EDGE)
    assert np.abs(mean_velocities(bodies, state)).max() < 0.5 * EDGE


def test_a_body_wholly_inside_another_comes_out():
    bodies = [soft(globe()), soft(globe(0.03, 4, 2), (0.01, 0.02, 0.02))]
    state = after(stepper_of(bodies, length=EDGE, gravity=FREE), 2.0)
    assert deepest(bodies, state) < 0.01 * 0.06
    assert volume_errors(bodies, state).max() < 0.02


def test_a_long_fall_does_not_end_in_another_body():
    bodies = [soft(cube()), soft(cube(), (0.02, 0.0, 0.3), velocity=(0.0, 0.0, -20.0))]
    stepper = on_a_floor(bodies)
    for state in frames(stepper, 0.5):
        assert np.isfinite(state.soft[0].x).all() and deepest(bodies, state) < 0.1 * EDGE
    assert volume_errors(bodies, state).max() < 0.02


def test_a_state_with_contacts_goes_on_bit_for_bit():
    bodies = stack(2)
    stepper = on_a_floor(bodies)
    state = after(stepper, 0.4)
    assert len(state.contacts)
    arrays = {name: np.array(array) for name, array in state.arrays().items()}
    restored = on_a_floor(bodies)
    other = restored.start()
    other.restore(arrays)
    after(stepper, 0.2, state)
    after(restored, 0.2, other)
    assert state_bits(state) == state_bits(other)


def test_how_fine_the_surface_is_does_not_matter():
    """A ball on a ball on a floor, both kept from rolling off: where they come to rest."""
    found = []
    for splits in (0, 2):
        bodies = one_on_another("ball", splits)
        found.append(centres(bodies, after(on_a_floor(bodies), 3.0)))
    np.testing.assert_allclose(found[0], found[1], atol=0.005 * EDGE)


def test_overlaps_say_how_deep_and_how_much():
    """Two cubes, 0.05 m in each other over all of a face and over a half of it."""
    for aside, area in ((0.0, 0.04), (0.1, 0.02)):
        bodies = [soft(cube()), soft(cube(), (aside, 1e-4, 0.15))]
        stepper = stepper_of(bodies, length=EDGE, gravity=FREE)
        (found,) = stepper.overlaps(stepper.start())
        assert found.bodies == (0, 1)
        assert found.volume == pytest.approx(area * 0.05, rel=0.12)
        assert found.depth == pytest.approx(0.05, rel=1e-3)
    apart = stepper_of([soft(cube()), soft(cube(), (0.0, 0.0, 0.3))], length=EDGE)
    assert apart.overlaps(apart.start()) == []


@pytest.mark.parametrize("passing", [[(0, 2)], [(0,)], [(-1, 0)]])
def test_only_bodies_that_there_are_pass_through_each_other(passing):
    with pytest.raises(SettingsError, match="passing"):
        sim.Scene([soft(cube()), soft(cube())], passing=passing)


@pytest.mark.parametrize("seed", [300, 301])
def test_piles_come_to_rest_beside_each_other(seed):
    """Meshes of all kinds, sizes and stiffnesses in a box; `verify_bodies` has more of them."""
    bodies, colliders, size, _ = random_pile(seed, mesh_files(SAMPLES))
    stepper = stepper_of(bodies, length=size, colliders=colliders)
    state = after(stepper, 3.0 * np.sqrt(size))
    assert deepest_share(bodies, state) < 0.01 and not inverted(bodies, state)


@pytest.mark.parametrize("kinds", [("tets", "hexes"), ("hexes", "tets")])
def test_bare_cages_touch_each_other_on_their_outer_faces(kinds):
    size = (0.2, 0.2, 0.2)
    options = {"young_modulus": 1e5, "density": 1000.0, "damping_ratio": 0.5, "friction": 0.5}
    bodies = [
        block(kind, (2, 2, 2), size, bottom=(0.01 * k, 0.0, 0.201 * k), **options)
        for k, kind in enumerate(kinds)
    ]
    stepper = on_a_floor(bodies)
    state = after(stepper, 3.0)
    # Contacts are solved to 1 % of the greatest force: that is what moves here.
    assert max(map(speed, state.soft)) < 5e-3 * np.sqrt(G * EDGE)
    above = G * bodies[1].mass.sum()
    assert np.linalg.norm(force_between(stepper, state, 0, 1) - [0.0, 0.0, -above]) < 0.03 * above
    (found,) = stepper.overlaps(state)
    assert found.depth < 0.005 * EDGE


def test_a_failure_of_bodies_that_touch_names_the_one_that_failed(monkeypatch):
    bodies = [soft(cube()), soft(cube(), (0.0, 0.0, 0.15))]
    stepper = stepper_of(bodies, length=EDGE, gravity=FREE)
    arrive = SoftStepper.arrive

    def failing(self, *arguments, **options):
        if self.body is bodies[1]:
            raise sim.SolverError("the mathematics failed")
        return arrive(self, *arguments, **options)

    monkeypatch.setattr(SoftStepper, "arrive", failing)
    with pytest.raises(sim.SolverError) as caught:
        stepper.step(stepper.start())
    assert (caught.value.body, caught.value.substep) == (1, 1)
