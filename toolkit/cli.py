"""The command `jellycage`. Each command imports what it needs, so that --help answers at once."""

import dataclasses
import platform
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class

from jellycage.toolkit.atomic_file import check_writable
from jellycage.toolkit.cli_cage import Outputs, write_outputs
from jellycage.toolkit.console import OneLineErrors, console_of, progress_of, talk_options
from jellycage.toolkit.errors import MeshError
from jellycage.toolkit.json_values import plain
from jellycage.toolkit.version import VERSION

FILE = click.Path(path_type=Path)
INPUT_SCALE = click.option(
    "--input-scale",
    type=click.FloatRange(0, 1e12, min_open=True),
    default=1.0,
    show_default=True,
    help="Metres per unit of the mesh, 0.001 for millimetres.",
)


@click.group(cls=OneLineErrors, context_settings={"help_option_names": ["-h", "--help"]})
@talk_options
def main():
    """Strictly bounding simulation cages around any surface mesh.

    \b
    Exit codes: 0 ok, 2 usage, 3 bad input, 4 solver failed, 5 input/output,
    130 interrupted.
    """


@main.command()
@click.argument("mesh", type=FILE)
@INPUT_SCALE
@talk_options
@click.pass_context
def info(context, mesh, input_scale):
    """What a mesh is: counts, size, closed?, components, genus, problems; or what is inside an asset."""
    from jellycage.toolkit.asset.asset_file import is_asset_file
    from jellycage.toolkit.mesh.mesh_io import read_mesh
    from jellycage.toolkit.mesh.repair import mesh_report

    console = console_of(context)
    if mesh.suffix.lower() == ".npz" and is_asset_file(mesh):
        if input_scale != 1.0:
            raise click.UsageError("--input-scale is for meshes; an asset is in metres", context)
        return _asset_info(console, mesh)
    with progress_of(console) as progress:
        if progress.note:
            progress("looking at the mesh", 0.0)
        source = read_mesh(mesh, scale=input_scale)
        facts = _facts(mesh_report(source))
    facts["warnings"] = list(source.warnings)
    console.result({"mesh": str(mesh), **facts}, _facts_text(mesh, facts))


def _asset_info(console, path: Path) -> None:
    from jellycage.toolkit.asset.asset_facts import asset_facts
    from jellycage.toolkit.asset.asset_file import load_asset

    asset = load_asset(path)
    facts = asset_facts(asset)
    facts["warnings"] = list(asset.meta.get("warnings", []))
    told = {name: "none" if value is None else value for name, value in facts.items()}
    console.result({"asset": str(path), **facts}, _facts_text(path, told))


@main.command()
@click.argument("mesh", type=FILE)
@INPUT_SCALE
@talk_options
@click.pass_context
def check(context, mesh, input_scale):
    """What would go wrong with a mesh, and how to fix it; exit 0 or 3."""
    from jellycage.toolkit.mesh.mesh_io import read_mesh
    from jellycage.toolkit.mesh.repair import mesh_report, solid_of

    console = console_of(context)
    problems: list[str] = []
    try:
        with progress_of(console) as progress:
            if progress.note:
                progress("checking the mesh", 0.0)
            source = read_mesh(mesh, scale=input_scale)
            problems += [*source.warnings, *mesh_report(source).problems]
            solid_of(source)
    except MeshError as error:
        if console.json:
            problems.append(str(error))
            console.result({"mesh": str(mesh), "ok": False, "problems": problems}, "")
            error.is_told = True
        raise
    problems = list(dict.fromkeys(problems))
    verdict = "can be caged, but" if problems else "no problems"
    text = "\n  ".join([f"{mesh}: {verdict}", *problems])
    console.result({"mesh": str(mesh), "ok": True, "problems": problems}, text)


@main.command()
@click.argument("mesh", type=FILE)
@click.option("-o", "--output", type=FILE, required=True, help="The asset to write (.npz).")
@INPUT_SCALE
@click.option("--resolution", type=int, help="Cells across the longest side (16).")
@click.option("--cell-size", type=float, help="Size of a cell in metres, instead of --resolution.")
@click.option("--element", type=click.Choice(["tet", "hex"]), default="tet", show_default=True)
@click.option("--fit-steps", type=int, default=10, show_default=True, help="Fitting passes.")
@click.option(
    "--fit-relaxation",
    type=float,
    default=1.0,
    show_default=True,
    help="Share of the way to its optimum that a node goes in a pass, above 0 to 1.",
)
@click.option("--no-split", is_flag=True, help="Let close parts share elements.")
@click.option("--no-join", is_flag=True, help="Give closed parts that overlap cages of their own.")
@click.option(
    "--smooth",
    type=click.Choice(["mls", "gaussian"]),
    help="Also weights for a smooth display, without facets where elements meet.",
)
@click.option("--no-collision", is_flag=True, help="Do not cut the surface along the cage.")
@click.option("--png", type=FILE, help="Also a picture of the surface inside its cage.")
@click.option("--png-patches", is_flag=True, help="Colour the patches in the picture instead.")
@click.option("--html", type=FILE, help="Also an interactive page (needs the view extra).")
@talk_options
@click.pass_context
def cage(
    context, mesh, output, input_scale, resolution, cell_size, no_split, no_join, no_collision, png, png_patches,
    html, **settings,
):  # fmt: skip
    """Build the cage around MESH and save both as an asset."""
    if resolution is not None and cell_size is not None:
        raise click.UsageError("--resolution and --cell-size exclude each other", context)
    if cell_size is not None:
        settings["cell_size"] = cell_size
    elif resolution is not None:
        settings["resolution"] = resolution
    if png_patches and (png is None or no_collision):
        raise click.UsageError("--png-patches needs --png, and no --no-collision", context)
    outputs = Outputs(output, png, html, png_patches)
    outputs.check(context)
    console = console_of(context)
    settings |= {"split": not no_split, "join": not no_join, "collision": not no_collision}
    facts = write_outputs(console, mesh, outputs, settings, scale=input_scale)
    console.result(facts, _cage_text(facts))


@main.command()
@talk_options
@click.pass_context
def demo(context):
    """Cage the sample bear into the current folder, with a picture."""
    from jellycage.toolkit.samples import sample_path

    console = console_of(context)
    outputs = Outputs(Path("gummy_bear_cage.npz"), Path("gummy_bear_cage.png"))
    outputs.check(context)
    facts = write_outputs(console, sample_path(), outputs, {})
    text = (
        f"{_cage_text(facts)}\n\n"
        f"The picture is {facts['png']}. To look at the cage in ParaView:\n"
        f"  jellycage convert {facts['output']} gummy_bear_cage.vtu\n"
        "To cage a mesh of your own:\n"
        "  jellycage cage MESH -o my_cage.npz --png my_cage.png"
    )
    console.result(facts, text)


@main.command()
@click.argument("source", metavar="IN", type=FILE)
@click.argument("target", metavar="OUT", type=FILE)
@talk_options
@click.pass_context
def convert(context, source, target):
    """Turn an asset into .vtk, .vtu or .msh (the cage) or .obj (the surface)."""
    from jellycage.toolkit.asset.asset_file import load_asset
    from jellycage.toolkit.asset.cage_export import check_suffix, write_cage

    console = console_of(context)
    check_suffix(target)
    check_writable(target)
    write_cage(load_asset(source), target)
    console.result({"input": str(source), "output": str(target)}, f"wrote {target}")


@main.command()
@talk_options
@click.pass_context
def version(context):
    """The version; with -v or --json those of the libraries too."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    console = console_of(context)
    versions = {"jellycage": VERSION, "python": platform.python_version()}
    if console.json or console.verbose:
        for name in ("numpy", "scipy", "numba", "trimesh", "meshio", "click", "plotly"):
            try:
                versions[name] = installed(name)
            except PackageNotFoundError:
                versions[name] = None
    lines = [f"{name} {number or 'not installed'}" for name, number in versions.items()]
    console.result(versions, "\n".join(lines if console.verbose else lines[:1]))


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@talk_options
def completion(shell):
    """Print the completion script, for example: eval "$(jellycage completion bash)"."""
    script = get_completion_class(shell)(main, {}, "jellycage", "_JELLYCAGE_COMPLETE")
    click.echo(script.source())


def _facts(report) -> dict[str, Any]:
    return plain({field.name: getattr(report, field.name) for field in dataclasses.fields(report)})


def _facts_text(path: Path, facts: dict[str, Any]) -> str:
    lines = [str(path)]
    for name, value in facts.items():
        if isinstance(value, dict):
            lines.append(f"  {name}")
            lines += [f"    {key.replace('_', ' '):<30} {_shown(v)}" for key, v in value.items()]
        elif name not in ("problems", "warnings"):
            lines.append(f"  {name.replace('_', ' '):<22} {_shown(value)}")
    notes = dict.fromkeys([*facts.get("problems", []), *facts["warnings"]])
    return "\n".join(lines + [f"  problem: {note}" for note in notes])


def _shown(value) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return " x ".join(_shown(item) for item in value)
    return str(value)


def _cage_text(facts: dict[str, Any]) -> str:
    angle = facts["min_dihedral_deg"]
    ratio = facts["volume_ratio"]
    elements = "tets" if facts["element"] == "tet" else "hexes"
    parts = [
        f"{facts['elements']} {elements}, {facts['nodes']} nodes, "
        f"{facts['components']} component(s)",
        "contains the whole surface (checked)" if facts["bounding"] else "bounding: not checked",
    ]
    if angle is not None:
        parts.append(f"smallest dihedral angle {angle:.1f} degrees")
    if ratio is not None:
        parts.append(f"{ratio:.2f} x the volume of the surface")
    surface = facts["collision"]
    if surface is not None:
        parts.append(
            f"collision surface: {surface['triangles']} triangles in {surface['patches']} patches"
        )
    return f"wrote {facts['output']} in {facts['seconds']:.2f} s\n  " + "\n  ".join(parts)


if __name__ == "__main__":
    main()
