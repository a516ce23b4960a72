"""Which way each closed shell of a surface should face: outwards, or inwards if it is a cavity.

A shell that lies in no other should have positive volume. If it has not, it was mirrored together
with all that it contains, and the whole nest is turned: a mesh and its inside-out copy mean the
same solid. A shell inside others is a cavity if it then faces inwards where the others leave solid,
and overlaps them if it faces outwards there.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.mesh.repair_kernels import add_volumes, find_windings

FLAT = 1e-9
"""A shell of less volume than this share of its cubed box diagonal has no inside."""
NUDGE = 1e-4
"""How far the probe of a shell lies behind its largest face, relative to the size of that face."""


@dataclass(frozen=True, eq=False)
class Facing:
    """What to turn, and what the shells are."""

    is_turned: NDArray[np.bool_]
    """Shells to turn over, shape (s,)."""
    volume: NDArray[np.float64]
    """Signed volume of each shell after that, shape (s,), in the units of the vertices cubed."""
    owner: NDArray[np.int32]
    """The shell whose solid each one bounds, shape (s,): itself, but for a cavity the shell that it hollows out."""
    cavity_count: int = 0
    overlap_count: int = 0
    flat_count: int = 0


def facing_of(vertices, faces, shell, shell_count) -> Facing:
    """Decide for closed shells; vertices must be centred and scaled to a box of about one."""
    volume = np.zeros(shell_count)
    add_volumes(vertices, faces, shell, volume)
    if shell_count == 1:
        return Facing(volume < 0, np.abs(volume), np.zeros(1, np.int32))
    order = np.argsort(shell, kind="stable")
    start = np.searchsorted(shell[order], np.arange(shell_count + 1))
    corners = vertices[faces[order]]
    low = np.minimum.reduceat(corners.min(axis=1), start[:-1])
    high = np.maximum.reduceat(corners.max(axis=1), start[:-1])
    is_flat = np.abs(volume) <= FLAT * np.linalg.norm(high - low, axis=1) ** 3
    probes = _probes(corners, start, np.sign(volume))
    found = _windings(probes, vertices, faces[order], start, low, high)
    return _decided(volume, is_flat, low, high, *found)


def _probes(corners, start, sign):
    """A point just inside each shell, behind the middle of its largest face, shape (s, 3)."""
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    size = np.linalg.norm(normal, axis=1)
    shell = np.repeat(np.arange(len(start) - 1), np.diff(start))
    largest = np.lexsort((size, shell))[start[1:] - 1]
    middle = corners[largest].mean(axis=1)
    length = np.sqrt(np.where(size > 0, size, 1.0))
    return middle - (NUDGE * sign / length[largest])[:, None] * normal[largest]


def _windings(probes, vertices, faces, start, low, high):
    """(outer, inner, winding) of every shell around another's probe, where it is not zero."""
    room = 4 * len(probes)
    while True:
        out = [np.empty(room, dtype=np.int32) for _ in range(3)]
        found = find_windings(probes, vertices, faces, start, low, high, *out)
        if found <= room:
            return [array[:found] for array in out]
        room = found


def _decided(volume, is_flat, low, high, outer, inner, winding):
    size = np.abs(volume)
    is_around = (low[outer] <= low[inner]).all(axis=1) & (high[outer] >= high[inner]).all(axis=1)
    is_around &= (size[outer] > size[inner]) & ~is_flat[outer]
    around = [[] for _ in volume]
    for j, i, w in zip(outer[is_around], inner[is_around], winding[is_around], strict=True):
        around[i].append((int(j), int(w)))
    is_turned = np.zeros(len(volume), dtype=bool)
    is_cavity = np.zeros(len(volume), dtype=bool)
    is_overlap = np.zeros(len(volume), dtype=bool)
    is_overlap[inner[~is_around & ~is_flat[outer] & ~is_flat[inner]]] = True
    owner = np.arange(len(volume), dtype=np.int32)
    for i in np.argsort(-size, kind="stable"):
        if is_flat[i]:
            continue
        if not around[i]:
            is_turned[i] = volume[i] < 0
            continue
        nest = max(around[i], key=lambda pair: size[pair[0]])[0]
        depth = sum(-w if is_turned[j] else w for j, w in around[i])
        is_positive = (volume[i] > 0) != is_turned[nest]
        is_cavity[i] = not is_positive and depth > 0
        if is_cavity[i]:
            owner[i] = min((j for j, _ in around[i] if not is_cavity[j]), key=lambda j: size[j])
        is_overlap[i] |= is_positive and depth > 0
        is_turned[i] = is_turned[nest] != (not is_positive and depth <= 0)
    return Facing(
        is_turned,
        np.where(is_turned, -volume, volume),
        owner,
        int(is_cavity.sum()),
        int(is_overlap.sum()),
        int(is_flat.sum()),
    )
