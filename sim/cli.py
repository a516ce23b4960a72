"""The command line: cages from `jellycage.toolkit.cli`, `check` and `ragdoll` from files beside this one, and baking.

Every command loads what it needs when it runs, so that --help stays fast.
"""

import dataclasses
import json
import re
import sys
from pathlib import Path
from typing import Any

import click

from jellycage.sim.cli_check import check
from jellycage.sim.cli_ragdoll import ragdoll
from jellycage.sim.export.writers import WRITERS
from jellycage.sim.schema.schema import listed
from jellycage.toolkit import cli as toolkit_cli
from jellycage.toolkit.cli import FILE, INPUT_SCALE, main
from jellycage.toolkit.console import Console, Progress, console_of, progress_of, talk_options
from jellycage.toolkit.json_values import plain

main.help = main.help.replace(
    "Strictly bounding simulation cages around any surface mesh.",
    "Soft bodies that keep their volume, from any surface mesh, and ragdolls.",
)
BAKE_SUFFIX = ".bake"
OUTPUTS = [f"x{suffix} ({row.name})" for suffix, row in WRITERS.items()]
PLAIN_LINES = 10  # of progress in plain mode
for command in (ragdoll, check):
    main.add_command(command)


class BakeProgress:
    """Shows what a job says."""

    def __init__(self, console: Console, progress: Progress):
        self.mode, self.progress, self.shown = console.progress, progress, -1

    def __call__(self, line: dict[str, Any]) -> None:
        if self.mode == "json":
            click.echo(json.dumps(plain(line)), err=True)
        elif line["event"] == "stage":
            self.progress(line["stage"], line["fraction"])
        elif self.mode == "bar":
            left = f"{line['eta']:.0f} s left"
            self.progress(f"baking, frame {line['frame']}, {left}", line["fraction"])
        elif self.mode == "plain":
            tenth = int(PLAIN_LINES * line["fraction"])
            if tenth > self.shown:
                self.shown = tenth
                done, left = f"{line['fraction']:.0%}", f"{line['eta']:.0f} s left"
                click.echo(f"baked frame {line['frame']}, {done}, {left}", err=True)


class FrameRange(click.ParamType):
    """FIRST-LAST, where either may be negative."""

    name = "first-last"

    def convert(self, value, param, ctx):
        found = re.fullmatch(r"\s*(-?\d+)\s*-\s*(-?\d+)\s*", str(value))
        if not found or int(found[1]) > int(found[2]):
            self.fail(f"{value!r}: expected first and last frame, for example 1-72", param, ctx)
        return int(found[1]), int(found[2])


def bake_options(command):
    """The options of commands that bake."""
    for option in (
        click.option(
            "-o",
            "--output",
            "outputs",
            type=FILE,
            multiple=True,
            help=f"{', '.join(OUTPUTS)} or a folder; may be given several times.",
        ),
        click.option("--cache", type=FILE, help="Folder of the bake (the output with .bake)."),
        click.option("--frames", type=FrameRange(), help="First and last frame, 1001-1096."),
        click.option("--fps", type=click.FloatRange(1, 1000), help="Frames per second."),
        click.option("--substeps", type=click.IntRange(1, 1000), help="Steps per frame."),
        click.option("--quality", type=click.Choice(["preview", "standard", "final"])),
        click.option("--resume", is_flag=True, help="Continue an unfinished bake."),
        click.option("--force", is_flag=True, help="Bake again, whatever is there."),
        click.option("--keep-going", is_flag=True, help="Bake on when a body is in trouble."),
        click.option("--preview", type=FILE, help="Also pictures: x.gif or x.png."),
        click.option("--report", type=FILE, help="Also curves and numbers: x.html."),
        click.option("--velocities", is_flag=True, help="Also velocities, for motion blur."),
        click.option("--up-axis", type=click.Choice(["Y", "Z"]), help="Of the files."),
        click.option("--scale", type=float, help="Units of the files per metre (1)."),
    )[::-1]:
        command = option(command)
    return command


@main.command()
@click.argument("scene", type=FILE)
@bake_options
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), hidden=True, expose_value=False)
@click.option("--dry-run", is_flag=True, help="Build everything, say what it is, bake nothing.")
@talk_options
@click.pass_context
def bake(context, scene, dry_run, **options):
    """Simulate SCENE (.toml or .json) and write it to files.

    Frames go to a cache folder as they are finished. Ctrl-C keeps them, and
    --resume continues. All keys of a scene are in docs/scene_file.md.
    """
    from jellycage.sim.scene.scene_file import read_scene_file

    console = console_of(context)
    entry = read_scene_file(scene)
    if dry_run:
        _describe(console, _changed(entry, options), scene)
        return
    facts = _run(context, console, entry, options)
    console.result(facts, _bake_text(facts))


@main.command()
@click.argument("mesh", type=FILE)
@bake_options
@INPUT_SCALE
@click.option("--preset", default="jelly", show_default=True, help="See `jellycage presets`.")
@click.option("--height", type=click.FloatRange(0), help="Of the fall in metres (its own height).")
@click.option("--resolution", type=click.IntRange(1, 512), help="Cells across the longest side.")
@click.option("--element", type=click.Choice(["tet", "hex"]), default="tet", show_default=True)
@click.option(
    "--surface",
    type=click.Choice(["barycentric", "mls", "gaussian"]),
    default="barycentric",
    show_default=True,
    help="What is written: the surface that collides, or a smooth one near it.",
)
@talk_options
@click.pass_context
def drop(context, mesh, input_scale, preset, height, resolution, element, surface, **options):
    """Cage MESH, drop it on the floor and bake it, in one line."""
    console = console_of(context)
    scene = _dropped(mesh, input_scale, preset, height, resolution, element, surface)
    facts = _run(context, console, scene, options)
    console.result(facts, _bake_text(facts))


@main.command()
@talk_options
@click.pass_context
def presets(context):
    """What bodies can be made of, and how finely scenes are cut up."""
    from jellycage.sim.soft.presets import MODULI, PRESETS, QUALITIES, preset_material

    console = console_of(context)
    rows, lines = {}, ["preset    sag    Young modulus at 0.2 m, 2 m     what it is"]
    for name, preset in PRESETS.items():
        moduli = [preset_material(preset, h, (0, 0, -9.81))[0].young_modulus for h in (0.2, 2.0)]
        rows[name] = dataclasses.asdict(preset) | {"young_modulus_of_1_m": 5 * float(moduli[0])}
        lines.append(
            f"{name:9s} {preset.sag:5.1%}  {float(moduli[0]):9.4g} Pa, {float(moduli[1]):9.4g} Pa     "
            f"{preset.description}"
        )
    lines += ["", MODULI, "\nquality   resolution  what for"]
    for name, quality in QUALITIES.items():
        lines.append(f"{name:9s} {quality.resolution:10d}  {quality.description}")
    qualities = {name: dataclasses.asdict(quality) for name, quality in QUALITIES.items()}
    console.result({"presets": rows, "qualities": qualities}, "\n".join(lines))


@main.command(
    help=f"Turn an asset into .vtk, .vtu, .msh or .obj, or a bake folder into {listed(WRITERS)}."
)
@click.argument("source", metavar="IN", type=FILE)
@click.argument("target", metavar="OUT", type=FILE)
@click.option("--up-axis", type=click.Choice(["Y", "Z"]), help="Of the files of a bake.")
@click.option("--scale", type=float, default=1.0, help="Units of the files of a bake per metre.")
@talk_options
@click.pass_context
def convert(context, source, target, up_axis, scale):
    """Write an asset or a bake as files of other programs."""
    if not source.is_dir():
        context.invoke(toolkit_cli.convert, source=source, target=target)
        return
    from jellycage.sim.bake.cache import open_cache
    from jellycage.sim.bake.exports import Export, write_export

    console = console_of(context)
    export = Export(target, up_axis, scale)
    export.check()
    with progress_of(console) as progress:
        written = write_export(
            open_cache(source), export, progress=lambda share: progress("writing", share)
        )
    facts = {"input": str(source), "output": [str(path) for path in written]}
    console.result(facts, f"wrote {_listed(written)}")


@main.command()
@talk_options
@click.pass_context
def demo(context):
    """Drop the sample bear into the current folder: Alembic, OBJ files and a GIF."""
    from jellycage.toolkit.samples import sample_path

    console = console_of(context)
    scene = _demo_scene(sample_path())
    folder = Path("gummy_bear_obj")
    folder.mkdir(exist_ok=True)
    options = {
        "outputs": (Path("gummy_bear.abc"), folder / "gummy_bear.obj"),
        "preview": Path("gummy_bear.gif"),
        "report": Path("gummy_bear.html"),
        "force": True,
    }
    facts = _run(context, console, scene, options)
    text = (
        f"{_bake_text(facts)}\n\n"
        "Look at gummy_bear.gif, import gummy_bear.abc into Blender, or drop a mesh of your own:\n"
        "  jellycage drop MESH -o my_mesh.abc --preview my_mesh.gif"
    )
    console.result(facts, text)


def _demo_scene(mesh: Path):
    """The bear leans back as it falls, lands on its seat, and rocks until it sits. Gummy is firmer than jelly."""
    from jellycage.sim.scene.scene_file import scene_of

    body = {
        "mesh": str(mesh),
        "location": [0.0, 0.0, 0.4],
        "rotation": [-15.0, 0.0, 20.0],
        "resolution": 10,
        "sag": 0.03,
        "stiffness_damping": 0.02,
    }
    return scene_of({"body": [body], "collider": [{"kind": "plane"}]}, Path.cwd())


def _dropped(mesh: Path, scale: float, preset: str, height, resolution, element, surface):
    """A scene in which a mesh falls on the floor."""
    from jellycage.sim.scene.scene_file import scene_of
    from jellycage.toolkit.mesh.mesh_io import read_mesh

    low, high = read_mesh(mesh, scale=scale).bounds()
    fall = float(high[2] - low[2]) if height is None else height
    body = {
        "mesh": str(Path(mesh).resolve()),
        "units": scale,
        "preset": preset,
        "element": element,
        "surface": surface,
        "location": [0.0, 0.0, fall - float(low[2])],
    }
    if resolution is not None:
        body["resolution"] = resolution
    return scene_of({"body": [body], "collider": [{"kind": "plane"}]}, Path.cwd())


def _changed(scene, options: dict[str, Any]):
    """The scene with what the options say in place of its own."""
    names = ("frames", "fps", "substeps", "quality")
    changes = {name: options[name] for name in names if options.get(name) is not None}
    return dataclasses.replace(scene, **changes)


def _task(context, scene, options: dict[str, Any]):
    """The task that a scene and the options ask for."""
    from jellycage.sim.bake.bake_task import BakeTask
    from jellycage.sim.bake.exports import Export

    scene = _changed(scene, options)
    outputs = list(options.get("outputs") or ([scene.output.path] if scene.output.path else []))
    if not outputs and options.get("cache") is None:
        raise click.UsageError("where to? give -o, or output.path in the scene", context)
    folders = [path for path in outputs if path.suffix in ("", BAKE_SUFFIX) or path.is_dir()]
    files = [path for path in outputs if path not in folders]
    if len(folders) > 1 or (folders and options.get("cache")):
        raise click.UsageError("a bake has one folder; give one", context)
    cache = options.get("cache") or (folders[0] if folders else files[0].with_suffix(BAKE_SUFFIX))
    scale = options.get("scale")
    exports = [
        Export(
            path,
            options.get("up_axis") or scene.output.up_axis,
            scene.output.scale if scale is None else scale,
        )
        for path in files
    ]
    return BakeTask.of_scene(
        scene,
        cache,
        exports,
        preview=options.get("preview"),
        report=options.get("report"),
        velocities=options.get("velocities") or scene.output.velocities,
        resume=options.get("resume", False),
        force=options.get("force", False),
        keep_going=options.get("keep_going", False),
    )


def _run(context, console: Console, scene, options) -> dict[str, Any]:
    """Bake a scene with the options of a command."""
    from jellycage.sim.warm_up import start_warm_up

    task = _task(context, scene, options)
    task.check()
    helpers = [start_warm_up(kind) for kind in sorted(task.elements)]
    artist = start_warm_up("pictures") if task.preview else None  # nobody waits for it
    try:
        with progress_of(console) as progress:
            facts = task.run(BakeProgress(console, progress), helpers=helpers)
    finally:
        for helper in (*helpers, artist):
            if helper is not None and helper.poll() is None:
                helper.kill()
    for sentence in facts["warnings"] if console.verbose else ():
        click.echo(sentence, err=True)
    return facts


def _describe(console: Console, scene, path):
    """What --dry-run says."""
    from jellycage.sim.scene.build import build_shot

    with progress_of(console) as progress:
        shot = build_shot(scene, progress=progress)
    vertices = [mesh.vertex_count for mesh in shot.meshes]
    facts = {
        "scene": str(path),
        "frames": list(shot.frames),
        "fps": shot.fps,
        "substeps": shot.substeps,
        "elements": [len(body.asset.elements) for body in shot.scene.bodies],
        "rigid_bodies": shot.rigid_rows[-1].stop if shot.rigid_rows else 0,
        "vertices": vertices,
        "bytes": 12 * sum(vertices) * (shot.frames[1] - shot.frames[0] + 1),
        **shot.stiffness,
        "warnings": list(shot.notes),
    }
    lines = [f"{name:9s} {value}" for name, value in facts.items() if name != "warnings"]
    console.result(facts, "\n".join([*lines, *facts["warnings"]]))


def _listed(paths) -> str:
    """One path, or the first and last of many."""
    paths = [str(path) for path in paths]
    return ", ".join(paths) if len(paths) < 4 else f"{paths[0]} to {paths[-1]}"


def _smooth_text(facts: dict[str, Any]) -> list[str]:
    """How far what is seen is from what collides, if that is not the same."""
    distance = facts["smooth_distance_max"]
    if distance is None:
        return []
    return [f"smooth surface at most {distance:.3g} m from the one that collides"]


def _bake_text(facts: dict[str, Any]) -> str:
    step = "" if facts["ms_per_step"] is None else f", {facts['ms_per_step']:.2f} ms per step"
    outputs = {}
    for path in facts["output"]:
        outputs.setdefault(Path(path).suffix, []).append(path)
    what = [(facts["elements"], "elements"), (facts["rigid_bodies"], "rigid bodies")]
    what = " and ".join(f"{count} {name}" for count, name in what if count)
    contacts = f"at most {facts['contacts_max']} contacts"
    if facts["min_J"] is not None:
        contacts = (
            f"volume kept within {facts['volume_error_max']:.2%}, {contacts}, "
            f"least det F {facts['min_J']:.2f}"
        )
        if facts["overlap_depth_max"]:
            contacts += f", bodies at most {facts['overlap_depth_max']:.2g} m in each other"
    lines = [
        f"{facts['frames']} frames of {what} in {facts['seconds']:.1f} s{step}",
        contacts,
        *_smooth_text(facts),
        *facts["warnings"],
        *(f"wrote {_listed(paths)}" for paths in outputs.values()),
        *(f"wrote {facts[name]}" for name in ("preview", "report") if facts[name]),
    ]
    return "\n  ".join(lines)


if __name__ == "__main__":
    sys.exit(main())
