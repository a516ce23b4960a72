"""Rods against arcs that are drawn, and turns against scipy's."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jellycage.sim.maths.quaternions_kernels import (
    displace,
    inverse,
    multiply,
    product,
    rotate,
    turn_vector,
    unrotate,
)
from jellycage.sim.rigid.rod_shape_kernels import measure_rod
from jellycage.toolkit.compile_kernels import njit

BENDS = (0.0, 1e-9, 1e-4, 1e-3, 0.01, 0.5, 1.5, 2.8)


@njit
def measured(pa, qa, pb, qb, ends, frames, rest, work, out_error, out_jacobian):
    return measure_rod(pa, qa, pb, qb, ends, frames, rest, work, out_error, out_jacobian)


@njit
def turned_by(q, v):
    displace(q, v, q)


@njit
def all_turns(p, q, v, out_product, out_rotated, out_back, out_between):
    multiply(p, q, out_product)
    rotate(p, v, out_rotated)
    unrotate(p, out_rotated, out_back)
    out_between[0], out_between[1], out_between[2] = turn_vector(product(q, inverse(p)))


def quaternion(rotation):
    return rotation.as_quat()[[3, 0, 1, 2]]


@dataclass
class Rod:
    """Two bodies that hold an arc, drawn from its definition."""

    bodies: list
    ends: np.ndarray
    frames: np.ndarray
    rest: np.ndarray

    def measure(self):
        """(the six numbers, their Jacobian)."""
        error, jacobian = np.empty(6), np.empty((6, 12))
        measured(
            *self.bodies, self.ends, self.frames, self.rest, np.empty((16, 3)), error, jacobian
        )
        return error, jacobian

    def moved(self, number, by):
        """The rod with one of the twelve coordinates moved."""
        bodies = [value.copy() for value in self.bodies]
        step = by * np.eye(3)[number % 3]
        if number // 3 % 2 == 0:
            bodies[number // 3] += step
        else:
            turned_by(bodies[number // 3], step)
        return Rod(bodies, self.ends, self.frames, self.rest)


def drawn_rod(rng, bend, twist=None):
    """An arc of random length and place in bodies of random orientation, at rest as it is."""
    length = rng.uniform(0.2, 2.0)
    twist = rng.uniform(-3.0, 3.0) if twist is None else twist
    start = Rotation.random(random_state=rng)
    tangent, first, second = start.as_matrix().T
    angle = rng.uniform(0.0, 2.0 * np.pi)
    axis = np.cos(angle) * first + np.sin(angle) * second
    # Points of an arc: the integral of the turning tangent.
    side = np.cross(axis, tangent)
    along = np.sinc(bend / np.pi)
    across = 0.5 * bend * np.sinc(0.5 * bend / np.pi) ** 2  # (1 - cos(bend)) / bend
    chord = length * (along * tangent + across * side)
    end = Rotation.from_rotvec(bend * axis) * start
    end = Rotation.from_rotvec(twist * end.as_matrix()[:, 0]) * end
    turns = Rotation.random(2, random_state=rng)
    frames = np.stack([quaternion(turns[0].inv() * start), quaternion(turns[1].inv() * end)])
    ends = 0.2 * rng.normal(size=(2, 3))
    pa = rng.normal(size=3)
    pb = pa + turns[0].apply(ends[0]) + chord - turns[1].apply(ends[1])
    rest = np.array([length, bend * (axis @ first), bend * (axis @ second), twist])
    return Rod([pa, quaternion(turns[0]), pb, quaternion(turns[1])], ends, frames, rest)


@pytest.mark.parametrize("bend", BENDS)
def test_an_arc_satisfies_its_own_rod(bend):
    rng = np.random.default_rng(0)
    for _ in range(20):
        error, _ = drawn_rod(rng, bend).measure()
        assert np.abs(error).max() < 1e-12


@pytest.mark.parametrize("bend", BENDS)
def test_jacobians_are_those_of_differences(bend):
    rng, step = np.random.default_rng(1), 1e-6
    for _ in range(10):
        rod = drawn_rod(rng, bend)
        _, jacobian = rod.measure()
        for number in range(12):
            ahead, behind = (rod.moved(number, by).measure()[0] for by in (step, -step))
            wanted = (ahead - behind) / (2.0 * step)
            np.testing.assert_allclose(
                jacobian[:, number], wanted, atol=2e-8 * np.abs(jacobian).max()
            )


def test_the_rows_of_length_and_curve_are_independent():
    rng = np.random.default_rng(2)
    for bend in BENDS:
        _, jacobian = drawn_rod(rng, bend).measure()
        assert np.linalg.svd(jacobian, compute_uv=False).min() > 1e-3


@pytest.mark.parametrize("bend", BENDS[:-1])
def test_twisting_an_end_about_its_tangent_only_twists(bend):
    rng = np.random.default_rng(3)
    rod = drawn_rod(rng, bend, twist=0.3)
    pb, qb = rod.bodies[2:]
    frame = Rotation.from_quat(rod.frames[1][[1, 2, 3, 0]])
    body = Rotation.from_quat(qb[[1, 2, 3, 0]])
    tangent = (body * frame).as_matrix()[:, 0]
    held = pb + body.apply(rod.ends[1])
    spun = Rotation.from_rotvec(0.4 * tangent) * body
    rod.bodies[2:] = [held - spun.apply(rod.ends[1]), quaternion(spun)]
    error, _ = rod.measure()
    np.testing.assert_allclose(error, [0.0, 0.0, 0.0, 0.0, 0.0, 0.4], atol=1e-12)


def test_a_rod_that_is_too_long_or_kinked_says_so():
    rng = np.random.default_rng(4)
    rod = drawn_rod(rng, 0.5)
    chord = rod.bodies[2] - rod.bodies[0]
    rod.bodies[2] = rod.bodies[2] + 0.1 * chord / np.linalg.norm(chord)
    assert abs(rod.measure()[0][0]) > 0.01
    rod = drawn_rod(rng, 0.5)
    turned_by(rod.bodies[3], np.array([0.0, 0.3, 0.0]))
    assert np.abs(rod.measure()[0][1:3]).max() > 0.01


def test_turns_are_those_of_scipy():
    rng = np.random.default_rng(5)
    for _ in range(50):
        p, q = Rotation.random(2, random_state=rng)
        v = rng.normal(size=3)
        product, rotated, back, between = np.empty(4), np.empty(3), np.empty(3), np.empty(3)
        all_turns(quaternion(p), quaternion(q), v, product, rotated, back, between)
        wanted = quaternion(p * q)
        np.testing.assert_allclose(product * np.sign(product @ wanted), wanted, atol=1e-14)
        np.testing.assert_allclose(rotated, p.apply(v), atol=1e-14)
        np.testing.assert_allclose(back, v, atol=1e-14)
        np.testing.assert_allclose(between, (q * p.inv()).as_rotvec(), atol=1e-12)
        start = quaternion(p)
        turned_by(start, between)
        assert abs(abs(start @ quaternion(q)) - 1.0) < 1e-14
