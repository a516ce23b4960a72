"""The contacts of one body's surface with the shapes of a scene, from step to step.

Candidates are found from where the points would go without any force from inside (`finder_kernels`), in planes that
they meet on the way, however fast they are. A contact keeps its bristle for as long as it is pressed, which is what
holds a body on a slope. Where a step has pressed material through a collider at points that were not candidates, they
become candidates and the step is done again.
"""

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.contact.candidates import Candidates, dots, joined, parted
from jellycage.sim.contact.contact_points import contact_points
from jellycage.sim.contact.finder_kernels import PlanesMet, find_planes
from jellycage.sim.contact.memory import NO_MEMORY, ContactMemory
from jellycage.sim.contact.response_kernels import ContactRows
from jellycage.sim.contact.rows import NO_CONTACTS, new_rows
from jellycage.sim.contact.strikes_kernels import PressedContacts
from jellycage.sim.shapes.colliders import Collider, ColliderArrays
from jellycage.sim.soft.body import SoftBody
from jellycage.sim.soft.presets import gravity_strength

STIFFNESS = 100.0  # k in effective masses over dt^2, but
CARRIERS = 2.0  # elements that carry a body's weight sink in by no more than RESTING: what gives way drives what rocks
LIGHT = 0.25  # of the mean effective mass: points are not taken to be lighter
TOLERANCE = 0.006  # of the body's size, and
THIN = 0.25  # of the collider's: depth below a plane that may be left
RESTING = 0.0005  # of the body's size: how far contacts sink in before multipliers carry what is pressed on them
MARGIN = 0.002  # of the body's size: how near a predicted point must come to be a candidate
SAME_SIDE = 0.5  # cosine between the normals of a contact in two steps, unless it changed sides
PUSH_OUT = 0.5  # sizes per second at which a body that starts inside a collider is pushed out


class ContactFinder:
    """Finds the contacts of one body with colliders; what does not change from step to step is worked out once.

    Its features, and those of the colliders, are numbered as in a scene of this body alone until `number_features`.
    """

    def __init__(self, body: SoftBody, colliders: tuple[Collider, ...], gravity=(0.0, 0.0, -9.81)):
        self.body, self.colliders = body, colliders
        self.points = contact_points(body)
        first = np.unique(self.points.element, return_index=True)[1]
        self.element_start = np.append(first, len(self.points))
        self.mass = self.points.effective_mass(body.mass)
        self.friction = np.sqrt(body.friction * np.array([c.friction for c in colliders]))
        self.restitution = np.array([max(c.restitution, body.restitution) for c in colliders])
        self.tolerance = np.minimum(
            TOLERANCE * body.size, THIN * np.array([c.thickness for c in colliders])
        )
        self.least_mass = LIGHT * float(self.mass.mean())
        weight = np.bincount(body.part, body.mass) * gravity_strength(gravity)
        self.least_stiffness = weight / (CARRIERS * RESTING * body.size)
        self.number_features(0, len(self.points), len(self.points) + len(colliders))
        self.room = 64

    def number_features(self, first: int, first_collider: int, features: int) -> None:
        """Number its own features, and the colliders, from given numbers on among all features of a scene."""
        self.first_feature, self.first_collider = first, first_collider
        self.features = features

    def find(self, x, x_ahead, colliders: ColliderArrays) -> Candidates:
        """Points that meet a collider on the way from x to x_ahead, shapes (n, 3)."""
        p, margin = self.points, MARGIN * self.body.size
        while True:
            met = PlanesMet(
                point=np.empty(self.room, np.int64),
                collider=np.empty(self.room, np.int64),
                normal=np.empty((self.room, 3)),
                gap=np.empty(self.room),
                carried=np.empty((self.room, 3)),
                anchor=np.empty((self.room, 3)),
            )
            count = find_planes(
                x, x_ahead, p.nodes, p.weights, self.element_start, colliders, margin, met
            )
            if count <= self.room:
                return self._candidates(PlanesMet(*(array[:count] for array in met)))
            self.room = 2 * count

    def _candidates(self, met: PlanesMet) -> Candidates:
        return Candidates(
            key=(self.first_feature + met.point) * self.features
            + self.first_collider
            + met.collider,
            feature=np.array([met.point, met.collider]).T,
            rows=self.points.nodes[met.point],
            weights=self.points.weights[met.point],
            normal=met.normal,
            gap=met.gap,
            carried=met.carried,
            anchor=met.anchor,
            area=np.ones(len(met.point)),
        )

    def missed(self, x, x_after, colliders, found: Candidates) -> Candidates | None:
        """What was found and, in addition, points that ended up inside a collider without being candidates."""
        again = self.find(x, x_after, colliders)
        # Shallow ones can wait for the next step, which pushes them out.
        gap = again.gap + dots(again.normal, again.moved(x_after - x))
        is_new = gap < -MARGIN * self.body.size
        if is_new.any():
            is_new &= ~np.isin(again.key, found.key)
        return joined(found, again, is_new) if is_new.any() else None

    def on_their_side(
        self, found: Candidates, memory: ContactMemory, colliders: ColliderArrays
    ) -> Candidates:
        """The same with points that were pressed so deep that the other side is nearer back in their old plane."""
        row, known = memory.known(found.key)
        if not len(known):
            return found
        turn = colliders.after[found.feature[known, 1], :9].reshape(-1, 3, 3)
        local, offset = memory.plane[row, :3], memory.plane[row, 3]
        normal = np.einsum("cij,cj->ci", turn, local)
        at_start = dots(local, found.anchor[known]) - offset
        is_lost = dots(normal, found.normal[known]) < SAME_SIDE
        is_lost &= at_start < 0.0
        if not is_lost.any():
            return found
        normals, gap, lost = found.normal.copy(), found.gap.copy(), known[is_lost]
        normals[lost] = normal[is_lost]
        carried = dots(normal[is_lost], found.carried[lost])
        gap[lost] = at_start[is_lost] - carried
        return found._replace(normal=normals, gap=gap)

    def rows(self, found: Candidates, memory: ContactMemory, dt: float) -> ContactRows:
        """The candidates as the solver sees them in a step of dt [s]."""
        point, collider = found.feature.T
        if not len(point):
            return NO_CONTACTS
        normal, carried = found.normal, found.carried
        along = dots(carried, normal)
        at_start = found.gap + along
        gap = found.gap - np.minimum(at_start + PUSH_OUT * self.body.size * dt, 0.0)
        # Points of one element share one stiffness: how fine the surface is must not matter.
        element = self.points.element[point]
        share = np.bincount(element)[element]
        # Elements that are all but empty carry what others do.
        stiffness = STIFFNESS * np.maximum(self.mass[point], self.least_mass) / (dt * dt)
        stiffness = (
            np.maximum(stiffness, self.least_stiffness[self.body.part[found.rows[:, 0]]]) / share
        )
        slip, raised = -carried, np.zeros(len(gap))
        row, known = memory.known(found.key)
        sunk = memory.pressure[row] / stiffness[known]
        raised[known] = np.maximum(sunk - RESTING * self.body.size, 0.0)
        slip[known] += memory.drag[row] / stiffness[known, None]
        slip -= dots(slip, normal)[:, None] * normal
        return new_rows(
            rows=found.rows,
            weights=found.weights,
            normal=normal,
            gap=gap,
            slip=slip,
            stiffness=stiffness,
            friction=self.friction[collider],
            tolerance=self.tolerance[collider],
            raised=raised,
        )

    def pressed(
        self, found: Candidates, rows: ContactRows, memory: ContactMemory, u, dt: float
    ) -> PressedContacts | None:
        """What is pressed after a step of dt [s] with displacements u (n, 3), from what was remembered; or None."""
        is_pressed = rows.pressure > 0.0
        pressed = np.flatnonzero(is_pressed)
        if not len(pressed):
            return None
        is_pressed[memory.known(found.key)[1]] = False
        normal, pressure = rows.normal[pressed], rows.pressure[pressed]
        return PressedContacts(
            rows=rows.rows[pressed],
            weights=rows.weights[pressed],
            normal=normal,
            velocity=found.carried[pressed] / dt,
            force=pressure[:, None] * normal - drag_of(rows, pressed, u),
            pressure=pressure,
            restitution=self.restitution[found.feature[pressed, 1]],
            is_sticking=rows.slip_stiffness[pressed] >= rows.stiffness[pressed],
            is_struck=is_pressed[pressed],
        )

    def remembered(
        self, found: Candidates, rows: ContactRows, colliders: ColliderArrays, u
    ) -> ContactMemory:
        """What the pressed contacts are after a step with displacements u (n, 3)."""
        pressed = np.flatnonzero(rows.pressure > 0.0)
        if not len(pressed):
            return NO_MEMORY
        pressed = pressed[np.argsort(found.key[pressed], kind="stable")]
        normal = rows.normal[pressed]
        turn = colliders.after[found.feature[pressed, 1], :9].reshape(-1, 3, 3)
        local = np.einsum("cji,cj->ci", turn, normal)
        at_start = found.gap[pressed] + dots(found.carried[pressed], normal)
        offset = dots(local, found.anchor[pressed]) - at_start
        return ContactMemory(
            key=found.key[pressed],
            drag=drag_of(rows, pressed, u),
            plane=np.concatenate([local, offset[:, None]], axis=1),
            pressure=rows.pressure[pressed],
        )


def drag_of(rows: ContactRows, chosen: NDArray[np.int64], u) -> NDArray[np.float64]:
    """Force of the bristles of chosen contacts on side b [N], shape (c, 3): what friction lets them keep."""
    normal = rows.normal[chosen]
    moved = parted(rows.weights[chosen], rows.rows[chosen], u)
    slip = rows.slip[chosen] + moved - dots(moved, normal)[:, None] * normal
    return rows.slip_stiffness[chosen, None] * slip
