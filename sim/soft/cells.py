"""Elements of a cage that was cut from a lattice: each cube of it is one, whatever tets are left of it.

A linear tet cannot bend, so a cage of them is too stiff wherever it is coarse: a bar of one and a half cells across
bends half as far as it should. The five tets of a cube together can. Their mean deformation gradient, weighted by the
solid in each of them, is where the material is asked, as at the one point of a hex; what the tets differ by is bending
and twist, and costs what that costs (`hourglass`).

The mean gradient alone makes constant stress exact, for it makes the forces that the tets would make together, but
tets take bending for strain. The gradient of the modes themselves, at the centre of the solid, does not. Of what makes
the difference a share, INTERPOLATED, is taken as it is, and the rest so that it is orthogonal to constant stress
(`enhancement`).

Cubes with missing corners, at the border of a cage, have fewer modes: those that fit their nodes best. A tet alone has
none and is a linear tet.
"""

import numpy as np
from numpy.typing import NDArray

from jellycage.sim.soft.elements import (
    HOURGLASS_SIGNS,
    Elements,
    full_matrix,
    hex_coordinates,
    mode_slopes,
    tet_quadrature,
    traced,
)
from jellycage.sim.soft.enhancement import orthogonal
from jellycage.toolkit.arrays import frozen
from jellycage.toolkit.asset.asset import Asset
from jellycage.toolkit.cage.cubes import cubes_of_tets

INTERPOLATED = 0.25  # the greatest share with which bars stretch within 3 % of what they should
LEAST_FIT = 0.1  # of the modes of a whole cube: what nodes hardly show of a mode is left to their neighbours
LONE_CORNER = (1 / 2, 1 / 6, 1 / 6, 1 / 6)  # its first, in the lattice's tets 1 to 4
FARTHEST = 0.8  # from the middle of a cube that weight counts: far corners keep some of it


def knows_solid(asset) -> bool:
    """Whether a cage is from a lattice, and where the solid is in its elements is known."""
    return isinstance(asset, Asset) and asset.cage_spread is not None and "grid_shape" in asset.meta


def cells_of(asset: Asset) -> Elements:
    """The cubes of an asset of tets as elements with eight corners; those that are missing repeat another."""
    nodes, tets = np.asarray(asset.cage_nodes), asset.cage_tets
    cubes, of_tet = cubes_of_tets(tets, asset.element_cell, asset.meta["grid_shape"])
    is_there = cubes >= 0
    first = cubes[np.arange(len(cubes)), is_there.argmax(axis=1)]
    corners = np.where(is_there, cubes, first[:, None])
    tet_gradients, tet_volumes = tet_quadrature(nodes[tets])
    volumes = np.bincount(of_tet, tet_volumes)
    spread = full_matrix(asset.cage_spread)
    fill, centre, spread = traced(nodes[tets], asset.cage_fill, asset.cage_centre, spread)
    solid = np.bincount(of_tet, tet_volumes * fill)
    share = tet_volumes * fill / solid[of_tet]
    slot = (cubes[of_tet][:, None, :] == tets[:, :, None]).argmax(axis=2)
    gradients = np.zeros((len(cubes), 8, 3))
    np.add.at(gradients, (of_tet[:, None], slot), share[:, None, None] * tet_gradients)
    centre, spread = _gathered(centre, spread, share, of_tet, len(cubes))
    modes, axes, patterns, at = _modes(nodes[corners], is_there, centre)
    seen = np.einsum("cai,cak->cki", gradients, patterns)  # of each mode, by the mean gradient
    slopes = mode_slopes(axes, at) - INTERPOLATED * seen
    missing = (INTERPOLATED - 1.0) * seen
    slopes += orthogonal(corners, solid[:, None, None] * modes, missing, len(nodes))
    arrays = (
        gradients + np.einsum("cka,cki->cai", modes, slopes),
        volumes,
        solid / volumes,
        modes,
        axes,
        axes @ spread @ axes.transpose(0, 2, 1),
        at,
    )
    return Elements(frozen(nodes), frozen(corners), *map(frozen, arrays), source=frozen(of_tet))


def mass_shares(asset: Asset) -> NDArray[np.float64]:
    """What each corner of each element of a cage has of the solid in it if cubes are one element, shape (e, 4 or 8).

    Weight is shared out as pressure is by the gradient of the element, or hourglass modes would have to carry the
    difference, and surfaces show it as a chequerboard. The mean gradient of five tets takes a third of what presses on
    a face to each of the two corners that its diagonal joins, and a sixth to the others, while tets on their own give
    one kind of nodes five times as much as the other. So the lone corner of a tet that is cut off a cube gets half of
    it. Hexes give to each corner what it has at the centre of the solid.
    """
    if asset.cage_tets is None:
        at = hex_coordinates(asset.cage_nodes[asset.cage_hexes], asset.cage_centre)
        at = np.clip(at, -FARTHEST, FARTHEST)
        return np.prod(1.0 + HOURGLASS_SIGNS * at[:, None, :], axis=2) / 8.0
    _, of_tet = cubes_of_tets(asset.cage_tets, asset.element_cell, asset.meta["grid_shape"])
    shares = np.full((len(of_tet), 4), 0.25)
    is_cut_off = (np.bincount(of_tet)[of_tet] > 1) & (asset.element_cell % 5 > 0)
    shares[is_cut_off] = LONE_CORNER
    return shares


def _gathered(centres, spread, share, of_tet, count):
    """Centre (c, 3) [m] and spread (c, 3, 3) [m^2] of the solid in cubes, from that in tets, with shares (t,) in it."""

    def mean(columns):
        return np.stack([np.bincount(of_tet, share * column, count) for column in columns], axis=1)

    centre = mean(centres.T)
    away = centres - centre[of_tet]
    square = (spread + away[:, :, None] * away[:, None, :]).reshape(-1, 9)
    return centre, mean(square.T).reshape(-1, 3, 3)


def _modes(x, is_there, centre):
    """(modes, axes, patterns, at) of cubes with corners x (c, 8, 3) that are there (c, 8), about centres (c, 3).

    Coordinates are the affine ones that come nearest to those of the cube in the lattice, before the fit has moved it:
    axes (c, 3, 3) are their gradients, at (c, 3) is where the centres lie in them. patterns (c, 8, 4): psi_i at the
    corners; modes (c, 4, 8) read from nodes how much of each there is.
    """
    kept = is_there[:, :, None].astype(float)
    count = kept.sum(axis=1, keepdims=True)
    xi = np.broadcast_to(HOURGLASS_SIGNS, x.shape)
    off_x, off_xi = (kept * (y - (kept * y).sum(axis=1, keepdims=True) / count) for y in (x, xi))
    axes = np.linalg.solve(off_x.transpose(0, 2, 1) @ off_x, off_x.transpose(0, 2, 1) @ off_xi)
    axes = axes.transpose(0, 2, 1)  # rows: gradients of xi_d
    y = kept * np.einsum("cdi,cai->cad", axes, x - centre[:, None])
    at = ((kept * xi - y).sum(axis=1, keepdims=True) / count)[:, 0]
    s, t, u = np.moveaxis(y, 2, 0)
    patterns = np.stack([t * u, u * s, s * t, s * t * u], axis=2)  # (c, 8, 4)
    affine = np.concatenate([kept, y], axis=2)
    beside = kept * (patterns - affine @ np.linalg.pinv(affine) @ patterns)
    square = beside.transpose(0, 2, 1) @ beside + 8.0 * LEAST_FIT**2 * np.eye(4)
    modes = np.linalg.solve(square, beside.transpose(0, 2, 1))
    return modes, axes, patterns, np.clip(at, -1.0, 1.0)
