"""The contacts of one body with the colliders of a scene, from step to step.

Candidates are found from where the points would go without any force from inside (`detection_kernels`), in planes that
they meet on the way, however fast they are. A contact keeps its bristle for as long as it is pressed, which is what
holds a body on a slope. Where a step has pressed material through a collider at points that were not candidates, they
become candidates and the step is done again.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.contact.contact_points import contact_points
from jellycage.sim.contact.detection_kernels import find_contacts
from jellycage.sim.contact.response_kernels import Touch
from jellycage.sim.shapes.colliders import Collider, ColliderArrays, collider_arrays
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.state import Grips

STIFFNESS = 100.0  # k in effective masses over dt^2: a body at rest sinks in by little
LIGHT = 0.25  # of the mean effective mass: points are not taken to be lighter
TOLERANCE = 0.01  # of the body's size, and
THIN = 0.25  # of the collider's: depth below a plane that may be left
MARGIN = 0.002  # of the body's size: how near a predicted point must come to be a candidate
RESTING = 20.0  # [m/s^2]: a speed that this acceleration makes in a step is no impact
SAME_SIDE = 0.5  # cosine between the normals of a contact in two steps, unless it changed sides
PUSH_OUT = 0.5  # sizes per second at which a body that starts inside a collider is pushed out


def no_touch(width: int = 4) -> Touch:
    """A step without contacts."""
    return Touch(
        *(np.zeros((0, width), np.int32), np.zeros((0, width)), np.zeros((0, 3)), np.zeros(0)),
        *(np.zeros(0), np.zeros((0, 3)), np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0)),
        *(np.zeros(0, np.bool_), np.zeros(0)),
    )


@dataclass(frozen=True, eq=False)
class Found:
    """Candidates of a step."""

    point: NDArray[np.int64]
    collider: NDArray[np.int64]
    plane: NDArray[np.float64]
    """See `find_contacts`, shape (c, 10)."""


class Contacts:
    """Finds the contacts of one body; what does not change from step to step is worked out once."""

    def __init__(self, body: SoftBody, colliders: tuple[Collider, ...]):
        self.body, self.colliders = body, colliders
        self.points = contact_points(body)
        self.friction = np.sqrt(body.friction * np.array([c.friction for c in colliders]))
        self.restitution = np.array([max(c.restitution, body.restitution) for c in colliders])
        self.tolerance = np.minimum(
            TOLERANCE * body.size, THIN * np.array([c.thickness for c in colliders])
        )
        self.least_mass = LIGHT * float(self.points.mass.mean())
        self.room = 64

    def during(self, start: float, end: float) -> ColliderArrays:
        """The colliders as they move in a step [s]."""
        return collider_arrays(self.colliders, start, end)

    def find(self, x, x_ahead, colliders: ColliderArrays) -> Found:
        """Points that meet a collider on the way from x to x_ahead, shapes (n, 3)."""
        p, margin = self.points, MARGIN * self.body.size
        while True:
            arrays = (
                np.empty(self.room, np.int64),
                np.empty(self.room, np.int64),
                np.empty((self.room, 10)),
            )
            count = find_contacts(x, x_ahead, p.nodes, p.weights, colliders, margin, *arrays)
            if count <= self.room:
                return Found(*(array[:count] for array in arrays))
            self.room = 2 * count

    def missed(self, x, x_after, colliders, found: Found) -> Found | None:
        """What was found and, in addition, points that ended up inside a collider without being candidates."""
        again = self.find(x, x_after, colliders)
        known = self.keys(found)
        is_new = ~np.isin(self.keys(again), known)
        # Shallow ones can wait for the next step, which pushes them out.
        shift = self._at(again.point, x_after - x)
        gap = again.plane[:, 3] + (again.plane[:, :3] * shift).sum(axis=1)
        is_new &= gap < -MARGIN * self.body.size
        if not is_new.any():
            return None
        return Found(
            *(
                np.concatenate([getattr(found, name), getattr(again, name)[is_new]])
                for name in ("point", "collider", "plane")
            )
        )

    def _at(self, point, x) -> NDArray[np.float64]:
        """Share of some contact points (c,) of a node quantity (n, 3), shape (c, 3)."""
        p = self.points
        return np.einsum("pa,pai->pi", p.weights[point], x[p.nodes[point]])

    def keys(self, found: Found) -> NDArray[np.int64]:
        """One number per contact that stays the same from step to step, shape (c,)."""
        return found.collider * len(self.points) + found.point

    def on_their_side(self, found: Found, grips: Grips, colliders: ColliderArrays) -> Found:
        """The same with points that were pressed so deep that the other side is nearer back in their old plane."""
        row, known = self.known(found, grips)
        turn = colliders.after[found.collider[known], :9].reshape(-1, 3, 3)
        local, offset = grips.plane[row, :3], grips.plane[row, 3]
        normal = np.einsum("cij,cj->ci", turn, local)
        at_start = (local * found.plane[known, 7:]).sum(axis=1) - offset
        is_lost = (normal * found.plane[known, :3]).sum(axis=1) < SAME_SIDE
        is_lost &= at_start < 0.0
        if not is_lost.any():
            return found
        plane, lost = found.plane.copy(), known[is_lost]
        plane[lost, :3] = normal[is_lost]
        carried = (normal[is_lost] * plane[lost, 4:7]).sum(axis=1)
        plane[lost, 3] = at_start[is_lost] - carried
        return Found(found.point, found.collider, plane)

    def known(self, found: Found, grips: Grips):
        """(rows of grips, rows of found) of the contacts that were there in the step before."""
        if not len(grips):
            return np.zeros(0, int), np.zeros(0, int)
        key = self.keys(found)
        row = np.minimum(np.searchsorted(grips.key, key), len(grips) - 1)
        known = np.flatnonzero(grips.key[row] == key)
        return row[known], known

    def touch(self, found: Found, grips: Grips, v, dt: float) -> Touch:
        """The candidates as the solver sees them, from node velocities v (n, 3)."""
        p, point = self.points, found.point
        if not len(point):
            return no_touch(p.nodes.shape[1])
        normal, carried = found.plane[:, :3], found.plane[:, 4:7]
        along = (carried * normal).sum(axis=1)
        at_start = found.plane[:, 3] + along
        gap = found.plane[:, 3] - np.minimum(at_start + PUSH_OUT * self.body.size * dt, 0.0)
        if self.restitution.any():
            gap = self._bounced(found, gap, along, v, dt)
        # Points of one element share one stiffness: how fine the surface is must not matter.
        share = np.bincount(p.element[point])[p.element[point]]
        # Elements that are all but empty carry what others do.
        stiffness = STIFFNESS * np.maximum(p.mass[point], self.least_mass) / (share * dt * dt)
        slip = -carried
        row, known = self.known(found, grips)
        slip[known] += grips.drag[row] / stiffness[known, None]
        slip -= (slip * normal).sum(axis=1)[:, None] * normal
        count = len(point)
        return Touch(
            *(p.nodes[point], p.weights[point], np.ascontiguousarray(normal)),
            *(gap, np.zeros(count), slip, stiffness),
            *(self.friction[found.collider], np.zeros(count), np.zeros(count)),
            *(np.zeros(count, np.bool_), self.tolerance[found.collider]),
        )

    def _bounced(self, found: Found, gap, along, v, dt: float) -> NDArray[np.float64]:
        """Gaps of planes, raised where a point arrives fast, so that the step ends with it on its way back."""
        moved = (self._at(found.point, v) * found.plane[:, :3]).sum(axis=1) * dt
        back = self.restitution[found.collider] * (along - moved)
        is_hit = (found.plane[:, 3] + moved < 0.0) & (back > RESTING * dt * dt)
        return np.where(is_hit, np.minimum(-along - back, gap), gap)

    def remember(self, found: Found, touch: Touch, colliders: ColliderArrays, u) -> Grips:
        """What the pressed contacts are after a step with displacements u (n, 3)."""
        pressed = np.flatnonzero(touch.pressure > 0.0)
        pressed = pressed[np.argsort(self.keys(found)[pressed], kind="stable")]
        moved = np.einsum("pa,pai->pi", touch.weights[pressed], u[touch.nodes[pressed]])
        normal = touch.normal[pressed]
        slip = touch.slip[pressed] + moved - (moved * normal).sum(axis=1)[:, None] * normal
        turn = colliders.after[found.collider[pressed], :9].reshape(-1, 3, 3)
        local = np.einsum("cji,cj->ci", turn, normal)
        plane = found.plane[pressed]
        at_start = plane[:, 3] + (plane[:, 4:7] * normal).sum(axis=1)
        offset = (local * plane[:, 7:]).sum(axis=1) - at_start
        # The grip is what friction lets the bristle keep of its stiffness.
        return Grips(
            self.keys(found)[pressed],
            touch.grip[pressed, None] * slip,
            np.concatenate([local, offset[:, None]], axis=1),
        )
