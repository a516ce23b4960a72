"""Contacts of convex shapes with static meshes, triangle by triangle; see `mesh_kernels` for their normals."""

from jellycage.sim.contact.convex.broad_kernels import speed_of
from jellycage.sim.contact.convex.contact_table_kernels import add_nearest, put_contacts, thin_out
from jellycage.sim.contact.convex.gjk_kernels import closest_of_cores, furthest
from jellycage.sim.contact.convex.manifold_kernels import (
    ASIDE,
    SAME,
    core_feature,
    cut_features,
    drop_far,
    merge_points,
    move_to_surface,
)
from jellycage.sim.contact.convex.mesh_kernels import (
    CROSSED,
    FLATTENED,
    KEPT,
    LEFT,
    find_triangles,
    gap_along,
    part_from_triangle,
    settle_normal,
    triangle_feature,
)
from jellycage.toolkit.compile_kernels import njit_called


@njit_called
def cut_triangle(limit, shapes, s, meshes, t, side, state, gap, n, work):
    """Pairs of points of a shape and a triangle that it meets with a normal n, away from the triangle; their count.

    All of them: which four are kept is decided when the other triangles are known (`thin_out`).
    """
    x, y, z = n
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
        (-x, -y, -z),
        SAME * size,
        aside,
        work.spare,
        work.onto,
    )
    is_upright = nx * x + ny * y + nz * z > 1.0 - 1e-12
    if pairs == 0 and ((state == CROSSED and is_upright) or state == FLATTENED):
        # What is deepest does not lie over this triangle but over another.
        return 0
    pairs = merge_points(features_a, features_b, pairs, SAME * size)
    for i in range(pairs):
        move_to_surface(shapes, work.turned, s, 0.0, 0.0, 0.0, -x, -y, -z, features_a[i])
    is_all = pairs > 0 and state != KEPT
    pairs = drop_far(features_a, features_b, pairs, -x, -y, -z, limit, gaps)
    if not is_all:
        near[0, 0] -= radius * x
        near[0, 1] -= radius * y
        near[0, 2] -= radius * z
        pairs = add_nearest(near, gap, size, pairs, features_a, features_b, gaps)
    return pairs


@njit_called
def meet_triangle(p, limit, shapes, s, meshes, t, work, out, count):
    """Append the contacts of convex shape s with triangle t of the meshes; returns the new count."""
    a, triangle, near, turned = shapes.body[s], work.triangle, work.near, work.turned
    first, last = shapes.point_start[s], shapes.point_start[s + 1]
    # The triangle relative to the body, and on which side of it the middle of the core is.
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
    state = CROSSED
    if gap == 0.0:
        # It crosses the triangle: the least way out.
        gap = part_from_triangle(shapes, turned, work.normals, s, triangle, meshes, t, side, near)
        x, y, z = near[2, 0], near[2, 1], near[2, 2]
    else:
        # It is clear of it: along the way between the nearest points, if the triangle may have that normal.
        if gap - shapes.radius[s] > limit or height * side < 0.0:
            return count
        state, x, y, z = settle_normal(
            meshes, t, side, -near[2, 0] / gap, -near[2, 1] / gap, -near[2, 2] / gap
        )
        if state == LEFT:
            return count
        if state != KEPT:
            # With another normal the nearest points are others.
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
    pairs = cut_triangle(limit, shapes, s, meshes, t, side, state, gap, (x, y, z), work)
    number, a_points, b_points = -1 - meshes.number[t], work.features_a, work.features_b
    return put_contacts(
        p, a, -1, s, number, (-x, -y, -z), a_points, b_points, work.gaps, pairs, out, count
    )


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
