"""Trees of barycentric bounds (b-DOPs) over the triangles of patches.

A quantised b-DOP is 64 bits: bytes 0-3 the lower bounds a_i = byte / 256, bytes 4-7 the upper b_i = (byte + 1) / 256.
Multiples of 1/256 are exact, so rounding outwards is exact as well, and so are sums of bounds.
"""

import numpy as np

from jellycage.toolkit.compile_kernels import njit, njit_called, njit_inside

INDEX_BITS = 21
INDEX_MASK = (1 << INDEX_BITS) - 1
WORD_MASK = (1 << 32) - 1
QUANTUM = 1.0 / 256.0


@njit_called
def order_about(key, order, first, last, middle):
    """Reorder order[first:last] until no key before `middle` is greater, and none after it less, than the one there."""
    low, high = first, last - 1
    while low < high:
        a, b, c = key[order[low]], key[order[(low + high) // 2]], key[order[high]]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while key[order[i]] < pivot:
                i += 1
            while key[order[j]] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@njit_inside
def split_range(first, last, centre, extent, order):
    """Put the largest triangle of a range first and order the others about their median along the longest axis."""
    best, axis, longest = first, 0, -1.0
    for i in range(first + 1, last):
        if extent[order[i]] > extent[order[best]]:
            best = i
    order[first], order[best] = order[best], order[first]
    for k in range(4):
        key = centre[k]
        low, high = key[order[first]], key[order[first]]
        for i in range(first + 1, last):
            at = key[order[i]]
            low, high = min(low, at), max(high, at)
        if high - low > longest:
            axis, longest = k, high - low
    left = first + 1
    order_about(centre[axis], order, left, last, left + (last - left) // 2)


@njit
def order_trees(patch_triangle_start, centre, extent, out_order, out_end):
    """Order the triangles of every patch into its implicit tree.

    centre (4, t): barycentric centres of triangles; extent (t,): their sizes. out_end[i]: where the range of the node
    in place i ends.
    """
    todo = np.empty((128, 2), np.int64)
    for patch in range(patch_triangle_start.shape[0] - 1):
        todo[0, 0], todo[0, 1] = patch_triangle_start[patch], patch_triangle_start[patch + 1]
        count = 1
        while count > 0:
            count -= 1
            first, last = todo[count, 0], todo[count, 1]
            if first >= last:
                continue
            out_end[first] = last
            if last - first > 1:
                split_range(first, last, centre, extent, out_order)
            left = first + 1
            middle = left + (last - left) // 2
            todo[count, 0], todo[count, 1] = left, middle
            todo[count + 1, 0], todo[count + 1, 1] = middle, last
            count += 2


@njit
def measure_triangles(faces, weights, out_order, out_centre, out_extent):
    """Numbers, barycentric centres (4, t) and sizes, the sum of the four intervals, of triangles."""
    for t in range(faces.shape[0]):
        out_order[t] = t
        a, b, c = faces[t, 0], faces[t, 1], faces[t, 2]
        extent = 0.0
        for k in range(4):
            wa, wb, wc = weights[a, k], weights[b, k], weights[c, k]
            out_centre[k, t] = (wa + wb + wc) / 3.0
            extent += max(wa, wb, wc) - min(wa, wb, wc)
        out_extent[t] = extent


@njit_called
def join(one, other):
    """The smallest quantised b-DOP that holds two."""
    joined = 0
    for k in range(4):
        shift = 8 * k
        joined |= min((one >> shift) & 255, (other >> shift) & 255) << shift
        shift += 32
        joined |= max((one >> shift) & 255, (other >> shift) & 255) << shift
    return joined


@njit_called
def quantise(low, high, axis):
    """The two bytes of an interval of weights on one axis, in their places, rounded outwards."""
    a = min(int(np.floor(low * 256.0)), 255)
    b = max(int(np.ceil(high * 256.0)) - 1, 0)
    return (a << (8 * axis)) | (b << (8 * axis + 32))


@njit
def bound_trees(faces, weights, order, end, out_bdop):
    """Quantised b-DOP of every node: of its own triangle and of both children, which come after it."""
    for i in range(order.shape[0] - 1, -1, -1):
        a, b, c = faces[order[i], 0], faces[order[i], 1], faces[order[i], 2]
        box = 0
        for k in range(4):
            wa, wb, wc = weights[a, k], weights[b, k], weights[c, k]
            box |= quantise(min(wa, wb, wc), max(wa, wb, wc), k)
        left = i + 1
        middle = left + (end[i] - left) // 2
        if middle > left:
            box = join(box, out_bdop[left])
        if end[i] > middle:
            box = join(box, out_bdop[middle])
        out_bdop[i] = box


@njit
def pack(vertices, neighbours, bdop, out_triangles):
    """Write corners, neighbours (-1: none) and b-DOPs into six words per triangle, or into eight."""
    is_packed = out_triangles.shape[1] == 6
    mask = INDEX_MASK if is_packed else WORD_MASK
    for t in range(vertices.shape[0]):
        for k in range(3):
            out_triangles[t, k] = vertices[t, k] & mask
            out_triangles[t, 3 + k] = neighbours[t, k] & mask
        box = bdop[t]
        if is_packed:
            for k in range(6):
                out_triangles[t, k] |= ((box >> (11 * k)) & 2047) << INDEX_BITS
        else:
            out_triangles[t, 6] = box & WORD_MASK
            out_triangles[t, 7] = (box >> 32) & WORD_MASK


@njit_inside
def index_mask(triangles):
    """The bits of the first six words that are indices; all set: no neighbour."""
    return INDEX_MASK if triangles.shape[1] == 6 else WORD_MASK


@njit_inside
def bdop_of(triangles, t):
    """The 64 bits of the b-DOP that a triangle carries, as a signed integer."""
    if triangles.shape[1] == 6:
        box = np.int64(triangles[t, 0]) >> INDEX_BITS
        box |= (np.int64(triangles[t, 1]) >> INDEX_BITS) << 11
        box |= (np.int64(triangles[t, 2]) >> INDEX_BITS) << 22
        box |= (np.int64(triangles[t, 3]) >> INDEX_BITS) << 33
        box |= (np.int64(triangles[t, 4]) >> INDEX_BITS) << 44
        box |= (np.int64(triangles[t, 5]) >> INDEX_BITS) << 55
    else:
        box = np.int64(triangles[t, 6]) | (np.int64(triangles[t, 7]) << 32)
    return box


@njit
def read_bdops(triangles, out_bdop):
    """The b-DOP that every triangle carries."""
    for t in range(triangles.shape[0]):
        out_bdop[t] = bdop_of(triangles, t)
