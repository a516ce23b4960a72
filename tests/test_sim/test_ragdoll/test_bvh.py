"""BVH files against a reader of their own: the heads and tails that come back are those that went in."""

from dataclasses import replace

import numpy as np
import pytest
from bvh_reader import read_bvh
from random_characters import hierarchic_motion, matrices_of, random_character, random_turns

from jellycage.sim.errors import SettingsError
from jellycage.sim.export.bvh import angles_of, write_bvh
from jellycage.sim.ragdoll.humanoid import humanoid
from jellycage.sim.ragdoll.motion import BoneMotion

Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])


def assert_same_bones(path, character, motion, axes=Y_UP):
    """Every head, and every tail that the file tells, to a micrometre; returns the joints."""
    joints, time, found = read_bvh(path)
    assert time == pytest.approx(1.0 / motion.fps, abs=1e-9)
    tails = motion.location + character.lengths()[:, None] * matrices_of(motion.rotation)[..., 1]
    told = 0
    for at, name in enumerate(character.names):
        word = "_".join(name.split())
        np.testing.assert_allclose(found[word], motion.location[:, at] @ axes.T, atol=1e-6)
        if f"{word} end" in found:
            np.testing.assert_allclose(found[f"{word} end"], tails[:, at] @ axes.T, atol=1e-6)
            told += 1
    assert told > 0
    return joints


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("roots", [1, 3])
def test_heads_and_tails_come_back(tmp_path, seed, roots):
    character = random_character(seed, roots=roots)
    motion = hierarchic_motion(character, seed)
    write_bvh(character, motion, tmp_path / "a.bvh")
    joints = assert_same_bones(tmp_path / "a.bvh", character, motion)
    assert sum(parent is None for _, parent, _, _ in joints) == 1
    with_position = {name for name, _, _, channels in joints if len(channels) == 6}
    roots_of = {"_".join(b.name.split()) for b in character.bones if b.parent is None}
    assert with_position == roots_of | ({"root"} if roots > 1 else set())


def test_a_bone_that_leaves_its_parent_gets_its_position(tmp_path):
    character = random_character(3)
    motion = hierarchic_motion(character, 3)
    location = motion.location.copy()
    location[:, 4] += np.linspace(0.0, 1e-4, len(location))[:, None]
    motion = replace(motion, location=location)
    write_bvh(character, motion, tmp_path / "a.bvh")
    joints = assert_same_bones(tmp_path / "a.bvh", character, motion)
    assert len(next(row for row in joints if row[0] == "bone_4")[3]) == 6


def test_poses_without_any_order_come_back(tmp_path):
    character = random_character(5, bone_count=30, frame_count=10)
    motion = BoneMotion(
        names=character.names,
        fps=character.fps,
        frames=character.frames,
        location=character.location,
        rotation=character.rotation,
    )
    write_bvh(character, motion, tmp_path / "a.bvh")
    assert_same_bones(tmp_path / "a.bvh", character, motion)


def test_z_may_be_up(tmp_path):
    character = random_character(1)
    motion = hierarchic_motion(character, 1)
    write_bvh(character, motion, tmp_path / "a.bvh", up_axis="Z")
    assert_same_bones(tmp_path / "a.bvh", character, motion, np.eye(3))


def test_the_walker_needs_only_angles_below_its_hips(tmp_path):
    character = humanoid(8)
    motion = BoneMotion(
        names=character.names[::-1],
        fps=character.fps,
        frames=character.frames,
        location=character.location[:, ::-1],
        rotation=character.rotation[:, ::-1],
    )
    write_bvh(character, motion, tmp_path / "a.bvh")
    joints, _, found = read_bvh(tmp_path / "a.bvh")
    assert [name for name, _, _, channels in joints if len(channels) == 6] == ["hips"]
    for at, name in enumerate(character.names):
        # Heads of the walker are rounded to a micrometre.
        np.testing.assert_allclose(found[name], character.location[:, at] @ Y_UP.T, atol=3e-6)


def test_names_are_spelt_without_spaces_and_stay_different(tmp_path):
    names = ["a b", "a_b", "a\u3000b", "{x}", "背骨", "🦴.001"]
    character = random_character(2, names=names, roots=2)
    write_bvh(character, hierarchic_motion(character, 2), tmp_path / "a.bvh")
    joints, _, _ = read_bvh(tmp_path / "a.bvh")
    spelt = {row[0] for row in joints}
    assert spelt == {"root", "a_b", "a_b_2", "a_b_3", "_x_", "背骨", "🦴.001"}


def test_a_chain_of_2000_bones_is_written(tmp_path):
    character = random_character(0, bone_count=2)
    bone = character.bones[1]
    rows = [character.bones[0]]
    for at in range(1, 2000):
        rows.append(replace(bone, name=f"link {at}", parent=rows[-1].name))
    long = replace(
        character,
        bones=tuple(rows),
        location=np.zeros((4, 2000, 3)),
        rotation=np.tile((1.0, 0.0, 0.0, 0.0), (4, 2000, 1)),
    )
    motion = hierarchic_motion(long, 0, 2)
    write_bvh(long, motion, tmp_path / "a.bvh")
    assert len(read_bvh(tmp_path / "a.bvh")[0]) == 2000


def test_a_missing_bone_and_an_unknown_axis_are_refused_in_one_sentence(tmp_path):
    character = random_character(0)
    motion = hierarchic_motion(character, 0)
    with pytest.raises(SettingsError, match=r'^motion: bone "bone 8" is missing; [^\n]+$'):
        less = replace(
            motion,
            names=motion.names[:-1],
            location=motion.location[:, :-1],
            rotation=motion.rotation[:, :-1],
        )
        write_bvh(character, less, tmp_path / "a.bvh")
    with pytest.raises(SettingsError, match='^up_axis: expected "Y" or "Z"'):
        write_bvh(character, motion, tmp_path / "a.bvh", up_axis="X")
    assert not list(tmp_path.iterdir())


def about(axis, angle):
    """A rotation matrix about an axis of the file."""
    turn = np.zeros(4)
    turn[0], turn[1 + axis] = np.cos(angle / 2), np.sin(angle / 2)
    return matrices_of(turn)


def rebuilt(angles):
    return np.array([about(2, z) @ about(0, x) @ about(1, y) for z, x, y in angles])


def test_angles_rebuild_every_turn_also_where_two_axes_meet():
    rng = np.random.default_rng(0)
    matrices = [matrices_of(random_turns(rng, 50))]
    for lift in (0.0, 1e-12, 1e-9, 1e-7, 1e-5, -1e-8):
        for sign in (-1.0, 1.0):
            z, y = rng.uniform(-3.0, 3.0, 2)
            x = sign * (np.pi / 2 - lift)
            matrices.append((about(2, z) @ about(0, x) @ about(1, y))[None])
    matrices = np.concatenate(matrices)
    np.testing.assert_allclose(rebuilt(angles_of(matrices)), matrices, atol=3e-7)


def test_angles_of_a_steady_turn_do_not_jump():
    steps = np.linspace(0.0, 20.0, 400)
    for axis in range(3):
        angles = angles_of(np.array([about(axis, step) for step in steps]))
        assert np.abs(np.diff(angles, axis=0)).sum(axis=1).max() == pytest.approx(
            steps[1], rel=1e-6
        )
