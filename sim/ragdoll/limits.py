"""How far the joints of a body turn: the table, by role of the bone that hangs on the joint.

Angles in degrees. A hinge flexes from `low` to `high` towards `bends`; other joints swing within a cone about the
bone's direction at rest, leaned towards `leans` by `lean`, and twist either way. Rounded from the normal ranges of
motion that physiotherapy goes by.
"""

from dataclasses import dataclass

from jellycage.sim.ragdoll import roles

FORWARD, BACKWARD, NOWHERE = "forward", "backward", ""


@dataclass(frozen=True)
class JointLimits:
    """Of one joint [degrees]."""

    swing: float = 45.0
    twist: float = 30.0
    lean: float = 0.0
    leans: str = NOWHERE
    bends: str = NOWHERE
    """Where a hinge flexes to; empty: no hinge."""
    low: float = -3.0
    high: float = 140.0

    @property
    def is_hinge(self) -> bool:
        """Whether it only flexes."""
        return bool(self.bends)


LIMITS = {
    roles.SPINE: JointLimits(swing=22.0, twist=14.0),
    roles.NECK: JointLimits(swing=35.0, twist=35.0),
    roles.HEAD: JointLimits(swing=35.0, twist=35.0),
    roles.CLAVICLE: JointLimits(swing=12.0, twist=5.0),
    roles.UPPER_ARM: JointLimits(swing=85.0, twist=50.0, lean=15.0, leans=FORWARD),
    roles.FOREARM: JointLimits(bends=FORWARD, low=-3.0, high=140.0),
    roles.HAND: JointLimits(swing=55.0, twist=60.0),
    roles.THIGH: JointLimits(swing=62.0, twist=28.0, lean=38.0, leans=FORWARD),
    roles.SHIN: JointLimits(bends=BACKWARD, low=-2.0, high=135.0),
    roles.FOOT: JointLimits(swing=32.0, twist=12.0),
    roles.TOE: JointLimits(swing=25.0, twist=5.0),
    roles.TAIL: JointLimits(swing=40.0, twist=20.0),
}
PLAIN = JointLimits()


def limits_of(role: str) -> JointLimits:
    """What a bone in that role may do."""
    return LIMITS.get(role, PLAIN)
