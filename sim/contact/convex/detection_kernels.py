"""Contacts of rigid bodies that may be met during a step: pairs from the broad phase, a normal and points for each.

A pair gives contacts if its gap is less than the margin and what both can approach each other in the step, turning
included, so that nothing small and fast passes through something thin. Points are those of the start of the step.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.contact.convex.broad_kernels import (
    find_pairs,
    may_collide,
    speed_of,
    turn_cores,
)
from jellycage.sim.contact.convex.gjk_kernels import closest_of_cores, closest_of_segments, furthest
from jellycage.sim.contact.convex.manifold_kernels import (
    ASIDE,
    SAME,
    choose_four,
    core_feature,
    cut_features,
    drop_far,
    merge_points,
    move_to_surface,
)
from jellycage.sim.contact.convex.mesh_kernels import (
    KEPT,
    LEFT,
    LIFTED,
    find_triangles,
    gap_along,
    part_from_triangle,
    settle_normal,
    triangle_feature,
)
from jellycage.sim.contact.convex.overlap_kernels import least_overlap, part_of_lines
from jellycage.sim.maths.quaternions_kernels import rotate
from jellycage.sim.shapes.kinds_kernels import CONVEX, PLANE
from jellycage.toolkit.compile_kernels import njit, njit_called

NEAREST = 1e-9  # of the size: the nearest point is added to the others if it is nearer by more
ALIKE = 1e-6  # 1 - cosine of the angle between normals of a shape and meshes that count as one


class BodyPoses(NamedTuple):
    """Where bodies are and how they move, those that can be pushed first."""

    p: NDArray[np.float64]
    """Centres of mass [m], shape (n, 3)."""
    q: NDArray[np.float64]
    """Orientations (w, x, y, z), shape (n, 4)."""
    v: NDArray[np.float64]
    """Velocities [m/s], shape (n, 3)."""
    w: NDArray[np.float64]
    """Angular velocities in the world [rad/s], shape (n, 3)."""
    is_asleep: NDArray[np.bool_]
    """Such bodies meet only others that are awake, shape (n,)."""


@njit_called
def put_contacts(p, a, b, s, t, count, x, y, z, features_a, features_b, gaps, pairs, out):
    """Append pairs of points, relative to body a, as contacts with a normal; returns the new count."""
    for i in range(pairs):
        if count < out.gap.shape[0]:
            out.body[count, 0], out.body[count, 1] = a, b
            out.shape[count, 0], out.shape[count, 1] = s, t
            out.normal[count, 0], out.normal[count, 1], out.normal[count, 2] = x, y, z
            for c in range(3):
                out.point[count, 0, c] = p[a, c] + features_a[i, c]
                out.point[count, 1, c] = p[a, c] + features_b[i, c]
            out.gap[count] = gaps[i]
        count += 1
    return count


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
def approach_of(poses, dt, shapes, s, t):
    """How far two shapes can come nearer to each other during the step [m]."""
    v, w, a, b = poses.v, poses.w, shapes.body[s], shapes.body[t]
    x, y, z = v[a, 0] - v[b, 0], v[a, 1] - v[b, 1], v[a, 2] - v[b, 2]
    spin = speed_of(w[a]) * shapes.reach[s] + speed_of(w[b]) * shapes.reach[t]
    return (np.sqrt(x * x + y * y + z * z) + spin) * dt


@njit_called
def meet_cores(shapes, work, s, t, ox, oy, oz):
    """Gap of two cores [m]; work.near gets the points on both, relative to body a, and the unit normal."""
    turned, near = work.turned, work.near
    a0, a1, b0, b1 = (
        shapes.point_start[s],
        shapes.point_start[s + 1],
        shapes.point_start[t],
        shapes.point_start[t + 1],
    )
    if a1 - a0 <= 2 and b1 - b0 <= 2:
        gap = closest_of_segments(turned, a0, a1, turned, b0, b1, ox, oy, oz, near)
        if gap <= 1e-12 * (shapes.reach[s] + shapes.reach[t]):
            part_of_lines(turned, a0, a1, turned, b0, b1, ox, oy, oz, near)
            return gap
        for c in range(3):
            near[2, c] = (near[1, c] - near[0, c]) / gap
        return gap
    gap = closest_of_cores(turned, a0, a1, turned, b0, b1, ox, oy, oz, work.simplex, near)
    if gap == 0.0:
        return least_overlap(shapes, turned, work.normals, s, t, ox, oy, oz, near)
    # Unit length to the last digit.
    length = speed_of(near[2])
    for c in range(3):
        near[2, c] /= length
    return gap


@njit_called
def meet_shapes(poses, dt, margin, shapes, s, t, work, out, count):
    """Append the contacts of two convex shapes; returns the new count."""
    p, a, b = poses.p, shapes.body[s], shapes.body[t]
    ox, oy, oz = p[b, 0] - p[a, 0], p[b, 1] - p[a, 1], p[b, 2] - p[a, 2]
    near, features_a, features_b, gaps = work.near, work.features_a, work.features_b, work.gaps
    limit = margin + approach_of(poses, dt, shapes, s, t)
    radii = shapes.radius[s] + shapes.radius[t]
    gap = meet_cores(shapes, work, s, t, ox, oy, oz) - radii
    if gap > limit:
        return count
    x, y, z = near[2, 0], near[2, 1], near[2, 2]
    for c in range(3):
        near[0, c] += shapes.radius[s] * near[2, c]
        near[1, c] -= shapes.radius[t] * near[2, c]
    size = min(shapes.reach[s], shapes.reach[t])
    pairs = 0
    if (
        shapes.point_start[s + 1] > shapes.point_start[s] + 1
        and shapes.point_start[t + 1] > shapes.point_start[t] + 1
    ):
        a_count = core_feature(
            shapes, work.turned, work.normals, s, 0.0, 0.0, 0.0, x, y, z, features_a
        )
        b_count = core_feature(
            shapes, work.turned, work.normals, t, ox, oy, oz, -x, -y, -z, features_b
        )
        aside = ASIDE * radii + 1e-4 * size
        pairs = cut_features(
            features_a,
            a_count,
            features_b,
            b_count,
            x,
            y,
            z,
            SAME * size,
            aside,
            work.spare,
            work.onto,
        )
        pairs = merge_points(features_a, features_b, pairs, SAME * size)
        for i in range(pairs):
            move_to_surface(shapes, work.turned, s, 0.0, 0.0, 0.0, x, y, z, features_a[i])
            move_to_surface(shapes, work.turned, t, ox, oy, oz, -x, -y, -z, features_b[i])
        pairs = drop_far(features_a, features_b, pairs, x, y, z, limit, gaps)
    pairs = add_nearest(near, gap, size, pairs, features_a, features_b, gaps)
    pairs = choose_four(features_a, features_b, gaps, pairs, x, y, z, size)
    return put_contacts(p, a, b, s, t, count, x, y, z, features_a, features_b, gaps, pairs, out)


@njit_called
def meet_plane(poses, dt, margin, shapes, s, t, work, out, count):
    """Append the contacts of convex shape s with plane t; returns the new count."""
    p, q, w = poses.p, poses.q, poses.w
    a, b = shapes.body[s], shapes.body[t]
    near, features_a, features_b, gaps = work.near, work.features_a, work.features_b, work.gaps
    near[0, 0], near[0, 1], near[0, 2] = 0.0, 0.0, 1.0
    rotate(q[b], near[0], near[2])
    # The normal runs from the shape into the plane.
    x, y, z = -near[2, 0], -near[2, 1], -near[2, 2]
    rx, ry, rz = p[a, 0] - p[b, 0], p[a, 1] - p[b, 1], p[a, 2] - p[b, 2]
    height = -(x * rx + y * ry + z * rz)
    first, last = shapes.point_start[s], shapes.point_start[s + 1]
    i = furthest(work.turned, first, last, x, y, z)
    reached = x * work.turned[i, 0] + y * work.turned[i, 1] + z * work.turned[i, 2]
    gap = height - reached - shapes.radius[s]
    arm = np.sqrt(rx * rx + ry * ry + rz * rz) + shapes.reach[s]
    limit = margin + approach_of(poses, dt, shapes, s, t) + speed_of(w[b]) * arm * dt
    if gap > limit:
        return count
    pairs = core_feature(shapes, work.turned, work.normals, s, 0.0, 0.0, 0.0, x, y, z, features_a)
    for k in range(pairs):
        move_to_surface(shapes, work.turned, s, 0.0, 0.0, 0.0, x, y, z, features_a[k])
        put_below(features_a, k, height, x, y, z, features_b)
    pairs = drop_far(features_a, features_b, pairs, x, y, z, limit, gaps)
    for c in range(3):
        near[0, c] = work.turned[i, c] - shapes.radius[s] * near[2, c]
    put_below(near, 0, height, x, y, z, work.onto)
    for c in range(3):
        near[1, c] = work.onto[0, c]
    pairs = add_nearest(near, gap, shapes.reach[s], pairs, features_a, features_b, gaps)
    pairs = choose_four(features_a, features_b, gaps, pairs, x, y, z, shapes.reach[s])
    return put_contacts(p, a, b, s, t, count, x, y, z, features_a, features_b, gaps, pairs, out)


@njit_called
def put_below(points, i, height, x, y, z, out):
    """The place on a plane, `height` along a direction from the origin, that is straight along it from a point."""
    way = height - (x * points[i, 0] + y * points[i, 1] + z * points[i, 2])
    out[i, 0], out[i, 1], out[i, 2] = (
        points[i, 0] + way * x,
        points[i, 1] + way * y,
        points[i, 2] + way * z,
    )


@njit_called
def meet_triangle(p, limit, shapes, s, meshes, t, work, out, count):
    """Append the contacts of convex shape s with triangle t of the meshes; returns the new count."""
    a, triangle, near, turned = shapes.body[s], work.triangle, work.near, work.turned
    first, last = shapes.point_start[s], shapes.point_start[s + 1]
    height = 0.0
    for c in range(3):
        middle = 0.0
        for i in range(first, last):
            middle += turned[i, c]
        for i in range(3):
            triangle[i, c] = meshes.corners[t, i, c] - p[a, c]
        height += meshes.normals[t, c] * (middle / (last - first) - triangle[0, c])
    side = 1.0 if height >= 0.0 or meshes.is_solid[t] else -1.0
    gap = closest_of_cores(turned, first, last, triangle, 0, 3, 0.0, 0.0, 0.0, work.simplex, near)
    is_crossing, state = gap == 0.0, KEPT
    if is_crossing:
        gap = part_from_triangle(shapes, turned, work.normals, s, triangle, meshes, t, side, near)
        x, y, z = near[2, 0], near[2, 1], near[2, 2]
    else:
        if gap - shapes.radius[s] > limit or height * side < 0.0:
            return count
        state, x, y, z = settle_normal(
            meshes, t, side, -near[2, 0] / gap, -near[2, 1] / gap, -near[2, 2] / gap
        )
        if state == LEFT:
            return count
        if state != KEPT:
            gap = gap_along(turned, first, last, triangle, x, y, z)
            i = furthest(turned, first, last, -x, -y, -z)
            for c in range(3):
                near[0, c] = turned[i, c]
            near[1, 0], near[1, 1], near[1, 2] = (
                near[0, 0] - gap * x,
                near[0, 1] - gap * y,
                near[0, 2] - gap * z,
            )
            if gap < 0.0:
                return count
    gap -= shapes.radius[s]
    if gap > limit:
        return count
    return put_triangle(
        p, limit, shapes, s, meshes, t, side, is_crossing, state, gap, x, y, z, work, out, count
    )


@njit_called
def put_triangle(
    p, limit, shapes, s, meshes, t, side, is_crossing, state, gap, x, y, z, work, out, count
):
    """Append the points of a shape and a triangle that it meets with a normal (x, y, z), away from the triangle.

    All of them: which four are kept is decided when the other triangles are known (`thin_out`).
    """
    near, features_a, features_b, gaps = work.near, work.features_a, work.features_b, work.gaps
    nx, ny, nz = (
        side * meshes.normals[t, 0],
        side * meshes.normals[t, 1],
        side * meshes.normals[t, 2],
    )
    a_count = core_feature(
        shapes, work.turned, work.normals, s, 0.0, 0.0, 0.0, -x, -y, -z, features_a
    )
    b_count = triangle_feature(work.triangle, side, nx, ny, nz, x, y, z, features_b)
    radius, size = shapes.radius[s], shapes.reach[s]
    aside = ASIDE * radius + 1e-4 * size
    pairs = cut_features(
        features_a,
        a_count,
        features_b,
        b_count,
        -x,
        -y,
        -z,
        SAME * size,
        aside,
        work.spare,
        work.onto,
    )
    is_upright = nx * x + ny * y + nz * z > 1.0 - 1e-12
    if pairs == 0 and ((is_crossing and is_upright) or (state != KEPT and state != LIFTED)):
        # What is deepest does not lie over this triangle but over another.
        return count
    pairs = merge_points(features_a, features_b, pairs, SAME * size)
    for i in range(pairs):
        move_to_surface(shapes, work.turned, s, 0.0, 0.0, 0.0, -x, -y, -z, features_a[i])
    is_all = pairs > 0 and (is_crossing or state != KEPT)
    pairs = drop_far(features_a, features_b, pairs, -x, -y, -z, limit, gaps)
    if not is_all:
        near[0, 0] -= radius * x
        near[0, 1] -= radius * y
        near[0, 2] -= radius * z
        pairs = add_nearest(near, gap, size, pairs, features_a, features_b, gaps)
    a, number = shapes.body[s], -1 - meshes.number[t]
    return put_contacts(
        p, a, -1, s, number, count, -x, -y, -z, features_a, features_b, gaps, pairs, out
    )


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


@njit_called
def meet_meshes(poses, dt, margin, shapes, s, meshes, work, out, count):
    """Append the contacts of convex shape s with all meshes; returns the new count."""
    p, v, w, body = poses.p, poses.v, poses.w, shapes.body[s]
    found = find_triangles(meshes, work.low[s], work.high[s], work.stack, work.triangles)
    limit = margin + (speed_of(v[body]) + speed_of(w[body]) * shapes.reach[s]) * dt
    first = count
    for i in range(found):
        count = meet_triangle(p, limit, shapes, s, meshes, work.triangles[i], work, out, count)
    if count > out.gap.shape[0]:
        return count
    return thin_out(first, count, shapes.reach[s], work, out)


@njit
def find_contacts(poses, dt, margin, dynamic_count, excluded, shapes, meshes, work, out):
    """Contacts that bodies may meet during a step of dt [s], into out; returns their count.

    poses: `BodyPoses` of all n bodies. From dynamic_count on they are surroundings, which do not meet each other.
    excluded: sorted numbers a n + b of bodies a < b that never meet.
    More than fit into out, or -1 if there are more pairs than fit into work: `grown` makes room, then call again.
    """
    turn_cores(poses.q, shapes, work.turned, work.normals)
    pairs = find_pairs(poses, dt, margin, dynamic_count, excluded, shapes, work)
    work.needed[0] = pairs
    if pairs > work.pairs.shape[0]:
        return -1
    count = 0
    for i in range(pairs):
        s, t = work.pairs[i, 0], work.pairs[i, 1]
        count = meet_shapes(poses, dt, margin, shapes, s, t, work, out, count)
    body_count, shape_count = poses.p.shape[0], shapes.body.shape[0]
    for t in range(shape_count):
        if shapes.kind[t] != PLANE:
            continue
        for s in range(shape_count):
            if shapes.kind[s] == CONVEX and may_collide(
                shapes.body[s], shapes.body[t], body_count, dynamic_count, poses.is_asleep, excluded
            ):
                count = meet_plane(poses, dt, margin, shapes, s, t, work, out, count)
    if meshes.corners.shape[0] > 0:
        for s in range(shape_count):
            a = shapes.body[s]
            if shapes.kind[s] == CONVEX and a < dynamic_count and not poses.is_asleep[a]:
                count = meet_meshes(poses, dt, margin, shapes, s, meshes, work, out, count)
    work.needed[1] = count
    return count
