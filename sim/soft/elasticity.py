"""Elastic energy, forces and stiffness of a body: the kernels for its kind of element and material.

The stiffness is positive semi-definite for every differential. Neo-Hookean bodies use the projected Hessian. Co-rotated
bodies have three, which differ in the three twist modes R^T dF = -(R^T dF)^T only, whose exact eigenvalues are
2 mu - 2 (2 mu - lambda tr e) / (s_i + s_j):
- "hybrid": 2 mu c with c = mean |e_ii|, eqs. (3.22)-(3.23) of the thesis on interactive co-rotational FEM;
- "twist": 2 mu c with c from the exact eigenvalue at the mean stretch, no less than zero. The same cost, and half the
  error of a single Newton step on the cantilever of benchmarks/dynamics.py, since bending compresses as much as it
  stretches and c of eq. (3.22) cannot tell the two apart;
- "projected": exact, negative eigenvalues set to zero. Needs an SVD per quadrature point.
"""

from jellycage.sim.soft import elasticity_kernels as kernels

DIFFERENTIALS = ("twist", "hybrid", "projected")

_KERNELS = {
    4: (
        kernels.tet_energy_and_forces,
        kernels.tet_add_stiffness,
        kernels.tet_follow_degeneration,
        kernels.tet_determinants,
    ),
    8: (
        kernels.hex_energy_and_forces,
        kernels.hex_add_stiffness,
        kernels.hex_follow_degeneration,
        kernels.hex_determinants,
    ),
}


def energy_and_forces(body, x, pair, trapped, out_rotation, out_stretch, out_force):
    """Elastic energy [J] at node positions x (n, 3) and how many points are degenerate; adds the forces [N]."""
    e = body.elements
    energy, degenerate = _KERNELS[e.corners.shape[1]][0](
        *(
            x,
            e.corners,
            e.gradients,
            body.solid_volumes,
            body.parameters,
            pair,
            trapped,
            body.material.law,
        ),
        *(out_rotation, out_stretch, out_force),
    )
    if len(e.hourglass_modes):
        energy += kernels.hourglass_energy_and_forces(
            x, e.corners, e.gradients, e.hourglass_modes, *body.hourglass_stiffness, out_force
        )
    return energy, degenerate


def add_stiffness(body, x, pair, trapped, rotation, stretch, differential, out_blocks) -> None:
    """Add the positive semi-definite stiffness [N/m] at x (n, 3) to the upper blocks of body.pattern, (9k,).

    rotation (q, 4) and stretch (q, 2) are what `energy_and_forces` found at x.
    """
    e, slots = body.elements, body.pattern.slots
    _KERNELS[e.corners.shape[1]][1](
        *(x, e.corners, slots, e.gradients, body.solid_volumes, body.parameters, pair, trapped),
        *(body.material.law, DIFFERENTIALS.index(differential), rotation, stretch, out_blocks),
    )
    if len(e.hourglass_modes):
        kernels.add_hourglass_stiffness(
            *(x, e.corners, slots, e.gradients, e.hourglass_modes),
            *(*body.hourglass_stiffness, out_blocks),
        )


def follow_degeneration(body, x_from, x_to, dt, out_pair, out_trapped, out_rotation) -> int:
    """Note which quadrature points collapsed on the way from x_from to x_to, which took dt [s], and which came back.

    Returns how many are collapsed at x_to. With "isvd" nothing is noted.
    """
    if body.rotation == "isvd":
        return 0
    e = body.elements
    return _KERNELS[e.corners.shape[1]][2](
        x_from, x_to, e.corners, e.gradients, dt, out_pair, out_trapped, out_rotation
    )


def determinants(body, x):
    """det F at every quadrature point: 1 at rest, 0 where collapsed, negative where inverted, shape (q,)."""
    e = body.elements
    return _KERNELS[e.corners.shape[1]][3](x, e.corners, e.gradients)
