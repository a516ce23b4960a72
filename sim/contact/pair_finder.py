"""The contacts of two soft bodies, from step to step, where their surfaces would overlap.

Regions that both surfaces claim, and one normal for each, are found where a step would take the bodies if nothing
stopped them (`toolkit.collision.contacts`). What hardly touches does not cross, so bodies that pressed on each other in
the step before are pressed together by a little first. A contact is one stencil over the nodes of both cages. Its key
names a patch of one body and the other body, so how many there are depends on the cages, not on the triangles, and what
a contact remembers lasts for as long as the patch is pressed, wherever it slides.
"""

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.contact.candidates import Candidates, dots, joined, parted
from jellycage.sim.contact.finder import (
    LIGHT,
    MARGIN,
    PUSH_OUT,
    RESTING,
    TOLERANCE,
    drag_of,
)
from jellycage.sim.contact.memory import NO_MEMORY, ContactMemory
from jellycage.sim.contact.response_kernels import ContactRows
from jellycage.sim.contact.rows import NO_CONTACTS, new_rows
from jellycage.sim.contact.strikes_kernels import PressedContacts
from jellycage.sim.soft.body import SoftBody
from jellycage.toolkit.collision.contacts import contact_points
from jellycage.toolkit.collision.posed import pose

STIFFNESS = 60.0  # k in effective masses over dt^2: stiffer contacts of two bodies chatter
FARTHEST = 0.5  # in weights, that a point may be away from the place on which its contact acts
STRAYED = 0.02  # of the size, that a node ends up from where it was foreseen: contacts are looked for again
FLANKS = 4  # directions in which one patch may touch another body at the same time


class Touchable:
    """A soft body as others touch it: its collision surface, and the numbers of its patches in the scene."""

    def __init__(self, body: SoftBody, first_feature: int, number: int):
        """first_feature: of its patches among all of the scene, FLANKS each; number: of the body among them."""
        self.body, self.first_feature, self.number = body, first_feature, number
        self.surface = body.asset.collision
        self.least_mass = LIGHT * float(body.mass.mean())
        self.patch_count = len(self.surface.patch_area)
        self.patch_tet = self.surface.patch_tet


class PairFinder:
    """Finds the contacts of two bodies; rows of the second follow those of the first."""

    def __init__(self, a: Touchable, b: Touchable, *, friction: float, features: int):
        """features: how many there are in the scene, see `Candidates.key`."""
        self.sides = a, b
        self.friction, self.features = friction, features
        self.first_row = 0, len(a.body.mass)
        self.size = min(a.body.size, b.body.size)
        self.margin = MARGIN * self.size

    def find(self, x, x_ahead, memory: ContactMemory) -> Candidates:
        """Patches of either that would be inside the other at x_ahead, or nearly; both are pairs of (n, 3) [m]."""
        pressed = self.margin * self._pressed_along(memory)
        ahead = x_ahead[0] - pressed, x_ahead[1]
        posed = [pose(side.surface, nodes) for side, nodes in zip(self.sides, ahead, strict=True)]
        met = contact_points(*posed)
        count, body = len(met), met.body
        patch = met.patch[np.arange(count), body]
        rows = np.concatenate([met.nodes[:, k] + self.first_row[k] for k in (0, 1)], axis=1)
        weights = self._common_weights(posed, met)
        apart = parted(weights, rows, np.concatenate(x_ahead) - np.concatenate(x))
        first, number = (
            np.array([getattr(side, name) for side in self.sides])
            for name in ("first_feature", "number")
        )
        turn = np.minimum(_turns(2 * patch + body), FLANKS - 1)
        feature = first[body] + FLANKS * patch + turn
        return Candidates(
            key=feature * self.features + number[1 - body],
            feature=np.stack([patch, body], axis=1),
            rows=rows.astype(np.int32),
            weights=weights,
            normal=met.normal,
            gap=dots(met.normal, pressed - apart) - met.depth,
            carried=np.zeros((count, 3)),
            anchor=np.zeros((count, 3)),
            area=met.facing,
        )

    def _common_weights(self, posed, met) -> NDArray[np.float64]:
        """Signed weights (c, 8) of one place on both bodies, half way between their points.

        Forces on it turn nothing, whichever way they go. What is flat carries its own point instead.
        """
        middle, weights = met.points.mean(axis=1), []
        for k, sign in ((0, 1.0), (1, -1.0)):
            tet = self.sides[k].patch_tet[met.patch[:, k]]
            change = np.einsum("cij,cj->ci", posed[k].inverses[tet], middle - met.points[:, k])
            change = np.column_stack([change, -change.sum(axis=1)])
            is_near = np.abs(change).max(axis=1, initial=0.0) < FARTHEST
            weights.append(sign * (met.weights[:, k] + np.where(is_near[:, None], change, 0.0)))
        return np.concatenate(weights, axis=1)

    def kept(self, memory: ContactMemory) -> tuple[NDArray, NDArray, NDArray]:
        """(row in the memory, side, patch of that side) of each contact of these two that is remembered."""
        feature, party = np.divmod(memory.key, self.features)
        rows, sides, patches = [], [], []
        for k in (0, 1):
            own, other = self.sides[k], self.sides[1 - k]
            patch = (feature - own.first_feature) // FLANKS
            row = np.flatnonzero((party == other.number) & (patch >= 0) & (patch < own.patch_count))
            rows.append(row)
            sides.append(np.full(len(row), k))
            patches.append(patch[row])
        return tuple(np.concatenate(each) for each in (rows, sides, patches))

    def _pressed_along(self, memory: ContactMemory) -> NDArray[np.float64]:
        """Mean direction from b to a in which contacts of these two pressed, shape (3,); 0 if there were none."""
        row, _, _ = self.kept(memory)
        total = memory.pressure[row] @ memory.plane[row, :3]
        length = np.sqrt((total * total).sum())
        return total / length if length > 0.0 else total

    def missed(
        self, x, x_ahead, x_after, found: Candidates, memory: ContactMemory
    ) -> Candidates | None:
        """What was found and, in addition, patches that ended up inside without being candidates.

        x_ahead: where they were looked for. What did not end up far from there is not looked at again.
        """
        strayed = (
            np.abs(after - ahead).max() for after, ahead in zip(x_after, x_ahead, strict=True)
        )
        if max(strayed) < STRAYED * self.size:
            return None
        again = self.find(x, x_after, memory)
        moved = np.concatenate(x_after) - np.concatenate(x)
        gap = again.gap + dots(again.normal, again.moved(moved))
        is_new = (gap < -self.margin) & ~np.isin(again.key, found.key)
        if not is_new.any():
            return None
        return joined(found, again, is_new)

    def parting(self, found: Candidates, memory: ContactMemory, dt: float) -> NDArray[np.float64]:
        """How far each candidate is to be taken apart in a step of dt [s], shape (c,) [m].

        Bodies that are too deep in each other are, from then on until they only touch; others are not.
        """
        depth = np.maximum(-found.gap, 0.0)
        is_parting = memory.plane[self.kept(memory)[0], 3].any()
        if depth.max(initial=0.0) <= (2.0 * RESTING if is_parting else TOLERANCE) * self.size:
            return np.zeros(len(depth))
        return np.minimum(depth, PUSH_OUT * self.size * dt)

    def rows(
        self, found: Candidates, memory: ContactMemory, mass, way: NDArray | None, dt: float
    ) -> ContactRows:
        """The candidates as the solver sees them in a step of dt [s]; mass (n,) of all rows [kg].

        way: how far it has to push apart at most what overlaps, shape (c,) [m]; None if nothing is too deep.
        """
        if not len(found.key):
            return NO_CONTACTS
        patch, side = found.feature.T
        gap = np.maximum(found.gap, -(PUSH_OUT * self.size * dt if way is None else way))
        lightness = (found.weights**2 / mass[found.rows]).sum(axis=1)
        least = min(touchable.least_mass for touchable in self.sides)
        stiffness = STIFFNESS * np.maximum(1.0 / lightness, least) / (dt * dt)
        # Contacts of one element share one stiffness, by area: how fine the surface is must not matter.
        area = np.maximum(found.area, np.finfo(float).tiny)
        for k, touchable in enumerate(self.sides):
            own = side == k
            tet = touchable.patch_tet[patch[own]]
            stiffness[own] *= area[own] / np.bincount(tet, area[own])[tet]
        slip, raised = np.zeros((len(gap), 3)), np.zeros(len(gap))
        row, known = memory.known(found.key)
        sunk = memory.pressure[row] / stiffness[known]
        raised[known] = np.maximum(sunk - RESTING * self.size, 0.0)
        slip[known] = memory.drag[row] / stiffness[known, None]
        slip -= dots(slip, found.normal)[:, None] * found.normal
        return new_rows(
            rows=found.rows,
            weights=found.weights,
            normal=found.normal,
            gap=gap,
            slip=slip,
            stiffness=stiffness,
            friction=np.full(len(gap), self.friction),
            tolerance=np.full(len(gap), TOLERANCE * self.size),
            raised=raised,
        )

    def remembered(
        self, found: Candidates, rows: ContactRows, u, *, is_parting: bool
    ) -> ContactMemory:
        """What the pressed contacts are after a step with displacements u (n, 3) [m]."""
        pressed = np.flatnonzero(rows.pressure > 0.0)
        if not len(pressed):
            return NO_MEMORY
        pressed = pressed[np.argsort(found.key[pressed], kind="stable")]
        parting = np.full((len(pressed), 1), float(is_parting))
        return ContactMemory(
            key=found.key[pressed],
            drag=drag_of(rows, pressed, u),
            plane=np.hstack([rows.normal[pressed], parting]),
            pressure=rows.pressure[pressed],
        )

    def pressed(
        self, found: Candidates, rows: ContactRows, memory: ContactMemory, u
    ) -> PressedContacts | None:
        """What is pressed after a step with displacements u (n, 3) [m], from what was remembered; or None."""
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
            velocity=np.zeros((len(pressed), 3)),
            force=pressure[:, None] * normal - drag_of(rows, pressed, u),
            pressure=pressure,
            restitution=np.zeros(len(pressed)),
            is_sticking=rows.slip_stiffness[pressed] >= rows.stiffness[pressed],
            is_struck=is_pressed[pressed],
        )

    def pressed_on(self, side: int, pressed: PressedContacts, v) -> PressedContacts:
        """The same as one side sees it, whose place on the other moves as that does; v (n, 3) [m/s]."""
        rows, weights, sign = self._own(side, pressed.rows, pressed.weights)
        both = parted(pressed.weights, pressed.rows, v)
        own = parted(weights, rows, v[self._rows(side)])
        return pressed._replace(
            rows=rows,
            weights=weights,
            normal=sign * pressed.normal,
            force=sign * pressed.force,
            velocity=own - sign * both,
        )

    def seen_from(self, side: int, found: Candidates, moved) -> Candidates:
        """Candidates as one side sees them if the rows of the other move by moved (n, 3) [m]."""
        rows, weights, sign = self._own(side, found.rows, found.weights)
        normal = sign * found.normal
        both = parted(found.weights, found.rows, moved)
        carried = parted(weights, rows, moved[self._rows(side)]) - sign * both
        return found._replace(
            rows=rows,
            weights=weights,
            normal=normal,
            gap=found.gap - dots(carried, normal),
            carried=carried,
        )

    def _rows(self, side: int) -> slice:
        first = self.first_row[side]
        return slice(first, first + len(self.sides[side].body.mass))

    def _own(self, side: int, rows, weights):
        """(rows, weights, sign) of one side: its own four rows, with weights that sum to 1; sign: of them before."""
        own = slice(4 * side, 4 * side + 4)
        sign = 1.0 if side == 0 else -1.0
        return rows[:, own] - np.int32(self.first_row[side]), sign * weights[:, own], sign


def _turns(keys) -> NDArray[np.int64]:
    """How often each key has come before, shape (n,)."""
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    first = np.r_[True, ranked[1:] != ranked[:-1]] if len(keys) else np.zeros(0, bool)
    start = np.maximum.accumulate(np.where(first, np.arange(len(keys)), 0))
    turns = np.empty(len(keys), np.int64)
    turns[order] = np.arange(len(keys)) - start
    return turns
