"""The figures among the sample meshes, as signed distances [m] of points (n, 3), negative inside.

Blobs joined by smooth minima. Parts that must stay apart are joined with a blend narrower than
their gap, which leaves both surfaces untouched. Every figure faces -y, the front view in Blender.
"""

import numpy as np


def ellipsoid(p, centre, radii):
    """Not the exact distance but close to it near the surface, and exact for a sphere."""
    q = (p - np.asarray(centre)) / np.asarray(radii)
    scale = np.linalg.norm(q, axis=1)
    slope = np.linalg.norm(q / np.asarray(radii), axis=1)
    return scale * (scale - 1.0) / np.maximum(slope, 1e-9)


def capsule(p, start, end, start_radius, end_radius):
    """A segment with a radius that changes evenly along it."""
    start, axis = np.asarray(start), np.subtract(end, start)
    t = np.clip((p - start) @ axis / (axis @ axis), 0.0, 1.0)
    radius = start_radius + t * (end_radius - start_radius)
    return np.linalg.norm(p - start - t[:, None] * axis, axis=1) - radius


def limb(p, controls, radii, segments=7):
    """A tube along the Bezier curve of the control points; radii at its two ends [m]."""
    t = np.linspace(0.0, 1.0, segments + 1)
    points = [np.asarray(c, float)[None] for c in controls]
    while len(points) > 1:
        points = [a + t[:, None] * (b - a) for a, b in zip(points, points[1:], strict=False)]
    radius = np.linspace(*radii, segments + 1)
    spans = zip(points[0], points[0][1:], radius, radius[1:], strict=False)
    return np.min([capsule(p, *span) for span in spans], axis=0)


def rounded_box(p, centre, half_size, radius):
    """A box with rounded edges; half_size includes the rounding."""
    q = np.abs(p - np.asarray(centre)) - (np.asarray(half_size) - radius)
    return np.linalg.norm(np.maximum(q, 0.0), axis=1) + np.minimum(q.max(axis=1), 0.0) - radius


def joined(a, b, blend):
    """Union, with a fillet where both distances differ by less than `blend` [m]."""
    h = np.maximum(blend - np.abs(a - b), 0.0) / blend
    return np.minimum(a, b) - 0.25 * blend * h * h


def carved(a, b, blend):
    """What is left of a when b is taken away, with a rounded rim."""
    return -joined(-a, b, blend)


def mirrored(p):
    """The same points with x folded to x >= 0: whatever is modelled there appears on both sides."""
    return np.column_stack([np.abs(p[:, 0]), p[:, 1:]])


def gummy_bear(p):
    """A gummy bear sitting on z = 0, about 0.5 m tall."""
    q = mirrored(p)
    body = ellipsoid(p, (0, 0.010, 0.180), (0.132, 0.110, 0.165))
    body = joined(body, ellipsoid(p, (0, -0.025, 0.145), (0.122, 0.108, 0.110)), 0.06)
    body = joined(body, ellipsoid(p, (0, 0.120, 0.078), (0.036, 0.034, 0.034)), 0.02)
    leg = capsule(q, (0.085, -0.010, 0.064), (0.105, -0.140, 0.060), 0.062, 0.054)
    foot = ellipsoid(q, (0.108, -0.168, 0.068), (0.058, 0.032, 0.067))
    body = joined(body, joined(leg, foot, 0.03), 0.025)
    arm_controls = [(0.100, 0.010, 0.285), (0.172, -0.040, 0.235), (0.100, -0.145, 0.232)]
    body = joined(body, limb(q, arm_controls, (0.040, 0.043)), 0.032)
    bear = joined(body, bear_head(p, q), 0.045)
    return carved(bear, p[:, 2], 0.02)


def bear_head(p, q):
    """Head with ears, snout, nose and eyes; q = mirrored(p)."""
    head = ellipsoid(p, (0, -0.005, 0.405), (0.118, 0.098, 0.098))
    ear = ellipsoid(q, (0.090, 0.010, 0.490), (0.046, 0.030, 0.046))
    ear = carved(ear, ellipsoid(q, (0.093, -0.032, 0.492), (0.030, 0.024, 0.030)), 0.012)
    head = joined(head, ear, 0.024)
    head = joined(head, ellipsoid(p, (0, -0.088, 0.378), (0.060, 0.052, 0.043)), 0.014)
    head = joined(head, ellipsoid(p, (0, -0.128, 0.400), (0.027, 0.020, 0.019)), 0.008)
    return joined(head, ellipsoid(q, (0.049, -0.083, 0.438), (0.021, 0.020, 0.023)), 0.007)


def creature(p):
    """A small monster with its arms raised beside the head, about 1 m tall."""
    q = mirrored(p)
    body = ellipsoid(p, (0, 0, 0.34), (0.185, 0.160, 0.215))
    leg = capsule(q, (0.092, 0, 0.28), (0.092, 0, 0.06), 0.079, 0.066)
    leg = joined(leg, ellipsoid(q, (0.094, -0.050, 0.045), (0.072, 0.098, 0.048)), 0.03)
    tail_controls = [(0, 0.08, 0.20), (0, 0.30, 0.10), (0, 0.40, 0.15), (0, 0.34, 0.34)]
    body = joined(joined(body, leg, 0.02), limb(p, tail_controls, (0.085, 0.026)), 0.05)
    figure = joined(body, creature_head(p), 0.05)
    return joined(figure, creature_arm(q), 0.02)


def creature_head(p):
    """A round head with horns, muzzle and eyes."""
    q = mirrored(p)
    head = ellipsoid(p, (0, -0.01, 0.690), (0.175, 0.160, 0.170))
    horn = limb(q, [(0.080, 0, 0.81), (0.110, 0, 0.90), (0.085, -0.01, 0.955)], (0.050, 0.030))
    head = joined(head, horn, 0.02)
    head = joined(head, ellipsoid(p, (0, -0.130, 0.630), (0.100, 0.070, 0.055)), 0.03)
    return joined(head, ellipsoid(q, (0.068, -0.140, 0.740), (0.040, 0.034, 0.046)), 0.008)


def creature_arm(q):
    """Upper arm out along the body, forearm up along the head; q has x >= 0."""
    controls = [(0.120, 0, 0.480), (0.425, 0, 0.330), (0.225, 0, 0.640), (0.222, 0, 0.890)]
    hand = ellipsoid(q, (0.227, -0.005, 0.895), (0.062, 0.058, 0.066))
    return joined(limb(q, controls, (0.056, 0.046), segments=14), hand, 0.03)


FINGERS = (
    ((-0.180, 0.46), (-0.165, 0.76), 0.048, 0.040),
    ((-0.069, 0.50), (-0.060, 0.89), 0.050, 0.043),
    ((0.043, 0.50), (0.044, 0.95), 0.050, 0.044),
    ((0.155, 0.48), (0.145, 0.88), 0.050, 0.042),
)
"""Root (x, z), tip (x, z), root radius and tip radius [m], little finger first."""


def finger(p, index):
    """One finger, bent a little towards the palm (-y)."""
    (x0, z0), (x1, z1), root_radius, tip_radius = FINGERS[index]
    middle = (0.5 * (x0 + x1), 0.005, 0.5 * (z0 + z1))
    return limb(p, [(x0, 0, z0), middle, (x1, -0.045, z1)], (root_radius, tip_radius), segments=4)


def hand(p):
    """A left hand seen from its palm, fingers up and close together, 1 m tall."""
    palm = rounded_box(p, (-0.012, 0, 0.42), (0.215, 0.058, 0.115), 0.055)
    palm = joined(palm, ellipsoid(p, (-0.01, 0, 0.32), (0.185, 0.075, 0.170)), 0.06)
    palm = joined(palm, capsule(p, (0, 0.005, 0.0), (0, 0.005, 0.3), 0.105, 0.095), 0.12)
    palm = joined(palm, ellipsoid(p, (0.11, -0.04, 0.30), (0.075, 0.055, 0.11)), 0.05)
    thumb_controls = [(0.120, -0.030, 0.26), (0.280, -0.055, 0.39), (0.295, -0.060, 0.64)]
    fingers = finger(p, 0)
    for index in range(1, len(FINGERS)):
        fingers = joined(fingers, finger(p, index), 0.008)
    thumb = limb(p, thumb_controls, (0.068, 0.042))
    return carved(joined(joined(palm, fingers, 0.03), thumb, 0.035), p[:, 2], 0.02)
