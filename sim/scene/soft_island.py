"""Soft bodies that touch each other in a step, as one system.

Contacts with colliders and between two bodies are rows of one table over the rows of the system. After the solve each
body sees its contacts from its own side: what touches it is a place that moves.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from jellycage.sim.contact.candidates import Candidates, dots
from jellycage.sim.contact.memory import ContactMemory, joined_memories
from jellycage.sim.contact.pair_finder import PairFinder
from jellycage.sim.contact.parting_kernels import find_shifts
from jellycage.sim.contact.response_kernels import ContactRows
from jellycage.sim.contact.rows import NO_CONTACTS, rows_from
from jellycage.sim.contact.strikes_kernels import PressedContacts, stop_strikes
from jellycage.sim.errors import SolverError
from jellycage.sim.scene.scene import Scene
from jellycage.sim.scene.soft_stepper import MOST_TRIES, SoftStepper, Spent, Try
from jellycage.sim.soft.state import State
from jellycage.sim.soft.system import system_of
from jellycage.sim.solvers.bdf2 import fast_strikes
from jellycage.sim.solvers.increments import joined_increments
from jellycage.sim.solvers.methods import SOLVERS, chosen
from jellycage.sim.solvers.rigid_motion_kernels import keep_centres, keep_momenta


class Block(NamedTuple):
    """Contacts of one member with colliders, or of two members with each other."""

    members: tuple[int, ...]
    """One or two of the island."""
    found: Candidates
    """Over the rows of these members."""
    rows: ContactRows
    """The same for the solver."""
    is_parting: bool
    """Whether its members are taken apart, having been too deep in each other."""


class SoftIsland:
    """Takes steps of some bodies that touch each other. Holds work arrays and no state."""

    def __init__(
        self,
        scene: Scene,
        members: list[SoftStepper],
        finders: dict[tuple[int, int], PairFinder],
        spent: Spent,
    ):
        """finders: of each two members that may touch."""
        self.scene, self.members, self.finders, self.spent = scene, members, finders, spent
        self.system = system_of([member.body for member in members])
        self.solver = chosen(SOLVERS, scene.solver.method)(self.system, scene.solver)
        self.mass = np.concatenate([member.body.mass for member in members])

    def take(
        self,
        states: list[State],
        tries: list[Try],
        pairs: dict[tuple[int, int], Candidates],
        memory: ContactMemory,
    ) -> ContactMemory:
        """Take a step; returns what the contacts remember. pairs: what may touch between two members.

        A SolverError has the place of the body that failed among the members.
        """
        increment = joined_increments([attempt.increment for attempt in tries], self.system)
        x, dt = np.concatenate([state.x for state in states]), tries[0].dt
        memories = [state.memory for state in states]
        found = {
            (k,): attempt.found for k, attempt in enumerate(tries) if attempt.found is not None
        }
        found |= pairs
        shift = self._shift(found, tries, memory, dt)
        for tries_left in reversed(range(MOST_TRIES)):
            blocks = [
                self._block(key, each, tries, memory, shift, dt) for key, each in found.items()
            ]
            rows = self._joined([block.rows for block in blocks], blocks, NO_CONTACTS)
            if increment.x is not x:
                rows = rows_from(rows, increment.x - x)
            effort = self.solver.solve(increment, memories, rows)
            if not tries_left or not self._add_missed(found, states, tries, increment.x, memory):
                break
        self.solver.remember(memories)
        self.spent.count(effort)
        blocks = _with_results(blocks, rows)
        return self._end(states, tries, blocks, memory, shift, dt)

    def _shift(self, found, tries, memory, dt) -> NDArray | None:
        """How far parts (p, 3) are taken away from what they are deep inside of in this step [m]; None if nowhere."""
        wanted = {
            key: self.finders[key].parting(each, memory, dt)
            for key, each in found.items()
            if len(key) == 2
        }
        if not any(each.any() for each in wanted.values()):
            return None
        sides, normals, ways = [], [], []
        for key, each in found.items():
            part = self._of(key, self.system.part)
            first = part[each.rows[:, 0]]
            second = part[each.rows[:, -1]] if len(key) == 2 else np.full(len(first), -1)
            sides.append(np.stack([first, second], axis=1))
            normals.append(each.normal)
            ways.append(wanted.get(key, np.zeros(len(first))))
        is_held = ~np.concatenate([attempt.pins.is_flying for attempt in tries])
        lightness = np.where(is_held, 0.0, 1.0 / np.bincount(self.system.part, self.mass))
        first, second = np.concatenate(sides).T
        return find_shifts(
            np.ascontiguousarray(first),
            np.ascontiguousarray(second),
            np.concatenate(normals),
            np.concatenate(ways),
            lightness,
        )

    def _block(self, key, found, tries, memory, shift, dt) -> Block:
        if len(key) == 2:
            finder, part = self.finders[key], self._of(key, self.system.part)
            way = finder.parting(found, memory, dt)
            is_parting = bool(way.any())
            if is_parting and shift is not None:
                apart = shift[part[found.rows[:, 0]]] - shift[part[found.rows[:, -1]]]
                way = np.maximum(way - dots(apart, found.normal), 0.0)
            mass = self._of(key, self.mass)
            rows = finder.rows(found, memory, mass, way if is_parting else None, dt)
            return Block(key, found, rows, is_parting)
        finder = self.members[key[0]].finder
        found = finder.on_their_side(found, memory, tries[key[0]].colliders)
        return Block(key, found, finder.rows(found, memory, dt), False)

    def _add_missed(self, found, states, tries, x, memory) -> bool:
        """Add points that the solve has taken into something unforeseen; whether there are any."""
        after, is_any = x + self.solver.u, False
        for key, known in found.items():
            if len(key) == 2:
                places = (
                    [states[k].x for k in key],
                    [tries[k].ahead for k in key],
                    [after[self.system.rows(k)] for k in key],
                )
                more = self.finders[key].missed(*places, known, memory)
            else:
                (k,) = key
                finder, colliders = self.members[k].finder, tries[k].colliders
                more = finder.missed(states[k].x, after[self.system.rows(k)], colliders, known)
            if more is not None:
                found[key], is_any = more, True
        return is_any

    def _of(self, key, values) -> NDArray:
        """Values (n, ...) of the system at the rows of one or two members."""
        return np.concatenate([values[self.system.rows(k)] for k in key])

    def _joined(self, parts, blocks, nothing):
        """Rows of contacts of all blocks over the rows of the system, padded with weight 0."""
        parts = [(part, block.members) for part, block in zip(parts, blocks, strict=True)]
        parts = [(part, key) for part, key in parts if part is not None and len(part.normal)]
        if not parts:
            return nothing
        width = max(part.rows.shape[1] for part, _ in parts)
        moved = []
        for part, key in parts:
            row = np.concatenate([np.r_[self.system.rows(k)] for k in key])[part.rows]
            more = ((0, 0), (0, width - row.shape[1]))
            row, weights = np.pad(row, more, mode="edge"), np.pad(part.weights, more)
            moved.append(part._replace(rows=row.astype(np.int32), weights=weights))
        return type(parts[0][0])(*(np.concatenate(column) for column in zip(*moved, strict=True)))

    def _end(self, states, tries, blocks, memory, shift, dt):
        """The states at the end of the step, and what the contacts remember."""
        u, v_before = self.solver.u, np.concatenate([state.v for state in states])
        kept, pressed = [], []
        for key, found, rows, is_parting in blocks:
            own = self._of(key, u)
            if len(key) == 2:
                finder = self.finders[key]
                kept.append(finder.remembered(found, rows, own, is_parting=is_parting))
                pressed.append(finder.pressed(found, rows, memory, own))
            else:
                (k,) = key
                finder = self.members[k].finder
                kept.append(finder.remembered(found, rows, tries[k].colliders, own))
                pressed.append(finder.pressed(found, rows, memory, own, dt))
        sides = [self._seen_by(k, blocks, pressed, v_before) for k in range(len(states))]
        ends = []
        for k, (member, state, attempt) in enumerate(zip(self.members, states, tries, strict=True)):
            own = u[self.system.rows(k)]
            try:
                ends.append(member.arrive(state, attempt, own, sides[k], stops=False))
            except SolverError as error:
                error.body = k
                raise
        joined = self._joined(pressed, blocks, None)
        self._stop_strikes(states, tries, joined, v_before, dt)
        if shift is not None:
            for k, (member, state) in enumerate(zip(self.members, states, strict=True)):
                member.integrator.shift(state, shift[self.system.part[self.system.rows(k)]])
        befores = [before for before, _ in ends]
        self._keep_momenta(states, tries, befores, joined, blocks, shift, dt)
        rest = zip(self.members, states, tries, ends, sides, strict=True)
        for member, state, attempt, (before, is_kept), side in rest:
            member.solver.evaluate(state.x, [state.memory])
            degenerate = int(member.solver.solution.elastic[1])
            degenerate += np.count_nonzero(state.memory["collapse_pair"])
            member.settle(state, before, attempt, is_kept, degenerate, side)
        return joined_memories(kept)

    def _seen_by(self, k, blocks, pressed, v_before) -> PressedContacts | None:
        """Pressed contacts as a member sees them: what touches it is a place that moves; None if there are none."""
        seen = []
        for block, part in zip(blocks, pressed, strict=True):
            if part is None or k not in block.members:
                continue
            if len(block.members) == 2:
                side = block.members.index(k)
                own = self._of(block.members, v_before)
                part = self.finders[block.members].pressed_on(side, part, own)
            seen.append(part)
        if not seen:
            return None
        width = max(part.rows.shape[1] for part in seen)
        seen = [_padded(part, width) for part in seen]
        return PressedContacts(*(np.concatenate(column) for column in zip(*seen, strict=True)))

    def _stop_strikes(self, states, tries, pressed, v_before, dt):
        """Let struck points of both sides move as one, and leave that out of the history of their bodies."""
        if pressed is None or not pressed.is_struck.any() or tries[0].prediction is None:
            return
        v = np.concatenate([state.v for state in states])
        step = np.concatenate([attempt.prediction.step for attempt in tries])
        change = np.zeros_like(v)
        stop_strikes(
            fast_strikes(pressed, v_before, self.scene.gravity, dt), self.mass, step, v, change
        )
        for k, (member, state, attempt) in enumerate(zip(self.members, states, tries, strict=True)):
            own = self.system.rows(k)
            if change[own].any():
                state.v[:] = v[own]
                member.integrator.forget(state, change[own], attempt.prediction, attempt.increment)

    def _keep_momenta(self, states, tries, befores, pressed, blocks, shift, dt):
        """Give parts that touch each other, and nothing else, the momenta that loads leave them together."""
        if tries[0].prediction is None:  # implicit Euler keeps none
            return
        system, count = self.system, int(self.system.part_start[-1])
        is_free = np.concatenate([attempt.pins.is_flying for attempt in tries])
        for k, (body, state) in enumerate(zip(system.members, states, strict=True)):
            if (
                body.air_drag > 0.0
                or body.mass_damping > 0.0
                or state.memory["collapse_pair"].any()
            ):
                is_free[system.part_start[k] : system.part_start[k + 1]] = False
        joined = [self._of(b.members, system.part)[b.found.rows] for b in blocks if b.is_parting]
        if pressed is not None:
            part = system.part[pressed.rows]
            is_led = np.abs(pressed.weights.sum(axis=1)) > 0.5
            is_free[part[is_led, 0]] = False
            joined.append(part[~is_led])
        one = np.concatenate([part.min(axis=1) for part in joined] or [np.zeros(0, int)])
        other = np.concatenate([part.max(axis=1) for part in joined] or [np.zeros(0, int)])
        links = coo_array((np.ones(len(one)), (one, other)), shape=(count, count))
        group = connected_components(links, directed=False)[1].astype(np.int64)
        is_kept = np.bincount(group[~is_free], minlength=group.max() + 1) == 0
        if not is_kept.any():
            return
        label = group[system.part]
        x_before, v_before, x, v = (
            np.concatenate([getattr(each, name) for each in side])
            for side in (befores, states)
            for name in ("x", "v")
        )
        load = [attempt.increment.load - attempt.prediction.load for attempt in tries]
        kept = v.copy()
        keep_momenta(
            x_before, v_before, x, np.concatenate(load), self.mass, label, is_kept, 0.0, dt, kept
        )
        if shift is not None:
            x_before = x_before + shift[system.part]
        keep_centres(x_before, v_before, kept, self.mass, label, is_kept, dt, x)
        for k, (member, state) in enumerate(zip(self.members, states, strict=True)):
            own = system.rows(k)
            state.x = np.ascontiguousarray(x[own])
            state.v[:] = kept[own]
            member.integrator.disturb(state, kept[own] - v[own], np.zeros(0, int))


def _with_results(blocks, rows: ContactRows) -> list[Block]:
    """The blocks with what the solver found out about their contacts."""
    result, first = [], 0
    for block in blocks:
        own = slice(first, first + len(block.rows.gap))
        first = own.stop
        names = ("gap", "slip", "raised", "pressure", "slip_stiffness", "is_active")
        known = {name: getattr(rows, name)[own] for name in names}
        result.append(block._replace(rows=block.rows._replace(**known)))
    return result


def _padded(part: PressedContacts, width) -> PressedContacts:
    more = ((0, 0), (0, width - part.rows.shape[1]))
    return part._replace(
        rows=np.pad(part.rows, more, mode="edge"), weights=np.pad(part.weights, more)
    )
