"""Rows of smooth weights: what is near a point inside the cage, how much it counts, and the weights that follow.

A source is what has a say at a point: a node (moving least squares) or the centre of an element (Gaussian).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jellycage.toolkit.compile_kernels import njit, njit_called
from jellycage.toolkit.geometry_kernels import sort_with

STRAIGHT, DETOUR = 2.0, 2.3
"""A way through the cage up to the first number of times as long as the straight one counts fully, from the second
on not at all. Ways in a whole part of a fitted cage are up to 1.93 times as long."""
STEADY = 1e-10
"""Added to the squares of the coordinates, so that equations can be solved where all nodes lie in one plane."""


class CageArrays(NamedTuple):
    """What both methods need to know of a cage."""

    nodes: NDArray[np.float64]
    elements: NDArray[np.int64]
    centres: NDArray[np.float64]
    radius: NDArray[np.float64]
    """Of a ball about its centre that holds each element, shape (e,)."""
    gradients: NDArray[np.float64]
    """Of the weights of its corners at the centre of each element, shape (e, corners, 3)."""


class Ways(NamedTuple):
    """The ways through the cage from nodes to those near them, CSR over nodes; see `find_ways`."""

    start: NDArray[np.int64]
    node: NDArray[np.int32]
    length: NDArray[np.float64]


class Sources(NamedTuple):
    """What may have a say at a point, and how its weight falls off."""

    at_start: NDArray[np.int64]
    at: NDArray[np.int64]
    """The sources at each node, CSR over nodes."""
    nodes: NDArray[np.int64]
    """The nodes of each source, of which the least open one counts, shape (s, k)."""
    centres: NDArray[np.float64]
    reach: NDArray[np.float64]
    sharpness: float
    power: int
    """See `find_sources`."""


@njit
def find_ways(nodes, is_wanted, link_start, links, reach, size, out_start, out_node, out_length):
    """From every node a that is wanted the nodes i with |x_i - x_a| <= reach_i + size_a that links among these lead to.

    out_start (n+1,), out_node, out_length: CSR rows of those nodes and of the shortest ways to them; returns how many
    entries there are (stores those that fit).
    """
    found, count = 0, nodes.shape[0]
    is_waiting = np.zeros(count, np.bool_)
    touched, queue = np.empty(count, np.int64), np.empty(count, np.int64)
    way = np.full(count, np.inf)
    for a in range(count):
        out_start[a] = found
        if not is_wanted[a]:
            continue
        # Bellman and Ford with a queue in a ring: nodes whose way became shorter wait to pass it on.
        way[a], touched[0], queue[0] = 0.0, a, a
        touched_count, head, waiting = 1, 0, 1
        while waiting > 0:
            i = queue[head]
            head = head + 1 if head + 1 < count else 0
            waiting -= 1
            is_waiting[i] = False
            for k in range(link_start[i], link_start[i + 1]):
                j = links[k]
                if distance(nodes[j], nodes[a]) > reach[j] + size[a]:
                    continue
                length = way[i] + distance(nodes[i], nodes[j])
                if length >= way[j]:
                    continue
                if way[j] == np.inf:
                    touched[touched_count] = j
                    touched_count += 1
                way[j] = length
                if not is_waiting[j]:
                    is_waiting[j] = True
                    tail = head + waiting
                    queue[tail if tail < count else tail - count] = j
                    waiting += 1
        # Every node that was reached is an entry; the ways are reset for the next start.
        for k in range(touched_count):
            i = touched[k]
            if found < out_node.shape[0]:
                out_node[found], out_length[found] = i, way[i]
            found += 1
            way[i] = np.inf
    out_start[count] = found
    return found


@njit_called
def distance(a, b):
    """Distance of two points."""
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return np.sqrt(x * x + y * y + z * z)


@njit_called
def openness(way, straight):
    """1 where the way through the cage is about straight, 0 where it is a detour, smooth between."""
    if way <= STRAIGHT * straight:
        return 1.0
    if way >= DETOUR * straight:
        return 0.0
    t = (DETOUR - way / straight) / (DETOUR - STRAIGHT)
    return t * t * (3.0 - 2.0 * t)


@njit
def find_sources(
    points, element, weights, order, cage, ways, sources, out_start, out_source, out_weight
):
    """The sources near every point and their weights exp(-sharpness q^2) (1 - q^2)^power openness, q = |X - c| / reach.

    The openness of a source is known at the nodes and interpolated with the point's own weights (n, corners), so that
    nothing jumps where the point passes into the next element. order: the points, those of an element together.

    Rows come in the order of `order`: out_start (n+1,). Returns how many entries there are (stores those that fit).
    """
    centres, reach = sources.centres, sources.reach
    corners, source_count = cage.elements.shape[1], centres.shape[0]
    node_open = np.zeros((cage.nodes.shape[0], corners))
    source_open = np.empty((source_count, corners))
    is_near = np.zeros(source_count, np.bool_)
    near, spare = np.empty(source_count, np.int64), np.empty(source_count, np.int64)
    near_count, last, found = 0, -1, 0
    for row in range(order.shape[0]):
        v = order[row]
        # Points of one element feel the same sources, which are gathered once.
        if element[v] != last:
            last = element[v]
            near_count = gather(
                last, cage, ways, sources, node_open, source_open, is_near, near, spare
            )
        out_start[row] = found
        for k in range(near_count):
            s = near[k]
            x, y, z = (
                points[v, 0] - centres[s, 0],
                points[v, 1] - centres[s, 1],
                points[v, 2] - centres[s, 2],
            )
            d2, reach2 = x * x + y * y + z * z, reach[s] * reach[s]
            if d2 >= reach2:
                continue
            # How open the source is to this point, then the kernel of the distance.
            q2, weight = d2 / reach2, 0.0
            for c in range(corners):
                weight += weights[v, c] * source_open[s, c]
            for _ in range(sources.power):
                weight *= 1.0 - q2
            weight *= np.exp(-sources.sharpness * q2)
            if weight <= 0.0:
                continue
            if found < out_source.shape[0]:
                out_source[found], out_weight[found] = s, weight
            found += 1
    out_start[order.shape[0]] = found
    return found


@njit_called
def gather(e, cage, ways, sources, node_open, out_open, is_near, out_near, spare):
    """The sources that a point in element e may feel, ascending, and their openness at its corners.

    node_open (n, corners), full of 0, and is_near (sources,), full of False, are room to work in, left as they were.
    Returns how many sources there are.
    """
    nodes, corners, middle, radius = cage.nodes, cage.elements[e], cage.centres[e], cage.radius[e]
    way_start, way_node, way_length = ways.start, ways.node, ways.length
    centres, reach, source_nodes = sources.centres, sources.reach, sources.nodes
    count = 0
    for c in range(corners.shape[0]):
        a = corners[c]
        for k in range(way_start[a], way_start[a + 1]):
            i = way_node[k]
            node_open[i, c] = openness(way_length[k], distance(nodes[a], nodes[i]))
            for n in range(sources.at_start[i], sources.at_start[i + 1]):
                s = sources.at[n]
                if not is_near[s] and distance(middle, centres[s]) < reach[s] + radius:
                    is_near[s] = True
                    out_near[count] = spare[count] = s
                    count += 1
    sort_with(out_near, spare, count)
    for k in range(count):
        s = out_near[k]
        is_near[s] = False
        for c in range(corners.shape[0]):
            out_open[s, c] = 1.0
            for n in range(source_nodes.shape[1]):
                out_open[s, c] = min(out_open[s, c], node_open[source_nodes[s, n], c])
    for c in range(corners.shape[0]):
        for k in range(way_start[corners[c]], way_start[corners[c] + 1]):
            node_open[way_node[k], c] = 0.0
    return count


@njit
def fit_least_squares(points, element, order, cage, start, node, reach, out_weight):
    """From weights w to those of the linear polynomial that fits best at each point, in place.

    phi_i = w_i p_i . A^-1 (1, 0, 0, 0) with p_i = (1, (x_i - X) / h) and A = sum w_i p_i p_i^T. What rounding and nodes
    in one plane leave wrong in the first moment is put right by the point's own element, see `gradients`.
    """
    nodes, elements, gradients = cage.nodes, cage.elements, cage.gradients
    a, b = np.empty((4, 4)), np.empty(4)
    for row in range(order.shape[0]):
        v, first, end = order[row], start[row], start[row + 1]
        # A, of which the lower half is enough.
        h = 0.0
        for k in range(first, end):
            h = max(h, reach[node[k]])
        for i in range(4):
            for j in range(4):
                a[i, j] = 0.0
        for k in range(first, end):
            x = (nodes[node[k], 0] - points[v, 0]) / h
            y = (nodes[node[k], 1] - points[v, 1]) / h
            z = (nodes[node[k], 2] - points[v, 2]) / h
            w = out_weight[k]
            a[0, 0] += w
            a[1, 0] += w * x
            a[2, 0] += w * y
            a[3, 0] += w * z
            a[1, 1] += w * x * x
            a[2, 1] += w * x * y
            a[3, 1] += w * x * z
            a[2, 2] += w * y * y
            a[3, 2] += w * y * z
            a[3, 3] += w * z * z
        for i in range(1, 4):
            a[i, i] += STEADY * a[0, 0]
        solve_for_first(a, b)
        # phi, made to sum to 1, and what is left of the first moment.
        total = 0.0
        for k in range(first, end):
            i = node[k]
            x = (nodes[i, 0] - points[v, 0]) / h
            y = (nodes[i, 1] - points[v, 1]) / h
            z = (nodes[i, 2] - points[v, 2]) / h
            out_weight[k] *= b[0] + b[1] * x + b[2] * y + b[3] * z
            total += out_weight[k]
        ex, ey, ez = 0.0, 0.0, 0.0
        for k in range(first, end):
            i = node[k]
            out_weight[k] /= total
            ex += out_weight[k] * (points[v, 0] - nodes[i, 0])
            ey += out_weight[k] * (points[v, 1] - nodes[i, 1])
            ez += out_weight[k] * (points[v, 2] - nodes[i, 2])
        # An affine map of the point's own element takes that away.
        e = element[v]
        for k in range(first, end):
            for c in range(elements.shape[1]):
                if elements[e, c] == node[k]:
                    g = gradients[e, c]
                    out_weight[k] += g[0] * ex + g[1] * ey + g[2] * ez


@njit_called
def solve_for_first(a, out_b):
    """Solve a b = (1, 0, 0, 0) for a symmetric positive matrix (4, 4), of which the lower half is given and used up."""
    for i in range(4):
        for j in range(i + 1):
            total = a[i, j]
            for k in range(j):
                total -= a[i, k] * a[j, k]
            a[i, j] = np.sqrt(total) if i == j else total / a[j, j]
    for i in range(4):
        total = 1.0 if i == 0 else 0.0
        for k in range(i):
            total -= a[i, k] * out_b[k]
        out_b[i] = total / a[i, i]
    for i in range(3, -1, -1):
        total = out_b[i]
        for k in range(i + 1, 4):
            total -= a[k, i] * out_b[k]
        out_b[i] = total / a[i, i]


@njit
def blend_elements(points, order, cage, start, source, weight, out_start, out_node, out_weight):
    """From weights of elements to those of nodes: the normalised sum of the affine maps of the elements at each point.

    Rows come in the order of `order`. Returns how many entries there are (stores those that fit).
    """
    elements, centres, gradients = cage.elements, cage.centres, cage.gradients
    corners = elements.shape[1]
    node_count = 0
    for e in range(elements.shape[0]):
        for c in range(corners):
            node_count = max(node_count, elements[e, c] + 1)
    sums, is_in = np.zeros(node_count), np.zeros(node_count, np.bool_)
    near, spare = np.empty(node_count, np.int64), np.empty(node_count, np.int64)
    found = 0
    for row in range(order.shape[0]):
        v, near_count, total = order[row], 0, 0.0
        for k in range(start[row], start[row + 1]):
            total += weight[k]
        # Weight of corner c in the affine map of element e at the point: 1 / corners + g_c . (X - centre).
        for k in range(start[row], start[row + 1]):
            e, share = source[k], weight[k] / total
            x, y, z = (
                points[v, 0] - centres[e, 0],
                points[v, 1] - centres[e, 1],
                points[v, 2] - centres[e, 2],
            )
            for c in range(corners):
                i = elements[e, c]
                if not is_in[i]:
                    is_in[i] = True
                    near[near_count] = spare[near_count] = i
                    near_count += 1
                g = gradients[e, c]
                sums[i] += share * (1.0 / corners + g[0] * x + g[1] * y + g[2] * z)
        # In the order of the nodes, whatever the order of the elements was.
        sort_with(near, spare, near_count)
        out_start[row] = found
        for k in range(near_count):
            i = near[k]
            if found < out_node.shape[0]:
                out_node[found], out_weight[found] = i, sums[i]
            found += 1
            sums[i], is_in[i] = 0.0, False
    out_start[order.shape[0]] = found
    return found
