"""From a character to a ragdoll and back to bones."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from random_characters import random_character
from random_ragdolls import drop, posed

from jellycage.sim.errors import SettingsError
from jellycage.sim.maths import quaternions
from jellycage.sim.ragdoll.bones import BoneEntry
from jellycage.sim.ragdoll.character import Character
from jellycage.sim.ragdoll.humanoid import humanoid
from jellycage.sim.ragdoll.playback import motion_of, spine_shares
from jellycage.sim.ragdoll.ragdoll import SPINES, RagdollSettings, build_ragdoll
from jellycage.sim.ragdoll.roles import guess_spine, role_of
from jellycage.sim.ragdoll.simulation import ragdoll_world, simulate_ragdolls

FRAMES = 72


@cache
def walker():
    return humanoid()


@cache
def fallen(spine="rod"):
    """The walker let go, and what became of it."""
    return simulate_ragdolls([walker()], FRAMES, RagdollSettings(spine=spine))


def chain_character(lengths, names=None, **more):
    """Bones one after the other, upwards."""
    names = names or [f"bone.{at:03d}" for at in range(len(lengths))]
    ends = np.concatenate([[0.0], np.cumsum(lengths)])
    bones = tuple(
        BoneEntry(
            name=name,
            parent=names[at - 1] if at else None,
            head=(0.0, 0.0, 1.0 + ends[at]),
            tail=(0.0, 0.0, 1.0 + ends[at + 1]),
        )
        for at, name in enumerate(names)
    )
    heads = np.array([bone.head for bone in bones])
    rest = np.tile([1.0, 0.0, 0.0, 0.0], (1, len(bones), 1))
    character = Character(
        name="chain", bones=bones, fps=24.0, frames=[1], location=heads[None], rotation=rest, **more
    )
    return replace(character, rotation=character.rest_rotation[None])


# ---- the transition


@pytest.mark.parametrize("spine", SPINES)
def test_the_first_frame_is_the_last_of_the_animation(spine):
    motion = fallen(spine).motion()
    count = len(walker().frames)
    np.testing.assert_allclose(motion.location[:count], walker().location, atol=1e-9)
    turns = np.abs((motion.rotation[:count] * walker().rotation).sum(axis=2))
    np.testing.assert_allclose(turns, 1.0, atol=1e-12)
    assert list(motion.frames[[0, -1]]) == [walker().frames[0], walker().frames[-1] + FRAMES]


def test_bodies_start_with_the_velocity_of_the_last_interval():
    character, ragdoll = walker(), build_ragdoll(walker())
    for body, bone in zip(ragdoll.bodies, ragdoll.body_bone, strict=True):
        centre = body.properties.centre
        now, before = (
            character.location[at, bone] + quaternions.turned(character.rotation[at, bone], centre)
            for at in (-1, -2)
        )
        np.testing.assert_allclose(body.velocity, character.fps * (now - before), atol=1e-9)
        back = quaternions.by_vectors(-body.spin / character.fps)
        turned = quaternions.product(back, character.rotation[-1, bone])
        assert abs(turned @ character.rotation[-2, bone]) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("spine", SPINES)
def test_nothing_jumps_at_the_transition(spine):
    motion, at = fallen(spine).motion(), len(walker().frames) - 1
    steps = np.diff(motion.location, axis=0)
    # The first simulated step is the last animated one, but for gravity, the ground and what limbs do to each other.
    assert np.abs(steps[at] - steps[at - 1]).max() < 0.025


@pytest.mark.slow
def test_in_any_pose_joints_and_rod_are_valid_when_they_begin():
    for seed in range(20):
        character = posed(walker(), np.random.default_rng(seed), 0.8)
        for spine in SPINES:
            ragdoll = build_ragdoll(character, RagdollSettings(spine=spine))
            left = ragdoll_world([ragdoll]).residuals()
            assert left.dislocation < 1e-9 and left.violation < 1e-6, (seed, spine)


# ---- what it is made of


def test_a_rod_stands_for_the_bones_between_hips_and_chest():
    ragdoll, names = build_ragdoll(walker()), walker().names
    assert [names[bone] for bone in ragdoll.spine] == ["hips", "spine", "spine.001", "spine.002"]
    (rod,) = ragdoll.rods
    bodies = [names[bone] for bone in ragdoll.body_bone]
    assert {"spine", "spine.001"}.isdisjoint(bodies) and {"hips", "spine.002", "head"} <= set(bodies)  # fmt: skip
    heads = walker().location[-1, list(ragdoll.spine[1:])]
    assert rod.arc().length == pytest.approx(
        np.linalg.norm(np.diff(heads, axis=0), axis=1).sum(), rel=1e-3
    )
    chain = build_ragdoll(walker(), RagdollSettings(spine="joints"))
    assert not chain.rods and len(chain.bodies) == len(ragdoll.bodies) + 2


@pytest.mark.parametrize(("given", "mass"), [({}, 75.0), ({"mass": 60.0}, 60.0)])
def test_the_mass_is_as_told(given, mass):
    ragdoll = build_ragdoll(walker(), RagdollSettings(**given))
    assert sum(body.properties.mass for body in ragdoll.bodies) == pytest.approx(mass)
    unknown = build_ragdoll(replace(walker(), mass=None))
    assert 50.0 < sum(body.properties.mass for body in unknown.bodies) < 90.0


def test_the_spine_can_be_overridden():
    character = replace(walker(), spine=("spine.001", "spine.002", "neck"))
    ragdoll = build_ragdoll(character)
    names = [character.names[bone] for bone in ragdoll.spine]
    assert names == ["spine", "spine.001", "spine.002", "neck"]


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("mixamorig:LeftUpLeg", "thigh"),
        ("mixamorig:LeftLeg", "shin"),
        ("mixamorig:RightForeArm", "forearm"),
        ("mixamorig:LeftHandIndex1", "finger"),
        ("DEF-upper_arm.L.001", "upper arm"),
        ("Bip01_R_Calf", "shin"),
        ("ValveBiped.Bip01_Spine2", "spine"),
        ("左足首", "foot"),
        ("上半身2", "spine"),
        ("右手首", "hand"),
        ("ear.L", "face"),
        ("gizmo", "other"),
    ],
)
def test_names_tell_roles(name, role):
    assert role_of(name) == role


def test_without_names_the_spine_is_between_two_forks():
    #       0 hips - 1 - 2 - 3 chest, legs 4 and 5, arms 6 and 7, head 8
    parent = np.array([-1, 0, 1, 2, 0, 0, 3, 3, 3])
    assert guess_spine([f"骨{at}" for at in range(9)], parent) == (0, 1, 2, 3)


# ---- what is simulated


@pytest.mark.slow
@pytest.mark.parametrize("spine", SPINES)
def test_the_walker_falls_and_comes_to_rest_on_the_ground(spine):
    run = fallen(spine)
    heads = run.motion().location[-1]
    assert heads[:, 2].max() < 0.65
    lowest = {}
    for frame in range(FRAMES + 1):
        for at, body in enumerate(run.ragdolls[0].bodies):
            name = walker().names[run.ragdolls[0].body_bone[at]]
            points = np.concatenate([shape.drawn()[0] for shape in body.shapes])
            points = quaternions.turned(run.rotations[frame, at], points)
            low = (run.locations[frame, at] + points)[:, 2].min()
            # The walk itself puts the box of a foot a little below the ground.
            depth = min(0.0, started_below(run, at)) - low
            lowest[name] = max(lowest.get(name, 0.0), depth)
    print({name: round(depth, 4) for name, depth in lowest.items() if depth > 0.001})
    assert max(lowest["foot.L"], lowest["foot.R"]) < 0.005
    assert max(lowest.values()) < 0.015  # in the moment of impact
    assert np.abs(run.world.state.v[: run.world.moving]).max() < 0.3


def started_below(run, at):
    """How far a body reached below the ground at the transition [m]."""
    body = run.ragdolls[0].bodies[at]
    points = np.concatenate([shape.drawn()[0] for shape in body.shapes])
    return (run.locations[0, at] + quaternions.turned(run.rotations[0, at], points))[:, 2].min()


def test_muscles_hold_the_pose_the_better_the_stronger_they_are():
    held = []
    for strength in (0.0, 0.5, 0.8, 1.0):
        settings = RagdollSettings(strength=strength)
        run = simulate_ragdolls([walker()], 24, settings, colliders=[], gravity=(0, 0, 0))
        turns = [
            quaternions.turn_vectors(
                quaternions.product(quaternions.inverse(run.rotations[-1, a]), run.rotations[-1, b])
                * 1.0
            )
            - quaternions.turn_vectors(
                quaternions.product(quaternions.inverse(run.rotations[0, a]), run.rotations[0, b])
            )
            for a, b in run.world.joints.body
            if a < run.world.moving
        ]
        held.append(np.abs(turns).max())
    assert held[0] > 2.0 * held[1] > 2.0 * held[2] and held[3] < 0.12, held


def test_the_same_twice():
    again = simulate_ragdolls([walker()], FRAMES)
    np.testing.assert_array_equal(again.locations, fallen().locations)
    np.testing.assert_array_equal(again.rotations, fallen().rotations)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_whatever_is_dropped_stays_whole(seed):
    outcome = drop(seed)
    assert outcome.is_whole, outcome


# ---- back to bones


def change(motion, bone, at):
    """The turn of a bone since the transition, up to frame index `at`."""
    first = len(walker().frames) - 1
    return quaternions.product(
        motion.rotation[at, bone], quaternions.inverse(motion.rotation[first, bone])
    )


def test_bones_of_the_spine_share_the_change_of_orientation():
    run = fallen()
    motion, spine = run.motion(), run.ragdolls[0].spine
    bent = 0.0
    for at in range(len(walker().frames), len(motion.frames), 7):
        low, high = change(motion, spine[0], at), change(motion, spine[-1], at)
        total = quaternions.turn_vectors(quaternions.product(quaternions.inverse(low), high))
        bent = max(bent, np.linalg.norm(total))
        for bone in spine[1:-1]:
            own = quaternions.turn_vectors(
                quaternions.product(quaternions.inverse(low), change(motion, bone, at))
            )
            share = spine_shares(run.ragdolls[0])[bone]
            np.testing.assert_allclose(own, share * total, atol=0.05 * np.linalg.norm(total) + 1e-9)
    assert bent > 0.3, "the spine hardly bent"
    shares = [*spine_shares(run.ragdolls[0]).values()]
    assert 0.0 < shares[0] < shares[1] < 1.0


def test_bones_keep_their_lengths_and_their_seats():
    motion, character = fallen().motion(), walker()
    for bone, parent in enumerate(character.parent):
        if parent < 0:
            continue
        seat = quaternions.turned(
            quaternions.inverse(motion.rotation[:, parent]),
            motion.location[:, bone] - motion.location[:, parent],
        )
        np.testing.assert_allclose(
            seat, np.broadcast_to(seat[-1], seat.shape), atol=3e-6
        )  # rounded so


def test_with_positions_the_chest_is_where_its_body_is():
    run = fallen()
    plain, exact = run.motion(), run.motion(positions=True)
    chest = run.ragdolls[0].spine[-1]
    body = run.ragdolls[0].bone_body[chest]
    at = len(walker().frames) - 1
    np.testing.assert_allclose(exact.location[at:, chest], run.locations[:, body], atol=1e-9)
    assert np.abs(plain.location[at:, chest] - run.locations[:, body]).max() < 0.1
    np.testing.assert_allclose(exact.rotation, plain.rotation)


def test_locked_axes_do_not_turn():
    motion, character = fallen().motion(), walker()
    first = len(character.frames) - 1
    for bone, entry in enumerate(character.bones):
        parent = character.parent[bone]
        if not any(entry.locked):
            continue
        local = quaternions.product(
            quaternions.inverse(motion.rotation[first:, parent]), motion.rotation[first:, bone]
        )
        turn = quaternions.turn_vectors(quaternions.product(quaternions.inverse(local[:1]), local))
        assert np.abs(turn[:, np.array(entry.locked)]).max() < 1e-9, entry.name


# ---- characters of all kinds


def lasts(character, **settings):
    """Simulate a second of it and give the motion."""
    run = simulate_ragdolls([character], 24, RagdollSettings(**settings))
    motion = run.motion()
    assert np.isfinite(motion.location).all() and np.isfinite(motion.rotation).all()
    return run


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 300])
def test_chains_of_any_length_fall(count):
    run = lasts(chain_character([0.05] * count if count > 2 else [0.4] * count))
    assert len(run.world.bodies) == count
    assert run.locations[-1, :, 2].max() < run.locations[0, :, 2].max()


def test_a_zero_length_leaf_rides_along():
    character = chain_character([0.3, 0.3, 0.0])
    run = lasts(character)
    assert len(run.world.bodies) == 2 and run.ragdolls[0].bone_body[2] == 1


def test_bones_without_length_are_refused_in_one_sentence():
    with pytest.raises(SettingsError, match="no bone is long enough"):
        build_ragdoll(chain_character([0.0]))


def test_names_in_japanese_work():
    names = ["腰", "上半身", "上半身2", "上半身3", "首", "頭"]
    run = lasts(chain_character([0.15, 0.12, 0.12, 0.15, 0.08, 0.2], names))
    assert len(run.ragdolls[0].rods) == 1
    assert run.motion().names == tuple(names)


@pytest.mark.parametrize("seed", range(6))
def test_bones_without_any_order_work(seed):
    lasts(random_character(seed, bone_count=9, roots=1 + seed % 3))


@pytest.mark.parametrize("scale", [0.01, 30.0])
def test_tiny_and_giant_characters_fall_alike(scale):
    bones = tuple(
        replace(b, head=tuple(scale * np.array(b.head)), tail=tuple(scale * np.array(b.tail)))
        for b in walker().bones
    )
    character = replace(walker(), bones=bones, location=scale * walker().location, mass=None)
    run = simulate_ragdolls([character], 24, gravity=(0.0, 0.0, -9.81 * scale))
    plain = simulate_ragdolls([replace(walker(), mass=None)], 24)
    np.testing.assert_allclose(
        run.locations[6] / scale, plain.locations[6], atol=0.02
    )  # later it is chaos
    assert run.world.residuals().joint_gap.max() < 0.01 * scale


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"spine": "rope"}, "spine"),
        ({"strength": 2.0}, "strength"),
        ({"mass": -1.0}, "mass"),
        ({"damping": -1.0}, "damping"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, word):
    with pytest.raises(SettingsError, match=word):
        RagdollSettings(**settings)


def test_motion_of_a_still_ragdoll_is_its_pose():
    ragdoll = build_ragdoll(walker())
    p, q = ragdoll_world([ragdoll]).poses()
    motion = motion_of(ragdoll, p[None], q[None])
    np.testing.assert_allclose(motion.location, walker().location, atol=1e-12)
