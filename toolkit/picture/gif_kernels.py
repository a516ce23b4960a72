"""Loops over pixels for GIF files: colours counted, mixed from a palette, and packed by LZW."""

import numpy as np

from jellycage.toolkit.compile_kernels import njit, njit_called

MAX_CODES = 4096  # of at most 12 bits


@njit
def count_colours(pixels, out_count):
    """Add to out_count (2^24,) how often each colour red << 16 | green << 8 | blue is among the pixels (n, 3)."""
    for p in range(pixels.shape[0]):
        colour = np.int64(pixels[p, 0]) << 16 | np.int64(pixels[p, 1]) << 8 | pixels[p, 2]
        out_count[colour] += 1


@njit_called
def nearest_entry(palette, red, green, blue):
    """The palette entry (k, 3) that is nearest to a colour."""
    best, least = 0, np.inf
    for k in range(palette.shape[0]):
        r, g, b = palette[k, 0] - red, palette[k, 1] - green, palette[k, 2] - blue
        distance = r * r + g * g + b * b
        if distance < least:
            best, least = k, distance
    return best


@njit
def find_mixtures(colours, palette, out_first, out_second, out_share):
    """Two palette entries for each colour (n, 3), and the share 0..1 of the second that comes closest to it.

    The second is the entry nearest to the colour mirrored at the first, so the two lie on either side of it. A colour
    of the palette is its own mixture.
    """
    for c in range(colours.shape[0]):
        red, green, blue = colours[c, 0], colours[c, 1], colours[c, 2]
        first = nearest_entry(palette, red, green, blue)
        r, g, b = red - palette[first, 0], green - palette[first, 1], blue - palette[first, 2]
        second = nearest_entry(palette, red + r, green + g, blue + b)
        dr = palette[second, 0] - palette[first, 0]
        dg = palette[second, 1] - palette[first, 1]
        db = palette[second, 2] - palette[first, 2]
        length = dr * dr + dg * dg + db * db
        out_first[c], out_second[c] = first, second
        out_share[c] = max((r * dr + g * dg + b * db) / length, 0.0) if length > 0.0 else 0.0


@njit
def index_pixels(image, number_of, first, second, share, thresholds, out_index):
    """Palette entries (h, w) of an image (h, w, 3): where the share of the second is above the threshold, the second.

    number_of (2^24,) finds the row of a colour in first, second and share; thresholds (m, m) repeat over the image.
    """
    size = thresholds.shape[0]
    for row in range(image.shape[0]):
        for column in range(image.shape[1]):
            red, green, blue = image[row, column]
            c = number_of[np.int64(red) << 16 | np.int64(green) << 8 | blue]
            is_second = share[c] > thresholds[row % size, column % size]
            out_index[row, column] = second[c] if is_second else first[c]


@njit
def pack_lzw(indices, bits, out_bytes):
    """Write the LZW codes of indices (n,) below 2^bits and return how many bytes they take.

    The decoder learns an entry one code later than we do, so codes grow by a bit when entry 2^width has been made,
    not when it is first needed. out_bytes must have room for 2 n + 16.
    """
    clear, end = 1 << bits, (1 << bits) + 1
    child = np.full((MAX_CODES, 1 << bits), -1, np.int16)
    entry_count, width = end + 1, bits + 1
    held, held_bits, size = np.int64(clear), width, 0
    prefix = np.int64(indices[0])
    for i in range(1, indices.shape[0] + 1):
        is_last = i == indices.shape[0]
        if not is_last and child[prefix, indices[i]] >= 0:
            prefix = np.int64(child[prefix, indices[i]])
            continue
        held |= prefix << held_bits
        held_bits += width
        if not is_last:
            child[prefix, indices[i]] = entry_count
            prefix = np.int64(indices[i])
        if entry_count == 1 << width:
            width += 1
        entry_count += 1
        if entry_count == MAX_CODES:
            held |= np.int64(clear) << held_bits
            held_bits += width
            child[:] = -1
            entry_count, width = end + 1, bits + 1
        while held_bits >= 8:
            out_bytes[size] = held & 255
            held, held_bits, size = held >> 8, held_bits - 8, size + 1
    held |= np.int64(end) << held_bits
    held_bits += width
    while held_bits > 0:
        out_bytes[size] = held & 255
        held, held_bits, size = held >> 8, held_bits - 8, size + 1
    return size
