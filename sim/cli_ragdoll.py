"""The command `ragdoll`: let a character go at the end of its animation, and write what becomes of it."""

import time
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
@click.option("--force", is_flag=True, help="Replace a .json file even if it holds no motion.")
@talk_options
@click.pass_context
def ragdoll(context, character, outputs, preview, force, **options):
    """Let CHARACTER (.json) go limp at the end of its animation.

    The files begin with the animation; the last frame of it is where the
    simulation takes over. docs/character_file.md describes characters.
    """
    if not outputs and preview is None:
        raise click.UsageError("where to? give -o x.bvh, x.json or x.abc", context)
    from jellycage.sim.ragdoll.character_file import read_character

    console = console_of(context)
    _check_outputs(character, outputs, preview, force)
    began = time.perf_counter()
    with progress_of(console) as progress:
        progress("reading", 0.0)
        shot, notes = _shot(read_character(character), options)
        run = _simulated(shot, progress)
        _write(shot, run, outputs, options["up_axis"], progress)
        if preview is not None:
            _draw(shot, run, preview, progress)
    facts = _facts(shot, run, notes, outputs, preview, time.perf_counter() - began)
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


def _shot(character, options: dict[str, Any]):
    """(what is simulated, notes)."""
    import numpy as np

    from jellycage.sim.errors import SettingsError
    from jellycage.sim.ragdoll.ragdoll import RagdollSettings, build_ragdoll
    from jellycage.sim.rigid.world import RigidSettings
    from jellycage.sim.scene.rigid_run import RigidShot
    from jellycage.sim.scene.surfaces import ragdoll_surface
    from jellycage.sim.shapes.colliders import ground

    def given(*names):
        return {name: options[name] for name in names if options[name] is not None}

    settings = RagdollSettings(
        **given("spine", "strength", "damping", "mass", "friction", "restitution")
    )
    built = build_ragdoll(character, settings)
    gravity = options["gravity"] or (0.0, 0.0, -9.81)
    if not np.isfinite(gravity).all():
        raise SettingsError(f"gravity: expected three finite numbers, got {gravity}; correct them")
    height = options["ground"]
    meshes, notes = _obstacles(options["obstacles"])
    transition = int(character.frames[-1])
    shot = RigidShot(
        (int(character.frames[0]), transition + options["frames"]),
        character.fps,
        [ragdoll_surface(character.name, built, uses_positions=options["positions"])],
        colliders=[] if height == "none" else [ground(height)],
        meshes=meshes,
        gravity=gravity,
        settings=RigidSettings(**given("substeps", "iterations")),
    )
    return shot, [*built.notes, *notes]


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


class _Simulated:
    """The track of a run, and how well it went."""

    def __init__(self):
        self.track, self.gap, self.rod_error, self.seconds = [], 0.0, 0.0, 0.0

    def positions(self, shot, frame):
        return shot.positions(frame, *self.track[frame - shot.frames[0]])


def _simulated(shot, progress) -> _Simulated:
    from jellycage.sim.scene.rigid_run import RigidRun

    result, run = _Simulated(), RigidRun(shot)
    first, last = shot.frames
    began = time.perf_counter()
    while True:
        result.track.append(run.poses())
        gap, rod_error = run.errors()
        result.gap, result.rod_error = max(result.gap, gap), max(result.rod_error, rod_error)
        progress("simulating", (run.frame - first) / max(last - first, 1))
        if run.frame == last:
            break
        run.step()
    result.seconds = time.perf_counter() - began
    return result


def _write(shot, run, outputs, up_axis, progress) -> None:
    """Write the motion, or the surface, to each file."""
    import numpy as np

    from jellycage.sim.export.alembic import AlembicWriter
    from jellycage.sim.scene.rigid_run import write_motion_file

    locations, rotations = (np.array(part) for part in zip(*run.track, strict=True))
    motion = shot.motion(0, locations, rotations)
    for path in outputs:
        progress(f"writing {path.name}", 0.0)
        if path.suffix.lower() != ".abc":
            write_motion_file(shot.dolls[0], motion, path, up_axis=up_axis)
            continue
        with AlembicWriter(
            path,
            shot.export_meshes,
            fps=shot.fps,
            first_frame=shot.frames[0],
            up_axis=up_axis or "Y",
        ) as writer:
            for frame in range(shot.frames[0], shot.frames[1] + 1):
                writer.write(run.positions(shot, frame))


def _draw(shot, run, path, progress) -> None:
    from jellycage.sim.bake.preview import Animation, draw_animation

    animation = Animation(
        *(shot.export_meshes, shot.frames, shot.fps, lambda frame: run.positions(shot, frame)),
        *(shot.colliders, shot.meshes),
    )
    stage = f"drawing {path.name}"
    draw_animation(path, animation, progress=lambda share: progress(stage, share))


def _facts(shot, run, notes, outputs, preview, seconds) -> dict[str, Any]:
    doll = shot.dolls[0]
    built, character = doll.ragdoll, doll.ragdoll.character
    simulated = shot.frames[1] - doll.transition
    steps = simulated * shot.settings.substeps
    return {
        "character": character.name,
        "frames": shot.frames[1] - shot.frames[0] + 1,
        "first_frame": shot.frames[0],
        "transition": doll.transition,
        "simulated": simulated,
        "fps": shot.fps,
        "bones": len(character.bones),
        "bodies": len(built.bodies),
        "joints": len(built.joints),
        "rods": len(built.rods),
        "spine": [character.names[bone] for bone in built.spine],
        "mass": float(sum(body.properties.mass for body in built.bodies)),
        "substeps": shot.settings.substeps,
        "iterations": shot.settings.iterations,
        "seconds": round(seconds, 3),
        "ms_per_step": round(1e3 * run.seconds / steps, 4) if steps else None,
        "joint_gap_max": run.gap,
        "rod_length_error_max": run.rod_error,
        "warnings": list(notes),
        "output": [str(path) for path in outputs],
        "preview": preview and str(preview),
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
