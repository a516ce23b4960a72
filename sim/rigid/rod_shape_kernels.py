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

from jellycage.sim.maths.quaternions_kernels import matrix_of, product, rotate, rotated
from jellycage.toolkit.compile_kernels import njit_called

ROWS = 6
MOST_BENT = 3.1  # [rad]; an arc of half a turn and more has no direction


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
def frame_axes(q, frame):
    """The first two axes, in the world, of a frame in a body with orientation q, as six numbers."""
    w, x, y, z = product(q, frame)
    m = matrix_of(w, x, y, z)
    return m[0], m[3], m[6], m[1], m[4], m[7]


@njit_called
def find_rod_errors(pa, qa, pb, qb, ends, frames, rest, out_error):
    """The six numbers of a rod, see above; returns the bend psi [rad] and the twist [rad] since it was straight."""
    # Ends and frames in the world (eq. 7.2), and the chord o between the ends.
    ax, ay, az = rotated(qa, ends[0, 0], ends[0, 1], ends[0, 2])
    bx, by, bz = rotated(qb, ends[1, 0], ends[1, 1], ends[1, 2])
    ta0, ta1, ta2, ma0, ma1, ma2 = frame_axes(qa, frames[0])
    tb0, tb1, tb2, mb0, mb1, mb2 = frame_axes(qb, frames[1])
    o0, o1, o2 = pb[0] + bx - pa[0] - ax, pb[1] + by - pa[1] - ay, pb[2] + bz - pa[2] - az
    length = max(np.sqrt(o0 * o0 + o1 * o1 + o2 * o2), 1e-12)
    o0, o1, o2 = o0 / length, o1 / length, o2 / length

    # Length: the bend is the angle between the tangents, c their cross product (eq. 7.9).
    c0, c1, c2 = ta1 * tb2 - ta2 * tb1, ta2 * tb0 - ta0 * tb2, ta0 * tb1 - ta1 * tb0
    sine, cosine = np.sqrt(c0 * c0 + c1 * c1 + c2 * c2), ta0 * tb0 + ta1 * tb1 + ta2 * tb2
    psi = np.arctan2(sine, cosine)
    chord, _ = sinc_half(min(psi, MOST_BENT))
    out_error[0] = length - rest[0] * chord

    # Curve: t_a mirrored at o, along two directions across t_b (eq. 7.6); the exact angle instead of its sine, as with
    # the joints of section 6.6.
    along = 2.0 * (ta0 * o0 + ta1 * o1 + ta2 * o2)
    y0, y1, y2 = along * o0 - ta0, along * o1 - ta1, along * o2 - ta2
    n0, n1, n2 = tb1 * mb2 - tb2 * mb1, tb2 * mb0 - tb0 * mb2, tb0 * mb1 - tb1 * mb0
    first, second = mb0 * y0 + mb1 * y1 + mb2 * y2, n0 * y0 + n1 * y1 + n2 * y2
    apart = np.sqrt(first * first + second * second)
    angle = np.arctan2(apart, y0 * tb0 + y1 * tb1 + y2 * tb2)
    scale = angle / apart if apart > 1e-12 else 1.0
    out_error[1], out_error[2] = -scale * first, -scale * second

    # Bend: psi n of eq. 7.8 is f c, along the second and third axis of frame a.
    f, _ = bend_factors(min(psi, MOST_BENT))
    k0, k1, k2 = ta1 * ma2 - ta2 * ma1, ta2 * ma0 - ta0 * ma2, ta0 * ma1 - ta1 * ma0
    out_error[3] = f * (c0 * ma0 + c1 * ma1 + c2 * ma2) - rest[1]
    out_error[4] = f * (c0 * k0 + c1 * k1 + c2 * k2) - rest[2]

    # Twist: the second axis of frame a is carried along the arc by the turn that takes t_a to t_b, and compared there.
    share = (c0 * ma0 + c1 * ma1 + c2 * ma2) / (1.0 + cosine) if cosine > -0.999 else 0.0
    r0 = c1 * ma2 - c2 * ma1 + cosine * ma0 + share * c0
    r1 = c2 * ma0 - c0 * ma2 + cosine * ma1 + share * c1
    r2 = c0 * ma1 - c1 * ma0 + cosine * ma2 + share * c2
    twist = np.arctan2(
        (r1 * mb2 - r2 * mb1) * tb0 + (r2 * mb0 - r0 * mb2) * tb1 + (r0 * mb1 - r1 * mb0) * tb2,
        r0 * mb0 + r1 * mb1 + r2 * mb2,
    )
    since = twist - rest[3]
    out_error[5] = since - 2.0 * np.pi * np.round(since / (2.0 * np.pi))
    return psi, twist


@njit_called
def measure_rod(pa, qa, pb, qb, ends, frames, rest, work, out_error, out_jacobian):
    """The six numbers of a rod (see above) and their Jacobian by the displacements of a and b: linear, angular, twice.

    ends (2, 3): where the rod begins and ends in the bodies [m]. frames (2, 4): its frames there. rest (4,): length
    [m], bend about the second and third axis of frame a [rad], twist [rad]. work (16, 3): room.
    """
    ra, rb, o, u, y, g = work[0], work[1], work[2], work[3], work[4], work[5]
    ta, tb, m1, m2, mb, bent = work[6], work[7], work[8], work[9], work[10], work[11]
    row_a, row_b, moved = work[12], work[13], work[14]
    psi, _ = find_rod_errors(pa, qa, pb, qb, ends, frames, rest, out_error)
    # The same quantities as above, in arrays: arms r, tangents t, the other axes m of the frames, the chord o.
    rotate(qa, ends[0], ra)
    rotate(qb, ends[1], rb)
    ta[0], ta[1], ta[2], m1[0], m1[1], m1[2] = frame_axes(qa, frames[0])
    tb[0], tb[1], tb[2], mb[0], mb[1], mb[2] = frame_axes(qb, frames[1])
    cross(ta, m1, m2)
    for k in range(3):
        o[k] = pb[k] + rb[k] - pa[k] - ra[k]
    length = max(np.sqrt(dot(o, o)), 1e-12)
    for k in range(3):
        o[k] /= length
    cross(ta, tb, bent)
    sine, cosine = np.sqrt(dot(bent, bent)), dot(ta, tb)

    # Length, eq. 7.9: along the chord, and by how the bend shortens the chord.
    _, slope = sinc_half(min(psi, MOST_BENT))
    cross(ra, o, row_a)
    cross(rb, o, row_b)
    for k in range(3):
        tilt = rest[0] * slope * bent[k]
        row_a[k] = -row_a[k] + tilt
        row_b[k] -= tilt
        moved[k] = -o[k]
    set_row(0, moved, row_a, row_b, out_jacobian)

    # Curve, eq. 7.6: along m_b, then along the third axis of frame b. g is the gradient by the chord; y is u mirrored.
    along = dot(ta, o)
    for row in range(1, 3):
        if row == 1:
            for k in range(3):
                u[k] = mb[k]
        else:
            cross(tb, mb, u)
        across = dot(u, o)
        lean = 0.0
        for k in range(3):
            g[k] = 2.0 * (across * ta[k] + along * u[k])
            lean += g[k] * o[k]
        for k in range(3):
            g[k] = (g[k] - lean * o[k]) / length
            y[k] = 2.0 * across * o[k] - u[k]
        cross(ra, g, row_a)
        cross(ta, y, moved)
        cross(rb, g, row_b)
        for k in range(3):
            row_a[k] -= moved[k]
        cross(tb, u, moved)
        for k in range(3):
            row_b[k] = moved[k] - row_b[k]
        set_row(row, g, row_a, row_b, out_jacobian)

    # Bend: psi n = f (t_a x t_b), seen from a.
    f, stretch = bend_factors(min(psi, MOST_BENT))
    inverse = 1.0 / (sine * sine) if sine > 1e-9 else 0.0
    for row in range(3, 5):
        axis = m1 if row == 3 else m2
        side, tip = dot(bent, axis), dot(tb, axis)
        for k in range(3):
            row_b[k] = f * (cosine * axis[k] - tip * ta[k]) + stretch * inverse * side * bent[k]
            row_a[k], moved[k] = -row_b[k], 0.0
        set_row(row, moved, row_a, row_b, out_jacobian)

    # Twist: turns about the mean of the tangents, scaled so that it is the angle of frames carried along the arc.
    for k in range(3):
        row_b[k] = (ta[k] + tb[k]) / max(1.0 + cosine, 1e-3)
        row_a[k], moved[k] = -row_b[k], 0.0
    set_row(5, moved, row_a, row_b, out_jacobian)
    return psi
