"""The sentences of `repair`: what was done to a mesh, what is wrong with it, how to mend it."""

import numpy as np

from jellycage.toolkit.mesh.shells import Facing

NO_VOLUME = 1e-8
"""Less volume than this share of the cubed box diagonal is rounding of single precision."""


def note_winding(notes, flipped, facing: Facing, shell, conflicts):
    """Add what was flipped; flipped and shell are those of the faces of the mesh, shape (f,)."""
    is_turned = facing.is_turned[shell]
    if flipped.any():
        notes.append(f"{counted(flipped.sum(), 'face')} wound against the neighbours flipped.")
    if conflicts:
        notes.append(
            f"The surface is one-sided: its winding disagrees across {counted(conflicts, 'edge')}, "
            "which were treated as cuts."
        )
    if is_turned.all():
        notes.append(f"All {len(is_turned)} faces pointed inwards and were flipped.")
    elif is_turned.any():
        parts = counted(facing.is_turned.sum(), "part")
        notes.append(f"{parts} ({counted(is_turned.sum(), 'face')}) pointed inwards: flipped.")


def note_caps(notes, boundary, nonmanifold, hole_count):
    """Add what was closed."""
    if hole_count:
        notes.append(
            f"{counted(hole_count, 'hole')} ({counted(boundary, 'boundary edge')}) closed by caps."
        )
    elif boundary:
        notes.append(f"{counted(boundary, 'boundary edge')} closed by caps without thickness.")
    if nonmanifold:
        verb = "is" if nonmanifold == 1 else "are"
        notes.append(
            f"{counted(nonmanifold, 'edge')} {verb} shared by more than two faces; "
            "what hangs loose there counts as a sheet without thickness."
        )


def note_shells(notes, facing: Facing, shell_count):
    """Add how many parts there are and how they lie to each other."""
    if shell_count > 1:
        notes.append(f"{shell_count} separate parts.")
    if facing.cavity_count:
        verb = "shell is a cavity" if facing.cavity_count == 1 else "shells are cavities"
        notes.append(f"{facing.cavity_count} {verb} inside another part, left hollow.")
    if facing.overlap_count:
        verb = "part overlaps" if facing.overlap_count == 1 else "parts overlap"
        notes.append(f"{facing.overlap_count} {verb} another.")
    if facing.flat_count:
        verb = "part has" if facing.flat_count == 1 else "parts have"
        notes.append(f"{facing.flat_count} {verb} no volume; give them thickness or delete them.")


def counted(number, noun, plural=None):
    """'1 face' or '3 faces'."""
    return f"{int(number)} {noun if number == 1 else plural or noun + 's'}"


def merge_remedy(distance):
    """What to do in Blender if corners within a distance [m] should be one."""
    return f"in Blender merge by distance (Mesh > Merge > By Distance, {distance:g} m)"


def problems_of(report, distance=None):
    """Sentences for what the counts say, each with what to do in Blender.

    distance [m]: merging corners within it would close the mesh; None if no distance does.
    """
    size = np.array(report["size"])
    found = [
        (report["faces"] == 0, "It has no faces: export the surface too."),
        (
            distance is not None,
            f"It is open along {counted(report['boundary_edges'], 'boundary edge')} "
            f"whose corners nearly meet: {merge_remedy(distance or 0.0)}.",
        ),
        (
            report["boundary_edges"] > 0 and distance is None,
            f"It is open along {counted(report['boundary_edges'], 'boundary edge')}: "
            "fill the holes (Mesh > Clean Up > Fill Holes), or caps will be added.",
        ),
        (
            report["nonmanifold_edges"] > 0,
            f"{counted(report['nonmanifold_edges'], 'edge')} shared by more than two faces: "
            "delete inner faces (Select > All by Trait > Non Manifold).",
        ),
        (
            not report["is_consistently_wound"],
            "Neighbouring faces disagree about inside and outside: "
            "recalculate normals (Shift N), or they will be flipped.",
        ),
        (
            report["is_closed"] and report["is_consistently_wound"] and report["volume"] < 0,
            "All faces point inwards: flip the normals, or they will be flipped.",
        ),
        (
            report["degenerate_faces"] > 0,
            f"{counted(report['degenerate_faces'], 'face')} without area: "
            "dissolve them (Mesh > Clean Up > Degenerate Dissolve).",
        ),
        (
            report["duplicate_faces"] > 0,
            f"{counted(report['duplicate_faces'], 'face')} twice in the same place: "
            "merge by distance and delete the copies.",
        ),
        (
            report["unreferenced_vertices"] > 0,
            f"{counted(report['unreferenced_vertices'], 'vertex', 'vertices')} "
            "in no face: delete loose geometry, or they will be ignored.",
        ),
        (
            report["faces"] > 0
            and distance is None
            and abs(report["volume"]) <= NO_VOLUME * float(np.linalg.norm(size)) ** 3,
            "It has no volume: give it thickness (Solidify modifier).",
        ),
    ]
    return tuple(sentence for is_wrong, sentence in found if is_wrong)
