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
from jellycage.sim.contact.convex.contact_table_kernels import add_nearest, put_contacts
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
from jellycage.sim.contact.convex.mesh_contacts_kernels import meet_meshes
from jellycage.sim.contact.convex.overlap_kernels import least_overlap, part_of_lines
from jellycage.sim.maths.quaternions_kernels import rotate
from jellycage.sim.shapes.kinds_kernels import CONVEX, PLANE
from jellycage.toolkit.compile_kernels import njit_borrowing, njit_called


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
    # Normal and gap from the cores; the radii around them come off.
    limit = margin + approach_of(poses, dt, shapes, s, t)
    radii = shapes.radius[s] + shapes.radius[t]
    gap = meet_cores(shapes, work, s, t, ox, oy, oz) - radii
    if gap > limit:
        return count
    x, y, z = near[2, 0], near[2, 1], near[2, 2]
    for c in range(3):
        near[0, c] += shapes.radius[s] * near[2, c]
        near[1, c] -= shapes.radius[t] * near[2, c]
    # Unless one of them is a ball, there may be more points than the nearest: features cut with each other.
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
            (x, y, z),
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
    return put_contacts(p, a, b, s, t, (x, y, z), features_a, features_b, gaps, pairs, out, count)


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
    return put_contacts(p, a, b, s, t, (x, y, z), features_a, features_b, gaps, pairs, out, count)


@njit_borrowing
def find_contacts(poses, dt, margin, dynamic_count, excluded, shapes, meshes, work, out):
    """Contacts that bodies may meet during a step of dt [s], into out; returns their count.

    poses: `BodyPoses` of all n bodies. From dynamic_count on they are surroundings, which do not meet each other.
    excluded: sorted numbers a n + b of bodies a < b that never meet.
    More than fit into out, or -1 if there are more pairs than fit into work: `grown` makes room, then call again.
    """
    # Borrowing, since whoever compiles it first, Detector or a world, compiles it for both.
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
