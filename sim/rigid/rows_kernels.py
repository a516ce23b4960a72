"""What all rows of constraints share: how impulses displace bodies, how soft springs are, which errors are put off.

An impulse is counted times the step, so that it displaces; see `joints_kernels` for what the numbers are for.
"""

from jellycage.sim.maths.matrix3_array_kernels import times3
from jellycage.toolkit.compile_kernels import njit_called

LARGEST_CORRECTION = 0.2  # [rad] that one row corrects at once
STIFFEST = 1.0  # of a spring, times the inverse mass and the step squared
MOST_DAMPED = 2.0  # of a damper, times the inverse mass and the step
NEAR_LIMIT = 1e-3  # [rad]; an angle further from its limit has nothing left of the last push
SMALL = 0.01  # error, against what one sweep mends at most, up to which it is mended at once
OFF = 1e-12  # a row that does nothing is one that is too soft to matter


@njit_called
def kept_share(error, size):
    """How much of an error at the start is not to become velocity: nothing if it is small for its size, else all."""
    return min(max((error / size - SMALL) / (9.0 * SMALL), 0.0), 1.0)


@njit_called
def softness(stiffness, damping, inverse_mass, h):
    """Compliance 1 / s and share of the spring in s = h^2 k + h c of a row between bodies of that inverse mass.

    Springs in a row that are much stiffer than the bodies between them would never settle in a few sweeps: none is
    stiffer or more damped than what the two bodies answer to within the step.
    """
    inverse_mass = max(inverse_mass, 1e-300)
    elastic = min(h * h * stiffness, STIFFEST / inverse_mass)
    spring = max(elastic + min(h * damping, MOST_DAMPED / inverse_mass), OFF / inverse_mass)
    return 1.0 / spring, elastic / spring


@njit_called
def add_arm(k3, m, x, y, z):
    """Add [r] m [r]^T to a 3 x 3 matrix, for an arm r = (x, y, z)."""
    # Columns of m [r]^T: m times the columns of [r]^T = -[r].
    a0, a1, a2 = times3(m, 0.0, -z, y)
    b0, b1, b2 = times3(m, z, 0.0, -x)
    c0, c1, c2 = times3(m, -y, x, 0.0)
    k3[0, 0] += y * a2 - z * a1
    k3[1, 0] += z * a0 - x * a2
    k3[2, 0] += x * a1 - y * a0
    k3[0, 1] += y * b2 - z * b1
    k3[1, 1] += z * b0 - x * b2
    k3[2, 1] += x * b1 - y * b0
    k3[0, 2] += y * c2 - z * c1
    k3[1, 2] += z * c0 - x * c2
    k3[2, 2] += x * c1 - y * c0


@njit_called
def push_point(a, b, arm, scratch, x, y, z):
    """Displace both bodies by an impulse (times the step) at their arms, + on b and - on a."""
    for k in range(3):
        push = x if k == 0 else (y if k == 1 else z)
        scratch.linear[a, k] -= scratch.inverse_mass[a] * push
        scratch.linear[b, k] += scratch.inverse_mass[b] * push
    ax, ay, az, bx, by, bz = arm[0, 0], arm[0, 1], arm[0, 2], arm[1, 0], arm[1, 1], arm[1, 2]
    twist_body(a, scratch, az * y - ay * z, ax * z - az * x, ay * x - ax * y)
    twist_body(b, scratch, by * z - bz * y, bz * x - bx * z, bx * y - by * x)


@njit_called
def twist_body(i, scratch, x, y, z):
    """Turn a body by an angular impulse (times the step)."""
    dx, dy, dz = times3(scratch.inverse_inertia[i], x, y, z)
    scratch.angular[i, 0] += dx
    scratch.angular[i, 1] += dy
    scratch.angular[i, 2] += dz


@njit_called
def twist_both(a, b, scratch, x, y, z):
    """Turn both bodies by an angular impulse (times the step), + on b and - on a."""
    twist_body(a, scratch, -x, -y, -z)
    twist_body(b, scratch, x, y, z)
