"""Clipping for the check, in the plane of each triangle; shares nothing with the kernels that build the cage."""

import numpy as np

from jellycage.toolkit.compile_kernels import njit


@njit
def clip_in_plane(functions, out_share, out_side):
    """Clip triangles by linear functions given at their corners, functions (k, m, 3), positive inside.

    out_share (k,): area left, as a share of the triangle; out_side (k, m): length of the side that lies on each
    function's zero line, in barycentric units (-1 if there is none).
    """
    planes = functions.shape[1]
    room = 3 + planes
    s, t, line = np.empty(room), np.empty(room), np.empty(room, np.int64)
    s2, t2, line2 = np.empty(room), np.empty(room), np.empty(room, np.int64)
    for k in range(functions.shape[0]):
        s[0], t[0], s[1], t[1], s[2], t[2] = 0.0, 0.0, 1.0, 0.0, 0.0, 1.0
        line[0], line[1], line[2] = -1, -1, -1
        size = 3
        for m in range(planes):
            f0, f1, f2 = functions[k, m, 0], functions[k, m, 1], functions[k, m, 2]
            made = 0
            for i in range(size):
                j = (i + 1) % size
                here = f0 + s[i] * (f1 - f0) + t[i] * (f2 - f0)
                there = f0 + s[j] * (f1 - f0) + t[j] * (f2 - f0)
                if here >= 0.0:
                    s2[made], t2[made], line2[made] = s[i], t[i], line[i]
                    made += 1
                if (here >= 0.0) != (there >= 0.0):
                    u = here / (here - there)
                    s2[made], t2[made] = s[i] + u * (s[j] - s[i]), t[i] + u * (t[j] - t[i])
                    line2[made] = m if here >= 0.0 else line[i]
                    made += 1
            size = made
            for i in range(size):
                s[i], t[i], line[i] = s2[i], t2[i], line2[i]
        out_share[k] = 0.0
        for m in range(planes):
            out_side[k, m] = -1.0
        for i in range(size):
            j = (i + 1) % size
            # Twice the area; the unit triangle's is 1.
            out_share[k] += s[i] * t[j] - s[j] * t[i]
            if line[i] >= 0:
                length = np.sqrt((s[j] - s[i]) ** 2 + (t[j] - t[i]) ** 2)
                out_side[k, line[i]] = max(out_side[k, line[i]], length)


@njit
def find_min_dihedrals(nodes, tets, out_cosine):
    """Cosine of the smallest dihedral angle of each tet, from the gradients of its barycentric coordinates."""
    g = np.empty((4, 3))
    for e in range(tets.shape[0]):
        a, b, c, d = nodes[tets[e, 0]], nodes[tets[e, 1]], nodes[tets[e, 2]], nodes[tets[e, 3]]
        for x in range(3):
            y, z = (x + 1) % 3, (x + 2) % 3
            # Cofactors of the edge matrix: gradients up to the common factor 1 / (6 volume).
            g[1, x] = (c[y] - a[y]) * (d[z] - a[z]) - (c[z] - a[z]) * (d[y] - a[y])
            g[2, x] = (d[y] - a[y]) * (b[z] - a[z]) - (d[z] - a[z]) * (b[y] - a[y])
            g[3, x] = (b[y] - a[y]) * (c[z] - a[z]) - (b[z] - a[z]) * (c[y] - a[y])
            g[0, x] = -g[1, x] - g[2, x] - g[3, x]
        largest = -1.0
        for i in range(4):
            for j in range(i):
                dot, ii, jj = 0.0, 0.0, 0.0
                for x in range(3):
                    dot += g[i, x] * g[j, x]
                    ii += g[i, x] * g[i, x]
                    jj += g[j, x] * g[j, x]
                largest = max(largest, -dot / np.sqrt(ii * jj))
        out_cosine[e] = largest
