"""Character files: bones at rest and their animation in JSON, with the skin as arrays beside it.

python -m jellycage.sim.ragdoll.character_file [docs/character_file.md]     writes the page that describes every key
"""

import os
import sys
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.errors import SceneError
from jellycage.sim.ragdoll.bones import BoneEntry
from jellycage.sim.ragdoll.character import Character, Skin
from jellycage.sim.ragdoll.motion import MotionFile
from jellycage.sim.schema.documents import (
    NamesKind,
    RowsKind,
    TransformKind,
    read_document,
    table_section,
    write_document,
)
from jellycage.sim.schema.schema import described, key, one_line, plain, read_table
from jellycage.sim.schema.schema_kinds import (
    Choice,
    ExistingFile,
    FrameRangeKind,
    Number,
    Tables,
    Text,
)
from jellycage.toolkit.atomic_file import atomic_file

FORMAT, VERSION = "jellycage character", 1
SKIN_ARRAYS = ("vertices", "faces", "bones", "weights")
IDENTITY = tuple(tuple(float(row == column) for column in range(4)) for row in range(4))
EXAMPLE = """\
{
  "format": "jellycage character",
  "version": 1,
  "name": "snake",
  "fps": 24,
  "frames": [1, 2],
  "bones": [
    {"name": "back", "head": [0, 0, 1], "tail": [0, 1, 1]},
    {"name": "front", "parent": "back", "head": [0, 1, 1], "tail": [0, 2, 1], "swing": 40}
  ],
  "location": [
    [[0, 0, 1], [0, 1, 1]],
    [[0, 0.1, 1], [0, 1.1, 1]]
  ],
  "rotation": [
    [[1, 0, 0, 0], [1, 0, 0, 0]],
    [[1, 0, 0, 0], [1, 0, 0, 0]]
  ]
}
"""


class BoneTables(Tables):
    """A list of bones."""

    expected = "a list of bones"

    def read(self, value, place):
        if not self.holds(value):
            remedy = "write each bone as {name, head, tail} with what else it needs"
            raise place.wrong(self.expected, value, remedy)
        return super().read(value, place)


@dataclass(frozen=True, kw_only=True)
class CharacterFile:
    """A character: its bones at rest and how they move up to the frame of transition."""

    format: str = key(Choice((FORMAT,)), "What kind of file this is.", example=FORMAT)
    version: int = key(Choice((VERSION,)), "Of the format.", example=VERSION)
    name: str = key(Text(), "Of the character.", "character")
    fps: float = key(Number(1.0, 1000.0), "Frames per second.", example=24)
    frames: tuple[int, int] = key(
        FrameRangeKind(),
        "First and last frame of the animation; the last is the frame of transition. "
        "Two or more give the bones their velocities.",
        example=[1, 60],
    )
    bones: tuple[BoneEntry, ...] = key(
        BoneTables(BoneEntry), "Parents before children.", example=({"name": "hips"},)
    )
    location: NDArray = key(
        RowsKind(3, "the head [x, y, z] [m]"), "Posed heads in the world.", example="[[[0, 0, 1]]]"
    )
    rotation: NDArray = key(
        RowsKind(4, "the axes [w, x, y, z]"), "Posed axes in the world.", example="[[[1, 0, 0, 0]]]"
    )
    spine: tuple[str, ...] | None = key(
        NamesKind(),
        "Bones of the spine from bottom to top; left out: a guess.",
        None,
        example=["spine", "chest"],
    )
    mass: float | None = key(
        Number(0.0, unit="kg", above=True), "In all; left out: a guess.", None, example=75.0
    )
    skin: Path | None = key(
        ExistingFile(".npz"),
        "The visible mesh at rest in the world, with the arrays `vertices` (v, 3) [m], `faces` (t, 3), and for each "
        "vertex up to four `bones` (v, k) and `weights` (v, k).",
        None,
        example="walker_skin.npz",
    )
    matrix: tuple = key(
        TransformKind(),
        "World transform of the armature at the frame of transition, in rows; it must scale evenly.",
        IDENTITY,
    )


def character_of(document, place) -> Character:
    """The character in a document; the skin is read from its file."""
    file = read_table(CharacterFile, document, place)
    return Character(
        name=file.name,
        bones=file.bones,
        fps=file.fps,
        frames=np.arange(file.frames[0], file.frames[1] + 1),
        location=file.location,
        rotation=file.rotation,
        spine=file.spine,
        mass=file.mass,
        skin=None if file.skin is None else read_skin(file.skin),
        matrix=np.array(file.matrix),
    )


def read_character(path: str | os.PathLike) -> Character:
    """The character in a .json file; raises SceneError, in one line with a remedy, if it cannot be used."""
    return read_document(path, character_of)


def read_skin(path: Path) -> Skin:
    """The skin in an .npz file."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in SKIN_ARRAYS if name in archive.files}
    except (ValueError, OSError, EOFError, TypeError, zipfile.BadZipFile, zlib.error):
        raise SceneError(
            f"skin: {one_line(path.name)} is no readable .npz file; save it with numpy.savez"
        ) from None
    missing = [name for name in SKIN_ARRAYS if name not in arrays]
    if missing:
        raise SceneError(
            f"skin: {one_line(path.name)} has no array {missing[0]}; save {', '.join(SKIN_ARRAYS)}"
        )
    return Skin(**arrays)


def write_character(character: Character, path: str | os.PathLike) -> None:
    """Write a character so that it reads back exactly; the skin goes to NAME_skin.npz beside it.

    Each file appears whole or not at all, the skin first.
    """
    path = Path(path)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "name": character.name,
        "fps": character.fps,
        "frames": [int(character.frames[0]), int(character.frames[-1])],
        "bones": [_bone(bone) for bone in character.bones],
        "location": character.location.tolist(),
        "rotation": character.rotation.tolist(),
        "spine": None if character.spine is None else list(character.spine),
        "mass": character.mass,
        "skin": None,
        "matrix": character.matrix.tolist(),
    }
    if character.skin is not None:
        document["skin"] = f"{path.stem}_skin.npz"
        with atomic_file(path.with_name(document["skin"])) as draft:
            np.savez(draft, **{name: getattr(character.skin, name) for name in SKIN_ARRAYS})
    write_document(_given(document), path)


def _bone(bone):
    row = _given(plain(bone))
    if not any(bone.locked):
        del row["locked"]
    return row


def _given(table):
    """A table without the keys that have no value."""
    return {name: value for name, value in table.items() if value is not None}


def character_page() -> str:
    """The documentation of character and motion files as Markdown."""
    lines = [
        "# Character files",
        "",
        "A character file says what a ragdoll is made from: bones at rest, and the frames of animation up to the one",
        "at which the simulation takes over. It is JSON. Lengths are in metres, z is up, everything is in the world.",
        "The axes of a bone are Blender's: its local y runs from head to tail. Quaternions are (w, x, y, z).",
        "This page is made by `python -m jellycage.sim.ragdoll.character_file` from the table that checks the files.",
        *("", "```json", *EXAMPLE.splitlines(), "```", "", "## The file"),
        *table_section(described(CharacterFile), ""),
        *(
            "",
            "# Motion files",
            "",
            "What a simulation gives back; JSON with the same conventions.",
        ),
        *table_section(described(MotionFile), "")[2:],
        *("", "# BVH", ""),
        "`jellycage.sim.write_bvh` writes a motion as BVH for other programs: y is up, one unit is a metre. Blender's",
        "importer (File, Import, Motion Capture) is right as it stands: Forward -Z, Up Y, Scale 1. Its Start Frame",
        "says at which frame the motion begins, for BVH does not.",
    ]
    return "\n".join(lines).replace("`[[bones]]`", "An item of `bones`") + "\n"


def main(path: str = "docs/character_file.md") -> None:
    """Write the page."""
    with atomic_file(path) as draft:
        draft.write_text(character_page(), encoding="utf-8", newline="\n")
    print(f"wrote {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
