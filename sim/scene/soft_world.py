"""The soft bodies of a scene, one by one or, where they are near each other, several at once.

Bodies that come near each other in a substep take it in the same pieces. In each piece those that contacts join are one
system, an island, solved by the same kernels as a body alone. What is near nothing is stepped by itself, to the bit as
in a scene of its own.
"""

from itertools import combinations
from time import perf_counter

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from jellycage.sim.contact.memory import ContactMemory, joined_memories
from jellycage.sim.contact.overlap import Overlap, overlap
from jellycage.sim.contact.pair_finder import FLANKS, PairFinder, Touchable
from jellycage.sim.errors import SolverError
from jellycage.sim.scene.scene import Scene
from jellycage.sim.scene.soft_island import SoftIsland
from jellycage.sim.scene.soft_stepper import SoftStepper, Spent
from jellycage.sim.soft.state import State
from jellycage.toolkit.collision.posed import pose

REACH = 1.5  # times as far as bodies go in a step by their speeds, and
SPACE = 0.01  # of their sizes: those whose boxes then overlap are near
MOST_CROSSED = 0.1  # sizes of the smallest that near bodies may come together in a step
MOST_ISLANDS = 16  # that are kept


class SoftWorld:
    """Steps all soft bodies of a scene. Holds work arrays and no state."""

    def __init__(self, scene: Scene, spent: Spent):
        self.scene, self.spent = scene, spent
        self.members = [SoftStepper(body, scene, spent) for body in scene.bodies]
        self.touchables = self._count_features()
        is_soft = np.array([touchable is not None for touchable in self.touchables], bool)
        self.may_touch = is_soft[:, None] & is_soft & ~np.eye(len(is_soft), dtype=bool)
        for a, b in scene.passing:
            self.may_touch[a, b] = self.may_touch[b, a] = False
        self.finders: dict[tuple[int, int], PairFinder] = {}
        self.islands: dict[tuple[int, ...], SoftIsland] = {}

    def step(
        self, soft: list[State], memory: ContactMemory, start: float, end: float, dt: float
    ) -> ContactMemory:
        """Advance the states of all bodies from one time [s] to another, dt [s] later; what contacts remember."""
        memories, near = [], self._near(soft, dt)
        for group in _groups(near, len(soft)):
            if len(group) == 1:
                (number,) = group
                try:
                    kept = self.members[number].step(soft[number], memory, start, end, dt)
                except SolverError as error:
                    error.body = number
                    raise
            else:
                pairs = [
                    (group.index(a), group.index(b)) for a, b in near if a in group and b in group
                ]
                kept = self._step_together(group, pairs, soft, memory, start, end, dt)
            memories.append(kept)
        return joined_memories(memories)

    def overlaps(self, soft: list[State]) -> list[Overlap]:
        """Of all bodies that may touch and are inside each other."""
        found = []
        for a, b in self._near(soft, 0.0):
            posed = [pose(self.touchables[k].surface, soft[k].x) for k in (a, b)]
            found.append(overlap((a, b), *posed))
        return [each for each in found if each is not None]

    def _count_features(self) -> list[Touchable | None]:
        """Give contact points and patches, colliders and bodies their places among the features of the scene."""
        members, bodies = self.members, self.scene.bodies
        points = [0 if member.finder is None else len(member.finder.points) for member in members]
        surfaces = [body.asset.collision if len(bodies) > 1 else None for body in bodies]
        patches = [0 if surface is None else len(surface.patch_area) for surface in surfaces]
        first = np.append(0, np.cumsum([*points, *(FLANKS * count for count in patches)]))
        total, colliders = int(first[-1]), len(self.scene.colliders)
        self.features = total + colliders + len(bodies) if any(patches) else total + colliders
        touchables = [None] * len(bodies)
        for number, (member, surface) in enumerate(zip(members, surfaces, strict=True)):
            if member.finder is not None:
                member.finder.number_features(int(first[number]), total, self.features)
            if surface is not None:
                own = int(first[len(bodies) + number])
                touchables[number] = Touchable(member.body, own, total + colliders + number)
        return touchables

    def _near(self, soft, dt) -> list[tuple[int, int]]:
        """Pairs of bodies that may touch in a step of dt [s], the lesser number first, ascending."""
        if not self.may_touch.any():
            return []
        low, high = [], []
        for state, member in zip(soft, self.members, strict=True):
            way = REACH * dt * np.abs(state.v).max(initial=0.0) + SPACE * member.body.size
            low.append(state.x.min(axis=0) - way)
            high.append(state.x.max(axis=0) + way)
        low, high = np.array(low), np.array(high)
        is_near = (low[:, None] <= high).all(axis=2) & self.may_touch
        return [(int(a), int(b)) for a, b in np.argwhere(np.triu(is_near & is_near.T))]

    def _step_together(self, group, pairs, soft, memory, start, end, dt) -> ContactMemory:
        """The same for some of them; pairs: places in the group of those that are near each other."""
        members, states = [self.members[n] for n in group], [soft[n] for n in group]
        both = list(zip(members, states, strict=True))
        for member, state in both:
            member.apply_events(state, start, end)
        done = 0.0
        while done < 1.0:
            longest = min(m.longest_step(state, start + done * dt, dt) for m, state in both)
            longest = min(longest, self._uncrossed(both))
            share = members[0].share(done, longest / dt)
            while True:
                until = done + share
                begin, finish = start + done * dt, end if until == 1.0 else start + until * dt
                tries = [m.attempt(state, begin, finish, share * dt) for m, state in both]
                found = self._found(group, pairs, states, tries, memory)
                longest = self._foreseen(group, states, tries, found, share * dt)
                shorter = members[0].share(done, min(longest / dt, share))
                if shorter == share:
                    break
                share = shorter
            memory = self._take(group, states, tries, found, memory)
            done = until
        return memory

    def _uncrossed(self, both) -> float:
        """How long a step may be in which no two bodies go far into each other [s]."""
        fastest = max(float(np.abs(state.v).max()) for _, state in both)
        size = min(member.body.size for member, _ in both)
        return MOST_CROSSED * size / max(2.0 * fastest, np.finfo(float).tiny)

    def finder(self, a: int, b: int) -> PairFinder:
        """Of the contacts of two bodies, a < b."""
        if (a, b) not in self.finders:
            bodies = self.scene.bodies[a], self.scene.bodies[b]
            self.finders[a, b] = PairFinder(
                self.touchables[a],
                self.touchables[b],
                friction=float(np.sqrt(bodies[0].friction * bodies[1].friction)),
                features=self.features,
            )
        return self.finders[a, b]

    def _found(self, group, pairs, states, tries, memory) -> dict:
        """Candidates between near bodies that have any, by their places in the group."""
        began, found = perf_counter(), {}
        for i, j in pairs:
            ahead = [tries[k].ahead for k in (i, j)]
            pair = self.finder(group[i], group[j]).find((states[i].x, states[j].x), ahead, memory)
            if len(pair.key):
                found[i, j] = pair
        self.spent.contact_seconds += perf_counter() - began
        return found

    def _foreseen(self, group, states, tries, found, dt) -> float:
        """How long a step may be by what was found for one of dt [s]."""
        longest = np.inf
        for number, state, attempt in zip(group, states, tries, strict=True):
            if attempt.found is not None:
                impacts = self.members[number].impacts
                longest = min(longest, impacts.foreseen(attempt.found, state.v, dt))
        for (i, j), pair in found.items():
            moved = np.concatenate([tries[k].ahead - states[k].x for k in (i, j)])
            for side, k in enumerate((i, j)):
                seen = self.finder(group[i], group[j]).seen_from(side, pair, moved)
                impacts = self.members[group[k]].impacts
                longest = min(longest, impacts.foreseen(seen, states[k].v, dt))
        return longest

    def _take(self, group, states, tries, found, memory) -> ContactMemory:
        """Take a step of a group, island by island; returns what its contacts remember."""
        memories = []
        for island in _groups(list(found), len(group)):
            numbers = tuple(group[k] for k in island)
            pairs = {
                (island.index(i), island.index(j)): pair
                for (i, j), pair in found.items()
                if i in island
            }
            own = [states[k] for k in island], [tries[k] for k in island]
            try:
                memories.append(self._island(numbers).take(*own, pairs, memory))
            except SolverError as error:
                error.body = numbers[error.body or 0]
                raise
        return joined_memories(memories)

    def _island(self, numbers) -> SoftIsland:
        """What takes steps of some bodies that touch each other."""
        if numbers not in self.islands:
            if len(self.islands) >= MOST_ISLANDS + len(self.members):
                self.islands.pop(next(iter(self.islands)))
            finders = {
                (i, j): self.finder(numbers[i], numbers[j])
                for i, j in combinations(range(len(numbers)), 2)
                if self.may_touch[numbers[i], numbers[j]]
            }
            members = [self.members[n] for n in numbers]
            self.islands[numbers] = SoftIsland(self.scene, members, finders, self.spent)
        return self.islands[numbers]


def _groups(pairs, count) -> list[list[int]]:
    """Numbers below count in groups that pairs join, each ascending, by their first ones."""
    one, other = np.array(pairs, np.int64).reshape(-1, 2).T
    links = coo_array((np.ones(len(one)), (one, other)), shape=(count, count))
    label = connected_components(links, directed=False)[1]
    groups = {}
    for number, group in enumerate(label.tolist()):
        groups.setdefault(group, []).append(number)
    return sorted(groups.values())
