"""Contacts of rigid bodies, found in one call; the arrays that it needs are made once and grow when they must."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.contact.convex.detection_kernels import BodyPoses, find_contacts
from jellycage.sim.contact.convex.manifold_kernels import MOST_CORNERS
from jellycage.sim.shapes.cores import ShapeArrays
from jellycage.sim.shapes.static_mesh import MeshArrays

NO_PAIRS = np.zeros(0, np.int64)
"""For `excluded`: every body may meet every other."""


class RigidContacts(NamedTuple):
    """Contacts of a step, room for c of them: what was found, then what a solver makes of it."""

    body: NDArray[np.int64]
    """First and second body, shape (c, 2); -1: the world, for static meshes."""
    shape: NDArray[np.int64]
    """First and second shape, shape (c, 2); -1 - triangle for static meshes."""
    normal: NDArray[np.float64]
    """Unit vector from the first body to the second, shape (c, 3)."""
    point: NDArray[np.float64]
    """In the world at the start of the step, on the surface of each body [m], shape (c, 2, 3)."""
    gap: NDArray[np.float64]
    """normal . (point 1 - point 0), negative where bodies overlap [m], shape (c,)."""
    arm: NDArray[np.float64]
    """From the centre of each body to where it is pushed [m], shape (c, 2, 3)."""
    local: NDArray[np.float64]
    """The arm of the first body in its own frame [m], by which a contact is known again, shape (c, 3)."""
    tangent: NDArray[np.float64]
    """Two unit vectors across the normal, shape (c, 2, 3)."""
    friction: NDArray[np.float64]
    """Coulomb's coefficient, shape (c,)."""
    mass: NDArray[np.float64]
    """Effective mass along the normal and across it [kg], shape (c, 2)."""
    target: NDArray[np.float64]
    """Least displacement along the normal, without and with what takes overlaps apart [m], shape (c, 2)."""
    push: NDArray[np.float64]
    """Multipliers along the normal and the tangents, shape (c, 3)."""
    kept_push: NDArray[np.float64]
    """Multiplier along the normal that the last step kept, shape (c,)."""
    key: NDArray[np.int64]
    """Number of the pair of shapes, rising, shape (c,)."""


class DetectionWork(NamedTuple):
    """Room that `find_contacts` works in. Only `order` is kept from step to step, which saves time."""

    turned: NDArray[np.float64]
    """Points of the cores, turned into the world, relative to their bodies [m], shape (k, 3)."""
    normals: NDArray[np.float64]
    """Normals of their faces in the world, shape (f, 3)."""
    low: NDArray[np.float64]
    """Of the bounds of each shape over the step [m], shape (s, 3)."""
    high: NDArray[np.float64]
    """[m], shape (s, 3)."""
    order: NDArray[np.int64]
    """Shapes sorted along an axis, shape (s,)."""
    found: NDArray[np.int64]
    """Pairs of shapes as they are found, shape (room, 2)."""
    pairs: NDArray[np.int64]
    """Pairs of shapes in order, shape (room, 2)."""
    pair_start: NDArray[np.int64]
    """Where the pairs of each shape begin, shape (s + 1,)."""
    needed: NDArray[np.int64]
    """Pairs and contacts that the last call found, shape (2,)."""
    simplex: NDArray[np.float64]
    """Corners, see `closest_of_cores`, shape (4, 10)."""
    near: NDArray[np.float64]
    """Nearest points and their normal, shape (3, 3)."""
    features_a: NDArray[np.float64]
    """Corners of what one core turns to the other, then points on it, shape (160, 4)."""
    features_b: NDArray[np.float64]
    """Likewise of the other, shape (160, 4)."""
    gaps: NDArray[np.float64]
    """[m], shape (160,)."""
    spare: NDArray[np.float64]
    """Room to cut polygons, shape (160, 4)."""
    onto: NDArray[np.float64]
    """Room to cut polygons, shape (160, 4)."""
    triangle: NDArray[np.float64]
    """Corners of a triangle relative to a body [m], shape (3, 3)."""
    triangles: NDArray[np.int64]
    """Triangles near a shape, shape (t,)."""
    stack: NDArray[np.int64]
    """Nodes of the tree of triangles that are still to be looked at, shape (64,)."""


def rigid_contacts(room: int = 256) -> RigidContacts:
    """Room for contacts."""
    return RigidContacts(
        body=np.zeros((room, 2), np.int64),
        shape=np.zeros((room, 2), np.int64),
        normal=np.zeros((room, 3)),
        point=np.zeros((room, 2, 3)),
        gap=np.zeros(room),
        arm=np.zeros((room, 2, 3)),
        local=np.zeros((room, 3)),
        tangent=np.zeros((room, 2, 3)),
        friction=np.zeros(room),
        mass=np.zeros((room, 2)),
        target=np.zeros((room, 2)),
        push=np.zeros((room, 3)),
        kept_push=np.zeros(room),
        key=np.zeros(room, np.int64),
    )


def detection_work(shapes: ShapeArrays, meshes: MeshArrays, room: int = 256) -> DetectionWork:
    """Room to look for contacts of these shapes, with that many pairs of them near each other."""
    count = len(shapes.body)
    polygon = (MOST_CORNERS, 4)
    return DetectionWork(
        turned=np.zeros(shapes.points.shape),
        normals=np.zeros(shapes.normals.shape),
        low=np.zeros((count, 3)),
        high=np.zeros((count, 3)),
        order=np.arange(count),
        found=np.zeros((room, 2), np.int64),
        pairs=np.zeros((room, 2), np.int64),
        pair_start=np.zeros(count + 1, np.int64),
        needed=np.zeros(2, np.int64),
        simplex=np.zeros((4, 10)),
        near=np.zeros((3, 3)),
        features_a=np.zeros(polygon),
        features_b=np.zeros(polygon),
        gaps=np.zeros(MOST_CORNERS),
        spare=np.zeros(polygon),
        onto=np.zeros(polygon),
        triangle=np.zeros((3, 3)),
        triangles=np.zeros(len(meshes.corners), np.int64),
        stack=np.zeros(64, np.int64),
    )


def grown(work: DetectionWork, out: RigidContacts) -> tuple[DetectionWork, RigidContacts]:
    """Both with room for what the last call of `find_contacts` needed, and half as much again."""
    pairs, contacts = (int(needed) * 3 // 2 for needed in work.needed)
    if work.needed[0] > len(work.pairs):
        work = work._replace(
            found=np.zeros((pairs, 2), np.int64), pairs=np.zeros((pairs, 2), np.int64)
        )
    if work.needed[1] > len(out.gap):
        out = rigid_contacts(contacts)
    return work, out


class Detector:
    """Finds the contacts of bodies step by step and keeps the room for it."""

    def __init__(self, shapes: ShapeArrays, meshes: MeshArrays, excluded: NDArray = NO_PAIRS):
        self.shapes, self.meshes, self.excluded = shapes, meshes, np.sort(excluded)
        self.work, self.out = detection_work(shapes, meshes), rigid_contacts()

    def find(self, poses: BodyPoses, dt: float, margin: float, dynamic_count: int) -> RigidContacts:
        """Contacts that may be met in a step, see `find_contacts`, as views of room that the next call overwrites."""
        while True:
            count = find_contacts(
                poses, dt, margin, dynamic_count, self.excluded, self.shapes, self.meshes, self.work, self.out
            )  # fmt: skip
            if 0 <= count <= len(self.out.gap):
                return RigidContacts(*(array[:count] for array in self.out))
            self.work, self.out = grown(self.work, self.out)
