"""Rays against a posed surface: down the 14-DOPs to tets, then in the space of weights of each tet down its trees.

A triangle is tested in the world, sheared along the ray: Woop, Benthin, Wald 2013, "Watertight Ray/Triangle
Intersection". Signs of the three areas are exact for the sheared corners, and ties are decided as if the ray had been
moved by an infinitesimal, so a ray through an edge or a corner hits one of the triangles there, or as many as it
would beside it. Bounds are widened by more than the rounding of that test, so none of its hits is lost.

Where a tet is too flat for weights to mean much its bounds are taken in the world.
"""

import numpy as np

from jellycage.toolkit.collision.bounds_kernels import high_bound, low_bound
from jellycage.toolkit.collision.kdop_kernels import AXES, AXIS_COUNT
from jellycage.toolkit.collision.predicates_kernels import product_error, sum_error
from jellycage.toolkit.compile_kernels import njit_called, njit_inside

ROUNDING = 1e-14
"""Error of slab tests and of sheared corners over the sizes that enter (about 90 units)."""
WEIGHT_ROUNDING = 1e-13
"""Error of weights over the square of a tet's condition."""
FLAT = 0.01
"""Weights with a greater error than this are of no use."""
CLEAR = 1e-4
"""An area below this, over the products that it is the difference of, is taken with twice the digits."""
SLACK = 1e-10
"""Error of distances over the extent of the body."""
STEEP = 1e290  # instead of 1 / 0


@njit_called
def close_area(bx, by, cx, cy, left, right):
    """left - right = bx cy - by cx with twice the digits; the smallest number of the right sign instead of 0."""
    left_rest, right_rest = product_error(bx, cy, left), product_error(by, cx, right)
    high = left - right  # exact, since they are close
    rest = left_rest - right_rest
    low = sum_error(left_rest, -right_rest, rest)
    total = high + rest
    area = total + (sum_error(high, rest, total) + low)
    if area != 0.0:
        return area
    # Ties: the ray is moved a little along x, and less along y.
    if by != cy:
        return 5e-324 if by > cy else -5e-324
    if bx != cx:
        return 5e-324 if cx > bx else -5e-324
    return 0.0


@njit_inside
def area_about(bx, by, cx, cy):
    """Twice the area of the triangle from the origin to b and c: never 0 unless b = c."""
    left, right = bx * cy, by * cx
    area = left - right
    if abs(area) > CLEAR * (abs(left) + abs(right)):
        return area
    return close_area(bx, by, cx, cy, left, right)


@njit_inside
def hit_sheared(ax, ay, az, bx, by, bz, cx, cy, cz):
    """(z, u, v, w): where the z axis meets a triangle, -inf if it does not, and the weights of corners there."""
    u, u_size = bx * cy - by * cx, abs(bx * cy) + abs(by * cx)
    v, v_size = cx * ay - cy * ax, abs(cx * ay) + abs(cy * ax)
    w, w_size = ax * by - ay * bx, abs(ax * by) + abs(ay * bx)
    # Without early exits, about which a processor could only guess.
    if not ((abs(u) > CLEAR * u_size) & (abs(v) > CLEAR * v_size) & (abs(w) > CLEAR * w_size)):
        u, v, w = area_about(bx, by, cx, cy), area_about(cx, cy, ax, ay), area_about(ax, ay, bx, by)
    is_hit = ((u > 0.0) == (w > 0.0)) & ((v > 0.0) == (w > 0.0))
    if not (is_hit & (u != 0.0) & (v != 0.0) & (w != 0.0)):
        return -np.inf, u, v, w
    scale = 1.0 / (u + v + w)
    u, v, w = u * scale, v * scale, w * scale
    return u * az + v * bz + w * cz, u, v, w


@njit_inside
def hit_triangle(vertices, i, j, k, ray, axes):
    """(t, u, v, w): parameter at which a ray hits a triangle, not in 0..inf if it does not, and weights of corners.

    axes: the longest of the ray last; ray: origin, shears along the other two, 1 / direction along it, ...
    """
    x, y, z = axes[0], axes[1], axes[2]
    ox, oy, oz = ray[x], ray[y], ray[z]
    az, bz, cz = vertices[i, z] - oz, vertices[j, z] - oz, vertices[k, z] - oz
    ax, ay = vertices[i, x] - ox - ray[3] * az, vertices[i, y] - oy - ray[4] * az
    bx, by = vertices[j, x] - ox - ray[3] * bz, vertices[j, y] - oy - ray[4] * bz
    cx, cy = vertices[k, x] - ox - ray[3] * cz, vertices[k, y] - oy - ray[4] * cz
    at, u, v, w = hit_sheared(ax, ay, az, bx, by, bz, cx, cy, cz)
    return (at * ray[5] if at > -np.inf else at), u, v, w


@njit_called
def prepare_ray(origins, directions, r, dops, out_ray, out_axes, out_slab):
    """Prepare ray r; returns the error of its distances, or -1 if it has no direction.

    out_ray (10,): see `hit_triangle`, then the size of all coordinates, and the direction.
    out_slab (3, 7): along each direction of a 14-DOP, origin plus and minus the margin, and 1 / direction.
    """
    z = 0
    for k in range(1, 3):
        if abs(directions[r, k]) > abs(directions[r, z]):
            z = k
    x, y = (z + 1) % 3, (z + 2) % 3
    longest = directions[r, z]
    total = abs(directions[r, 0]) + abs(directions[r, 1]) + abs(directions[r, 2])
    total += abs(origins[r, 0]) + abs(origins[r, 1]) + abs(origins[r, 2])
    if longest == 0.0 or not np.isfinite(total):
        return -1.0
    out_axes[0], out_axes[1], out_axes[2] = x, y, z
    extent, size = 0.0, 0.0
    for k in range(3):
        out_ray[k], out_ray[7 + k] = origins[r, k], directions[r, k]
        extent = max(extent, dops[0, AXIS_COUNT + k] - dops[0, k])
        size = max(size, abs(origins[r, k]), abs(dops[0, k]), abs(dops[0, AXIS_COUNT + k]))
    out_ray[3], out_ray[4] = directions[r, x] / longest, directions[r, y] / longest
    out_ray[5], out_ray[6] = 1.0 / longest, size
    for k in range(AXIS_COUNT):
        at = AXES[k, 0] * origins[r, 0] + AXES[k, 1] * origins[r, 1] + AXES[k, 2] * origins[r, 2]
        along = (
            AXES[k, 0] * directions[r, 0]
            + AXES[k, 1] * directions[r, 1]
            + AXES[k, 2] * directions[r, 2]
        )
        margin = ROUNDING * (size if k < 3 else 6.0 * size)
        out_slab[0, k], out_slab[1, k] = at + margin, at - margin
        # Across a diagonal that a ray runs along only rounding is left of `along`.
        is_across = abs(along) <= (0.0 if k < 3 else ROUNDING) * abs(longest)
        out_slab[2, k] = STEEP if is_across else 1.0 / along
    return (SLACK * extent + ROUNDING * size) / abs(longest)


@njit_inside
def enter_dop(dops, n, slab, limit):
    """Parameter at which a ray enters 14-DOP n, at least 0; inf if it misses it or enters after the limit."""
    first, last = 0.0, limit
    for k in range(AXIS_COUNT):
        low = (dops[n, k] - slab[0, k]) * slab[2, k]
        high = (dops[n, AXIS_COUNT + k] - slab[1, k]) * slab[2, k]
        first, last = max(first, min(low, high)), min(last, max(low, high))
    return first if first <= last else np.inf


@njit_inside
def prepare_weights(nodes, apex, inverses, conditions, e, start, ray, out_slabs, out_shift):
    """Prepare slab tests in the space of weights of tet e from parameter `start` on; False if the tet is too flat.

    apex: the last node of the tet. In 256ths of a weight, slab k is entered at out_slabs[0, k] times a byte plus
    out_slabs[1, k] and left at out_slabs[0, k] times another plus out_slabs[2, k]; the bytes start at out_shift[0, k]
    and out_shift[1, k].
    """
    x = ray[0] + start * ray[7] - nodes[apex, 0]
    y = ray[1] + start * ray[8] - nodes[apex, 1]
    z = ray[2] + start * ray[9] - nodes[apex, 2]
    steepness, w3, s3 = 0.0, 256.0, 0.0
    for k in range(3):
        a, b, c = inverses[e, k, 0], inverses[e, k, 1], inverses[e, k, 2]
        steepness += abs(a) + abs(b) + abs(c)
        w = 256.0 * (a * x + b * y + c * z)
        slope = 256.0 * (a * ray[7] + b * ray[8] + c * ray[9])
        out_slabs[1, k], out_slabs[0, k] = w, slope
        w3 -= w
        s3 -= slope
    out_slabs[1, 3], out_slabs[0, 3] = w3, s3
    margin = WEIGHT_ROUNDING * (conditions[e] ** 2 + steepness * ray[6])
    if not margin < FLAT:
        return False
    margin *= 256.0
    for k in range(4):
        w, slope = out_slabs[1, k], out_slabs[0, k]
        slope = 1.0 / slope if abs(slope) > 1.0 / STEEP else STEEP
        low, high = (-margin - w) * slope, (1.0 + margin - w) * slope
        out_slabs[0, k] = slope
        if slope > 0.0:
            out_slabs[1, k], out_slabs[2, k] = low, high
            out_shift[0, k], out_shift[1, k] = 8 * k, 8 * k + 32
        else:
            out_slabs[1, k], out_slabs[2, k] = high, low
            out_shift[0, k], out_shift[1, k] = 8 * k + 32, 8 * k
    return True


@njit_inside
def enter_weights(box, slabs, shift, first, last):
    """Parameter at which a ray enters a quantised b-DOP, at least `first`; inf if it misses it until `last`."""
    for k in range(4):
        enter = ((box >> shift[0, k]) & 255) * slabs[0, k] + slabs[1, k]
        leave = ((box >> shift[1, k]) & 255) * slabs[0, k] + slabs[2, k]
        first, last = max(first, enter), min(last, leave)
    return first if first <= last else np.inf


@njit_called
def enter_box(box, factors, shifts, slab, first, last):
    """The same with the box around the b-DOP in the world."""
    for k in range(3):
        low = (low_bound(box, factors, shifts, 0, k) - slab[0, k]) * slab[2, k]
        high = (high_bound(box, factors, shifts, 0, k) - slab[1, k]) * slab[2, k]
        first, last = max(first, min(low, high)), min(last, max(low, high))
    return first if first <= last else np.inf
