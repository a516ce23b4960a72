"""What the hourglass modes of a one-point hex cost, each its own.

In coordinates xi_d in [-1, 1] a parallelepiped moves as x = c + F X + sum_i q_i psi_i, where psi_i, i = 0..2, is the
product of the two coordinates other than xi_i, and psi_3 that of all three; q_i = sum_a gamma_ia x_a. Its point feels
F alone. With g_d = grad xi_d, the displacement gradient along coordinate d changes by

    H_d = sum_{e != d} q_f g_e^T + s_d g_d^T,   f the third axis,

per unit of xi_d. The last term, a second derivative along d itself, is not in the trilinear element; what is not is
free, so s_d is the one of least energy. This leaves plane stress across g_d: bending costs E, twist costs shear, and
neither the shear that locks fully integrated hexes. The energy is

    1/2 sum_i k |q_i|^2 + 1/2 sum_ij p_i . A_ij p_j,   p_i = F^T q_i,

objective as it stands: q_i turns with the body as F does, and vanishes where x is affine. The form at rest is k + A, k
its least eigenvalue, which holds on to the modes of a hex that is pressed flat.

Solid that fills a hex in part has its point at its centre, the modes are those about it, and the mean of xi_d xi_e over
the solid, its spread, stands for the mean over the cube: a thin layer bends as a thin layer does.

A corner that only a hex with hardly any solid has is held by next to nothing: F at the solid hardly depends on it, and
the modes cost as little as there is solid. Where the body around is strained, or a pin holds a point of the hex, it is
what gives way, and may end up many sizes of the body off. Floors under fill or spread that hold it bend bars less and
stretch them less. So such hexes have a tether: free until they are drawn out to twice their size, and then as stiff as
a share of solid in their void would be, the stiffer the further. And they have a prop, which does the same when they
have lost half of their volume: their neighbours would turn them inside out, and the body would be long in recovering.
"""

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.soft.elements import Elements

LEAST_SPREAD = 0.02  # of that of a whole cube: a thread keeps some hold on its modes
TETHERED = 0.2  # share of solid below which hexes are tethered
TETHER = 0.1  # of the stiffness of solid in the void of an empty hex
MIXED = ((1, 2), (2, 0), (0, 1))
"""The coordinates of psi_i, i < 3."""


def hourglass_forms(
    elements: Elements, poisson_ratio
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """k (e,) and A (e, 12, 12) of one-point hexes full of solid of 1 Pa [m], rows (mode, direction)."""
    g = elements.hourglass_axes
    spread, mu, lam = _solid(elements, poisson_ratio)
    form = np.zeros((len(g), 4, 3, 4, 3))
    form[:, :3, :, :3, :] = _condensed(_second_order(g, spread, mu, lam)).reshape(-1, 3, 3, 3, 3)
    square = np.einsum("edd->ed", spread)
    for d, (e, f) in enumerate(MIXED):
        share = (square[:, e] * square[:, f])[:, None, None]
        form[:, 3, :, 3, :] += share * _stretched(g[:, d], mu)
    form = form.reshape(-1, 12, 12) * elements.element_volumes[:, None, None]
    least = np.linalg.eigvalsh(form)[:, 0]
    return least, form - least[:, None, None] * np.eye(12)


def tethers(elements: Elements) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """c_a of the corners (e, 8) [1/m^2] and stiffness (e,) for 1 Pa [m^3] of tethers, see `Hourglass`.

    Corners that repeat another one have none.
    """
    corners = elements.corners
    is_first = (corners[:, :, None] == corners[:, None, :]).argmax(axis=2) == np.arange(8)
    x = elements.nodes[corners]
    middle = np.einsum("ea,eai->ei", is_first, x) / is_first.sum(axis=1, keepdims=True)
    away = (x - middle[:, None]) * is_first[:, :, None]
    spans = is_first / (away * away).sum(axis=(1, 2))[:, None]
    void = np.maximum(1.0 - elements.fill / TETHERED, 0.0)
    return spans, TETHER * void * elements.element_volumes


def pure_derivatives(elements: Elements, poisson_ratio) -> NDArray[np.float64]:
    """Second derivatives along single axes that modes of two axes drive, (e, 3, direction, 3 modes, direction)."""
    form = _second_order(elements.hourglass_axes, *_solid(elements, poisson_ratio))
    return -np.linalg.solve(form[:, 9:, 9:], form[:, 9:, :9]).reshape(-1, 3, 3, 3, 3)


def _solid(elements, poisson_ratio):
    """(spread, mu, lambda) of the solid in each element, of 1 Pa."""
    spread = (1.0 - LEAST_SPREAD) * elements.hourglass_spread + LEAST_SPREAD * np.eye(3) / 3.0
    nu = np.broadcast_to(poisson_ratio, len(spread))
    return spread, 0.5 / (1.0 + nu), nu / ((1.0 + nu) * (1.0 - 2.0 * nu))


def _second_order(g, spread, mu, lam):
    """Mean energy of second derivatives w_de (e, 3): of the mixed ones, then of the pure ones, shape (e, 6, 3, 6, 3).

    With H_d = sum_e w_de g_e^T it is the sum of spread_df H_d : C : H_f; two terms w g^T, w' g'^T of it have the energy
    w . (lambda g g'^T + mu ((g.g') I + g' g^T)) w'.
    """
    outer = g[:, :, :, None, None] * g[:, None, None, :, :]  # (e, a, i, b, j): g_a,i g_b,j
    dots = np.einsum("eaibi->eab", outer)
    pair = lam[:, None, None, None, None] * outer + mu[:, None, None, None, None] * (
        outer.transpose(0, 1, 4, 3, 2) + dots[:, :, None, :, None] * np.eye(3)[:, None, :]
    )
    row = {(d, d): 3 + d for d in range(3)}
    for i, (d, e) in enumerate(MIXED):
        row[d, e] = row[e, d] = i
    form = np.zeros((len(g), 6, 3, 6, 3))
    for (d, a), m in row.items():
        for (f, b), n in row.items():
            form[:, m, :, n, :] += spread[:, d, f, None, None] * pair[:, a, :, b, :]
    return form.reshape(-1, 18, 18)


def _condensed(form):
    """What is left of a form (e, 18, 18) in the mixed derivatives if the pure ones take the least energy: (e, 9, 9)."""
    free = np.linalg.solve(form[:, 9:, 9:], form[:, 9:, :9])
    return form[:, :9, :9] - np.einsum("eki,ekj->eij", form[:, 9:, :9], free)


def _stretched(g, mu):
    """Energy of H = q g^T (e, 3) that stretches without being held sideways, as a form in q: (e, 3, 3)."""
    outer = g[:, :, None] * g[:, None, :]
    square = (g * g).sum(axis=1)[:, None, None]
    return outer + mu[:, None, None] * (square * np.eye(3) - outer)
