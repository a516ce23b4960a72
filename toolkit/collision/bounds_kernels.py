"""Bounds of quantised b-DOPs in a deformed tet along world directions, from numbers prepared once per tet and direction.

With d_i = x_i - x_1 the lower bound (5.1) is x1 + b0 d0 + a2 d2 + a3 d3, three products of bytes; likewise the upper one.
"""

from toolkit.collision.bdop_kernels import QUANTUM
from toolkit.collision.kdop_kernels import MARGIN, project_tet, sort_four
from toolkit.compile_kernels import njit_called, njit_inside


@njit_called
def prepare_axis(nodes, tet, nx, ny, nz, out_factors, out_shifts):
    """Prepare the bounds of all b-DOPs of a tet along a direction, widened by the margin for rounding.

    out_factors (9,): a constant and three factors of bytes, for the lower bound and for the upper, and the margin;
    out_shifts (6,): where those bytes begin.
    """
    p0, p1, p2, p3, size = project_tet(nodes, tet, nx, ny, nz)
    x0, x1, x2, x3, i0, i1, i2, i3 = sort_four(p0, p1, p2, p3)
    # An upper bound is (byte + 1) / 256: the 1 goes into the constant.
    out_factors[0] = x1 + QUANTUM * (x0 - x1) - MARGIN * size
    out_factors[1] = QUANTUM * (x0 - x1)
    out_factors[2] = QUANTUM * (x2 - x1)
    out_factors[3] = QUANTUM * (x3 - x1)
    out_shifts[0], out_shifts[1], out_shifts[2] = 8 * i0 + 32, 8 * i2, 8 * i3
    out_factors[4] = x2 + QUANTUM * (x3 - x2) + MARGIN * size
    out_factors[5] = QUANTUM * (x3 - x2)
    out_factors[6] = QUANTUM * (x0 - x2)
    out_factors[7] = QUANTUM * (x1 - x2)
    out_factors[8] = MARGIN * size
    out_shifts[3], out_shifts[4], out_shifts[5] = 8 * i3 + 32, 8 * i0, 8 * i1


@njit_called
def prepare_box(nodes, tet, out_factors, out_shifts):
    """Prepare the bounds of all b-DOPs of a tet along x, y and z: rows 0-2."""
    prepare_axis(nodes, tet, 1.0, 0.0, 0.0, out_factors[0], out_shifts[0])
    prepare_axis(nodes, tet, 0.0, 1.0, 0.0, out_factors[1], out_shifts[1])
    prepare_axis(nodes, tet, 0.0, 0.0, 1.0, out_factors[2], out_shifts[2])


@njit_inside
def low_bound(box, factors, shifts, axis):
    """Lower bound of a quantised b-DOP along a prepared direction."""
    return (
        factors[axis, 0]
        + factors[axis, 1] * ((box >> shifts[axis, 0]) & 255)
        + factors[axis, 2] * ((box >> shifts[axis, 1]) & 255)
        + factors[axis, 3] * ((box >> shifts[axis, 2]) & 255)
    )


@njit_inside
def high_bound(box, factors, shifts, axis):
    """Upper bound of a quantised b-DOP along a prepared direction."""
    return (
        factors[axis, 4]
        + factors[axis, 5] * ((box >> shifts[axis, 3]) & 255)
        + factors[axis, 6] * ((box >> shifts[axis, 4]) & 255)
        + factors[axis, 7] * ((box >> shifts[axis, 5]) & 255)
    )
