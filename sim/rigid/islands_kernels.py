"""Sleep: bodies that hang together and have all been slow for a while stop, and are skipped until something moves them.

An island is what joints, rods and touching contacts connect; bodies that nothing can push connect nothing.
"""

import numpy as np

from jellycage.toolkit.compile_kernels import njit_called
from jellycage.toolkit.union_kernels import find_root, join

APART = 0.05  # of what a sweep mends at most: a gap that keeps an island awake


@njit_called
def _unite(island, bodies, a, b):
    if bodies.inverse_mass[a] > 0.0 and bodies.inverse_mass[b] > 0.0:
        join(island, a, b)


@njit_called
def wake_islands(state, bodies, contacts, count, slow, h):
    """Wake whole islands before the step in which something that moves meets one of their bodies."""
    for c in range(count):
        for side in range(2):
            sleeper, comer = contacts.body[c, side], contacts.body[c, 1 - side]
            if sleeper < 0 or comer < 0 or not state.is_asleep[sleeper] or state.is_asleep[comer]:
                continue
            reach, speed = bodies.reach[comer], 0.0
            for k in range(3):
                speed += state.v[comer, k] ** 2 + (reach * state.w[comer, k]) ** 2
            speed = np.sqrt(speed)
            if speed < slow or contacts.gap[c] > h * speed:
                continue
            label = state.island[sleeper]
            for i in range(state.p.shape[0]):
                if state.is_asleep[i] and state.island[i] == label:
                    state.is_asleep[i] = False
                    state.slow_time[i] = 0.0


@njit_called
def fall_asleep(state, bodies, joints, rods, contacts, count, scratch, h, slow, patience):
    """Note how long every body has been slow, put islands to sleep and wake those that are touched by a moving body."""
    island, island_slow_time = scratch.island, scratch.island_slow_time
    # How long each body has been slow.
    for i in range(state.p.shape[0]):
        island[i] = i
        speed = 0.0
        for k in range(3):
            speed += state.v[i, k] ** 2 + (bodies.reach[i] * state.w[i, k]) ** 2
            # Also what is only put in its place is not at rest.
            speed += (scratch.linear[i, k] / h) ** 2
        is_slow = speed < slow * slow
        state.slow_time[i] = state.slow_time[i] + h if is_slow else 0.0
    # Islands: what joints, rods and contacts that push connect.
    for j in range(joints.body.shape[0]):
        _unite(island, bodies, joints.body[j, 0], joints.body[j, 1])
    for r in range(rods.body.shape[0]):
        _unite(island, bodies, rods.body[r, 0], rods.body[r, 1])
    for c in range(count):
        if contacts.push[c, 0] > 0.0:
            _unite(island, bodies, contacts.body[c, 0], contacts.body[c, 1])
    # An island has been slow for as long as the least of its bodies.
    for i in range(state.p.shape[0]):
        island_slow_time[i] = np.inf
    for i in range(state.p.shape[0]):
        if bodies.inverse_mass[i] > 0.0:
            root = find_root(island, i)
            island_slow_time[root] = min(island_slow_time[root], state.slow_time[i])
    for j in range(joints.body.shape[0]):
        # What is still being put together is not at rest.
        gap = joints.start[j, 0] ** 2 + joints.start[j, 1] ** 2 + joints.start[j, 2] ** 2
        apart = (APART * joints.largest_correction[j]) ** 2
        if gap > apart and not state.is_asleep[joints.body[j, 1]]:
            island_slow_time[find_root(island, joints.body[j, 1])] = 0.0
    for c in range(count):
        # What is led keeps awake what it touches while it moves.
        for side in range(2):
            led, other = contacts.body[c, side], contacts.body[c, 1 - side]
            if contacts.push[c, 0] > 0.0 and bodies.inverse_mass[led] == 0.0:
                if state.slow_time[led] == 0.0 and bodies.inverse_mass[other] > 0.0:
                    island_slow_time[find_root(island, other)] = 0.0
    # Those that were slow for long enough sleep.
    for i in range(state.p.shape[0]):
        if bodies.inverse_mass[i] == 0.0:
            continue
        root = find_root(island, i)
        if island_slow_time[root] >= patience and not state.is_asleep[i]:
            state.island[i] = root
        state.is_asleep[i] = island_slow_time[root] >= patience
        if state.is_asleep[i]:
            for k in range(3):
                state.v[i, k] = state.w[i, k] = 0.0
