"""A page about a bake: energies, volume, contacts and where the time went, in one file that needs nothing else."""

import html
from pathlib import Path

import numpy as np

from jellycage.sim.bake.bake import Bake
from jellycage.toolkit.atomic_file import atomic_file

WIDTH, HEIGHT, LEFT, BOTTOM = 860, 220, 70, 24
COLOURS = ("#c0392b", "#2471a3", "#1e8449", "#b7950b")
STYLE = (
    "body{font:15px/1.4 system-ui,sans-serif;max-width:900px;margin:2em auto;color:#222}"
    "h2{margin:1.6em 0 .2em}svg{background:#fafafa}td,th{padding:.1em 1em .1em 0;text-align:right}"
    "text{font:12px system-ui,sans-serif;fill:#555}"
)


def write_report(path: str | Path, bake: Bake, *, title: str = "Bake", notes=()) -> None:
    """Write the page."""
    frames = bake.column("frame")
    mechanical = sum(bake.column(f"{kind}_energy") for kind in ("kinetic", "elastic", "potential"))
    ms = {
        name: 1e3 * bake.column(f"{key}_seconds")
        for name, key in (("solving", "step"), ("contacts", "contact"), ("writing", "write"))
    }
    plots = [
        (
            "Energy [J]",
            {
                "kinetic": bake.column("kinetic_energy"),
                "elastic": bake.column("elastic_energy"),
                "of height": bake.column("potential_energy")
                - bake.column("potential_energy").min(),
                "sum": mechanical - bake.column("potential_energy").min(),
            },
        ),
        ("Error of the volume [%]", {"volume": 100.0 * bake.column("volume_error")}),
        ("Contacts", {"contacts": bake.column("contacts")}),
        ("Deepest overlap of soft bodies [mm]", {"depth": 1e3 * bake.column("overlap_depth")}),
        ("Overlap of soft bodies [cm^3]", {"volume": 1e6 * bake.column("overlap_volume")}),
        ("Least det F", {"det F": bake.column("min_J")}),
        ("Time per frame [ms]", ms),
    ]
    # Without soft bodies there is neither volume nor det F, without several of them no overlap.
    plots = [row for row in plots if not all(np.isnan(curve).all() for curve in row[1].values())]
    if not bake.column("overlap_depth").any():
        plots = [row for row in plots if "verlap" not in row[0]]
    parts = [
        f"<!doctype html><meta charset=utf-8><title>{html.escape(title)}</title>",
        f"<style>{STYLE}</style><h1>{html.escape(title)}</h1>",
        *(f"<p>{html.escape(note)}</p>" for note in notes),
        _table(bake),
        *(f"<h2>{html.escape(name)}</h2>{_plot(frames, curves)}" for name, curves in plots),
    ]
    with atomic_file(path) as temporary:
        temporary.write_text("\n".join(parts) + "\n", encoding="utf-8")


def _table(bake: Bake) -> str:
    """What the curves come to, in numbers."""
    rows = {
        "frames": f"{len(bake.measured)}",
        "greatest error of the volume": f"{100 * np.abs(bake.column('volume_error')).max():.2f} %",
        "most contacts": f"{int(bake.column('contacts').max())}",
        "deepest overlap of soft bodies": f"{1e3 * bake.column('overlap_depth').max():.3g} mm",
        "least det F": f"{bake.column('min_J').min():.3f}",
        "solving": f"{bake.column('step_seconds').sum():.2f} s",
        "finding contacts": f"{bake.column('contact_seconds').sum():.2f} s",
        "writing": f"{bake.column('write_seconds').sum():.2f} s",
    }
    if not bake.column("overlap_depth").any():
        del rows["deepest overlap of soft bodies"]
    if np.isnan(bake.column("min_J")).all():
        for name in ("greatest error of the volume", "least det F"):
            del rows[name]
    apart = bake.column("smooth_distance").max()
    if apart > 0.0:
        rows["smooth surface from the one that collides"] = f"{apart:.3g} m"
    cells = "".join(f"<tr><th>{name}<td>{value}" for name, value in rows.items())
    return f"<table>{cells}</table>"


def _plot(frames, curves) -> str:
    """Curves over frames as SVG."""
    values = np.concatenate([*curves.values(), [0.0]])
    values = values[np.isfinite(values)]
    low, high = float(values.min()), float(values.max())
    high = high if high > low else low + 1.0
    span = max(float(frames[-1] - frames[0]), 1.0)
    x = LEFT + (WIDTH - LEFT - 10) * (frames - frames[0]) / span
    out = [f'<svg width="{WIDTH}" height="{HEIGHT}" role="img">']
    for share in (0.0, 0.5, 1.0):
        level = low + share * (high - low)
        y = HEIGHT - BOTTOM - (HEIGHT - BOTTOM - 12) * share
        out.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - 10}" stroke="#ddd"/>')
        out.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{level:.4g}</text>')
    for frame, at, anchor in ((frames[0], LEFT, "start"), (frames[-1], WIDTH - 10, "end")):
        out.append(f'<text x="{at}" y="{HEIGHT - 6}" text-anchor="{anchor}">{frame:g}</text>')
    for number, (name, curve) in enumerate(curves.items()):
        y = HEIGHT - BOTTOM - (HEIGHT - BOTTOM - 12) * (np.nan_to_num(curve) - low) / (high - low)
        line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
        colour = COLOURS[number % len(COLOURS)]
        out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        at = LEFT + 12 + 110 * number
        out.append(f'<text x="{at}" y="14" style="fill:{colour}">{html.escape(name)}</text>')
    return "".join([*out, "</svg>"])
