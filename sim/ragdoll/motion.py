"""The motion of bones: what a simulation gives back, and the file it travels in.

A motion file is JSON: `bones` are names, `frames` the first and the last, `location` and `rotation` a list for each
frame with the posed head [m] and axes (w, x, y, z) of each bone in the world.
"""

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.errors import SceneError
from jellycage.sim.ragdoll.arrays import as_numbers, as_turns, consecutive
from jellycage.sim.schema.documents import NamesKind, RowsKind, read_document, write_document
from jellycage.sim.schema.schema import key, read_table, shown
from jellycage.sim.schema.schema_kinds import Choice, FrameRangeKind, Number

FORMAT, VERSION = "jellycage motion", 1


@dataclass(frozen=True, eq=False, kw_only=True)
class BoneMotion:
    """Posed bones in the world, frame by frame; conventions as in `Character`."""

    names: tuple[str, ...]
    """Of the bones."""
    fps: float
    """Frames per second."""
    frames: NDArray[np.int64]
    """Consecutive frames, shape (f,)."""
    location: NDArray[np.float64]
    """Posed heads in the world [m], shape (f, b, 3)."""
    rotation: NDArray[np.float64]
    """Posed axes in the world, shape (f, b, 4); neighbouring frames are on the same hemisphere."""

    def __post_init__(self):
        names = tuple(self.names)
        if not names:
            raise SceneError("bones: there is none; add at least one")
        for at, name in enumerate(names):
            if name in names[:at]:
                raise SceneError(f"bones[{at}]: {shown(name)} stands twice; keep one of them")
        frames = consecutive(self.frames)
        shape = len(frames), len(names)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "fps", float(self.fps))
        object.__setattr__(self, "frames", frames)
        object.__setattr__(self, "location", as_numbers(self.location, (*shape, 3), "location"))
        object.__setattr__(self, "rotation", as_turns(self.rotation, shape, "rotation"))


@dataclass(frozen=True, kw_only=True)
class MotionFile:
    """The motion of bones in the world."""

    format: str = key(Choice((FORMAT,)), "What kind of file this is.", example=FORMAT)
    version: int = key(Choice((VERSION,)), "Of the format.", example=VERSION)
    fps: float = key(Number(1.0, 1000.0), "Frames per second.", example=24)
    frames: tuple[int, int] = key(FrameRangeKind(), "First and last frame.", example=[1, 60])
    bones: tuple[str, ...] = key(NamesKind(), "Their names.", example=["hips", "spine"])
    location: NDArray = key(RowsKind(3, "the head [x, y, z] [m]"), "Posed heads in the world.")
    rotation: NDArray = key(RowsKind(4, "the axes [w, x, y, z]"), "Posed axes in the world.")


def motion_in(document, place) -> BoneMotion:
    """The motion in a document."""
    file = read_table(MotionFile, document, place)
    return BoneMotion(
        names=file.bones,
        fps=file.fps,
        frames=np.arange(file.frames[0], file.frames[1] + 1),
        location=file.location,
        rotation=file.rotation,
    )


def read_motion(path: str | os.PathLike) -> BoneMotion:
    """The motion in a .json file; raises SceneError, in one line with a remedy, if it cannot be used."""
    return read_document(path, motion_in)


def write_motion(motion: BoneMotion, path: str | os.PathLike) -> None:
    """Write a motion so that it reads back exactly; the file appears whole or not at all."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "fps": motion.fps,
        "frames": [int(motion.frames[0]), int(motion.frames[-1])],
        "bones": list(motion.names),
        "location": motion.location.tolist(),
        "rotation": motion.rotation.tolist(),
    }
    write_document(document, path)
