"""The two hashes that an Alembic archive is full of, and the box of its points.

MurmurHash3, x64 128-bit variant (Austin Appleby, public domain), names the bytes of a sample. SpookyHash V2, 128 bit
(Bob Jenkins, public domain), names properties and objects. All seeds are zero. A hash is two little-endian words.
"""

import numpy as np

from jellycage.toolkit.compile_kernels import njit

WORD_BITS = np.uint64(64)
BYTE_BITS = np.uint64(8)
TOP_BYTE = np.uint64(56)

MURMUR_1 = np.uint64(0x87C37B91114253D5)
MURMUR_2 = np.uint64(0x4CF5AD432745937F)
MURMUR_ADD_1 = np.uint64(0x52DCE729)
MURMUR_ADD_2 = np.uint64(0x38495AB5)
MURMUR_END_1 = np.uint64(0xFF51AFD7ED558CCD)
MURMUR_END_2 = np.uint64(0xC4CEB9FE1A85EC53)

SPOOKY_FILL = np.uint64(0xDEADBEEFDEADBEEF)
SPOOKY_LONG = 192
"""Messages of this many bytes and more are hashed with twelve words of state, shorter ones with four."""
SHORT_TURNS = np.array([50, 52, 30, 41, 54, 48, 38, 37, 62, 34, 5, 36], np.uint64)
SHORT_END_TURNS = np.array([15, 52, 26, 51, 28, 9, 47, 54, 32, 25, 63], np.uint64)
LONG_TURNS = np.array([11, 32, 43, 31, 17, 28, 39, 57, 55, 54, 22, 46], np.uint64)
LONG_END_TURNS = np.array([44, 15, 34, 21, 38, 33, 10, 13, 38, 53, 42, 54], np.uint64)


@njit
def rotated(x, turn):
    """x with its bits moved up by `turn`, those that fall off put in below."""
    return (x << turn) | (x >> (WORD_BITS - turn))


@njit
def word_at(octets, start):
    """The little-endian word of the bytes from `start` on; bytes after the last count as zero."""
    word = np.uint64(0)
    for i in range(min(8, octets.size - start)):
        word |= np.uint64(octets[start + i]) << (BYTE_BITS * np.uint64(i))
    return word


@njit
def murmur_avalanche(h):
    """Every bit of h spread over all others."""
    shift = np.uint64(33)
    h = (h ^ (h >> shift)) * MURMUR_END_1
    h = (h ^ (h >> shift)) * MURMUR_END_2
    return h ^ (h >> shift)


@njit
def find_murmur(words, tail, out_hash):
    """MurmurHash3 of whole 16-byte blocks, two of `words` each, and the fewer than 16 bytes left over in `tail`."""
    h1 = h2 = np.uint64(0)
    five = np.uint64(5)
    for i in range(0, words.size, 2):
        h1 ^= rotated(words[i] * MURMUR_1, np.uint64(31)) * MURMUR_2
        h1 = (rotated(h1, np.uint64(27)) + h2) * five + MURMUR_ADD_1
        h2 ^= rotated(words[i + 1] * MURMUR_2, np.uint64(33)) * MURMUR_1
        h2 = (rotated(h2, np.uint64(31)) + h1) * five + MURMUR_ADD_2
    h1 ^= rotated(word_at(tail, 0) * MURMUR_1, np.uint64(31)) * MURMUR_2
    h2 ^= rotated(word_at(tail, 8) * MURMUR_2, np.uint64(33)) * MURMUR_1

    byte_count = np.uint64(8 * words.size + tail.size)
    h1 ^= byte_count
    h2 ^= byte_count
    h1 += h2
    h2 += h1
    h1 = murmur_avalanche(h1)
    h2 = murmur_avalanche(h2)
    h1 += h2
    h2 += h1
    out_hash[0] = h1
    out_hash[1] = h2


@njit
def mix_short(h):
    """Stir four words between blocks."""
    for i in range(12):
        p, q, r = (i + 2) % 4, (i + 3) % 4, i % 4
        h[p] = rotated(h[p], SHORT_TURNS[i]) + h[q]
        h[r] ^= h[p]


@njit
def mix_short_end(h):
    """Stir four words for the last time; the first two are the hash."""
    for i in range(11):
        d, s = (i + 3) % 4, (i + 2) % 4
        h[d] ^= h[s]
        h[s] = rotated(h[s], SHORT_END_TURNS[i])
        h[d] += h[s]


@njit
def find_spooky_short(octets, out_hash):
    h = np.zeros(4, np.uint64)
    h[2] = h[3] = SPOOKY_FILL
    at = 0
    while octets.size - at >= 16:
        h[2] += word_at(octets, at)
        h[3] += word_at(octets, at + 8)
        mix_short(h)
        if octets.size - at >= 32:
            h[0] += word_at(octets, at + 16)
            h[1] += word_at(octets, at + 24)
            at += 16
        at += 16
    h[3] += np.uint64(octets.size) << TOP_BYTE
    if at == octets.size:
        h[2] += SPOOKY_FILL
        h[3] += SPOOKY_FILL
    else:
        h[2] += word_at(octets, at)
        h[3] += word_at(octets, at + 8)
    mix_short_end(h)
    out_hash[0] = h[0]
    out_hash[1] = h[1]


@njit
def find_spooky_long(octets, out_hash):
    h = np.zeros(12, np.uint64)
    h[2] = h[5] = h[8] = h[11] = SPOOKY_FILL
    rest = octets.size % 96
    for at in range(0, octets.size - rest, 96):
        for i in range(12):
            h[i] += word_at(octets, at + 8 * i)
            h[(i + 2) % 12] ^= h[(i + 10) % 12]
            h[(i + 11) % 12] ^= h[i]
            h[i] = rotated(h[i], LONG_TURNS[i])
            h[(i + 11) % 12] += h[(i + 1) % 12]
    for i in range(12):
        h[i] += word_at(octets, octets.size - rest + 8 * i)
    h[11] += np.uint64(rest) << TOP_BYTE
    for _ in range(3):
        for i in range(12):
            h[(i + 11) % 12] += h[(i + 1) % 12]
            h[(i + 2) % 12] ^= h[(i + 11) % 12]
            h[(i + 1) % 12] = rotated(h[(i + 1) % 12], LONG_END_TURNS[i])
    out_hash[0] = h[0]
    out_hash[1] = h[1]


@njit
def find_spooky(octets, out_hash):
    """SpookyHash of bytes."""
    if octets.size < SPOOKY_LONG:
        find_spooky_short(octets, out_hash)
    else:
        find_spooky_long(octets, out_hash)


@njit
def find_chained(hash_pair, out_hash):
    """The hash of two hashes, one after the other in `hash_pair`, shape (4,)."""
    h = np.empty(4, np.uint64)
    for i in range(4):
        h[i] = hash_pair[i]
    mix_short_end(h)
    out_hash[0] = h[0]
    out_hash[1] = h[1]


@njit
def find_bounds(points, out_box):
    """Low and high corner of points (n, 3), n > 0, shape (2, 3)."""
    for axis in range(3):
        low = high = points[0, axis]
        for i in range(points.shape[0]):
            low = min(low, points[i, axis])
            high = max(high, points[i, axis])
        out_box[0, axis] = low
        out_box[1, axis] = high
