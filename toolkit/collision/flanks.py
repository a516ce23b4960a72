"""Flanks of regions: points whose normals agree well enough for one contact normal.

A region has one, with the normal of its curves, unless the normals on both of its surfaces spread: a wedge in a
groove has two. If one surface is flat its normal is exact whatever the other one does [thesis 002, property (a) in
5.5.4.1], so a cube on a floor has one. The same goes for regions of several curves [5.5.5]: they are split where
those do not agree.
"""

import numpy as np
from numpy.typing import NDArray

SPREAD = np.deg2rad(60.0)
"""Normals spread as much as those of two equal flat faces at this angle: the length of the sum of vector areas over the
sum of their lengths is then the cosine of half of it."""
ROUNDS = 8
"""How often points are given to the nearer one of two directions before those are left alone."""


def flanks_of(
    regions, body, vector_area, normal
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """(flank of each point, region of each flank, normal of each flank), flanks in the order of regions.

    regions (n,), body (n,) and vector_area (n, 3): of the points; normal (r, 3): of the regions.
    """
    count = len(normal)
    toward = vector_area * np.where(body == 0, -1.0, 1.0)[:, None]  # A to the outside of B
    key = 2 * regions + body
    length = np.sqrt(np.einsum("nx,nx->n", toward, toward))
    sums = [np.bincount(key, toward[:, k], minlength=2 * count) for k in range(3)]
    total = np.bincount(key, length, minlength=2 * count)
    agreement = np.sqrt(sums[0] ** 2 + sums[1] ** 2 + sums[2] ** 2) >= np.cos(SPREAD / 2) * total
    is_wide = ~(agreement.reshape(-1, 2).any(axis=1)) & (total.reshape(-1, 2) > 0.0).all(axis=1)
    if not is_wide.any():
        return regions, np.arange(count), normal
    flank, region, normals = np.empty(len(regions), np.int64), [], []
    for r in range(count):
        rows = np.flatnonzero(regions == r)
        groups = _split(rows, toward, length, body) if is_wide[r] else [rows]
        for group in groups:
            flank[group] = len(region)
            region.append(r)
            sum_ = toward[group].sum(axis=0)
            normals.append(sum_ / np.linalg.norm(sum_) if is_wide[r] else normal[r])
    return flank, np.array(region), np.array(normals)


def _split(rows, toward, length, body):
    """Rows in groups whose normals agree on either body."""
    if _agree(rows, toward, length, body):
        return [rows]
    mean = toward[rows].sum(axis=0) / length[rows].sum()
    away = toward[rows] - length[rows, None] * mean
    # Along the direction in which they spread the most, then each to the nearer one of the two means.
    sizes = np.maximum(length[rows], length[rows].sum() * 1e-12)
    spread = np.einsum("nx,ny->xy", away / sizes[:, None], away)
    is_first = away @ np.linalg.eigh(spread)[1][:, -1] > 0.0
    for _ in range(ROUNDS):
        if is_first.all() or not is_first.any():
            return [rows]
        means = [toward[rows[which]].sum(axis=0) for which in (is_first, ~is_first)]
        means = [m / max(np.linalg.norm(m), 1e-300) for m in means]
        nearer = toward[rows] @ (means[0] - means[1]) > 0.0
        if (nearer == is_first).all():
            break
        is_first = nearer
    if is_first.all() or not is_first.any():
        return [rows]
    halves = [rows[is_first], rows[~is_first]]
    halves.sort(key=lambda half: half[0])
    return [group for half in halves for group in _split(half, toward, length, body)]


def _agree(rows, toward, length, body):
    """Whether normals agree on at least one of the bodies, among themselves and with those of both."""
    if len(rows) < 2:
        return True
    both = toward[rows].sum(axis=0)
    least = np.cos(SPREAD / 2)
    for side in (0, 1):
        own = rows[body[rows] == side]
        along, total = toward[own].sum(axis=0), length[own].sum()
        size = np.linalg.norm(along)
        if size >= least * total > 0.0 and along @ both >= least * size * np.linalg.norm(both):
            return True
    return length[rows].sum() == 0.0
