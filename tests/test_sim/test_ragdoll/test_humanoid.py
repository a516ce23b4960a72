"""The sample character: proportions of an adult, and a walk whose feet stay where they are put."""

from pathlib import Path

import numpy as np
import pytest
from random_characters import matrices_of

from jellycage.sim.maths import quaternions
from jellycage.sim.ragdoll.character_file import read_character
from jellycage.sim.ragdoll.humanoid import humanoid, main

SAMPLE = Path(__file__).resolve().parent.parent.parent.parent / "sample_meshes" / "walker.json"
HEIGHT = 1.75
FRACTIONS = {  # of the height: Drillis and Contini 1966
    "thigh": 0.245,
    "shin": 0.246,
    "upper_arm": 0.186,
    "forearm": 0.146,
    "hand": 0.108,
}


@pytest.fixture(scope="module")
def walker():
    return humanoid()


@pytest.fixture(scope="module")
def tails(walker):
    return walker.location + walker.lengths()[:, None] * matrices_of(walker.rotation)[..., 1]


def test_the_bones_have_the_lengths_of_an_adult(walker):
    for name, fraction in FRACTIONS.items():
        for side in "LR":
            length = walker.lengths()[walker.index(f"{name}.{side}")]
            assert length == pytest.approx(fraction * HEIGHT, rel=0.02)
    assert walker.rest_tail[:, 2].max() == HEIGHT and 22 <= len(walker.bones) <= 26
    assert walker.rest_tail[:, 2].min() >= 0.0


def test_left_and_right_mirror_each_other_at_rest(walker):
    for bone in walker.bones:
        if bone.name.endswith(".L"):
            other = walker.bones[walker.index(f"{bone.name[:-1]}R")]
            assert other.head == (-bone.head[0], *bone.head[1:])
            assert other.tail == (-bone.tail[0], *bone.tail[1:])


def test_every_bone_stays_on_its_parent(walker):
    turn = matrices_of(walker.rotation) @ np.swapaxes(matrices_of(walker.rest_rotation), -1, -2)
    for at, above in enumerate(walker.parent):
        if above >= 0:
            arm = walker.rest_head[at] - walker.rest_head[above]
            expected = walker.location[:, above] + turn[:, above] @ arm
            # Rounded to a micrometre.
            np.testing.assert_allclose(walker.location[:, at], expected, atol=2e-6)


def test_locked_axes_do_not_turn(walker):
    rest = walker.rest_rotation
    hinges = [at for at, bone in enumerate(walker.bones) if bone.locked == (False, True, True)]
    assert {walker.names[at].split(".")[0] for at in hinges} == {"shin", "forearm", "toe"}
    for at in hinges:
        above = walker.parent[at]
        still = quaternions.product(quaternions.inverse(rest[above]), rest[at])
        now = quaternions.product(
            quaternions.inverse(walker.rotation[:, above]), walker.rotation[:, at]
        )
        own = quaternions.product(quaternions.inverse(still), now)
        assert np.abs(own[:, 2:]).max() < 1e-5, walker.names[at]
        assert np.ptp(own[:, 1]) > 0.1, walker.names[at]


def planted(walker, tails, side):
    """Frames in which toes lie flat on the ground."""
    toe = walker.index(f"toe.{side}")
    return (walker.location[:, toe, 2] < 0.0205) & (tails[:, toe, 2] < 0.0205)


@pytest.mark.parametrize("side", "LR")
def test_a_planted_foot_does_not_slide_and_none_sinks(walker, tails, side):
    foot, toe = walker.index(f"foot.{side}"), walker.index(f"toe.{side}")
    for points in (walker.location[:, foot], walker.location[:, toe], tails[:, toe]):
        assert points[:, 2].min() > 0.015  # bones run inside the foot, above the sole
    is_down = planted(walker, tails, side)
    assert 0.4 < is_down.mean() < 0.7
    starts = np.flatnonzero(np.diff(is_down.astype(int), prepend=0) == 1)
    for start in starts:
        run = start + np.arange(np.argmin(np.append(is_down[start:], False)))
        slide = np.ptp(walker.location[run, toe, :2], axis=0)
        assert np.hypot(*slide) < 0.002
    assert len(starts) >= 2


def test_one_foot_at_least_is_on_the_ground_in_every_frame(walker, tails):
    heel = np.array([0.0, 0.048, -0.07])  # from the ankle, in the foot at rest
    lowest = []
    for side in "LR":
        foot, toe = walker.index(f"foot.{side}"), walker.index(f"toe.{side}")
        turn = matrices_of(walker.rotation[:, foot]) @ matrices_of(walker.rest_rotation[foot]).T
        heels = walker.location[:, foot, 2] + (turn @ heel)[:, 2]
        assert heels.min() > -0.001
        lowest.append(np.minimum(heels, walker.location[:, toe, 2] - 0.02))
    assert np.min(lowest, axis=0).max() < 0.003


@pytest.mark.parametrize("side", "LR")
def test_knees_and_elbows_bend_the_right_way(walker, tails, side):
    def joint(upper, lower):
        a, b = walker.index(f"{upper}.{side}"), walker.index(f"{lower}.{side}")
        return walker.location[:, a], walker.location[:, b], tails[:, b]

    for (upper, lower), forwards in ((("thigh", "shin"), 1.0), (("upper_arm", "forearm"), -1.0)):
        start, middle, end = joint(upper, lower)
        along = (end - start) / np.linalg.norm(end - start, axis=1, keepdims=True)
        off = middle - start - np.sum((middle - start) * along, axis=1, keepdims=True) * along
        assert (-off[:, 1] * forwards > 0.0).all()  # forwards is -y: knees in front, elbows behind
        bend = np.degrees(np.arccos(np.clip(_cosine(middle - start, end - middle), -1.0, 1.0)))
        assert bend.max() < 80.0 and bend.max() > 20.0


def _cosine(a, b):
    return np.sum(a * b, axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


@pytest.mark.parametrize("side", "LR")
def test_legs_are_never_overstretched(walker, side):
    thigh, shin, foot = (walker.index(f"{name}.{side}") for name in ("thigh", "shin", "foot"))
    reach = np.linalg.norm(walker.location[:, foot] - walker.location[:, thigh], axis=1)
    assert reach.max() < 0.999 * (walker.lengths()[thigh] + walker.lengths()[shin])


def test_hips_go_forwards_steadily_and_bob_twice_a_cycle(walker):
    hips = walker.location[:, 0]
    speed = -np.diff(hips[:, 1]) * walker.fps
    assert 1.0 < speed.min() and speed.max() < 1.6
    assert 0.03 < np.ptp(hips[:, 2]) < 0.06
    power = np.abs(np.fft.rfft(hips[:48, 2] - hips[:48, 2].mean()))  # two cycles of 24 frames
    assert np.argmax(power) == 4


def test_arms_swing_against_the_legs_and_the_chest_against_the_hips(walker):
    def forwards(name, of):
        return -(
            walker.location[:, walker.index(name), 1] - walker.location[:, walker.index(of), 1]
        )

    def yaw(name):
        at = walker.index(name)
        turn = matrices_of(walker.rotation[:, at]) @ matrices_of(walker.rest_rotation[at]).T
        return np.arctan2(turn[:, 1, 0], turn[:, 0, 0])

    for side in "LR":
        leg, arm = forwards(f"foot.{side}", "hips"), forwards(f"hand.{side}", f"upper_arm.{side}")
        assert np.corrcoef(leg, arm)[0, 1] < -0.7
    assert np.corrcoef(yaw("hips"), yaw("spine.002"))[0, 1] < -0.99
    assert 3.0 < np.degrees(np.ptp(yaw("hips"))) < 15.0


def test_the_walk_repeats_after_a_cycle_of_two_equal_steps(walker):
    stride = walker.location[24, 0] - walker.location[0, 0]
    np.testing.assert_allclose(walker.location[24:48], walker.location[:24] + stride, atol=3e-6)
    for bone in walker.bones:
        if bone.name.endswith(".L"):
            left = walker.location[12:24, walker.index(bone.name)]
            right = walker.location[:12, walker.index(f"{bone.name[:-1]}R")]
            np.testing.assert_allclose(left - stride / 2.0, right * (-1.0, 1.0, 1.0), atol=3e-6)


def test_nothing_jumps_from_frame_to_frame(walker):
    speed = np.linalg.norm(np.diff(walker.location, axis=0), axis=-1) * walker.fps
    assert speed.max() < 6.0  # [m/s]: a swinging foot
    angle = 2.0 * np.arccos(
        np.clip(np.sum(walker.rotation[1:] * walker.rotation[:-1], axis=-1), 0, 1)
    )
    assert np.degrees(angle.max()) < 30.0


def test_other_rates_sample_the_same_walk():
    slow, fast = humanoid(24, 24), humanoid(47, 48)
    np.testing.assert_allclose(slow.location, fast.location[::2], atol=2e-6)


def test_the_script_makes_the_file_that_is_in_the_folder(tmp_path):
    main(tmp_path / "walker.json")
    made, kept = read_character(tmp_path / "walker.json"), read_character(SAMPLE)
    assert made.bones == kept.bones and made.spine == kept.spine and made.mass == kept.mass
    # Another processor may round the last decimal the other way.
    np.testing.assert_allclose(made.location, kept.location, atol=2.1e-6)
    np.testing.assert_allclose(made.rotation, kept.rotation, atol=2.1e-7)
    assert SAMPLE.stat().st_size < 300_000
