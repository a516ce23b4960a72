"""Bodies that are inside each other part without being given any speed: they are shifted as they are."""

import numpy as np

from jellycage.toolkit.compile_kernels import njit

MOST_SWEEPS = 50  # over the contacts, each of which sees the ones before
SETTLED = 1e-3  # of the longest way: a way that is not worth another sweep


@njit
def find_shifts(first, second, normal, wanted, inverse_mass):
    """How far parts (p,) are to be shifted, shape (p, 3) [m], so that contacts (c,) part by what is wanted [m].

    first, second: parts on either side of each, -1 for what is led; normal (c, 3): towards the first. inverse_mass (p,)
    [1/kg]: 0 for parts that are held. The lighter one of two goes further; what is wedged in goes as far as it can.
    """
    shift = np.zeros((len(inverse_mass), 3))
    longest = 0.0
    for c in range(len(wanted)):
        longest = max(longest, wanted[c])
    for _ in range(MOST_SWEEPS):
        greatest = 0.0
        for c in range(len(first)):
            a, b = first[c], second[c]
            one = inverse_mass[a] if a >= 0 else 0.0
            other = inverse_mass[b] if b >= 0 else 0.0
            if a == b or one + other == 0.0:
                continue
            lacks = wanted[c]
            for k in range(3):
                if a >= 0:
                    lacks -= normal[c, k] * shift[a, k]
                if b >= 0:
                    lacks += normal[c, k] * shift[b, k]
            if lacks <= SETTLED * longest:
                continue
            greatest = max(greatest, lacks)
            for k in range(3):
                if a >= 0:
                    shift[a, k] += one / (one + other) * lacks * normal[c, k]
                if b >= 0:
                    shift[b, k] -= other / (one + other) * lacks * normal[c, k]
        if greatest == 0.0:
            break
    return shift
