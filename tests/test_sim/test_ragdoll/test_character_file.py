"""Character files: what is written reads back exactly, and what cannot be used is refused in one sentence."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from random_characters import matrices_of, random_character, random_skin, random_turns

from jellycage.sim.errors import SceneError
from jellycage.sim.maths import quaternions
from jellycage.sim.ragdoll.bones import BoneEntry, axes_without_roll, rest_axes, roll_of
from jellycage.sim.ragdoll.character import Character, Skin
from jellycage.sim.ragdoll.character_file import (
    EXAMPLE,
    character_page,
    read_character,
    write_character,
)

ROOT = Path(__file__).resolve().parent.parent.parent.parent
ARRAYS = (
    "parent",
    "rest_head",
    "rest_tail",
    "rest_rotation",
    "frames",
    "location",
    "rotation",
    "matrix",
)
EVEN = np.array([[0, -2.0, 0, 1], [2.0, 0, 0, 2], [0, 0, 2.0, 3], [0, 0, 0, 1]])


def assert_same(one: Character, other: Character):
    """Equal to the last bit."""
    assert (one.name, one.bones, one.fps, one.spine, one.mass, one.scale) == (
        *(other.name, other.bones, other.fps, other.spine, other.mass, other.scale),
    )
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert (one.skin is None) == (other.skin is None)
    for name in ("vertices", "faces", "bones", "weights") if one.skin else ():
        np.testing.assert_array_equal(getattr(one.skin, name), getattr(other.skin, name))


@pytest.mark.parametrize("seed", range(6))
def test_a_character_reads_back_exactly(tmp_path, seed):
    character = random_character(
        seed,
        roots=1 + seed % 3,
        skin=random_skin(seed, 9, width=1 + seed % 4) if seed % 2 else None,
        matrix=EVEN,
        mass=70.1 if seed % 2 else None,
    )
    write_character(character, tmp_path / "a.json")
    read = read_character(tmp_path / "a.json")
    assert_same(character, read)
    write_character(read, tmp_path / "b.json")
    text = (tmp_path / "b.json").read_text().replace("b_skin.npz", "a_skin.npz")
    assert text == (tmp_path / "a.json").read_text()


@pytest.mark.parametrize(
    "names",
    [
        ["背骨", "頭", "脚.左"],
        ["🦴", "🦴.001", "👣"],
        ['the "big" one', "it's", "back\\slash"],
        ["a.b.c", "a/b:c*", "  padded  "],
        ["hips" * 63, "é", "e\u0301"],
    ],
)
def test_names_of_any_script_read_back(tmp_path, names):
    character = random_character(1, names=names)
    write_character(character, tmp_path / "名前.json")
    assert read_character(tmp_path / "名前.json").names == tuple(names)


def test_300_bones_and_one_bone_and_one_frame_read_back(tmp_path):
    for bones, frames in ((300, 3), (1, 1), (1, 5), (2, 1)):
        character = random_character(7, bone_count=bones, frame_count=frames)
        write_character(character, tmp_path / "a.json")
        assert_same(character, read_character(tmp_path / "a.json"))


def test_a_chain_of_5000_bones_is_read(tmp_path):
    bones = [BoneEntry(name="0", head=(0.0, 0.0, 0.0), tail=(0.0, 1.0, 0.0))]
    bones += [replace(bones[0], name=str(at), parent=str(at - 1)) for at in range(1, 5000)]
    still = np.tile((1.0, 0.0, 0.0, 0.0), (1, 5000, 1))
    character = Character(
        name="rope", bones=tuple(bones), fps=24, frames=[1], location=still[..., :3], rotation=still
    )
    write_character(character, tmp_path / "a.json")
    np.testing.assert_array_equal(read_character(tmp_path / "a.json").parent, np.arange(-1, 4999))


def test_a_leaf_may_have_no_length(tmp_path):
    document = good()
    document["bones"][2]["tail"] = document["bones"][2]["head"]
    character = read_character(written(tmp_path, document))
    assert character.lengths()[2] == 0.0
    np.testing.assert_array_equal(character.rest_rotation[2], quaternions.IDENTITY)


def test_nearly_unit_quaternions_are_normalised_and_brought_to_one_hemisphere(tmp_path):
    document = good()
    turn = [0.8, 0.0, 0.6, 0.0]
    document["rotation"][0][1] = turn
    document["rotation"][1][1] = [-1.004 * part for part in turn]
    found = read_character(written(tmp_path, document)).rotation[:, 1]
    np.testing.assert_allclose(found, [turn, turn], atol=1e-15)


def test_weights_are_normalised_and_vertices_without_any_are_left():
    skin = Skin(
        vertices=np.zeros((2, 3)),
        faces=np.zeros((1, 3), int),
        bones=np.zeros((2, 2), int),
        weights=[[1.0, 3.0], [0.0, 0.0]],
    )
    np.testing.assert_array_equal(skin.weights, [[0.25, 0.75], [0.0, 0.0]])


def test_index_names_and_lengths_agree_with_the_bones():
    character = random_character(4)
    for at, bone in enumerate(character.bones):
        assert character.index(bone.name) == at and character.names[at] == bone.name
        length = np.linalg.norm(np.subtract(bone.tail, bone.head))
        assert character.lengths()[at] == pytest.approx(length)
    with pytest.raises(KeyError):
        character.index("nobody")


# ---- axes


def blenders_axes(y, roll):
    """vec_roll_to_mat3 of Blender's sources, as matrix columns, in double precision."""
    x, y, z = y
    theta, across = 1.0 + y, x * x + z * z
    if theta > 6.1e-3 or across > 2.5e-4**2:
        if theta <= 6.1e-3:
            theta = across * 0.5 + across * across * 0.125
        axes = np.array(
            [
                [1.0 - x * x / theta, x, -x * z / theta],
                [-x, y, -z],
                [-x * z / theta, z, 1.0 - z * z / theta],
            ]
        )
    else:
        axes = np.diag([-1.0, -1.0, 1.0])
        x, y, z = 0.0, -1.0, 0.0
    half = np.radians(roll) / 2.0
    return matrices_of(np.array([np.cos(half), *(np.sin(half) * np.array([x, y, z]))])) @ axes


def test_axes_at_rest_follow_blenders_rule():
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(50, 3)).tolist()
    directions += [
        [0, -1, 0],
        [0, 1, 0],
        [1e-4, -1, 0],
        [0, -1, 1e-3],
        [1e-2, -1, -1e-2],
        [0, 0, 1],
    ]
    for direction in directions:
        y = np.array(direction) / np.linalg.norm(direction)
        roll = rng.uniform(-180.0, 180.0)
        bone = BoneEntry(name="b", head=(0.0, 0.0, 0.0), tail=tuple(2.0 * y), roll=roll)
        found = matrices_of(rest_axes(bone))
        np.testing.assert_allclose(found, blenders_axes(y, roll), atol=3e-4)
        if abs(y[1] + 1.0) > 1e-6:
            np.testing.assert_allclose(found[:, 1], y, atol=1e-12)
            assert roll_of(y, found[:, 0]) == pytest.approx(roll, abs=1e-6)


def test_a_given_rotation_is_taken_as_it_is():
    rng = np.random.default_rng(1)
    for turn in random_turns(rng, 20):
        tail = tuple(matrices_of(turn)[:, 1])
        bone = BoneEntry(name="b", head=(0.0, 0.0, 0.0), tail=tail, rotation=tuple(turn))
        np.testing.assert_allclose(rest_axes(bone), turn, atol=1e-15)


def test_quaternions_agree_with_matrices():
    rng = np.random.default_rng(2)
    p, q, v = random_turns(rng, 200), random_turns(rng, 200), rng.normal(size=(200, 3))
    p[:8] = np.concatenate([np.eye(4), -np.eye(4)])
    np.testing.assert_allclose(quaternions.as_matrices(p), matrices_of(p), atol=1e-14)
    turned = np.einsum("nij,nj->ni", matrices_of(p), v)
    np.testing.assert_allclose(quaternions.turned(p, v), turned, atol=1e-13)
    both = matrices_of(p) @ matrices_of(q)
    np.testing.assert_allclose(matrices_of(quaternions.product(p, q)), both, atol=1e-13)
    back = quaternions.of_matrices(matrices_of(p))
    np.testing.assert_allclose(back * np.sign(np.sum(back * p, axis=1))[:, None], p, atol=1e-14)
    steady = quaternions.continuous(p)
    assert (np.sum(steady[1:] * steady[:-1], axis=-1) >= 0.0).all()
    np.testing.assert_allclose(matrices_of(steady), matrices_of(p), atol=1e-14)
    assert axes_without_roll(np.array([0.0, 1.0, 0.0])).tolist() == [1.0, 0.0, 0.0, 0.0]


# ---- bad files


def good():
    """A document that reads: three bones in two frames."""
    heads = [[0.0, 0.0, 1.0], [0.0, 0.0, 1.5], [0.3, 0.0, 1.5]]
    document = {
        "format": "jellycage character",
        "version": 1,
        "name": "somebody",
        "fps": 24,
        "frames": [1, 2],
        "bones": [
            {"name": "hips", "head": heads[0], "tail": [0.0, 0.0, 1.5]},
            {"name": "chest", "parent": "hips", "head": heads[1], "tail": [0.0, 0.0, 2.0]},
            {"name": "arm", "parent": "chest", "head": heads[2], "tail": [0.9, 0.0, 1.5]},
        ],
        "location": [heads, heads],
        "rotation": [[[1.0, 0.0, 0.0, 0.0]] * 3] * 2,
    }
    return json.loads(json.dumps(document))  # no two places share a list


def written(folder, document):
    path = folder / "character.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def bad(key, value):
    """A change of a document: set what stands at a path such as bones.1.name, or remove it for ... ."""

    def change(document):
        *way, last = [int(word) if word.isdigit() else word for word in key.split(".")]
        table = document
        for word in way:
            table = table[word]
        if value is ...:
            del table[last]
        else:
            table[last] = value

    return change


NAN, INF = float("nan"), float("inf")
MIRRORED = np.diag([-1.0, 1.0, 1.0, 1.0]).tolist()
UNEVEN = np.diag([1.0, 1.0, 2.0, 1.0]).tolist()
COLUMNS = np.array(EVEN).T.tolist()
BAD = {
    "no format": (bad("format", ...), "format: is missing"),
    "another format": (bad("format", "jellycage motion"), "format: expected"),
    "a later version": (bad("version", 2), "version: expected 1"),
    "version true": (bad("version", True), "version: expected 1"),
    "no fps": (bad("fps", ...), "fps: is missing"),
    "no motion in time": (bad("fps", 0), "fps: expected"),
    "fps as text": (bad("fps", "24"), "fps: expected"),
    "fps NaN": (bad("fps", NAN), "fps: expected"),
    "no frames": (bad("frames", ...), "frames: is missing"),
    "frames listed": (bad("frames", [1, 2, 4]), "frames: expected first and last"),
    "frames backwards": (bad("frames", [2, 1]), "frames: expected first and last"),
    "half a frame": (bad("frames", [1, 2.5]), "frames: expected first and last"),
    "more frames than poses": (
        bad("frames", [1, 3]),
        "location: expected .*3, 3, 3.*got .2, 3, 3.",
    ),
    "no bones key": (bad("bones", ...), "bones: is missing"),
    "no bone": (bad("bones", []), "bones: there is none"),
    "bones by name": (bad("bones", {"hips": {}}), "bones: expected a list of bones"),
    "a bone as text": (bad("bones.1", "chest"), "bones: expected a list of bones"),
    "no name": (bad("bones.1.name", ...), r"bones\[1\].name: is missing"),
    "empty name": (bad("bones.1.name", ""), r"bones\[1\].name: expected a text"),
    "blank name": (bad("bones.1.name", " \u3000"), r"bones\[1\].name: expected a text"),
    "name as number": (bad("bones.1.name", 7), r"bones\[1\].name: expected a text"),
    "name with a line break": (bad("bones.1.name", "a\nb"), r"bones\[1\].name: expected a text"),
    "twice the same name": (bad("bones.2.name", "chest"), r"bones\[2\].name: .chest. is the name"),
    "no such parent": (bad("bones.1.parent", "pelvis"), r"bones\[1\].parent: there is no bone"),
    "parent null": (bad("bones.1.parent", None), r"bones\[1\].parent: expected"),
    "parent by number": (bad("bones.1.parent", 0), r"bones\[1\].parent: expected"),
    "its own parent": (
        bad("bones.1.parent", "chest"),
        r"bones\[1\].parent: .chest. hangs on itself",
    ),
    "a circle": (bad("bones.0.parent", "arm"), r"bones\[0\].parent: .hips. hangs on itself"),
    "no head": (bad("bones.0.head", ...), r"bones\[0\].head: is missing"),
    "a flat head": (bad("bones.0.head", [0.0, 1.0]), r"bones\[0\].head: expected three numbers"),
    "head NaN": (bad("bones.0.head", [0, NAN, 0]), r"bones\[0\].head: expected three numbers"),
    "tail infinite": (bad("bones.0.tail", [0, INF, 0]), r"bones\[0\].tail: expected three numbers"),
    "tail far beyond": (bad("bones.0.tail", [0, 1e300, 0]), r"bones\[0\].tail: .*stay within"),
    "no length": (bad("bones.0.tail", [0.0, 0.0, 1.0]), r"bones\[0\]: .hips. has no length"),
    "roll as text": (bad("bones.0.roll", "90"), r"bones\[0\].roll: expected"),
    "a long quaternion": (
        bad("bones.0.rotation", [2, 0, 0, 0]),
        r"bones\[0\].rotation: .*length 2",
    ),
    "a zero quaternion": (
        bad("bones.0.rotation", [0, 0, 0, 0]),
        r"bones\[0\].rotation: .*length 0",
    ),
    "axes beside the tail": (bad("bones.0.rotation", [1, 0, 0, 0]), r"its y axis is 90.0 degrees"),
    "locked one": (bad("bones.0.locked", True), r"bones\[0\].locked: expected three"),
    "locked by numbers": (bad("bones.0.locked", [0, 1, 1]), r"bones\[0\].locked: expected three"),
    "an unknown shape": (bad("bones.0.shape", "capsul"), r"did you mean .capsule.\?"),
    "no radius": (bad("bones.0.radius", 0.0), r"bones\[0\].radius: expected a number above 0"),
    "too far a swing": (bad("bones.0.swing", 181), r"bones\[0\].swing: expected"),
    "negative twist": (bad("bones.0.twist", -1), r"bones\[0\].twist: expected"),
    "a misspelt key": (
        bad("bones.0.heed", [0, 0, 0]),
        r"bones\[0\].heed: unknown key; did you mean head",
    ),
    "an unknown key": (bad("gravity", 9.81), "gravity: unknown key"),
    "no location": (bad("location", ...), "location: is missing"),
    "no rotation": (bad("rotation", ...), "rotation: is missing"),
    "location null": (bad("location", None), "location: expected numbers"),
    "location as text": (bad("location.0.1", "there"), "location: expected numbers"),
    "a number as text": (bad("location.0.1.2", "1.5"), "location: expected numbers"),
    "location ragged": (bad("location.0.1", [1.0, 2.0]), "location: expected numbers"),
    "location NaN": (bad("location.0.1", [1.0, 2.0, NAN]), "location: .*NaN"),
    "location infinite": (bad("location.0.1", [1.0, 2.0, INF]), "location: .*infinity"),
    "location far beyond": (bad("location.0.1", [1.0, 2.0, 10**40]), "location: expected numbers"),
    "a frame too many": (
        bad("location", [[[0.0] * 3] * 3] * 3),
        "location: expected .*got .3, 3, 3.",
    ),
    "a bone too few": (
        bad("location", [[[0.0] * 3] * 2] * 2),
        "location: expected .*got .2, 2, 3.",
    ),
    "rotation by three": (
        bad("rotation", [[[0.0] * 3] * 3] * 2),
        "rotation: expected .*got .2, 3, 3.",
    ),
    "no unit": (bad("rotation.1.2", [1, 1, 0, 0]), r"rotation\[1\]\[2\]: .*length 1.414"),
    "an empty spine": (bad("spine", []), "spine: there is no bone"),
    "spine as text": (bad("spine", "chest"), "spine: expected a list"),
    "a stranger in the spine": (bad("spine", ["hips", "neck"]), r"spine\[1\]: there is no bone"),
    "a spine with a gap": (bad("spine", ["hips", "arm"]), r"spine\[1\]: .arm. does not hang on"),
    "a spine downwards": (bad("spine", ["chest", "hips"]), r"spine\[1\]: .hips. does not hang on"),
    "no mass": (bad("mass", 0), "mass: expected a number above 0"),
    "negative mass": (bad("mass", -70), "mass: expected"),
    "no such skin": (bad("skin", "nothing.npz"), "skin: expected .*there is nothing at"),
    "skin in the file": (bad("skin", {"vertices": []}), "skin: expected"),
    "mirrored": (bad("matrix", MIRRORED), "matrix: mirrors; apply the scale"),
    "turned inside out": (
        bad("matrix", (-np.eye(4) + np.diag([0, 0, 0, 2.0])).tolist()),
        "matrix: mirr",
    ),
    "scaled unevenly": (bad("matrix", UNEVEN), "matrix: scales unevenly; apply the scale"),
    "flattened": (bad("matrix", np.diag([0.0, 0, 0, 1]).tolist()), "matrix: scales unevenly"),
    "columns": (bad("matrix", COLUMNS), "matrix: expected .*write rows"),
    "three rows": (bad("matrix", np.eye(4)[:3].tolist()), "matrix: expected numbers of shape"),
    "matrix NaN": (bad("matrix", np.diag([NAN, 1, 1, 1]).tolist()), "matrix: .*NaN"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_in_one_sentence(tmp_path, name):
    change, expected = BAD[name]
    document = good()
    change(document)
    path = written(tmp_path, document)
    with pytest.raises(SceneError) as caught:
        read_character(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ") and re.search(expected, text), text
    assert "\n" not in text and ";" in text and len(text) < len(str(path)) + 300, text


def test_roll_and_rotation_do_not_go_together(tmp_path):
    document = good()
    document["bones"][0] |= {"roll": 0.0, "rotation": [0.7071068, 0.7071068, 0.0, 0.0]}
    with pytest.raises(SceneError, match="not together with roll"):
        read_character(written(tmp_path, document))
    del document["bones"][0]["roll"]
    assert read_character(written(tmp_path, document)).bones[0].roll is None


def test_a_parent_that_stands_later_is_refused(tmp_path):
    document = good()
    document["bones"] = document["bones"][::-1]
    with pytest.raises(
        SceneError, match=r"bones\[0\].parent: .chest. stands later in the list; list"
    ):
        read_character(written(tmp_path, document))


BROKEN_TEXTS = {
    "nothing": b"",
    "no JSON": b"bones: 3",
    "a list": b"[1, 2]",
    "a number": b"7",
    "null": b"null",
    "latin letters": '{"name": "é"}'.encode("latin-1"),
    "zeros": bytes(100),
    "a table twice": b'{"fps": 1, "fps": 2}',
    "too deep": b"[" * 100000,
}


@pytest.mark.parametrize("name", BROKEN_TEXTS)
def test_what_is_no_character_is_refused_in_one_sentence(tmp_path, name):
    path = tmp_path / "character.json"
    path.write_bytes(BROKEN_TEXTS[name])
    with pytest.raises(SceneError) as caught:
        read_character(path)
    assert "\n" not in str(caught.value) and ";" in str(caught.value)


def test_a_file_cut_short_anywhere_is_refused_in_one_sentence(tmp_path):
    whole = written(tmp_path, good()).read_bytes()
    for size in range(0, len(whole) - 1, 37):
        (tmp_path / "cut.json").write_bytes(whole[:size])
        with pytest.raises(SceneError, match=r"^[^\n]+; [^\n]+$"):
            read_character(tmp_path / "cut.json")


def test_a_missing_file_a_folder_and_another_ending_are_refused(tmp_path):
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "character.txt").write_text("{}")
    for name in ("nowhere.json", "folder.json", "character.txt"):
        with pytest.raises(SceneError, match=r"^[^\n]+; [^\n]+$"):
            read_character(tmp_path / name)


BAD_SKINS = {
    "weights of five bones": (
        {"bones": np.zeros((4, 5), int), "weights": np.ones((4, 5))},
        "1 to 4",
    ),
    "no columns": ({"bones": np.zeros((4, 0), int), "weights": np.ones((4, 0))}, "1 to 4"),
    "negative weights": ({"weights": -np.ones((4, 2))}, "none below 0"),
    "weights NaN": ({"weights": np.full((4, 2), np.nan)}, "NaN"),
    "fewer weights": ({"weights": np.ones((3, 2))}, "skin.weights: expected"),
    "fewer bones": ({"bones": np.zeros((4, 1), int)}, "skin.bones: expected"),
    "no such bone": ({"bones": np.full((4, 2), 3)}, "skin.bones: expected bones below 3, got 3"),
    "half a bone": ({"bones": np.full((4, 2), 0.5)}, "skin.bones: expected whole"),
    "no such vertex": ({"faces": [[0, 1, 4]]}, "skin.faces: expected whole"),
    "quads": ({"faces": [[0, 1, 2, 3]]}, "skin.faces: expected"),
    "flat vertices": ({"vertices": np.zeros((4, 2))}, "skin.vertices: expected"),
    "text": ({"vertices": np.full((4, 3), "x")}, "skin.vertices: expected"),
    "vertices missing": ({"vertices": None}, "no array vertices"),
}


@pytest.mark.parametrize("name", BAD_SKINS)
def test_a_bad_skin_is_refused_in_one_sentence(tmp_path, name):
    change, expected = BAD_SKINS[name]
    arrays = {
        "vertices": np.zeros((4, 3)),
        "faces": [[0, 1, 2]],
        "bones": np.zeros((4, 2), int),
        "weights": np.ones((4, 2)),
    } | change
    np.savez(tmp_path / "s.npz", **{n: array for n, array in arrays.items() if array is not None})
    with pytest.raises(SceneError, match=expected) as caught:
        read_character(written(tmp_path, good() | {"skin": "s.npz"}))
    assert "\n" not in str(caught.value) and ";" in str(caught.value)


def test_a_skin_that_is_no_archive_is_refused_in_one_sentence(tmp_path):
    np.save(tmp_path / "array.npy", np.zeros(3))
    np.savez(tmp_path / "pickled.npz", vertices=np.array([{}], object))
    for data in (
        b"",
        b"PK\x03\x04",
        (tmp_path / "array.npy").read_bytes(),
        (tmp_path / "pickled.npz").read_bytes(),
    ):
        (tmp_path / "s.npz").write_bytes(data)
        with pytest.raises(SceneError, match="no readable .npz file; "):
            read_character(written(tmp_path, good() | {"skin": "s.npz"}))


def test_frames_with_gaps_are_refused():
    character = random_character(0)
    with pytest.raises(SceneError, match="frames: expected consecutive frames, got 3 after 1; "):
        replace(character, frames=[0, 1, 3, 4])
    with pytest.raises(SceneError, match="frames: expected a row"):
        replace(character, frames=[])


def test_what_cannot_be_spelt_leaves_the_old_file(tmp_path):
    character = random_character(0, bone_count=1)
    write_character(character, tmp_path / "a.json")
    before = (tmp_path / "a.json").read_bytes()
    half = replace(character, bones=(replace(character.bones[0], name="\ud800"),))
    with pytest.raises(UnicodeEncodeError):
        write_character(half, tmp_path / "a.json")
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert (tmp_path / "a.json").read_bytes() == before


def test_the_example_of_the_page_reads(tmp_path):
    (tmp_path / "a.json").write_text(EXAMPLE)
    assert read_character(tmp_path / "a.json").names == ("back", "front")


def test_the_page_is_made_from_the_declaration():
    page = (ROOT / "docs" / "character_file.md").read_text(encoding="utf-8")
    assert page == character_page(), (
        "write it again: python -m jellycage.sim.ragdoll.character_file"
    )
