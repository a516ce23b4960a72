"""Characters in files for tests: the sample walker, cut short and dressed; and what an Alembic file shows."""

from dataclasses import replace
from pathlib import Path

import alembic3d.Abc as Abc
import alembic3d.AbcGeom as AbcGeom
import numpy as np

from jellycage.sim.ragdoll.character import Skin
from jellycage.sim.ragdoll.character_file import read_character, write_character

WALKER = Path(__file__).resolve().parent.parent / "sample_meshes" / "walker.json"


def walker(*, frames=(58, 60), name="walker", dressed=False):
    """The end of the sample character's animation at other frames, with a skin of random triangles if wanted."""
    character = read_character(WALKER)
    numbers = np.arange(frames[0], frames[1] + 1)
    character = replace(
        character,
        name=name,
        frames=numbers,
        location=character.location[-len(numbers) :],
        rotation=character.rotation[-len(numbers) :],
    )
    return replace(character, skin=random_skin(character)) if dressed else character


def random_skin(character, count=60) -> Skin:
    """Triangles near the bones with up to three bones per vertex; the last three vertices hang on none."""
    rng = np.random.default_rng(5)
    bones = rng.integers(0, len(character.bones), (count, 3))
    share = rng.random((count, 1))
    along = (1.0 - share) * character.rest_head[bones[:, 0]] + share * character.rest_tail[
        bones[:, 0]
    ]
    weights = rng.random((count, 3))
    weights[count // 2 :, 1:] = 0.0
    weights[-3:] = 0.0
    return Skin(
        along + 0.05 * rng.normal(size=(count, 3)),
        np.arange(count).reshape(-1, 3),
        bones,
        weights,
    )


def walker_file(folder, file="walker.json", **keys) -> str:
    """Such a character in a file; its name."""
    write_character(walker(**keys), Path(folder) / file)
    return file


def alembic_points(path) -> dict:
    """Points (frames, v, 3) of every mesh by name, as the reference library reads them."""
    archive = Abc.IArchive(str(path))
    top, found = archive.getTop(), {}
    for at in range(top.getNumChildren()):
        transform = AbcGeom.IXform(top, top.getChildHeader(at).getName())
        mesh = AbcGeom.IPolyMesh(transform, transform.getChildHeader(0).getName())
        points = mesh.getSchema().getPositionsProperty()
        rows = [np.array(memoryview(points.getValue(k))) for k in range(points.getNumSamples())]
        found[transform.getName()] = np.array(rows)
    return found
