"""How well joints and rods hold: what is left of their errors after a step."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.rigid.residuals_kernels import measure_joints, measure_rods


@dataclass(frozen=True, eq=False)
class Residuals:
    """Errors of joints and rods as bodies are."""

    joint_gap: NDArray[np.float64]
    """Between the two points of each joint [m], shape (j,)."""
    joint_angle: NDArray[np.float64]
    """By which each joint is turned beyond what it allows [rad], shape (j,)."""
    rod_length: NDArray[np.float64]
    """Error of each rod's length [m], shape (r,), signed."""
    rod_angle: NDArray[np.float64]
    """By which each rod is not an arc, or bent or twisted too far [rad], shape (r,)."""

    @property
    def dislocation(self) -> float:
        """Sum of all that is apart [m]."""
        return float(self.joint_gap.sum() + np.abs(self.rod_length).sum())

    @property
    def violation(self) -> float:
        """Sum of all that is turned too far [rad]."""
        return float(self.joint_angle.sum() + self.rod_angle.sum())


def residuals(state, joints, rods) -> Residuals:
    """Errors of the joints and rods of bodies in a state."""
    joint, rod = np.zeros((len(joints.body), 2)), np.zeros((len(rods.body), 2))
    measure_joints(state, joints, joint)
    measure_rods(state, rods, rod)
    return Residuals(joint[:, 0], joint[:, 1], rod[:, 0], rod[:, 1])
