"""What is inside something else at the first frame. Nothing forbids it, but it rarely is meant."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.contact.overlap import deepest
from jellycage.sim.scene.shot import Shot
from jellycage.sim.shapes import Plane
from jellycage.sim.shapes.colliders import Collider
from jellycage.toolkit.collision.posed import Posed, pose

LEAST = 1e-3  # of its size: what is no deeper in something else just touches it


@dataclass(frozen=True, eq=False)
class _Placed:
    """A body as it starts."""

    name: str
    points: NDArray[np.float64]
    """Of its surface [m], shape (p, 3)."""
    surface: Posed | None = None
    """Its collision surface, if it has one."""

    @property
    def box(self) -> NDArray[np.float64]:
        """Low and high corner [m], shape (2, 3)."""
        return np.array([self.points.min(axis=0), self.points.max(axis=0)])

    @property
    def size(self) -> float:
        """Longest side [m]."""
        return float(np.ptp(self.box, axis=0).max())


def start_notes(shot: Shot, collider_names: Sequence[str]) -> list[str]:
    """A sentence for every soft body that starts inside another, and every body that starts inside a collider.

    Soft bodies are compared with each other by their collision surfaces, see `build_shot`; those without are left out.
    """
    soft, notes = [*_soft_bodies(shot)], []
    for (i, a), (j, b) in combinations(enumerate(soft), 2):
        depth, size = max(_depth(a.points, b), _depth(b.points, a)), min(a.size, b.size)
        if depth > LEAST * size and (i, j) not in shot.scene.passing:
            inside = f"{depth:.3g} m ({depth / size:.0%} of the smaller one) inside each other"
            notes.append(
                f"{a.name} and {b.name}: start {inside} and will part; "
                "move them apart, or let them pass through each other"
            )
    for body in (*soft, *_rigid_bodies(shot)):
        for name, collider in zip(collider_names, shot.scene.colliders, strict=True):
            depth = _collider_depth(body, collider)
            if depth > LEAST * body.size:
                inside = f"{depth:.3g} m ({depth / body.size:.0%} of its size) inside {name}"
                notes.append(f"{body.name}: starts {inside}; move it out")
    return notes


def _soft_bodies(shot: Shot) -> Iterator[_Placed]:
    for body, skin in zip(shot.scene.bodies, shot.skins, strict=True):
        x, collision, surface = body.start_positions(), body.asset.collision, None
        points = body.surface(x)
        if (
            collision is not None
        ):  # cut along the cage, so that large faces have points inside them too
            surface = pose(collision, x)
            points = surface.vertices
        yield _Placed(skin.mesh.name, points, surface)


def _rigid_bodies(shot: Shot) -> Iterator[_Placed]:
    if not shot.surfaces:
        return
    stepper, first = shot.stepper(), shot.frames[0]
    seen = shot.rigid_positions(first, shot.poses(stepper, first, stepper.start()))
    for surface, points in zip(shot.surfaces, seen[len(shot.dolls) :], strict=True):
        yield _Placed(surface.mesh.name, points)


def _depth(points, body: _Placed) -> float:
    """How deep some points (p, 3) are inside a body [m]; 0 if none is, or it has no collision surface."""
    return 0.0 if body.surface is None else deepest(points, body.surface)


def _collider_depth(body: _Placed, collider: Collider) -> float:
    """How deep a body is inside a collider, or that in it [m]; 0 if they are apart."""
    depth = max(0.0, -float(collider.distances(body.points).min()))
    if isinstance(collider.shape, Plane):
        return depth
    vertices, _ = collider.shape.drawn(fineness=2, extent=body.size)
    place = collider.motion.pose(0.0)
    return max(depth, _depth(vertices @ place[:9].reshape(3, 3).T + place[9:], body))
