"""Elastic energy, forces and stiffness of a body: the kernels for its kind of element and material.

The stiffness is positive semi-definite for every differential. Laws of volume take the Hessian with its negative
eigenvalues set to zero; but, unless "projected" is asked for, by their size at points that are stretched, squeezed or
swollen to a half or twice of what they were (Chen, Liu, Levin, Zheng, Jacobson 2024, "Stabler Neo-Hookean Simulation:
Absolute Eigenvalue Filtering for Projected Newton", arXiv:2406.05928). They are large there. With no stiffness in their
place Newton's steps overshoot so far that the line search leaves next to nothing of them, for the whole body. Nearer to
rest zero arrives sooner.

Co-rotated bodies have three, which differ in the three twist modes R^T dF = -(R^T dF)^T only, whose exact eigenvalues
are 2 mu - 2 (2 mu - lambda tr e) / (s_i + s_j):
- "hybrid": 2 mu c with c = mean |e_ii|, eqs. (3.22)-(3.23) of the thesis on interactive co-rotational FEM;
- "twist": 2 mu c with c from the exact eigenvalue at the mean stretch, no less than zero. The same cost, and half the
  error of a single Newton step on the cantilever of benchmarks/dynamics.py, since bending compresses as much as it
  stretches and c of eq. (3.22) cannot tell the two apart;
- "projected": exact, negative eigenvalues set to zero. Needs an SVD per quadrature point.
"""

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.materials.laws_kernels import NEEDS_ROTATION
from jellycage.sim.rotations import ROTATIONS
from jellycage.sim.soft.degeneration_kernels import (
    PATIENCE,
    hex_follow_degeneration,
    tet_follow_degeneration,
)
from jellycage.sim.soft.elasticity_kernels import (
    hex_add_stiffness,
    hex_energy_and_forces,
    tet_add_stiffness,
    tet_energy_and_forces,
)
from jellycage.sim.soft.gradient_kernels import (
    QuadraturePoints,
    hex_determinants,
    tet_determinants,
)
from jellycage.sim.soft.hourglass_kernels import (
    add_hourglass_stiffness,
    hourglass_energy_and_forces,
)

DIFFERENTIALS = ("twist", "hybrid", "projected")

_ENERGY = {4: tet_energy_and_forces, 8: hex_energy_and_forces}
_STIFFNESS = {4: tet_add_stiffness, 8: hex_add_stiffness}
_DEGENERATION = {4: tet_follow_degeneration, 8: hex_follow_degeneration}
_DETERMINANTS = {4: tet_determinants, 8: hex_determinants}


def points_at_rest(count: int) -> QuadraturePoints:
    """So many quadrature points, sound and not turned."""
    rotation = np.zeros((count, 4))
    rotation[:, 0] = 1.0
    return QuadraturePoints(
        rotation=rotation,
        stretch=np.zeros((count, 2)),
        collapse_pair=np.zeros(count, np.int8),
        degenerate_time=np.zeros(count),
    )


def energy_and_forces(body, x, points: QuadraturePoints, out_force) -> tuple[float, int]:
    """Elastic energy [J] at node positions x (n, 3) and how many points are degenerate; adds the forces [N]."""
    energy, degenerate = _ENERGY[body.corner_count](x, body.batch, points, out_force)
    if body.hourglass is not None:
        energy += hourglass_energy_and_forces(x, body.hourglass, out_force)
    return energy, degenerate


def add_stiffness(body, x, points: QuadraturePoints, differential: str, out_blocks) -> None:
    """Add the positive semi-definite stiffness [N/m] at x (n, 3) to the upper blocks of body.pattern, (9k,).

    The rotations and stretches of the points are what `energy_and_forces` found at x.
    """
    kind = DIFFERENTIALS.index(differential)
    _STIFFNESS[body.corner_count](x, body.batch, points, kind, out_blocks)
    if body.hourglass is not None:
        add_hourglass_stiffness(x, body.hourglass, out_blocks)


def follow_degeneration(body, x_from, x_to, dt, memory) -> int:
    """Note which quadrature points collapsed on the way from x_from to x_to, which took dt [s], and which came back.

    memory: holds `rotation`, `collapse_pair` and `degenerate_time` of the points. Returns how many are collapsed at
    x_to; 0 where the rotation method does not follow collapse.
    """
    if not ROTATIONS[body.rotation_method].FOLLOWS_COLLAPSE:
        return 0
    e = body.elements
    return _DEGENERATION[body.corner_count](
        x_from,
        x_to,
        e.corners,
        e.gradients,
        dt,
        memory["collapse_pair"],
        memory["degenerate_time"],
        memory["rotation"],
    )


def are_rescued(body, memory) -> NDArray[np.bool_]:
    """Whether each quadrature point is degenerate and has another energy than its material's, shape (q,).

    That one changes from step to step, so its forces are not conservative.
    """
    is_rescued = memory["collapse_pair"] != 0
    if not NEEDS_ROTATION[body.material.law]:
        is_rescued &= memory["degenerate_time"] >= PATIENCE
    return is_rescued


def determinants(body, x) -> NDArray[np.float64]:
    """det F at every quadrature point: 1 at rest, 0 where collapsed, negative where inverted, shape (q,)."""
    return _DETERMINANTS[body.corner_count](x, body.elements.corners, body.elements.gradients)
