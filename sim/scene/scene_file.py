"""Scene files: a shot in TOML or JSON, read into frozen dataclasses with every value checked.

Only the scene file itself is opened; the meshes, assets, weights and point caches that it names must exist.

python -m jellycage.sim.scene.scene_file [docs/scene_file.md]     writes the page that describes every key
"""

import difflib
import os
import sys
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from jellycage.sim.errors import SceneError
from jellycage.sim.rigid.world import RigidSettings
from jellycage.sim.scene.body_entries import BodyEntry
from jellycage.sim.scene.collider_entries import ColliderEntry
from jellycage.sim.scene.entry_kinds import NAME, THREE_ZEROS, Three
from jellycage.sim.scene.rigid_entries import RagdollEntry, RigidEntry, RigidSolverEntry
from jellycage.sim.scene.solver_entries import OutputEntry, SolverEntry
from jellycage.sim.schema.documents import read_text_document, table_section
from jellycage.sim.schema.schema import Place, described, key, one_line, plain, read_table, shown
from jellycage.sim.schema.schema_kinds import (
    UNUSABLE,
    Choice,
    FrameRangeKind,
    Number,
    Table,
    Tables,
    Vector,
    Whole,
)
from jellycage.sim.soft.presets import PRESETS, QUALITIES
from jellycage.sim.solvers.settings import SolverSettings
from jellycage.toolkit.atomic_file import atomic_file

EXAMPLE = """\
frames = [1001, 1096]
quality = "final"

[output]
path = "shot.abc"

[[body]]
mesh = "bear.ply"
location = [0.0, 0.0, 1.0]
preset = "jelly"

[[body.pin]]
box = [[-1.0, -1.0, 1.8], [1.0, 1.0, 2.0]]
strength = [{frame = 1001, value = 1.0}, {frame = 1024, value = 0.0}]

[[collider]]
kind = "plane"
friction = 0.8
"""


@dataclass(frozen=True, kw_only=True)
class SceneFile:
    """A shot: bodies, ragdolls, colliders and how to bake them; at least one [[body]], [[ragdoll]] or [[rigid]]."""

    frames: tuple[int, int] = key(FrameRangeKind(), "First and last frame; any start.", (1, 72))
    fps: float = key(Number(1.0, 1000.0), "Frames per second.", 24.0)
    substeps: int | None = key(
        Whole(1, 1000), "Steps per frame; left out: by size and quality.", None, example=4
    )
    seed: int = key(
        Whole(0, 2**32 - 1), "No effect, as nothing is random; older scenes have it.", 0
    )
    quality: str = key(
        Choice(tuple(QUALITIES)),
        "Chooses resolution, substeps and newton_iterations where they are left out.",
        "standard",
    )
    gravity: Three = key(Vector(Number(unit="m/s^2")), "Pulls everything.", (0.0, 0.0, -9.81))
    wind: Three = key(
        Vector(Number(unit="m/s")),
        "Velocity of the air, felt by bodies with air_drag.",
        THREE_ZEROS,
    )
    solver: SolverEntry = key(Table(SolverEntry), "How hard the solver tries.", SolverEntry())
    output: OutputEntry = key(Table(OutputEntry), "What is written and how.", OutputEntry())
    rigid_solver: RigidSolverEntry = key(
        Table(RigidSolverEntry),
        "How hard the solver of ragdolls and rigid bodies tries.",
        RigidSolverEntry(),
    )
    bodies: tuple[BodyEntry, ...] = key(Tables(BodyEntry), "The soft bodies.", (), name="body")
    ragdolls: tuple[RagdollEntry, ...] = key(
        Tables(RagdollEntry), "Characters that go limp.", (), name="ragdoll"
    )
    rigids: tuple[RigidEntry, ...] = key(Tables(RigidEntry), "The rigid bodies.", (), name="rigid")
    colliders: tuple[ColliderEntry, ...] = key(
        Tables(ColliderEntry), "What they bump into.", (), name="collider"
    )
    folder: Path = field(compare=False)
    """Where relative paths start; it decides nothing."""

    @property
    def solver_settings(self) -> SolverSettings:
        """The settings of the solver, with what was left out chosen by quality."""
        settings = plain(self.solver)
        if self.solver.newton_iterations is None:
            settings["newton_iterations"] = QUALITIES[self.quality].newton_iterations
        return SolverSettings(**settings)

    @property
    def rigid_settings(self) -> RigidSettings:
        """The settings of the solver of ragdolls and rigid bodies."""
        settings = plain(self.rigid_solver)
        settings["substeps"] = settings["substeps"] or self.substeps or RigidSettings.substeps
        return RigidSettings(**settings)

    @property
    def passing(self) -> tuple[tuple[int, int], ...]:
        """Numbers of soft bodies that pass through each other, the lesser first."""
        found = set()
        for a, body in enumerate(self.bodies):
            for b, other in enumerate(self.bodies):
                if a != b and {other.name, other.group} & set(body.passes_through):
                    found.add((min(a, b), max(a, b)))
        return tuple(sorted(found))

    @property
    def content(self) -> dict:
        """All that decides the simulation, as JSON has it: no output, no contents of other files.

        Paths are relative to the scene's folder, so that a shot may be moved. TOML and JSON give the same.
        """
        content = plain(self, self.folder)
        del content["output"]
        for ragdoll in content["ragdoll"]:
            del ragdoll["motion"]
        return content


def read_scene_file(path: str | os.PathLike) -> SceneFile:
    """The scene in a .toml or .json file; raises SceneError, in one line with a remedy, if it cannot be used."""
    path = Path(path)
    try:
        return scene_of(read_text_document(path), path.parent)
    except SceneError as error:
        raise SceneError(f"{one_line(path)}: {error}") from None


def scene_of(document: Any, folder: str | os.PathLike) -> SceneFile:
    """The scene in a dict as TOML and JSON give it; relative paths start at the folder."""
    place = Place(Path(os.path.abspath(folder)))
    scene = read_table(SceneFile, document, place, folder=place.folder)
    moving = {"body": scene.bodies, "ragdoll": scene.ragdolls, "rigid": scene.rigids}
    if not any(moving.values()):
        problem = "there is none" if "body" in document else "is missing"
        remedy = "add for example [[body]], [[ragdoll]] or [[rigid]]"
        raise place.key("body").error(problem, remedy)
    named = _named(moving, place) | _named({"collider": scene.colliders}, place)
    scene = replace(
        scene,
        **{"bodies": named["body"], "ragdolls": named["ragdoll"]},
        **{"rigids": named["rigid"], "colliders": named["collider"]},
    )
    _check_passing(scene, place)
    _check_motions(scene, place)
    return scene


def _named(tables, place):
    """The entries of some tables with a name each, no two alike even where capitals do not count, as in file names."""
    taken = {"": None}
    for table, entries in tables.items():
        for at, entry in enumerate(entries):
            name, here = entry.name.casefold(), place.key(table).item(at)
            if name and name in taken:
                problem = f"{shown(entry.name)} is the name of {taken[name]} too"
                raise here.key("name").error(problem, "choose another")
            taken[name] = here.name
    named = {}
    for table, entries in tables.items():
        names = []
        for entry in entries:
            names.append(entry.name or _free_name(_stem(entry), taken))
            taken[names[-1].casefold()] = None
        rows = zip(entries, names, strict=True)
        named[table] = tuple(replace(entry, name=name) for entry, name in rows)
    return named


def _stem(entry):
    """What an entry without a name is called after: a file, or its kind."""
    if isinstance(entry, ColliderEntry):
        return entry.kind
    files = (getattr(entry, name, None) for name in ("mesh", "asset", "character"))
    path = next((path for path in files if path is not None), None)
    return entry.kind if path is None else path.stem


def _check_passing(scene, place):
    """Bodies pass through bodies and groups that there are."""
    known = [body.name for body in scene.bodies]
    known += [body.group for body in scene.bodies if body.group is not None]
    for at, body in enumerate(scene.bodies):
        for number, name in enumerate(body.passes_through):
            if name not in known:
                here = place.key("body").item(at).key("passes_through").item(number)
                close = difflib.get_close_matches(name, known, 1)
                remedy = f"did you mean {shown(close[0])}?" if close else "give its name or group"
                raise here.error(f"no soft body or group is called {shown(name)}", remedy)


def _check_motions(scene, place):
    """No two ragdolls write to the same file, and none over what it is read from."""
    taken = {ragdoll.character: "a character" for ragdoll in scene.ragdolls}
    for at, ragdoll in enumerate(scene.ragdolls):
        for path in ragdoll.motion:
            here = place.key("ragdoll").item(at).key("motion")
            if path in taken:
                problem = f"{shown(path.name)} is {taken[path]} too"
                raise here.error(problem, "give the motion another name")
            taken[path] = f"the motion of ragdoll[{at}]"


def _free_name(stem, taken):
    """A name after the stem that is not taken: bear, bear_2, bear_3."""
    stem = UNUSABLE.sub("_", "".join("_" if c in NAME.forbidden else c for c in stem))
    stem = stem[: NAME.longest - 8]
    name = stem
    for number in count(2):
        if name.casefold() not in taken:
            return name
        name = f"{stem}_{number}"


def scene_schema() -> dict:
    """Every key of a scene file as plain data: type, what is allowed, limits, default, sentence; tables nest."""
    return described(SceneFile)


def scene_page(schema: dict) -> str:
    """The documentation of scene files as Markdown, from `scene_schema`."""
    lines = [
        "# Scene files",
        "",
        "A scene file says what is simulated: TOML, or JSON of the same shape. Paths are relative to the file.",
        "Lengths are in metres, z is up. Vectors are in the world unless said otherwise. Numbers end at 1e12.",
        "This page is made by `python -m jellycage.sim.scene.scene_file` from the table that checks the files.",
        *("", "```toml", *EXAMPLE.splitlines(), "```", ""),
        "Keys in time are `[{frame = 1, value = 0.0}, {frame = 24, value = 1.0}]`: linear between, held outside.",
        "",
        "A ragdoll follows its character's animation, at the frames and fps of the scene, up to the last frame of it,",
        "which must not be before the scene's first. From there on it is simulated; until then nothing bumps into it,",
        "and before its animation begins it stands as at its start.",
        "Soft bodies meet each other, where they do not pass through each other, and the colliders that are no meshes.",
        "Ragdolls, rigid bodies and colliders meet each other. Soft bodies do not feel ragdolls and rigid bodies, nor",
        "these them, nor does one feel itself. The restitution of soft bodies counts against colliders only.",
        *("", "## The file", *table_section(schema, "")),
        *("", "## Presets", ""),
        "The sag is what a body loses of its height to its own weight, on a floor under its start pose, with its",
        "sideways motion and its turning held. The body itself is solved for, at its own resolution, until it comes to",
        "that, and the stiffness is printed; if it gives way first, that is said. Painted stiffness is taken as it is.",
        *("", "| preset | sag | what it is |", "|---|---|---|"),
        *(f"| `{name}` | {p.sag:g} | {p.description} |" for name, p in PRESETS.items()),
        *("", "## Quality", "", "| quality | resolution | what it is |", "|---|---|---|"),
        *(f"| `{name}` | {q.resolution} | {q.description} |" for name, q in QUALITIES.items()),
    ]
    return "\n".join(lines) + "\n"


def main(path: str = "docs/scene_file.md") -> None:
    """Write the page."""
    with atomic_file(path) as draft:
        draft.write_text(scene_page(scene_schema()), encoding="utf-8", newline="\n")
    print(f"wrote {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
