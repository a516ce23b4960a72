"""Finite elements of a cage: where the deformation gradient is measured, and what each element weighs.

Linear tets have one quadrature point. Trilinear hexes have eight, or one with hourglass control: Belytschko, Bindeman
1993, doi:10.1016/0045-7825(93)90124-G, and thesis on constraint-based soft bodies, sec. 4.3.

One-point hexes do not feel the four hourglass modes gamma_i of eq. (4.33). Their energy, after eq. (4.34), is here

    1/2 sum_i ( k_i |q_i|^2 + (F^T q_i) . A_i (F^T q_i) ),   q_i = sum_a gamma_ia x_a.

It is objective as it stands, without a co-rotated frame: q_i turns with the body as F does, and vanishes where x is
affine. Its default stiffness is that of pure bending, from the material alone. A cuboid of edges h bent about one axis
moves by q (2X/hx)(2Y/hy) along x; its strain energy is E/2 V q^2 (4/hx^2)/3, free of the shear that locks fully
integrated hexes. So along an axis d of the pattern k_id = (4/3) E V / h_d^2, across its two axes the mean of theirs,
and a third of that for the pattern of all three axes. k_i is the smallest of the three and A_i the rest, none for
cubes.

Where solid fills only part of a hex, its point is the centre of the solid, so that a layer bends with the lever arm it
has. What the point does not feel is then the spread of the solid about it: a layer with its centre at xi along its
normal is 1 - |xi| thick, and k is less by the square of that.

Limitations: one-point hexes use the gradient at their centre, which passes the patch test for parallelepipeds only.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.errors import SettingsError
from jellycage.toolkit.arrays import frozen
from jellycage.toolkit.cage.element_tables import CUBE_CORNERS

LEAST_SPREAD = 0.2  # thinner layers keep some control of their modes
HOURGLASS_SIGNS = 2.0 * CUBE_CORNERS - 1.0
"""Corner coordinates in [-1, 1]^3, shape (8, 3)."""


@dataclass(frozen=True, eq=False)
class Elements:
    """Elements with their quadrature, of one kind."""

    nodes: NDArray[np.float64]
    """Rest positions [m], shape (n, 3)."""
    corners: NDArray[np.int32]
    """Node indices, shape (e, 4) or (e, 8)."""
    gradients: NDArray[np.float64]
    """Rest gradients of the shape functions [1/m], shape (q, 4 or 8, 3); the points of an element are consecutive."""
    volumes: NDArray[np.float64]
    """Rest volume that each quadrature point stands for [m^3], shape (q,)."""
    hourglass_modes: NDArray[np.float64]
    """gamma_i of every element, shape (e, 4, 8); (0, 4, 8) where no control is needed."""
    hourglass_scale: NDArray[np.float64]
    """k_i for a Young modulus of 1 Pa [m], shape (e, 4) or (0, 4)."""
    hourglass_rest: NDArray[np.float64]
    """A_i for a Young modulus of 1 Pa as (00, 11, 22, 01, 02, 12) [m], shape (e, 4, 6), or (0, 4, 6) for cubes."""

    @property
    def element_volumes(self) -> NDArray[np.float64]:
        """Rest volume of each element [m^3], shape (e,)."""
        return self.volumes.reshape(len(self.corners), -1).sum(axis=1)


def elements_of(nodes, corners, *, quadrature: int = 1, centres=None) -> Elements:
    """Quadrature of tets (corners (e, 4)) or hexes ((e, 8), `quadrature` 1 with hourglass control, or 8).

    centres: centre of the solid in each element [m], shape (e, 3), or None for the middles. One-point hexes measure
    strain there.
    """
    nodes = frozen(np.asarray(nodes, np.float64))
    corners = frozen(np.asarray(corners, np.int32))
    if corners.shape[1] == 4:
        gradients, volumes = _tet_quadrature(nodes[corners])
    elif quadrature == 8:
        gradients, volumes = _hex_quadrature(nodes[corners], HOURGLASS_SIGNS[None] / np.sqrt(3.0))
    elif quadrature == 1:
        at = _hex_coordinates(nodes[corners], centres)
        gradients, volumes = _hex_quadrature(nodes[corners], at[:, None])
    else:
        raise SettingsError(f"quadrature: expected 1 or 8 points per hex, got {quadrature}")
    if not len(corners):
        raise SettingsError("elements: the cage has none; give it at least one tet or hex")
    bad = np.flatnonzero(~(volumes > 0.0))
    if len(bad):
        points = len(volumes) // len(corners)
        raise SettingsError(
            f"elements: element {bad[0] // points} has no positive rest volume; "
            "build the cage again or reorder its corners"
        )
    hourglass = np.zeros((0, 4, 8)), np.zeros((0, 4)), np.zeros((0, 4, 6))
    if corners.shape[1] == 8 and quadrature == 1:
        hourglass = _hourglass(nodes[corners], gradients, volumes, at)
    arrays = (frozen(array) for array in (gradients, volumes, *hourglass))
    return Elements(nodes, corners, *arrays)


def _tet_quadrature(x):
    edges = np.moveaxis(x[:, 1:] - x[:, :1], 1, 2)
    volumes = np.linalg.det(edges) / 6.0
    flat = ~(volumes > 0.0)
    inverse = np.linalg.inv(np.where(flat[:, None, None], np.eye(3), edges))
    gradients = np.concatenate([-inverse.sum(axis=1, keepdims=True), inverse], axis=1)
    return gradients, volumes


def _hex_coordinates(x, points):
    """Where points (e, 3) lie in parallelepipeds x (e, 8, 3) taken as the cube [-1, 1]^3; None: in the middle."""
    if points is None:
        return np.zeros((len(x), 3))
    jacobians = np.einsum("eai,aj->eij", x, HOURGLASS_SIGNS / 8.0)
    at = np.linalg.solve(jacobians, (points - x.mean(axis=1))[:, :, None])[:, :, 0]
    return np.clip(at, -1.0, 1.0)


def _hex_quadrature(x, where):
    """Gradients and volumes at points `where` of the cube [-1, 1]^3, shape (e or 1, points, 3), all of one weight."""
    slopes = np.broadcast_to(_shape_gradients(where), (len(x), *where.shape[1:2], 8, 3))
    jacobians = np.einsum("eai,epaj->epij", x, slopes)
    volumes = np.linalg.det(jacobians) * (8.0 / where.shape[1])
    flat = ~(volumes > 0.0)
    inverse = np.linalg.inv(np.where(flat[..., None, None], np.eye(3), jacobians))
    gradients = np.einsum("epaj,epji->epai", slopes, inverse)
    return gradients.reshape(-1, 8, 3), volumes.reshape(-1)


def _shape_gradients(xi):
    """Gradients of the eight trilinear shape functions at xi (..., 3) in [-1, 1]^3, shape (..., 8, 3)."""
    factors = 1.0 + HOURGLASS_SIGNS * xi[..., None, :]
    others = factors[..., [1, 0, 0]] * factors[..., [2, 2, 1]]
    return HOURGLASS_SIGNS * others / 8.0


def _hourglass(x, gradients, volumes, at):
    """Modes gamma_i (eq. 4.33), k_i and A_i of every one-point hex with its point `at` (e, 3) in [-1, 1]^3."""
    s, t, u = HOURGLASS_SIGNS.T
    patterns = np.stack([t * u, u * s, s * t, s * t * u])  # (4, 8)
    moments = np.einsum("ia,eaj->eij", patterns, x)
    modes = (patterns - np.einsum("eij,eaj->eia", moments, gradients)) / 8.0
    edges = np.einsum("eai,ad->eid", x, HOURGLASS_SIGNS) / 4.0  # column d: mean edge along axis d
    length = np.sqrt((edges * edges).sum(axis=1))
    spread = np.maximum(1.0 - np.abs(at), LEAST_SPREAD) ** 2
    stiffness = np.empty((len(x), 4, 3))
    for i in range(3):
        d, f = (d for d in range(3) if d != i)  # the axes of pattern i
        stiffness[:, i, d] = length[:, d] ** -2 * spread[:, f]
        stiffness[:, i, f] = length[:, f] ** -2 * spread[:, d]
        stiffness[:, i, i] = stiffness[:, i, [d, f]].mean(axis=1)
    stiffness[:, 3] = length**-2 * spread.prod(axis=1, keepdims=True) ** (1 / 3) / 3.0
    stiffness *= 4.0 / 3.0 * volumes[:, None, None]
    smallest = stiffness.min(axis=2)
    axes = edges / length[:, None, :]
    rest = np.einsum("eid,ead,ebd->eiab", stiffness - smallest[:, :, None], axes, axes)
    rest = rest[:, :, [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    if np.abs(rest).max() <= 1e-9 * stiffness.max():
        rest = rest[:0]
    return modes, smallest, rest
