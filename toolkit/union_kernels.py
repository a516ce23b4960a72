"""Union-find over integers, and search in sorted keys."""

from jellycage.toolkit.compile_kernels import njit_called


@njit_called
def find_root(parent, i):
    """Root of i, halving the path on the way."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit_called
def join(parent, i, j):
    """Merge two sets; the smaller root wins, so the result does not depend on the order."""
    i, j = find_root(parent, i), find_root(parent, j)
    if i < j:
        parent[j] = i
    else:
        parent[i] = j


def roots(parent):
    """Root of every item, by numpy: `parent` as kernels left it, shape (n,)."""
    while (parent[parent] != parent).any():
        parent = parent[parent]
    return parent


@njit_called
def find_sorted(keys, key):
    """Position of a key in an ascending array, -1 if absent."""
    low, high = 0, keys.shape[0]
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < keys.shape[0] and keys[low] == key else -1
