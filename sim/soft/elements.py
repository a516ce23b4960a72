"""Finite elements of a cage: where the deformation gradient is measured, and what each element weighs.

Linear tets have one quadrature point. Trilinear hexes have eight, or one with hourglass control: Belytschko, Bindeman
1993, doi:10.1016/0045-7825(93)90124-G, and thesis on constraint-based soft bodies, sec. 4.3.

One-point hexes do not feel the four hourglass modes gamma_i of eq. (4.33); `hourglass` says what those cost.

Where solid fills only part of a hex, its point is the centre of the solid, so that a layer bends with the lever arm it
has; or rather lies a little OUTWARD of it. What the corners cannot show of bending there is in `enhancement`.

Limitations: one-point hexes use the gradient at their centre, which passes the patch test for parallelepipeds only.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.errors import SettingsError
from jellycage.toolkit.arrays import frozen
from jellycage.toolkit.cage.element_tables import CUBE_CORNERS

OUTWARD = 1.1  # times as far from the middle as the solid: of 1.0 to 1.2, where turned bars bend and stretch best
TRACE = 0.001  # of the void in an element, taken for solid too
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
    fill: NDArray[np.float64]
    """Share of each element that is solid, shape (e,)."""
    hourglass_modes: NDArray[np.float64]
    """gamma_i of every element, about its point, shape (e, 4, 8); (0, 4, 8) where no control is needed."""
    hourglass_axes: NDArray[np.float64]
    """Gradients of the coordinates in [-1, 1]^3 of every such element [1/m], shape (e, 3, 3) or (0, 3, 3)."""
    hourglass_spread: NDArray[np.float64]
    """Mean square of the solid's distances from its point in these coordinates, shape (e, 3, 3) or (0, 3, 3)."""
    hourglass_at: NDArray[np.float64]
    """Where the centre of the solid is in these coordinates, shape (e, 3) or (0, 3)."""
    source: NDArray[np.int64] | None = None
    """Element that each element of the cage is a part of; None: they are the same."""

    def gathered(self, values, volumes) -> NDArray[np.float64]:
        """Values (s, ...) of the elements of the cage as means over those of each element here, by volumes (s,)."""
        if self.source is None:
            return values
        total = np.zeros((len(self.corners), *values.shape[1:]))
        np.add.at(total, self.source, volumes.reshape(-1, *(1,) * (values.ndim - 1)) * values)
        whole = np.bincount(self.source, volumes, len(total))
        return total / whole.reshape(-1, *(1,) * (values.ndim - 1))

    @property
    def element_volumes(self) -> NDArray[np.float64]:
        """Rest volume of each element [m^3], shape (e,)."""
        return self.volumes.reshape(len(self.corners), -1).sum(axis=1)


def elements_of(
    nodes, corners, *, quadrature: int = 1, fill=None, centres=None, spread=None
) -> Elements:
    """Quadrature of tets (corners (e, 4)) or hexes ((e, 8), `quadrature` 1 with hourglass control, or 8).

    fill: share of each element that is solid, shape (e,); None: all. centres: centre of the solid in each element [m],
    shape (e, 3), or None for the middles; one-point hexes measure strain there. spread: mean square of its distances
    from there, (00, 11, 22, 01, 02, 12) [m^2], shape (e, 6), or None for that of whole elements.
    """
    nodes = frozen(np.asarray(nodes, np.float64))
    corners = frozen(np.asarray(corners, np.int32))
    if corners.shape[1] == 4:
        gradients, volumes = tet_quadrature(nodes[corners])
    elif quadrature == 8:
        gradients, volumes = _hex_quadrature(nodes[corners], HOURGLASS_SIGNS[None] / np.sqrt(3.0))
    elif quadrature == 1:
        if spread is not None:
            fill, centres, spread = traced(nodes[corners], fill, centres, full_matrix(spread))
        at = hex_coordinates(nodes[corners], centres)
        where = at if spread is None else OUTWARD * at
        gradients, volumes = _hex_quadrature(nodes[corners], where[:, None])
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
    fill = np.ones(len(corners)) if fill is None else fill
    hourglass = [np.zeros((0, *shape)) for shape in ((4, 8), (3, 3), (3, 3), (3,))]
    if corners.shape[1] == 8 and quadrature == 1:
        hourglass = _hourglass(nodes[corners], gradients, at, spread)
    arrays = (frozen(array) for array in (gradients, volumes, fill, *hourglass))
    return Elements(nodes, corners, *arrays)


def traced(x, fill, centres, spread):
    """(fill, centres, spread) of the solid in elements x (e, 4 or 8, 3), with a trace of solid in their void too.

    centres [m] (e, 3), spread [m^2] (e, 3, 3). A corner that only reaches into an element with next to no solid, far
    away from it, would have nothing that holds it.
    """
    middle = x.mean(axis=1)
    away = x - middle[:, None]
    whole = np.einsum("eai,eaj->eij", away, away) / (20.0 if x.shape[1] == 4 else 24.0)
    total = with_trace(fill)
    share = (fill / total)[:, None]
    offset = centres - middle
    centre = share * offset
    square = spread + offset[:, :, None] * offset[:, None, :]
    square = share[:, :, None] * square + (1.0 - share[:, :, None]) * whole
    return total, middle + centre, square - centre[:, :, None] * centre[:, None, :]


def with_trace(fill):
    """Share of elements that is solid, with a trace of it in their void too, shape (e,)."""
    return np.asarray(fill) + TRACE * (1.0 - np.asarray(fill))


def full_matrix(six):
    """Symmetric matrices (e, 3, 3) of (00, 11, 22, 01, 02, 12), shape (e, 6)."""
    return six[:, [0, 3, 4, 3, 1, 5, 4, 5, 2]].reshape(-1, 3, 3)


def tet_quadrature(x):
    edges = np.moveaxis(x[:, 1:] - x[:, :1], 1, 2)
    volumes = np.linalg.det(edges) / 6.0
    flat = ~(volumes > 0.0)
    inverse = np.linalg.inv(np.where(flat[:, None, None], np.eye(3), edges))
    gradients = np.concatenate([-inverse.sum(axis=1, keepdims=True), inverse], axis=1)
    return gradients, volumes


def hex_coordinates(x, points):
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


def mode_slopes(axes, at):
    """What the gradient of each mode is OUTWARD of the point it is about, (e, 4, 3), with that at (e, 3) in the hex."""
    s, t, u = (OUTWARD - 1.0) * at.T
    none = np.zeros_like(s)
    rows = ((none, u, t), (u, none, s), (t, s, none), (t * u, u * s, s * t))
    return np.einsum("kde,edi->eki", np.array(rows), axes)


def _hourglass(x, gradients, at, spread):
    """Modes gamma_i (eq. 4.33) about points `at`, gradients of the coordinates and spread of every one-point hex."""
    s, t, u = HOURGLASS_SIGNS.T
    patterns = np.stack([t * u, u * s, s * t, s * t * u])  # (4, 8)
    moments = np.einsum("ia,eaj->eij", patterns, x)
    modes = (patterns - np.einsum("eij,eaj->eia", moments, gradients)) / 8.0
    # About the point: of all three coordinates, the product of two has the third one's share.
    modes[:, :3] += at[:, :, None] * modes[:, 3:]
    axes = np.linalg.inv(np.einsum("eai,ad->eid", x, HOURGLASS_SIGNS) / 8.0)
    if spread is None:  # whole elements, wherever their point is
        return modes, axes, np.broadcast_to(np.eye(3) / 3.0, axes.shape), np.zeros_like(at)
    return modes, axes, axes @ spread @ axes.transpose(0, 2, 1), at
