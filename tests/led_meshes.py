"""Meshes whose every vertex is led along a dance: what a pinned group of an animated character asks of a cage."""

import numpy as np

from jellycage import sim


def dance_of(vertices):
    """Vertices bent, twisted and carried about, as a function of time [s]; as they are at 0."""
    low, size = vertices.min(axis=0), np.ptp(vertices, axis=0).max()
    height, middle = (vertices[:, 2] - low[2]) / size, vertices.mean(axis=0)
    at_rest = (vertices - middle).T

    def at(time):
        swing = np.sin(2.0 * np.pi * time)
        angle, lean = 1.2 * swing * height, 0.8 * np.sin(3.1 * np.pi * time) * height
        x, y, z = at_rest
        c, s = np.cos(angle), np.sin(angle)
        x, y = c * x - s * y, s * x + c * y
        c, s = np.cos(lean), np.sin(lean)
        x, z = c * x + s * z, c * z - s * x
        way = size * np.array(
            [0.25 * swing, 0.1 * (1.0 - np.cos(4.0 * np.pi * time)), 0.1 * abs(swing)]
        )
        return np.stack([x, y, z], axis=1) + middle + way

    return at


def dancer(asset, material, which, strength=1.0, *, pace=1.0, **settings):
    """A body whose vertices `which` are pinned to their dance, and that pin."""
    dance, points = dance_of(asset.surface_vertices), sim.surface_points(asset, which)
    pin = sim.Pin(points, lambda time: dance(pace * time)[which], strength)
    return sim.SoftBody(asset, material, pins=[pin], **settings), pin


def chosen_vertices(vertices, part, seed=0):
    """All, half (the upper one), every tenth, or a third at random."""
    count = len(vertices)
    if part == "half":
        return np.flatnonzero(vertices[:, 2] > np.median(vertices[:, 2]))
    if part == "random":
        return np.sort(np.random.default_rng(seed).choice(count, count // 3, replace=False))
    return np.arange(0, count, {"all": 1, "tenth": 10}[part])
