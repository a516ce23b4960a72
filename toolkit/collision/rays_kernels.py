"""Rays against a posed surface: down the 14-DOPs to tets, then in the space of weights of each tet down its trees.

A triangle is tested in the world, sheared along the ray: Woop, Benthin, Wald 2013, "Watertight Ray/Triangle
Intersection". Signs of the three areas are exact for the sheared corners, and ties are decided as if the ray had been
moved by an infinitesimal, so a ray through an edge or a corner hits one of the triangles there, or as many as it
would beside it. Bounds are widened by more than the rounding of that test, so none of its hits is lost.

Where a tet is too flat for weights to mean much its bounds are taken in the world.
"""

import numpy as np

from toolkit.collision.bdop_kernels import bdop_of, index_mask
from toolkit.collision.bounds_kernels import high_bound, low_bound, prepare_box
from toolkit.collision.kdop_kernels import AXES, AXIS_COUNT
from toolkit.collision.predicates_kernels import product_error, sum_error
from toolkit.compile_kernels import njit, njit_called, njit_inside

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


@njit_called
def hit_triangle(vertices, i, j, k, ray, axes, out_weights):
    """Parameter at which a ray hits a triangle, -inf if it does not; the weights of its corners go to out_weights.

    ray: origin, shears along x and y, 1 / direction along the longest axis; axes: the two others, and that one.
    """
    x, y, z = axes[0], axes[1], axes[2]
    ox, oy, oz = ray[x], ray[y], ray[z]
    az, bz, cz = vertices[i, z] - oz, vertices[j, z] - oz, vertices[k, z] - oz
    ax, ay = vertices[i, x] - ox - ray[3] * az, vertices[i, y] - oy - ray[4] * az
    bx, by = vertices[j, x] - ox - ray[3] * bz, vertices[j, y] - oy - ray[4] * bz
    u = area_about(ax, ay, bx, by)
    cx, cy = vertices[k, x] - ox - ray[3] * cz, vertices[k, y] - oy - ray[4] * cz
    v = area_about(bx, by, cx, cy)
    if (u > 0.0) != (v > 0.0):
        return -np.inf
    w = area_about(cx, cy, ax, ay)
    if (u > 0.0) != (w > 0.0) or u == 0.0 or v == 0.0 or w == 0.0:
        return -np.inf
    scale = 1.0 / (u + v + w)
    out_weights[0], out_weights[1], out_weights[2] = v * scale, w * scale, u * scale
    return (v * az + w * bz + u * cz) * scale * ray[5]


@njit_called
def prepare_ray(origin, direction, root, out_ray, out_axes, out_slab):
    """Prepare a ray; returns the error of its distances, or -1 if it has no direction.

    out_slab (3, 7): along each direction of a 14-DOP, origin plus and minus the margin, and 1 / direction.
    """
    z = 0
    for k in range(1, 3):
        if abs(direction[k]) > abs(direction[z]):
            z = k
    x, y = (z + 1) % 3, (z + 2) % 3
    longest = direction[z]
    total = abs(direction[0]) + abs(direction[1]) + abs(direction[2])
    total += abs(origin[0]) + abs(origin[1]) + abs(origin[2])
    if longest == 0.0 or not np.isfinite(total):
        return -1.0
    out_axes[0], out_axes[1], out_axes[2] = x, y, z
    extent, size = 0.0, 0.0
    for k in range(3):
        out_ray[k] = origin[k]
        extent = max(extent, root[AXIS_COUNT + k] - root[k])
        size = max(size, abs(origin[k]), abs(root[k]), abs(root[AXIS_COUNT + k]))
    out_ray[3], out_ray[4] = direction[x] / longest, direction[y] / longest
    out_ray[5], out_ray[6] = 1.0 / longest, size
    for k in range(AXIS_COUNT):
        at = AXES[k, 0] * origin[0] + AXES[k, 1] * origin[1] + AXES[k, 2] * origin[2]
        along = AXES[k, 0] * direction[0] + AXES[k, 1] * direction[1] + AXES[k, 2] * direction[2]
        margin = ROUNDING * (size if k < 3 else 6.0 * size)
        out_slab[0, k], out_slab[1, k] = at + margin, at - margin
        # Across a diagonal that a ray runs along only rounding is left of `along`.
        is_across = abs(along) <= (0.0 if k < 3 else ROUNDING) * abs(longest)
        out_slab[2, k] = STEEP if is_across else 1.0 / along
    return (SLACK * extent + ROUNDING * size) / abs(longest)


@njit_called
def enter_dop(dop, slab, limit):
    """Parameter at which a ray enters a 14-DOP, at least 0; inf if it misses it or enters after the limit."""
    first, last = 0.0, limit
    for k in range(AXIS_COUNT):
        low, high = (dop[k] - slab[0, k]) * slab[2, k], (dop[AXIS_COUNT + k] - slab[1, k]) * slab[2, k]
        first, last = max(first, min(low, high)), min(last, max(low, high))
        if first > last:
            return np.inf
    return first


@njit_called
def prepare_weights(solid, e, start, ray, direction, out_slope, out_constant, out_shift):
    """Prepare slab tests in the space of weights of tet e from parameter `start` on; False if the tet is too flat.

    In 256ths of a weight, slab k is entered at byte * out_slope[k] + out_constant[k], the byte being the one that starts
    at out_shift[k], and left likewise with entry 4 + k.
    """
    inverse, apex, condition = solid.inverses[e], solid.nodes[solid.tets[e, 3]], solid.conditions[e]
    x = ray[0] + start * direction[0] - apex[0]
    y = ray[1] + start * direction[1] - apex[1]
    z = ray[2] + start * direction[2] - apex[2]
    steepness, w3, s3 = 0.0, 256.0, 0.0
    for k in range(3):
        a, b, c = inverse[k, 0], inverse[k, 1], inverse[k, 2]
        steepness += abs(a) + abs(b) + abs(c)
        w = 256.0 * (a * x + b * y + c * z)
        slope = 256.0 * (a * direction[0] + b * direction[1] + c * direction[2])
        out_constant[k], out_slope[k] = w, slope
        w3 -= w
        s3 -= slope
    out_constant[3], out_slope[3] = w3, s3
    margin = WEIGHT_ROUNDING * (condition * condition + steepness * ray[6])
    if not margin < FLAT:
        return False
    margin *= 256.0
    for k in range(4):
        w, slope = out_constant[k], out_slope[k]
        slope = 1.0 / slope if abs(slope) > 1.0 / STEEP else STEEP
        low, high = (-margin - w) * slope, (1.0 + margin - w) * slope
        out_slope[k] = slope
        out_constant[k], out_constant[4 + k] = (low, high) if slope > 0.0 else (high, low)
        out_shift[k], out_shift[4 + k] = (8 * k, 8 * k + 32) if slope > 0.0 else (8 * k + 32, 8 * k)
    return True


@njit_inside
def enter_weights(box, slope, constant, shift, first, last):
    """Parameter at which a ray enters a quantised b-DOP, at least `first`; inf if it misses it or is later than `last`."""
    for k in range(4):
        enter = ((box >> shift[k]) & 255) * slope[k] + constant[k]
        leave = ((box >> shift[4 + k]) & 255) * slope[k] + constant[4 + k]
        first, last = max(first, enter), min(last, leave)
    return first if first <= last else np.inf


@njit_inside
def enter_box(box, factors, shifts, slab, first, last):
    """The same with the box around the b-DOP in the world."""
    for k in range(3):
        low = (low_bound(box, factors, shifts, k) - slab[0, k]) * slab[2, k]
        high = (high_bound(box, factors, shifts, k) - slab[1, k]) * slab[2, k]
        first, last = max(first, min(low, high)), min(last, max(low, high))
    return first if first <= last else np.inf
