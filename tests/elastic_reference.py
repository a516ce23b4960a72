"""Small-strain linear elasticity by scikit-fem: an oracle that shares no code with ours.

    python tests/elastic_reference.py

prints how the tip of the cantilever converges, which is where the numbers of TIP_DEFLECTION come from.

Degrees of freedom are ordered node by node: row 3 i + k of a matrix is component k of node i.
"""

import numpy as np
from beams import HEX_CORNERS, SIZE
from scipy.sparse import diags_array
from scipy.sparse.linalg import eigsh, spsolve
from skfem import (
    Basis,
    ElementHex1,
    ElementHex2,
    ElementTetP1,
    ElementVector,
    FacetBasis,
    Functional,
    LinearForm,
    MeshHex,
    MeshTet,
    asm,
    condense,
    solve,
    solver_iter_pcg,
)
from skfem.models.elasticity import lame_parameters, linear_elasticity

TIP_DEFLECTION = {0.35: 85.323, 0.45: 83.857}
"""Tip deflection of the beam of `beams.SIZE` under its own weight, times E / (density gravity) [m^2].

By Poisson ratio. From `tip_sequence`: 84.797, 85.240, 85.323 and 82.877, 83.636, 83.799, 83.857. The last refinement
changes each by less than 0.1 %, and it approaches from below: the limit is some 0.05 to 0.1 % higher.
"""


def stiffness_matrix(nodes, elements, young_modulus, poisson_ratio):
    """Sparse stiffness matrix [N/m], shape (3 n, 3 n), of linear tets (m, 4) or trilinear hexes (m, 8).

    Hexes have their corners in VTK order and are integrated with 2 x 2 x 2 Gauss points.
    """
    basis = _linear_basis(nodes, elements)
    matrix = linear_elasticity(*lame_parameters(young_modulus, poisson_ratio)).assemble(basis)
    dofs = basis.nodal_dofs.T.ravel()  # scikit-fem's row of our row
    return matrix.tocsr()[dofs][:, dofs]


def linear_displacement(nodes, elements, fixed, force, young_modulus, poisson_ratio):
    """Displacement of the nodes [m], shape (n, 3), under nodal forces (n, 3) [N] with nodes `fixed` clamped."""
    matrix = stiffness_matrix(nodes, elements, young_modulus, poisson_ratio)
    free = free_rows(len(nodes), fixed)
    result = np.zeros(3 * len(nodes))
    result[free] = spsolve(matrix[free][:, free].tocsc(), np.asarray(force, float).ravel()[free])
    return result.reshape(-1, 3)


def lumped_mass(nodes, tets, density):
    """Mass of each node [kg], shape (n,): a quarter of every tet around it."""
    corners = nodes[tets]
    volumes = np.linalg.det(corners[:, 1:] - corners[:, :1]) / 6.0
    shares = np.repeat(density * volumes / 4.0, 4)
    return np.bincount(tets.ravel(), weights=shares, minlength=len(nodes))


def first_frequency(nodes, tets, fixed, young_modulus, poisson_ratio, density):
    """Lowest natural frequency [Hz] of linear tets with lumped mass and nodes `fixed` clamped."""
    free = free_rows(len(nodes), fixed)
    matrix = stiffness_matrix(nodes, tets, young_modulus, poisson_ratio)[free][:, free]
    mass = diags_array(np.repeat(lumped_mass(nodes, tets, density), 3)[free]).tocsc()
    start = np.ones(len(free))  # eigsh would start at random
    lowest = eigsh(matrix.tocsc(), k=1, M=mass, sigma=0.0, v0=start, return_eigenvectors=False)
    return float(np.sqrt(lowest[0]) / (2.0 * np.pi))


def free_rows(node_count, fixed):
    """Rows of the matrices that belong to nodes which are not clamped."""
    is_free = np.ones((node_count, 3), bool)
    is_free[fixed] = False
    return np.flatnonzero(is_free)


def tip_displacement(young_modulus, poisson_ratio, density, gravity=9.81):
    """Converged vertical displacement [m] of the tip of the sagging beam of `beams.SIZE`: negative is down."""
    return -TIP_DEFLECTION[poisson_ratio] * density * gravity / young_modulus


def sagging_tip(poisson_ratio, refinement, size=SIZE):
    """Mean deflection of the end face times E / (density gravity) [m^2], by triquadratic hexes.

    The beam is clamped at x = 0 and loaded by its own weight; `refinement` cells lie across its width and height,
    finer towards the edges of the clamped face, where the stress is singular.
    """
    counts = (round(refinement * size[0] / size[1]), refinement, refinement)
    along, *across = (np.linspace(0.0, 1.0, n + 1) for n in counts)
    axes = [along**2, *(np.sin(0.5 * np.pi * s) ** 2 for s in across)]  # finer where stress peaks
    axes = [length * axis for length, axis in zip(size, axes, strict=True)]
    mesh = MeshHex.init_tensor(*axes)
    element = ElementVector(ElementHex2())
    basis = Basis(mesh, element, intorder=4)
    matrix = asm(linear_elasticity(*lame_parameters(1.0, poisson_ratio)), basis)
    load = asm(LinearForm(lambda v, w: v[2]), basis)
    clamped = basis.get_dofs(lambda x: x[0] < 1e-9 * size[0])
    conjugate_gradients = solver_iter_pcg(rtol=1e-9)  # factors would fill memory
    displacement = solve(*condense(matrix, load, D=clamped), solver=conjugate_gradients)
    tip = FacetBasis(
        mesh, element, facets=mesh.facets_satisfying(lambda x: x[0] > size[0] * (1.0 - 1e-9))
    )
    integral = asm(Functional(lambda w: w["u"][2]), tip, u=displacement)
    return float(integral / (size[1] * size[2]))


def tip_sequence(poisson_ratio, tolerance=0.001):
    """Yield (refinement, value) of `sagging_tip`, two cells more each time, until that changes it by less."""
    previous = np.inf
    for refinement in range(2, 13, 2):
        value = sagging_tip(poisson_ratio, refinement)
        yield refinement, value
        if abs(value - previous) < tolerance * abs(value):
            return
        previous = value
    raise AssertionError(f"the tip has not converged with {refinement} cells across")


def converged_tip(poisson_ratio, tolerance=0.001):
    """Last value of `tip_sequence` [m^2], to be compared with TIP_DEFLECTION."""
    *_, (_, value) = tip_sequence(poisson_ratio, tolerance)
    return value


def _linear_basis(nodes, elements):
    """scikit-fem basis of linear tets or trilinear hexes; the nodes keep their numbers."""
    points = np.ascontiguousarray(np.asarray(nodes, float).T)
    if elements.shape[1] == 4:
        mesh = MeshTet(points, np.ascontiguousarray(elements.T, np.int64))
        return Basis(mesh, ElementVector(ElementTetP1()), intorder=1)
    order = _corner_order(ElementHex1.refdom.p.T)
    mesh = MeshHex(points, np.ascontiguousarray(elements[:, order].T, np.int64))
    return Basis(mesh, ElementVector(ElementHex1()), intorder=3)


def _corner_order(reference_corners):
    """VTK number of each corner of scikit-fem's reference cube, which has an order of its own."""
    same = (reference_corners[:, None] == HEX_CORNERS[None]).all(axis=2)
    assert (same.sum(axis=1) == 1).all()
    return same.argmax(axis=1)


def main():
    for poisson_ratio in TIP_DEFLECTION:
        for refinement, value in tip_sequence(poisson_ratio):
            print(f"poisson_ratio {poisson_ratio}: {refinement} cells across, {value:.4f} m^2")


if __name__ == "__main__":
    main()
