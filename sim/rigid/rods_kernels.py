"""One rod between two bodies: a circular arc of fixed length that bends and twists.

Thesis 000, chapter 7. Bodies a and b hold the ends of the rod with frames whose first axes are its tangents t_a, t_b.
With e from end to end, o = e / |e| and the bend psi between the tangents, six numbers describe a rod:

    0     C_len    |e| - l0 sinc(psi / 2)                   eq. 7.9
    1, 2  C_curve  t_b - (2 (t_a.o) o - t_a)                eq. 7.6, in the plane across t_b
    3, 4  C_bend   psi n in the frame of a, minus at rest   n the axis of the bend
    5     C_twist  the signed angle after transport, minus at rest

Differs from the thesis: C_curve compares two unit vectors, so it has rank 2 and two rows here. Bend and twist are
measured from what they were when the rod was made, and bend has a direction, so that any pose can be one of rest. The
twist is the signed angle about t_b between frame b and frame a carried along the arc; eq. 7.12 is wrong, that is no
difference of angles. The length's Jacobian knows of the bend.
"""

import numpy as np

from sim.rigid.rotation_kernels import multiply, rotate
from toolkit.compile_kernels import njit_called

ROWS = 6


@njit_called
def cross(a, b, out):
    """Cross product."""
    x, y, z = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
    out[0], out[1], out[2] = x, y, z


@njit_called
def dot(a, b):
    """Dot product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit_called
def sinc_half(psi):
    """(sinc(psi / 2), its derivative / sin(psi)): the chord of an arc of length 1, and its slope, smooth at 0."""
    half = 0.5 * psi
    if psi < 1e-3:
        return 1.0 - half * half / 6.0, -1.0 / 12.0 - 17.0 * psi * psi / 1440.0
    chord = np.sin(half) / half
    slope = (np.cos(half) - chord) / psi
    return chord, slope / np.sin(psi)


@njit_called
def bend_factors(psi):
    """(psi / sin(psi), 1 - psi / tan(psi))."""
    if psi < 1e-3:
        return 1.0 + psi * psi / 6.0, psi * psi / 3.0
    return psi / np.sin(psi), 1.0 - psi / np.tan(psi)


@njit_called
def set_row(row, va, wa, wb, out_jacobian):
    """A row of the Jacobian: by the velocity of a (that of b is the opposite), the spin of a and that of b."""
    for k in range(3):
        out_jacobian[row, k], out_jacobian[row, 6 + k] = va[k], -va[k]
        out_jacobian[row, 3 + k], out_jacobian[row, 9 + k] = wa[k], wb[k]


@njit_called
def measure_rod(pa, qa, pb, qb, ends, frames, rest, work, out_error, out_jacobian):
    """The six numbers of a rod (see above) and their Jacobian by the displacements of a and b: linear, angular, twice.

    ends (2, 3): where the rod begins and ends in the bodies [m]. frames (2, 4): its frames there. rest (4,): length
    [m], bend about the second and third axis of frame a [rad], twist [rad]. work (16, 3): room.
    """
    ra, rb, e, ta, tb, m1, m2, mb = (
        work[0],
        work[1],
        work[2],
        work[3],
        work[4],
        work[5],
        work[6],
        work[7],
    )
    o, u, y, g, row_a, row_b, bent, moved = (
        work[8], work[9], work[10], work[11], work[12], work[13], work[14], work[15],
    )  # fmt: skip
    rotate(qa, ends[0], ra)
    rotate(qb, ends[1], rb)
    _axes(qa, frames[0], ta, m1, m2)
    _axes(qb, frames[1], tb, mb, u)
    for k in range(3):
        e[k] = pb[k] + rb[k] - pa[k] - ra[k]
    length = max(np.sqrt(dot(e, e)), 1e-12)
    for k in range(3):
        o[k] = e[k] / length
    cross(ta, tb, bent)
    sine, cosine = np.sqrt(dot(bent, bent)), dot(ta, tb)
    psi = np.arctan2(sine, cosine)

    # Length.
    chord, slope = sinc_half(min(psi, 3.1))
    out_error[0] = length - rest[0] * chord
    cross(ra, o, row_a)
    cross(rb, o, row_b)
    for k in range(3):
        tilt = rest[0] * slope * bent[k]
        row_a[k] = -row_a[k] + tilt
        row_b[k] -= tilt
        moved[k] = -o[k]
    set_row(0, moved, row_a, row_b, out_jacobian)

    # Curve: how t_b differs from t_a mirrored at o, along two directions across t_b.
    along = dot(ta, o)
    for k in range(3):
        y[k] = 2.0 * along * o[k] - ta[k]
    cross(y, tb, moved)
    # The exact angle instead of its sine, as joints of high fidelity have it (section 6.6).
    apart = np.sqrt(dot(moved, moved))
    angle = np.arctan2(apart, dot(y, tb))
    scale = angle / apart if apart > 1e-12 else 1.0
    for row in range(1, 3):
        # u runs from m_b to the third axis of frame b.
        if row == 1:
            for k in range(3):
                u[k] = mb[k]
        else:
            cross(tb, mb, u)
        out_error[row] = -scale * dot(u, y)
        across = dot(u, o)
        lean = 0.0
        for k in range(3):
            g[k] = 2.0 * (across * ta[k] + along * u[k])
            lean += g[k] * o[k]
        for k in range(3):
            g[k] = (g[k] - lean * o[k]) / length
            moved[k] = 2.0 * across * o[k] - u[k]
        cross(ra, g, row_a)
        cross(ta, moved, moved)
        cross(rb, g, row_b)
        for k in range(3):
            row_a[k] -= moved[k]
        cross(tb, u, moved)
        for k in range(3):
            row_b[k] = moved[k] - row_b[k]
        set_row(row, g, row_a, row_b, out_jacobian)

    # Bend: psi n = f (t_a x t_b), seen from a.
    f, stretch = bend_factors(min(psi, 3.1))
    inverse = 1.0 / (sine * sine) if sine > 1e-9 else 0.0
    for row in range(3, 5):
        axis = m1 if row == 3 else m2
        out_error[row] = f * dot(bent, axis) - rest[row - 2]
        side, tip = dot(bent, axis), dot(tb, axis)
        for k in range(3):
            row_b[k] = f * (cosine * axis[k] - tip * ta[k]) + stretch * inverse * side * bent[k]
            row_a[k], moved[k] = -row_b[k], 0.0
        set_row(row, moved, row_a, row_b, out_jacobian)

    # Twist: m_1 of a carried along the arc to b, by the turn that takes t_a to t_b.
    share = dot(bent, m1) / (1.0 + cosine) if cosine > -0.999 else 0.0
    cross(bent, m1, moved)
    for k in range(3):
        moved[k] += cosine * m1[k] + share * bent[k]
    cross(moved, mb, u)
    twist = np.arctan2(dot(u, tb), dot(moved, mb)) - rest[3]
    out_error[5] = twist - 2.0 * np.pi * np.round(twist / (2.0 * np.pi))
    for k in range(3):
        row_b[k] = (ta[k] + tb[k]) / max(1.0 + cosine, 1e-3)
        row_a[k], moved[k] = -row_b[k], 0.0
    set_row(5, moved, row_a, row_b, out_jacobian)
    return psi


@njit_called
def _axes(q, frame, out_x, out_y, out_z):
    """The axes of a frame in a body, in the world."""
    turned = np.empty(4)
    multiply(q, frame, turned)
    w, x, y, z = turned[0], turned[1], turned[2], turned[3]
    out_x[0], out_x[1], out_x[2] = 1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)
    out_y[0], out_y[1], out_y[2] = 2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)
    out_z[0], out_z[1], out_z[2] = 2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)
