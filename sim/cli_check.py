"""The command `check`: what would go wrong with a mesh or a scene, before time is spent on it."""

import click

from jellycage.toolkit import cli as toolkit_cli
from jellycage.toolkit.cli import FILE, INPUT_SCALE
from jellycage.toolkit.console import console_of, progress_of, talk_options

SCENE_SUFFIXES = (".toml", ".json")


@click.command()
@click.argument("source", metavar="MESH|SCENE", type=FILE)
@INPUT_SCALE
@talk_options
@click.pass_context
def check(context, source, input_scale):
    """What would go wrong with a mesh or a scene, and how to fix it; exit 0 or 3.

    Of a scene also what starts inside something else.
    """
    if source.suffix.lower() not in SCENE_SUFFIXES:
        context.invoke(toolkit_cli.check, mesh=source, input_scale=input_scale)
        return
    if input_scale != 1.0:
        raise click.UsageError("--input-scale is for meshes; a scene has units", context)
    from jellycage.sim.scene.build import build_shot
    from jellycage.sim.scene.scene_file import read_scene_file
    from jellycage.sim.scene.starts import start_notes

    console = console_of(context)
    with progress_of(console) as progress:
        scene = read_scene_file(source)
        shot = build_shot(scene, collision=True, progress=progress)
        names = [entry.name for entry in scene.colliders if entry.kind != "mesh"]
        notes = [*start_notes(shot, names), *shot.notes]
    facts = {"scene": str(source), "ok": True, "substeps": shot.substeps, "problems": notes}
    console.result(facts, "\n  ".join([f"{source}: can be baked", *notes]))
