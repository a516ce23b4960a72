"""The shapes of all bodies as arrays for kernels: cores (a few points) with a radius around their hull."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jellycage.sim.shapes.kinds_kernels import CONVEX, PLANE
from jellycage.sim.shapes.shape import Shape
from jellycage.toolkit.arrays import frozen


class ShapeArrays(NamedTuple):
    """Shapes in the order of their bodies, s of them. Every body's origin is its centre of mass."""

    body: NDArray[np.int64]
    """Whose shape it is, shape (s,)."""
    kind: NDArray[np.int64]
    """CONVEX or PLANE (all below the xy plane of its body), shape (s,)."""
    radius: NDArray[np.float64]
    """Around the hull of the core [m], shape (s,)."""
    reach: NDArray[np.float64]
    """Greatest distance of a point of the shape from the body's origin [m], shape (s,); 0 for planes."""
    point_start: NDArray[np.int64]
    """Where the points of each core begin, shape (s + 1,)."""
    points: NDArray[np.float64]
    """In the frames of the bodies [m], shape (k, 3)."""
    face_start: NDArray[np.int64]
    """Where the faces of each core begin, shape (s + 1,); cores of one or two points have none."""
    normals: NDArray[np.float64]
    """Outward unit normal of each face, shape (f, 3)."""
    corner_start: NDArray[np.int64]
    """Where the corners of each face begin, shape (f + 1,)."""
    corners: NDArray[np.int64]
    """Point numbers, counter-clockwise from outside."""
    edge_start: NDArray[np.int64]
    """Where the edges of each core begin, shape (s + 1,)."""
    edges: NDArray[np.int64]
    """Two points and the two faces beside each edge (-1: none, the line of a capsule), shape (e, 4)."""


def shape_arrays(
    shapes_per_body: Sequence[Sequence[Shape]], centres: ArrayLike | None = None
) -> ShapeArrays:
    """The shapes of each body, moved so that the bodies' centres of mass (n, 3) [m] are their origins."""
    if centres is None:
        centres = np.zeros((len(shapes_per_body), 3))
    rows = {name: [] for name in ("body", "kind", "radius", "reach")}
    parts = {name: [] for name in ("points", "normals", "corners", "edges", "corner_count")}
    counts = {name: [0] for name in ("points", "normals", "edges")}
    for body, (shapes, centre) in enumerate(zip(shapes_per_body, np.array(centres), strict=True)):
        for core in (shape.core() for shape in shapes):
            points, is_plane = core.points - centre, not len(core.points)
            reach = 0.0 if is_plane else core.radius + np.sqrt((points**2).sum(axis=1)).max()
            first_point, first_face = counts["points"][-1], counts["normals"][-1]
            rows["body"].append(body)
            rows["kind"].append(PLANE if is_plane else CONVEX)
            rows["radius"].append(core.radius)
            rows["reach"].append(reach)
            parts["points"].append(points)
            parts["normals"].append(core.normals)
            parts["edges"].append(_moved(core.edges, first_point, first_face))
            parts["corners"] += [face + first_point for face in core.faces]
            parts["corner_count"] += [len(face) for face in core.faces]
            for name in counts:
                counts[name].append(counts[name][-1] + len(getattr(core, name)))
    return ShapeArrays(
        body=_whole(rows["body"]),
        kind=_whole(rows["kind"]),
        radius=frozen(np.array(rows["radius"], np.float64)),
        reach=frozen(np.array(rows["reach"], np.float64)),
        point_start=_whole(counts["points"]),
        points=_joined(parts["points"], (0, 3)),
        face_start=_whole(counts["normals"]),
        normals=_joined(parts["normals"], (0, 3)),
        corner_start=_whole(np.concatenate([[0], np.cumsum(parts["corner_count"])])),
        corners=_whole(np.concatenate([np.zeros(0), *parts["corners"]])),
        edge_start=_whole(counts["edges"]),
        edges=_whole(np.concatenate([np.zeros((0, 4)), *parts["edges"]])),
    )


def _moved(edges: NDArray, first_point: int, first_face: int) -> NDArray:
    """Edges with the numbers of points and faces in the whole arrays."""
    shifted = edges + np.array([first_point, first_point, first_face, first_face])
    return np.where(edges < 0, -1, shifted)


def _whole(values) -> NDArray[np.int64]:
    return frozen(np.array(values, np.float64).astype(np.int64))


def _joined(parts: list, empty: tuple[int, int]) -> NDArray[np.float64]:
    return frozen(np.concatenate([np.zeros(empty), *parts]))
