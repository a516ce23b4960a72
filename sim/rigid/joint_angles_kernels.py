"""Angles of a joint, from the turn of its frame b in frame a: (w, x, y, z), with x the axis of the twist."""

import numpy as np

from jellycage.sim.maths.quaternions_kernels import inverse, product, turn_vector
from jellycage.toolkit.compile_kernels import njit_called

BALL, HINGE, CONE_TWIST, FIXED = 0, 1, 2, 3


@njit_called
def swing_angle(turn):
    """Angle between the x axes of two frames [rad], 0 to pi."""
    across = np.sqrt(turn[2] * turn[2] + turn[3] * turn[3])
    along = np.sqrt(turn[0] * turn[0] + turn[1] * turn[1])
    return 2.0 * np.arctan2(across, along)


@njit_called
def twist_angle(turn):
    """Signed angle about x after the swing is taken away [rad], -pi to pi."""
    w, x = (turn[0], turn[1]) if turn[0] >= 0.0 else (-turn[0], -turn[1])
    return 2.0 * np.arctan2(x, w)


@njit_called
def hinge_error(turn):
    """Angles [rad] about the second and third axis of frame a by which the x axes of both frames differ."""
    w, x, y, z = turn[0], turn[1], turn[2], turn[3]
    sine_y, sine_z = 2.0 * (w * y - x * z), 2.0 * (x * y + w * z)
    squared, cosine = sine_y * sine_y + sine_z * sine_z, 1.0 - 2.0 * (y * y + z * z)
    if squared < 1e-3 and cosine > 0.0:
        s = 1.0 + squared * (
            1.0 / 6.0 + squared * (3.0 / 40.0 + squared * (15.0 / 336.0))
        )  # arcsine
    else:
        sine = np.sqrt(squared)
        s = np.arctan2(sine, cosine) / max(sine, 1e-12)
    return s * sine_y, s * sine_z


@njit_called
def angle_errors(j, joints, turn):
    """What the angular rows are off by [rad], along the axes of frame a."""
    kind = joints.kind[j]
    if kind == FIXED:
        return turn_vector(turn)
    e0, e1, e2 = 0.0, 0.0, 0.0
    if joints.stiffness[j] > 0.0:
        e0, e1, e2 = turn_vector(product(turn, inverse(joints.target[j])))
    if kind == HINGE:
        e1, e2 = hinge_error(turn)
    return e0, e1, e2
