"""Bars in cages, turned in space, against theory: how far they stretch, bend and twist under small loads.

A bar of length 1 m along its own x is held by its end at x = 0, and loaded at the other: along x, y, z by 1 N, and by a
torque of 1 N m about x. Held loosely, the mean motion and the mean turn of the end are none, so that the ends may warp
and beam theory is exact; pinned, as an artist does it, all vertices of the end are led to where they are.
"""

from dataclasses import replace
from functools import cache

import numpy as np
from scipy.integrate import solve_bvp
from scipy.sparse import bmat, bsr_array, coo_array, csr_array, dia_array, eye_array, kron
from scipy.sparse.linalg import eigsh, splu
from shapes import box, subdivided
from skfem import (
    Basis,
    BilinearForm,
    ElementHex2,
    ElementVector,
    FacetBasis,
    LinearForm,
    MeshHex,
    asm,
)
from skfem.helpers import dot
from skfem.models.elasticity import lame_parameters, linear_elasticity

from jellycage import sim, toolkit
from jellycage.sim.soft.elasticity import add_stiffness, points_at_rest

LOADS = ("stretch", "bend", "bend the other way", "twist")
TORSION = 0.140577  # J / t^4 of a square


def turn(seed):
    """A random rotation; none for a seed below zero."""
    if seed < 0:
        return np.eye(3)
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q * np.sign(np.linalg.det(q))


@cache
def bar(slenderness, seed, resolution, element):
    """(asset, vertices of the bar before it was turned) of a bar of that many thicknesses."""
    vertices, faces = subdivided(box((1.0, 1.0 / slenderness, 1.0 / slenderness)), 4)
    vertices = np.array(vertices) - [0.0, *(np.ptp(vertices, axis=0)[1:] / 2.0)]
    asset = toolkit.build_cage(
        (vertices @ turn(seed).T, faces), resolution=resolution, element=element, collision=False
    )
    return asset, vertices


def rest_stiffness(body):
    """Stiffness of a body at rest [N/m], shape (3 n, 3 n)."""
    blocks = np.zeros(9 * len(body.pattern.column))
    points = points_at_rest(len(body.elements.volumes))
    add_stiffness(body, np.array(body.elements.nodes), points, "projected", blocks)
    return assembled(body, blocks)


def assembled(body, blocks):
    """The symmetric matrix (3 n, 3 n) of the upper blocks of a body's pattern, (9k,)."""
    pattern, n = body.pattern, len(body.mass)
    arrays = blocks.reshape(-1, 3, 3), pattern.column, pattern.start
    upper = bsr_array(arrays, shape=(3 * n, 3 * n)).tocoo()
    is_off = upper.row // 3 != upper.col // 3
    lower = (upper.data[is_off], (upper.col[is_off], upper.row[is_off]))
    return upper.tocsr() + coo_array(lower, shape=upper.shape).tocsr()


def beam_theory(slenderness, poisson_ratio):
    """Displacements along their loads of a bar of 1 Pa: Timoshenko's beam, Saint-Venant's torsion."""
    t, shear = 1.0 / slenderness, 0.5 / (1.0 + poisson_ratio)
    kappa = 10.0 * (1.0 + poisson_ratio) / (12.0 + 11.0 * poisson_ratio)
    bent = 4.0 / t**4 + 1.0 / (kappa * shear * t * t)
    return np.array([1.0 / t**2, bent, bent, 1.0 / (shear * TORSION * t**4)])


@cache
def clamped_bar(slenderness, poisson_ratio):
    """The same of a bar whose end is held fast, by triquadratic hexes of scikit-fem."""
    t = 1.0 / slenderness
    across = t * np.sin(0.5 * np.pi * np.linspace(0.0, 1.0, 6)) ** 2  # finer where stress peaks
    along = np.linspace(0.0, 1.0, round(2.5 * slenderness) + 1) ** 1.3
    mesh = MeshHex.init_tensor(along, across, across)
    element = ElementVector(ElementHex2())
    basis = Basis(mesh, element, intorder=4)
    end = FacetBasis(
        mesh, element, facets=mesh.facets_satisfying(lambda x: x[0] > 1.0 - 1e-9), intorder=4
    )
    k = linear_elasticity(*lame_parameters(1.0, poisson_ratio)).assemble(basis)
    loads = [asm(LinearForm(lambda v, w, d=d: v[d] / t**2), end) for d in range(3)]
    polar = t**4 / 6.0
    loads.append(
        asm(
            LinearForm(
                lambda v, w: ((w.x[1] - t / 2) * v[2] - (w.x[2] - t / 2) * v[1]) / polar,
            ),
            end,
        )
    )
    held = basis.get_dofs(lambda x: x[0] < 1e-9).all()
    free = np.setdiff1d(np.arange(k.shape[0]), held)
    loads = np.stack(loads, axis=1)[free]
    return np.einsum("ij,ij->j", loads, splu(k[free][:, free].tocsc()).solve(loads))


def displacements(body, vertices, seed, *, is_pinned=False):
    """How far a body goes along each of the LOADS, in terms of theory, shape (4,)."""
    loads = _face(body.asset, vertices, seed, 1.0)[:, :4]
    if is_pinned:
        u = held_firmly(body, np.flatnonzero(vertices[:, 0] < 1e-9), loads)
    else:
        u = _held_loosely(body, vertices, seed, loads)
    theory = clamped_bar if is_pinned else beam_theory
    return np.einsum("ij,ij->j", loads, u) / theory(_slenderness(vertices), _poisson_ratio(body))


def other_displacements(body, vertices, seed):
    """What two loads do that nothing was chosen by, in terms of theory, along y and z each, shape (4,).

    How far the end sinks under the weight of the bar, and how far a torque turns it.
    """
    end = _face(body.asset, vertices, seed, 1.0)
    weight = [np.outer(body.mass / body.mass.sum(), turn(seed)[:, d]).ravel() for d in (1, 2)]
    loads = np.column_stack([*weight, end[:, 4:]])
    u = _held_loosely(body, vertices, seed, loads)
    seen = np.column_stack([end[:, 1:3], end[:, 4:]])
    t, nu = 1.0 / _slenderness(vertices), _poisson_ratio(body)
    kappa = 10.0 * (1.0 + nu) / (12.0 + 11.0 * nu)
    sunk = 12.0 / (8.0 * t**4) + (1.0 + nu) / (kappa * t * t)
    return np.einsum("ij,ij->j", seen, u) / ([sunk] * 2 + [12.0 / t**4] * 2)


def frequencies(body):
    """Of the first six free vibrations, ascending [rad/s], shape (6,)."""
    mass = dia_array((np.repeat(body.mass, 3)[None], [0]), shape=2 * (3 * len(body.mass),))
    return _free_vibrations(rest_stiffness(body), mass)


@cache
def true_frequencies(slenderness, poisson_ratio):
    """The same of a bar of 1 Pa and 1 kg/m^3, by triquadratic hexes of scikit-fem."""
    side = np.linspace(0.0, 1.0 / slenderness, 4)
    mesh = MeshHex.init_tensor(np.linspace(0.0, 1.0, 2 * slenderness + 1), side, side)
    basis = Basis(mesh, ElementVector(ElementHex2()), intorder=4)
    k = linear_elasticity(*lame_parameters(1.0, poisson_ratio)).assemble(basis)
    return _free_vibrations(k, asm(BilinearForm(lambda u, v, w: dot(u, v)), basis))


def bent_far(body, vertices, seed, load):
    """How far the end of a clamped bar goes along its load of P L^2 / E I, in lengths."""
    start, end = (np.flatnonzero(np.abs(vertices[:, 0] - x) < 1e-9) for x in (0.0, 1.0))
    stiffness = body.material.young_modulus / (12.0 * _slenderness(vertices) ** 4)
    down = turn(seed)[:, 2]
    force = sim.Force(sim.surface_points(body.asset, end), -load * stiffness / len(end) * down)
    held = sim.Pin(sim.surface_points(body.asset, start))
    bent = replace(body, pins=(held,), loads=(force,))
    found = sim.equilibrium(bent, gravity=(0.0, 0.0, 0.0))
    return -((bent.surface(found.x) - body.asset.surface_vertices)[end] @ down).mean()


@cache
def elastica(load, slenderness, poisson_ratio):
    """The same of a beam that turns, stretches and shears without limits (Reissner 1972, doi:10.1007/BF01602645)."""
    t = 1.0 / slenderness
    stretching = 12.0 / (t * t)  # E A in units of E I
    kappa = 10.0 * (1.0 + poisson_ratio) / (12.0 + 11.0 * poisson_ratio)
    shearing = kappa * 0.5 / (1.0 + poisson_ratio) * stretching

    def slopes(s, y):  # y: angle, its rate, deflection
        strain, shear = load * np.sin(y[0]) / stretching, load * np.cos(y[0]) / shearing
        down = (1.0 + strain) * np.sin(y[0]) + shear * np.cos(y[0])
        along = (1.0 + strain) * np.cos(y[0]) - shear * np.sin(y[0])
        return np.stack([y[1], -load * along, down])

    def ends(a, b):
        return np.array([a[0], b[1], a[2]])

    s = np.linspace(0.0, 1.0, 101)
    return solve_bvp(slopes, ends, s, np.stack([s, 1.0 - s, 0.5 * s]), tol=1e-8).y[2, -1]


def _free_vibrations(k, mass):
    low = 1e-3 * k.diagonal().max() / mass.diagonal().max()
    found = eigsh(k.tocsc(), 12, mass.tocsc(), sigma=-low, return_eigenvectors=False)
    return np.sqrt(np.sort(found)[6:])


def held_firmly(body, held, loads):
    """Displacements (3 n, k) by small loads (3 n, k) of a body some of whose vertices are held."""
    k, at = rest_stiffness(body), _interpolation(body.asset, held)
    matrix = _regular(k) + 1e3 * k.diagonal().max() / len(held) * kron(at.T @ at, eye_array(3))
    return splu(matrix.tocsc()).solve(loads)


def _held_loosely(body, vertices, seed, loads):
    """Displacements (3 n, k) by loads (3 n, k)."""
    k = rest_stiffness(body)
    rows = csr_array(k.diagonal().max() * _face(body.asset, vertices, seed, 0.0))
    matrix = bmat([[_regular(k), rows], [rows.T, None]]).tocsc()
    return splu(matrix).solve(np.pad(loads, ((0, 6), (0, 0))))[: len(loads)]


def _regular(k):
    return k + 1e-11 * k.diagonal().max() * eye_array(k.shape[0])


def _slenderness(vertices):
    return round(1.0 / np.ptp(vertices[:, 1]))


def _poisson_ratio(body):
    return float(body.material.poisson_ratio)


def _interpolation(asset, which):
    """What nodes add to the positions of some vertices, shape (v, n)."""
    points = sim.surface_points(asset, which)
    row = np.repeat(np.arange(len(which)), points.nodes.shape[1])
    where = row, points.nodes.ravel()
    return csr_array((points.weights.ravel(), where), (len(which), len(asset.cage_nodes)))


def _face(asset, vertices, seed, x):
    """Nodal loads of a face: forces along x, y, z, torques about x, z and y, shape (3 n, 6)."""
    which = np.flatnonzero(np.abs(vertices[:, 0] - x) < 1e-9)
    y, z = vertices[which, 1], vertices[which, 2]
    share = np.ones(len(which))
    for offset in (y, z):
        share[np.abs(offset) > offset.max() - 1e-9] *= 0.5
    share /= share.sum()
    axes, zero = turn(seed).T, np.zeros(len(which))
    polar = share @ (y * y + z * z)
    columns = [
        *(np.outer(share, axis) for axis in axes),
        share[:, None] * (np.stack([zero, -z, y], axis=1) / polar) @ axes,
        np.outer(share * y / (share @ (y * y)), axes[0]),
        np.outer(share * z / (share @ (z * z)), axes[0]),
    ]
    at = _interpolation(asset, which)
    return np.stack([(at.T @ column).ravel() for column in columns], axis=1)
