"""The command `ragdoll`: let a character go at the end of its animation, and write what becomes of it."""

import hashlib
from pathlib import Path
from typing import Any

import click

from jellycage.toolkit.cli import FILE
from jellycage.toolkit.console import console_of, progress_of, talk_options

ENDINGS = (".bvh", ".json", ".abc")
LONGEST_HEAD = 4096  # characters of a file that are looked at to tell what it is


class Height(click.ParamType):
    """A height [m], or none."""

    name = "height|none"

    def convert(self, value, param, ctx):
        """The height, or "none"."""
        if str(value).strip().lower() == "none":
            return "none"
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r}: expected a height in metres or none", param, ctx)


@click.command()
@click.argument("character", type=FILE)
@click.option(
    "-o",
    "--output",
    "outputs",
    type=FILE,
    multiple=True,
    help="x.bvh or x.json (bones), x.abc (the skin, or the shapes that collide); may be given several times.",
)
@click.option(
    "--frames",
    type=click.IntRange(0, 1_000_000),
    default=96,
    show_default=True,
    help="To simulate after the animation.",
)
@click.option(
    "--spine", type=click.Choice(["rod", "joints", "ball"]), help="What it is made of (rod)."
)
@click.option("--strength", type=float, help="Of the muscles, 0 limp to 1 wooden (0).")
@click.option("--damping", type=float, help="Rate at which joints slow down, 1/s (2).")
@click.option("--mass", type=float, help="In kg (the character's own, or by its height).")
@click.option("--friction", type=float, help="Of its bodies (0.7).")
@click.option("--restitution", type=float, help="How much it bounces, 0 to 1 (0).")
@click.option(
    "--ground", type=Height(), default="0", show_default=True, help="Height of the floor, or none."
)
@click.option(
    "--obstacle",
    "obstacles",
    type=FILE,
    multiple=True,
    help="Mesh to fall on; may be given several times.",
)
@click.option("--gravity", type=float, nargs=3, metavar="X Y Z", help="In m/s^2 (0 0 -9.81).")
@click.option(
    "--positions",
    is_flag=True,
    help="Move bones of the spine to where it is, at the expense of their lengths.",
)
@click.option("--substeps", type=click.IntRange(1, 1000), help="Steps per frame (8).")
@click.option("--iterations", type=click.IntRange(1, 10000), help="Sweeps per step (20).")
@click.option("--up-axis", type=click.Choice(["Y", "Z"]), help="Of .bvh and .abc files (Y).")
@click.option("--preview", type=FILE, help="Also pictures: x.gif or x.png.")
@click.option("--cache", type=FILE, help="Folder of the bake (the first output with .bake).")
@click.option("--resume", is_flag=True, help="Continue an unfinished bake.")
@click.option("--force", is_flag=True, help="Replace a .json file even if it holds no motion.")
@talk_options
@click.pass_context
def ragdoll(context, character, outputs, preview, cache, resume, force, **options):
    """Let CHARACTER (.json) go limp at the end of its animation.

    The files begin with the animation; the last frame of it is where the
    simulation takes over. Frames go to a cache folder as they are finished;
    Ctrl-C keeps them, and --resume continues. docs/character_file.md
    describes characters.
    """
    if not outputs and preview is None:
        raise click.UsageError("where to? give -o x.bvh, x.json or x.abc", context)
    from jellycage.sim.cli import BakeProgress

    console = console_of(context)
    _check_outputs(character, outputs, preview, force)
    task = _task(character, outputs, preview, cache, resume, options)
    with progress_of(console) as progress:
        outcome = task.finish(BakeProgress(console, progress))
    facts = _facts(outcome, outputs)
    console.result(facts, _text(facts))


def _check_outputs(character: Path, outputs, preview: Path | None, force: bool) -> None:
    """Stop before the work if something could not, or should not, be written after it."""
    from jellycage.sim.bake.preview import check_preview
    from jellycage.sim.errors import SettingsError
    from jellycage.toolkit.atomic_file import check_writable

    for path in outputs:
        if path.suffix.lower() not in ENDINGS:
            raise SettingsError(
                f"{path}: the ending {path.suffix!r} is not known; use one of {', '.join(ENDINGS)}"
            )
    paths = list(outputs)
    if preview is not None:
        check_preview(preview)
        paths.append(preview)
    places = [path.resolve() for path in paths]
    for path, place in zip(paths, places, strict=True):
        if places.count(place) > 1:
            raise SettingsError(f"{path}: is to be written twice; give each output a name")
        if place == character.resolve():
            raise SettingsError(f"{path}: is the character itself; give the output another name")
        check_writable(path)
        is_json = path.suffix.lower() == ".json" and path.is_file()
        if is_json and not force and not _holds_motion(path):
            raise SettingsError(
                f"{path}: is there and holds no motion; give another name, or --force to replace it"
            )


def _holds_motion(path: Path) -> bool:
    from jellycage.sim.ragdoll.motion import FORMAT

    with open(path, encoding="utf-8", errors="replace") as file:
        return FORMAT in file.read(LONGEST_HEAD)


def _task(character: Path, outputs, preview, cache, resume: bool, options: dict[str, Any]):
    """The bake that the options ask for; one of something else in its folder is replaced."""
    from jellycage.sim.bake.bake_task import BakeTask, MotionFile
    from jellycage.sim.bake.exports import Export

    up_axis = options["up_axis"]
    surfaces = [path for path in outputs if path.suffix.lower() == ".abc"]
    return BakeTask(
        lambda progress: _shot(character, options, progress),
        cache or [*outputs, preview][0].with_suffix(".bake"),
        exports=tuple(Export(path, up_axis) for path in surfaces),
        motions=tuple(MotionFile(0, path, up_axis) for path in outputs if path not in surfaces),
        preview=preview,
        resume=resume,
        force=not resume,
    )


def _shot(path: Path, options: dict[str, Any], progress):
    """What is simulated, and how it is seen."""
    import numpy as np

    from jellycage.sim.errors import SettingsError
    from jellycage.sim.ragdoll.character_file import read_character
    from jellycage.sim.ragdoll.ragdoll import RagdollSettings, build_ragdoll
    from jellycage.sim.rigid.world import RigidSettings
    from jellycage.sim.scene.scene import Scene
    from jellycage.sim.scene.shot import Shot
    from jellycage.sim.scene.surfaces import ragdoll_surface
    from jellycage.sim.shapes.colliders import ground

    def given(*names):
        return {name: options[name] for name in names if options[name] is not None}

    progress("reading", 0.0)
    character = read_character(path)
    settings = RagdollSettings(
        **given("spine", "strength", "damping", "mass", "friction", "restitution")
    )
    built = build_ragdoll(character, settings)
    gravity = options["gravity"] or (0.0, 0.0, -9.81)
    if not np.isfinite(gravity).all():
        raise SettingsError(f"gravity: expected three finite numbers, got {gravity}; correct them")
    height = options["ground"]
    meshes, notes = _obstacles(options["obstacles"])
    first, transition = int(character.frames[0]), int(character.frames[-1])
    solver = RigidSettings(**given("substeps", "iterations"))
    doll = ragdoll_surface(character.name, built, uses_positions=options["positions"])
    return Shot(
        scene=Scene(
            gravity=gravity,
            colliders=[] if height == "none" else [ground(height)],
            ragdolls=[built],
            entering=[(transition - first) / character.fps],
            meshes=meshes,
            rigid_solver=solver,
        ),
        frames=(first, transition + options["frames"]),
        fps=character.fps,
        substeps=solver.substeps,
        dolls=(doll,),
        digest=_digest(path, options),
        notes=(*built.notes, *notes),
    )


def _digest(character: Path, options: dict[str, Any]) -> str:
    """Of everything that decides the result."""
    from jellycage.toolkit.version import VERSION

    decisive = {name: options[name] for name in sorted(options) if name != "up_axis"}
    digest = hashlib.sha256(f"{VERSION}\n{decisive}".encode())
    for path in (character, *options["obstacles"]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _obstacles(paths):
    """(static meshes, notes) of files."""
    from jellycage.sim.shapes.static_mesh import StaticMesh
    from jellycage.toolkit.mesh.mesh_io import read_mesh

    meshes, notes = [], []
    for path in paths:
        mesh = read_mesh(path)
        meshes.append(StaticMesh(mesh.vertices, mesh.faces))
        notes += [f"{path.name}: {sentence}" for sentence in mesh.warnings]
    return meshes, notes


def _facts(outcome, outputs) -> dict[str, Any]:
    shot, known = outcome.shot, outcome.facts()
    doll = shot.dolls[0]
    built, character = doll.ragdoll, doll.ragdoll.character
    solver, simulated = shot.scene.rigid_solver, shot.frames[1] - doll.transition
    spent = outcome.result.column("step_seconds").sum() if outcome.result.baked else 0.0
    steps = simulated * solver.substeps
    names = (
        *("frames", "first_frame", "fps", "seconds", "joint_gap_max", "rod_length_error_max"),
        *("warnings", "cache", "preview"),
    )
    return {name: known[name] for name in names} | {
        "character": character.name,
        "transition": doll.transition,
        "simulated": simulated,
        "bones": len(character.bones),
        "bodies": len(built.bodies),
        "joints": len(built.joints),
        "rods": len(built.rods),
        "spine": [character.names[bone] for bone in built.spine],
        "mass": float(sum(body.properties.mass for body in built.bodies)),
        "substeps": solver.substeps,
        "iterations": solver.iterations,
        "ms_per_step": round(1e3 * float(spent) / steps, 4) if steps else None,
        "output": [str(path) for path in outputs],
    }


def _text(facts: dict[str, Any]) -> str:
    step = "" if facts["ms_per_step"] is None else f", {facts['ms_per_step']:.2f} ms per step"
    lines = [
        f"{facts['character']}: {facts['frames']} frames, limp from frame {facts['transition']} on, "
        f"in {facts['seconds']:.1f} s{step}",
        f"{facts['bodies']} bodies of {facts['mass']:.3g} kg, {facts['joints']} joints, {facts['rods']} rods",
        f"joints hold within {1e3 * facts['joint_gap_max']:.2g} mm, "
        f"rods within {1e3 * facts['rod_length_error_max']:.2g} mm",
        *facts["warnings"],
        *(f"wrote {path}" for path in [*facts["output"], facts["preview"]] if path),
    ]
    return "\n  ".join(lines)
