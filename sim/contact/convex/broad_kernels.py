"""Which shapes may touch during a step: bounds swept over the step, sorted along one axis and pruned."""

import numpy as np

from jellycage.sim.maths.quaternions_kernels import rotate
from jellycage.sim.shapes.kinds_kernels import CONVEX
from jellycage.toolkit.compile_kernels import njit_called
from jellycage.toolkit.union_kernels import find_sorted


@njit_called
def turn_cores(q, shapes, out_turned, out_normals):
    """Points and normals of all cores turned into the world, still relative to their bodies."""
    for s in range(shapes.body.shape[0]):
        turn = q[shapes.body[s]]
        for i in range(shapes.point_start[s], shapes.point_start[s + 1]):
            rotate(turn, shapes.points[i], out_turned[i])
        for f in range(shapes.face_start[s], shapes.face_start[s + 1]):
            rotate(turn, shapes.normals[f], out_normals[f])


@njit_called
def speed_of(v):
    """Length of a vector."""
    return np.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])


@njit_called
def sweep_bounds(poses, dt, margin, shapes, turned, out_low, out_high):
    """Bounds of every convex shape over the step, grown by the margin [m]."""
    p, v, w = poses.p, poses.v, poses.w
    for s in range(shapes.body.shape[0]):
        body = shapes.body[s]
        spin = speed_of(w[body]) * shapes.reach[s] * dt
        first, last = shapes.point_start[s], shapes.point_start[s + 1]
        for c in range(3):
            low = high = turned[first, c] if last > first else 0.0
            for i in range(first + 1, last):
                low, high = min(low, turned[i, c]), max(high, turned[i, c])
            grown, way = shapes.radius[s] + margin + spin, v[body, c] * dt
            out_low[s, c] = p[body, c] + low - grown + min(way, 0.0)
            out_high[s, c] = p[body, c] + high + grown + max(way, 0.0)


@njit_called
def widest_axis(low, high):
    """The axis along which the shapes are spread most."""
    best, most = 0, -1.0
    count = low.shape[0]
    for c in range(3):
        mean = square = 0.0
        origin = low[0, c] + high[0, c] if count > 0 else 0.0
        for s in range(count):
            x = low[s, c] + high[s, c] - origin
            mean += x
            square += x * x
        spread = square - mean * mean / max(count, 1)
        if spread > most:
            best, most = c, spread
    return best


@njit_called
def sort_along(low, axis, order):
    """Sort shapes by where their bounds begin, then by number, from the order of the last step."""
    count = order.shape[0]
    gap = 1
    while 3 * gap + 1 < count:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            s = order[i]
            key = low[s, axis]
            j = i
            while j >= gap:
                t = order[j - gap]
                if low[t, axis] < key or (low[t, axis] == key and t < s):
                    break
                order[j] = t
                j -= gap
            order[j] = s
        gap //= 3


@njit_called
def may_collide(a, b, body_count, dynamic_count, is_asleep, excluded):
    """Whether two different bodies can touch at all: one of them moves, and they are not joined."""
    if a == b:
        return False
    is_still_a = a >= dynamic_count or is_asleep[a]
    is_still_b = b >= dynamic_count or is_asleep[b]
    if is_still_a and is_still_b:
        return False
    return find_sorted(excluded, min(a, b) * body_count + max(a, b)) < 0


@njit_called
def sweep_pairs(poses, dynamic_count, excluded, shapes, work, out):
    """Pairs of convex shapes whose bounds meet, the smaller number first; returns how many, perhaps more than fit."""
    low, high, order = work.low, work.high, work.order
    body_count, is_asleep = poses.p.shape[0], poses.is_asleep
    axis = widest_axis(low, high)
    sort_along(low, axis, order)
    y, z = (axis + 1) % 3, (axis + 2) % 3
    count = 0
    for i in range(order.shape[0]):
        s = order[i]
        if shapes.kind[s] != CONVEX:
            continue
        end, a = high[s, axis], shapes.body[s]
        low_y, high_y, low_z, high_z = low[s, y], high[s, y], low[s, z], high[s, z]
        for j in range(i + 1, order.shape[0]):
            t = order[j]
            if low[t, axis] > end:
                break
            if low[t, y] > high_y or high[t, y] < low_y or low[t, z] > high_z or high[t, z] < low_z:
                continue
            if shapes.kind[t] != CONVEX:
                continue
            b = shapes.body[t]
            if not may_collide(a, b, body_count, dynamic_count, is_asleep, excluded):
                continue
            if count < out.shape[0]:
                out[count, 0], out[count, 1] = min(s, t), max(s, t)
            count += 1
    return count


@njit_called
def sort_pairs(found, count, start, out_pairs):
    """Put pairs in order: by counting their first numbers, then by inserting the second ones."""
    for s in range(start.shape[0]):
        start[s] = 0
    for i in range(count):
        start[found[i, 0] + 1] += 1
    for s in range(start.shape[0] - 1):
        start[s + 1] += start[s]
    for i in range(count):
        s = found[i, 0]
        out_pairs[start[s], 0], out_pairs[start[s], 1] = s, found[i, 1]
        start[s] += 1
    begin = 0
    for s in range(start.shape[0]):
        # By now start[s] is where s ends.
        for i in range(begin + 1, start[s]):
            t, row = out_pairs[i, 1], i
            while row > begin and out_pairs[row - 1, 1] > t:
                out_pairs[row, 1] = out_pairs[row - 1, 1]
                row -= 1
            out_pairs[row, 1] = t
        begin = start[s]


@njit_called
def find_pairs(poses, dt, margin, dynamic_count, excluded, shapes, work):
    """Pairs of convex shapes that may touch during the step, in order; returns how many, perhaps more than fit."""
    sweep_bounds(poses, dt, margin, shapes, work.turned, work.low, work.high)
    count = sweep_pairs(poses, dynamic_count, excluded, shapes, work, work.found)
    if count <= work.pairs.shape[0]:
        sort_pairs(work.found, count, work.pair_start, work.pairs)
    return count
