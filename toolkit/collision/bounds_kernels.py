"""Bounds of quantised b-DOPs in a deformed tet along directions in the world, prepared once per tet and direction.

With d_i = x_i - x_1 the lower bound (5.1) is x1 + b0 d0 + a2 d2 + a3 d3, three products of bytes; so is the upper.
"""

from jellycage.toolkit.collision.bdop_kernels import QUANTUM
from jellycage.toolkit.collision.kdop_kernels import MARGIN, project_tet, sort_four
from jellycage.toolkit.compile_kernels import njit_called, njit_inside


@njit_called
def prepare_axis(nodes, tets, e, nx, ny, nz, side, axis, out_factors, out_shifts):
    """Prepare the bounds of all b-DOPs of tet e along a direction, widened by the margin for rounding.

    Row out_factors[side, axis] (9,): a constant and three factors of bytes, for the lower bound and for the upper, and
    the margin; row out_shifts[side, axis] (6,): where those bytes begin.
    """
    p0, p1, p2, p3, size = project_tet(nodes, tets, e, nx, ny, nz)
    x0, x1, x2, x3, i0, i1, i2, i3 = sort_four(p0, p1, p2, p3)
    # An upper bound is (byte + 1) / 256: the 1 goes into the constant.
    out_factors[side, axis, 0] = x1 + QUANTUM * (x0 - x1) - MARGIN * size
    out_factors[side, axis, 1], out_factors[side, axis, 2], out_factors[side, axis, 3] = (
        QUANTUM * (x0 - x1),
        QUANTUM * (x2 - x1),
        QUANTUM * (x3 - x1),
    )
    out_shifts[side, axis, 0], out_shifts[side, axis, 1], out_shifts[side, axis, 2] = (
        8 * i0 + 32,
        8 * i2,
        8 * i3,
    )
    out_factors[side, axis, 4] = x2 + QUANTUM * (x3 - x2) + MARGIN * size
    out_factors[side, axis, 5], out_factors[side, axis, 6], out_factors[side, axis, 7] = (
        QUANTUM * (x3 - x2),
        QUANTUM * (x0 - x2),
        QUANTUM * (x1 - x2),
    )
    out_shifts[side, axis, 3], out_shifts[side, axis, 4], out_shifts[side, axis, 5] = (
        8 * i3 + 32,
        8 * i0,
        8 * i1,
    )
    out_factors[side, axis, 8] = MARGIN * size


@njit_called
def prepare_box(nodes, tets, e, side, out_factors, out_shifts):
    """Prepare the bounds of all b-DOPs of tet e along x, y and z."""
    prepare_axis(nodes, tets, e, 1.0, 0.0, 0.0, side, 0, out_factors, out_shifts)
    prepare_axis(nodes, tets, e, 0.0, 1.0, 0.0, side, 1, out_factors, out_shifts)
    prepare_axis(nodes, tets, e, 0.0, 0.0, 1.0, side, 2, out_factors, out_shifts)


@njit_inside
def low_bound(box, factors, shifts, side, axis):
    """Lower bound of a quantised b-DOP along a prepared direction."""
    return (
        factors[side, axis, 0]
        + factors[side, axis, 1] * ((box >> shifts[side, axis, 0]) & 255)
        + factors[side, axis, 2] * ((box >> shifts[side, axis, 1]) & 255)
        + factors[side, axis, 3] * ((box >> shifts[side, axis, 2]) & 255)
    )


@njit_inside
def high_bound(box, factors, shifts, side, axis):
    """Upper bound of a quantised b-DOP along a prepared direction."""
    return (
        factors[side, axis, 4]
        + factors[side, axis, 5] * ((box >> shifts[side, axis, 3]) & 255)
        + factors[side, axis, 6] * ((box >> shifts[side, axis, 4]) & 255)
        + factors[side, axis, 7] * ((box >> shifts[side, axis, 5]) & 255)
    )
