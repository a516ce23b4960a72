"""The table of contacts as it is filled: pairs of points become rows, and of rows with one normal four are left."""

import numpy as np

from jellycage.sim.contact.convex.manifold_kernels import SAME, choose_four
from jellycage.toolkit.compile_kernels import njit_called

NEAREST = 1e-9  # of the size: the nearest point is added to the others if it is nearer by more
ALIKE = 1e-6  # 1 - cosine of the angle between normals of a shape and meshes that count as one


@njit_called
def add_nearest(near, gap, size, pairs, features_a, features_b, gaps):
    """Add the nearest points if no pair is as near; returns the new count of pairs."""
    for i in range(pairs):
        if gaps[i] <= gap + NEAREST * size:
            return pairs
    for c in range(3):
        features_a[pairs, c], features_b[pairs, c] = near[0, c], near[1, c]
    gaps[pairs] = gap
    return pairs + 1


@njit_called
def put_contacts(p, a, b, s, t, n, features_a, features_b, gaps, pairs, out, count):
    """Append pairs of points, relative to body a, as contacts with a normal n; returns the new count."""
    for i in range(pairs):
        if count < out.gap.shape[0]:
            out.body[count, 0], out.body[count, 1] = a, b
            out.shape[count, 0], out.shape[count, 1] = s, t
            out.normal[count, 0], out.normal[count, 1], out.normal[count, 2] = n
            for c in range(3):
                out.point[count, 0, c] = p[a, c] + features_a[i, c]
                out.point[count, 1, c] = p[a, c] + features_b[i, c]
            out.gap[count] = gaps[i]
        count += 1
    return count


@njit_called
def swap_contacts(out, i, j):
    """Exchange two contacts of the same bodies."""
    out.shape[i, 1], out.shape[j, 1] = out.shape[j, 1], out.shape[i, 1]
    out.gap[i], out.gap[j] = out.gap[j], out.gap[i]
    for c in range(3):
        out.normal[i, c], out.normal[j, c] = out.normal[j, c], out.normal[i, c]
        for side in range(2):
            x, y = out.point[i, side, c], out.point[j, side, c]
            out.point[i, side, c], out.point[j, side, c] = y, x


@njit_called
def gather_points(begin, end, closeness, x, y, z, size, work, out):
    """Points of a run of contacts, one of those that nearly coincide: the deepest. Returns how many, four if too many.

    Column 3 of work.features_a says which contact each comes from.
    """
    a, b, gaps, pairs = work.features_a, work.features_b, work.gaps, 0
    for i in range(begin, end):
        point, row = out.point[i, 0], pairs
        for k in range(pairs):
            ux, uy, uz = point[0] - a[k, 0], point[1] - a[k, 1], point[2] - a[k, 2]
            if ux * ux + uy * uy + uz * uz < closeness * closeness:
                row = k
                break
        if row < pairs and gaps[row] <= out.gap[i]:
            continue
        if row == a.shape[0]:
            row = pairs = choose_four(a, b, gaps, pairs, x, y, z, size)
        a[row, 0], a[row, 1], a[row, 2], a[row, 3] = point[0], point[1], point[2], i
        gaps[row] = out.gap[i]
        pairs = max(pairs, row + 1)
    return pairs


@njit_called
def thin_out(first, count, size, work, out):
    """Leave four of all contacts of one shape with meshes whose normals are alike; returns the new count."""
    a, b, gaps = work.features_a, work.features_b, work.gaps
    kept, begin = first, first
    while begin < count:
        x, y, z = out.normal[begin, 0], out.normal[begin, 1], out.normal[begin, 2]
        end = begin + 1
        for i in range(begin + 1, count):
            if x * out.normal[i, 0] + y * out.normal[i, 1] + z * out.normal[i, 2] > 1.0 - ALIKE:
                swap_contacts(out, i, end)
                end += 1
        pairs = gather_points(begin, end, SAME * size, x, y, z, size, work, out)
        pairs = choose_four(a, b, gaps, pairs, x, y, z, size)
        for i in range(pairs):
            row = np.int64(a[i, 3])
            swap_contacts(out, kept, row)
            # What was at the place that is now taken lies where the other one was.
            for k in range(i + 1, pairs):
                if a[k, 3] == kept:
                    a[k, 3] = row
            kept += 1
        begin = end
    return kept
